/* Records under 64-bit keys, more than memory holds: sorted runs of them in one temporary file, merged in the end. The
 * file has no name from the beginning, so that nothing is left of it however the process ends. Not a public header. */
#ifndef HR_SPILL_H
#define HR_SPILL_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr__spill hr__spill;

/* A spill that holds at most about `memory` bytes of records; its file lies in `folder` ("": the current one), and is
 * made when memory does not do. Gives. */
hr_status hr__spill_new(const char *folder, int64_t memory, hr__spill **out, hr_error *err);
/* Copies a record. No two keys may be equal. */
hr_status hr__spill_add(hr__spill *spill, uint64_t key, hr_view record, hr_error *err);

typedef hr_status hr__spill_fn(hr_view record, void *user, hr_error *err);
/* All records in the order of their keys, each borrowed for the call; what `fn` fails with ends it. Only once. */
hr_status hr__spill_merge(hr__spill *spill, hr__spill_fn *fn, void *user, hr_error *err);
int64_t hr__spill_bytes(const hr__spill *spill); /* written to the file */
void hr__spill_free(hr__spill *spill);           /* NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
