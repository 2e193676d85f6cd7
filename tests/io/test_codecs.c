/* Compression: both engines agree, streams in a row, padding, every cut and every flipped bit. */
#include "io/compression.h"
#include "io/codecs/members.h"
#include "io/file_window.h"
#include "tests/testing.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MAX = 150000 };

static const hr__deflate_engine *engines[2] = {&hr__deflate_by_zlib};

/* Text-like bytes: some of it repeats. */
static void make_text(char *bytes, size_t size, uint64_t key)
{
    for (size_t i = 0; i < size; i++) {
        uint64_t r = hr_random(key, i);
        size_t back = (r >> 8) % 1000 + 1;
        bytes[i] = r % 16 && i >= back && i % 50 ? bytes[i - back] : (char)('a' + r % 20);
    }
}

/* Deflates with an engine, its output cut into steps of `step` bytes. Gives the size. */
static size_t deflate_all(const hr__deflate_engine *engine, int level, const char *bytes, size_t size, size_t step,
                          unsigned char *out)
{
    void *deflate = engine->deflate_new(level);
    assert_non_null(deflate);
    hr__flow flow = {(const unsigned char *)bytes, size, out, 0};
    for (bool done = false; !done;) {
        flow.out_size = step;
        done = engine->deflate(deflate, &flow, true);
    }
    engine->deflate_free(deflate);
    return (size_t)(flow.out - out);
}

/* Inflates with an engine, input in pieces of `in_step`, output of `out_step`. Gives what came before the end, the
 * fault or the lack of input; *used: where the stream ended. */
static size_t inflate_all(const hr__deflate_engine *engine, const unsigned char *bytes, size_t size, size_t in_step,
                          size_t out_step, unsigned char *out, size_t room, hr__inflated *result, size_t *used)
{
    void *inflate = engine->inflate_new();
    assert_non_null(inflate);
    engine->inflate_reset(inflate);
    hr__flow flow = {bytes, 0, out, 0};
    unsigned char *end = out + room;
    *result = HR__INFLATE_MORE;
    for (size_t at = 0; *result == HR__INFLATE_MORE && flow.out < end;) {
        size_t held = engine->held(inflate), left = size - at;
        flow.in = bytes + at;
        flow.in_size = left < held + in_step ? left : held + in_step;
        flow.out_size = (size_t)(end - flow.out) < out_step ? (size_t)(end - flow.out) : out_step;
        const unsigned char *before = flow.out;
        bool none = flow.in_size <= held;
        *result = engine->inflate(inflate, &flow);
        at = (size_t)(flow.in - bytes);
        if (none && flow.out == before) break;
    }
    *used = (size_t)(flow.in - bytes);
    engine->inflate_free(inflate);
    return (size_t)(flow.out - out);
}

static void engines_read_each_other_in_pieces_of_any_size(void **state)
{
    (void)state;
    char *text = malloc(MAX);
    unsigned char *packed = malloc(2 * MAX + 1000), *out = malloc(MAX + 1);
    assert_non_null(text);
    assert_non_null(packed);
    assert_non_null(out);
    make_text(text, MAX, 1);
    const size_t sizes[] = {0, 1, 100, 70000, MAX}, steps[] = {1, 7, 1000, 2 * MAX + 1000};
    for (int writer = 0; writer < 2; writer++)
        for (int i = 0; i < 5; i++) {
            size_t size = deflate_all(engines[writer], 0, text, sizes[i], 64 * 1024, packed);
            packed[size] = 0xff; /* what follows is not its own */
            for (int reader = 0; reader < 2; reader++)
                for (int s = 0; s < 16; s++) {
                    hr__inflated result;
                    size_t used, step = steps[s % 4], room = steps[s / 4];
                    if (sizes[i] > 100 && step + room < 100) continue;
                    size_t got =
                        inflate_all(engines[reader], packed, size + 1, step, room, out, MAX + 1, &result, &used);
                    assert_int_equal(result, HR__INFLATE_DONE);
                    assert_int_equal(got, sizes[i]);
                    assert_memory_equal(out, text, got);
                    assert_int_equal(used, size);
                }
        }
    free(text);
    free(packed);
    free(out);
}

