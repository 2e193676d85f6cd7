/* A session: what a graph's nodes keep between runs, and the run itself: feeds in, plan, execute, fetches out. */
#include "base/constructor.h"
#include "train/graph/graph_internal.h"

#include <string.h>

hr_session *hr_session_new_with(hr_graph *g, const hr_session_opts *opts)
{
    hr_session *s = g ? hr_calloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    const int *workers = HR_OPTIONS(hr_session_opts, opts).workers;
    s->graph = g;
    s->inline_only = workers && *workers == 0;
    s->lock_made = uv_mutex_init(&s->lock) == 0;
    s->woken_made = uv_cond_init(&s->woken) == 0;
    s->buffers = hr__buffers_new();
    s->client = (hr__client){.run_one = hr__execute_one, .max_workers = workers ? *workers : -1};
    if (s->lock_made && s->woken_made && s->buffers) {
        s->joined = !s->inline_only && hr__pool_join(&s->client, NULL) == HR_OK;
        if (s->joined || s->inline_only) return s;
    }
    hr_session_free(s);
    return NULL;
}

static void free_states(hr_session *s)
{
    for (int32_t i = 0; i < s->state_count; i++) {
        hr__node_state *state = &s->states[i];
        const hr__node *n = s->graph->nodes[i];
        for (int j = 0; state->fixed && j < n->outputs; j++) hr_buffer_unref(state->fixed[j].buffer);
        hr_free(state->fixed);
        if (state->prepared && n->op->release) n->op->release(state->state);
        hr_free(state->state);
    }
    hr_free(s->states);
}

void hr_session_free(hr_session *s)
{
    if (!s) return;
    if (s->joined) hr__pool_leave(&s->client);
    while (s->plans) {
        hr__plan *plan = s->plans;
        s->plans = plan->link;
        hr__plan_free(plan);
    }
    free_states(s);
    for (int i = 0; i < s->resource_count; i++) {
        s->resources[i].kind->release(s->resources[i].resource);
        hr_free(s->resources[i].resource);
        hr_free(s->resources[i].name);
    }
    hr_free(s->resources);
    hr__map_free(&s->resource_names);
    hr__buffers_close(s->buffers);
    if (s->woken_made) uv_cond_destroy(&s->woken);
    if (s->lock_made) uv_mutex_destroy(&s->lock);
    hr_free(s);
}

void hr_session_cancel(hr_session *s)
{
    if (s) atomic_store(&s->cancelled, true);
}

const hr_error *hr_session_error(const hr_session *s)
{
    static const hr_error no_memory = HR__NO_MEMORY_FOR("a session");
    if (!s) return &no_memory;
    return s->error.code == HR_OK ? NULL : &s->error;
}

/* ---- feeds ---- */

static hr_status check_feed(const hr_feed *feed, int64_t *count, hr_error *err)
{
    hr_shape merged;
    hr__shape_name wanted, got;
    const hr_dtype dtype = hr_node_dtype(feed->node);
    const hr_shape shape = hr_node_shape(feed->node);
    const hr_status st = hr__check_tensor(&feed->value, "session.feed", count, err);
    if (st != HR_OK) hr_error_prefix(err, "feed of node '%s': ", hr_node_name(feed->node));
    HR_TRY(st);
    if (feed->value.dtype == dtype && hr_shape_merge(shape, feed->value.shape, &merged)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "session.feed", "feed of node '%s': expected a dense %s %s, got %s %s",
                   hr_node_name(feed->node), hr_dtype_name(dtype), hr__shape_in(&wanted, shape),
                   hr_dtype_name(feed->value.dtype), hr__shape_in(&got, feed->value.shape));
}

/* A fed slot borrows: without a buffer it is neither dropped nor written over. */
static hr_status set_feeds(hr__plan *plan, const hr_feed *feeds, int count, hr_error *err)
{
    for (int i = 0; i < count; i++) {
        int64_t values;
        HR_TRY(check_feed(&feeds[i], &values, err));
        hr_tensor *slot = &plan->slots[plan->feed_slot[i]];
        *slot = feeds[i].value;
        slot->count = values;
        slot->buffer = NULL;
    }
    return HR_OK;
}

