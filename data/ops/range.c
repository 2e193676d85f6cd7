/* range: the integers from start, by step, up to, not including, stop; counter: without an end. The smallest source. */
#include <headrace/data.h>

typedef struct range_spec {
    int64_t start, stop, step, count;
    hr_dtype dtype;
    bool endless;
} range_spec;

typedef struct range_state {
    int64_t given; /* saved */
} range_state;

static hr_status range_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const hr_dtype dtype = ((const range_spec *)spec)->dtype;
    const hr_field field = {.name = "value", .dtype = dtype};
    if (dtype == HR_INT64 || dtype == HR_INT32 || dtype == HR_UINT64 || dtype == HR_FLOAT || dtype == HR_DOUBLE)
        return hr_schema_set(out, &(hr_schema){.fields = 1, .field = &field}, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "range.dtype",
                   "range: expected a dtype of int32, int64, uint64, float32 or float64, got %s", hr_dtype_name(dtype));
}

/* What does not fit is cut or rounded, as TensorFlow's cast does. */
static void range_put(void *values, hr_dtype dtype, int64_t at, int64_t value)
{
    if (dtype == HR_INT32)
        ((int32_t *)values)[at] = (int32_t)value;
    else if (dtype == HR_FLOAT)
        ((float *)values)[at] = (float)value;
    else if (dtype == HR_DOUBLE)
        ((double *)values)[at] = (double)value;
    else
        ((int64_t *)values)[at] = value; /* and uint64: the same bits */
}

static hr_status range_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const range_spec *sp = spec;
    range_state *st = state;
    const int64_t left = sp->count - st->given;
    if (left <= 0) return HR_END;

    const int64_t count = left < hr_room(p) ? left : hr_room(p);
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "range");
    void *values = rows->column[0].values;
    for (int64_t i = 0; i < count; i++)
        range_put(values, sp->dtype, i,
                  (int64_t)((uint64_t)sp->start + (uint64_t)(st->given + i) * (uint64_t)sp->step));
    rows->origin = NULL;
    rows->rows = count;
    st->given += count;
    return HR_OK;
}

static void range_identity(const void *spec, uint64_t *sum)
{
    const range_spec *sp = spec;
    hr_identify_i64(sum, sp->start);
    hr_identify_i64(sum, sp->step);
    hr_identify_i64(sum, sp->count);
}

static int64_t range_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    const range_spec *sp = spec;
    return sp->endless ? HR_INFINITE_CARDINALITY : sp->count;
}

static void range_describe(const void *spec, hr_description *to)
{
    const range_spec *sp = spec;
    hr_describe_number(to, NULL, sp->start);
    if (!sp->endless) hr_describe_number(to, NULL, sp->stop);
    if (sp->step != 1) hr_describe_number(to, NULL, sp->step);
}

static hr_status range_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)have, (void)in;
    const int64_t count = ((const range_spec *)spec)->count;
    ((range_state *)state)->given = index < count ? index : count;
    return HR_OK;
}

const hr_op hr_op_range = {
    .head = HR_OP_HEAD,
    .name = "range",
    .spec_size = sizeof(range_spec),
    .state_size = sizeof(range_state),
    .saved = 1, /* given */
    .check = range_check,
    .plan = range_plan,
    .identity = range_identity,
    .cardinality = range_cardinality,
    .describe = range_describe,
    .at = range_at,
};

/* In unsigned arithmetic, where the distance between any two integers fits. */
static int64_t count_steps(int64_t start, int64_t stop, int64_t step)
{
    if (step > 0 ? start >= stop : start <= stop) return 0;
    const uint64_t distance = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    const uint64_t width = step > 0 ? (uint64_t)step : -(uint64_t)step;
    const uint64_t steps = (distance - 1) / width + 1;
    return steps > INT64_MAX ? INT64_MAX : (int64_t)steps;
}

static hr_dataset *range_make(range_spec spec)
{
    if (!spec.dtype) spec.dtype = HR_INT64;
    return hr_dataset_new(&hr_op_range, &spec, NULL, 0);
}

hr_dataset *hr_range_with(int64_t stop, const hr_range_opts *opts)
{
    const hr_range_opts o = HR_OPTIONS(hr_range_opts, opts);
    const int64_t step = o.step ? o.step : 1, count = count_steps(o.start, stop, step);
    return range_make((range_spec){.start = o.start, .stop = stop, .step = step, .count = count, .dtype = o.dtype});
}

hr_dataset *hr_counter_with(const hr_range_opts *opts)
{
    const hr_range_opts o = HR_OPTIONS(hr_range_opts, opts);
    return range_make((range_spec){
        .start = o.start, .step = o.step ? o.step : 1, .count = INT64_MAX, .dtype = o.dtype, .endless = true});
}
