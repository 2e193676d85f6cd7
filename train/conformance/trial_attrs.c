/* Attributes of the node: of the signature's types, and now and then of others. */
#include "train/conformance/trial.h"

#include <string.h>

static bool counts_inputs(const trial *t, int attr)
{
    for (int i = 0; i < hr_signature_inputs(t->sig); i++)
        if (hr_signature_input(t->sig, i)->number_attr == attr) return true;
    return false;
}

bool hr__trial_types_inputs(const trial *t, int attr)
{
    for (int i = 0; i < hr_signature_inputs(t->sig); i++)
        if (hr_signature_input(t->sig, i)->type_attr == attr || hr_signature_input(t->sig, i)->list_attr == attr)
            return true;
    return false;
}

static void give(trial *t, hr_attr attr, int at)
{
    attr.name = hr_signature_attr(t->sig, at)->name;
    t->attr[t->attrs++] = attr;
}

static void choose_tensor(trial *t, int at)
{
    hr_tensor *tensor = hr__trial_memory(t, sizeof *tensor);
    if (!tensor) return;
    hr_dtype dtype = HR_FLOAT;
    for (int i = 0; i < hr_signature_attrs(t->sig); i++)
        if (hr_signature_attr(t->sig, i)->kind == HR_ATTR_TYPE && !one_in(t, 10)) dtype = t->type[i];
    *tensor = hr__trial_tensor(t, dtype, hr__trial_random_shape(t));
    if (one_in(t, 20)) tensor->data = NULL;
    if (one_in(t, 30)) tensor->shape.rank = 12;
    if (one_in(t, 30)) tensor->shape = HR_SHAPE(INT64_C(1) << 62, 4);
    if (one_in(t, 30)) tensor->shape = HR_SHAPE(-1);
    if (one_in(t, 30)) tensor->layout = HR_SPARSE;
    give(t, HR_TENSOR_ATTR("", one_in(t, 40) ? NULL : tensor), at);
}

static void choose_list(trial *t, int at)
{
    enum { LONGEST = 6 };
    const hr_attr_def *def = hr_signature_attr(t->sig, at);
    hr_attr a = {.kind = def->kind, .count = (int)below(t, LONGEST)};
    int64_t *ints = hr__trial_memory(t, LONGEST * sizeof *ints);
    float *floats = hr__trial_memory(t, LONGEST * sizeof *floats);
    hr_view *strings = hr__trial_memory(t, LONGEST * sizeof *strings);
    hr_shape *shapes = hr__trial_memory(t, LONGEST * sizeof *shapes);
    hr_dtype *types = hr__trial_memory(t, LONGEST * sizeof *types);
    const meaning m = hr__trial_meaning(t);
    const bool ones = a.kind == HR_ATTR_INTS && one_in(t, 3); /* strides, windows */
    int64_t last = 0;
    if (ones) a.count = def->min == 5 || (def->has_default && def->value.count == 5) ? 5 : 4; /* volumes, images */
    for (int i = 0; i < LONGEST; i++) {
        ints[i] = ones ? 1 : hr__trial_whole_number(t, m, i, a.count, &last);
        floats[i] = (float)hr__trial_real_number(t, m);
        strings[i] = hr__trial_text(t);
        shapes[i] = hr__trial_any_shape(t);
        types[i] = hr__trial_type(t, hr_signature_attr(t->sig, at)->kernels);
    }
    if (a.kind == HR_ATTR_INTS) a.ints = ints;
    if (a.kind == HR_ATTR_FLOATS) a.floats = floats;
    if (a.kind == HR_ATTR_STRINGS) a.strings = strings;
    if (a.kind == HR_ATTR_SHAPES) a.shapes = shapes;
    if (a.kind == HR_ATTR_TYPES) a.types = types;
    if (one_in(t, 30)) a.ints = NULL;
    if (one_in(t, 60)) a.count = -1;
    if (a.kind != HR_ATTR_TYPES || !hr__trial_types_inputs(t, at)) give(t, a, at);
    t->number_of[at] = a.count < 0 ? 1 : a.count;
}

