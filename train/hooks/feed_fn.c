/* FeedFnHook: what each run is fed comes from a function. */
#include <headrace/hooks.h>

typedef struct feed_fn {
    hr_feed_fn *feed;
    void *user;
} feed_fn;

static hr_status feed_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    const feed_fn *s = state;
    (void)m;
    return s->feed(request, s->user, err);
}

static const hr_hook_kind feed_fn_kind = {
    .head = HR_HOOK_HEAD,
    .name = "feed_fn",
    .state_size = sizeof(feed_fn),
    .before_run = feed_before_run,
};

hr_hook *hr_feed_fn_hook(hr_feed_fn *feed, void *user)
{
    if (!feed) return hr_hook_refused();
    return hr_hook_new(&feed_fn_kind, &(feed_fn){feed, user});
}
