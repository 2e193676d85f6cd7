/* shuffle: held against a naive one, at its borders, and in epochs. */
#include "tests/data/ops/wide_rows.h"
#include <string.h>

HR_SAMPLE(shuffle) { return hr_batch(hr_shuffle(hr_range(500), 60, .seed = 3), 7); }
HR_SAMPLE(shuffle_of_less_than_its_buffer) { return hr_repeat(hr_shuffle(hr_range(7), 100), .count = HR_I64(6)); }
HR_SAMPLE(shuffle_of_all) { return hr_shuffle(hr_range(90), -2); }
HR_SAMPLE(shuffle_of_one) { return hr_batch(hr_shuffle(hr_range(90), 1), 4); }
HR_SAMPLE(shuffle_of_shuffle) { return hr_shuffle(hr_shuffle(hr_range(300), 40), 25, .seed = 9); }
HR_SAMPLE(shuffle_of_wide_rows) { return hr_batch(hr_shuffle(wide_rows(hr_range(80)), 20), 6); }
HR_SAMPLE(shuffle_of_wide_rows_with_text)
{
    return hr_batch(hr_take(hr_shuffle(hr_skip(wide_text_rows(hr_range(80)), 3), 20), 70), 6);
}
HR_SAMPLE(shuffle_of_batches)
{
    return hr_batch(hr_shuffle(hr_batch(hr_range(300), 5), 12), 2, .drop_remainder = true);
}

enum { ROWS = 400, ROOM = 2 * ROWS + 1 };

static int shuffled(int64_t *value, int64_t buffer, uint64_t seed, way w)
{
    return int64_values(hr_shuffle(hr_range(ROWS), buffer, .seed = seed), w, value, ROOM);
}

static void assert_permutation(const int64_t *value, int count)
{
    bool seen[ROWS] = {false};
    for (int i = 0; i < count; i++) {
        assert_at_least(value[i], 0);
        assert_less(value[i], count);
        assert_false(seen[value[i]]);
        seen[value[i]] = true;
    }
}

static void shuffle_gives_every_element_once_and_none_too_early(void **state)
{
    (void)state;
    int64_t value[ROOM];
    static const int64_t buffers[] = {1, 2, 7, 64, 65, 399, 400, 401, 100000, INT64_MAX, -2};
    for (size_t b = 0; b < sizeof buffers / sizeof *buffers; b++) {
        assert_int_equal(shuffled(value, buffers[b], 5, (way){.workers = 2}), ROWS);
        assert_permutation(value, ROWS);
        for (int i = 0; buffers[b] > 0 && i < ROWS; i++) assert_less(value[i] - i, buffers[b]);
    }
}

static void shuffle_by_one_changes_nothing(void **state)
{
    (void)state;
    int64_t value[ROOM];
    assert_int_equal(shuffled(value, 1, 5, (way){0}), ROWS);
    for (int i = 0; i < ROWS; i++) assert_int_equal(value[i], i);
}

/* Buckets of the place at which element 0 comes out of a full buffer: a chi-square with 7 degrees of freedom. */
static void shuffle_is_even(void **state)
{
    (void)state;
    enum { SEEDS = 400, BUFFER = 8 };
    int64_t value[BUFFER];
    int place[BUFFER] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        hr_dataset *ds = hr_shuffle(hr_range(BUFFER), BUFFER, .seed = seed);
        assert_int_equal(int64_values(ds, (way){0}, value, BUFFER), BUFFER);
        for (int i = 0; i < BUFFER; i++) place[i] += value[i] == 0;
    }
    double chi = 0;
    for (int i = 0; i < BUFFER; i++) chi += (place[i] - 50.0) * (place[i] - 50.0) / 50.0;
    assert_less(chi, 29.9); /* exceeded once in 10,000 */
}

static void shuffle_depends_on_its_seed_or_the_pipelines(void **state)
{
    (void)state;
    int64_t a[ROOM], b[ROOM];
    shuffled(a, 50, 1, (way){0});
    shuffled(b, 50, 2, (way){0});
    assert_memory_not_equal(a, b, ROWS * sizeof *a);
    shuffled(a, 50, 0, (way){.seed = 11});
    shuffled(b, 50, 0, (way){.seed = 12});
    assert_memory_not_equal(a, b, ROWS * sizeof *a);
    shuffled(b, 50, 0, (way){.seed = 11, .workers = 2});
    assert_memory_equal(a, b, ROWS * sizeof *a);
}

static void shuffle_is_new_in_each_epoch_unless_told(void **state)
{
    (void)state;
    int64_t value[ROOM];
    hr_dataset *ds = hr_repeat(hr_shuffle(hr_range(ROWS), 50, .seed = 4), .count = HR_I64(2));
    assert_int_equal(int64_values(ds, (way){0}, value, ROOM), 2 * ROWS);
    assert_memory_not_equal(value, value + ROWS, ROWS * sizeof *value);
    ds = hr_repeat(hr_shuffle(hr_range(ROWS), 50, .seed = 4, .same_each_epoch = true), .count = HR_I64(2));
    assert_int_equal(int64_values(ds, (way){0}, value, ROOM), 2 * ROWS);
    assert_memory_equal(value, value + ROWS, ROWS * sizeof *value);
}

