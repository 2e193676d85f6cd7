/* w -= alpha * delta. With indices every slice is subtracted as it comes, so that rows given twice add up. */
#include "train/optimizers/rules.h"

static hr_status apply_gradient_descent_dense_compute(hr_kernel *k, hr_error *err)
{
    hr__apply apply = {&hr__rule_descent, .grad = 2};
    HR_TRY(hr__apply_number(k, 1, &apply.p[0], err));
    return hr__apply_run(k, &apply, err);
}

static hr_status apply_gradient_descent_sparse_compute(hr_kernel *k, hr_error *err)
{
    hr__apply apply = {&hr__rule_descent, .grad = 2, .indices = 3};
    HR_TRY(hr__apply_number(k, 1, &apply.p[0], err));
    return hr__apply_run(k, &apply, err);
}

const hr_graph_op hr_graph_ops_apply_gradient_descent[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyGradientDescent",
        .inputs = "var:resource, alpha:T, delta:T",
        .attrs = "T:floats; use_locking:bool=false",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = apply_gradient_descent_dense_compute,
    },
    {
        /* TensorFlow takes ResourceScatterAdd of -alpha * delta: one more pass over the rows. */
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>ResourceSparseApplyGradientDescent",
        .inputs = "var:resource, alpha:T, delta:T, indices:Tindices",
        .attrs = "T:floats; Tindices:indices; use_locking:bool=false; _sum_duplicates:bool=false",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = apply_gradient_descent_sparse_compute,
    },
    HR_GRAPH_OPS_END,
};
