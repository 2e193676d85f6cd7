/* Patterns with more than TensorFlow's meaning: what they list, and that nothing that is named is missed. */
#include "tests/testing.h"
#include <headrace/io.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_files(void **state)
{
    (void)state;
    static const char *const folders[] = {"d", "d/s", "d/s/t", "e*", "w"};
    static const char *const names[] = {"d/p-07",  "d/p-08",    "d/p-09", "d/p-10", "d/x.tmp",
                                        "d/s/p-1", "d/s/t/p-2", "e*/p-1", "e*/{o}", "w/a"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) mkdir(folders[i], 0777);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) write_file(names[i], "", 0);
    assert_int_equal(symlink("..", "d/s/back"), 0);
    return 0;
}

/* The list, or the kind of what is wrong. */
static void are(const char *pattern, const char *expected)
{
    hr_file_list list;
    hr_error err;
    char got[1000] = "";
    hr_status status = hr_match_files_extended(pattern, &list, &err);
    if (status != HR_OK) strcat(got, err.kind);
    for (int64_t i = 0; i < list.count; i++) strcat(strcat(got, i ? " " : ""), list.path[i]);
    hr_file_list_clear(&list);
    assert_string_equal(got, expected);
}

static void braces_are_alternatives_and_ranges(void **state)
{
    (void)state;
    are("d/p-{07..10}", "d/p-07 d/p-08 d/p-09 d/p-10");
    are("d/p-{8..9}", "file.no_match"); /* names without the zero are not there */
    are("d/{p-07,x.tmp}", "d/p-07 d/x.tmp");
    are("{d/{p-0{7,8},s/p-1},w/a}", "d/p-07 d/p-08 d/s/p-1 w/a");
    are("d/p-0{[78],9}", "d/p-07 d/p-08 d/p-09");
    are("e\\*/\\{o\\}", "./e*/{o}");
    are("e\\*/{p-{1..1},\\{o\\}}", "./e*/p-1 ./e*/{o}");
    are("w/{a", "file.no_match");
    are("d/p-{10..07}", "file.pattern");
    are("d/p-{0..9999999}", "file.pattern");
}

static void two_stars_are_folders_of_any_depth(void **state)
{
    (void)state;
    are("d/**/p-?", "d/s/p-1 d/s/t/p-2");
    are("d/**", "d/p-07 d/p-08 d/p-09 d/p-10 d/s/p-1 d/s/t/p-2 d/x.tmp");
    are("**/p-1", "./d/s/p-1 ./e*/p-1");
    are("?/**/t/p-*", "./d/s/t/p-2");
    are("d/**/s/**/x", "file.pattern");
    are("d/x**", "d/x.tmp"); /* not a level of their own: stars like others */
}

static void what_is_excluded_goes_wherever_it_stands(void **state)
{
    (void)state;
    are("!*.tmp\nd/*-*\nd/x*", "d/p-07 d/p-08 d/p-09 d/p-10");
    are("d/**\n!d/s/**\n!p-{07..09}", "d/p-10 d/x.tmp");
    are("d/**\n!**/p-?", "d/p-07 d/p-08 d/p-09 d/p-10 d/x.tmp");
    are("*/a\n!w/a", "file.no_match");
}

static void a_manifest_names_files_from_its_own_folder(void **state)
{
    (void)state;
    static const char text[] = "# shards\r\np-10\r\n\ns/p-1\n../w/a";
    write_file("d/list", text, sizeof text - 1);
    are("@d/list", "d/../w/a d/p-10 d/s/p-1");
    are("@d/list\n!a", "d/p-10 d/s/p-1");
    write_file("d/list", "p-11\n", 5);
    are("@d/list", "file.no_match");
    are("@none", "file.open");
    unlink("d/list");
}

static void a_name_that_is_spelled_out_must_be_there(void **state)
{
    (void)state;
    hr_file_list list;
    hr_error err;
    are("d/p-0[0-6]\nw/a", "w/a");
    assert_status(hr_match_files_extended("d/p-{07..11}", &list, &err), HR_NOT_FOUND);
    assert_string_equal(err.file, "d/p-11");
    assert_int_equal(list.count, 0);
}

static void every_failing_allocation_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    write_file("list", "w/a\n", 4);
    const int64_t before = allocations_alive();
    hr_status status = HR_OUT_OF_RANGE;
    for (int64_t n = 0; status != HR_OK; n++) {
        hr_file_list list;
        hr_error err;
        fail_allocation(n);
        status = hr_match_files_extended("d/**/p-{1,2}\n@list\n!w/b", &list, &err);
        allocations_since();
        if (status != HR_OK) assert_status(status, HR_RESOURCE_EXHAUSTED);
        hr_file_list_clear(&list);
        assert_int_equal(allocations_alive(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(braces_are_alternatives_and_ranges),
        cmocka_unit_test(two_stars_are_folders_of_any_depth),
        cmocka_unit_test(what_is_excluded_goes_wherever_it_stands),
        cmocka_unit_test(a_manifest_names_files_from_its_own_folder),
        cmocka_unit_test(a_name_that_is_spelled_out_must_be_there),
        cmocka_unit_test(every_failing_allocation_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}
