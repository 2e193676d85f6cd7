#include "data/exec/store.h"
#include "base/pages.h"
#include "base/pool.h"
#include "base/sanitizers.h"
#include <string.h>

_Static_assert(sizeof(block) <= BLOCK_HEAD, "a block's head must fit before its bytes");

enum {
    SMALLEST = 256,
    LINE = 64,
    FIRST_SLAB = 64 << 10,
    LARGEST_CELL = FIRST_SLAB,
    SLAB_GROWTH = 4,
    SPARE = 4 << 20,       /* free blocks that are kept beyond any limit, so that units need not be allocated each */
    WHOLE_PAGES = 64 << 10 /* a block of this size is worth a call to give its pages back */
};

bool hr__store_open(store *s, size_t limit)
{
    *s = (store){.next_slab = FIRST_SLAB, .limit = limit};
    return uv_mutex_init(&s->lock) == 0;
}

static void free_chain(block *b)
{
    while (b) {
        block *next = b->next;
        hr_free(b->allocated);
        b = next;
    }
}

static void shelf_free(shelf *s)
{
    for (int i = 0; i < BLOCK_CLASSES && s; i++) free_chain(s->free[i]);
    hr_free(s);
}

void hr__store_close(store *s)
{
    for (int i = 0; i < SHELVES; i++) shelf_free(s->shelf[i]);
    for (uint32_t i = 0; i < s->slabs; i++) hr_free(((block *)(void *)(s->slab[i] - BLOCK_HEAD))->allocated);
    hr_free(s->slab);
    for (int i = 0; i < CELL_CLASSES && s->cells; i++) hr_free(s->cells[i].number);
    hr_free(s->cells);
    uv_mutex_destroy(&s->lock);
}

static void charge(store *s, size_t bytes)
{
    size_t now = atomic_fetch_add_explicit(&s->held, bytes, memory_order_relaxed) + bytes;
    size_t peak = atomic_load_explicit(&s->peak, memory_order_relaxed);
    while (now > peak &&
           !atomic_compare_exchange_weak_explicit(&s->peak, &peak, now, memory_order_relaxed, memory_order_relaxed)) {}
}

static void discharge(store *s, size_t bytes) { atomic_fetch_sub_explicit(&s->held, bytes, memory_order_relaxed); }

/* Memory that is handed out, and what was given back, has other bytes each time, in builds with assertions: code that
 * reads what it has not written, or has given back, gives other elements in every run. */
static void poison(void *bytes, size_t size)
{
#ifdef NDEBUG
    (void)bytes, (void)size;
#else
    static atomic_uint times;
    memset(bytes, 128 | (int)(atomic_fetch_add_explicit(&times, 37, memory_order_relaxed) & 127), size);
#endif
}

/* ---- blocks: four classes between one power of two and the next, so that at most a fifth is unused ---- */

static int class_of(size_t size, size_t *rounded)
{
    if (size <= SMALLEST) {
        *rounded = SMALLEST;
        return 0;
    }
    int power = 63 - __builtin_clzll((unsigned long long)(size - 1));
    size_t quarter = (size - 1) >> (power - 2);
    *rounded = (quarter + 1) << (power - 2);
    return (power - 8) * 4 + (int)quarter - 3;
}

/* Its bytes begin at a multiple of `align`, a power of two. */
static block *block_new(size_t size, int class, size_t align)
{
    char *allocated = hr_malloc(BLOCK_HEAD + align + size + STRING_SLACK);
    if (!allocated) return NULL;
    block *b = (void *)(allocated + (align - ((uintptr_t)allocated + BLOCK_HEAD) % align) % align);
    *b = (block){.allocated = allocated, .size = size, .class = class};
    memset(block_bytes(b) + size, 0, STRING_SLACK);
    return b;
}

/* To the allocator and, where it lies in pages of its own, to the system. */
static void give_back(block *b)
{
    while (b) {
        block *next = b->next;
        if (b->size >= WHOLE_PAGES) hr__give_back_pages(block_bytes(b), b->size);
        hr_free(b->allocated);
        b = next;
    }
}

/* An eighth of the limit is left to the allocator, for what it cannot use between its blocks. */
static bool is_over(const store *s, size_t free_blocks)
{
    const size_t limit = s->limit - s->limit / 8, held = atomic_load_explicit(&s->held, memory_order_relaxed);
    return free_blocks > SPARE && (held > limit || free_blocks > limit - held);
}

