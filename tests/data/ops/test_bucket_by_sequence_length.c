/* bucket_by_sequence_length: what each bucket holds and is padded to, and the conformance of a pipeline with it. */
#include "tests/data/ops/vectors.h"

static int64_t length(const hr_element *e, void *user)
{
    (void)user;
    return hr_get_at(e, 0)->count;
}

static hr_dataset *buckets(hr_dataset *in, bool to_boundary)
{
    return hr_bucket_by_sequence_length(in, length, NULL, HR_I64(2, 5), 2, .batch_sizes = HR_I64(3, 2, 1),
                                        .pad_to_bucket_boundary = to_boundary);
}

HR_SAMPLE(bucket_by_sequence_length) { return hr_shuffle(buckets(vectors(hr_shuffle(hr_range(200), 30)), true), 4); }
HR_SAMPLE(buckets_padded_to_their_longest) { return buckets(vectors(hr_shuffle(hr_range(200), 30)), false); }

static void rows_are_padded_to_their_bucket(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(buckets(vectors(hr_range(4)), true), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    assert_shape(hr_get_at(e, 0)->shape, HR_SHAPE(2, 4));
    assert_memory_equal(hr_get_at(e, 0)->data, HR_I64(2, 2, 0, 0, 3, 3, 3, 0), 8 * sizeof(int64_t));
    assert_status(hr_next(it, &e), HR_OK);
    assert_shape(hr_get_at(e, 0)->shape, HR_SHAPE(2, 1));
    assert_memory_equal(hr_get_at(e, 0)->data, HR_I64(0, 1), 2 * sizeof(int64_t));
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static hr_dataset *with_sizes(const int64_t *boundaries, int count, const int64_t *sizes)
{
    return hr_bucket_by_sequence_length(vectors(hr_range(9)), length, NULL, boundaries, count, .batch_sizes = sizes,
                                        .pad_to_bucket_boundary = true);
}

static void buckets_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    assert_fails(with_sizes(HR_I64(3), 1, HR_I64(1, 1)), HR_INVALID_ARGUMENT, "bucket.too_long");
    assert_fails(with_sizes(HR_I64(3, 3), 2, HR_I64(1, 1, 1)), HR_INVALID_ARGUMENT, "bucket.boundaries");
    assert_fails(with_sizes(HR_I64(3), 1, NULL), HR_INVALID_ARGUMENT, "bucket.boundaries");
    assert_fails(with_sizes(HR_I64(9), 1, HR_I64(0, 1)), HR_INVALID_ARGUMENT, "group_by_window.size");
    assert_fails(hr_bucket_by_sequence_length(vectors(hr_range(9)), length, NULL, HR_I64(9), 1,
                                              .batch_sizes = HR_I64(5, 1), .no_padding = true),
                 HR_INVALID_ARGUMENT, "batch.rows");
    assert_fails(hr_bucket_by_sequence_length(vectors(hr_range(9)), length, NULL, HR_I64(9), 1,
                                              .batch_sizes = HR_I64(5, 1), .no_padding = true,
                                              .pad_to_bucket_boundary = true),
                 HR_INVALID_ARGUMENT, "batch.rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(bucket_by_sequence_length),
        HR_CONFORMANCE(buckets_padded_to_their_longest),
        cmocka_unit_test(rows_are_padded_to_their_bucket),
        cmocka_unit_test(buckets_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
