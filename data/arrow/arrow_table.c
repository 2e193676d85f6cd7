/* Which components come out of Arrow struct arrays: see arrow_rows.h. A struct among the children gives those of its
 * own, by names with a slash. */
#include "base/hash_map.h"
#include "data/arrow/arrow_rows.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- leaves ---- */

static bool is_struct(const struct ArrowSchema *schema) { return schema->format && strcmp(schema->format, "+s") == 0; }

static hr_status check_struct(const hr__arrow_table *t, const struct ArrowSchema *schema, int depth, hr_error *err)
{
    if (!is_struct(schema))
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.format",
                       "%s: expected a struct array (+s), whose children are the components, got the format '%.20s'",
                       t->who, schema->format ? schema->format : "");
    if (depth == HR__ARROW_DEPTH)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.format", "%s: expected at most %d structs in structs",
                       t->who, HR__ARROW_DEPTH);
    if (schema->n_children < 1 || schema->n_children > INT32_MAX || !schema->children)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array", "%s: expected at least one column, got %" PRId64,
                       t->who, schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++)
        if (!schema->children[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array",
                           "%s: expected a schema of column %" PRId64 ", got NULL", t->who, i);
    return HR_OK;
}

/* "person/age"; gives it. */
static char *path_name(const char *above, const char *name)
{
    if (!name) name = "";
    const size_t size = strlen(above) + strlen(name) + 2;
    char *path = hr_malloc(size);
    if (path) snprintf(path, size, "%s%s%s", above, *above ? "/" : "", name);
    return path;
}

static hr_status count_leaves(const hr__arrow_table *t, const struct ArrowSchema *schema, int depth, int64_t *count,
                              hr_error *err)
{
    HR_TRY(check_struct(t, schema, depth, err));
    for (int64_t i = 0; i < schema->n_children; i++)
        if (is_struct(schema->children[i]))
            HR_TRY(count_leaves(t, schema->children[i], depth + 1, count, err));
        else
            ++*count;
    return HR_OK;
}

/* Below `at`, which says name and path of the struct. */
static hr_status add_leaves(hr__arrow_table *t, const struct ArrowSchema *schema, const hr__arrow_type *at,
                            hr_error *err)
{
    hr_status status = HR_OK;
    for (int64_t i = 0; i < schema->n_children && status == HR_OK; i++) {
        hr__arrow_type own = *at;
        own.path[own.depth++] = i;
        own.name = path_name(at->name, schema->children[i]->name);
        if (!own.name) return hr_no_memory(err, t->who);
        if (is_struct(schema->children[i])) {
            status = add_leaves(t, schema->children[i], &own, err);
            hr_free((char *)own.name);
        } else {
            t->leaf[t->leaves] = own;
            status = hr__arrow_type_of(schema->children[i], &t->leaf[t->leaves++], err);
        }
    }
    return status;
}

static hr_status open_leaves(hr__arrow_table *t, hr_error *err)
{
    int64_t count = 0;
    HR_TRY(count_leaves(t, &t->schema, 0, &count, err));
    t->leaf = hr_calloc((size_t)count, sizeof *t->leaf);
    if (!t->leaf) return hr_no_memory(err, t->who);
    return add_leaves(t, &t->schema, &(hr__arrow_type){.name = ""}, err);
}

/* ---- components ---- */

static hr_status add_leaf(hr__arrow_table *t, int i, const char *label, hr_error *err)
{
    const hr__arrow_type *from = &t->leaf[i];
    hr__arrow_component *c = &t->component[i];
    *c = (hr__arrow_component){.leaf = i, .count = from->width, .group = 1};
    c->field = (hr_field){.name = from->name, .dtype = from->values.dtype};
    if (from->values.form == HR__ARROW_NOTHING)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.format",
                       "%s: column '%.60s': expected a type, got a column of nulls; give a spec", t->who, from->name);
    if (from->width < 0) c->field.layout = HR_RAGGED;
    if (from->list != HR__ARROW_SCALAR) c->field.shape = HR_SHAPE(from->width);
    c->field.label = label && strcmp(label, from->name) == 0;
    return HR_OK;
}

/* Adds the names of leaves with their places. */
static hr_status name_leaves(const hr__arrow_table *t, hr__map *names, hr_error *err)
{
    for (int i = 0; i < t->leaves; i++) {
        const hr_status st = hr__map_add(names, t->leaf[i].name, strlen(t->leaf[i].name), i, err);
        if (st != HR_ALREADY_EXISTS) HR_TRY(st);
    }
    return HR_OK;
}

