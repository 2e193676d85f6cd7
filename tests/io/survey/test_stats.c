/* Statistics and vocabularies against a naive count; sketches within their bounds; the same for any number of
 * threads. */
#include "io/survey/sketch.h"
#include "tests/testing.h"
#include <headrace/examples.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hr_file_list files_of(char **path, int count) { return (hr_file_list){path, count}; }

static void write_string(const char *path, const char *text) { write_file(path, text, strlen(text)); }

static const hr_feature_stats *find(const hr_stats *stats, const char *key)
{
    for (int64_t i = 0; i < hr_stats_features(stats); i++) {
        const hr_feature_stats *f = hr_stats_feature(stats, i);
        if ((size_t)f->key.size == strlen(key) && memcmp(f->key.data, key, strlen(key)) == 0) return f;
    }
    fail_msg("no statistics of %s", key);
    return NULL;
}

static void small_files_are_described_exactly(void **state)
{
    (void)state;
    hr_stats *stats;
    hr_error err;
    char *path = "a.jsonl";
    const hr_file_list files = files_of(&path, 1);
    write_string("a.jsonl",
                 "{\"i\": 5, \"x\": 0.5, \"s\": \"ab\"}\n{\"i\": [0, 5], \"x\": {\"$float\": \"NaN\"}, \"s\": \"\"}\n"
                 "{\"i\": -3, \"x\": {\"$float\": \"Infinity\"}, \"s\": \"ab\"}\n{\"x\": -1.5, \"n\": null}\n");
    assert_ok(hr_compute_stats_with(&files, NULL, &stats, &err), &err);
    assert_int_equal(hr_stats_records(stats), 4);
    assert_int_equal(hr_stats_features(stats), 4);
    const hr_feature_stats *i = find(stats, "i"), *x = find(stats, "x"), *s = find(stats, "s");
    assert_int_equal(i->dtype, HR_INT64);
    assert_int_equal(i->records, 3);
    assert_int_equal(i->missing, 1);
    assert_int_equal(i->values, 4);
    assert_int_equal(i->least_values, 1);
    assert_int_equal(i->most_values, 2);
    assert_int_equal(i->zeros, 1);
    assert_exactly(i->min, -3);
    assert_exactly(i->max, 5);
    assert_exactly(i->mean, 1.75);
    assert_near(i->std, sqrt((3.25 * 3.25 * 2 + 1.75 * 1.75 + 4.75 * 4.75) / 4), 1e-12);
    assert_nan(i->log1p_mean);
    assert_exactly(i->quantile[0], -3);
    assert_exactly(i->quantile[3], 0);
    assert_exactly(i->quantile[6], 5);
    assert_exactly(i->distinct, 3);
    assert_true(i->distinct_exact);
    assert_int_equal(i->tops, 3);
    assert_memory_equal(i->top[0].text.data, "5", 1);
    assert_int_equal(i->top[0].count, 2);
    assert_int_equal(x->dtype, HR_FLOAT);
    assert_int_equal(x->nans, 1);
    assert_int_equal(x->infinite, 1);
    assert_exactly(x->min, -1.5);
    assert_exactly(x->max, 0.5);
    assert_exactly(x->mean, -0.5);
    assert_exactly(x->std, 1);
    assert_int_equal(s->dtype, HR_STRING);
    assert_int_equal(s->zeros, 1);
    assert_int_equal(s->most_bytes, 2);
    assert_near(s->mean_bytes, 4 / 3.0, 1e-12);
    assert_int_equal(find(stats, "n")->dtype, HR_INVALID_DTYPE);
    assert_nan(find(stats, "n")->mean);
    hr_stats_free(stats);
}

/* x: normal-like numbers around 1000; id: all different; w: a few words, of which one is frequent. */
static void write_rows(const char *path, int rows)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "x,id,w\n");
    for (int i = 0; i < rows; i++) {
        double x = 1000;
        for (int k = 0; k < 12; k++) x += (double)hr_random_below(7, (uint64_t)(i * 12 + k), 1000) / 1000;
        fprintf(f, "%.3f,id%d,%s\n", x, i, i % 3 == 0 ? "often" : i % 3000 == 1 ? "seldom" : "now and then");
    }
    fclose(f);
}

