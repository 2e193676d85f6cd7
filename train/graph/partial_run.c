/* Runs in parts: one frame for all parts. A step waits as long as an input is not fed, or as long as a step waits that
 * it comes after; whatever waits no more runs with the part that fed it. */
#include "train/graph/graph_internal.h"
#include "train/graph/pass.h"

#include <string.h>

struct hr_partial {
    hr_session *session;
    hr__plan *plan;
    hr__frame *frame;
    hr__run run;      /* of the part that runs */
    hr__arena arena;  /* all that follows but the values of what is fed */
    hr_node *fetch;   /* as they were named */
    hr_tensor *value; /* of each feed, once fed */
    uint8_t *fed, *fetched;
    uint8_t *waiting, *ran, *marked; /* by step */
    uint8_t *unfed;                  /* by slot */
    hr_error failed;
};

static hr_status partial_fill(hr_partial *p, const hr_node *fetches, hr_error *err)
{
    const hr__plan *plan = p->plan;
    const size_t feeds = (size_t)plan->feeds + 1, nodes = (size_t)plan->fetches, steps = (size_t)plan->step_count + 1;
    p->fetch = hr__arena_copy(&p->arena, fetches, nodes * sizeof *p->fetch);
    p->value = hr__arena_get(&p->arena, feeds * sizeof *p->value);
    p->fed = hr__arena_get(&p->arena, feeds);
    p->fetched = hr__arena_get(&p->arena, nodes + 1);
    p->waiting = hr__arena_get(&p->arena, steps);
    p->ran = hr__arena_get(&p->arena, steps);
    p->marked = hr__arena_get(&p->arena, steps);
    p->unfed = hr__arena_get(&p->arena, (size_t)plan->slot_count + 1);
    if (!p->fetch || !p->value || !p->fed || !p->fetched || !p->waiting || !p->ran || !p->marked || !p->unfed)
        return hr_no_memory(err, "a partial run");
    HR_TRY(hr__frame_get(&p->run, p->plan, &p->frame, err));
    hr__execute_begin(p->frame);
    return HR_OK;
}

hr_status hr_partial_run_setup(hr_session *s, const hr_node *feeds, int feed_count, const hr_node *fetches,
                               int fetch_count, hr_partial **out, hr_error *err)
{
    hr_error failed = {0};
    if (!out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.argument",
                       "hr_partial_run_setup: expected a place for the partial run, got NULL");
    *out = NULL;
    if (!s) return hr_no_memory(err, "a session");
    hr_partial *p = hr_calloc(1, sizeof *p);
    if (!p) return hr_no_memory(err, "a partial run");
    p->session = p->run.session = s;
    hr_status st = hr__plan_for_nodes(s, feeds, feed_count, fetches, fetch_count, &p->plan, &failed);
    if (st == HR_OK) st = partial_fill(p, fetches, &failed);
    if (st == HR_OK)
        *out = p;
    else
        hr_partial_free(p);
    return hr__session_tell(s, st, &failed, err);
}

void hr_partial_free(hr_partial *p)
{
    if (!p) return;
    for (int i = 0; p->value && i < p->plan->feeds; i++) hr_tensor_clear(&p->value[i]);
    if (p->frame) hr__frame_put(p->frame);
    if (p->plan) hr__plan_release(p->session, p->plan);
    hr__arena_free(&p->arena);
    hr_free(p);
}

/* ---- which feeds and fetches ---- */

static bool is_node(hr_node a, hr_node b) { return a.graph == b.graph && a.id == b.id && a.output == b.output; }

/* The first one in `nodes` that is `node` and not `done` yet. */
static hr_status partial_find(const hr_node *nodes, int count, const uint8_t *done, hr_node node, const char *what,
                              int *out, hr_error *err)
{
    bool twice = false;
    for (*out = 0; *out < count; ++*out) {
        if (!is_node(nodes[*out], node)) continue;
        if (!done[*out]) return HR_OK;
        twice = true;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "session.partial",
                   "partial run: expected to %s what hr_partial_run_setup was given and each of it once, got '%s' %s",
                   what, hr_node_name(node), twice ? "again" : "which it was not given");
}

/* ---- what waits ---- */

/* A step that comes after what is fed takes no slot of it. */
static bool waits_for_feed(const hr_partial *p, hr_node control)
{
    for (int i = 0; i < p->plan->feeds; i++)
        if (!p->fed[i] && hr_rewrite_feed(p->plan->graph, i).id == control.id) return true;
    return false;
}

static void find_waiting(hr_partial *p)
{
    const hr__plan *plan = p->plan;
    for (int i = 0; i < plan->feeds; i++) p->unfed[plan->feed_slot[i]] = !p->fed[i];
    memset(p->waiting, 0, (size_t)plan->step_count);
    for (int i = 0; i < plan->step_count; i++) {
        const hr__step *step = &plan->steps[i];
        for (int j = 0; j < step->node->inputs; j++) p->waiting[i] |= p->unfed[step->slot[j]];
        for (int j = 0; j < step->node->controls; j++) p->waiting[i] |= waits_for_feed(p, step->node->control[j]);
        for (int j = 0; p->waiting[i] && j < step->nexts; j++) p->waiting[step->next[j]] = 1;
        p->marked[i] = !p->waiting[i] && !p->ran[i];
    }
}

