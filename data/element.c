#include "data/element.h"
#include "data/dataset.h"
#include <string.h>

hr_status hr__element_open(hr_element *e, const hr_schema *schema, hr_error *err)
{
    *e = (hr_element){.schema = schema, .components = schema->fields};
    e->component = hr_calloc((size_t)schema->fields + 1, sizeof *e->component);
    return e->component ? HR_OK : hr_no_memory(err, "an element");
}

void hr__element_close(hr_element *e)
{
    for (int i = 0; e->component && i < e->components; i++) {
        hr_free(e->component[i].memory);
        hr_free(e->component[i].splits);
    }
    hr_free(e->component);
    hr__map_free(&e->names);
    *e = (hr_element){0};
}

/* The level of splits at which an operator with so many levels sees its elements: those of batches put on later, which
 * are planned first where work goes row by row, lie above. */
static int level_of(const hr_columns *c, int levels) { return levels < c->levels ? c->levels - levels : 0; }

void hr__element_set(hr_element *e, const hr_columns *columns, int levels, int64_t index)
{
    e->columns = columns;
    e->level = level_of(columns, levels);
    e->index = index;
    e->run = false;
    e->first = hr_element_row(columns, levels, index);
    e->end = hr_element_row(columns, levels, index + 1);
    e->view++;
}

void hr__element_set_rows(hr_element *e, const hr_columns *columns, int64_t first, int64_t end)
{
    e->columns = columns;
    e->level = columns->levels;
    e->index = e->first = first;
    e->end = end;
    e->run = true;
    e->view++;
}

const hr_schema *hr_element_schema(const hr_element *e) { return e->schema; }

/* ---- shapes ---- */

static bool make_dense(const hr_element *e, const hr_field *f, const hr_column *from, hr_tensor *t)
{
    t->shape.rank = hr__element_dims(e, t->shape.dims);
    for (int i = 0; i < f->shape.rank && t->shape.rank < HR_MAX_RANK; i++)
        t->shape.dims[t->shape.rank++] = f->shape.dims[i];
    t->data = (char *)from->values + (size_t)e->first * hr_field_width(f);
    t->count = (e->end - e->first) * hr_shape_count(f->shape);
    return true;
}

static bool is_one_row(const hr_element *e) { return !e->run && e->level >= e->columns->levels; }

static bool make_tensor(const hr_element *e, int i)
{
    const hr_field *f = &e->schema->field[i];
    hr__component *c = &e->component[i];
    if (c->row && is_one_row(e)) {
        c->tensor.data = (char *)e->columns->column[i].values + (size_t)e->first * c->row;
        return true;
    }
    c->tensor = (hr_tensor){.dtype = f->dtype, .layout = f->layout};
    c->row = hr_field_fixed(f) && is_one_row(e) ? hr_field_width(f) : 0;
    return hr_field_fixed(f) ? make_dense(e, f, &e->columns->column[i], &c->tensor) : hr__element_varying(e, i);
}

/* ---- what users ask for ---- */

const hr_tensor *hr_get_at(const hr_element *e, int i)
{
    if (i < 0 || i >= e->components) return NULL;
    hr__component *c = &e->component[i];
    if (c->made == e->view) return &c->tensor;
    if (!make_tensor(e, i)) return NULL;
    c->made = e->view;
    return &c->tensor;
}

enum { FEW = 64 /* components that are looked through for a name */ };

/* -1: there is none. Most ask for one after the other, or for the same one of every element. */
static int component_named(hr_element *e, const char *name)
{
    const int fields = e->schema->fields, next = e->hint < fields ? e->hint : 0;
    if (fields > 0 && strcmp(e->schema->field[next].name, name) == 0) return next;
    if (fields > FEW && e->names.count == 0 && hr__map_fields(&e->names, e->schema, NULL) != HR_OK)
        hr__map_free(&e->names); /* no memory: it goes on without */
    if (e->names.count > 0) return hr__map_index(&e->names, name);
    for (int n = 0, i = next > 0 ? next - 1 : fields - 1; n < fields; n++, i = i + 1 < fields ? i + 1 : 0)
        if (strcmp(e->schema->field[i].name, name) == 0) return i;
    return -1;
}

const hr_tensor *hr_get(const hr_element *e, const char *name)
{
    hr_element *own = (hr_element *)e;
    const int i = component_named(own, name);
    if (i >= 0) own->hint = i + 1;
    return hr_get_at(e, i);
}