static void many_records_are_described_alike_by_any_number_of_threads(void **state)
{
    (void)state;
    enum { ROWS = 60000 };
    char *path = "a.csv", *first = NULL;
    const hr_file_list files = files_of(&path, 1);
    write_rows("a.csv", ROWS);
    for (int threads = 0; threads <= 4; threads += 2) {
        hr_stats *stats;
        hr_error err;
        char *text;
        hr_set_threads(threads);
        assert_ok(hr_compute_stats_with(&files, NULL, &stats, &err), &err);
        const hr_feature_stats *x = find(stats, "x"), *id = find(stats, "id"), *w = find(stats, "w");
        assert_near(x->mean, 1006, 0.02);
        assert_near(x->std, 1, 0.02);
        assert_near(x->quantile[3], 1006, 4.1);
        assert_at_least(x->quantile[0], x->min);
        assert_at_most(x->quantile[6], x->max);
        assert_near(x->log1p_mean, log(1007), 0.001);
        assert_false(id->distinct_exact);
        assert_near(id->distinct / ROWS, 1, 0.06);
        assert_int_equal(id->tops, 0);
        assert_true(w->distinct_exact);
        assert_exactly(w->distinct, 3);
        assert_int_equal(w->top[1].count, ROWS / 3);
        assert_ok(hr_stats_columns_text(stats, HR_NORMALIZE_MEAN_STD, NULL, &text, &err), &err);
        if (first) assert_string_equal(text, first);
        hr_free(first);
        first = text;
        hr_stats_free(stats);
    }
    hr_free(first);
}

static void columns_have_the_constants_of_the_way_to_normalize(void **state)
{
    (void)state;
    hr_stats *stats;
    hr_error err;
    char *path = "a.csv", *text;
    const hr_file_list files = files_of(&path, 1);
    static const char *const expected[] = {
        "columns:\n  \"a b\": {numeric: \"a b\", mean: 2, std: 0.8164966}\n"
        "  gap: {numeric: gap, default: 2, mean: 2.5, std: 1.5}\n",
        "columns:\n  \"a b\": {numeric: \"a b\", min: 1, max: 3}\n"
        "  gap: {numeric: gap, default: 2, min: 1, max: 4}\n",
        "columns:\n  \"a b\": {numeric: \"a b\", log1p: true, mean: 1.0593513, std: 0.2843347}\n"
        "  gap: {numeric: gap, default: 2, log1p: true, mean: 1.1512926, std: 0.45814538}\n",
    };
    write_string("a.csv", "a b,same,s,late,gap\n1,2,x,0,1\n3,2,y,1,\n2,2,z,1,4\n");
    assert_ok(hr_compute_stats_with(&files, NULL, &stats, &err), &err);
    for (int how = 0; how < 3; how++) {
        assert_ok(hr_stats_columns_text(stats, (hr_normalization)how, "late", &text, &err), &err);
        assert_string_equal(text, expected[how]);
        hr_free(text);
    }
    hr_stats_free(stats);
}

enum { VALUES = 100000 };

/* Values whose rank is known: those of 0 .. VALUES - 1 are k for rank k. */
static double value_in_order(int way, int64_t i)
{
    if (way == 0) return (double)i;
    if (way == 1) return (double)(VALUES - 1 - i);
    if (way == 2) return (double)(i % 2 ? VALUES - 1 - i / 2 : i / 2); /* from both ends */
    return (double)(i * INT64_C(7919) % VALUES);                       /* all over the place */
}

/* They lie within a hundred thousandth of one another, as longitudes of a city: ranks count, not distances. */
static double as_longitude(double k) { return -87.65 + 1e-9 * k; }

