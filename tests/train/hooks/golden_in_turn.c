/* train_and_evaluate: when it evaluates and what its exporters are asked, by a clock that goes on with each training run
 * and each question to an exporter. */
#include "base/text.h"
#include "tests/train/hooks/golden_hooks.h"
#include <headrace/estimator.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_IN_TURN "in_turn_model"
enum { MAX_EXPORTERS = 4 };

typedef struct turn_run {
    golden_case *c;
    const cJSON *json;
    hr__text log;
    double start, now;
    int64_t max_steps;
    int evaluations; /* of this call */
    bool asked;      /* exporters since the last evaluation */
    hr_estimator *e;
    hr_exporter *exporter[MAX_EXPORTERS];
    int exporters;
    char checkpoint[256]; /* of the last export */
    float ones[256];
} turn_run;

/* ---- what exporters have done, when the loop goes on ---- */

static int is_export(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void note_kept(turn_run *run, const char *name)
{
    char path[256];
    struct dirent **found = NULL;
    snprintf(path, sizeof path, MODEL_IN_TURN "/export/%s", name);
    const int count = scandir(path, &found, is_export, alphasort);
    for (int i = 0; i < count; i++) {
        hr__text_printf(&run->log, " %.0f", strtod(found[i]->d_name, NULL) - run->start);
        free(found[i]);
    }
    free(found);
    hr__text_byte(&run->log, '\n');
}

static void note_exports(turn_run *run)
{
    const int64_t step = (int64_t)hr_estimator_result(run->e, "global_step");
    for (int i = 0; i < run->exporters && run->asked; i++) {
        const char *name = cJSON_GetArrayItem(golden_get(run->json, "exporters"), i)->valuestring;
        const bool exported = hr_exporter_exported(run->exporter[i]) != NULL;
        hr__text_printf(&run->log, "%s export checkpoint=model.ckpt-%d loss=%.6g exported=%d kept:", name, (int)step,
                        hr_estimator_result(run->e, "loss"), exported);
        note_kept(run, name);
    }
    run->asked = false;
}

static hr_status write_nothing(const char *dir, const char *checkpoint, void *user, hr_error *err)
{
    char expected[128];
    turn_run *run = user;
    (void)dir;
    snprintf(expected, sizeof expected, MODEL_IN_TURN "/model.ckpt-%d",
             (int)hr_estimator_result(run->e, "global_step"));
    if (strcmp(checkpoint, expected) == 0) return HR_OK;
    return hr_fail(err, HR_INTERNAL, "test.export", "%s is exported, expected %s", checkpoint, expected);
}

static void tick_when_asked(hr_level level, const char *text, void *user)
{
    turn_run *run = user;
    (void)level;
    if (strncmp(text, "exporter '", 10) != 0) return;
    run->asked = true;
    run->now += 1;
}

/* ---- the model and its hooks ---- */

static hr_status turn_created(void *state, hr_monitored_session *m, hr_error *err)
{
    turn_run *run = *(turn_run **)state;
    int64_t step;
    HR_TRY(hr_monitored_step(m, &step, err));
    note_exports(run);
    run->evaluations++;
    hr__text_printf(&run->log, "evaluate begin step=%d clock=%g\n", (int)step, run->now - run->start);
    return HR_OK;
}

static hr_status turn_evaluated(void *state, hr_monitored_session *m, hr_error *err)
{
    (void)m, (void)err;
    hr__text_add(&(*(turn_run **)state)->log, "evaluate end\n");
    return HR_OK;
}

static const hr_hook_kind evaluation_kind = {.head = HR_HOOK_HEAD,
                                             .name = "evaluation",
                                             .state_size = sizeof(turn_run *),
                                             .after_create_session = turn_created,
                                             .end = turn_evaluated};

static hr_status turn_begin(void *state, hr_graph *g, hr_error *err)
{
    (void)g, (void)err;
    hr__text_add(&(*(turn_run **)state)->log, "train begin\n");
    return HR_OK;
}

/* A stop that is requested before a run lets it happen. */
static hr_status turn_before(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    turn_run *run = *(turn_run **)state;
    int64_t step;
    (void)request;
    HR_TRY(hr_monitored_step(m, &step, err));
    if (step == golden_int(run->json, "stop_requested_at_step", -1)) hr_request_stop(m);
    note_exports(run);
    run->now += golden_number_double(golden_get(run->json, "clock_step"));
    return HR_OK;
}

static hr_status turn_end(void *state, hr_monitored_session *m, hr_error *err)
{
    int64_t step;
    HR_TRY(hr_monitored_step(m, &step, err));
    note_exports(*(turn_run **)state);
    hr__text_printf(&(*(turn_run **)state)->log, "train end step=%d\n", (int)step);
    return HR_OK;
}

static const hr_hook_kind training_kind = {.head = HR_HOOK_HEAD,
                                           .name = "training",
                                           .state_size = sizeof(turn_run *),
                                           .begin = turn_begin,
                                           .before_run = turn_before,
                                           .end = turn_end};

/* The loss that an evaluation at a step finds: a constant list, looked up by global_step. */
static hr_node loss_by_step(const turn_run *run, hr_graph *g, hr_node x)
{
    float value[64];
    int count = 0;
    const cJSON *loss, *losses = golden_get(run->json, "eval_loss_by_step");
    cJSON_ArrayForEach(loss, losses) value[count++] = (float)golden_number_double(loss);
    if (count == 0) return hr_reduce_mean(x);
    const hr_tensor list = hr_tensor_of(HR_FLOAT, HR_SHAPE(count), value);
    return hr_gather(hr_const(g, &list), hr_identity(hr_global_step(g)), 0);
}

static hr_status turn_model(const hr_model_call *call, void *user, hr_error *err)
{
    turn_run *run = user;
    (void)err;
    const hr_node x = hr_feature_values(call->features, "x");
    const bool trains = call->mode == HR_MODE_TRAIN;
    hr_spec_loss(call->spec, trains ? hr_reduce_mean(x) : loss_by_step(run, call->graph, x));
    if (trains)
        hr_spec_train_op(call->spec, hr_assign_add(hr_global_step(call->graph), hr_scalar(call->graph, HR_INT64, 1)));
    hr_spec_hook(call->spec, hr_hook_new(trains ? &training_kind : &evaluation_kind, &run));
    return HR_OK;
}

static hr_dataset *ones(turn_run *run, int64_t count)
{
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(count), run->ones);
    return hr_batch(hr_from_tensor_slices(&value, (const char *[]){"x"}, 1), 1);
}

