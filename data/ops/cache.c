/* cache: passes its input on and stores its rows. A later opening of the same dataset, such as the next epoch of a
 * repeat or another branch of the pipeline, reads the cached rows: nothing upstream is opened, read or parsed a second
 * time. If several openings run at once, the one whose elements are needed first fills the cache, and the others read
 * what it has filled.
 *
 * All openings see the same input, cached or not: random operators upstream take their seeds from the cache's identity.
 * So the order of elements does not depend on which opening fills the cache, or when. An opening that resumes from a
 * saved state passes rows on without caching them; the next opening caches them. */
#include "base/constructor.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/rows/cached_rows.h"
#include <headrace/data.h>
#include <inttypes.h>

typedef struct cache_spec {
    const char *file; /* NULL: in memory */
    size_t max_bytes;
    bool anew; /* an existing file is replaced */
} cache_spec;

typedef enum cache_mode { TAKES, PASSES, FILLS } cache_mode;

typedef struct cache_state {
    int64_t given, reading; /* saved: elements passed so far; whether they come from the input */
    cache_mode mode;
    hr__cached_rows *cached;
    bool opened;
    int input;
    hr__cached_place place;
} cache_state;

typedef struct cache_unit {
    cache_mode mode;
    int64_t piece; /* FILLS: its number */
    hr__cached_part part;
} cache_unit;

static hr_status cache_spec_copy(void *spec, hr_error *err)
{
    cache_spec *sp = spec;
    if (!sp->file) return HR_OK;
    sp->file = hr_strdup(sp->file);
    return sp->file ? HR_OK : hr_no_memory(err, "cache: the name of its file");
}

static void cache_spec_free(void *spec) { hr_free((char *)(uintptr_t)((cache_spec *)spec)->file); }

static bool cache_make_shared(void *data) { return hr__cached_open(data); }
static void cache_free_shared(void *data) { hr__cached_close(data); }

static hr_status cache_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const cache_spec *sp = spec;
    cache_state *st = state;
    st->cached = hr_plan_shared(p, sp->file, sizeof *st->cached, cache_make_shared, cache_free_shared);
    if (!st->cached) return hr_no_memory(err, "a cache");
    return hr__cached_set(st->cached, p, sp->file, sp->anew, sp->max_bytes, err);
}

static void cache_close(void *state)
{
    cache_state *st = state;
    if (st->mode == FILLS) hr__cached_leave(st->cached);
}

/* ---- from the input ---- */

static void cache_open_input(cache_state *st, hr_plan *p, cache_mode mode)
{
    st->mode = mode;
    st->reading = 1;
    st->opened = true;
    st->input = hr_input_open(p, NULL, 0);
}

/* Skips the elements that were given before. */
static hr_status cache_pass_over(cache_state *st, hr_plan *p)
{
    while (hr_pulled(p, st->input) < st->given) {
        hr_span span;
        HR_TRY(hr_pull(p, st->input, st->given - hr_pulled(p, st->input), &span));
        hr_span_drop(span);
    }
    return HR_OK;
}

/* Each unit that is cached becomes a piece. */
static hr_status begin_piece(cache_state *st, cache_unit *unit, hr_error *err)
{
    unit->mode = st->mode;
    unit->part.cached = st->cached;
    unit->piece = st->mode == FILLS ? hr__cached_begin(st->cached) : 0;
    return unit->piece < 0 ? hr_no_memory(err, "cached rows") : HR_OK;
}

static hr_status plan_input(cache_state *st, hr_plan *p, hr_error *err)
{
    HR_TRY(cache_pass_over(st, p));
    while (hr_room(p) > 0) {
        hr_span span;
        const hr_status got = hr_pull(p, st->input, hr_room(p), &span);
        if (got == HR_END && st->mode == FILLS && !hr_plan_failed(p)) {
            HR_TRY(hr__cached_end(st->cached, p, err));
            hr_plan_shared_changed(p);
        }
        if (got != HR_OK) return got;
        const hr_status begun = hr_emitted(p) > 0 ? HR_OK : begin_piece(st, hr_unit(p), err);
        if (begun != HR_OK) return hr_span_drop(span), begun;
        st->given += span.count;
        hr_emit(p, span);
    }
    return HR_OK;
}

