/* ignore_errors: elements that fail are left out and told of, the good ones around them are not; inputs that end
 * early. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <string.h>

static hr_status fail_of_seven(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    const int64_t value = *(const int64_t *)hr_get(in, "value")->data;
    if (value % 7 == 3) return hr_call_fail(call, HR_INVALID_ARGUMENT, "seven: %d", (int)value);
    *(int64_t *)hr_set(out, "value") = value;
    return HR_OK;
}

static hr_dataset *failing(int64_t count) { return hr_map(hr_range(count), fail_of_seven, NULL); }

static hr_dataset *ranges(const hr_element *in, void *user)
{
    (void)user;
    const int64_t value = *(const int64_t *)hr_get_at(in, 0)->data;
    return value == 2 ? hr_range(-1, .step = 0) : hr_range(value, .start = value - 2);
}

HR_SAMPLE(ignore_errors) { return hr_batch(hr_shuffle(hr_ignore_errors(failing(300)), 30), 7); }
HR_SAMPLE(ignore_errors_above_batch) { return hr_shuffle(hr_ignore_errors(hr_batch(failing(300), 8)), 6); }
HR_SAMPLE(ignore_errors_of_inputs)
{
    return hr_ignore_errors(hr_interleave(hr_range(40), ranges, NULL, .cycle_length = 3));
}

static void ignore_errors_leaves_out_what_fails_alone(void **state)
{
    (void)state;
    assert_int64_values(hr_ignore_errors(failing(8)), HR_I64(0, 1, 2, 4, 5, 6, 7), 7);
    assert_int64_values(hr_ignore_errors(hr_batch(failing(8), 3)), HR_I64(0, 1, 2, 4, 5, 6, 7), 7);
    assert_fails(hr_map(hr_ignore_errors(hr_range(8)), fail_of_seven, NULL), HR_INVALID_ARGUMENT, "map.function");
}

typedef struct told {
    int calls;
    int64_t sum;
} told;

static void tell(const hr_error *error, hr_view bytes, void *user)
{
    told *t = user;
    int value = 0;
    assert_int_equal(bytes.size, 0);
    assert_text_contains(error->text, "seven: ");
    if (sscanf(strstr(error->text, "seven: "), "seven: %d", &value) == 1) t->sum += value;
    t->calls++;
}

static _Atomic int lines; /* any thread may log */
static void count_line(hr_level level, const char *text, void *user)
{
    (void)user;
    if (level == HR_WARNING && strstr(text, "ignored: ")) lines++;
}

static void ignore_errors_counts_and_tells(void **state)
{
    (void)state;
    static run got;
    told t = {0};
    lines = 0;
    hr_set_log(count_line, NULL);
    hr_dataset *ds = hr_ignore_errors(failing(700), .on_error = tell, .user = &t, .log_warning = true);
    hr_iterator *it = iterate(ds, (way){.workers = 2});
    got.count = 0;
    run_on(&got, it, MOST_ELEMENTS);
    assert_status(got.end, HR_END);
    assert_int_equal(got.count, 600);
    assert_int_equal(t.calls, 100);
    assert_int_equal(t.sum, 100 * 3 + 7 * 99 * 100 / 2);
    assert_int_equal(lines, 100);
    int64_t ignored = 0;
    for (const hr_report_line *line = hr_iterator_report(it); line->what; line++)
        if (strcmp(line->what, "ignored") == 0) ignored = line->count;
    assert_int_equal(ignored, 100);
    hr_iterator_free(it);
    hr_set_log(NULL, NULL);
}

static void ignore_errors_ends_where_its_input_cannot_go_on(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_ignore_errors(hr_tfrecord("missing")), (way){0});
    assert_status(got.end, HR_END);
    assert_int_equal(got.count, 0);
}

static hr_status fail_at_five(void *sum, const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)sum, (void)user;
    const int64_t value = *(const int64_t *)hr_get(in, "value")->data;
    if (value == 5) return hr_call_fail(call, HR_INVALID_ARGUMENT, "five");
    *(int64_t *)hr_set(out, "value") = value;
    return HR_OK;
}

/* The error cuts the second batch short: to the concatenation, its first input simply ends. */
static hr_dataset *batches_that_fail(void)
{
    static const int64_t zero;
    return hr_batch(hr_scan(hr_range(50), &zero, sizeof zero, fail_at_five, NULL), 3);
}

HR_SAMPLE(ignore_errors_of_a_short_batch)
{
    return hr_ignore_errors(hr_concatenate(batches_that_fail(), hr_batch(hr_range(50), 3)));
}

/* Two batches of the first input and all of the second, however threads are timed. */
static void an_ignored_error_ends_its_own_input_alone(void **state)
{
    (void)state;
    static run got;
    for (int i = 0; i < 100; i++) {
        run_all(&got, build_ignore_errors_of_a_short_batch(), (way){.workers = 2});
        assert_status(got.end, HR_END);
        assert_int_equal(got.count, 2 + 17);
    }
}

static void what_an_ignored_error_has_ended_stays_ended_after_a_restore(void **state)
{
    (void)state;
    void *saved;
    size_t size;
    hr_error err;
    const hr_element *e;
    hr_iterator *it = hr_iterate(hr_ignore_errors(batches_that_fail()));
    for (int i = 0; i < 2; i++) assert_status(hr_next(it, &e), HR_OK);
    assert_status(hr_next(it, &e), HR_END);
    assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
    hr_iterator_free(it);
    it = hr_iterate(hr_ignore_errors(batches_that_fail()), .state = saved, .state_size = size);
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
    hr_free(saved);
}

static hr_dataset *batches_of_input(const hr_element *in, void *user)
{
    (void)user;
    return *(const int64_t *)hr_get_at(in, 0)->data == 1 ? batches_that_fail() : hr_batch(hr_range(50), 3);
}

/* Nothing of the other inputs passes between the short batch and its error. */
HR_SAMPLE(interleave_with_a_short_batch)
{
    return hr_interleave(hr_range(3), batches_of_input, NULL, .cycle_length = 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(ignore_errors),
        HR_CONFORMANCE(ignore_errors_above_batch),
        HR_CONFORMANCE(ignore_errors_of_inputs),
        HR_CONFORMANCE(ignore_errors_of_a_short_batch),
        HR_CONFORMANCE_OF_FAILURE(interleave_with_a_short_batch),
        cmocka_unit_test(ignore_errors_leaves_out_what_fails_alone),
        cmocka_unit_test(ignore_errors_counts_and_tells),
        cmocka_unit_test(ignore_errors_ends_where_its_input_cannot_go_on),
        cmocka_unit_test(an_ignored_error_ends_its_own_input_alone),
        cmocka_unit_test(what_an_ignored_error_has_ended_stays_ended_after_a_restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
