/* Any Example or SequenceExample without a spec: by protobuf's rules, whatever its writer did. */
#include "tests/testing.h"
#include <headrace/examples.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hr_view bytes_of(const char *hex, char *room)
{
    const size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        room[i] = (char)byte;
    }
    return (hr_view){room, (int64_t)size};
}

static void encodings_of_one_meaning_are_read_alike(void **state)
{
    (void)state;
    static const char *const fives[] = {
        "0a0c0a0a0a016112051a030a0105",                         /* packed */
        "0a0b0a090a016112041a020805",                           /* unpacked */
        "0a0c0a0a12051a030a01050a0161",                         /* the value before the key */
        "0a180a0a0a016112051a030a01010a0a0a016112051a030a0105", /* the key twice: the last one counts */
        "0a110a0f0a0161120a0a030a01781a030a0105",               /* two kinds: the last one counts */
        "1a01000a0c0a0a0a016112051a030a0105",                   /* an unknown field in front */
    };
    hr_example_walk *walk = hr_example_walk_new();
    hr_example_contents c;
    hr_error err;
    char room[64];
    for (size_t i = 0; i < sizeof fives / sizeof *fives; i++) {
        assert_ok(hr_example_walk_record(walk, bytes_of(fives[i], room), &c, &err), &err);
        assert_int_equal(c.features, 1);
        assert_int_equal(c.lists, 0);
        assert_true(c.has_features);
        assert_false(c.has_lists);
        assert_int_equal(c.feature[0].key.size, 1);
        assert_int_equal(c.feature[0].values.dtype, HR_INT64);
        assert_int_equal(c.feature[0].values.count, 1);
        assert_int_equal(((const int64_t *)c.feature[0].values.data)[0], 5);
    }
    assert_ok(hr_example_walk_record(walk, bytes_of("", room), &c, &err), &err);
    assert_false(c.has_features);
    assert_ok(hr_example_walk_record(walk, bytes_of("0a070a050a01611200", room), &c, &err), &err);
    assert_int_equal(c.feature[0].values.dtype, HR_INVALID_DTYPE);
    assert_ok(hr_example_walk_record(walk, bytes_of("0a090a070a016112021a00", room), &c, &err), &err);
    assert_int_equal(c.feature[0].values.dtype, HR_INT64);
    assert_int_equal(c.feature[0].values.count, 0);
    hr_example_walk_free(walk);
}

/* A message that stands twice where it may stand once is joined. */
static void values_of_one_entry_are_joined(void **state)
{
    (void)state;
    static const char *const both[] = {
        "0a130a110a016112051a030a010112051a030a0105",           /* twice the same kind */
        "0a150a130a016112051a030a0101120012051a030a0105",       /* a Feature without a kind between them */
        "0a180a160a0161120a0a030a01781a030a010112051a030a0105", /* another kind in front */
    };
    hr_example_walk *walk = hr_example_walk_new();
    hr_example_contents c;
    hr_error err;
    char room[64];
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        assert_ok(hr_example_walk_record(walk, bytes_of(both[i], room), &c, &err), &err);
        const int64_t *value = c.feature[0].values.data;
        assert_int_equal(c.feature[0].values.count, 2);
        assert_int_equal(value[0], 1);
        assert_int_equal(value[1], 5);
    }
    const hr_view lists = bytes_of("121a0a180a017712070a051a030a0101120a0a061a040a0205060a00", room);
    assert_ok(hr_example_walk_record(walk, lists, &c, &err), &err);
    assert_int_equal(c.list[0].steps, 3);
    assert_int_equal(c.list[0].step[1].count, 2);
    hr_example_walk_free(walk);
}

static void what_a_later_entry_replaces_must_be_sound(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "0a180a0a0a016112051a030a01800a0a0a016112051a030a0105",
        "12130a0c0a017712070a051a030a01800a030a0177",
    };
    hr_example_walk *walk = hr_example_walk_new();
    hr_example_contents c;
    hr_error err;
    char room[64];
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_status(hr_example_walk_record(walk, bytes_of(broken[i], room), &c, &err), HR_INVALID_ARGUMENT);
    hr_example_walk_free(walk);
}