/* The class of some free block, which was asked for least lately. */
static int class_at_rest(const store *s)
{
    int rests = -1;
    for (int i = 0; i < SHELVES; i++)
        for (int k = 0; k < BLOCK_CLASSES && s->shelf[i]; k++)
            if (s->shelf[i]->free[k] && (rests < 0 || s->taken[k] < s->taken[rests])) rests = k;
    return rests;
}

/* A free block: of this shelf, else of another one. NULL: there is none. */
static block *take_free(store *s, int class, int home)
{
    for (int i = 0; i < SHELVES; i++) {
        shelf *from = s->shelf[(home + i) % SHELVES];
        block *b = from ? from->free[class] : NULL;
        if (!b) continue;
        from->free[class] = b->next;
        s->free_blocks -= block_takes(b);
        return b;
    }
    return NULL;
}

/* Takes free blocks out, those of a size that was not asked for lately first, until what is left may be kept. */
static block *take_excess(store *s)
{
    block *excess = NULL;
    while (is_over(s, s->free_blocks)) {
        const int class = class_at_rest(s);
        for (block *b; is_over(s, s->free_blocks) && (b = take_free(s, class, 0));) {
            b->next = excess;
            excess = b;
        }
    }
    return excess;
}

block *hr__store_block(store *s, size_t size)
{
    size_t rounded;
    if (size > (size_t)1 << 46) return NULL;
    const int class = class_of(size, &rounded), home = hr__pool_thread() % SHELVES;
    block *excess = NULL;
    hr__lock_awake(&s->lock);
    block *b = take_free(s, class, home);
    s->taken[class] = ++s->takes;
    charge(s, rounded + BLOCK_EXTRA);
    if (!b && is_over(s, s->free_blocks)) excess = take_excess(s);
    uv_mutex_unlock(&s->lock);
    give_back(excess);
    if (!b) b = block_new(rounded, class, LINE);
    if (!b) {
        discharge(s, rounded + BLOCK_EXTRA);
        return NULL;
    }
    b->next = NULL;
    b->home = home;
    poison(block_bytes(b), b->size);
    return b;
}

/* Where a block is kept; NULL: it is not. */
static block **place_of(store *s, const block *b)
{
    shelf **home = &s->shelf[b->home];
    if (is_over(s, s->free_blocks + block_takes(b))) return NULL;
    if (!*home) *home = hr_calloc(1, sizeof **home);
    return *home ? &(*home)->free[b->class] : NULL;
}

void hr__store_put_blocks(store *s, block *first)
{
    block *excess = NULL;
    if (!first) return;
    for (block *b = first; b; b = b->next) poison(block_bytes(b), b->size);
    hr__lock_awake(&s->lock);
    while (first) {
        block *next = first->next, **place;
        discharge(s, block_takes(first));
        if ((place = place_of(s, first)))
            s->free_blocks += block_takes(first);
        else
            place = &excess;
        first->next = *place;
        *place = first;
        first = next;
    }
    uv_mutex_unlock(&s->lock);
    give_back(excess);
}

void *hr__store_scratch(store *s, block **kept, size_t size)
{
    if (!*kept || (*kept)->size < size) {
        hr__store_put_blocks(s, *kept);
        *kept = hr__store_block(s, size);
    }
    return *kept ? block_bytes(*kept) : NULL;
}

/* ---- cells: sixteen classes between one power of two and the next, but of multiples of 4 up to 64 bytes ---- */

/* Whoever reads on beyond a string reads the next cell: no harm, but it looks like a race. */
#if HR__UNDER_TSAN
enum { CELL_EXTRA = sizeof(cell) + STRING_SLACK };
#else
enum { CELL_EXTRA = sizeof(cell) };
#endif

/* 0: it is too long. */
static int cell_class_of(size_t bytes)
{
    const size_t size = bytes + CELL_EXTRA;
    if (bytes > LARGEST_CELL || size > LARGEST_CELL) return 0;
    if (size <= 16 * CELL_STEP) return (int)((size + CELL_STEP - 1) / CELL_STEP);
    const int doubled = 57 - __builtin_clzll((unsigned long long)(size - 1));
    return 16 * doubled + (int)((size - 1) / CELL_STEP >> doubled) + 1;
}

static size_t size_of_class(int class)
{
    if (class <= 16) return (size_t) class * CELL_STEP;
    const int doubled = (class - 1) / 16 - 1;
    return (size_t)((class - 1) % 16 + 17) * CELL_STEP << doubled;
}

