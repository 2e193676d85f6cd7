/* A layer over looked-up rows: the lookups, their concatenation with dense values, and the product with the weights
 * become Headrace>LookupMatMul, and what is derived of them, up to the slices of each table, its gradient's op. They
 * multiply the row of each distinct id once. Sums come in another order, so the last bits differ. */
#include <headrace/pass.h>
#include <string.h>

enum { FOUND = 3 /* outputs of the product that tell the gradient which ids there are */ };

/* What one concatenation belongs to. */
typedef struct layer_match {
    hr_node concat, product, weights;
    hr_node by_weights, by_concat, grad; /* of a gradient; no nodes: there is none */
    int parts, columns;
    hr_node *part;   /* in the order of the concatenation */
    hr_node *slices; /* by part: the gradient of its table */
    bool *looked_up; /* by part */
} layer_match;

typedef struct layering {
    hr_rewrite *r;
    hr_graph *g;
    int32_t size;
    int32_t *first, *next, *user; /* by node: its first use; by use: the next one of the same node, and who takes it */
    layer_match m;
} layering;

static const hr_node no_node = {0};

static bool layer_same(hr_node a, hr_node b) { return a.graph && a.id == b.id && a.output == b.output; }

/* One of the library's own, which waits for nothing. */
static bool layer_is(hr_node node, const char *op)
{
    return node.graph && hr_node_is(node, op) && hr_node_descriptor(node) == hr_graph_op_named(op) &&
           hr_node_controls(node) == 0;
}

static bool layer_is_product(hr_node node, bool turns_a, bool turns_b)
{
    return layer_is(node, "MatMul") && hr_node_dtype(node) == HR_FLOAT &&
           hr_attr_bool(node, "transpose_a") == turns_a && hr_attr_bool(node, "transpose_b") == turns_b;
}

/* The axis along which columns lie side by side. */
static bool layer_is_axis(hr_node node)
{
    const hr_tensor *known = hr_node_constant(node);
    if (!known || known->count != 1) return false;
    return known->dtype == HR_INT32 ? *(const int32_t *)known->data == 1
                                    : known->dtype == HR_INT64 && *(const int64_t *)known->data == 1;
}

static bool layer_is_lookup(hr_node node)
{
    return layer_is(node, "Headrace>EmbeddingLookupSparse") && hr_node_inputs(node) == 3 &&
           hr_attr_float(node, "max_norm") == 0;
}

/* ---- who takes what ---- */

static hr_status layer_find_uses(layering *l, hr_error *err)
{
    int64_t uses = 0;
    for (int32_t id = 0; id < l->size; id++) uses += hr_node_inputs((hr_node){l->g, id, 0});
    l->first = hr_malloc(sizeof *l->first * ((size_t)l->size + 1));
    l->next = hr_malloc(sizeof *l->next * ((size_t)uses + 1));
    l->user = hr_malloc(sizeof *l->user * ((size_t)uses + 1));
    if (!l->first || !l->next || !l->user) return hr_no_memory(err, "a pass");
    for (int32_t id = 0; id < l->size; id++) l->first[id] = -1;
    int32_t use = 0;
    for (int32_t id = l->size - 1; id >= 0; id--) {
        const hr_node node = {l->g, id, 0};
        for (int i = 0; i < hr_node_inputs(node); i++, use++) {
            const int32_t of = hr_node_input(node, i).id;
            l->user[use] = id;
            l->next[use] = l->first[of];
            l->first[of] = use;
        }
    }
    return HR_OK;
}

/* Whether inputs of nodes are all that takes it. */
static bool layer_is_inner(const layering *l, hr_node node)
{
    int uses = 0;
    for (int32_t use = l->first[node.id]; use >= 0; use = l->next[use]) uses++;
    return uses == hr_rewrite_uses(l->r, node) && !hr_rewrite_is_fetched(l->r, node);
}

/* ---- the forward half ---- */

