/* Lookups that are added up become Headrace>LookupSum, and gradients of lookups that share the gradient of their rows
 * Headrace>LookupSumGrad: a linear model has tens of each, of a microsecond or less. Their bits stay the same. */
#include "train/passes/together.h"

enum { FEWEST = 2 };

typedef struct lookup_sums {
    hr_rewrite *r;
    hr_graph *g;
    int32_t size;
    hr_node *member; /* at most HR_MAX_HANDLES */
    hr_node *inputs; /* of the node that is made */
    int64_t *order;
    together_handles tables; /* of the members */
} lookup_sums;

/* Without weights and clipping. `inputs`: of a lookup 3, of a gradient 4. */
static bool sums_is(hr_node node, const char *op, int inputs)
{
    return together_is(node, op) && hr_node_inputs(node) == inputs && hr_attr_float(node, "max_norm") == 0;
}

static bool sums_same_combiner(hr_node a, hr_node b)
{
    const hr_view x = hr_attr_string(a, "combiner"), y = hr_attr_string(b, "combiner");
    return x.size == y.size && memcmp(x.data, y.data, (size_t)x.size) == 0;
}

/* Notes the table of a member. False: too many, or it is not known what the handle is. */
static bool sums_note_table(lookup_sums *s, hr_node node)
{
    if (s->tables.count == HR_MAX_HANDLES) return false;
    return hr_handle_of(hr_node_input(node, 0), &s->tables.info[s->tables.count]) && ++s->tables.count;
}

/* The tables stay as they are. */
static bool sums_unchanged(const lookup_sums *s, int32_t first, int32_t last)
{
    for (int32_t id = first; id <= last; id++)
        if (together_uses(&s->tables, (hr_node){s->g, id, 0}, true)) return false;
    return true;
}

/* ---- sums ---- */

/* An addend that nobody else takes. */
static bool sums_is_addend(const lookup_sums *s, hr_node addend)
{
    return addend.id < s->size && sums_is(addend, "Headrace>EmbeddingLookupSparse", 3) &&
           hr_rewrite_uses(s->r, addend) == 1 && !hr_rewrite_is_fetched(s->r, addend);
}

/* Which addends are lookups of one kind, in the order of additions: `member`. */
static int sums_find_addends(lookup_sums *s, hr_node sum)
{
    int32_t first = sum.id;
    int count = 0;
    s->tables.count = 0;
    for (int i = 0; i < hr_node_inputs(sum); i++) {
        const hr_node addend = hr_node_input(sum, i);
        if (!sums_is_addend(s, addend) || (count > 0 && !sums_same_combiner(s->member[0], addend)) ||
            !sums_note_table(s, addend))
            continue;
        s->member[count++] = addend;
        if (addend.id < first) first = addend.id;
    }
    return count >= FEWEST && sums_unchanged(s, first, sum.id) ? count : 0;
}

static hr_status sums_make(lookup_sums *s, hr_node sum, hr_error *err)
{
    const int parts = hr_node_inputs(sum), count = sums_find_addends(s, sum);
    if (count == 0) return HR_OK;
    for (int i = 0, column = 0, dense = count; i < parts; i++) {
        const hr_node addend = hr_node_input(sum, i);
        const bool member = column < count && together_same(addend, s->member[column]);
        s->order[i] = member ? column : dense;
        if (!member) s->inputs[2 * count + dense++] = addend;
        if (!member) continue;
        for (int j = 0; j < 3; j++) s->inputs[j * count + column] = hr_node_input(addend, j);
        column++;
    }
    const hr_attr order = {.name = "order", .kind = HR_ATTR_INTS, .count = parts, .ints = s->order};
    const hr_node made = hr_new_node(
        s->g, "Headrace>LookupSum", .name = hr_node_name(sum), .inputs = s->inputs, .input_count = 2 * count + parts,
        HR_ATTRS(HR_INT_ATTR("N", count), HR_INT_ATTR("D", parts - count), order,
                 HR_STRING_ATTR("combiner", hr_attr_string(s->member[0], "combiner").data)));
    if (!hr_node_exists(made)) return HR_OK; /* the error is the graph's */
    HR_TRY(hr_rewrite_replace(s->r, sum, made, err));
    return hr_rewrite_replace(s->r, hr_target(sum), hr_target(made), err);
}

/* ---- gradients ---- */

/* The node whose gradient it takes; -1: it is none of these. */
static int32_t sums_gradient_of(hr_node node)
{
    return sums_is(node, "Headrace>EmbeddingLookupSparseGrad", 4) ? hr_node_input(node, 1).id : -1;
}

