/* The copy of what a plan needs: the nodes that the fetches depend on, short of the feeds, in the order of the user's
 * graph, which is an order that works. Passes rewrite it; the plan is made of what is left. Copies share names, types,
 * shapes and attributes with the user's nodes, and what these keep between runs; nodes that passes make have their own
 * (hr__rewrite_origin).
 *
 * After each pass the copy is put in order again: what took another's place is entered where that is taken, nodes that
 * nobody needs are left out, and inputs come before what takes them. */
#include "train/graph/graph_internal.h"
#include "train/graph/pass.h"

#include <stdlib.h>
#include <string.h>

struct hr_rewrite {
    hr_graph *source, *g;
    hr_node *feed, *fetch; /* in the copy */
    int feeds, fetches;
    /* By node of the copy: the user's node; -1: fed, or made by a pass. So are nodes from `origins` on. */
    int32_t *origin;
    int32_t origins;
    hr_products products; /* of the session */
    bool for_tool;        /* who wants to find what is fetched by its name */
    /* While a pass runs. */
    bool changed;
    int32_t begun; /* nodes that were there when it began; what is fed are the first ones */
    /* By node, up to `begun`. */
    int *uses;
    bool *fetched;
    hr_node **place; /* what takes the place of each output, then of the operation; NULL: none */
    hr__arena arena; /* of the pass */
};

/* ---- an order: inputs first, otherwise as before ---- */

/* What a walk goes along: how many nodes a node needs, and each of them; -1: none. */
typedef struct way {
    int (*edges)(const void *of, int32_t id);
    int32_t (*edge)(const void *of, int32_t id, int i);
    const void *of;
} way;

/* From what is wanted to all that it needs, without recursion: graphs may be deep. */
typedef struct walk {
    way way;
    int32_t *stack; /* a node, and which of its edges is next */
    int depth, capacity;
    int32_t *order; /* inputs first */
    int32_t count;
    uint8_t *state; /* by node: NEW, OPEN (on the stack) or DONE (in order) */
} walk;
enum { NEW, OPEN, DONE };

static hr_status walk_begin(walk *w, way along, int32_t nodes, hr_error *err)
{
    *w = (walk){.way = along};
    w->order = hr_malloc(sizeof *w->order * ((size_t)nodes + 1));
    w->state = hr_calloc((size_t)nodes + 1, 1);
    return w->order && w->state ? HR_OK : hr_no_memory(err, "a plan");
}

static void walk_end(walk *w)
{
    hr_free(w->stack);
    hr_free(w->order);
    hr_free(w->state);
}

static hr_status walk_open(walk *w, int32_t id, hr_error *err)
{
    HR_TRY(hr__grow(&w->stack, w->depth + 1, &w->capacity, sizeof *w->stack, err));
    w->stack[w->depth++] = id;
    w->stack[w->depth++] = 0;
    w->state[id] = OPEN;
    return HR_OK;
}

static hr_status walk_from(walk *w, int32_t start, hr_error *err)
{
    if (start < 0 || w->state[start] != NEW) return HR_OK;
    HR_TRY(walk_open(w, start, err));
    while (w->depth > 0) {
        const int32_t id = w->stack[w->depth - 2], i = w->stack[w->depth - 1]++;
        if (i == w->way.edges(w->way.of, id)) {
            w->state[id] = DONE;
            w->order[w->count++] = id;
            w->depth -= 2;
            continue;
        }
        const int32_t next = w->way.edge(w->way.of, id, i);
        if (next >= 0 && w->state[next] == OPEN)
            return hr_fail(err, HR_INTERNAL, "graph.pass", "expected a graph without cycles of its passes, got one");
        if (next >= 0 && w->state[next] == NEW) HR_TRY(walk_open(w, next, err));
    }
    return HR_OK;
}

/* ---- the first copy ---- */

