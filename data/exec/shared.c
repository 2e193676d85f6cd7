/* What openings share: the memory of each dataset that asks for some, found by the dataset's address or by a name; who
 * waits for it; and the key of what is random below such a dataset. That key follows from what the dataset is, never
 * from where or when it was opened: all openings read the same rows. */
#include "base/fingerprint.h"
#include "data/exec/engine.h"
#include <string.h>

enum { FIRST_CHAINS = 16 };

/* ---- the table. With the lock held. ---- */

static shared **shared_chain(const shared_table *t, const hr_dataset *ds, const char *name)
{
    const uint64_t hash = name ? hr__fingerprint64_inline(name, strlen(name)) : hr_random((uint64_t)(uintptr_t)ds, 0);
    return &t->chain[hash & (t->chains - 1)];
}

static shared *shared_find(const shared_table *t, const hr_dataset *ds, const char *name)
{
    for (shared *s = t->chains ? *shared_chain(t, ds, name) : NULL; s; s = s->next)
        if (name ? s->name && strcmp(s->name, name) == 0 : !s->name && s->ds == ds) return s;
    return NULL;
}

static bool shared_table_grow(shared_table *t)
{
    if (t->count < t->chains) return true;
    shared_table grown = *t;
    grown.chains = t->chains ? 2 * t->chains : FIRST_CHAINS;
    grown.chain = hr_calloc(grown.chains, sizeof *grown.chain);
    if (!grown.chain) return false;
    for (uint64_t i = 0; i < t->chains; i++)
        for (shared *s = t->chain[i], *next; s; s = next) {
            shared **to = shared_chain(&grown, s->ds, s->name);
            next = s->next;
            s->next = *to;
            *to = s;
        }
    hr_free(t->chain);
    t->chain = grown.chain;
    t->chains = grown.chains;
    return true;
}

static bool shared_add(shared_table *t, shared *s)
{
    if (!shared_table_grow(t)) return false;
    shared **to = shared_chain(t, s->ds, s->name);
    s->next = *to;
    *to = s;
    t->count++;
    return true;
}

/* Takes out what is done with, of two chains: called with each addition, it goes round before the table has doubled.
 * While somebody else holds the dataset, as what can open it and rows of it do, it may have users again. */
static shared *shared_take_done(shared_table *t)
{
    shared *done = NULL;
    for (int i = 0; i < 2; i++) {
        shared **at = &t->chain[t->hand++ & (t->chains - 1)];
        while (*at) {
            shared *s = *at;
            if (s->users == 0 && atomic_load_explicit(&s->ds->refs, memory_order_acquire) == 1) {
                *at = s->next;
                s->next = done;
                done = s;
                t->count--;
            } else
                at = &s->next;
        }
    }
    return done;
}

/* ---- one of them. Without the lock. ---- */

static void shared_free(shared *s)
{
    while (s) {
        shared *next = s->next;
        if (s->data) s->unmake(s->data);
        hr_free(s->data);
        hr_free(s->name);
        hr_dataset_unref(s->ds);
        hr_free(s);
        s = next;
    }
}

/* `order`: 1, 2, ... of datasets that are alike in the iterator's own pipeline; 0: of one that a function gave. */
static shared *shared_new(hr_dataset *ds, const char *name, uint64_t order)
{
    shared *s = hr_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->name = name ? hr_strdup(name) : NULL;
    if (name && !s->name) return hr_free(s), NULL;
    s->ds = hr_dataset_ref(ds);
    s->key = hr_random(hr__dataset_identity(ds), name ? hr__fingerprint64_inline(name, strlen(name)) : order);
    return s;
}

/* Gives its data to all who share it; of two at once one comes too late. */
static void *shared_make(engine *e, shared *s, size_t size, bool (*make)(void *), void (*unmake)(void *))
{
    void *data = hr_calloc(1, size + 1);
    if (!data || !make(data)) return hr_free(data), NULL;
    hr__engine_lock(e);
    void *first = s->data;
    if (!first) {
        s->data = data;
        s->unmake = unmake;
    }
    hr__engine_unlock(e);
    if (!first) return data;
    unmake(data);
    hr_free(data);
    return first;
}

/* ---- op.h ---- */

