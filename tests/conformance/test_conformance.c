/* The conformance suite finds what is wrong with an operator: one descriptor for each mistake, each otherwise like the
 * sound one. Errors name the check, the pipeline, what was expected and what was found. */
#include "tests/testing.h"
#include <headrace/conformance.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Before main, after that of testing.c. */
__attribute__((constructor)) static void count_allocations(void)
{
    hr_conformance_count_allocations(&testing_allocator);
}

/* ---- a sound operator: passes one element of n, and remembers how many it passed in memory of its own ---- */

typedef struct nth_spec {
    int64_t n;
} nth_spec;

typedef struct nth_state {
    int64_t seen; /* saved */
    int64_t *passed;
} nth_state;

static hr_status nth_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec, (void)p;
    nth_state *st = state;
    st->passed = hr_calloc(1, sizeof *st->passed);
    return st->passed ? HR_OK : hr_no_memory(err, "every_nth: a state");
}

static hr_status nth_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const nth_spec *sp = spec;
    nth_state *st = state;
    while (hr_room(p) > 0) {
        hr_span span;
        HR_TRY(hr_pull(p, 0, 1, &span));
        if (st->seen++ % sp->n == 0) {
            ++*st->passed;
            hr_emit(p, span);
        } else
            hr_span_drop(span);
    }
    return HR_OK;
}

static void nth_close(void *state) { hr_free(((nth_state *)state)->passed); }
static void nth_identity(const void *spec, uint64_t *sum) { hr_identify_i64(sum, ((const nth_spec *)spec)->n); }

static int64_t nth_cardinality(const void *spec, const int64_t *in)
{
    const int64_t n = ((const nth_spec *)spec)->n;
    return in[0] < 0 ? in[0] : (in[0] + n - 1) / n;
}

#define SOUND                                                                                                          \
    .head = HR_OP_HEAD, .name = "every_nth", .spec_size = sizeof(nth_spec), .state_size = sizeof(nth_state),           \
    .open = nth_open, .close = nth_close

static const hr_op sound = {SOUND, .saved = 1, .plan = nth_plan, .identity = nth_identity,
                            .cardinality = nth_cardinality};

/* ---- the mistakes ---- */

static const hr_op saves_nothing = {SOUND, .plan = nth_plan, .identity = nth_identity};
static const hr_op without_identity = {SOUND, .saved = 1, .plan = nth_plan};

/* Where a unit ends decides which elements pass. */
static hr_status plan_by_units(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const nth_spec *sp = spec;
    for (int64_t i = 0; hr_room(p) > 0; i++) {
        hr_span span;
        HR_TRY(hr_pull(p, 0, 1, &span));
        if (i % sp->n == 0)
            hr_emit(p, span);
        else
            hr_span_drop(span);
    }
    return (void)state, (void)err, HR_OK;
}
static const hr_op depends_on_units = {SOUND, .saved = 1, .plan = plan_by_units, .identity = nth_identity};

/* Its phase follows from how often it was opened. */
static bool make_nothing(void *data) { return (void)data, true; }
static void unmake_nothing(void *data) { (void)data; }
static hr_status open_counting(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    HR_TRY(nth_open(spec, state, p, err));
    int64_t *openings = hr_plan_shared(p, NULL, sizeof *openings, make_nothing, unmake_nothing);
    if (!openings) return hr_no_memory(err, "every_nth: openings");
    ((nth_state *)state)->seen = (*openings)++;
    return HR_OK;
}
static const hr_op counts_openings = {.head = HR_OP_HEAD,
                                      .name = "every_nth",
                                      .spec_size = sizeof(nth_spec),
                                      .state_size = sizeof(nth_state),
                                      .open = open_counting,
                                      .close = nth_close,
                                      .saved = 1,
                                      .plan = nth_plan,
                                      .identity = nth_identity};

static int64_t count_wrongly(const void *spec, const int64_t *in) { return (void)spec, in[0]; }
static const hr_op counts_wrongly = {SOUND, .saved = 1, .plan = nth_plan, .cardinality = count_wrongly};

/* Gives nothing back to the library. The test does in the end, for leak checkers. */
static _Atomic int lost;
static int64_t *kept[1000];
static void keep(void *state)
{
    const int i = atomic_fetch_add(&lost, 1);
    if (i < 1000) kept[i] = ((nth_state *)state)->passed;
}
static const hr_op leaks = {.head = HR_OP_HEAD,
                            .name = "every_nth",
                            .spec_size = sizeof(nth_spec),
                            .state_size = sizeof(nth_state),
                            .saved = 1,
                            .open = nth_open,
                            .plan = nth_plan,
                            .close = keep};

