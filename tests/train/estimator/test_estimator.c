/* Trainings from records to results: what they learn, what they leave behind, and that a stop leaves no trace in the
 * numbers. */
#include "base/cpu.h"
#include "tests/testing.h"
#include "tests/train/estimator/trainings.h"
#include <dirent.h>
#include <headrace/checkpoint.h>
#include <headrace/io.h>
#include <headrace/ops.h>
#include <headrace/profile.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a hook that remembers every batch and loss, and may stop or fail ---- */

enum { MAX_STEPS = 512 };
typedef struct recorder {
    uint64_t batch[MAX_STEPS];
    float loss[MAX_STEPS];
    int steps;
    int stop_at, fail_at; /* runs seen; 0: never */
} recorder;

static hr_status recorder_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    const recorder *r = *(recorder **)state;
    int count;
    hr_graph *g = hr_monitored_graph(m);
    if (r->stop_at < 0 && r->steps + 1 == -r->stop_at) hr_request_stop(m); /* the run still happens */
    HR_TRY(hr_request_fetch(request, hr_graph_node(g, "label"), err));
    HR_TRY(hr_request_fetch(request, hr_graph_node(g, "town"), err));
    return hr_request_fetch(request, hr_get_collection(g, "losses", &count)[0], err);
}

static hr_status recorder_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    recorder *r = *(recorder **)state;
    uint64_t labels = hr_fingerprint64(results[0].data, (size_t)results[0].count * sizeof(int64_t));
    uint64_t towns = hr_fingerprint64(results[1].data, (size_t)results[1].count * sizeof(int64_t));
    r->batch[r->steps] = hr_fingerprint_cat64(labels, towns);
    r->loss[r->steps++] = *(const float *)results[2].data;
    if (r->steps == r->stop_at) hr_request_stop(m);
    return r->steps == r->fail_at ? hr_fail(err, HR_INTERNAL, "test.fail", "asked to fail") : HR_OK;
}

static const hr_hook_kind recorder_kind = {
    .head = HR_HOOK_HEAD,
    .name = "recorder",
    .state_size = sizeof(recorder *),
    .before_run = recorder_before_run,
    .after_run = recorder_after_run,
};

/* ---- helpers ---- */

/* One call of train with an estimator of its own. */
static hr_status train_once(const classifier_spec *spec, test_input *in, hr_train_opts o, recorder *r, hr_error *err)
{
    hr_estimator *e = new_test_classifier(spec);
    hr_hook *hook = r ? hr_hook_new(&recorder_kind, &r) : NULL;
    o.hooks = r ? &hook : NULL;
    o.hook_count = r ? 1 : 0;
    hr_status st = hr_estimator_train_with(e, test_input_fn, in, &o);
    if (st != HR_OK) *err = *hr_estimator_error(e);
    hr_estimator_free(e);
    return st;
}

static void train_well(const classifier_spec *spec, test_input *in, hr_train_opts o, recorder *r)
{
    hr_error err = {0};
    assert_ok(train_once(spec, in, o, r, &err), &err);
}

static hr_bundle *open_latest(const char *folder)
{
    char *prefix;
    hr_bundle *b;
    hr_error err = {0};
    assert_ok(hr_latest_checkpoint(folder, &prefix, &err), &err);
    assert_non_null(prefix);
    assert_ok(hr_bundle_open(prefix, &b, &err), &err);
    hr_free(prefix);
    return b;
}

/* All variables of both folders' latest checkpoints are the same, bit by bit. */
static void assert_same_weights(const char *a, const char *b)
{
    hr_bundle *x = open_latest(a), *y = open_latest(b);
    const hr_bundle_entry *entry;
    int count, others;
    hr_error err = {0};
    assert_ok(hr_bundle_list(y, &entry, &others, &err), &err);
    assert_ok(hr_bundle_list(x, &entry, &count, &err), &err);
    assert_int_equal(count, others);
    for (int i = 0; i < count; i++) {
        hr_tensor u, v;
        if (entry[i].dtype == HR_STRING) continue;
        assert_ok(hr_bundle_read(x, entry[i].name, &u, &err), &err);
        assert_ok(hr_bundle_read(y, entry[i].name, &v, &err), &err);
        assert_int_equal(u.count, v.count);
        if (memcmp(u.data, v.data, (size_t)u.count * hr_dtype_size(u.dtype)) != 0)
            fail_msg("%s differs", entry[i].name);
        hr_tensor_clear(&u);
        hr_tensor_clear(&v);
    }
    hr_bundle_free(x);
    hr_bundle_free(y);
}

static int files_with(const char *folder, const char *part)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) n += strstr(f->d_name, part) != NULL;
    if (d) closedir(d);
    return n;
}

static bool exists(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f) fclose(f);
    return f != NULL;
}

/* ---- learning ---- */

