/* TensorFlow 1's loops, as files have them:
 *
 *     Enter -> Merge -> Switch (by LoopCond of the condition, which takes the Merges) -> Exit
 *               ^          |
 *               +- NextIteration <- body
 *
 * The nodes are made as they are. Each loop of this form is raised to a While with functions of its condition and body,
 * which stands before its Exits and runs in their place; it is not written again. A loop of another form cannot run: its
 * nodes know why. */
#include "train/graphdef/graphdef_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_op(const hr__nodes_import *in, int32_t number, const char *op)
{
    return strcmp(in->from[number]->op, op) == 0;
}

/* ---- which loop a node is in ---- */

/* Frames of one name within different ones are different. */
static hr_status frame_named(hr__loops *l, int32_t parent, hr_view name, int32_t *frame, hr_error *err)
{
    char *key = hr_malloc((size_t)name.size + sizeof parent);
    if (!key) return hr_no_memory(err, "a loop");
    memcpy(key, &parent, sizeof parent);
    if (name.size) memcpy(key + sizeof parent, name.data, (size_t)name.size);
    const size_t size = (size_t)name.size + sizeof parent;
    const int64_t *known = hr__map_find(&l->names, key, size);
    *frame = known ? (int32_t)*known : l->count;
    hr_status st = HR_OK;
    if (!known) {
        st = hr__map_add(&l->names, key, size, l->count, err);
        l->parent[l->count++] = parent;
    }
    hr_free(key);
    return st;
}

static hr_view frame_name(const proto_node *n)
{
    for (size_t i = 0; i < n->n_attr; i++) {
        const proto_attr *value = n->attr[i]->value;
        if (strcmp(n->attr[i]->key, "frame_name") == 0 && value->value_case == HEADRACE__PROTO__ATTR_VALUE__VALUE_S)
            return (hr_view){(const char *)value->s.data, (int64_t)value->s.len};
    }
    return hr_text_view("");
}

/* A node is in the frame of what it takes; Enter begins one. */
static hr_status find_frame(hr__nodes_import *in, hr__loops *l, int32_t number)
{
    int32_t frame = -1;
    for (int32_t e = in->first[number]; e < in->first[number + 1]; e++) {
        const int32_t from = in->edge[e].node;
        if (from >= in->count || hr__is_back_edge(in, from, number)) continue;
        const int32_t after = hr__frame_after(in, l, from);
        if (after > frame) frame = after; /* what takes from several loops is refused when one is raised */
    }
    if (is_op(in, number, "Enter")) HR_TRY(frame_named(l, frame, frame_name(in->from[number]), &frame, in->err));
    l->frame[number] = frame;
    return HR_OK;
}

/* Lists the nodes of each frame. */
static void list_members(const hr__nodes_import *in, hr__loops *l)
{
    for (int32_t i = 0; i < in->count; i++)
        if (l->frame[i] >= 0) l->first[l->frame[i] + 2]++;
    for (int32_t f = 0; f < l->count; f++) l->first[f + 2] += l->first[f + 1];
    for (int32_t i = 0; i < in->count; i++)
        if (l->frame[i] >= 0) l->member[l->first[l->frame[i] + 1]++] = i;
}

hr_status hr__loops_find(hr__nodes_import *in, hr__loops *l)
{
    hr__arena *arena = &in->memory->arena;
    size_t enters = 0, nodes = (size_t)in->count + 1;
    bool any = false;
    for (int32_t i = 0; i < in->count; i++) enters += is_op(in, i, "Enter"), any |= is_op(in, i, "NextIteration");
    *l = (hr__loops){0};
    if (!any) return HR_OK;
    l->frame = hr__arena_get(arena, sizeof *l->frame * nodes);
    l->parent = hr__arena_get(arena, sizeof *l->parent * (enters + 1));
    l->first = hr__arena_get(arena, sizeof *l->first * (enters + 3));
    l->member = hr__arena_get(arena, sizeof *l->member * nodes);
    if (!l->frame || !l->parent || !l->first || !l->member) return hr_no_memory(in->err, "a graph");
    HR_TRY(hr__graph_order(in, NULL));
    for (int32_t i = 0; i < in->count; i++) HR_TRY(find_frame(in, l, in->order[i]));
    list_members(in, l);
    l->most = (size_t)hr_graph_size(in->g) + 2 * nodes;
    l->part = hr__arena_get(arena, sizeof *l->part * l->most);
    l->copy = hr__arena_get(arena, sizeof *l->copy * l->most);
    l->list = hr__arena_get(arena, sizeof *l->list * 2 * l->most);
    return l->part && l->copy && l->list ? HR_OK : hr_no_memory(in->err, "a graph");
}

