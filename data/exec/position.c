/* Nodes and inputs into tokens, a tree of tokens into the bytes of a saved state, and back. Saving and loading mirror
 * each other. What is loaded may be anything: each number has a range, and what an operator holds must be read again,
 * or the state is refused. */
#include "data/exec/engine.h"
#include "data/exec/token.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is known of an input. */
enum { NOT_KNOWN, IN_STAGE, IN_NODE, HELD };

/* ---- saving ---- */

int64_t hr__input_used(const input *in)
{
    return in->since + (in->skip_to - in->first > in->next ? in->skip_to - in->first : in->next);
}

/* The end came with the last unit, or after it. */
static bool stage_ended_well(stage *s)
{
    hr__engine_lock(s->engine);
    const bool over = hr__stage_is_over(s);
    hr__engine_unlock(s->engine);
    return over && !s->top->error.code;
}

bool hr__input_is_over(const input *in)
{
    if (!in->head) return in->stage && in->known && stage_ended_well(in->stage);
    return in->head->last && !in->head->error.code && !in->head->ignored && in->next >= in->count;
}

static void write_stage_position(const input *in, hr_token_writer *to)
{
    const bool over = to->at_end && hr__input_is_over(in);
    token *end = over ? hr__stage_end_token(in->stage) : NULL;
    to->failed |= over && !end;
    hr_write_i64(to, IN_STAGE);
    hr__token_link(to, (token_link){.to = over ? end : in->before});
    hr_write_i64(to, over ? in->first + in->count : in->first - in->since);
    hr_write_i64(to, over ? 0 : hr__input_used(in));
    hr__token_unref(end);
}

static void input_save_from(const input *in, bool held, size_t state, hr_token_writer *to)
{
    if (held && in->oldest) {
        hr_write_i64(to, HELD);
        hr__token_link(to, (token_link){.log = in->oldest, .state = (uint32_t)state});
    } else if (in->node) {
        hr_write_i64(to, IN_NODE);
        hr_write_i64(to, in->first);
        hr__plan_node_save(in->node, to);
    } else if (in->known)
        write_stage_position(in, to);
    else
        hr_write_i64(to, NOT_KNOWN);
}

static bool worth_saving(const hr_plan *p, const input *in)
{
    return !in->own && in->stage && in->known && !(p->ds->op->traits & HR_KNOWS_ITS_PLACE);
}

static int input_by_number(const void *a, const void *b)
{
    const int64_t one = (*(const input *const *)a)->number, other = (*(const input *const *)b)->number;
    return (one > other) - (one < other);
}

static bool reserve_opened(hr_token_writer *to, int64_t count)
{
    if (count <= to->opened_capacity) return true;
    const input **grown = hr_realloc(to->opened, 2 * (size_t)count * sizeof *grown);
    to->failed |= !grown;
    if (!grown) return false;
    to->opened = grown;
    to->opened_capacity = 2 * count;
    return true;
}

/* In the order of their numbers: which places they have follows from what was opened before its turn. */
static void save_opened(hr_plan *p, hr_token_writer *to)
{
    enum { AHEAD = 16 }; /* of thousands, what the next ones need is on its way to the cache */
    int64_t opened = p->saves;
    for (int i = p->ds->inputs; i < p->ins; i++) {
        if (i + AHEAD < p->ins) __builtin_prefetch(p->in[i + AHEAD]);
        opened += worth_saving(p, p->in[i]);
    }
    if (!reserve_opened(to, opened)) return;
    const input **list = to->opened;
    int64_t count = 0;
    for (int i = 0; i < p->saves; i++) list[count++] = &p->saved[i];
    for (int i = p->ds->inputs; i < p->ins; i++)
        if (worth_saving(p, p->in[i])) list[count++] = p->in[i];
    if (count > 1) qsort(list, (size_t)count, sizeof *list, input_by_number);
    hr_write_i64(to, count);
    for (int64_t i = 0; i < count; i++) {
        if (i + AHEAD < count && list[i + AHEAD]->before) __builtin_prefetch(list[i + AHEAD]->before, 1);
        hr_write_i64(to, list[i]->number);
        write_stage_position(list[i], to);
    }
}

