/* What one pair of feeds and fetches needs, as steps: the nodes of the copy that passes have rewritten (rewrite.c), in
 * its order. Made once, then found again.
 *
 * Nodes that use one variable run in that order, too, unless all only read it; and whoever was given the variable's
 * value is done before it is changed, so that it is changed in place. All these edges lead from older to newer
 * nodes: there can be no cycle, and the result depends on no thread. */
#include "train/graph/graph_internal.h"
#include "train/graph/pass.h"

#include <stdlib.h>
#include <string.h>

typedef struct edge {
    int32_t from, to; /* steps */
} edge;

/* Of a variable or another resource, as far as nodes were looked at: who wrote it last, and who has read it since. */
typedef struct used_by {
    int32_t writer; /* -1: nobody */
    int readers;    /* 1 + the newest of `users.reader`; 0: none */
} used_by;

typedef struct reader {
    int32_t node;
    int next;
} reader;

typedef struct users {
    hr__map of; /* resource to its used_by */
    used_by *resource;
    int resource_capacity;
    reader *reader;
    int reader_count, reader_capacity;
    int *first_taker, *taker; /* who takes values of node i: from taker[first_taker[i]] to taker[first_taker[i + 1]] */
} users;

typedef struct planner {
    hr__instance *in;
    hr_graph *g; /* the copy: what is fed are its first nodes */
    const hr_function *function;
    hr__plan *plan;
    int32_t *step_of, *slot_of; /* by node; of its first output. -1: none */
    int32_t *fixed_nodes;
    int fixed_count;
    edge *edges;
    int edge_count, edge_capacity;
    users users;
    hr_error *err;
} planner;

/* A constant that waits for others is computed in its turn. */
static bool is_fixed(const hr__node *n) { return n->op->traits & HR_FIXED && n->controls == 0; }

/* Of a variable that the graph knows, its value is fetched in its place. */
static hr_status check_ends(const planner *p)
{
    const hr__plan *plan = p->plan;
    for (int i = 0; i < plan->feeds + plan->fetches && !p->function; i++) {
        const bool feed = i < plan->feeds;
        const hr_node node = feed ? hr_rewrite_feed(plan->graph, i) : hr_rewrite_fetch(plan->graph, i - plan->feeds);
        const hr_dtype dtype = hr_node_dtype(node);
        if (node.output < 0 || (dtype != HR_RESOURCE && dtype != HR_VARIANT)) continue;
        return feed
                   ? hr_fail(p->err, HR_INVALID_ARGUMENT, "session.feed",
                             "session: expected to feed a node's value, but '%s' has none; feed the nodes that read it",
                             hr_node_name(node))
                   : hr_fail(p->err, HR_INVALID_ARGUMENT, "session.fetch",
                             "session: expected to fetch a value, but '%s' is a %s; fetch a node that reads it",
                             hr_node_name(node), hr_dtype_name(dtype));
    }
    return HR_OK;
}

/* ---- slots and steps ---- */

static hr_status no_kernel(const hr__node *n, const char *attr, hr_dtype type, hr_error *err)
{
    const hr_status st =
        hr_fail(err, attr ? HR_INVALID_ARGUMENT : HR_UNIMPLEMENTED, "graph.kernel", "no kernel for %s%s%s",
                attr ? attr : "this op", attr ? " = " : "", attr ? hr_dtype_name(type) : "");
    hr__blame(err, n);
    return st;
}

/* The op has one, and for the node's types. */
hr_status hr__check_kernel(const hr__node *n, hr_error *err)
{
    if (!n->op->compute) return no_kernel(n, NULL, 0, err);
    for (int i = 0; i < n->sig->attrs; i++) {
        const hr_attr_def *def = &n->sig->attr[i];
        const hr_attr *a = &n->attr[i];
        if (def->kind == HR_ATTR_TYPE && !(def->kernels >> a->type & 1)) return no_kernel(n, def->name, a->type, err);
        for (int j = 0; def->kind == HR_ATTR_TYPES && j < a->count; j++)
            if (!(def->kernels >> a->types[j] & 1)) return no_kernel(n, def->name, a->types[j], err);
    }
    return HR_OK;
}

