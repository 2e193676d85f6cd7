/* What shapes by pattern say of a node's: "[m,k], [k,n] -> [m,n]". */
#include "train/graph/graph_internal.h"

#include <string.h>

/* What letters and "..." stand for, as far as it is known. */
typedef struct bindings {
    int64_t letter[26];
    hr_shape rest;
} bindings;

static hr_status bind_dim(bindings *b, int pattern, int64_t dim, hr_error *err)
{
    int64_t wanted = pattern;
    if (pattern <= HR_DIM_LETTER) {
        int64_t *known = &b->letter[HR_DIM_LETTER - pattern];
        wanted = *known;
        if (*known < 0) *known = dim;
    }
    if (wanted < 0 || dim < 0 || wanted == dim) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Dimensions must be equal, but are %lld and %lld",
                   (long long)wanted, (long long)dim);
}

static hr_status bind_input(bindings *b, const hr__shape_pattern *p, hr_shape in, hr_error *err)
{
    if (p->kind != HR__DIMS || in.rank < 0) return HR_OK;
    const int more = in.rank - p->rank;
    if (more < 0 || (more > 0 && p->rest < 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Shape must be %srank %d but is rank %d",
                       p->rest < 0 ? "" : "at least ", p->rank, in.rank);
    for (int i = 0; i < p->rank; i++) {
        const int at = p->rest >= 0 && i >= p->rest ? i + more : i;
        HR_TRY(bind_dim(b, p->dim[i], in.dims[at], err));
    }
    if (p->rest < 0) return HR_OK;
    hr_shape rest = {more, {0}};
    for (int i = 0; i < more; i++) rest.dims[i] = in.dims[p->rest + i];
    if (hr_shape_merge(b->rest, rest, &b->rest)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected dimensions that are the same in all inputs");
}

static hr_shape bound(const bindings *b, const hr__shape_pattern *p)
{
    hr_shape out = {0, {0}};
    if (p->rest >= 0 && (b->rest.rank < 0 || b->rest.rank + p->rank > HR_MAX_RANK)) return HR_UNKNOWN_SHAPE;
    for (int i = 0; i <= p->rank; i++) {
        for (int j = 0; i == p->rest && j < b->rest.rank; j++) out.dims[out.rank++] = b->rest.dims[j];
        if (i < p->rank)
            out.dims[out.rank++] = p->dim[i] <= HR_DIM_LETTER ? b->letter[HR_DIM_LETTER - p->dim[i]] : p->dim[i];
    }
    return out;
}

/* All inputs, or those that the pattern names, put together by one rule. */
static hr_status together(const hr_infer *s, const hr__shape_pattern *p, bool broadcast, hr_shape *out, hr_error *err)
{
    const int count = p->rank ? p->rank : s->inputs;
    *out = count ? s->input[p->rank ? p->dim[0] : 0] : HR_UNKNOWN_SHAPE;
    for (int i = 1; i < count; i++) {
        const hr_shape in = s->input[p->rank ? p->dim[i] : i];
        if (!(broadcast ? hr_shape_broadcast : hr_shape_merge)(*out, in, out))
            return hr_infer_refuse(s, err, broadcast ? "shapes that broadcast against each other" : "one shape");
    }
    return HR_OK;
}

static hr_status shape_value(const hr_infer *s, int input, hr_shape *out, hr_error *err)
{
    const hr_shape list = s->input[input];
    if (hr_infer_numbers(s, input, out)) {
        for (int i = 0; i < out->rank; i++)
            if (out->dims[i] < -1) return hr_infer_refuse(s, err, "dimensions >= 0");
        return HR_OK;
    }
    *out = HR_UNKNOWN_SHAPE;
    if (list.rank > 1) return hr_infer_refuse(s, err, "a vector of dimensions");
    if (list.rank == 1 && list.dims[0] >= 0 && list.dims[0] <= HR_MAX_RANK) *out = hr_shape_of_rank((int)list.dims[0]);
    return HR_OK;
}

static hr_status reduced(const hr_infer *s, const hr__shape_pattern *p, hr_shape *out, hr_error *err)
{
    const hr_shape in = s->input[p->dim[0]];
    const bool keep = hr_attr_bool(s->node, "keep_dims");
    const hr_tensor *axes = hr_infer_value(s, p->dim[1]);
    *out = HR_UNKNOWN_SHAPE;
    if (in.rank < 0) return HR_OK;
    if (axes) return hr_shape_reduce(in, axes, keep, out, NULL, err);
    if (keep) *out = hr_shape_of_rank(in.rank);
    return HR_OK;
}

static hr_status pattern_shape(const hr_infer *s, const hr__shape_pattern *p, const bindings *b, hr_shape *out,
                               hr_error *err)
{
    for (int i = 0; p->kind != HR__DIMS && i < p->rank; i++)
        if (p->dim[i] >= s->inputs)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.signature", "expected input %d of its shapes", p->dim[i]);
    switch (p->kind) {
    case HR__DIMS:
        *out = bound(b, p);
        return HR_OK;
    case HR__BROADCAST:
        return together(s, p, true, out, err);
    case HR__MERGE:
        return together(s, p, false, out, err);
    case HR__REDUCE:
        return reduced(s, p, out, err);
    case HR__SHAPE_VALUE:
        return shape_value(s, p->dim[0], out, err);
    case HR__ANY:
        break;
    }
    return HR_OK;
}

hr_status hr__shapes_infer(const hr__shapes *shapes, hr_infer *s, hr_error *err)
{
    bindings b = {.rest = HR_UNKNOWN_SHAPE};
    memset(b.letter, -1, sizeof b.letter);
    for (int i = 0; i < shapes->inputs && i < s->inputs; i++)
        HR_TRY(bind_input(&b, &shapes->input[i], s->input[i], err));
    for (int i = 0; i < s->outputs; i++) {
        const hr__shape_pattern *p = &shapes->output[i < shapes->outputs ? i : shapes->outputs - 1];
        HR_TRY(pattern_shape(s, p, &b, &s->output[i], err));
        if (p->kind == HR__MERGE && p->rank == 1) hr_infer_pass_handle(s, p->dim[0], i);
    }
    return HR_OK;
}
