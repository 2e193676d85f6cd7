/* Monitored sessions with hooks that write down their calls. The log of TensorFlow and ours are brought to the same
 * text, a line a call, and compared. */
#include "base/text.h"
#include "tests/train/hooks/golden_hooks.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct session_run {
    golden_case *c;
    const cJSON *json;
    hr__text log;
    stepping steps;
    hr_node x, y, z;
    int step_fns, stop_at; /* calls of the step function; the one that asks for a stop */
    float got;
} session_run;

typedef struct recording {
    session_run *run;
    const char *name;
    int calls[8]; /* of each method */
    hr_tensor fed;
    float value;
} recording;

enum { BEGIN, AFTER_CREATE_SESSION, BEFORE_RUN, AFTER_RUN, END };
static const char *const methods[] = {"begin", "after_create_session", "before_run", "after_run", "end"};

/* ---- what a recording hook does ---- */

static hr_status do_it(recording *r, hr_monitored_session *m, int method, const char *what, hr_error *err)
{
    hr__text_printf(&r->run->log, "%s does %s\n", r->name, what);
    if (strcmp(what, "request_stop") == 0) {
        hr_request_stop(m);
        return HR_OK;
    }
    /* The end of data is a status of its own here, and no failure. */
    bool end_of_data = strcmp(what, "raise_out_of_range") == 0 || strcmp(what, "raise_stop_iteration") == 0;
    if (end_of_data && method != END) return HR_END;
    if (end_of_data) return hr_fail(err, HR_OUT_OF_RANGE, "test.hook", "end");
    if (strcmp(what, "raise_aborted") == 0) return hr_fail(err, HR_ABORTED, "test.hook", "preempted");
    if (strcmp(what, "raise_unavailable") == 0) return hr_fail(err, HR_UNAVAILABLE, "test.hook", "preempted");
    return hr_fail(err, HR_INVALID_ARGUMENT, "test.hook", "a hook failed");
}

static hr_status act(recording *r, hr_monitored_session *m, int method, hr_error *err)
{
    const cJSON *a;
    int call = r->calls[method]++;
    cJSON_ArrayForEach(a, golden_get(r->run->json, "act"))
    {
        if (strcmp(golden_text(a, "hook", ""), r->name) == 0 &&
            strcmp(golden_text(a, "at", ""), methods[method]) == 0 && golden_int(a, "call", 0) == call)
            return do_it(r, m, method, golden_text(a, "do", ""), err);
    }
    return HR_OK;
}

static hr_status note(recording *r, hr_monitored_session *m, int method, const hr_tensor *result, hr_error *err)
{
    int64_t step;
    hr__text *log = &r->run->log;
    hr__text_printf(log, "%s %s", r->name, methods[method]);
    if (method != BEGIN) {
        HR_TRY(hr_monitored_step(m, &step, err));
        hr__text_printf(log, " step=%d", (int)step);
    }
    if (result) hr__text_printf(log, " results=%g", (double)*(const float *)result->data);
    if (method == BEFORE_RUN || method == AFTER_RUN) hr__text_printf(log, " stop=%d", hr_stop_requested(m));
    hr__text_byte(log, '\n');
    return act(r, m, method, err);
}

static hr_status recording_begin(void *state, hr_graph *g, hr_error *err)
{
    (void)g;
    return note(*(recording **)state, NULL, BEGIN, NULL, err);
}

static hr_status recording_created(void *state, hr_monitored_session *m, hr_error *err)
{
    return note(*(recording **)state, m, AFTER_CREATE_SESSION, NULL, err);
}

static hr_node named(const session_run *run, const char *name)
{
    return name[0] == 'x' ? run->x : name[0] == 'y' ? run->y : run->z;
}

static const cJSON *wishes(const recording *r) { return golden_get(golden_get(r->run->json, "hook_feeds"), r->name); }

static hr_status recording_before(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    recording *r = *(recording **)state;
    const cJSON *feed;
    HR_TRY(note(r, m, BEFORE_RUN, NULL, err));
    cJSON_ArrayForEach(feed, golden_fields(golden_get(wishes(r), "feed")))
    {
        r->value = (float)golden_number_double(feed);
        r->fed = hr_tensor_of(HR_FLOAT, HR_SCALAR, &r->value);
        HR_TRY(hr_request_feed(request, named(r->run, feed->string), r->fed, err));
    }
    const char *fetch = golden_text(wishes(r), "fetch", NULL);
    return fetch ? hr_request_fetch(request, named(r->run, fetch), err) : HR_OK;
}

