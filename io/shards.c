/* Records into shards. Those of a fixed number are all open and get their names together, at the end. Otherwise one is
 * filled after the other: a full one is synced under a hidden name and noted (shard_notes.c), so that a later run can go
 * on behind it; the number of shards, and so their names, show at the end. */
#include "io/shards.h"
#include "base/constructor.h"
#include "io/codecs/codec.h"
#include "io/framing.h"
#include "io/record_index.h"
#include "io/sys.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SHARDS = 10000, BUFFERS = 64 << 20, LEAST_BUFFER = 16 << 10, MOST_BUFFER = 256 << 10 };

/* ---- names ---- */

static char *join(const char *folder, const char *hidden, const char *base, const char *number, const char *suffix,
                  const char *end)
{
    const size_t size =
        strlen(folder) + strlen(hidden) + strlen(base) + strlen(number) + strlen(suffix) + strlen(end) + 1;
    char *path = hr_malloc(size);
    if (path) snprintf(path, size, "%s%s%s%s%s%s", folder, hidden, base, number, suffix, end);
    return path;
}

char *hr__shard_name(const hr_shard_writer *w, int64_t shard, int64_t count)
{
    char number[64];
    snprintf(number, sizeof number, "%05lld-of-%05lld", (long long)shard, (long long)count);
    return join(w->folder, "", w->base, number, w->suffix, "");
}

char *hr__shard_part_name(const hr_shard_writer *w, int64_t shard)
{
    char number[32];
    snprintf(number, sizeof number, "%05lld", (long long)shard);
    return join(w->folder, ".", w->base, number, w->suffix, ".part");
}

/* The number of shards in a name like ours; -1: it is none. */
static int64_t count_in_name(const hr_shard_writer *w, const char *name)
{
    char *end;
    const size_t base = strlen(w->base);
    if (strncmp(name, w->base, base) != 0) return -1;
    const char *digits = name + base;
    const size_t number = strspn(digits, "0123456789");
    if (number < 5 || number > 9 || strncmp(digits + number, "-of-", 4) != 0) return -1;
    digits += number + 4;
    if (strspn(digits, "0123456789") > 9) return -1;
    const int64_t count = strtoll(digits, &end, 10);
    return end - digits >= 5 && strcmp(end, w->suffix) == 0 ? count : -1;
}

/* Shards of another number would be read along with ours by whoever reads all of this prefix. */
static hr_status refuse_others(const hr_shard_writer *w, hr_error *err)
{
    hr_status st = HR_OK;
    DIR *folder = opendir(w->folder[0] ? w->folder : ".");
    for (struct dirent *e; folder && st == HR_OK && (e = readdir(folder));) {
        const int64_t count = count_in_name(w, e->d_name);
        if (count < 0 || count == (w->max_bytes ? -1 : w->count)) continue;
        const char *where = w->folder[0] ? w->folder : "./";
        st = hr_fail(err, HR_ALREADY_EXISTS, "shards.leftover",
                     "%.*s: expected no shards of another run, found '%.80s'; remove them or choose another folder",
                     (int)strlen(where) - 1, where, e->d_name);
        hr_error_file(err, w->folder);
    }
    if (folder) closedir(folder);
    return st;
}

/* ---- opening ---- */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static hr_status make_folder(hr_shard_writer *w, hr_error *err)
{
    char *path = hr_strdup(w->folder);
    if (!path) return hr_no_memory(err, "shards");
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') path[--size] = '\0';
    hr_status st = HR_OK;
    hr_error why = {0};
    if (size > 0 && !is_folder(path)) {
        st = hr__make_folders(path, &why);
        if (st == HR_OK && !is_folder(path)) st = hr_fail(&why, HR_INVALID_ARGUMENT, "", "%s: Not a directory", path);
        w->made_folder = st == HR_OK;
    }
    if (st == HR_RESOURCE_EXHAUSTED || st == HR_PERMISSION_DENIED) {
        if (err) *err = why;
    } else if (st != HR_OK) {
        const char *reason = strrchr(why.text, ':');
        st = hr_fail(err, HR_INVALID_ARGUMENT, "shards.folder", "%s: expected a folder or room for one, got%s", path,
                     reason ? reason : "");
        hr_error_file(err, path);
    }
    hr_free(path);
    return st;
}

