/* The monitored session: hooks around one session.run each. Failures stick; after one no hook ends. */
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/constructor.h"
#include "train/hooks/hooks_internal.h"
#include <headrace/checkpoint.h>
#include <string.h>

/* ---- making ---- */

/* What a hook's function has returned; HR_END where it may say so. *err was without code and kind before. */
static hr_status hook_returned(const hr_hook_kind *kind, hr_status returned, bool may_end, hr_error *err)
{
    return returned == HR_END && may_end ? HR_END : hr__descriptor_answer(kind->name, "hooks.failed", returned, err);
}

static hr_status begin_hooks(hr_monitored_session *m, hr_error *err)
{
    for (int i = 0; i < m->hooks; i++) {
        const hr_hook_kind *kind = m->hook[i]->kind;
        if (kind->begin) HR_TRY(hook_returned(kind, kind->begin(m->hook[i]->state, m->graph, err), false, err));
    }
    const hr_error *failed = hr_graph_error(m->graph);
    if (failed) *err = *failed;
    return failed ? failed->code : HR_OK;
}

static hr_status keep_options(hr_monitored_session *m, const hr_monitored_session_opts *o, hr_error *err)
{
    if (o->checkpoint_dir) m->checkpoint_dir = hr_strdup(o->checkpoint_dir);
    if (o->checkpoint_path) m->checkpoint_path = hr_strdup(o->checkpoint_path);
    if (o->workers) m->workers = hr_memdup(o->workers, sizeof *o->workers);
    if (o->passes) m->passes = hr_strdup(o->passes);
    const hr_var_list *list = &o->var_list;
    if (list->count < 0 || (list->count > 0 && !list->saved))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.var_list",
                       "var_list: expected an array of variables, got NULL or a count below 0");
    if (list->count > 0) m->var_list.saved = hr_memdup(list->saved, (size_t)list->count * sizeof *list->saved);
    if (m->var_list.saved) m->var_list.count = list->count;
    m->products = o->products;
    m->profile = o->profile;
    m->init_fn = o->init_fn;
    m->init_user = o->init_user;
    m->recovers = o->recovers;
    const bool kept = !m->checkpoint_dir == !o->checkpoint_dir && !m->checkpoint_path == !o->checkpoint_path &&
                      !m->workers == !o->workers && !m->passes == !o->passes && m->var_list.count == list->count;
    return kept ? HR_OK : hr_no_memory(err, "the options of a session");
}

static hr_status initialize(hr_monitored_session *m, hr_error *err)
{
    return hr_session_run(m->session, NULL, 0, &m->init, 1, NULL, err);
}

/* A checkpoint of some variables leaves the others as they begin. */
static hr_status restore_variables(hr_monitored_session *m, hr_error *err)
{
    if (m->var_list.count > 0) HR_TRY(initialize(m, err));
    return hr__monitored_restore(m, m->restored, err);
}

/* Their initial values, and whatever else there is before the first step. */
static hr_status begin_variables(hr_monitored_session *m, hr_error *err)
{
    HR_TRY(initialize(m, err));
    if (m->init_fn) HR_TRY(m->init_fn(m->session, m->init_user, err));
    for (int i = 0; i < m->extras; i++) HR_TRY(m->extra[i].restore(m->extra[i].user, (hr_view){NULL, -1}, err));
    return HR_OK;
}

/* What ready_op gives are names of variables without a value. */
static hr_status check_ready(hr_monitored_session *m, hr_error *err)
{
    hr_tensor missing;
    if (!hr_node_exists(m->ready)) return HR_OK;
    HR_TRY(hr_session_run(m->session, NULL, 0, &m->ready, 1, &missing, err));
    hr_status st = HR_OK;
    if (missing.dtype != HR_STRING)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "hooks.ready", "ready_op: expected strings, got %s",
                     hr_dtype_name(missing.dtype));
    else if (missing.count > 0)
        st = hr_fail(err, HR_FAILED_PRECONDITION, "hooks.ready",
                     "the session is not ready: expected no variable without a value, got %lld, first '%.*s'",
                     (long long)missing.count, (int)((const hr_view *)missing.data)->size,
                     ((const hr_view *)missing.data)->data);
    hr_tensor_clear(&missing);
    return st;
}

