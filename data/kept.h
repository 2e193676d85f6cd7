/* Rows that a cache keeps: pieces in order, each as long as a unit. One opening of the cache fills it, piece by piece as
 * units are planned and worked; once all are there, every later opening takes from it. All of it may be called from any
 * thread. */
#ifndef HR_KEPT_H
#define HR_KEPT_H

#include "data/packed.h"
#include <uv.h>

typedef struct hr__kept {
    uv_mutex_t lock;
    uv_cond_t arrived;
    hr__packed *piece;
    int64_t pieces, room, waiting; /* waiting: begun, and not there yet */
    size_t size, limit;            /* bytes; limit 0: none */
    bool filling, ended, failed;
} hr__kept;

bool hr__kept_open(hr__kept *kept); /* of zeroed memory. False: no memory */
void hr__kept_close(hr__kept *kept);

typedef enum hr__kept_use { HR__KEPT_TAKE, HR__KEPT_FILL, HR__KEPT_NEITHER } hr__kept_use;
/* What an opening may do: take what is there, if all of it is (waits for pieces that are on their way), or be the one
 * who fills, if it can and nobody does. */
hr__kept_use hr__kept_enter(hr__kept *kept, const hr_plan *p, bool can_fill);
/* The one who fills: leaves. Without an end before, what there is is thrown away. No piece is on its way. */
void hr__kept_leave(hr__kept *kept);
void hr__kept_end(hr__kept *kept);      /* ... says that no further piece begins */
int64_t hr__kept_begin(hr__kept *kept); /* ... begins a piece, gives its number; -1: no memory */
/* ... and brings its rows. HR_RESOURCE_EXHAUSTED, "cache.limit": more than .max_bytes. */
hr_status hr__kept_put(hr__kept *kept, int64_t number, const hr_columns *rows, hr_error *err);

#endif
