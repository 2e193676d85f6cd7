/* CheckpointSaverHook: a checkpoint where the session begins, every so often, and at the end. The graph's text is written
 * by a thread while the first checkpoint waits for the disk. An asynchronous checkpoint copies the variables, and a
 * thread writes the files; between its start and its end the files are the thread's alone. */
#include <headrace/checkpoint.h>
#include <headrace/hooks.h>
#include <headrace/meta_graph.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

/* A save by a thread. The hook looks at `written` alone until it has joined the thread. */
typedef struct save_thread {
    uv_thread_t thread;
    bool running;
    atomic_bool written;
    hr_checkpoint_copy *copy; /* kept between saves */
    hr_view meta_graph;       /* borrowed from the saver's writer, which makes no other one before the next save */
    char *prefix;
    int64_t step;
    hr_status status;
    hr_error error;
} save_thread;

/* A session's graph.pbtxt. */
typedef struct graph_text {
    bool due; /* of this session there is none yet */
    uv_thread_t thread;
    bool running;
    const hr_graph *graph;
    hr_status status;
    hr_error error;
} graph_text;

typedef struct checkpoint_saver {
    hr_timer timer;
    char *dir, *basename;
    int64_t max_to_keep;
    double hours;
    hr_saver *saver;
    hr_summary_writer *writer; /* its own reference, or NULL: no events */
    hr_summary_writer *graph;  /* keeps what was exported: the same writer, or one that writes nothing */
    hr_saver_listener listener;
    bool no_graph_def;
    graph_text text;
    int64_t before;     /* global_step before this run */
    save_thread *async; /* NULL: the session's thread writes */
    bool lacks_thread;  /* for lack of memory */
} checkpoint_saver;

/* ---- the graph ---- */

/* Of the graph itself, which a program can make again, no more than the name is safe when the power fails. */
static hr_status write_unsynced(const char *path, hr_view bytes, hr_error *err)
{
    hr_output *out;
    HR_TRY(hr_output_open_with(path, &(hr_output_opts){.struct_size = sizeof(hr_output_opts), .no_sync = true}, &out,
                               err));
    hr_output_write(out, bytes.data, (size_t)bytes.size, NULL); /* a failure sticks */
    return hr_output_commit(out, err);
}

/* What is written beside a checkpoint: nothing with .no_graph_def. */
static hr_status meta_graph_of(const checkpoint_saver *s, const hr_graph *g, hr_view *bytes, hr_error *err)
{
    *bytes = (hr_view){NULL, 0};
    return s->no_graph_def ? HR_OK : hr_summary_writer_meta_graph(s->graph, g, bytes, err);
}

static hr_status write_meta_graph(hr_view bytes, const char *prefix, hr_error *err)
{
    if (!bytes.data) return HR_OK;
    const size_t size = strlen(prefix) + sizeof ".meta";
    char *path = hr_malloc(size);
    if (!path) return hr_no_memory(err, "a path");
    snprintf(path, size, "%s.meta", prefix);
    const hr_status st = write_unsynced(path, bytes, err);
    hr_free(path);
    return st;
}

static hr_status write_graph_text(const checkpoint_saver *s, const hr_graph *g, hr_error *err)
{
    char *text, *path = hr_checkpoint_prefix(s->dir, "graph.pbtxt", -1);
    size_t size;
    if (!path) return hr_no_memory(err, "a path");
    hr_status st = hr_summary_writer_graph_text(s->graph, g, &text, &size, err);
    if (st == HR_OK) {
        st = write_unsynced(path, (hr_view){text, (int64_t)size}, err);
        hr_free(text);
    }
    hr_free(path);
    return st;
}

static void graph_text_run(void *saver)
{
    checkpoint_saver *s = saver;
    s->text.status = write_graph_text(s, s->text.graph, &s->text.error);
}

/* Once for each session, after meta_graph_of has exported the graph: until graph_text_end the writer is the thread's.
 * Where there is no thread, the text is written here. */
static void graph_text_begin(checkpoint_saver *s, const hr_graph *g)
{
    graph_text *t = &s->text;
    if (!t->due) return;
    *t = (graph_text){.graph = g};
    t->running = uv_thread_create(&t->thread, graph_text_run, s) == 0;
    if (!t->running) graph_text_run(s);
}

static hr_status graph_text_end(checkpoint_saver *s, hr_error *err)
{
    graph_text *t = &s->text;
    if (t->running) uv_thread_join(&t->thread);
    t->running = false;
    const hr_status st = t->status;
    if (st != HR_OK && err) *err = t->error;
    t->status = HR_OK;
    return st;
}

/* ---- saving ---- */

