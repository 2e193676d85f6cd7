/* Graph ops, hooks and optimizers from outside that answer what their kits forbid: an error that names them, never a
 * crash, old memory taken for a result, or a run that ends well. */
#include "tests/testing.h"
#include <headrace/hooks.h>
#include <headrace/optimizer.h>

#include <math.h>
#include <string.h>

typedef enum lie {
    HONEST,
    NO_STATUS,
    NO_ERROR,
    NO_OUTPUT,
    OTHER_TYPE,
    TWICE,
    NO_SUCH_OUTPUT,
    NO_SUCH_INPUT,
    NO_HANDLE,
} lie;

static lie told;

static hr_status answer(void) { return told == NO_STATUS ? HR_WAIT : told == NO_ERROR ? HR_UNAVAILABLE : HR_OK; }

/* ---- graph ops ---- */

static hr_status liar_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out, *variable;
    const hr_shape shape = k->input[0]->shape;
    if (answer() != HR_OK || told == NO_OUTPUT) return answer();
    if (told == NO_SUCH_OUTPUT) return hr_kernel_output(k, 1, shape, &out, err);
    if (told == NO_SUCH_INPUT) return hr_kernel_pass(k, 0, -1, shape, err);
    if (told == NO_HANDLE) return hr_kernel_update(k, 0, &variable, err);
    if (told == OTHER_TYPE) {
        static const int64_t value;
        hr_kernel_give(k, 0, hr_tensor_of(HR_INT64, HR_SCALAR, &value));
        return HR_OK;
    }
    if (told == TWICE) HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    memset(out->data, 0, (size_t)out->count * sizeof(float));
    return HR_OK;
}

static const hr_graph_op liar = {.head = HR_GRAPH_OP_HEAD,
                                 .name = "Liar>Op",
                                 .inputs = "x:T",
                                 .outputs = "y:T",
                                 .attrs = "T:floats",
                                 .traits = HR_STATEFUL,
                                 .compute = liar_compute};

static void an_op_that_lies_is_an_error(void **state)
{
    (void)state;
    static const float three[] = {1, 2, 3};
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(3), three);
    const hr_status expected[] = {HR_OK, HR_INTERNAL, HR_UNAVAILABLE, HR_INTERNAL,        HR_INTERNAL,
                                  HR_OK, HR_INTERNAL, HR_INTERNAL,    HR_INVALID_ARGUMENT};
    hr_graph *g = hr_graph_new();
    hr_graph_use(g, &liar);
    hr_node y = hr_new_node(g, "Liar>Op", HR_INPUTS(hr_const(g, &value)));
    hr_node z = hr_add(y, y); /* reads what is there */
    hr_session *s = hr_session_new(g);
    for (int i = 0; i < 2 * (NO_HANDLE + 1); i++) { /* each after a run that left values */
        hr_tensor out = {0};
        hr_error err = {0};
        told = i % 2 ? (lie)(i / 2) : HONEST;
        assert_status(hr_session_run(s, NULL, 0, &z, 1, &out, &err), expected[told]);
        hr_tensor_clear(&out);
        if (expected[told] == HR_OK) continue;
        assert_int_equal(err.code, expected[told]);
        assert_string_equal(err.kind, told == NO_HANDLE ? "resource.kind" : "graph.failed");
        assert_non_null(strstr(err.text, "Liar>Op"));
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static void a_graph_fails_by_failures_alone(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node_fail(g, HR_END, "liar.end", "this is no failure");
    assert_int_equal(hr_graph_error(g)->code, HR_INTERNAL);
    hr_graph_free(g);
}

/* ---- hooks ---- */

typedef enum hooked { BEGIN, CREATE, BEFORE, AFTER, END, SAVE, PLACES } hooked;
static hooked lies_in;

static hr_status hook_answer(hooked here) { return here == lies_in ? answer() : HR_OK; }

static hr_status liar_begin(void *state, hr_graph *g, hr_error *err)
{
    (void)state, (void)g, (void)err;
    return hook_answer(BEGIN);
}

static hr_status liar_create(void *state, hr_monitored_session *m, hr_error *err)
{
    (void)state, (void)err;
    HR_TRY(hook_answer(CREATE));
    return lies_in == SAVE ? hr_monitored_save(m, "saved", err) : HR_OK;
}

static hr_status liar_before(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)state, (void)m, (void)request, (void)err;
    return hook_answer(BEFORE);
}

static hr_status liar_after(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    (void)state, (void)m, (void)results, (void)err;
    return hook_answer(AFTER);
}

static hr_status liar_end(void *state, hr_monitored_session *m, hr_error *err)
{
    (void)state, (void)m, (void)err;
    return hook_answer(END);
}

static const hr_hook_kind hook = {.head = HR_HOOK_HEAD,
                                  .name = "liar",
                                  .begin = liar_begin,
                                  .after_create_session = liar_create,
                                  .before_run = liar_before,
                                  .after_run = liar_after,
                                  .end = liar_end};

static hr_status save_nothing(void *user, void **data, size_t *size, hr_error *err)
{
    (void)user, (void)err;
    *data = NULL;
    *size = 100;
    return answer();
}

static hr_status restore_nothing(void *user, hr_view data, hr_error *err)
{
    (void)user, (void)data, (void)err;
    return HR_OK;
}

