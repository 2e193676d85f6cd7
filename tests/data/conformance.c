/* The checks of <headrace/conformance.h> as cmocka tests of a sample, and helpers for tests of what an operator gives. */
#include "tests/data/conformance.h"
#include <headrace/conformance.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOL = 8, PATIENCE_S = 120 };

/* ThreadSanitizer has nothing to find where the caller does all by itself. */
enum { MIN_WORKERS = UNDER_TSAN };

/* Before main, after that of testing.c: the suite makes allocations fail on top of it. */
__attribute__((constructor)) static void count_allocations(void)
{
    hr_conformance_count_allocations(&testing_allocator);
}

/* ---- runs ---- */

hr_iterator *iterate(hr_dataset *ds, way w)
{
    if (hr_threads() < POOL) hr_set_threads(POOL);
    hr_iterate_opts opts = {.struct_size = sizeof opts,
                            .workers = &w.workers,
                            .window = w.window,
                            .unit_rows = w.unit_rows,
                            .budget = w.budget,
                            .seed = w.seed ? w.seed : 7,
                            .state = w.state,
                            .state_size = w.state_size,
                            .epoch = w.epoch};
    return hr_iterate_with(ds, &opts);
}

hr_status next_soon(hr_iterator *it, const hr_element **e)
{
    const hr_status st = hr_next_within(it, PATIENCE_S * UINT64_C(1000000000), e);
    if (st == HR_WAIT) fail_msg("the pipeline stands still: nothing came for %d s", PATIENCE_S);
    return st;
}

void run_on(run *r, hr_iterator *it, int at_most)
{
    const hr_element *e;
    r->end = HR_OK;
    for (; at_most > 0 && (r->end = next_soon(it, &e)) == HR_OK; at_most--) {
        if (r->count == MOST_ELEMENTS) fail_msg("more than %d elements", MOST_ELEMENTS);
        if (!hr_conformance_digest(e, &r->element[r->count++])) {
            r->end = HR_RESOURCE_EXHAUSTED;
            return;
        }
    }
    const hr_error *error = hr_iterator_error(it);
    if (error) r->error = *error;
}

static void begin(run *r)
{
    r->count = 0;
    r->end = HR_OK;
    memset(&r->error, 0, sizeof r->error);
}

void run_all(run *r, hr_dataset *ds, way w)
{
    begin(r);
    hr_iterator *it = iterate(ds, w);
    run_on(r, it, INT32_MAX);
    hr_iterator_free(it);
}

void assert_same_run(const run *want, const run *got)
{
    if (got->end != want->end || strcmp(got->error.text, want->error.text) != 0)
        fail_msg("the other run ends with %s \"%s\" instead of %s \"%s\"", hr_status_name(got->end), got->error.text,
                 hr_status_name(want->end), want->error.text);
    if (got->count != want->count) fail_msg("the other run: %d elements instead of %d", got->count, want->count);
    for (int i = 0; i < got->count; i++)
        if (got->element[i] != want->element[i]) fail_msg("the other run: element %d differs", i);
}

hr_status draw_digits(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    const hr_tensor *from = hr_get(in, "value");
    int64_t *value = hr_set(out, "value");
    for (int64_t i = 0; i < from->count; i++)
        value[i] = ((const int64_t *)from->data)[i] * 1000 + (int64_t)(hr_call_random(call, (uint64_t)i) % 1000);
    return HR_OK;
}

/* ---- checks ---- */

static hr_dataset *build_sample(void *user) { return ((const sample *)user)->build(); }

static void conform(const sample *s, unsigned checks, bool quick)
{
    hr_error err;
    const hr_conformance_opts opts = {.struct_size = sizeof opts, .name = s->name, .checks = checks, .quick = quick};
    assert_ok(hr_conformance_pipeline(build_sample, (void *)(uintptr_t)s, &opts, &err), &err);
}

void gives_the_same_elements_however_run(void **state) { conform(*state, HR_CONFORM_RUNS, false); }
void goes_on_anywhere(void **state) { conform(*state, HR_CONFORM_RESUME, UNDER_TSAN); }
void goes_on_again_and_again(void **state) { conform(*state, HR_CONFORM_RESUME_OFTEN, false); }
void refuses_a_cut_or_foreign_state(void **state) { conform(*state, HR_CONFORM_FOREIGN_STATES, false); }
void survives_any_number_in_its_state(void **state) { conform(*state, HR_CONFORM_CHANGED_STATES, false); }
void can_be_cancelled(void **state) { conform(*state, HR_CONFORM_CANCEL, false); }
void survives_every_failed_allocation(void **state) { conform(*state, HR_CONFORM_MEMORY, false); }
void gives_an_epoch_alone_as_repeat_does(void **state) { conform(*state, HR_CONFORM_EPOCHS, false); }

/* ---- samples that follow from others. The linker puts __wrap_hr_shuffle_with and __wrap_hr_range_with between a
 * sample and the library (--wrap) ---- */

enum { MAX_OF_ENDLESS = 300 };

/* How the sample at hand follows from another. */
static struct derived {
    const sample *from;
    bool alone, wide, has_range;
    bool building;     /* now */
    hr_dataset *whole; /* the sample: what it is put together of may share what its top owns */
} derived;

hr_dataset *__real_hr_shuffle_with(hr_dataset *in, int64_t buffer_size, const hr_shuffle_opts *opts);
hr_dataset *__wrap_hr_shuffle_with(hr_dataset *in, int64_t buffer_size, const hr_shuffle_opts *opts);
hr_dataset *__wrap_hr_shuffle_with(hr_dataset *in, int64_t buffer_size, const hr_shuffle_opts *opts)
{
    const bool itself = derived.from && strcmp(derived.from->name, "shuffle") == 0;
    if (derived.building && derived.alone && !itself) return in;
    return __real_hr_shuffle_with(in, buffer_size, opts);
}

