/* A vocabulary of a million words: ids of batches of words, most of them known, in an order that no cache foresees; and
 * the reading of its file. The words of a batch lie together, as those of a parsed record do. */
#include "bench/bench.h"
#include "feature_columns/columns_internal.h"
#include <stdio.h>
#include <time.h>

enum { WORDS = 1000000, BATCH = 512, LOOKUPS = 2000000, ROOM = 16, PIECES = 8 };

typedef struct memory {
    char path[BENCH_PATH];
    hr_feature_column *column;
    hr__transformer *transformer;
    hr_view *word; /* LOOKUPS of them */
    char *bytes;
    void *piece[PIECES]; /* what a batch's results take, used again */
    int pieces;
} memory;

/* "w" and a number that is spread over 10 digits: each word once. */
static int spell(int64_t i, char *out) { return snprintf(out, ROOM, "w%010lld", (long long)(i * 7919 % 10000000019)); }

static bool write_words(memory *m)
{
    char word[ROOM];
    bench_temporary(m->path, "vocab");
    FILE *f = fopen(m->path, "wb");
    for (int64_t i = 0; f && i < WORDS; i++) {
        spell(i, word);
        fprintf(f, "%s\n", word);
    }
    return f && fclose(f) == 0;
}

static void make_lookups(memory *m)
{
    char *to = m->bytes;
    for (int64_t i = 0; i < LOOKUPS; i++) {
        const int64_t which = (int64_t)(hr_random(7, (uint64_t)i) % (WORDS + WORDS / 50)); /* one in 51 is unknown */
        m->word[i] = (hr_view){to, spell(which, to)};
        to += m->word[i].size;
    }
}

static void release(void *user)
{
    memory *m = user;
    hr__transformer_free(m->transformer);
    hr_feature_column_unref(m->column);
    remove(m->path);
    for (int i = 0; i < PIECES; i++) hr_free(m->piece[i]);
    hr_free(m->word);
    hr_free(m->bytes);
    hr_free(m);
}

static hr_feature_column *read_words(const memory *m)
{
    return hr_categorical_column_with_vocabulary_file("word", m->path);
}

static void *prepare(const char *folder, hr_error *err)
{
    (void)folder;
    memory *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    m->word = hr_calloc(LOOKUPS, sizeof *m->word);
    m->bytes = hr_calloc(LOOKUPS, ROOM);
    for (int i = 0; i < PIECES; i++) m->piece[i] = hr_calloc(BATCH + 1, 64);
    if (m->word && m->bytes && write_words(m)) {
        make_lookups(m);
        m->column = read_words(m);
        if (hr__transformer_new(HR_COLUMNS(m->column), &m->transformer, err) == HR_OK) return m;
    }
    release(m);
    return NULL;
}

static void *piece(void *user, size_t bytes)
{
    memory *m = user;
    return bytes <= 64 * (BATCH + 1) && m->pieces < PIECES ? m->piece[m->pieces++] : NULL;
}
static int64_t *ids(void *user, int output, int64_t n)
{
    (void)output;
    return piece(user, (size_t)n * sizeof(int64_t));
}
static int32_t *splits(void *user, int output)
{
    (void)output;
    return piece(user, (BATCH + 1) * sizeof(int32_t));
}

/* Of this thread: what others do on the machine counts only through the caches. */
static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static hr_status run_lookup(pass *p, void *user)
{
    memory *m = user;
    static int32_t one_each[BATCH + 1];
    hr__column_memory own = {.scratch = piece, .ids = ids, .splits = splits, .user = m};
    hr_column_values result;
    volatile int64_t sum = 0;
    for (int i = 0; i <= BATCH; i++) one_each[i] = i;
    const double start = bench_seconds(), cpu = cpu_seconds();
    for (int64_t at = 0; at + BATCH <= LOOKUPS; at += BATCH) {
        const hr_column_values raw = {
            .dtype = HR_STRING, .rows = BATCH, .values = m->word + at, .count = BATCH, .splits = one_each};
        m->pieces = 0;
        HR_TRY(hr__transform(m->transformer, &own, BATCH, &raw, &result, &p->error));
        sum += ((const int64_t *)result.values)[0];
        p->rows += BATCH;
    }
    p->seconds = bench_seconds() - start;
    (void)sum;
    add_extra(p, "cpu_ns_per_word", (cpu_seconds() - cpu) * 1e9 / (double)p->rows);
    return HR_OK;
}

static hr_status run_load(pass *p, void *user)
{
    memory *m = user;
    hr_feature_column_unref(m->column);
    hr__transformer_free(m->transformer);
    m->transformer = NULL;
    const double start = bench_seconds();
    m->column = read_words(m);
    p->seconds = bench_seconds() - start;
    p->rows = WORDS;
    return hr__transformer_new(HR_COLUMNS(m->column), &m->transformer, &p->error);
}

const work work_vocab[] = {
    {.name = "vocab_lookup", .run = run_lookup, .prepare = prepare, .release = release},
    {.name = "vocab_load", .run = run_load, .prepare = prepare, .release = release},
    {0},
};
