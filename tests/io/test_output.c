/* Writing whole or not at all: whatever fails, and wherever the process dies, the old file or the new one is there. */
#include "tests/io/faults.h"
#include "tests/testing.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <headrace/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BIG = 700 * 1000 };

static char big[BIG];

static hr_status write_big(const char *path, hr_compression compression, hr_error *err)
{
    hr_output *out;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression};
    HR_TRY(hr_output_open_with(path, &opts, &out, err));
    for (size_t at = 0; at < BIG; at += 70000)
        if (hr_output_write(out, big + at, 70000, NULL) != HR_OK) break; /* it sticks until commit */
    return hr_output_commit(out, err);
}

static int files_here(void)
{
    int count = 0;
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static void file_is(const char *path, const char *bytes, size_t size)
{
    size_t got;
    char *data = read_whole_file(path, &got);
    assert_int_equal(got, size);
    assert_memory_equal(data, bytes, size);
    free(data);
}

static void a_file_is_there_only_when_committed(void **state)
{
    (void)state;
    hr_output *out;
    hr_error err;
    assert_ok(hr_output_open_with("f", NULL, &out, &err), &err);
    assert_ok(hr_output_write(out, "new", 3, &err), &err);
    assert_int_equal(hr_output_offset(out), 3);
    assert_int_equal(access("f", F_OK), -1);
    assert_ok(hr_output_commit(out, &err), &err);
    file_is("f", "new", 3);
    assert_ok(hr_output_open_with("f", NULL, &out, &err), &err);
    assert_ok(hr_output_write(out, "newer", 5, &err), &err);
    hr_output_discard(out);
    file_is("f", "new", 3);
    assert_int_equal(files_here(), 1);
    unlink("f");
}

static void short_and_interrupted_writes_change_nothing(void **state)
{
    (void)state;
    hr_error err;
    faults f = {.max = 997, .interrupted = true, .call = -1};
    use_faults(&f);
    assert_ok(write_big("f", HR_NONE, &err), &err);
    use_faults(NULL);
    file_is("f", big, BIG);
    unlink("f");
}

/* Of every call: it fails with a full or broken disk, then the old file is there, nothing else, and the error says
 * why. */
static void every_failing_call_leaves_the_old_file_alone(void **state)
{
    (void)state;
    const int numbers[] = {ENOSPC, EIO};
    for (int i = 0; i < 2; i++) {
        faults f = {.call = 0, .number = numbers[i]};
        for (bool renamed = false; !renamed; f.call++) {
            hr_error err;
            write_file("f", "old", 3);
            f.calls = 0;
            use_faults(&f);
            hr_status status = write_big("f", HR_NONE, &err);
            use_faults(NULL);
            if (f.calls <= f.call || status == HR_OK) break;
            assert_int_equal(status, numbers[i] == ENOSPC ? HR_RESOURCE_EXHAUSTED : HR_DATA_LOSS);
            assert_string_equal(err.file, "f");
            assert_int_equal(files_here(), 1);
            struct stat about;
            assert_int_equal(stat("f", &about), 0);
            renamed = about.st_size == BIG; /* only the folder could not be synced */
            if (!renamed) file_is("f", "old", 3);
        }
        assert_at_least(f.call, 5); /* open, three writes, sync, rename */
    }
    unlink("f");
}

static void a_process_killed_anywhere_leaves_the_old_file_or_the_new_one(void **state)
{
    (void)state;
    for (int call = 0;; call++) {
        write_file("f", "old", 3);
        pid_t child = fork();
        if (child == 0) {
            faults f = {.call = call, .exits = true};
            use_faults(&f);
            _exit(write_big("f", HR_NONE, NULL) == HR_OK ? 0 : 1);
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        struct stat about;
        assert_int_equal(stat("f", &about), 0);
        if (about.st_size == 3)
            file_is("f", "old", 3);
        else
            file_is("f", big, BIG);
        if (WEXITSTATUS(how) == 0) break;
        assert_int_equal(WEXITSTATUS(how), 9);
    }
    assert_int_equal(system("rm -f f .f.*"), 0);
}

static void rights_and_links_are_kept(void **state)
{
    (void)state;
    hr_error err;
    struct stat about;
    write_file("secret", "old", 3);
    chmod("secret", 0600);
    assert_int_equal(symlink("secret", "link"), 0);
    assert_ok(write_big("link", HR_NONE, &err), &err);
    assert_int_equal(lstat("link", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat("secret", &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    file_is("secret", big, BIG);
    unlink("link");
    unlink("secret");
}

static void devices_are_written_to_and_not_replaced(void **state)
{
    (void)state;
    hr_error err;
    struct stat about;
    assert_ok(write_big("/dev/null", HR_NONE, &err), &err);
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
    int saved = dup(STDOUT_FILENO), file = open("out", O_WRONLY | O_CREAT, 0666);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    hr_status status = write_big("-", HR_NONE, &err);
    dup2(saved, STDOUT_FILENO);
    close(file);
    close(saved);
    assert_ok(status, &err);
    file_is("out", big, BIG);
    unlink("out");
}

static void folders_above_a_file_are_made_once(void **state)
{
    (void)state;
    struct stat about;
    hr_error err;
    assert_ok(hr_make_folders_above("f", &err), &err);
    assert_int_equal(files_here(), 0);
    for (int again = 0; again < 2; again++) assert_ok(hr_make_folders_above("a/b/c", &err), &err);
    assert_int_equal(stat("a/b", &about), 0);
    assert_true(S_ISDIR(about.st_mode));
    assert_int_not_equal(stat("a/b/c", &about), 0);
    assert_status(hr_make_folders_above("/dev/null/a/b", &err), HR_INVALID_ARGUMENT);
    assert_status(hr_make_folders_above(NULL, &err), HR_INVALID_ARGUMENT);
    rmdir("a/b");
    rmdir("a");
}

static void what_cannot_be_written_is_refused_at_once(void **state)
{
    (void)state;
    hr_output *out;
    hr_error err;
    assert_status(hr_output_open_with("no/such/folder/f", NULL, &out, &err), HR_NOT_FOUND);
    assert_string_equal(err.file, "no/such/folder/f");
    assert_status(hr_output_open_with("/tmp", NULL, &out, &err), HR_INVALID_ARGUMENT);
    const hr_output_opts level = {.struct_size = sizeof level, .level = 10};
    assert_status(hr_output_open_with("f.gz", &level, &out, &err), HR_INVALID_ARGUMENT);
    const hr_output_opts codec = {.struct_size = sizeof codec, .compression = (hr_compression)99};
    assert_status(hr_output_open_with("f.gz", &codec, &out, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(files_here(), 0);
}

static void every_failing_allocation_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    for (int compression = HR_NONE; compression <= HR_ZLIB; compression++) {
        bool whole = false;
        const int64_t before = allocations_alive();
        for (int64_t n = 0; !whole; n++) {
            hr_error err;
            fail_allocation(n);
            hr_status status = write_big("f", (hr_compression)compression, &err);
            whole = allocations_since() <= n;
            assert_int_equal(status, whole ? HR_OK : HR_RESOURCE_EXHAUSTED);
            assert_int_equal(allocations_alive(), before);
        }
        unlink("f");
        assert_int_equal(files_here(), 0);
    }
}

int main(void)
{
    for (int i = 0; i < BIG; i++) big[i] = (char)hr_random(3, (uint64_t)i);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_there_only_when_committed),
        cmocka_unit_test(short_and_interrupted_writes_change_nothing),
        cmocka_unit_test(every_failing_call_leaves_the_old_file_alone),
        cmocka_unit_test(a_process_killed_anywhere_leaves_the_old_file_or_the_new_one),
        cmocka_unit_test(rights_and_links_are_kept),
        cmocka_unit_test(devices_are_written_to_and_not_replaced),
        cmocka_unit_test(folders_above_a_file_are_made_once),
        cmocka_unit_test(what_cannot_be_written_is_refused_at_once),
        cmocka_unit_test(every_failing_allocation_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL); /* in an empty folder: they count what lies there */
}
