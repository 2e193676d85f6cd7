/* Operators from outside the library, written with <headrace/op.h> alone: they keep what the library's own keep. And
 * what must be true of every descriptor of ops.def. */
#include <headrace/op.h>
#include <headrace/op_functions.h>
#include <string.h>

/* ---- every_nth: passes one element of n, from the first on. It plans, and saves one number ---- */

typedef struct nth_spec {
    int64_t n;
} nth_spec;

typedef struct nth_state {
    int64_t seen; /* saved */
} nth_state;

static hr_status nth_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    if (((const nth_spec *)spec)->n >= 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "nth.n", "every_nth: expected n > 0");
}

static hr_status nth_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const int64_t n = ((const nth_spec *)spec)->n;
    nth_state *st = state;
    while (hr_room(p) > 0) {
        hr_span span;
        HR_TRY(hr_pull(p, 0, 1, &span));
        if (st->seen++ % n == 0)
            hr_emit(p, span);
        else
            hr_span_drop(span);
    }
    return HR_OK;
}

static void nth_describe(const void *spec, hr_description *to)
{
    hr_describe_number(to, NULL, *(const int64_t *)spec);
    hr_describe_text(to, "of", "a name that is longer than forty bytes\nin all");
    hr_describe_text(to, "nothing", NULL);
    hr_describe_option(to, "step", 2);
    hr_describe_option(to, "default", 0);
    hr_describe_flag(to, "flag", true);
    hr_describe_flag(to, "no flag", false);
    hr_describe_seed(to, UINT64_MAX, true);
}

static const hr_op op_every_nth = {
    .head = HR_OP_HEAD,
    .name = "every_nth",
    .spec_size = sizeof(nth_spec),
    .state_size = sizeof(nth_state),
    .saved = 1,
    .check = nth_check,
    .plan = nth_plan,
    .describe = nth_describe,
};

/* ---- add: adds a number to the rows of an int64 column. It works, row by row, so a batch may come first ---- */

static hr_status add_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit, (void)w, (void)err;
    int64_t *value = rows->column[0].values;
    for (int64_t r = 0; r < rows->rows; r++) value[r] += *(const int64_t *)spec;
    return HR_OK;
}

static const hr_op op_add = {
    .head = HR_OP_HEAD, .name = "add", .spec_size = sizeof(int64_t), .traits = HR_ROW_BY_ROW, .work = add_work};

/* ---- each: calls a user's function for each row, as the head of op_functions.h shows ---- */

typedef struct each_spec {
    hr_user user; /* first */
    hr_map_fn *fn;
} each_spec;

static hr_status each_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)out;
    return hr_builder_check("each", "each.output", in[0], err);
}

static hr_status each_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const each_spec *sp = spec;
    hr_columns before;
    const int levels = hr_work_levels(w);
    HR_TRY(hr_new_columns(w, rows, &before, err));
    hr_builder_zero(rows, 0, rows->rows);
    for (int64_t e = 0; hr_element_row(&before, levels, e) < rows->rows && !hr_work_cancelled(w); e++) {
        const int64_t first = hr_element_row(&before, levels, e), end = hr_element_row(&before, levels, e + 1);
        const hr_element *in = hr_work_element(w, &before, e);
        if (!in) return hr_no_memory(err, "an element");
        hr_builder out = hr_builder_for_work(w, rows, first, end);
        hr_call call;
        hr_call_for_row(&call, "each.function", w, rows, first, 0);
        hr_builder_begin(&out);
        if (hr_builder_status(&out, &call, "each", sp->fn(in, &out, &call, sp->user.data)) < 0)
            hr_fail_at(w, rows, first, &call.err);
    }
    return HR_OK;
}

static const hr_op op_each = {
    .head = HR_OP_HEAD,
    .name = "each",
    .spec_size = sizeof(each_spec),
    .traits = HR_ROW_BY_ROW | HR_RANDOM_ROWS,
    .spec_copy = hr_user_copy,
    .spec_free = hr_user_free,
    .check = each_check,
    .work = each_work,
};

