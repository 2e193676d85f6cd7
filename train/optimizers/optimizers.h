/* Headrace, optimizers: update variables to reduce a loss.
 *
 *     hr_node train = hr_minimize(hr_adam(0.01f), loss);
 *     hr_node wide = hr_minimize(hr_ftrl(0.2f, .l1_regularization_strength = 0.001f), loss,
 *                                .var_scope = "linear", .global_step = hr_global_step(g));
 *
 * Rules, defaults, slots and their names are those of tf.keras.optimizers.legacy, which TensorFlow 2's estimators use;
 * with .v1 = true they are those of tf.compat.v1.train, with .keras = true those of tf.keras.optimizers since 2.11, which
 * Keras models use. Sparse gradients stay sparse: gradients of the same row are summed first, then each row is updated
 * once. An optimizer is immutable and counted. Wrong arguments are kept as its error (hr_optimizer_error), and become
 * the graph's error when it is used. */
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
/* An optimizer with all parameters of this one (takes it) and a learning rate node, such as a schedule, in place of its
 * number. */
HR_API hr_optimizer *hr_optimizer_with_rate(hr_optimizer *optimizer, hr_node learning_rate);
/* The kind with all its parameters: "Adagrad(learning_rate=0.05, decay=0, initial_accumulator_value=0.1, ...)". Equal
 * texts mean parameters that are equal to 9 digits; a learning rate node is not shown. Borrows from the optimizer. */
HR_API const char *hr_optimizer_text(const hr_optimizer *optimizer);

/* ---- kinds ---- */

/* Options of every kind. */
#define HR_OPTIMIZER_OPTIONS                                                                                              \
    float decay;                /* learning rate / (1 + decay * iterations); not with .keras */                           \
    hr_node learning_rate_node; /* replaces the number: for example a schedule (schedules.h) */                           \
    bool v1;                    /* names, defaults and arithmetic of tf.compat.v1.train */                                \
    const char *name;           /* of the optimizer, in the names of its variables; default: the kind's. Copied */        \
    /* Of the gradients: each is scaled to at most this norm; its values are brought to [-x, x]; all are scaled so that \
     * the norm of all together is at most this. 0: they are not. At most one of the two norms; with .keras a norm goes \
     * before values. */ \
    float clipnorm, clipvalue, global_clipnorm;                                                                           \
    float weight_decay; /* before each update a variable loses this times the learning rate of itself; 0: nothing */      \
    /* Variables with one of these in their names do not: {"bias", "gamma", NULL}. Copied. */                             \
    const char *const *exclude_from_weight_decay;                                                                         \
    bool keras; /* names, slots and formulas of tf.keras.optimizers since Keras 2.11 */                                   \
    /* With .keras: moving averages of the variables, "<optimizer>/average/<var>", which take the variables' place in \
     * each so many-th step (0: never; RMSprop: 100th), and when hr_overwrite_with_averages says so. */   \
    bool use_ema;                                                                                                         \
    const float *ema_momentum; /* what an average keeps of itself in a step; default 0.99 */                              \
    int64_t ema_overwrite_frequency;

typedef struct hr_sgd_opts {
    size_t struct_size;
    float momentum;
    bool nesterov;
    HR_OPTIMIZER_OPTIONS
} hr_sgd_opts;
/* Gradient descent; .momentum adds a decaying sum of earlier gradients. */
HR_API hr_optimizer *hr_sgd_with(float learning_rate, const hr_sgd_opts *opts);
#define hr_sgd(...) HR_CALL1_(hr_sgd_with, hr_sgd_opts, __VA_ARGS__, .struct_size = sizeof(hr_sgd_opts))

typedef struct hr_adagrad_opts {
    size_t struct_size;
    const float *initial_accumulator_value; /* default 0.1 */
    const float *epsilon;                   /* default 1e-7; v1 has none */
    HR_OPTIMIZER_OPTIONS
} hr_adagrad_opts;
/* Adagrad: divides the rate of each value by the root of the sum of its squared gradients. */
HR_API hr_optimizer *hr_adagrad_with(float learning_rate, const hr_adagrad_opts *opts);
#define hr_adagrad(...) HR_CALL1_(hr_adagrad_with, hr_adagrad_opts, __VA_ARGS__, .struct_size = sizeof(hr_adagrad_opts))