static void engines_agree_on_checksums(void **state)
{
    (void)state;
    char text[5000];
    make_text(text, sizeof text, 2);
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t size = 0; size < sizeof text; size += 1 + size / 3)
        for (size_t cut = 0; cut <= size; cut += 1 + cut) {
            uint32_t crc = (uint32_t)crc32(0, bytes, (uInt)size), adler = (uint32_t)adler32(1, bytes, (uInt)size);
            for (int e = 0; e < 2; e++) {
                uint32_t first = engines[e]->crc32(0, bytes, cut), sum = engines[e]->adler32(1, bytes, cut);
                assert_int_equal(engines[e]->crc32(first, bytes + cut, size - cut), crc);
                assert_int_equal(engines[e]->adler32(sum, bytes + cut, size - cut), adler);
            }
        }
}

/* A damaged stream: what both engines give is the same as far as both go, and both end. */
static void engines_agree_on_damaged_streams_as_far_as_both_go(void **state)
{
    (void)state;
    enum { SIZE = 3000 };
    char text[SIZE];
    static unsigned char packed[SIZE * 2], a[SIZE * 4], b[SIZE * 4];
    make_text(text, SIZE, 3);
    size_t size = deflate_all(&hr__deflate_by_zlib, 6, text, SIZE, SIZE * 2, packed), used;
    for (size_t i = 0; i < size * 8; i += 11) {
        hr__inflated result;
        packed[i / 8] ^= (unsigned char)(1 << i % 8);
        size_t by_zlib = inflate_all(engines[0], packed, size, size, sizeof a, a, sizeof a, &result, &used);
        size_t by_other = inflate_all(engines[1], packed, size, size, sizeof b, b, sizeof b, &result, &used);
        assert_memory_equal(a, b, by_zlib < by_other ? by_zlib : by_other);
        packed[i / 8] ^= (unsigned char)(1 << i % 8);
    }
}

/* ---- whole files ---- */

/* The next compression after `c` that this build can write; HR_COMPRESSION_AUTO after the last. */
static hr_compression codec_after(hr_compression c)
{
    for (int i = 0; i < hr__codec_count(); i++) {
        const hr_codec *codec = hr__codec_at(i);
        void *encoder;
        if (codec->id <= c || !codec->coding) continue;
        if (codec->coding->encoder_new(codec->form, 0, &encoder, NULL) == HR_UNIMPLEMENTED) continue;
        codec->coding->encoder_free(encoder);
        return codec->id;
    }
    return HR_COMPRESSION_AUTO;
}

#define FOR_EACH_CODEC(c) for (hr_compression c = codec_after(HR_NONE); c; c = codec_after(c))

/* Reads a file to its end: gives the bytes before the end or the error. */
static hr_status read_all(const char *path, hr_compression compression, char *out, size_t *size, hr_error *err)
{
    hr_input *in;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = compression};
    const char *data;
    size_t got;
    *size = 0;
    HR_TRY(hr_input_open_with(path, &opts, &in, err));
    hr_status status;
    while ((status = hr_input_peek(in, 1, &data, &got, err)) == HR_OK && got > 0) {
        memcpy(out + *size, data, got);
        *size += got;
        hr_input_consume(in, got);
    }
    hr_input_free(in);
    return status;
}

static size_t pack(hr_compression compression, const char *text, size_t size, char *out)
{
    hr_output *file;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression, .no_sync = true};
    assert_ok(hr_output_open_with("packed", &opts, &file, &err), &err);
    assert_ok(hr_output_write(file, text, size, &err), &err);
    assert_ok(hr_output_commit(file, &err), &err);
    size_t packed;
    char *bytes = read_whole_file("packed", &packed);
    memcpy(out, bytes, packed);
    free(bytes);
    return packed;
}

