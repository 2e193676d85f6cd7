/* What a user adds from outside, by the installed headers alone, works as what the library brings: the files outside_*.c
 * are compiled without any private header (tests/kits.cmake). */
#include "tests/testing.h"
#include "tests/train/summary/read_events.h"

#include <headrace/train.h>
#include <math.h>
#include <string.h>

extern const hr_graph_op outside_ops[];
hr_node outside_squared_gap(hr_node a, hr_node b);
extern const hr_optimizer_kind outside_signs;
hr_optimizer *outside_signs_new(double rate);
extern const hr_hook_kind outside_mean_loss;
hr_hook *outside_mean_loss_hook(hr_node loss, int64_t every_steps, hr_summary_writer *writer);

static hr_graph *g;
static hr_session *s;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    for (const hr_graph_op *op = outside_ops; op->name; op++) hr_graph_use(g, op);
    return g ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    s = NULL;
    return 0;
}

static hr_node floats(int64_t rows, int64_t columns, const float *values)
{
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, columns), values);
    return hr_const(g, &t);
}

static hr_tensor value_of(hr_node node)
{
    hr_error err;
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    if (!s) s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    return out;
}

static void expect_floats(hr_node node, int64_t count, const float *expected)
{
    hr_tensor out = value_of(node);
    assert_int_equal(out.count, count);
    for (int64_t i = 0; i < count; i++) assert_float_equal(((const float *)out.data)[i], expected[i], 0);
    hr_tensor_clear(&out);
}

static void an_op_broadcasts_in_every_type_of_numbers(void **state)
{
    (void)state;
    const hr_node a = floats(2, 1, (const float[]){1, 4}), b = floats(1, 3, (const float[]){0, 1, 3});
    const hr_node gap = outside_squared_gap(a, b);
    assert_string_equal(hr_node_name(gap), "SquaredGap");
    expect_floats(gap, 6, (const float[]){1, 0, 4, 16, 9, 1});
    const hr_node bytes = outside_squared_gap(hr_cast_to(a, HR_INT8), hr_cast_to(b, HR_INT8));
    expect_floats(hr_cast_to(bytes, HR_FLOAT), 6, (const float[]){1, 0, 4, 16, 9, 1});
}

static void an_op_has_a_gradient(void **state)
{
    (void)state;
    const hr_node x[] = {floats(2, 1, (const float[]){1, 4}), floats(1, 3, (const float[]){0, 1, 3})};
    const hr_node gap = outside_squared_gap(x[0], x[1]);
    hr_gradient out[2];
    hr_gradients(&gap, 1, x, 2, out);
    expect_floats(out[0].values, 2, (const float[]){2 * (1 + 0 - 2), 2 * (4 + 3 + 1)});
    expect_floats(out[1].values, 3, (const float[]){-2 * (1 + 4), -2 * (0 + 3), -2 * (-2 + 1)});
}

static void an_op_moves_strings_and_reads_an_axis(void **state)
{
    (void)state;
    const hr_view words[] = {hr_text_view("a"), hr_text_view("bb"), hr_text_view("a longer one, of its own")};
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(1, 3), words);
    const hr_node x = hr_const(g, &t);
    hr_tensor out = value_of(hr_new_node(g, "Outside>Reverse", HR_INPUTS(x, hr_scalar(g, HR_INT32, -1))));
    for (int i = 0; i < 3; i++) {
        const hr_view word = ((const hr_view *)out.data)[i];
        assert_int_equal(word.size, words[2 - i].size);
        assert_memory_equal(word.data, words[2 - i].data, (size_t)word.size);
    }
    hr_tensor_clear(&out);
    assert_false(hr_node_exists(hr_new_node(g, "Outside>Reverse", HR_INPUTS(x, hr_scalar(g, HR_INT32, 2)))));
    assert_text_contains(hr_graph_error(g)->text, "expected an axis in [-2, 2), got 2");
}