static bool match_parts(layering *l)
{
    layer_match *m = &l->m;
    hr_view combiner = {0};
    m->columns = 0;
    for (int i = 0; i < m->parts; i++) {
        const hr_node part = m->part[i] = hr_node_input(m->concat, i);
        m->slices[i] = no_node;
        m->looked_up[i] = layer_is_lookup(part);
        if (!m->looked_up[i] && hr_node_shape(part).rank != 2) return false;
        if (!m->looked_up[i]) continue;
        const hr_view by = hr_attr_string(part, "combiner");
        if (m->columns++ == 0) combiner = by;
        if (by.size != combiner.size || memcmp(by.data, combiner.data, (size_t)by.size) != 0) return false;
        for (int j = 0; j < i; j++)
            if (m->part[j].id == part.id) return false;
    }
    return m->columns > 0;
}

/* The product, and what of its gradient takes the concatenation. */
static bool match_products(layering *l)
{
    layer_match *m = &l->m;
    m->product = m->by_weights = no_node;
    if (!layer_is_inner(l, m->concat)) return false;
    for (int32_t use = l->first[m->concat.id]; use >= 0; use = l->next[use]) {
        const hr_node user = {l->g, l->user[use], 0};
        const bool turned = layer_is_product(user, true, false);
        hr_node *to = turned ? &m->by_weights : &m->product;
        if ((!turned && !layer_is_product(user, false, false)) || to->graph ||
            !layer_same(hr_node_input(user, 0), m->concat))
            return false;
        *to = user;
    }
    if (!m->product.graph) return false;
    m->weights = hr_node_input(m->product, 1);
    return true;
}

/* ---- the gradient ---- */

/* The product of the gradient and the weights; its other product tells which gradient. */
static bool match_by_concat(layering *l)
{
    layer_match *m = &l->m;
    m->grad = hr_node_input(m->by_weights, 1);
    m->by_concat = no_node;
    for (int32_t use = l->first[m->grad.id]; use >= 0; use = l->next[use]) {
        const hr_node user = {l->g, l->user[use], 0};
        if (layer_is_product(user, false, true) && layer_same(hr_node_input(user, 0), m->grad) &&
            layer_same(hr_node_input(user, 1), m->weights))
            m->by_concat = user;
    }
    return m->by_concat.graph && layer_is_inner(l, m->by_concat);
}

/* Whether that is the place of part i in the concatenation. */
static bool match_offset(const layering *l, hr_node offset, hr_node shape, int i)
{
    const layer_match *m = &l->m;
    if (!layer_is(offset, "ConcatOffset") || offset.output != i || hr_node_inputs(offset) != m->parts + 1 ||
        !layer_is_axis(hr_node_input(offset, 0)) || !layer_same(shape, hr_node_input(offset, i + 1)))
        return false;
    for (int j = 0; j < m->parts; j++) {
        const hr_node of = hr_node_input(offset, j + 1);
        if (!layer_is(of, "Shape") || !layer_same(hr_node_input(of, 0), m->part[j])) return false;
    }
    return true;
}

/* A part's share of the gradient, which its table's slices are made of. */
static bool match_slices(layering *l, hr_node share)
{
    layer_match *m = &l->m;
    if (!layer_is(share, "Slice") || !layer_is_inner(l, share) || l->next[l->first[share.id]] >= 0) return false;
    const hr_node offset = hr_node_input(share, 1), slices = {l->g, l->user[l->first[share.id]], 0};
    const int i = offset.output;
    if (i < 0 || i >= m->parts || !m->looked_up[i] || m->slices[i].graph ||
        !match_offset(l, offset, hr_node_input(share, 2), i) ||
        !layer_is(slices, "Headrace>EmbeddingLookupSparseGrad") || hr_node_inputs(slices) != 4)
        return false;
    for (int j = 0; j < 3; j++)
        if (!layer_same(hr_node_input(slices, j == 0 ? 0 : j + 1), hr_node_input(m->part[i], j))) return false;
    if (!layer_same(hr_node_input(slices, 1), share)) return false;
    m->slices[i] = slices;
    return true;
}