static hr_status recording_after(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    recording *r = *(recording **)state;
    return note(r, m, AFTER_RUN, golden_get(wishes(r), "fetch") ? results : NULL, err);
}

static hr_status recording_end(void *state, hr_monitored_session *m, hr_error *err)
{
    return note(*(recording **)state, m, END, NULL, err);
}

static const hr_hook_kind recording_kind = {
    .head = HR_HOOK_HEAD,
    .name = "recording",
    .state_size = sizeof(recording *),
    .begin = recording_begin,
    .after_create_session = recording_created,
    .before_run = recording_before,
    .after_run = recording_after,
    .end = recording_end,
};

/* ---- the caller ---- */

static void say(session_run *run, const char *what) { hr__text_printf(&run->log, "caller %s\n", what); }

static void say_error(session_run *run, hr_status st)
{
    hr__text_printf(&run->log, "caller raises error=%s\n", hr_status_name(st));
}

static hr_status call_run(session_run *run, hr_monitored_session *m, hr_error *err)
{
    const cJSON *mine = golden_get(golden_get(run->json, "caller_feed"), "z:0");
    float value = mine ? (float)golden_number_double(mine) : 0;
    hr_feed feed = {run->z, hr_tensor_of(HR_FLOAT, HR_SCALAR, &value)};
    const hr_node fetch[] = {hr_target(run->steps.step_op), run->y};
    hr_tensor out[2] = {{0}};
    int64_t step;
    HR_TRY(hr_monitored_run(m, &feed, mine ? 1 : 0, fetch, 2, out, err));
    HR_TRY(hr_monitored_step(m, &step, err));
    hr__text_printf(&run->log, "caller got step=%d y=%g\n", (int)step, (double)*(const float *)out[1].data);
    hr_tensor_clear(&out[1]);
    return HR_OK;
}

/* One step by the session itself, one run with hooks. */
static hr_status step_fn(hr_monitored_session *m, void *user, hr_error *err)
{
    session_run *run = user;
    const hr_node step_op = hr_target(run->steps.step_op);
    hr_tensor y;
    int64_t step;
    HR_TRY(hr_session_run(hr_monitored_raw(m), NULL, 0, &step_op, 1, NULL, err));
    HR_TRY(hr_monitored_step(m, &step, err));
    hr__text_printf(&run->log, "caller in step_fn raw_step=%d\n", (int)step);
    HR_TRY(hr_monitored_run(m, NULL, 0, &run->y, 1, &y, err));
    run->got = *(const float *)y.data;
    hr_tensor_clear(&y);
    if (++run->step_fns < run->stop_at) return HR_OK;
    say(run, "step_fn requests stop");
    return HR_END;
}

static hr_status call_step_fn(session_run *run, hr_monitored_session *m, hr_error *err)
{
    HR_TRY(hr_run_step_fn(m, step_fn, run, err));
    hr__text_printf(&run->log, "caller got y=%g\n", (double)run->got);
    return HR_OK;
}

/* In which call the caller asks for a stop is its own matter: the log says so. */
static int call_that_stops(const cJSON *log)
{
    const cJSON *line;
    int calls = 0;
    cJSON_ArrayForEach(line, log)
    {
        const char *what = cJSON_GetArrayItem(line, 1)->valuestring;
        if (strcmp(what, "in step_fn") == 0) calls++;
        if (strcmp(what, "step_fn requests stop") == 0) return calls;
    }
    return INT_MAX;
}

static hr_status call_runs(session_run *run, hr_monitored_session *m, hr_error *err)
{
    int64_t runs = golden_int(run->json, "runs", 0);
    const bool by_step_fn = strcmp(golden_text(run->json, "how", ""), "run_step_fn") == 0;
    for (int64_t i = 0; i < runs; i++) {
        if (hr_should_stop(m)) {
            say(run, "should_stop");
            break;
        }
        HR_TRY(by_step_fn ? call_step_fn(run, m, err) : call_run(run, m, err));
    }
    say(run, "leaves");
    return HR_OK;
}

static void call_all(session_run *run, hr_hook **hooks, int count, const char *dir)
{
    hr_error err = {0};
    const char *kind = golden_text(run->json, "session", "");
    hr_monitored_session *m =
        hr_monitored_session_new(run->steps.graph, hooks, count, .checkpoint_dir = dir, .init_fn = stepping_begin,
                                 .init_user = &run->steps, .recovers = strcmp(kind, "singular") != 0);
    const hr_error *failed = hr_monitored_session_error(m);
    hr_status st = failed ? failed->code : HR_OK;
    if (st == HR_OK) {
        say(run, "created");
        st = call_runs(run, m, &err);
    }
    hr_status closed = hr_monitored_session_close(m, false, &err);
    if (st == HR_OK || st == HR_END) st = closed;
    if (st == HR_OK)
        say(run, "left");
    else
        say_error(run, st);
}

