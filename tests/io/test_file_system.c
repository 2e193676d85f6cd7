/* A file system of one's own: files in memory under mem://, read, matched and indexed as others are. */
#include "io/file_system.h"
#include "tests/testing.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 4 };

/* Made by the test; names are whole. */
typedef struct memory_file {
    const char *name;
    char *bytes;
    size_t size;
} memory_file;

static memory_file files[FILES] = {{"mem://a/x-0.tfrecord", NULL, 0},
                                   {"mem://a/x-1.tfrecord", NULL, 0},
                                   {"mem://a/b/y.gz", NULL, 0},
                                   {"mem://top", NULL, 0}};
static size_t most = 1000; /* bytes a read gives */
static int64_t open_files, bad_offset = -1;

static hr_status mem_open(const char *path, void *user, void **file, hr_error *err)
{
    assert_ptr_equal(user, files);
    for (int i = 0; i < FILES; i++) {
        if (strcmp(files[i].name, path) != 0) continue;
        *file = &files[i];
        open_files++;
        return HR_OK;
    }
    return hr_fail(err, HR_NOT_FOUND, "file.open", "%s: there is none in memory", path);
}

static hr_status mem_read(void *file, int64_t offset, void *to, size_t size, size_t *got, hr_error *err)
{
    const memory_file *f = file;
    (void)err;
    if (offset == bad_offset) return HR_DATA_LOSS; /* without a word */
    *got = offset < (int64_t)f->size ? f->size - (size_t)offset : 0;
    if (*got > size) *got = size;
    if (*got > most) *got = most;
    if (*got > 0) memcpy(to, f->bytes + offset, *got);
    return HR_OK;
}

static void mem_close(void *file)
{
    (void)file;
    open_files--;
}

static hr_status mem_about(const char *path, void *user, hr_file_about *about, hr_error *err)
{
    const size_t size = strlen(path);
    (void)user, (void)err;
    for (int i = 0; i < FILES; i++) {
        if (strncmp(files[i].name, path, size) != 0) continue;
        if (files[i].name[size] && files[i].name[size] != '/') continue;
        *about = (hr_file_about){.size = (int64_t)files[i].size, .changed = 1, .is_folder = files[i].name[size] == '/'};
        return HR_OK;
    }
    return HR_NOT_FOUND;
}

static hr_status mem_list(const char *folder, void *user, void (*found)(const char *name, void *to), void *to,
                          hr_error *err)
{
    const bool root = strcmp(folder, "mem:/") == 0;
    const size_t size = root ? strlen("mem:/") : strlen(folder);
    char last[64] = "";
    (void)user, (void)err;
    for (int i = 0; i < FILES; i++) {
        char name[64];
        if (strncmp(files[i].name, folder, size) != 0 || files[i].name[size] != '/') continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(files[i].name + size + 1, "/"), files[i].name + size + 1);
        if (strcmp(name, last) != 0) found(name, to);
        strcpy(last, name);
    }
    return HR_OK;
}

static const hr_file_system memory = {sizeof memory, "mem", files, mem_open, mem_read, mem_close, mem_about, mem_list};

/* Five records in each file. */
static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) {
        hr_record_writer *w;
        const hr_output_opts opts = {.struct_size = sizeof opts,
                                     .no_sync = true,
                                     .compression = strstr(files[i].name, ".gz") ? HR_GZIP : HR_NONE};
        if (hr_record_writer_open("f", &opts, &w, NULL) != HR_OK) return -1;
        for (int r = 0; r < 5; r++) hr_record_write(w, files[i].name, strlen(files[i].name), NULL);
        if (hr_record_writer_commit(w, NULL) != HR_OK) return -1;
        files[i].bytes = read_whole_file("f", &files[i].size);
    }
    return hr_register_file_system(&memory, NULL) == HR_OK ? 0 : -1;
}

static int empty(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) free(files[i].bytes);
    return 0;
}

static void records_are_read_from_it(void **state)
{
    (void)state;
    for (most = 1; most < 400; most *= 7)
        for (int i = 0; i < FILES; i++) {
            hr_record_reader *reader;
            hr_error err;
            hr_view record;
            assert_ok(hr_record_reader_open(files[i].name, NULL, &reader, &err), &err);
            for (int r = 0; r < 5; r++) {
                assert_ok(hr_record_read(reader, &record, &err), &err);
                assert_int_equal(record.size, strlen(files[i].name));
                assert_memory_equal(record.data, files[i].name, (size_t)record.size);
            }
            assert_int_equal(hr_record_read(reader, &record, &err), HR_END);
            hr_record_reader_free(reader);
        }
    assert_int_equal(open_files, 0);
    most = 1000;
}

static void an_index_is_made_of_it(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) {
        hr_record_index *index;
        hr_error err;
        assert_ok(hr_record_index_open_with(files[i].name, NULL, &index, &err), &err);
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

static void patterns_match_in_it(void **state)
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
    const size_t before = most;
    assert_int_equal(hr_input_open_with("mem://a", NULL, &in, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "file.folder");
    assert_int_equal(hr_input_open_with("mem://none", NULL, &in, &err), HR_NOT_FOUND);
    assert_string_equal(err.text, "mem://none: there is none in memory");
    most = 77;
    bad_offset = 77;
    assert_ok(hr_input_open_with("mem://top", &(hr_input_opts){.buffer_size = 77}, &in, &err), &err);
    hr_input_consume(in, 70);
    assert_int_equal(hr_input_peek(in, 60, &data, &size, &err), HR_DATA_LOSS);
    assert_string_equal(err.text, "mem://top: cannot be read: DataLoss");
    assert_string_equal(err.kind, "file.read");
    hr_input_free(in);
    most = before;
    bad_offset = -1;
}

static void wrong_file_systems_are_refused(void **state)
{
    (void)state;
    hr_error err;
    assert_int_equal(hr_register_file_system(&memory, &err), HR_ALREADY_EXISTS);
    hr_file_system wrong = memory;
    wrong.scheme = "a/b";
    assert_int_equal(hr_register_file_system(&wrong, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "file_system.scheme");
    wrong.scheme = NULL;
    assert_int_equal(hr_register_file_system(&wrong, &err), HR_INVALID_ARGUMENT);
    wrong.scheme = "mem2";
    wrong.list = NULL;
    assert_int_equal(hr_register_file_system(&wrong, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "file_system.function");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read_from_it),       cmocka_unit_test(an_index_is_made_of_it),
        cmocka_unit_test(patterns_match_in_it),           cmocka_unit_test(what_fails_names_the_file),
        cmocka_unit_test(wrong_file_systems_are_refused),
    };
    return cmocka_run_group_tests(tests, fill, empty);
}