typedef struct hr_adam_opts {
    size_t struct_size;
    const float *beta1;   /* default 0.9 */
    const float *beta2;   /* default 0.999 */
    const float *epsilon; /* default 1e-7; v1: 1e-8 */
    bool amsgrad;         /* divides by the root of the greatest average of squares so far */
    bool lazy;            /* a sparse gradient changes its own rows alone: our own, without .amsgrad */
    HR_OPTIMIZER_OPTIONS
} hr_adam_opts;
/* Adam: moving averages of the gradients and of their squares. */
HR_API hr_optimizer *hr_adam_with(float learning_rate, const hr_adam_opts *opts);
#define hr_adam(...) HR_CALL1_(hr_adam_with, hr_adam_opts, __VA_ARGS__, .struct_size = sizeof(hr_adam_opts))
/* Adam with weight decay that does not go through the averages; in Keras, and by name, 0.004. */
HR_API hr_optimizer *hr_adamw_with(float learning_rate, float weight_decay, const hr_adam_opts *opts);
#define hr_adamw(...) HR_CALL2_(hr_adamw_with, hr_adam_opts, __VA_ARGS__, .struct_size = sizeof(hr_adam_opts))

typedef struct hr_adamax_opts {
    size_t struct_size;
    const float *beta1;   /* default 0.9 */
    const float *beta2;   /* default 0.999 */
    const float *epsilon; /* default 1e-7 */
    HR_OPTIMIZER_OPTIONS
} hr_adamax_opts;
/* Adamax: Adam with the greatest of the decayed absolute gradients in place of the root of squares. */
HR_API hr_optimizer *hr_adamax_with(float learning_rate, const hr_adamax_opts *opts);
#define hr_adamax(...) HR_CALL1_(hr_adamax_with, hr_adamax_opts, __VA_ARGS__, .struct_size = sizeof(hr_adamax_opts))

typedef struct hr_nadam_opts {
    size_t struct_size;
    const float *beta1;          /* default 0.9 */
    const float *beta2;          /* default 0.999 */
    const float *epsilon;        /* default 1e-7 */
    const float *schedule_decay; /* of the momentum; default 0.004; not with .keras, where it is 1 */
    /* With .keras: as a graph of Keras computes it, with a product of decays that is wrong; NaN for one variable. */
    bool tf_compat;
    HR_OPTIMIZER_OPTIONS /* .decay counts for nothing without .keras */
} hr_nadam_opts;
/* Nadam: Adam with Nesterov's momentum. */
HR_API hr_optimizer *hr_nadam_with(float learning_rate, const hr_nadam_opts *opts);
#define hr_nadam(...) HR_CALL1_(hr_nadam_with, hr_nadam_opts, __VA_ARGS__, .struct_size = sizeof(hr_nadam_opts))

typedef struct hr_rmsprop_opts {
    size_t struct_size;
    const float *rho; /* of the moving average of squares; default 0.9. TensorFlow 1 calls it decay */
    float momentum;
    const float *epsilon; /* default 1e-7; v1: 1e-10 */
    bool centered;        /* divides by the root of the variance in place of the squares */
    HR_OPTIMIZER_OPTIONS
} hr_rmsprop_opts;
/* RMSProp: divides by the root of a moving average of squared gradients. */
HR_API hr_optimizer *hr_rmsprop_with(float learning_rate, const hr_rmsprop_opts *opts);
#define hr_rmsprop(...) HR_CALL1_(hr_rmsprop_with, hr_rmsprop_opts, __VA_ARGS__, .struct_size = sizeof(hr_rmsprop_opts))

typedef struct hr_adadelta_opts {
    size_t struct_size;
    const float *rho;     /* default 0.95 */
    const float *epsilon; /* default 1e-7; v1: 1e-8 */
    HR_OPTIMIZER_OPTIONS
} hr_adadelta_opts;
/* Adadelta: the rate of each value follows from its own earlier changes. */
HR_API hr_optimizer *hr_adadelta_with(float learning_rate, const hr_adadelta_opts *opts);
#define hr_adadelta(...)                                                                                               \
    HR_CALL1_(hr_adadelta_with, hr_adadelta_opts, __VA_ARGS__, .struct_size = sizeof(hr_adadelta_opts))

