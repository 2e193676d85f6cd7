/* Derivatives through calls, branches and loops: against numbers worked out by hand, first and second ones, and that what
 * has an effect happens once. */
#include "tests/testing.h"
#include "train/graph/graph_internal.h"
#include "train/graphdef/graphdef.h"
#include "train/ops/ops.h"

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

static hr_node number(double value) { return hr_scalar(g, HR_DOUBLE, value); }
static hr_node input(const char *name) { return hr_placeholder(g, HR_DOUBLE, HR_SCALAR, .name = name); }

static hr_node gradient(hr_node y, hr_node x)
{
    hr_gradient dx;
    hr_gradients(&y, 1, &x, 1, &dx);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_true(hr_node_exists(dx.values));
    return hr_gradient_dense(dx);
}

typedef struct fed {
    hr_node node;
    double value;
} fed;

static hr_session *initialized(void)
{
    hr_error err;
    const hr_node init = hr_global_variables_initializer(g);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    return s;
}

/* The fetches in one run. */
static void run(hr_session *s, const fed *feeds, int count, const hr_node *fetches, double *out, int outputs)
{
    hr_error err;
    hr_tensor value[8];
    hr_feed feed[4];
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    for (int i = 0; i < count; i++)
        feed[i] = (hr_feed){feeds[i].node, hr_tensor_of(HR_DOUBLE, HR_SCALAR, &feeds[i].value)};
    assert_ok(hr_session_run(s, feed, count, fetches, outputs, value, &err), &err);
    for (int i = 0; i < outputs; i++) {
        out[i] = *(const double *)value[i].data;
        hr_tensor_clear(&value[i]);
    }
}

static double run_once(const fed *feeds, int count, hr_node fetch)
{
    double out;
    hr_session *s = initialized();
    run(s, feeds, count, &fetch, &out, 1);
    hr_session_free(s);
    return out;
}

static void assert_close(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * (1 + fabs(expected)))) fail_msg("expected %.17g, got %.17g", expected, got);
}

/* ---- calls ---- */

/* y = x exp(x w) */
static const hr_function *make_product(hr_node w)
{
    hr_graph *body = hr_function_begin(g, "product");
    const hr_node x = hr_function_input(body, HR_DOUBLE, HR_SCALAR, "x");
    const hr_node y = hr_mul(x, hr_exp(hr_mul(x, w)));
    return hr_function_end(body, &y, 1);
}

static void a_call_is_derived(void **state)
{
    (void)state;
    const hr_node x = input("x"), w = input("w");
    hr_node y;
    hr_call_function(make_product(w), &x, 1, &y);
    const fed at[] = {{x, 1.5}, {w, -0.5}};
    const double e = exp(1.5 * -0.5);
    assert_close(run_once(at, 2, gradient(y, x)), e + 1.5 * -0.5 * e);
    assert_close(run_once(at, 2, gradient(y, w)), 1.5 * 1.5 * e);
}

static void a_call_is_derived_twice(void **state)
{
    (void)state;
    const hr_node x = input("x"), w = input("w");
    hr_node y;
    hr_call_function(make_product(w), &x, 1, &y);
    const hr_node dx = gradient(y, x), ddx = gradient(dx, x), dxdw = gradient(dx, w);
    const fed at[] = {{x, 0.7}, {w, 1.25}};
    const double e = exp(0.7 * 1.25);
    assert_close(run_once(at, 2, ddx), 2 * 1.25 * e + 0.7 * 1.25 * 1.25 * e);
    assert_close(run_once(at, 2, dxdw), 2 * 0.7 * e + 0.7 * 0.7 * 1.25 * e);
}

/* Adds 1 to a counter each time it is called. */
static hr_node counted(hr_node counter, hr_node x)
{
    hr_graph *body = hr_function_begin(g, "counted");
    const hr_node in = hr_function_input(body, HR_DOUBLE, HR_SCALAR, "x");
    hr_assign_add(counter, hr_scalar(body, HR_DOUBLE, 1));
    const hr_node results[] = {hr_mul(hr_exp(in), in)};
    hr_node y;
    hr_call_function(hr_function_end(body, results, 1), &x, 1, &y);
    return y;
}

