/* FakeQuantWithMinMaxArgs: floats rounded to what a quantised type could hold, and its gradient. */
#include <headrace/kernels.h>
#include <math.h>

/* The range, moved so that 0 is held exactly, and the distance of two neighbours. */
typedef struct fake_range {
    float least, most, scale, per_scale, zero;
} fake_range;

static hr_status fake_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    fake_range *r = state;
    const float min = hr_attr_float(node, "min"), max = hr_attr_float(node, "max");
    const int64_t bits = hr_attr_int(node, "num_bits");
    (void)session;
    if (!(min < max) || bits < 2 || bits > 16)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "expected min < max and num_bits in [2, 16], got %g, %g, %lld", (double)min, (double)max,
                       (long long)bits);
    const float first = hr_attr_bool(node, "narrow_range") ? 1 : 0, last = (float)((1 << bits) - 1);
    r->scale = (max - min) / (last - first);
    r->per_scale = (last - first) / (max - min);
    const float zero = first - min / r->scale, near = zero < first ? first : zero > last ? last : roundf(zero);
    r->least = (first - near) * r->scale;
    r->most = (last - near) * r->scale;
    r->zero = floorf(-r->least * r->per_scale + 0.5f);
    return HR_OK;
}

static float fake_round(float x, const fake_range *r)
{
    const float clipped = x > r->most ? r->most : x < r->least ? r->least : x;
    return floorf((clipped - r->least) * r->per_scale - r->zero + 0.5f) * r->scale;
}

static bool fake_within(float x, const fake_range *r) { return x >= r->least && x <= r->most; }

HR_UNARY(fake_quant, fake_round(x, user), float32)
HR_BINARY(fake_quant_grad, fake_within(y, user) ? x : 0, float32)

/* The same attributes. */
static hr_node fake_slope(const hr_backward *b, hr_node g, hr_node x)
{
    return hr_new_node(b->graph, "FakeQuantWithMinMaxArgsGradient", HR_INPUTS(g, x),
                       HR_ATTRS(*hr_node_attr(b->node, "min"), *hr_node_attr(b->node, "max"),
                                *hr_node_attr(b->node, "num_bits"), *hr_node_attr(b->node, "narrow_range")));
}
HR_UNARY_GRADIENT(fake_quant, fake_slope(b, g, x))

const hr_graph_op hr_graph_ops_fake_quant_ops[] = {
    HR_SAME_SHAPE_OP("FakeQuantWithMinMaxArgs", 0, 1, .kernels = HR_KERNELS(fake_quant, float32),
                     .state_size = sizeof(fake_range), .prepare = fake_prepare, .gradient = fake_quant_gradient),
    HR_SAME_SHAPE_OP("FakeQuantWithMinMaxArgsGradient", 0, .4, .kernels = HR_KERNELS(fake_quant_grad, float32),
                     .state_size = sizeof(fake_range), .prepare = fake_prepare),
    HR_GRAPH_OPS_END,
};
