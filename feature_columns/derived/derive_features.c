/* The operator: parsed rows get the derived features as further components. It is work only and goes row by row, so a
 * batch below or above costs the same. */
#include "base/cast.h"
#include "feature_columns/derived/derived_internal.h"
#include <string.h>

typedef struct derive_spec {
    hr_derived_list list;        /* the caller's, until the spec is copied; then the spec's own references */
    const hr_parse_spec *wanted; /* the same */
    char **name;                 /* of the wanted features; `names` of them. NULL: all */
    int names;
    const char *label;
    hr__derived_plan *plan; /* made by check */
} derive_spec;

struct hr_derived_work {
    hr_work *work;
    hr_columns *rows;
};

/* ---- the arguments ---- */

static hr_status copy_list(derive_spec *s, hr_error *err)
{
    const hr_derived_list from = s->list;
    hr_derived_feature **own = hr_calloc((size_t)from.count + 1, sizeof *own);
    s->list = (hr_derived_list){own, 0};
    if (!own) return hr_no_memory(err, "derive_features");
    for (; s->list.count < from.count; s->list.count++)
        own[s->list.count] = hr_derived_ref(from.feature[s->list.count]);
    return HR_OK;
}

static hr_status copy_wanted(derive_spec *s, const hr_parse_spec *wanted, hr_error *err)
{
    if (!wanted) return HR_OK;
    s->name = hr_calloc((size_t)wanted->features + 1, sizeof *s->name);
    if (!s->name) return hr_no_memory(err, "derive_features");
    for (; s->names < wanted->features; s->names++) {
        s->name[s->names] = hr_strdup(wanted->feature[s->names].key);
        if (!s->name[s->names]) return hr_no_memory(err, "derive_features");
    }
    return HR_OK;
}

static hr_status derive_copy(void *spec, hr_error *err)
{
    derive_spec *s = spec;
    const hr_parse_spec *wanted = s->wanted;
    const char *label = s->label;
    s->wanted = NULL;
    s->label = NULL;
    HR_TRY(copy_list(s, err));
    HR_TRY(copy_wanted(s, wanted, err));
    s->label = hr_strdup(label);
    s->plan = hr_calloc(1, sizeof *s->plan);
    return (s->label || !label) && s->plan ? HR_OK : hr_no_memory(err, "derive_features");
}

static void derive_free(void *spec)
{
    derive_spec *s = spec;
    if (s->plan) hr__derived_plan_clear(s->plan);
    hr_free(s->plan);
    for (int i = 0; i < s->list.count; i++) hr_derived_unref(s->list.feature[i]);
    hr_free((void *)(uintptr_t)s->list.feature);
    for (int i = 0; i < s->names; i++) hr_free(s->name[i]);
    hr_free(s->name);
    hr_free((char *)(uintptr_t)s->label);
}

/* ---- check ---- */

static hr_status make_plan(derive_spec *s, const hr_schema *in, hr_error *err)
{
    hr_feature *wanted = hr_calloc((size_t)s->names + 1, sizeof *wanted);
    if (!wanted) return hr_no_memory(err, "derive_features");
    for (int i = 0; i < s->names; i++) wanted[i].key = s->name[i];
    const hr_parse_spec spec = {wanted, s->names};
    const hr_status st = hr__derived_plan_make(s->list, in, s->name ? &spec : NULL, s->plan, err);
    hr_free(wanted);
    return st;
}

static hr_status derive_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const derive_spec *s = spec;
    bool labelled = !s->label;
    HR_TRY(make_plan((derive_spec *)(uintptr_t)s, in[0], err));
    for (int i = 0; i < s->plan->count; i++) {
        hr_field field = s->plan->step[s->plan->order[i]].field;
        field.label = s->label && strcmp(s->label, field.name) == 0;
        labelled |= field.label;
        HR_TRY(hr_schema_add(out, field, err));
    }
    if (labelled) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.label",
                   "derive_features: expected a .label that is a derived feature, got '%.60s'", s->label);
}

/* ---- the values of a field ---- */

