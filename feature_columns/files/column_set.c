/* All columns of a config file, with the file's schema and its names of the columns; and the same as text again. */
#include "feature_columns/config/column_writer.h"
#include "feature_columns/config/columns_section.h"
#include "feature_columns/derived/derived_section.h"
#include "io/config_file.h"
#include "io/schema/schema.h"

struct hr_column_set {
    hr__config *config;
    hr__schema_file file;
    hr_schema stored; /* owns its fields */
    hr_derived_list derived;
    hr_schema schema; /* those and the derived ones; owns its list */
    hr__config_columns *columns;
};

static hr_status column_set_read_schema(hr_column_set *set, const hr__node *section, hr_error *err)
{
    HR_TRY(hr__schema_read(section, &set->file, err));
    return hr__schema_stored(&set->file, &set->stored, err);
}

static hr_status read_set(hr_column_set *set, hr_error *err)
{
    const hr__node *root = hr__config_root(set->config), *schema, *columns;
    HR_TRY(hr__node_is(root, HR__MAPPING, err));
    HR_TRY(hr__node_need(root, "schema", &schema, err));
    HR_TRY(hr__node_need(root, "columns", &columns, err));
    const hr__node *defaults = hr__node_get(schema, "default");
    HR_TRY(column_set_read_schema(set, schema, err));
    HR_TRY(hr__derived_from_config(hr__node_get(root, "derived"), &set->stored, defaults, &set->derived, err));
    HR_TRY(hr_derived_schema(set->derived, &set->stored, &set->schema, err));
    return hr__columns_from_config(columns, &set->schema, defaults, &set->columns, err);
}

/* Takes the config. */
static hr_status new_set(hr__config *config, const hr_column_set_open_opts *o, hr_column_set **out, hr_error *err)
{
    hr_column_set *set = hr_calloc(1, sizeof *set);
    if (!set) {
        hr__config_free(config);
        return hr_no_memory(err, "a set of columns");
    }
    set->config = config;
    hr_status st = hr__config_set_all(config, o->set, o->set_count, err);
    if (st == HR_OK) st = read_set(set, err);
    if (st != HR_OK) {
        hr_column_set_free(set);
        return st;
    }
    *out = set;
    return HR_OK;
}

hr_status hr_column_set_open_with(const char *path, const hr_column_set_open_opts *opts, hr_column_set **out,
                                  hr_error *err)
{
    const hr_column_set_open_opts o = HR_OPTIONS(hr_column_set_open_opts, opts);
    hr__config *config;
    *out = NULL;
    HR_TRY(hr__config_open(path, &config, err));
    return new_set(config, &o, out, err);
}

hr_status hr_column_set_parse(const char *name, const char *yaml, size_t size, hr_column_set **out, hr_error *err)
{
    hr__config *config;
    *out = NULL;
    HR_TRY(hr__config_parse(name, yaml, size, &config, err));
    return new_set(config, &(hr_column_set_open_opts){0}, out, err);
}

void hr_column_set_free(hr_column_set *set)
{
    if (!set) return;
    hr__config_columns_free(set->columns);
    hr_free((void *)(uintptr_t)set->schema.field);
    hr__derived_list_free(&set->derived);
    hr_free((void *)(uintptr_t)set->stored.field);
    hr__schema_clear(&set->file);
    hr__config_free(set->config);
    hr_free(set);
}

hr_column_list hr_column_set_columns(const hr_column_set *set) { return hr__config_columns_list(set->columns); }

hr_feature_column *hr_column_set_find(const hr_column_set *set, const char *name)
{
    return hr__config_columns_find(set->columns, name);
}

const hr_schema *hr_column_set_schema(const hr_column_set *set) { return &set->schema; }

hr_status hr_column_set_to_yaml(const hr_column_set *set, char **yaml, hr_error *err)
{
    return hr__columns_write(hr_column_set_columns(set), hr__config_columns_names(set->columns), &set->schema, yaml,
                             err);
}
