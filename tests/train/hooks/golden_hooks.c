/* Timers and single hooks as TensorFlow's behaved: messages, events, checkpoints, when they stop. */
#include "tests/train/hooks/golden_hooks.h"
#include "tests/train/summary/read_events.h"
#include <dirent.h>
#include <headrace/meta_graph.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void stepping_new(stepping *s, const cJSON *json)
{
    s->graph = hr_graph_new();
    s->start = golden_int(json, "start_step", 0);
    s->step_op = hr_assign_add(hr_global_step(s->graph),
                               hr_scalar(s->graph, HR_INT64, (double)golden_int(json, "steps_per_run", 1)));
}

hr_status stepping_begin(hr_session *session, void *user, hr_error *err)
{
    stepping *s = user;
    hr_tensor step = hr_tensor_of(HR_INT64, HR_SCALAR, &s->start);
    return hr_session_set(session, hr_global_step(s->graph), &step, err);
}

/* ---- timers ---- */

static golden_result run_timer(golden_case *c)
{
    const cJSON *expect = golden_get(c->json, "expect"), *elapsed = golden_get(expect, "elapsed");
    hr_timer t = {.every_steps = golden_int(c->json, "every_steps", 0)};
    if (golden_get(c->json, "every_secs")) t.every_secs = golden_number_double(golden_get(c->json, "every_secs"));
    int updates = 0;
    hr_error err = {0};
    const char *class = golden_error_class(c->json);
    if (strcmp(hr_status_name(hr_timer_check(&t, "timer", &err)), class ? class : "OK") != 0)
        return golden_differs(c, "%s", class ? "the timer is good" : err.text);
    for (int i = 0; i < cJSON_GetArraySize(golden_get(c->json, "asks")); i++) {
        const cJSON *ask = cJSON_GetArrayItem(golden_get(c->json, "asks"), i);
        int64_t step = golden_number_int64(cJSON_GetArrayItem(ask, 0)), steps = 0;
        double now = golden_number_double(cJSON_GetArrayItem(ask, 1)), seconds = 0;
        bool due = hr_timer_due(&t, step, now),
             expected = cJSON_IsTrue(cJSON_GetArrayItem(golden_get(expect, "triggered"), i));
        if (due != expected) return golden_differs(c, "ask %d: %s", i, due ? "due" : "not due");
        if (!due) continue;
        bool again = hr_timer_update(&t, step, now, &seconds, &steps);
        const cJSON *pair = cJSON_GetArrayItem(elapsed, updates++);
        if (again != cJSON_IsArray(pair)) return golden_differs(c, "ask %d: first or not", i);
        if (again && (fabs(seconds - golden_number_double(cJSON_GetArrayItem(pair, 0))) > 1e-9 ||
                      steps != golden_number_int64(cJSON_GetArrayItem(pair, 1))))
            return golden_differs(c, "ask %d: %g seconds, %d steps", i, seconds, (int)steps);
    }
    return GOLDEN_AGREES;
}

/* ---- one hook ---- */

enum { AT_BEGIN = -1, AT_END = 1 << 20, MAX_NOTES = 64 };
typedef struct hook_run {
    golden_case *c;
    const cJSON *json, *hook;
    stepping steps;
    hr_node loss, acc, word;
    hr_summary_writer *writer;
    int phase; /* number of the run */
    double now;
    struct {
        int phase;
        hr_level level;
        char text[256];
    } message[MAX_NOTES];
    struct {
        int phase;
        int64_t step;
    } saved[MAX_NOTES];
    int messages, saves, stopped_after;
    hr_status status;
    float fed, acc_values[MAX_NOTES]; /* what the function fed, and ten times that as each run gave it */
    hr_node final_op[2];
    hr_tensor final[2];
} hook_run;

static void keep_message(hr_level level, const char *text, void *user)
{
    hook_run *r = user;
    if (level == HR_DEBUG || r->messages == MAX_NOTES) return;
    r->message[r->messages].phase = r->phase;
    r->message[r->messages].level = level;
    snprintf(r->message[r->messages++].text, sizeof r->message->text, "%s", text);
}

static hr_status keep_save(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    hook_run *r = user;
    (void)m, (void)err;
    r->saved[r->saves].phase = r->phase;
    r->saved[r->saves++].step = step;
    return HR_OK;
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *n = golden_get(object, key);
    return n && !cJSON_IsNull(n) ? golden_number_double(n) : 0;
}

static int by_tag(const void *a, const void *b)
{
    return strcmp(((const hr_logged *)a)->tag, ((const hr_logged *)b)->tag);
}

