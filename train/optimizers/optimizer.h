/* Headrace, the optimizer kit, for new kinds of optimizers. The library's own kinds and those of users need this header
 * and the op kit. A kind is one file: its update rules, the ops that run them, a descriptor, and last the constructor
 * that users call. The comment at the end of this file is a complete example.
 *
 * HR_OPTIMIZER_ABI is the version of the descriptor and of all declarations here. */
#ifndef HR_OPTIMIZER_H
#define HR_OPTIMIZER_H

#include <headrace/kernels.h>
#include <headrace/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this kit. */
enum { HR_OPTIMIZER_ABI = 2 };
/* The max number of parameters and slots of a kind, of numbers of a rule, and of bytes of a scope's name. */
enum { HR_MAX_PARAMETERS = 10, HR_MAX_SLOTS = 3, HR_MAX_RULE_NUMBERS = 8, HR_MAX_SCOPE = 512 };

/* ---- update rules ----
 *
 * A rule updates consecutive values: `n` values w of the variable and a, b, c of its slots, by the gradient g. `p` are
 * the rule's numbers, which are the same for all values, such as the learning rate. The arrays do not overlap, and g is
 * not changed. A slot that the rule does not have is NULL, except that sparse updates of narrow rows may pass scratch
 * memory for it. */
typedef void hr_rule_f32(float *w, float *a, float *b, float *c, const float *g, int64_t n, const float *p);
typedef void hr_rule_f64(double *w, double *a, double *b, double *c, const double *g, int64_t n, const double *p);

/* A rule with its compiled variants, as HR_RULE defines it. */
typedef struct hr_rule {
    const char *name;
    int slots;
    double nanoseconds;                    /* estimated time for one value; decides how many threads run it */
    hr_rule_f32 *portable, *avx2, *avx512; /* avx2, avx512: NULL if the processor's family has none */
    hr_rule_f64 *f64;
} hr_rule;

/* Defines the rule NAME##_rule from one body. It is compiled for float and for double, and on x86-64 also for float
 * with AVX2 and with AVX-512. In the body, T is the type:
 *
 *     HR_RULE(descent, 0, 0.2, {
 *         const T rate = p[0];
 *         for (int64_t i = 0; i < n; i++) w[i] -= g[i] * rate;
 *     })
 *
 * Include <tgmath.h> for sqrt, pow and fabs of T. Compile with -ffp-contract=off, so that all variants give the same
 * bits, and with -fno-math-errno, so that roots are vectorized. C only, gcc or clang. */
