/* Shapes that are known in part: merged, broadcast, and the shape functions that many ops share. */
#include "train/graph/graph_internal.h"

#include <stdio.h>
#include <string.h>

const char *hr__shape_in(hr__shape_name *name, hr_shape shape)
{
    return hr_shape_text(shape, name->text, sizeof name->text);
}

/* ---- what is known of values before a run ---- */

enum { KNOWN_DEPTH = 32, KNOWN_NODES = 512 /* looked at for one answer */ };

bool hr_known_numbers(hr_node node, hr_shape *numbers)
{
    hr_graph *g = node.graph;
    const hr__node *n = hr__node_of(node);
    *numbers = HR_UNKNOWN_SHAPE;
    if (!n || !n->op->known || node.output < 0) return false;
    if (n->type[node.output] != HR_INT32 && n->type[node.output] != HR_INT64) return false;
    if (g->known_depth == 0) g->known_left = KNOWN_NODES;
    if (g->known_depth == KNOWN_DEPTH || g->known_left-- <= 0) return false;
    g->known_depth++;
    const bool known = n->op->known(node, numbers) && numbers->rank >= 0 && numbers->rank <= HR_MAX_RANK;
    g->known_depth--;
    return known;
}

bool hr_infer_numbers(const hr_infer *s, int input, hr_shape *numbers)
{
    return hr_known_numbers(hr_node_input(s->node, input), numbers);
}

/* Numbers that are all known, as a tensor that lives as long as the graph. Those below 0 may stand for unknown ones. */
static const hr_tensor *known_tensor(hr_node node)
{
    hr_shape numbers;
    const int rank = hr_node_shape(node).rank;
    if ((rank != 0 && rank != 1) || !hr_known_numbers(node, &numbers)) return NULL;
    for (int i = 0; i < numbers.rank; i++)
        if (numbers.dims[i] < 0 || (hr_node_dtype(node) == HR_INT32 && numbers.dims[i] > INT32_MAX)) return NULL;
    struct value {
        hr_tensor tensor;
        int64_t data[HR_MAX_RANK];
    } *value = hr__arena_get(&node.graph->arena, sizeof *value);
    if (!value) return NULL;
    for (int i = 0; i < numbers.rank; i++) {
        if (hr_node_dtype(node) == HR_INT64)
            value->data[i] = numbers.dims[i];
        else
            ((int32_t *)value->data)[i] = (int32_t)numbers.dims[i];
    }
    value->tensor = hr_tensor_of(hr_node_dtype(node), rank == 0 ? HR_SCALAR : HR_SHAPE(numbers.rank), value->data);
    return &value->tensor;
}

const hr_tensor *hr_infer_value(const hr_infer *s, int input)
{
    hr_node in = hr_node_input(s->node, input);
    while (hr_node_is(in, "Identity")) in = hr_node_input(in, 0);
    const hr_tensor *value = hr_node_constant(in);
    return value ? value : known_tensor(in);
}

/* ---- shape functions and their parts ---- */

hr_status hr_infer_refuse(const hr_infer *s, hr_error *err, const char *expected)
{
    (void)s;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %s", expected);
}

hr_shape hr_shape_of_rank(int rank)
{
    hr_shape shape = {rank < 0 || rank > HR_MAX_RANK ? -1 : rank, {0}};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = -1;
    return shape;
}

hr_status hr_shape_reduce(hr_shape in, const hr_tensor *axes, bool keep_dims, hr_shape *out, bool *reduced,
                          hr_error *err)
{
    bool goes[HR_MAX_RANK] = {false};
    for (int64_t i = 0; i < axes->count; i++) {
        const int64_t said =
            axes->dtype == HR_INT32 ? ((const int32_t *)axes->data)[i] : ((const int64_t *)axes->data)[i];
        if (said < -in.rank || said >= in.rank)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected an axis in [%d, %d), got %lld", -in.rank,
                           in.rank, (long long)said);
        const int axis = (int)(said < 0 ? said + in.rank : said);
        if (goes[axis])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected different axes, got %d twice", axis);
        goes[axis] = true;
    }
    *out = HR_SCALAR;
    for (int i = 0; i < in.rank; i++)
        if (!goes[i] || keep_dims) out->dims[out->rank++] = goes[i] ? 1 : in.dims[i];
    if (reduced) memcpy(reduced, goes, sizeof goes);
    return HR_OK;
}

void hr_infer_pass_handle(hr_infer *s, int input, int output)
{
    hr_handle_info info;
    if (s->handle && hr_handle_of(hr_node_input(s->node, input), &info)) s->handle[output] = info;
}

hr_status hr_infer_unchanged(hr_infer *s, hr_error *err)
{
    (void)err;
    for (int i = 0; i < s->outputs; i++) {
        s->output[i] = s->input[0];
        hr_infer_pass_handle(s, 0, i);
    }
    return HR_OK;
}

hr_status hr_infer_scalar(hr_infer *s, hr_error *err)
{
    (void)err;
    for (int i = 0; i < s->outputs; i++) s->output[i] = HR_SCALAR;
    return HR_OK;
}

