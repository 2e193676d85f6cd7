/* Headrace, elements and the functions that make them: what a user of pipelines reads and writes. Part of data.h. */
#ifndef HR_FUNCTIONS_H
#define HR_FUNCTIONS_H

#include <headrace/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- elements ---- */

/* A component by name or place: NULL if there is none. Borrows until the next hr_next. Dense components have the
 * batch's dimensions in front; ragged ones have splits; sparse ones have indices. */
HR_API const hr_tensor *hr_get(const hr_element *e, const char *name);
HR_API const hr_tensor *hr_get_at(const hr_element *e, int i);
HR_API const hr_schema *hr_element_schema(const hr_element *e);

/* ---- functions of the user ---- */

/* A dataset for an element of the input. Pure: it is called again after a restore, and once when the dataset is built,
 * with zeros and empty strings, to learn its schema. Gives the dataset. */
typedef hr_dataset *hr_dataset_fn(const hr_element *element, void *user);

typedef struct hr_builder hr_builder; /* the element that a map's function makes */
typedef struct hr_call hr_call;       /* one call of it: randomness, the error */

/* One element to one element. Pure, any thread, any order. `out` has the components of .output (default: of the
 * input), zeroed. On failure return what hr_call_fail gives. */
typedef hr_status hr_map_fn(const hr_element *in, hr_builder *out, hr_call *call, void *user);
typedef bool hr_filter_fn(const hr_element *in, void *user);
/* One element after the other into a state: what it returns below 0 ends it. */
typedef hr_status hr_reduce_fn(void *state, const hr_element *in, void *user);

/* Where to write the component's values: of its shape, in the dtype of the schema. NULL: no such component. */
HR_API void *hr_set(hr_builder *out, const char *name);
/* The same of a component whose first dimension varies (shape [-1, ...]): this element has `count` of it. Zeroed; what
 * an earlier call for it gave is no more. NULL: no such component, or no memory, which the function need not report. */
HR_API void *hr_set_count(hr_builder *out, const char *name, int64_t count);
HR_API hr_status hr_set_string(hr_builder *out, const char *name, const void *data, int64_t size); /* copies */
HR_API hr_status hr_set_string_at(hr_builder *out, const char *name, int64_t at, const void *data, int64_t size);
HR_API uint64_t hr_call_random(hr_call *call, uint64_t n); /* bits n of this element's own stream */
/* In a call for many rows: bits n of the stream of one of them; this row failed, and with it all later ones. */
HR_API uint64_t hr_call_random_of(hr_call *call, int64_t row, uint64_t n);
HR_API hr_status hr_call_fail_row(hr_call *call, int64_t row, hr_status code, const char *format, ...) HR_PRINTF(4, 5);
HR_API hr_status hr_call_fail(hr_call *call, hr_status code, const char *format, ...) HR_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
