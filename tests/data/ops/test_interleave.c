/* interleave: held against TensorFlow's rule, written naively, on random inputs; errors in their turn; ownership. */
#include "data/exec/token.h"
#include "data/iterator.h"
#include "tests/data/conformance.h"
#include <stdlib.h>

static int64_t value_of(const hr_element *e) { return *(const int64_t *)hr_get(e, "value")->data; }

/* n gives n % 7 numbers from 100 n on, shuffled. */
static hr_dataset *some_numbers(const hr_element *e, void *user)
{
    (void)user;
    const int64_t n = value_of(e);
    return hr_shuffle(hr_range(100 * n + n % 7, .start = 100 * n), 4);
}

static hr_dataset *few_of(hr_dataset *in, int64_t cycle, int64_t block)
{
    return hr_interleave(in, some_numbers, NULL, .cycle_length = cycle, .block_length = block);
}

HR_SAMPLE(interleave) { return hr_batch(few_of(hr_shuffle(hr_range(60), 8), 4, 3), 2); }
HR_SAMPLE(interleave_of_one_at_a_time) { return few_of(hr_range(40), 1, 1); }
HR_SAMPLE(interleave_of_more_slots_than_inputs) { return few_of(hr_range(10), 1000000, 2); }
HR_SAMPLE(interleave_below_shuffle_and_repeat)
{
    return hr_batch(hr_repeat(hr_shuffle(few_of(hr_range(20), 3, 1), 10), .count = HR_I64(3)), 4);
}
HR_SAMPLE(interleave_of_interleaves) { return few_of(hr_take(few_of(hr_range(20), 3, 2), 30), 2, 1); }

/* n gives 10 + n % 7 numbers from 100 n on. */
static hr_dataset *more_numbers(const hr_element *e, void *user)
{
    (void)user;
    const int64_t n = value_of(e);
    return hr_range(100 * n + 10 + n % 7, .start = 100 * n);
}

/* So many slots that a token serves several units: a state is right at any row between two of them as well. */
static hr_dataset *many_of(int64_t inputs)
{
    return hr_interleave(hr_range(inputs), more_numbers, NULL, .cycle_length = 40);
}

HR_SAMPLE(interleave_of_many) { return hr_batch(many_of(60), 5); }
HR_SAMPLE(interleave_of_many_below_shuffle) { return hr_batch(hr_shuffle(many_of(50), 30), 5); }

/* ---- inputs that come and go ---- */

/* Rows of an input that is closed are left to several others: to the operators above that took its units over, and to
 * those that still hold single rows. What they stand on is counted by all of these. */
static void rows_outlive_the_inputs_they_came_from(void **state)
{
    (void)state;
    static run want, got;
    run_all(&want, build_interleave_below_shuffle_and_repeat(), (way){.unit_rows = 3});
    for (int i = 0; i < 100; i++) {
        run_all(&got, build_interleave_below_shuffle_and_repeat(), (way){.workers = 4, .unit_rows = 1 + i % 5});
        assert_same_run(&want, &got);
    }
}

/* ---- against the rule ---- */

enum { INPUTS = 40, ROOM = 4000 };

static int length[INPUTS];

static hr_dataset *numbers(const hr_element *e, void *user)
{
    (void)user;
    const int64_t n = value_of(e);
    return hr_range(100 * n + length[n], .start = 100 * n);
}

/* One slot of the naive interleave: which input, how far. */
typedef struct turn {
    int input, at;
} turn;

static int by_rule(int inputs, int cycle, int block, int64_t *value)
{
    turn *slot = malloc((size_t)cycle * sizeof *slot);
    assert_non_null(slot);
    for (int i = 0; i < cycle; i++) slot[i] = (turn){-1, 0};
    int next = 0, open = 0, count = 0;
    for (int c = 0, b = 0; next < inputs || open > 0;) {
        if (slot[c].input < 0 && next < inputs) slot[c] = (turn){next++, 0}, open++;
        const bool has = slot[c].input >= 0, more = has && slot[c].at < length[slot[c].input];
        if (more) value[count++] = 100 * slot[c].input + slot[c].at++, b++;
        if (has && !more) slot[c].input = -1, open--;
        if (!more || b == block) c = (c + 1) % cycle, b = 0;
    }
    free(slot);
    return count;
}

