/* The sums' kernels against naive rivals, bit for bit: every number of rows, widths around a vector's, every processor.
 * And rows of ids of which some count for nothing against the same rows without these. */
#include "base/cpu.h"
#include "feature_columns/kernels/sum_rows.h"
#include "tests/testing.h"

#include <headrace/feature_columns.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 50, WIDEST = 70, MAX = 40, LONG = 300 };

static float table[BUCKETS * WIDEST];

static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < BUCKETS * WIDEST; i++) table[i] = (float)hr_random_below(3, (uint64_t)i, 2000001) / 1e6f - 1;
    return 0;
}

/* By the list of how many rows each block has. */
static float rival_plain(const float *const *row, int64_t count, int64_t d)
{
    const int64_t odd = count % 8, first = count < 10 ? count : odd < 2 ? odd + 8 : odd;
    float total = row[0][d];
    for (int64_t i = 1; i < first; i++) total += row[i][d];
    for (int64_t at = first; at < count; at += 8) {
        float block = row[at][d];
        for (int64_t i = at + 1; i < at + 8; i++) block += row[i][d];
        total += block;
    }
    return total;
}

static float rival_weighted(const float *const *row, const float *weights, int64_t count, int64_t d)
{
    volatile float total = row[0][d] * weights[0]; /* volatile: a product by itself, then a sum by itself */
    for (int64_t i = 1; i < count; i++) {
        volatile float product = row[i][d] * weights[i];
        total = total + product;
    }
    return total;
}

/* Of memory that ends with the row, so that a sanitizer sees what is written beyond it. */
static void hold(hr__sum_rows_fn *sum, const float *const *row, const float *weights, int64_t count, int64_t width)
{
    float *out = malloc((size_t)width * sizeof *out);
    sum(row, NULL, count, width, out);
    for (int64_t d = 0; d < width; d++) assert_exactly(out[d], rival_plain(row, count, d));
    sum(row, weights, count, width, out);
    for (int64_t d = 0; d < width; d++) assert_exactly(out[d], rival_weighted(row, weights, count, d));
    free(out);
}

static void every_kernel_gives_the_same_bits(void **state)
{
    (void)state;
    const unsigned limits[] = {0, HR__AVX2, ~0u};
    const float *row[MAX];
    float weights[MAX];
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        hr__cpu_limit(limits[k]);
        hr__sum_rows_fn *sum = hr__sum_rows_choose();
        for (int64_t width = 1; width <= WIDEST; width += width < 20 ? 1 : 7)
            for (int64_t count = 1; count <= MAX; count++) {
                for (int64_t i = 0; i < count; i++) {
                    row[i] = table + hr_random_below((uint64_t)count, (uint64_t)i, BUCKETS * WIDEST - WIDEST);
                    weights[i] = table[i + count];
                }
                hold(sum, row, weights, count, width);
            }
    }
    hr__cpu_limit(~0u);
}

/* Ids of a row of which every third is unknown and some have no weight; and the same without them. */
typedef struct lists {
    int64_t ids[LONG], kept[LONG];
    float weights[LONG], kept_weights[LONG];
    int32_t splits[2], kept_splits[2];
} lists;

static void make_lists(lists *l, int count, bool weighted, hr_combiner combiner)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        l->ids[i] = i % 3 == 1 ? -1 - i : hr_random_below(4, (uint64_t)i, BUCKETS);
        l->weights[i] = (float)(i % 5) - .75f;
        const bool counts = l->ids[i] >= 0 && (!weighted || combiner == HR_SUM || l->weights[i] > 0);
        if (!counts) continue;
        l->kept[kept] = l->ids[i];
        l->kept_weights[kept++] = l->weights[i];
    }
    memcpy(l->splits, (int32_t[]){0, count}, sizeof l->splits);
    memcpy(l->kept_splits, (int32_t[]){0, kept}, sizeof l->kept_splits);
}

static void hold_lists(const lists *l, const hr_lookup *lookup, bool weighted)
{
    float out[WIDEST], without[WIDEST];
    hr_error err;
    assert_ok(hr_combine_rows(lookup, l->ids, weighted ? l->weights : NULL, l->splits, 1, out, &err), &err);
    assert_ok(hr_combine_rows(lookup, l->kept, weighted ? l->kept_weights : NULL, l->kept_splits, 1, without, &err),
              &err);
    assert_memory_equal(out, without, (size_t)lookup->dimension * sizeof *out);
}

static void ids_that_do_not_count_are_as_if_they_were_not_there(void **state)
{
    (void)state;
    const int counts[] = {1, 2, 30, 64, 65, LONG};
    const int64_t widths[] = {1, 16, WIDEST};
    lists l;
    for (int c = 0; c < 6; c++)
        for (int w = 0; w < 3; w++)
            for (int combiner = HR_MEAN; combiner <= HR_SQRTN; combiner++)
                for (int how = 0; how < 4; how++) {
                    const hr_lookup lookup = {.table = table,
                                              .buckets = BUCKETS,
                                              .dimension = widths[w],
                                              .combiner = (hr_combiner)combiner,
                                              .max_norm = how & 2 ? .5f : 0};
                    make_lists(&l, counts[c], how & 1, lookup.combiner);
                    hold_lists(&l, &lookup, how & 1);
                }
}

static void long_rows_without_memory_are_an_error(void **state)
{
    (void)state;
    const hr_lookup lookup = {.table = table, .buckets = BUCKETS, .dimension = 4, .combiner = HR_SUM};
    const int32_t splits[] = {0, LONG};
    static const int64_t ids[LONG];
    float out[4];
    hr_error err;
    fail_allocation(0);
    assert_status(hr_combine_rows(&lookup, ids, NULL, splits, 1, out, &err), HR_RESOURCE_EXHAUSTED);
    fail_allocation(INT64_MAX);
    assert_ok(hr_combine_rows(&lookup, ids, NULL, splits, 1, out, &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_gives_the_same_bits),
        cmocka_unit_test(ids_that_do_not_count_are_as_if_they_were_not_there),
        cmocka_unit_test(long_rows_without_memory_are_an_error),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
