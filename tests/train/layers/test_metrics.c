/* Scores and streaming metrics against counting by hand. */
#include "tests/testing.h"
#include "train/layers/layers.h"

#include <math.h>
#include <string.h>

enum { N = 400 };

static void fill(float *labels, float *p)
{
    for (uint64_t i = 0; i < N; i++) {
        labels[i] = (float)(hr_random(3, i) % 3 == 0);
        p[i] = (float)(hr_random(4, i) % 50) / 64 + labels[i] * 0.125f; /* with ties */
    }
}

/* Of all pairs of a positive and a negative, those in order, ties half. */
static double auc_by_pairs(const float *labels, const float *p)
{
    double right = 0, pairs = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            if (labels[i] == 0 || labels[j] != 0) continue;
            pairs++;
            right += p[i] > p[j] ? 1 : p[i] == p[j] ? 0.5 : 0;
        }
    return right / pairs;
}

static double average_precision(const float *labels, const float *p)
{
    double sum = 0, positives = 0;
    for (int i = 0; i < N; i++) {
        if (labels[i] == 0) continue;
        double above = 0, hits = 0;
        for (int j = 0; j < N; j++) above += p[j] >= p[i], hits += p[j] >= p[i] && labels[j] != 0;
        sum += hits / above;
        positives++;
    }
    return sum / positives;
}

static void scores_are_those_of_counting_pairs(void **state)
{
    (void)state;
    static float labels[N], p[N];
    hr_error err;
    hr_binary_result r;
    fill(labels, p);
    hr_binary_scores *s = hr_binary_scores_new();
    assert_ok(hr_binary_scores_add(s, labels, p, 100, &err), &err);
    assert_ok(hr_binary_scores_add(s, labels + 100, p + 100, N - 100, &err), &err);
    assert_ok(hr_binary_scores_result(s, &r, &err), &err);
    assert_near(r.auc, auc_by_pairs(labels, p), 1e-12);
    assert_near(r.auc_pr, average_precision(labels, p), 1e-12);
    double loss = 0, right = 0;
    for (int i = 0; i < N; i++) {
        const double q = fmin(fmax((double)p[i], 1e-7), 1 - 1e-7);
        loss -= log(labels[i] != 0 ? q : 1 - q) / N;
        right += (p[i] > 0.5f) == (labels[i] != 0);
    }
    assert_near(r.log_loss, loss, 1e-12);
    assert_near(r.accuracy, right / N, 1e-12);
    assert_int_equal(r.count, N);
    hr_binary_scores_free(s);
}

static void scores_refuse_what_is_no_probability(void **state)
{
    (void)state;
    hr_error err;
    hr_binary_result r;
    hr_binary_scores *s = hr_binary_scores_new();
    const float label = 1, bad[] = {NAN, -0.5f, 1.5f};
    assert_status(hr_binary_scores_result(s, &r, &err), HR_FAILED_PRECONDITION);
    for (int i = 0; i < 3; i++) assert_status(hr_binary_scores_add(s, &label, &bad[i], 1, &err), HR_INVALID_ARGUMENT);
    const float sure = 1;
    assert_ok(hr_binary_scores_add(s, &label, &sure, 1, &err), &err);
    assert_ok(hr_binary_scores_result(s, &r, &err), &err);
    assert_nan(r.auc);
    assert_exactly(r.auc_pr, 1);
    assert_more(r.log_loss, 0);
    assert_less(r.log_loss, 2e-7);
    hr_binary_scores_free(s);
}

static void streaming_auc_comes_near_the_exact_one(void **state)
{
    (void)state;
    static float labels[N], p[N];
    hr_error err;
    fill(labels, p);
    hr_graph *g = hr_graph_new();
    hr_node y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 1)), x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 1));
    hr_metric auc = hr_metric_auc(y, x, .keras = true), again = hr_metric_auc(y, x, .num_thresholds = 5);
    assert_non_null(hr_variable_named(g, "auc_1/true_positives"));
    hr_session *s = hr_session_new(g);
    hr_node init = hr_target(hr_local_variables_initializer(g));
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int i = 0; i < N; i += 100) {
        const hr_feed feeds[] = {{y, hr_tensor_of(HR_FLOAT, HR_SHAPE(100, 1), labels + i)},
                                 {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(100, 1), p + i)}};
        const hr_node updates[] = {hr_target(auc.update), hr_target(again.update)};
        assert_ok(hr_session_run(s, feeds, 2, updates, 2, NULL, &err), &err);
    }
    hr_tensor out;
    assert_ok(hr_session_run(s, NULL, 0, &auc.value, 1, &out, &err), &err);
    assert_near((double)*(float *)out.data, auc_by_pairs(labels, p), 2e-3);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- metrics of Keras that are losses ---- */

