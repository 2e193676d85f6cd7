/* Rows of CSV files whose pieces are read ahead, by several threads: exactly those that one thread reads in turn, with
 * the same errors, lines, counts and saved states, also where a piece begins within quotes, in text that looks like
 * rows. */
#include "io/sys.h"
#include "tests/data/sources/ahead.h"
#include "tests/data/strings.h"
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 1500, MOST = 1 << 18, LONG = 6000, SMALL = 8 /* rows a unit: pieces have 4 KiB */ };

/* ---- files ---- */

static char text[MOST];
static size_t used;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    assert_true(used < sizeof text);
}

static void put_letters(uint64_t random, int count)
{
    for (int i = 0; i < count; i++) put("%c", (int)('a' + hr_random(random, (uint64_t)i) % 26));
}

static void write_text(const char *path)
{
    write_file(path, text, used);
    used = 0;
}

static void write_plain(const char *path)
{
    put("id,name,note\n");
    for (int r = 0; r < ROWS; r++) {
        put("%d,n%d,", r, r % 7);
        put_letters((uint64_t)r, r == 700 ? LONG : r * 31 % 80);
        put("\n");
    }
    write_text(path);
}

/* Notes of several lines, line ends of both kinds, blank lines. */
static void write_quoted(const char *path)
{
    put("id,name,note\r\n");
    for (int r = 0; r < ROWS; r++) {
        if (r % 5 == 0) put("%d,\"n,%d\",\"a \"\"quoted\"\" note,\nof %d\r\nlines\"\r\n", r, r, r % 9);
        if (r % 5 > 0) put("%d,%d,plain%s", r, r, r % 3 ? "\n" : "\r\n");
        if (r % 50 == 0) put("\n\r\n");
    }
    write_text(path);
}

/* Other places for the columns; no line end at the end; notes that are rows themselves, longer than a piece. */
static void write_hostile(const char *path)
{
    put("note,id,name\n");
    for (int r = 0; r < ROWS / 2; r++) {
        put("\"");
        for (int i = 0; i < (r % 250 == 100 ? 600 : r % 3); i++) put("x%d,%d,y\n", i, i);
        put("\",%d,n%s", r, r == ROWS / 2 - 1 ? "" : "\n");
    }
    write_text(path);
}

static int write_all(void **state)
{
    (void)state;
    write_plain("rows-0.csv");
    write_quoted("rows-1.csv");
    write_hostile("rows-2.csv");
    write_plain("rows-3.csv");
    write_file("rows-4.csv", "id,name,note\n7,few,\n\n", 21);
    return 0;
}

/* ---- the same as in turn ---- */

static int64_t pieces_of(hr_dataset *(*make)(void)) { return assert_as_in_turn(make, "csv", "csv_pieces"); }

static hr_dataset *rows_of(const char *pattern, hr_policy policy)
{
    static const hr_csv_column columns[] = {
        {.name = "id", .dtype = HR_INT64}, {.name = "name", .dtype = HR_STRING}, {.name = "note", .dtype = HR_STRING}};
    return hr_csv(pattern, .columns = columns, .column_count = 3, .keep_missing = true, .policy = policy);
}

static hr_dataset *rows(void) { return rows_of("rows-*.csv", (hr_policy){0}); }
static hr_dataset *batches(void) { return hr_batch(rows(), 16); }
static hr_dataset *shuffled(void) { return hr_batch(hr_shuffle(rows(), 100), 7); }
static hr_dataset *in_epochs(void) { return hr_batch(hr_repeat(rows(), .count = HR_I64(2)), 4); }
static hr_dataset *numbers(void)
{
    return hr_csv("rows-*.csv", .columns = &(hr_csv_column){.name = "id", .dtype = HR_INT64}, .column_count = 1);
}

static void rows_ahead_are_those_in_turn(void **state)
{
    (void)state;
    assert_in_range(pieces_of(rows), 40, 200);
    pieces_of(batches);
    pieces_of(shuffled);
    pieces_of(in_epochs);
    pieces_of(numbers);
}

static hr_dataset *blank_rows(void)
{
    static const hr_csv_column columns[] = {{.name = "a", .dtype = HR_STRING}};
    return hr_csv("blank-*.csv", .columns = columns, .column_count = 1, .keep_missing = true);
}

static void blank_lines_of_one_column_are_rows(void **state)
{
    (void)state;
    put("a\n");
    for (int r = 0; r < ROWS; r++) put("%s\n", r % 3 ? "some text" : "");
    write_text("blank-0.csv");
    pieces_of(blank_rows);
    assert_int_equal(got.count, ROWS);
}

enum { MANY = 150 };

static void write_small(void)
{
    for (int i = 0; i < MANY; i++) {
        char name[64];
        snprintf(name, sizeof name, "mixed-1-small-%03d.csv", i);
        put("id,name,note\n%d,few,\n", i);
        write_text(name);
    }
}

static hr_dataset *mixed(void) { return rows_of("mixed-*", (hr_policy){0}); }
static hr_dataset *small(void) { return rows_of("mixed-1-small-*", (hr_policy){0}); }

