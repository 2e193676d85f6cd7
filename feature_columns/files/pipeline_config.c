/* Reads a pipeline from a file: each step is an operator with its options, and gets what the steps before it made. A
 * step is `batch`, `batch: 512` or `batch: {batch_size: 512, drop_remainder: true}`: a value by itself is its first
 * option, unless that is a switch (`parse_example: true` would not say what is switched on). */
#include "base/text.h"
#include "feature_columns/files/pipeline_steps.h"
#include "io/config_file.h"
#include "io/match.h"
#include <headrace/pipeline_file.h>
#include <string.h>

enum { MAX_STEPS = 64 };

/* ---- options ---- */

static hr_status pipeline_config_read_word(const hr__option *option, hr__given *o, hr_error *err)
{
    int64_t words = 0;
    while (option->words[words]) words++;
    return hr__node_choice(o->node, option->name, option->words, words, &o->number, err);
}

static hr_status read_path(const hr__pipeline_context *c, hr__option_kind kind, hr__given *o, hr_error *err)
{
    HR_TRY(hr__node_text(o->node, &o->text, err));
    o->path = kind == HR__OPTION_PATTERN ? hr__pattern_in(c->data, o->text) : hr__path_in(c->data, o->text);
    return o->path ? HR_OK : hr_no_memory(err, "a pipeline");
}

static hr_status read_option(const hr__pipeline_context *c, const hr__option *option, hr__given *o, hr_error *err)
{
    switch (option->kind) {
    case HR__OPTION_NUMBER:
        return hr__node_int64(o->node, INT64_MIN, INT64_MAX, &o->number, err);
    case HR__OPTION_SEED:
        return hr__node_uint64(o->node, &o->seed, err);
    case HR__OPTION_FLAG:
        return hr__node_bool(o->node, &o->flag, err);
    case HR__OPTION_PATH:
    case HR__OPTION_PATTERN:
        return read_path(c, option->kind, o, err);
    case HR__OPTION_TEXT:
        return hr__node_text(o->node, &o->text, err);
    case HR__OPTION_WORD:
        return pipeline_config_read_word(option, o, err);
    }
    return HR_OK;
}

/* What the step says of each of its options, in the order of the table. `value`: NULL, a scalar or a mapping. */
static hr_status read_options(const hr__pipeline_context *c, const hr__pipeline_step *s, const hr__node *value,
                              const hr__node *at, hr__given *o, hr_error *err)
{
    for (int i = 0; s->option[i].name; i++) {
        const bool alone = value && value->kind == HR__SCALAR;
        const hr__node *node = alone ? (i == 0 ? value : NULL) : hr__node_get(value, s->option[i].name);
        if (!node && s->option[i].needed)
            return hr__node_fail(at, err, HR_INVALID_ARGUMENT, "config.missing_key", "%s: expected its '%s'", s->name,
                                 s->option[i].name);
        o[i].node = node;
        if (node) HR_TRY(read_option(c, &s->option[i], &o[i], err));
    }
    return HR_OK;
}

static hr_status pipeline_config_check_options(const hr__pipeline_step *s, const hr__node *value, hr_error *err)
{
    const char *keys[HR__MAX_OPTIONS + 1] = {0};
    const bool has_first = s->option[0].name && s->option[0].kind != HR__OPTION_FLAG;
    for (int i = 0; s->option[i].name; i++) keys[i] = s->option[i].name;
    if (value && value->kind == HR__MAPPING) return hr__config_check_keys(value, keys, err);
    if (!value || (value->kind == HR__SCALAR && has_first)) return HR_OK;
    return hr__node_expected(value, keys[0] ? "its options, by their names" : "nothing: it has no options", err);
}

/* ---- steps ---- */

static hr_status find_step(const hr__node *name, const hr__pipeline_step **out, hr_error *err)
{
    const char *names[MAX_STEPS];
    int64_t which = 0;
    for (int i = 0; i < hr__pipeline_step_count; i++) names[i] = hr__pipeline_steps[i].name;
    HR_TRY(hr__node_choice(name, "operator", names, hr__pipeline_step_count, &which, err));
    *out = &hr__pipeline_steps[which];
    return HR_OK;
}

static hr_status apply_step(const hr__pipeline_context *c, const hr__pipeline_step *s, const hr__node *at,
                            const hr__given *o, hr_dataset **ds, hr_error *err)
{
    if (s->make) return s->make(c, at, o, ds, err);
    *ds = s->source ? s->source(o) : s->put(*ds, o);
    return HR_OK;
}

