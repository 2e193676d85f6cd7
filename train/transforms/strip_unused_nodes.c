/* strip_unused_nodes: what the outputs need stays, short of the inputs, which become placeholders of the type and shape
 * that is known of them or that the arguments say. */
#include "train/transforms/transform.h"

#include <stdlib.h>
#include <string.h>

/* "1,224,224,3", "" for a scalar; -1: unknown. */
static hr_status read_shape(const char *text, hr_shape *out, hr_error *err)
{
    *out = HR_SCALAR;
    for (const char *at = text; *at;) {
        char *end;
        const long long size = strtoll(at, &end, 10);
        if (end == at || size < -1 || (*end && *end != ',') || out->rank == HR_MAX_RANK)
            return hr__transform_wrong(err, "shape", "dimensions with commas between them", text);
        out->dims[out->rank++] = size;
        at = *end ? end + 1 : end;
    }
    return HR_OK;
}

static hr_status read_type(const char *name, const char *text, hr_dtype *out, hr_error *err)
{
    *out = strcmp(text, "float") == 0 ? HR_FLOAT : strcmp(text, "double") == 0 ? HR_DOUBLE : hr_dtype_named(text);
    return *out != HR_INVALID_DTYPE ? HR_OK : hr__transform_wrong(err, name, "a type, such as float32", text);
}

static hr_status placeholder_kind(const hr__draft *d, const transform_arguments *a, draft_edge input, hr_dtype *dtype,
                                  hr_shape *shape, hr_error *err)
{
    hr_node known = hr_graph_node(d->source, d->node[input.node]->name);
    known.output = 0;
    *dtype = hr_node_dtype(known);
    *shape = hr_node_shape(known);
    if (*dtype == HR_INVALID_DTYPE || *dtype == HR_RESOURCE || *dtype == HR_VARIANT) *dtype = HR_FLOAT;
    const char *type = hr__transform_text(a, "type", 0), *dims = hr__transform_text(a, "shape", 0);
    for (int i = 0; hr__transform_text(a, "name", i); i++) {
        if (hr__draft_named(d, hr__transform_text(a, "name", i)) != input.node) continue;
        if (hr__transform_text(a, "type_for_name", i)) type = hr__transform_text(a, "type_for_name", i);
        if (hr__transform_text(a, "shape_for_name", i)) dims = hr__transform_text(a, "shape_for_name", i);
    }
    if (type) HR_TRY(read_type("type", type, dtype, err));
    return dims ? read_shape(dims, shape, err) : HR_OK;
}

static hr_status make_placeholder(hr__draft *d, const transform_arguments *a, draft_edge input, hr_error *err)
{
    draft_node *n = d->node[input.node];
    hr_dtype dtype;
    hr_shape shape;
    if (strcmp(n->op, "Placeholder") == 0) return HR_OK;
    if (input.output > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "transform.output",
                       "expected inputs that are first outputs, got '%.60s:%d'", n->name, input.output);
    HR_TRY(placeholder_kind(d, a, input, &dtype, &shape, err));
    n->op = "Placeholder";
    n->inputs = n->attrs = 0;
    HR_TRY(hr__draft_set(d, input.node, &HR_TYPE_ATTR("dtype", dtype), err));
    return hr__draft_set(d, input.node, &HR_SHAPE_ATTR("shape", shape), err);
}

static hr_status strip_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    for (int i = 0; i < d->feds; i++) HR_TRY(make_placeholder(d, a, d->fed[i], err));
    HR_TRY(hr__draft_sweep(d, err));
    for (int i = 0; i < d->feds; i++) d->node[d->fed[i].node]->gone = false; /* an input that no output needs */
    return HR_OK;
}

const hr__transform hr__transform_strip_unused_nodes = {
    .info = {"strip_unused_nodes", "type, shape, name, type_for_name, shape_for_name",
             "what the outputs do not need goes; inputs become placeholders"},
    .run = strip_run,
};