static hr_status note_checkpoint(const checkpoint_saver *s, int64_t step, hr_error *err)
{
    hr_event_writer *events;
    if (!s->writer) return HR_OK;
    HR_TRY(hr_summary_writer_open(s->writer, &events, err));
    char *path = hr_checkpoint_prefix(s->dir, s->basename, -1);
    if (!path) return hr_no_memory(err, "a path");
    const hr_status st = hr_event_session(events, HR_SESSION_CHECKPOINT, path, step, err);
    hr_free(path);
    return st;
}

/* The files are there. */
static hr_status tell_saved(checkpoint_saver *s, hr_monitored_session *m, int64_t step, hr_error *err)
{
    const hr_saver_listener *l = &s->listener;
    HR_TRY(note_checkpoint(s, step, err));
    return l->after_save ? l->after_save(l->user, m, step, err) : HR_OK;
}

static hr_status save_as(checkpoint_saver *s, hr_monitored_session *m, const char *prefix, int64_t step, hr_error *err)
{
    hr_view meta_graph;
    HR_TRY(meta_graph_of(s, hr_monitored_graph(m), &meta_graph, err));
    graph_text_begin(s, hr_monitored_graph(m));
    hr_status st = hr_saver_saving(s->saver, prefix, err);
    if (st == HR_OK) st = hr_monitored_save(m, prefix, err);
    if (st == HR_OK) st = hr_saver_saved(s->saver, prefix, err);
    const hr_status text = graph_text_end(s, st == HR_OK ? err : NULL);
    HR_TRY(st != HR_OK ? st : text);
    HR_TRY(write_meta_graph(meta_graph, prefix, err));
    return tell_saved(s, m, step, err);
}

/* ---- saving by a thread ---- */

static hr_status write_files(checkpoint_saver *s, save_thread *t)
{
    HR_TRY(hr_saver_saving(s->saver, t->prefix, &t->error));
    HR_TRY(hr_checkpoint_copy_write(t->copy, t->prefix, &t->error));
    HR_TRY(hr_saver_saved(s->saver, t->prefix, &t->error));
    return write_meta_graph(t->meta_graph, t->prefix, &t->error);
}

static void save_thread_run(void *saver)
{
    checkpoint_saver *s = saver;
    s->async->status = write_files(s, s->async);
    atomic_store(&s->async->written, true);
}

static void save_thread_join(save_thread *t)
{
    if (!t || !t->running) return;
    uv_thread_join(&t->thread);
    t->running = false;
    hr_free(t->prefix);
    t->prefix = NULL;
}

/* Waits for the files of the save before, if there is one, and tells of it. */
static hr_status finish_save(checkpoint_saver *s, hr_monitored_session *m, hr_error *err)
{
    save_thread *t = s->async;
    if (!t || !t->running) return HR_OK;
    save_thread_join(t);
    if (t->status == HR_OK) return tell_saved(s, m, t->step, err);
    if (err) *err = t->error;
    return t->status;
}

/* Takes `prefix`. */
static hr_status start_thread(checkpoint_saver *s, hr_monitored_session *m, char *prefix, int64_t step, hr_error *err)
{
    save_thread *t = s->async;
    hr_status st = meta_graph_of(s, hr_monitored_graph(m), &t->meta_graph, err);
    if (st == HR_OK) graph_text_begin(s, hr_monitored_graph(m));
    if (st == HR_OK) st = hr_monitored_copy(m, &t->copy, err);
    const hr_status text = graph_text_end(s, st == HR_OK ? err : NULL);
    if (st == HR_OK) st = text;
    t->prefix = prefix;
    t->step = step;
    atomic_store(&t->written, false);
    if (st == HR_OK && uv_thread_create(&t->thread, save_thread_run, s) != 0)
        st = hr_fail(err, HR_RESOURCE_EXHAUSTED, "hooks.thread",
                     "checkpoint_saver: expected a thread to write %s, got none; save without .async, or allow more "
                     "threads",
                     prefix);
    t->running = st == HR_OK;
    if (st == HR_OK) return HR_OK;
    hr_free(prefix);
    t->prefix = NULL;
    return st;
}

/* ---- when ---- */

static hr_status save_now(checkpoint_saver *s, hr_monitored_session *m, int64_t step, hr_error *err)
{
    const hr_saver_listener *l = &s->listener;
    double seconds;
    int64_t steps;
    HR_TRY(finish_save(s, m, err));
    char *prefix = hr_checkpoint_prefix(s->dir, s->basename, step);
    if (!prefix) return hr_no_memory(err, "a path");
    hr_timer_update(&s->timer, step, hr_monitored_now(m), &seconds, &steps);
    hr_log_message(HR_DEBUG, "saving %s", prefix);
    hr_status st = l->before_save ? l->before_save(l->user, m, step, err) : HR_OK;
    if (st == HR_OK && s->async) return start_thread(s, m, prefix, step, err);
    if (st == HR_OK) st = save_as(s, m, prefix, step, err);
    hr_free(prefix);
    return st;
}