static hr_node named(const hook_run *r, const char *name)
{
    return strcmp(name, "acc:0") == 0 ? r->acc : strcmp(name, "word:0") == 0 ? r->word : r->loss;
}

/* "name=value joined by '; '" */
static char *join_values(const hr_logged_value *values, int count, void *user)
{
    char text[512] = "";
    (void)user;
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%s", i ? "; " : "", values[i].tag,
                 values[i].text);
    return hr_strdup(text);
}

/* Three more in each run. */
static hr_status feed_more(hr_run_request *request, void *user, hr_error *err)
{
    hook_run *r = user;
    r->fed = (float)(3 + r->phase);
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SCALAR, &r->fed);
    return hr_request_feed(request, r->loss, value, err);
}

/* A dictionary of tags is sorted, a list keeps its order. */
static hr_hook *logging_hook(hook_run *r)
{
    hr_logged logged[8];
    int count = 0;
    const cJSON *tensors = golden_get(r->hook, "tensors"), *t;
    cJSON_ArrayForEach(t, golden_fields(tensors))
    {
        logged[count].tag = t->string ? t->string : t->valuestring;
        logged[count++].node = named(r, t->valuestring);
    }
    if (cJSON_IsObject(tensors)) qsort(logged, (size_t)count, sizeof *logged, by_tag);
    return hr_logging_tensor_hook(logged, count, .every_n_iter = (int64_t)number(r->hook, "every_n_iter"),
                                  .every_n_secs = number(r->hook, "every_n_secs"),
                                  .at_end = golden_bool(r->hook, "at_end", false),
                                  .formatter = golden_get(r->hook, "formatter") ? join_values : NULL);
}

static hr_hook *new_hook(hook_run *r)
{
    const cJSON *h = r->hook;
    const char *class = golden_text(h, "class", "");
    if (strcmp(class, "StopAtStepHook") == 0)
        return hr_stop_at_step_hook(.num_steps = (int64_t)number(h, "num_steps"),
                                    .last_step = (int64_t)number(h, "last_step"));
    if (strcmp(class, "LoggingTensorHook") == 0) return logging_hook(r);
    if (strcmp(class, "CheckpointSaverHook") == 0)
        return hr_checkpoint_saver_hook(
            "DIR", .save_steps = (int64_t)number(h, "save_steps"), .save_secs = number(h, "save_secs"),
            .basename = golden_text(h, "checkpoint_basename", NULL), .writer = r->writer,
            .no_graph_def = !golden_bool(h, "save_graph_def", true), .listener = {.after_save = keep_save, .user = r});
    if (strcmp(class, "SummarySaverHook") == 0)
        return hr_summary_saver_hook(r->writer, (&(hr_summarised){.tag = "loss_1", .node = r->loss}), 1,
                                     .save_steps = (int64_t)number(h, "save_steps"),
                                     .save_secs = number(h, "save_secs"));
    if (strcmp(class, "StepCounterHook") == 0)
        return hr_step_counter_hook(.every_n_steps = (int64_t)number(h, "every_n_steps"),
                                    .every_n_secs = number(h, "every_n_secs"), .writer = r->writer);
    if (strcmp(class, "NanTensorHook") == 0)
        return hr_nan_tensor_hook(r->loss, .stop_only = !golden_bool(h, "fail_on_nan_loss", true));
    if (strcmp(class, "FinalOpsHook") == 0) return hr_final_ops_hook(r->final_op, 2, r->final);
    if (strcmp(class, "FeedFnHook") == 0) return hr_feed_fn_hook(feed_more, r);
    if (strcmp(class, "ProfilerHook") == 0)
        return hr_profiler_hook("DIR", .save_steps = (int64_t)number(h, "save_steps"),
                                .save_secs = number(h, "save_secs"), .writer = r->writer);
    return NULL;
}

static double now_of(void *user) { return ((hook_run *)user)->now; }

/* The loss is the case's, or the hook's. */
static hr_status call_run(hook_run *r, hr_monitored_session *m, const cJSON *values, hr_error *err)
{
    const hr_node fetch[] = {hr_target(r->steps.step_op), r->acc};
    float value = values ? (float)golden_number_double(cJSON_GetArrayItem(values, r->phase)) : 0;
    hr_feed feed = {r->loss, hr_tensor_of(HR_FLOAT, HR_SCALAR, &value)};
    hr_tensor out[2] = {{0}};
    HR_TRY(hr_monitored_run(m, &feed, values != NULL, fetch, 2, out, err));
    if (r->phase < MAX_NOTES) r->acc_values[r->phase] = *(const float *)out[1].data;
    hr_tensor_clear(&out[1]);
    return HR_OK;
}

