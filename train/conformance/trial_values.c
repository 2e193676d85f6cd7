/* Numbers and strings of inputs and attributes, hostile ones among them. */
#include "train/conformance/trial.h"

#include <math.h>
#include <string.h>

double hr__trial_hostile_float(trial *t)
{
    static const double numbers[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1e-45, -1e-310, 3.4e38, 1e300, -1, 0.5, 1e10};
    return numbers[below(t, sizeof numbers / sizeof *numbers)];
}

meaning hr__trial_meaning(trial *t)
{
    const meaning m = (meaning)below(t, MEANINGS);
    return t->smooth && (m == HOSTILE || m == ONE_HOSTILE) ? PLACE : m;
}

int64_t hr__trial_whole_number(trial *t, meaning m, int64_t i, int64_t count, int64_t *last)
{
    const hr_shape c = t->common;
    switch (m) {
    case SMALL:
        return below(t, 6) - 1;
    case PLACE:
        return c.rank > 0 && c.dims[0] > 0 ? below(t, c.dims[0]) : 0;
    case SHAPE:
        return i < c.rank ? c.dims[i] : 1;
    case ORDER:
        return count - 1 - i;
    case SPLITS:
        *last = i == 0 ? 0 : i + 1 == count && c.rank > 0 ? c.dims[0] : *last + below(t, 2);
        return *last;
    case HOSTILE:
        return hr__trial_hostile(t);
    case ONE_HOSTILE:
        return one_in(t, count) ? hr__trial_hostile(t) : below(t, 4);
    case AXIS:
        return (i + below(t, 2)) % (c.rank > 0 ? c.rank : 1) - (one_in(t, 4) ? c.rank : 0);
    default:
        return 0;
    }
}

/* Within, below or around [0, 1]; all of a tensor lie in one range, and no two are the same. */
static double smooth_number(trial *t, meaning m)
{
    const double unit = ((double)below(t, INT64_C(1) << 30) + 0.5) / (double)(INT64_C(1) << 30);
    return m == ZEROS || m == SMALL || m == ORDER ? 4 * unit - 2 : m == SHAPE || m == AXIS ? 1.1 + 2 * unit : unit;
}

double hr__trial_real_number(trial *t, meaning m)
{
    if (t->smooth) return smooth_number(t, m);
    if (m == HOSTILE || (m == ONE_HOSTILE && one_in(t, 4))) return hr__trial_hostile_float(t);
    if (m == ZEROS) return 0;
    if (m == SMALL || m == SHAPE) return (double)below(t, 7) - 3;
    return (double)below(t, 1025) / 1024;
}

hr_view hr__trial_text(trial *t)
{
    static const char *const words[] = {"", "mean", "sum", "sqrtn", "NCHW", "NHWC", "x", "no such thing"};
    const char *word = words[below(t, sizeof words / sizeof *words)];
    return (hr_view){word, (int64_t)strlen(word)};
}

static void put(hr_tensor *to, int64_t i, int64_t whole, double real, hr_view word)
{
    const size_t size = hr_dtype_size(to->dtype);
    const float narrow = (float)real;
    const bool bit = whole > 0;
    const void *from = to->dtype == HR_FLOAT    ? (const void *)&narrow
                       : to->dtype == HR_DOUBLE ? (const void *)&real
                       : to->dtype == HR_STRING ? (const void *)&word
                       : to->dtype == HR_BOOL   ? (const void *)&bit
                                                : (const void *)&whole;
    if (size == 16 && to->dtype != HR_STRING)
        memset((char *)to->data + (size_t)i * size, 0, size);
    else
        memcpy((char *)to->data + (size_t)i * size, from, size);
}

hr_tensor hr__trial_tensor(trial *t, hr_dtype dtype, hr_shape shape)
{
    hr_tensor out = hr_tensor_of(dtype, shape, NULL);
    const meaning m = hr__trial_meaning(t);
    int64_t last = 0;
    out.data = hr__trial_memory(t, (size_t)out.count * hr_dtype_size(dtype));
    if (!out.data) return hr_tensor_of(dtype, HR_SHAPE(0), NULL);
    for (int64_t i = 0; i < out.count && hr_dtype_size(dtype); i++)
        put(&out, i, hr__trial_whole_number(t, m, i, out.count, &last), hr__trial_real_number(t, m), hr__trial_text(t));
    return out;
}
