/* Raw deflate by one of two engines, zlib or ISA-L, with one interface: the same results, ISA-L 2 to 4 times faster. Of
 * a damaged stream, too, but for one thing: ISA-L decodes by a code that is not complete, which zlib refuses before the
 * block. What stands around the stream (headers, checksums, several members) is ours: members.c. */
#ifndef HR_DEFLATE_H
#define HR_DEFLATE_H

#include <headrace/base.h>

typedef enum hr__inflated { HR__INFLATE_MORE, HR__INFLATE_DONE, HR__INFLATE_BAD, HR__INFLATE_NO_MEMORY } hr__inflated;

/* Where an engine reads and writes; it moves all four. */
typedef struct hr__flow {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
} hr__flow;

typedef struct hr__deflate_engine {
    const char *name;
    void *(*inflate_new)(void); /* NULL: no memory */
    void (*inflate_reset)(void *inflate);
    /* Good bytes come out before HR__INFLATE_BAD. DONE: the next byte is flow->in, less those held. */
    hr__inflated (*inflate)(void *inflate, hr__flow *flow);
    size_t (*held)(const void *inflate); /* bytes it took from flow->in and has not used yet */
    void (*inflate_free)(void *inflate);

    void *(*deflate_new)(int level); /* level 0: the engine's choice, else 1 .. 9 */
    /* Until flow->in_size is 0; with `last`, until it says true: all is out. */
    bool (*deflate)(void *deflate, hr__flow *flow, bool last);
    void (*deflate_free)(void *deflate);

    uint32_t (*crc32)(uint32_t sum, const unsigned char *data, size_t size);   /* gzip's; begins with 0 */
    uint32_t (*adler32)(uint32_t sum, const unsigned char *data, size_t size); /* zlib's; begins with 1 */
} hr__deflate_engine;

extern const hr__deflate_engine hr__deflate_by_zlib;
extern const hr__deflate_engine hr__deflate_by_isal; /* only where this build has ISA-L */
extern const hr__deflate_engine *const hr__deflate_fastest;

#endif
