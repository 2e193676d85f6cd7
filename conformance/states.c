/* Saved states: a run that stops goes on anywhere, and a state that somebody changed does no harm. */
#include "conformance/conformance_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_STOPS = 24, MAX_STATE_SIZE = 4096 };

hr_status hr__conformance_save(const subject *s, hr_iterator *it, void **saved, size_t *size)
{
    hr_error why;
    const hr_status st = hr_iterator_save(it, saved, size, &why);
    if (st == HR_OK) return HR_OK;
    return hr__conformance_fail(s, HR_INTERNAL, "conformance.resume",
                                "expected that its state can be saved, found %s \"%.200s\"", hr_status_name(st),
                                why.text);
}

/* ---- resume ---- */

/* A run of way number n up to element k, and the state after it (hr_free). */
static hr_status save_after(subject *s, int k, way w, void **saved, size_t *size)
{
    *saved = NULL;
    hr__conformance_begin(&s->got);
    hr_iterator *it = hr__conformance_iterate(s, w);
    hr_status st = hr__conformance_run_on(s, &s->got, it, k);
    if (st == HR_OK && s->got.count != k)
        st = hr__conformance_fail(s, HR_INTERNAL, "conformance.resume",
                                  "expected %d elements as without workers, found %d: %s \"%.200s\"", k, s->got.count,
                                  hr_status_name(s->got.end), s->got.error.text);
    if (st == HR_OK) st = hr__conformance_save(s, it, saved, size);
    hr_iterator_free(it);
    return st;
}

/* Stops after k elements, resumes in another way from the state. */
static hr_status stop_at(subject *s, int k, int n)
{
    size_t size;
    void *saved;
    char how[160];
    HR_TRY(save_after(s, k, hr__conformance_way(n), &saved, &size));
    way w = hr__conformance_way(n + n / 3 + 1);
    w.state = saved;
    w.state_size = size;
    hr_status st = HR_OK;
    if (size > MAX_STATE_SIZE)
        st = hr__conformance_fail(s, HR_INTERNAL, "conformance.resume",
                                  "expected a state of at most %d bytes after %d elements, found %zu", MAX_STATE_SIZE,
                                  k, size);
    if (st == HR_OK) st = hr__conformance_run(s, &s->got, w);
    hr_free(saved);
    HR_TRY(st);
    const int used = snprintf(how, sizeof how, "resumed after %d elements, ", k);
    hr__conformance_how(how + used, sizeof how - (size_t)used, w);
    return hr__conformance_same(s, k, HR_INTERNAL, "conformance.resume", how);
}

hr_status hr__conformance_resume(subject *s)
{
    const int step = 1 + s->want.count / MAX_STOPS;
    for (int k = 0, n = 0; k < s->want.count; k += step, n++) HR_TRY(stop_at(s, k, n));
    return stop_at(s, s->want.count, 5);
}

hr_status hr__conformance_resume_few(subject *s)
{
    const int step = 1 + s->want.count / FEW_STOPS;
    for (int k = 0, n = 0; k < s->want.count; k += step, n++) HR_TRY(stop_at(s, k, n));
    return s->want.end == HR_END ? stop_at(s, s->want.count, 5) : HR_OK;
}

/* A few elements more from *saved on, then the state anew. */
static hr_status resume_once(subject *s, int n, int step, void **saved, size_t *size)
{
    way w = hr__conformance_way(n);
    w.state = *saved;
    w.state_size = *size;
    hr_iterator *it = hr__conformance_iterate(s, w);
    hr_status st = hr__conformance_run_on(s, &s->got, it, step);
    hr_free(*saved);
    *saved = NULL;
    if (st == HR_OK && s->got.end >= 0) st = hr__conformance_save(s, it, saved, size);
    hr_iterator_free(it);
    return st;
}

/* Every state is made by an iterator that was itself restored. The last one is saved after the end. */
hr_status hr__conformance_resume_often(subject *s)
{
    void *saved = NULL;
    size_t size = 0;
    hr_status st = HR_OK;
    const int step = 1 + s->want.count / MAX_STOPS;
    hr__conformance_begin(&s->got);
    for (int n = 0; st == HR_OK && s->got.end == HR_OK; n++) {
        st = resume_once(s, n, step, &saved, &size);
        if (st == HR_OK && n > 2 * MAX_STOPS)
            st = hr__conformance_fail(s, HR_INTERNAL, "conformance.resume",
                                      "resumed again and again: expected an end after %d elements, found none after %d",
                                      s->want.count, s->got.count);
    }
    if (st == HR_OK) st = hr__conformance_same(s, 0, HR_INTERNAL, "conformance.resume", "resumed again and again");
    if (st == HR_OK && saved) st = hr__conformance_run(s, &s->got, (way){.state = saved, .state_size = size});
    if (st == HR_OK && saved && (s->got.count != 0 || s->got.end != HR_END))
        st = hr__conformance_fail(s, HR_INTERNAL, "conformance.resume",
                                  "resumed after its end: expected nothing and the end, found %d elements and %s",
                                  s->got.count, hr_status_name(s->got.end));
    hr_free(saved);
    return st;
}

