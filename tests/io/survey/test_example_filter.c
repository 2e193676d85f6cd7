/* Conditions on features: what holds, and what cannot be read. */
#include "tests/testing.h"
#include <headrace/examples.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool holds(const char *json, const char *condition)
{
    hr_json_reader *r;
    hr_example_filter *f;
    hr_view record;
    hr_error err;
    bool out = false;
    assert_ok(hr_json_reader_text_with("row", (hr_view){json, (int64_t)strlen(json)}, NULL, &r, &err), &err);
    assert_ok(hr_json_read(r, &record, &err), &err);
    assert_ok(hr_example_filter_new(&condition, 1, &f, &err), &err);
    assert_ok(hr_example_filter_holds(f, record, &out, &err), &err);
    hr_example_filter_free(f);
    hr_json_reader_free(r);
    return out;
}

static void conditions_hold_for_some_value(void **state)
{
    (void)state;
    const char *row =
        "{\"i\": [3, 9223372036854775807], \"x\": 0.1, \"s\": [\"anna\", \"bob\"], \"e\": {\"$int64\": []}, "
        "\"a=b\": 1, \"n\": {\"$float\": \"NaN\"}, \"z\": \"a\\u0000b\"}";
    static const char *const yes[] = {"i=3",    "i=9223372036854775807",
                                      "i<4",    "i<=3",
                                      "i>3.5",  "i>=3",
                                      "i=2..3", "x=0.1",
                                      "x<=0.1", "x=0..1",
                                      "s=anna", "s~^b.b$",
                                      "s~n+a",  "s>b",
                                      "s=a..b", "i",
                                      "e",      "!q",
                                      "i!=4",   "q!=1",
                                      "e!=0",   "a\\=b=1",
                                      "z~b",    "n",
                                      "i=3.0"};
    static const char *const no[] = {"i=4",    "i=9223372036854775806",
                                     "i<3",    "i=4..5",
                                     "x=0.2",  "x>0.1",
                                     "s=ann",  "s~^n",
                                     "q",      "!i",
                                     "q=1",    "i!=3",
                                     "e=0",    "i=three",
                                     "s!=bob", "a",
                                     "n=NaN",  "n<1",
                                     "i~3",    "s=10..2"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (!holds(row, yes[i])) fail_msg("%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (holds(row, no[i])) fail_msg("%s", no[i]);
    const char *sequence =
        "{\"context\": {\"c\": 1}, \"feature_lists\": {\"w\": [[\"a\", \"b\"], \"c\"], \"empty\": []}}";
    assert_true(holds(sequence, "w=c"));
    assert_true(holds(sequence, "c=1"));
    assert_true(holds(sequence, "empty"));
    assert_false(holds(sequence, "w=d"));
}

/* So many that they are read in blocks. */
static void conditions_find_the_last_of_many_values(void **state)
{
    (void)state;
    enum { MANY = 40000 };
    char *row = malloc(MANY * 8 + 64), *p = row;
    p += sprintf(p, "{\"i\": [");
    for (int i = 0; i < MANY; i++) p += sprintf(p, "%d, ", i);
    sprintf(p, "77777]}");
    assert_true(holds(row, "i=77777"));
    assert_true(holds(row, "i=39999"));
    assert_false(holds(row, "i=77778"));
    assert_true(holds(row, "i!=-1"));
    free(row);
}

static void all_conditions_must_hold(void **state)
{
    (void)state;
    hr_example *e = hr_example_new();
    hr_example_filter *f;
    hr_view record;
    hr_error err;
    bool out;
    hr_example_add_int64(e, "a", (int64_t[]){1}, 1);
    hr_example_add_int64(e, "b", (int64_t[]){2}, 1);
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    assert_ok(hr_example_filter_new((const char *[]){"a=1", "b=3"}, 2, &f, &err), &err);
    assert_ok(hr_example_filter_holds(f, record, &out, &err), &err);
    assert_false(out);
    assert_status(hr_example_filter_holds(f, (hr_view){"\x0a\x7f", 2}, &out, &err), HR_INVALID_ARGUMENT);
    hr_example_filter_free(f);
    hr_example_free(e);
}

static void conditions_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "the name is missing"},
        {"=3", "the name is missing"},
        {"!", "the name is missing"},
        {"a!", "! stands alone"},
        {"!a=3", "in front of more than a name"},
        {"a~(", "it is no regular expression"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hr_example_filter *f;
        hr_error err;
        assert_status(hr_example_filter_new(&wrong[i][0], 1, &f, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "filter.condition");
        if (!strstr(err.text, wrong[i][1])) fail_msg("%s", err.text);
        assert_null(f);
    }
}

static void a_lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    const char *const conditions[] = {"s~a", "s=a..b"};
    const int64_t alive = allocations_alive();
    hr_example *e = hr_example_new();
    hr_view record;
    hr_example_add_bytes(e, "s", (hr_view[]){{"a", 1}}, 1);
    assert_status(hr_example_bytes(e, &record, NULL), HR_OK);
    hr_status st = HR_RESOURCE_EXHAUSTED;
    for (int64_t n = 0; st != HR_OK && n < 100; n++) {
        hr_example_filter *f;
        bool out;
        fail_allocation(n);
        st = hr_example_filter_new(conditions, 2, &f, NULL);
        if (st == HR_OK) st = hr_example_filter_holds(f, record, &out, NULL);
        allocations_since();
        hr_example_filter_free(f);
        assert_status_either(st, HR_OK, HR_RESOURCE_EXHAUSTED);
    }
    assert_status(st, HR_OK);
    hr_example_free(e);
    assert_int_equal(allocations_alive(), alive);
}

static void conditions_that_are_not_there_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_example_filter *f;
    const char *none = NULL;
    assert_status(hr_example_filter_new(NULL, 1, &f, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_example_filter_new(&none, 1, &f, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_example_filter_new(&none, -1, &f, &err), HR_INVALID_ARGUMENT);
    assert_null(f);
    assert_ok(hr_example_filter_new(NULL, 0, &f, &err), &err);
    hr_example_filter_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_hold_for_some_value),
        cmocka_unit_test(conditions_find_the_last_of_many_values),
        cmocka_unit_test(all_conditions_must_hold),
        cmocka_unit_test(conditions_that_cannot_be_read_are_refused),
        cmocka_unit_test(conditions_that_are_not_there_are_refused),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