/* Lack of memory ends the input instead of being reported. */
static hr_status open_silently(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    nth_open(spec, state, p, err);
    return HR_OK;
}
static hr_status plan_silently(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    return ((nth_state *)state)->passed ? nth_plan(spec, state, p, err) : HR_END;
}
static const hr_op hides_lack_of_memory = {.head = HR_OP_HEAD,
                                           .name = "every_nth",
                                           .spec_size = sizeof(nth_spec),
                                           .state_size = sizeof(nth_state),
                                           .saved = 1,
                                           .open = open_silently,
                                           .plan = plan_silently,
                                           .close = nth_close,
                                           .identity = nth_identity};

/* A number of the state is believed, and asks for memory. */
typedef struct held_state {
    int64_t seen; /* saved */
    int64_t *passed;
    int64_t held;
} held_state;
static void held_save(const void *state, hr_token_writer *token)
{
    hr_write_i64(token, ((const held_state *)state)->held);
}
static hr_status held_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)spec;
    held_state *st = state;
    HR_TRY(hr_read_i64(token, &st->held, err));
    void *all = hr_calloc((size_t)st->held, 8);
    if (!all) return hr_no_memory(err, "every_nth: what it holds");
    hr_free(all);
    return HR_OK;
}
static const hr_op believes_its_state = {.head = HR_OP_HEAD,
                                         .name = "every_nth",
                                         .spec_size = sizeof(nth_spec),
                                         .state_size = sizeof(held_state),
                                         .saved = 1,
                                         .open = nth_open,
                                         .plan = nth_plan,
                                         .close = nth_close,
                                         .save = held_save,
                                         .load = held_load,
                                         .identity = nth_identity};

static const hr_op saves_more_than_it_has = {.head = HR_OP_HEAD,
                                             .name = "every_nth",
                                             .spec_size = sizeof(nth_spec),
                                             .state_size = 8,
                                             .saved = 2,
                                             .plan = nth_plan};

/* Works on whole units and says that it goes row by row: the first row of each unit is another. */
static hr_status mark_first(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)w, (void)err;
    if (rows->rows > 0) ((int64_t *)rows->column[0].values)[0] += 1000;
    return HR_OK;
}
static const hr_op not_row_by_row = {.head = HR_OP_HEAD,
                                     .name = "every_nth",
                                     .spec_size = sizeof(nth_spec),
                                     .traits = HR_ROW_BY_ROW,
                                     .work = mark_first};

/* ---- running the suite over them ---- */

typedef struct tested {
    const hr_op *op;
    int64_t n;
} tested;

static hr_dataset *put(hr_dataset *in, void *user)
{
    const tested *t = user;
    return hr_dataset_new(t->op, &(nth_spec){t->n}, &in, 1);
}

static hr_dataset *vary(int number, void *user)
{
    hr_dataset *in = hr_range(60);
    if (number < 3) return hr_dataset_new(((const tested *)user)->op, &(nth_spec){2 + number}, &in, 1);
    hr_dataset_unref(in);
    return NULL;
}

/* The suite fails with this kind, and a text that has all of these words. */
static void assert_found(hr_status st, const hr_error *err, const char *kind, const char *const *words)
{
    assert_status(st, err->code);
    assert_not_ok(st);
    assert_string_equal(err->kind, kind);
    for (; *words; words++) assert_text_contains(err->text, *words);
}
#define assert_found_in(op, checks, kind, ...)                                                                         \
    do {                                                                                                               \
        hr_error err_;                                                                                                 \
        const hr_status st_ = check(op, checks, &err_);                                                                \
        assert_found(st_, &err_, kind, (const char *const[]){__VA_ARGS__, NULL});                                      \
    } while (0)

static hr_status check(const hr_op *op, unsigned checks, hr_error *err)
{
    const hr_conformance_opts opts = {.struct_size = sizeof opts, .checks = checks};
    *err = (hr_error){.kind = "", .text = "the suite passed"};
    return hr_conformance_operator(put, &(tested){op, 3}, &opts, err);
}

/* ThreadSanitizer's builds leave out what is done by the caller alone. */
#if HR__UNDER_TSAN
static void skip_without_all_checks(void) { skip(); }
#else
static void skip_without_all_checks(void) {}
#endif

