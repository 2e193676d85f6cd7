/* Vocabulary files: read once and shared as long as a column lives, whatever lies where blocks meet, and from any
 * thread. */
#include "feature_columns/kinds/vocabulary.h"
#include "tests/feature_columns/columns_testing.h"

#include <headrace/io.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 60000, LONG = 300000 };

static const hr_words *words_of(const hr_feature_column *column)
{
    return ((const hr__vocabulary_spec *)hr_feature_column_spec(column))->words;
}

static hr_feature_column *column_of(const char *key, const char *file)
{
    return hr_categorical_column_with_vocabulary_file(key, file);
}

static void columns_of_one_file_share_its_words(void **state)
{
    (void)state;
    const int64_t two = 2;
    write_file("v.txt", "1\n2\n3\n", 6);
    hr_feature_column *a = column_of("a", "v.txt"), *b = column_of("b", "./v.txt");
    hr_feature_column *ints = hr_categorical_column_with_vocabulary_file("a", "v.txt", .dtype = HR_INT64);
    hr_feature_column *less = hr_categorical_column_with_vocabulary_file("a", "v.txt", .vocabulary_size = &two);
    assert_ptr_equal(words_of(a), words_of(b));
    assert_ptr_not_equal(words_of(ints), words_of(a));
    assert_ptr_not_equal(words_of(less), words_of(a));
    assert_int_equal(hr_words_size(words_of(less)), 2);
    hr_feature_column_unref(a);
    hr_feature_column_unref(ints);
    hr_feature_column_unref(less);

    /* Written anew, it is another file; the old one lives on in its column. */
    write_file("v.txt", "x\ny\nz\nw\n", 8);
    hr_feature_column *c = column_of("a", "v.txt");
    assert_ptr_not_equal(words_of(c), words_of(b));
    assert_int_equal(hr_words_size(words_of(b)), 3);
    assert_int_equal(hr_words_size(words_of(c)), 4);
    hr_feature_column_unref(b);
    hr_feature_column_unref(c);
}

/* Lines of 1 to 20 bytes and one longer than any block, so that blocks end anywhere. */
static void write_words(const char *path)
{
    FILE *f = fopen(path, "wb");
    for (int i = 0; i < WORDS; i++) {
        if (i == WORDS / 2)
            for (int k = 0; k < LONG; k++) fputc('x', f);
        fprintf(f, i % 3 ? "%d\n" : "%016d\r\n", i);
    }
    fclose(f);
}

static void lines_are_whole_wherever_blocks_end(void **state)
{
    (void)state;
    write_words("many.txt");
    hr_feature_column *column = column_of("a", "many.txt");
    assert_null(hr_feature_column_error(column));
    const hr_words *words = words_of(column);
    assert_int_equal(hr_words_size(words), WORDS);
    for (int i = 0; i < WORDS; i++) {
        char text[32];
        snprintf(text, sizeof text, i % 3 ? "%d" : "%016d", i);
        hr_view key = hr_words_at(words, i);
        if (i == WORDS / 2) {
            assert_int_equal(key.size, LONG + (int)strlen(text));
            continue;
        }
        assert_int_equal(key.size, strlen(text));
        assert_memory_equal(key.data, text, strlen(text));
    }
    hr_feature_column_unref(column);
}

