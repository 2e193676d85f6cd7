/* Functions that take the value of a variable in place of its handle. Each is a copy for its caller alone, so it may be
 * changed as one variable after the other is frozen. What is within is a FunctionDef: inputs are texts, "input",
 * "node:output:0", "^node". */
#include "train/transforms/freeze_calls.h"

#include <stdio.h>
#include <string.h>

typedef Headrace__Proto__OpDef proto_signature;
typedef Headrace__Proto__OpDef__ArgDef proto_arg;
typedef Headrace__Proto__FunctionDef__Entry proto_result;
typedef Headrace__Proto__FunctionDef__ArgAttrsEntry proto_arg_attrs;

enum {
    DEEPEST = 64,      /* functions within each other */
    MOST_COPIES = 4096 /* in the library: each caller has one of its own, so they may double with each level */
};

struct hr__calling_op {
    const char *name;
    int first;
    const char *types, *function[2];
    bool loop;
};

static const hr__calling_op calling_ops[] = {
    {"While", 0, "T", {"cond", "body"}, true},
    {"StatelessWhile", 0, "T", {"cond", "body"}, true},
    {"If", 1, "Tin", {"then_branch", "else_branch"}, false},
    {"StatelessIf", 1, "Tin", {"then_branch", "else_branch"}, false},
    {"Case", 1, "Tin", {"branches"}, false},
    {"StatelessCase", 1, "Tin", {"branches"}, false},
    {"PartitionedCall", 0, "Tin", {"f"}, false},
    {"StatefulPartitionedCall", 0, "Tin", {"f"}, false},
};

const hr__calling_op *hr__calling_op_named(const char *op)
{
    for (size_t i = 0; i < sizeof calling_ops / sizeof *calling_ops; i++)
        if (strcmp(calling_ops[i].name, op) == 0) return &calling_ops[i];
    return NULL;
}

/* A variable on its way through functions. */
typedef struct freezing {
    hr__draft *d;
    const hr__frozen *v;
    int depth;
} freezing;

static hr_status freeze_attrs(const freezing *z, const hr__calling_op *op, proto_entry **attr, size_t attrs, int input,
                              hr_error *err);

/* ---- copies ---- */

/* Copies each thing of a list of pointers. NULL: no memory. */
static void *copy_list(hr__arena *arena, const void *list, size_t count, size_t size)
{
    void **copy = hr__arena_get(arena, sizeof *copy * (count + 1));
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = hr__arena_copy(arena, ((void *const *)list)[i], size))) return NULL;
    return copy;
}

static bool copy_nodes(hr__arena *arena, proto_function *f)
{
    f->node_def = copy_list(arena, f->node_def, f->n_node_def, sizeof **f->node_def);
    for (size_t i = 0; f->node_def && i < f->n_node_def; i++) {
        proto_node *n = f->node_def[i];
        n->attr = hr__arena_copy(arena, n->attr, sizeof *n->attr * n->n_attr);
        n->input = hr__arena_copy(arena, n->input, sizeof *n->input * n->n_input);
        if (!n->attr || !n->input) return false;
    }
    return f->node_def;
}

/* The parts that freezing changes are its own. NULL: no memory. */
static proto_function *copy_function(hr__arena *arena, const proto_function *from, char *name)
{
    proto_function *f = hr__arena_copy(arena, from, sizeof *f);
    proto_signature *s = hr__arena_copy(arena, from->signature, sizeof *s);
    if (!f || !s) return NULL;
    f->signature = s;
    s->name = name;
    s->input_arg = copy_list(arena, s->input_arg, s->n_input_arg, sizeof **s->input_arg);
    s->output_arg = copy_list(arena, s->output_arg, s->n_output_arg, sizeof **s->output_arg);
    f->ret = copy_list(arena, f->ret, f->n_ret, sizeof **f->ret);
    f->attr = hr__arena_copy(arena, f->attr, sizeof(proto_entry *) * f->n_attr);
    f->arg_attr = hr__arena_copy(arena, f->arg_attr, sizeof(proto_arg_attrs *) * f->n_arg_attr);
    return s->input_arg && s->output_arg && f->ret && f->attr && f->arg_attr && copy_nodes(arena, f) ? f : NULL;
}

static proto_function *function_named(const hr__draft *d, const char *name)
{
    for (size_t i = 0; d->message->library && i < d->message->library->n_function; i++)
        if (strcmp(d->message->library->function[i]->signature->name, name) == 0)
            return d->message->library->function[i];
    return NULL;
}

