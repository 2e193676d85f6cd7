/* Stages: cutting the chain where it must be cut. A stage and the nodes and inputs in it come into being when they are
 * first pulled. */
#include "data/exec/engine.h"
#include "data/exec/token.h"
#include <string.h>

/* What a unit is at first, until there is something to measure; of batches, it is one. */
enum { FIRST_ELEMENTS = 16, FIRST_BYTES = 64 << 10 };

/* A window of the engine's choice may become so many times its first size: more takes memory, and leaves the cache. */
enum { GROWTH = 2 };

/* ---- cutting ---- */

hr_plan *hr__plan_node_new(stage *s, hr_plan *above, int above_input, hr_dataset *ds, hr_dataset *below,
                           const hr_settings *settings)
{
    hr_plan *p = hr_calloc(1, sizeof *p);
    if (!p) return NULL;
    *p = (hr_plan){.stage = s,
                   .above = above,
                   .above_input = above_input,
                   .ds = ds,
                   .below = below,
                   .settings = *settings,
                   .below_settings = *settings,
                   .groups = ds->op->traits & HR_GROUPS_ROWS,
                   .fill_rows = 512};
    p->below_settings.group = 0;
    p->state = hr_calloc(1, ds->op->state_size + 1);
    p->blob = hr_calloc(1, ds->op->unit_size + 1);
    p->in = hr_calloc((size_t)ds->inputs + 1, sizeof *p->in);
    bool done = p->state && p->blob && p->in;
    for (; done && p->ins < ds->inputs; p->ins++) {
        input *in = p->in[p->ins] = hr_calloc(1, sizeof *in);
        if (!in) done = false;
        if (!in) break;
        in->own = true;
    }
    if (done) return p;
    hr__plan_node_free(p);
    return NULL;
}

void hr__input_clear(input *in)
{
    hr__log_clear(in);
    hr__token_unref(in->before);
    hr_free(in->error);
    *in = (input){.own = in->own};
}

/* The units at hand are given up while their spans are still counted here: once this stage is gone, what it made of
 * them is counted by other threads. */
void hr__plan_node_free(hr_plan *p)
{
    if (!p) return;
    if (p->opened && p->ds->op->close) p->ds->op->close(p->state);
    hr__shared_leave(p);
    for (int i = 0; i < p->ins; i++) {
        hr__plan_node_free(p->in[i]->node);
        if (p->in[i]->head) hr__unit_clear(p->in[i]->head);
        hr__input_clear(p->in[i]);
        hr_free(p->in[i]);
    }
    for (int i = 0; i < p->saves; i++) hr__input_clear(&p->saved[i]);
    hr__holder_drop(p);
    hr__element_drop(p->element);
    for (int64_t i = p->taken; i < p->outs; i++) hr_span_drop(p->out[i]);
    hr__rows_drop(p->filling);
    hr_free(p->saved), hr_free(p->in), hr_free(p->closed_input), hr_free(p->out), hr_free(p->blob), hr_free(p->state);
    hr_free(p);
}

void hr__plan_node_fail(hr_plan *p, const hr_error *err)
{
    hr__engine_note(p->stage->engine, err);
    if (!p->error.code) p->error = *err;
}

void hr__plan_node_no_memory(hr_plan *p)
{
    hr_error err;
    hr_no_memory(&err, "a plan");
    hr__plan_node_fail(p, &err);
}

/* What the operator sets; numbers that are none leave it to the engine. */
static void stage_settle(const hr_dataset *ds, hr_settings *settings)
{
    if (ds->op->settings) ds->op->settings(ds->spec, settings);
    if (settings->window < 0) settings->window = 0;
    if (settings->group < 0) settings->group = 0;
}

/* What stands between two operators that plan: prefetch and options change settings and nothing else. */
static hr_dataset *pass_settings(hr_dataset *ds, hr_settings *settings)
{
    while (ds->op->traits & HR_PASSES_ROWS) {
        stage_settle(ds, settings);
        ds = ds->in[0];
    }
    return ds;
}

