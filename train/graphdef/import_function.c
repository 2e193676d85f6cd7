/* FunctionDef: a function of a graph's library. Its types are those that it says; functions whose types are attributes
 * are refused. */
#include "train/graphdef/graphdef_internal.h"

#include <string.h>

typedef Headrace__Proto__OpDef__ArgDef proto_arg;

typedef struct function_import {
    const proto_function *from;
    hr_graph *body;
    const char **name; /* of each input */
    hr__nodes_import nodes;
} function_import;

static const char *function_import_name(const proto_function *from)
{
    return from->signature ? from->signature->name : "";
}

/* ---- inputs ---- */

static const Headrace__Proto__FunctionDef__ArgAttrs *attrs_of_input(const proto_function *from, size_t i)
{
    for (size_t j = 0; j < from->n_arg_attr; j++)
        if (from->arg_attr[j]->key == i) return from->arg_attr[j]->value;
    return NULL;
}

/* Of "_output_shapes", which a file may have for an input. */
static hr_shape shape_of_input(const hr_attr *attrs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(attrs[i].name, "_output_shapes") == 0 && attrs[i].kind == HR_ATTR_SHAPES && attrs[i].count == 1)
            return attrs[i].shapes[0];
    return HR_UNKNOWN_SHAPE;
}

static hr_status import_input(function_import *f, size_t i, hr_node *out, hr_error *err)
{
    const proto_arg *arg = f->from->signature->input_arg[i];
    const Headrace__Proto__FunctionDef__ArgAttrs *given = attrs_of_input(f->from, i);
    const size_t count = given ? given->n_attr : 0;
    hr_attr *attrs = hr__arena_get(&f->nodes.memory->arena, sizeof *attrs * (count + 1));
    if (!attrs) return hr_no_memory(err, "a function");
    for (size_t j = 0; j < count; j++) HR_TRY(hr__attr_of_message(f->nodes.memory, given->attr[j], 0, &attrs[j], err));
    if (arg->type == 0 || *arg->type_attr || *arg->number_attr || *arg->type_list_attr)
        return hr_fail(err, HR_UNIMPLEMENTED, "graphdef.function",
                       "input '%.60s': expected a type, got one that an attribute says", arg->name);
    *out = hr__function_input(f->body, (hr_dtype)arg->type, shape_of_input(attrs, count), arg->name, attrs, (int)count);
    if (f->body->error.code == HR_OK) return HR_OK;
    if (err) *err = f->body->error;
    return f->body->error.code;
}

static hr_status import_inputs(function_import *f, hr_error *err)
{
    const Headrace__Proto__OpDef *signature = f->from->signature;
    const size_t count = signature->n_input_arg;
    f->name = hr__arena_get(&f->nodes.memory->arena, sizeof *f->name * (count + 1));
    hr_node *inputs = hr__arena_get(&f->nodes.memory->arena, sizeof *inputs * (count + 1));
    if (!f->name || !inputs || count > INT32_MAX / 2) return hr_no_memory(err, "a function");
    for (size_t i = 0; i < count; i++) {
        f->name[i] = signature->input_arg[i]->name;
        HR_TRY(import_input(f, i, &inputs[i], err));
    }
    f->nodes.input_name = f->name;
    f->nodes.input = inputs;
    f->nodes.inputs = (int32_t)count;
    return HR_OK;
}

/* ---- results ---- */

static const char *result_text(const proto_function *from, const char *name)
{
    for (size_t i = 0; i < from->n_ret; i++)
        if (strcmp(from->ret[i]->key, name) == 0) return from->ret[i]->value;
    return NULL;
}

static hr_status import_results(function_import *f, hr_error *err)
{
    const Headrace__Proto__OpDef *signature = f->from->signature;
    hr_function *function = f->body->function;
    const size_t count = signature->n_output_arg;
    hr_node *results = hr__arena_get(&f->nodes.memory->arena, sizeof *results * (count + 1));
    if (!results) return hr_no_memory(err, "a function");
    for (size_t i = 0; i < count; i++) {
        const char *name = signature->output_arg[i]->name, *text = result_text(f->from, name);
        if (!text)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.function",
                           "expected a node for result '%.60s', got none", name);
        HR_TRY(hr__import_result(&f->nodes, text, false, &results[i]));
    }
    for (size_t i = 0; i < f->from->n_control_ret; i++) {
        hr_node node = {0};
        HR_TRY(hr__import_result(&f->nodes, f->from->control_ret[i]->value, true, &node));
        HR_TRY(hr__function_control(function, node, err));
    }
    if (hr_function_end(f->body, results, (int)count)) return HR_OK;
    if (err) *err = f->body->outer->error;
    return f->body->outer->error.code;
}

/* ---- all of it ---- */

static hr_status import_attrs(function_import *f, hr_error *err)
{
    hr_function *function = f->body->function;
    hr_attr *attrs = hr__arena_get(&f->body->arena, sizeof *attrs * (f->from->n_attr + 1));
    if (!attrs) return hr_no_memory(err, "a function");
    for (size_t i = 0; i < f->from->n_attr; i++) {
        HR_TRY(hr__attr_of_message(f->nodes.memory, f->from->attr[i], 0, &attrs[i], err));
        attrs[i].name = hr__arena_text(&f->body->arena, attrs[i].name, strlen(attrs[i].name));
        if (!attrs[i].name) return hr_no_memory(err, "a function");
        HR_TRY(hr__attr_copy(&f->body->arena, &attrs[i], err));
    }
    function->attrs = attrs;
    function->attr_count = (int)f->from->n_attr;
    return HR_OK;
}

static hr_status import_body(function_import *f, hr_error *err)
{
    HR_TRY(import_attrs(f, err));
    HR_TRY(import_inputs(f, err));
    HR_TRY(hr__import_nodes(&f->nodes));
    return import_results(f, err);
}

hr_status hr__import_function(hr_graph *g, const hr_graph_import_opts *opts, hr__import_memory *memory,
                              const proto_function *from, hr_error *err)
{
    function_import f = {.from = from};
    if (!from->signature || from->n_node_def > INT32_MAX / 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.function", "expected a function with a signature");
    HR_TRY(hr__function_import(g, from->signature->name, &f.body, err));
    f.nodes = (hr__nodes_import){.g = f.body,
                                 .opts = opts,
                                 .from = from->node_def,
                                 .count = (int32_t)from->n_node_def,
                                 .in_function = true,
                                 .memory = memory,
                                 .err = err};
    const hr_status st = import_body(&f, err);
    f.body->outer->building = NULL;
    hr__import_end(&f.nodes);
    if (st != HR_OK) hr_error_prefix(err, "function '%.100s': ", function_import_name(from));
    return st;
}
