/* The slots of interleave: the user's function is asked for the dataset of each input element, in order, some of them
 * before their turn, so that they are read ahead; after a load it is asked again. */
#include "data/interleave.h"
#include <string.h>

enum { FIRST_ROOM = 4 };

static hr_status more_slots(interleave_state *st, hr_error *err)
{
    const int64_t room = st->room ? 2 * st->room : FIRST_ROOM;
    slot *slots = hr_realloc(st->slot, (size_t)room * sizeof *slots);
    if (slots) st->slot = slots;
    int *round = slots ? hr_realloc(st->round, (size_t)room * sizeof *round) : NULL;
    if (!round) return hr_no_memory(err, "interleave: the slots");
    st->round = round;
    st->room = room;
    return HR_OK;
}

hr_status hr__interleave_add(interleave_state *st, slot s, hr_error *err)
{
    if (st->slots == st->room) HR_TRY(more_slots(st, err));
    st->slot[st->slots++] = s;
    st->used += s.element >= 0;
    return HR_OK;
}

static hr_status open_dataset(const interleave_spec *sp, hr_plan *p, hr_span span, slot *s, hr_error *err)
{
    const hr_element *element = hr_plan_element(p, span);
    if (!element) return hr_no_memory(err, "interleave: an element");
    hr_dataset *ds = sp->fn(element, sp->user.data);
    if (!ds)
        return hr_fail(err, HR_INVALID_ARGUMENT, "interleave.fn",
                       "interleave: the function gave NULL for element %lld, not a dataset", (long long)s->element);
    s->input = hr_input_open(p, ds, s->element);
    return HR_OK;
}

/* Pulls the next input element; if `s` is to have it, opens its dataset there. */
static hr_status open_next(const interleave_spec *sp, hr_plan *p, slot *s, hr_error *err)
{
    hr_span span;
    const int64_t element = hr_pulled(p, 0);
    HR_TRY(hr_pull(p, 0, 1, &span));
    if (s) s->element = element;
    hr_status status = s ? open_dataset(sp, p, span, s, err) : HR_OK;
    hr_span_drop(span);
    return status;
}

static slot *slot_of(interleave_state *st, int64_t element)
{
    for (int64_t i = 0; i < st->slots; i++)
        if (st->slot[i].element == element) return &st->slot[i];
    return NULL;
}

hr_status hr__interleave_reopen(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    while (hr_pulled(p, 0) < st->next) {
        hr_status got = open_next(sp, p, slot_of(st, hr_pulled(p, 0)), err);
        if (got == HR_END)
            return hr_fail(err, HR_DATA_LOSS, "interleave.input_changed",
                           "interleave: the input has changed since the state was saved: it has only %lld elements; "
                           "begin anew",
                           (long long)hr_pulled(p, 0));
        if (got != HR_OK) return got;
    }
    return HR_OK;
}

hr_status hr__interleave_next(const interleave_spec *sp, interleave_state *st, hr_plan *p, slot *opened, hr_error *err)
{
    *opened = EMPTY;
    if (st->aheads == 0) {
        HR_TRY(open_next(sp, p, opened, err));
    } else {
        *opened = st->ahead[0];
        memmove(st->ahead, st->ahead + 1, (size_t)--st->aheads * sizeof *st->ahead);
    }
    st->next = opened->element + 1;
    return HR_OK;
}

hr_status hr__interleave_fill(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    slot opened;
    HR_TRY(hr__interleave_next(sp, st, p, &opened, err));
    if (st->turn == st->slots) return hr__interleave_add(st, opened, err);
    st->slot[st->turn] = opened;
    st->used++;
    return HR_OK;
}

hr_status hr__interleave_open_ahead(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    const int64_t empty = sp->cycle_length - st->used;
    while (st->aheads < sp->ahead && st->aheads <= empty && !st->exhausted && hr_ready(p, 0)) {
        slot opened = EMPTY;
        hr_status got = open_next(sp, p, &opened, err);
        if (got < 0) return got;
        st->exhausted = got == HR_END;
        if (got != HR_OK) break;
        st->ahead[st->aheads++] = opened;
    }
    return HR_OK;
}
