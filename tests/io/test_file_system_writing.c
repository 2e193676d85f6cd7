/* Files of a registered file system that are written: whole under their name, or not at all. */
#include "tests/testing.h"
#include <headrace/convert.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 4 };

typedef struct stored {
    char name[64];
    char *bytes;
    size_t size;
} stored;

typedef struct store {
    stored file[FILES];
    int created, committed, discarded;
    size_t limit; /* a write beyond it fails */
} store;
static store disk = {.limit = SIZE_MAX};

static stored *find(const char *name)
{
    for (int i = 0; i < FILES; i++)
        if (strcmp(disk.file[i].name, name) == 0) return &disk.file[i];
    return NULL;
}

static hr_status store_open(const char *path, void *user, void **file, hr_error *err)
{
    assert_ptr_equal(user, &disk);
    *file = find(path);
    return *file ? HR_OK : hr_fail(err, HR_NOT_FOUND, "file.open", "%s: not stored", path);
}

static hr_status store_read(void *file, int64_t offset, void *to, size_t size, size_t *got, hr_error *err)
{
    const stored *f = file;
    (void)err;
    *got = offset < (int64_t)f->size ? f->size - (size_t)offset : 0;
    if (*got > size) *got = size;
    if (*got > 0) memcpy(to, f->bytes + offset, *got);
    return HR_OK;
}

static void store_close(void *file) { (void)file; }

static hr_status store_about(const char *path, void *user, hr_file_about *about, hr_error *err)
{
    const stored *f = find(path);
    (void)user, (void)err;
    if (!f) return HR_NOT_FOUND;
    *about = (hr_file_about){.size = (int64_t)f->size, .changed = 1};
    return HR_OK;
}

static hr_status store_list(const char *folder, void *user, void (*found)(const char *name, void *to), void *to,
                            hr_error *err)
{
    (void)folder, (void)user, (void)found, (void)to, (void)err;
    return HR_NOT_FOUND;
}

static hr_status store_create(const char *path, void *user, void **file, hr_error *err)
{
    (void)user;
    if (strlen(path) >= sizeof disk.file[0].name) return hr_fail(err, HR_INVALID_ARGUMENT, "file.open", "a long name");
    stored *f = calloc(1, sizeof *f);
    strcpy(f->name, path);
    disk.created++;
    *file = f;
    return HR_OK;
}

static hr_status store_write(void *file, const void *data, size_t size, hr_error *err)
{
    stored *f = file;
    (void)err;
    if (f->size + size > disk.limit) return HR_RESOURCE_EXHAUSTED; /* without a word */
    f->bytes = realloc(f->bytes, f->size + size + 1);
    memcpy(f->bytes + f->size, data, size);
    f->size += size;
    return HR_OK;
}

static hr_status store_commit(void *file, hr_error *err)
{
    stored *f = file, *old = find(f->name), *to = old ? old : find("");
    (void)err;
    disk.committed++;
    free(to->bytes);
    *to = *f;
    free(f);
    return HR_OK;
}

static void store_discard(void *file)
{
    stored *f = file;
    disk.discarded++;
    free(f->bytes);
    free(f);
}

static const hr_file_system stores = {
    .struct_size = sizeof stores,
    .scheme = "store",
    .user = &disk,
    .open = store_open,
    .read = store_read,
    .close = store_close,
    .about = store_about,
    .list = store_list,
    .create = store_create,
    .write = store_write,
    .commit = store_commit,
    .discard = store_discard,
};

static int set_up(void **state)
{
    (void)state;
    hr_file_system read_only = stores;
    read_only.scheme = "readonly";
    read_only.create = NULL;
    read_only.write = NULL;
    read_only.commit = NULL;
    read_only.discard = NULL;
    return hr_register_file_system(&stores, NULL) == HR_OK && hr_register_file_system(&read_only, NULL) == HR_OK ? 0
                                                                                                                 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) free(disk.file[i].bytes);
    return 0;
}

static void assert_records(const char *path, int count)
{
    hr_record_reader *reader;
    hr_error err;
    hr_view record;
    assert_ok(hr_record_reader_open(path, NULL, &reader, &err), &err);
    for (int r = 0; r < count; r++) {
        assert_ok(hr_record_read(reader, &record, &err), &err);
        assert_int_equal(record.size, sizeof r);
        assert_memory_equal(record.data, &r, sizeof r);
    }
    assert_status(hr_record_read(reader, &record, &err), HR_END);
    hr_record_reader_free(reader);
}

static void records_are_written_and_read_back(void **state)
{
    (void)state;
    for (int count = 0; count < 3000; count += 1499) { /* also over an older file */
        hr_record_writer *w;
        hr_error err;
        const hr_output_opts opts = {
            .struct_size = sizeof opts, .compression = count == 1499 ? HR_GZIP : HR_NONE, .buffer_size = 100};
        assert_ok(hr_record_writer_open("store://a/records", &opts, &w, &err), &err);
        for (int r = 0; r < count; r++) assert_ok(hr_record_write(w, &r, sizeof r, &err), &err);
        assert_int_equal(find("store://a/records") != NULL, count > 0); /* not seen before it is whole */
        assert_ok(hr_record_writer_commit(w, &err), &err);
        assert_records("store://a/records", count);
    }
    assert_int_equal(disk.created, 3);
    assert_int_equal(disk.committed, 3);
    assert_int_equal(disk.discarded, 0);
}