void hr__loops_end(hr__loops *l) { hr__map_free(&l->names); }

/* ---- one loop ---- */

typedef struct raising {
    hr__nodes_import *in;
    hr_graph *g;
    hr__loops *loops;
    int32_t frame;
    hr_node *enter, *next, *turn; /* of each variable: its nodes; `turn` is its Switch */
    int count;
    hr_node *constant; /* Enters of what stays the same */
    int constants;
    hr_node condition; /* the LoopCond */
    int64_t parallel;
    hr_node *waited, *going; /* what each turn waits for, the last one, too; what only those wait for that go on */
    int waits, goings;
    const char *why; /* it cannot be raised, and at which node that is seen; NULL: it can */
    const char *where;
    const char *inner; /* why a loop within it is not */
    hr_status code;    /* TensorFlow's; of a loop that it runs, HR_UNIMPLEMENTED */
    /* While a function is made. */
    hr_graph *body;
    hr_node *input;  /* of the function */
    int32_t *needed; /* nodes */
    int32_t needs;
} raising;

static hr__loop_part *part_of(const raising *r, hr_node node) { return &r->loops->part[node.id]; }

static bool cannot_raise(raising *r, hr_status code, hr_node where, const char *why)
{
    r->code = code;
    r->why = why;
    r->where = hr_node_name(where);
    return false;
}

/* Notes what takes the first output of what, and which Enters there are. False: the loop has another form. */
static bool find_takers(raising *r)
{
    const hr__loops *l = r->loops;
    for (int32_t i = l->first[r->frame]; i < l->first[r->frame + 1]; i++) {
        const hr_node node = r->in->node[l->member[i]], from = hr_node_input(node, 0);
        if (hr_node_is(node, "Exit")) continue;
        const hr_node by = hr_node_is(node, "Switch") ? hr_node_input(node, 1) : (hr_node){0};
        if (hr_node_is(by, "LoopCond")) {
            if (r->condition.graph && r->condition.id != by.id)
                return cannot_raise(r, HR_INVALID_ARGUMENT, by, "one LoopCond, and this is another one");
            r->condition = by;
        }
        if (hr_node_is(node, "Merge") || hr_node_is(node, "Switch")) {
            hr_node *taker = hr_node_is(node, "Merge") ? &part_of(r, from)->merge : &part_of(r, from)->turn;
            if (!taker->graph) *taker = node;
        }
        if (!hr_node_is(node, "Enter")) continue;
        r->parallel = hr_attr_int(node, "parallel_iterations");
        if (hr_attr_bool(node, "is_constant"))
            r->constant[r->constants++] = node;
        else
            r->enter[r->count++] = node;
    }
    bool own = false;
    for (int32_t i = l->first[r->frame]; i < l->first[r->frame + 1] && r->condition.graph; i++)
        own |= r->in->node[l->member[i]].id == r->condition.id;
    if (!own)
        return cannot_raise(r, HR_INVALID_ARGUMENT, r->in->node[l->member[l->first[r->frame]]],
                            "Switches by a LoopCond of the loop");
    return r->count > 0 || cannot_raise(r, HR_INVALID_ARGUMENT, r->condition, "an Enter of a variable");
}

