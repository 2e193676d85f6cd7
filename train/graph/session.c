/* A session: what a graph's nodes keep between runs, and the run itself: feeds in, plan, execute, fetches out. */
#include "base/constructor.h"
#include "io/within.h"
#include "train/graph/graph_internal.h"

#include <string.h>

/* ---- the session ---- */

static void (*early_load)(void); /* the one that the loader's thread has */

static void load_early(void *unused)
{
    (void)unused;
    early_load();
}

/* What the graph's kernels load meets the end of the graph's own work: variables that draw their first values, files of
 * the graph. Only the first session in the process has a loader. */
static void begin_loading(hr_session *s)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    void (*load)(void) = NULL;
    for (int32_t i = 0; i < s->graph->node_count && !load; i++) load = s->graph->nodes[i]->op->load;
    if (!load || s->inline_only || atomic_flag_test_and_set(&begun)) return;
    early_load = load;
    s->loading = uv_thread_create(&s->loader, load_early, NULL) == 0; /* else prepare loads */
}

hr_session *hr_session_new_with(hr_graph *g, const hr_session_opts *given)
{
    const hr_session_opts opts = HR_OPTIONS(hr_session_opts, given);
    hr_session *s = g ? hr_calloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    const int *workers = opts.workers;
    s->graph = g;
    s->instance = (hr__instance){.graph = g, .session = s};
    s->inline_only = workers && *workers == 0;
    s->passes = opts.passes ? hr_strdup(opts.passes) : NULL;
    s->products = opts.products;
    if (opts.folder && hr__path_real(opts.folder, &s->folder, NULL) != HR_OK) s->folder = hr_strdup("");
    s->kernel_workers = s->inline_only ? 0 : opts.kernel_workers ? *opts.kernel_workers : -1;
    s->timeout = opts.timeout;
    s->memory_limit = opts.memory_limit;
    s->lock_made = uv_mutex_init(&s->lock) == 0;
    s->planning_made = uv_mutex_init(&s->planning) == 0;
    s->buffers = hr__buffers_new();
    s->resources = opts.share ? hr__resources_share(opts.share->resources) : hr__resources_new();
    s->client = (hr__client){.run_one = hr__execute_one, .max_workers = workers ? *workers : -1};
    if (s->lock_made && s->planning_made && s->buffers && s->resources && (s->passes || !opts.passes) &&
        (s->folder || !opts.folder)) {
        s->joined = !s->inline_only && hr__pool_join(&s->client, NULL) == HR_OK;
        if (s->joined || s->inline_only) {
            begin_loading(s);
            return s;
        }
    }
    hr_session_free(s);
    return NULL;
}

void hr_session_free(hr_session *s)
{
    if (!s) return;
    if (s->loading) (void)uv_thread_join(&s->loader);
    if (s->joined) hr__pool_leave(&s->client);
    hr__plans_free(s);
    hr__callees_free(&s->callees);
    hr__instance_free(&s->instance);
    hr__resources_leave(s->resources);
    hr__buffers_close(s->buffers);
    hr_free(s->passes);
    hr_free(s->folder);
    if (s->planning_made) uv_mutex_destroy(&s->planning);
    if (s->lock_made) uv_mutex_destroy(&s->lock);
    hr_free(s);
}

void hr_session_cancel(hr_session *s)
{
    if (!s) return;
    uv_mutex_lock(&s->lock);
    s->cancel_next = !s->runs;
    for (hr__run *run = s->runs; run; run = run->next) {
        run->cancelled = true;
        atomic_store_explicit(&run->stop, true, memory_order_release);
    }
    uv_mutex_unlock(&s->lock);
}

const hr_error *hr_session_error(const hr_session *s)
{
    static const hr_error no_memory = HR__NO_MEMORY_FOR("a session");
    if (!s) return &no_memory;
    return s->error.code == HR_OK ? NULL : &s->error;
}

/* ---- feeds ---- */

static bool fits(const hr__fed *wanted, const hr_tensor *got)
{
    const hr_shape *shape = &wanted->shape;
    if (wanted->dtype != got->dtype || (shape->rank >= 0 && shape->rank != got->shape.rank)) return false;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] >= 0 && shape->dims[i] != got->shape.dims[i]) return false;
    return true;
}

static hr_status check_feed(const hr__plan *plan, int i, const hr_tensor *value, int64_t *count, hr_error *err)
{
    hr__shape_name wanted, got;
    const hr__fed *fed = &plan->fed[i];
    const hr_status st = hr__check_tensor(value, "session.feed", count, err);
    if (st != HR_OK) hr_error_prefix(err, "feed of node '%s': ", hr_node_name(plan->feed_node[i]));
    HR_TRY(st);
    if (fits(fed, value)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "session.feed", "feed of node '%s': expected a dense %s %s, got %s %s",
                   hr_node_name(plan->feed_node[i]), hr_dtype_name(fed->dtype), hr__shape_in(&wanted, fed->shape),
                   hr_dtype_name(value->dtype), hr__shape_in(&got, value->shape));
}

hr_status hr__feed_slot(hr__frame *frame, int i, const hr_tensor *value, hr_error *err)
{
    int64_t values;
    HR_TRY(check_feed(frame->plan, i, value, &values, err));
    hr_tensor *slot = &frame->slots[frame->plan->feed_slot[i]];
    *slot = *value;
    slot->count = values;
    slot->buffer = NULL;
    return HR_OK;
}

