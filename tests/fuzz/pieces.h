/* Bytes that come in pieces of one size: the raw side of a window, for fuzz targets of codecs. */
#ifndef FUZZ_PIECES_H
#define FUZZ_PIECES_H

#include "io/file_window.h"
#include <string.h>

typedef struct pieces {
    const uint8_t *data;
    size_t size, at, piece;
} pieces;

static hr_status give_piece(void *source, char *to, size_t room, size_t *got, hr_error *err)
{
    (void)err;
    pieces *p = source;
    size_t size = p->size - p->at;
    if (size > room) size = room;
    if (size > p->piece) size = p->piece;
    if (size > 0) memcpy(to, p->data + p->at, size);
    p->at += size;
    *got = size;
    return size > 0 ? HR_OK : HR_END;
}

#endif
