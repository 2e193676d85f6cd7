/* Passing over damage in TFRecords. Shared by the record reader and the tfrecord operator. */
#ifndef HR_RESYNC_H
#define HR_RESYNC_H

#include "io/policy/policy.h"

/* `in` stands at a record with this damage. Skips it as the policy says: to the next record. HR_END: nothing
 * follows in this file. Adds to `count`. Fails with `damage` itself where the policy does not cover it. */
hr_status hr__record_pass_over(hr_input *in, hr__policy *policy, uint64_t limit, const hr_error *damage,
                               hr_damage_count *count, hr_error *err);
/* As hr_input_seek to where a record began, skipping what hr__record_pass_over skipped before. */
hr_status hr__record_seek(hr_input *in, const hr__policy *policy, int64_t offset, hr_error *err);

#endif