static hr_status check_options(const char *prefix, const hr_shard_writer_opts *o, hr_error *err)
{
    if (o->max_shard_bytes < 0 || (o->max_shard_bytes && o->shards))
        return hr_fail(err, HR_INVALID_ARGUMENT, "shards.max_bytes",
                       "%s: expected either .shards or a positive .max_shard_bytes, got %d and %lld", prefix, o->shards,
                       (long long)o->max_shard_bytes);
    if (o->shards < 0 || o->shards > MAX_SHARDS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shards.count", "%s: expected 1 to %d shards, got %d", prefix,
                       MAX_SHARDS, o->shards);
    return HR_OK;
}

static uint64_t key_of(const hr_shard_writer_opts *o)
{
    const char *text = o->resume_key ? o->resume_key : "";
    const int64_t numbers[] = {(int64_t)hr_fingerprint64(text, strlen(text)), o->max_shard_bytes, o->compression,
                               o->level};
    return hr_fingerprint64(numbers, sizeof numbers);
}

static hr_status describe(hr_shard_writer *w, const char *prefix, const hr_shard_writer_opts *o, hr_error *err)
{
    const hr__codec *codec;
    w->folder = hr__folder_of(prefix);
    w->base = w->folder ? hr_strdup(prefix + strlen(w->folder)) : NULL;
    w->suffix = hr_strdup(o->suffix ? o->suffix : ".tfrecord");
    if (!w->base || !w->suffix) return hr_no_memory(err, "shards");
    HR_TRY(hr__codec_for_writing(o->compression, w->suffix, &codec, err));
    const size_t each = BUFFERS / (size_t)(o->shards ? o->shards : 1);
    w->output = (hr_output_opts){.compression = codec->id, .level = o->level, .no_sync = o->no_sync};
    w->output.buffer_size = each > MOST_BUFFER ? MOST_BUFFER : each < LEAST_BUFFER ? LEAST_BUFFER : each;
    w->max_bytes = o->max_shard_bytes;
    w->resume = o->resume;
    w->index = o->index;
    w->key = key_of(o);
    return HR_OK;
}

hr_status hr__shards_reserve(hr_shard_writer *w, int64_t count, hr_error *err)
{
    if (count <= w->room) return HR_OK;
    const int64_t room = count > 2 * w->room ? count : 2 * w->room;
    hr__shard *more = hr_realloc(w->shard, (size_t)room * sizeof *more);
    if (!more) return hr_no_memory(err, "shards");
    memset(more + w->room, 0, (size_t)(room - w->room) * sizeof *more);
    w->shard = more;
    w->room = room;
    return HR_OK;
}

static hr_status open_shard(hr_shard_writer *w, int64_t shard, hr_error *err)
{
    char *path = w->max_bytes ? hr__shard_part_name(w, shard) : hr__shard_name(w, shard, w->count);
    if (!path) return hr_no_memory(err, "shards");
    hr_status st = hr_output_open_with(path, &w->output, &w->shard[shard].out, err);
    hr_free(path);
    return st;
}

static hr_status open_all(hr_shard_writer *w, int shards, hr_error *err)
{
    HR_TRY(hr__shards_reserve(w, shards, err));
    w->count = shards;
    HR_TRY(refuse_others(w, err));
    hr_status st = HR_OK;
    for (int64_t i = 0; st == HR_OK && i < shards; i++) st = open_shard(w, i, err);
    return st;
}

/* What a run before left is taken over, or removed. */
static hr_status open_first(hr_shard_writer *w, hr_error *err)
{
    if (w->resume) HR_TRY(hr__shard_notes_read(w, err));
    if (!w->resume) hr__shard_notes_remove(w);
    return w->complete ? HR_OK : refuse_others(w, err);
}

hr_status hr_shard_writer_open_with(const char *prefix, const hr_shard_writer_opts *opts, hr_shard_writer **out,
                                    hr_error *err)
{
    const hr_shard_writer_opts o = HR__OPTIONS(hr_shard_writer_opts, opts);
    HR_TRY(check_options(prefix, &o, err));
    hr_shard_writer *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "shards");
    hr_status st = describe(w, prefix, &o, err);
    if (st == HR_OK) st = make_folder(w, err);
    if (st == HR_OK) st = w->max_bytes ? open_first(w, err) : open_all(w, o.shards ? o.shards : 1, err);
    if (st == HR_OK)
        *out = w;
    else
        hr_shard_writer_discard(w);
    return st;
}

