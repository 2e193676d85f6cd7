/* What numeric columns do to numbers on their way to float32. Not a public header. */
#ifndef HR__NORMALIZE_H
#define HR__NORMALIZE_H

#include <headrace/column_config.h>
#include <headrace/column_graph.h>

/* log1p first, then mean and std, or min and max; or a function in place of all. Zeroed: float32 as it is. */
typedef struct hr__normalize {
    hr_normalizer_fn *fn;
    void *user;
    bool log1p;
    float mean, std, min, max; /* std 0: none; min and max equal: none */
} hr__normalize;

/* Refuses constants that make no numbers. `what` and `key` begin the error. */
hr_status hr__normalize_check(const hr__normalize *n, const char *what, const char *key, hr_error *err);
void hr__normalize_mix(const hr__normalize *n, hr_column_builder *out);
void hr__normalize_run(const hr__normalize *n, const void *in, hr_dtype dtype, float *out, int64_t count);
/* The same as nodes; a function of the user is refused, with `what` and `key` before the error. */
hr_status hr__normalize_to_graph(const hr__normalize *n, const hr_column_graph *g, const char *what, const char *key,
                                 hr_dtype dtype, hr_column_node *values, hr_error *err);
/* The values are not just converted. */
bool hr__normalizes(const hr__normalize *n);

/* The keys mean, std, min, max, log1p of a mapping. */
#define HR__NORMALIZE_KEYS "mean", "std", "min", "max", "log1p"
/* The pairs that read makes it of; a function is refused. */
void hr__normalize_write(hr_config_writer *w, const hr__normalize *n);
hr_status hr__normalize_read(const hr_config_reader *r, hr__normalize *out, hr_error *err);

#endif
