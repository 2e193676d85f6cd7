/* SavedObjectGraph: the objects of a SavedModel as bytes, with the signatures of their functions. */
#include "proto/meta_graph.pb-c.h"
#include "train/graph/graph_internal.h"
#include "train/graphdef/graphdef_internal.h"
#include "train/models/saved_form.h"

typedef Headrace__Proto__SavedObjectGraph proto_saved_graph;
typedef Headrace__Proto__SavedObject proto_saved;
typedef Headrace__Proto__SavedObject__ObjectReference proto_known;
typedef Headrace__Proto__SavedObject__SlotVariableReference proto_slot;
typedef Headrace__Proto__StructuredValue proto_value;
typedef Headrace__Proto__PairValue proto_pair;
typedef Headrace__Proto__FunctionSpec proto_spec;
typedef Headrace__Proto__SavedConcreteFunction proto_concrete;
typedef Headrace__Proto__SavedConcreteFunctionEntry proto_concrete_entry;

typedef struct object_writer {
    hr__arena arena;
    const hr__objects *o;
    const hr__saved_graph *s;
    const hr__map *variable;
    proto_saved_graph graph;
    const char *unknown; /* what a function uses that is no object; NULL: nothing */
} object_writer;

/* A new message in the arena, or a return of NULL. */
#define NEW(pointer, init)                                                                                             \
    do {                                                                                                               \
        (pointer) = hr__arena_get(&w->arena, sizeof *(pointer));                                                       \
        if (!(pointer)) return NULL;                                                                                   \
        headrace__proto__##init##__init(pointer);                                                                      \
    } while (0)
/* Space for `count` pointers. */
#define NEW_LIST(list, count)                                                                                          \
    do {                                                                                                               \
        (list) = hr__arena_get(&w->arena, sizeof *(list) * ((size_t)(count) + 1));                                     \
        if (!(list)) return NULL;                                                                                      \
    } while (0)

static char *text_of(const char *text) { return (char *)(uintptr_t)text; }

/* ---- values of a structure ---- */

static proto_value *value_none(object_writer *w)
{
    proto_value *v;
    NEW(v, structured_value);
    v->kind_case = HEADRACE__PROTO__STRUCTURED_VALUE__KIND_NONE_VALUE;
    NEW(v->none_value, none_value);
    return v;
}

static proto_value *value_bool(object_writer *w, bool is)
{
    proto_value *v;
    NEW(v, structured_value);
    v->kind_case = HEADRACE__PROTO__STRUCTURED_VALUE__KIND_BOOL_VALUE;
    v->bool_value = is;
    return v;
}

static proto_value *value_text(object_writer *w, const char *text)
{
    proto_value *v;
    NEW(v, structured_value);
    v->kind_case = HEADRACE__PROTO__STRUCTURED_VALUE__KIND_STRING_VALUE;
    v->string_value = text_of(text);
    return v;
}

static proto_value *value_spec(object_writer *w, const char *name, hr_node node)
{
    proto_value *v;
    NEW(v, structured_value);
    v->kind_case = HEADRACE__PROTO__STRUCTURED_VALUE__KIND_TENSOR_SPEC_VALUE;
    NEW(v->tensor_spec_value, tensor_spec);
    v->tensor_spec_value->name = text_of(name);
    v->tensor_spec_value->dtype = (Headrace__Proto__DataType)hr_node_dtype(node);
    v->tensor_spec_value->shape = hr__shape_message(&w->arena, hr_node_shape(node));
    return v->tensor_spec_value->shape ? v : NULL;
}

/* A tuple or a list of `count` values, all of which must be there. */
static proto_value *value_all(object_writer *w, bool tuple, proto_value *const *values, int count)
{
    proto_value *v;
    Headrace__Proto__ValueList *list;
    NEW(v, structured_value);
    NEW(list, value_list);
    NEW_LIST(list->values, count);
    v->kind_case = tuple ? HEADRACE__PROTO__STRUCTURED_VALUE__KIND_TUPLE_VALUE
                         : HEADRACE__PROTO__STRUCTURED_VALUE__KIND_LIST_VALUE;
    if (tuple)
        v->tuple_value = list;
    else
        v->list_value = list;
    for (int i = 0; i < count; i++)
        if (!(list->values[list->n_values++] = values[i])) return NULL;
    return v;
}