int64_t hr_shard_writer_resumed(const hr_shard_writer *w) { return w->resumed; }

/* ---- writing ---- */

/* Gives the shard that is filled at the moment its hidden name. */
static hr_status finish_shard(hr_shard_writer *w, hr_error *err)
{
    hr__shard *s = &w->shard[w->count - 1];
    struct stat about;
    char *path = hr__shard_part_name(w, w->count - 1);
    if (!path) return hr_no_memory(err, "shards");
    hr_output *out = s->out;
    s->out = NULL;
    hr_status st = hr_output_commit(out, err);
    if (st == HR_OK && stat(path, &about) != 0) st = hr__sys_fail(err, errno, "file.open", path, "found again");
    if (st == HR_OK) s->file_size = about.st_size;
    hr_free(path);
    if (st != HR_OK) return st;
    w->full = w->count;
    return hr__shard_notes_write(w, false, err);
}

static hr_status write_head(const hr_shard_writer *w, hr__shard *s, hr_error *err)
{
    s->bytes += (int64_t)w->head_size;
    return w->head_size ? hr_output_write(s->out, w->head, w->head_size, err) : HR_OK;
}

static hr_status next_shard(hr_shard_writer *w, hr_error *err)
{
    if (w->count > w->full) HR_TRY(finish_shard(w, err));
    HR_TRY(hr__shards_reserve(w, w->count + 1, err));
    HR_TRY(open_shard(w, w->count, err));
    w->count++;
    w->complete = false;
    return write_head(w, &w->shard[w->count - 1], err);
}

/* The shard that a record of this size belongs into: opened, if there is none with room for it. */
static hr_status shard_for(hr_shard_writer *w, int lane, size_t size, hr__shard **shard, hr_error *err)
{
    if (w->max_bytes) {
        const hr__shard *last = w->count > w->full ? &w->shard[w->count - 1] : NULL;
        const bool fits = last && (!last->records || (int64_t)size <= w->max_bytes - last->bytes);
        if (!fits) HR_TRY(next_shard(w, err));
        lane = (int)w->count - 1;
    }
    *shard = &w->shard[lane];
    (*shard)->records++;
    (*shard)->bytes += (int64_t)size;
    return HR_OK;
}

hr_status hr__shard_append(hr_shard_writer *w, int lane, const void *frame, size_t size, hr_error *err)
{
    hr__shard *s;
    HR_TRY(shard_for(w, lane, size, &s, err));
    return hr_output_write(s->out, frame, size, err);
}

hr_status hr__shard_begin(hr_shard_writer *w, int lane, hr_view head, hr_error *err)
{
    if (!w->head) {
        w->head = hr_memdup(head.data, (size_t)head.size);
        w->head_size = (size_t)head.size;
    }
    if (!w->head) return hr_no_memory(err, "shards");
    return w->max_bytes ? HR_OK : write_head(w, &w->shard[lane], err);
}

int hr__shard_lanes(const hr_shard_writer *w) { return w->max_bytes ? 1 : (int)w->count; }

static hr_status write_record(hr_shard_writer *w, int lane, const void *data, size_t size, hr_error *err)
{
    hr__shard *s;
    HR_TRY(shard_for(w, lane, size + HR__RECORD_FRAME, &s, err));
    return hr__record_put(s->out, data, size, err);
}

hr_status hr_shard_write(hr_shard_writer *w, const void *data, size_t size, hr_error *err)
{
    return write_record(w, (int)(w->written++ % hr__shard_lanes(w)), data, size, err);
}

hr_status hr_shard_write_to(hr_shard_writer *w, int shard, const void *data, size_t size, hr_error *err)
{
    if (w->max_bytes || shard < 0 || shard >= w->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shards.shard",
                       "%s%s: expected a shard of a fixed number, 0 to %lld, got %d", w->folder, w->base,
                       w->max_bytes ? -1LL : (long long)w->count - 1, shard);
    return write_record(w, shard, data, size, err);
}

/* ---- the end ---- */

/* All that can fail for lack of room is done before the first shard gets its name. */
static hr_status prepare(hr_shard_writer *w, hr_error *err)
{
    if (!w->max_bytes || w->complete) return HR_OK;
    if (w->count == 0) HR_TRY(next_shard(w, err)); /* no records are one empty shard */
    if (w->count > w->full) HR_TRY(finish_shard(w, err));
    return hr__shard_notes_write(w, true, err);
}

