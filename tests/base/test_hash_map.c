/* The map from strings, and the growing text. */
#include "base/hash_map.h"
#include "base/text.h"
#include "tests/testing.h"
#include <stdio.h>
#include <string.h>

static int make_key(int i, char key[80])
{
    return snprintf(key, 80, i % 2 ? "%d" : "a key beyond sixteen bytes: %d", i);
}

static void what_was_added_is_found_and_nothing_else(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    hr__map map = {0};
    hr_error err;
    char key[80];
    assert_null(hr__map_find(&map, "x", 1));
    for (int i = 0; i < COUNT; i++) {
        int size = make_key(i, key);
        assert_ok(hr__map_add(&map, key, (size_t)size, i * 3, &err), &err);
    }
    assert_int_equal(map.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        int size = make_key(i, key);
        const int64_t *value = hr__map_find(&map, key, (size_t)size);
        assert_non_null(value);
        assert_int_equal(*value, i * 3);
        hr_view kept = hr__map_key(&map, (uint32_t)i);
        assert_int_equal(kept.size, size);
        assert_memory_equal(kept.data, key, (size_t)size);
        size = make_key(i + COUNT, key);
        assert_null(hr__map_find(&map, key, (size_t)size));
    }
    hr__map_free(&map);
}

static void a_second_key_is_told_and_changes_nothing_unless_asked(void **state)
{
    (void)state;
    hr__map map = {0};
    assert_status(hr__map_add(&map, "", 0, 5, NULL), HR_OK);
    assert_status(hr__map_add(&map, "", 0, 6, NULL), HR_ALREADY_EXISTS);
    assert_int_equal(*hr__map_find(&map, NULL, 0), 5);
    assert_status(hr__map_set(&map, "", 0, 7, NULL), HR_OK);
    assert_int_equal(*hr__map_find(&map, "", 0), 7);
    assert_status(hr__map_add(&map, "a\0b", 3, 1, NULL), HR_OK);
    assert_null(hr__map_find(&map, "a", 1));
    assert_int_equal(map.count, 2);
    hr__map_free(&map);
}

static void a_map_without_memory_stays_whole(void **state)
{
    (void)state;
    const int64_t before = allocations_alive();
    int failures = 0;
    hr__map map = {0};
    char key[80];
    for (int i = 0; i < 500; i++) {
        int size = make_key(i, key);
        fail_allocation(0);
        hr_status st = hr__map_add(&map, key, (size_t)size, i, NULL);
        allocations_since();
        if (st == HR_OK) continue;
        failures++;
        assert_status(st, HR_RESOURCE_EXHAUSTED);
        assert_null(hr__map_find(&map, key, (size_t)size));
        assert_status(hr__map_add(&map, key, (size_t)size, i, NULL), HR_OK);
    }
    assert_more(failures, 5);
    assert_int_equal(map.count, 500);
    for (int i = 0; i < 500; i++) {
        int size = make_key(i, key);
        assert_int_equal(*hr__map_find(&map, key, (size_t)size), i);
    }
    hr__map_free(&map);
    assert_int_equal(allocations_alive(), before);
}

static void a_reserved_map_does_not_move(void **state)
{
    (void)state;
    hr__map map = {0};
    assert_status(hr__map_reserve(&map, 1000, NULL), HR_OK);
    const void *entries = map.entries, *slots = map.slots;
    char key[80];
    for (int i = 0; i < 1000; i++) assert_status(hr__map_add(&map, key, (size_t)make_key(i, key), i, NULL), HR_OK);
    assert_ptr_equal(map.entries, entries);
    assert_ptr_equal(map.slots, slots);
    hr__map_free(&map);
}

static void a_text_grows_and_is_always_terminated(void **state)
{
    (void)state;
    hr__text text = {0};
    for (int i = 0; i < 1000; i++) hr__text_printf(&text, "%d,", i);
    hr__text_byte(&text, '!');
    hr__text_bytes(&text, NULL, 0);
    assert_int_equal(text.size, strlen(text.data));
    assert_memory_equal(text.data, "0,1,2,3,", 8);
    assert_string_equal(text.data + text.size - 5, "999,!");
    hr__text_clear(&text);
    hr__text_add(&text, "again");
    char *taken = hr__text_take(&text);
    assert_string_equal(taken, "again");
    hr_free(taken);
    taken = hr__text_take(&text);
    assert_string_equal(taken, "");
    hr_free(taken);
}

