/* cache: passes its input, and keeps its rows by column as they are at that place. Whoever opens it again, such as the
 * next epoch of a repeat, takes them from there: nothing below is opened, read or parsed again.
 *
 * The input is the same in all epochs, also where it is not kept (yet): what is random below draws as in the first one.
 * So it does not matter to the order when the cache is whole, or whether it is: an opening that is stopped before the
 * end keeps nothing, and one that goes on from a saved state only passes rows on; the next whole one keeps them. */
#include "base/constructor.h"
#include "data/kept.h"
#include <headrace/data.h>

typedef struct cache_spec {
    size_t max_bytes;
} cache_spec;

typedef enum cache_mode { UNDECIDED, PASSES, FILLS, TAKES } cache_mode;

typedef struct cache_state {
    int64_t given, reading; /* saved: elements passed so far; whether they come from the input */
    cache_mode mode;
    hr__kept *kept;
    int input;
    int64_t piece, before; /* the piece at hand, and how many elements lie before it */
    int64_t skip;          /* elements of the input that were given before */
} cache_state;

typedef struct cache_unit {
    cache_mode mode;
    hr__kept *kept;
    int64_t piece, first; /* first: its element that the unit begins with */
} cache_unit;

static bool make_kept(void *data) { return hr__kept_open(data); }
static void unmake_kept(void *data) { hr__kept_close(data); }

static hr_status cache_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    cache_state *st = state;
    st->kept = hr_plan_shared(p, sizeof *st->kept, make_kept, unmake_kept);
    if (!st->kept) return hr_no_memory(err, "a cache");
    st->kept->limit = ((const cache_spec *)spec)->max_bytes;
    return HR_OK;
}

static void cache_close(void *state)
{
    cache_state *st = state;
    if (st->mode == FILLS) hr__kept_leave(st->kept);
}

/* One who begins in the middle cannot fill. */
static void decide(cache_state *st, hr_plan *p)
{
    const hr__kept_use use = st->reading ? HR__KEPT_NEITHER : hr__kept_enter(st->kept, p, st->given == 0);
    st->mode = use == HR__KEPT_TAKE ? TAKES : use == HR__KEPT_FILL ? FILLS : PASSES;
    if (st->mode == TAKES) return;
    st->skip = st->reading ? 0 : st->given;
    st->reading = 1;
    st->input = hr_input_open(p, NULL, 0);
}

/* ---- from the input ---- */

static hr_status pass_over(cache_state *st, hr_plan *p)
{
    while (st->skip > 0) {
        hr_span span;
        HR_TRY(hr_pull(p, st->input, st->skip, &span));
        st->skip -= span.count;
        hr_span_drop(span);
    }
    return HR_OK;
}

/* A unit that is kept is a piece. */
static hr_status begin_piece(cache_state *st, cache_unit *unit, hr_error *err)
{
    *unit = (cache_unit){.mode = st->mode, .kept = st->kept};
    if (st->mode == FILLS) unit->piece = hr__kept_begin(st->kept);
    return unit->piece < 0 ? hr_no_memory(err, "cached rows") : HR_OK;
}

static hr_status plan_input(cache_state *st, hr_plan *p, hr_error *err)
{
    HR_TRY(pass_over(st, p));
    while (hr_room(p) > 0) {
        hr_span span;
        const hr_status got = hr_pull(p, st->input, hr_room(p), &span);
        if (got == HR_END && st->mode == FILLS) hr__kept_end(st->kept);
        if (got != HR_OK) return got;
        const hr_status begun = hr_emitted(p) > 0 ? HR_OK : begin_piece(st, hr_unit(p), err);
        if (begun != HR_OK) return hr_span_drop(span), begun;
        st->given += span.count;
        hr_emit(p, span);
    }
    return HR_OK;
}

/* ---- from what is kept ---- */

static hr_status plan_kept(cache_state *st, hr_plan *p, hr_error *err)
{
    const hr__kept *kept = st->kept;
    while (st->piece < kept->pieces && st->given >= st->before + kept->piece[st->piece].elements)
        st->before += kept->piece[st->piece++].elements;
    if (st->piece == kept->pieces) return HR_END;

    const hr__packed *packed = &kept->piece[st->piece];
    const int64_t first = st->given - st->before, left = packed->elements - first;
    const int64_t count = left < hr_room(p) ? left : hr_room(p);
    hr_columns *rows = hr_unit_rows(p, hr__packed_rows(packed, first, count));
    if (!rows) return hr_no_memory(err, "cached rows");
    hr__packed_announce(packed, first, count, rows);
    *(cache_unit *)hr_unit(p) = (cache_unit){TAKES, st->kept, st->piece, first};
    st->given += count;
    return HR_OK;
}

static hr_status cache_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    cache_state *st = state;
    if (st->mode == UNDECIDED) decide(st, p);
    return st->mode == TAKES ? plan_kept(st, p, err) : plan_input(st, p, err);
}

static hr_status cache_work(const void *spec, const void *unit_, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec;
    const cache_unit *unit = unit_;
    if (unit->mode == FILLS) return hr__kept_put(unit->kept, unit->piece, rows, err);
    if (unit->mode == TAKES) return hr__packed_fill(&unit->kept->piece[unit->piece], unit->first, w, rows, err);
    return HR_OK;
}

const hr_op hr_op_cache = {
    .head = HR_OP_HEAD,
    .name = "cache",
    .spec_size = sizeof(cache_spec),
    .state_size = sizeof(cache_state),
    .unit_size = sizeof(cache_unit),
    .saved = 2, /* given, reading */
    .traits = HR_SAME_EACH_EPOCH,
    .open = cache_open,
    .plan = cache_plan,
    .work = cache_work,
    .close = cache_close,
};

hr_dataset *hr_cache_with(hr_dataset *in, const hr_cache_opts *opts)
{
    const cache_spec spec = {.max_bytes = opts ? opts->max_bytes : 0};
    return hr_dataset_new(&hr_op_cache, &spec, &in, 1);
}
