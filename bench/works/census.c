/* Census-like records in memory to what a wide & deep model takes: ids of six columns and two crosses, and one matrix
 * of five numbers, four one-hots and an embedding. */
#include "bench/census.h"
#include "bench/columns.h"
#include <string.h>

enum { OCCUPATIONS = 1000, DIMENSION = 8 };

static void release(void *user)
{
    bench_columns_close(user);
    hr_free(user);
}

static hr_feature_column *words(const char *key)
{
    const census_words *w = census_find(key);
    return hr_categorical_column_with_vocabulary_list(key, ((hr_vocabulary_list){w->count, .strings = w->word}));
}

static hr_feature_column *number(const char *key) { return hr_numeric_column(key, .dtype = HR_INT64); }

static hr_feature_column *age_buckets(void)
{
    static const float boundary[] = {18, 25, 30, 35, 40, 45, 50, 55, 60, 65};
    return hr_bucketized_column(number("age"), boundary, sizeof boundary / sizeof *boundary);
}

static hr_feature_column *occupation(void) { return hr_categorical_column_with_hash_bucket("occupation", OCCUPATIONS); }

static const char *const categories[] = {"education", "marital_status", "relationship", "workclass"};
static const char *const numbers[] = {"age", "capital_gain", "capital_loss", "education_num", "hours_per_week"};
enum { CATEGORIES = 4, NUMBERS = 5 };

static void add_wide(bench_columns *c)
{
    for (int i = 0; i < CATEGORIES; i++) bench_add_column(c, words(categories[i]));
    bench_add_column(c, occupation());
    bench_add_column(c, age_buckets());
    bench_add_column(c, hr_crossed_column(HR_CROSS({.key = "education"}, {.key = "occupation"}), 1000));
    bench_add_column(
        c, hr_crossed_column(HR_CROSS({.column = age_buckets()}, {.key = "education"}, {.key = "occupation"}), 1000));
}

static void add_deep(bench_columns *c)
{
    for (int i = 0; i < NUMBERS; i++) bench_add_column(c, number(numbers[i]));
    for (int i = 0; i < CATEGORIES; i++) bench_add_column(c, hr_indicator_column(words(categories[i])));
    bench_add_column(c, hr_embedding_column(occupation(), DIMENSION));
}

static void *prepare(const char *folder, hr_error *err)
{
    bench_columns *c = hr_calloc(1, sizeof *c);
    if (!c) return NULL;
    add_wide(c);
    const int first_dense = c->count;
    add_deep(c);
    if (bench_columns_open(c, folder, CENSUS, first_dense, err) == HR_OK) return c;
    release(c);
    return NULL;
}

static hr_status run(pass *p, void *memory) { return bench_columns_pass(p, memory); }

const work work_census[] = {
    {.name = "census", .run = run, .prepare = prepare, .release = release},
    {0},
};
