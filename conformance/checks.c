/* The checks of one pipeline, but for those of saved states: all runs alike, epochs, cancel, failing allocations. */
#include "conformance/conformance_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_FAILURES = 120 };

/* ---- the same elements in all runs ---- */

/* As many as hr_cardinality says, where it says a number and nothing fails. */
static hr_status check_cardinality(const subject *s)
{
    hr_dataset *ds = s->build(s->user);
    const int64_t said = hr_cardinality(ds);
    hr_dataset_unref(ds);
    const bool wrong = said >= 0 ? s->want.count != said : said == HR_INFINITE_CARDINALITY;
    if (s->want.end != HR_END || !wrong) return HR_OK;
    return hr__conformance_fail(s, HR_INTERNAL, "conformance.cardinality",
                                "expected as many elements as hr_cardinality says, %" PRId64 ", found %d", said,
                                s->want.count);
}

static hr_status compare_run(subject *s, way w)
{
    char how[160];
    if (w.workers < MIN_WORKERS) return HR_OK;
    HR_TRY(hr__conformance_run(s, &s->got, w));
    return hr__conformance_same(s, 0, HR_INTERNAL, "conformance.run", hr__conformance_how(how, sizeof how, w));
}

/* With threads that sleep where plans and units begin and end. */
static hr_status compare_stalled(subject *s)
{
    static const int64_t units[] = {13, 1000, 1};
    hr_status st = HR_OK;
    for (int seed = 1; seed <= 3 && st == HR_OK; seed++) {
        setenv("HEADRACE_STALL", seed == 1 ? "1" : seed == 2 ? "2" : "3", 1);
        st = compare_run(s, (way){.workers = 2, .window = 4, .unit_rows = units[seed - 1]});
        unsetenv("HEADRACE_STALL");
    }
    return st;
}

static hr_status check_runs(subject *s)
{
    static const int workers[] = {0, 1, 2, 8};
    static const int64_t units[] = {1, 13, 1000};
    HR_TRY(check_cardinality(s));
    if (s->quick) {
        for (int n = 0; n < 6; n += WAYS_APART) HR_TRY(compare_run(s, hr__conformance_way(2 * n + 1)));
        return compare_run(s, (way){.workers = 2, .window = 64, .unit_rows = 5, .budget = 1});
    }
    for (int w = 0; w < 4; w++)
        for (int u = 0; u < 3; u++) {
            HR_TRY(compare_run(s, (way){.workers = workers[w], .window = 1, .unit_rows = units[u]}));
            HR_TRY(compare_run(s, (way){.workers = workers[w], .window = 64, .unit_rows = units[u]}));
        }
    HR_TRY(compare_run(s, (way){.workers = 2}));
    for (int w = 0; w < 4; w++) HR_TRY(compare_run(s, (way){.workers = workers[w], .window = 64, .budget = 1}));
    HR_TRY(compare_run(s, (way){.workers = 2, .unit_rows = 13, .budget = 16384}));
    return compare_stalled(s);
}

/* ---- epochs ---- */

enum { EPOCHS = 2 };

static hr_dataset *build_repeated(void *user)
{
    const subject *s = user;
    return hr_repeat(s->build(s->user), .count = HR_I64(EPOCHS));
}

/* The epoch up to the middle of the pipeline, and from a state what is left of it: both follow in to->got. */
static hr_status run_epoch(const subject *s, subject *to, int64_t epoch)
{
    size_t size = 0;
    void *saved = NULL;
    way w = hr__conformance_way((int)epoch);
    w.epoch = epoch;
    hr_iterator *it = hr__conformance_iterate(s, w);
    hr_status st = hr__conformance_run_on(s, &to->got, it, s->want.count / 2);
    if (st == HR_OK) st = hr__conformance_save(s, it, &saved, &size);
    hr_iterator_free(it);
    if (st == HR_OK) {
        it = hr__conformance_iterate(s, (way){.workers = MIN_WORKERS, .state = saved, .state_size = size});
        st = hr__conformance_run_on(s, &to->got, it, INT32_MAX);
        hr_iterator_free(it);
    }
    hr_free(saved);
    return st;
}

static hr_status check_epochs(subject *s)
{
    if (s->want.end != HR_END || s->want.count > MAX_ELEMENTS / EPOCHS) return HR_OK;
    subject all = {.build = build_repeated, .user = s, .name = s->name, .err = s->err};
    hr_status st = hr__conformance_run(&all, &all.want, (way){.window = 1, .unit_rows = 32});
    if (st == HR_OK && all.want.end == HR_END) {
        for (int64_t epoch = 1; epoch <= EPOCHS && st == HR_OK; epoch++) st = run_epoch(s, &all, epoch);
        if (st == HR_OK)
            st = hr__conformance_same(&all, 0, HR_INTERNAL, "conformance.epoch", "hr_repeat, each epoch run by itself");
    }
    hr__conformance_clear(&all);
    return st;
}

/* ---- cancel ---- */

static hr_status expect_cancelled(const subject *s, hr_iterator *it)
{
    const hr_element *e;
    for (int i = 0; i < 2; i++) {
        const hr_status st = hr_next(it, &e);
        const hr_error *error = hr_iterator_error(it);
        if (st != HR_CANCELLED || !error || error->code != HR_CANCELLED)
            return hr__conformance_fail(s, HR_INTERNAL, "conformance.cancel",
                                        "expected Cancelled of hr_next after hr_cancel, found %s", hr_status_name(st));
    }
    return HR_OK;
}

