/* Numbers and texts in the little files of this room: varints of seven bits a byte, lowest first. Whoever reads asks at
 * the end whether all of it was there. */
#ifndef HR_WIRE_H
#define HR_WIRE_H

#include "base/text.h"

void hr__put_number(hr__text *to, uint64_t value);
void hr__put_signed(hr__text *to, int64_t value); /* small ones of either sign are short */
void hr__put_text(hr__text *to, const char *text, size_t size);
void hr__put_u32(hr__text *to, uint32_t value); /* four bytes, little-endian */

typedef struct hr__wire {
    const unsigned char *at, *end;
    bool damaged; /* it ended too early: what was read since then is 0 and "" */
} hr__wire;

uint64_t hr__get_number(hr__wire *from);
int64_t hr__get_signed(hr__wire *from);
hr_view hr__get_text(hr__wire *from); /* borrows */
uint32_t hr__get_u32(hr__wire *from);
/* A number of things that take at least a byte each: never more than the bytes that are left. */
int64_t hr__get_count(hr__wire *from);

#endif
