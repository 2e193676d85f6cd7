/* A function as FunctionDef. */
#include "train/graphdef/graphdef_internal.h"

#include <stdio.h>
#include <string.h>

typedef Headrace__Proto__OpDef proto_signature;
typedef Headrace__Proto__OpDef__ArgDef proto_arg;
typedef Headrace__Proto__FunctionDef__Entry proto_result;
typedef Headrace__Proto__FunctionDef__ArgAttrsEntry proto_arg_attrs;

static proto_arg *arg_message(hr__arena *arena, const char *name, hr_dtype dtype)
{
    proto_arg *m = hr__arena_get(arena, sizeof *m);
    if (!m) return NULL;
    headrace__proto__op_def__arg_def__init(m);
    m->name = (char *)(uintptr_t)name;
    m->type = (Headrace__Proto__DataType)dtype;
    return m;
}

static char *result_name(hr__arena *arena, const char *what, int i)
{
    char name[32];
    const int size = snprintf(name, sizeof name, "%s_%d", what, i);
    return hr__arena_text(arena, name, (size_t)size);
}

static proto_result *result_message(hr__arena *arena, char *name, char *value)
{
    proto_result *m = hr__arena_get(arena, sizeof *m);
    if (!m || !name || !value) return NULL;
    headrace__proto__function_def__entry__init(m);
    m->key = name;
    m->value = value;
    return m;
}

/* ---- inputs ---- */

/* What an input's placeholder has besides its type and shape. */
static proto_arg_attrs *arg_attrs(hr__arena *arena, int number, const hr__node *n)
{
    proto_arg_attrs *m = hr__arena_get(arena, sizeof *m);
    Headrace__Proto__FunctionDef__ArgAttrs *attrs = hr__arena_get(arena, sizeof *attrs);
    if (!m || !attrs) return NULL;
    headrace__proto__function_def__arg_attrs_entry__init(m);
    headrace__proto__function_def__arg_attrs__init(attrs);
    m->key = (uint32_t)number;
    m->value = attrs;
    attrs->attr = hr__arena_get(arena, sizeof *attrs->attr * (size_t)(n->attrs + 1));
    for (int i = n->sig->attrs; attrs->attr && i < n->attrs; i++)
        if (!(attrs->attr[attrs->n_attr++] = hr__attr_message(arena, &n->attr[i]))) return NULL;
    return attrs->attr ? m : NULL;
}

static bool put_inputs(hr__arena *arena, const hr__written *w, proto_function *m)
{
    const hr_function *f = w->function;
    proto_signature *s = m->signature;
    s->input_arg = hr__arena_get(arena, sizeof *s->input_arg * (size_t)(f->inputs + 1));
    m->arg_attr = hr__arena_get(arena, sizeof *m->arg_attr * (size_t)(f->inputs + 1));
    for (int i = 0; s->input_arg && m->arg_attr && i < f->inputs; i++) {
        const hr__node *n = hr__node_of(w->input[i]);
        if (!(s->input_arg[s->n_input_arg++] = arg_message(arena, n->name, n->type[0]))) return false;
        if (n->attrs > n->sig->attrs && !(m->arg_attr[m->n_arg_attr++] = arg_attrs(arena, i, n))) return false;
    }
    return s->input_arg && m->arg_attr;
}

/* ---- results ---- */

static bool put_results(hr__arena *arena, const hr__written *w, proto_function *m)
{
    const hr_function *f = w->function;
    proto_signature *s = m->signature;
    s->output_arg = hr__arena_get(arena, sizeof *s->output_arg * (size_t)(f->outputs + 1));
    m->ret = hr__arena_get(arena, sizeof *m->ret * (size_t)(f->outputs + 1));
    for (int i = 0; s->output_arg && m->ret && i < f->outputs; i++) {
        char *name = result_name(arena, "result", i);
        s->output_arg[s->n_output_arg++] = arg_message(arena, name, hr_node_dtype(f->output[i]));
        m->ret[m->n_ret++] = result_message(arena, name, hr__input_text(arena, w, hr__written_output(w, i)));
        if (!s->output_arg[i] || !m->ret[i]) return false;
    }
    return s->output_arg && m->ret;
}

static bool put_controls(hr__arena *arena, const hr__written *w, proto_function *m)
{
    const hr_function *f = w->function;
    proto_signature *s = m->signature;
    s->control_output = hr__arena_get(arena, sizeof *s->control_output * (size_t)(f->controls + 1));
    m->control_ret = hr__arena_get(arena, sizeof *m->control_ret * (size_t)(f->controls + 1));
    for (int i = 0; s->control_output && m->control_ret && i < f->controls; i++) {
        char *name = result_name(arena, "control", i);
        s->control_output[s->n_control_output++] = name;
        m->control_ret[m->n_control_ret] =
            result_message(arena, name, (char *)(uintptr_t)hr_node_name(hr__written_control(w, i)));
        if (!name || !m->control_ret[m->n_control_ret++]) return false;
    }
    s->is_stateful = f->controls > 0;
    return s->control_output && m->control_ret;
}

static bool put_attrs(hr__arena *arena, const hr_function *f, proto_function *m)
{
    m->attr = hr__arena_get(arena, sizeof *m->attr * (size_t)(f->attr_count + 1));
    for (int i = 0; m->attr && i < f->attr_count; i++)
        if (!(m->attr[m->n_attr++] = hr__attr_message(arena, &f->attrs[i]))) return false;
    return m->attr != NULL;
}

static proto_function *function_message(hr__arena *arena, const hr_graph_export_opts *opts, const hr__written *w)
{
    proto_function *m = hr__arena_get(arena, sizeof *m);
    proto_signature *signature = hr__arena_get(arena, sizeof *signature);
    if (!m || !signature) return NULL;
    headrace__proto__function_def__init(m);
    headrace__proto__op_def__init(signature);
    m->signature = signature;
    signature->name = (char *)(uintptr_t)w->function->name;
    m->node_def = hr__node_messages(arena, opts, w, &m->n_node_def);
    if (!m->node_def) return NULL;
    return put_inputs(arena, w, m) && put_results(arena, w, m) && put_controls(arena, w, m) &&
                   put_attrs(arena, w->function, m)
               ? m
               : NULL;
}

hr_status hr__function_message(hr__arena *arena, const hr_graph_export_opts *opts, const hr_function *f,
                               proto_function **out, hr_error *err)
{
    hr__written w;
    HR_TRY(hr__written_begin(&w, f->body, f, err));
    *out = function_message(arena, opts, &w);
    hr__written_end(&w);
    return *out ? HR_OK : hr_no_memory(err, "a graph");
}