size_t hr__cell_size(const cell *c) { return size_of_class(c->class); }

/* Rows that wait are drawn at random. What is asked for beyond a large slab's size, for its place, takes no memory, even
 * if the allocator had used it before. */
static bool add_slab(store *s)
{
    const bool huge = s->next_slab >= HR__HUGE_PAGE;
    block *slab = block_new(s->next_slab, -1, huge ? HR__HUGE_PAGE : LINE);
    if (!slab) return false;
    const size_t before = (size_t)((char *)slab - (char *)slab->allocated);
    if (huge) hr__give_back_pages(slab->allocated, before);
    if (huge) hr__give_back_pages(block_bytes(slab) + slab->size + STRING_SLACK, HR__HUGE_PAGE - before);
    hr__ask_for_huge_pages(block_bytes(slab), slab->size);
    s->slab[s->slabs++] = block_bytes(slab);
    s->slab_used = 0;
    s->slab_size = slab->size;
    if (s->next_slab < LARGEST_SLAB) s->next_slab *= SLAB_GROWTH;
    return true;
}

/* What is left of a slab is given up: at most one cell in each. */
static bool cut_cell(store *s, int class, int32_t *number)
{
    const size_t bytes = size_of_class(class);
    if (s->slab_size - s->slab_used < bytes && !add_slab(s)) return false;
    *number = (int32_t)((s->slabs - 1) << SLAB_BITS | s->slab_used / CELL_STEP);
    *cell_numbered(s, *number) = (cell){.class = (uint32_t) class};
    s->slab_used += (uint32_t)bytes;
    s->cut += bytes;
    charge(s, bytes);
    return true;
}

static bool store_reserve(cell_stack *stack)
{
    if (stack->cut < stack->capacity) return true;
    int64_t capacity = stack->capacity ? 2 * stack->capacity : 64;
    int32_t *number = hr_realloc(stack->number, (size_t)capacity * sizeof *number);
    if (!number) return false;
    stack->number = number;
    stack->capacity = capacity;
    return true;
}

static bool pop_cell(store *s, int class, int32_t *number)
{
    cell_stack *stack = &s->cells[class];
    if (stack->count > 0) {
        s->free_cells -= size_of_class(class);
        *number = stack->number[--stack->count];
        return true;
    }
    if (!store_reserve(stack) || !cut_cell(s, class, number)) return false;
    stack->cut++;
    return true;
}

/* A cell serves rows of its own size alone, for ever. Where sizes change as the files go on, those of earlier sizes lie
 * idle: once they are many, new rows have blocks, which can be given back. */
static bool may_have_cell(const store *s, int class)
{
    enum { SHARE = 4 };
    if (class == 0) return false;
    if (s->cells[class].count > 0) return true;
    if (s->slabs == MOST_SLABS && s->slab_size - s->slab_used < LARGEST_CELL) return false;
    return s->free_cells <= s->cut / SHARE || s->cut <= s->limit / SHARE;
}

/* What an iterator would take before its first row, and many have no row that waits. */
static bool has_cells(store *s)
{
    if (!s->cells) s->cells = hr_calloc(CELL_CLASSES, sizeof *s->cells);
    if (!s->slab) s->slab = hr_calloc(MOST_SLABS, sizeof *s->slab);
    return s->cells && s->slab;
}

bool hr__store_cells(store *s, const size_t *sizes, int64_t count, int32_t *number, size_t *bytes)
{
    int64_t got = 0;
    *bytes = 0;
    hr__lock_awake(&s->lock);
    bool done = has_cells(s);
    for (; done && got < count; got += done) {
        const int class = cell_class_of(sizes[got]);
        number[got] = NO_CELL;
        if (!may_have_cell(s, class)) continue;
        done = pop_cell(s, class, &number[got]);
        *bytes += size_of_class(class);
    }
    uv_mutex_unlock(&s->lock);
    if (!done) hr__store_put_cells(s, number, got);
    return done;
}

void hr__store_put_cells(store *s, const int32_t *number, int64_t count)
{
    hr__lock_awake(&s->lock);
    for (int64_t i = 0; i < count; i++) {
        if (number[i] == NO_CELL) continue;
        cell *c = cell_numbered(s, number[i]);
        cell_stack *stack = &s->cells[c->class];
        const size_t size = hr__cell_size(c);
        poison(cell_bytes(c), size - sizeof *c);
        stack->number[stack->count++] = number[i];
        s->free_cells += size;
    }
    uv_mutex_unlock(&s->lock);
}