static void what_has_an_effect_happens_once(void **state)
{
    (void)state;
    double out[3];
    const hr_node x = input("x"), n = hr_get_variable(g, "n", HR_DOUBLE, HR_SCALAR, .initializer = hr_zeros());
    const hr_node y = counted(n, x), before[] = {y, gradient(y, x)};
    const fed at[] = {{x, 2}};
    hr_session *s = initialized();
    for (int turn = 1; turn <= 3; turn++) {
        run(s, at, 1, before, out, 2);
        assert_close(out[0], 2 * exp(2));
        assert_close(out[1], 3 * exp(2));
        run(s, NULL, 0, &n, out, 1);
        assert_close(out[0], turn);
    }
    hr_session_free(s);
}

static hr_node variable(const char *name, double value)
{
    return hr_get_variable(g, name, HR_DOUBLE, HR_SCALAR, .initializer = hr_constant_value(value));
}

static void a_variable_that_a_function_reads_has_a_gradient(void **state)
{
    (void)state;
    const hr_node x = input("x"), w = variable("w", 3);
    hr_node y;
    hr_call_function(make_product(w), &x, 1, &y);
    const fed at[] = {{x, 0.5}};
    assert_close(run_once(at, 1, gradient(y, w)), 0.25 * exp(1.5));
}

/* ---- branches ---- */

typedef struct pair {
    hr_node x, w;
} pair;

static void square_times(hr_graph *graph, hr_node *results, void *user)
{
    const pair *p = user;
    (void)graph;
    results[0] = hr_mul(hr_mul(p->x, p->x), p->w);
}

static void exponential(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_exp(hr_neg(((const pair *)user)->x));
}

static void both_branches_are_derived(void **state)
{
    (void)state;
    hr_node y;
    pair p = {input("x"), variable("w", 4)};
    const hr_node which = input("which");
    hr_cond(hr_less(which, number(0)), square_times, exponential, &p, &y, 1);
    const hr_node dx = gradient(y, p.x), dw = gradient(y, p.w), ddx = gradient(dx, p.x);
    const fed left[] = {{p.x, 3}, {which, -1}}, right[] = {{p.x, 3}, {which, 1}};
    assert_close(run_once(left, 2, dx), 24);
    assert_close(run_once(left, 2, dw), 9);
    assert_close(run_once(left, 2, ddx), 8);
    assert_close(run_once(right, 2, dx), -exp(-3));
    assert_close(run_once(right, 2, dw), 0);
    assert_close(run_once(right, 2, ddx), exp(-3));
}

static void outer_branch(hr_graph *graph, hr_node *results, void *user)
{
    const pair *p = user;
    hr_node inner;
    pair doubled = {hr_mul(p->x, hr_scalar(graph, HR_DOUBLE, 2)), p->w};
    hr_cond(hr_less(doubled.x, hr_scalar(graph, HR_DOUBLE, 10)), square_times, exponential, &doubled, &inner, 1);
    results[0] = hr_mul(inner, p->x);
}

static void branches_within_branches_are_derived(void **state)
{
    (void)state;
    hr_node y;
    pair p = {input("x"), variable("w", 0.5)};
    hr_cond(hr_less(number(0), p.x), outer_branch, exponential, &p, &y, 1);
    const hr_node dx = gradient(y, p.x), dw = gradient(y, p.w);
    const fed small[] = {{p.x, 2}}, large[] = {{p.x, 6}}, below[] = {{p.x, -1}};
    assert_close(run_once(small, 1, dx), 6 * 4);
    assert_close(run_once(small, 1, dw), 32);
    assert_close(run_once(large, 1, dx), exp(-12) - 12 * exp(-12));
    assert_close(run_once(large, 1, dw), 0);
    assert_close(run_once(below, 1, dx), -exp(1));
}

static void product_of_both(hr_graph *graph, hr_node *results, void *user)
{
    const pair *p = user;
    (void)graph;
    results[0] = hr_mul(p->x, p->w);
}

static void one_of_several_branches_is_derived(void **state)
{
    (void)state;
    hr_node y;
    pair p = {input("x"), variable("w", 4)};
    const hr_node which = hr_cast_to(input("which"), HR_INT32);
    hr_switch_case(which, ((hr_branch_fn *const[]){square_times, exponential, product_of_both}), 3, &p, &y, 1);
    const hr_node dx = gradient(y, p.x), dw = gradient(y, p.w), ddx = gradient(dx, p.x);
    const double expected[][3] = {{24, 9, 8}, {-exp(-3), 0, exp(-3)}, {4, 3, 0}};
    for (int i = 0; i < 3; i++) {
        const fed at[] = {{p.x, 3}, {hr_node_input(which, 0), i}};
        assert_close(run_once(at, 2, dx), expected[i][0]);
        assert_close(run_once(at, 2, dw), expected[i][1]);
        assert_close(run_once(at, 2, ddx), expected[i][2]);
    }
}