/* A function that one caller alone has: such a name is none of the source's. */
static bool is_own(const hr__draft *d, const char *name) { return !hr_function_named(d->source, name); }

/* The function of that name, or a copy of it that is in the library from now on. */
static hr_status own_function(hr__draft *d, const char *name, proto_function **out, hr_error *err)
{
    const size_t size = strlen(name) + 32;
    char *own = hr__arena_get(&d->arena, size);
    const proto_function *from = *out = function_named(d, name);
    if (!from) return hr_fail(err, HR_NOT_FOUND, "graph.function", "there is no function '%.100s'", name);
    if (is_own(d, name)) return HR_OK;
    Headrace__Proto__FunctionDefLibrary *library = d->message->library;
    if (library->n_function >= (size_t)d->source->function_count + MOST_COPIES)
        return hr_fail(err, HR_UNIMPLEMENTED, "transform.variable",
                       "function '%.100s': expected variables to be read by at most %d calls of functions, got more",
                       name, MOST_COPIES);
    proto_function **grown = hr__arena_get(&d->arena, sizeof *grown * (library->n_function + 1));
    if (!own || !grown) return hr__draft_no_memory(err);
    snprintf(own, size, "%s_frozen", name);
    for (size_t i = library->n_function; function_named(d, own); i++) snprintf(own, size, "%s_frozen_%zu", name, i);
    if (!(*out = copy_function(&d->arena, from, own))) return hr__draft_no_memory(err);
    memcpy(grown, library->function, sizeof *grown * library->n_function);
    grown[library->n_function++] = *out;
    library->function = grown;
    return HR_OK;
}

/* ---- attributes ---- */

static int entry_named(proto_entry *const *attr, size_t attrs, const char *name)
{
    for (size_t i = 0; i < attrs; i++)
        if (strcmp(attr[i]->key, name) == 0 && attr[i]->value) return (int)i;
    return -1;
}

/* The value of attribute i, which is then its own, with its list. */
static proto_attr *own_value(hr__arena *arena, proto_entry **attr, int i)
{
    proto_entry *entry = hr__arena_copy(arena, attr[i], sizeof *entry);
    proto_attr *value = hr__arena_copy(arena, attr[i]->value, sizeof *value);
    if (!entry || !value) return NULL;
    entry->value = value;
    attr[i] = entry;
    if (value->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_LIST) return value;
    value->list = hr__arena_copy(arena, value->list, sizeof *value->list);
    return value->list ? value : NULL;
}

static hr_status set_type(const freezing *z, proto_entry **attr, size_t attrs, const char *name, int which,
                          hr_error *err)
{
    const int i = entry_named(attr, attrs, name);
    proto_attr *value = i >= 0 ? own_value(&z->d->arena, attr, i) : NULL;
    if (i >= 0 && !value) return hr__draft_no_memory(err);
    if (!value || value->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_LIST || (size_t)which >= value->list->n_type)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "attribute '%s': expected a type for input %d", name,
                       which);
    value->list->type =
        hr__arena_copy(&z->d->arena, value->list->type, sizeof *value->list->type * value->list->n_type);
    if (!value->list->type) return hr__draft_no_memory(err);
    value->list->type[which] = (Headrace__Proto__DataType)z->v->dtype;
    return HR_OK;
}

/* Where there is a list of shapes. */
static hr_status set_shape(const freezing *z, proto_entry **attr, size_t attrs, const char *name, int which,
                           hr_error *err)
{
    const int i = entry_named(attr, attrs, name);
    if (i < 0 || attr[i]->value->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_LIST ||
        (size_t)which >= attr[i]->value->list->n_shape)
        return HR_OK;
    proto_attr *value = own_value(&z->d->arena, attr, i);
    if (!value) return hr__draft_no_memory(err);
    const size_t size = sizeof *value->list->shape * value->list->n_shape;
    value->list->shape = hr__arena_copy(&z->d->arena, value->list->shape, size);
    if (!value->list->shape) return hr__draft_no_memory(err);
    value->list->shape[which] = hr__shape_message(&z->d->arena, z->v->shape);
    return value->list->shape[which] ? HR_OK : hr__draft_no_memory(err);
}