/* Where row `row` has its value; -1: nowhere. */
static int64_t place_of(hr_derived_work *w, const hr_field *field, const hr_column *column, int64_t row)
{
    if (column->present && !(column->present[row / 64] >> row % 64 & 1)) return -1;
    if (hr_field_fixed(field)) return row;
    const int32_t *splits = column->splits[0];
    const int32_t count = splits ? splits[row + 1] - splits[row] : 0;
    if (count == 1) return splits[row];
    if (count == 0) return -1;
    hr_error err;
    hr_fail(&err, HR_INVALID_ARGUMENT, "derived.values", "feature '%.60s': expected one value a row, found %d",
            field->name, (int)count);
    hr_derived_fail_row(w, row, &err);
    return -1;
}

static void gather_value(const hr_field *field, const hr_column *column, int64_t from, int64_t row, void *values)
{
    static const hr_view empty = {"", 0};
    if (field->dtype == HR_STRING)
        ((hr_view *)values)[row] = from < 0 ? empty : ((const hr_view *)column->values)[from];
    else if (field->dtype == HR_FLOAT)
        ((double *)values)[row] = from < 0 ? 0 : (double)((const float *)column->values)[from];
    else if (field->dtype == HR_DOUBLE)
        ((double *)values)[row] = from < 0 ? 0 : ((const double *)column->values)[from];
    else if (from < 0 || !hr__integer_of(column->values, field->dtype, from, &((int64_t *)values)[row]))
        ((int64_t *)values)[row] = 0;
}

static hr_derived_values gather_field(hr_derived_work *w, int at, int64_t rows, void *values, bool *missing)
{
    const hr_field *field = &w->rows->schema->field[at];
    const hr_column *column = &w->rows->column[at];
    for (int64_t r = 0; r < rows; r++) {
        const int64_t from = place_of(w, field, column, r);
        missing[r] |= from < 0;
        gather_value(field, column, from, r, values);
    }
    const hr_dtype dtype = field->dtype == HR_STRING                               ? HR_STRING
                           : field->dtype == HR_FLOAT || field->dtype == HR_DOUBLE ? HR_DOUBLE
                                                                                   : HR_INT64;
    return (hr_derived_values){dtype, field->dtype, values};
}

/* ---- work ---- */

static int fields_of(const hr_derived_feature *f)
{
    int count = 0;
    while (hr_derived_field(f, count)) count++;
    return count;
}

/* Bytes that the widest step takes. */
static size_t scratch_of(const hr__derived_plan *p, int64_t rows)
{
    int most = 1;
    for (int i = 0; i < p->count; i++) {
        const int fields = fields_of(p->step[p->order[i]].feature);
        if (fields > most) most = fields;
    }
    return (size_t)most * (sizeof(hr_derived_values) + (size_t)rows * sizeof(hr_view)) + (size_t)rows + 64;
}

/* Where the output has the fields of the input, and then the steps in their order. */
static int component_of(const hr__derived_plan *p, const int *placed, int at)
{
    return at < p->fields ? at : placed[at - p->fields];
}

static void put_defaults(const hr__derived_step *s, const bool *missing, int64_t rows, void *out)
{
    const double value = hr__derived_default(s->feature);
    for (int64_t r = 0; r < rows; r++) {
        if (!missing[r]) continue;
        if (s->field.dtype == HR_INT64)
            ((int64_t *)out)[r] = (int64_t)value;
        else
            ((float *)out)[r] = (float)value;
    }
}

/* A label has no default: a row that it cannot be made of is no example of anything. */
static void refuse_unlabelled(hr_derived_work *w, const char *label, const bool *lacks, int64_t rows)
{
    hr_error err;
    for (int64_t r = 0; r < rows; r++) {
        if (!lacks[r]) continue;
        hr_fail(&err, HR_INVALID_ARGUMENT, "derived.unlabelled",
                "label '%.60s': expected a row with the values that it is made of, found one without; leave such rows "
                "out, for example by `require`",
                label);
        hr_derived_fail_row(w, r, &err);
    }
}

/* Which rows lack something that the step is made of, also where a step on the way has a default for it. */
static void note_lacking(const hr__derived_plan *p, const hr__derived_step *s, const bool *missing, int64_t rows,
                         bool *lacking)
{
    bool *own = lacking + (s - p->step) * rows;
    memcpy(own, missing, (size_t)rows);
    for (int i = 0; i < fields_of(s->feature); i++) {
        const int step = s->in[i] - p->fields;
        for (int64_t r = 0; step >= 0 && r < rows; r++) own[r] |= lacking[step * rows + r];
    }
}