static hr_dataset *each(hr_dataset *in, hr_map_fn *fn, void *user, void (*user_free)(void *user))
{
    each_spec spec = {.user = {.data = user, .free = user_free}, .fn = fn};
    return hr_user_dataset(&op_each, &spec, &spec.user, &in, 1);
}

/* ---- strict: reports every row that it refuses, also those after the first ---- */

static hr_status strict_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)err;
    const int64_t count = rows->rows;
    for (int64_t r = count - 1; r >= 0; r--) {
        const int64_t value = ((const int64_t *)rows->column[0].values)[r];
        hr_error refused;
        if (value % 50 < 48) continue;
        hr_fail(&refused, HR_INVALID_ARGUMENT, "strict.value", "refused %lld", (long long)value);
        hr_fail_at(w, rows, r, &refused);
    }
    return HR_OK;
}

static const hr_op op_strict = {.head = HR_OP_HEAD, .name = "strict", .traits = HR_ROW_BY_ROW, .work = strict_work};

/* ---- squares: a source. Its plan numbers the rows, its work makes them ---- */

typedef struct squares_state {
    int64_t next; /* saved */
} squares_state;

static hr_status squares_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)in;
    return hr_schema_set(out, &hr_int64_schema, err);
}

static hr_status squares_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const int64_t stop = *(const int64_t *)spec;
    squares_state *st = state;
    const int64_t left = stop - st->next, count = left < hr_room(p) ? left : hr_room(p);
    if (count == 0) return left ? HR_OK : HR_END;
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "squares: rows");
    for (int64_t r = 0; r < count; r++) ((int64_t *)rows->column[0].values)[r] = st->next++;
    rows->rows = count;
    return st->next == stop ? HR_END : HR_OK;
}

static hr_status squares_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)w, (void)err;
    int64_t *value = rows->column[0].values;
    for (int64_t r = 0; r < rows->rows; r++) value[r] *= value[r];
    return HR_OK;
}

static hr_status squares_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    return hr_saved_between("squares", ((const squares_state *)state)->next, 0, *(const int64_t *)spec, err);
}

static const hr_op op_squares = {
    .head = HR_OP_HEAD,
    .name = "squares",
    .spec_size = sizeof(int64_t),
    .state_size = sizeof(squares_state),
    .saved = 1,
    .load = squares_load,
    .check = squares_check,
    .plan = squares_plan,
    .work = squares_work,
};

/* ---- two_in_turn: some elements of one input, as many of the other, until one ends. Many spans in one call ---- */

typedef struct turns_state {
    int64_t turn, in_block; /* saved */
} turns_state;

/* As two spans, where hr_pass would give one. */
static hr_status pass_halves(hr_plan *p, int64_t at_most, int64_t *passed)
{
    hr_span span;
    HR_TRY(hr_pull(p, 1, at_most, &span));
    *passed = span.count;
    if (span.count == 1) {
        hr_emit_spans(p, &span, 1);
        return HR_OK;
    }
    const int32_t half = span.count / 2;
    const hr_span both[] = {hr_span_share(span, 0, half), hr_span_share(span, half, span.count - half)};
    hr_emit_spans(p, both, 2);
    hr_span_drop(span);
    return HR_OK;
}

static hr_status turns_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    static const int inputs[] = {0, 1};
    const int64_t block = *(const int64_t *)spec;
    turns_state *st = state;
    while (hr_room(p) > 0) {
        if (st->turn == 0 && st->in_block == 0 && hr_emit_rounds(p, inputs, 2, block) > 0) continue;
        int64_t passed = 0;
        const int64_t wanted = block - st->in_block < hr_room(p) ? block - st->in_block : hr_room(p);
        HR_TRY(st->turn == 0 ? hr_pass(p, 0, wanted, &passed) : pass_halves(p, wanted, &passed));
        st->in_block += passed;
        if (st->in_block < block) continue;
        st->turn = 1 - st->turn;
        st->in_block = 0;
    }
    return HR_OK;
}

