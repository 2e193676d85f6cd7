/* Nodes that call functions: If, Case, While, calls. What a function's inputs are handles of is locked by the nodes
 * that it runs, not by the call. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- arguments ---- */

enum { SOME = 32 /* values without an allocation */ };

typedef struct call_values {
    hr_tensor few[SOME], *list;
    int count;
} call_values;

static hr_status begin_values(call_values *v, int count, hr_error *err)
{
    v->count = count;
    v->list = count <= SOME ? v->few : hr_malloc(sizeof *v->list * (size_t)count);
    if (!v->list) return hr_no_memory(err, "a call");
    memset(v->list, 0, sizeof *v->list * (size_t)count);
    return HR_OK;
}

static void end_values(call_values *v)
{
    for (int i = 0; v->list && i < v->count; i++) hr_buffer_unref(v->list[i].buffer);
    if (v->list != v->few) hr_free(v->list);
}

/* The inputs from `first` on: a function writes over those that nobody else needs. */
static void take_inputs(hr_kernel *k, int first, call_values *v)
{
    for (int i = 0; i < v->count; i++) v->list[i] = hr_kernel_take(k, first + i);
}

static void give_results(hr_kernel *k, call_values *v)
{
    for (int i = 0; i < k->outputs; i++) {
        hr_kernel_give(k, i, v->list[i]);
        v->list[i].buffer = NULL;
    }
}

/* One call with the inputs from `first` on. */
static hr_status call_once(hr_kernel *k, hr_callee *callee, int first, hr_error *err)
{
    call_values args, results = {0};
    hr_open_call *call = NULL;
    hr_status st = begin_values(&args, k->inputs - first, err);
    if (st == HR_OK) st = begin_values(&results, k->outputs, err);
    if (st == HR_OK) st = hr_call_begin(k, callee, &call, err);
    if (st == HR_OK) {
        take_inputs(k, first, &args);
        st = hr_call_run(call, args.list, args.count, results.list, results.count, err);
    }
    if (st == HR_OK) give_results(k, &results);
    hr_call_end(call);
    end_values(&args);
    end_values(&results);
    return st;
}

/* ---- shapes ---- */

static hr_status call_shape_by(hr_infer *s, const char *name)
{
    const hr_attr *shapes = hr_node_attr(s->node, name);
    for (int i = 0; shapes && shapes->kind == HR_ATTR_SHAPES && i < shapes->count && i < s->outputs; i++)
        s->output[i] = shapes->shapes[i];
    return HR_OK;
}

static hr_status call_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    return call_shape_by(s, "output_shapes");
}

static hr_status partitioned_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    return call_shape_by(s, "_output_shapes");
}

/* ---- a function ---- */

typedef struct call_state {
    hr_callee *function[2];
} call_state;

static hr_status partitioned_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    call_state *st = state;
    return hr_session_function(session, node, hr_attr_func(node, "f"), &st->function[0], err);
}

static hr_status partitioned_compute(hr_kernel *k, hr_error *err)
{
    return call_once(k, ((const call_state *)k->state)->function[0], 0, err);
}

/* ---- branches ---- */

static hr_status if_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    call_state *st = state;
    HR_TRY(hr_session_function(session, node, hr_attr_func(node, "then_branch"), &st->function[0], err));
    return hr_session_function(session, node, hr_attr_func(node, "else_branch"), &st->function[1], err);
}

static hr_status if_compute(hr_kernel *k, hr_error *err)
{
    const call_state *st = k->state;
    return call_once(k, st->function[hr_tensor_is_true(k->input[0]) ? 0 : 1], 1, err);
}

typedef struct case_state {
    hr_callee **branch;
    int count;
} case_state;

static hr_status case_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    case_state *st = state;
    const hr_attr *branches = hr_node_attr(node, "branches");
    st->branch = hr_calloc((size_t)branches->count + 1, sizeof *st->branch);
    if (!st->branch) return hr_no_memory(err, "a case");
    st->count = branches->count;
    hr_status done = HR_OK;
    for (int i = 0; i < st->count && done == HR_OK; i++)
        done = hr_session_function(session, node, branches->funcs[i].name, &st->branch[i], err);
    if (done != HR_OK) hr_free(st->branch);
    return done;
}

