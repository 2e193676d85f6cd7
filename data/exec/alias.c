/* Units that need no copy: those that are another's, taken over or seen through. */
#include "data/exec/stage.h"

static bool alias_is_whole(const unit *u)
{
    const hr_span span = u->parts->span[0];
    return !u->cuts && span.first == 0 && span.count == span.in->elements;
}

static bool all_fixed(const hr_dataset *shape, const hr_columns *in)
{
    bool fixed = in->levels == 0;
    for (int i = 0; i < shape->out.schema.fields && fixed; i++) fixed = shape->width[i] && !in->column[i].present;
    return fixed;
}

/* A unit that is one run of another, with no work to be done on it: its columns begin further down in the same ones. */
bool hr__unit_can_alias(const stage *s, const unit *u)
{
    if (s->works > 0 || u->parts->count != 1 || s->numbered || are_bare(u->parts->span[0].in)) return false;
    const hr_dataset *shape = hr__stage_shape(s);
    if (s->cells && shape->strings) return false; /* whose columns are changed, and outlive the ones they came from */
    return alias_is_whole(u) || all_fixed(shape, u->parts->span[0].in);
}

static bool alias_run(rows *r, hr_span span)
{
    const hr_columns *in = span.in;
    const int fields = in->schema->fields;
    r->c.column = hr__rows_array(r, (size_t)fields * sizeof *r->c.column);
    if (!r->c.column) return false;
    for (int i = 0; i < fields; i++) {
        r->c.column[i] = in->column[i];
        r->c.column[i].values = (char *)in->column[i].values + (size_t)span.first * r->shape->width[i];
    }
    r->c.rows = span.count;
    r->c.origin = in->origin ? in->origin + span.first : NULL;
    r->c.number = in->number ? in->number + span.first : NULL;
    return true;
}

bool hr__unit_alias(rows *r, const unit *u)
{
    const rows *from = (const rows *)u->parts->span[0].in;
    r->aliases = true;
    if (!alias_is_whole(u)) return alias_run(r, u->parts->span[0]);
    const hr_schema *schema = r->c.schema;
    r->c = from->c;
    r->c.schema = schema;
    r->value_capacity = from->value_capacity;
    r->capacity = from->capacity;
    return true;
}

/* Nobody else holds it, and all of it is used: no need to copy. A source's units always come this way. */
bool hr__unit_take_over(stage *s, unit *u)
{
    parts *p = u->parts;
    if (p->count != 1 || p->sides > 1 || u->cuts) return false;
    rows *r = (rows *)p->span[0].in;
    if (p->span[0].count != r->c.elements || r->refs != 1 || r->cell || (are_bare(&r->c) && r->held)) return false;
    hr_dataset_ref(s->ds);
    hr_dataset_unref(r->keeps);
    r->keeps = s->ds;
    r->shape = hr__stage_shape(s);
    r->c.schema = &r->shape->out.schema;
    if (!are_bare(&r->c)) r->form = NULL; /* work may change what it was made of */
    u->rows = r;
    p->count = 0;
    return true;
}