static hr_status turns_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    return hr_saved_between("two_in_turn", ((const turns_state *)state)->in_block, 0, *(const int64_t *)spec - 1, err);
}

static const hr_saved_range turns_range[] = {{0, 1}};

static const hr_op op_two_in_turn = {
    .head = HR_OP_HEAD,
    .name = "two_in_turn",
    .spec_size = sizeof(int64_t),
    .state_size = sizeof(turns_state),
    .saved = 2,
    .range = turns_range,
    .ranges = 1,
    .traits = HR_MOVES_SPANS,
    .load = turns_load,
    .plan = turns_plan,
};

/* ---- held: passes elements on one by one, each of which it holds once more for a moment ---- */

static hr_status held_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec, (void)state, (void)err;
    while (hr_room(p) > 0) {
        hr_span span;
        HR_TRY(hr_pull(p, 0, hr_room(p), &span));
        for (int32_t i = 0; i < span.count; i++) {
            const hr_span one = hr_span_share(span, i, 1);
            const hr_span held = hr_span_share(one, 0, 1);
            hr_emit(p, one);
            hr_span_drop(held);
        }
        hr_span_drop(span);
    }
    return HR_OK;
}

static const hr_op op_held = {.head = HR_OP_HEAD, .name = "held", .traits = HR_MOVES_SPANS, .plan = held_plan};

/* ---- taken: passes elements on as moved out of their span, one or two at a time; those of every other span lie in a
 * second one meanwhile, and the fifth of each in a third ---- */

static hr_status taken_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec, (void)err;
    int64_t *spans = state;
    while (hr_room(p) > 0) {
        hr_span span, other = {0}, none = {0};
        HR_TRY(hr_pull(p, 0, hr_room(p), &span));
        if ((*spans)++ % 2) other = hr_span_share(span, 0, span.count);
        for (int32_t i = 0; span.count > 0; i++) {
            const hr_span third = i == 4 ? hr_span_share(span, 0, 1) : none;
            const int32_t count = span.count > 1 && i % 2 ? 2 : 1;
            hr_emit(p, hr_span_take(&span, count));
            hr_span_drop(other.in ? hr_span_take(&other, count) : none);
            hr_span_drop(third);
        }
        if (span.in || other.in) return HR_INTERNAL; /* all was taken */
    }
    return HR_OK;
}

static const hr_op op_taken = {
    .head = HR_OP_HEAD,
    .name = "taken",
    .state_size = sizeof(int64_t),
    .traits = HR_MOVES_SPANS,
    .plan = taken_plan,
};

/* ---- the tests, which use the rest of the library ---- */

#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>

static hr_dataset *every_nth(hr_dataset *in, int64_t n)
{
    return hr_dataset_new(&op_every_nth, &(nth_spec){n}, &in, 1);
}
static hr_dataset *add(hr_dataset *in, int64_t n) { return hr_dataset_new(&op_add, &n, &in, 1); }
static hr_dataset *strict(hr_dataset *in) { return hr_dataset_new(&op_strict, NULL, &in, 1); }
static hr_dataset *squares(int64_t stop) { return hr_dataset_new(&op_squares, &stop, NULL, 0); }

static hr_dataset *two_in_turn(hr_dataset *a, hr_dataset *b, int64_t block)
{
    return hr_dataset_new(&op_two_in_turn, &block, (hr_dataset *[]){a, b}, 2);
}

