/* idx: the items of IDX files (the format of MNIST), one after another: numbers, or tensors of them, of one type and
 * shape.
 *
 * A file begins with 0, 0, a code of the type, the number of dimensions, then the dimensions, the first of them the
 * number of items; all numbers are big endian. The first file says what comes out, and all others must agree. */
#include "data/sources/byte_source.h"
#include <inttypes.h>
#include <string.h>

enum { HEADER_START = 4, MAX_DIMS = HR_MAX_RANK };

typedef struct idx_spec {
    byte_source_spec source;
    hr_dtype dtype;
    hr_shape shape; /* of an item */
} idx_spec;

typedef struct idx_state {
    byte_source at;
    int64_t items; /* of the current file */
} idx_state;

typedef struct idx_header {
    hr_dtype dtype;
    hr_shape shape; /* of an item */
    int64_t items;
    size_t size; /* of the header itself */
} idx_header;

/* ---- the header ---- */

static hr_status wrong_file(const char *path, const char *kind, int64_t offset, const char *what, hr_error *err)
{
    hr_fail(err, HR_DATA_LOSS, kind, "%s:%" PRId64 ": %s", path, offset, what);
    hr_error_file(err, path);
    if (err) err->offset = offset;
    return HR_DATA_LOSS;
}

static hr_dtype dtype_of(unsigned char code)
{
    static const struct {
        unsigned char code;
        hr_dtype dtype;
    } types[] = {{0x08, HR_UINT8}, {0x09, HR_INT8},  {0x0b, HR_INT16},
                 {0x0c, HR_INT32}, {0x0d, HR_FLOAT}, {0x0e, HR_DOUBLE}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) return types[i].dtype;
    return HR_INVALID_DTYPE;
}

static int64_t big_endian(const unsigned char *p)
{
    return (int64_t)p[0] << 24 | (int64_t)p[1] << 16 | (int64_t)p[2] << 8 | (int64_t)p[3];
}

static hr_status read_dims(const unsigned char *p, int dims, const char *path, idx_header *h, hr_error *err)
{
    int64_t values = 1;
    h->items = big_endian(p);
    h->shape.rank = dims - 1;
    for (int i = 0; i + 1 < dims; i++) {
        h->shape.dims[i] = big_endian(p + 4 * (i + 1));
        if (h->shape.dims[i] < 1 || __builtin_mul_overflow(values, h->shape.dims[i], &values) || values > INT32_MAX)
            return wrong_file(path, "idx.header", HEADER_START, "expected items of 1 to 2^31 - 1 values", err);
    }
    return HR_OK;
}

/* Lends nothing: the header's bytes stay to be consumed. */
static hr_status peek_header(hr_input *in, const char *path, idx_header *h, hr_error *err)
{
    const char *data;
    size_t size;
    *h = (idx_header){0};
    HR_TRY(hr_input_peek(in, HEADER_START, &data, &size, err));
    const unsigned char *p = (const unsigned char *)data;
    const bool magic = size >= HEADER_START && p[0] == 0 && p[1] == 0;
    h->dtype = magic ? dtype_of(p[2]) : HR_INVALID_DTYPE;
    const int dims = magic ? p[3] : 0;
    if (h->dtype == HR_INVALID_DTYPE || dims < 1 || dims > MAX_DIMS + 1)
        return wrong_file(path, "idx.header", 0, "expected the magic of an IDX file (0, 0, type, dimensions)", err);
    h->size = HEADER_START + 4 * (size_t)dims;
    HR_TRY(hr_input_peek(in, h->size, &data, &size, err));
    if (size < h->size)
        return wrong_file(path, "idx.size", 0, "expected the dimensions, found the end of the file", err);
    return read_dims((const unsigned char *)data + HEADER_START, dims, path, h, err);
}

/* ---- the arguments ---- */

/* Its header is read here, and again with its items: a pipe would hang. */
static hr_status schema_of_first_file(idx_spec *sp, hr_error *err)
{
    source_files files = {0};
    hr_input *in = NULL;
    idx_header h;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = sp->source.compression};
    HR_TRY(source_files_find(&files, "idx", sp->source.pattern, sp->source.literal, err));
    const char *path = files.list.path[0];
    hr_status st =
        hr_path_reads_once(path) ? source_files_fail_once("idx", path, err) : hr_input_open_with(path, &opts, &in, err);
    if (st == HR_OK) st = peek_header(in, path, &h, err);
    hr_input_free(in);
    hr_file_list_clear(&files.list);
    if (st != HR_OK) return st;
    sp->dtype = h.dtype;
    sp->shape = h.shape;
    return HR_OK;
}

static hr_status idx_spec_copy(void *spec, hr_error *err)
{
    idx_spec *sp = spec;
    HR_TRY(hr__byte_source_copy(&sp->source, err));
    return sp->source.pattern ? schema_of_first_file(sp, err) : HR_OK;
}

static void idx_spec_free(void *spec) { hr__byte_source_free_spec(&((idx_spec *)spec)->source); }

static hr_status idx_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const idx_spec *sp = spec;
    HR_TRY(hr__byte_source_check(&sp->source, "idx", err));
    return hr_schema_add(out, (hr_field){.name = "value", .dtype = sp->dtype, .shape = sp->shape}, err);
}

static hr_status idx_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    return hr__byte_source_open(state, &((const idx_spec *)spec)->source, "idx", p, err);
}