static hr_status session_plan_lay_out(planner *p)
{
    hr__plan *plan = p->plan;
    for (int32_t id = 0; id < plan->feeds; id++) plan->feed_slot[id] = p->slot_of[id] = plan->slot_count++;
    for (int32_t id = plan->feeds; id < p->g->node_count; id++) {
        const hr__node *n = p->g->nodes[id];
        HR_TRY(hr__check_kernel(n, p->err));
        plan->switches |= (n->op->traits & HR_SWITCHES) != 0;
        p->slot_of[id] = plan->slot_count;
        plan->slot_count += n->outputs;
        if (is_fixed(n)) {
            p->fixed_nodes[p->fixed_count++] = id;
            plan->fixed_count += n->outputs;
        } else {
            p->step_of[id] = plan->step_count++;
        }
    }
    return HR_OK;
}

static int32_t slot(const planner *p, hr_node node) { return node.output < 0 ? -1 : p->slot_of[node.id] + node.output; }

/* Where a node's state is kept: with the user's node, or with the plan. */
static hr__instance *keeper(const planner *p, int32_t id, hr_node *handle)
{
    const int32_t origin = hr__rewrite_origin(p->plan->graph, id);
    hr__instance *in = origin >= 0 ? p->in : &p->plan->own;
    const hr_node node = {in->graph, origin >= 0 ? origin : id, p->g->nodes[id]->outputs > 0 ? 0 : -1};
    if (handle) *handle = node;
    return in;
}

static hr_status fixed_outputs(const planner *p, int32_t id, const hr_tensor **out)
{
    hr_node handle;
    hr__instance *in = keeper(p, id, &handle);
    return hr__fixed_outputs(in, handle.id, out, p->err);
}

/* Inputs that are variables where the op wants their values. */
static hr_status find_values(planner *p, const hr__node *n, hr__step *step)
{
    for (int i = 0; i < n->inputs; i++) {
        if (!hr__output_is_ref(n->input[i]) || hr__input_is_ref(n, i)) continue;
        if (!step->value_input)
            step->value_input = hr__arena_get(&p->plan->arena, sizeof *step->value_input * (size_t)n->inputs);
        if (!step->value_input) return hr_no_memory(p->err, "a plan");
        step->value_input[step->value_inputs++] = i;
    }
    step->first_value = p->plan->value_count;
    p->plan->value_count += step->value_inputs;
    return HR_OK;
}

static hr_status find_controls(planner *p, const hr__node *n, hr__step *step)
{
    step->control = hr__arena_get(&p->plan->arena, sizeof *step->control * (size_t)(n->controls + 1));
    if (!step->control) return hr_no_memory(p->err, "a plan");
    for (int i = 0; i < n->controls; i++)
        if (p->step_of[n->control[i].id] >= 0) step->control[step->controls++] = p->step_of[n->control[i].id];
    return HR_OK;
}

static hr_status session_plan_make_step(planner *p, int32_t id)
{
    hr__plan *plan = p->plan;
    const hr__node *n = p->g->nodes[id];
    hr__step *step = &plan->steps[p->step_of[id]];
    hr__node_state *state;
    hr_node handle;
    hr__instance *in = keeper(p, id, &handle);
    HR_TRY(hr__node_state_get(in, handle.id, &state, p->err));
    *step = (hr__step){.node = n,
                       .handle = handle,
                       .state = state->state,
                       .alone = state->alone,
                       .slot = hr__arena_get(&plan->arena, sizeof *step->slot * (size_t)(n->inputs + 1)),
                       .first_input = plan->input_count,
                       .gives_ref = n->inputs > 0 && n->outputs > 0 && hr__output_is_ref((hr_node){p->g, id, 0}) &&
                                    hr__input_is_ref(n, 0) && !(n->op->traits & (HR_SWITCHES | HR_MERGES)),
                       .first_output = p->slot_of[id]};
    if (!step->slot) return hr_no_memory(p->err, "a plan");
    HR_TRY(find_values(p, n, step));
    if (plan->switches) HR_TRY(find_controls(p, n, step));
    for (int i = 0; i < n->inputs; i++) {
        step->slot[i] = slot(p, n->input[i]);
        step->resources += hr_node_dtype(n->input[i]) == HR_RESOURCE || hr__input_is_ref(n, i);
        plan->slot_uses[step->slot[i]]++;
    }
    plan->input_count += n->inputs;
    if (n->op->traits & HR_CALLS) step->resources = 0;
    if (step->resources <= HR_MAX_HANDLES) return HR_OK;
    return hr_fail(p->err, HR_INVALID_ARGUMENT, "graph.inputs", "node '%s': expected at most %d handles, got %d",
                   n->name, HR_MAX_HANDLES, step->resources);
}

