/* unique: which elements it passes, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"
#include <string.h>

static hr_status rest_of_61(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, "value") = *(const int64_t *)hr_get(in, "value")->data * 7 % 61;
    return HR_OK;
}

HR_SAMPLE(unique) { return hr_batch(hr_unique(hr_map(hr_shuffle(hr_range(300), 40), rest_of_61, NULL)), 3); }
HR_SAMPLE(unique_in_epochs)
{
    hr_dataset *ds = hr_unique(hr_repeat(hr_shuffle(hr_range(40), 10), .count = HR_I64(3)));
    return hr_shuffle(hr_repeat(ds, .count = HR_I64(2)), 7);
}

/* "", "1", "22", ..., twice over: one is longer than others are together. */
static hr_dataset *strings(void)
{
    enum { COUNT = 200 };
    static char bytes[COUNT][COUNT];
    static hr_view view[2 * COUNT];
    for (int i = 0; i < 2 * COUNT; i++) {
        memset(bytes[i % COUNT], '0' + i % COUNT % 10, COUNT);
        view[i] = (hr_view){bytes[i % COUNT], i % COUNT};
    }
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(2 * COUNT), view);
    return hr_from_tensor_slices(&t, NULL, 1);
}

HR_SAMPLE(unique_strings) { return hr_unique(hr_shuffle(strings(), 50)); }

static void unique_passes_each_value_where_it_first_comes(void **state)
{
    (void)state;
    const int64_t value[] = {5, 1, 4, 1, 0, 4, 5, 3, 0, INT64_MIN, 3, 1, INT64_MIN};
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(13), value);
    assert_int64_values(hr_unique(hr_from_tensor_slices(&t, (const char *const[]){"value"}, 1)),
                        HR_I64(5, 1, 4, 0, 3, INT64_MIN), 6);
    assert_int64_values(hr_unique(hr_repeat(hr_range(3), .count = HR_I64(4))), HR_I64(0, 1, 2), 3);
    assert_int64_values(hr_unique(hr_range(0)), NULL, 0);
}

static void unique_tells_strings_apart_by_all_their_bytes(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_unique(strings()), (way){0});
    assert_int_equal(got.count, 200);
}

static void unique_refuses_what_it_cannot_compare(void **state)
{
    (void)state;
    const float one = 1;
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(1), &one);
    assert_fails(hr_unique(hr_from_tensor_slices(&t, NULL, 1)), HR_INVALID_ARGUMENT, "unique.component");
    assert_fails(hr_unique(hr_batch(hr_range(4), 2)), HR_INVALID_ARGUMENT, "unique.component");
    assert_fails(hr_unique(hr_enumerate(hr_range(4))), HR_INVALID_ARGUMENT, "unique.component");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(unique),
        HR_CONFORMANCE(unique_in_epochs),
        HR_CONFORMANCE(unique_strings),
        cmocka_unit_test(unique_passes_each_value_where_it_first_comes),
        cmocka_unit_test(unique_tells_strings_apart_by_all_their_bytes),
        cmocka_unit_test(unique_refuses_what_it_cannot_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
