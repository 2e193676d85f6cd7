/* NULL and numbers that are none in the place of arguments are errors, or nothing, never a crash. */
#include "tests/testing.h"
#include <headrace/control_flow.h>
#include <headrace/eager.h>
#include <headrace/graph_op.h>
#include <headrace/layers.h>
#include <headrace/ops.h>
#include <headrace/optimizers.h>
#include <headrace/pass.h>
#include <headrace/signature.h>
#include <math.h>
#include <string.h>

/* What calls are tried on. */
typedef struct bench {
    hr_graph *g;
    hr_session *s;
    hr_node x; /* float32 [2], of the graph */
    hr_error err;
} bench;

static hr_node two_floats(hr_graph *g)
{
    float values[] = {1, 2};
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), values);
    return hr_const(g, &t);
}

static void bench_begin(bench *b)
{
    memset(b, 0, sizeof *b);
    b->g = hr_graph_new();
    b->x = two_floats(b->g);
    b->s = hr_session_new(b->g, .workers = &(int){0});
}

static void bench_end(bench *b)
{
    hr_session_free(b->s);
    hr_graph_free(b->g);
}

/* ---- calls whose error sticks to the graph ---- */

static void branch(hr_graph *g, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_scalar(g, HR_FLOAT, 1);
}

static void node_without_op(bench *b) { hr_new_node(b->g, NULL); }
static void node_of_no_graph(bench *b)
{
    assert_null(hr_new_node(NULL, "Neg", .inputs = NULL, .input_count = 1).graph);
    assert_null(hr_graph_error(b->g));
}
static void node_of_null_inputs(bench *b) { hr_new_node(b->g, "Neg", .input_count = 1); }
static void node_of_negative_inputs(bench *b) { hr_new_node(b->g, "Neg", .inputs = &b->x, .input_count = -1); }
static void node_of_endless_inputs(bench *b) { hr_new_node(b->g, "Neg", .inputs = &b->x, .input_count = INT32_MAX); }
static void node_of_null_attrs(bench *b) { hr_new_node(b->g, "Neg", HR_INPUTS(b->x), .attr_count = 2); }
static void node_of_nameless_attr(bench *b) { hr_new_node(b->g, "Neg", HR_INPUTS(b->x), HR_ATTRS({.name = NULL})); }
static void node_of_null_controls(bench *b) { hr_new_node(b->g, "Neg", HR_INPUTS(b->x), .control_count = 1); }
static void node_of_negative_controls(bench *b)
{
    hr_new_node(b->g, "Neg", HR_INPUTS(b->x), .controls = &b->x, .control_count = INT32_MIN);
}
static void copy_without_inputs(bench *b) { hr_node_copy(b->g, hr_neg(b->x), NULL, NULL, 0); }
static void copy_of_null_attrs(bench *b) { hr_node_copy(b->g, hr_neg(b->x), &b->x, NULL, 1); }
static void function_without_results(bench *b) { hr_function_end(hr_function_begin(b->g, "f"), NULL, 1); }
static void function_of_negative_results(bench *b) { hr_function_end(hr_function_begin(b->g, "f"), &b->x, -1); }
static void end_of_no_function(bench *b) { hr_function_end(b->g, &b->x, 1); }
static void call_without_results(bench *b)
{
    hr_graph *body = hr_function_begin(b->g, "f");
    const hr_node one = hr_scalar(body, HR_FLOAT, 1);
    hr_call_function(hr_function_end(body, &one, 1), NULL, 0, NULL);
}
static void cond_without_results(bench *b) { hr_cond(b->x, branch, branch, NULL, NULL, 1); }
static void case_of_null_branch(bench *b)
{
    hr_node out;
    hr_branch_fn *const branches[] = {branch, NULL};
    hr_switch_case(hr_scalar(b->g, HR_INT32, 0), branches, 2, NULL, &out, 1);
}
static void read_of_no_array(bench *b) { hr_tensor_array_read(NULL, b->x); }
static void write_to_no_array(bench *b) { hr_tensor_array_write(NULL, b->x, b->x); }
static void step_of_no_gradients(bench *b) { hr_apply_gradients(hr_sgd(0.1), b->g, NULL, 1, NULL); }
static void shape_of_rank_99(bench *b)
{
    hr_shape shape = HR_SHAPE(1);
    shape.rank = 99;
    hr_shape_const(b->g, shape);
}

static void what_a_graph_cannot_do_sticks_to_it(void **state)
{
    (void)state;
    static const struct {
        void (*call)(bench *b);
        const char *kind;
    } tried[] = {
        {node_without_op, "graph.argument"},
        {node_of_null_inputs, "graph.argument"},
        {node_of_negative_inputs, "graph.argument"},
        {node_of_endless_inputs, "graph.argument"},
        {node_of_null_attrs, "graph.argument"},
        {node_of_nameless_attr, "graph.argument"},
        {node_of_null_controls, "graph.argument"},
        {node_of_negative_controls, "graph.argument"},
        {copy_without_inputs, "graph.argument"},
        {copy_of_null_attrs, "graph.argument"},
        {function_without_results, "graph.argument"},
        {function_of_negative_results, "graph.argument"},
        {end_of_no_function, "graph.function"},
        {call_without_results, "graph.argument"},
        {cond_without_results, "graph.function"},
        {case_of_null_branch, "graph.function"},
        {read_of_no_array, "graph.argument"},
        {write_to_no_array, "graph.argument"},
        {step_of_no_gradients, "graph.argument"},
        {shape_of_rank_99, "graph.shape"},
        {node_of_no_graph, NULL},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        bench b;
        bench_begin(&b);
        tried[i].call(&b);
        const hr_error *err = hr_graph_error(b.g);
        if (tried[i].kind)
            assert_string_equal(err ? err->kind : "none", tried[i].kind);
        else
            assert_null(err);
        bench_end(&b);
    }
}

