/* Reading a file from front to end, a piece at a time. Two windows: one over the file, and one over what the codec
 * makes of it where it is compressed; a plain file needs the first only. */
#include "io/input.h"
#include "io/compression.h"
#include "io/file_system.h"
#include "io/sys.h"
#include "io/file_window.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 256 * 1024, HEAD = 4096 /* enough to tell what kind of file it is */ };

enum { STREAMS = 128 };

/* A part of a compressed file that is decoded by itself. */
typedef struct stream {
    int64_t offset, made; /* of its first byte in the file, and inflated */
    bool damaged;
} stream;

struct hr_input {
    char *path;
    int fd, wake;             /* wake: -1: none */
    hr__foreign_file foreign; /* instead of fd */
    bool standard, regular, may_be_damaged;
    int64_t position; /* in the file, of the next byte to read */
    int64_t opened;   /* its size when it was opened, 0: not known */
    const hr_codec *codec;
    bool decoding; /* there is a decoder, which may be NULL: a codec need not remember anything */
    int fruitless; /* calls of decode in a row that neither took nor gave anything */
    int64_t from;  /* where in the file the decoder began */
    void *decoder;
    stream stream[STREAMS]; /* the last ones that began, in their order */
    int streams;
    hr_codec_begin_fn *begins; /* is told of them */
    void *begins_user;
    int64_t judged; /* where a stream began that was read to its end, -1: none; and whether it was whole */
    bool judged_whole;
    hr__window raw, inflated;
    hr__window *window; /* the one that is lent from */
};

/* ---- filling the windows ---- */

/* A pipe may stay silent for any time. So it does not block in read, where a thread cannot be woken. */
static hr_status read_some(hr_input *in, char *to, size_t capacity, ssize_t *count, hr_error *err)
{
    do {
        if (!in->regular) HR_TRY(hr__wait(in->fd, POLLIN, in->wake, -1, in->path, err));
        *count = hr__read(in->fd, to, capacity, in->regular ? in->position : -1);
    } while (!in->regular && *count < 0 && errno == EAGAIN);
    return HR_OK;
}

/* Fails if the file was longer when it was opened: bytes are gone, even if the cut lies just after a record. */
static hr_status check_end(const hr_input *in, int64_t end, hr_error *err)
{
    if (end >= in->opened) return HR_END;
    hr_fail(err, HR_DATA_LOSS, "file.shrunk",
            "%s: expected %" PRId64 " bytes, as when it was opened, got %" PRId64
            "; it is being truncated or rewritten",
            in->path, in->opened, end);
    hr_error_file(err, in->path);
    return HR_DATA_LOSS;
}

static hr_status input_read_file(void *source, char *to, size_t capacity, size_t *got, hr_error *err)
{
    hr_input *in = source;
    ssize_t count = 0;
    if (in->foreign.system) {
        HR_TRY(hr__foreign_read(&in->foreign, in->path, in->position, to, capacity, got, err));
        in->position += (int64_t)*got;
        return *got > 0 ? HR_OK : HR_END;
    }
    HR_TRY(read_some(in, to, capacity, &count, err));
    if (count < 0) {
        hr_status status = hr__sys_fail(err, errno, "file.read", in->path, "read");
        if (err) *(in->decoding ? &err->compressed_offset : &err->offset) = in->position;
        return status;
    }
    *got = (size_t)count;
    in->position += count;
    return count > 0 ? HR_OK : check_end(in, in->position, err);
}

/* What follows is read from `offset` of the file on. */
static void go_to(hr_input *in, int64_t offset)
{
    in->position = offset;
    hr__window_restart(&in->raw, offset);
}

/* Where the current part began, if what the codec says can be. */
static int64_t part_began(const hr_input *in)
{
    const int64_t began = in->codec->coding->began(in->decoder), end = hr_codec_end(&in->raw);
    return began < in->from ? in->from : began > end ? end : began;
}

/* The fast decoder met the end of a stream that is cut: the same stream again, by one that gives all that is there. */
static bool decodes_again(hr_input *in, hr_status status)
{
    const hr_coding *coding = in->codec->coding;
    if (status != HR_DATA_LOSS || !in->regular || in->raw.status < 0) return false;
    if (!coding->slow_down || !coding->began || !coding->slow_down(in->decoder)) return false;
    go_to(in, part_began(in));
    return true;
}