static hr_status check_can_fetch(const hr_partial *p, int i, hr_error *err)
{
    const int32_t slot = p->plan->fetch_slot[i], step = p->plan->fetch_step[i];
    bool fed = false;
    for (int j = 0; j < p->plan->feeds; j++) fed |= slot == p->plan->feed_slot[j];
    if (fed ? !p->unfed[slot] : step < 0 || !p->waiting[step]) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "session.partial",
                   "partial run: expected to fetch what can be computed from what is fed so far, got '%s'",
                   hr_node_name(p->fetch[i]));
}

/* ---- a part ---- */

/* Copies the value, since later parts need it. */
static hr_status partial_feed(hr_partial *p, int i, const hr_tensor *value, hr_error *err)
{
    hr_tensor *slot = &p->frame->slots[p->plan->feed_slot[i]];
    HR_TRY(hr__feed_slot(p->frame, i, value, err));
    HR_TRY(hr__tensor_give(slot, &p->value[i], err));
    *slot = p->value[i];
    p->fed[i] = 1;
    return HR_OK;
}

static hr_status feed_all(hr_partial *p, const hr_feed *feeds, int count, hr_error *err)
{
    for (int i = 0, at; i < count; i++) {
        HR_TRY(partial_find(p->plan->feed_node, p->plan->feeds, p->fed, feeds[i].node, "feed", &at, err));
        HR_TRY(partial_feed(p, at, &feeds[i].value, err));
    }
    return HR_OK;
}

static hr_status check_fetches(hr_partial *p, const hr_node *fetches, int count, hr_error *err)
{
    hr_status st = HR_OK;
    find_waiting(p);
    for (int i = 0; i < count && st == HR_OK; i++) {
        int at;
        st = partial_find(p->fetch, p->plan->fetches, p->fetched, fetches[i], "fetch", &at, err);
        if (st == HR_OK) st = check_can_fetch(p, at, err);
        if (st == HR_OK) p->fetched[at] = 1;
    }
    return st;
}

/* As if the part had not been asked for. */
static void undo(hr_partial *p, const uint8_t *fed, const uint8_t *fetched)
{
    for (int i = 0; i < p->plan->feeds; i++)
        if (p->fed[i] && !fed[i]) hr_tensor_clear(&p->value[i]);
    memcpy(p->fed, fed, (size_t)p->plan->feeds);
    memcpy(p->fetched, fetched, (size_t)p->plan->fetches);
}

static hr_status give_part(const hr_partial *p, const hr_node *fetches, int count, hr_tensor *out, hr_error *err)
{
    for (int i = 0; i < count; i++) {
        int at = 0;
        while (!is_node(p->fetch[at], fetches[i])) at++;
        const hr_status st = hr__give_fetch(p->frame, at, out ? &out[i] : NULL, err);
        for (int j = 0; st != HR_OK && out && j < i; j++) hr_tensor_clear(&out[j]);
        HR_TRY(st);
    }
    return HR_OK;
}

/* A fetch of a branch that was not taken fails, and so does its whole part. */
static hr_status run_part(hr_partial *p, const hr_node *fetches, int fetch_count, hr_tensor *out,
                          const hr_run_opts *opts, hr_error *err)
{
    hr_status st = hr__execute_marked(p->frame, p->marked, err);
    for (int i = 0; i < p->plan->step_count; i++) p->ran[i] |= p->marked[i];
    st = hr__run_end(&p->run, opts, st, err);
    if (st == HR_OK) st = give_part(p, fetches, fetch_count, out, err);
    if (st != HR_OK) p->failed = *err;
    return st;
}

static hr_status partial_prepare(hr_partial *p, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                                 int fetch_count, const hr_run_opts *opts, hr_error *err)
{
    if ((!feeds && feed_count > 0) || (!fetches && fetch_count > 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.partial",
                       "partial run: expected %d feeds and %d fetches, got NULL", feed_count, fetch_count);
    const size_t fed = (size_t)p->plan->feeds, fetched = (size_t)p->plan->fetches;
    uint8_t *before = hr_malloc(fed + fetched + 1);
    if (!before) return hr_no_memory(err, "a partial run");
    memcpy(before, p->fed, fed);
    memcpy(before + fed, p->fetched, fetched);
    hr_status st = feed_all(p, feeds, feed_count, err);
    if (st == HR_OK) st = check_fetches(p, fetches, fetch_count, err);
    if (st == HR_OK) st = hr__run_begin(&p->run, p->session, opts, err);
    if (st != HR_OK) undo(p, before, before + fed);
    hr_free(before);
    return st;
}

hr_status hr_partial_run_with(hr_partial *p, const hr_feed *feeds, int feed_count, const hr_node *fetches,
                              int fetch_count, hr_tensor *out, const hr_run_opts *given, hr_error *err)
{
    const hr_run_opts opts = HR_OPTIONS(hr_run_opts, given);
    hr_error failed = {0};
    if (opts.stats) *opts.stats = NULL;
    if (!p)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.partial",
                       "partial run: expected one of hr_partial_run_setup, got NULL");
    if (p->failed.code != HR_OK)
        return hr_fail(err, HR_FAILED_PRECONDITION, "session.partial",
                       "partial run: expected no part to have failed, but: %.300s", p->failed.text);
    hr_status st = partial_prepare(p, feeds, feed_count, fetches, fetch_count, &opts, &failed);
    if (st == HR_OK) st = run_part(p, fetches, fetch_count, out, &opts, &failed);
    return hr__session_tell(p->session, st, &failed, err);
}

hr_status hr_partial_run(hr_partial *p, const hr_feed *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                         hr_tensor *out, hr_error *err)
{
    return hr_partial_run_with(p, feeds, feed_count, fetches, fetch_count, out, NULL, err);
}
