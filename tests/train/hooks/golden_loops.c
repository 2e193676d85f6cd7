/* The loops of an estimator on one model, whose loss is read from the data, with hooks that write down their calls. */
#include "base/text.h"
#include "tests/train/hooks/golden_hooks.h"
#include <headrace/estimator.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_OF_MODEL "loop_model"

typedef struct loop_run {
    golden_case *c;
    const cJSON *json;
    hr__text log, messages, warnings;
    float losses[256];
    int64_t count, batch; /* rows of the input, and of a batch of it */
    double now;
    int listener_calls;
    int64_t left; /* examples that the caller still wants; below 0: all */
} loop_run;

/* ---- hooks that write down their calls ---- */

typedef struct loop_hook {
    loop_run *run;
    char name[32];
    int calls[5]; /* of each method */
} loop_hook;

enum { BEGIN, AFTER_CREATE_SESSION, BEFORE_RUN, AFTER_RUN, END };
static const char *const methods[] = {"begin", "after_create_session", "before_run", "after_run", "end"};

/* What a hook or a listener does at this call; NULL: nothing. */
static const char *deed(loop_run *run, const char *name, const char *method, int call)
{
    const cJSON *a;
    cJSON_ArrayForEach(a, golden_get(run->json, "act"))
    {
        if (strcmp(golden_text(a, "hook", ""), name) != 0 || strcmp(golden_text(a, "at", ""), method) != 0 ||
            golden_int(a, "call", 0) != call)
            continue;
        const char *what = golden_text(a, "do", "");
        hr__text_printf(&run->log, "%s does %s\n", name, what);
        return what;
    }
    return NULL;
}

static hr_status note(loop_hook *h, hr_monitored_session *m, int method, hr_error *err)
{
    hr__text *log = &h->run->log;
    int64_t step;
    hr__text_printf(log, "%s %s", h->name, methods[method]);
    if (method != BEGIN) {
        HR_TRY(hr_monitored_step(m, &step, err));
        hr__text_printf(log, " step=%d", (int)step);
    }
    if (method == BEFORE_RUN || method == AFTER_RUN) hr__text_printf(log, " stop=%d", hr_stop_requested(m));
    hr__text_byte(log, '\n');
    const char *what = deed(h->run, h->name, methods[method], h->calls[method]++);
    if (!what) return HR_OK;
    if (strcmp(what, "request_stop") != 0) return hr_fail(err, HR_INVALID_ARGUMENT, "test.hook", "a hook failed");
    hr_request_stop(m);
    return HR_OK;
}

static hr_status loop_begin(void *state, hr_graph *g, hr_error *err)
{
    (void)g;
    return note(state, NULL, BEGIN, err);
}
static hr_status loop_created(void *state, hr_monitored_session *m, hr_error *err)
{
    return note(state, m, AFTER_CREATE_SESSION, err);
}
static hr_status loop_before(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)request;
    return note(state, m, BEFORE_RUN, err);
}
static hr_status loop_after(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    (void)results;
    return note(state, m, AFTER_RUN, err);
}
static hr_status loop_end(void *state, hr_monitored_session *m, hr_error *err) { return note(state, m, END, err); }

static const hr_hook_kind loop_kind = {
    .head = HR_HOOK_HEAD,
    .name = "recording",
    .state_size = sizeof(loop_hook),
    .begin = loop_begin,
    .after_create_session = loop_created,
    .before_run = loop_before,
    .after_run = loop_after,
    .end = loop_end,
};

static hr_hook *new_loop_hook(loop_run *run, const char *name)
{
    loop_hook h = {.run = run};
    snprintf(h.name, sizeof h.name, "%s", name);
    return hr_hook_new(&loop_kind, &h);
}

/* The clock goes on before each run. */
static hr_status tick_before(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)m, (void)request, (void)err;
    (*(loop_run **)state)->now += 0.25;
    return HR_OK;
}

static const hr_hook_kind tick_kind = {
    .head = HR_HOOK_HEAD, .name = "tick", .state_size = sizeof(loop_run *), .before_run = tick_before};

static double now_of(void *user) { return ((loop_run *)user)->now; }

/* ---- the listener ---- */

static hr_status listener_note(loop_run *run, const char *method, int64_t step)
{
    hr__text_printf(&run->log, "listener %s", method);
    if (step >= 0) hr__text_printf(&run->log, " step=%d", (int)step);
    hr__text_byte(&run->log, '\n');
    return HR_OK;
}