void hr__plan_node_save(hr_plan *p, hr_token_writer *to)
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

token *hr__stage_token(stage *s)
{
    hr__plan_node_save(s->top, s->writer);
    if (s->numbered) hr_write_i64(s->writer, s->rows_planned);
    return hr__token_new(s->engine, s->writer);
}

token *hr__stage_end_token(stage *s)
{
    s->writer->at_end = true;
    token *end = hr__stage_token(s);
    s->writer->at_end = false;
    return end;
}

static bool position_log_node(hr_plan *p, input *in)
{
    if (in->stage || (in->newest && in->newest->first == in->first)) return true;
    token *before = NULL;
    if (in->node) {
        hr__plan_node_save(in->node, p->stage->writer);
        before = hr__token_new(p->stage->engine, p->stage->writer);
        if (!before) return false;
    }
    return hr__log_add(p, in, before);
}

bool hr__log_nodes(hr_plan *p)
{
    bool done = true;
    for (int i = 0; i < p->ds->inputs && done; i++)
        if (p->in[i]->node) done = hr__log_nodes(p->in[i]->node);
    if (!done || !p->ds->op->held_from || p->ended) return done;
    if (!position_log_node(p, p->in[0])) return false;
    if (p->in[0]->oldest) hr__log_trim(p, p->in[0]);
    return true;
}

/* ---- a tree of tokens as bytes. Here, and only here, operators that hold rows are asked which ones they still need.
 * ---- */

static hr_status write_tree(engine *e, const token *t, hr_token_writer *to, hr_error *err);

static hr_status write_nested(engine *e, const token *t, hr_token_writer *to, hr_error *err)
{
    hr_token_writer nested = {0};
    hr_status st = t ? write_tree(e, t, &nested, err) : HR_OK;
    hr_write_i64(to, (int64_t)nested.size);
    hr__token_bytes(to, nested.data, nested.size);
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
    hr_error own = {0};
    if (!err) err = &own;
    err->code = HR_OK;
    err->kind = NULL;
    hr_status st = op->open ? hr__op_answer(op, op->open(h->ds->spec, p.state, &p, err), err) : HR_OK;
    if (st == HR_OK) st = hr__saved_numbers_read(op, p.state, &numbers, err);
    if (st == HR_OK && op->load) st = hr__op_answer(op, op->load(h->ds->spec, p.state, &numbers, err), err);
    if (st == HR_OK) *held = op->held_from(h->ds->spec, p.state);
    if (op->close) op->close(p.state);
    hr__shared_leave(&p);
    hr_free(p.state);
    return st;
}

static hr_status write_link(engine *e, const token *t, const token_link *link, hr_token_writer *to, hr_error *err)
{
    if (!link->log) return write_nested(e, link->to, to, err);
    const hr_token_reader numbers = {token_bytes(t) + link->state, token_bytes(t) + link->at, NULL};
    int64_t held = 0;
    HR_TRY(ask_held_from(e, link->log->holder, numbers, &held, err));
    const log_entry *l = hr__log_entry_for(link->log, held);
    hr_write_i64(to, l->first);
    return write_nested(e, l->before, to, err);
}

static hr_status write_tree(engine *e, const token *t, hr_token_writer *to, hr_error *err)
{
    uint32_t at = 0;
    for (int i = 0; i < t->links; i++) {
        hr__token_bytes(to, token_bytes(t) + at, t->link[i].at - at);
        at = t->link[i].at;
        HR_TRY(write_link(e, t, &t->link[i], to, err));
    }
    hr__token_bytes(to, token_bytes(t) + at, t->size - at);
    return to->failed ? hr_no_memory(err, "a saved state") : HR_OK;
}

static hr_status write_position(engine *e, int64_t first, int64_t used, const token *before, hr_token_writer *to,
                                hr_error *err)
{
    hr_write_i64(to, first);
    hr_write_i64(to, used);
    const hr_status st = write_nested(e, before, to, err);
    return st == HR_OK && to->failed ? hr_no_memory(err, "a saved state") : st;
}

/* While a pipeline runs, a position is the last token, and how much was used since. At the end it is the end itself:
 * made again from that token, the last unit of an extended repeat would have other elements. */
