/* Lookup tables: fixed ones from tensors and files, mutable ones, many keys, lookups from several threads. */
#include "tests/testing.h"

#include <headrace/kernels.h>
#include <headrace/tables.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

static hr_graph *g;
static hr_session *s;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    s = hr_session_new(g);
    return g && s ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    return 0;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static hr_node texts(int count, const char *const *words)
{
    hr_view views[16];
    for (int i = 0; i < count; i++) views[i] = hr_text_view(words[i]);
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(count), views);
    return hr_const(g, &t);
}
#define TEXTS(...)                                                                                                     \
    texts((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *const[]){__VA_ARGS__})

static hr_node numbers(int64_t count, const int64_t *values)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(count), values);
    return hr_const(g, &t);
}

static hr_node number(int64_t value)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SCALAR, &value);
    return hr_const(g, &t);
}

static void run(hr_node node)
{
    hr_error err;
    node = hr_target(node);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, NULL, &err), &err);
}

static void fails(hr_node node, const char *kind)
{
    hr_error err = {0};
    node = hr_target(node);
    assert_int_not_equal(hr_session_run(s, NULL, 0, &node, 1, NULL, &err), HR_OK);
    assert_string_equal(err.kind, kind);
}

static void gives(hr_node node, int64_t count, const int64_t *expected)
{
    hr_error err;
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    assert_int_equal(out.count, count);
    for (int64_t i = 0; i < count; i++) assert_int_equal(((const int64_t *)out.data)[i], expected[i]);
    hr_tensor_clear(&out);
}

static void a_file_of_words_gives_their_lines_and_back(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    write_text("words", "pear\nfig\r\nplum");
    const hr_table words = hr_index_table_from_file(g, "words"),
                   back = hr_index_to_string_table_from_file(g, "words", NULL);
    const hr_node ids = hr_table_lookup(words, TEXTS("plum", "kiwi", "fig"));
    const hr_node names = hr_table_lookup(back, numbers(2, HR_I64(1, 7)));
    fails(ids, "table.uninitialized");
    run(hr_tables_initializer(g));
    run(hr_tables_initializer(g));
    gives(ids, 3, HR_I64(2, -1, 1));
    gives(hr_table_size(words), 1, HR_I64(3));
    assert_ok(hr_session_run(s, NULL, 0, &names, 1, &out, &err), &err);
    assert_int_equal(((const hr_view *)out.data)[0].size, 3);
    assert_memory_equal(((const hr_view *)out.data)[0].data, "fig", 3);
    assert_memory_equal(((const hr_view *)out.data)[1].data, "UNK", 3);
    hr_tensor_clear(&out);
}

/* The ops of the oldest graphs take a table by reference; it is no value. */
static void a_table_goes_by_reference_too(void **state)
{
    (void)state;
    const hr_node t = hr_new_node(
        g, "HashTable", HR_ATTRS(HR_TYPE_ATTR("key_dtype", HR_STRING), HR_TYPE_ATTR("value_dtype", HR_INT64)));
    const hr_node fill = hr_new_node(g, "InitializeTable", HR_INPUTS(t, TEXTS("a", "b"), numbers(2, HR_I64(7, 8))));
    const hr_node found = hr_new_node(g, "LookupTableFind", HR_INPUTS(t, TEXTS("b", "c"), number(-1)));
    fails(found, "table.uninitialized");
    run(fill);
    gives(found, 2, HR_I64(8, -1));
    gives(hr_new_node(g, "LookupTableSize", HR_INPUTS(t)), 1, HR_I64(2));
    fails(hr_identity(t), "resource.kind");
}

static void a_table_without_a_name_is_new_in_each_run(void **state)
{
    (void)state;
    const hr_node t = hr_new_node(g, "AnonymousMutableHashTable",
                                  HR_ATTRS(HR_TYPE_ATTR("key_dtype", HR_INT64), HR_TYPE_ATTR("value_dtype", HR_INT64)));
    const hr_node keys = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
    const hr_node fill = hr_new_node(g, "LookupTableInsertV2", HR_INPUTS(t, keys, keys));
    hr_control_dependencies(g, &fill, 1);
    const hr_node size = hr_new_node(g, "LookupTableSizeV2", HR_INPUTS(t));
    hr_control_end(g);
    for (int64_t count = 2; count > 0; count--) {
        hr_error err;
        hr_tensor out;
        const hr_feed feed = {keys, hr_tensor_of(HR_INT64, HR_SHAPE(count), HR_I64(1, 2))};
        assert_ok(hr_session_run(s, &feed, 1, &size, 1, &out, &err), &err);
        assert_int_equal(*(const int64_t *)out.data, count);
        hr_tensor_clear(&out);
    }
}

static void unknown_words_get_buckets_after_the_others(void **state)
{
    (void)state;
    write_text("few", "a\nb\nc\n");
    const hr_table t = hr_index_table_from_file(g, "few", .oov_buckets = 5);
    const int64_t bucket = (int64_t)(hr_fingerprint64("zebra", 5) % 5);
    run(hr_tables_initializer(g));
    gives(hr_table_lookup(t, TEXTS("b", "zebra")), 2, HR_I64(1, 3 + bucket));
}

