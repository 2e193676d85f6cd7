/* Passes that make one node of several: of dense layers, lookups and cross entropies. */
#include "tests/train/passes/rewritten.h"

#include <math.h>

/* ---- layers ---- */

static hr_node convolve(hr_node x, hr_node w, const char *format)
{
    const int64_t ones[4] = {1, 1, 1, 1};
    return hr_new_node(g, "Conv2D", HR_INPUTS(x, w),
                       HR_ATTRS(HR_INTS_ATTR("strides", ones, 4), HR_STRING_ATTR("padding", "SAME"),
                                HR_STRING_ATTR("data_format", format)));
}

static void layers_become_one_node(void **state)
{
    (void)state;
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"};
    float values[300 * 5];
    for (int i = 0; i < 300 * 5; i++) values[i] = (float)(i * 37 % 101) / 20 - 2.5f;
    values[7] = NAN, values[23] = INFINITY, values[31] = -0.0f;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 5)), w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(5, -1));
    const hr_node row = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1));
    const hr_node images = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, -1, -1, 5));
    const hr_node filter = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 2, 5, 3));
    const hr_node three = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3));
    const hr_node matmul = hr_bias_add(hr_matmul(x, w), row);
    const hr_node conv = hr_add(three, convolve(images, filter, "NHWC"));
    hr_feed feeds[6] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(300, 5), values)},
                        {w, hr_tensor_of(HR_FLOAT, HR_SHAPE(5, 3), values + 40)},
                        {row, hr_tensor_of(HR_FLOAT, HR_SHAPE(3), values + 9)},
                        {images, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 10, 10, 5), values)},
                        {filter, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2, 5, 3), values + 50)},
                        {three, hr_tensor_of(HR_FLOAT, HR_SHAPE(3), values + 9)}};
    assert_int_equal(count_nodes("fuse_dense", matmul, "_FusedMatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", conv, "_FusedConv2D"), 1);
    assert_same_bits("fuse_dense", feeds, 3, matmul);
    assert_same_bits("fuse_dense", feeds + 3, 3, conv);
    for (int i = 0; i < 6; i++) {
        const hr_node a = hr_unary_node(activations[i], hr_bias_add(hr_matmul(x, w), row), NULL);
        const hr_node b = hr_unary_node(activations[i], hr_add(three, convolve(images, filter, "NHWC")), NULL);
        assert_int_equal(count_nodes("fuse_dense", a, NULL), 4);
        assert_int_equal(count_nodes("fuse_dense", b, NULL), 4);
        assert_same_bits("fuse_dense", feeds, 3, a);
        assert_same_bits("fuse_dense", feeds + 3, 3, b);
    }
    feeds[1].value = hr_tensor_of(HR_FLOAT, HR_SHAPE(5, 1), values + 40); /* as a linear model has it */
    feeds[2].value = hr_tensor_of(HR_FLOAT, HR_SHAPE(1), values + 9);
    assert_same_bits("fuse_dense", feeds, 3, hr_sigmoid(matmul));
    feeds[0].value = hr_tensor_of(HR_FLOAT, HR_SHAPE(0, 5), values);
    assert_same_bits("fuse_dense", feeds, 3, hr_sigmoid(matmul));
}

static void a_layer_without_inputs_is_its_bias(void **state)
{
    (void)state;
    const float values[4] = {-1, 0, 1, 2};
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 0)), w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(0, 4));
    const hr_node row = hr_placeholder(g, HR_FLOAT, HR_SHAPE(4));
    const hr_feed feeds[3] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 0), values)},
                              {w, hr_tensor_of(HR_FLOAT, HR_SHAPE(0, 4), values)},
                              {row, hr_tensor_of(HR_FLOAT, HR_SHAPE(4), values)}};
    assert_same_bits("fuse_dense", feeds, 3, hr_relu(hr_bias_add(hr_matmul(x, w), row)));
}

