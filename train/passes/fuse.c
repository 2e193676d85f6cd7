/* Element-wise nodes whose values only each other take become one node, Headrace>FusedElementWise, which calls a
 * function of them on block after block: what they hand on stays in the cache. Each op's own kernel computes, on the
 * same values, so the bits are the same. What is known to be small stays as it is. */
#include <headrace/pass.h>
#include <string.h>

enum {
    MAX_NODES = 24,      /* of a group */
    MAX_INPUTS = 48,     /* of its function */
    MIN_BYTES = 1 << 24, /* of a result: a smaller one stays in the cache anyway */
    MIN_KNOWN = 1 << 10  /* of what is known of a result's shape, if the rest is not: the call costs 0.2 us */
};

/* Of `taken_by`: nobody so far; several groups, or what is in none. */
enum { NOBODY = -1, OTHERS = -2 };

typedef struct fusing {
    hr_rewrite *r;
    hr_graph *g;
    int32_t size;
    int32_t *group;    /* by node: the last node of its group; -1: none */
    int32_t *taken_by; /* by node: the group that takes its values */
    int32_t *nodes;    /* by group: how many it has */
    hr_node *inside;   /* by node: what it is in the function */
    hr_node input[MAX_INPUTS];
    int inputs;
} fusing;

/* ---- groups ---- */

/* Values of that type are bytes, which may be copied. */
static bool fuse_is_plain(hr_dtype dtype) { return dtype != HR_STRING && dtype != HR_RESOURCE && dtype != HR_VARIANT; }

static bool fuse_may_join(const fusing *f, hr_node node)
{
    const hr_graph_op *op = hr_node_descriptor(node);
    if (!(op->traits & HR_ELEMENT_WISE) || !op->compute || !hr_node_is_pure(node) || hr_node_controls(node) > 0 ||
        hr_node_outputs(node) != 1 || hr_node_inputs(node) == 0 || hr_rewrite_is_fed(f->r, node))
        return false;
    for (int i = 0; i < hr_node_inputs(node); i++)
        if (!fuse_is_plain(hr_node_dtype(hr_node_input(node, i)))) return false;
    return fuse_is_plain(hr_node_dtype(node));
}

/* Of a shape that is known in part, what is known decides: rows of few values are seldom so many that it pays. */
static bool fuse_is_small(hr_node node)
{
    const hr_shape shape = hr_node_shape(node);
    uint64_t bytes = hr_dtype_size(hr_node_dtype(node));
    const bool known = hr_shape_count(shape) >= 0;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] >= 0) bytes *= (uint64_t)shape.dims[i];
    return bytes < (known ? MIN_BYTES : MIN_KNOWN);
}

static void fuse_take(fusing *f, int32_t id, int32_t group)
{
    if (f->taken_by[id] == NOBODY)
        f->taken_by[id] = group;
    else if (f->taken_by[id] != group)
        f->taken_by[id] = OTHERS;
}

/* From the newest node to the oldest: all that take a node's value are in groups already. */
static void find_groups(fusing *f)
{
    for (int32_t id = f->size - 1; id >= 0; id--) {
        const hr_node node = {f->g, id, 0};
        const int32_t by = f->taken_by[id];
        f->group[id] = -1;
        if (fuse_may_join(f, node)) {
            const bool inner = by >= 0 && !hr_rewrite_is_fetched(f->r, node) && f->nodes[by] < MAX_NODES;
            if (inner || !fuse_is_small(node)) f->group[id] = inner ? by : id;
            if (f->group[id] >= 0) f->nodes[f->group[id]]++;
        }
        const int32_t group = f->group[id] >= 0 ? f->group[id] : OTHERS;
        for (int i = 0; i < hr_node_inputs(node); i++) fuse_take(f, hr_node_input(node, i).id, group);
        for (int i = 0; i < hr_node_controls(node); i++) fuse_take(f, hr_node_control(node, i).id, OTHERS);
    }
}

/* ---- a group as a function ---- */

/* What stands for an input from outside in the function; *full: it has too many. */
static hr_node fuse_argument(fusing *f, hr_graph *body, hr_node input, hr_node *arguments, bool *full)
{
    int i = 0;
    while (i < f->inputs && (f->input[i].id != input.id || f->input[i].output != input.output)) i++;
    if (i == MAX_INPUTS) {
        *full = true;
        return (hr_node){0};
    }
    if (i == f->inputs) {
        f->input[f->inputs++] = input;
        arguments[i] = hr_function_input(body, hr_node_dtype(input), HR_UNKNOWN_SHAPE, "x");
    }
    return arguments[i];
}

