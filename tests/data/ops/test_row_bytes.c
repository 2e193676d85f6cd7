/* row_bytes: the functions of tf.io on strings of rows, before and after batch. */
#include "tests/data/strings.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ROWS = 90 };

/* Rows "raw" of 0 to 3 int32, and "n", their number; each on one piece of memory. */
static hr_dataset *raw_rows(int first)
{
    static int32_t numbers[8];
    static hr_view text[ROWS];
    static int64_t n[ROWS];
    static const char *const names[] = {"raw", "n"};
    for (int i = 0; i < 8; i++) numbers[i] = 1000 * i + i;
    for (int i = 0; i < ROWS; i++) text[i] = (hr_view){(const char *)(numbers + i % 4 + first), i % 4 * 4}, n[i] = i;
    const hr_tensor t[] = {hr_tensor_of(HR_STRING, HR_SHAPE(ROWS), text), hr_tensor_of(HR_INT64, HR_SHAPE(ROWS), n)};
    return hr_from_tensor_slices(t, names, 2);
}

static hr_dataset *texts(const hr_view *text, int64_t count)
{
    static const char *const name = "value";
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(count), text);
    return hr_from_tensor_slices(&t, &name, 1);
}

HR_SAMPLE(row_bytes)
{
    hr_dataset *ds = hr_decode_raw_rows(hr_shuffle(raw_rows(0), 30), "raw", HR_INT32, .name = "numbers");
    return hr_ragged_batch(hr_serialize_tensor_rows(ds, "numbers", .name = "bytes"), 7);
}
HR_SAMPLE(row_bytes_base64)
{
    hr_dataset *ds = hr_batch(hr_encode_base64_rows(hr_shuffle(raw_rows(1), 30), "raw", .pad = true), 7);
    return hr_decode_base64_rows(ds, "raw", .name = "again");
}
HR_SAMPLE(row_bytes_tensors)
{
    hr_dataset *ds = hr_serialize_tensor_rows(hr_shuffle(raw_rows(2), 30), "n");
    return hr_batch(hr_parse_tensor_rows(hr_batch(ds, 7), "n", HR_INT64, HR_SCALAR, .name = "m"), 2);
}
HR_ARGUMENTS(row_bytes, hr_decode_raw_rows(raw_rows(0), "raw", HR_INT32),
             hr_decode_raw_rows(raw_rows(0), "raw", HR_INT16),
             hr_decode_raw_rows(raw_rows(0), "raw", HR_INT32, .name = "x"),
             hr_decode_raw_rows(raw_rows(0), "raw", HR_INT32, .fixed_length = 8),
             hr_decode_raw_rows(raw_rows(0), "raw", HR_INT32, .fixed_length = 8, .shape = &HR_SHAPE(2)),
             hr_decode_raw_rows(raw_rows(0), "raw", HR_INT32, .big_endian = true),
             hr_encode_base64_rows(raw_rows(0), "raw"), hr_encode_base64_rows(raw_rows(0), "raw", .pad = true),
             hr_decode_base64_rows(raw_rows(0), "raw"), hr_decode_compressed_rows(raw_rows(0), "raw", HR_GZIP),
             hr_decode_compressed_rows(raw_rows(0), "raw", HR_ZLIB));

