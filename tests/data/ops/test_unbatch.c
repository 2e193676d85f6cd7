/* unbatch: what it takes apart, rebatch, and the conformance of a pipeline with it. */
#include "tests/data/ops/vectors.h"

HR_SAMPLE(unbatch) { return hr_batch(hr_unbatch(hr_batch(hr_shuffle(hr_range(300), 40), 7)), 5); }
HR_SAMPLE(unbatch_of_unbatch)
{
    return hr_shuffle(hr_unbatch(hr_unbatch(hr_batch(hr_batch(hr_range(160), 4), 3))), 20);
}

HR_SAMPLE(unbatch_between_maps)
{
    return hr_map(hr_unbatch(hr_map(hr_batch(hr_map(hr_range(200), draw_digits, NULL), 6), draw_digits, NULL)),
                  draw_digits, NULL);
}

HR_SAMPLE(unbatch_of_padded_rows)
{
    return hr_padded_batch(hr_unbatch(hr_padded_batch(vectors(hr_shuffle(hr_range(90), 20)), 4)), 7);
}

HR_SAMPLE(unbatch_of_rows) { return hr_batch(hr_unbatch(vectors(hr_shuffle(hr_range(90), 20))), 7); }

static void unbatch_makes_the_parts_of_batches_elements(void **state)
{
    (void)state;
    static run apart, never_together;
    run_all(&apart, hr_unbatch(hr_batch(hr_range(7), 3)), (way){.unit_rows = 2});
    run_all(&never_together, hr_range(7), (way){0});
    assert_same_run(&never_together, &apart);
}

static void unbatch_takes_the_outermost_batch_apart(void **state)
{
    (void)state;
    static run once, twice;
    run_all(&twice, hr_unbatch(hr_batch(hr_batch(hr_range(24), 4), 3)), (way){.workers = 2});
    run_all(&once, hr_batch(hr_range(24), 4), (way){0});
    assert_same_run(&once, &twice);
}

static void assert_rows(hr_dataset *ds, const int64_t *widths, const int64_t *values, int rows)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.unit_rows = 3});
    for (int r = 0; r < rows; values += widths[r++]) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(hr_get_at(e, 0)->count, widths[r]);
        assert_memory_equal(hr_get_at(e, 0)->data, values, (size_t)widths[r] * sizeof *values);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

/* Vector n has n values n: the batches are as wide as 2 and 4. */
static void padded_rows_keep_the_width_of_their_batch(void **state)
{
    (void)state;
    const hr_tensor minus = hr_tensor_of(HR_INT64, HR_SCALAR, HR_I64(-1));
    hr_dataset *ds = hr_unbatch(hr_padded_batch(vectors(hr_range(5)), 3, .padding_values = &minus));
    assert_rows(ds, HR_I64(2, 2, 2, 4, 4), HR_I64(-1, -1, 1, -1, 2, 2, 3, 3, 3, -1, 4, 4, 4, 4), 5);
    assert_rows(hr_unbatch(hr_padded_batch(vectors(hr_range(2)), 1)), HR_I64(0, 1), HR_I64(1), 2);
}

static int64_t cardinality_of(hr_dataset *ds)
{
    const int64_t count = hr_cardinality(ds);
    hr_dataset_unref(ds);
    return count;
}

static void cardinality_is_known_where_all_batches_are_full(void **state)
{
    (void)state;
    hr_dataset *full = hr_batch(hr_range(20), 6, .drop_remainder = true), *short_last = hr_batch(hr_range(20), 6);
    assert_int_equal(cardinality_of(hr_unbatch(hr_take(hr_dataset_ref(full), 2))), 12);
    assert_int_equal(cardinality_of(hr_unbatch(hr_repeat(hr_dataset_ref(full)))), HR_INFINITE_CARDINALITY);
    assert_int_equal(cardinality_of(hr_unbatch(hr_batch(full, 2))), HR_UNKNOWN_CARDINALITY);
    assert_int_equal(cardinality_of(hr_unbatch(short_last)), HR_UNKNOWN_CARDINALITY);
    const hr_tensor rows = hr_tensor_of(HR_INT64, HR_SHAPE(2, 3), HR_I64(1, 2, 3, 4, 5, 6));
    assert_int_equal(cardinality_of(hr_unbatch(hr_from_tensor_slices(&rows, NULL, 1))), 6);
}

static void operators_above_count_the_parts(void **state)
{
    (void)state;
    assert_int64_values(hr_take(hr_skip(hr_unbatch(hr_batch(hr_range(20), 6)), 4), 5), HR_I64(4, 5, 6, 7, 8), 5);
}

