/* MonitoredTrainingSession: a session that recovers, with the hooks of a training in front of the caller's. */
#include <headrace/hooks.h>
#include <string.h>

typedef hr_monitored_training_session_opts training_opts;

typedef struct hook_list {
    hr_hook **hook;
    int count;
} hook_list;

enum { OWN_HOOKS = 3 };

static void put_hook(hook_list *list, hr_hook *hook) { list->hook[list->count++] = hook; }

/* A writer is NULL for lack of memory alone. */
static void put_summaries(hook_list *list, hr_summary_writer *w, const training_opts *o)
{
    const int64_t log_steps = o->log_step_count_steps ? o->log_step_count_steps : 100;
    const bool given = o->save_summaries_steps != 0 || o->save_summaries_secs != 0;
    const int64_t steps = given ? o->save_summaries_steps : 100;
    if (log_steps > 0)
        put_hook(list, w ? hr_step_counter_hook(.every_n_steps = log_steps, .writer = w) : hr_hook_lost());
    if (steps >= 0)
        put_hook(list, hr_summary_saver_hook(w, o->summaries, o->summary_count, .save_steps = steps,
                                             .save_secs = o->save_summaries_secs));
}

static void put_saver(hook_list *list, hr_summary_writer *w, const training_opts *o)
{
    const bool given = o->save_checkpoint_secs != 0 || o->save_checkpoint_steps != 0;
    if (o->save_checkpoint_steps < 0) return;
    put_hook(list, w ? hr_checkpoint_saver_hook(o->checkpoint_dir, .save_steps = o->save_checkpoint_steps,
                                                .save_secs = given ? o->save_checkpoint_secs : 600, .writer = w,
                                                .no_graph_def = o->no_graph_def)
                     : hr_hook_lost());
}

/* Events of both go to one file where the folder is one. */
static void put_own_hooks(hook_list *list, const training_opts *o)
{
    const char *dir = o->summary_dir ? o->summary_dir : o->checkpoint_dir;
    if (!dir) return;
    hr_summary_writer *summaries = hr_summary_writer_new(dir);
    put_summaries(list, summaries, o);
    if (o->checkpoint_dir) {
        hr_summary_writer *w = strcmp(dir, o->checkpoint_dir) == 0 ? hr_summary_writer_ref(summaries)
                                                                   : hr_summary_writer_new(o->checkpoint_dir);
        put_saver(list, w, o);
        hr_summary_writer_unref(w);
    }
    hr_summary_writer_unref(summaries);
}

hr_monitored_session *hr_monitored_training_session_with(hr_graph *g, hr_hook *const *hooks, int count,
                                                         const hr_monitored_training_session_opts *opts)
{
    const training_opts *o = &HR_OPTIONS(hr_monitored_training_session_opts, opts);
    hr_monitored_session_opts session = HR_OPTIONS(hr_monitored_session_opts, o->session);
    session.checkpoint_dir = o->checkpoint_dir;
    session.recovers = true;
    if (count < 0 || (count > 0 && !hooks)) return hr_monitored_session_new_with(g, hooks, count, &session);
    hook_list list = {.hook = hr_calloc((size_t)count + OWN_HOOKS, sizeof *list.hook)};
    if (!list.hook) {
        for (int i = 0; i < count; i++) hr_hook_free(hooks[i]);
        return NULL;
    }
    put_own_hooks(&list, o);
    for (int i = 0; i < count; i++) put_hook(&list, hooks[i]);
    hr_monitored_session *m = hr_monitored_session_new_with(g, list.hook, list.count, &session);
    hr_free(list.hook);
    return m;
}
