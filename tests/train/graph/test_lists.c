/* Lists of tensors: what is pushed, popped, read and stacked; what is shared and what is written in place; derivatives;
 * what is refused. */
#include "tests/testing.h"

#include <headrace/control_flow.h>
#include <headrace/kernels.h>
#include <headrace/lists.h>

#include <math.h>
#include <string.h>

static hr_graph *g;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    return g ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_graph_free(g);
    return 0;
}

/* ---- nodes ---- */

#define ELEMENT(dtype) HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype))

static hr_node any_shape(void) { return hr_const_number(g, HR_INT32, -1, NULL); }
static hr_node index_of(int i) { return hr_const_number(g, HR_INT32, i, NULL); }
static hr_node sizes(const int64_t *values, int count) { return hr_const_ints(g, values, count, NULL); }

static hr_node floats(int count, const float *values)
{
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(count), values);
    return hr_const(g, &value);
}

static hr_node empty(hr_node shape, int maximum)
{
    return hr_new_node(g, "EmptyTensorList", HR_INPUTS(shape, index_of(maximum)), ELEMENT(HR_FLOAT));
}
static hr_node reserve(hr_node shape, int count)
{
    return hr_new_node(g, "TensorListReserve", HR_INPUTS(shape, index_of(count)), ELEMENT(HR_FLOAT));
}
static hr_node push(hr_node list, hr_node x) { return hr_new_node(g, "TensorListPushBack", HR_INPUTS(list, x)); }
static hr_node pop(hr_node list, hr_dtype dtype)
{
    return hr_new_node(g, "TensorListPopBack", HR_INPUTS(list, any_shape()), ELEMENT(dtype));
}
static hr_node get(hr_node list, int i, hr_dtype dtype)
{
    return hr_new_node(g, "TensorListGetItem", HR_INPUTS(list, index_of(i), any_shape()), ELEMENT(dtype));
}
static hr_node set(hr_node list, int i, hr_node x)
{
    return hr_new_node(g, "TensorListSetItem", HR_INPUTS(list, index_of(i), x));
}
static hr_node stack(hr_node list, hr_node shape, hr_dtype dtype)
{
    return hr_new_node(g, "TensorListStack", HR_INPUTS(list, shape), ELEMENT(dtype));
}
static hr_node from_tensor(hr_node x) { return hr_new_node(g, "TensorListFromTensor", HR_INPUTS(x, any_shape())); }
static hr_node length(hr_node list) { return hr_new_node(g, "TensorListLength", HR_INPUTS(list)); }
static hr_node concat(hr_node list, hr_node leading)
{
    return hr_new_node(g, "TensorListConcatV2", HR_INPUTS(list, any_shape(), leading), ELEMENT(HR_FLOAT));
}
static hr_node gather(hr_node list, hr_node indices)
{
    return hr_new_node(g, "TensorListGather", HR_INPUTS(list, indices, any_shape()), ELEMENT(HR_FLOAT));
}

/* ---- running ---- */

static hr_tensor run(hr_node fetch)
{
    hr_error err = {0};
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &fetch, 1, &out, &err), &err);
    hr_session_free(s);
    return out;
}

static void gives(hr_node fetch, hr_shape shape, const float *expected)
{
    hr_tensor out = run(fetch);
    assert_shape(out.shape, shape);
    for (int64_t i = 0; i < out.count; i++) assert_exactly(((const float *)out.data)[i], expected[i]);
    hr_tensor_clear(&out);
}

static void gives_number(hr_node fetch, int expected)
{
    hr_tensor out = run(fetch);
    assert_int_equal(*(const int32_t *)out.data, expected);
    hr_tensor_clear(&out);
}

