/* In which order features are computed, and of what type each is. */
#include "feature_columns/derived/derived_internal.h"
#include <math.h>
#include <string.h>

/* ---- names ---- */

static hr_status add_name(hr__derived_plan *p, const char *name, int at, hr_error *err)
{
    const hr_status st = hr__map_add(&p->names, name, strlen(name), at, err);
    if (st != HR_ALREADY_EXISTS) return st;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.name",
                   "derived feature '%.60s': expected a name of its own, got that of a %s", name,
                   hr__map_index(&p->names, name) < p->fields ? "field of the records" : "derived feature before it");
}

static hr_status no_such_field(const hr__derived_plan *p, const char *name, const char *field, hr_error *err)
{
    const int count = p->fields + p->steps;
    const char **names = hr_calloc((size_t)count + 1, sizeof *names);
    int known = 0;
    for (int i = 0; names && i < count; i++) {
        const hr_view key = hr__map_key(&p->names, (uint32_t)i);
        names[known] = key.data;
        known += strcmp(key.data, name) != 0;
    }
    const char *near = names ? hr_suggest(field, names, known) : NULL;
    hr_fail(err, HR_INVALID_ARGUMENT, "derived.field", "derived feature '%.60s': expected a field, got '%.60s'%s%s%s",
            name, field, near ? "; did you mean '" : ", of which there is none", near ? near : "", near ? "'?" : "");
    hr_free(names);
    return HR_INVALID_ARGUMENT;
}

static hr_status take_features(hr__derived_plan *p, hr_derived_list list, const hr_schema *in, hr_error *err)
{
    p->fields = in->fields;
    p->step = hr_calloc((size_t)list.count + 1, sizeof *p->step);
    p->order = hr_calloc((size_t)list.count + 1, sizeof *p->order);
    if (!p->step || !p->order) return hr_no_memory(err, "derived features");
    for (int i = 0; i < in->fields; i++) HR_TRY(add_name(p, in->field[i].name, i, err));
    for (; p->steps < list.count; p->steps++) {
        const hr_error *failed = hr_derived_error(list.feature[p->steps]);
        p->culprit = p->steps;
        if (failed && err) *err = *failed;
        if (failed) return failed->code;
        p->step[p->steps].feature = hr_derived_ref(list.feature[p->steps]);
        const hr_status st = add_name(p, hr_derived_name(list.feature[p->steps]), in->fields + p->steps, err);
        if (st != HR_OK) hr_derived_unref(p->step[p->steps].feature);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_status find_fields(hr__derived_plan *p, hr__derived_step *s, hr_error *err)
{
    const char *field;
    int count = 0;
    while (hr_derived_field(s->feature, count)) count++;
    s->in = hr_calloc((size_t)count + 1, sizeof *s->in);
    if (!s->in) return hr_no_memory(err, "derived features");
    for (int i = 0; (field = hr_derived_field(s->feature, i)); i++) {
        s->in[i] = hr__map_index(&p->names, field);
        if (s->in[i] < 0) return no_such_field(p, hr_derived_name(s->feature), field, err);
    }
    return HR_OK;
}

/* ---- types ---- */

/* As kinds see the type; HR_INVALID_DTYPE: no kind reads it. */
static hr_dtype kind_of_value(hr_dtype dtype)
{
    if (dtype == HR_STRING) return HR_STRING;
    if (dtype == HR_FLOAT || dtype == HR_DOUBLE) return HR_DOUBLE;
    return hr_dtype_is_integer(dtype) || dtype == HR_BOOL ? HR_INT64 : HR_INVALID_DTYPE;
}

static const hr_field *field_at(const hr__derived_plan *p, const hr_schema *in, int at)
{
    return at < p->fields ? &in->field[at] : &p->step[at - p->fields].field;
}

static hr_status check_field(const hr_derived_feature *feature, const hr_field *field, hr_error *err)
{
    if (kind_of_value(field->dtype) == HR_INVALID_DTYPE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "derived.dtype",
                       "derived feature '%.60s': field '%.60s': expected "
                       "numbers or texts, got %s",
                       hr_derived_name(feature), field->name, hr_dtype_name(field->dtype));
    if (hr_field_fixed(field) ? hr_shape_count(field->shape) == 1 : field->layout != HR_DENSE && field->shape.rank <= 1)
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.layout",
                   "derived feature '%.60s': expected one value of '%.60s' a row, got several",
                   hr_derived_name(feature), field->name);
}

static hr_status check_default(const hr__derived_step *s, hr_error *err)
{
    const double value = hr__derived_default(s->feature);
    if (s->field.dtype != HR_INT64 || (floor(value) == value && fabs(value) <= 0x1p53)) return HR_OK;
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "derived.default",
        "derived feature '%.60s': expected a whole number up to 2^53 as the default of an int64 feature, got "
        "%g",
        hr_derived_name(s->feature), value);
}

