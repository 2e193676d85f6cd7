/* Rows of a table in several shards: values and gradients of TensorFlow 2.15.1's embedding_lookup and
 * safe_embedding_lookup_sparse, of numbers made by a formula; of gradients, sums with such numbers. */
#include "tests/testing.h"
#include "train/layers/layers.h"
#include "train/optimizers/optimizers.h"

#include <math.h>
#include <string.h>

enum { ROWS = 8, WIDTH = 2, SHARDS = 3, IDS = 6, LISTS = 4 };

static float number(int64_t k, int64_t seed) { return (float)((k * 37 + seed * 11 + k * k * seed) % 41 - 20) / 25.0f; }

typedef struct tables {
    hr_graph *g;
    hr_node shard[SHARDS];
    hr_session *s;
} tables;

static void tables_new(tables *t, hr_partition_strategy strategy)
{
    static const int64_t rows[] = {3, 3, 2};
    static const char *const names[] = {"a", "b", "c"};
    t->g = hr_graph_new();
    for (int64_t p = 0, first = 0; p < SHARDS; first += rows[p++]) {
        float values[3 * WIDTH];
        for (int64_t r = 0; r < rows[p]; r++)
            for (int64_t i = 0; i < WIDTH; i++)
                values[r * WIDTH + i] =
                    number((strategy == HR_PARTITION_MOD ? r * SHARDS + p : first + r) * WIDTH + i, 3);
        const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(rows[p], WIDTH), values);
        t->shard[p] = hr_get_variable(t->g, names[p], HR_FLOAT, value.shape, .initializer = hr_initial_value(&value));
    }
}

static hr_node made(hr_graph *g, hr_shape shape, int64_t seed)
{
    float values[ROWS * WIDTH];
    const int64_t count = hr_shape_count(shape);
    for (int64_t k = 0; k < count; k++) values[k] = number(k, seed);
    const hr_tensor value = hr_tensor_of(HR_FLOAT, shape, values);
    return hr_const(g, &value);
}

static void start(tables *t)
{
    hr_error err;
    if (hr_graph_error(t->g)) fail_msg("%s", hr_graph_error(t->g)->text);
    t->s = hr_session_new(t->g);
    const hr_node init = hr_target(hr_global_variables_initializer(t->g));
    assert_ok(hr_session_run(t->s, NULL, 0, &init, 1, NULL, &err), &err);
}

static void expect(tables *t, const char *what, hr_node node, const float *expected, int count)
{
    hr_error err;
    hr_tensor got;
    assert_ok(hr_session_run(t->s, NULL, 0, &node, 1, &got, &err), &err);
    assert_int_equal(got.count, count);
    for (int i = 0; i < count; i++)
        if (!(fabsf(((const float *)got.data)[i] - expected[i]) < 1e-6f))
            fail_msg("%s %d: expected %.9g, got %.9g", what, i, (double)expected[i],
                     (double)((const float *)got.data)[i]);
    hr_tensor_clear(&got);
}

/* Values, and the gradients of their sum with made numbers. */
static void expect_all(tables *t, const char *what, hr_node y, const float *values, int count, const float *gradients)
{
    hr_gradient by[SHARDS];
    const hr_node loss = hr_reduce_sum(hr_mul(y, made(t->g, hr_node_shape(y), 9)));
    hr_gradients(&loss, 1, t->shard, SHARDS, by);
    start(t);
    expect(t, what, y, values, count);
    for (int p = 0; p < SHARDS; p++) {
        const hr_shape shape = hr_variable_of(t->shard[p])->shape;
        assert_true(by[p].indices.graph != NULL); /* slices */
        expect(t, what, hr_reduce_sum(hr_mul(hr_gradient_dense(by[p]), made(t->g, shape, 5))), &gradients[p], 1);
    }
    hr_session_free(t->s);
    hr_graph_free(t->g);
}