/* ---- fetches ---- */

/* What has no buffer is borrowed, from the caller or the graph: the caller gets a copy. */
hr_status hr__tensor_give(const hr_tensor *slot, hr_tensor *out, hr_error *err)
{
    if (slot->dtype == HR_RESOURCE) return hr__slot_value(slot, out, err);
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

hr_status hr__give_fetch(const hr__frame *frame, int i, hr_tensor *out, hr_error *err)
{
    const int32_t slot = frame->plan->fetch_slot[i];
    HR_TRY(hr__fetch_has_value(frame, i, err));
    if (!out) return HR_OK;
    *out = (hr_tensor){0};
    return slot < 0 ? HR_OK : hr__tensor_give(&frame->slots[slot], out, err);
}

static hr_status give_fetches(const hr__frame *frame, hr_tensor *out, hr_error *err)
{
    const hr__plan *plan = frame->plan;
    for (int i = 0; i < plan->fetches; i++) {
        const hr_status st = hr__give_fetch(frame, i, out ? &out[i] : NULL, err);
        for (int j = 0; st != HR_OK && out && j < i; j++) hr_tensor_clear(&out[j]);
        HR_TRY(st);
    }
    return HR_OK;
}

/* ---- the run ---- */

hr_status hr__run_plan(hr_session *s, hr__plan *plan, const hr_feed *feeds, const hr_tensor *values, hr_tensor *out,
                       const hr_run_opts *opts, hr_error *err)
{
    hr__run run;
    hr__frame *frame = NULL;
    HR_TRY(hr__run_begin(&run, s, opts, err));
    hr_status st = hr__frame_get(&run, plan, &frame, err);
    for (int i = 0; st == HR_OK && i < plan->feeds; i++)
        st = hr__feed_slot(frame, i, feeds ? &feeds[i].value : &values[i], err);
    if (st == HR_OK) st = hr__execute(frame, err);
    st = hr__run_end(&run, opts, st, err);
    if (st == HR_OK) st = give_fetches(frame, out, err);
    if (frame) hr__frame_put(frame);
    hr__buffers_rest(s->buffers);
    return st;
}

void hr_session_rest(hr_session *s)
{
    if (s) hr__buffers_empty(s->buffers);
}

static bool any_variable(const hr_node *fetches, int count)
{
    for (int i = 0; i < count; i++)
        if (hr_node_dtype(fetches[i]) == HR_RESOURCE) return true;
    return false;
}

/* Fetching a variable fetches its value. */
static hr_status acquire_values(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                                int fetch_count, bool once, hr__plan **plan, hr_error *err)
{
    hr_node *values = hr_memdup(fetches, sizeof *values * (size_t)fetch_count);
    if (!values) return hr_no_memory(err, "a run");
    for (int i = 0; i < fetch_count; i++) {
        const hr_variable_info *info = hr_variable_of(values[i]);
        if (info && hr_node_dtype(values[i]) == HR_RESOURCE) values[i] = info->read;
    }
    const hr_status st = hr__plan_acquire(s, feeds, feed_count, values, fetch_count, once, plan, err);
    hr_free(values);
    return st;
}

hr_status hr__session_plan(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                           bool once, hr__plan **plan, hr_error *err)
{
    if ((!feeds && feed_count > 0) || feed_count < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.feed", "expected %d feeds, got NULL", feed_count);
    if ((!fetches && fetch_count > 0) || fetch_count < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.fetch", "expected %d fetches, got NULL", fetch_count);
    if (s->graph->at_once)
        return hr_fail(err, HR_INVALID_ARGUMENT, "eager.graph",
                       "session: expected a graph to run, got an eager one, whose nodes have their values already");
    if (s->graph->error.code != HR_OK) {
        *err = s->graph->error;
        return err->code;
    }
    return (any_variable(fetches, fetch_count) ? acquire_values : hr__plan_acquire)(s, feeds, feed_count, fetches,
                                                                                    fetch_count, once, plan, err);
}

hr_status hr__session_tell(hr_session *s, hr_status st, hr_error *failed, hr_error *err)
{
    if (st != HR_OK && failed->code == HR_OK) failed->code = st;
    if (st != HR_OK && err) *err = *failed;
    uv_mutex_lock(&s->lock);
    if (st == HR_OK)
        s->error.code = HR_OK;
    else
        s->error = *failed;
    uv_mutex_unlock(&s->lock);
    return st;
}

hr_status hr_session_run_with(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                              int fetch_count, hr_tensor *out, const hr_run_opts *given, hr_error *err)
{
    const hr_run_opts opts = HR_OPTIONS(hr_run_opts, given);
    hr__plan *plan;
    hr_error failed;
    if (opts.stats) *opts.stats = NULL;
    if (!s) return hr_no_memory(err, "a session");
    failed.code = HR_OK;
    hr_status st = hr__session_plan(s, feeds, feed_count, fetches, fetch_count, opts.once, &plan, &failed);
    if (st == HR_OK) {
        st = hr__run_plan(s, plan, feeds, NULL, out, &opts, &failed);
        hr__plan_release(s, plan);
    }
    return hr__session_tell(s, st, &failed, err);
}

hr_status hr_session_run(hr_session *s, const hr_feed *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                         hr_tensor *out, hr_error *err)
{
    return hr_session_run_with(s, feeds, feed_count, fetches, fetch_count, out, NULL, err);
}