static hr_status write_end(engine *e, const input *in, hr_token_writer *to, hr_error *err)
{
    token *end = hr__stage_end_token(in->stage);
    if (!end) return hr_no_memory(err, "a saved state");
    const hr_status st = write_position(e, in->first + in->count, 0, end, to, err);
    hr__token_unref(end);
    return st;
}

hr_status hr__position_write(engine *e, input *in, unsigned char **bytes, size_t *size, hr_error *err)
{
    hr_token_writer to = {0};
    const hr_status st = hr__input_is_over(in)
                             ? write_end(e, in, &to, err)
                             : write_position(e, in->first - in->since, hr__input_used(in), in->before, &to, err);
    if (st != HR_OK) {
        hr_free(to.data);
        return st;
    }
    *bytes = to.data;
    *size = to.size;
    return HR_OK;
}

/* ---- loading ---- */

static hr_status read_count(hr_token_reader *from, int64_t *count, hr_error *err)
{
    return hr_read_between(from, 0, HR_LARGEST_COUNT, count, err);
}

hr_status hr__token_end(const hr_token_reader *r, hr_error *err)
{
    return r->at == r->end ? HR_OK : hr__state_damaged(err);
}

/* Where the current unit begins, and how much of it is used. */
static hr_status read_place(input *in, hr_token_reader *from, hr_error *err)
{
    int64_t used = 0;
    HR_TRY(read_count(from, &in->first, err));
    HR_TRY(read_count(from, &used, err));
    in->skip_to = in->first + used;
    in->known = true;
    return HR_OK;
}

hr_status hr__position_read(engine *e, input *in, hr_token_reader *from, hr_error *err)
{
    HR_TRY(read_place(in, from, err));
    HR_TRY(hr__token_read(e, from, &in->before, err));
    return hr__token_end(from, err);
}

static hr_status load_held(hr_plan *p, int i, hr_token_reader *from, hr_error *err)
{
    hr_token_reader nested = {0};
    input *in = p->in[i];
    HR_TRY(read_count(from, &in->first, err));
    HR_TRY(hr__token_nested(from, &nested, err));
    in->skip_to = in->first;
    in->known = true;
    if (nested.at == nested.end) return HR_OK;
    if (!hr__input_is_node(p, i)) {
        in->before = hr__token_from_bytes(p->stage->engine, nested.at, (size_t)(nested.end - nested.at));
        return in->before ? HR_OK : hr_no_memory(err, "a saved state");
    }
    if (!hr__input_open_own(p, i)) return hr_no_memory(err, "a pipeline");
    HR_TRY(hr__plan_node_open(in->node, &nested, err));
    return hr__token_end(&nested, err);
}

static hr_status load_stage_position(hr_plan *p, input *in, hr_token_reader *from, hr_error *err)
{
    HR_TRY(hr__token_read(p->stage->engine, from, &in->before, err));
    return read_place(in, from, err);
}

static hr_status load_own(hr_plan *p, int i, hr_token_reader *from, hr_error *err)
{
    int64_t kind = 0;
    HR_TRY(hr_read_i64(from, &kind, err));
    if (kind == NOT_KNOWN) return HR_OK;
    if (kind == HELD) return load_held(p, i, from, err);
    if (kind == IN_STAGE && !hr__input_is_node(p, i)) return load_stage_position(p, p->in[i], from, err);
    if (kind != IN_NODE || !hr__input_is_node(p, i)) return hr__state_damaged(err);
    HR_TRY(read_count(from, &p->in[i]->first, err));
    if (!hr__input_open_own(p, i)) return hr_no_memory(err, "a pipeline");
    return hr__plan_node_open(p->in[i]->node, from, err);
}

static hr_status load_opened(hr_plan *p, hr_token_reader *from, hr_error *err)
{
    int64_t opened = 0, kind = 0;
    HR_TRY(hr_read_i64(from, &opened, err));
    if (opened < 0 || opened > from->end - from->at) return hr__state_damaged(err);
    p->saved = opened ? hr_calloc((size_t)opened, sizeof *p->saved) : NULL;
    if (opened && !p->saved) return hr_no_memory(err, "a saved state");
    while (p->saves < opened) {
        input *in = &p->saved[p->saves++];
        HR_TRY(hr_read_i64(from, &in->number, err));
        HR_TRY(hr_read_i64(from, &kind, err));
        if (kind != IN_STAGE) return hr__state_damaged(err);
        HR_TRY(load_stage_position(p, in, from, err));
    }
    return HR_OK;
}

