/* A permutation of all records, drawn as a whole: records are sorted by hr_random(seed, n).
 * These keys are all different, and do not depend on how much memory there is. */
#include "io/record_sets/record_set.h"
#include "io/record_sets/spill.h"
#include "io/sys.h"

#define MEMORY ((int64_t)512 << 20)
#define MIN_MEMORY ((int64_t)1 << 20)

typedef struct shuffler {
    hr__spill *spill;
    uint64_t seed, number;
    hr__records_out to;
} shuffler;

static hr_status add_record(hr_view record, void *user, hr_error *err)
{
    shuffler *s = user;
    return hr__spill_add(s->spill, hr_random(s->seed, s->number++), record, err);
}

static hr_status shuffle_write_record(hr_view record, void *user, hr_error *err)
{
    return hr__records_write(&((shuffler *)user)->to, record, err);
}

static hr_status open_spill(const char *out, const hr_shuffle_records_opts *o, hr__spill **spill, hr_error *err)
{
    const int64_t memory = o->memory ? o->memory : MEMORY;
    if (memory < MIN_MEMORY)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shuffle.memory",
                       "shuffle: expected .memory of 1 MiB or more, got %lld bytes", (long long)memory);
    char *folder = o->temp ? hr_strdup(o->temp) : hr__folder_of(out);
    hr_status st = folder ? hr__spill_new(folder, memory, spill, err) : hr_no_memory(err, "shuffle");
    hr_free(folder);
    return st;
}

hr_status hr_shuffle_records_with(const hr_file_list *files, const char *out, const hr_shuffle_records_opts *opts,
                                  hr_records_report *report, hr_error *err)
{
    const hr_shuffle_records_opts o = HR_OPTIONS(hr_shuffle_records_opts, opts);
    const hr_records_opts records = HR_OPTIONS(hr_records_opts, o.records);
    shuffler s = {.seed = o.seed};
    hr_records_report counts, *r = report ? report : &counts;
    HR_TRY(hr__records_check("shuffle", files, out, err));
    hr_status st = hr__records_open(&s.to, out, &records, err);
    if (st == HR_OK) st = open_spill(out, &o, &s.spill, err);
    if (st == HR_OK) st = hr__records_each("shuffle", files, &records, add_record, &s, r, err);
    if (st == HR_OK) st = hr__spill_merge(s.spill, shuffle_write_record, &s, err);
    if (st == HR_OK) r->spilled = hr__spill_bytes(s.spill);
    hr__spill_free(s.spill);
    if (st == HR_OK) return hr__records_commit(&s.to, err);
    hr__records_discard(&s.to);
    return st;
}