/* The variables: which nodes stand for their values. */
static bool find_variables(raising *r)
{
    for (int i = 0; i < r->count; i++) {
        const hr_node merge = part_of(r, r->enter[i])->merge;
        const hr_node turn = merge.graph ? part_of(r, merge)->turn : merge, next = hr_node_input(merge, 1);
        if (!merge.graph) return cannot_raise(r, HR_UNIMPLEMENTED, r->enter[i], "a Merge that takes this Enter");
        if (!turn.graph) return cannot_raise(r, HR_UNIMPLEMENTED, merge, "a Switch that takes this Merge");
        if (hr_node_inputs(merge) != 2 || !hr_node_is(next, "NextIteration"))
            return cannot_raise(r, HR_UNIMPLEMENTED, merge, "a Merge of an Enter and a NextIteration");
        if (hr_node_input(turn, 1).id != r->condition.id)
            return cannot_raise(r, HR_INVALID_ARGUMENT, turn, "a Switch by the LoopCond of the loop");
        const hr_node last = hr_node_input(next, 0);
        if (hr_node_is(last, "Switch") && last.output == 0 && hr_node_input(last, 1).id == r->condition.id)
            return cannot_raise(r, HR_INVALID_ARGUMENT, next, "a NextIteration of a value of turns that go on");
        r->turn[i] = turn;
        r->next[i] = next;
        *part_of(r, merge) = (hr__loop_part){.ends = 1 + i, .is_merge = true};
        *part_of(r, turn) = (hr__loop_part){.ends = 1 + i};
    }
    for (int i = 0; i < r->constants; i++)
        *part_of(r, r->constant[i]) = (hr__loop_part){.ends = 1 + r->count + i, .is_merge = true};
    return true;
}

/* ---- its functions ---- */

/* A node that the copying ends at: a variable or what stays the same. *input: which input of the function; -1: the node
 * is only waited for. */
static bool ends_at(const raising *r, hr_node node, int *input)
{
    const hr__loop_part *part = part_of(r, node);
    *input = node.output < 0 ? -1 : part->ends - 1;
    if (part->ends > 0 && (node.output < 0 || node.output == !part->is_merge)) return true;
    return node.id == r->condition.id && node.output < 0;
}

static hr_node resolved(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    if (!n || !n->instead.graph) return node;
    return node.output < 0 ? hr_target(n->instead) : n->instead;
}

static hr_node edge_at(const hr__node *n, int i)
{
    return resolved(i < n->inputs ? n->input[i] : n->control[i - n->inputs]);
}

static void note_needed(raising *r, hr_node node)
{
    int input;
    if (ends_at(r, node, &input) || part_of(r, node)->needed) return;
    part_of(r, node)->needed = true;
    r->needed[r->needs++] = node.id;
}

/* Whether a node that results need can be in a function. The condition is of all turns, the last one, too. */
static bool check_needed(raising *r, const hr__node *n, hr_node node, bool body)
{
    const hr__loop_part *part = part_of(r, node);
    int input;
    for (int i = 0; !body && i < n->inputs; i++) {
        const hr_node from = resolved(n->input[i]);
        if (ends_at(r, from, &input) && !part_of(r, from)->is_merge)
            return cannot_raise(r, HR_INVALID_ARGUMENT, node, "a node of all turns, as the loop waits for it to end");
    }
    if (part->ends > 0)
        return cannot_raise(r, HR_UNIMPLEMENTED, node,
                            part->is_merge ? "no node of the loop to take more than the value of this Merge"
                                           : "no node of the loop to take the first output of this Switch but Exit");
    if (strcmp(n->op->name, "Enter") == 0)
        return cannot_raise(r, HR_INVALID_ARGUMENT, node, "a node of all turns, as nodes of the loop wait for it");
    if (n->in_loop || n->hidden || strcmp(n->op->name, "Const") == 0) return true;
    return cannot_raise(r, HR_INVALID_ARGUMENT, node, "no node of the loop to take this one, outside of it");
}

/* What results need, up to where the copying ends, and what is waited for: in the body, by the end of a turn; in the
 * condition, by each turn. False: more than the loop has. */
