/* Cached rows, in memory or in a file: a list of pieces, one for each unit. Each opening of the cache reads the pieces
 * at its own pace. An opening that reaches the end of the cached rows fills the cache, unless another one does: it
 * reads the input from there on and appends a piece for each unit. In memory a piece can be read as soon as it has its
 * rows; in a file, once the file is complete. All functions may be called from any thread. */
#ifndef HR_CACHED_ROWS_H
#define HR_CACHED_ROWS_H

#include "data/rows/rows_file.h"
#include <uv.h>

typedef struct hr__cached_rows {
    uv_mutex_t lock;
    hr__rows_head head; /* .piece has `capacity` of them; .source, while filling: the files that the iterator knows */
    int64_t capacity, waiting; /* waiting: pieces that were begun and have no rows yet */
    size_t size, limit;        /* bytes in memory; limit 0: none */
    bool filling, ended;       /* an opening fills it; there will be no further piece */
    bool anew;                 /* an existing file is replaced */
    bool is_set;
    uint64_t pipeline;       /* identity of the input */
    hr_error error;          /* why filling ended early; code 0: no error */
    hr__row_layouts forms;   /* in memory: the layouts of pieces in row layout */
    char *path;              /* NULL: in memory */
    hr__rows_writer *writer; /* while a file is filled */
    hr_input *in;            /* the file, once it is complete */
    bool *used;              /* used[n]: rows of the iterator's file n are cached */
    int32_t used_capacity;
} hr__cached_rows;

bool hr__cached_open(hr__cached_rows *cached); /* in zeroed memory. False: no memory */
void hr__cached_close(hr__cached_rows *cached);

/* Where the rows are cached. `path` NULL: in memory, at most `limit` bytes (0: no limit). `anew`: an existing file is
 * replaced. Copies `path`. Refuses a file with another pipeline's rows. */
hr_status hr__cached_set(hr__cached_rows *cached, hr_plan *p, const char *path, bool anew, size_t limit, hr_error *err);
/* Opens the file of `path` to read all of its rows, whichever pipeline wrote them. */
hr_status hr__cached_load(hr__cached_rows *cached, hr_plan *p, hr_error *err);

/* Where an opening stands, in elements. */
typedef struct hr__cached_place {
    int64_t given, piece, before; /* piece: the current one; before: the elements before it */
} hr__cached_place;

typedef enum hr__cached_next {
    HR__CACHED_TAKE, /* *piece is the current one: read it */
    HR__CACHED_END,
    HR__CACHED_FILL,  /* the caller fills the cache from here on, until it calls hr__cached_leave */
    HR__CACHED_WAIT,  /* another opening fills; its next piece is not there yet */
    HR__CACHED_LATER, /* nobody fills, and it is not yet the caller's turn to: its plan waits for that */
    HR__CACHED_PASS,  /* the next rows will not be cached: the caller reads its input alone */
} hr__cached_next;
/* What the opening at that place does next. Refuses a file of another pipeline, or whose source files have changed. */
hr_status hr__cached_find(hr__cached_rows *cached, hr_plan *p, hr__cached_place *at, hr__cached_next *next,
                          hr__piece *piece, hr_error *err);

/* The opening that fills stops filling. If it has not called hr__cached_end, an unfinished file is removed; rows in
 * memory stay, and the next opening continues after them. All pieces that were begun have been put. */
void hr__cached_leave(hr__cached_rows *cached);
int64_t hr__cached_begin(hr__cached_rows *cached); /* begins a piece and gives its number; -1: no memory */
/* Adds the rows of that piece. HR_RESOURCE_EXHAUSTED, "cache.limit": more than the limit. */
hr_status hr__cached_put(hr__cached_rows *cached, int64_t number, const hr_columns *rows, hr_error *err);
hr_status hr__cached_end(hr__cached_rows *cached, hr_plan *p, hr_error *err); /* no further piece will begin */

/* Makes a piece of `rows`. For a cache in a file, *stored are the bytes to write: packed.bytes, or a compressed copy
 * (hr_free). */
hr_status hr__cached_make_piece(hr__cached_rows *cached, const hr_columns *rows, hr__piece *piece, char **stored,
                                hr_error *err);

/* A unit of cached rows: what plan gives to work. */
typedef struct hr__cached_part {
    hr__cached_rows *cached;
    hr__piece piece; /* borrows what it points to */
    int64_t first;
} hr__cached_part;
/* Plans the elements of a piece from hr__cached_find, from that place on. */
hr_status hr__cached_plan(hr__cached_rows *cached, hr__cached_place *at, const hr__piece *piece, hr_plan *p,
                          hr__cached_part *part, hr_error *err);
hr_status hr__cached_work(const hr__cached_part *part, hr_work *w, hr_columns *rows, hr_error *err);

/* A cache in a file, which replaces an existing file. Takes `in`. */
hr_dataset *hr__cache_anew(hr_dataset *in, const char *file);

#endif
