/* take_while: passes elements until the user's function says no for the first time, then ends. The function is called in
 * the plan, one element after the other: what follows the first refusal must not be asked for. */
#include <headrace/data.h>

typedef struct take_while_spec {
    hr_filter_fn *fn;
    void *user;
} take_while_spec;

typedef struct take_while_state {
    int64_t over; /* saved: an element was refused, and those behind it in the input must not come after a restore */
} take_while_state;

static hr_status take_while_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    if (((const take_while_spec *)spec)->fn) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "take_while.fn", "take_while: expected a function, got NULL");
}

/* One element at a time: what is pulled and not used is lost to a restore. */
static hr_status take_while_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const take_while_spec *sp = spec;
    take_while_state *st = state;
    while (hr_room(p) > 0) {
        if (st->over) return HR_END;
        hr_span span;
        HR_TRY(hr_pull(p, 0, 1, &span));
        const hr_element *element = hr_plan_element(p, span);
        st->over = !element || !sp->fn(element, sp->user);
        if (st->over)
            hr_span_drop(span);
        else
            hr_emit(p, span);
        if (!element) return hr_no_memory(err, "take_while: an element");
    }
    return HR_OK;
}

const hr_op hr_op_take_while = {
    .head = HR_OP_HEAD,
    .name = "take_while",
    .spec_size = sizeof(take_while_spec),
    .state_size = sizeof(take_while_state),
    .saved = 1, /* over */
    .check = take_while_check,
    .plan = take_while_plan,
};

hr_dataset *hr_take_while(hr_dataset *in, hr_filter_fn *fn, void *user)
{
    return hr_dataset_new(&hr_op_take_while, &(take_while_spec){fn, user}, &in, 1);
}
