/* Rows that a cache keeps, in memory or in a file: pieces in order, each as long as a unit. Its openings go through the
 * pieces, each at its own pace. One that has come to the end of what is kept fills, if nobody else does: it reads the
 * input from there on, and appends piece by piece as units are planned and worked. In memory a piece can be taken as
 * soon as its rows have come, in a file once all have. All of it may be called from any thread. */
#ifndef HR_KEPT_H
#define HR_KEPT_H

#include "data/rows/rows_file.h"
#include <uv.h>

typedef struct hr__kept {
    uv_mutex_t lock;
    hr__rows_head head;    /* .piece has `room` of them; .source, while filling: all files that the iterator knows */
    int64_t room, waiting; /* waiting: pieces begun whose rows have not come */
    size_t size, limit;    /* bytes in memory; limit 0: none */
    bool filling, ended;   /* some opening fills; no further piece begins */
    bool anew;             /* a file that is there is replaced */
    bool is_set;
    uint64_t pipeline;       /* identity of the input */
    hr_error error;          /* why no more is kept; code 0: nothing is wrong */
    hr__row_layouts forms;   /* in memory: of the pieces that are records */
    char *path;              /* NULL: in memory */
    hr__rows_writer *writer; /* while a file is filled */
    hr_input *in;            /* the file, once it is whole */
    bool *used;              /* file n of the iterator was read from; so many, at most */
    int32_t used_room;
} hr__kept;

bool hr__kept_open(hr__kept *kept); /* of zeroed memory. False: no memory */
void hr__kept_close(hr__kept *kept);

/* Where to keep rows: NULL is in memory, and at most `limit` bytes there, 0: any number. `anew`: a file that is there
 * is replaced. Copies `path`. Refuses to keep rows of two pipelines in one file. */
hr_status hr__kept_set(hr__kept *kept, hr_plan *p, const char *path, bool anew, size_t limit, hr_error *err);
/* All that is in the file, whoever made it. */
hr_status hr__kept_load(hr__kept *kept, hr_plan *p, hr_error *err);

/* Where an opening stands: so many elements were given. */
typedef struct hr__kept_place {
    int64_t given, piece, before; /* the piece at hand, and the elements before it */
} hr__kept_place;

typedef enum hr__kept_next {
    HR__KEPT_TAKE, /* *piece is the one at hand */
    HR__KEPT_END,
    HR__KEPT_FILL,  /* the caller is now the one who fills, from here on, until it leaves */
    HR__KEPT_WAIT,  /* somebody fills; what comes next is not there yet */
    HR__KEPT_LATER, /* nobody fills, and it is not the caller's turn to: the plan waits for that */
    HR__KEPT_PASS,  /* what comes next will not be kept */
} hr__kept_next;
/* What comes next at that place. Refuses a file of another pipeline, or of files that have changed since. */
hr_status hr__kept_find(hr__kept *kept, hr_plan *p, hr__kept_place *at, hr__kept_next *next, hr__piece *piece,
                        hr_error *err);

/* The one who fills: leaves. Without an end before, the file is given up; what is in memory stays, for the next one to
 * go on with. No piece is on its way. */
void hr__kept_leave(hr__kept *kept);
int64_t hr__kept_begin(hr__kept *kept); /* ... begins a piece, gives its number; -1: no memory */
/* ... and brings its rows. HR_RESOURCE_EXHAUSTED, "cache.limit": more than the limit. */
hr_status hr__kept_put(hr__kept *kept, int64_t number, const hr_columns *rows, hr_error *err);
hr_status hr__kept_end(hr__kept *kept, hr_plan *p, hr_error *err); /* ... says that no further piece begins */

/* What it would keep of `rows`, and of a file *stored: the bytes for it, packed.bytes or others (hr_free). */
hr_status hr__kept_make_piece(hr__kept *kept, const hr_columns *rows, hr__piece *piece, char **stored, hr_error *err);

/* A unit of kept rows: what plan tells work. */
typedef struct hr__kept_part {
    hr__kept *kept;
    hr__piece piece; /* borrows what it points to */
    int64_t first;
} hr__kept_part;
/* Plans the elements of a piece that was found, from that place on. */
hr_status hr__kept_plan(hr__kept *kept, hr__kept_place *at, const hr__piece *piece, hr_plan *p, hr__kept_part *part,
                        hr_error *err);
hr_status hr__kept_work(const hr__kept_part *part, hr_work *w, hr_columns *rows, hr_error *err);

/* A cache in a file that replaces one that is there. Takes `in`. */
hr_dataset *hr__cache_anew(hr_dataset *in, const char *file);

#endif