static void write_records(const char *path, const char *const *words, int count)
{
    hr_record_writer *writer;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_GZIP};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int i = 0; i < count; i++) assert_ok(hr_record_write(writer, words[i], strlen(words[i]), &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

static void words_may_be_records(void **state)
{
    (void)state;
    const int64_t two = 2, four = 4;
    const char *const some[] = {"a", "line\nbreak", "c\r"}, *const empty[] = {"a", ""};
    write_records("v.gz", some, 3);
    write_records("e.gz", empty, 2);
    hr_feature_column *all = hr_categorical_column_with_vocabulary_file("a", "v.gz", .tfrecord_gzip = true);
    if (hr_feature_column_error(all)) fail_msg("%s", hr_feature_column_error(all)->text);
    assert_int_equal(hr_words_size(words_of(all)), 3);
    assert_int_equal(hr_words_at(words_of(all), 2).size, 2);
    hr_feature_column *less =
        hr_categorical_column_with_vocabulary_file("a", "v.gz", .tfrecord_gzip = true, .vocabulary_size = &two);
    assert_int_equal(hr_words_size(words_of(less)), 2);
    hr_feature_column_unref(all);
    hr_feature_column_unref(less);
    assert_refused(
        hr_categorical_column_with_vocabulary_file("a", "v.gz", .tfrecord_gzip = true, .vocabulary_size = &four),
        "column.vocabulary_size");
    assert_refused(hr_categorical_column_with_vocabulary_file("a", "e.gz", .tfrecord_gzip = true), "column.vocabulary");
    write_file("t.txt", "a\nb\n", 4);
    hr_feature_column *text = hr_categorical_column_with_vocabulary_file("a", "t.txt", .tfrecord_gzip = true);
    assert_non_null(hr_feature_column_error(text));
    hr_feature_column_unref(text);
}

/* Word number i of the file, or, of every fifth, one that is not in it: short, as long as an entry holds, longer. */
static int spell(int i, bool *known, char *text)
{
    *known = i % 5 != 4;
    const int value = (*known ? i * 7 % 1000 : 5000 + i) + 1000;
    return sprintf(text, value % 3 == 0 ? "%d" : value % 3 == 1 ? "%016d" : "%024d", value);
}

static int64_t expected_id(int i, bool known, const char *text, int64_t oov)
{
    if (known) return i * 7 % 1000;
    return oov ? 1000 + (int64_t)(hr_fingerprint64(text, strlen(text)) % (uint64_t)oov) : -1;
}

enum { LOOKED_UP = 333, TEXT = 32 };

/* The first `count` words, as strings or as integers. */
static void look_up(int count, bool integers, int64_t oov)
{
    static char text[LOOKED_UP][TEXT];
    static hr_view word[LOOKED_UP];
    static int64_t integer[LOOKED_UP];
    static int32_t splits[LOOKED_UP + 1];
    bool known;
    for (int i = 0; i < count; i++) {
        word[i] = (hr_view){text[i], spell(i, &known, text[i])};
        integer[i] = atoll(text[i]);
        splits[i + 1] = i + 1;
    }
    feature f = {"a", {.rows = count, .count = count, .splits = splits}};
    f.values.dtype = integers ? HR_INT64 : HR_STRING;
    f.values.values = integers ? (const void *)integer : word;
    outcome o = {0};
    run_columns(&o,
                HR_COLUMNS(hr_categorical_column_with_vocabulary_file("a", "thousand.txt", .dtype = f.values.dtype,
                                                                      .num_oov_buckets = oov)),
                &f, 1);
    assert_ok(o.status, &o.err);
    assert_int_equal(o.result[0].count, count);
    for (int i = 0; i < count; i++) {
        char spelled[TEXT];
        spell(i, &known, text[i]);
        if (integers) sprintf(spelled, "%lld", (long long)integer[i]);
        assert_int_equal(((const int64_t *)o.result[0].values)[i],
                         expected_id(i, known, integers ? spelled : text[i], oov));
    }
    outcome_free(&o);
}

/* Words go through in blocks: none, less than one, up to their edges, many. */
static void any_number_of_words_is_looked_up(void **state)
{
    (void)state;
    const int counts[] = {0, 1, 31, 32, 33, 63, 64, 65, 95, 96, 97, 128, LOOKED_UP};
    FILE *f = fopen("thousand.txt", "wb");
    for (int i = 0; i < 1000; i++) {
        const int value = i + 1000;
        fprintf(f, value % 3 == 0 ? "%d\n" : value % 3 == 1 ? "%016d\n" : "%024d\n", value);
    }
    fclose(f);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        look_up(counts[c], false, 0);
        look_up(counts[c], false, 7);
        look_up(counts[c], true, 0);
        look_up(counts[c], true, 7);
    }
}

static void *make_and_drop(void *user)
{
    (void)user;
    for (int i = 0; i < 20; i++) {
        hr_feature_column *column = column_of("a", "shared.txt");
        if (hr_feature_column_error(column) || hr_words_size(words_of(column)) != 3) return "wrong";
        hr_feature_column_unref(column);
    }
    return NULL;
}

static void any_thread_makes_and_drops_them(void **state)
{
    (void)state;
    pthread_t thread[4];
    write_file("shared.txt", "a\nb\nc\n", 6);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, make_and_drop, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
}

static void no_allocation_failure_leaks_or_leaves_half_a_file(void **state)
{
    (void)state;
    write_file("few.txt", "a\nb\nc\nd\n", 8);
    const int64_t alive = allocations_alive();
    for (int64_t n = 0;; n++) {
        fail_allocation(n);
        hr_feature_column *column = column_of("a", "few.txt");
        const int64_t count = allocations_since();
        if (!hr_feature_column_error(column)) assert_int_equal(hr_words_size(words_of(column)), 4);
        hr_feature_column_unref(column);
        assert_int_equal(allocations_alive(), alive);
        if (n >= count) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_one_file_share_its_words),
        cmocka_unit_test(lines_are_whole_wherever_blocks_end),
        cmocka_unit_test(words_may_be_records),
        cmocka_unit_test(any_number_of_words_is_looked_up),
        cmocka_unit_test(any_thread_makes_and_drops_them),
        cmocka_unit_test(no_allocation_failure_leaks_or_leaves_half_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
