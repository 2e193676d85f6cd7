/* headrace_bench_scale DIR [PIPELINE...]: how far pipelines scale. Each reads a list of 32 files, which are the four
 * shards eight times, on 1, 2, 4, 8 and 16 threads.
 *
 * Planning a stage is serial: one thread at a time does it, so a row takes no less than the longest plan of one stage.
 * The serial share is what all plans and work take, over that plan: about as many processors can be busy. Where a
 * machine has fewer than there are threads, the time of a row is not measured but predicted: the larger one of that
 * plan and of an equal part of the processor time, both as they are with so many threads on the processors there are. */
#include "bench/bench.h"
#include <headrace/examples.h>
#include <headrace/op.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 32, SHARDS = 4, MOST_THREADS = 16, PASSES = 3 };

static char folder[BENCH_PATH];

/* ---- the files: each shard under eight names ---- */

static void file_name(char name[2 * BENCH_PATH], int file, const char *ending)
{
    snprintf(name, 2 * BENCH_PATH, "%s/criteo-%02d.%s", folder, file, ending);
}

static const char *const endings[] = {"tfrecord", "tfrecord.gz", "csv"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static bool link_files(const char *data)
{
    char shard[2 * BENCH_PATH], name[2 * BENCH_PATH];
    bool done = mkdir(folder, 0700) == 0;
    for (int e = 0; e < ENDINGS; e++)
        for (int f = 0; f < FILES && done; f++) {
            snprintf(shard, sizeof shard, "%s/criteo-%05d-of-%05d.%s", data, f % SHARDS, SHARDS, endings[e]);
            file_name(name, f, endings[e]);
            done = symlink(shard, name) == 0;
        }
    return done;
}

static void schema_name(char name[2 * BENCH_PATH]) { snprintf(name, 2 * BENCH_PATH, "%s/schema.yaml", folder); }

static bool write_schema(void)
{
    char name[2 * BENCH_PATH];
    schema_name(name);
    FILE *to = fopen(name, "w");
    if (!to) return false;
    const hr_parse_spec *spec = bench_spec();
    for (int i = 0; i < 40; i++)
        fprintf(to, "%s%s", i == 0 ? "int64: [" : i == 14 ? "]\nstring: [" : ", ", spec->feature[i].key);
    fprintf(to, "]\n");
    return fclose(to) == 0;
}

static void remove_files(void)
{
    char name[2 * BENCH_PATH];
    schema_name(name);
    unlink(name);
    for (int e = 0; e < ENDINGS; e++)
        for (int f = 0; f < FILES; f++) {
            file_name(name, f, endings[e]);
            unlink(name);
        }
    rmdir(folder);
}

/* ---- pipelines ---- */

static const char *files(const char *ending)
{
    static char pattern[2 * BENCH_PATH];
    snprintf(pattern, sizeof pattern, "%s/criteo-*.%s", folder, ending);
    return pattern;
}

static hr_dataset *parsed(hr_dataset *records)
{
    return hr_parse_example(hr_batch(records, 512), bench_spec(), .label = "label");
}

static hr_dataset *interleaved(const char *ending)
{
    hr_dataset *ds = hr_list_files(files(ending), .shuffle = true, .seed = 7);
    return hr_interleave(ds, hr_tfrecord_fn, NULL, .cycle_length = MOST_THREADS);
}

static hr_dataset *plain(void) { return parsed(hr_tfrecord(files("tfrecord"))); }
static hr_dataset *gzip(void) { return parsed(hr_tfrecord(files("tfrecord.gz"))); }
static hr_dataset *interleave(void) { return parsed(interleaved("tfrecord")); }
static hr_dataset *interleave_gzip(void) { return parsed(interleaved("tfrecord.gz")); }
static hr_dataset *shuffle(void) { return parsed(hr_shuffle(interleaved("tfrecord"), 10000, .seed = 7)); }
static hr_dataset *csv(void) { return hr_batch(bench_text_rows(files("csv")), 512); }

/* What convert makes of each row: a serialized tf.Example. */
static hr_dataset *convert(void)
{
    char name[2 * BENCH_PATH];
    hr_schema_file *schema;
    hr_error err;
    schema_name(name);
    if (hr_schema_file_open(name, &schema, &err) != HR_OK) return hr_dataset_failed(&err);
    hr_dataset *ds = hr_example_rows(files("csv"), .schema = schema);
    hr_schema_file_free(schema);
    return hr_batch(ds, 512);
}

typedef struct pipeline {
    const char *name;
    hr_dataset *(*make)(void);
} pipeline;

static const pipeline pipelines[] = {
    {"plain", plain}, {"gzip", gzip},       {"interleave", interleave}, {"interleave_gzip", interleave_gzip},
    {"csv", csv},     {"convert", convert}, {"shuffle", shuffle},
};
enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

/* ---- a run ---- */

/* What a run was like; all times in microseconds a row. */
typedef struct run {
    double took, processor;
    double rows;
    hr_iterator_stats stats;
} run;

static double processor_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static hr_status drain(const pipeline *p, int threads, run *out)
{
    hr_set_threads(threads - 1);
    const pass as = {.threads = threads};
    hr_iterator *it = bench_iterate(p->make(), &as);
    const double began = processor_seconds();
    const hr_element *e;
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) out->rows += (double)hr_get_at(e, 0)->shape.dims[0];
    hr_iterator_stats_of(it, &out->stats);
    out->took = out->stats.seconds * 1e6 / out->rows;
    out->processor = (processor_seconds() - began) * 1e6 / out->rows;
    if (st != HR_END) fprintf(stderr, "%s: %s\n", p->name, hr_iterator_error(it)->text);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

/* The shortest time and the least processor time of some runs: others may be at work on the machine. */
static hr_status measure(const pipeline *p, int threads, int passes, run *best)
{
    double took = 0;
    for (int i = 0; i < passes; i++) {
        run once = {0};
        const hr_status st = drain(p, threads, &once);
        if (st != HR_OK) return st;
        if (i == 0 || once.took < took) took = once.took;
        if (i == 0 || once.processor < best->processor) *best = once;
    }
    best->took = took;
    return HR_OK;
}

/* ---- the longest plan ---- */

/* What all plans and works of a run take, over the longest plan of one stage: those of one kind that are open at a time
 * share theirs. The clock runs on while a thread waits for a processor, but does so for all of them alike. */
static double serial_share(const run *r, const char **name)
{
    double longest = 0, all = 0;
    for (int i = 0; i < r->stats.stages; i++) {
        const hr_stage_stats *s = &r->stats.stage[i];
        const double open = s->alive_seconds / r->stats.seconds, plan = s->plan_seconds / (open > 1 ? open : 1);
        if (plan > longest) longest = plan, *name = s->name;
        all += s->plan_seconds + s->work_seconds;
    }
    return longest > 0 ? all / longest : 1;
}

static void print(const pipeline *p, int threads, bool measured, const run *r)
{
    const char *name = "-";
    const double share = serial_share(r, &name), plan = r->processor / share, equal = r->processor / threads;
    printf("%-16s %7d %9.3f %-9s %9.3f %8.3f  %5.1f  %s\n", p->name, threads,
           measured       ? r->took
           : plan > equal ? plan
                          : equal,
           measured ? "measured" : "predicted", r->processor, plan, share, name);
    fflush(stdout);
}

static hr_status scale(const pipeline *p, int processors)
{
    static run r;
    for (int threads = 1; threads <= MOST_THREADS; threads *= 2) {
        const bool there = threads <= processors;
        const hr_status st = measure(p, threads, there ? PASSES : 1, &r);
        if (st != HR_OK) return st;
        print(p, threads, there, &r);
    }
    return HR_OK;
}

static bool wanted(const pipeline *p, int count, char **argument)
{
    for (int i = 2; i < count; i++)
        if (strcmp(argument[i], p->name) == 0) return true;
    return count == 2;
}

int main(int count, char **argument)
{
    if (count < 2 || argument[1][0] == '-') {
        fprintf(stderr, "Usage: headrace_bench_scale DIR [PIPELINE...]\n");
        return 2;
    }
    bench_temporary(folder, "scale");
    bool failed = !link_files(argument[1]) || !write_schema();
    if (failed) fprintf(stderr, "%s: cannot be filled\n", folder);
    const int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    printf("%d processors; microseconds a row\n%-16s %7s %9s %-9s %9s %8s  %5s  %s\n", processors, "pipeline",
           "threads", "time", "", "processor", "plan", "share", "whose");
    for (int i = 0; i < PIPELINES && !failed; i++)
        if (wanted(&pipelines[i], count, argument)) failed = scale(&pipelines[i], processors) != HR_OK;
    remove_files();
    return failed;
}
