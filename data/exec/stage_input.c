/* The operator kit for plan: pulling from inputs. */
#include "data/exec/engine.h"
#include <inttypes.h>

/* ---- short elements ---- */

bool hr__input_ends_short(const hr_plan *p, int i, int64_t ahead)
{
    const input *in = p->in[i];
    if (i == 0 && p->ds->op->held_from) return false;
    if (in->node) return in->node->partial && in->node->taken + ahead == in->node->outs;
    return in->head && in->head->partial && in->next + ahead == in->count;
}

void hr__input_notice_short(hr_plan *p, int i)
{
    const input *in = p->in[i];
    if (!hr__input_ends_short(p, i, 0)) return;
    hr__plan_node_fail(p, in->node ? &in->node->error : &in->head->error);
    p->partial = true;
}

/* ---- pulling from a stage ---- */

/* Looks at the stage's next unit. Elements of it that were used before a restore are skipped. */
static bool take_head(hr_plan *p, input *in, hr_status *none)
{
    stage *s = in->stage;
    hr__engine_lock(s->engine);
    if (hr__stage_head_ready(s)) in->head = hr__stage_unit(s, s->taken);
    *none = hr__stage_is_over(s) ? HR_END : HR_WAIT;
    hr__engine_unlock(s->engine);
    if (!in->head) return false;
    if (!in->before) {
        in->before = in->head->before;
        in->head->before = NULL;
    }
    if (in->own && p->ds && p->ds->op->held_from && in == p->in[0] && in->since == 0 && !hr__log_input(p, in)) {
        in->head = NULL;
        hr__plan_node_no_memory(p);
        *none = HR_END;
        return false;
    }
    in->rows = in->head->rows;
    in->count = in->rows ? in->rows->c.elements : 0;
    if (in->skip_to > in->first) in->next = in->skip_to - in->first < in->count ? in->skip_to - in->first : in->count;
    return true;
}

static void pop_head(input *in)
{
    stage *s = in->stage;
    in->first += in->count;
    in->since += in->count;
    in->next = in->count = 0;
    if (in->head->after) {
        hr__token_unref(in->before);
        in->before = in->head->after;
        in->head->after = NULL;
        in->since = 0;
    }
    hr__unit_clear(in->head);
    in->head = NULL;
    in->rows = NULL;
    hr__engine_lock(s->engine);
    hr__engine_taken(s);
    hr__engine_unlock(s->engine);
}

/* Goes on until there is an element at hand. False: *none says whether one may still come. */
bool hr__input_find(hr_plan *p, input *in, hr_status *none)
{
    for (;;) {
        if (!in->head && !take_head(p, in, none)) {
            p->stage->waits_for = in->stage;
            return false;
        }
        if (in->next < in->count) return true;
        if (in->head->error.code || in->head->last) {
            if (in->head->error.code) hr__plan_node_fail(p, &in->head->error);
            *none = HR_END;
            return false;
        }
        pop_head(in);
    }
}

static hr_status pull_stage(hr_plan *p, int i, int64_t at_most, hr_span *out)
{
    input *in = p->in[i];
    hr_status none;
    if (in->next >= in->count && !hr__input_find(p, in, &none)) return none;
    const int64_t left = in->count - in->next, count = at_most < left ? at_most : left;
    *out = hr__rows_give(in->rows, in->next, count);
    in->next += count;
    hr__input_notice_short(p, i);
    return HR_OK;
}

/* ---- pulling from a node ---- */

/* An operator that neither takes nor gives anything, call after call, would keep its thread for ever. */
static bool is_idle(hr_plan *p, int64_t emitted, int64_t outs)
{
    enum { PATIENCE = 1 << 16 };
    int64_t taken = 0;
    if (p->emitted != emitted || p->outs != outs || ++p->idle < PATIENCE) return false;
    for (int i = 0; i < p->ins; i++) taken += input_pulled(p->in[i]);
    const bool idle = p->idle_at == taken + 1; /* 0: never looked at */
    p->idle_at = taken + 1;
    p->idle = 0;
    return idle;
}

/* One call of the operator. An error of an input wins over its own: it is the cause. */
hr_status hr__plan_node_run(hr_plan *p)
{
    hr_error err;
    err.code = HR_OK;
    err.kind = NULL;
    const int64_t emitted = p->emitted, outs = p->outs;
    hr_status st = p->ds->op->plan(p->ds->spec, p->state, p, &err);
    rows *r = p->filling;
    p->filling = NULL;
    if (r) {
        if (r->c.levels == 0) r->c.elements = r->c.rows;
        p->fill_rows = r->c.rows >= r->capacity ? 2 * r->c.rows : r->c.rows + r->c.rows / 4 + 16;
    }
    if (r && r->c.elements > 0)
        hr_emit(p, (hr_span){&r->c, 0, (int32_t)r->c.elements});
    else
        hr__rows_drop(r);
    if (st != HR_END && st != HR_WAIT) st = hr__op_answer(p->ds->op, st, &err);
    if (st == HR_WAIT && !p->stage->waits_for && !engine_cancelled(p->stage->engine)) /* nobody would come back */
        st = hr_fail(&err, HR_INTERNAL, "op.failed", "%s: waits, but for none of its inputs", p->ds->op->name);
    if (st == HR_OK && is_idle(p, emitted, outs))
        st = hr_fail(&err, HR_INTERNAL, "op.failed", "%s: neither takes nor gives anything, and does not end",
                     p->ds->op->name);
    if (st < 0) hr__plan_node_fail(p, &err);
    /* Not with the error of an input: what the operator holds comes first, in as many units as it takes. */
    p->ended = (st != HR_OK && st != HR_WAIT) || p->lost || (p->partial && !p->ds->op->held_from);
    return p->ended ? HR_END : st;
}

