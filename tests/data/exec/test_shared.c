/* What openings share, rule by rule: whose memory is whose, when it goes, what is drawn below, who waits for whom. On
 * plans and stages that are put together by hand; the last tests run pipelines. */
#include "data/iterator.h"
#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

static engine hand; /* nothing but its table and its lock is used */

typedef struct memory {
    int number;
} memory;
static int made, unmade;

static bool make(void *data)
{
    ((memory *)data)->number = ++made;
    return true;
}

static void unmake(void *data)
{
    assert_more(((memory *)data)->number, 0);
    ((memory *)data)->number = 0;
    unmade++;
}

static int open_hand(void **state)
{
    (void)state;
    memset(&hand, 0, sizeof hand);
    made = unmade = 0;
    return uv_mutex_init(&hand.lock);
}

static int close_hand(void **state)
{
    (void)state;
    hr__shared_close(&hand);
    uv_mutex_destroy(&hand.lock);
    return made == unmade ? 0 : -1;
}

/* An opening of a dataset; borrows it. */
typedef struct opening {
    stage stage;
    hr_plan plan;
} opening;

static memory *enter(opening *o, hr_dataset *ds, const char *name)
{
    *o = (opening){.stage = {.engine = &hand}, .plan = {.ds = ds}};
    o->plan.stage = &o->stage;
    memory *got = hr_plan_shared(&o->plan, name, sizeof *got, make, unmake);
    assert_non_null(got);
    return got;
}

static void leave(opening *o) { hr__shared_leave(&o->plan); }

static memory *look(hr_dataset *ds, const char *name)
{
    opening o;
    memory *got = enter(&o, ds, name);
    leave(&o);
    return got;
}

/* So many that nobody can open again: whatever else is done with is found on the way. */
static void open_others(int count)
{
    for (int i = 0; i < count; i++) {
        hr_dataset *ds = hr_range(i + 100);
        look(ds, NULL);
        hr_dataset_unref(ds);
    }
}

static void a_dataset_has_its_own_memory_and_a_name_has_its_own(void **state)
{
    (void)state;
    hr_dataset *a = hr_range(3), *like_a = hr_range(3);
    memory *of_a = look(a, NULL), *of_x = look(a, "x");
    assert_ptr_equal(look(a, NULL), of_a);
    assert_ptr_not_equal(look(like_a, NULL), of_a);
    assert_ptr_not_equal(of_x, of_a);
    assert_ptr_equal(look(like_a, "x"), of_x); /* whoever says that name */
    assert_ptr_not_equal(look(a, "y"), of_x);
    hr_dataset_unref(a), hr_dataset_unref(like_a);
}

static void memory_is_found_again_however_much_there_is(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static hr_dataset *ds[MANY];
    static memory *of_ds[MANY], *of_name[MANY];
    char name[MANY][16];
    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "%d", i);
        of_ds[i] = look(ds[i] = hr_range(i), NULL);
        of_name[i] = look(ds[i], name[i]);
    }
    for (int i = 0; i < MANY; i++) {
        assert_ptr_equal(look(ds[i], NULL), of_ds[i]);
        assert_ptr_equal(look(ds[MANY - 1 - i], name[i]), of_name[i]);
    }
    assert_int_equal(made, 2 * MANY);
    for (int i = 0; i < MANY; i++) hr_dataset_unref(ds[i]);
}

/* Wherever in the table the names lie: each time in another one. */
static void an_opening_without_a_name_never_finds_one_with_a_name(void **state)
{
    enum { TABLES = 40, NAMES = 12 };
    for (int n = 0; n < TABLES; n++) {
        hr_dataset *a = hr_range(3);
        for (int i = 0; i < NAMES; i++) look(a, (const char[]){(char)('a' + i), 0});
        look(a, NULL);
        assert_int_equal(made, NAMES + 1);
        hr_dataset_unref(a);
        assert_int_equal(close_hand(state), 0);
        open_hand(state);
    }
}

/* ---- when it goes ---- */

static void memory_stays_while_its_dataset_can_be_opened_again(void **state)
{
    (void)state;
    hr_dataset *a = hr_range(3);
    memory *of_a = look(a, NULL);
    open_others(100);
    assert_ptr_equal(look(a, NULL), of_a);
    hr_dataset_unref(a);
}

