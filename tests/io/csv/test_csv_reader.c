/* CSV into columns: what is read, whatever the size of blocks and the kernel; what each mistake says and where. */
#include "base/cpu.h"
#include "io/csv/csv.h"
#include "tests/testing.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT = 1 << 16, MOST_VALUES = 256 };

/* ---- a file as one text: a line a row, its values separated by '|', or its error ---- */

typedef struct dump {
    char text[TEXT];
    size_t size;
    char *failed[64]; /* errors of a block's rows */
    hr_error last;
    void *bytes[64];
    int pieces;
    hr_status status;
    int64_t blank, comments;
    hr_column *column; /* of the block at hand */
} dump;

static void add(dump *d, const char *text, size_t size)
{
    if (d->size + size + 1 >= TEXT) return;
    memcpy(d->text + d->size, text, size);
    d->size += size;
    d->text[d->size] = '\0';
}

static void *bytes(size_t size, void *user)
{
    dump *d = user;
    return d->pieces == 64 ? NULL : (d->bytes[d->pieces++] = malloc(size + 64));
}

/* Lists of a test are short: their room is made at once. */
static bool grow(int column, int64_t count, void *user)
{
    (void)column, (void)user;
    return count <= MOST_VALUES;
}

static void failed(int64_t row, const hr_error *error, void *user)
{
    dump *d = user;
    d->last = *error;
    d->failed[row % 64] = strdup(error->text);
}

static void add_value(dump *d, const hr__csv_column *c, const char *at)
{
    char text[64];
    hr_view view;
    double real;
    float single;
    int64_t whole = 0;
    int32_t small;
    if (c->dtype == HR_STRING) {
        memcpy(&view, at, sizeof view);
        add(d, view.data, (size_t)view.size);
    } else if (c->dtype == HR_FLOAT) {
        memcpy(&single, at, sizeof single);
        add(d, text, (size_t)sprintf(text, "%.9g", (double)single));
    } else if (c->dtype == HR_DOUBLE) {
        memcpy(&real, at, sizeof real);
        add(d, text, (size_t)sprintf(text, "%.17g", real));
    } else {
        if (c->dtype == HR_INT32)
            memcpy(&small, at, 4), whole = small;
        else
            memcpy(&whole, at, c->width);
        add(d, text, (size_t)sprintf(text, c->dtype == HR_UINT64 ? "%llu" : "%lld", (long long)whole));
    }
}

static void add_list(dump *d, const hr__csv_column *c, const hr_column *column, int64_t r)
{
    add(d, "[", 1);
    for (int32_t i = column->splits[0][r]; i < column->splits[0][r + 1]; i++) {
        if (i > column->splits[0][r]) add(d, ";", 1);
        add_value(d, c, (const char *)column->values + (size_t)i * c->width);
    }
    add(d, "]", 1);
}

static void add_block(dump *d, const hr__csv_format *f, const hr__csv_layout *layout, const hr__csv_block *block)
{
    hr_column column[8] = {0};
    int32_t splits[8][65] = {{0}};
    void *scratch = malloc(hr__csv_scratch_size());
    hr__csv_sink sink = {.column = column, .bytes = bytes, .grow = grow, .failed = failed};
    hr_error err;
    sink.user = d;
    for (int c = 0; c < f->columns; c++) {
        const size_t values = f->column[c].separator ? MOST_VALUES : (size_t)block->rows;
        column[c].values = malloc(values * f->column[c].width + 1);
        column[c].splits[0] = splits[c];
    }
    assert_ok(hr__csv_parse(f, layout, "t.csv", block, scratch, &sink, &err), &err);
    for (int64_t r = 0; r < block->rows; r++) {
        char *error = d->failed[r % 64];
        if (error) add(d, error, strlen(error));
        for (int c = 0; !error && c < f->columns; c++) {
            if (c) add(d, "|", 1);
            if (f->column[c].separator) {
                add_list(d, &f->column[c], &column[c], r);
                continue;
            }
            const bool there = !column[c].present || column[c].present[r / 64] >> r % 64 & 1;
            if (there)
                add_value(d, &f->column[c], (char *)column[c].values + (size_t)r * f->column[c].width);
            else
                add(d, "~", 1);
        }
        add(d, "\n", 1);
        free(error);
        d->failed[r % 64] = NULL;
    }
    for (int c = 0; c < f->columns; c++) free(column[c].values);
    while (d->pieces > 0) free(d->bytes[--d->pieces]);
    free(scratch);
}

static void read_all(dump *d, const char *text, size_t size, const hr_csv_opts *opts, size_t block_bytes)
{
    hr__csv_format *f;
    hr__csv_file *file = NULL;
    hr__csv_block block;
    *d = (dump){0};
    write_file("t.csv", text, size);
    d->status = hr__csv_format_new(opts, &f, &d->last);
    if (d->status == HR_OK && opts->column_count == 0) d->status = hr__csv_format_from_header(f, "t.csv", &d->last);
    if (d->status == HR_OK) d->status = hr__csv_open(f, "t.csv", &file, &d->last);
    while (d->status == HR_OK) {
        hr_error err;
        d->status = hr__csv_read(file, block_bytes, 63, &block, &err);
        if (d->status != HR_OK && d->status != HR_END) d->last = err;
        if (d->status == HR_OK)
            add_block(d, f, hr__csv_file_layout(file), &block), d->blank += block.blank, d->comments += block.comments;
    }
    hr__csv_close(file);
    hr__csv_format_free(f);
}

