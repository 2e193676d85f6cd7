/* Records dealt out to several parts: by a hash, so that a record's part is a function of its bytes (or of one
 * feature's) and the seed alone; or in exact numbers, drawn by chance without a list of them: each record goes to a
 * part with the probability of what that part still lacks. */
#include "io/example/example_walk.h"
#include "io/file_system.h"
#include "io/output.h"
#include "io/record_sets/record_set.h"
#include "io/sys.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { PARTS = 1000 };

typedef struct splitter {
    const hr_split_records_opts *opts;
    hr__records_out *to;
    int parts;
    uint64_t *below; /* part p takes hashes below below[p]; the last one takes what is left */
    int64_t *lack;   /* exact: records that the part still lacks */
    int64_t left;    /* exact: in all */
    int64_t number;  /* of the next record */
    int64_t *count;  /* records of each part */
    hr_example_walk *walk;
} splitter;

/* ---- by hash ---- */

static hr_status no_feature(const splitter *s, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "split.feature",
                   "expected a feature '%.60s' with a value, by which records are split", s->opts->by);
}

/* The fingerprint is one of all the bytes at once. */
static hr_status hash_of_numbers(const hr__values *values, uint64_t *hash, hr_error *err)
{
    const size_t width = hr_dtype_size(values->dtype), size = (size_t)values->count * width;
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    char *all = values->data ? NULL : hr_malloc(size), *end = all;
    if (!all && !values->data) return hr_no_memory(err, "the values of a feature");
    for (const hr__values *b; all && (b = hr__blocks_next(&blocks)); end += (size_t)b->count * width)
        memcpy(end, b->data, (size_t)b->count * width);
    *hash = hr_fingerprint64(all ? all : values->data, size);
    hr_free(all);
    return HR_OK;
}

/* Of the value, not of how it is written: lists of the same numbers or bytes are the same. */
static hr_status hash_of_values(const hr__values *values, uint64_t *hash, hr_error *err)
{
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    if (values->dtype != HR_STRING) return hash_of_numbers(values, hash, err);
    *hash = (uint64_t)values->count;
    for (const hr__values *b; (b = hr__blocks_next(&blocks));)
        for (int64_t i = 0; i < b->count; i++) {
            const hr_view v = ((const hr_view *)b->data)[i];
            *hash = hr_fingerprint_cat64(*hash, hr_fingerprint64(v.data, (size_t)v.size));
        }
    return HR_OK;
}

static hr_status hash_of_feature(const splitter *s, hr_view record, uint64_t *hash, hr_error *err)
{
    hr__walk_contents contents;
    const size_t size = strlen(s->opts->by);
    HR_TRY(hr__example_walk_record(s->walk, record, &contents, err));
    for (int64_t i = 0; i < contents.features; i++) {
        const hr__walk_feature *f = &contents.feature[i];
        if ((size_t)f->key.size != size || memcmp(f->key.data, s->opts->by, size) != 0) continue;
        if (f->values.count == 0) break;
        return hash_of_values(&f->values, hash, err);
    }
    return no_feature(s, err);
}

static hr_status part_by_hash(const splitter *s, hr_view record, int *part, hr_error *err)
{
    uint64_t hash = 0;
    if (s->opts->by)
        HR_TRY(hash_of_feature(s, record, &hash, err));
    else
        hash = hr_fingerprint64(record.data, (size_t)record.size);
    hash = hr_random(s->opts->seed, hash);
    for (*part = 0; *part < s->parts - 1 && hash >= s->below[*part];) ++*part;
    return HR_OK;
}

/* ---- in exact numbers ---- */

static hr_status count_record(hr_view record, void *user, hr_error *err)
{
    (void)record;
    (void)user;
    (void)err;
    return HR_OK;
}

/* The ends of the parts, rounded: so they make up all of it, and none is off by more than one. */
static void share_out(splitter *s, const hr_split_part *part, int64_t records)
{
    int64_t begin = 0;
    double sum = 0;
    for (int p = 0; p < s->parts; p++) {
        sum += part[p].share;
        const int64_t end = p == s->parts - 1 ? records : llround(fmin(sum, 1) * (double)records);
        s->lack[p] = end - begin;
        begin = end;
    }
    s->left = records;
}

