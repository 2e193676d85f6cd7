/* Numbers from text and back. Oracles: strtod and strtof, which the C library rounds correctly. */
#include "base/number.h"
#include "tests/testing.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOTH = -1 };

/* `expected` NULL: no number, in this grammar, or in both. */
static void assert_double(const char *text, int grammar, const char *expected)
{
    for (int g = 0; g < 2; g++) {
        double got = 7;
        if (grammar != BOTH && grammar != g) continue;
        hr__parsed parsed = hr__parse_double(text, strlen(text), (hr__grammar)g, &got);
        if (!expected) {
            if (parsed != HR__NO_NUMBER) fail_msg("'%s' is no number", text);
            continue;
        }
        double want = strtod(expected, NULL);
        if (parsed != HR__PARSED || (memcmp(&got, &want, sizeof got) != 0 && !(isnan(got) && isnan(want))))
            fail_msg("'%s' gives %a, not %a", text, got, want);
    }
}

static void floats_have_the_forms_of_both_grammars(void **state)
{
    (void)state;
    static const char *const good[] = {"0",    "-0",    "+1",    "1.",     ".5",     "-.5",
                                       "1e3",  "1E+05", "1.e5",  "007.5",  "-inf",   "INF",
                                       "1e-5", "nan",   "1e400", "-1e400", "1e-400", "0e99999999999"};
    static const char *const bad[] = {"",     " ",   ".",    "-",    "+-1",   "--1",  "- 1",  "1e",
                                      "1e+",  "e5",  ".e5",  "1..5", "1e5.5", "0x",   "1_0",  "1 0",
                                      "1.5f", "1,5", "nanx", "inff", "infin", "1 e5", "1e 5", "x"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_double(good[i], BOTH, good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_double(bad[i], strcmp(bad[i], " ") == 0 ? HR__NUMBER_DEFAULT : BOTH, NULL);
    assert_double(" \t2.5\v\f", BOTH, "2.5");
    assert_double("0x10", BOTH, "16");
    assert_double("-0X1f", BOTH, "-31");
}

static void the_grammars_differ_where_they_say(void **state)
{
    (void)state;
    static const char *const newer[] = {"infinity",
                                        "-Infinity",
                                        "nan()",
                                        "nan(a_7)",
                                        "0x1p3",
                                        "0X1.8P-2",
                                        "0x.8",
                                        "0x1.fffffffffffffffp0",
                                        "0x1.00000000000008p0",
                                        "0x1.000000000000080001p0",
                                        "0x0.0000000000001p-1022",
                                        "0x1p99999999999999999999",
                                        "00000000000000000000000000000007",
                                        "3.14159265358979323846264338327950288"};
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
        assert_double(newer[i], HR__NUMBER_DEFAULT, newer[i]);
        assert_double(newer[i], HR__NUMBER_TF_COMPAT, NULL);
    }
    assert_double(" ", HR__NUMBER_TF_COMPAT, "0");
    float f;
    assert_int_equal(hr__parse_float("1e-38", 5, HR__NUMBER_TF_COMPAT, &f), HR__PARSED);
    assert_exactly(f, 0);
    assert_int_equal(hr__parse_float("1e-38", 5, HR__NUMBER_DEFAULT, &f), HR__PARSED);
    assert_exactly(f, 1e-38f);
}

static void integers_are_exact_to_the_ends_of_their_range(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        hr__parsed parsed;
        int64_t value;
    } cases[] = {
        {"0", HR__PARSED, 0},
        {"-0", HR__PARSED, 0},
        {" 12\t", HR__PARSED, 12},
        {"12345678", HR__PARSED, 12345678},
        {"1234567890123456789", HR__PARSED, 1234567890123456789},
        {"9223372036854775807", HR__PARSED, INT64_MAX},
        {"9223372036854775808", HR__OVERFLOW, 0},
        {"-9223372036854775808", HR__PARSED, INT64_MIN},
        {"-9223372036854775809", HR__OVERFLOW, 0},
        {"00000000000000000000000000000007", HR__PARSED, 7},
        {"18446744073709551616", HR__OVERFLOW, 0},
        {"99999999999999999999999", HR__OVERFLOW, 0},
        {"99999999999999999999999x", HR__NO_NUMBER, 0},
        {"", HR__NO_NUMBER, 0},
        {"-", HR__NO_NUMBER, 0},
        {"1.0", HR__NO_NUMBER, 0},
        {"1e3", HR__NO_NUMBER, 0},
        {"0x10", HR__NO_NUMBER, 0},
        {"1 2", HR__NO_NUMBER, 0},
        {"1234567a", HR__NO_NUMBER, 0},
        {"1234567:", HR__NO_NUMBER, 0},
        {"1234567/", HR__NO_NUMBER, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        assert_int_equal(hr__parse_int64(cases[i].text, strlen(cases[i].text), HR__NUMBER_DEFAULT, &value),
                         cases[i].parsed);
        assert_int_equal(value, cases[i].value);
    }
    int32_t small;
    uint64_t natural;
    assert_int_equal(hr__parse_int32("2147483648", 10, HR__NUMBER_DEFAULT, &small), HR__OVERFLOW);
    assert_int_equal(hr__parse_int32("-2147483648", 11, HR__NUMBER_DEFAULT, &small), HR__PARSED);
    assert_int_equal(small, INT32_MIN);
    assert_int_equal(hr__parse_uint64("18446744073709551615", 20, HR__NUMBER_DEFAULT, &natural), HR__PARSED);
    assert_int_equal(natural, UINT64_MAX);
    assert_int_equal(hr__parse_uint64("-1", 2, HR__NUMBER_DEFAULT, &natural), HR__OVERFLOW);
    assert_int_equal(hr__parse_int32("+1", 2, HR__NUMBER_TF_COMPAT, &small), HR__NO_NUMBER);
    assert_int_equal(hr__parse_int32("+1", 2, HR__NUMBER_DEFAULT, &small), HR__PARSED);
}

/* Number i of a series that visits all sizes, digits, and the middles between neighbouring floats. */
static int some_number(uint64_t i, char text[64])
{
    uint64_t r = hr_random(3, i), s = hr_random(4, i);
    double d;
    float f, g;
    memcpy(&d, &r, sizeof d);
    uint32_t bits = (uint32_t)r, next = bits + 1;
    memcpy(&f, &bits, sizeof f);
    memcpy(&g, &next, sizeof g);
    if (i % 4 == 0) d = (double)(int64_t)r / (double)(UINT64_C(1) << s % 64);
    if (i % 4 == 2) d = (double)f;
    if (i % 4 == 3) d = ((double)f + (double)g) / 2;
    if (!isfinite(d)) d = 0.1;
    return snprintf(text, 64, "%.*g", (int)(s >> 32) % 40 + 1, d);
}

static void floats_are_rounded_as_by_the_c_library_and_come_back_from_their_text(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 40000; i++) {
        char text[64], back[HR__NUMBER_TEXT];
        size_t size = (size_t)some_number(i, text);
        double d, wide = strtod(text, NULL);
        float f, narrow = strtof(text, NULL);
        assert_int_equal(hr__parse_double(text, size, HR__NUMBER_DEFAULT, &d), HR__PARSED);
        assert_int_equal(hr__parse_float(text, size, HR__NUMBER_DEFAULT, &f), HR__PARSED);
        if (memcmp(&d, &wide, sizeof d) != 0 || memcmp(&f, &narrow, sizeof f) != 0) fail_msg("%s", text);
        int length = hr__format_double(d, back);
        assert_int_equal(length, strlen(back));
        assert_exactly(strtod(back, NULL), d);
        length = hr__format_float(f, back);
        assert_int_equal(length, strlen(back));
        assert_exactly(strtof(back, NULL), f);
    }
}