/* Adds one; there is space for it. */
static hr_status add_attr(const freezing *z, proto_node *n, const hr_attr *attr, hr_error *err)
{
    hr_attr own = *attr;
    HR_TRY(hr__attr_copy(&z->d->arena, &own, err));
    n->attr[n->n_attr] = hr__attr_message(&z->d->arena, &own);
    return n->attr[n->n_attr++] ? HR_OK : hr__draft_no_memory(err);
}

/* Leaves the node with that attribute alone, or none, and space for three more. */
static hr_status keep_attr(const freezing *z, proto_node *n, const char *name, hr_error *err)
{
    const int i = entry_named(n->attr, n->n_attr, name);
    proto_entry **attr = hr__arena_get(&z->d->arena, sizeof *attr * 4);
    if (!attr) return hr__draft_no_memory(err);
    if (i >= 0) attr[0] = n->attr[i];
    n->attr = attr;
    n->n_attr = i >= 0;
    return HR_OK;
}

/* ---- what is in a function ---- */

/* Texts that stand for the variable. */
typedef struct handles {
    const char **text;
    int count, capacity;
} handles;

static hr_status handles_add(handles *h, const char *text, hr_error *err)
{
    if (!text) return hr__draft_no_memory(err);
    HR_TRY(hr__grow(&h->text, h->count, &h->capacity, sizeof *h->text, err));
    h->text[h->count++] = text;
    return HR_OK;
}

/* "node:port:index" */
static char *output_text(hr__arena *arena, const char *node, const char *port, int index)
{
    const size_t size = strlen(node) + strlen(port) + 16;
    char *text = hr__arena_get(arena, size);
    if (text) snprintf(text, size, "%s:%s:%d", node, port, index);
    return text;
}

/* Whoever takes "node:value:0" takes "node:output:0". */
static hr_status rename_output(hr__arena *arena, proto_function *f, const char *node, hr_error *err)
{
    const char *old = output_text(arena, node, "value", 0);
    char *now = output_text(arena, node, "output", 0);
    if (!old || !now) return hr__draft_no_memory(err);
    for (size_t i = 0; i < f->n_node_def; i++)
        for (size_t j = 0; j < f->node_def[i]->n_input; j++)
            if (strcmp(f->node_def[i]->input[j], old) == 0) f->node_def[i]->input[j] = now;
    for (size_t i = 0; i < f->n_ret; i++)
        if (strcmp(f->ret[i]->value, old) == 0) f->ret[i]->value = now;
    return HR_OK;
}

static hr_status become(const freezing *z, proto_node *n, const char *op, const char *kept, const char *type,
                        hr_error *err)
{
    n->op = (char *)(uintptr_t)op;
    HR_TRY(keep_attr(z, n, kept, err));
    return add_attr(z, n, &HR_TYPE_ATTR(type, z->v->dtype), err);
}

static bool name_is_taken(const proto_function *f, const char *name)
{
    for (size_t i = 0; i < f->n_node_def; i++)
        if (strcmp(f->node_def[i]->name, name) == 0) return true;
    for (size_t i = 0; i < f->signature->n_input_arg; i++)
        if (strcmp(f->signature->input_arg[i]->name, name) == 0) return true;
    return false;
}

/* A new scalar 0 of type int32. Gives its name; NULL: no memory. */
static const char *add_zero(const freezing *z, proto_function *f, const proto_node *n)
{
    const int32_t axis = 0;
    const hr_tensor zero = hr_tensor_of(HR_INT32, HR_SCALAR, &axis);
    hr__arena *arena = &z->d->arena;
    const size_t size = strlen(n->name) + 32;
    char *name = hr__arena_get(arena, size);
    proto_node *made = hr__arena_get(arena, sizeof *made);
    proto_node **grown = hr__arena_get(arena, sizeof *grown * (f->n_node_def + 1));
    if (!name || !made || !grown) return NULL;
    snprintf(name, size, "%s/axis", n->name);
    for (int i = 1; name_is_taken(f, name); i++) snprintf(name, size, "%s/axis_%d", n->name, i);
    headrace__proto__node_def__init(made);
    made->name = name;
    made->op = (char *)(uintptr_t) "Const";
    made->device = n->device;
    if (keep_attr(z, made, "", NULL) != HR_OK) return NULL;
    if (add_attr(z, made, &HR_TYPE_ATTR("dtype", HR_INT32), NULL) != HR_OK) return NULL;
    if (add_attr(z, made, &HR_TENSOR_ATTR("value", &zero), NULL) != HR_OK) return NULL;
    if (f->n_node_def) memcpy(grown, f->node_def, sizeof *grown * f->n_node_def);
    grown[f->n_node_def++] = made;
    f->node_def = grown;
    return name;
}