static hr_status saver_begin(void *state, hr_graph *g, hr_error *err)
{
    checkpoint_saver *s = state;
    hr_global_step(g);
    if (!s->dir || !s->basename || !s->graph || s->lacks_thread) return hr_no_memory(err, "a checkpoint saver");
    HR_TRY(hr_timer_check(&s->timer, "checkpoint_saver", err));
    return s->listener.begin ? s->listener.begin(s->listener.user, g, err) : HR_OK;
}

static hr_status saver_after_create_session(void *state, hr_monitored_session *m, hr_error *err)
{
    checkpoint_saver *s = state;
    int64_t step;
    HR_TRY(hr_monitored_step(m, &step, err));
    hr_saver_free(s->saver);
    s->saver = NULL;
    HR_TRY(hr_saver_open(s->dir, &s->saver, err, .max_to_keep = &s->max_to_keep, .keep_every_n_hours = s->hours,
                         .relative_paths = true, .make_folder = true));
    if (hr_monitored_restored(m)) HR_TRY(hr_saver_recover(s->saver, hr_monitored_checkpoint(m), err));
    if (s->writer) HR_TRY(hr_summary_writer_begin(s->writer, hr_monitored_graph(m), err));
    if (s->writer) HR_TRY(hr_summary_writer_graph(s->writer, hr_monitored_graph(m), err));
    s->text.due = !s->no_graph_def;
    return save_now(s, m, step, err);
}

static hr_status saver_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    checkpoint_saver *s = state;
    (void)request;
    if (s->async && s->async->running && atomic_load(&s->async->written)) HR_TRY(finish_save(s, m, err));
    return hr_monitored_step(m, &s->before, err);
}

/* As TensorFlow: one step on is looked at first, then the true one, which is that or more. */
static hr_status saver_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    checkpoint_saver *s = state;
    const double now = hr_monitored_now(m);
    int64_t step;
    (void)results;
    if (!hr_timer_due(&s->timer, s->before + 1, now)) return HR_OK;
    HR_TRY(hr_monitored_step(m, &step, err));
    return hr_timer_due(&s->timer, step, now) ? save_now(s, m, step, err) : HR_OK;
}

static hr_status saver_end(void *state, hr_monitored_session *m, hr_error *err)
{
    checkpoint_saver *s = state;
    int64_t step;
    HR_TRY(hr_monitored_step(m, &step, err));
    if (step != s->timer.last_step) HR_TRY(save_now(s, m, step, err));
    HR_TRY(finish_save(s, m, err));
    return s->listener.end ? s->listener.end(s->listener.user, m, step, err) : HR_OK;
}

/* The session has failed: of a save that was under way, only a failure is told. */
static void saver_settle(void *state)
{
    save_thread *t = ((checkpoint_saver *)state)->async;
    if (!t || !t->running) return;
    save_thread_join(t);
    if (t->status != HR_OK) hr_log_message(HR_WARNING, "a checkpoint was not written: %s", t->error.text);
}

static void saver_release(void *state)
{
    checkpoint_saver *s = state;
    saver_settle(s);
    if (s->async) hr_checkpoint_copy_free(s->async->copy);
    hr_free(s->async);
    hr_saver_free(s->saver);
    hr_summary_writer_unref(s->writer);
    hr_summary_writer_unref(s->graph);
    hr_free(s->dir);
    hr_free(s->basename);
}

static const hr_hook_kind checkpoint_saver_kind = {
    .head = HR_HOOK_HEAD,
    .name = "checkpoint_saver",
    .state_size = sizeof(checkpoint_saver),
    .begin = saver_begin,
    .after_create_session = saver_after_create_session,
    .before_run = saver_before_run,
    .after_run = saver_after_run,
    .end = saver_end,
    .release = saver_release,
    .settle = saver_settle,
};

hr_hook *hr_checkpoint_saver_hook_with(const char *dir, const hr_checkpoint_saver_hook_opts *opts)
{
    opts = &HR_OPTIONS(hr_checkpoint_saver_hook_opts, opts);
    if (!dir) return hr_hook_refused();
    checkpoint_saver s = {.dir = hr_strdup(dir),
                          .basename = hr_strdup(opts->basename ? opts->basename : "model.ckpt"),
                          .max_to_keep = opts->max_to_keep ? *opts->max_to_keep : 5,
                          .hours = opts->keep_every_n_hours,
                          .writer = hr_summary_writer_ref(opts->writer),
                          .graph = opts->writer ? hr_summary_writer_ref(opts->writer) : hr_summary_writer_new(dir),
                          .listener = opts->listener,
                          .no_graph_def = opts->no_graph_def,
                          .async = opts->async ? hr_calloc(1, sizeof *s.async) : NULL};
    s.lacks_thread = opts->async && !s.async;
    s.timer.every_steps = opts->save_steps;
    s.timer.every_secs = opts->save_secs;
    return hr_hook_new(&checkpoint_saver_kind, &s);
}
