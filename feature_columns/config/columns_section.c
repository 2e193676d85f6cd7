/* Reads the section `columns:` of a config file. Columns may name one another in any order: each is made when it is
 * first asked for. A column that is made of itself is refused. */
#include "base/hash_map.h"
#include "feature_columns/config/columns_section.h"

#include <string.h>

typedef enum making { NOT_YET, UNDER_WAY, MADE } making;

/* The columns that a mapping makes: mostly one. */
typedef struct made {
    hr_feature_column **column;
    int count;
} made;

typedef struct named_column {
    const hr__node *key, *map;
    made made;
    making state;
} named_column;

struct hr__config_columns {
    made listed;              /* the named ones again, as a list: they are the names' */
    const char **listed_name; /* of each */
    const hr_schema *schema;
    const hr__node *defaults;
    named_column *named;
    const char **names; /* of all columns, then of all fields: for suggestions */
    int64_t count;
    hr__map by_name, fields; /* columns and fields of the schema */
};

/* ---- one column ---- */

/* The words of all kinds, for a suggestion. */
static hr_status unknown_kind(const hr__node *map, hr_error *err)
{
    enum { MAX = 256 };
    const char *words[MAX];
    const hr_column_kind *kind;
    int count = 0;
    for (int k = 0; count < MAX && (kind = hr__column_kind_at(k)); k++)
        if (kind->config) words[count++] = kind->config->word;
    return hr__node_unknown(map->key[0], "kind of column", words, count, err);
}

/* The kind is the one key of the mapping that is a kind's word. */
static hr_status find_kind(const hr__node *map, const hr_column_config **config, hr_error *err)
{
    const hr_column_kind *kind;
    *config = NULL;
    for (int k = 0; (kind = hr__column_kind_at(k)); k++) {
        if (!kind->config || !hr__node_get(map, kind->config->word)) continue;
        if (*config)
            return hr__node_fail(map, err, HR_INVALID_ARGUMENT, "config.value",
                                 "expected one kind of column, found '%s' and '%s'", (*config)->word,
                                 kind->config->word);
        *config = kind->config;
    }
    if (*config) return HR_OK;
    if (map->count > 0) return unknown_kind(map, err);
    return hr__node_expected(map, "a column, such as {numeric: temp}", err);
}

static void column_config_forget(made *m)
{
    for (int i = 0; i < m->count; i++) hr_feature_column_unref(m->column[i]);
    hr_free(m->column);
    *m = (made){0};
}

/* Reads columns out of their mapping; an error of a column gets the mapping's place. What was made stays in `out`. */
static hr_status read_columns(hr__config_columns *c, const hr__node *map, const char *name, made *out, hr_error *err)
{
    enum { MAX_COLUMNS = 1 << 24 };
    HR_TRY(hr__node_is(map, HR__MAPPING, err));
    const hr_column_config *config;
    hr_config_reader reader = {c, map, name};
    HR_TRY(find_kind(map, &config, err));
    HR_TRY(hr__config_check_keys(map, config->keys, err));
    const int64_t count = config->columns ? config->columns(&reader) : 1;
    if (count < 0 || count > MAX_COLUMNS)
        return hr_fail(err, HR_INTERNAL, "column.kind", "%s: expected 0 to %d columns of a mapping, got %lld",
                       config->word, MAX_COLUMNS, (long long)count);
    out->column = hr_calloc((size_t)count + 1, sizeof *out->column);
    if (!out->column) return hr_no_memory(err, "the columns of a config file");
    out->count = (int)count;
    hr_error why = {0};
    const hr_status st = hr__column_answer(config->word, config->read(&reader, out->column, &why), &why);
    if (st != HR_OK && err) *err = why;
    HR_TRY(st);
    for (int i = 0; i < out->count; i++) {
        if (!out->column[i])
            return hr_fail(err, HR_INTERNAL, "column.kind", "%s: expected a column of read, got NULL", config->word);
        const hr_error *failed = hr_feature_column_error(out->column[i]);
        if (failed) return hr__node_fail(map, err, failed->code, failed->kind, "%s", failed->text);
    }
    return HR_OK;
}

static hr_status column_config_make(hr__config_columns *c, named_column *n, const hr__node *from, hr_error *err)
{
    if (n->state == MADE) return HR_OK;
    if (n->state == UNDER_WAY)
        return hr__node_fail(from, err, HR_INVALID_ARGUMENT, "config.circle",
                             "expected a column that is not made of itself, found '%s'", n->key->text);
    n->state = UNDER_WAY;
    HR_TRY(read_columns(c, n->map, n->key->text, &n->made, err));
    n->state = MADE;
    return HR_OK;
}