hr_dataset *__real_hr_range_with(int64_t stop, const hr_range_opts *opts);
hr_dataset *__wrap_hr_range_with(int64_t stop, const hr_range_opts *opts);
hr_dataset *__wrap_hr_range_with(int64_t stop, const hr_range_opts *opts)
{
    hr_dataset *ds = __real_hr_range_with(stop, opts);
    if (!derived.building || !derived.wide || (opts && opts->dtype && opts->dtype != HR_INT64)) return ds;
    derived.has_range = true;
    return hr_conformance_wide_rows(ds);
}

/* The dataset of the operator `name`, or of a part of it ("name.part"); borrows. NULL: there is none. */
static const hr_dataset *find_operator(const hr_dataset *ds, const char *name)
{
    const size_t size = strlen(name);
    if (hr_dataset_error(ds)) return NULL;
    const char *own = hr_dataset_op(ds)->name;
    if (strncmp(own, name, size) == 0 && (own[size] == 0 || own[size] == '.')) return ds;
    const hr_dataset *found = NULL;
    for (int i = 0; hr_dataset_input(ds, i) && !found; i++) found = find_operator(hr_dataset_input(ds, i), name);
    return found;
}

static hr_dataset *build_derived(void)
{
    derived.building = true;
    hr_dataset *all = derived.from->build();
    derived.building = false;
    const hr_dataset *alone = derived.alone ? find_operator(all, derived.from->name) : NULL;
    hr_dataset *ds = hr_dataset_ref(alone ? (hr_dataset *)(uintptr_t)alone : all);
    hr_dataset_unref(derived.whole);
    derived.whole = all;
    return hr_cardinality(ds) == HR_INFINITE_CARDINALITY ? hr_take(ds, MAX_OF_ENDLESS) : ds;
}

void does_so_alone_and_over_wide_rows(void **state)
{
    char name[96];
    for (int i = 1; i <= 3; i++) {
        derived = (struct derived){.from = *state, .alone = i & 1, .wide = i & 2};
        if (derived.alone && MIN_WORKERS > 0) continue; /* no code that is not in the sample */
        hr_dataset *ds = build_derived();
        const bool can_be = !hr_dataset_error(ds) && (!derived.wide || derived.has_range);
        hr_dataset_unref(ds);
        snprintf(name, sizeof name, "%s%s%s", derived.from->name, derived.alone ? ", alone" : "",
                 derived.wide ? ", over wide rows" : "");
        if (can_be) conform(&(sample){name, build_derived, NULL}, HR_CONFORM_RUNS | HR_CONFORM_RESUME, true);
        hr_dataset_unref(derived.whole);
    }
}

/* ---- other arguments ---- */

static hr_dataset *build_variant(int number, void *user)
{
    hr_dataset *all[MOST_ARGUMENTS];
    const int count = ((const sample *)user)->build_all(all);
    hr_dataset *ds = number < count ? hr_dataset_ref(all[number]) : NULL;
    for (int i = 0; i < count; i++) hr_dataset_unref(all[i]);
    return ds;
}

void are_refused_by_the_state_of_others(void **state)
{
    hr_error err;
    const sample *s = *state;
    const hr_conformance_opts opts = {.struct_size = sizeof opts, .name = s->name};
    assert_ok(hr_conformance_arguments(build_variant, (void *)(uintptr_t)s, &opts, &err), &err);
}

/* ---- values ---- */

int int64_values(hr_dataset *ds, way w, int64_t *value, int room)
{
    int count = 0;
    const hr_element *e;
    hr_status st;
    hr_iterator *it = iterate(ds, w);
    while ((st = next_soon(it, &e)) == HR_OK) {
        const hr_tensor *t = hr_get(e, "value");
        assert_non_null(t);
        assert_int_equal(t->dtype, HR_INT64);
        for (int64_t i = 0; i < t->count; i++) {
            assert_less(count, room);
            value[count++] = ((const int64_t *)t->data)[i];
        }
    }
    if (st != HR_END) fail_msg("%s", hr_iterator_error(it)->text);
    hr_iterator_free(it);
    return count;
}

void assert_int64_values(hr_dataset *ds, const int64_t *want, int count)
{
    static int64_t got[MOST_ELEMENTS];
    const int found = int64_values(ds, (way){.unit_rows = 3}, got, MOST_ELEMENTS);
    for (int i = 0; i < found && i < count; i++)
        if (got[i] != want[i]) fail_msg("value %d is %" PRId64 ", not %" PRId64, i, got[i], want[i]);
    assert_int_equal(found, count);
}

void assert_fails(hr_dataset *ds, hr_status code, const char *kind)
{
    static run got;
    run_all(&got, ds, (way){.unit_rows = 3});
    if (got.end != code || !got.error.kind || strcmp(got.error.kind, kind) != 0)
        fail_msg("ended with %s %s \"%s\", not with %s %s", hr_status_name(got.end),
                 got.error.kind ? got.error.kind : "", got.error.text, hr_status_name(code), kind);
}

void write_example_file(const char *path, hr_example *ex, void (*add)(hr_example *ex, int row), int rows)
{
    hr_error err;
    hr_record_writer *writer;
    const hr_output_opts opts = {.struct_size = sizeof opts};
    assert_non_null(ex);
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int r = 0; r < rows; r++) {
        hr_view bytes;
        hr_example_clear(ex);
        add(ex, r);
        assert_ok(hr_example_bytes(ex, &bytes, &err), &err);
        assert_ok(hr_record_write(writer, bytes.data, (size_t)bytes.size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    hr_example_free(ex);
}
