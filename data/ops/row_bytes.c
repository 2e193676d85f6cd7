/* row_bytes: one string component of each row decoded, or made: raw values, compressed bytes, base64, tensors. The
 * functions of tf.io that a map would call on rows, each by its own name; work does one for all rows of a unit. */
#include "io/example/tensor_wire.h"
#include <headrace/data.h>
#include <inttypes.h>
#include <zlib.h>

typedef struct row_bytes_spec {
    const char *call;      /* a literal: what messages begin with */
    const char *component; /* borrowed until spec_copy, as `to` */
    const char *to;        /* NULL: the component is replaced */
    const struct row_function *function;
    hr_dtype dtype;
    hr_shape shape;
    int64_t fixed_length; /* -1: the string's own */
    bool swap, pad;
    hr_compression compression;
} row_bytes_spec;

/* Rows at work: component `from` of `before` becomes component `to` of `rows`. */
typedef struct row_job {
    const row_bytes_spec *sp;
    hr_work *w;
    hr_columns *rows;
    const hr_columns *before;
    int from, to;
} row_job;

/* What there is to do, and what of the component it takes. */
typedef struct row_function {
    const char *expected;
    bool (*takes)(const row_bytes_spec *sp, const hr_field *f);
    void (*makes)(const row_bytes_spec *sp, hr_field *f); /* of the field that it takes */
    hr_status (*work)(row_job *j, hr_error *err);
} row_function;

/* ---- the arguments ---- */

static hr_status row_bytes_copy(void *spec, hr_error *err)
{
    row_bytes_spec *sp = spec;
    const bool renames = sp->to != NULL;
    sp->component = hr_strdup(sp->component);
    sp->to = hr_strdup(sp->to);
    return sp->component && (sp->to || !renames) ? HR_OK : hr_no_memory(err, sp->call);
}

static void row_bytes_free(void *spec)
{
    row_bytes_spec *sp = spec;
    hr_free((char *)(uintptr_t)sp->component);
    hr_free((char *)(uintptr_t)sp->to);
}

static int component_named(const row_bytes_spec *sp, const hr_schema *schema)
{
    for (int i = 0; i < schema->fields; i++)
        if (strcmp(schema->field[i].name, sp->component) == 0) return i;
    return -1;
}

static hr_status row_bytes_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const row_bytes_spec *sp = spec;
    const int from = component_named(sp, in[0]);
    if (from < 0 || !sp->function->takes(sp, &in[0]->field[from]))
        return hr_fail(err, HR_INVALID_ARGUMENT, "row_bytes.component", "%s: component '%.60s': expected %s, found %s",
                       sp->call, sp->component, sp->function->expected,
                       from < 0 ? "none" : "another one, or another type asked for");
    hr_field made = in[0]->field[from];
    sp->function->makes(sp, &made);
    if (sp->to) {
        made.name = sp->to;
        return hr_schema_add(out, made, err);
    }
    hr_schema_clear(out);
    for (int i = 0; i < in[0]->fields; i++) HR_TRY(hr_schema_add(out, i == from ? made : in[0]->field[i], err));
    return HR_OK;
}

/* ---- one value after the other ---- */

static hr_view string_of(const row_job *j, int64_t i)
{
    return ((const hr_view *)j->before->column[j->from].values)[i];
}

static void row_bytes_fail(row_job *j, int64_t row, hr_status code, const char *kind, const char *text, int64_t number)
{
    hr_error failed = {0};
    hr_fail(&failed, code, kind, "%s: component '%.60s': %s %" PRId64, j->sp->call, j->sp->component, text, number);
    hr_fail_at(j->w, j->rows, row, &failed);
}

/* Space for `count` values of row `row`: all of its width, or of the next ones of a varying row. NULL: no memory. */
static void *row_space(row_job *j, int64_t row, int64_t count)
{
    const hr_field *f = &j->rows->schema->field[j->to];
    hr_column *to = &j->rows->column[j->to];
    static char nothing[1];
    if (hr_field_fixed(f) && hr_field_width(f) == 0 && to->splits[0]) to->splits[0][row + 1] = to->splits[0][row];
    if (hr_field_fixed(f))
        return hr_field_width(f) == 0 ? nothing : (char *)to->values + (size_t)row * hr_field_width(f);
    const int64_t first = to->splits[0][row];
    to->count = first;
    if (count > INT32_MAX - 1 - first || hr_grow_column(j->w, j->rows, j->to, first + count + 1, NULL) != HR_OK)
        return NULL;
    to->count = to->splits[0][row + 1] = (int32_t)(first + count);
    return (char *)to->values + (size_t)first * hr_dtype_size(f->dtype);
}

