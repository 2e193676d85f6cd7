/* Constructors of nodes: what each gives, as TensorFlow 2.15 computes it, and what it refuses. */
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/nn.h>
#include <math.h>

static hr_graph *g;
static hr_session *s;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    s = hr_session_new(g, .workers = &(int){0});
    return g && s ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    return 0;
}

static hr_tensor value_of(hr_node node)
{
    hr_error err;
    hr_tensor out = {0};
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    return out;
}

/* The node has this type and shape and about these values. */
static void gives(hr_node node, hr_dtype dtype, hr_shape shape, const double *expected, size_t count)
{
    assert_int_equal(hr_node_dtype(node), dtype);
    assert_int_equal(hr_shape_count(shape), count);
    hr_tensor out = value_of(hr_cast_to(node, HR_DOUBLE));
    assert_shape(out.shape, shape);
    const double *got = out.data;
    for (size_t i = 0; i < count; i++)
        if (got[i] != expected[i] && !(fabs(got[i] - expected[i]) <= 2e-6 * fmax(1, fabs(expected[i]))))
            fail_msg("%s: expected %.9g as value %zu, found %.9g", hr_node_name(node), expected[i], i, got[i]);
    hr_tensor_clear(&out);
}
#define GIVES(node, dtype, shape, ...)                                                                                 \
    gives(node, dtype, shape, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
#define FLOATS(node, shape, ...) GIVES(node, HR_FLOAT, shape, __VA_ARGS__)
#define INTS(node, shape, ...) GIVES(node, HR_INT32, shape, __VA_ARGS__)

static hr_node of(hr_dtype dtype, hr_shape shape, const double *values)
{
    const hr_tensor t = hr_tensor_of(HR_DOUBLE, shape, values);
    return hr_cast_to(hr_const(g, &t), dtype);
}
#define OF(dtype, shape, ...) of(dtype, shape, (const double[]){__VA_ARGS__})
#define VECTOR(count, ...) OF(HR_FLOAT, HR_SHAPE(count), __VA_ARGS__)

static hr_node matrix(void) { return OF(HR_FLOAT, HR_SHAPE(2, 3), 3, 1, 1, -1, 5, -1); }
static hr_node halves(void) { return VECTOR(3, .5, -.25, .75); }
static hr_node cube(void) { return OF(HR_FLOAT, HR_SHAPE(2, 2, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11); }
static hr_node ints(int count, const int64_t *values) { return hr_ints(g, values, count); }
#define IDS(count, ...) ints(count, HR_I64(__VA_ARGS__))

static void arithmetic_is_tensorflows(void **state)
{
    (void)state;
    const hr_node h = halves(), i = IDS(3, 5, -3, 4);
    const hr_shape three = HR_SHAPE(3);
    FLOATS(hr_tan(h), three, 0.546302497, -0.255341917, 0.931596458);
    FLOATS(hr_asin(h), three, 0.52359879, -0.252680242, 0.848062098);
    FLOATS(hr_acos(h), three, 1.04719758, 1.82347655, 0.722734272);
    FLOATS(hr_atan(h), three, 0.463647604, -0.244978666, 0.643501103);
    FLOATS(hr_sinh(h), three, 0.521095276, -0.252612323, 0.822316706);
    FLOATS(hr_cosh(h), three, 1.12762594, 1.03141308, 1.29468334);
    FLOATS(hr_asinh(h), three, 0.481211841, -0.247466475, 0.693147182);
    FLOATS(hr_acosh(VECTOR(3, 1.5, 1.25, 1.75)), three, 0.962423682, 0.693147182, 1.15881038);
    FLOATS(hr_atanh(h), three, 0.549306154, -0.255412817, 0.972955108);
    FLOATS(hr_atan2(h, VECTOR(3, -1, 2, 3)), three, 2.67794514, -0.124354996, 0.244978666);
    FLOATS(hr_log_sigmoid(h), three, -0.474076986, -0.825939417, -0.38687101);
    FLOATS(hr_rint(h), three, 0, 0, 1);
    FLOATS(hr_leaky_relu(h), three, .5, -.05, .75);
    FLOATS(hr_leaky_relu(h, .alpha = &(float){.5f}), three, .5, -.125, .75);
    INTS(hr_truncate_mod(i, IDS(3, 3, 2, -3)), three, 2, -1, 1);
    FLOATS(hr_xdivy(VECTOR(2, 0, 1), VECTOR(2, 0, 4)), HR_SHAPE(2), 0, .25);
    FLOATS(hr_xlogy(VECTOR(2, 0, 2), VECTOR(2, 0, 4)), HR_SHAPE(2), 0, 2.77258873);
    const hr_node yes = OF(HR_BOOL, HR_SHAPE(3), 1, 1, 0), no = OF(HR_BOOL, HR_SHAPE(3), 1, 0, 0);
    GIVES(hr_logical_xor(yes, no), HR_BOOL, three, 0, 1, 0);
    FLOATS(hr_clip_by_value(matrix(), hr_scalar(g, HR_FLOAT, -.5), hr_scalar(g, HR_FLOAT, 2)), HR_SHAPE(2, 3), 2, 1, 1,
           -.5, 2, -.5);
}

static void matrices_of_more_dimensions_are_multiplied(void **state)
{
    (void)state;
    FLOATS(hr_matmul(cube(), matrix(), .transpose_b = true), HR_SHAPE(2, 2, 2), 3, 3, 18, 12, 33, 21, 48, 30);
    FLOATS(hr_matmul(cube(), cube(), .transpose_a = true), HR_SHAPE(2, 3, 3), 9, 12, 15, 12, 17, 22, 15, 22, 29, 117,
           132, 147, 132, 149, 166, 147, 166, 185);
    assert_string_equal(hr_node_op(hr_matmul(matrix(), matrix(), .transpose_b = true)), "MatMul");
}

static void reductions_are_tensorflows(void **state)
{
    (void)state;
    const hr_node x = matrix();
    const int64_t *columns = HR_I64(1), *rows = HR_I64(0);
    FLOATS(hr_reduce_euclidean_norm(x), HR_SCALAR, 6.16441393);
    FLOATS(hr_reduce_logsumexp(x), HR_SCALAR, 5.16290426);
    FLOATS(hr_reduce_logsumexp(x, .axes = columns, .axis_count = 1), HR_SHAPE(2), 3.23954487, 5.00494528);
    FLOATS(hr_reduce_logsumexp(x, .axes = rows, .axis_count = 1, .keep_dims = true), HR_SHAPE(1, 3), 3.01814985,
           5.01814985, 1.12692809);
    FLOATS(hr_reduce_logsumexp(VECTOR(2, -INFINITY, -INFINITY)), HR_SCALAR, -INFINITY);
    FLOATS(hr_reduce_variance(x), HR_SCALAR, 4.55555582);
    FLOATS(hr_reduce_variance(x, .axes = columns, .axis_count = 1), HR_SHAPE(2), .888888896, 8);
    FLOATS(hr_reduce_std(x, .axes = rows, .axis_count = 1, .keep_dims = true), HR_SHAPE(1, 3), 2, 2, 1);
    GIVES(hr_count_nonzero(x, .axes = columns, .axis_count = 1), HR_INT64, HR_SHAPE(2), 3, 3);
    const hr_node variable = hr_get_variable(g, "v", HR_FLOAT, HR_SHAPE(2), .initializer = hr_ones());
    assert_int_equal(hr_node_dtype(hr_reduce_std(variable)), HR_FLOAT);
}

static void values_are_counted_up_and_repeated(void **state)
{
    (void)state;
    const hr_node one = hr_scalar(g, HR_FLOAT, 1), two = hr_scalar(g, HR_FLOAT, 2), three = hr_scalar(g, HR_FLOAT, 3);
    FLOATS(hr_range_values(one, three, hr_scalar(g, HR_FLOAT, .75)), HR_SHAPE(3), 1, 1.75, 2.5);
    FLOATS(hr_linspace(one, two, 4), HR_SHAPE(4), 1, 1.33333337, 1.66666675, 2);
    FLOATS(hr_linspace(one, two, 2), HR_SHAPE(2), 1, 2);
    FLOATS(hr_linspace(one, two, 1), HR_SHAPE(1), 1);
    FLOATS(hr_eye_matrix(g, HR_FLOAT, 2, 3), HR_SHAPE(2, 3), 1, 0, 0, 0, 1, 0);
    hr_node grid[2];
    hr_meshgrid((const hr_node[]){IDS(3, 1, 2, 3), IDS(2, 4, 5)}, 2, false, grid);
    INTS(grid[0], HR_SHAPE(2, 3), 1, 2, 3, 1, 2, 3);
    INTS(grid[1], HR_SHAPE(2, 3), 4, 4, 4, 5, 5, 5);
    hr_meshgrid((const hr_node[]){IDS(3, 1, 2, 3), IDS(2, 4, 5)}, 2, true, grid);
    INTS(grid[0], HR_SHAPE(3, 2), 1, 1, 2, 2, 3, 3);
    INTS(grid[1], HR_SHAPE(3, 2), 4, 5, 4, 5, 4, 5);
    INTS(hr_one_hot(IDS(3, 1, 0, -1), 3, .axis = &(int){0}, .on = hr_scalar(g, HR_INT32, 5),
                    .off = hr_scalar(g, HR_INT32, -1)),
         HR_SHAPE(3, 3), -1, 5, -1, 5, -1, -1, -1, -1, -1);
    GIVES(hr_sequence_mask(IDS(3, 1, 3, 0)), HR_BOOL, HR_SHAPE(3, 3), 1, 0, 0, 1, 1, 1, 0, 0, 0);
    FLOATS(hr_sequence_mask(IDS(2, 1, 3), .max_length = HR_I64(2), .dtype = HR_FLOAT), HR_SHAPE(2, 2), 1, 0, 1, 1);
    const hr_node square = hr_reshape(IDS(4, 1, 2, 3, 4), IDS(2, 2, 2)), times = hr_scalar(g, HR_INT32, 2);
    INTS(hr_repeat_values(square, IDS(2, 1, 2), 0), HR_SHAPE(3, 2), 1, 2, 3, 4, 3, 4);
    INTS(hr_repeat_values(square, times, -1), HR_SHAPE(2, 4), 1, 1, 2, 2, 3, 3, 4, 4);
    INTS(hr_broadcast_shapes(IDS(2, 3, 1), IDS(1, 4)), HR_SHAPE(2), 3, 4);
    INTS(hr_node_output(hr_shape_n((const hr_node[]){one, matrix()}, 2), 1), HR_SHAPE(2), 2, 3);
}

static void pieces_are_put_together_and_taken_apart(void **state)
{
    (void)state;
    const hr_node x = matrix(), h = halves();
    FLOATS(hr_stack((const hr_node[]){h, hr_add(h, h)}, 2, 1), HR_SHAPE(3, 2), .5, 1, -.25, -.5, .75, 1.5);
    FLOATS(hr_node_output(hr_unstack(x, 3, 1), 1), HR_SHAPE(2), 1, 5);
    FLOATS(hr_node_output(hr_unstack(x, 0, -1), 2), HR_SHAPE(2), 1, -1);
    FLOATS(hr_node_output(hr_split(x, 3, 1), 2), HR_SHAPE(2, 1), 1, -1);
    FLOATS(hr_node_output(hr_split_sizes(x, HR_I64(1, -1), 2, 1), 1), HR_SHAPE(2, 2), 1, 1, 5, -1);
    const hr_node around = hr_reshape(IDS(4, 1, 0, 0, 2), IDS(2, 2, 2));
    FLOATS(hr_pad(x, around), HR_SHAPE(3, 5), 0, 0, 0, 0, 0, 3, 1, 1, 0, 0, -1, 5, -1, 0, 0);
    FLOATS(hr_pad(x, around, .value = hr_scalar(g, HR_FLOAT, 7)), HR_SHAPE(3, 5), 7, 7, 7, 7, 7, 3, 1, 1, 7, 7, -1, 5,
           -1, 7, 7);
    FLOATS(hr_pad(x, around, .mode = HR_PAD_REFLECT), HR_SHAPE(3, 5), -1, 5, -1, 5, -1, 3, 1, 1, 1, 3, -1, 5, -1, 5,
           -1);
    FLOATS(hr_pad(x, around, .mode = HR_PAD_SYMMETRIC), HR_SHAPE(3, 5), 3, 1, 1, 1, 1, 3, 1, 1, 1, 1, -1, 5, -1, -1, 5);
}

static void values_are_taken_and_changed_by_index(void **state)
{
    (void)state;
    const hr_node x = matrix(), h = halves();
    const hr_node mask = OF(HR_BOOL, HR_SHAPE(2, 3), 1, 0, 1, 0, 1, 0);
    FLOATS(hr_boolean_mask(x, mask, 0), HR_SHAPE(3), 3, 1, 5);
    FLOATS(hr_boolean_mask(x, OF(HR_BOOL, HR_SHAPE(3), 1, 0, 1), 1), HR_SHAPE(2, 2), 3, 1, -1, -1);
    FLOATS(hr_boolean_mask(cube(), mask, -2), HR_SHAPE(2, 3), 0, 2, 4, 6, 8, 10);
    GIVES(hr_where_true(hr_greater(x, hr_zeros_like(x))), HR_INT64, HR_SHAPE(4, 2), 0, 0, 0, 1, 0, 2, 1, 1);
    FLOATS(hr_gather_nd(x, hr_reshape(IDS(4, 1, 1, 0, 0), IDS(2, 2, 2))), HR_SHAPE(2), 5, 3);
    const hr_node at = hr_reshape(IDS(2, 1, 2), IDS(2, 2, 1)), by = VECTOR(2, -2, 4);
    FLOATS(hr_scatter_nd(hr_reshape(IDS(3, 1, 1, 3), IDS(2, 3, 1)), VECTOR(3, 1, 2, 3), IDS(1, 4)), HR_SHAPE(4), 0, 3,
           0, 3);
    FLOATS(hr_tensor_scatter_update(h, at, by), HR_SHAPE(3), .5, -2, 4);
    FLOATS(hr_tensor_scatter_add(h, at, by), HR_SHAPE(3), .5, -2.25, 4.75);
    FLOATS(hr_tensor_scatter_sub(h, at, by), HR_SHAPE(3), .5, 1.75, -3.25);
    FLOATS(hr_tensor_scatter_max(h, at, by), HR_SHAPE(3), .5, -.25, 4);
    FLOATS(hr_tensor_scatter_min(h, at, by), HR_SHAPE(3), .5, -2, .75);
    const hr_node parts = hr_dynamic_partition(h, IDS(3, 1, 0, 1), 2);
    FLOATS(parts, HR_SHAPE(1), -.25);
    FLOATS(hr_node_output(parts, 1), HR_SHAPE(2), .5, .75);
    FLOATS(hr_dynamic_stitch((const hr_node[]){IDS(2, 0, 2), IDS(1, 1)},
                             (const hr_node[]){VECTOR(2, 1, 2), VECTOR(1, 3)}, 2),
           HR_SHAPE(3), 1, 3, 2);
}

/* Row 1 of a variable, or two of its values, are changed; the rest stays. */
static void parts_of_variables_are_changed(void **state)
{
    (void)state;
    static const float begin[] = {3, 1, 1, -1, 5, -1};
    const hr_tensor first = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), begin);
    const hr_node v = hr_get_variable(g, "v", HR_FLOAT, HR_SHAPE(2, 3), .initializer = hr_initial_value(&first));
    const hr_node row = IDS(1, 1), by = OF(HR_FLOAT, HR_SHAPE(1, 3), 2, -4, 8);
    const hr_node two = hr_reshape(IDS(4, 1, 1, 0, 2), IDS(2, 2, 2)), values = VECTOR(2, 2, -4);
    const struct {
        hr_node change;
        double after[6];
    } tried[] = {
        {hr_scatter_update(v, row, by), {3, 1, 1, 2, -4, 8}},
        {hr_scatter_add(v, row, by), {3, 1, 1, 1, 1, 7}},
        {hr_scatter_sub(v, row, by), {3, 1, 1, -3, 9, -9}},
        {hr_scatter_mul(v, row, by), {3, 1, 1, -2, -20, -8}},
        {hr_scatter_max(v, row, by), {3, 1, 1, 2, 5, 8}},
        {hr_scatter_div(v, row, by), {3, 1, 1, -.5, -1.25, -.125}},
        {hr_scatter_min(v, row, by), {3, 1, 1, -1, -4, -1}},
        {hr_scatter_nd_update(v, two, values), {3, 1, -4, -1, 2, -1}},
        {hr_scatter_nd_add(v, two, values), {3, 1, -3, -1, 7, -1}},
        {hr_scatter_nd_sub(v, two, values), {3, 1, 5, -1, 3, -1}},
        {hr_scatter_nd_max(v, two, values), {3, 1, 1, -1, 5, -1}},
        {hr_scatter_nd_min(v, two, values), {3, 1, -4, -1, 2, -1}},
    };
    const hr_node init = hr_variable_of(v)->initializer;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        hr_error err;
        assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
        assert_ok(hr_session_run(s, NULL, 0, &tried[i].change, 1, NULL, &err), &err);
        gives(hr_identity(hr_node_value(v)), HR_FLOAT, HR_SHAPE(2, 3), tried[i].after, 6);
    }
    FLOATS(hr_gather_nd(v, hr_reshape(IDS(2, 1, 1), IDS(2, 1, 2))), HR_SHAPE(1), 2);
}

