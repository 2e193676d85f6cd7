/* A parser of the benchmark's records by itself, without a pipeline: for `parse` and the bare pipeline. */
#ifndef BENCH_PARSE_H
#define BENCH_PARSE_H

#include "bench/bench.h"
#include "io/example/example_reader.h"

enum { BATCH = 512, SLOTS = 40 };

/* Columns of one batch, padded so that none are a multiple of 4096 bytes apart. */
typedef struct bench_parser {
    hr__example_parser *parser;
    hr__example_order *order;
    hr__example_column column[SLOTS];
    char *memory;
} bench_parser;

hr_status bench_parser_open(bench_parser *p, hr_error *err);
void bench_parser_close(bench_parser *p);
hr_status bench_parse(bench_parser *p, const hr_view *records, int64_t count, hr_error *err);

/* The first `count` records of files in memory, 64 readable bytes after each. Gives *bytes (hr_free). */
hr_status bench_records(const char *folder, const char *names, hr_view *records, int64_t count, char **bytes,
                        hr_error *err);

#endif
