/* Headrace, optimizers: update variables to reduce a loss.
 *
 *     hr_node train = hr_minimize(hr_adam(0.01f), loss);
 *     hr_node wide = hr_minimize(hr_ftrl(0.2f, .l1_regularization_strength = 0.001f), loss,
 *                                .var_scope = "linear", .global_step = hr_global_step(g));
 *
 * Rules, defaults, slots and their names are those of tf.keras.optimizers.legacy, which TensorFlow 2's estimators use;
 * with .v1 = true they are those of tf.compat.v1.train. Sparse gradients stay sparse: gradients of the same row are
 * summed first, then each row is updated once. An optimizer is immutable and counted. Wrong arguments are kept as its
 * error (hr_optimizer_error), and become the graph's error when it is used. */
#ifndef HR_OPTIMIZERS_H
#define HR_OPTIMIZERS_H

#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_optimizer hr_optimizer;

HR_API hr_optimizer *hr_optimizer_ref(hr_optimizer *optimizer);           /* gives a second reference */
HR_API void hr_optimizer_free(hr_optimizer *optimizer);                   /* drops a reference. NULL: nothing */
HR_API const hr_error *hr_optimizer_error(const hr_optimizer *optimizer); /* NULL: none. Borrows */
HR_API const char *hr_optimizer_kind_of(const hr_optimizer *optimizer);   /* "Adagrad"; "" after an error */
/* The kind with all its parameters: "Adagrad(learning_rate=0.05, decay=0, initial_accumulator_value=0.1, ...)". Equal
 * texts mean parameters that are equal to 9 digits; a learning rate node is not shown. Borrows from the optimizer. */
HR_API const char *hr_optimizer_text(const hr_optimizer *optimizer);

/* ---- kinds ---- */

/* Every kind has the option .learning_rate_node: a node, for example of a schedule, that replaces the number. */

typedef struct hr_sgd_opts {
    size_t struct_size;
    float momentum;
    bool nesterov;
    float decay; /* learning rate / (1 + decay * iterations) */
    hr_node learning_rate_node;
    bool v1;
} hr_sgd_opts;
/* Gradient descent; .momentum adds a decaying sum of earlier gradients. */
HR_API hr_optimizer *hr_sgd_with(float learning_rate, const hr_sgd_opts *opts);
#define hr_sgd(...) HR_CALL1_(hr_sgd_with, hr_sgd_opts, __VA_ARGS__, .struct_size = sizeof(hr_sgd_opts))

typedef struct hr_adagrad_opts {
    size_t struct_size;
    const float *initial_accumulator_value; /* default 0.1 */
    const float *epsilon;                   /* default 1e-7; v1 has none */
    float decay;
    hr_node learning_rate_node;
    bool v1;
} hr_adagrad_opts;
/* Adagrad: divides the rate of each value by the root of the sum of its squared gradients. */
HR_API hr_optimizer *hr_adagrad_with(float learning_rate, const hr_adagrad_opts *opts);
#define hr_adagrad(...) HR_CALL1_(hr_adagrad_with, hr_adagrad_opts, __VA_ARGS__, .struct_size = sizeof(hr_adagrad_opts))

typedef struct hr_adam_opts {
    size_t struct_size;
    const float *beta1;   /* default 0.9 */
    const float *beta2;   /* default 0.999 */
    const float *epsilon; /* default 1e-7; v1: 1e-8 */
    float decay;
    hr_node learning_rate_node;
    bool v1;
} hr_adam_opts;
/* Adam: moving averages of the gradients and of their squares. */
HR_API hr_optimizer *hr_adam_with(float learning_rate, const hr_adam_opts *opts);
#define hr_adam(...) HR_CALL1_(hr_adam_with, hr_adam_opts, __VA_ARGS__, .struct_size = sizeof(hr_adam_opts))

typedef struct hr_ftrl_opts {
    size_t struct_size;
    const float *learning_rate_power;       /* default -0.5, at most 0 */
    const float *initial_accumulator_value; /* default 0.1 */
    float l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength, beta;
    float decay;
    hr_node learning_rate_node;
    bool v1;
} hr_ftrl_opts;
/* Ftrl, follow the regularized leader: for sparse linear models. */
HR_API hr_optimizer *hr_ftrl_with(float learning_rate, const hr_ftrl_opts *opts);
#define hr_ftrl(...) HR_CALL1_(hr_ftrl_with, hr_ftrl_opts, __VA_ARGS__, .struct_size = sizeof(hr_ftrl_opts))

/* ---- by name, for configuration files ---- */

/* A parameter of an optimizer by name. */
typedef struct hr_parameter {
    const char *name; /* a name of hr_optimizer_parameters: "learning_rate" */
    double value;
} hr_parameter;
/* Gives an optimizer. `kind` is a name of hr_optimizer_kind_at, in upper or lower case. Other parameters have their
 * defaults; that of the learning rate is Keras's for this kind. An unknown kind or parameter is kept as the optimizer's
 * error, "optimizer.name", which lists the known ones. */
HR_API hr_optimizer *hr_optimizer_named(const char *kind, const hr_parameter *parameters, int count, bool v1);
/* The names of the kinds: "adagrad", ...; NULL after the last. */
HR_API const char *hr_optimizer_kind_at(int i);
/* The names of a kind's parameters, ending with NULL; NULL: there is no such kind. */
HR_API const char *const *hr_optimizer_parameters(const char *kind);

/* ---- training ---- */

typedef struct hr_minimize_opts {
    size_t struct_size;
    const char *name;        /* of the op; default: the optimizer's, after name_prefix */
    const char *var_scope;   /* only trainable variables in "var_scope/" or of exactly this name; default: all */
    const hr_node *var_list; /* the variables; default: by var_scope */
    int var_count;
    /* An int64 variable that counts the optimizer's iterations: incremented after all updates. Default: a variable
     * `iter` of the optimizer; with .v1 none. */
    hr_node global_step;
    /* Of the names of hyper-parameters and slots, except with .v1: "training" gives training/Adagrad/<var>/accumulator.
     * Default: Adagrad/<var>/accumulator. */
    const char *name_prefix;
} hr_minimize_opts;
/* The op that updates the variables by one step against the gradient of `loss`: run it, fetch nothing. Takes the
 * optimizer. Variables that the loss does not depend on are not changed. If it depends on none of them, the graph has
 * an error, "optimizer.no_gradients". */
HR_API hr_node hr_minimize_with(hr_optimizer *optimizer, hr_node loss, const hr_minimize_opts *opts);
#define hr_minimize(...)                                                                                               \
    HR_MADE_(HR_CALL2_(hr_minimize_with, hr_minimize_opts, __VA_ARGS__, .struct_size = sizeof(hr_minimize_opts)))

/* The two halves of hr_minimize, to change gradients between them. */
typedef struct hr_variable_gradient {
    hr_node variable;
    hr_gradient gradient; /* no values: the loss does not depend on the variable */
} hr_variable_gradient;
/* Gives *out (hr_free), one for each of the *count variables that `opts` selects. Returns the graph's error, if any. */
HR_API hr_status hr_compute_gradients(hr_node loss, const hr_minimize_opts *opts, hr_variable_gradient **out,
                                      int *count);
/* Takes the optimizer. Uses name, global_step and name_prefix of `opts`. */
HR_API hr_node hr_apply_gradients(hr_optimizer *optimizer, hr_graph *g, const hr_variable_gradient *gradients,
                                  int count, const hr_minimize_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
