/* Normalizations of each row by itself: LayerNormalization, GroupNormalization, UnitNormalization. */
#include <headrace/model_layers.h>

#include <string.h>

/* ---- axes ---- */

typedef struct norm_axes {
    int count;
    int64_t at[HR_MAX_RANK];
} norm_axes;

/* Those of options, or the last one. More than there can be give a count that norm_check_axes refuses. */
static norm_axes norm_axes_of(const int64_t *axes, int count)
{
    norm_axes out = {.count = axes ? count : 1, .at = {-1}};
    if (axes && count > 0 && count <= HR_MAX_RANK) memcpy(out.at, axes, (size_t)count * sizeof *axes);
    return out;
}

static hr_status norm_check_axes(const norm_axes *a, hr_error *err)
{
    if (a->count >= 1 && a->count <= HR_MAX_RANK) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected 1 to %d axes, got %d", HR_MAX_RANK, a->count);
}

/* The input, of which the axes are marked; a failed node: it does not have them. */
static hr_node norm_marked(hr_layer_call *c, const norm_axes *a, bool *marked)
{
    const hr_shape shape = hr_node_shape(c->input[0]);
    char text[128];
    memset(marked, 0, HR_MAX_RANK * sizeof *marked);
    for (int i = 0; i < a->count; i++) {
        const int64_t axis = a->at[i] < 0 ? a->at[i] + shape.rank : a->at[i];
        if (shape.rank >= 0 && axis >= 1 && axis < shape.rank && !marked[axis]) {
            marked[axis] = true;
            continue;
        }
        return hr_layer_fail(c, "models.shape",
                             "expected axes of the input that differ and are not the batch, got %lld for %s",
                             (long long)a->at[i], hr_shape_text(shape, text, sizeof text));
    }
    return c->input[0];
}

/* ---- layers ---- */

typedef struct layer_norm_config {
    norm_axes axes;
    float epsilon;
    hr_layer_normalization_layer_opts o;
} layer_norm_config;

/* The dimensions in another order, those that are not marked first: `order`; and the way back. */
static void layer_norm_order(const bool *marked, int rank, int64_t *order, int64_t *back)
{
    int count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < rank; i++)
            if (marked[i] == (pass == 1)) order[count++] = i;
    for (int i = 0; i < rank; i++) back[order[i]] = i;
}

/* Axes that are not the last ones become these for the normalization. */
static hr_node layer_norm_call(hr_layer_call *c, void *config)
{
    const layer_norm_config *d = config;
    const hr_layer_normalization_layer_opts *o = &d->o;
    const hr_shape shape = hr_node_shape(c->input[0]);
    bool marked[HR_MAX_RANK], moved = false;
    int64_t order[HR_MAX_RANK], back[HR_MAX_RANK];
    const int begin = -d->axes.count;
    char text[128];
    hr_node x = norm_marked(c, &d->axes, marked);
    if (!hr_node_exists(x)) return x;
    for (int i = 0; i < shape.rank; i++)
        if (marked[i] && shape.dims[i] < 1)
            return hr_layer_fail(c, "models.shape", "expected an input of a known length along axis %d, got %s", i,
                                 hr_shape_text(shape, text, sizeof text));
    layer_norm_order(marked, shape.rank, order, back);
    for (int i = 0; i < shape.rank; i++) moved |= order[i] != i;
    if (moved) x = hr_transpose(x, hr_ints(c->graph, order, shape.rank));
    hr_layer_constrain(c, "gamma", o->gamma_constraint);
    hr_layer_constrain(c, "beta", o->beta_constraint);
    const hr_node y =
        hr_layer_normalization(x, .name = hr_layer_scope(c), .begin_norm_axis = &begin, .epsilon = &d->epsilon,
                               .beta_initializer = o->beta_initializer, .gamma_initializer = o->gamma_initializer,
                               .beta_regularizer = o->beta_regularizer, .gamma_regularizer = o->gamma_regularizer,
                               .no_center = o->no_center, .no_scale = o->no_scale);
    return moved ? hr_transpose(y, hr_ints(c->graph, back, shape.rank)) : y;
}

static hr_status layer_norm_check(const void *config, hr_error *err)
{
    const layer_norm_config *d = config;
    HR_TRY(norm_check_axes(&d->axes, err));
    if (d->epsilon >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected an epsilon of 0 or more, got %g",
                   (double)d->epsilon);
}

static const hr_layer_kind layer_norm_kind = {
    .head = HR_LAYER_HEAD,
    .name = "LayerNormalization",
    .config_size = sizeof(layer_norm_config),
    .call = layer_norm_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .min_rank = 2,
    .check = layer_norm_check,
};