static hr_status train_with_liar(hr_error *err)
{
    hr_graph *g = hr_graph_new();
    hr_node step = hr_identity(hr_global_step(g));
    hr_hook *hooks[] = {hr_hook_new(&hook, "")};
    const hr_checkpointed extra = {"liar", save_nothing, restore_nothing, NULL};
    hr_monitored_session *m = hr_monitored_session_new(g, hooks, 1, .extra = &extra, .extras = 1);
    hr_tensor out = {0};
    memset(err, 0, sizeof *err);
    hr_status st = hr_monitored_run(m, NULL, 0, &step, 1, &out, err);
    hr_tensor_clear(&out);
    const hr_status closed = hr_monitored_session_close(m, false, st == HR_OK ? err : NULL);
    hr_graph_free(g);
    return st == HR_OK ? closed : st;
}

static void a_hook_that_lies_is_an_error(void **state)
{
    (void)state;
    hr_error err;
    for (lies_in = BEGIN; lies_in < PLACES; lies_in++)
        for (told = NO_STATUS; told <= NO_ERROR; told++) {
            assert_status(train_with_liar(&err), told == NO_STATUS ? HR_INTERNAL : HR_UNAVAILABLE);
            assert_string_equal(err.kind, "hooks.failed");
            assert_non_null(strstr(err.text, "liar"));
        }
    lies_in = SAVE;
    told = HONEST; /* but for 100 bytes at NULL */
    assert_status(train_with_liar(&err), HR_INTERNAL);
    assert_string_equal(err.kind, "hooks.failed");
}

/* ---- optimizers ---- */

HR_RULE(down, 0, 0.2, {
    for (int64_t i = 0; i < n; i++) w[i] -= g[i] * p[0];
})

typedef enum wrong { SOUND, PARAMETER, SLOTS, SLOT, FINISH, GRADIENT, ROWS, RULE, WRONGS } wrong;
static wrong way;

static hr_status down_compute(hr_kernel *k, hr_error *err)
{
    hr_update update = {way == RULE ? NULL : &down_rule, .grad = way == GRADIENT ? 99 : 2,
                        .indices = way == ROWS ? -1 : 0};
    HR_TRY(hr_update_number(k, 1, &update.p[0], err));
    return hr_update_run(k, &update, err);
}

static const hr_graph_op ops[] = {
    {.head = HR_GRAPH_OP_HEAD,
     .name = "Liar>ApplyDown",
     .inputs = "var:resource, rate:T, grad:T",
     .attrs = "T:floats",
     .traits = HR_STATEFUL | HR_NO_GRADIENT,
     .compute = down_compute},
    HR_GRAPH_OPS_END,
};

static hr_node down_update(hr_minimizer *t, const hr_minimize_target *v)
{
    hr_node rate = hr_minimizer_number(t, v, way == PARAMETER ? HR_MAX_PARAMETERS : HR_LEARNING_RATE);
    return hr_new_node(t->g, "Liar>ApplyDown", HR_INPUTS(v->variable, rate, v->gradient.values));
}

static int down_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot list[] = {{.name = "one", .initial = 77}};
    (void)o;
    *slot = list;
    return way == SLOTS ? HR_MAX_SLOTS + 1 : way == SLOT ? 1 : 0;
}

static int down_finish(hr_minimizer *t, hr_node *out)
{
    (void)t, (void)out;
    return way == FINISH ? -1 : 0;
}

static const char *const names[] = {"learning_rate", "decay", NULL};
static const hr_parameter_spec specs[] = {{"learning_rate", 0.01, 0.01, 0, HUGE_VAL}, {"decay", 0, 0, 0, HUGE_VAL}};
static const hr_optimizer_kind down = {.head = HR_OPTIMIZER_HEAD,
                                       .name = "down",
                                       .parameters = names,
                                       .parameter = specs,
                                       .ops = ops,
                                       .update = down_update,
                                       .slots = down_slots,
                                       .finish = down_finish};

static void an_optimizer_that_lies_is_an_error(void **state)
{
    (void)state;
    const double rate = 0.1, *given[HR_MAX_PARAMETERS] = {&rate};
    for (way = SOUND; way < WRONGS; way++) {
        hr_graph *g = hr_graph_new();
        hr_error err = {0};
        hr_node v = hr_get_variable(g, "v", HR_FLOAT, HR_SHAPE(3), .initializer = hr_ones());
        hr_node train = hr_minimize(hr_optimizer_new(&down, given, NULL), hr_reduce_sum(hr_square(v)));
        hr_node init = hr_global_variables_initializer(g);
        hr_session *s = hr_session_new(g);
        hr_status st = hr_session_run(s, NULL, 0, &init, 1, NULL, &err);
        if (st == HR_OK) st = hr_session_run(s, NULL, 0, &train, 1, NULL, &err);
        assert_status(st, way == SOUND ? HR_OK : HR_INVALID_ARGUMENT);
        if (way != SOUND) assert_string_equal(err.kind, "optimizer.kind");
        hr_session_free(s);
        hr_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_that_lies_is_an_error),
        cmocka_unit_test(a_graph_fails_by_failures_alone),
        cmocka_unit_test(a_hook_that_lies_is_an_error),
        cmocka_unit_test(an_optimizer_that_lies_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
