/* Variables as TensorFlow's resource variables: a handle, reads that later updates do not touch, updates in place. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- the handle ---- */

static hr_status handle_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    return hr_session_variable(session, hr_attr_or_name(node, "shared_name"), state, err);
}

static hr_status handle_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = HR_SCALAR;
    s->handle[0].dtype = hr_attr_type(s->node, "dtype");
    s->handle[0].shape = hr_attr_shape(s->node, "shape");
    return HR_OK;
}

/* The shape of the variable that input 0 is a handle of, and whether the node's type is the variable's. */
static hr_status declared_shape(const hr_infer *s, hr_shape *shape, hr_error *err)
{
    hr_handle_info info;
    const hr_attr *type = hr_node_attr(s->node, "dtype");
    const bool known = hr_handle_of(hr_node_input(s->node, 0), &info);
    *shape = info.shape;
    if (!known || !type || type->type == info.dtype) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "expected a variable of %s, but '%s' is of %s",
                   hr_dtype_name(type->type), info.name, hr_dtype_name(info.dtype));
}

/* ---- reading ---- */

static hr_status read_shape(hr_infer *s, hr_error *err) { return declared_shape(s, &s->output[0], err); }

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
    hr_shape shape;
    HR_TRY(declared_shape(s, &shape, err));
    s->output[0] = HR_SHAPE(shape.rank);
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

static hr_status destroy_compute(hr_kernel *k, hr_error *err) { return hr_kernel_clear_variable(k, 0, err); }

static hr_status nothing_compute(hr_kernel *k, hr_error *err)
{
    (void)k, (void)err;
    return HR_OK;
}

static hr_status variable_same_shape(hr_kernel *k, const hr_tensor *value, hr_error *err)
{
    char had[128], got[128];
    if (value->dtype == k->input[1]->dtype && hr_shape_equal(value->shape, k->input[1]->shape)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape",
                   "expected a value of the variable's type and shape %s, "
                   "got %s",
                   hr_shape_text(value->shape, had, sizeof had), hr_shape_text(k->input[1]->shape, got, sizeof got));
}

typedef void update_fn(void *to, const void *from, int64_t count, bool subtract);
#define UPDATE(T, V, U, DTYPE, S, A, B)                                                                                \
    static void update_##S(void *to, const void *from, int64_t count, bool subtract)                                   \
    {                                                                                                                  \
        T *a = to;                                                                                                     \
        const T *b = from;                                                                                             \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const U x = (U)HR_GET(S, a[i]), y = (U)HR_GET(S, b[i]);                                                    \
            a[i] = HR_PUT(S, T, subtract ? x - y : x + y);                                                             \
        }                                                                                                              \
    }
HR_EACH_TYPE(UPDATE, ~, ~, floats, halves, ints, complexes)

static hr_status update_compute(hr_kernel *k, hr_error *err, bool subtract)
{
    hr_tensor *value;
    const bool handle = hr_node_dtype(hr_node_input(k->node, 0)) == HR_RESOURCE;
    if (handle && !hr_kernel_initialized(k, 0))
        return hr_fail(err, HR_NOT_FOUND, "variable.uninitialized",
                       "expected variable '%s' to have a value, but it has none; initialize or restore it",
                       hr_kernel_variable_name(k, 0));
    HR_TRY(hr_kernel_update(k, 0, &value, err));
    HR_TRY(variable_same_shape(k, value, err));
    ((update_fn *)hr_kernel_chosen(k)->run)(value->data, k->input[1]->data, value->count, subtract);
    return HR_OK;
}

static hr_status add_compute(hr_kernel *k, hr_error *err) { return update_compute(k, err, false); }
static hr_status sub_compute(hr_kernel *k, hr_error *err) { return update_compute(k, err, true); }

/* Gives the number, and adds 1 to it, as long as it is below the limit. */
static hr_status count_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *value, *out;
    const int64_t limit = hr_attr_int(k->node, "limit");
    HR_TRY(hr_kernel_update(k, 0, &value, err));
    if (value->count != 1 || value->dtype != hr_node_dtype(k->node))
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "expected a variable of one number");
    const int64_t now = hr_int_at(value, 0);
    if (now >= limit) return hr_fail(err, HR_OUT_OF_RANGE, "variable.limit", "Reached limit of %lld", (long long)limit);
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    HR_TRY(hr_put_int(out, 0, now, err));
    return hr_put_int(value, 0, now + 1, err);
}

/* The shape of what is assigned must fit what is declared. */
static hr_status assign_shape(hr_infer *s, hr_error *err)
{
    hr_shape declared, merged;
    HR_TRY(declared_shape(s, &declared, err));
    if (hr_shape_merge(declared, s->input[1], &merged)) return HR_OK;
    return hr_infer_refuse(s, err, "a value of the variable's shape");
}

#define UPDATE_OP(NAME, SHAPE, COMPUTE)                                                                                \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .traits = HR_STATEFUL | HR_NO_GRADIENT, .shape = SHAPE,                \
        .compute = COMPUTE, .kernels = HR_KERNELS(update, floats, halves, ints, complexes),                            \
    }

const hr_graph_op hr_graph_ops_variable_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "VarHandleOp",
        .types = "dtype:any",
        .traits = HR_FIXED | HR_STATEFUL | HR_NO_GRADIENT,
        .state_size = sizeof(hr_resource *),
        .shape = handle_shape,
        .prepare = handle_prepare,
        .compute = hr_compute_handle,
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
    UPDATE_OP("AssignAddVariableOp", assign_shape, add_compute),
    UPDATE_OP("AssignSubVariableOp", assign_shape, sub_compute),
    UPDATE_OP("AssignAdd", hr_infer_unchanged, add_compute),
    UPDATE_OP("AssignSub", hr_infer_unchanged, sub_compute),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "CountUpTo",
        .types = "T:indices",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr_infer_scalar,
        .compute = count_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceCountUpTo",
        .types = "T:indices",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr_infer_scalar,
        .compute = count_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "DestroyResourceOp",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = destroy_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "DisableCopyOnRead",
        .traits = HR_STATEFUL | HR_READS_ONLY | HR_CHEAP | HR_NO_GRADIENT,
        .compute = nothing_compute,
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

hr_node hr_variable_shape(hr_node variable, hr_dtype out_type)
{
    hr_handle_info info;
    if (out_type == HR_INT64 && hr_handle_of(variable, &info) && hr_shape_count(info.shape) >= 0) {
        const hr_tensor dims = hr_tensor_of(HR_INT64, HR_SHAPE(info.shape.rank), info.shape.dims);
        return hr_const(variable.graph, &dims);
    }
    if (out_type == HR_INT32 && hr_handle_of(variable, &info) && hr_shape_count(info.shape) >= 0)
        return hr_shape_const(variable.graph, info.shape);
    return hr_new_node(variable.graph, "VariableShape", HR_INPUTS(variable),
                       HR_ATTRS(HR_TYPE_ATTR("out_type", out_type)));
}
