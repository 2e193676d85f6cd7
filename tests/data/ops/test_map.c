/* map: values, schemas, randomness, failures; before and after a batch. */
#include "tests/data/conformance.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static int64_t value_of(const hr_element *e) { return *(const int64_t *)hr_get(e, "value")->data; }

static hr_status square(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, "value") = value_of(in) * value_of(in);
    return HR_OK;
}

static hr_status draw(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    *(int64_t *)hr_set(out, "value") = value_of(in) * 1000 + (int64_t)(hr_call_random(call, 0) % 1000);
    return HR_OK;
}

static hr_status refuse_88(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    if (value_of(in) == 88) return hr_call_fail(call, HR_INVALID_ARGUMENT, "refused %d", 88);
    *(int64_t *)hr_set(out, "value") = value_of(in);
    return HR_OK;
}

static const hr_field text_fields[] = {{.name = "half", .dtype = HR_FLOAT}, {.name = "text", .dtype = HR_STRING}};
static const hr_schema text_schema = {.levels = 0, .fields = 2, .field = text_fields};

static hr_status to_text(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    char text[32];
    const int size = snprintf(text, sizeof text, "number %lld", (long long)value_of(in));
    *(float *)hr_set(out, "half") = (float)value_of(in) / 2;
    return hr_set_string(out, "text", text, size);
}

static bool odd(const hr_element *e, void *user)
{
    (void)user;
    return value_of(e) % 2;
}

HR_SAMPLE(map) { return hr_batch(hr_map(hr_shuffle(hr_range(300), 40), square, NULL), 7); }
HR_SAMPLE(map_filter_map) { return hr_map(hr_filter(hr_map(hr_range(300), square, NULL), odd, NULL), draw, NULL); }
HR_SAMPLE(map_to_text) { return hr_shuffle(hr_map(hr_range(200), to_text, NULL, .output = &text_schema), 30); }
HR_SAMPLE(random_map) { return hr_batch(hr_repeat(hr_map(hr_range(60), draw, NULL), .count = HR_I64(3)), 4); }
HR_SAMPLE(map_fails) { return hr_batch(hr_map(hr_shuffle(hr_range(200), 30), refuse_88, NULL), 4); }

static void map_gives_what_its_function_sets(void **state)
{
    (void)state;
    assert_int64_values(hr_map(hr_range(5), square, NULL), HR_I64(0, 1, 4, 9, 16), 5);
    assert_int64_values(hr_map(hr_map(hr_range(4), square, NULL), square, NULL), HR_I64(0, 1, 16, 81), 4);
}

static void map_changes_the_schema(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_map(hr_range(3), to_text, NULL, .output = &text_schema), (way){0});
    for (int i = 0; i < 3; i++) {
        char text[32];
        snprintf(text, sizeof text, "number %d", i);
        assert_status(hr_next(it, &e), HR_OK);
        assert_null(hr_get(e, "value"));
        assert_exactly(*(const float *)hr_get(e, "half")->data, (float)i / 2);
        const hr_view *view = hr_get(e, "text")->data;
        assert_int_equal(view->size, 8);
        assert_memory_equal(view->data, text, 8);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void map_draws_the_same_before_and_after_other_work(void **state)
{
    (void)state;
    int64_t plain[100], batched[100], epochs[200];
    assert_int_equal(int64_values(hr_map(hr_range(100), draw, NULL), (way){0}, plain, 100), 100);
    hr_dataset *ds = hr_batch(hr_map(hr_range(100), draw, NULL), 8);
    assert_int_equal(int64_values(ds, (way){.workers = 2, .unit_rows = 1}, batched, 100), 100);
    assert_memory_equal(plain, batched, sizeof plain);
    ds = hr_repeat(hr_map(hr_range(100), draw, NULL), .count = HR_I64(2));
    assert_int_equal(int64_values(ds, (way){0}, epochs, 200), 200);
    assert_memory_not_equal(epochs, epochs + 100, sizeof plain);
}

static void map_fails_after_the_elements_before(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_map(hr_range(200), refuse_88, NULL), (way){.workers = 2});
    assert_int_equal(got.count, 88);
    assert_status(got.end, HR_INVALID_ARGUMENT);
    assert_text_contains(got.error.text, "refused 88");
    run_all(&got, hr_batch(hr_map(hr_range(200), refuse_88, NULL), 10), (way){.workers = 2});
    assert_int_equal(got.count, 9); /* the last batch is short */
    assert_status(got.end, HR_INVALID_ARGUMENT);
}

