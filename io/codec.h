/* The codec kit: what a way of compressing files is made of. The library's own codecs are made of this header and
 * nothing else, and a test compiles them that way; hr_codec_register adds one from outside.
 * examples/run_length_codec.c is a whole one.
 *
 * A codec knows its files by their first bytes and by an extension. It decodes a stream of bytes and encodes one. A
 * decoder and an encoder are used by one thread at a time. Every byte of a file is decoded or reported: a cut, a wrong
 * checksum, bytes after the end are errors (HR_DATA_LOSS), and all good bytes before the error are handed out first. */
#ifndef HR_CODEC_H
#define HR_CODEC_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HR_CODEC_ABI = 1 /* the version of this kit */ };

/* Begins every descriptor. Filled in by HR_CODEC_HEAD and HR_CODING_HEAD. The library takes a descriptor of the same
 * abi_version and of any struct_size: fields that a shorter one lacks are zero; a longer one is refused only if it sets
 * a field that this library does not know. */
typedef struct hr_codec_head {
    uint32_t abi_version, struct_size;
} hr_codec_head;
#define HR_CODEC_HEAD                                                                                                  \
    {                                                                                                                  \
        HR_CODEC_ABI, sizeof(hr_codec)                                                                                 \
    }
#define HR_CODING_HEAD                                                                                                 \
    {                                                                                                                  \
        HR_CODEC_ABI, sizeof(hr_coding)                                                                                \
    }

/* The bytes of the file, before decoding. */
typedef struct hr__window hr_codec_source;
/* Where an encoder puts its bytes: takes all of them. */
typedef hr_status hr_codec_sink_fn(void *sink, const void *data, size_t size, hr_error *err);
/* Told where a part of the file begins that can be decoded by itself, and which decoded byte is the first in it. */
typedef void hr_codec_begin_fn(void *user, int64_t offset, int64_t made);

/* A way of decoding and encoding. Several codecs may share one: each has a form, which says what is its own. */
typedef struct hr_coding {
    hr_codec_head head; /* HR_CODING_HEAD */
    const char *name;   /* for errors of the kit */

    /* Gives *decoder. `form` is the codec's. */
    hr_status (*decoder_new)(const void *form, void **decoder, hr_error *err);
    /* Takes what it needs from `from`; puts up to `capacity` bytes at `to` and says how many in *got, also when it then
     * fails. HR_OK: there may be more; HR_END: all of the file is decoded; or a failure. */
    hr_status (*decode)(void *decoder, hr_codec_source *from, char *to, size_t capacity, size_t *got, hr_error *err);
    void (*decoder_free)(void *decoder);

    /* Gives *encoder. level 1 to 9; 0: the codec's own choice. NULL: such files are only read. */
    hr_status (*encoder_new)(const void *form, int level, void **encoder, hr_error *err);
    /* Encodes `size` bytes; with `last`, also the end of the stream. */
    hr_status (*encode)(void *encoder, const void *data, size_t size, bool last, hr_codec_sink_fn *sink, void *to,
                        hr_error *err);
    void (*encoder_free)(void *encoder);

    /* The further functions may be NULL.
     * How many zeros were skipped as padding. NULL: none. */
    int64_t (*zeros)(const void *decoder);
    /* Calls `begins` at each part of the file that can be decoded by itself. NULL: there is one, the whole file. */
    void (*watch)(void *decoder, hr_codec_begin_fn *begins, void *user);
    /* A new decoder begins at such a part, `made` decoded bytes into the file. NULL: the decoder counts no bytes. */
    void (*go_on)(void *decoder, int64_t made);
    /* Where in the file the current part began: with HR_RESYNC, the next one is looked for after it. NULL: damage ends
     * the file. */
    int64_t (*began)(const void *decoder);
    /* After a failure, if the current part is cut: decodes it once more, slowly, if that can give more of it; what it
     * has given is skipped. The source is brought to where the part began. False: it cannot. */
    bool (*slow_down)(void *decoder);
    /* From now on a damaged header is taken for one if a body follows it. Called where a header was refused; false:
     * none was, or it is taken already. */
    bool (*forgive)(void *decoder);
} hr_coding;

/* What tells a codec's files from others, and how they are decoded and encoded. */
typedef struct hr_codec {
    hr_codec_head head;    /* HR_CODEC_HEAD */
    const char *name;      /* for people: "gzip" */
    const char *tf_name;   /* as hr_compression_named takes it: "GZIP" */
    const char *extension; /* of file names: ".gz"; NULL: none */
    /* From outside: a number of your own from HR_COMPRESSION_OUTSIDE on. Indexes of records keep it, so it never
     * changes. */
    hr_compression id;
    bool frames;        /* files are written in small parts that can be decoded by themselves */
    bool is_one_stream; /* of several streams in a file TensorFlow reads only the first, so we write no second */

    /* How sure it is that a file with these first bytes (64, or all of it) is of its kind: 0 not at all; 1 a good
     * guess; 2 by magic bytes; 3 by a checksum; -1: no memory to find out. The highest bid wins. */
    int (*bid)(const unsigned char *head, size_t size);
    /* The first bytes do not contradict that the file is of its kind. */
    bool (*accepts)(const unsigned char *head, size_t size);

    const hr_coding *coding; /* NULL: the bytes are the file's own */
    const void *form;        /* what the coding wants of this codec */
} hr_codec;

/* From now on files are read and written by this codec, too: by its first bytes, its extension, its names, its id. The
 * descriptors are borrowed for the life of the process. Any thread, at any time. Kind codec.registered:
 * HR_ALREADY_EXISTS for an id, name or extension that is taken, by a second call for the same codec, too,
 * HR_INVALID_ARGUMENT for an incomplete codec, HR_RESOURCE_EXHAUSTED after 32 of them, HR_FAILED_PRECONDITION for one
 * of another version of the kit. */
HR_API hr_status hr_codec_register(const hr_codec *codec, hr_error *err);

/* ---- for decode ---- */

/* Lends the next bytes of the file: at least `at_least` of them unless it ends before; *size says how many. They stay
 * valid until the next call on `from`; 64 readable bytes follow. A failure means that fewer than `at_least` could be
 * had: *data and *size then lend those before it. */
HR_API hr_status hr_codec_peek(hr_codec_source *from, size_t at_least, const char **data, size_t *size, hr_error *err);
HR_API void hr_codec_consume(hr_codec_source *from, size_t size); /* at most what was lent */
HR_API int64_t hr_codec_offset(const hr_codec_source *from);      /* in the file, of the next byte */
HR_API int64_t hr_codec_end(const hr_codec_source *from);         /* in the file, after the last byte that was read */

/* Where a decoder stands: byte `offset` of the file, in part `number`, after `made` decoded bytes. */
typedef struct hr_codec_place {
    const char *name, *unit; /* "gzip", "stream" */
    int64_t number, offset;
    uint64_t made;
} hr_codec_place;
/* Fails with HR_DATA_LOSS: "byte 17 (40 inflated): gzip stream 0: WHAT". Kinds: stream.corrupt, stream.checksum,
 * stream.truncated, stream.trailing_data. */
HR_API hr_status hr_codec_damaged(hr_codec_place at, const char *kind, hr_error *err, const char *what);

/* ---- for bid ---- */

/* The bytes are text in UTF-8, but for a character that is cut at the end. */
HR_API bool hr_codec_is_text(const unsigned char *head, size_t size);

#ifdef __cplusplus
}
#endif
#endif
