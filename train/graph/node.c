/* How a node is made: inputs are matched with the signature, attributes inferred or taken from their defaults, shapes
 * computed. What does not fit sticks to the graph, and a failed node comes back. */
#include "base/descriptor.h"
#include "train/graph/graph_internal.h"

#include <stdio.h>
#include <string.h>

/* A node in the making. */
typedef struct maker {
    hr_graph *g;
    const hr_node_opts *opts;
    const hr__signature *sig;
    const char *name;
    hr_node *input;
    hr_attr attr[HR_MAX_OP_ATTRS];
    hr_attr *extra; /* those that the signature does not know */
    int extras;
    bool given[HR_MAX_OP_ATTRS];
    bool imported;                  /* from a file: all attributes are kept */
    int64_t length[HR_MAX_OP_ARGS]; /* how many inputs each argument has */
    hr__node *node;
    hr__made made;
    hr_error *err;
} maker;

/* ---- attributes ---- */

static const char *kind_word(hr_attr_kind kind)
{
    static const char *const word[] = {"nothing",      "int",          "float",       "bool",      "string",
                                       "type",         "shape",        "tensor",      "list(int)", "list(float)",
                                       "list(type)",   "list(string)", "list(shape)", "func",      "list(bool)",
                                       "list(tensor)", "list(func)"};
    return (size_t)kind < sizeof word / sizeof *word ? word[kind] : word[0];
}

static bool is_text(hr_view view, const char *text)
{
    return (size_t)view.size == strlen(text) && memcmp(view.data, text, strlen(text)) == 0;
}

/* TensorFlow's rule: names that begin with '_' are free. */
static hr_status take_extra(maker *m, const hr_attr *a)
{
    if (a->name[0] != '_' && !m->imported)
        return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.attr", "expected an attribute of the op, got '%s'", a->name);
    if (!m->extra) m->extra = hr__arena_get(&m->g->arena, sizeof *m->extra * (size_t)m->opts->attr_count);
    if (!m->extra) return hr_no_memory(m->err, "a node");
    hr_attr *extra = &m->extra[m->extras++];
    *extra = *a;
    extra->name = hr__arena_text(&m->g->arena, a->name, strlen(a->name));
    return extra->name ? hr__attr_copy(&m->g->arena, extra, m->err) : hr_no_memory(m->err, "a node");
}

static hr_status take_given(maker *m)
{
    for (int i = 0; i < m->opts->attr_count; i++) {
        const hr_attr *a = &m->opts->attrs[i];
        const int at = hr__signature_attr(m->sig, a->name, strlen(a->name));
        if (at < 0) {
            HR_TRY(take_extra(m, a));
            continue;
        }
        if (m->sig->attr[at].kind != a->kind)
            return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.attr", "attribute '%s': expected %s, got %s", a->name,
                           kind_word(m->sig->attr[at].kind), kind_word(a->kind));
        m->attr[at] = *a;
        m->attr[at].name = m->sig->attr[at].name;
        HR_TRY(hr__attr_copy(&m->g->arena, &m->attr[at], m->err));
        m->given[at] = true;
    }
    return HR_OK;
}

static hr_status check_type(maker *m, const hr_attr_def *def, hr_dtype type)
{
    if (type > 0 && type < 32 && def->types >> type & 1 && hr_dtype_size(type) > 0) return HR_OK;
    return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.type", "expected as %s one of the op's types, got %s", def->name,
                   hr_dtype_name(type));
}

static hr_status check_words(maker *m, const hr_attr_def *def, hr_view text)
{
    for (int i = 0; i < def->word_count; i++)
        if (is_text(text, def->words[i])) return HR_OK;
    return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.attr",
                   "expected as %s one of %d words, the first is '%s', got '%.*s'", def->name, def->word_count,
                   def->words[0], (int)(text.size < 60 ? text.size : 60), text.data);
}