/* One call of the codec, held to its contract. */
static hr_status call_decode(hr_input *in, char *to, size_t capacity, size_t *got, hr_error *err)
{
    enum { PATIENCE = 64 };
    size_t some = 0;
    hr_error why = {0};
    const int64_t before = in->raw.offset;
    const hr_status returned =
        in->codec->coding->decode(in->decoder, &in->raw, to + *got, capacity - *got, &some, &why);
    if (some > capacity - *got)
        return hr__codec_broke(in->codec, in->path, "decoded more bytes than there was capacity for", err);
    *got += some;
    in->fruitless = some > 0 || in->raw.offset != before ? 0 : in->fruitless + 1;
    if (returned == HR_OK && in->fruitless > PATIENCE)
        return hr__codec_broke(in->codec, in->path, "takes no bytes and gives none, and does not end", err);
    return hr__codec_answer(in->codec, in->path, returned, HR_END, &why, err);
}

static hr_status input_decode(void *source, char *to, size_t capacity, size_t *got, hr_error *err)
{
    hr_input *in = source;
    int64_t before = in->inflated.offset + (int64_t)in->inflated.end;
    hr_status status = call_decode(in, to, capacity, got, err);
    if (decodes_again(in, status)) status = call_decode(in, to, capacity, got, err);
    if (status >= 0 || !err) return status;
    if (!err->file[0]) hr_error_prefix(err, "%s: ", in->path);
    hr_error_file(err, in->path);
    err->offset = before + (int64_t)*got;
    return status;
}

/* ---- opening ---- */

static hr_status refuse_folder(const hr_input *in, hr_error *err)
{
    hr_fail(err, HR_INVALID_ARGUMENT, "file.folder", "%s: expected a file, got a folder; name the files in it",
            in->path);
    hr_error_file(err, in->path);
    return HR_INVALID_ARGUMENT;
}

static hr_status open_foreign(hr_input *in, const hr_file_system *system, hr_error *err)
{
    hr_file_about about;
    if (hr__path_about(in->path, &about) && about.is_folder) return refuse_folder(in, err);
    in->regular = true;
    return hr__foreign_open(system, in->path, &in->foreign, err);
}

static hr_status input_open_file(hr_input *in, hr_error *err)
{
    const hr_file_system *system = hr__file_system_of(in->path);
    if (system) return open_foreign(in, system, err);
    in->standard = strcmp(in->path, "-") == 0;
    /* Opening a pipe would wait for its writer, where nothing wakes it: the first read does that. */
    in->fd = in->standard ? STDIN_FILENO : hr__open(in->path, O_RDONLY | O_NONBLOCK, 0);
    struct stat about;
    if (in->fd < 0 || fstat(in->fd, &about) != 0) return hr__sys_fail(err, errno, "file.open", in->path, "opened");
    if (S_ISDIR(about.st_mode)) return refuse_folder(in, err);
    in->regular = S_ISREG(about.st_mode) && !in->standard;
    in->opened = in->regular ? (int64_t)about.st_size : 0;
    return HR_OK;
}

/* If there are more than STREAMS, the first ones are forgotten. A place that a codec cannot mean is ignored. */
static void note_stream(void *user, int64_t offset, int64_t made)
{
    hr_input *in = user;
    const stream *last = in->streams > 0 ? &in->stream[in->streams - 1] : &(stream){0};
    if (offset < last->offset || made < last->made || offset > hr_codec_end(&in->raw)) return;
    if (in->streams == STREAMS) memmove(in->stream, in->stream + 1, --in->streams * sizeof *in->stream);
    in->stream[in->streams++] = (stream){offset, made, false};
    if (in->begins) in->begins(in->begins_user, offset, made);
}

