/* Momentum in both of its forms: a = a * momentum + g, w -= lr * a; and Keras's, which keeps the rate in the slot. */
#include "train/optimizers/rules.h"

/* Inputs: var, accum, lr, grad [, indices], momentum. */
static hr_status apply_momentum_compute(hr_kernel *k, const hr__rule *rule, bool sparse, hr_error *err)
{
    hr__apply apply = {rule, .grad = 3, .indices = sparse ? 4 : 0};
    HR_TRY(hr__apply_number(k, 2, &apply.p[0], err));
    HR_TRY(hr__apply_number(k, sparse ? 5 : 4, &apply.p[1], err));
    apply.p[2] = hr_attr_bool(k->node, "use_nesterov");
    return hr__apply_run(k, &apply, err);
}

static hr_status momentum_dense(hr_kernel *k, hr_error *err)
{
    return apply_momentum_compute(k, &hr__rule_momentum, false, err);
}
static hr_status momentum_sparse(hr_kernel *k, hr_error *err)
{
    return apply_momentum_compute(k, &hr__rule_momentum, true, err);
}
static hr_status keras_dense(hr_kernel *k, hr_error *err)
{
    return apply_momentum_compute(k, &hr__rule_keras_momentum, false, err);
}
static hr_status keras_sparse(hr_kernel *k, hr_error *err)
{
    return apply_momentum_compute(k, &hr__rule_keras_momentum, true, err);
}

#define DENSE_INPUTS "var:resource, accum:resource, lr:T, grad:T, momentum:T"
#define DENSE_ATTRS "T:floats; use_locking:bool=false; use_nesterov:bool=false"
#define SPARSE_INPUTS "var:resource, accum:resource, lr:T, grad:T, indices:Tindices, momentum:T"
#define SPARSE_ATTRS                                                                                                   \
    "T:floats; Tindices:indices; use_locking:bool=false; use_nesterov:bool=false; _sum_duplicates:bool=false"

const hr_graph_op hr_graph_ops_apply_momentum[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyMomentum",
        .inputs = DENSE_INPUTS,
        .attrs = DENSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = momentum_dense,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyKerasMomentum",
        .inputs = DENSE_INPUTS,
        .attrs = DENSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = keras_dense,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceSparseApplyMomentum",
        .inputs = SPARSE_INPUTS,
        .attrs = SPARSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = momentum_sparse,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceSparseApplyKerasMomentum",
        .inputs = SPARSE_INPUTS,
        .attrs = SPARSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = keras_sparse,
    },
    HR_GRAPH_OPS_END,
};
