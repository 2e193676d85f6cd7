/* A trial from its beginning to its end: graph and session, and the node with all it needs. */
#include "train/conformance/trial.h"

#include <string.h>

/* A function that the graph has, for attributes: trial_attrs.c names it. */
static void make_function(hr_graph *g)
{
    hr_graph *body = hr_function_begin(g, "some");
    const hr_node x = hr_function_input(body, HR_FLOAT, HR_UNKNOWN_SHAPE, "x"), y = hr_neg(x);
    hr_function_end(body, &y, 1);
}

/* A list is looked at by its length, an optional by whether it has a value. */
static hr_node looked_at(hr_node output)
{
    if (hr_node_dtype(output) != HR_VARIANT) return output;
    if (strncmp(hr_node_op(output), "Optional", 8) == 0)
        return hr_new_node(output.graph, "OptionalHasValue", HR_INPUTS(output));
    return hr_new_node(output.graph, "TensorListLength", HR_INPUTS(output));
}

static void choose_fetches(trial *t)
{
    for (int i = 0; i < hr_node_outputs(t->node) && t->fetches < MAX_FETCHES; i++)
        if (hr_node_dtype(hr_node_output(t->node, i)) != HR_RESOURCE)
            t->fetch[t->fetches++] = looked_at(hr_node_output(t->node, i));
    if (t->op->traits & HR_SWITCHES && t->fetches) /* one has a value */
        t->fetch[0] = t->fetch[below(t, t->fetches)], t->fetches = 1;
    if (t->inputs == 0 && t->fetches > 0 && hr_node_dtype(t->node) != HR_VARIANT && one_in(t, 3)) {
        t->value[0] = hr__trial_tensor(t, hr_node_dtype(t->node), t->common); /* a node that is fed itself */
        t->feed[t->feeds++] = (hr_feed){t->node, t->value[0]};
    }
    if (t->fetches == 0) t->fetch[t->fetches++] = hr_target(t->node);
}

bool hr__trial_begin(trial *t, const trial_plan *plan)
{
    hr_error err = {0};
    *t = (trial){.plan = *plan, .op = plan->op, .smooth = plan->smooth};
    t->key = hr_random(hr_fingerprint64(t->op->name, strlen(t->op->name)) + t->smooth, (uint64_t)plan->number);
    t->g = plan->eager ? hr_eager_new(.workers = &plan->workers) : hr_graph_new();
    if (!t->g) return false;
    hr_graph_use(t->g, t->op);
    t->s = plan->eager ? hr_eager_session(t->g) : hr_session_new(t->g, .workers = &plan->workers);
    if (!t->s || hr_graph_error(t->g)) return false;
    if (hr_graph_signature(t->g, t->op->name, &t->sig, &err) != HR_OK) {
        if (err.code != HR_RESOURCE_EXHAUSTED) hr__trial_wrong(t, "conformance.descriptor", "%s", err.text);
        return false;
    }
    if (t->op->traits & HR_CALLS) make_function(t->g);
    t->common = hr__trial_random_shape(t);
    t->in_tune = one_in(t, 3);
    t->by_row = one_in(t, 2);
    t->alone = hr_signature_inputs(t->sig) > 0 && one_in(t, 5) ? (int)below(t, hr_signature_inputs(t->sig)) : -1;
    hr__trial_choose_attrs(t);
    hr__trial_choose_inputs(t);
    if (hr_graph_error(t->g) || t->found != HR_OK) return t->found == HR_OK;
    t->node = hr_new_node(t->g, t->op->name, .inputs = t->input, .input_count = t->inputs, .attrs = t->attr,
                          .attr_count = t->attrs);
    if (!hr_graph_error(t->g)) choose_fetches(t);
    return true;
}

void hr__trial_end(trial *t)
{
    if (!t->plan.eager) hr_session_free(t->s);
    hr_graph_free(t->g);
    hr__trial_free_memory(t);
}

hr_status hr__trial_answer(trial *t, hr_error *err)
{
    hr__trial_end(t);
    if (t->found != HR_OK && err) *err = t->error;
    return t->found;
}
