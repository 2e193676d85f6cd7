/* Whole pipelines in one call: the types that the first rows ask for, labels, epochs, shuffling. */
#include "base/text.h"
#include "tests/data/strings.h"

static int write_inputs(void **state)
{
    (void)state;
    char text[4096];
    for (int f = 0; f < 2; f++) {
        char path[32];
        size_t size = (size_t)sprintf(text, "small,big,single,nan,none,late\n");
        for (int r = 0; r < 10; r++)
            size += (size_t)sprintf(text + size, "%d,%d00000000000,%s,%s,,%d\n", f * 10 + r, r, r == 3 ? "" : "0.5",
                                    r == 5 ? "nan" : "1", r % 2);
        snprintf(path, sizeof path, "t-%d.csv", f);
        write_file(path, text, size);
    }
    return 0;
}

static void add_label(hr_example *ex, int row) { hr_example_add_int64(ex, "late", &(int64_t){row}, 1); }

static void make_csv_dataset_finds_the_types_of_columns(void **state)
{
    (void)state;
    const hr_element *e;
    static const hr_dtype want[] = {HR_INT32, HR_INT64, HR_FLOAT, HR_STRING, HR_STRING, HR_INT32};
    hr_dataset *ds = hr_make_csv_dataset("t-*.csv", 8, NULL, .label = "late", .num_epochs = 1, .no_shuffle = true);
    const hr_schema *schema = hr_dataset_schema(ds);
    if (!schema) fail_msg("%s", hr_dataset_error(ds)->text);
    assert_int_equal(schema->fields, 6);
    for (int c = 0; c < 6; c++) {
        assert_int_equal(schema->field[c].dtype, want[c]);
        assert_int_equal(schema->field[c].label, c == 5);
    }
    hr_iterator *it = iterate(ds, (way){.workers = 2});
    for (int row = 0, batch = 0; batch < 3; batch++) {
        assert_status(hr_next(it, &e), HR_OK);
        const hr_tensor *small = hr_get(e, "small");
        assert_int_equal(small->count, batch < 2 ? 8 : 4);
        for (int64_t i = 0; i < small->count; i++, row++) assert_int_equal(((const int32_t *)small->data)[i], row);
        if (batch == 0) assert_exactly(((const float *)hr_get(e, "single")->data)[3], 0.0f);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void odd_numbers_have_the_types_that_tensorflow_finds(void **state)
{
    (void)state;
    static const char text[] = "hex,beyond,wide,huge,inf,minus,plus\n"
                               "0x1F,3.4028235677973366e38,1e39,1e400,inf,-inf,+7\n";
    static const hr_dtype want[] = {HR_STRING, HR_DOUBLE, HR_DOUBLE, HR_STRING, HR_STRING, HR_FLOAT, HR_INT32};
    write_file("odd.csv", text, sizeof text - 1);
    hr_dataset *ds = hr_make_csv_dataset("odd.csv", 8, NULL);
    const hr_schema *schema = hr_dataset_schema(ds);
    assert_int_equal(schema->fields, 7);
    for (int c = 0; c < 7; c++) assert_int_equal(schema->field[c].dtype, want[c]);
    hr_dataset_unref(ds);
}

static void without_epochs_it_goes_on_for_ever_in_full_batches(void **state)
{
    (void)state;
    const hr_element *e;
    static const hr_csv_column columns[] = {{.name = "late", .dtype = HR_FLOAT}, {.name = "small", .dtype = HR_INT64}};
    const hr_csv_opts csv = {.struct_size = sizeof csv, .columns = columns, .column_count = 2};
    hr_iterator *it = iterate(hr_make_csv_dataset("t-*.csv", 8, &csv, .seed = 3, .num_parallel_reads = 2), (way){0});
    int sum = 0;
    for (int batch = 0; batch < 5; batch++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(hr_get(e, "small")->count, 8);
        for (int i = 0; i < 8; i++) sum += (int)((const int64_t *)hr_get(e, "small")->data)[i];
    }
    assert_int_equal(sum, 2 * 190); /* two epochs of 20 rows, whatever their order */
    hr_iterator_free(it);
}

static void what_is_wrong_sticks_to_the_dataset(void **state)
{
    (void)state;
    const hr_csv_opts csv = {.struct_size = sizeof csv, .delimiter = "::"};
    assert_fails(hr_make_csv_dataset("t-*.csv", 8, &csv), HR_INVALID_ARGUMENT, "csv.delimiter");
    assert_fails(hr_make_csv_dataset("t-*.csv", 8, NULL, .label = "q"), HR_INVALID_ARGUMENT, "csv.column");
    assert_fails(hr_make_csv_dataset("none-*.csv", 8, NULL), HR_NOT_FOUND, "file.no_match");
    write_file("bad.csv", "a,b\n1,2\n3\n", 10);
    assert_fails(hr_make_csv_dataset("bad.csv", 8, NULL), HR_INVALID_ARGUMENT, "csv.fields");
}

static void its_files_have_the_same_columns_in_any_order(void **state)
{
    (void)state;
    const hr_element *e;
    write_file("h-0.csv", "x,y,z\n1,2.5,p\n", 14);
    write_file("h-1.csv", "x,z,y\n7,s,8.5\n", 14);
    write_file("h-2.csv", "", 0);
    hr_iterator *it = iterate(hr_make_csv_dataset("h-*.csv", 2, NULL, .num_epochs = 1, .no_shuffle = true), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    assert_exactly(((const float *)hr_get(e, "y")->data)[1], 8.5f);
    hr_iterator_free(it);
    write_file("h-3.csv", "x,y,z,w\n7,8.5,s,1\n", 18);
    assert_fails(hr_make_csv_dataset("h-*.csv", 2, NULL), HR_INVALID_ARGUMENT, "csv.other_columns");
    write_file("h-3.csv", "x,y,w\n7,8.5,1\n", 14);
    assert_fails(hr_make_csv_dataset("h-*.csv", 2, NULL), HR_INVALID_ARGUMENT, "csv.other_columns");
    write_file("h-4.csv", "x,x\n7,8\n", 8);
    assert_fails(hr_make_csv_dataset("h-4.csv", 2, NULL), HR_INVALID_ARGUMENT, "csv.column");
}

/* Compatible files give all rows; files that TensorFlow would not take, none. */
static void in_tf_compat(const char *pattern, bool by_csv, const char *refused)
{
    const hr_element *e;
    const hr_csv_opts csv = {.struct_size = sizeof csv, .tf_compat = by_csv};
    hr_dataset *ds = hr_make_csv_dataset(pattern, 1, &csv, .num_epochs = 1, .no_shuffle = true);
    if (!by_csv) ds = hr_options(ds, .tf_compat = true);
    hr_iterator *it = iterate(ds, (way){.workers = 2});
    const hr_status st = hr_next(it, &e);
    assert_int_equal(st, refused ? HR_INVALID_ARGUMENT : HR_OK);
    if (refused) assert_string_equal(hr_iterator_error(it)->kind, refused);
    if (refused) assert_string_equal(hr_iterator_error(it)->file, "./o-1.csv");
    hr_iterator_free(it);
}

static void in_tf_compat_the_columns_have_one_order(void **state)
{
    (void)state;
    write_file("o-0.csv", "x,y\n1,2\n", 8);
    for (int by_csv = 0; by_csv < 2; by_csv++) {
        write_file("o-1.csv", "x,\"y\"\n3,4\n", 10);
        in_tf_compat("o-*.csv", by_csv, NULL);
        write_file("o-1.csv", "y,x\n3,4\n", 8);
        in_tf_compat("o-*.csv", by_csv, "csv.other_columns");
        write_file("o-1.csv", "", 0);
        in_tf_compat("o-*.csv", by_csv, "csv.header");
    }
}

static void some_columns_may_be_selected(void **state)
{
    (void)state;
    static const char *const names[] = {"late", "big"}, *const wrong[] = {"q"};
    hr_dataset *ds = hr_make_csv_dataset("t-*.csv", 8, NULL, .select_columns = names, .select_count = 2);
    const hr_schema *schema = hr_dataset_schema(ds);
    if (!schema) fail_msg("%s", hr_dataset_error(ds)->text);
    assert_int_equal(schema->fields, 2);
    assert_string_equal(schema->field[0].name, "big");
    assert_int_equal(schema->field[0].dtype, HR_INT64);
    assert_string_equal(schema->field[1].name, "late");
    hr_dataset_unref(ds);
    assert_fails(hr_make_csv_dataset("t-*.csv", 8, NULL, .select_columns = wrong, .select_count = 1),
                 HR_INVALID_ARGUMENT, "csv.column");
    assert_fails(hr_make_csv_dataset("t-*.csv", 8, NULL, .select_columns = names, .select_count = 2, .label = "nan"),
                 HR_INVALID_ARGUMENT, "csv.column");
}

/* As TensorFlow's num_rows_for_inference has it. */
/* The second file has the columns in the opposite order. */
static void many_columns_are_found_and_selected(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    hr__text text = {0};
    const hr_element *e;
    static char name[MANY][16];
    static const char *selected[MANY];
    for (int i = 0; i < MANY; i++) selected[i] = (snprintf(name[i], sizeof name[i], "c%d", i), name[i]);
    for (int f = 0; f < 2; f++) {
        for (int i = 0; i < MANY; i++) hr__text_printf(&text, "c%d%c", f ? MANY - 1 - i : i, i + 1 < MANY ? ',' : '\n');
        for (int i = 0; i < MANY; i++) hr__text_printf(&text, "%d%c", f ? MANY - 1 - i : i, i + 1 < MANY ? ',' : '\n');
        write_file(f ? "many-1.csv" : "many-0.csv", text.data, text.size);
        hr__text_clear(&text);
    }
    hr__text_free(&text);
    hr_dataset *ds = hr_make_csv_dataset("many-*.csv", 1, NULL, .num_epochs = 1, .no_shuffle = true,
                                         .select_columns = selected, .select_count = MANY);
    hr_iterator *it = iterate(ds, (way){0});
    for (int row = 0; row < 2; row++) {
        assert_status(hr_next(it, &e), HR_OK);
        for (int i = MANY; i-- > 0;) assert_int_equal(*(const int32_t *)hr_get(e, name[i])->data, i);
        assert_null(hr_get(e, "c"));
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void types_are_found_in_as_many_rows_as_asked_for(void **state)
{
    (void)state;
    static const struct {
        int64_t rows;
        hr_dtype dtype;
    } want[] = {{2, HR_INT32},  {3, HR_INT64},  {4, HR_FLOAT},  {5, HR_DOUBLE},
                {6, HR_STRING}, {0, HR_STRING}, {-1, HR_STRING}};
    write_file("i.csv", "x\n1\n2\n99999999999\n1.5\n1e300\nnan\n", 32);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        hr_dataset *ds = hr_make_csv_dataset("i.csv", 2, NULL, .num_rows_for_inference = want[i].rows);
        if (!hr_dataset_schema(ds)) fail_msg("%s", hr_dataset_error(ds)->text);
        assert_int_equal(hr_dataset_schema(ds)->field[0].dtype, want[i].dtype);
        hr_dataset_unref(ds);
    }
}

static void a_lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    const int64_t alive = allocations_alive();
    hr_status st = HR_OUT_OF_RANGE;
    for (int64_t n = 0; st != HR_OK; n++) {
        fail_allocation(n);
        hr_dataset *ds = hr_make_csv_dataset("t-*.csv", 8, NULL);
        allocations_since();
        st = hr_dataset_error(ds) ? hr_dataset_error(ds)->code : HR_OK;
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
        hr_dataset_unref(ds);
        assert_int_equal(allocations_alive(), alive);
    }
}

static void make_batched_features_dataset_parses_batches(void **state)
{
    (void)state;
    const hr_element *e;
    write_example_file("e.tfrecord", hr_example_new(), add_label, 20);
    hr_dataset *ds =
        hr_make_batched_features_dataset("e.tfrecord", 6, HR_PARSE_SPEC({.key = "late", .dtype = HR_INT64}),
                                         .label = "late", .num_epochs = 1, .drop_final_batch = true);
    assert_true(hr_dataset_schema(ds)->field[0].label);
    hr_iterator *it = iterate(ds, (way){0});
    int64_t rows = 0;
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) rows += hr_get(e, "late")->count;
    assert_status(st, HR_END);
    assert_int_equal(rows, 18);
    hr_iterator_free(it);
}

static void sloppy_readers_lose_nothing(void **state)
{
    (void)state;
    write_example_file("s1.tfrecord", hr_example_new(), add_label, 20);
    write_example_file("s2.tfrecord", hr_example_new(), add_label, 9);
    hr_dataset *ds =
        hr_make_batched_features_dataset("s?.tfrecord", 4, HR_PARSE_SPEC({.key = "late", .dtype = HR_INT64}),
                                         .num_epochs = 1, .num_parallel_reads = 2, .sloppy = true);
    const hr_element *e;
    hr_status st;
    int64_t rows = 0;
    hr_iterator *it = iterate(ds, (way){.workers = 2});
    while ((st = hr_next(it, &e)) == HR_OK) rows += hr_get(e, "late")->count;
    assert_status(st, HR_END);
    assert_int_equal(rows, 29);
    hr_iterator_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make_csv_dataset_finds_the_types_of_columns),
        cmocka_unit_test(odd_numbers_have_the_types_that_tensorflow_finds),
        cmocka_unit_test(without_epochs_it_goes_on_for_ever_in_full_batches),
        cmocka_unit_test(what_is_wrong_sticks_to_the_dataset),
        cmocka_unit_test(its_files_have_the_same_columns_in_any_order),
        cmocka_unit_test(in_tf_compat_the_columns_have_one_order),
        cmocka_unit_test(some_columns_may_be_selected),
        cmocka_unit_test(many_columns_are_found_and_selected),
        cmocka_unit_test(types_are_found_in_as_many_rows_as_asked_for),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
        cmocka_unit_test(make_batched_features_dataset_parses_batches),
        cmocka_unit_test(sloppy_readers_lose_nothing),
    };
    return cmocka_run_group_tests(tests, write_inputs, NULL);
}