static hr_status check_minimum(maker *m, const hr_attr_def *def, const hr_attr *a)
{
    const int64_t value = def->kind == HR_ATTR_INT ? a->i : a->count;
    if (value >= def->min) return HR_OK;
    return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.attr", "expected %s%s >= %lld, got %lld", def->name,
                   def->kind == HR_ATTR_INT ? "" : "'s length", (long long)def->min, (long long)value);
}

/* A node that uses a variable has its type, if it says none. */
static void take_type_of_handle(maker *m)
{
    hr_handle_info info;
    const int at =
        m->sig->inputs > 0 && m->sig->input[0].type == HR_RESOURCE ? hr__signature_attr(m->sig, "dtype", 5) : -1;
    if (at < 0 || m->given[at] || !m->opts->input_count || !hr_handle_of(m->input[0], &info)) return;
    m->attr[at] = HR_TYPE_ATTR(m->sig->attr[at].name, info.dtype);
    m->given[at] = m->sig->attr[at].kind == HR_ATTR_TYPE;
}

static hr_status fill_in_defaults(maker *m)
{
    for (int i = 0; i < m->sig->attrs; i++) {
        const hr_attr_def *def = &m->sig->attr[i];
        if (!m->given[i] && !def->has_default)
            return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.attr", "expected attribute '%s', got none", def->name);
        if (!m->given[i]) m->attr[i] = def->value;
        m->given[i] = true;
        HR_TRY(check_minimum(m, def, &m->attr[i]));
        if (def->words) HR_TRY(check_words(m, def, m->attr[i].s));
        if (def->kind == HR_ATTR_TYPE) HR_TRY(check_type(m, def, m->attr[i].type));
        for (int j = 0; def->kind == HR_ATTR_TYPES && j < m->attr[i].count; j++)
            HR_TRY(check_type(m, def, m->attr[i].types[j]));
    }
    return HR_OK;
}

static void set_int(maker *m, int attr, int64_t value)
{
    if (m->given[attr]) return;
    m->attr[attr] = HR_INT_ATTR(m->sig->attr[attr].name, value);
    m->given[attr] = true;
}

/* ---- inputs ---- */

/* The node that reads a variable of hr_get_variable serves all who want its value, unless they are to wait. */
hr_node hr_node_value(hr_node node)
{
    hr_handle_info known;
    if (hr_node_dtype(node) != HR_RESOURCE || !hr_handle_of(node, &known)) return node;
    const hr_variable_info *info = hr_variable_of(node);
    bool ordered = false;
    for (int i = 0; i < node.graph->control_count; i++) ordered |= node.graph->controls[i].count > 0;
    if (info && !ordered && hr_node_exists(info->read) && info->read.graph == node.graph) return info->read;
    return hr_new_node(node.graph, "ReadVariableOp", HR_INPUTS(node), HR_ATTRS(HR_TYPE_ATTR("dtype", known.dtype)));
}

enum { MAX_OUTPUTS = 1 << 16 /* of an argument */ };

/* How many inputs or outputs an argument has: one, as its attribute says, or -1: not known yet. */
static hr_status argument_length(const maker *m, const hr_arg_def *arg, int64_t max, int64_t *length)
{
    const int attr = arg->number_attr >= 0 ? arg->number_attr : arg->list_attr;
    *length = attr < 0 ? 1 : !m->given[attr] ? -1 : arg->number_attr >= 0 ? m->attr[attr].i : m->attr[attr].count;
    if (attr < 0 || !m->given[attr] || (*length >= 0 && *length <= max)) return HR_OK;
    return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.attr", "expected %s, how many of '%s', in [0, %lld], got %lld",
                   m->sig->attr[attr].name, arg->name, (long long)max, (long long)*length);
}

static hr_status wrong_count(maker *m, int64_t expected)
{
    return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.inputs", "expected %lld inputs (%s), got %d",
                   (long long)expected, m->sig->inputs_text && *m->sig->inputs_text ? m->sig->inputs_text : "none",
                   m->opts->input_count);
}

