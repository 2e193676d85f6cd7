/* Summaries as bytes and in event files; the bytes are those that TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"
#include "tests/train/summary/read_events.h"
#include <headrace/summary.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void summaries_are_tensorflows_bytes(void **state)
{
    (void)state;
    EXPECT_NODE(
        "ScalarSummary", "string[2] 'a' 'b\\x00c'; int64[2] 1 -2",
        "string[] '\\x0a\\x08\\x0a\\x01a\\x15\\x00\\x00\\x80?\\x0a\\x0a\\x0a\\x03b\\x00c\\x15\\x00\\x00\\x00\\xc0'");
    EXPECT_NODE("ScalarSummary", "string[] 'a'; float32[] nan",
                "string[] '\\x0a\\x08\\x0a\\x01a\\x15\\x00\\x00\\xc0\\x7f'");
    EXPECT_NODE("ScalarSummary", "string[1] 'a'; float32[] 1", NULL);
    EXPECT_NODE("ScalarSummary", "string[2] '' ''; float64[2] 1.0 2.0",
                "string[] '\\x0a\\x05\\x15\\x00\\x00\\x80?\\x0a\\x05\\x15\\x00\\x00\\x00@'");
    EXPECT_NODE(
        "HistogramSummary", "string[] 'a'; uint8[2,2] 3 0 255 200",
        "string[] "
        "'\\x0a\\xbe\\x01\\x0a\\x01a*\\xb8\\x01\\x11\\x00\\x00\\x00\\x00\\x00\\xe0o@"
        "\\x19\\x00\\x00\\x00\\x00\\x00\\x00\\x10@!\\x00\\x00\\x00\\x00\\x00\\xa0|@)"
        "\\x00\\x00\\x00\\x00\\xa0\\xa4\\xf9@2H\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x11\\xea-\\x81\\x99\\x97q="
        "h\\xbc\\x105\\x9a\\x07\\x07@\\x0d\\x9c\\xc5\\xa0)U\\x09@\\x92\\xaf\\x92\\x93*\\xd8g@\\x88\\x27\\xee;\\x95:j@"
        "\\xa4|\\x986\\xa5\\xbco@\\x8eD:\\x11\\x8etq@\\xff\\xff\\xff\\xff\\xff\\xff\\xef\\x7f:"
        "H\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xf0?"
        "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xf0?"
        "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xf0?"
        "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xf0?"
        "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'");
    EXPECT_NODE("HistogramSummary", "string[] 'a'; float32[1] inf", NULL);
    EXPECT_NODE("HistogramSummary", "string[1] 'a'; float32[1] 1", NULL);
    EXPECT_NODE_WITH(
        "MergeSummary",
        "string[2] '' '\\x0a\\x0b\\x0a\\x04loss\\x15\\x00\\x00\\x80?'; string[] "
        "'\\x0a\\x0b\\x0a\\x04los2\\x15\\x00\\x00\\x80?'",
        "string[] '\\x0a\\x0b\\x0a\\x04loss\\x15\\x00\\x00\\x80?\\x0a\\x0b\\x0a\\x04los2\\x15\\x00\\x00\\x80?'",
        HR_INT_ATTR("N", 2));
    EXPECT_NODE(
        "TensorSummaryV2", "string[] 't'; string[2] 'x' 'yz'; string[] '\\x12\\x01a'",
        "string[] "
        "'\\x0a\\x19\\x0a\\x01tB\\x0f\\x08\\x07\\x12\\x04\\x12\\x02\\x08\\x02B\\x01xB\\x02yzJ\\x03\\x12\\x01a'");
    EXPECT_NODE("TensorSummaryV2", "string[] 't'; float32[] 1; string[] ''",
                "string[] '\\x0a\\x11\\x0a\\x01tB\\x0a\\x08\\x01\\x12\\x00\"\\x04\\x00\\x00\\x80?J\\x00'");
    EXPECT_NODE("TensorSummaryV2", "string[1] 't'; float32[] 1; string[] ''", NULL);
    EXPECT_NODE_WITH("MergeSummary", "string[] 'abc'", NULL, HR_INT_ATTR("N", 1));
}

/* ---- pictures ---- */