static void interleave_follows_tensorflows_rule(void **state)
{
    (void)state;
    static int64_t want[ROOM], got[ROOM];
    for (uint64_t n = 0; n < 60; n++) {
        const int inputs = (int)hr_random_below(n, 0, INPUTS), cycle = 1 + (int)hr_random_below(n, 1, 9);
        const int block = 1 + (int)hr_random_below(n, 2, 6);
        for (int i = 0; i < INPUTS; i++) length[i] = (int)hr_random_below(n, 10 + (uint64_t)i, 9) * (i % 5 != 0);
        const int count = by_rule(inputs, cycle, block, want);
        hr_dataset *ds = hr_interleave(hr_range(inputs), numbers, NULL, .cycle_length = cycle, .block_length = block);
        const way w = {.workers = (int)(n % 3), .unit_rows = 1 + (int64_t)(n % 17)};
        assert_int_equal(int64_values(ds, w, got, ROOM), count);
        if (count) assert_memory_equal(got, want, (size_t)count * sizeof *want);
    }
}

static void interleave_takes_four_in_turn_by_default(void **state)
{
    (void)state;
    for (int i = 0; i < INPUTS; i++) length[i] = 2;
    assert_int64_values(hr_interleave(hr_range(5), numbers, NULL), HR_I64(0, 100, 200, 300, 1, 101, 201, 301, 400, 401),
                        10);
}

/* ---- functions that fail ---- */

static hr_dataset *fails_for_four(const hr_element *e, void *user)
{
    const int64_t n = value_of(e);
    return n == 4 ? hr_shuffle(hr_range(1), 0) : some_numbers(e, user);
}

static hr_dataset *null_for_four(const hr_element *e, void *user)
{
    return value_of(e) == 4 ? NULL : some_numbers(e, user);
}

static hr_dataset *other_for_four(const hr_element *e, void *user)
{
    return value_of(e) == 4 ? hr_batch(hr_range(3), 2) : some_numbers(e, user);
}

static hr_dataset *never(const hr_element *e, void *user)
{
    (void)e;
    *(bool *)user = true;
    return NULL;
}

HR_SAMPLE(one_dataset_fails)
{
    return hr_repeat(hr_interleave(hr_range(9, .start = 1), fails_for_four, NULL, .cycle_length = 2),
                     .count = HR_I64(3));
}

static void interleave_passes_a_failed_datasets_error_in_its_turn(void **state)
{
    (void)state;
    static run got;
    run_all(&got, sample_one_dataset_fails.build(), (way){.workers = 2});
    assert_status(got.end, HR_INVALID_ARGUMENT);
    assert_string_equal(got.error.kind, "shuffle.buffer_size");
    assert_int_equal(got.count, 1 + 2 + 2); /* 1, 2 2 and 3: 3 3 and nothing more, when 4 has its turn */
}

static void interleave_refuses_what_its_function_may_not_give(void **state)
{
    (void)state;
    assert_fails(hr_interleave(hr_range(9), null_for_four, NULL), HR_INVALID_ARGUMENT, "interleave.fn");
    assert_fails(hr_interleave(hr_range(9), other_for_four, NULL), HR_INVALID_ARGUMENT, "input.schema");
    assert_fails(hr_interleave(hr_range(9), NULL, NULL), HR_INVALID_ARGUMENT, "interleave.fn");
    bool called = false;
    assert_fails(hr_interleave(hr_range(9), never, &called), HR_INVALID_ARGUMENT, "interleave.fn");
    assert_true(called);
}

static void interleave_refuses_bad_lengths_without_a_call(void **state)
{
    (void)state;
    bool called = false;
    assert_fails(hr_interleave(hr_range(9), never, &called, .cycle_length = -1), HR_INVALID_ARGUMENT,
                 "interleave.cycle_length");
    assert_fails(hr_interleave(hr_range(9), never, &called, .block_length = -1), HR_INVALID_ARGUMENT,
                 "interleave.block_length");
    assert_false(called);
}