/* ---- slices ---- */

typedef struct table_pair {
    hr_node table, x;
} table_pair;

static void sum_of_rows(hr_graph *graph, hr_node *results, void *user)
{
    const table_pair *p = user;
    const hr_node rows = hr_gather(p->table, hr_ints(graph, HR_I64(1, 3, 1), 3), 0);
    results[0] = hr_mul(hr_reduce_sum(rows), p->x);
}

static void no_rows(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_exp(((const table_pair *)user)->x);
}

static void sum_of_all(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_reduce_sum(((const table_pair *)user)->table);
}

static void assert_rows(hr_session *s, const fed *feeds, int count, hr_node fetch, const double *expected, int values)
{
    hr_error err;
    hr_tensor out;
    hr_feed feed[4];
    for (int i = 0; i < count; i++)
        feed[i] = (hr_feed){feeds[i].node, hr_tensor_of(HR_DOUBLE, HR_SCALAR, &feeds[i].value)};
    assert_ok(hr_session_run(s, feed, count, &fetch, 1, &out, &err), &err);
    assert_int_equal(out.count, values);
    for (int i = 0; i < values; i++) assert_close(((const double *)out.data)[i], expected[i]);
    hr_tensor_clear(&out);
}

/* Of one branch slices, of another none, of a third all rows: slices. */
static void slices_stay_slices_through_branches(void **state)
{
    (void)state;
    static hr_branch_fn *const branches[] = {sum_of_rows, no_rows, sum_of_all};
    static const double expected[][8] = {{0, 0, 6, 6, 0, 0, 3, 3}, {0}, {1, 1, 1, 1, 1, 1, 1, 1}};
    const hr_node which = input("which");
    const table_pair p = {hr_get_variable(g, "t", HR_DOUBLE, HR_SHAPE(4, 2), .initializer = hr_ones()), input("x")};
    hr_node y[3];
    hr_switch_case(hr_cast_to(which, HR_INT32), branches, 3, (void *)&p, &y[0], 1);
    hr_cond(hr_less(which, number(1)), sum_of_rows, no_rows, (void *)&p, &y[1], 1);
    hr_cond(hr_less(which, number(2)), no_rows, sum_of_all, (void *)&p, &y[2], 1);
    hr_gradient by[3];
    for (int i = 0; i < 3; i++) {
        hr_gradients(&y[i], 1, &p.table, 1, &by[i]);
        assert_int_equal(by[i].indices.graph != NULL, i < 2);
    }
    const hr_node dense[] = {hr_gradient_dense(by[0]), hr_gradient_dense(by[1]), hr_gradient_dense(by[2])};
    hr_session *s = initialized();
    for (int i = 0; i < 3; i++) {
        const fed at[] = {{p.x, 3}, {which, i}};
        assert_rows(s, at, 2, dense[0], expected[i], 8);
        assert_rows(s, at, 2, dense[1], expected[i ? 1 : 0], 8);
        assert_rows(s, at, 2, dense[2], expected[i < 2 ? 1 : 2], 8);
        if (i == 1) assert_rows(s, at, 2, by[0].values, NULL, 0); /* of no row, not of all */
    }
    hr_session_free(s);
}

/* Also out of a call, and through Switch and Merge. */
static void slices_stay_slices_through_calls_and_switches(void **state)
{
    (void)state;
    static const double expected[][8] = {{0, 0, 6, 6, 0, 0, 3, 3}, {0}};
    const hr_node table = hr_get_variable(g, "t", HR_DOUBLE, HR_SHAPE(4, 2), .initializer = hr_ones()), x = input("x");
    hr_graph *body = hr_function_begin(g, "rows");
    const table_pair p = {table, x};
    hr_node result, y[2];
    sum_of_rows(body, &result, (void *)&p);
    hr_call_function(hr_function_end(body, &result, 1), NULL, 0, &y[0]);

    const hr_node low = hr_less(x, number(4));
    const hr_node read = hr_new_node(g, "ReadVariableOp", HR_INPUTS(table), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_DOUBLE)));
    const hr_node side = hr_node_output(hr_new_node(g, "Switch", HR_INPUTS(read, low)), 1);
    const hr_node other = hr_new_node(g, "Switch", HR_INPUTS(x, low));
    const hr_node rows = hr_reduce_sum(hr_gather(side, hr_ints(g, HR_I64(1, 3, 1), 3), 0));
    const hr_node ends[] = {hr_exp(other), hr_mul(rows, hr_node_output(other, 1))};
    y[1] = hr_new_node(g, "Merge", .inputs = ends, .input_count = 2);
    hr_node dense[2];
    for (int i = 0; i < 2; i++) {
        hr_gradient by;
        hr_gradients(&y[i], 1, &table, 1, &by);
        assert_non_null(by.indices.graph);
        dense[i] = hr_gradient_dense(by);
    }
    hr_session *s = initialized();
    const fed below = {x, 3}, above = {x, 5};
    assert_rows(s, &below, 1, dense[0], expected[0], 8);
    assert_rows(s, &below, 1, dense[1], expected[0], 8);
    assert_rows(s, &above, 1, dense[1], expected[1], 8);
    hr_session_free(s);
}

