/* pad_to_cardinality: conformance, and what the elements after the last one are. */
#include "tests/data/strings.h"
#include <string.h>

static hr_dataset *padded(int64_t rows, int64_t cardinality)
{
    return hr_pad_to_cardinality(hr_range(rows), cardinality);
}

HR_SAMPLE(pad_to_cardinality) { return hr_batch(hr_pad_to_cardinality(hr_shuffle(hr_range(90), 30), 120), 7); }
HR_ARGUMENTS(pad_to_cardinality, padded(5, 8), padded(5, 9), hr_pad_to_cardinality(hr_range(5), 8, .mask_key = "real"));

static void padding_says_which_elements_are_real(void **state)
{
    (void)state;
    const hr_element *e;
    hr_dataset *ds = padded(3, 5);
    assert_int_equal(hr_cardinality(ds), 5);
    hr_iterator *it = iterate(hr_batch(ds, 5), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    assert_memory_equal(hr_get(e, "value")->data, ((const int64_t[]){0, 1, 2, 0, 0}), 40);
    assert_memory_equal(hr_get(e, "valid")->data, ((const bool[]){true, true, true, false, false}), 5);
    hr_iterator_free(it);
}

static void padding_of_strings_and_vectors_is_empty(void **state)
{
    (void)state;
    const hr_element *e;
    const hr_view text = {"x", 1};
    const int64_t numbers[] = {1, 2};
    const hr_tensor t[] = {hr_tensor_of(HR_STRING, HR_SCALAR, &text), hr_tensor_of(HR_INT64, HR_SHAPE(1), numbers),
                           hr_tensor_of(HR_STRING, HR_SCALAR, &text), hr_tensor_of(HR_INT64, HR_SHAPE(2), numbers)};
    hr_dataset *ds = hr_pad_to_cardinality(hr_from_list(t, NULL, 2, 2), 4, .mask_key = "real");
    hr_iterator *it = iterate(ds, (way){0});
    for (int i = 0; i < 4; i++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(((const hr_view *)hr_get(e, "0")->data)->size, i < 2);
        assert_int_equal(hr_get(e, "1")->count, i < 2 ? i + 1 : 0);
        assert_int_equal(*(const bool *)hr_get(e, "real")->data, i < 2);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void what_cannot_be_padded_is_refused(void **state)
{
    (void)state;
    assert_fails(padded(9, 8), HR_INVALID_ARGUMENT, "pad_to_cardinality.cardinality");
    assert_fails(hr_pad_to_cardinality(hr_counter(), 8), HR_INVALID_ARGUMENT, "pad_to_cardinality.cardinality");
    assert_fails(hr_pad_to_cardinality(hr_batch(hr_range(4), 2), 8), HR_INVALID_ARGUMENT, "pad_to_cardinality.batched");
    assert_fails(hr_pad_to_cardinality(padded(4, 5), 8), HR_INVALID_ARGUMENT, "schema.duplicate");
    assert_fails(hr_pad_to_cardinality(hr_from_tensors(NULL, NULL, 0), 8), HR_INVALID_ARGUMENT,
                 "from_tensor_slices.count");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(pad_to_cardinality),
        HR_CONFORMANCE_OF_ARGUMENTS(pad_to_cardinality),
        cmocka_unit_test(padding_says_which_elements_are_real),
        cmocka_unit_test(padding_of_strings_and_vectors_is_empty),
        cmocka_unit_test(what_cannot_be_padded_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
