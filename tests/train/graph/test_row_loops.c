/* Tensor arrays; map, fold and scan over rows; cases: what they give, their derivatives, and what is refused. */
#include "tests/testing.h"

#include <headrace/control_flow.h>
#include <headrace/graph_op.h>
#include <headrace/ops.h>

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

/* ---- running ---- */

static hr_node floats(hr_shape shape, const float *values)
{
    const hr_tensor value = hr_tensor_of(HR_FLOAT, shape, values);
    return hr_const(g, &value);
}
static hr_node int_of(int i) { return hr_const_number(g, HR_INT32, i, NULL); }

static void gives_with(const hr_feed *feed, hr_node fetch, hr_shape shape, const float *expected)
{
    hr_error err = {0};
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, feed, feed ? 1 : 0, &fetch, 1, &out, &err), &err);
    assert_shape(out.shape, shape);
    for (int64_t i = 0; i < out.count; i++) assert_exactly(((const float *)out.data)[i], expected[i]);
    hr_tensor_clear(&out);
    hr_session_free(s);
}

static void gives(hr_node fetch, hr_shape shape, const float *expected) { gives_with(NULL, fetch, shape, expected); }

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

/* ---- tensor arrays ---- */

static void an_array_is_written_read_and_stacked(void **state)
{
    (void)state;
    hr_tensor_array a = hr_tensor_array_new(int_of(2), HR_FLOAT);
    a = hr_tensor_array_write(&a, int_of(1), floats(HR_SHAPE(2), HR_F32(3, 4)));
    const hr_tensor_array both = hr_tensor_array_write(&a, int_of(0), floats(HR_SHAPE(2), HR_F32(1, 2)));
    gives(hr_tensor_array_stack(&both), HR_SHAPE(2, 2), HR_F32(1, 2, 3, 4));
    gives(hr_tensor_array_stack(&a), HR_SHAPE(2, 2), HR_F32(0, 0, 3, 4));
    gives(hr_tensor_array_read(&both, int_of(1)), HR_SHAPE(2), HR_F32(3, 4));
    refused(hr_tensor_array_read(&both, int_of(2)), "Trying to access element 2 in a list with 2 elements.");
    const hr_tensor_array beyond = hr_tensor_array_write(&both, int_of(2), floats(HR_SHAPE(2), HR_F32(5, 6)));
    refused(hr_tensor_array_size(&beyond), "Trying to modify element 2 in a list with 2 elements.");
}

static void a_dynamic_array_grows(void **state)
{
    (void)state;
    const hr_shape pair = HR_SHAPE(2);
    hr_tensor_array a = hr_tensor_array_new(int_of(0), HR_FLOAT, .dynamic_size = true, .element_shape = &pair);
    a = hr_tensor_array_write(&a, int_of(1), floats(pair, HR_F32(1, 2)));
    const hr_node rows = hr_tensor_array_stack(&a);
    assert_shape(hr_node_shape(rows), HR_SHAPE(-1, 2));
    gives(rows, HR_SHAPE(2, 2), HR_F32(0, 0, 1, 2));
    const hr_tensor_array unstacked = hr_tensor_array_unstack(rows);
    gives(hr_tensor_array_read(&unstacked, int_of(1)), pair, HR_F32(1, 2));
}

/* ---- map ---- */

static void sum_and_product(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    (void)body;
    results[0] = hr_add(vars[0], vars[1]);
    results[1] = hr_mul(vars[0], user ? *(const hr_node *)user : vars[1]);
}