static void segments_are_put_together(void **state)
{
    (void)state;
    const hr_node d = OF(HR_FLOAT, HR_SHAPE(4, 2), 1, 2, 3, 4, 5, 6, -7, 8), ids = IDS(4, 0, 0, 2, 2);
    const hr_node mixed = IDS(4, 1, -1, 0, 1), count = hr_scalar(g, HR_INT32, 2);
    const hr_shape two = HR_SHAPE(2, 2), three = HR_SHAPE(3, 2);
    FLOATS(hr_segment_sum(d, ids), three, 4, 6, 0, 0, -2, 14);
    FLOATS(hr_segment_mean(d, ids), three, 2, 3, 0, 0, -1, 7);
    FLOATS(hr_segment_prod(d, ids), three, 3, 8, 1, 1, -35, 48);
    FLOATS(hr_segment_max(d, ids), three, 3, 4, 0, 0, 5, 8);
    FLOATS(hr_segment_min(d, ids), three, 1, 2, 0, 0, -7, 6);
    FLOATS(hr_unsorted_segment_sum(d, mixed, count), two, 5, 6, -6, 10);
    FLOATS(hr_unsorted_segment_prod(d, mixed, count), two, 5, 6, -7, 16);
    FLOATS(hr_unsorted_segment_max(d, mixed, count), two, 5, 6, 1, 8);
    FLOATS(hr_unsorted_segment_min(d, mixed, count), two, 5, 6, -7, 2);
    FLOATS(hr_unsorted_segment_mean(d, mixed, count), two, 5, 6, -3, 5);
    FLOATS(hr_unsorted_segment_sqrt_n(d, mixed, count), two, 5, 6, -4.24264097, 7.07106781);
    const hr_node rows = IDS(3, 3, 0, 1), of_rows = IDS(3, 0, 0, 1), more = hr_scalar(g, HR_INT32, 3);
    FLOATS(hr_sparse_segment_sum(d, rows, of_rows), two, -6, 10, 3, 4);
    FLOATS(hr_sparse_segment_mean(d, rows, of_rows, .num_segments = more), three, -3, 5, 3, 4, 0, 0);
    FLOATS(hr_sparse_segment_sqrt_n(d, rows, of_rows), two, -4.2426405, 7.07106781, 3, 4);
}

