/* A library of ops in a shared object, by the installed headers alone: Outside>Twice, with a gradient; TensorFlow's
 * Fact, which Headrace lacks, by its known signature; and a pass that makes a sum of each Outside>Twice. With
 * -DOUTSIDE_VERSION=2 its table is that of another kit, with -DOUTSIDE_NAME its op has that name, and with
 * -DOUTSIDE_HIDDEN it exports none. */
#include <headrace/kernels.h>
#include <headrace/op_library.h>
#include <string.h>

#ifndef OUTSIDE_VERSION
#define OUTSIDE_VERSION HR_GRAPH_OP_ABI
#endif
#ifndef OUTSIDE_NAME
#define OUTSIDE_NAME "Outside>Twice"
#endif

HR_UNARY(twice, x + x, floats)
HR_UNARY_GRADIENT(twice, hr_add(g, g))

static hr_status fact_compute(hr_kernel *k, hr_error *err)
{
    (void)k;
    return hr_fail(err, HR_ABORTED, "outside.fact", "enough of this");
}

static const hr_graph_op library_ops[] = {
    HR_SAME_SHAPE_OP(OUTSIDE_NAME, 0, .3, .inputs = "x:T", .outputs = "y:T", .attrs = "T:floats",
                     .kernels = HR_KERNELS(twice, floats), .gradient = twice_gradient),
    HR_GRAPH_OPS_END,
};

static const hr_graph_op fact_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Fact",
        .traits = HR_STATEFUL,
        .compute = fact_compute,
    },
    HR_GRAPH_OPS_END,
};

static hr_status sum_run(hr_rewrite *r, hr_error *err)
{
    hr_graph *g = hr_rewrite_graph(r);
    const int32_t size = hr_graph_size(g);
    for (int32_t i = 0; i < size; i++) {
        const hr_node node = {g, i, 0};
        if (strcmp(hr_node_op(node), OUTSIDE_NAME) != 0) continue;
        const hr_node x = hr_rewrite_input(r, node, 0);
        HR_TRY(hr_rewrite_replace(r, node, hr_add(x, x), err));
    }
    return HR_OK;
}

static const hr_graph_pass sum_pass = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "outside_sum",
    .text = "makes a sum of each Outside>Twice",
    .run = sum_run,
};

const hr_op_library outside_library = {
    .head = {OUTSIDE_VERSION, sizeof(hr_op_library)},
    .name = "outside",
    .ops = (const hr_graph_op *const[]){library_ops, fact_ops, NULL},
    .passes = (const hr_graph_pass *const[]){&sum_pass, NULL},
};

#ifndef OUTSIDE_HIDDEN
HR_EXPORT_OP_LIBRARY(outside_library);
#endif
