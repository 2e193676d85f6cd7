/* A layer in one node: MatMul or Conv2D, the bias, and the activation become TensorFlow's _FusedMatMul or _FusedConv2D,
 * whose kernel finishes each block while it is in the cache. The loops are those of the ops, so the bits are the same; it
 * saves a hundredth or two of the time, for which errors name another node, so it runs where it is asked for. */
#include <headrace/pass.h>
#include <string.h>

/* Of one of the library's own ops. */
static bool dense_is(hr_node node, const char *op)
{
    return hr_node_is(node, op) && hr_node_descriptor(node) == hr_graph_op_named(op);
}

/* Input i by now, if nothing but `node` takes what it was. */
static hr_node dense_inner(const hr_rewrite *r, hr_node node, int i)
{
    const hr_node before = hr_node_input(node, i), input = hr_rewrite_input(r, node, i);
    const bool alone = hr_rewrite_uses(r, before) == 1 && hr_node_controls(before) == 0;
    const bool own = input.id == before.id || hr_rewrite_uses(r, input) == 0; /* what this pass made has no uses yet */
    return alone && own && hr_node_is_pure(before) ? input : (hr_node){0};
}

static bool dense_channels_last(hr_node node)
{
    const hr_attr *format = hr_node_attr(node, "data_format"); /* BiasAddV1 has none */
    return !format || strcmp(format->s.data, "NHWC") == 0;
}

/* Whether `bias` is a row that is added to each row of the product. */
static bool dense_is_bias(hr_node sum, hr_node product, hr_node bias)
{
    const hr_shape row = hr_node_shape(bias), all = hr_node_shape(product);
    if (dense_is(sum, "BiasAdd") || dense_is(sum, "BiasAddV1"))
        return dense_channels_last(sum) || hr_node_shape(product).rank == 2;
    return row.rank == 1 && all.rank > 1 && row.dims[0] >= 0 && row.dims[0] == all.dims[all.rank - 1];
}

static bool dense_is_conv(hr_node node) { return dense_is(node, "Conv2D") || dense_is(node, "_FusedConv2D"); }

enum { MAX_KEPT = 8 };

/* The fused node that stands for `node`, with the attributes of `product`. */
static hr_node dense_make(const hr_rewrite *r, hr_node node, hr_node product, const hr_node *inputs, const hr_view *ops,
                          int op_count)
{
    static const char *const of_matmul[] = {"transpose_a", "transpose_b", NULL};
    static const char *const of_conv[] = {
        "strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu", NULL};
    const char *const *kept = dense_is_conv(product) ? of_conv : of_matmul;
    hr_attr attrs[MAX_KEPT + 4] = {{.name = "fused_ops", .kind = HR_ATTR_STRINGS, .count = op_count, .strings = ops},
                                   HR_INT_ATTR("num_args", 1)};
    int count = 2;
    for (int i = 0; kept[i]; i++) attrs[count++] = *hr_node_attr(product, kept[i]);
    if (dense_is_conv(product)) attrs[count++] = HR_INT_ATTR("num_host_args", 0);
    if (dense_is(node, "LeakyRelu")) attrs[count++] = HR_FLOAT_ATTR("leakyrelu_alpha", hr_attr_float(node, "alpha"));
    return hr_new_node(hr_rewrite_graph(r), dense_is_conv(product) ? "_FusedConv2D" : "_FusedMatMul",
                       .name = hr_node_name(node), .inputs = inputs, .input_count = 3, .attrs = attrs,
                       .attr_count = count);
}

static bool dense_may_fuse(hr_node product)
{
    const hr_dtype dtype = hr_node_dtype(product);
    if (dense_is(product, "MatMul")) return dtype == HR_FLOAT;
    return dense_is(product, "Conv2D") && dense_channels_last(product) && (dtype == HR_FLOAT || dtype == HR_DOUBLE);
}

/* A product and a bias. No node: they are none. */
static hr_node dense_with_bias(const hr_rewrite *r, hr_node sum)
{
    const hr_view ops[] = {hr_text_view("BiasAdd")};
    const bool add = dense_is(sum, "Add") || dense_is(sum, "AddV2");
    if (!add && !dense_is(sum, "BiasAdd") && !dense_is(sum, "BiasAddV1")) return (hr_node){0};
    for (int i = 0; i < (add ? 2 : 1); i++) {
        const hr_node product = dense_inner(r, sum, i), bias = hr_rewrite_input(r, sum, 1 - i);
        if (!product.graph || !dense_may_fuse(product) || !dense_is_bias(sum, product, bias)) continue;
        const hr_node inputs[] = {hr_rewrite_input(r, product, 0), hr_rewrite_input(r, product, 1), bias};
        return dense_make(r, sum, product, inputs, ops, 1);
    }
    return (hr_node){0};
}

/* An activation of what has a bias. No node: it is none. */
static hr_node dense_with_activation(const hr_rewrite *r, hr_node node)
{
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"};
    size_t i = 0;
    while (i < sizeof activations / sizeof *activations && !dense_is(node, activations[i])) i++;
    if (i == sizeof activations / sizeof *activations) return (hr_node){0};
    const hr_node layer = dense_inner(r, node, 0);
    if (!layer.graph || (!dense_is(layer, "_FusedMatMul") && !dense_is(layer, "_FusedConv2D"))) return (hr_node){0};
    const hr_attr *fused = hr_node_attr(layer, "fused_ops");
    if (fused->count != 1 || hr_node_inputs(layer) != 3) return (hr_node){0};
    const hr_view ops[] = {fused->strings[0], hr_text_view(activations[i])};
    const hr_node inputs[] = {hr_rewrite_input(r, layer, 0), hr_rewrite_input(r, layer, 1),
                              hr_rewrite_input(r, layer, 2)};
    return dense_make(r, node, layer, inputs, ops, 2);
}

static hr_status fuse_dense_run(hr_rewrite *r, hr_error *err)
{
    hr_graph *g = hr_rewrite_graph(r);
    const int32_t size = hr_graph_size(g);
    for (int32_t id = 0; id < size; id++) {
        const hr_node node = {g, id, 0};
        if (hr_node_controls(node) > 0 || hr_node_inputs(node) == 0 || !hr_node_is_pure(node)) continue;
        hr_node by = dense_with_bias(r, node);
        if (!by.graph) by = dense_with_activation(r, node);
        if (!hr_node_exists(by)) continue; /* an error is the graph's */
        HR_TRY(hr_rewrite_replace(r, node, by, err));
        HR_TRY(hr_rewrite_replace(r, hr_target(node), by, err));
    }
    return HR_OK;
}

const hr_graph_pass hr_graph_pass_fuse_dense = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "fuse_dense",
    .text = "makes one node of a product, its bias and its activation",
    .traits = HR_PASS_FOR_RUNS,
    .run = fuse_dense_run,
};