static void shuffle_refuses_an_empty_buffer(void **state)
{
    (void)state;
    assert_fails(hr_shuffle(hr_range(5), 0), HR_INVALID_ARGUMENT, "shuffle.buffer_size");
    assert_fails(hr_batch(hr_shuffle(hr_range(5), -1), 2), HR_INVALID_ARGUMENT, "shuffle.buffer_size");
}

static void shuffle_of_nothing_ends(void **state)
{
    (void)state;
    assert_int64_values(hr_shuffle(hr_range(0), 10), NULL, 0);
}

/* From a state of a longer or shorter input: refused, with the reason. */
static void go_on_with(hr_dataset *ds, const void *saved, size_t size)
{
    static run got;
    run_all(&got, ds, (way){.window = 1, .unit_rows = 4, .state = saved, .state_size = size});
    assert_less(got.end, 0);
}

static void shuffle_refuses_to_go_on_with_a_shorter_input(void **state)
{
    (void)state;
    static run got;
    size_t size;
    hr_error err;
    void *saved = NULL;
    hr_iterator *it = iterate(hr_shuffle(hr_range(100), 10), (way){.window = 1, .unit_rows = 4});
    got.count = 0;
    run_on(&got, it, 60);
    assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
    hr_iterator_free(it);
    go_on_with(hr_shuffle(hr_range(50), 10), saved, size);
    hr_free(saved);
}

/* Row `r` of a batch is what make_wide_text makes of the number in its column "one". */
static void assert_wide_row(const hr_element *e, int64_t r)
{
    const hr_tensor *list = hr_get(e, "list"), *one = hr_get(e, "one"), *text = hr_get(e, "text");
    const int64_t n = ((const int64_t *)one->data)[one->splits[0][r]];
    const int32_t first = list->splits[0][r], count = list->splits[0][r + 1] - first;
    const hr_view view = ((const hr_view *)text->data)[r];
    assert_int_equal(one->splits[0][r + 1] - one->splits[0][r], 1);
    assert_int_equal(((const int64_t *)hr_get(e, "small")->data)[r], n % 100 - 50);
    assert_int_equal(((const int64_t *)hr_get(e, "large")->data)[r], n < 30 ? n : n << 33);
    assert_int_equal(((const int32_t *)hr_get(e, "number")->data)[r], n < 40 ? -n : n * 30000);
    assert_int_equal(((const int64_t *)hr_get(e, "places")->data)[2 * r + 1], 200 - n);
    assert_exactly(((const float *)hr_get(e, "vector")->data)[3 * r + 2], (float)(n + 2));
    assert_int_equal(count, n < 20 ? n % 2 : n % 4);
    for (int32_t i = 0; i < count; i++) assert_int_equal(((const int64_t *)list->data)[first + i], n * 100 + i);
    if (n % 7 == 0) assert_int_equal(view.size, 0);
    if (n % 7 != 0 && n % 20 > 0) assert_int_equal(view.data[0], 'a');
}

static void shuffled_rows_of_many_columns_stay_together(void **state)
{
    (void)state;
    for (int cached = 0; cached < 2; cached++) {
        hr_dataset *ds = wide_text_rows(hr_range(500));
        if (cached) ds = hr_repeat(hr_cache(ds), .count = HR_I64(2));
        hr_iterator *it = iterate(hr_batch(hr_shuffle(ds, 90), 25), (way){.unit_rows = 40});
        const hr_element *e;
        int64_t rows = 0;
        for (; hr_next(it, &e) == HR_OK; rows += 25)
            for (int64_t r = 0; r < 25; r++) assert_wide_row(e, r);
        assert_int_equal(rows, cached ? 1000 : 500);
        hr_iterator_free(it);
    }
}

/* Mostly short: several share a cell. Some are as long as a cell of short ones, and a few far longer than all of them. */
static int64_t text_size(int64_t id, int part)
{
    if (id % 97 == 0) return 100000 + id;
    return id % 11 == 0 ? 700 + id % 31 : id % (part ? 4 : 23);
}

static hr_status make_texts(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    enum { MOST = 1 << 17 };
    static const char *const name[] = {"first", "second"};
    (void)call, (void)user;
    const int64_t id = *(const int64_t *)hr_get_at(in, 0)->data;
    char *text = hr_malloc(MOST);
    hr_status st = text ? HR_OK : HR_RESOURCE_EXHAUSTED;
    *(int64_t *)hr_set(out, "id") = id;
    for (int part = 0; part < 2 && st == HR_OK; part++) {
        memset(text, (int)(id % 50 + 70 * part + 1), (size_t)text_size(id, part));
        st = hr_set_string(out, name[part], text, text_size(id, part));
    }
    hr_free(text);
    return st;
}

