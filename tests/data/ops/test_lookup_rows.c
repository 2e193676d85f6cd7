/* lookup_rows: conformance, joins by numbers and by strings, and keys that are missing. */
#include "tests/data/strings.h"
#include <stdlib.h>
#include <string.h>

enum { PEOPLE = 40 };

/* People 0, 3, 6, ... with a name, a pair and a list. */
static hr_dataset *people(int64_t more)
{
    static const char *const names[] = {"id", "name", "pair", "list"};
    static int64_t id[PEOPLE], pair[PEOPLE][2], list[PEOPLE];
    static char name[PEOPLE][16];
    hr_view text[PEOPLE];
    hr_tensor t[4 * PEOPLE];
    for (int64_t i = 0; i < PEOPLE; i++) {
        id[i] = 3 * i, pair[i][0] = i, pair[i][1] = i * i + more, list[i] = i;
        text[i] = (hr_view){name[i], snprintf(name[i], sizeof name[i], "person %d", (int)i)};
        t[4 * i] = hr_tensor_of(HR_INT64, HR_SCALAR, &id[i]);
        t[4 * i + 1] = hr_tensor_of(HR_STRING, HR_SCALAR, &text[i]);
        t[4 * i + 2] = hr_tensor_of(HR_INT64, HR_SHAPE(2), pair[i]);
        t[4 * i + 3] = hr_tensor_of(HR_INT64, HR_SHAPE(i % 3), list);
    }
    return hr_from_list(t, names, 4, PEOPLE);
}

static hr_dataset *joined(hr_dataset *in, hr_missing_key missing)
{
    return hr_lookup_rows(in, "value", people(0), .table_key = "id", .missing = missing, .found = "found");
}

HR_SAMPLE(lookup_rows) { return hr_padded_batch(joined(hr_shuffle(hr_range(90), 30), HR_MISSING_DEFAULT), 7); }
HR_SAMPLE(lookup_rows_drops) { return hr_padded_batch(joined(hr_shuffle(hr_range(100), 30), HR_MISSING_DROP), 7); }
HR_SAMPLE(lookup_rows_fails) { return joined(hr_range(150, .step = 3, .start = 48), HR_MISSING_ERROR); }

static hr_dataset *with(hr_missing_key missing, const char *found, const char *prefix, int64_t more)
{
    return hr_lookup_rows(hr_range(3), "value", people(more), .table_key = "id", .missing = missing, .found = found,
                          .prefix = prefix);
}
HR_ARGUMENTS(lookup_rows, with(HR_MISSING_DEFAULT, NULL, NULL, 0), with(HR_MISSING_DROP, NULL, NULL, 0),
             with(HR_MISSING_ERROR, NULL, NULL, 0), with(HR_MISSING_DEFAULT, "found", NULL, 0),
             with(HR_MISSING_DEFAULT, "there", NULL, 0), with(HR_MISSING_DEFAULT, NULL, "p/", 0),
             with(HR_MISSING_DEFAULT, NULL, NULL, 1));

static void assert_person(const hr_element *e, int64_t person)
{
    char name[16];
    const int size = person < 0 ? 0 : snprintf(name, sizeof name, "person %d", (int)person);
    assert_int_equal(((const hr_view *)hr_get(e, "name")->data)->size, size);
    if (size > 0) assert_memory_equal(((const hr_view *)hr_get(e, "name")->data)->data, name, (size_t)size);
    assert_int_equal(((const int64_t *)hr_get(e, "pair")->data)[1], person < 0 ? 0 : person * person);
    assert_int_equal(hr_get(e, "list")->count, person < 0 ? 0 : person % 3);
    assert_int_equal(*(const bool *)hr_get(e, "found")->data, person >= 0);
}

