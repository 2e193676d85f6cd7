/* Headrace, the optimizer kit: what a kind of optimizer is made of. The library's own kinds, and kinds from outside, use
 * this header and the op kit. A kind is one file: its update rules, the ops that run them, a descriptor, and last the
 * constructor that users call. The comment at the end of this file has a whole one.
 *
 * What is declared here is versioned with the descriptor, by HR_OPTIMIZER_ABI. */
#ifndef HR_OPTIMIZER_H
#define HR_OPTIMIZER_H

#include <headrace/kernels.h>
#include <headrace/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this kit. */
enum { HR_OPTIMIZER_ABI = 1 };
/* The most parameters and slots of a kind, numbers of a rule, and bytes of a scope's name. */
enum { HR_MAX_PARAMETERS = 10, HR_MAX_SLOTS = 2, HR_MAX_RULE_NUMBERS = 8, HR_MAX_SCOPE = 512 };

/* ---- update rules ----
 *
 * A rule changes values that lie in a row: `n` values w of the variable and a, b of its slots, by the gradient g. `p`
 * are the rule's numbers: what is the same for all values. Nothing overlaps; g is not changed; a slot that the rule does
 * not have is NULL. */
typedef void hr_rule_f32(float *w, float *a, float *b, const float *g, int64_t n, const float *p);
typedef void hr_rule_f64(double *w, double *a, double *b, const double *g, int64_t n, const double *p);

/* A rule in all its forms, as HR_RULE defines it. */
typedef struct hr_rule {
    const char *name;
    int slots;
    double nanoseconds;                    /* for one value, about: decides how many threads are worth it */
    hr_rule_f32 *portable, *avx2, *avx512; /* the last two: NULL where there is none */
    hr_rule_f64 *f64;
} hr_rule;

/* Defines the rule NAME##_rule from one body, compiled for float and double, and for float with AVX2 and AVX-512 too. In
 * the body, T is the type:
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
                                                         const TYPE *restrict g, int64_t n, const TYPE *p)             \
    {                                                                                                                  \
        typedef TYPE T;                                                                                                \
        (void)(T)0, (void)w, (void)a, (void)b, (void)g, (void)n, (void)p;                                              \
        __VA_ARGS__                                                                                                    \
    }
#define HR_RULE_VARIANT_(FN, BODY, TYPE, ATTRIBUTE)                                                                    \
    ATTRIBUTE static void FN(TYPE *w, TYPE *a, TYPE *b, const TYPE *g, int64_t n, const TYPE *p)                       \
    {                                                                                                                  \
        BODY(w, a, b, g, n, p);                                                                                        \
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

/* The rule's function for this processor. */
HR_API hr_rule_f32 *hr_rule_choose(const hr_rule *rule);

/* ---- ops that run a rule: for compute ----
 *
 * Inputs 0, 1, ... of such an op are the handles of the variable and of the rule's slots. The op is HR_STATEFUL and
 * HR_NO_GRADIENT, of attribute "T:floats"; a sparse one has "Tindices:indices" and "_sum_duplicates:bool=false", which
 * says that the gradients of a row given twice are summed before the one update of that row. */
typedef struct hr_update {
    const hr_rule *rule;
    int grad;                      /* the input with the gradient */
    int indices;                   /* the input with its rows; 0: the gradient is dense */
    double p[HR_MAX_RULE_NUMBERS]; /* the rule's numbers, all exact in the type of the variable */
} hr_update;

/* A scalar input of the variable's type; else "optimizer.scalar". */
HR_API hr_status hr_update_number(hr_kernel *k, int input, double *out, hr_error *err);
/* Checks all inputs, then runs the rule over the variable in place, on several threads where that is worth it. Refuses
 * shapes that do not fit, "optimizer.shape", and rows out of range, "optimizer.index"; then nothing has changed. */
HR_API hr_status hr_update_run(hr_kernel *k, const hr_update *update, hr_error *err);

/* ---- the parts of a sparse update, for kinds that are more than a rule by row ---- */

/* A sparse gradient beside the tables that it will change: the variable's values and its slots'. */
typedef struct hr_sparse_update {
    const hr_tensor *grad, *indices;
    int64_t rows, width; /* of the variable; values of a row */
    size_t row_bytes;
    int tables; /* whose rows are prefetched: 0 at first */
    const void *table[1 + HR_MAX_SLOTS];
} hr_sparse_update;

/* Checks that the indices are rows of the variable and the gradient has one row an index, and describes them. */
HR_API hr_status hr_sparse_check(const hr_tensor *variable, const hr_tensor *grad, const hr_tensor *indices,
                                 hr_sparse_update *out, hr_error *err);
/* Sums the rows that come twice: gives *rows, int64 [*count] in the order of first occurrence, and *sums, *count rows
 * of the gradient's type. Both are temporary memory of the kernel. */
HR_API hr_status hr_sparse_sum_rows(hr_kernel *k, const hr_sparse_update *of, const int64_t **rows, const void **sums,
                                    int64_t *count, hr_error *err);

/* ---- the descriptor ---- */

/* The first two parameters of every kind. */
enum { HR_LEARNING_RATE, HR_DECAY, HR_OWN_PARAMETER };

/* A parameter that a kind understands: its name, defaults and range. */
typedef struct hr_parameter_spec {
    const char *hyper;      /* the variable that keeps it (v2); NULL: a constant */
    double usual, v1_usual; /* defaults */
    double least, most;     /* what is accepted */
} hr_parameter_spec;

/* A variable beside each trained one, of its shape. */
typedef struct hr_slot {
    const char *name;
    int initial; /* the parameter whose value it begins with; 0: it begins with 0 */
} hr_slot;