static hr_dataset *with_texts(hr_dataset *ids)
{
    static const hr_field field[] = {{.name = "id", .dtype = HR_INT64},
                                     {.name = "first", .dtype = HR_STRING},
                                     {.name = "second", .dtype = HR_STRING}};
    return hr_map(ids, make_texts, NULL, .output = &(hr_schema){.fields = 3, .field = field});
}

HR_SAMPLE(shuffle_of_texts_of_all_sizes) { return hr_batch(hr_shuffle(with_texts(hr_range(120)), 50), 7); }

static void assert_has_texts(const hr_element *e, int64_t r, bool *seen)
{
    const int64_t id = ((const int64_t *)hr_get(e, "id")->data)[r];
    assert_in_range(id, 0, ROWS - 1);
    assert_false(seen[id]);
    seen[id] = true;
    for (int part = 0; part < 2; part++) {
        const hr_view text = ((const hr_view *)hr_get(e, part ? "second" : "first")->data)[r];
        assert_int_equal(text.size, text_size(id, part));
        for (int64_t i = 0; i < text.size; i++)
            if (text.data[i] != (char)(id % 50 + 70 * part + 1))
                fail_msg("text %d of row %d is another's", part, (int)id);
    }
}

static void texts_of_all_sizes_come_out_of_a_shuffle_as_they_were(void **state)
{
    (void)state;
    static const int64_t unit_rows[] = {1, 31, 33, 300};
    for (int i = 0; i < 4; i++) {
        hr_iterator *it = iterate(hr_batch(hr_shuffle(with_texts(hr_range(ROWS)), 150), 8),
                                  (way){.workers = i, .unit_rows = unit_rows[i]});
        const hr_element *e;
        bool seen[ROWS] = {false};
        int64_t rows = 0;
        hr_status st;
        while ((st = hr_next(it, &e)) == HR_OK)
            for (int64_t r = 0; r < 8; r++, rows++) assert_has_texts(e, r, seen);
        assert_status(st, HR_END);
        assert_int_equal(rows, ROWS);
        hr_iterator_free(it);
    }
}

HR_ARGUMENTS(shuffle, hr_shuffle(hr_range(30), 9, .seed = 3), hr_shuffle(hr_range(30), 8, .seed = 3),
             hr_shuffle(hr_range(30), 9, .seed = 4), hr_shuffle(hr_range(30), 9, .seed = 3, .same_each_epoch = true));

/* Memory and allocations, unlike time, are the same on a loaded machine. */
static void hundreds_of_shuffles_stand_on_each_other(void **state)
{
    (void)state;
    enum { SHUFFLES = 200, MOST_BYTES = 48 << 10, MOST_ALLOCATIONS = 100 };
    int64_t count = 0;
    const hr_element *e;
    hr_status st;
    hr_dataset *ds = hr_range(2000);
    for (int i = 0; i < SHUFFLES; i++) ds = hr_shuffle(ds, 10);
    fail_allocation(INT64_MAX);
    watch_memory();
    hr_iterator *it = iterate(ds, (way){0});
    while ((st = hr_next(it, &e)) == HR_OK) count++;
    assert_status(st, HR_END);
    assert_int_equal(count, 2000);
    hr_iterator_free(it);
    assert_in_range(most_memory(), 0, SHUFFLES * MOST_BYTES);
    assert_in_range(allocations_since(), 0, SHUFFLES * MOST_ALLOCATIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(shuffle),
        HR_CONFORMANCE_OF_ARGUMENTS(shuffle),
        HR_CONFORMANCE(shuffle_of_less_than_its_buffer),
        HR_CONFORMANCE(shuffle_of_all),
        HR_CONFORMANCE(shuffle_of_one),
        HR_CONFORMANCE(shuffle_of_shuffle),
        HR_CONFORMANCE(shuffle_of_wide_rows),
        cmocka_unit_test(shuffled_rows_of_many_columns_stay_together),
        HR_CONFORMANCE(shuffle_of_wide_rows_with_text),
        HR_CONFORMANCE(shuffle_of_texts_of_all_sizes),
        cmocka_unit_test(texts_of_all_sizes_come_out_of_a_shuffle_as_they_were),
        HR_CONFORMANCE(shuffle_of_batches),
        cmocka_unit_test(shuffle_gives_every_element_once_and_none_too_early),
        cmocka_unit_test(shuffle_by_one_changes_nothing),
        cmocka_unit_test(shuffle_is_even),
        cmocka_unit_test(shuffle_depends_on_its_seed_or_the_pipelines),
        cmocka_unit_test(shuffle_is_new_in_each_epoch_unless_told),
        cmocka_unit_test(shuffle_refuses_an_empty_buffer),
        cmocka_unit_test(shuffle_of_nothing_ends),
        cmocka_unit_test(shuffle_refuses_to_go_on_with_a_shorter_input),
        cmocka_unit_test(hundreds_of_shuffles_stand_on_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