static hr_status make_variables(hr_monitored_session *m, hr_error *err)
{
    hr_free(m->restored);
    m->restored = NULL;
    if (m->checkpoint_path) {
        m->restored = m->checkpoint_path[0] ? hr_strdup(m->checkpoint_path) : NULL;
        if (m->checkpoint_path[0] && !m->restored) return hr_no_memory(err, "a path");
    } else if (m->checkpoint_dir) {
        HR_TRY(hr_whole_checkpoint(m->checkpoint_dir, &m->restored, err));
    }
    HR_TRY(m->restored ? restore_variables(m, err) : begin_variables(m, err));
    HR_TRY(hr_session_run(m->session, NULL, 0, &m->local_init, 1, NULL, err));
    return check_ready(m, err);
}

/* A session in the place of the one before, which may have failed anywhere. */
static hr_status create_session(hr_monitored_session *m, hr_error *err)
{
    hr_session_free(m->session);
    m->session = hr_session_new(m->graph, .workers = m->workers, .passes = m->passes, .products = m->products);
    if (!m->session) return hr_no_memory(err, "a session");
    HR_TRY(make_variables(m, err));
    for (int i = 0; i < m->hooks; i++) {
        const hr_hook_kind *kind = m->hook[i]->kind;
        if (kind->after_create_session)
            HR_TRY(hook_returned(kind, kind->after_create_session(m->hook[i]->state, m, err), false, err));
    }
    return HR_OK;
}

static bool may_recover(const hr_monitored_session *m, hr_status st)
{
    return m->recovers && (st == HR_ABORTED || st == HR_UNAVAILABLE);
}

/* Forgets the failure. */
static void begin_recovery(hr_monitored_session *m)
{
    for (int i = 0; i < m->hooks; i++)
        if (m->hook[i]->kind->settle) m->hook[i]->kind->settle(m->hook[i]->state);
    if (m->checkpoint_dir) {
        hr_free(m->checkpoint_path);
        m->checkpoint_path = NULL;
    }
    hr_log_message(HR_WARNING, "the session is made anew, from the last checkpoint: %s", m->error.text);
    m->error = (hr_error){0};
    m->ended = false;
}

/* Until it succeeds, fails in another way, or is asked to stop. */
static hr_status create_until_there(hr_monitored_session *m)
{
    hr_status st;
    while (may_recover(m, st = create_session(m, &m->error)) && !atomic_load(&m->stop)) begin_recovery(m);
    return st;
}

static hr_status open_session(hr_monitored_session *m, const hr_monitored_session_opts *o)
{
    if (!m->graph)
        return hr_fail(&m->error, HR_INVALID_ARGUMENT, "hooks.argument",
                       "session: expected a graph, and arrays where there is a count, got NULL");
    HR_TRY(keep_options(m, o, &m->error));
    HR_TRY(begin_hooks(m, &m->error));
    m->init = o->init_op ? *o->init_op : hr_target(hr_global_variables_initializer(m->graph));
    m->local_init = o->local_init_op ? *o->local_init_op : hr_target(hr_local_variables_initializer(m->graph));
    m->ready = o->ready_op ? *o->ready_op : (hr_node){0};
    return create_until_there(m);
}

static void free_session(hr_monitored_session *m)
{
    hr_session_free(m->session);
    if (m->request) {
        hr_free(m->request->feed);
        hr_free(m->request->fed);
        hr_free(m->request->fetch);
        hr_free(m->request->result);
    }
    hr_free(m->request);
    hr_run_stats_free(m->stats);
    hr_free(m->checkpoint_dir);
    hr_free(m->checkpoint_path);
    hr_free(m->workers);
    hr_free(m->passes);
    hr_free(m->restored);
    hr_free((void *)(uintptr_t)m->var_list.saved);
    hr_free(m->extra);
    hr_free(m->first);
    hr_free(m->hook);
    hr_free(m);
}

