/* Files as strings, and names of shards. */
#include "tests/train/ops/node_text.h"

#include <string.h>

static void shards_have_tensorflows_names(void **state)
{
    (void)state;
    EXPECT_NODE("ShardedFilename", "string[] 'a'; int32[] -1; int32[] 123456", "string[] 'a--0001-of-123456'");
    EXPECT_NODE("ShardedFilename", "string[] 'a'; int32[1] 1; int32[] 3", NULL);
    EXPECT_NODE("ShardedFilespec", "string[] 'a'; int32[] 12", "string[] 'a-\?\?\?\?\?-of-00012'");
}

static hr_status run(const char *op, const char *a, const char *b, hr_tensor *out, hr_error *err)
{
    hr_graph *g = hr_graph_new();
    const hr_view text[] = {hr_text_view(a), hr_text_view(b)};
    const hr_tensor t[] = {hr_tensor_of(HR_STRING, HR_SCALAR, &text[0]), hr_tensor_of(HR_STRING, HR_SCALAR, &text[1])};
    const hr_node in[] = {hr_const(g, &t[0]), b ? hr_const(g, &t[1]) : (hr_node){0}};
    const hr_node node = hr_new_node(g, op, .inputs = in, .input_count = b ? 2 : 1), done = hr_target(node);
    hr_session *s = hr_session_new(g);
    const hr_status st = hr_session_run(s, NULL, 0, out ? &node : &done, 1, out, err);
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    assert_ok(run("WriteFile", "new/deep/b.txt", "two\nlines", NULL, &err), &err);
    assert_ok(run("WriteFile", "new/deep/a.txt", "", NULL, &err), &err);
    assert_ok(run("ReadFile", "new/deep/b.txt", NULL, &out, &err), &err);
    const hr_view *view = out.data;
    assert_int_equal(view->size, 9);
    assert_memory_equal(view->data, "two\nlines", 9);
    hr_tensor_clear(&out);
    assert_status(run("ReadFile", "new/absent", NULL, &out, &err), HR_NOT_FOUND);
    EXPECT_NODE("ReadFile", "string[1] 'new/deep/b.txt'", NULL);
    EXPECT_NODE("ReadFile", "string[] 'new/deep/b.txt\\x00'", NULL);
    EXPECT_NODE("WriteFile", "string[] 'x'; string[1] 'abc'", NULL);
}

/* As in TensorFlow: of all patterns together in order, and none is no error. */
static void patterns_find_files_in_order(void **state)
{
    (void)state;
    write_file("pa", "", 0);
    write_file("pb", "", 0);
    EXPECT_NODE("MatchingFiles", "string[] 'p?'", "string[2] './pa' './pb'");
    EXPECT_NODE("MatchingFiles", "string[3] 'p[ab]' 'none*' 'pa*'", "string[3] './pa' './pa' './pb'");
    EXPECT_NODE("MatchingFiles", "string[] 'none/*'", "string[0]");
    EXPECT_NODE("MatchingFiles", "string[1,1] 'p*'", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shards_have_tensorflows_names),
                                       cmocka_unit_test(what_is_written_is_read),
                                       cmocka_unit_test(patterns_find_files_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