/* For every small size of blocks, and the usual one. */
static void reads_as(const char *text, const hr_csv_opts *opts, const char *want)
{
    static dump d;
    const size_t size = strlen(text);
    for (size_t block = 1; block < size + 2; block++) {
        read_all(&d, text, size, opts, block);
        assert_string_equal(d.text, want);
    }
    read_all(&d, text, size, opts, 65536);
    assert_string_equal(d.text, want);
}

#define COLUMNS(...)                                                                                                   \
    .columns = (const hr_csv_column[]){__VA_ARGS__},                                                                   \
    .column_count = sizeof((hr_csv_column[]){__VA_ARGS__}) / sizeof(hr_csv_column)

#define ID_AND_NAME COLUMNS({.name = "id", .dtype = HR_INT64}, {.name = "name", .dtype = HR_STRING})

/* ---- what is read ---- */

static void columns_are_found_by_name_in_any_order(void **state)
{
    (void)state;
    hr_csv_opts opts = {COLUMNS({.name = "c", .dtype = HR_FLOAT}, {.name = "a", .dtype = HR_INT32})};
    reads_as("a,b,c\n1,x,2.5\n-3,\"y,\nz\",1e3\n", &opts, "2.5|1\n1000|-3\n");
    reads_as("\xef\xbb\xbf\"a\",\"b\",c\r\n1,x,2.5\r\n", &opts, "2.5|1\n");
    hr_csv_opts all = {0};
    reads_as("a,\"b \"\"q\"\"\"\n1,x\n,y\n", &all, "1|x\n|y\n");
}

#define TEXTS(...)                                                                                                     \
    (const char *const[]) { __VA_ARGS__ }

static void columns_without_a_header_have_names_or_numbers(void **state)
{
    (void)state;
    hr_csv_opts named = {.names = TEXTS("id", "", "name"), .name_count = 3, ID_AND_NAME};
    reads_as("1,2,a\n3,4,b\n", &named, "1|a\n3|b\n");
    reads_as("", &named, "");
    named.no_header = true; /* which goes without saying */
    reads_as("1,2,a\n", &named, "1|a\n");
    hr_csv_opts by_place = {.no_header = true, ID_AND_NAME};
    reads_as("1,a\n", &by_place, "1|a\n");
    hr_csv_opts numbered = {.names = TEXTS(NULL), COLUMNS({.name = "column_1", .dtype = HR_STRING})};
    reads_as("\r\n1,\"x\ny\",\n\n2,z,\n", &numbered, "x\ny\nz\n");
    hr_csv_opts all = {.no_header = true, .comment = "#"};
    reads_as("\n# one\n1,2\n3,4\n", &all, "1|2\n3|4\n");
    hr_csv_opts nameless = {COLUMNS({.name = "column_2", .dtype = HR_INT64}, {.name = "a", .dtype = HR_INT64})};
    reads_as("\"\",a,\n0,1,2\n", &nameless, "2|1\n");
    static dump d;
    read_all(&d, "", 0, &all, 64);
    assert_string_equal(d.last.text, "t.csv: expected a row, by which columns are counted, found an empty file");
}

static void columns_are_renamed_and_dropped_by_name_and_by_place(void **state)
{
    (void)state;
    hr_csv_opts opts = {.rename = TEXTS("a=b", "b=a"), .rename_count = 2, COLUMNS({.name = "a", .dtype = HR_INT64})};
    reads_as("a,b,c\n1,2,3\n", &opts, "2\n");
    hr_csv_opts all = {.rename = TEXTS("#2=c", "x=y=z"), .rename_count = 1};
    reads_as("a,b,a\n1,2,3\n", &all, "1|2|3\n");
    all.rename_count = 2;
    reads_as("a,x=y,a\n1,2,3\n", &all, "1|2|3\n");
    hr_csv_opts some = {.drop = TEXTS("a", "#3"), .drop_count = 2};
    reads_as("a,b,a,c,#2\n1,2,3,4,5\n", &some, "2|5\n");
    hr_csv_opts none = {.no_header = true, .drop = TEXTS("column_0"), .drop_count = 1};
    reads_as("1,2,3\n", &none, "2|3\n");
}

static void names_that_are_not_there_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr__csv_format *format;
    const char *none = NULL;
    const hr_csv_opts wrong[] = {
        {.names = &none, .name_count = 1},
        {.rename_count = 1},
        {.drop = &none, .drop_count = 1},
        {.drop = &none, .drop_count = -1},
    };
    for (int i = 0; i < 4; i++) {
        hr_csv_opts opts = wrong[i];
        opts.struct_size = sizeof opts;
        assert_status(hr__csv_format_new(&opts, &format, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "csv.column");
    }
}