/* Those of the chain from `first` on that take the same gradient and could run in its place: `member`. */
static int sums_find_gradients(lookup_sums *s, const int32_t *next, hr_node first)
{
    int count = 0;
    s->tables.count = 0;
    for (int32_t id = first.id; id >= 0; id = next[id]) {
        const hr_node node = {s->g, id, 0};
        if (together_same(hr_node_input(node, 1), hr_node_input(first, 1)) && sums_same_combiner(first, node) &&
            together_could_run_at(node, first) && sums_note_table(s, node))
            s->member[count++] = node;
    }
    return count >= FEWEST && sums_unchanged(s, first.id, s->member[count - 1].id) ? count : 0;
}

static hr_status sums_make_gradient(lookup_sums *s, int count, hr_error *err)
{
    for (int i = 0; i < count; i++) {
        s->inputs[i] = hr_node_input(s->member[i], 0);
        for (int j = 1; j < 3; j++) s->inputs[j * count + i] = hr_node_input(s->member[i], j + 1);
    }
    s->inputs[3 * count] = hr_node_input(s->member[0], 1);
    const hr_node made = hr_new_node(
        s->g, "Headrace>LookupSumGrad", .name = hr_node_name(s->member[0]), .inputs = s->inputs,
        .input_count = 3 * count + 1,
        HR_ATTRS(HR_INT_ATTR("N", count), HR_STRING_ATTR("combiner", hr_attr_string(s->member[0], "combiner").data)));
    if (!hr_node_exists(made)) return HR_OK; /* the error is the graph's */
    for (int i = 0; i < count; i++) {
        const hr_node old = s->member[i];
        HR_TRY(hr_rewrite_replace(s->r, old, hr_node_output(made, i), err));
        HR_TRY(hr_rewrite_replace(s->r, hr_node_output(old, 1), hr_node_output(made, count + i), err));
        HR_TRY(hr_rewrite_replace(s->r, hr_target(old), hr_target(made), err));
    }
    return HR_OK;
}

static hr_status sums_gradients(lookup_sums *s, hr_error *err)
{
    together_chains chains = {0};
    hr_status st = together_chain(s->g, s->size, sums_gradient_of, &chains, err);
    for (int32_t of = 0; st == HR_OK && of < s->size; of++) {
        const int32_t first = chains.first[of];
        const int count = first < 0 ? 0 : sums_find_gradients(s, chains.next, (hr_node){s->g, first, 0});
        if (count > 0) st = sums_make_gradient(s, count, err);
    }
    together_chains_free(&chains);
    return st;
}

/* ---- both ---- */

/* Inputs of the node that is made: at most three for each handle, and the other addends. */
static hr_status sums_take_memory(lookup_sums *s, hr_error *err)
{
    int most = 0;
    for (int32_t id = 0; id < s->size; id++) {
        const hr_node node = {s->g, id, 0};
        if (hr_node_is(node, "AddN") && hr_node_inputs(node) > most) most = hr_node_inputs(node);
    }
    s->member = hr_malloc(sizeof *s->member * HR_MAX_HANDLES);
    s->tables.info = hr_malloc(sizeof *s->tables.info * HR_MAX_HANDLES);
    s->inputs = hr_malloc(sizeof *s->inputs * (3 * (size_t)HR_MAX_HANDLES + (size_t)most + 1));
    s->order = hr_malloc(sizeof *s->order * ((size_t)most + 1));
    return s->member && s->tables.info && s->inputs && s->order ? HR_OK : hr_no_memory(err, "a pass");
}

static bool sums_any_lookup(const lookup_sums *s)
{
    for (int32_t id = 0; id < s->size; id++) {
        const hr_node node = {s->g, id, 0};
        if (hr_node_is(node, "Headrace>EmbeddingLookupSparse") || sums_gradient_of(node) >= 0) return true;
    }
    return false;
}

static hr_status lookup_sum_run(hr_rewrite *r, hr_error *err)
{
    lookup_sums s = {.r = r, .g = hr_rewrite_graph(r)};
    s.size = hr_graph_size(s.g);
    if (!sums_any_lookup(&s)) return HR_OK;
    hr_status st = sums_take_memory(&s, err);
    for (int32_t id = 0; id < s.size && st == HR_OK; id++) {
        const hr_node node = {s.g, id, 0};
        if (together_is(node, "AddN") && hr_node_dtype(node) == HR_FLOAT) st = sums_make(&s, node, err);
    }
    if (st == HR_OK) st = sums_gradients(&s, err);
    hr_free(s.member);
    hr_free(s.tables.info);
    hr_free(s.inputs);
    hr_free(s.order);
    return st;
}

const hr_graph_pass hr_graph_pass_lookup_sum = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "lookup_sum",
    .text = "adds up lookups in one node, as linear models do, and makes the gradients of their tables in another",
    .traits = HR_PASS_EXACT | HR_PASS_FOR_RUNS,
    .run = lookup_sum_run,
};