static void a_file_that_is_not_as_asked_for_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *kind;
        int64_t vocab_size;
    } cases[] = {{"a\n\nb\n", "table.file", 0}, {"a\nb\na\n", "table.duplicate", 0}, {"a\nb\n", "table.file", 3}};
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "bad%d", i);
        write_text(name, cases[i].text);
        fails(hr_index_table_from_file(g, name, .vocab_size = cases[i].vocab_size).initializer, cases[i].kind);
    }
    fails(hr_index_table_from_file(g, "not there").initializer, "file.open");
}

static void sticks(const char *kind)
{
    assert_string_equal(hr_graph_error(g) ? hr_graph_error(g)->kind : "none", kind);
    hr_graph_free(g);
    g = hr_graph_new();
}

static void negative_numbers_and_no_file_are_refused(void **state)
{
    (void)state;
    hr_session_free(s);
    s = NULL;
    hr_index_table_from_file(g, "few", .oov_buckets = -1);
    sticks("table.argument");
    hr_index_table_from_file(g, "few", .vocab_size = -1);
    sticks("table.argument");
    hr_index_table_from_file(g, "");
    sticks("table.file");
    hr_index_to_string_table_from_file(g, NULL, NULL);
    sticks("table.file");
}

static void other_contents_of_a_fixed_table_are_refused(void **state)
{
    (void)state;
    const hr_table t = hr_static_table(TEXTS("a", "b"), numbers(2, HR_I64(1, 2)), number(-1), NULL);
    run(t.initializer);
    run(t.initializer);
    fails(hr_new_node(g, "InitializeTableV2", HR_INPUTS(t.handle, TEXTS("a", "b"), numbers(2, HR_I64(1, 3)))),
          "table.initialized");
    fails(hr_table_insert(t, TEXTS("c"), numbers(1, HR_I64(3))), "table.fixed");
    gives(hr_table_lookup(t, TEXTS("b", "c")), 2, HR_I64(2, -1));
}

static void a_table_of_another_type_is_refused(void **state)
{
    (void)state;
    const hr_table t = hr_static_table(TEXTS("a"), numbers(1, HR_I64(1)), number(-1), NULL);
    run(t.initializer);
    fails(hr_table_lookup(t, numbers(1, HR_I64(1))), "table.type");
    const hr_node variable = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR);
    fails(hr_new_node(g, "LookupTableSizeV2", HR_INPUTS(variable)), "resource.kind");
}

/* Thousands of keys come and go; what is left is what a plain array says. */
static void keys_come_and_go(void **state)
{
    (void)state;
    enum { KEYS = 500, ROUNDS = 60 };
    int64_t value[KEYS], keys[KEYS], left = 0;
    const hr_table t = hr_mutable_table(g, HR_INT64, HR_INT64, number(-1), NULL);
    const hr_node in = hr_placeholder(g, HR_INT64, HR_SHAPE(-1)), to = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
    const hr_node insert = hr_target(hr_table_insert(t, in, to)), remove = hr_target(hr_table_remove(t, in));
    const hr_node find = hr_table_lookup(t, in), size = hr_table_size(t);
    hr_error err;
    for (int i = 0; i < KEYS; i++) value[i] = -1;
    for (int round = 0; round < ROUNDS; round++) {
        const bool adds = round % 3 != 2;
        int64_t changed[40], values[40];
        for (int i = 0; i < 40; i++) {
            changed[i] = hr_random_below(7, (uint64_t)(round * 40 + i), KEYS);
            values[i] = round * 40 + i;
            value[changed[i]] = adds ? values[i] : -1;
        }
        const hr_feed feeds[] = {{in, hr_tensor_of(HR_INT64, HR_SHAPE(40), changed)},
                                 {to, hr_tensor_of(HR_INT64, HR_SHAPE(40), values)}};
        assert_ok(hr_session_run(s, feeds, adds ? 2 : 1, adds ? &insert : &remove, 1, NULL, &err), &err);
    }
    for (int i = 0; i < KEYS; i++) {
        keys[i] = i;
        left += value[i] >= 0;
    }
    const hr_feed all = {in, hr_tensor_of(HR_INT64, HR_SHAPE(KEYS), keys)};
    hr_tensor out;
    assert_ok(hr_session_run(s, &all, 1, &find, 1, &out, &err), &err);
    assert_memory_equal(out.data, value, sizeof value);
    hr_tensor_clear(&out);
    gives(size, 1, &left);
}

