/* What the figures of a run depend on besides the works: the machine, as the first line of the results. */
#include "bench/machine.h"
#include "base/quota.h"
#include "bench/bench.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum { TEXT = 128, PIECE = 1 << 20, COPIES = 5 };

static void processor_name(char name[TEXT])
{
    char line[1024];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, TEXT, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !at) continue;
        snprintf(name, TEXT, "%.*s", (int)strcspn(at + 2, "\n\"\\"), at + 2);
        break;
    }
    if (file) fclose(file);
}

static long cache_kilobytes(int name) { return sysconf(name) > 0 ? sysconf(name) / 1024 : 0; }

/* Bytes a second of a file in the page cache into memory that is there: the best of some passes. */
static double copy_speed(const char *path)
{
    static char piece[PIECE];
    double best = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < COPIES; i++) {
        const double start = bench_seconds();
        double bytes = 0;
        for (ssize_t got; (got = pread(fd, piece, sizeof piece, (off_t)bytes)) > 0;) bytes += (double)got;
        const double speed = bytes / (bench_seconds() - start);
        if (i > 0 && speed > best) best = speed; /* the first one may have read the disk */
    }
    if (fd >= 0) close(fd);
    return best;
}

/* What would falsify the figures is said aloud. */
static void warn(double quota, unsigned processors)
{
    const char *core = getenv("OPENBLAS_CORETYPE");
    if (core) fprintf(stderr, "bench: OPENBLAS_CORETYPE=%s: products are those of that processor\n", core);
    if (quota > 0 && quota < processors)
        fprintf(stderr, "bench: the control group gives %.3g of %u processors: works of more threads are stopped\n",
                quota, processors);
}

void print_machine(const char *folder)
{
    char name[TEXT];
    hr_file_list files = {0};
    const double quota = hr__cpu_quota();
    const unsigned processors = uv_available_parallelism();
    processor_name(name);
    warn(quota, processors);
    const bool found = bench_files(folder, CRITEO, &files, NULL) == HR_OK && files.count > 0;
    printf("{\"peer\":\"headrace\",\"machine\":\"%s\",\"processors\":%u,\"quota\":%.3g,\"l1d_kb\":%ld,\"l2_kb\":%ld,"
           "\"l3_kb\":%ld,\"copy_mb_per_s\":%.0f}\n",
           name, processors, quota, cache_kilobytes(_SC_LEVEL1_DCACHE_SIZE), cache_kilobytes(_SC_LEVEL2_CACHE_SIZE),
           cache_kilobytes(_SC_LEVEL3_CACHE_SIZE), found ? copy_speed(files.path[0]) / 1e6 : 0);
    fflush(stdout);
    hr_file_list_clear(&files);
}
