/* Pages: large ones for memory that is accessed at random or filled once; and returning them to the system. Not a
 * public header. */
#ifndef HR_PAGES_H
#define HR_PAGES_H

#include <stddef.h>

enum { HR__HUGE_PAGE = 2 << 20 };

/* Asks for such pages where whole ones lie in `memory`: few misses of the address cache, one fault instead of 512. An
 * advice only, best given before the memory is touched. */
void hr__ask_for_huge_pages(void *memory, size_t size);
/* Gives the whole pages in `memory` back to the system: what stood there is lost. For memory that is about to be freed,
 * since an allocator keeps what lies between blocks that are in use. Where the system cannot be asked, nothing. */
void hr__give_back_pages(void *memory, size_t size);

#endif
