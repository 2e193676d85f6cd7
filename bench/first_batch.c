/* headrace_bench_start DIR: the child of the work `start`, a program with a pipeline and nothing else: it reads the
 * first batch's label, and writes on its standard output when that was and what it took. */
#include "bench/first_batch.h"
#include <stdio.h>
#include <unistd.h>

int main(int count, char **argument)
{
    if (count != 2) return 2;
    const pass p = {.threads = hr_threads() + 1};
    hr_iterator *it = bench_iterate(bench_pipeline(argument[1]), &p);
    const hr_element *e;
    first_batch first = {0};
    volatile int64_t sum = 0;
    if (hr_next(it, &e) == HR_OK) {
        const hr_tensor *label = hr_get(e, "label");
        for (int64_t i = 0; i < label->count; i++) sum += ((const int64_t *)label->data)[i];
        first.rows = label->count;
    }
    first.at = bench_seconds();
    first.peak_mb = bench_kilobytes("VmHWM") / 1024;
    _exit(write(STDOUT_FILENO, &first, sizeof first) != (ssize_t)sizeof first);
}
