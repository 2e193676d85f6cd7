/* Records one by one to their tensors, and SequenceExamples to batches of padded lists: both through the public
 * operators, parsing on the clock, which starts when the first element is asked for. */
#include "bench/parse.h"
#include <stdio.h>
#include <string.h>

enum { SINGLES = BATCH, SESSIONS = 10 * BATCH, CLICKS = 20, VECTOR = 16 };

typedef struct memory {
    hr_view *record;
    int64_t records;
    char *bytes; /* of the records; or */
    hr_example **session;
} memory;

static void release(void *user)
{
    memory *m = user;
    for (int64_t i = 0; m->session && i < m->records; i++) hr_example_free(m->session[i]);
    hr_free(m->session);
    hr_free(m->record);
    hr_free(m->bytes);
    hr_free(m);
}

static memory *prepare(int64_t records)
{
    memory *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    m->records = records;
    m->record = hr_calloc((size_t)records, sizeof *m->record);
    if (m->record) return m;
    release(m);
    return NULL;
}

static void *prepare_singles(const char *folder, hr_error *err)
{
    memory *m = prepare(SINGLES);
    if (m && bench_records(folder, CRITEO, m->record, SINGLES, &m->bytes, err) == HR_OK) return m;
    if (m) release(m);
    return NULL;
}

/* ---- sessions of clicks: an item, a shop, a price and a vector each ---- */

static void add_steps(hr_example *e, const char *key, hr_dtype dtype, void *values, int64_t width)
{
    hr_tensor step[CLICKS];
    for (int i = 0; i < CLICKS; i++)
        step[i] =
            hr_tensor_of(dtype, HR_SHAPE(width), (char *)values + (size_t)i * (size_t)width * hr_dtype_size(dtype));
    hr_example_add_list(e, (hr_view){key, (int64_t)strlen(key)}, step, CLICKS);
}

static hr_status fill_session(hr_example *e, uint64_t key, hr_view *record, hr_error *err)
{
    int64_t item[CLICKS], user = (int64_t)(key + 100000);
    float price[CLICKS], vector[CLICKS * VECTOR];
    char word[CLICKS][16];
    hr_view shop[CLICKS];
    for (int i = 0; i < CLICKS; i++) {
        item[i] = hr_random_below(key, (uint64_t)i, 1000000);
        price[i] = (float)item[i] / 100;
        shop[i] = (hr_view){word[i], snprintf(word[i], sizeof word[i], "shop%06lld", (long long)item[i])};
    }
    for (int i = 0; i < CLICKS * VECTOR; i++) vector[i] = (float)i;
    hr_example_add_int64(e, "user", &user, 1);
    add_steps(e, "item", HR_INT64, item, 1);
    add_steps(e, "price", HR_FLOAT, price, 1);
    add_steps(e, "shop", HR_STRING, shop, 1);
    add_steps(e, "vector", HR_FLOAT, vector, VECTOR);
    return hr_example_bytes(e, record, err);
}

static void *prepare_sessions(const char *folder, hr_error *err)
{
    (void)folder;
    memory *m = prepare(SESSIONS);
    if (!m) return NULL;
    m->session = hr_calloc(SESSIONS, sizeof *m->session);
    for (int64_t i = 0; m->session && i < SESSIONS; i++) {
        m->session[i] = hr_sequence_example_new();
        if (!m->session[i] || fill_session(m->session[i], (uint64_t)i, &m->record[i], err) != HR_OK) break;
        if (i == SESSIONS - 1) return m;
    }
    release(m);
    return NULL;
}

/* ---- running ---- */

static hr_dataset *records_of(const memory *m)
{
    const hr_tensor records = hr_tensor_of(HR_STRING, HR_SHAPE(m->records), m->record);
    return hr_from_tensor_slices(&records, NULL, 1);
}

/* The consumer reads a value of every component. */
static hr_status drain(pass *p, hr_dataset *ds, int components, int64_t rows)
{
    hr_iterator *it = bench_iterate(ds, p);
    const hr_element *e;
    hr_status st;
    double start = bench_seconds();
    while ((st = hr_next(it, &e)) == HR_OK) {
        for (int c = 0; c < components; c++) (void)*(const volatile char *)hr_get_at(e, c)->data;
        p->rows += rows;
    }
    p->seconds = bench_seconds() - start;
    if (st != HR_END) p->error = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static hr_status run_single(pass *p, void *m)
{
    return drain(p, hr_parse_single_example(records_of(m), bench_spec()), SLOTS, 1);
}

static hr_status run_sequence(pass *p, void *user)
{
    const memory *m = user;
    const hr_parse_spec *context = HR_PARSE_SPEC({.key = "user", .dtype = HR_INT64});
    const hr_parse_spec *lists =
        HR_PARSE_SPEC({.key = "item", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64},
                      {.key = "price", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_FLOAT},
                      {.key = "shop", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_STRING},
                      {.key = "vector", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_FLOAT, .shape = HR_SHAPE(VECTOR)});
    for (int64_t i = 0; i < m->records; i++) p->bytes += (double)m->record[i].size;
    return drain(p, hr_parse_sequence_example(hr_batch(records_of(m), BATCH), context, lists), 9, BATCH);
}

const work work_parse_elements[] = {
    {.name = "parse_single", .run = run_single, .prepare = prepare_singles, .release = release},
    {.name = "parse_sequence", .run = run_sequence, .prepare = prepare_sessions, .release = release},
    {0},
};
