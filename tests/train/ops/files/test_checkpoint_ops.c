/* Checkpoints that nodes write, merge and read. */
#include "tests/testing.h"

#include <headrace/checkpoint.h>
#include <headrace/graph_op.h>
#include <headrace/ops.h>
#include <string.h>
#include <unistd.h>

static hr_node texts(hr_graph *g, const char *const *values, int count, bool scalar)
{
    hr_view view[8];
    for (int i = 0; i < count; i++) view[i] = hr_text_view(values[i]);
    const hr_tensor t = hr_tensor_of(HR_STRING, scalar ? HR_SCALAR : HR_SHAPE(count), view);
    return hr_const(g, &t);
}
#define TEXTS(...)                                                                                                     \
    texts(g, (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)), 0)
#define TEXT(value) texts(g, (const char *const[]){value}, 1, true)

static hr_status run(hr_graph *g, hr_node node, int outputs, hr_tensor *out, hr_error *err)
{
    hr_node fetch[8] = {hr_target(node)};
    for (int i = 0; i < outputs; i++) fetch[i] = hr_node_output(node, i);
    hr_session *s = hr_session_new(g);
    const hr_status st = hr_session_run(s, NULL, 0, fetch, outputs ? outputs : 1, out, err);
    hr_session_free(s);
    return st;
}

static const float values[] = {1, 2, 3, 4, 5, 6};

static hr_status save(const char *prefix, const char *name, const char *slice, hr_shape shape, const float *from,
                      hr_error *err)
{
    hr_graph *g = hr_graph_new();
    const hr_tensor t = hr_tensor_of(HR_FLOAT, shape, from);
    const hr_tensor step = hr_tensor_of(HR_INT64, HR_SCALAR, HR_I64(9));
    char other[64] = "step_of_";
    strncat(other, prefix + strlen(prefix) - 1, 8);
    const hr_status st = run(
        g,
        hr_new_node(g, "SaveV2",
                    HR_INPUTS(TEXT(prefix), TEXTS(name, other), TEXTS(slice, ""), hr_const(g, &t), hr_const(g, &step))),
        0, NULL, err);
    hr_graph_free(g);
    return st;
}

static hr_status restore(const char *prefix, const char *name, const char *slice, hr_dtype dtype, hr_tensor *out,
                         hr_error *err)
{
    hr_graph *g = hr_graph_new();
    const hr_node node = hr_new_node(g, "RestoreV2", HR_INPUTS(TEXT(prefix), TEXTS(name), TEXTS(slice)),
                                     HR_ATTRS(HR_TYPES_ATTR("dtypes", &dtype, 1)));
    const hr_status st = run(g, node, 1, out, err);
    hr_graph_free(g);
    return st;
}

static void expect_values(const char *prefix, const char *name, const char *slice, hr_shape shape,
                          const float *expected)
{
    hr_error err;
    hr_tensor out;
    assert_ok(restore(prefix, name, slice, HR_FLOAT, &out, &err), &err);
    assert_shape(out.shape, shape);
    assert_memory_equal(out.data, expected, sizeof *expected * (size_t)out.count);
    hr_tensor_clear(&out);
}

