/* Injected faults, for every reader and writer: what the system does wrong is either without consequence, or an error
 * that says so. Never other data, never half a file, never a leak. */
#include "io/csv/csv.h"
#include "io/policy/quarantine.h"
#include "io/table/table.h"
#include "tests/io/faults.h"
#include "tests/testing.h"
#include <dirent.h>
#include <errno.h>
#include <headrace/record_sets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 400, MOST_CALLS = 4000 };

/* What a reader saw, in one number; and how it ended. */
typedef struct seen {
    uint64_t sum;
    hr_status end;
    hr_error error;
} seen;

static void see(seen *s, const void *bytes, size_t size) { s->sum = hr_crc32c((uint32_t)s->sum, bytes, size) + size; }

/* ---- readers: each reads the whole of a file ---- */

typedef struct reader {
    const char *path;
    hr_status (*read)(const char *path, seen *s);
} reader;

static hr_status read_all(hr_record_reader *r, seen *s)
{
    hr_view record;
    hr_status st;
    while ((st = hr_record_read(r, &record, &s->error)) == HR_OK) see(s, record.data, (size_t)record.size);
    hr_record_reader_free(r);
    return st;
}

static hr_status read_records(const char *path, seen *s)
{
    hr_record_reader *r;
    const hr_input_opts opts = {.struct_size = sizeof opts, .buffer_size = 500};
    HR_TRY(hr_record_reader_open(path, &opts, &r, &s->error));
    return read_all(r, s);
}

static hr_status read_damaged(const char *path, seen *s)
{
    hr_record_reader *r;
    const hr_record_opts opts = {.struct_size = sizeof opts,
                                 .buffer_size = 500,
                                 .policy = {.on_error = HR_QUARANTINE, .quarantine_file = "quarantine"}};
    unlink("quarantine");
    HR_TRY(hr_record_reader_open_with(path, &opts, &r, &s->error));
    return read_all(r, s);
}

static hr_status read_csv(const char *path, seen *s)
{
    hr__csv_format *format;
    hr__csv_file *file = NULL;
    hr__csv_block block;
    const hr_csv_column column = {.name = "id", .dtype = HR_INT64};
    const hr_csv_opts opts = {.struct_size = sizeof opts, .columns = &column, .column_count = 1};
    HR_TRY(hr__csv_format_new(&opts, &format, &s->error));
    hr_status st = hr__csv_open(format, path, &file, &s->error);
    while (st == HR_OK && (st = hr__csv_read(file, 300, 1000, &block, &s->error)) == HR_OK)
        see(s, block.data, block.size);
    hr__csv_close(file);
    hr__csv_format_free(format);
    return st;
}

static hr_status see_entry(hr_view key, hr_view value, void *user, hr_error *err)
{
    (void)err;
    see(user, key.data, (size_t)key.size);
    see(user, value.data, (size_t)value.size);
    return HR_OK;
}

static hr_status read_table(const char *path, seen *s)
{
    hr__table *table;
    HR_TRY(hr__table_open(path, &table, &s->error));
    const hr_status st = hr__table_each(table, see_entry, s, &s->error);
    hr__table_free(table);
    return st == HR_OK ? HR_END : st;
}

static const reader readers[] = {
    {"plain.tfrecord", read_records},
    {"f.gz", read_records},
    {"f.zlib", read_records},
    {"damaged.tfrecord", read_damaged},
    {"rows.csv", read_csv},
    {"rows.csv.gz", read_csv},
    {"table", read_table},
};
enum { READERS = sizeof readers / sizeof *readers };

static seen run_reader(const reader *r)
{
    seen s = {0};
    s.end = r->read(r->path, &s);
    return s;
}

/* ---- writers: each writes the whole of a file ---- */

static const char *row_text(int i)
{
    static char text[64];
    snprintf(text, sizeof text, "%d,row number %d\n", i, i * i);
    return text;
}

static hr_status write_records(const char *path, hr_error *err)
{
    hr_record_writer *w;
    const hr_output_opts opts = {.struct_size = sizeof opts, .buffer_size = 1000};
    HR_TRY(hr_record_writer_open(path, &opts, &w, err));
    hr_status st = HR_OK;
    for (int i = 0; i < ROWS && st == HR_OK; i++) st = hr_record_write(w, row_text(i), strlen(row_text(i)), err);
    if (st == HR_OK) return hr_record_writer_commit(w, err);
    hr_record_writer_discard(w);
    return st;
}

