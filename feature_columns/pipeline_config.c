/* Reads a pipeline from a file: each step is an operator with its options, and gets what the steps before it made. A step
 * is `batch`, `batch: 512` or `batch: {batch_size: 512, drop_remainder: true}`: a value by itself is its first option. */
#include "feature_columns/pipeline_config.h"
#include "base/text.h"
#include "feature_columns/config.h"
#include "io/schema.h"
#include <string.h>

typedef struct maker {
    const char *data;
    hr__schema_file file;
    hr_schema schema; /* the same as columns want it; owns field */
    hr__config_columns *columns;
    hr_dataset *ds; /* the steps until now; NULL: none */
} maker;

enum { MAX_OPTIONS = 4 };

typedef struct step {
    const char *name;
    const char *keys[MAX_OPTIONS]; /* the first is meant by a value without a key */
    bool source;
    /* Puts the operator on top of m->ds. `value`: its options; NULL: none. */
    hr_status (*add)(maker *m, const struct step *s, const hr__node *value, const hr__node *at, hr_error *err);
} step;

/* ---- options ---- */

static const hr__node *first_option(const step *s, const hr__node *value)
{
    return value && value->kind == HR__SCALAR ? value : hr__node_get(value, s->keys[0]);
}

static hr_status lacks(const step *s, const hr__node *at, hr_error *err)
{
    return hr__node_fail(at, err, HR_INVALID_ARGUMENT, "config.missing_key", "%s: expected its '%s'", s->name,
                         s->keys[0]);
}

static hr_status needed_number(const step *s, const hr__node *value, const hr__node *at, int64_t *out, hr_error *err)
{
    const hr__node *node = first_option(s, value);
    return node ? hr__node_int64(node, INT64_MIN, INT64_MAX, out, err) : lacks(s, at, err);
}

/* *out stays what it is where nothing is said. */
static hr_status number(const step *s, const hr__node *value, int64_t *out, hr_error *err)
{
    const hr__node *node = first_option(s, value);
    return node ? hr__node_int64(node, INT64_MIN, INT64_MAX, out, err) : HR_OK;
}

/* Gives the path that the first option says. */
static hr_status needed_path(const maker *m, const step *s, const hr__node *value, const hr__node *at, char **out,
                             hr_error *err)
{
    const hr__node *node = first_option(s, value);
    const char *name;
    if (!node) return lacks(s, at, err);
    HR_TRY(hr__node_text(node, &name, err));
    *out = hr__path_in(m->data, name);
    return *out ? HR_OK : hr_no_memory(err, "a pipeline");
}

/* ---- sources ---- */

static hr_status add_list_files(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    char *pattern;
    bool shuffle = false;
    uint64_t seed = 0;
    HR_TRY(hr__config_bool(value, "shuffle", &shuffle, err));
    HR_TRY(hr__config_uint64(value, "seed", &seed, err));
    HR_TRY(needed_path(m, s, value, at, &pattern, err));
    m->ds = hr_list_files(pattern, .shuffle = shuffle, .seed = seed);
    hr_free(pattern);
    return HR_OK;
}

static hr_status add_tfrecord(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    char *pattern;
    HR_TRY(needed_path(m, s, value, at, &pattern, err));
    m->ds = hr_tfrecord(pattern);
    hr_free(pattern);
    return HR_OK;
}

/* ---- operators ---- */

static hr_status add_interleave(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    (void)at;
    int64_t cycle_length = 0, block_length = 0;
    HR_TRY(number(s, value, &cycle_length, err));
    HR_TRY(hr__config_int64(value, "block_length", 1, INT64_MAX, &block_length, err));
    m->ds = hr_interleave(m->ds, hr_tfrecord_fn, NULL, .cycle_length = cycle_length, .block_length = block_length);
    return HR_OK;
}

static hr_status add_shuffle(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    int64_t buffer_size;
    uint64_t seed = 0;
    HR_TRY(needed_number(s, value, at, &buffer_size, err));
    HR_TRY(hr__config_uint64(value, "seed", &seed, err));
    m->ds = hr_shuffle(m->ds, buffer_size, .seed = seed);
    return HR_OK;
}

