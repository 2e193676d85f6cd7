/* Evaluating and predicting with the models of clicks: all rows of the files, with the values that a few steps have
 * given; the clock begins at the second batch. */
#include "bench/click_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 3 };

typedef struct trained {
    click_model model;
    hr_estimator *estimator;
    char dir[BENCH_PATH];
} trained;

static void remove_folder(const char *dir)
{
    char command[BENCH_PATH + 16];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command) != 0) (void)fprintf(stderr, "bench: cannot remove %s\n", dir);
}

static hr_status open_trained(trained *t, pass *p, bool deep)
{
    int workers = p->threads - 1;
    *t = (trained){.model = {.folder = p->folder, .wide = true, .deep = deep, .in_order = true}};
    const hr_run_config config = {.save_summary_steps = -1, .log_step_count_steps = -1, .workers = &workers};
    bench_temporary(t->dir, "predict-XXXXXX");
    if (!mkdtemp(t->dir)) return hr_fail(&p->error, HR_UNAVAILABLE, "bench.predict", "no temporary folder");
    t->estimator = click_estimator(&t->model, t->dir, &config);
    return hr_estimator_train(t->estimator, click_input, &t->model, .steps = STEPS);
}

static hr_status close_trained(trained *t, pass *p, hr_status st)
{
    if (st != HR_OK) p->error = *hr_estimator_error(t->estimator);
    hr_estimator_free(t->estimator);
    click_clear(&t->model);
    remove_folder(t->dir);
    return st;
}

typedef struct counted {
    int64_t rows;
    double started;
} counted;

static hr_status count_rows(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                            int count, void *user, hr_error *err)
{
    counted *c = user;
    (void)element, (void)names, (void)predictions, (void)count, (void)err;
    if (c->started == 0)
        c->started = bench_seconds();
    else
        c->rows += CLICK_ROWS;
    return HR_OK;
}

static hr_status run(pass *p, bool deep, bool evaluates)
{
    trained t;
    counted c = {0};
    hr_status st = open_trained(&t, p, deep);
    if (st == HR_OK)
        st = evaluates ? hr_estimator_evaluate(t.estimator, click_input, &t.model, .each = count_rows, .each_user = &c)
                       : hr_estimator_predict(t.estimator, click_input, &t.model, count_rows, &c);
    p->rows = c.rows;
    p->seconds = bench_seconds() - c.started;
    return close_trained(&t, p, st);
}

#define PREDICT_RUN(NAME, DEEP_TOO, EVALUATES)                                                                         \
    static hr_status NAME(pass *p, void *memory)                                                                       \
    {                                                                                                                  \
        (void)memory;                                                                                                  \
        return run(p, DEEP_TOO, EVALUATES);                                                                            \
    }
PREDICT_RUN(evaluate_linear, false, true)
PREDICT_RUN(predict_linear, false, false)
PREDICT_RUN(evaluate_wide_deep, true, true)
PREDICT_RUN(predict_wide_deep, true, false)

const work work_predict[] = {
    {.name = "evaluate_linear", .run = evaluate_linear, .threads = 2},
    {.name = "predict_linear", .run = predict_linear, .threads = 2},
    {.name = "evaluate_wide_deep", .run = evaluate_wide_deep, .threads = 2},
    {.name = "predict_wide_deep", .run = predict_wide_deep, .threads = 2},
    {0},
};
