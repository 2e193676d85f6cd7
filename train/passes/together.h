/* What passes that make one node of many share: whether these may run at one place of the order. Not a public
 * header. */
#ifndef HR_PASSES_TOGETHER_H
#define HR_PASSES_TOGETHER_H

#include <headrace/pass.h>
#include <string.h>

static inline bool together_same(hr_node a, hr_node b) { return a.graph && a.id == b.id && a.output == b.output; }

/* One of the library's own, which waits for nothing. */
static inline bool together_is(hr_node node, const char *op)
{
    return node.graph && hr_node_is(node, op) && hr_node_descriptor(node) == hr_graph_op_named(op) &&
           hr_node_controls(node) == 0;
}

/* Handles of resources, by the nodes that make them and by name. */
typedef struct together_handles {
    hr_handle_info *info;
    int count;
} together_handles;

static inline bool together_same_handle(const hr_handle_info *a, const hr_handle_info *b)
{
    return together_same(a->origin, b->origin) || (a->name[0] && strcmp(a->name, b->name) == 0);
}

/* Whether the node may use one of the resources; `writes`: change it. Who calls functions may do so, too. */
static inline bool together_uses(const together_handles *h, hr_node node, bool writes)
{
    const unsigned traits = hr_node_descriptor(node)->traits;
    if (traits & HR_CALLS) return true;
    if (writes && (!(traits & HR_STATEFUL) || traits & HR_READS_ONLY)) return false;
    for (int i = 0; i < hr_node_inputs(node); i++) {
        hr_handle_info used;
        if (hr_node_dtype(hr_node_input(node, i)) != HR_RESOURCE) continue;
        if (!hr_handle_of(hr_node_input(node, i), &used)) return true;
        for (int j = 0; j < h->count; j++)
            if (together_same_handle(&h->info[j], &used)) return true;
    }
    return false;
}

/* Whether the node could run where `first` does: what it takes is there by then, or is a constant. */
static inline bool together_could_run_at(hr_node node, hr_node first)
{
    for (int i = 0; i < hr_node_inputs(node); i++) {
        const hr_node in = hr_node_input(node, i);
        if (in.id >= first.id && !(hr_node_descriptor(in)->traits & HR_FIXED && hr_node_controls(in) == 0))
            return false;
    }
    return true;
}

/* Nodes by one of their inputs: those of which `input_of` gives node i are first[i], next[first[i]], ... -1, from the
 * oldest to the newest. It gives -1 for nodes that do not count. */
typedef struct together_chains {
    int32_t *first, *next;
} together_chains;

static inline hr_status together_chain(hr_graph *g, int32_t size, int32_t (*input_of)(hr_node node),
                                       together_chains *out, hr_error *err)
{
    out->first = hr_malloc(sizeof *out->first * ((size_t)size + 1));
    out->next = hr_malloc(sizeof *out->next * ((size_t)size + 1));
    if (!out->first || !out->next) return hr_no_memory(err, "a pass");
    for (int32_t id = 0; id < size; id++) out->first[id] = -1;
    for (int32_t id = size - 1; id >= 0; id--) {
        const int32_t of = input_of((hr_node){g, id, 0});
        if (of < 0) continue;
        out->next[id] = out->first[of];
        out->first[of] = id;
    }
    return HR_OK;
}

static inline void together_chains_free(together_chains *c)
{
    hr_free(c->first);
    hr_free(c->next);
}

#endif