static void rows_are_found_in_their_shards(void **state)
{
    (void)state;
    static const int32_t ids[IDS] = {7, 0, 3, 5, 5, 2};
    static const float whole[IDS * WIDTH] = {0.48f,  0.52f, 0.52f,  0.48f, 0.6f,  0.36f,
                                             -0.56f, 0.16f, -0.56f, 0.16f, 0.16f, -0.56f},
                                   clipped[IDS * WIDTH] = {0.339140058f,  0.367401719f, 0.367401719f,  0.339140058f,
                                                           0.428746462f,  0.257247895f, -0.480761975f, 0.137360558f,
                                                           -0.480761975f, 0.137360558f, 0.137360558f,  -0.480761975f};
    static const float gradients[2][2][SHARDS] = {
        {{0.635200024f, 0.30400002f, -0.0735999942f}, {0.023387406f, -0.0466059223f, -0.0559743606f}},
        {{0.368000001f, -0.0271999948f, 0.231999993f}, {0.0617384985f, -0.00386815146f, 0.0208891518f}}};
    for (int i = 0; i < 4; i++) {
        tables t;
        const hr_partition_strategy strategy = i / 2 ? HR_PARTITION_MOD : HR_PARTITION_DIV;
        const hr_tensor value = hr_tensor_of(HR_INT32, HR_SHAPE(3, 2), ids);
        tables_new(&t, strategy);
        const hr_node y = hr_embedding_lookup(t.shard, SHARDS, hr_const(t.g, &value), .strategy = strategy,
                                              .max_norm = i % 2 ? 0.5f : 0);
        assert_shape(hr_node_shape(y), HR_SHAPE(3, 2, WIDTH));
        expect_all(&t, "dense", y, i % 2 ? clipped : whole, IDS * WIDTH, gradients[i / 2][i % 2]);
    }
}

static const int64_t list_ids[IDS] = {7, 0, 3, 5, 5, 2};
static const int32_t list_splits[LISTS + 1] = {0, 2, 3, 3, 6};

static void rows_of_ids_are_combined_over_shards(void **state)
{
    (void)state;
    static const float weights[IDS] = {1, 2, 0.5f, -1, 3, 1.5f};
    static const struct {
        hr_combiner combiner;
        bool weighed;
        float values[LISTS * WIDTH], gradients[2][SHARDS];
    } cases[] = {
        {HR_MEAN,
         false,
         {0.5f, 0.5f, 0.6f, 0.36f, 0, 0, -0.320000023f, -0.0800000057f},
         {{0.0970666707f, 0.462933362f, -0.0367999971f}, {0.211199999f, -0.0135999974f, 0.0320000015f}}},
        {HR_MEAN,
         true,
         {0.50666666f, 0.49333334f, 0.6f, 0.36f, 0, 0, -0.320000023f, -0.0800000131f},
         {{0.0992000103f, 0.462933362f, -0.0245333314f}, {0.213333324f, -0.00906666741f, 0.0320000015f}}},
        {HR_SUM,
         false,
         {1, 1, 0.6f, 0.36f, 0, 0, -0.960000038f, -0.24f},
         {{0.284800023f, 0.825600028f, -0.0735999942f}, {0.217599988f, -0.0271999948f, 0.0960000008f}}},
        {HR_SUM,
         true,
         {1.52f, 1.48f, 0.3f, 0.18f, 0, 0, -0.880000114f, -0.520000041f},
         {{0.433600008f, 0.684800029f, -0.0735999942f}, {0.127999991f, -0.0271999948f, 0.0480000079f}}},
        {HR_SQRTN,
         false,
         {0.707106769f, 0.707106769f, 0.6f, 0.36f, 0, 0, -0.55425626f, -0.138564065f},
         {{0.166090235f, 0.595678568f, -0.052043058f}, {0.21385096f, -0.019233305f, 0.0554256253f}}},
        {HR_SQRTN,
         true,
         {0.679764628f, 0.661876142f, 0.6f, 0.36f, 0, 0, -0.429325074f, -0.107331276f},
         {{0.133090779f, 0.524884224f, -0.0329149179f}, {0.216248661f, -0.0121642128f, 0.0429325067f}}},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        tables t;
        const hr_partition_strategy strategy = i % 2 ? HR_PARTITION_MOD : HR_PARTITION_DIV;
        const hr_tensor ids = hr_tensor_of(HR_INT64, HR_SHAPE(IDS), list_ids),
                        splits = hr_tensor_of(HR_INT32, HR_SHAPE(LISTS + 1), list_splits),
                        w = hr_tensor_of(HR_FLOAT, HR_SHAPE(IDS), weights);
        tables_new(&t, strategy);
        const hr_node y = hr_sharded_lookup_sparse(
            t.shard, SHARDS, hr_const(t.g, &ids), hr_const(t.g, &splits), .combiner = cases[i / 2].combiner,
            .weights = cases[i / 2].weighed ? hr_const(t.g, &w) : (hr_node){0}, .strategy = strategy);
        expect_all(&t, "sparse", hr_reshape(y, hr_shape_const(t.g, HR_SHAPE(LISTS, WIDTH))), cases[i / 2].values,
                   LISTS * WIDTH, cases[i / 2].gradients[i % 2]);
    }
}

