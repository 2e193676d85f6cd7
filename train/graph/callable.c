/* Callables: a run that is looked up once. The callable is a user of its plan, which the cache may drop meanwhile. */
#include "train/graph/graph_internal.h"

struct hr_callable {
    hr_session *session;
    hr__plan *plan;
};

hr_status hr__plan_for_nodes(hr_session *s, const hr_node *feeds, int feed_count, const hr_node *fetches,
                             int fetch_count, hr__plan **plan, hr_error *err)
{
    hr_feed *fed = feeds && feed_count > 0 ? hr_calloc((size_t)feed_count, sizeof *fed) : NULL;
    if (feeds && feed_count > 0 && !fed) return hr_no_memory(err, "a callable");
    for (int i = 0; fed && i < feed_count; i++) fed[i].node = feeds[i];
    const hr_status st = hr__session_plan(s, fed, feed_count, fetches, fetch_count, false, plan, err);
    hr_free(fed);
    return st;
}

hr_status hr_session_make_callable(hr_session *s, const hr_node *feeds, int feed_count, const hr_node *fetches,
                                   int fetch_count, hr_callable **out, hr_error *err)
{
    hr_error failed = {0};
    if (!out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.argument",
                       "hr_session_make_callable: expected a place for the callable, got NULL");
    *out = NULL;
    if (!s) return hr_no_memory(err, "a session");
    hr_callable *c = hr_calloc(1, sizeof *c);
    if (!c) return hr_no_memory(err, "a callable");
    c->session = s;
    const hr_status st = hr__plan_for_nodes(s, feeds, feed_count, fetches, fetch_count, &c->plan, &failed);
    if (st == HR_OK)
        *out = c;
    else
        hr_free(c);
    return hr__session_tell(s, st, &failed, err);
}

hr_status hr_callable_run_with(const hr_callable *c, const hr_tensor *values, hr_tensor *out, const hr_run_opts *given,
                               hr_error *err)
{
    const hr_run_opts opts = HR_OPTIONS(hr_run_opts, given);
    hr_error failed;
    if (opts.stats) *opts.stats = NULL;
    if (!c) return hr_fail(err, HR_INVALID_ARGUMENT, "session.callable", "expected a callable, got NULL");
    failed.code = HR_OK;
    const hr_status st =
        values || c->plan->feeds == 0
            ? hr__run_plan(c->session, c->plan, NULL, values, out, &opts, &failed)
            : hr_fail(&failed, HR_INVALID_ARGUMENT, "session.feed", "expected %d feeds, got NULL", c->plan->feeds);
    return hr__session_tell(c->session, st, &failed, err);
}

hr_status hr_callable_run(const hr_callable *c, const hr_tensor *values, hr_tensor *out, hr_error *err)
{
    return hr_callable_run_with(c, values, out, NULL, err);
}

void hr_callable_free(hr_callable *c)
{
    if (!c) return;
    hr__plan_release(c->session, c->plan);
    hr_free(c);
}