static void refused(hr_node fetch, const char *text)
{
    hr_error err = {0};
    hr_tensor out = {0};
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    assert_status(hr_session_run(s, NULL, 0, &fetch, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, text);
    hr_session_free(s);
}

/* ---- elements ---- */

static void a_list_gives_back_what_was_pushed_last_first(void **state)
{
    (void)state;
    const hr_node list = push(push(empty(any_shape(), -1), floats(2, HR_F32(1, 2))), floats(1, HR_F32(3)));
    const hr_node last = pop(list, HR_FLOAT), first = pop(last, HR_FLOAT);
    gives(hr_node_output(last, 1), HR_SHAPE(1), HR_F32(3));
    gives(hr_node_output(first, 1), HR_SHAPE(2), HR_F32(1, 2));
    gives_number(length(first), 0);
    gives_number(length(list), 2);
}

/* Both are pushed to one list, which neither may write over. */
static void a_list_that_others_need_is_copied_before_it_changes(void **state)
{
    (void)state;
    const hr_node one = push(empty(any_shape(), -1), floats(1, HR_F32(1)));
    const hr_node two = push(one, floats(1, HR_F32(2))), other = push(one, floats(1, HR_F32(3)));
    const hr_node zeroed = set(one, 0, floats(1, HR_F32(9)));
    const hr_node all[] = {stack(two, any_shape(), HR_FLOAT), stack(other, any_shape(), HR_FLOAT),
                           stack(zeroed, any_shape(), HR_FLOAT), stack(one, any_shape(), HR_FLOAT)};
    gives(hr_concat(all, 4, 0), HR_SHAPE(6, 1), HR_F32(1, 2, 1, 3, 9, 1));
}

static void what_is_not_set_is_read_as_zeros(void **state)
{
    (void)state;
    const hr_node list = set(reserve(any_shape(), 3), 1, floats(2, HR_F32(1, 2)));
    gives(stack(list, any_shape(), HR_FLOAT), HR_SHAPE(3, 2), HR_F32(0, 0, 1, 2, 0, 0));
    gives(get(list, 0, HR_FLOAT), HR_SHAPE(2), HR_F32(0, 0));
    gives(hr_node_output(pop(reserve(sizes(HR_I64(1), 1), 1), HR_FLOAT), 1), HR_SHAPE(1), HR_F32(0));
    gives(hr_new_node(g, "TensorListGetItem", HR_INPUTS(reserve(any_shape(), 1), index_of(0), sizes(HR_I64(2), 1)),
                      ELEMENT(HR_FLOAT)),
          HR_SHAPE(2), HR_F32(0, 0));
}

static void a_list_is_resized(void **state)
{
    (void)state;
    const hr_node list = from_tensor(floats(3, HR_F32(1, 2, 3)));
    gives(stack(hr_new_node(g, "TensorListResize", HR_INPUTS(list, index_of(5))), any_shape(), HR_FLOAT), HR_SHAPE(5),
          HR_F32(1, 2, 3, 0, 0));
    gives(stack(hr_new_node(g, "TensorListResize", HR_INPUTS(list, index_of(1))), any_shape(), HR_FLOAT), HR_SHAPE(1),
          HR_F32(1));
    const hr_node grown = hr_new_node(g, "TensorListSetItem", HR_INPUTS(list, index_of(4), hr_scalar(g, HR_FLOAT, 7)),
                                      HR_ATTRS(HR_BOOL_ATTR("resize_if_index_out_of_bounds", true)));
    gives(stack(grown, any_shape(), HR_FLOAT), HR_SHAPE(5), HR_F32(1, 2, 3, 0, 7));
}

static void strings_are_elements_as_well(void **state)
{
    (void)state;
    const hr_view words[] = {{"a", 1}, {"bcd", 3}};
    const hr_tensor value = hr_tensor_of(HR_STRING, HR_SHAPE(2), words);
    const hr_node list = hr_new_node(
        g, "TensorListConcatLists",
        HR_INPUTS(from_tensor(hr_const(g, &value)),
                  hr_new_node(g, "TensorListReserve", HR_INPUTS(any_shape(), index_of(1)), ELEMENT(HR_STRING))),
        ELEMENT(HR_STRING));
    hr_tensor out = run(stack(list, any_shape(), HR_STRING));
    assert_shape(out.shape, HR_SHAPE(3));
    const hr_view *got = out.data;
    assert_memory_equal(got[1].data, "bcd", 3);
    assert_int_equal(got[2].size, 0);
    hr_tensor_clear(&out);
}

static hr_node list_of_lists(hr_node inner)
{
    return push(hr_new_node(g, "EmptyTensorList", HR_INPUTS(any_shape(), index_of(-1)), ELEMENT(HR_VARIANT)), inner);
}

static void lists_are_elements_of_lists(void **state)
{
    (void)state;
    const hr_node outer = list_of_lists(from_tensor(floats(2, HR_F32(1, 2))));
    gives(stack(get(outer, 0, HR_VARIANT), any_shape(), HR_FLOAT), HR_SHAPE(2), HR_F32(1, 2));
    const hr_node twice = hr_new_node(g, "AddN", HR_INPUTS(outer, outer));
    gives(stack(get(twice, 0, HR_VARIANT), any_shape(), HR_FLOAT), HR_SHAPE(2), HR_F32(2, 4));
    gives(stack(get(hr_zeros_like(outer), 0, HR_VARIANT), any_shape(), HR_FLOAT), HR_SHAPE(2), HR_F32(0, 0));
    hr_node deep = outer;
    for (int i = 2; i < HR_MAX_LIST_DEPTH; i++) deep = list_of_lists(deep);
    gives_number(length(deep), 1);
    refused(length(list_of_lists(deep)), "expected at most 64 lists within each other");
}

/* ---- whole lists ---- */

static void elements_are_put_one_after_the_other(void **state)
{
    (void)state;
    const hr_node list = push(push(empty(any_shape(), -1), floats(2, HR_F32(1, 2))), floats(1, HR_F32(3)));
    const hr_node none = sizes(NULL, 0), joined = concat(list, hr_cast_to(none, HR_INT64));
    gives(joined, HR_SHAPE(3), HR_F32(1, 2, 3));
    hr_tensor lengths = run(hr_node_output(joined, 1));
    assert_int_equal(((const int64_t *)lengths.data)[0], 2);
    assert_int_equal(((const int64_t *)lengths.data)[1], 1);
    hr_tensor_clear(&lengths);
    const hr_node split = hr_new_node(g, "TensorListSplit", HR_INPUTS(joined, any_shape(), hr_node_output(joined, 1)));
    gives(get(split, 0, HR_FLOAT), HR_SHAPE(2), HR_F32(1, 2));
    gives(get(split, 1, HR_FLOAT), HR_SHAPE(1), HR_F32(3));
    const hr_node unset = set(reserve(any_shape(), 2), 1, floats(1, HR_F32(5)));
    gives(concat(unset, hr_cast_to(sizes(HR_I64(2, 9), 2), HR_INT64)), HR_SHAPE(3), HR_F32(0, 0, 5));
}

static void elements_are_gathered_and_scattered(void **state)
{
    (void)state;
    const hr_node list = from_tensor(floats(3, HR_F32(1, 2, 3)));
    gives(gather(list, sizes(HR_I64(2, 0, 2), 3)), HR_SHAPE(3), HR_F32(3, 1, 3));
    const hr_node scattered = hr_new_node(
        g, "TensorListScatterV2", HR_INPUTS(floats(2, HR_F32(7, 8)), sizes(HR_I64(3, 1), 2), any_shape(), index_of(5)));
    gives(stack(scattered, any_shape(), HR_FLOAT), HR_SHAPE(5), HR_F32(0, 8, 0, 7, 0));
    const hr_node into = hr_new_node(g, "TensorListScatterIntoExistingList",
                                     HR_INPUTS(list, floats(2, HR_F32(7, 8)), sizes(HR_I64(3, 1), 2)));
    gives(stack(into, any_shape(), HR_FLOAT), HR_SHAPE(4), HR_F32(1, 8, 3, 7));
}

static void lists_are_added(void **state)
{
    (void)state;
    const hr_node a = from_tensor(floats(2, HR_F32(1, 2))),
                  b = set(reserve(any_shape(), 2), 1, hr_scalar(g, HR_FLOAT, 5));
    gives(stack(hr_new_node(g, "AddN", HR_INPUTS(a, b, a)), any_shape(), HR_FLOAT), HR_SHAPE(2), HR_F32(2, 9));
    refused(length(hr_new_node(g, "AddN", HR_INPUTS(a, reserve(any_shape(), 3)))),
            "Trying to add two lists of tensors with different lengths. One is 2 and the other is 3");
}

/* ---- in place ---- */

static void below_count(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    results[0] = hr_less(vars[0], hr_const_number(body, HR_INT32, *(const int *)user, NULL));
}

static void push_one(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(vars[0], hr_const_number(body, HR_INT32, 1, NULL));
    results[1] = hr_new_node(body, "TensorListPushBack", HR_INPUTS(vars[1], hr_cast_to(vars[0], HR_FLOAT)));
}

/* Twenty thousand elements: copies of the list in each turn would take minutes. A warm run takes no memory. */
static void a_loop_pushes_in_place_and_allocates_nothing_when_warm(void **state)
{
    (void)state;
    int count = 20000;
    hr_error err = {0};
    hr_node out[2];
    hr_tensor sum = {0};
    const hr_node vars[] = {index_of(0), empty(sizes(NULL, 0), -1)};
    hr_while_loop(below_count, push_one, &count, vars, 2, out);
    const hr_node total = hr_reduce_sum(stack(out[1], sizes(NULL, 0), HR_FLOAT));
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    for (int i = 0; i < 3; i++) {
        hr_tensor_clear(&sum);
        if (i == 2) fail_allocation(-1);
        assert_ok(hr_session_run(s, NULL, 0, &total, 1, &sum, &err), &err);
    }
    assert_int_equal(allocations_since(), 0);
    assert_near(*(const float *)sum.data, 20000. * 19999 / 2, 20000);
    hr_tensor_clear(&sum);
    hr_session_free(s);
}

/* ---- derivatives ---- */

static double run_scalar(hr_session *s, const hr_feed *feed, hr_node y)
{
    hr_error err = {0};
    hr_tensor out;
    assert_ok(hr_session_run(s, feed, 1, &y, 1, &out, &err), &err);
    const double value = *(const double *)out.data;
    hr_tensor_clear(&out);
    return value;
}

/* dy/dx against finite differences. */
static void check_differences(hr_node x, hr_node y, double *values)
{
    hr_error err = {0};
    hr_tensor out;
    hr_gradient gradient;
    hr_gradients(&y, 1, &x, 1, &gradient);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    const hr_feed feed = {x, hr_tensor_of(HR_DOUBLE, hr_node_shape(x), values)};
    assert_ok(hr_session_run(s, &feed, 1, &gradient.values, 1, &out, &err), &err);
    for (int i = 0; i < out.count; i++) {
        const double at = values[i], h = 1e-5;
        values[i] = at + h;
        const double up = run_scalar(s, &feed, y);
        values[i] = at - h;
        const double wanted = (up - run_scalar(s, &feed, y)) / (2 * h);
        values[i] = at;
        assert_near(((const double *)out.data)[i], wanted, 1e-6 * (1 + fabs(wanted)));
    }
    hr_tensor_clear(&out);
    hr_session_free(s);
}

static hr_node sum_of_squares(hr_node x) { return hr_reduce_sum(hr_square(x)); }

/* Every op of lists that has a derivative is on the way from x to y. */
static hr_node through_lists(hr_node x)
{
    const hr_node rows = from_tensor(x), scaled = hr_mul(get(rows, 2, HR_DOUBLE), get(rows, 0, HR_DOUBLE));
    const hr_node changed = set(rows, 1, scaled), longer = push(changed, hr_tanh(scaled));
    const hr_node popped = pop(longer, HR_DOUBLE);
    const hr_node resized = hr_new_node(g, "TensorListResize", HR_INPUTS(popped, index_of(2)));
    const hr_node gathered = hr_new_node(g, "TensorListGather",
                                         HR_INPUTS(longer, sizes(HR_I64(3, 0, 1), 3), any_shape()), ELEMENT(HR_DOUBLE));
    const hr_node scattered = hr_new_node(g, "TensorListScatterV2",
                                          HR_INPUTS(gathered, sizes(HR_I64(4, 0, 2), 3), any_shape(), index_of(-1)));
    const hr_node into = hr_new_node(g, "TensorListScatterIntoExistingList",
                                     HR_INPUTS(scattered, hr_tanh(gathered), sizes(HR_I64(1, 2, 3), 3)));
    const hr_node parts =
        hr_new_node(g, "TensorListSplit", HR_INPUTS(x, any_shape(), hr_cast_to(sizes(HR_I64(1, 2), 2), HR_INT64)));
    const hr_node joined =
        hr_new_node(g, "TensorListConcatV2", HR_INPUTS(parts, any_shape(), hr_cast_to(sizes(NULL, 0), HR_INT64)),
                    ELEMENT(HR_DOUBLE));
    const hr_node terms[] = {
        sum_of_squares(hr_node_output(popped, 1)),
        sum_of_squares(stack(resized, any_shape(), HR_DOUBLE)),
        sum_of_squares(stack(into, any_shape(), HR_DOUBLE)),
        sum_of_squares(joined),
    };
    return hr_add_n(terms, 4);
}

static void derivatives_agree_with_finite_differences(void **state)
{
    (void)state;
    double values[] = {0.3, -0.7, 1.2, 0.5, -1.1, 0.9};
    const hr_node x = hr_placeholder(g, HR_DOUBLE, HR_SHAPE(3, 2));
    check_differences(x, through_lists(x), values);
}

static void second_derivatives_agree_with_finite_differences(void **state)
{
    (void)state;
    double values[] = {0.3, -0.7, 1.2, 0.5, -1.1, 0.9};
    hr_gradient first;
    const hr_node x = hr_placeholder(g, HR_DOUBLE, HR_SHAPE(3, 2)), y = through_lists(x);
    hr_gradients(&y, 1, &x, 1, &first);
    check_differences(x, sum_of_squares(first.values), values);
}

/* An element whose other elements nothing flows from, and a list of which only the rest is used. */
static void what_is_not_used_has_a_derivative_of_zero(void **state)
{
    (void)state;
    double values[] = {2, 3, 4};
    const hr_node x = hr_placeholder(g, HR_DOUBLE, HR_SHAPE(3)), popped = pop(from_tensor(x), HR_DOUBLE);
    check_differences(x, hr_square(hr_node_output(popped, 1)), values);
    check_differences(x, sum_of_squares(stack(popped, any_shape(), HR_DOUBLE)), values);
}

/* ---- what is refused ---- */

static void a_variant_is_neither_fetched_nor_fed(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor out = {0};
    const hr_node list = empty(any_shape(), -1);
    refused(list, "is a variant");
    hr_session *s = hr_session_new(g);
    const hr_feed feed = {list, hr_tensor_of(HR_VARIANT, HR_SCALAR, &err)};
    const hr_node fetch = length(list);
    assert_status(hr_session_run(s, &feed, 1, &fetch, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "expected to feed a node's value");
    const hr_node hole = hr_placeholder(g, HR_VARIANT, HR_SCALAR), of_hole = length(hole);
    const hr_feed other = {hole, hr_tensor_of(HR_VARIANT, HR_SCALAR, &err)};
    assert_status(hr_session_run(s, &other, 1, &of_hole, 1, &out, &err), HR_INVALID_ARGUMENT);
    hr_session_free(s);
}

static void mistakes_are_told_as_tensorflow_tells_them(void **state)
{
    (void)state;
    const hr_node two = from_tensor(floats(2, HR_F32(1, 2))), pair = floats(2, HR_F32(1, 2));
    const hr_node one = index_of(1), none = sizes(NULL, 0), vector = sizes(HR_I64(2), 1);
    refused(length(empty(index_of(3), -1)), "The only valid scalar shape tensor is the fully unknown shape");
    refused(length(empty(sizes(HR_I64(-2), 1), -1)), "Dimension -2 must be >= -1");
    refused(length(push(push(empty(any_shape(), 1), pair), pair)),
            "Tried to push item into a full list list size: 1 max_num_elements: 1");
    refused(length(push(empty(any_shape(), -1), one)),
            "Invalid data types; op elements int32 but list elements float32");
    refused(length(push(empty(none, -1), pair)),
            "Tried to append a tensor with incompatible shape to a list. Op element shape: [2] list shape: []");
    refused(length(pop(empty(any_shape(), -1), HR_FLOAT)), "Trying to pop from an empty list.");
    refused(get(two, 0, HR_INT32), "Invalid data types; op elements int32 but list elements float32");
    refused(length(reserve(any_shape(), -1)), "The num_elements to reserve must be a non negative number, but got -1");
    refused(get(two, 2, HR_FLOAT), "Trying to access element 2 in a list with 2 elements.");
    refused(get(two, -1, HR_FLOAT), "Trying to access element -1 in a list with 2 elements.");
    refused(get(reserve(any_shape(), 1), 0, HR_FLOAT), "Trying to read an uninitialized tensor but element_shape is");
    refused(length(set(two, 2, hr_scalar(g, HR_FLOAT, 1))), "Trying to modify element 2 in a list with 2 elements.");
    refused(length(set(reserve(none, 1), 0, pair)),
            "Tried to set a tensor with incompatible shape at a list index. Item element shape: [2] list shape: []");
    refused(length(hr_new_node(g, "TensorListResize", HR_INPUTS(two, index_of(-1)))),
            "TensorListSlice expects size to be non-negative. Got: -1");
    refused(stack(empty(any_shape(), -1), any_shape(), HR_FLOAT),
            "Tried to stack elements of an empty list with non-fully-defined element_shape");
    refused(hr_new_node(g, "TensorListStack", HR_INPUTS(two, any_shape()),
                        HR_ATTRS(HR_TYPE_ATTR("element_dtype", HR_FLOAT), HR_INT_ATTR("num_elements", 3))),
            "Operation expected a list with 3 elements but got a list with 2 elements.");
    refused(stack(push(two, pair), any_shape(), HR_FLOAT), "Incompatible ranks during merge: 0 vs. 1");
    refused(stack(reserve(vector, 1), sizes(HR_I64(3), 1), HR_FLOAT), "Incompatible shapes during merge: [3] vs. [2]");
    refused(length(from_tensor(hr_scalar(g, HR_FLOAT, 1))), "Tensor must be at least a vector, but saw shape: []");
    refused(length(hr_new_node(g, "TensorListFromTensor", HR_INPUTS(pair, vector))),
            "Specified a list with shape [2] from a tensor with shape []");
    refused(gather(two, vector), "Trying to gather element 2 in a list with 2 elements.");
    refused(gather(two, none), "Tried to gather 0-elements from a list with non-fully-defined element_shape");
    refused(concat(two, hr_cast_to(none, HR_INT64)), "Concat saw a scalar shape at index 0");
    refused(concat(reserve(sizes(HR_I64(-1), 1), 2), hr_cast_to(sizes(HR_I64(1), 1), HR_INT64)),
            "List contains uninitialized tensor at index 1 but leading_dims has only 1 elements.");
    refused(length(hr_new_node(g, "TensorListSplit",
                               HR_INPUTS(pair, any_shape(), hr_cast_to(sizes(HR_I64(1), 1), HR_INT64)))),
            "Unused values in tensor. Length of tensor: 2 Values used: 1");
    refused(length(hr_new_node(g, "TensorListScatterV2",
                               HR_INPUTS(pair, sizes(HR_I64(-1, 1), 2), any_shape(), index_of(-1)))),
            "Indices in TensorListScatter must all be non-negative.");
    refused(length(hr_new_node(g, "TensorListScatterV2",
                               HR_INPUTS(pair, sizes(HR_I64(3, 1), 2), any_shape(), index_of(2)))),
            "Trying to scatter at index 3 in list with size 2");
}

/* ---- a kind from outside ---- */

typedef struct pouch {
    int *alive;
} pouch;

static int pouches;

static void pouch_release(void *value)
{
    if (((pouch *)value)->alive) --*((pouch *)value)->alive;
}

static const hr_variant_kind pouch_kind = {"pouch", sizeof(pouch), pouch_release, NULL, NULL};

static hr_status pouch_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor out;
    void *value;
    HR_TRY(hr_kernel_new_variant(k, &pouch_kind, &out, &value, err));
    ((pouch *)value)->alive = &pouches;
    pouches++;
    hr_kernel_give(k, 0, out);
    return HR_OK;
}

static hr_status open_compute(hr_kernel *k, hr_error *err)
{
    void *value;
    hr_tensor *out;
    HR_TRY(hr_kernel_variant(k, 0, &pouch_kind, &value, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(int32_t *)out->data = *((const pouch *)value)->alive;
    return HR_OK;
}

static const hr_graph_op pouch_op = {.head = HR_GRAPH_OP_HEAD,
                                     .name = "Test>Pouch",
                                     .outputs = "pouch:variant",
                                     .shape = hr_infer_scalar,
                                     .compute = pouch_compute};
static const hr_graph_op open_op = {.head = HR_GRAPH_OP_HEAD,
                                    .name = "Test>Open",
                                    .inputs = "pouch:variant",
                                    .outputs = "alive:int32",
                                    .shape = hr_infer_scalar,
                                    .compute = open_compute};

static void a_variant_of_another_kind_is_told_apart_and_released(void **state)
{
    (void)state;
    hr_graph_use(g, &pouch_op);
    hr_graph_use(g, &open_op);
    const hr_node made = hr_new_node(g, "Test>Pouch");
    gives_number(hr_new_node(g, "Test>Open", HR_INPUTS(made)), 1);
    assert_int_equal(pouches, 0);
    const hr_node kept = get(list_of_lists(hr_identity(made)), 0, HR_VARIANT);
    gives_number(hr_new_node(g, "Test>Open", HR_INPUTS(kept)), 1);
    assert_int_equal(pouches, 0);
    refused(length(made), "Input handle is not a list. Saw: 'pouch'");
    refused(hr_new_node(g, "Test>Open", HR_INPUTS(empty(any_shape(), -1))),
            "expected a variant that is a pouch, got a list");
    refused(length(hr_new_node(g, "AddN", HR_INPUTS(made, made))), "expected a variant that can be added, got a pouch");
    refused(length(hr_zeros_like(made)), "expected a variant that has zeros like it, got a pouch");
    assert_int_equal(pouches, 0);
}

/* ---- allocation failures ---- */

static hr_status whole_life(hr_error *err)
{
    hr_status st = HR_RESOURCE_EXHAUSTED;
    hr_tensor out = {0};
    g = hr_graph_new();
    if (!g) return st;
    hr_node last[2];
    int count = 10;
    const hr_node x = floats(3, HR_F32(1, 2, 3)), list = from_tensor(x), twice = push(list, hr_scalar(g, HR_FLOAT, 1));
    const hr_node vars[] = {index_of(0), hr_new_node(g, "AddN", HR_INPUTS(list, hr_zeros_like(list)))};
    hr_while_loop(below_count, push_one, &count, vars, 2, last);
    const hr_node all[] = {stack(last[1], any_shape(), HR_FLOAT), stack(twice, any_shape(), HR_FLOAT)};
    const hr_node fetch = hr_concat(all, 2, 0);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    if (s) st = hr_session_run(s, NULL, 0, &fetch, 1, &out, err);
    if (st == HR_OK) assert_int_equal(out.count, 17);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
    g = NULL;
    return st;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    hr_error err = {0};
    assert_ok(whole_life(&err), &err); /* what the process makes once */
    fail_allocation(-1);
    assert_ok(whole_life(&err), &err);
    const int64_t allocations = allocations_since();
    for (int64_t i = 0; i < allocations; i++) {
        const int64_t alive = allocations_alive();
        fail_allocation(i);
        assert_status(whole_life(&err), HR_RESOURCE_EXHAUSTED);
        allocations_since();
        assert_int_equal(allocations_alive(), alive);
    }
}

#define LIST_TEST(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIST_TEST(a_list_gives_back_what_was_pushed_last_first),
        LIST_TEST(a_list_that_others_need_is_copied_before_it_changes),
        LIST_TEST(what_is_not_set_is_read_as_zeros),
        LIST_TEST(a_list_is_resized),
        LIST_TEST(strings_are_elements_as_well),
        LIST_TEST(lists_are_elements_of_lists),
        LIST_TEST(elements_are_put_one_after_the_other),
        LIST_TEST(elements_are_gathered_and_scattered),
        LIST_TEST(lists_are_added),
        LIST_TEST(a_loop_pushes_in_place_and_allocates_nothing_when_warm),
        LIST_TEST(derivatives_agree_with_finite_differences),
        LIST_TEST(second_derivatives_agree_with_finite_differences),
        LIST_TEST(what_is_not_used_has_a_derivative_of_zero),
        LIST_TEST(a_variant_is_neither_fetched_nor_fed),
        LIST_TEST(mistakes_are_told_as_tensorflow_tells_them),
        LIST_TEST(a_variant_of_another_kind_is_told_apart_and_released),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
