/* Elements as users' functions see them: views over rows, made again and again from the same memory. */
#include "data/exec/engine.h"
#include "data/element.h"
#include <string.h>

static hr_element *element_new(const hr_schema *schema)
{
    hr_element *e = hr_calloc(1, sizeof *e);
    if (e && hr__element_open(e, schema, NULL) == HR_OK) return e;
    hr_free(e);
    return NULL;
}

/* What the operator at work sees: rows carry the schema of where they were gathered, which a batch above leaves
 * alone. */
static hr_dataset *seen_dataset(const hr_work *w)
{
    hr_dataset *ds = w->op->ds;
    return ds->inputs ? ds->in[0] : ds;
}

int hr_work_levels(const hr_work *w) { return seen_dataset(w)->out.schema.levels; }

/* A thread sees one dataset for long stretches. It is held: one that was made where another was before is another. */
static hr_element *element_of(hr_work *w)
{
    hr_dataset *ds = seen_dataset(w);
    if (w->element && w->seen == ds) return w->element;
    hr__seen_drop(w);
    w->element = element_new(&ds->out.schema);
    w->seen = hr_dataset_ref(ds);
    return w->element;
}

void hr__seen_drop(hr_work *w)
{
    hr__element_drop(w->element);
    hr_dataset_unref(w->seen);
    w->element = NULL;
    w->seen = NULL;
}

const hr_element *hr_work_element(hr_work *w, const hr_columns *rows, int64_t element)
{
    hr_element *e = element_of(w);
    if (e) hr__element_set(e, rows, hr_work_levels(w), element);
    return e;
}

const hr_element *hr_work_rows(hr_work *w, const hr_columns *rows)
{
    hr_element *e = element_of(w);
    if (e) hr__element_set_rows(e, rows, 0, rows->rows);
    return e;
}

const hr_element *hr_plan_element(hr_plan *p, hr_span span)
{
    const hr_schema *schema = &p->below->out.schema;
    if (!p->element) p->element = element_new(schema);
    if (p->element) hr__element_set(p->element, span.in, schema->levels, span.first);
    return p->element;
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
    const size_t width = hr_field_fixed(f) ? hr_field_width(f) : 0;
    int depth = 0;
    for (int i = 0; i < f->shape.rank; i++) depth += f->shape.dims[i] < 0;
    if (depth == 0) depth = 1;
    for (int i = 0; !hr_field_fixed(f) && i < depth && i < HR_MAX_RAGGED; i++) c->splits[i] = z->splits;
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
