/* tf.Example to columns, from memory: in the writer's order of features, and with the features of each record mixed. */
#include "bench/parse.h"
#include <string.h>

enum { CALLS = 40, RECORDS = CALLS * BATCH };

typedef struct memory {
    bench_parser parser;
    hr_view record[RECORDS];
    char *bytes;
} memory;

static void release(void *p)
{
    memory *m = p;
    bench_parser_close(&m->parser);
    hr_free(m->bytes);
    hr_free(m);
}

static void *prepare(const char *folder, hr_error *err)
{
    memory *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    hr_status st = bench_parser_open(&m->parser, err);
    if (st == HR_OK) st = bench_records(folder, CRITEO, m->record, RECORDS, &m->bytes, err);
    if (st == HR_OK) return m;
    release(m);
    return NULL;
}

/* The map entries of one record in another order. All lengths of these records take one or two bytes. */
static void mix_features(char *record, int64_t size, uint64_t key)
{
    char copy[4096];
    int64_t at[64], end[64], count = 0, p = 1;
    while (record[p++] & 0x80) {} /* past the Features' tag and length */
    if (size > (int64_t)sizeof copy) return;
    memcpy(copy, record, (size_t)size);
    for (int64_t q = p; q < size && count < 64; q = end[count++]) {
        int64_t length = (unsigned char)copy[q + 1] & 0x7f, body = q + 2;
        if (copy[q + 1] & 0x80) length |= (int64_t)(unsigned char)copy[body++] << 7;
        at[count] = q;
        end[count] = body + length;
    }
    for (int64_t i = count - 1; i >= 0; i--) {
        int64_t k = hr_random_below(key, (uint64_t)i, i + 1);
        memcpy(record + p, copy + at[k], (size_t)(end[k] - at[k]));
        p += end[k] - at[k];
        at[k] = at[i];
        end[k] = end[i];
    }
}

static void *prepare_mixed(const char *folder, hr_error *err)
{
    memory *m = prepare(folder, err);
    for (int64_t i = 0; m && i < RECORDS; i++) mix_features((char *)m->record[i].data, m->record[i].size, (uint64_t)i);
    return m;
}

static hr_status run_parse(pass *p, void *user)
{
    memory *m = user;
    for (int c = 0; c < CALLS; c++) HR_TRY(bench_parse(&m->parser, m->record + c * BATCH, BATCH, &p->error));
    p->rows = RECORDS;
    return HR_OK;
}

const work work_parse[] = {
    {.name = "parse", .run = run_parse, .prepare = prepare, .release = release},
    {.name = "parse_random", .run = run_parse, .prepare = prepare_mixed, .release = release},
    {0},
};