typedef struct copier {
    hr_rewrite *r;
    const hr_graph *g; /* the user's */
    const hr_node *feeds;
    int feed_count;
    int *feed_at, *next_feed; /* by node: 1 + its newest feed; by feed: 1 + another one of its node; 0: none */
    uint8_t *needed;          /* by node; NULL: not known yet */
    int32_t *copy;            /* by node; -1: none */
    bool names;
    hr_error *err;
} copier;

static int feed_of(const copier *c, hr_node node)
{
    for (int i = c->feed_at[node.id]; i > 0; i = c->next_feed[i - 1])
        if (c->feeds[i - 1].output == node.output) return i - 1;
    return -1;
}

/* A node that computes what another does, and more, stands for it where both are needed; the first one's place in the
 * order is that of all. */
static int32_t place_of(const copier *c, int32_t id)
{
    while (c->g->nodes[id]->extends > 0) id = c->g->nodes[id]->extends - 1;
    return id;
}

static const hr__node *content_of(const copier *c, int32_t place, int32_t *id)
{
    *id = place;
    for (int32_t at = c->g->nodes[place]->extended; at > 0; at = c->g->nodes[at - 1]->extended)
        if (c->needed[at - 1]) *id = at - 1;
    return c->g->nodes[*id];
}

/* A constant that waits for others is computed in its turn. */
static bool is_leaf(const hr__node *n) { return n->op->traits & HR_FIXED && n->controls == 0; }

/* Which feed stands for a node that is taken as it is, or waited for. */
static int feed_for(const copier *c, hr_node node)
{
    if (node.output >= 0) return feed_of(c, node);
    return hr_node_outputs(node) == 1 ? feed_of(c, hr_node_output(node, 0)) : -1;
}

/* An output of a loop of TensorFlow 1 needs the While that runs in its place. */
static int edges_of(const hr__node *n) { return n->instead.graph ? 1 : is_leaf(n) ? 0 : n->inputs + n->controls; }

static int32_t edge_of(const copier *c, const hr__node *n, int i)
{
    if (n->instead.graph) return n->instead.id;
    const hr_node needed = i < n->inputs ? n->input[i] : n->control[i - n->inputs];
    return feed_for(c, needed) >= 0 ? -1 : needed.id;
}

static int source_edges(const void *of, int32_t id) { return edges_of(((const copier *)of)->g->nodes[id]); }

static int32_t source_edge(const void *of, int32_t id, int i)
{
    return edge_of(of, ((const copier *)of)->g->nodes[id], i);
}

static int place_edges(const void *of, int32_t place)
{
    int32_t id;
    return edges_of(content_of(of, place, &id));
}

static int32_t place_edge(const void *of, int32_t place, int i)
{
    int32_t id;
    const int32_t next = edge_of(of, content_of(of, place, &id), i);
    return next < 0 ? -1 : place_of(of, next);
}

static hr_status check_node(const copier *c, hr_node node)
{
    const hr__node *n = hr__node_of(node);
    if (n && n->in_loop)
        return hr_fail(c->err, HR_INVALID_ARGUMENT, "session.fetch",
                       "session: expected to fetch or feed what is outside of loops, but '%s' has a value each turn",
                       n->name);
    if (n && node.graph == c->g && node.output < n->outputs) return HR_OK;
    return hr_fail(c->err, HR_INVALID_ARGUMENT, "session.fetch",
                   "session: expected nodes of its graph to fetch or feed, got %s", n ? n->name : "none");
}

static hr_status take_feeds(copier *c)
{
    for (int i = 0; i < c->feed_count; i++) {
        const hr_node node = c->feeds[i];
        HR_TRY(check_node(c, node));
        if (node.output < 0)
            return hr_fail(c->err, HR_INVALID_ARGUMENT, "session.feed",
                           "session: expected to feed a node's value, but '%s' has none; feed the nodes that read it",
                           hr_node_name(node));
        if (feed_of(c, node) >= 0)
            return hr_fail(c->err, HR_INVALID_ARGUMENT, "session.feed",
                           "session: expected one feed for each node, got several for '%s'", hr_node_name(node));
        c->next_feed[i] = c->feed_at[node.id];
        c->feed_at[node.id] = i + 1;
    }
    return HR_OK;
}

