/* Records into shards. Those of a fixed number are all open and get their names together, at the end (what a later
 * run needs to continue with them is in shard_parts.c). Otherwise one is filled after the other: a full one is synced
 * under a hidden name and noted (shard_notes.c), so that a later run can continue after it; the number of shards, and
 * so their names, show at the end. */
#include "io/record_sets/shards.h"
#include "io/compression.h"
#include "io/framing.h"
#include "io/output.h"
#include "io/record/record_index.h"
#include "io/sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SHARDS = 10000, BUFFERS = 64 << 20, MIN_BUFFER = 16 << 10, MAX_BUFFER = 256 << 10 };
enum { CUTS = 64 << 20, MIN_CUT = 4 << 20 };

/* ---- opening ---- */

static hr_status shards_check_options(const char *prefix, const hr_shard_writer_opts *o, hr_error *err)
{
    if (o->max_shard_bytes < 0 || (o->max_shard_bytes && o->shards))
        return hr_fail(err, HR_INVALID_ARGUMENT, "shards.max_bytes",
                       "%s: expected either .shards or a positive .max_shard_bytes, got %d and %lld", prefix, o->shards,
                       (long long)o->max_shard_bytes);
    if (o->cut_bytes < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shards.cut_bytes", "%s: expected .cut_bytes above 0, got %lld",
                       prefix, (long long)o->cut_bytes);
    if (o->shards < 0 || o->shards > MAX_SHARDS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shards.count", "%s: expected 1 to %d shards, got %d", prefix,
                       MAX_SHARDS, o->shards);
    return HR_OK;
}

static uint64_t key_of(const hr_shard_writer_opts *o)
{
    const char *text = o->resume_key ? o->resume_key : "";
    const int64_t numbers[] = {(int64_t)hr_fingerprint64(text, strlen(text)),
                               o->max_shard_bytes,
                               o->compression,
                               o->level,
                               o->shards,
                               o->cut_bytes};
    return hr_fingerprint64(numbers, sizeof numbers);
}

/* Shards of a fixed number are cut where a later run continues with them, and where what is compressed shall be the
 * same bytes as if one did. */
static int64_t cut_bytes_of(const hr_shard_writer *w, const hr_shard_writer_opts *o, const hr_codec *codec)
{
    const int64_t each = CUTS / (o->shards ? o->shards : 1);
    if (w->max_bytes || codec->is_one_stream || (!w->resume && !codec->coding)) return 0;
    if (o->cut_bytes) return o->cut_bytes;
    return each > MIN_CUT ? each : MIN_CUT;
}

static hr_status shards_describe(hr_shard_writer *w, const char *prefix, const hr_shard_writer_opts *o, hr_error *err)
{
    const hr_codec *codec;
    w->folder = hr__folder_of(prefix);
    w->base = w->folder ? hr_strdup(prefix + strlen(w->folder)) : NULL;
    w->suffix = hr_strdup(w->single ? "" : o->suffix ? o->suffix : ".tfrecord");
    if (!w->base || !w->suffix) return hr_no_memory(err, "shards");
    HR_TRY(hr__codec_for_writing(o->compression, w->single ? prefix : w->suffix, &codec, err));
    const size_t each = BUFFERS / (size_t)(o->shards ? o->shards : 1);
    w->output = (hr_output_opts){.compression = codec->id, .level = o->level, .no_sync = o->no_sync};
    w->output.buffer_size = each > MAX_BUFFER ? MAX_BUFFER : each < MIN_BUFFER ? MIN_BUFFER : each;
    w->max_bytes = o->max_shard_bytes;
    w->resume = o->resume;
    w->parts = w->max_bytes || w->resume;
    w->cut_bytes = cut_bytes_of(w, o, codec);
    w->index = o->index;
    w->key = key_of(o);
    return HR_OK;
}

static hr_status open_shard(hr_shard_writer *w, int64_t shard, hr_error *err)
{
    if (w->parts && !w->max_bytes) return hr__shard_open_part(w, &w->shard[shard], shard, err);
    char *path = w->max_bytes ? hr__shard_part_name(w, shard) : hr__shard_name(w, shard, w->count);
    if (!path) return hr_no_memory(err, "shards");
    hr_status st = hr_output_open_with(path, &w->output, &w->shard[shard].out, err);
    hr_free(path);
    return st;
}

static hr_status open_all(hr_shard_writer *w, int shards, hr_error *err)
{
    hr_status st = HR_OK;
    HR_TRY(hr__shards_reserve(w, shards, err));
    w->count = shards;
    HR_TRY(hr__shards_refuse_others(w, err));
    if (w->resume) HR_TRY(hr__shard_notes_read(w, err));
    if (!w->resume) HR_TRY(hr__shard_notes_remove(w, err));
    for (int64_t i = 0; st == HR_OK && i < shards; i++)
        if (!w->shard[i].done) st = open_shard(w, i, err);
    return st;
}

