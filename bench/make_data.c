/* headrace_bench_data DIR [ROWS]: four shards of Criteo-like rows (a label, 13 integers with gaps, 26 hexadecimal
 * categories) as CSV, TFRecord and TFRecord GZIP: the same law as peers/make_data.py, other random numbers; and a file
 * of census-like rows. */
#include "bench/make_data.h"
#include <headrace/io.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHARDS = 4, INTS = 13, CATEGORIES = 26 };

typedef struct row {
    int64_t label, number[INTS];
    bool missing[INTS];
    char category[CATEGORIES][9];
} row;

/* Zipf's law with exponent 1.3, cut at `most`, by inverting the continuous law. */
static int64_t zipf(double u, double max)
{
    double x = pow(1 - u, -1 / 0.3);
    return (int64_t)(x < max ? x : max);
}

static void make_row(uint64_t r, row *out)
{
    const uint64_t key = hr_random(5, r);
    double score = -1.5;
    for (int i = 0; i < INTS; i++) {
        int64_t scale = 1 + hr_random_below(11, (uint64_t)i, 49);
        out->number[i] = scale * (1 + (int64_t)(log(1 - uniform(key, (uint64_t)i)) / log(0.95)));
        out->missing[i] = uniform(key, 100 + (uint64_t)i) < 0.15;
    }
    for (int c = 0; c < CATEGORIES; c++) {
        int64_t id = zipf(uniform(key, 200 + (uint64_t)c), 10 * pow(20000, c / 25.0));
        uint32_t salt = (uint32_t)hr_random(13, (uint64_t)c);
        snprintf(out->category[c], 9, "%08x", (uint32_t)((uint64_t)id * 2654435761u + salt));
        score += sin((double)id * 1.7) * (uniform(17, (uint64_t)c) - 0.5) * 2;
    }
    score += 0.3 * log1p((double)out->number[0]);
    out->label = uniform(key, 300) < 1 / (1 + exp(-score));
}

static void write_csv(FILE *csv, const row *r)
{
    fprintf(csv, "%lld", (long long)r->label);
    for (int i = 0; i < INTS; i++) r->missing[i] ? fputc(',', csv) : fprintf(csv, ",%lld", (long long)r->number[i]);
    for (int c = 0; c < CATEGORIES; c++) fprintf(csv, ",%s", r->category[c]);
    fputc('\n', csv);
}

/* Features in the order of their names, as a deterministic protobuf writer has them. */
static hr_status encode(hr_example *example, const row *r, hr_view *bytes, hr_error *err)
{
    static char name[INTS + CATEGORIES][4];
    static int order[INTS + CATEGORIES];
    if (!name[0][0]) {
        for (int i = 0; i < INTS + CATEGORIES; i++)
            snprintf(name[i], 4, "%c%d", i < INTS ? 'I' : 'C', (i < INTS ? i + 1 : i - INTS + 1) % 100);
        for (int i = 0; i < INTS + CATEGORIES; i++) {
            int at = i;
            for (; at > 0 && strcmp(name[order[at - 1]], name[i]) > 0; at--) order[at] = order[at - 1];
            order[at] = i;
        }
    }
    hr_example_clear(example);
    for (int k = 0; k < INTS + CATEGORIES; k++) {
        int i = order[k];
        if (i >= INTS)
            hr_example_add_bytes(example, name[i], &(hr_view){r->category[i - INTS], 8}, 1);
        else if (!r->missing[i])
            hr_example_add_int64(example, name[i], &r->number[i], 1);
    }
    hr_example_add_int64(example, "label", &r->label, 1);
    return hr_example_bytes(example, bytes, err);
}

static hr_status open_shard(const char *folder, int shard, const char *ext, hr_record_writer **out, hr_error *err)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/criteo-%05d-of-%05d.tfrecord%s", folder, shard, SHARDS, ext);
    return hr_record_writer_open(path, NULL, out, err);
}

static hr_status write_rows(FILE *csv, hr_record_writer *plain, hr_record_writer *gzip, int64_t from, int64_t to,
                            hr_error *err)
{
    hr_example *example = hr_example_new();
    hr_status st = HR_OK;
    for (int64_t r = from; r < to && st == HR_OK; r++) {
        row made;
        hr_view bytes;
        make_row((uint64_t)r, &made);
        write_csv(csv, &made);
        st = encode(example, &made, &bytes, err);
        if (st == HR_OK) st = hr_record_write(plain, bytes.data, (size_t)bytes.size, err);
        if (st == HR_OK) st = hr_record_write(gzip, bytes.data, (size_t)bytes.size, err);
    }
    hr_example_free(example);
    return st;
}

static hr_status write_shard(const char *folder, int shard, int64_t rows, hr_error *err)
{
    char path[1024];
    int64_t per = (rows + SHARDS - 1) / SHARDS, from = shard * per, to = from + per < rows ? from + per : rows;
    hr_record_writer *plain = NULL, *gzip = NULL;
    snprintf(path, sizeof path, "%s/criteo-%05d-of-%05d.csv", folder, shard, SHARDS);
    FILE *csv = fopen(path, "w");
    if (!csv) return hr_fail(err, HR_NOT_FOUND, "bench.data", "%s cannot be written", path);
    fputs("label", csv);
    for (int i = 1; i <= INTS; i++) fprintf(csv, ",I%d", i);
    for (int c = 1; c <= CATEGORIES; c++) fprintf(csv, ",C%d", c);
    fputc('\n', csv);
    hr_status st = open_shard(folder, shard, "", &plain, err);
    if (st == HR_OK) st = open_shard(folder, shard, ".gz", &gzip, err);
    if (st == HR_OK) st = write_rows(csv, plain, gzip, from, to, err);
    fclose(csv);
    if (st != HR_OK) {
        hr_record_writer_discard(plain);
        hr_record_writer_discard(gzip);
        return st;
    }
    st = hr_record_writer_commit(plain, err);
    hr_status second = hr_record_writer_commit(gzip, st == HR_OK ? err : NULL);
    return st == HR_OK ? second : st;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "Usage: headrace_bench_data DIR [ROWS]\n");
        return 2;
    }
    int64_t rows = argc > 2 ? strtoll(argv[2], NULL, 10) : 300000;
    hr_error err = {0};
    mkdir(argv[1], 0777);
    for (int shard = 0; shard < SHARDS; shard++) {
        if (write_shard(argv[1], shard, rows, &err) == HR_OK) continue;
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (make_census(argv[1], &err) != HR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%lld rows in %d shards in %s\n", (long long)rows, SHARDS, argv[1]);
    return 0;
}
