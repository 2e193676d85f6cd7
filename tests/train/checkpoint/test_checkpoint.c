/* Checkpoints written and read back, in whole or not at all. */
#include "tests/testing.h"
#include <headrace/checkpoint.h>
#include <headrace/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const float weights[] = {1, -2.5f, 3, 4, 5, 6};

static hr_status write_sample(const char *prefix, hr_error *err)
{
    hr_bundle_writer *w;
    hr_tensor kernel = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), weights);
    hr_tensor step = hr_tensor_of(HR_INT64, HR_SCALAR, HR_I64(7));
    const hr_view words[] = {{"ab", 2}, {"", 0}, {"xyz", 3}};
    hr_tensor vocabulary = hr_tensor_of(HR_STRING, HR_SHAPE(3), words);
    HR_TRY(hr_bundle_writer_open(prefix, &w, err));
    hr_status st = hr_bundle_add(w, "z/kernel", &kernel, err);
    if (st == HR_OK) st = hr_bundle_add(w, "global_step", &step, err);
    if (st == HR_OK) st = hr_bundle_add(w, "vocab", &vocabulary, err);
    if (st == HR_OK) return hr_bundle_writer_commit(w, err);
    hr_bundle_writer_discard(w);
    return st;
}

static void checkpoint_gives_back_what_was_written(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle *b;
    hr_tensor t;
    assert_ok(write_sample("m-7", &err), &err);
    assert_ok(hr_bundle_open("m-7", &b, &err), &err);
    assert_int_equal(hr_bundle_shards(b), 1);
    assert_ok(hr_bundle_read(b, "z/kernel", &t, &err), &err);
    assert_memory_equal(t.data, weights, sizeof weights);
    assert_int_equal(t.shape.dims[0], 3);
    hr_tensor_clear(&t);
    assert_ok(hr_bundle_read(b, "vocab", &t, &err), &err);
    const hr_view *word = t.data;
    assert_int_equal(word[2].size, 3);
    assert_memory_equal(word[2].data, "xyz", 3);
    hr_tensor_clear(&t);
    assert_int_equal(hr_bundle_read(b, "absent", &t, &err), HR_NOT_FOUND);
    hr_bundle_free(b);
}

static void parts_of_a_variable_read_as_one(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle_writer *w;
    hr_bundle *b;
    hr_tensor t, top = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), weights),
                 rest = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), weights + 2);
    assert_ok(hr_bundle_writer_open("parts", &w, &err), &err);
    assert_ok(hr_bundle_add_slice(w, "v", HR_SHAPE(3, 2), HR_I64(0, 0), HR_I64(1, -1), &top, &err), &err);
    assert_ok(hr_bundle_add_slice(w, "v", HR_SHAPE(3, 2), HR_I64(1, 0), HR_I64(2, -1), &rest, &err), &err);
    assert_ok(hr_bundle_writer_commit(w, &err), &err);
    assert_ok(hr_bundle_open("parts", &b, &err), &err);
    assert_ok(hr_bundle_read(b, "v", &t, &err), &err);
    assert_memory_equal(t.data, weights, sizeof weights);
    hr_tensor_clear(&t);
    assert_ok(hr_bundle_read_slice(b, "v", "3 2 1,2:1,1", &t, &err), &err);
    assert_true(((float *)t.data)[0] == weights[3] && ((float *)t.data)[1] == weights[5]);
    hr_tensor_clear(&t);
    assert_int_equal(hr_bundle_read_slice(b, "v", "3 2 1,9:1,1", &t, &err), HR_INVALID_ARGUMENT);
    hr_bundle_free(b);
}

/* Every byte of both files, flipped: an error or the same values, never a crash or other values. */
static void no_flipped_byte_goes_unseen(void **state)
{
    (void)state;
    static const char *const file[] = {"f.index", "f.data-00000-of-00001"};
    hr_error err;
    assert_ok(write_sample("f", &err), &err);
    for (int f = 0; f < 2; f++) {
        size_t size;
        char *bytes = read_whole_file(file[f], &size);
        for (size_t i = 0; i < size; i++) {
            hr_bundle *b;
            hr_tensor t = {0};
            bytes[i] ^= 0x10;
            write_file(file[f], bytes, size);
            hr_status st = hr_bundle_open("f", &b, &err);
            if (st == HR_OK) st = hr_bundle_read(b, "z/kernel", &t, &err);
            if (st == HR_OK) assert_memory_equal(t.data, weights, sizeof weights);
            hr_tensor_clear(&t);
            hr_bundle_free(b);
            bytes[i] ^= 0x10;
        }
        write_file(file[f], bytes, size);
        free(bytes);
    }
}

static void every_refused_allocation_leaves_a_whole_checkpoint_or_none(void **state)
{
    (void)state;
    hr_error err;
    int64_t alive = allocations_alive();
    fail_allocation(INT64_MAX);
    assert_ok(write_sample("a", &err), &err);
    int64_t needed = allocations_since();
    for (int64_t n = 0; n < needed; n++) {
        unlink("a.index");
        fail_allocation(n);
        hr_status st = write_sample("a", &err);
        allocations_since();
        assert_true(st == HR_OK || st == HR_RESOURCE_EXHAUSTED);
        if (access("a.index", F_OK) != 0) continue;
        hr_bundle *b;
        assert_ok(hr_bundle_open("a", &b, &err), &err);
        assert_true(hr_bundle_has(b, "z/kernel"));
        hr_bundle_free(b);
    }
    assert_int_equal(allocations_alive(), alive);
}

static void two_tensors_of_one_name_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle_writer *w;
    hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), weights);
    assert_ok(hr_bundle_writer_open("twice", &w, &err), &err);
    assert_ok(hr_bundle_add(w, "w", &t, &err), &err);
    assert_ok(hr_bundle_add(w, "w", &t, &err), &err);
    assert_int_equal(hr_bundle_writer_commit(w, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "checkpoint.twice");
    assert_int_not_equal(access("twice.index", F_OK), 0);
    assert_int_not_equal(access("twice.data-00000-of-00001", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoint_gives_back_what_was_written),
        cmocka_unit_test(parts_of_a_variable_read_as_one),
        cmocka_unit_test(no_flipped_byte_goes_unseen),
        cmocka_unit_test(every_refused_allocation_leaves_a_whole_checkpoint_or_none),
        cmocka_unit_test(two_tensors_of_one_name_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
