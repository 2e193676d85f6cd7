/* Libraries of ops: loaded from a shared object, or linked in, all graphs know their ops and passes; what is refused
 * leaves nothing behind. */
#include "tests/testing.h"
#include <headrace/graphdef.h>
#include <headrace/kernels.h>
#include <headrace/op_library.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The modules lie beside the program: MODULES, by CMake. */
static hr_status load(const char *name, hr_error *err)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.so", MODULES, name);
    return hr_load_op_library(path, err);
}

static void assert_refused(hr_status st, const hr_error *err, hr_status code, const char *kind, const char *text)
{
    assert_status(st, code);
    assert_status(err->code, code);
    assert_string_equal(err->kind, kind);
    assert_text_contains(err->text, text);
}

static void what_cannot_be_loaded_is_refused(void **state)
{
    hr_error err;
    (void)state;
    assert_refused(hr_load_op_library(NULL, &err), &err, HR_INVALID_ARGUMENT, "op_library.file", "got none");
    assert_refused(hr_load_op_library("none.so", &err), &err, HR_NOT_FOUND, "op_library.file",
                   "none.so: expected a shared object that can be read: No such file");
    write_file("text.so", "no object", 9);
    assert_refused(hr_load_op_library("text.so", &err), &err, HR_INVALID_ARGUMENT, "op_library.file",
                   "text.so: expected a shared object: ./text.so: ");
    assert_refused(load("outside_library_hidden", &err), &err, HR_INVALID_ARGUMENT, "op_library.file",
                   "outside_library_hidden.so: expected a shared object with HR_EXPORT_OP_LIBRARY, got one without it");
    assert_refused(load("outside_library_version", &err), &err, HR_FAILED_PRECONDITION, "graph.abi",
                   "library of ops: expected a descriptor made for version 1 of its kit, got version 2");
    assert_refused(load("outside_library_matmul", &err), &err, HR_ALREADY_EXISTS, "op_library.name",
                   "library of ops 'outside': op 'MatMul': expected a name of its own, got one that Headrace has");
}

/* Of an input that is fed 3: what comes out, and the derivative. */
static void assert_doubles(hr_graph *g, const char *passes)
{
    hr_error err;
    hr_tensor out[2];
    float three = 3;
    const hr_node x = hr_graph_node(g, "x:0"), y = hr_graph_node(g, "y:0");
    hr_gradient by;
    hr_gradients(&y, 1, &x, 1, &by);
    hr_session *s = hr_session_new(g, .workers = &(int){0}, .passes = passes);
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &three)};
    const hr_node fetch[] = {y, by.values};
    assert_ok(hr_session_run(s, &feed, 1, fetch, 2, out, &err), &err);
    assert_exactly(*(const float *)out[0].data, 6);
    assert_exactly(*(const float *)out[1].data, 2);
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
    hr_session_free(s);
}

static hr_graph *graph_of_twice(void)
{
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x");
    hr_new_node(g, "Outside>Twice", HR_INPUTS(x), .name = "y");
    return g;
}

static void *load_again(void *user)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    *(hr_status *)user = load("outside_library", &err);
    hr_graph_free(g);
    return NULL;
}

