/* take_while: passes elements until the user's function says no for the first time, then ends. The function is called
 * in the plan, one element after the other: what follows the first refusal must not be asked for. */
#include <headrace/data.h>

typedef struct take_while_spec {
    hr_filter_fn *fn;
    void *user;
} take_while_spec;

typedef struct take_while_state {
    int64_t over; /* saved: an element was refused, so no later one may come after a restore */
} take_while_state;

static hr_status take_while_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    if (((const take_while_spec *)spec)->fn) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "take_while.fn", "take_while: expected a function, got NULL");
}

/* How many elements of the span come before the first refusal; fewer than all: `over` is set. */
static hr_status take_while_ask(const take_while_spec *sp, take_while_state *st, hr_plan *p, hr_span span,
                                int32_t *passed, hr_error *err)
{
    for (*passed = 0; *passed < span.count && !st->over; *passed += !st->over) {
        const hr_element *element = hr_plan_element(p, (hr_span){span.in, span.first + *passed, 1});
        if (!element) return hr_no_memory(err, "take_while: an element");
        st->over = !sp->fn(element, sp->user);
    }
    return HR_OK;
}

/* Of `asked` elements some may be at hand that no pull has given yet: nothing may be left there. */
static void drop_rest(hr_plan *p, int64_t asked)
{
    hr_span span;
    while (asked > 0 && hr_ready(p, 0) && hr_pull(p, 0, asked, &span) == HR_OK) {
        asked -= span.count;
        hr_span_drop(span);
    }
}

static hr_status take_while_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    take_while_state *st = state;
    while (hr_room(p) > 0) {
        if (st->over) return HR_END;
        hr_span span;
        int32_t passed;
        const int64_t asked = hr_room(p);
        HR_TRY(hr_pull(p, 0, asked, &span));
        hr_status answered = take_while_ask(spec, st, p, span, &passed, err);
        if (passed > 0) hr_emit(p, hr_span_share(span, 0, passed));
        const int64_t left = asked - span.count;
        hr_span_drop(span);
        if (st->over) drop_rest(p, left);
        if (answered != HR_OK) return answered;
    }
    return HR_OK;
}

const hr_op hr_op_take_while = {
    .head = HR_OP_HEAD,
    .name = "take_while",
    .spec_size = sizeof(take_while_spec),
    .state_size = sizeof(take_while_state),
    .saved = 1, /* over */
    .range = (const hr_saved_range[]){{0, 1}},
    .ranges = 1,
    .check = take_while_check,
    .plan = take_while_plan,
};

hr_dataset *hr_take_while(hr_dataset *in, hr_filter_fn *fn, void *user)
{
    return hr_dataset_new(&hr_op_take_while, &(take_while_spec){fn, user}, &in, 1);
}