static hr_status add_batch(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    int64_t batch_size;
    bool drop_remainder = false;
    HR_TRY(needed_number(s, value, at, &batch_size, err));
    HR_TRY(hr__config_bool(value, "drop_remainder", &drop_remainder, err));
    m->ds = hr_batch(m->ds, batch_size, .drop_remainder = drop_remainder);
    return HR_OK;
}

static hr_status add_take(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    int64_t count;
    HR_TRY(needed_number(s, value, at, &count, err));
    m->ds = hr_take(m->ds, count);
    return HR_OK;
}

static hr_status add_skip(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    int64_t count;
    HR_TRY(needed_number(s, value, at, &count, err));
    m->ds = hr_skip(m->ds, count);
    return HR_OK;
}

static hr_status add_repeat(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    (void)at;
    int64_t count = -1;
    HR_TRY(number(s, value, &count, err));
    m->ds = hr_repeat(m->ds, .count = &count);
    return HR_OK;
}

static hr_status add_prefetch(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    (void)at;
    int64_t units = HR_AUTOTUNE;
    HR_TRY(number(s, value, &units, err));
    m->ds = hr_prefetch(m->ds, units);
    return HR_OK;
}

static hr_status add_cache(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    char *file = NULL;
    if (first_option(s, value)) HR_TRY(needed_path(m, s, value, at, &file, err));
    m->ds = hr_cache(m->ds, .file = file);
    hr_free(file);
    return HR_OK;
}

/* ---- parsing: by the columns where there are some, else every field of the schema, one value each ---- */

static const char *label_of(const maker *m) { return m->file.label < 0 ? NULL : m->file.field[m->file.label].name; }

static const void *default_of(const hr__schema_field *f)
{
    if (!f->has_default) return NULL;
    if (f->stored == HR_INT64) return &f->default_int64;
    return f->stored == HR_FLOAT ? (const void *)&f->default_float : (const void *)&f->default_string;
}

static hr_status parse_fields(maker *m, hr_error *err)
{
    const size_t fields = (size_t)m->file.fields;
    hr_feature *feature = hr_calloc(fields + 1, sizeof *feature);
    hr_tensor *missing = hr_calloc(fields + 1, sizeof *missing);
    for (size_t i = 0; feature && missing && i < fields; i++) {
        const hr__schema_field *f = &m->file.field[i];
        const void *value = default_of(f);
        feature[i] = (hr_feature){.key = f->name, .kind = HR_FIXED_LEN, .dtype = f->stored};
        if (!value) continue;
        missing[i] = hr_tensor_of(f->stored, HR_SCALAR, value);
        feature[i].default_value = &missing[i];
    }
    const hr_parse_spec spec = {.feature = feature, .features = m->file.fields};
    const bool memory = feature && missing;
    if (memory) m->ds = hr_parse_example(m->ds, &spec, .label = label_of(m));
    hr_free(feature);
    hr_free(missing);
    return memory ? HR_OK : hr_no_memory(err, "a pipeline");
}

static hr_status add_parse_example(maker *m, const step *s, const hr__node *value, const hr__node *at, hr_error *err)
{
    (void)s, (void)value;
    hr_parse_spec *spec;
    if (m->file.fields == 0)
        return hr__node_fail(at, err, HR_INVALID_ARGUMENT, "config.missing_key",
                             "expected a section 'schema' that says what the records hold");
    if (!m->columns) return parse_fields(m, err);
    HR_TRY(hr_make_parse_example_spec(hr__config_columns_list(m->columns), &spec, err, .file = &m->schema,
                                      .label = label_of(m)));
    m->ds = hr_parse_example(m->ds, spec, .label = label_of(m));
    hr_parse_spec_free(spec);
    return HR_OK;
}

static hr_status add_transform_features(maker *m, const step *s, const hr__node *value, const hr__node *at,
                                        hr_error *err)
{
    (void)s, (void)value;
    if (!m->columns)
        return hr__node_fail(at, err, HR_INVALID_ARGUMENT, "config.missing_key", "expected a section 'columns'");
    m->ds = hr_transform_features(m->ds, hr__config_columns_list(m->columns));
    return HR_OK;
}

