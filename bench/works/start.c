/* A fresh process, from before it is made to the label of its first batch read. */
#include "bench/first_batch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program lies beside this one. */
static void become_the_child(const char *folder)
{
    static const char name[] = "headrace_bench_start";
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    if (length < 0) return;
    path[length] = 0;
    strcpy(strrchr(path, '/') + 1, name);
    setenv("HEADRACE_THREADS", "1", 1);
    execl(path, name, folder, (char *)NULL);
}

static hr_status run_start(pass *p, void *memory)
{
    (void)memory;
    int ends[2];
    first_batch first = {0};
    if (pipe(ends) != 0) return hr_fail(&p->error, HR_UNAVAILABLE, "bench.start", "no pipe");
    double start = bench_seconds();
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        become_the_child(p->folder);
        _exit(1);
    }
    close(ends[1]);
    bool whole = read(ends[0], &first, sizeof first) == (ssize_t)sizeof first;
    close(ends[0]);
    int code;
    waitpid(child, &code, 0);
    if (!whole || first.rows == 0) return hr_fail(&p->error, HR_INTERNAL, "bench.start", "the child gave no batch");
    p->seconds = first.at - start;
    p->rows = first.rows;
    add_extra(p, "peak_mb", (double)first.peak_mb);
    return HR_OK;
}

const work work_start[] = {
    {.name = "start", .run = run_start, .threads = 2, .per_run = true},
    {0},
};