static void a_sound_operator_passes(void **state)
{
    (void)state;
    hr_error err;
    assert_ok(check(&sound, 0, &err), &err);
    assert_ok(hr_conformance_arguments(vary, &(tested){&sound, 0}, NULL, &err), &err);
    assert_status(hr_conformance_operator(put, &(tested){&sound, 3}, NULL, NULL), HR_OK);
}

static void elements_that_depend_on_units_are_found(void **state)
{
    (void)state;
    skip_without_all_checks();
    assert_found_in(&depends_on_units, 0, "conformance.run", "every_nth alone", "window 1, units of ", ": expected ",
                    " elements as without workers, found ");
    assert_found_in(&not_row_by_row, 0, "conformance.run",
                    "every_nth: ", ", window 1, units of 1: ", "expected that element ", " is [",
                    "] as without workers, found [");
}

static void a_wrong_cardinality_is_found(void **state)
{
    (void)state;
    assert_found_in(&counts_wrongly, 0, "conformance.cardinality",
                    "every_nth: expected as many elements as hr_cardinality says, 43, found 15");
}

static void an_epoch_that_depends_on_those_before_is_found(void **state)
{
    (void)state;
    assert_found_in(&counts_openings, 0, "conformance.epoch",
                    "every_nth: hr_repeat, each epoch run by itself: ", "expected ", "found ");
}

static void numbers_that_are_not_saved_are_found(void **state)
{
    (void)state;
    assert_found_in(&saves_nothing, 0, "conformance.resume", "every_nth: resumed after ", " elements, ", " workers",
                    "expected ", "found ");
    assert_found_in(&saves_nothing, HR_CONFORM_RESUME_OFTEN, "conformance.resume",
                    "resumed again and again: expected ");
}

static void a_state_that_is_believed_is_found(void **state)
{
    (void)state;
    skip_without_all_checks();
    assert_found_in(&believes_its_state, 0, "conformance.changed_state", "every_nth: number ", "of a state is ",
                    "expected that it is refused or accepted, found ResourceExhausted \"");
}

static void a_leak_is_found(void **state)
{
    (void)state;
    assert_found_in(&leaks, HR_CONFORM_MEMORY, "conformance.leak",
                    "every_nth: no allocation fails: expected that all memory is given back, found 1 allocations more");
    assert_less(lost, 1000);
    for (int i = 0; i < lost; i++) hr_free(kept[i]);
}

static void lack_of_memory_that_is_not_reported_is_found(void **state)
{
    (void)state;
    skip_without_all_checks();
    assert_found_in(&hides_lack_of_memory, 0, "conformance.memory", "every_nth: allocation ", " fails: expected ",
                    "found ");
}

static void an_unsound_descriptor_is_found(void **state)
{
    (void)state;
    assert_found_in(&saves_more_than_it_has, 0, "conformance.descriptor",
                    "every_nth: expected a state that begins with the .saved numbers, found a .state_size below");
}

static void arguments_that_are_not_part_of_the_identity_are_found(void **state)
{
    (void)state;
    hr_error err;
    const hr_status st = hr_conformance_arguments(vary, &(tested){&without_identity, 0}, NULL, &err);
    assert_found(st, &err, "conformance.identity",
                 (const char *const[]){"every_nth with arguments 1: expected that it refuses the state of arguments 0, "
                                       "found that it ends with End",
                                       NULL});
}

/* ---- what the pipelines are ---- */

static hr_dataset *failing(hr_dataset *in, void *user)
{
    (void)user;
    hr_dataset_unref(in);
    return hr_dataset_failed(&(hr_error){.code = HR_NOT_FOUND, .kind = "file.open", .text = "no such file"});
}
static hr_dataset *nothing(hr_dataset *in, void *user) { return (void)user, hr_take(in, 0); }
static hr_dataset *much(hr_dataset *in, void *user) { return (void)user, hr_repeat(in, .count = HR_I64(100)); }
static hr_dataset *endless(hr_dataset *in, void *user) { return (void)user, hr_repeat(in); }
static hr_dataset *source(hr_dataset *in, void *user) { return (void)user, in ? in : hr_range(50); }
static hr_dataset *empty_lines(void *user) { return (void)user, hr_map(hr_range(20), NULL, NULL); }
static hr_dataset *two_epochs(void *user) { return (void)user, hr_repeat(hr_range(20), .count = HR_I64(2)); }