static hr_status pipeline_config_make_step(const hr__pipeline_context *c, const hr__pipeline_step *s,
                                           const hr__node *value, const hr__node *at, hr_dataset **ds, hr_error *err)
{
    hr__given o[HR__MAX_OPTIONS] = {0};
    hr_status st = read_options(c, s, value, at, o, err);
    if (st == HR_OK) st = apply_step(c, s, at, o, ds, err);
    for (int i = 0; i < HR__MAX_OPTIONS; i++) hr_free(o[i].path);
    return st;
}

static hr_status pipeline_config_add_step(const hr__pipeline_context *c, const hr__node *item, hr_dataset **ds,
                                          hr_error *err)
{
    const bool plain = item->kind == HR__SCALAR;
    if (!plain && (item->kind != HR__MAPPING || item->count != 1))
        return hr__node_expected(item, "one operator, such as {batch: 512}", err);
    const hr__pipeline_step *s;
    HR_TRY(find_step(plain ? item : item->key[0], &s, err));
    const hr__node *value = plain || hr__node_is_null(item->item[0]) ? NULL : item->item[0];
    HR_TRY(pipeline_config_check_options(s, value, err));
    const bool source = s->source || s->first;
    if (source != (*ds == NULL))
        return hr__node_fail(item, err, HR_INVALID_ARGUMENT, "config.value",
                             source ? "%s: expected it as the first step alone"
                                    : "%s: expected a source before it, such as list_files or tfrecord",
                             s->name);
    HR_TRY(pipeline_config_make_step(c, s, value, item, ds, err));
    const hr_error *failed = hr_dataset_error(*ds);
    return failed ? hr__node_fail(item, err, failed->code, failed->kind, "%s", failed->text) : HR_OK;
}

/* ---- the section ---- */

static hr_status read_pipeline(hr__pipeline_context *c, const hr__node *root, hr_dataset **ds, hr_error *err)
{
    const hr__node *list, *schema = hr__node_get(root, "schema"), *columns = hr__node_get(root, "columns");
    HR_TRY(hr__node_is(root, HR__MAPPING, err));
    HR_TRY(hr__node_need(root, "pipeline", &list, err));
    HR_TRY(hr__node_is(list, HR__SEQUENCE, err));
    if (list->count == 0) return hr__node_expected(list, "at least one operator", err);
    if (schema) HR_TRY(hr__schema_read(schema, &c->file, err));
    if (schema) HR_TRY(hr__schema_stored(&c->file, &c->schema, err));
    const hr__node *defaults = hr__node_get(schema, "default");
    HR_TRY(hr__derived_from_config(hr__node_get(root, "derived"), &c->schema, defaults, &c->derived, err));
    HR_TRY(hr_derived_schema(c->derived, &c->schema, &c->all, err));
    if (columns) HR_TRY(hr__columns_from_config(columns, &c->all, defaults, &c->columns, err));
    for (int64_t i = 0; i < list->count; i++) HR_TRY(pipeline_config_add_step(c, list->item[i], ds, err));
    return HR_OK;
}

hr_status hr_pipeline_from_file_with(const char *path, const hr_pipeline_from_file_opts *opts, hr_dataset **out,
                                     hr_error *err)
{
    hr__config *config;
    hr_dataset *ds = NULL;
    const hr_pipeline_from_file_opts o = HR_OPTIONS(hr_pipeline_from_file_opts, opts);
    hr__pipeline_context c = {.data = o.data, .file = {.label = -1}};
    if (out) *out = NULL;
    if (!path || !out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "pipeline.argument", "pipeline: expected %s, got NULL",
                       path ? "where to put it" : "the name of a file");
    HR_TRY(hr__config_open(path, &config, err));
    hr_status st = hr__config_set_all(config, o.set, o.set_count, err);
    if (st == HR_OK) st = read_pipeline(&c, hr__config_root(config), &ds, err);
    if (st == HR_OK)
        *out = ds;
    else
        hr_dataset_unref(ds);
    hr__config_columns_free(c.columns);
    hr_free((void *)(uintptr_t)c.all.field);
    hr__derived_list_free(&c.derived);
    hr_free((void *)(uintptr_t)c.schema.field);
    hr__schema_clear(&c.file);
    hr__config_free(config);
    return st;
}

bool hr_is_pipeline_file(const char *path)
{
    hr_error err;
    hr__config *config;
    if (!path || hr__config_open(path, &config, &err) != HR_OK) return false;
    const hr__node *root = hr__config_root(config);
    const bool is_one = hr__node_get(root, "pipeline") && !hr__node_get(root, "train");
    hr__config_free(config);
    return is_one;
}