typedef struct hr_adafactor_opts {
    size_t struct_size;
    const float *beta2_decay;    /* of the means of squares: the share 1 - t^beta2_decay stays; default -0.8 */
    const float *epsilon1;       /* added to squares of gradients; default 1e-30 */
    const float *epsilon2;       /* a variable counts as at least so large; default 0.001 */
    const float *clip_threshold; /* the most that a change may be, as the root of its mean square; default 1 */
    HR_OPTIMIZER_OPTIONS         /* .keras is implied */
} hr_adafactor_opts;
/* Adafactor: of a matrix it keeps one value a row and one a column; steps in proportion to what a variable is. In Keras
 * the rate is at most 1 / sqrt(t), whatever relative_step says. */
HR_API hr_optimizer *hr_adafactor_with(float learning_rate, const hr_adafactor_opts *opts);
#define hr_adafactor(...)                                                                                              \
    HR_CALL1_(hr_adafactor_with, hr_adafactor_opts, __VA_ARGS__, .struct_size = sizeof(hr_adafactor_opts))

typedef struct hr_lion_opts {
    size_t struct_size;
    const float *beta1;  /* of the direction; default 0.9 */
    const float *beta2;  /* of the mean that is kept; default 0.99 */
    HR_OPTIMIZER_OPTIONS /* .keras is implied */
} hr_lion_opts;
/* Lion: steps of the learning rate in the direction of the sign of a mean of gradients. */
HR_API hr_optimizer *hr_lion_with(float learning_rate, const hr_lion_opts *opts);
#define hr_lion(...) HR_CALL1_(hr_lion_with, hr_lion_opts, __VA_ARGS__, .struct_size = sizeof(hr_lion_opts))

typedef struct hr_proximal_opts {
    size_t struct_size;
    const float *initial_accumulator_value; /* of Adagrad's; default 0.1 */
    float l1_regularization_strength, l2_regularization_strength;
    HR_OPTIMIZER_OPTIONS /* .v1 is implied */
} hr_proximal_opts;
/* Gradient descent and Adagrad that step towards 0 by l1, and shrink by l2, after each step (FOBOS). */
HR_API hr_optimizer *hr_proximal_sgd_with(float learning_rate, const hr_proximal_opts *opts);
HR_API hr_optimizer *hr_proximal_adagrad_with(float learning_rate, const hr_proximal_opts *opts);
#define hr_proximal_sgd(...)                                                                                           \
    HR_CALL1_(hr_proximal_sgd_with, hr_proximal_opts, __VA_ARGS__, .struct_size = sizeof(hr_proximal_opts))
#define hr_proximal_adagrad(...)                                                                                       \
    HR_CALL1_(hr_proximal_adagrad_with, hr_proximal_opts, __VA_ARGS__, .struct_size = sizeof(hr_proximal_opts))

typedef struct hr_adagrad_da_opts {
    size_t struct_size;
    const float *initial_gradient_squared_accumulator_value; /* default 0.1 */
    float l1_regularization_strength, l2_regularization_strength;
    HR_OPTIMIZER_OPTIONS /* .v1 is implied */
} hr_adagrad_da_opts;
/* Adagrad with dual averaging, for sparse linear models. Minimize needs a .global_step. */
HR_API hr_optimizer *hr_adagrad_da_with(float learning_rate, const hr_adagrad_da_opts *opts);
#define hr_adagrad_da(...)                                                                                             \
    HR_CALL1_(hr_adagrad_da_with, hr_adagrad_da_opts, __VA_ARGS__, .struct_size = sizeof(hr_adagrad_da_opts))

