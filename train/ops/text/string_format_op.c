/* StringFormat: tensors as text in the places of a template, in brackets by dimension, with "..." for what is in the
 * middle, as PrintV2 shows them. */
#include <headrace/kernels.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void add_text(hr_strings *out, const char *text) { hr_strings_add(out, hr_text_view(text)); }

/* In as few digits as it can be read back from: `few` of them, or `all`. */
static void add_real(hr_strings *out, double value, int few, int all)
{
    char text[64];
    snprintf(text, sizeof text, "%.*g", few, value);
    const double back = few < 10 ? (double)strtof(text, NULL) : strtod(text, NULL);
    if (back != value) snprintf(text, sizeof text, "%.*g", all, value);
    for (char *c = text; *c; c++) /* the same under any locale */
        if (*c == ',') *c = '.';
    add_text(out, isnan(value) ? "nan" : text);
}

/* In quotes, with C's escapes; bytes beyond ASCII stay. */
static void add_quoted(hr_strings *out, hr_view value)
{
    static const char special[] = "\n\r\t\"'\\", names[] = "nrt\"'\\";
    add_text(out, "\"");
    for (int64_t i = 0; i < value.size; i++) {
        const unsigned char c = (unsigned char)value.data[i];
        const char *found = c ? strchr(special, c) : NULL;
        char text[8] = {(char)c};
        if (found)
            snprintf(text, sizeof text, "\\%c", names[found - special]);
        else if (c < 32 || c == 127)
            snprintf(text, sizeof text, "\\%03o", c);
        add_text(out, text);
    }
    add_text(out, "\"");
}

static int64_t whole_at(const hr_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case HR_INT8:
        return ((const int8_t *)t->data)[i];
    case HR_INT16:
        return ((const int16_t *)t->data)[i];
    case HR_UINT16:
        return ((const uint16_t *)t->data)[i];
    case HR_UINT32:
        return ((const uint32_t *)t->data)[i];
    case HR_INT32:
        return ((const int32_t *)t->data)[i];
    case HR_INT64:
        return ((const int64_t *)t->data)[i];
    default:
        return ((const uint8_t *)t->data)[i]; /* and bool */
    }
}

static void add_value(hr_strings *out, const hr_tensor *t, int64_t i)
{
    char text[32];
    if (t->dtype == HR_STRING) {
        add_quoted(out, ((const hr_view *)t->data)[i]);
    } else if (t->dtype == HR_DOUBLE) {
        add_real(out, ((const double *)t->data)[i], 15, 17);
    } else if (t->dtype == HR_FLOAT || t->dtype == HR_HALF || t->dtype == HR_BFLOAT16) {
        add_real(out,
                 (double)(t->dtype == HR_FLOAT  ? ((const float *)t->data)[i]
                          : t->dtype == HR_HALF ? hr_half_get(((const hr_half *)t->data)[i])
                                                : hr_bfloat16_get(((const hr_bfloat16 *)t->data)[i])),
                 6, 9);
    } else {
        if (t->dtype == HR_UINT64)
            snprintf(text, sizeof text, "%" PRIu64, ((const uint64_t *)t->data)[i]);
        else
            snprintf(text, sizeof text, "%" PRId64, whole_at(t, i));
        add_text(out, text);
    }
}

/* Between two parts of a dimension: a blank, or lines as many as there are dimensions within. */
static void add_space(hr_strings *out, int dim, int rank)
{
    for (int d = dim; d < rank - 1; d++) add_text(out, "\n");
    for (int d = dim == rank - 1 ? dim : 0; d <= dim; d++) add_text(out, " ");
}

/* Dimension `dim` from value `first` on, which is followed by those within; at most `ends` parts from each end. */
static void add_dimension(hr_strings *out, const hr_tensor *t, int dim, int64_t first, int64_t ends)
{
    const int rank = t->shape.rank;
    if (dim == rank) {
        if (rank == 0 && ends == 0)
            add_text(out, "...");
        else
            add_value(out, t, first);
        return;
    }
    const int64_t count = t->shape.dims[dim];
    int64_t within = 1;
    for (int d = dim + 1; d < rank; d++) within *= t->shape.dims[d];
    add_text(out, "[");
    for (int64_t i = 0; i < count && !out->failed; i++) {
        const bool left_out = i >= ends && i < count - ends;
        if (left_out) i = count - ends - 1;
        if (i > 0 || left_out) add_space(out, dim, rank);
        if (left_out)
            add_text(out, "...");
        else
            add_dimension(out, t, dim + 1, first + i * within, ends);
    }
    add_text(out, "]");
}

/* Where the next placeholder is; -1: there is none. */
static int64_t find_place(hr_view text, int64_t from, hr_view placeholder)
{
    for (int64_t i = from; placeholder.size > 0 && i + placeholder.size <= text.size; i++)
        if (memcmp(text.data + i, placeholder.data, (size_t)placeholder.size) == 0) return i;
    return -1;
}

static hr_status format_check(hr_node node, int inputs, hr_error *err)
{
    const hr_view template = hr_attr_string(node, "template"), placeholder = hr_attr_string(node, "placeholder");
    int places = 0;
    for (int64_t at = 0; (at = find_place(template, at, placeholder)) >= 0; at += placeholder.size) places++;
    if (places == inputs) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                   "num placeholders in template and num inputs must match: %d vs. %d", places, inputs);
}

static hr_status format_shape(hr_infer *s, hr_error *err)
{
    s->output[0] = HR_SCALAR;
    return format_check(s->node, s->inputs, err);
}

static hr_status format_compute(hr_kernel *k, hr_error *err)
{
    const hr_view template = hr_attr_string(k->node, "template"), placeholder = hr_attr_string(k->node, "placeholder");
    const int64_t summarize = hr_attr_int(k->node, "summarize");
    hr_strings out = {0};
    int64_t at = 0;
    HR_TRY(format_check(k->node, k->inputs, err));
    for (int i = 0; i < k->inputs; i++) {
        const hr_tensor *t = k->input[i];
        const int64_t place = find_place(template, at, placeholder);
        hr_strings_add(&out, (hr_view){template.data + at, place - at});
        add_dimension(&out, t, 0, 0, summarize < 0 || summarize > t->count ? t->count : summarize);
        at = place + placeholder.size;
    }
    hr_strings_add(&out, (hr_view){template.data + at, template.size - at});
    hr_strings_end(&out);
    return hr_strings_give(&out, k, 0, HR_SCALAR, err);
}

const hr_graph_op hr_graph_ops_string_format_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StringFormat",
        .types = "T:{numbers,bool,string,float16,bfloat16}",
        .traits = HR_NO_GRADIENT,
        .shape = format_shape,
        .compute = format_compute,
    },
    HR_GRAPH_OPS_END,
};
