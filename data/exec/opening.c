/* The operator kit for plan: what an opening draws by and shares with others of its place, and the inputs that an
 * operator opens and closes as it goes. */
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

void hr__shared_free(shared *s)
{
    s->unmake(s->data);
    hr_free(s);
}

static shared *find_shared(const engine *e, uint64_t place)
{
    shared *found = e->shared;
    while (found && found->place != place) found = found->next;
    return found;
}

static shared *shared_new(size_t size, uint64_t place, bool (*make)(void *), void (*unmake)(void *))
{
    shared *fresh = hr_calloc(1, sizeof *fresh + size);
    if (!fresh) return NULL;
    fresh->place = place;
    fresh->unmake = unmake;
    if (make(fresh->data)) return fresh;
    hr_free(fresh);
    return NULL;
}

/* Made outside the lock: of two at once one comes too late, and goes. */
void *hr_plan_shared(hr_plan *p, size_t size, bool (*make)(void *), void (*unmake)(void *))
{
    engine *e = p->stage->engine;
    const uint64_t place = hr_random(p->stage->lasting, (uint64_t)p->ds->place);
    hr__engine_lock(e);
    shared *found = find_shared(e, place);
    hr__engine_unlock(e);
    if (found) return found->data;

    shared *fresh = shared_new(size, place, make, unmake);
    if (!fresh) return NULL;
    hr__engine_lock(e);
    found = find_shared(e, place);
    if (!found) {
        fresh->next = e->shared;
        e->shared = fresh;
    }
    hr__engine_unlock(e);
    if (found) hr__shared_free(fresh);
    return found ? found->data : fresh->data;
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

static int free_input(hr_plan *p)
{
    for (int i = p->ds->inputs; i < p->ins; i++)
        if (!p->in[i]->open) return i;
    input **grown = hr_realloc(p->in, ((size_t)p->ins + 1) * sizeof *grown);
    if (grown) p->in = grown;
    input *in = grown ? hr_calloc(1, sizeof *in) : NULL;
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

static opening opened_key(const hr_plan *p, int64_t number)
{
    const uint64_t place = (uint64_t)p->ds->place, next = (uint64_t)number + 1;
    opening key = {hr_random(hr_random(p->stage->path, place), next),
                   hr_random(hr_random(p->stage->lasting, place), next)};
    if (p->ds->op->traits & HR_OPENS_EPOCHS) key.lasting = p->stage->lasting;
    if (p->ds->op->traits & HR_SAME_EACH_EPOCH) key.path = key.lasting;
    return key;
}

/* A failed dataset becomes an input that ends with its error: when its turn comes, not when it happens to be opened. */
static void open_input(hr_plan *p, int i, hr_dataset *ds)
{
    input *in = p->in[i];
    if (ds->error.code)
        in->error = ds->error;
    else if (!hr__schema_equal(&ds->out.schema, &p->ds->out.schema))
        hr_fail(&in->error, HR_INVALID_ARGUMENT, "input.schema",
                "%s: dataset %" PRId64 " has other components than the first one; make the function give one schema",
                p->ds->op->name, in->number);
    if (in->error.code) {
        if (p->stage->ignores) hr__count(p->stage->engine, "ignored", 1);
        if (p->stage->ignores) hr__tell_ignored(p->stage->ignores, &in->error);
        hr_dataset_unref(ds);
        return;
    }
    hr__token_ref(in->before);
    in->stage = hr__stage_new(p, i, ds, opened_key(p, in->number), in->before);
    if (!in->stage) hr_no_memory(&in->error, "a pipeline");
}

int hr_input_open(hr_plan *p, hr_dataset *ds, int64_t number)
{
    int i = free_input(p);
    if (!ds) ds = hr_dataset_ref(p->ds->in[0]);
    if (i < 0) {
        hr_dataset_unref(ds);
        hr__plan_node_no_memory(p);
        return 0; /* every pull of this operator ends now, and brings that error */
    }
    *p->in[i] = take_saved(p, number);
    p->in[i]->open = true;
    open_input(p, i, ds);
    return i;
}

void hr_input_close(hr_plan *p, int i)
{
    engine *e = p->stage->engine;
    input *in = p->in[i];
    if (i < p->ds->inputs) return;
    if (in->head) hr__unit_clear(in->head); /* here, where its spans are counted; its stage goes on any thread */
    hr__engine_lock(e);
    if (in->stage) hr__engine_sever(in->stage);
    hr__engine_sweep(e);
    hr__engine_unlock(e);
    hr__input_clear(in);
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
