#include "data/exec/token.h"
#include <string.h>

/* What is needed to ask an operator, long after it may have been closed, which elements a state of it still needs. */
typedef struct holder {
    atomic_int refs;
    hr_dataset *ds;
    uint64_t path;
    hr_settings settings;
} holder;

/* A place in an input: entries know the next newer one and keep it, so that who keeps one keeps all since. */
struct log_entry {
    atomic_int refs;
    engine *engine;
    _Atomic(log_entry *) next;
    int64_t first; /* number of the element that comes there */
    token *before; /* NULL: the start */
    holder *holder;
};

/* Where in a token's bytes another one stands: `to`, or the entry of `log` that the state's numbers, which begin at
 * `state`, ask for. */
typedef struct token_link {
    uint32_t at, state;
    token *to;
    log_entry *log;
} token_link;

struct token {
    atomic_int refs;
    engine *engine;
    int links;
    uint32_t size;
    token_link link[]; /* then the bytes */
};

struct hr_token_writer {
    unsigned char *data;
    size_t size, room;
    token_link *link;
    int links, link_room;
    bool failed;
};

/* ---- references ---- */

static unsigned char *token_bytes(const token *t) { return (unsigned char *)(t->link + t->links); }

static void give_back(engine *e, void *bytes) { store_put_blocks(&e->store, (block *)((char *)bytes - 64)); }

void token_ref(token *t)
{
    if (t) atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
}

static bool unref(atomic_int *refs) { return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1; }

static void holder_unref(holder *h)
{
    if (!h || !unref(&h->refs)) return;
    hr_dataset_unref(h->ds);
    hr_free(h);
}

static void log_unref(log_entry *l)
{
    while (l && unref(&l->refs)) {
        log_entry *next = atomic_load_explicit(&l->next, memory_order_acquire);
        token_unref(l->before);
        holder_unref(l->holder);
        give_back(l->engine, l);
        l = next;
    }
}

static log_entry *log_ref(log_entry *l)
{
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    return l;
}

static void drop_links(token_link *link, int links)
{
    for (int i = 0; i < links; i++) {
        token_unref(link[i].to);
        log_unref(link[i].log);
    }
}

void token_unref(token *t)
{
    if (!t || !unref(&t->refs)) return;
    drop_links(t->link, t->links);
    give_back(t->engine, t);
}

/* ---- writing ---- */

hr_token_writer *token_writer_new(void) { return hr_calloc(1, sizeof(hr_token_writer)); }

void token_writer_free(hr_token_writer *w)
{
    if (!w) return;
    drop_links(w->link, w->links);
    hr_free(w->data);
    hr_free(w->link);
    hr_free(w);
}

static unsigned char *reserve(hr_token_writer *w, size_t size)
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

static void write_bytes(hr_token_writer *w, const void *bytes, size_t size)
{
    unsigned char *to = reserve(w, size);
    if (!to) return;
    if (size) memcpy(to, bytes, size);
    w->size += size;
}

/* Zigzag, then seven bits a byte. */
void hr_write_i64(hr_token_writer *w, int64_t value)
{
    uint64_t left = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    unsigned char *to = reserve(w, 10);
    if (!to) return;
    for (; left > 127; left >>= 7, w->size++) *to++ = (unsigned char)(left | 128);
    *to = (unsigned char)left;
    w->size++;
}

static void add_link(hr_token_writer *w, token_link link)
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
    token_ref(link.to);
    if (link.log) log_ref(link.log);
    w->link[w->links++] = link;
}

/* Empties the writer for its next use. NULL: no memory, then or before. */
static token *writer_token(engine *e, hr_token_writer *w)
{
    const size_t links = (size_t)w->links * sizeof *w->link;
    block *b = w->failed ? NULL : store_block(&e->store, sizeof(token) + links + w->size);
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

token *token_from_bytes(engine *e, const unsigned char *bytes, size_t size)
{
    hr_token_writer *w = token_writer_new();
    if (w) write_bytes(w, bytes, size);
    token *t = w ? writer_token(e, w) : NULL;
    token_writer_free(w);
    return t;
}

/* ---- reading ---- */

void token_reader_init(hr_token_reader *r, const token *t)
{
    *r = (hr_token_reader){0};
    if (t) *r = (hr_token_reader){token_bytes(t), token_bytes(t) + t->size};
}

static hr_status damaged(hr_error *err)
{
    return hr_fail(err, HR_DATA_LOSS, "state.damaged", "saved state: expected more in it; it is cut or was changed");
}

hr_status hr_read_i64(hr_token_reader *r, int64_t *value, hr_error *err)
{
    uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) return damaged(err);
        const unsigned char byte = *r->at++;
        bits |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *value = (int64_t)(bits >> 1 ^ -(bits & 1));
            return HR_OK;
        }
    }
    return damaged(err);
}

