/* Memory in regions, from which blocks are cut and joined again: what blocks of many sizes take in turn is little more
 * than what they take at once. A free block lies in the list of its class, four classes an octave, and one bit a class
 * says whether its list has any: to get and to put take the same time however many blocks there are. */
#include "base/sanitizers.h"
#include "train/graph/graph_internal.h"

#include <stddef.h>

#if HR__UNDER_ASAN /* what is not handed out may not be touched */
#include <sanitizer/asan_interface.h>
#define HEAP_HIDE(p, bytes) ASAN_POISON_MEMORY_REGION((p), (bytes))
#define HEAP_SHOW(p, bytes) ASAN_UNPOISON_MEMORY_REGION((p), (bytes))
#else
#define HEAP_HIDE(p, bytes) ((void)(p), (void)(bytes))
#define HEAP_SHOW(p, bytes) ((void)(p), (void)(bytes))
#endif

enum {
    UNIT = 64, /* bytes; sizes and places are multiples of it */
    CLASSES = 64,
    FIRST_REGION = (128 << 10) / UNIT,
    MOST_REGION = (2 << 20) / UNIT
};

/* A region ends with a block of size 0, which is not free. */
typedef struct heap_block {
    uint32_t size, before; /* units, with this head; those of the block before it, 0: it is the first */
    bool free;
    struct heap_block *next, *last; /* of its class, while it is free; else the memory begins here */
} heap_block;

enum { HEAD = offsetof(heap_block, next) };

typedef struct heap_region {
    struct heap_region *next;
    heap_block *first;
    uint32_t units;
} heap_region;

struct hr__heap {
    uint64_t some; /* bit c: class c has a free block */
    heap_block *free[CLASSES];
    heap_region *regions;
    size_t units, used, most; /* of all regions; of blocks that are out; the most of these since the last rest */
};

/* Of a free block. */
static int heap_class_of(uint32_t units)
{
    if (units < 4) return (int)units;
    const int log = 31 - __builtin_clz(units);
    return (log - 1) * 4 + (int)(units >> (log - 2) & 3);
}

/* The first class whose blocks all have so many units, made the least of it. */
static int heap_class_for(uint32_t *units)
{
    const uint32_t quarter = *units < 4 ? 1 : 1U << (29 - __builtin_clz(*units));
    return heap_class_of(*units += quarter - 1);
}

static heap_block *block_at(heap_block *block, int64_t units)
{
    return (heap_block *)(void *)((char *)block + units * UNIT);
}

static void heap_link(hr__heap *heap, heap_block *block)
{
    const int class = heap_class_of(block->size);
    block->free = true;
    block->last = NULL;
    block->next = heap->free[class];
    if (block->next) block->next->last = block;
    heap->free[class] = block;
    heap->some |= UINT64_C(1) << class;
}

static void heap_unlink(hr__heap *heap, heap_block *block)
{
    const int class = heap_class_of(block->size);
    block->free = false;
    if (block->next) block->next->last = block->last;
    *(block->last ? &block->last->next : &heap->free[class]) = block->next;
    if (!heap->free[class]) heap->some &= ~(UINT64_C(1) << class);
}

/* ---- regions ---- */

hr__heap *hr__heap_new(void) { return hr_calloc(1, sizeof(hr__heap)); }

static void free_region(heap_region *region)
{
    HEAP_SHOW(region->first, (size_t)region->units * UNIT);
    hr_free(region);
}

void hr__heap_free(hr__heap *heap)
{
    while (heap && heap->regions) {
        heap_region *region = heap->regions;
        heap->regions = region->next;
        free_region(region);
    }
    hr_free(heap);
}

/* One block, as large as all regions so far, within bounds. */
static heap_block *add_region(hr__heap *heap, uint32_t wanted)
{
    size_t units = heap->units < FIRST_REGION ? FIRST_REGION : heap->units > MOST_REGION ? MOST_REGION : heap->units;
    if (units < wanted) units = wanted;
    char *memory = hr_malloc(sizeof(heap_region) + units * UNIT + sizeof(heap_block) + UNIT);
    if (!memory) return NULL;
    char *first = memory + sizeof(heap_region) + UNIT - 1;
    first -= (uintptr_t)first % UNIT;
    heap_region *region = (heap_region *)(void *)memory;
    *region = (heap_region){heap->regions, (heap_block *)(void *)first, (uint32_t)units};
    heap->regions = region;
    heap->units += units;
    *region->first = (heap_block){.size = region->units};
    *block_at(region->first, region->units) = (heap_block){.before = region->units};
    HEAP_HIDE(region->first + 1, units * UNIT - sizeof(heap_block));
    heap_link(heap, region->first);
    return region->first;
}

size_t hr__heap_size(const hr__heap *heap) { return heap->units * UNIT; }

void hr__heap_rest(hr__heap *heap)
{
    for (heap_region **at = &heap->regions; *at;) {
        heap_region *region = *at;
        const bool whole = region->first->free && region->first->size == region->units;
        if (whole && heap->units - region->units >= heap->most + heap->most / 2) {
            heap_unlink(heap, region->first);
            heap->units -= region->units;
            *at = region->next;
            free_region(region);
        } else {
            at = &region->next;
        }
    }
    heap->most = heap->used;
}

/* ---- blocks ---- */

/* What is left of a block behind its first `units` is a block again, which is free. */
static void cut(hr__heap *heap, heap_block *block, uint32_t units)
{
    heap_block *rest = block_at(block, units);
    HEAP_SHOW(rest, sizeof *rest);
    *rest = (heap_block){.size = block->size - units, .before = units};
    block->size = units;
    block_at(rest, rest->size)->before = rest->size;
    heap_link(heap, rest);
}

void *hr__heap_get(hr__heap *heap, size_t bytes)
{
    if (bytes > HR__HEAP_MOST) return NULL;
    const uint32_t units = (uint32_t)((bytes + HEAD + UNIT - 1) / UNIT);
    uint32_t enough = units;
    const int class = heap_class_for(&enough);
    const uint64_t fit = heap->some >> class << class;
    heap_block *block = fit ? heap->free[__builtin_ctzll(fit)] : add_region(heap, enough);
    if (!block) return NULL;
    heap_unlink(heap, block);
    if (block->size > units) cut(heap, block, units);
    heap->used += block->size;
    if (heap->used > heap->most) heap->most = heap->used;
    HEAP_SHOW((char *)block + HEAD, bytes);
    return (char *)block + HEAD;
}

void hr__heap_put(hr__heap *heap, void *memory)
{
    heap_block *block = (heap_block *)(void *)((char *)memory - HEAD), *after = block_at(block, block->size);
    heap->used -= block->size;
    if (after->free) {
        heap_unlink(heap, after);
        block->size += after->size;
    }
    if (block->before && block_at(block, -(int64_t)block->before)->free) {
        heap_block *before = block_at(block, -(int64_t)block->before);
        heap_unlink(heap, before);
        before->size += block->size;
        block = before;
    }
    block_at(block, block->size)->before = block->size;
    HEAP_SHOW(block, sizeof *block);
    HEAP_HIDE(block + 1, (size_t)block->size * UNIT - sizeof *block);
    heap_link(heap, block);
}
