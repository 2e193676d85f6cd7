/* DecodeCSV: lines of CSV as columns, by TensorFlow's rules: each record is one line without its end, a field in quotes
 * is in quotes as a whole, and blanks belong to fields. */
#include "base/number.h"
#include <headrace/kernels.h>

typedef struct csv_rules {
    char delimiter;
    bool quotes;
    hr_view missing;
    const int64_t *select; /* columns in rising order; NULL: all */
    int columns;
} csv_rules;

static hr_status csv_rules_read(hr_node node, csv_rules *r, hr_error *err)
{
    const hr_attr *types = hr_node_attr(node, "OUT_TYPE");
    const hr_view delimiter = hr_attr_string(node, "field_delim");
    int selected;
    const int64_t *select = hr_attr_ints(node, "select_cols", &selected);
    *r = (csv_rules){',', hr_attr_bool(node, "use_quote_delim"), hr_attr_string(node, "na_value"), NULL, types->count};
    if (delimiter.size != 1 || delimiter.data[0] == '"' || delimiter.data[0] == '\n' || delimiter.data[0] == '\r')
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "field_delim should be one character, no quote and no end of a line, got '%.*s'",
                       (int)(delimiter.size < 20 ? delimiter.size : 20), delimiter.size ? delimiter.data : "");
    r->delimiter = delimiter.data[0];
    if (selected == 0) return HR_OK;
    if (selected != types->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "select_cols should match output size %d, got %d",
                       types->count, selected);
    for (int i = 0; i < selected; i++)
        if (select[i] < 0 || (i > 0 && select[i] <= select[i - 1]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                           "select_cols should be non-negative indices that rise, got %lld", (long long)select[i]);
    r->select = select;
    return HR_OK;
}

static hr_status csv_refuse(int64_t record, const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "string.csv", "record %lld: %s", (long long)record, what);
}

/* The next field of a record: *at goes behind its delimiter, or behind the record's end. Quotes within it are copied
 * into `memory`. */
static hr_status csv_field(const csv_rules *r, hr_view record, int64_t number, int64_t *at, char *memory, hr_view *out,
                           hr_error *err)
{
    const char *text = record.data;
    int64_t i = *at, size = 0;
    const bool quoted = r->quotes && i < record.size && text[i] == '"';
    for (i += quoted; i < record.size; i++) {
        if (quoted && text[i] == '"' && !(i + 1 < record.size && text[i + 1] == '"')) break;
        if (!quoted && text[i] == r->delimiter) break;
        if (!quoted && r->quotes && (text[i] == '"' || text[i] == '\n' || text[i] == '\r'))
            return csv_refuse(number, "unquoted fields cannot have quotes or ends of lines inside", err);
        i += quoted && text[i] == '"';
        memory[size++] = text[i];
    }
    if (quoted && i++ == record.size) return csv_refuse(number, "a quoted field has to end with a quote", err);
    if (i < record.size && text[i] != r->delimiter)
        return csv_refuse(number, "a quote inside a string has to be doubled by another one", err);
    *out = (hr_view){memory, size};
    *at = i + 1;
    return HR_OK;
}