static hr_status arrow_table_add_feature(hr__arrow_table *t, int i, const hr_feature *f, const hr__map *leaves,
                                         hr_error *err)
{
    hr__arrow_component *c = &t->component[i];
    *c = (hr__arrow_component){
        .leaf = hr__map_index(leaves, f->key), .field = t->plan->field[i], .count = -1, .group = 1};
    if (c->leaf < 0)
        return hr_fail(err, HR_NOT_FOUND, "from_arrow.column", "%s: expected a column '%.60s', got none", t->who,
                       f->key);
    if (f->kind == HR_SPARSE_FEATURE || (f->kind == HR_RAGGED_FEATURE && f->partition_count > 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.feature",
                       "%s: feature '%.60s': expected a fixed length, a sequence or a list of any length, got another "
                       "kind of feature",
                       t->who, f->key);
    if (!hr__arrow_converts(&t->leaf[c->leaf], f->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.dtype", "%s: feature '%.60s': expected %s, got %s", t->who,
                       f->key, hr_dtype_name(f->dtype), hr_dtype_name(t->leaf[c->leaf].values.dtype));
    if (f->kind == HR_FIXED_LEN) c->count = hr_shape_count(f->shape);
    if (f->kind == HR_FIXED_LEN_SEQUENCE) c->group = hr_shape_count(f->shape);
    c->default_values = f->kind == HR_FIXED_LEN ? t->plan->output[i].default_values : NULL;
    return HR_OK;
}

static hr_status add_components(hr__arrow_table *t, const hr_parse_spec *spec, const char *label, hr_error *err)
{
    if (spec) HR_TRY(hr__parse_plan_new(spec, HR__PARSE_EXAMPLE, label, &t->plan, err));
    const int count = spec ? spec->features : t->leaves;
    t->component = hr_calloc((size_t)count, sizeof *t->component);
    if (!t->component) return hr_no_memory(err, t->who);
    hr__map leaves = {0};
    hr_status st = spec ? name_leaves(t, &leaves, err) : HR_OK;
    for (; st == HR_OK && t->components < count; t->components += st == HR_OK) {
        st = spec ? arrow_table_add_feature(t, t->components, &spec->feature[t->components], &leaves, err)
                  : add_leaf(t, t->components, label, err);
        t->lists |= t->component[t->components].count < 0;
    }
    hr__map_free(&leaves);
    return st;
}

hr_status hr__arrow_table_open(hr__arrow_table *t, const hr_parse_spec *spec, const char *label, hr_error *err)
{
    if (!t->schema.release)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array",
                       "%s: expected a schema, got NULL, or one that is released already", t->who);
    HR_TRY(open_leaves(t, err));
    return add_components(t, spec, label, err);
}

void hr__arrow_table_clear(hr__arrow_table *t)
{
    if (t->schema.release) t->schema.release(&t->schema);
    hr__parse_plan_free(t->plan);
    for (int i = 0; i < t->leaves; i++) hr_free((char *)t->leaf[i].name);
    hr_free(t->leaf);
    hr_free(t->component);
}

hr_status hr__arrow_table_fields(const hr__arrow_table *t, hr_schema_builder *out, hr_error *err)
{
    for (int i = 0; i < t->components; i++) HR_TRY(hr_schema_add(out, t->component[i].field, err));
    return HR_OK;
}

void hr__arrow_table_identity(const hr__arrow_table *t, uint64_t *sum)
{
    for (int i = 0; i < t->components; i++) {
        hr_identify_text(sum, t->leaf[t->component[i].leaf].name);
        hr_identify_i64(sum, t->leaf[t->component[i].leaf].values.dtype);
        hr_identify_i64(sum, t->component[i].field.dtype);
    }
}

void hr__arrow_table_describe(const hr__arrow_table *t, hr_description *to)
{
    hr_describe_number(to, "components", t->components);
}

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static bool same_schema(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    if (!a || !b) return a == b;
    bool same = same_text(a->format, b->format) && same_text(a->name, b->name) && a->n_children == b->n_children &&
                same_schema(a->dictionary, b->dictionary);
    for (int64_t i = 0; same && i < a->n_children; i++) same = same_schema(a->children[i], b->children[i]);
    return same;
}

hr_status hr__arrow_table_agrees(const hr__arrow_table *t, const struct ArrowSchema *schema, hr_error *err)
{
    if (same_schema(&t->schema, schema)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array",
                   "%s: expected the schema of the first stream, got another one", t->who);
}

/* ---- arrays of the schema ---- */

hr_status hr__arrow_batch_open(const hr__arrow_table *t, hr__arrow_batch *batch, hr_error *err)
{
    if (!batch->array.release)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array",
                       "%s: expected an array, got NULL, or one that is released already", t->who);
    if (batch->array.n_children != t->schema.n_children)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array",
                       "%s: expected as many columns in the array as in its schema, got %" PRId64 " and %" PRId64,
                       t->who, batch->array.n_children, t->schema.n_children);
    batch->column = hr_calloc((size_t)t->components + 1, sizeof *batch->column);
    if (!batch->column) return hr_no_memory(err, t->who);
    for (int i = 0; i < t->components; i++)
        HR_TRY(hr__arrow_column_open(&t->leaf[t->component[i].leaf], &batch->array, &batch->column[i], err));
    return HR_OK;
}

void hr__arrow_batch_clear(hr__arrow_batch *batch)
{
    if (batch->array.release) batch->array.release(&batch->array);
    hr_free(batch->column);
    batch->column = NULL;
}
