/* Recycled memory of one iterator: blocks in size classes, and cells for rows that wait. Once a pipeline
 * runs evenly it takes everything from here and asks the allocator for nothing. All that was taken from the allocator is
 * counted. `held` is what cannot be given back: that is what the byte budget is about. Free blocks are kept as long as
 * they and what is held stay within the limit. */
#ifndef HR_STORE_H
#define HR_STORE_H

#include <headrace/base.h>
#include <stdatomic.h>
#include <uv.h>

enum {
    BLOCK_CLASSES = 160,
    CELL_STEP = 64,
    CELL_STEPS = 1024, /* longer ones are blocks */
    STRING_SLACK = 64,
    BLOCK_HEAD = 64,
    BLOCK_EXTRA = 3 * 64 /* what a block takes beside its bytes: head, alignment, slack */
};

/* Lies before its bytes, which begin on a cache line and are followed by STRING_SLACK readable ones. */
typedef struct block {
    struct block *next; /* of a free list, or of whatever chain holds it */
    void *allocated;
    size_t size;
    int class;
} block;

typedef struct cell_stack {
    void **cell; /* pointers, so that a free cell is not touched */
    int64_t count, capacity;
    int64_t cut; /* how many there are of this size; room is never less, so giving one back cannot fail */
} cell_stack;

typedef struct store {
    uv_mutex_t lock;
    block *free[BLOCK_CLASSES];
    uint64_t taken[BLOCK_CLASSES], takes; /* when a block of each class was taken last, in blocks taken */
    cell_stack *cells;                    /* one for each number of steps; NULL: no cell was asked for */
    block *slabs;                         /* what cells are cut from */
    char *slab_at;
    size_t slab_left, next_slab;
    size_t limit;             /* of `held` and `free_blocks` together */
    size_t free_blocks;       /* bytes */
    size_t cut, free_cells;   /* bytes of all cells, and of those that are free */
    atomic_size_t held, peak; /* bytes of lent blocks and of all cells */
} store;

bool hr__store_open(store *s, size_t limit);
void hr__store_close(store *s); /* everything lent has come back */

block *hr__store_block(store *s, size_t size);     /* gives; NULL: no memory */
void hr__store_put_blocks(store *s, block *first); /* takes a chain */
/* A block that is used again and again, with what is in it lost: *kept, or a larger one in its place. NULL: no memory.
 * */
void *hr__store_scratch(store *s, block **kept, size_t size);
static inline char *block_bytes(block *b) { return (char *)b + BLOCK_HEAD; }
static inline size_t block_takes(const block *b) { return b->size + BLOCK_EXTRA; }

/* A row, or some small ones, while they wait in an operator that holds rows. */
typedef struct cell {
    void *at;
    uint32_t steps; /* of CELL_STEP bytes; 0 with `at`: a block of its own */
    int32_t spans;  /* how many spans have each row, all together; plain, since only one plan counts them */
} cell;

/* Fills in `at` and `steps` of `count` cells for strings of these sizes; *bytes: what they take. False: no memory, and
 * none is lent. */
bool hr__store_cells(store *s, cell *cells, const size_t *sizes, int64_t count, size_t *bytes);
void hr__store_put_cells(store *s, cell *cells, int64_t count); /* those with `at`; zeroes it */

#endif
