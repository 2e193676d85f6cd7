/* skip: drops the first `count` elements and passes the others. A negative count drops them all, as in TensorFlow, and
 * then the input is not even opened. */
#include <headrace/data.h>

typedef struct skip_spec {
    int64_t count;
} skip_spec;

typedef struct skip_state {
    int64_t skipped; /* saved */
} skip_state;

static hr_status drop_first(int64_t count, skip_state *st, hr_plan *p)
{
    while (st->skipped < count) {
        hr_span span;
        HR_TRY(hr_pull(p, 0, count - st->skipped, &span));
        st->skipped += span.count;
        hr_span_drop(span);
    }
    return HR_OK;
}

static hr_status skip_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const skip_spec *sp = spec;
    if (sp->count < 0) return HR_END;
    HR_TRY(drop_first(sp->count, state, p));
    while (hr_room(p) > 0) {
        int64_t passed;
        HR_TRY(hr_pass(p, 0, hr_room(p), &passed));
    }
    return HR_OK;
}

static void skip_identity(const void *spec, uint64_t *sum)
{
    const skip_spec *sp = spec;
    hr_identify_i64(sum, sp->count);
}

static int64_t skip_cardinality(const void *spec, const int64_t *in)
{
    const int64_t count = ((const skip_spec *)spec)->count;
    if (count < 0) return 0;
    return in[0] < 0 ? in[0] : in[0] > count ? in[0] - count : 0;
}

static void skip_describe(const void *spec, hr_description *to)
{
    const skip_spec *sp = spec;
    hr_describe_number(to, NULL, sp->count);
}

static hr_status skip_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)have;
    const int64_t count = ((const skip_spec *)spec)->count;
    if (count < 0) return HR_OK;
    ((skip_state *)state)->skipped = count;
    in[0] = index < HR_LARGEST_COUNT - count ? count + index : HR_LARGEST_COUNT;
    return HR_OK;
}

const hr_op hr_op_skip = {
    .head = HR_OP_HEAD,
    .name = "skip",
    .spec_size = sizeof(skip_spec),
    .state_size = sizeof(skip_state),
    .saved = 1, /* skipped */
    .traits = HR_MOVES_SPANS,
    .plan = skip_plan,
    .identity = skip_identity,
    .cardinality = skip_cardinality,
    .describe = skip_describe,
    .at = skip_at,
};

hr_dataset *hr_skip(hr_dataset *in, int64_t count)
{
    return hr_dataset_new(&hr_op_skip, &(skip_spec){.count = count}, &in, 1);
}