hr_status hr__saved_numbers_read(const hr_op *op, void *state, hr_token_reader *from, hr_error *err)
{
    const hr_saved_range count = HR_SAVED_COUNT;
    for (unsigned i = 0; i < op->saved; i++) {
        const hr_saved_range range = i < op->ranges ? op->range[i] : count;
        int64_t number = 0;
        HR_TRY(hr_read_i64(from, &number, err));
        HR_TRY(hr_saved_between(op->name, number, range.min, range.max, err));
        memcpy((char *)state + i * sizeof number, &number, sizeof number);
    }
    return HR_OK;
}

hr_status hr__plan_node_open(hr_plan *p, hr_token_reader *from, hr_error *err)
{
    const hr_op *op = p->ds->op;
    p->opened = true;
    hr_error own = {0};
    if (!err) err = &own;
    err->code = HR_OK;
    err->kind = NULL;
    if (op->open) HR_TRY(hr__op_answer(op, op->open(p->ds->spec, p->state, p, err), err));
    if (!from) return HR_OK;
    HR_TRY(hr__saved_numbers_read(op, p->state, from, err));
    if (op->load) HR_TRY(hr__op_answer(op, op->load(p->ds->spec, p->state, from, err), err));
    for (int i = 0; i < p->ds->inputs; i++) HR_TRY(load_own(p, i, from, err));
    if (op->held_from) /* all that it holds comes again: its input starts before it */
        HR_TRY(hr_saved_between(op->name, input_pulled(p->in[0]), 0, op->held_from(p->ds->spec, p->state), err));
    return load_opened(p, from, err);
}

/* ---- random access ---- */

static hr_status start_input(hr_plan *p, int i, int64_t start, hr_error *err)
{
    input *in = p->in[i];
    in->first = in->skip_to = start;
    in->known = true;
    if (!hr__input_is_node(p, i)) {
        in->start = start; /* of the stage that will be opened */
        return HR_OK;
    }
    if (!hr__input_open_own(p, i)) return hr_no_memory(err, "a pipeline");
    HR_TRY(hr__plan_node_open(in->node, NULL, err));
    return hr__plan_node_at(in->node, start, err);
}

hr_status hr__plan_node_at(hr_plan *p, int64_t index, hr_error *err)
{
    int64_t have[HR_MAX_INPUTS], in[HR_MAX_INPUTS] = {0};
    const hr_op *op = p->ds->op;
    for (int i = 0; i < p->ds->inputs; i++) have[i] = hr_cardinality(p->ds->in[i]);
    if (!op->at || op->at(p->ds->spec, p->state, index, have, in) != HR_OK)
        return hr_fail(err, HR_UNIMPLEMENTED, "at.operator",
                       "%s: its arguments do not allow access to elements by their number", op->name);
    /* What rows are numbered by, for random numbers: the rows of the outermost node that has no batches. */
    if (p->ds->out.schema.levels == 0 && p->stage->rows_planned == 0) p->stage->rows_planned = index;
    for (int i = 0; i < p->ds->inputs; i++) HR_TRY(start_input(p, i, in[i], err));
    return HR_OK;
}

/* ---- op.h ---- */

hr_status hr_saved_between(const char *op, int64_t value, int64_t min, int64_t max, hr_error *err)
{
    if (value >= min && value <= max) return HR_OK;
    return hr_fail(err, HR_DATA_LOSS, "state.damaged",
                   "%s: expected a saved number from %" PRId64 " to %" PRId64 ", got %" PRId64
                   "; the state is damaged, begin anew",
                   op, min, max, value);
}

hr_status hr_read_between(hr_token_reader *token, int64_t min, int64_t max, int64_t *value, hr_error *err)
{
    int64_t read = 0;
    HR_TRY(hr_read_i64(token, &read, err));
    HR_TRY(hr_saved_between("saved state", read, min, max, err));
    *value = read;
    return HR_OK;
}