static hr_status listener_begin(void *user, hr_graph *g, hr_error *err)
{
    (void)g, (void)err;
    return listener_note(user, "begin", -1);
}
static hr_status listener_before(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    (void)m, (void)err;
    return listener_note(user, "before_save", step);
}
static hr_status listener_after(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    loop_run *run = user;
    (void)err;
    listener_note(run, "after_save", step);
    if (deed(run, "listener", "after_save", run->listener_calls++)) hr_request_stop(m);
    return HR_OK;
}
static hr_status listener_end(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    (void)m, (void)err;
    return listener_note(user, "end", step);
}

/* ---- the model ---- */

static hr_dataset *losses_input(void *user)
{
    const loop_run *run = user;
    const hr_tensor values = hr_tensor_of(HR_FLOAT, HR_SHAPE(run->count), run->losses);
    return hr_batch(hr_from_tensor_slices(&values, (const char *[]){"x"}, 1), run->batch);
}

static hr_status loss_model(const hr_model_call *call, void *user, hr_error *err)
{
    static const char *const names[] = {"spec_training", "spec_evaluation", "spec_prediction"};
    loop_run *run = user;
    (void)err;
    const hr_node x = hr_feature_values(call->features, "x"), loss = hr_reduce_mean(x);
    hr_spec_loss(call->spec, loss);
    hr_spec_prediction(call->spec, "y", x);
    if (call->mode == HR_MODE_EVAL) hr_spec_metric(call->spec, "mean_x", hr_metric_mean(x));
    if (call->mode == HR_MODE_TRAIN)
        hr_spec_train_op(call->spec, hr_assign_add(hr_global_step(call->graph), hr_scalar(call->graph, HR_INT64, 1)));
    if (golden_bool(run->json, "spec_hooks", false)) {
        hr_spec_chief_hook(call->spec, new_loop_hook(run, "spec_chief"));
        hr_spec_hook(call->spec, new_loop_hook(run, names[call->mode]));
    }
    hr_spec_hook(call->spec, hr_hook_new(&tick_kind, &run));
    return HR_OK;
}

/* ---- calls ---- */

static void say_error(loop_run *run, hr_status st)
{
    hr__text_printf(&run->log, "caller raise error=%s\n", hr_status_name(st));
}

/* The hooks of the case, by name. */
static int case_hooks(loop_run *run, hr_hook **hooks)
{
    const cJSON *h;
    int count = 0;
    cJSON_ArrayForEach(h, golden_get(run->json, "hooks")) hooks[count++] = new_loop_hook(run, h->valuestring);
    return count;
}

static hr_status call_train(loop_run *run, hr_estimator *e, const cJSON *call)
{
    hr_hook *hooks[8];
    const int count = case_hooks(run, hooks);
    const hr_saver_listener listener = {listener_begin, listener_before, listener_after, listener_end, run};
    const hr_status st =
        hr_estimator_train(e, losses_input, run, .steps = golden_int(call, "steps", 0),
                           .max_steps = golden_int(call, "max_steps", 0), .hooks = hooks, .hook_count = count,
                           .saving_listener = golden_bool(call, "listener", false) ? &listener : NULL);
    if (st == HR_OK) hr__text_add(&run->log, "caller return\n");
    return st;
}

static hr_status call_evaluate(loop_run *run, hr_estimator *e, const cJSON *call)
{
    hr_hook *hooks[8];
    const int count = case_hooks(run, hooks);
    HR_TRY(hr_estimator_evaluate(e, losses_input, run, .steps = golden_int(call, "steps", 0), .hooks = hooks,
                                 .hook_count = count, .initial_values = true));
    hr__text_add(&run->log, "caller return");
    for (int i = 0; i < hr_estimator_results(e); i++) {
        const char *name = hr_estimator_result_name(e, i);
        hr__text_printf(&run->log, " %s=%.6g", name, hr_estimator_result(e, name));
    }
    hr__text_byte(&run->log, '\n');
    return HR_OK;
}

/* TensorFlow's caller takes one example after the other. */
static hr_status take_examples(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                               int count, void *user, hr_error *err)
{
    loop_run *run = user;
    (void)element, (void)count, (void)err;
    for (int64_t i = 0; i < predictions[0].count && run->left != 0; i++, run->left--)
        hr__text_printf(&run->log, "caller example %s=%.6g\n", names[0],
                        (double)((const float *)predictions[0].data)[i]);
    return run->left == 0 ? HR_END : HR_OK;
}