/* ---- vectorized ---- */

static atomic_int calls;

static hr_status draw_rows(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    const hr_tensor *t = hr_get(in, "value");
    int64_t *value = hr_set(out, "value");
    atomic_fetch_add(&calls, 1);
    for (int64_t i = 0; i < t->count; i++)
        value[i] = ((const int64_t *)t->data)[i] * 1000 + (int64_t)(hr_call_random_of(call, i, 0) % 1000);
    return HR_OK;
}

static hr_status refuse_rows(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    const hr_tensor *t = hr_get(in, "value");
    const int64_t *from = t->data;
    int64_t *value = hr_set(out, "value");
    for (int64_t i = 0; i < t->count; i++) value[i] = from[i];
    for (int64_t i = t->count - 1; i >= 0; i--)
        if (from[i] % 100 == 88) hr_call_fail_row(call, i, HR_INVALID_ARGUMENT, "refused %lld", (long long)from[i]);
    return HR_OK;
}

HR_SAMPLE(vectorized_map)
{
    return hr_batch(hr_map(hr_shuffle(hr_range(300), 40), draw_rows, NULL, .vectorized = true), 7);
}
HR_SAMPLE(vectorized_map_of_batches)
{
    return hr_shuffle(hr_map(hr_batch(hr_shuffle(hr_range(300), 40), 7), draw_rows, NULL, .vectorized = true), 5);
}
HR_SAMPLE(vectorized_map_fails)
{
    return hr_batch(hr_map(hr_shuffle(hr_range(300), 30), refuse_rows, NULL, .vectorized = true), 4);
}

static void a_vectorized_function_makes_the_same_in_fewer_calls(void **state)
{
    (void)state;
    int64_t one[1000], many[1000];
    assert_int_equal(int64_values(hr_map(hr_range(1000), draw, NULL), (way){0}, one, 1000), 1000);
    atomic_store(&calls, 0);
    hr_dataset *ds = hr_batch(hr_map(hr_range(1000), draw_rows, NULL, .vectorized = true), 8);
    assert_int_equal(int64_values(ds, (way){0}, many, 1000), 1000);
    assert_memory_equal(one, many, sizeof one);
    assert_less(atomic_load(&calls), 200);
}

static void a_vectorized_function_says_which_row_failed(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_map(hr_range(300), refuse_rows, NULL, .vectorized = true), (way){.unit_rows = 1000});
    assert_int_equal(got.count, 88);
    assert_text_contains(got.error.text, "refused 88");
    static const hr_field vector = {.name = "value", .dtype = HR_INT64, .shape = {1, {-1}}};
    assert_fails(hr_map(hr_range(3), refuse_rows, NULL, .vectorized = true,
                        .output = &(hr_schema){.fields = 1, .field = &vector}),
                 HR_INVALID_ARGUMENT, "map.output");
}

HR_ARGUMENTS(map, hr_map(hr_range(20), draw, NULL, .seed = 3), hr_map(hr_range(20), draw, NULL, .seed = 4));

static hr_status one_more(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, "value") = *(const int64_t *)hr_get(in, "value")->data + 1;
    return HR_OK;
}

static void hundreds_of_maps_stand_on_each_other(void **state)
{
    (void)state;
    hr_dataset *ds = hr_range(3);
    for (int i = 0; i < 300; i++) ds = hr_map(ds, one_more, NULL);
    assert_int64_values(ds, HR_I64(300, 301, 302), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(map),
        HR_CONFORMANCE_OF_ARGUMENTS(map),
        HR_CONFORMANCE(map_filter_map),
        HR_CONFORMANCE(map_to_text),
        HR_CONFORMANCE(random_map),
        HR_CONFORMANCE_OF_FAILURE(map_fails),
        HR_CONFORMANCE(vectorized_map),
        HR_CONFORMANCE(vectorized_map_of_batches),
        HR_CONFORMANCE_OF_FAILURE(vectorized_map_fails),
        cmocka_unit_test(a_vectorized_function_makes_the_same_in_fewer_calls),
        cmocka_unit_test(a_vectorized_function_says_which_row_failed),
        cmocka_unit_test(map_gives_what_its_function_sets),
        cmocka_unit_test(map_changes_the_schema),
        cmocka_unit_test(map_draws_the_same_before_and_after_other_work),
        cmocka_unit_test(map_fails_after_the_elements_before),
        cmocka_unit_test(hundreds_of_maps_stand_on_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