static hr_status call_runs(hook_run *r, hr_monitored_session *m, hr_error *err)
{
    const cJSON *values = golden_get(r->json, "values");
    for (r->phase = 0; r->phase < golden_int(r->json, "runs", 0); r->phase++) {
        if (hr_should_stop(m)) {
            r->stopped_after = r->phase;
            return HR_OK;
        }
        r->now += number(golden_get(r->json, "clock"), "step");
        HR_TRY(call_run(r, m, values, err));
    }
    if (hr_should_stop(m)) r->stopped_after = r->phase;
    return HR_OK;
}

static void run_hook(hook_run *r, hr_hook *hook)
{
    hr_error err = {0};
    r->phase = AT_BEGIN;
    r->now = number(golden_get(r->json, "clock"), "start");
    hr_set_log(keep_message, r);
    hr_monitored_session *m = hr_monitored_session_new(r->steps.graph, &hook, 1, .now = now_of, .user = r,
                                                       .init_fn = stepping_begin, .init_user = &r->steps);
    const hr_error *failed = hr_monitored_session_error(m);
    r->status = failed ? failed->code : call_runs(r, m, &err);
    r->phase = AT_END;
    hr_status closed = hr_monitored_session_close(m, false, &err);
    if (r->status == HR_OK) r->status = closed;
    hr_set_log(NULL, NULL);
}

/* ---- comparing ---- */

static int phase_of(const cJSON *item)
{
    if (cJSON_IsNumber(item)) return item->valueint;
    return strcmp(item->valuestring, "begin") == 0 ? AT_BEGIN : AT_END;
}

/* What is measured is said in TensorFlow's words; warnings in ours. Saves are looked at apart. */
static golden_result compare_messages(hook_run *r, const cJSON *messages)
{
    int i = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, messages)
    {
        const char *level = cJSON_GetArrayItem(e, 1)->valuestring, *text = cJSON_GetArrayItem(e, 2)->valuestring;
        if (strncmp(text, "Saving checkpoints", 18) == 0) continue;
        if (i == r->messages) return golden_differs(r->c, "no message '%s'", text);
        if (r->message[i].phase != phase_of(cJSON_GetArrayItem(e, 0)))
            return golden_differs(r->c, "'%s' in run %d", r->message[i].text, r->message[i].phase);
        bool info = strcmp(level, "INFO") == 0;
        if ((r->message[i].level == HR_INFO) != info || (info && strcmp(r->message[i].text, text) != 0))
            return golden_differs(r->c, "'%s', expected '%s'", r->message[i].text, text);
        i++;
    }
    if (i < r->messages) return golden_differs(r->c, "'%s' besides", r->message[i].text);
    return GOLDEN_AGREES;
}

static golden_result compare_saves(hook_run *r, const cJSON *saved)
{
    if (saved && cJSON_GetArraySize(saved) != r->saves) return golden_differs(r->c, "%d saves", r->saves);
    for (int i = 0; saved && i < r->saves; i++) {
        const cJSON *pair = cJSON_GetArrayItem(saved, i);
        if (phase_of(cJSON_GetArrayItem(pair, 0)) != r->saved[i].phase ||
            golden_number_int64(cJSON_GetArrayItem(pair, 1)) != r->saved[i].step)
            return golden_differs(r->c, "step %d is saved in run %d", (int)r->saved[i].step, r->saved[i].phase);
    }
    return GOLDEN_AGREES;
}

static bool is_listed(const char *name, const cJSON *files)
{
    const cJSON *f;
    cJSON_ArrayForEach(f, files) if (strcmp(f->valuestring, name) == 0) return true;
    return false;
}

/* All that is listed, and nothing else but the event file. */
static golden_result compare_files(hook_run *r, const cJSON *files)
{
    const cJSON *f;
    cJSON_ArrayForEach(f, files)
    {
        char path[512];
        snprintf(path, sizeof path, "DIR/%s", f->valuestring);
        if (access(path, R_OK) != 0) return golden_differs(r->c, "%s is missing", f->valuestring);
    }
    golden_result result = GOLDEN_AGREES;
    DIR *dir = files ? opendir("DIR") : NULL;
    for (struct dirent *e; dir && result == GOLDEN_AGREES && (e = readdir(dir));)
        if (e->d_name[0] != '.' && !strstr(e->d_name, "tfevents") && !is_listed(e->d_name, files))
            result = golden_differs(r->c, "%s besides", e->d_name);
    if (dir) closedir(dir);
    return result;
}