/* A loop of TensorFlow 1 that no While runs in place of is a cycle. */
static hr_status blame_loop(const copier *c, const walk *w, hr_status st)
{
    for (int i = 0; i < w->depth; i += 2) {
        const hr__node *n = c->g->nodes[w->stack[i]];
        if (n->not_raised) return hr_fail(c->err, n->not_raised_code, "graph.loop", "%s", n->not_raised);
    }
    return st;
}

static hr_status mark_needed(copier *c, const hr_node *fetches)
{
    walk w;
    hr_status st = walk_begin(&w, (way){source_edges, source_edge, c}, c->g->node_count, c->err);
    for (int i = 0; st == HR_OK && i < c->r->fetches; i++) {
        st = check_node(c, fetches[i]);
        if (st == HR_OK && feed_for(c, fetches[i]) < 0) st = walk_from(&w, fetches[i].id, c->err);
    }
    if (st != HR_OK) st = blame_loop(c, &w, st);
    c->needed = w.state;
    w.state = NULL;
    walk_end(&w);
    return st;
}

/* In the copy under its own name. */
static hr_status enter_copy(copier *c, hr__node *n, int32_t origin)
{
    hr_graph *to = c->r->g;
    HR_TRY(hr__grow(&to->nodes, to->node_count, &to->node_capacity, sizeof *to->nodes, c->err));
    if (c->names) HR_TRY(hr__claim_name(to, n->name, &n->name, c->err));
    if (c->names) HR_TRY(hr__map_add(&to->by_name, n->name, strlen(n->name), to->node_count, c->err));
    c->r->origin[to->node_count] = origin;
    n->mark = 0;
    n->extends = n->extended = 0;
    to->nodes[to->node_count++] = n;
    return HR_OK;
}

/* What is fed is a placeholder in the copy. */
static hr_status copy_feed(copier *c, hr_node fed)
{
    hr_graph *to = c->r->g;
    const hr__node *n = hr__node_of(fed);
    c->r->feed[c->r->feeds++] = (hr_node){to, to->node_count, 0};
    if (strcmp(n->op->name, "Placeholder") == 0) {
        hr__node *copy = hr__arena_copy(&to->arena, n, sizeof *n);
        if (!copy) return hr_no_memory(c->err, "a plan");
        copy->controls = 0;
        return enter_copy(c, copy, -1);
    }
    c->r->origin[to->node_count] = -1;
    const hr_node made =
        hr_new_node(to, "Placeholder", .name = n->outputs == 1 ? n->name : "fed",
                    HR_ATTRS(HR_TYPE_ATTR("dtype", n->type[fed.output]), HR_SHAPE_ATTR("shape", n->shape[fed.output])));
    if (!hr_node_exists(made) && c->err) *c->err = to->error;
    return hr_node_exists(made) ? HR_OK : to->error.code;
}

static hr_node in_copy(const copier *c, hr_node node)
{
    const int feed = feed_for(c, node);
    if (feed >= 0) return (hr_node){c->r->g, feed, node.output < 0 ? -1 : 0};
    return (hr_node){c->r->g, c->copy[place_of(c, node.id)], node.output};
}

/* What is taken from a While under the name of a node of the file. */
static hr_status copy_instead(copier *c, int32_t place, const hr__node *n)
{
    hr_graph *to = c->r->g;
    c->copy[place] = to->node_count;
    c->r->origin[to->node_count] = -1;
    const hr_node made = hr_new_node(to, "Identity", .name = n->name, HR_INPUTS(in_copy(c, n->instead)));
    if (hr_node_exists(made)) {
        hr__node_of(made)->name = n->name;
        hr__node_of(made)->place = n->place;
        return HR_OK;
    }
    if (c->err) *c->err = to->error;
    return to->error.code;
}