static void rows_get_what_the_table_has_for_their_key(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(joined(hr_range(150), HR_MISSING_DEFAULT), (way){.workers = 2});
    for (int64_t i = 0; i < 150; i++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(*(const int64_t *)hr_get(e, "value")->data, i);
        assert_person(e, i % 3 == 0 && i / 3 < PEOPLE ? i / 3 : -1);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void rows_without_a_key_are_dropped_or_fail(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(joined(hr_range(1000), HR_MISSING_DROP), (way){.workers = 2, .unit_rows = 7});
    for (int64_t i = 0; i < PEOPLE; i++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(*(const int64_t *)hr_get(e, "value")->data, 3 * i);
        assert_person(e, i);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
    it = iterate(joined(hr_range(2), HR_MISSING_ERROR), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    assert_status(hr_next(it, &e), HR_NOT_FOUND);
    assert_string_equal(hr_iterator_error(it)->kind, "lookup_rows.missing");
    assert_non_null(strstr(hr_iterator_error(it)->text, "the key 1 of 'value'"));
    hr_iterator_free(it);
}

/* Keys that are strings, out of a file, with defaults, over batches. */
static void batches_are_joined_by_strings(void **state)
{
    (void)state;
    static const char csv[] = "code,size,name\nAA,1,one\nBB,2,two\n\"\",3,empty\n";
    static const hr_csv_column columns[] = {{.name = "code", .dtype = HR_STRING},
                                            {.name = "size", .dtype = HR_INT64},
                                            {.name = "name", .dtype = HR_STRING}};
    write_file("codes.csv", csv, sizeof csv - 1);
    const hr_view text[] = {{"BB", 2}, {"CC", 2}, {"", 0}, {"AA", 2}}, none = {"none", 4};
    const hr_tensor rows = hr_tensor_of(HR_STRING, HR_SHAPE(4), text);
    const hr_tensor defaults[] = {hr_tensor_of(HR_INT64, HR_SCALAR, &(int64_t){-1}),
                                  hr_tensor_of(HR_STRING, HR_SCALAR, &none)};
    hr_dataset *table = hr_csv("codes.csv", .columns = columns, .column_count = 3, .strings_never_missing = true);
    hr_dataset *ds = hr_batch(hr_from_tensor_slices(&rows, (const char *[]){"code"}, 1), 4);
    ds = hr_lookup_rows(ds, "code", table, .missing = HR_MISSING_DEFAULT, .default_values = defaults, .prefix = "of/");
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){0});
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    assert_memory_equal(hr_get(e, "of/size")->data, ((const int64_t[]){2, -1, 3, 1}), 32);
    assert_memory_equal(((const hr_view *)hr_get(e, "of/name")->data)[1].data, "none", 4);
    hr_iterator_free(it);
}

static void what_cannot_be_joined_is_refused(void **state)
{
    (void)state;
    const int64_t twice[] = {1, 1};
    const hr_tensor t[] = {hr_tensor_of(HR_INT64, HR_SHAPE(2), twice), hr_tensor_of(HR_INT64, HR_SHAPE(2), twice)};
    static const char *const names[] = {"value", "other"};
    const hr_tensor wrong = hr_tensor_of(HR_INT64, HR_SCALAR, twice);
    assert_fails(hr_lookup_rows(hr_range(3), "value", hr_from_tensor_slices(t, names, 2)), HR_INVALID_ARGUMENT,
                 "lookup_rows.duplicate");
    assert_fails(hr_lookup_rows(hr_range(3), "value", people(0)), HR_INVALID_ARGUMENT, "lookup_rows.table");
    assert_fails(hr_lookup_rows(hr_range(3), "value", NULL), HR_INVALID_ARGUMENT, "lookup_rows.table");
    assert_fails(hr_lookup_rows(hr_range(3), NULL, people(0)), HR_INVALID_ARGUMENT, "lookup_rows.table");
    assert_fails(hr_lookup_rows(hr_range(3), "value", hr_batch(hr_range(3), 2)), HR_INVALID_ARGUMENT,
                 "lookup_rows.table");
    assert_fails(hr_lookup_rows(hr_range(3), "value", hr_counter()), HR_INVALID_ARGUMENT, "lookup_rows.table");
    assert_fails(hr_lookup_rows(hr_range(3), "id", people(0)), HR_INVALID_ARGUMENT, "lookup_rows.key");
    assert_fails(hr_lookup_rows(hr_range(3), "value", people(0), .table_key = "name"), HR_INVALID_ARGUMENT,
                 "lookup_rows.key");
    assert_fails(joined(hr_batch(hr_range(3), 2), HR_MISSING_DROP), HR_INVALID_ARGUMENT, "lookup_rows.batched");
    assert_fails(hr_lookup_rows(hr_range(3), "value", people(0), .table_key = "id", .default_values = &wrong),
                 HR_INVALID_ARGUMENT, "lookup_rows.defaults");
    assert_fails(hr_lookup_rows(hr_range(3), "value", people(0), .table_key = "id", .max_bytes = 10),
                 HR_RESOURCE_EXHAUSTED, "lookup_rows.limit");
    assert_fails(hr_lookup_rows(hr_from_list(NULL, NULL, 0, 0), "value", people(0), .table_key = "id"),
                 HR_INVALID_ARGUMENT, "from_list.count");
    assert_fails(hr_lookup_rows(hr_range(3), "value", hr_tfrecord("no such file"), .table_key = "value"), HR_NOT_FOUND,
                 "file.open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(lookup_rows),
        HR_CONFORMANCE(lookup_rows_drops),
        HR_CONFORMANCE_OF_FAILURE(lookup_rows_fails),
        HR_CONFORMANCE_OF_ARGUMENTS(lookup_rows),
        cmocka_unit_test(rows_get_what_the_table_has_for_their_key),
        cmocka_unit_test(rows_without_a_key_are_dropped_or_fail),
        cmocka_unit_test(batches_are_joined_by_strings),
        cmocka_unit_test(what_cannot_be_joined_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
