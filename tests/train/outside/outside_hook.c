/* A hook as a program of its own would add it, by the installed headers alone: the mean of the loss since the last time,
 * every so many steps, as a scalar of the event file. */
#include <headrace/hooks.h>

typedef struct mean_loss {
    hr_node loss;
    hr_timer timer;
    hr_summary_writer *writer; /* its own reference */
    double sum;
    int64_t count;
} mean_loss;

static hr_status mean_begin(void *state, hr_graph *g, hr_error *err)
{
    (void)g;
    return hr_timer_check(&((mean_loss *)state)->timer, "mean_loss", err);
}

static hr_status mean_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)m;
    return hr_request_fetch(request, ((mean_loss *)state)->loss, err);
}

static hr_status mean_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    mean_loss *s = state;
    int64_t step, steps;
    double seconds, now = hr_monitored_now(m);
    hr_event_writer *events;
    HR_TRY(hr_monitored_step(m, &step, err));
    s->sum += (double)*(const float *)results[0].data;
    s->count++;
    if (!hr_timer_due(&s->timer, step, now)) return HR_OK;
    hr_timer_update(&s->timer, step, now, &seconds, &steps);
    HR_TRY(hr_summary_writer_open(s->writer, &events, err));
    const float mean = (float)(s->sum / (double)s->count);
    s->sum = 0;
    s->count = 0;
    return hr_event_scalar(events, "mean_loss", mean, step, err);
}

static void mean_release(void *state) { hr_summary_writer_unref(((mean_loss *)state)->writer); }

const hr_hook_kind outside_mean_loss = {
    .head = HR_HOOK_HEAD,
    .name = "mean_loss",
    .state_size = sizeof(mean_loss),
    .begin = mean_begin,
    .before_run = mean_before_run,
    .after_run = mean_after_run,
    .release = mean_release,
};

hr_hook *outside_mean_loss_hook(hr_node loss, int64_t every_steps, hr_summary_writer *writer)
{
    if (!writer) return hr_hook_refused();
    mean_loss s = {.loss = loss, .writer = hr_summary_writer_ref(writer)};
    s.timer.every_steps = every_steps;
    return hr_hook_new(&outside_mean_loss, &s);
}