static hr_status fill_node(hr_plan *p, hr_plan *from, int64_t at_most)
{
    hr_error err;
    if (!from->opened && hr__plan_node_open(from, NULL, &err) != HR_OK) {
        hr__plan_node_fail(from, &err);
        from->ended = true;
    }
    while (from->taken == from->outs) {
        if (engine_cancelled(p->stage->engine)) return HR_WAIT; /* which may be in the middle of a long skip */
        from->taken = from->outs = 0;
        if (from->ended) {
            if (from->error.code) hr__plan_node_fail(p, &from->error);
            return HR_END;
        }
        from->room = at_most < MAX_UNIT_ROWS ? at_most : MAX_UNIT_ROWS; /* a source makes space for so many */
        if (hr__plan_node_run(from) == HR_WAIT && from->outs == 0) return HR_WAIT;
    }
    return HR_OK;
}

static hr_status pull_node(hr_plan *p, int i, int64_t at_most, hr_span *out)
{
    input *in = p->in[i];
    hr_plan *from = in->node;
    if (from->taken == from->outs) HR_TRY(fill_node(p, from, at_most));
    hr_span *next = &from->out[from->taken];
    if (next->count <= at_most) {
        *out = *next;
        from->taken++;
    } else {
        *out = hr_span_take(next, (int32_t)at_most);
    }
    in->first += out->count;
    hr__input_notice_short(p, i);
    return HR_OK;
}

/* ---- op.h: pulling ---- */

/* A node opened in the middle of a unit: where its input starts may be asked for again. */
static bool log_start(hr_plan *node)
{
    return !node || !node->ds->op->held_from || !hr__input_is_node(node, 0) || hr__log_input(node, node->in[0]);
}

/* Opens what is pulled for the first time, and brings up what was wrong with it. */
static hr_status first_pull(hr_plan *p, int i)
{
    input *in = p->in[i];
    if (in->error && !(p->stage->ignores && hr__ignorable(in->error))) hr__plan_node_fail(p, in->error);
    if (p->error.code || in->error) return HR_END;
    in->known = true;
    if (in->stage || in->node || (hr__input_open_own(p, i) && log_start(in->node))) return HR_OK;
    hr__plan_node_no_memory(p);
    return HR_END;
}

static hr_status pulls_nothing(hr_plan *p, int64_t at_most)
{
    hr_error err;
    hr_fail(&err, HR_INTERNAL, "op.pull", "%s: expected to pull at least one element, got %" PRId64, p->ds->op->name,
            at_most);
    hr__plan_node_fail(p, &err);
    return HR_END;
}

hr_status hr_pull(hr_plan *p, int i, int64_t at_most, hr_span *out)
{
    input *in = p->in[i];
    if (p->error.code) return HR_END;
    if (at_most < 1) return pulls_nothing(p, at_most);
    if (!in->known || (!in->stage && !in->node)) HR_TRY(first_pull(p, i));
    if (at_most > INT32_MAX) at_most = INT32_MAX;
    return in->node ? pull_node(p, i, at_most, out) : pull_stage(p, i, at_most, out);
}

int64_t hr_pulled(const hr_plan *p, int i) { return input_pulled(p->in[i]); }

bool hr_ready(hr_plan *p, int i)
{
    input *in = p->in[i];
    hr_status none;
    if (p->error.code || (!in->stage && !in->node)) return false;
    if (in->node) return in->node->taken < in->node->outs || (!in->node->ds->inputs && !in->node->ended);
    return in->next < in->count || ((in->head || take_head(p, in, &none)) && in->next < in->count);
}

/* ---- zip ---- */

static bool same_form(const hr_columns *a, int64_t i, const hr_columns *b, int64_t k, int level)
{
    if (level == a->levels || level == HR_MAX_LEVELS) return true;
    const int32_t *of_a = a->splits[level] + i, *of_b = b->splits[level] + k;
    bool same = of_a[1] - of_a[0] == of_b[1] - of_b[0];
    for (int32_t n = 0; same && n < of_a[1] - of_a[0]; n++) same = same_form(a, of_a[0] + n, b, of_b[0] + n, level + 1);
    return same;
}

hr_status hr_pull_all(hr_plan *p, int64_t at_most, hr_span *part)
{
    int64_t count = at_most;
    for (int i = 0; i < p->ds->inputs; i++) {
        input *in = p->in[i];
        hr_status none;
        if (p->error.code) return HR_END;
        if (!in->known || !in->stage) HR_TRY(first_pull(p, i));
        if (in->next >= in->count && !hr__input_find(p, in, &none)) return none;
        if (in->count - in->next < count) count = in->count - in->next;
    }
    for (int i = 1; i < p->ds->inputs && count > 0; i++) { /* as many as have their batches alike */
        const input *a = p->in[0], *b = p->in[i];
        int64_t n = 0;
        while (n < count && same_form(&a->rows->c, a->next + n, &b->rows->c, b->next + n, 0)) n++;
        count = n;
    }
    if (count == 0) {
        hr_fail(&p->error, HR_INVALID_ARGUMENT, "zip.rows",
                "%s: element %" PRId64 ": expected batches of one size from all inputs; batch after it instead",
                p->ds->op->name, hr_pulled(p, 0));
        return HR_END;
    }
    for (int i = 0; i < p->ds->inputs; i++) pull_stage(p, i, count, &part[i]);
    return HR_OK;
}
