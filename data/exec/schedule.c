/* What a thread does: it takes the most downstream stage that can move, plans its next unit and works on it. The caller
 * of hr_next does the same while it waits. And stages of inputs that were closed are freed. */
#include "data/exec/engine.h"
#include "data/exec/usage.h"

/* ---- closing: a closed input's stages go when no thread is inside any of them ---- */

/* The stages below `top`, and itself: readers first. NULL: that was the last one. */
static stage *next_below(const stage *s, const stage *top)
{
    if (s->below) return s->below;
    while (s != top && !s->beside) s = s->reader;
    return s == top ? NULL : s->beside;
}

void hr__engine_sever(stage *top)
{
    engine *e = top->engine;
    if (top->severed) return;
    top->severed = true;
    top->next_dead = e->severed;
    e->severed = top;
    for (stage *s = top; s; s = next_below(s, top)) {
        s->closed = true;
        hr__stage_moves(s);
    }
}

static bool is_idle(const stage *top)
{
    const stage *s = top;
    while (s && !s->busy) s = next_below(s, top);
    return !s;
}

/* Not one that lies below another: it goes with that. */
static stage *idle_severed(engine *e)
{
    stage **at = &e->severed;
    while (*at && !is_idle(*at)) at = &(*at)->next_dead;
    stage *top = *at;
    if (top) *at = top->next_dead;
    return top;
}

static void forget_severed(engine *e, const stage *s)
{
    stage **at = &e->severed;
    while (*at && *at != s) at = &(*at)->next_dead;
    if (*at) *at = s->next_dead;
}

/* Takes a stage and all below out of the lists. Gives them, readers first. */
static stage *take_out(engine *e, stage *top)
{
    stage *dead = NULL, **last = &dead;
    for (stage *s = top; s; s = next_below(s, top)) {
        hr__explain_remember(s);
        e->stages_bytes -= s->unit_bytes;
        if (s != top && s->severed) forget_severed(e, s);
        stage *moved = e->stage[--e->stages];
        e->stage[s->at] = moved;
        moved->at = s->at;
        *last = s;
        last = &s->next_dead;
    }
    *last = NULL;
    stage **at = &top->reader->below;
    if (top->before)
        top->before->beside = top->beside;
    else
        *at = top->beside;
    if (top->beside) top->beside->before = top->before;
    return dead;
}

void hr__engine_sweep(engine *e)
{
    for (stage *top; e->severed && (top = idle_severed(e)) != NULL;) {
        stage *dead = take_out(e, top);
        e->leaving++;
        hr__engine_unlock(e);
        while (dead) {
            stage *next = dead->next_dead;
            hr__stage_free(dead);
            hr__engine_stall(e);
            dead = next;
        }
        hr__engine_lock(e);
        e->leaving--;
        hr__shared_changed(e); /* who has left brings nothing any more */
    }
}

/* Readers first: they have units of those below. */
void hr__engine_free_stages(engine *e)
{
    stage *dead = NULL, **last = &dead;
    for (stage *s = next_below(&e->root, &e->root); s; s = next_below(s, &e->root)) {
        *last = s;
        last = &s->next_dead;
    }
    *last = NULL;
    while (dead) {
        stage *next = dead->next_dead;
        hr__stage_free(dead);
        dead = next;
    }
}

/* ---- one unit ---- */

static void tell_reader(stage *s)
{
    stage *reader = s->reader;
    if (reader->blocked_on == s) reader->blocked_on = NULL;
    hr__stage_moves(reader);
    if (reader == &s->engine->root) hr__engine_wake_consumer(s->engine);
}

static hr_work *worker_of(engine *e, int thread)
{
    hr_work *w = e->work[thread];
    if (w) return w;
    w = e->work[thread] = hr_calloc(1, sizeof *w);
    if (w) *w = (hr_work){.engine = e, .thread = thread};
    return w;
}

/* When a unit was begun, planned and done. */
typedef struct unit_times {
    bool sampled; /* and what the thread had used and slept by then */
    uint64_t at[3];
    usage used[3];
} unit_times;

static void note_moment(unit_times *t, int moment)
{
    t->at[moment] = uv_hrtime();
    if (t->sampled) t->used[moment] = hr__thread_usage();
}

static void note_asleep(asleep *total, const unit_times *t, int from)
{
    const uint64_t took = t->at[from + 1] - t->at[from];
    total->sampled_ns += took;
    total->asleep_ns += hr__asleep_ns(&t->used[from], &t->used[from + 1], took);
}