static void columns_that_are_called_alike_are_named(void **state)
{
    (void)state;
    static dump d;
    hr_csv_opts all = {0}, wanted = {COLUMNS({.name = "a", .dtype = HR_INT64})};
    hr_csv_opts given = {.names = TEXTS("a", "a"), .name_count = 2};
    hr_csv_opts renamed = {.rename = TEXTS("b=a"), .rename_count = 1};
    const hr_csv_opts *opts[] = {&all, &wanted, &renamed, &given};
    for (int i = 0; i < 4; i++) {
        const char *text = i == 2 ? "a,b\n" : i == 3 ? "1,1\n" : "x,a,b,a\n";
        read_all(&d, text, strlen(text), opts[i], 64);
        assert_status(d.status, HR_INVALID_ARGUMENT);
        assert_string_equal(d.last.kind, "csv.column");
        assert_string_equal(d.last.file, "t.csv");
        assert_string_equal(d.last.feature, "a");
        assert_text_contains(d.last.text, i < 2 ? "columns 1 and 3, counted from 0, are both called 'a'; give one of "
                                                  "them another name, .rename \"#3=NEW\", or .drop \"#3\"; if the "
                                                  "first line is not a header, .no_header"
                                                : "columns 0 and 1, counted from 0, are both called 'a'");
    }
    const hr_csv_opts wrong[] = {{.rename = TEXTS("ab"), .rename_count = 1},
                                 {.rename = TEXTS("a="), .rename_count = 1},
                                 {.rename = TEXTS("x=y"), .rename_count = 1},
                                 {.rename = TEXTS("a=c"), .rename_count = 1},
                                 {.drop = TEXTS("#2"), .drop_count = 1}};
    const char *kind[] = {"csv.rename", "csv.rename", "csv.column", "csv.column", "csv.column"};
    for (int i = 0; i < 5; i++) {
        read_all(&d, "a,a\n", 4, &wrong[i], 64);
        assert_status(d.status, HR_INVALID_ARGUMENT);
        assert_string_equal(d.last.kind, kind[i]);
    }
    assert_text_contains(d.last.text, "expected a column '#2' in the header, found 2 others; places count from 0, "
                                      "the last one is #1");
}

static void every_dtype_is_read(void **state)
{
    (void)state;
    hr_csv_opts opts = {COLUMNS({.name = "a", .dtype = HR_INT32}, {.name = "b", .dtype = HR_INT64},
                                {.name = "c", .dtype = HR_UINT64}, {.name = "d", .dtype = HR_FLOAT},
                                {.name = "e", .dtype = HR_DOUBLE}, {.name = "f", .dtype = HR_BOOL},
                                {.name = "g", .dtype = HR_STRING})};
    reads_as("a,b,c,d,e,f,g\n"
             "-2147483648,-9223372036854775808,18446744073709551615,0.1,0.1,True,x\n"
             "+7, 12345678901234567 ,0,-inf,.5e-3,0,\"\"\"\"\n",
             &opts,
             "-2147483648|-9223372036854775808|18446744073709551615|0.100000001|0.10000000000000001|1|x\n"
             "7|12345678901234567|0|-inf|0.00050000000000000001|0|\"\n");
}

static void line_ends_and_blank_lines_make_no_difference(void **state)
{
    (void)state;
    hr_csv_opts opts = {ID_AND_NAME};
    reads_as("id,name\r\n1,a\r\n\r\n2,b\r3,c\n\n\r\n4,d", &opts, "1|a\n2|b\n3|c\n4|d\n");
    static dump d;
    read_all(&d, "id,name\n\n1,a\n\r\n\r2,b\n", 20, &opts, 5);
    assert_int_equal(d.blank, 3);
    hr_csv_opts one = {COLUMNS({.name = "id", .dtype = HR_STRING}), .keep_missing = true};
    reads_as("id\n\nx\n\n", &one, "~\nx\n~\n");
}

static void missing_fields_take_the_default_or_are_marked(void **state)
{
    (void)state;
    const hr_tensor seven = hr_tensor_of(HR_INT64, HR_SCALAR, HR_I64(7));
    const hr_tensor none = hr_tensor_of(HR_STRING, HR_SCALAR, (const hr_view[]){{"none", 4}});
    hr_csv_opts opts = {COLUMNS({.name = "id", .dtype = HR_INT64, .default_value = &seven},
                                {.name = "name", .dtype = HR_STRING, .default_value = &none}),
                        .na_value = "NA"};
    reads_as("id,name\n,\nNA,\"NA\"\n1,\"\"\n", &opts, "7|none\n7|none\n1|none\n");
    hr_csv_opts keep = {ID_AND_NAME, .keep_missing = true, .na_value = "0"};
    reads_as("id,name\n,a\n0,b\n1,0\n2,c\n", &keep, "~|a\n~|b\n1|~\n2|c\n");
}

static void other_dialects_are_read(void **state)
{
    (void)state;
    hr_csv_opts opts = {ID_AND_NAME, .delimiter = ";", .no_quotes = true, .no_header = true};
    reads_as("1;\"a\n2;b,\"c\n", &opts, "1|\"a\n2|b,\"c\n");
    hr_csv_opts places = {ID_AND_NAME, .select_cols = (int[]){2, 0}, .select_count = 2};
    reads_as("x,y,z\na,b,1\nc,d,2,more\n", &places, "1|a\n2|c\n");
    hr_csv_opts without = {ID_AND_NAME, .exclude_cols = (int[]){1}, .exclude_count = 1, .no_header = true};
    reads_as("1,b,a\n2,d,c\n", &without, "1|a\n2|c\n");
    reads_as("1,b,a,more\n", &without, "t.csv:1: expected 3 fields, found 4\n");
    hr_csv_opts but_one = {.struct_size = sizeof but_one, .exclude_cols = (int[]){1}, .exclude_count = 1};
    reads_as("x,y,z\n1,b,a\n\n2,d,c\n", &but_one, "1|a\n2|c\n");
    reads_as("x,x,z\n1,b,a\n", &but_one, "1|a\n"); /* nobody wants the second x */
    hr_csv_opts last = {ID_AND_NAME, .exclude_cols = (int[]){2, 4}, .exclude_count = 2, .no_header = true};
    reads_as("1,a\n\n2,b,x\n3,c,x,y\n4\n", &last,
             "1|a\n2|b\nt.csv:4: expected 2 to 3 fields, found 4\nt.csv:5: expected 2 to 3 fields, found 1\n");
}

