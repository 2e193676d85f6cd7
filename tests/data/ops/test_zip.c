/* zip and enumerate: what stands side by side, and the conformance of a pipeline with them. */
#include "tests/data/conformance.h"

static hr_dataset *zip2(hr_dataset *a, hr_dataset *b) { return hr_zip((hr_dataset *[]){a, b}, 2); }

static bool is_odd(const hr_element *e, void *user)
{
    (void)user;
    return *(const int64_t *)hr_get_at(e, 0)->data % 2;
}

HR_SAMPLE(zip)
{
    return hr_batch(zip2(hr_shuffle(hr_range(300), 40), hr_filter(hr_shuffle(hr_range(500), 20), is_odd, NULL)), 8);
}
HR_SAMPLE(enumerate) { return hr_shuffle(hr_enumerate(hr_repeat(hr_range(50), .count = HR_I64(4)), .start = 7), 30); }
HR_SAMPLE(zip_of_batches) { return zip2(hr_batch(hr_range(100), 4), hr_batch(hr_shuffle(hr_range(300), 9), 4)); }
HR_SAMPLE(zip_of_zips_in_epochs)
{
    hr_dataset *ds = zip2(zip2(hr_range(30), hr_range(40)), hr_filter(hr_range(90), is_odd, NULL));
    return hr_batch(hr_repeat(ds, .count = HR_I64(3)), 4);
}

/* The values of the components side by side: `fields` of them an element. */
static void assert_tuples(hr_dataset *ds, const int64_t *want, int elements, int fields)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.unit_rows = 3});
    for (int n = 0; n < elements; n++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(hr_element_schema(e)->fields, fields);
        for (int i = 0; i < fields; i++)
            assert_int_equal(*(const int64_t *)hr_get_at(e, i)->data, want[n * fields + i]);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void zip_ends_with_the_shortest(void **state)
{
    (void)state;
    assert_tuples(zip2(hr_range(5), hr_range(13, .start = 10)), HR_I64(0, 10, 1, 11, 2, 12), 3, 2);
    assert_tuples(zip2(hr_repeat(hr_range(2)), hr_range(3)), HR_I64(0, 0, 1, 1, 0, 2), 3, 2);
    assert_tuples(zip2(hr_range(4), hr_range(0)), NULL, 0, 2);
}

static void zip_takes_any_number_of_datasets(void **state)
{
    (void)state;
    hr_dataset *many[HR_MAX_INPUTS + 1];
    for (int i = 0; i <= HR_MAX_INPUTS; i++) many[i] = hr_range(i + 1, .start = i);
    int64_t want[HR_MAX_INPUTS];
    for (int i = 0; i < HR_MAX_INPUTS; i++) want[i] = i;
    hr_dataset *extra = many[HR_MAX_INPUTS];
    assert_tuples(hr_zip(many, HR_MAX_INPUTS), want, 1, HR_MAX_INPUTS);
    for (int i = 0; i < HR_MAX_INPUTS; i++) many[i] = hr_range(3);
    many[HR_MAX_INPUTS] = extra;
    assert_fails(hr_zip(many, HR_MAX_INPUTS + 1), HR_INVALID_ARGUMENT, "op.inputs");
    assert_fails(hr_zip(NULL, 0), HR_INVALID_ARGUMENT, "zip.inputs");
}

static void zip_names_components_by_their_dataset(void **state)
{
    (void)state;
    const hr_tensor t[] = {hr_tensor_of(HR_INT64, HR_SHAPE(1), HR_I64(1)),
                           hr_tensor_of(HR_INT64, HR_SHAPE(1), HR_I64(2))};
    const char *const names[] = {"age", "height"};
    hr_dataset *ds = zip2(hr_range(1), hr_from_tensor_slices(t, names, 2));
    const hr_schema *schema = hr_dataset_schema(ds);
    assert_string_equal(schema->field[0].name, "0");
    assert_string_equal(schema->field[1].name, "1/age");
    assert_string_equal(schema->field[2].name, "1/height");
    hr_dataset_unref(ds);
}

static void enumerate_counts_from_its_start(void **state)
{
    (void)state;
    assert_tuples(hr_enumerate(hr_range(9, .start = 7)), HR_I64(0, 7, 1, 8), 2, 2);
    assert_tuples(hr_enumerate(hr_range(9, .start = 7), .start = -1), HR_I64(-1, 7, 0, 8), 2, 2);
    assert_tuples(hr_repeat(hr_enumerate(hr_range(2)), .count = HR_I64(2)), HR_I64(0, 0, 1, 1, 0, 0, 1, 1), 4, 2);
}

static void zip_refuses_batches_beside_single_elements(void **state)
{
    (void)state;
    assert_fails(zip2(hr_range(4), hr_batch(hr_range(4), 2)), HR_UNIMPLEMENTED, "zip.levels");
    assert_fails(zip2(hr_batch(hr_range(4), 2), hr_batch(hr_range(6), 3)), HR_INVALID_ARGUMENT, "zip.rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(zip),
        HR_CONFORMANCE(enumerate),
        HR_CONFORMANCE(zip_of_batches),
        HR_CONFORMANCE(zip_of_zips_in_epochs),
        cmocka_unit_test(zip_ends_with_the_shortest),
        cmocka_unit_test(zip_takes_any_number_of_datasets),
        cmocka_unit_test(zip_names_components_by_their_dataset),
        cmocka_unit_test(enumerate_counts_from_its_start),
        cmocka_unit_test(zip_refuses_batches_beside_single_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
