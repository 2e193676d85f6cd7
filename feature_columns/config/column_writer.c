/* Writes columns as a config file: a schema of the features that they read, then a line for each column and for each of
 * its sources. Reading the text gives equal columns; a column that a file cannot say is an error. */
#include "feature_columns/config/column_writer.h"

#include <stdio.h>
#include <string.h>

/* ---- columns and their names ---- */

/* The first that is equal; NULL: none. */
static const hr__column_entry *column_writer_find_entry(const hr_config_writer *w, const hr_feature_column *column)
{
    const uint64_t digest = hr__column_digest(column);
    const int64_t *found = hr__map_find(&w->by_digest, (const char *)&digest, sizeof digest);
    return found ? &w->entry[*found] : NULL;
}

/* `name`, or with a number after it that makes it the only one. */
static char *own_name(const hr_config_writer *w, const char *name)
{
    const size_t length = strlen(name), size = length + 16;
    char *own = hr_malloc(size);
    if (!own) return NULL;
    memcpy(own, name, length + 1);
    int64_t *asked = hr__map_find(&w->by_name, name, length);
    while (hr__map_index(&w->by_name, own) >= 0) snprintf(own, size, "%s_%d", name, (int)++*asked);
    return own;
}

/* Puts the newest entry into the maps. */
static hr_status column_writer_note_entry(hr_config_writer *w)
{
    const hr__column_entry *e = &w->entry[w->entries - 1];
    const uint64_t digest = hr__column_digest(e->column);
    hr_status st = hr__map_add(&w->by_digest, (const char *)&digest, sizeof digest, w->entries - 1, w->err);
    if (st == HR_OK || st == HR_ALREADY_EXISTS) st = hr__map_add(&w->by_name, e->name, strlen(e->name), 0, w->err);
    return st == HR_ALREADY_EXISTS ? HR_OK : st;
}

static hr_status add_entry(hr_config_writer *w, const hr_feature_column *column, const char *name, bool joined)
{
    if (!name && column_writer_find_entry(w, column)) return HR_OK;
    if (w->entries == w->capacity) {
        const int capacity = w->capacity * 2 + 16;
        hr__column_entry *grown = hr_realloc(w->entry, (size_t)capacity * sizeof *grown);
        if (!grown) return hr_no_memory(w->err, "columns as a text");
        w->entry = grown;
        w->capacity = capacity;
    }
    char *own = joined ? hr_strdup(name) : own_name(w, name ? name : hr_feature_column_info(column)->name);
    if (!own) return hr_no_memory(w->err, "columns as a text");
    w->entry[w->entries++] = (hr__column_entry){column, own, joined};
    return column_writer_note_entry(w);
}

/* The sources of the columns come after the columns that were asked for. */
static hr_status add_sources(hr_config_writer *w)
{
    const hr_feature_column *source;
    for (int i = 0; i < w->entries; i++)
        for (int k = 0; (source = hr_feature_column_source(w->entry[i].column, k)); k++)
            HR_TRY(add_entry(w, source, NULL, false));
    return HR_OK;
}

/* ---- how columns name those that they are made of ---- */

static const char *column_writer_name_of(const hr_config_writer *w, const hr_feature_column *column)
{
    const hr__column_entry *found = column_writer_find_entry(w, column);
    return found ? found->name : "";
}

void hr_config_write_column(hr_config_writer *w, const char *key, const hr_feature_column *column)
{
    hr_config_write_text(w, key, column_writer_name_of(w, column));
}

void hr_config_item_source(hr_config_writer *w, const hr_feature_column *column)
{
    hr__text text = {0};
    hr__text_printf(&text, "column %s", column_writer_name_of(w, column));
    if (text.failed)
        hr__write_fail(w, hr_no_memory(w->err, "columns as a text"));
    else
        hr_config_item_text(w, (hr_view){text.data, (int64_t)text.size});
    hr__text_free(&text);
}

void hr_config_item_column(hr_config_writer *w, const hr_feature_column *column)
{
    const char *name = column_writer_name_of(w, column);
    hr_config_item_text(w, (hr_view){name, (int64_t)strlen(name)});
}

const hr_feature_column *const *hr_config_write_sources(hr_config_writer *w, int *count)
{
    int end = w->at + 1;
    while (end < w->entries && w->entry[end].joined) end++;
    *count = 1;
    const hr_feature_column **grown = hr_realloc(w->sources, (size_t)(end - w->at) * sizeof *grown);
    if (!grown) {
        hr__write_fail(w, hr_no_memory(w->err, "columns as a text"));
        return NULL;
    }
    w->sources = grown;
    *count = end - w->at;
    for (int i = 0; i < *count; i++) grown[i] = hr_feature_column_source(w->entry[w->at + i].column, 0);
    return grown;
}

void hr_config_write_source(hr_config_writer *w, const char *key, const hr_feature_column *column)
{
    hr__write_key(w, key);
    w->first = true;
    hr_config_item_source(w, column);
}

/* ---- all of it ---- */

/* Entry `i`: its name, and the mapping that makes it. */
static void write_line(hr_config_writer *w, int i)
{
    const hr_feature_column *column = w->entry[i].column;
    const hr_column_kind *kind = hr__column_kind_listed(column);
    w->at = i;
    w->own_name = w->entry[i].name;
    w->first = true;
    if (!kind || !kind->config->write) {
        hr_config_write_impossible(w, "a kind of column from outside that is not registered or cannot be written");
        return;
    }
    hr__text_add(&w->text, "  ");
    hr__write_scalar(w, w->own_name);
    hr__text_add(&w->text, ": {");
    kind->config->write(w, column);
    hr__text_add(&w->text, "}\n");
}

static void write_columns(hr_config_writer *w)
{
    hr__text_add(&w->text, "columns:\n");
    for (int i = 0; i < w->entries && w->status == HR_OK; i++)
        if (!w->entry[i].joined) write_line(w, i);
}

static hr_status add_listed(hr_config_writer *w, hr_column_list columns, const char *const *names)
{
    for (int i = 0; i < columns.count; i++) {
        const hr_error *failed = hr_feature_column_error(columns.column[i]);
        if (failed && w->err) *w->err = *failed;
        if (failed) return failed->code;
        const bool joined = names && i > 0 && strcmp(names[i], names[i - 1]) == 0;
        HR_TRY(add_entry(w, columns.column[i], names ? names[i] : NULL, joined));
    }
    return add_sources(w);
}

hr_status hr__columns_write(hr_column_list columns, const char *const *names, const hr_schema *schema, char **yaml,
                            hr_error *err)
{
    hr_config_writer w = {.err = err};
    *yaml = NULL;
    hr_status st = add_listed(&w, columns, names);
    if (st == HR_OK) st = hr__write_schema(&w, schema);
    if (st == HR_OK) {
        hr__text_byte(&w.text, '\n');
        write_columns(&w);
        st = w.status != HR_OK ? w.status : hr__text_status(&w.text, "columns as a text", err);
    }
    if (st == HR_OK && !(*yaml = hr__text_take(&w.text))) st = hr_no_memory(err, "columns as a text");
    hr__text_free(&w.text);
    for (int i = 0; i < w.entries; i++) hr_free(w.entry[i].name);
    hr_free(w.entry);
    hr__map_free(&w.by_digest);
    hr__map_free(&w.by_name);
    hr_free(w.sources);
    return st;
}

hr_status hr_columns_to_yaml(hr_column_list columns, char **yaml, hr_error *err)
{
    return hr__columns_write(columns, NULL, NULL, yaml, err);
}