static void streams_in_a_row_are_one_file(void **state)
{
    (void)state;
    char text[2000], file[8000], out[8000];
    make_text(text, sizeof text, 4);
    FOR_EACH_CODEC(c)
    {
        size_t size = 0, got;
        hr_error err;
        size += pack(c, text, 0, file + size);
        size += pack(c, text, 700, file + size);
        size += pack(c, text, 0, file + size);
        size += pack(c, text + 700, 1300, file + size);
        memset(file + size, 0, 100);
        const size_t padding = hr__codec_of(c)->coding->zeros ? 100 : 0;
        for (size_t zeros = 0; zeros <= padding; zeros += 20) {
            write_file("f", file, size + zeros);
            assert_ok(read_all("f", c, out, &got, &err), &err);
            assert_int_equal(got, sizeof text);
            assert_memory_equal(out, text, got);
            assert_ok(read_all("f", HR_COMPRESSION_AUTO, out, &got, &err), &err);
            assert_int_equal(got, sizeof text);
        }
        file[size + 50] = 1;
        write_file("f", file, size + 100);
        assert_status(read_all("f", c, out, &got, &err), HR_DATA_LOSS);
        assert_string_equal(err.kind, "stream.trailing_data");
        assert_int_equal(err.compressed_offset, size);
        assert_int_equal(err.offset, sizeof text);
        assert_int_equal(got, sizeof text);
    }
}

static void a_file_of_another_compression_is_refused(void **state)
{
    (void)state;
    char text[2000], file[4000], out[4000];
    hr_error err;
    size_t got;
    make_text(text, sizeof text, 9);
    FOR_EACH_CODEC(written)
    {
        write_file("f", file, pack(written, text, sizeof text, file));
        for (int i = 0; i < hr__codec_count(); i++) {
            const hr_compression asked = hr__codec_at(i)->id;
            if (asked == written) continue;
            assert_status(read_all("f", asked, out, &got, &err), HR_DATA_LOSS);
            assert_string_equal(err.kind, "compression.wrong");
        }
    }
    write_file("f", text, sizeof text);
    FOR_EACH_CODEC(asked) assert_status(read_all("f", asked, out, &got, &err), HR_DATA_LOSS);
}

static void every_cut_and_every_flipped_bit_is_noticed_or_harmless(void **state)
{
    (void)state;
    char text[150], file[1000], out[2000];
    make_text(text, sizeof text, 5);
    FOR_EACH_CODEC(c)
    {
        size_t size = pack(c, text, sizeof text, file), got;
        hr_error err;
        for (size_t cut = 1; cut < size; cut++) {
            write_file("f", file, cut);
            assert_status(read_all("f", c, out, &got, &err), HR_DATA_LOSS);
            assert_string_equal(err.kind, "stream.truncated");
            assert_int_equal(err.compressed_offset, cut);
            assert_int_equal(err.offset, got);
            assert_memory_equal(out, text, got);
        }
        for (size_t bit = 0; bit < 8 * size; bit++) {
            file[bit / 8] = (char)(file[bit / 8] ^ 1 << bit % 8);
            write_file("f", file, size);
            if (read_all("f", c, out, &got, &err) == HR_OK) {
                assert_less(bit / 8, size - (c == HR_GZIP ? 8 : 4)); /* the trailer is looked at */
                assert_int_equal(got, sizeof text);
                assert_memory_equal(out, text, got);
            } else {
                assert_status(err.code, HR_DATA_LOSS);
                assert_int_equal(err.offset, strcmp(err.kind, "compression.wrong") == 0 ? 0 : got);
                assert_in_range(err.compressed_offset, 0, size);
            }
            file[bit / 8] = (char)(file[bit / 8] ^ 1 << bit % 8);
        }
    }
}

static void a_long_peek_into_a_cut_stream_lends_the_good_bytes_with_the_error(void **state)
{
    (void)state;
    char text[2000], file[4000];
    make_text(text, sizeof text, 7);
    size_t size = pack(HR_GZIP, text, sizeof text, file), got;
    hr_input *in;
    hr_error err;
    const char *data;
    write_file("f.gz", file, size - 3);
    assert_ok(hr_input_open_with("f.gz", NULL, &in, &err), &err);
    assert_status(hr_input_peek(in, 3000, &data, &got, &err), HR_DATA_LOSS);
    assert_int_equal(got, sizeof text);
    assert_memory_equal(data, text, got);
    assert_ok(hr_input_peek(in, 2000, &data, &got, &err), &err);
    hr_input_consume(in, 2000);
    assert_status(hr_input_peek(in, 1, &data, &got, &err), HR_DATA_LOSS);
    assert_int_equal(got, 0);
    hr_input_free(in);
}