static void quote_and_escape_may_be_any_byte(void **state)
{
    (void)state;
    hr_csv_opts single = {ID_AND_NAME, .quote = "'"};
    reads_as("id,name\n1,'it''s, \"so\"'\n'2',\"b\n", &single, "1|it's, \"so\"\n2|\"b\n");
    hr_csv_opts escape = {ID_AND_NAME, .escape = "\\"};
    reads_as("id,name\n1,\"say \\\"hi\\\", \\\\\"\n2,a\\,b\\\nc\n3,\"d\"\"e\"\n", &escape,
             "1|say \"hi\", \\\n2|a,b\nc\n3|d\"e\n");
    reads_as("id,name\n1,a\\", &escape,
             "t.csv:2: column 'name' (field 1): expected a byte after the escape, found the end of the file\n");
}

static void comments_and_lines_in_front_are_passed_over_and_counted(void **state)
{
    (void)state;
    static dump d;
    hr_csv_opts opts = {ID_AND_NAME, .comment = "//", .skip_lines = 2, .skip_rows = 1};
    const char *text = "made, \"by hand\n\n// c\nid,name\n// \"d\n9,\"not\nread\"\n1,a\n//2,b\n3,/c\n//";
    reads_as(text, &opts, "1|a\n3|/c\n");
    read_all(&d, text, strlen(text), &opts, 65536);
    assert_int_equal(d.comments, 2); /* after the first row */
    hr_csv_opts bare = {ID_AND_NAME, .no_header = true, .skip_lines = 1};
    reads_as("\xef\xbb\xbfx\r\n1,a\r\nb,c\r\n", &bare,
             "1|a\nt.csv:3: column 'id' (field 0): expected int64, got \"b\"; if it means missing, add it to "
             ".na_value\n");
    hr_csv_opts past = {ID_AND_NAME, .no_header = true, .skip_lines = 5};
    reads_as("1,a\n2,b\n", &past, "");
}

static void any_of_several_texts_means_missing_but_perhaps_not_in_quotes(void **state)
{
    (void)state;
    static const char *const na[] = {"NULL", "n/a"};
    static const char text[] = "id,name\nNULL,n/a\n1,\"NULL\"\n-,\"\"\n2,\n";
    hr_csv_opts opts = {ID_AND_NAME, .keep_missing = true, .na_value = "-", .na_values = na, .na_value_count = 2};
    reads_as(text, &opts, "~|~\n1|~\n~|~\n2|~\n");
    opts.quoted_never_missing = true;
    reads_as(text, &opts, "~|~\n1|NULL\n~|\n2|~\n");
    opts.strings_never_missing = true;
    reads_as(text, &opts, "~|n/a\n1|NULL\n~|\n2|\n");
}

static void bools_have_the_words_that_are_given(void **state)
{
    (void)state;
    static const char *const yes[] = {"Y", "yes"}, *const no[] = {"N"};
    hr_csv_opts opts = {COLUMNS({.name = "a", .dtype = HR_BOOL}),
                        .true_values = yes,
                        .true_value_count = 2,
                        .false_values = no,
                        .false_value_count = 1,
                        .no_header = true};
    reads_as("Y\n N \nyes\ntrue\n", &opts,
             "1\n0\n1\nt.csv:4: column 'a' (field 0): expected bool, got \"true\"; if it means missing, add it to "
             ".na_value\n");
}

static void blank_lines_may_be_rows(void **state)
{
    (void)state;
    hr_csv_opts opts = {ID_AND_NAME, .keep_blank_lines = true, .keep_missing = true};
    reads_as("id,name\n1,a\n\n2,b\n", &opts, "1|a\nt.csv:3: expected 2 fields, found 1\n2|b\n");
}

static void what_is_not_utf8_is_named_with_the_place_of_its_byte(void **state)
{
    (void)state;
    hr_csv_opts opts = {ID_AND_NAME, .check_utf8 = true};
    reads_as("id,name\n1,gr\xc3\xbc\xc3\x9f\n2,\"a\"\"\xff\"\n3,\xe2\x82\xac\xf0\x9f\x98\x80\n4,b\xc3\n", &opts,
             "1|gr\xc3\xbc\xc3\x9f\n"
             "t.csv:3: column 'name' (field 1): expected UTF-8, got the byte 0xff at offset 23\n"
             "3|\xe2\x82\xac\xf0\x9f\x98\x80\n"
             "t.csv:5: column 'name' (field 1): expected UTF-8, got the byte 0xc3 at offset 39\n");
    hr_csv_opts bytes = {ID_AND_NAME};
    reads_as("id,name\n2,\xff\n", &bytes, "2|\xff\n");
}

static void times_are_numbers_since_1970(void **state)
{
    (void)state;
    hr_csv_opts opts = {COLUMNS({.name = "d", .dtype = HR_INT64, .time = HR_CSV_DATE},
                                {.name = "s", .dtype = HR_INT64, .time = HR_CSV_SECONDS},
                                {.name = "ms", .dtype = HR_INT64, .time = HR_CSV_MILLISECONDS},
                                {.name = "ns", .dtype = HR_INT64, .time = HR_CSV_NANOSECONDS}),
                        .no_header = true};
    reads_as("1970-01-01,1970-01-01T00:00:00Z,1970-01-01 00:00:00.001,1970-01-01T00:00:00.000000001+00:00\n"
             "2024-02-29, 2024-02-29T23:59:59+01:00 ,1969-12-31T23:59:59.5,2024-02-29\n"
             "0001-01-01,9999-12-31T23:59Z,2000-01-01T00:00:00.1230-0530,1677-09-21T00:12:44\n",
             &opts,
             "0|0|1|1\n"
             "19782|1709247599|-500|1709164800000000000\n"
             "-719162|253402300740|946704600123|-9223372036000000000\n");
}