static void every_kind_learns(void **state)
{
    (void)state;
    write_rows("data", ROWS);
    for (which kind = LINEAR; kind <= COMBINED; kind++) {
        static recorder r;
        test_input in = {.folder = "data", .epochs = -1, .batch = 20}, all = {.folder = "data", .batch = 50};
        classifier_spec spec = {.kind = kind, .model_dir = "learns"};
        r = (recorder){0};
        remove_folder("learns");
        train_well(&spec, &in, (hr_train_opts){.steps = 300}, &r);
        float first = 0, last = 0;
        for (int i = 0; i < 10; i++) first += r.loss[i], last += r.loss[r.steps - 1 - i];
        assert_less(last, 0.75f * first);
        hr_estimator *e = new_test_classifier(&spec);
        if (hr_estimator_evaluate(e, test_eval_fn, &all) != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
        assert_more(hr_estimator_result(e, "auc"), 0.97);
        assert_more(hr_estimator_result(e, "accuracy"), 0.9);
        hr_estimator_free(e);
    }
}

static void evaluation_gives_tensorflows_names_in_order(void **state)
{
    (void)state;
    static const char *const names[] = {"accuracy",     "accuracy_baseline", "auc",        "auc_precision_recall",
                                        "average_loss", "global_step",       "label/mean", "loss",
                                        "precision",    "prediction/mean",   "recall"};
    test_input in = {.folder = "data", .epochs = -1, .batch = 20}, all = {.folder = "data", .batch = 50};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "names"};
    write_rows("data", ROWS);
    remove_folder("names");
    train_well(&spec, &in, (hr_train_opts){.steps = 5}, NULL);
    hr_estimator *e = new_test_classifier(&spec);
    assert_status(hr_estimator_evaluate(e, test_eval_fn, &all), HR_OK);
    assert_int_equal(hr_estimator_results(e), sizeof names / sizeof *names);
    for (int i = 0; i < hr_estimator_results(e); i++) {
        assert_string_equal(hr_estimator_result_name(e, i), names[i]);
        assert_false(isnan(hr_estimator_result(e, names[i])));
    }
    assert_exactly(hr_estimator_result(e, "global_step"), 5);
    assert_nan(hr_estimator_result(e, "nothing"));
    assert_null(hr_estimator_result_name(e, 11));
    assert_int_equal(files_with("names/eval", "tfevents"), 1);
    assert_status(hr_estimator_evaluate(e, test_eval_fn, &all, .name = "other", .steps = 2), HR_OK);
    assert_int_equal(files_with("names/eval_other", "tfevents"), 1);
    hr_estimator_free(e);
}

static void a_training_leaves_checkpoints_and_events(void **state)
{
    (void)state;
    test_input in = {.folder = "data", .epochs = -1, .batch = 20};
    classifier_spec spec = {.kind = COMBINED, .model_dir = "deep/er/model", .save_steps = 4};
    write_rows("data", ROWS);
    remove_folder("deep");
    train_well(&spec, &in, (hr_train_opts){.steps = 10}, NULL);
    assert_int_equal(files_with("deep/er/model", "model.ckpt-"), 12); /* of steps 0, 4, 8, 10: three files each */
    assert_true(exists("deep/er/model/graph.pbtxt"));
    assert_int_equal(files_with("deep/er/model", "tfevents"), 1);
    assert_true(exists("deep/er/model/model.ckpt-10.index"));
    assert_true(exists("deep/er/model/checkpoint"));
    hr_bundle *b = open_latest("deep/er/model");
    static const char *const variables[] = {
        "global_step",
        "dnn/hiddenlayer_1/kernel",
        "dnn/input_from_feature_columns/input_layer/town_embedding/embedding_weights",
        "linear/linear_model/age_bucketized/weights",
        "linear/linear_model/bias_weights",
        "training/Adagrad/dnn/logits/bias/accumulator",
        "training/Adagrad/learning_rate",
        "training/Ftrl/iter",
        "training/Ftrl/linear/linear_model/sex/weights/linear",
        "headrace/iterator",
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        bool has;
        hr_error err = {0};
        assert_ok(hr_bundle_has(b, variables[i], &has, &err), &err);
        if (!has) fail_msg("no %s", variables[i]);
    }
    hr_bundle_free(b);
}

/* ---- predicting ---- */

typedef struct predictions {
    int batches;
    int64_t rows, ones;
    int stop_after; /* batches; 0: never */
} predictions;

static hr_status count_predictions(const hr_element *element, const char *const *names, const hr_tensor *out, int count,
                                   void *user, hr_error *err)
{
    predictions *p = user;
    (void)err;
    static const char *const expected[] = {"logits",  "logistic",      "probabilities", "class_ids",
                                           "classes", "all_class_ids", "all_classes"};
    assert_int_equal(count, 7);
    for (int i = 0; i < count; i++) assert_string_equal(names[i], expected[i]);
    for (int i = 0; i < count; i++) assert_int_equal(out[i].shape.dims[0], out[0].shape.dims[0]);
    for (int64_t i = 0; i < out[1].count; i++) {
        float yes = ((const float *)out[1].data)[i];
        assert_near(((const float *)out[2].data)[2 * i + 1], yes, 1e-6f);
        assert_int_equal(((const int64_t *)out[3].data)[i], yes > 0.5f);
        p->ones += yes > 0.5f;
    }
    assert_int_equal(hr_get(element, "label")->shape.dims[0], out[0].shape.dims[0]);
    p->rows += out[0].shape.dims[0];
    return ++p->batches == p->stop_after ? HR_END : HR_OK;
}

static void predict_gives_every_batch(void **state)
{
    (void)state;
    test_input in = {.folder = "data", .epochs = -1, .batch = 20}, all = {.folder = "data", .batch = 50};
    classifier_spec spec = {.kind = DNN, .model_dir = "predicts"};
    write_rows("data", ROWS);
    remove_folder("predicts");
    train_well(&spec, &in, (hr_train_opts){.steps = 40}, NULL);
    hr_estimator *e = new_test_classifier(&spec);
    predictions p = {0}, two = {.stop_after = 2};
    if (hr_estimator_predict(e, test_eval_fn, &all, count_predictions, &p) != HR_OK)
        fail_msg("%s", hr_estimator_error(e)->text);
    assert_int_equal(p.batches, 5);
    assert_int_equal(p.rows, ROWS);
    assert_more(p.ones, 0);
    assert_less(p.ones, ROWS);
    assert_status(hr_estimator_predict(e, test_eval_fn, &all, count_predictions, &two), HR_OK);
    assert_int_equal(two.rows, 100);
    hr_estimator_free(e);
}

/* ---- going on ---- */

/* Trains `spec` in pieces: each ends where its recorder asks for it. Then compares with the training in one go. */
static void compare_pieces(classifier_spec spec, test_input *in, const recorder *whole, const int *pieces, int count)
{
    static recorder r;
    int done = 0;
    spec.model_dir = "pieces";
    remove_folder("pieces");
    for (int i = 0; i <= count; i++) {
        r = (recorder){.stop_at = i < count ? pieces[i] : 0};
        hr_train_result result;
        train_well(&spec, in, (hr_train_opts){.max_steps = whole->steps, .result = &result}, &r);
        assert_int_equal(result.first_step, done);
        assert_memory_equal(r.batch, whole->batch + done, (size_t)r.steps * sizeof *r.batch);
        assert_memory_equal(r.loss, whole->loss + done, (size_t)r.steps * sizeof *r.loss);
        done += r.steps;
        assert_int_equal(result.last_step, done);
    }
    assert_int_equal(done, whole->steps);
    assert_same_weights("whole", "pieces");
}

