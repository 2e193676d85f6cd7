/* The input of a training by its file, with the rows of `pipeline` and its features, those of texts as lists. */
#include "bench/bench.h"
#include <headrace/training_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTS = 13, STRINGS = 26 };

static void put_names(FILE *to, const char *label, char letter, int count)
{
    (void)fprintf(to, "[%s", label);
    for (int i = 1; i <= count; i++) (void)fprintf(to, "%s%c%d", i > 1 || label[0] ? ", " : "", letter, i);
    (void)fputs("]\n", to);
}

static void put_training(FILE *to)
{
    (void)fputs("schema:\n  int64: ", to);
    put_names(to, "label", 'I', INTS);
    (void)fputs("  string: ", to);
    put_names(to, "", 'C', STRINGS);
    (void)fputs("  label: label\n  default: {", to);
    for (int i = 1; i <= INTS; i++) (void)fprintf(to, "I%d: 0%s", i, i < INTS ? ", " : "}\n");
    (void)fputs("columns:\n", to);
    for (int i = 1; i <= INTS; i++) (void)fprintf(to, "  I%d: {numeric: I%d}\n", i, i);
    for (int i = 1; i <= STRINGS; i++) (void)fprintf(to, "  C%d: {hash_bucket: 1000}\n", i);
    (void)fputs("model:\n  estimator: linear_classifier\n  linear_feature_columns: [", to);
    for (int i = 1; i <= INTS; i++) (void)fprintf(to, "I%d, ", i);
    for (int i = 1; i <= STRINGS; i++) (void)fprintf(to, "C%d%s", i, i < STRINGS ? ", " : "]\n");
    (void)fputs("train:\n  files: criteo-*.tfrecord\n  batch_size: 512\n  epochs: 1\n  shuffle: 10000\n  seed: 7\n",
                to);
}

static void *prepare(const char *folder, hr_error *err)
{
    char path[BENCH_PATH];
    hr_training *t = NULL;
    bench_temporary(path, "training.yaml");
    FILE *to = fopen(path, "w");
    if (to) put_training(to);
    if (!to || fclose(to) != 0)
        hr_fail(err, HR_UNAVAILABLE, "bench.training_input", "cannot write %s", path);
    else
        (void)hr_training_open(path, &t, err, .data = folder);
    (void)remove(path);
    return t;
}

static void release(void *memory) { hr_training_free(memory); }

static hr_status run(pass *p, void *memory)
{
    hr_iterator *it = bench_iterate(hr_training_input(memory), p);
    const hr_status st = bench_drain(it, p);
    hr_iterator_free(it);
    return st;
}

const work work_training_input[] = {
    {.name = "training_input", .run = run, .prepare = prepare, .release = release, .threads = 2, .also_threads = 1},
    {.name = NULL},
};