static void a_time_that_is_none_is_an_error(void **state)
{
    (void)state;
    static const char *const date[] = {"2023-02-29", "2023-13-01", "2023-1-1",         "1900-02-29", "20230101",
                                       "2023-01-00", "0000-01-01", "2023-01-01T00:00", "x",          "2023-01-01x"};
    static const char *const time[] = {"2023-01-01T24:00:00",
                                       "2023-01-01T23:59:60",
                                       "2023-01-01T1:00",
                                       "2023-01-01T01",
                                       "2023-01-01T01:00:",
                                       "2023-01-01T01:00:00.",
                                       "2023-01-01T01:00:00.1234",
                                       "2023-01-01T01:00+1",
                                       "2023-01-01T01:00+24:00",
                                       "2023-01-01T01:00ZZ",
                                       "2023-01-01T",
                                       "1700000000"};
    int64_t value;
    for (size_t i = 0; i < sizeof date / sizeof *date; i++)
        if (hr__csv_parse_time(HR_CSV_DATE, date[i], strlen(date[i]), &value)) fail_msg("a date: %s", date[i]);
    for (size_t i = 0; i < sizeof time / sizeof *time; i++)
        if (hr__csv_parse_time(HR_CSV_MILLISECONDS, time[i], strlen(time[i]), &value)) fail_msg("a time: %s", time[i]);
    assert_false(hr__csv_parse_time(HR_CSV_NANOSECONDS, "2262-04-12", 10, &value));
    assert_true(hr__csv_parse_time(HR_CSV_NANOSECONDS, "1677-09-21T00:12:43.145224192", 29, &value));
    assert_int_equal(value, INT64_MIN);
    assert_false(hr__csv_parse_time(HR_CSV_NANOSECONDS, "1677-09-21T00:12:43.145224191", 29, &value));
    assert_true(hr__csv_parse_time(HR_CSV_MILLISECONDS, "1969-12-31T23:59:59.5", 21, &value));
    assert_int_equal(value, -500);
    hr_csv_opts opts = {COLUMNS({.name = "d", .dtype = HR_INT64, .time = HR_CSV_DATE}), .no_header = true};
    reads_as("2023-02-29\n", &opts,
             "t.csv:1: column 'd' (field 0): expected a date (2024-02-29), got \"2023-02-29\"; if it means missing, "
             "add it to .na_value\n");
}

/* Every day of 800 years, against the calendar of the C library. */
static void days_are_those_of_the_calendar(void **state)
{
    (void)state;
    for (int64_t day = -146097; day <= 146097; day++) {
        const time_t seconds = (time_t)(day * 86400);
        struct tm at;
        char text[32];
        int64_t got;
        gmtime_r(&seconds, &at);
        size_t size = strftime(text, sizeof text, "%Y-%m-%d", &at);
        assert_true(hr__csv_parse_time(HR_CSV_DATE, text, size, &got));
        assert_int_equal(got, day);
    }
}

static void fields_with_a_separator_are_lists(void **state)
{
    (void)state;
    hr_csv_opts opts = {COLUMNS({.name = "t", .dtype = HR_STRING, .separator = ";"}, {.name = "id", .dtype = HR_INT64},
                                {.name = "n", .dtype = HR_INT32, .separator = " "})};
    reads_as("id,t,n\n1,a;b,1 2 3\n2,,4\n3,\"c,;;\",\nx,d,5 6\n4,e,7\n5,f,8 g\n6,h,9\n", &opts,
             "[a;b]|1|[1;2;3]\n[]|2|[4]\n[c,;;]|3|[]\n"
             "t.csv:5: column 'id' (field 0): expected int64, got \"x\"; if it means missing, add it to .na_value\n"
             "[e]|4|[7]\n"
             "t.csv:7: column 'n' (field 2): expected int32, got \"8 g\"; if it means missing, add it to .na_value\n"
             "[h]|6|[9]\n");
}

/* ---- what is wrong ---- */

typedef struct mistake {
    const char *text, *kind, *said; /* said: after "t.csv:" */
    int64_t record, offset, length;
    int column;
} mistake;