/* The inputs that are left are shared out evenly among the arguments of unknown length: those of one N. */
static hr_status measure_arguments(maker *m)
{
    int64_t known = 0, open = 0;
    for (int i = 0; i < m->sig->inputs; i++) {
        HR_TRY(argument_length(m, &m->sig->input[i], INT32_MAX, &m->length[i]));
        if (m->length[i] >= 0)
            known += m->length[i];
        else
            open++;
    }
    const int64_t rest = m->opts->input_count - known;
    if (rest < 0 || (open == 0 && rest > 0) || (open > 0 && rest % open)) return wrong_count(m, known + open);
    for (int i = 0; i < m->sig->inputs; i++) {
        if (m->length[i] >= 0) continue;
        m->length[i] = rest / open;
        if (m->sig->input[i].number_attr >= 0) set_int(m, m->sig->input[i].number_attr, m->length[i]);
    }
    return HR_OK;
}

static hr_status node_wrong_type(maker *m, const hr_arg_def *arg, hr_node input, hr_dtype expected)
{
    return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.type", "input '%s': expected %s, got %s of node '%s'", arg->name,
                   hr_dtype_name(expected), hr_dtype_name(hr_node_dtype(input)), hr_node_name(input));
}

/* The type that a single argument must have; HR_INVALID_DTYPE: its attribute is still open. */
static hr_dtype wanted_type(const maker *m, const hr_arg_def *arg)
{
    if (arg->type_attr < 0) return arg->type;
    return m->given[arg->type_attr] ? m->attr[arg->type_attr].type : HR_INVALID_DTYPE;
}

static hr_status node_match_one(maker *m, const hr_arg_def *arg, hr_node *input)
{
    const hr_dtype wanted = wanted_type(m, arg);
    if (wanted != HR_RESOURCE && !m->imported) *input = hr_node_value(*input);
    if (!hr_node_exists(*input)) return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.input", "an input failed");
    const hr_dtype type = hr_node_dtype(*input);
    if (arg->ref && !hr__output_is_ref(*input))
        return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.type",
                       "input '%s': expected a variable itself, got a value of node '%s'", arg->name,
                       hr_node_name(*input));
    if (wanted == HR_INVALID_DTYPE) {
        m->attr[arg->type_attr] = HR_TYPE_ATTR(m->sig->attr[arg->type_attr].name, type);
        m->given[arg->type_attr] = true;
        return HR_OK;
    }
    return type == wanted ? HR_OK : node_wrong_type(m, arg, *input, wanted);
}

static hr_status match_list(maker *m, const hr_arg_def *arg, hr_node *inputs, int64_t count)
{
    hr_dtype *types = hr__arena_get(&m->g->arena, sizeof *types * (size_t)(count + 1));
    if (!types) return hr_no_memory(m->err, "a node");
    for (int64_t i = 0; i < count; i++) {
        if (!m->imported && !(m->sig->op->traits & HR_CALLS)) inputs[i] = hr_node_value(inputs[i]);
        if (!hr_node_exists(inputs[i])) return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.input", "an input failed");
        types[i] = hr_node_dtype(inputs[i]);
        if (m->given[arg->list_attr] && m->attr[arg->list_attr].types[i] != types[i])
            return node_wrong_type(m, arg, inputs[i], m->attr[arg->list_attr].types[i]);
    }
    m->attr[arg->list_attr] = HR_TYPES_ATTR(m->sig->attr[arg->list_attr].name, types, (int)count);
    m->given[arg->list_attr] = true;
    return HR_OK;
}

static hr_status match_inputs(maker *m)
{
    m->input = hr__arena_copy(&m->g->arena, m->opts->inputs, sizeof(hr_node) * (size_t)m->opts->input_count);
    if (!m->input) return hr_no_memory(m->err, "a node");
    HR_TRY(measure_arguments(m));
    hr_node *next = m->input;
    for (int i = 0; i < m->sig->inputs; i++) {
        const hr_arg_def *arg = &m->sig->input[i];
        if (arg->list_attr >= 0) HR_TRY(match_list(m, arg, next, m->length[i]));
        for (int64_t j = 0; arg->list_attr < 0 && j < m->length[i]; j++) HR_TRY(node_match_one(m, arg, &next[j]));
        next += m->length[i];
    }
    return HR_OK;
}