static void a_map_makes_rows_of_rows(void **state)
{
    (void)state;
    hr_node out[2];
    const hr_node elems[] = {floats(HR_SHAPE(2, 2), HR_F32(1, 2, 3, 4)), floats(HR_SHAPE(2), HR_F32(10, 20))};
    hr_map_loop(sum_and_product, NULL, elems, 2, out, 2);
    assert_shape(hr_node_shape(out[0]), HR_SHAPE(2, 2));
    gives(out[0], HR_SHAPE(2, 2), HR_F32(11, 12, 23, 24));
    gives(out[1], HR_SHAPE(2, 2), HR_F32(10, 20, 60, 80));
    hr_node captured = hr_scalar(g, HR_FLOAT, 5);
    hr_map_loop(sum_and_product, &captured, elems, 2, out, 2, .name = "other", .parallel_iterations = 3);
    gives(out[1], HR_SHAPE(2, 2), HR_F32(5, 10, 15, 20));
    assert_text_begins(hr_node_name(out[1]), "other/");
}

static void how_long(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    (void)body, (void)user;
    results[0] = hr_size_of(vars[0]);
}

static void results_may_be_of_other_types(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_node out;
    hr_tensor value;
    const hr_dtype dtype = HR_INT32;
    const hr_node elems = floats(HR_SHAPE(2, 3), HR_F32(1, 2, 3, 4, 5, 6));
    hr_map_loop(how_long, NULL, &elems, 1, &out, 1, .dtypes = &dtype);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &out, 1, &value, &err), &err);
    assert_int_equal(((const int32_t *)value.data)[1], 3);
    hr_tensor_clear(&value);
    hr_session_free(s);
    hr_map_loop(how_long, NULL, &elems, 1, &out, 1);
    assert_text_contains(hr_graph_error(g)->text, "hr_map_loop: expected result 0 of type float32, got int32");
}

static void square(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    (void)body, (void)user;
    results[0] = hr_square(vars[0]);
}

static void square_each(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    (void)body;
    hr_map_loop(square, user, vars, 1, results, 1);
}

static void maps_may_be_within_maps_and_rows_unknown(void **state)
{
    (void)state;
    hr_node out;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2));
    hr_map_loop(square_each, NULL, &x, 1, &out, 1);
    const hr_feed three = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), HR_F32(1, 2, 3, 4, 5, 6))},
                  none = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(0, 2), HR_F32(0))};
    gives_with(&three, out, HR_SHAPE(3, 2), HR_F32(1, 4, 9, 16, 25, 36));
    gives_with(&none, out, HR_SHAPE(0, 2), NULL);
}

/* ---- fold and scan ---- */

/* Not commutative, so that the order shows: 10 a + x. */
static void append_digit(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(hr_mul(vars[0], hr_scalar(body, hr_node_dtype(vars[0]), 10)), vars[1]);
}

static void folds_go_from_either_end(void **state)
{
    (void)state;
    hr_node out;
    const hr_node x = floats(HR_SHAPE(3), HR_F32(1, 2, 3)), four = hr_scalar(g, HR_FLOAT, 4);
    hr_foldl(append_digit, NULL, &x, 1, NULL, &out, 1);
    gives(out, HR_SCALAR, HR_F32(123));
    hr_foldr(append_digit, NULL, &x, 1, NULL, &out, 1);
    gives(out, HR_SCALAR, HR_F32(321));
    hr_foldl(append_digit, NULL, &x, 1, &four, &out, 1);
    gives(out, HR_SCALAR, HR_F32(4123));
    hr_foldr(append_digit, NULL, &x, 1, &four, &out, 1);
    gives(out, HR_SCALAR, HR_F32(4321));
}

static void a_scan_keeps_what_each_row_gave(void **state)
{
    (void)state;
    hr_node out;
    const hr_node x = floats(HR_SHAPE(3), HR_F32(1, 2, 3)), four = hr_scalar(g, HR_FLOAT, 4);
    hr_scan_loop(append_digit, NULL, &x, 1, NULL, &out, 1);
    assert_shape(hr_node_shape(out), HR_SHAPE(3));
    gives(out, HR_SHAPE(3), HR_F32(1, 12, 123));
    hr_scan_loop(append_digit, NULL, &x, 1, &four, &out, 1);
    gives(out, HR_SHAPE(3), HR_F32(41, 412, 4123));
    hr_scan_loop(append_digit, NULL, &x, 1, NULL, &out, 1, .reverse = true);
    gives(out, HR_SHAPE(3), HR_F32(321, 32, 3));
    hr_scan_loop(append_digit, NULL, &x, 1, &four, &out, 1, .reverse = true);
    gives(out, HR_SHAPE(3), HR_F32(4321, 432, 43));
}