static void an_attribute_of_another_kind_is_told_from_the_right_one(void **state)
{
    (void)state;
    const hr_node x = floats(1, 2, (const float[]){1, 4});
    hr_new_node(g, "MatMul", HR_INPUTS(x, x), HR_ATTRS(HR_INT_ATTR("transpose_a", 1)));
    assert_text_contains(hr_graph_error(g)->text, "attribute 'transpose_a': expected bool, got int");
}

/* A descriptor of a newer header, with one field more, or of another version. */
typedef struct longer_op {
    hr_graph_op op;
    void *further;
} longer_op;

static void ops_of_older_and_newer_headers_fit(void **state)
{
    (void)state;
    static hr_graph_op older, without,
        other; /* the graph and its session borrow them until they are freed, after this test */
    static longer_op newer, beyond;
    without = other = newer.op = beyond.op = outside_ops[0];
    older = outside_ops[1];
    beyond.further = &newer;
    older.head.struct_size = offsetof(hr_graph_op, gradient);
    older.gradient = (void (*)(hr_backward *))(uintptr_t)1; /* lies beyond it, and is not looked at */
    older.name = "Outside>Older";
    without.head.struct_size = offsetof(hr_graph_op, kernels);
    without.name = "Outside>Without";
    newer.op.head.struct_size = beyond.op.head.struct_size = sizeof newer;
    newer.op.name = "Outside>Newer";
    other.head.abi_version = HR_GRAPH_OP_ABI + 1;
    hr_graph_use(g, &older);
    hr_graph_use(g, &without);
    hr_graph_use(g, &newer.op);
    const hr_node x = floats(1, 2, (const float[]){1, 4}), y = floats(1, 2, (const float[]){0, 1});
    const hr_node back = hr_new_node(g, "Outside>Older", HR_INPUTS(x, hr_scalar(g, HR_INT32, 1)));
    expect_floats(back, 2, (const float[]){4, 1});
    expect_floats(hr_new_node(g, "Outside>Newer", HR_INPUTS(x, y)), 2, (const float[]){1, 9});
    const hr_node gap = hr_new_node(g, "Outside>Without", HR_INPUTS(x, y));
    hr_error err;
    hr_tensor none;
    assert_status(hr_session_run(s, NULL, 0, &gap, 1, &none, &err), HR_INVALID_ARGUMENT); /* its table is not seen */
    assert_string_equal(err.kind, "graph.kernel");
    hr_gradient out;
    hr_gradients(&back, 1, &x, 1, &out); /* there is none */
    assert_string_equal(hr_graph_error(g)->kind, "graph.gradient");
    const hr_graph_op *const refused[] = {&beyond.op, &other, NULL};
    for (int i = 0; i < 3; i++) {
        hr_graph *fresh = hr_graph_new();
        hr_graph_use(fresh, refused[i]);
        assert_non_null(hr_graph_error(fresh));
        assert_string_equal(hr_graph_error(fresh)->kind, "graph.abi");
        hr_graph_free(fresh);
    }
}

/* Trains w by the loss, for two steps; gives the variable's values. */
static hr_tensor trained(hr_node w, hr_node loss, hr_optimizer *optimizer)
{
    hr_error err;
    hr_node train = hr_target(hr_minimize(optimizer, loss)), init = hr_global_variables_initializer(g);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int i = 0; i < 2; i++) assert_ok(hr_session_run(s, NULL, 0, &train, 1, NULL, &err), &err);
    return value_of(hr_identity(w));
}

static void a_kind_of_optimizer_trains_with_slots_of_its_own(void **state)
{
    (void)state;
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2), .initializer = hr_zeros());
    const hr_tensor slope = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), ((const float[]){3, -0.5f}));
    hr_tensor out = trained(w, hr_reduce_sum(hr_mul(w, hr_const(g, &slope))), outside_signs_new(0.25));
    assert_float_equal(((const float *)out.data)[0], -0.5, 0);
    assert_float_equal(((const float *)out.data)[1], 0.5, 0);
    hr_tensor_clear(&out);
    assert_non_null(hr_variable_named(g, "Signs/w/m"));
    assert_non_null(hr_variable_named(g, "Signs/learning_rate"));
}

