/* fixed_length_records: files cut into records of one length, between a header and a footer that are skipped.
 *
 * A file whose bytes are no whole number of records is an error: before its first record where the size is known,
 * after its last whole one where it is compressed or a pipe. */
#include "data/sources/byte_source.h"
#include "io/input.h"
#include <inttypes.h>
#include <string.h>

typedef struct fixed_spec {
    byte_source_spec source;
    int64_t record_bytes, header_bytes, footer_bytes;
} fixed_spec;

static hr_status fixed_spec_copy(void *spec, hr_error *err)
{
    return hr__byte_source_copy(&((fixed_spec *)spec)->source, err);
}

static void fixed_spec_free(void *spec) { hr__byte_source_free_spec(&((fixed_spec *)spec)->source); }

static hr_status fixed_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const fixed_spec *sp = spec;
    const int64_t max = INT32_MAX;
    HR_TRY(hr__byte_source_check(&sp->source, "fixed_length_records", err));
    if (sp->record_bytes < 1 || sp->record_bytes > max)
        return hr_fail(err, HR_INVALID_ARGUMENT, "fixed.record_bytes",
                       "fixed_length_records: expected record_bytes from 1 to %" PRId64 ", got %" PRId64, max,
                       sp->record_bytes);
    if (sp->header_bytes < 0 || sp->header_bytes > max || sp->footer_bytes < 0 || sp->footer_bytes > max)
        return hr_fail(err, HR_INVALID_ARGUMENT, "fixed.record_bytes",
                       "fixed_length_records: expected .header_bytes and .footer_bytes from 0 to %" PRId64
                       ", got %" PRId64 " and %" PRId64,
                       max, sp->header_bytes, sp->footer_bytes);
    return hr_schema_set(out, &hr_string_schema, err);
}

static hr_status fixed_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    return hr__byte_source_open(state, &((const fixed_spec *)spec)->source, "fixed_length_records", p, err);
}

static hr_status fixed_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    return hr__byte_source_load(state, &((const fixed_spec *)spec)->source, "fixed_length_records", err);
}

/* `size` bytes are there between header and footer, from `offset` on. */
static hr_status not_whole(const fixed_spec *sp, const byte_source *s, int64_t offset, int64_t size, hr_error *err)
{
    const char *path = hr__byte_source_path(s);
    hr_fail(err, HR_DATA_LOSS, "fixed.size",
            "%s:%" PRId64 ": expected records of %" PRId64 " bytes between a header of %" PRId64
            " and a footer of %" PRId64 ", found %" PRId64 " bytes left over; is the file cut short?",
            path, offset, sp->record_bytes, sp->header_bytes, sp->footer_bytes, size);
    hr_error_file(err, path);
    if (!err) return HR_DATA_LOSS;
    err->record = s->record;
    err->offset = offset;
    err->length = size;
    return HR_DATA_LOSS;
}

/* Of a plain file the size says at once whether it is sound. */
static hr_status check_size(const fixed_spec *sp, const byte_source *s, hr_error *err)
{
    if (!hr__input_has_places(s->in)) return HR_OK;
    const int64_t size = hr__input_file_size(s->in), between = size - sp->header_bytes - sp->footer_bytes;
    if (between >= 0 && between % sp->record_bytes == 0) return HR_OK;
    if (between < 0) return not_whole(sp, s, 0, size, err);
    const int64_t left = between % sp->record_bytes;
    return not_whole(sp, s, sp->header_bytes + between - left, left, err);
}

static hr_status pass_header(const fixed_spec *sp, byte_source *s, hr_error *err)
{
    const char *data;
    size_t size;
    HR_TRY(check_size(sp, s, err));
    HR_TRY(hr_input_peek(s->in, (size_t)sp->header_bytes, &data, &size, err));
    if ((int64_t)size < sp->header_bytes) return not_whole(sp, s, 0, (int64_t)size, err);
    hr__byte_source_pass(s, 0, (size_t)sp->header_bytes);
    return HR_OK;
}