/* Rows that wait in a shuffle lie in cells, but those of more than 64 KiB. */
static hr_status make_word(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    enum { LONG = 70000, EVERY = 50 };
    (void)call, (void)user;
    const int64_t i = *(const int64_t *)hr_get_at(in, 0)->data, size = i % EVERY == 1 ? LONG : i % 30;
    char *text = malloc((size_t)size + 1);
    if (!text) return HR_RESOURCE_EXHAUSTED;
    memset(text, 'a' + (int)(i % 26), (size_t)size + 1);
    const hr_status st = hr_set_string(out, "value", text, size);
    free(text);
    return st;
}
static hr_dataset *words(int64_t count)
{
    return hr_map(hr_range(count), make_word, NULL, .output = &hr_string_schema);
}
static hr_dataset *held(hr_dataset *in) { return hr_dataset_new(&op_held, NULL, &in, 1); }
static hr_dataset *taken(hr_dataset *in) { return hr_dataset_new(&op_taken, NULL, &in, 1); }

HR_SAMPLE(every_nth) { return hr_batch(every_nth(hr_shuffle(hr_range(300), 40), 3), 7); }
HR_SAMPLE(add) { return hr_batch(add(hr_shuffle(hr_range(300), 40), 5), 7); }
HR_SAMPLE(squares) { return hr_batch(hr_shuffle(every_nth(squares(300), 2), 40), 7); }
HR_SAMPLE(two_in_turn) { return hr_batch(two_in_turn(hr_shuffle(hr_range(150), 20), squares(140), 1), 7); }
HR_SAMPLE(two_in_turn_by_threes) { return hr_shuffle(two_in_turn(squares(150), hr_range(200), 3), 20); }
HR_SAMPLE(all_together)
{
    return add(hr_batch(hr_repeat(every_nth(add(squares(40), 2), 3), .count = HR_I64(4)), 3), 1);
}
HR_SAMPLE(each) { return hr_batch(each(hr_shuffle(hr_range(200), 20), draw_digits, NULL, NULL), 7); }
HR_SAMPLE(held) { return hr_batch(held(hr_shuffle(held(words(120)), 40)), 7); }
HR_SAMPLE(taken) { return hr_batch(taken(hr_shuffle(taken(words(120)), 40)), 7); }
HR_SAMPLE(taken_and_held) { return hr_shuffle(taken(held(taken(words(120)))), 40); }
HR_SAMPLE(words_by_themselves) { return hr_shuffle(words(120), 40); }
HR_SAMPLE(words_in_turn) { return hr_batch(hr_shuffle(two_in_turn(words(60), words(55), 1), 20), 7); }
HR_SAMPLE(strict) { return strict(hr_range(300)); }
HR_SAMPLE(strict_after_a_shuffle) { return hr_batch(strict(hr_shuffle(hr_range(300), 30)), 4); }

static void operators_from_outside_give_their_values(void **state)
{
    (void)state;
    assert_int64_values(every_nth(hr_range(8), 3), HR_I64(0, 3, 6), 3);
    assert_int64_values(add(hr_range(3), 5), HR_I64(5, 6, 7), 3);
    assert_int64_values(squares(4), HR_I64(0, 1, 4, 9), 4);
    assert_int64_values(two_in_turn(hr_range(5), squares(9), 2), HR_I64(0, 1, 0, 1, 2, 3, 4, 9, 4), 9);
    assert_int64_values(add(hr_batch(squares(4), 3), 1), HR_I64(1, 2, 5, 10), 4);
    assert_fails(hr_batch(every_nth(hr_range(8), 0), 3), HR_INVALID_ARGUMENT, "nth.n");
}

static hr_status refuse_two(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)out, (void)user;
    if (*(const int64_t *)hr_get(in, "value")->data == 2) return hr_call_fail(call, HR_OUT_OF_RANGE, "each: refused");
    return HR_OK;
}

static void count_free(void *user) { ++*(int *)user; }