static void every_level_can_be_read_and_zlib_reads_what_is_written(void **state)
{
    (void)state;
    char text[20000], out[20000];
    make_text(text, sizeof text, 6);
    for (int level = 0; level <= 9; level++) {
        hr_output *file;
        hr_error err;
        size_t got;
        const hr_output_opts opts = {.struct_size = sizeof opts, .level = level, .no_sync = true};
        assert_ok(hr_output_open_with("f.gz", &opts, &file, &err), &err);
        for (size_t at = 0; at < sizeof text; at += 1000) assert_ok(hr_output_write(file, text + at, 1000, &err), &err);
        assert_ok(hr_output_commit(file, &err), &err);
        assert_ok(read_all("f.gz", HR_GZIP, out, &got, &err), &err);
        assert_int_equal(got, sizeof text);
        assert_memory_equal(out, text, got);
        gzFile gz = gzopen("f.gz", "rb");
        assert_int_equal(gzread(gz, out, sizeof out), sizeof text);
        assert_int_equal(gzclose(gz), Z_OK);
        assert_memory_equal(out, text, sizeof text);
    }
}

/* Many frames, at every level: all of it comes back, and decoding can begin at any of them. */
typedef struct begins {
    int64_t offset[64], made[64];
    int count;
} begins;

static void note_begin(void *user, int64_t offset, int64_t made)
{
    begins *b = user;
    b->offset[b->count] = offset;
    b->made[b->count++] = made;
}

typedef struct bytes {
    const char *data;
    size_t size, at, piece; /* piece: the most to give at once; 0: whatever there is room for */
} bytes;

static hr_status give(void *source, char *to, size_t room, size_t *got, hr_error *err)
{
    (void)err;
    bytes *b = source;
    if (b->piece > 0 && b->piece < room) room = b->piece;
    *got = b->size - b->at < room ? b->size - b->at : room;
    memcpy(to, b->data + b->at, *got);
    b->at += *got;
    return *got > 0 ? HR_OK : HR_END;
}

static size_t decode_from(const hr_codec *codec, const char *file, size_t size, int64_t offset, int64_t made,
                          begins *seen, char *out, size_t room)
{
    void *decoder;
    hr_error err;
    size_t got = 0;
    hr_status st = HR_OK;
    bytes b = {file, size, (size_t)offset, 0};
    hr__window raw = {.fill = give, .source = &b, .piece = 1000, .offset = offset};
    assert_ok(codec->coding->decoder_new(codec->form, &decoder, &err), &err);
    if (seen) codec->coding->watch(decoder, note_begin, seen);
    codec->coding->go_on(decoder, made);
    while (st == HR_OK && got < room) {
        size_t some = 0, step = room - got < 777 ? room - got : 777;
        st = codec->coding->decode(decoder, &raw, out + got, step, &some, &err);
        got += some;
    }
    assert_status(st, HR_END);
    codec->coding->decoder_free(decoder);
    hr__window_clear(&raw);
    return got;
}

/* What a file of these bytes gives by an engine, in pieces of a size and steps of one: bytes, and how it ends. */
static size_t read_in_pieces(const hr__deflate_engine *engine, const hr__member_form *form, const char *file,
                             size_t size, size_t piece, size_t step, char *out, size_t room, hr_error *err)
{
    void *decoder;
    size_t got = 0;
    hr_status st = HR_OK;
    bytes b = {file, size, 0, piece};
    hr__window raw = {.fill = give, .source = &b, .piece = piece};
    memset(err, 0, sizeof *err);
    assert_ok(hr__members_decoder_new(form, engine, &decoder, err), err);
    while (st == HR_OK && got < room) {
        size_t some = 0;
        st = hr__members_decode(decoder, &raw, out + got, room - got < step ? room - got : step, &some, err);
        got += some;
    }
    hr__members_decoder_free(decoder);
    hr__window_clear(&raw);
    return got;
}

