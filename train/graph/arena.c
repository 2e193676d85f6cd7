/* Memory that is given back all at once: a graph's nodes and names, a plan's arrays. */
#include "train/graph/graph_internal.h"

#include <string.h>

struct hr__arena_chunk {
    struct hr__arena_chunk *next;
    size_t size;
};

enum { CHUNK = 1 << 14, ALIGN = 16, HEADER = (sizeof(struct hr__arena_chunk) + ALIGN - 1) / ALIGN * ALIGN };

static bool add_chunk(hr__arena *arena, size_t size)
{
    const size_t space = size > CHUNK ? size : CHUNK;
    struct hr__arena_chunk *chunk = hr_calloc(1, HEADER + space);
    if (!chunk) return false;
    chunk->size = space;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->left = space;
    return true;
}

void *hr__arena_get(hr__arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if ((size > arena->left || !arena->chunks) && !add_chunk(arena, size)) return NULL;
    char *p = (char *)arena->chunks + HEADER + (arena->chunks->size - arena->left);
    arena->left -= size;
    return p;
}

char *hr__arena_text(hr__arena *arena, const char *text, size_t size)
{
    char *copy = hr__arena_get(arena, size + 1);
    if (copy && size) memcpy(copy, text, size);
    return copy;
}

void *hr__arena_copy(hr__arena *arena, const void *p, size_t size)
{
    void *copy = hr__arena_get(arena, size);
    if (copy && size) memcpy(copy, p, size);
    return copy;
}

void hr__arena_free(hr__arena *arena)
{
    while (arena->chunks) {
        struct hr__arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        hr_free(chunk);
    }
    arena->left = 0;
}
