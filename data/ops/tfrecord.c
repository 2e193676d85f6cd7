/* tfrecord: the records of TFRecord files, one file after another, or a range of them.
 *
 * The records of a list come from stages that read parts of the files ahead of their turn (records_ahead.h), as far as
 * there are threads for it; plan then only passes them on, and keeps its place. Otherwise, and where damage is, plan
 * opens the files and reads whole records of one (record_source.h): no unit spans two. A compressed file is inflated by
 * plan, in order. work checks the data; but under a policy plan does, so that what is skipped, and how much of it may
 * be, is settled in order. */
#include "data/sources/byte_source.h"
#include "data/sources/records_ahead.h"
#include "io/framing.h"
#include "io/record/record_range.h"
#include <headrace/data.h>
#include <inttypes.h>
#include <string.h>
#include <uv.h>

typedef struct tfrecord_spec {
    const char *pattern;
    bool literal;           /* one file's name, whatever characters are in it */
    int64_t first;          /* of the range that is read; its length: how.count */
    hr_policy asked;        /* the caller's, until the spec is copied */
    record_source_spec how; /* its policy and counter are the spec's own */
} tfrecord_spec;

typedef struct tfrecord_state {
    int64_t list, file; /* saved: which list of files; the current file; */
    record_source at;   /* its first numbers as well */
    source_files files;
    records_ahead ahead;
} tfrecord_state;

typedef struct tfrecord_unit {
    bool ahead; /* read ahead, and checked already; the numbers of its records are too small by */
    int64_t less;
    int64_t first; /* else: number of the first record */
    int64_t zeros; /* after a compressed stream */
    record_file file;
} tfrecord_unit;

/* ---- the arguments ---- */

static hr_status tfrecord_spec_copy(void *spec, hr_error *err)
{
    tfrecord_spec *sp = spec;
    const char *pattern = sp->pattern;
    sp->pattern = hr_strdup(pattern);
    sp->how.policy = NULL;
    sp->how.in_vain = hr_calloc(1, sizeof *sp->how.in_vain);
    if ((pattern && !sp->pattern) || !sp->how.in_vain) return hr_no_memory(err, "tfrecord: the file pattern");
    return hr__policy_new(&sp->asked, "tfrecord", &sp->how.policy, err);
}

static void tfrecord_spec_free(void *spec)
{
    tfrecord_spec *sp = spec;
    hr_free((char *)(uintptr_t)sp->pattern);
    hr__policy_free(sp->how.policy);
    hr_free((void *)sp->how.in_vain);
}

static hr_status tfrecord_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const tfrecord_spec *sp = spec;
    if (!sp->pattern)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tfrecord.pattern",
                       "tfrecord: expected the name of a file or a pattern, got none that can be one");
    if (sp->how.compression != HR_COMPRESSION_AUTO && strcmp(hr_compression_name(sp->how.compression), "AUTO") == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "compression.unknown",
                       "tfrecord: expected a compression of hr_compression, got %d", (int)sp->how.compression);
    if (sp->how.checks < HR_CHECKS_ALL || sp->how.checks > HR_CHECKS_NONE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tfrecord.checks", "tfrecord: expected .checks of hr_checks, got %d",
                       (int)sp->how.checks);
    if (sp->first < 0 || sp->how.count < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tfrecord.range",
                       "tfrecord: expected .first and .count of 0 or more, got %" PRId64 " and %" PRId64, sp->first,
                       sp->how.count);
    return hr_schema_set(out, &hr_string_schema, err);
}

/* ---- plan: which file ---- */

static hr_status tfrecord_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const tfrecord_spec *sp = spec;
    tfrecord_state *st = state;
    hr_status status = source_files_open(&st->files, "tfrecord", sp->pattern, sp->literal, p, err);
    st->list = st->files.identity;
    if (!sp->literal) hr__records_ahead_open(&st->ahead, p);
    return status;
}

static hr_status tfrecord_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const tfrecord_spec *sp = spec;
    const tfrecord_state *st = state;
    HR_TRY(hr_saved_between("tfrecord", st->at.seen, 0, sp->how.count, err));
    return source_files_check(&st->files, "tfrecord", sp->pattern, st->list, st->file, err);
}

static void tfrecord_close(void *state)
{
    tfrecord_state *st = state;
    hr__record_source_close(&st->at);
    hr_file_list_clear(&st->files.list);
}

/* Opens the current file where the next record is. HR_END: there is none. */
static hr_status tfrecord_open_file(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, hr_error *err)
{
    if (st->file >= st->files.list.count) return HR_END;
    const char *path = st->files.list.path[st->file];
    const int32_t number = hr_file_number(p, path);
    if (number < 0) return hr_no_memory(err, "tfrecord: a file's name");
    HR_TRY(source_files_once("tfrecord", path, p, number, err));
    return hr__record_source_open(&st->at, &sp->how, path, number, hr_plan_wake(p), err);
}

