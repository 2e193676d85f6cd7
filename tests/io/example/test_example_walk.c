/* Any Example or SequenceExample without a spec: by protobuf's rules, whatever its writer did. */
#include "io/example/example_walk.h"
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

/* ---- in blocks ---- */

enum { LONG = 70000, MIDDLE = 20000 };

/* Values of a record, by blocks, are those of the whole vector; strings are the same places of the record. */
static void same_values(const hr__values *values, const hr_tensor *whole)
{
    const size_t width = hr_dtype_size(whole->dtype);
    hr__blocks blocks;
    int64_t at = 0;
    assert_int_equal(values->dtype, whole->dtype);
    assert_int_equal(values->count, whole->count);
    hr__blocks_begin(&blocks, values);
    for (const hr__values *b; (b = hr__blocks_next(&blocks)); at += b->count) {
        assert_int_equal(b->dtype, whole->dtype);
        assert_less(at + b->count, whole->count + 1);
        if (!values->data) assert_less(b->count, HR__VALUES_BLOCK + 1);
        assert_memory_equal(b->data, (const char *)whole->data + (size_t)at * width, (size_t)b->count * width);
    }
    assert_int_equal(at, whole->count);
}

/* Gives how many vectors are not stored. */
static int same_contents(hr_view record)
{
    hr_example_walk *parts = hr_example_walk_new(), *whole = hr_example_walk_new();
    hr__walk_contents found;
    hr_example_contents want;
    hr_error err;
    int in_blocks = 0;
    assert_ok(hr__example_walk_record(parts, record, &found, &err), &err);
    assert_ok(hr_example_walk_record(whole, record, &want, &err), &err);
    assert_int_equal(found.features, want.features);
    assert_int_equal(found.lists, want.lists);
    for (int64_t i = 0; i < want.features; i++) {
        in_blocks += !found.feature[i].values.data;
        same_values(&found.feature[i].values, &want.feature[i].values);
    }
    for (int64_t i = 0; i < want.lists; i++)
        for (int64_t s = 0; s < want.list[i].steps; s++) {
            in_blocks += !found.list[i].step[s].data;
            same_values(&found.list[i].step[s], &want.list[i].step[s]);
        }
    hr_example_walk_free(parts);
    hr_example_walk_free(whole);
    return in_blocks;
}

static int64_t number_at(int64_t i) { return i % 3 ? i * i * i : -i; }

static void long_vectors_are_read_in_blocks(void **state)
{
    (void)state;
    static int64_t whole[LONG];
    static float real[LONG];
    static hr_view word[LONG];
    for (int64_t i = 0; i < LONG; i++) {
        whole[i] = number_at(i);
        real[i] = 0.5f * (float)i;
        word[i] = (hr_view){"0123456789abcdef", i % 17};
    }
    hr_example *e = hr_sequence_example_new();
    hr_view record;
    hr_error err;
    const hr_tensor steps[] = {
        hr_tensor_of(HR_INT64, HR_SHAPE(MIDDLE), whole), hr_tensor_of(HR_INT64, HR_SHAPE(MIDDLE), whole + 1),
        hr_tensor_of(HR_FLOAT, HR_SHAPE(LONG), real), hr_tensor_of(HR_STRING, HR_SHAPE(3), word)};
    hr_example_add_int64(e, "a", whole, 2);
    hr_example_add_int64(e, "b", whole, LONG);
    hr_example_add_float(e, "c", real, LONG);
    hr_example_add_bytes(e, "d", word, LONG);
    hr_example_add_float(e, "e", real, 0);
    hr_example_add_list(e, (hr_view){"f", 1}, steps, 4);
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    assert_int_equal(same_contents(record), 5); /* of two middle ones, one has no room */
    hr_example_free(e);
}