/* Ids repeat, also within a row; one does not count, so that its row is empty and stands for id 0. */
static void gradients_have_one_row_for_each_distinct_id(void **state)
{
    (void)state;
    enum { ALL = 9, LINES = 6, DISTINCT = 5 };
    static const int64_t ids[ALL] = {7, 0, 3, 5, 5, 2, -1, 7, 7}, empty_first[ALL] = {-1, -1, 3, 5, 5, 2, -1, 7, 7};
    static const int32_t splits[LINES + 1] = {0, 2, 3, 3, 6, 7, 9};
    static const float weights[ALL] = {1, 2, 0.5f, -1, 3, 1.5f, 1, 0.25f, 2};
    static const struct {
        const int64_t *ids, rows[DISTINCT];
        hr_combiner combiner;
        bool weighed;
        float max_norm, values[DISTINCT * WIDTH], norm;
    } cases[] = {
        {ids,
         {7, 0, 3, 5, 2},
         HR_MEAN,
         false,
         0,
         {-0.219999999f, 0.720000029f, -0.0599999987f, 0.0399999991f, -0.639999986f, -0.639999986f, 0.266666681f, 0,
          0.13333334f, 0},
         1.21658909f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_MEAN,
         false,
         0.5f,
         {-0.337469637f, 0.311510444f, -0.0335889533f, 0.0363880284f, 0.0807052553f, -0.134508684f, 0.0172780603f,
          0.0604732074f, 0.105828121f, 0.0302366056f},
         0.50403583f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_MEAN,
         true,
         0,
         {-0.200000003f, 0.706666648f, -0.0799999982f, 0.0533333309f, -0.639999986f, -0.639999986f, 0.266666681f, 0,
          0.13333334f, 0},
         1.20694292f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_MEAN,
         true,
         0.5f,
         {-0.325144649f, 0.300133526f, -0.0447852686f, 0.0485173687f, 0.0807052553f, -0.134508684f, 0.0172780603f,
          0.0604732074f, 0.105828121f, 0.0302366056f},
         0.490748554f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_SUM,
         false,
         0,
         {-0.439999998f, 1.44000006f, -0.119999997f, 0.0799999982f, -0.639999986f, -0.639999986f, 0.800000012f, 0,
          0.400000006f, 0},
         1.97666395f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_SUM,
         false,
         0.5f,
         {-0.674939275f, 0.623020887f, -0.0671779066f, 0.0727760568f, 0.0807052553f, -0.134508684f, 0.051834166f,
          0.181419611f, 0.317484319f, 0.0907098129f},
         1.01130486f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_SUM,
         true,
         0,
         {-0.479999989f, 1.61000001f, -0.239999995f, 0.159999996f, -0.319999993f, -0.319999993f, 0.800000072f, 0,
          0.600000024f, 0},
         2.02743697f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_SUM,
         true,
         0.5f,
         {-0.750062943f, 0.692365766f, -0.134355813f, 0.145552114f, 0.0403526276f, -0.0672543421f, 0.0518341064f,
          0.181419641f, 0.476226509f, 0.136064723f},
         1.16972566f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_SQRTN,
         false,
         0,
         {-0.311126947f, 1.01823378f, -0.0848528072f, 0.0565685406f, -0.639999986f, -0.639999986f, 0.461880207f, 0,
          0.230940104f, 0},
         1.49327385f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_SQRTN,
         false,
         0.5f,
         {-0.477254093f, 0.44054234f, -0.0475019477f, 0.0514604375f, 0.0807052553f, -0.134508684f, 0.0299264789f,
          0.104742661f, 0.183299661f, 0.0523713306f},
         0.706801057f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_SQRTN,
         true,
         0,
         {-0.232275635f, 0.794869661f, -0.107331261f, 0.0715541691f, -0.639999986f, -0.639999986f, 0.35777089f, 0,
          0.178885445f, 0},
         1.29676902f},
        {ids,
         {7, 0, 3, 5, 2},
         HR_SQRTN,
         true,
         0.5f,
         {-0.368517399f, 0.340169907f, -0.0600857437f, 0.065092884f, 0.0807052553f, -0.134508684f, 0.0231809616f,
          0.0811333135f, 0.1419833f, 0.0405666605f},
         0.559373617f},
        {empty_first,
         {0, 3, 5, 2, 7},
         HR_MEAN,
         false,
         0,
         {0, 0, -0.639999986f, -0.639999986f, 0.266666681f, 0, 0.13333334f, 0, -0.159999996f, 0.680000007f},
         1.18156207f},
        {empty_first,
         {0, 3, 5, 2, 7},
         HR_MEAN,
         true,
         0,
         {0, 0, -0.639999986f, -0.639999986f, 0.266666681f, 0, 0.13333334f, 0, -0.159999996f, 0.680000007f},
         1.18156207f},
        {empty_first,
         {0, 3, 5, 2, 7},
         HR_SUM,
         false,
         0,
         {0, 0, -0.639999986f, -0.639999986f, 0.800000012f, 0, 0.400000006f, 0, -0.319999993f, 1.36000001f},
         1.88976181f},
        {empty_first,
         {0, 3, 5, 2, 7},
         HR_SUM,
         true,
         0,
         {0, 0, -0.319999993f, -0.319999993f, 0.800000072f, 0, 0.600000024f, 0, -0.359999985f, 1.52999997f},
         1.91710722f},
        {empty_first,
         {0, 3, 5, 2, 7},
         HR_SQRTN,
         false,
         0,
         {0, 0, -0.639999986f, -0.639999986f, 0.461880207f, 0, 0.230940104f, 0, -0.226274163f, 0.961665213f},
         1.43592024f},
        {empty_first,
         {0, 3, 5, 2, 7},
         HR_SQRTN,
         true,
         0,
         {0, 0, -0.639999986f, -0.639999986f, 0.35777089f, 0, 0.178885445f, 0, -0.178610012f, 0.759092569f},
         1.25989008f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tables t = {.g = hr_graph_new()};
        float first[ROWS * WIDTH];
        for (int64_t k = 0; k < ROWS * WIDTH; k++) first[k] = number(k, 3);
        const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, WIDTH), first),
                        id = hr_tensor_of(HR_INT64, HR_SHAPE(ALL), (void *)cases[i].ids),
                        ends = hr_tensor_of(HR_INT32, HR_SHAPE(LINES + 1), (void *)splits),
                        w = hr_tensor_of(HR_FLOAT, HR_SHAPE(ALL), (void *)weights);
        const hr_node table =
            hr_get_variable(t.g, "table", HR_FLOAT, value.shape, .initializer = hr_initial_value(&value));
        const hr_node y = hr_embedding_lookup_sparse(table, hr_const(t.g, &id), hr_const(t.g, &ends),
                                                     .combiner = cases[i].combiner, .max_norm = cases[i].max_norm,
                                                     .weights = cases[i].weighed ? hr_const(t.g, &w) : (hr_node){0});
        const hr_node loss = hr_reduce_sum(hr_mul(y, made(t.g, HR_SHAPE(LINES, WIDTH), 9)));
        hr_variable_gradient by = {.variable = table};
        hr_error err;
        hr_tensor rows;
        hr_gradients(&loss, 1, &table, 1, &by.gradient);
        const hr_node norm = hr_global_norm(&by, 1);
        start(&t);
        assert_ok(hr_session_run(t.s, NULL, 0, &by.gradient.indices, 1, &rows, &err), &err);
        assert_int_equal(rows.count, DISTINCT);
        assert_memory_equal(rows.data, cases[i].rows, sizeof cases[i].rows);
        expect(&t, "slices", by.gradient.values, cases[i].values, DISTINCT * WIDTH);
        expect(&t, "norm", norm, &cases[i].norm, 1);
        hr_tensor_clear(&rows);
        hr_session_free(t.s);
        hr_graph_free(t.g);
    }
}

