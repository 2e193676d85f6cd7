/* How long things live that several threads use: units of inputs that are closed while they are read ahead, views of
 * datasets that come and go. Random pauses in the engine make rare orders of events frequent; each check holds in all
 * of them. */
#include "data/exec/engine.h"
#include "tests/data/conformance.h"
#include <headrace/op.h>
#include <stdlib.h>

static int pause_at_random(void **state)
{
    (void)state;
    return setenv("HEADRACE_STALL", "1", 1);
}

static int64_t value_of(const hr_element *e) { return *(const int64_t *)hr_get(e, "value")->data; }

static hr_status as_it_is(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, "value") = value_of(in);
    return HR_OK;
}

/* ---- inputs that are closed while they are read ahead ---- */

/* A source that sees what became of its first unit when it is closed. */
typedef struct watched {
    const rows *first;
    int32_t refs; /* that the unit had then */
} watched;

typedef struct watching {
    watched *watched;
} watching;

static hr_status watched_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)in;
    return hr_schema_set(out, &hr_int64_schema, err);
}

static hr_status watched_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)p, (void)err;
    ((watching *)state)->watched = *(watched *const *)spec;
    return HR_OK;
}

static hr_status watched_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    enum { ROWS = 8 };
    watched *seen = ((watching *)state)->watched;
    hr_columns *c = hr_unit_rows(p, ROWS);
    if (!c) return hr_no_memory(err, "rows");
    if (!seen->first) seen->first = (const rows *)c;
    c->rows = ROWS;
    for (int64_t r = 0; r < ROWS; r++) ((int64_t *)c->column[0].values)[r] = r;
    return HR_OK;
}

static hr_status watched_work(const void *spec, const void *unit, hr_work *w, hr_columns *c, hr_error *err)
{
    (void)spec, (void)unit, (void)w, (void)c, (void)err;
    return HR_OK;
}

static void watched_close(void *state)
{
    watched *seen = ((watching *)state)->watched;
    if (seen->first) seen->refs = seen->first->refs;
}

static const hr_op op_watched = {.head = HR_OP_HEAD,
                                 .name = "watched",
                                 .spec_size = sizeof(watched *),
                                 .state_size = sizeof(watching),
                                 .check = watched_check,
                                 .open = watched_open,
                                 .plan = watched_plan,
                                 .work = watched_work,
                                 .close = watched_close};

static hr_dataset *first_five(const hr_element *e, void *seen)
{
    (void)e;
    return hr_take(hr_dataset_new(&op_watched, &seen, NULL, 0), 5);
}

/* A closed input goes stage by stage, those that read first. From when one is gone, the spans that it made of units
 * below are counted by whoever gives them up: so it must have given up those units itself, also the one that it did not
 * use up. */
static void a_unit_that_is_not_used_up_goes_with_its_reader(void **state)
{
    (void)state;
    watched seen = {.first = NULL};
    hr_iterator *it = iterate(hr_flat_map(hr_range(1), first_five, &seen), (way){.unit_rows = 16});
    const hr_element *e;
    for (int i = 0; i < 5; i++) assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(seen.refs, 1); /* of the five elements that are being given */
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

/* The same on several threads. */
static hr_dataset *first_of_many(const hr_element *e, void *user)
{
    (void)user;
    const int64_t n = value_of(e);
    return hr_take(hr_map(hr_range(1000 * n + 1000, .start = 1000 * n), as_it_is, NULL), 5 + n % 4);
}

static hr_dataset *firsts(void)
{
    return hr_batch(hr_prefetch(hr_interleave(hr_range(60), first_of_many, NULL, .cycle_length = 3), 1), 4);
}

static void inputs_may_be_closed_while_they_are_read_ahead(void **state)
{
    (void)state;
    static run want, got;
    run_all(&want, firsts(), (way){.unit_rows = 3});
    for (int i = 0; i < 10; i++) {
        run_all(&got, firsts(), (way){.workers = 8, .unit_rows = 2 + i % 5});
        assert_same_run(&want, &got);
    }
}

/* ---- datasets that come and go ---- */

static void note_end(void *ends) { ++*(int *)ends; }

/* Of the first only do functions look at elements. */
static hr_dataset *looked_at(const hr_element *e, void *ends)
{
    if (value_of(e) > 0) return hr_range(1000);
    return hr_map(hr_map(hr_range(3), as_it_is, ends, .user_free = note_end), as_it_is, NULL);
}

/* Where a dataset was, another one may be made. A thread that saw the one would take it for the other; so it holds what
 * it saw last. */
static void the_dataset_that_a_thread_saw_last_is_held(void **state)
{
    (void)state;
    int ends = 0;
    hr_dataset *ds = hr_flat_map(hr_range(2), looked_at, &ends);
    const int before = ends; /* of the one that was made to learn the components */
    hr_iterator *it = iterate(ds, (way){.unit_rows = 3});
    const hr_element *e;
    for (int i = 0; i < 500; i++) assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(ends, before);
    hr_iterator_free(it);
    assert_int_equal(ends, before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_that_is_not_used_up_goes_with_its_reader),
        cmocka_unit_test(inputs_may_be_closed_while_they_are_read_ahead),
        cmocka_unit_test(the_dataset_that_a_thread_saw_last_is_held),
    };
    return cmocka_run_group_tests(tests, pause_at_random, NULL);
}
