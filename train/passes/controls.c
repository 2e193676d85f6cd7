/* Control inputs that say nothing new go: of what a node takes anyway, of constants, of what others that it waits for
 * have waited for; and whoever waits for a NoOp waits for what that waits for, where this makes no more of them. */
#include <headrace/pass.h>
#include <string.h>

enum { LOOKED_AT = 64 /* inputs of a node that another one waits for */ };

typedef struct clean_up {
    hr_rewrite *r;
    hr_graph *g;
    int32_t *mark; /* by node: the newest node that it was marked for */
    hr_node *kept; /* of one node */
    int count, capacity;
    bool any_switch;
} clean_up;

/* What is fed is none: a run in parts waits for it. */
static bool controls_is_leaf(hr_node node)
{
    return hr_node_descriptor(node)->traits & HR_FIXED && hr_node_controls(node) == 0;
}

/* A NoOp that nobody fetches, short enough. Its own control inputs have been looked at before. */
static bool controls_dissolves(const hr_rewrite *r, hr_node node)
{
    const int64_t in = hr_node_controls(node), out = hr_rewrite_uses(r, node);
    return hr_node_is(node, "NoOp") && !hr_rewrite_is_fetched(r, node) && in * out <= in + out;
}

static hr_status controls_keep(clean_up *c, hr_node node, int32_t by, hr_error *err)
{
    if (c->mark[node.id] == by || controls_is_leaf(node)) return HR_OK;
    if (c->count == c->capacity) {
        const int capacity = c->capacity ? 2 * c->capacity : 64;
        hr_node *grown = hr_realloc(c->kept, sizeof *grown * (size_t)capacity);
        if (!grown) return hr_no_memory(err, "a pass");
        c->kept = grown;
        c->capacity = capacity;
    }
    c->mark[node.id] = by;
    c->kept[c->count++] = node;
    return HR_OK;
}

/* All that `of` waits for is done when `of` is. */
static void mark_before(const clean_up *c, hr_node of, int32_t by)
{
    const int inputs = hr_node_inputs(of), controls = hr_node_controls(of);
    if (inputs + controls > LOOKED_AT || hr_rewrite_is_fed(c->r, of)) return;
    for (int i = 0; i < inputs; i++) c->mark[hr_node_input(of, i).id] = by;
    for (int i = 0; i < controls; i++) c->mark[hr_node_control(of, i).id] = by;
}

/* Where branches switch, to wait for a node is to run only if it does, so nothing else is known to say the same. */
static void drop_implied(clean_up *c, hr_node node)
{
    const int32_t by = hr_graph_size(c->g) + node.id;
    int kept = 0;
    if (c->any_switch || c->count == 0) return;
    for (int i = 0; i < hr_node_inputs(node); i++) mark_before(c, hr_node_input(node, i), by);
    for (int i = 0; i < c->count; i++) mark_before(c, c->kept[i], by);
    for (int i = 0; i < c->count; i++)
        if (c->mark[c->kept[i].id] != by) c->kept[kept++] = c->kept[i];
    c->count = kept;
}

static hr_status clean_node(clean_up *c, hr_node node, hr_error *err)
{
    const int controls = hr_node_controls(node);
    const bool merges = hr_node_descriptor(node)->traits & HR_MERGES;
    c->count = 0;
    for (int i = 0; i < hr_node_inputs(node) && !merges; i++) c->mark[hr_node_input(node, i).id] = node.id;
    for (int i = 0; i < controls; i++) {
        const hr_node at = hr_node_control(node, i);
        const int inner = controls_dissolves(c->r, at) ? hr_node_controls(at) : -1;
        if (inner < 0) HR_TRY(controls_keep(c, at, node.id, err));
        for (int j = 0; j < inner; j++) HR_TRY(controls_keep(c, hr_node_control(at, j), node.id, err));
    }
    drop_implied(c, node);
    bool same = c->count == controls;
    for (int i = 0; same && i < controls; i++) same = c->kept[i].id == hr_node_control(node, i).id;
    return same ? HR_OK : hr_rewrite_set_controls(c->r, node, c->kept, c->count, err);
}

static hr_status controls_run(hr_rewrite *r, hr_error *err)
{
    clean_up c = {.r = r, .g = hr_rewrite_graph(r)};
    const int32_t size = hr_graph_size(c.g);
    hr_status st = HR_OK;
    c.mark = hr_malloc(sizeof *c.mark * ((size_t)size + 1));
    if (!c.mark || size > INT32_MAX / 2) st = hr_no_memory(err, "a pass");
    for (int32_t id = 0; st == HR_OK && id < size; id++) {
        c.mark[id] = -1;
        c.any_switch |= (hr_node_descriptor((hr_node){c.g, id, 0})->traits & HR_SWITCHES) != 0;
    }
    for (int32_t id = 0; st == HR_OK && id < size; id++)
        if (hr_node_controls((hr_node){c.g, id, 0}) > 0) st = clean_node(&c, (hr_node){c.g, id, 0}, err);
    hr_free(c.mark);
    hr_free(c.kept);
    return st;
}

const hr_graph_pass hr_graph_pass_controls = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "controls",
    .text = "drops control inputs that say nothing new",
    .traits = HR_PASS_EXACT,
    .run = controls_run,
};