static bool find_needed(raising *r, const hr_node *results, int count, bool body)
{
    r->needs = 0;
    for (int i = 0; i < count; i++) note_needed(r, resolved(results[i]));
    for (int i = 0; body && i < r->count; i++)
        for (int c = 0; c < hr_node_controls(r->next[i]); c++) note_needed(r, resolved(hr_node_control(r->next[i], c)));
    for (int i = 0; i < (body ? r->goings : r->waits); i++) note_needed(r, resolved((body ? r->going : r->waited)[i]));
    for (int32_t at = 0; at < r->needs; at++) {
        const hr__node *n = r->g->nodes[r->needed[at]];
        r->inner = n->not_raised;
        r->code = n->not_raised_code;
        if (r->inner || !check_needed(r, n, (hr_node){r->g, r->needed[at], 0}, body)) return false;
        for (int i = 0; i < n->inputs + n->controls; i++) note_needed(r, edge_at(n, i));
    }
    return true;
}

static void forget_needed(raising *r)
{
    for (int32_t i = 0; i < r->needs; i++) {
        r->loops->part[r->needed[i]].needed = false;
        r->loops->copy[r->needed[i]] = (hr_node){0};
    }
}

/* ---- what holds turns up ---- */

static bool is_of_all_turns(raising *r, hr_node node)
{
    const bool all = find_needed(r, &node, 1, false);
    forget_needed(r);
    r->why = r->inner = NULL;
    return all;
}

/* A Merge waits for a node whether it runs or not, so that it may be one of the turns that go on. */
static void list_controls(raising *r, hr_node node, bool merge)
{
    const int before = r->waits;
    int all = before;
    for (int i = 0; i < hr_node_controls(node); i++) {
        const hr_node control = hr_node_control(node, i);
        r->waits = 0;
        const bool going = merge && !hr_node_is(control, "Enter") && !is_of_all_turns(r, resolved(control));
        if (going)
            r->going[r->goings++] = control;
        else
            r->waited[all++] = control;
    }
    r->waits = all;
}

/* The Exits are not made yet. Their values wait for the NextIterations anyway. */
static void list_exits(raising *r)
{
    const hr__loops *l = r->loops;
    for (int32_t i = l->first[r->frame]; i < l->first[r->frame + 1]; i++) {
        const int32_t exit = l->member[i];
        for (int32_t e = r->in->first[exit]; e < r->in->first[exit + 1] && is_op(r->in, exit, "Exit"); e++) {
            const int32_t from = r->in->edge[e].node;
            if (r->in->edge[e].output >= 0 || from >= r->in->count || is_op(r->in, from, "NextIteration")) continue;
            if (hr__frame_after(r->in, l, from) != r->frame)
                cannot_raise(r, HR_INVALID_ARGUMENT, r->turn[0], "its Exit to wait for nodes of the loop alone");
            else
                r->waited[r->waits++] = hr_target(r->in->node[from]);
        }
    }
}

static hr_status list_waited(raising *r)
{
    const hr__loops *l = r->loops;
    size_t most = (size_t)hr_node_controls(r->condition);
    for (int i = 0; i < r->count; i++)
        most += (size_t)hr_node_controls(r->turn[i]) + (size_t)hr_node_controls(hr_node_input(r->turn[i], 0));
    for (int32_t i = l->first[r->frame]; i < l->first[r->frame + 1]; i++)
        most += (size_t)(r->in->first[l->member[i] + 1] - r->in->first[l->member[i]]);
    r->waited = hr__arena_get(&r->in->memory->arena, sizeof *r->waited * (most + 1));
    r->going = hr__arena_get(&r->in->memory->arena, sizeof *r->going * (most + 1));
    if (!r->waited || !r->going) return hr_no_memory(r->in->err, "a loop");
    list_controls(r, r->condition, false);
    for (int i = 0; i < r->count; i++) {
        list_controls(r, r->turn[i], false);
        list_controls(r, hr_node_input(r->turn[i], 0), true);
    }
    list_exits(r);
    return HR_OK;
}

/* ---- their nodes ---- */

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static hr_node in_function(const raising *r, hr_node node)
{
    int input;
    node = resolved(node);
    if (ends_at(r, node, &input)) return input < 0 ? (hr_node){0} : r->input[input];
    hr_node copy = r->loops->copy[node.id];
    copy.output = node.output;
    return copy;
}

