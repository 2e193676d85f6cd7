/* Files of frames in a row, each with its own header and checksum, made and read by a library: what lz4.c and
 * zstd.c share. Each frame stands alone, so that an index can begin at any of them. */
#ifndef HR_FRAMES_H
#define HR_FRAMES_H

#include <headrace/codec.h>
#include "io/codecs/deflate.h"

typedef enum hr__framed { HR__FRAME_MORE, HR__FRAME_DONE, HR__FRAME_CORRUPT, HR__FRAME_CHECKSUM } hr__framed;

enum { HR__FRAME_MIN = 5, HR__FRAME_HEAD = 18 /* no frame's head is shorter, or longer */ };

/* Of a format whose library this build lacks, the first two alone. */
typedef struct hr__frame_form {
    const char *name; /* "lz4"; the library is liblz4 */
    bool (*accepts)(const unsigned char *head, size_t size);

    /* How many bytes a frame that begins so says it holds; -1: it does not say, or the head is cut. */
    int64_t (*declares)(const unsigned char *head, size_t size);
    void *(*decoder_new)(void); /* NULL: no memory */
    void (*decoder_reset)(void *decoder);
    /* A fault, which *why then names, takes with it what came of the same call. *ahead: how many bytes to give next,
     * the head of the block after them included, `block_head` bytes. DONE: the frame, with its checksum, is whole. */
    hr__framed (*decode)(void *decoder, hr__flow *flow, size_t *ahead, const char **why);
    size_t block_head;
    void (*decoder_free)(void *decoder);

    void *(*encoder_new)(int level);
    size_t (*bound)(size_t size); /* of a frame of so many bytes */
    /* A whole frame: its size; 0: no memory. */
    size_t (*encode)(void *encoder, const void *data, size_t size, void *to, size_t capacity);
    void (*encoder_free)(void *encoder);
} hr__frame_form;

/* One of the frames that every such format has for others' notes, and which every reader skips. */
static inline bool hr__frame_is_skippable(const unsigned char *head, size_t size)
{
    if (size > 0 && (head[0] & 0xf0) != 0x50) return false;
    if (size > 1 && head[1] != 0x2a) return false;
    if (size > 2 && head[2] != 0x4d) return false;
    return size < 4 || head[3] == 0x18;
}

extern const hr_coding hr__frames_coding; /* of an hr__frame_form */

#endif