static void ops_of_a_loaded_library_are_known_to_all_graphs(void **state)
{
    hr_error err;
    char *bytes;
    size_t size;
    (void)state;
    hr_graph *before = graph_of_twice();
    assert_text_contains(hr_graph_error(before)->text, "of a library of ops, or of hr_graph_use, got 'Outside>Twice'");
    hr_graph_free(before);

    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    hr_status loaded[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, load_again, &loaded[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_status(loaded[i], HR_OK);

    hr_graph *g = graph_of_twice();
    assert_doubles(g, NULL);
    hr_graph_free(g);
    g = graph_of_twice();
    assert_ok(hr_graph_export(g, &bytes, &size, &err), &err);
    hr_graph_free(g);
    g = hr_graph_new();
    assert_ok(hr_graph_import(g, ((hr_view){bytes, (int64_t)size}), &err), &err);
    assert_doubles(g, NULL);
    hr_graph_free(g);
    hr_free(bytes);
}

static void passes_of_a_loaded_library_run_where_they_are_named(void **state)
{
    hr_error err;
    hr_rewrite *r;
    (void)state;
    assert_ok(load("outside_library", &err), &err);
    assert_ok(hr_rewrite_check("exact,outside_sum", &err), &err);
    hr_graph *g = graph_of_twice();
    const hr_node y = hr_graph_node(g, "y:0");
    assert_ok(hr_rewrite_new(g, NULL, 0, &y, 1, "outside_sum", &r, &err), &err);
    assert_string_equal(hr_node_op(hr_rewrite_fetch(r, 0)), "AddV2");
    hr_rewrite_free(r);
    assert_ok(hr_rewrite_new(g, NULL, 0, &y, 1, NULL, &r, &err), &err);
    assert_string_equal(hr_node_op(hr_rewrite_fetch(r, 0)), "Outside>Twice");
    hr_rewrite_free(r);
    assert_doubles(g, "outside_sum");
    hr_graph_free(g);
}

static void a_library_may_supply_what_tensorflow_has_and_headrace_lacks(void **state)
{
    hr_error err;
    (void)state;
    assert_ok(load("outside_library", &err), &err);
    assert_null(hr_graph_op_named("Fact"));
    hr_graph *g = hr_graph_new();
    const hr_node node = hr_new_node(g, "Fact");
    hr_session *s = hr_session_new(g);
    assert_status(hr_session_run(s, NULL, 0, &node, 1, &(hr_tensor){0}, &err), HR_ABORTED);
    assert_text_contains(err.text, "enough of this");
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- tables that are linked in ---- */

static hr_status no_compute(hr_kernel *k, hr_error *err) { return (void)k, (void)err, HR_OK; }
static hr_status no_run(hr_rewrite *r, hr_error *err) { return (void)r, (void)err, HR_OK; }

#define OP(...)                                                                                                        \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .compute = no_compute, __VA_ARGS__                                                   \
    }
#define TABLE(file)                                                                                                    \
    {                                                                                                                  \
        HR_OP_LIBRARY_HEAD, "linked", (const hr_graph_op *const[]){file, NULL}, NULL                                   \
    }

static void assert_table_refused(const hr_graph_op *file, hr_status code, const char *kind, const char *text)
{
    hr_error err;
    const hr_op_library table = TABLE(file);
    const int64_t before = allocations_alive();
    assert_refused(hr_register_op_library(&table, &err), &err, code, kind, text);
    assert_int_equal(allocations_alive(), before);
}

static void a_table_that_cannot_be_is_refused_whole(void **state)
{
    static const hr_graph_op twice[] = {OP(.name = "Linked>A"), OP(.name = "Linked>A"), HR_GRAPH_OPS_END};
    static const hr_graph_op other[] = {
        OP(.name = "DecodeBmp", .inputs = "contents:string", .outputs = "image:float32", .attrs = "channels: int = 0"),
        HR_GRAPH_OPS_END};
    static const hr_graph_op more[] = {
        OP(.name = "DecodeBmp", .inputs = "contents:string", .outputs = "image:uint8", .attrs = "channels: int = 3"),
        HR_GRAPH_OPS_END};
    static const hr_graph_op malformed[] = {OP(.name = "Linked>B", .inputs = "x"), HR_GRAPH_OPS_END};
    static const hr_graph_op old[] = {{.head = {7, sizeof(hr_graph_op)}, .name = "Linked>C", .compute = no_compute},
                                      HR_GRAPH_OPS_END};
    static const hr_graph_op headless[] = {{.name = "Linked>D", .compute = no_compute}, HR_GRAPH_OPS_END};
    static const hr_graph_op second_headless[] = {
        OP(.name = "Linked>E"), {.name = "Linked>F", .compute = no_compute}, HR_GRAPH_OPS_END};
    (void)state;
    assert_table_refused(twice, HR_ALREADY_EXISTS, "op_library.name",
                         "library of ops 'linked': op 'Linked>A': expected a name of its own, got one that another op "
                         "of the library has");
    assert_table_refused(other, HR_INVALID_ARGUMENT, "op_library.signature",
                         "expected the signature that TensorFlow's op of that name has, (contents:string) -> "
                         "(image:uint8), channels: int = 0; got other outputs");
    assert_table_refused(more, HR_INVALID_ARGUMENT, "op_library.signature", "got other attributes");
    assert_table_refused(malformed, HR_INVALID_ARGUMENT, "graph.signature", "expected ':' in its signature");
    assert_table_refused(old, HR_FAILED_PRECONDITION, "graph.abi", "got version 7");
    assert_table_refused(headless, HR_FAILED_PRECONDITION, "graph.abi", "version 1 of its kit, got version 0");
    assert_table_refused(second_headless, HR_FAILED_PRECONDITION, "graph.abi", "descriptors of one size");

    hr_error err;
    static const hr_graph_pass fold = {.head = HR_GRAPH_PASS_HEAD, .name = "fold", .run = no_run};
    const hr_op_library passes = {HR_OP_LIBRARY_HEAD, "linked", NULL, (const hr_graph_pass *const[]){&fold, NULL}};
    assert_refused(hr_register_op_library(&passes, &err), &err, HR_ALREADY_EXISTS, "op_library.name", "pass 'fold'");
    assert_refused(hr_register_op_library(NULL, &err), &err, HR_FAILED_PRECONDITION, "graph.abi", "got NULL");
}

/* Descriptors as an older header had them, without their last fields: they lie less far apart. */
static void a_table_of_an_older_header_is_taken(void **state)
{
    enum { OLDER = offsetof(hr_graph_op, nanoseconds) };
    static _Alignas(hr_graph_op) char bytes[3 * OLDER];
    static const hr_graph_op *files[2];
    static const hr_op_library older = {HR_OP_LIBRARY_HEAD, "linked", files, NULL};
    const hr_graph_op ops[] = {OP(.name = "Older>A", .inputs = "x:float32"),
                               OP(.name = "Older>B", .outputs = "y:int8")};
    (void)state;
    files[0] = (const hr_graph_op *)(const void *)bytes;
    for (int i = 0; i < 2; i++) {
        memcpy(bytes + i * OLDER, &ops[i], OLDER);
        const hr_graph_op_head head = {HR_GRAPH_OP_ABI, OLDER};
        memcpy(bytes + i * OLDER, &head, sizeof head);
    }
    /* Each allocation fails once: nothing is registered then, and nothing is lost. */
    hr_error err;
    hr_status st = HR_RESOURCE_EXHAUSTED;
    const int64_t before = allocations_alive();
    for (int n = 0; n < 200 && st != HR_OK; n++) {
        fail_allocation(n);
        st = hr_register_op_library(&older, &err);
        allocations_since();
        if (st != HR_OK) assert_refused(st, &err, HR_RESOURCE_EXHAUSTED, "memory", "library of ops 'linked'");
        if (st != HR_OK) assert_int_equal(allocations_alive(), before);
    }
    assert_ok(st, &err);
    assert_ok(hr_register_op_library(&older, &err), &err); /* again: nothing */
    hr_graph *g = hr_graph_new();
    assert_string_equal(hr_node_op(hr_new_node(g, "Older>A", HR_INPUTS(hr_scalar(g, HR_FLOAT, 1)))), "Older>A");
    assert_int_equal(hr_node_dtype(hr_new_node(g, "Older>B")), HR_INT8);
    assert_null(hr_graph_error(g));
    hr_graph_free(g);

    static const hr_graph_op again[] = {OP(.name = "Older>B"), HR_GRAPH_OPS_END};
    assert_table_refused(again, HR_ALREADY_EXISTS, "op_library.name",
                         "'Older>B': expected a name of its own, got one "
                         "that another library has");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_loaded_is_refused),
        cmocka_unit_test(ops_of_a_loaded_library_are_known_to_all_graphs),
        cmocka_unit_test(passes_of_a_loaded_library_run_where_they_are_named),
        cmocka_unit_test(a_library_may_supply_what_tensorflow_has_and_headrace_lacks),
        cmocka_unit_test(a_table_that_cannot_be_is_refused_whole),
        cmocka_unit_test(a_table_of_an_older_header_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