static hr_status copy_node(copier *c, int32_t place)
{
    int32_t id;
    hr_graph *to = c->r->g;
    const hr__node *n = content_of(c, place, &id);
    if (n->instead.graph) return copy_instead(c, place, n);
    hr__node *copy = hr__arena_copy(&to->arena, n, sizeof *n);
    hr_node *input = hr__arena_get(&to->arena, sizeof *input * (size_t)(n->inputs + n->controls + 1));
    if (!copy || !input) return hr_no_memory(c->err, "a plan");
    const bool leaf = is_leaf(n);
    copy->name = c->g->nodes[place]->name;
    copy->place = c->g->nodes[place]->place;
    copy->input = input;
    copy->control = input + n->inputs;
    for (int i = 0; !leaf && i < n->inputs; i++) input[i] = in_copy(c, n->input[i]);
    for (int i = 0; i < n->controls; i++) input[n->inputs + i] = in_copy(c, n->control[i]);
    c->copy[place] = to->node_count;
    return enter_copy(c, copy, id);
}

static hr_status copy_needed(copier *c)
{
    walk w;
    hr_status st = walk_begin(&w, (way){place_edges, place_edge, c}, c->g->node_count, c->err);
    for (int32_t id = 0; st == HR_OK && id < c->g->node_count; id++)
        if (c->needed[id]) st = walk_from(&w, place_of(c, id), c->err);
    c->r->origin = st == HR_OK ? hr_malloc(sizeof *c->r->origin * ((size_t)w.count + (size_t)c->feed_count + 1)) : NULL;
    if (st == HR_OK && !c->r->origin) st = hr_no_memory(c->err, "a plan");
    for (int i = 0; st == HR_OK && i < c->feed_count; i++) st = copy_feed(c, c->feeds[i]);
    for (int32_t i = 0; st == HR_OK && i < w.count; i++) st = copy_node(c, w.order[i]);
    walk_end(&w);
    return st;
}

static hr_status copier_run(copier *c, const hr_node *fetches)
{
    hr_rewrite *r = c->r;
    const size_t nodes = (size_t)c->g->node_count + 1;
    r->feed = hr_malloc(sizeof *r->feed * ((size_t)c->feed_count + 1));
    r->fetch = hr_malloc(sizeof *r->fetch * ((size_t)r->fetches + 1));
    c->feed_at = hr_calloc(nodes, sizeof *c->feed_at);
    c->next_feed = hr_calloc((size_t)c->feed_count + 1, sizeof *c->next_feed);
    c->copy = hr_malloc(sizeof *c->copy * nodes);
    if (!r->feed || !r->fetch || !c->feed_at || !c->next_feed || !c->copy) return hr_no_memory(c->err, "a plan");
    HR_TRY(take_feeds(c));
    HR_TRY(mark_needed(c, fetches));
    HR_TRY(copy_needed(c));
    for (int i = 0; i < r->fetches; i++) r->fetch[i] = in_copy(c, fetches[i]);
    r->origins = r->g->node_count;
    return HR_OK;
}

hr_status hr__rewrite_begin(hr_graph *g, const hr_node *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                            bool names, hr_rewrite **out, hr_error *err)
{
    hr_rewrite *r = hr_calloc(1, sizeof *r);
    if (!r) return hr_no_memory(err, "a plan");
    *r = (hr_rewrite){.source = g, .g = hr_graph_new(), .fetches = fetch_count, .for_tool = names};
    copier c = {.r = r, .g = g, .feeds = feeds, .feed_count = feed_count, .names = names, .err = err};
    if (r->g) r->g->outer = g;
    if (r->g) r->g->own_library = true;
    const hr_status st = r->g ? copier_run(&c, fetches) : hr_no_memory(err, "a plan");
    hr_free(c.feed_at);
    hr_free(c.next_feed);
    hr_free(c.needed);
    hr_free(c.copy);
    if (st == HR_OK)
        *out = r;
    else
        hr_rewrite_free(r);
    return st;
}

