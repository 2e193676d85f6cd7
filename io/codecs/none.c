/* No compression: the bytes are the file's own. */
#include "io/codecs/codec.h"
#include "io/framing.h"

/* Lengths such as 40056 begin a TFRecord file with the bytes of a zlib header; its checksum tells. */
static int none_bid(const unsigned char *head, size_t size)
{
    uint64_t length;
    return size >= HR__RECORD_HEADER && hr__record_length((const char *)head, &length) ? 3 : 0;
}

static bool none_accepts(const unsigned char *head, size_t size)
{
    (void)head, (void)size;
    return true;
}

const hr__codec hr__codec_none = {
    .id = HR_NONE,
    .name = "none",
    .tf_name = "",
    .bid = none_bid,
    .accepts = none_accepts,
};
