/* Numbers as files have them: little-endian, at any address, on any processor. Not a public header. */
#ifndef HR_BYTES_H
#define HR_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint64_t hr__get64(const void *from)
{
    uint64_t v;
    memcpy(&v, from, sizeof v);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline uint32_t hr__get32(const void *from)
{
    uint32_t v;
    memcpy(&v, from, sizeof v);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

static inline void hr__put32(void *to, uint32_t value)
{
    unsigned char *b = to;
    for (int i = 0; i < 4; i++) b[i] = (unsigned char)(value >> 8 * i);
}

static inline void hr__put64(void *to, uint64_t value)
{
    hr__put32(to, (uint32_t)value);
    hr__put32((unsigned char *)to + 4, (uint32_t)(value >> 32));
}

#endif
