/* Reads the section `derived:` of a config file. */
#include "feature_columns/derived/derived_section.h"
#include "feature_columns/config/columns_section.h"
#include "feature_columns/derived/derived_internal.h"
#include <string.h>

void hr__derived_list_free(hr_derived_list *list)
{
    for (int i = 0; i < list->count; i++) hr_derived_unref(list->feature[i]);
    hr_free((void *)(uintptr_t)list->feature);
    *list = (hr_derived_list){0};
}

/* ---- one feature ---- */

static hr_status unknown_word(const hr__node *map, hr_error *err)
{
    enum { MOST = 64 };
    const char *words[MOST];
    const hr_derived_kind *kind;
    int count = 0;
    for (int k = 0; (kind = hr__derived_kind_at(k)); k++)
        for (int i = 0; kind->words[i] && count < MOST; i++) words[count++] = kind->words[i];
    if (map->count == 0) return hr__node_expected(map, "a derived feature, such as {ratio: [a, b]}", err);
    return hr__node_unknown(map->key[0], "kind of derived feature", words, count, err);
}

/* The kind is the one key of the mapping that is a kind's word. */
static hr_status find_word(const hr__node *map, const hr_derived_kind **out, const char **word, hr_error *err)
{
    const hr_derived_kind *kind;
    *word = NULL;
    for (int k = 0; (kind = hr__derived_kind_at(k)); k++)
        for (int i = 0; kind->words[i]; i++) {
            if (!hr__node_get(map, kind->words[i])) continue;
            if (*word)
                return hr__node_fail(map, err, HR_INVALID_ARGUMENT, "config.value",
                                     "expected one kind of derived feature, found '%s' and '%s'", *word,
                                     kind->words[i]);
            *word = kind->words[i];
            *out = kind;
        }
    return *word ? HR_OK : unknown_word(map, err);
}

static hr_status check_feature_keys(const hr__node *map, const hr_derived_kind *kind, const char *word, hr_error *err)
{
    enum { MOST = 8 };
    const char *allowed[MOST] = {word, "default"};
    for (int i = 0; kind->keys && kind->keys[i] && i + 3 < MOST; i++) allowed[i + 2] = kind->keys[i];
    return hr__config_check_keys(map, allowed, err);
}

static hr_status read_feature(hr__config_columns *names, const hr__node *key, const hr__node *map,
                              hr_derived_feature **out, hr_error *err)
{
    const hr_derived_kind *kind = NULL;
    const char *word = NULL;
    hr_config_reader reader = {names, map, key->text};
    HR_TRY(hr__node_is(map, HR__MAPPING, err));
    HR_TRY(find_word(map, &kind, &word, err));
    HR_TRY(check_feature_keys(map, kind, word, err));
    HR_TRY(kind->read(&reader, word, out, err));
    const hr_error *failed = hr_derived_error(*out);
    return failed ? hr__node_fail(map, err, failed->code, failed->kind, "%s", failed->text) : HR_OK;
}

/* ---- defaults of fields ---- */

static hr_status read_fill(hr_derived_feature *f, int i, const hr__node *value, hr_dtype dtype, hr_error *err)
{
    int64_t whole = 0;
    double number = 0;
    if (dtype == HR_INT64) {
        HR_TRY(hr__node_int64(value, INT64_MIN, INT64_MAX, &whole, err));
        return hr__derived_set_fill(f, i, dtype, &whole, err);
    }
    if (dtype == HR_FLOAT) {
        HR_TRY(hr__node_double(value, &number, err));
        return hr__derived_set_fill(f, i, dtype, &(float){(float)number}, err);
    }
    return HR_OK; /* a text is missing where it is missing */
}

static hr_status fill_fields(hr_derived_feature *f, const hr_schema *schema, const hr__node *defaults, hr_error *err)
{
    const char *name;
    if (hr__derived_renames(f)) return HR_OK;
    for (int i = 0; (name = hr_derived_field(f, i)); i++) {
        const hr__node *value = defaults ? hr__node_get(defaults, name) : NULL;
        for (int k = 0; value && k < schema->fields; k++)
            if (strcmp(schema->field[k].name, name) == 0) HR_TRY(read_fill(f, i, value, schema->field[k].dtype, err));
    }
    return HR_OK;
}

/* ---- the section ---- */

/* The fields that a feature may name: those of the records and all derived ones. */
static hr_status all_names(const hr__node *section, const hr_schema *schema, hr_schema *out, hr_error *err)
{
    hr_field *field = hr_calloc((size_t)schema->fields + (size_t)section->count + 1, sizeof *field);
    if (!field) return hr_no_memory(err, "derived features");
    *out = (hr_schema){.fields = schema->fields + (int)section->count, .field = field};
    if (schema->fields > 0) memcpy(field, schema->field, (size_t)schema->fields * sizeof *field);
    for (int64_t i = 0; i < section->count; i++) {
        for (int k = 0; k < schema->fields; k++)
            if (strcmp(schema->field[k].name, section->key[i]->text) == 0)
                return hr__node_fail(section->key[i], err, HR_INVALID_ARGUMENT, "derived.name",
                                     "expected a name of its own, found that of a field of the records, '%s'",
                                     section->key[i]->text);
        field[schema->fields + i] = (hr_field){.name = section->key[i]->text, .dtype = HR_FLOAT};
    }
    return HR_OK;
}

static hr_status read_features(const hr__node *section, const hr_schema *schema, const hr__node *defaults,
                               hr__config_columns *names, hr_derived_list *out, hr_error *err)
{
    hr_derived_feature **feature = hr_calloc((size_t)section->count + 1, sizeof *feature);
    if (!feature) return hr_no_memory(err, "derived features");
    *out = (hr_derived_list){feature, (int)section->count};
    for (int64_t i = 0; i < section->count; i++) {
        HR_TRY(read_feature(names, section->key[i], section->item[i], &feature[i], err));
        HR_TRY(fill_fields(feature[i], schema, defaults, err));
    }
    return HR_OK;
}

/* Circles and types, which only all features together tell. */
static hr_status check_together(const hr__node *section, const hr_schema *schema, hr_derived_list list, hr_error *err)
{
    hr__derived_plan p;
    hr_error why = {0};
    const hr_status st = hr__derived_plan_make(list, schema, NULL, &p, &why);
    const int culprit = p.culprit;
    hr__derived_plan_clear(&p);
    if (st == HR_OK || culprit < 0) {
        if (st != HR_OK && err) *err = why;
        return st;
    }
    return hr__node_fail(section->item[culprit], err, why.code, why.kind, "%s", why.text);
}

hr_status hr__derived_from_config(const hr__node *section, const hr_schema *schema, const hr__node *defaults,
                                  hr_derived_list *out, hr_error *err)
{
    enum { MOST = 1 << 20 };
    *out = (hr_derived_list){0};
    if (!section || hr__node_is_null(section)) return HR_OK;
    HR_TRY(hr__node_is(section, HR__MAPPING, err));
    if (section->count > MOST) return hr__node_expected(section, "at most a million derived features", err);
    hr_schema names;
    hr__config_columns *known = NULL;
    names.field = NULL;
    hr_status st = all_names(section, schema, &names, err);
    if (st == HR_OK) st = hr__columns_from_config(NULL, &names, NULL, &known, err);
    if (st == HR_OK) st = read_features(section, schema, defaults, known, out, err);
    if (st == HR_OK) st = check_together(section, schema, *out, err);
    if (st != HR_OK) hr__derived_list_free(out);
    hr__config_columns_free(known);
    hr_free((void *)(uintptr_t)names.field);
    return st;
}
