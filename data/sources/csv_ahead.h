/* Pieces of a list of CSV files, read ahead of their turn, by a stage of its own whose work reads the bytes and finds
 * the rows in them, so that several threads do both at once. In plan, of an operator that has HR_KNOWS_ITS_PLACE.
 *
 * A piece is a run of bytes that begins anywhere, even within a row or within quotes: where it has rows is a guess. It
 * is right from there on where the operator, at the end of a row, stands where one of the piece begins. A piece in
 * which it does not gives no rows: the operator reads in turn, from where it stands. */
#ifndef HR_CSV_AHEAD_H
#define HR_CSV_AHEAD_H

#include "io/csv/csv.h"
#include <headrace/op.h>

typedef struct csv_piece {
    const char *path;
    int64_t file, offset; /* number of the file in the list; of the first byte */
    size_t size;  /* rows that begin in so many bytes; up to the end of the file the rest of the last one lies */
    size_t bytes; /* beyond them: all that there is space for */
    char *text;
    hr__csv_ends ends;
} csv_piece;

/* Part of an operator's state, zeroed. */
typedef struct csv_ahead {
    int64_t window; /* how many pieces; 0: none are read ahead */
    int input;      /* that reads them, */
    bool opened, over;
    hr_span span; /* and its next one, with its piece; NULL: it was not pulled yet */
    const csv_piece *piece;
    int64_t row; /* the next one, of those of the piece */
} csv_ahead;

/* Of an operator that opens, for files of this format. */
void hr__csv_ahead_open(csv_ahead *a, const hr__csv_format *format, const hr_plan *p);
/* Looks for rows that begin at `offset` of file number `file`, a plain one, to be read by this layout. HR_OK: there are
 * some. HR_WAIT: perhaps. HR_END: the operator is to read itself, or an input has failed (hr_plan_failed). */
hr_status hr__csv_ahead_find(csv_ahead *a, const hr__csv_format *format, const hr__csv_layout *layout, hr_plan *p,
                             const hr_file_list *list, int64_t file, int64_t offset);
/* Takes the next rows of those that were found, at least 1, at most `at_most`: the unit holds them. `block` gets all
 * but line and record. Gives the line ends in them. */
int64_t hr__csv_ahead_take(csv_ahead *a, hr_plan *p, int64_t at_most, hr__csv_block *block);
/* None will be asked for. */
void hr__csv_ahead_close(csv_ahead *a);

#endif
