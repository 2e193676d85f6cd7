/* Tokens: objects that are shared, the numbers in them, and the log of where units of an input began. */
#include "data/exec/engine.h"
#include "data/exec/token.h"
#include <string.h>

/* ---- references ---- */

void hr__token_give_back(engine *e, void *bytes)
{
    hr__store_put_blocks(&e->store, (block *)((char *)bytes - BLOCK_HEAD));
}

void hr__token_ref(token *t)
{
    if (t) atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
}

static void drop_links(token_link *link, int links)
{
    for (int i = 0; i < links; i++) {
        hr__token_unref(link[i].to);
        hr__log_unref(link[i].log);
    }
}

void hr__token_unref(token *t)
{
    if (!t || !unref(&t->refs)) return;
    drop_links(t->link, t->links);
    hr__token_give_back(t->engine, t);
}

/* ---- writing ---- */

hr_token_writer *hr__token_writer_new(void) { return hr_calloc(1, sizeof(hr_token_writer)); }

void hr__token_writer_free(hr_token_writer *w)
{
    if (!w) return;
    drop_links(w->link, w->links);
    hr_free(w->data);
    hr_free(w->link);
    hr_free(w->opened);
    hr_free(w);
}

static unsigned char *token_reserve(hr_token_writer *w, size_t size)
{
    if (w->size + size > w->capacity) {
        const size_t capacity = 2 * w->capacity + size + 64;
        unsigned char *data = hr_realloc(w->data, capacity);
        if (!data) {
            w->failed = true;
            return NULL;
        }
        w->data = data;
        w->capacity = capacity;
    }
    return w->data + w->size;
}

void hr__token_bytes(hr_token_writer *w, const void *bytes, size_t size)
{
    unsigned char *to = token_reserve(w, size);
    if (!to) return;
    if (size) memcpy(to, bytes, size);
    w->size += size;
}

/* Zigzag, then seven bits a byte. */
void hr_write_i64(hr_token_writer *w, int64_t value)
{
    uint64_t left = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    unsigned char *to = token_reserve(w, 10);
    if (!to) return;
    for (; left > 127; left >>= 7, w->size++) *to++ = (unsigned char)(left | 128);
    *to = (unsigned char)left;
    w->size++;
}

void hr__token_link(hr_token_writer *w, token_link link)
{
    if (w->links == w->link_capacity) {
        const int capacity = w->link_capacity ? 2 * w->link_capacity : 4;
        token_link *grown = hr_realloc(w->link, (size_t)capacity * sizeof *grown);
        if (!grown) {
            w->failed = true;
            return;
        }
        w->link = grown;
        w->link_capacity = capacity;
    }
    link.at = (uint32_t)w->size;
    hr__token_ref(link.to);
    if (link.log) hr__log_ref(link.log);
    w->link[w->links++] = link;
}

/* Empties the writer for its next use. NULL: no memory, then or before. */
token *hr__token_new(engine *e, hr_token_writer *w)
{
    const size_t links = (size_t)w->links * sizeof *w->link;
    block *b = w->failed ? NULL : hr__store_block(&e->store, sizeof(token) + links + w->size);
    token *t = b ? (token *)(void *)block_bytes(b) : NULL;
    if (t) {
        atomic_init(&t->refs, 1);
        t->engine = e;
        t->links = w->links;
        t->size = (uint32_t)w->size;
        if (links) memcpy(t->link, w->link, links);
        if (w->size) memcpy(token_bytes(t), w->data, w->size);
    } else
        drop_links(w->link, w->links);
    w->links = 0;
    w->size = 0;
    w->failed = false;
    return t;
}

token *hr__token_from_bytes(engine *e, const unsigned char *bytes, size_t size)
{
    hr_token_writer *w = hr__token_writer_new();
    if (w) hr__token_bytes(w, bytes, size);
    token *t = w ? hr__token_new(e, w) : NULL;
    hr__token_writer_free(w);
    return t;
}

/* ---- reading ---- */

void hr__token_reader_init(hr_token_reader *r, const token *t)
{
    *r = (hr_token_reader){0};
    if (t) *r = (hr_token_reader){token_bytes(t), token_bytes(t) + t->size, t->engine};
}

hr_status hr__state_damaged(hr_error *err)
{
    return hr_fail(err, HR_DATA_LOSS, "state.damaged",
                   "saved state: expected one that hr_iterator_save made, got one that is cut or changed");
}

hr_status hr_read_i64(hr_token_reader *r, int64_t *value, hr_error *err)
{
    uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) return hr__state_damaged(err);
        const unsigned char byte = *r->at++;
        bits |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *value = (int64_t)(bits >> 1 ^ -(bits & 1));
            if (r->engine && r->engine->change) *value = r->engine->change(*value, r->engine->change_user);
            return HR_OK;
        }
    }
    return hr__state_damaged(err);
}

hr_status hr__token_nested(hr_token_reader *r, hr_token_reader *nested, hr_error *err)
{
    int64_t size = 0;
    HR_TRY(hr_read_i64(r, &size, err));
    if (size < 0 || size > r->end - r->at) return hr__state_damaged(err);
    *nested = (hr_token_reader){r->at, r->at + size, r->engine};
    r->at += size;
    return HR_OK;
}

hr_status hr__token_read(engine *e, hr_token_reader *r, token **out, hr_error *err)
{
    hr_token_reader nested = {0};
    *out = NULL;
    HR_TRY(hr__token_nested(r, &nested, err));
    if (nested.at == nested.end) return HR_OK;
    *out = hr__token_from_bytes(e, nested.at, (size_t)(nested.end - nested.at));
    return *out ? HR_OK : hr_no_memory(err, "a saved state");
}

/* ---- the log of what is held: where each unit of an input began, back to the oldest element that its reader still
 * needs ---- */

enum { LOG_LIMIT = 64 };

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
bool hr__log_add(hr_plan *p, input *in, token *before)
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
    return hr__log_add(p, in, in->before);
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
void hr__log_trim(hr_plan *p, input *in)
{
    if (in->log_limit < LOG_LIMIT) in->log_limit = LOG_LIMIT;
    if (in->logs < in->log_limit || !p->opened) return;
    log_entry *keep = hr__log_ref(hr__log_entry_for(in->oldest, p->ds->op->held_from(p->ds->spec, p->state)));
    for (log_entry *l = in->oldest; l != keep; l = atomic_load_explicit(&l->next, memory_order_relaxed)) in->logs--;
    hr__log_unref(in->oldest);
    in->oldest = keep;
    in->log_limit = 4 * in->logs;
}