/* ---- loops ---- */

/* a becomes a x, and goes to an array. */
static void write_powers(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    const table_pair *p = user; /* here the table is an array */
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_DOUBLE, 1));
    results[1] = hr_mul(vars[1], p->x);
    results[2] = hr_new_node(graph, "TensorArrayWriteV3",
                             HR_INPUTS(p->table, hr_cast_to(vars[0], HR_INT32), results[1], vars[2]));
}

static void turns_below_four(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_DOUBLE, 4));
}

/* What a loop writes to a tensor array: two calls of hr_gradients, each with an array of its own. */
static void a_loop_that_writes_a_tensor_array_is_derived(void **state)
{
    (void)state;
    const hr_node array = hr_new_node(g, "TensorArrayV3", HR_INPUTS(hr_scalar(g, HR_INT32, 4)),
                                      HR_ATTRS(HR_TYPE_ATTR("dtype", HR_DOUBLE)));
    table_pair p = {array, input("x")};
    hr_node out[3];
    hr_while_loop(turns_below_four, write_powers, &p, ((hr_node[]){number(0), number(1), hr_node_output(array, 1)}), 3,
                  out);
    const hr_node at = hr_ints(g, HR_I64(0, 1, 2, 3), 4);
    const hr_node all =
        hr_new_node(g, "TensorArrayGatherV3", HR_INPUTS(array, at, out[2]), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_DOUBLE)));
    const hr_node sum = hr_reduce_sum(all), squares = hr_reduce_sum(hr_square(all));
    const hr_node fetch[] = {sum, gradient(sum, p.x), gradient(squares, p.x)};
    const fed x = {p.x, 1.5};
    double got[3];
    hr_session *s = hr_session_new(g);
    run(s, &x, 1, fetch, got, 3);
    hr_session_free(s);
    assert_close(got[0], 1.5 + pow(1.5, 2) + pow(1.5, 3) + pow(1.5, 4));
    assert_close(got[1], 1 + 2 * 1.5 + 3 * pow(1.5, 2) + 4 * pow(1.5, 3));
    assert_close(got[2], 2 * 1.5 + 4 * pow(1.5, 3) + 6 * pow(1.5, 5) + 8 * pow(1.5, 7));
}

static void turns_below(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_less(vars[0], ((const pair *)user)->w);
}

/* y becomes y x: x is the same in each turn. */
static void times_x(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_DOUBLE, 1));
    results[1] = hr_mul(vars[1], ((const pair *)user)->x);
}

static void a_loop_is_derived(void **state)
{
    (void)state;
    hr_node out[2];
    pair p = {input("x"), input("turns")};
    hr_while_loop(turns_below, times_x, &p, ((hr_node[]){number(0), number(1)}), 2, out);
    const hr_node dx = gradient(out[1], p.x), ddx = gradient(dx, p.x), dddx = gradient(ddx, p.x);
    for (int n = 0; n < 6; n++) {
        const fed at[] = {{p.x, 1.5}, {p.w, n}};
        assert_close(run_once(at, 2, out[1]), pow(1.5, n));
        assert_close(run_once(at, 2, dx), n * pow(1.5, n - 1));
        assert_close(run_once(at, 2, ddx), n * (n - 1) * pow(1.5, n - 2));
        assert_close(run_once(at, 2, dddx), n * (n - 1) * (n - 2) * pow(1.5, n - 3));
    }
}

/* y becomes sin-like: y = y - y^3 w. */
static void logistic(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_DOUBLE, 1));
    results[1] = hr_mul(((const pair *)user)->x, hr_mul(vars[1], hr_sub(hr_scalar(graph, HR_DOUBLE, 1), vars[1])));
}