/* A row without values: of one that failed, which stays where errors are ignored. */
static hr_status empty_row(row_job *j, int64_t row, hr_error *err)
{
    const hr_field *f = &j->rows->schema->field[j->to];
    char *to = row_space(j, row, 0);
    if (!to) return hr_no_memory(err, j->sp->call);
    if (!hr_field_fixed(f)) return HR_OK;
    if (f->dtype != HR_STRING) memset(to, 0, hr_field_width(f));
    for (size_t i = 0; f->dtype == HR_STRING && i < hr_field_width(f) / sizeof(hr_view); i++)
        ((hr_view *)(void *)to)[i] = *(const hr_view *)hr_zero_value(HR_STRING);
    return HR_OK;
}

static bool is_one_string(const hr_field *f)
{
    return f->dtype == HR_STRING && f->layout == HR_DENSE && !f->shape.rank;
}

/* A shape of rows: known, but for its first dimension. Gives how many values a step of that one has, or a row. */
static bool row_shape_is_possible(hr_shape shape)
{
    if (shape.rank < 0) return false;
    for (int d = 1; d < shape.rank; d++)
        if (shape.dims[d] < 0) return false;
    return true;
}

static int64_t step_of(hr_shape shape)
{
    int64_t step = 1;
    for (int d = shape.rank > 0 && shape.dims[0] < 0; d < shape.rank; d++) step *= shape.dims[d];
    return step;
}

/* ---- decode_raw ---- */

static bool raw_takes(const row_bytes_spec *sp, const hr_field *f)
{
    const size_t width = hr_dtype_size(sp->dtype);
    return is_one_string(f) && sp->dtype != HR_STRING && width > 0 && row_shape_is_possible(sp->shape) &&
           (sp->fixed_length < 0 || sp->fixed_length % (int64_t)width == 0);
}

static void value_makes(const row_bytes_spec *sp, hr_field *f)
{
    f->dtype = sp->dtype;
    f->shape = sp->shape;
    f->pad = NULL;
}

static void swap_bytes(char *values, int64_t count, hr_dtype dtype)
{
    const bool complex = dtype == HR_COMPLEX64 || dtype == HR_COMPLEX128;
    const size_t width = hr_dtype_size(dtype) / (complex ? 2 : 1);
    for (int64_t i = 0; i < count * (complex ? 2 : 1); i++, values += width)
        for (size_t b = 0; b < width / 2; b++) {
            const char byte = values[b];
            values[b] = values[width - 1 - b];
            values[width - 1 - b] = byte;
        }
}

/* The string of a row as values; false: it has no size for that. */
static bool raw_fits(const row_bytes_spec *sp, int64_t size, int64_t *count)
{
    const int64_t width = (int64_t)hr_dtype_size(sp->dtype), step = step_of(sp->shape);
    *count = size / width;
    if (size % width != 0) return false;
    if (sp->shape.rank == 0 || sp->shape.dims[0] >= 0) return *count == step;
    return step > 0 ? *count % step == 0 : *count == 0;
}

static hr_status raw_work(row_job *j, hr_error *err)
{
    const row_bytes_spec *sp = j->sp;
    for (int64_t r = 0; r < j->rows->rows; r++) {
        const hr_view text = string_of(j, r);
        const int64_t size = sp->fixed_length >= 0 ? sp->fixed_length : text.size;
        const int64_t there = text.size < size ? text.size : size;
        int64_t count;
        if (!raw_fits(sp, size, &count)) {
            HR_TRY(empty_row(j, r, err));
            row_bytes_fail(
                j, r, HR_INVALID_ARGUMENT, "row_bytes.size",
                "expected bytes of whole values, as many as the shape has, got a string of this size:", text.size);
            continue;
        }
        char *to = row_space(j, r, count);
        if (!to) return hr_no_memory(err, sp->call);
        if (there > 0) memcpy(to, text.data, (size_t)there);
        if (size > there) memset(to + there, 0, (size_t)(size - there));
        if (sp->swap) swap_bytes(to, count, sp->dtype);
        for (int64_t i = 0; sp->dtype == HR_BOOL && i < count; i++) to[i] = to[i] != 0;
    }
    return HR_OK;
}

