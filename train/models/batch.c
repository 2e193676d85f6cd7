/* The components of a batch: which inputs, labels and weights of the model they are. */
#include "train/models/models_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "0", "0/p", "1/2": as of a zip of (inputs, labels, weights). Gives what follows the slash; NULL: another name. */
static const char *tuple_part(const char *name, hr__role *role)
{
    static const hr__role roles[] = {HR__INPUT, HR__LABEL, HR__WEIGHT};
    if (*name < '0' || *name > '2' || (name[1] && name[1] != '/')) return NULL;
    *role = roles[*name - '0'];
    return name[1] ? name + 2 : "";
}

static bool is_tuple(const hr_schema *schema)
{
    hr__role role;
    for (int i = 0; i < schema->fields; i++)
        if (schema->field[i].label || !tuple_part(schema->field[i].name, &role)) return false;
    return true;
}

static int named(char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

static int input_named(const hr_model *m, const char *name)
{
    for (int i = 0; i < m->inputs.count; i++)
        if (strcmp(hr_model_input_name(m, i), name) == 0) return i;
    return -1;
}

static int numbered(const char *name, int count)
{
    char *end;
    if (!isdigit((unsigned char)*name)) return -1;
    const long number = strtol(name, &end, 10);
    return *end == '\0' && number < count ? (int)number : -1;
}

/* Which input or output a part of a tuple is: by its name, by its number, or the only one. -1: none. Weights without a
 * name are those of all outputs, which has the number after the last. */
static int tuple_target(const hr_model *m, hr__role role, const char *part)
{
    const int count = role == HR__INPUT ? m->inputs.count : m->outputs.count;
    if (!*part) return role == HR__WEIGHT ? count : role == HR__LABEL || count == 1 ? 0 : -1;
    const int by_name =
        role == HR__INPUT ? input_named(m, part) : named(m->output_names.at, m->output_names.count, part);
    return by_name >= 0 ? by_name : numbered(part, count);
}

/* What the dataset says is a label; if it says none, what has the name of an output and not of an input. */
static bool is_label(const hr_model *m, const hr_schema *schema, const hr_field *field)
{
    for (int i = 0; i < schema->fields; i++)
        if (schema->field[i].label) return field->label;
    return named(m->output_names.at, m->output_names.count, field->name) >= 0 && input_named(m, field->name) < 0;
}

/* A dataset with names of its own. `labels`: how many there were before. */
static void named_target(const hr_model *m, const hr_schema *schema, const hr_field *field, const char *sample_weight,
                         int labels, hr__component *c)
{
    int others = 0;
    for (int i = 0; i < schema->fields; i++)
        others += !is_label(m, schema, &schema->field[i]) &&
                  !(sample_weight && strcmp(schema->field[i].name, sample_weight) == 0);
    if (is_label(m, schema, field)) {
        const int by_name = named(m->output_names.at, m->output_names.count, field->name);
        *c = (hr__component){.role = HR__LABEL, .of = by_name >= 0 ? by_name : labels};
    } else if (sample_weight && strcmp(field->name, sample_weight) == 0) {
        *c = (hr__component){.role = HR__WEIGHT, .of = m->outputs.count};
    } else {
        const int by_name = input_named(m, field->name);
        *c = (hr__component){.role = HR__INPUT, .of = by_name >= 0 || others > 1 ? by_name : 0};
    }
}

static hr_status check_field(const hr_model *m, const hr_field *field, hr_error *err)
{
    if (field->layout == HR_DENSE && field->dtype != HR_STRING) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.data",
                   "model '%.60s': component '%.60s' of the data: expected dense numbers, got %s %s", m->name,
                   field->name, field->layout == HR_DENSE ? "dense" : "ragged or sparse", hr_dtype_name(field->dtype));
}