static void a_training_in_pieces_is_the_training_in_one_go(void **state)
{
    (void)state;
    static recorder whole;
    test_input in = {.folder = "data", .epochs = 3, .batch = 32};
    write_rows("data", ROWS);
    for (int workers = 0; workers <= 2; workers++)
        for (which kind = LINEAR; kind <= COMBINED; kind++) {
            classifier_spec spec = {.kind = kind, .model_dir = "whole", .workers = &workers};
            whole = (recorder){0};
            remove_folder("whole");
            train_well(&spec, &in, (hr_train_opts){.max_steps = 20}, &whole);
            assert_int_equal(whole.steps, 20);
            compare_pieces(spec, &in, &whole, (int[]){12}, 1);
            if (kind == COMBINED) compare_pieces(spec, &in, &whole, (int[]){1, 5, 8}, 3);
        }
}

/* A stop that is asked for while a batch is under way does not lose it. */
static void a_training_stopped_before_a_run_loses_no_batch(void **state)
{
    (void)state;
    static recorder whole;
    test_input in = {.folder = "data", .epochs = -1, .batch = 16};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "whole"};
    write_rows("data", ROWS);
    whole = (recorder){0};
    remove_folder("whole");
    train_well(&spec, &in, (hr_train_opts){.max_steps = 30}, &whole);
    for (int k = 1; k < 12; k += 5) compare_pieces(spec, &in, &whole, (int[]){-k, -9}, 2);
}

static void a_training_goes_on_from_the_checkpoint_before_a_failure(void **state)
{
    (void)state;
    static recorder whole, r;
    hr_error err = {0};
    hr_train_result result;
    test_input in = {.folder = "data", .epochs = -1, .batch = 16};
    classifier_spec spec = {.kind = COMBINED, .model_dir = "whole", .save_steps = 5};
    write_rows("data", ROWS);
    whole = (recorder){0};
    remove_folder("whole");
    remove_folder("failed");
    train_well(&spec, &in, (hr_train_opts){.max_steps = 20}, &whole);
    spec.model_dir = "failed";
    r = (recorder){.fail_at = 13};
    assert_status(train_once(&spec, &in, (hr_train_opts){.max_steps = 20}, &r, &err), HR_INTERNAL);
    assert_string_equal(err.kind, "test.fail");
    r = (recorder){0};
    train_well(&spec, &in, (hr_train_opts){.max_steps = 20, .result = &result}, &r);
    assert_int_equal(result.first_step, 10);
    assert_memory_equal(r.batch, whole.batch + 10, 10 * sizeof *r.batch);
    assert_same_weights("whole", "failed");
}

/* The newest checkpoint may be cut off, or gone: what is saved under its name later is the same again. */
/* ---- preempted ---- */

typedef enum place { BEFORE_RUN, AFTER_RUN, CREATED } place;

typedef struct aborter {
    place where;
    int at, calls; /* fails at that call; each place has its own count */
    int created;
    hr_status with;
} aborter;

static hr_status abort_here(aborter *a, place where, hr_error *err)
{
    if (a->where != where || ++a->calls != a->at) return HR_OK;
    return hr_fail(err, a->with, "test.preempted", "the machine goes away");
}

static hr_status abort_created(void *state, hr_monitored_session *m, hr_error *err)
{
    (void)m;
    (*(aborter **)state)->created++;
    return abort_here(*(aborter **)state, CREATED, err);
}

static hr_status abort_before(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)m, (void)request;
    return abort_here(*(aborter **)state, BEFORE_RUN, err);
}

static hr_status abort_after(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    (void)m, (void)results;
    return abort_here(*(aborter **)state, AFTER_RUN, err);
}

static const hr_hook_kind aborter_kind = {.head = HR_HOOK_HEAD,
                                          .name = "aborter",
                                          .state_size = sizeof(aborter *),
                                          .after_create_session = abort_created,
                                          .before_run = abort_before,
                                          .after_run = abort_after};

/* The checkpoints' bytes are those of a training that nobody interrupted: no row is lost, none comes twice. */
static void assert_preemption_leaves_no_trace(classifier_spec spec, test_input *in, aborter a)
{
    aborter *pointer = &a;
    hr_hook *hook = hr_hook_new(&aborter_kind, &pointer);
    hr_train_result result;
    remove_folder("preempted");
    spec.model_dir = "preempted";
    hr_estimator *e = new_test_classifier(&spec);
    const hr_status st =
        hr_estimator_train(e, test_input_fn, in, .max_steps = 21, .hooks = &hook, .hook_count = 1, .result = &result);
    if (st != HR_OK) fail_msg("place %d, call %d: %s", a.where, a.at, hr_estimator_error(e)->text);
    hr_estimator_free(e);
    assert_int_equal(a.created, 2);
    assert_int_equal(result.last_step, 21);
    assert_same_weights("whole", "preempted");
}

