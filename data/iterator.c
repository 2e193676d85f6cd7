/* Iterators: the user's end of a pipeline. The thread that calls hr_next works too while it waits. */
#include "base/constructor.h"
#include "data/iterator.h"
#include <string.h>

/* What there is when there is no memory for an iterator: one for all, never freed. */
static hr_iterator no_memory;

/* ---- opening ---- */

static bool iterator_open(hr_iterator *it, const hr_iterate_opts *opts)
{
    engine *e = &it->engine;
    if (!hr__engine_open(e, opts)) return false;
    it->open = true;
    e->root = (stage){.engine = e, .top = &it->node, .ds = it->ds, .at = -1};
    it->inputs[0] = &it->input;
    it->input.own = true;
    it->node = (hr_plan){.stage = &e->root, .in = it->inputs, .ins = 1, .opened = true};
    return true;
}

/* ---- random access ---- */

/* The operator that has no access by number; NULL: all have it. */
static const hr_op *lacks_access(const hr_dataset *ds)
{
    const hr_op *op = ds->op;
    if (op->plan ? !op->at : !(op->traits & (HR_ROW_BY_ROW | HR_PASSES_ROWS))) return op;
    for (int i = 0; i < ds->inputs; i++) {
        const hr_op *lacks = lacks_access(ds->in[i]);
        if (lacks) return lacks;
    }
    return NULL;
}

/* The stages begin with the element of this number. */
static hr_status begin_at(hr_iterator *it, int64_t first, hr_error *err)
{
    if (first < 0)
        return hr_fail(err, HR_OUT_OF_RANGE, "at.index", "iterator: expected the number of an element, got %lld",
                       (long long)first);
    const hr_op *lacks = lacks_access(it->ds);
    if (lacks)
        return hr_fail(err, HR_UNIMPLEMENTED, "at.operator",
                       "%s: expected operators that give elements by their number, which this one does not; take them "
                       "in order, or put the elements into a tensor",
                       lacks->name);
    it->input.first = it->input.skip_to = it->input.start = first;
    return HR_OK;
}

static hr_status check_options(const hr_iterate_opts *opts, hr_error *err)
{
    if (opts->epoch < 0 || opts->epoch > HR_LARGEST_COUNT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "iterator.epoch",
                       "iterator: expected an epoch from 1 to %lld, or 0: none, got %lld", (long long)HR_LARGEST_COUNT,
                       (long long)opts->epoch);
    if (opts->trace && opts->spans)
        return hr_fail(err, HR_INVALID_ARGUMENT, "trace.argument",
                       "iterator: expected .trace or .spans, got both; hr_trace_write writes the file of the latter");
    if (opts->first && opts->state)
        return hr_fail(err, HR_INVALID_ARGUMENT, "state.first",
                       "iterator: expected .first or .state, got both; a state says where it goes on");
    return HR_OK;
}

/* From here on workers look for work in it. What nobody has asked for yet takes no memory for what is read ahead, and no
 * worker's time: of iterators there may be thousands. */
static hr_status iterator_begin(hr_iterator *it)
{
    engine *e = &it->engine;
    e->begun = true;
    return e->max_workers > 0 ? hr__pool_join(&e->client, &it->error) : HR_OK;
}

static hr_status iterator_start(hr_iterator *it, const hr_iterate_opts *opts)
{
    engine *e = &it->engine;
    if (it->ds->error.code) return it->error = it->ds->error, it->error.code;
    HR_TRY(check_options(opts, &it->error));
    if ((opts->trace || opts->spans) && !(e->trace = hr__trace_open(opts->trace, opts->spans, e->started)))
        return hr_no_memory(&it->error, "a trace");
    HR_TRY(hr__element_open(&it->element, &it->ds->out.schema, &it->error));
    it->input.sole = hr__shared_is_sole(it->ds);
    if (!hr__shared_open(e, it->ds)) return hr_no_memory(&it->error, "a pipeline");
    if (opts->state) HR_TRY(hr__state_load(it, opts->state, opts->state_size, &it->error));
    if (opts->first) HR_TRY(begin_at(it, opts->first, &it->error));
    if (opts->warm_start) HR_TRY(iterator_begin(it));
    hr__token_ref(it->input.before);
    const uint64_t path = hr__epoch_path(it->ds, e->epoch);
    it->input.stage = hr__stage_new(&it->node, 0, hr_dataset_ref(it->ds), path, it->input.before);
    it->input.known = true;
    return it->input.stage ? HR_OK : hr_no_memory(&it->error, "a pipeline");
}

