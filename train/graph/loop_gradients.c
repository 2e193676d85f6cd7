/* Derivatives of loops: see function_gradients.c. */
#include "train/graph/function_gradients.h"

typedef struct looper {
    hr_backward *b;
    const hr_function *body; /* as the node has it */
    hr__derivative d;
    bool flows[HR__MAX_CALL]; /* by variable: a gradient goes along */
    int count;                /* of these */
    bool sums[HR__MAX_CALL];  /* by variable: what each turn gives is summed; of slices, kept */
    hr_node last;             /* the extended node */
    const hr_function *extended;
    int list
        [HR__MAX_CALL]; /* by what the derivative needs: which variable of the extended node; -1: it stays the same */
    int lists;
} looper;

/* The body gives the variable as it is. */
static bool stays(const hr_function *body, int i) { return hr__is_same_value(body->output[i], body->input[i]); }

/* Gradients of all variables that a turn takes some to, from those of the results. As TensorFlow does, those of what
 * stays the same in its loops of version 1 are summed apart, and slices stay slices; in others they are dense. */
static bool find_flows(looper *l)
{
    hr_handle_info info;
    bool more = true;
    for (int i = 0; i < l->b->outputs; i++) l->flows[i] = l->b->grad[i].graph != NULL;
    while (more) {
        bool connected[HR__MAX_CALL] = {0};
        more = false;
        if (!hr__find_connected(l->body, l->flows, connected)) return false;
        for (int i = 0; i < l->b->outputs; i++) {
            const hr_node x = l->b->input[i]; /* a tensor array is no variable: its flow has the gradient */
            connected[i] &= hr_node_dtype(x) != HR_RESOURCE || hr__handle_known(x, &info);
            more |= connected[i] && !l->flows[i];
            l->flows[i] |= connected[i];
        }
    }
    for (int i = 0; i < l->b->outputs; i++) {
        l->sums[i] = l->flows[i] && l->body->hidden && stays(l->body, i) && !l->b->grad[i].graph;
        l->flows[i] &= !l->sums[i];
        l->count += l->flows[i];
    }
    return true;
}

/* The variable that holds the list of a value of the body; -1: none. */
static int list_of(const hr_function *body, hr_node value)
{
    for (int i = 0; i < body->outputs; i++) {
        const hr_node push = body->output[i];
        if (hr_node_is(push, "TensorListPushBack") && hr__is_same_value(hr_node_input(push, 1), value) &&
            hr__is_same_value(hr_node_input(push, 0), body->input[i]))
            return i;
    }
    return -1;
}

static hr_node shape_node(hr_graph *g, hr_shape shape)
{
    if (hr_shape_count(shape) < 0) return hr_const_number(g, HR_INT32, -1, NULL);
    return hr_const_ints(g, shape.dims, shape.rank, NULL);
}

/* What the loop is extended by: variables of the condition and the body, and what they begin with. */
typedef struct extension {
    hr_function *condition, *body;
    hr_node input[HR__MAX_CALL];
    int inputs;
} extension;

static hr_node add_variable(extension *x, hr_node initial, const char *name)
{
    hr_node of_body = {0};
    for (int i = 0; i < 2; i++) {
        hr_function *f = i ? x->body : x->condition;
        const hr__inside was = hr__enter_graph(f->body);
        of_body = hr__function_argument(f->body, hr_node_dtype(initial), hr_node_shape(initial), name, NULL, 0);
        hr__leave_graph(was);
        if (!hr_node_exists(of_body) || hr__grow(&f->input, f->inputs, &f->input_capacity, sizeof *f->input, NULL))
            return (hr_node){0};
        f->input[f->inputs++] = of_body;
    }
    x->input[x->inputs++] = initial;
    return of_body;
}

/* A counter of turns. */
static bool add_counter(extension *x, hr_graph *g)
{
    const hr__inside around = hr__enter_graph(g);
    const hr_node zero = hr_const_number(g, HR_INT32, 0, "turns");
    hr__leave_graph(around);
    const hr_node turns = add_variable(x, zero, "turns");
    if (!turns.graph) return false;
    const hr__inside was = hr__enter_graph(x->body->body);
    const hr_node next =
        hr_new_node(x->body->body, "AddV2", HR_INPUTS(turns, hr_const_number(x->body->body, HR_INT32, 1, NULL)));
    hr__leave_graph(was);
    x->body->counter = x->body->outputs + 1;
    return hr__add_output(x->body, next);
}

