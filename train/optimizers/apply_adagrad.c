/* Adagrad: a += g * g; w -= lr * g / sqrt(a), in V2 / (sqrt(a) + epsilon). */
#include "train/optimizers/rules.h"

static hr_status apply_adagrad_compute(hr_kernel *k, bool second, bool sparse, hr_error *err)
{
    const int grad = second ? 4 : 3;
    hr__apply apply = {second ? &hr__rule_adagrad_v2 : &hr__rule_adagrad, .grad = grad,
                       .indices = sparse ? grad + 1 : 0};
    apply.p[second ? 2 : 1] = hr_attr_bool(k->node, "update_slots");
    HR_TRY(hr__apply_number(k, 2, &apply.p[0], err));
    if (second) HR_TRY(hr__apply_number(k, 3, &apply.p[1], err));
    return hr__apply_run(k, &apply, err);
}

static hr_status apply_adagrad_dense(hr_kernel *k, hr_error *err)
{
    return apply_adagrad_compute(k, false, false, err);
}
static hr_status apply_adagrad_sparse(hr_kernel *k, hr_error *err)
{
    return apply_adagrad_compute(k, false, true, err);
}
static hr_status dense_v2(hr_kernel *k, hr_error *err) { return apply_adagrad_compute(k, true, false, err); }
static hr_status sparse_v2(hr_kernel *k, hr_error *err) { return apply_adagrad_compute(k, true, true, err); }

#define DENSE_ATTRS "T:floats; use_locking:bool=false; update_slots:bool=true"
#define SPARSE_ATTRS                                                                                                   \
    "T:floats; Tindices:indices; use_locking:bool=false; update_slots:bool=true; _sum_duplicates:bool=false"

const hr_graph_op hr_graph_ops_apply_adagrad[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyAdagrad",
        .inputs = "var:resource, accum:resource, lr:T, grad:T",
        .attrs = DENSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = apply_adagrad_dense,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyAdagradV2",
        .inputs = "var:resource, accum:resource, lr:T, epsilon:T, grad:T",
        .attrs = DENSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = dense_v2,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceSparseApplyAdagrad",
        .inputs = "var:resource, accum:resource, lr:T, grad:T, indices:Tindices",
        .attrs = SPARSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = apply_adagrad_sparse,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceSparseApplyAdagradV2",
        .inputs = "var:resource, accum:resource, lr:T, epsilon:T, grad:T, indices:Tindices",
        .attrs = SPARSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = sparse_v2,
    },
    HR_GRAPH_OPS_END,
};