/* ---- outputs ---- */

static hr_status count_outputs(const maker *m, int64_t *count)
{
    *count = 0;
    for (int i = 0; i < m->sig->outputs; i++) {
        int64_t length;
        HR_TRY(argument_length(m, &m->sig->output[i], MAX_OUTPUTS, &length));
        *count += length;
    }
    return HR_OK;
}

static void type_outputs(const maker *m, hr_dtype *types)
{
    for (int i = 0; i < m->sig->outputs; i++) {
        const hr_arg_def *arg = &m->sig->output[i];
        int64_t length;
        if (argument_length(m, arg, MAX_OUTPUTS, &length) != HR_OK) return; /* asked before */
        for (int64_t j = 0; j < length; j++)
            *types++ = arg->list_attr >= 0   ? m->attr[arg->list_attr].types[j]
                       : arg->type_attr >= 0 ? m->attr[arg->type_attr].type
                                             : arg->type;
    }
}

/* All input shapes, as TensorFlow adds them to what a shape function says. */
static void say_input_shapes(maker *m, const hr_infer *s)
{
    char text[sizeof m->err->text];
    size_t at = 0;
    hr__shape_name name;
    if (s->inputs == 0) return;
    for (int i = 0; i < s->inputs && at < sizeof text; i++) {
        const int n = snprintf(text + at, sizeof text - at, "%s%s", i ? ", " : "", hr__shape_in(&name, s->input[i]));
        at += n > 0 ? (size_t)n : 0;
    }
    const size_t used = strlen(m->err->text);
    snprintf(m->err->text + used, sizeof m->err->text - used, ", with input shapes: %s", text);
}

static hr_status ask_shapes(maker *m, hr_infer *s)
{
    const hr__node *n = m->node;
    if (n->sig->shapes) HR_TRY(hr__shapes_infer(n->sig->shapes, s, m->err));
    return n->op->shape ? n->op->shape(s, m->err) : HR_OK;
}

static hr_status infer_shapes(maker *m, hr_node self)
{
    hr__node *n = m->node;
    bool handles = false;
    for (int i = 0; i < n->outputs; i++) {
        n->shape[i] = HR_UNKNOWN_SHAPE;
        handles |= n->type[i] == HR_RESOURCE || hr__output_is_ref((hr_node){self.graph, self.id, i});
    }
    if (handles) n->handle = hr__arena_get(&m->g->arena, sizeof *n->handle * (size_t)n->outputs);
    if (handles && !n->handle) return hr_no_memory(m->err, "a node");
    if (!n->op->shape && !n->sig->shapes) return HR_OK;
    hr_shape *in = hr_malloc(sizeof *in * (size_t)(n->inputs + 1));
    if (!in) return hr_no_memory(m->err, "a node");
    for (int i = 0; i < n->inputs; i++) in[i] = hr_node_shape(n->input[i]);
    hr_infer s = {self, n->inputs, n->outputs, in, n->shape, n->handle};
    const hr_status st = hr__descriptor_answer(n->op->name, "graph.failed", ask_shapes(m, &s), m->err);
    if (st != HR_OK) say_input_shapes(m, &s);
    hr_free(in);
    for (int i = 0; n->handle && i < n->outputs; i++)
        if (n->handle[i].dtype != HR_INVALID_DTYPE && !n->handle[i].origin.graph) n->handle[i].origin = self;
    for (int i = 0; st == HR_OK && i < n->outputs; i++) {
        hr__shape_name name;
        if (!hr__shape_possible(n->shape[i]))
            return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.shape",
                           "expected an output of dimensions from -1 on and at most %lld values, got shape %s",
                           (long long)HR_MAX_VALUES, hr__shape_in(&name, n->shape[i]));
    }
    return st;
}