/* A decoder that begins where byte `made` of what is inflated is the next one. */
static hr_status new_decoder(hr_input *in, int64_t made, hr_error *err)
{
    const hr_coding *coding = in->codec->coding;
    void *decoder = NULL;
    hr_error why = {0};
    const hr_status returned = coding->decoder_new(in->codec->form, &decoder, &why);
    HR_TRY(hr__codec_answer(in->codec, in->path, returned, HR_OK, &why, err));
    if (in->decoding) coding->decoder_free(in->decoder);
    in->decoder = decoder;
    in->decoding = true;
    in->fruitless = 0;
    in->from = in->raw.offset;
    if (coding->go_on) coding->go_on(decoder, made);
    if (coding->watch)
        coding->watch(decoder, note_stream, in);
    else
        note_stream(in, in->raw.offset, made);
    return HR_OK;
}

static hr_status choose_codec(hr_input *in, hr_compression asked, hr_error *err)
{
    const char *head;
    size_t size;
    hr_status status = hr__window_peek(&in->raw, 64, &head, &size, err);
    if (status < 0 && size < 64) return status;
    HR_TRY(hr__codec_for_reading(asked, in->may_be_damaged, in->path, head, size, &in->codec, err));
    in->window = in->codec->coding ? &in->inflated : &in->raw;
    return in->codec->coding ? new_decoder(in, 0, err) : HR_OK;
}

hr_status hr_input_open_with(const char *path, const hr_input_opts *opts, hr_input **out, hr_error *err)
{
    const hr_input_opts o = HR_OPTIONS(hr_input_opts, opts);
    if (!path) return hr_fail(err, HR_INVALID_ARGUMENT, "file.argument", "expected a file to read, got NULL");
    hr_input *in = hr_calloc(1, sizeof *in);
    if (in) *in = (hr_input){.fd = -1, .wake = o.wake ? *o.wake : -1, .judged = -1, .path = hr_strdup(path)};
    if (!in || !in->path) {
        hr_free(in);
        return hr_no_memory(err, "opening a file");
    }
    in->may_be_damaged = o.may_be_damaged;
    const size_t piece = o.buffer_size ? o.buffer_size : PIECE;
    in->raw = (hr__window){.fill = input_read_file, .source = in, .piece = piece < HEAD ? piece : HEAD};
    in->inflated = (hr__window){.fill = input_decode, .source = in, .piece = piece};
    hr_status status = input_open_file(in, err);
    if (status == HR_OK) status = choose_codec(in, o.compression, err);
    in->raw.piece = piece;
    if (status == HR_OK)
        *out = in;
    else
        hr_input_free(in);
    return status;
}

/* The same file, as it is read here. */
static hr_input_opts reopen_opts(const hr_input *in)
{
    return (hr_input_opts){.struct_size = sizeof(hr_input_opts),
                           .compression = in->codec->id,
                           .wake = &in->wake,
                           .may_be_damaged = in->may_be_damaged};
}

hr_status hr__input_reopen(const hr_input *in, int64_t from, hr_input **out, hr_error *err)
{
    enum { PAGES = 64 * 1024 };
    const hr_input_opts opts = reopen_opts(in);
    if (!in->regular)
        return hr_fail(err, HR_FAILED_PRECONDITION, "file.seek", "%s: a pipe cannot be read again", in->path);
    if (in->fd >= 0) (void)posix_fadvise(in->fd, from / PAGES * PAGES, 0, POSIX_FADV_DONTNEED);
    return hr_input_open_with(in->path, &opts, out, err);
}

hr_status hr__input_name(hr_input *in, const char *path, hr_error *err)
{
    char *name = hr_strdup(path);
    if (!name) return hr_no_memory(err, "a file's name");
    hr_free(in->path);
    in->path = name;
    return HR_OK;
}

void hr_input_free(hr_input *in)
{
    if (!in) return;
    if (in->decoding) in->codec->coding->decoder_free(in->decoder);
    if (in->fd >= 0 && !in->standard) hr__sys_get()->close(in->fd);
    hr__foreign_close(&in->foreign);
    hr__window_clear(&in->raw);
    hr__window_clear(&in->inflated);
    hr_free(in->path);
    hr_free(in);
}

/* ---- reading ---- */

hr_status hr_input_peek(hr_input *in, size_t at_least, const char **data, size_t *size, hr_error *err)
{
    return hr__window_peek(in->window, at_least, data, size, err);
}

