/* A sliding window over a stream of bytes. The tail that is kept moves to the front before more is read; memory grows
 * only when it is full of bytes that came: it doubles, or grows by a quarter where it is large. */
#include "io/file_window.h"
#include <string.h>

enum { LARGE = 256 * 1024, RETAINED = 4 << 20 /* of what is empty; more is given back */ };

static hr_status file_window_grow(hr__window *w, size_t capacity, hr_error *err)
{
    char *bytes = capacity < SIZE_MAX - HR__PAD ? hr_realloc(w->bytes, capacity + HR__PAD) : NULL;
    if (!bytes) return hr_no_memory(err, "a file's buffer");
    w->bytes = bytes;
    w->capacity = capacity;
    return HR_OK;
}

/* Towards `at_least` bytes. Of a large capacity, which doubles, no more pages are touched than bytes are wanted. */
static hr_status more(hr__window *w, size_t at_least, hr_error *err)
{
    size_t retained = w->end - w->begin;
    if (retained > 0 && w->begin > 0) memmove(w->bytes, w->bytes + w->begin, retained);
    w->begin = 0;
    w->end = retained;
    if (w->capacity < w->piece) HR_TRY(file_window_grow(w, w->piece, err));
    if (w->end == w->capacity)
        HR_TRY(file_window_grow(w, w->capacity + (w->capacity < RETAINED ? w->capacity : w->capacity / 4), err));

    size_t got = 0, space = w->capacity - w->end, wanted = at_least - retained;
    if (wanted < LARGE) wanted = LARGE;
    hr_status status = w->fill(w->source, w->bytes + w->end, space < wanted ? space : wanted, &got, err);
    w->end += got;
    memset(w->bytes + w->end, 0, HR__PAD);
    return status;
}

hr_status hr__window_peek(hr__window *w, size_t at_least, const char **data, size_t *size, hr_error *err)
{
    while (w->end - w->begin < at_least && w->status == HR_OK) w->status = more(w, at_least, &w->error);
    *data = w->bytes ? w->bytes + w->begin : "";
    *size = w->end - w->begin;
    if (*size >= at_least || w->status == HR_END) return HR_OK;
    if (err) *err = w->error;
    return w->status;
}

/* The memory of what was long is given back, but for what follows it. */
void hr__window_consume(hr__window *w, size_t size)
{
    w->begin += size;
    w->offset += (int64_t)size;
    const size_t rest = w->end - w->begin;
    if (w->capacity <= RETAINED + w->piece || rest > w->capacity / 2) return;
    if (rest > 0) memmove(w->bytes, w->bytes + w->begin, rest + HR__PAD);
    w->begin = 0;
    w->end = rest;
    const size_t capacity = rest > w->piece ? rest : w->piece;
    char *bytes = hr_realloc(w->bytes, capacity + HR__PAD);
    if (!bytes) return; /* it stays larger than it need be */
    w->bytes = bytes;
    w->capacity = capacity;
}

void hr__window_restart(hr__window *w, int64_t offset)
{
    w->begin = w->end = 0;
    w->offset = offset;
    w->status = HR_OK;
}

void hr__window_clear(hr__window *w)
{
    hr_free(w->bytes);
    *w = (hr__window){0};
}
