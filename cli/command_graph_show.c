/* headrace graph show: what is in a graph, as tables, a line of JSON, or a picture. */
#include "cli/cli_table.h"
#include "cli/graph_files.h"
#include "cli/graph_picture.h"
#include "cli/json_line.h"
#include <headrace/control_flow.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- ops ---- */

typedef struct op_count {
    const char *op;
    int count;
} op_count;

static int by_op(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static int by_count(const void *a, const void *b)
{
    const op_count *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return strcmp(x->op, y->op);
}

/* Gives *out (hr_free it), the most frequent one first. */
static hr_status count_ops(hr_graph *g, op_count **out, int *count, hr_error *err)
{
    const size_t all = (size_t)hr_graph_size(g);
    const char **op = hr_calloc(all + 1, sizeof *op);
    size_t size = 0;
    *out = hr_calloc(all + 1, sizeof **out);
    *count = 0;
    if (!op || !*out) {
        hr_free(op);
        return hr_no_memory(err, "a table");
    }
    for (int32_t i = 0; i < hr_graph_size(g); i++)
        if (!hr_node_hidden((hr_node){g, i, 0})) op[size++] = hr_node_op((hr_node){g, i, 0});
    if (size) qsort(op, size, sizeof *op, by_op);
    for (size_t i = 0; i < size; i++) {
        if (i == 0 || strcmp(op[i], op[i - 1]) != 0) (*out)[(*count)++].op = op[i];
        (*out)[*count - 1].count++;
    }
    if (*count) qsort(*out, (size_t)*count, sizeof **out, by_count);
    hr_free(op);
    return HR_OK;
}

/* ---- attributes ---- */

static void text_number(text_buffer *t, double number)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", number);
    text_add(t, text);
}

static void text_integer(text_buffer *t, int64_t number)
{
    char text[40];
    snprintf(text, sizeof text, "%" PRId64, number);
    text_add(t, text);
}

static void text_shape(text_buffer *t, hr_shape shape)
{
    char text[256];
    text_add(t, hr_shape_text(shape, text, sizeof text));
}

static void text_tensor(text_buffer *t, const hr_tensor *tensor)
{
    text_add(t, hr_dtype_name(tensor->dtype));
    text_shape(t, tensor->shape);
}

static void text_item(text_buffer *t, const hr_attr *a, int i)
{
    switch (a->kind) {
    case HR_ATTR_INTS:
        text_integer(t, a->ints[i]);
        break;
    case HR_ATTR_FLOATS:
        text_number(t, (double)a->floats[i]);
        break;
    case HR_ATTR_BOOLS:
        text_add(t, a->bools[i] ? "true" : "false");
        break;
    case HR_ATTR_TYPES:
        text_add(t, hr_dtype_name(a->types[i]));
        break;
    case HR_ATTR_STRINGS:
        text_quoted(t, a->strings[i]);
        break;
    case HR_ATTR_SHAPES:
        text_shape(t, a->shapes[i]);
        break;
    case HR_ATTR_TENSORS:
        text_tensor(t, &a->tensors[i]);
        break;
    default:
        text_add(t, a->funcs[i].name);
        break;
    }
}

static void text_value(text_buffer *t, const hr_attr *a)
{
    switch (a->kind) {
    case HR_ATTR_INT:
        text_integer(t, a->i);
        return;
    case HR_ATTR_FLOAT:
        text_number(t, (double)a->f);
        return;
    case HR_ATTR_BOOL:
        text_add(t, a->b ? "true" : "false");
        return;
    case HR_ATTR_STRING:
        text_quoted(t, a->s);
        return;
    case HR_ATTR_TYPE:
        text_add(t, hr_dtype_name(a->type));
        return;
    case HR_ATTR_SHAPE:
        text_shape(t, a->shape);
        return;
    case HR_ATTR_TENSOR:
        text_tensor(t, a->tensor);
        return;
    case HR_ATTR_FUNC:
        text_add(t, a->func->name);
        return;
    default:
        text_byte(t, '[');
        for (int i = 0; i < a->count; i++) {
            if (i > 0) text_add(t, ", ");
            if (i == 16) {
                text_add(t, "...");
                break;
            }
            text_item(t, a, i);
        }
        text_byte(t, ']');
    }
}

