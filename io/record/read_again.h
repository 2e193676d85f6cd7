/* Damage that perhaps lies in what was read, not in the file: before it is reported, a record is read once more.
 * Shared by the record reader, the pass over lengths, and the tfrecord operator. Not a public header. */
#ifndef HR_READ_AGAIN_H
#define HR_READ_AGAIN_H

#include "io/policy/policy.h"

/* A checksum or a decoder says that bytes are wrong: other ones may come out of the same file. No end of the file, no
 * limit. */
bool hr__may_be_misread(const hr_error *damage);
/* Opens the file of `in` anew, with the next byte at `offset` (inflated); `policy` has passed over what lies before.
 * HR_FAILED_PRECONDITION: it can be read but once. */
hr_status hr__read_again(const hr_input *in, const hr__policy *policy, int64_t offset, hr_input **out, hr_error *err);
/* Why a second look came to nothing is no word on the file: no memory, a broken disk. That is to be said then, not
 * the damage. */
bool hr__is_of_system(const hr_error *error);
/* Reads `size` bytes of a whole frame at `offset` of a file again, over `frame`. True: it is sound now. */
bool hr__frame_read_again(const char *path, hr_compression compression, int64_t offset, char *frame, size_t size);
/* Says in the log that a record was right only the second time. */
void hr__tell_misread(const char *path, int64_t offset);

#endif
