/* The operator kit for plan: what an opening draws by, and the inputs that an operator opens and closes as it
 * goes. */
#include "data/exec/engine.h"
#include <inttypes.h>
#include <string.h>

/* ---- op.h: randomness, options ---- */

uint64_t hr_plan_key(const hr_plan *p, uint64_t seed, bool same_each_epoch)
{
    engine *e = p->stage->engine;
    if (!seed) seed = p->settings.seed;
    if (!seed) seed = hr__engine_seed(e);
    return hr_random(hr_random(same_each_epoch ? 0 : p->stage->path, seed), (uint64_t)p->ds->place);
}

bool hr_plan_tf_compat(const hr_plan *p) { return p->settings.tf_compat; }
bool hr_plan_unordered(const hr_plan *p, bool own)
{
    return (own || p->settings.unordered) && !p->stage->engine->restored;
}

void hr_plan_disordered(hr_plan *p)
{
    hr__engine_lock(p->stage->engine);
    p->stage->engine->disordered = true;
    hr__engine_unlock(p->stage->engine);
}

/* ---- op.h: inputs that come and go ---- */

/* Where one was closed, the last one of those first; else a new place. */
static int free_input(hr_plan *p)
{
    if (p->closed_inputs > 0) return p->closed_input[--p->closed_inputs];
    if (p->ins >= p->in_capacity) {
        const int capacity = 2 * p->ins + 4;
        input **in = hr_realloc(p->in, (size_t)capacity * sizeof *in);
        if (in) p->in = in;
        int *closed = in ? hr_realloc(p->closed_input, (size_t)capacity * sizeof *closed) : NULL;
        if (!closed) return -1;
        p->closed_input = closed;
        p->in_capacity = capacity;
    }
    input *in = hr_calloc(1, sizeof *in);
    if (!in) return -1;
    p->in[p->ins] = in;
    return p->ins++;
}

static input take_saved(hr_plan *p, int64_t number)
{
    input found = {.number = number};
    for (int i = 0; i < p->saves; i++) {
        if (p->saved[i].number != number) continue;
        found = p->saved[i];
        p->saved[i] = p->saved[--p->saves];
        break;
    }
    return found;
}

static uint64_t path_below(uint64_t from, int64_t place, int64_t number)
{
    return hr_random(hr_random(from, (uint64_t)place), (uint64_t)number + 1);
}

static uint64_t opened_path(const hr_plan *p, int64_t number)
{
    return path_below(p->ds->op->traits & HR_SAME_EACH_OPENING ? hr__shared_key(p) : p->stage->path, p->ds->place,
                      number);
}

/* A repeat has the place above its input, and counts from 0. */
uint64_t hr__epoch_path(const hr_dataset *ds, int64_t epoch)
{
    return epoch > 0 ? path_below(0, ds->place + 1, epoch - 1) : 0;
}

/* What is wrong with a dataset becomes the error of its input, which comes out when its turn comes, not when it happens
 * to be opened. */
static bool check_opened(hr_plan *p, const input *in, const hr_dataset *ds, hr_error *err)
{
    if (ds->error.code)
        *err = ds->error;
    else if (!(p->ds->op->traits & HR_KNOWS_ITS_PLACE) && !hr_schema_equal(&ds->out.schema, &p->ds->out.schema))
        hr_fail(err, HR_INVALID_ARGUMENT, "input.schema",
                "%s: dataset %" PRId64 " has other components than the first one; make the function give one schema",
                p->ds->op->name, in->number);
    if (err->code && p->stage->ignores) hr__count(p->stage->engine, "ignored", 1);
    if (err->code && p->stage->ignores) hr__tell_ignored(p->stage->ignores, err);
    return err->code == HR_OK;
}

static void opening_open_input(hr_plan *p, int i, hr_dataset *ds)
{
    hr_error err;
    err.code = HR_OK;
    input *in = p->in[i];
    if (check_opened(p, in, ds, &err)) {
        hr__token_ref(in->before);
        in->stage = hr__stage_new(p, i, ds, opened_path(p, in->number), in->before);
        if (in->stage) return;
        hr_no_memory(&err, "a pipeline");
    } else
        hr_dataset_unref(ds);
    in->error = hr_malloc(sizeof *in->error);
    if (in->error)
        *in->error = err;
    else
        hr__plan_node_no_memory(p);
}

int hr_input_open(hr_plan *p, hr_dataset *ds, int64_t number)
{
    const bool sole = ds ? hr__shared_is_sole(ds) : p->stage->sole;
    int i = free_input(p);
    if (!ds) ds = hr_dataset_ref(p->ds->in[0]);
    if (i < 0) {
        hr_dataset_unref(ds);
        hr__plan_node_no_memory(p);
        return 0; /* every pull of this operator ends now, and brings that error */
    }
    *p->in[i] = take_saved(p, number);
    p->in[i]->open = true;
    p->in[i]->sole = sole;
    opening_open_input(p, i, ds);
    return i;
}

void hr_input_close(hr_plan *p, int i)
{
    engine *e = p->stage->engine;
    input *in = p->in[i];
    if (i < p->ds->inputs || !in->open) return;
    if (in->head) hr__unit_clear(in->head); /* here, where its spans are counted; its stage goes on any thread */
    hr__engine_lock(e);
    if (in->stage) p->opened_elements = in->stage->unit_elements;
    if (in->stage) hr__engine_sever(in->stage);
    hr__engine_sweep(e);
    hr__engine_unlock(e);
    hr__input_clear(in);
    p->closed_input[p->closed_inputs++] = i;
}

/* What is open ahead may fill a quarter of the budget. */
int hr_plan_spare_threads(const hr_plan *p, size_t bytes)
{
    const engine *e = p->stage->engine;
    const size_t fit = e->budget / 4 / (bytes + 1);
    if (p->stage->ignores || p->settings.unordered || p->stage->unordered) return 0;
    return fit < (size_t)e->max_workers ? (int)fit : e->max_workers;
}

bool hr_input_ending(const hr_plan *p, int i)
{
    const input *in = p->in[i];
    if (!in->stage) return !in->node || in->node->ended;
    hr__engine_lock(p->stage->engine);
    bool ending = in->stage->ended;
    hr__engine_unlock(p->stage->engine);
    return ending;
}