static void session_plan_hold(hr__plan *plan, int32_t slot)
{
    if (slot >= 0) plan->slot_uses[slot]++;
}

static hr_status fill_fixed_slots(planner *p)
{
    hr__plan *plan = p->plan;
    hr__fixed_slot *next = plan->fixed;
    for (int i = 0; i < p->fixed_count; i++) {
        const int32_t id = p->fixed_nodes[i];
        const hr_tensor *outputs;
        HR_TRY(fixed_outputs(p, id, &outputs));
        for (int j = 0; j < p->g->nodes[id]->outputs; j++) {
            *next++ = (hr__fixed_slot){p->slot_of[id] + j, outputs[j]};
            session_plan_hold(plan, p->slot_of[id] + j);
        }
    }
    return HR_OK;
}

static hr_status make_steps(planner *p)
{
    hr__plan *plan = p->plan;
    hr__arena *arena = &plan->arena;
    const size_t slots = (size_t)plan->slot_count + 1, steps = (size_t)plan->step_count + 1;
    plan->slot_uses = hr__arena_get(arena, slots * sizeof *plan->slot_uses);
    plan->steps = hr__arena_get(arena, steps * sizeof *plan->steps);
    plan->fixed = hr__arena_get(arena, ((size_t)plan->fixed_count + 1) * sizeof *plan->fixed);
    plan->nanoseconds = hr__arena_get(arena, steps * sizeof *plan->nanoseconds);
    if (!plan->slot_uses || !plan->steps || !plan->fixed || !plan->nanoseconds) return hr_no_memory(p->err, "a plan");
    for (int32_t id = 0; id < p->g->node_count; id++)
        if (p->step_of[id] >= 0) HR_TRY(session_plan_make_step(p, id));
    for (int i = 0; i < plan->fetches; i++) {
        const hr_node fetch = hr_rewrite_fetch(plan->graph, i);
        plan->fetch_step[i] = fetch.id < 0 ? -1 : p->step_of[fetch.id]; /* nothing is left of it to run */
        session_plan_hold(plan, plan->fetch_slot[i] = slot(p, fetch));
    }
    for (int i = 0; i < plan->feeds && !p->function; i++) session_plan_hold(plan, plan->feed_slot[i]);
    return fill_fixed_slots(p);
}

/* ---- edges ---- */

static hr_status add_edge(planner *p, int32_t from_id, int32_t to_id)
{
    const int32_t from = p->step_of[from_id], to = p->step_of[to_id];
    if (from < 0 || to < 0 || from == to) return HR_OK;
    HR_TRY(hr__grow(&p->edges, p->edge_count, &p->edge_capacity, sizeof *p->edges, p->err));
    p->edges[p->edge_count++] = (edge){from, to};
    return HR_OK;
}

static hr_status add_data_edges(planner *p)
{
    for (int32_t id = 0; id < p->g->node_count; id++) {
        if (p->step_of[id] < 0) continue;
        const hr__node *n = p->g->nodes[id];
        for (int i = 0; i < n->inputs; i++) HR_TRY(add_edge(p, n->input[i].id, id));
        for (int i = 0; i < n->controls; i++) HR_TRY(add_edge(p, n->control[i].id, id));
    }
    return HR_OK;
}

/* Gives the resource that it takes by input 0, or one that belongs to it: an array of gradients. */
static bool hands_resource_on(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n && hr_node_dtype(node) == HR_RESOURCE && n->inputs > 0 && hr_node_dtype(n->input[0]) == HR_RESOURCE &&
           !(n->op->traits & (HR_CALLS | HR_SWITCHES | HR_MERGES));
}