static named_column *column_config_find(const hr__config_columns *c, const char *name)
{
    const int i = hr__map_index(&c->by_name, name);
    return i >= 0 ? &c->named[i] : NULL;
}

/* What a name stands for, made if need be. */
static hr_status find_made(hr__config_columns *c, const hr__node *node, const char *name, const made **out,
                           hr_error *err)
{
    named_column *n = column_config_find(c, name);
    if (!n) {
        const char *near = hr_suggest(name, c->names, c->count);
        return hr__node_fail(node, err, HR_INVALID_ARGUMENT, "config.unknown_name", "unknown column '%s'; %s%s%s", name,
                             near ? "did you mean '" : "define it under `columns:`", near ? near : "",
                             near ? "'?" : "");
    }
    HR_TRY(column_config_make(c, n, node, err));
    *out = &n->made;
    return HR_OK;
}

hr_status hr__config_named(hr__config_columns *c, const hr__node *node, const char *name, hr_feature_column **out,
                           hr_error *err)
{
    const made *m;
    HR_TRY(find_made(c, node, name, &m, err));
    if (m->count != 1)
        return hr__node_fail(node, err, HR_INVALID_ARGUMENT, "config.value",
                             "expected one column, found '%s', which makes %d", name, m->count);
    *out = hr_feature_column_ref(m->column[0]);
    return HR_OK;
}

/* ---- fields ---- */

hr_status hr__config_field_type(const hr__config_columns *c, const hr__node *node, const char *name, hr_dtype *dtype,
                                hr_error *err)
{
    const int i = hr__map_index(&c->fields, name);
    if (i >= 0) {
        *dtype = c->schema->field[i].dtype;
        return HR_OK;
    }
    const char *near = hr_suggest(name, c->names + c->count, c->schema->fields);
    return hr__node_fail(node, err, HR_INVALID_ARGUMENT, "config.unknown_name", "unknown field '%s'; %s%s%s", name,
                         near ? "did you mean '" : "the fields are those of `schema:`", near ? near : "",
                         near ? "'?" : "");
}

const hr__node *hr__config_default_of(const hr__config_columns *c, const char *field)
{
    return c->defaults ? hr__node_get(c->defaults, field) : NULL;
}

/* ---- the section ---- */

static hr_status collect_names(hr__config_columns *c, const hr__node *columns, hr_error *err)
{
    c->count = columns ? columns->count : 0;
    c->named = hr_calloc((size_t)c->count + 1, sizeof *c->named);
    c->names = hr_calloc((size_t)c->count + (size_t)c->schema->fields + 1, sizeof *c->names);
    if (!c->named || !c->names) return hr_no_memory(err, "the columns of a config file");
    for (int64_t i = 0; i < c->count; i++) {
        c->named[i] = (named_column){.key = columns->key[i], .map = columns->item[i]};
        c->names[i] = columns->key[i]->text;
        const hr_status st = hr__map_add(&c->by_name, c->names[i], strlen(c->names[i]), i, err);
        if (st != HR_ALREADY_EXISTS) HR_TRY(st);
    }
    for (int i = 0; i < c->schema->fields; i++) c->names[c->count + i] = c->schema->field[i].name;
    return hr__map_fields(&c->fields, c->schema, err);
}

static hr_status list_columns(hr__config_columns *c, hr_error *err)
{
    int64_t count = 0;
    for (int64_t i = 0; i < c->count; i++) count += c->named[i].made.count;
    if (count > INT32_MAX / 2)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "memory", "no memory for so many columns of a config file");
    c->listed.column = hr_calloc((size_t)count + 1, sizeof *c->listed.column);
    c->listed_name = hr_calloc((size_t)count + 1, sizeof *c->listed_name);
    if (!c->listed.column || !c->listed_name) return hr_no_memory(err, "the columns of a config file");
    for (int64_t i = 0; i < c->count; i++)
        for (int k = 0; k < c->named[i].made.count; k++) {
            c->listed_name[c->listed.count] = c->named[i].key->text;
            c->listed.column[c->listed.count++] = c->named[i].made.column[k];
        }
    return HR_OK;
}

hr_status hr__columns_from_config(const hr__node *columns, const hr_schema *schema, const hr__node *defaults,
                                  hr__config_columns **out, hr_error *err)
{
    *out = NULL;
    if (columns) HR_TRY(hr__node_is(columns, HR__MAPPING, err));
    hr__config_columns *c = hr_calloc(1, sizeof *c);
    if (!c) return hr_no_memory(err, "the columns of a config file");
    c->schema = schema;
    c->defaults = defaults;
    hr_status st = collect_names(c, columns, err);
    for (int64_t i = 0; i < c->count && st == HR_OK; i++)
        st = column_config_make(c, &c->named[i], c->named[i].key, err);
    if (st == HR_OK) st = list_columns(c, err);
    if (st != HR_OK) {
        hr__config_columns_free(c);
        return st;
    }
    *out = c;
    return HR_OK;
}