static void a_preempted_training_goes_on_where_its_checkpoint_is(void **state)
{
    (void)state;
    static const int workers[] = {0, 2};
    write_rows("data", ROWS);
    test_input in = {.folder = "data", .epochs = 3, .batch = 16};
    for (int w = 0; w < 2; w++) {
        classifier_spec spec = {.kind = LINEAR, .model_dir = "whole", .workers = &workers[w], .save_steps = 4};
        remove_folder("whole");
        train_well(&spec, &in, (hr_train_opts){.max_steps = 21}, NULL);
        for (int at = 1 + 8 * w; at <= 21; at += 10)
            for (place where = BEFORE_RUN; where <= AFTER_RUN; where++)
                assert_preemption_leaves_no_trace(
                    spec, &in, (aborter){.where = where, .at = at, .with = at % 2 ? HR_ABORTED : HR_UNAVAILABLE});
        assert_preemption_leaves_no_trace(spec, &in, (aborter){.where = CREATED, .at = 1, .with = HR_ABORTED});
        spec.save_steps = -1; /* from the beginning */
        remove_folder("whole");
        spec.model_dir = "whole";
        aborter a = {.where = AFTER_RUN, .at = 7, .with = HR_ABORTED}, *pointer = &a;
        hr_hook *hook = hr_hook_new(&aborter_kind, &pointer);
        hr_estimator *e = new_test_classifier(&spec);
        hr_train_result result;
        assert_status(hr_estimator_train(e, test_input_fn, &in, .max_steps = 21, .hooks = &hook, .hook_count = 1,
                                         .result = &result),
                      HR_OK);
        assert_int_equal(result.last_step, 21);
        assert_int_equal(a.calls, 7 + 21);
        hr_estimator_free(e);
    }
}

/* ---- the input begun anew ---- */

static void the_input_begins_anew_where_that_is_asked_for(void **state)
{
    (void)state;
    write_rows("data", ROWS);
    test_input once = {.folder = "data", .epochs = 1, .batch = 16}, more = {.folder = "data", .epochs = 2, .batch = 32};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "rounds", .save_steps = 4};
    hr_train_result r;
    remove_folder("rounds");
    hr_estimator *e = new_test_classifier(&spec);
    assert_status(hr_estimator_train(e, test_input_fn, &once, .result = &r), HR_OK);
    const int64_t round = r.last_step;
    assert_true(round > 0);
    assert_status(hr_estimator_train(e, test_input_fn, &once, .result = &r), HR_OK); /* it has ended */
    assert_int_equal(r.last_step, round);
    assert_status(hr_estimator_train(e, test_input_fn, &more, .result = &r), HR_FAILED_PRECONDITION);
    assert_non_null(strstr(hr_estimator_error(e)->text, ".new_input"));
    assert_status(hr_estimator_train(e, test_input_fn, &once, .new_input = true, .result = &r), HR_OK);
    assert_int_equal(r.first_step, round);
    assert_int_equal(r.last_step, 2 * round);
    /* Preempted, it goes on in the new input, and does not begin it once more. */
    aborter a = {.where = AFTER_RUN, .at = 6, .with = HR_ABORTED}, *pointer = &a;
    hr_hook *hook = hr_hook_new(&aborter_kind, &pointer);
    assert_status(
        hr_estimator_train(e, test_input_fn, &more, .new_input = true, .hooks = &hook, .hook_count = 1, .result = &r),
        HR_OK);
    assert_int_equal(r.last_step, 2 * round + (2 * ROWS + 31) / 32);
    hr_estimator_free(e);
}

/* ---- equal files ---- */

static void assert_same_bytes(const char *folder, const char *other, const char *name)
{
    char a[256], b[256];
    size_t size, wanted;
    snprintf(a, sizeof a, "%s/%s", folder, name);
    snprintf(b, sizeof b, "%s/%s", other, name);
    char *want = read_whole_file(a, &wanted), *got = read_whole_file(b, &size);
    if (size != wanted || memcmp(want, got, size) != 0) fail_msg("%s differs from %s", b, a);
    free(want);
    free(got);
}

static void equal_trainings_write_equal_checkpoints(void **state)
{
    (void)state;
    static const int workers[] = {0, 1, 2, 4, 2};
    static const char *const names[] = {"model.ckpt-40.index", "model.ckpt-40.data-00000-of-00001",
                                        "model.ckpt-45.index", "model.ckpt-45.data-00000-of-00001"};
    write_rows("data", ROWS);
    test_input in = {.folder = "data", .epochs = 3, .batch = 16};
    for (int w = 0; w < 5; w++) {
        classifier_spec spec = {.kind = LINEAR,
                                .model_dir = w ? "equal" : "first",
                                .workers = &workers[w],
                                .save_steps = 20,
                                .async = w == 4};
        remove_folder(spec.model_dir);
        train_well(&spec, &in, (hr_train_opts){.max_steps = 0}, NULL);
        for (int i = 0; i < 4 && w > 0; i++) assert_same_bytes("first", "equal", names[i]);
    }
}

/* ---- wide & deep, with products that several threads share ---- */

enum { LARGE_ROWS = 1600, LARGE_BATCH = 512, LARGE_STEPS = 7 /* the last one of 128 rows */ };

static int64_t runs_of(const hr_profile_report *report, const char *op)
{
    for (int i = 0; i < report->ops; i++)
        if (strcmp(report->op[i].name, op) == 0) return report->op[i].count;
    return 0;
}

/* From the checkpoint that is there, after `begin` steps, up to step `end`. */
static void train_large(const char *folder, hr_products products, int workers, int begin, int end)
{
    static recorder r;
    hr_error err = {0};
    hr_profile_report report;
    test_input in = {.folder = "data", .epochs = 2, .batch = LARGE_BATCH};
    const classifier_spec spec = {
        .kind = COMBINED, .model_dir = folder, .workers = &workers, .products = products, .large = true};
    hr_profile *profile = hr_profile_new();
    r = (recorder){.stop_at = end < LARGE_STEPS ? end - begin : 0};
    train_well(&spec, &in, (hr_train_opts){.profile = profile}, &r);
    assert_ok(hr_profile_report_of(profile, &report, &err), &err);
    assert_exactly(report.steps, end - begin);
    assert_exactly(report.threads, workers + 1);
    assert_exactly(runs_of(&report, "Headrace>LookupMatMul"), end - begin);
    assert_exactly(runs_of(&report, "Headrace>LookupMatMulGrad"), end - begin);
    assert_exactly(runs_of(&report, "Headrace>LookupSum"), end - begin);
    assert_exactly(runs_of(&report, "Headrace>LookupSumGrad"), end - begin);
    assert_exactly(runs_of(&report, "Headrace>SparseApplyFtrlMany"), end - begin);
    hr_profile_free(profile);
}

