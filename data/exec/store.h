/* Recycled memory of one iterator: blocks in size classes, and cells for the strings of single rows. Once a pipeline
 * runs evenly it takes everything from here and asks the allocator for nothing. What is lent is counted: that is what
 * the byte budget is about. */
#ifndef HR_STORE_H
#define HR_STORE_H

#include <headrace/base.h>
#include <stdatomic.h>
#include <uv.h>

enum { BLOCK_CLASSES = 160, CELL_STEP = 64, CELL_STEPS = 1024 /* longer ones are blocks */, STRING_SLACK = 64 };

/* Lies in front of its bytes, which begin on a cache line and have STRING_SLACK readable ones behind them. */
typedef struct block {
    struct block *next; /* of a free list, or of whatever chain holds it */
    void *allocated;
    size_t size;
    int class;
} block;

typedef struct cell_stack {
    void **cell; /* pointers, so that a free cell is not touched */
    int64_t count, room;
    int64_t cut; /* how many there are of this size; room is never less, so giving one back cannot fail */
} cell_stack;

typedef struct store {
    uv_mutex_t lock;
    block *free[BLOCK_CLASSES];
    cell_stack *cells; /* one for each number of steps */
    block *slabs;      /* what cells are cut from */
    char *slab_at;
    size_t slab_left, next_slab;
    atomic_size_t held, peak; /* bytes lent */
} store;

bool hr__store_open(store *s);
void hr__store_close(store *s); /* everything lent has come back */

block *hr__store_block(store *s, size_t size);     /* gives; NULL: no memory */
void hr__store_put_blocks(store *s, block *first); /* takes a chain */
static inline char *block_bytes(block *b) { return (char *)b + 64; }

/* One row's strings while it waits in an operator that holds rows. */
typedef struct cell {
    void *at;
    uint32_t steps; /* of CELL_STEP bytes; 0 with `at`: a block of its own */
    int32_t spans;  /* how many spans have the row; plain, since only one plan counts them */
} cell;

/* Fills in `at` and `steps` of `count` cells for strings of these sizes. False: no memory, and none is lent. */
bool hr__store_cells(store *s, cell *cells, const size_t *sizes, int64_t count);
void hr__store_put_cells(store *s, cell *cells, int64_t count); /* those with `at`; zeroes it */

#endif