/* A value of an output: parsed, or the default where the field is empty or says that it is missing. */
static hr_status csv_value(const hr_kernel *k, const csv_rules *r, int column, hr_view field, hr_tensor *out,
                           int64_t row, hr_error *err)
{
    const hr_tensor *value = k->input[1 + column];
    const size_t width = hr_dtype_size(out->dtype), size = (size_t)field.size;
    const bool missing = field.size == 0 || (field.size == r->missing.size &&
                                             memcmp(field.data, r->missing.data, (size_t)field.size) == 0);
    char *to = (char *)out->data + (size_t)row * width;
    if (missing && value->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "string.csv", "field %d is required but missing in record %lld!",
                       column, (long long)row);
    if (missing) memcpy(to, value->data, width);
    if (missing) return HR_OK;
    hr__parsed parsed = HR__PARSED;
    if (out->dtype == HR_STRING)
        *(hr_view *)(void *)to = field;
    else if (out->dtype == HR_FLOAT)
        parsed = hr__parse_float(field.data, size, HR__NUMBER_TF_COMPAT, (float *)(void *)to);
    else if (out->dtype == HR_DOUBLE)
        parsed = hr__parse_double(field.data, size, HR__NUMBER_TF_COMPAT, (double *)(void *)to);
    else if (out->dtype == HR_INT32)
        parsed = hr__parse_int32(field.data, size, HR__NUMBER_TF_COMPAT, (int32_t *)(void *)to);
    else
        parsed = hr__parse_int64(field.data, size, HR__NUMBER_TF_COMPAT, (int64_t *)(void *)to);
    if (parsed == HR__PARSED) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "string.csv", "field %d in record %lld is not a valid %s: %.*s", column,
                   (long long)row, hr_dtype_name(out->dtype), (int)(size < 60 ? size : 60), field.data);
}

/* One record's fields into row `row` of all outputs. */
static hr_status csv_record(const hr_kernel *k, const csv_rules *r, int64_t row, char *memory, hr_tensor *const *out,
                            hr_error *err)
{
    const hr_view record = ((const hr_view *)k->input[0]->data)[row];
    int64_t at = 0, fields = 0;
    int column = 0;
    if (record.size == 0) return csv_refuse(row, "the record is empty", err);
    for (; at <= record.size; fields++) {
        hr_view field;
        HR_TRY(csv_field(r, record, row, &at, memory, &field, err));
        memory += field.size;
        if (column == r->columns || (r->select && fields != r->select[column])) continue;
        HR_TRY(csv_value(k, r, column, field, out[column], row, err));
        column++;
    }
    if (column == r->columns && (r->select || fields == r->columns)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "string.csv", "Expect %d fields but have %lld in record %lld", r->columns,
                   (long long)fields, (long long)row);
}

static hr_status csv_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *records = k->input[0];
    csv_rules r;
    int64_t bytes = 1;
    HR_TRY(csv_rules_read(k->node, &r, err));
    for (int i = 1; i < k->inputs; i++)
        if (k->input[i]->shape.rank > 1 || k->input[i]->count > 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                           "There should only be 1 default per field but field %d has %lld", i - 1,
                           (long long)k->input[i]->count);
    for (int64_t i = 0; i < records->count; i++) bytes += ((const hr_view *)records->data)[i].size;
    char *memory = hr_kernel_temp(k, (size_t)bytes), *next = memory;
    hr_tensor *scratch = hr_kernel_temp(k, sizeof *scratch * (size_t)r.columns);
    hr_tensor **out = hr_kernel_temp(k, sizeof *out * (size_t)r.columns);
    if (!memory || !scratch || !out) return hr_no_memory(err, "records");
    for (int i = 0; i < r.columns; i++) HR_TRY(hr_kernel_begin_output(k, i, records->shape, &scratch[i], &out[i], err));
    for (int64_t i = 0; i < records->count; next += ((const hr_view *)records->data)[i++].size)
        HR_TRY(csv_record(k, &r, i, next, out, err));
    for (int i = 0; i < r.columns; i++) HR_TRY(hr_kernel_end_output(k, i, &scratch[i], out[i], err));
    return HR_OK;
}

static hr_status csv_shape(hr_infer *s, hr_error *err)
{
    for (int i = 1; i < s->inputs; i++)
        if (s->input[i].rank > 1 || hr_shape_count(s->input[i]) > 1)
            return hr_infer_refuse(s, err, "defaults of at most one value");
    for (int i = 0; i < s->outputs; i++) s->output[i] = s->input[0];
    return HR_OK;
}

const hr_graph_op hr_graph_ops_decode_csv_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "DecodeCSV",
        .traits = HR_NO_GRADIENT,
        .shape = csv_shape,
        .compute = csv_compute,
    },
    HR_GRAPH_OPS_END,
};