/* ---- looking at the copy ---- */

hr_graph *hr_rewrite_graph(const hr_rewrite *r) { return r->g; }
hr_products hr_rewrite_products(const hr_rewrite *r) { return r->products; }
hr_node hr_rewrite_feed(const hr_rewrite *r, int i) { return i >= 0 && i < r->feeds ? r->feed[i] : (hr_node){0}; }
hr_node hr_rewrite_fetch(const hr_rewrite *r, int i) { return i >= 0 && i < r->fetches ? r->fetch[i] : (hr_node){0}; }
int32_t hr__rewrite_origin(const hr_rewrite *r, int32_t id) { return id < r->origins ? r->origin[id] : -1; }

int hr_rewrite_uses(const hr_rewrite *r, hr_node node)
{
    return node.id >= 0 && node.id < r->begun ? r->uses[node.id] : 0;
}

bool hr_rewrite_is_fed(const hr_rewrite *r, hr_node node) { return node.id >= 0 && node.id < r->feeds; }

bool hr_rewrite_is_fetched(const hr_rewrite *r, hr_node node)
{
    return node.id >= 0 && node.id < r->begun && r->fetched[node.id];
}

bool hr_node_is_pure(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    if (!n || n->op->traits & (HR_STATEFUL | HR_CALLS | HR_SWITCHES | HR_MERGES)) return false;
    for (int i = 0; i < n->inputs; i++)
        if (hr__output_is_ref(n->input[i])) return false;
    return true;
}

/* Of the attributes that the signature does not know, those that any node may have. */
hr_node hr_node_copy(hr_graph *to, hr_node node, const hr_node *inputs, const hr_attr *changed, int count)
{
    const hr__node *n = hr__node_of(node);
    if (!n) return node;
    if (count < 0 || (!changed && count > 0) || (!inputs && n->inputs > 0))
        return hr_node_fail(to, HR_INVALID_ARGUMENT, "graph.argument",
                            "hr_node_copy: expected %d inputs and %d attributes, got NULL", n->inputs, count);
    hr_attr *attrs = hr_malloc(sizeof *attrs * ((size_t)n->attrs + 1));
    int kept = 0;
    if (!attrs) return hr__graph_no_memory(to, "a node");
    for (int i = 0; i < n->attrs; i++) {
        if (i >= n->sig->attrs && n->attr[i].name[0] != '_') continue;
        attrs[kept] = n->attr[i];
        for (int j = 0; j < count; j++)
            if (changed[j].name && strcmp(changed[j].name, n->attr[i].name) == 0) attrs[kept] = changed[j];
        kept++;
    }
    const hr_node made = hr_new_node(to, n->op->name, .name = n->name, .inputs = inputs, .input_count = n->inputs,
                                     .attrs = attrs, .attr_count = kept);
    hr_free(attrs);
    if (hr_node_exists(made)) hr__node_of(made)->made = n->made;
    return made;
}

/* ---- what takes whose place ---- */

static bool is_none(hr_node node) { return node.id < 0; }

/* The operation's place is behind those of the outputs. */
static hr_node *place_at(const hr_rewrite *r, hr_node node)
{
    if (node.id < 0 || node.id >= r->begun || !r->place[node.id]) return NULL;
    return &r->place[node.id][node.output < 0 ? r->g->nodes[node.id]->outputs : node.output];
}

static hr_node resolve(const hr_rewrite *r, hr_node node)
{
    for (;;) {
        const hr_node *place = place_at(r, node);
        if (!place || !place->graph) return node;
        node = *place;
    }
}

hr_node hr_rewrite_input(const hr_rewrite *r, hr_node node, int i) { return resolve(r, hr_node_input(node, i)); }

/* What goes wrong in a node of a pass is said of the user's node. */
static void stand_for(hr__node *made, const hr__node *old)
{
    made->name = old->name;
    if (!made->made.file) made->made = old->made;
}