static void a_kind_of_optimizer_updates_rows_once(void **state)
{
    (void)state;
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(3, 1), .initializer = hr_zeros());
    const hr_node rows = hr_gather(w, hr_ints(g, HR_I64(2, 0, 2), 3), 0);
    const hr_tensor slope = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 1), ((const float[]){-3, 1, 2}));
    hr_tensor out = trained(w, hr_reduce_sum(hr_mul(rows, hr_const(g, &slope))), outside_signs_new(0.25));
    const float expected[] = {-0.5f, 0, 0.5f}; /* row 2: by the sign of -3 + 2 */
    for (int i = 0; i < 3; i++) assert_float_equal(((const float *)out.data)[i], expected[i], 0);
    hr_tensor_clear(&out);
}

static void kinds_of_optimizers_of_older_and_newer_headers_fit(void **state)
{
    (void)state;
    struct {
        hr_optimizer_kind kind;
        void *further;
    } newer = {outside_signs, NULL}, beyond = {outside_signs, &newer};
    hr_optimizer_kind older = outside_signs, other = outside_signs, none = outside_signs;
    const double *given[HR_MAX_PARAMETERS] = {NULL};
    older.head.struct_size = offsetof(hr_optimizer_kind, finish);
    older.finish = (int (*)(hr_minimizer *, hr_node *))(uintptr_t)1;
    newer.kind.head.struct_size = beyond.kind.head.struct_size = sizeof newer;
    other.head.abi_version = HR_OPTIMIZER_ABI + 1;
    none.update = NULL;
    const struct {
        const hr_optimizer_kind *kind;
        const char *error;
    } cases[] = {{&older, NULL},
                 {&newer.kind, NULL},
                 {&beyond.kind, "optimizer.abi"},
                 {&other, "optimizer.abi"},
                 {&none, "optimizer.kind"},
                 {NULL, "optimizer.abi"},
                 {&outside_signs, NULL}};
    for (int i = 0; i < 7; i++) {
        hr_optimizer *o = hr_optimizer_new(cases[i].kind, i < 6 ? given : NULL, NULL);
        if (cases[i].error)
            assert_string_equal(hr_optimizer_error(o)->kind, cases[i].error);
        else
            assert_null(hr_optimizer_error(o));
        hr_optimizer_free(o);
    }
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(1), .initializer = hr_zeros());
    hr_tensor out =
        trained(w, hr_reduce_sum(w), hr_optimizer_new(&older, (const double *[]){&(double){1}, NULL, NULL}, NULL));
    assert_float_equal(*(const float *)out.data, -2, 0);
    hr_tensor_clear(&out);
}

/* Runs a loss that is 1, 2, 3, ..., under the hook; what the session and its end say. */
static hr_status watched(hr_hook *hook, hr_node loss, hr_node step, int steps, hr_error *err)
{
    hr_status st = HR_OK;
    hr_monitored_session *m = hr_monitored_session_new(g, &hook, 1);
    for (int i = 0; i < steps && st == HR_OK; i++) {
        const float value = (float)(i + 1);
        const hr_feed feed = {loss, hr_tensor_of(HR_FLOAT, HR_SCALAR, &value)};
        st = hr_monitored_run(m, &feed, 1, &step, 1, NULL, err);
    }
    const hr_status closed = hr_monitored_session_close(m, st != HR_OK, st == HR_OK ? err : NULL);
    return st == HR_OK ? closed : st;
}

static hr_node a_step(void) { return hr_target(hr_assign_add(hr_global_step(g), hr_scalar(g, HR_INT64, 1))); }

