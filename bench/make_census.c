/* Census-like rows as tf.Examples, the features in the order of their names. The first words of each feature are the
 * frequent ones, as in the real set; most people have no capital gain or loss. */
#include "bench/census.h"
#include "bench/make_data.h"
#include <headrace/io.h>
#include <stdio.h>
#include <string.h>

static void add_number(hr_example *example, const char *key, int64_t value)
{
    hr_example_add_int64(example, key, &value, 1);
}

static void add_text(hr_example *example, const char *key, const char *text)
{
    hr_example_add_bytes(example, key, &(hr_view){text, (int64_t)strlen(text)}, 1);
}

/* A third of the rows have the first word, a third of the others the second, and so on. */
static void add_word(hr_example *example, const char *key, uint64_t row, uint64_t n)
{
    const census_words *words = census_find(key);
    int i = 0;
    while (i + 1 < words->count && uniform(row, n * 100 + (uint64_t)i) > 1.0 / 3) i++;
    add_text(example, key, words->word[i]);
}

static int64_t seldom(uint64_t row, uint64_t n, double share, int64_t max)
{
    return uniform(row, n) < share ? hr_random_below(row, n + 1, max) : 0;
}

static void add_row(hr_example *example, uint64_t r)
{
    const uint64_t row = hr_random(19, r);
    hr_example_clear(example);
    add_number(example, "age", 17 + (int64_t)(73 * uniform(row, 0) * uniform(row, 1)));
    add_number(example, "capital_gain", seldom(row, 2, 0.08, 100000));
    add_number(example, "capital_loss", seldom(row, 4, 0.05, 4357));
    add_word(example, "education", row, 10);
    add_number(example, "education_num", 1 + hr_random_below(row, 6, 16));
    add_number(example, "fnlwgt", 12285 + hr_random_below(row, 7, 1472421));
    add_word(example, "gender", row, 11);
    add_number(example, "hours_per_week", uniform(row, 8) < 0.5 ? 40 : 1 + hr_random_below(row, 9, 99));
    add_text(example, "income_bracket", uniform(row, 10) < 0.24 ? ">50K" : "<=50K");
    add_word(example, "marital_status", row, 12);
    add_word(example, "native_country", row, 13);
    add_word(example, "occupation", row, 14);
    add_word(example, "race", row, 15);
    add_word(example, "relationship", row, 16);
    add_word(example, "workclass", row, 17);
}

static hr_status write_rows(hr_record_writer *to, hr_error *err)
{
    hr_example *example = hr_example_new();
    hr_status st = HR_OK;
    for (uint64_t r = 0; r < CENSUS_ROWS && st == HR_OK; r++) {
        hr_view bytes;
        add_row(example, r);
        st = hr_example_bytes(example, &bytes, err);
        if (st == HR_OK) st = hr_record_write(to, bytes.data, (size_t)bytes.size, err);
    }
    hr_example_free(example);
    return st;
}

hr_status make_census(const char *folder, hr_error *err)
{
    char path[1024];
    hr_record_writer *to;
    snprintf(path, sizeof path, "%s/census.tfrecord", folder);
    HR_TRY(hr_record_writer_open(path, NULL, &to, err));
    const hr_status st = write_rows(to, err);
    if (st == HR_OK) return hr_record_writer_commit(to, err);
    hr_record_writer_discard(to);
    return st;
}
