/* What fused ops do to their result: see kernels.h. */
#include <headrace/kernels.h>
#include <string.h>

static bool epilogue_says(hr_view word, const char *op)
{
    return (size_t)word.size == strlen(op) && memcmp(word.data, op, (size_t)word.size) == 0;
}

/* The loop of an element-wise op; NULL: it has none of that type. */
static hr_loop *epilogue_loop(const char *op, hr_dtype dtype)
{
    const hr_type_kernel *kernel = hr_kernel_of_type(hr_graph_op_named(op)->kernels, dtype);
    return kernel ? (hr_loop *)kernel->run : NULL;
}

hr_status hr_epilogue_read(hr_node node, hr_epilogue *out, hr_error *err)
{
    static const char *const then[] = {"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"};
    const hr_attr *ops = hr_node_attr(node, "fused_ops");
    const hr_dtype dtype = hr_node_dtype(node);
    if (ops->count == 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected at least one of fused_ops");
    *out = (hr_epilogue){.alpha = hr_attr_float(node, "leakyrelu_alpha"), .size = hr_dtype_size(dtype)};
    if (epilogue_says(ops->strings[0], "BiasAdd")) out->add = epilogue_loop("AddV2", dtype);
    for (size_t i = 0; ops->count == 2 && i < sizeof then / sizeof *then; i++)
        if (epilogue_says(ops->strings[1], then[i])) out->then = epilogue_loop(then[i], dtype);
    if (!out->add || (ops->count > 1 && !out->then))
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel",
                       "expected fused_ops of BiasAdd and one activation at most, got %d that begin with '%.*s'",
                       ops->count, (int)(ops->strings[0].size < 60 ? ops->strings[0].size : 60), ops->strings[0].data);
    if (hr_attr_int(node, "num_args") == 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected a bias beside the two inputs, got %lld arguments",
                   (long long)hr_attr_int(node, "num_args"));
}

hr_status hr_epilogue_check(const hr_tensor *bias, int64_t channels, hr_error *err)
{
    char text[128];
    if (bias->shape.rank == 1 && bias->count == channels) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a vector of %lld biases, got %s",
                   (long long)channels, hr_shape_text(bias->shape, text, sizeof text));
}

/* Rows of one value are added up in one run. */
void hr_epilogue_run(const hr_epilogue *e, const hr_tensor *bias, void *rows, int64_t count)
{
    const int64_t width = bias->count, size = (int64_t)e->size, run = width == 1 ? count : width;
    const int64_t steps[3] = {size, size, width == 1 ? 0 : size};
    for (int64_t at = 0; at < count * width; at += run) {
        char *row = (char *)rows + at * size;
        e->add((char *const[]){row, row, bias->data}, steps, run, NULL);
    }
    /* The state of LeakyRelu, which its loop wants to see, is its alpha. */
    if (e->then) e->then((char *const[]){rows, rows}, steps, count * width, &e->alpha);
}
