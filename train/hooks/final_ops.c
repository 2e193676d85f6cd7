/* FinalOpsHook: one more run at the end, whose values the caller gets. */
#include <headrace/hooks.h>
#include <string.h>

typedef struct final_ops {
    hr_node *op;   /* a copy */
    hr_feed *feed; /* a copy; the values are the caller's */
    int count, feeds;
    hr_tensor *out; /* the caller's; NULL: nobody wants the values */
} final_ops;

static hr_status final_begin(void *state, hr_graph *g, hr_error *err)
{
    const final_ops *s = state;
    (void)g;
    return s->op && s->feed ? HR_OK : hr_no_memory(err, "final ops");
}

/* The end of the input is a failure here: the values are missing. */
static hr_status final_end(void *state, hr_monitored_session *m, hr_error *err)
{
    const final_ops *s = state;
    hr_tensor *value = hr_calloc((size_t)s->count + 1, sizeof *value);
    if (!value) return hr_no_memory(err, "values of final ops");
    hr_status st = hr_session_run(hr_monitored_raw(m), s->feed, s->feeds, s->op, s->count, value, err);
    if (st == HR_END || st == HR_OUT_OF_RANGE)
        hr_log_message(HR_WARNING, "final_ops: the ops depend on an input that is at its end");
    if (st == HR_END) st = hr_fail(err, HR_OUT_OF_RANGE, "hooks.final_ops", "final_ops: the input is at its end");
    for (int i = 0; i < s->count; i++) {
        if (st != HR_OK || !s->out) {
            hr_tensor_clear(&value[i]);
            continue;
        }
        hr_tensor_clear(&s->out[i]);
        s->out[i] = value[i];
    }
    hr_free(value);
    return st;
}

static void final_release(void *state)
{
    final_ops *s = state;
    hr_free(s->op);
    hr_free(s->feed);
}

static const hr_hook_kind final_ops_kind = {
    .head = HR_HOOK_HEAD,
    .name = "final_ops",
    .state_size = sizeof(final_ops),
    .begin = final_begin,
    .end = final_end,
    .release = final_release,
};

hr_hook *hr_final_ops_hook_with(const hr_node *ops, int count, hr_tensor *out, const hr_final_ops_hook_opts *opts)
{
    opts = &HR_OPTIONS(hr_final_ops_hook_opts, opts);
    if (out && count > 0) memset(out, 0, (size_t)count * sizeof *out);
    if (count < 0 || (count > 0 && !ops) || opts->feed_count < 0 || (opts->feed_count > 0 && !opts->feeds))
        return hr_hook_refused();
    final_ops s = {.op = hr_calloc((size_t)count + 1, sizeof *s.op),
                   .feed = hr_calloc((size_t)opts->feed_count + 1, sizeof *s.feed),
                   .count = count,
                   .feeds = opts->feed_count,
                   .out = out};
    if (s.op && count) memcpy(s.op, ops, (size_t)count * sizeof *ops);
    if (s.feed && s.feeds) memcpy(s.feed, opts->feeds, (size_t)s.feeds * sizeof *s.feed);
    return hr_hook_new(&final_ops_kind, &s);
}