static hr_tensor first_of(hr_dataset *ds, const char *name, hr_iterator **it)
{
    const hr_element *e;
    *it = iterate(ds, (way){0});
    if (hr_next(*it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(*it)->text);
    return *hr_get(e, name);
}

static void decode_raw_reads_numbers_of_either_order(void **state)
{
    (void)state;
    hr_iterator *it;
    const char bytes[] = {0, 1, 0, 2, 0, 3};
    const hr_view text = {bytes, 6};
    hr_tensor t = first_of(hr_decode_raw_rows(texts(&text, 1), "value", HR_INT16, .big_endian = true), "value", &it);
    assert_int_equal(t.shape.rank, 1);
    assert_memory_equal(t.data, ((const int16_t[]){1, 2, 3}), 6);
    hr_iterator_free(it);
    t = first_of(hr_decode_raw_rows(texts(&text, 1), "value", HR_UINT8, .shape = &HR_SHAPE(-1, 3)), "value", &it);
    assert_int_equal(t.shape.dims[0], 2);
    assert_int_equal(t.shape.dims[1], 3);
    hr_iterator_free(it);
    t = first_of(hr_decode_raw_rows(texts(&text, 1), "value", HR_INT32, .fixed_length = 8), "value", &it);
    assert_memory_equal(t.data, "\0\1\0\2\0\3\0\0", 8);
    hr_iterator_free(it);
    t = first_of(hr_decode_raw_rows(texts(&text, 1), "value", HR_INT32, .fixed_length = 4, .shape = &HR_SCALAR),
                 "value", &it);
    assert_int_equal(t.shape.rank, 0);
    assert_memory_equal(t.data, "\0\1\0\2", 4);
    hr_iterator_free(it);
    assert_fails(hr_decode_raw_rows(texts(&text, 1), "value", HR_INT32), HR_INVALID_ARGUMENT, "row_bytes.size");
    assert_fails(hr_decode_raw_rows(texts(&text, 1), "value", HR_INT16, .shape = &HR_SHAPE(2)), HR_INVALID_ARGUMENT,
                 "row_bytes.size");
    assert_fails(hr_decode_raw_rows(texts(&text, 1), "value", HR_INT32, .fixed_length = 6), HR_INVALID_ARGUMENT,
                 "row_bytes.component");
}

static void base64_is_that_of_urls(void **state)
{
    (void)state;
    const hr_view text[] = {{"\xfb\xff\xfe", 3}, {"a", 1}, {"ab", 2}, {"", 0}};
    assert_strings(hr_encode_base64_rows(texts(text, 4), "value"), (way){0}, "[-__-][YQ][YWI][]");
    assert_strings(hr_encode_base64_rows(texts(text, 4), "value", .pad = true), (way){0}, "[-__-][YQ==][YWI=][]");
    const hr_view coded[] = {{"YQ==", 4}, {"YWI", 3}, {"", 0}, {"YW+h", 4}};
    assert_strings(hr_decode_base64_rows(texts(coded, 4), "value"), (way){0}, "[a][ab][]row_bytes.base64");
    assert_strings(hr_ignore_errors(hr_decode_base64_rows(texts(coded, 4), "value")), (way){0}, "[a][ab][]");
    assert_fails(hr_decode_base64_rows(texts(&(hr_view){"YWJhY", 5}, 1), "value"), HR_INVALID_ARGUMENT,
                 "row_bytes.base64");
}

static hr_view packed(const char *text, size_t size, int window, char *to, size_t capacity)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)text,
                  .avail_in = (uInt)size,
                  .next_out = (Bytef *)to,
                  .avail_out = (uInt)capacity};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    const hr_view made = {to, (int64_t)(capacity - z.avail_out)};
    deflateEnd(&z);
    return made;
}

static void decode_compressed_inflates_each_string(void **state)
{
    (void)state;
    static char zeros[300000], room[3][2000];
    const hr_element *e;
    for (int gzip = 0; gzip < 2; gzip++) {
        const int window = gzip ? 16 + MAX_WBITS : MAX_WBITS;
        const hr_compression compression = gzip ? HR_GZIP : HR_ZLIB;
        hr_view text[] = {
            packed("hello", 5, window, room[0], 2000), {"", 0}, packed(zeros, sizeof zeros, window, room[1], 2000)};
        hr_iterator *it = iterate(hr_decode_compressed_rows(texts(text, 3), "value", compression), (way){0});
        for (int i = 0; i < 3; i++) {
            assert_status(hr_next(it, &e), HR_OK);
            const hr_view *got = hr_get(e, "value")->data;
            assert_int_equal(got->size, i == 0 ? 5 : i == 1 ? 0 : (int)sizeof zeros);
            if (i == 0) assert_memory_equal(got->data, "hello", 5);
        }
        hr_iterator_free(it);
        memcpy(room[2], text[0].data, (size_t)text[0].size);
        memcpy(room[2] + text[0].size, text[0].data, (size_t)text[0].size);
        const hr_view twice = {room[2], 2 * text[0].size}, cut = {room[0], text[0].size - 1};
        assert_strings(hr_decode_compressed_rows(texts(&twice, 1), "value", compression), (way){0}, "[hellohello]");
        assert_fails(hr_decode_compressed_rows(texts(&cut, 1), "value", compression), HR_DATA_LOSS,
                     "row_bytes.compressed");
        assert_fails(hr_decode_compressed_rows(texts(&(hr_view){"hello", 5}, 1), "value", compression), HR_DATA_LOSS,
                     "row_bytes.compressed");
    }
    assert_strings(hr_decode_compressed_rows(texts(&(hr_view){"as it is", 8}, 1), "value", HR_NONE), (way){0},
                   "[as it is]");
    assert_fails(hr_decode_compressed_rows(texts(&(hr_view){"", 0}, 1), "value", HR_ZSTD), HR_INVALID_ARGUMENT,
                 "row_bytes.component");
}

