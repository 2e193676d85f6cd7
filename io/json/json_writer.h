/* JSON, writing: one token after the other onto a text; commas and quotes come by themselves. Not a public header. */
#ifndef HR_JSON_WRITER_H
#define HR_JSON_WRITER_H

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begin with {.to = text}, and .compact if it is to be so. */
typedef struct hr__json_writer {
    hr__text *to;
    bool compact; /* no blanks after commas and colons */
    bool follows; /* the next value or key follows another one */
} hr__json_writer;

void hr__json_begin(hr__json_writer *w, char bracket); /* { or [ */
void hr__json_end(hr__json_writer *w, char bracket);
void hr__json_key(hr__json_writer *w, const char *key);
void hr__json_key_view(hr__json_writer *w, hr_view key); /* UTF-8 */
void hr__json_literal(hr__json_writer *w, const char *literal);
void hr__json_string(hr__json_writer *w, hr_view text); /* what is not UTF-8 becomes U+FFFD */
void hr__json_int64(hr__json_writer *w, int64_t value);
/* The fewest digits that give the same float32 (float64) again, with a point or an exponent; one that is not finite
 * becomes the string "NaN", "Infinity" or "-Infinity". */
void hr__json_float(hr__json_writer *w, float value);
void hr__json_base64(hr__json_writer *w, hr_view bytes); /* a string */

/* ---- base64 ---- */

void hr__base64_encode(hr_view bytes, hr__text *to);
/* Appends the bytes of a base64 text to `to`; letters of both alphabets, with or without padding. False: it is none. */
bool hr__base64_decode(hr_view text, hr__text *to);

#ifdef __cplusplus
}
#endif
#endif