static proto_pair *value_pair(object_writer *w, const char *key, proto_value *value)
{
    proto_pair *p;
    NEW(p, pair_value);
    p->key = text_of(key);
    p->value = value;
    return value ? p : NULL;
}

/* Specs of `count` nodes by their keys; the nodes of a function's inputs or outputs, in its order. */
static proto_value *value_dict(object_writer *w, int count, hr_node (*node)(const hr_function *f, int i),
                               const hr_function *f, const char *(*key)(const hr__saved_graph *s, int i))
{
    proto_value *v;
    NEW(v, structured_value);
    NEW(v->dict_value, dict_value);
    NEW_LIST(v->dict_value->fields, count);
    v->kind_case = HEADRACE__PROTO__STRUCTURED_VALUE__KIND_DICT_VALUE;
    for (int i = 0; i < count; i++) {
        const char *name = key(w->s, i);
        proto_pair *field = value_pair(w, name, value_spec(w, name, node(f, i)));
        if (!(v->dict_value->fields[v->dict_value->n_fields++] = field)) return NULL;
    }
    return v;
}

/* The spec of one, or a list of those of several, or a tuple. */
static proto_value *value_specs(object_writer *w, bool tuple, int count, hr_node (*node)(const hr_function *f, int i),
                                const hr_function *f, const char *(*key)(const hr__saved_graph *s, int i))
{
    proto_value **specs;
    NEW_LIST(specs, count);
    for (int i = 0; i < count; i++) specs[i] = value_spec(w, key(w->s, i), node(f, i));
    return count == 1 ? specs[0] : value_all(w, tuple, specs, count);
}

/* ---- functions ---- */

static const char *sorted_input(const hr__saved_graph *s, int i) { return hr_model_input_name(s->m, s->input[i]); }
static const char *sorted_output(const hr__saved_graph *s, int i) { return hr_model_output_name(s->m, s->output[i]); }
static const char *own_input(const hr__saved_graph *s, int i) { return hr_model_input_name(s->m, i); }
static const char *own_output(const hr__saved_graph *s, int i) { return hr_model_output_name(s->m, i); }

/* Of a signature: ((), {name: spec}). Of a cost: ((), {}). Of a call: ((inputs, training, mask), {}). */
static proto_value *input_signature(object_writer *w, const hr__saved_function *of)
{
    const int inputs = w->s->m->inputs.count;
    if (of->use == HR__SAVED_SIGNATURE || of->use == HR__SAVED_COST) {
        const int named = of->use == HR__SAVED_SIGNATURE ? inputs : 0;
        proto_value *both[2] = {value_all(w, true, NULL, 0),
                                value_dict(w, named, hr_function_input_at, of->f, sorted_input)};
        return value_all(w, true, both, 2);
    }
    proto_value *arguments[3] = {value_specs(w, of->tuple, inputs, hr_function_input_at, of->f, own_input),
                                 value_bool(w, of->training), value_none(w)};
    proto_value *both[2] = {value_all(w, true, arguments, 3), value_dict(w, 0, hr_function_input_at, of->f, own_input)};
    return value_all(w, true, both, 2);
}

static proto_value *output_signature(object_writer *w, const hr__saved_function *of)
{
    const int outputs = w->s->m->outputs.count;
    if (of->use == HR__SAVED_COST) return value_spec(w, "loss", hr_function_output_at(of->f, 0));
    if (of->use == HR__SAVED_SIGNATURE) return value_dict(w, outputs, hr_function_output_at, of->f, sorted_output);
    proto_value *specs = value_specs(w, false, outputs, hr_function_output_at, of->f, own_output);
    if (of->use == HR__SAVED_CALL) return specs;
    proto_value *cost[1] = {NULL};
    const bool costs = hr_function_outputs(of->f) > outputs;
    if (costs && !(cost[0] = value_spec(w, "loss", hr_function_output_at(of->f, outputs)))) return NULL;
    proto_value *both[2] = {specs, value_all(w, false, cost, costs)};
    return value_all(w, true, both, 2);
}

