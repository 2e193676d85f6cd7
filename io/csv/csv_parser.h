/* A block on its way into columns, inside: what the files share that do it. Rows are cut into batches (csv_rows.c),
 * whose plain fields are converted a column at a time (csv_columns.c); everything else is read exactly (csv_exact.c),
 * which also finds what is wrong with a row, and says it (csv_wrong.c). Not a public header. */
#ifndef HR_CSV_PARSER_H
#define HR_CSV_PARSER_H

#include "io/csv/csv.h"

enum {
    HR__CSV_BATCH_TOKENS = 4096, /* 16 KiB: they stay in the nearest cache */
    HR__CSV_BATCH_ROWS = 1024,
    HR__CSV_WIDEST = 2048, /* fields; wider rows are read exactly */
};

/* A batch of rows, cut into fields. */
typedef struct hr__csv_scratch {
    uint32_t token[HR__CSV_WIDEST + 1 + HR__CSV_BATCH_TOKENS];
    uint32_t row[HR__CSV_BATCH_ROWS];
    uint32_t first[HR__CSV_BATCH_ROWS]; /* index of the token before a row's first field */
    uint32_t start[HR__CSV_BATCH_ROWS]; /* offset of a row in the block, for the bad ones and for origins */
    uint64_t bad[HR__CSV_BATCH_ROWS / 64];
    bool
        perhaps_rounded[HR__CSV_WIDEST]; /* a column of the format: texts that float32 may round are among its fields */
} hr__csv_scratch;

/* One block being parsed. */
typedef struct hr__csv_parser {
    const hr__csv_format *f;
    const hr__csv_layout *layout;
    const char *path;
    const hr__csv_block *block;
    hr__csv_scratch *s;
    hr__csv_sink *sink;
    char *unquoted; /* where the next unquoted string goes */
    bool no_memory;
    int64_t done; /* rows before this batch, also those of blocks before */
    int64_t end;  /* what `done` is after the block */
    int64_t rows; /* of this batch */
    bool quotes;  /* there may be a quote in it */
} hr__csv_parser;

/* Bad rows are only marked while a batch is converted; they are read again, exactly. */
static inline bool hr__csv_is_bad(const hr__csv_scratch *s, int64_t row) { return s->bad[row / 64] >> row % 64 & 1; }
static inline void hr__csv_set_bad(hr__csv_scratch *s, int64_t row) { s->bad[row / 64] |= UINT64_C(1) << row % 64; }

/* Of the last field of a row: the CR of a CRLF is none of it. */
static inline uint32_t hr__csv_trim_cr(const char *data, uint32_t begin, uint32_t end)
{
    return end > begin && data[end] == '\n' && data[end - 1] == '\r' ? end - 1 : end;
}

/* ---- plain fields (csv_columns.c) ---- */

/* Converts all columns of the batch. Rows that are not as they should be are marked as bad. */
void hr__csv_put_columns(hr__csv_parser *p);

/* ---- exactly (csv_exact.c) ---- */

typedef enum hr__csv_verdict { HR__CSV_GOOD, HR__CSV_MISSING, HR__CSV_INVALID, HR__CSV_NOT_UTF8 } hr__csv_verdict;

/* Puts the content of a field, its quotes taken off, into column `c`. */
hr__csv_verdict hr__csv_put_value(hr__csv_parser *p, int c, int64_t row, const char *text, size_t size, bool quoted);
/* Of the column that the file lacks. */
void hr__csv_put_absent(hr__csv_parser *p, int64_t row);
/* Reads the row at `at` into row `row` of the columns; tells the sink what is wrong with it. */
void hr__csv_put_row(hr__csv_parser *p, size_t at, int64_t row);

/* ---- values that float32 rounds (csv_rounded.c): of a batch without its bad rows; of the good row at `at` ---- */

void hr__csv_count_rounded(hr__csv_parser *p);
void hr__csv_count_rounded_row(hr__csv_parser *p, size_t at, int64_t row);

/* ---- what is wrong with a row (csv_wrong.c) ---- */

typedef struct hr__csv_wrong {
    const char *kind;
    int field, column; /* -1: the row as a whole, a field that is no column's */
    char text[200];
} hr__csv_wrong;

/* Each sets `kind` and `text`; the field and its column stand there. */
void hr__csv_say_value(const hr__csv_parser *p, hr__csv_verdict v, const char *text, size_t size, hr__csv_wrong *w);
void hr__csv_say_fault(hr__csv_fault fault, hr__csv_wrong *w);
/* The row as a whole: also the place. */
void hr__csv_say_count(const hr__csv_format *f, const hr__csv_layout *l, int fields, hr__csv_wrong *w);
/* Tells the sink of row `row`, which lies in the block from `at` to `end`. */
void hr__csv_report(const hr__csv_parser *p, size_t at, size_t end, int64_t row, const hr__csv_wrong *w);

#endif