static hr_status copy_into_function(raising *r, int32_t id)
{
    const hr__node *n = r->g->nodes[id];
    hr_node *inputs = hr__arena_get(&r->body->arena, sizeof *inputs * ((size_t)n->inputs + (size_t)n->controls + 1));
    int controls = 0;
    if (!inputs) return hr_no_memory(r->in->err, "a loop");
    for (int i = 0; i < n->inputs; i++) inputs[i] = in_function(r, n->input[i]);
    for (int i = 0; i < n->controls; i++) {
        const hr_node control = in_function(r, n->control[i]);
        if (control.graph) inputs[n->inputs + controls++] = control;
    }
    const hr_node_opts opts = {.name = n->name,
                               .inputs = inputs,
                               .input_count = n->inputs,
                               .attrs = n->attr,
                               .attr_count = n->attrs,
                               .controls = inputs + n->inputs,
                               .control_count = controls};
    return hr__node_import(r->body, n->op->name, n->device, &opts, &r->loops->copy[id], r->in->err);
}

static hr_status add_inputs(raising *r)
{
    for (int i = 0; i < r->count + r->constants; i++) {
        const hr_node of = i < r->count ? r->enter[i] : r->constant[i - r->count];
        const hr_shape shape = i < r->count ? HR_UNKNOWN_SHAPE : hr_node_shape(of);
        r->input[i] = hr_function_input(r->body, hr_node_dtype(of), shape, hr_node_name(of));
        if (!hr_node_exists(r->input[i])) return hr_no_memory(r->in->err, "a loop");
    }
    return HR_OK;
}

static hr_status copy_needed(raising *r, const hr_node *results, int count, bool all, hr_node *out)
{
    qsort(r->needed, (size_t)r->needs, sizeof *r->needed, by_number);
    HR_TRY(add_inputs(r));
    for (int32_t i = 0; i < r->needs; i++) HR_TRY(copy_into_function(r, r->needed[i]));
    for (int i = 0; i < count; i++) out[i] = in_function(r, results[i]);
    for (int i = 0; all && i < r->constants; i++) out[count + i] = r->input[r->count + i];
    return HR_OK;
}

/* A function of the variables and of what stays the same. */
static hr_status make_function(raising *r, const char *name, const hr_node *results, int count, bool all,
                               const hr_function **f)
{
    r->body = hr_function_begin(r->g, name);
    hr_node *out =
        r->body ? hr__arena_get(&r->body->arena, sizeof *out * ((size_t)count + (size_t)r->constants + 1)) : NULL;
    const hr_status st = out ? copy_needed(r, results, count, all, out) : hr_no_memory(r->in->err, "a loop");
    const int given = count + (all ? r->constants : 0);
    *f = r->body ? hr_function_end(r->body, out, st == HR_OK ? given : 0) : NULL;
    HR_TRY(st);
    if (!*f) {
        if (r->in->err) *r->in->err = hr__root(r->g)->error;
        return hr__root(r->g)->error.code;
    }
    (*f)->body->function->hidden = true;
    return HR_OK;
}

/* *f NULL: the results need more than the loop has. */
static hr_status raise_function(raising *r, const char *name, const hr_node *results, int count, bool all,
                                const hr_function **f)
{
    *f = NULL;
    const bool whole = find_needed(r, results, count, all);
    const hr_status st = whole ? make_function(r, name, results, count, all, f) : HR_OK;
    forget_needed(r);
    return st;
}