hr_status hr_infer_broadcast(hr_infer *s, hr_error *err)
{
    if (!hr_shape_broadcast(s->input[0], s->input[1], &s->output[0]))
        return hr_infer_refuse(s, err, "shapes that broadcast against each other");
    return HR_OK;
}

bool hr__shape_possible(hr_shape shape)
{
    if (shape.rank < -1 || shape.rank > HR_MAX_RANK) return false;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] == -1) shape.dims[i] = 1;
    return shape.rank < 0 || hr_shape_count(shape) >= 0;
}

hr_status hr_dim_add(int64_t a, int64_t b, int64_t *out, hr_error *err)
{
    *out = -1;
    if (a < 0 || b < 0) return HR_OK;
    if (a > HR_MAX_VALUES - b)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a dimension of at most %lld, got %lld + %lld",
                       (long long)HR_MAX_VALUES, (long long)a, (long long)b);
    *out = a + b;
    return HR_OK;
}

hr_status hr_dim_mul(int64_t a, int64_t b, int64_t *out, hr_error *err)
{
    *out = -1;
    if (a < 0 || b < 0) return HR_OK;
    if (b > 0 && a > HR_MAX_VALUES / b)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a dimension of at most %lld, got %lld * %lld",
                       (long long)HR_MAX_VALUES, (long long)a, (long long)b);
    *out = a * b;
    return HR_OK;
}

/* Whether all values are what C takes them for: strings of bytes, bools of 0 or 1. */
static bool infer_shape_check_values(const hr_tensor *t, int64_t count)
{
    if (count > 0 && !t->data) return false;
    if (t->dtype == HR_BOOL) {
        unsigned bits = 0;
        for (int64_t i = 0; i < count; i++) bits |= ((const unsigned char *)t->data)[i];
        return bits <= 1;
    }
    for (int64_t i = 0; t->dtype == HR_STRING && i < count; i++) {
        const hr_view v = ((const hr_view *)t->data)[i];
        if (v.size < 0 || (v.size > 0 && !v.data)) return false;
    }
    return true;
}

hr_status hr__check_tensor(const hr_tensor *tensor, const char *kind, int64_t *count, hr_error *err)
{
    hr__shape_name name;
    if (!tensor) return hr_fail(err, HR_INVALID_ARGUMENT, kind, "expected a tensor, got none");
    *count = hr_shape_count(tensor->shape);
    const bool resource = tensor->dtype == HR_RESOURCE || tensor->dtype == HR_VARIANT;
    if (tensor->layout != HR_DENSE || *count < 0 || resource || hr_dtype_size(tensor->dtype) == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, kind,
                       "expected a dense tensor of values and of a shape that is known, got a %s one of %s %s",
                       tensor->layout == HR_DENSE ? "dense" : "ragged or sparse", hr_dtype_name(tensor->dtype),
                       hr__shape_in(&name, tensor->shape));
    if (infer_shape_check_values(tensor, *count)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, kind, "expected %lld values of %s%s, got NULL, or a value of another type",
                   (long long)*count, hr_dtype_name(tensor->dtype),
                   tensor->dtype == HR_BOOL ? ", each byte 0 or 1" : "");
}

bool hr_shape_merge(hr_shape a, hr_shape b, hr_shape *out)
{
    *out = a.rank < 0 ? b : a;
    if (a.rank < 0 || b.rank < 0) return true;
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; i++) {
        if (a.dims[i] >= 0 && b.dims[i] >= 0 && a.dims[i] != b.dims[i]) return false;
        out->dims[i] = a.dims[i] >= 0 ? a.dims[i] : b.dims[i];
    }
    return true;
}

static bool infer_shape_broadcast_dim(int64_t a, int64_t b, int64_t *out)
{
    if (a == 1)
        *out = b;
    else if (b == 1)
        *out = a;
    else if (a < 0)
        *out = b;
    else if (b < 0)
        *out = a;
    else
        *out = a;
    return a == 1 || b == 1 || a < 0 || b < 0 || a == b;
}

bool hr_shape_broadcast(hr_shape a, hr_shape b, hr_shape *out)
{
    *out = HR_UNKNOWN_SHAPE;
    if (a.rank < 0 || b.rank < 0) return true;
    const int rank = a.rank > b.rank ? a.rank : b.rank;
    hr_shape both = {rank, {0}};
    for (int i = 1; i <= rank; i++) {
        const int64_t x = i <= a.rank ? a.dims[a.rank - i] : 1;
        const int64_t y = i <= b.rank ? b.dims[b.rank - i] : 1;
        if (!infer_shape_broadcast_dim(x, y, &both.dims[rank - i])) return false;
    }
    *out = both;
    return true;
}

bool hr_shape_from_tensor(const hr_tensor *value, hr_shape *out)
{
    if (value->shape.rank > 1 || value->count > HR_MAX_RANK) return false;
    hr_shape shape = {(int)value->count, {0}};
    for (int i = 0; i < shape.rank; i++) {
        if (value->dtype == HR_INT32)
            shape.dims[i] = ((const int32_t *)value->data)[i];
        else if (value->dtype == HR_INT64)
            shape.dims[i] = ((const int64_t *)value->data)[i];
        else
            return false;
    }
    *out = shape;
    return true;
}
