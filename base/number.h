/* Exact numbers from text and back, the same under any locale. Texts are (pointer, size), without a terminator; the
 * whole text must be one number. Not a public header.
 *
 * White space around the number is allowed. Integers are decimal, with leading zeros as they come. Floats are [+-]
 * digits . digits e [+-] digits with a digit before or after the point, or inf or nan in any case; correctly
 * rounded, half to even; what is too large gives infinity, what is too small zero.
 *
 * HR__NUMBER_DEFAULT    besides: + before integers; infinity, nan(word), 0x1.8p-2; any length.
 * HR__NUMBER_TF_COMPAT  TensorFlow 2.15 (CsvDataset, decode_csv, string_to_number): of hexadecimal floats only 0x10;
 * 32
 *                       bytes or more are no float; float32 denormals give zero; as a float, white space alone is 0. */
#ifndef HR_NUMBER_H
#define HR_NUMBER_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hr__grammar { HR__NUMBER_DEFAULT, HR__NUMBER_TF_COMPAT } hr__grammar;

typedef enum hr__parsed {
    HR__PARSED,
    HR__NO_NUMBER,
    HR__OVERFLOW, /* an integer that the type cannot hold */
} hr__parsed;

/* *out is written only by HR__PARSED. */
HR_API hr__parsed hr__parse_int32(const char *text, size_t size, hr__grammar grammar, int32_t *out);
HR_API hr__parsed hr__parse_int64(const char *text, size_t size, hr__grammar grammar, int64_t *out);
hr__parsed hr__parse_uint64(const char *text, size_t size, hr__grammar grammar, uint64_t *out);
HR_API hr__parsed hr__parse_float(const char *text, size_t size, hr__grammar grammar, float *out);
HR_API hr__parsed hr__parse_double(const char *text, size_t size, hr__grammar grammar, double *out);

enum { HR__NUMBER_TEXT = 32 }; /* space for any number's text and its NUL */

/* The first of 15 to 17 (6 to 9) digits, without zeros at the end, that read back as the same bits: "0.1", "1e+30",
 * "-0", "inf", "nan". Give the length. */
HR_API int hr__format_float(float value, char text[HR__NUMBER_TEXT]);
HR_API int hr__format_double(double value, char text[HR__NUMBER_TEXT]);
HR_API int hr__format_int64(int64_t value, char text[HR__NUMBER_TEXT]);
/* Whether the number of a text, as float32 is written, is another one: "16777217.0" is 16777216. */
bool hr__float_rounds(const char *text, size_t size);
/* Digits, one comma, digits: what much of the world calls a number, and no reader here. */
bool hr__has_decimal_comma(const char *text, size_t size);
/* A number of so many bytes without an exponent is never rounded: six digits, and a point or not; seven of a whole
 * number. */
enum { HR__NEVER_ROUNDED = 7 };

/* Numbers that float32 rounds, and the first of them. */
typedef struct hr__rounded {
    int64_t count, record;
    char first[HR__NUMBER_TEXT]; /* as much of the text as fits */
} hr__rounded;

/* Adds the number of a record, if float32 rounds it. */
void hr__note_rounded(hr__rounded *to, const char *text, size_t size, int64_t record);

#ifdef __cplusplus
}
#endif
#endif
