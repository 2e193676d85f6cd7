/* What weights cost. */
#include <headrace/layers.h>

hr_regularizer hr_l1(float l1) { return (hr_regularizer){.l1 = l1}; }
hr_regularizer hr_l2(float l2) { return (hr_regularizer){.l2 = l2}; }
hr_regularizer hr_l1_l2(float l1, float l2) { return (hr_regularizer){.l1 = l1, .l2 = l2}; }

hr_node hr_regularization_loss(hr_node x, hr_regularizer r)
{
    hr_node loss = {0};
    if (!x.graph) return x;
    const hr_dtype dtype = hr_variable_of(x) ? hr_variable_of(x)->dtype : hr_node_dtype(x);
    if (r.l1 != 0) loss = hr_mul(hr_scalar(x.graph, dtype, (double)r.l1), hr_reduce_sum(hr_abs(x)));
    if (r.l2 != 0) {
        const double factor = (double)r.l2 * (r.half_l2 ? 0.5 : 1);
        const hr_node squares = hr_mul(hr_scalar(x.graph, dtype, factor), hr_reduce_sum(hr_square(x)));
        loss = loss.graph ? hr_add(loss, squares) : squares;
    }
    return loss.graph ? loss : hr_scalar(x.graph, dtype, 0);
}
