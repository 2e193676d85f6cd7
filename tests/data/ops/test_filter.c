/* filter: rows, whole batches, batches of batches. */
#include "tests/data/conformance.h"

static int64_t first_value(const hr_element *e) { return ((const int64_t *)hr_get(e, "value")->data)[0]; }

/* Of a batch, its first value decides. */
static bool not_of_three(const hr_element *e, void *user)
{
    (void)user;
    return first_value(e) % 3 != 0;
}

static bool odd(const hr_element *e, void *user)
{
    (void)user;
    return first_value(e) % 2 != 0;
}

static bool below(const hr_element *e, void *user) { return first_value(e) < *(const int64_t *)user; }

HR_SAMPLE(filter) { return hr_batch(hr_filter(hr_shuffle(hr_range(300), 40), not_of_three, NULL), 8); }
HR_SAMPLE(filter_of_batches) { return hr_shuffle(hr_filter(hr_batch(hr_range(300), 4), not_of_three, NULL), 10); }
HR_SAMPLE(filter_then_take) { return hr_take(hr_filter(hr_range(900), not_of_three, NULL), 277); }
HR_SAMPLE(filter_of_batched_batches)
{
    hr_dataset *ds = hr_batch(hr_batch(hr_shuffle(hr_range(301), 20), 4), 3);
    return hr_filter(ds, not_of_three, NULL);
}

static void filter_keeps_what_its_function_likes(void **state)
{
    (void)state;
    assert_int64_values(hr_filter(hr_range(8), not_of_three, NULL), HR_I64(1, 2, 4, 5, 7), 5);
    static int64_t bound = 3;
    assert_int64_values(hr_filter(hr_range(100), below, &bound), HR_I64(0, 1, 2), 3);
}

/* The first value of a batch of two is even: rows must not be mistaken for batches. */
static void filter_asks_once_for_each_batch(void **state)
{
    (void)state;
    static int64_t bound = 5;
    assert_int64_values(hr_filter(hr_batch(hr_range(11), 2), odd, NULL), NULL, 0);
    assert_int64_values(hr_filter(hr_batch(hr_range(11), 3), odd, NULL), HR_I64(3, 4, 5, 9, 10), 5);
    assert_int64_values(hr_filter(hr_batch(hr_range(11), 2), below, &bound), HR_I64(0, 1, 2, 3, 4, 5), 6);
    hr_dataset *ds = hr_batch(hr_batch(hr_range(16), 2), 2); /* 0 1 2 3, 4 5 6 7, 8 9 10 11, 12 13 14 15 */
    assert_int64_values(hr_filter(ds, not_of_three, NULL), HR_I64(4, 5, 6, 7, 8, 9, 10, 11), 8);
}

static void filter_leaves_the_shape_of_batches(void **state)
{
    (void)state;
    const hr_element *e;
    hr_dataset *ds = hr_filter(hr_batch(hr_batch(hr_range(16), 2), 2), not_of_three, NULL);
    hr_iterator *it = iterate(ds, (way){0});
    for (int i = 0; i < 2; i++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_shape(hr_get(e, "value")->shape, HR_SHAPE(2, 2));
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void filter_may_keep_nothing(void **state)
{
    (void)state;
    static int64_t bound = -1;
    assert_int64_values(hr_filter(hr_range(5000), below, &bound), NULL, 0);
    assert_int64_values(hr_batch(hr_filter(hr_range(5000), below, &bound), 3), NULL, 0);
}

static void filter_needs_a_function(void **state)
{
    (void)state;
    assert_fails(hr_filter(hr_range(5), NULL, NULL), HR_INVALID_ARGUMENT, "filter.fn");
}

static void keep_half(const hr_element *rows, bool *keep, hr_call *call, void *user)
{
    (void)user;
    for (int64_t i = 0; i < hr_get(rows, "value")->count; i++) keep[i] = hr_call_random_of(call, i, 0) % 2;
}

static void keep_multiples(const hr_element *rows, bool *keep, hr_call *call, void *user)
{
    (void)call;
    const hr_tensor *t = hr_get(rows, "value");
    for (int64_t i = 0; i < t->count; i++) keep[i] = ((const int64_t *)t->data)[i] % *(const int64_t *)user == 0;
}

HR_SAMPLE(filter_rows) { return hr_batch(hr_filter_rows(hr_shuffle(hr_range(300), 40), keep_half, NULL), 7); }

static void many_rows_are_asked_about_in_one_call(void **state)
{
    (void)state;
    int64_t three = 3;
    assert_int64_values(hr_filter_rows(hr_range(8), keep_multiples, &three), HR_I64(0, 3, 6), 3);
    assert_fails(hr_filter_rows(hr_batch(hr_range(8), 2), keep_multiples, &three), HR_INVALID_ARGUMENT,
                 "filter.batched");
    assert_fails(hr_filter_rows(hr_range(8), NULL, NULL), HR_INVALID_ARGUMENT, "filter.fn");
}

HR_ARGUMENTS(filter, hr_filter_rows(hr_range(40), keep_half, NULL, .seed = 3),
             hr_filter_rows(hr_range(40), keep_half, NULL, .seed = 4));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(filter_rows),
        cmocka_unit_test(many_rows_are_asked_about_in_one_call),
        HR_CONFORMANCE(filter),
        HR_CONFORMANCE_OF_ARGUMENTS(filter),
        HR_CONFORMANCE(filter_of_batches),
        HR_CONFORMANCE(filter_then_take),
        HR_CONFORMANCE(filter_of_batched_batches),
        cmocka_unit_test(filter_keeps_what_its_function_likes),
        cmocka_unit_test(filter_asks_once_for_each_batch),
        cmocka_unit_test(filter_leaves_the_shape_of_batches),
        cmocka_unit_test(filter_may_keep_nothing),
        cmocka_unit_test(filter_needs_a_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