void hr_input_consume(hr_input *in, size_t size) { hr__window_consume(in->window, size); }

int64_t hr_input_offset(const hr_input *in) { return in->window->offset; }

int64_t hr_input_compressed_offset(const hr_input *in) { return in->decoding ? in->raw.offset : -1; }

int64_t hr_input_trailing_zeros(const hr_input *in)
{
    return in->decoding && in->codec->coding->zeros ? in->codec->coding->zeros(in->decoder) : 0;
}

const char *hr_input_path(const hr_input *in) { return in->path; }

/* ---- going elsewhere ---- */

hr_status hr__input_begin_at(hr_input *in, int64_t offset, int64_t made, hr_error *err)
{
    go_to(in, offset);
    if (!in->decoding) return HR_OK;
    in->streams = 0;
    hr__window_restart(&in->inflated, made);
    return new_decoder(in, made, err);
}

static hr_status restart(hr_input *in, int64_t offset, hr_error *err)
{
    return in->decoding ? hr__input_begin_at(in, 0, 0, err) : hr__input_begin_at(in, offset, offset, err);
}

static hr_status input_beyond(const hr_input *in, int64_t offset, hr_error *err)
{
    hr_fail(err, HR_OUT_OF_RANGE, "file.offset", "%s: expected an offset in the file, got %" PRId64 ", beyond its end",
            in->path, offset);
    hr_error_file(err, in->path);
    return HR_OUT_OF_RANGE;
}

static hr_status read_on(hr_input *in, int64_t offset, hr_error *err)
{
    while (in->window->offset < offset) {
        const char *data;
        size_t size;
        HR_TRY(hr_input_peek(in, 1, &data, &size, err));
        if (size == 0) return input_beyond(in, offset, err);
        int64_t left = offset - in->window->offset;
        hr_input_consume(in, (int64_t)size < left ? size : (size_t)left);
    }
    return HR_OK;
}

hr_status hr_input_seek(hr_input *in, int64_t offset, hr_error *err)
{
    bool inside =
        offset >= in->window->offset && offset <= in->window->offset + (int64_t)(in->window->end - in->window->begin);
    if (!inside && hr__input_has_places(in)) {
        if (offset < 0 || offset > hr__input_file_size(in)) return input_beyond(in, offset, err);
        return restart(in, offset, err);
    }
    if (offset < in->window->offset) {
        if (!in->regular)
            return hr_fail(err, HR_FAILED_PRECONDITION, "file.seek",
                           "%s: expected a file to go back in, got a pipe or a device; copy it to a file", in->path);
        HR_TRY(restart(in, 0, err));
    }
    return read_on(in, offset, err);
}

/* ---- after damage ---- */

/* Where the next stream may begin; the file's end if nowhere. */
static hr_status find_stream(hr_input *in, hr_error *err)
{
    enum { MAGIC = 64 };
    const char *data;
    size_t size;
    for (;;) {
        HR_TRY(hr__window_peek(&in->raw, HEAD, &data, &size, err));
        const size_t end = size < HEAD ? size : HEAD - MAGIC;
        for (size_t at = 0; at < end; at++) {
            if (in->codec->bid((const unsigned char *)data + at, size - at < MAGIC ? size - at : MAGIC) <= 0) continue;
            hr__window_consume(&in->raw, at);
            return HR_OK;
        }
        hr__window_consume(&in->raw, end);
        if (size < HEAD) return HR_END;
    }
}

/* A damaged stream may have been read far into the next one. */
static void go_into_stream(hr_input *in)
{
    if (!in->regular) return;
    go_to(in, part_began(in) + 1);
}

/* The decoder stands at a header that it refused: now it reads it all the same, if a body follows. */
static bool forgives(hr_input *in)
{
    const hr_coding *coding = in->codec->coding;
    if (!in->may_be_damaged || !coding || !coding->forgive || !coding->began || in->raw.status < 0) return false;
    if (coding->began(in->decoder) != in->raw.offset || !coding->forgive(in->decoder)) return false;
    in->inflated.status = HR_OK;
    return true;
}

