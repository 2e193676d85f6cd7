/* What a codec is made of: how to know its files, how to decode, how to encode. One file a codec, ending in a const
 * descriptor; the list is codecs.def. Not a public header. */
#ifndef HR_CODEC_H
#define HR_CODEC_H

#include "io/file_window.h"
#include <headrace/io.h>

/* Takes all of the bytes. */
typedef hr_status hr__sink_fn(void *sink, const void *data, size_t size, hr_error *err);

/* Told where a part of the file begins that can be decoded by itself, and which byte of what is made comes first in
 * it. */
typedef void hr__begin_fn(void *user, int64_t offset, int64_t made);

/* A way of decoding and encoding. Several codecs may share one: each has a form, which says what is its own. */
typedef struct hr__coding {
    /* `decode` takes from `raw` what it needs and is a fill function otherwise; `zeros` counts the padding that it
     * passed over. */
    hr_status (*decoder_new)(const void *form, void **decoder, hr_error *err);
    hr_status (*decode)(void *decoder, hr__window *raw, char *to, size_t room, size_t *got, hr_error *err);
    int64_t (*zeros)(const void *decoder); /* NULL: it passes over none */
    /* Where in the file the current stream began, for a search for the next one after damage. */
    int64_t (*began)(const void *decoder);
    /* After a failure, if the stream at hand is cut: decodes it once more, slowly, if that can give more of it; what
     * it has given is passed over. `raw` is to be brought to where it began then. False: it cannot. NULL: it never
     * can. */
    bool (*slow_down)(void *decoder);
    /* From now on a header whose bytes are damaged is taken for one where a body follows it. Called where a header was
     * refused; false: that did not happen, or it does so already. NULL: what follows such a header is lost. */
    bool (*forgive)(void *decoder);
    /* `go_on` tells a new decoder that it begins at such a part. */
    void (*watch)(void *decoder, hr__begin_fn *begins, void *user);
    void (*go_on)(void *decoder, int64_t made);
    void (*decoder_free)(void *decoder);

    /* level 0: the codec's own choice. */
    hr_status (*encoder_new)(const void *form, int level, void **encoder, hr_error *err);
    hr_status (*encode)(void *encoder, const void *data, size_t size, bool last, hr__sink_fn *sink, void *to,
                        hr_error *err);
    void (*encoder_free)(void *encoder);
} hr__coding;

typedef struct hr__codec {
    hr_compression id;
    const char *name;      /* for people: "gzip" */
    const char *tf_name;   /* TensorFlow's compression_type: "GZIP" */
    const char *extension; /* of file names: ".gz"; NULL: none */
    bool frames;           /* files are written in small parts that can be decoded by themselves */
    bool is_one_stream;    /* of several streams in a file, TensorFlow reads the first alone: so we write no second */

    /* How sure it is that a file that begins with `head` is of its kind; 0: not at all, -1: no
     * memory to find out. The highest bid wins. */
    int (*bid)(const unsigned char *head, size_t size);
    /* `head`, or as much of it as is there, may begin such a file: no promise, but no contradiction either. */
    bool (*accepts)(const unsigned char *head, size_t size);

    const hr__coding *coding; /* NULL: the bytes are the file's own */
    const void *form;         /* what the coding wants: an hr__member_form, an hr__frame_form */
} hr__codec;

/* Where a decoder stands: byte `offset` of the file, in stream (or frame) `number`, of which it has decoded `made`
 * bytes. */
typedef struct hr__codec_place {
    const char *name, *unit;
    int64_t number, offset;
    uint64_t made;
} hr__codec_place;
/* HR_DATA_LOSS: "byte 17 (40 inflated): gzip stream 0: what". */
hr_status hr__codec_damaged(hr__codec_place at, const char *kind, hr_error *err, const char *what);

int hr__codec_count(void);
const hr__codec *hr__codec_at(int i);             /* in the order of codecs.def */
const hr__codec *hr__codec_of(hr_compression id); /* NULL: no such codec (HR_COMPRESSION_AUTO, too) */
/* The codec of a file to read that begins with `head`: the one asked for, or what name and bytes say. HR_DATA_LOSS if
 * they disagree; with `may_be_damaged` only if the bytes are surely something else. */
hr_status hr__codec_for_reading(hr_compression asked, bool may_be_damaged, const char *path, const char *head,
                                size_t size, const hr__codec **out, hr_error *err);
hr_status hr__codec_for_writing(hr_compression asked, const char *path, const hr__codec **out, hr_error *err);

#endif