hr_iterator *hr_iterate_changed(hr_dataset *ds, hr_change_number_fn *change, void *user, const hr_iterate_opts *opts)
{
    const hr_iterate_opts o = HR_OPTIONS(hr_iterate_opts, opts);
    hr_iterator *it = hr_calloc(1, sizeof *it);
    if (it) it->ds = hr__dataset_given(ds);
    if (!it || !iterator_open(it, &o)) {
        hr_free(it);
        hr_dataset_unref(ds);
        return &no_memory;
    }
    it->engine.change = change;
    it->engine.change_user = user;
    iterator_start(it, &o);
    return it;
}

hr_iterator *hr_iterate_with(hr_dataset *ds, const hr_iterate_opts *opts)
{
    return hr_iterate_changed(ds, NULL, NULL, opts);
}

/* ---- the next element ---- */

static bool nothing_yet(const hr_iterator *it)
{
    const engine *e = &it->engine;
    stage *s = it->input.stage;
    return !hr__stage_head_ready(s) && !hr__stage_is_over(s) && !engine_cancelled(e) && !e->no_memory;
}

static void sleep_until(engine *e, uint64_t deadline)
{
    const uint64_t from = uv_hrtime();
    if (from >= deadline) return;
    hr__stage_starves(e->root.blocked_on);
    e->consumer_sleeps = true;
    if (deadline == UINT64_MAX)
        uv_cond_wait(&e->head_ready, &e->lock);
    else
        uv_cond_timedwait(&e->head_ready, &e->lock, deadline - from);
    e->consumer_sleeps = false;
    const uint64_t to = uv_hrtime();
    e->consumer_waits++;
    e->consumer_wait_ns += to - from;
    if (e->trace) hr__trace_wait(e->trace, from, to);
}

/* Works until there is a unit or nothing more; sleeps only when others have all that can be done. False: the deadline,
 * a time of uv_hrtime, has passed. */
static bool iterator_help(hr_iterator *it, uint64_t deadline)
{
    engine *e = &it->engine;
    const uint64_t from = uv_hrtime();
    uint64_t now = from;
    bool late = false;
    hr__engine_lock(e);
    if (!hr__stage_head_ready(it->input.stage)) e->root.blocked_on = it->input.stage;
    while (nothing_yet(it) && !late) {
        if (!hr__engine_run_one(e, 0) && nothing_yet(it)) sleep_until(e, deadline);
        now = uv_hrtime();
        late = now >= deadline;
    }
    e->consumer_ns += now - from;
    e->root.blocked_on = NULL;
    hr__engine_wake(e); /* for what this thread leaves: it may not come back for long */
    hr__engine_unlock(e);
    return !late;
}

/* HR_OK: an element is at hand. HR_WAIT: there is none yet. */
static hr_status find_next(hr_iterator *it)
{
    hr_status none = HR_OK;
    if (!it->engine.begun) HR_TRY(iterator_begin(it));
    if (engine_cancelled(&it->engine))
        return hr_fail(&it->error, HR_CANCELLED, "cancelled", "the iterator was cancelled");
    const bool found = hr__input_find(&it->node, &it->input, &none);
    /* Asked after the look: it may be why the input ends, with no unit to bring the error. */
    if (it->engine.no_memory) return hr_no_memory(&it->error, "a pipeline");
    if (found) return HR_OK;
    if (none == HR_WAIT) return HR_WAIT;
    it->engine.ended = uv_hrtime();
    if (it->node.error.code) return it->error = it->node.error, it->error.code;
    it->ended = true;
    return HR_END;
}

hr_status hr__iterator_try(hr_iterator *it, const hr_element **out)
{
    input *in = &it->input;
    *out = NULL;
    if (!it->open) return HR_RESOURCE_EXHAUSTED;
    if (it->error.code) return it->error.code;
    if (it->ended) return HR_END;
    if (in->next >= in->count || engine_cancelled(&it->engine)) HR_TRY(find_next(it));
    hr__element_set(&it->element, &in->rows->c, it->ds->out.schema.levels, in->next++);
    *out = &it->element;
    return HR_OK;
}

hr_status hr_next(hr_iterator *it, const hr_element **out)
{
    hr_status st;
    while ((st = hr__iterator_try(it, out)) == HR_WAIT) iterator_help(it, UINT64_MAX);
    return st;
}