static bool add_list(extension *x, hr_graph *g, hr_node value)
{
    const hr__inside around = hr__enter_graph(g);
    const hr_node empty = hr_new_node(
        g, "EmptyTensorList", HR_INPUTS(shape_node(g, hr_node_shape(value)), hr_const_number(g, HR_INT32, -1, NULL)),
        HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(value))));
    hr__leave_graph(around);
    const hr_node list = hr_node_exists(empty) ? add_variable(x, empty, "list") : empty;
    if (!hr_node_exists(list)) return false;
    const hr__inside was = hr__enter_graph(x->body->body);
    const hr_node pushed = hr_new_node(x->body->body, "TensorListPushBack", HR_INPUTS(list, value),
                                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(value))));
    hr__leave_graph(was);
    return hr__add_output(x->body, pushed);
}

static bool is_kept(const hr_function *body, hr_node value)
{
    const int input = hr__input_of(body, value);
    return (input >= 0 && stays(body, input)) || list_of(body, value) >= 0;
}

/* The loop counts its turns and keeps what the derivative needs of each. */
static bool extend_loop(looper *l)
{
    hr_backward *b = l->b;
    hr_graph *g = b->node.graph;
    const hr_node last = hr__newest(b->node);
    const hr_function *condition = hr__function_of(b, last, "cond", 0), *body = hr__function_of(b, last, "body", 0);
    const hr__node *n = hr__node_of(last);
    if (!condition || !body) return false;
    bool more = body->counter == 0;
    for (int i = 0; i < l->d.needs; i++) more |= !is_kept(body, l->d.need[i]);
    if (n->inputs + l->d.needs + 1 > HR__MAX_CALL) {
        hr__gradient_refuse(b, "expected fewer variables and values that the body computes");
        return false;
    }
    if (!more) return true;
    extension *x = hr_calloc(1, sizeof *x);
    if (!x) return false;
    memcpy(x->input, n->input, sizeof *x->input * (size_t)n->inputs);
    x->inputs = n->inputs;
    x->condition = hr__function_extend(condition);
    x->body = hr__function_extend(body);
    bool done = x->condition && x->body && (body->counter > 0 || add_counter(x, g));
    for (int i = 0; done && i < l->d.needs; i++)
        if (!is_kept(x->body, l->d.need[i])) done = add_list(x, g, l->d.need[i]);
    hr_shape *shapes = hr__arena_get(&g->arena, sizeof *shapes * (size_t)(x->inputs + 1));
    if (done && shapes) {
        hr_func func[2];
        hr_attr attrs[3];
        for (int i = 0; i < x->inputs; i++)
            shapes[i] = hr_node_shape(i < n->outputs ? hr_node_output(last, i) : x->input[i]);
        hr__set_function(&attrs[0], &func[0], "cond", x->condition);
        hr__set_function(&attrs[1], &func[1], "body", x->body);
        attrs[2] = (hr_attr){.name = "output_shapes", .kind = HR_ATTR_SHAPES, .count = x->inputs, .shapes = shapes};
        done = hr_node_exists(hr__extend_node(b->node, x->input, x->inputs, attrs, 3));
    }
    hr_free(x);
    return done && shapes;
}

/* Which lists the derivative takes its values from. */
static bool find_lists(looper *l)
{
    l->last = hr__newest(l->b->node);
    l->extended = hr__function_of(l->b, l->last, "body", 0);
    for (int i = 0; l->extended && i < l->d.needs; i++) {
        const int input = hr__input_of(l->extended, l->d.need[i]);
        l->list[i] = input >= 0 && stays(l->extended, input) ? -1 : list_of(l->extended, l->d.need[i]);
        l->lists += l->list[i] >= 0;
    }
    return l->extended != NULL;
}

/* Backwards: turns left, the gradients, the lists, the sums. */
static void turns_left(hr_graph *body, const hr_node *vars, hr_node *result, void *user)
{
    (void)user;
    *result = hr_new_node(body, "Greater", HR_INPUTS(vars[0], hr_const_number(body, HR_INT32, 0, NULL)));
}

static hr_node empty_list(hr_graph *g, hr_dtype dtype)
{
    const hr_node any = hr_const_number(g, HR_INT32, -1, NULL);
    return hr_new_node(g, "EmptyTensorList", HR_INPUTS(any, any), HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype)));
}

/* Of part `part` of the gradient by wanted input `w`. */
static hr_dtype part_dtype(const looper *l, int w, int part)
{
    for (int i = 0; i < w; i++) part += l->d.parts[i];
    return hr_node_dtype(l->d.function->output[part]);
}