/* `lacking`: of each step, a flag for each row. */
static hr_status compute_step(const hr__derived_plan *p, const int *placed, const hr__derived_step *s,
                              const char *label, hr_derived_work *w, int64_t rows, bool *lacking, char *scratch,
                              hr_error *err)
{
    const hr_derived_kind *kind = hr__derived_kind_of(s->feature);
    const int fields = fields_of(s->feature);
    hr_column *out = &w->rows->column[placed[s - p->step]];
    if (hr__derived_renames(s->feature)) {
        *out = w->rows->column[component_of(p, placed, s->in[0])];
        return HR_OK;
    }
    hr_view *room = (hr_view *)(void *)scratch;
    hr_derived_values *in = (hr_derived_values *)(void *)(room + (size_t)fields * (size_t)rows);
    bool *missing = (bool *)(in + fields);
    memset(missing, 0, (size_t)rows);
    for (int i = 0; i < fields; i++)
        in[i] = gather_field(w, component_of(p, placed, s->in[i]), rows, room + (size_t)i * (size_t)rows, missing);
    note_lacking(p, s, missing, rows, lacking); /* what has no result has its default, as a ratio with 0 below */
    HR_TRY(kind->compute(hr__derived_spec(s->feature), w, in, rows, out->values, missing, err));
    if (label && strcmp(hr_derived_name(s->feature), label) == 0)
        refuse_unlabelled(w, label, lacking + (s - p->step) * rows, rows);
    put_defaults(s, missing, rows, out->values);
    return HR_OK;
}

static hr_status derive_work(const void *spec, const void *unit, hr_work *work, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const hr__derived_plan *p = ((const derive_spec *)spec)->plan;
    const char *label = ((const derive_spec *)spec)->label;
    const int64_t count = rows->rows;
    hr_columns before;
    HR_TRY(hr_new_columns(work, rows, &before, err));
    for (int i = 0; i < p->fields; i++) rows->column[i] = before.column[i];
    const size_t places = ((size_t)p->steps + 16) / 16 * 16 * sizeof(int);
    const size_t widest = scratch_of(p, count);
    char *scratch = hr_scratch(work, places + widest + (size_t)p->steps * (size_t)count);
    if (!scratch) return hr_no_memory(err, "derive_features");
    int *placed = (int *)(void *)scratch;
    bool *lacking = (bool *)(scratch + places + widest);
    memset(lacking, 0, (size_t)p->steps * (size_t)count);
    for (int i = 0; i < p->count; i++) placed[p->order[i]] = p->fields + i;
    hr_derived_work w = {work, rows};
    for (int i = 0; i < p->count; i++)
        HR_TRY(compute_step(p, placed, &p->step[p->order[i]], label, &w, count, lacking, scratch + places, err));
    return HR_OK;
}

void hr_derived_fail_row(hr_derived_work *w, int64_t row, const hr_error *err)
{
    hr_fail_at(w->work, w->rows, row, err);
}

static void derive_identity(const void *spec, uint64_t *sum)
{
    const derive_spec *s = spec;
    for (int i = 0; i < s->list.count; i++) {
        const char *field;
        hr_identify_text(sum, hr_derived_name(s->list.feature[i]));
        for (int k = 0; (field = hr_derived_field(s->list.feature[i], k)); k++) hr_identify_text(sum, field);
    }
}

static void derive_describe(const void *spec, hr_description *to)
{
    const derive_spec *s = spec;
    hr_describe_number(to, "features", s->plan ? s->plan->count : 0);
}

static const hr_op op_derive_features = {
    .head = HR_OP_HEAD,
    .name = "derive_features",
    .spec_size = sizeof(derive_spec),
    .traits = HR_ROW_BY_ROW,
    .spec_copy = derive_copy,
    .spec_free = derive_free,
    .check = derive_check,
    .work = derive_work,
    .identity = derive_identity,
    .describe = derive_describe,
};

hr_dataset *hr_derive_features_with(hr_dataset *in, hr_derived_list list, const hr_derive_features_opts *opts)
{
    const hr_derive_features_opts o = HR_OPTIONS(hr_derive_features_opts, opts);
    const derive_spec spec = {.list = list, .wanted = o.wanted, .label = o.label};
    return hr_dataset_new(&op_derive_features, &spec, &in, 1);
}
