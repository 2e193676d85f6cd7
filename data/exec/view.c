/* Elements as users' functions see them: views over rows, made again and again from the same memory. */
#include "data/exec/engine.h"
#include "data/element.h"
#include <string.h>

/* The view fits one schema; threads and plans see the same one for long stretches. */
static hr_element *fit(hr_element *e, const hr_schema *schema)
{
    if (e->component && e->schema == schema) return e;
    hr__element_close(e);
    return hr__element_open(e, schema, NULL) == HR_OK ? e : NULL;
}

static const hr_element *look(hr_element *e, const hr_schema *schema, const hr_columns *rows, int64_t element)
{
    if (!fit(e, schema)) return NULL;
    hr__element_set(e, rows, schema->levels, element);
    return e;
}

/* What the operator at work sees: rows carry the schema of where they were gathered, which a batch above leaves alone. */
static const hr_schema *seen_schema(const hr_work *w)
{
    const hr_dataset *ds = w->op->ds;
    return ds->inputs ? &ds->in[0]->out.schema : &ds->out.schema;
}

int hr__work_levels(const hr_work *w) { return seen_schema(w)->levels; }

const hr_element *hr_work_element(hr_work *w, const hr_columns *rows, int64_t element)
{
    if (!w->element) w->element = hr_calloc(1, sizeof *w->element);
    return w->element ? look(w->element, seen_schema(w), rows, element) : NULL;
}

const hr_element *hr_work_rows(hr_work *w, const hr_columns *rows)
{
    if (!w->element) w->element = hr_calloc(1, sizeof *w->element);
    hr_element *e = w->element ? fit(w->element, seen_schema(w)) : NULL;
    if (e) hr__element_set_rows(e, rows, 0, rows->rows);
    return e;
}

const hr_element *hr_plan_element(hr_plan *p, hr_span span)
{
    if (!p->element) p->element = hr_calloc(1, sizeof *p->element);
    return p->element ? look(p->element, &p->below->out.schema, span.in, span.first) : NULL;
}

void hr__element_drop(hr_element *e)
{
    if (!e) return;
    hr__element_close(e);
    hr_free(e);
}

/* ---- zeros ---- */

/* A row of zeros; of a batch none. All splits lead nowhere. */
typedef struct zeros {
    hr_element element; /* first */
    hr_columns columns;
    int32_t splits[2];
} zeros;

static const char nothing[64];

static bool zero_column(const hr_field *f, zeros *z, hr_column *c)
{
    const size_t width = hr__field_fixed(f) ? hr_field_width(f) : 0;
    int depth = 0;
    for (int i = 0; i < f->shape.rank; i++) depth += f->shape.dims[i] < 0;
    if (depth == 0) depth = 1;
    for (int i = 0; !hr__field_fixed(f) && i < depth && i < HR_MAX_RAGGED; i++) c->splits[i] = z->splits;
    c->values = hr_calloc(1, width + 64);
    hr_view *view = c->values;
    for (size_t i = 0; c->values && f->dtype == HR_STRING && i < width / sizeof *view; i++) view[i].data = nothing;
    return c->values != NULL;
}

hr_element *hr_element_zeros(const hr_schema *schema)
{
    zeros *z = hr_calloc(1, sizeof *z);
    if (!z) return NULL;
    z->columns.schema = schema;
    z->columns.elements = 1;
    z->columns.rows = schema->levels == 0;
    z->columns.levels = schema->levels;
    for (int l = 0; l < schema->levels && l < HR_MAX_LEVELS; l++) z->columns.splits[l] = z->splits;
    z->columns.column = hr_calloc((size_t)schema->fields + 1, sizeof *z->columns.column);
    bool done = z->columns.column && hr__element_open(&z->element, schema, NULL) == HR_OK;
    for (int i = 0; done && i < schema->fields; i++) done = zero_column(&schema->field[i], z, &z->columns.column[i]);
    if (done) {
        hr__element_set(&z->element, &z->columns, schema->levels, 0);
        return &z->element;
    }
    hr_element_free(&z->element);
    return NULL;
}

void hr_element_free(hr_element *element)
{
    if (!element) return;
    zeros *z = (zeros *)element;
    for (int i = 0; z->columns.column && i < z->columns.schema->fields; i++) hr_free(z->columns.column[i].values);
    hr_free(z->columns.column);
    hr__element_close(element);
    hr_free(z);
}
