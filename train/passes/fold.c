/* Constant folding: nodes that depend on constants alone are computed once, when the plan is made, and become constants.
 * Kernels are the session's own, so the bits are the same. What fails is left to fail when it runs. */
#include <headrace/pass.h>
#include <string.h>

enum {
    MAX_BYTES = 10 << 20,   /* of a result: more would keep memory that a run gives back */
    MAX_REPEATED = 4 << 10, /* values of a result that is one again and again */
};

static bool fold_is_constant(hr_node node) { return hr_node_is(node, "Const") && hr_node_controls(node) == 0; }

/* A function of its inputs alone, which has some. */
static bool fold_is_pure(hr_node node)
{
    if (!hr_node_descriptor(node)->compute || !hr_node_is_pure(node) || hr_node_controls(node) > 0 ||
        hr_node_inputs(node) == 0)
        return false;
    for (int i = 0; i < hr_node_outputs(node); i++) {
        const hr_dtype dtype = hr_node_dtype(hr_node_output(node, i));
        if (dtype == HR_RESOURCE || dtype == HR_VARIANT) return false;
    }
    return true;
}

/* A run fills memory as fast as it would copy it: variables that begin with zeros take what is filled as their own. */
static bool fold_is_filled(hr_node node)
{
    return hr_node_is(node, "Fill") || hr_node_is(node, "ZerosLike") || hr_node_is(node, "OnesLike");
}

static bool fold_is_cheap(hr_node node)
{
    return fold_is_filled(node) && hr_shape_count(hr_node_shape(node)) > MAX_REPEATED;
}

typedef struct folding {
    hr_rewrite *r;
    hr_graph *g;
    int32_t size;
    uint8_t *constant; /* by node: 1 a constant, 2 one by what it depends on */
    uint8_t *wanted;   /* by node: what takes it is no constant, and it is worth being one */
    hr_node *node;     /* outputs that become constants */
    hr_tensor *value;
    int count;
} folding;

static void find_constants(folding *f)
{
    for (int32_t id = 0; id < f->size; id++) {
        const hr_node node = {f->g, id, 0};
        if (hr_rewrite_is_fed(f->r, node)) continue;
        bool all = fold_is_pure(node);
        for (int i = 0; all && i < hr_node_inputs(node); i++) all = f->constant[hr_node_input(node, i).id];
        f->constant[id] = fold_is_constant(node) ? 1 : all ? 2 : 0;
    }
}

static void find_wanted(folding *f)
{
    for (int32_t id = 0; id < f->size; id++) {
        const hr_node node = {f->g, id, 0};
        if (hr_rewrite_is_fetched(f->r, node)) f->wanted[id] = 1;
        for (int i = 0; !f->constant[id] && i < hr_node_inputs(node); i++) f->wanted[hr_node_input(node, i).id] = 1;
        for (int i = 0; i < hr_node_controls(node); i++) f->wanted[hr_node_control(node, i).id] = 1;
    }
    for (int32_t id = 0; id < f->size; id++)
        if (f->wanted[id] && fold_is_cheap((hr_node){f->g, id, 0})) f->wanted[id] = 0;
}

static hr_status list_outputs(folding *f, hr_error *err)
{
    int outputs = 0;
    for (int32_t id = 0; id < f->size; id++)
        if (f->constant[id] == 2 && f->wanted[id]) outputs += hr_node_outputs((hr_node){f->g, id, 0});
    if (outputs == 0) return HR_OK;
    f->node = hr_malloc(sizeof *f->node * (size_t)outputs);
    f->value = hr_calloc((size_t)outputs, sizeof *f->value);
    if (!f->node || !f->value) return hr_no_memory(err, "a pass");
    for (int32_t id = 0; id < f->size; id++)
        for (int i = 0; f->constant[id] == 2 && f->wanted[id] && i < hr_node_outputs((hr_node){f->g, id, 0}); i++)
            f->node[f->count++] = (hr_node){f->g, id, i};
    return HR_OK;
}

/* All in one run, or one by one where one of them fails. For want of memory, the plan fails as its run would. */
static hr_status compute_constants(folding *f, hr_error *err)
{
    hr_session *s = hr_session_new(f->g, .workers = &(int){0}, .passes = "none", .products = hr_rewrite_products(f->r));
    if (!s) return hr_no_memory(err, "a pass");
    hr_status st = hr_session_run(s, NULL, 0, f->node, f->count, f->value, err);
    for (int i = 0; st != HR_OK && st != HR_RESOURCE_EXHAUSTED && i < f->count; i++)
        if (hr_session_run(s, NULL, 0, &f->node[i], 1, &f->value[i], err) == HR_RESOURCE_EXHAUSTED)
            st = HR_RESOURCE_EXHAUSTED;
    hr_session_free(s);
    return st == HR_RESOURCE_EXHAUSTED ? st : HR_OK;
}

static bool worth_keeping(const hr_tensor *value)
{
    return value->data && (uint64_t)value->count * hr_dtype_size(value->dtype) <= MAX_BYTES;
}

static hr_status replace_constants(folding *f, hr_error *err)
{
    for (int i = 0; i < f->count; i++) {
        const hr_node old = f->node[i];
        if (!worth_keeping(&f->value[i])) continue;
        const hr_node made =
            hr_new_node(f->g, "Const", .name = hr_node_name(old),
                        HR_ATTRS(HR_TENSOR_ATTR("value", &f->value[i]), HR_TYPE_ATTR("dtype", f->value[i].dtype)));
        if (!hr_node_exists(made)) return HR_OK; /* the error is the graph's */
        HR_TRY(hr_rewrite_replace(f->r, old, made, err));
        if (i + 1 == f->count || f->node[i + 1].id != old.id)
            HR_TRY(hr_rewrite_replace(f->r, hr_target(old), (hr_node){0}, err));
    }
    return HR_OK;
}

static hr_status fold_run(hr_rewrite *r, hr_error *err)
{
    folding f = {.r = r, .g = hr_rewrite_graph(r)};
    f.size = hr_graph_size(f.g);
    f.constant = hr_calloc((size_t)f.size + 1, 1);
    f.wanted = hr_calloc((size_t)f.size + 1, 1);
    hr_status st = f.constant && f.wanted ? HR_OK : hr_no_memory(err, "a pass");
    if (st == HR_OK) {
        find_constants(&f);
        find_wanted(&f);
        st = list_outputs(&f, err);
    }
    if (st == HR_OK && f.count > 0) {
        st = compute_constants(&f, err);
        if (st == HR_OK) st = replace_constants(&f, err);
    }
    for (int i = 0; i < f.count; i++) hr_tensor_clear(&f.value[i]);
    hr_free(f.constant);
    hr_free(f.wanted);
    hr_free(f.node);
    hr_free(f.value);
    return st;
}

const hr_graph_pass hr_graph_pass_fold = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "fold",
    .text = "computes what depends on constants alone once",
    .traits = HR_PASS_EXACT,
    .run = fold_run,
};