/* An entry of the map whose value stands twice: once unpacked, once in packed lists of 100. */
static void any_encoding_is_read_in_blocks(void **state)
{
    (void)state;
    static char list[LONG * 12], feature[LONG * 24], entry[LONG * 48], bytes[LONG * 48];
    char *l = list, *f = feature, *e = entry, *b = bytes;
    for (int64_t i = 0; i < LONG; i++) {
        *l++ = 1 << 3;
        l = hr__put_varint(l, (uint64_t)number_at(i));
    }
    f = hr__put_head(f, HR__TAG_3, (uint64_t)(l - list));
    memcpy(f, list, (size_t)(l - list));
    f += l - list;
    const size_t one = (size_t)(f - feature);
    for (int64_t i = 0; i < LONG; i += 100) {
        l = list;
        for (int64_t k = i; k < i + 100; k++) l = hr__put_varint(l, (uint64_t)number_at(k));
        f = hr__put_head(f, HR__TAG_3, hr__headed((size_t)(l - list)));
        f = hr__put_head(f, HR__TAG_1, (uint64_t)(l - list));
        memcpy(f, list, (size_t)(l - list));
        f += l - list;
    }
    const size_t size[] = {one, (size_t)(f - feature) - one};
    e = hr__put_head(e, HR__TAG_1, 1);
    *e++ = 'x';
    for (int i = 0; i < 2; i++) {
        e = hr__put_head(e, HR__TAG_2, size[i]);
        memcpy(e, i ? feature + one : feature, size[i]);
        e += size[i];
    }
    b = hr__put_head(b, HR__TAG_1, hr__headed((size_t)(e - entry)));
    b = hr__put_head(b, HR__TAG_1, (uint64_t)(e - entry));
    memcpy(b, entry, (size_t)(e - entry));
    const hr_view record = {bytes, b + (e - entry) - bytes};
    assert_int_equal(same_contents(record), 1);

    hr_example_walk *walk = hr_example_walk_new();
    hr_example *parts = hr_example_new(), *whole = hr_example_new();
    hr__walk_contents found;
    hr_example_contents c;
    hr_view x, y;
    hr_error err;
    assert_ok(hr__example_walk_record(walk, record, &found, &err), &err);
    assert_int_equal(found.feature[0].values.count, 2 * LONG);
    hr__example_add_values(parts, found.feature[0].key, &found.feature[0].values);
    assert_ok(hr_example_bytes(parts, &x, &err), &err);
    assert_ok(hr_example_walk_record(walk, record, &c, &err), &err);
    assert_int_equal(((const int64_t *)c.feature[0].values.data)[2 * LONG - 1], number_at(LONG - 1));
    hr_example_add(whole, c.feature[0].key, &c.feature[0].values);
    assert_ok(hr_example_bytes(whole, &y, &err), &err);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, (size_t)x.size);
    hr_example_walk_free(walk);
    hr_example_free(parts);
    hr_example_free(whole);
}

static void an_outline_has_kinds_and_counts_alone(void **state)
{
    (void)state;
    hr_example_walk *walk = hr_example_walk_new();
    hr_example_contents c;
    hr_error err;
    char room[64];
    assert_ok(hr_example_walk_outline(walk, bytes_of("0a0c0a0a0a016112051a030a0105", room), &c, &err), &err);
    assert_int_equal(c.features, 1);
    assert_memory_equal(c.feature[0].key.data, "a", 1);
    assert_int_equal(c.feature[0].values.dtype, HR_INT64);
    assert_int_equal(c.feature[0].values.count, 1);
    assert_null(c.feature[0].values.data);
    assert_status(hr_example_walk_outline(walk, bytes_of("0a0c0a0a0a016112051a030a0185", room), &c, &err),
                  HR_INVALID_ARGUMENT);
    hr_example_walk_free(walk);
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
        cmocka_unit_test(long_vectors_are_read_in_blocks),
        cmocka_unit_test(any_encoding_is_read_in_blocks),
        cmocka_unit_test(an_outline_has_kinds_and_counts_alone),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
