/* Only Linux offers this. */
#if !defined(_GNU_SOURCE) && defined(__linux__)
#define _GNU_SOURCE
#endif
#include "base/pages.h"
#include <stdint.h>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

void hr__ask_for_huge_pages(void *memory, size_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t first = ((uintptr_t)memory + HR__HUGE_PAGE - 1) / HR__HUGE_PAGE * HR__HUGE_PAGE,
                    end = ((uintptr_t)memory + size) / HR__HUGE_PAGE * HR__HUGE_PAGE;
    if (end > first) (void)madvise((char *)memory + (first - (uintptr_t)memory), end - first, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}

void hr__give_back_pages(void *memory, size_t size)
{
#if defined(__linux__) && defined(MADV_DONTNEED)
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)memory + page - 1) / page * page,
                    end = ((uintptr_t)memory + size) / page * page;
    if (end > first) (void)madvise((char *)memory + (first - (uintptr_t)memory), end - first, MADV_DONTNEED);
#else
    (void)memory;
    (void)size;
#endif
}
