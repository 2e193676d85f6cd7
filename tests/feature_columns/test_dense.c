/* Dense forms: embeddings' order of summation against a naive rival, counts, and what columns say of themselves. */
#include "tests/feature_columns/columns_testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 40, DIM = 5 };

static void fill(float *table, int64_t n)
{
    for (int64_t i = 0; i < n; i++) table[i] = (float)hr_random_below(3, (uint64_t)i, 2000001) / 1e6f - 1;
}

/* The rule of SparseSegmentSum, written down in another way: a list of block lengths. */
static float rival_sum(const float *x, int n)
{
    float total = 0;
    int lengths[16], blocks = 0, first = n < 10 ? n : n % 8 == 0 ? 8 : n % 8 == 1 ? 9 : n % 8, at = 0;
    lengths[blocks++] = first;
    for (int rest = n - first; rest > 0; rest -= 8) lengths[blocks++] = 8;
    for (int b = 0; b < blocks; b++) {
        float sum = x[at++];
        for (int i = 1; i < lengths[b]; i++) sum += x[at++];
        total = b == 0 ? sum : total + sum;
    }
    return total;
}

static void sums_have_the_order_of_tensorflow(void **state)
{
    (void)state;
    float table[BUCKETS * DIM], out[DIM];
    int64_t ids[64];
    fill(table, BUCKETS * DIM);
    for (int n = 1; n <= 64; n++) {
        int32_t splits[2] = {0, n};
        for (int i = 0; i < n; i++) ids[i] = hr_random_below(9, (uint64_t)(n * 64 + i), BUCKETS);
        for (int combiner = HR_MEAN; combiner <= HR_SQRTN; combiner++) {
            hr_lookup lookup = {table, BUCKETS, DIM, .combiner = (hr_combiner)combiner};
            assert_status(hr_combine_rows(&lookup, ids, NULL, splits, 1, out, NULL), HR_OK);
            for (int d = 0; d < DIM; d++) {
                float x[64];
                for (int i = 0; i < n; i++) x[i] = table[ids[i] * DIM + d];
                float sum = rival_sum(x, n);
                float expected = combiner == HR_MEAN  ? sum / (float)n
                                 : combiner == HR_SUM ? sum
                                                      : sum / sqrtf((float)n);
                if (n == 1) expected = sum;
                assert_exactly(out[d], expected);
            }
        }
    }
}

static void what_counts_for_nothing_is_left_out(void **state)
{
    (void)state;
    const float table[] = {1, 2, 4, 8};
    const int64_t ids[] = {0, -1, 1, 2, 3, -5};
    const float weights[] = {1, 9, -1, 0, 2, 9};
    const int32_t splits[] = {0, 3, 5, 6, 6};
    float out[4];
    hr_lookup mean = {table, 4, 1, .combiner = HR_MEAN}, sum = {table, 4, 1, .combiner = HR_SUM};
    hr_combine_rows(&mean, ids, NULL, splits, 4, out, NULL);
    assert_exactly(out[0], 1.5f);
    assert_exactly(out[1], 6);
    assert_exactly(out[2], 0);
    assert_exactly(out[3], 0);
    hr_combine_rows(&mean, ids, weights, splits, 4, out, NULL);
    assert_exactly(out[0], 1);
    assert_exactly(out[1], 8);
    assert_exactly(out[2], 0);
    assert_exactly(out[3], 0);
    hr_combine_rows(&sum, ids, weights, splits, 4, out, NULL);
    assert_exactly(out[0], -1);
    assert_exactly(out[1], 16);
    assert_exactly(out[2], 0);
    assert_exactly(out[3], 0);
}

static void max_norm_scales_rows_before_they_are_weighted(void **state)
{
    (void)state;
    const float table[] = {3, 4, .3f, .4f};
    const int64_t ids[] = {0, 1};
    const int32_t splits[] = {0, 1, 2};
    float out[4];
    hr_lookup lookup = {table, 2, 2, HR_SUM, .max_norm = 1};
    hr_combine_rows(&lookup, ids, NULL, splits, 2, out, NULL);
    assert_exactly(out[0], 3.0f / 5);
    assert_exactly(out[1], 4.0f / 5);
    assert_exactly(out[2], .3f);
    assert_exactly(out[3], .4f);
}