/* The first layer over embeddings as estimators run it: the same bits by one thread, by several, by several again, and
 * by a training that was stopped and resumed with another number of threads. */
static void compare_wide_and_deep(hr_products products)
{
    static const int workers[] = {0, 1, 1, 2};
    static const char *const names[] = {"model.ckpt-7.index", "model.ckpt-7.data-00000-of-00001"};
    for (int w = 0; w < 7; w++) {
        const char *folder = w ? "equal" : "first";
        const int middle = w < 4 ? 0 : w - 1;
        remove_folder(folder);
        if (middle) train_large(folder, products, workers[w % 4], 0, middle);
        train_large(folder, products, workers[(w + w / 4) % 4], middle, LARGE_STEPS);
        for (int i = 0; i < 2 && w > 0; i++) assert_same_bytes("first", "equal", names[i]);
    }
}

static void wide_and_deep_is_the_same_bit_by_bit(void **state)
{
    (void)state;
    hr_set_threads(2);
    write_rows("data", LARGE_ROWS);
    compare_wide_and_deep(HR_PRODUCTS_FLOAT);
    compare_wide_and_deep(HR_PRODUCTS_BFLOAT16);
}

static void a_profile_has_the_steps_and_their_input(void **state)
{
    (void)state;
    hr_error err;
    hr_profile_report report;
    hr_train_result result;
    size_t size;
    write_rows("data", ROWS);
    test_input in = {.folder = "data", .epochs = 3, .batch = 16};
    const classifier_spec spec = {.kind = COMBINED, .model_dir = "profiled"};
    remove_folder("profiled");
    hr_trace *trace = hr_trace_new();
    hr_profile *profile = hr_profile_new(.trace = trace);
    train_well(&spec, &in, (hr_train_opts){.result = &result, .profile = profile}, NULL);
    assert_ok(hr_profile_report_of(profile, &report, &err), &err);
    assert_exactly(report.steps, result.last_step);
    assert_at_most(report.node_thread_seconds, report.threads * report.run_seconds);
    assert_at_most(report.seconds, result.seconds);
    assert_more(report.stages, 1);
    assert_exactly(report.stage[0].rows, 3 * ROWS);
    assert_ok(hr_trace_write(trace, "profiled/trace.json", &err), &err);
    char *text = read_whole_file("profiled/trace.json", &size);
    assert_non_null(strstr(text, "\"name\":\"work\""));
    assert_non_null(strstr(text, "\"name\":\"ResourceApplyFtrl"));
    free(text);
    hr_profile_free(profile);
    hr_trace_free(trace);
}

/* ---- what a folder holds, further metrics, chosen predictions ---- */

static hr_status mean_label(const hr_model_call *call, void *user, hr_error *err)
{
    (void)err;
    hr_node label = hr_cast_to(hr_label(call->features), HR_FLOAT);
    assert_true(hr_node_exists(hr_spec_predicted(call->spec, "logistic")));
    assert_false(hr_node_exists(hr_spec_predicted(call->spec, "nothing")));
    hr_spec_metric(call->spec, "label_again", hr_metric_mean(label));
    hr_spec_metric(call->spec, "accuracy", hr_metric_mean(label)); /* in place of the model's */
    ++*(int *)user;
    return HR_OK;
}

static hr_status see_names(const hr_element *element, const char *const *names, const hr_tensor *predictions, int count,
                           void *user, hr_error *err)
{
    (void)element, (void)err, (void)predictions;
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "logits");
    assert_string_equal(names[1], "class_ids");
    ++*(int *)user;
    return HR_OK;
}

static void an_estimator_tells_what_its_folder_holds(void **state)
{
    (void)state;
    write_rows("data", ROWS);
    remove_folder("holds");
    test_input in = {.folder = "data", .epochs = 1, .batch = 50};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "holds"};
    int calls = 0, seen = 0, count;
    char *prefix;
    const char *const *names;
    hr_tensor value;
    hr_estimator *e = hr_add_metrics(new_test_classifier(&spec), mean_label, &calls);
    assert_status(hr_estimator_latest_checkpoint(e, &prefix), HR_OK);
    assert_null(prefix);
    assert_status(hr_estimator_variable_names(e, &names, &count), HR_NOT_FOUND);
    assert_status(hr_estimator_train(e, test_input_fn, &in, .steps = 3), HR_OK);
    assert_int_equal(calls, 0);
    assert_status(hr_estimator_latest_checkpoint(e, &prefix), HR_OK);
    assert_string_equal(prefix, "holds/model.ckpt-3");
    hr_free(prefix);
    assert_status(hr_estimator_variable_names(e, &names, &count), HR_OK);
    bool step = false;
    for (int i = 0; i < count; i++) {
        step |= strcmp(names[i], "global_step") == 0;
        assert_null(strstr(names[i], "headrace/"));
        if (i > 0) assert_true(strcmp(names[i - 1], names[i]) < 0);
    }
    assert_true(step);
    assert_status(hr_estimator_variable_value(e, "global_step", &value), HR_OK);
    assert_int_equal(*(const int64_t *)value.data, 3);
    hr_tensor_clear(&value);
    assert_status(hr_estimator_variable_value(e, "no/such", &value), HR_NOT_FOUND);
    assert_status(hr_estimator_evaluate(e, test_eval_fn, &in), HR_OK);
    assert_int_equal(calls, 1);
    assert_true(hr_estimator_result(e, "label_again") == hr_estimator_result(e, "label/mean"));
    assert_true(hr_estimator_result(e, "accuracy") == hr_estimator_result(e, "label/mean"));
    static const char *const keys[] = {"class_ids", "unknown", "logits"}, *const none[] = {"unknown"};
    assert_status(
        hr_estimator_predict(e, test_eval_fn, &in, see_names, &seen, .predict_keys = keys, .predict_key_count = 3),
        HR_OK);
    assert_int_equal(seen, 5);
    assert_status(
        hr_estimator_predict(e, test_eval_fn, &in, see_names, &seen, .predict_keys = none, .predict_key_count = 1),
        HR_INVALID_ARGUMENT);
    assert_string_equal(hr_estimator_error(e)->kind, "estimator.predict_keys");
    hr_estimator_free(e);
}

