/* Variables as TensorFlow's resource variables: a handle, reads that later updates do not touch, updates in place. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- the handle ---- */

typedef struct handle_state {
    hr_resource *variable;
} handle_state;

static hr_status handle_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    const hr_view shared = hr_attr_string(node, "shared_name");
    const char *name = shared.size > 0 ? shared.data : hr_node_name(node);
    return hr_session_variable(session, name, &((handle_state *)state)->variable, err);
}

static hr_status handle_compute(hr_kernel *k, hr_error *err)
{
    (void)err;
    hr_kernel_give(k, 0, hr_resource_handle(((const handle_state *)k->state)->variable));
    return HR_OK;
}

/* What is known of the variable that input 0 is a handle of. */
static hr_shape declared_shape(hr_node node)
{
    const hr_variable_info *info = hr_variable_of(hr_node_input(node, 0));
    if (info) return info->shape;
    hr_node handle = hr_node_input(node, 0);
    while (strcmp(hr_node_op(handle), "Identity") == 0) handle = hr_node_input(handle, 0);
    return strcmp(hr_node_op(handle), "VarHandleOp") == 0 ? hr_attr_shape(handle, "shape") : HR_UNKNOWN_SHAPE;
}

/* ---- reading ---- */

static hr_status read_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = declared_shape(s->node);
    return HR_OK;
}

static hr_status read_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr_kernel_read(k, 0, &value, err));
    if (value.dtype != hr_node_dtype(k->node)) {
        hr_tensor_clear(&value);
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "expected a variable of type %s",
                       hr_dtype_name(hr_node_dtype(k->node)));
    }
    hr_kernel_give(k, 0, value);
    return HR_OK;
}

static void read_gradient(hr_backward *b) { b->out[0] = b->slices[0]; }

static hr_status initialized_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(bool *)out->data = hr_kernel_initialized(k, 0);
    return HR_OK;
}

static hr_status shape_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = HR_SHAPE(declared_shape(s->node).rank);
    return HR_OK;
}

static hr_status shape_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *value;
    hr_tensor *out;
    HR_TRY(hr_kernel_borrow(k, 0, &value, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(value->shape.rank), &out, err));
    for (int i = 0; i < value->shape.rank; i++) HR_TRY(hr_put_int(out, i, value->shape.dims[i], err));
    return HR_OK;
}

/* ---- updating ---- */

static hr_status assign_compute(hr_kernel *k, hr_error *err) { return hr_kernel_assign(k, 0, 1, err); }

static hr_status variable_same_shape(hr_kernel *k, const hr_tensor *value, hr_error *err)
{
    char had[128], got[128];
    if (value->dtype == k->input[1]->dtype && hr_shape_equal(value->shape, k->input[1]->shape)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape",
                   "expected a value of the variable's type and shape %s, "
                   "got %s",
                   hr_shape_text(value->shape, had, sizeof had), hr_shape_text(k->input[1]->shape, got, sizeof got));
}

#define UPDATE(T, U, D, S)                                                                                             \
    static void update_##S(void *to, const void *from, int64_t count, bool subtract)                                   \
    {                                                                                                                  \
        T *a = to;                                                                                                     \
        const T *b = from;                                                                                             \
        for (int64_t i = 0; i < count; i++) a[i] = (T)(subtract ? (U)a[i] - (U)b[i] : (U)a[i] + (U)b[i]);              \
    }
HR_NUMBER_TYPES(UPDATE)

static hr_status update_compute(hr_kernel *k, hr_error *err, bool subtract)
{
    hr_tensor *value;
    if (!hr_kernel_initialized(k, 0))
        return hr_fail(err, HR_NOT_FOUND, "variable.uninitialized",
                       "expected variable '%s' to have a value, but it has none; initialize or restore it",
                       hr_kernel_variable_name(k, 0));
    HR_TRY(hr_kernel_update(k, 0, &value, err));
    HR_TRY(variable_same_shape(k, value, err));
    switch (value->dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        update_##S(value->data, k->input[1]->data, value->count, subtract);                                            \
        break;
        HR_NUMBER_TYPES(CASE)
#undef CASE
    default:
        break;
    }
    return HR_OK;
}

static hr_status add_compute(hr_kernel *k, hr_error *err) { return update_compute(k, err, false); }
static hr_status sub_compute(hr_kernel *k, hr_error *err) { return update_compute(k, err, true); }

/* The shape of what is assigned must fit what is declared. */
static hr_status assign_shape(hr_infer *s, hr_error *err)
{
    hr_shape merged;
    if (hr_shape_merge(declared_shape(s->node), s->input[1], &merged)) return HR_OK;
    return hr_infer_refuse(s, err, "a value of the variable's shape");
}

const hr_graph_op hr_graph_ops_variable_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "VarHandleOp",
        .types = "dtype:any",
        .traits = HR_FIXED | HR_STATEFUL | HR_NO_GRADIENT,
        .state_size = sizeof(handle_state),
        .shape = hr_infer_scalar,
        .prepare = handle_prepare,
        .compute = handle_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ReadVariableOp",
        .types = "dtype:any",
        .traits = HR_STATEFUL | HR_READS_ONLY | HR_CHEAP | HR_PASSES_SLICES,
        .shape = read_shape,
        .compute = read_compute,
        .gradient = read_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "VarIsInitializedOp",
        .traits = HR_STATEFUL | HR_READS_ONLY | HR_CHEAP | HR_NO_GRADIENT,
        .shape = hr_infer_scalar,
        .compute = initialized_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "VariableShape",
        .types = "out_type:indices",
        .traits = HR_STATEFUL | HR_READS_ONLY | HR_CHEAP | HR_NO_GRADIENT,
        .shape = shape_shape,
        .compute = shape_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "AssignVariableOp",
        .types = "dtype:any",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = assign_shape,
        .compute = assign_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "AssignAddVariableOp",
        .types = "dtype:numbers",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = assign_shape,
        .compute = add_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "AssignSubVariableOp",
        .types = "dtype:numbers",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = assign_shape,
        .compute = sub_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "AssignAdd",
        .types = "T:numbers",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr_infer_unchanged,
        .compute = add_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "AssignSub",
        .types = "T:numbers",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr_infer_unchanged,
        .compute = sub_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_assign(hr_node variable, hr_node value)
{
    return hr_new_node(variable.graph, "AssignVariableOp", HR_INPUTS(variable, value));
}

hr_node hr_assign_add(hr_node variable, hr_node value)
{
    return hr_new_node(variable.graph, "AssignAddVariableOp", HR_INPUTS(variable, value));
}

hr_node hr_assign_sub(hr_node variable, hr_node value)
{
    return hr_new_node(variable.graph, "AssignSubVariableOp", HR_INPUTS(variable, value));
}