/* The dataset that brought the name is gone; another one uses what it has. */
static void memory_of_a_name_stays_while_somebody_uses_it(void **state)
{
    (void)state;
    opening first, second;
    hr_dataset *a = hr_range(3), *b = hr_range(3);
    memory *of_x = enter(&first, a, "x");
    assert_ptr_equal(enter(&second, b, "x"), of_x);
    leave(&first);
    hr_dataset_unref(a);
    open_others(100);
    assert_more(of_x->number, 0);
    assert_ptr_equal(look(b, "x"), of_x);
    leave(&second);
    open_others(100); /* now it goes */
    const int before = made;
    look(b, "x");
    assert_int_equal(made, before + 1);
    hr_dataset_unref(b);
}

static void what_nobody_can_open_again_does_not_pile_up(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        open_others(50);
        assert_less(made - unmade, 50);
        assert_int_equal(hand.shared.count, (uint64_t)(made - unmade));
        assert_less(hand.shared.chains, 50);
    }
}

/* ---- making it ---- */

static opening other;
static hr_dataset *common;
static memory *of_other;

static bool come_too_late(void *data)
{
    make(data);
    of_other = enter(&other, common, NULL);
    leave(&other);
    return true;
}

static void of_two_who_make_it_at_once_the_first_is_right(void **state)
{
    (void)state;
    opening o = {.stage = {.engine = &hand}, .plan = {.ds = common = hr_range(3), .stage = &o.stage}};
    memory *got = hr_plan_shared(&o.plan, NULL, sizeof *got, come_too_late, unmake);
    assert_ptr_equal(got, of_other);
    assert_int_equal(unmade, 1);
    assert_more(got->number, 0);
    leave(&o);
    hr_dataset_unref(common);
}

static bool cannot(void *data)
{
    (void)data;
    return false;
}

static void what_could_not_be_made_is_made_by_the_next_one(void **state)
{
    (void)state;
    opening o = {.stage = {.engine = &hand}, .plan = {.ds = hr_range(3), .stage = &o.stage}};
    assert_null(hr_plan_shared(&o.plan, NULL, sizeof(memory), cannot, unmake));
    assert_non_null(hr_plan_shared(&o.plan, NULL, sizeof(memory), make, unmake));
    leave(&o);
    hr_dataset_unref(o.plan.ds);
}

/* ---- the key of what is random below ---- */

static uint64_t key_of(hr_dataset *ds, const char *name)
{
    opening o;
    enter(&o, ds, name);
    const uint64_t key = hr__shared_key(&o.plan);
    leave(&o);
    return key;
}

static void the_key_follows_from_what_the_dataset_is_and_from_its_name(void **state)
{
    (void)state;
    hr_dataset *a = hr_range(3), *like_a = hr_range(3), *b = hr_range(4);
    const hr_plan alone = {.ds = a};
    const uint64_t of_a = key_of(a, NULL), of_x = key_of(a, "x");
    assert_int_equal(hr__shared_key(&alone), of_a);
    assert_int_equal(key_of(like_a, NULL), of_a);
    assert_int_not_equal(key_of(b, NULL), of_a);
    assert_int_not_equal(of_x, of_a);
    assert_int_not_equal(key_of(like_a, "y"), of_x);
    open_others(100);
    hr_dataset_unref(a);
    open_others(100); /* the next one of that name is another dataset */
    assert_int_equal(key_of(like_a, "x"), of_x);
    hr_dataset_unref(like_a), hr_dataset_unref(b);
}

/* ---- who waits ---- */

static void an_opening_waits_for_others_unless_only_it_can_go_on(void **state)
{
    (void)state;
    opening o = {.stage = {.engine = &hand}, .plan = {.stage = &o.stage}};
    assert_true(hr_plan_await_shared(&o.plan));
    assert_ptr_equal(o.stage.waits_for, &hand.shared.at);
    o.stage = (stage){.engine = &hand, .alone = true};
    assert_false(hr_plan_await_shared(&o.plan));
    assert_null(o.stage.waits_for);
}