static hr_status write_csv(const char *path, hr_error *err)
{
    hr_output *out;
    const hr_output_opts opts = {.struct_size = sizeof opts, .buffer_size = 1000};
    HR_TRY(hr_output_open_with(path, &opts, &out, err));
    hr_status st = hr_output_write(out, "id,name\n", 8, err);
    for (int i = 0; i < ROWS && st == HR_OK; i++) st = hr_output_write(out, row_text(i), strlen(row_text(i)), err);
    if (st == HR_OK) return hr_output_commit(out, err);
    hr_output_discard(out);
    return st;
}

static hr_status fill_table(hr_output *out, hr_error *err)
{
    hr__table_writer *w = hr__table_writer_new(out);
    if (!w) return hr_no_memory(err, "a table");
    hr_status st = HR_OK;
    for (int i = 0; i < ROWS && st == HR_OK; i++) {
        char key[16];
        const int size = snprintf(key, sizeof key, "%08d", i);
        const char *value = row_text(i);
        st = hr__table_add(w, (hr_view){key, size}, (hr_view){value, (int64_t)strlen(value)}, err);
    }
    if (st == HR_OK) st = hr__table_finish(w, err);
    hr__table_writer_free(w);
    return st;
}

static hr_status write_table(const char *path, hr_error *err)
{
    hr_output *out;
    HR_TRY(hr_output_open_with(path, NULL, &out, err));
    const hr_status st = fill_table(out, err);
    if (st == HR_OK) return hr_output_commit(out, err);
    hr_output_discard(out);
    return st;
}

static hr_status repair_in_place(const char *path, hr_error *err)
{
    hr_repair_report report;
    return hr_repair_records_with(path, NULL, NULL, &report, err);
}

typedef struct writer {
    const char *path;
    hr_status (*write)(const char *path, hr_error *err);
} writer;

static const writer writers[] = {
    {"plain.tfrecord", write_records}, {"f.gz", write_records},    {"f.zlib", write_records},
    {"rows.csv", write_csv},           {"rows.csv.gz", write_csv}, {"table", write_table},
};
enum { WRITERS = sizeof writers / sizeof *writers };

static void make_damaged(void)
{
    size_t size;
    char *bytes = read_whole_file("plain.tfrecord", &size);
    bytes[size / 2] ^= 8;
    write_file("damaged.tfrecord", bytes, size);
    free(bytes);
}

static int make_files(void **state)
{
    (void)state;
    hr_error err;
    for (int i = 0; i < WRITERS; i++) assert_ok(writers[i].write(writers[i].path, &err), &err);
    make_damaged();
    return 0;
}

static int temporary_files(void)
{
    int count = 0;
    DIR *folder = opendir(".");
    for (struct dirent *e; folder && (e = readdir(folder));) count += strstr(e->d_name, ".tmp") != NULL;
    if (folder) closedir(folder);
    return count;
}

/* ---- the faults ---- */

static void short_and_interrupted_reads_change_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < READERS; i++) {
        const seen want = run_reader(&readers[i]);
        if (want.end != HR_END) fail_msg("%s: %s", readers[i].path, want.error.text);
        for (size_t max = 1; max < 200; max = 3 * max + 4) {
            use_faults(&(faults){.max = max, .interrupted = true, .call = -1});
            const seen got = run_reader(&readers[i]);
            use_faults(NULL);
            if (got.end != HR_END) fail_msg("%s: %s", readers[i].path, got.error.text);
            assert_int_equal(got.sum, want.sum);
        }
    }
}

static void a_read_that_fails_is_an_error_that_names_the_file(void **state)
{
    (void)state;
    for (int i = 0; i < READERS; i++) {
        const seen want = run_reader(&readers[i]);
        for (int call = 0; call < MOST_CALLS; call++) {
            faults f = {.call = call, .number = EIO};
            const int64_t alive = allocations_alive();
            use_faults(&f);
            const seen got = run_reader(&readers[i]);
            use_faults(NULL);
            assert_int_equal(allocations_alive(), alive);
            if (f.calls <= call) break;
            if (got.end >= 0) fail_msg("%s: call %d failed, and nobody said so", readers[i].path, call);
            assert_text_begins(got.error.kind, "file.");
            assert_true(got.error.file[0]);
        }
        assert_int_equal(run_reader(&readers[i]).sum, want.sum);
    }
}