static void a_training_goes_on_from_the_newest_whole_checkpoint(void **state)
{
    (void)state;
    static recorder whole, r;
    hr_train_result result;
    test_input in = {.folder = "data", .epochs = -1, .batch = 16}, all = {.folder = "data", .batch = 50};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "whole", .save_steps = 5};
    write_rows("data", ROWS);
    whole = (recorder){0};
    remove_folder("whole");
    train_well(&spec, &in, (hr_train_opts){.max_steps = 20}, &whole);
    spec.model_dir = "in_part";
    for (int gone = 0; gone < 3; gone++) {
        remove_folder("in_part");
        train_well(&spec, &in, (hr_train_opts){.max_steps = 15}, NULL);
        if (gone != 1) unlink("in_part/model.ckpt-15.data-00000-of-00001");
        if (gone != 0) unlink("in_part/model.ckpt-15.index");
        hr_estimator *e = new_test_classifier(&spec);
        assert_status(hr_estimator_evaluate(e, test_eval_fn, &all), HR_OK);
        assert_exactly(hr_estimator_result(e, "global_step"), 10);
        hr_estimator_free(e);
        r = (recorder){0};
        train_well(&spec, &in, (hr_train_opts){.max_steps = 20, .result = &result}, &r);
        assert_int_equal(result.first_step, 10);
        assert_memory_equal(r.batch, whole.batch + 10, 10 * sizeof *r.batch);
        assert_same_weights("whole", "in_part");
        assert_int_equal(files_with("in_part", "model.ckpt-15.index.aside"), gone == 0);
        assert_int_equal(files_with("in_part", "model.ckpt-15.data-00000-of-00001.aside"), gone == 1);
    }
}

static void a_finished_training_does_nothing_and_says_so(void **state)
{
    (void)state;
    hr_train_result result;
    test_input in = {.folder = "data", .epochs = 2, .batch = 100};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "finished"};
    write_rows("data", ROWS);
    remove_folder("finished");
    train_well(&spec, &in, (hr_train_opts){.result = &result}, NULL);
    assert_true(result.finished);
    assert_false(result.resumed);
    assert_int_equal(result.last_step, 5); /* 480 rows: batches run over the ends of epochs */
    for (int i = 0; i < 2; i++) {
        train_well(&spec, &in, (hr_train_opts){.result = &result}, NULL);
        assert_true(result.finished);
        assert_true(result.resumed);
        assert_int_equal(result.first_step, 5);
        assert_int_equal(result.last_step, 5);
        assert_nan(result.loss);
    }
    train_well(&spec, &in, (hr_train_opts){.max_steps = 5, .result = &result}, NULL);
    assert_true(result.finished);
    assert_true(result.resumed);
    train_well(&spec, &in, (hr_train_opts){.steps = 5, .result = &result}, NULL);
    assert_true(result.finished);
    assert_int_equal(result.last_step, 5);
}

static void max_steps_reached_leaves_the_folder_as_it_is(void **state)
{
    (void)state;
    hr_train_result result;
    test_input in = {.folder = "data", .epochs = -1, .batch = 20}, none = {.folder = "not there", .batch = 1};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "reached"};
    write_rows("data", ROWS);
    remove_folder("reached");
    train_well(&spec, &in, (hr_train_opts){.max_steps = 4, .result = &result}, NULL);
    assert_true(result.finished);
    int before = files_with("reached", "");
    train_well(&spec, &none, (hr_train_opts){.max_steps = 4, .result = &result}, NULL); /* the input is not looked at */
    assert_true(result.finished);
    assert_int_equal(files_with("reached", ""), before);
}

/* ---- what is refused ---- */

static void another_config_is_refused_with_the_line_that_differs(void **state)
{
    (void)state;
    hr_error err = {0};
    test_input in = {.folder = "data", .epochs = -1, .batch = 20};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "identity", .identity = "a=1\nrate=0.1\nz=2\n"};
    write_rows("data", ROWS);
    remove_folder("identity");
    train_well(&spec, &in, (hr_train_opts){.max_steps = 2}, NULL);
    train_well(&spec, &in, (hr_train_opts){.max_steps = 3}, NULL);
    spec.identity = "a=1\nrate=0.2\nz=2\n";
    for (int64_t max = 3; max < 5; max++) { /* finished or not */
        assert_status(train_once(&spec, &in, (hr_train_opts){.max_steps = max}, NULL, &err), HR_FAILED_PRECONDITION);
        assert_string_equal(err.kind, "estimator.config");
        assert_text_contains(err.text, "rate=0.1");
        assert_text_contains(err.text, "rate=0.2");
        assert_text_contains(err.text, "identity");
    }
    spec.identity = "a=1\nrate=0.1\n";
    assert_status(train_once(&spec, &in, (hr_train_opts){.max_steps = 9}, NULL, &err), HR_FAILED_PRECONDITION);
    assert_text_contains(err.text, "z=2");
}

static void changed_files_are_refused_and_nothing_is_written(void **state)
{
    (void)state;
    hr_error err = {0};
    test_input in = {.folder = "changing", .epochs = -1, .batch = 20};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "refuses"};
    write_rows("changing", ROWS);
    remove_folder("refuses");
    train_well(&spec, &in, (hr_train_opts){.max_steps = 7}, NULL);
    int before = files_with("refuses", "");
    write_rows("changing", ROWS + 8);
    assert_not_ok(train_once(&spec, &in, (hr_train_opts){.max_steps = 9}, NULL, &err));
    assert_text_contains(err.text, "changing/data-");
    assert_int_equal(files_with("refuses", ""), before);
    write_rows("changing", ROWS);
    in.batch = 21;
    assert_not_ok(train_once(&spec, &in, (hr_train_opts){.max_steps = 9}, NULL, &err));
    assert_text_contains(err.text, "batch");
    assert_int_equal(files_with("refuses", ""), before);
}

