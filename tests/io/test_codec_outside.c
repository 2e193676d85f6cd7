/* A codec from outside the library, made of <headrace/codec.h> alone, takes part in everything: detection, reading,
 * writing, records, damage; and what breaks the kit's contract is refused. */
#include "examples/run_length_codec.h"
#include "tests/testing.h"

#include <stdio.h>
#include <string.h>

enum { RECORDS = 2000, SIZE = 300 };

static void fill_record(char *data, int64_t i) { memset(data, (int)(i % 7), SIZE); }

static void write_records(const char *path, hr_compression compression)
{
    hr_record_writer *w;
    hr_error err;
    char data[SIZE];
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression, .no_sync = true};
    assert_ok(hr_record_writer_open(path, &opts, &w, &err), &err);
    for (int64_t i = 0; i < RECORDS; i++) {
        fill_record(data, i);
        assert_ok(hr_record_write(w, data, sizeof data, &err), &err);
    }
    assert_ok(hr_record_writer_commit(w, &err), &err);
}

/* How many records come, and how it ends. */
static int64_t read_records(const char *path, const hr_input_opts *opts, hr_error *err)
{
    hr_record_reader *r;
    hr_view record;
    char data[SIZE];
    int64_t count = 0;
    hr_status st = hr_record_reader_open(path, opts, &r, err);
    if (st != HR_OK) return -1;
    while ((st = hr_record_read(r, &record, err)) == HR_OK) {
        fill_record(data, count++);
        assert_int_equal(record.size, SIZE);
        assert_memory_equal(record.data, data, SIZE);
    }
    if (st == HR_END) err->code = HR_END;
    hr_record_reader_free(r);
    return count;
}

static char *contents(const char *path, size_t *size)
{
    static char bytes[RECORDS * 64];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    *size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return bytes;
}

static void is_found_by_bytes_extension_name_and_id(void **state)
{
    (void)state;
    hr_error err;
    hr_compression named;
    const hr_input_opts asked = {.struct_size = sizeof asked, .compression = (hr_compression)RUN_LENGTH};
    const hr_input_opts other = {.struct_size = sizeof other, .compression = HR_GZIP};
    write_records("a.rle", HR_COMPRESSION_AUTO);
    write_records("plain_name", (hr_compression)RUN_LENGTH);
    assert_int_equal(read_records("a.rle", NULL, &err), RECORDS);
    assert_int_equal(err.code, HR_END);
    assert_int_equal(read_records("plain_name", NULL, &err), RECORDS); /* by its first bytes */
    assert_int_equal(read_records("plain_name", &asked, &err), RECORDS);
    assert_true(hr_compression_named("RLE", &named));
    assert_int_equal(named, RUN_LENGTH);
    assert_string_equal(hr_compression_name((hr_compression)RUN_LENGTH), "RLE");
    assert_int_equal(read_records("a.rle", &other, &err), -1);
    assert_string_equal(err.kind, "compression.wrong");
}

static void an_empty_file_is_one_stream_without_bytes(void **state)
{
    (void)state;
    hr_output *out;
    hr_input *in;
    hr_error err;
    const char *data;
    size_t size;
    const hr_output_opts opts = {.struct_size = sizeof opts, .no_sync = true};
    assert_ok(hr_output_open_with("e.rle", &opts, &out, &err), &err);
    assert_ok(hr_output_commit(out, &err), &err);
    contents("e.rle", &size);
    assert_int_equal(size, 9);
    assert_ok(hr_input_open_with("e.rle", NULL, &in, &err), &err);
    assert_ok(hr_input_peek(in, 1, &data, &size, &err), &err);
    assert_int_equal(size, 0);
    hr_input_free(in);
}

