/* fold_constants: what depends on constants alone is computed, and becomes a constant of the same name. Of nodes with
 * several outputs, those whose first output alone is taken. */
#include "train/transforms/transform.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 10 << 20 /* of a constant that is made: more would make the file large */ };

typedef struct folder {
    hr__draft *d;
    hr_graph *g;       /* as the draft is now */
    uint8_t *constant; /* by node: 1 a constant, 2 one by what it depends on */
    uint8_t *wanted;   /* by node: what takes it is no constant */
    hr_error *err;
} folder;

static bool is_pure(const folder *f, int node)
{
    const draft_node *n = f->d->node[node];
    const hr_node known = hr_graph_node(f->g, n->name);
    const hr_graph_op *op = hr_node_descriptor(known);
    const unsigned never = HR_STATEFUL | HR_FIXED | HR_CALLS | HR_SWITCHES | HR_MERGES;
    if (!op || !op->compute || op->traits & never || n->inputs == 0 || hr__draft_data_inputs(n) < n->inputs)
        return false;
    for (int i = 0; i < hr_node_outputs(known); i++) {
        const hr_dtype dtype = hr_node_dtype(hr_node_output(known, i));
        if (dtype == HR_RESOURCE || dtype == HR_VARIANT) return false;
    }
    return hr_node_outputs(known) > 0;
}

static void find_constants(folder *f, const int *order, int count)
{
    hr__draft *d = f->d;
    for (int i = 0; i < count; i++) {
        const int node = order[i];
        const draft_node *n = d->node[node];
        if (hr__draft_is_fed(d, node)) continue;
        bool all = is_pure(f, node);
        for (int j = 0; all && j < n->inputs; j++) all = f->constant[n->input[j].node];
        f->constant[node] = hr__draft_is(d, node, "Const") && n->inputs == 0 ? 1 : all ? 2 : 0;
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; !f->constant[order[i]] && j < d->node[order[i]]->inputs; j++)
            f->wanted[d->node[order[i]]->input[j].node] |= d->node[order[i]]->input[j].output > 0 ? 2 : 1;
    for (int i = 0; i < d->outputs; i++) f->wanted[d->output[i].node] |= d->output[i].output > 0 ? 2 : 1;
}

/* What fails, or is large, stays as it is. */
static hr_status fold_node(folder *f, hr_session *s, int node, bool ignore_errors)
{
    hr_tensor value;
    hr_error failed = {0};
    const hr_node known = hr_graph_node(f->g, f->d->node[node]->name);
    const hr_status st = hr_session_run(s, NULL, 0, &known, 1, &value, &failed);
    if (st != HR_OK && f->err) *f->err = failed;
    if (st == HR_RESOURCE_EXHAUSTED || (st != HR_OK && !ignore_errors)) return st;
    if (st != HR_OK) return HR_OK;
    if (value.data && (uint64_t)value.count * hr_dtype_size(value.dtype) <= MOST_BYTES)
        return hr__draft_make_const(f->d, node, value, f->err);
    hr_tensor_clear(&value);
    return HR_OK;
}

static hr_status fold_all(folder *f, bool ignore_errors)
{
    hr__draft *d = f->d;
    int *order = NULL, count;
    hr_session *s = hr_session_new(f->g, .workers = &(int){0}, .passes = "none");
    hr_status st =
        s && f->constant && f->wanted ? hr__draft_order(d, &order, &count, f->err) : hr__draft_no_memory(f->err);
    if (st == HR_OK) {
        find_constants(f, order, count);
        for (int i = 0; st == HR_OK && i < count; i++)
            if (f->constant[order[i]] == 2 && f->wanted[order[i]] == 1) st = fold_node(f, s, order[i], ignore_errors);
    }
    hr_session_free(s);
    hr_free(order);
    return st;
}

static hr_status fold_constants_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    bool ignore_errors = false, clear = true;
    folder f = {.d = d, .err = err};
    HR_TRY(hr__transform_bool(a, "ignore_errors", &ignore_errors, err));
    HR_TRY(hr__transform_bool(a, "clear_output_shapes", &clear, err));
    HR_TRY(hr__draft_sweep(d, err));
    HR_TRY(hr__draft_build(d, &f.g, err));
    f.constant = hr_calloc((size_t)d->count + 1, 1);
    f.wanted = hr_calloc((size_t)d->count + 1, 1);
    hr_status st = fold_all(&f, ignore_errors);
    hr_free(f.constant);
    hr_free(f.wanted);
    hr_graph_free(f.g);
    for (int i = 0; clear && i < d->count; i++) hr__draft_unset(d->node[i], "_output_shapes");
    return st == HR_OK ? hr__draft_sweep(d, err) : st;
}

const hr__transform hr__transform_fold_constants = {
    .info = {"fold_constants", "ignore_errors, clear_output_shapes", "what depends on constants alone becomes one"},
    .run = fold_constants_run,
};
