/* The allocator that counts allocations and fails on demand (hr_conformance_count_allocations). */
#ifndef HR_ALLOCATIONS_H
#define HR_ALLOCATIONS_H

#include <headrace/base.h>

/* New memory is filled with this byte, up to so many: so it is seen what was written. */
enum { HR__FILL = 0xb5, HR__FILLED = 1 << 14 };

void hr__conformance_fail_allocation(int64_t n); /* the n-th allocation from now on fails, and no other; 0: the next */
int64_t hr__conformance_allocations(void);       /* lets no further one fail; returns the number since that call */
int64_t hr__conformance_alive(void);             /* the number of allocations that were not freed */
bool hr__conformance_counts(void);               /* true after hr_conformance_count_allocations */

#endif