static hr_status go_to_range(tfrecord_state *st, const hr__range_begin *begin, hr_error *err)
{
    HR_TRY(hr__record_range_go(begin, st->at.in, err));
    st->at.record = begin->record;
    st->at.offset = hr_input_offset(st->at.in);
    return HR_OK;
}

static hr_status begin_range(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, hr_error *err)
{
    hr__range_begin begin;
    const bool more = sp->how.max_record_bytes > HR__RECORD_LIMIT; /* less holds for what is read alone */
    const hr_record_index_opts opts = {.struct_size = sizeof opts,
                                       .compression = sp->how.compression,
                                       .max_record_bytes = more ? (size_t)sp->how.max_record_bytes : 0};
    const uint64_t from = uv_hrtime();
    hr_status status = hr__record_range_find(&st->files.list, &opts, sp->first, sp->how.count, &begin, err);
    if (status == HR_OK && begin.index && hr_record_index_was_made(begin.index))
        hr_plan_count(p, "index.made_us", (int64_t)(uv_hrtime() - from) / 1000);
    if (status == HR_OK) {
        st->at.begun = 1;
        st->file = begin.file;
        status = tfrecord_open_file(sp, st, p, err);
    }
    if (status == HR_OK) status = go_to_range(st, &begin, err);
    if (status < 0) hr_error_prefix(err, "tfrecord: ");
    hr_record_index_free(begin.index);
    return status;
}

/* The file in which the next record is is open. HR_END: there is none. */
static hr_status tfrecord_find_file(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, hr_error *err)
{
    const bool all = sp->first == 0 && sp->how.count == INT64_MAX;
    if (!all && !st->at.begun) HR_TRY(begin_range(sp, st, p, err));
    if (hr__record_source_left(&st->at, &sp->how) == 0) return HR_END;
    return st->at.in ? HR_OK : tfrecord_open_file(sp, st, p, err);
}

static void next_file(tfrecord_state *st)
{
    hr__record_source_close(&st->at);
    st->file++;
    st->at.record = st->at.offset = 0;
}

/* ---- plan: records that were read ahead ---- */

static void pass_on(tfrecord_state *st, hr_plan *p, hr_span span)
{
    const hr_origin *first = &span.in->origin[span.first];
    const int64_t less = first->record == UINT32_MAX ? 0 : st->at.record - span.count - first->record;
    *(tfrecord_unit *)hr_unit(p) = (tfrecord_unit){.ahead = true, .less = less};
    hr_emit(p, span);
}

/* Fills the unit. *rest: plan itself is to see to what follows, in a unit that has none of these yet, or it is the end. */
static hr_status tfrecord_pass(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, bool *rest)
{
    while (hr_room(p) > 0) {
        const int64_t room = hr_room(p), left = hr__record_source_left(&st->at, &sp->how);
        *rest = st->file >= st->files.list.count || left == 0;
        if (*rest) return HR_OK;
        hr_span span;
        const records_answer got = hr__records_ahead_pull(&st->ahead, &sp->how, p, &st->files.list, st->file, &st->at,
                                                          room < left ? room : left, &span);
        if (got == RECORDS_FAIL) return HR_END;
        if (got == RECORDS_ARE_LATE) return HR_WAIT;
        if (got == RECORDS_END) next_file(st);
        if (got == RECORDS_COME) {
            pass_on(st, p, span);
            continue;
        }
        *rest = got == RECORDS_IN_TURN && hr_emitted(p) == 0;
        if (*rest) return HR_OK;
        if (hr_emitted(p) > 0) return hr_end_unit(p), HR_OK;
    }
    return HR_OK;
}

/* ---- plan: a unit ---- */

static hr_status tfrecord_read(const tfrecord_spec *sp, tfrecord_state *st, hr_plan *p, hr_error *err)
{
    hr_status status = tfrecord_find_file(sp, st, p, err);
    if (status == HR_END) hr__records_ahead_close(&st->ahead, p);
    if (status == HR_END) HR_TRY(hr__policy_budget(sp->how.policy, "tfrecord", st->at.errors, st->at.seen, NULL, err));
    HR_TRY(status);

    const char *path = st->files.list.path[st->file];
    const int64_t capacity = hr__record_source_capacity(&st->at, &sp->how, p), first = st->at.record;
    hr_columns *rows = hr_unit_rows(p, capacity);
    char *name = rows ? hr_unit_bytes(p, strlen(path) + 1) : NULL;
    if (!name) return hr_no_memory(err, "tfrecord: a unit of records");
    memcpy(name, path, strlen(path) + 1);

    status = hr__record_source_read(&st->at, &sp->how, p, capacity, rows, err);
    const int64_t zeros = status == HR_OK ? hr__record_source_zeros(&st->at) : 0;
    *(tfrecord_unit *)hr_unit(p) =
        (tfrecord_unit){.first = first, .zeros = zeros, .file = hr__record_source_file(&st->at, name)};
    if (status == HR_OK && rows->rows == 0) next_file(st);
    return status;
}

