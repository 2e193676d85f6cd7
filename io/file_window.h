/* A sliding window over a stream of bytes: what is lent lies in one piece, and grows only by bytes that really came, so
 * a length that the data claims costs no memory. Two lie on top of each other where a file is compressed. */
#ifndef HR_WINDOW_H
#define HR_WINDOW_H

#include <headrace/base.h>

/* Puts up to `capacity` bytes at `to`, and their number into *got, also when it then fails. HR_OK, HR_END, or a
 * failure. */
typedef hr_status hr__fill_fn(void *source, char *to, size_t capacity, size_t *got, hr_error *err);

typedef struct hr__window {
    hr__fill_fn *fill;
    void *source;
    size_t piece; /* bytes to read at once */
    char *bytes;
    size_t begin, end, capacity;
    int64_t offset;   /* in the stream, of `begin` */
    hr_status status; /* HR_OK: there may be more; HR_END; or the failure after the last byte */
    hr_error error;
} hr__window;

enum { HR__PAD = 64 }; /* readable bytes after whatever is lent */

/* As hr_input_peek. */
hr_status hr__window_peek(hr__window *w, size_t at_least, const char **data, size_t *size, hr_error *err);
void hr__window_consume(hr__window *w, size_t size);
void hr__window_restart(hr__window *w, int64_t offset); /* empty, as if all before `offset` had been read */
void hr__window_clear(hr__window *w);                   /* frees its memory */

#endif
