/* The quick numbers of CSV against the C library's, which rounds correctly: equal wherever they say anything. Columns
 * of integers the same on every processor. */
#include "base/cpu.h"
#include "io/csv/csv.h"
#include "io/csv/csv_number.h"
#include "tests/testing.h"
#include <headrace/base.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 400000 };

/* Digits, perhaps a sign, a point, something else; 64 readable bytes after it. */
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
    assert_more(integers, TEXTS / 8);
    assert_more(floats, TEXTS / 3);
    assert_more(narrow, TEXTS / 3);
}

enum { FIELDS = 1000, FAR_AWAY = 0x7fffffff };

/* A column of its own file: fields between commas. The last one is empty and lies where no memory is. */
typedef struct column {
    char data[FIELDS * 20 + 64];
    uint32_t token[FIELDS + 3], first[FIELDS];
} column;

static void make_column(uint64_t key, column *c)
{
    static const char bytes[] = "01234567890123456789-+. ,x/:";
    uint32_t size = 0;
    c->token[0] = UINT32_MAX; /* the one before the first byte */
    for (uint32_t r = 0; r < FIELDS; r++) {
        const uint64_t of_field = hr_random(key, r);
        const int64_t digits = hr_random_below(of_field, 0, 11), odd = hr_random_below(of_field, 1, 4);
        for (int64_t i = 0; i < digits; i++) {
            const int64_t kinds = odd == 0 ? (int64_t)sizeof bytes - 1 : 10;
            c->data[size++] = bytes[hr_random_below(of_field, (uint64_t)i + 2, kinds)];
        }
        c->first[r] = r;
        c->token[r + 1] = size;
        c->data[size++] = ',';
    }
    memset(c->data + size, '7', 64);
    c->token[FIELDS + 1] = FAR_AWAY;
    c->token[FIELDS + 2] = FAR_AWAY + 1u;
    c->first[FIELDS - 1] = FIELDS + 1;
}

static bool is_plain(const char *text, uint32_t size)
{
    return size >= 1 && size <= 8 && strspn(text, "0123456789") >= size;
}

static void assert_integers(const column *c, int64_t rows, const int64_t *empty, unsigned features)
{
    int64_t out[FIELDS];
    uint64_t plain[(FIELDS + 63) / 64];
    const hr__csv_fields fields = {c->data, c->token, c->first, rows};
    hr__cpu_limit(features);
    hr__csv_put_integers(&fields, empty, out, plain);
    hr__cpu_limit(~0u);
    for (int64_t r = 0; r < rows; r++) {
        const uint32_t begin = c->token[c->first[r]] + 1, size = c->token[c->first[r] + 1] - begin;
        const bool expected = size == 0 ? empty != NULL : is_plain(c->data + begin, size);
        assert_int_equal(plain[r / 64] >> r % 64 & 1, expected);
        if (expected) assert_int_equal(out[r], size == 0 ? *empty : strtoll(c->data + begin, NULL, 10));
    }
}

static void columns_of_integers_are_the_same_on_every_processor(void **state)
{
    (void)state;
    static column c;
    static const int64_t minus = -5;
    for (uint64_t key = 0; key < 20; key++) {
        make_column(key, &c);
        for (int64_t rows = FIELDS; rows > FIELDS - 9; rows--) {
            assert_integers(&c, rows, &minus, 0);
            assert_integers(&c, rows, &minus, ~0u);
            assert_integers(&c, rows, NULL, 0);
            assert_integers(&c, rows, NULL, ~0u);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_numbers_are_those_of_the_c_library),
        cmocka_unit_test(columns_of_integers_are_the_same_on_every_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
