/* concatenate: all elements of one dataset, then all of another. The second is opened when the first has ended. */
#include <headrace/data.h>

enum { PARTS = 2 };

typedef struct concatenate_state {
    int64_t at; /* saved: the current input */
} concatenate_state;

static hr_status concatenate_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)out;
    return hr_schemas_agree("concatenate", in, err);
}

static hr_status concatenate_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec, (void)err;
    concatenate_state *st = state;
    while (hr_room(p) > 0) {
        if (st->at >= PARTS) return HR_END;
        hr_span span;
        hr_status got = hr_pull(p, (int)st->at, hr_room(p), &span);
        if (got == HR_END) {
            st->at++;
            continue;
        }
        if (got != HR_OK) return got;
        hr_emit(p, span);
    }
    return HR_OK;
}

static int64_t concatenate_cardinality(const void *spec, const int64_t *in)
{
    (void)spec;
    if (in[0] == HR_INFINITE_CARDINALITY || in[1] == HR_INFINITE_CARDINALITY) return HR_INFINITE_CARDINALITY;
    return in[0] < 0 || in[1] < 0 || in[0] > INT64_MAX - in[1] ? HR_UNKNOWN_CARDINALITY : in[0] + in[1];
}

static hr_status concatenate_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)spec;
    if (have[0] == HR_UNKNOWN_CARDINALITY) return HR_UNIMPLEMENTED;
    const bool second = have[0] >= 0 && index >= have[0];
    ((concatenate_state *)state)->at = second;
    in[0] = second ? have[0] : index;
    in[1] = second ? index - have[0] : 0;
    return HR_OK;
}

const hr_op hr_op_concatenate = {
    .head = HR_OP_HEAD,
    .name = "concatenate",
    .state_size = sizeof(concatenate_state),
    .saved = 1, /* at */
    .range = (const hr_saved_range[]){{0, PARTS}},
    .ranges = 1,
    .traits = HR_MOVES_SPANS,
    .check = concatenate_check,
    .plan = concatenate_plan,
    .cardinality = concatenate_cardinality,
    .at = concatenate_at,
};

hr_dataset *hr_concatenate(hr_dataset *in, hr_dataset *other)
{
    return hr_dataset_new(&hr_op_concatenate, NULL, (hr_dataset *[]){in, other}, PARTS);
}