static void a_file_that_fails_or_is_given_up_leaves_the_old_one(void **state)
{
    (void)state;
    hr_output *out;
    hr_error err;
    const size_t size = find("store://a/records")->size;
    disk.discarded = 0;
    assert_ok(hr_output_open_with("store://a/records", NULL, &out, &err), &err);
    assert_ok(hr_output_write(out, "new", 3, &err), &err);
    hr_output_discard(out);
    assert_int_equal(disk.discarded, 1);
    disk.limit = 10;
    assert_ok(hr_output_open_with("store://a/records", NULL, &out, &err), &err);
    assert_ok(hr_output_write(out, "some bytes, and more", 20, &err), &err);
    assert_status(hr_output_commit(out, &err), HR_RESOURCE_EXHAUSTED);
    assert_string_equal(err.kind, "file.write");
    assert_string_equal(err.text, "store://a/records: cannot be written: ResourceExhausted");
    assert_string_equal(err.file, "store://a/records");
    disk.limit = SIZE_MAX;
    assert_int_equal(disk.discarded, 2);
    assert_int_equal(find("store://a/records")->size, size);
}

static void what_cannot_be_written_says_so(void **state)
{
    (void)state;
    hr_output *out;
    hr_error err;
    assert_status(hr_output_open_with("readonly://x", NULL, &out, &err), HR_UNIMPLEMENTED);
    assert_string_equal(err.kind, "file_system.write");
    assert_string_equal(err.file, "readonly://x");
    hr_file_system wrong = stores;
    wrong.scheme = "half";
    wrong.commit = NULL;
    assert_status(hr_register_file_system(&wrong, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "file_system.function");
}

/* A header that knew no writing has a shorter struct. */
static void an_older_program_registers_what_it_can_read(void **state)
{
    (void)state;
    hr_output *out;
    hr_error err;
    hr_file_system older = stores;
    older.struct_size = offsetof(hr_file_system, create);
    older.scheme = "older";
    assert_ok(hr_register_file_system(&older, &err), &err);
    assert_status(hr_output_open_with("older://x", NULL, &out, &err), HR_UNIMPLEMENTED);
}

static void csv_is_written_there(void **state)
{
    (void)state;
    static const char *const names[] = {"id", "name"};
    const int64_t id[] = {1, 2, 3};
    const hr_view text[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    const hr_tensor columns[] = {hr_tensor_of(HR_INT64, HR_SHAPE(3), id), hr_tensor_of(HR_STRING, HR_SHAPE(3), text)};
    hr_csv_writer *w;
    hr_error err;
    assert_ok(hr_csv_writer_open_with("store://rows.csv", names, 2, NULL, &w, &err), &err);
    assert_ok(hr_csv_write(w, columns, &err), &err);
    assert_ok(hr_csv_writer_commit(w, &err), &err);
    const stored *made = find("store://rows.csv");
    assert_int_equal(made->size, 20);
    assert_memory_equal(made->bytes, "id,name\n1,a\n2,b\n3,c\n", 20);
}

static void records_are_converted_there(void **state)
{
    (void)state;
    hr_record_writer *w;
    hr_error err;
    hr_view bytes;
    hr_file_list in = {0};
    assert_ok(hr_record_writer_open("store://examples.tfrecord", NULL, &w, &err), &err);
    hr_example *example = hr_example_new();
    for (int64_t i = 0; i < 3; i++) {
        hr_example_clear(example);
        hr_example_add_int64(example, "n", &i, 1);
        assert_ok(hr_example_bytes(example, &bytes, &err), &err);
        assert_ok(hr_record_write(w, bytes.data, (size_t)bytes.size, &err), &err);
    }
    hr_example_free(example);
    assert_ok(hr_record_writer_commit(w, &err), &err);
    assert_ok(hr_file_list_add(&in, "store://examples.tfrecord", &err), &err);
    assert_ok(hr_convert(&in, "store://rows.jsonl", NULL, &err), &err);
    hr_file_list_clear(&in);
    const stored *made = find("store://rows.jsonl");
    assert_non_null(made);
    assert_int_equal(made->size, 27);
    assert_memory_equal(made->bytes, "{\"n\": 0}\n{\"n\": 1}\n{\"n\": 2}\n", 27);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_written_and_read_back),
        cmocka_unit_test(a_file_that_fails_or_is_given_up_leaves_the_old_one),
        cmocka_unit_test(what_cannot_be_written_says_so),
        cmocka_unit_test(an_older_program_registers_what_it_can_read),
        cmocka_unit_test(csv_is_written_there),
        cmocka_unit_test(records_are_converted_there),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