/* Nodes that only pass a variable on; what merges different ones begins anew. */
static hr_node resource_origin(hr_node node)
{
    for (;;) {
        const bool handle = hands_resource_on(node);
        if (!handle && !(hr__output_is_ref(node) && hr_node_inputs(node) > 0)) return node;
        const bool merges = hr__node_of(node)->op->traits & HR_MERGES;
        const hr_node first = merges ? resource_origin(hr_node_input(node, 0)) : hr_node_input(node, 0);
        for (int i = 1; merges && i < hr_node_inputs(node); i++) {
            const hr_node other = resource_origin(hr_node_input(node, i));
            if (other.id != first.id || other.output != first.output) return node;
        }
        node = first;
    }
}

/* *resource: what input i is a handle of, in every run; NULL: a run alone knows. */
static hr_status fixed_resource(const planner *p, hr_node origin, hr_resource **resource)
{
    const hr_tensor *outputs;
    *resource = NULL;
    if (!(hr__node_of(origin)->op->traits & HR_FIXED)) return HR_OK;
    HR_TRY(fixed_outputs(p, origin.id, &outputs));
    *resource = outputs[origin.output].data;
    return HR_OK;
}

/* The resource of a handle; NULL if the node uses none by its input i. A handle that only the run knows stands for a
 * resource of its own. */
static hr_status used_resource(const planner *p, const hr__node *n, int i, const void **resource)
{
    *resource = NULL;
    if (hr_node_dtype(n->input[i]) != HR_RESOURCE && !hr__output_is_ref(n->input[i])) return HR_OK;
    const hr_node origin = resource_origin(n->input[i]);
    hr_resource *fixed;
    HR_TRY(fixed_resource(p, origin, &fixed));
    *resource = fixed ? (const void *)fixed : &hr__node_of(origin)->type[origin.output];
    return HR_OK;
}

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (hr_resource *const *)a, y = (uintptr_t) * (hr_resource *const *)b;
    return (x > y) - (x < y);
}

/* What the step locks, if all of its handles are fixed. */
static hr_status find_locks(planner *p, const hr__node *n, hr__step *step)
{
    if (step->resources == 0) return HR_OK;
    hr_resource **lock = hr__arena_get(&p->plan->arena, sizeof(hr_resource *) * (size_t)step->resources);
    int count = 0, kept = 0;
    if (!lock) return hr_no_memory(p->err, "a plan");
    for (int i = 0; i < n->inputs; i++) {
        const hr_node in = n->input[i];
        if (hr_node_dtype(in) != HR_RESOURCE && !hr__input_is_ref(n, i)) continue;
        HR_TRY(fixed_resource(p, in, &lock[count]));
        if (!lock[count++]) return HR_OK;
    }
    qsort(lock, (size_t)count, sizeof(hr_resource *), by_address);
    for (int i = 0; i < count; i++)
        if (i == 0 || lock[i] != lock[i - 1]) lock[kept++] = lock[i];
    step->lock = lock;
    step->locks = kept;
    return HR_OK;
}

/* Lists for each node the ones that take its values, from the oldest to the newest. */
static hr_status list_takers(planner *p)
{
    const int32_t nodes = p->g->node_count;
    int *first = p->users.first_taker = hr_calloc((size_t)nodes + 2, sizeof *first);
    int64_t inputs = 0;
    if (!first) return hr_no_memory(p->err, "a plan");
    for (int32_t id = 0; id < nodes; id++)
        for (int i = 0; p->step_of[id] >= 0 && i < p->g->nodes[id]->inputs; i++, inputs++)
            first[p->g->nodes[id]->input[i].id + 2]++;
    int *taker = p->users.taker = hr_malloc(((size_t)inputs + 1) * sizeof *taker);
    if (!taker || inputs > INT32_MAX) return hr_no_memory(p->err, "a plan");
    for (int32_t id = 0; id < nodes; id++) first[id + 2] += first[id + 1];
    for (int32_t id = 0; id < nodes; id++) /* first[i + 1] moves from where i's takers begin to where they end */
        for (int i = 0; p->step_of[id] >= 0 && i < p->g->nodes[id]->inputs; i++)
            taker[first[p->g->nodes[id]->input[i].id + 1]++] = id;
    return HR_OK;
}

/* Whoever takes a value that was read before `writer` changes the variable comes first, also through Identity. */
static hr_status readers_first(planner *p, int32_t reader, int32_t writer)
{
    for (int i = p->users.first_taker[reader]; i < p->users.first_taker[reader + 1]; i++) {
        const int32_t id = p->users.taker[i];
        if (id >= writer) return HR_OK;
        HR_TRY(add_edge(p, id, writer));
        if (strcmp(p->g->nodes[id]->op->name, "Identity") == 0) HR_TRY(readers_first(p, id, writer));
    }
    return HR_OK;
}