static void no_memory_is_said_and_leaks_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < READERS; i++) {
        const int64_t alive = allocations_alive();
        for (int64_t n = 0;; n++) {
            fail_allocation(n);
            const seen got = run_reader(&readers[i]);
            const bool failed = allocations_since() > n;
            if (failed && got.end != HR_RESOURCE_EXHAUSTED)
                fail_msg("%s: allocation %d: %s", readers[i].path, (int)n, hr_status_name(got.end));
            assert_int_equal(allocations_alive(), alive);
            if (!failed) break;
        }
    }
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    for (int i = 0; i <= WRITERS; i++) {
        const writer w = i < WRITERS ? writers[i] : (writer){"damaged.tfrecord", repair_in_place};
        size_t size, after;
        char *before = read_whole_file(w.path, &size);
        for (int call = 0; call < MOST_CALLS; call++) {
            hr_error err;
            faults f = {.call = call, .number = ENOSPC};
            use_faults(&f);
            const hr_status st = w.write(w.path, &err);
            use_faults(NULL);
            if (f.calls <= call) break;
            assert_int_equal(temporary_files(), 0);
            if (st == HR_OK && f.calls - call <= 2) break; /* it has its name, only its folder is not synced */
            if (st == HR_OK) fail_msg("%s: call %d failed, and nobody said so", w.path, call);
            assert_text_begins(err.kind, "file.");
            char *now = read_whole_file(w.path, &after);
            assert_int_equal(after, size);
            assert_memory_equal(now, before, size);
            free(now);
        }
        free(before);
    }
    make_damaged();
}

static void short_and_interrupted_writes_change_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < WRITERS; i++) {
        hr_error err;
        size_t size, after;
        char *before = read_whole_file(writers[i].path, &size);
        use_faults(&(faults){.max = 7, .interrupted = true, .call = -1});
        const hr_status st = writers[i].write(writers[i].path, &err);
        use_faults(NULL);
        assert_ok(st, &err);
        char *now = read_whole_file(writers[i].path, &after);
        assert_int_equal(after, size);
        assert_memory_equal(now, before, size);
        free(before);
        free(now);
    }
}

/* Somebody cuts the file just after a record while it is read: nothing in the bytes says so. */
static void a_file_that_shrinks_is_an_error(void **state)
{
    (void)state;
    hr_record_reader *r;
    hr_error err;
    hr_view record;
    hr_status st;
    size_t size;
    int64_t cut = 0;
    char *bytes = read_whole_file("plain.tfrecord", &size);
    write_file("shrinks", bytes, size);
    const hr_input_opts opts = {.struct_size = sizeof opts, .buffer_size = 500};
    assert_ok(hr_record_reader_open("shrinks", &opts, &r, &err), &err);
    for (int i = 0; i < 10; i++) assert_ok(hr_record_read(r, &record, &err), &err);
    for (int i = 0; i < 200; i++) cut += 16 + (int64_t)strlen(row_text(i));
    assert_int_equal(truncate("shrinks", cut), 0);
    while ((st = hr_record_read(r, &record, &err)) == HR_OK) {}
    assert_status(st, HR_DATA_LOSS);
    assert_string_equal(err.kind, "file.shrunk");
    assert_string_equal(err.file, "shrinks");
    hr_record_reader_free(r);
    free(bytes);
}

/* Somebody writes over the part that was not read yet. */
static void a_file_that_changes_gives_no_wrong_record(void **state)
{
    (void)state;
    hr_record_reader *r;
    hr_error err;
    hr_view record;
    hr_status st;
    size_t size;
    char *bytes = read_whole_file("plain.tfrecord", &size);
    write_file("changes", bytes, size);
    const hr_input_opts opts = {.struct_size = sizeof opts, .buffer_size = 500};
    assert_ok(hr_record_reader_open("changes", &opts, &r, &err), &err);
    for (int i = 0; i < 10; i++) assert_ok(hr_record_read(r, &record, &err), &err);
    memset(bytes + size / 2, 'x', 300);
    FILE *f = fopen("changes", "r+b"); /* the same file, not another one of its name */
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
    int more = 10;
    for (; (st = hr_record_read(r, &record, &err)) == HR_OK; more++)
        assert_memory_equal(record.data, row_text(more), (size_t)record.size);
    assert_status(st, HR_DATA_LOSS);
    assert_less(more, ROWS);
    hr_record_reader_free(r);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_and_interrupted_reads_change_nothing),
        cmocka_unit_test(a_read_that_fails_is_an_error_that_names_the_file),
        cmocka_unit_test(no_memory_is_said_and_leaks_nothing),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(short_and_interrupted_writes_change_nothing),
        cmocka_unit_test(a_file_that_shrinks_is_an_error),
        cmocka_unit_test(a_file_that_changes_gives_no_wrong_record),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}
