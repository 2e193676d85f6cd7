/* Every function that takes options gives the same for NULL, for a struct cut short after any of its fields by an older
 * caller, and for a longer one of a newer caller. The calls are made from the public headers (make_option_calls.cmake).
 *
 * Structs end where a page ends that must not be touched. Calls run in a child process, so that a crash is told by name. */
#include "tests/testing.h"

#include <headrace/headrace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a call is given, made anew for each, and what came of it. */
typedef struct calling {
    hr_graph *graph;
    hr_node node;
    hr_features *features;
    hr_iterator *iterator;
    hr_file_list files;
    hr_tensor tensor;
    hr_status status;
    hr_error err;
} calling;

typedef struct option_call {
    const char *name;
    size_t size; /* of its options struct */
    void (*call)(const void *opts, calling *c);
} option_call;

static hr_schema_file *schema_file;

#include "option_calls.inc"

enum { CALLS = sizeof option_calls / sizeof option_calls[0], LONGER = 64 };

/* What the child says to its parent. */
typedef struct report {
    int at; /* the call that runs */
    size_t size;
    char wrong[256];
} report;

static char *page; /* two of them: the second must not be touched */
static size_t page_size;

static void make_call(const option_call *c, const void *opts, calling *to)
{
    static const float number[6];
    *to = (calling){.graph = hr_graph_new(), .iterator = hr_iterate(hr_range(3))};
    to->node = hr_placeholder(to->graph, HR_FLOAT, HR_SHAPE(2, 3));
    to->tensor = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), number);
    to->features = hr_features_new(to->graph);
    c->call(opts, to);
    hr_features_free(to->features);
    hr_iterator_free(to->iterator);
    hr_graph_free(to->graph);
}

/* An options struct of `size` bytes that says so, all else zero up to `ours`, and ones from there on. */
static const void *options_of(size_t size, size_t ours)
{
    char *opts = page + page_size - size;
    memset(opts, 0, size);
    if (size > ours) memset(opts + ours, 0xff, size - ours);
    memcpy(opts, &size, sizeof size);
    return opts;
}

static void compare(const option_call *c, size_t size, const calling *null, const calling *with, report *r)
{
    if (null->status == with->status && null->err.code == with->err.code) return;
    snprintf(r->wrong, sizeof r->wrong, "%s: expected with %zu of %zu bytes what NULL gives, %d %.60s, found %d %.60s",
             c->name, size, c->size, null->status, null->err.text, with->status, with->err.text);
}

static void run_calls(report *r)
{
    for (; r->at < CALLS && !r->wrong[0]; r->at++) {
        const option_call *c = &option_calls[r->at];
        calling null, with;
        r->size = 0;
        make_call(c, NULL, &null);
        for (size_t size = sizeof(size_t); size <= c->size + LONGER; size += sizeof(size_t)) {
            if (size > c->size && size < c->size + LONGER) continue;
            r->size = size;
            make_call(c, options_of(size, c->size), &with);
            compare(c, size, &null, &with, r);
        }
    }
}

static void options_are_read_as_far_as_the_caller_knows_them(void **state)
{
    (void)state;
    hr_error err;
    write_file("schema.yaml", "int64: [a]\n", 11);
    assert_ok(hr_schema_file_open("schema.yaml", &schema_file, &err), &err);
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    page = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    report *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_ptr_not_equal(r, MAP_FAILED);
    assert_int_equal(mprotect(page + page_size, page_size, PROT_NONE), 0);

    /* A child goes as far as it gets; the next one begins after the call that failed. */
    int failures = 0;
    while (r->at < CALLS) {
        int status = 0;
        fflush(NULL);
        const pid_t child = fork();
        assert_int_not_equal(child, -1);
        if (child == 0) {
            run_calls(r);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (r->wrong[0]) {
            print_error("%s\n", r->wrong);
            failures++;
        } else if (status != 0) {
            print_error("%s: crashed with %zu of %zu bytes of options (0: NULL)\n", option_calls[r->at].name, r->size,
                        option_calls[r->at].size);
            failures++;
            r->at++;
        }
        r->wrong[0] = '\0';
    }
    assert_int_equal(failures, 0);
    hr_schema_file_free(schema_file);
    munmap(page, 2 * page_size);
    munmap(r, sizeof *r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_are_read_as_far_as_the_caller_knows_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
