/* A model as a SavedModel for serving: its graph of predictions, the weights, a signature by the names of inputs and
 * outputs. */
#include "train/models/models_internal.h"

#include <headrace/saved_model.h>

static hr_saved_tensor *saved_inputs(hr_model *m)
{
    hr_saved_tensor *all = hr_calloc((size_t)m->inputs.count + 1, sizeof *all);
    for (int i = 0; all && i < m->inputs.count; i++)
        all[i] = HR_SAVED(hr_model_input_name(m, i), hr_model_input_node(m, i));
    return all;
}

static hr_saved_tensor *saved_outputs(hr_model *m)
{
    hr_saved_tensor *all = hr_calloc((size_t)m->outputs.count + 1, sizeof *all);
    for (int i = 0; all && i < m->outputs.count; i++)
        all[i] = HR_SAVED(hr_model_output_name(m, i), hr_model_output_node(m, i));
    return all;
}

static hr_status saved_write(hr_model *m, const hr_saved_signature *signature, const char *folder, hr_error *err)
{
    hr_saved_model_writer *w;
    HR_TRY(hr_saved_model_writer_open(folder, &w, err));
    const hr_status st =
        hr_saved_model_writer_add(w, m->body->session, err, .signatures = signature, .signature_count = 1);
    if (st == HR_OK) return hr_saved_model_writer_commit(w, err);
    hr_saved_model_writer_discard(w);
    return st;
}

hr_status hr_save_model(hr_model *m, const char *folder, hr_error *err)
{
    if (!folder) return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "save_model: expected a folder, got NULL");
    HR_TRY(hr__weights_ready(m, err));
    hr_saved_tensor *inputs = saved_inputs(m), *outputs = saved_outputs(m);
    const hr_saved_signature signature = {
        .inputs = inputs, .input_count = m->inputs.count, .outputs = outputs, .output_count = m->outputs.count};
    const hr_status st = inputs && outputs ? saved_write(m, &signature, folder, err) : hr_no_memory(err, "a signature");
    hr_free(inputs);
    hr_free(outputs);
    return st;
}