static void a_layer_whose_parts_others_need_stays(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 5)), w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(5, 3));
    const hr_node row = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3)), open = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1));
    const hr_node product = hr_matmul(x, w), sum = hr_bias_add(product, row), y = hr_relu(sum);
    const hr_node images = hr_placeholder(g, HR_FLOAT, HR_SHAPE(1, 5, 4, 4));
    const hr_node filter = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 2, 5, 3));
    const hr_node of_nchw = hr_new_node(g, "BiasAdd", HR_INPUTS(convolve(images, filter, "NCHW"), row),
                                        HR_ATTRS(HR_STRING_ATTR("data_format", "NCHW")));
    const hr_node d = hr_placeholder(g, HR_DOUBLE, HR_SHAPE(3, 3)), wait = hr_matmul(x, w);
    hr_control_dependencies(g, &wait, 1);
    const hr_node waits = hr_bias_add(hr_matmul(x, w), row);
    hr_control_end(g);
    assert_int_equal(count_nodes("fuse_dense", hr_add(y, product), "MatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", hr_add(y, sum), "Relu"), 1);
    assert_int_equal(count_nodes("fuse_dense", hr_add(y, sum), "_FusedMatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", hr_add(hr_matmul(x, w), open), "MatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", hr_add(hr_matmul(x, w), hr_matmul(x, w)), "MatMul"), 2);
    assert_int_equal(count_nodes("fuse_dense", hr_bias_add(hr_matmul(d, d), hr_cast_to(row, HR_DOUBLE)), "MatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", of_nchw, "Conv2D"), 1);
    assert_int_equal(count_nodes("fuse_dense", waits, "MatMul"), 2);
    const float values[15] = {1, 2, 3, -4, -5, -6, 7, 8, -9};
    const hr_feed fed[2] = {{product, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values)},
                            {row, hr_tensor_of(HR_FLOAT, HR_SHAPE(3), values)}};
    assert_same_bits("fuse_dense", fed, 2, y);
}

