/* Characters of UTF-8, one by one. */
#ifndef UTF8_H
#define UTF8_H

#include <stdint.h>

enum { UTF8_MOST = 4 /* bytes of a character */ };

/* The character at `text`, of which `left` bytes are there, at least 1, and how many it has. *c is UINT32_MAX where they
 * are none: then as many as could begin one. Overlong forms, surrogates and what is beyond U+10FFFF are none. */
static inline int64_t utf8_next(const unsigned char *text, int64_t left, uint32_t *c)
{
    const unsigned char first = text[0];
    const int more = first < 0x80 ? 0 : first < 0xc2 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : -1;
    uint32_t value = more <= 0 ? first : first & (0x3fu >> more);
    *c = UINT32_MAX;
    for (int i = 1; i <= more; i++) {
        const unsigned char low = i > 1 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        const unsigned char high = i > 1 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (i >= left || text[i] < low || text[i] > high) return i;
        value = value << 6 | (text[i] & 0x3f);
    }
    if (more < 0) return 1;
    *c = value;
    return more + 1;
}

/* Writes the character, up to U+10FFFF. How many bytes it has. */
static inline int64_t utf8_put(uint32_t c, char text[UTF8_MOST])
{
    static const unsigned char marks[] = {0, 0xc0, 0xe0, 0xf0};
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    text[0] = (char)(marks[more] | c >> 6 * more);
    for (int i = 1; i <= more; i++) text[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

#endif
