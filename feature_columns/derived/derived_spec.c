/* What a training needs to know of derived features beside the rows: the fields that there are with them, and what must
 * be parsed for them. */
#include "feature_columns/derived/derived_internal.h"
#include <string.h>

hr_status hr_derived_schema(hr_derived_list list, const hr_schema *file, hr_schema *out, hr_error *err)
{
    hr__derived_plan p;
    *out = (hr_schema){.levels = file->levels};
    hr_status st = hr__derived_plan_make(list, file, NULL, &p, err);
    hr_field *field = st == HR_OK ? hr_calloc((size_t)file->fields + (size_t)p.steps + 1, sizeof *field) : NULL;
    if (st == HR_OK && !field) st = hr_no_memory(err, "the fields of derived features");
    if (field) {
        if (file->fields > 0) memcpy(field, file->field, (size_t)file->fields * sizeof *field);
        for (int i = 0; i < p.steps; i++) {
            field[file->fields + i] = p.step[i].field;
            if (!hr__derived_renames(p.step[i].feature)) field[file->fields + i].shape = HR_SCALAR; /* as of a file */
        }
        out->fields = file->fields + p.steps;
        out->field = field;
    }
    hr__derived_plan_clear(&p);
    return st;
}

/* ---- the spec ---- */

/* The field of the records that a feature renames, perhaps in several steps; -1: it is none, or one that is
 * computed. */
static int renamed_field(const hr__derived_plan *p, int at)
{
    while (at >= p->fields && hr__derived_renames(p->step[at - p->fields].feature)) at = p->step[at - p->fields].in[0];
    return at < p->fields ? at : -1;
}

/* As the columns want it: of the records itself, or under another name. Features that are computed come later. */
static hr_status add_wanted(const hr__derived_plan *p, const hr_feature *f, const hr_schema *file, bool renamed,
                            hr_parse_spec *to, hr_error *err)
{
    hr_feature source = *f;
    const int at = hr__map_index(&p->names, f->key);
    if ((at >= p->fields) != renamed) return HR_OK;
    const int field = renamed ? renamed_field(p, at) : -1;
    if (renamed && field < 0) return HR_OK;
    if (renamed) source.key = file->field[field].name;
    const hr_feature *there = hr__spec_find(to, source.key);
    if (!there) return hr__spec_add(to, &source, err);
    if (hr__spec_same(there, &source)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.conflict",
                   "derived feature '%.60s': expected one way to parse '%.60s', which it renames, got another one by a "
                   "column that reads '%.60s'",
                   f->key, source.key, source.key);
}

/* The fields of the records that a computed feature is made of, where nothing else reads them. */
static hr_status add_sources(const hr__derived_plan *p, const hr__derived_step *s, const hr_schema *file,
                             hr_parse_spec *to, hr_error *err)
{
    const char *name;
    if (hr__derived_renames(s->feature)) return HR_OK;
    for (int i = 0; (name = hr_derived_field(s->feature, i)); i++) {
        const int at = renamed_field(p, s->in[i]);
        if (at < 0 || hr__spec_find(to, file->field[at].name)) continue;
        hr_feature source = {.key = file->field[at].name, .kind = HR_VAR_LEN, .dtype = file->field[at].dtype};
        const hr_tensor *fill = hr__derived_fill(s->feature, i);
        if (fill) {
            source.kind = HR_FIXED_LEN;
            source.shape = HR_SHAPE(1);
            source.default_value = fill;
        }
        HR_TRY(hr__spec_add(to, &source, err));
    }
    return HR_OK;
}

hr_status hr_derived_parse_spec(hr_derived_list list, const hr_parse_spec *wanted, const hr_schema *file,
                                hr_parse_spec **spec, hr_error *err)
{
    hr__derived_plan p;
    hr_parse_spec *to = NULL;
    *spec = NULL;
    hr_status st = hr__derived_plan_make(list, file, wanted, &p, err);
    if (st == HR_OK) st = hr__spec_begin(&to, err);
    for (int renamed = 0; renamed < 2; renamed++)
        for (int i = 0; st == HR_OK && i < wanted->features; i++)
            st = add_wanted(&p, &wanted->feature[i], file, renamed, to, err);
    for (int i = 0; st == HR_OK && i < p.count; i++) st = add_sources(&p, &p.step[p.order[i]], file, to, err);
    if (to) hr__spec_end(to);
    hr__derived_plan_clear(&p);
    if (st == HR_OK)
        *spec = to;
    else
        hr_parse_spec_free(to);
    return st;
}
