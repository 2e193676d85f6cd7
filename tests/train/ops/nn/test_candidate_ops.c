/* Samplers of classes: what TensorFlow 2.15.1 draws with the same seeds in the first runs, and expects. */
#include "tests/testing.h"

#include <float.h>
#include <headrace/graph_op.h>
#include <headrace/nn.h>
#include <string.h>

enum { TRUES = 6, SAMPLED = 4 };

static const struct draw {
    const char *op;
    bool unique;
    int64_t range, seed, seed2;
    int run;
    int64_t sampled[SAMPLED];
    float true_expected[TRUES], sampled_expected[SAMPLED];
} draws[] = {
    {"LogUniformCandidateSampler",
     true,
     9,
     3,
     7,
     0,
     {5, 0, 2, 4},
     {0.620339394f, 0.486911446f, 0.833162904f, 0.399303436f, 0.399303436f, 0.399303436f},
     {0.292816609f, 0.833162904f, 0.486911446f, 0.337980509f}},
    {"LogUniformCandidateSampler",
     true,
     9,
     3,
     7,
     1,
     {0, 7, 5, 3},
     {0.687194288f, 0.551016092f, 0.883385897f, 0.457516968f, 0.457516968f, 0.457516968f},
     {0.883385897f, 0.270242691f, 0.34016028f, 0.457516968f}},
    {"LogUniformCandidateSampler",
     false,
     1000,
     1,
     2,
     0,
     {4, 20, 6, 4},
     {0.234754384f, 0.166560888f, 0.401315272f, 0.129194662f, 0.129194662f, 0.129194662f},
     {0.105559722f, 0.0269339513f, 0.0773114115f, 0.105559722f}},
    {"LogUniformCandidateSampler",
     false,
     1000,
     1,
     2,
     1,
     {138, 66, 9, 33},
     {0.234754384f, 0.166560888f, 0.401315272f, 0.129194662f, 0.129194662f, 0.129194662f},
     {0.00415037991f, 0.00857757218f, 0.0551822633f, 0.0167830754f}},
    {"UniformCandidateSampler",
     true,
     8,
     5,
     6,
     0,
     {3, 5, 1, 0},
     {0.656391084f, 0.656391084f, 0.656391084f, 0.656391084f, 0.656391084f, 0.656391084f},
     {0.656391084f, 0.656391084f, 0.656391084f, 0.656391084f}},
    {"UniformCandidateSampler",
     true,
     8,
     5,
     6,
     1,
     {6, 7, 4, 2},
     {0.487091064f, 0.487091064f, 0.487091064f, 0.487091064f, 0.487091064f, 0.487091064f},
     {0.487091064f, 0.487091064f, 0.487091064f, 0.487091064f}},
    {"UniformCandidateSampler",
     false,
     1000003,
     5,
     6,
     0,
     {115195, 400289, 142083, 582061},
     {3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f},
     {3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f}},
    {"UniformCandidateSampler",
     false,
     1000003,
     5,
     6,
     1,
     {867468, 527046, 739422, 908614},
     {3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f},
     {3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f, 3.99998817e-06f}},
    {"LearnedUnigramCandidateSampler",
     true,
     9,
     11,
     12,
     0,
     {3, 4, 0, 2},
     {0.445071071f, 0.445071071f, 0.445071071f, 0.445071071f, 0.445071071f, 0.445071071f},
     {0.445071071f, 0.445071071f, 0.445071071f, 0.445071071f}},
    {"LearnedUnigramCandidateSampler",
     true,
     9,
     11,
     12,
     1,
     {8, 1, 6, 3},
     {0.533333361f, 0.533333361f, 0.533333361f, 1.06666672f, 1.06666672f, 1.06666672f},
     {0.266666681f, 0.533333361f, 0.266666681f, 1.06666672f}},
    {"LearnedUnigramCandidateSampler",
     false,
     9,
     11,
     12,
     0,
     {3, 4, 0, 0},
     {0.444444448f, 0.444444448f, 0.444444448f, 0.444444448f, 0.444444448f, 0.444444448f},
     {0.444444448f, 0.444444448f, 0.444444448f, 0.444444448f}},
    {"LearnedUnigramCandidateSampler",
     false,
     9,
     11,
     12,
     1,
     {8, 1, 6, 3},
     {0.533333361f, 0.533333361f, 0.533333361f, 1.06666672f, 1.06666672f, 1.06666672f},
     {0.266666681f, 0.533333361f, 0.266666681f, 1.06666672f}},
    {"AllCandidateSampler", true, 4, 1, 1, 0, {0, 1, 2, 3}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1}},
    {"AllCandidateSampler", true, 4, 1, 1, 1, {0, 1, 2, 3}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1}},
};