static hr_node pictures(hr_graph *g, const hr_tensor *values, int64_t most)
{
    const hr_view tag = {"a", 1};
    const hr_tensor name = hr_tensor_of(HR_STRING, HR_SCALAR, &tag);
    return hr_new_node(g, "ImageSummary", HR_INPUTS(hr_const(g, &name), hr_const(g, values)),
                       HR_ATTRS(HR_INT_ATTR("max_images", most)));
}

/* A byte of a picture whose rows have each byte as what it differs by from its neighbours (filter 4 of PNG). */
static uint8_t unfiltered(uint8_t differs, int left, int above, int corner)
{
    const int sum = left + above - corner, a = abs(sum - left), b = abs(sum - above), c = abs(sum - corner);
    return (uint8_t)(differs + (a <= b && a <= c ? left : b <= c ? above : corner));
}

/* The picture in a summary of one must have these rows, of pixels of `step` bytes. */
static void check_pixels(hr_view summary, const char *tag, const uint8_t *expected, int rows, int row, int step)
{
    uint8_t got[256];
    uLongf size = sizeof got;
    const char *data = NULL;
    for (int64_t i = 0; i + 4 < summary.size && !data; i++)
        if (memcmp(summary.data + i, "IDAT", 4) == 0) data = summary.data + i + 4;
    assert_non_null(data);
    assert_int_equal(memcmp(summary.data + 3, tag, strlen(tag)), 0);
    const unsigned char *length = (const unsigned char *)data - 5;
    assert_int_equal(uncompress(got, &size, (const Bytef *)data, *length), Z_OK);
    assert_int_equal(size, rows * (row + 1));
    for (int i = 0; i < rows; i++) {
        assert_int_equal(got[i * (row + 1)], 4);
        for (int j = 0; j < row; j++) {
            const uint8_t *now = expected + i * row, *above = now - row;
            const int left = j < step ? 0 : now[j - step], corner = i && j >= step ? above[j - step] : 0;
            assert_int_equal(unfiltered(got[i * (row + 1) + 1 + j], left, i ? above[j] : 0, corner), now[j]);
        }
    }
}

/* Its single picture must have these pixels; NULL: it is refused. */
static void check_picture(hr_dtype dtype, hr_shape shape, const void *values, const uint8_t *expected)
{
    hr_graph *g = hr_graph_new();
    const hr_tensor t = hr_tensor_of(dtype, shape, values);
    const hr_node node = pictures(g, &t, 1);
    hr_tensor out = {0};
    hr_error err;
    hr_session *s = hr_session_new(g);
    const hr_status st = hr_session_run(s, NULL, 0, &node, 1, &out, &err);
    if (expected) assert_ok(st, &err);
    if (!expected) assert_status(st, HR_INVALID_ARGUMENT);
    if (expected)
        check_pixels(*(const hr_view *)out.data,
                     "\x07"
                     "a/image",
                     expected, (int)shape.dims[1], (int)(shape.dims[2] * shape.dims[3]), (int)shape.dims[3]);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}

