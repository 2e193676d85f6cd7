/* Headrace, pipelines: how a program reads the components of an element, and the functions of the user, which read
 * elements and make new ones. Part of data.h. */
#ifndef HR_FUNCTIONS_H
#define HR_FUNCTIONS_H

#include <headrace/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- elements ---- */

/* A component, by its name or its number in the schema. NULL: there is none. Borrows until the next hr_next; within a
 * user's function, until that returns. The shape of a dense component begins with the dimensions of the batch; a ragged
 * component has splits, a sparse one has indices. */
HR_API const hr_tensor *hr_get(const hr_element *e, const char *name);
HR_API const hr_tensor *hr_get_at(const hr_element *e, int i);
HR_API const hr_schema *hr_element_schema(const hr_element *e); /* borrows */

/* ---- functions of the user ---- */

/* Gives a dataset for one element of the input. Must be a pure function: it is called again when a run resumes. It is
 * also called once when the pipeline is built, on an element of zeros and empty strings, to learn the schema of what it
 * gives. */
typedef hr_dataset *hr_dataset_fn(const hr_element *element, void *user);

typedef struct hr_builder hr_builder; /* the element that a user's function makes */
typedef struct hr_call hr_call;       /* one call of such a function: its random numbers, its error */

/* Makes one element of one element. Must be a pure function; it is called on any thread, for elements in any order.
 * `out` has the components of .output (default: of the input). They are zero or empty strings; those whose first
 * dimension varies have no values. To fail, return what hr_call_fail gives. */
typedef hr_status hr_map_fn(const hr_element *in, hr_builder *out, hr_call *call, void *user);
/* True: the element is kept. Pure, as hr_map_fn. */
typedef bool hr_filter_fn(const hr_element *in, void *user);
/* Adds one element to `state`. Called for one element after another, in order. A negative status ends the reduction
 * with an error. */
typedef hr_status hr_reduce_fn(void *state, const hr_element *in, void *user);

/* Where to write the values of the component: as many as its shape has, in the dtype of the schema. NULL: there is no
 * such component, or its first dimension varies. */
HR_API void *hr_set(hr_builder *out, const char *name);
/* The same for a component whose first dimension varies (shape [-1, ...]): sets that dimension to `count` in this
 * element. The values are zero or empty strings; those of an earlier call for this component are dropped. NULL: there
 * is no such component, its shape does not vary, the element is a batch, `count` is negative, or memory ran out. The
 * function need not report the last: its element fails anyway. */
HR_API void *hr_set_count(hr_builder *out, const char *name, int64_t count);
/* Sets the first string of a component, or string number `at`. Copies. HR_INVALID_ARGUMENT: there is no such component
 * of strings, or it has no such string. HR_RESOURCE_EXHAUSTED: memory ran out, which the function need not report. */
HR_API hr_status hr_set_string(hr_builder *out, const char *name, const void *data, int64_t size);
HR_API hr_status hr_set_string_at(hr_builder *out, const char *name, int64_t at, const void *data, int64_t size);
/* 64 random bits: number `n` of a stream that belongs to this element alone. The same in every run of one seed. */
HR_API uint64_t hr_call_random(hr_call *call, uint64_t n);
/* In a call for many rows: the same for one of them. */
HR_API uint64_t hr_call_random_of(hr_call *call, int64_t row, uint64_t n);
/* In a call for many rows: reports that `row` failed, and with it all later ones. Rows before it are not affected.
 * Gives HR_OK, for the function to return. */
HR_API hr_status hr_call_fail_row(hr_call *call, int64_t row, hr_status code, const char *format, ...) HR_PRINTF(4, 5);
/* Reports why the call failed. Gives `code`, for the function to return (HR_UNKNOWN if `code` is no failure). */
HR_API hr_status hr_call_fail(hr_call *call, hr_status code, const char *format, ...) HR_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
