#include "tests/train/ops/node_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static const char *after_blanks(const char *at)
{
    while (*at == ' ') at++;
    return at;
}

static const char *read_string(const char *at, char *bytes, int64_t *size)
{
    *size = 0;
    if (*at != '\'') fail_msg("expected a string in quotes, got: %s", at);
    for (at++; *at && *at != '\''; at++) {
        unsigned byte = (unsigned char)*at;
        if (*at == '\\' && at[1] == 'x') {
            if (sscanf(at + 2, "%2x", &byte) != 1) fail_msg("no byte: %s", at);
            at += 3;
        } else if (*at == '\\') {
            byte = *++at == 'n' ? '\n' : (unsigned char)*at;
        }
        bytes[(*size)++] = (char)byte;
    }
    return at + 1;
}

static void put_number(hr_tensor *t, int64_t i, const char *at, char **end)
{
    const double value = strtod(at, end);
    switch (t->dtype) {
    case HR_FLOAT:
        ((float *)t->data)[i] = strtof(at, end);
        break;
    case HR_DOUBLE:
        ((double *)t->data)[i] = value;
        break;
    case HR_INT32:
    case HR_QINT32:
        ((int32_t *)t->data)[i] = (int32_t)value;
        break;
    case HR_INT64:
        ((int64_t *)t->data)[i] = strtoll(at, end, 10);
        break;
    case HR_UINT64:
        ((uint64_t *)t->data)[i] = strtoull(at, end, 10);
        break;
    case HR_INT16:
    case HR_UINT16:
    case HR_QINT16:
    case HR_QUINT16:
    case HR_HALF:
    case HR_BFLOAT16: /* their bits */
        ((uint16_t *)t->data)[i] = (uint16_t)(int32_t)value;
        break;
    case HR_BOOL:
    case HR_UINT8:
    case HR_INT8:
    case HR_QINT8:
    case HR_QUINT8:
        ((uint8_t *)t->data)[i] = (uint8_t)(int32_t)value;
        break;
    default:
        fail_msg("no tensors of %s here", hr_dtype_name(t->dtype));
    }
    if (*end == at) fail_msg("expected a number: %s", at);
}

static const char *read_values(const char *at, hr_tensor *out, hr_dtype dtype, hr_shape shape)
{
    hr_error err;
    const int64_t count = hr_shape_count(shape);
    char *bytes = malloc(strlen(at) + 1), *next = bytes, *end;
    hr_view *views = calloc((size_t)count + 1, sizeof *views);
    assert_non_null(bytes);
    assert_non_null(views);
    if (dtype != HR_STRING) assert_ok(hr_tensor_new(out, dtype, shape, &err), &err);
    for (int64_t i = 0; i < count; i++) {
        at = after_blanks(at);
        if (dtype == HR_STRING) {
            at = read_string(at, next, &views[i].size);
            views[i].data = next;
            next += views[i].size;
        } else {
            put_number(out, i, at, &end);
            at = end;
        }
    }
    if (dtype == HR_STRING) assert_ok(hr_tensor_strings(out, shape, views, &err), &err);
    free(bytes);
    free(views);
    return after_blanks(at);
}

int node_text_read(const char *text, hr_tensor *out)
{
    int count = 0;
    for (const char *at = after_blanks(text); *at; count++) {
        char name[32] = "";
        int used = 0;
        hr_shape shape = HR_SCALAR;
        if (count == NODE_TEXT_MOST || sscanf(at, "%31[a-z0-9][%n", name, &used) != 1) fail_msg("no tensor: %s", at);
        for (at += used; *at != ']'; at += *at == ',') {
            char *end;
            shape.dims[shape.rank++] = strtoll(at, &end, 10);
            if (end == at) fail_msg("no shape: %s", at);
            at = end;
        }
        at = read_values(at + 1, &out[count], hr_dtype_named(name), shape);
        if (*at && *at != ';') fail_msg("expected ';', got: %s", at);
        at = after_blanks(at + (*at == ';'));
    }
    return count;
}

/* ---- comparing ---- */

static double as_double(const hr_tensor *t, int64_t i)
{
    return t->dtype == HR_FLOAT ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

static bool same_value(const hr_tensor *a, const hr_tensor *b, int64_t i, double tolerance)
{
    const size_t size = hr_dtype_size(a->dtype);
    if (a->dtype == HR_STRING) {
        const hr_view x = ((const hr_view *)a->data)[i], y = ((const hr_view *)b->data)[i];
        return x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, (size_t)x.size) == 0);
    }
    if (memcmp((const char *)a->data + (size_t)i * size, (const char *)b->data + (size_t)i * size, size) == 0)
        return true;
    if (a->dtype != HR_FLOAT && a->dtype != HR_DOUBLE) return false;
    const double x = as_double(a, i), y = as_double(b, i);
    return (isnan(x) && isnan(y)) || (tolerance > 0 && fabs(x - y) <= tolerance * (fabs(x) + fabs(y)));
}

