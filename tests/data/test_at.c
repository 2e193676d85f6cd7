/* hr_at: an element by its number is the one that iterating gives, and where it is not allowed it says so. */
#include "tests/data/conformance.h"
#include <string.h>

enum { MOST = 200 };

static hr_dataset *numbers(void) { return hr_range(50, .start = 3); }
static hr_dataset *drawn(void) { return hr_map(hr_range(60), draw_digits, NULL); }
static hr_dataset *batches(void) { return hr_batch(hr_map(hr_skip(hr_range(61), 4), draw_digits, NULL), 7); }
static hr_dataset *maps_of_batches(void) { return hr_map(hr_batch(hr_batch(drawn(), 3), 2), draw_digits, NULL); }
static hr_dataset *parts(void)
{
    return hr_prefetch(hr_take(hr_shard(hr_map(hr_take(hr_range(100), 80), draw_digits, NULL), 3, 1), 20), 2);
}
static hr_dataset *joined(void)
{
    hr_dataset *in[] = {drawn(), hr_concatenate(hr_range(20), hr_skip(hr_map(hr_range(70), draw_digits, NULL), 30))};
    return hr_zip(in, 2);
}
static hr_dataset *numbered(void) { return hr_enumerate(drawn(), .start = 5); }
static hr_dataset *filled(void) { return hr_batch(hr_pad_to_cardinality(drawn(), 75), 4); }
static hr_dataset *list(void)
{
    static const int64_t n[] = {1, 2, 3, 4};
    hr_tensor t[4];
    for (int i = 0; i < 4; i++) t[i] = hr_tensor_of(HR_INT64, HR_SHAPE(i + 1), n);
    return hr_padded_batch(hr_from_list(t, NULL, 1, 4), 3);
}

static hr_status square(int64_t number, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    *(int64_t *)hr_set(out, "value") = number * number + (int64_t)(hr_call_random(call, 0) % 7);
    return HR_OK;
}
static hr_dataset *generated(void)
{
    return hr_from_generator(square, NULL, .output = &hr_int64_schema, .count = HR_I64(40), .by_number = true);
}

static hr_dataset *(*const pipelines[])(void) = {numbers,  drawn,  batches, maps_of_batches, parts, joined,
                                                 numbered, filled, list,    generated};

static void an_element_by_its_number_is_the_one_that_comes(void **state)
{
    (void)state;
    static run all, one;
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
        const hr_element *e;
        run_all(&all, pipelines[i](), (way){0});
        assert_int_equal(all.end, HR_END);
        for (int n = 0; n < all.count; n++)
            for (int workers = 0; workers < 3; workers += 2) {
                hr_iterator *it = hr_iterate(pipelines[i](), .seed = 7, .first = n, .workers = &workers,
                                             .unit_rows = workers ? 3 : 0);
                one.count = 0;
                run_on(&one, it, MOST);
                if (one.count != all.count - n ||
                    memcmp(one.element, all.element + n, (size_t)one.count * sizeof *one.element) != 0)
                    fail_msg("pipeline %zu: from element %d on others come than in order", i, n);
                hr_iterator_free(it);
            }
        hr_iterator *it = hr_at(pipelines[i](), all.count, &e);
        assert_null(e);
        assert_string_equal(hr_iterator_error(it)->kind, "at.index");
        hr_iterator_free(it);
    }
}

static void assert_no_access(hr_dataset *ds, hr_status code, const char *kind)
{
    const hr_element *e;
    hr_iterator *it = hr_at(ds, 3, &e);
    assert_null(e);
    assert_int_equal(hr_iterator_error(it)->code, code);
    assert_string_equal(hr_iterator_error(it)->kind, kind);
    hr_iterator_free(it);
}

static bool all_of_them(const hr_element *element, void *user) { return (void)element, (void)user, true; }

static void where_it_is_not_allowed_it_says_so(void **state)
{
    (void)state;
    const hr_element *e;
    assert_no_access(hr_shuffle(hr_range(9), 3), HR_UNIMPLEMENTED, "at.operator");
    assert_no_access(hr_map(hr_filter(hr_range(9), all_of_them, NULL), draw_digits, NULL), HR_UNIMPLEMENTED,
                     "at.operator");
    assert_no_access(hr_ignore_errors(hr_range(9)), HR_UNIMPLEMENTED, "at.operator");
    assert_no_access(hr_repeat(hr_range(9)), HR_UNIMPLEMENTED, "at.operator");
    assert_no_access(hr_batch(hr_range(9), 2, .next_sizes = (const int64_t[]){1}, .next_size_count = 1),
                     HR_UNIMPLEMENTED, "at.operator");
    assert_no_access(hr_from_generator(square, NULL, .output = &hr_int64_schema), HR_UNIMPLEMENTED, "at.operator");
    assert_no_access(hr_range(3), HR_OUT_OF_RANGE, "at.index");
    assert_no_access(hr_take(hr_range(9), 2), HR_OUT_OF_RANGE, "at.index");
    assert_no_access(hr_skip(hr_range(9), -1), HR_OUT_OF_RANGE, "at.index");
    assert_no_access(hr_from_tensors(NULL, NULL, 0), HR_INVALID_ARGUMENT, "from_tensor_slices.count");
    hr_iterator *it = hr_at(hr_shuffle(hr_range(9), 3), 0, &e);
    assert_null(e);
    assert_string_equal(hr_iterator_error(it)->kind, "at.operator");
    hr_iterator_free(it);
    it = hr_at(hr_range(9), 0, &e);
    assert_int_equal(*(const int64_t *)hr_get(e, "value")->data, 0);
    hr_iterator_free(it);
    it = hr_at(hr_range(9), -1, &e);
    assert_string_equal(hr_iterator_error(it)->kind, "at.index");
    hr_iterator_free(it);
    it = hr_at(hr_batch(hr_range(9), 2), INT64_MAX, &e);
    assert_string_equal(hr_iterator_error(it)->kind, "at.index");
    hr_iterator_free(it);
}

static void what_began_later_is_not_saved(void **state)
{
    (void)state;
    const hr_element *e;
    void *saved;
    size_t size;
    hr_error err;
    hr_iterator *it = hr_at(hr_batch(hr_range(90), 7), 4, &e);
    assert_int_equal(*(const int64_t *)hr_get(e, "value")->data, 28);
    assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(*(const int64_t *)hr_get(e, "value")->data, 35);
    assert_status(hr_iterator_save(it, &saved, &size, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "state.first");
    hr_iterator_free(it);
    it = hr_iterate(hr_range(90));
    assert_status(hr_next(it, &e), HR_OK);
    assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
    assert_ok(hr_iterator_reset(it, NULL, .first = 40), &err); /* a cursor that moves */
    assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(*(const int64_t *)hr_get(e, "value")->data, 40);
    hr_iterator_free(it);
    it = hr_iterate(hr_range(90), .first = 3, .state = saved, .state_size = size);
    assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "state.first");
    hr_iterator_free(it);
    hr_free(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_by_its_number_is_the_one_that_comes),
        cmocka_unit_test(where_it_is_not_allowed_it_says_so),
        cmocka_unit_test(what_began_later_is_not_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