hr_status hr_peek(hr_iterator *it, const hr_element **out)
{
    const hr_status st = hr_next(it, out);
    if (st == HR_OK) it->input.next--;
    return st;
}

hr_status hr_next_within(hr_iterator *it, uint64_t ns, const hr_element **out)
{
    const uint64_t now = uv_hrtime(), deadline = ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
    hr_status st = hr__iterator_try(it, out);
    while (st == HR_WAIT) {
        const bool in_time = iterator_help(it, deadline);
        st = hr__iterator_try(it, out);
        if (!in_time) break;
    }
    return st;
}

hr_iterator *hr_at(hr_dataset *ds, int64_t index, const hr_element **out)
{
    *out = NULL;
    const int alone = 0;
    hr_iterator *it = hr_iterate(ds, .first = index, .workers = &alone, .window = 1, .unit_rows = 1);
    if (it->open && !it->error.code && index == 0) begin_at(it, index, &it->error); /* also here it must be allowed */
    if (hr_next(it, out) == HR_END)
        hr_fail(&it->error, HR_OUT_OF_RANGE, "at.index",
                "at: expected the number of an element, got %lld, which is beyond the last one", (long long)index);
    return it;
}

void hr_iterator_locate(hr_iterator *it, int64_t row, hr_error *err)
{
    const hr_element *e = &it->element;
    if (it->open && e->columns && row >= 0 && row < e->end - e->first)
        hr__name_line(&it->engine, e->columns, e->first + row, err);
}

const hr_error *hr_iterator_error(const hr_iterator *it)
{
    static const hr_error error = HR__NO_MEMORY_FOR("an iterator");
    if (!it->open) return &error;
    return it->error.code ? &it->error : NULL;
}

uint64_t hr_iterator_seed(const hr_iterator *it) { return it->open ? it->engine.seed : 0; }

hr_status hr_iterator_save(hr_iterator *it, void **state, size_t *size, hr_error *err)
{
    *state = NULL;
    *size = 0;
    const hr_error *failed = hr_iterator_error(it);
    if (!failed && it->input.start > 0)
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.first",
                       "saved state: expected an iterator from the first element on, got one that began with number "
                       "%lld; keep that number and how many elements came since",
                       (long long)it->input.start);
    if (!failed) return hr__state_save(it, state, size, err);
    if (err) *err = *failed;
    return failed->code;
}

/* ---- the end ---- */

void hr_cancel(hr_iterator *it)
{
    if (it->open) hr__engine_cancel(&it->engine);
}

static void listener_free(uv_handle_t *async) { hr_free(async->data); }

/* No worker is inside the engine any more. */
static void listener_close(hr_iterator *it)
{
    listener *l = it->listener;
    if (!l) return;
    l->it = NULL;
    uv_close((uv_handle_t *)&l->async, listener_free);
}

static void close_run(hr_iterator *it)
{
    engine *e = &it->engine;
    hr__engine_cancel(e);
    if (e->begun && e->max_workers > 0) hr__pool_leave(&e->client);
    listener_close(it);
    hr__element_close(&it->element);
    if (it->input.head) hr__unit_clear(it->input.head);
    hr__input_clear(&it->input);
    hr__engine_close(e);
    hr_dataset_unref(it->ds);
}

void hr_iterator_free(hr_iterator *it)
{
    if (!it || it == &no_memory) return;
    if (it->open) close_run(it);
    hr_free(it);
}

/* ---- again ---- */

hr_status hr_iterator_reset_with(hr_iterator *it, hr_dataset *ds, const hr_iterate_opts *opts)
{
    const hr_iterate_opts o = HR_OPTIONS(hr_iterate_opts, opts);
    if (!it->open) return hr_dataset_unref(ds), HR_RESOURCE_EXHAUSTED;
    const hr_dataset *old = it->ds;
    if (ds && !old->error.code && !ds->error.code && !hr_schema_equal(&old->out.schema, &ds->out.schema)) {
        hr_dataset_unref(ds);
        return hr_fail(&it->error, HR_INVALID_ARGUMENT, "iterator.schema",
                       "iterator: expected a dataset of the same components as the one before");
    }
    if (!ds) ds = hr_dataset_ref(it->ds);
    close_run(it);
    memset(it, 0, sizeof *it);
    it->ds = ds;
    if (!iterator_open(it, &o)) return hr_dataset_unref(ds), HR_RESOURCE_EXHAUSTED;
    return iterator_start(it, &o);
}