static void assert_sample_refused(hr_conformance_put *of, const hr_conformance_opts *opts, const char *word)
{
    hr_error err;
    const hr_status st = hr_conformance_operator(of, NULL, opts, &err);
    assert_found(st, &err, "conformance.sample", (const char *const[]){word, NULL});
}

static void pipelines_that_tell_nothing_are_refused(void **state)
{
    (void)state;
    const hr_conformance_opts bad_input = {.struct_size = sizeof bad_input, .input = empty_lines};
    assert_sample_refused(failing, NULL, "the pipeline: expected a sound dataset, found NotFound \"no such file\"");
    assert_sample_refused(nothing, NULL, "take: expected a pipeline that gives elements, found none: End");
    assert_sample_refused(much, NULL, "repeat: expected a pipeline of at most 8192 elements, found more");
    assert_sample_refused(endless, &bad_input, "expected a sound dataset, found InvalidArgument \"map: ");
}

static void endless_operators_sources_and_other_inputs_are_taken(void **state)
{
    (void)state;
    hr_error err;
    const unsigned checks = HR_CONFORM_RUNS | HR_CONFORM_RESUME;
    hr_conformance_opts opts = {.struct_size = sizeof opts, .checks = checks};
    assert_ok(hr_conformance_operator(endless, NULL, &opts, &err), &err);
    opts.input = two_epochs;
    assert_ok(hr_conformance_operator(put, &(tested){&sound, 3}, &opts, &err), &err);
    opts.source = true;
    assert_ok(hr_conformance_operator(source, NULL, &opts, &err), &err);
}

static hr_dataset *only_one(int number, void *user) { return (void)user, number == 0 ? hr_range(9) : NULL; }

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    hr_error err;
    const char *const words[] = {"expected a function, got NULL", NULL};
    assert_found(hr_conformance_operator(NULL, NULL, NULL, &err), &err, "conformance.argument", words);
    assert_found(hr_conformance_pipeline(NULL, NULL, NULL, &err), &err, "conformance.argument", words);
    assert_found(hr_conformance_arguments(NULL, NULL, NULL, &err), &err, "conformance.argument", words);
    assert_found(hr_conformance_arguments(only_one, NULL, NULL, &err), &err, "conformance.argument",
                 (const char *const[]){"expected at least two variants, got 1", NULL});
}

/* A program that forgot the allocator, and one that set another after it. */
static void failing_allocations_need_the_suites_allocator(void **state)
{
    (void)state;
    hr_error err;
    hr_set_allocator(&testing_allocator);
    const hr_status st = check(&sound, HR_CONFORM_MEMORY, &err);
    hr_conformance_count_allocations(&testing_allocator);
    assert_found(st, &err, "conformance.allocator",
                 (const char *const[]){"every_nth: expected allocations, found none", NULL});
}

static void options_of_any_size_are_taken(void **state)
{
    (void)state;
    hr_error err;
    struct {
        hr_conformance_opts opts;
        char more[64];
    } newer = {.opts = {.struct_size = sizeof newer, .checks = HR_CONFORM_RUNS}};
    memset(newer.more, 0xff, sizeof newer.more);
    assert_ok(hr_conformance_operator(put, &(tested){&sound, 3}, &newer.opts, &err), &err);
    const size_t size = offsetof(hr_conformance_opts, input);
    const hr_conformance_opts o = {.struct_size = size, .name = "older", .checks = HR_CONFORM_RUNS};
    void *older = malloc(size); /* reading beyond it is seen */
    assert_non_null(older);
    memcpy(older, &o, size);
    assert_ok(hr_conformance_operator(put, &(tested){&sound, 3}, older, &err), &err);
    free(older);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_operator_passes),
        cmocka_unit_test(elements_that_depend_on_units_are_found),
        cmocka_unit_test(a_wrong_cardinality_is_found),
        cmocka_unit_test(an_epoch_that_depends_on_those_before_is_found),
        cmocka_unit_test(numbers_that_are_not_saved_are_found),
        cmocka_unit_test(a_state_that_is_believed_is_found),
        cmocka_unit_test(a_leak_is_found),
        cmocka_unit_test(lack_of_memory_that_is_not_reported_is_found),
        cmocka_unit_test(an_unsound_descriptor_is_found),
        cmocka_unit_test(arguments_that_are_not_part_of_the_identity_are_found),
        cmocka_unit_test(pipelines_that_tell_nothing_are_refused),
        cmocka_unit_test(endless_operators_sources_and_other_inputs_are_taken),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(failing_allocations_need_the_suites_allocator),
        cmocka_unit_test(options_of_any_size_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
