/* How the rows of a training's files are read: their format, the dialect of their CSV, and which rows are left out. */
#include "train/training/training_internal.h"
#include <stddef.h>
#include <string.h>

/* ---- the options of CSV ---- */

typedef enum csv_kind { CSV_BYTE, CSV_TEXT, CSV_FLAG, CSV_NUMBER, CSV_TEXTS } csv_kind;

typedef struct csv_key {
    const char *name;
    csv_kind kind;
    size_t at, count; /* where hr_csv_opts has the value, and how many CSV_TEXTS there are */
} csv_key;

#define CSV_KEY(kind, name)                                                                                            \
    {                                                                                                                  \
#name, kind, offsetof(hr_csv_opts, name), 0                                                                    \
    }
static const csv_key csv_keys[] = {
    CSV_KEY(CSV_BYTE, delimiter),
    CSV_KEY(CSV_BYTE, quote),
    CSV_KEY(CSV_BYTE, escape),
    CSV_KEY(CSV_BYTE, separator),
    CSV_KEY(CSV_TEXT, comment),
    CSV_KEY(CSV_NUMBER, skip_lines),
    CSV_KEY(CSV_FLAG, no_header),
    CSV_KEY(CSV_FLAG, no_quotes),
    CSV_KEY(CSV_FLAG, quoted_never_missing),
    CSV_KEY(CSV_FLAG, fill_short_rows),
    CSV_KEY(CSV_FLAG, cut_long_rows),
    CSV_KEY(CSV_FLAG, check_utf8),
    {"na_value", CSV_TEXTS, offsetof(hr_csv_opts, na_values), offsetof(hr_csv_opts, na_value_count)},
    {"names", CSV_TEXTS, offsetof(hr_csv_opts, names), offsetof(hr_csv_opts, name_count)},
    {"rename", CSV_TEXTS, offsetof(hr_csv_opts, rename), offsetof(hr_csv_opts, rename_count)},
    {"drop", CSV_TEXTS, offsetof(hr_csv_opts, drop), offsetof(hr_csv_opts, drop_count)},
};
enum { CSV_KEYS = sizeof csv_keys / sizeof *csv_keys };

/* A list of texts, or one text. Gives *out (hr_free), whose texts are the config's. */
static hr_status rows_read_texts(const hr__node *node, const char *const **out, int *count, hr_error *err)
{
    const hr__node *const *item = node->kind == HR__SCALAR ? &node : node->item;
    const int64_t items = node->kind == HR__SCALAR ? 1 : node->count;
    HR_TRY(hr__node_is(node, HR__SCALAR | HR__SEQUENCE, err));
    const char **texts = hr_calloc((size_t)items + 1, sizeof *texts);
    *out = texts;
    if (!texts) return hr_no_memory(err, "a list of texts");
    for (int64_t i = 0; i < items; i++) HR_TRY(hr__node_text(item[i], &texts[i], err));
    *count = (int)items;
    return HR_OK;
}

static hr_status rows_read_byte(const hr__node *map, const char *key, const char **out, hr_error *err)
{
    HR_TRY(hr__config_text(map, key, out, err));
    if (!*out || strlen(*out) == 1) return HR_OK;
    return hr__node_expected(hr__node_get(map, key), "one byte", err);
}

static hr_status rows_read_csv_key(hr_csv_opts *o, const csv_key *k, const hr__node *map, hr_error *err)
{
    char *at = (char *)o + k->at;
    const hr__node *node = hr__node_get(map, k->name);
    if (!node) return HR_OK;
    if (k->kind == CSV_BYTE) return rows_read_byte(map, k->name, (const char **)(void *)at, err);
    if (k->kind == CSV_TEXT) return hr__config_text(map, k->name, (const char **)(void *)at, err);
    if (k->kind == CSV_FLAG) return hr__config_bool(map, k->name, (bool *)at, err);
    if (k->kind == CSV_NUMBER) return hr__config_int64(map, k->name, 0, INT64_MAX, (int64_t *)(void *)at, err);
    return rows_read_texts(node, (const char *const **)(void *)at, (int *)(void *)((char *)o + k->count), err);
}