static hr_status call_predict(loop_run *run, hr_estimator *e, const cJSON *call)
{
    hr_hook *hooks[8];
    const int count = case_hooks(run, hooks);
    run->left = golden_int(call, "take", -1);
    HR_TRY(hr_estimator_predict(e, losses_input, run, take_examples, run, .hooks = hooks, .hook_count = count));
    hr__text_add(&run->log, "caller return\n");
    return HR_OK;
}

static void keep_message(hr_level level, const char *text, void *user)
{
    loop_run *run = user;
    if (level == HR_INFO || level == HR_WARNING)
        hr__text_printf(level == HR_INFO ? &run->messages : &run->warnings, "%s\n", text);
}

static void call_all(loop_run *run, hr_estimator *e)
{
    const cJSON *call;
    cJSON_ArrayForEach(call, golden_get(run->json, "calls"))
    {
        const char *what = golden_text(call, "call", "");
        run->batch = golden_int(call, "batch", 1);
        hr__text_printf(&run->log, "caller %s\n", what);
        const hr_status st = strcmp(what, "train") == 0      ? call_train(run, e, call)
                             : strcmp(what, "evaluate") == 0 ? call_evaluate(run, e, call)
                                                             : call_predict(run, e, call);
        if (st != HR_OK) say_error(run, st);
        if (st != HR_OK) break;
    }
}

/* ---- comparing ---- */

/* TensorFlow's log in our form. A graph is never closed here, so whether it was says nothing. */
static void expected_log(const cJSON *log, hr__text *to)
{
    const cJSON *line, *value;
    cJSON_ArrayForEach(line, log)
    {
        const cJSON *more = cJSON_GetArrayItem(line, 2);
        hr__text_printf(to, "%s %s", cJSON_GetArrayItem(line, 0)->valuestring,
                        cJSON_GetArrayItem(line, 1)->valuestring);
        if (cJSON_IsString(more)) hr__text_printf(to, " %s", more->valuestring);
        if (golden_error_class(more)) hr__text_printf(to, " error=%s", golden_error_class(more));
        cJSON_ArrayForEach(value, golden_fields(more))
        {
            if (cJSON_IsBool(value) && strcmp(value->string, "stop_requested") == 0)
                hr__text_printf(to, " stop=%d", cJSON_IsTrue(value));
            if (cJSON_IsNumber(value)) hr__text_printf(to, " %s=%.6g", value->string, value->valuedouble);
        }
        golden_whole(more);
        hr__text_byte(to, '\n');
    }
}

/* What is measured is logged in TensorFlow's words; all else that it says of its work is not repeated. */
static void expected_messages(const cJSON *messages, hr__text *to)
{
    static const char *const said[] = {"loss = ", "global_step/sec", "Loss for final step", "Evaluation ["};
    const cJSON *m;
    cJSON_ArrayForEach(m, messages)
    {
        const char *text = cJSON_GetArrayItem(m, 1)->valuestring;
        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
            if (strncmp(text, said[i], strlen(said[i])) == 0) hr__text_printf(to, "%s\n", text);
    }
    golden_whole(messages);
}

golden_result compare_texts(golden_case *c, const hr__text *expected, const hr__text *got)
{
    const char *e = expected->data ? expected->data : "", *g = got->data ? got->data : "";
    while (*e && strcspn(e, "\n") == strcspn(g, "\n") && strncmp(e, g, strcspn(e, "\n")) == 0) {
        e += strcspn(e, "\n") + 1;
        g += strcspn(g, "\n") + (*g != '\0');
    }
    if (!*e && !*g) return GOLDEN_AGREES;
    return golden_differs(c, "\"%.*s\", expected \"%.*s\"", (int)strcspn(g, "\n"), g, (int)strcspn(e, "\n"), e);
}

static bool of_graph(const char *name) { return strstr(name, ".meta") || strcmp(name, "graph.pbtxt") == 0; }

/* The files of the model's folder, but event files, which the cases leave out. */
static golden_result compare_files(golden_case *c, const cJSON *files)
{
    const cJSON *f;
    int wanted = 0, there = 0;
    char path[512];
    bool graphs = true;
    cJSON_ArrayForEach(f, files)
    {
        snprintf(path, sizeof path, DIR_OF_MODEL "/%s", f->valuestring);
        const bool found = access(path, F_OK) == 0;
        if (!found && !of_graph(f->valuestring)) return golden_differs(c, "%s is missing", f->valuestring);
        graphs &= found || !of_graph(f->valuestring);
        wanted += found;
    }
    DIR *d = opendir(DIR_OF_MODEL);
    for (struct dirent *e; d && (e = readdir(d));) there += e->d_name[0] != '.' && !strstr(e->d_name, "tfevents");
    if (d) closedir(d);
    if (there != wanted) return golden_differs(c, "%d files, expected %d", there, wanted);
    return graphs ? GOLDEN_AGREES : golden_not_built(c, "graphs beside checkpoints (all else agrees)");
}