static void case_release(void *state) { hr_free(((case_state *)state)->branch); }

/* An index that no branch has: the last one. */
static hr_status case_compute(hr_kernel *k, hr_error *err)
{
    const case_state *st = k->state;
    if (k->input[0]->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a scalar branch_index");
    const int64_t index = *(const int32_t *)k->input[0]->data;
    return call_once(k, st->branch[index < 0 || index >= st->count ? st->count - 1 : index], 1, err);
}

/* ---- loops ---- */

static hr_status while_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    call_state *st = state;
    HR_TRY(hr_session_function(session, node, hr_attr_func(node, "cond"), &st->function[0], err));
    return hr_session_function(session, node, hr_attr_func(node, "body"), &st->function[1], err);
}

/* The condition sees the variables, the body takes them. */
static hr_status while_turns(hr_open_call *condition, hr_open_call *body, call_values *vars, call_values *seen,
                             hr_error *err)
{
    for (;;) {
        hr_tensor goes_on = {0};
        for (int i = 0; i < vars->count; i++) {
            seen->list[i] = vars->list[i];
            hr_buffer_ref(seen->list[i].buffer);
        }
        const hr_status st = hr_call_run(condition, seen->list, vars->count, &goes_on, 1, err);
        for (int i = 0; i < vars->count; i++) hr_buffer_unref(seen->list[i].buffer); /* of a call that failed early */
        HR_TRY(st);
        const bool again = hr_tensor_is_true(&goes_on);
        hr_buffer_unref(goes_on.buffer);
        if (!again) return HR_OK;
        HR_TRY(hr_call_run(body, vars->list, vars->count, seen->list, vars->count, err));
        memcpy(vars->list, seen->list, sizeof *vars->list * (size_t)vars->count);
    }
}

static hr_status while_compute(hr_kernel *k, hr_error *err)
{
    const call_state *state = k->state;
    call_values vars, seen = {0};
    hr_open_call *condition = NULL, *body = NULL;
    hr_status st = begin_values(&vars, k->inputs, err);
    if (st == HR_OK) st = begin_values(&seen, k->inputs, err);
    if (st == HR_OK) st = hr_call_begin(k, state->function[0], &condition, err);
    if (st == HR_OK) st = hr_call_begin(k, state->function[1], &body, err);
    if (st == HR_OK) {
        take_inputs(k, 0, &vars);
        st = while_turns(condition, body, &vars, &seen, err);
    }
    if (st == HR_OK) give_results(k, &vars);
    hr_call_end(condition);
    hr_call_end(body);
    end_values(&vars);
    if (seen.list != seen.few) hr_free(seen.list);
    return st;
}

#define CALL(NAME, TRAITS, WHAT)                                                                                       \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .traits = HR_CALLS | (TRAITS), .state_size = sizeof(call_state),       \
        .shape = call_shape, .prepare = WHAT##_prepare, .compute = WHAT##_compute, .gradient = hr_##WHAT##_gradient,   \
    }

#define PARTITIONED(NAME, TRAITS)                                                                                      \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .traits = HR_CALLS | (TRAITS), .state_size = sizeof(call_state),       \
        .shape = partitioned_shape, .prepare = partitioned_prepare, .compute = partitioned_compute,                    \
        .gradient = hr_call_gradient,                                                                                  \
    }

#define CASE(NAME, TRAITS)                                                                                             \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .traits = HR_CALLS | (TRAITS), .state_size = sizeof(case_state),       \
        .shape = call_shape, .prepare = case_prepare, .release = case_release, .compute = case_compute,                \
        .gradient = hr_case_gradient,                                                                                  \
    }

const hr_graph_op hr_graph_ops_call_ops[] = {
    CALL("If", HR_STATEFUL, if),
    CALL("StatelessIf", 0, if),
    CASE("Case", HR_STATEFUL),
    CASE("StatelessCase", 0),
    CALL("While", HR_STATEFUL, while),
    CALL("StatelessWhile", 0, while),
    PARTITIONED("PartitionedCall", 0),
    PARTITIONED("StatefulPartitionedCall", HR_STATEFUL),
    HR_GRAPH_OPS_END,
};
