/* Passes, which rewrite what a run needs, for a graph that is kept: outputs keep their names. */
#include "train/transforms/transform.h"
#include <headrace/pass.h>

#include <string.h>

/* A pass may have put another node in an output's place. */
static hr_status name_output(hr__draft *d, int i, const char *wanted, hr_error *err)
{
    const int node = d->output[i].node;
    char *name = hr__arena_text(&d->arena, wanted, strlen(wanted));
    if (!name) return hr__draft_no_memory(err);
    if (strcmp(d->node[node]->name, wanted) == 0) return HR_OK;
    const bool twice = hr__draft_named(d, d->node[node]->name) < 0; /* it got another output's name before */
    if (hr__draft_named(d, wanted) < 0 && !twice && d->output[i].output <= 0) {
        const char *before = d->node[node]->name;
        d->node[node]->name = name;
        HR_TRY(hr__map_set(&d->names, before, strlen(before), node, err));
        return hr__map_set(&d->names, name, strlen(name), node, err);
    }
    return hr_fail(err, HR_UNIMPLEMENTED, "transform.output",
                   "expected an output of its own after the passes, but '%.60s' became '%.60s'", wanted,
                   d->node[node]->name);
}

static hr_status build_rewritten(hr_graph *g, const hr_rewrite *r, const hr_node *outputs, hr_node *fetched, int count,
                                 hr_graph **out, hr_error *err)
{
    static const hr_graph_export_opts opts = {.struct_size = sizeof opts};
    hr__draft d;
    proto_graph *whole;
    for (int i = 0; i < count; i++) fetched[i] = hr_rewrite_fetch(r, i);
    hr_status st = hr__draft_begin(&d, hr_rewrite_graph(r), fetched, count, NULL, 0, err);
    if (st == HR_OK) st = hr__graph_message(&d.arena, &opts, g, &whole, err);
    for (int i = 0; st == HR_OK && i < count; i++) st = name_output(&d, i, hr_node_name(outputs[i]), err);
    if (st == HR_OK) {
        whole->n_node = 0;
        d.message = whole; /* its versions and functions */
        d.source = g;
        st = hr__draft_build(&d, out, err);
    }
    hr__draft_end(&d);
    return st;
}

hr_status hr_graph_apply_passes_with(hr_graph *g, const char *passes, const hr_node *outputs, int output_count,
                                     const hr_transform_opts *given, hr_graph **out, hr_error *err)
{
    const hr_transform_opts opts = HR_OPTIONS(hr_transform_opts, given);
    hr_rewrite *r;
    if (!g || !out || output_count <= 0 || !outputs)
        return hr_fail(err, HR_INVALID_ARGUMENT, "transform.output",
                       "hr_graph_apply_passes: expected a graph, its outputs, and a place for the new graph");
    *out = NULL;
    HR_TRY(hr_rewrite_new(g, opts.inputs, opts.input_count, outputs, output_count, passes, &r, err));
    hr_node *fetched = hr_malloc(sizeof *fetched * (size_t)output_count);
    const hr_status st =
        fetched ? build_rewritten(g, r, outputs, fetched, output_count, out, err) : hr__draft_no_memory(err);
    hr_free(fetched);
    hr_rewrite_free(r);
    return st;
}