/* What a run before left is taken over, or removed; what a whole run has made must come out again. */
static hr_status open_first(hr_shard_writer *w, hr_error *err)
{
    if (w->resume) HR_TRY(hr__shard_notes_read(w, err));
    if (!w->resume) HR_TRY(hr__shard_notes_remove(w, err));
    if (w->count == 0) w->finished = hr__shards_finished(w);
    return w->complete || w->finished ? HR_OK : hr__shards_refuse_others(w, err);
}

static hr_status open_writer(const char *prefix, bool single, const hr_shard_writer_opts *opts, hr_shard_writer **out,
                             hr_error *err)
{
    const hr_shard_writer_opts o = HR_OPTIONS(hr_shard_writer_opts, opts);
    HR_TRY(shards_check_options(prefix, &o, err));
    hr_shard_writer *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "shards");
    w->single = single;
    w->held = -1;
    hr_status st = shards_describe(w, prefix, &o, err);
    if (st == HR_OK && !single) st = hr__shards_make_folder(w, err);
    if (st == HR_OK) st = hr__shards_hold(w, err);
    if (st == HR_OK) st = w->max_bytes ? open_first(w, err) : open_all(w, o.shards ? o.shards : 1, err);
    if (st == HR_OK)
        *out = w;
    else
        hr_shard_writer_discard(w);
    return st;
}

hr_status hr_shard_writer_open_with(const char *prefix, const hr_shard_writer_opts *opts, hr_shard_writer **out,
                                    hr_error *err)
{
    return open_writer(prefix, false, opts, out, err);
}

hr_status hr__shard_file_open(const char *path, const hr_shard_writer_opts *opts, hr_shard_writer **out, hr_error *err)
{
    char *target = hr__output_target(path);
    if (!target) return hr_no_memory(err, "a file's name");
    const hr_status st = open_writer(target, true, opts, out, err);
    hr_free(target);
    return st;
}

int64_t hr_shard_writer_resumed(const hr_shard_writer *w) { return w->resumed; }

/* ---- writing ---- */

/* The shard that is filled at the moment is whole. */
static hr_status finish_last(hr_shard_writer *w, hr_error *err)
{
    HR_TRY(hr__shard_finish(w, w->count - 1, err));
    w->full = w->count;
    return w->finished ? hr__shard_same(w, w->count - 1, err) : hr__shard_notes_write(w, false, err);
}

static hr_status shards_write_head(const hr_shard_writer *w, hr__shard *s, hr_error *err)
{
    if (s->done || s->file_size > 0) return HR_OK; /* a run before has written it */
    s->bytes += (int64_t)w->head_size;
    return w->head_size ? hr_output_write(s->out, w->head, w->head_size, err) : HR_OK;
}

static hr_status next_shard(hr_shard_writer *w, hr_error *err)
{
    if (w->count > w->full) HR_TRY(finish_last(w, err));
    HR_TRY(hr__shards_reserve(w, w->count + 1, err));
    HR_TRY(open_shard(w, w->count, err));
    w->count++;
    w->complete = false;
    return shards_write_head(w, &w->shard[w->count - 1], err);
}

/* The shard that a record of this size belongs into: opened, if there is none with space for it. */
static hr_status shard_for(hr_shard_writer *w, int lane, size_t size, hr__shard **shard, hr_error *err)
{
    if (w->max_bytes) {
        const hr__shard *last = w->count > w->full ? &w->shard[w->count - 1] : NULL;
        const bool fits = last && (!last->records || (int64_t)size <= w->max_bytes - last->bytes);
        if (!fits) HR_TRY(next_shard(w, err));
        lane = (int)w->count - 1;
    }
    *shard = &w->shard[lane];
    if (!(*shard)->out)
        return hr_fail(err, HR_FAILED_PRECONDITION, "shards.resume",
                       "%s%s: expected the records of the earlier run, got more; start from the beginning", w->folder,
                       w->base);
    (*shard)->records++;
    (*shard)->bytes += (int64_t)size;
    return HR_OK;
}

hr_status hr__shard_append(hr_shard_writer *w, int lane, const void *frame, size_t size, hr_error *err)
{
    hr__shard *s;
    HR_TRY(shard_for(w, lane, size, &s, err));
    HR_TRY(hr_output_write(s->out, frame, size, err));
    return hr__shard_cut(w, s, size, err);
}