static const char *what_of(const event *e)
{
    static const char *const names[] = {
        [HEADRACE__PROTO__EVENT__WHAT_FILE_VERSION] = "file_version",
        [HEADRACE__PROTO__EVENT__WHAT_GRAPH_DEF] = "graph_def",
        [HEADRACE__PROTO__EVENT__WHAT_SUMMARY] = "summary",
        [HEADRACE__PROTO__EVENT__WHAT_SESSION_LOG] = "session_log",
        [HEADRACE__PROTO__EVENT__WHAT_TAGGED_RUN_METADATA] = "tagged_run_metadata",
        [HEADRACE__PROTO__EVENT__WHAT_META_GRAPH_DEF] = "meta_graph_def",
    };
    size_t which = (size_t)e->what_case;
    return which < sizeof names / sizeof *names && names[which] ? names[which] : "";
}

/* What a graph's event holds is read as a graph of as many nodes as there were. */
static golden_result compare_graph(hook_run *r, const event *e)
{
    hr_error err = {0};
    const bool meta = e->what_case == HEADRACE__PROTO__EVENT__WHAT_META_GRAPH_DEF;
    const ProtobufCBinaryData *data = meta ? &e->meta_graph_def : &e->graph_def;
    const hr_view bytes = {(const char *)data->data, (int64_t)data->len};
    hr_graph *g = hr_graph_new();
    const hr_status st = meta ? hr_meta_graph_import(g, bytes, NULL, &err, .text = false)
                              : hr_graph_import(g, bytes, &err, .text = false);
    const bool there = st == HR_OK && hr_node_exists(hr_graph_node(g, "global_step"));
    hr_graph_free(g);
    return there ? GOLDEN_AGREES
                 : golden_differs(r->c, "%s: %s", what_of(e), st == HR_OK ? "no global_step" : err.text);
}

static golden_result compare_summary(hook_run *r, const cJSON *pair, const event *e)
{
    if (e->summary->n_value == 1 && strcmp(e->summary->value[0]->tag, cJSON_GetArrayItem(pair, 0)->valuestring) == 0 &&
        e->summary->value[0]->simple_value == (float)golden_number_double(cJSON_GetArrayItem(pair, 1)))
        return GOLDEN_AGREES;
    return golden_differs(r->c, "the summary of step %d", (int)e->step);
}

static golden_result compare_one_event(hook_run *r, const cJSON *expected, const event *e)
{
    static const char *const statuses[] = {"", "START", "STOP", "CHECKPOINT"};
    const char *what = golden_text(expected, "what", "");
    if (strcmp(what, what_of(e)) != 0) return golden_differs(r->c, "%s, expected %s", what_of(e), what);
    if (golden_int(expected, "step", 0) != e->step) return golden_differs(r->c, "%s at step %d", what, (int)e->step);
    if (strstr(what, "graph_def")) return compare_graph(r, e);
    if (strcmp(what, "summary") == 0)
        return compare_summary(r, cJSON_GetArrayItem(golden_get(expected, "values"), 0), e);
    if (strcmp(what, "session_log") == 0 &&
        strcmp(statuses[e->session_log->status & 3], golden_text(expected, "status", "")) != 0)
        return golden_differs(r->c, "no %s at step %d", golden_text(expected, "status", ""), (int)e->step);
    if (strcmp(what, "tagged_run_metadata") == 0 &&
        strcmp(e->tagged_run_metadata->tag, golden_text(expected, "tag", "")) != 0)
        return golden_differs(r->c, "the tag '%s'", e->tagged_run_metadata->tag);
    return GOLDEN_AGREES;
}

static golden_result compare_events(hook_run *r, const cJSON *events)
{
    char path[512];
    event_list list = {.count = 0};
    hr_error err = {0};
    const cJSON *e;
    int i = 0;
    golden_result result = GOLDEN_AGREES;
    if (!events) return GOLDEN_AGREES;
    if (!event_file_in("DIR", path, sizeof path)) return golden_differs(r->c, "no event file");
    if (read_events(path, &list, &err) != HR_OK) return golden_differs(r->c, "%s", err.text);
    cJSON_ArrayForEach(e, events)
    {
        if (result == GOLDEN_AGREES)
            result = i < list.count ? compare_one_event(r, e, list.event[i]) : golden_differs(r->c, "%d events", i);
        i++;
    }
    if (result == GOLDEN_AGREES && i != list.count)
        result = golden_differs(r->c, "%d events, expected %d", list.count, i);
    free_events(&list);
    return result;
}