static void values_are_put_in_order(void **state)
{
    (void)state;
    const hr_node x = matrix();
    const hr_shape shape = HR_SHAPE(2, 3);
    FLOATS(hr_reverse(x, IDS(1, 1)), shape, 1, 1, 3, -1, 5, -1);
    FLOATS(hr_roll(x, IDS(1, 1), IDS(1, 1)), shape, 1, 3, 1, -1, -1, 5);
    INTS(hr_invert_permutation(IDS(3, 2, 0, 1)), HR_SHAPE(3), 1, 2, 0);
    FLOATS(hr_reverse_sequence(x, IDS(2, 2, 3), 1, 0), shape, 1, 3, 1, -1, 5, -1);
    FLOATS(hr_cumsum(x, 1), shape, 3, 4, 5, -1, 4, 3);
    FLOATS(hr_cumsum(x, 1, .exclusive = true, .reverse = true), shape, 2, 1, 0, 4, -1, 0);
    FLOATS(hr_cumprod(x, 0), shape, 3, 1, 1, -3, 5, -1);
    FLOATS(hr_cumprod(x, 0, .exclusive = true), shape, 1, 1, 1, 3, 1, 1);
    FLOATS(hr_top_k(x, 2), HR_SHAPE(2, 2), 3, 1, 5, -1);
    INTS(hr_node_output(hr_top_k(x, 2), 1), HR_SHAPE(2, 2), 0, 1, 1, 0);
    GIVES(hr_in_top_k(x, IDS(2, 1, 1), 1), HR_BOOL, HR_SHAPE(2), 0, 1);
    FLOATS(hr_sort(x), shape, 1, 1, 3, -1, -1, 5);
    FLOATS(hr_sort(x, .axis = &(int){0}, .descending = true), shape, 3, 5, 1, -1, 1, -1);
    INTS(hr_argsort(x), shape, 1, 2, 0, 0, 2, 1);
    INTS(hr_argsort(x, .axis = &(int){-2}), shape, 1, 0, 1, 0, 1, 0);
    INTS(hr_argsort(x, .descending = true), shape, 0, 1, 2, 1, 0, 2);
    INTS(hr_sort(IDS(4, 5, INT32_MIN, INT32_MAX, 0)), HR_SHAPE(4), INT32_MIN, 0, 5, INT32_MAX);
    GIVES(hr_sort(OF(HR_UINT8, HR_SHAPE(3), 5, 255, 0)), HR_UINT8, HR_SHAPE(3), 0, 5, 255);
}

