/* What a killed process leaves of a file that it wrote is removed by the next one that writes in that folder; what
 * somebody writes at that time is not, whatever its name says. */
#include "io/temporary.h"
#include "tests/testing.h"
#include <errno.h>
#include <headrace/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static hr_output *begin(const char *path)
{
    hr_output *out = NULL;
    hr_error err;
    assert_ok(hr_output_open_with(path, &(hr_output_opts){.no_sync = true}, &out, &err), &err);
    return out;
}

/* A process that has begun a file: it ends at once, or when the other end of `end` is closed. */
static pid_t begin_elsewhere(const char *path, int begun, const int *end)
{
    const pid_t child = fork();
    char byte = 0;
    if (child != 0) return child;
    if (end) close(end[1]);
    (void)begin(path);
    (void)!write(begun, &byte, 1);
    if (end) (void)!read(end[0], &byte, 1);
    _exit(0);
}

static void what_killed_processes_left_is_removed(void **state)
{
    (void)state;
    int begun[2], end[2];
    char byte;
    mkdir("d", 0777);
    assert_int_equal(pipe(begun), 0);
    assert_int_equal(pipe(end), 0);
    const pid_t dead = begin_elsewhere("d/dead", begun[1], NULL);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    assert_int_equal(read(begun[0], &byte, 1), 1);
    write_file("d/.notes.tmp", "", 0);         /* of somebody else */
    write_file("d/a.1-0.headrace.tmp", "", 0); /* not hidden */
    write_file("d/.a-00000.headrace.part", "", 0);
    write_file("d/.a.1-0.headrace.tmp", "", 0);
    assert_int_equal(symlink("../d/.notes.tmp", "d/.b.1-0.headrace.tmp"), 0);
    assert_int_equal(files_in("d", true), 6);

    const pid_t living = begin_elsewhere("d/living", begun[1], end); /* removes what is left */
    assert_int_equal(read(begun[0], &byte, 1), 1);
    assert_int_equal(files_in("d", true), 5); /* and its own */
    hr_output *out = begin("d/mine");
    assert_int_equal(files_in("d", true), 6);
    close(end[1]);
    assert_int_equal(waitpid(living, NULL, 0), living);
    hr_output_discard(out);
    assert_int_equal(files_in("d", true), 5); /* this process looks but once */
    close(end[0]);
    close(begun[0]);
    close(begun[1]);
}

/* Each process looks around in the folder while others make, lock, rename and remove files there. */
static void writers_do_not_disturb_each_other(void **state)
{
    (void)state;
    enum { WRITERS = 8, ROUNDS = 5, FILES = 10 };
    mkdir("e", 0777);
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child[WRITERS];
        for (int w = 0; w < WRITERS; w++) {
            if ((child[w] = fork()) != 0) continue;
            hr_status status = HR_OK;
            for (int i = 0; i < FILES && status == HR_OK; i++) {
                char name[32];
                hr_output *out, *none;
                snprintf(name, sizeof name, "e/f-%d-%d", w, i);
                status = hr_output_open_with(name, &(hr_output_opts){.no_sync = true}, &out, NULL);
                if (status == HR_OK) status = hr_output_open_with("e/none", NULL, &none, NULL);
                if (status != HR_OK) break;
                hr_output_discard(none);
                status = hr_output_write(out, name, strlen(name), NULL);
                if (status == HR_OK) status = hr_output_commit(out, NULL);
            }
            _exit(status != HR_OK);
        }
        for (int w = 0; w < WRITERS; w++) {
            int code;
            assert_int_equal(waitpid(child[w], &code, 0), child[w]);
            assert_int_equal(code, 0);
        }
        assert_int_equal(files_in("e", true), WRITERS * FILES);
        assert_int_equal(files_in("e", false), WRITERS * FILES);
    }
    remove_folder("d");
    remove_folder("e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_killed_processes_left_is_removed),
        cmocka_unit_test(writers_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