hr_status hr__shard_begin(hr_shard_writer *w, int lane, hr_view head, hr_error *err)
{
    if (!w->head) {
        w->head = hr_memdup(head.data, (size_t)head.size);
        w->head_size = (size_t)head.size;
    }
    if (!w->head) return hr_no_memory(err, "shards");
    return w->max_bytes ? HR_OK : shards_write_head(w, &w->shard[lane], err);
}

int hr__shard_lanes(const hr_shard_writer *w) { return w->max_bytes ? 1 : (int)w->count; }

static hr_status shards_write_record(hr_shard_writer *w, int lane, const void *data, size_t size, hr_error *err)
{
    hr__shard *s;
    HR_TRY(shard_for(w, lane, size + HR__RECORD_FRAME, &s, err));
    HR_TRY(hr__record_put(s->out, data, size, err));
    return hr__shard_cut(w, s, size + HR__RECORD_FRAME, err);
}

hr_status hr_shard_write(hr_shard_writer *w, const void *data, size_t size, hr_error *err)
{
    const int64_t number = w->written++;
    if (w->max_bytes) return shards_write_record(w, 0, data, size, err);
    if (hr__shards_have(w, number)) return HR_OK;
    const int lane = (int)(number % w->count);
    HR_TRY(shards_write_record(w, lane, data, size, err));
    return w->shard[lane].cuts > 0 && w->shard[lane].since == 0 ? hr__shards_note(w, err) : HR_OK;
}

hr_status hr_shard_write_to(hr_shard_writer *w, int shard, const void *data, size_t size, hr_error *err)
{
    if (w->max_bytes || shard < 0 || shard >= w->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shards.shard",
                       "%s%s: expected a shard of a fixed number, 0 to %lld, got %d", w->folder, w->base,
                       w->max_bytes ? -1LL : (long long)w->count - 1, shard);
    return w->shard[shard].done ? HR_OK : shards_write_record(w, shard, data, size, err);
}

/* ---- the end ---- */

/* All that can fail for lack of room is done before the first shard gets its name. */
static hr_status shards_prepare(hr_shard_writer *w, hr_error *err)
{
    if (!w->parts || w->complete) return HR_OK;
    if (!w->max_bytes) HR_TRY(hr__shards_finish(w, err));
    if (w->count == 0) HR_TRY(next_shard(w, err)); /* no records are one empty shard */
    if (w->max_bytes && w->count > w->full) HR_TRY(finish_last(w, err));
    return w->finished ? hr__shards_same(w, err) : hr__shard_notes_write(w, true, err);
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
    if (w->parts) {
        char *part = hr__shard_part_name(w, shard), *name = hr__shard_name(w, shard, w->count);
        st = part && name ? name_part(part, name, err) : hr_no_memory(err, "shards");
        hr_free(part);
        hr_free(name);
    } else {
        hr_output *out = s->out;
        s->out = NULL;
        st = hr_output_commit(out, err);
    }
    s->named = st == HR_OK && !w->finished;
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
    return w->parts && !w->output.no_sync ? hr__sync_folder(w->folder, err) : HR_OK;
}

static void take_back(const hr_shard_writer *w)
{
    for (int64_t i = 0; i < w->count; i++) {
        if (!w->shard[i].named) continue;
        char *name = hr__shard_name(w, i, w->count), *part = w->parts ? hr__shard_part_name(w, i) : NULL;
        char *index = w->index && name ? hr__record_index_name(name) : NULL;
        if (index) hr__sys_get()->unlink(index);
        if (name && part) hr__sys_get()->rename(name, part);
        if (name && !part) hr__sys_get()->unlink(name);
        hr_free(index);
        hr_free(name);
        hr_free(part);
    }
}

static void shards_free_writer(hr_shard_writer *w)
{
    for (int64_t i = 0; i < w->count; i++) hr_output_discard(w->shard[i].out);
    hr__shards_let_go(w);
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
    for (int i = 0; st == HR_OK && i < count; i++) st = shards_prepare(writers[i], err);
    for (int i = 0; st == HR_OK && i < count; i++) st = name_all(writers[i], err);
    for (int i = count - 1; i >= 0; i--) { /* the first made the folder */
        *shards += writers[i]->count;
        if (st == HR_OK) {
            if (writers[i]->parts) hr__shard_notes_remove(writers[i], NULL);
            shards_free_writer(writers[i]);
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
    if (w->held >= 0 && w->max_bytes && (!w->resume || w->finished)) hr__shard_notes_remove(w, NULL);
    shards_free_writer(w);
    if (folder) rmdir(folder); /* stays if anything is in it */
    hr_free(folder);
}
