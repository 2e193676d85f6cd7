/* TensorFlow 1's tensor arrays and stacks: resources of one run. */
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/ops.h>

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

static hr_node int_of(int i) { return hr_const_number(g, HR_INT32, i, NULL); }
static hr_node floats(hr_shape shape, const float *values)
{
    const hr_tensor value = hr_tensor_of(HR_FLOAT, shape, values);
    return hr_const(g, &value);
}
static hr_node one_float(float value) { return hr_scalar(g, HR_FLOAT, (double)value); }
static hr_node longs(const int64_t *values, int count)
{
    return hr_cast_to(hr_const_ints(g, values, count, NULL), HR_INT64);
}

/* An array and the flow of what was done to it last. */
typedef struct array {
    hr_node handle, flow;
} array;

static array array_of(const hr_attr *attrs, int count, int size)
{
    hr_attr all[6] = {HR_TYPE_ATTR("dtype", HR_FLOAT)};
    for (int i = 0; i < count; i++) all[i + 1] = attrs[i];
    const hr_node size_node = int_of(size), made = hr_new_node(g, "TensorArrayV3", .inputs = &size_node,
                                                               .input_count = 1, .attrs = all, .attr_count = count + 1);
    return (array){made, hr_node_output(made, 1)};
}

static array write(array a, int i, hr_node value)
{
    return (array){a.handle, hr_new_node(g, "TensorArrayWriteV3", HR_INPUTS(a.handle, int_of(i), value, a.flow))};
}

static hr_node read_as(array a, int i, hr_dtype dtype)
{
    return hr_new_node(g, "TensorArrayReadV3", HR_INPUTS(a.handle, int_of(i), a.flow),
                       HR_ATTRS(HR_TYPE_ATTR("dtype", dtype)));
}
static hr_node read(array a, int i) { return read_as(a, i, HR_FLOAT); }

