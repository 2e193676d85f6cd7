/* Shards of a fixed number grow side by side, and none is full before the last record. So that a later run can go on,
 * each is cut now and then: there it could end, and more may follow. Where that is depends on its own records alone,
 * so a run that is not killed writes the same bytes. From time to time all that was cut is synced, and noted. */
#include "io/record_sets/shards.h"
#include "io/output.h"
#include "io/sys.h"
#include <errno.h>
#include <sys/stat.h>

hr_status hr__shard_open_part(const hr_shard_writer *w, hr__shard *s, int64_t shard, hr_error *err)
{
    char *path = hr__shard_part_name(w, shard);
    if (!path) return hr_no_memory(err, "shards");
    const hr_status st = hr__output_open_part(path, &w->output, s->file_size, &s->out, err);
    hr_free(path);
    return st;
}

hr_status hr__shard_cut(const hr_shard_writer *w, hr__shard *s, size_t size, hr_error *err)
{
    s->since += (int64_t)size;
    if (!w->cut_bytes || s->since < w->cut_bytes) return HR_OK;
    HR_TRY(hr__output_cut(s->out, &s->file_size, err));
    s->kept = s->records;
    s->since = 0;
    s->cuts++;
    return HR_OK;
}

/* On average, each was cut once since then. */
static bool is_time(const hr_shard_writer *w)
{
    int64_t cuts = 0;
    for (int64_t i = 0; i < w->count; i++) cuts += w->shard[i].cuts;
    return cuts >= w->count;
}

hr_status hr__shards_note(hr_shard_writer *w, hr_error *err)
{
    if (w->max_bytes || !w->parts || w->complete || !is_time(w)) return HR_OK;
    for (int64_t i = 0; i < w->count; i++) {
        hr__shard *s = &w->shard[i];
        if (s->cuts > 0) HR_TRY(hr__output_sync(s->out, err));
        s->cuts = 0;
    }
    return hr__shard_notes_write(w, false, err);
}

hr_status hr__shard_finish(hr_shard_writer *w, int64_t shard, hr_error *err)
{
    hr__shard *s = &w->shard[shard];
    struct stat about;
    char *path = hr__shard_part_name(w, shard);
    if (!path) return hr_no_memory(err, "shards");
    hr_output *out = s->out;
    s->out = NULL;
    hr_status st = hr_output_commit(out, err);
    if (st == HR_OK && stat(path, &about) != 0) st = hr__sys_fail(err, errno, "file.open", path, "found again");
    if (st == HR_OK) s->file_size = about.st_size;
    s->kept = s->records;
    hr_free(path);
    return st;
}

hr_status hr__shards_finish(hr_shard_writer *w, hr_error *err)
{
    for (int64_t i = 0; i < w->count; i++)
        if (w->shard[i].out) HR_TRY(hr__shard_finish(w, i, err));
    return HR_OK;
}

bool hr__shards_have(const hr_shard_writer *w, int64_t n)
{
    if (w->max_bytes) return n < w->resumed;
    return w->before > 0 && n / w->count < w->shard[n % w->count].kept;
}

/* A run that is repeated finds all of them there, or fails. */
int64_t hr__shards_kept(const hr_shard_writer *w)
{
    int64_t records = w->max_bytes ? w->resumed : w->before;
    for (int64_t i = 0; w->finished && i < w->count; i++) records += w->shard[i].records;
    return records;
}
