/* Layers that put several inputs together: value by value, side by side, or by products. */
#include <headrace/linalg.h>
#include <headrace/model_layers.h>

#include <stdio.h>
#include <string.h>

/* ---- masks ---- */

/* A step counts if it does in each of the masks that there are. */
static hr_node merging_mask(const hr_layer_call *c)
{
    hr_node all = {0};
    for (int i = 0; i < c->inputs; i++)
        if (c->mask[i].graph) all = all.graph ? hr_logical_and(all, c->mask[i]) : c->mask[i];
    return all;
}

/* ---- value by value ---- */

typedef enum merging_form {
    MERGE_ADD,
    MERGE_SUBTRACT,
    MERGE_MULTIPLY,
    MERGE_AVERAGE,
    MERGE_MAXIMUM,
    MERGE_MINIMUM
} merging_form;

static hr_node merging_two(merging_form form, hr_node a, hr_node b)
{
    switch (form) {
    case MERGE_SUBTRACT:
        return hr_sub(a, b);
    case MERGE_MULTIPLY:
        return hr_mul(a, b);
    case MERGE_MAXIMUM:
        return hr_maximum(a, b);
    case MERGE_MINIMUM:
        return hr_minimum(a, b);
    default:
        return hr_add(a, b);
    }
}

static bool merging_lengths_fit(int64_t a, int64_t b, bool batch)
{
    return a < 0 || b < 0 || a == b || (!batch && (a == 1 || b == 1));
}

/* Whether two shapes broadcast, the batch to itself and the others from the last dimension on. */
static bool merging_shapes_fit(hr_shape a, hr_shape b)
{
    if (a.rank < 1 || b.rank < 1) return true;
    bool fit = merging_lengths_fit(a.dims[0], b.dims[0], true);
    for (int i = 1; i < a.rank && i < b.rank; i++)
        fit &= merging_lengths_fit(a.dims[a.rank - i], b.dims[b.rank - i], false);
    return fit;
}

/* Of the rank of the others, by dimensions of 1 after the batch. */
static hr_node merging_raised(hr_node x, int rank)
{
    for (int i = hr_node_shape(x).rank; i > 0 && i < rank; i++) x = hr_expand_dims(x, hr_scalar(x.graph, HR_INT32, 1));
    return x;
}

static hr_node merging_call(hr_layer_call *c, void *config)
{
    const merging_form form = *(const merging_form *)config;
    char one[128], other[128];
    int rank = 0;
    if (form == MERGE_SUBTRACT && c->inputs != 2)
        return hr_layer_fail(c, "models.inputs", "expected 2 inputs, got %d", c->inputs);
    for (int i = 0; i < c->inputs; i++) {
        const hr_shape shape = hr_node_shape(c->input[i]);
        if (shape.rank > rank) rank = shape.rank;
        for (int k = 0; k < i; k++)
            if (!merging_shapes_fit(hr_node_shape(c->input[k]), shape))
                return hr_layer_fail(c, "models.shape",
                                     "expected inputs of one shape, or with dimensions of 1 in its place, got %s and "
                                     "%s (inputs %d and %d)",
                                     hr_shape_text(hr_node_shape(c->input[k]), one, sizeof one),
                                     hr_shape_text(shape, other, sizeof other), k, i);
    }
    hr_node all = merging_raised(c->input[0], rank);
    for (int i = 1; i < c->inputs; i++) all = merging_two(form, all, merging_raised(c->input[i], rank));
    c->output_mask[0] = merging_mask(c);
    return form == MERGE_AVERAGE ? hr_div(all, hr_scalar_like(all, c->inputs)) : all;
}

#define MERGING_KIND(NAME)                                                                                             \
    {                                                                                                                  \
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(merging_form), .call = merging_call,                \
        .traits = HR_LAYER_MERGES,                                                                                     \
    }
static const hr_layer_kind merging_kinds[] = {
    [MERGE_ADD] = MERGING_KIND("Add"),           [MERGE_SUBTRACT] = MERGING_KIND("Subtract"),
    [MERGE_MULTIPLY] = MERGING_KIND("Multiply"), [MERGE_AVERAGE] = MERGING_KIND("Average"),
    [MERGE_MAXIMUM] = MERGING_KIND("Maximum"),   [MERGE_MINIMUM] = MERGING_KIND("Minimum"),
};

static hr_layer *merging_new(merging_form form, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    return hr_layer_new(&merging_kinds[form], &form, HR_LAYER_COMMON(&o));
}

hr_layer *hr_add_layer_with(const hr_layer_opts *opts) { return merging_new(MERGE_ADD, opts); }
hr_layer *hr_subtract_layer_with(const hr_layer_opts *opts) { return merging_new(MERGE_SUBTRACT, opts); }
hr_layer *hr_multiply_layer_with(const hr_layer_opts *opts) { return merging_new(MERGE_MULTIPLY, opts); }
hr_layer *hr_average_layer_with(const hr_layer_opts *opts) { return merging_new(MERGE_AVERAGE, opts); }
hr_layer *hr_maximum_layer_with(const hr_layer_opts *opts) { return merging_new(MERGE_MAXIMUM, opts); }
hr_layer *hr_minimum_layer_with(const hr_layer_opts *opts) { return merging_new(MERGE_MINIMUM, opts); }

/* ---- side by side ---- */

