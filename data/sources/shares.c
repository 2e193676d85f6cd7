/* See shares.h. */
#include "data/sources/shares.h"
#include <inttypes.h>

hr_status hr__shares_check(const char *op, int64_t num_shards, int64_t index, hr_uneven uneven, hr_error *err)
{
    if (num_shards < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shard.num_shards",
                       "%s: expected num_shards > 0, got %" PRId64 "; give the number of ranks", op, num_shards);
    if (index < 0 || index >= num_shards)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shard.index",
                       "%s: expected an index from 0 to %" PRId64 ", got %" PRId64
                       "; give this rank's number, from 0 on",
                       op, num_shards - 1, index);
    if (uneven < HR_UNEVEN_ERROR || uneven > HR_UNEVEN_PAD)
        return hr_fail(err, HR_INVALID_ARGUMENT, "sharded_records.uneven", "%s: expected .uneven of hr_uneven, got %d",
                       op, (int)uneven);
    return HR_OK;
}

hr_status hr__shares_even(const char *op, int64_t elements, int64_t num_shards, hr_uneven uneven, hr_error *err)
{
    const int64_t over = elements > 0 ? elements % num_shards : 0;
    if (over == 0 || uneven != HR_UNEVEN_ERROR) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "sharded_records.uneven",
                   "%s: expected records that %" PRId64 " shards have equally many of, got %" PRId64 ", %" PRId64
                   " too many; give .uneven = HR_UNEVEN_DROP or HR_UNEVEN_PAD",
                   op, num_shards, elements, over);
}