static void json_text_is_escaped_and_always_utf8(void **state)
{
    (void)state;
    hr__text text = {0};
    static const char bytes[] = "a\"\\\n\x01\x7f\xc3\xa9\xff\xc0\xaf\xed\xa0\x80\xf0\x9f\x98\x80\xe2\x82";
    hr__text_json(&text, bytes, sizeof bytes - 1);
#define BAD "\xef\xbf\xbd"
    assert_string_equal(text.data,
                        "\"a\\\"\\\\\\n\\u0001\\u007f\xc3\xa9" BAD BAD BAD BAD BAD BAD "\xf0\x9f\x98\x80" BAD BAD "\"");
    hr__text_clear(&text);
    hr__text_json(&text, "a\0b", 3);
    assert_string_equal(text.data, "\"a\\u0000b\"");
    hr__text_clear(&text);
    hr__text_json(&text, "\xc2\x85\xc2\xa0\xe2\x80\xa8\xef\xbb\xbf\xef\xbf\xbe", 13); /* YAML ends lines at some */
    assert_string_equal(text.data, "\"\\u0085\xc2\xa0\\u2028\\ufeff\\ufffe\"");
    hr__text_free(&text);
}

static void a_failure_of_a_text_sticks_until_the_end(void **state)
{
    (void)state;
    const int64_t before = allocations_alive();
    hr__text text = {0};
    hr_error err;
    hr__text_add(&text, "kept");
    fail_allocation(0);
    hr__text_printf(&text, "%200s", "x");
    allocations_since();
    hr__text_add(&text, "lost");
    assert_string_equal(text.data, "kept");
    assert_status(hr__text_status(&text, "a report", &err), HR_RESOURCE_EXHAUSTED);
    assert_string_equal(err.text, "no memory for a report");
    assert_null(hr__text_take(&text));
    assert_int_equal(allocations_alive(), before);
}

/* Keys are compared by words that overlap: every byte of every length must count. */
static void every_byte_of_a_key_counts(void **state)
{
    (void)state;
    hr__map map = {0};
    char key[41];
    memset(key, 'k', sizeof key);
    for (size_t size = 0; size <= 40; size++) {
        assert_status(hr__map_add(&map, key, size, (int64_t)size, NULL), HR_OK);
        const hr__map_entry *e = hr__map_candidate(&map, hr__map_hash(key, size));
        assert_non_null(e);
        assert_true(hr__map_entry_is(e, key, size));
        assert_false(hr__map_entry_is(e, key, size + 1));
        for (size_t i = 0; i < size; i++) {
            key[i] = 'x';
            assert_false(hr__map_entry_is(e, key, size));
            key[i] = 'k';
        }
    }
    assert_null(hr__map_candidate(&map, 12345));
    hr__map_free(&map);
    assert_null(hr__map_candidate(&map, 12345));
}

/* Most maps have few keys, and of those with many, the bytes of keys take hardly more than they are. */
static void long_keys_take_little_more_than_their_bytes(void **state)
{
    (void)state;
    enum { KEYS = 5000, SIZE = 60 };
    hr__map map = {0};
    char key[2000];
    memset(key, 'k', sizeof key);
    watch_memory();
    assert_status(hr__map_add(&map, key, SIZE, 0, NULL), HR_OK);
    assert_at_most(memory_kept(), 3000);
    assert_status(hr__map_reserve(&map, KEYS + 100, NULL), HR_OK);
    watch_memory();
    for (int i = 1; i < KEYS; i++) {
        snprintf(key, SIZE, "%0*d", SIZE - 1, i);
        assert_status(hr__map_add(&map, key, SIZE, i, NULL), HR_OK);
    }
    assert_at_most(memory_kept(), KEYS * SIZE * 6 / 5 + 66000);
    watch_memory();
    fail_allocation(INT64_MAX);
    for (size_t i = 1; i <= 100; i++) assert_status(hr__map_add(&map, key, sizeof key - i, (int64_t)i, NULL), HR_OK);
    assert_at_most(allocations_since(), 10);
    assert_at_most(memory_kept(), 100 * (int64_t)sizeof key * 6 / 5 + 66000);
    hr__map other = {0};
    fail_allocation(INT64_MAX);
    for (size_t i = 1; i <= 100; i++) assert_status(hr__map_add(&other, key, 400 + i, 0, NULL), HR_OK);
    assert_at_most(allocations_since(), 30);
    hr__map_free(&other);
    for (int i = 1; i < KEYS; i++) {
        snprintf(key, SIZE, "%0*d", SIZE - 1, i);
        assert_int_equal(*hr__map_find(&map, key, SIZE), i);
    }
    hr__map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_of_a_key_counts),
        cmocka_unit_test(long_keys_take_little_more_than_their_bytes),
        cmocka_unit_test(what_was_added_is_found_and_nothing_else),
        cmocka_unit_test(a_second_key_is_told_and_changes_nothing_unless_asked),
        cmocka_unit_test(a_map_without_memory_stays_whole),
        cmocka_unit_test(a_reserved_map_does_not_move),
        cmocka_unit_test(a_text_grows_and_is_always_terminated),
        cmocka_unit_test(json_text_is_escaped_and_always_utf8),
        cmocka_unit_test(a_failure_of_a_text_sticks_until_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
