/* The rules of the byte budget, one by one: on stages that are put together by hand, and on what a running pipeline
 * reserves and gives back. What they are for, a tight budget that stops no pipeline, comes last. */
#include "data/iterator.h"
#include "tests/data/conformance.h"
#include <string.h>

/* The consumer reads stage 0, that one stage 1, and that one stage 2; `beside` is another input of stage 1. */
enum { STAGES = 3, LAST = STAGES - 1 };
static struct {
    engine e;
    stage stage[STAGES], beside, *all[STAGES + 1];
} hand;

enum { HELD = 10000, RESERVED = 700, ALL_STAGES = 5000, LARGEST = 40 };
static const size_t unit_bytes[STAGES] = {100, 20, 3};

/* Everybody waits for the last stage, and nobody has anything. */
static void put_together(void)
{
    memset(&hand, 0, sizeof hand);
    engine *e = &hand.e;
    atomic_store(&e->store.held, HELD);
    e->reserved = RESERVED;
    e->stages_bytes = ALL_STAGES;
    e->largest_unit = LARGEST;
    e->stage = hand.all;
    for (int i = 0; i < STAGES; i++) {
        stage *s = &hand.stage[i];
        *s = (stage){.engine = e, .reader = i ? s - 1 : &e->root, .depth = i + 1, .unit_bytes = unit_bytes[i]};
        s->planned = s->taken = 5;
        s->reader->blocked_on = s;
        hand.all[e->stages++] = s;
    }
    hand.beside = (stage){.engine = e, .reader = &hand.stage[1], .depth = STAGES, .unit_bytes = unit_bytes[LAST]};
    hand.all[e->stages++] = &hand.beside;
}

static void assert_needs(const stage *s, size_t bytes)
{
    for (int less = 0; less < 2; less++) {
        hand.e.budget = bytes - (size_t)less;
        const bool fits = hr__budget_fits(&hand.e, s);
        if (fits == less) fail_msg("a budget of %zu: the unit %s", hand.e.budget, fits ? "fits" : "does not fit");
    }
}

/* What a stage plans beyond its first unit leaves memory for one more of every stage. */
static void a_further_unit_leaves_one_for_every_stage(void **state)
{
    (void)state;
    for (int i = 0; i < STAGES; i++) {
        put_together();
        hand.stage[i].planned++;
        assert_needs(&hand.stage[i], HELD + RESERVED + unit_bytes[i] + ALL_STAGES);
    }
}

/* Whether to look at such stages at all. */
static void further_units_need_one_for_every_stage(void **state)
{
    (void)state;
    put_together();
    hand.e.budget = HELD + RESERVED + ALL_STAGES;
    assert_true(hr__budget_fits_more(&hand.e));
    hand.e.budget--;
    assert_false(hr__budget_fits_more(&hand.e));
}

/* A first unit needs itself, one of the largest, and one of each stage that will read it; or itself and one of the
 * largest for each stage, if that is less. */
static void a_first_unit_leaves_one_for_each_reader(void **state)
{
    (void)state;
    put_together();
    hand.e.root.blocked_on = NULL; /* nobody waits for it: it is not let over the budget */
    hand.e.largest_unit = 1000;
    assert_needs(&hand.stage[2], HELD + RESERVED + 3 + 1000 + 20 + 100);
    assert_needs(&hand.stage[1], HELD + RESERVED + 20 + 1000 + 100);
    assert_needs(&hand.stage[0], HELD + RESERVED + 100 + 1000);
    hand.e.largest_unit = 10;
    assert_needs(&hand.stage[2], HELD + RESERVED + 3 + 3 * 10);
    assert_needs(&hand.stage[1], HELD + RESERVED + 20 + 2 * 10);
    hand.e.largest_unit = 0; /* nothing was measured yet */
    assert_needs(&hand.stage[2], HELD + RESERVED + 3);
}

/* ---- who may go over it ---- */

/* Of a budget that nothing fits into. */
static bool goes_over(const stage *s)
{
    hand.e.budget = 1;
    const bool goes = hr__budget_fits(&hand.e, s);
    assert_int_equal(goes, (hand.e.over_budget > 0)); /* and it is noted */
    return goes;
}

static void the_unit_that_all_wait_for_is_never_refused(void **state)
{
    (void)state;
    put_together();
    for (int i = 0; i < STAGES; i++) assert_true(goes_over(&hand.stage[i]));
}

static void a_unit_that_its_reader_does_not_wait_for_is_refused(void **state)
{
    (void)state;
    put_together();
    assert_false(goes_over(&hand.beside)); /* its reader waits for the other input */
    for (int i = 0; i < STAGES; i++) {
        put_together();
        hand.stage[i].reader->blocked_on = NULL;
        assert_false(goes_over(&hand.stage[LAST]));
    }
}