/* ---- calls that give a status ---- */

static void refuses(const bench *b, hr_status st, const char *kind)
{
    assert_status(st, HR_INVALID_ARGUMENT);
    assert_string_equal(b->err.kind, kind);
}

static void results_need_a_place(void **state)
{
    (void)state;
    bench b;
    bench_begin(&b);
    hr_graph *e = hr_eager_new(.workers = &(int){0});
    hr_tape *tape = hr_tape_begin(e, .persistent = true);
    const hr_node x = two_floats(e);
    refuses(&b, hr_session_make_callable(b.s, NULL, 0, &b.x, 1, NULL, &b.err), "session.argument");
    refuses(&b, hr_partial_run_setup(b.s, NULL, 0, &b.x, 1, NULL, &b.err), "session.argument");
    refuses(&b, hr_session_get(b.s, b.x, NULL, &b.err), "session.argument");
    refuses(&b, hr_eager_get(x, NULL, &b.err), "eager.argument");
    refuses(&b, hr_eager_op(e, "Neg", NULL, &b.err, HR_INPUTS(x)), "eager.argument");
    refuses(&b, hr_tape_jacobian(tape, x, x, NULL, &b.err), "eager.argument");
    hr_node out;
    refuses(&b, hr_eager_op(e, "Neg", &out, &b.err, .input_count = 1), "graph.argument");
    const hr_signature *sig = NULL;
    refuses(&b, hr_graph_signature(NULL, "Neg", &sig, &b.err), "graph.argument");
    refuses(&b, hr_graph_signature(b.g, NULL, &sig, &b.err), "graph.argument");
    refuses(&b, hr_graph_signature(b.g, "Neg", NULL, &b.err), "graph.argument");
    assert_null(hr_graph_error(b.g));
    assert_null(hr_graph_error(e));
    hr_tape_free(tape);
    hr_graph_free(e);
    bench_end(&b);
}

/* ---- calls that look ---- */

static void looking_at_nothing_finds_nothing(void **state)
{
    (void)state;
    bench b;
    bench_begin(&b);
    int64_t seed = 7;
    const hr_signature *sig;
    assert_ok(hr_graph_signature(b.g, "Neg", &sig, &b.err), &b.err);
    assert_null(hr_get_collection(b.g, "losses", NULL));
    assert_null(hr_node_attr(b.x, NULL));
    assert_int_equal(hr_attr_int(b.x, NULL), 0);
    assert_null(hr_attr_ints(b.x, "value", NULL));
    assert_string_equal(hr_attr_func(b.x, NULL), "");
    assert_false(hr_handle_of(b.x, NULL));
    assert_null(hr_activation_named(NULL));
    assert_null(hr_graph_op_named(NULL));
    assert_null(hr_graph_op_at(INT32_MIN));
    assert_null(hr_signature_input(sig, 1));
    assert_null(hr_signature_output(sig, -1));
    assert_null(hr_signature_attr(NULL, 0));
    assert_int_equal(hr_signature_inputs(NULL), 0);
    assert_int_equal(hr_tape_watched(NULL, NULL, 3), 0);
    assert_null(hr_tensor_array_size(NULL).graph);
    assert_null(hr_tensor_array_stack(NULL).graph);
    assert_int_equal(hr_tensor_array_of(NULL, b.x).dtype, HR_INVALID_DTYPE);
    hr_graph_use(NULL, NULL);
    hr_random_seeds(NULL, 1, &seed, NULL);
    assert_int_equal(seed, 0);
    hr_random_seeds(b.g, 1, NULL, NULL);
    bench_end(&b);
}

/* The least width that there is, of 8 digits: none. */
static void a_width_below_0_is_none(void **state)
{
    (void)state;
    bench b;
    hr_tensor out;
    bench_begin(&b);
    const hr_node text = hr_new_node(b.g, "AsString", HR_INPUTS(b.x), HR_ATTRS(HR_INT_ATTR("width", INT64_MIN)));
    assert_ok(hr_session_run(b.s, NULL, 0, &text, 1, &out, &b.err), &b.err);
    assert_int_equal(((const hr_view *)out.data)[0].size, 8);
    hr_tensor_clear(&out);
    bench_end(&b);
}

static void a_shape_that_is_none_has_no_fans(void **state)
{
    (void)state;
    double in = 0, out = 0;
    hr_shape shape = HR_SHAPE(2, 3);
    hr_fans(shape, NULL, &out);
    assert_true(out == 3);
    shape.rank = 99;
    hr_fans(shape, &in, NULL);
    assert_nan(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_graph_cannot_do_sticks_to_it), cmocka_unit_test(results_need_a_place),
        cmocka_unit_test(looking_at_nothing_finds_nothing),    cmocka_unit_test(a_width_below_0_is_none),
        cmocka_unit_test(a_shape_that_is_none_has_no_fans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