static void text_attributes(text_buffer *t, hr_node node)
{
    for (int i = 0; i < hr_node_attrs(node); i++) {
        const hr_attr *a = hr_node_attr_at(node, i);
        if (i > 0) text_byte(t, ' ');
        text_add(t, a->name);
        text_byte(t, '=');
        text_value(t, a);
    }
}

/* ---- nodes ---- */

static void text_input(text_buffer *t, hr_node input)
{
    if (input.output < 0) text_byte(t, '^');
    text_add(t, hr_node_name(input));
    if (input.output > 0) {
        text_byte(t, ':');
        text_integer(t, input.output);
    }
}

static void text_inputs(text_buffer *t, hr_node node)
{
    const int inputs = hr_node_inputs(node), all = inputs + hr_node_controls(node);
    for (int i = 0; i < all; i++) {
        if (i > 0) text_byte(t, ' ');
        text_input(t, i < inputs ? hr_node_input(node, i) : hr_node_control(node, i - inputs));
    }
}

static void text_outputs(text_buffer *t, hr_node node)
{
    for (int i = 0; i < hr_node_outputs(node); i++) {
        const hr_node out = hr_node_output(node, i);
        if (i > 0) text_byte(t, ' ');
        text_add(t, hr_dtype_name(hr_node_dtype(out)));
        text_shape(t, hr_node_shape(out));
    }
}

static void add_column(table *t, hr_node node, void (*put)(text_buffer *, hr_node))
{
    text_buffer text = {0};
    put(&text, node);
    table_cell(t, "%s", "");
    for (size_t at = 0; text.data && at < text.size; at += 400) table_more(t, "%.400s", text.data + at);
    t->text.failed |= text.failed;
    text_free(&text);
}

static void print_nodes(hr_graph *g, bool attributes)
{
    static const table_column column[] = {
        {"node", 0, true}, {"op", 0, true}, {"inputs", 0, true}, {"outputs", 0, true}, {"attributes", 0, true}};
    table t = {.column = column, .columns = attributes ? 5 : 4};
    for (int32_t i = 0; i < hr_graph_size(g); i++) {
        const hr_node node = {g, i, 0};
        if (hr_node_hidden(node)) continue;
        table_cell(&t, "%.500s", hr_node_name(node));
        table_cell(&t, "%.100s", hr_node_op(node));
        add_column(&t, node, text_inputs);
        add_column(&t, node, text_outputs);
        if (attributes) add_column(&t, node, text_attributes);
    }
    table_print(&t);
}

/* ---- summary ---- */

static int64_t count_parameters(const hr_graph *g)
{
    int64_t sum = 0;
    for (int i = 0; i < hr_graph_variables(g); i++) {
        const hr_variable_info *v = hr_graph_variable(g, i);
        const int64_t count = hr_shape_count(v->shape);
        if (v->sets & HR_TRAINABLE_VARIABLES && count > 0 && sum <= INT64_MAX - count) sum += count;
    }
    return sum;
}

static int64_t constant_bytes(hr_graph *g)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < hr_graph_size(g); i++) {
        const hr_attr *value = hr_node_attr((hr_node){g, i, 0}, "value");
        if (value && value->kind == HR_ATTR_TENSOR)
            sum += value->tensor->count * (int64_t)hr_dtype_size(value->tensor->dtype);
    }
    return sum;
}

static bool is_placeholder(hr_node node) { return strncmp(hr_node_op(node), "Placeholder", 11) == 0; }

static void print_ops(const op_count *op, int count)
{
    printf("ops:");
    for (int i = 0; i < count; i++) printf("%s %s %d", i ? "," : "", op[i].op, op[i].count);
    printf("%s\n", count ? "" : " none");
}

static void print_placeholders(hr_graph *g)
{
    for (int32_t i = 0; i < hr_graph_size(g); i++) {
        const hr_node node = {g, i, 0};
        char shape[256];
        if (is_placeholder(node))
            printf("placeholder: %s %s%s\n", hr_node_name(node), hr_dtype_name(hr_node_dtype(node)),
                   hr_shape_text(hr_node_shape(node), shape, sizeof shape));
    }
}

