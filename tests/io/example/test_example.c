/* The Example builder: its bytes against ones made by hand, its behaviour when memory runs out. */
#include "tests/testing.h"
#include <headrace/io.h>
#include <stdio.h>
#include <string.h>

static void bytes_are(hr_example *example, const char *hex)
{
    hr_view got;
    hr_error err;
    assert_ok(hr_example_bytes(example, &got, &err), &err);
    char text[512] = "";
    for (int64_t i = 0; i < got.size; i++) sprintf(text + 2 * i, "%02x", (unsigned char)got.data[i]);
    assert_string_equal(text, hex);
}

static void builder_writes_known_bytes(void **state)
{
    (void)state;
    hr_example *e = hr_example_new();
    bytes_are(e, "");
    hr_example_set_present(e, true, false);
    bytes_are(e, "0a00");
    hr_example_clear(e);
    hr_example_add_int64(e, "a", (int64_t[]){-1}, 1);
    bytes_are(e, "0a150a130a0161120e1a0c0a0affffffffffffffffff01");
    hr_example_clear(e);
    hr_example_add_float(e, "a", (float[]){1.5f}, 1);
    bytes_are(e, "0a0f0a0d0a0161120812060a040000c03f");
    hr_example_clear(e);
    hr_example_add_bytes(e, "a", (hr_view[]){{"x", 1}, {"", 0}}, 2);
    bytes_are(e, "0a0e0a0c0a016112070a050a01780a00");
    hr_example_clear(e);
    hr_example_add_int64(e, "a", NULL, 0);
    bytes_are(e, "0a090a070a016112021a00");
    hr_example_free(e);
}

static void features_are_sorted_by_key_and_the_last_of_equal_keys_counts(void **state)
{
    (void)state;
    hr_example *e = hr_example_new();
    hr_example_add_int64(e, "b", (int64_t[]){1}, 1);
    hr_example_add_int64(e, "a", (int64_t[]){5}, 1);
    hr_example_add_int64(e, "b", (int64_t[]){2}, 1);
    const char *expected = "0a180a0a0a016112051a030a01050a0a0a016212051a030a0102";
    bytes_are(e, expected);
    bytes_are(e, expected);
    hr_example_add_int64(e, "a", (int64_t[]){6}, 1);
    bytes_are(e, "0a180a0a0a016112051a030a01060a0a0a016212051a030a0102");
    hr_example_free(e);
}

/* Keys in an order that is far from sorted: sorting them by insertion moved gigabytes. */
static void many_features_in_any_order_are_sorted(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    hr_view got, again;
    hr_error err;
    hr_example *e = hr_example_new(), *sorted = hr_example_new();
    for (int64_t i = 0; i < MANY; i++) {
        char key[16];
        const int64_t number = i * 7919 % MANY;
        snprintf(key, sizeof key, "c%06d", (int)number);
        hr_example_add_int64(e, key, &number, 1);
        snprintf(key, sizeof key, "c%06d", (int)i);
        hr_example_add_int64(sorted, key, &i, 1);
    }
    assert_ok(hr_example_bytes(e, &got, &err), &err);
    assert_ok(hr_example_bytes(sorted, &again, &err), &err);
    assert_int_equal(got.size, again.size);
    assert_memory_equal(got.data, again.data, (size_t)got.size);
    hr_example_free(e);
    hr_example_free(sorted);
}

static void other_dtypes_and_lists_in_an_example_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_view got;
    hr_example *e = hr_example_new();
    hr_tensor feature = hr_tensor_of(HR_DOUBLE, HR_SHAPE(1), (double[]){1});
    hr_example_add(e, (hr_view){"a", 1}, &feature);
    assert_status(hr_example_bytes(e, &got, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "example.feature");
    hr_example_clear(e);
    bytes_are(e, "");
    hr_example_add_list(e, (hr_view){"a", 1}, NULL, 0);
    assert_status(hr_example_bytes(e, &got, &err), HR_INVALID_ARGUMENT);
    hr_example_free(e);
}

static void a_lack_of_memory_sticks_and_leaks_nothing(void **state)
{
    (void)state;
    int64_t alive = allocations_alive();
    for (int64_t n = 0; n < 8; n++) {
        hr_error err;
        hr_view got;
        fail_allocation(n);
        hr_example *e = hr_example_new();
        if (e) {
            hr_example_add_int64(e, "b", (int64_t[]){1}, 1);
            hr_example_add_int64(e, "a", (int64_t[]){1}, 1);
            hr_status st = hr_example_bytes(e, &got, &err);
            if (n < 5) assert_status(st, HR_RESOURCE_EXHAUSTED);
        }
        allocations_since();
        hr_example_free(e);
        assert_int_equal(allocations_alive(), alive);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builder_writes_known_bytes),
        cmocka_unit_test(features_are_sorted_by_key_and_the_last_of_equal_keys_counts),
        cmocka_unit_test(many_features_in_any_order_are_sorted),
        cmocka_unit_test(other_dtypes_and_lists_in_an_example_are_refused),
        cmocka_unit_test(a_lack_of_memory_sticks_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