static void a_loss_of_nan_fails_and_keeps_the_last_checkpoint(void **state)
{
    (void)state;
    hr_error err = {0};
    test_input in = {.folder = "with_nan", .epochs = -1, .batch = ROWS};
    classifier_spec spec = {.kind = DNN, .model_dir = "nan"};
    write_rows_with_nan("with_nan", ROWS);
    remove_folder("nan");
    assert_status(train_once(&spec, &in, (hr_train_opts){.max_steps = 3}, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "hooks.nan");
    assert_true(exists("nan/model.ckpt-0.index"));
    assert_int_equal(files_with("nan", "model.ckpt-1"), 0);
}

/* Rows go round the files: row 37 is record 9 of the second one. Fractions are labels as TensorFlow takes them. */
static void labels_outside_of_0_to_1_are_refused_with_their_record(void **state)
{
    (void)state;
    static const double wrong[] = {2, -3, NAN, INFINITY, -1e-6, 1.00001};
    hr_error err = {0};
    test_input in = {.folder = "labels", .epochs = -1, .batch = 16, .float_label = true};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "labelled"};
    remove_folder("labelled");
    write_rows_with_label("labels", ROWS, 37, 0.25);
    train_well(&spec, &in, (hr_train_opts){.steps = 20}, NULL);
    hr_estimator *e = new_test_classifier(&spec);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_rows_with_label("labels", ROWS, 37, wrong[i]);
        remove_folder("unlabelled");
        spec.model_dir = "unlabelled";
        assert_status(train_once(&spec, &in, (hr_train_opts){.steps = 20}, NULL, &err), HR_INVALID_ARGUMENT);
        for (int evaluated = 0; evaluated < 2; evaluated++) {
            assert_string_equal(err.kind, "estimator.label_range");
            assert_string_equal(err.file, "labels/data-1.tfrecord");
            assert_int_equal(err.record, 9);
            assert_text_contains(err.text, "labels/data-1.tfrecord:");
            assert_text_contains(err.text, "record 9: label 'label'");
            if (evaluated) break;
            assert_status(hr_estimator_evaluate(e, test_eval_fn, &in), HR_INVALID_ARGUMENT);
            err = *hr_estimator_error(e);
        }
        assert_status(hr_estimator_predict(e, test_eval_fn, &in, count_predictions, &(predictions){0}), HR_OK);
    }
    hr_estimator_free(e);
}

static char logged[4096];
static void keep_warnings(hr_level level, const char *text, void *user)
{
    (void)user;
    if (level == HR_WARNING) snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s\n", text);
}

/* What computed products is kept; where something else goes on with a training, it says so. */
static void other_products_are_told(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor products;
    test_input in = {.folder = "data", .epochs = -1, .batch = 20};
    const classifier_spec spec = {.kind = DNN, .model_dir = "products"};
    write_rows("data", ROWS);
    remove_folder("products");
    logged[0] = '\0';
    hr_set_log(keep_warnings, NULL);
    train_well(&spec, &in, (hr_train_opts){.max_steps = 2}, NULL);
    train_well(&spec, &in, (hr_train_opts){.max_steps = 4}, NULL);
    assert_null(strstr(logged, "bit for bit"));
    hr__cpu_limit(0);
    train_well(&spec, &in, (hr_train_opts){.max_steps = 6}, NULL);
    hr__cpu_limit(~0U);
    hr_set_log(NULL, NULL);
    assert_text_contains(logged, "not go on bit for bit");
    assert_text_contains(logged, "tiles of plain C");
    hr_bundle *b = open_latest("products");
    assert_ok(hr_bundle_read(b, "headrace/products", &products, &err), &err);
    assert_non_null(strstr(((const hr_view *)products.data)->data, "OpenBLAS "));
    hr_tensor_clear(&products);
    hr_bundle_free(b);
}

static void an_input_without_rows_is_told(void **state)
{
    (void)state;
    hr_train_result result;
    test_input in = {.folder = "empty", .epochs = 2, .batch = 20}, all = {.folder = "empty", .batch = 50};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "made_no_step"};
    write_rows("empty", 0);
    remove_folder("made_no_step");
    logged[0] = '\0';
    hr_set_log(keep_warnings, NULL);
    train_well(&spec, &in, (hr_train_opts){.result = &result}, NULL);
    hr_set_log(NULL, NULL);
    assert_true(result.finished);
    assert_int_equal(result.last_step, 0);
    assert_nan(result.loss);
    assert_text_contains(logged, "no step");
    hr_estimator *e = new_test_classifier(&spec);
    assert_status(hr_estimator_evaluate(e, test_eval_fn, &all), HR_OK);
    assert_nan(hr_estimator_result(e, "loss"));
    hr_estimator_free(e);
}

