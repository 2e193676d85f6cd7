/* from_list: conformance, and elements of one and of several shapes. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 200 };

/* Vectors of 0 to 4 numbers, each beside a text and a pair. */
static hr_dataset *list(int64_t count, int64_t more, const char *word)
{
    static int64_t numbers[4], pairs[ELEMENTS][2];
    static hr_view text[ELEMENTS];
    static const char *const names[] = {"value", "word", NULL};
    hr_tensor t[ELEMENTS * 3];
    for (int64_t i = 0; i < 4; i++) numbers[i] = i + more;
    for (int64_t i = 0; i < count; i++) {
        text[i] = (hr_view){word, i % 3};
        pairs[i][0] = i, pairs[i][1] = -i;
        t[3 * i] = hr_tensor_of(HR_INT64, HR_SHAPE(i % 5), numbers);
        t[3 * i + 1] = hr_tensor_of(HR_STRING, HR_SCALAR, &text[i]);
        t[3 * i + 2] = hr_tensor_of(HR_INT64, HR_SHAPE(2), pairs[i]);
    }
    return hr_from_list(t, names, 3, count);
}

HR_SAMPLE(from_list) { return hr_padded_batch(hr_shuffle(list(ELEMENTS, 0, "words"), 30), 7); }
HR_ARGUMENTS(from_list, list(20, 0, "words"), list(21, 0, "words"), list(20, 1, "words"), list(20, 0, "other"));

static void from_list_gives_the_elements_in_order(void **state)
{
    (void)state;
    const hr_element *e;
    hr_dataset *ds = list(ELEMENTS, 5, "words");
    assert_int_equal(hr_cardinality(ds), ELEMENTS);
    hr_iterator *it = iterate(ds, (way){.workers = 2, .unit_rows = 7});
    for (int64_t i = 0; i < ELEMENTS; i++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(hr_get(e, "value")->count, i % 5);
        for (int64_t k = 0; k < i % 5 && k < 4; k++)
            assert_int_equal(((const int64_t *)hr_get(e, "value")->data)[k], k + 5);
        assert_int_equal(((const hr_view *)hr_get(e, "word")->data)->size, i % 3);
        assert_int_equal(((const int64_t *)hr_get(e, "2")->data)[1], -i);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void from_list_takes_scalars_as_slices_do(void **state)
{
    (void)state;
    static const char *const name = "value";
    const int64_t n[] = {3, 1, 2};
    hr_tensor t[3];
    for (int i = 0; i < 3; i++) t[i] = hr_tensor_of(HR_INT64, HR_SCALAR, &n[i]);
    assert_int64_values(hr_from_list(t, &name, 1, 3), n, 3);
}

static void from_list_refuses_elements_that_differ(void **state)
{
    (void)state;
    const int64_t n[4] = {0};
    const float f = 0;
    const hr_tensor scalar = hr_tensor_of(HR_INT64, HR_SCALAR, n), vector = hr_tensor_of(HR_INT64, HR_SHAPE(2), n),
                    wide = hr_tensor_of(HR_INT64, HR_SHAPE(2, 2), n),
                    narrow = hr_tensor_of(HR_INT64, HR_SHAPE(2, 1), n), real = hr_tensor_of(HR_FLOAT, HR_SCALAR, &f);
    assert_fails(hr_from_list(NULL, NULL, 1, 1), HR_INVALID_ARGUMENT, "from_list.count");
    assert_fails(hr_from_list(&scalar, NULL, 1, 0), HR_INVALID_ARGUMENT, "from_list.count");
    assert_fails(hr_from_list((hr_tensor[]){scalar, vector}, NULL, 1, 2), HR_INVALID_ARGUMENT, "from_list.shape");
    assert_fails(hr_from_list((hr_tensor[]){wide, narrow}, NULL, 1, 2), HR_INVALID_ARGUMENT, "from_list.shape");
    assert_fails(hr_from_list((hr_tensor[]){scalar, real}, NULL, 1, 2), HR_INVALID_ARGUMENT, "from_list.shape");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(from_list),
        HR_CONFORMANCE_OF_ARGUMENTS(from_list),
        cmocka_unit_test(from_list_gives_the_elements_in_order),
        cmocka_unit_test(from_list_takes_scalars_as_slices_do),
        cmocka_unit_test(from_list_refuses_elements_that_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