static void print_variables(hr_graph *g)
{
    if (hr_graph_variables(g) > 0)
        printf("%d variables, %s numbers in those that are trained\n", hr_graph_variables(g),
               with_commas(count_parameters(g)));
    for (int i = 0; i < hr_graph_variables(g); i++) {
        char shape[256];
        const hr_variable_info *v = hr_graph_variable(g, i);
        printf("variable: %s %s%s%s%s\n", v->name, hr_dtype_name(v->dtype),
               hr_shape_text(v->shape, shape, sizeof shape), v->sets & HR_TRAINABLE_VARIABLES ? " trained" : "",
               v->sets & HR_LOCAL_VARIABLES ? " local" : "");
    }
}

static void print_signatures(const hr_meta_graph *m)
{
    for (int i = 0; hr_meta_graph_signature(m, i); i++) {
        const hr_meta_signature *s = hr_meta_graph_signature(m, i);
        printf("signature: %s (%s)", s->key, s->method);
        for (int j = 0; j < s->input_count; j++)
            printf("%s %s = %s", j ? "," : " from", s->inputs[j].key, s->inputs[j].name ? s->inputs[j].name : "?");
        for (int j = 0; j < s->output_count; j++)
            printf("%s %s = %s", j ? "," : " to", s->outputs[j].key, s->outputs[j].name ? s->outputs[j].name : "?");
        printf("\n");
    }
}

static int count_nodes(const op_count *op, int ops)
{
    int sum = 0;
    for (int i = 0; i < ops; i++) sum += op[i].count;
    return sum;
}

static void print_summary(const graph_file *file, const op_count *op, int ops)
{
    printf("%s: %s nodes, %s of constants\n", file->meta ? "MetaGraphDef" : "GraphDef",
           with_commas(count_nodes(op, ops)), human_bytes((double)constant_bytes(file->graph)));
    for (int i = 0; hr_meta_graph_tag(file->meta, i); i++) printf("tag: %s\n", hr_meta_graph_tag(file->meta, i));
    print_ops(op, ops);
    print_placeholders(file->graph);
    print_variables(file->graph);
    print_signatures(file->meta);
}

/* ---- JSON ---- */

static void json_texts(json_line *line, const char *key, hr_node node, void (*put)(text_buffer *, hr_node))
{
    text_buffer text = {0};
    put(&text, node);
    json_view(line, key, (hr_view){text.data ? text.data : "", (int64_t)text.size});
    line->text.failed |= text.failed;
    text_free(&text);
}

static void show_as_json(const graph_file *file, const op_count *op, int ops, bool attributes)
{
    json_line line;
    json_begin(&line);
    json_text(&line, "kind", file->meta ? "MetaGraphDef" : "GraphDef");
    json_count(&line, "constant_bytes", constant_bytes(file->graph));
    json_count(&line, "trained_numbers", count_parameters(file->graph));
    json_open(&line, "ops", '{');
    for (int i = 0; i < ops; i++) json_count(&line, op[i].op, op[i].count);
    json_close(&line, '}');
    json_open(&line, "variables", '[');
    for (int i = 0; i < hr_graph_variables(file->graph); i++)
        json_text(&line, NULL, hr_graph_variable(file->graph, i)->name);
    json_close(&line, ']');
    json_open(&line, "nodes", '[');
    for (int32_t i = 0; i < hr_graph_size(file->graph); i++) {
        const hr_node node = {file->graph, i, 0};
        if (hr_node_hidden(node)) continue;
        json_open(&line, NULL, '{');
        json_text(&line, "name", hr_node_name(node));
        json_text(&line, "op", hr_node_op(node));
        json_texts(&line, "inputs", node, text_inputs);
        json_texts(&line, "outputs", node, text_outputs);
        if (attributes) json_texts(&line, "attributes", node, text_attributes);
        json_close(&line, '}');
    }
    json_close(&line, ']');
    json_end(&line);
}

/* ---- the command ---- */

