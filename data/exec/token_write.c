/* A tree of tokens as bytes. Here, and only here, operators that hold rows are asked which ones they still need. */
#include "data/exec/engine.h"
#include "data/exec/token.h"

static hr_status flatten(engine *e, const token *t, hr_token_writer *to, hr_error *err);

static hr_status write_nested(engine *e, const token *t, hr_token_writer *to, hr_error *err)
{
    hr_token_writer nested = {0};
    hr_status st = t ? flatten(e, t, &nested, err) : HR_OK;
    hr_write_i64(to, (int64_t)nested.size);
    hr__token_bytes(to, nested.data, nested.size);
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
    if (st == HR_OK) st = hr__saved_numbers_read(op, p.state, &numbers, err);
    if (st == HR_OK && op->load) st = op->load(h->ds->spec, p.state, &numbers, err);
    if (st == HR_OK) *held = op->held_from(h->ds->spec, p.state);
    if (op->close) op->close(p.state);
    hr__shared_leave(&p);
    hr_free(p.state);
    return st;
}

static hr_status write_link(engine *e, const token *t, const token_link *link, hr_token_writer *to, hr_error *err)
{
    if (!link->log) return write_nested(e, link->to, to, err);
    const hr_token_reader numbers = {token_bytes(t) + link->state, token_bytes(t) + link->at};
    int64_t held = 0;
    HR_TRY(ask_held_from(e, link->log->holder, numbers, &held, err));
    const log_entry *l = hr__log_entry_for(link->log, held);
    hr_write_i64(to, l->first);
    return write_nested(e, l->before, to, err);
}

static hr_status flatten(engine *e, const token *t, hr_token_writer *to, hr_error *err)
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

/* While a pipeline runs, a position is where the unit at hand began, and how much of it is used. At the end it is the
 * end itself: made again from its beginning, the last unit of an extended repeat would have other elements. */
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