static void an_error_of_a_layer_names_its_line(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const float values[6] = {0};
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, -1)), w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2));
    const hr_node row = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1)), y = hr_relu(hr_bias_add(hr_matmul(x, w), row));
    hr_feed feeds[3] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values)},
                        {w, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), values)},
                        {row, hr_tensor_of(HR_FLOAT, HR_SHAPE(2), values)}};
    hr_session *s = hr_session_new(g, .passes = "fuse_dense");
    assert_int_equal(hr_session_run(s, feeds, 3, &y, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.shape");
    assert_non_null(strstr(err.text, "test_layer_passes.c:"));
    feeds[1].value.shape = HR_SHAPE(3, 2), feeds[1].value.count = 6;
    feeds[2].value.shape = HR_SHAPE(3), feeds[2].value.count = 3;
    assert_int_equal(hr_session_run(s, feeds, 3, &y, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.shape");
    hr_session_free(s);
}

/* Nodes that TensorFlow's own passes make, as a file may have them. */
static void fused_nodes_of_files_say_what_they_fuse(void **state)
{
    (void)state;
    static const struct {
        const char *ops[2];
        int count, args;
        hr_status status;
    } cases[] = {{{"BiasAdd", "Elu"}, 2, 1, HR_OK},
                 {{"BiasAdd"}, 1, 1, HR_OK},
                 {{0}, 0, 1, HR_INVALID_ARGUMENT},
                 {{"BiasAdd"}, 1, 2, HR_INVALID_ARGUMENT},
                 {{"Relu", "BiasAdd"}, 2, 1, HR_UNIMPLEMENTED},
                 {{"BiasAdd", "Exp"}, 2, 1, HR_UNIMPLEMENTED},
                 {{"FusedBatchNorm"}, 1, 1, HR_UNIMPLEMENTED}};
    hr_error err;
    hr_tensor out;
    const hr_node one = hr_new_node(g, "Reshape", HR_INPUTS(number(-3), hr_const_ints(g, (int64_t[]){1, 1}, 2, NULL)));
    const hr_node bias = hr_new_node(g, "Reshape", HR_INPUTS(number(2), hr_const_ints(g, (int64_t[]){1}, 1, NULL)));
    const hr_node inputs[4] = {one, hr_neg(hr_neg(hr_square(one))), bias, bias};
    hr_session *s = hr_session_new(g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const hr_view ops[2] = {hr_text_view(cases[i].ops[0]), hr_text_view(cases[i].ops[1])};
        const hr_attr fused = {.name = "fused_ops", .kind = HR_ATTR_STRINGS, .count = cases[i].count, .strings = ops};
        const hr_node y = hr_new_node(g, "_FusedMatMul", .inputs = inputs, .input_count = 2 + cases[i].args,
                                      HR_ATTRS(fused, HR_INT_ATTR("num_args", cases[i].args)));
        assert_null(hr_graph_error(g));
        assert_int_equal(hr_session_run(s, NULL, 0, &y, 1, &out, &err), cases[i].status);
        if (cases[i].status != HR_OK) continue;
        assert_float_equal(*(const float *)out.data, cases[i].count == 2 ? expm1f(-25) : -25, 0);
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
}

/* ---- lookups ---- */

/* The same to 1e-6 with and without a pass, and one lookup in place of what was there. */
static void assert_combined(const hr_feed *feeds, int count, hr_node y)
{
    hr_error err;
    hr_tensor out[2];
    assert_int_equal(count_nodes("gather_combine", y, "Headrace>GatherCombine"), 1);
    for (int i = 0; i < 2; i++) {
        hr_session *s = hr_session_new(g, .passes = i ? "gather_combine" : "none");
        assert_ok(hr_session_run(s, feeds, count, &y, 1, &out[i], &err), &err);
        hr_session_free(s);
    }
    assert_true(hr_shape_equal(out[0].shape, out[1].shape));
    const float *a = out[0].data, *b = out[1].data;
    for (int64_t i = 0; i < out[0].count; i++)
        assert_true((isnan(a[i]) && isnan(b[i])) || a[i] == b[i] || fabsf(a[i] - b[i]) <= 1e-6f * fabsf(a[i]));
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
}

static hr_node column_of(hr_node w) { return hr_expand_dims(w, hr_scalar(g, HR_INT32, 1)); }
static hr_node sum_segments(hr_node rows, hr_node of) { return hr_new_node(g, "SegmentSum", HR_INPUTS(rows, of)); }

typedef struct lookup_inputs {
    hr_node table, ids, segments, weights;
    hr_feed feeds[4];
} lookup_inputs;

/* A table of 5 rows; segments 0, 0, 2, 2, 2. */
static lookup_inputs make_lookup(void)
{
    static const float rows[15] = {1, -2, 3, 0.5f, 7, 9, -1, 0, 2, 4, 4, -4, 8, INFINITY, 0},
                       weights[5] = {1, -2, 0, 3, 0.25f};
    static const int64_t ids[5] = {4, 0, 2, 2, 1};
    static const int32_t segments[5] = {0, 0, 2, 2, 2};
    lookup_inputs l = {.table = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3)),
                       .ids = hr_placeholder(g, HR_INT64, HR_SHAPE(-1)),
                       .segments = hr_placeholder(g, HR_INT32, HR_SHAPE(-1)),
                       .weights = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1))};
    l.feeds[0] = (hr_feed){l.table, hr_tensor_of(HR_FLOAT, HR_SHAPE(5, 3), rows)};
    l.feeds[1] = (hr_feed){l.ids, hr_tensor_of(HR_INT64, HR_SHAPE(5), ids)};
    l.feeds[2] = (hr_feed){l.segments, hr_tensor_of(HR_INT32, HR_SHAPE(5), segments)};
    l.feeds[3] = (hr_feed){l.weights, hr_tensor_of(HR_FLOAT, HR_SHAPE(5), weights)};
    return l;
}