/* Adds whole records that are seen not to be the footer. */
static hr_status read_records(const fixed_spec *sp, byte_source *s, hr_plan *p, int64_t capacity, hr_columns *rows,
                              hr_error *err)
{
    const int64_t width = sp->record_bytes;
    const char *data;
    size_t size;
    hr_status damage = hr_input_peek(s->in, (size_t)(capacity * width + sp->footer_bytes), &data, &size, err);
    const int64_t between = (int64_t)size - sp->footer_bytes, there = between < 0 ? 0 : between / width;
    const int64_t count = there < capacity ? there : capacity;
    if (count == 0 && damage != HR_OK) return damage;
    if (count == 0) return between == 0 ? HR_OK : not_whole(sp, s, s->offset, (int64_t)size, err);
    char *bytes = hr_unit_bytes(p, (size_t)(count * width));
    if (!bytes) return hr_no_memory(err, "fixed_length_records: a piece of a file");
    memcpy(bytes, data, (size_t)(count * width));
    hr_view *view = rows->column[0].values;
    for (int64_t r = 0; r < count; r++) {
        view[r] = (hr_view){bytes + r * width, width};
        rows->origin[r] = hr_origin_of(s->number, s->record + r, s->offset + r * width);
    }
    rows->rows = count;
    hr__byte_source_pass(s, count, (size_t)(count * width));
    return HR_OK;
}

static hr_status fixed_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const fixed_spec *sp = spec;
    byte_source *s = state;
    HR_TRY(hr__byte_source_file(s, &sp->source, "fixed_length_records", p, err));
    if (s->offset == 0) HR_TRY(pass_header(sp, s, err));
    const int64_t max = (int64_t)hr_unit_size(p) / sp->record_bytes + 1, capacity = hr_room(p) < max ? hr_room(p) : max;
    hr_columns *rows = hr_unit_rows(p, capacity);
    if (!rows) return hr_no_memory(err, "fixed_length_records: a unit of records");
    HR_TRY(read_records(sp, s, p, capacity, rows, err));
    if (rows->rows == 0) hr__byte_source_next(s);
    return HR_OK;
}

static void fixed_close(void *state) { hr__byte_source_close(state); }

static hr_op_files fixed_files(const void *spec) { return hr__byte_source_files(&((const fixed_spec *)spec)->source); }

static void fixed_identity(const void *spec, uint64_t *sum)
{
    const fixed_spec *sp = spec;
    hr_identify_i64(sum, sp->record_bytes);
    hr_identify_i64(sum, sp->header_bytes);
    hr_identify_i64(sum, sp->footer_bytes);
}

static void fixed_describe(const void *spec, hr_description *to)
{
    const fixed_spec *sp = spec;
    hr_describe_text(to, NULL, sp->source.pattern);
    hr_describe_number(to, NULL, sp->record_bytes);
    hr_describe_option(to, "header_bytes", sp->header_bytes);
    hr_describe_option(to, "footer_bytes", sp->footer_bytes);
}

const hr_op hr_op_fixed_length_records = {
    .head = HR_OP_HEAD,
    .name = "fixed_length_records",
    .spec_size = sizeof(fixed_spec),
    .state_size = sizeof(byte_source),
    .saved = BYTE_SOURCE_SAVED,
    SOURCE_RANGES,
    .spec_copy = fixed_spec_copy,
    .spec_free = fixed_spec_free,
    .check = fixed_check,
    .open = fixed_open,
    .plan = fixed_plan,
    .load = fixed_load,
    .close = fixed_close,
    .identity = fixed_identity,
    .files = fixed_files,
    .describe = fixed_describe,
};

hr_dataset *hr_fixed_length_records_with(const char *pattern, int64_t record_bytes,
                                         const hr_fixed_length_records_opts *opts)
{
    const hr_fixed_length_records_opts o = HR_OPTIONS(hr_fixed_length_records_opts, opts);
    const fixed_spec spec = {.source = {.pattern = pattern, .compression = o.compression},
                             .record_bytes = record_bytes,
                             .header_bytes = o.header_bytes,
                             .footer_bytes = o.footer_bytes};
    return hr_dataset_new(&hr_op_fixed_length_records, &spec, NULL, 0);
}