/* Of a text as a person or a program writes it: 6 to 10 digits, around powers of two, too. */
static int some_decimal(uint64_t i, char text[64])
{
    const uint64_t r = hr_random(5, i), s = hr_random(6, i);
    const int digits = (int)(s % 6) + 5, decimals = (int)(s >> 8) % (digits + 4);
    double d = (double)(r % 10000000000) / pow(10, decimals);
    if (i % 4 == 1) d = ldexp(1, (int)(s >> 16) % 40 - 16) + (double)((int)(s >> 32) % 9 - 4) * pow(10, -decimals);
    if (i % 4 == 2) d = (double)(float)d;
    return snprintf(text, 64, "%s%.*f", s >> 63 ? "-" : "", decimals, fabs(d));
}

/* The oracle: the shortest text of the float is another number. */
static void a_decimal_rounds_if_the_text_of_its_float_is_another_number(void **state)
{
    (void)state;
    int64_t rounding = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        char text[64], back[HR__NUMBER_TEXT];
        const size_t size = (size_t)some_decimal(i, text);
        hr__format_float(strtof(text, NULL), back);
        const bool rounds = strtod(back, NULL) != strtod(text, NULL);
        if (hr__float_rounds(text, size) != rounds) fail_msg("%s is %s as a float", text, back);
        rounding += rounds;
    }
    assert_in_range(rounding, 10000, 50000);
}