static double logistic_map(double r, double y, int turns)
{
    for (int i = 0; i < turns; i++) y = r * y * (1 - y);
    return y;
}

static void a_loop_over_a_variable_is_derived(void **state)
{
    (void)state;
    hr_node out[2];
    pair p = {variable("r", 3.2), number(7)};
    const hr_node y = input("y");
    hr_while_loop(turns_below, logistic, &p, ((hr_node[]){number(0), y}), 2, out);
    const hr_node dy = gradient(out[1], y), dr = gradient(out[1], p.x);
    const fed at[] = {{y, 0.3}};
    const double h = 1e-6;
    const double by_y = (logistic_map(3.2, 0.3 + h, 7) - logistic_map(3.2, 0.3 - h, 7)) / (2 * h);
    const double by_r = (logistic_map(3.2 + h, 0.3, 7) - logistic_map(3.2 - h, 0.3, 7)) / (2 * h);
    assert_true(fabs(run_once(at, 1, dy) - by_y) < 1e-6);
    assert_true(fabs(run_once(at, 1, dr) - by_r) < 1e-6);
}

/* A loop within a loop: y becomes y x^3. */
static void inner_loop(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    const pair *outer = user;
    hr_node out[2];
    pair p = {outer->x, hr_scalar(graph, HR_DOUBLE, 3)};
    const hr_node begin[] = {hr_scalar(graph, HR_DOUBLE, 0), vars[1]};
    hr_while_loop(turns_below, times_x, &p, begin, 2, out);
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_DOUBLE, 1));
    results[1] = out[1];
}

static void loops_within_loops_are_derived(void **state)
{
    (void)state;
    hr_node out[2];
    pair p = {input("x"), input("turns")};
    hr_while_loop(turns_below, inner_loop, &p, ((hr_node[]){number(0), number(2)}), 2, out);
    const hr_node dx = gradient(out[1], p.x), ddx = gradient(dx, p.x);
    const fed at[] = {{p.x, 1.1}, {p.w, 4}};
    assert_close(run_once(at, 2, out[1]), 2 * pow(1.1, 12));
    assert_close(run_once(at, 2, dx), 24 * pow(1.1, 11));
    assert_close(run_once(at, 2, ddx), 24 * 11 * pow(1.1, 10));
}

/* A branch within a loop: odd turns multiply, even ones square. */
static void branch_of_a_turn(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    pair p = {vars[1], ((const pair *)user)->x};
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_DOUBLE, 1));
    hr_cond(hr_less(vars[0], hr_scalar(graph, HR_DOUBLE, 2)), square_times, exponential, &p, &results[1], 1);
}

static void branches_within_loops_are_derived(void **state)
{
    (void)state;
    hr_node out[2];
    pair p = {input("x"), number(3)};
    const hr_node y = input("y");
    hr_while_loop(turns_below, branch_of_a_turn, &p, ((hr_node[]){number(0), y}), 2, out);
    /* (y^2 x)^2 x = y^4 x^3, then exp(-that) */
    const fed at[] = {{p.x, 1.2}, {y, 0.9}};
    const double v = pow(0.9, 4) * pow(1.2, 3);
    assert_close(run_once(at, 2, out[1]), exp(-v));
    assert_close(run_once(at, 2, gradient(out[1], y)), -exp(-v) * 4 * pow(0.9, 3) * pow(1.2, 3));
    assert_close(run_once(at, 2, gradient(out[1], p.x)), -exp(-v) * 3 * pow(0.9, 4) * pow(1.2, 2));
}

static void random_step(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    const hr_node noise = hr_uniform_values(hr_ints(graph, NULL, 0), HR_DOUBLE, 7);
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_DOUBLE, 1));
    results[1] = hr_mul(vars[1], noise);
}

/* The derivative sees the numbers that were drawn: y = x times them all. */
static void a_loop_that_draws_numbers_is_run_once(void **state)
{
    (void)state;
    double got[2];
    hr_node out[2];
    pair p = {{0}, number(5)};
    const hr_node x = input("x");
    hr_while_loop(turns_below, random_step, &p, ((hr_node[]){number(0), x}), 2, out);
    const hr_node both[] = {out[1], gradient(out[1], x)};
    const fed at[] = {{x, 2}};
    hr_session *s = initialized();
    for (int i = 0; i < 3; i++) {
        run(s, at, 1, both, got, 2);
        assert_close(got[0], 2 * got[1]);
    }
    hr_session_free(s);
}

