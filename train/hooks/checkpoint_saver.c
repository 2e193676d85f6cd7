/* CheckpointSaverHook: a checkpoint where the session begins, every so often, and at the end. */
#include "train/hooks/internal.h"
#include <headrace/checkpoint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct checkpoint_saver {
    hr_timer timer;
    char *dir, *basename;
    int64_t max_to_keep;
    double hours;
    hr_saver *saver;
} checkpoint_saver;

static hr_status save_now(checkpoint_saver *s, hr_monitored_session *m, int64_t step, hr_error *err)
{
    char number[32];
    size_t size = strlen(s->dir) + strlen(s->basename) + sizeof number + 2;
    char *prefix = hr_malloc(size);
    if (!prefix) return hr_no_memory(err, "a path");
    snprintf(prefix, size, "%s/%s-%lld", s->dir, s->basename, (long long)step);
    hr_status st = hr_monitored_save(m, prefix, err);
    if (st == HR_OK) st = hr_saver_saved(s->saver, prefix, err);
    if (st == HR_OK) hr_log(HR_DEBUG, "saved %s", prefix);
    hr_free(prefix);
    double seconds;
    int64_t steps;
    hr_timer_update(&s->timer, step, hr_monitored_now(m), &seconds, &steps);
    return st;
}

static hr_status saver_begin(void *state, hr_graph *g, hr_error *err)
{
    checkpoint_saver *s = state;
    hr_global_step(g);
    if (!s->dir || !s->basename) return hr_no_memory(err, "a checkpoint saver");
    return HR_OK;
}

static hr_status saver_after_create_session(void *state, hr_monitored_session *m, hr_error *err)
{
    checkpoint_saver *s = state;
    int64_t step;
    mkdir(s->dir, 0777); /* what is wrong with it is said by the first file written there */
    HR_TRY(hr_monitored_step(m, &step, err));
    hr_saver_free(s->saver);
    s->saver = NULL;
    HR_TRY(hr_saver_open(s->dir, &s->saver, err, .max_to_keep = &s->max_to_keep, .keep_every_n_hours = s->hours,
                         .relative_paths = true));
    if (hr_monitored_restored(m)) HR_TRY(hr_saver_recover(s->saver, err));
    return save_now(s, m, step, err);
}

static hr_status saver_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    checkpoint_saver *s = state;
    int64_t step;
    (void)results;
    HR_TRY(hr_monitored_step(m, &step, err));
    return hr_timer_due(&s->timer, step, hr_monitored_now(m)) ? save_now(s, m, step, err) : HR_OK;
}

static hr_status saver_end(void *state, hr_monitored_session *m, hr_error *err)
{
    checkpoint_saver *s = state;
    int64_t step;
    HR_TRY(hr_monitored_step(m, &step, err));
    return step != s->timer.last_step ? save_now(s, m, step, err) : HR_OK;
}

static void saver_release(void *state)
{
    checkpoint_saver *s = state;
    hr_saver_free(s->saver);
    hr_free(s->dir);
    hr_free(s->basename);
}

static const hr_hook_kind checkpoint_saver_kind = {
    .head = HR_HOOK_HEAD,
    .name = "checkpoint_saver",
    .state_size = sizeof(checkpoint_saver),
    .begin = saver_begin,
    .after_create_session = saver_after_create_session,
    .after_run = saver_after_run,
    .end = saver_end,
    .release = saver_release,
};

hr_hook *hr_checkpoint_saver_hook_with(const char *dir, const hr_checkpoint_saver_hook_opts *opts)
{
    checkpoint_saver s = {.dir = hr_strdup(dir),
                          .basename = hr_strdup(opts->basename ? opts->basename : "model.ckpt"),
                          .max_to_keep = opts->max_to_keep ? *opts->max_to_keep : 5,
                          .hours = opts->keep_every_n_hours};
    s.timer.every_steps = opts->save_steps;
    s.timer.every_secs = opts->save_steps > 0 ? 0 : opts->save_secs > 0 ? opts->save_secs : 600;
    return hr_hook_new(&checkpoint_saver_kind, &s);
}
