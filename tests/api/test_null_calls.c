/* No function of the trainer crashes because it is given NULL, or a struct of zeros, in the place of any one argument, of
 * all of them, or of all but the first, nor because a number is below 0. The calls are made from the public headers (make_null_calls.cmake). What only
 * functions of kits are handed is not among them. They run in a child process, so that a crash is told by name. */
#include "tests/testing.h"

#include <headrace/headrace.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a call is given where it is not given NULL. */
typedef struct calling {
    hr_graph *graph;
    hr_session *session;
    hr_node node;
    hr_features *features;
    hr_tensor tensor;
    hr_saver *saver;
    hr_bundle *bundle;
    hr_bundle_writer *bundle_writer;
    hr_event_writer *events;
    hr_summary_writer *summaries;
    int number;
} calling;

typedef struct null_call {
    const char *name;
    int arguments, takes; /* takes: frees the first one */
    void (*call)(calling *c, unsigned none);
} null_call;

#include "null_calls.inc"

enum { CALLS = sizeof null_calls / sizeof null_calls[0] };

/* How far the child is: call, and what it leaves out. */
typedef struct report {
    int at, variant, number;
} report;

static void make_call(const null_call *call, unsigned none, int number, const calling *files)
{
    static const float values[6];
    calling c = *files;
    c.number = number;
    c.graph = hr_graph_new();
    c.node = hr_placeholder(c.graph, HR_FLOAT, HR_SHAPE(2, 3));
    c.session = hr_session_new(c.graph, .workers = &(int){0});
    c.features = hr_features_new(c.graph);
    c.tensor = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values);
    call->call(&c, none);
    if (call->takes) return;
    hr_features_free(c.features);
    hr_session_rest(NULL);
    hr_session_free(c.session);
    hr_graph_free(c.graph);
}

/* All, all but the first, and each by itself; -1: there is no such variant. */
static int64_t left_out(const null_call *call, int variant)
{
    const unsigned all = (1u << call->arguments) - 1;
    if (variant == 0) return all;
    if (call->takes || variant > call->arguments + 1) return -1;
    return variant == 1 ? all & ~1u : 1u << (variant - 2);
}

static void open_files(calling *files)
{
    hr_error err;
    const float number[2] = {1, 2};
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), number);
    hr_bundle_writer *w = NULL;
    assert_ok(hr_bundle_writer_open("bundle", &w, &err), &err);
    assert_ok(hr_bundle_add(w, "x", &t, &err), &err);
    assert_ok(hr_bundle_writer_commit(w, &err), &err);
    assert_ok(hr_bundle_open("bundle", &files->bundle, &err), &err);
    assert_ok(hr_bundle_writer_open("another", &files->bundle_writer, &err), &err);
    assert_ok(hr_saver_open("saves", &files->saver, &err), &err);
    assert_ok(hr_event_writer_open("events", &files->events, &err), &err);
    files->summaries = hr_summary_writer_new("summaries");
}

static void close_files(calling *files)
{
    hr_bundle_free(files->bundle);
    hr_bundle_writer_discard(files->bundle_writer);
    hr_saver_free(files->saver);
    hr_event_writer_free(files->events);
    hr_summary_writer_unref(files->summaries);
}

static void run_calls(report *r, const calling *files)
{
    for (; r->at < CALLS; r->at++, r->variant = 0)
        for (; left_out(&null_calls[r->at], r->variant) >= 0; r->variant++, r->number = 0)
            for (; r->number < 2; r->number++)
                make_call(&null_calls[r->at], (unsigned)left_out(&null_calls[r->at], r->variant), r->number ? -1 : 1,
                          files);
}

static void nothing_in_the_place_of_an_argument_crashes(void **state)
{
    (void)state;
    calling files = {0};
    int failures = 0;
    report *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(r, MAP_FAILED);
    open_files(&files);
    while (r->at < CALLS) {
        int status = 0;
        fflush(NULL);
        const pid_t child = fork();
        assert_int_not_equal(child, -1);
        if (child == 0) {
            run_calls(r, &files);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status == 0) continue;
        print_error("%s: crashed without the arguments of the bits %#llx, numbers are %d\n", null_calls[r->at].name,
                    (unsigned long long)left_out(&null_calls[r->at], r->variant), r->number ? -1 : 1);
        failures++;
        r->number++;
    }
    assert_int_equal(failures, 0);
    close_files(&files);
    munmap(r, sizeof *r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_in_the_place_of_an_argument_crashes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
