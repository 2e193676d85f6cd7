/* File patterns: one name against one pattern, and whole lists, as TensorFlow gives them. */
#include "io/match.h"
#include "tests/testing.h"
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void one_name_matches_as_fnmatch_says(void **state)
{
    (void)state;
    /* Every short pattern of these bytes against every short name: the C library's answer is the oracle. */
    static const char in_pattern[] = "ab*?[]-!/\\", in_name[] = "ab/-[]";
    for (unsigned p = 0; p < 100000; p++) {
        char pattern[6];
        unsigned rest = p;
        for (int i = 0; i < 5; i++, rest /= 10) pattern[i] = in_pattern[rest % 10];
        pattern[5] = '\0';
        /* Sets are compared below; a lone backslash is undefined, and glibc misses an escaped slash after a star. */
        if (strchr(pattern, '[') || pattern[4] == '\\' || strstr(pattern, "\\/")) continue;
        for (unsigned n = 0; n < 6 * 6 * 6; n++) {
            char name[4] = {in_name[n % 6], in_name[n / 6 % 6], in_name[n / 36], '\0'};
            bool expected = fnmatch(pattern, name, FNM_PATHNAME) == 0;
            if (hr__glob_matches(pattern, name) != expected) fail_msg("%s against %s", pattern, name);
        }
    }
    static const char *const sets[][2] = {
        {"[ab]", "a"}, {"[ab]", "c"},        {"[a-c]", "b"},   {"[!a]", "b"},    {"[!a]", "a"},  {"[^a]", "b"},
        {"[]]", "]"},  {"[]a]", "a"},        {"[a-]", "-"},    {"[-a]", "-"},    {"[a", "[a"},   {"x[", "x["},
        {"[!a]", "/"}, {"[a-c][x-z]", "by"}, {"*[0-9]", "a1"}, {"*[0-9]", "1a"}, {"[\\]]", "]"}, {"[a\\-c]", "b"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_int_equal(hr__glob_matches(sets[i][0], sets[i][1]), fnmatch(sets[i][0], sets[i][1], FNM_PATHNAME) == 0);
    assert_true(hr__glob_matches("*", ".hidden"));
    assert_false(hr__glob_matches("?", "\xc5\xbc")); /* bytes, not characters */
}

static void files_are(const char *pattern, const char *expected)
{
    hr_file_list list;
    hr_error err;
    char got[1000] = "";
    hr_status status = hr_match_files(pattern, &list, &err);
    if (status == HR_NOT_FOUND) assert_text_contains(err.text, pattern[0] ? pattern : "\"\"");
    if (status != HR_OK) assert_status(status, HR_NOT_FOUND);
    for (int64_t i = 0; i < list.count; i++) strcat(strcat(got, list.path[i]), " ");
    hr_file_list_clear(&list);
    assert_string_equal(got, expected);
}

static void make_files(void)
{
    mkdir("d", 0777);
    mkdir("d/sub", 0777);
    mkdir("e", 0777);
    const char *const names[] = {"d/a-1", "d/a-10", "d/a-2",   "d/B",   "d/.h",
                                 "d/a*",  "d/a[0]", "d/sub/x", "e/a-1", "top"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) write_file(names[i], "", 0);
}

static void lists_are_sorted_by_bytes_and_walk_level_by_level(void **state)
{
    (void)state;
    make_files();
    files_are("d/*", "d/.h d/B d/a* d/a-1 d/a-10 d/a-2 d/a[0] d/sub ");
    files_are("d/a-?", "d/a-1 d/a-2 ");
    files_are("*/a-1", "./d/a-1 ./e/a-1 ");
    files_are("to*", "./top ");
    files_are("./to*", "./top ");
    files_are("d/*/x", "d/sub/x ");
    files_are("d/**/x", "d/sub/x ");
    files_are("d/sub", "d/sub ");
    files_are("d/sub/", "d/sub/ ");
    files_are("d/su*/", "d/sub ");
    files_are("top//", "top// ");
    files_are("none/", "");
    files_are("d//a-1", "d//a-1 ");
    files_are("d/../e/*", "d/../e/a-1 ");
    files_are("d/a\\*", "d/a* ");
    files_are("d/a\\[0]", "d/a[0] ");
    files_are("top/*", "");
    files_are("d/none-*", "");
    files_are("d/none", "");
    files_are("d/a-{1,2}", "");
    files_are("", "");
}

static void what_lies_beside_data_matches_only_what_ends_as_it_does(void **state)
{
    (void)state;
    const char *const names[] = {"o/.a.7-0.headrace.tmp",
                                 "o/.a-0.headrace.part",
                                 "o/.a-.headrace.shards",
                                 "o/.mine.tmp",
                                 "o/a",
                                 "o/a.hridx",
                                 "o/a.idx",
                                 "o/b.hridx",
                                 "o/c.idx",
                                 "o/d.headrace.tmp",
                                 "o/.f.headrace.part/x"};
    mkdir("o", 0777);
    mkdir("o/.f.headrace.part", 0777);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) write_file(names[i], "", 0);
    files_are("o/*", "o/.mine.tmp o/a o/b.hridx o/c.idx o/d.headrace.tmp "); /* only hidden names are ours */
    files_are("o/.f*/x", "o/.f.headrace.part/x ");
    files_are("o/a*", "o/a ");
    files_are("o/.a*", "");
    files_are("o/*.hridx", "o/a.hridx o/b.hridx ");
    files_are("o/a.*dx", "");
    files_are("o/.*.tmp", "o/.a.7-0.headrace.tmp o/.mine.tmp ");
    files_are("o/a.hridx", "o/a.hridx ");
    hr_file_list list;
    hr_error err;
    assert_ok(hr__source_files("o/a*", &list, &err), &err);
    assert_int_equal(list.count, 1);
    hr_file_list_clear(&list);
    assert_ok(hr_match_files_extended("o/**", &list, &err), &err);
    assert_int_equal(list.count, 5);
    hr_file_list_clear(&list);
}

static void several_patterns_are_one_sorted_list(void **state)
{
    (void)state;
    make_files();
    files_are("e/*\nd/a-1*", "d/a-1 d/a-10 e/a-1 ");
    files_are("d/a-1\nd/none*", "d/a-1 ");
    files_are("d/a-1*\nd/a-*0", "d/a-1 d/a-10 d/a-10 ");
}

static void a_source_keeps_the_order_of_patterns_and_misses_files_at_their_turn(void **state)
{
    (void)state;
    make_files();
    hr_file_list list;
    hr_error err;
    assert_ok(hr__source_files("e/a-1\nmissing\nd/a-1*", &list, &err), &err);
    const char *const expected[] = {"e/a-1", "missing", "d/a-1", "d/a-10"};
    assert_int_equal(list.count, 4);
    for (int i = 0; i < 4; i++) assert_string_equal(list.path[i], expected[i]);
    hr_file_list_clear(&list);
    assert_status(hr__source_files("x*\ny*", &list, &err), HR_NOT_FOUND);
}

static void every_failing_allocation_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    make_files();
    const int64_t before = allocations_alive();
    bool whole = false;
    for (int64_t n = 0; !whole; n++) {
        hr_file_list list;
        hr_error err;
        fail_allocation(n);
        hr_status status = hr_match_files("*/a*\nd/s*/x", &list, &err);
        whole = allocations_since() <= n;
        assert_int_equal(status, whole ? HR_OK : HR_RESOURCE_EXHAUSTED);
        hr_file_list_clear(&list);
        assert_int_equal(allocations_alive(), before);
    }
}