static void rows_that_are_combined_are_not_gathered(void **state)
{
    (void)state;
    lookup_inputs l = make_lookup();
    const hr_node rows = hr_gather(l.table, l.ids, 0),
                  mean = hr_new_node(g, "SegmentMean", HR_INPUTS(rows, l.segments));
    assert_combined(l.feeds, 3, sum_segments(hr_identity(hr_gather(l.table, l.ids, 0)), l.segments));
    assert_combined(l.feeds, 3, mean);
    l.feeds[1].value.shape = HR_SHAPE(0), l.feeds[1].value.count = 0;
    l.feeds[2].value.shape = HR_SHAPE(0), l.feeds[2].value.count = 0;
    assert_combined(l.feeds, 3, mean);
    static const int64_t pairs[6] = {0, 1, 3, 3, 2, 4};
    const hr_node many = hr_placeholder(g, HR_INT64, HR_SHAPE(-1, 2)),
                  none = hr_placeholder(g, HR_INT64, HR_SHAPE(2, 0));
    const hr_feed feeds[2] = {l.feeds[0], {many, hr_tensor_of(HR_INT64, HR_SHAPE(3, 2), pairs)}};
    const hr_feed empty[2] = {l.feeds[0], {none, hr_tensor_of(HR_INT64, HR_SHAPE(2, 0), pairs)}};
    assert_combined(feeds, 2, hr_reduce_sum(hr_gather(l.table, many, 0), .axes = HR_I64(1), .axis_count = 1));
    assert_combined(feeds, 2, hr_reduce_mean(hr_gather(l.table, many, 0), .axes = HR_I64(-2), .axis_count = 1));
    assert_combined(empty, 2, hr_reduce_mean(hr_gather(l.table, none, 0), .axes = HR_I64(1), .axis_count = 1));
    assert_combined(empty, 2, hr_reduce_sum(hr_gather(l.table, none, 0), .axes = HR_I64(1), .axis_count = 1));
}

static void rows_with_weights_are_combined(void **state)
{
    (void)state;
    lookup_inputs l = make_lookup();
    const hr_node column = column_of(l.weights);
    for (int i = 0; i < 3; i++) {
        hr_node y = sum_segments(hr_mul(hr_gather(l.table, l.ids, 0), column), l.segments);
        if (i == 1) y = hr_div_no_nan(y, sum_segments(column, l.segments));
        if (i == 2) y = hr_div_no_nan(y, hr_sqrt(sum_segments(hr_pow(column, number(2)), l.segments)));
        assert_combined(l.feeds, 4, y);
    }
    const hr_node y = sum_segments(hr_mul(column, hr_gather(l.table, l.ids, 0)), l.segments);
    l.feeds[3].value.shape = HR_SHAPE(1), l.feeds[3].value.count = 1; /* one weight for all */
    assert_combined(l.feeds, 4, y);
}

/* As lookups of exported graphs: with how many segments there are, of which the last ones may have no ids. */
static void rows_of_a_number_of_segments_are_combined(void **state)
{
    (void)state;
    static const char *const ops[] = {"SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments",
                                      "SparseSegmentSqrtNWithNumSegments"};
    hr_error err;
    hr_tensor out;
    lookup_inputs l = make_lookup();
    int64_t segments = 6;
    const hr_node count = hr_placeholder(g, HR_INT64, HR_SCALAR);
    hr_feed feeds[4] = {l.feeds[0], l.feeds[1], l.feeds[2], {count, hr_tensor_of(HR_INT64, HR_SCALAR, &segments)}};
    hr_node y[3];
    for (int i = 0; i < 3; i++) {
        const hr_node unique = hr_new_node(g, "Unique", HR_INPUTS(l.ids));
        y[i] = hr_new_node(g, ops[i],
                           HR_INPUTS(hr_gather(l.table, unique, 0), hr_node_output(unique, 1), l.segments, count));
        assert_combined(feeds, 4, y[i]);
    }
    segments = 2; /* the last id is of segment 2 */
    for (int with = 0; with < 2; with++) {
        hr_session *s = hr_session_new(g, .passes = with ? "gather_combine" : "none");
        assert_int_equal(hr_session_run(s, feeds, 4, y, 1, &out, &err), HR_INVALID_ARGUMENT);
        hr_session_free(s);
    }
    segments = 0;
    feeds[1].value.shape = feeds[2].value.shape = HR_SHAPE(0);
    feeds[1].value.count = feeds[2].value.count = 0;
    assert_combined(feeds, 4, y[1]);
}

