/* rename_node: one node gets another name. */
#include "train/transforms/transform.h"

#include <string.h>

static hr_status rename_node_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    const char *from = hr__transform_text(a, "old_node_name", 0), *to = hr__transform_text(a, "new_node_name", 0);
    if (!from) return hr__transform_wrong(err, "old_node_name", "a name", "none");
    if (!to) return hr__transform_wrong(err, "new_node_name", "a name", "none");
    const int node = hr__draft_named(d, from);
    if (node < 0) return hr__transform_wrong(err, "old_node_name", "a node of the graph", from);
    if (hr__draft_is_output(d, node))
        return hr_fail(err, HR_INVALID_ARGUMENT, "transform.output",
                       "expected a node other than the outputs, got '%.60s'", from);
    if (hr__draft_named(d, to) >= 0) return hr__transform_wrong(err, "new_node_name", "a name that no node has", to);
    char *own = hr__arena_copy(&d->arena, to, strlen(to) + 1);
    if (!own) return hr__draft_no_memory(err);
    d->node[node]->name = own;
    return hr__map_set(&d->names, own, strlen(own), node, err);
}

const hr__transform hr__transform_rename_node = {
    .info = {"rename_node", "old_node_name, new_node_name", "one node gets another name"},
    .run = rename_node_run,
};
