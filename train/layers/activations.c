/* Activations as functions, and by name for files that people write. */
#include "train/layers/layers.h"

#include <string.h>

hr_node hr_relu_fn(hr_node x) { return hr_relu(x); }
hr_node hr_relu6_fn(hr_node x) { return hr_relu6(x); }
hr_node hr_elu_fn(hr_node x) { return hr_elu(x); }
hr_node hr_selu_fn(hr_node x) { return hr_selu(x); }
hr_node hr_sigmoid_fn(hr_node x) { return hr_sigmoid(x); }
hr_node hr_tanh_fn(hr_node x) { return hr_tanh(x); }
hr_node hr_softplus_fn(hr_node x) { return hr_softplus(x); }
hr_node hr_softsign_fn(hr_node x) { return hr_softsign(x); }

hr_node hr_leaky_relu_fn(hr_node x) { return hr_leaky_relu(x); }
hr_node hr_softmax_fn(hr_node x) { return hr_softmax(x); }
hr_node hr_log_softmax_fn(hr_node x) { return hr_log_softmax(x); }
hr_node hr_exponential_fn(hr_node x) { return hr_exp(x); }
hr_node hr_linear_fn(hr_node x) { return x; }

hr_node hr_swish_fn(hr_node x)
{
    if (!x.graph) return x;
    hr_name_scope(x.graph, "swish");
    const hr_node y = hr_mul(x, hr_sigmoid(x));
    hr_scope_end(x.graph);
    return y;
}

hr_node hr_gelu_fn(hr_node x)
{
    if (!x.graph) return x;
    hr_name_scope(x.graph, "gelu");
    const hr_node share = hr_add(hr_scalar_like(x, 1), hr_erf(hr_div(x, hr_scalar_like(x, 1.4142135623730951))));
    const hr_node y = hr_mul(hr_mul(hr_scalar_like(x, 0.5), x), share);
    hr_scope_end(x.graph);
    return y;
}

hr_node hr_mish_fn(hr_node x)
{
    if (!x.graph) return x;
    hr_name_scope(x.graph, "mish");
    const hr_node y = hr_mul(x, hr_tanh(hr_softplus(x)));
    hr_scope_end(x.graph);
    return y;
}

hr_node hr_hard_sigmoid_fn(hr_node x)
{
    if (!x.graph) return x;
    hr_name_scope(x.graph, "hard_sigmoid");
    const hr_node line = hr_add(hr_mul(x, hr_scalar_like(x, 0.2)), hr_scalar_like(x, 0.5));
    const hr_node y = hr_clip_by_value(line, hr_scalar_like(x, 0), hr_scalar_like(x, 1));
    hr_scope_end(x.graph);
    return y;
}

static const struct {
    const char *name;
    hr_activation_fn *fn;
} activations[] = {
    {"elu", hr_elu_fn},
    {"exponential", hr_exponential_fn},
    {"gelu", hr_gelu_fn},
    {"hard_sigmoid", hr_hard_sigmoid_fn},
    {"leaky_relu", hr_leaky_relu_fn},
    {"linear", hr_linear_fn},
    {"log_softmax", hr_log_softmax_fn},
    {"mish", hr_mish_fn},
    {"relu", hr_relu_fn},
    {"relu6", hr_relu6_fn},
    {"selu", hr_selu_fn},
    {"sigmoid", hr_sigmoid_fn},
    {"silu", hr_swish_fn},
    {"softmax", hr_softmax_fn},
    {"softplus", hr_softplus_fn},
    {"softsign", hr_softsign_fn},
    {"swish", hr_swish_fn},
    {"tanh", hr_tanh_fn},
};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

hr_activation_fn *hr_activation_named(const char *name)
{
    for (int i = 0; i < ACTIVATIONS && name; i++)
        if (strcmp(activations[i].name, name) == 0) return activations[i].fn;
    return NULL;
}

const char *hr_activation_name_at(int i) { return i >= 0 && i < ACTIVATIONS ? activations[i].name : NULL; }