static void fibonacci(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    (void)body, (void)user;
    results[0] = vars[1];
    results[1] = hr_add(vars[0], vars[1]);
}

static void a_scan_may_have_several_values(void **state)
{
    (void)state;
    hr_node out[2];
    const hr_node x = floats(HR_SHAPE(6), HR_F32(0, 0, 0, 0, 0, 0));
    const hr_node initial[] = {hr_scalar(g, HR_FLOAT, 0), hr_scalar(g, HR_FLOAT, 1)};
    hr_scan_loop(fibonacci, NULL, &x, 1, initial, out, 2);
    gives(out[0], HR_SHAPE(6), HR_F32(1, 1, 2, 3, 5, 8));
    gives(out[1], HR_SHAPE(6), HR_F32(1, 2, 3, 5, 8, 13));
}

static void longer_each_time(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    (void)body, (void)user;
    const hr_node both[] = {vars[0], vars[1]};
    results[0] = hr_concat(both, 2, 0);
}

static void a_value_may_change_its_shape(void **state)
{
    (void)state;
    hr_node out;
    const hr_shape any = HR_SHAPE(-1);
    const hr_node x = floats(HR_SHAPE(2, 1), HR_F32(1, 2)), initial = floats(HR_SHAPE(1), HR_F32(0));
    hr_foldl(longer_each_time, NULL, &x, 1, &initial, &out, 1, .shapes = &any);
    gives(out, HR_SHAPE(3), HR_F32(0, 1, 2));
    hr_foldl(longer_each_time, NULL, &x, 1, &initial, &out, 1);
    assert_text_contains(hr_graph_error(g)->text, "to stay float32 [1], got float32 [2]");
}

/* ---- derivatives ---- */

static void checks_differences(hr_node x, hr_node y, double *values)
{
    hr_error err = {0};
    hr_tensor out, ends[2];
    hr_gradient gradient;
    hr_gradients(&y, 1, &x, 1, &gradient);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    const hr_feed feed = {x, hr_tensor_of(HR_DOUBLE, hr_node_shape(x), values)};
    assert_ok(hr_session_run(s, &feed, 1, &gradient.values, 1, &out, &err), &err);
    for (int i = 0; i < out.count; i++) {
        const double at = values[i], h = 1e-5;
        for (int end = 0; end < 2; end++) {
            values[i] = end ? at - h : at + h;
            assert_ok(hr_session_run(s, &feed, 1, &y, 1, &ends[end], &err), &err);
        }
        values[i] = at;
        const double wanted = (*(double *)ends[0].data - *(double *)ends[1].data) / (2 * h);
        assert_near(((const double *)out.data)[i], wanted, 1e-6 * (1 + fabs(wanted)));
        hr_tensor_clear(&ends[0]);
        hr_tensor_clear(&ends[1]);
    }
    hr_tensor_clear(&out);
    hr_session_free(s);
}

static void damped(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    (void)body;
    results[0] = hr_tanh(hr_add(hr_mul(vars[0], *(const hr_node *)user), vars[1]));
}

static void derivatives_flow_through_maps_and_scans(void **state)
{
    (void)state;
    double values[] = {0.3, -0.7, 1.2, 0.5, -1.1, 0.9};
    hr_node mapped, scanned, folded;
    const hr_node x = hr_placeholder(g, HR_DOUBLE, HR_SHAPE(3, 2));
    hr_node mean = hr_reduce_mean(x);
    hr_map_loop(square_each, NULL, &x, 1, &mapped, 1);
    hr_scan_loop(damped, &mean, &mapped, 1, NULL, &scanned, 1, .reverse = true);
    hr_foldl(damped, &mean, &scanned, 1, NULL, &folded, 1);
    const hr_node terms[] = {hr_reduce_sum(hr_square(scanned)), hr_reduce_sum(folded)};
    checks_differences(x, hr_add_n(terms, 2), values);
}