static void quantiles_have_ranks_within_one_percent(void **state)
{
    (void)state;
    double share[99], found[99];
    for (int s = 0; s < 99; s++) share[s] = (s + 1) / 100.0;
    for (int way = 0; way < 4; way++) {
        for (int parts = 1; parts <= 8; parts *= 8) {
            hr__quantiles all = {0}, again = {0};
            for (int p = 0; p < parts; p++) {
                hr__quantiles q = {0};
                for (int64_t i = p; i < VALUES; i += parts)
                    assert_status(hr__quantiles_add(&q, as_longitude(value_in_order(way, i)), NULL), HR_OK);
                assert_status(hr__quantiles_merge(&all, &q, NULL), HR_OK);
                assert_status(hr__quantiles_merge(&again, &q, NULL), HR_OK);
                hr__quantiles_free(&q);
            }
            assert_int_equal(all.count, VALUES);
            assert_less(all.held, 2560);
            assert_false(hr__quantiles_exact(&all));
            assert_status(hr__quantiles_read(&all, share, 99, found, NULL), HR_OK);
            for (int s = 0; s < 99; s++) {
                const double rank = (found[s] + 87.65) / 1e-9 / VALUES;
                if (fabs(rank - share[s]) > 0.01) fail_msg("way %d: %g is %g", way, share[s], rank);
            }
            double same[99];
            assert_status(hr__quantiles_read(&again, share, 99, same, NULL), HR_OK);
            assert_memory_equal(same, found, sizeof found);
            hr__quantiles_free(&all);
            hr__quantiles_free(&again);
        }
    }
}

static void few_values_have_exact_quantiles(void **state)
{
    (void)state;
    const double share[] = {0, 0.25, 0.5, 0.501, 1};
    double found[5];
    hr__quantiles q = {0};
    assert_status(hr__quantiles_read(&q, share, 5, found, NULL), HR_OK);
    assert_nan(found[0]);
    assert_nan(found[4]);
    assert_true(hr__quantiles_exact(&q));
    for (int i = 400; i > 0; i--) assert_status(hr__quantiles_add(&q, i, NULL), HR_OK);
    assert_status(hr__quantiles_read(&q, share, 5, found, NULL), HR_OK);
    assert_exactly(found[0], 1);
    assert_exactly(found[1], 100);
    assert_exactly(found[2], 200);
    assert_exactly(found[3], 201);
    assert_exactly(found[4], 400);
    assert_true(hr__quantiles_exact(&q));
    hr__quantiles_free(&q);
}

/* A feature may be whole numbers in one record and floats in another. */
static void frequent_values_of_both_kinds_of_numbers_are_what_they_are(void **state)
{
    (void)state;
    hr_stats *stats;
    hr_error err;
    char *path = "both.jsonl";
    const hr_file_list files = files_of(&path, 1);
    write_string(path, "{\"x\": 7}\n{\"x\": 2.5}\n{\"x\": 7}\n{\"x\": 2.5}\n{\"x\": 7}\n");
    assert_ok(hr_compute_stats_with(&files, NULL, &stats, &err), &err);
    const hr_feature_stats *x = find(stats, "x");
    assert_int_equal(x->tops, 2);
    assert_int_equal(x->top[0].count, 3);
    assert_int_equal(x->top[0].text.size, 1);
    assert_memory_equal(x->top[0].text.data, "7", 1);
    assert_int_equal(x->top[1].text.size, 3);
    assert_memory_equal(x->top[1].text.data, "2.5", 3);
    hr_stats_free(stats);
}

static void frequent_values_survive_a_crowd(void **state)
{
    (void)state;
    hr__frequent *f = calloc(2, sizeof *f);
    for (uint64_t i = 0; i < 100000; i++) {
        const uint64_t value = i % 10 == 0 ? 42 : 1000 + i;
        assert_status(hr__frequent_add(&f[i / 10 % 2], hr_random(1, value), value, (hr_view){NULL, 0}, 1, NULL), HR_OK);
    }
    assert_status(hr__frequent_merge(&f[0], &f[1], NULL), HR_OK);
    int64_t max = 0;
    uint64_t which = 0;
    for (int i = 0; i < f[0].slots; i++)
        if (f[0].slot[i].count > max) {
            max = f[0].slot[i].count;
            which = f[0].slot[i].bits;
        }
    assert_int_equal(which, 42);
    assert_at_most(max, 10000);
    assert_at_least(max + f[0].error, 10000);
    assert_at_most(f[0].error, 100000 / HR__FREQUENT_RETAINED);
    for (int i = 0; i < 2; i++) hr__frequent_free(&f[i]);
    free(f);
}

static void distinct_values_are_counted_within_some_percent(void **state)
{
    (void)state;
    hr__distinct *d = calloc(2, sizeof *d);
    assert_exactly(hr__distinct_count(d), 0);
    for (uint64_t n = 1; n <= 1000000; n++) {
        hr__distinct_add(&d[n % 2], hr_random(3, n));
        hr__distinct_add(&d[n % 2], hr_random(3, n / 2));
        if (n != 100 && n != 10000 && n != 1000000) continue;
        hr__distinct_merge(&d[0], &d[1]);
        assert_near(hr__distinct_count(d) / (double)(n + 1), 1, 0.05);
    }
    free(d);
}

