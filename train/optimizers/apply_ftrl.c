/* Ftrl-proximal (McMahan): n += g * g, z += g - (n'^-p - n^-p) / lr * w, and w follows from both alone; l1 makes it
 * 0. */
#include "train/optimizers/rules.h"

/* Inputs: var, accum, linear, grad [, indices], lr, l1, l2 [, l2_shrinkage], lr_power. */
static hr_status apply_ftrl_compute(hr_kernel *k, bool second, bool sparse, hr_error *err)
{
    hr__apply apply = {&hr__rule_ftrl, .grad = 3, .indices = sparse ? 4 : 0};
    int at = sparse ? 5 : 4;
    double power;
    for (int i = 0; i < 3; i++) HR_TRY(hr__apply_number(k, at++, &apply.p[i], err));
    if (second) HR_TRY(hr__apply_number(k, at++, &apply.p[3], err));
    HR_TRY(hr__apply_number(k, at, &power, err));
    apply.p[4] = -power;
    apply.p[5] = hr_attr_bool(k->node, "multiply_linear_by_lr");
    if (power != -0.5) apply.rule = &hr__rule_ftrl_power;
    return hr__apply_run(k, &apply, err);
}

static hr_status apply_ftrl_dense(hr_kernel *k, hr_error *err) { return apply_ftrl_compute(k, false, false, err); }
static hr_status apply_ftrl_sparse(hr_kernel *k, hr_error *err) { return apply_ftrl_compute(k, false, true, err); }
static hr_status dense_v2(hr_kernel *k, hr_error *err) { return apply_ftrl_compute(k, true, false, err); }
static hr_status sparse_v2(hr_kernel *k, hr_error *err) { return apply_ftrl_compute(k, true, true, err); }

#define VARIABLES "var:resource, accum:resource, linear:resource, grad:T"
#define DENSE_ATTRS "T:floats; use_locking:bool=false; multiply_linear_by_lr:bool=false"
#define SPARSE_ATTRS                                                                                                   \
    "T:floats; Tindices:indices; use_locking:bool=false; multiply_linear_by_lr:bool=false; _sum_duplicates:bool=false"

const hr_graph_op hr_graph_ops_apply_ftrl[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyFtrl",
        .inputs = VARIABLES ", lr:T, l1:T, l2:T, lr_power:T",
        .attrs = DENSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = apply_ftrl_dense,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyFtrlV2",
        .inputs = VARIABLES ", lr:T, l1:T, l2:T, l2_shrinkage:T, lr_power:T",
        .attrs = DENSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = dense_v2,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceSparseApplyFtrl",
        .inputs = VARIABLES ", indices:Tindices, lr:T, l1:T, l2:T, lr_power:T",
        .attrs = SPARSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = apply_ftrl_sparse,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceSparseApplyFtrlV2",
        .inputs = VARIABLES ", indices:Tindices, lr:T, l1:T, l2:T, l2_shrinkage:T, lr_power:T",
        .attrs = SPARSE_ATTRS,
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = sparse_v2,
    },
    HR_GRAPH_OPS_END,
};