static hr_monitored_session *monitored_allocate(int hooks, int extras)
{
    hr_monitored_session *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    m->hook = hr_calloc((size_t)hooks + 1, sizeof *m->hook);
    m->first = hr_calloc((size_t)hooks + 1, sizeof *m->first);
    m->extra = hr_calloc((size_t)extras + 1, sizeof *m->extra);
    m->request = hr_calloc(1, sizeof *m->request);
    if (m->hook && m->first && m->extra && m->request) return m;
    free_session(m);
    return NULL;
}

hr_monitored_session *hr_monitored_session_new_with(hr_graph *g, hr_hook *const *hooks, int count,
                                                    const hr_monitored_session_opts *o)
{
    o = &HR_OPTIONS(hr_monitored_session_opts, o);
    bool lacking = !g || count < 0 || (count > 0 && !hooks) || o->extras < 0 || (o->extras > 0 && !o->extra);
    for (int i = 0; hooks && i < count; i++) lacking |= !hooks[i];
    const int extras = lacking ? 0 : o->extras;
    if (count < 0 || !hooks) count = 0;
    hr_monitored_session *m = monitored_allocate(count, extras);
    if (!m) {
        for (int i = 0; i < count; i++) hr_hook_free(hooks[i]);
        return NULL;
    }
    m->graph = lacking ? NULL : g;
    m->hooks = count;
    m->extras = extras;
    m->now = o->now ? o->now : hr__time_of_day;
    m->user = o->user;
    if (count) memcpy(m->hook, hooks, (size_t)count * sizeof *hooks);
    if (extras) memcpy(m->extra, o->extra, (size_t)extras * sizeof *o->extra);
    m->ended = open_session(m, o) != HR_OK;
    return m;
}

/* ---- running ---- */

hr_status hr_request_fetch(hr_run_request *r, hr_node node, hr_error *err)
{
    if (r->fetches == r->fetch_capacity) {
        int capacity = r->fetch_capacity ? 2 * r->fetch_capacity : 16;
        hr_node *fetch = hr_realloc(r->fetch, (size_t)capacity * sizeof *fetch);
        if (fetch) r->fetch = fetch;
        hr_tensor *result = fetch ? hr_realloc(r->result, (size_t)capacity * sizeof *result) : NULL;
        if (!result) return hr_no_memory(err, "what a hook fetches");
        r->result = result;
        r->fetch_capacity = capacity;
    }
    r->fetch[r->fetches++] = node;
    return HR_OK;
}

static bool same_node(hr_node a, hr_node b) { return a.graph == b.graph && a.id == b.id && a.output == b.output; }

static hr_status place_of_feed(hr_run_request *r, hr_node node, int **place, hr_error *err)
{
    if (node.id >= r->fed_capacity) {
        const int32_t size = hr_graph_size(node.graph), capacity = node.id < size ? size : node.id + 1;
        int *fed = hr_realloc(r->fed, (size_t)capacity * sizeof *fed);
        if (!fed) return hr_no_memory(err, "what a run is fed");
        memset(fed + r->fed_capacity, 0, (size_t)(capacity - r->fed_capacity) * sizeof *fed);
        r->fed = fed;
        r->fed_capacity = capacity;
    }
    *place = &r->fed[node.id];
    return HR_OK;
}

/* What an earlier run noted is no feed of this run, or that of another node. All feeds are compared only where the node
 * is fed already, maybe another output of it. */
static bool is_fed(const hr_run_request *r, hr_node node, int noted)
{
    bool fed = false;
    if (noted == 0 || noted > r->feeds || r->feed[noted - 1].node.id != node.id) return false;
    for (int i = 0; i < r->feeds; i++) fed |= same_node(r->feed[i].node, node);
    return fed;
}

hr_status hr_request_feed(hr_run_request *r, hr_node node, hr_tensor value, hr_error *err)
{
    int none = 0, *place = &none;
    if (node.id >= 0 && node.id < INT32_MAX) HR_TRY(place_of_feed(r, node, &place, err));
    if (is_fed(r, node, *place))
        return hr_fail(err, HR_FAILED_PRECONDITION, "hooks.feed", "'%s' is fed twice in one run", hr_node_name(node));
    if (r->feeds == r->feed_capacity) {
        int capacity = r->feed_capacity ? 2 * r->feed_capacity : 64;
        hr_feed *feed = hr_realloc(r->feed, (size_t)capacity * sizeof *feed);
        if (!feed) return hr_no_memory(err, "what a run is fed");
        r->feed = feed;
        r->feed_capacity = capacity;
    }
    r->feed[r->feeds++] = (hr_feed){node, value};
    *place = r->feeds;
    return HR_OK;
}