/* From an operator that ignores errors downwards they end here; above it, work fails as ever. */
static bool add_op(stage *s, hr_dataset *ds, const hr_settings *settings)
{
    hr_settings own = *settings;
    stage_settle(ds, &own);
    s->unordered |= own.unordered || own.stage_unordered;
    if (ds->op->traits & HR_IGNORES_ERRORS) s->ignores = ds;
    s->numbered |= (ds->op->traits & HR_RANDOM_ROWS) != 0;
    if (!ds->op->work) return true;
    if (s->works == s->work_capacity) {
        const int capacity = s->work_capacity ? 2 * s->work_capacity : 4;
        applied *grown = hr_realloc(s->work, (size_t)capacity * sizeof *grown);
        if (!grown) return false;
        s->work = grown;
        s->work_capacity = capacity;
    }
    memmove(s->work + 1, s->work, (size_t)s->works++ * sizeof *s->work);
    s->work[0] = (applied){ds, *settings, s->ignores};
    return true;
}

/* A stage is the work operators from `ds` down to the first plan operator, and that one. If it only groups rows, work
 * below it that goes row by row is done above it instead: map-then-batch runs as batch-then-map; not where errors are
 * ignored, since then a row that fails is to leave no gap in its batch. */
bool hr__stage_cut(stage *s, hr_settings settings)
{
    hr_dataset *ds = pass_settings(s->ds, &settings);
    bool fits = true;
    for (; !ds->op->plan; ds = pass_settings(ds->in[0], &settings)) fits &= add_op(s, ds, &settings);
    s->window = (int)settings.window;
    s->group = settings.group;
    s->unordered |= settings.unordered || settings.stage_unordered;
    settings.window = settings.group = 0;
    settings.stage_unordered = false;
    const hr_settings own = settings;
    hr_dataset *below = ds->inputs ? ds->in[0] : NULL;
    fits = fits && add_op(s, ds, &own);
    while (fits && (ds->op->traits & (HR_GROUPS_ROWS | HR_SEES_ROWS)) == HR_GROUPS_ROWS && !s->ignores) {
        hr_settings there = settings;
        hr_dataset *next = pass_settings(below, &there);
        if (next->op->plan || !(next->op->traits & HR_ROW_BY_ROW)) break;
        fits = add_op(s, next, &there);
        below = next->in[0];
        settings = there;
    }
    s->top = fits ? hr__plan_node_new(s, NULL, 0, ds, below, &own) : NULL;
    if (!s->top) return false;
    s->top->top = true;
    s->top->below_settings = settings;
    hr_settings sets = {0}; /* how many elements it takes together, of the stage right below */
    stage_settle(ds, &sets);
    s->top->below_settings.group = sets.group;
    return true;
}

/* Of files read side by side each needs little ahead: what is read too early leaves the cache before it is used. */
static void set_window(stage *s, bool opened)
{
    const engine *e = s->engine;
    if (e->window) s->window = e->window;
    const bool tuned = s->window <= 0;
    if (tuned) s->window = opened && !s->top->ds->inputs ? 3 : 2 * (e->max_workers + 1) + 2;
    if (s->window > MAX_WINDOW) s->window = MAX_WINDOW;
    s->ring_units = tuned && s->window < MAX_WINDOW / GROWTH ? GROWTH * s->window : s->window;
    for (int i = 0; i < s->ring_units; i++) s->place[i] = (uint8_t)i;
}

bool hr__stage_make_ring(stage *s)
{
    s->ring = hr_calloc((size_t)s->ring_units, sizeof *s->ring);
    bool done = s->ring != NULL;
    for (int i = 0; done && i < s->ring_units; i++)
        done = (s->ring[i].blob = hr_calloc(1, s->top->ds->op->unit_size + 1)) != NULL;
    return done;
}

/* An operator above, in the reader's own stage, keeps single rows of what this stage gives. */
static bool rows_are_held(const hr_plan *puller, int input)
{
    for (; puller && puller->ds; input = puller->above_input, puller = puller->above)
        if (input == 0 && puller->ds->op->held_from) return true;
    return false;
}

/* No plan of the reader's looks at rows: not the one that pulls these, nor one that is given them in the same stage. */
static bool is_blind(const hr_plan *puller, int input)
{
    bool blind = puller->ds != NULL;
    for (; blind && puller; input = puller->above_input, puller = puller->above) {
        const hr_dataset *ds = puller->ds;
        blind = ds->op->traits & HR_MOVES_SPANS || (ds->op->traits & HR_MOVES_OPENED && input >= ds->inputs);
    }
    return blind;
}

