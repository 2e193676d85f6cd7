/* Records of several files one after the other, and what they are written to. */
#include "io/record_sets/record_set.h"
#include "io/file_system.h"
#include "io/framing.h"
#include "io/record_sets/shards.h"
#include "io/sys.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_EVERY = 1024 }; /* records between two calls of progress */

/* ---- reading ---- */

typedef struct loop {
    const char *what;
    const hr_records_opts *opts;
    hr__record_fn *fn;
    void *user;
    hr_records_report *report;
    int64_t before, total; /* bytes of the files before this one; of all, -1: not known */
} loop;

static hr_status record_set_tell(const loop *l, int64_t here, int64_t size, hr_error *err)
{
    if (!l->opts->progress) return HR_OK;
    const int64_t bytes = l->before + (size >= 0 && here > size ? size : here); /* records may have been compressed */
    const hr_progress now = {bytes, l->total, l->report->records};
    if (l->opts->progress(&now, l->opts->user)) return HR_OK;
    return hr_fail(err, HR_CANCELLED, "cancelled", "%s: cancelled after %lld records; nothing was written", l->what,
                   (long long)now.records);
}

/* What has no place yet failed at this record. */
static hr_status fail_here(const char *path, int64_t record, hr_status st, hr_error *err)
{
    if (!err || err->file[0] || st == HR_RESOURCE_EXHAUSTED || st == HR_CANCELLED) return st;
    hr_error_prefix(err, "%s: record %lld: ", path, (long long)record);
    hr_error_file(err, path);
    err->record = record;
    return st;
}

static hr_status record_set_read_file(const loop *l, const char *path, int64_t size, hr_error *err)
{
    const hr_record_opts opts = {
        .struct_size = sizeof opts, .compression = l->opts->compression, .max_record_bytes = l->opts->max_record_bytes};
    const int64_t first = l->report->records;
    hr_record_reader *reader;
    hr_view record;
    hr_status st;
    HR_TRY(hr_record_reader_open_with(path, &opts, &reader, err));
    while ((st = hr_record_read(reader, &record, err)) == HR_OK) {
        st = l->fn(record, l->user, err);
        if (st != HR_OK) st = fail_here(path, l->report->records - first, st, err);
        if (st != HR_OK) break;
        l->report->bytes += record.size;
        if (++l->report->records % LOOK_EVERY == 0) st = record_set_tell(l, hr_record_offset(reader), size, err);
        if (st != HR_OK) break;
    }
    l->report->trailing_zeros += hr_record_trailing_zeros(reader);
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

hr_status hr__records_check(const char *what, const hr_file_list *files, const char *out, hr_error *err)
{
    if (files && out) return hr__file_list_check(what, "records.argument", files, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "records.argument", "%s: expected %s, got NULL", what,
                   files ? "a name for the output" : "a list of files");
}

hr_status hr__records_each(const char *what, const hr_file_list *files, const hr_records_opts *opts, hr__record_fn *fn,
                           void *user, hr_records_report *report, hr_error *err)
{
    loop l = {.what = what, .opts = opts, .fn = fn, .user = user, .report = report, .total = hr_paths_size(files)};
    *report = (hr_records_report){0};
    for (int64_t i = 0; i < files->count; i++) {
        const int64_t size = hr_path_size(files->path[i]);
        HR_TRY(record_set_read_file(&l, files->path[i], size, err));
        if (size > 0) l.before += size;
        HR_TRY(record_set_tell(&l, 0, size, err));
    }
    return HR_OK;
}

/* ---- writing ---- */

hr_status hr__records_open(hr__records_out *to, const char *out, const hr_records_opts *opts, hr_error *err)
{
    const hr_shard_writer_opts *shards = opts->shards;
    if (shards) return hr_shard_writer_open_with(out, shards, &to->shards, err);
    return hr_record_writer_open(out, opts->output, &to->file, err);
}

hr_status hr__records_make_folder(hr__records_out *to, const char *out, hr_error *err)
{
    struct stat about;
    char *folder = hr__folder_of(out);
    if (!folder) return hr_no_memory(err, "a file's name");
    hr_status st = HR_OK;
    if (folder[0] && stat(folder, &about) != 0) {
        folder[strlen(folder) - 1] = '\0'; /* the slash */
        st = hr__make_folders(folder, err);
        to->made_folder = st == HR_OK ? folder : NULL;
    }
    if (!to->made_folder) hr_free(folder);
    return st;
}

hr_status hr__records_write(hr__records_out *to, hr_view record, hr_error *err)
{
    if (to->shards) return hr_shard_write(to->shards, record.data, (size_t)record.size, err);
    return hr_record_write(to->file, record.data, (size_t)record.size, err);
}

hr_status hr__records_commit(hr__records_out *to, hr_error *err)
{
    const hr__records_out out = *to;
    to->file = NULL;
    to->shards = NULL;
    return out.shards ? hr_shard_writer_commit(out.shards, err) : hr_record_writer_commit(out.file, err);
}

static hr_status commit_all_shards(hr__records_out *to, int count, hr_error *err)
{
    int64_t shards;
    hr_shard_writer **writer = hr_calloc((size_t)count, sizeof(hr_shard_writer *));
    if (!writer) return hr_no_memory(err, "shards");
    for (int i = 0; i < count; i++) {
        writer[i] = to[i].shards;
        to[i].shards = NULL;
    }
    const hr_status st = hr__shards_commit(writer, count, &shards, err);
    hr_free(writer);
    return st;
}

hr_status hr__records_commit_all(hr__records_out *to, int count, hr_error *err)
{
    if (to[0].shards) return commit_all_shards(to, count, err);
    for (int i = 0; i < count; i++) HR_TRY(hr__record_writer_finish(to[i].file, err));
    for (int i = 0; i < count; i++) HR_TRY(hr__records_commit(&to[i], err));
    return HR_OK;
}

void hr__records_discard(hr__records_out *to)
{
    hr_record_writer_discard(to->file);
    hr_shard_writer_discard(to->shards);
    if (to->made_folder) rmdir(to->made_folder); /* stays if anything is in it */
    hr_free(to->made_folder);
    *to = (hr__records_out){0};
}