static void an_opening_waits_for_its_turn_if_another_can_come_before(void **state)
{
    (void)state;
    char name[] = "x";
    shared own = {0}, named = {.name = name};
    for (int i = 0; i < 8; i++) {
        const bool sole = i & 1, needed = i & 2, has_name = i & 4;
        opening o = {.stage = {.engine = &hand, .sole = sole, .needed = needed},
                     .plan = {.stage = &o.stage, .shared = has_name ? &named : &own}};
        const bool waits = !needed && (!sole || has_name); /* any other dataset may say the name */
        assert_int_equal(hr_plan_await_turn(&o.plan), waits);
        assert_ptr_equal(o.stage.waits_for, waits ? &hand.shared.turn : NULL);
    }
}

static void a_dataset_is_sole_if_nobody_else_holds_what_is_below(void **state)
{
    (void)state;
    hr_dataset *low = hr_range(3), *ds = hr_skip(hr_skip(low, 1), 1);
    assert_true(hr__shared_is_sole(ds));
    for (hr_dataset *at = ds; at; at = at->inputs ? at->in[0] : NULL) {
        hr_dataset_ref(at);
        assert_false(hr__shared_is_sole(ds));
        hr_dataset_unref(at);
    }
    hr_dataset_unref(ds);
}

/* The consumer reads `reader`, which reads `below`. */
static stage reader, below, beside, *stages[3];
static moving may_move[3]; /* by depth */

static void put_stages_together(void)
{
    reader = (stage){.engine = &hand, .reader = &hand.root, .depth = 1};
    below = (stage){.engine = &hand, .reader = &reader, .depth = 2};
    beside = (stage){.engine = &hand, .reader = &reader, .depth = 2};
    hand.root = (stage){.engine = &hand, .at = -1, .blocked_on = &reader};
    hand.shared.at.engine = hand.shared.turn.engine = &hand;
    hand.stage = stages;
    hand.stages = 0;
    memset(may_move, 0, sizeof may_move);
    hand.moving = may_move;
    hand.depths = 3;
    stage *const all[] = {&reader, &below, &beside};
    for (int i = 0; i < 3; i++) stages[all[i]->at = hand.stages++] = all[i];
    reader.blocked_on = &below;
}

static void a_change_frees_those_who_wait_for_it_and_no_others(void **state)
{
    (void)state;
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        put_stages_together();
        hand.budget = 1000;
        below.blocked_on = &hand.shared.at;
        beside.blocked_on = &hand.shared.turn;
        hand.shared.awaited = true;
        hand.consumer_sleeps = sleeps;
        const uint64_t changes = hand.shared.changes;
        hr__engine_lock(&hand);
        hr__shared_changed(&hand);
        assert_int_equal(hand.wake_consumer, sleeps);
        hand.wake_consumer = false; /* it is nobody */
        hr__engine_unlock(&hand);
        assert_int_equal(hand.shared.changes, changes + 1);
        assert_false(hand.shared.awaited);
        assert_null(below.blocked_on);
        assert_null(beside.blocked_on);
        assert_ptr_equal(reader.blocked_on, &below);
        assert_more(below.moves, 0);
        assert_more(beside.moves, 0);
        assert_int_equal(reader.moves, 0);
    }
}

/* A plan that looked before the change sees by their number that there was one. */
static void changes_are_counted_while_nobody_waits(void **state)
{
    (void)state;
    put_stages_together();
    const uint64_t changes = hand.shared.changes;
    hr__shared_changed(&hand);
    assert_int_equal(hand.shared.changes, changes + 1);
}

static void the_stage_that_the_consumer_waits_for_is_found(void **state)
{
    (void)state;
    stage *const blocks[] = {&hand.shared.at, &hand.shared.turn};
    for (int i = 0; i < 2; i++) {
        put_stages_together();
        beside.blocked_on = blocks[i]; /* whom the consumer does not wait for */
        assert_null(hr__shared_waited_stage(&hand));
        below.blocked_on = blocks[i];
        assert_ptr_equal(hr__shared_waited_stage(&hand), &below);
        bool *const prevents[] = {&below.planning, &below.ended, &below.closed};
        for (int k = 0; k < 3; k++) {
            *prevents[k] = true;
            assert_null(hr__shared_waited_stage(&hand));
            *prevents[k] = false;
        }
        hand.root.blocked_on = NULL; /* it does not wait at all */
        assert_null(hr__shared_waited_stage(&hand));
    }
}

