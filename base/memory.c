/* All memory of the library is allocated here, so that a user can supply an allocator and a test can make one fail. */
#include <headrace/base.h>
#include <stdlib.h>
#include <string.h>

static void *memory_allocate(size_t size, void *user)
{
    (void)user;
    return malloc(size);
}

static void *reallocate(void *p, size_t size, void *user)
{
    (void)user;
    return realloc(p, size);
}

static void memory_release(void *p, void *user)
{
    (void)user;
    free(p);
}

static const hr_allocator by_malloc = {memory_allocate, reallocate, memory_release, NULL};
static hr_allocator current = {memory_allocate, reallocate, memory_release, NULL};

void hr_set_allocator(const hr_allocator *allocator) { current = allocator ? *allocator : by_malloc; }

void *hr_malloc(size_t size) { return current.allocate(size ? size : 1, current.user); }

void *hr_calloc(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return NULL;
    void *p = hr_malloc(count * size);
    return p ? memset(p, 0, count * size) : NULL;
}

void *hr_realloc(void *p, size_t size)
{
    return p ? current.reallocate(p, size ? size : 1, current.user) : hr_malloc(size);
}

char *hr_strdup(const char *text) { return text ? hr_memdup(text, strlen(text) + 1) : NULL; }

void *hr_memdup(const void *p, size_t size)
{
    void *copy = hr_malloc(size);
    if (copy && size) memcpy(copy, p, size);
    return copy;
}

void hr_free(void *p)
{
    if (p) current.release(p, current.user);
}