static void note_times(stage *s, const unit *u, const unit_times *at)
{
    stage_times *t = &s->times;
    t->plan_ns += at->at[1] - at->at[0];
    t->work_ns += at->at[2] - at->at[1];
    if (at->sampled) {
        note_asleep(&t->plan_asleep, at, 0);
        note_asleep(&t->work_asleep, at, 1);
    }
    t->units++;
    t->errors += u->error.code != HR_OK;
    if (!u->rows) return;
    t->elements += u->rows->c.elements;
    t->rows += u->rows->c.rows;
}

static int64_t power_below(int64_t n)
{
    int64_t power = 1;
    while (2 * power <= n) power *= 2;
    return power;
}

/* How many elements take about 100 us: less costs hand-overs, more gains nothing and makes others wait. Powers of two
 * that are slow to change, so that memory of one size serves again and again; but the first, which is there to see how
 * large an element is. */
static int64_t good_size(const stage *s, int64_t elements, uint64_t ns)
{
    enum { MANY_WORKS = 16, SECOND = 16 };
    const uint64_t good = UNIT_NS * (1 + (uint64_t)s->works / MANY_WORKS); /* some rows at once for each of them */
    const int64_t now = s->unit_elements, want = (int64_t)(good * (uint64_t)elements / (ns + 1));
    if (now == 1 && want >= SECOND && !s->top->groups) return SECOND;
    if (want >= 2 * now) return 2 * now;
    return want < now / 3 ? power_below(now / 2) : now;
}

/* A unit of large records is small, so that several fit into the budget: those that others read, or wait in a ring; and
 * records stay in the cache of the thread that has read them, which takes up next what is made of them, as a rule. Notes
 * how large rows are, for stages that begin. */
static int64_t max_by_bytes(engine *e, const rows *r, int64_t elements)
{
    enum { CACHED = 512 << 10 };
    const size_t bytes = hr__rows_size(r) + hr__strings_size(r), element = bytes / (size_t)elements + 1;
    if (r->c.rows > 0 && bytes / (size_t)r->c.rows > e->largest_row) e->largest_row = bytes / (size_t)r->c.rows;
    const int64_t fit = (int64_t)(hr__budget_of_unit(e) / element) + 1, cached = power_below(CACHED / element + 1);
    return fit < cached || !are_bare(&r->c) ? fit : cached;
}

/* A unit costs something for each operator of its plan and each input that is open, whatever its size: a smaller one
 * would take as long. That is shared by as many elements, four for an opened input. By the thread that plans. */
static int64_t plan_parts(const stage *s)
{
    int64_t parts = 0;
    for (const hr_plan *p = s->top; p; p = p->ds->inputs ? p->in[0]->node : NULL)
        parts += p->ins + 3 * (p->ins - p->ds->inputs);
    return parts;
}

/* Unless their work is slow, and slower than their plan. */
static int64_t min_size(const stage *s, int64_t elements, int64_t parts, uint64_t plan_ns, uint64_t work_ns)
{
    const uint64_t good = plan_ns > 4 * UNIT_NS ? plan_ns : 4 * UNIT_NS;
    const int64_t fast = (int64_t)(good * (uint64_t)elements / (work_ns + 1));
    if (s->top->groups && s->element_rows > 0) parts /= s->element_rows;
    return parts < fast ? parts : fast;
}

static void learn_size(stage *s, const unit *u, int64_t parts, uint64_t ns, uint64_t work_ns)
{
    engine *e = s->engine;
    if (u->elements == 0 || !u->rows || u->rows->c.elements == 0) return;
    /* Work may have dropped some of what was planned, or made many of one, as unbatch. */
    const int64_t elements = u->elements < u->rows->c.elements ? u->elements : u->rows->c.elements;
    s->element_rows = (u->rows->c.rows + elements - 1) / elements;
    int64_t size = good_size(s, u->elements, ns), max = parts > MAX_UNIT_ROWS ? parts : MAX_UNIT_ROWS;
    const int64_t min = min_size(s, u->elements, parts, ns - work_ns, work_ns);
    if (size < min || s->placeless) size = s->placeless ? max : min; /* what is read ahead is cut by bytes alone */
    const int64_t fit = max_by_bytes(e, u->rows, elements);
    if (fit < max) max = fit;
    if (e->unit_rows) size = max = e->unit_rows;
    if (s->top->groups && s->element_rows > 0) max = power_below(max / s->element_rows);
    if (size > max) size = max;
    s->unit_elements = size < 1 ? 1 : size;
}