/* ---- parse_tensor ---- */

static bool tensor_takes(const row_bytes_spec *sp, const hr_field *f)
{
    return is_one_string(f) && hr_dtype_size(sp->dtype) > 0 && row_shape_is_possible(sp->shape);
}

static bool shape_fits(hr_shape wanted, hr_shape got)
{
    bool fits = wanted.rank == got.rank;
    for (int d = 0; fits && d < wanted.rank; d++) fits = wanted.dims[d] < 0 || wanted.dims[d] == got.dims[d];
    return fits;
}

static hr_status tensor_work(row_job *j, hr_error *err)
{
    for (int64_t r = 0; r < j->rows->rows; r++) {
        hr__tensor_wire t;
        const bool read = hr__tensor_wire_read(string_of(j, r), &t);
        const bool fits = read && t.dtype == j->sp->dtype && shape_fits(j->sp->shape, t.shape);
        void *to = fits ? row_space(j, r, t.count) : NULL;
        if (fits && !to) return hr_no_memory(err, j->sp->call);
        if (fits && hr__tensor_wire_values(&t, to)) continue;
        HR_TRY(empty_row(j, r, err));
        if (read && !fits)
            row_bytes_fail(
                j, r, HR_INVALID_ARGUMENT, "row_bytes.tensor",
                "expected a tensor of the type and shape asked for, got one of another; its number of values "
                "is",
                t.count);
        else
            row_bytes_fail(j, r, HR_INVALID_ARGUMENT, "row_bytes.tensor",
                           "expected a serialized tensor, got other bytes; their number is", string_of(j, r).size);
    }
    return HR_OK;
}

/* ---- serialize_tensor ---- */

static bool dense_takes(const row_bytes_spec *sp, const hr_field *f)
{
    (void)sp;
    return f->layout == HR_DENSE && row_shape_is_possible(f->shape);
}

static void string_makes(const row_bytes_spec *sp, hr_field *f)
{
    (void)sp;
    f->dtype = HR_STRING;
    f->shape = HR_SCALAR;
    f->pad = NULL;
}

static hr_status serialize_work(row_job *j, hr_error *err)
{
    const hr_field *f = &j->before->schema->field[j->from];
    const hr_column *from = &j->before->column[j->from];
    const size_t width = hr_dtype_size(f->dtype);
    hr_view *to = j->rows->column[j->to].values;
    for (int64_t r = 0; r < j->rows->rows; r++) {
        hr_shape shape = f->shape;
        const char *values = from->values;
        if (hr_field_fixed(f)) {
            values += (size_t)r * hr_field_width(f);
        } else {
            const int64_t step = step_of(shape), count = from->splits[0][r + 1] - from->splits[0][r];
            shape.dims[0] = step ? count / step : 0;
            values += (size_t)from->splits[0][r] * width;
        }
        const size_t size = hr__tensor_wire_size(f->dtype, shape, values);
        char *bytes = hr_row_text(j->w, j->rows, size);
        if (!bytes) return hr_no_memory(err, j->sp->call);
        hr__tensor_wire_put(f->dtype, shape, values, bytes);
        to[r] = (hr_view){bytes, (int64_t)size};
    }
    return HR_OK;
}

/* ---- a string for each string: the layout stays ---- */

static bool strings_takes(const row_bytes_spec *sp, const hr_field *f)
{
    (void)sp;
    return f->dtype == HR_STRING;
}

static bool compressed_takes(const row_bytes_spec *sp, const hr_field *f)
{
    return f->dtype == HR_STRING &&
           (sp->compression == HR_NONE || sp->compression == HR_GZIP || sp->compression == HR_ZLIB);
}

static void same_makes(const row_bytes_spec *sp, hr_field *f) { (void)sp, (void)f; }

typedef hr_status string_fn(row_job *j, hr_view in, hr_view *out, hr_error *err);

/* The row that value `i` belongs to. */
static int64_t row_of_value(const row_job *j, const hr_field *f, int64_t i, int64_t row)
{
    if (hr_field_fixed(f)) return i / (int64_t)(hr_field_width(f) / sizeof(hr_view));
    while (j->before->column[j->from].splits[0][row + 1] <= i) row++;
    return row;
}

