/* The index of a file as users ask for it: the one that is kept beside the file, or made by a pass over it. */
#include "base/constructor.h"
#include "base/pool.h"
#include "io/framing.h"
#include "io/input.h"
#include "io/record/record_index.h"

/* ---- making it ---- */

static void add_record(void *user, int64_t offset, int64_t size) { hr__record_index_add_record(user, offset, size); }

static void add_place(void *user, int64_t offset, int64_t made) { hr__record_index_add_place(user, offset, made); }

static hr_status changed_meanwhile(const char *path, hr_error *err)
{
    hr_fail(err, HR_FAILED_PRECONDITION, "index.changed",
            "%s: expected the file to stay as it is while its index is made, but it was written to", path);
    hr_error_file(err, path);
    return HR_FAILED_PRECONDITION;
}

static hr_status scan(hr_record_index *index, hr_input *in, uint64_t limit, hr_error *err)
{
    int64_t records, size, changed;
    HR_TRY(hr__input_about(in, &index->size, &index->changed, err));
    index->compression = hr__input_compression(in);
    index->made = true;
    hr__input_watch(in, add_place, index);
    HR_TRY(hr__record_scan(in, limit, add_record, index, &records, err));
    if (index->failed) return hr_no_memory(err, "an index");
    HR_TRY(hr__record_index_probe(index, in, err));
    HR_TRY(hr__input_about(in, &size, &changed, err));
    return size == index->size && changed == index->changed ? HR_OK : changed_meanwhile(index->path, err);
}

static hr_status index_make(const char *path, const hr_record_index_opts *o, hr_record_index **out, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = o->compression};
    hr_input *in = NULL;
    hr_record_index *index = hr__record_index_new(path);
    if (!index) return hr_no_memory(err, "an index");
    if (o->every_record) index->every = 1;
    hr_status st = hr_input_open_with(path, &opts, &in, err);
    if (st == HR_OK) st = scan(index, in, hr__record_limit(o->max_record_bytes), err);
    hr_input_free(in);
    if (st == HR_OK)
        *out = index;
    else
        hr_record_index_free(index);
    return st;
}

/* ---- opening ---- */

/* FILE.hridx, if it is valid and has what is asked for. HR_NOT_FOUND: it is to be made. */
static hr_status use_kept(const char *path, bool every_record, hr_record_index **out, hr_error *err)
{
    hr_error why;
    const hr_status st = hr_record_index_read(path, out, &why);
    if (st == HR_OK && every_record && (*out)->every != 1) {
        hr_record_index_free(*out);
        return HR_NOT_FOUND;
    }
    if (st == HR_OK || st == HR_NOT_FOUND) return st;
    if (st == HR_RESOURCE_EXHAUSTED && err) *err = why;
    if (st == HR_RESOURCE_EXHAUSTED) return st;
    hr_log_message(HR_WARNING, "%s: it is not used", why.text);
    return HR_NOT_FOUND;
}

hr_status hr_record_index_open_with(const char *path, const hr_record_index_opts *opts, hr_record_index **out,
                                    hr_error *err)
{
    const hr_record_index_opts o = HR_OPTIONS(hr_record_index_opts, opts);
    hr_status st = o.anew ? HR_NOT_FOUND : use_kept(path, o.every_record, out, err);
    if (st != HR_NOT_FOUND) return st;
    HR_TRY(index_make(path, &o, out, err));
    st = o.keep ? hr_record_index_write(*out, err) : HR_OK;
    if (st != HR_OK) hr_record_index_free(*out);
    return st;
}

typedef struct opening {
    const hr_file_list *files;
    const hr_record_index_opts *opts;
    hr_record_index **out;
    hr_status *status;
    hr_error *error;
} opening;

static void open_one(int64_t i, void *user)
{
    opening *o = user;
    o->status[i] = hr_record_index_open_with(o->files->path[i], o->opts, &o->out[i], &o->error[i]);
    if (o->status[i] != HR_OK) o->out[i] = NULL;
}

hr_status hr_record_index_open_all(const hr_file_list *files, const hr_record_index_opts *opts, hr_record_index **out,
                                   hr_error *err)
{
    const size_t count = (size_t)files->count;
    opening o = {files, opts, out, hr_calloc(count + 1, sizeof *o.status), hr_calloc(count + 1, sizeof *o.error)};
    hr_status st = o.status && o.error ? HR_OK : hr_no_memory(err, "indexes");
    if (st == HR_OK) hr__parallel_for(files->count, open_one, &o);
    for (size_t i = 0; st == HR_OK && i < count; i++) {
        st = o.status[i];
        if (st != HR_OK && err) *err = o.error[i];
    }
    for (size_t i = 0; st != HR_OK && o.status && o.error && i < count; i++) {
        hr_record_index_free(out[i]);
        out[i] = NULL;
    }
    hr_free(o.status);
    hr_free(o.error);
    return st;
}