static void a_variable_in_pieces_is_looked_up_by_piece(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out[2];
    tables t = {.g = hr_graph_new()};
    const hr_tensor ids = hr_tensor_of(HR_INT64, HR_SHAPE(IDS), list_ids),
                    splits = hr_tensor_of(HR_INT32, HR_SHAPE(LISTS + 1), list_splits);
    const hr_node whole =
        hr_get_variable(t.g, "table", HR_FLOAT, HR_SHAPE(ROWS, WIDTH), .initializer = hr_random_uniform(-1, 1, 3),
                        .partitioner = hr_fixed_size_partitioner(SHARDS, 0));
    const hr_node rows = hr_embedding_lookup(&whole, 1, hr_const(t.g, &ids)),
                  lists = hr_sharded_lookup_sparse(&whole, 1, hr_const(t.g, &ids), hr_const(t.g, &splits)),
                  loss = hr_add(hr_reduce_sum(rows), hr_reduce_sum(lists));
    hr_gradient by[SHARDS];
    if (hr_graph_error(t.g)) fail_msg("%s", hr_graph_error(t.g)->text);
    assert_int_equal(hr_variable_pieces(t.g, "table", t.shard, SHARDS), SHARDS);
    hr_gradients(&loss, 1, t.shard, SHARDS, by);
    for (int p = 0; p < SHARDS; p++) assert_true(by[p].indices.graph != NULL);
    start(&t);
    const hr_node fetches[] = {rows, lists};
    assert_ok(hr_session_run(t.s, NULL, 0, fetches, 2, out, &err), &err);
    const hr_tensor *pieces[SHARDS] = {NULL};
    hr_tensor piece[SHARDS];
    for (int p = 0; p < SHARDS; p++) {
        assert_ok(hr_session_get(t.s, t.shard[p], &piece[p], &err), &err);
        pieces[p] = &piece[p];
    }
    for (int i = 0; i < IDS; i++) {
        const int64_t id = list_ids[i], p = id < 6 ? id / 3 : 2, row = id < 6 ? id % 3 : id - 6;
        for (int j = 0; j < WIDTH; j++)
            assert_exactly(((const float *)out[0].data)[i * WIDTH + j],
                           ((const float *)pieces[p]->data)[row * WIDTH + j]);
    }
    for (int j = 0; j < WIDTH; j++) {
        const float *row = out[0].data;
        assert_near(((const float *)out[1].data)[j], (row[j] + row[WIDTH + j]) / 2, 1e-6);
    }
    for (int p = 0; p < SHARDS; p++) hr_tensor_clear(&piece[p]);
    for (int i = 0; i < 2; i++) hr_tensor_clear(&out[i]);
    hr_session_free(t.s);
    hr_graph_free(t.g);
}

