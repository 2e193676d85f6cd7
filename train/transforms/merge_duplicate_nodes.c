/* merge_duplicate_nodes: of nodes that compute the same from the same, one stays. Nodes with a state, with effects or
 * without a known op stay all, and so do outputs of the graph. */
#include "train/transforms/transform.h"

#include <stdlib.h>
#include <string.h>

static int entry_by_key(const void *a, const void *b)
{
    return strcmp((*(const proto_entry *const *)a)->key, (*(const proto_entry *const *)b)->key);
}

/* Op, device, inputs and attributes as bytes, in `key` (hr_free it). */
static hr_status describe(hr__draft *d, int node, char **key, size_t *size, hr_error *err)
{
    draft_node *n = d->node[node];
    const size_t op = strlen(n->op) + 1, device = strlen(n->device) + 1, edges = sizeof(draft_edge) * (size_t)n->inputs;
    *size = op + device + edges;
    if (n->attrs) qsort(n->attr, (size_t)n->attrs, sizeof(proto_entry *), entry_by_key);
    for (int i = 0; i < n->attrs; i++) *size += protobuf_c_message_get_packed_size(&n->attr[i]->base);
    char *at = *key = hr_malloc(*size + 1);
    if (!at) return hr__draft_no_memory(err);
    memcpy(at, n->op, op);
    memcpy(at += op, n->device, device);
    if (edges) memcpy(at + device, n->input, edges);
    at += device + edges;
    for (int i = 0; i < n->attrs; i++) at += protobuf_c_message_pack(&n->attr[i]->base, (uint8_t *)at);
    return HR_OK;
}

static bool may_merge(const hr__draft *d, int node)
{
    const hr_graph_op *op = hr_node_descriptor(hr_graph_node(d->source, d->node[node]->name));
    hr__opdef def;
    const unsigned never = HR_STATEFUL | HR_CALLS | HR_SWITCHES | HR_MERGES;
    if (hr__draft_is_fed(d, node) || strcmp(d->node[node]->op, "Placeholder") == 0) return false;
    if (!hr__opdef_named(d->node[node]->op, &def) || strchr(def.flags, 'S')) return false;
    return !op || strcmp(op->name, d->node[node]->op) != 0 || !(op->traits & never);
}

/* In the order of inputs, so that what merges makes others equal. */
static hr_status merge_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    (void)a;
    hr__map seen = {0};
    int *order, count;
    HR_TRY(hr__draft_order(d, &order, &count, err));
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < count; i++) {
        const int node = order[i];
        char *key;
        size_t size;
        if (!may_merge(d, node)) continue;
        st = describe(d, node, &key, &size, err);
        if (st != HR_OK) break;
        int64_t *first = hr__map_find(&seen, key, size);
        if (!first) {
            st = hr__map_add(&seen, key, size, node, err);
        } else if (!hr__draft_is_output(d, node)) {
            hr__draft_redirect(d, node, (int)*first);
            d->node[node]->gone = true;
        } else if (!hr__draft_is_output(d, (int)*first)) {
            hr__draft_redirect(d, (int)*first, node); /* the output's name is the one that stays */
            d->node[*first]->gone = true;
            *first = node;
        }
        hr_free(key);
    }
    hr__map_free(&seen);
    hr_free(order);
    return st;
}

const hr__transform hr__transform_merge_duplicate_nodes = {
    .info = {"merge_duplicate_nodes", "", "of nodes that compute the same from the same, one stays"},
    .run = merge_run,
};