static void rebatch_makes_batches_of_another_size(void **state)
{
    (void)state;
    static run anew, direct;
    run_all(&anew, hr_rebatch(hr_batch(hr_range(17), 4), 3), (way){.workers = 2, .unit_rows = 5});
    run_all(&direct, hr_batch(hr_range(17), 3), (way){0});
    assert_same_run(&direct, &anew);
    run_all(&anew, hr_rebatch(hr_batch(hr_range(17), 4), 3, .drop_remainder = true), (way){0});
    assert_int_equal(anew.count, 5);
}

HR_SAMPLE(rebatch_by_turns)
{
    hr_dataset *ds = hr_batch(hr_shuffle(hr_range(150), 20), 4);
    return hr_repeat(hr_rebatch(ds, 2, .next_sizes = HR_I64(5, 1), .next_size_count = 2), .count = HR_I64(2));
}

static void sizes_of_batches_may_take_turns(void **state)
{
    (void)state;
    static run got;
    const hr_element *e;
    const int64_t sizes[] = {2, 3, 2, 3, 1};
    hr_dataset *ds = hr_rebatch(hr_batch(hr_range(11), 4), 2, .next_sizes = HR_I64(3), .next_size_count = 1);
    hr_iterator *it = iterate(hr_dataset_ref(ds), (way){.workers = 2});
    for (int i = 0; i < 5; i++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(hr_get(e, "value")->shape.dims[0], sizes[i]);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
    hr_dataset_unref(ds);
    ds = hr_batch(hr_range(11), 2, .next_sizes = HR_I64(3), .next_size_count = 1);
    assert_int_equal(hr_cardinality(ds), 5);
    hr_dataset_unref(ds);
    ds = hr_batch(hr_range(9), 2, .next_sizes = HR_I64(3), .next_size_count = 1, .drop_remainder = true);
    assert_int_equal(hr_cardinality(ds), 3); /* 2 3 2, and two are left over */
    run_all(&got, ds, (way){0});
    assert_int_equal(got.count, 3);
    assert_fails(hr_batch(hr_range(9), 2, .next_sizes = HR_I64(0), .next_size_count = 1), HR_INVALID_ARGUMENT,
                 "batch.size");
}

static void single_elements_give_their_rows(void **state)
{
    (void)state;
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(2, 2), HR_I64(1, 2, 3, 4));
    assert_int64_values(hr_unbatch(hr_from_tensor_slices(&t, (const char *const[]){"value"}, 1)), HR_I64(1, 2, 3, 4),
                        4);
    assert_int64_values(hr_unbatch(vectors(hr_range(4))), HR_I64(1, 2, 2, 3, 3, 3), 6);
    assert_int64_values(hr_unbatch(hr_take(vectors(hr_range(1)), 1)), NULL, 0);
}

static void unbatch_refuses_what_is_no_batch(void **state)
{
    (void)state;
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(1, 3), HR_I64(1, 2, 3));
    assert_fails(hr_unbatch(hr_range(4)), HR_INVALID_ARGUMENT, "unbatch.scalar");
    assert_fails(hr_unbatch(hr_zip((hr_dataset *[]){hr_from_tensor_slices(&t, NULL, 1), vectors(hr_range(4))}, 2)),
                 HR_INVALID_ARGUMENT, "unbatch.uneven");
    hr_dataset *ds = hr_dense_to_sparse_batch(vectors(hr_range(4)), 2, HR_SHAPE(4));
    assert_fails(hr_unbatch(hr_unbatch(ds)), HR_UNIMPLEMENTED, "unbatch.rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(unbatch),
        HR_CONFORMANCE(unbatch_of_unbatch),
        HR_CONFORMANCE(unbatch_between_maps),
        HR_CONFORMANCE(unbatch_of_padded_rows),
        HR_CONFORMANCE(unbatch_of_rows),
        cmocka_unit_test(unbatch_makes_the_parts_of_batches_elements),
        cmocka_unit_test(unbatch_takes_the_outermost_batch_apart),
        cmocka_unit_test(padded_rows_keep_the_width_of_their_batch),
        cmocka_unit_test(cardinality_is_known_where_all_batches_are_full),
        cmocka_unit_test(operators_above_count_the_parts),
        HR_CONFORMANCE(rebatch_by_turns),
        cmocka_unit_test(sizes_of_batches_may_take_turns),
        cmocka_unit_test(rebatch_makes_batches_of_another_size),
        cmocka_unit_test(single_elements_give_their_rows),
        cmocka_unit_test(unbatch_refuses_what_is_no_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
