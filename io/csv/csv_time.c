/* Points in time as ISO 8601 writes them, as a number of days, seconds or parts of a second since 1970, UTC. */
#include "io/csv/csv.h"
#include <stdint.h>

enum { SECONDS_A_DAY = 86400 };

typedef struct cursor {
    const char *at, *end;
} cursor;

static bool csv_time_take(cursor *c, char byte)
{
    if (c->at == c->end || *c->at != byte) return false;
    c->at++;
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Exactly `digits` digits, from `least` to `most`. */
static bool take_number(cursor *c, int digits, int min, int max, int *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++, c->at++) {
        if (c->at == c->end || !is_digit(*c->at)) return false;
        *out = *out * 10 + (*c->at - '0');
    }
    return *out >= min && *out <= max;
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* Years begin with March here, so that the day that comes and goes is their last; 400 of them have 146,097 days. */
static int64_t days_since_1970(int year, int month, int day)
{
    const int y = year - (month <= 2), age = y / 400, of_age = y % 400;
    const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return age * INT64_C(146097) + of_age * 365 + of_age / 4 - of_age / 100 + of_year - 719468;
}

static bool take_date(cursor *c, int64_t *days)
{
    int year, month, day;
    if (!take_number(c, 4, 1, 9999, &year) || !csv_time_take(c, '-')) return false;
    if (!take_number(c, 2, 1, 12, &month) || !csv_time_take(c, '-')) return false;
    if (!take_number(c, 2, 1, days_of_month(year, month), &day)) return false;
    *days = days_since_1970(year, month, day);
    return true;
}

/* Reads what follows the point: what `digits` digits can hold; further ones must be zeros. */
static bool take_fraction(cursor *c, int digits, int64_t *parts)
{
    const char *begin = c->at;
    *parts = 0;
    for (int i = 0; i < digits || (c->at < c->end && is_digit(*c->at)); i++) {
        const int digit = c->at < c->end && is_digit(*c->at) ? *c->at++ - '0' : 0;
        if (i >= digits && digit != 0) return false;
        if (i < digits) *parts = *parts * 10 + digit;
    }
    return c->at > begin;
}

/* Z, +01, +0100, +01:00, or nothing. */
static bool take_zone(cursor *c, int64_t *offset)
{
    int hours = 0, minutes = 0;
    *offset = 0;
    if (c->at == c->end || csv_time_take(c, 'Z') || csv_time_take(c, 'z')) return c->at == c->end;
    const bool west = *c->at == '-';
    if (!csv_time_take(c, '-') && !csv_time_take(c, '+')) return false;
    if (!take_number(c, 2, 0, 23, &hours)) return false;
    if (c->at < c->end) {
        csv_time_take(c, ':');
        if (!take_number(c, 2, 0, 59, &minutes)) return false;
    }
    *offset = (west ? -1 : 1) * (hours * INT64_C(3600) + minutes * 60);
    return c->at == c->end;
}

/* hh:mm, hh:mm:ss, hh:mm:ss.fraction, and the zone. */
static bool take_time(cursor *c, int digits, int64_t *seconds, int64_t *parts)
{
    int hour, minute, second = 0;
    int64_t offset;
    if (!take_number(c, 2, 0, 23, &hour) || !csv_time_take(c, ':') || !take_number(c, 2, 0, 59, &minute)) return false;
    if (csv_time_take(c, ':')) {
        if (!take_number(c, 2, 0, 59, &second)) return false;
        if (csv_time_take(c, '.') && !take_fraction(c, digits, parts)) return false;
    }
    if (!take_zone(c, &offset)) return false;
    *seconds = hour * INT64_C(3600) + minute * 60 + second - offset;
    return true;
}

static void trim(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t')) c->at++;
    while (c->at < c->end && (c->end[-1] == ' ' || c->end[-1] == '\t')) c->end--;
}

bool hr__csv_parse_time(hr_csv_time unit, const char *text, size_t size, int64_t *out)
{
    static const struct {
        int digits;
        int64_t parts; /* of a second */
    } units[] = {[HR_CSV_SECONDS] = {0, 1},
                 [HR_CSV_MILLISECONDS] = {3, 1000},
                 [HR_CSV_MICROSECONDS] = {6, 1000000},
                 [HR_CSV_NANOSECONDS] = {9, 1000000000}};
    cursor c = {text, text + size};
    int64_t days, seconds = 0, parts = 0, whole;
    trim(&c);
    if (!take_date(&c, &days)) return false;
    if (unit == HR_CSV_DATE) {
        *out = days;
        return c.at == c.end;
    }
    if (c.at < c.end) {
        if (!csv_time_take(&c, 'T') && !csv_time_take(&c, 't') && !csv_time_take(&c, ' ')) return false;
        if (!take_time(&c, units[unit].digits, &seconds, &parts)) return false;
    }
    seconds += days * SECONDS_A_DAY;
    if (seconds < 0 && parts > 0) { /* towards zero, or the first second that nanoseconds reach would not fit */
        seconds++;
        parts -= units[unit].parts;
    }
    return !__builtin_mul_overflow(seconds, units[unit].parts, &whole) && !__builtin_add_overflow(whole, parts, out);
}