static hr_status part_by_chance(splitter *s, int *part, hr_error *err)
{
    if (s->left == 0)
        return hr_fail(err, HR_FAILED_PRECONDITION, "split.changed",
                       "split: expected %" PRId64
                       " records as counted before, found more; a file was changed meanwhile",
                       s->number);
    int64_t draw = hr_random_below(s->opts->seed, (uint64_t)s->number, s->left--);
    for (*part = 0; draw >= s->lack[*part]; ++*part) draw -= s->lack[*part];
    s->lack[*part]--;
    return HR_OK;
}

/* ---- all of it ---- */

static hr_status split_write_record(hr_view record, void *user, hr_error *err)
{
    splitter *s = user;
    int part = 0;
    HR_TRY(s->opts->exact ? part_by_chance(s, &part, err) : part_by_hash(s, record, &part, err));
    s->number++;
    s->count[part]++;
    return hr__records_write(&s->to[part], record, err);
}

static hr_status check_shares(const hr_split_part *part, int parts, hr_error *err)
{
    double sum = 0;
    if (parts < 1 || parts > PARTS || !part)
        return hr_fail(err, HR_INVALID_ARGUMENT, "split.shares", "split: expected 1 to %d parts, got %d", PARTS,
                       part ? parts : 0);
    for (int p = 0; p < parts; p++) {
        if (!(part[p].share > 0))
            return hr_fail(err, HR_INVALID_ARGUMENT, "split.shares", "split: expected shares above 0, got %g",
                           part[p].share);
        sum += part[p].share;
        if (!part[p].out || !*part[p].out)
            return hr_fail(err, HR_INVALID_ARGUMENT, "split.shares", "split: expected an output of part %d, got none",
                           p);
        for (int q = 0; q < p; q++)
            if (strcmp(part[p].out, part[q].out) == 0)
                return hr_fail(err, HR_INVALID_ARGUMENT, "split.shares",
                               "split: expected an output of its own for each part, got '%.60s' twice", part[p].out);
    }
    if (fabs(sum - 1) > 1e-6)
        return hr_fail(err, HR_INVALID_ARGUMENT, "split.shares",
                       "split: expected shares that sum to 1, got %.9g; for example 0.8 and 0.2", sum);
    return HR_OK;
}

static hr_status plan_by_hash(splitter *s, const hr_split_part *part, hr_error *err)
{
    double sum = 0;
    for (int p = 0; p < s->parts - 1; p++) {
        sum += part[p].share;
        s->below[p] = (uint64_t)fmin(ldexp(sum, 64), 18446744073709549568.0); /* the last double below 2^64 */
    }
    s->walk = hr_example_walk_new();
    return s->walk ? HR_OK : hr_no_memory(err, "split");
}

static hr_status plan_exact(splitter *s, const hr_file_list *files, const hr_split_part *part, hr_error *err)
{
    hr_records_report counted;
    if (s->opts->by)
        return hr_fail(err, HR_INVALID_ARGUMENT, "split.exact", "split: expected either .by or .exact, got both");
    HR_TRY(hr_need_files_again(files, "leave .exact out", err));
    HR_TRY(hr__records_each("split", files, s->opts->records, count_record, NULL, &counted, err));
    share_out(s, part, counted.records);
    return HR_OK;
}

static hr_status open_parts(splitter *s, const hr_split_part *part, hr_error *err)
{
    for (int p = 0; p < s->parts; p++) {
        if (!s->opts->records->shards) HR_TRY(hr__records_make_folder(&s->to[p], part[p].out, err));
        HR_TRY(hr__records_open(&s->to[p], part[p].out, s->opts->records, err));
    }
    return HR_OK;
}

/* ---- outputs under several names ---- */

/* Where a file will get its name, links followed. */
typedef struct target {
    char *path;
    const char *name; /* its last part */
    dev_t device;
    ino_t folder;
} target;

