/* The checks of <headrace/conformance.h>, which hold operators from outside as well, as cmocka tests of the library's
 * own: the same elements for any number of threads, window, unit and budget; a stop anywhere and the equal rest from
 * there; cancel; no allocation whose failure leaks, hangs or goes unsaid.
 *
 * An operator's test says HR_SAMPLE(take) { return ...; }, a small finite pipeline with that operator in the middle,
 * and lists HR_CONFORMANCE(take) among its tests. From it follow others: the operator alone, with nothing on top and no
 * shuffle below; and over rows of many columns out of a cache, which wait in row layout (of pipelines over hr_range).
 * These need the linker, which puts others in the place of hr_shuffle and hr_range: so they are here, and
 * hr_conformance_operator makes its own.
 * Whose arguments make another pipeline says HR_ARGUMENTS(take, hr_take(...), ...): the operator with some arguments,
 * then with others, each argument changed at least once; and lists HR_CONFORMANCE_OF_ARGUMENTS(take).
 * tests/data/CMakeLists.txt fails on an operator without these. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include "tests/testing.h"
#include <headrace/data.h>

typedef struct sample {
    const char *name;
    hr_dataset *(*build)(void);
    int (*build_all)(hr_dataset **ds); /* of HR_ARGUMENTS; gives how many */
} sample;
enum { MOST_ARGUMENTS = 16 };

#define HR_SAMPLE(op)                                                                                                  \
    static hr_dataset *build_##op(void);                                                                               \
    static const sample sample_##op = {#op, build_##op, NULL};                                                         \
    static hr_dataset *build_##op(void)
#define HR_ARGUMENTS(op, ...)                                                                                          \
    static int build_all_##op(hr_dataset **ds)                                                                         \
    {                                                                                                                  \
        hr_dataset *const all[] = {__VA_ARGS__};                                                                       \
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) ds[i] = all[i];                                          \
        return (int)(sizeof all / sizeof *all);                                                                        \
    }                                                                                                                  \
    static const sample sample_arguments_of_##op = {#op, NULL, build_all_##op}

#define HR_CONFORMS_(op, check)                                                                                        \
    {                                                                                                                  \
#op "_" #check, check, NULL, NULL, (void *)(uintptr_t)&sample_##op                                             \
    }
#define HR_CONFORMANCE_OF_ARGUMENTS(op) HR_CONFORMS_(arguments_of_##op, are_refused_by_the_state_of_others)
#define HR_CONFORMANCE(op)                                                                                             \
    HR_CONFORMS_(op, gives_the_same_elements_however_run), HR_CONFORMS_(op, goes_on_anywhere),                         \
        HR_CONFORMS_(op, does_so_alone_and_over_wide_rows), HR_CONFORMS_(op, goes_on_again_and_again),                 \
        HR_CONFORMS_(op, refuses_a_cut_or_foreign_state), HR_CONFORMS_(op, survives_any_number_in_its_state),          \
        HR_CONFORMS_(op, can_be_cancelled), HR_CONFORMS_(op, survives_every_failed_allocation),                        \
        HR_CONFORMS_(op, gives_an_epoch_alone_as_repeat_does)
/* For a sample that ends with an error, which every run must meet at the same place. */
#define HR_CONFORMANCE_OF_FAILURE(op)                                                                                  \
    HR_CONFORMS_(op, gives_the_same_elements_however_run), HR_CONFORMS_(op, goes_on_anywhere),                         \
        HR_CONFORMS_(op, goes_on_again_and_again)

void gives_the_same_elements_however_run(void **state);
void goes_on_anywhere(void **state);
void does_so_alone_and_over_wide_rows(void **state);
void are_refused_by_the_state_of_others(void **state);
void goes_on_again_and_again(void **state);
void refuses_a_cut_or_foreign_state(void **state);
void survives_any_number_in_its_state(void **state);
void can_be_cancelled(void **state);
void survives_every_failed_allocation(void **state);
void gives_an_epoch_alone_as_repeat_does(void **state);

/* ---- for tests of what an operator gives ---- */

enum { MOST_ELEMENTS = 8192 };

/* What a run gave: a hash an element, then how it ended. */
typedef struct run {
    int count;
    hr_status end; /* HR_OK: it was stopped */
    hr_error error;
    uint64_t element[MOST_ELEMENTS];
} run;

/* How to run; zeros: no workers, the engine's sizes. The seed is 7 unless given. */
typedef struct way {
    int workers, window;
    int64_t unit_rows;
    size_t budget;
    uint64_t seed;
    int64_t epoch;
    const void *state;
    size_t state_size;
} way;

hr_iterator *iterate(hr_dataset *ds, way w); /* takes `ds` */
/* hr_next; fails the test where nothing comes for two minutes. */
hr_status next_soon(hr_iterator *it, const hr_element **e);
/* At most `at_most` further elements of an iterator: adds them to `r`. */
void run_on(run *r, hr_iterator *it, int at_most);
/* A whole run; takes `ds`. */
void run_all(run *r, hr_dataset *ds, way w);
void assert_same_run(const run *want, const run *got);

/* All scalars of the int64 component "value", in order; takes `ds`. Returns how many; the run must end well. */
int int64_values(hr_dataset *ds, way w, int64_t *value, int room);
void assert_int64_values(hr_dataset *ds, const int64_t *want, int count); /* takes `ds` */
/* The error that a pipeline ends with is of this class and kind; takes `ds`. */
void assert_fails(hr_dataset *ds, hr_status code, const char *kind);

/* An hr_map_fn: appends three digits, drawn at random, to each int64 of "value". */
hr_status draw_digits(const hr_element *in, hr_builder *out, hr_call *call, void *user);

/* A TFRecord file of `rows` records, each what `add` puts into the emptied example; takes `ex`. */
void write_example_file(const char *path, hr_example *ex, void (*add)(hr_example *ex, int row), int rows);

#endif
