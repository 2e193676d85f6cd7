/* Raw deflate by ISA-L. It reads up to 8 bytes ahead into a bit buffer: they stay the caller's, as bytes "held",
 * until they are used, so that whatever follows the stream is found at its place. It decodes up to three literals at
 * once: of a stream that is cut within them the first two are not delivered, as zlib would. Where it can be read
 * again, zlib delivers them then (members.c, slow_down). */
#include "io/codecs/deflate.h"
#include <isa-l.h>
#include <limits.h>
#include <string.h>

typedef struct isal_inflate_state {
    struct inflate_state z, before; /* before: as it was when it was last given input */
    size_t held, max;               /* most: input to give at once */
    bool bad;
} isal_inflate_state;

static uint32_t deflate_isal_clipped(size_t size) { return size < INT_MAX ? (uint32_t)size : INT_MAX; }

static unsigned char *writable(const unsigned char *in) { return (unsigned char *)(uintptr_t)in; } /* it only reads */

static void deflate_isal_reset(void *state)
{
    isal_inflate_state *s = state;
    isal_inflate_reset(&s->z);
    s->held = 0;
    s->max = INT_MAX;
    s->bad = false;
}

static void *inflate_new(void)
{
    isal_inflate_state *s = hr_malloc(sizeof *s);
    if (!s) return NULL;
    isal_inflate_init(&s->z);
    s->z.crc_flag = ISAL_DEFLATE;
    deflate_isal_reset(s);
    return s;
}

static void move_on(isal_inflate_state *s, hr__flow *flow)
{
    const struct inflate_state *z = &s->z;
    s->held = z->read_in_length > 0 ? (size_t)z->read_in_length / 8 : 0; /* less: it failed for lack of bits */
    size_t used = (size_t)(z->next_in - flow->in) - s->held;
    flow->in += used;
    flow->in_size -= used;
    flow->out_size -= (size_t)(z->next_out - flow->out);
    flow->out = z->next_out;
}

/* Far from the end of its input, ISA-L moves its place in the output past a match before it finds that there is none:
 * up to 258 bytes that nobody wrote. Near the end it looks first. So what fails is done again from where it began, with
 * half of the input, until a single byte is wrong. */
static void inflate_carefully(isal_inflate_state *s, hr__flow *flow)
{
    struct inflate_state *z = &s->z;
    s->before = *z;
    for (;;) {
        size_t given = flow->in_size - s->held;
        if (given > s->max) given = s->max;
        z->next_in = writable(flow->in + s->held);
        z->avail_in = (uint32_t)given;
        z->next_out = flow->out;
        z->avail_out = deflate_isal_clipped(flow->out_size);
        s->bad = isal_inflate(z) < 0;
        if (!s->bad || given <= 1) break;
        *z = s->before;
        s->max = given / 2;
    }
    move_on(s, flow);
}

/* After an error ISA-L forgets what it had decoded into its own buffer and not handed out yet. */
static void hand_out_rest(struct inflate_state *z, hr__flow *flow)
{
    size_t rest = (size_t)(z->tmp_out_valid - z->tmp_out_processed);
    if (rest > flow->out_size) rest = flow->out_size;
    if (rest > 0) memcpy(flow->out, z->tmp_out_buffer + z->tmp_out_processed, rest);
    z->tmp_out_processed += (int32_t)rest;
    flow->out += rest;
    flow->out_size -= rest;
}

static hr__inflated deflate_isal_inflate_some(void *state, hr__flow *flow)
{
    isal_inflate_state *s = state;
    struct inflate_state *z = &s->z;
    if (!s->bad) inflate_carefully(s, flow);
    if (!s->bad) return z->block_state == ISAL_BLOCK_FINISH ? HR__INFLATE_DONE : HR__INFLATE_MORE;
    hand_out_rest(z, flow);
    return z->tmp_out_valid > z->tmp_out_processed ? HR__INFLATE_MORE : HR__INFLATE_BAD;
}

static size_t inflate_held(const void *state) { return ((const isal_inflate_state *)state)->held; }

typedef struct isal_deflate_state {
    struct isal_zstream z;
    unsigned char level_memory[ISAL_DEF_LVL1_DEFAULT];
} isal_deflate_state;

/* Levels are zlib's: a caller that sets one gets zlib (members.c), so ISA-L always runs at its best level. */
static void *deflate_new(int level)
{
    (void)level;
    isal_deflate_state *s = hr_malloc(sizeof *s);
    if (!s) return NULL;
    isal_deflate_init(&s->z);
    s->z.level = 1;
    s->z.level_buf = s->level_memory;
    s->z.level_buf_size = sizeof s->level_memory;
    s->z.gzip_flag = IGZIP_DEFLATE;
    s->z.flush = NO_FLUSH;
    return s;
}

static bool deflate_some(void *state, hr__flow *flow, bool last)
{
    struct isal_zstream *z = &((isal_deflate_state *)state)->z;
    z->next_in = writable(flow->in);
    z->avail_in = deflate_isal_clipped(flow->in_size);
    z->next_out = flow->out;
    z->avail_out = deflate_isal_clipped(flow->out_size);
    z->end_of_stream = last && z->avail_in == flow->in_size;
    isal_deflate(z);
    flow->in_size -= (size_t)(z->next_in - flow->in);
    flow->in = z->next_in;
    flow->out_size -= (size_t)(z->next_out - flow->out);
    flow->out = z->next_out;
    return z->internal_state.state == ZSTATE_END;
}

static uint32_t crc32_of(uint32_t sum, const unsigned char *data, size_t size)
{
    return crc32_gzip_refl(sum, data, size);
}

static uint32_t adler32_of(uint32_t sum, const unsigned char *data, size_t size)
{
    return isal_adler32(sum, data, size);
}

const hr__deflate_engine hr__deflate_by_isal = {
    .name = "ISA-L",
    .inflate_new = inflate_new,
    .inflate_reset = deflate_isal_reset,
    .inflate = deflate_isal_inflate_some,
    .held = inflate_held,
    .inflate_free = hr_free,
    .deflate_new = deflate_new,
    .deflate = deflate_some,
    .deflate_free = hr_free,
    .crc32 = crc32_of,
    .adler32 = adler32_of,
};