static hr_status read_nested(hr_token_reader *r, hr_token_reader *nested, hr_error *err)
{
    int64_t size = 0;
    HR_TRY(hr_read_i64(r, &size, err));
    if (size < 0 || size > r->end - r->at) return damaged(err);
    *nested = (hr_token_reader){r->at, r->at + size};
    r->at += size;
    return HR_OK;
}

static hr_status read_token(engine *e, hr_token_reader *r, token **out, hr_error *err)
{
    hr_token_reader nested = {0};
    *out = NULL;
    HR_TRY(read_nested(r, &nested, err));
    if (nested.at == nested.end) return HR_OK;
    *out = token_from_bytes(e, nested.at, (size_t)(nested.end - nested.at));
    return *out ? HR_OK : hr_no_memory(err, "a saved state");
}

/* ---- positions ---- */

enum { NOT_KNOWN, IN_STAGE, IN_NODE, HELD, LOG_LIMIT = 256 };

static void node_save(hr_plan *p, hr_token_writer *to);

static int64_t used_elements(const input *in)
{
    return in->skip_to - in->first > in->next ? in->skip_to - in->first : in->next;
}

static void write_stage_position(const input *in, hr_token_writer *to)
{
    hr_write_i64(to, IN_STAGE);
    add_link(to, (token_link){.to = in->before});
    hr_write_i64(to, in->first);
    hr_write_i64(to, used_elements(in));
}

static void input_save_from(const input *in, bool held, size_t state, hr_token_writer *to)
{
    if (held && in->oldest) {
        hr_write_i64(to, HELD);
        add_link(to, (token_link){.log = in->oldest, .state = (uint32_t)state});
    } else if (in->node) {
        hr_write_i64(to, IN_NODE);
        hr_write_i64(to, in->first);
        node_save(in->node, to);
    } else if (in->known)
        write_stage_position(in, to);
    else
        hr_write_i64(to, NOT_KNOWN);
}

static bool worth_saving(const input *in) { return !in->own && in->stage && in->known; }

static void save_opened(hr_plan *p, hr_token_writer *to)
{
    int64_t opened = p->saves;
    for (int i = p->ds->inputs; i < p->ins; i++) opened += worth_saving(p->in[i]);
    hr_write_i64(to, opened);
    for (int i = 0; i < p->saves; i++) {
        hr_write_i64(to, p->saved[i].number);
        write_stage_position(&p->saved[i], to);
    }
    for (int i = p->ds->inputs; i < p->ins; i++) {
        if (!worth_saving(p->in[i])) continue;
        hr_write_i64(to, p->in[i]->number);
        write_stage_position(p->in[i], to);
    }
}

static void node_save(hr_plan *p, hr_token_writer *to)
{
    const size_t state = to->size;
    for (unsigned i = 0; i < p->ds->op->saved; i++) {
        int64_t number;
        memcpy(&number, (const char *)p->state + i * sizeof number, sizeof number);
        hr_write_i64(to, number);
    }
    if (p->ds->op->save) p->ds->op->save(p->state, to);
    for (int i = 0; i < p->ds->inputs; i++) input_save_from(p->in[i], i == 0 && p->ds->op->held_from, state, to);
    save_opened(p, to);
}

token *stage_token(stage *s)
{
    node_save(s->top, s->writer);
    if (s->numbered) hr_write_i64(s->writer, s->rows_planned);
    return writer_token(s->engine, s->writer);
}

/* ---- the log of what is held ---- */

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

void holder_drop(hr_plan *p) { holder_unref(p->holder); }

