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

static const struct {
    const char *name;
    hr_activation_fn *fn;
} activations[] = {
    {"elu", hr_elu_fn},         {"relu", hr_relu_fn},         {"relu6", hr_relu6_fn},       {"selu", hr_selu_fn},
    {"sigmoid", hr_sigmoid_fn}, {"softplus", hr_softplus_fn}, {"softsign", hr_softsign_fn}, {"tanh", hr_tanh_fn},
};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

hr_activation_fn *hr_activation_named(const char *name)
{
    for (int i = 0; i < ACTIVATIONS && name; i++)
        if (strcmp(activations[i].name, name) == 0) return activations[i].fn;
    return NULL;
}

const char *hr_activation_name_at(int i) { return i >= 0 && i < ACTIVATIONS ? activations[i].name : NULL; }
