/* headrace_bench DIR [WORK...]: one JSON line for the machine, and one a work: best and median of its passes, after one
 * to warm up. Works with two thread counts run them in alternating rounds, each thread on a processor of its own. */
#include "base/pool.h"
#include "bench/bench.h"
#include "bench/machine.h"
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PASSES = 5, MAX_PASSES = 1000 };
/* Seconds of a pass: a work is repeated until it lasts as long, but not for ever where its own clock hardly moves. */
static const double SHORTEST = 0.02, LONGEST = 1;

#define HR_WORK(name) extern const work work_##name[];
#include "bench/works/works.def"
#undef HR_WORK

static const work *const lists[] = {
#define HR_WORK(name) work_##name,
#include "bench/works/works.def"
#undef HR_WORK
};

void add_extra(pass *p, const char *name, double value)
{
    int i = 0;
    while (p->extra[i].name && strcmp(p->extra[i].name, name) != 0) i++;
    p->extra[i].name = name;
    p->extra[i].value = value;
}

static bool nothing_to_do(hr__client *client, int thread)
{
    (void)client, (void)thread;
    return false;
}

/* The pool's threads are made when its first client comes: now, so that they can be pinned. */
static void start_threads(int workers)
{
    hr__client client = {.run_one = nothing_to_do, .max_workers = -1};
    hr_set_threads(workers);
    if (hr__pool_join(&client, NULL) == HR_OK) hr__pool_leave(&client);
}

/* ---- threads on processors of their own: unpinned, two busy threads may share one ---- */

static void pin_threads(int threads)
{
    int number = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        int id = atoi(e->d_name);
        if (id <= 0) continue;
        cpu_set_t set;
        CPU_ZERO(&set);
        bool caller = id == (int)getpid();
        CPU_SET(caller || threads < 2 ? 0 : 1 + number++ % (threads - 1), &set);
        sched_setaffinity(id, sizeof set, &set);
    }
    if (tasks) closedir(tasks);
}

/* ---- passes ---- */

typedef struct series {
    int threads;
    double each[MAX_PASSES]; /* seconds a row of a pass, or of the whole pass where there are no rows */
    double seconds;          /* of all passes, whatever their own clocks say */
    int passes;
    pass best;
} series;

static double each_row(const pass *p) { return p->rows > 0 ? p->seconds / (double)p->rows : p->seconds; }

/* A work once more, added to what the pass has; figures of its own are the last time's. */
static hr_status run_again(const work *w, void *memory, pass *sum)
{
    pass p = {.folder = sum->folder, .threads = sum->threads};
    const double start = bench_seconds();
    const hr_status st = w->run(&p, memory);
    if (p.seconds == 0) p.seconds = bench_seconds() - start;
    p.seconds += sum->seconds;
    p.rows += sum->rows;
    p.bytes += sum->bytes;
    *sum = p;
    return st;
}

static hr_status run_pass(const work *w, const char *folder, void *memory, series *s, bool counts)
{
    pass p = {.folder = folder, .threads = s->threads};
    start_threads(s->threads - 1);
    pin_threads(s->threads);
    const double start = bench_seconds();
    const bool repeats = counts && !w->once && !w->per_run;
    hr_status st = run_again(w, memory, &p);
    while (repeats && st == HR_OK && p.seconds < SHORTEST && bench_seconds() - start < LONGEST)
        st = run_again(w, memory, &p);
    if (st != HR_OK) {
        fprintf(stderr, "%s: %s\n", w->name, p.error.text);
        return st;
    }
    if (!counts) return HR_OK;
    const bool best = s->passes == 0 || each_row(&p) < each_row(&s->best);
    if (best) s->best = p;
    s->each[s->passes++] = each_row(&p);
    s->seconds += bench_seconds() - start;
    return HR_OK;
}

/* HEADRACE_BENCH_PASSES: fewer than five, or more. */
static int least_passes(void)
{
    const char *given = getenv("HEADRACE_BENCH_PASSES");
    const long passes = given ? strtol(given, NULL, 10) : PASSES;
    return passes < 1 ? 1 : passes > MAX_PASSES ? MAX_PASSES : (int)passes;
}

