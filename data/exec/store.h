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
    SHELVES = 16,
    CELL_CLASSES = 177,
    CELL_STEP = 4,
    SLAB_BITS = 20,                           /* of a cell's number: where it lies in its slab, in steps */
    LARGEST_SLAB = CELL_STEP << SLAB_BITS,    /* bytes */
    MOST_SLABS = (1 << (32 - SLAB_BITS)) - 1, /* 16 GiB in all; no cell has the number -1 */
    STRING_SLACK = 64,
    BLOCK_HEAD = 64,
    BLOCK_EXTRA = 3 * 64 /* what a block takes beside its bytes: head, alignment, slack */
};

/* Lies before its bytes, which begin on a cache line and are followed by STRING_SLACK readable ones. */
typedef struct block {
    struct block *next; /* of a free list, or of whatever chain holds it */
    void *allocated;
    size_t size;
    int class, home; /* its size, and the shelf of the thread that took it last */
} block;

/* Free blocks, by class. */
typedef struct shelf {
    block *free[BLOCK_CLASSES];
} shelf;

/* Lies before the bytes of a row that waits. Cells are named by numbers of 4 bytes. */
typedef struct cell {
    uint32_t others : 24; /* holders beside the one that it was lent to; plain, since only one plan counts them */
    uint32_t class : 8;   /* for ever, as it was cut */
} cell;

typedef struct cell_stack {
    int32_t *number; /* of free cells, which are not touched */
    int64_t count, capacity;
    int64_t cut; /* how many there are of this size; room is never less, so giving one back cannot fail */
} cell_stack;

typedef struct store {
    uv_mutex_t lock;
    shelf *shelf[SHELVES]; /* a thread finds what it had before, which its cache may still have; NULL: nothing yet */
    uint64_t taken[BLOCK_CLASSES], takes; /* when a block of each class was taken last, in blocks taken */
    cell_stack *cells;                    /* one for each class; NULL: no cell was asked for */
    char **slab;                          /* what cells are cut from: the bytes of blocks */
    uint32_t slabs, slab_used;            /* how many; bytes of the last one */
    size_t slab_size, next_slab;
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

enum { NO_CELL = -1 };

/* Numbers of `count` cells for rows of these sizes; NO_CELL: it is too long for one, cells would lie idle, or there are no
 * more numbers, so the row has to have a block. *bytes: what they take. False: no memory, and none is lent. */
bool hr__store_cells(store *s, const size_t *sizes, int64_t count, int32_t *number, size_t *bytes);
void hr__store_put_cells(store *s, const int32_t *number, int64_t count);
static inline cell *cell_numbered(const store *s, int32_t number)
{
    const uint32_t n = (uint32_t)number;
    return (cell *)(void *)(s->slab[n >> SLAB_BITS] + (size_t)(n & ((1U << SLAB_BITS) - 1)) * CELL_STEP);
}
static inline char *cell_bytes(cell *c) { return (char *)(c + 1); }
size_t hr__cell_size(const cell *c); /* what it takes */

/* One with so many holders that they cannot be counted stays until the store is closed. */
static inline void cell_hold(cell *c)
{
    if (c->others < (1U << 24) - 1) c->others++;
}
/* True: nobody holds it any more. */
static inline bool cell_leave(cell *c)
{
    if (c->others == 0) return true;
    if (c->others < (1U << 24) - 1) c->others--;
    return false;
}

#endif
