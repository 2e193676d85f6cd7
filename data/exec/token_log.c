/* The log of what is held: where each unit of an input began, back to the oldest element that its reader still
 * needs. */
#include "data/exec/engine.h"
#include "data/exec/token.h"

enum { LOG_LIMIT = 256 };

static void holder_unref(holder *h)
{
    if (!h || !unref(&h->refs)) return;
    hr_dataset_unref(h->ds);
    hr_free(h);
}

void hr__log_unref(log_entry *l)
{
    while (l && unref(&l->refs)) {
        log_entry *next = atomic_load_explicit(&l->next, memory_order_acquire);
        hr__token_unref(l->before);
        holder_unref(l->holder);
        hr__token_give_back(l->engine, l);
        l = next;
    }
}

log_entry *hr__log_ref(log_entry *l)
{
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    return l;
}

static holder *holder_of(hr_plan *p)
{
    if (p->holder) {
        atomic_fetch_add_explicit(&p->holder->refs, 1, memory_order_relaxed);
        return p->holder;
    }
    holder *h = hr_malloc(sizeof *h);
    if (!h) return NULL;
    *h = (holder){.ds = hr_dataset_ref(p->ds), .path = p->stage->path, .settings = p->settings};
    atomic_init(&h->refs, 2);
    return p->holder = h;
}

void hr__holder_drop(hr_plan *p) { holder_unref(p->holder); }

/* Takes `before`. */
static bool log_add(hr_plan *p, input *in, token *before)
{
    engine *e = p->stage->engine;
    block *b = hr__store_block(&e->store, sizeof(log_entry));
    holder *h = b ? holder_of(p) : NULL;
    if (!h) {
        hr__store_put_blocks(&e->store, b);
        hr__token_unref(before);
        return false;
    }
    log_entry *l = (void *)block_bytes(b);
    *l = (log_entry){.engine = e, .first = in->first, .before = before, .holder = h};
    atomic_init(&l->refs, 1);
    atomic_init(&l->next, NULL);
    if (in->newest)
        atomic_store_explicit(&in->newest->next, l, memory_order_release);
    else
        in->oldest = l;
    in->newest = l;
    in->logs++;
    return true;
}

bool hr__log_input(hr_plan *p, input *in)
{
    hr__token_ref(in->before);
    return log_add(p, in, in->before);
}

void hr__log_clear(input *in)
{
    hr__log_unref(in->oldest);
    in->oldest = in->newest = NULL;
    in->logs = 0;
}

log_entry *hr__log_entry_for(log_entry *l, int64_t element)
{
    for (log_entry *next; (next = atomic_load_explicit(&l->next, memory_order_acquire)) != NULL; l = next)
        if (next->first > element) break;
    return l;
}

/* Forgets what is older than everything held. Seldom: telling what is held takes its time. */
static void log_trim(hr_plan *p, input *in)
{
    if (in->log_limit < LOG_LIMIT) in->log_limit = LOG_LIMIT;
    if (in->logs < in->log_limit || !p->opened) return;
    log_entry *keep = hr__log_ref(hr__log_entry_for(in->oldest, p->ds->op->held_from(p->ds->spec, p->state)));
    for (log_entry *l = in->oldest; l != keep; l = atomic_load_explicit(&l->next, memory_order_relaxed)) in->logs--;
    hr__log_unref(in->oldest);
    in->oldest = keep;
    in->log_limit = 4 * in->logs;
}

static bool log_node(hr_plan *p, input *in)
{
    if (in->stage || (in->newest && in->newest->first == in->first)) return true;
    token *before = NULL;
    if (in->node) {
        hr__plan_node_save(in->node, p->stage->writer);
        before = hr__token_new(p->stage->engine, p->stage->writer);
        if (!before) return false;
    }
    return log_add(p, in, before);
}

bool hr__log_nodes(hr_plan *p)
{
    bool done = true;
    for (int i = 0; i < p->ds->inputs && done; i++)
        if (p->in[i]->node) done = hr__log_nodes(p->in[i]->node);
    if (!done || !p->ds->op->held_from || p->ended) return done;
    if (!log_node(p, p->in[0])) return false;
    if (p->in[0]->oldest) log_trim(p, p->in[0]);
    return true;
}