static void values_are_told_apart(void **state)
{
    (void)state;
    const hr_node x = IDS(4, 7, 8, 7, 9), y = hr_unique_with_counts(x),
                  left = hr_list_diff(IDS(4, 1, 2, 3, 4), IDS(2, 3, 1));
    INTS(hr_unique_values(x), HR_SHAPE(3), 7, 8, 9);
    INTS(hr_node_output(hr_unique_values(x), 1), HR_SHAPE(4), 0, 1, 0, 2);
    INTS(hr_node_output(y, 2), HR_SHAPE(3), 2, 1, 1);
    INTS(left, HR_SHAPE(2), 2, 4);
    INTS(hr_node_output(left, 1), HR_SHAPE(2), 1, 3);
    const hr_node n = IDS(4, 1, 3, 1, 0), empty = hr_cast_to(VECTOR(0, 0), HR_INT32);
    INTS(hr_bincount(n), HR_SHAPE(4), 1, 2, 0, 1);
    FLOATS(hr_bincount(n, .weights = VECTOR(4, .5, 1, 2, 4), .min_length = 5), HR_SHAPE(5), 4, 2.5, 0, 1, 0);
    INTS(hr_bincount(n, .max_length = 2), HR_SHAPE(2), 1, 2);
    INTS(hr_bincount(empty, .min_length = 2), HR_SHAPE(2), 0, 0);
    const hr_node labels = IDS(3, 0, 2, 1), guesses = IDS(3, 1, 2, 1);
    INTS(hr_confusion_matrix(labels, guesses, 3), HR_SHAPE(3, 3), 0, 1, 0, 0, 1, 0, 0, 0, 1);
    FLOATS(hr_confusion_matrix(labels, guesses, 3, .weights = VECTOR(3, .5, 1, 2)), HR_SHAPE(3, 3), 0, .5, 0, 0, 2, 0,
           0, 0, 1);
    INTS(hr_bucketize_values(halves(), (const float[]){0, .5f}, 2), HR_SHAPE(3), 2, 0, 2);
}