/* As tf.nn.embedding_lookup_sparse writes it. The variable is read before it changes. */
static void a_lookup_of_unique_ids_reads_where_the_gather_stood(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out[2];
    const int64_t numbers[2][3] = {{1, 1, 0}, {0, 0, 2}};
    hr_node in[2];
    const hr_node v = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(2, 1), .initializer = hr_ones());
    for (int i = 0; i < 2; i++) in[i] = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
    const hr_feed feeds[2] = {{in[0], hr_tensor_of(HR_INT64, HR_SHAPE(3), numbers[0])},
                              {in[1], hr_tensor_of(HR_INT64, HR_SHAPE(3), numbers[1])}};
    const hr_node unique = hr_new_node(g, "Unique", HR_INPUTS(in[0]));
    const hr_node rows = hr_identity(hr_gather(v, unique, 0));
    const hr_node more = hr_const_number(g, HR_FLOAT, 10, NULL);
    const hr_node ten = hr_fill(hr_const_ints(g, (const int64_t[]){2, 1}, 2, NULL), more);
    const hr_node add = hr_new_node(g, "AssignAddVariableOp", HR_INPUTS(v, ten));
    const hr_node late = hr_new_node(g, "SparseSegmentMean", HR_INPUTS(rows, hr_node_output(unique, 1), in[1]));
    const hr_node fetches[2] = {late, hr_target(add)}, init = hr_global_variables_initializer(g);
    assert_int_equal(count_nodes("gather_combine", late, "Headrace>ResourceGatherCombine"), 1);
    assert_int_equal(count_nodes("gather_combine", late, "Unique"), 0);
    hr_session *s = hr_session_new(g, .passes = "gather_combine");
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(hr_session_run(s, feeds, 2, fetches, 2, out, &err), &err);
        const float *means = out[0].data;
        assert_float_equal(means[0], 1 + 10 * turn, 0);
        assert_float_equal(means[1], 0, 0);
        assert_float_equal(means[2], 1 + 10 * turn, 0);
        hr_tensor_clear(&out[0]);
    }
    hr_session_free(s);
}

static void rows_that_others_need_are_gathered(void **state)
{
    (void)state;
    lookup_inputs l = make_lookup();
    const hr_node rows = hr_gather(l.table, l.ids, 0), sum = sum_segments(rows, l.segments);
    const hr_node open = hr_placeholder(g, HR_INT64, HR_UNKNOWN_SHAPE);
    const char *op = "Headrace>GatherCombine", *pass = "gather_combine";
    assert_int_equal(count_nodes(pass, hr_add(hr_reduce_sum(rows), hr_reduce_sum(sum)), op), 0);
    assert_int_equal(count_nodes(pass, sum_segments(hr_gather(l.table, l.ids, 1), l.segments), op), 0);
    assert_int_equal(count_nodes(pass, sum_segments(hr_gather(l.table, open, 0), l.segments), op), 0);
    const hr_node all = hr_gather(l.table, l.ids, 0);
    assert_int_equal(count_nodes(pass, hr_reduce_sum(all, .axes = HR_I64(1), .axis_count = 1), op), 0);
    const hr_node kept =
        hr_reduce_sum(hr_gather(l.table, l.ids, 0), .axes = HR_I64(0), .axis_count = 1, .keep_dims = true);
    assert_int_equal(count_nodes(pass, kept, op), 0);
    const hr_node wide = sum_segments(hr_cast_to(hr_gather(l.table, l.ids, 0), HR_DOUBLE), l.segments);
    assert_int_equal(count_nodes(pass, wide, op), 0);
}

static void a_lookup_refuses_what_its_parts_refuse(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    lookup_inputs l = make_lookup();
    const hr_node y = sum_segments(hr_gather(l.table, l.ids, 0), l.segments);
    const int64_t beyond[5] = {0, 1, 5, 0, 0};
    const int32_t falling[5] = {0, 1, 0, 1, 1};
    for (int with = 0; with < 2; with++) {
        hr_session *s = hr_session_new(g, .passes = with ? "gather_combine" : "none");
        for (int i = 0; i < 3; i++) {
            hr_feed feeds[3] = {l.feeds[0], l.feeds[1], l.feeds[2]};
            if (i == 0) feeds[1].value.data = (void *)beyond;
            if (i == 1) feeds[2].value.data = (void *)falling;
            if (i == 2) feeds[2].value.shape = HR_SHAPE(4), feeds[2].value.count = 4;
            assert_int_equal(hr_session_run(s, feeds, 3, &y, 1, &out, &err), HR_INVALID_ARGUMENT);
        }
        hr_session_free(s);
    }
}