static hr_node pushed(hr_node list, hr_node value)
{
    return hr_new_node(value.graph, "TensorListPushBack", HR_INPUTS(list, value),
                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(value))));
}

/* What a turn gives goes along, or to a sum. */
static void put_turn(const looper *l, const hr_node *dx, const hr_node *sum, hr_node *flow, hr_node *next_sum)
{
    for (int i = 0, w = 0; i < l->b->outputs; i++) {
        if (l->flows[i]) *flow++ = *dx++;
        w += l->flows[i];
        if (!l->sums[i]) continue;
        const int parts = l->d.parts[w++];
        for (int part = 0; part < parts; part++, dx++, sum++)
            *next_sum++ = parts == 1 ? hr_new_node(dx->graph, "AddV2", HR_INPUTS(*sum, *dx)) : pushed(*sum, *dx);
    }
}

static void turn_back(hr_graph *body, const hr_node *vars, hr_node *results, void *user)
{
    looper *l = user;
    const int first_list = 1 + l->count, first_sum = first_list + l->lists;
    hr_node *in = hr__arena_get(&body->arena, sizeof *in * (size_t)(l->d.function->inputs + 1));
    hr_node *dx = hr__arena_get(&body->arena, sizeof *dx * (size_t)(l->d.function->outputs + 1));
    if (!in || !dx) {
        hr__graph_no_memory(body, "a gradient");
        return;
    }
    results[0] = hr_new_node(body, "Sub", HR_INPUTS(vars[0], hr_const_number(body, HR_INT32, 1, NULL)));
    memcpy(in, vars + 1, sizeof *in * (size_t)l->count);
    for (int i = 0, list = first_list; i < l->d.needs; i++) {
        const hr_node need = l->d.need[i];
        if (l->list[i] < 0) {
            in[l->count + i] = l->b->input[hr__input_of(l->extended, need)];
            continue;
        }
        const hr_node pop =
            hr_new_node(body, "TensorListPopBack", HR_INPUTS(vars[list], shape_node(body, hr_node_shape(need))),
                        HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(need))));
        results[list++] = hr_node_output(pop, 0);
        in[l->count + i] = hr_node_output(pop, 1);
    }
    if (hr__call_derivative(l->b, &l->d, in, dx)) put_turn(l, dx, vars + first_sum, results + 1, results + first_sum);
}

/* A variable of the loop when it has ended; a handle stays what it was. */
static hr_node last_value(const hr_backward *b, int i)
{
    return hr_node_dtype(b->output[i]) == HR_RESOURCE ? b->input[i] : b->output[i];
}

/* What the sums begin with: zeros, or empty lists of values and of indices. */
static int begin_sums(const looper *l, hr_node *vars, hr_shape *shapes)
{
    int count = 0;
    for (int i = 0, w = 0; i < l->b->outputs; i++) {
        const hr_node x = l->b->input[i];
        const int parts = l->sums[i] ? l->d.parts[w] : 0;
        w += l->flows[i] || l->sums[i];
        for (int part = 0; part < parts; part++, count++) {
            shapes[count] = parts == 1 ? HR_UNKNOWN_SHAPE : HR_SCALAR;
            vars[count] = parts == 1 ? hr_gradient_zeros(x) : empty_list(x.graph, part_dtype(l, w - 1, part));
        }
    }
    return count;
}

/* The parts of all turns, one after the other; of no turn, none. */
static hr_node joined(hr_node list, hr_node rows, hr_dtype dtype)
{
    hr_graph *g = list.graph;
    const hr_tensor none = {.dtype = HR_INT64, .shape = {.rank = 1}};
    const hr_node lengths =
        hr_new_node(g, "Const", HR_ATTRS(HR_TENSOR_ATTR("value", &none), HR_TYPE_ATTR("dtype", HR_INT64)));
    return hr_new_node(g, "TensorListConcatV2", HR_INPUTS(list, rows, lengths),
                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype)));
}

/* [-1, ...]: of rows of a table, however many. */
static hr_node shape_of_rows(hr_node dense_shape)
{
    hr_graph *g = dense_shape.graph;
    const hr_node one = hr_const_ints(g, HR_I64(1), 1, NULL), rest = hr_const_ints(g, HR_I64(-1), 1, NULL);
    const hr_node any = hr_new_node(g, "Cast", HR_INPUTS(rest), HR_ATTRS(HR_TYPE_ATTR("DstT", HR_INT64)));
    return hr_new_node(g, "ConcatV2",
                       HR_INPUTS(any, hr_new_node(g, "Slice", HR_INPUTS(dense_shape, one, rest)),
                                 hr_const_number(g, HR_INT32, 0, "axis")));
}