static hr_status name_part(const char *part, const char *name, hr_error *err)
{
    struct stat about;
    if (hr__sys_get()->rename(part, name) == 0) return HR_OK;
    const int number = errno;
    const bool named_before = number == ENOENT && stat(name, &about) == 0;
    return named_before ? HR_OK : hr__sys_fail(err, number, "file.rename", name, "renamed");
}

static hr_status name_shard(hr_shard_writer *w, int64_t shard, hr_error *err)
{
    hr__shard *s = &w->shard[shard];
    hr_status st;
    if (w->max_bytes) {
        char *part = hr__shard_part_name(w, shard), *name = hr__shard_name(w, shard, w->count);
        st = part && name ? name_part(part, name, err) : hr_no_memory(err, "shards");
        hr_free(part);
        hr_free(name);
    } else {
        hr_output *out = s->out;
        s->out = NULL;
        st = hr_output_commit(out, err);
    }
    s->named = st == HR_OK;
    return st;
}

static hr_status index_shard(const hr_shard_writer *w, int64_t shard, hr_error *err)
{
    const hr_record_index_opts opts = {
        .struct_size = sizeof opts, .compression = w->output.compression, .anew = true, .keep = true};
    hr_record_index *index;
    char *name = hr__shard_name(w, shard, w->count);
    if (!name) return hr_no_memory(err, "shards");
    hr_status st = hr_record_index_open_with(name, &opts, &index, err);
    if (st == HR_OK) hr_record_index_free(index);
    hr_free(name);
    return st;
}

static hr_status name_all(hr_shard_writer *w, hr_error *err)
{
    for (int64_t i = 0; i < w->count; i++) HR_TRY(name_shard(w, i, err));
    for (int64_t i = 0; w->index && i < w->count; i++) HR_TRY(index_shard(w, i, err));
    return w->max_bytes && !w->output.no_sync ? hr__sync_folder(w->folder, err) : HR_OK;
}

static void take_back(const hr_shard_writer *w)
{
    for (int64_t i = 0; i < w->count; i++) {
        if (!w->shard[i].named) continue;
        char *name = hr__shard_name(w, i, w->count), *part = w->max_bytes ? hr__shard_part_name(w, i) : NULL;
        char *index = w->index && name ? hr__record_index_name(name) : NULL;
        if (index) hr__sys_get()->unlink(index);
        if (name && part) hr__sys_get()->rename(name, part);
        if (name && !part) hr__sys_get()->unlink(name);
        hr_free(index);
        hr_free(name);
        hr_free(part);
    }
}

static void free_writer(hr_shard_writer *w)
{
    for (int64_t i = 0; i < w->count; i++) hr_output_discard(w->shard[i].out);
    hr_free(w->shard);
    hr_free(w->folder);
    hr_free(w->base);
    hr_free(w->suffix);
    hr_free(w->head);
    hr_free(w);
}

hr_status hr__shards_commit(hr_shard_writer **writers, int count, int64_t *shards, hr_error *err)
{
    hr_status st = HR_OK;
    *shards = 0;
    for (int i = 0; st == HR_OK && i < count; i++) st = prepare(writers[i], err);
    for (int i = 0; st == HR_OK && i < count; i++) st = name_all(writers[i], err);
    for (int i = count - 1; i >= 0; i--) { /* the first made the folder */
        *shards += writers[i]->count;
        if (st == HR_OK) {
            if (writers[i]->max_bytes) hr__shard_notes_remove(writers[i]);
            free_writer(writers[i]);
        } else {
            take_back(writers[i]);
            hr_shard_writer_discard(writers[i]);
        }
    }
    return st;
}

hr_status hr_shard_writer_commit(hr_shard_writer *w, hr_error *err)
{
    int64_t shards;
    return hr__shards_commit(&w, 1, &shards, err);
}

void hr_shard_writer_discard(hr_shard_writer *w)
{
    if (!w) return;
    char *folder = w->made_folder ? hr_strdup(w->folder) : NULL;
    if (w->max_bytes && !w->resume && w->base && w->suffix) hr__shard_notes_remove(w);
    free_writer(w);
    if (folder) rmdir(folder); /* stays if anything is in it */
    hr_free(folder);
}
