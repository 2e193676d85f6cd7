/* What codecs call: the bytes of the file, what is wrong with them, and whether they are text. */
#include "base/text.h"
#include "io/file_window.h"
#include <headrace/codec.h>

#include <inttypes.h>
#include <string.h>

hr_status hr_codec_peek(hr_codec_source *from, size_t at_least, const char **data, size_t *size, hr_error *err)
{
    return hr__window_peek(from, at_least, data, size, err);
}

/* More than what was lent is not there to be consumed. */
void hr_codec_consume(hr_codec_source *from, size_t size)
{
    const size_t lent = from->end - from->begin;
    hr__window_consume(from, size < lent ? size : lent);
}

int64_t hr_codec_offset(const hr_codec_source *from) { return from->offset; }

int64_t hr_codec_end(const hr_codec_source *from) { return from->offset + (int64_t)(from->end - from->begin); }

hr_status hr_codec_damaged(hr_codec_place at, const char *kind, hr_error *err, const char *what)
{
    hr_fail(err, HR_DATA_LOSS, kind, "byte %" PRId64 " (%" PRIu64 " inflated): %s %s %" PRId64 ": %s", at.offset,
            at.made, at.name, at.unit, at.number, what);
    if (err) err->compressed_offset = at.offset;
    return HR_DATA_LOSS;
}

bool hr_codec_is_text(const unsigned char *head, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (head[i] < ' ' && !memchr("\t\n\v\f\r", head[i], 5)) return false;
    return hr__utf8_sound((const char *)head, size) + 4 > size; /* a character may be cut at the end */
}
