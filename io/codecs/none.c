/* No compression: the bytes are the file's own. */
#include <headrace/codec.h>

/* Lengths such as 40056 begin a TFRecord file with the bytes of a zlib header; the checksum of the length tells. */
static int none_bid(const unsigned char *head, size_t size)
{
    enum { LENGTH = 8, HEADER = 12 };
    uint32_t sum = 0;
    if (size < HEADER) return 0;
    for (int i = HEADER - 1; i >= LENGTH; i--) sum = sum << 8 | head[i];
    return hr_crc32c_mask(hr_crc32c(0, head, LENGTH)) == sum ? 3 : 0;
}

static bool none_accepts(const unsigned char *head, size_t size)
{
    (void)head, (void)size;
    return true;
}

const hr_codec hr_codec_none = {
    .head = HR_CODEC_HEAD,
    .name = "none",
    .tf_name = "",
    .id = HR_NONE,
    .bid = none_bid,
    .accepts = none_accepts,
};