static void count_free(void *user) { ++*(int *)user; }

static hr_dataset *any_numbers(const hr_element *e, void *user)
{
    (void)user;
    return some_numbers(e, NULL);
}

static void interleave_frees_its_user_once(void **state)
{
    (void)state;
    int freed = 0;
    hr_dataset *ds = hr_interleave(hr_range(9), any_numbers, &freed, .user_free = count_free);
    assert_int_equal(freed, 0);
    hr_dataset_unref(ds);
    assert_int_equal(freed, 1);
    hr_dataset_unref(hr_interleave(hr_shuffle(hr_range(9), 0), any_numbers, &freed, .user_free = count_free));
    assert_int_equal(freed, 2);
    hr_dataset_unref(hr_interleave(hr_range(9), any_numbers, &freed, .cycle_length = -1, .user_free = count_free));
    assert_int_equal(freed, 3);
}

/* The function that opens CSV files is made to be handed over, with its options. */
static void interleave_opens_csv_files_by_their_own_function(void **state)
{
    (void)state;
    write_file("a.csv", "n\n1\n2\n", 6);
    write_file("b.csv", "n\n3\n", 4);
    const hr_csv_column column = {.name = "n", .dtype = HR_INT64};
    const hr_csv_opts opts = {.struct_size = sizeof opts, .columns = &column, .column_count = 1};
    hr_dataset *ds = hr_interleave(hr_list_files("?.csv"), hr_csv_fn, (void *)(uintptr_t)&opts);
    hr_iterator *it = hr_iterate(ds);
    const hr_element *e;
    hr_status st;
    int64_t sum = 0;
    while ((st = hr_next(it, &e)) == HR_OK) sum = 10 * sum + *(const int64_t *)hr_get(e, "n")->data;
    if (st != HR_END) fail_msg("%s", hr_iterator_error(it)->text);
    assert_int_equal(sum, 132);
    hr_iterator_free(it);
}

/* ---- parallel_interleave, and any order ---- */

static hr_dataset *copies_of(const hr_element *e, void *user)
{
    (void)user;
    const int64_t n = value_of(e);
    return hr_repeat(hr_range(n + 1, .start = n), .count = &n);
}

static hr_dataset *older(hr_dataset *in, int64_t cycle, int64_t block)
{
    return hr_parallel_interleave(in, some_numbers, NULL, .cycle_length = cycle, .block_length = block,
                                  .prefetch_input_elements = HR_I64(2));
}

HR_SAMPLE(parallel_interleave) { return hr_batch(older(hr_shuffle(hr_range(60), 8), 4, 3), 2); }
HR_SAMPLE(parallel_interleave_of_few) { return hr_repeat(older(hr_range(10), 1000, 2), .count = HR_I64(2)); }

static void parallel_interleave_replaces_an_ended_dataset_at_once(void **state)
{
    (void)state;
    hr_dataset *in = hr_range(6, .start = 1);
    assert_int64_values(hr_parallel_interleave(in, copies_of, NULL, .cycle_length = 3, .block_length = 2),
                        HR_I64(1, 2, 2, 3, 3, 4, 4, 3, 4, 5, 5, 4, 5, 5, 5), 15);
    assert_int64_values(hr_interleave(hr_range(6, .start = 1), copies_of, NULL, .cycle_length = 3, .block_length = 2),
                        HR_I64(1, 2, 2, 3, 3, 4, 4, 3, 4, 4, 5, 5, 5, 5, 5), 15);
}

static void without_an_order_nothing_is_lost(void **state)
{
    (void)state;
    int64_t value[400], sum = 0;
    for (int sloppy = 0; sloppy < 2; sloppy++) {
        hr_dataset *in = hr_range(20);
        in = sloppy ? hr_parallel_interleave(in, copies_of, NULL, .sloppy = true)
                    : hr_interleave(in, copies_of, NULL, .unordered = true);
        assert_int_equal(int64_values(in, (way){.workers = 2, .unit_rows = 2}, value, 400), 190);
        for (int i = 0; i < 190; i++) sum += value[i];
    }
    assert_int_equal(sum, 2 * 2470); /* the squares below 20 */
}