/* What the function takes besides what it is given: variables, by the numbers of their objects. */
static bool put_bound(object_writer *w, const hr_function *f, proto_concrete *to)
{
    to->bound_inputs = hr__arena_get(&w->arena, sizeof *to->bound_inputs * ((size_t)f->inputs + 1));
    for (int i = f->asked; to->bound_inputs && i < f->inputs; i++) {
        const hr_variable_info *v = hr_variable_of(hr__capture_outer(f->input[i]));
        const int object = v ? hr__map_index(w->variable, v->name) : -1;
        if (object < 0) {
            w->unknown = hr_node_name(f->input[i]);
            return false;
        }
        to->bound_inputs[to->n_bound_inputs++] = object;
    }
    return to->bound_inputs != NULL;
}

static proto_concrete_entry *concrete(object_writer *w, const hr__saved_function *of)
{
    proto_concrete_entry *entry;
    NEW(entry, saved_concrete_function_entry);
    NEW(entry->value, saved_concrete_function);
    entry->key = text_of(hr_function_name(of->f));
    entry->value->canonicalized_input_signature = input_signature(w, of);
    entry->value->output_signature = output_signature(w, of);
    const bool whole = entry->value->canonicalized_input_signature && entry->value->output_signature;
    return whole && put_bound(w, of->f, entry->value) ? entry : NULL;
}

/* ---- what a caller is to know of arguments: Python's FullArgSpec ---- */

static proto_value *texts(object_writer *w, const char *const *text, int count)
{
    proto_value **values;
    NEW_LIST(values, count);
    for (int i = 0; i < count; i++) values[i] = value_text(w, text[i]);
    return value_all(w, false, values, count);
}

static proto_spec *spec_of(object_writer *w, proto_value *args, proto_value *defaults, proto_value *kwonlyargs)
{
    proto_spec *spec;
    Headrace__Proto__NamedTupleValue *tuple;
    NEW(spec, function_spec);
    NEW(spec->fullargspec, structured_value);
    NEW(tuple, named_tuple_value);
    spec->fullargspec->kind_case = HEADRACE__PROTO__STRUCTURED_VALUE__KIND_NAMED_TUPLE_VALUE;
    spec->fullargspec->named_tuple_value = tuple;
    proto_pair *pairs[] = {value_pair(w, "args", args),
                           value_pair(w, "varargs", value_none(w)),
                           value_pair(w, "varkw", value_none(w)),
                           value_pair(w, "defaults", defaults),
                           value_pair(w, "kwonlyargs", kwonlyargs),
                           value_pair(w, "kwonlydefaults", value_none(w)),
                           value_pair(w, "annotations", value_dict(w, 0, NULL, NULL, NULL))};
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    tuple->name = text_of("FullArgSpec");
    NEW_LIST(tuple->values, PAIRS);
    for (int i = 0; i < PAIRS; i++)
        if (!(tuple->values[tuple->n_values++] = pairs[i])) return NULL;
    spec->input_signature = value_none(w);
    return spec->input_signature ? spec : NULL;
}

static proto_spec *call_spec(object_writer *w)
{
    static const char *const args[] = {"inputs", "training", "mask"};
    proto_value *defaults[2] = {value_bool(w, false), value_none(w)};
    return spec_of(w, texts(w, args, 3), value_all(w, true, defaults, 2), texts(w, NULL, 0));
}