static golden_result compare_state(golden_case *c, const cJSON *state)
{
    char text[4096] = "";
    FILE *f = fopen(DIR_OF_MODEL "/checkpoint", "r");
    if (f) text[fread(text, 1, sizeof text - 1, f)] = '\0';
    if (f) fclose(f);
    const char *expected = cJSON_IsString(state) ? state->valuestring : "";
    return strcmp(text, expected) == 0 ? GOLDEN_AGREES : golden_differs(c, "state \"%s\"", text);
}

/* TensorFlow's second training begins its input again; ours goes on where it was, so it logs other losses. */
static bool trains_again(const cJSON *calls)
{
    const cJSON *call;
    int trainings = 0;
    cJSON_ArrayForEach(call, calls) trainings += strcmp(golden_text(call, "call", ""), "train") == 0;
    return trainings > 1;
}

static golden_result compare_loops(loop_run *run)
{
    const cJSON *expect = golden_get(run->json, "expect");
    hr__text log = {0}, messages = {0};
    const bool report = golden_bool(golden_get(run->json, "default"), "report", false);
    expected_log(golden_get(expect, "log"), &log);
    expected_messages(golden_get(expect, "messages"), &messages);
    golden_result result = compare_texts(run->c, &log, &run->log);
    if (result == GOLDEN_AGREES && !trains_again(golden_get(run->json, "calls")))
        result = compare_texts(run->c, &messages, &run->messages);
    if (result == GOLDEN_AGREES && report && !run->warnings.data)
        result = golden_differs(run->c, "nothing is said of it");
    if (result == GOLDEN_AGREES) result = compare_state(run->c, golden_get(expect, "state"));
    if (result == GOLDEN_AGREES) result = compare_files(run->c, golden_get(expect, "files"));
    hr__text_free(&log);
    hr__text_free(&messages);
    return result;
}

/* A call cannot say 0 steps: that is the default, all. */
static bool says_zero_steps(const cJSON *calls)
{
    const cJSON *call;
    cJSON_ArrayForEach(call, calls) if (golden_int(call, "steps", 1) == 0) return true;
    return false;
}

static int64_t or_none(const cJSON *json, const char *key)
{
    const cJSON *n = golden_get(json, key);
    return n && !cJSON_IsNull(n) ? golden_number_int64(n) : -1;
}

golden_result run_estimator_case(golden_case *c)
{
    loop_run run = {.c = c, .json = c->json, .now = 1700000000};
    const cJSON *loss;
    golden_get(c->json, "spec_hooks"); /* of a call that is refused there are none */
    if (says_zero_steps(golden_get(c->json, "calls"))) {
        golden_whole(c->json);
        return GOLDEN_AGREES;
    }
    cJSON_ArrayForEach(loss, golden_get(c->json, "losses")) run.losses[run.count++] = (float)golden_number_double(loss);
    if (system("rm -rf " DIR_OF_MODEL) != 0) return golden_differs(c, "rm");
    int keep = 5; /* only the text says another number */
    if (sscanf(golden_text(c->json, "what", ""), "keep_checkpoint_max %d", &keep) != 1) keep = 5;
    const int64_t kept = keep;
    hr_estimator *e = hr_estimator_new(loss_model, &run, .model_dir = DIR_OF_MODEL,
                                       .config = {.save_checkpoints_steps = or_none(c->json, "save_checkpoints_steps"),
                                                  .keep_checkpoint_max = &kept,
                                                  .save_summary_steps = or_none(c->json, "save_summary_steps"),
                                                  .log_step_count_steps = or_none(c->json, "log_step_count_steps"),
                                                  .now = now_of,
                                                  .now_user = &run});
    hr_set_log(keep_message, &run);
    call_all(&run, e);
    hr_set_log(NULL, NULL);
    hr_estimator_free(e);
    const golden_result result = compare_loops(&run);
    hr__text_free(&run.log);
    hr__text_free(&run.messages);
    hr__text_free(&run.warnings);
    return result;
}
