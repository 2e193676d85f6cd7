/* headrace_bench_data DIR [ROWS] [--exponent X | --uniform]: four shards of Criteo-like rows (a label, 13 integers with
 * gaps, 26 hexadecimal categories) as CSV, TFRecord and TFRecord GZIP: the same law as peers/make_data.py, other random
 * numbers; and a file of census-like rows.
 *
 * Categories follow a power law: P(id) falls with id^-X, up to 10 ... 200,000 ids a column. 1.3 is the exponent with
 * which HugeCTR's data generator makes rows like those of Criteo (PowerLaw_t.Short in its Python interface). */
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

static double exponent = 1.3; /* 0: all ids are equally likely */

/* The law of ids up to `max`, by inverting the continuous one; what is beyond is `max`. */
static int64_t draw_id(double u, double max)
{
    if (exponent == 0) return 1 + (int64_t)(u * max);
    double x = pow(1 - u, -1 / (exponent - 1));
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
        int64_t id = draw_id(uniform(key, 200 + (uint64_t)c), 10 * pow(20000, c / 25.0));
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

/* ---- how many ids of a batch are distinct ---- */

static int by_text(const void *a, const void *b) { return memcmp(a, b, 9); }

/* Of a column, over whole batches of the first rows: distinct categories by all of them. */
static double distinct_share(int column, int batch)
{
    enum { SEEN = 8192, MOST = 512 };
    static char id[MOST][9];
    int64_t distinct = 0;
    for (int from = 0; from < SEEN; from += batch) {
        for (int r = 0; r < batch; r++) {
            row made;
            make_row((uint64_t)(from + r), &made);
            memcpy(id[r], made.category[column], sizeof id[r]);
        }
        qsort(id, (size_t)batch, sizeof *id, by_text);
        for (int r = 0; r < batch; r++) distinct += r == 0 || by_text(id[r], id[r - 1]) != 0;
    }
    return (double)distinct / SEEN;
}

static void tell_distinct(void)
{
    static const int batches[] = {128, 512};
    for (int b = 0; b < 2; b++) {
        double sum = 0, least = 1, most = 0;
        for (int c = 0; c < CATEGORIES; c++) {
            const double share = distinct_share(c, batches[b]);
            sum += share;
            if (share < least) least = share;
            if (share > most) most = share;
        }
        printf("of the ids of a column in %d rows, %.1f %% are distinct (by column %.1f to %.1f %%)\n", batches[b],
               100 * sum / CATEGORIES, 100 * least, 100 * most);
    }
}

/* False: the command line is wrong. */
static bool take_options(int argc, char **argv, int64_t *rows)
{
    for (int i = 2; i < argc; i++) {
        char *end = argv[i];
        if (strcmp(argv[i], "--uniform") == 0) {
            exponent = 0;
            continue;
        }
        const bool law = strcmp(argv[i], "--exponent") == 0 && i + 1 < argc;
        const double number = strtod(argv[law ? ++i : i], &end);
        if (*end || (law ? !(number > 1) : !(number >= 1))) return false;
        if (law)
            exponent = number;
        else
            *rows = (int64_t)number;
    }
    return argc > 1;
}

int main(int argc, char **argv)
{
    int64_t rows = 300000;
    if (!take_options(argc, argv, &rows)) {
        fprintf(stderr, "Usage: headrace_bench_data DIR [ROWS] [--exponent X | --uniform], X above 1\n");
        return 2;
    }
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
    tell_distinct();
    return 0;
}