static bool more_stages(engine *e, int depth)
{
    if (e->stages == e->stage_capacity) {
        const int capacity = e->stage_capacity ? 2 * e->stage_capacity : 8;
        stage **stages = hr_realloc(e->stage, (size_t)capacity * sizeof *stages);
        if (!stages) return false;
        e->stage = stages;
        e->stage_capacity = capacity;
    }
    if (depth < e->depths) return true;
    moving *deeper = hr_realloc(e->moving, ((size_t)depth + 1) * sizeof *deeper);
    if (!deeper) return false;
    memset(deeper + e->depths, 0, (size_t)(depth + 1 - e->depths) * sizeof *deeper);
    e->moving = deeper;
    e->depths = depth + 1;
    return true;
}

/* Before anything was seen rows may be of any size: of the first unit there is one, but of files alone, which are
 * cut by bytes. With the lock held. */
static int64_t first_elements(const engine *e, const stage *s)
{
    if (s->top->groups || s->top->ds->out.schema.levels > 0) return 1;
    const bool files = s->top->ds->op->files && (s->works == 0 || (s->works == 1 && s->work[0].ds == s->top->ds));
    if (files) return FIRST_ELEMENTS;
    if (e->largest_row == 0) return 1;
    const size_t fit = hr__budget_of_unit(e) / e->largest_row;
    return fit < 1 ? 1 : fit < FIRST_ELEMENTS ? (int64_t)fit : FIRST_ELEMENTS;
}

static bool add_stage(engine *e, stage *s)
{
    hr__engine_lock(e);
    const bool done = more_stages(e, s->depth);
    if (done) {
        stage *beside = s->reader->below;
        s->closed = s->reader->closed;
        if (!s->unit_elements) s->unit_elements = first_elements(e, s);
        if (s->unit_bytes < s->reader->input_bytes) s->unit_bytes = s->reader->input_bytes;
        e->stages_bytes += s->unit_bytes;
        s->beside = beside;
        if (beside) beside->before = s;
        s->reader->below = s;
        s->at = e->stages;
        e->stage[e->stages++] = s;
        hr__stage_moves(s);
        e->wake_worker = e->begun;
    }
    hr__engine_unlock(e);
    return done;
}

/* How many rows an element of batches has, as far as batches are of fixed sizes. */
static int64_t rows_of_element(const hr_dataset *ds)
{
    enum { UNKNOWN = 64 };
    int64_t rows = 1;
    for (; ds && ds->out.schema.levels > 0 && rows < TOKEN_ROWS; ds = ds->inputs ? ds->in[0] : NULL) {
        hr_settings sets = {0};
        if (!(ds->op->traits & HR_GROUPS_ROWS)) continue;
        stage_settle(ds, &sets);
        rows *= sets.group > 0 && sets.group < TOKEN_ROWS ? sets.group : sets.group ? TOKEN_ROWS : UNKNOWN;
    }
    return rows;
}

/* The elements between two tokens: a function of the pipeline and its options alone. Of inputs that may be many, such as
 * files read side by side, fewer: each has some to plan again after a restore. */
static int64_t token_distance(const stage *s, bool one_of_many)
{
    const int64_t usual = one_of_many ? TOKEN_ROWS / 4 : TOKEN_ROWS, given = s->engine->unit_rows;
    const int64_t rows = given > 0 && given < usual ? given : usual, apart = rows / rows_of_element(s->ds);
    if (apart < 1) return 1;
    return s->group > 1 && apart > s->group ? apart / s->group * s->group : apart;
}

