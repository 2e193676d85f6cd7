/* list_files: sorted, shuffled when asked, the source of an interleave. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 40 };

static int make_files(void **state)
{
    (void)state;
    for (int f = 0; f < FILES; f++) {
        char path[32];
        snprintf(path, sizeof path, "f-%d.txt", f);
        write_file(path, path, strlen(path));
    }
    return 0;
}

HR_SAMPLE(list_files) { return hr_batch(hr_list_files("f-*.txt", .shuffle = true, .seed = 3), 3); }
HR_SAMPLE(list_files_in_epochs) { return hr_repeat(hr_list_files("f-*.txt", .shuffle = true), .count = HR_I64(3)); }

static int names(hr_dataset *ds, way w, char name[][16], int room)
{
    const hr_element *e;
    int count = 0;
    hr_iterator *it = iterate(ds, w);
    for (; hr_next(it, &e) == HR_OK; count++) {
        const hr_view *view = hr_get(e, "value")->data;
        assert_less(count, room);
        assert_less(view->size, 16);
        snprintf(name[count], 16, "%.*s", (int)view->size, view->data);
    }
    hr_iterator_free(it);
    return count;
}

static int by_bytes(const void *a, const void *b) { return strcmp(a, b); }

static void list_files_sorts_unless_told_to_shuffle(void **state)
{
    (void)state;
    char sorted[2 * FILES][16], mixed[2 * FILES][16];
    assert_int_equal(names(hr_list_files("f-*.txt"), (way){0}, sorted, FILES), FILES);
    for (int f = 1; f < FILES; f++)
        if (strcmp(sorted[f - 1], sorted[f]) >= 0) fail_msg("expected %s after %s", sorted[f - 1], sorted[f]);
    assert_int_equal(names(hr_list_files("f-*.txt", .shuffle = true), (way){0}, mixed, FILES), FILES);
    assert_memory_not_equal(sorted, mixed, sizeof sorted / 2);
    qsort(mixed, FILES, sizeof *mixed, by_bytes);
    for (int f = 0; f < FILES; f++) assert_string_equal(sorted[f], mixed[f]);
}

static void list_files_knows_ranges_when_told(void **state)
{
    (void)state;
    char name[8][16];
    assert_int_equal(names(hr_list_files("f-{3..5}.txt\n!*4.txt", .extended = true), (way){0}, name, 8), 2);
    assert_string_equal(name[0], "f-3.txt");
    assert_string_equal(name[1], "f-5.txt");
    assert_fails(hr_list_files("f-{39..40}.txt", .extended = true), HR_NOT_FOUND, "file.no_match");
    assert_fails(hr_list_files("f-{3..5}.txt"), HR_INVALID_ARGUMENT, "list_files.no_match");
}

static void list_files_shuffles_anew_in_each_epoch_unless_told(void **state)
{
    (void)state;
    char name[2 * FILES][16];
    hr_dataset *ds = hr_repeat(hr_list_files("f-*.txt", .shuffle = true), .count = HR_I64(2));
    assert_int_equal(names(ds, (way){0}, name, 2 * FILES), 2 * FILES);
    int same = 0;
    for (int f = 0; f < FILES; f++) same += strcmp(name[f], name[FILES + f]) == 0;
    assert_less(same, FILES / 2);
    ds = hr_repeat(hr_list_files("f-*.txt", .shuffle = true, .same_each_epoch = true), .count = HR_I64(2));
    assert_int_equal(names(ds, (way){0}, name, 2 * FILES), 2 * FILES);
    for (int f = 0; f < FILES; f++) assert_string_equal(name[f], name[FILES + f]);
}

static void list_files_refuses_a_state_of_other_files(void **state)
{
    (void)state;
    static run got;
    size_t size;
    hr_error err;
    void *saved = NULL;
    hr_iterator *it = iterate(hr_list_files("f-1*.txt"), (way){0});
    got.count = 0;
    run_on(&got, it, 3);
    assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
    hr_iterator_free(it);
    write_file("f-100.txt", "", 0);
    run_all(&got, hr_list_files("f-1*.txt"), (way){.state = saved, .state_size = size});
    assert_int_equal(remove("f-100.txt"), 0);
    hr_free(saved);
    assert_status(got.end, HR_FAILED_PRECONDITION);
}

static void list_files_without_a_match_fails(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_list_files("g-*.txt"), (way){0});
    assert_status(got.end, HR_INVALID_ARGUMENT);
    assert_text_contains(got.error.text, "g-*.txt");
}

HR_ARGUMENTS(list_files, hr_list_files("f-*.txt", .shuffle = true, .seed = 3), hr_list_files("f-*.txt"),
             hr_list_files("f-*.txt", .shuffle = true, .seed = 4),
             hr_list_files("f-*.txt", .shuffle = true, .seed = 3, .same_each_epoch = true),
             hr_list_files("f-*.txt", .shuffle = true, .seed = 3, .extended = true));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(list_files),
        HR_CONFORMANCE_OF_ARGUMENTS(list_files),
        HR_CONFORMANCE(list_files_in_epochs),
        cmocka_unit_test(list_files_sorts_unless_told_to_shuffle),
        cmocka_unit_test(list_files_knows_ranges_when_told),
        cmocka_unit_test(list_files_shuffles_anew_in_each_epoch_unless_told),
        cmocka_unit_test(list_files_refuses_a_state_of_other_files),
        cmocka_unit_test(list_files_without_a_match_fails),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}