/* What a hook computed at the end, and what it fed: the latter ten times, as the graph gives it. */
static golden_result compare_values(hook_run *r, const cJSON *expect)
{
    const cJSON *final = golden_get(expect, "final_ops_values"), *accs = golden_get(expect, "acc"), *acc;
    if (final &&
        (!r->final[0].data || !r->final[1].data || *(const int64_t *)r->final[0].data != golden_int(final, "step", 0) ||
         *(const int64_t *)r->final[1].data != golden_int(final, "twice", 0)))
        return golden_differs(r->c, "other final values");
    int i = 0;
    cJSON_ArrayForEach(acc, accs)
    {
        if (r->acc_values[i] != (float)golden_number_double(acc))
            return golden_differs(r->c, "run %d: %g", i, (double)r->acc_values[i]);
        i++;
    }
    return GOLDEN_AGREES;
}

static golden_result compare_hook(hook_run *r)
{
    const cJSON *expect = golden_get(r->json, "expect"), *stopped = golden_get(expect, "stopped_after_runs");
    const char *class = golden_error_class(r->json);
    if (strcmp(hr_status_name(r->status), class ? class : "OK") != 0)
        return golden_differs(r->c, "%s", hr_status_name(r->status));
    golden_get(r->json, "runs"), golden_get(golden_get(r->json, "clock"), "step"); /* a hook that is refused has none */
    if (class) return GOLDEN_AGREES;
    if (r->stopped_after != (stopped && !cJSON_IsNull(stopped) ? (int)golden_number_int64(stopped) : -1))
        return golden_differs(r->c, "stopped after %d runs", r->stopped_after);
    golden_result result = compare_messages(r, golden_get(expect, "messages"));
    if (result == GOLDEN_AGREES) result = compare_saves(r, golden_get(expect, "saved"));
    if (result == GOLDEN_AGREES) result = compare_files(r, golden_get(expect, "files"));
    if (result == GOLDEN_AGREES) result = compare_events(r, golden_get(expect, "events"));
    return result == GOLDEN_AGREES ? compare_values(r, expect) : result;
}

static golden_result run_hook_case(golden_case *c)
{
    const int32_t words[] = {1, 2, 3};
    hook_run r = {.c = c, .json = c->json, .hook = golden_get(c->json, "hook"), .stopped_after = -1};
    if (system("rm -rf DIR") != 0) return golden_differs(c, "rm");
    stepping_new(&r.steps, c->json);
    r.loss = hr_scalar(r.steps.graph, HR_FLOAT, 0);
    r.acc = hr_mul(r.loss, hr_scalar(r.steps.graph, HR_FLOAT, 10));
    hr_tensor word = hr_tensor_of(HR_INT32, HR_SHAPE(3), words);
    r.word = hr_const(r.steps.graph, &word);
    r.final_op[0] = hr_identity(hr_global_step(r.steps.graph));
    r.final_op[1] = hr_mul(hr_global_step(r.steps.graph), hr_scalar(r.steps.graph, HR_INT64, 2));
    r.writer = hr_summary_writer_new("DIR");
    hr_hook *hook = new_hook(&r);
    if (hook) run_hook(&r, hook);
    hr_summary_writer_unref(r.writer);
    hr_graph_free(r.steps.graph);
    golden_result result = hook ? compare_hook(&r) : golden_not_built(c, "%s", golden_text(r.hook, "class", ""));
    for (int i = 0; i < 2; i++) hr_tensor_clear(&r.final[i]);
    return result;
}

static golden_result run_case(golden_case *c)
{
    const char *kind = golden_text(c->json, "kind", "");
    if (strcmp(kind, "timer") == 0) return run_timer(c);
    if (strcmp(kind, "session") == 0) return run_session_case(c);
    if (strcmp(kind, "hook") == 0) return run_hook_case(c);
    if (strcmp(kind, "early_stopping") == 0) return run_early_stopping_case(c);
    if (strcmp(kind, "exporter") == 0) return run_exporter_case(c);
    if (strcmp(kind, "train_and_evaluate") == 0) return run_in_turn_case(c);
    if (strcmp(kind, "estimator") == 0) return run_estimator_case(c);
    return golden_not_built(c, "%s", kind);
}

int main(void) { return golden_main("hooks", GOLDEN_ROOT, run_case); }
