/* The signatures of the ops that a graph has, as OpDefs: by them a reader of another version knows which attributes it
 * may leave out. */
#include "train/graphdef/meta_internal.h"

#include <stdlib.h>
#include <string.h>

typedef Headrace__Proto__OpDef proto_op;
typedef Headrace__Proto__OpDef__ArgDef proto_arg;
typedef Headrace__Proto__OpDef__AttrDef proto_attr_def;

static char *lent(const char *text) { return (char *)(uintptr_t)text; }

static proto_arg **arg_messages(hr__arena *arena, const hr__signature *sig, const hr_arg_def *args, int count)
{
    proto_arg **out = hr__arena_get(arena, sizeof *out * (size_t)(count + 1));
    for (int i = 0; out && i < count; i++) {
        proto_arg *m = out[i] = hr__arena_get(arena, sizeof *m);
        if (!m) return NULL;
        headrace__proto__op_def__arg_def__init(m);
        m->name = lent(args[i].name);
        if (args[i].list_attr >= 0)
            m->type_list_attr = lent(sig->attr[args[i].list_attr].name);
        else if (args[i].type_attr >= 0)
            m->type_attr = lent(sig->attr[args[i].type_attr].name);
        else
            m->type = (Headrace__Proto__DataType)args[i].type;
        if (args[i].number_attr >= 0) m->number_attr = lent(sig->attr[args[i].number_attr].name);
        m->is_ref = args[i].ref;
    }
    return out;
}

static const char *attr_type_word(hr_attr_kind kind)
{
    static const char *const word[] = {
        "",           "int",          "float",       "bool",       "string",       "type",        "shape",
        "tensor",     "list(int)",    "list(float)", "list(type)", "list(string)", "list(shape)", "func",
        "list(bool)", "list(tensor)", "list(func)"};
    return word[kind];
}

/* The types or words that an attribute may have. */
static bool put_allowed(hr__arena *arena, const hr_attr_def *def, proto_attr_def *m)
{
    hr_attr all = {.name = def->name};
    hr_dtype types[32];
    hr_view *words = hr__arena_get(arena, sizeof *words * (size_t)(def->word_count + 1));
    if (!words) return false;
    if (def->words) {
        for (int i = 0; i < def->word_count; i++) words[i] = hr_text_view(def->words[i]);
        all.kind = HR_ATTR_STRINGS;
        all.strings = words;
        all.count = def->word_count;
    } else if (def->types != UINT32_MAX && (def->kind == HR_ATTR_TYPE || def->kind == HR_ATTR_TYPES)) {
        all.kind = HR_ATTR_TYPES;
        all.types = types;
        for (int i = 1; i < 32; i++)
            if (def->types >> i & 1u) types[all.count++] = (hr_dtype)i;
    } else {
        return true;
    }
    proto_entry *entry = hr__attr_message(arena, &all);
    if (entry) m->allowed_values = entry->value;
    return entry != NULL;
}

static proto_attr_def **attr_messages(hr__arena *arena, const hr__signature *sig)
{
    proto_attr_def **out = hr__arena_get(arena, sizeof *out * (size_t)(sig->attrs + 1));
    for (int i = 0; out && i < sig->attrs; i++) {
        const hr_attr_def *def = &sig->attr[i];
        proto_attr_def *m = out[i] = hr__arena_get(arena, sizeof *m);
        if (!m) return NULL;
        headrace__proto__op_def__attr_def__init(m);
        m->name = lent(def->name);
        m->type = lent(attr_type_word(def->kind));
        m->has_minimum = def->min != INT64_MIN;
        m->minimum = m->has_minimum ? def->min : 0;
        proto_entry *value = def->has_default ? hr__attr_message(arena, &def->value) : NULL;
        if (def->has_default && !value) return NULL;
        if (value) m->default_value = value->value;
        if (!put_allowed(arena, def, m)) return NULL;
    }
    return out;
}

static proto_op *op_message(hr__arena *arena, const hr__signature *sig)
{
    proto_op *m = hr__arena_get(arena, sizeof *m);
    if (!m) return NULL;
    hr__opdef known_def;
    const hr__opdef *def = hr__opdef_named(sig->op->name, &known_def) ? &known_def : NULL;
    headrace__proto__op_def__init(m);
    m->name = lent(sig->op->name);
    m->input_arg = arg_messages(arena, sig, sig->input, sig->inputs);
    m->output_arg = arg_messages(arena, sig, sig->output, sig->outputs);
    m->attr = attr_messages(arena, sig);
    m->n_input_arg = (size_t)sig->inputs;
    m->n_output_arg = (size_t)sig->outputs;
    m->n_attr = (size_t)sig->attrs;
    m->is_stateful = def ? strchr(def->flags, 'S') != NULL : (sig->op->traits & HR_STATEFUL) != 0;
    m->is_commutative = def ? strchr(def->flags, 'C') != NULL : (sig->op->traits & HR_COMMUTATIVE) != 0;
    m->is_aggregate = def && strchr(def->flags, 'A');
    m->allows_uninitialized_input = def && strchr(def->flags, 'U');
    return m->input_arg && m->output_arg && m->attr ? m : NULL;
}

static hr_status add_ops_of(hr__map *seen, const hr_graph *g, const hr__signature **sig)
{
    for (int32_t i = 0; i < g->node_count; i++) {
        const char *name = g->nodes[i]->op->name;
        const hr_status st = hr__map_add(seen, name, strlen(name), 0, NULL);
        if (st == HR_OK) sig[seen->count - 1] = g->nodes[i]->sig;
        if (st != HR_OK && st != HR_ALREADY_EXISTS) return st;
    }
    return HR_OK;
}

static int op_order(const void *a, const void *b)
{
    return strcmp((*(const hr__signature *const *)a)->op->name, (*(const hr__signature *const *)b)->op->name);
}

Headrace__Proto__OpList *hr__op_list_message(hr__arena *arena, const hr_graph *g)
{
    hr__map seen = {0};
    size_t most = (size_t)g->node_count + 1;
    for (int i = 0; i < g->function_count; i++) most += (size_t)g->functions[i]->body->node_count;
    Headrace__Proto__OpList *m = hr__arena_get(arena, sizeof *m);
    const hr__signature **sig = hr_malloc(sizeof *sig * most);
    bool made = m && sig && add_ops_of(&seen, g, sig) == HR_OK;
    for (int i = 0; made && i < g->function_count; i++) made = add_ops_of(&seen, g->functions[i]->body, sig) == HR_OK;
    if (made) {
        headrace__proto__op_list__init(m);
        qsort(sig, seen.count, sizeof(const hr__signature *), op_order);
        m->op = hr__arena_get(arena, sizeof *m->op * ((size_t)seen.count + 1));
        made = m->op != NULL;
    }
    for (uint32_t i = 0; made && i < seen.count; i++) made = (m->op[m->n_op++] = op_message(arena, sig[i])) != NULL;
    hr__map_free(&seen);
    hr_free(sig);
    return made ? m : NULL;
}
