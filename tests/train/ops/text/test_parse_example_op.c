/* Serialized Examples in a graph: a batch, one, none, and what is refused. Values as TensorFlow's. */
#include "tests/train/ops/node_text.h"

#include <headrace/graph_op.h>
#include <headrace/io.h>
#include <headrace/ops.h>
#include <stdatomic.h>
#include <string.h>
#include <uv.h>

static hr_graph *g;
static hr_session *s;
static hr_node records, parsed;

static hr_node words_node(hr_shape shape, const hr_view *words)
{
    const hr_tensor t = hr_tensor_of(HR_STRING, shape, words);
    return hr_const(g, &t);
}

/* "s" sparse, "a" of `shape` with a default of `count` sevens, "r" ragged. */
static void make_node(hr_shape shape, int64_t count)
{
    static const hr_view key[] = {{"s", 1}, {"a", 1}, {"r", 1}};
    static const int64_t sevens[] = {7, 7};
    const hr_dtype text = HR_STRING, whole = HR_INT64;
    g = hr_graph_new();
    records = hr_placeholder(g, HR_STRING, HR_UNKNOWN_SHAPE);
    const hr_tensor fallback = hr_tensor_of(HR_INT64, count == 1 ? HR_SCALAR : HR_SHAPE(count), sevens);
    parsed = hr_new_node(
        g, "ParseExampleV2",
        HR_INPUTS(records, words_node(HR_SHAPE(0), key), words_node(HR_SHAPE(1), key), words_node(HR_SHAPE(1), key + 1),
                  words_node(HR_SHAPE(1), key + 2), hr_const(g, &fallback)),
        HR_ATTRS(HR_INT_ATTR("num_sparse", 1), HR_TYPES_ATTR("sparse_types", &text, 1),
                 HR_TYPES_ATTR("ragged_value_types", &whole, 1), HR_TYPES_ATTR("ragged_split_types", &whole, 1),
                 ((hr_attr){.name = "dense_shapes", .kind = HR_ATTR_SHAPES, .count = 1, .shapes = &shape})));
    s = hr_session_new(g);
}

static void free_node(void)
{
    hr_session_free(s);
    hr_graph_free(g);
}

enum { OUTPUTS = 6 };
static hr_status parse(hr_shape shape, const hr_view *record, hr_tensor *out, hr_error *err)
{
    hr_node fetches[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++) fetches[i] = hr_node_output(parsed, i);
    const hr_feed feed = {records, hr_tensor_of(HR_STRING, shape, record)};
    return hr_session_run(s, &feed, 1, fetches, OUTPUTS, out, err);
}

static void expect_shape(const hr_tensor *t, hr_shape shape)
{
    char found[128], wanted[128];
    assert_string_equal(hr_shape_text(t->shape, found, sizeof found), hr_shape_text(shape, wanted, sizeof wanted));
}

static void expect_ints(const hr_tensor *t, hr_shape shape, const int64_t *values)
{
    expect_shape(t, shape);
    if (t->count) assert_memory_equal(t->data, values, (size_t)t->count * sizeof *values);
}

static void clear(hr_tensor *out)
{
    for (int i = 0; i < OUTPUTS; i++) hr_tensor_clear(&out[i]);
}

static void examples_become_tensors(void **state)
{
    (void)state;
    hr_example *example = hr_example_new();
    hr_error err;
    hr_tensor out[OUTPUTS];
    hr_view record[2] = {{"", 0}};
    hr_example_add_int64(example, "a", HR_I64(1, 2), 2);
    hr_example_add_int64(example, "r", HR_I64(5, 6, 8), 3);
    hr_example_add_bytes(example, "s", (const hr_view[]){{"x", 1}}, 1);
    assert_ok(hr_example_bytes(example, &record[1], &err), &err);

    make_node(HR_SHAPE(2), 2);
    assert_ok(parse(HR_SHAPE(2), record, out, &err), &err);
    expect_ints(&out[0], HR_SHAPE(1, 2), HR_I64(1, 0));
    assert_memory_equal(((hr_view *)out[1].data)->data, "x", 1);
    expect_ints(&out[2], HR_SHAPE(2), HR_I64(2, 1));
    expect_ints(&out[3], HR_SHAPE(2, 2), HR_I64(7, 7, 1, 2));
    expect_ints(&out[4], HR_SHAPE(3), HR_I64(5, 6, 8));
    expect_ints(&out[5], HR_SHAPE(3), HR_I64(0, 0, 3));
    clear(out);
    assert_ok(parse(HR_SCALAR, record + 1, out, &err), &err);
    expect_ints(&out[0], HR_SHAPE(1, 1), HR_I64(0));
    expect_ints(&out[2], HR_SHAPE(1), HR_I64(1));
    expect_ints(&out[3], HR_SHAPE(2), HR_I64(1, 2));
    expect_ints(&out[4], HR_SHAPE(3), HR_I64(5, 6, 8));
    expect_shape(&out[5], HR_SHAPE(0));
    clear(out);
    assert_ok(parse(HR_SHAPE(0), record, out, &err), &err);
    expect_shape(&out[0], HR_SHAPE(0, 2));
    expect_ints(&out[2], HR_SHAPE(2), HR_I64(0, 0));
    expect_shape(&out[3], HR_SHAPE(0, 2));
    expect_ints(&out[5], HR_SHAPE(1), HR_I64(0));
    clear(out);
    free_node();
    hr_example_free(example);
}