static void openings_are_stuck_if_nobody_works_or_leaves(void **state)
{
    (void)state;
    put_stages_together();
    assert_true(hr__shared_is_stuck(&hand));
    for (int i = 0; i < 3; i++) {
        stages[i]->busy = 1;
        assert_false(hr__shared_is_stuck(&hand));
        stages[i]->busy = 0;
    }
    hand.leaving = 1;
    assert_false(hr__shared_is_stuck(&hand));
    hand.leaving = 0;
}

/* ---- pipelines ---- */

static _Atomic int calls;

static hr_status counted(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    calls++;
    return draw_digits(in, out, call, user);
}

static hr_dataset *rows_in(const char *file)
{
    return hr_cache(hr_map(hr_shuffle(hr_range(100), 30), counted, NULL), .file = file);
}

static hr_dataset *rows_in_one_file(const hr_element *element, void *user)
{
    (void)element, (void)user;
    return rows_in("one.rows");
}

/* Each opening is another dataset. One that is opened ahead waits for its turn, and then finds the file whole. */
static void a_file_is_filled_once_by_datasets_that_are_alike(void **state)
{
    (void)state;
    static run want, got;
    for (int n = 0; n < 6; n++) {
        char stall[16];
        snprintf(stall, sizeof stall, "%d", n);
        setenv("HEADRACE_STALL", stall, 1);
        remove("one.rows");
        calls = 0;
        run_all(&got, hr_flat_map(hr_range(6), rows_in_one_file, NULL),
                (way){.workers = n, .window = 3, .unit_rows = 4});
        unsetenv("HEADRACE_STALL");
        if (n == 0) want = got;
        assert_int_equal(want.count, 600);
        assert_same_run(&want, &got);
        assert_int_equal(calls, 100);
    }
}

static void files_of_alike_datasets_have_rows_of_their_own(void **state)
{
    (void)state;
    int64_t both[200], second[100];
    remove("first.rows"), remove("second.rows");
    hr_dataset *ds = hr_concatenate(rows_in("first.rows"), rows_in("second.rows"));
    assert_int_equal(int64_values(ds, (way){.workers = 2, .unit_rows = 9}, both, 200), 200);
    assert_memory_not_equal(both, both + 100, sizeof second);
    remove("second.rows"); /* alone, and on another schedule, it is filled with the same rows */
    assert_int_equal(int64_values(rows_in("second.rows"), (way){0}, second, 100), 100);
    assert_memory_equal(both + 100, second, sizeof second);
}

int main(void)
{
#define BY_HAND(test) cmocka_unit_test_setup_teardown(test, open_hand, close_hand)
    const struct CMUnitTest tests[] = {
        BY_HAND(a_dataset_has_its_own_memory_and_a_name_has_its_own),
        BY_HAND(memory_is_found_again_however_much_there_is),
        BY_HAND(an_opening_without_a_name_never_finds_one_with_a_name),
        BY_HAND(memory_stays_while_its_dataset_can_be_opened_again),
        BY_HAND(memory_of_a_name_stays_while_somebody_uses_it),
        BY_HAND(what_nobody_can_open_again_does_not_pile_up),
        BY_HAND(of_two_who_make_it_at_once_the_first_is_right),
        BY_HAND(what_could_not_be_made_is_made_by_the_next_one),
        BY_HAND(the_key_follows_from_what_the_dataset_is_and_from_its_name),
        BY_HAND(an_opening_waits_for_others_unless_only_it_can_go_on),
        BY_HAND(an_opening_waits_for_its_turn_if_another_can_come_before),
        BY_HAND(a_dataset_is_sole_if_nobody_else_holds_what_is_below),
        BY_HAND(a_change_frees_those_who_wait_for_it_and_no_others),
        BY_HAND(changes_are_counted_while_nobody_waits),
        BY_HAND(the_stage_that_the_consumer_waits_for_is_found),
        BY_HAND(openings_are_stuck_if_nobody_works_or_leaves),
        cmocka_unit_test(a_file_is_filled_once_by_datasets_that_are_alike),
        cmocka_unit_test(files_of_alike_datasets_have_rows_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