static hr_status idx_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    return hr__byte_source_load(state, &((const idx_spec *)spec)->source, "idx", err);
}

/* ---- plan ---- */

/* Reads the header of the current file, again where the iterator goes on in the middle of it. */
static hr_status begin_file(const idx_spec *sp, idx_state *st, hr_plan *p, hr_error *err)
{
    const int64_t offset = st->at.offset;
    idx_header h;
    st->at.offset = 0;
    hr_status status = hr__byte_source_file(&st->at, &sp->source, "idx", p, err);
    st->at.offset = offset;
    HR_TRY(status);
    const char *path = hr__byte_source_path(&st->at);
    HR_TRY(peek_header(st->at.in, path, &h, err));
    if (h.dtype != sp->dtype || !hr_shape_equal(h.shape, sp->shape))
        return wrong_file(path, "idx.shape", 0, "expected items of the type and shape that the first file has", err);
    HR_TRY(hr_saved_between("idx", st->at.record, 0, h.items, err));
    st->items = h.items;
    if (offset > 0) return hr_input_seek(st->at.in, offset, err);
    hr__byte_source_pass(&st->at, 0, h.size);
    return HR_OK;
}

/* Nothing may follow the last item. */
static hr_status end_file(idx_state *st, hr_error *err)
{
    const char *data;
    size_t size;
    HR_TRY(hr_input_peek(st->at.in, 1, &data, &size, err));
    if (size > 0)
        return wrong_file(hr__byte_source_path(&st->at), "idx.size", st->at.offset,
                          "expected the end of the file after the items that its header names, found more", err);
    hr__byte_source_next(&st->at);
    return HR_OK;
}

static hr_status read_items(idx_state *st, hr_columns *rows, int64_t want, int64_t width, hr_error *err)
{
    const char *data;
    size_t size;
    hr_status damage = hr_input_peek(st->at.in, (size_t)(want * width), &data, &size, err);
    const int64_t count = (int64_t)size / width < want ? (int64_t)size / width : want;
    if (count == 0 && damage != HR_OK) return damage;
    if (count == 0)
        return wrong_file(hr__byte_source_path(&st->at), "idx.size", st->at.offset,
                          "expected as many items as its header names, found the end of the file", err);
    memcpy(rows->column[0].values, data, (size_t)(count * width));
    for (int64_t r = 0; r < count; r++)
        rows->origin[r] = hr_origin_of(st->at.number, st->at.record + r, st->at.offset + r * width);
    rows->rows = count;
    hr__byte_source_pass(&st->at, count, (size_t)(count * width));
    return HR_OK;
}

static hr_status idx_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const idx_spec *sp = spec;
    idx_state *st = state;
    const hr_field field = {.dtype = sp->dtype, .shape = sp->shape};
    const int64_t width = (int64_t)hr_field_width(&field), max = (int64_t)hr_unit_size(p) / width + 1;
    if (!st->at.in) HR_TRY(begin_file(sp, st, p, err));
    int64_t want = hr_room(p) < max ? hr_room(p) : max;
    if (want > st->items - st->at.record) want = st->items - st->at.record;
    hr_columns *rows = hr_unit_rows(p, want);
    if (!rows) return hr_no_memory(err, "idx: a unit of items");
    return want > 0 ? read_items(st, rows, want, width, err) : end_file(st, err);
}

/* ---- work: numbers in the machine's order ---- */

static hr_status idx_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit, (void)w, (void)err;
    const idx_spec *sp = spec;
    const hr_field field = {.dtype = sp->dtype, .shape = sp->shape};
    const size_t size = hr_dtype_size(sp->dtype), bytes = (size_t)rows->rows * hr_field_width(&field);
    unsigned char *at = rows->column[0].values;
    for (const unsigned char *end = at + bytes; size > 1 && at < end; at += size) {
        uint64_t value = 0;
        for (size_t i = 0; i < size; i++) value = value << 8 | at[i];
        const uint16_t two = (uint16_t)value;
        const uint32_t four = (uint32_t)value;
        memcpy(at, size == 2 ? (const void *)&two : size == 4 ? (const void *)&four : (const void *)&value, size);
    }
    return HR_OK;
}

static void idx_close(void *state) { hr__byte_source_close(state); }

static hr_op_files idx_files(const void *spec) { return hr__byte_source_files(&((const idx_spec *)spec)->source); }

static void idx_describe(const void *spec, hr_description *to)
{
    const idx_spec *sp = spec;
    hr_describe_text(to, NULL, sp->source.pattern);
}

const hr_op hr_op_idx = {
    .head = HR_OP_HEAD,
    .name = "idx",
    .spec_size = sizeof(idx_spec),
    .state_size = sizeof(idx_state),
    .saved = BYTE_SOURCE_SAVED,
    SOURCE_RANGES,
    .spec_copy = idx_spec_copy,
    .spec_free = idx_spec_free,
    .check = idx_check,
    .open = idx_open,
    .plan = idx_plan,
    .work = idx_work,
    .load = idx_load,
    .close = idx_close,
    .files = idx_files,
    .describe = idx_describe,
};

hr_dataset *hr_idx_with(const char *pattern, const hr_idx_opts *opts)
{
    const hr_idx_opts o = HR_OPTIONS(hr_idx_opts, opts);
    const idx_spec spec = {.source = {.pattern = pattern, .compression = o.compression}};
    return hr_dataset_new(&hr_op_idx, &spec, NULL, 0);
}
