/* Normalizes numbers when they become float32: by constants, or by a function of the user. */
#include "feature_columns/kinds/normalize.h"

#include <math.h>

bool hr__normalizes(const hr__normalize *n) { return n->fn || n->log1p || n->std != 0 || n->max != n->min; }

hr_status hr__normalize_check(const hr__normalize *n, const char *what, const char *key, hr_error *err)
{
    if (!(n->std >= 0) || !isfinite(n->std) || !isfinite(n->mean))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.normalizer",
                       "%s '%s': expected a finite mean and std > 0, got mean %g, std %g", what, key, (double)n->mean,
                       (double)n->std);
    if (!isfinite(n->min) || !isfinite(n->max) || n->min > n->max)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.normalizer",
                       "%s '%s': expected a finite min below max, got min %g, max %g", what, key, (double)n->min,
                       (double)n->max);
    const bool constants = n->log1p || n->std != 0 || n->max != n->min;
    if ((n->std != 0 && n->max != n->min) || (n->fn && constants))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.normalizer",
                       "%s '%s': expected one way to normalize, got several; give mean and std, or min and max, or a "
                       "normalizer_fn",
                       what, key);
    return HR_OK;
}

void hr__normalize_mix(const hr__normalize *n, hr_column_builder *out)
{
    hr_column_mix(out, (float[]){n->mean, n->std, n->min, n->max, n->log1p}, 5 * sizeof(float));
    hr_column_mix(out, &n->fn, sizeof n->fn);
    hr_column_mix(out, &n->user, sizeof n->user);
}

void hr__normalize_run(const hr__normalize *n, const void *in, hr_dtype dtype, float *out, int64_t count)
{
    if (n->fn) {
        n->fn(in, dtype, out, count, n->user);
        return;
    }
    hr_numbers_to_float(in, dtype, out, count);
    if (n->log1p)
        for (int64_t i = 0; i < count; i++) out[i] = log1pf(out[i]);
    if (n->std != 0)
        for (int64_t i = 0; i < count; i++) out[i] = (out[i] - n->mean) / n->std;
    const float range = n->max - n->min;
    if (range != 0)
        for (int64_t i = 0; i < count; i++) out[i] = (out[i] - n->min) / range;
}

/* (x - from) / by */
static hr_column_node moved_and_scaled(const hr_column_graph *g, hr_column_node x, float from, float by)
{
    const hr_column_node zero = hr_column_float_constant(g, from), one = hr_column_float_constant(g, by);
    x = HR_COLUMN_APPLY(g, "Sub", x, zero);
    return HR_COLUMN_APPLY(g, "RealDiv", x, one);
}

hr_status hr__normalize_to_graph(const hr__normalize *n, const hr_column_graph *g, const char *what, const char *key,
                                 hr_dtype dtype, hr_column_node *values, hr_error *err)
{
    if (n->fn)
        return hr_fail(err, HR_UNIMPLEMENTED, "column.to_graph",
                       "%s '%s': expected a normalizer of constants, which a graph can compute, got a normalizer_fn",
                       what, key);
    *values = hr_column_cast(g, *values, dtype, HR_FLOAT);
    if (n->log1p) *values = HR_COLUMN_APPLY(g, "Log1p", *values);
    if (n->std != 0) *values = moved_and_scaled(g, *values, n->mean, n->std);
    if (n->max - n->min != 0) *values = moved_and_scaled(g, *values, n->min, n->max - n->min);
    return HR_OK;
}

/* ---- in a config file ---- */

static hr_status read_pair(const hr_config_reader *r, const char *from, const char *to, float *a, float *b,
                           hr_error *err)
{
    double first = 0, second = 0;
    HR_TRY(hr_config_double(r, from, &first, err));
    HR_TRY(hr_config_double(r, to, &second, err));
    *a = (float)first;
    *b = (float)second;
    return HR_OK;
}

hr_status hr__normalize_read(const hr_config_reader *r, hr__normalize *out, hr_error *err)
{
    const hr_config_value *std = hr_config_get(r, "std"), *max = hr_config_get(r, "max");
    HR_TRY(read_pair(r, "mean", "std", &out->mean, &out->std, err));
    HR_TRY(read_pair(r, "min", "max", &out->min, &out->max, err));
    HR_TRY(hr_config_bool(r, "log1p", &out->log1p, err));
    if ((std || out->mean != 0) && !(out->std > 0))
        return hr_config_expected(std ? std : hr_config_mapping(r), "a std > 0", err);
    if ((max || hr_config_get(r, "min")) && !(out->max > out->min))
        return hr_config_expected(max ? max : hr_config_mapping(r), "a max above min", err);
    return HR_OK;
}

void hr__normalize_write(hr_config_writer *w, const hr__normalize *n)
{
    if (n->fn) hr_config_write_impossible(w, "a normalizer_fn");
    if (n->log1p) hr_config_write_bool(w, "log1p", true);
    if (n->std != 0) {
        hr_config_write_float(w, "mean", n->mean);
        hr_config_write_float(w, "std", n->std);
    }
    if (n->max != n->min) {
        hr_config_write_float(w, "min", n->min);
        hr_config_write_float(w, "max", n->max);
    }
}