void hr__config_columns_free(hr__config_columns *c)
{
    if (!c) return;
    for (int64_t i = 0; c->named && i < c->count; i++) column_config_forget(&c->named[i].made);
    hr_free(c->named);
    hr__map_free(&c->by_name);
    hr__map_free(&c->fields);
    hr_free(c->names);
    hr_free(c->listed.column);
    hr_free(c->listed_name);
    hr_free(c);
}

hr_column_list hr__config_columns_list(const hr__config_columns *c)
{
    return (hr_column_list){c->listed.column, c->listed.count};
}

const char *const *hr__config_columns_names(const hr__config_columns *c) { return c->listed_name; }

hr_feature_column *hr__config_columns_find(const hr__config_columns *c, const char *name)
{
    const named_column *n = column_config_find(c, name);
    return n && n->made.count > 0 ? n->made.column[0] : NULL;
}

/* ---- lists ---- */

static hr_status columns_section_read_indicator(hr__config_columns *c, const hr__node *item, const char *of, made *out,
                                                hr_error *err)
{
    out->column = hr_calloc(1, sizeof *out->column);
    if (!out->column) return hr_no_memory(err, "a list of columns");
    HR_TRY(hr__config_named(c, item, of, out->column, err));
    out->count = 1;
    out->column[0] = hr_indicator_column(out->column[0]);
    const hr_error *failed = hr_feature_column_error(out->column[0]);
    return failed ? hr__node_fail(item, err, failed->code, failed->kind, "%s", failed->text) : HR_OK;
}

/* All that a name stands for. */
static hr_status column_config_read_names(hr__config_columns *c, const hr__node *item, made *out, hr_error *err)
{
    const made *m;
    const char *text, *after = hr_config_after(item, "column");
    HR_TRY(hr__node_text(item, &text, err));
    HR_TRY(find_made(c, item, after ? after : text, &m, err));
    out->column = hr_calloc((size_t)m->count + 1, sizeof *out->column);
    if (!out->column) return hr_no_memory(err, "a list of columns");
    for (; out->count < m->count; out->count++) out->column[out->count] = hr_feature_column_ref(m->column[out->count]);
    return HR_OK;
}

static hr_status read_item(hr__config_columns *c, const hr__node *item, made *out, hr_error *err)
{
    HR_TRY(hr__node_is(item, HR__SCALAR | HR__MAPPING, err));
    if (item->kind == HR__MAPPING) return read_columns(c, item, NULL, out, err);
    const char *of = hr_config_after(item, "indicator");
    return of ? columns_section_read_indicator(c, item, of, out, err) : column_config_read_names(c, item, out, err);
}

/* Moves the columns of an item after those of the list, of the capacity *capacity. */
static hr_status column_config_append(hr_column_list *list, int *capacity, made *item, hr_error *err)
{
    hr_feature_column **column = (hr_feature_column **)(uintptr_t)list->column;
    if (item->count > *capacity - list->count) {
        const int64_t wanted = 2 * (int64_t)list->count + item->count;
        column = wanted <= INT32_MAX ? hr_realloc(column, (size_t)wanted * sizeof *column) : NULL;
        if (!column) return hr_no_memory(err, "a list of columns");
        *capacity = (int)wanted;
    }
    for (int i = 0; i < item->count; i++) column[list->count++] = item->column[i];
    list->column = column;
    item->count = 0;
    return HR_OK;
}

void hr__column_list_free(hr_column_list *list)
{
    for (int i = 0; i < list->count; i++) hr_feature_column_unref(list->column[i]);
    hr_free((void *)(uintptr_t)list->column);
    *list = (hr_column_list){0};
}

hr_status hr__column_list_from_config(hr__config_columns *c, const hr__node *list, hr_column_list *out, hr_error *err)
{
    *out = (hr_column_list){0};
    HR_TRY(hr__node_is(list, HR__SEQUENCE, err));
    if (list->count > INT32_MAX / 2) return hr__node_expected(list, "fewer columns", err);
    hr_status st = HR_OK;
    int capacity = 0;
    for (int64_t i = 0; i < list->count && st == HR_OK; i++) {
        made item = {0};
        st = read_item(c, list->item[i], &item, err);
        if (st == HR_OK) st = column_config_append(out, &capacity, &item, err);
        column_config_forget(&item);
    }
    if (st != HR_OK) hr__column_list_free(out);
    return st;
}