typedef struct hr_ftrl_opts {
    size_t struct_size;
    const float *learning_rate_power;       /* default -0.5, at most 0 */
    const float *initial_accumulator_value; /* default 0.1 */
    float l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength, beta;
    const char *accum_name,
        *linear_name; /* with .v1, of the slots: "w/<name>"; default: the optimizer's name. Copied */
    HR_OPTIMIZER_OPTIONS
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
/* Whose names, defaults and formulas an optimizer has. */
typedef enum hr_optimizer_generation {
    HR_LEGACY_OPTIMIZERS, /* tf.keras.optimizers.legacy */
    HR_V1_OPTIMIZERS,     /* tf.compat.v1.train: .v1 */
    HR_KERAS_OPTIMIZERS,  /* tf.keras.optimizers since Keras 2.11: .keras */
} hr_optimizer_generation;
/* Gives an optimizer. `kind` is a name of hr_optimizer_kind_at, in upper or lower case. Other parameters have their
 * defaults; that of the learning rate is Keras's for this kind. An unknown kind or parameter is kept as the optimizer's
 * error, "optimizer.name", which lists the known ones. */
HR_API hr_optimizer *hr_optimizer_named(const char *kind, const hr_parameter *parameters, int count,
                                        hr_optimizer_generation generation);
/* The names of the kinds: "adagrad", ...; NULL after the last. */
HR_API const char *hr_optimizer_kind_at(int i);
/* The names of a kind's parameters, ending with NULL; NULL: there is no such kind. Every kind also takes those of
 * hr_optimizer_parameters(NULL): clipnorm, clipvalue, global_clipnorm, weight_decay, use_ema, ema_momentum,
 * ema_overwrite_frequency. */
HR_API const char *const *hr_optimizer_parameters(const char *kind);

/* ---- training ---- */

/* A variable that an optimizer has for a weight: "m" of a kernel. */
typedef struct hr_optimizer_variable {
    hr_node variable; /* the handle; hr_variable_of has its name */
    hr_node weight;   /* the handle of what is trained */
    const char *name; /* without the weight's: "m", "average". Borrows from the optimizer's kind */
} hr_optimizer_variable;
/* What an optimizer has made, to show, set or save it. */
typedef struct hr_optimizer_variables {
    hr_node iterations;    /* int64; .global_step if that was given. No node: steps are not counted */
    hr_node learning_rate; /* float32. Of a .learning_rate_node with .keras: that of the last step. No node: none */
    hr_node u_product;     /* with .keras, of Nadam, which has it beside its list; else no node */
    hr_optimizer_variable *slot; /* in order of creation; with .keras, slot[K - 1] is Keras's optimizer/_variables/K */
    int count;
} hr_optimizer_variables;
HR_API void hr_optimizer_variables_clear(hr_optimizer_variables *variables); /* frees the list. NULL: nothing */
/* The op that gives the variables their averages, as Keras does at the end of fit. Without averages it does nothing. */
HR_API hr_node hr_overwrite_with_averages(hr_graph *g, const hr_optimizer_variables *variables);

typedef struct hr_minimize_opts {
    size_t struct_size;
    const char *name;        /* of the op; default: the optimizer's, after name_prefix */
    const char *var_scope;   /* only trainable variables in "var_scope/" or of exactly this name; default: all */
    const hr_node *var_list; /* the variables; default: by var_scope */
    int var_count;
    /* An int64 variable that counts the optimizer's iterations: incremented after all updates. Default: a variable
     * `iter` of the optimizer, with .keras `iteration`; with .v1 none. */
    hr_node global_step;
    /* Of the names of hyper-parameters and slots, except with .v1: "training" gives training/Adagrad/<var>/accumulator.
     * Default: Adagrad/<var>/accumulator; with .keras Adagrad/accumulator/<var>. */
    const char *name_prefix;
    /* With .v1, of the names of slots: "part_0" gives <var>/part_0/Adagrad, as canned estimators of TensorFlow 1 name
     * them. Default: <var>/Adagrad. */
    const char *slot_scope;
    /* Gradients of so many steps are summed, in variables "<var>/gradient_sum", and the mean of them is applied by the
     * last one; the others change nothing else, and do not count as iterations. A step that has no gradient of a row
     * of a sparse one adds nothing to it, and what is applied has the rows of all steps. Default: each step is applied.
     * Not in an eager graph. */
    int64_t accumulate;
    bool accumulate_sum; /* the sum is applied */
    /* Gets what the optimizer has made: give it to hr_optimizer_variables_clear, also after an error. */
    hr_optimizer_variables *variables;
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
/* Takes the optimizer. Uses all of `opts` but which variables. */
HR_API hr_node hr_apply_gradients(hr_optimizer *optimizer, hr_graph *g, const hr_variable_gradient *gradients,
                                  int count, const hr_minimize_opts *opts);

/* ---- changing gradients between the two halves ---- */

/* x, scaled so that the root of the sum of its squares is at most `norm` (tf.clip_by_norm). */
HR_API hr_node hr_clip_by_norm(hr_node x, double norm);
/* The root of the sum of the squares of all gradients; of slices, of their values. No node: there are none. */
HR_API hr_node hr_global_norm(const hr_variable_gradient *gradients, int count);
/* Scales all gradients so that their global norm is at most `norm`; if it is infinite, they become NaN. `global_norm`:
 * if it was computed already; else no node. Changes `gradients` in place (tf.clip_by_global_norm). */
HR_API void hr_clip_by_global_norm(hr_variable_gradient *gradients, int count, double norm, hr_node global_norm);

/* ---- schedules: the learning rate as a function of the step ----
 *
 *     hr_node step = hr_global_step(g);
 *     hr_node rate = hr_exponential_decay(0.1f, step, 1000, 0.96f, .staircase = true);
 *     hr_minimize(hr_sgd(0, .learning_rate_node = rate), loss, .global_step = step);
 *
 * `step` is a scalar of whole numbers, such as the global step. Each gives a float scalar. p is step / decay_steps. */

typedef struct hr_decay_opts {
    size_t struct_size;
    bool staircase; /* p is rounded down */
} hr_decay_opts;
/* rate * decay_rate^p */
HR_API hr_node hr_exponential_decay_with(float learning_rate, hr_node step, float decay_steps, float decay_rate,
                                         const hr_decay_opts *opts);
#define hr_exponential_decay(...)                                                                                      \
    HR_MADE_(HR_CALL4_(hr_exponential_decay_with, hr_decay_opts, __VA_ARGS__, .struct_size = sizeof(hr_decay_opts)))
/* rate * e^(-decay_rate * p) */
HR_API hr_node hr_natural_exp_decay_with(float learning_rate, hr_node step, float decay_steps, float decay_rate,
                                         const hr_decay_opts *opts);
#define hr_natural_exp_decay(...)                                                                                      \
    HR_MADE_(HR_CALL4_(hr_natural_exp_decay_with, hr_decay_opts, __VA_ARGS__, .struct_size = sizeof(hr_decay_opts)))
/* rate / (1 + decay_rate * p) */
HR_API hr_node hr_inverse_time_decay_with(float learning_rate, hr_node step, float decay_steps, float decay_rate,
                                          const hr_decay_opts *opts);
#define hr_inverse_time_decay(...)                                                                                     \
    HR_MADE_(HR_CALL4_(hr_inverse_time_decay_with, hr_decay_opts, __VA_ARGS__, .struct_size = sizeof(hr_decay_opts)))

typedef struct hr_polynomial_decay_opts {
    size_t struct_size;
    const float *end_learning_rate; /* default 0.0001 */
    const float *power;             /* default 1 */
    bool cycle;                     /* when p reaches 1, decay_steps grows by itself, and the rate rises again */
} hr_polynomial_decay_opts;
/* (rate - end) * (1 - p)^power + end; p is at most 1. */
HR_API hr_node hr_polynomial_decay_with(float learning_rate, hr_node step, float decay_steps,
                                        const hr_polynomial_decay_opts *opts);
#define hr_polynomial_decay(...)                                                                                       \
    HR_MADE_(HR_CALL3_(hr_polynomial_decay_with, hr_polynomial_decay_opts, __VA_ARGS__,                                \
                       .struct_size = sizeof(hr_polynomial_decay_opts)))
/* values[0] up to and with step boundaries[0], ..., values[count] after the last of `count` boundaries, which ascend. */
HR_API hr_node hr_piecewise_constant(hr_node step, const int64_t *boundaries, const float *values, int count);

typedef struct hr_cosine_decay_opts {
    size_t struct_size;
    float alpha;                /* the least rate, as a fraction of the first */
    const float *warmup_target; /* the rate first rises to this one; NULL: it does not */
    float warmup_steps;
} hr_cosine_decay_opts;
/* rate * ((1 - alpha) * (1 + cos(pi p)) / 2 + alpha); p is at most 1. */
HR_API hr_node hr_cosine_decay_with(float learning_rate, hr_node step, float decay_steps,
                                    const hr_cosine_decay_opts *opts);
#define hr_cosine_decay(...)                                                                                           \
    HR_MADE_(HR_CALL3_(hr_cosine_decay_with, hr_cosine_decay_opts, __VA_ARGS__,                                        \
                       .struct_size = sizeof(hr_cosine_decay_opts)))

typedef struct hr_cosine_restarts_opts {
    size_t struct_size;
    const float *t_mul; /* each period is so many times as long as the one before; default 2 */
    const float *m_mul; /* and begins at so many times its rate; default 1 */
    float alpha;
} hr_cosine_restarts_opts;
/* The same with warm restarts (SGDR). */
HR_API hr_node hr_cosine_decay_restarts_with(float learning_rate, hr_node step, float first_decay_steps,
                                             const hr_cosine_restarts_opts *opts);
#define hr_cosine_decay_restarts(...)                                                                                  \
    HR_MADE_(HR_CALL3_(hr_cosine_decay_restarts_with, hr_cosine_restarts_opts, __VA_ARGS__,                            \
                       .struct_size = sizeof(hr_cosine_restarts_opts)))

typedef struct hr_linear_cosine_opts {
    size_t struct_size;
    const float *num_periods; /* default 0.5 */
    float alpha;
    const float *beta;           /* default 0.001 */
    float initial_variance;      /* of noise, which is added to the linear part; 0: none */
    const float *variance_decay; /* default 0.55 */
    int64_t seed;                /* 0: from the graph's seed */
} hr_linear_cosine_opts;
/* rate * ((alpha + 1 - p) * (1 + cos(2 pi num_periods p)) / 2 + beta); p is at most 1. With noise, TensorFlow calls it
 * noisy_linear_cosine_decay. */
HR_API hr_node hr_linear_cosine_decay_with(float learning_rate, hr_node step, float decay_steps,
                                           const hr_linear_cosine_opts *opts);
#define hr_linear_cosine_decay(...)                                                                                    \
    HR_MADE_(HR_CALL3_(hr_linear_cosine_decay_with, hr_linear_cosine_opts, __VA_ARGS__,                                \
                       .struct_size = sizeof(hr_linear_cosine_opts)))

/* ---- moving averages ---- */

typedef struct hr_moving_average_opts {
    size_t struct_size;
    const char *name;    /* default "ExponentialMovingAverage" */
    hr_node num_updates; /* a scalar n: the decay is at most (1 + n) / (10 + n). Default: no node */
    bool zero_debias;    /* of an average that begins at 0: it is divided by what that is worth */
} hr_moving_average_opts;
/* The op that moves the average of a variable, or of any node of known shape: average -= (1 - decay) * (average -
 * value). The average is a variable "<of>/ExponentialMovingAverage", which is not trainable; that of a variable begins
 * at the variable's initial value, any other at 0. */
HR_API hr_node hr_moving_average_with(hr_node of, double decay, const hr_moving_average_opts *opts);
#define hr_moving_average(...)                                                                                         \
    HR_MADE_(HR_CALL2_(hr_moving_average_with, hr_moving_average_opts, __VA_ARGS__,                                    \
                       .struct_size = sizeof(hr_moving_average_opts)))
/* The variable with the average of `of`; no node: there is none. A checkpoint has it under the average's own name. */
HR_API hr_node hr_average_of_with(hr_node of, const hr_moving_average_opts *opts);
#define hr_average_of(...)                                                                                             \
    HR_CALL1_(hr_average_of_with, hr_moving_average_opts, __VA_ARGS__, .struct_size = sizeof(hr_moving_average_opts))
/* The same step for a variable of your own. */
HR_API hr_node hr_assign_moving_average_with(hr_node variable, hr_node value, double decay,
                                             const hr_moving_average_opts *opts);
#define hr_assign_moving_average(...)                                                                                  \
    HR_MADE_(HR_CALL3_(hr_assign_moving_average_with, hr_moving_average_opts, __VA_ARGS__,                             \
                       .struct_size = sizeof(hr_moving_average_opts)))

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_apply_gradients(...) HR_MADE_(hr_apply_gradients(__VA_ARGS__))
#define hr_overwrite_with_averages(...) HR_MADE_(hr_overwrite_with_averages(__VA_ARGS__))
#define hr_clip_by_norm(...) HR_MADE_(hr_clip_by_norm(__VA_ARGS__))
#define hr_global_norm(...) HR_MADE_(hr_global_norm(__VA_ARGS__))
#define hr_piecewise_constant(...) HR_MADE_(hr_piecewise_constant(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