static void print_value(const hr_tensor *t, int64_t i)
{
    if (t->dtype == HR_FLOAT || t->dtype == HR_DOUBLE) {
        print_message(" %.9g", as_double(t, i));
    } else if (t->dtype == HR_STRING) {
        const hr_view v = ((const hr_view *)t->data)[i];
        print_message(" '");
        for (int64_t c = 0; c < v.size; c++)
            print_message(v.data[c] >= ' ' && v.data[c] < 127 ? "%c" : "\\x%02x", (unsigned char)v.data[c]);
        print_message("'");
    } else {
        long long value = 0;
        memcpy(&value, (const char *)t->data + (size_t)i * hr_dtype_size(t->dtype), hr_dtype_size(t->dtype));
        print_message(" %lld", t->dtype == HR_INT32 ? (int32_t)value : value);
    }
}

static void print_tensor(const char *what, const hr_tensor *t)
{
    char shape[128];
    print_message("  %s: %s %s", what, hr_dtype_name(t->dtype), hr_shape_text(t->shape, shape, sizeof shape));
    for (int64_t i = 0; i < t->count && i < 200; i++) print_value(t, i);
    print_message("\n");
}

static bool same(const hr_tensor *expected, const hr_tensor *got, double tolerance)
{
    bool equal = expected->dtype == got->dtype && hr_shape_equal(expected->shape, got->shape);
    for (int64_t i = 0; equal && i < got->count; i++) equal = same_value(expected, got, i, tolerance);
    if (equal) return true;
    print_tensor("expected", expected);
    print_tensor("got", got);
    return false;
}

static bool outputs_are(hr_node node, const char *expected, double tolerance, hr_status *st, hr_error *err)
{
    hr_tensor out[NODE_TEXT_MOST] = {0}, wanted[NODE_TEXT_MOST] = {0};
    hr_node fetch[NODE_TEXT_MOST];
    const int count = hr_node_outputs(node), expected_count = expected ? node_text_read(expected, wanted) : 0;
    for (int i = 0; i < count; i++) fetch[i] = hr_node_output(node, i);
    if (count == 0) fetch[0] = hr_target(node);
    hr_session *s = hr_session_new(node.graph);
    *st = hr_session_run(s, NULL, 0, fetch, count ? count : 1, out, err);
    bool equal = *st == HR_OK && (!expected || expected_count == count);
    for (int i = 0; i < count && i < expected_count; i++) equal = equal && same(&wanted[i], &out[i], tolerance);
    for (int i = 0; i < NODE_TEXT_MOST; i++) {
        hr_tensor_clear(&out[i]);
        hr_tensor_clear(&wanted[i]);
    }
    hr_session_free(s);
    return equal;
}

/* Twice: with inputs whose values are known while the node is made, and with inputs of which nothing is known. */
void node_text_check(const char *op, const char *inputs, const char *expected, double tolerance, const hr_attr *attrs,
                     int attr_count, const char *file, int line)
{
    hr_tensor value[NODE_TEXT_MOST] = {0};
    const int count = node_text_read(inputs, value);
    for (int round = 0; round < 2; round++) {
        hr_graph *g = hr_graph_new();
        hr_node input[NODE_TEXT_MOST];
        hr_error err = {0};
        hr_status st = HR_OK;
        for (int i = 0; i < count; i++) {
            input[i] = hr_const(g, &value[i]);
            if (round)
                input[i] = hr_new_node(g, "PlaceholderWithDefault", HR_INPUTS(input[i]),
                                       HR_ATTRS(HR_SHAPE_ATTR("shape", HR_UNKNOWN_SHAPE)));
        }
        const hr_node node =
            hr_new_node(g, op, .inputs = input, .input_count = count, .attrs = attrs, .attr_count = attr_count);
        bool as_expected = false;
        if (hr_graph_error(g)) {
            err = *hr_graph_error(g);
            st = err.code;
        } else {
            as_expected = outputs_are(node, expected, tolerance, &st, &err);
        }
        if (!expected) as_expected = st == HR_INVALID_ARGUMENT;
        if (!as_expected)
            fail_msg("%s:%d: %s of %s%s: expected %s, got %s %s", file, line, op, inputs,
                     round ? ", which are not known before the run" : "", expected ? expected : "InvalidArgument",
                     hr_status_name(st), err.text);
        hr_graph_free(g);
    }
    for (int i = 0; i < count; i++) hr_tensor_clear(&value[i]);
}