/* 1 + 2^-53 lies in the middle: a single digit far after the point decides. */
static void digits_count_however_many_there_are(void **state)
{
    (void)state;
    char text[4000];
    for (int zeros = 0; zeros < 3000; zeros += 250) {
        int size =
            snprintf(text, sizeof text, "1.00000000000000011102230246251565404236316680908203125%0*d", zeros + 1, 1);
        assert_double(text, HR__NUMBER_DEFAULT, "0x1.0000000000001p0");
        text[size - 1] = '0';
        assert_double(text, HR__NUMBER_DEFAULT, "1");
        size = snprintf(text, sizeof text, "%0*de-%d", 2, 1, zeros);
        assert_double(text, HR__NUMBER_DEFAULT, text);
        size = snprintf(text, sizeof text, "1%0*de-%d", zeros + 1, 0, zeros + 1);
        assert_double(text, HR__NUMBER_DEFAULT, "1");
        size = snprintf(text, sizeof text, "0.%0*de%d", zeros + 1, 5, zeros + 1);
        assert_double(text, HR__NUMBER_DEFAULT, "5");
    }
}

static void texts_are_short_and_plain(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},        {1e30, "1e+30"},           {-0.0, "-0"},
                 {5e-324, "5e-324"},  {123456, "123456"},        {1e15, "1000000000000000"},
                 {1e16, "1e+16"},     {1e-4, "0.0001"},          {1.5e-7, "1.5e-07"},
                 {-2.5, "-2.5"},      {(double)INFINITY, "inf"}, {-(double)INFINITY, "-inf"},
                 {(double)NAN, "nan"}};
    char text[HR__NUMBER_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr__format_double(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
    hr__format_float(0.1f, text);
    assert_string_equal(text, "0.1");
    hr__format_int64(INT64_MIN, text);
    assert_string_equal(text, "-9223372036854775808");
}

static void the_users_locale_changes_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C"};
    for (int i = 0; i < 3; i++) {
        if (!setlocale(LC_NUMERIC, names[i])) continue;
        char text[HR__NUMBER_TEXT];
        double d;
        assert_int_equal(hr__parse_double("0.30000000000000004e-30", 23, HR__NUMBER_DEFAULT, &d), HR__PARSED);
        assert_exactly(d, 0.30000000000000004e-30);
        hr__format_double(0.25, text);
        assert_string_equal(text, "0.25");
    }
    setlocale(LC_NUMERIC, "C");
}

/* A sanitizer sees reads beyond exact blocks. */
static void nothing_beside_the_text_is_read(void **state)
{
    (void)state;
    static const char *const texts[] = {"12345678", "1234567", "0.12345678", "-", "1e",  "0x", "nan",
                                        "nan(",     "inf",     "+",          " ", "1e+", "."};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t size = strlen(texts[i]);
        char *exact = malloc(size);
        assert_non_null(exact);
        memcpy(exact, texts[i], size);
        int64_t integer;
        double d;
        float f;
        for (int g = 0; g < 2; g++) {
            hr__parse_int64(exact, size, (hr__grammar)g, &integer);
            hr__parse_double(exact, size, (hr__grammar)g, &d);
            hr__parse_float(exact, size, (hr__grammar)g, &f);
        }
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_have_the_forms_of_both_grammars),
        cmocka_unit_test(the_grammars_differ_where_they_say),
        cmocka_unit_test(integers_are_exact_to_the_ends_of_their_range),
        cmocka_unit_test(floats_are_rounded_as_by_the_c_library_and_come_back_from_their_text),
        cmocka_unit_test(a_decimal_rounds_if_the_text_of_its_float_is_another_number),
        cmocka_unit_test(digits_count_however_many_there_are),
        cmocka_unit_test(texts_are_short_and_plain),
        cmocka_unit_test(the_users_locale_changes_nothing),
        cmocka_unit_test(nothing_beside_the_text_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