/* For a tool, an older node in the place of what is fetched would have another name: an Identity stands between. */
hr_status hr_rewrite_replace(hr_rewrite *r, hr_node old, hr_node by, hr_error *err)
{
    const hr__node *n = hr__node_of(old);
    const bool nothing = old.output < 0 && !by.graph;
    if (!n || old.graph != r->g || old.id >= r->begun || (!nothing && (by.graph != r->g || !hr_node_exists(by))) ||
        (old.output >= 0 && hr_node_dtype(old) != hr_node_dtype(by)))
        return hr_fail(err, HR_INTERNAL, "graph.pass", "expected a node of the same type in the place of '%s', got %s",
                       hr_node_name(old), hr_node_exists(by) ? hr_node_name(by) : "none");
    if (r->for_tool && r->fetched[old.id] && old.output >= 0 && by.id < r->begun) {
        by = hr_new_node(r->g, "Identity", .name = n->name, HR_INPUTS(by));
        if (!hr_node_exists(by)) return HR_OK; /* the error is the graph's */
    }
    if (!nothing && by.id >= r->begun && !r->for_tool) stand_for(hr__node_of(by), n);
    by = nothing ? (hr_node){r->g, -1, -1} : resolve(r, old.output < 0 ? hr_target(by) : by);
    if (by.id == old.id && by.output == old.output) return HR_OK;
    if (!r->place[old.id]) r->place[old.id] = hr__arena_get(&r->arena, sizeof(hr_node) * ((size_t)n->outputs + 1));
    if (!r->place[old.id]) return hr_no_memory(err, "a pass");
    *place_at(r, old) = by;
    r->changed = true;
    return HR_OK;
}

hr_status hr_rewrite_set_controls(hr_rewrite *r, hr_node node, const hr_node *controls, int count, hr_error *err)
{
    hr__node *n = hr__node_of(node);
    hr_node *copy = hr__arena_copy(&r->g->arena, controls, sizeof *copy * (size_t)count);
    if (!copy) return hr_no_memory(err, "a pass");
    for (int i = 0; i < count; i++) copy[i].output = -1;
    n->control = copy;
    n->controls = count;
    r->changed = true;
    return HR_OK;
}

/* ---- one pass ---- */

static hr_status pass_begin(hr_rewrite *r, hr_error *err)
{
    const hr_graph *g = r->g;
    r->begun = g->node_count;
    r->changed = false;
    r->arena = (hr__arena){0};
    r->uses = hr__arena_get(&r->arena, sizeof *r->uses * ((size_t)r->begun + 1));
    r->place = hr__arena_get(&r->arena, sizeof *r->place * ((size_t)r->begun + 1));
    r->fetched = hr__arena_get(&r->arena, sizeof *r->fetched * ((size_t)r->begun + 1));
    if (!r->uses || !r->place || !r->fetched) return hr_no_memory(err, "a pass");
    for (int32_t id = 0; id < r->begun; id++) {
        for (int i = 0; i < g->nodes[id]->inputs; i++) r->uses[g->nodes[id]->input[i].id]++;
        for (int i = 0; i < g->nodes[id]->controls; i++) r->uses[g->nodes[id]->control[i].id]++;
    }
    for (int i = 0; i < r->fetches; i++) {
        if (is_none(r->fetch[i])) continue;
        r->uses[r->fetch[i].id]++;
        r->fetched[r->fetch[i].id] = true;
    }
    return HR_OK;
}

static int copy_edges(const void *of, int32_t id)
{
    const hr__node *n = ((const hr_rewrite *)of)->g->nodes[id];
    return n->inputs + n->controls;
}

static int32_t copy_edge(const void *of, int32_t id, int i)
{
    const hr_rewrite *r = of;
    const hr__node *n = r->g->nodes[id];
    return resolve(r, i < n->inputs ? n->input[i] : n->control[i - n->inputs]).id;
}

