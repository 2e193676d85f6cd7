/* Planning a unit: the stage's own turn, without the lock. */
#include "data/exec/engine.h"
#include "data/exec/token.h"

/* What an operator asked for and did not use would be lost by a restore. Only own inputs have nodes. */
static bool all_used(const hr_plan *p)
{
    bool used = true;
    for (int i = 0; i < p->ds->inputs && used; i++)
        if (p->in[i]->node) used = p->in[i]->node->taken == p->in[i]->node->outs && all_used(p->in[i]->node);
    return used;
}

/* A remainder that is to be dropped: elements emitted after the last element that was closed. */
static void drop_remainder(hr_plan *p, parts *list)
{
    int64_t excess = p->emitted - p->closed;
    while (excess > 0) {
        hr_span *last = &list->span[list->count - 1];
        int64_t cut = last->count < excess ? last->count : excess;
        hr_span tail = {last->in, last->first + last->count - (int32_t)cut, (int32_t)cut};
        excess -= cut;
        last->count -= (int32_t)cut;
        if (last->count == 0)
            list->count--;
        else
            ((rows *)tail.in)->refs++;
        hr_span_drop(tail);
    }
}

/* Tokens stand at multiples of so many elements, whatever units there are between them: so a saved state says what was
 * delivered, not how large the units were that brought it. A token has a link for each input that is open. Where these
 * are many, the next one is further away: after a restore its stage plans some more rows again, and a row costs as much
 * as among few inputs. */
static bool tell_position(stage *s, unit *u)
{
    enum { ROWS_A_LINK = 16 };
    s->told = s->given >= s->tell_at;
    if (!s->told) return true;
    u->after = hr__stage_token(s);
    if (!u->after) return false;
    s->tell_at = (s->given / s->apart + 1 + u->after->links * ROWS_A_LINK / TOKEN_ROWS) * s->apart;
    return true;
}

/* To its reader, what an ignored error has ended has simply ended: a batch that it cut short is a remainder. */
static void end_with_error(stage *s, unit *u)
{
    u->error = s->top->error;
    u->partial = s->top->partial;
    u->ignored = s->ignores && u->error.code && hr__ignorable(&u->error);
    if (!u->ignored) return;
    hr__count(s->engine, "ignored", 1);
    hr__tell_ignored(s->ignores, &u->error);
    u->error.code = HR_OK;
    u->partial = false;
}

static void finish_unit(stage *s, unit *u)
{
    hr_plan *p = s->top;
    if (!all_used(p)) {
        if (!p->error.code) hr_fail(&p->error, HR_INTERNAL, "op.pull", "%s: pulled more than it used", p->ds->op->name);
        p->ended = true;
    }
    if (p->groups) drop_remainder(p, u->parts);
    u->elements = p->groups ? u->cuts : p->emitted;
    s->given += u->elements;
    u->first_row = p->groups && p->in[0]->stage ? -1 : s->rows_planned;
    for (int64_t i = 0; s->numbered && i < u->parts->count; i += u->parts->sides)
        s->rows_planned += hr__span_rows(u->parts->span[i]);
    hr__unit_take_over(s, u);
    u->last = p->ended;
    if (u->last) { /* its reader stays here, so it needs no token */
        end_with_error(s, u);
        return;
    }
    if (tell_position(s, u)) return;
    u->last = p->ended = true;
    hr_no_memory(&u->error, "a plan");
}

/* What would be opened for nothing: of a chain of repeats each would open all below. */
static bool pulls_its_input(const hr_plan *p)
{
    return p->ds->inputs && !(p->ds->op->traits & HR_OPENS_ITS_INPUT) && hr__input_is_node(p, 0);
}

/* Opens what will be pulled directly, so that the very first token knows it: a list of files that was made now is to be
 * the same after a restore. What fails here is opened again at its first pull, where its error has a place. */
static void open_below(hr_plan *p)
{
    while (pulls_its_input(p)) {
        input *in = p->in[0];
        hr_error err;
        if (!hr__input_open_own(p, 0)) return;
        if (hr__plan_node_open(in->node, NULL, &err) != HR_OK) {
            hr__plan_node_free(in->node);
            in->node = NULL;
            return;
        }
        p = in->node;
    }
}

static hr_status load_stage(stage *s, hr_error *err)
{
    hr_token_reader from;
    hr__token_reader_init(&from, s->from);
    HR_TRY(hr__plan_node_open(s->top, &from, err));
    if (s->numbered) HR_TRY(hr_read_between(&from, 0, HR_LARGEST_COUNT, &s->rows_planned, err));
    return hr__token_end(&from, err);
}

static hr_status open_anew(stage *s, unit *u, hr_error *err)
{
    HR_TRY(hr__plan_node_open(s->top, NULL, err));
    if (s->start > 0)
        HR_TRY(hr__plan_node_at(s->top, s->start, err));
    else
        open_below(s->top);
    u->before = hr__stage_token(s);
    return u->before ? HR_OK : hr_no_memory(err, "a plan");
}

static void open_stage(stage *s, unit *first)
{
    hr_error err = {0};
    hr_status st = s->from ? load_stage(s, &err) : open_anew(s, first, &err);
    hr__token_unref(s->from);
    s->from = NULL;
    if (st == HR_OK) return;
    hr__plan_node_fail(s->top, &err);
    s->top->ended = true;
}

static void start_unit(stage *s, unit *u)
{
    hr_plan *p = s->top;
    u->started = true;
    u->cuts = 0;
    u->weighed = 0;
    u->weight = 0;
    p->emitted = p->closed = 0;
    p->cut = false;
    const int64_t untold = s->tell_at - s->given, room = s->plan_room < untold ? s->plan_room : untold;
    p->room = hr__whole_groups(s, room, room);
    u->parts = hr__parts_new(s->returns);
    if (u->parts && (p->ds->op->traits & HR_JOINS_ROWS)) u->parts->sides = p->ds->inputs;
    if (u->parts && (!s->told || hr__log_nodes(p))) return;
    hr__plan_node_no_memory(p);
    p->ended = true;
}

/* Instead of waiting for the rest: of large rows few make a unit, and what it has is held as long as it waits. */
static bool is_enough(const stage *s, unit *u)
{
    const hr_plan *p = s->top;
    if (u->parts->count == 0 || (p->groups && (u->cuts == 0 || p->emitted > p->closed)) || !all_used(p)) return false;
    return hr__budget_ends(s->engine, u);
}

/* HR_OK: there is a unit, number `planned`. HR_END: nothing more. HR_WAIT: later; what is there already stays. */
hr_status hr__stage_plan(stage *s, parts *returned)
{
    hr_plan *p = s->top;
    hr__parts_drop(s->returns, returned);
    if (!s->ring && !hr__stage_make_ring(s)) return hr__plan_node_no_memory(p), p->ended = true, HR_END;
    unit *u = hr__stage_unit(s, s->planned); /* its place is beyond those of planned units, which others may change */
    s->current = u;
    s->waits_for = NULL;
    if (!p->opened) open_stage(s, u);
    if (!u->started) start_unit(s, u);
    if (!u->parts) return u->error = p->error, u->last = true, HR_OK;
    while (p->room > 0 && !p->ended) {
        if (hr__plan_node_run(p) == HR_WAIT) {
            if (!is_enough(s, u)) return HR_WAIT;
            break;
        }
        if (p->cut && u->parts->count > 0 && all_used(p)) break; /* a source cuts its units by bytes */
    }
    finish_unit(s, u);
    if (u->rows || u->parts->count || u->error.code) return HR_OK;
    hr__unit_clear(u);
    return HR_END;
}