static hr_status check_cancel(subject *s)
{
    const int count = s->want.count;
    for (int n = 0; n < 8; n++) {
        hr__conformance_begin(&s->got);
        hr_iterator *it = hr__conformance_iterate(s, hr__conformance_way(n));
        hr_status st = hr__conformance_run_on(s, &s->got, it, n < 4 || n - 4 > count ? count / 2 : n - 4);
        hr_cancel(it);
        if (st == HR_OK) st = expect_cancelled(s, it);
        hr_iterator_free(it);
        HR_TRY(st);
        it = hr__conformance_iterate(s, hr__conformance_way(n)); /* one that was never asked */
        hr_iterator_free(it);
    }
    return HR_OK;
}

/* ---- failing allocations ---- */

/* The run at hand, with a save in its middle. */
static hr_status run_and_save(subject *s, int workers)
{
    hr__conformance_begin(&s->got);
    hr_iterator *it = hr__conformance_iterate(s, (way){.workers = workers, .window = 4, .unit_rows = 13});
    hr_status st = hr__conformance_run_on(s, &s->got, it, s->want.count / 2);
    if (st == HR_OK && s->got.end == HR_OK) {
        size_t size;
        hr_error why;
        void *saved = NULL;
        const hr_status status = hr_iterator_save(it, &saved, &size, &why);
        hr_free(saved);
        if (status != HR_OK && status != HR_RESOURCE_EXHAUSTED)
            st = hr__conformance_fail(s, HR_INTERNAL, "conformance.memory",
                                      "expected Ok or ResourceExhausted of hr_iterator_save, found %s \"%.200s\"",
                                      hr_status_name(status), why.text);
        if (st == HR_OK) st = hr__conformance_run_on(s, &s->got, it, MAX_ELEMENTS);
    }
    hr_iterator_free(it);
    return st;
}

/* Either nobody noticed, or it is said. What comes before differs where an operator above sees its input end early: a
 * shuffle drains. */
static hr_status run_short_of_memory(subject *s, int64_t n, int workers)
{
    char how[64];
    const int64_t before = hr__conformance_alive();
    hr__conformance_fail_allocation(n);
    const hr_status st = run_and_save(s, workers);
    hr__conformance_allocations();
    HR_TRY(st);
    snprintf(how, sizeof how, "allocation %" PRId64 " fails", n);
    if (n == INT64_MAX) snprintf(how, sizeof how, "no allocation fails");

    if (s->got.end != HR_RESOURCE_EXHAUSTED) {
        HR_TRY(hr__conformance_same(s, 0, HR_INTERNAL, "conformance.memory", how));
    } else if (s->got.count > s->want.count)
        return hr__conformance_fail(s, HR_INTERNAL, "conformance.memory",
                                    "%s: expected at most %d elements before the error, found %d", how, s->want.count,
                                    s->got.count);
    const int64_t left = hr__conformance_alive() - before;
    if (left == 0) return HR_OK;
    return hr__conformance_fail(s, HR_INTERNAL, "conformance.leak",
                                "%s: expected that all memory is given back, found %" PRId64 " allocations more than "
                                "before",
                                how, left);
}

static hr_status check_memory(subject *s)
{
    if (!hr__conformance_counts())
        return hr__conformance_fail(
            s, HR_FAILED_PRECONDITION, "conformance.allocator",
            "expected hr_conformance_count_allocations at the start of the program; call it, or "
            "choose .checks without HR_CONFORM_MEMORY");
    HR_TRY(compare_run(s, (way){.workers = POOL})); /* the pool starts here: its memory is no leak */
    HR_TRY(run_short_of_memory(s, INT64_MAX, 0));
    const int64_t count = hr__conformance_allocations();
    if (count == 0)
        return hr__conformance_fail(s, HR_FAILED_PRECONDITION, "conformance.allocator",
                                    "expected allocations, found none; give the program's own allocator to "
                                    "hr_conformance_count_allocations");
    const int64_t step = 1 + count / MAX_FAILURES;
    for (int64_t n = 0; n < count && MIN_WORKERS == 0; n += n < 60 ? 1 : step) HR_TRY(run_short_of_memory(s, n, 0));
    for (int64_t n = 0; n < count; n += 1 + count / 12) HR_TRY(run_short_of_memory(s, n, 2));
    return HR_OK;
}

/* ---- all of them ---- */

/* The run that all others are held against: no threads, one unit at a time. */
static hr_status run_reference(subject *s)
{
    HR_TRY(hr__conformance_run(s, &s->want, (way){.window = 1, .unit_rows = 32}));
    if (s->want.count > 0 || s->quick) return HR_OK;
    return hr__conformance_fail(s, HR_INVALID_ARGUMENT, "conformance.sample",
                                "expected a pipeline that gives elements, found none: %s \"%.200s\"",
                                hr_status_name(s->want.end), s->want.error.text);
}

hr_status hr__conformance_checks(subject *s, unsigned checks)
{
    if (checks == 0) checks = ~0u;
    HR_TRY(run_reference(s));
    if (checks & HR_CONFORM_RUNS) HR_TRY(check_runs(s));
    if (checks & HR_CONFORM_RESUME) HR_TRY(s->quick ? hr__conformance_resume_few(s) : hr__conformance_resume(s));
    if (checks & HR_CONFORM_RESUME_OFTEN) HR_TRY(hr__conformance_resume_often(s));
    if (checks & HR_CONFORM_FOREIGN_STATES) HR_TRY(hr__conformance_foreign_states(s));
    if (checks & HR_CONFORM_CHANGED_STATES) HR_TRY(hr__conformance_changed_states(s));
    if (checks & HR_CONFORM_CANCEL) HR_TRY(check_cancel(s));
    if (checks & HR_CONFORM_MEMORY) HR_TRY(check_memory(s));
    if (checks & HR_CONFORM_EPOCHS) HR_TRY(check_epochs(s));
    return HR_OK;
}