/* Inputs and controls by what took their place, numbered anew. A control that fell away, or stands twice, goes. */
static hr_status renumber(hr_rewrite *r, hr__node *n, const int32_t *number, hr_error *err)
{
    const uint32_t mark = ++r->g->marks;
    hr_node *input = hr__arena_get(&r->g->arena, sizeof *input * ((size_t)n->inputs + (size_t)n->controls + 1));
    hr_node *control = input + n->inputs;
    int controls = 0;
    if (!input) return hr_no_memory(err, "a pass");
    for (int i = 0; i < n->inputs; i++) {
        input[i] = resolve(r, n->input[i]);
        input[i].id = number[input[i].id];
    }
    for (int i = 0; i < n->controls; i++) {
        hr_node at = resolve(r, n->control[i]);
        if (is_none(at) || r->g->nodes[at.id]->mark == mark) continue;
        r->g->nodes[at.id]->mark = mark;
        at.id = number[at.id];
        control[controls++] = at;
    }
    n->input = input;
    n->control = control;
    n->controls = controls;
    return HR_OK;
}

static hr_status number_nodes(hr_rewrite *r, const walk *w, int32_t *number, hr_error *err)
{
    hr_graph *g = r->g;
    int32_t *origin = hr_malloc(sizeof *origin * ((size_t)w->count + 1));
    hr__node **nodes = hr_malloc(sizeof *nodes * ((size_t)w->count + 1));
    hr_status st = origin && nodes ? HR_OK : hr_no_memory(err, "a pass");
    for (int32_t i = 0; i < w->count; i++) number[w->order[i]] = i;
    for (int32_t i = 0; st == HR_OK && i < w->count; i++) {
        nodes[i] = g->nodes[w->order[i]];
        origin[i] = hr__rewrite_origin(r, w->order[i]);
        st = renumber(r, nodes[i], number, err);
    }
    if (st != HR_OK) {
        hr_free(origin);
        hr_free(nodes);
        return st;
    }
    hr_free(g->nodes);
    hr_free(r->origin);
    g->nodes = nodes;
    g->node_count = w->count;
    g->node_capacity = w->count + 1;
    r->origin = origin;
    r->origins = w->count;
    return HR_OK;
}

/* A node, or what took the places of its outputs. */
static hr_status order_from(const hr_rewrite *r, const walk *needed, walk *w, int32_t id, hr_error *err)
{
    if (needed->state[id] == DONE || id < r->feeds) HR_TRY(walk_from(w, id, err));
    for (int i = 0; id < r->begun && r->place[id] && i <= r->g->nodes[id]->outputs; i++) {
        const hr_node by = r->place[id][i].graph ? resolve(r, r->place[id][i]) : (hr_node){0};
        if (by.graph && !is_none(by) && needed->state[by.id] == DONE) HR_TRY(walk_from(w, by.id, err));
    }
    return HR_OK;
}

/* What is fed stays first; then what the fetches need. */
static hr_status order_again(hr_rewrite *r, hr_error *err)
{
    walk mark, w;
    const int32_t nodes = r->g->node_count;
    const way along = {copy_edges, copy_edge, r};
    int32_t *number = hr_malloc(sizeof *number * ((size_t)nodes + 1));
    hr_status st = walk_begin(&mark, along, nodes, err);
    hr_status begun = walk_begin(&w, along, nodes, err);
    if (st == HR_OK) st = begun;
    if (st == HR_OK && !number) st = hr_no_memory(err, "a pass");
    for (int i = 0; st == HR_OK && i < r->fetches; i++) {
        r->fetch[i] = resolve(r, r->fetch[i]);
        st = walk_from(&mark, r->fetch[i].id, err);
    }
    for (int32_t id = 0; st == HR_OK && id < nodes; id++) st = order_from(r, &mark, &w, id, err);
    if (st == HR_OK) st = number_nodes(r, &w, number, err);
    for (int i = 0; st == HR_OK && i < r->fetches; i++)
        if (!is_none(r->fetch[i])) r->fetch[i].id = number[r->fetch[i].id];
    walk_end(&mark);
    walk_end(&w);
    hr_free(number);
    return st;
}