static void text_of_inputs(const hr_model *m, char *out, size_t size)
{
    size_t n = 0;
    for (int i = 0; i < m->inputs.count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s'%.40s'", i ? ", " : "", hr_model_input_name(m, i));
}

/* Each input once, a label for each output that is trained. */
static hr_status check_complete(hr_model *m, const hr__data_signature *s, bool labels, hr_error *err)
{
    char names[256];
    for (int i = 0; i < m->inputs.count; i++) {
        int times = 0;
        for (int k = 0; k < s->part.count; k++) times += s->part.at[k].role == HR__INPUT && s->part.at[k].of == i;
        if (times == 1) continue;
        text_of_inputs(m, names, sizeof names);
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.features",
                       "model '%.60s': expected %d inputs, %s; the data have %s '%.60s'", m->name, m->inputs.count,
                       names, times ? "several for" : "none for", hr_model_input_name(m, i));
    }
    for (int i = 0; i < m->outputs.count && labels; i++) {
        int times = 0;
        for (int k = 0; k < s->part.count; k++) times += s->part.at[k].role == HR__LABEL && s->part.at[k].of == i;
        if (times > 1 || (times == 0 && m->compiled.losses.at[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.labels",
                           "model '%.60s': expected labels for the output '%.60s', which has a loss; the data have %s",
                           m->name, m->output_names.at[i], times ? "several" : "none");
    }
    return HR_OK;
}

static const hr_field *field_named(const hr_schema *schema, const char *name)
{
    for (int i = 0; i < schema->fields && name; i++)
        if (strcmp(schema->field[i].name, name) == 0) return &schema->field[i];
    return NULL;
}

const char *hr__component_named(const hr_dataset *ds, const char *name)
{
    const hr_schema *schema = hr_dataset_schema(ds);
    return schema && field_named(schema, name) ? name : NULL;
}

hr_status hr__signature_of(hr_model *m, const hr_schema *schema, const char *sample_weight, bool labels,
                           hr__data_signature *out, hr_error *err)
{
    const bool tuple = is_tuple(schema);
    int label = 0;
    if (sample_weight && !field_named(schema, sample_weight))
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.sample_weight",
                       "model '%.60s': sample_weight: the data have no component '%.60s'", m->name, sample_weight);
    for (int i = 0; i < schema->fields; i++) {
        const hr_field *field = &schema->field[i];
        hr__component *c = HR__LIST_ADD(&out->part);
        if (!c) return hr_no_memory(err, "data");
        const char *part = tuple ? tuple_part(field->name, &c->role) : NULL;
        if (part)
            c->of = tuple_target(m, c->role, part);
        else
            named_target(m, schema, field, sample_weight, label, c);
        label += c->role == HR__LABEL;
        const int most = c->role == HR__WEIGHT ? m->outputs.count : m->outputs.count - 1;
        if (c->role != HR__INPUT && (!labels || c->of < 0 || c->of > most)) {
            if (labels)
                return hr_fail(err, HR_INVALID_ARGUMENT,
                               c->role == HR__LABEL ? "models.labels" : "models.sample_weight",
                               "model '%.60s': the %s '%.60s' are of no output", m->name,
                               c->role == HR__LABEL ? "labels" : "weights", field->name);
            c->role = HR__UNUSED;
        }
        if (c->role == HR__INPUT && c->of < 0) {
            hr_log_message(HR_WARNING, "model '%s': the component '%s' of the data is no input and is not used",
                           m->name, field->name);
            c->role = HR__UNUSED;
        }
        if (c->role != HR__UNUSED) HR_TRY(check_field(m, field, err));
        if (c->role == HR__LABEL && !m->compiled.losses.at[c->of]) c->role = HR__UNUSED;
        c->dtype = field->dtype;
        c->shape.rank = field->shape.rank + 1;
        c->shape.dims[0] = -1;
        for (int k = 0; k < field->shape.rank; k++) c->shape.dims[k + 1] = field->shape.dims[k];
    }
    return check_complete(m, out, labels, err);
}

bool hr__signature_equal(const hr__data_signature *a, const hr__data_signature *b)
{
    if (a->part.count != b->part.count) return false;
    for (int i = 0; i < a->part.count; i++) {
        const hr__component *x = &a->part.at[i], *y = &b->part.at[i];
        if (x->role != y->role ||
            (x->role != HR__UNUSED && (x->of != y->of || x->dtype != y->dtype || !hr_shape_equal(x->shape, y->shape))))
            return false;
    }
    return true;
}

void hr__signature_clear(hr__data_signature *s)
{
    hr_free(s->part.at);
    memset(s, 0, sizeof *s);
}
