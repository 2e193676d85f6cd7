/* What several threads read ahead is what one thread reads in turn: rows, errors, counts and saved states. */
#ifndef HR_TESTS_AHEAD_H
#define HR_TESTS_AHEAD_H

#include "tests/data/conformance.h"
#include <stdio.h>
#include <string.h>

static run want, got;

/* Of a stage of this name. */
static int64_t rows_of_stage(hr_iterator *it, const char *name)
{
    hr_iterator_stats stats;
    int64_t rows = 0;
    hr_iterator_stats_of(it, &stats);
    for (int i = 0; i < stats.stages; i++)
        if (strcmp(stats.stage[i].name, name) == 0) rows += stats.stage[i].rows;
    return rows;
}

/* What begins with the source's name. */
static void copy_report(hr_iterator *it, const char *source, char *to, size_t size)
{
    size_t used = 0;
    to[0] = 0;
    for (const hr_report_line *l = hr_iterator_report(it); l->what && used < size; l++)
        if (strncmp(l->what, source, strlen(source)) == 0)
            used += (size_t)snprintf(to + used, size - used, "%s %lld\n", l->what, (long long)l->count);
}

/* Gives how many rows the stages that `ahead` names had in the last run. */
static int64_t assert_as_in_turn(hr_dataset *(*make)(void), const char *source, const char *ahead)
{
    static const way ways[] = {{.workers = 1, .unit_rows = 8},  {.workers = 3, .unit_rows = 1},
                               {.workers = 3, .unit_rows = 64}, {.workers = 8, .unit_rows = 13},
                               {.workers = 8, .window = 1},     {.workers = 8, .unit_rows = 20, .budget = 1 << 20},
                               {.workers = 8, .unit_rows = 8}};
    char report[4096], other[4096];
    int64_t rows = 0;
    hr_iterator *it = iterate(make(), (way){0});
    want = (run){0};
    run_on(&want, it, INT32_MAX);
    copy_report(it, source, report, sizeof report);
    hr_iterator_free(it);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        it = iterate(make(), ways[i]);
        got = (run){0};
        run_on(&got, it, INT32_MAX);
        assert_same_run(&want, &got);
        copy_report(it, source, other, sizeof other);
        assert_string_equal(other, report);
        rows = rows_of_stage(it, ahead);
        hr_iterator_free(it);
    }
    return rows;
}

/* The state after so many elements is the same, and the rest from there. */
static void assert_same_state(hr_dataset *(*make)(void), int after, way w)
{
    static run head, tail;
    void *in_turn, *ahead;
    size_t in_turn_size, ahead_size;
    hr_error err;
    w.unit_rows = 8;
    hr_iterator *it = iterate(make(), (way){.unit_rows = 8});
    head = (run){0};
    run_on(&head, it, after);
    assert_ok(hr_iterator_save(it, &in_turn, &in_turn_size, &err), &err);
    want = (run){0};
    run_on(&want, it, INT32_MAX);
    hr_iterator_free(it);
    it = iterate(make(), w);
    run_on(&head, it, after);
    assert_ok(hr_iterator_save(it, &ahead, &ahead_size, &err), &err);
    hr_iterator_free(it);
    assert_int_equal(ahead_size, in_turn_size);
    assert_memory_equal(ahead, in_turn, ahead_size);
    w.state = ahead;
    w.state_size = ahead_size;
    tail = (run){0};
    run_all(&tail, make(), w);
    assert_same_run(&want, &tail);
    hr_free(in_turn);
    hr_free(ahead);
}

#endif