static void words_come_by_counts_then_bytes(void **state)
{
    (void)state;
    hr_vocabulary *v;
    hr_error err;
    char *path = "a.jsonl";
    const hr_file_list files = files_of(&path, 1);
    write_string(
        "a.jsonl",
        "{\"w\": [\"b\", \"a\", \"b\"], \"i\": 7, \"x\": 1.5}\n{\"w\": [\"ab\", \"c\", \"c\"], \"i\": [-1, 7]}\n{}\n");
    static const char *const expected[] = {"b", "c", "a", "ab"};
    const hr_count_vocabulary_opts few = {.struct_size = sizeof few, .min_count = 2, .top_k = 1};
    assert_ok(hr_count_vocabulary_with(&files, "w", NULL, &v, &err), &err);
    assert_int_equal(hr_vocabulary_size(v), 4);
    for (int i = 0; i < 4; i++) {
        const hr_vocabulary_word w = hr_vocabulary_at(v, i);
        assert_int_equal(w.word.size, strlen(expected[i]));
        assert_memory_equal(w.word.data, expected[i], (size_t)w.word.size);
        assert_int_equal(w.count, i < 2 ? 2 : 1);
    }
    assert_ok(hr_vocabulary_write(v, "words.txt", &err), &err);
    size_t size;
    char *text = read_whole_file("words.txt", &size);
    assert_int_equal(size, 9);
    assert_memory_equal(text, "b\nc\na\nab\n", 9);
    free(text);
    hr_vocabulary_free(v);
    assert_ok(hr_count_vocabulary_with(&files, "w", &few, &v, &err), &err);
    assert_int_equal(hr_vocabulary_size(v), 1);
    assert_int_equal(hr_vocabulary_distinct(v), 4);
    hr_vocabulary_free(v);
    assert_ok(hr_count_vocabulary_with(&files, "i", NULL, &v, &err), &err);
    assert_memory_equal(hr_vocabulary_at(v, 1).word.data, "-1", 2);
    hr_vocabulary_free(v);
    assert_status(hr_count_vocabulary_with(&files, "x", NULL, &v, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "vocabulary.type");
    assert_status(hr_count_vocabulary_with(&files, "y", NULL, &v, &err), HR_NOT_FOUND);
    assert_string_equal(err.kind, "vocabulary.feature");
}

static void words_that_no_line_can_hold_are_refused(void **state)
{
    (void)state;
    static const char *const words[] = {"", "a\\nb", "a\\r"};
    for (int i = 0; i < 3; i++) {
        hr_vocabulary *v;
        hr_error err;
        char *path = "a.jsonl", text[64];
        const hr_file_list files = files_of(&path, 1);
        snprintf(text, sizeof text, "{\"w\": \"%s\"}\n", words[i]);
        write_string("a.jsonl", text);
        assert_ok(hr_count_vocabulary_with(&files, "w", NULL, &v, &err), &err);
        assert_status(hr_vocabulary_check(v, &err), HR_INVALID_ARGUMENT);
        assert_status(hr_vocabulary_write(v, "none.txt", &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "vocabulary.word");
        assert_null(fopen("none.txt", "r"));
        hr_vocabulary_free(v);
    }
}

static void a_lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    char *path = "a.jsonl";
    const hr_file_list files = files_of(&path, 1);
    write_string("a.jsonl", "{\"i\": [1, 2], \"s\": \"a word of some length\"}\n");
    hr_set_threads(0);
    for (int which = 0; which < 2; which++) {
        const int64_t alive = allocations_alive();
        hr_status st = HR_RESOURCE_EXHAUSTED;
        for (int64_t n = 0; st != HR_OK && n < 400; n++) {
            hr_stats *stats = NULL;
            hr_vocabulary *v = NULL;
            char *text = NULL;
            fail_allocation(n);
            if (which)
                st = hr_count_vocabulary_with(&files, "s", NULL, &v, NULL);
            else if ((st = hr_compute_stats_with(&files, NULL, &stats, NULL)) == HR_OK)
                st = hr_stats_columns_text(stats, HR_NORMALIZE_MEAN_STD, NULL, &text, NULL);
            allocations_since();
            hr_free(text);
            hr_stats_free(stats);
            hr_vocabulary_free(v);
            assert_status_either(st, HR_OK, HR_RESOURCE_EXHAUSTED);
            assert_int_equal(allocations_alive(), alive);
        }
        assert_status(st, HR_OK);
    }
}

static void the_types_of_a_csv_in_a_pipe_must_be_given(void **state)
{
    (void)state;
    hr_stats *stats;
    hr_error err;
    char *path = "pipe";
    const hr_file_list files = files_of(&path, 1);
    const hr_survey_opts opts = {.struct_size = sizeof opts, .format = HR_FORMAT_CSV};
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_status(hr_compute_stats_with(&files, &opts, &stats, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "file.once");
    unlink(path);
}

/* So many values that they are read in blocks. */
static void values_of_a_long_record_all_count(void **state)
{
    (void)state;
    enum { VALUES = 100000 };
    char *path = "long.jsonl";
    const hr_file_list files = files_of(&path, 1);
    hr_stats *stats;
    hr_vocabulary *words;
    hr_schema_file *schema, *narrow;
    hr_error err;
    int64_t count;
    FILE *f = fopen(path, "wb");
    for (int list = 0; list < 2; list++) {
        fprintf(f, list ? "], \"s\": [\"x\"" : "{\"i\": [0");
        for (int i = 1; i < VALUES; i++) fprintf(f, list ? ", \"w%d\"" : ", %d", list ? i % 10 : i);
    }
    fprintf(f, "]}\n");
    fclose(f);
    assert_ok(hr_compute_stats_with(&files, NULL, &stats, &err), &err);
    assert_int_equal(find(stats, "i")->values, VALUES);
    assert_exactly(find(stats, "i")->max, VALUES - 1);
    assert_near(find(stats, "i")->mean, (VALUES - 1) / 2.0, 1e-6);
    assert_int_equal(find(stats, "s")->values, VALUES);
    assert_exactly(find(stats, "s")->distinct, 11);
    hr_stats_free(stats);
    const hr_count_vocabulary_opts opts = {.struct_size = sizeof opts};
    assert_ok(hr_count_vocabulary_with(&files, "s", &opts, &words, &err), &err);
    assert_int_equal(hr_vocabulary_size(words), 11);
    assert_int_equal(hr_vocabulary_at(words, 10).count, 1);
    hr_vocabulary_free(words);
    assert_ok(hr_infer_schema_with(&files, NULL, &schema, &err), &err);
    assert_int_equal(hr_schema_file_at(schema, 0).dtype, HR_INT64);
    assert_int_equal(hr_schema_file_at(schema, 1).dtype, HR_STRING);
    assert_ok(hr_check_schema_with(&files, schema, NULL, NULL, NULL, &count, &err), &err);
    assert_int_equal(count, 0);
    write_string("narrow.yaml", "bool: [i]\nstring: [s]\n");
    assert_ok(hr_schema_file_open("narrow.yaml", &narrow, &err), &err);
    assert_ok(hr_check_schema_with(&files, narrow, NULL, NULL, NULL, &count, &err), &err);
    assert_int_equal(count, 1);
    hr_schema_file_free(schema);
    hr_schema_file_free(narrow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_files_are_described_exactly),
        cmocka_unit_test(many_records_are_described_alike_by_any_number_of_threads),
        cmocka_unit_test(columns_have_the_constants_of_the_way_to_normalize),
        cmocka_unit_test(quantiles_have_ranks_within_one_percent),
        cmocka_unit_test(few_values_have_exact_quantiles),
        cmocka_unit_test(frequent_values_of_both_kinds_of_numbers_are_what_they_are),
        cmocka_unit_test(frequent_values_survive_a_crowd),
        cmocka_unit_test(distinct_values_are_counted_within_some_percent),
        cmocka_unit_test(words_come_by_counts_then_bytes),
        cmocka_unit_test(words_that_no_line_can_hold_are_refused),
        cmocka_unit_test(the_types_of_a_csv_in_a_pipe_must_be_given),
        cmocka_unit_test(values_of_a_long_record_all_count),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