static hr_status find_type(hr__derived_plan *p, const hr_schema *in, hr__derived_step *s, hr_error *err)
{
    const hr_derived_kind *kind = hr__derived_kind_of(s->feature);
    int count = 0;
    if (hr__derived_renames(s->feature)) {
        s->field = *field_at(p, in, s->in[0]);
        s->field.name = hr_derived_name(s->feature);
        return HR_OK;
    }
    while (hr_derived_field(s->feature, count)) count++;
    hr_dtype *types = hr_calloc((size_t)count + 1, sizeof *types);
    hr_status st = types ? HR_OK : hr_no_memory(err, "derived features");
    for (int i = 0; i < count && st == HR_OK; i++) {
        const hr_field *field = field_at(p, in, s->in[i]);
        st = check_field(s->feature, field, err);
        types[i] = kind_of_value(field->dtype);
    }
    s->field = (hr_field){.name = hr_derived_name(s->feature), .shape = HR_SHAPE(1)};
    if (st == HR_OK) {
        st = kind->type(hr__derived_spec(s->feature), types, count, &s->field.dtype, err);
        if (st != HR_OK) hr_error_prefix(err, "derived feature '%.60s': ", hr_derived_name(s->feature));
    }
    hr_free(types);
    HR_TRY(st);
    return check_default(s, err);
}

/* ---- the order ---- */

enum { UNSEEN, UNDER_WAY, DONE };

typedef struct walk {
    char *state; /* of a step */
    int *stack, *next, depth;
} walk;

static hr_status in_a_circle(const hr__derived_plan *p, int step, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.circle",
                   "derived feature '%.60s': expected one that is not made of itself",
                   hr_derived_name(p->step[step].feature));
}

/* All that the step is made of, and then the step. */
static hr_status visit(hr__derived_plan *p, const hr_schema *in, walk *w, int step, hr_error *err)
{
    if (w->state[step] == DONE) return HR_OK;
    w->depth = 0;
    for (;;) {
        hr__derived_step *s = &p->step[step];
        p->culprit = step;
        if (w->state[step] == UNSEEN) {
            w->state[step] = UNDER_WAY;
            w->stack[w->depth] = step;
            w->next[w->depth++] = 0;
            HR_TRY(find_fields(p, s, err));
        }
        int *next = &w->next[w->depth - 1], from = -1;
        while (from < 0 && hr_derived_field(s->feature, *next)) {
            const int at = s->in[(*next)++] - p->fields;
            if (at >= 0 && w->state[at] == UNDER_WAY) return in_a_circle(p, step, err);
            if (at >= 0 && w->state[at] == UNSEEN) from = at;
        }
        if (from >= 0) {
            step = from;
            continue;
        }
        HR_TRY(find_type(p, in, s, err));
        w->state[step] = DONE;
        p->order[p->count++] = step;
        if (--w->depth == 0) return HR_OK;
        step = w->stack[w->depth - 1];
    }
}

static hr_status visit_wanted(hr__derived_plan *p, const hr_schema *in, const hr_parse_spec *wanted, walk *w,
                              hr_error *err)
{
    for (int i = 0; !wanted && i < p->steps; i++) HR_TRY(visit(p, in, w, i, err));
    for (int i = 0; wanted && i < wanted->features; i++) {
        const int at = hr__map_index(&p->names, wanted->feature[i].key);
        if (at >= p->fields) HR_TRY(visit(p, in, w, at - p->fields, err));
    }
    return HR_OK;
}

hr_status hr__derived_plan_make(hr_derived_list list, const hr_schema *in, const hr_parse_spec *wanted,
                                hr__derived_plan *p, hr_error *err)
{
    *p = (hr__derived_plan){.culprit = -1};
    HR_TRY(take_features(p, list, in, err));
    walk w = {.state = hr_calloc((size_t)p->steps + 1, 1),
              .stack = hr_calloc((size_t)p->steps + 1, sizeof *w.stack),
              .next = hr_calloc((size_t)p->steps + 1, sizeof *w.next)};
    const hr_status st =
        w.state && w.stack && w.next ? visit_wanted(p, in, wanted, &w, err) : hr_no_memory(err, "derived features");
    hr_free(w.state);
    hr_free(w.stack);
    hr_free(w.next);
    return st;
}

void hr__derived_plan_clear(hr__derived_plan *p)
{
    for (int i = 0; i < p->steps; i++) {
        hr_derived_unref(p->step[i].feature);
        hr_free(p->step[i].in);
    }
    hr_free(p->step);
    hr_free(p->order);
    hr__map_free(&p->names);
    *p = (hr__derived_plan){.culprit = -1};
}
