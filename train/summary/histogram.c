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

/* About how often 1e-12 was multiplied by 1.1 to come to `size`. The bits of a double are nearly its logarithm: 2^52 of
 * them are an octave, with an error of at most 0.09. */
static double histogram_growth(double size)
{
    static const double first = 1e-12, octaves = 1.0 / (1LL << 52), limits_in_octave = 7.2725408973;
    int64_t from, to;
    memcpy(&from, &first, sizeof from);
    memcpy(&to, &size, sizeof to);
    return (double)(to - from) * octaves * limits_in_octave;
}

/* The first limit above v; v is finite, DBL_MAX itself goes into the last bucket. It is at most two from where v's
 * logarithm says. */
static int histogram_bucket_of(const double *limit, double v)
{
    const double size = fabs(v), growth = size > 1e-12 ? 2 + histogram_growth(size) : 0;
    const int away = growth < POSITIVE ? (int)growth : POSITIVE;
    int i = v < 0 ? POSITIVE - away : POSITIVE + away;
    while (i > 0 && limit[i - 1] > v) i--;
    while (i < LIMITS - 1 && limit[i] <= v) i++;
    return i;
}

static hr_status histogram_refuse(int64_t i, double v, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "summary.histogram", "histogram: value %lld is not finite: %g",
                   (long long)i, v);
}

static hr_status histogram_count_values(const double *values, int64_t count, const double *limit, double *bucket,
                                        hr__histogram *out, hr_error *err)
{
    out->min = DBL_MAX;
    out->max = -DBL_MAX;
    for (int64_t i = 0; i < count; i++) {
        double v = values[i];
        if (!isfinite(v)) return histogram_refuse(i, v, err);
        bucket[histogram_bucket_of(limit, v)]++;
        if (v < out->min) out->min = v;
        if (v > out->max) out->max = v;
        out->sum += v;
        out->sum_squares += v * v;
    }
    out->num = (double)count;
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
