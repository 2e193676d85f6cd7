/* The notes of a shard writer about its full shards, from which a later run resumes: a hidden text file,
 * ".train-.headrace.shards" for "train-". It is rewritten when a shard is full, and removed when all shards have
 * their names. */
#include "io/record_sets/shards.h"
#include "base/text.h"
#include "io/sys.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char first_line[] = "headrace shards 1\n";

/* ---- what is known of shards ---- */

hr_status hr__shards_reserve(hr_shard_writer *w, int64_t count, hr_error *err)
{
    if (count <= w->capacity) return HR_OK;
    const int64_t capacity = count > 2 * w->capacity ? count : 2 * w->capacity;
    hr__shard *more = hr_realloc(w->shard, (size_t)capacity * sizeof *more);
    if (!more) return hr_no_memory(err, "shards");
    memset(more + w->capacity, 0, (size_t)(capacity - w->capacity) * sizeof *more);
    w->shard = more;
    w->capacity = capacity;
    return HR_OK;
}

/* ---- writing ---- */

static hr_status shard_notes_put(const hr_shard_writer *w, const char *path, const hr__text *text, hr_error *err)
{
    hr_output *out;
    hr_output_opts opts = {.compression = HR_NONE, .no_sync = w->output.no_sync, .buffer_size = 4096};
    HR_TRY(hr_output_open_with(path, &opts, &out, err));
    hr_output_write(out, text->data, text->size, NULL); /* a failure sticks */
    return hr_output_commit(out, err);
}

hr_status hr__shard_notes_write(const hr_shard_writer *w, bool complete, hr_error *err)
{
    hr__text text = {0};
    char *path = hr__shard_notes_name(w);
    hr__text_add(&text, first_line);
    hr__text_printf(&text, "key %016" PRIx64 "\n", w->key);
    for (int64_t i = 0; i < (w->max_bytes ? w->full : w->count); i++)
        hr__text_printf(&text, "shard %" PRId64 " %" PRId64 "\n", w->shard[i].kept, w->shard[i].file_size);
    if (complete) hr__text_add(&text, "complete\n");
    hr_status st = path ? hr__text_status(&text, "shards", err) : hr_no_memory(err, "shards");
    if (st == HR_OK) st = shard_notes_put(w, path, &text, err);
    hr__text_free(&text);
    hr_free(path);
    return st;
}

/* ---- reading ---- */

/* Of the file, -1: there is none. */
static int64_t shard_notes_size_of(char *path)
{
    struct stat about;
    const int64_t size = path && stat(path, &about) == 0 ? (int64_t)about.st_size : -1;
    hr_free(path);
    return size;
}

/* Shards from the first one that is not there on are written again. */
static void keep_what_is_there(hr_shard_writer *w)
{
    const int64_t noted = w->full;
    for (w->full = 0; w->full < noted; w->full++) {
        const hr__shard *s = &w->shard[w->full];
        const bool there = shard_notes_size_of(hr__shard_part_name(w, w->full)) == s->file_size ||
                           (w->complete && shard_notes_size_of(hr__shard_name(w, w->full, noted)) == s->file_size);
        if (!there) break;
        w->resumed += s->records;
    }
    w->complete = w->complete && w->full == noted;
    w->count = w->full;
}

/* The first record, as they are dealt in turn, that is not kept. */
static int64_t first_lost(const hr_shard_writer *w)
{
    int64_t first = INT64_MAX;
    for (int64_t i = 0; i < w->count; i++) {
        const int64_t lost = w->shard[i].kept * w->count + i;
        if (lost < first) first = lost;
    }
    return first;
}