/* With the seeds of graph and op the numbers are TensorFlow's. */
static void random_values_are_tensorflows(void **state)
{
    (void)state;
    const hr_node three = IDS(1, 3), seeds = IDS(2, 1, 2), low = hr_scalar(g, HR_FLOAT, -1);
    const hr_node one = hr_scalar(g, HR_FLOAT, 1), two = hr_scalar(g, HR_FLOAT, 2);
    const hr_node five = hr_scalar(g, HR_INT32, 5), fifty = hr_scalar(g, HR_INT32, 50);
    const hr_node logits = OF(HR_FLOAT, HR_SHAPE(1, 3), 0, 1, 2);
    hr_set_random_seed(g, 7);
    FLOATS(hr_uniform_between(three, low, two, 3), HR_SHAPE(3), 0.20326364, 0.130516768, -0.0721216202);
    INTS(hr_uniform_between(three, five, fifty, 3), HR_SHAPE(3), 8, 8, 40);
    FLOATS(hr_normal_around(three, one, two, 3), HR_SHAPE(3), 2.88940763, -0.933581352, 2.61034346);
    FLOATS(hr_truncated_normal_around(three, one, two, 3), HR_SHAPE(3), 2.88940763, -0.933581352, 2.61034346);
    INTS(hr_random_shuffle(IDS(5, 1, 2, 3, 4, 5), 3), HR_SHAPE(5), 4, 1, 5, 2, 3);
    GIVES(hr_categorical(logits, 5, 3), HR_INT64, HR_SHAPE(1, 5), 1, 2, 2, 0, 2);
    FLOATS(hr_stateless_uniform_values(three, seeds, HR_FLOAT), HR_SHAPE(3), 0.844060421, 0.192045331, 0.996223211);
    FLOATS(hr_stateless_uniform_between(three, seeds, low, two), HR_SHAPE(3), 1.53218126, -0.423864007, 1.98866963);
    INTS(hr_stateless_uniform_between(three, seeds, five, fifty), HR_SHAPE(3), 15, 34, 14);
    FLOATS(hr_stateless_normal_values(three, seeds, HR_FLOAT), HR_SHAPE(3), 0.544110119, 0.20738031, 0.0735643208);
    FLOATS(hr_stateless_truncated_normal_values(three, seeds, HR_FLOAT), HR_SHAPE(3), 0.544110119, 0.20738031,
           0.0735643208);
    GIVES(hr_stateless_categorical(logits, 4, seeds), HR_INT64, HR_SHAPE(1, 4), 2, 2, 1, 2);
}