hr_status hr_request_stats(hr_run_request *r, hr_error *err)
{
    if (!r) return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.argument", "request: expected one, got NULL");
    r->stats = true;
    return HR_OK;
}

/* The caller's fetches come first, then each hook's. */
static hr_status gather_requests(hr_monitored_session *m, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                                 int fetch_count, hr_error *err)
{
    hr_run_request *r = m->request;
    r->feeds = r->fetches = 0;
    r->stats = false;
    hr_run_stats_free(m->stats);
    m->stats = NULL;
    for (int i = 0; i < feed_count; i++) HR_TRY(hr_request_feed(r, feeds[i].node, feeds[i].value, err));
    for (int i = 0; i < fetch_count; i++) HR_TRY(hr_request_fetch(r, fetches[i], err));
    for (int i = 0; i < m->hooks; i++) {
        const hr_hook_kind *kind = m->hook[i]->kind;
        m->first[i] = r->fetches;
        if (kind->before_run) HR_TRY(hook_returned(kind, kind->before_run(m->hook[i]->state, m, r, err), true, err));
    }
    return HR_OK;
}

static hr_status after_run(hr_monitored_session *m, hr_error *err)
{
    for (int i = 0; i < m->hooks; i++) {
        const hr_hook_kind *kind = m->hook[i]->kind;
        const hr_tensor *results = m->request->result ? m->request->result + m->first[i] : NULL;
        if (kind->after_run)
            HR_TRY(hook_returned(kind, kind->after_run(m->hook[i]->state, m, results, err), true, err));
    }
    return HR_OK;
}

static hr_status run_once(hr_monitored_session *m, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                          int fetch_count, hr_tensor *out, hr_error *err)
{
    hr_run_request *r = m->request;
    HR_TRY(gather_requests(m, feeds, feed_count, fetches, fetch_count, err));
    HR_TRY(hr_session_run_with(m->session, r->feed, r->feeds, r->fetch, r->fetches, r->result,
                               HR_RUN_OPTS(.stats = r->stats ? &m->stats : NULL, .profile = m->profile), err));
    hr_status st = after_run(m, err);
    for (int i = 0; i < r->fetches; i++) {
        if (st == HR_OK && out && i < fetch_count)
            out[i] = r->result[i];
        else
            hr_tensor_clear(&r->result[i]);
    }
    return st;
}

/* HR_END: no more runs, which is no failure. */
static hr_status may_run(const hr_monitored_session *m, hr_error *err)
{
    if (m->error.code && err) *err = m->error;
    if (m->error.code) return m->error.code;
    if (!m->ended && !m->stopping) return HR_OK;
    return hr_fail(err, HR_END, "hooks.stopped", "the session was asked to stop");
}

/* Failures stick. The end of data, which a hook may report, is none: hooks will end. */
static hr_status settle(hr_monitored_session *m, hr_status st, hr_error *err)
{
    if (st != HR_OK) m->ended = true;
    m->error.code = st < 0 ? st : HR_OK;
    if (st < 0 && err) *err = m->error;
    return st;
}

/* `tries`: how often that was done for this call; a session that fails again and again can be stopped. */
static bool should_recover(hr_monitored_session *m, hr_status st, int tries)
{
    return may_recover(m, st) && (tries == 0 || !atomic_load(&m->stop));
}

/* A new session. HR_OK: the call can be repeated. */
static hr_status recover(hr_monitored_session *m)
{
    begin_recovery(m);
    return create_until_there(m);
}

hr_status hr_monitored_run(hr_monitored_session *m, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                           int fetch_count, hr_tensor *out, hr_error *err)
{
    if (!m) return hr_no_memory(err, "a session");
    if ((feed_count > 0 && !feeds) || (fetch_count > 0 && !fetches))
        return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.argument", "session: expected feeds and fetches, got NULL");
    HR_TRY(may_run(m, err));
    hr_status st = run_once(m, feeds, feed_count, fetches, fetch_count, out, &m->error);
    for (int tries = 0; !m->in_step_fn && should_recover(m, st, tries); tries++) {
        st = recover(m);
        if (st == HR_OK) st = run_once(m, feeds, feed_count, fetches, fetch_count, out, &m->error);
    }
    return settle(m, st, err);
}

