/* range: the integers from start, by step, up to, not including, stop. The smallest source. */
#include <headrace/data.h>

typedef struct range_spec {
    int64_t start, stop, step, count;
} range_spec;

typedef struct range_state {
    int64_t given; /* saved */
} range_state;

static hr_status range_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)in;
    return hr_schema_set(out, &hr_int64_schema, err);
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
    int64_t *value = rows->column[0].values;
    for (int64_t i = 0; i < count; i++)
        value[i] = (int64_t)((uint64_t)sp->start + (uint64_t)(st->given + i) * (uint64_t)sp->step);
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
    return ((const range_spec *)spec)->count;
}

static void range_describe(const void *spec, hr_description *to)
{
    const range_spec *sp = spec;
    hr_describe_number(to, NULL, sp->start);
    hr_describe_number(to, NULL, sp->stop);
    if (sp->step != 1) hr_describe_number(to, NULL, sp->step);
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

hr_dataset *hr_range_with(int64_t stop, const hr_range_opts *opts)
{
    const int64_t start = opts ? opts->start : 0, step = opts && opts->step ? opts->step : 1;
    range_spec spec = {.start = start, .stop = stop, .step = step, .count = count_steps(start, stop, step)};
    return hr_dataset_new(&hr_op_range, &spec, NULL, 0);
}
