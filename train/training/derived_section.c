/* The fields of a training's rows: those of the files, and those that are derived from them. */
#include "train/training/training_internal.h"
#include <string.h>

static hr_status derived_extend(hr_training *t, hr_error *err)
{
    hr_free((void *)(uintptr_t)t->all.field);
    t->all = (hr_schema){0};
    return hr_derived_schema(t->derived, &t->schema, &t->all, err);
}

hr_status hr__training_read_derived(hr_training *t, const hr__node *root, hr_error *err)
{
    const hr__node *defaults = hr__node_get(hr__node_get(root, "schema"), "default");
    HR_TRY(hr__derived_from_config(hr__node_get(root, "derived"), &t->schema, defaults, &t->derived, err));
    return derived_extend(t, err);
}

static bool derived_add(hr_derived_list *list, hr_derived_feature *feature)
{
    hr_derived_feature **grown = hr_calloc((size_t)list->count + 2, sizeof *grown);
    if (!grown) return false;
    for (int i = 0; i < list->count; i++) grown[i] = list->feature[i];
    grown[list->count] = feature;
    hr_free((void *)(uintptr_t)list->feature);
    *list = (hr_derived_list){grown, list->count + 1};
    return true;
}

hr_status hr__training_derive(hr_training *t, const hr__node *node, hr_derived_feature *feature, hr_error *err)
{
    hr_error refused = {0};
    if (!derived_add(&t->derived, feature)) {
        hr_derived_unref(feature);
        return hr_no_memory(err, "derived features");
    }
    const hr_status st = derived_extend(t, &refused);
    return st == HR_OK ? HR_OK : hr__node_fail(node, err, st, refused.kind, "%s", refused.text);
}

void hr__training_free_derived(hr_training *t)
{
    hr__derived_list_free(&t->derived);
    hr_free((void *)(uintptr_t)t->all.field);
}

hr_status hr__training_need_field(const hr__node *node, const hr_schema *fields, hr_error *err)
{
    const char *name;
    HR_TRY(hr__node_text(node, &name, err));
    for (int i = 0; i < fields->fields; i++)
        if (strcmp(fields->field[i].name, name) == 0) return HR_OK;
    const char **names = hr_calloc((size_t)fields->fields + 1, sizeof *names);
    if (!names) return hr_no_memory(err, "names of fields");
    for (int i = 0; i < fields->fields; i++) names[i] = fields->field[i].name;
    const hr_status st = hr__node_unknown(node, "field", names, fields->fields, err);
    hr_free(names);
    return st;
}