static void choose_int(trial *t, int at)
{
    int64_t number = one_in(t, 4) ? hr__trial_hostile(t) : below(t, 4) - (one_in(t, 8) ? 2 : 0);
    if (counts_inputs(t, at)) {
        t->number_of[at] = one_in(t, hr_signature_attr(t->sig, at)->min > 0 ? 10 : 2) ? 0 : 1 + below(t, 3);
        if (!one_in(t, 8)) number = t->number_of[at];
        if (!one_in(t, 4)) return;
    }
    give(t, HR_INT_ATTR("", number), at);
}

/* A function that the graph lacks, and one that it has. */
static const hr_func known[] = {{"none", NULL, 0}, {"some", NULL, 0}};

/* Words that some inputs fit, for attributes of a grammar of their own. */
static const char *word_of(trial *t, const char *attr)
{
    static const char *const equations[] = {"ab,bc->ac", "...a,...a->...", "ab->ba", "abc,cb->a", "aa->a", "...->..."};
    return strcmp(attr, "equation") == 0 && !one_in(t, 6) ? equations[below(t, sizeof equations / sizeof *equations)]
                                                          : NULL;
}

static void choose_attr(trial *t, int at)
{
    const hr_attr_def *def = hr_signature_attr(t->sig, at);
    const bool leave_out = def->has_default && one_in(t, 2);
    const char *word;
    switch (def->kind) {
    case HR_ATTR_TYPE:
        t->type[at] = hr__trial_type(t, def->kernels);
        if (hr__trial_types_inputs(t, at) ? one_in(t, 6) : !leave_out) give(t, HR_TYPE_ATTR("", t->type[at]), at);
        if (leave_out && !hr__trial_types_inputs(t, at)) t->type[at] = def->value.type;
        break;
    case HR_ATTR_INT:
        if (!leave_out) choose_int(t, at);
        break;
    case HR_ATTR_FLOAT:
        if (!leave_out)
            give(t, HR_FLOAT_ATTR("", t->smooth ? 0.125f + (float)below(t, 8) / 8 : (float)hr__trial_hostile_float(t)),
                 at);
        break;
    case HR_ATTR_BOOL:
        if (!leave_out) give(t, HR_BOOL_ATTR("", one_in(t, 2)), at);
        break;
    case HR_ATTR_STRING:
        if (!leave_out && (word = word_of(t, def->name)))
            give(t, HR_STRING_ATTR("", word), at);
        else if (!leave_out && def->word_count > 0 && !one_in(t, 6))
            give(t, HR_STRING_ATTR("", def->words[below(t, def->word_count)]), at);
        else if (!leave_out)
            give(t, (hr_attr){.kind = HR_ATTR_STRING, .s = hr__trial_text(t)}, at);
        break;
    case HR_ATTR_SHAPE:
        if (!leave_out) give(t, HR_SHAPE_ATTR("", hr__trial_any_shape(t)), at);
        break;
    case HR_ATTR_TENSOR:
        break; /* when all types are chosen */
    case HR_ATTR_FUNC:
        give(t, HR_FUNC_ATTR("", &known[below(t, 2)]), at);
        break;
    case HR_ATTR_FUNCS:
        give(t, (hr_attr){.kind = HR_ATTR_FUNCS, .count = (int)below(t, 3), .funcs = known}, at);
        break;
    default:
        choose_list(t, at);
    }
}

void hr__trial_choose_attrs(trial *t)
{
    for (int i = 0; i < hr_signature_attrs(t->sig); i++) choose_attr(t, i);
    for (int i = 0; i < hr_signature_attrs(t->sig); i++)
        if (hr_signature_attr(t->sig, i)->kind == HR_ATTR_TENSOR) choose_tensor(t, i);
}
