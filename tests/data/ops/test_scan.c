/* scan: a state from call to call, through epochs and restores. */
#include "tests/data/ops/vectors.h"
#include <stdio.h>

typedef struct sums {
    uint64_t sum; /* a state that somebody changed may have any: it goes round */
    int32_t count;
} sums;

static hr_status add_up(void *state, const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    sums *s = state;
    s->sum += *(const uint64_t *)hr_get(in, "value")->data;
    s->count += s->count < INT32_MAX;
    *(int64_t *)hr_set(out, "value") = (int64_t)s->sum;
    return HR_OK;
}

static hr_status as_text(void *state, const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    char text[64];
    sums *s = state;
    s->sum += *(const uint64_t *)hr_get(in, "value")->data;
    s->count += s->count < INT32_MAX;
    const int size = snprintf(text, sizeof text, "%lld of %d, %llx", (long long)s->sum, (int)s->count,
                              (unsigned long long)hr_call_random(call, 0));
    return hr_set_string(out, "value", text, size);
}

static hr_status up_to_ten(void *state, const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)state, (void)user;
    const int64_t value = *(const int64_t *)hr_get(in, "value")->data;
    if (value > 10) return hr_call_fail(call, HR_OUT_OF_RANGE, "beyond ten: %lld", (long long)value);
    int64_t *made = hr_set_count(out, "value", value % 3);
    for (int64_t i = 0; i < value % 3; i++) made[i] = value;
    return HR_OK;
}

static const sums zero;

HR_SAMPLE(scan) { return hr_batch(hr_scan(hr_shuffle(hr_range(300), 40), &zero, sizeof zero, add_up, NULL), 7); }
HR_SAMPLE(scan_to_strings)
{
    hr_dataset *ds =
        hr_scan(hr_shuffle(hr_range(90), 40), &zero, sizeof zero, as_text, NULL, .output = &hr_string_schema);
    return hr_shuffle(hr_repeat(ds, .count = HR_I64(2)), 10);
}
HR_SAMPLE(scan_fails) { return hr_scan(hr_range(20), &zero, sizeof zero, up_to_ten, NULL, .output = &vector_schema); }

static void every_epoch_begins_with_the_initial_state(void **state)
{
    (void)state;
    const sums five = {.sum = 5};
    hr_dataset *ds = hr_scan(hr_range(3), &five, sizeof five, add_up, NULL);
    assert_int64_values(hr_repeat(ds, .count = HR_I64(2)), HR_I64(5, 6, 8, 5, 6, 8), 6);
}

static void scan_refuses_what_it_cannot_carry(void **state)
{
    (void)state;
    assert_fails(hr_scan(hr_range(3), NULL, 0, add_up, NULL), HR_INVALID_ARGUMENT, "scan.function");
    assert_fails(hr_scan(hr_range(3), &zero, 4096, add_up, NULL), HR_INVALID_ARGUMENT, "scan.state");
    assert_fails(hr_scan(hr_batch(hr_range(3), 2), &zero, sizeof zero, add_up, NULL), HR_INVALID_ARGUMENT,
                 "scan.output");
    assert_fails(hr_scan(hr_range(20), &zero, sizeof zero, up_to_ten, NULL, .output = &vector_schema), HR_OUT_OF_RANGE,
                 "scan.function");
}

static hr_status add_draw(void *state, const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    uint64_t *sum = state;
    *sum += *(const uint64_t *)hr_get(in, "value")->data + hr_call_random(call, 0) % 100;
    *(uint64_t *)hr_set(out, "value") = *sum;
    return HR_OK;
}

static hr_dataset *scanned(int64_t initial, size_t size, uint64_t seed)
{
    const int64_t state[2] = {initial};
    return hr_scan(hr_range(30), state, size, add_draw, NULL, .seed = seed);
}

HR_ARGUMENTS(scan, scanned(0, sizeof(int64_t), 3), scanned(1, sizeof(int64_t), 3), scanned(0, sizeof(int64_t) + 8, 3),
             scanned(0, sizeof(int64_t), 4));

static void scan_draws_anew_in_each_epoch(void **state)
{
    (void)state;
    int64_t value[60];
    hr_dataset *ds = hr_repeat(scanned(0, sizeof(int64_t), 3), .count = HR_I64(2));
    assert_int_equal(int64_values(ds, (way){0}, value, 60), 60);
    assert_memory_not_equal(value, value + 30, 30 * sizeof *value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(scan),
        HR_CONFORMANCE_OF_ARGUMENTS(scan),
        HR_CONFORMANCE(scan_to_strings),
        HR_CONFORMANCE_OF_FAILURE(scan_fails),
        cmocka_unit_test(scan_draws_anew_in_each_epoch),
        cmocka_unit_test(every_epoch_begins_with_the_initial_state),
        cmocka_unit_test(scan_refuses_what_it_cannot_carry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
