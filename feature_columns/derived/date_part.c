/* date_part: the year, the weekday, ... of a point in time, in UTC. */
#include "feature_columns/derived/derived_internal.h"
#include "io/csv/csv.h"
#include <string.h>

enum { SECONDS_A_DAY = 86400, DAYS_A_CYCLE = 146097 /* of 400 years */ };

typedef struct date_part_spec {
    hr_date_part part;
} date_part_spec;

static const char *const words[] = {[HR_YEAR] = "year",
                                    [HR_MONTH] = "month",
                                    [HR_DAY] = "day",
                                    [HR_WEEKDAY] = "weekday",
                                    [HR_HOUR] = "hour",
                                    [HR_MINUTE] = "minute",
                                    [HR_DAY_OF_YEAR] = "day_of_year",
                                    [HR_TIMESTAMP] = "seconds",
                                    NULL};

static hr_status date_part_copy(void *spec, hr_error *err)
{
    const hr_date_part part = ((const date_part_spec *)spec)->part;
    if ((unsigned)part <= HR_TIMESTAMP) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.argument",
                   "date_part: expected HR_YEAR to HR_TIMESTAMP, got %d, which is none", (int)part);
}

static hr_status date_part_type(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    (void)count;
    *out = HR_INT64;
    if (in[0] != HR_DOUBLE) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.dtype",
                   "%s: expected int64 seconds since 1970, or texts such as 2013-01-01T05:15, got floats",
                   words[((const date_part_spec *)spec)->part]);
}

/* ---- the calendar ---- */

typedef struct date {
    int year, month, day, of_year;
} date;

/* Years begin with March here, so that the day that comes and goes is their last. */
static date date_of(int64_t days)
{
    const int64_t since = days + 719468; /* 0000-03-01 */
    const int64_t cycle = (since >= 0 ? since : since - (DAYS_A_CYCLE - 1)) / DAYS_A_CYCLE;
    const int of_cycle = (int)(since - cycle * DAYS_A_CYCLE);
    const int year = (of_cycle - of_cycle / 1460 + of_cycle / 36524 - of_cycle / 146096) / 365;
    const int of_year = of_cycle - (365 * year + year / 4 - year / 100), m = (5 * of_year + 2) / 153;
    const int month = m < 10 ? m + 3 : m - 9, y = (int)(cycle * 400) + year + (month <= 2);
    const bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    const int from_january = month <= 2 ? of_year - 306 : of_year + 59 + leap;
    return (date){y, month, of_year - (153 * m + 2) / 5 + 1, from_january + 1};
}

/* Whole days, rounded down. */
static int64_t day_of(int64_t seconds) { return (seconds - (seconds < 0 ? SECONDS_A_DAY - 1 : 0)) / SECONDS_A_DAY; }

static int64_t part_of(hr_date_part part, int64_t seconds)
{
    const int64_t days = day_of(seconds), of_day = seconds - days * SECONDS_A_DAY;
    switch (part) {
    case HR_YEAR:
        return date_of(days).year;
    case HR_MONTH:
        return date_of(days).month;
    case HR_DAY:
        return date_of(days).day;
    case HR_WEEKDAY:
        return ((days + 3) % 7 + 7) % 7; /* 1970 began with a Thursday */
    case HR_HOUR:
        return of_day / 3600;
    case HR_MINUTE:
        return of_day / 60 % 60;
    case HR_DAY_OF_YEAR:
        return date_of(days).of_year;
    case HR_TIMESTAMP:
        return seconds;
    }
    return 0;
}

/* ---- values ---- */

/* Seconds, rounded down; a fraction makes the text one of nanoseconds. */
static bool seconds_of(hr_view text, int64_t *seconds)
{
    enum { NANOS = 1000000000 };
    int64_t nanos;
    if (hr__csv_parse_time(HR_CSV_SECONDS, text.data, (size_t)text.size, seconds)) return true;
    if (!hr__csv_parse_time(HR_CSV_NANOSECONDS, text.data, (size_t)text.size, &nanos)) return false;
    *seconds = nanos / NANOS - (nanos % NANOS < 0);
    return true;
}

static bool time_of(const hr_derived_values *in, int64_t row, int64_t *seconds)
{
    const int64_t first = -INT64_C(62135596800), end = INT64_C(253402300800); /* of the years 1 to 9999 */
    if (in->dtype == HR_STRING) {
        if (!seconds_of(((const hr_view *)in->values)[row], seconds)) return false;
    } else {
        *seconds = ((const int64_t *)in->values)[row];
    }
    return *seconds >= first && *seconds < end;
}

static hr_status date_part_compute(const void *spec, hr_derived_work *w, const hr_derived_values *in, int64_t rows,
                                   void *out, bool *missing, hr_error *err)
{
    (void)w;
    (void)err;
    const hr_date_part part = ((const date_part_spec *)spec)->part;
    for (int64_t r = 0; r < rows; r++) {
        int64_t seconds = 0;
        if (!time_of(in, r, &seconds)) missing[r] = true;
        ((int64_t *)out)[r] = missing[r] ? 0 : part_of(part, seconds);
    }
    return HR_OK;
}

static hr_status date_part_read(hr_config_reader *r, const char *word, hr_derived_feature **out, hr_error *err)
{
    hr_derived_opts o;
    const char *field;
    int part = 0;
    while (strcmp(words[part], word) != 0) part++;
    HR_TRY(hr_derived_read_field(r, hr_config_get(r, word), &field, err));
    HR_TRY(hr__derived_read_default(r, &o, err));
    *out = hr_derived_date_part_with(hr_config_name(r), (hr_date_part)part, field, &o);
    return HR_OK;
}

const hr_derived_kind hr_derived_kind_date_part = {
    .head = HR_DERIVED_HEAD,
    .name = "date_part",
    .spec_size = sizeof(date_part_spec),
    .spec_copy = date_part_copy,
    .type = date_part_type,
    .compute = date_part_compute,
    .words = words,
    .read = date_part_read,
};

hr_derived_feature *hr_derived_date_part_with(const char *name, hr_date_part part, const char *field,
                                              const hr_derived_opts *opts)
{
    const hr_derived_opts o = HR_OPTIONS(hr_derived_opts, opts);
    return hr_derived_new(&hr_derived_kind_date_part, &(date_part_spec){part}, name, HR_FIELDS(field), o.default_value);
}