/* ---- comparing ---- */

/* TensorFlow's log in our form. A session that was closed cannot be run here: that line says nothing. */
static void expected_log(const cJSON *log, hr__text *to)
{
    const cJSON *line;
    cJSON_ArrayForEach(line, log)
    {
        const char *who = cJSON_GetArrayItem(line, 0)->valuestring, *what = cJSON_GetArrayItem(line, 1)->valuestring;
        const cJSON *more = cJSON_GetArrayItem(line, 2);
        golden_get(more, "graph_finalized"); /* a graph is never closed here: plans are made of what there is */
        if (strcmp(what, "run after close") == 0) {
            golden_whole(more);
            continue;
        }
        hr__text_printf(to, "%s %s", who, what);
        if (cJSON_IsString(more)) hr__text_printf(to, " %s", more->valuestring);
        if (golden_get(more, "step")) hr__text_printf(to, " step=%d", (int)golden_int(more, "step", 0));
        if (golden_get(more, "raw_step")) hr__text_printf(to, " raw_step=%d", (int)golden_int(more, "raw_step", 0));
        if (golden_get(more, "results"))
            hr__text_printf(to, " results=%g", golden_number_double(golden_get(more, "results")));
        if (golden_get(more, "stop_requested"))
            hr__text_printf(to, " stop=%d", golden_bool(more, "stop_requested", false));
        if (golden_get(more, "y")) hr__text_printf(to, " y=%g", golden_number_double(golden_get(more, "y")));
        if (golden_error_class(more)) hr__text_printf(to, " error=%s", golden_error_class(more));
        hr__text_byte(to, '\n');
    }
    hr__text_byte(to, '\0');
}

static golden_result compare_logs(golden_case *c, const char *expected, const char *got)
{
    const char *e = expected, *g = got;
    while (*e && strcspn(e, "\n") == strcspn(g, "\n") && strncmp(e, g, strcspn(e, "\n")) == 0) {
        e += strcspn(e, "\n") + 1;
        g += strcspn(g, "\n") + (*g != '\0');
    }
    if (!*e && !*g) return GOLDEN_AGREES;
    return golden_differs(c, "\"%.*s\", expected \"%.*s\"", (int)strcspn(g, "\n"), g, (int)strcspn(e, "\n"), e);
}

golden_result run_session_case(golden_case *c)
{
    session_run run = {.c = c, .json = c->json};
    recording recordings[8], *pointers[8];
    hr_hook *hooks[10];
    hr__text expected = {0};
    const char *dir = "session_checkpoints";
    int count = 0;
    run.stop_at = call_that_stops(golden_get(golden_get(c->json, "expect"), "log"));
    stepping_new(&run.steps, c->json);
    run.x = hr_scalar(run.steps.graph, HR_FLOAT, 1);
    run.z = hr_scalar(run.steps.graph, HR_FLOAT, 0);
    run.y = hr_mul(run.x, hr_scalar(run.steps.graph, HR_FLOAT, 2));
    if (system("rm -rf session_checkpoints") != 0) return golden_differs(c, "rm");
    if (golden_bool(c->json, "checkpoint_every_run", false))
        hooks[count++] = hr_checkpoint_saver_hook(dir, .save_steps = 1);
    for (int i = 0; i < cJSON_GetArraySize(golden_get(c->json, "hooks")); i++) {
        recordings[i] =
            (recording){.run = &run, .name = cJSON_GetArrayItem(golden_get(c->json, "hooks"), i)->valuestring};
        pointers[i] = &recordings[i];
        hooks[count++] = hr_hook_new(&recording_kind, &pointers[i]);
    }
    call_all(&run, hooks, count, dir);
    hr_graph_free(run.steps.graph);
    golden_get(c->json, "runs"); /* of a session that a hook's begin ends, there are none */
    expected_log(golden_get(golden_get(c->json, "expect"), "log"), &expected);
    hr__text_byte(&run.log, '\0');
    golden_result result = compare_logs(c, expected.data, run.log.data);
    hr__text_free(&expected);
    hr__text_free(&run.log);
    return result;
}