/* Bytes that tf.io.serialize_tensor of TensorFlow 2.15.1 gave. */
static const struct {
    hr_dtype dtype;
    hr_shape shape;
    const char *bytes;
    int64_t size;
    const char *values;
} serialized[] = {
    {HR_INT64, {0, {0}}, "\x08\x09\x12\x00\x22\x08\x07\0\0\0\0\0\0\0", 14, "\x07\0\0\0\0\0\0\0"},
    {HR_FLOAT,
     {2, {1, 2}},
     "\x08\x01\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02\x22\x08\0\0\x80\x3f\0\0\0\x40",
     22,
     "\0\0\x80\x3f\0\0\0\x40"},
    {HR_BOOL, {1, {3}}, "\x08\x0a\x12\x04\x12\x02\x08\x03\x22\x03\x01\x00\x01", 13, "\1\0\1"},
    {HR_INT32, {1, {0}}, "\x08\x03\x12\x02\x12\x00", 6, ""},
};

static void tensors_are_serialized_as_tensorflow_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof serialized / sizeof *serialized; i++) {
        hr_iterator *it;
        const hr_tensor whole = hr_tensor_of(serialized[i].dtype, serialized[i].shape, serialized[i].values);
        static const char *const name = "value";
        const hr_view text = {serialized[i].bytes, serialized[i].size};
        hr_tensor t = first_of(hr_serialize_tensor_rows(hr_from_tensors(&whole, &name, 1), "value"), "value", &it);
        const hr_view *got = t.data;
        assert_int_equal(got->size, text.size);
        assert_memory_equal(got->data, text.data, (size_t)text.size);
        hr_iterator_free(it);
        t = first_of(hr_parse_tensor_rows(texts(&text, 1), "value", serialized[i].dtype, serialized[i].shape), "value",
                     &it);
        assert_true(hr_shape_equal(t.shape, serialized[i].shape));
        if (t.count > 0) assert_memory_equal(t.data, serialized[i].values, (size_t)t.count * hr_dtype_size(t.dtype));
        hr_iterator_free(it);
    }
}

static void strings_in_tensors_are_read_and_written(void **state)
{
    (void)state;
    hr_iterator *it;
    static const char bytes[] = "\x08\x07\x12\x04\x12\x02\x08\x02\x42\x01"
                                "a\x42\x00";
    const hr_view text = {bytes, sizeof bytes - 1}, words[] = {{"a", 1}, {"", 0}};
    static const char *const name = "value";
    const hr_tensor whole = hr_tensor_of(HR_STRING, HR_SHAPE(2), words);
    hr_tensor t = first_of(hr_serialize_tensor_rows(hr_from_tensors(&whole, &name, 1), "value"), "value", &it);
    assert_int_equal(((const hr_view *)t.data)->size, text.size);
    assert_memory_equal(((const hr_view *)t.data)->data, bytes, (size_t)text.size);
    hr_iterator_free(it);
    t = first_of(hr_parse_tensor_rows(texts(&text, 1), "value", HR_STRING, HR_SHAPE(-1)), "value", &it);
    assert_int_equal(t.count, 2);
    assert_int_equal(((const hr_view *)t.data)[0].size, 1);
    assert_int_equal(((const hr_view *)t.data)[1].size, 0);
    hr_iterator_free(it);
}