static bool put_function(object_writer *w, const hr__object *at, proto_saved *to)
{
    Headrace__Proto__SavedFunction *f = hr__arena_get(&w->arena, sizeof *f);
    if (!f) return false;
    headrace__proto__saved_function__init(f);
    to->kind_case = HEADRACE__PROTO__SAVED_OBJECT__KIND_FUNCTION;
    to->function = f;
    f->function_spec =
        at->use == HR__SAVED_COST ? spec_of(w, texts(w, NULL, 0), value_none(w), texts(w, NULL, 0)) : call_spec(w);
    f->concrete_functions = hr__arena_get(&w->arena, sizeof *f->concrete_functions * HR__SAVED_FUNCTIONS);
    for (int i = 0; f->concrete_functions && i < w->s->functions; i++)
        if (w->s->function[i].use == at->use)
            f->concrete_functions[f->n_concrete_functions++] = text_of(hr_function_name(w->s->function[i].f));
    return f->function_spec && f->concrete_functions;
}

static bool put_signature(object_writer *w, proto_saved *to)
{
    const int inputs = w->s->m->inputs.count;
    Headrace__Proto__SavedBareConcreteFunction *f = hr__arena_get(&w->arena, sizeof *f);
    char **keywords = hr__arena_get(&w->arena, sizeof *keywords * ((size_t)inputs + 1));
    if (!f || !keywords) return false;
    headrace__proto__saved_bare_concrete_function__init(f);
    to->kind_case = HEADRACE__PROTO__SAVED_OBJECT__KIND_BARE_CONCRETE_FUNCTION;
    to->bare_concrete_function = f;
    f->concrete_function_name = text_of(hr_function_name(w->s->function[0].f));
    for (int i = 0; i < inputs; i++) keywords[i] = text_of(sorted_input(w->s, i));
    f->argument_keywords = keywords;
    f->n_argument_keywords = (size_t)inputs;
    f->allowed_positional_arguments = 1;
    f->function_spec = spec_of(w, texts(w, NULL, 0), value_none(w), texts(w, (const char *const *)keywords, inputs));
    return f->function_spec != NULL;
}

/* ---- objects ---- */

static bool put_variable(object_writer *w, const hr__object *at, proto_saved *to)
{
    Headrace__Proto__SavedVariable *v = hr__arena_get(&w->arena, sizeof *v);
    if (!v) return false;
    headrace__proto__saved_variable__init(v);
    to->kind_case = HEADRACE__PROTO__SAVED_OBJECT__KIND_VARIABLE;
    to->variable = v;
    v->name = at->title;
    v->dtype = (Headrace__Proto__DataType)at->dtype;
    v->shape = hr__shape_message(&w->arena, at->shape);
    v->trainable = at->trainable;
    return v->shape != NULL;
}

static bool put_user_object(object_writer *w, const hr__object *at, proto_saved *to)
{
    Headrace__Proto__SavedUserObject *user = hr__arena_get(&w->arena, sizeof *user);
    Headrace__Proto__Version *version = hr__arena_get(&w->arena, sizeof *version);
    if (!user || !version) return false;
    headrace__proto__saved_user_object__init(user);
    headrace__proto__version__init(version);
    to->kind_case = HEADRACE__PROTO__SAVED_OBJECT__KIND_USER_OBJECT;
    to->user_object = user;
    user->identifier = text_of(at->identifier ? at->identifier : "_generic_user_object");
    user->version = version;
    version->producer = strstr(user->identifier, "ptimizer") ? 2 : 1;
    version->min_consumer = 1;
    return true;
}

static bool put_object(object_writer *w, int i)
{
    const hr__object *at = &w->o->at.at[i];
    proto_saved *to = hr__arena_get(&w->arena, sizeof *to);
    if (!to) return false;
    headrace__proto__saved_object__init(to);
    w->graph.nodes[w->graph.n_nodes++] = to;
    if (at->use == HR__SAVED_SIGNATURE) return put_signature(w, to);
    if (at->use) return put_function(w, at, to);
    return at->title ? put_variable(w, at, to) : put_user_object(w, at, to);
}

/* ---- how they know each other ---- */

static bool put_known(object_writer *w, int from, int to, const char *name)
{
    proto_saved *object = w->graph.nodes[from];
    proto_known *known = hr__arena_get(&w->arena, sizeof *known);
    if (!known) return false;
    headrace__proto__saved_object__object_reference__init(known);
    known->node_id = to;
    known->local_name = text_of(name);
    object->children[object->n_children++] = known;
    return true;
}

