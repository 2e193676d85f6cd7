/* The model of a training as a SavedModel. */
#include "train/training/training_internal.h"

#include <string.h>

static bool is_field(const hr_schema *schema, const char *name)
{
    for (int i = 0; i < schema->fields; i++)
        if (strcmp(schema->field[i].name, name) == 0) return true;
    return false;
}

/* Requests of Examples have what the files have; what is derived of that is not in the graph. */
static hr_status export_check(const hr_training *t, hr_error *err)
{
    const hr_parse_spec *wanted = t->unlabelled.wanted;
    for (int i = 0; wanted && i < wanted->features; i++)
        if (!is_field(&t->schema, wanted->feature[i].key))
            return hr_fail(
                err, HR_UNIMPLEMENTED, "training.export",
                "export: the model reads '%.60s', which is derived from fields of the rows, and a graph does "
                "not derive it from Examples; let requests have a tensor for each feature (raw)",
                wanted->feature[i].key);
    return HR_OK;
}

hr_status hr_training_export_with(hr_training *t, const char *base, char **path, hr_error *err,
                                  const hr_training_export_opts *opts)
{
    const hr_training_export_opts o = HR_OPTIONS(hr_training_export_opts, opts);
    if (!t || !base)
        return hr_fail(err, HR_INVALID_ARGUMENT, "training.argument", "export: expected %s, got NULL",
                       t ? "a folder" : "a training");
    if (!o.raw) HR_TRY(export_check(t, err));
    hr_parse_example_spec_opts types = {.struct_size = sizeof types, .file = &t->schema};
    hr_estimator *e = hr_training_estimator(t);
    if (!e) return hr_no_memory(err, "an estimator");
    const hr_status st = hr_estimator_export(e, base, path, .text = o.text, .checkpoint_path = o.checkpoint_path,
                                             .serving_fn = o.raw ? hr_raw_serving_input : hr_parsing_serving_input,
                                             .serving_user = o.raw ? NULL : &types);
    if (st != HR_OK && err) *err = *hr_estimator_error(e);
    hr_estimator_free(e);
    return st;
}
