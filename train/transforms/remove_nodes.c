/* remove_nodes: whoever took a node of these ops takes its first input. Outputs of the graph, what is fed, and what waits
 * for others stay. */
#include "train/transforms/transform.h"

#include <string.h>

static bool may_go(const hr__draft *d, int node, int64_t max_inputs)
{
    const draft_node *n = d->node[node];
    const int data = hr__draft_data_inputs(n);
    if (n->gone || data == 0 || data > max_inputs || n->inputs > data) return false;
    if (hr__draft_is_output(d, node) || hr__draft_is_fed(d, node)) return false;
    for (int i = 0; i < d->count; i++)
        for (int j = 0; !d->node[i]->gone && j < d->node[i]->inputs; j++)
            if (d->node[i]->input[j].node == node && d->node[i]->input[j].output > 0) return false;
    return true;
}

/* Whoever waited for it waits for its input. */
static void pass_over(hr__draft *d, int node)
{
    const draft_edge by = d->node[node]->input[0];
    for (int i = 0; i < d->count; i++)
        for (int j = 0; !d->node[i]->gone && j < d->node[i]->inputs; j++) {
            draft_edge *edge = &d->node[i]->input[j];
            if (edge->node == node) *edge = (draft_edge){by.node, edge->output < 0 ? -1 : by.output};
        }
    d->node[node]->gone = true;
}

static hr_status remove_nodes_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    int64_t max_inputs = 1;
    HR_TRY(hr__transform_int(a, "max_inputs", &max_inputs, err));
    if (!hr__transform_text(a, "op", 0)) return hr__transform_wrong(err, "op", "an op", "none");
    for (int k = 0; hr__transform_text(a, "op", k); k++)
        for (int i = 0; i < d->count; i++)
            if (hr__draft_is(d, i, hr__transform_text(a, "op", k)) && may_go(d, i, max_inputs)) pass_over(d, i);
    return HR_OK;
}

const hr__transform hr__transform_remove_nodes = {
    .info = {"remove_nodes", "op, max_inputs", "what took a node of these ops takes its first input"},
    .run = remove_nodes_run,
};