static void what_is_saved_is_restored(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    assert_ok(save("new/a", "v", "", HR_SHAPE(3, 2), values, &err), &err);
    expect_values("new/a", "v", "", HR_SHAPE(3, 2), values);
    expect_values("new/a", "v", "3 2 1,2:-", HR_SHAPE(2, 2), values + 2);
    assert_status(restore("new/a", "w", "", HR_FLOAT, &out, &err), HR_NOT_FOUND);
    assert_status(restore("new/b", "v", "", HR_FLOAT, &out, &err), HR_NOT_FOUND);
    assert_status(restore("new/a", "v", "", HR_DOUBLE, &out, &err), HR_INVALID_ARGUMENT);
    assert_status(restore("new/a", "v", "3 2 2,2:-", HR_FLOAT, &out, &err), HR_INVALID_ARGUMENT);
    assert_status(save("new/c", "v", "3 2 0,1:-", HR_SHAPE(3, 2), values, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "checkpoint.slice");
    assert_status(save("new/c", "step_of_c", "", HR_SHAPE(3, 2), values, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(files_in("new", true), 2);
}

static void names_are_as_many_as_tensors(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_error err;
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(6), values);
    const hr_node node =
        hr_new_node(g, "SaveV2", HR_INPUTS(TEXT("two"), TEXTS("a", "b"), TEXTS("", ""), hr_const(g, &t)));
    assert_status(run(g, node, 0, NULL, &err), HR_INVALID_ARGUMENT);
    hr_graph_free(g);
}

static hr_status merge(const char *a, const char *b, const char *to, bool allow_missing, hr_error *err)
{
    hr_graph *g = hr_graph_new();
    const hr_status st = run(g,
                             hr_new_node(g, "MergeV2Checkpoints", HR_INPUTS(TEXTS(a, b), TEXT(to)),
                                         HR_ATTRS(HR_BOOL_ATTR("allow_missing_files", allow_missing))),
                             0, NULL, err);
    hr_graph_free(g);
    return st;
}

/* As tf.train.Saver(sharded=True) does: two temporary ones become one, with the parts of a variable from both. */
static void checkpoints_become_one(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle *b;
    assert_ok(save("m_temp/part-0", "v", "3 2 0,1:-", HR_SHAPE(1, 2), values, &err), &err);
    assert_ok(save("m_temp/part-1", "v", "3 2 1,2:-", HR_SHAPE(2, 2), values + 2, &err), &err);
    assert_ok(merge("m_temp/part-0", "m_temp/part-1", "merged", false, &err), &err);
    expect_values("merged", "v", "", HR_SHAPE(3, 2), values);
    assert_ok(hr_bundle_open("merged", &b, &err), &err);
    assert_int_equal(hr_bundle_shards(b), 2);
    assert_ok(hr_bundle_check(b, &err), &err);
    hr_bundle_free(b);
    assert_int_equal(access("m_temp", F_OK), -1);
    assert_int_equal(access("merged.data-00001-of-00002", F_OK), 0);
}

static void missing_checkpoints_and_names_in_two_are_refused(void **state)
{
    (void)state;
    hr_error err;
    assert_ok(save("x0", "v", "", HR_SHAPE(6), values, &err), &err);
    assert_ok(save("x1", "v", "", HR_SHAPE(6), values, &err), &err);
    assert_status(merge("x0", "x1", "both", false, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "checkpoint.twice");
    assert_status(merge("x0", "absent", "both", false, &err), HR_NOT_FOUND);
    assert_status(merge("no", "absent", "both", true, &err), HR_NOT_FOUND);
    expect_values("x0", "v", "", HR_SHAPE(6), values); /* nothing was moved */
    assert_ok(merge("x0", "absent", "both", true, &err), &err);
    expect_values("both", "v", "", HR_SHAPE(6), values);
}

/* If an allocation fails, it is said, nothing leaks, and what is left can be read. */
static void merging_without_memory_fails(void **state)
{
    (void)state;
    static const char *const parts[] = {"starve/a", "starve/b"};
    hr_error err;
    hr_status st = HR_RESOURCE_EXHAUSTED;
    for (int64_t n = 0; st != HR_OK; n += 1 + n / 8) {
        hr_bundle *b = NULL;
        remove_folder("starve");
        assert_ok(save(parts[0], "v", "3 2 0,1:-", HR_SHAPE(1, 2), values, &err), &err);
        assert_ok(save(parts[1], "v", "3 2 1,2:-", HR_SHAPE(2, 2), values + 2, &err), &err);
        fail_allocation(n);
        st = hr_bundle_merge(parts, 2, "starve/all", &err);
        const bool all_given = allocations_since() <= n;
        assert_true(st == HR_OK || st == HR_RESOURCE_EXHAUSTED);
        if (all_given) assert_ok(st, &err);
        if (hr_bundle_open("starve/all", &b, &err) == HR_OK)
            expect_values("starve/all", "v", "", HR_SHAPE(3, 2), values);
        hr_bundle_free(b);
        assert_less(n, 10000);
    }
}

/* Also of the folders above the file. */
static void no_memory_is_said(void **state)
{
    (void)state;
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), values);
    hr_graph *g = hr_graph_new();
    const hr_node inputs[] = {TEXT("deep/folder/a"), TEXTS("x"), TEXTS(""), hr_const(g, &t)};
    const hr_node save = hr_target(hr_new_node(g, "SaveV2", .inputs = inputs, .input_count = 4));
    hr_session *s = hr_session_new(g);
    hr_error err = {0};
    assert_ok(hr_session_run(s, NULL, 0, &save, 1, NULL, &err), &err); /* it has a plan now */
    bool enough = false;
    for (int64_t n = 0; !enough; n++) {
        remove_folder("deep");
        fail_allocation(n);
        const hr_status st = hr_session_run(s, NULL, 0, &save, 1, NULL, &err);
        enough = allocations_since() <= n;
        if (enough) assert_ok(st, &err);
        if (st != HR_OK && strcmp(err.kind, "memory") != 0) fail_msg("%s", err.text);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory_is_said),
                                       cmocka_unit_test(what_is_saved_is_restored),
                                       cmocka_unit_test(names_are_as_many_as_tensors),
                                       cmocka_unit_test(checkpoints_become_one),
                                       cmocka_unit_test(merging_without_memory_fails),
                                       cmocka_unit_test(missing_checkpoints_and_names_in_two_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