static void a_unit_is_refused_while_one_is_in_flight_downstream(void **state)
{
    (void)state;
    for (int i = 0; i < STAGES; i++) {
        put_together();
        hand.stage[i].planned++;
        assert_false(goes_over(&hand.stage[LAST]));
    }
}

/* What the unit itself will take is not known yet. */
static void the_most_that_was_held_beyond_the_budget_is_noted(void **state)
{
    (void)state;
    put_together();
    hand.e.budget = HELD + RESERVED; /* only the unit does not fit */
    assert_true(hr__budget_fits(&hand.e, &hand.stage[LAST]));
    assert_int_equal(hand.e.over_budget, 0);
    for (size_t over = 5; over < 9; over += 3) {
        hand.e.budget = HELD + RESERVED - over;
        assert_true(hr__budget_fits(&hand.e, &hand.stage[LAST]));
        assert_int_equal(hand.e.over_budget, over);
    }
    hand.e.budget = HELD + RESERVED - 1;
    assert_true(hr__budget_fits(&hand.e, &hand.stage[LAST]));
    assert_int_equal(hand.e.over_budget, 8);
}

/* ---- what to reserve for a unit ---- */

enum { SOME_BLOCKS = 1024 /* what hr__budget_learn adds for what a unit has beside its rows */ };

static rows *rows_of(size_t cells, size_t given_up)
{
    static rows r;
    r = (rows){.cell_bytes = cells, .given_up = given_up};
    return &r;
}

static void learn(stage *s, size_t bytes) { hr__budget_learn(s, &(unit){.rows = rows_of(bytes - SOME_BLOCKS, 0)}); }

static void rows_take_their_cells_and_all_their_blocks(void **state)
{
    (void)state;
    block chain[2] = {{.size = 10000}, {.size = 20000}}, bytes = {.size = 3000}, texts = {.size = 50},
          held = {.size = 700};
    chain[0].next = &chain[1];
    const rows r = {.cell_bytes = 5, .arrays = chain, .bytes = &bytes, .texts = &texts, .held = &held};
    assert_int_equal(hr__rows_size(&r), 5 + 10000 + 20000 + 3000 + 50 + 700 + 5 * BLOCK_EXTRA);
}

static void a_unit_is_taken_to_be_as_large_as_the_largest_so_far(void **state)
{
    (void)state;
    put_together();
    stage *s = &hand.stage[LAST];
    hand.beside.planned = hand.beside.taken = 1; /* it knows its own size */
    hr__budget_learn(s, &(unit){.rows = rows_of(6000, 900)});
    assert_int_equal(s->unit_bytes, 6000 + 900 + SOME_BLOCKS);
    assert_int_equal(hand.e.largest_unit, 6000 + 900 + SOME_BLOCKS);
    assert_int_equal(hand.e.stages_bytes, ALL_STAGES + s->unit_bytes - unit_bytes[LAST]);

    const size_t largest = s->unit_bytes;
    learn(s, largest / 2 + 1); /* smaller, but not by much */
    assert_int_equal(s->unit_bytes, largest);
    hr__budget_learn(s, &(unit){0}); /* much smaller */
    assert_int_equal(s->unit_bytes, largest - (largest - SOME_BLOCKS) / 8);
    assert_int_equal(hand.e.stages_bytes, ALL_STAGES + s->unit_bytes - unit_bytes[LAST]);
    assert_int_equal(hand.e.largest_unit, largest);
}

/* Files that are open but were not read yet; one that was knows better. */
static void what_was_not_read_yet_is_taken_to_be_like_what_is_beside_it(void **state)
{
    (void)state;
    put_together();
    stage *read = &hand.stage[LAST], *reader = &hand.stage[LAST - 1];
    learn(read, 9000);
    assert_int_equal(reader->input_bytes, 9000);
    assert_int_equal(hand.beside.unit_bytes, 9000);
    assert_int_equal(reader->unit_bytes, unit_bytes[LAST - 1]);
    assert_int_equal(hand.stage[0].unit_bytes, unit_bytes[0]);
    assert_int_equal(hand.e.stages_bytes, ALL_STAGES + 2 * (9000 - unit_bytes[LAST]));

    hand.beside.planned = hand.beside.taken = 1;
    learn(read, 9500);
    assert_int_equal(hand.beside.unit_bytes, 9000);
    hand.beside.planned = hand.beside.taken = 0;
    hand.beside.unit_bytes = 20000;
    learn(read, 10000);
    assert_int_equal(hand.beside.unit_bytes, 20000);
    learn(read, 9900); /* the largest one counts */
    assert_int_equal(reader->input_bytes, 10000);
}

