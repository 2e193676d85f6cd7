/* JSON, reading: tokens one after the other out of a file or a text, in constant memory but for the longest string.
 * Values follow one another, as in JSON lines, with any white space between them. Not a public header.
 *
 * Strict, but for numbers: NaN, Infinity and -Infinity are some, as Python writes them. Numbers stay texts, so that
 * nothing of them is lost. Refused are bytes that are not UTF-8, lone surrogates, more than 64 levels. */
#ifndef HR_JSON_READER_H
#define HR_JSON_READER_H

#include "base/text.h"
#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hr__json_kind {
    HR__JSON_NONE, /* the text ends after a whole value */
    HR__JSON_NULL,
    HR__JSON_FALSE,
    HR__JSON_TRUE,
    HR__JSON_NUMBER,
    HR__JSON_STRING,
    HR__JSON_KEY,
    HR__JSON_BEGIN_OBJECT,
    HR__JSON_END_OBJECT,
    HR__JSON_BEGIN_ARRAY,
    HR__JSON_END_ARRAY,
} hr__json_kind;

enum { HR__JSON_DEPTH = 64, HR__JSON_NUMBER_LIMIT = 4096 };

typedef struct hr__json_token {
    hr__json_kind kind;
    hr_view text; /* a number as it stands; a string or key without quotes and escapes. Borrowed until the next token */
    int64_t line, column; /* where it begins, from 1; columns count bytes */
    int64_t offset;
} hr__json_token;

/* Begin with {.name = ...} and `in`, or `p` and `end`. */
typedef struct hr__json_reader {
    const char *name; /* stands in errors */
    hr_input *in;     /* borrowed; NULL: the text lies between p and end */
    const char *p, *end;
    size_t lent;       /* bytes of `in` up to `end` */
    int64_t before;    /* offset of `end` */
    int64_t line, bol; /* lines before this one; offset where it begins */
    uint64_t objects;  /* a bit a level: it is an object */
    int depth, expects;
    bool begun;
    int64_t from, max; /* where the value of the lowest level begins, -1: between two; how long it may be, 0: any */
    hr__text scratch;
    hr__json_token token; /* the last one */
} hr__json_reader;

/* Begins a text that is there already, which is borrowed. */
HR_API void hr__json_begin_text(hr__json_reader *r, const char *name, hr_view text);
/* `most` bytes a value, of the lowest level; a longer one is refused: json.limit. */
void hr__json_begin_input(hr__json_reader *r, hr_input *in, int64_t max);
/* Reads r->token. Kinds: json.syntax, json.utf8, json.depth, json.limit, and those of the file. A failure is final. */
HR_API hr_status hr__json_next(hr__json_reader *r, hr_error *err);
/* Passes over the rest of the value that r->token begins. */
HR_API hr_status hr__json_skip(hr__json_reader *r, hr_error *err);
/* Fails with "NAME:LINE:COLUMN: " of the last token before the text, and sets file, line, offset, length. */
HR_API hr_status hr__json_fail(const hr__json_reader *r, hr_error *err, const char *kind, const char *format, ...)
    HR_PRINTF(4, 5);
/* What the last token is, for messages: a few words, or its text, clipped. */
HR_API const char *hr__json_found(const hr__json_reader *r, char text[80]);
HR_API void hr__json_reader_clear(hr__json_reader *r); /* frees its memory, not `in` */

#ifdef __cplusplus
}
#endif
#endif