static void files_without_pieces_lie_between(void **state)
{
    (void)state;
    write_plain("mixed-0.csv");
    put("id,name,note\n");
    for (int r = 0; r < ROWS; r++) put("%d,a,b\n", r);
    write_gzip("mixed-1.csv.gz", text, used);
    used = 0;
    write_quoted("mixed-2.csv");
    write_small();
    pieces_of(mixed);
    assert_int_equal(got.count, 3 * ROWS + MANY);
    assert_int_equal(pieces_of(small), MANY / 64); /* so many times a look for pieces ends without any */
    assert_int_equal(got.count, MANY);
}

/* ---- what is read in turn, a few rows at a time ---- */

static _Atomic int64_t read_in_turn;

static ssize_t counted_pread(int fd, void *to, size_t size, off_t offset)
{
    read_in_turn += size < 4096;
    return pread(fd, to, size, offset);
}

static void pieces_that_begin_anywhere_are_used(void **state)
{
    (void)state;
    run r = {0};
    hr__sys counted = *hr__sys_get();
    counted.pread = counted_pread;
    for (int file = 0; file < 2; file++) {
        read_in_turn = 0;
        hr__sys_set(&counted);
        run_all(&r, rows_of(file ? "rows-1.csv" : "rows-0.csv", (hr_policy){0}),
                (way){.workers = 8, .unit_rows = SMALL});
        hr__sys_set(NULL);
        assert_in_range(read_in_turn, 1, ROWS / SMALL / 8);
    }
}

/* ---- damage ---- */

static hr_policy policy;
static hr_dataset *damaged(void) { return rows_of("damaged-*", policy); }

static void assert_damage_is_told_as_in_turn(void)
{
    policy = (hr_policy){.on_error = HR_FAIL};
    pieces_of(damaged);
    policy = (hr_policy){.on_error = HR_SKIP};
    pieces_of(damaged);
}

static void wrong_rows_are_told_as_in_turn(void **state)
{
    (void)state;
    write_quoted("damaged-0.csv");
    put("id,name,note\n");
    for (int r = 0; r < ROWS; r++) {
        if (r % 100 == 99) put("short\n");
        if (r % 100 == 50) put("%d,stray \" quote,in \"\"it\n", r);
        if (r % 200 == 10) put("%d,\"closed\"late,\n", r);
        put("%s%d,\"many\nlines\",%d\n", r == 1200 ? "x" : "", r, r);
    }
    write_text("damaged-1.csv");
    assert_damage_is_told_as_in_turn();
    put("id,name,note\n");
    for (int r = 0; r < ROWS; r++) put("%d,a,\"never\nclosed%s\n", r, r == 900 ? "" : "\"");
    write_text("damaged-1.csv");
    assert_damage_is_told_as_in_turn();
}

/* Lines count from the front of the file, rows without those that were left out before. */
static void rows_of_pieces_know_their_lines(void **state)
{
    (void)state;
    run r = {0};
    put("id,name,note\n");
    for (int i = 0; i < ROWS; i++) put("%d,\"two\nlines\",%d\n%s", i, i, i % 10 ? "" : "\n");
    put("wrong,,\n");
    write_text("lines.csv");
    run_all(&r, rows_of("lines.csv", (hr_policy){0}), (way){.workers = 8, .unit_rows = SMALL});
    assert_int_equal(r.count, ROWS);
    assert_int_equal(r.error.record, ROWS);
    assert_int_equal(r.error.line, 2 + 2 * ROWS + ROWS / 10);
    assert_string_equal(r.error.feature, "id");
}

/* Also those of a unit that takes rows of two pieces. */
static void rows_of_pieces_are_counted(void **state)
{
    (void)state;
    hr_iterator *it =
        iterate(rows_of("rows-1.csv", (hr_policy){0}), (way){.workers = 8, .unit_rows = SMALL, .budget = 1 << 24});
    const hr_element *e;
    int64_t count = 0;
    for (; next_soon(it, &e) == HR_OK; count++) {
        hr_error place = {0};
        hr_fail(&place, HR_UNKNOWN, "test", "here");
        hr_iterator_locate(it, 0, &place);
        assert_int_equal(place.record, count);
    }
    assert_int_equal(count, ROWS);
    hr_iterator_free(it);
}

/* ---- states ---- */

static void states_are_those_in_turn(void **state)
{
    (void)state;
    for (int after = 0; after < 4000; after += 331) {
        assert_same_state(rows, after, (way){.workers = 8});
        assert_same_state(shuffled, after / 8, (way){.workers = 3});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_ahead_are_those_in_turn),     cmocka_unit_test(blank_lines_of_one_column_are_rows),
        cmocka_unit_test(files_without_pieces_lie_between), cmocka_unit_test(pieces_that_begin_anywhere_are_used),
        cmocka_unit_test(wrong_rows_are_told_as_in_turn),   cmocka_unit_test(rows_of_pieces_know_their_lines),
        cmocka_unit_test(rows_of_pieces_are_counted),       cmocka_unit_test(states_are_those_in_turn),
    };
    return cmocka_run_group_tests(tests, write_all, NULL);
}