static hr_status string_each(row_job *j, string_fn *fn, hr_error *err)
{
    const hr_field *f = &j->rows->schema->field[j->to];
    const hr_column *from = &j->before->column[j->from];
    hr_column *to = &j->rows->column[j->to];
    const bool fixed = hr_field_fixed(f);
    const int64_t count = fixed ? j->rows->rows * (int64_t)(hr_field_width(f) / sizeof(hr_view)) : from->count;
    if (!fixed) HR_TRY(hr_grow_column(j->w, j->rows, j->to, count + 1, err));
    hr_view *values = to->values;
    if (!fixed) {
        *to = *from; /* with its splits and indices */
        to->values = values;
    }
    for (int64_t i = 0, row = 0; i < count; i++) {
        hr_error failed = {0};
        values[i] = *(const hr_view *)hr_zero_value(HR_STRING);
        const hr_status st = fn(j, string_of(j, i), &values[i], &failed);
        if (st == HR_RESOURCE_EXHAUSTED && err) *err = failed;
        if (st == HR_RESOURCE_EXHAUSTED || st == HR_CANCELLED) return st;
        if (st == HR_OK) continue;
        row = row_of_value(j, f, i, row);
        hr_error_prefix(&failed, "%s: component '%.60s': ", j->sp->call, j->sp->component);
        hr_fail_at(j->w, j->rows, row, &failed);
    }
    return HR_OK;
}

/* ---- base64 with '-' and '_' ---- */

static const char base64_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static hr_status encode_base64(row_job *j, hr_view in, hr_view *out, hr_error *err)
{
    if (in.size == 0) return HR_OK;
    char *to = hr_row_text(j->w, j->rows, (size_t)(in.size + 2) / 3 * 4);
    if (!to) return hr_no_memory(err, j->sp->call);
    *out = (hr_view){to, 0};
    for (int64_t i = 0; i < in.size; i += 3) {
        const int64_t left = in.size - i < 3 ? in.size - i : 3;
        uint32_t bits = 0;
        for (int64_t k = 0; k < left; k++) bits |= (uint32_t)(unsigned char)in.data[i + k] << (16 - 8 * k);
        for (int64_t k = 0; k <= left; k++) *to++ = base64_letters[bits >> (18 - 6 * k) & 63];
        for (int64_t k = left; j->sp->pad && k < 3; k++) *to++ = '=';
    }
    out->size = to - out->data;
    return HR_OK;
}

static hr_status decode_base64(row_job *j, hr_view in, hr_view *out, hr_error *err)
{
    if (in.size % 4 == 0 && in.size > 0 && in.data[in.size - 1] == '=') in.size -= in.data[in.size - 2] == '=' ? 2 : 1;
    if (in.size % 4 == 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "row_bytes.base64",
                       "expected base64, whose length is never 1 modulo 4, got %" PRId64 " letters", in.size);
    if (in.size == 0) return HR_OK;
    char *to = hr_row_text(j->w, j->rows, (size_t)in.size / 4 * 3 + 3);
    if (!to) return hr_no_memory(err, j->sp->call);
    *out = (hr_view){to, 0};
    for (int64_t i = 0; i < in.size; i += 4) {
        const int64_t left = in.size - i < 4 ? in.size - i : 4;
        uint32_t bits = 0;
        for (int64_t k = 0; k < left; k++) {
            const char *at = in.data[i + k] ? strchr(base64_letters, in.data[i + k]) : NULL;
            if (!at)
                return hr_fail(err, HR_INVALID_ARGUMENT, "row_bytes.base64",
                               "expected base64 of letters, digits, '-' and '_', got the byte 0x%02x at %" PRId64,
                               (unsigned char)in.data[i + k], i + k);
            bits |= (uint32_t)(at - base64_letters) << (18 - 6 * k);
        }
        for (int64_t k = 0; k < left - 1; k++) *to++ = (char)(bits >> (16 - 8 * k) & 255);
    }
    out->size = to - out->data;
    return HR_OK;
}

/* ---- decode_compressed: streams of zlib or gzip, several of which may follow each other ---- */