static bool match_gradient(layering *l)
{
    layer_match *m = &l->m;
    int found = 0;
    if (!m->by_weights.graph) return true;
    if (!match_by_concat(l)) return false;
    for (int32_t use = l->first[m->by_concat.id]; use >= 0; use = l->next[use], found++)
        if (!match_slices(l, (hr_node){l->g, l->user[use], 0})) return false;
    return found == m->columns;
}

/* ---- tables stay as they are from the first lookup to the last slices ---- */

static bool may_change(const layering *l, hr_node node)
{
    const layer_match *m = &l->m;
    const unsigned traits = hr_node_descriptor(node)->traits;
    if (traits & HR_CALLS) return true;
    if (!(traits & HR_STATEFUL) || traits & HR_READS_ONLY) return false;
    for (int i = 0; i < hr_node_inputs(node); i++) {
        hr_handle_info handle, table;
        if (hr_node_dtype(hr_node_input(node, i)) != HR_RESOURCE) continue;
        if (!hr_handle_of(hr_node_input(node, i), &handle)) return true;
        for (int j = 0; j < m->parts; j++)
            if (m->looked_up[j] &&
                (!hr_handle_of(hr_node_input(m->part[j], 0), &table) || layer_same(table.origin, handle.origin)))
                return true;
    }
    return false;
}

static bool match_tables(const layering *l)
{
    const layer_match *m = &l->m;
    int32_t first = m->product.id, last = m->product.id;
    for (int i = 0; i < m->parts; i++) {
        if (m->looked_up[i] && m->part[i].id < first) first = m->part[i].id;
        if (m->slices[i].graph && m->slices[i].id > last) last = m->slices[i].id;
    }
    if (m->by_weights.graph && m->by_weights.id > last) last = m->by_weights.id;
    for (int32_t id = first; id <= last; id++)
        if (may_change(l, (hr_node){l->g, id, 0})) return false;
    return true;
}

/* ---- what takes their place ---- */

/* `forward`: no node to make that one; else its gradient, which also takes what it found. */
static hr_node layer_make(const layering *l, hr_node forward, hr_node named, hr_node *inputs, int64_t *order)
{
    const layer_match *m = &l->m;
    int column = 0, dense = m->columns, count = 2 * m->columns + m->parts;
    hr_view combiner = {0};
    for (int i = 0; i < m->parts; i++) {
        order[i] = m->looked_up[i] ? column : dense;
        if (!m->looked_up[i]) inputs[2 * m->columns + dense++] = m->part[i];
        if (!m->looked_up[i]) continue;
        combiner = hr_attr_string(m->part[i], "combiner");
        for (int j = 0; j < 3; j++) inputs[j * m->columns + column] = hr_node_input(m->part[i], j);
        column++;
    }
    inputs[count++] = m->weights;
    if (forward.graph) inputs[count++] = m->grad;
    for (int i = 1; i <= FOUND && forward.graph; i++) inputs[count++] = hr_node_output(forward, i);
    const hr_attr places = {.name = "order", .kind = HR_ATTR_INTS, .count = m->parts, .ints = order};
    const char *op = forward.graph ? "Headrace>LookupMatMulGrad" : "Headrace>LookupMatMul";
    return hr_new_node(l->g, op, .name = hr_node_name(named), .inputs = inputs, .input_count = count,
                       HR_ATTRS(HR_INT_ATTR("N", m->columns), HR_INT_ATTR("D", m->parts - m->columns), places,
                                HR_STRING_ATTR("combiner", combiner.data)));
}