/* What a run within it has failed with sticks, even if the function says otherwise. */
static hr_status call_step_fn(hr_monitored_session *m, hr_step_fn *fn, void *user)
{
    hr_error why = {0};
    m->in_step_fn = true;
    hr_status st = fn(m, user, &why);
    m->in_step_fn = false;
    if (m->error.code) return m->error.code;
    if (st != HR_END) st = hr__descriptor_answer("a step function", "hooks.failed", st, &why);
    if (st < 0) m->error = why;
    return st;
}

hr_status hr_run_step_fn(hr_monitored_session *m, hr_step_fn *fn, void *user, hr_error *err)
{
    if (!m) return hr_no_memory(err, "a session");
    if (!fn) return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.argument", "session: expected a function, got NULL");
    HR_TRY(may_run(m, err));
    hr_status st = call_step_fn(m, fn, user);
    for (int tries = 0; should_recover(m, st, tries); tries++) {
        st = recover(m);
        if (st == HR_OK) st = call_step_fn(m, fn, user);
    }
    return settle(m, st, err);
}

/* A request counts from here on only: a run whose input was taken already still happens. */
bool hr_should_stop(hr_monitored_session *m)
{
    if (!m) return true;
    if (atomic_load(&m->stop)) m->stopping = true;
    return m->ended || m->stopping;
}

bool hr_stop_requested(const hr_monitored_session *m) { return !m || atomic_load(&m->stop); }

void hr_request_stop(hr_monitored_session *m)
{
    if (m) atomic_store(&m->stop, true);
}

const hr_error *hr_monitored_session_error(const hr_monitored_session *m)
{
    static const hr_error none = HR__NO_MEMORY_FOR("a session");
    if (!m) return &none;
    return m->error.code ? &m->error : NULL;
}

hr_session *hr_monitored_raw(hr_monitored_session *m) { return m ? m->session : NULL; }
hr_graph *hr_monitored_graph(hr_monitored_session *m) { return m ? m->graph : NULL; }
double hr_monitored_now(const hr_monitored_session *m) { return m ? m->now(m->user) : 0; }
bool hr_monitored_restored(const hr_monitored_session *m) { return m && m->restored; }
const char *hr_monitored_checkpoint(const hr_monitored_session *m) { return m ? m->restored : NULL; }

const hr_run_stats *hr_monitored_stats(const hr_monitored_session *m) { return m ? m->stats : NULL; }

hr_status hr_monitored_step(hr_monitored_session *m, int64_t *step, hr_error *err)
{
    if (!m) return hr_no_memory(err, "a session");
    if (!m->session) {
        if (err) *err = m->error;
        return m->error.code;
    }
    hr_tensor value;
    const hr_variable_info *info = hr_variable_named(m->graph, "global_step");
    if (!info)
        return hr_fail(err, HR_NOT_FOUND, "hooks.global_step", "the graph has no global_step; hr_global_step makes it");
    HR_TRY(hr_session_get(m->session, info->handle, &value, err));
    *step = *(const int64_t *)value.data;
    hr_tensor_clear(&value);
    return HR_OK;
}

/* ---- the end ---- */

hr_status hr_monitored_session_close(hr_monitored_session *m, bool failed, hr_error *err)
{
    if (!m) return hr_no_memory(err, "a session");
    hr_status st = m->error.code;
    if (st != HR_OK && err) *err = m->error;
    for (int i = 0; i < m->hooks && st == HR_OK && !failed; i++) {
        const hr_hook_kind *kind = m->hook[i]->kind;
        hr_error why = {0};
        if (kind->end) st = hook_returned(kind, kind->end(m->hook[i]->state, m, &why), false, &why);
        if (st != HR_OK && err) *err = why;
    }
    for (int i = 0; i < m->hooks; i++) hr_hook_free(m->hook[i]);
    free_session(m);
    return st;
}