static void rows_can_be_a_part_of_a_wider_matrix(void **state)
{
    (void)state;
    const float table[] = {1, 2, 3, 4};
    const int64_t ids[] = {1, 0, 1};
    float out[] = {9, 9, 9, 9, 9, 9, 9, 9, 9};
    hr_lookup lookup = {table, 2, 2, .combiner = HR_SUM, .stride = 3};
    assert_status(hr_combine_rows(&lookup, ids, NULL, SPLITS(0, 1, 1, 3), 3, out, NULL), HR_OK);
    assert_memory_equal(out, ((float[]){3, 4, 9, 0, 0, 9, 4, 6, 9}), sizeof out);
}

/* One id a row is copied, in blocks and what is left; a row without ids among them takes the general way. */
static void rows_of_one_id_are_those_of_the_table(void **state)
{
    (void)state;
    enum { WIDTH = 21, BUCKETS = 40, COUNT = 100 };
    static float table[BUCKETS * WIDTH], out[COUNT * WIDTH], again[(COUNT + 1) * WIDTH];
    static int64_t ids[COUNT];
    static int32_t splits[COUNT + 2];
    fill(table, BUCKETS * WIDTH);
    for (int i = 0; i < COUNT; i++) ids[i] = i * 7 % BUCKETS;
    for (int i = 0; i <= COUNT; i++) splits[i] = i;
    splits[COUNT + 1] = COUNT;
    hr_lookup lookup = {table, BUCKETS, WIDTH, .combiner = HR_SQRTN};
    assert_status(hr_combine_rows(&lookup, ids, NULL, splits + 3, COUNT - 3, out, NULL), HR_OK);
    assert_status(hr_combine_rows(&lookup, ids, NULL, splits + 3, COUNT - 2, again, NULL), HR_OK);
    for (int i = 3; i < COUNT; i++)
        assert_memory_equal(out + (i - 3) * WIDTH, table + ids[i] * WIDTH, WIDTH * sizeof *out);
    assert_memory_equal(again, out, (COUNT - 3) * WIDTH * sizeof *out);
    ids[50] = -1;
    assert_status(hr_combine_rows(&lookup, ids, NULL, splits, COUNT, out, NULL), HR_OK);
    for (int d = 0; d < WIDTH; d++) assert_exactly(out[50 * WIDTH + d], 0);
}

