/* 1551 limits: those of positive values begin at 1e-12 and grow by 1.1 as long as they are below 1e20. A value belongs
 * to the first limit above it. */
#include "train/summary/histogram.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { POSITIVE = 775, LIMITS = 2 * POSITIVE + 1 };

static void make_limits(double *limit)
{
    double v = 1e-12;
    int n = 0;
    for (; v < 1e20 && n < POSITIVE - 1; v *= 1.1) limit[POSITIVE + 1 + n++] = v;
    limit[LIMITS - 1] = DBL_MAX;
    limit[POSITIVE] = 0;
    for (int i = 0; i < POSITIVE; i++) limit[i] = -limit[LIMITS - 1 - i];
}

/* The last limit that is surely below `size`, counted from 1e-12 on: -1, none, to MOST. The bits of a double are nearly
 * its logarithm, 2^52 of them an octave, so that the limit after it may be below `size` too, but no further one. Without
 * a branch: what values a layer gives nobody can foresee. */
static int histogram_limit_below(double size)
{
    enum { MOST = POSITIVE - 3, UP = 1 << 14 /* above 0, whole numbers are cut downwards */ };
    static const double first = 1e-12, limits_in_bits = 7.2725408973 / (1LL << 52), error = 0.28;
    int64_t from, to;
    memcpy(&from, &first, sizeof from);
    memcpy(&to, &size, sizeof to);
    const int limits = (int)((double)(to - from) * limits_in_bits - error + UP) - UP, least = limits < -1 ? -1 : limits;
    return least < MOST ? least : MOST;
}

/* The first limit above v; v is finite, DBL_MAX itself goes into the last bucket. */
static int histogram_bucket_of(const double *limit, double v)
{
    const int sign = 1 - 2 * (v < 0);
    int i = POSITIVE + sign * (2 + histogram_limit_below(fabs(v)));
    i += limit[i] <= v;
    i += limit[i] <= v;
    return i < LIMITS ? i : LIMITS - 1;
}

static hr_status histogram_refuse(int64_t i, double v, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "summary.histogram", "histogram: value %lld is not finite: %g",
                   (long long)i, v);
}

/* Neighbours of the same bucket, as zeros are, would wait for each other: so every second value counts elsewhere. */
static hr_status histogram_count_values(const double *values, int64_t count, const double *limit, double *bucket,
                                        hr__histogram *out, hr_error *err)
{
    int64_t counted[2][LIMITS] = {{0}};
    double min = DBL_MAX, max = -DBL_MAX, sum = 0, sum_squares = 0;
    for (int64_t i = 0; i < count; i++) {
        const double v = values[i];
        if (!isfinite(v)) return histogram_refuse(i, v, err);
        counted[i & 1][histogram_bucket_of(limit, v)]++;
        min = v < min ? v : min;
        max = v > max ? v : max;
        sum += v;
        sum_squares += v * v;
    }
    for (int i = 0; i < LIMITS; i++) bucket[i] = (double)(counted[0][i] + counted[1][i]);
    out->min = min;
    out->max = max;
    out->num = (double)count;
    out->sum = sum;
    out->sum_squares = sum_squares;
    return HR_OK;
}

/* A run of empty buckets becomes one entry with the run's last limit. */
static void merge_empty(const double *limit, const double *bucket, hr__histogram *out)
{
    for (int i = 0; i < LIMITS;) {
        double end = limit[i], count = bucket[i++];
        if (count == 0)
            for (; i < LIMITS && bucket[i] == 0; i++) end = limit[i];
        out->limit[out->buckets] = end;
        out->bucket[out->buckets++] = count;
    }
}

hr_status hr__histogram_of(const double *values, int64_t count, hr__histogram *out, hr_error *err)
{
    double limit[LIMITS], *bucket = hr_calloc(LIMITS, sizeof *bucket);
    *out = (hr__histogram){.limit = hr_malloc(LIMITS * sizeof(double)), .bucket = hr_malloc(LIMITS * sizeof(double))};
    make_limits(limit);
    hr_status st = bucket && out->limit && out->bucket ? histogram_count_values(values, count, limit, bucket, out, err)
                                                       : hr_no_memory(err, "a histogram");
    if (st == HR_OK)
        merge_empty(limit, bucket, out);
    else
        hr__histogram_clear(out);
    hr_free(bucket);
    return st;
}

hr_status hr__histogram_rows(const double *values, int64_t count, int64_t buckets, double *rows, hr_error *err)
{
    double min = count ? values[0] : 0, max = min;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) return histogram_refuse(i, values[i], err);
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    const double width = (max - min) / (double)buckets;
    for (int64_t i = 0; i < buckets; i++) {
        rows[3 * i] = min + (double)i * width;
        rows[3 * i + 1] = i + 1 < buckets ? min + (double)(i + 1) * width : max;
        rows[3 * i + 2] = 0;
    }
    for (int64_t i = 0; i < count; i++) {
        const double at = width > 0 ? floor((values[i] - min) / width) : (double)buckets;
        rows[3 * (at < (double)buckets ? (int64_t)at : buckets - 1) + 2]++;
    }
    return HR_OK;
}

void hr__histogram_message(const hr__histogram *h, Headrace__Proto__Histogram *out)
{
    headrace__proto__histogram__init(out);
    out->min = h->min;
    out->max = h->max;
    out->num = h->num;
    out->sum = h->sum;
    out->sum_squares = h->sum_squares;
    out->bucket_limit = h->limit;
    out->bucket = h->bucket;
    out->n_bucket_limit = out->n_bucket = h->buckets;
}

void hr__histogram_clear(hr__histogram *h)
{
    hr_free(h->limit);
    hr_free(h->bucket);
    *h = (hr__histogram){0};
}