/* At least five; as many as fill a second where one takes less than a tenth. */
static bool enough(const work *w, const series *s)
{
    if (w->once) return s->passes == 1;
    return s->passes == MAX_PASSES || (s->passes >= least_passes() && (s->best.seconds >= 0.1 || s->seconds >= 1));
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(series *s)
{
    qsort(s->each, (size_t)s->passes, sizeof *s->each, by_size);
    int half = s->passes / 2;
    return s->passes % 2 ? s->each[half] : (s->each[half - 1] + s->each[half]) / 2;
}

static void print_line(const work *w, series *s, bool first)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    long peak = usage.ru_maxrss / 1024;
    for (int i = 0; i < MAX_EXTRA && s->best.extra[i].name; i++)
        if (strcmp(s->best.extra[i].name, "peak_mb") == 0) peak = (long)s->best.extra[i].value; /* another process's */
    const double rows = (double)s->best.rows, best = s->best.seconds, mid = median(s) * (rows > 0 ? rows : 1);
    printf("{\"peer\":\"headrace\",\"work\":\"%s", w->name);
    if (!first) printf("_%d_thread%s", s->threads, s->threads > 1 ? "s" : "");
    printf("\",\"rows\":%.0f,\"passes\":%d,\"seconds\":%.6f,\"median_seconds\":%.6f", rows, s->passes, best, mid);
    if (w->per_run)
        printf(",\"us_per_row\":null,\"median_us_per_row\":null");
    else
        printf(",\"rows_per_s\":%.0f,\"us_per_row\":%.5g,\"median_us_per_row\":%.5g", rows / best, best / rows * 1e6,
               mid / rows * 1e6);
    if (w->unit) printf(",\"ns_per_%d_rows\":%.5g", w->unit, best / rows * 1e9 * w->unit);
    if (s->best.bytes > 0) printf(",\"mb_per_s\":%.1f", s->best.bytes / best / 1e6);
    printf(",\"threads\":%d,\"peak_mb\":%ld", s->threads, peak);
    for (int i = 0; i < MAX_EXTRA && s->best.extra[i].name; i++)
        if (strcmp(s->best.extra[i].name, "peak_mb") != 0)
            printf(",\"%s\":%.6g", s->best.extra[i].name, s->best.extra[i].value);
    printf("}\n");
    fflush(stdout);
}

static int run_work(const work *w, const char *folder)
{
    static series two[2];
    int kinds = w->also_threads ? 2 : 1;
    hr_error err = {0};
    void *memory = w->prepare ? w->prepare(folder, &err) : NULL;
    if (w->prepare && !memory) {
        fprintf(stderr, "%s: %s\n", w->name, err.text);
        return 1;
    }
    for (int k = 0; k < 2; k++) {
        two[k].threads = k ? w->also_threads : w->threads ? w->threads : 1;
        two[k].passes = 0;
        two[k].seconds = 0;
    }
    hr_status st = HR_OK;
    for (int k = 0; !w->once && k < kinds && st == HR_OK; k++) st = run_pass(w, folder, memory, &two[k], false);
    while (st == HR_OK && !(enough(w, &two[0]) && (kinds == 1 || enough(w, &two[1]))))
        for (int k = 0; k < kinds && st == HR_OK; k++) st = run_pass(w, folder, memory, &two[k], true);
    for (int k = 0; k < kinds && st == HR_OK; k++) print_line(w, &two[k], k == 0);
    if (w->release) w->release(memory);
    return st != HR_OK;
}

static bool wanted(const work *w, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], w->name) == 0) return true;
    return argc <= 2;
}

static const work *find_work(const char *name)
{
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const work *w = lists[l]; w->name; w++)
            if (strcmp(w->name, name) == 0) return w;
    return NULL;
}

static int usage(void)
{
    fprintf(stderr, "Usage: headrace_bench DIR [WORK...]\nDIR is made by bench/make-data.\nWorks:");
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const work *w = lists[l]; w->name; w++) fprintf(stderr, " %s", w->name);
    fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-') return usage();
    for (int i = 2; i < argc; i++)
        if (!find_work(argv[i])) {
            fprintf(stderr, "headrace_bench: there is no work \"%s\"\n", argv[i]);
            return usage();
        }
    int failed = 0;
    print_machine(argv[1]);
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const work *w = lists[l]; w->name; w++)
            if (wanted(w, argc, argv)) failed |= run_work(w, argv[1]);
    return failed;
}