static hr_status write_picture(const char *path, const text_buffer *text, hr_error *err)
{
    hr_output *out;
    if (is_standard_output(path))
        return fwrite(text->data, 1, text->size, stdout) == text->size ? HR_OK : output_error(err);
    HR_TRY(hr_output_open_with(path, &(hr_output_opts){.compression = HR_NONE}, &out, err));
    hr_output_write(out, text->data, text->size, NULL); /* a failure sticks */
    return hr_output_commit(out, err);
}

static hr_status show_pictures(const command_call *call, hr_graph *g, hr_error *err)
{
    const int depth = (int)flag_number(call, "depth", 0);
    for (int svg = 0; svg < 2; svg++) {
        const char *path = flag_text(call, svg ? "svg" : "dot");
        text_buffer text = {0};
        if (!path) continue;
        hr_status st = svg ? graph_as_svg(g, depth, &text, err) : graph_as_dot(g, depth, &text, err);
        if (st == HR_OK) st = write_picture(path, &text, err);
        text_free(&text);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_status shown_graph(const command_call *call, graph_file *file, hr_graph **out, hr_error *err)
{
    const char *name = flag_text(call, "function");
    HR_TRY(read_graph_file(call, file, err));
    const hr_function *f = name ? hr_function_named(file->graph, name) : NULL;
    *out = f ? hr_function_graph(f) : file->graph;
    if (name && !f)
        return hr_fail(err, HR_NOT_FOUND, "graph.function",
                       "--function: expected a function of the graph, got '%.100s'", name);
    return HR_OK;
}

static int graph_show_run(command_call *call)
{
    graph_file file = {NULL, NULL};
    op_count *op = NULL;
    int ops = 0;
    hr_graph *g = NULL;
    hr_error err = {0};
    hr_status st = shown_graph(call, &file, &g, &err);
    if (st == HR_OK) st = count_ops(g, &op, &ops, &err);
    const bool pictures = flag_given(call, "dot") || flag_given(call, "svg");
    if (st == HR_OK && pictures) {
        st = show_pictures(call, g, &err);
    } else if (st == HR_OK) {
        const graph_file shown = {g, g == file.graph ? file.meta : NULL};
        if (flag_given(call, "json"))
            show_as_json(&shown, op, ops, flag_given(call, "attributes"));
        else
            print_summary(&shown, op, ops);
        if (!flag_given(call, "json") && !flag_given(call, "summary")) print_nodes(g, flag_given(call, "attributes"));
    }
    hr_free(op);
    clear_graph_file(&file);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_SWITCH, "summary", 0, NULL, "leave the table of nodes out"},
    {FLAG_SWITCH, "attributes", 'a', NULL, "the attributes of the nodes, too"},
    {FLAG_TEXT, "function", 0, "NAME", "the nodes of this function of the graph instead"},
    {FLAG_TEXT, "dot", 0, "OUT", "write a picture for Graphviz instead; -: to standard output"},
    {FLAG_TEXT, "svg", 0, "OUT", "write a picture as SVG instead; -: to standard output"},
    {FLAG_COUNT, "depth", 0, "N", "in pictures, nodes whose names have the same first N parts are one box"},
    {FLAG_SWITCH, "json", 0, NULL, "all as one line of JSON"},
    TAG_SET_FLAG,
    {0},
};

const command command_graph_show = {
    .name = "graph show",
    .arguments = "FILE",
    .summary = "shows the nodes of a graph, as a table or a picture",
    .text =
        "Reads a GraphDef, a MetaGraphDef or a SavedModel, as bytes, or as text if the name ends in .pbtxt. Prints how "
        "many nodes of "
        "each op there are, the placeholders, variables and signatures, and a table of the nodes: inputs (^ before "
        "those that are only waited for), and types and shapes of outputs as far as they are known without running. "
        "In pictures, what a node needs is below it.",
    .examples = "  headrace graph show model.ckpt-1000.meta\n"
                "  headrace graph show frozen.pb --svg frozen.svg --depth 2\n"
                "  headrace graph show graph.pbtxt --json | jq '.ops'\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = graph_show_run,
};