static void a_wrong_row_is_named_with_its_place_and_the_next_one_is_read(void **state)
{
    (void)state;
    static const mistake mistakes[] = {
        {"n/a,x", "csv.value",
         "4: column 'id' (field 0): expected int64, got \"n/a\"; if it means missing, add it to .na_value", 1, 15, 6,
         0},
        {"9223372036854775808,x", "csv.value",
         "4: column 'id' (field 0): expected int64, got \"9223372036854775808\"; if it means missing, add it to "
         ".na_value",
         1, 15, 22, 0},
        {",x", "csv.missing",
         "4: column 'id' (field 0): expected int64, got an empty field; give the column a default_value", 1, 15, 3, 0},
        {"\"NA\",x", "csv.missing",
         "4: column 'id' (field 0): expected int64, got \"NA\", which means missing; give the column a default_value",
         1, 15, 7, 0},
        {"2", "csv.fields", "4: expected 2 fields, found 1", 1, 15, 2, -1},
        {"2,x,y", "csv.fields", "4: expected 2 fields, found 3", 1, 15, 6, -1},
        {"2,x\"y", "csv.quote",
         "4: column 'name' (field 1): expected no quote in a field that does not begin with one; quote the field and "
         "double the quote, or set .no_quotes",
         1, 15, 6, 1},
        {"2,\"x\"y", "csv.quote",
         "4: column 'name' (field 1): expected a delimiter or a line end after the closing quote; double a quote that "
         "belongs to the text",
         1, 15, 7, 1},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const mistake *m = &mistakes[i];
        char text[256], want[512];
        static dump d;
        hr_csv_opts opts = {ID_AND_NAME, .na_value = "NA"};
        /* The first row lies on two lines; an offset in it would be wrong if they were counted as rows. */
        sprintf(text, "id,name\n1,\"\na\"\n%s\n3,b\n", m->text);
        sprintf(want, "1|\na\nt.csv:%s\n3|b\n", m->said);
        reads_as(text, &opts, want);
        read_all(&d, text, strlen(text), &opts, 65536);
        assert_string_equal(d.last.kind, m->kind);
        assert_string_equal(d.last.file, "t.csv");
        assert_status(d.last.code, HR_INVALID_ARGUMENT);
        assert_int_equal(d.last.line, 4);
        assert_int_equal(d.last.record, m->record);
        assert_int_equal(d.last.offset, m->offset);
        assert_int_equal(d.last.length, m->length);
        assert_int_equal(d.last.column, m->column);
        assert_string_equal(d.last.feature, m->column < 0 ? "" : m->column ? "name" : "id");
    }
}

/* By its place in the file, whatever columns are read, and in which order. */
static void a_wrong_value_has_the_number_of_its_field(void **state)
{
    (void)state;
    static dump d;
    hr_error err;
    hr_tensor out[1] = {0};
    const char *text = "name,city,id\na,b,x\n";
    hr_csv_opts opts = {.columns = (const hr_csv_column[]){{.name = "id", .dtype = HR_INT64}}, .column_count = 1};
    read_all(&d, text, strlen(text), &opts, 65536);
    assert_string_equal(d.last.kind, "csv.value");
    assert_int_equal(d.last.column, 2);

    const hr_view row = {"a,b,x", 5};
    const hr_tensor rows = hr_tensor_of(HR_STRING, HR_SHAPE(1), &row);
    opts.columns = &(hr_csv_column){.dtype = HR_INT64};
    opts.select_cols = (int[]){2};
    opts.select_count = 1;
    assert_status(hr_decode_csv_with(&rows, out, &opts, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(err.column, 2);
    assert_non_null(strstr(err.text, "column 2"));
}

static void an_open_quote_reports_all_bytes_that_it_swallows(void **state)
{
    (void)state;
    static dump d;
    hr_csv_opts opts = {ID_AND_NAME};
    const char *text = "id,name\n1,a\n2,\"b\n3,c\n4,d\n";
    reads_as(text, &opts,
             "1|a\nt.csv:3: column 'name' (field 1): expected a closing quote, found the end of the file\n");
    read_all(&d, text, strlen(text), &opts, 65536);
    assert_int_equal(d.last.offset, 12);
    assert_int_equal(d.last.length, 13);
}

static void refuses(const char *text, const hr_csv_opts *opts, const char *kind, const char *said)
{
    static dump d;
    read_all(&d, text, strlen(text), opts, 100);
    assert_status(d.status, HR_INVALID_ARGUMENT);
    assert_string_equal(d.last.kind, kind);
    if (!strstr(d.last.text, said)) fail_msg("expected \"%s\" in \"%s\"", said, d.last.text);
}

/* A column that .drop or .rename took away is not looked for in a header that lacks one. */
static void who_took_a_column_is_said(void **state)
{
    (void)state;
    const hr_csv_column wanted[] = {{.name = "a", .dtype = HR_INT64}};
    refuses("a,b\n", &(hr_csv_opts){.columns = wanted, .column_count = 1, .drop = TEXTS("a"), .drop_count = 1},
            "csv.column", "expected a column 'a' in the header, found 2 others; .drop leaves it out");
    refuses("a,b\n", &(hr_csv_opts){.columns = wanted, .column_count = 1, .rename = TEXTS("a=c"), .rename_count = 1},
            "csv.column", "; .rename calls it 'c'");
    refuses("a,b\n", &(hr_csv_opts){.rename = TEXTS("c=a"), .rename_count = 1}, "csv.column", "is its first line");
    reads_as("1,2\n", &(hr_csv_opts){.no_header = true, .names = TEXTS("a"), .name_count = 1},
             "t.csv:1: expected 1 fields, as .names says, found 2\n");
}

static void rejects_value(const char *text, const hr_csv_opts *opts, const char *value)
{
    static dump d;
    char said[80];
    snprintf(said, sizeof said, ", got \"%s\"; if it means missing", value);
    read_all(&d, text, strlen(text), opts, 100);
    assert_string_equal(d.last.kind, "csv.value");
    if (!strstr(d.last.text, said)) fail_msg("expected %s in \"%s\"", said, d.last.text);
}

/* Whole numbers as pandas writes them; what a type cannot hold is an error, never infinity. */
static void whole_numbers_may_have_a_fraction_of_zeros(void **state)
{
    (void)state;
    hr_csv_opts whole = {COLUMNS({.name = "i", .dtype = HR_INT64}, {.name = "n", .dtype = HR_INT32})};
    reads_as("i,n\n16777217.0,-7.00\n 9007199254740993.0 ,+3.0\n", &whole, "16777217|-7\n9007199254740993|3\n");
    static const char *const wrong[] = {"1.5", "7.", ".0", "1e2", "7.01", "9223372036854775808.0", "1.0.0", "inf"};
    hr_csv_opts one = {COLUMNS({.name = "i", .dtype = HR_INT64})};
    char text[64];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "i\n%s\n", wrong[i]);
        rejects_value(text, &one, wrong[i]);
    }
    one.tf_compat = true;
    rejects_value("i\n7.0\n", &one, "7.0");
    hr_csv_opts real = {COLUMNS({.name = "f", .dtype = HR_FLOAT})};
    rejects_value("f\n1e400\n", &real, "1e400");
    rejects_value("f\n-1e39\n", &real, "-1e39");
    reads_as("f\ninf\n1e-400\n", &real, "inf\n0\n");
    hr_csv_opts wide = {COLUMNS({.name = "f", .dtype = HR_DOUBLE})};
    rejects_value("f\n1e400\n", &wide, "1e400");
}