/* ---- control inputs ---- */

static hr_status take_control(maker *m, hr_node node, hr_node *kept, int *count)
{
    if (!hr_node_exists(node)) return HR_OK;
    if (node.graph != m->g)
        return hr_fail(m->err, HR_INVALID_ARGUMENT, "graph.input",
                       "expected control inputs of the same graph, got '%s'", hr_node_name(node));
    hr__node *n = hr__node_of(node);
    if (n->mark == m->g->marks) return HR_OK;
    n->mark = m->g->marks;
    kept[(*count)++] = hr_target(node);
    return HR_OK;
}

static hr_status add_controls(maker *m)
{
    int max = m->opts->control_count, count = 0;
    for (int i = 0; i < m->g->control_count; i++) max += m->g->controls[i].count;
    hr_node *kept = hr__arena_get(&m->g->arena, sizeof *kept * (size_t)max);
    if (!kept) return hr_no_memory(m->err, "a node");
    m->g->marks++;
    for (int i = 0; i < m->opts->control_count; i++) HR_TRY(take_control(m, m->opts->controls[i], kept, &count));
    for (int i = 0; i < m->g->control_count && !m->imported; i++)
        for (int j = 0; j < m->g->controls[i].count; j++)
            HR_TRY(take_control(m, m->g->controls[i].nodes[j], kept, &count));
    m->node->control = kept;
    m->node->controls = count;
    return HR_OK;
}

/* ---- all of it ---- */

/* The op's kernel for the node's type. */
static const hr_type_kernel *choose_kernel(const maker *m)
{
    const int attr = m->sig->kernel_attr;
    const hr_type_kernel *all = m->sig->op->kernels;
    if (!all || attr < 0) return all;
    for (const hr_type_kernel *k = all; k->dtype != HR_INVALID_DTYPE; k++)
        if (k->dtype == m->attr[attr].type) return k;
    return NULL;
}

static hr_status node_build(maker *m)
{
    hr_graph *g = m->g;
    HR_TRY(take_given(m));
    HR_TRY(match_inputs(m));
    take_type_of_handle(m);
    HR_TRY(fill_in_defaults(m));
    hr__node *n = m->node = hr__arena_get(&g->arena, sizeof *n);
    int64_t outputs;
    HR_TRY(count_outputs(m, &outputs));
    hr_dtype *types = hr__arena_get(&g->arena, sizeof *types * (size_t)outputs);
    hr_shape *shapes = hr__arena_get(&g->arena, sizeof *shapes * (size_t)outputs);
    hr_attr *attrs = hr__arena_get(&g->arena, sizeof *attrs * (size_t)(m->sig->attrs + m->extras));
    if (!n || !types || !shapes || !attrs) return hr_no_memory(m->err, "a node");
    memcpy(attrs, m->attr, sizeof *attrs * (size_t)m->sig->attrs);
    if (m->extras) memcpy(attrs + m->sig->attrs, m->extra, sizeof *attrs * (size_t)m->extras);
    type_outputs(m, types);
    *n = (hr__node){.sig = m->sig,
                    .op = m->sig->op,
                    .kernel = choose_kernel(m),
                    .name = m->name,
                    .inputs = m->opts->input_count,
                    .outputs = (int)outputs,
                    .input = m->input,
                    .type = types,
                    .shape = shapes,
                    .attr = attrs,
                    .attrs = m->sig->attrs + m->extras,
                    .override = hr__override_of(g, m->sig->op->name),
                    .device = "",
                    .made = m->made};
    return add_controls(m);
}

static hr_status node_name(maker *m)
{
    if (m->imported) return hr__claim_name(m->g, m->name, &m->node->name, m->err);
    m->node->name = hr__unique_name(m->g, m->name);
    return m->node->name ? HR_OK : m->g->error.code;
}