static hr_status make_while(raising *r, const hr_function *condition, const hr_function *body)
{
    const int count = r->count + r->constants;
    hr_node *inputs = hr__arena_get(&r->g->arena, sizeof *inputs * ((size_t)count + 1));
    if (!inputs) return hr_no_memory(r->in->err, "a loop");
    bool effects = condition->controls + body->controls > 0;
    for (int i = 0; i < count; i++) {
        inputs[i] = hr_node_input(i < r->count ? r->enter[i] : r->constant[i - r->count], 0);
        effects |= hr_node_dtype(inputs[i]) == HR_RESOURCE;
    }
    const hr_func c = {condition->name, NULL, 0}, b = {body->name, NULL, 0};
    const hr_attr attrs[] = {HR_FUNC_ATTR("cond", &c), HR_FUNC_ATTR("body", &b),
                             HR_INT_ATTR("parallel_iterations", r->parallel)};
    char name[40]; /* such as no file has */
    snprintf(name, sizeof name, "..loop_%d", (int)r->g->node_count);
    const hr_node_opts opts = {.name = name, .inputs = inputs, .input_count = count, .attrs = attrs, .attr_count = 3};
    hr_node node;
    HR_TRY(hr__node_import(r->g, effects ? "While" : "StatelessWhile", "", &opts, &node, r->in->err));
    hr__node_of(node)->hidden = true;
    hr__node_of(node)->in_loop = r->loops->parent[r->frame] >= 0;
    for (int i = 0; i < r->count; i++) r->in->loop_output[r->turn[i].id] = hr_node_output(node, i);
    return HR_OK;
}

static hr_status raise_parts(raising *r)
{
    const hr_function *condition, *body;
    const hr_node predicate = hr_node_input(r->condition, 0);
    hr_node *results = hr__arena_get(&r->in->memory->arena, sizeof *results * (size_t)r->count);
    if (!results) return hr_no_memory(r->in->err, "a loop");
    for (int i = 0; i < r->count; i++) results[i] = hr_node_input(r->next[i], 0);
    HR_TRY(raise_function(r, "_loop_cond", &predicate, 1, false, &condition));
    if (!condition) return HR_OK;
    HR_TRY(raise_function(r, "_loop_body", results, r->count, true, &body));
    return body ? make_while(r, condition, body) : HR_OK;
}

/* Who wants a value of the loop is told why there is none. */
static hr_status note_why(const raising *r)
{
    const hr__loops *l = r->loops;
    hr_view frame = {0};
    char text[400];
    if (r->inner) snprintf(text, sizeof text, "%s", r->inner);
    for (int32_t i = l->first[r->frame]; i < l->first[r->frame + 1] && !frame.size; i++)
        if (is_op(r->in, l->member[i], "Enter")) frame = frame_name(r->in->from[l->member[i]]);
    if (!r->inner)
        snprintf(text, sizeof text, "loop of frame '%.*s': at node '%.100s': expected %s",
                 (int)(frame.size < 100 ? frame.size : 100), frame.data, r->where, r->why);
    const char *why = hr__arena_text(&r->g->arena, text, strlen(text));
    if (!why) return hr_no_memory(r->in->err, "a loop");
    for (int32_t i = l->first[r->frame]; i < l->first[r->frame + 1]; i++) {
        hr__node *n = hr__node_of(r->in->node[l->member[i]]);
        if (!n) continue;
        n->not_raised = why;
        n->not_raised_code = r->code;
    }
    return HR_OK;
}

/* The nodes of the loop are all there, but for its Exits. */
hr_status hr__loop_raise(hr__nodes_import *in, hr__loops *loops, int32_t frame)
{
    hr__arena *arena = &in->memory->arena;
    const size_t members = (size_t)(loops->first[frame + 1] - loops->first[frame]) + 1;
    raising r = {.in = in, .g = in->g, .loops = loops, .frame = frame, .needed = loops->list};
    r.enter = hr__arena_get(arena, sizeof *r.enter * members);
    r.next = hr__arena_get(arena, sizeof *r.next * members);
    r.turn = hr__arena_get(arena, sizeof *r.turn * members);
    r.constant = hr__arena_get(arena, sizeof *r.constant * members);
    r.input = hr__arena_get(arena, sizeof *r.input * members);
    if (!r.enter || !r.next || !r.turn || !r.constant || !r.input) return hr_no_memory(in->err, "a loop");
    if (find_takers(&r) && find_variables(&r)) {
        HR_TRY(list_waited(&r));
        if (!r.why) HR_TRY(raise_parts(&r));
    }
    return r.why || r.inner ? note_why(&r) : HR_OK;
}