/* ---- cross entropies ---- */

/* To 1e-6 the same with and without the pass, and computed by one node of that op. */
static void assert_entropy(const hr_feed *feeds, int count, hr_node y, const char *op)
{
    hr_error err;
    hr_tensor out[2];
    assert_int_equal(count_nodes("cross_entropy", y, op), 1);
    assert_int_equal(count_nodes("cross_entropy", y, "Log"), 0);
    for (int i = 0; i < 2; i++) {
        hr_session *s = hr_session_new(g, .passes = i ? "cross_entropy" : "none");
        assert_ok(hr_session_run(s, feeds, count, &y, 1, &out[i], &err), &err);
        hr_session_free(s);
    }
    assert_true(hr_shape_equal(out[0].shape, out[1].shape));
    const float *a = out[0].data, *b = out[1].data;
    for (int64_t i = 0; i < out[0].count; i++) assert_true(fabsf(a[i] - b[i]) <= 1e-6f * fmaxf(1, fabsf(a[i])));
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
}

static hr_node one_hot_of(hr_node classes, int64_t depth)
{
    return hr_new_node(g, "OneHot",
                       HR_INPUTS(classes, hr_const_number(g, HR_INT32, (double)depth, NULL), number(1), number(0)));
}

static const float some_logits[12] = {1, -2, 0.5f, 3, 0, 0, 0, 0, -1, 4, 2, -3};
static const float some_labels[12] = {1, 0, 0, 0, 0.25f, 0.25f, 0.25f, 0.25f, 0, 0.5f, 0.5f, 0};

static void entropies_of_softmax_are_one_node(void **state)
{
    (void)state;
    const char *op = "SoftmaxCrossEntropyWithLogits";
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4)), y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4));
    hr_feed feeds[2] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_logits)},
                        {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_labels)}};
    assert_entropy(feeds, 2, hr_neg(sum_of_rows(hr_mul(y, hr_log(hr_softmax(x))))), op);
    assert_entropy(feeds, 2, sum_of_rows(hr_neg(hr_mul(hr_log_softmax(x), y))), op);
    const hr_node p = hr_softmax(x), both = hr_neg(sum_of_rows(hr_mul(y, hr_log(p))));
    assert_entropy(feeds, 2, hr_add(both, hr_reduce_sum(p)), op); /* who else takes the softmax has it */
    feeds[0].value = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4), some_logits);
    assert_entropy(feeds, 2, both, op); /* one row of logits for all labels */
}

/* A class beyond the last one has no loss. */
static void entropies_of_classes_need_no_one_hot(void **state)
{
    (void)state;
    const int64_t classes[3] = {2, 4, -1};
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3, 4)), of = hr_placeholder(g, HR_INT64, HR_SHAPE(3));
    const hr_feed feeds[2] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_logits)},
                              {of, hr_tensor_of(HR_INT64, HR_SHAPE(3), classes)}};
    const hr_node y = hr_neg(sum_of_rows(hr_mul(one_hot_of(of, 4), hr_log(hr_softmax(x)))));
    assert_entropy(feeds, 2, y, "SparseSoftmaxCrossEntropyWithLogits");
    assert_int_equal(count_nodes("cross_entropy", y, "OneHot"), 0);
    const hr_node open = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4));
    const hr_node z = hr_neg(sum_of_rows(hr_mul(one_hot_of(of, 4), hr_log(hr_softmax(open)))));
    assert_int_equal(count_nodes("cross_entropy", z, "OneHot"), 1);
}

static hr_node written_sigmoid(hr_node x, hr_node y)
{
    const hr_node p = hr_sigmoid(x), other = hr_mul(hr_sub(number(1), y), hr_log(hr_sub(number(1), p)));
    return hr_neg(hr_add(hr_mul(y, hr_log(p)), other));
}

