/* One piece of the text on its way through convert: parsed, encoded, framed, on any thread. Not a public header. */
#ifndef HR_CONVERT_ROWS_H
#define HR_CONVERT_ROWS_H

#include "io/convert.h"
#include "io/csv.h"
#include "io/example_rows.h"

/* What all pieces share; nothing of it changes. */
typedef struct hr__convert_plan {
    const hr__convert_opts *opts;
    hr__csv_format *format;
    const hr__csv_layout *layout;
    hr__row_writer *writer;
    int split;     /* the column by which rows are split, -1: they are not */
    bool *require; /* a column of the schema */
} hr__convert_plan;

/* A framed record, and the next one of its shard in the same piece. */
typedef struct hr__convert_record {
    size_t at, size;
    bool test;
    int32_t next; /* -1: none */
} hr__convert_record;

typedef struct hr__convert_piece {
    char *text;
    size_t text_room;
    hr__csv_block block;
    hr_column *column;
    char *values;
    size_t values_room;
    void *scratch;
    struct hr__convert_bytes *bytes; /* what the parser asked for */
    char *out;
    size_t out_room;
    hr__convert_record *record;
    size_t record_room;
    int64_t records, dropped;
    int64_t *missing;      /* a column */
    int32_t *first, *last; /* a shard: its records here */
    hr_status status;
    hr_error err;
} hr__convert_piece;

hr_status hr__convert_piece_make(hr__convert_piece *piece, int columns, int files, hr_error *err);
void hr__convert_piece_free(hr__convert_piece *piece);
/* Copies the rows of a block. */
hr_status hr__convert_piece_take(hr__convert_piece *piece, const hr__csv_block *block, hr_error *err);
/* Parses, drops, encodes: fills in records, dropped, missing, status. */
void hr__convert_piece_encode(const hr__convert_plan *plan, hr__convert_piece *piece);

#endif
