/* Sampled losses: with all classes as candidates they are the whole ones. TensorFlow's numbers are golden cases. */
#include "tests/testing.h"
#include "train/layers/layers.h"

#include <math.h>
#include <string.h>

enum { ROWS = 3, WIDTH = 2, CLASSES = 4 };

typedef struct model {
    hr_graph *g;
    hr_node weights, biases, labels, inputs;
} model;

static model model_new(void)
{
    static const float weights[CLASSES * WIDTH] = {0.5f, -1, 2, 0.25f, -0.75f, 1.5f, 0, -2},
                                         biases[CLASSES] = {0.1f, -0.2f, 0.3f},
                                         inputs[ROWS * WIDTH] = {1, 2, -0.5f, 0.25f, 3, -1};
    static const int32_t labels[ROWS] = {2, 0, 3};
    hr_graph *g = hr_graph_new();
    const hr_tensor w = hr_tensor_of(HR_FLOAT, HR_SHAPE(CLASSES, WIDTH), weights),
                    b = hr_tensor_of(HR_FLOAT, HR_SHAPE(CLASSES), biases),
                    y = hr_tensor_of(HR_INT32, HR_SHAPE(ROWS, 1), labels),
                    x = hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, WIDTH), inputs);
    return (model){g, hr_get_variable(g, "w", HR_FLOAT, w.shape, .initializer = hr_initial_value(&w)),
                   hr_get_variable(g, "b", HR_FLOAT, b.shape, .initializer = hr_initial_value(&b)), hr_const(g, &y),
                   hr_const(g, &x)};
}

static hr_session *started(const model *m)
{
    hr_error err;
    if (hr_graph_error(m->g)) fail_msg("%s", hr_graph_error(m->g)->text);
    hr_session *s = hr_session_new(m->g, .passes = "none");
    const hr_node init = hr_target(hr_global_variables_initializer(m->g));
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    return s;
}

static void all_classes_as_candidates_make_the_whole_softmax(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out[4];
    const model m = model_new();
    const hr_candidates all = hr_sample_candidates(m.labels, HR_ALL_SAMPLER, CLASSES, CLASSES, NULL);
    const hr_node sampled = hr_sampled_softmax_loss(m.weights, m.biases, m.labels, m.inputs, CLASSES, CLASSES,
                                                    .candidates = &all),
                  logits = hr_add(hr_matmul(m.inputs, m.weights, .transpose_b = true), m.biases),
                  whole = hr_sparse_softmax_cross_entropy_with_logits(hr_squeeze(m.labels, NULL, 0), logits);
    const hr_node losses[] = {sampled, whole};
    hr_node fetches[4] = {sampled, whole};
    for (int i = 0; i < 2; i++) {
        hr_gradient by;
        hr_gradients(&losses[i], 1, &m.weights, 1, &by);
        fetches[2 + i] = hr_gradient_dense(by);
    }
    hr_session *s = started(&m);
    assert_ok(hr_session_run(s, NULL, 0, fetches, 4, out, &err), &err);
    for (int i = 0; i < 4; i += 2)
        for (int64_t j = 0; j < out[i].count; j++)
            assert_near(((const float *)out[i].data)[j], ((const float *)out[i + 1].data)[j], 1e-5);
    for (int i = 0; i < 4; i++) hr_tensor_clear(&out[i]);
    hr_session_free(s);
    hr_graph_free(m.g);
}

static void classes_are_drawn_anew_in_each_run(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    int differ = 0;
    float before = 0;
    const model m = model_new();
    const hr_node loss =
        hr_reduce_sum(hr_nce_loss(m.weights, m.biases, m.labels, m.inputs, 2, CLASSES, .seed = 7, .name = "nce"));
    hr_session *s = started(&m);
    for (int run = 0; run < 8; run++) {
        assert_ok(hr_session_run(s, NULL, 0, &loss, 1, &out, &err), &err);
        const float value = *(const float *)out.data;
        assert_true(isfinite(value) && value > 0);
        differ += run > 0 && value != before;
        before = value;
        hr_tensor_clear(&out);
    }
    assert_more(differ, 2);
    hr_session_free(s);
    hr_graph_free(m.g);
}

static void wrong_arguments_stay_with_the_graph(void **state)
{
    (void)state;
    const model m = model_new();
    hr_sampled_softmax_loss(m.weights, m.biases, hr_squeeze(m.labels, NULL, 0), m.inputs, 2, CLASSES);
    assert_string_equal(hr_graph_error(m.g)->kind, "layers.shape");
    hr_graph_free(m.g);
    assert_false(hr_node_exists(hr_nce_loss((hr_node){0}, (hr_node){0}, (hr_node){0}, (hr_node){0}, 2, 4)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_classes_as_candidates_make_the_whole_softmax),
        cmocka_unit_test(classes_are_drawn_anew_in_each_run),
        cmocka_unit_test(wrong_arguments_stay_with_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
