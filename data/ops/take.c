/* take: passes the first `count` elements, then ends; a count of -1 passes all. */
#include <headrace/data.h>

typedef struct take_spec {
    int64_t count;
} take_spec;

typedef struct take_state {
    int64_t passed; /* saved */
} take_state;

static hr_status take_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const int64_t count = ((const take_spec *)spec)->count;
    take_state *st = state;
    while (hr_room(p) > 0) {
        int64_t want = hr_room(p);
        if (count >= 0 && count - st->passed < want) want = count - st->passed;
        if (want == 0) return HR_END;

        int64_t passed;
        HR_TRY(hr_pass(p, 0, want, &passed));
        st->passed += passed;
    }
    return HR_OK;
}

static hr_status take_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const int64_t count = ((const take_spec *)spec)->count;
    return count < 0 ? HR_OK : hr_saved_between("take", ((const take_state *)state)->passed, 0, count, err);
}

static void take_identity(const void *spec, uint64_t *sum) { hr_identify_i64(sum, ((const take_spec *)spec)->count); }

static int64_t take_cardinality(const void *spec, const int64_t *in)
{
    const int64_t count = ((const take_spec *)spec)->count;
    if (count < 0 || (in[0] >= 0 && in[0] < count)) return in[0];
    return in[0] == HR_UNKNOWN_CARDINALITY ? HR_UNKNOWN_CARDINALITY : count;
}

static void take_describe(const void *spec, hr_description *to)
{
    const take_spec *sp = spec;
    hr_describe_number(to, NULL, sp->count);
}

static hr_status take_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)have;
    const int64_t count = ((const take_spec *)spec)->count;
    in[0] = ((take_state *)state)->passed = count >= 0 && index > count ? count : index;
    return HR_OK;
}

const hr_op hr_op_take = {
    .head = HR_OP_HEAD,
    .name = "take",
    .spec_size = sizeof(take_spec),
    .state_size = sizeof(take_state),
    .saved = 1, /* passed */
    .traits = HR_MOVES_SPANS,
    .plan = take_plan,
    .load = take_load,
    .identity = take_identity,
    .cardinality = take_cardinality,
    .describe = take_describe,
    .at = take_at,
};

hr_dataset *hr_take(hr_dataset *in, int64_t count)
{
    take_spec spec = {count < 0 ? -1 : count};
    return hr_dataset_new(&hr_op_take, &spec, &in, 1);
}
