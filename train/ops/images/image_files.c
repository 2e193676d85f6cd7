/* See image_files.h: what both formats have in common. */
#include "train/ops/images/image_files.h"

hr__image_kind hr__image_kind_of(hr_view bytes)
{
    static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, jpeg[] = {0xff, 0xd8, 0xff};
    if (bytes.size >= 8 && memcmp(bytes.data, png, sizeof png) == 0) return HR__IMAGE_PNG;
    return bytes.size >= 3 && memcmp(bytes.data, jpeg, sizeof jpeg) == 0 ? HR__IMAGE_JPEG : HR__IMAGE_OTHER;
}

hr_status hr__image_check(int64_t height, int64_t width, int64_t channels, hr_error *err)
{
    const bool sound = height > 0 && width > 0 && height < HR__IMAGE_LENGTH && width < HR__IMAGE_LENGTH;
    if (sound && height * width < HR__IMAGE_BYTES / (channels > 3 ? channels : 3)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "image.size",
                   "expected an image of 1 pixel or more and less than %d bytes, got %lld x %lld of %lld channels",
                   HR__IMAGE_BYTES, (long long)height, (long long)width, (long long)channels);
}