static void floats_are_pictures_from_the_least_to_the_greatest(void **state)
{
    (void)state;
    const float nan = (float)__builtin_nan("");
    check_picture(HR_UINT8, HR_SHAPE(1, 2, 3, 1), (const uint8_t[]){0, 1, 2, 3, 4, 5},
                  (const uint8_t[]){0, 1, 2, 3, 4, 5});
    check_picture(HR_FLOAT, HR_SHAPE(1, 2, 2, 1), (const float[]){0, .25f, .5f, 1}, (const uint8_t[]){0, 63, 127, 255});
    check_picture(HR_FLOAT, HR_SHAPE(1, 2, 2, 1), (const float[]){-1, .25f, .5f, 2},
                  (const uint8_t[]){64, 143, 159, 255});
    check_picture(HR_FLOAT, HR_SHAPE(1, 1, 2, 3), (const float[]){0, nan, .5f, 1, 1, 1},
                  (const uint8_t[]){255, 0, 0, 255, 255, 255});
    check_picture(HR_FLOAT, HR_SHAPE(1, 1, 1, 3), (const float[]){nan, nan, nan}, (const uint8_t[]){255, 0, 0});
    check_picture(HR_FLOAT, HR_SHAPE(1, 1, 2, 3), (const float[6]){0}, (const uint8_t[6]){0});
    check_picture(HR_FLOAT, HR_SHAPE(1, 1, 3, 1), (const float[]){0, 300, 10}, (const uint8_t[]){0, 255, 8});
    check_picture(HR_DOUBLE, HR_SHAPE(1, 1, 3, 1), (const double[]){-5, -3, 0}, (const uint8_t[]){1, 51, 128});
    check_picture(HR_HALF, HR_SHAPE(1, 1, 3, 1), (const uint16_t[]){0, 0x34cd, 0x3c00}, (const uint8_t[]){0, 76, 255});
    check_picture(HR_UINT8, HR_SHAPE(1, 1, 1, 2), (const uint8_t[]){0, 1}, NULL);
    check_picture(HR_UINT8, HR_SHAPE(1, 1, 2), (const uint8_t[]){0, 1}, NULL);
    check_picture(HR_UINT8, HR_SHAPE(1, 1, 0, 3), NULL, NULL);
}

static void several_pictures_are_counted_in_their_tags(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const uint8_t pixels[] = {0, 1, 2, 3, 4, 5};
    const hr_tensor two = hr_tensor_of(HR_UINT8, HR_SHAPE(2, 1, 1, 3), pixels);
    const hr_tensor none = hr_tensor_of(HR_UINT8, HR_SHAPE(0, 1, 1, 3), pixels);
    const hr_node nodes[] = {pictures(g, &two, 3), pictures(g, &none, 3)};
    hr_tensor out[2] = {0};
    hr_error err;
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, nodes, 2, out, &err), &err);
    const hr_view both = *(const hr_view *)out[0].data;
    const int64_t first = 2 + both.data[1];
    check_pixels((hr_view){both.data, first},
                 "\x09"
                 "a/image/0",
                 pixels, 1, 3, 3);
    check_pixels((hr_view){both.data + first, both.size - first},
                 "\x09"
                 "a/image/1",
                 pixels + 3, 1, 3, 3);
    assert_int_equal(((const hr_view *)out[1].data)->size, 0);
    for (int i = 0; i < 2; i++) hr_tensor_clear(&out[i]);
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- event files ---- */

static hr_node text(hr_graph *g, const char *value)
{
    const hr_view view = hr_text_view(value);
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
    return hr_const(g, &t);
}