static hr_status find_users(planner *p, const void *resource, used_by **out)
{
    users *u = &p->users;
    const char *key = (const char *)&resource;
    const int64_t *known = hr__map_find(&u->of, key, sizeof resource);
    const int64_t at = known ? *known : u->of.count;
    if (!known) {
        HR_TRY(hr__grow(&u->resource, (int)at, &u->resource_capacity, sizeof *u->resource, p->err));
        HR_TRY(hr__map_add(&u->of, key, sizeof resource, at, p->err));
        u->resource[at] = (used_by){.writer = -1};
    }
    *out = &u->resource[at];
    return HR_OK;
}

/* Node `user` uses `resource`; the newest write before it, and every read since, are put in order with it. */
static hr_status order_by_resource(planner *p, int32_t user, const void *resource, bool reads_only)
{
    users *u = &p->users;
    used_by *used;
    HR_TRY(find_users(p, resource, &used));
    if (used->writer == user || (used->readers && u->reader[used->readers - 1].node == user)) return HR_OK; /* twice */
    if (used->writer >= 0) HR_TRY(add_edge(p, used->writer, user));
    if (reads_only) {
        HR_TRY(hr__grow(&u->reader, u->reader_count, &u->reader_capacity, sizeof *u->reader, p->err));
        u->reader[u->reader_count++] = (reader){user, used->readers};
        used->readers = u->reader_count;
        return HR_OK;
    }
    for (int i = used->readers; i > 0; i = u->reader[i - 1].next) {
        HR_TRY(add_edge(p, u->reader[i - 1].node, user));
        HR_TRY(readers_first(p, u->reader[i - 1].node, user));
    }
    *used = (used_by){.writer = user};
    return HR_OK;
}

static hr_status add_resource_edges(planner *p)
{
    HR_TRY(list_takers(p));
    for (int32_t id = 0; id < p->g->node_count; id++) {
        if (p->step_of[id] < 0) continue;
        const hr__node *n = p->g->nodes[id];
        HR_TRY(find_locks(p, n, &p->plan->steps[p->step_of[id]]));
        for (int i = 0; i < n->inputs; i++) {
            const void *resource;
            HR_TRY(used_resource(p, n, i, &resource));
            const bool value = hr_node_dtype(n->input[i]) != HR_RESOURCE && !hr__input_is_ref(n, i);
            if (resource) HR_TRY(order_by_resource(p, id, resource, value || n->op->traits & HR_READS_ONLY));
        }
    }
    return HR_OK;
}

