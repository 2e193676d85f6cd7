/* Tokens and the numbers in them. */
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
    hr_free(w);
}

static unsigned char *token_reserve(hr_token_writer *w, size_t size)
{
    if (w->size + size > w->room) {
        const size_t room = 2 * w->room + size + 64;
        unsigned char *data = hr_realloc(w->data, room);
        if (!data) {
            w->failed = true;
            return NULL;
        }
        w->data = data;
        w->room = room;
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
    if (w->links == w->link_room) {
        const int room = w->link_room ? 2 * w->link_room : 4;
        token_link *grown = hr_realloc(w->link, (size_t)room * sizeof *grown);
        if (!grown) {
            w->failed = true;
            return;
        }
        w->link = grown;
        w->link_room = room;
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
    if (t) *r = (hr_token_reader){token_bytes(t), token_bytes(t) + t->size};
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
    *nested = (hr_token_reader){r->at, r->at + size};
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