static void summaries_go_into_a_writers_file(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_error err;
    event_list list;
    char path[4096];
    const hr_node w = hr_new_node(g, "SummaryWriter"), step = hr_scalar(g, HR_INT64, 7),
                  some = hr_scalar(g, HR_INT32, 1);
    const hr_node made = hr_target(
        hr_new_node(g, "CreateSummaryFileWriter", HR_INPUTS(w, text(g, "events"), some, some, text(g, ".v2"))));
    const hr_node write[] = {
        hr_target(hr_new_node(g, "WriteScalarSummary", HR_INPUTS(w, step, text(g, "loss"), hr_scalar(g, HR_INT32, 3)))),
        hr_target(
            hr_new_node(g, "WriteHistogramSummary", HR_INPUTS(w, step, text(g, "h"), hr_scalar(g, HR_FLOAT, 2.5)))),
        hr_target(
            hr_new_node(g, "WriteSummary", HR_INPUTS(w, step, hr_scalar(g, HR_FLOAT, 1.5), text(g, "t"), text(g, "")))),
        hr_target(hr_new_node(g, "WriteRawProtoSummary", HR_INPUTS(w, step, text(g, "\x0a\x03\x0a\x01r")))),
        hr_target(hr_new_node(g, "WriteGraphSummary", HR_INPUTS(w, step, text(g, "graph")))),
        hr_target(hr_new_node(g, "FlushSummaryWriter", HR_INPUTS(w))),
    };
    const hr_node closed = hr_target(hr_new_node(g, "CloseSummaryWriter", HR_INPUTS(w)));
    hr_session *s = hr_session_new(g);
    assert_status(hr_session_run(s, NULL, 0, write, 1, NULL, &err), HR_NOT_FOUND);
    assert_string_equal(err.kind, "summary.writer");
    assert_ok(hr_session_run(s, NULL, 0, &made, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, NULL, 0, &made, 1, NULL, &err), &err); /* it keeps its file */
    for (int i = 0; i < 6; i++) assert_ok(hr_session_run(s, NULL, 0, &write[i], 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, NULL, 0, &closed, 1, NULL, &err), &err);
    assert_status(hr_session_run(s, NULL, 0, &closed, 1, NULL, &err), HR_NOT_FOUND);
    hr_session_free(s);
    hr_graph_free(g);

    assert_text_contains(event_file_in("events", path, sizeof path), ".v2");
    assert_ok(read_events(path, &list, &err), &err);
    assert_int_equal(list.count, 6);
    assert_int_equal(list.event[1]->step, 7);
    assert_string_equal(list.event[1]->summary->value[0]->tag, "loss");
    assert_exactly(list.event[1]->summary->value[0]->simple_value, 3);
    assert_exactly(list.event[2]->summary->value[0]->histo->max, 2.5);
    assert_int_equal(list.event[3]->summary->value[0]->tensor->tensor_content.len, 4);
    assert_string_equal(list.event[4]->summary->value[0]->tag, "r");
    assert_int_equal(list.event[5]->graph_def.len, 5);
    free_events(&list);
}

/* ---- sounds: TensorFlow 2.15.1's bytes ---- */

static void sounds_are_tensorflows_bytes(void **state)
{
    (void)state;
    static const char stereo[] =
        "0a590a07612f617564696f324e0d3303fa45100218032238524946463000000057415645666d7420100000"
        "0001000200401f0000007d000004001000646174610c000000004000800000ff7f0080aa2a2a09617564"
        "696f2f776176";
    const float samples[] = {.5f, -1.5f, 1e-5f, 1, -1, .3333f};
    const float ties[] = {1.5f / 32768, 2.5f / 32768, -.5f / 32768, -1.5f / 32768, NAN, INFINITY};
    static const unsigned char tied[] = {2, 0, 3, 0, 0xff, 0xff, 0xfe, 0xff, 0, 0, 0xff, 0x7f};
    char *bytes, hex[256];
    size_t size;
    hr_error err;
    assert_ok(hr_summary_audio((hr_view){"a/audio", 7}, 3, 2, 8000.4f, samples, &bytes, &size, &err), &err);
    for (size_t i = 0; i < size; i++) snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
    assert_string_equal(hex, stereo);
    hr_free(bytes);
    assert_ok(hr_summary_audio((hr_view){"a", 1}, 6, 1, 8000, ties, &bytes, &size, &err), &err);
    assert_memory_equal(bytes + size - 11 - sizeof tied, tied, sizeof tied);
    hr_free(bytes);
    EXPECT_NODE("AudioSummaryV2", "string[] 'a'; float32[2] 1 2; float32[] 1", NULL);
    EXPECT_NODE("AudioSummaryV2", "string[] 'a'; float32[1,2] 1 2; float32[] 0", NULL);
    EXPECT_NODE("AudioSummaryV2", "string[] 'a'; float32[1,0,1]; float32[] 1", NULL);
    EXPECT_NODE("AudioSummaryV2", "string[] 'a'; float32[0,2]; float32[] 1", "string[] ''");
    assert_status(hr_summary_audio((hr_view){"a", 1}, INT64_MAX, 3, 1, samples, &bytes, &size, &err),
                  HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "summary.audio");
}