static hr_status rows_read_csv(hr_training *t, const hr__node *train, hr_error *err)
{
    const char *names[CSV_KEYS + 1] = {NULL};
    const hr__node *map = hr__node_get(train, "csv");
    t->csv.struct_size = sizeof t->csv;
    if (!map) return HR_OK;
    for (int i = 0; i < CSV_KEYS; i++) names[i] = csv_keys[i].name;
    HR_TRY(hr__config_check_keys(map, names, err));
    for (int i = 0; i < CSV_KEYS; i++) HR_TRY(rows_read_csv_key(&t->csv, &csv_keys[i], map, err));
    t->csv.no_header |= t->csv.name_count > 0;
    return HR_OK;
}

/* ---- the section's other keys of rows ---- */

static hr_status rows_read_format(hr_training *t, const hr__node *train, hr_error *err)
{
    char names[64];
    const char *name = NULL;
    HR_TRY(hr__config_text(train, "format", &name, err));
    if (!name) return HR_OK;
    t->rows.format = hr_file_format_named(name);
    if (t->rows.format != HR_FORMAT_BY_NAME) return HR_OK;
    return hr__node_expected(hr__node_get(train, "format"), hr_file_format_names(names, sizeof names), err);
}

typedef struct required {
    const char **name;
    int count, capacity;
} required;

/* A field of the files; of a derived one those that it is made of. Each comes once. */
static hr_status rows_add_required(const hr_training *t, const char *name, required *list, hr_error *err)
{
    const char *part;
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0) return HR_OK;
    for (int i = 0; i < t->derived.count; i++) {
        if (strcmp(hr_derived_name(t->derived.feature[i]), name) != 0) continue;
        for (int k = 0; (part = hr_derived_field(t->derived.feature[i], k)); k++)
            HR_TRY(rows_add_required(t, part, list, err));
        return HR_OK;
    }
    if (list->count == list->capacity) {
        const char **grown = hr_realloc(list->name, sizeof *grown * 2 * ((size_t)list->capacity + 4));
        if (!grown) return hr_no_memory(err, "required fields");
        list->name = grown;
        list->capacity = 2 * (list->capacity + 4);
    }
    list->name[list->count++] = name;
    return HR_OK;
}

static hr_status rows_read_require(hr_training *t, const hr__node *train, hr_error *err)
{
    const hr__node *node = hr__node_get(train, "require");
    const char *const *named = NULL;
    int names = 0;
    required list = {0};
    if (!node) return HR_OK;
    hr_status st = rows_read_texts(node, &named, &names, err);
    for (int i = 0; st == HR_OK && i < names; i++) {
        st = hr__training_need_field(node->kind == HR__SCALAR ? node : node->item[i], &t->all, err);
        if (st == HR_OK) st = rows_add_required(t, named[i], &list, err);
    }
    hr_free((void *)(uintptr_t)named);
    t->rows.require = list.name;
    t->rows.require_count = list.count;
    return st;
}

hr_status hr__training_read_rows(hr_training *t, const hr__node *train, hr_error *err)
{
    t->rows = (hr_example_rows_opts){
        .struct_size = sizeof t->rows, .schema = &t->schema_file, .csv = &t->csv, .whole_records = true};
    HR_TRY(rows_read_csv(t, train, err));
    HR_TRY(rows_read_format(t, train, err));
    return rows_read_require(t, train, err);
}

void hr__training_free_rows(hr_training *t)
{
    for (int i = 0; i < CSV_KEYS; i++)
        if (csv_keys[i].kind == CSV_TEXTS) hr_free(*(void **)(void *)((char *)&t->csv + csv_keys[i].at));
    hr_free((void *)(uintptr_t)t->rows.require);
}