static int by_ends(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

/* Sorted, so that repetitions stand side by side; then each step gets its successors. */
static hr_status link_steps(planner *p)
{
    hr__plan *plan = p->plan;
    if (p->edge_count == 0) return HR_OK;
    int32_t *targets = hr__arena_get(&plan->arena, sizeof *targets * (size_t)p->edge_count);
    if (!targets) return hr_no_memory(p->err, "a plan");
    qsort(p->edges, (size_t)p->edge_count, sizeof *p->edges, by_ends);
    for (int e = 0; e < p->edge_count; e++) {
        const edge at = p->edges[e];
        if (e > 0 && by_ends(&at, &p->edges[e - 1]) == 0) continue;
        hr__step *from = &plan->steps[at.from];
        if (from->nexts == 0) from->next = targets;
        from->next[from->nexts++] = at.to;
        targets++;
        plan->steps[at.to].pending++;
    }
    return HR_OK;
}

/* ---- all of it ---- */

static hr_status plan_all(planner *p)
{
    const size_t nodes = (size_t)p->g->node_count + 1;
    HR_TRY(check_ends(p));
    p->step_of = hr_malloc(nodes * sizeof *p->step_of);
    p->slot_of = hr_malloc(nodes * sizeof *p->slot_of);
    p->fixed_nodes = hr_malloc(nodes * sizeof *p->fixed_nodes);
    if (!p->step_of || !p->slot_of || !p->fixed_nodes) return hr_no_memory(p->err, "a plan");
    memset(p->step_of, 0xff, nodes * sizeof *p->step_of);
    memset(p->slot_of, 0xff, nodes * sizeof *p->slot_of);
    HR_TRY(session_plan_lay_out(p));
    HR_TRY(make_steps(p));
    HR_TRY(add_data_edges(p));
    HR_TRY(add_resource_edges(p));
    return link_steps(p);
}

static hr_status new_plan(const hr__instance *in, const hr_function *function, const hr_node *feeds, int feed_count,
                          const hr_node *fetches, int fetch_count, hr__plan **out, hr_error *err)
{
    hr__plan *plan = *out = hr_calloc(1, sizeof *plan);
    if (!plan) return hr_no_memory(err, "a plan");
    static _Atomic int64_t made;
    plan->serial = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
    plan->function = function;
    plan->feeds = feed_count;
    plan->fetches = fetch_count;
    plan->feed_slot = hr__arena_get(&plan->arena, ((size_t)feed_count + 1) * sizeof *plan->feed_slot);
    plan->fetch_slot = hr__arena_get(&plan->arena, ((size_t)fetch_count + 1) * sizeof *plan->fetch_slot);
    plan->fetch_step = hr__arena_get(&plan->arena, ((size_t)fetch_count + 1) * sizeof *plan->fetch_step);
    plan->feed_node = hr__arena_copy(&plan->arena, feeds, (size_t)feed_count * sizeof *feeds);
    plan->fed = hr__arena_get(&plan->arena, ((size_t)feed_count + 1) * sizeof *plan->fed);
    if (!plan->feed_slot || !plan->fetch_slot || !plan->fetch_step || !plan->feed_node || !plan->fed)
        return hr_no_memory(err, "a plan");
    for (int i = 0; i < feed_count; i++) plan->fed[i] = (hr__fed){hr_node_dtype(feeds[i]), hr_node_shape(feeds[i])};
    HR_TRY(hr_rewrite_check(in->session->passes, err));
    HR_TRY(hr__rewrite_begin(in->graph, feeds, feed_count, fetches, fetch_count, false, &plan->graph, err));
    plan->own = (hr__instance){.graph = hr_rewrite_graph(plan->graph), .session = in->session};
    /* A function that a pass made is what passes have left. */
    const bool made_by_pass = function && hr__library(function->body)->own_library;
    return hr__rewrite_run(plan->graph, made_by_pass ? "none" : in->session->passes, in->session->products, err);
}

/* Plans have callees, and these have plans. */
void hr__callees_free(hr_callee **list)
{
    for (hr_callee *c = *list; c; c = c->next)
        if (atomic_load(&c->plan)) hr__plan_free(atomic_load(&c->plan));
    while (*list) {
        hr_callee *c = *list;
        *list = c->next;
        hr__instance_free(&c->instance);
        hr_free(c);
    }
}

void hr__plan_free(hr__plan *plan)
{
    while (plan->frames) {
        hr__frame *frame = plan->frames;
        plan->frames = frame->next;
        hr__frame_free(frame);
    }
    hr__instance_free(&plan->own);
    if (plan->graph) hr__callees_free(&hr_rewrite_graph(plan->graph)->callees);
    hr_rewrite_free(plan->graph);
    hr__arena_free(&plan->arena);
    hr_free(plan);
}

hr_status hr__plan_new(hr__instance *in, const hr_function *function, const hr_node *feeds, int feed_count,
                       const hr_node *fetches, int fetch_count, hr__plan **out, hr_error *err)
{
    hr__plan *plan;
    hr_status st = new_plan(in, function, feeds, feed_count, fetches, fetch_count, &plan, err);
    planner p = {.in = in, .function = function, .plan = plan, .err = err};
    if (st == HR_OK) {
        p.g = hr_rewrite_graph(plan->graph);
        st = plan_all(&p);
    }
    hr_free(p.step_of);
    hr_free(p.slot_of);
    hr_free(p.fixed_nodes);
    hr_free(p.edges);
    hr__map_free(&p.users.of);
    hr_free(p.users.resource);
    hr_free(p.users.reader);
    hr_free(p.users.first_taker);
    hr_free(p.users.taker);
    if (st == HR_OK)
        *out = plan;
    else if (plan)
        hr__plan_free(plan);
    return st;
}
