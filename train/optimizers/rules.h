/* Update rules: what one optimizer does to values that lie in a row, and the drivers that bring the rows: dense ones in
 * pieces, sparse ones one by one or gathered. Not a public header. */
#ifndef HR_OPTIMIZERS_RULES_H
#define HR_OPTIMIZERS_RULES_H

#include "train/graph/graph_op.h"

enum { HR__RULE_SLOTS = 2, HR__RULE_NUMBERS = 8 };

/* Changes w and its slots a and b by the gradient g, `n` values; `p` are the rule's numbers. The gradient is not
 * changed, and nothing overlaps. */
typedef void hr__rule_f32(float *w, float *a, float *b, const float *g, int64_t n, const float *p);
typedef void hr__rule_f64(double *w, double *a, double *b, const double *g, int64_t n, const double *p);

typedef struct hr__rule {
    int slots;
    double nanoseconds; /* for one value, about */
    hr__rule_f32 *portable, *avx2, *avx512;
    hr__rule_f64 *f64;
} hr__rule;

/* The numbers of each:
 *   descent        rate
 *   momentum       rate, momentum, nesterov (0 or 1)
 *   keras_momentum the same
 *   adagrad        rate, update_slots              w -= rate * g / sqrt(a)
 *   adagrad_v2     rate, epsilon, update_slots     w -= rate * g / (sqrt(a) + epsilon)
 *   adam           bias-corrected rate, beta1, beta2, epsilon, nesterov
 *   adam_move      bias-corrected rate, epsilon: w alone, of m and v as they are
 *   ftrl           rate, l1, l2, shrinkage, -power, multiply_linear_by_lr; for power -0.5
 *   ftrl_power     the same, for any power */
extern const hr__rule hr__rule_descent, hr__rule_momentum, hr__rule_keras_momentum, hr__rule_adagrad,
    hr__rule_adagrad_v2, hr__rule_adam, hr__rule_adam_move, hr__rule_ftrl, hr__rule_ftrl_power;

/* The variables are inputs 0 (what is trained) and 1 ... rule->slots. `p`: the rule's numbers, all exact in the type of
 * the variable. */
typedef struct hr__apply {
    const hr__rule *rule;
    int grad, indices; /* inputs; indices 0: the gradient is dense */
    double p[HR__RULE_NUMBERS];
} hr__apply;
hr_status hr__apply_run(hr_kernel *k, const hr__apply *apply, hr_error *err);

/* A scalar input of the variable's type. */
hr_status hr__apply_number(hr_kernel *k, int input, double *out, hr_error *err);
/* A sparse gradient beside the variable's tables: its values and its slots'. */
typedef struct hr__sparse {
    const hr_tensor *grad, *indices;
    int64_t rows, width; /* of the variable; values of a row */
    size_t row_bytes;
    int tables;
    const void *table[1 + HR__RULE_SLOTS];
} hr__sparse;

/* Checks indices and gradient against the variable, every row within it, and describes them. */
hr_status hr__sparse_check(const hr_tensor *variable, const hr_tensor *grad, const hr_tensor *indices, hr__sparse *out,
                           hr_error *err);

/* Rows that come twice, summed: *rows (int64 [*count], in the order of first occurrence) and *sums (*count rows), both
 * in the kernel's temporary memory. */
hr_status hr__sum_rows(hr_kernel *k, const hr__sparse *of, const int64_t **rows, const void **sums, int64_t *count,
                       hr_error *err);

/* The rule's function for this processor. */
hr__rule_f32 *hr__rule_choose(const hr__rule *rule);

/* Shape functions of ops with variables only. */
hr_status hr__apply_shape(hr_infer *s, hr_error *err);

#endif
