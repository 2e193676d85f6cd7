/* Rows of many columns for tests: of every width that numbers have as records, lists of none to three values, one list
 * that always has one, a vector, and where it is asked for, a string. All follow from element n, and large ones come
 * late. */
#ifndef WIDE_ROWS_H
#define WIDE_ROWS_H

#include "tests/data/conformance.h"
#include <stdio.h>

static const hr_field wide_field[] = {
    {.name = "small", .dtype = HR_INT64},
    {.name = "middle", .dtype = HR_INT64},
    {.name = "large", .dtype = HR_INT64},
    {.name = "number", .dtype = HR_INT32},
    {.name = "share", .dtype = HR_FLOAT},
    {.name = "flag", .dtype = HR_UINT8},
    {.name = "vector", .dtype = HR_FLOAT, .shape = {1, {3}}},
    {.name = "places", .dtype = HR_INT64, .shape = {1, {2}}},
    {.name = "list", .dtype = HR_INT64, .layout = HR_RAGGED, .shape = {1, {-1}}},
    {.name = "one", .dtype = HR_INT64, .layout = HR_RAGGED, .shape = {1, {-1}}},
    {.name = "text", .dtype = HR_STRING},
};
enum { WIDE_FIELDS = sizeof wide_field / sizeof *wide_field };
static const hr_schema wide_schema = {.fields = WIDE_FIELDS - 1, .field = wide_field};
static const hr_schema wide_text_schema = {.fields = WIDE_FIELDS, .field = wide_field};

static inline hr_status set_numbers(hr_builder *out, int64_t n)
{
    *(int64_t *)hr_set(out, "small") = n % 100 - 50;
    *(int64_t *)hr_set(out, "middle") = n * n * (n % 2 ? 1 : -1);
    *(int64_t *)hr_set(out, "large") = n < 30 ? n : n << 33;
    *(int32_t *)hr_set(out, "number") = (int32_t)(n < 40 ? -n : n * 30000);
    *(float *)hr_set(out, "share") = (float)n / 7;
    *(uint8_t *)hr_set(out, "flag") = (uint8_t)n;
    for (int i = 0; i < 3; i++) ((float *)hr_set(out, "vector"))[i] = (float)(n + i);
    for (int i = 0; i < 2; i++) ((int64_t *)hr_set(out, "places"))[i] = 200 * i - n;
    return HR_OK;
}

static inline hr_status make_wide(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const int64_t n = *(const int64_t *)hr_get(in, "value")->data, count = n < 20 ? n % 2 : n % 4;
    int64_t *list = hr_set_count(out, "list", count), *one = hr_set_count(out, "one", 1);
    if (!list || !one) return HR_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < count; i++) list[i] = n * 100 + i;
    *one = n;
    return set_numbers(out, n);
}

static inline hr_status make_wide_text(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    char text[32];
    const int64_t n = *(const int64_t *)hr_get(in, "value")->data;
    const int size = snprintf(text, sizeof text, "%.*s%lld", (int)(n % 20), "abcdefghijklmnopqrstuvwxyz", (long long)n);
    const hr_status st = hr_set_string(out, "text", text, n % 7 == 0 ? 0 : size);
    return st == HR_OK ? make_wide(in, out, call, user) : st;
}

static inline hr_dataset *wide_rows(hr_dataset *numbers)
{
    return hr_map(numbers, make_wide, NULL, .output = &wide_schema);
}

static inline hr_dataset *wide_text_rows(hr_dataset *numbers)
{
    return hr_map(numbers, make_wide_text, NULL, .output = &wide_text_schema);
}

#endif
