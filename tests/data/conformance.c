/* Runs a sample in every way and compares hashes of what comes out. Samples are small, so that a binary takes
 * seconds. */
#include "tests/data/conformance.h"
#include "data/dataset.h"
#include "tests/data/crafted_state.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STOPS = 24, MOST_FAILURES = 120, POOL = 8, PATIENCE_S = 120 };

/* ThreadSanitizer has nothing to find where the caller does all by itself, and of samples that follow from others a few
 * runs show it all code that is not in those. The other builds run everything. */
#ifdef __SANITIZE_THREAD__
enum { LEAST_WORKERS = 1, WAYS_APART = 3, FEW_STOPS = 2 };
#else
enum { LEAST_WORKERS = 0, WAYS_APART = 1, FEW_STOPS = 6 };
#endif

static const int worker_counts[] = {0, 1, 2, 8}, windows[] = {1, 64};
static const int64_t units[] = {1, 13, 1000};

/* The n-th way: neighbours differ in all three. */
static way way_number(int n)
{
    return (way){.workers = worker_counts[n % 4], .window = windows[n / 4 % 2], .unit_rows = units[n % 3]};
}

/* ---- hashes of elements ---- */

static uint64_t mix(uint64_t sum, const void *data, size_t size)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < size; i++) sum = (sum ^ byte[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static uint64_t mix_number(uint64_t sum, int64_t value) { return mix(sum, &value, sizeof value); }

static uint64_t mix_values(uint64_t sum, const hr_tensor *t)
{
    const hr_view *text = t->data;
    if (t->dtype != HR_STRING) return mix(sum, t->data, (size_t)t->count * hr_dtype_size(t->dtype));
    for (int64_t i = 0; i < t->count; i++) sum = mix(mix_number(sum, text[i].size), text[i].data, (size_t)text[i].size);
    return sum;
}

static uint64_t mix_tensor(uint64_t sum, const hr_tensor *t)
{
    sum = mix_number(mix_number(sum, t->dtype), t->layout);
    for (int i = 0; i < t->shape.rank; i++) sum = mix_number(sum, t->shape.dims[i]);
    int64_t outer = t->shape.rank > 0 ? t->shape.dims[0] : 0;
    for (int l = 0; l < t->ragged_rank; l++) {
        sum = mix(sum, t->splits[l], (size_t)(outer + 1) * sizeof(int32_t));
        outer = t->splits[l][outer];
    }
    if (t->layout == HR_SPARSE) sum = mix(sum, t->indices, (size_t)(t->count * t->shape.rank) * sizeof(int64_t));
    return mix_values(mix_number(sum, t->count), t);
}

/* False: there was no memory for a component. */
static bool hash_element(const hr_element *e, uint64_t *sum)
{
    *sum = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < hr_element_schema(e)->fields; i++) {
        const hr_tensor *t = hr_get_at(e, i);
        if (!t) return false;
        *sum = mix_tensor(*sum, t);
    }
    return true;
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
                            .state_size = w.state_size};
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
        if (!hash_element(e, &r->element[r->count++])) {
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

static void assert_same_tail(const run *want, int from, const run *got, const char *how)
{
    if (got->end != want->end || strcmp(got->error.text, want->error.text) != 0)
        fail_msg("%s: ends with %s \"%s\" instead of %s \"%s\"", how, hr_status_name(got->end), got->error.text,
                 hr_status_name(want->end), want->error.text);
    if (got->count != want->count - from)
        fail_msg("%s: %d elements instead of %d", how, got->count, want->count - from);
    for (int i = 0; i < got->count; i++)
        if (got->element[i] != want->element[from + i]) fail_msg("%s: element %d differs", how, from + i);
}

void assert_same_run(const run *want, const run *got) { assert_same_tail(want, 0, got, "the other run"); }

hr_status draw_digits(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    const hr_tensor *from = hr_get(in, "value");
    int64_t *value = hr_set(out, "value");
    for (int64_t i = 0; i < from->count; i++)
        value[i] = ((const int64_t *)from->data)[i] * 1000 + (int64_t)(hr_call_random(call, (uint64_t)i) % 1000);
    return HR_OK;
}

static const char *describe(char *text, size_t size, const sample *s, way w)
{
    snprintf(text, size, "%s, %d workers, window %d, units of %" PRId64 ", budget %zu", s->name, w.workers, w.window,
             w.unit_rows, w.budget);
    return text;
}

/* The run that all others are held against: no threads, one unit at a time. */
static const run *reference(const sample *s)
{
    static run want;
    run_all(&want, s->build(), (way){.window = 1, .unit_rows = 32});
    if (want.count == 0) fail_msg("%s: the sample gives nothing: %s", s->name, want.error.text);
    return &want;
}

/* As many as hr_cardinality says, where it says a number and nothing fails. Takes `ds`. */
static void assert_cardinality(const char *name, hr_dataset *ds, const run *got)
{
    const int64_t said = hr_cardinality(ds);
    const bool wrong = said >= 0 ? got->count != said : said == HR_INFINITE_CARDINALITY;
    hr_dataset_unref(ds);
    if (got->end == HR_END && wrong) fail_msg("%s: hr_cardinality says %" PRId64 ", it has %d", name, said, got->count);
}

/* ---- checks ---- */

static void compare(const sample *s, const run *want, way w)
{
    static run got;
    char how[160];
    if (w.workers < LEAST_WORKERS) return;
    run_all(&got, s->build(), w);
    assert_same_tail(want, 0, &got, describe(how, sizeof how, s, w));
}

void gives_the_same_elements_however_run(void **state)
{
    const sample *s = *state;
    const run *want = reference(s);
    assert_cardinality(s->name, s->build(), want);
    for (int w = 0; w < 4; w++)
        for (int d = 0; d < 2; d++)
            for (int u = 0; u < 3; u++)
                compare(s, want, (way){.workers = worker_counts[w], .window = windows[d], .unit_rows = units[u]});
    compare(s, want, (way){.workers = 2});
    for (int w = 0; w < 4; w++) compare(s, want, (way){.workers = worker_counts[w], .window = 64, .budget = 1});
    compare(s, want, (way){.workers = 2, .unit_rows = 13, .budget = 16384});
    for (int seed = 1; seed <= 3; seed++) {
        char text[16];
        snprintf(text, sizeof text, "%d", seed);
        setenv("HEADRACE_STALL", text, 1);
        compare(s, want, (way){.workers = 2, .window = 4, .unit_rows = units[seed % 3]});
        unsetenv("HEADRACE_STALL");
    }
}

static void *save(hr_iterator *it, size_t *size)
{
    hr_error err;
    void *saved = NULL;
    assert_ok(hr_iterator_save(it, &saved, size, &err), &err);
    return saved;
}

/* Stops after k elements, goes on in another way from the state. */
static void stop_at(const sample *s, const run *want, int k, int n)
{
    static run got;
    char how[160];
    size_t size;
    begin(&got);
    hr_iterator *it = iterate(s->build(), way_number(n));
    run_on(&got, it, k);
    assert_int_equal(got.count, k);
    void *saved = save(it, &size);
    hr_iterator_free(it);
    if (size > 4096) fail_msg("%s: the state after %d elements has %zu bytes, more than 4096", s->name, k, size);

    way w = way_number(n + n / 3 + 1);
    w.state = saved;
    w.state_size = size;
    run_all(&got, s->build(), w);
    hr_free(saved);
    size_t used = strlen(describe(how, sizeof how, s, w));
    snprintf(how + used, sizeof how - used, ", stopped after %d", k);
    assert_same_tail(want, k, &got, how);
}

void goes_on_anywhere(void **state)
{
    const sample *s = *state;
    const run *want = reference(s);
    const int step = 1 + want->count / MOST_STOPS;
    for (int k = 0, n = 0; k < want->count; k += step, n++) stop_at(s, want, k, n);
    stop_at(s, want, want->count, 5);
}

/* ---- samples that follow from others. The linker puts __wrap_hr_shuffle_with and __wrap_hr_range_with between a
 * sample and the library (--wrap) ---- */

enum { COLUMNS = 9, MOST_OF_ENDLESS = 300 };
static const hr_field columns_field[COLUMNS + 1] = {
    {.name = "value", .dtype = HR_INT64}, {.name = "c1", .dtype = HR_INT64},
    {.name = "c2", .dtype = HR_INT64},    {.name = "c3", .dtype = HR_INT64},
    {.name = "c4", .dtype = HR_INT64},    {.name = "c5", .dtype = HR_INT64},
    {.name = "c6", .dtype = HR_INT64},    {.name = "c7", .dtype = HR_INT64},
    {.name = "c8", .dtype = HR_INT64},    {.name = "list", .dtype = HR_INT64, .layout = HR_RAGGED, .shape = {1, {-1}}},
};
static const hr_schema columns_schema = {.fields = COLUMNS + 1, .field = columns_field};

static hr_status make_columns(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const int64_t n = *(const int64_t *)hr_get(in, "value")->data, values = (n & 3) == 3 ? 0 : n & 3;
    for (int i = 0; i < COLUMNS; i++) *(int64_t *)hr_set(out, columns_field[i].name) = i ? n % (1 << 2 * i) + i : n;
    int64_t *list = hr_set_count(out, "list", values);
    for (int64_t i = 0; list && i < values; i++) list[i] = n + i;
    return list || values == 0 ? HR_OK : HR_RESOURCE_EXHAUSTED;
}

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
    return hr_cache(hr_map(ds, make_columns, NULL, .output = &columns_schema));
}

/* The dataset of the operator `name`, or of a part of it ("name.part"); borrows. NULL: there is none. */
static hr_dataset *find_operator(hr_dataset *ds, const char *name)
{
    const size_t size = strlen(name);
    if (hr_dataset_error(ds)) return NULL;
    if (strncmp(ds->op->name, name, size) == 0 && (ds->op->name[size] == 0 || ds->op->name[size] == '.')) return ds;
    hr_dataset *found = NULL;
    for (int i = 0; i < ds->inputs && !found; i++) found = find_operator(ds->in[i], name);
    return found;
}

static hr_dataset *build_derived(void)
{
    derived.building = true;
    hr_dataset *all = derived.from->build();
    derived.building = false;
    hr_dataset *alone = derived.alone ? find_operator(all, derived.from->name) : NULL;
    hr_dataset *ds = hr_dataset_ref(alone ? alone : all);
    hr_dataset_unref(derived.whole);
    derived.whole = all;
    return hr_cardinality(ds) == HR_INFINITE_CARDINALITY ? hr_take(ds, MOST_OF_ENDLESS) : ds;
}

/* What such a sample must keep; it may be that it gives nothing. */
static void keep_all(const sample *s)
{
    static run want;
    run_all(&want, s->build(), (way){.window = 1, .unit_rows = 32});
    assert_cardinality(s->name, s->build(), &want);
    for (int n = 0; n < 6; n += WAYS_APART) compare(s, &want, way_number(2 * n + 1));
    compare(s, &want, (way){.workers = 2, .window = 64, .unit_rows = 5, .budget = 1});
    for (int k = 0, n = 0; k < want.count; k += 1 + want.count / FEW_STOPS, n++) stop_at(s, &want, k, n);
    if (want.end == HR_END) stop_at(s, &want, want.count, 5);
}

void does_so_alone_and_over_wide_rows(void **state)
{
    char name[96];
    for (int i = 1; i <= 3; i++) {
        derived = (struct derived){.from = *state, .alone = i & 1, .wide = i & 2};
        if (derived.alone && LEAST_WORKERS > 0) continue; /* no code that is not in the sample */
        hr_dataset *ds = build_derived();
        const bool can_be = !hr_dataset_error(ds) && (!derived.wide || derived.has_range);
        hr_dataset_unref(ds);
        snprintf(name, sizeof name, "%s%s%s", derived.from->name, derived.alone ? ", alone" : "",
                 derived.wide ? ", over wide rows" : "");
        if (can_be) keep_all(&(sample){name, build_derived, NULL});
        hr_dataset_unref(derived.whole);
    }
}

/* ---- other arguments ---- */

static struct {
    const sample *from;
    int number;
} argument;

/* The one at hand; NULL: there are no more. */
static hr_dataset *build_arguments(void)
{
    hr_dataset *all[MOST_ARGUMENTS];
    const int count = argument.from->build_all(all);
    hr_dataset *ds = argument.number < count ? hr_dataset_ref(all[argument.number]) : NULL;
    for (int i = 0; i < count; i++) hr_dataset_unref(all[i]);
    return ds;
}

static bool is_refusal(const char *kind)
{
    return kind && (strcmp(kind, "state.other_arguments") == 0 || strcmp(kind, "state.other_pipeline") == 0);
}

void are_refused_by_the_state_of_others(void **state)
{
    char name[96];
    size_t size;
    static run got;
    hr_dataset *ds;
    argument.from = *state;
    argument.number = 0;
    hr_iterator *it = iterate(build_arguments(), (way){.window = 1, .unit_rows = 3});
    begin(&got);
    run_on(&got, it, 2);
    void *saved = save(it, &size);
    hr_iterator_free(it);
    for (; (ds = build_arguments()); argument.number++) {
        snprintf(name, sizeof name, "%s with arguments %d", argument.from->name, argument.number);
        if (hr_dataset_error(ds)) fail_msg("%s: %s", name, hr_dataset_error(ds)->text);
        if (argument.number == 0) {
            hr_dataset_unref(ds);
        } else {
            run_all(&got, ds, (way){.state = saved, .state_size = size});
            if (!is_refusal(got.error.kind)) fail_msg("%s: the state of arguments 0 is not refused", name);
        }
        keep_all(&(sample){name, build_arguments, NULL});
    }
    hr_free(saved);
}

/* Every state is made by an iterator that was itself restored. The last one is saved after the end. */
void goes_on_again_and_again(void **state)
{
    const sample *s = *state;
    const run *want = reference(s);
    static run got;
    begin(&got);
    void *saved = NULL;
    size_t size = 0;
    const int step = 1 + want->count / MOST_STOPS;
    for (int n = 0; got.end == HR_OK; n++) {
        way w = way_number(n);
        w.state = saved;
        w.state_size = size;
        hr_iterator *it = iterate(s->build(), w);
        run_on(&got, it, step);
        hr_free(saved);
        saved = got.end < 0 ? NULL : save(it, &size);
        hr_iterator_free(it);
        if (n > 2 * MOST_STOPS) fail_msg("%s: does not end", s->name);
    }
    assert_same_tail(want, 0, &got, s->name);
    if (!saved) return;
    run_all(&got, s->build(), (way){.state = saved, .state_size = size});
    hr_free(saved);
    assert_int_equal(got.count, 0);
    assert_status(got.end, HR_END);
}

static void try_state(const sample *s, const void *saved, size_t size, bool must_fail, const char *what)
{
    static run got;
    void *copy = malloc(size + 1); /* so that a byte too much is seen */
    assert_non_null(copy);
    if (size) memcpy(copy, saved, size);
    begin(&got);
    hr_iterator *it = iterate(s->build(), (way){.window = 1, .unit_rows = 13, .state = copy, .state_size = size});
    run_on(&got, it, MOST_ELEMENTS);
    hr_iterator_free(it);
    free(copy);
    if (must_fail && got.end >= 0) fail_msg("%s: %s is accepted", s->name, what);
}

static hr_dataset *another(void) { return hr_skip(hr_skip(hr_range(3), 1), 1); }

void refuses_a_cut_or_foreign_state(void **state)
{
    if (LEAST_WORKERS > 0) skip();
    const sample *s = *state;
    const run *want = reference(s);
    static run got;
    size_t size, foreign_size;
    begin(&got);
    hr_iterator *it = iterate(s->build(), (way){.window = 1, .unit_rows = 13});
    run_on(&got, it, want->count / 2);
    char *saved = save(it, &size);
    hr_iterator_free(it);
    for (size_t cut = 0; cut < size; cut += 1 + size / 16) try_state(s, saved, cut, cut > 0, "a state that is cut");
    for (size_t at = 0; at < size; at += 1 + size / 32) {
        saved[at] ^= 1 << at % 8;
        try_state(s, saved, size, false, "a state with a flipped bit");
        saved[at] ^= 1 << at % 8;
    }
    hr_free(saved);

    it = iterate(another(), (way){.window = 1});
    saved = save(it, &foreign_size);
    hr_iterator_free(it);
    try_state(s, saved, foreign_size, true, "the state of another pipeline");
    hr_free(saved);
}

/* Some other number in the place of one that was saved, each in turn: the state is refused, or read as another that
 * might have been saved. Never is memory read that is not there, nor asked for by a number that cannot be. */
void survives_any_number_in_its_state(void **state)
{
    static const crafted_number crafted[] = {
        {.value = -1},   {.value = INT64_MIN},        {.value = INT64_MAX},
        {.value = 3000}, {.value = 1, .added = true}, {.value = -1, .added = true}};
    enum { MOST_READS = 32, CRAFTED = sizeof crafted / sizeof *crafted };
    if (LEAST_WORKERS > 0) skip();
    const sample *s = *state;
    static run got;
    size_t size;
    begin(&got);
    hr_iterator *it = iterate(s->build(), (way){.window = 1, .unit_rows = 13});
    run_on(&got, it, reference(s)->count / 2);
    char *saved = save(it, &size);
    hr_iterator_free(it);
    bool more = true;
    for (int64_t n = 0; more && n < MOST_READS; n++)
        for (int i = 0; i < CRAFTED; i++) {
            crafted_number number = crafted[i];
            number.read = n;
            craft_state(&number, 1);
            begin(&got);
            it = iterate(s->build(), (way){.window = 1, .unit_rows = 13, .state = saved, .state_size = size});
            run_on(&got, it, MOST_ELEMENTS);
            hr_iterator_free(it);
            more = crafted_reads() > n;
            craft_state(NULL, 0);
            if (got.end == HR_RESOURCE_EXHAUSTED)
                fail_msg("number %lld as %s%lld: %s", (long long)n, number.added ? "+" : "", (long long)number.value,
                         got.error.text);
        }
    hr_free(saved);
}

void can_be_cancelled(void **state)
{
    const sample *s = *state;
    const run *want = reference(s);
    static run got;
    for (int n = 0; n < 8; n++) {
        begin(&got);
        const hr_element *e;
        hr_iterator *it = iterate(s->build(), way_number(n));
        run_on(&got, it, n < 4 || n - 4 > want->count ? want->count / 2 : n - 4);
        hr_cancel(it);
        assert_status(hr_next(it, &e), HR_CANCELLED);
        assert_status(hr_next(it, &e), HR_CANCELLED);
        assert_status(hr_iterator_error(it)->code, HR_CANCELLED);
        hr_iterator_free(it);
        it = iterate(s->build(), way_number(n)); /* one that was never asked */
        hr_iterator_free(it);
    }
}

/* Either nobody noticed, or it is said. What comes before differs where an operator above sees its input end early: a
 * shuffle drains. */
static void run_short_of_memory(const sample *s, const run *want, int64_t n, int workers)
{
    static run got;
    begin(&got);
    const int64_t before = allocations_alive();
    fail_allocation(n);
    hr_iterator *it = iterate(s->build(), (way){.workers = workers, .window = 4, .unit_rows = 13});
    run_on(&got, it, want->count / 2);
    size_t size;
    hr_error err;
    void *saved = NULL;
    hr_status status = got.end == HR_OK ? hr_iterator_save(it, &saved, &size, &err) : HR_OK;
    if (status != HR_OK && status != HR_RESOURCE_EXHAUSTED) fail_msg("%s: save: %s", s->name, err.text);
    hr_free(saved);
    if (got.end == HR_OK) run_on(&got, it, MOST_ELEMENTS);
    hr_iterator_free(it);
    allocations_since();

    if (got.end == HR_RESOURCE_EXHAUSTED) {
        if (got.count > want->count) fail_msg("%s: allocation %" PRId64 ": too many elements", s->name, n);
    } else {
        assert_same_tail(want, 0, &got, s->name);
    }
    if (allocations_alive() != before)
        fail_msg("%s: allocation %" PRId64 " failed: %" PRId64 " are not freed", s->name, n,
                 allocations_alive() - before);
}

void survives_every_failed_allocation(void **state)
{
    const sample *s = *state;
    const run *want = reference(s);
    compare(s, want, (way){.workers = POOL}); /* the pool starts here: its memory is no leak */
    run_short_of_memory(s, want, INT64_MAX, 0);
    const int64_t count = allocations_since();
    const int64_t step = 1 + count / MOST_FAILURES;
    for (int64_t n = 0; n < count && LEAST_WORKERS == 0; n += n < 60 ? 1 : step) run_short_of_memory(s, want, n, 0);
    for (int64_t n = 0; n < count; n += 1 + count / 12) run_short_of_memory(s, want, n, 2);
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