/* One minimize under way: nodes that all variables share. Kinds only read it, but for `shared`. */
typedef struct hr_minimizer {
    hr_graph *g;
    const hr_optimizer *optimizer;
    hr_node iterations; /* an int64 variable; none: nobody counts */
    hr_node shared[4];  /* the kind's own, from begin to finish */
    const char *prefix; /* "training/", or "" */
    /* The library's own. */
    char scope[HR_MAX_SCOPE];
    hr_node hyper[HR_MAX_PARAMETERS], learning_rate;
} hr_minimizer;

/* One variable to update. */
typedef struct hr_minimize_target {
    hr_node variable; /* the handle */
    hr_dtype dtype;
    hr_gradient gradient; /* indices: none if dense */
    hr_node slot[HR_MAX_SLOTS];
} hr_minimize_target;

/* A kind of optimizer: its parameters, slots and update. */
typedef struct hr_optimizer_kind {
    struct {
        uint32_t abi_version, struct_size;
    } head;                             /* HR_OPTIMIZER_HEAD */
    const char *name;                   /* for files that people write: "ftrl" */
    const char *const *parameters;      /* their names, "learning_rate" and "decay" first; ends with NULL */
    const hr_parameter_spec *parameter; /* one each */
    const hr_graph_op *ops;             /* that update uses, ending with HR_GRAPH_OPS_END; NULL: known ones alone */
    const hr_rule *const *rules;        /* all that the ops run, ending with NULL: tests compare their variants */
    /* What the optimizer is called in messages and names of variables. Kinds may have a name in each family: "SGD", or
     * "GradientDescent" or "Momentum" (v1). NULL: `name`. */
    const char *(*title)(const hr_optimizer *o);
    int (*slots)(const hr_optimizer *o, const hr_slot **slot); /* how many; NULL: none */
    void (*begin)(hr_minimizer *t);                            /* NULL: nothing to share */
    hr_node (*update)(hr_minimizer *t, const hr_minimize_target *v);
    int (*finish)(hr_minimizer *t, hr_node *out); /* nodes to run after all updates, at most 2; NULL: none */
} hr_optimizer_kind;

#define HR_OPTIMIZER_HEAD                                                                                              \
    {                                                                                                                  \
        HR_OPTIMIZER_ABI, sizeof(hr_optimizer_kind)                                                                    \
    }

/* ---- for constructors ---- */

/* Gives an optimizer of `kind`, which is borrowed for good. `given[i]` is parameter i; NULL, also for `given`: its default. A value out of
 * range sticks to the optimizer, "optimizer.parameter", and so does a descriptor that does not fit, "optimizer.abi". */
HR_API hr_optimizer *hr_optimizer_new(const hr_optimizer_kind *kind, const double *const *given, bool v1,
                                      hr_node learning_rate_node);
/* An option of the caller as a double in `place`; NULL stays NULL. For `given`. */
static inline const double *hr_parameter_given(const float *option, double *place)
{
    if (!option) return NULL;
    *place = (double)*option;
    return place;
}

/* ---- for kinds ---- */

/* A parameter's value by its place in the kind's list; whether .v1 was given. */
HR_API double hr_optimizer_value(const hr_optimizer *optimizer, int parameter);
HR_API bool hr_optimizer_is_v1(const hr_optimizer *optimizer);
/* The learning rate as a node, if it was given as one. */
HR_API hr_node hr_optimizer_learning_rate_node(const hr_optimizer *optimizer);

/* Parameter `i` in the variable's type; of the learning rate, after decay. */
HR_API hr_node hr_minimizer_number(hr_minimizer *t, const hr_minimize_target *v, int i);
/* Parameter `i` as float32: its variable's value, or a constant. */
HR_API hr_node hr_minimizer_float(hr_minimizer *t, int i);
/* A number in the variable's type. */
HR_API hr_node hr_minimizer_cast(hr_node number, const hr_minimize_target *v);
/* A variable of the optimizer's own: "<scope>/<name>". */
HR_API hr_node hr_minimizer_variable(hr_minimizer *t, const char *scope, const char *name, hr_dtype dtype,
                                     hr_shape shape, double initial);
static inline bool hr_target_is_sparse(const hr_minimize_target *v) { return v->gradient.indices.graph != NULL; }

/* A whole kind, SignSGD. A sparse gradient it refuses, as its op has no indices: "optimizer.shape".
 *
 *     #include <headrace/optimizer.h>
 *     #include <math.h>
 *
 *     HR_RULE(sign, 0, 0.3, {
 *         for (int64_t i = 0; i < n; i++) w[i] -= g[i] > 0 ? p[0] : g[i] < 0 ? -p[0] : 0;
 *     })
 *     static const hr_rule *const rules[] = {&sign_rule, NULL};
 *
 *     static hr_status sign_compute(hr_kernel *k, hr_error *err)
 *     {
 *         hr_update update = {&sign_rule, .grad = 2};
 *         HR_TRY(hr_update_number(k, 1, &update.p[0], err));
 *         return hr_update_run(k, &update, err);
 *     }
 *     static const hr_graph_op ops[] = {
 *         {
 *             .head = HR_GRAPH_OP_HEAD,
 *             .name = "Mine>ApplySign",
 *             .inputs = "var:resource, rate:T, grad:T",
 *             .attrs = "T:floats",
 *             .traits = HR_STATEFUL | HR_NO_GRADIENT,
 *             .compute = sign_compute,
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
 *         return hr_optimizer_new(&sign, given, false, (hr_node){0});
 *     }
 */

#ifdef __cplusplus
}
#endif
#endif