/* ---- cases ---- */

static void give_one(hr_graph *body, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_scalar(body, HR_FLOAT, 1);
}
static void give_two(hr_graph *body, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_scalar(body, HR_FLOAT, 2);
}
static void give_user(hr_graph *body, hr_node *results, void *user)
{
    (void)body;
    results[0] = *(const hr_node *)user;
}
static void give_int(hr_graph *body, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_scalar(body, HR_INT32, 2);
}

static void a_switch_case_runs_the_branch_of_its_index(void **state)
{
    (void)state;
    hr_node out, nine = hr_scalar(g, HR_FLOAT, 9), plain;
    const hr_node index = hr_placeholder(g, HR_INT32, HR_SCALAR);
    hr_branch_fn *const branches[] = {give_one, give_two};
    hr_switch_case(index, branches, 2, &nine, &out, 1, .default_case = give_user);
    hr_switch_case(index, branches, 2, &nine, &plain, 1);
    assert_string_equal(hr_node_op(out), "StatelessCase");
    const float with_default[] = {9, 1, 2, 9}, without[] = {2, 1, 2, 2};
    for (int32_t i = -1; i < 3; i++) {
        const hr_feed feed = {index, hr_tensor_of(HR_INT32, HR_SCALAR, &i)};
        gives_with(&feed, out, HR_SCALAR, &with_default[i + 1]);
        gives_with(&feed, plain, HR_SCALAR, &without[i + 1]);
    }
}

