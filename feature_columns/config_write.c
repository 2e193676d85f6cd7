/* Columns back to the text that makes them: a schema of what they read, and a line for each column and for each that
 * they are made of. What a file cannot say is an error, so that reading the text gives equal columns or there is none. */
#include "feature_columns/config_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct entry {
    const hr_feature_column *column;
    char *name;  /* in the section */
    bool joined; /* one mapping makes it together with the entry before it */
} entry;

struct hr__column_writer {
    hr__text text;
    entry *entry;
    int entries, capacity;
    const char *own_name;              /* of the column that is being written */
    int at;                            /* its entry */
    const hr_feature_column **sources; /* of hr__write_sources */
    bool first;                        /* item of the list or pair of the mapping */
    hr_status status;
    hr_error *err;
};

static void fail(hr__column_writer *w, hr_status status)
{
    if (w->status == HR_OK) w->status = status;
}

void hr__write_impossible(hr__column_writer *w, const char *what)
{
    if (w->status == HR_OK)
        fail(w, hr_fail(w->err, HR_INVALID_ARGUMENT, "column.write",
                        "column '%.60s': expected what a config file can say, got %s", w->own_name, what));
}

/* ---- scalars ---- */

static bool is_plain(hr_view text)
{
    static const char *const words[] = {"true", "false", "yes", "no",  "on",  "off",
                                        "null", "y",     "n",   "nan", "inf", NULL};
    const char first = text.size > 0 ? text.data[0] : '\0';
    if (text.size > 60 || !((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_'))
        return false;
    if (text.data[text.size - 1] == ' ') return false;
    for (int64_t i = 0; i < text.size; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./ ", text.data[i])) return false;
    for (int i = 0; words[i]; i++)
        if (strlen(words[i]) == (size_t)text.size && strncasecmp(words[i], text.data, (size_t)text.size) == 0)
            return false;
    return true;
}

/* Valid UTF-8 comes back as it is; other bytes would be replaced. */
static void put_scalar(hr__column_writer *w, hr_view text)
{
    if (is_plain(text)) {
        hr__text_bytes(&w->text, text.data, (size_t)text.size);
        return;
    }
    const size_t before = w->text.size;
    hr__text_json(&w->text, text.data, (size_t)text.size);
    static const char replaced[] = "\xef\xbf\xbd";
    for (size_t i = before; !w->text.failed && i + 3 <= w->text.size; i++)
        if (memcmp(w->text.data + i, replaced, 3) == 0) hr__write_impossible(w, "bytes that are not UTF-8");
}

static void put_text(hr__column_writer *w, const char *text) { put_scalar(w, (hr_view){text, (int64_t)strlen(text)}); }

/* As few digits as give the number back, as a float or as a double. */
static void put_number(hr__column_writer *w, double value, bool single)
{
    char text[40];
    if (!isfinite(value)) {
        hr__text_add(&w->text, isnan(value) ? ".nan" : value > 0 ? ".inf" : "-.inf");
        return;
    }
    for (int digits = 6; digits <= (single ? 9 : 17); digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        const double back = strtod(text, NULL);
        if ((single ? (double)(float)back : back) == value) break;
    }
    hr__text_add(&w->text, text);
}

static void put_float(hr__column_writer *w, float value) { put_number(w, (double)value, true); }

/* ---- pairs and items ---- */

static void next(hr__column_writer *w)
{
    if (!w->first) hr__text_add(&w->text, ", ");
    w->first = false;
}

static void put_key(hr__column_writer *w, const char *key)
{
    next(w);
    hr__text_printf(&w->text, "%s: ", key);
}

void hr__write_text(hr__column_writer *w, const char *key, const char *text)
{
    put_key(w, key);
    put_text(w, text);
}

void hr__write_int(hr__column_writer *w, const char *key, int64_t value)
{
    put_key(w, key);
    hr__text_printf(&w->text, "%lld", (long long)value);
}

void hr__write_uint(hr__column_writer *w, const char *key, uint64_t value)
{
    put_key(w, key);
    hr__text_printf(&w->text, "%llu", (unsigned long long)value);
}

void hr__write_float(hr__column_writer *w, const char *key, float value)
{
    put_key(w, key);
    put_float(w, value);
}

void hr__write_double(hr__column_writer *w, const char *key, double value)
{
    put_key(w, key);
    put_number(w, value, false);
}

void hr__write_true(hr__column_writer *w, const char *key)
{
    put_key(w, key);
    hr__text_add(&w->text, "true");
}

void hr__write_false(hr__column_writer *w, const char *key)
{
    put_key(w, key);
    hr__text_add(&w->text, "false");
}

void hr__write_begin_list(hr__column_writer *w, const char *key)
{
    put_key(w, key);
    hr__text_byte(&w->text, '[');
    w->first = true;
}

void hr__write_end_list(hr__column_writer *w)
{
    hr__text_byte(&w->text, ']');
    w->first = false;
}

void hr__write_item_text(hr__column_writer *w, hr_view text)
{
    next(w);
    put_scalar(w, text);
}

void hr__write_item_int(hr__column_writer *w, int64_t value)
{
    next(w);
    hr__text_printf(&w->text, "%lld", (long long)value);
}

void hr__write_floats(hr__column_writer *w, const char *key, const float *values, int64_t count)
{
    hr__write_begin_list(w, key);
    for (int64_t i = 0; i < count; i++) {
        next(w);
        put_float(w, values[i]);
    }
    hr__write_end_list(w);
}

void hr__write_ints(hr__column_writer *w, const char *key, const int64_t *values, int64_t count)
{
    hr__write_begin_list(w, key);
    for (int64_t i = 0; i < count; i++) hr__write_item_int(w, values[i]);
    hr__write_end_list(w);
}

void hr__write_shape(hr__column_writer *w, const char *key, hr_shape shape)
{
    hr__write_ints(w, key, shape.dims, shape.rank);
}

void hr__write_own_field(hr__column_writer *w, const char *key)
{
    if (strcmp(key, w->own_name) != 0) hr__write_text(w, "field", key);
}

void hr__write_dtype(hr__column_writer *w, hr_dtype dtype)
{
    if (dtype != HR_INT64 && dtype != HR_FLOAT && dtype != HR_STRING) hr__write_text(w, "dtype", hr_dtype_name(dtype));
}

/* ---- columns and their names ---- */

static const char *name_of(hr__column_writer *w, const hr_feature_column *column)
{
    for (int i = 0; i < w->entries; i++)
        if (hr__column_digest(w->entry[i].column) == hr__column_digest(column)) return w->entry[i].name;
    return "";
}

void hr__write_column(hr__column_writer *w, const char *key, const hr_feature_column *column)
{
    hr__write_text(w, key, name_of(w, column));
}

void hr__write_item_column(hr__column_writer *w, const hr_feature_column *column)
{
    hr__text text = {0};
    hr__text_printf(&text, "column %s", name_of(w, column));
    if (text.failed)
        fail(w, hr_no_memory(w->err, "columns as a text"));
    else
        hr__write_item_text(w, (hr_view){text.data, (int64_t)text.size});
    hr__text_free(&text);
}

void hr__write_item_name(hr__column_writer *w, const hr_feature_column *column)
{
    const char *name = name_of(w, column);
    hr__write_item_text(w, (hr_view){name, (int64_t)strlen(name)});
}

const hr_feature_column *const *hr__write_sources(hr__column_writer *w, int *count)
{
    int end = w->at + 1;
    while (end < w->entries && w->entry[end].joined) end++;
    *count = 1;
    const hr_feature_column **grown = hr_realloc(w->sources, (size_t)(end - w->at) * sizeof *grown);
    if (!grown) {
        fail(w, hr_no_memory(w->err, "columns as a text"));
        return NULL;
    }
    w->sources = grown;
    *count = end - w->at;
    for (int i = 0; i < *count; i++) grown[i] = hr_feature_column_source(w->entry[w->at + i].column, 0);
    return grown;
}

void hr__write_source(hr__column_writer *w, const char *key, const hr_feature_column *column)
{
    put_key(w, key);
    w->first = true;
    hr__write_item_column(w, column);
}

static bool is_taken(const hr__column_writer *w, const char *name)
{
    for (int i = 0; i < w->entries; i++)
        if (strcmp(w->entry[i].name, name) == 0) return true;
    return false;
}

static bool is_known(const hr__column_writer *w, const hr_feature_column *column)
{
    for (int i = 0; i < w->entries; i++)
        if (hr__column_digest(w->entry[i].column) == hr__column_digest(column)) return true;
    return false;
}

/* `name`, or with a number behind it that makes it the only one. */
static char *own_name(const hr__column_writer *w, const char *name)
{
    const size_t size = strlen(name) + 16;
    char *own = hr_malloc(size);
    if (!own) return NULL;
    snprintf(own, size, "%s", name);
    for (int n = 1; is_taken(w, own); n++) snprintf(own, size, "%s_%d", name, n);
    return own;
}

static hr_status add_entry(hr__column_writer *w, const hr_feature_column *column, const char *name, bool joined)
{
    if (!name && is_known(w, column)) return HR_OK;
    if (w->entries == w->capacity) {
        const int capacity = w->capacity * 2 + 16;
        entry *grown = hr_realloc(w->entry, (size_t)capacity * sizeof *grown);
        if (!grown) return hr_no_memory(w->err, "columns as a text");
        w->entry = grown;
        w->capacity = capacity;
    }
    char *own = joined ? hr_strdup(name) : own_name(w, name ? name : hr_feature_column_info(column)->name);
    if (!own) return hr_no_memory(w->err, "columns as a text");
    w->entry[w->entries++] = (entry){column, own, joined};
    return HR_OK;
}

/* Behind the columns that were asked for, what they are made of. */
static hr_status add_sources(hr__column_writer *w)
{
    const hr_feature_column *source;
    for (int i = 0; i < w->entries; i++)
        for (int k = 0; (source = hr_feature_column_source(w->entry[i].column, k)); k++)
            HR_TRY(add_entry(w, source, NULL, false));
    return HR_OK;
}

static void write_columns(hr__column_writer *w)
{
    hr__text_add(&w->text, "columns:\n");
    for (int i = 0; i < w->entries && w->status == HR_OK; i++) {
        const hr_feature_column *column = w->entry[i].column;
        const hr__column_config *config = hr__config_of_kind(hr_feature_column_kind(column));
        if (w->entry[i].joined) continue;
        w->at = i;
        w->own_name = w->entry[i].name;
        w->first = true;
        if (!config) {
            hr__write_impossible(w, "a kind of column from outside the library");
            return;
        }
        hr__text_add(&w->text, "  ");
        put_text(w, w->own_name);
        hr__text_add(&w->text, ": {");
        config->write(w, column);
        hr__text_add(&w->text, "}\n");
    }
}

/* ---- the schema ---- */

typedef struct field {
    const char *key;
    hr_dtype dtype;
} field;

static const char *word_of(hr_dtype dtype)
{
    return dtype == HR_STRING ? "string" : hr__is_integer(dtype) ? "int64" : "float";
}

/* A key of a cross asks for strings and takes any type: what others say of the feature counts. */
static void note_field(field *known, int *count, const hr_feature *read)
{
    for (int i = 0; i < *count; i++) {
        if (strcmp(known[i].key, read->key) != 0) continue;
        if (known[i].dtype == HR_STRING) known[i].dtype = read->dtype;
        return;
    }
    known[(*count)++] = (field){read->key, read->dtype};
}

static hr_dtype dtype_in(const hr_schema *schema, const field *f)
{
    for (int i = 0; schema && i < schema->fields; i++)
        if (strcmp(schema->field[i].name, f->key) == 0) return schema->field[i].dtype;
    return f->dtype;
}

static int by_key(const void *a, const void *b) { return strcmp(((const field *)a)->key, ((const field *)b)->key); }

static void write_fields(hr__column_writer *w, const hr_schema *schema, field *known, int count)
{
    static const char *const words[] = {"int64", "float", "string"};
    if (count > 0) qsort(known, (size_t)count, sizeof *known, by_key);
    hr__text_add(&w->text, "schema:\n");
    for (int t = 0; t < 3; t++) {
        bool any = false;
        w->first = true;
        for (int i = 0; i < count; i++) {
            if (strcmp(word_of(dtype_in(schema, &known[i])), words[t]) != 0) continue;
            if (!any) hr__text_printf(&w->text, "  %s: [", words[t]);
            any = true;
            hr__write_item_text(w, (hr_view){known[i].key, (int64_t)strlen(known[i].key)});
        }
        if (any) hr__text_add(&w->text, "]\n");
    }
}

static hr_status write_schema(hr__column_writer *w, const hr_schema *schema)
{
    int count = 0, room = 1;
    const hr_feature *read;
    for (int i = 0; i < w->entries; i++)
        for (int k = 0; hr_feature_column_read(w->entry[i].column, k); k++) room++;
    field *known = hr_malloc((size_t)room * sizeof *known);
    if (!known) return hr_no_memory(w->err, "columns as a text");
    for (int i = 0; i < w->entries; i++)
        for (int k = 0; (read = hr_feature_column_read(w->entry[i].column, k)); k++) note_field(known, &count, read);
    write_fields(w, schema, known, count);
    hr_free(known);
    return HR_OK;
}

/* ---- all of it ---- */

static hr_status add_listed(hr__column_writer *w, hr_column_list columns, const char *const *names)
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
    hr__column_writer w = {.err = err};
    *yaml = NULL;
    hr_status st = add_listed(&w, columns, names);
    if (st == HR_OK) st = write_schema(&w, schema);
    if (st == HR_OK) {
        hr__text_byte(&w.text, '\n');
        write_columns(&w);
        st = w.status != HR_OK ? w.status : hr__text_status(&w.text, "columns as a text", err);
    }
    if (st == HR_OK && !(*yaml = hr__text_take(&w.text))) st = hr_no_memory(err, "columns as a text");
    hr__text_free(&w.text);
    for (int i = 0; i < w.entries; i++) hr_free(w.entry[i].name);
    hr_free(w.entry);
    hr_free(w.sources);
    return st;
}

hr_status hr_columns_to_yaml(hr_column_list columns, char **yaml, hr_error *err)
{
    return hr__columns_write(columns, NULL, NULL, yaml, err);
}