static void a_hook_fetches_and_writes_every_so_many_steps(void **state)
{
    (void)state;
    hr_error err;
    char path[512];
    event_list list = {0};
    const hr_node loss = hr_placeholder(g, HR_FLOAT, HR_SCALAR), step = a_step();
    hr_summary_writer *writer = hr_summary_writer_new("events");
    assert_ok(watched(outside_mean_loss_hook(loss, 2, writer), loss, step, 5, &err), &err);
    hr_summary_writer_unref(writer);
    assert_ok(read_events(event_file_in("events", path, sizeof path), &list, &err), &err);
    static const float expected[] = {1, 2.5f, 4.5f}; /* after steps 1, 3 and 5 */
    assert_int_equal(list.count, 1 + 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(list.event[1 + i]->step, 1 + 2 * i);
        assert_float_equal(list.event[1 + i]->summary->value[0]->simple_value, expected[i], 0);
    }
    free_events(&list);
}

static void a_hook_says_what_it_was_not_given(void **state)
{
    (void)state;
    hr_error err;
    const hr_node loss = hr_placeholder(g, HR_FLOAT, HR_SCALAR), step = a_step();
    hr_summary_writer *writer = hr_summary_writer_new("events");
    assert_status(watched(outside_mean_loss_hook(loss, 0, writer), loss, step, 1, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "hooks.interval");
    assert_status(watched(outside_mean_loss_hook(loss, 1, NULL), loss, step, 1, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "hooks.argument");
    assert_status(watched(hr_hook_lost(), loss, step, 1, &err), HR_RESOURCE_EXHAUSTED);
    hr_summary_writer_unref(writer);
}

static hr_status refuse_to_begin(void *state, hr_graph *graph, hr_error *err)
{
    (void)state, (void)graph;
    return hr_fail(err, HR_ABORTED, "test.begin", "begin was called");
}

static void hooks_of_older_and_newer_headers_fit(void **state)
{
    (void)state;
    hr_error err;
    const hr_node loss = hr_placeholder(g, HR_FLOAT, HR_SCALAR), step = a_step();
    const hr_hook_kind base = {.head = HR_HOOK_HEAD, .name = "test", .begin = refuse_to_begin};
    struct {
        hr_hook_kind kind;
        void *further;
    } newer = {base, NULL}, beyond = {base, &newer};
    hr_hook_kind older = base, other = base;
    older.head.struct_size = offsetof(hr_hook_kind, release);
    older.release = (void (*)(void *))(uintptr_t)1;
    newer.kind.head.struct_size = beyond.kind.head.struct_size = sizeof newer;
    other.head.abi_version = HR_HOOK_ABI + 1;
    const struct {
        const hr_hook_kind *kind;
        hr_status status;
        const char *error;
    } cases[] = {{&older, HR_ABORTED, "test.begin"},
                 {&newer.kind, HR_ABORTED, "test.begin"},
                 {&beyond.kind, HR_FAILED_PRECONDITION, "hooks.abi"},
                 {&other, HR_FAILED_PRECONDITION, "hooks.abi"}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(watched(hr_hook_new(cases[i].kind, NULL), loss, step, 1, &err), cases[i].status);
        assert_string_equal(err.kind, cases[i].error);
    }
}

int main(void)
{
#define IN_GRAPH(test) cmocka_unit_test_setup_teardown(test, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        IN_GRAPH(an_op_broadcasts_in_every_type_of_numbers),
        IN_GRAPH(an_op_has_a_gradient),
        IN_GRAPH(an_op_moves_strings_and_reads_an_axis),
        IN_GRAPH(an_attribute_of_another_kind_is_told_from_the_right_one),
        IN_GRAPH(ops_of_older_and_newer_headers_fit),
        IN_GRAPH(a_kind_of_optimizer_trains_with_slots_of_its_own),
        IN_GRAPH(a_kind_of_optimizer_updates_rows_once),
        IN_GRAPH(kinds_of_optimizers_of_older_and_newer_headers_fit),
        IN_GRAPH(a_hook_fetches_and_writes_every_so_many_steps),
        IN_GRAPH(a_hook_says_what_it_was_not_given),
        IN_GRAPH(hooks_of_older_and_newer_headers_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