static size_t read_by(const hr__deflate_engine *engine, const hr__member_form *form, const char *file, size_t size,
                      char *out, size_t room, hr_error *err)
{
    return read_in_pieces(engine, form, file, size, 4096, room, out, room, err);
}

/* Every cut, and every bit: both engines give the same bytes and the same error, but where zlib looks closer: it
 * refuses a block whose code is not complete, ISA-L decodes by it until a symbol is none or the checksum tells. */
static void engines_give_the_same_of_damaged_files(void **state)
{
    (void)state;
    enum { SIZE = 600 };
    static char text[SIZE], file[4 * SIZE], a[8 * SIZE], b[8 * SIZE];
    const hr__member_form *const forms[] = {&hr__gzip_form, &hr__zlib_form};
    make_text(text, SIZE, 10);
    size_t closer = 0;
    for (int f = 0; f < 2; f++) {
        const size_t size = pack(f ? HR_ZLIB : HR_GZIP, text, SIZE, file);
        for (size_t i = 0; i < 9 * size; i++) {
            hr_error by_zlib, by_other;
            const size_t cut = i < size ? i : size, bit = i < size ? 0 : i - size, flip = i >= size;
            file[bit / 8] = (char)(file[bit / 8] ^ flip << bit % 8);
            const size_t got = read_by(engines[0], forms[f], file, cut, a, sizeof a, &by_zlib);
            const size_t by_isal = read_by(engines[1], forms[f], file, cut, b, sizeof b, &by_other);
            assert_int_equal(by_zlib.code, by_other.code);
            assert_at_least(by_isal, got);
            assert_memory_equal(a, b, got);
            closer += by_isal > got;
            if (by_isal == got && by_zlib.code != HR_OK) assert_string_equal(by_zlib.kind, by_other.kind);
            file[bit / 8] = (char)(file[bit / 8] ^ flip << bit % 8);
        }
        assert_less(closer, size / 4);
    }
}

/* Digits: their codes are so short that a fast engine decodes several at a time. */
static void make_digits(char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) bytes[i] = (char)('0' + hr_random(5, i) % 7);
}

static void a_cut_file_gives_all_that_zlib_makes_of_it(void **state)
{
    (void)state;
    enum { SIZE = 40 * 1000 };
    static char text[SIZE], out[SIZE], by_zlib[SIZE], file[2 * SIZE];
    make_digits(text, SIZE);
    for (int f = 0; f < 2; f++) {
        const size_t size = pack(f ? HR_ZLIB : HR_GZIP, text, SIZE, file);
        for (size_t cut = size / 2; cut < size / 2 + 400; cut++) {
            size_t got;
            hr_error err, expected;
            write_file("cut", file, cut);
            assert_status(read_all("cut", f ? HR_ZLIB : HR_GZIP, out, &got, &err), HR_DATA_LOSS);
            assert_int_equal(
                got, read_by(engines[0], f ? &hr__zlib_form : &hr__gzip_form, file, cut, by_zlib, SIZE, &expected));
            assert_memory_equal(out, text, got);
            assert_string_equal(err.kind, "stream.truncated");
            assert_int_equal(err.offset, got);
            assert_int_equal(err.compressed_offset, cut);
        }
    }
}

/* Noise after a gzip header, as a block of the fixed code, which any bits are symbols of: soon one is none, or reaches
 * back to before the first byte. */
static size_t make_noise(char *file, uint64_t key)
{
    static const char header[10] = "\x1f\x8b\x08";
    const size_t size = sizeof header + 1 + hr_random(key, 0) % 400;
    memcpy(file, header, sizeof header);
    for (size_t i = sizeof header; i < size; i++) file[i] = (char)hr_random(key, i);
    file[sizeof header] = (char)((file[sizeof header] & ~7) | 3); /* the last block, of the fixed code */
    return size;
}