static hr_dataset *train_input(void *user)
{
    return ones(user, golden_int(((turn_run *)user)->json, "train_batches", 1));
}
static hr_dataset *eval_input(void *user) { return ones(user, 100); }
static double now_of(void *user) { return ((turn_run *)user)->now; }

/* ---- calls ---- */

static void make_exporters(turn_run *run)
{
    const cJSON *name;
    const int64_t keep = golden_int(run->json, "exports_to_keep", 5);
    cJSON_ArrayForEach(name, golden_get(run->json, "exporters"))
    {
        const char *text = name->valuestring;
        run->exporter[run->exporters++] =
            strcmp(text, "latest") == 0 ? hr_latest_exporter(text, write_nothing, run, .exports_to_keep = &keep)
            : strcmp(text, "best") == 0 ? hr_best_exporter(text, write_nothing, run, .exports_to_keep = &keep)
                                        : hr_final_exporter(text, write_nothing, run);
    }
}

static hr_status call_in_turn(turn_run *run)
{
    const int64_t steps = golden_int(run->json, "eval_steps", 100),
                  throttle = golden_int(run->json, "throttle_secs", 0);
    int exports = 0;
    run->evaluations = 0;
    hr__text_add(&run->log, "caller train_and_evaluate\n");
    HR_TRY(hr_train_and_evaluate(
        run->e, HR_TRAIN_SPEC(.input_fn = train_input, .user = run, .max_steps = run->max_steps),
        HR_EVAL_SPEC(.input_fn = eval_input, .user = run, .steps = &steps, .throttle_secs = &throttle,
                     .exporters = run->exporter, .exporter_count = run->exporters)));
    for (int i = 0; i < run->exporters && run->evaluations; i++)
        exports += hr_exporter_exported(run->exporter[i]) != NULL;
    hr__text_add(&run->log, "caller return");
    if (run->evaluations)
        hr__text_printf(&run->log, " global_step=%.6g loss=%.6g", hr_estimator_result(run->e, "global_step"),
                        hr_estimator_result(run->e, "loss"));
    hr__text_printf(&run->log, " exports=%d\n", exports);
    return HR_OK;
}