static void a_variable_read_in_a_loop_has_a_gradient_by_its_handle(void **state)
{
    (void)state;
    hr_node out[2];
    pair p = {variable("x", 2), number(3)};
    hr_while_loop(turns_below, times_x, &p, ((hr_node[]){number(0), number(1)}), 2, out);
    assert_close(run_once(NULL, 0, gradient(out[1], p.x)), 12);
}

/* ---- files ---- */

static void derivatives_are_the_same_from_a_file(void **state)
{
    (void)state;
    hr_error err;
    char *bytes;
    size_t size;
    double got[3];
    hr_node out[2];
    pair p = {input("x"), input("turns")};
    hr_while_loop(turns_below, inner_loop, &p, ((hr_node[]){number(0), number(2)}), 2, out);
    const hr_node dx = hr_identity(gradient(out[1], p.x), .name = "dx");
    hr_identity(gradient(dx, p.x), .name = "ddx");
    hr_identity(out[1], .name = "y");
    assert_ok(hr_graph_export(g, &bytes, &size, &err), &err);
    hr_graph *read = hr_graph_new();
    assert_ok(hr_graph_import(read, ((hr_view){bytes, (int64_t)size}), &err), &err);
    assert_false(hr_node_exists(hr_graph_node(read, "extended")));
    const hr_node fetches[] = {hr_graph_node(read, "y"), hr_graph_node(read, "dx"), hr_graph_node(read, "ddx")};
    const fed at[] = {{hr_graph_node(read, "x"), 1.1}, {hr_graph_node(read, "turns"), 4}};
    hr_session *s = hr_session_new(read);
    run(s, at, 2, fetches, got, 3);
    assert_close(got[0], 2 * pow(1.1, 12));
    assert_close(got[1], 24 * pow(1.1, 11));
    assert_close(got[2], 24 * 11 * pow(1.1, 10));
    hr_session_free(s);
    hr_graph_free(read);
    hr_free(bytes);
}

/* ---- TensorFlow 1's branches ---- */

static void switch_and_merge_are_derived(void **state)
{
    (void)state;
    const hr_node x = input("x"), which = input("which");
    const hr_node sides = hr_new_node(g, "Switch", HR_INPUTS(x, hr_less(which, number(0))));
    const hr_node ends[] = {hr_exp(sides), hr_mul(hr_node_output(sides, 1), hr_node_output(sides, 1))};
    const hr_node y = hr_mul(hr_new_node(g, "Merge", .inputs = ends, .input_count = 2), x), dx = gradient(y, x);
    const fed left[] = {{x, 3}, {which, -1}}, right[] = {{x, 3}, {which, 1}};
    assert_close(run_once(left, 2, dx), 27);
    assert_close(run_once(right, 2, dx), 4 * exp(3));
}

/* In the turns below 2, y^2 x; in the others exp(-y), or y x if the turn is 3. */
static void switched_turn(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    const hr_node x = ((const pair *)user)->x, early = hr_less(vars[0], hr_scalar(graph, HR_DOUBLE, 2));
    const hr_node y = hr_new_node(graph, "Switch", HR_INPUTS(vars[1], early));
    const hr_node factor = hr_new_node(graph, "Switch", HR_INPUTS(x, early)), turn = vars[0];
    const hr_node third = hr_new_node(graph, "Equal", HR_INPUTS(turn, hr_scalar(graph, HR_DOUBLE, 3)));
    const hr_node is_third = hr_new_node(graph, "Switch", HR_INPUTS(third, early));
    const hr_node late = hr_new_node(graph, "Switch", HR_INPUTS(y, is_third));
    const hr_node late_factor = hr_new_node(graph, "Switch", HR_INPUTS(factor, is_third));
    const hr_node ends[] = {hr_exp(hr_neg(late)), hr_mul(hr_node_output(late, 1), hr_node_output(late_factor, 1))};
    const hr_node square = hr_square(hr_node_output(y, 1));
    const hr_node both[] = {hr_new_node(graph, "Merge", .inputs = ends, .input_count = 2),
                            hr_mul(square, hr_node_output(factor, 1))};
    results[0] = hr_add(turn, hr_scalar(graph, HR_DOUBLE, 1));
    results[1] = hr_new_node(graph, "Merge", .inputs = both, .input_count = 2);
}