/* Of a fixed number of shards, each is kept by itself, as far as it is noted. */
static void keep_what_is_noted(hr_shard_writer *w)
{
    bool done = w->complete;
    for (int64_t i = 0; i < w->count; i++) {
        hr__shard *s = &w->shard[i];
        const int64_t size = shard_notes_size_of(hr__shard_part_name(w, i));
        s->done = w->complete &&
                  (size == s->file_size || shard_notes_size_of(hr__shard_name(w, i, w->count)) == s->file_size);
        if (!s->done && size < s->file_size) *s = (hr__shard){0};
        s->kept = s->records;
        w->before += s->kept;
        done &= s->done;
    }
    w->complete = done;
    w->resumed = w->before > 0 ? first_lost(w) : 0;
    w->written = w->resumed;
}

static hr_status not_ours(const char *path, hr_status code, const char *what, hr_error *err)
{
    hr_fail(err, code, "shards.resume",
            "%s: expected notes of the same records and options, got %s; start from the beginning", path, what);
    hr_error_file(err, path);
    return code;
}

static hr_status read_line(hr_shard_writer *w, const char *path, const char *line, hr_error *err)
{
    int64_t records, size;
    int end = 0;
    if (strcmp(line, "complete") == 0) {
        w->complete = true;
        return HR_OK;
    }
    if (sscanf(line, "shard %" SCNd64 " %" SCNd64 "%n", &records, &size, &end) != 2 || line[end] || records < 0)
        return not_ours(path, HR_DATA_LOSS, "other text", err);
    if (!w->max_bytes && w->full == w->count) return not_ours(path, HR_DATA_LOSS, "too many shards", err);
    HR_TRY(hr__shards_reserve(w, w->full + 1, err));
    w->shard[w->full++] = (hr__shard){.records = records, .kept = records, .file_size = size};
    return HR_OK;
}

static hr_status shard_notes_read_lines(hr_shard_writer *w, const char *path, char *text, hr_error *err)
{
    char key[32];
    snprintf(key, sizeof key, "key %016" PRIx64, w->key);
    if (strncmp(text, first_line, strlen(first_line)) != 0) return not_ours(path, HR_DATA_LOSS, "other text", err);
    char *rest = text + strlen(first_line);
    const char *line = strsep(&rest, "\n");
    if (strcmp(line, key) != 0) return not_ours(path, HR_FAILED_PRECONDITION, "those of others", err);
    while (rest && *rest) HR_TRY(read_line(w, path, strsep(&rest, "\n"), err));
    return HR_OK;
}

hr_status hr__shard_notes_read(hr_shard_writer *w, hr_error *err)
{
    hr_input *in = NULL;
    const char *data;
    size_t size = 0;
    hr_error why = {0};
    char *path = hr__shard_notes_name(w);
    if (!path) return hr_no_memory(err, "shards");
    hr_status st = hr_input_open_with(path, &(hr_input_opts){.compression = HR_NONE}, &in, &why);
    if (st == HR_OK) st = hr_input_peek(in, (size_t)1 << 24, &data, &size, &why);
    char *text = st == HR_OK ? hr_malloc(size + 1) : NULL;
    if (st == HR_OK && !text) st = hr_no_memory(&why, "shards");
    if (text) {
        memcpy(text, data, size);
        text[size] = '\0';
        st = shard_notes_read_lines(w, path, text, &why);
    }
    if (st == HR_OK && w->max_bytes) keep_what_is_there(w);
    if (st == HR_OK && !w->max_bytes) keep_what_is_noted(w);
    hr_free(text);
    hr_free(path);
    hr_input_free(in);
    if (st == HR_NOT_FOUND) return HR_OK;
    if (st != HR_OK && err) *err = why;
    return st;
}

hr_status hr__shard_notes_remove(const hr_shard_writer *w, hr_error *err)
{
    char *path = hr__shard_notes_name(w);
    bool more = true;
    if (!path) return hr_no_memory(err, "shards");
    hr__sys_get()->unlink(path);
    hr_free(path);
    for (int64_t i = 0; more || i <= w->count; i++) { /* one may be full that was not noted yet */
        char *part = hr__shard_part_name(w, i);
        if (!part) return hr_no_memory(err, "shards");
        more = hr__sys_get()->unlink(part) == 0;
        hr_free(part);
    }
    return HR_OK;
}