static const int64_t classes[TRUES] = {1, 2, 0, 3, 3, 3};

static hr_node true_classes(hr_graph *g)
{
    const hr_tensor value = hr_tensor_of(HR_INT64, HR_SHAPE(3, 2), classes);
    return hr_const(g, &value);
}

static void samplers_draw_what_tensorflow_draws(void **state)
{
    (void)state;
    hr_session *s = NULL;
    hr_graph *g = NULL;
    hr_node node = {0};
    hr_error err;
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
        const struct draw *d = &draws[i];
        if (d->run == 0) {
            const hr_attr attrs[] = {HR_INT_ATTR("num_true", 2),        HR_INT_ATTR("num_sampled", SAMPLED),
                                     HR_BOOL_ATTR("unique", d->unique), HR_INT_ATTR("seed", d->seed),
                                     HR_INT_ATTR("seed2", d->seed2),    HR_INT_ATTR("range_max", d->range)};
            hr_session_free(s);
            hr_graph_free(g);
            g = hr_graph_new();
            node = hr_new_node(g, d->op, HR_INPUTS(true_classes(g)), .attrs = attrs,
                               .attr_count = strcmp(d->op, "AllCandidateSampler") == 0 ? 5 : 6);
            s = hr_session_new(g);
        }
        const hr_node fetches[] = {node, hr_node_output(node, 1), hr_node_output(node, 2)};
        hr_tensor out[3];
        assert_ok(hr_session_run(s, NULL, 0, fetches, 3, out, &err), &err);
        for (int j = 0; j < SAMPLED; j++) assert_int_equal(((const int64_t *)out[0].data)[j], d->sampled[j]);
        for (int j = 0; j < TRUES; j++) assert_near(((const float *)out[1].data)[j], d->true_expected[j], 1e-7);
        for (int j = 0; j < SAMPLED; j++) assert_near(((const float *)out[2].data)[j], d->sampled_expected[j], 1e-7);
        for (int j = 0; j < 3; j++) hr_tensor_clear(&out[j]);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static void weights_of_classes_are_given(void **state)
{
    (void)state;
    static const struct {
        bool unique;
        int64_t reserved, shards, shard, range;
        int64_t sampled[2][SAMPLED];
        float true_expected[2][TRUES];
    } cases[] = {
        {true,
         0,
         1,
         0,
         9,
         {{4, 2, 6, 7}, {1, 7, 4, 0}},
         {{0.211311013f, 0.502075732f, 0.771559596f, 0, 0, 0}, {0.179481938f, 0.44071123f, 0.70782429f, 0, 0, 0}}},
        {false,
         0,
         1,
         0,
         9,
         {{4, 2, 6, 4}, {1, 7, 4, 7}},
         {{0.155165762f, 0.438875079f, 0.872561276f, 0, 0, 0}, {0.155165762f, 0.438875079f, 0.872561276f, 0, 0, 0}}},
        {false,
         1,
         2,
         1,
         4,
         {{2, 0, 0, 3}, {2, 3, 0, 3}},
         {{0, 0.629779279f, 0.374468982f, 2.99575186f, 2.99575186f, 2.99575186f},
          {0, 0.629779279f, 0.374468982f, 2.99575186f, 2.99575186f, 2.99575186f}}},
        {false,
         3,
         2,
         0,
         7,
         {{2, 3, 2, 5}, {2, 3, 4, 4}},
         {{0, 1.48993337f, 0, 0.749396801f, 0.749396801f, 0.749396801f},
          {0, 1.48993337f, 0, 0.749396801f, 0.749396801f, 0.749396801f}}},
        {true,
         1,
         1,
         0,
         10,
         {{8, 6, 1, 3}, {2, 7, 3, 8}},
         {{0.860353351f, 0.271312982f, 0, 0.605344892f, 0.605344892f, 0.605344892f},
          {0.70782429f, 0.179481938f, 0, 0.44071123f, 0.44071123f, 0.44071123f}}},
    };
    static const float unigrams[] = {5, 0.5f, 2, 0, 3.5f, 1, 1.25f, 8, 0.125f};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_error err;
        hr_graph *g = hr_graph_new();
        const hr_attr attrs[] = {HR_INT_ATTR("num_true", 2),
                                 HR_INT_ATTR("num_sampled", SAMPLED),
                                 HR_BOOL_ATTR("unique", cases[i].unique),
                                 HR_INT_ATTR("seed", 21),
                                 HR_INT_ATTR("seed2", 4),
                                 HR_INT_ATTR("range_max", cases[i].range),
                                 HR_FLOAT_ATTR("distortion", 0.75f),
                                 HR_INT_ATTR("num_reserved_ids", cases[i].reserved),
                                 HR_INT_ATTR("num_shards", cases[i].shards),
                                 HR_INT_ATTR("shard", cases[i].shard),
                                 {.name = "unigrams",
                                  .kind = HR_ATTR_FLOATS,
                                  .count = sizeof unigrams / sizeof *unigrams,
                                  .floats = unigrams}};
        const hr_node node = hr_new_node(g, "FixedUnigramCandidateSampler", HR_INPUTS(true_classes(g)), .attrs = attrs,
                                         .attr_count = sizeof attrs / sizeof *attrs);
        const hr_node fetches[] = {node, hr_node_output(node, 1)};
        hr_session *s = hr_session_new(g);
        for (int run = 0; run < 2; run++) {
            hr_tensor out[2];
            assert_ok(hr_session_run(s, NULL, 0, fetches, 2, out, &err), &err);
            for (int j = 0; j < SAMPLED; j++)
                assert_int_equal(((const int64_t *)out[0].data)[j], cases[i].sampled[run][j]);
            for (int j = 0; j < TRUES; j++)
                assert_near(((const float *)out[1].data)[j], cases[i].true_expected[run][j], 1e-7);
            for (int j = 0; j < 2; j++) hr_tensor_clear(&out[j]);
        }
        hr_session_free(s);
        hr_graph_free(g);
    }
}

