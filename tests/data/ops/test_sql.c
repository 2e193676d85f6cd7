/* sql: conformance over a database that the test makes, values exactly, and errors. */
#include "tests/data/strings.h"
#include <stdlib.h>
#include <string.h>

static const hr_sql_column columns[] = {
    {.name = "value", .dtype = HR_INT64}, {.name = "name", .dtype = HR_STRING}, {.name = "score", .dtype = HR_DOUBLE}};

#ifdef HR_HAVE_SQLITE
#include <sqlite3.h>
#include <uv.h>

enum { ROWS = 300 };

static void execute(sqlite3 *db, const char *statement)
{
    char *message = NULL;
    if (sqlite3_exec(db, statement, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", statement, message);
}

static int make_database(void **state)
{
    (void)state;
    sqlite3 *db;
    char text[256];
    assert_int_equal(sqlite3_open("people.db", &db), SQLITE_OK);
    execute(db, "CREATE TABLE people (id INTEGER, name TEXT, score REAL); BEGIN");
    for (int i = 0; i < ROWS; i++) {
        snprintf(text, sizeof text, "INSERT INTO people VALUES (%d, 'person %d', %d.25)", i, i, i);
        execute(db, text);
    }
    execute(db, "COMMIT; CREATE TABLE odd (n, t, r, b); INSERT INTO odd VALUES "
                "(-129, 'x', 1.5, x'00ff'), (9223372036854775807, '', 2, 7), (NULL, NULL, NULL, NULL)");
    sqlite3_close(db);
    return 0;
}

static hr_dataset *people(const char *query)
{
    return hr_sql("sqlite", "people.db", query, .columns = columns, .column_count = 3);
}

static hr_dataset *all(void) { return people("SELECT id, name, score FROM people ORDER BY id"); }

HR_SAMPLE(sql) { return hr_batch(hr_shuffle(all(), 30), 7); }
HR_SAMPLE(sql_in_epochs) { return hr_repeat(hr_skip(all(), 200), .count = HR_I64(3)); }
HR_SAMPLE(sql_fails)
{
    return people("SELECT CASE WHEN id = 40 THEN 'forty' ELSE id END, name, score FROM people ORDER BY id");
}

static hr_dataset *one(hr_dtype dtype, const char *query, const hr_tensor *value)
{
    const hr_sql_column column = {.name = "value", .dtype = dtype, .default_value = value};
    return hr_sql("sqlite", "people.db", query, .columns = &column, .column_count = 1);
}

static hr_dataset *or_number(int64_t number)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SCALAR, &number);
    return one(HR_INT64, "SELECT n FROM odd", &t);
}

static hr_dataset *or_text(const char *text)
{
    const hr_view view = {text, (int64_t)strlen(text)};
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
    return one(HR_STRING, "SELECT t FROM odd", &t);
}

HR_ARGUMENTS(sql, one(HR_INT64, "SELECT id FROM people", NULL), one(HR_INT64, "SELECT id + 1 FROM people", NULL),
             one(HR_INT32, "SELECT id FROM people", NULL), or_number(1), or_number(2), or_text("a"), or_text("b"));