static void a_case_takes_the_first_that_is_true(void **state)
{
    (void)state;
    hr_node first, last, nine = hr_scalar(g, HR_FLOAT, 9), alone;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    const hr_node predicates[] = {hr_less(x, hr_scalar(g, HR_FLOAT, 1)), hr_less(x, hr_scalar(g, HR_FLOAT, 5))};
    hr_branch_fn *const branches[] = {give_one, give_two};
    hr_case(predicates, branches, 2, &nine, &first, 1, .default_case = give_user);
    hr_case(predicates, branches, 2, &nine, &last, 1);
    hr_case(predicates, branches, 2, &nine, &alone, 1, .default_case = give_user, .exclusive = true);
    const float inputs[] = {0, 3, 7}, expected[] = {1, 2, 9};
    for (int i = 0; i < 3; i++) {
        const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &inputs[i])};
        gives_with(&feed, first, HR_SCALAR, &expected[i]);
        if (i < 2) gives_with(&feed, last, HR_SCALAR, &expected[i]);
        if (i > 0) gives_with(&feed, alone, HR_SCALAR, &expected[i]);
    }
    hr_session *s = hr_session_new(g);
    hr_error err = {0};
    hr_tensor out;
    const hr_feed low = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &inputs[0])},
                  high = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &inputs[2])};
    assert_status(hr_session_run(s, &low, 1, &alone, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "more than one condition is true");
    assert_status(hr_session_run(s, &high, 1, &last, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "none of the conditions is true");
    hr_session_free(s);
}

static void all_cases_give_the_same_types(void **state)
{
    (void)state;
    hr_node out;
    hr_branch_fn *const branches[] = {give_one, give_two, give_int};
    hr_switch_case(int_of(0), branches, 3, NULL, &out, 1);
    assert_text_contains(hr_graph_error(g)->text,
                         "hr_switch_case: expected result 0 of all branches to be of one type, got float32 and int32");
}

static void a_failed_assertion_shows_its_values(void **state)
{
    (void)state;
    const hr_view word = {"size", 4};
    const hr_tensor text = hr_tensor_of(HR_STRING, HR_SCALAR, &word);
    const hr_node no = hr_const_number(g, HR_BOOL, 0, NULL), values = floats(HR_SHAPE(4), HR_F32(1.5f, 2, 3, 4));
    const hr_node check = hr_new_node(g, "Assert", HR_INPUTS(no, hr_const(g, &text), values));
    hr_control_dependencies(g, &check, 1);
    const hr_node held = hr_identity(values);
    hr_control_end(g);
    refused(held, "assertion failed: [size] [1.5 2 3...]");
}

/* ---- what is refused ---- */

static void a_scalar_has_no_rows(void **state)
{
    (void)state;
    hr_node out;
    const hr_node x = hr_scalar(g, HR_FLOAT, 1);
    hr_map_loop(square, NULL, &x, 1, &out, 1);
    assert_text_contains(hr_graph_error(g)->text, "hr_map_loop: expected tensors of as many rows each");
    assert_false(hr_node_exists(out));
}

static void elems_have_as_many_rows_each(void **state)
{
    (void)state;
    hr_node out[2];
    const hr_node elems[] = {floats(HR_SHAPE(2), HR_F32(1, 2)), floats(HR_SHAPE(3), HR_F32(1, 2, 3))};
    hr_map_loop(sum_and_product, NULL, elems, 2, out, 2);
    assert_text_contains(hr_graph_error(g)->text, "hr_map_loop: expected tensors of as many rows each");
}

static void a_case_needs_bools(void **state)
{
    (void)state;
    hr_node out, number = int_of(1);
    hr_branch_fn *const branches[] = {give_one};
    hr_case(&number, branches, 1, NULL, &out, 1);
    assert_text_contains(hr_graph_error(g)->text, "predicates of type bool");
}

/* ---- allocation failures ---- */

static hr_status whole_life(hr_error *err)
{
    hr_status st = HR_RESOURCE_EXHAUSTED;
    hr_tensor out = {0};
    g = hr_graph_new();
    if (!g) return st;
    hr_node mapped, scanned, chosen, one = hr_const_number(g, HR_INT32, 1, NULL);
    hr_branch_fn *const branches[] = {give_one, give_two};
    const hr_node x = floats(HR_SHAPE(3, 2), HR_F32(1, 2, 3, 4, 5, 6));
    hr_map_loop(square_each, NULL, &x, 1, &mapped, 1);
    hr_scan_loop(append_digit, NULL, &mapped, 1, NULL, &scanned, 1);
    hr_switch_case(one, branches, 2, NULL, &chosen, 1);
    const hr_node fetch = hr_add(hr_reduce_sum(scanned), chosen);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    if (s) st = hr_session_run(s, NULL, 0, &fetch, 1, &out, err);
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

#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(an_array_is_written_read_and_stacked),
        LOOP_TEST(a_dynamic_array_grows),
        LOOP_TEST(a_map_makes_rows_of_rows),
        LOOP_TEST(results_may_be_of_other_types),
        LOOP_TEST(maps_may_be_within_maps_and_rows_unknown),
        LOOP_TEST(folds_go_from_either_end),
        LOOP_TEST(a_scan_keeps_what_each_row_gave),
        LOOP_TEST(a_scan_may_have_several_values),
        LOOP_TEST(a_value_may_change_its_shape),
        LOOP_TEST(derivatives_flow_through_maps_and_scans),
        LOOP_TEST(a_switch_case_runs_the_branch_of_its_index),
        LOOP_TEST(a_case_takes_the_first_that_is_true),
        LOOP_TEST(all_cases_give_the_same_types),
        LOOP_TEST(a_failed_assertion_shows_its_values),
        LOOP_TEST(a_scalar_has_no_rows),
        LOOP_TEST(elems_have_as_many_rows_each),
        LOOP_TEST(a_case_needs_bools),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
