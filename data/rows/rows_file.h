/* Files of rows by column: a cache in a file, a snapshot, a saved dataset. docs/formats.md has the format. First come
 * pieces of packed rows, each with a checksum, compressed with LZ4 where that saves enough. Then comes the head: the
 * components, the pipeline's identity, the source files, and where each piece lies. A file has its name only once it is
 * complete. */
#ifndef HR_ROWS_FILE_H
#define HR_ROWS_FILE_H

#include "data/rows/packed.h"
#include "data/rows/row_layout.h"
#include <headrace/io.h>

/* The rows of one unit, in memory or in a file. */
typedef struct hr__piece {
    int64_t elements, rows;
    int32_t *first_row; /* of each element, and one after the last; NULL: elements are rows */
    hr__packed packed;  /* in memory by column; no bytes: in the file, or ... */
    const hr__row_layout *form;
    char *laid;          /* ... in memory, in that row layout */
    int64_t offset;      /* in the file */
    size_t stored, size; /* bytes in the file, and uncompressed; equal: not compressed */
    uint32_t crc;        /* of the stored bytes */
    bool there;          /* in a cache that is being filled: it has its rows */
} hr__piece;

void hr__piece_clear(hr__piece *piece);

/* A file that rows were read from. */
typedef struct hr__source {
    char *name;
    int64_t size, mtime; /* -1: unknown */
} hr__source;

/* What the pieces of a file are. Owns all of it. */
typedef struct hr__rows_head {
    hr_schema schema;
    hr_field *field;
    uint64_t pipeline; /* identity of what made them */
    hr__source *source;
    int64_t sources;
    hr__piece *piece;
    int64_t pieces;
} hr__rows_head;

void hr__rows_head_clear(hr__rows_head *head);

/* ---- writing: one thread at a time ---- */

typedef struct hr__rows_writer hr__rows_writer;
hr_status hr__rows_writer_open(const char *path, hr__rows_writer **out, hr_error *err);
/* Compresses packed rows where that pays: *stored are those bytes, or a new block (hr_free) if not `bytes`. */
hr_status hr__rows_compress(const char *bytes, size_t size, char **stored, size_t *stored_size, hr_error *err);
/* Appends a piece; fills in where it is. */
hr_status hr__rows_writer_add(hr__rows_writer *w, const char *stored, hr__piece *piece, hr_error *err);
/* The file gets its name. Takes `w`. Gives *in: the pieces of this very file, whoever puts another one in its place. */
hr_status hr__rows_writer_commit(hr__rows_writer *w, const hr__rows_head *head, hr_input **in, hr_error *err);
void hr__rows_writer_discard(hr__rows_writer *w); /* takes `w`. NULL: nothing */

/* ---- reading ---- */

/* Opens a file of rows and reads what it is. HR_NOT_FOUND; HR_DATA_LOSS, "rows.damaged". Gives *in, by which its pieces
 * are read: another file of that name may replace it at any time. Gives *out. */
hr_status hr__rows_file_open(const char *path, hr_input **in, hr__rows_head *out, hr_error *err);

/* The bytes of a head whose checksum is right; pieces lie before `end`. hr__rows_head_clear also after a failure.
 * `path` is for messages. */
hr_status hr__rows_head_parse(const char *path, const void *bytes, size_t size, int64_t end, hr__rows_head *out,
                              hr_error *err);

/* The bytes of a piece of an open file, unpacked to `to`, which has space for piece->size; `scratch` for piece->stored.
 * Any thread. */
hr_status hr__rows_piece_read(const hr_input *in, const hr__piece *piece, char *scratch, char *to, hr_error *err);

#endif
