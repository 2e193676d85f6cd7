/* A file system of one's own: files in memory under mem://, read, matched and indexed as others are. */
#include "io/file_system.h"
#include "tests/io/memory_files.h"
#include "tests/testing.h"
#include <string.h>

static void records_are_read_from_another_file_system(void **state)
{
    (void)state;
    for (memory_read.max = 1; memory_read.max < 400; memory_read.max *= 7)
        for (int i = 0; i < MEMORY_FILES; i++) {
            hr_record_reader *reader;
            hr_error err;
            hr_view record;
            assert_ok(hr_record_reader_open(memory_files[i].name, NULL, &reader, &err), &err);
            for (int r = 0; r < 5; r++) {
                assert_ok(hr_record_read(reader, &record, &err), &err);
                assert_int_equal(record.size, strlen(memory_files[i].name));
                assert_memory_equal(record.data, memory_files[i].name, (size_t)record.size);
            }
            assert_status(hr_record_read(reader, &record, &err), HR_END);
            hr_record_reader_free(reader);
        }
    assert_int_equal(memory_read.open, 0);
    memory_read.max = 1000;
}

static void an_index_is_made_of_a_file_in_another_file_system(void **state)
{
    (void)state;
    for (int i = 0; i < MEMORY_FILES; i++) {
        hr_record_index *index;
        hr_error err;
        assert_ok(hr_record_index_open_with(memory_files[i].name, NULL, &index, &err), &err);
        assert_int_equal(hr_record_index_count(index), 5);
        hr_record_index_free(index);
    }
}

static void files_are(const char *pattern, const char *expected)
{
    hr_file_list list;
    hr_error err;
    char got[1000] = "";
    const hr_status st = hr_match_files(pattern, &list, &err);
    if (st != HR_NOT_FOUND) assert_ok(st, &err);
    for (int64_t i = 0; i < list.count; i++) strcat(strcat(got, list.path[i]), " ");
    hr_file_list_clear(&list);
    assert_string_equal(got, expected);
}

static void patterns_match_in_another_file_system(void **state)
{
    (void)state;
    files_are("mem://a/x-*.tfrecord", "mem://a/x-0.tfrecord mem://a/x-1.tfrecord ");
    files_are("mem://*/x-1*", "mem://a/x-1.tfrecord ");
    files_are("mem://a/*", "mem://a/b mem://a/x-0.tfrecord mem://a/x-1.tfrecord ");
    files_are("mem://*", "mem://a mem://top ");
    files_are("mem://top", "mem://top ");
    files_are("mem://a/*/y.gz", "mem://a/b/y.gz ");
    files_are("mem://none/*", "");
    files_are("other://a/*", ""); /* of no scheme: the machine's own files */
}

static void what_fails_names_the_file(void **state)
{
    (void)state;
    hr_input *in;
    hr_error err;
    const char *data;
    size_t size;
    const size_t before = memory_read.max;
    assert_status(hr_input_open_with("mem://a", NULL, &in, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "file.folder");
    assert_status(hr_input_open_with("mem://none", NULL, &in, &err), HR_NOT_FOUND);
    assert_string_equal(err.text, "mem://none: there is none in memory");
    memory_read.max = 77;
    memory_read.bad_offset = 77;
    assert_ok(hr_input_open_with("mem://top", &(hr_input_opts){.buffer_size = 77}, &in, &err), &err);
    hr_input_consume(in, 70);
    assert_status(hr_input_peek(in, 60, &data, &size, &err), HR_DATA_LOSS);
    assert_string_equal(err.text, "mem://top: cannot be read: DataLoss");
    assert_string_equal(err.kind, "file.read");
    hr_input_free(in);
    memory_read.max = before;
    memory_read.bad_offset = -1;
}

static void wrong_file_systems_are_refused(void **state)
{
    (void)state;
    hr_error err;
    assert_status(hr_register_file_system(&memory_file_system, &err), HR_ALREADY_EXISTS);
    hr_file_system wrong = memory_file_system;
    wrong.scheme = "a/b";
    assert_status(hr_register_file_system(&wrong, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "file_system.scheme");
    wrong.scheme = NULL;
    assert_status(hr_register_file_system(&wrong, &err), HR_INVALID_ARGUMENT);
    wrong.scheme = "mem2";
    wrong.list = NULL;
    assert_status(hr_register_file_system(&wrong, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "file_system.function");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read_from_another_file_system),
        cmocka_unit_test(an_index_is_made_of_a_file_in_another_file_system),
        cmocka_unit_test(patterns_match_in_another_file_system),
        cmocka_unit_test(what_fails_names_the_file),
        cmocka_unit_test(wrong_file_systems_are_refused),
    };
    return cmocka_run_group_tests(tests, fill_memory_files, empty_memory_files);
}