static hr_status pass_run(hr_rewrite *r, const hr_graph_pass *pass, hr_error *err)
{
    hr_status st = pass_begin(r, err);
    if (st == HR_OK) st = pass->run(r, err);
    if (st == HR_OK && r->g->error.code != HR_OK) {
        st = r->g->error.code;
        if (err) *err = r->g->error;
    }
    if (st == HR_OK && r->changed) st = order_again(r, err);
    hr__arena_free(&r->arena);
    r->begun = 0;
    if (st != HR_OK) hr_error_prefix(err, "pass '%s': ", pass->name);
    return st;
}

/* ---- which passes ---- */

/* The next name of the list; false: there is none. */
static bool next_name(const char **at, const char **name, size_t *size)
{
    *at += strspn(*at, ", ");
    *name = *at;
    *size = strcspn(*at, ", ");
    *at += *size;
    return *size > 0;
}

static bool same_name(const char *name, size_t size, const char *other)
{
    return strlen(other) == size && memcmp(name, other, size) == 0;
}

static bool pass_is_on(const hr_graph_pass *pass, const char *passes, bool for_tool)
{
    const char *name;
    size_t size;
    const bool all = !(for_tool && pass->traits & HR_PASS_FOR_RUNS), exact = all && pass->traits & HR_PASS_EXACT;
    bool on = !passes && exact, off = false;
    while (passes && next_name(&passes, &name, &size)) {
        on |= (same_name(name, size, "all") && all) || (same_name(name, size, "exact") && exact) ||
              same_name(name, size, pass->name);
        off |= *name == '-' && same_name(name + 1, size - 1, pass->name);
    }
    return on && !off;
}

hr_status hr_rewrite_check(const char *passes, hr_error *err)
{
    const char *name;
    size_t size;
    while (passes && next_name(&passes, &name, &size)) {
        bool known = same_name(name, size, "all") || same_name(name, size, "exact") || same_name(name, size, "none");
        const size_t minus = *name == '-';
        for (int i = 0; !known && hr_graph_pass_at(i); i++)
            known = same_name(name + minus, size - minus, hr_graph_pass_at(i)->name);
        if (!known)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.pass",
                           "expected passes by name, 'exact', 'all' or 'none', got '%.*s'",
                           (int)(size < 60 ? size : 60), name);
    }
    return HR_OK;
}

hr_status hr__rewrite_run(hr_rewrite *r, const char *passes, hr_products products, hr_error *err)
{
    r->products = products;
    for (int i = 0; hr_graph_pass_at(i); i++)
        if (pass_is_on(hr_graph_pass_at(i), passes, r->for_tool)) HR_TRY(pass_run(r, hr_graph_pass_at(i), err));
    return HR_OK;
}

/* ---- for tools ---- */

hr_status hr_rewrite_new(hr_graph *g, const hr_node *feeds, int feed_count, const hr_node *fetches, int fetch_count,
                         const char *passes, hr_rewrite **out, hr_error *err)
{
    hr_rewrite *r = NULL;
    if (!g || (!feeds && feed_count > 0) || (!fetches && fetch_count > 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.input", "hr_rewrite_new: expected a graph and nodes, got NULL");
    HR_TRY(hr_rewrite_check(passes, err));
    HR_TRY(hr__rewrite_begin(g, feeds, feed_count, fetches, fetch_count, true, &r, err));
    const hr_status st = hr__rewrite_run(r, passes, HR_PRODUCTS_FLOAT, err);
    if (st == HR_OK)
        *out = r;
    else
        hr_rewrite_free(r);
    return st;
}

void hr_rewrite_free(hr_rewrite *r)
{
    if (!r) return;
    hr_graph_free(r->g);
    hr_free(r->feed);
    hr_free(r->fetch);
    hr_free(r->origin);
    hr_free(r);
}
