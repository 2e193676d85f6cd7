/* Variables as TensorFlow 1's reference variables: what goes along an edge is the variable itself. An op that takes one
 * as a value is given what it holds when that op runs. Output 0 of an op that takes the variable is the variable; the
 * executor gives it. */
#include <headrace/kernels.h>

static hr_status reference_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = hr_attr_shape(s->node, "shape");
    s->handle[0].dtype = hr_attr_type(s->node, "dtype");
    s->handle[0].shape = s->output[0];
    return HR_OK;
}

static hr_status reference_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    return hr_session_variable(session, hr_attr_or_name(node, "shared_name"), state, err);
}

/* The declared shape holds, unless the node says that it need not. */
static hr_status reference_assign_shape(hr_infer *s, hr_error *err)
{
    hr_infer_pass_handle(s, 0, 0);
    if (!hr_attr_bool(s->node, "validate_shape")) {
        s->output[0] = s->input[1];
        return HR_OK;
    }
    if (hr_shape_merge(s->input[0], s->input[1], &s->output[0])) return HR_OK;
    return hr_infer_refuse(s, err, "a value of the variable's shape");
}

static hr_status reference_assign_compute(hr_kernel *k, hr_error *err)
{
    char declared[128], got[128];
    hr_shape merged;
    const hr_shape shape = hr_node_shape(hr_node_input(k->node, 0));
    if (hr_attr_bool(k->node, "validate_shape") && !hr_shape_merge(shape, k->input[1]->shape, &merged))
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape",
                       "variable '%s': expected a value of shape %s, got %s", hr_kernel_variable_name(k, 0),
                       hr_shape_text(shape, declared, sizeof declared),
                       hr_shape_text(k->input[1]->shape, got, sizeof got));
    return hr_kernel_assign(k, 0, 1, err);
}

static hr_status reference_initialized_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(bool *)out->data = hr_kernel_initialized(k, 0);
    return HR_OK;
}

/* ---- variables of one run ---- */

static hr_status temporary_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor handle;
    HR_TRY(hr_kernel_new_variable(k, hr_node_name(k->node), &handle, err));
    hr_kernel_give(k, 0, handle);
    return HR_OK;
}

static hr_status destroy_temporary_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr_kernel_read(k, 0, &value, err));
    hr_kernel_give(k, 0, value);
    return hr_kernel_clear_variable(k, 0, err);
}

static hr_status reference_pass_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    hr_infer_pass_handle(s, 0, 0);
    return HR_OK;
}

static hr_status reference_pass_compute(hr_kernel *k, hr_error *err)
{
    (void)k, (void)err;
    return HR_OK;
}

#define VARIABLE(NAME)                                                                                                 \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "dtype:any",                                                  \
        .traits = HR_FIXED | HR_STATEFUL | HR_NO_GRADIENT, .state_size = sizeof(hr_resource *),                        \
        .shape = reference_shape, .prepare = reference_prepare, .compute = hr_compute_handle,                          \
    }

const hr_graph_op hr_graph_ops_reference_ops[] = {
    VARIABLE("VariableV2"),
    VARIABLE("Variable"),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "TemporaryVariable",
        .types = "dtype:any",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = reference_shape,
        .compute = temporary_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "DestroyTemporaryVariable",
        .types = "T:any",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shapes = "=0",
        .compute = destroy_temporary_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RefIdentity",
        .types = "T:any",
        .traits = HR_STATEFUL | HR_READS_ONLY | HR_CHEAP | HR_NO_GRADIENT,
        .shapes = "=0",
        .shape = reference_pass_shape,
        .compute = reference_pass_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Assign",
        .types = "T:any",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = reference_assign_shape,
        .compute = reference_assign_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "IsVariableInitialized",
        .traits = HR_STATEFUL | HR_READS_ONLY | HR_CHEAP | HR_NO_GRADIENT,
        .shape = hr_infer_scalar,
        .compute = reference_initialized_compute,
    },
    HR_GRAPH_OPS_END,
};