static void what_comes_before_an_error_is_the_same_in_pieces_of_any_size(void **state)
{
    (void)state;
    static char file[512], a[1 << 17], b[1 << 17];
    const size_t pieces[] = {1, 20, 100, 4096}, steps[] = {1, 300, sizeof b};
    for (uint64_t key = 0; key < 100; key++) {
        const size_t size = make_noise(file, key);
        for (int e = 0; e < 2; e++) {
            hr_error by_byte, err;
            const size_t got =
                read_in_pieces(engines[0], &hr__gzip_form, file, size, 1, sizeof a, a, sizeof a, &by_byte);
            for (int i = 0; i < 12; i++) {
                const size_t piece = pieces[i % 4], step = steps[i / 4];
                memset(b, 0xee, got);
                assert_int_equal(read_in_pieces(engines[e], &hr__gzip_form, file, size, piece, step, b, sizeof b, &err),
                                 got);
                assert_memory_equal(b, a, got);
                assert_string_equal(err.kind, by_byte.kind);
                assert_int_equal(err.offset, by_byte.offset);
            }
        }
    }
}

/* 272 bytes are promised, and the one block, the last, is empty: libzstd's streams take that for a whole frame. */
static void a_frame_that_says_more_than_it_holds_is_refused(void **state)
{
    (void)state;
    static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x40, 0x14, 0x10, 0, 1, 0, 0};
    write_file("says.zst", frame, sizeof frame);
    hr_input *in;
    hr_error err;
    const char *data;
    size_t size;
    const hr_status opened = hr_input_open_with("says.zst", NULL, &in, &err);
    if (opened == HR_UNIMPLEMENTED) skip(); /* built without libzstd */
    assert_ok(opened, &err);
    assert_status(hr_input_peek(in, 1, &data, &size, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "stream.corrupt");
    hr_input_free(in);
}

/* How many bytes come out of a file before the damage that it ends in, whatever the buffer. */
static size_t read_damaged(const char *path, char *out, hr_error *err)
{
    static const size_t buffers[] = {0, 300, 4096, 1 << 20};
    size_t first = 0;
    for (int i = 0; i < 4; i++) {
        hr_input *in;
        const hr_input_opts opts = {.struct_size = sizeof opts, .buffer_size = buffers[i]};
        const hr_error before = *err;
        const char *data;
        size_t size, got = 0;
        assert_ok(hr_input_open_with(path, &opts, &in, err), err);
        while (hr_input_peek(in, 1, &data, &size, err) == HR_OK) {
            assert_more(size, 0);
            memcpy(out + got, data, size);
            got += size;
            hr_input_consume(in, size);
        }
        hr_input_free(in);
        if (i == 0) first = got;
        assert_int_equal(got, first);
        assert_int_equal(err->offset, got);
        if (i > 0) assert_string_equal(err->text, before.text);
    }
    return first;
}

/* A bit is wrong somewhere in the second of our frames, maybe in its checksum: it may decode to anything. */
static void nothing_of_a_damaged_frame_is_handed_out(void **state)
{
    (void)state;
    enum { FRAME = 256 * 1024, SIZE = 3 * FRAME };
    char *text = malloc(SIZE), *out = malloc(SIZE), *file = malloc(2 * (size_t)SIZE);
    assert_non_null(text);
    assert_non_null(out);
    assert_non_null(file);
    make_text(text, SIZE, 12);
    FOR_EACH_CODEC(c)
    {
        if (!hr__codec_of(c)->frames) continue;
        const size_t size = pack(c, text, SIZE, file);
        for (size_t at = size / 5 * 2; at < size / 5 * 3; at += size / 40) {
            hr_error err = {0};
            file[at] ^= 1;
            write_file("damaged", file, size);
            assert_int_equal(read_damaged("damaged", out, &err), FRAME);
            assert_memory_equal(out, text, FRAME);
            file[at] ^= 1;
        }
    }
    free(text);
    free(out);
    free(file);
}

/* A frame as others write it, which does not say how much it holds: a block as it is, and after it one that cannot
 * be. */
static void blocks_before_a_fault_come_out(void **state)
{
    (void)state;
    enum { HEAD = 11, BLOCK = 60000 };
    static const unsigned char head[HEAD] = {0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0x60, 0xea, 0x00, 0x80};
    static char text[BLOCK], out[BLOCK], file[HEAD + BLOCK + 4];
    make_text(text, BLOCK, 13);
    memcpy(file, head, HEAD);
    memcpy(file + HEAD, text, BLOCK);
    memset(file + HEAD + BLOCK, 0x7f, 4);
    write_file("others.lz4", file, sizeof file);
    hr_error err = {0};
    assert_int_equal(read_damaged("others.lz4", out, &err), BLOCK);
    assert_memory_equal(out, text, BLOCK);
    assert_string_equal(err.kind, "stream.corrupt");
    assert_int_equal(err.compressed_offset, HEAD + BLOCK);
}