static void wrong_options_and_headers_are_refused(void **state)
{
    (void)state;
    const char *text = "id,name,name2,id2\n1,a,b,2\n";
    const hr_tensor wrong = hr_tensor_of(HR_FLOAT, HR_SCALAR, HR_F32(1));
    refuses("\xff\xfeid,name\n1,a\n", &(hr_csv_opts){ID_AND_NAME}, "csv.mark", "found the byte order mark of UTF-16");
    refuses("\xef\xbbid,name\n1,a\n", &(hr_csv_opts){ID_AND_NAME}, "csv.mark", "found ef bb alone");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .delimiter = ",,"}, "csv.delimiter", "one byte, got \",,\"");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .delimiter = "\n"}, "csv.delimiter", "'\\x0a'");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .delimiter = "\""}, "csv.delimiter", "no_quotes allows the quote");
    refuses(text, &(hr_csv_opts){COLUMNS({.name = "id", .dtype = HR_HALF})}, "csv.dtype", "got float16");
    refuses(text, &(hr_csv_opts){COLUMNS({.name = "id", .dtype = HR_INT64, .default_value = &wrong})}, "csv.default",
            "one int64 value, got 1 of float32");
    refuses(text, &(hr_csv_opts){COLUMNS({.name = "id", .dtype = HR_INT64}, {.name = "id", .dtype = HR_INT64})},
            "csv.columns", "twice");
    refuses(text, &(hr_csv_opts){COLUMNS({.name = "nam", .dtype = HR_STRING})}, "csv.column", "did you mean 'name'?");
    refuses("id,id\n", &(hr_csv_opts){COLUMNS({.name = "id", .dtype = HR_INT64})}, "csv.column",
            "columns 0 and 1, counted from 0, are both called");
    refuses("id,\"na\"me\n", &(hr_csv_opts){ID_AND_NAME}, "csv.quote", "t.csv:1: header");
    refuses("", &(hr_csv_opts){0}, "csv.header", "found an empty file");
    refuses("", &(hr_csv_opts){ID_AND_NAME, .tf_compat = true}, "csv.header", "found an empty file");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .quote = "''"}, "csv.delimiter", "quote of one byte");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .escape = ","}, "csv.delimiter", "escape other than the delimiter");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .comment = "#\n"}, "csv.delimiter", "without a line end");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .skip_lines = -1}, "csv.select", "got -1");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .skip_rows = 1, .no_header = true}, "csv.select", "a header to count");
    refuses(text,
            &(hr_csv_opts){ID_AND_NAME, .true_values = (const char *[]){"a"}, .true_value_count = 1,
                           .false_values = (const char *[]){"a"}, .false_value_count = 1},
            "csv.words", "got \"a\" in both");
    refuses(text, &(hr_csv_opts){COLUMNS({.name = "id", .dtype = HR_INT32, .time = HR_CSV_DATE})}, "csv.dtype",
            "int64");
    refuses(text, &(hr_csv_opts){COLUMNS({.name = "id", .dtype = HR_INT32, .separator = ","})}, "csv.delimiter",
            "separator other than the delimiter");
    refuses(text, &(hr_csv_opts){COLUMNS({.name = "id", .dtype = HR_FLOAT, .separator = ";", .default_value = &wrong})},
            "csv.default", "got both");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .select_cols = (int[]){1}, .select_count = 1}, "csv.select", "got 1");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .select_cols = (int[]){1, 1}, .select_count = 2}, "csv.select", "once");
    refuses(text, &(hr_csv_opts){ID_AND_NAME, .select_cols = (int[]){1, -1}, .select_count = 2}, "csv.select",
            "got -1");
}

static void an_empty_file_with_named_columns_is_empty(void **state)
{
    (void)state;
    hr_csv_opts opts = {ID_AND_NAME};
    reads_as("", &opts, "");
    reads_as("id,name\n", &opts, "");
}

