/* Whole numbers in few bytes, alone and in packed rows, and packed rows that say what cannot be. */
#include "data/rows/narrow.h"
#include "data/rows/packed.h"
#include "tests/testing.h"
#include <string.h>

enum { ROWS = 70, CASES = 8 };

static const int64_t edge[CASES] = {127, -128, 128, -129, 32767, 32768, INT32_MIN, INT64_C(1) << 31};
static const int width_64[CASES] = {1, 1, 2, 2, 2, 4, 4, 8};

static void numbers_take_as_few_bytes_as_the_largest_needs(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const int64_t wide[4] = {0, -1, edge[i], 1};
        const int32_t half[4] = {0, -1, (int32_t)(edge[i] % INT32_MAX), 1};
        int64_t back_64[4];
        int32_t back_32[4];
        char bytes[32];
        assert_int_equal(hr__narrow_width(HR_INT64, wide, 4), width_64[i]);
        hr__narrow(wide, 8, width_64[i], 4, bytes);
        hr__widen(bytes, width_64[i], 8, 4, back_64);
        assert_memory_equal(wide, back_64, sizeof wide);
        const int width = hr__narrow_width(HR_INT32, half, 4);
        assert_in_range(width, 1, 4);
        hr__narrow(half, 4, width, 4, bytes);
        hr__widen(bytes, width, 4, 4, back_32);
        assert_memory_equal(half, back_32, sizeof half);
    }
    assert_int_equal(hr__narrow_width(HR_FLOAT, edge, 1), 4);
}

/* ---- packed ---- */

static const hr_field field = {.name = "id", .dtype = HR_INT64};
static const hr_schema schema = {.fields = 1, .field = &field};

static hr__packed pack(int64_t largest)
{
    static int64_t value[ROWS];
    hr__packed packed;
    hr_error err;
    for (int64_t r = 0; r < ROWS; r++) value[r] = largest - r;
    hr_column column = {.values = value};
    const hr_columns rows = {.schema = &schema, .elements = ROWS, .rows = ROWS, .column = &column};
    assert_ok(hr__pack(&rows, false, &packed, &err), &err);
    return packed;
}

static void packed_rows_are_as_long_as_their_numbers_need(void **state)
{
    (void)state;
    static const int64_t largest[] = {100, 1000, 100000, INT64_C(1) << 40};
    for (int i = 0; i < 4; i++) {
        hr__packed packed = pack(largest[i]);
        int64_t got[ROWS];
        assert_int_equal(packed.column[0].width, 1 << i);
        assert_in_range(packed.size, ROWS << i, (ROWS << i) + 64);
        hr__widen(packed.column[0].values, packed.column[0].width, 8, ROWS, got);
        for (int64_t r = 0; r < ROWS; r++) assert_int_equal(got[r], largest[i] - r);
        hr__packed_clear(&packed);
    }
}

/* The width is the second byte of the column's flags, after the head of 24 bytes and the depth of splits. */
static void packed_rows_of_a_width_that_cannot_be_are_refused(void **state)
{
    (void)state;
    hr__packed packed = pack(100), again;
    hr__packed_column column;
    hr_error err;
    _Alignas(8) char bytes[1024];
    assert_at_most(packed.size, sizeof bytes);
    for (int width = 0; width < 16; width++) {
        memcpy(bytes, packed.bytes, packed.size);
        bytes[29] = (char)width;
        const hr_status st = hr__packed_open(bytes, packed.size, &schema, &column, &again, &err);
        assert_int_equal(st, width == 1 ? HR_OK : HR_DATA_LOSS);
    }
    hr__packed_clear(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_take_as_few_bytes_as_the_largest_needs),
        cmocka_unit_test(packed_rows_are_as_long_as_their_numbers_need),
        cmocka_unit_test(packed_rows_of_a_width_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