static void what_cannot_be_done_is_said(void **state)
{
    (void)state;
    hr_error err = {0};
    test_input in = {.folder = "data", .epochs = 1, .batch = 20}, gone = {.folder = "gone", .epochs = 1, .batch = 20};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "untrained"}, homeless = {.kind = LINEAR};
    hr_saver_listener listener = {0};
    write_rows("data", ROWS);
    remove_folder("untrained");
    hr_estimator *e = new_test_classifier(&spec);
    assert_status(hr_estimator_evaluate(e, test_eval_fn, &in), HR_NOT_FOUND);
    assert_string_equal(hr_estimator_error(e)->kind, "estimator.checkpoint");
    assert_status(hr_estimator_predict(e, test_eval_fn, &in, count_predictions, NULL), HR_NOT_FOUND);
    assert_status(hr_estimator_evaluate(e, test_eval_fn, &in, .checkpoint_path = "untrained/model.ckpt-7"),
                  HR_NOT_FOUND);
    hr_estimator_free(e);
    assert_status(train_once(&spec, &in, (hr_train_opts){.steps = 1, .max_steps = 2}, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "estimator.steps");
    assert_status(train_once(&spec, &in, (hr_train_opts){.steps = -1}, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(train_once(&homeless, &in, (hr_train_opts){.steps = 1}, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "estimator.model_dir");
    spec.save_steps = -1;
    assert_status(train_once(&spec, &in, (hr_train_opts){.steps = 1, .saving_listener = &listener}, NULL, &err),
                  HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "estimator.listener");
    assert_not_ok(train_once(&spec, &gone, (hr_train_opts){.steps = 1}, NULL, &err));
    assert_text_contains(err.text, "gone");
}

static void damaged_records_end_the_training_with_their_place(void **state)
{
    (void)state;
    hr_error err = {0};
    size_t size;
    test_input in = {.folder = "damaged", .epochs = -1, .batch = 20};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "meets_damage"};
    write_rows("damaged", ROWS);
    char *bytes = read_whole_file("damaged/data-2.tfrecord", &size);
    bytes[size / 2] ^= 1;
    write_file("damaged/data-2.tfrecord", bytes, size);
    free(bytes);
    remove_folder("meets_damage");
    assert_status(train_once(&spec, &in, (hr_train_opts){.max_steps = 100}, NULL, &err), HR_DATA_LOSS);
    assert_text_contains(err.file, "data-2.tfrecord");
    assert_more(err.record, 0);
}

/* ---- training and evaluating in turn ---- */

static void evaluations_follow_checkpoints(void **state)
{
    (void)state;
    char path[512];
    test_input in = {.folder = "data", .epochs = -1, .batch = 20}, all = {.folder = "data", .batch = 50};
    classifier_spec spec = {.kind = LINEAR, .model_dir = "in_turn", .save_steps = 3};
    write_rows("data", ROWS);
    for (int64_t throttle = 0; throttle <= 1000; throttle += 1000) {
        remove_folder("in_turn");
        hr_estimator *e = new_test_classifier(&spec);
        hr_status st = hr_train_and_evaluate(
            e, HR_TRAIN_SPEC(.input_fn = test_input_fn, .user = &in, .max_steps = 8),
            HR_EVAL_SPEC(.input_fn = test_eval_fn, .user = &all, .throttle_secs = &throttle, .steps = HR_I64(2)));
        if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
        assert_exactly(hr_estimator_result(e, "global_step"), 8);
        /* steps 3, 6 and 8; or the first of them and the last */
        assert_int_equal(files_with("in_turn/eval", "tfevents"), throttle == 0 ? 3 : 2);
        hr_estimator_free(e);
    }
    snprintf(path, sizeof path, "in_turn/model.ckpt-8.index");
    assert_true(exists(path));
}

/* ---- lack of memory ---- */

static hr_status train_a_little(int64_t fail_at, int64_t *allocations)
{
    hr_error err = {0};
    int none = 0;
    test_input in = {.folder = "few", .epochs = 1, .batch = 8};
    classifier_spec spec = {.kind = COMBINED, .model_dir = "memory", .workers = &none, .identity = "a=1\n"};
    remove_folder("memory");
    fail_allocation(fail_at);
    hr_estimator *e = new_test_classifier(&spec);
    hr_status st = HR_RESOURCE_EXHAUSTED;
    if (e) {
        st = hr_estimator_train(e, test_input_fn, &in, .steps = 2);
        if (st == HR_OK) st = hr_estimator_evaluate(e, test_eval_fn, &in);
        if (st != HR_OK) err = *hr_estimator_error(e);
    }
    *allocations = allocations_since();
    hr_estimator_free(e);
    if (st != HR_OK && st != HR_RESOURCE_EXHAUSTED) fail_msg("allocation %d: %s", (int)fail_at, err.text);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    int64_t count, some, failures = 0;
    write_rows("few", 24);
    assert_status(train_a_little(-1, &count), HR_OK);
    int64_t before = allocations_alive();
    const int step = UNDER_TSAN ? 170 : 17; /* a sample: there are thousands */
    for (int64_t i = 0; i < count; i += step) {
        failures += train_a_little(i, &some) != HR_OK;
        if (allocations_alive() != before)
            fail_msg("allocation %d: %d are left", (int)i, (int)(allocations_alive() - before));
    }
    assert_more(failures, 340 / step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_learns),
        cmocka_unit_test(evaluation_gives_tensorflows_names_in_order),
        cmocka_unit_test(a_training_leaves_checkpoints_and_events),
        cmocka_unit_test(predict_gives_every_batch),
        cmocka_unit_test(a_training_in_pieces_is_the_training_in_one_go),
        cmocka_unit_test(a_training_stopped_before_a_run_loses_no_batch),
        cmocka_unit_test(a_training_goes_on_from_the_checkpoint_before_a_failure),
        cmocka_unit_test(a_preempted_training_goes_on_where_its_checkpoint_is),
        cmocka_unit_test(the_input_begins_anew_where_that_is_asked_for),
        cmocka_unit_test(equal_trainings_write_equal_checkpoints),
        cmocka_unit_test(wide_and_deep_is_the_same_bit_by_bit),
        cmocka_unit_test(a_profile_has_the_steps_and_their_input),
        cmocka_unit_test(an_estimator_tells_what_its_folder_holds),
        cmocka_unit_test(a_training_goes_on_from_the_newest_whole_checkpoint),
        cmocka_unit_test(a_finished_training_does_nothing_and_says_so),
        cmocka_unit_test(max_steps_reached_leaves_the_folder_as_it_is),
        cmocka_unit_test(another_config_is_refused_with_the_line_that_differs),
        cmocka_unit_test(changed_files_are_refused_and_nothing_is_written),
        cmocka_unit_test(a_loss_of_nan_fails_and_keeps_the_last_checkpoint),
        cmocka_unit_test(labels_outside_of_0_to_1_are_refused_with_their_record),
        cmocka_unit_test(an_input_without_rows_is_told),
        cmocka_unit_test(other_products_are_told),
        cmocka_unit_test(what_cannot_be_done_is_said),
        cmocka_unit_test(damaged_records_end_the_training_with_their_place),
        cmocka_unit_test(evaluations_follow_checkpoints),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