static void give_sums(const looper *l, const hr_node *out)
{
    for (int i = 0, w = 0; i < l->b->outputs; i++) {
        const hr_node x = l->b->input[i];
        const int parts = l->sums[i] ? l->d.parts[w] : 0;
        w += l->flows[i] || l->sums[i];
        if (parts == 1) l->b->out[i] = hr_dense_gradient(out[0]);
        if (parts == 2) {
            const hr_node shape = hr__gradient_shape(x), any = hr_const_ints(x.graph, HR_I64(-1), 1, NULL);
            l->b->out[i] = (hr_gradient){joined(out[0], shape_of_rows(shape), part_dtype(l, w - 1, 0)),
                                         joined(out[1], any, part_dtype(l, w - 1, 1)), shape};
        }
        if (parts > 0) hr__set_gradient_shape(l->b->out[i].values, x, parts == 2);
        out += parts;
    }
}

static void run_back(looper *l)
{
    hr_backward *b = l->b;
    hr_graph *g = hr__innermost(b->graph);
    const int most = 1 + l->count + l->lists + l->d.function->outputs;
    hr_node *vars = hr__arena_get(&g->arena, sizeof *vars * (size_t)most);
    hr_node *out = hr__arena_get(&g->arena, sizeof *out * (size_t)most);
    hr_shape *shapes = hr__arena_get(&g->arena, sizeof *shapes * (size_t)most);
    if (!vars || !out || !shapes) {
        hr__graph_no_memory(g, "a gradient");
        return;
    }
    int n = 0;
    vars[n++] = hr_node_output(l->last, l->extended->counter - 1);
    for (int i = 0; i < b->outputs; i++)
        if (l->flows[i]) vars[n++] = b->grad[i].graph ? b->grad[i] : hr_gradient_zeros(last_value(b, i));
    for (int i = 0; i < l->d.needs; i++)
        if (l->list[i] >= 0) vars[n++] = hr_node_output(l->last, l->list[i]);
    for (int i = 0; i < n; i++) shapes[i] = i > 0 && i <= l->count ? HR_UNKNOWN_SHAPE : HR_SCALAR;
    const int first_sum = n;
    n += begin_sums(l, vars + n, shapes + n);
    hr_while_loop(turns_left, turn_back, l, vars, n, out, .shapes = shapes, .name = "while_grad");
    for (int i = 0, at = 1; i < b->outputs; i++) {
        if (!l->flows[i]) continue;
        hr__set_gradient_shape(out[at], b->input[i], false);
        b->out[i] = hr_dense_gradient(out[at++]);
    }
    give_sums(l, out + first_sum);
}

/* A loop that TensorFlow 1 made as a derivative takes values from stacks: what they depend on is not seen. */
static bool takes_from_stacks(const hr_function *f)
{
    for (int32_t id = 0; f->hidden && id < f->body->node_count; id++)
        if (strcmp(f->body->nodes[id]->op->name, "StackPopV2") == 0) return true;
    return false;
}

void hr_while_gradient(hr_backward *b)
{
    looper *l = b->outputs > HR__MAX_CALL ? NULL : hr_calloc(1, sizeof *l);
    if (!l) {
        hr__graph_no_memory(hr__root(b->graph), "a gradient");
        return;
    }
    l->b = b;
    l->body = hr__function_of(b, b->node, "body", 0);
    if (l->body) hr__know_inputs(b, l->body, 0);
    bool wanted[HR__MAX_CALL];
    if (l->body && takes_from_stacks(l->body))
        hr_node_fail(hr__root(b->graph), HR_INVALID_ARGUMENT, "graph.gradient",
                     "Second-order gradient for while loops not supported.");
    bool done = l->body && !hr__gradient_failed(b) && find_flows(l);
    for (int i = 0; done && i < b->outputs; i++) wanted[i] = l->flows[i] || l->sums[i];
    done = done && hr__differentiate(b, l->body, l->flows, wanted, l->flows, &l->d);
    done = done && extend_loop(l) && find_lists(l);
    if (done) run_back(l);
    if (!done && !hr__gradient_failed(b)) hr__graph_no_memory(hr__root(b->graph), "a gradient");
    hr_free(l);
}