static void an_operator_from_outside_calls_users_functions(void **state)
{
    (void)state;
    int freed = 0;
    hr_dataset *ds = each(hr_range(4), refuse_two, &freed, count_free);
    assert_ptr_equal(((const each_spec *)hr_dataset_spec(ds, &op_each))->user.data, &freed);
    assert_null(hr_dataset_spec(ds, &op_add));
    assert_null(hr_dataset_spec(hr_dataset_input(ds, 0), &op_each));
    assert_null(hr_dataset_input(ds, 1));
    assert_fails(ds, HR_OUT_OF_RANGE, "each.function");
    assert_int_equal(freed, 1);
    const hr_error why = {.code = HR_NOT_FOUND, .kind = "file.open", .text = "not there"};
    assert_fails(each(hr_dataset_failed(&why), refuse_two, &freed, count_free), HR_NOT_FOUND, "file.open");
    assert_int_equal(freed, 2); /* no dataset took it */
}

static void keys_are_numbered_as_they_come(void **state)
{
    (void)state;
    hr_keys keys = {0};
    for (int64_t i = 0; i < 100; i++) assert_int_equal(hr_keys_add(&keys, -i * i), i);
    assert_int_equal(hr_keys_add(&keys, -49), 7);
    assert_int_equal(hr_keys_find(&keys, -81), 9);
    assert_int_equal(hr_keys_find(&keys, 1), -1);
    int64_t *sorted = hr_keys_sorted(&keys);
    assert_non_null(sorted);
    assert_int_equal(sorted[0], 99);
    assert_int_equal(sorted[99], 0);
    hr_free(sorted);
    hr_keys_clear(&keys);
}

static void the_lowest_of_several_failed_rows_wins(void **state)
{
    (void)state;
    static run got;
    run_all(&got, strict(hr_range(300)), (way){.workers = 2, .unit_rows = 1000});
    assert_int_equal(got.count, 48);
    assert_status(got.end, HR_INVALID_ARGUMENT);
    assert_text_contains(got.error.text, "refused 48");
}

/* op_add as a plug-in has it that was compiled with a header of `size` bytes: in memory of its own, so that sanitizers
 * see who reads on. What the header here does not have is zero. */
static hr_op *add_of_size(size_t size)
{
    hr_op *op = hr_calloc(1, size);
    assert_non_null(op);
    memcpy(op, &op_add, size < sizeof *op ? size : sizeof *op);
    op->head.struct_size = (uint32_t)size;
    return op;
}

static hr_dataset *range_through(const hr_op *op)
{
    hr_dataset *in = hr_range(3);
    return hr_dataset_new(op, HR_I64(5), &in, 1);
}

static void an_operator_of_another_version_is_refused(void **state)
{
    (void)state;
    hr_op future = op_add;
    future.head.abi_version = HR_OP_ABI + 1;
    assert_fails(range_through(&future), HR_FAILED_PRECONDITION, "op.abi");
    future = op_add;
    future.head.struct_size = sizeof future.head;
    assert_fails(range_through(&future), HR_FAILED_PRECONDITION, "op.abi");
    assert_fails(range_through(NULL), HR_FAILED_PRECONDITION, "op.abi");
}

static void an_operator_of_an_older_header_loads(void **state)
{
    (void)state;
    static const size_t sizes[] = {offsetof(hr_op, ranges), offsetof(hr_op, range), offsetof(hr_op, cardinality),
                                   offsetof(hr_op, close)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hr_op *older = add_of_size(sizes[i]);
        assert_int64_values(range_through(older), HR_I64(5, 6, 7), 3);
        hr_free(older);
    }
}

static void an_operator_of_an_older_header_finds_its_own_datasets(void **state)
{
    (void)state;
    hr_op *older = add_of_size(offsetof(hr_op, ranges));
    hr_dataset *ds = range_through(older);
    const int64_t *amount = hr_dataset_spec(ds, older);
    assert_non_null(amount);
    assert_int_equal(*amount, 5);
    assert_null(hr_dataset_spec(ds, &op_add));
    hr_dataset_unref(ds);
    hr_free(older);
}