/* ---- a pipeline that runs ---- */

/* With the lock held. */
static void assert_is_kept(const engine *e)
{
    size_t all = 0;
    int busy = 0;
    for (int i = 0; i < e->stages; i++) {
        all += e->stage[i]->unit_bytes;
        busy += e->stage[i]->busy;
    }
    if (all != e->stages_bytes) fail_msg("a unit of each stage takes %zu bytes, not %zu", all, e->stages_bytes);
    if (busy == 0 && e->leaving == 0 && e->reserved > 0)
        fail_msg("nobody is at work, %zu bytes are reserved", e->reserved);
    if (busy > 0 && e->reserved == 0) fail_msg("%d threads are at work, and nothing is reserved", busy);
}

static hr_dataset *few_rows(const hr_element *element, void *user)
{
    (void)user;
    const int64_t n = *(const int64_t *)hr_get(element, "value")->data;
    return hr_shuffle(hr_map(hr_range(20 * (n % 5)), draw_digits, NULL), 9);
}

static hr_dataset *some_inputs(int64_t elements)
{
    return hr_interleave(hr_range(elements), few_rows, NULL, .cycle_length = 5, .block_length = 3);
}

/* Goes on while stages come and go, also where the consumer stops in the middle. */
static void what_is_reserved_is_given_back(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 3; workers += 3)
        for (int end = 0; end < 2; end++) {
            const hr_element *e;
            hr_status st = HR_OK;
            hr_iterator *it = iterate(hr_take(hr_batch(some_inputs(60), 4), end ? 40 : 2000),
                                      (way){.workers = workers, .budget = 1 << 20, .unit_rows = 7});
            while (st == HR_OK) {
                st = next_soon(it, &e);
                hr__engine_lock(&it->engine);
                assert_is_kept(&it->engine);
                hr__engine_unlock(&it->engine);
            }
            assert_status(st, HR_END);
            hr_iterator_free(it);
        }
}

/* ---- a budget that nothing fits into ---- */

static hr_dataset *digits(int64_t rows) { return hr_map(hr_range(rows), draw_digits, NULL); }

/* Operators of several inputs, which wait for one of them while they hold what another gave. */
static hr_dataset *pipeline(int number)
{
    hr_dataset *const in[] = {hr_shuffle(digits(200), 50), hr_unbatch(hr_batch(hr_shuffle(digits(600), 100), 3))};
    hr_dataset *const a = in[0];
    if (number < 3)
        return number == 0   ? hr_zip(in, 2)
               : number == 1 ? hr_shuffle(hr_concatenate(a, in[1]), 64)
                             : hr_sample_from_datasets(in, 2);
    hr_dataset_unref(in[1]);
    if (number == 3) return hr_repeat(hr_shuffle(hr_cache(a), 20), .count = HR_I64(3));
    if (number == 4) return hr_zip((hr_dataset *const[]){hr_skip(hr_dataset_ref(a), 90), a}, 2);
    hr_dataset_unref(a);
    return number == 5 ? hr_batch(hr_shuffle(some_inputs(40), 30), 4) : NULL;
}

static void a_tight_budget_stops_no_pipeline(void **state)
{
    (void)state;
    static run want, got;
    hr_dataset *ds;
    for (int n = 0; (ds = pipeline(n)); n++) {
        run_all(&want, ds, (way){.window = 1, .unit_rows = 32});
        assert_more(want.count, 100);
        for (int i = 0; i < 6; i++) {
            static const size_t budgets[] = {1, 20000};
            run_all(&got, pipeline(n), (way){.workers = i / 2 * 2, .unit_rows = 8, .budget = budgets[i % 2]});
            assert_same_run(&want, &got);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_further_unit_leaves_one_for_every_stage),
        cmocka_unit_test(further_units_need_one_for_every_stage),
        cmocka_unit_test(a_first_unit_leaves_one_for_each_reader),
        cmocka_unit_test(the_unit_that_all_wait_for_is_never_refused),
        cmocka_unit_test(a_unit_that_its_reader_does_not_wait_for_is_refused),
        cmocka_unit_test(a_unit_is_refused_while_one_is_in_flight_downstream),
        cmocka_unit_test(the_most_that_was_held_beyond_the_budget_is_noted),
        cmocka_unit_test(rows_take_their_cells_and_all_their_blocks),
        cmocka_unit_test(a_unit_is_taken_to_be_as_large_as_the_largest_so_far),
        cmocka_unit_test(what_was_not_read_yet_is_taken_to_be_like_what_is_beside_it),
        cmocka_unit_test(what_is_reserved_is_given_back),
        cmocka_unit_test(a_tight_budget_stops_no_pipeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