static void going_back_decodes_from_the_front(void **state)
{
    (void)state;
    hr_input *in;
    hr_error err;
    const char *data;
    size_t size;
    write_records("b.rle", HR_COMPRESSION_AUTO);
    const hr_input_opts opts = {.struct_size = sizeof opts, .buffer_size = 4096};
    assert_ok(hr_input_open_with("b.rle", &opts, &in, &err), &err);
    const int64_t last = (int64_t)(RECORDS - 1) * (SIZE + 16), third = 3 * (SIZE + 16);
    assert_ok(hr_input_seek(in, last + 12, &err), &err);
    assert_ok(hr_input_peek(in, 1, &data, &size, &err), &err);
    assert_int_equal(data[0], (RECORDS - 1) % 7);
    assert_ok(hr_input_seek(in, third + 12, &err), &err);
    assert_ok(hr_input_peek(in, 1, &data, &size, &err), &err);
    assert_int_equal(data[0], 3);
    hr_input_free(in);
}

/* Whatever byte is wrong, or wherever the file is cut: an error, after good records alone. */
static void damage_is_told_after_all_good_records(void **state)
{
    (void)state;
    hr_error err;
    size_t size;
    write_records("c.rle", HR_COMPRESSION_AUTO);
    char *bytes = contents("c.rle", &size);
    static char copy[RECORDS * 64];
    memcpy(copy, bytes, size);
    for (size_t cut = 5; cut < size; cut += size / 37) {
        write_file("cut.rle", copy, cut);
        const int64_t count = read_records("cut.rle", NULL, &err);
        assert_in_range(count, 0, RECORDS);
        assert_int_equal(err.code, HR_DATA_LOSS);
        assert_string_equal(err.kind, "stream.truncated");
    }
    copy[size - 1] ^= 1;
    write_file("sum.rle", copy, size);
    assert_int_equal(read_records("sum.rle", NULL, &err), RECORDS);
    assert_string_equal(err.kind, "stream.checksum");
    copy[size - 1] ^= 1;
    copy[size] = 'x';
    write_file("more.rle", copy, size + 1);
    assert_int_equal(read_records("more.rle", NULL, &err), RECORDS);
    assert_string_equal(err.kind, "stream.trailing_data");
}

/* ---- the contract ---- */

static int no_bid(const unsigned char *head, size_t size)
{
    (void)head, (void)size;
    return 0;
}

static bool accepts_all(const unsigned char *head, size_t size)
{
    (void)head, (void)size;
    return true;
}

static hr_status open_none(const void *form, void **decoder, hr_error *err)
{
    (void)form, (void)err;
    *decoder = NULL;
    return HR_OK;
}

static hr_status decode_none(void *decoder, hr_codec_source *from, char *to, size_t capacity, size_t *got,
                             hr_error *err)
{
    (void)decoder, (void)from, (void)to, (void)capacity, (void)got, (void)err;
    return HR_END;
}

static void free_none(void *decoder) { (void)decoder; }

/* A sound codec that only reads; static, as registered ones live on. */
static hr_coding reading = {.head = HR_CODING_HEAD,
                            .name = "nothing",
                            .decoder_new = open_none,
                            .decode = decode_none,
                            .decoder_free = free_none};

static hr_codec reading_codec(const char *tf_name, const char *extension, int id)
{
    return (hr_codec){.head = HR_CODEC_HEAD,
                      .name = "nothing",
                      .tf_name = tf_name,
                      .extension = extension,
                      .id = (hr_compression)id,
                      .bid = no_bid,
                      .accepts = accepts_all,
                      .coding = &reading};
}

static void assert_refused_codec(hr_codec codec, hr_status status)
{
    static hr_codec kept[16];
    static int count;
    hr_error err;
    kept[count] = codec;
    assert_int_equal(hr_codec_register(&kept[count++], &err), status);
    assert_string_equal(err.kind, "codec.registered");
}

static void broken_contracts_are_refused(void **state)
{
    (void)state;
    hr_codec codec;
    assert_refused_codec(reading_codec("RLE", ".n", 90), HR_ALREADY_EXISTS);
    assert_refused_codec(reading_codec("GZIP", ".n", 90), HR_ALREADY_EXISTS);
    assert_refused_codec(reading_codec("NONE2", ".gz", 90), HR_ALREADY_EXISTS);
    assert_refused_codec(reading_codec("NONE2", ".n", RUN_LENGTH), HR_ALREADY_EXISTS);
    assert_refused_codec(reading_codec("NONE2", ".n", HR_GZIP), HR_INVALID_ARGUMENT);
    codec = reading_codec("NONE2", ".n", 90);
    codec.bid = NULL;
    assert_refused_codec(codec, HR_INVALID_ARGUMENT);
    codec = reading_codec("NONE2", ".n", 90);
    codec.coding = NULL;
    assert_refused_codec(codec, HR_INVALID_ARGUMENT);
    codec = reading_codec("NONE2", ".n", 90);
    codec.head.abi_version = 99;
    assert_refused_codec(codec, HR_FAILED_PRECONDITION);
    codec = reading_codec("NONE2", ".n", 90);
    codec.head.struct_size = 16;
    assert_refused_codec(codec, HR_FAILED_PRECONDITION);
}