/* Twice the space, with what is there. */
static char *grow_bytes(row_job *j, char *bytes, size_t used, size_t *capacity)
{
    char *grown = *capacity <= SIZE_MAX / 4 ? hr_row_text(j->w, j->rows, 2 * *capacity) : NULL;
    if (grown) memcpy(grown, bytes, used);
    *capacity *= 2;
    return grown;
}

static hr_status inflate_string(row_job *j, z_stream *z, size_t capacity, hr_view *out, hr_error *err)
{
    char *bytes = hr_row_text(j->w, j->rows, capacity);
    size_t used = 0;
    int st = Z_OK;
    while (bytes && (z->avail_in > 0 || st == Z_OK)) {
        if (used == capacity) bytes = grow_bytes(j, bytes, used, &capacity);
        if (!bytes) break;
        if (hr_work_cancelled(j->w)) return hr_fail(err, HR_CANCELLED, "cancelled", "cancelled");
        const uInt space = capacity - used > INT32_MAX ? INT32_MAX : (uInt)(capacity - used);
        z->next_out = (Bytef *)bytes + used;
        z->avail_out = space;
        st = inflate(z, Z_NO_FLUSH);
        used += space - z->avail_out;
        if (st == Z_MEM_ERROR) return hr_no_memory(err, j->sp->call);
        if (st == Z_STREAM_END && z->avail_in > 0) st = inflateReset(z);
        if (st == Z_STREAM_END) break;
        if (st != Z_OK)
            return hr_fail(err, HR_DATA_LOSS, "row_bytes.compressed", "expected compressed bytes, got others: %s",
                           z->msg ? z->msg : "they end too early");
    }
    if (!bytes) return hr_no_memory(err, j->sp->call);
    *out = (hr_view){bytes, (int64_t)used};
    return HR_OK;
}

static hr_status decode_compressed(row_job *j, hr_view in, hr_view *out, hr_error *err)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in.data, .avail_in = (uInt)in.size};
    *out = in;
    if (in.size == 0 || j->sp->compression == HR_NONE) return HR_OK;
    if (in.size > INT32_MAX)
        return hr_fail(err, HR_UNIMPLEMENTED, "row_bytes.length", "expected at most %d bytes, got %" PRId64, INT32_MAX,
                       in.size);
    *out = *(const hr_view *)hr_zero_value(HR_STRING);
    if (inflateInit2(&z, j->sp->compression == HR_GZIP ? 16 + MAX_WBITS : MAX_WBITS) != Z_OK)
        return hr_no_memory(err, j->sp->call);
    const hr_status st = inflate_string(j, &z, (size_t)in.size * 4 + 64, out, err);
    inflateEnd(&z);
    return st;
}

static hr_status encode_base64_work(row_job *j, hr_error *err) { return string_each(j, encode_base64, err); }
static hr_status decode_base64_work(row_job *j, hr_error *err) { return string_each(j, decode_base64, err); }
static hr_status decode_compressed_work(row_job *j, hr_error *err) { return string_each(j, decode_compressed, err); }

/* ---- the operator ---- */

static hr_status row_bytes_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const row_bytes_spec *sp = spec;
    hr_columns before;
    HR_TRY(hr_new_columns(w, rows, &before, err));
    row_job j = {.sp = sp, .w = w, .rows = rows, .before = &before, .from = component_named(sp, before.schema)};
    j.to = sp->to ? before.schema->fields : j.from;
    for (int i = 0; i < before.schema->fields; i++)
        if (i != j.to) rows->column[i] = before.column[i];
    HR_TRY(sp->function->work(&j, err));
    if (hr_work_levels(w) > 0) hr_batches_check(sp->call, w, rows);
    return HR_OK;
}

static void row_bytes_identity(const void *spec, uint64_t *sum)
{
    const row_bytes_spec *sp = spec;
    hr_identify_text(sum, sp->call);
    hr_identify_text(sum, sp->component);
    hr_identify_i64(sum, sp->fixed_length);
    hr_identify_i64(sum, sp->swap);
    hr_identify_i64(sum, sp->pad);
    hr_identify_i64(sum, sp->compression);
}

static void row_bytes_describe(const void *spec, hr_description *to)
{
    const row_bytes_spec *sp = spec;
    hr_describe_text(to, NULL, sp->call);
    hr_describe_text(to, NULL, sp->component);
    hr_describe_text(to, "name", sp->to);
}

