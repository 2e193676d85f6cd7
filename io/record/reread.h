/* Re-reads a record before reporting it corrupt: the error may come from the read, not from the file.
 * Shared by the record reader, the pass over lengths, and the tfrecord operator. Not a public header. */
#ifndef HR_REREAD_H
#define HR_REREAD_H

#include "io/policy/policy.h"

/* True if a second read may give other bytes: a checksum or a decoder found wrong ones. False for the end of the file
 * and for limits. */
bool hr__may_be_misread(const hr_error *damage);
/* Opens the file of `in` again, with the next byte at `offset` (inflated); `policy` has skipped what lies before.
 * HR_FAILED_PRECONDITION: it can be read only once. */
hr_status hr__reread(const hr_input *in, const hr__policy *policy, int64_t offset, hr_input **out, hr_error *err);
/* True if the second read failed for a reason of the system (no memory, a broken disk), which is then reported instead
 * of the damage. */
bool hr__is_of_system(const hr_error *error);
/* Reads `size` bytes of a whole frame at `offset` of a file again, over `frame`. True: it is sound now. */
bool hr__frame_reread(const char *path, hr_compression compression, int64_t offset, char *frame, size_t size);
/* Says in the log that a record was right only the second time. */
void hr__report_misread(const char *path, int64_t offset);

#endif