stage *hr__stage_new(hr_plan *puller, int input, hr_dataset *ds, uint64_t path, token *from)
{
    stage *reader = puller->stage, *s = hr_calloc(1, sizeof *s);
    if (!s) {
        hr_dataset_unref(ds);
        hr__token_unref(from);
        return NULL;
    }
    *s = (stage){.engine = reader->engine,
                 .reader = reader,
                 .ds = ds,
                 .depth = reader->depth + 1,
                 .path = path,
                 .opened_at = uv_hrtime(),
                 .from = from,
                 .start = puller->in[input]->start,
                 .sole = puller->in[input]->sole,
                 .cells = rows_are_held(puller, input),
                 .blind = is_blind(puller, input)};
    const bool joined = reader->ignores && reader->top->ds->op->traits & HR_JOINS_ROWS;
    s->ignores = joined ? NULL : reader->ignores; /* zip's inputs stay in step */
    s->returns = hr__returns_new(s->engine);
    s->writer = hr__token_writer_new();
    bool done = s->returns && s->writer && hr__stage_cut(s, puller->below_settings);
    if (done) {
        set_window(s, puller->ds && input >= puller->ds->inputs);
        s->numbered |= reader->numbered && reader->top->groups;
        if (puller->ds && input >= puller->ds->inputs) s->unit_elements = puller->opened_elements;
        s->unit_bytes = s->top->ds->inputs ? FIRST_BYTES : s->engine->unit_size;
        s->placeless = puller->ds && puller->ds->op->traits & HR_KNOWS_ITS_PLACE; /* nobody asks where it is */
        const bool one_of_many = puller->ds && input >= puller->ds->inputs && ds != puller->ds->in[0];
        s->apart = s->tell_at = s->placeless ? HR_LARGEST_COUNT : token_distance(s, one_of_many);
        s->told = true;
        done = add_stage(s->engine, s);
    }
    if (done) return s;
    hr__stage_free(s);
    return NULL;
}

void hr__unit_clear(unit *u)
{
    hr__rows_drop(u->rows);
    hr__parts_return(u->parts);
    hr__token_unref(u->before);
    hr__token_unref(u->after);
    u->before = NULL;
    u->rows = NULL;
    u->parts = NULL;
    u->after = NULL;
    u->started = u->last = u->partial = u->ignored = false;
    u->error.code = HR_OK;
}

void hr__stage_free(stage *s)
{
    hr__plan_node_free(s->top);
    for (int i = 0; s->ring && i < s->ring_units; i++) {
        hr__unit_clear(&s->ring[i]);
        hr_free(s->ring[i].blob);
        hr_free(s->ring[i].cut);
    }
    if (s->returns) hr__returns_close(s->returns);
    hr__token_unref(s->from);
    hr__token_writer_free(s->writer);
    hr_free(s->ring);
    hr_free(s->work);
    hr_dataset_unref(s->ds);
    hr_free(s);
}

/* Plan operators pass rows on as they are; a batch's rows are those of what it is really pulled from. */
const hr_dataset *hr__stage_shape(const stage *s) { return s->top->groups ? s->top->below : s->top->ds; }

/* ---- the inputs of a node ---- */

static hr_dataset *stage_own_dataset(const hr_plan *p, int i) { return i == 0 ? p->below : p->ds->in[i]; }

/* Work must be done before anybody sees the rows; it gathers what was grouped or joined; how much each input of a zip
 * has at hand must be known. Those are stages; any other operator that only plans is called directly. */
bool hr__dataset_is_node(const hr_dataset *ds, const hr_dataset *below)
{
    return below->op->plan && !below->op->work && !(below->op->traits & (HR_GROUPS_ROWS | HR_JOINS_ROWS)) &&
           !(ds->op->traits & HR_JOINS_ROWS);
}

bool hr__input_is_node(const hr_plan *p, int i) { return hr__dataset_is_node(p->ds, stage_own_dataset(p, i)); }

bool hr__input_open_own(hr_plan *p, int i)
{
    input *in = p->in[i];
    hr_dataset *below = stage_own_dataset(p, i);
    if (hr__input_is_node(p, i)) {
        in->node = hr__plan_node_new(p->stage, p, i, below, below->inputs ? below->in[0] : NULL, &p->below_settings);
        return in->node != NULL;
    }
    uint64_t path = p->stage->path; /* the first input continues with the key of the stage */
    if (i > 0) path = hr_random(hr_random(path, (uint64_t)p->ds->place), -(uint64_t)i);
    hr__token_ref(in->before);
    in->sole = p->stage->sole;
    in->stage = hr__stage_new(p, i, hr_dataset_ref(below), path, in->before);
    return in->stage != NULL;
}