static hr_status layer_replace_gradient(const layering *l, hr_node made, hr_error *err)
{
    const layer_match *m = &l->m;
    HR_TRY(hr_rewrite_replace(l->r, m->by_weights, made, err));
    HR_TRY(hr_rewrite_replace(l->r, hr_target(m->by_weights), hr_target(made), err));
    for (int i = 0, column = 0; i < m->parts; i++) {
        if (!m->looked_up[i]) continue;
        HR_TRY(hr_rewrite_replace(l->r, m->slices[i], hr_node_output(made, 1 + column), err));
        HR_TRY(hr_rewrite_replace(l->r, hr_node_output(m->slices[i], 1), hr_node_output(made, 1 + m->columns + column),
                                  err));
        HR_TRY(hr_rewrite_replace(l->r, hr_target(m->slices[i]), hr_target(made), err));
        column++;
    }
    return HR_OK;
}

static hr_status layer_fuse(layering *l, hr_error *err)
{
    const layer_match *m = &l->m;
    hr_node *inputs = hr_malloc(sizeof *inputs * (size_t)(3 * m->parts + 2 + FOUND));
    int64_t *order = hr_malloc(sizeof *order * (size_t)m->parts);
    hr_status st = inputs && order ? HR_OK : hr_no_memory(err, "a pass");
    hr_node made = no_node;
    if (st == HR_OK) made = layer_make(l, no_node, m->product, inputs, order);
    if (hr_node_exists(made)) { /* an error is the graph's */
        st = hr_rewrite_replace(l->r, m->product, made, err);
        if (st == HR_OK) st = hr_rewrite_replace(l->r, hr_target(m->product), hr_target(made), err);
        const bool both = st == HR_OK && m->by_weights.graph;
        made = both ? layer_make(l, made, m->by_weights, inputs, order) : no_node;
        if (hr_node_exists(made)) st = layer_replace_gradient(l, made, err);
    }
    hr_free(inputs);
    hr_free(order);
    return st;
}

static hr_status layer_of_concat(layering *l, hr_node concat, hr_error *err)
{
    layer_match *m = &l->m;
    const int parts = hr_node_inputs(concat) - 1;
    if (!layer_is(concat, "ConcatV2") || hr_node_dtype(concat) != HR_FLOAT || parts > HR_MAX_HANDLES ||
        !layer_is_axis(hr_node_input(concat, parts)))
        return HR_OK;
    *m = (layer_match){.concat = concat, .parts = parts};
    m->part = hr_malloc(sizeof *m->part * (size_t)parts);
    m->slices = hr_malloc(sizeof *m->slices * (size_t)parts);
    m->looked_up = hr_calloc((size_t)parts, sizeof *m->looked_up);
    hr_status st = m->part && m->slices && m->looked_up ? HR_OK : hr_no_memory(err, "a pass");
    if (st == HR_OK && match_parts(l) && match_products(l) && match_gradient(l) && match_tables(l))
        st = layer_fuse(l, err);
    hr_free(m->part);
    hr_free(m->slices);
    hr_free(m->looked_up);
    return st;
}

static hr_status lookup_matmul_run(hr_rewrite *r, hr_error *err)
{
    layering l = {.r = r, .g = hr_rewrite_graph(r)};
    l.size = hr_graph_size(l.g);
    hr_status st = HR_OK;
    for (int32_t id = 0; id < l.size && st == HR_OK; id++) {
        const hr_node node = {l.g, id, 0};
        if (!hr_node_is(node, "ConcatV2")) continue;
        if (!l.first) st = layer_find_uses(&l, err);
        if (st == HR_OK) st = layer_of_concat(&l, node, err);
    }
    hr_free(l.first);
    hr_free(l.next);
    hr_free(l.user);
    return st;
}

const hr_graph_pass hr_graph_pass_lookup_matmul = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "lookup_matmul",
    .text = "multiplies each distinct looked-up row once in the layer above; the last bits may differ",
    .traits = HR_PASS_FOR_RUNS,
    .run = lookup_matmul_run,
};