static void fails_to_run(hr_node node, const char *text)
{
    hr_error err;
    hr_tensor out = {0};
    const hr_node run = hr_node_outputs(node) ? node : hr_target(node);
    assert_status(hr_session_run(s, NULL, 0, &run, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.assert");
    assert_non_null(strstr(err.text, text));
}

static void runs_are_watched(void **state)
{
    (void)state;
    const hr_node x = matrix(), no = OF(HR_BOOL, HR_SCALAR, 0);
    fails_to_run(hr_assert(no, &x, 1, .summarize = 2), "3 1");
    fails_to_run(hr_check_numerics(VECTOR(1, NAN), "x"), "x : Tensor had NaN");
    FLOATS(hr_check_numerics(halves(), NULL), HR_SHAPE(3), .5, -.25, .75);
    FLOATS(hr_print(halves(), &x, 1, .message = "x", .first_n = 1), HR_SHAPE(3), .5, -.25, .75);
    FLOATS(hr_node_output(hr_identity_n((const hr_node[]){x, halves()}, 2), 1), HR_SHAPE(3), .5, -.25, .75);
    FLOATS(hr_placeholder_with_default(halves(), HR_SHAPE(-1)), HR_SHAPE(3), .5, -.25, .75);
}

/* ---- what is refused ---- */

#define UNARY(fn)                                                                                                      \
    static hr_node call_##fn(hr_node x) { return fn(x); }
#define BINARY(fn)                                                                                                     \
    static hr_node call_##fn(hr_node x) { return fn(x, matrix()); }
#define TERNARY(fn)                                                                                                    \
    static hr_node call_##fn(hr_node x) { return fn(matrix(), x, matrix()); }
#define CALLS(_1, _2, _3)                                                                                              \
    _1(hr_tan)                                                                                                         \
    _1(hr_log_sigmoid)                                                                                                 \
    _1(hr_leaky_relu)                                                                                                  \
    _1(hr_reduce_logsumexp)                                                                                            \
    _1(hr_reduce_variance) _1(hr_reduce_std) _1(hr_count_nonzero) _1(hr_sequence_mask) _1(hr_where_true)               \
        _1(hr_invert_permutation) _1(hr_sort) _1(hr_argsort) _1(hr_unique_values) _1(hr_unique_with_counts)            \
            _2(hr_atan2) _2(hr_logical_xor) _2(hr_matmul) _2(hr_gather_nd) _2(hr_segment_sum) _2(hr_reverse)           \
                _2(hr_list_diff) _2(hr_pad) _3(hr_clip_by_value) _3(hr_range_values) _3(hr_scatter_nd)                 \
                    _3(hr_tensor_scatter_add) _3(hr_scatter_add) _3(hr_scatter_nd_add) _3(hr_unsorted_segment_sum)     \
                        _3(hr_unsorted_segment_mean) _3(hr_sparse_segment_sum) _3(hr_roll)
CALLS(UNARY, BINARY, TERNARY)
#define PLAIN(name, call)                                                                                              \
    static hr_node call_##name(hr_node x) { return call; }
#define PLAIN_CALLS(_)                                                                                                 \
    _(linspace, hr_linspace(x, matrix(), 2))                                                                           \
    _(linspace_to, hr_linspace(matrix(), x, 2))                                                                        \
    _(one_hot, hr_one_hot(x, 2))                                                                                       \
    _(stack, hr_stack(&x, 1, 0))                                                                                       \
    _(bincount, hr_bincount(x)) _(confusion, hr_confusion_matrix(x, matrix(), 2))                                      \
        _(repeats, hr_repeat_values(x, x, 0)) _(unstack, hr_unstack(x, 0, 0)) _(split, hr_split(x, 2, 0))              \
            _(split_sizes, hr_split_sizes(x, HR_I64(1, 2), 2, 0)) _(mask, hr_boolean_mask(x, matrix(), 0))             \
                _(mask_by, hr_boolean_mask(matrix(), x, 0)) _(partition, hr_dynamic_partition(x, matrix(), 2)) _(      \
                    stitch, hr_dynamic_stitch(&x, &x, 1)) _(cumsum, hr_cumsum(x, 0)) _(cumprod, hr_cumprod(x, 0))      \
                    _(top_k, hr_top_k(x, 1)) _(in_top_k, hr_in_top_k(matrix(), x, 1)) _(                               \
                        buckets, hr_bucketize_values(x, NULL, 1)) _(backwards, hr_reverse_sequence(x, matrix(), 0, 1)) \
                        _(uniform, hr_uniform_between(x, matrix(), matrix(), 1))                                       \
                            _(uniform_from, hr_uniform_between(matrix(), x, matrix(), 1))                              \
                                _(normal, hr_normal_around(matrix(), x, x, 1)) _(shuffle, hr_random_shuffle(x, 1))     \
                                    _(classes, hr_categorical(x, 1, 1)) _(stateless,                                   \
                                                                          hr_stateless_uniform_values(x, x, HR_FLOAT)) \
                                        _(condition, hr_assert(x, NULL, 0))                                            \
                                            _(stateless_from, hr_stateless_uniform_between(matrix(), matrix(), x, x))  \
                                                _(print, hr_print(x, NULL, 0))                                         \
                                                    _(stateless_classes, hr_stateless_categorical(x, 1, x))            \
                                                        _(check, hr_check_numerics(x, NULL))                           \
                                                            _(otherwise, hr_placeholder_with_default(x, HR_SCALAR))    \
                                                                _(all, hr_identity_n(&x, 1))                           \
                                                                    _(shapes, hr_shape_n(&x, 1))
PLAIN_CALLS(PLAIN)

/* No node gives none, and a node that failed, or of another graph, a failed one. */
static void what_is_no_node_gives_none(void **state)
{
    (void)state;
    static hr_node (*const calls[])(hr_node x) = {
#define NAME(fn) call_##fn,
#define PLAIN_NAME(name, call) call_##name,
        CALLS(NAME, NAME, NAME) PLAIN_CALLS(PLAIN_NAME)};
    hr_graph *other = hr_graph_new();
    const hr_node bad[] = {{0}, hr_failed_node(g), {g, 1 << 30, 0}, {g, 0, 1 << 30}, hr_scalar(other, HR_STRING, 0)};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (size_t j = 0; j < sizeof bad / sizeof *bad; j++)
            if (hr_node_exists(calls[i](bad[j]))) fail_msg("call %zu made a node of bad input %zu", i, j);
    hr_graph_free(other);
}

static hr_node list_of_none(void) { return hr_stack(NULL, 2, 0); }
static hr_node list_of_fewer(void) { return hr_identity_n(&(hr_node){g, 0, 0}, -1); }
static hr_node data_of_null(void) { return hr_print(matrix(), NULL, 2); }
static hr_node data_of_many(void) { return hr_assert(OF(HR_BOOL, HR_SCALAR, 1), &(hr_node){0}, INT32_MAX); }
static hr_node pairs_of_null(void) { return hr_dynamic_stitch(&(hr_node){g, 0, 0}, NULL, 1); }
static hr_node sizes_of_null(void) { return hr_split_sizes(matrix(), NULL, 2, 1); }
static hr_node buckets_of_null(void) { return hr_bucketize_values(matrix(), NULL, 2); }
static hr_node no_distances(void) { return hr_linspace(hr_scalar(g, HR_FLOAT, 0), hr_scalar(g, HR_FLOAT, 1), 0); }
static hr_node no_mode(void) { return hr_pad(matrix(), matrix(), .mode = (hr_pad_mode)9); }
static hr_node fewer_classes(void) { return hr_confusion_matrix(matrix(), matrix(), 0); }
static hr_node rows_below_zero(void) { return hr_eye_matrix(g, HR_FLOAT, -1, 2); }
static hr_node sorted_beyond(void) { return hr_sort(matrix(), .axis = &(int){2}); }
static hr_node sorted_unknown(void)
{
    return hr_argsort(hr_placeholder(g, HR_FLOAT, HR_UNKNOWN_SHAPE), .axis = &(int){0});
}
static hr_node unstacked_unknown(void) { return hr_unstack(hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1)), 0, 0); }
static hr_node unstacked_beyond(void) { return hr_unstack(matrix(), 0, 2); }
static hr_node unstacked_far_below(void)
{
    return hr_unstack(hr_placeholder(g, HR_FLOAT, HR_UNKNOWN_SHAPE), 0, INT32_MIN);
}
static hr_node split_unevenly(void) { return hr_split(matrix(), 2, 1); }
static hr_node masked_elsewhere(void) { return hr_boolean_mask(matrix(), OF(HR_BOOL, HR_SHAPE(2), 1, 0), 1); }
static hr_node masked_by_scalar(void) { return hr_boolean_mask(matrix(), OF(HR_BOOL, HR_SCALAR, 1), 0); }
static hr_node masked_below(void) { return hr_boolean_mask(matrix(), OF(HR_BOOL, HR_SHAPE(2), 1, 0), -3); }
static hr_node masked_far_beyond(void) { return hr_boolean_mask(matrix(), OF(HR_BOOL, HR_SHAPE(2), 1, 0), INT32_MAX); }
static hr_node place_far_beyond(void) { return hr_strided_slice(matrix(), {.at = HR_I64(INT64_MAX)}); }
static hr_node tangent_of_ints(void) { return hr_tan(IDS(1, 1)); }
static hr_node grid_of_many(void)
{
    hr_node xs[HR_MAX_RANK + 1], out[HR_MAX_RANK + 1];
    for (int i = 0; i <= HR_MAX_RANK; i++) xs[i] = IDS(1, 1);
    hr_meshgrid(NULL, 1, false, out);
    hr_meshgrid(xs, 1, false, NULL);
    hr_meshgrid(xs, HR_MAX_RANK + 1, false, out);
    return out[HR_MAX_RANK];
}

