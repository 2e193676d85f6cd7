/* The codec kit, for authors of compression formats. The library's own codecs use this header and no other of the
 * library, and a test compiles them that way. hr_codec_register adds a codec from outside; examples/run_length_codec.c
 * is a complete one.
 *
 * A codec recognizes its files by their first bytes and by a file extension. It decodes a stream of bytes and encodes
 * one. A decoder or an encoder is used by one thread at a time. Every byte of a file is decoded or reported: a file
 * that is cut, a wrong checksum, and bytes after the end are errors (HR_DATA_LOSS). All good bytes before the error are
 * delivered first. */
#ifndef HR_CODEC_H
#define HR_CODEC_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HR_CODEC_ABI = 1 /* the version of this kit */ };

/* The first field of every descriptor; HR_CODEC_HEAD and HR_CODING_HEAD fill it in. The library accepts a descriptor of
 * the same abi_version. A shorter one must have all required fields; the optional ones that it lacks are zero. A longer
 * one is refused only if it sets a field that this library does not know. */
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
/* Writes encoded bytes, all of them or it fails. Borrows `data` for the call. */
typedef hr_status hr_codec_sink_fn(void *sink, const void *data, size_t size, hr_error *err);
/* Reports that a part of the file that can be decoded by itself begins at byte `offset` of the file; `made` is the
 * number of decoded bytes before it. */
typedef void hr_codec_begin_fn(void *user, int64_t offset, int64_t made);

/* The functions that decode and encode. Several codecs may share them: each has a form, which says how it differs. */
typedef struct hr_coding {
    hr_codec_head head; /* HR_CODING_HEAD */
    const char *name;   /* for errors of the kit */

    /* Gives *decoder. `form` is the codec's. */
    hr_status (*decoder_new)(const void *form, void **decoder, hr_error *err);
    /* Consumes what it needs of `from`, writes up to `capacity` decoded bytes to `to`, and sets *got, which is 0 at the
     * call, to their number, even if it then fails. HR_OK: there may be more; HR_END: the whole file is decoded; or a
     * failure. */
    hr_status (*decode)(void *decoder, hr_codec_source *from, char *to, size_t capacity, size_t *got, hr_error *err);
    void (*decoder_free)(void *decoder);

    /* Gives *encoder. level: 1 to 9, or 0 for the codec's own choice. NULL: such files can only be read. */
    hr_status (*encoder_new)(const void *form, int level, void **encoder, hr_error *err);
    /* Encodes `size` bytes. `last`: also writes the end of the stream. */
    hr_status (*encode)(void *encoder, const void *data, size_t size, bool last, hr_codec_sink_fn *sink, void *to,
                        hr_error *err);
    void (*encoder_free)(void *encoder);

    /* The following functions may be NULL. */

    /* The number of zero bytes that were skipped as padding so far. NULL: there is no padding. */
    int64_t (*zeros)(const void *decoder);
    /* From now on, decode calls `begins` for each part of the file that can be decoded by itself. NULL: the whole file
     * is the only part. */
    void (*watch)(void *decoder, hr_codec_begin_fn *begins, void *user);
    /* Called once for a new decoder: it begins at such a part, which `made` decoded bytes precede. NULL: the decoder
     * does not count bytes. */
    void (*go_on)(void *decoder, int64_t made);
    /* The offset in the file at which the current part begins. With HR_RESYNC, the next part is searched for by the
     * codec's bid: in a regular file, from the byte after this offset. NULL: reading ends at the damage. */
    int64_t (*began)(const void *decoder);
    /* Called after decode failed with HR_DATA_LOSS, in a regular file, if there is `began`. If the current part is cut
     * and a slower decoder can get more bytes out of it, prepares to decode this part again and returns true. The
     * source is then moved back to the start of the part; decode must not give the bytes again that it gave before. */
    bool (*slow_down)(void *decoder);
    /* Called after decode refused a header at `began`. True: the next decode accepts this header although it is
     * damaged, if a body follows it. False: no header was refused here, or it was accepted this way before. */
    bool (*forgive)(void *decoder);
} hr_coding;

/* A codec: how its files are recognized, and how they are decoded and encoded. */
typedef struct hr_codec {
    hr_codec_head head;    /* HR_CODEC_HEAD */
    const char *name;      /* for people: "gzip" */
    const char *tf_name;   /* as hr_compression_named takes it: "GZIP" */
    const char *extension; /* of file names: ".gz"; NULL: none */
    /* A codec from outside has a number of its own, HR_COMPRESSION_OUTSIDE or above. Index files (.hridx) contain it,
     * so it must never change. */
    hr_compression id;
    bool frames;        /* files are written in small parts, each of which can be decoded by itself */
    bool is_one_stream; /* TensorFlow reads only the first stream of such a file, so we write only one */

    /* How certain it is that a file is of this codec, by its first 64 bytes (or all, if it has fewer). 0: it is not;
     * 1: a good guess; 2: by magic bytes; 3: by a checksum; -1: no memory to find out. The highest bid wins. */
    int (*bid)(const unsigned char *head, size_t size);
    /* False if the file cannot be of this codec, by the same bytes. */
    bool (*accepts)(const unsigned char *head, size_t size);

    const hr_coding *coding; /* NULL: the bytes are the file's own */
    const void *form;        /* passed to .coding: how this codec differs from others with the same coding */
} hr_codec;

/* From now on the library also reads and writes files of this codec: it is found by first bytes, extension, names and
 * id. The descriptors are borrowed for the life of the process. From any thread, at any time. Kind codec.registered:
 * HR_ALREADY_EXISTS if a codec has this .id, .tf_name or .extension, so also for a second call with the same codec;
 * HR_INVALID_ARGUMENT for an incomplete codec; HR_RESOURCE_EXHAUSTED if 32 are registered; HR_FAILED_PRECONDITION for
 * another version of the kit, or a struct that is too short. */
HR_API hr_status hr_codec_register(const hr_codec *codec, hr_error *err);

/* ---- for decode ---- */

/* Lends the next bytes of the file: at least `at_least` of them unless the file ends before. *size is their number.
 * They stay valid until the next call on `from`; 64 readable bytes follow. It fails if fewer than `at_least` bytes
 * could be read: *data and *size then lend these. */
HR_API hr_status hr_codec_peek(hr_codec_source *from, size_t at_least, const char **data, size_t *size, hr_error *err);
HR_API void hr_codec_consume(hr_codec_source *from, size_t size); /* at most what was lent */
HR_API int64_t hr_codec_offset(const hr_codec_source *from);      /* in the file, of the next byte */
HR_API int64_t hr_codec_end(const hr_codec_source *from);         /* in the file, after the last byte that was read */

/* The position of a decoder: byte `offset` of the file, in part `number`, after `made` decoded bytes. */
typedef struct hr_codec_place {
    const char *name, *unit; /* "gzip", "stream" */
    int64_t number, offset;
    uint64_t made;
} hr_codec_place;
/* Fails with HR_DATA_LOSS: "byte 17 (40 inflated): gzip stream 0: WHAT". Kinds: stream.corrupt, stream.checksum,
 * stream.truncated, stream.trailing_data. */
HR_API hr_status hr_codec_damaged(hr_codec_place at, const char *kind, hr_error *err, const char *what);

/* ---- for bid ---- */

/* True if the bytes are text in UTF-8: the last character may be cut, and no control characters below a blank occur but
 * tab, LF, VT, FF and CR. */
HR_API bool hr_codec_is_text(const unsigned char *head, size_t size);

#ifdef __cplusplus
}
#endif
#endif