static void note_trace(const stage *s, const unit *u, int64_t number, trace_unit t)
{
    const line l = hr__line_of(s);
    t.stage = l.kind;
    t.number = number;
    t.rows = u->rows ? u->rows->c.rows : 0;
    hr__trace_unit(s->engine->trace, &t);
}

/* The unit is there: works on it. The lock is held before and after. */
static void finish_unit(stage *s, unit *u, hr_work *w, int64_t parts, unit_times *at)
{
    engine *e = s->engine;
    const int64_t number = s->planned++;
    u->ready = false;
    s->full = stage_in_flight(s) >= s->window;
    s->was_full |= s->full;
    hr__stage_moves(s);
    hr__engine_wake(e);
    hr__engine_unlock(e);
    if (!engine_cancelled(e)) hr__unit_work(s, u, w);
    hr__engine_stall(e);
    note_moment(at, 2);
    const uint64_t start = at->at[0], planned = at->at[1], done = at->at[2];
    hr__engine_lock(e);
    hr__engine_note(e, &u->error);
    u->ready = !engine_cancelled(e);
    note_times(s, u, at);
    if (e->trace)
        note_trace(s, u, number, (trace_unit){.thread = w->thread, .start = start, .planned = planned, .done = done});
    if (u->ready && !u->error.code)
        learn_size(s, u, parts, done - start, done - planned); /* else rows may be missing */
    hr__budget_learn(s, u);
    if (u->ready && hr__stage_head_ready(s)) tell_reader(s);
}

static parts *schedule_begin(stage *s, hr_work *w)
{
    parts *returned = s->returns->list;
    s->returns->list = NULL;
    s->planning = true;
    s->planner = w;
    s->alone = s->blocked_on == &s->engine->shared.at; /* it was picked because nobody else can move */
    s->needed = s->blocked_on == &s->engine->shared.turn;
    s->blocked_on = NULL;
    s->shared_changes = s->engine->shared.changes;
    s->plan_room = s->engine->unit_rows && !s->top->groups ? s->engine->unit_rows : s->unit_elements;
    s->busy++;
    hr__stage_moves(s);
    return returned;
}

enum { SAMPLED_UNITS = 16 }; /* of so many one tells how long its thread slept: to ask costs some hundred ns */

static void plan_and_work(stage *s, hr_work *w)
{
    engine *e = s->engine;
    parts *returned = schedule_begin(s, w);
    const size_t reserved = s->unit_bytes;
    e->reserved += reserved;
    hr__engine_wake(e);
    hr__engine_unlock(e);

    hr__engine_stall(e);
    unit_times at = {.sampled = s->times.units % SAMPLED_UNITS == 0};
    note_moment(&at, 0);
    const hr_status planned = hr__stage_plan(s, returned);
    note_moment(&at, 1);
    const int64_t parts = plan_parts(s);

    hr__engine_lock(e);
    s->planning = false;
    s->ended = s->top->ended;
    if (planned == HR_OK) {
        finish_unit(s, hr__stage_unit(s, s->planned), w, parts, &at);
    } else {
        s->times.plan_ns += at.at[1] - at.at[0];
        s->times.waits += planned == HR_WAIT;
        const bool awaits = planned == HR_WAIT && (s->waits_for == &e->shared.at || s->waits_for == &e->shared.turn);
        const bool came = awaits && e->shared.changes != s->shared_changes; /* after the plan had looked */
        const bool waits = planned == HR_WAIT && !came && !engine_cancelled(e);
        if (waits && !hr__stage_head_ready(s->waits_for) && !hr__stage_is_over(s->waits_for)) {
            s->blocked_on = s->waits_for;
            e->shared.awaited |= awaits;
            hr__stage_starves(s->waits_for);
        }
    }
    hr__stage_moves(s);
    if (hr__stage_is_over(s)) tell_reader(s);
    if (e->no_memory) hr__engine_wake_consumer(e);
    e->reserved -= reserved;
    s->busy--;
}

bool hr__engine_run_one(engine *e, int thread)
{
    stage *s = hr__engine_pick(e);
    hr_work *w = s ? worker_of(e, thread) : NULL;
    if (s && !w) {
        e->no_memory = true;
        hr__engine_wake_consumer(e);
    }
    hr__engine_note_idle(e, s);
    if (!w) return false;
    plan_and_work(s, w);
    if (e->severed) hr__engine_sweep(e);
    return true;
}