static void descriptors_of_another_size_load(void **state)
{
    (void)state;
    static struct {
        hr_codec codec;
        void *further;
    } newer;
    hr_error err;
    hr_output *out;
    newer.codec = reading_codec("NEWER", ".newer", 91);
    newer.codec.head.struct_size = sizeof newer;
    newer.further = &newer;
    assert_int_equal(hr_codec_register(&newer.codec, &err), HR_FAILED_PRECONDITION);
    assert_int_equal(hr_codec_register(NULL, &err), HR_FAILED_PRECONDITION);
    newer.further = NULL;
    assert_ok(hr_codec_register(&newer.codec, &err), &err);
    assert_int_equal(read_records("missing.newer", NULL, &err), -1);

    static hr_coding older; /* without the functions that may be missing, and other bytes in their place */
    static hr_codec codec;
    memset(&older, 0xee, sizeof older);
    memcpy(&older, &reading, offsetof(hr_coding, zeros));
    older.head.struct_size = offsetof(hr_coding, zeros);
    codec = reading_codec("OLDER", ".older", 92);
    codec.coding = &older;
    assert_ok(hr_codec_register(&codec, &err), &err);
    write_file("f.older", "anything", 8);
    assert_int_equal(read_records("f.older", NULL, &err), 0);
    assert_int_equal(err.code, HR_END);
    assert_int_equal(hr_output_open_with("g.older", NULL, &out, &err), HR_UNIMPLEMENTED);
    assert_string_equal(err.kind, "compression.lacking");
}

/* ---- codecs that lie: each in one way ---- */

typedef enum lie {
    HONEST,
    TOO_MANY,
    NO_PROGRESS,
    NO_STATUS,
    NO_ERROR,
    WAITS,
    CONSUMES_ALL,
    NO_ENCODER,
    HALF_WRITTEN
} lie;
static lie told;

static hr_status lying_status(void)
{
    return told == NO_STATUS ? (hr_status)-99 : told == WAITS ? HR_WAIT : told == NO_ERROR ? HR_UNAVAILABLE : HR_OK;
}

static hr_status decode_lying(void *decoder, hr_codec_source *from, char *to, size_t capacity, size_t *got,
                              hr_error *err)
{
    const char *data;
    size_t size;
    (void)decoder;
    if (told == NO_PROGRESS) return HR_OK;
    if (told == TOO_MANY) *got = capacity + 1;
    if (told == TOO_MANY || lying_status() != HR_OK) return lying_status();
    HR_TRY(hr_codec_peek(from, 1, &data, &size, err));
    if (size == 0) return HR_END;
    *got = size < capacity ? size : capacity;
    memcpy(to, data, *got);
    hr_codec_consume(from, told == CONSUMES_ALL ? SIZE_MAX : *got);
    return HR_OK;
}

static hr_status encode_lying(void *encoder, const void *data, size_t size, bool last, hr_codec_sink_fn *sink, void *to,
                              hr_error *err)
{
    (void)encoder, (void)last;
    if (lying_status() != HR_OK) return lying_status();
    return size > 0 ? sink(to, data, told == HALF_WRITTEN ? size / 2 : size, err) : HR_OK;
}

static hr_status encoder_lying(const void *form, int level, void **encoder, hr_error *err)
{
    (void)form, (void)level, (void)err;
    *encoder = NULL; /* it has nothing to remember */
    return told == NO_ENCODER ? HR_UNAVAILABLE : HR_OK;
}