/* The value and its first two derivatives by x. */
static void switched_turns(double x, int turns, double v[3])
{
    v[0] = x, v[1] = 1, v[2] = 0;
    for (int i = 0; i < turns; i++) {
        const double y = v[0], d = v[1], dd = v[2];
        if (i < 2) {
            v[0] = y * y * x;
            v[1] = 2 * y * d * x + y * y;
            v[2] = 2 * d * d * x + 2 * y * dd * x + 4 * y * d;
        } else if (i == 3) {
            v[0] = y * x, v[1] = d * x + y, v[2] = dd * x + 2 * d;
        } else {
            v[0] = exp(-y), v[1] = -exp(-y) * d, v[2] = exp(-y) * (d * d - dd);
        }
    }
}

static void switch_and_merge_within_a_loop_are_derived(void **state)
{
    (void)state;
    hr_node out[2];
    pair p = {input("x"), input("turns")};
    hr_while_loop(turns_below, switched_turn, &p, ((hr_node[]){number(0), p.x}), 2, out);
    const hr_node dx = gradient(out[1], p.x), ddx = gradient(dx, p.x);
    for (int n = 0; n < 6; n++) {
        const fed at[] = {{p.x, 1.1}, {p.w, n}};
        double expected[3];
        switched_turns(1.1, n, expected);
        assert_close(run_once(at, 2, out[1]), expected[0]);
        assert_close(run_once(at, 2, dx), expected[1]);
        assert_close(run_once(at, 2, ddx), expected[2]);
    }
}

/* A variable that is read in one branch of a function. */
static void a_call_with_switch_and_merge_is_derived(void **state)
{
    (void)state;
    const hr_node v = variable("v", 3), x = input("x");
    hr_graph *body = hr_function_begin(g, "sides");
    const hr_node of_body = hr_function_input(body, HR_DOUBLE, HR_SCALAR, "x");
    const hr_node low = hr_less(of_body, hr_scalar(body, HR_DOUBLE, 0));
    const hr_node sides = hr_new_node(body, "Switch", HR_INPUTS(of_body, low));
    const hr_node handles = hr_new_node(body, "Switch", HR_INPUTS(v, low), HR_ATTRS(HR_TYPE_ATTR("T", HR_RESOURCE)));
    const hr_node read =
        hr_new_node(body, "ReadVariableOp", HR_INPUTS(handles), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_DOUBLE)));
    const hr_node ends[] = {hr_mul(hr_square(read), sides), hr_exp(hr_node_output(sides, 1))};
    const hr_node both = hr_new_node(body, "Merge", .inputs = ends, .input_count = 2);
    const hr_function *f = hr_function_end(body, &both, 1);
    hr_node y;
    hr_call_function(f, &x, 1, &y);
    const hr_node fetch[] = {y, gradient(y, x), gradient(y, v)};
    hr_session *s = initialized();
    for (int i = 0; i < 2; i++) {
        const fed at = {x, i ? -.5 : 2};
        const double expected[2][3] = {{18, 9, 12}, {exp(-.5), exp(-.5), 0}};
        double got[3];
        run(s, &at, 1, fetch, got, 3);
        for (int n = 0; n < 3; n++) assert_close(got[n], expected[i][n]);
    }
    hr_session_free(s);
}

/* ---- options ---- */

static void a_gradient_within_a_branch_is_by_what_is_around_it(hr_graph *graph, hr_node *results, void *user)
{
    const pair *p = user;
    hr_gradient dx;
    const hr_node y = hr_mul(hr_mul(p->x, p->x), hr_scalar(graph, HR_DOUBLE, 5));
    hr_gradients(&y, 1, &p->x, 1, &dx);
    results[0] = hr_gradient_dense(dx);
}

static void gradients_may_be_taken_within_a_branch(void **state)
{
    (void)state;
    hr_node y;
    pair p = {input("x"), number(0)};
    hr_cond(hr_less(number(0), p.x), a_gradient_within_a_branch_is_by_what_is_around_it, exponential, &p, &y, 1);
    const fed at[] = {{p.x, 2}};
    assert_close(run_once(at, 1, y), 20);
    assert_close(run_once(at, 1, gradient(y, p.x)), 10);
}

static void an_unconnected_x_has_zeros_if_asked_for(void **state)
{
    (void)state;
    hr_gradient out[2];
    const hr_node x = input("x"), other = input("other"), y = hr_exp(x), xs[] = {x, other};
    hr_gradients(&y, 1, xs, 2, out);
    assert_null(out[1].values.graph);
    hr_gradients(&y, 1, xs, 2, out, .zero_unconnected = true);
    const fed at[] = {{other, 2}};
    assert_close(run_once(at, 1, out[1].values), 0);
}