const hr_op hr_op_row_bytes = {
    .head = HR_OP_HEAD,
    .name = "row_bytes",
    .spec_size = sizeof(row_bytes_spec),
    .traits = HR_ROW_BY_ROW,
    .spec_copy = row_bytes_copy,
    .spec_free = row_bytes_free,
    .check = row_bytes_check,
    .work = row_bytes_work,
    .identity = row_bytes_identity,
    .describe = row_bytes_describe,
};

static hr_dataset *row_bytes_make(hr_dataset *in, row_bytes_spec spec)
{
    if (!spec.component) spec.component = "";
    return hr_dataset_new(&hr_op_row_bytes, &spec, &in, 1);
}

hr_dataset *hr_decode_raw_rows_with(hr_dataset *in, const char *component, hr_dtype dtype,
                                    const hr_decode_raw_rows_opts *opts)
{
    static const row_function function = {
        "a string, a type of numbers, a shape known but for its first dimension, and a "
        ".fixed_length of whole values",
        raw_takes, value_makes, raw_work};
    const hr_decode_raw_rows_opts o = HR_OPTIONS(hr_decode_raw_rows_opts, opts);
    return row_bytes_make(in, (row_bytes_spec){.call = "decode_raw",
                                               .component = component,
                                               .to = o.name,
                                               .function = &function,
                                               .dtype = dtype,
                                               .shape = o.shape ? *o.shape : HR_SHAPE(-1),
                                               .fixed_length = o.fixed_length > 0 ? o.fixed_length : -1,
                                               .swap = o.big_endian && hr_dtype_size(dtype) > 1});
}

hr_dataset *hr_parse_tensor_rows_with(hr_dataset *in, const char *component, hr_dtype dtype, hr_shape shape,
                                      const hr_row_bytes_opts *opts)
{
    static const row_function function = {"a string, a type of values, and a shape known but for its first dimension",
                                          tensor_takes, value_makes, tensor_work};
    const hr_row_bytes_opts o = HR_OPTIONS(hr_row_bytes_opts, opts);
    return row_bytes_make(in, (row_bytes_spec){.call = "parse_tensor",
                                               .component = component,
                                               .to = o.name,
                                               .function = &function,
                                               .dtype = dtype,
                                               .shape = shape});
}

hr_dataset *hr_serialize_tensor_rows_with(hr_dataset *in, const char *component, const hr_row_bytes_opts *opts)
{
    static const row_function function = {"a dense one of a shape known but for its first dimension", dense_takes,
                                          string_makes, serialize_work};
    const hr_row_bytes_opts o = HR_OPTIONS(hr_row_bytes_opts, opts);
    return row_bytes_make(
        in, (row_bytes_spec){.call = "serialize_tensor", .component = component, .to = o.name, .function = &function});
}

hr_dataset *hr_decode_compressed_rows_with(hr_dataset *in, const char *component, hr_compression compression,
                                           const hr_row_bytes_opts *opts)
{
    static const row_function function = {"strings, and HR_NONE, HR_GZIP or HR_ZLIB", compressed_takes, same_makes,
                                          decode_compressed_work};
    const hr_row_bytes_opts o = HR_OPTIONS(hr_row_bytes_opts, opts);
    return row_bytes_make(in, (row_bytes_spec){.call = "decode_compressed",
                                               .component = component,
                                               .to = o.name,
                                               .function = &function,
                                               .compression = compression});
}

hr_dataset *hr_encode_base64_rows_with(hr_dataset *in, const char *component, const hr_row_bytes_opts *opts)
{
    static const row_function function = {"strings", strings_takes, same_makes, encode_base64_work};
    const hr_row_bytes_opts o = HR_OPTIONS(hr_row_bytes_opts, opts);
    return row_bytes_make(
        in, (row_bytes_spec){
                .call = "encode_base64", .component = component, .to = o.name, .function = &function, .pad = o.pad});
}

hr_dataset *hr_decode_base64_rows_with(hr_dataset *in, const char *component, const hr_row_bytes_opts *opts)
{
    static const row_function function = {"strings", strings_takes, same_makes, decode_base64_work};
    const hr_row_bytes_opts o = HR_OPTIONS(hr_row_bytes_opts, opts);
    return row_bytes_make(
        in, (row_bytes_spec){.call = "decode_base64", .component = component, .to = o.name, .function = &function});
}