/* The node stands in the graph while its shapes are inferred, so that its attributes can be asked for. */
static hr_status enter(maker *m, hr_node *self)
{
    hr_graph *g = m->g;
    HR_TRY(hr__grow(&g->nodes, g->node_count, &g->node_capacity, sizeof *g->nodes, m->err));
    *self = (hr_node){g, g->node_count, m->node->outputs > 0 ? 0 : -1};
    m->node->place = g->node_count;
    g->nodes[g->node_count++] = m->node;
    hr_status st = infer_shapes(m, *self);
    if (st == HR_OK) st = node_name(m);
    if (st == HR_OK) st = hr__map_add(&g->by_name, m->node->name, strlen(m->node->name), self->id, m->err);
    if (st != HR_OK) g->node_count--;
    return st;
}

static hr_graph *graph_of(hr_graph *g, const hr_node_opts *opts)
{
    for (int i = 0; !g && opts->inputs && i < opts->input_count; i++) g = opts->inputs[i].graph;
    return g;
}

hr_status hr__check_node_opts(const char *op, const hr_node_opts *opts, hr_error *err)
{
    enum { MOST = INT32_MAX / 4 /* so that sums of counts stay within an int */ };
    const char *lacks = !op ? "a name" : NULL;
    const struct {
        const void *there;
        int count;
        const char *what;
    } part[] = {{opts->inputs, opts->input_count, "inputs"},
                {opts->attrs, opts->attr_count, "attributes"},
                {opts->controls, opts->control_count, "control inputs"}};
    for (int i = 0; i < 3 && !lacks; i++)
        if (part[i].count < 0 || part[i].count > MOST || (part[i].count > 0 && !part[i].there)) lacks = part[i].what;
    for (int i = 0; i < opts->attr_count && !lacks; i++)
        if (!opts->attrs[i].name) lacks = "a name of each attribute";
    if (!lacks) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.argument",
                   "a node of op '%.60s': expected %s, got NULL, or a count that is none", op ? op : "", lacks);
}

static bool any_failed(hr_graph *g, const hr_node_opts *opts)
{
    for (int i = 0; i < opts->input_count; i++) {
        const hr_node in = opts->inputs[i];
        if (in.graph && in.id < 0) return true;
        const hr__node *n = in.graph == g ? hr__node_of(in) : NULL;
        if (n && in.output >= 0 && in.output < n->outputs) continue;
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.input", "graph: expected as input %d a node of the same graph %s",
                     i, in.graph == g ? "with an output" : "");
        return true;
    }
    return false;
}

/* ---- inputs of functions: placeholders, and nodes of graphs around that are used in one ---- */

/* An input is a placeholder. Its attributes besides type and shape are those that came with it in a file. */
hr_node hr__function_argument(hr_graph *body, hr_dtype dtype, hr_shape shape, const char *name, const hr_attr *attrs,
                              int count)
{
    hr_graph *inner = body->building;
    hr_attr *all = hr__arena_get(&body->arena, sizeof *all * (size_t)(count + 2));
    if (!all) return hr__graph_no_memory(body, "a function");
    all[0] = HR_TYPE_ATTR("dtype", dtype);
    all[1] = HR_SHAPE_ATTR("shape", shape);
    if (count) memcpy(all + 2, attrs, sizeof *all * (size_t)count);
    body->building = NULL;
    const hr_node node = hr_new_node(body, "Placeholder", .name = name, .attrs = all, .attr_count = count + 2);
    body->building = inner;
    return node;
}

static bool is_constant(hr_node node) { return hr_node_is(node, "Const") && hr_node_controls(node) == 0; }

static hr_node copy_constant(hr_graph *body, hr_node outer)
{
    const hr__node *n = hr__node_of(outer);
    hr_graph *inner = body->building;
    body->building = NULL;
    const hr_node node = hr_new_node(body, "Const", .attrs = n->attr, .attr_count = n->sig->attrs);
    body->building = inner;
    return node;
}