static void frames_of_every_level_can_be_begun_at(void **state)
{
    (void)state;
    enum { SIZE = 1000 * 1000 };
    char *text = malloc(SIZE), *out = malloc(SIZE + 1);
    assert_non_null(text);
    assert_non_null(out);
    make_text(text, SIZE, 8);
    FOR_EACH_CODEC(c)
    {
        if (!hr__codec_of(c)->coding->watch) continue; /* its files are one part */
        for (int level = 0; level <= 9; level += 3) {
            const hr_output_opts opts = {.struct_size = sizeof opts, .compression = c, .level = level, .no_sync = true};
            hr_output *o;
            hr_error err;
            assert_ok(hr_output_open_with("many", &opts, &o, &err), &err);
            for (size_t at = 0; at < SIZE; at += 40000) assert_ok(hr_output_write(o, text + at, 40000, &err), &err);
            assert_ok(hr_output_commit(o, &err), &err);
            size_t size;
            char *file = read_whole_file("many", &size);
            begins seen = {.count = 0};
            assert_int_equal(decode_from(hr__codec_of(c), file, size, 0, 0, &seen, out, SIZE + 1), SIZE);
            assert_memory_equal(out, text, SIZE);
            assert_int_equal(seen.count, hr__codec_of(c)->frames ? 4 : 1);
            for (int i = 0; i < seen.count; i++) {
                const size_t left = SIZE - (size_t)seen.made[i];
                assert_int_equal(
                    decode_from(hr__codec_of(c), file, size, seen.offset[i], seen.made[i], NULL, out, SIZE + 1), left);
                assert_memory_equal(out, text + seen.made[i], left);
            }
            free(file);
        }
    }
    free(text);
    free(out);
}

static void names_of_compressions_are_tensorflows_exactly(void **state)
{
    (void)state;
    hr_compression c;
    for (int i = 0; i < hr__codec_count(); i++) {
        const hr_compression id = hr__codec_at(i)->id;
        assert_true(hr_compression_named(hr_compression_name(id), &c));
        assert_int_equal(c, id);
        assert_ptr_equal(hr__codec_of(id), hr__codec_at(i));
    }
    const char *const wrong[] = {"gzip", "NONE", "GZIP ", "SNAPPY", "AUTO"};
    for (int i = 0; i < 5; i++) assert_false(hr_compression_named(wrong[i], &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_read_each_other_in_pieces_of_any_size),
        cmocka_unit_test(engines_agree_on_checksums),
        cmocka_unit_test(engines_agree_on_damaged_streams_as_far_as_both_go),
        cmocka_unit_test(streams_in_a_row_are_one_file),
        cmocka_unit_test(a_file_of_another_compression_is_refused),
        cmocka_unit_test(engines_give_the_same_of_damaged_files),
        cmocka_unit_test(a_cut_file_gives_all_that_zlib_makes_of_it),
        cmocka_unit_test(what_comes_before_an_error_is_the_same_in_pieces_of_any_size),
        cmocka_unit_test(a_frame_that_says_more_than_it_holds_is_refused),
        cmocka_unit_test(nothing_of_a_damaged_frame_is_handed_out),
        cmocka_unit_test(blocks_before_a_fault_come_out),
        cmocka_unit_test(frames_of_every_level_can_be_begun_at),
        cmocka_unit_test(every_cut_and_every_flipped_bit_is_noticed_or_harmless),
        cmocka_unit_test(a_long_peek_into_a_cut_stream_lends_the_good_bytes_with_the_error),
        cmocka_unit_test(every_level_can_be_read_and_zlib_reads_what_is_written),
        cmocka_unit_test(names_of_compressions_are_tensorflows_exactly),
    };
    engines[1] = hr__deflate_fastest;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