hr_layer *hr_layer_normalization_layer_with(const hr_layer_normalization_layer_opts *opts)
{
    layer_norm_config d = {.o = HR_OPTIONS(hr_layer_normalization_layer_opts, opts)};
    d.axes = norm_axes_of(d.o.axes, d.o.axis_count);
    d.epsilon = d.o.epsilon ? *d.o.epsilon : 0.001f;
    return hr_layer_new(&layer_norm_kind, &d, HR_LAYER_COMMON(&d.o));
}

/* ---- groups ---- */

typedef struct group_norm_config {
    int64_t groups;
    float epsilon;
    hr_group_normalization_layer_opts o;
} group_norm_config;

static hr_node group_norm_call(hr_layer_call *c, void *config)
{
    const group_norm_config *d = config;
    const hr_group_normalization_layer_opts *o = &d->o;
    const hr_shape shape = hr_node_shape(c->input[0]);
    const int given = o->axis ? o->axis : -1, axis = given < 0 ? given + shape.rank : given;
    char text[128];
    if (shape.rank < 0 || axis < 1 || axis >= shape.rank || shape.dims[axis] < 1)
        return hr_layer_fail(c, "models.shape",
                             "expected an axis of the input that is not the batch and of a known length, got %d for %s",
                             given, hr_shape_text(shape, text, sizeof text));
    if (d->groups > 0 && shape.dims[axis] % d->groups != 0)
        return hr_layer_fail(
            c, "models.shape", "expected channels that are a multiple of the groups, %lld, got %lld, of %s",
            (long long)d->groups, (long long)shape.dims[axis], hr_shape_text(shape, text, sizeof text));
    hr_layer_constrain(c, "gamma", o->gamma_constraint);
    hr_layer_constrain(c, "beta", o->beta_constraint);
    return hr_group_normalization(c->input[0], d->groups, .name = hr_layer_scope(c), .axis = &axis,
                                  .epsilon = &d->epsilon, .beta_initializer = o->beta_initializer,
                                  .gamma_initializer = o->gamma_initializer, .beta_regularizer = o->beta_regularizer,
                                  .gamma_regularizer = o->gamma_regularizer, .no_center = o->no_center,
                                  .no_scale = o->no_scale);
}

static hr_status group_norm_check(const void *config, hr_error *err)
{
    const group_norm_config *d = config;
    if (d->groups < 1 && d->groups != -1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                       "expected groups of 1 or more, or -1 for as many as channels, got %lld", (long long)d->groups);
    if (d->epsilon >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected an epsilon of 0 or more, got %g",
                   (double)d->epsilon);
}

static const hr_layer_kind group_norm_kind = {
    .head = HR_LAYER_HEAD,
    .name = "GroupNormalization",
    .config_size = sizeof(group_norm_config),
    .call = group_norm_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .min_rank = 2,
    .max_rank = HR_MAX_RANK - 1,
    .check = group_norm_check,
};

hr_layer *hr_group_normalization_layer_with(const hr_group_normalization_layer_opts *opts)
{
    group_norm_config d = {.o = HR_OPTIONS(hr_group_normalization_layer_opts, opts)};
    d.groups = d.o.groups ? d.o.groups : 32;
    d.epsilon = d.o.epsilon ? *d.o.epsilon : 0.001f;
    return hr_layer_new(&group_norm_kind, &d, HR_LAYER_COMMON(&d.o));
}

/* ---- length 1 ---- */

static hr_node unit_norm_call(hr_layer_call *c, void *config)
{
    const norm_axes *axes = config;
    bool marked[HR_MAX_RANK];
    const hr_node x = norm_marked(c, axes, marked);
    if (!hr_node_exists(x)) return x;
    const hr_node squares = hr_reduce_sum(hr_square(x), .axes = axes->at, .axis_count = axes->count, .keep_dims = true);
    return hr_mul(x, hr_rsqrt(hr_maximum(squares, hr_scalar_like(squares, 1e-12))));
}

static hr_status unit_norm_check(const void *config, hr_error *err) { return norm_check_axes(config, err); }

static const hr_layer_kind unit_norm_kind = {
    .head = HR_LAYER_HEAD,
    .name = "UnitNormalization",
    .config_size = sizeof(norm_axes),
    .call = unit_norm_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .min_rank = 2,
    .check = unit_norm_check,
};

hr_layer *hr_unit_normalization_layer_with(const hr_unit_normalization_layer_opts *opts)
{
    const hr_unit_normalization_layer_opts o = HR_OPTIONS(hr_unit_normalization_layer_opts, opts);
    const norm_axes axes = norm_axes_of(o.axes, o.axis_count);
    return hr_layer_new(&unit_norm_kind, &axes, HR_LAYER_COMMON(&o));
}