/* A row's place, as a block says it, is enough to go on there: in plain and compressed files, in both modes. */
static void a_file_goes_on_where_it_stood(void **state)
{
    (void)state;
    static const char text[] = "id,name\n1,a\n2,\"b\nb\"\n3,c\n";
    for (int way = 0; way < 4; way++) {
        hr_csv_opts opts = {ID_AND_NAME, .compression = way & 1 ? HR_GZIP : HR_NONE, .tf_compat = way & 2};
        const hr_output_opts zip = {.struct_size = sizeof zip, .compression = opts.compression};
        hr_output *out;
        hr_error err;
        hr__csv_format *f;
        hr__csv_file *file;
        hr__csv_block block, again;
        assert_ok(hr_output_open_with("z.csv", &zip, &out, &err), &err);
        assert_ok(hr_output_write(out, text, sizeof text - 1, &err), &err);
        assert_ok(hr_output_commit(out, &err), &err);
        assert_ok(hr__csv_format_new(&opts, &f, &err), &err);
        assert_ok(hr__csv_open(f, "z.csv", &file, &err), &err);
        for (int r = 0; r < 3; r++) assert_ok(hr__csv_read(file, 100, 1, &block, &err), &err);
        assert_int_equal(block.line, 5);
        assert_int_equal(block.record, 2);
        assert_ok(hr__csv_seek(file, block.offset, block.line, block.record, &err), &err);
        assert_ok(hr__csv_read(file, 100, 1, &again, &err), &err);
        assert_int_equal(again.size, 4);
        assert_memory_equal(again.data, "3,c\n", 4);
        assert_status(hr__csv_read(file, 100, 1, &again, &err), HR_END);
        hr__csv_close(file);
        hr__csv_format_free(f);
    }
}

/* ---- kernels ---- */

static void all_kernels_read_the_same_of_random_text(void **state)
{
    (void)state;
    static const char *const piece[] = {",",   ",",      "\n",         "\n", "\r\n",   "1",       "-22", "3.25",
                                        "abc", "\"q,\"", "\"a\"\"b\"", "\"", "\"\n\"", "1234567", "\r",  " "};
    static dump want, got;
    static char text[4000];
    hr_csv_opts opts = {
        COLUMNS({.name = "a", .dtype = HR_STRING}, {.name = "b", .dtype = HR_INT64}, {.name = "c", .dtype = HR_DOUBLE}),
        .keep_missing = true, .no_header = true};
    for (uint64_t seed = 0; seed < 150; seed++) {
        size_t size = 0;
        for (uint64_t i = 0; size < 2000; i++) {
            const char *p = piece[hr_random_below(seed, i, seed % 2 ? 16 : 9)];
            size += (size_t)sprintf(text + size, "%s", p);
        }
        for (int k = 0; k < 3; k++) {
            hr__cpu_limit(k == 0 ? 0 : k == 1 ? HR__SSE42 | HR__AVX2 : ~0u);
            read_all(k ? &got : &want, text, size, &opts, k == 0 ? 65536 : 50 + seed);
            if (k) assert_string_equal(got.text, want.text);
        }
    }
    hr__cpu_limit(~0u);
}

static void a_lack_of_memory_is_said_and_leaks_nothing(void **state)
{
    (void)state;
    static dump d;
    hr_csv_opts opts = {COLUMNS({.name = "name", .dtype = HR_STRING})};
    const char *text = "id,name\n1,\"a\"\"b\"\n";
    const int64_t alive = allocations_alive();
    for (int64_t n = 0; n < 40; n++) {
        fail_allocation(n);
        read_all(&d, text, strlen(text), &opts, 100);
        allocations_since();
        assert_status_either(d.status, HR_END, HR_RESOURCE_EXHAUSTED);
        assert_int_equal(allocations_alive(), alive);
        if (n == 0) assert_status(d.status, HR_RESOURCE_EXHAUSTED);
        if (n == 39) assert_string_equal(d.text, "a\"b\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_found_by_name_in_any_order),
        cmocka_unit_test(columns_without_a_header_have_names_or_numbers),
        cmocka_unit_test(columns_are_renamed_and_dropped_by_name_and_by_place),
        cmocka_unit_test(whole_numbers_may_have_a_fraction_of_zeros),
        cmocka_unit_test(columns_that_are_called_alike_are_named),
        cmocka_unit_test(who_took_a_column_is_said),
        cmocka_unit_test(every_dtype_is_read),
        cmocka_unit_test(line_ends_and_blank_lines_make_no_difference),
        cmocka_unit_test(missing_fields_take_the_default_or_are_marked),
        cmocka_unit_test(other_dialects_are_read),
        cmocka_unit_test(quote_and_escape_may_be_any_byte),
        cmocka_unit_test(comments_and_lines_in_front_are_passed_over_and_counted),
        cmocka_unit_test(any_of_several_texts_means_missing_but_perhaps_not_in_quotes),
        cmocka_unit_test(bools_have_the_words_that_are_given),
        cmocka_unit_test(blank_lines_may_be_rows),
        cmocka_unit_test(what_is_not_utf8_is_named_with_the_place_of_its_byte),
        cmocka_unit_test(times_are_numbers_since_1970),
        cmocka_unit_test(a_time_that_is_none_is_an_error),
        cmocka_unit_test(days_are_those_of_the_calendar),
        cmocka_unit_test(fields_with_a_separator_are_lists),
        cmocka_unit_test(a_wrong_row_is_named_with_its_place_and_the_next_one_is_read),
        cmocka_unit_test(a_wrong_value_has_the_number_of_its_field),
        cmocka_unit_test(an_open_quote_reports_all_bytes_that_it_swallows),
        cmocka_unit_test(wrong_options_and_headers_are_refused),
        cmocka_unit_test(names_that_are_not_there_are_refused),
        cmocka_unit_test(an_empty_file_with_named_columns_is_empty),
        cmocka_unit_test(a_file_goes_on_where_it_stood),
        cmocka_unit_test(all_kernels_read_the_same_of_random_text),
        cmocka_unit_test(a_lack_of_memory_is_said_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