/* Of the group that ends in `last`, whose nodes are members[0 ... count - 1]. No function: it has too many inputs, or
 * the graph failed. */
static const hr_function *make_function(fusing *f, const int32_t *members, int count)
{
    hr_node arguments[MAX_INPUTS];
    bool full = false;
    const int32_t last = members[count - 1];
    hr_graph *body = hr_function_begin(f->g, hr_node_name((hr_node){f->g, last, 0}));
    f->inputs = 0;
    for (int i = 0; body && i < count; i++) {
        const hr_node node = {f->g, members[i], 0};
        hr_node inputs[MAX_INPUTS];
        full |= hr_node_inputs(node) > MAX_INPUTS;
        for (int j = 0; !full && j < hr_node_inputs(node); j++) {
            const hr_node input = hr_node_input(node, j);
            const bool own = f->group[input.id] == last;
            inputs[j] = own ? f->inside[input.id] : fuse_argument(f, body, input, arguments, &full);
        }
        if (!full) f->inside[members[i]] = hr_node_copy(body, node, inputs, NULL, 0);
    }
    const hr_function *made = body ? hr_function_end(body, &f->inside[last], full ? 0 : 1) : NULL;
    return full ? NULL : made;
}

static hr_status fuse_group(fusing *f, const int32_t *members, int count, hr_error *err)
{
    const hr_node last = {f->g, members[count - 1], 0};
    const hr_function *made = make_function(f, members, count);
    if (!made) return HR_OK; /* an error is the graph's */
    const hr_func func = {.name = hr_function_name(made)};
    const hr_node fused = hr_new_node(f->g, "Headrace>FusedElementWise", .name = hr_node_name(last), .inputs = f->input,
                                      .input_count = f->inputs,
                                      HR_ATTRS(HR_TYPE_ATTR("T", hr_node_dtype(last)),
                                               HR_SHAPE_ATTR("shape", hr_node_shape(last)), HR_FUNC_ATTR("f", &func)));
    if (!hr_node_exists(fused)) return HR_OK;
    HR_TRY(hr_rewrite_replace(f->r, last, fused, err));
    return hr_rewrite_replace(f->r, hr_target(last), fused, err);
}

/* Members of a group are listed from its last node to its first, linked by `next`. */
static hr_status fuse_groups(fusing *f, int32_t *next, hr_error *err)
{
    int32_t members[MAX_NODES];
    for (int32_t id = 0; id < f->size; id++) {
        const int32_t group = f->group[id];
        if (group < 0 || group == id) continue;
        next[id] = next[group];
        next[group] = id;
    }
    for (int32_t id = 0; id < f->size; id++) {
        if (f->group[id] != id || f->nodes[id] < 2) continue;
        int count = f->nodes[id];
        int32_t at = id;
        for (int i = count - 1; i >= 0; i--, at = next[at]) members[i] = at;
        HR_TRY(fuse_group(f, members, count, err));
    }
    return HR_OK;
}

static hr_status fuse_run(hr_rewrite *r, hr_error *err)
{
    fusing *f = hr_calloc(1, sizeof *f);
    if (!f) return hr_no_memory(err, "a pass");
    f->r = r;
    f->g = hr_rewrite_graph(r);
    f->size = hr_graph_size(f->g);
    const size_t nodes = (size_t)f->size + 1;
    f->group = hr_malloc(sizeof *f->group * nodes);
    f->taken_by = hr_malloc(sizeof *f->taken_by * nodes);
    f->nodes = hr_calloc(nodes, sizeof *f->nodes);
    f->inside = hr_malloc(sizeof *f->inside * nodes);
    int32_t *next = hr_calloc(nodes, sizeof *next);
    hr_status st = HR_OK;
    if (!f->group || !f->taken_by || !f->nodes || !f->inside || !next) st = hr_no_memory(err, "a pass");
    if (st == HR_OK) {
        for (int32_t id = 0; id < f->size; id++) f->taken_by[id] = NOBODY;
        find_groups(f);
        st = fuse_groups(f, next, err);
    }
    hr_free(f->group);
    hr_free(f->taken_by);
    hr_free(f->nodes);
    hr_free(f->inside);
    hr_free(next);
    hr_free(f);
    return st;
}

const hr_graph_pass hr_graph_pass_fuse = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "fuse",
    .text = "computes chains of element-wise nodes block by block",
    .traits = HR_PASS_EXACT | HR_PASS_FOR_RUNS,
    .run = fuse_run,
};
