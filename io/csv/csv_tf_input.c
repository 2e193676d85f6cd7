/* See csv_tf_input.h. Does what TensorFlow does, even where that is wrong. */
#include "io/csv/csv_tf_input.h"
#include "io/file_system.h"
#include "io/sys.h"
#include "io/file_window.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

enum { TF_BUFFER = 4 << 20, RAW = 256 * 1024, GZIP_BITS = 16 + 15, ZLIB_BITS = 15 };

struct hr__tf_input {
    char *path;
    hr_compression compression;
    int fd; /* -1: it is foreign */
    hr__foreign_file foreign;
    int64_t at; /* in a foreign one */
    hr__window window;
    z_stream z;
    bool inflating, over;
    uint64_t total; /* bytes inflated so far */
    unsigned char raw[RAW];
};

static hr_status broken(const hr__tf_input *in, hr_error *err)
{
    hr_fail(err, HR_DATA_LOSS, "csv.compressed", "%s: expected an intact compressed stream, got: %s", in->path,
            in->z.msg ? in->z.msg : "bytes that are none");
    hr_error_file(err, in->path);
    return HR_DATA_LOSS;
}

/* The next bytes of the file itself; *got 0: there are no more. */
static hr_status read_raw(hr__tf_input *in, void *to, size_t capacity, size_t *got, hr_error *err)
{
    *got = 0;
    if (in->foreign.system) {
        HR_TRY(hr__foreign_read(&in->foreign, in->path, in->at, to, capacity, got, err));
        in->at += (int64_t)*got;
        return HR_OK;
    }
    const ssize_t count = hr__read(in->fd, to, capacity, -1);
    if (count < 0) return hr__sys_fail(err, errno, "file.read", in->path, "read");
    *got = (size_t)count;
    return HR_OK;
}

/* More raw bytes, if the last ones are used up. A stream that is cut here just ends. */
static hr_status refill(hr__tf_input *in, hr_error *err)
{
    size_t got;
    if (in->z.avail_in > 0) return HR_OK;
    HR_TRY(read_raw(in, in->raw, RAW, &got, err));
    in->z.next_in = in->raw;
    in->z.avail_in = (uInt)got;
    in->over = got == 0;
    return HR_OK;
}

/* After a stream: gzip continues with the next one, unless the first one was empty; zlib does not. */
static void end_stream(hr__tf_input *in)
{
    in->over = in->compression == HR_ZLIB || in->total == 0;
    if (!in->over) inflateReset(&in->z);
}

static hr_status csv_tf_input_inflate_some(hr__tf_input *in, char *to, size_t capacity, size_t *got, hr_error *err)
{
    in->z.next_out = (unsigned char *)to;
    in->z.avail_out = capacity > TF_BUFFER ? TF_BUFFER : (uInt)capacity;
    const uInt asked = in->z.avail_out;
    while (in->z.avail_out > 0 && !in->over) {
        const uInt before = in->z.avail_out;
        HR_TRY(refill(in, err));
        if (in->over) break;
        int answer = inflate(&in->z, Z_NO_FLUSH);
        in->total += before - in->z.avail_out;
        if (answer == Z_STREAM_END)
            end_stream(in);
        else if (answer != Z_OK && answer != Z_BUF_ERROR)
            return answer == Z_MEM_ERROR ? hr_no_memory(err, "csv: inflating") : broken(in, err);
    }
    *got = asked - in->z.avail_out;
    return *got == 0 && in->over ? HR_END : HR_OK;
}

static hr_status csv_tf_input_fill(void *source, char *to, size_t capacity, size_t *got, hr_error *err)
{
    hr__tf_input *in = source;
    *got = 0;
    if (in->over) return HR_END;
    if (in->inflating) return csv_tf_input_inflate_some(in, to, capacity, got, err);
    HR_TRY(read_raw(in, to, capacity, got, err));
    return *got == 0 ? HR_END : HR_OK;
}

static void *z_allocate(void *user, uInt count, uInt size)
{
    (void)user;
    return hr_calloc(count, size);
}

static void z_release(void *user, void *p)
{
    (void)user;
    hr_free(p);
}

/* From the beginning of the file. */
static hr_status csv_tf_input_start(hr__tf_input *in, hr_error *err)
{
    if (in->inflating) inflateEnd(&in->z);
    in->z = (z_stream){.zalloc = z_allocate, .zfree = z_release};
    in->inflating = in->over = false;
    in->total = 0;
    if (in->compression == HR_NONE) return HR_OK;
    in->inflating = inflateInit2(&in->z, in->compression == HR_GZIP ? GZIP_BITS : ZLIB_BITS) == Z_OK;
    return in->inflating ? HR_OK : hr_no_memory(err, "csv: inflating");
}

static hr_status csv_tf_input_open_file(hr__tf_input *in, hr_error *err)
{
    const hr_file_system *system = hr__file_system_of(in->path);
    if (system) return hr__foreign_open(system, in->path, &in->foreign, err);
    in->fd = hr__open(in->path, O_RDONLY | O_CLOEXEC, 0);
    return in->fd < 0 ? hr__sys_fail(err, errno, "file.open", in->path, "opened") : HR_OK;
}

hr_status hr__tf_input_open(const char *path, hr_compression compression, hr__tf_input **out, hr_error *err)
{
    *out = NULL;
    hr__tf_input *in = hr_calloc(1, sizeof *in);
    if (!in) return hr_no_memory(err, "csv: a file");
    in->compression = compression;
    in->fd = -1;
    in->window = (hr__window){.fill = csv_tf_input_fill, .source = in, .piece = TF_BUFFER};
    in->path = hr_strdup(path);
    hr_status st = in->path ? csv_tf_input_start(in, err) : hr_no_memory(err, "csv: a file");
    if (st == HR_OK) st = csv_tf_input_open_file(in, err);
    if (st == HR_OK)
        *out = in;
    else
        hr__tf_input_free(in);
    return st;
}

hr_status hr__tf_input_peek(hr__tf_input *in, size_t at_least, const char **data, size_t *size, hr_error *err)
{
    return hr__window_peek(&in->window, at_least, data, size, err);
}

void hr__tf_input_consume(hr__tf_input *in, size_t size) { hr__window_consume(&in->window, size); }

hr_status hr__tf_input_seek(hr__tf_input *in, int64_t offset, hr_error *err)
{
    HR_TRY(csv_tf_input_start(in, err));
    in->at = 0;
    if (!in->foreign.system && lseek(in->fd, 0, SEEK_SET) < 0)
        return hr__sys_fail(err, errno, "file.seek", in->path, "read from its beginning");
    hr__window_restart(&in->window, 0);
    while (offset > 0) {
        const char *data;
        size_t size;
        HR_TRY(hr__tf_input_peek(in, 1, &data, &size, err));
        if (size == 0)
            return hr_fail(err, HR_OUT_OF_RANGE, "file.offset", "%s: expected %lld more bytes, found its end", in->path,
                           (long long)offset);
        if ((int64_t)size > offset) size = (size_t)offset;
        hr__tf_input_consume(in, size);
        offset -= (int64_t)size;
    }
    return HR_OK;
}

void hr__tf_input_free(hr__tf_input *in)
{
    if (!in) return;
    if (in->inflating) inflateEnd(&in->z);
    if (in->fd >= 0) hr__sys_get()->close(in->fd);
    hr__foreign_close(&in->foreign);
    hr__window_clear(&in->window);
    hr_free(in->path);
    hr_free(in);
}