static hr_coding lying = {.head = HR_CODING_HEAD,
                          .name = "lying",
                          .decoder_new = open_none,
                          .decode = decode_lying,
                          .decoder_free = free_none,
                          .encoder_new = encoder_lying,
                          .encode = encode_lying,
                          .encoder_free = free_none};

static void assert_codec_failed(hr_status st, hr_status expected, const hr_error *err)
{
    assert_int_equal(st, expected);
    assert_int_equal(err->code, expected);
    assert_string_equal(err->kind, "codec.failed");
    assert_non_null(strstr(err->text, "lying"));
}

static hr_status read_lying(lie how, hr_error *err)
{
    hr_input *in;
    const char *data;
    size_t size;
    memset(err, 0, sizeof *err);
    assert_ok(hr_input_open_with("f.lying", NULL, &in, err), err);
    told = how;
    hr_status st = hr_input_peek(in, 1, &data, &size, err);
    told = HONEST;
    hr_input_free(in);
    return st;
}

static hr_status write_lying(lie how, hr_error *err)
{
    hr_output *out;
    memset(err, 0, sizeof *err);
    told = how;
    const hr_output_opts opts = {.struct_size = sizeof opts, .no_sync = true};
    hr_status st = hr_output_open_with("g.lying", &opts, &out, err);
    if (st == HR_OK) {
        (void)hr_output_write(out, "bytes", 5, NULL);
        st = hr_output_commit(out, err);
    }
    told = HONEST;
    return st;
}

static void a_codec_that_lies_is_an_error(void **state)
{
    (void)state;
    static hr_codec codec;
    hr_error err;
    codec = reading_codec("LYING", ".lying", 93);
    codec.name = "lying";
    codec.coding = &lying;
    assert_ok(hr_codec_register(&codec, &err), &err);
    write_file("f.lying", "anything", 8);
    assert_codec_failed(read_lying(TOO_MANY, &err), HR_INTERNAL, &err);
    assert_codec_failed(read_lying(NO_PROGRESS, &err), HR_INTERNAL, &err);
    assert_codec_failed(read_lying(NO_STATUS, &err), HR_INTERNAL, &err);
    assert_codec_failed(read_lying(WAITS, &err), HR_INTERNAL, &err);
    assert_codec_failed(read_lying(NO_ERROR, &err), HR_UNAVAILABLE, &err);
    assert_ok(read_lying(CONSUMES_ALL, &err), &err);
    assert_codec_failed(write_lying(NO_STATUS, &err), HR_INTERNAL, &err);
    assert_codec_failed(write_lying(WAITS, &err), HR_INTERNAL, &err);
    assert_codec_failed(write_lying(NO_ERROR, &err), HR_UNAVAILABLE, &err);
    assert_codec_failed(write_lying(NO_ENCODER, &err), HR_UNAVAILABLE, &err);
    assert_int_equal(hr_path_size("g.lying"), -1);
}

/* Its bytes are not taken for the file's own: neither written past it, nor looked for at their place in the file. */
static void a_codec_without_memory_of_its_own_works(void **state)
{
    (void)state;
    hr_input *in;
    hr_error err;
    size_t size;
    assert_ok(write_lying(HALF_WRITTEN, &err), &err);
    contents("g.lying", &size);
    assert_int_equal(size, 2); /* it went through the codec */
    write_file("f.lying", "anything", 8);
    assert_ok(hr_input_open_with("f.lying", NULL, &in, &err), &err);
    assert_int_equal(hr_input_compressed_offset(in), 0);
    hr_input_free(in);
}

static int register_it(void **state)
{
    (void)state;
    hr_error err;
    assert_ok(run_length_register(&err), &err);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_found_by_bytes_extension_name_and_id),
        cmocka_unit_test(an_empty_file_is_one_stream_without_bytes),
        cmocka_unit_test(going_back_decodes_from_the_front),
        cmocka_unit_test(damage_is_told_after_all_good_records),
        cmocka_unit_test(broken_contracts_are_refused),
        cmocka_unit_test(descriptors_of_another_size_load),
        cmocka_unit_test(a_codec_that_lies_is_an_error),
        cmocka_unit_test(a_codec_without_memory_of_its_own_works),
    };
    return cmocka_run_group_tests(tests, register_it, NULL);
}