static void hits_are_found_in_the_order_of_the_labels(void **state)
{
    (void)state;
    static const int64_t candidates[] = {3, 7, 1, 3};
    static const int32_t rows[] = {0, 1, 2, 2};
    static const int64_t places[] = {2, 3, 3, 3}; /* of two places, the last */
    hr_error err;
    hr_tensor out[3];
    hr_graph *g = hr_graph_new();
    const hr_tensor value = hr_tensor_of(HR_INT64, HR_SHAPE(4), candidates);
    const hr_node hits = hr_new_node(g, "ComputeAccidentalHits", HR_INPUTS(true_classes(g), hr_const(g, &value)),
                                     HR_ATTRS(HR_INT_ATTR("num_true", 2)));
    const hr_node fetches[] = {hits, hr_node_output(hits, 1), hr_node_output(hits, 2)};
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, fetches, 3, out, &err), &err);
    assert_int_equal(out[0].count, 4);
    assert_memory_equal(out[0].data, rows, sizeof rows);
    assert_memory_equal(out[1].data, places, sizeof places);
    for (int i = 0; i < 4; i++) assert_exactly(((const float *)out[2].data)[i], -FLT_MAX);
    for (int i = 0; i < 3; i++) hr_tensor_clear(&out[i]);
    hr_session_free(s);
    hr_graph_free(g);
}

static void expect_failure(hr_graph *g, hr_node node, const char *kind)
{
    hr_error err;
    hr_tensor out;
    hr_session *s = hr_session_new(g);
    assert_status(hr_session_run(s, NULL, 0, &node, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, kind);
    hr_session_free(s);
    hr_graph_free(g);
}

static void what_cannot_be_drawn_is_refused(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    expect_failure(g, hr_sample_candidates(true_classes(g), HR_LOG_UNIFORM_SAMPLER, 2, 3, NULL).sampled, "graph.range");
    g = hr_graph_new();
    expect_failure(g, hr_sample_candidates(true_classes(g), HR_UNIFORM_SAMPLER, 5, 4, NULL).sampled, "graph.range");
    g = hr_graph_new();
    expect_failure(g, hr_sample_candidates(true_classes(g), HR_LEARNED_UNIGRAM_SAMPLER, 5, INT32_MAX, NULL).sampled,
                   "graph.range");
    g = hr_graph_new();
    assert_false(hr_node_exists(hr_sample_candidates(hr_scalar(g, HR_INT64, 1), HR_ALL_SAMPLER, 1, 1, NULL).sampled));
    assert_string_equal(hr_graph_error(g)->kind, "graph.shape");
    hr_graph_free(g);
    hr_sample_candidates((hr_node){0}, HR_ALL_SAMPLER, 1, 1, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samplers_draw_what_tensorflow_draws),
        cmocka_unit_test(weights_of_classes_are_given),
        cmocka_unit_test(hits_are_found_in_the_order_of_the_labels),
        cmocka_unit_test(what_cannot_be_drawn_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