#define HR_RULE(NAME, SLOTS, NANOSECONDS, ...)                                                                         \
    HR_RULE_BODY_(NAME##_body_f32, float, __VA_ARGS__)                                                                 \
    HR_RULE_BODY_(NAME##_body_f64, double, __VA_ARGS__)                                                                \
    HR_RULE_VARIANT_(NAME##_f32, NAME##_body_f32, float, )                                                             \
    HR_RULE_VARIANT_(NAME##_f64, NAME##_body_f64, double, )                                                            \
    HR_RULE_AVX_(NAME)                                                                                                 \
    static const hr_rule NAME##_rule = {#NAME, SLOTS, NANOSECONDS, NAME##_f32, HR_RULE_AVX_NAMES_(NAME), NAME##_f64};

/* Parts of HR_RULE. */
#define HR_RULE_BODY_(FN, TYPE, ...)                                                                                   \
    static inline __attribute__((always_inline)) void FN(TYPE *restrict w, TYPE *restrict a, TYPE *restrict b,         \
                                                         TYPE *restrict c, const TYPE *restrict g, int64_t n,          \
                                                         const TYPE *p)                                                \
    {                                                                                                                  \
        typedef TYPE T;                                                                                                \
        (void)(T)0, (void)w, (void)a, (void)b, (void)c, (void)g, (void)n, (void)p;                                     \
        __VA_ARGS__                                                                                                    \
    }
#define HR_RULE_VARIANT_(FN, BODY, TYPE, ATTRIBUTE)                                                                    \
    ATTRIBUTE static void FN(TYPE *w, TYPE *a, TYPE *b, TYPE *c, const TYPE *g, int64_t n, const TYPE *p)              \
    {                                                                                                                  \
        BODY(w, a, b, c, g, n, p);                                                                                     \
    }
#if defined(__x86_64__)
#if defined(__clang__)
#define HR_RULE_WIDE_ "avx512f,avx512vl,avx512dq,avx512bw"
#else
#define HR_RULE_WIDE_ "avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512"
#endif
#define HR_RULE_AVX_(NAME)                                                                                             \
    HR_RULE_VARIANT_(NAME##_avx2, NAME##_body_f32, float, __attribute__((target("avx2"))))                             \
    HR_RULE_VARIANT_(NAME##_avx512, NAME##_body_f32, float, __attribute__((target(HR_RULE_WIDE_))))
#define HR_RULE_AVX_NAMES_(NAME) NAME##_avx2, NAME##_avx512
#else
#define HR_RULE_AVX_(NAME)
#define HR_RULE_AVX_NAMES_(NAME) NULL, NULL
#endif

/* The fastest float variant of the rule that this processor can run. */
HR_API hr_rule_f32 *hr_rule_choose(const hr_rule *rule);

/* ---- ops that run a rule ----
 *
 * Inputs 0, 1, ... of such an op are the handles of the variable and of the rule's slots, or reference variables. If
 * the attribute `_sum_duplicates` of a sparse op is true, the gradients of the same row are summed first, and the row is
 * updated once; otherwise they are applied one after the other. */
typedef struct hr_update {
    const hr_rule *rule;
    int grad;    /* number of the input with the gradient */
    int indices; /* number of the input with its row indices; 0: the gradient is dense */
    /* The number of the input that gives p[i]; 0: p[i] is as it stands. */
    int from[HR_MAX_RULE_NUMBERS];
    double p[HR_MAX_RULE_NUMBERS]; /* the rule's numbers, exact in the variable's type */
    const char *flag;              /* a bool attribute, which becomes p[flag_to]; NULL: none */
    int flag_to;
    /* Of a sparse gradient, for slots that decay in all rows: first slot i is multiplied by p[decays[i]], as a whole; 0:
     * it is not. The rule then sees decayed slots. */
    int decays[HR_MAX_SLOTS];
    /* Of a sparse gradient, where all rows move: runs last, on the variable and the slots as a whole, with no gradient
     * and the same numbers. NULL: none. */
    const hr_rule *sweep;
} hr_update;

/* Reads an input of one value: float, double or a whole number. Another number of values is refused,
 * "optimizer.scalar". */
HR_API hr_status hr_update_number(hr_kernel *k, int input, double *out, hr_error *err);
/* Checks all inputs, then runs the rule on the variable in place, in several threads if that is faster. Refuses shapes
 * that do not fit, "optimizer.shape", and row indices out of range, "optimizer.index", before anything is changed. */
HR_API hr_status hr_update_run(hr_kernel *k, const hr_update *update, hr_error *err);
/* The same for `many` float variables at once, which threads share. Their handles come first, then those of each slot,
 * then gradients, then row indices, int64; the gradients of one row are summed first. Of `update`, .rule, .from, .p and
 * .flag count. A variable or slot that comes twice is refused, "optimizer.variable". */
HR_API hr_status hr_update_many(hr_kernel *k, const hr_update *update, int many, hr_error *err);

/* Defines the compute function NAME of an op that runs a rule:
 *
 *     HR_UPDATE(apply_descent, &descent_rule, .from = {1}, .grad = 2) */
#define HR_UPDATE(NAME, ...)                                                                                           \
    static hr_status NAME(hr_kernel *k, hr_error *err)                                                                 \
    {                                                                                                                  \
        const hr_update update = {__VA_ARGS__};                                                                        \
        return hr_update_run(k, &update, err);                                                                         \
    }
/* The descriptor of such an op, if TensorFlow has it; the second form has indices. More fields may follow. */
#define HR_UPDATE_OP(NAME, ...)                                                                                        \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:floats", .traits = HR_STATEFUL | HR_NO_GRADIENT,           \
        .compute = __VA_ARGS__                                                                                         \
    }
#define HR_SPARSE_UPDATE_OP(NAME, ...)                                                                                 \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:floats; Tindices:indices",                                 \
        .traits = HR_STATEFUL | HR_NO_GRADIENT, .compute = __VA_ARGS__                                                 \
    }
/* The two of an op that takes handles and of one that takes reference variables: "ResourceApplyAdagrad" and
 * "ApplyAdagrad"; "ResourceSparseApplyAdagrad" and "SparseApplyAdagrad". */
#define HR_UPDATE_OPS(NAME, ...)                                                                                       \
    HR_UPDATE_OP("ResourceApply" NAME, __VA_ARGS__), HR_UPDATE_OP("Apply" NAME, __VA_ARGS__)
#define HR_SPARSE_UPDATE_OPS(NAME, ...)                                                                                \
    HR_SPARSE_UPDATE_OP("ResourceSparseApply" NAME, __VA_ARGS__), HR_SPARSE_UPDATE_OP("SparseApply" NAME, __VA_ARGS__)
/* Ops of our own, of these inputs; the second form has indices. */
#define HR_OWN_UPDATE_OP(NAME, INPUTS, ...)                                                                            \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = "Headrace>" NAME, .inputs = INPUTS,                                          \
        .attrs = "T:floats; use_locking:bool=false", .traits = HR_STATEFUL | HR_NO_GRADIENT, .compute = __VA_ARGS__    \
    }
#define HR_OWN_SPARSE_UPDATE_OP(NAME, INPUTS, ...)                                                                     \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = "Headrace>" NAME, .inputs = INPUTS,                                          \
        .attrs = "T:floats; Tindices:indices; use_locking:bool=false; _sum_duplicates:bool=false",                     \
        .traits = HR_STATEFUL | HR_NO_GRADIENT, .compute = __VA_ARGS__                                                 \
    }

/* ---- parts of a sparse update, for kinds that need more than a rule for each row ---- */

/* A sparse gradient, and the tables that it will change: the values of the variable and of its slots. Borrows all. */
typedef struct hr_sparse_update {
    const hr_tensor *grad, *indices;
    int64_t rows, width; /* rows of the variable; values in a row */
    size_t row_bytes;
    int tables; /* number of tables whose rows are prefetched; hr_sparse_check sets 0 */
    const void *table[1 + HR_MAX_SLOTS];
} hr_sparse_update;

/* Checks that each index is a row of the variable, else "optimizer.index", and that the gradient has one row for each
 * index, else "optimizer.shape". Fills in *out. */
HR_API hr_status hr_sparse_check(const hr_tensor *variable, const hr_tensor *grad, const hr_tensor *indices,
                                 hr_sparse_update *out, hr_error *err);
/* Sums the gradients of the same row. Lends *rows, int64 [*count], the different rows in the order of their first
 * occurrence, and *sums, *count rows of the gradient's type, until the kernel ends. A gradient of more than
 * INT32_MAX / 8 rows is refused, "graph.rows". */
HR_API hr_status hr_sparse_sum_rows(hr_kernel *k, const hr_sparse_update *of, const int64_t **rows, const void **sums,
                                    int64_t *count, hr_error *err);

/* ---- the descriptor ---- */

/* The first two parameters of every kind. */
enum { HR_LEARNING_RATE, HR_DECAY, HR_OWN_PARAMETER };

/* A parameter of a kind: its variable, defaults and range. */
typedef struct hr_parameter_spec {
    const char *hyper;      /* name of the variable that holds it; NULL, or with .v1 or .keras: a constant */
    double usual, v1_usual; /* the default, and that with .v1 */
    double least, most;     /* the min and max value that are accepted */
} hr_parameter_spec;
#define HR_ABOVE_ZERO 4.9e-324 /* the least value of what must be above 0 */

/* A variable that each trained variable has in addition, of its type. */
typedef struct hr_slot {
    const char *name; /* with .v1 it counts for nothing: slots are called as the optimizer is */
    int initial;      /* number of the parameter that gives the initial value; 0: it is `constant` */
    double constant;
    int round; /* with .keras: slots of round 0 are made for all variables, then those of round 1, up to 2 */
    /* The slot's shape; false: this variable has none. NULL: the variable's own shape. */
    bool (*shape)(hr_shape variable, hr_shape *slot);
} hr_slot;

/* One call of minimize: the nodes that all variables share. A kind changes only `shared`. */
typedef struct hr_minimizer {
    hr_graph *g;
    const hr_optimizer *optimizer;
    hr_node iterations; /* an int64 variable; no node: iterations are not counted */
    hr_node shared[4];  /* for the kind, from begin to finish */
    const char *prefix; /* "training/", or "" */
    /* For the library only. */
    char scope[HR_MAX_SCOPE];
    hr_node hyper[HR_MAX_PARAMETERS], learning_rate;
    const char *slot_scope; /* "part_0/", or "" */
    hr_optimizer_variables made;
    hr_node rate_kept;
    /* For kinds again: how many variables are updated; while `update` is called, which of them, from 0. */
    int updates, number;
} hr_minimizer;

/* One variable to update. */
typedef struct hr_minimize_target {
    hr_node variable; /* the handle */
    hr_dtype dtype;
    hr_gradient gradient; /* without indices if dense */
    hr_node slot[HR_MAX_SLOTS];
} hr_minimize_target;

/* The descriptor of a kind: its parameters, slots and update. */
typedef struct hr_optimizer_kind {
    struct {
        uint32_t abi_version, struct_size;
    } head;                             /* HR_OPTIMIZER_HEAD */
    const char *name;                   /* in configuration files: "ftrl" */
    const char *const *parameters;      /* their names, first "learning_rate" and "decay"; ends with NULL */
    const hr_parameter_spec *parameter; /* one for each name */
    const hr_graph_op *ops;             /* the kind's own ops, ending with HR_GRAPH_OPS_END; NULL: none */
    const hr_rule *const *rules;        /* all rules of the ops, ending with NULL; tests compare their variants */
    /* The optimizer's name in messages and in the names of variables. It may depend on options: "SGD", or with .v1
     * "GradientDescent" or "Momentum". NULL: `name`. */
    const char *(*title)(const hr_optimizer *o);
    int (*slots)(const hr_optimizer *o, const hr_slot **slot); /* gives their number; NULL: none */
    void (*begin)(hr_minimizer *t);                            /* makes shared nodes; NULL: none */
    hr_node (*update)(hr_minimizer *t, const hr_minimize_target *v);
    int (*finish)(hr_minimizer *t, hr_node *out); /* gives up to 2 nodes to run after all updates; NULL: none */
    bool v1_only;                                 /* it has names and defaults of TensorFlow 1 alone: .v1 is implied */
    /* Refuses values that are in their ranges, but not together; NULL: none. */
    hr_status (*check)(const hr_optimizer *o, hr_error *err);
    bool keras;      /* it knows .keras: its title, slots and update ask hr_optimizer_is_keras */
    bool keras_only; /* .keras is implied */
    double ema_overwrite_frequency, weight_decay; /* defaults of these options; the latter by name alone */
} hr_optimizer_kind;

#define HR_OPTIMIZER_HEAD                                                                                              \
    {                                                                                                                  \
        HR_OPTIMIZER_ABI, sizeof(hr_optimizer_kind)                                                                    \
    }

/* ---- for constructors ---- */

/* The options of every kind (HR_OPTIMIZER_OPTIONS) but for decay. */
typedef struct hr_optimizer_common {
    bool v1, keras;
    hr_node learning_rate_node;
    const char *name;
    double clipnorm, clipvalue, global_clipnorm, weight_decay;
    const char *const *exclude_from_weight_decay; /* ends with NULL; NULL: none */
    double use_ema, ema_momentum, ema_overwrite_frequency;
} hr_optimizer_common;
#define HR_EMA_MOMENTUM 0.99 /* the default */
#define HR_OPTIMIZER_COMMON(opts)                                                                                      \
    (&(hr_optimizer_common){.v1 = (opts)->v1,                                                                          \
                            .keras = (opts)->keras,                                                                    \
                            .learning_rate_node = (opts)->learning_rate_node,                                          \
                            .name = (opts)->name,                                                                      \
                            .clipnorm = (double)(opts)->clipnorm,                                                      \
                            .clipvalue = (double)(opts)->clipvalue,                                                    \
                            .global_clipnorm = (double)(opts)->global_clipnorm,                                        \
                            .weight_decay = (double)(opts)->weight_decay,                                              \
                            .exclude_from_weight_decay = (opts)->exclude_from_weight_decay,                            \
                            .use_ema = (opts)->use_ema,                                                                \
                            .ema_momentum = (opts)->ema_momentum ? (double)*(opts)->ema_momentum : HR_EMA_MOMENTUM,    \
                            .ema_overwrite_frequency = (double)(opts)->ema_overwrite_frequency})
/* Gives an optimizer of `kind`, which is borrowed for ever. `given[i]` is the value of parameter i; if it or `given` is
 * NULL, the parameter has its default. `common`: NULL for none of its options; copied. The optimizer keeps the first
 * error: a value out of range, "optimizer.parameter", an incomplete kind, "optimizer.kind", or a descriptor of another
 * version, "optimizer.abi". */
HR_API hr_optimizer *hr_optimizer_new(const hr_optimizer_kind *kind, const double *const *given,
                                      const hr_optimizer_common *common);
/* With .v1, slot `slot` of a variable has this name, in place of the optimizer's: "w/<name>". Copied; NULL: nothing. */
HR_API void hr_optimizer_name_slot(hr_optimizer *optimizer, int slot, const char *name);
/* Converts an option to double, in `place`, for `given`; NULL stays NULL. */
static inline const double *hr_parameter_given(const float *option, double *place)
{
    if (!option) return NULL;
    *place = (double)*option;
    return place;
}

/* ---- for kinds ---- */

/* The value of a parameter by its number in the kind's list, and whether .v1 or .keras was given. */
HR_API double hr_optimizer_value(const hr_optimizer *optimizer, int parameter);
HR_API bool hr_optimizer_is_v1(const hr_optimizer *optimizer);
HR_API bool hr_optimizer_is_keras(const hr_optimizer *optimizer);
/* The option .learning_rate_node; no node if it was not given. */
HR_API hr_node hr_optimizer_learning_rate_node(const hr_optimizer *optimizer);

/* Parameter `i` as a node of the variable's type; the learning rate is that after decay. */
HR_API hr_node hr_minimizer_number(hr_minimizer *t, const hr_minimize_target *v, int i);
/* Parameter `i` as a node of float32: the value of its variable, or a constant. The learning rate is that before
 * decay. */
HR_API hr_node hr_minimizer_float(hr_minimizer *t, int i);
/* The number of the step that is made, from 1 on, float32. */
HR_API hr_node hr_minimizer_step(hr_minimizer *t);
/* Casts a number to the variable's type. */
HR_API hr_node hr_minimizer_cast(hr_node number, const hr_minimize_target *v);
/* Makes a variable of the optimizer, "<scope>/<name>", which is not trainable. */
HR_API hr_node hr_minimizer_variable(hr_minimizer *t, const char *scope, const char *name, hr_dtype dtype,
                                     hr_shape shape, double initial);
static inline bool hr_target_is_sparse(const hr_minimize_target *v) { return v->gradient.indices.graph != NULL; }
/* The gradient, of the variable's shape; a sparse one is summed up in zeros. */
HR_API hr_node hr_minimizer_dense(const hr_minimize_target *v);

/* A complete kind, SignSGD. It refuses sparse gradients, "optimizer.shape", because its op has no indices.
 *
 *     #include <headrace/optimizer.h>
 *     #include <math.h>
 *
 *     HR_RULE(sign, 0, 0.3, {
 *         for (int64_t i = 0; i < n; i++) w[i] -= g[i] > 0 ? p[0] : g[i] < 0 ? -p[0] : 0;
 *     })
 *     static const hr_rule *const rules[] = {&sign_rule, NULL};
 *
 *     HR_UPDATE(apply_sign, &sign_rule, .from = {1}, .grad = 2)
 *     static const hr_graph_op ops[] = {
 *         {
 *             .head = HR_GRAPH_OP_HEAD,
 *             .name = "Mine>ApplySign",
 *             .inputs = "var:resource, rate:T, grad:T",
 *             .attrs = "T:floats",
 *             .traits = HR_STATEFUL | HR_NO_GRADIENT,
 *             .compute = apply_sign,
 *         },
 *         HR_GRAPH_OPS_END,
 *     };
 *
 *     static hr_node sign_update(hr_minimizer *t, const hr_minimize_target *v)
 *     {
 *         hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE);
 *         return hr_new_node(t->g, "Mine>ApplySign", HR_INPUTS(v->variable, rate, v->gradient.values));
 *     }
 *
 *     static const char *const names[] = {"learning_rate", "decay", NULL};
 *     static const hr_parameter_spec specs[] = {{"learning_rate", 0.01, 0.01, 0, HUGE_VAL},
 *                                               {"decay", 0, 0, 0, HUGE_VAL}};
 *     static const hr_optimizer_kind sign = {
 *         .head = HR_OPTIMIZER_HEAD,
 *         .name = "sign",
 *         .parameters = names,
 *         .parameter = specs,
 *         .ops = ops,
 *         .rules = rules,
 *         .update = sign_update,
 *     };
 *
 *     hr_optimizer *my_sign(double rate)
 *     {
 *         const double *given[HR_MAX_PARAMETERS] = {&rate};
 *         return hr_optimizer_new(&sign, given, NULL);
 *     }
 */

#ifdef __cplusplus
}
#endif
#endif