hr_node hr__capture_node(hr_graph *body, hr_node outer)
{
    for (int i = 0; i < body->capture_count; i++) {
        const hr_node known = body->captures[i].outer;
        if (known.graph == outer.graph && known.id == outer.id && known.output == outer.output)
            return body->captures[i].inner;
    }
    if (body->copies_constants && is_constant(outer)) return copy_constant(body, outer);
    const hr_node switched = body->capture_switched ? body->capture_switched(body, outer) : (hr_node){0};
    if (switched.graph) return switched;
    if (hr__grow(&body->captures, body->capture_count, &body->capture_capacity, sizeof *body->captures, NULL) != HR_OK)
        return hr__graph_no_memory(body, "a capture");
    const hr_node inner =
        hr__function_argument(body, hr_node_dtype(outer), hr_node_shape(outer), hr_node_name(outer), NULL, 0);
    hr__know_handle(inner, outer);
    if (hr_node_exists(inner)) body->captures[body->capture_count++] = (hr__capture){outer, inner};
    return inner;
}

hr_node hr__captured(hr_graph *g, hr_node node)
{
    if (!node.graph || node.graph == g || !g->outer || node.id < 0) return node;
    const hr_node outer = hr__captured(g->outer, node);
    return outer.graph == g->outer ? hr__capture_node(g, outer) : node;
}

/* In a function, nodes of graphs around it become its inputs. What is to run before the call is the call's matter. */
static bool take_from_around(hr_graph *g, hr_node_opts *opts)
{
    if (!g->outer) return true;
    hr_node *inputs = hr__arena_copy(&g->arena, opts->inputs, sizeof *inputs * (size_t)opts->input_count);
    hr_node *controls = hr__arena_get(&g->arena, sizeof *controls * (size_t)(opts->control_count + 1));
    if (!inputs || !controls) return false;
    for (int i = 0; i < opts->input_count; i++) inputs[i] = hr__captured(g, inputs[i]);
    int kept = 0;
    for (int i = 0; i < opts->control_count; i++)
        if (opts->controls[i].graph == g) controls[kept++] = opts->controls[i];
    opts->inputs = inputs;
    opts->controls = controls;
    opts->control_count = kept;
    return true;
}

static void node_refuse(const maker *m, const char *op)
{
    hr__made made = m->made;
    char name[300];
    if (!made.file && hr__made_here(m->g, &made, NULL) != HR_OK) made = (hr__made){0};
    snprintf(name, sizeof name, "%s%s", m->g->scope, m->name);
    m->g->error = *m->err;
    hr__blame_made(&m->g->error, name, op, made);
}

hr_node hr_new_node_with(hr_graph *g, const char *op, const hr_node_opts *given)
{
    hr_node_opts own = HR_OPTIONS(hr_node_opts, given);
    const hr_node_opts *opts = &own;
    hr_node self = {0};
    g = graph_of(g, opts);
    if (!g) return self;
    g = hr__innermost(g);
    hr_error err = {0};
    if (hr__check_node_opts(op, opts, &err) != HR_OK) return hr_node_fail(g, err.code, err.kind, "%s", err.text);
    if (g->at_once) return g->at_once->make(g, op, opts);
    const char *mark = strchr(op, '>');
    if (!take_from_around(g, &own)) return hr__graph_no_memory(g, "a node");
    if (any_failed(g, opts)) return hr_failed_node(g);
    maker *m = hr_calloc(1, sizeof *m);
    if (!m) return hr__graph_no_memory(g, "a node");
    *m = (maker){.g = g, .opts = opts, .err = &err, .sig = hr__graph_signature(g, op, &err)};
    m->name = opts->name ? opts->name : mark ? mark + 1 : op + strspn(op, "_");
    hr_status st = m->sig ? hr__made_here(g, &m->made, &err) : err.code;
    if (st == HR_OK) st = node_build(m);
    if (st == HR_OK) st = enter(m, &self);
    if (st != HR_OK && g->error.code == HR_OK) node_refuse(m, op);
    hr_free(m);
    return st == HR_OK ? self : hr_failed_node(g);
}

