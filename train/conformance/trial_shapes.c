/* Shapes of inputs: most of them fit each other, as what is asked of an op mostly does. */
#include "train/conformance/trial.h"

hr_shape hr__trial_random_shape(trial *t)
{
    hr_shape shape = {one_in(t, 12) ? (int)below(t, HR_MAX_RANK + 1) : (int)below(t, 5), {0}};
    int64_t count = 1;
    const bool even = one_in(t, 4);
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = even && i > 0 ? shape.dims[0] : one_in(t, 12) ? 0 : 1 + below(t, 4);
        if (count * shape.dims[i] > MAX_VALUES / 4) shape.dims[i] = 1;
        count *= shape.dims[i] ? shape.dims[i] : 1;
    }
    if (shape.rank > 1 && one_in(t, 40)) { /* nothing in it, and yet long */
        shape.dims[below(t, shape.rank)] = INT64_C(1) << (20 + below(t, 24));
        shape.dims[below(t, shape.rank)] = 0;
        if (hr_shape_count(shape) != 0) shape.dims[0] = 0;
    }
    return shape;
}

static hr_shape vector_shape(trial *t)
{
    const hr_shape c = t->common;
    const int64_t first = c.rank > 0 ? c.dims[0] : 1, last = c.rank > 0 ? c.dims[c.rank - 1] : 1;
    const int64_t lengths[] = {0, 1, 2, c.rank, c.rank, last, c.rank + 1, first, first + 1, last, hr_shape_count(c),
                               12};
    int64_t length = c.rank;
    if (t->by_row) length = first + one_in(t, 2);
    if (!t->in_tune) length = lengths[below(t, sizeof lengths / sizeof *lengths)];
    return HR_SHAPE(length > MAX_VALUES ? 3 : length);
}

static hr_shape part_of_common(trial *t, int first, int count)
{
    hr_shape shape = {count, {0}};
    for (int i = 0; i < count; i++) shape.dims[i] = t->common.dims[first + i];
    return hr_shape_count(shape) <= MAX_VALUES ? shape : HR_SCALAR;
}

/* As the op's pattern says: each letter has one length in a trial, and "..." is one list of dimensions. */
static bool shape_by_pattern(trial *t, hr_shape *out)
{
    hr_dims_pattern said;
    const hr_dims_pattern *p = &said;
    if (!hr_signature_input_dims(t->sig, t->inputs, &said)) return false;
    *out = (hr_shape){0, {0}};
    for (int i = 0; i <= p->rank; i++) {
        for (int j = 1; i == p->rest && j < t->common.rank && out->rank < HR_MAX_RANK - p->rank; j++)
            out->dims[out->rank++] = t->common.dims[j];
        if (i == p->rank) break;
        const uint64_t letter = (uint64_t)(HR_DIM_LETTER - p->dim[i]);
        out->dims[out->rank++] = p->dim[i] >= 0    ? p->dim[i]
                                 : p->dim[i] == -1 ? below(t, 5)
                                                   : hr_random_below(t->key, UINT64_MAX - letter, 4);
    }
    return hr_shape_count(*out) >= 0 && hr_shape_count(*out) <= MAX_VALUES;
}

hr_shape hr__trial_input_shape(trial *t, bool index)
{
    hr_shape pattern;
    if (t->in_tune && !one_in(t, 4) && shape_by_pattern(t, &pattern)) return pattern;
    hr_shape shape = t->common;
    const int64_t kind = t->in_tune && !one_in(t, 8) ? index * 30 : below(t, 100);
    if (t->alone == t->inputs) return shape;
    if (t->alone >= 0 && index && t->in_tune && one_in(t, 2))
        return one_in(t, 3) ? HR_SHAPE(shape.rank, 2) : vector_shape(t);
    if (t->alone >= 0) return HR_SCALAR;
    if (t->in_tune && index && one_in(t, 3)) return HR_SCALAR;
    if (t->in_tune && !t->by_row && shape.rank > 0 && one_in(t, 5)) return part_of_common(t, shape.rank - 1, 1);
    const int some = (int)below(t, shape.rank + 1);
    if (kind < (index ? 25 : 55)) return shape;
    if (kind < (index ? 65 : 67)) return vector_shape(t);
    if (kind < (index ? 85 : 75)) return HR_SCALAR;
    if (kind < 89) return part_of_common(t, 0, some);
    if (kind < 92) return part_of_common(t, shape.rank - some, some);
    if (kind < 96) return HR_SHAPE(shape.rank, 2);
    if (kind < 98) return hr__trial_random_shape(t);
    for (int i = 0; i < shape.rank; i++)
        if (one_in(t, 2)) shape.dims[i] = 1;
    return hr_shape_count(shape) <= MAX_VALUES ? shape : HR_SCALAR;
}

/* What is said of it before the run. */
hr_shape hr__trial_declared(trial *t, hr_shape shape)
{
    if (one_in(t, 5)) return HR_UNKNOWN_SHAPE;
    if (one_in(t, 2)) return shape;
    for (int i = 0; i < shape.rank; i++)
        if (one_in(t, 3)) shape.dims[i] = -1;
    return shape;
}

hr_shape hr__trial_any_shape(trial *t)
{
    hr_shape shape = hr__trial_declared(t, one_in(t, 2) ? t->common : hr__trial_random_shape(t));
    for (int i = 0; i < shape.rank; i++)
        if (one_in(t, 25)) shape.dims[i] = hr__trial_hostile(t);
    if (one_in(t, 50)) shape.rank = (int)hr__trial_hostile(t);
    return shape;
}