static hr_dataset *so_many(const hr_element *element, void *user)
{
    (void)element;
    return hr_range(*(const int64_t *)user);
}

/* Memory and allocations, unlike time, are the same on a loaded machine. */
static void each_of_a_thousand_open_datasets_costs_little(void **state)
{
    (void)state;
    enum { CYCLE = 1000, EACH = 200, MOST_BYTES = 64 << 10, MOST_ALLOCATIONS = 100 };
    static int64_t each = EACH;
    int64_t count = 0;
    const hr_element *e;
    hr_status st;
    fail_allocation(INT64_MAX);
    watch_memory();
    hr_iterator *it = iterate(hr_interleave(hr_range(CYCLE), so_many, &each, .cycle_length = CYCLE), (way){0});
    while ((st = hr_next(it, &e)) == HR_OK) count++;
    assert_status(st, HR_END);
    assert_int_equal(count, CYCLE * EACH);
    hr_iterator_free(it);
    assert_in_range(most_memory(), 0, CYCLE * MOST_BYTES);
    assert_in_range(allocations_since(), 0, CYCLE * MOST_ALLOCATIONS);
}

/* What a unit records of each open input is shared by many rows: counted by the tokens that the reader meets. */
static void a_row_records_less_than_one_position_of_a_thousand(void **state)
{
    (void)state;
    enum { CYCLE = 1000, EACH = 200 };
    int64_t each = EACH, rows = 0, positions = 0;
    const token *last = NULL;
    const hr_element *e;
    hr_iterator *it =
        iterate(hr_interleave(hr_range(CYCLE), so_many, &each, .cycle_length = CYCLE), (way){.workers = 1});
    for (; hr_next(it, &e) == HR_OK; rows++) {
        if (it->input.before != last) positions += it->input.before->links;
        last = it->input.before;
    }
    assert_int_equal(rows, CYCLE * EACH);
    hr_iterator_free(it);
    assert_in_range(positions, CYCLE, rows / 10);
}

HR_ARGUMENTS(interleave, few_of(hr_range(20), 4, 3), few_of(hr_range(20), 3, 3), few_of(hr_range(20), 4, 2),
             older(hr_range(20), 4, 3));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(interleave),
        HR_CONFORMANCE_OF_ARGUMENTS(interleave),
        HR_CONFORMANCE(parallel_interleave),
        HR_CONFORMANCE(parallel_interleave_of_few),
        cmocka_unit_test(parallel_interleave_replaces_an_ended_dataset_at_once),
        cmocka_unit_test(without_an_order_nothing_is_lost),
        HR_CONFORMANCE(interleave_of_one_at_a_time),
        HR_CONFORMANCE(interleave_of_more_slots_than_inputs),
        HR_CONFORMANCE(interleave_below_shuffle_and_repeat),
        HR_CONFORMANCE(interleave_of_many),
        HR_CONFORMANCE(interleave_of_many_below_shuffle),
        HR_CONFORMANCE(interleave_of_interleaves),
        cmocka_unit_test(rows_outlive_the_inputs_they_came_from),
        HR_CONFORMANCE_OF_FAILURE(one_dataset_fails),
        cmocka_unit_test(interleave_follows_tensorflows_rule),
        cmocka_unit_test(each_of_a_thousand_open_datasets_costs_little),
        cmocka_unit_test(a_row_records_less_than_one_position_of_a_thousand),
        cmocka_unit_test(interleave_takes_four_in_turn_by_default),
        cmocka_unit_test(interleave_passes_a_failed_datasets_error_in_its_turn),
        cmocka_unit_test(interleave_refuses_what_its_function_may_not_give),
        cmocka_unit_test(interleave_refuses_bad_lengths_without_a_call),
        cmocka_unit_test(interleave_frees_its_user_once),
        cmocka_unit_test(interleave_opens_csv_files_by_their_own_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