/* ---- nodes of summaries ---- */

/* The names that TensorFlow 2.15.1 gives the nodes of the same calls. */
static void summary_nodes_have_tensorflows_names_and_tags(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"one/t", "one/t/tags"},
        {"one/fam/t", "one/fam/t/tags"},
        {"one/h", "one/h/tag"},
        {"note", "note/tag"},
        {"ten", "ten/tag"},
        {"t_1", "t_1/tags"},
        {"Merge/MergeSummary", "one/t:0"},
        {"mm/mm", "one/t:0"},
    };
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_scalar(g, HR_FLOAT, 1.5);
    hr_name_scope(g, "one");
    const hr_node first = hr_scalar_summary("t", x), family = hr_scalar_summary("t", x, .family = "fam");
    hr_histogram_summary("h", x);
    hr_scope_end(g);
    hr_text_summary("note", text(g, "a"));
    hr_tensor_summary("ten", x, .display_name = "D", .description = "d");
    hr_scalar_summary("t", x, .collection = "");
    const hr_node twice = hr_scalar_summary("t", x, .collection = "mine");
    const hr_node all = hr_merge_all_summaries(g, NULL);
    hr_merge_summary(&first, 1, "mm");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const hr_node node = hr_graph_node(g, pairs[i][0]);
        assert_true(hr_node_exists(node));
        assert_string_equal(hr_node_name(hr_node_input(node, 0)), i < 6 ? pairs[i][1] : "one/t");
    }
    int count;
    hr_get_collection(g, "summaries", &count);
    assert_int_equal(count, 5);
    assert_int_equal(hr_node_inputs(all), 5);
    assert_int_equal(hr_get_collection(g, "mine", &count)->id, twice.id);
    assert_false(hr_node_exists(hr_merge_all_summaries(g, "none")));

    hr_tensor out;
    hr_error err;
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &family, 1, &out, &err), &err);
    assert_memory_equal(((const hr_view *)out.data)->data + 4, "fam/one/fam/t", 13);
    hr_tensor_clear(&out);
    assert_ok(hr_session_run(s, NULL, 0, &all, 1, &out, &err), &err);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}

static void a_summary_that_cannot_be_fails_the_graph(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        hr_graph *g = hr_graph_new();
        const hr_node x = hr_scalar(g, HR_FLOAT, 1);
        if (i == 1) hr_name_scope(g, "within");
        const hr_node made = i == 0   ? hr_scalar_summary("_under", x)
                             : i == 1 ? hr_scalar_summary("\xc3\xbc"
                                                          "ber",
                                                          x)
                             : i == 2 ? hr_scalar_summary(NULL, x)
                                      : hr_text_summary("t", x);
        assert_false(hr_node_exists(made));
        assert_string_equal(hr_graph_error(g)->kind, i == 3 ? "graph.type" : "graph.name");
        hr_graph_free(g);
    }
    assert_false(hr_node_exists(hr_scalar_summary("x", (hr_node){0})));
    assert_false(hr_node_exists(hr_merge_summary(NULL, 0, NULL)));
    assert_false(hr_node_exists(hr_merge_all_summaries(NULL, NULL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(summaries_are_tensorflows_bytes),
                                       cmocka_unit_test(floats_are_pictures_from_the_least_to_the_greatest),
                                       cmocka_unit_test(several_pictures_are_counted_in_their_tags),
                                       cmocka_unit_test(summaries_go_into_a_writers_file),
                                       cmocka_unit_test(sounds_are_tensorflows_bytes),
                                       cmocka_unit_test(summary_nodes_have_tensorflows_names_and_tags),
                                       cmocka_unit_test(a_summary_that_cannot_be_fails_the_graph)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