static void steps_of_lists_are_vectors_each(void **state)
{
    (void)state;
    const hr_tensor steps[] = {hr_tensor_of(HR_STRING, HR_SHAPE(2), ((hr_view[]){{"a", 1}, {"", 0}})),
                               hr_tensor_of(HR_FLOAT, HR_SHAPE(0), NULL),
                               hr_tensor_of(HR_FLOAT, HR_SHAPE(1), (float[]){2.5f})};
    hr_example *e = hr_sequence_example_new();
    hr_example_walk *walk = hr_example_walk_new();
    hr_example_contents c;
    hr_view record;
    hr_error err;
    hr_example_add_int64(e, "c", (int64_t[]){-1}, 1);
    hr_example_add_list(e, (hr_view){"a", 1}, steps, 0);
    hr_example_add_list(e, (hr_view){"w", 1}, steps, 3);
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    assert_ok(hr_example_walk_record(walk, record, &c, &err), &err);
    assert_true(c.has_features);
    assert_true(c.has_lists);
    assert_int_equal(((const int64_t *)c.feature[0].values.data)[0], -1);
    assert_int_equal(c.lists, 2);
    assert_int_equal(c.list[0].steps, 0);
    assert_int_equal(c.list[1].steps, 3);
    assert_memory_equal(c.list[1].key.data, "w", 1);
    assert_int_equal(((const hr_view *)c.list[1].step[0].data)[1].size, 0);
    assert_int_equal(c.list[1].step[1].count, 0);
    assert_exactly(((const float *)c.list[1].step[2].data)[0], 2.5f);
    hr_example_walk_free(walk);
    hr_example_free(e);
}

static void many_keys_are_each_found_once(void **state)
{
    (void)state;
    enum { KEYS = 5000 };
    hr_example *e = hr_example_new();
    hr_example_walk *walk = hr_example_walk_new();
    hr_example_contents c;
    hr_view record;
    hr_error err;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%06d", i);
        hr_example_add_int64(e, key, (int64_t[]){i}, 1);
    }
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    char *twice = malloc(2 * (size_t)record.size); /* two Examples one after the other are one that merges them */
    memcpy(twice, record.data, (size_t)record.size);
    memcpy(twice + record.size, record.data, (size_t)record.size);
    assert_ok(hr_example_walk_record(walk, (hr_view){twice, 2 * record.size}, &c, &err), &err);
    assert_int_equal(c.features, KEYS);
    for (int i = 0; i < KEYS; i++) assert_int_equal(((const int64_t *)c.feature[i].values.data)[0], i);
    free(twice);
    hr_example_walk_free(walk);
    hr_example_free(e);
}

static void every_cut_is_refused_or_reads_as_less(void **state)
{
    (void)state;
    hr_example *e = hr_sequence_example_new();
    hr_example_walk *walk = hr_example_walk_new();
    hr_example_contents c;
    hr_view record;
    hr_error err;
    const hr_tensor step = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), ((float[]){1, 2}));
    hr_example_add_bytes(e, "b", (hr_view[]){{"xyz", 3}}, 1);
    hr_example_add_list(e, (hr_view){"w", 1}, &step, 1);
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    for (int64_t size = 1; size < record.size; size++) {
        char *cut = malloc((size_t)size); /* so that a read beyond it is seen */
        memcpy(cut, record.data, (size_t)size);
        hr_status st = hr_example_walk_record(walk, (hr_view){cut, size}, &c, &err);
        if (st != HR_OK) assert_string_equal(err.kind, "example.wire");
        if (st == HR_OK) {
            assert_int_equal(c.features, 1);
            assert_false(c.has_lists);
        }
        free(cut);
    }
    hr_example_walk_free(walk);
    hr_example_free(e);
}

static void a_lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    const int64_t alive = allocations_alive();
    hr_status st = HR_RESOURCE_EXHAUSTED;
    char room[64];
    const hr_view record = bytes_of("0a0c0a0a0a016112051a030a0105", room);
    for (int64_t n = 0; st != HR_OK && n < 20; n++) {
        hr_example_contents c;
        fail_allocation(n);
        hr_example_walk *walk = hr_example_walk_new();
        st = walk ? hr_example_walk_record(walk, record, &c, NULL) : HR_RESOURCE_EXHAUSTED;
        allocations_since();
        hr_example_walk_free(walk);
        assert_int_equal(allocations_alive(), alive);
    }
    assert_status(st, HR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings_of_one_meaning_are_read_alike),
        cmocka_unit_test(values_of_one_entry_are_joined),
        cmocka_unit_test(what_a_later_entry_replaces_must_be_sound),
        cmocka_unit_test(steps_of_lists_are_vectors_each),
        cmocka_unit_test(many_keys_are_each_found_once),
        cmocka_unit_test(every_cut_is_refused_or_reads_as_less),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