/* ---- states of others, and states that were changed ---- */

static hr_status try_state(subject *s, const void *saved, size_t size, bool must_fail, const char *what)
{
    void *copy = malloc(size + 1); /* so that a byte too much is seen */
    if (!copy) return hr_no_memory(s->err, "a state");
    if (size) memcpy(copy, saved, size);
    hr__conformance_begin(&s->got);
    hr_iterator *it =
        hr__conformance_iterate(s, (way){.window = 1, .unit_rows = 13, .state = copy, .state_size = size});
    const hr_status st = hr__conformance_run_on(s, &s->got, it, MAX_ELEMENTS);
    hr_iterator_free(it);
    free(copy);
    if (st != HR_OK || !must_fail || s->got.end < 0) return st;
    return hr__conformance_fail(s, HR_INTERNAL, "conformance.foreign_state",
                                "expected that %s is refused, found that it is accepted", what);
}

static hr_status try_damaged_states(subject *s)
{
    size_t size;
    void *saved;
    HR_TRY(save_after(s, s->want.count / 2, (way){.window = 1, .unit_rows = 13}, &saved, &size));
    hr_status st = HR_OK;
    char *bytes = saved;
    for (size_t cut = 0; cut < size && st == HR_OK; cut += 1 + size / 16)
        st = try_state(s, saved, cut, cut > 0, "a state that is cut");
    for (size_t at = 0; at < size && st == HR_OK; at += 1 + size / 32) {
        bytes[at] ^= (char)(1 << at % 8);
        st = try_state(s, saved, size, false, "a state with a flipped bit");
        bytes[at] ^= (char)(1 << at % 8);
    }
    hr_free(saved);
    return st;
}

static hr_dataset *build_another(void *user) { return (void)user, hr_skip(hr_skip(hr_range(3), 1), 1); }

hr_status hr__conformance_foreign_states(subject *s)
{
    if (MIN_WORKERS > 0) return HR_OK;
    HR_TRY(try_damaged_states(s));
    size_t size;
    void *saved = NULL;
    const subject another = {.build = build_another, .name = "the suite's own pipeline", .err = s->err};
    hr_iterator *it = hr__conformance_iterate(&another, (way){.window = 1});
    hr_status st = hr__conformance_save(&another, it, &saved, &size);
    hr_iterator_free(it);
    if (st == HR_OK) st = try_state(s, saved, size, true, "the state of another pipeline");
    hr_free(saved);
    return st;
}

/* One number of a state is another. */
typedef struct changed_number {
    int64_t at; /* which of those that a restore reads, from 0 */
    int64_t value;
    bool added; /* to what was saved, instead of in its place */
    int64_t reads;
} changed_number;

static int64_t change_number(int64_t number, void *user)
{
    changed_number *c = user;
    if (c->reads++ != c->at) return number;
    return (int64_t)((c->added ? (uint64_t)number : 0) + (uint64_t)c->value);
}

static hr_status try_number(subject *s, const void *saved, size_t size, changed_number *c)
{
    hr__conformance_begin(&s->got);
    hr_iterator *it = hr__conformance_iterate(s, (way){.window = 1,
                                                       .unit_rows = 13,
                                                       .state = saved,
                                                       .state_size = size,
                                                       .change = change_number,
                                                       .change_user = c});
    const hr_status st = hr__conformance_run_on(s, &s->got, it, MAX_ELEMENTS);
    hr_iterator_free(it);
    if (st != HR_OK || s->got.end != HR_RESOURCE_EXHAUSTED) return st;
    return hr__conformance_fail(s, HR_INTERNAL, "conformance.changed_state",
                                "number %" PRId64 " of a state is %s%" PRId64
                                ": expected that it is refused or accepted, found ResourceExhausted \"%.150s\"; let "
                                ".range or .load refuse it",
                                c->at, c->added ? "changed by " : "", c->value, s->got.error.text);
}

/* Some other number in the place of one that was saved, each in turn: the state is refused, or read as another that
 * might have been saved. */
hr_status hr__conformance_changed_states(subject *s)
{
    static const changed_number changes[] = {
        {.value = -1},   {.value = INT64_MIN},        {.value = INT64_MAX},
        {.value = 3000}, {.value = 1, .added = true}, {.value = -1, .added = true}};
    enum { MAX_READS = 32, CHANGES = sizeof changes / sizeof *changes };
    if (MIN_WORKERS > 0) return HR_OK;
    size_t size;
    void *saved;
    HR_TRY(save_after(s, s->want.count / 2, (way){.window = 1, .unit_rows = 13}, &saved, &size));
    bool more = true;
    hr_status st = HR_OK;
    for (int64_t n = 0; more && n < MAX_READS; n++)
        for (int i = 0; i < CHANGES && st == HR_OK; i++) {
            changed_number c = changes[i];
            c.at = n;
            st = try_number(s, saved, size, &c);
            more = st == HR_OK && c.reads > n;
        }
    hr_free(saved);
    return st;
}