/* As TensorFlow reads them: values in fields, the last of which stands for all that are missing. */
static void tensors_may_have_their_values_in_fields(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int64_t size;
        hr_dtype dtype;
        double want[3];
    } cases[] = {
        {"\x08\x01\x12\x04\x12\x02\x08\x03\x2a\x08\0\0\x80\x3f\0\0\0\x40", 18, HR_FLOAT, {1, 2, 2}},
        {"\x08\x01\x12\x04\x12\x02\x08\x03\x2d\0\0\x80\x3f", 13, HR_FLOAT, {1, 1, 1}},
        {"\x08\x03\x12\x04\x12\x02\x08\x03\x3a\x03\x05\x06\x07", 13, HR_INT32, {5, 6, 7}},
        {"\x08\x09\x12\x04\x12\x02\x08\x03\x50\x05\x50\x06", 12, HR_INT64, {5, 6, 6}},
        {"\x08\x0a\x12\x04\x12\x02\x08\x03\x58\x01\x58\x00", 12, HR_BOOL, {1, 0, 0}},
        {"\x08\x06\x12\x04\x12\x02\x08\x03", 8, HR_INT8, {0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_iterator *it;
        const hr_view text = {cases[i].bytes, cases[i].size};
        const hr_tensor t =
            first_of(hr_parse_tensor_rows(texts(&text, 1), "value", cases[i].dtype, HR_SHAPE(3)), "value", &it);
        for (int k = 0; k < 3; k++) {
            const double got = t.dtype == HR_FLOAT   ? (double)((const float *)t.data)[k]
                               : t.dtype == HR_INT32 ? ((const int32_t *)t.data)[k]
                               : t.dtype == HR_INT64 ? (double)((const int64_t *)t.data)[k]
                                                     : ((const int8_t *)t.data)[k];
            assert_true(got == cases[i].want[k]);
        }
        hr_iterator_free(it);
    }
}

static void what_is_no_tensor_is_refused(void **state)
{
    (void)state;
    const hr_view text = {serialized[1].bytes, serialized[1].size};
    assert_fails(hr_parse_tensor_rows(texts(&text, 1), "value", HR_INT32, HR_SHAPE(1, 2)), HR_INVALID_ARGUMENT,
                 "row_bytes.tensor");
    assert_fails(hr_parse_tensor_rows(texts(&text, 1), "value", HR_FLOAT, HR_SHAPE(2)), HR_INVALID_ARGUMENT,
                 "row_bytes.tensor");
    assert_fails(hr_parse_tensor_rows(texts(&text, 1), "value", HR_FLOAT, HR_SHAPE(1, -1)), HR_INVALID_ARGUMENT,
                 "row_bytes.component");
    for (int64_t size = 1; size < text.size; size++) {
        if (size == 12) continue; /* type and shape alone are a tensor of zeros */
        const hr_view cut = {text.data, size};
        assert_fails(hr_parse_tensor_rows(texts(&cut, 1), "value", HR_FLOAT, HR_SHAPE(1, 2)), HR_INVALID_ARGUMENT,
                     "row_bytes.tensor");
    }
    assert_fails(hr_decode_base64_rows(hr_range(3), "value"), HR_INVALID_ARGUMENT, "row_bytes.component");
    assert_fails(hr_decode_base64_rows(hr_range(3), "other"), HR_INVALID_ARGUMENT, "row_bytes.component");
    assert_fails(hr_decode_raw_rows(texts(&text, 1), NULL, HR_INT32), HR_INVALID_ARGUMENT, "row_bytes.component");
}

static void rows_of_a_batch_must_be_equally_long(void **state)
{
    (void)state;
    const hr_view text[] = {{"abcd", 4}, {"efgh", 4}, {"ab", 2}};
    hr_iterator *it;
    const hr_tensor t = first_of(hr_decode_raw_rows(hr_batch(texts(text, 2), 2), "value", HR_INT16), "value", &it);
    assert_int_equal(t.shape.dims[0], 2);
    assert_int_equal(t.shape.dims[1], 2);
    hr_iterator_free(it);
    assert_fails(hr_decode_raw_rows(hr_batch(texts(text, 3), 3), "value", HR_INT16), HR_INVALID_ARGUMENT, "batch.rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(row_bytes),
        HR_CONFORMANCE(row_bytes_base64),
        HR_CONFORMANCE(row_bytes_tensors),
        HR_CONFORMANCE_OF_ARGUMENTS(row_bytes),
        cmocka_unit_test(decode_raw_reads_numbers_of_either_order),
        cmocka_unit_test(base64_is_that_of_urls),
        cmocka_unit_test(decode_compressed_inflates_each_string),
        cmocka_unit_test(tensors_are_serialized_as_tensorflow_does),
        cmocka_unit_test(strings_in_tensors_are_read_and_written),
        cmocka_unit_test(tensors_may_have_their_values_in_fields),
        cmocka_unit_test(what_is_no_tensor_is_refused),
        cmocka_unit_test(rows_of_a_batch_must_be_equally_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
