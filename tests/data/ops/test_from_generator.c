/* from_generator: called again, called from the number, called by several threads, loaded; and what it may not do. */
#include "tests/data/ops/vectors.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 150 };

/* A generator that can only go on: it counts by itself. */
typedef struct counter {
    int64_t next;
} counter;

static atomic_int alive; /* counters */

static void *open_counter(void *user)
{
    (void)user;
    atomic_fetch_add(&alive, 1);
    return calloc(1, sizeof(counter));
}

static void close_counter(void *generator)
{
    atomic_fetch_sub(&alive, 1);
    free(generator);
}

static hr_status count_on(int64_t number, hr_builder *out, hr_call *call, void *user)
{
    counter *c = user;
    (void)call, (void)number;
    if (c->next == ELEMENTS) return HR_END;
    *(int64_t *)hr_set(out, "value") = c->next * c->next;
    c->next++;
    return HR_OK;
}

static void save_counter(const void *generator, hr_token_writer *to)
{
    hr_write_i64(to, ((const counter *)generator)->next);
}

static hr_status load_counter(void *generator, hr_token_reader *from, hr_error *err)
{
    return hr_read_between(from, 0, ELEMENTS, &((counter *)generator)->next, err);
}

static hr_status text_of(int64_t number, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    char text[64];
    const int size =
        snprintf(text, sizeof text, "%lld draws %llx", (long long)number, (unsigned long long)hr_call_random(call, 1));
    return hr_set_string(out, "value", text, size);
}

static hr_status vector_of(int64_t number, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    if (number == 70) return hr_call_fail(call, HR_ABORTED, "no number 70");
    int64_t *value = hr_set_count(out, "value", number % 4);
    for (int64_t i = 0; value && i < number % 4; i++) value[i] = number;
    return HR_OK;
}

static hr_dataset *counters(bool loads)
{
    return hr_from_generator(count_on, NULL, .output = &hr_int64_schema, .open = open_counter, .close = close_counter,
                             .save = loads ? save_counter : NULL, .load = loads ? load_counter : NULL);
}

HR_SAMPLE(from_generator) { return hr_batch(hr_shuffle(counters(false), 20), 4); }
HR_SAMPLE(generator_that_loads) { return hr_repeat(hr_shuffle(counters(true), 20), .count = HR_I64(2)); }
HR_SAMPLE(generator_by_number)
{
    hr_dataset *ds =
        hr_from_generator(text_of, NULL, .output = &hr_string_schema, .count = HR_I64(ELEMENTS), .by_number = true);
    return hr_shuffle(hr_repeat(ds, .count = HR_I64(2)), 20);
}
HR_SAMPLE(generator_on_all_threads)
{
    hr_dataset *ds =
        hr_from_generator(text_of, NULL, .output = &hr_string_schema, .count = HR_I64(ELEMENTS), .thread_safe = true);
    return hr_batch(hr_repeat(ds, .count = HR_I64(2)), 7);
}
HR_SAMPLE(generator_that_fails)
{
    return hr_from_generator(vector_of, NULL, .output = &vector_schema, .count = HR_I64(-1), .thread_safe = true);
}

static void the_same_comes_from_one_thread_and_from_all(void **state)
{
    (void)state;
    static run alone, all;
    run_all(&alone, build_generator_by_number(), (way){0});
    hr_dataset *ds =
        hr_from_generator(text_of, NULL, .output = &hr_string_schema, .count = HR_I64(ELEMENTS), .thread_safe = true);
    run_all(&all, hr_shuffle(hr_repeat(ds, .count = HR_I64(2)), 20), (way){.workers = 2});
    assert_same_run(&alone, &all);
}

static void each_iterator_has_a_generator_of_its_own(void **state)
{
    (void)state;
    hr_dataset *ds = hr_take(counters(false), 3);
    assert_int64_values(hr_dataset_ref(ds), HR_I64(0, 1, 4), 3);
    assert_int64_values(ds, HR_I64(0, 1, 4), 3);
    assert_int_equal(atomic_load(&alive), 0);
}

static void *no_generator(void *user)
{
    (void)user;
    return NULL;
}

static hr_status ends_at_5(int64_t number, hr_builder *out, hr_call *call, void *user)
{
    (void)out, (void)call, (void)user;
    return number == 5 ? HR_END : HR_OK;
}

static void what_cannot_work_is_refused(void **state)
{
    (void)state;
    assert_fails(hr_from_generator(NULL, NULL, .output = &hr_int64_schema), HR_INVALID_ARGUMENT,
                 "from_generator.function");
    assert_fails(hr_from_generator(ends_at_5, NULL), HR_INVALID_ARGUMENT, "from_generator.function");
    assert_fails(hr_from_generator(ends_at_5, NULL, .output = &hr_int64_schema, .save = save_counter),
                 HR_INVALID_ARGUMENT, "from_generator.function");
    assert_fails(hr_from_generator(ends_at_5, NULL, .output = &hr_int64_schema, .thread_safe = true),
                 HR_INVALID_ARGUMENT, "from_generator.count");
    assert_fails(
        hr_from_generator(ends_at_5, NULL, .output = &hr_int64_schema, .thread_safe = true, .count = HR_I64(9)),
        HR_INVALID_ARGUMENT, "from_generator.count");
    assert_fails(hr_from_generator(ends_at_5, NULL, .output = &hr_int64_schema, .open = no_generator), HR_UNAVAILABLE,
                 "from_generator.open");
    assert_int64_values(hr_from_generator(ends_at_5, NULL, .output = &hr_int64_schema), HR_I64(0, 0, 0, 0, 0), 5);
}

static hr_dataset *generated(const int64_t *count, uint64_t seed)
{
    return hr_from_generator(text_of, NULL, .output = &hr_string_schema, .count = count, .by_number = true,
                             .seed = seed);
}

HR_ARGUMENTS(from_generator, generated(HR_I64(30), 3), generated(HR_I64(31), 3), generated(HR_I64(30), 4));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(from_generator),
        HR_CONFORMANCE_OF_ARGUMENTS(from_generator),
        HR_CONFORMANCE(generator_that_loads),
        HR_CONFORMANCE(generator_by_number),
        HR_CONFORMANCE(generator_on_all_threads),
        HR_CONFORMANCE_OF_FAILURE(generator_that_fails),
        cmocka_unit_test(the_same_comes_from_one_thread_and_from_all),
        cmocka_unit_test(each_iterator_has_a_generator_of_its_own),
        cmocka_unit_test(what_cannot_work_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