static void entropies_of_sigmoid_are_stable(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3, 4)), y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3, 4));
    const hr_node open = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4));
    const hr_feed feeds[2] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_logits)},
                              {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_labels)}};
    const hr_feed one_row[2] = {{open, hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4), some_logits)}, feeds[1]};
    assert_entropy(feeds, 2, written_sigmoid(x, y), "Headrace>SigmoidCrossEntropyWithLogits");
    assert_entropy(one_row, 2, written_sigmoid(open, y), "Log1p");
    const float large[4] = {200, -200, 200, -200}, labels[12] = {1, 0, 0, 1};
    const hr_feed far[2] = {{open, hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4), large)},
                            {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), labels)}};
    const hr_node loss = written_sigmoid(open, y);
    hr_session *s = hr_session_new(g, .passes = "all");
    assert_ok(hr_session_run(s, far, 2, &loss, 1, &out, &err), &err);
    for (int i = 0; i < 4; i++) assert_float_equal(((const float *)out.data)[i], i < 2 ? 0 : 200, 0);
    hr_tensor_clear(&out);
    hr_session_free(s);
}

static void what_is_no_entropy_stays(void **state)
{
    (void)state;
    const char *pass = "cross_entropy", *op = "SoftmaxCrossEntropyWithLogits";
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4)), y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4));
    const hr_node open = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, -1)), log = hr_log(hr_softmax(x));
    const hr_node first = hr_reduce_sum(hr_mul(y, hr_log(hr_softmax(x))), .axes = HR_I64(0), .axis_count = 1);
    assert_int_equal(count_nodes(pass, hr_neg(first), op), 0);
    assert_int_equal(count_nodes(pass, hr_neg(sum_of_rows(hr_mul(open, hr_log(hr_softmax(x))))), op), 0);
    assert_int_equal(count_nodes(pass, hr_neg(sum_of_rows(hr_mul(y, hr_log(hr_softmax(open))))), op), 0);
    assert_int_equal(count_nodes(pass, hr_add(hr_neg(sum_of_rows(hr_mul(y, log))), hr_reduce_sum(log)), op), 0);
    assert_int_equal(count_nodes(pass, sum_of_rows(hr_mul(y, hr_log(hr_softmax(x)))), op), 0);
    const hr_node p = hr_sigmoid(x), q = hr_sigmoid(y);
    const hr_node other = hr_mul(hr_sub(number(1), y), hr_log(hr_sub(number(1), q)));
    assert_int_equal(count_nodes(pass, hr_neg(hr_add(hr_mul(y, hr_log(p)), other)), "Log"), 2);
    const hr_node one =
        hr_new_node(g, "Reshape", HR_INPUTS(number(1), hr_const_ints(g, (int64_t[]){1, 1, 1}, 3, NULL)));
    const hr_node high = hr_mul(hr_sub(one, y), hr_log(hr_sub(one, p)));
    assert_int_equal(count_nodes("fold,cross_entropy", hr_neg(hr_add(hr_mul(y, hr_log(p)), high)), "Log"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_GRAPH(layers_become_one_node),
        ON_A_GRAPH(a_layer_without_inputs_is_its_bias),
        ON_A_GRAPH(a_layer_whose_parts_others_need_stays),
        ON_A_GRAPH(an_error_of_a_layer_names_its_line),
        ON_A_GRAPH(fused_nodes_of_files_say_what_they_fuse),
        ON_A_GRAPH(rows_that_are_combined_are_not_gathered),
        ON_A_GRAPH(rows_of_a_number_of_segments_are_combined),
        ON_A_GRAPH(rows_with_weights_are_combined),
        ON_A_GRAPH(a_lookup_of_unique_ids_reads_where_the_gather_stood),
        ON_A_GRAPH(rows_that_others_need_are_gathered),
        ON_A_GRAPH(a_lookup_refuses_what_its_parts_refuse),
        ON_A_GRAPH(entropies_of_softmax_are_one_node),
        ON_A_GRAPH(entropies_of_classes_need_no_one_hot),
        ON_A_GRAPH(entropies_of_sigmoid_are_stable),
        ON_A_GRAPH(what_is_no_entropy_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
