/* Records of a list of TFRecord files, read ahead of their turn: parts of the files, each by a stage of its own, so that
 * several threads read, inflate, frame and check at once. In plan, of an operator that has HR_KNOWS_ITS_PLACE.
 *
 * A part is a whole file, which tells its own damage; or it is a run of bytes of a large plain file, whose first record
 * is looked for, since nobody knows yet where one begins. That may be a mistake, so records of a part are taken only
 * if they begin exactly where those before them end. A part that has other ones, or damage, gives none any more: the
 * operator then reads in turn, from where it stands to the end of the part, and only then tells of damage. */
#ifndef HR_RECORDS_AHEAD_H
#define HR_RECORDS_AHEAD_H

#include "data/sources/record_source.h"

enum { RECORDS_MAX_PARTS = 64 };

typedef struct records_part {
    int input;         /* that reads it; -1: none does (any more), it is read in turn */
    int64_t file, end; /* number of the file in the list; where the next part begins */
    bool whole;        /* up to the end of the file */
} records_part;

/* Part of an operator's state, zeroed. */
typedef struct records_ahead {
    records_part part[RECORDS_MAX_PARTS]; /* a ring */
    int first, parts;
    int open, most, limit; /* parts that are read; that may be, by the threads; that may be now */
    int64_t openings;
    int64_t file, offset; /* where the next part begins; */
    int64_t record;       /* the number of the record there; -1: it is not known if a record begins there */
    int64_t size;         /* of that file, if it is cut into parts; 0: it was not looked at */
} records_ahead;

/* Of an operator that opens. */
void hr__records_ahead_open(records_ahead *a, const hr_plan *p);
static inline bool hr__records_are_ahead(const records_ahead *a) { return a->most > 0; }

typedef enum records_answer {
    RECORDS_COME,     /* some, and the place is after them; their numbers may count from another one */
    RECORDS_PART,     /* none: a part has ended. Those of another one belong to another unit */
    RECORDS_END,      /* none: this file has no more */
    RECORDS_IN_TURN,  /* none: the operator is to read itself from its place, some records or to the end of the file */
    RECORDS_ARE_LATE, /* none yet: HR_WAIT */
    RECORDS_FAIL,     /* none: HR_END, the error is that of an input */
} records_answer;

/* The next records, at most so many, of file number `file` of the list, where `at` stands. */
records_answer hr__records_ahead_pull(records_ahead *a, const record_source_spec *how, hr_plan *p,
                                      const hr_file_list *list, int64_t file, record_source *at, int64_t at_most,
                                      hr_span *out);
/* None will be asked for. */
void hr__records_ahead_close(records_ahead *a, hr_plan *p);

#endif