/* ResourceGather: GatherV2 along axis 0. */
static hr_status become_gather(const freezing *z, proto_function *f, proto_node *n, hr_error *err)
{
    const int dims = entry_named(n->attr, n->n_attr, "batch_dims");
    if (dims >= 0 && n->attr[dims]->value->i != 0)
        return hr_fail(err, HR_UNIMPLEMENTED, "transform.variable", "node '%.100s': expected batch_dims 0, got %lld",
                       n->name, (long long)n->attr[dims]->value->i);
    const char *zero = add_zero(z, f, n);
    char **input = hr__arena_get(&z->d->arena, sizeof *input * (n->n_input + 1));
    if (!zero || !input) return hr__draft_no_memory(err);
    memcpy(input, n->input, sizeof *input * 2);
    input[2] = output_text(&z->d->arena, zero, "output", 0);
    if (!input[2]) return hr__draft_no_memory(err);
    memcpy(input + 3, n->input + 2, sizeof *input * (n->n_input - 2));
    n->input = input;
    n->n_input++;
    HR_TRY(become(z, n, "GatherV2", "Tindices", "Tparams", err));
    return add_attr(z, n, &HR_TYPE_ATTR("Taxis", HR_INT32), err);
}

static hr_status freeze_refuse(const freezing *z, const proto_function *f, const proto_node *n, hr_error *err)
{
    return hr_fail(
        err, HR_UNIMPLEMENTED, "transform.variable",
        "variable '%.100s': expected reads alone, got node '%.100s' (%.60s) of function '%.100s' that takes it",
        z->v->name, n->name, n->op, f->signature->name);
}

/* A node that takes the variable as its input `i`. */
static hr_status freeze_node(const freezing *z, proto_function *f, proto_node *n, int i, handles *h, hr_error *err)
{
    hr__arena *arena = &z->d->arena;
    const hr__calling_op *calling = hr__calling_op_named(n->op);
    if (calling) {
        HR_TRY(freeze_attrs(z, calling, n->attr, n->n_attr, i, err));
        return calling->loop ? handles_add(h, output_text(arena, n->name, "output", i), err) : HR_OK;
    }
    if (strcmp(n->op, "Identity") == 0) {
        HR_TRY(become(z, n, "Identity", "", "T", err));
        return handles_add(h, output_text(arena, n->name, "output", 0), err);
    }
    if (i == 0 && strcmp(n->op, "ReadVariableOp") == 0) {
        HR_TRY(become(z, n, "Identity", "", "T", err));
        return rename_output(arena, f, n->name, err);
    }
    if (i == 0 && strcmp(n->op, "VariableShape") == 0) return become(z, n, "Shape", "out_type", "T", err);
    if (i == 0 && strcmp(n->op, "ResourceGather") == 0 && n->n_input >= 2) return become_gather(z, f, n, err);
    if (i == 0 && strcmp(n->op, "ResourceGatherNd") == 0) return become(z, n, "GatherNd", "Tindices", "Tparams", err);
    return freeze_refuse(z, f, n, err);
}

static hr_status freeze_nodes(const freezing *z, proto_function *f, handles *h, hr_error *err)
{
    for (int k = 0; k < h->count; k++)
        for (size_t i = 0, count = f->n_node_def; i < count; i++)
            for (size_t j = 0; j < f->node_def[i]->n_input; j++)
                if (strcmp(f->node_def[i]->input[j], h->text[k]) == 0)
                    HR_TRY(freeze_node(z, f, f->node_def[i], (int)j, h, err));
    return HR_OK;
}

/* The body of a loop hands the variable on as its result of the same number. */
static hr_status freeze_results(const freezing *z, const proto_function *f, const handles *h, int result, hr_error *err)
{
    bool handed_on = false;
    for (size_t i = 0; i < f->n_ret && i < f->signature->n_output_arg; i++) {
        for (int k = 0; k < h->count; k++) {
            if (strcmp(f->ret[i]->value, h->text[k]) != 0) continue;
            if ((int)i != result) goto refuse;
            handed_on = true;
            f->signature->output_arg[i]->type = (Headrace__Proto__DataType)z->v->dtype;
        }
    }
    if (handed_on || result < 0) return HR_OK;
refuse:
    return hr_fail(err, HR_UNIMPLEMENTED, "transform.variable",
                   "variable '%.100s': expected function '%.100s' to read it, or to hand it on from turn to turn, got "
                   "one with the variable among its results",
                   z->v->name, f->signature->name);
}