hr_status hr__node_import(hr_graph *g, const char *op, const char *device, const hr_node_opts *opts, hr_node *out,
                          hr_error *err)
{
    hr_error failed = {0};
    maker *m = hr_calloc(1, sizeof *m);
    if (!m) return hr_no_memory(err, "a node");
    *m = (maker){.g = g, .opts = opts, .err = &failed, .name = opts->name, .imported = true};
    m->sig = hr__graph_signature(g, op, &failed);
    hr_status st = m->sig ? node_build(m) : failed.code;
    if (st == HR_OK && *device && !(m->node->device = hr__arena_text(&g->arena, device, strlen(device))))
        st = hr_no_memory(&failed, "a node");
    if (st == HR_OK) st = enter(m, out);
    if (st != HR_OK && err) {
        *err = failed;
        hr_error_prefix(err, "node '%.100s' (%.60s): ", opts->name, op);
    }
    hr_free(m);
    return st;
}

hr_status hr__node_rewire(hr_node node, int input, hr_node by, hr_error *err)
{
    hr__node *n = hr__node_of(node);
    hr_node *inputs = hr__arena_copy(&node.graph->arena, n->input, sizeof *inputs * (size_t)n->inputs);
    if (!inputs) return hr_no_memory(err, "a node");
    if (hr_node_dtype(by) != hr_node_dtype(inputs[input]))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.type", "node '%s': input %d: expected %s, got %s of node '%s'",
                       n->name, input, hr_dtype_name(hr_node_dtype(inputs[input])), hr_dtype_name(hr_node_dtype(by)),
                       hr_node_name(by));
    inputs[input] = by;
    n->input = inputs;
    return HR_OK;
}

/* How many inputs or outputs an argument of a node is. */
static int64_t length_of(const hr__node *n, const hr_arg_def *arg)
{
    const int attr = arg->number_attr >= 0 ? arg->number_attr : arg->list_attr;
    return attr < 0 ? 1 : arg->number_attr >= 0 ? n->attr[attr].i : n->attr[attr].count;
}

/* The argument that input or output i belongs to; NULL: none. */
static const hr_arg_def *argument_at(const hr__node *n, const hr_arg_def *args, int count, int at)
{
    for (int i = 0; i < count; i++) {
        at -= (int)length_of(n, &args[i]);
        if (at < 0) return &args[i];
    }
    return NULL;
}

bool hr__output_is_ref(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    const hr_arg_def *arg = n && node.output >= 0 ? argument_at(n, n->sig->output, n->sig->outputs, node.output) : NULL;
    return arg && arg->ref;
}

bool hr__input_is_ref(const hr__node *n, int i)
{
    const hr_arg_def *arg = argument_at(n, n->sig->input, n->sig->inputs, i);
    return arg && arg->ref;
}

hr_node hr__output_named(hr_node node, const char *name, size_t size, int64_t index)
{
    const hr__node *n = hr__node_of(node);
    int64_t at = 0;
    for (int i = 0; n && i < n->sig->outputs; at += length_of(n, &n->sig->output[i++])) {
        const char *arg = n->sig->output[i].name;
        if (strlen(arg) != size || memcmp(arg, name, size) != 0) continue;
        if (index < 0 || index >= length_of(n, &n->sig->output[i])) break;
        return (hr_node){node.graph, node.id, (int32_t)(at + index)};
    }
    return (hr_node){0};
}

const char *hr__output_argument(hr_node node, int *index)
{
    const hr__node *n = hr__node_of(node);
    int64_t at = node.output;
    for (int i = 0; n && i < n->sig->outputs; i++) {
        const int64_t length = length_of(n, &n->sig->output[i]);
        *index = (int)at;
        if (at < length) return n->sig->output[i].name;
        at -= length;
    }
    return "";
}
