/* Parts of partitioned variables: the keys under which their bytes are stored, and copying them in and out. */
#ifndef HR_SLICES_H
#define HR_SLICES_H

#include <headrace/base.h>

enum { HR__SLICE_KEY_MIN = 8 + 20 * HR_MAX_RANK };

/* The ordered encoding of (0, name, slice), with space for HR__SLICE_KEY_MIN + 2 * strlen(name) bytes. Gives its
 * size. */
size_t hr__slice_key(char *key, const char *name, int rank, const int64_t *start, const int64_t *length);
/* Lengths of -1 become what the dimension holds. HR_INVALID_ARGUMENT where a part does not fit. */
hr_status hr__slice_resolve(hr_shape full, const int64_t *start, int64_t *length, hr_error *err);
/* The place of a part from its text. HR_INVALID_ARGUMENT. */
hr_status hr__slice_parse(const char *text, hr_shape *full, int64_t *start, int64_t *length, hr_error *err);
/* Copies values of `width` bytes between a part, dense by itself, and its place in the whole. */
void hr__slice_copy(char *whole, hr_shape full, const int64_t *start, const int64_t *length, char *part, size_t width,
                    bool into_whole);

#endif