/* The masks of inputs that are put one after the other in time; one that has none counts everywhere. */
static hr_node concatenate_masks(const hr_layer_call *c)
{
    hr_node masks[HR_MAX_LAYER_INPUTS], steps;
    for (int i = 0; i < c->inputs; i++) {
        masks[i] = c->mask[i];
        if (masks[i].graph) continue;
        steps = hr_slice(hr_shape_of(c->input[i]), hr_ints(c->graph, HR_I64(0), 1), hr_ints(c->graph, HR_I64(2), 1));
        masks[i] = hr_fill(steps, hr_scalar(c->graph, HR_BOOL, 1));
    }
    return hr_concat(masks, c->inputs, 1);
}

static bool concatenate_shapes_fit(hr_shape a, hr_shape b, int axis)
{
    if (a.rank < 0 || b.rank < 0) return true;
    bool fit = a.rank == b.rank;
    for (int i = 0; fit && i < a.rank; i++) fit = i == axis || merging_lengths_fit(a.dims[i], b.dims[i], true);
    return fit;
}

static hr_node concatenate_call(hr_layer_call *c, void *config)
{
    const hr_shape first = hr_node_shape(c->input[0]);
    const int given = *(const int *)config, axis = given < 0 && first.rank > 0 ? given + first.rank : given;
    char one[128], other[128];
    bool masked = false;
    if (first.rank >= 0 && (axis < 1 || axis >= first.rank))
        return hr_layer_fail(c, "models.shape", "expected an axis of the input that is not the batch, got %d for %s",
                             given, hr_shape_text(first, one, sizeof one));
    for (int i = 0; i < c->inputs; i++) {
        masked |= c->mask[i].graph != NULL;
        if (!concatenate_shapes_fit(first, hr_node_shape(c->input[i]), axis))
            return hr_layer_fail(c, "models.shape",
                                 "expected inputs that differ along axis %d alone, got %s and %s (inputs 0 and %d)",
                                 given, hr_shape_text(first, one, sizeof one),
                                 hr_shape_text(hr_node_shape(c->input[i]), other, sizeof other), i);
    }
    if (masked) c->output_mask[0] = axis == 1 ? concatenate_masks(c) : merging_mask(c);
    return hr_concat(c->input, c->inputs, axis);
}

static const hr_layer_kind concatenate_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Concatenate",
    .config_size = sizeof(int),
    .call = concatenate_call,
    .max_inputs = HR_MAX_LAYER_INPUTS,
    .min_rank = 2,
};

hr_layer *hr_concatenate_layer_with(const hr_concatenate_layer_opts *opts)
{
    const hr_concatenate_layer_opts o = HR_OPTIONS(hr_concatenate_layer_opts, opts);
    return hr_layer_new(&concatenate_kind, &(int){o.axis ? o.axis : -1}, HR_LAYER_COMMON(&o));
}

/* ---- products ---- */

typedef struct dot_config {
    int axis[2];
    bool normalize;
} dot_config;

/* Letters of a shape: the batch, what is summed over, and others from `from` on, which are added to `left`, too. */
static void dot_letters(char *text, char *left, int rank, int axis, char from)
{
    for (int i = 0; i < rank; i++) {
        const char letter = (char)(i == 0 ? 'n' : i == axis ? 'k' : from + i - 1);
        const size_t end = strlen(text), more = strlen(left);
        text[end] = letter;
        if (i > 0 && i != axis) left[more] = letter;
    }
}

static hr_node dot_call(hr_layer_call *c, void *config)
{
    const dot_config *d = config;
    hr_node x[2];
    hr_shape shape[2];
    char text[2][128], letters[2][HR_MAX_RANK + 1] = {{0}}, left[2 * HR_MAX_RANK] = {0}, equation[8 * HR_MAX_RANK];
    int axis[2];
    if (c->inputs != 2) return hr_layer_fail(c, "models.inputs", "expected 2 inputs, got %d", c->inputs);
    for (int i = 0; i < 2; i++) {
        x[i] = c->input[i];
        shape[i] = hr_node_shape(x[i]);
        axis[i] = d->axis[i] < 0 ? d->axis[i] + shape[i].rank : d->axis[i];
        (void)hr_shape_text(shape[i], text[i], sizeof text[i]);
        if (shape[i].rank < 0 || axis[i] < 1 || axis[i] >= shape[i].rank)
            return hr_layer_fail(c, "models.shape", "expected an axis of input %d that is not the batch, got %d for %s",
                                 i, d->axis[i], text[i]);
        dot_letters(letters[i], left, shape[i].rank, axis[i], i ? 'p' : 'a');
        if (d->normalize) x[i] = hr_l2_normalize(x[i], axis[i], 1e-12);
    }
    if (!merging_lengths_fit(shape[0].dims[axis[0]], shape[1].dims[axis[1]], true))
        return hr_layer_fail(c, "models.shape", "expected equal lengths along axes %d and %d, got %s and %s",
                             d->axis[0], d->axis[1], text[0], text[1]);
    (void)snprintf(equation, sizeof equation, "%s,%s->n%s", letters[0], letters[1], left);
    const hr_node y = hr_einsum_with(equation, x, 2);
    return *left ? y : hr_expand_dims(y, hr_scalar(c->graph, HR_INT32, 1));
}

static const hr_layer_kind dot_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Dot",
    .config_size = sizeof(dot_config),
    .call = dot_call,
    .traits = HR_LAYER_MERGES,
    .min_rank = 2,
    .max_rank = 7,
};

hr_layer *hr_dot_layer_with(int axis_a, int axis_b, const hr_dot_layer_opts *opts)
{
    const hr_dot_layer_opts o = HR_OPTIONS(hr_dot_layer_opts, opts);
    return hr_layer_new(&dot_kind, &(dot_config){{axis_a, axis_b}, o.normalize}, HR_LAYER_COMMON(&o));
}
