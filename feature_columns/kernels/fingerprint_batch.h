/* Fingerprint64 of many strings. Not a public header. */
#ifndef HR__HASH_MANY_H
#define HR__HASH_MANY_H

#include <headrace/base.h>

/* out[i] = hr_fingerprint64 of words[i], bit for bit. */
void hr__fingerprint_many(const hr_view *words, int64_t n, uint64_t *out);

#endif
