/* Headrace, the optimizers: what changes variables so that a loss falls.
 *
 *     hr_node train = hr_minimize(hr_adam(0.01f), loss);
 *     hr_node wide = hr_minimize(hr_ftrl(0.2f, .l1_regularization_strength = 0.001f), loss,
 *                                .var_scope = "linear", .global_step = hr_global_step(g));
 *
 * Rules, defaults, slots and their names are those of tf.keras.optimizers.legacy, which TensorFlow 2's estimators use;
 * .v1 = true gives those of tf.compat.v1.train. Sparse gradients stay sparse: rows that come twice are summed first, then
 * each row is updated once. An optimizer is immutable and counted; what is wrong with it sticks, and comes out as the
 * graph's error. */
#ifndef HR_OPTIMIZERS_H
#define HR_OPTIMIZERS_H

#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_optimizer hr_optimizer;

HR_API hr_optimizer *hr_optimizer_ref(hr_optimizer *optimizer);           /* gives a second reference */
HR_API void hr_optimizer_free(hr_optimizer *optimizer);                   /* drops a reference. NULL: nothing */
HR_API const hr_error *hr_optimizer_error(const hr_optimizer *optimizer); /* NULL: sound. Borrows */
HR_API const char *hr_optimizer_kind_of(const hr_optimizer *optimizer);   /* "Adagrad"; "" if it failed */
/* "Adagrad(learning_rate=0.05, initial_accumulator_value=0.1, epsilon=1e-07)": the same for what trains the same.
 * Borrows from the optimizer. */
HR_API const char *hr_optimizer_text(const hr_optimizer *optimizer);

/* ---- kinds ---- */

/* A learning rate by its node (a schedule) in place of the number: .learning_rate_node of every kind. */

typedef struct hr_sgd_opts {
    size_t struct_size;
    float momentum;
    bool nesterov;
    float decay; /* learning rate / (1 + decay * iterations) */
    hr_node learning_rate_node;
    bool v1;
} hr_sgd_opts;
/* Gradient descent; with .momentum through a moving average of the gradients. */
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
/* Adagrad: rates fall with the sum of squared gradients. */
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
/* Adam: means of gradients and of their squares. */
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
/* Ftrl: follows the regularized leader, for sparse linear models. */
HR_API hr_optimizer *hr_ftrl_with(float learning_rate, const hr_ftrl_opts *opts);
#define hr_ftrl(...) HR_CALL1_(hr_ftrl_with, hr_ftrl_opts, __VA_ARGS__, .struct_size = sizeof(hr_ftrl_opts))

/* ---- by name, for files that people write ---- */

/* One parameter of an optimizer by name. */
typedef struct hr_parameter {
    const char *name; /* "learning_rate", as in hr_optimizer_parameters */
    double value;
} hr_parameter;
/* `kind`: "ftrl", "Ftrl", in any case. Parameters not given have their defaults, the learning rate the kind's own
 * (Keras's). An unknown kind or parameter sticks to the optimizer, with a suggestion. */
HR_API hr_optimizer *hr_optimizer_named(const char *kind, const hr_parameter *parameters, int count, bool v1);
/* All kinds: "adagrad", ...; NULL after the last. */
HR_API const char *hr_optimizer_kind_at(int i);
/* What a kind understands, ending with NULL; NULL: there is no such kind. */
HR_API const char *const *hr_optimizer_parameters(const char *kind);

/* ---- training ---- */

typedef struct hr_minimize_opts {
    size_t struct_size;
    const char *name;        /* of the op; default: the optimizer's */
    const char *var_scope;   /* only trainable variables below "var_scope/" (or of exactly that name); default: all */
    const hr_node *var_list; /* default: the trainable variables, as above */
    int var_count;
    hr_node global_step;     /* an int64 variable: incremented after all updates, and the optimizer's iterations.
                                Default: v2 an `iter` of its own, v1 none */
    const char *name_prefix; /* of hyper-parameters and slots (v2): "training" gives training/Adagrad/<var>/accumulator;
                                default: Adagrad/<var>/accumulator */
} hr_minimize_opts;
/* The op that moves the variables one step against the gradient of `loss`: run it, fetch nothing. Takes the optimizer.
 * Variables that the loss does not depend on are left alone; none at all is an error. */
HR_API hr_node hr_minimize_with(hr_optimizer *optimizer, hr_node loss, const hr_minimize_opts *opts);
#define hr_minimize(...)                                                                                               \
    HR_CALL2_(hr_minimize_with, hr_minimize_opts, __VA_ARGS__, .struct_size = sizeof(hr_minimize_opts))

/* The halves of it, for those who change gradients in between. */
typedef struct hr_variable_gradient {
    hr_node variable;
    hr_gradient gradient; /* no values: the loss does not depend on it */
} hr_variable_gradient;
/* Gives *out (hr_free), *count of them, of the variables that `opts` says. */
HR_API hr_status hr_compute_gradients(hr_node loss, const hr_minimize_opts *opts, hr_variable_gradient **out,
                                      int *count);
/* Takes the optimizer. Of `opts` name, global_step and name_prefix hold. */
HR_API hr_node hr_apply_gradients(hr_optimizer *optimizer, hr_graph *g, const hr_variable_gradient *gradients,
                                  int count, const hr_minimize_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