/* Takes `before`. */
static bool log_add(hr_plan *p, input *in, token *before)
{
    engine *e = p->stage->engine;
    block *b = store_block(&e->store, sizeof(log_entry));
    holder *h = b ? holder_of(p) : NULL;
    if (!h) {
        store_put_blocks(&e->store, b);
        token_unref(before);
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

bool log_input(hr_plan *p, input *in)
{
    token_ref(in->before);
    return log_add(p, in, in->before);
}

void log_clear(input *in)
{
    log_unref(in->oldest);
    in->oldest = in->newest = NULL;
    in->logs = 0;
}

static log_entry *entry_for(log_entry *l, int64_t element)
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
    log_entry *keep = log_ref(entry_for(in->oldest, p->ds->op->held_from(p->ds->spec, p->state)));
    for (log_entry *l = in->oldest; l != keep; l = atomic_load_explicit(&l->next, memory_order_relaxed)) in->logs--;
    log_unref(in->oldest);
    in->oldest = keep;
    in->log_limit = 4 * in->logs;
}

static bool log_node(hr_plan *p, input *in)
{
    if (in->stage || (in->newest && in->newest->first == in->first)) return true;
    token *before = NULL;
    if (in->node) {
        node_save(in->node, p->stage->writer);
        before = writer_token(p->stage->engine, p->stage->writer);
        if (!before) return false;
    }
    return log_add(p, in, before);
}

bool log_nodes(hr_plan *p)
{
    bool done = true;
    for (int i = 0; i < p->ins && done; i++)
        if (p->in[i]->node) done = log_nodes(p->in[i]->node);
    if (!done || !p->ds->op->held_from || p->ended) return done;
    if (!log_node(p, p->in[0])) return false;
    if (p->in[0]->oldest) log_trim(p, p->in[0]);
    return true;
}

/* ---- writing a tree of tokens out ---- */

static hr_status flatten(engine *e, const token *t, hr_token_writer *to, hr_error *err);

static hr_status write_nested(engine *e, const token *t, hr_token_writer *to, hr_error *err)
{
    hr_token_writer nested = {0};
    hr_status st = t ? flatten(e, t, &nested, err) : HR_OK;
    hr_write_i64(to, (int64_t)nested.size);
    write_bytes(to, nested.data, nested.size);
    to->failed |= nested.failed;
    hr_free(nested.data);
    return st;
}

/* Asks a copy of the operator's state, opened and loaded as after a restore. */
static hr_status ask_held_from(engine *e, const holder *h, hr_token_reader numbers, int64_t *held, hr_error *err)
{
    const hr_op *op = h->ds->op;
    stage scratch = {.engine = e, .path = h->path, .ds = h->ds};
    hr_plan p = {.stage = &scratch, .ds = h->ds, .settings = h->settings};
    p.state = hr_calloc(1, op->state_size + 1);
    if (!p.state) return hr_no_memory(err, "a saved state");
    hr_status st = op->open ? op->open(h->ds->spec, p.state, &p, err) : HR_OK;
    for (unsigned i = 0; i < op->saved && st == HR_OK; i++) {
        int64_t number = 0;
        st = hr_read_i64(&numbers, &number, err);
        if (st == HR_OK) memcpy((char *)p.state + i * sizeof number, &number, sizeof number);
    }
    if (st == HR_OK && op->load) st = op->load(h->ds->spec, p.state, &numbers, err);
    if (st == HR_OK) *held = op->held_from(h->ds->spec, p.state);
    if (op->close) op->close(p.state);
    hr_free(p.state);
    return st;
}

static hr_status write_link(engine *e, const token *t, const token_link *link, hr_token_writer *to, hr_error *err)
{
    if (!link->log) return write_nested(e, link->to, to, err);
    const hr_token_reader numbers = {token_bytes(t) + link->state, token_bytes(t) + link->at};
    int64_t held = 0;
    HR_TRY(ask_held_from(e, link->log->holder, numbers, &held, err));
    const log_entry *l = entry_for(link->log, held);
    hr_write_i64(to, l->first);
    return write_nested(e, l->before, to, err);
}

static hr_status flatten(engine *e, const token *t, hr_token_writer *to, hr_error *err)
{
    uint32_t at = 0;
    for (int i = 0; i < t->links; i++) {
        write_bytes(to, token_bytes(t) + at, t->link[i].at - at);
        at = t->link[i].at;
        HR_TRY(write_link(e, t, &t->link[i], to, err));
    }
    write_bytes(to, token_bytes(t) + at, t->size - at);
    return to->failed ? hr_no_memory(err, "a saved state") : HR_OK;
}

hr_status position_write(engine *e, input *in, unsigned char **bytes, size_t *size, hr_error *err)
{
    hr_token_writer to = {0};
    hr_write_i64(&to, in->first);
    hr_write_i64(&to, used_elements(in));
    hr_status st = write_nested(e, in->before, &to, err);
    if (st == HR_OK && to.failed) st = hr_no_memory(err, "a saved state");
    if (st == HR_OK) {
        *bytes = to.data;
        *size = to.size;
        return HR_OK;
    }
    hr_free(to.data);
    return st;
}

/* ---- loading ---- */

hr_status position_read(engine *e, input *in, hr_token_reader *from, hr_error *err)
{
    int64_t used = 0;
    HR_TRY(hr_read_i64(from, &in->first, err));
    HR_TRY(hr_read_i64(from, &used, err));
    HR_TRY(read_token(e, from, &in->before, err));
    in->skip_to = in->first + used;
    in->known = true;
    return HR_OK;
}

static hr_status load_held(hr_plan *p, int i, hr_token_reader *from, hr_error *err)
{
    hr_token_reader nested = {0};
    input *in = p->in[i];
    HR_TRY(hr_read_i64(from, &in->first, err));
    HR_TRY(read_nested(from, &nested, err));
    in->skip_to = in->first;
    in->known = true;
    if (nested.at == nested.end) return HR_OK;
    if (!input_is_node(p, i)) {
        in->before = token_from_bytes(p->stage->engine, nested.at, (size_t)(nested.end - nested.at));
        return in->before ? HR_OK : hr_no_memory(err, "a saved state");
    }
    if (!open_own(p, i)) return hr_no_memory(err, "a pipeline");
    return node_open(in->node, &nested, err);
}

static hr_status load_stage_position(hr_plan *p, input *in, hr_token_reader *from, hr_error *err)
{
    int64_t used = 0;
    HR_TRY(read_token(p->stage->engine, from, &in->before, err));
    HR_TRY(hr_read_i64(from, &in->first, err));
    HR_TRY(hr_read_i64(from, &used, err));
    in->skip_to = in->first + used;
    in->known = true;
    return HR_OK;
}

static hr_status load_own(hr_plan *p, int i, hr_token_reader *from, hr_error *err)
{
    int64_t kind = 0;
    HR_TRY(hr_read_i64(from, &kind, err));
    if (kind == NOT_KNOWN) return HR_OK;
    if (kind == HELD) return load_held(p, i, from, err);
    if (kind == IN_STAGE && !input_is_node(p, i)) return load_stage_position(p, p->in[i], from, err);
    if (kind != IN_NODE || !input_is_node(p, i)) return damaged(err);
    HR_TRY(hr_read_i64(from, &p->in[i]->first, err));
    if (!open_own(p, i)) return hr_no_memory(err, "a pipeline");
    return node_open(p->in[i]->node, from, err);
}

static hr_status load_opened(hr_plan *p, hr_token_reader *from, hr_error *err)
{
    int64_t opened = 0, kind = 0;
    HR_TRY(hr_read_i64(from, &opened, err));
    if (opened < 0 || opened > from->end - from->at) return damaged(err);
    p->saved = opened ? hr_calloc((size_t)opened, sizeof *p->saved) : NULL;
    if (opened && !p->saved) return hr_no_memory(err, "a saved state");
    while (p->saves < opened) {
        input *in = &p->saved[p->saves++];
        HR_TRY(hr_read_i64(from, &in->number, err));
        HR_TRY(hr_read_i64(from, &kind, err));
        if (kind != IN_STAGE) return damaged(err);
        HR_TRY(load_stage_position(p, in, from, err));
    }
    return HR_OK;
}

hr_status node_open(hr_plan *p, hr_token_reader *from, hr_error *err)
{
    const hr_op *op = p->ds->op;
    p->opened = true;
    if (op->open) HR_TRY(op->open(p->ds->spec, p->state, p, err));
    if (!from) return HR_OK;
    for (unsigned i = 0; i < op->saved; i++) {
        int64_t number = 0;
        HR_TRY(hr_read_i64(from, &number, err));
        memcpy((char *)p->state + i * sizeof number, &number, sizeof number);
    }
    if (op->load) HR_TRY(op->load(p->ds->spec, p->state, from, err));
    for (int i = 0; i < p->ds->inputs; i++) HR_TRY(load_own(p, i, from, err));
    return load_opened(p, from, err);
}
