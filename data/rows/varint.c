#include "data/rows/varint.h"
#include "base/bytes.h"

void hr__put_number(hr__text *to, uint64_t value)
{
    for (; value > 127; value >>= 7) hr__text_byte(to, (char)(unsigned char)(value | 128));
    hr__text_byte(to, (char)value);
}

void hr__put_signed(hr__text *to, int64_t value)
{
    hr__put_number(to, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void hr__put_text(hr__text *to, const char *text, size_t size)
{
    hr__put_number(to, size);
    hr__text_bytes(to, text, size);
}

void hr__put_u32(hr__text *to, uint32_t value)
{
    for (int i = 0; i < 4; i++, value >>= 8) hr__text_byte(to, (char)(unsigned char)value);
}

uint64_t hr__get_number(hr__wire *from)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && from->at < from->end && !from->damaged; shift += 7) {
        value |= (uint64_t)(*from->at & 127) << shift;
        if (*from->at++ < 128) return value;
    }
    from->damaged = true;
    return 0;
}

int64_t hr__get_signed(hr__wire *from)
{
    const uint64_t value = hr__get_number(from);
    return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

hr_view hr__get_text(hr__wire *from)
{
    const int64_t size = hr__get_count(from);
    const hr_view text = {(const char *)from->at, size};
    from->at += size;
    return text;
}

uint32_t hr__get_u32(hr__wire *from)
{
    from->damaged |= from->end - from->at < 4;
    if (from->damaged) return 0;
    from->at += 4;
    return hr__get32(from->at - 4);
}

int64_t hr__get_count(hr__wire *from)
{
    const uint64_t count = hr__get_number(from);
    from->damaged |= count > (uint64_t)(from->end - from->at);
    return from->damaged ? 0 : (int64_t)count;
}
