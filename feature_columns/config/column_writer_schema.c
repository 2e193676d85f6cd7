/* Writes the section `schema:`: each feature that the columns read, once, under the word for its type. */
#include "feature_columns/config/column_writer.h"

#include <stdlib.h>
#include <string.h>

typedef struct field {
    const char *key;
    hr_dtype dtype;
} field;

static const char *column_writer_schema_word_of(hr_dtype dtype)
{
    return dtype == HR_STRING ? "string" : hr_dtype_is_integer(dtype) ? "int64" : "float";
}

/* A key of a cross asks for strings and takes any type: what others say of the feature counts. */
static hr_status note_field(hr__map *names, field *known, const hr_feature *read, hr_error *err)
{
    const hr_status st = hr__map_add(names, read->key, strlen(read->key), names->count, err);
    if (st != HR_OK && st != HR_ALREADY_EXISTS) return st;
    field *f = &known[hr__map_index(names, read->key)];
    if (st == HR_OK) *f = (field){read->key, read->dtype};
    if (f->dtype == HR_STRING) f->dtype = read->dtype;
    return HR_OK;
}

/* What the schema says of a field counts. */
static hr_status take_types(const hr_schema *schema, const hr__map *names, field *known, hr_error *err)
{
    hr__map fields = {0};
    const hr_status st = schema ? hr__map_fields(&fields, schema, err) : HR_OK;
    for (uint32_t i = 0; st == HR_OK && i < names->count; i++) {
        const int at = hr__map_index(&fields, known[i].key);
        if (at >= 0) known[i].dtype = schema->field[at].dtype;
    }
    hr__map_free(&fields);
    return st;
}

static int write_schema_by_key(const void *a, const void *b)
{
    return strcmp(((const field *)a)->key, ((const field *)b)->key);
}

static void write_fields(hr_config_writer *w, field *known, int count)
{
    static const char *const words[] = {"int64", "float", "string"};
    if (count > 0) qsort(known, (size_t)count, sizeof *known, write_schema_by_key);
    hr__text_add(&w->text, "schema:\n");
    for (int t = 0; t < 3; t++) {
        bool any = false;
        w->first = true;
        for (int i = 0; i < count; i++) {
            if (strcmp(column_writer_schema_word_of(known[i].dtype), words[t]) != 0) continue;
            if (!any) hr__text_printf(&w->text, "  %s: [", words[t]);
            any = true;
            hr_config_item_text(w, (hr_view){known[i].key, (int64_t)strlen(known[i].key)});
        }
        if (any) hr__text_add(&w->text, "]\n");
    }
}

hr_status hr__write_schema(hr_config_writer *w, const hr_schema *schema)
{
    int max = 1;
    const hr_feature *read;
    hr__map names = {0};
    hr_status st = HR_OK;
    for (int i = 0; i < w->entries; i++)
        for (int k = 0; hr_feature_column_read(w->entry[i].column, k); k++) max++;
    field *known = hr_malloc((size_t)max * sizeof *known);
    if (!known) return hr_no_memory(w->err, "columns as a text");
    for (int i = 0; i < w->entries && st == HR_OK; i++)
        for (int k = 0; st == HR_OK && (read = hr_feature_column_read(w->entry[i].column, k)); k++)
            st = note_field(&names, known, read, w->err);
    if (st == HR_OK) st = take_types(schema, &names, known, w->err);
    if (st == HR_OK) write_fields(w, known, (int)names.count);
    hr__map_free(&names);
    hr_free(known);
    return st;
}