static bool put_slot(object_writer *w, const hr__object *slot, int number)
{
    proto_saved *optimizer = w->graph.nodes[slot->parent];
    proto_slot *of = hr__arena_get(&w->arena, sizeof *of);
    if (!of) return false;
    headrace__proto__saved_object__slot_variable_reference__init(of);
    of->original_variable_node_id = slot->slot_of;
    of->slot_name = slot->name;
    of->slot_variable_node_id = number;
    optimizer->slot_variables[optimizer->n_slot_variables++] = of;
    return true;
}

/* Lists that are as long as they have to be. */
static bool make_lists(object_writer *w)
{
    const hr__objects *o = w->o;
    for (int i = 1; i < o->at.count; i++) {
        proto_saved *parent = w->graph.nodes[o->at.at[i].parent];
        parent->n_children += !o->at.at[i].slot_of;
        parent->n_slot_variables += o->at.at[i].slot_of != 0;
    }
    for (int i = 0; i < o->names.count; i++) w->graph.nodes[o->names.at[i].from]->n_children++;
    for (size_t i = 0; i < w->graph.n_nodes; i++) {
        proto_saved *of = w->graph.nodes[i];
        of->children = hr__arena_get(&w->arena, sizeof *of->children * (of->n_children + 1));
        of->slot_variables = hr__arena_get(&w->arena, sizeof *of->slot_variables * (of->n_slot_variables + 1));
        of->n_children = of->n_slot_variables = 0;
        if (!of->children || !of->slot_variables) return false;
    }
    return true;
}

static bool put_relations(object_writer *w)
{
    const hr__objects *o = w->o;
    if (!make_lists(w)) return false;
    for (int i = 1; i < o->at.count; i++) {
        const hr__object *at = &o->at.at[i];
        if (at->slot_of ? !put_slot(w, at, i) : !put_known(w, at->parent, i, at->name)) return false;
    }
    for (int i = 0; i < o->names.count; i++)
        if (!put_known(w, o->names.at[i].from, o->names.at[i].to, o->names.at[i].name)) return false;
    return true;
}

/* ---- together ---- */

static bool write_all(object_writer *w)
{
    const hr__objects *o = w->o;
    w->graph.nodes = hr__arena_get(&w->arena, sizeof *w->graph.nodes * ((size_t)o->at.count + 1));
    w->graph.concrete_functions = hr__arena_get(&w->arena, sizeof *w->graph.concrete_functions * HR__SAVED_FUNCTIONS);
    if (!w->graph.nodes || !w->graph.concrete_functions) return false;
    for (int i = 0; i < o->at.count; i++)
        if (!put_object(w, i)) return false;
    for (int i = 0; i < w->s->functions; i++)
        if (!(w->graph.concrete_functions[w->graph.n_concrete_functions++] = concrete(w, &w->s->function[i])))
            return false;
    return put_relations(w);
}

hr_status hr__saved_objects_write(const hr__objects *o, const hr__saved_graph *s, const hr__map *variable,
                                  hr_view *bytes, hr_error *err)
{
    char *data = NULL;
    size_t size = 0;
    object_writer w = {.o = o, .s = s, .variable = variable};
    headrace__proto__saved_object_graph__init(&w.graph);
    hr_status st;
    if (write_all(&w))
        st = hr__message_bytes(&w.graph.base, &data, &size, err);
    else if (!w.unknown)
        st = hr_no_memory(err, "the objects of a model");
    else
        st = hr_fail(err, HR_UNIMPLEMENTED, "models.capture",
                     "model '%.60s': expected layers that use their inputs and variables alone, got one that uses "
                     "'%.100s'; it cannot be saved as a SavedModel",
                     s->m->name, w.unknown);
    hr__arena_free(&w.arena);
    *bytes = (hr_view){data, (int64_t)size};
    return st;
}