static void rows_of_any_length_are_padded(void **state)
{
    (void)state;
    hr_example *example = hr_example_new();
    hr_error err;
    hr_tensor out[OUTPUTS];
    hr_view record[2] = {{"", 0}};
    hr_example_add_int64(example, "a", HR_I64(1, 2), 2);
    assert_ok(hr_example_bytes(example, &record[1], &err), &err);
    make_node(HR_SHAPE(-1), 1);
    assert_ok(parse(HR_SHAPE(2), record, out, &err), &err);
    expect_ints(&out[3], HR_SHAPE(2, 2), HR_I64(7, 7, 1, 2));
    clear(out);
    free_node();
    hr_example_free(example);
}

static void defaults_and_records_must_fit(void **state)
{
    (void)state;
    const hr_view empty = {"", 0};
    hr_error err;
    hr_tensor out[OUTPUTS];
    const struct {
        hr_shape shape;
        int64_t defaults;
        hr_shape records;
        const char *kind;
    } cases[] = {
        {HR_SHAPE(2), 0, HR_SHAPE(1), "example.missing"}, /* no default: required */
        {HR_SHAPE(2), 1, HR_SHAPE(1), "graph.shape"},
        {HR_SHAPE(-1), 0, HR_SHAPE(1), "graph.shape"},
        {HR_SHAPE(2), 2, HR_SHAPE(1, 1), "graph.shape"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        make_node(cases[c].shape, cases[c].defaults);
        assert_status(parse(cases[c].records, &empty, out, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, cases[c].kind);
        free_node();
    }
}

/* An Example of one float 1.5, called "a". */
#define ONE_FLOAT "'\\x0a\\x0f\\x0a\\x0d\\x0a\\x01a\\x12\\x08\\x12\\x06\\x0a\\x04\\x00\\x00\\xc0?'"
/* With "a" as a sparse, dense or ragged feature, or none of that kind. */
#define REFUSED(INPUTS, SPARSE, DENSE, RAGGED)                                                                         \
    EXPECT_NODE_WITH("ParseExampleV2", INPUTS, NULL, HR_INT_ATTR("num_sparse", SPARSE),                                \
                     HR_TYPES_ATTR("sparse_types", whole, SPARSE), HR_TYPES_ATTR("Tdense", real, DENSE),               \
                     HR_TYPES_ATTR("ragged_value_types", whole, RAGGED),                                               \
                     HR_TYPES_ATTR("ragged_split_types", whole, RAGGED),                                               \
                     {.name = "dense_shapes", .kind = HR_ATTR_SHAPES, .count = DENSE, .shapes = &two})

static void what_tensorflow_refuses_is_refused(void **state)
{
    static const hr_dtype whole[] = {HR_INT64}, real[] = {HR_FLOAT};
    static const hr_shape two = {1, {2}};
    (void)state;
    REFUSED("string[1] " ONE_FLOAT "; string[0]; string[0]; string[1] 'a'; string[0]; float32[2] 0 0", 0, 1, 0);
    REFUSED("string[] " ONE_FLOAT "; string[0]; string[0]; string[1] 'a'; string[0]; float32[2] 0 0", 0, 1, 0);
    REFUSED("string[1] ''; string[0]; string[0]; string[1] 'a'; string[0]; float32[1] 7", 0, 1, 0);
    REFUSED("string[1] ''; string[0]; string[0]; string[1] 'a'; string[0]; float32[] 7", 0, 1, 0);
    REFUSED("string[1] " ONE_FLOAT "; string[0]; string[0]; string[0]; string[1] 'a'", 0, 0, 1);
    REFUSED("string[] " ONE_FLOAT "; string[0]; string[0]; string[0]; string[1] 'a'", 0, 0, 1);
    REFUSED("string[1] 'abc'; string[0]; string[0]; string[0]; string[1] 'a'", 0, 0, 1);
    REFUSED("string[1] 'abc'; string[0]; string[1] 'a'; string[0]; string[0]", 1, 0, 0);
    REFUSED("string[] 'abc'; string[0]; string[1] 'a'; string[0]; string[0]", 1, 0, 0);
    REFUSED("string[1] '\\x0a\\x02\\x0a\\x05'; string[0]; string[1] 'a'; string[0]; string[0]", 1, 0, 0);
    REFUSED("string[1] '\\x13\\x14'; string[0]; string[1] 'a'; string[0]; string[0]", 1, 0, 0);
    REFUSED("string[1] " ONE_FLOAT "; string[0]; string[1] 'a'; string[0]; string[0]", 1, 0, 0);
}

/* "s" sparse, "a" of one value with a default of 7; keys and the default are constants. */
static hr_node dense_key, fallback;
static void make_plain_node(void)
{
    static const hr_view keys[] = {{"s", 1}, {"a", 1}};
    static const int64_t seven = 7;
    const hr_dtype text = HR_STRING;
    const hr_shape one = HR_SHAPE(1);
    const hr_tensor value = hr_tensor_of(HR_INT64, one, &seven);
    g = hr_graph_new();
    records = hr_placeholder(g, HR_STRING, HR_UNKNOWN_SHAPE);
    dense_key = words_node(one, &keys[1]);
    fallback = hr_const(g, &value);
    parsed = hr_new_node(
        g, "ParseExampleV2",
        HR_INPUTS(records, words_node(HR_SHAPE(0), keys), words_node(one, keys), dense_key,
                  words_node(HR_SHAPE(0), keys), fallback),
        HR_ATTRS(HR_INT_ATTR("num_sparse", 1), HR_TYPES_ATTR("sparse_types", &text, 1),
                 HR_TYPES_ATTR("ragged_value_types", &text, 0), HR_TYPES_ATTR("ragged_split_types", &text, 0),
                 ((hr_attr){.name = "dense_shapes", .kind = HR_ATTR_SHAPES, .count = 1, .shapes = &one})));
    s = hr_session_new(g);
}

/* A spec that constants tell is made once, what is fed in their place in that run. */
static void fed_keys_and_defaults_take_the_place_of_constants(void **state)
{
    (void)state;
    static const hr_view other = {"b", 1};
    static const int64_t nine = 9;
    const hr_shape one = HR_SHAPE(1);
    hr_example *example = hr_example_new();
    hr_error err;
    hr_view record[2] = {{"", 0}};
    hr_example_add_int64(example, "a", HR_I64(1), 1);
    hr_example_add_int64(example, "b", HR_I64(2), 1);
    assert_ok(hr_example_bytes(example, &record[1], &err), &err);
    make_plain_node();
    const hr_feed feed[] = {{records, hr_tensor_of(HR_STRING, HR_SHAPE(2), record)},
                            {dense_key, hr_tensor_of(HR_STRING, one, &other)},
                            {fallback, hr_tensor_of(HR_INT64, one, &nine)}};
    static const int64_t expected[][2] = {{7, 1}, {7, 2}, {9, 2}, {7, 1}};
    for (int turn = 0; turn < 4; turn++) {
        const hr_node dense = hr_node_output(parsed, 3);
        hr_tensor out;
        assert_ok(hr_session_run(s, feed, turn == 3 ? 1 : turn + 1, &dense, 1, &out, &err), &err);
        expect_ints(&out, HR_SHAPE(2, 1), expected[turn]);
        hr_tensor_clear(&out);
    }
    free_node();
    hr_example_free(example);
}

/* Runs at the same time share what parses. */
enum { THREADS = 3, RUNS = 200 };
static atomic_int wrong;

static void parse_often(void *user)
{
    const hr_view *record = user;
    for (int i = 0; i < RUNS; i++) {
        hr_error err;
        hr_tensor out = {0};
        const hr_node dense = hr_node_output(parsed, 3);
        const hr_feed feed = {records, hr_tensor_of(HR_STRING, HR_SHAPE(2), record)};
        const hr_status st = hr_session_run(s, &feed, 1, &dense, 1, &out, &err);
        if (st != HR_OK || out.count != 2 || ((int64_t *)out.data)[0] != 7 || ((int64_t *)out.data)[1] != 1) wrong++;
        hr_tensor_clear(&out);
    }
}

static void runs_parse_at_the_same_time(void **state)
{
    (void)state;
    hr_example *example = hr_example_new();
    hr_error err;
    uv_thread_t thread[THREADS];
    hr_view record[2] = {{"", 0}};
    hr_example_add_int64(example, "a", HR_I64(1), 1);
    assert_ok(hr_example_bytes(example, &record[1], &err), &err);
    make_plain_node();
    for (int i = 0; i < THREADS; i++) assert_int_equal(uv_thread_create(&thread[i], parse_often, record), 0);
    for (int i = 0; i < THREADS; i++) uv_thread_join(&thread[i]);
    assert_int_equal(wrong, 0);
    free_node();
    hr_example_free(example);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_tensorflow_refuses_is_refused),
        cmocka_unit_test(examples_become_tensors),
        cmocka_unit_test(rows_of_any_length_are_padded),
        cmocka_unit_test(defaults_and_records_must_fit),
        cmocka_unit_test(fed_keys_and_defaults_take_the_place_of_constants),
        cmocka_unit_test(runs_parse_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
