/* Inputs of the node, one of each argument or several. */
#include "train/conformance/trial.h"

#include <string.h>

static hr_node file_name(trial *t)
{
    const hr_view name = hr_text_view(t->plan.text_file);
    const hr_tensor path = hr_tensor_of(HR_STRING, HR_SCALAR, &name);
    return hr_const(t->g, &path);
}

static hr_node value_input(trial *t, hr_dtype dtype)
{
    const bool index = dtype == HR_INT32 || dtype == HR_INT64;
    if (dtype == HR_STRING && t->plan.text_file && !one_in(t, 8)) return file_name(t);
    const hr_tensor value = hr__trial_tensor(t, dtype, hr__trial_input_shape(t, index));
    hr_node node;
    t->value[t->inputs] = value;
    switch (t->smooth && dtype == HR_DOUBLE ? 9 : below(t, 10)) {
    case 0:
        node = hr_const(t->g, &value);
        return hr_identity(node);
    case 1:
        if (dtype == HR_RESOURCE || dtype == HR_VARIANT || hr_dtype_size(dtype) == 0) return hr_const(t->g, &value);
        return one_in(t, 3) ? hr__trial_reference(t, dtype, &value) : hr__trial_variable(t, dtype, &value);
    case 2:
    case 3:
    case 4:
        return hr_const(t->g, &value);
    default:
        return hr__trial_fed(t, value);
    }
}

static void add_input(trial *t, hr_dtype dtype, bool ref)
{
    if (t->inputs >= MAX_INPUTS / 2 - 1) return;
    if (ref && !one_in(t, 20)) {
        const bool table = dtype == HR_STRING && strstr(t->op->name, "Table");
        t->input[t->inputs] = table ? hr__trial_resource_input(t) : hr__trial_reference(t, dtype, NULL);
        t->inputs++;
        return;
    }
    const int twin = (int)below(t, t->inputs + 1);
    if (!t->smooth && twin < t->inputs && one_in(t, 10) && hr_node_dtype(t->input[twin]) == dtype &&
        t->value[twin].data) {
        t->input[t->inputs] = t->input[twin];
        t->value[t->inputs] = t->value[twin];
    } else {
        t->input[t->inputs] = dtype == HR_RESOURCE  ? hr__trial_resource_input(t)
                              : dtype == HR_VARIANT ? hr__trial_list_input(t)
                                                    : value_input(t, dtype);
    }
    t->inputs++;
}

void hr__trial_choose_inputs(trial *t)
{
    for (int i = 0; i < hr_signature_inputs(t->sig); i++) {
        const hr_arg_def *arg = hr_signature_input(t->sig, i);
        const int64_t count = arg->number_attr >= 0 ? t->number_of[arg->number_attr]
                              : arg->list_attr >= 0 ? t->number_of[arg->list_attr]
                                                    : 1;
        for (int64_t j = 0; j < count; j++)
            add_input(t,
                      arg->list_attr >= 0   ? hr__trial_type(t, hr_signature_attr(t->sig, arg->list_attr)->kernels)
                      : arg->type_attr >= 0 ? t->type[arg->type_attr]
                                            : arg->type,
                      arg->ref);
    }
}
