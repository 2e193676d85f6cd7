/* Files of one deflate stream or several in a row (gzip's members, zlib's streams), each between a header and
 * a trailer: what gzip.c and zlib.c share. */
#ifndef HR_MEMBERS_H
#define HR_MEMBERS_H

#include <headrace/codec.h>
#include "io/codecs/deflate.h"

typedef struct hr__member_form {
    const char *name; /* "gzip" */
    bool (*accepts)(const unsigned char *head, size_t size);
    /* Size of the header at `bytes`; 0: more bytes are needed; -1: it is wrong, *why says how. */
    int64_t (*header)(const unsigned char *bytes, size_t size, const char **why);
    /* Makes a damaged header one that may be right: what does not differ between files is as it must be. */
    void (*mend)(unsigned char *head, size_t size);
    size_t trailer_size;
    uint32_t sum; /* of no bytes */
    uint32_t (*add)(const hr__deflate_engine *engine, uint32_t sum, const unsigned char *data, size_t size);
    /* What a trailer must be for `count` bytes with this sum. */
    void (*trailer)(uint32_t sum, uint64_t count, unsigned char *out);
    const char *new_header; /* for writing */
    size_t new_header_size;
} hr__member_form;

extern const hr__member_form hr__gzip_form, hr__zlib_form;

extern const hr_coding hr__members_coding; /* of an hr__member_form */

/* The coding's decoder, by an engine of one's own choice. */
hr_status hr__members_decoder_new(const hr__member_form *form, const hr__deflate_engine *engine, void **out,
                                  hr_error *err);
hr_status hr__members_decode(void *decoder, hr_codec_source *raw, char *to, size_t capacity, size_t *got,
                             hr_error *err);
void hr__members_decoder_free(void *decoder);

/* 1 if `head`, after a header of `skip` bytes, inflates without a fault as far as it goes; else 0; -1: no memory. */
int hr__deflate_plausible(const unsigned char *head, size_t size, size_t skip);

#endif