static void an_id_beyond_the_table_is_an_error(void **state)
{
    (void)state;
    const float table[] = {1};
    hr_lookup lookup = {table, 1, 1, .combiner = HR_SUM};
    hr_error err;
    float out;
    assert_status(hr_combine_rows(&lookup, HR_I64(1), NULL, SPLITS(0, 1), 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "column.id_range");
}

/* TensorFlow drops it before it looks anything up; under sum a weight of 0 is a weight. */
static void an_id_beyond_the_table_may_lie_there_without_weight(void **state)
{
    (void)state;
    const float table[] = {5}, weights[] = {-1, 1};
    hr_lookup lookup = {table, 1, 1, .combiner = HR_MEAN};
    float out;
    assert_status(hr_combine_rows(&lookup, HR_I64(INT64_MAX, 0), weights, SPLITS(0, 2), 1, &out, NULL), HR_OK);
    assert_float_equal(out, 5, 0);
    lookup.combiner = HR_SUM;
    assert_status(hr_combine_rows(&lookup, HR_I64(INT64_MAX, 0), weights, SPLITS(0, 2), 1, &out, NULL),
                  HR_INVALID_ARGUMENT);
}

static void wide_rows_need_more_than_the_stack(void **state)
{
    (void)state;
    enum { WIDE = 3000 };
    float *table = calloc(WIDE, 4 * sizeof *table), *out = calloc(WIDE, sizeof *out);
    fill(table, WIDE * 4);
    hr_lookup lookup = {table, 4, WIDE, .combiner = HR_SUM};
    const int64_t ids[12] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    assert_status(hr_combine_rows(&lookup, ids, NULL, SPLITS(0, 12), 1, out, NULL), HR_OK);
    float x[12];
    for (int i = 0; i < 12; i++) x[i] = table[ids[i] * WIDE + WIDE - 1];
    assert_exactly(out[WIDE - 1], rival_sum(x, 12));
    free(table);
    free(out);
}

static void counts_add_up_and_ignore_what_is_out_of_range(void **state)
{
    (void)state;
    const int64_t ids[] = {2, 2, -1, 3, 0};
    const float weights[] = {.5f, -1, 9, 9, 2};
    float out[6];
    hr_count_ids(ids, NULL, SPLITS(0, 4, 5), 2, 3, out, 3);
    assert_exactly(out[0], 0);
    assert_exactly(out[2], 2);
    assert_exactly(out[3], 1);
    hr_count_ids(ids, weights, SPLITS(0, 4, 5), 2, 3, out, 3);
    assert_exactly(out[2], -.5f);
    assert_exactly(out[3], 2);
}

static void a_column_says_what_a_trainer_needs(void **state)
{
    (void)state;
    hr_feature_column *e = hr_embedding_column(hr_categorical_column_with_identity("a/b", 7), 16, .combiner = HR_SUM);
    const hr_column_info *info = hr_feature_column_info(e);
    assert_string_equal(info->kind, "embedding_column");
    assert_string_equal(info->name, "a/b_embedding");
    assert_string_equal(info->scope, "a_b_embedding");
    assert_string_equal(info->component, "a/b");
    assert_true(info->scope_is_legal);
    assert_false(info->categorical);
    assert_int_equal(info->dense, HR_COLUMN_LOOKUP);
    assert_int_equal(info->width, 16);
    assert_int_equal(info->num_buckets, 7);
    assert_exactly(info->table.stddev, .25f);
    assert_true(info->table.trainable);
    assert_int_equal(info->table.combiner, HR_SUM);
    hr_feature_column_unref(e);

    hr_feature_column *w = hr_weighted_categorical_column(hr_categorical_column_with_identity("\xc3\xa9 x", 7), "w");
    info = hr_feature_column_info(w);
    assert_string_equal(info->scope, "__x_weighted_by_w");
    assert_string_equal(info->weights, "\xc3\xa9 x_weighted_by_w/weights");
    assert_false(info->scope_is_legal);
    hr_feature_column_unref(w);

    assert_refused(hr_embedding_column(hr_numeric_column("a"), 3), "column.source");
    assert_refused(hr_embedding_column(hr_categorical_column_with_identity("a", 7), 0), "column.dimension");
    assert_refused(hr_embedding_column(hr_categorical_column_with_identity("a", 7), 2, .ckpt_to_load_from = "m"),
                   "column.checkpoint");
    assert_refused(hr_indicator_column(hr_numeric_column("a")), "column.source");
}

static void columns_that_share_a_table_name_it(void **state)
{
    (void)state;
    hr_feature_column *shared[2],
        *ids[] = {hr_categorical_column_with_identity("b", 7),
                  hr_weighted_categorical_column(hr_categorical_column_with_identity("a", 7), "w")};
    hr_shared_embeddings(ids, 2, 3, shared);
    for (int i = 0; i < 2; i++) {
        const hr_column_info *info = hr_feature_column_info(shared[i]);
        assert_non_null(info);
        assert_string_equal(info->name, i ? "a_weighted_by_w_shared_embedding" : "b_shared_embedding");
        assert_string_equal(info->table.shared_name, "a_weighted_by_w_b_shared_embedding");
        assert_int_equal(info->table.dimension, 3);
        hr_feature_column_unref(shared[i]);
    }
    hr_feature_column *unlike[] = {hr_categorical_column_with_identity("b", 7),
                                   hr_categorical_column_with_hash_bucket("a", 7)};
    hr_shared_embeddings(unlike, 2, 3, unlike, .shared_embedding_name = "table");
    for (int i = 0; i < 2; i++) assert_refused(unlike[i], "column.shared");
    hr_feature_column *sizes[] = {hr_categorical_column_with_identity("b", 7),
                                  hr_categorical_column_with_identity("a", 8)};
    hr_shared_embeddings(sizes, 2, 3, sizes);
    for (int i = 0; i < 2; i++) assert_refused(sizes[i], "column.shared");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_the_order_of_tensorflow),
        cmocka_unit_test(what_counts_for_nothing_is_left_out),
        cmocka_unit_test(max_norm_scales_rows_before_they_are_weighted),
        cmocka_unit_test(rows_can_be_a_part_of_a_wider_matrix),
        cmocka_unit_test(rows_of_one_id_are_those_of_the_table),
        cmocka_unit_test(an_id_beyond_the_table_is_an_error),
        cmocka_unit_test(an_id_beyond_the_table_may_lie_there_without_weight),
        cmocka_unit_test(wide_rows_need_more_than_the_stack),
        cmocka_unit_test(counts_add_up_and_ignore_what_is_out_of_range),
        cmocka_unit_test(a_column_says_what_a_trainer_needs),
        cmocka_unit_test(columns_that_share_a_table_name_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
