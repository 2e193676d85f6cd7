/* Evaluating and predicting with the models of clicks: all rows of the files, with the values that a few steps have
 * given; the clock begins at the second batch. */
#include "bench/click_model.h"
#include <headrace/layers.h>
#include <headrace/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 3, BATCHES = 40, REQUESTS = 8, FORWARD_FEEDS = 256 };

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

/* ---- the forward pass alone: the network over batches that are parsed, in memory ---- */

typedef struct forward {
    hr_graph *graph;
    hr_features *features;
    hr_session *session;
    hr_callable *callable;
    int feeds, batches;
    hr_tensor *value; /* of all batches, FORWARD_FEEDS a batch */
} forward;

static hr_node forward_network(const forward *f, click_model *m)
{
    const hr_column_list linear = {m->column, WIDE}, dnn = {m->column + WIDE, DEEP};
    const int64_t units[] = {256, 128, 64};
    if (!m->deep) return hr_sigmoid(hr_linear_model(f->features, linear));
    hr_node net = hr_input_layer(f->features, dnn);
    for (int i = 0; i < 3; i++) net = hr_dense(net, units[i], .activation = hr_relu_fn);
    return hr_sigmoid(hr_add(hr_dense(net, 1), hr_linear_model(f->features, linear)));
}

/* Makes the callable of the batch's placeholders, and keeps a copy of its values. */
static hr_status forward_keep(forward *f, int batch, hr_node logistic, const hr_element *e, hr_error *err)
{
    const int most = hr_features_feeds(f->features);
    hr_feed feed[FORWARD_FEEDS];
    hr_node node[FORWARD_FEEDS];
    if (most > FORWARD_FEEDS)
        return hr_fail(err, HR_INTERNAL, "bench.forward", "expected fewer features, got %d", most);
    HR_TRY(hr_feed_element(f->features, e, feed, &f->feeds, err));
    for (int i = 0; i < f->feeds; i++) {
        hr_tensor *to = &f->value[batch * FORWARD_FEEDS + i];
        const hr_tensor *from = &feed[i].value;
        node[i] = feed[i].node;
        HR_TRY(hr_tensor_new(to, from->dtype, from->shape, err));
        if (to->count) memcpy(to->data, from->data, (size_t)to->count * hr_dtype_size(to->dtype));
    }
    if (batch > 0) return HR_OK;
    return hr_session_make_callable(f->session, node, f->feeds, &logistic, 1, &f->callable, err);
}

static hr_status forward_open(forward *f, click_model *m, pass *p, hr_iterator **it)
{
    hr_dataset *ds = hr_transform_features(click_input(m), ((hr_column_list){m->column, m->columns}));
    f->graph = hr_graph_new();
    f->features = hr_placeholders_for(f->graph, hr_dataset_schema(ds));
    *it = hr_iterate(ds, .workers = &(int){p->threads - 1});
    const hr_error *failed = hr_iterator_error(*it);
    if (failed) p->error = *failed;
    if (failed) return failed->code;
    f->batches = m->rows ? REQUESTS : BATCHES;
    f->value = calloc((size_t)f->batches * FORWARD_FEEDS, sizeof *f->value);
    const hr_node logistic = forward_network(f, m), init = hr_global_variables_initializer(f->graph);
    f->session = hr_session_new(f->graph, .workers = &(int){p->threads - 1}, .passes = "exact,lookup_matmul");
    HR_TRY(hr_session_run(f->session, NULL, 0, &init, 1, NULL, &p->error));
    for (int i = 0; i < f->batches; i++) {
        const hr_element *e;
        HR_TRY(hr_next(*it, &e));
        HR_TRY(forward_keep(f, i, logistic, e, &p->error));
    }
    return HR_OK;
}

/* As many calls as take some time, after a round of all batches to warm up. */
static hr_status forward_time(forward *f, const click_model *m, pass *p)
{
    const int rows = m->rows ? m->rows : CLICK_ROWS, calls = f->batches * (rows == 1           ? 2500
                                                                           : rows < CLICK_ROWS ? 50
                                                                                               : 4);
    double started = 0;
    for (int i = 0; i < f->batches + calls; i++) {
        hr_tensor out;
        if (i == f->batches) started = bench_seconds();
        HR_TRY(hr_callable_run(f->callable, &f->value[i % f->batches * FORWARD_FEEDS], &out, &p->error));
        hr_tensor_clear(&out);
    }
    p->seconds = bench_seconds() - started;
    p->rows = (int64_t)calls * rows;
    add_extra(p, "us_per_call", p->seconds / calls * 1e6);
    return HR_OK;
}

static hr_status forward_pass(click_model *m, pass *p)
{
    forward f = {0};
    hr_iterator *it = NULL;
    hr_status st = forward_open(&f, m, p, &it);
    hr_iterator_free(it); /* its threads are not on the clock */
    if (st == HR_OK) st = forward_time(&f, m, p);
    for (int i = 0; f.value && i < f.batches * FORWARD_FEEDS; i++) hr_tensor_clear(&f.value[i]);
    free(f.value);
    hr_callable_free(f.callable);
    hr_session_free(f.session);
    hr_features_free(f.features);
    hr_graph_free(f.graph);
    return st;
}

/* What a server does with a request of some rows. */
static hr_status forward_rows(pass *p, bool deep, int rows)
{
    click_model m = {.folder = p->folder, .wide = true, .deep = deep, .in_order = true, .rows = rows};
    click_columns(&m);
    const hr_status st = forward_pass(&m, p);
    click_clear(&m);
    return st;
}

#define FORWARD_RUN(NAME, DEEP_TOO, ROWS)                                                                              \
    static hr_status NAME(pass *p, void *memory)                                                                       \
    {                                                                                                                  \
        (void)memory;                                                                                                  \
        return forward_rows(p, DEEP_TOO, ROWS);                                                                        \
    }
FORWARD_RUN(forward_linear_1, false, 1)
FORWARD_RUN(forward_wide_deep_1, true, 1)
FORWARD_RUN(forward_wide_deep_100, true, 100)

/* All rows are predicted first: what a prediction takes besides its forward pass is told as a share. */
static hr_status forward_wide_deep(pass *p, void *memory)
{
    trained t;
    counted c = {0};
    (void)memory;
    hr_status st = open_trained(&t, p, true);
    if (st == HR_OK) st = hr_estimator_predict(t.estimator, click_input, &t.model, count_rows, &c);
    const double predicted = (bench_seconds() - c.started) / (double)c.rows;
    if (st != HR_OK) return close_trained(&t, p, st);
    st = forward_pass(&t.model, p);
    add_extra(p, "share_of_prediction", p->seconds / (double)p->rows / predicted);
    (void)close_trained(&t, p, HR_OK);
    return st;
}

/* ---- the works of estimators ---- */

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
    {.name = "forward_wide_deep", .run = forward_wide_deep, .threads = 2},
    {.name = "forward_linear_1", .run = forward_linear_1},
    {.name = "forward_wide_deep_1", .run = forward_wide_deep_1},
    {.name = "forward_wide_deep_100", .run = forward_wide_deep_100},
    {0},
};