static void ids_that_there_are_not_fail_the_run(void **state)
{
    (void)state;
    static const int64_t wrong[] = {ROWS, -1};
    for (int i = 0; i < 6; i++) {
        tables t;
        hr_error err;
        hr_tensor out;
        const hr_partition_strategy strategy = i % 2 ? HR_PARTITION_MOD : HR_PARTITION_DIV;
        const int64_t id = i < 4 ? wrong[i / 2] : 100;
        const int32_t ends[] = {0, 1};
        const hr_tensor ids = hr_tensor_of(HR_INT64, HR_SHAPE(1), &id),
                        splits = hr_tensor_of(HR_INT32, HR_SHAPE(2), ends);
        tables_new(&t, strategy);
        const hr_node y = i < 4 ? hr_embedding_lookup(t.shard, SHARDS, hr_const(t.g, &ids), .strategy = strategy)
                                : hr_sharded_lookup_sparse(t.shard, SHARDS, hr_const(t.g, &ids), hr_const(t.g, &splits),
                                                           .strategy = strategy);
        start(&t);
        assert_status(hr_session_run(t.s, NULL, 0, &y, 1, &out, &err), HR_INVALID_ARGUMENT);
        hr_session_free(t.s);
        hr_graph_free(t.g);
    }
}

static void wrong_arguments_stay_with_the_graph(void **state)
{
    (void)state;
    tables t;
    tables_new(&t, HR_PARTITION_DIV);
    hr_embedding_lookup(t.shard, 0, hr_scalar(t.g, HR_INT64, 0));
    assert_string_equal(hr_graph_error(t.g)->kind, "layers.shape");
    hr_graph_free(t.g);
    tables_new(&t, HR_PARTITION_DIV);
    hr_sharded_lookup_sparse(NULL, 2, hr_scalar(t.g, HR_INT64, 0), (hr_node){0});
    assert_string_equal(hr_graph_error(t.g)->kind, "layers.shape");
    hr_graph_free(t.g);
    tables_new(&t, HR_PARTITION_DIV);
    hr_sharded_lookup_sparse(t.shard, SHARDS, hr_scalar(t.g, HR_INT64, 0), (hr_node){0}, .combiner = (hr_combiner)7);
    assert_string_equal(hr_graph_error(t.g)->kind, "graph.attr");
    hr_graph_free(t.g);
    assert_false(hr_node_exists(hr_embedding_lookup(NULL, 1, (hr_node){0})));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_in_their_shards),
        cmocka_unit_test(rows_of_ids_are_combined_over_shards),
        cmocka_unit_test(gradients_have_one_row_for_each_distinct_id),
        cmocka_unit_test(a_variable_in_pieces_is_looked_up_by_piece),
        cmocka_unit_test(ids_that_there_are_not_fail_the_run),
        cmocka_unit_test(wrong_arguments_stay_with_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