static shared *shared_enter(hr_plan *p, const char *name)
{
    engine *e = p->stage->engine;
    hr__engine_lock(e);
    shared *s = shared_find(&e->shared, p->ds, name);
    if (s) s->users++;
    hr__engine_unlock(e);
    if (s) return s;

    shared *fresh = shared_new(p->ds, name, 0), *rest = fresh;
    if (!fresh) return NULL;
    hr__engine_lock(e);
    s = shared_find(&e->shared, p->ds, name);
    if (!s && shared_add(&e->shared, fresh)) {
        s = fresh;
        rest = shared_take_done(&e->shared);
    }
    if (s) s->users++;
    hr__engine_unlock(e);
    shared_free(rest);
    return s;
}

void *hr_plan_shared(hr_plan *p, const char *name, size_t size, bool (*make)(void *), void (*unmake)(void *))
{
    engine *e = p->stage->engine;
    if (!p->shared) p->shared = shared_enter(p, name);
    if (!p->shared) return NULL;
    hr__engine_lock(e);
    void *data = p->shared->data;
    hr__engine_unlock(e);
    return data ? data : shared_make(e, p->shared, size, make, unmake);
}

void hr__shared_leave(hr_plan *p)
{
    if (!p->shared) return;
    hr__engine_lock(p->stage->engine);
    p->shared->users--;
    hr__engine_unlock(p->stage->engine);
    p->shared = NULL;
}

uint64_t hr__shared_key(const hr_plan *p)
{
    return p->shared ? p->shared->key : hr_random(hr__dataset_identity(p->ds), 0);
}

/* ---- waiting ---- */

bool hr_plan_await_shared(hr_plan *p)
{
    if (p->stage->alone) return false;
    p->stage->waits_for = &p->stage->engine->shared.at;
    return true;
}

bool hr_plan_await_turn(hr_plan *p)
{
    const bool sole = p->stage->sole && !p->shared->name;
    if (sole || p->stage->needed) return false;
    p->stage->waits_for = &p->stage->engine->shared.turn;
    return true;
}

bool hr__shared_is_sole(const hr_dataset *ds)
{
    bool sole = atomic_load_explicit(&ds->refs, memory_order_acquire) == 1;
    for (int i = 0; i < ds->inputs && sole; i++) sole = hr__shared_is_sole(ds->in[i]);
    return sole;
}

static void shared_changed(engine *e)
{
    hr__engine_lock(e);
    hr__shared_changed(e);
    hr__engine_unlock(e);
}

void hr_plan_shared_changed(hr_plan *p) { shared_changed(p->stage->engine); }
void hr_work_shared_changed(hr_work *w) { shared_changed(w->engine); }

/* ---- the iterator's own pipeline ---- */

/* Datasets of it that are alike, such as two caches of shuffles side by side, are told apart by their order, top down:
 * they are to draw differently. `alike`: how many there are of that identity so far. */
static bool shared_open_one(engine *e, hr_dataset *ds, hr__map *alike)
{
    const uint64_t identity = hr__dataset_identity(ds);
    const int64_t *before = hr__map_find(alike, (const char *)&identity, sizeof identity);
    const int64_t order = before ? *before + 1 : 1;
    if (hr__map_set(alike, (const char *)&identity, sizeof identity, order, NULL) != HR_OK) return false;
    shared *s = shared_new(ds, NULL, (uint64_t)order);
    if (s && shared_add(&e->shared, s)) return true;
    shared_free(s);
    return false;
}

static bool shared_open_below(engine *e, hr_dataset *ds, hr__map *met, hr__map *alike)
{
    if (!ds->shares || hr__map_find(met, (const char *)&ds, sizeof ds)) return true;
    bool done = hr__map_add(met, (const char *)&ds, sizeof ds, 0, NULL) == HR_OK;
    if (done && ds->op->traits & HR_SAME_EACH_OPENING) done = shared_open_one(e, ds, alike);
    for (int i = 0; i < ds->inputs && done; i++) done = shared_open_below(e, ds->in[i], met, alike);
    return done;
}

bool hr__shared_open(engine *e, hr_dataset *ds)
{
    hr__map met = {0}, alike = {0};
    e->shared.at.engine = e->shared.turn.engine = e;
    const bool done = shared_open_below(e, ds, &met, &alike);
    hr__map_free(&met);
    hr__map_free(&alike);
    return done;
}

void hr__shared_close(engine *e)
{
    for (uint64_t i = 0; i < e->shared.chains; i++) shared_free(e->shared.chain[i]);
    hr_free(e->shared.chain);
}