static hr_node gather(array a, const int64_t *indices, int count)
{
    return hr_new_node(g, "TensorArrayGatherV3", HR_INPUTS(a.handle, hr_const_ints(g, indices, count, NULL), a.flow),
                       HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
}

static array scatter(array a, const int64_t *indices, int count, hr_node value)
{
    return (array){a.handle, hr_new_node(g, "TensorArrayScatterV3",
                                         HR_INPUTS(a.handle, hr_const_ints(g, indices, count, NULL), value, a.flow))};
}

static hr_node concat(array a)
{
    return hr_new_node(g, "TensorArrayConcatV3", HR_INPUTS(a.handle, a.flow),
                       HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
}

static array split(array a, hr_node value, const int64_t *lengths, int count)
{
    return (array){a.handle,
                   hr_new_node(g, "TensorArraySplitV3", HR_INPUTS(a.handle, value, longs(lengths, count), a.flow))};
}

static array gradients_of(array a, const char *source)
{
    const hr_node made =
        hr_new_node(g, "TensorArrayGradV3", HR_INPUTS(a.handle, a.flow), HR_ATTRS(HR_STRING_ATTR("source", source)));
    return (array){made, hr_node_output(made, 1)};
}

static hr_node after(hr_node first, hr_node (*make)(array a, int i), array a, int i)
{
    hr_control_dependencies(g, &first, 1);
    const hr_node made = make(a, i);
    hr_control_end(g);
    return made;
}

/* ---- running ---- */

static hr_status run(hr_node fetch, hr_tensor *out, hr_error *err)
{
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    const hr_status st = hr_session_run(s, NULL, 0, &fetch, 1, out, err);
    hr_session_free(s);
    return st;
}

static void gives(hr_node fetch, hr_shape shape, const float *expected)
{
    hr_error err = {0};
    hr_tensor out;
    assert_ok(run(fetch, &out, &err), &err);
    assert_shape(out.shape, shape);
    for (int64_t i = 0; i < out.count; i++) assert_exactly(((const float *)out.data)[i], expected[i]);
    hr_tensor_clear(&out);
}

/* And what the run held is released, although it failed. */
static void fails(hr_node fetch, hr_status expected, const char *text)
{
    hr_error err = {0};
    hr_tensor out = {0};
    const int64_t alive = allocations_alive();
    assert_status(run(fetch, &out, &err), expected);
    assert_text_contains(err.text, text);
    assert_int_equal(allocations_alive(), alive);
}
static void refused(hr_node fetch, const char *text) { fails(fetch, HR_INVALID_ARGUMENT, text); }

/* ---- arrays ---- */

static void an_array_is_written_and_read(void **state)
{
    (void)state;
    const array a = write(write(array_of(NULL, 0, 2), 0, one_float(1)), 1, one_float(2));
    gives(read(a, 1), HR_SCALAR, HR_F32(2));
    const array rows = scatter(array_of(NULL, 0, 3), HR_I64(2, 0), 2, floats(HR_SHAPE(2, 1), HR_F32(1, 2)));
    gives(gather(rows, HR_I64(0, 2), 2), HR_SHAPE(2, 1), HR_F32(2, 1));
    const array parts = split(array_of(NULL, 0, 2), floats(HR_SHAPE(3), HR_F32(1, 2, 3)), HR_I64(1, 2), 2);
    gives(concat(parts), HR_SHAPE(3), HR_F32(1, 2, 3));
    const hr_attr shape = HR_SHAPE_ATTR("element_shape", HR_SHAPE(2));
    const hr_node zeros = read(array_of(&shape, 1, 1), 0);
    assert_shape(hr_node_shape(zeros), HR_SHAPE(2));
    gives(zeros, HR_SHAPE(2), HR_F32(0, 0));
}

static void an_array_that_is_dynamic_grows(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor out;
    const hr_attr dynamic = HR_BOOL_ATTR("dynamic_size", true);
    const array a = write(array_of(&dynamic, 1, 0), 40, one_float(1));
    const hr_node size = hr_new_node(g, "TensorArraySizeV3", HR_INPUTS(a.handle, a.flow));
    assert_ok(run(size, &out, &err), &err);
    assert_int_equal(*(const int32_t *)out.data, 41);
    hr_tensor_clear(&out);
}

static void each_index_is_written_and_read_once(void **state)
{
    (void)state;
    const hr_attr keeps = HR_BOOL_ATTR("clear_after_read", false);
    const array once = write(array_of(NULL, 0, 1), 0, one_float(1)),
                kept = write(array_of(&keeps, 1, 1), 0, one_float(1));
    refused(after(read(once, 0), read, once, 0), "Could not read index 0 twice because it was cleared");
    gives(after(read(kept, 0), read, kept, 0), HR_SCALAR, HR_F32(1));
    refused(write(once, 0, one_float(2)).flow,
            "Could not write to TensorArray index 0 because it has already been written");
}

static void an_array_of_gradients_sums_what_is_written(void **state)
{
    (void)state;
    const hr_node pair = floats(HR_SHAPE(2), HR_F32(1, 2));
    const array a = write(array_of(NULL, 0, 2), 0, pair);
    gives(read(gradients_of(a, "g"), 0), HR_SHAPE(2), HR_F32(0, 0));
    const array first = write(gradients_of(a, "g"), 0, pair);
    const array again = gradients_of((array){a.handle, first.flow}, "g");
    gives(read(write(again, 0, pair), 0), HR_SHAPE(2), HR_F32(2, 4));
    const array other = gradients_of((array){a.handle, first.flow}, "h");
    gives(read(other, 0), HR_SHAPE(2), HR_F32(0, 0));
    refused(gradients_of(again, "g").flow, "Unable to create a gradients TensorArray");
    refused(write(again, 0, one_float(1)).flow, "which is incompatible");
}

static void derivatives_flow_through_arrays(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor out;
    hr_gradient by;
    const hr_node x = floats(HR_SHAPE(3), HR_F32(1, 2, 3));
    const array rows = scatter(array_of(NULL, 0, 3), HR_I64(0, 1, 2), 3, x);
    const hr_node picked = gather(rows, HR_I64(2, 0), 2), alone = read(rows, 1);
    const array parts = split(array_of(NULL, 0, 2), x, HR_I64(1, 2), 2);
    const hr_node joined = concat(parts);
    const array single = write(array_of(NULL, 0, 1), 0, x);
    const hr_node terms[] = {hr_reduce_sum(hr_square(picked)), hr_mul(alone, one_float(10)),
                             hr_reduce_sum(hr_mul(joined, x)), hr_reduce_sum(read(single, 0))};
    const hr_node y = hr_add_n(terms, 4);
    for (int i = 0; i < 2; i++) { /* a second time: arrays of its own */
        hr_gradients(&y, 1, &x, 1, &by);
        assert_ok(run(by.values, &out, &err), &err);
        const float expected[] = {2 * 1 + 2 * 1 + 1, 10 + 2 * 2 + 1, 2 * 3 + 2 * 3 + 1};
        for (int j = 0; j < 3; j++) assert_exactly(((const float *)out.data)[j], expected[j]);
        hr_tensor_clear(&out);
    }
}

static void mistakes_with_arrays_are_told(void **state)
{
    (void)state;
    const hr_attr alike = HR_BOOL_ATTR("identical_element_shapes", true);
    const hr_attr known = HR_SHAPE_ATTR("element_shape", HR_SHAPE(1));
    const array one = write(array_of(NULL, 0, 2), 0, floats(HR_SHAPE(1), HR_F32(1)));
    const array both = write(one, 1, floats(HR_SHAPE(2), HR_F32(1, 2)));
    refused(array_of(NULL, 0, -1).flow, "Size should be >= 0.");
    refused(write(one, 2, one_float(1)).flow, "Tried to write to index 2 but array is not resizeable and size is: 2");
    refused(write(one, -1, one_float(1)).flow, "Tried to write to index -1");
    refused(write(one, 1, int_of(1)).flow, "TensorArray dtype is float32 but Op requested dtype int32.");
    refused(write(array_of(&known, 1, 1), 0, one_float(1)).flow, "which is incompatible with");
    refused(write(write(array_of(&alike, 1, 2), 0, one_float(1)), 1, floats(HR_SHAPE(1), HR_F32(1))).flow,
            "which is incompatible with");
    refused(read(one, 2), "Tried to read from index 2 but array size is: 2");
    refused(read(one, 1), "Could not read from TensorArray index 1.  Furthermore, the element shape is not fully");
    refused(read_as(one, 0, HR_INT32), "TensorArray dtype is float32 but Op requested dtype int32.");
    refused(gather(both, HR_I64(0, 1), 2), "inconsistent shapes.  Index 0 has shape: [1] but index 1 has shape: [2]");
    fails(gather(one, NULL, 0), HR_UNIMPLEMENTED, "TensorArray has size zero");
    refused(concat(write(array_of(NULL, 0, 1), 0, one_float(1))), "Concat saw a scalar shape at index 0");
    refused(split(array_of(NULL, 0, 3), floats(HR_SHAPE(2), HR_F32(1, 2)), HR_I64(1, 1), 2).flow,
            "size is not equal to the size of lengths (3 vs. 2)");
    refused(split(array_of(NULL, 0, 2), floats(HR_SHAPE(2), HR_F32(1, 2)), HR_I64(-1, 3), 2).flow,
            "Expected lengths >= 0, got -1");
    refused(scatter(array_of(NULL, 0, 2), HR_I64(0, 0), 2, floats(HR_SHAPE(2), HR_F32(1, 2))).flow,
            "because it has already been written to");
    const hr_node close = hr_target(hr_new_node(g, "TensorArrayCloseV3", HR_INPUTS(one.handle)));
    refused(after(close, read, one, 0), "has already been closed.");
}

/* ---- stacks ---- */

static hr_node stack_of(int maximum, hr_dtype dtype)
{
    return hr_new_node(g, "StackV2", HR_INPUTS(int_of(maximum)),
                       HR_ATTRS(HR_TYPE_ATTR("elem_type", dtype), HR_STRING_ATTR("stack_name", "heap")));
}
static hr_node push(hr_node handle, hr_node x) { return hr_new_node(g, "StackPushV2", HR_INPUTS(handle, x)); }
static hr_node pop(hr_node handle)
{
    return hr_new_node(g, "StackPopV2", HR_INPUTS(handle), HR_ATTRS(HR_TYPE_ATTR("elem_type", HR_FLOAT)));
}

/* Pushes and pops run in the order in which their nodes were made. */
static void a_stack_gives_back_what_was_pushed_last(void **state)
{
    (void)state;
    const hr_node s = stack_of(-1, HR_FLOAT), held[] = {push(s, one_float(1)), push(s, one_float(2))};
    const hr_node popped[] = {pop(s), pop(s)};
    const hr_node sum = hr_add(hr_mul(popped[0], one_float(10)), popped[1]);
    const hr_node all[] = {hr_mul(hr_add_n(held, 2), one_float(100)), sum};
    gives(hr_add_n(all, 2), HR_SCALAR, HR_F32(321));
}

static void mistakes_with_stacks_are_told(void **state)
{
    (void)state;
    const hr_node full = stack_of(1, HR_FLOAT);
    const hr_node two[] = {push(full, one_float(1)), push(full, one_float(2))};
    refused(hr_add_n(two, 2), "Stack[heap] overflowed its max_size (1)");
    refused(pop(stack_of(-1, HR_FLOAT)), "Stack[heap] is empty when calling Pop().");
    refused(push(stack_of(-1, HR_INT32), one_float(1)), "Must have type int32 but got float32");
    const hr_node closed = stack_of(-1, HR_FLOAT), close = hr_target(hr_new_node(g, "StackCloseV2", HR_INPUTS(closed)));
    hr_control_dependencies(g, &close, 1);
    const hr_node late = pop(closed);
    hr_control_end(g);
    refused(late, "Stack[heap] has already been closed.");
    refused(pop(array_of(NULL, 0, 1).handle), "expected a handle of a Stack, got the TensorArray");
}

/* ---- allocations ---- */

static hr_status whole_life(hr_error *err)
{
    hr_status st = HR_RESOURCE_EXHAUSTED;
    hr_tensor out = {0};
    hr_gradient by = {0};
    g = hr_graph_new();
    if (!g) return st;
    const hr_node x = floats(HR_SHAPE(3), HR_F32(1, 2, 3)), s = stack_of(-1, HR_FLOAT), held = push(s, x);
    const array rows = scatter(array_of(NULL, 0, 3), HR_I64(0, 1, 2), 3, x);
    const hr_node y = hr_reduce_sum(hr_square(gather(rows, HR_I64(2, 0), 2)));
    hr_gradients(&y, 1, &x, 1, &by);
    hr_control_dependencies(g, &held, 1);
    const hr_node popped = pop(s);
    hr_control_end(g);
    const hr_node fetch = by.values.graph ? hr_add(popped, by.values) : popped;
    hr_session *session = hr_session_new(g, .workers = &(int){0});
    if (session) st = hr_session_run(session, NULL, 0, &fetch, 1, &out, err);
    hr_tensor_clear(&out);
    hr_session_free(session);
    hr_graph_free(g);
    g = NULL;
    return st;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    hr_error err = {0};
    assert_ok(whole_life(&err), &err);
    fail_allocation(-1);
    assert_ok(whole_life(&err), &err);
    const int64_t allocations = allocations_since();
    for (int64_t i = 0; i < allocations; i++) {
        const int64_t alive = allocations_alive();
        fail_allocation(i);
        const hr_status st = whole_life(&err);
        allocations_since();
        if (st != HR_RESOURCE_EXHAUSTED) fail_msg("allocation %d: %s: %s", (int)i, hr_status_name(st), err.text);
        assert_int_equal(allocations_alive(), alive);
    }
}

static void a_warm_run_allocates_nothing(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor out = {0};
    const array a = write(write(array_of(NULL, 0, 2), 0, one_float(1)), 1, one_float(2));
    const hr_node stack = stack_of(-1, HR_FLOAT), held = push(stack, gather(a, HR_I64(1, 0), 2));
    const hr_node fetch = hr_add(held, pop(stack));
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    for (int i = 0; i < 3; i++) {
        hr_tensor_clear(&out);
        if (i == 2) fail_allocation(-1);
        assert_ok(hr_session_run(s, NULL, 0, &fetch, 1, &out, &err), &err);
    }
    assert_int_equal(allocations_since(), 0);
    assert_exactly(((const float *)out.data)[0], 4);
    hr_tensor_clear(&out);
    hr_session_free(s);
}

#define RUN_TEST(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(an_array_is_written_and_read),
        RUN_TEST(an_array_that_is_dynamic_grows),
        RUN_TEST(each_index_is_written_and_read_once),
        RUN_TEST(an_array_of_gradients_sums_what_is_written),
        RUN_TEST(derivatives_flow_through_arrays),
        RUN_TEST(mistakes_with_arrays_are_told),
        RUN_TEST(a_stack_gives_back_what_was_pushed_last),
        RUN_TEST(mistakes_with_stacks_are_told),
        RUN_TEST(a_warm_run_allocates_nothing),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