static void sql_gives_the_rows_of_a_query(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it =
        iterate(people("SELECT id, name, score FROM people WHERE id % 2 = 1 ORDER BY id DESC;"), (way){.workers = 2});
    for (int i = ROWS - 1; i > 0; i -= 2) {
        char name[32];
        const int size = snprintf(name, sizeof name, "person %d", i);
        if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
        assert_int_equal(*(const int64_t *)hr_get(e, "value")->data, i);
        assert_int_equal(((const hr_view *)hr_get(e, "name")->data)->size, size);
        assert_memory_equal(((const hr_view *)hr_get(e, "name")->data)->data, name, (size_t)size);
        assert_true(*(const double *)hr_get(e, "score")->data == i + 0.25);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void sql_takes_values_exactly_or_not_at_all(void **state)
{
    (void)state;
    const int64_t numbers[] = {-129, INT64_MAX, 5};
    assert_int64_values(or_number(5), numbers, 3);
    assert_strings(or_text("none"), (way){0}, "[x][][none]");
    assert_strings(one(HR_STRING, "SELECT n FROM odd WHERE n < 0", NULL), (way){0}, "[-129]");
    assert_fails(one(HR_INT64, "SELECT n FROM odd", NULL), HR_INVALID_ARGUMENT, "sql.value");
    assert_fails(one(HR_INT8, "SELECT n FROM odd", NULL), HR_INVALID_ARGUMENT, "sql.value");
    assert_fails(one(HR_UINT32, "SELECT n FROM odd", NULL), HR_INVALID_ARGUMENT, "sql.value");
    assert_fails(one(HR_INT64, "SELECT r FROM odd", NULL), HR_INVALID_ARGUMENT, "sql.value");
    assert_fails(one(HR_DOUBLE, "SELECT t FROM odd", NULL), HR_INVALID_ARGUMENT, "sql.value");
    const hr_element *e;
    hr_iterator *it = iterate(one(HR_STRING, "SELECT b FROM odd", NULL), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    assert_memory_equal(((const hr_view *)hr_get(e, "value")->data)->data, "\0\xff", 2);
    hr_iterator_free(it);
}

static void sql_names_the_row_and_column_of_a_wrong_value(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(build_sql_fails(), (way){0});
    hr_status st;
    int rows = 0;
    while ((st = hr_next(it, &e)) == HR_OK) rows++;
    assert_int_equal(rows, 40);
    assert_int_equal(hr_iterator_error(it)->record, 40);
    assert_int_equal(hr_iterator_error(it)->column, 0);
    assert_non_null(strstr(hr_iterator_error(it)->text, "row 40, column 'value': expected int64, found forty"));
    hr_iterator_free(it);
}

static void sql_refuses_what_is_no_query(void **state)
{
    (void)state;
    assert_fails(people("SELECT id FROM people"), HR_INVALID_ARGUMENT, "sql.columns");
    assert_fails(people("SELECT 1, 2, 3; SELECT 1, 2, 3"), HR_INVALID_ARGUMENT, "sql.columns");
    assert_fails(people(""), HR_INVALID_ARGUMENT, "sql.columns");
    assert_fails(people("SELECT nothing FROM people"), HR_INVALID_ARGUMENT, "sql.query");
    assert_fails(people("DELETE FROM people"), HR_INVALID_ARGUMENT, "sql.columns");
    assert_fails(hr_sql("sqlite", "none.db", "SELECT 1", .columns = columns, .column_count = 3), HR_NOT_FOUND,
                 "sql.query");
    write_file("text.db", "no database, but a text of some length", 38);
    assert_fails(
        hr_sql("sqlite", "text.db", "SELECT id, name, score FROM people", .columns = columns, .column_count = 3),
        HR_DATA_LOSS, "sql.query");
    assert_fails(hr_sql("mysql", "people.db", "SELECT 1", .columns = columns, .column_count = 3), HR_INVALID_ARGUMENT,
                 "sql.driver");
    assert_fails(hr_sql("sqlite", "people.db", "SELECT 1"), HR_INVALID_ARGUMENT, "sql.columns");
    const hr_tensor wrong = hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){0});
    assert_fails(one(HR_INT64, "SELECT 1", &wrong), HR_INVALID_ARGUMENT, "sql.default");
    assert_fails(one(HR_COMPLEX64, "SELECT 1", NULL), HR_INVALID_ARGUMENT, "sql.columns");
}

static void cancel_soon(void *it)
{
    uv_sleep(50);
    hr_cancel(it);
}

/* A query that takes for ever ends when the iterator is cancelled, also on the caller's own thread. */
static void a_long_query_can_be_cancelled(void **state)
{
    (void)state;
    const hr_element *e;
    uv_thread_t thread;
    hr_iterator *it = iterate(
        one(HR_INT64, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", NULL),
        (way){0});
    assert_int_equal(uv_thread_create(&thread, cancel_soon, it), 0);
    assert_status(hr_next(it, &e), HR_CANCELLED);
    uv_thread_join(&thread);
    hr_iterator_free(it);
}

#else

static void sql_says_that_it_is_not_built(void **state)
{
    (void)state;
    assert_fails(hr_sql("sqlite", "people.db", "SELECT 1", .columns = columns, .column_count = 3), HR_UNIMPLEMENTED,
                 "sql.build");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef HR_HAVE_SQLITE
        HR_CONFORMANCE(sql),
        HR_CONFORMANCE(sql_in_epochs),
        HR_CONFORMANCE_OF_FAILURE(sql_fails),
        HR_CONFORMANCE_OF_ARGUMENTS(sql),
        cmocka_unit_test(sql_gives_the_rows_of_a_query),
        cmocka_unit_test(sql_takes_values_exactly_or_not_at_all),
        cmocka_unit_test(sql_names_the_row_and_column_of_a_wrong_value),
        cmocka_unit_test(sql_refuses_what_is_no_query),
        cmocka_unit_test(a_long_query_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, make_database, NULL);
#else
        cmocka_unit_test(sql_says_that_it_is_not_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