static const step steps[] = {
    {.name = "batch", .keys = {"batch_size", "drop_remainder"}, .add = add_batch},
    {.name = "cache", .keys = {"file"}, .add = add_cache},
    {.name = "interleave", .keys = {"cycle_length", "block_length"}, .add = add_interleave},
    {.name = "list_files", .keys = {"pattern", "shuffle", "seed"}, .source = true, .add = add_list_files},
    {.name = "parse_example", .add = add_parse_example},
    {.name = "prefetch", .keys = {"buffer_size"}, .add = add_prefetch},
    {.name = "repeat", .keys = {"count"}, .add = add_repeat},
    {.name = "shuffle", .keys = {"buffer_size", "seed"}, .add = add_shuffle},
    {.name = "skip", .keys = {"count"}, .add = add_skip},
    {.name = "take", .keys = {"count"}, .add = add_take},
    {.name = "tfrecord", .keys = {"pattern"}, .source = true, .add = add_tfrecord},
    {.name = "transform_features", .add = add_transform_features},
};
enum { STEPS = sizeof steps / sizeof *steps };

/* ---- the section ---- */

static hr_status find_step(const hr__node *name, const step **out, hr_error *err)
{
    const char *names[STEPS];
    int64_t which = 0;
    for (int i = 0; i < STEPS; i++) names[i] = steps[i].name;
    HR_TRY(hr__node_choice(name, "operator", names, STEPS, &which, err));
    *out = &steps[which];
    return HR_OK;
}

static hr_status check_options(const step *s, const hr__node *value, hr_error *err)
{
    if (value && value->kind == HR__MAPPING) return hr__config_check_keys(value, s->keys, err);
    if (!value || (value->kind == HR__SCALAR && s->keys[0])) return HR_OK;
    return hr__node_expected(value, s->keys[0] ? "its options" : "nothing: it has no options", err);
}

static hr_status add_step(maker *m, const hr__node *item, hr_error *err)
{
    const bool plain = item->kind == HR__SCALAR;
    if (!plain && (item->kind != HR__MAPPING || item->count != 1))
        return hr__node_expected(item, "one operator, such as {batch: 512}", err);
    const step *s;
    HR_TRY(find_step(plain ? item : item->key[0], &s, err));
    const hr__node *value = plain || hr__node_is_null(item->item[0]) ? NULL : item->item[0];
    HR_TRY(check_options(s, value, err));
    if (s->source != (m->ds == NULL))
        return hr__node_fail(item, err, HR_INVALID_ARGUMENT, "config.value",
                             s->source ? "%s: expected it as the first step alone"
                                       : "%s: expected list_files or tfrecord before it",
                             s->name);
    HR_TRY(s->add(m, s, value, item, err));
    const hr_error *failed = hr_dataset_error(m->ds);
    return failed ? hr__node_fail(item, err, failed->code, failed->kind, "%s", failed->text) : HR_OK;
}

static hr_status read_pipeline(maker *m, const hr__node *root, hr_error *err)
{
    const hr__node *list, *schema = hr__node_get(root, "schema"), *columns = hr__node_get(root, "columns");
    HR_TRY(hr__node_is(root, HR__MAPPING, err));
    HR_TRY(hr__node_need(root, "pipeline", &list, err));
    HR_TRY(hr__node_is(list, HR__SEQUENCE, err));
    if (list->count == 0) return hr__node_expected(list, "at least one operator", err);
    if (schema) HR_TRY(hr__schema_read(schema, &m->file, err));
    if (schema) HR_TRY(hr__schema_stored(&m->file, &m->schema, err));
    if (columns)
        HR_TRY(hr__columns_from_config(columns, &m->schema, hr__node_get(schema, "default"), &m->columns, err));
    for (int64_t i = 0; i < list->count; i++) HR_TRY(add_step(m, list->item[i], err));
    return HR_OK;
}

hr_status hr__pipeline_open(const char *path, const char *data, hr_dataset **out, hr_error *err)
{
    hr__config *config;
    maker m = {.data = data, .file = {.label = -1}};
    HR_TRY(hr__config_open(path, &config, err));
    const hr_status st = read_pipeline(&m, hr__config_root(config), err);
    if (st == HR_OK)
        *out = m.ds;
    else
        hr_dataset_unref(m.ds);
    hr__config_columns_free(m.columns);
    hr_free((void *)(uintptr_t)m.schema.field);
    hr__schema_clear(&m.file);
    hr__config_free(config);
    return st;
}