static void sums_in_pairs_are_the_same(void **state)
{
    (void)state;
    hr_gradient dx;
    const hr_node x = input("x"), y = hr_mul(hr_mul(x, x), hr_mul(x, x));
    hr_gradients(&y, 1, &x, 1, &dx, .sum_in_pairs = true);
    const fed at[] = {{x, 2}};
    assert_close(run_once(at, 1, dx.values), 32);
}

static void ten_times(hr_backward *b)
{
    b->out[0] = hr_dense_gradient(hr_mul(b->grad[0], hr_scalar(b->graph, HR_DOUBLE, 10)));
}

static void a_gradient_can_be_overridden(void **state)
{
    (void)state;
    const hr_node x = input("x");
    hr_gradient_override(g, "Exp", ten_times);
    const hr_node y = hr_exp(x);
    hr_gradient_override_end(g);
    hr_gradient_override(g, "Exp", NULL);
    const hr_node stopped = hr_mul(hr_exp(x), x);
    hr_gradient_override_end(g);
    const hr_node z = hr_exp(x);
    const fed at[] = {{x, 0.5}};
    assert_close(run_once(at, 1, gradient(y, x)), 10);
    assert_close(run_once(at, 1, gradient(stopped, x)), exp(0.5));
    assert_close(run_once(at, 1, gradient(z, x)), exp(0.5));
}

/* ---- what is refused ---- */

static void a_function_that_calls_itself_is_refused(void **state)
{
    (void)state;
    hr_gradient dx;
    const hr_node x = input("x");
    hr_graph *body = hr_function_begin(g, "endless");
    const hr_node in = hr_function_input(body, HR_DOUBLE, HR_SCALAR, "x");
    const hr_func self = {"endless", NULL, 0};
    const hr_dtype type = HR_DOUBLE;
    const hr_node again = hr_new_node(body, "PartitionedCall", HR_INPUTS(hr_mul(in, in)),
                                      HR_ATTRS(HR_FUNC_ATTR("f", &self), HR_TYPES_ATTR("Tout", &type, 1)));
    hr_node y;
    hr_call_function(hr_function_end(body, &again, 1), &x, 1, &y);
    assert_null(hr_graph_error(g));
    hr_gradients(&y, 1, &x, 1, &dx);
    assert_non_null(hr_graph_error(g));
    assert_text_contains(hr_graph_error(g)->text, "does not call itself");
}

int main(void)
{
#define ON_A_GRAPH(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        ON_A_GRAPH(a_call_is_derived),
        ON_A_GRAPH(a_call_is_derived_twice),
        ON_A_GRAPH(what_has_an_effect_happens_once),
        ON_A_GRAPH(a_variable_that_a_function_reads_has_a_gradient),
        ON_A_GRAPH(both_branches_are_derived),
        ON_A_GRAPH(branches_within_branches_are_derived),
        ON_A_GRAPH(one_of_several_branches_is_derived),
        ON_A_GRAPH(derivatives_are_the_same_from_a_file),
        ON_A_GRAPH(slices_stay_slices_through_branches),
        ON_A_GRAPH(slices_stay_slices_through_calls_and_switches),
        ON_A_GRAPH(a_loop_that_writes_a_tensor_array_is_derived),
        ON_A_GRAPH(switch_and_merge_are_derived),
        ON_A_GRAPH(switch_and_merge_within_a_loop_are_derived),
        ON_A_GRAPH(a_call_with_switch_and_merge_is_derived),
        ON_A_GRAPH(gradients_may_be_taken_within_a_branch),
        ON_A_GRAPH(an_unconnected_x_has_zeros_if_asked_for),
        ON_A_GRAPH(sums_in_pairs_are_the_same),
        ON_A_GRAPH(a_gradient_can_be_overridden),
        ON_A_GRAPH(a_function_that_calls_itself_is_refused),
        ON_A_GRAPH(a_loop_is_derived),
        ON_A_GRAPH(a_loop_over_a_variable_is_derived),
        ON_A_GRAPH(loops_within_loops_are_derived),
        ON_A_GRAPH(branches_within_loops_are_derived),
        ON_A_GRAPH(a_loop_that_draws_numbers_is_run_once),
        ON_A_GRAPH(a_variable_read_in_a_loop_has_a_gradient_by_its_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