static void strings_are_replaced_and_removed(void **state)
{
    (void)state;
    const hr_view none = hr_text_view("none");
    const hr_tensor fallback = hr_tensor_of(HR_STRING, HR_SCALAR, &none);
    const hr_table t = hr_mutable_table(g, HR_STRING, HR_STRING, hr_const(g, &fallback), NULL);
    run(hr_table_insert(t, TEXTS("a", "b", "c"), TEXTS("one", "two", "")));
    run(hr_table_insert(t, TEXTS("b"), TEXTS("a longer text than before")));
    run(hr_table_remove(t, TEXTS("a", "x")));
    gives(hr_table_size(t), 1, HR_I64(2));
    const hr_node exported = hr_table_export(t, HR_STRING, HR_STRING);
    run(exported);
    run(hr_new_node(g, "LookupTableImportV2", HR_INPUTS(t.handle, TEXTS("z"), TEXTS("new"))));
    gives(hr_table_size(t), 1, HR_I64(1));
}

/* ---- several threads ---- */

static hr_node shared_find, shared_insert, shared_in;

static void look_up_often(void *user)
{
    int64_t keys[64];
    hr_error err;
    for (int i = 0; i < 64; i++) keys[i] = i;
    for (int i = 0; i < 100; i++) {
        const hr_feed feed = {shared_in, hr_tensor_of(HR_INT64, HR_SHAPE(64), keys)};
        hr_tensor out;
        if (user && i % 10 == 0) {
            assert_ok(hr_session_run(s, &feed, 1, &shared_insert, 1, NULL, &err), &err);
            continue;
        }
        assert_ok(hr_session_run(s, &feed, 1, &shared_find, 1, &out, &err), &err);
        for (int j = 0; j < 64; j++) {
            const int64_t got = ((const int64_t *)out.data)[j];
            assert_true(got == j || got == -1);
        }
        hr_tensor_clear(&out);
    }
}

static void lookups_and_updates_may_run_at_the_same_time(void **state)
{
    (void)state;
    uv_thread_t threads[3];
    const hr_table t = hr_mutable_table(g, HR_INT64, HR_INT64, number(-1), NULL);
    shared_in = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
    shared_find = hr_table_lookup(t, shared_in);
    shared_insert = hr_target(hr_table_insert(t, shared_in, shared_in));
    for (int i = 0; i < 3; i++) assert_int_equal(uv_thread_create(&threads[i], look_up_often, i == 0 ? s : NULL), 0);
    for (int i = 0; i < 3; i++) uv_thread_join(&threads[i]);
}

/* ---- allocations ---- */

static hr_status fill_and_look(void)
{
    hr_error err = {0};
    hr_status st = HR_RESOURCE_EXHAUSTED;
    hr_tensor out;
    const hr_view text = hr_text_view("x");
    const hr_tensor none = hr_tensor_of(HR_STRING, HR_SCALAR, &text);
    g = hr_graph_new();
    s = g ? hr_session_new(g) : NULL;
    if (s) {
        const hr_table t = hr_index_table_from_file(g, "words2");
        const hr_table m = hr_mutable_table(g, HR_STRING, HR_STRING, hr_const(g, &none), NULL);
        const hr_node init = hr_target(hr_tables_initializer(g)), find = hr_table_lookup(t, TEXTS("fig"));
        const hr_node insert = hr_target(hr_table_insert(m, TEXTS("a", "b"), TEXTS("1", "2")));
        st = hr_session_run(s, NULL, 0, &init, 1, NULL, &err);
        if (st == HR_OK) st = hr_session_run(s, NULL, 0, &insert, 1, NULL, &err);
        if (st == HR_OK) st = hr_session_run(s, NULL, 0, &insert, 1, NULL, &err);
        if (st == HR_OK) st = hr_session_run(s, NULL, 0, &find, 1, &out, &err);
        if (st == HR_OK) hr_tensor_clear(&out);
    }
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    write_text("words2", "pear\nfig\nplum\n");
    assert_int_equal(fill_and_look(), HR_OK);
    const int64_t before = allocations_alive();
    fail_allocation(-1);
    assert_int_equal(fill_and_look(), HR_OK);
    const int64_t all = allocations_since();
    for (int64_t n = 0; n < all; n++) {
        fail_allocation(n);
        const hr_status st = fill_and_look();
        allocations_since();
        if (st != HR_RESOURCE_EXHAUSTED)
            fail_msg("allocation %d of %d failed, and the answer was %s", (int)n, (int)all, hr_status_name(st));
        if (allocations_alive() != before)
            fail_msg("allocation %d failed, and %d are lost", (int)n, (int)(allocations_alive() - before));
    }
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        TEST(a_file_of_words_gives_their_lines_and_back),
        TEST(unknown_words_get_buckets_after_the_others),
        TEST(a_file_that_is_not_as_asked_for_is_refused),
        TEST(other_contents_of_a_fixed_table_are_refused),
        TEST(negative_numbers_and_no_file_are_refused),
        TEST(a_table_of_another_type_is_refused),
        TEST(keys_come_and_go),
        TEST(strings_are_replaced_and_removed),
        TEST(lookups_and_updates_may_run_at_the_same_time),
        TEST(a_table_goes_by_reference_too),
        TEST(a_table_without_a_name_is_new_in_each_run),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