static hr_status split_target(const char *out, target *to, hr_error *err)
{
    struct stat about = {0};
    to->path = hr__output_target(out);
    char *folder = to->path ? hr__folder_of(to->path) : NULL;
    if (!folder) return hr_no_memory(err, "a file's name");
    to->name = to->path + strlen(folder);
    (void)!stat(folder[0] ? folder : ".", &about); /* it is there: a temporary file was made in it */
    to->device = about.st_dev;
    to->folder = about.st_ino;
    hr_free(folder);
    return HR_OK;
}

static hr_status refuse_same(const hr_split_part *part, const target *to, int parts, hr_error *err)
{
    for (int p = 0; p < parts; p++)
        for (int q = 0; q < p; q++)
            if (to[p].device == to[q].device && to[p].folder == to[q].folder && strcmp(to[p].name, to[q].name) == 0)
                return hr_fail(err, HR_INVALID_ARGUMENT, "split.shares",
                               "split: expected an output of its own for each part, got '%.60s' and '%.60s', which are "
                               "the same file",
                               part[q].out, part[p].out);
    return HR_OK;
}

/* "a" and "./a" are one file, which the later of two parts would replace. Shards have locks against that. */
static hr_status check_targets(const splitter *s, const hr_split_part *part, hr_error *err)
{
    target *to = hr_calloc((size_t)s->parts, sizeof *to);
    hr_status st = to ? HR_OK : hr_no_memory(err, "split");
    for (int p = 0; st == HR_OK && p < s->parts; p++) st = split_target(part[p].out, &to[p], err);
    if (st == HR_OK) st = refuse_same(part, to, s->parts, err);
    for (int p = 0; to && p < s->parts; p++) hr_free(to[p].path);
    hr_free(to);
    return st;
}

static hr_status split_finish(splitter *s, hr_error *err)
{
    if (s->opts->exact && s->left != 0)
        return hr_fail(err, HR_FAILED_PRECONDITION, "split.changed",
                       "split: expected %" PRId64 " records more, as counted before; a file was changed meanwhile",
                       s->left);
    return hr__records_commit_all(s->to, s->parts, err);
}

static hr_status split(splitter *s, const hr_file_list *files, hr_split_part *part, hr_records_report *report,
                       hr_error *err)
{
    const size_t parts = (size_t)s->parts;
    s->to = hr_calloc(parts, sizeof *s->to);
    s->below = hr_calloc(parts, sizeof *s->below);
    s->lack = hr_calloc(parts, sizeof *s->lack);
    s->count = hr_calloc(parts, sizeof *s->count);
    if (!s->to || !s->below || !s->lack || !s->count) return hr_no_memory(err, "split");
    HR_TRY(s->opts->exact ? plan_exact(s, files, part, err) : plan_by_hash(s, part, err));
    HR_TRY(open_parts(s, part, err));
    if (!s->opts->records->shards) HR_TRY(check_targets(s, part, err));
    HR_TRY(hr__records_each("split", files, s->opts->records, split_write_record, s, report, err));
    HR_TRY(split_finish(s, err));
    for (int p = 0; p < s->parts; p++) part[p].records = s->count[p];
    return HR_OK;
}

hr_status hr_split_records_with(const hr_file_list *files, hr_split_part *parts, int count,
                                const hr_split_records_opts *opts, hr_records_report *report, hr_error *err)
{
    hr_split_records_opts o = HR_OPTIONS(hr_split_records_opts, opts);
    o.records = &HR_OPTIONS(hr_records_opts, o.records);
    splitter s = {.opts = &o, .parts = count};
    hr_records_report counts;
    HR_TRY(hr__records_check("split", files, "", err));
    HR_TRY(check_shares(parts, count, err));
    const hr_status st = split(&s, files, parts, report ? report : &counts, err);
    for (int p = 0; s.to && p < count; p++) hr__records_discard(&s.to[p]);
    hr_example_walk_free(s.walk);
    hr_free(s.to);
    hr_free(s.below);
    hr_free(s.lack);
    hr_free(s.count);
    return st;
}
