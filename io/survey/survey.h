/* Goes over all records of files, many at a time, each given to one of a few slots. Which slot a record goes to
 * depends on the files alone, never on threads, so that what slots gather and is then merged in their order is always
 * the same. Not a public header. */
#ifndef HR_SURVEY_H
#define HR_SURVEY_H

#include "base/text.h"
#include "io/csv/csv.h"
#include "io/example/example_walk.h"
#include "io/schema/schema.h"
#include <headrace/examples.h>

enum { HR__SURVEY_SLOTS = 8, HR__SURVEY_PIECE = 512 * 1024 /* bytes, or one long record */ };

struct hr__survey;

typedef struct hr__survey_place {
    const struct hr__survey *survey;
    int file;
    const char *path;
    int64_t record; /* from 0 */
    int64_t line;   /* from 1; -1: not known */
    bool csv;       /* its values are texts, unless a schema says what they are */
} hr__survey_place;

/* Looks at one record. The contents are borrowed for the call. One call at a time for each slot. */
typedef hr_status hr__survey_fn(void *slot, const hr__survey_place *place, const hr__walk_contents *contents,
                                hr_error *err);

typedef struct hr__survey {
    const hr_file_list *files;
    const hr_survey_opts *opts; /* NULL: the defaults */
    hr__survey_fn *note;
    /* Called with slot 0 for the columns of the first file, before any row of it, if it is CSV and they are those of
     * its header. NULL: not wanted. */
    hr_status (*header)(void *slot, const hr__survey_place *place, const hr__csv_format *format, hr_error *err);
    void *slot[HR__SURVEY_SLOTS];
    bool as_read;    /* JSON and CSV: without the schema, of CSV all fields as strings */
    int64_t records; /* set: how many there were */
    int64_t bytes, total;
    struct hr__survey_run *run; /* while it goes over the files */
} hr__survey;

/* HR_CANCELLED once opts->progress has said so. A loop over something as long as a record or the list of all
 * features asks at every `i` of it, which costs nothing but each 16,384 times. From any thread. */
hr_status hr__survey_ask(const hr__survey *survey, hr_error *err);
static inline hr_status hr__survey_go_on(const hr__survey *survey, int64_t i, hr_error *err)
{
    return (i & 0x3fff) == 0x3fff ? hr__survey_ask(survey, err) : HR_OK;
}

/* Refuses NULL where a call needs something: kind "survey.argument". `what` says what that is. */
hr_status hr__survey_need(const void *pointer, const char *what, hr_error *err);
/* Refuses, as kind "survey.argument", what is no list of files, and options that are no numbers or formats. */
hr_status hr__survey_check(const hr_file_list *files, const hr_survey_opts *opts, hr_error *err);
/* The first failure in the order of the files, or HR_OK. */
hr_status hr__survey_run(hr__survey *survey, hr_error *err);

hr_survey_opts hr__survey_defaults(const hr_survey_opts *opts);

/* ---- the parts: a file read in pieces, pieces looked at (survey_source.c) ---- */

typedef struct hr__survey_piece {
    hr__survey_place place; /* of its first record */
    hr__text bytes;         /* records one after the other, or CSV text */
    size_t *end;            /* of each record */
    int64_t *line;          /* of each record of JSON */
    size_t records, capacity;
    hr__csv_block block; /* of CSV */
    const hr__csv_format *format;
    const hr__csv_layout *layout;
    hr_status status;
    hr_error err;
} hr__survey_piece;

typedef struct hr__survey_source hr__survey_source;
/* Its first `most` records. */
hr_status hr__survey_open(const hr__survey *survey, int file, int64_t max, hr__survey_source **out, hr_error *err);
int64_t hr__survey_columns(const hr__survey_source *source); /* of a CSV; 0: not known */
/* Fills the piece. HR_END: there is no more. Before a failure comes what is good: then the piece is not empty, and
 * the next call fails. */
hr_status hr__survey_read(hr__survey_source *source, hr__survey_piece *piece, hr_error *err);
int64_t hr__survey_bytes(const hr__survey_source *source); /* read so far, as they lie on the disk as far as is known */
void hr__survey_close(hr__survey_source *source);
void hr__survey_piece_free(hr__survey_piece *piece);
/* Gives every record of the piece to the slot. `scratch` is a slot's own. */
typedef struct hr__survey_scratch {
    hr_example_walk *walk;
    void *csv;                       /* the parser's own */
    struct hr__survey_bytes *memory; /* of the piece that is looked at */
} hr__survey_scratch;
hr_status hr__survey_look(const hr__survey *survey, int slot, hr__survey_scratch *scratch,
                          const hr__survey_piece *piece, hr_error *err);
void hr__survey_scratch_free(hr__survey_scratch *scratch);

#endif