static void an_operator_of_a_newer_header_loads_unless_it_sets_what_is_new(void **state)
{
    (void)state;
    hr_op *newer = add_of_size(sizeof *newer + 8);
    assert_int64_values(range_through(newer), HR_I64(5, 6, 7), 3);
    ((char *)(newer + 1))[3] = 1;
    hr_dataset *ds = range_through(newer);
    char sizes[64];
    snprintf(sizes, sizeof sizes, "'add': expected a descriptor of %zu bytes", sizeof *newer);
    assert_text_contains(hr_dataset_error(ds)->text, sizes);
    assert_fails(ds, HR_FAILED_PRECONDITION, "op.abi");
    hr_free(newer);
}

#define HR_OP(name) extern const hr_op hr_op_##name;
#include "data/ops/ops.def"
#undef HR_OP

static void assert_sound(const hr_op *op)
{
    assert_int_equal(op->head.abi_version, HR_OP_ABI);
    assert_int_equal(op->head.struct_size, sizeof *op);
    if (!op->plan && !op->work) assert_true(op->traits & (HR_IGNORES_ERRORS | HR_PASSES_ROWS));
    assert_at_most(op->saved * sizeof(int64_t), op->state_size);
    assert_at_most(op->ranges, op->saved);
    assert_int_equal(op->ranges == 0, op->range == NULL);
    if (op->save) assert_non_null(op->load); /* load alone may refuse a state */
    if (op->spec_copy) assert_non_null(op->spec_free);
    if (op->traits & (HR_ROW_BY_ROW | HR_RANDOM_ROWS)) assert_non_null(op->work);
    if (op->held_from || op->traits & (HR_GROUPS_ROWS | HR_JOINS_ROWS)) assert_non_null(op->plan);
}

static void every_operator_of_the_list_is_complete_and_in_order(void **state)
{
    (void)state;
    static const hr_op *const ops[] = {
#define HR_OP(name) &hr_op_##name,
#include "data/ops/ops.def"
#undef HR_OP
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        assert_sound(ops[i]);
        if (i > 0 && strcmp(ops[i - 1]->name, ops[i]->name) >= 0)
            fail_msg("expected %s before %s", ops[i]->name, ops[i - 1]->name);
    }
}

static void an_operator_says_its_arguments(void **state)
{
    (void)state;
    hr_dataset *ds = build_every_nth();
    char *text = hr_explain_dataset(ds);
    if (!strstr(text, "every_nth(3, of a name that is longer than forty bytes i..., step 2, flag, seed "
                      "18446744073709551615, same_each_epoch)"))
        fail_msg("%s", text);
    hr_free(text);
    hr_dataset_unref(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(every_nth),
        HR_CONFORMANCE(add),
        HR_CONFORMANCE(squares),
        HR_CONFORMANCE(two_in_turn),
        HR_CONFORMANCE(two_in_turn_by_threes),
        HR_CONFORMANCE(all_together),
        HR_CONFORMANCE(each),
        HR_CONFORMANCE(held),
        HR_CONFORMANCE(taken),
        HR_CONFORMANCE(taken_and_held),
        HR_CONFORMANCE(words_by_themselves),
        HR_CONFORMANCE(words_in_turn),
        HR_CONFORMANCE_OF_FAILURE(strict),
        HR_CONFORMANCE_OF_FAILURE(strict_after_a_shuffle),
        cmocka_unit_test(operators_from_outside_give_their_values),
        cmocka_unit_test(an_operator_from_outside_calls_users_functions),
        cmocka_unit_test(keys_are_numbered_as_they_come),
        cmocka_unit_test(an_operator_says_its_arguments),
        cmocka_unit_test(the_lowest_of_several_failed_rows_wins),
        cmocka_unit_test(an_operator_of_another_version_is_refused),
        cmocka_unit_test(an_operator_of_an_older_header_loads),
        cmocka_unit_test(an_operator_of_an_older_header_finds_its_own_datasets),
        cmocka_unit_test(an_operator_of_a_newer_header_loads_unless_it_sets_what_is_new),
        cmocka_unit_test(every_operator_of_the_list_is_complete_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