static void a_folders_name_in_front_of_patterns_is_none(void **state)
{
    (void)state;
    static const char *const sets[][3] = {
        {"d", "x*", "d/x*"},
        {"d/", "x", "d/x"},
        {"", "x*", "x*"},
        {"a[1]*", "x*", "a\\[1]\\*/x*"},
        {"d", "/abs/*", "/abs/*"},
        {"d", "a\n/b\nc*", "d/a\n/b\nd/c*"},
        {"a\\b?", "x", "a\\\\b\\?/x"},
        {"a{b}", "x{1,2}", "a\\{b}/x{1,2}"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char *pattern = hr__pattern_in(sets[i][0], sets[i][1]);
        assert_string_equal(pattern, sets[i][2]);
        hr_free(pattern);
    }
    hr_file_list list;
    hr_error err = {0};
    mkdir("a1", 0777);
    mkdir("a[1]", 0777);
    write_file("a1/x", "", 0);
    write_file("a[1]/x", "", 0);
    char *pattern = hr__pattern_in("a[1]", "x*");
    assert_ok(hr_match_files(pattern, &list, &err), &err);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.path[0], "./a[1]/x"); /* as TensorFlow names what a pattern at the front matches */
    hr_file_list_clear(&list);
    hr_free(pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_name_matches_as_fnmatch_says),
        cmocka_unit_test(lists_are_sorted_by_bytes_and_walk_level_by_level),
        cmocka_unit_test(what_lies_beside_data_matches_only_what_ends_as_it_does),
        cmocka_unit_test(several_patterns_are_one_sorted_list),
        cmocka_unit_test(a_source_keeps_the_order_of_patterns_and_misses_files_at_their_turn),
        cmocka_unit_test(every_failing_allocation_is_an_error_and_leaks_nothing),
        cmocka_unit_test(a_folders_name_in_front_of_patterns_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
