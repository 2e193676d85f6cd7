/* The quick numbers of CSV against the C library's, which rounds correctly: equal wherever they say anything. */
#include "io/csv_number.h"
#include "tests/testing.h"
#include <headrace/base.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 400000 };

/* Digits, perhaps a sign, a point, something else; 64 readable bytes behind. */
static size_t random_number(uint64_t key, char text[128])
{
    static const char bytes[] = "0123456789012345678901234567890123456789..-e +x";
    memset(text, '7', 128);
    size_t size = 0, digits = 1 + (size_t)hr_random_below(key, 0, 18);
    const bool odd = hr_random_below(key, 1, 8) == 0;
    if (hr_random_below(key, 2, 3) == 0) text[size++] = '-';
    const size_t point = (size_t)hr_random_below(key, 3, 20);
    for (size_t i = 0; i < digits; i++) {
        if (i == point) text[size++] = '.';
        const size_t kinds = odd ? sizeof bytes - 1 : 10;
        text[size++] = bytes[hr_random_below(key, 4 + i, (int64_t)kinds)];
    }
    return size;
}

static void quick_numbers_are_those_of_the_c_library(void **state)
{
    (void)state;
    int integers = 0, floats = 0, narrow = 0;
    for (uint64_t key = 0; key < TEXTS; key++) {
        char text[128], whole[128], *end;
        const size_t size = random_number(key, text);
        int64_t i;
        int32_t small;
        double d;
        float f;
        memcpy(whole, text, size);
        whole[size] = '\0';
        if (hr__quick_int64(text, size, &i)) {
            assert_int_equal(i, strtoll(whole, &end, 10));
            assert_ptr_equal(end, whole + size);
            integers++;
        }
        if (hr__quick_int32(text, size, &small)) assert_int_equal(small, strtoll(whole, &end, 10));
        if (hr__quick_double(text, size, &d)) {
            const double want = strtod(whole, &end);
            assert_memory_equal(&d, &want, sizeof d);
            assert_ptr_equal(end, whole + size);
            floats++;
        }
        if (hr__quick_float(text, size, &f)) {
            const float want = strtof(whole, NULL);
            assert_memory_equal(&f, &want, sizeof f);
            narrow++;
        }
    }
    assert_true(integers > TEXTS / 8 && floats > TEXTS / 3 && narrow > TEXTS / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quick_numbers_are_those_of_the_c_library)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