static void arguments_that_cannot_be_are_refused(void **state)
{
    static const struct {
        hr_node (*call)(void);
        const char *kind;
    } tried[] = {
        {list_of_none, NULL}, /* of no graph */
        {list_of_fewer, NULL},
        {data_of_null, "graph.argument"},
        {data_of_many, "graph.argument"},
        {pairs_of_null, "graph.argument"},
        {sizes_of_null, "graph.attr"},
        {buckets_of_null, "graph.attr"},
        {no_distances, "graph.argument"},
        {no_mode, "graph.argument"},
        {fewer_classes, "graph.argument"},
        {rows_below_zero, "graph.range"},
        {sorted_beyond, "graph.axis"},
        {sorted_unknown, "graph.shape"},
        {unstacked_unknown, "graph.shape"},
        {unstacked_beyond, "graph.shape"},
        {unstacked_far_below, "graph.shape"},
        {split_unevenly, "graph.shape"},
        {masked_elsewhere, "graph.shape"},
        {masked_by_scalar, "graph.shape"},
        {masked_below, "graph.shape"},
        {masked_far_beyond, "graph.shape"},
        {place_far_beyond, "graph.slice"},
        {tangent_of_ints, "graph.type"},
        {grid_of_many, "graph.argument"},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        free_graph(state);
        make_graph(state);
        assert_false(hr_node_exists(tried[i].call()));
        const hr_error *err = hr_graph_error(g);
        if (tried[i].kind && (!err || strcmp(err->kind, tried[i].kind) != 0))
            fail_msg("call %zu: expected %s, found %s: %s", i, tried[i].kind, err ? err->kind : "none",
                     err ? err->text : "");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(arithmetic_is_tensorflows),
        TEST(matrices_of_more_dimensions_are_multiplied),
        TEST(reductions_are_tensorflows),
        TEST(values_are_counted_up_and_repeated),
        TEST(pieces_are_put_together_and_taken_apart),
        TEST(values_are_taken_and_changed_by_index),
        TEST(parts_of_variables_are_changed),
        TEST(segments_are_put_together),
        TEST(values_are_put_in_order),
        TEST(values_are_told_apart),
        TEST(random_values_are_tensorflows),
        TEST(runs_are_watched),
        TEST(what_is_no_node_gives_none),
        TEST(arguments_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