hr_status hr__input_resync(hr_input *in, hr_error *err)
{
    if (!in->decoding || !in->codec->coding->began || in->raw.status < 0 || in->inflated.error.code != HR_DATA_LOSS) {
        if (err) *err = in->window->error;
        return in->window->status;
    }
    if (forgives(in)) return HR_OK;
    hr__window_restart(&in->inflated, in->inflated.offset + (int64_t)(in->inflated.end - in->inflated.begin));
    if (in->streams > 0) in->stream[in->streams - 1].damaged = true;
    go_into_stream(in);
    hr_status status = find_stream(in, err);
    if (status == HR_OK) status = new_decoder(in, in->inflated.offset, err);
    in->inflated.status = status;
    return status;
}

/* Reads the stream that begins at `offset` once more, up to the next one or the end. */
static bool input_is_whole(hr_input *in, int64_t offset)
{
    const hr_input_opts opts = reopen_opts(in);
    hr_input *again;
    const char *data;
    size_t size = 0;
    if (in->judged == offset) return in->judged_whole;
    if (!in->regular || hr_input_open_with(in->path, &opts, &again, NULL) != HR_OK) return false;
    hr_status st = hr__input_begin_at(again, offset, 0, NULL);
    while (st == HR_OK) {
        st = hr_input_peek(again, 1, &data, &size, NULL);
        if (st == HR_DATA_LOSS && forgives(again)) st = HR_OK;
        if (st != HR_OK || size == 0 || again->streams > 1) break;
        hr_input_consume(again, size);
    }
    in->judged = offset;
    in->judged_whole = st == HR_OK && (size == 0 || again->streams > 1);
    hr_input_free(again);
    return in->judged_whole;
}

/* A stream that another one follows was whole, unless that one was searched for after damage. */
bool hr__input_is_misread(hr_input *in, int64_t at, int64_t *end)
{
    int i = in->streams - 1;
    *end = INT64_MAX;
    if (!in->decoding) return false;
    while (i >= 0 && in->stream[i].made > at) *end = in->stream[i--].made;
    if (i < 0 || in->stream[i].damaged) return true;
    return i + 1 == in->streams && !input_is_whole(in, in->stream[i].offset);
}

void hr__input_watch(hr_input *in, hr_codec_begin_fn *begins, void *user)
{
    in->begins = begins;
    in->begins_user = user;
}

hr_compression hr__input_compression(const hr_input *in) { return in->codec->id; }

hr_status hr__input_about(const hr_input *in, int64_t *size, int64_t *changed, hr_error *err)
{
    hr_file_about foreign;
    struct stat about;
    if (in->foreign.system && hr__path_about(in->path, &foreign)) {
        *size = foreign.size;
        *changed = foreign.changed;
        return HR_OK;
    }
    if (!in->regular || in->fd < 0 || fstat(in->fd, &about) != 0)
        return hr_fail(err, HR_FAILED_PRECONDITION, "file.seek",
                       "%s: expected a file with a size, got a pipe or a device; copy it to a file", in->path);
    *size = about.st_size;
    *changed = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
    return HR_OK;
}

bool hr__input_is_file(const hr_input *in) { return in->regular; }
bool hr__input_has_places(const hr_input *in) { return in->regular && !in->decoding; }

hr_status hr__input_read_at(const hr_input *in, int64_t offset, void *to, size_t size, size_t *got, hr_error *err)
{
    if (in->foreign.system) return hr__foreign_read(&in->foreign, in->path, offset, to, size, got, err);
    for (*got = 0; *got < size;) {
        ssize_t count = hr__read(in->fd, (char *)to + *got, size - *got, offset + (int64_t)*got);
        if (count == 0) {
            const hr_status status = check_end(in, offset + (int64_t)*got, err);
            return status == HR_END ? HR_OK : status;
        }
        if (count < 0) {
            hr_status status = hr__sys_fail(err, errno, "file.read", in->path, "read");
            if (err) err->offset = offset + (int64_t)*got;
            return status;
        }
        *got += (size_t)count;
    }
    return HR_OK;
}

int64_t hr__input_file_size(const hr_input *in)
{
    int64_t size, changed;
    return hr__input_about(in, &size, &changed, NULL) == HR_OK ? size : -1;
}
