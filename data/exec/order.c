/* In which order units leave: strictly by number, or, where an operator frees it, what is ready before what is not.
 * Then a place in the ring has another unit than that of its number, and a token says no longer what was given: from
 * there on a state is refused. */
#include "data/exec/engine.h"

unit *hr__stage_unit(const stage *s, int64_t number) { return &s->ring[s->place[number % s->ring_units]]; }

/* What ends a stage comes after all that was planned before it. */
static bool may_come_first(const unit *u) { return u->ready && !u->last && !u->error.code; }

/* Tokens belong to places, not to what stands there. */
static void change_places(stage *s, int64_t a, int64_t b)
{
    unit *of_a = hr__stage_unit(s, a), *of_b = hr__stage_unit(s, b);
    token *before = of_a->before, *after = of_a->after;
    const uint8_t place = s->place[a % s->ring_units];
    of_a->before = of_b->before, of_a->after = of_b->after;
    of_b->before = before, of_b->after = after;
    s->place[a % s->ring_units] = s->place[b % s->ring_units];
    s->place[b % s->ring_units] = place;
}

/* The first unit that is ready goes to the front; those in between keep their order. */
static bool bring_forward(stage *s)
{
    int64_t number = s->taken;
    while (number < s->planned && !may_come_first(hr__stage_unit(s, number))) number++;
    if (number == s->planned) return false;
    for (; number > s->taken; number--) change_places(s, number - 1, number);
    s->engine->disordered = true;
    return true;
}

bool hr__stage_head_ready(stage *s)
{
    if (s->taken == s->planned) return false;
    return hr__stage_unit(s, s->taken)->ready || (s->unordered && !s->engine->restored && bring_forward(s));
}

hr_status hr__order_unchanged(engine *e, hr_error *err)
{
    hr__engine_lock(e);
    const bool disordered = e->disordered;
    hr__engine_unlock(e);
    if (!disordered) return HR_OK;
    return hr_fail(
        err, HR_FAILED_PRECONDITION, "state.unordered",
        "saved state: expected elements in order, but an operator is unordered and some have left before those "
        "in front of them; leave .unordered away where a pipeline is to be saved");
}
