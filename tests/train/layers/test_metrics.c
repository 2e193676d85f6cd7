/* Scores and streaming metrics against counting by hand. */
#include "tests/testing.h"
#include "train/layers/layers.h"

#include <math.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_counting_pairs),
        cmocka_unit_test(scores_refuse_what_is_no_probability),
        cmocka_unit_test(streaming_auc_comes_near_the_exact_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