/* ---- fetches ---- */

/* What has no buffer is borrowed, from the caller or the graph: the caller gets a copy. */
static hr_status session_give(const hr_tensor *slot, hr_tensor *out, hr_error *err)
{
    if (slot->buffer) {
        *out = *slot;
        hr_buffer_ref(out->buffer);
        return HR_OK;
    }
    if (slot->dtype == HR_STRING) return hr_tensor_strings(out, slot->shape, slot->data, err);
    HR_TRY(hr_tensor_new(out, slot->dtype, slot->shape, err));
    const size_t bytes = (size_t)slot->count * hr_dtype_size(slot->dtype);
    if (bytes) memcpy(out->data, slot->data, bytes);
    return HR_OK;
}

static hr_status give_fetches(const hr__plan *plan, hr_tensor *out, hr_error *err)
{
    for (int i = 0; i < plan->fetches; i++) {
        if (out) out[i] = (hr_tensor){0};
        if (!out || plan->fetch_slot[i] < 0) continue;
        const hr_status st = session_give(&plan->slots[plan->fetch_slot[i]], &out[i], err);
        for (int j = 0; st != HR_OK && j < i; j++) hr_tensor_clear(&out[j]);
        HR_TRY(st);
    }
    return HR_OK;
}

static bool any_variable(const hr_node *fetches, int count)
{
    for (int i = 0; i < count; i++)
        if (hr_node_dtype(fetches[i]) == HR_RESOURCE) return true;
    return false;
}

/* ---- the run ---- */

static hr_status run_plan(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                          hr_tensor *out)
{
    hr__plan *plan;
    if (s->graph->error.code != HR_OK) {
        s->error = s->graph->error;
        return s->error.code;
    }
    HR_TRY(hr__plan_get(s, feeds, feed_count, fetches, fetch_count, &plan, &s->error));
    HR_TRY(set_feeds(plan, feeds, feed_count, &s->error));
    HR_TRY(hr__execute(s, plan, &s->error));
    const hr_status st = give_fetches(plan, out, &s->error);
    hr__fetch_done(plan);
    return st;
}

/* Fetching a variable fetches its value. */
static hr_status run_values(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                            int fetch_count, hr_tensor *out)
{
    hr_node *values = hr_memdup(fetches, sizeof *values * (size_t)fetch_count);
    if (!values) return hr_no_memory(&s->error, "a run");
    for (int i = 0; i < fetch_count; i++) {
        const hr_variable_info *info = hr_variable_of(values[i]);
        if (info && hr_node_dtype(values[i]) == HR_RESOURCE) values[i] = info->read;
    }
    const hr_status st = run_plan(s, feeds, feed_count, values, fetch_count, out);
    hr_free(values);
    return st;
}

hr_status hr_session_run(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                         hr_tensor *out, hr_error *err)
{
    hr_status st;
    if (!s) return hr_no_memory(err, "a session");
    s->error.code = HR_OK;
    if (!feeds && feed_count > 0)
        st = hr_fail(&s->error, HR_INVALID_ARGUMENT, "session.feed", "expected %d feeds, got NULL", feed_count);
    else if (!fetches && fetch_count > 0)
        st = hr_fail(&s->error, HR_INVALID_ARGUMENT, "session.fetch", "expected %d fetches, got NULL", fetch_count);
    else if (any_variable(fetches, fetch_count))
        st = run_values(s, feeds, feed_count, fetches, fetch_count, out);
    else
        st = run_plan(s, feeds, feed_count, fetches, fetch_count, out);
    if (st != HR_OK && s->error.code == HR_OK) s->error.code = st;
    if (st != HR_OK && err) *err = s->error;
    return st;
}