static hr_node pair_of(hr_graph *g, float a, float b, float c, float d)
{
    const float values[] = {a, b, c, d};
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), values);
    return hr_const(g, &t);
}

/* Of tf.keras.metrics in TensorFlow 2.15, with y_true [[0, 1], [1, 0]] and y_pred [[-.5, 2], [.3, 1]]. */
static void losses_are_metrics(void **state)
{
    (void)state;
    hr_error err;
    hr_graph *g = hr_graph_new();
    const hr_node y = pair_of(g, 0, 1, 1, 0), p = pair_of(g, -.5f, 2, .3f, 1);
    const int64_t ids[] = {1, 0};
    const hr_tensor classes = hr_tensor_of(HR_INT64, HR_SHAPE(2), ids);
    const struct {
        hr_metric metric;
        double expected;
    } tried[] = {
        {hr_metric_binary_crossentropy(y, p, .from_logits = true), 0.617155492},
        {hr_metric_binary_crossentropy(y, p, .from_logits = true, .label_smoothing = .2f), 0.662155449},
        {hr_metric_categorical_crossentropy(y, p, .from_logits = true, .label_smoothing = .2f), 0.681038022},
        {hr_metric_sparse_categorical_crossentropy(hr_const(g, &classes), p, .from_logits = true), 0.591037929},
        {hr_metric_cosine_similarity(y, p), 0.628745198},
    };
    hr_node init = hr_target(hr_local_variables_initializer(g));
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        hr_tensor out;
        assert_ok(hr_session_run(s, NULL, 0, &tried[i].metric.update, 1, &out, &err), &err);
        assert_near((double)*(float *)out.data, tried[i].expected, 1e-6);
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static void metrics_have_the_names_of_keras(void **state)
{
    (void)state;
    static const struct {
        hr_metric_fn *fn;
        const char *names[4];
    } tried[] = {
        {hr_metric_auc_with, {"auc", "AUC"}},
        {hr_metric_accuracy_with, {"accuracy", "Accuracy", "acc", "ACC"}},
        {hr_metric_mean_squared_error_with, {"mean_squared_error", "MeanSquaredError", "mse", "MSE"}},
        {hr_metric_logcosh_with, {"logcosh", "log_cosh", "LogCoshError"}},
        {hr_metric_kullback_leibler_divergence_with, {"kld", "KLDivergence", "kl_divergence", "KLD"}},
        {hr_metric_cosine_similarity_with, {"CosineSimilarity", "cosine_proximity"}},
        {hr_metric_binary_crossentropy_with, {"bce", "BinaryCrossentropy"}},
        {hr_metric_top_k_categorical_accuracy_with, {"TopKCategoricalAccuracy"}},
        {NULL, {"", "huber", "mean_iou", "ms"}},
    };
    assert_null(hr_metric_named(NULL));
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        for (int j = 0; j < 4 && tried[i].names[j]; j++) assert_true(hr_metric_named(tried[i].names[j]) == tried[i].fn);
}

/* ---- what metrics refuse ---- */

static hr_graph *g;
static hr_node two(void) { return pair_of(g, 0, 1, 1, 0); }
static hr_node three(void) { return hr_placeholder(g, HR_FLOAT, HR_SHAPE(3, 2)); }

#define REFUSED(name, call)                                                                                            \
    static hr_node name(void) { return (call).update; }
REFUSED(other_shapes, hr_metric_accuracy(two(), three()))
REFUSED(other_rows, hr_metric_hinge(two(), three()))
REFUSED(no_labels, hr_metric_mean_squared_error((hr_node){0}, two()))
REFUSED(no_predictions, hr_metric_sparse_categorical_accuracy(two(), (hr_node){0}))
REFUSED(other_weights, hr_metric_mean(two(), .weights = three()))
REFUSED(more_weights, hr_metric_precision(two(), two(), .weights = hr_placeholder(g, HR_FLOAT, HR_SHAPE(4, 2, 2))))
REFUSED(weights_of_auc, hr_metric_auc(two(), two(), .weights = three()))
REFUSED(no_classes, hr_metric_mean_iou(two(), two(), 0))
REFUSED(fewer_classes, hr_metric_mean_per_class_accuracy(two(), two(), -1))
REFUSED(one_threshold, hr_metric_auc(two(), two(), .num_thresholds = 1))
REFUSED(many_thresholds, hr_metric_auc(two(), two(), .num_thresholds = INT32_MAX))
REFUSED(thresholds_at_null, hr_metric_auc(two(), two(), .threshold_count = 3))
REFUSED(endless_thresholds, hr_metric_recall(two(), two(), .thresholds = &(float){0}, .threshold_count = INT32_MAX))
REFUSED(fewer_thresholds, hr_metric_recall(two(), two(), .thresholds = &(float){0}, .threshold_count = -1))
REFUSED(threshold_above_one, hr_metric_precision(two(), two(), .keras = true, .threshold = &(float){1.5f}))
REFUSED(thresholds_below_zero,
        hr_metric_true_positives(two(), two(), .keras = true, .thresholds = &(float){-.5f}, .threshold_count = 1))
REFUSED(threshold_of_nothing,
        hr_metric_false_negatives(two(), two(), .thresholds = &(float){NAN}, .threshold_count = 1))
REFUSED(rate_above_one, hr_metric_recall_at_precision(two(), two(), 1.5))
REFUSED(rate_of_nothing, hr_metric_sensitivity_at_specificity(two(), two(), (double)NAN))
REFUSED(class_beyond, hr_metric_precision(two(), two(), .keras = true, .class_id = HR_I64(7)))
REFUSED(k_beyond, hr_metric_precision(two(), two(), .keras = true, .top_k = 9))
REFUSED(no_k, hr_metric_recall_at_k(two(), two(), 0))
REFUSED(labels_of_vector, hr_metric_auc(hr_ints(g, HR_I64(1, 0), 2), hr_cast_to(hr_ints(g, HR_I64(1, 0), 2), HR_FLOAT),
                                        .multi_label = true))
REFUSED(no_column, hr_metric_mean_cosine_distance(two(), two(), 5))
static hr_node no_such_loss(void) { return hr_keras_loss("mean_square", two(), two()); }
static hr_node nameless_loss(void) { return hr_keras_loss(NULL, two(), two()); }
static hr_node mean_of_weights(void) { return hr_keras_loss("mse", two(), two(), .reduction = HR_REDUCTION_MEAN); }
static hr_node other_entropy(void) { return hr_keras_loss("bce", two(), three(), .from_logits = true); }
static hr_node other_loss_weights(void) { return hr_mean_squared_error(two(), two(), .weights = three()); }

static void what_cannot_be_measured_is_refused(void **state)
{
    (void)state;
    static const struct {
        hr_node (*call)(void);
        const char *kind;
    } tried[] = {
        {other_shapes, "layers.shape"},
        {other_rows, "layers.shape"},
        {no_labels, NULL},
        {no_predictions, NULL},
        {other_weights, "layers.weights"},
        {more_weights, "layers.weights"},
        {weights_of_auc, "layers.weights"},
        {no_classes, "layers.classes"},
        {fewer_classes, "layers.classes"},
        {one_threshold, "layers.thresholds"},
        {many_thresholds, "layers.thresholds"},
        {thresholds_at_null, "layers.thresholds"},
        {endless_thresholds, "layers.thresholds"},
        {fewer_thresholds, "layers.thresholds"},
        {threshold_above_one, "layers.thresholds"},
        {thresholds_below_zero, "layers.thresholds"},
        {threshold_of_nothing, "layers.thresholds"},
        {rate_above_one, "layers.rate"},
        {rate_of_nothing, "layers.rate"},
        {class_beyond, "graph.slice"},
        {k_beyond, "graph.shape"},
        {no_k, "layers.k"},
        {labels_of_vector, "layers.shape"},
        {no_column, "graph.axis"},
        {no_such_loss, "layers.loss"},
        {nameless_loss, "layers.loss"},
        {mean_of_weights, "layers.loss"},
        {other_entropy, "layers.shape"},
        {other_loss_weights, "layers.weights"},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        g = hr_graph_new();
        if (hr_node_exists(tried[i].call())) fail_msg("call %zu made a node", i);
        const hr_error *err = hr_graph_error(g);
        if (tried[i].kind && (!err || strcmp(err->kind, tried[i].kind) != 0))
            fail_msg("call %zu: expected %s, found %s: %s", i, tried[i].kind, err ? err->kind : "none",
                     err ? err->text : "");
        hr_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_counting_pairs),
        cmocka_unit_test(scores_refuse_what_is_no_probability),
        cmocka_unit_test(streaming_auc_comes_near_the_exact_one),
        cmocka_unit_test(losses_are_metrics),
        cmocka_unit_test(metrics_have_the_names_of_keras),
        cmocka_unit_test(what_cannot_be_measured_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
