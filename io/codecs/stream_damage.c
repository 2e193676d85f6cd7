/* What codecs say of a damaged file: where the decoder stood in it, and how much it had made. */
#include "io/codecs/codec.h"
#include <inttypes.h>

hr_status hr__codec_damaged(hr__codec_place at, const char *kind, hr_error *err, const char *what)
{
    hr_fail(err, HR_DATA_LOSS, kind, "byte %" PRId64 " (%" PRIu64 " inflated): %s %s %" PRId64 ": %s", at.offset,
            at.made, at.name, at.unit, at.number, what);
    if (err) err->compressed_offset = at.offset;
    return HR_DATA_LOSS;
}