static hr_status tfrecord_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const tfrecord_spec *sp = spec;
    tfrecord_state *st = state;
    const bool all = sp->first == 0 && sp->how.count == INT64_MAX;
    if (hr__records_are_ahead(&st->ahead) && (all || st->at.begun)) {
        bool rest = false;
        HR_TRY(tfrecord_pass(sp, st, p, &rest));
        if (!rest) return HR_OK;
    }
    return tfrecord_read(sp, st, p, err);
}

/* ---- work: check the data ---- */

static void number_records(hr_columns *rows, int64_t less)
{
    for (int64_t r = 0; r < rows->rows && less != 0; r++)
        rows->origin[r] = hr_origin_of(rows->origin[r].file, rows->origin[r].record + less, rows->origin[r].offset);
}

static hr_status tfrecord_work(const void *spec, const void *unit_, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)err;
    const tfrecord_spec *sp = spec;
    const tfrecord_unit *unit = unit_;
    if (unit->ahead)
        number_records(rows, unit->less);
    else
        hr__record_source_check(&sp->how, &unit->file, unit->first, w, rows);
    if (unit->zeros > 0) hr_work_count(w, "tfrecord: zero bytes after a compressed stream", unit->zeros);
    return HR_OK;
}

static hr_op_files tfrecord_files(const void *spec)
{
    const tfrecord_spec *sp = spec;
    return source_files_of(sp->pattern, sp->literal);
}

static void tfrecord_identity(const void *spec, uint64_t *sum)
{
    const tfrecord_spec *sp = spec;
    hr_identify_i64(sum, sp->how.compression);
    hr_identify_i64(sum, sp->how.checks);
    hr_identify_i64(sum, hr__policy_on_error(sp->how.policy));
    hr_identify_i64(sum, sp->first);
    hr_identify_i64(sum, sp->how.count);
}

static int64_t tfrecord_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    const tfrecord_spec *sp = spec;
    return sp->how.count < INT64_MAX && !sp->how.policy ? sp->how.count : HR_UNKNOWN_CARDINALITY;
}

static void tfrecord_describe(const void *spec, hr_description *to)
{
    const tfrecord_spec *sp = spec;
    hr_describe_text(to, NULL, sp->pattern);
    if (sp->how.compression) hr_describe_text(to, "compression", hr_compression_name(sp->how.compression));
    hr_describe_option(to, "first", sp->first);
    if (sp->how.count < INT64_MAX) hr_describe_number(to, "count", sp->how.count);
}

const hr_op hr_op_tfrecord = {
    .head = HR_OP_HEAD,
    .name = "tfrecord",
    .spec_size = sizeof(tfrecord_spec),
    .state_size = sizeof(tfrecord_state),
    .unit_size = sizeof(tfrecord_unit),
    .traits = HR_KNOWS_ITS_PLACE,
    .saved = 2 + RECORD_SOURCE_SAVED, /* list, file; record, offset, seen, errors, begun */
    SOURCE_RANGES,
    .spec_copy = tfrecord_spec_copy,
    .spec_free = tfrecord_spec_free,
    .check = tfrecord_check,
    .open = tfrecord_open,
    .plan = tfrecord_plan,
    .work = tfrecord_work,
    .load = tfrecord_load,
    .close = tfrecord_close,
    .identity = tfrecord_identity,
    .files = tfrecord_files,
    .cardinality = tfrecord_cardinality,
    .describe = tfrecord_describe,
};

static hr_dataset *tfrecord_make(const char *pattern, bool literal, const hr_tfrecord_opts *opts)
{
    const hr_tfrecord_opts o = HR_OPTIONS(hr_tfrecord_opts, opts);
    const tfrecord_spec spec = {.pattern = pattern,
                                .literal = literal,
                                .first = o.first,
                                .asked = o.policy,
                                .how = {.compression = o.compression,
                                        .checks = o.checks,
                                        .max_record_bytes = hr__record_limit(o.max_record_bytes),
                                        .count = o.count ? *o.count : INT64_MAX}};
    return hr_dataset_new(&hr_op_tfrecord, &spec, NULL, 0);
}

hr_dataset *hr_tfrecord_with(const char *pattern, const hr_tfrecord_opts *opts)
{
    return tfrecord_make(pattern, false, opts);
}

hr_dataset *hr_tfrecord_fn(const hr_element *element, void *user)
{
    char path[4096];
    return tfrecord_make(hr__byte_source_name(element, path, sizeof path), true, user);
}