/* ---- from cached rows ---- */

static hr_status plan_piece(cache_state *st, const hr__piece *piece, hr_plan *p, hr_error *err)
{
    cache_unit *unit = hr_unit(p);
    unit->mode = TAKES;
    const hr_status planned = hr__cached_plan(st->cached, &st->place, piece, p, &unit->part, err);
    st->given = st->place.given;
    return planned;
}

static hr_status cache_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    cache_state *st = state;
    if (!st->reading) {
        hr__cached_next next;
        hr__piece piece;
        st->place.given = st->given;
        HR_TRY(hr__cached_find(st->cached, p, &st->place, &next, &piece, err));
        if (next == HR__CACHED_TAKE) return plan_piece(st, &piece, p, err);
        if (next == HR__CACHED_END) return HR_END;
        if (next == HR__CACHED_LATER || (next == HR__CACHED_WAIT && hr_plan_await_shared(p))) return HR_WAIT;
        cache_open_input(st, p, next == HR__CACHED_FILL ? FILLS : PASSES);
    }
    if (!st->opened) cache_open_input(st, p, PASSES); /* where a saved state had it */
    return plan_input(st, p, err);
}

static hr_status cache_work(const void *spec, const void *unit_, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec;
    const cache_unit *unit = unit_;
    if (unit->mode == FILLS) {
        const hr_status put = hr__cached_put(unit->part.cached, unit->piece, rows, err);
        hr_work_shared_changed(w);
        return put;
    }
    if (unit->mode == TAKES) return hr__cached_work(&unit->part, w, rows, err);
    return HR_OK;
}

static void cache_describe(const void *spec, hr_description *to)
{
    const cache_spec *sp = spec;
    hr_describe_text(to, NULL, sp->file ? sp->file : "in memory");
    hr_describe_option(to, "max_bytes", (int64_t)sp->max_bytes);
}

const hr_op hr_op_cache = {
    .head = HR_OP_HEAD,
    .name = "cache",
    .spec_size = sizeof(cache_spec),
    .state_size = sizeof(cache_state),
    .unit_size = sizeof(cache_unit),
    .saved = 2, /* given, reading */
    .range = (const hr_saved_range[]){HR_SAVED_COUNT, {0, 1}},
    .ranges = 2,
    .traits = HR_SAME_EACH_OPENING | HR_OPENS_ITS_INPUT,
    .spec_copy = cache_spec_copy,
    .spec_free = cache_spec_free,
    .open = cache_open,
    .plan = cache_plan,
    .work = cache_work,
    .close = cache_close,
    .cardinality = hr_cardinality_of_input,
    .describe = cache_describe,
};

hr_dataset *hr_cache_with(hr_dataset *in, const hr_cache_opts *opts)
{
    const hr_cache_opts o = HR_OPTIONS(hr_cache_opts, opts);
    const cache_spec spec = {.file = o.file, .max_bytes = o.max_bytes};
    return hr_dataset_new(&hr_op_cache, &spec, &in, 1);
}

hr_dataset *hr__cache_anew(hr_dataset *in, const char *file)
{
    const cache_spec spec = {.file = file ? file : "", .anew = true};
    return hr_dataset_new(&hr_op_cache, &spec, &in, 1);
}

/* The file's name has the pipeline's identity, so that snapshots of several pipelines can share a folder. */
hr_dataset *hr_snapshot(hr_dataset *in, const char *folder)
{
    hr__text file = {0};
    if (hr_dataset_error(in)) return in;
    hr__text_printf(&file, "%s/%016" PRIx64 ".rows", folder ? folder : "", hr__dataset_identity(in));
    if (file.failed) {
        static const hr_error no_memory = HR__NO_MEMORY_FOR("a snapshot");
        hr__text_free(&file);
        hr_dataset_unref(in);
        return hr_dataset_failed(&no_memory);
    }
    const cache_spec spec = {.file = file.data};
    hr_dataset *ds = hr_dataset_new(&hr_op_cache, &spec, &in, 1);
    hr__text_free(&file);
    return ds;
}