/* The function is told of a value, in all places where it may be told of a handle. */
static hr_status freeze_input(const freezing *z, proto_function *f, int input, hr_error *err)
{
    proto_arg *arg = f->signature->input_arg[input];
    size_t kept = 0;
    arg->type = (Headrace__Proto__DataType)z->v->dtype;
    arg->n_handle_data = 0;
    arg->experimental_full_type = NULL;
    for (size_t i = 0; i < f->n_arg_attr; i++)
        if (f->arg_attr[i]->key != (uint32_t)input) f->arg_attr[kept++] = f->arg_attr[i];
    f->n_arg_attr = kept;
    return set_shape(z, f->attr, f->n_attr, "_input_shapes", input, err);
}

/* `name`: what the caller calls, which gets the name of the copy. `result`: that of a loop's body; -1: none. */
static hr_status freeze_function(const freezing *z, char **name, int input, int result, hr_error *err)
{
    proto_function *f;
    handles h = {0};
    if (z->depth > DEEPEST)
        return hr_fail(err, HR_UNIMPLEMENTED, "transform.variable",
                       "variable '%.100s': expected at most %d functions within each other, function '%.100s' calls "
                       "itself",
                       z->v->name, DEEPEST, *name);
    HR_TRY(own_function(z->d, *name, &f, err));
    if ((size_t)input >= f->signature->n_input_arg)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.function", "function '%.100s': expected an input %d", *name,
                       input);
    *name = f->signature->name;
    hr_status st = handles_add(&h, f->signature->input_arg[input]->name, err);
    if (st == HR_OK) st = freeze_input(z, f, input, err);
    if (st == HR_OK) st = freeze_nodes(z, f, &h, err);
    if (st == HR_OK) st = freeze_results(z, f, &h, result, err);
    hr_free(h.text);
    return st;
}

/* ---- who calls them ---- */

/* One function, or a list of them. */
static hr_status freeze_called(const freezing *z, proto_attr *value, int input, int result, hr_error *err)
{
    hr__arena *arena = &z->d->arena;
    if (value->value_case == HEADRACE__PROTO__ATTR_VALUE__VALUE_FUNC) {
        value->func = hr__arena_copy(arena, value->func, sizeof *value->func);
        return value->func ? freeze_function(z, &value->func->name, input, result, err) : hr__draft_no_memory(err);
    }
    if (value->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_LIST) return HR_OK;
    value->list->func = copy_list(arena, value->list->func, value->list->n_func, sizeof **value->list->func);
    if (!value->list->func) return hr__draft_no_memory(err);
    for (size_t i = 0; i < value->list->n_func; i++)
        HR_TRY(freeze_function(z, &value->list->func[i]->name, input, result, err));
    return HR_OK;
}

static hr_status freeze_attrs(const freezing *z, const hr__calling_op *op, proto_entry **attr, size_t attrs, int input,
                              hr_error *err)
{
    const freezing within = {z->d, z->v, z->depth + 1};
    const int which = input - op->first;
    HR_TRY(set_type(z, attr, attrs, op->types, which, err));
    if (op->loop) HR_TRY(set_shape(z, attr, attrs, "output_shapes", which, err));
    if (op->loop) HR_TRY(set_shape(z, attr, attrs, "_output_shapes", which, err));
    for (int i = 0; i < 2 && op->function[i]; i++) {
        const int at = entry_named(attr, attrs, op->function[i]);
        proto_attr *value = at >= 0 ? own_value(&z->d->arena, attr, at) : NULL;
        if (at >= 0 && !value) return hr__draft_no_memory(err);
        if (value) HR_TRY(freeze_called(&within, value, which, op->loop && i == 1 ? which : -1, err));
    }
    return HR_OK;
}

hr_status hr__freeze_call(hr__draft *d, const hr__frozen *v, const hr__calling_op *op, proto_entry **attr, int attrs,
                          int input, int *output, hr_error *err)
{
    const freezing z = {d, v, 0};
    *output = op->loop ? input : -1;
    return freeze_attrs(&z, op, attr, (size_t)attrs, input, err);
}
