/* The section `schema:` of columns as a text: each feature that they read, once, under the word for its type. */
#include "feature_columns/config/config_writer.h"

#include <stdlib.h>
#include <string.h>

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

hr_status hr__write_schema(hr__column_writer *w, const hr_schema *schema)
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