static void expected_line(const char *who, const char *what, const cJSON *more, hr__text *to)
{
    const cJSON *kept, *metrics = golden_get(more, "metrics");
    hr__text_printf(to, "%s %s", who, what);
    if (golden_get(more, "step")) hr__text_printf(to, " step=%d", (int)golden_int(more, "step", 0));
    if (golden_get(more, "clock")) hr__text_printf(to, " clock=%g", golden_number_double(golden_get(more, "clock")));
    if (golden_get(more, "checkpoint"))
        hr__text_printf(to, " checkpoint=%s loss=%.6g exported=%d kept:", golden_text(more, "checkpoint", ""),
                        golden_number_double(golden_get(more, "loss")), golden_bool(more, "exported", false));
    cJSON_ArrayForEach(kept, golden_get(more, "kept")) hr__text_printf(to, " %.0f", golden_number_double(kept));
    if (cJSON_IsObject(metrics))
        hr__text_printf(to, " global_step=%.6g loss=%.6g", golden_number_double(golden_get(metrics, "global_step")),
                        golden_number_double(golden_get(metrics, "loss")));
    if (golden_get(more, "exports")) hr__text_printf(to, " exports=%d", (int)golden_int(more, "exports", 0));
    golden_get(more, "final"); /* what the final exporter does shows it */
    hr__text_byte(to, '\n');
}

static golden_result compare_turns(turn_run *run)
{
    const cJSON *line, *expect = golden_get(run->json, "expect");
    hr__text text = {0};
    golden_whole(golden_get(expect, "messages")); /* ours say other things; when it evaluates is in the log */
    cJSON_ArrayForEach(line, golden_get(expect, "log"))
        expected_line(cJSON_GetArrayItem(line, 0)->valuestring, cJSON_GetArrayItem(line, 1)->valuestring,
                      cJSON_GetArrayItem(line, 2), &text);
    const golden_result result = compare_texts(run->c, &text, &run->log);
    hr__text_free(&text);
    return result;
}

static golden_result compare_checkpoints(golden_case *c, const cJSON *names)
{
    const cJSON *name;
    char path[256];
    int there = 0;
    cJSON_ArrayForEach(name, names)
    {
        snprintf(path, sizeof path, MODEL_IN_TURN "/%s", name->valuestring);
        FILE *f = fopen(path, "r");
        if (!f) return golden_differs(c, "%s is missing", name->valuestring);
        fclose(f);
    }
    DIR *d = opendir(MODEL_IN_TURN);
    for (struct dirent *e; d && (e = readdir(d));) there += strstr(e->d_name, ".index") != NULL;
    if (d) closedir(d);
    return there == cJSON_GetArraySize(names) ? GOLDEN_AGREES : golden_differs(c, "%d checkpoints", there);
}

golden_result run_in_turn_case(golden_case *c)
{
    turn_run run = {.c = c, .json = c->json, .start = 1700000000, .now = 1700000000};
    const cJSON *max = golden_get(c->json, "max_steps"), *again = golden_get(c->json, "second_call_max_steps");
    const int64_t keep = golden_int(c->json, "keep_checkpoint_max", 5);
    for (int i = 0; i < 256; i++) run.ones[i] = 1;
    if (system("rm -rf " MODEL_IN_TURN) != 0) return golden_differs(c, "rm");
    run.max_steps = max && !cJSON_IsNull(max) ? golden_number_int64(max) : 0;
    run.e = hr_estimator_new(turn_model, &run, .model_dir = MODEL_IN_TURN,
                             .config = {.save_checkpoints_steps = golden_int(c->json, "save_checkpoints_steps", 1),
                                        .keep_checkpoint_max = &keep,
                                        .now = now_of,
                                        .now_user = &run});
    make_exporters(&run);
    hr_set_log(tick_when_asked, &run);
    hr_status st = call_in_turn(&run);
    if (again) run.max_steps = golden_number_int64(again);
    if (again && st == HR_OK) st = call_in_turn(&run);
    hr_set_log(NULL, NULL);
    golden_result result = st == HR_OK ? compare_turns(&run) : golden_differs(c, "%s", hr_estimator_error(run.e)->text);
    if (result == GOLDEN_AGREES)
        result = compare_checkpoints(c, golden_get(golden_get(c->json, "expect"), "checkpoints"));
    for (int i = 0; i < run.exporters; i++) hr_exporter_free(run.exporter[i]);
    hr_estimator_free(run.e);
    hr__text_free(&run.log);
    return result;
}
