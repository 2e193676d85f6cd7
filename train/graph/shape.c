/* Shapes that are known in part: merged, broadcast, and the shape functions that many ops share. */
#include "train/graph/internal.h"

#include <stdio.h>
#include <string.h>

const char *hr__shape_in(hr__shape_name *name, hr_shape shape)
{
    return hr_shape_text(shape, name->text, sizeof name->text);
}

/* Constants only: what a node's value is without running anything. */
const hr_tensor *hr_infer_value(const hr_infer *s, int input)
{
    hr_node in = hr_node_input(s->node, input);
    while (strcmp(hr_node_op(in), "Identity") == 0) in = hr_node_input(in, 0);
    const hr_attr *value = strcmp(hr_node_op(in), "Const") == 0 ? hr_node_attr(in, "value") : NULL;
    return value ? value->tensor : NULL;
}

hr_status hr_infer_refuse(const hr_infer *s, hr_error *err, const char *expected)
{
    char text[256] = "";
    hr__shape_name shape;
    size_t at = 0;
    for (int i = 0; i < s->inputs && at < sizeof text; i++) {
        const int n =
            snprintf(text + at, sizeof text - at, "%s%s", i ? " and " : "", hr__shape_in(&shape, s->input[i]));
        at += n > 0 ? (size_t)n : 0;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %s, got %s", expected, text);
}

hr_status hr_infer_unchanged(hr_infer *s, hr_error *err)
{
    (void)err;
    for (int i = 0; i < s->outputs; i++) s->output[i] = s->input[0];
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

static bool broadcast_dim(int64_t a, int64_t b, int64_t *out)
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
        if (!broadcast_dim(x, y, &both.dims[rank - i])) return false;
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
