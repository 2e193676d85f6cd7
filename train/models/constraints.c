/* Limits that each update of a weight keeps: tf.keras.constraints. */
#include <headrace/layer.h>

static hr_node norms(hr_node w, int axis)
{
    const int64_t along = axis;
    return hr_sqrt(hr_reduce_sum(hr_square(w), .axes = &along, .axis_count = 1, .keep_dims = true));
}

static hr_node clipped(hr_node x, double low, double high)
{
    return hr_minimum(hr_maximum(x, hr_scalar_like(x, low)), hr_scalar_like(x, high));
}

static hr_node divided(hr_node w, hr_node by, hr_node length)
{
    return hr_mul(w, hr_div(by, hr_add(length, hr_scalar_like(length, 1e-7))));
}

static hr_node keep_max_norm(const hr_constraint *c, hr_node w)
{
    const hr_node length = norms(w, c->axis);
    return divided(w, clipped(length, 0, c->high), length);
}

static hr_node keep_non_neg(const hr_constraint *c, hr_node w)
{
    (void)c;
    return hr_mul(w, hr_cast_to(hr_greater_equal(w, hr_scalar_like(w, 0)), hr_node_dtype(w)));
}

static hr_node keep_unit_norm(const hr_constraint *c, hr_node w)
{
    const hr_node length = norms(w, c->axis);
    return hr_div(w, hr_add(length, hr_scalar_like(length, 1e-7)));
}

static hr_node keep_min_max_norm(const hr_constraint *c, hr_node w)
{
    const hr_node length = norms(w, c->axis);
    const hr_node wanted = hr_add(hr_mul(clipped(length, c->low, c->high), hr_scalar_like(w, c->rate)),
                                  hr_mul(length, hr_scalar_like(w, 1 - c->rate)));
    return divided(w, wanted, length);
}

hr_constraint hr_max_norm(double max, int axis)
{
    return (hr_constraint){.apply = keep_max_norm, .high = max, .axis = axis};
}
hr_constraint hr_non_neg(void) { return (hr_constraint){.apply = keep_non_neg}; }
hr_constraint hr_unit_norm(int axis) { return (hr_constraint){.apply = keep_unit_norm, .axis = axis}; }

hr_constraint hr_min_max_norm(double min, double max, double rate, int axis)
{
    return (hr_constraint){.apply = keep_min_max_norm, .low = min, .high = max, .rate = rate, .axis = axis};
}
