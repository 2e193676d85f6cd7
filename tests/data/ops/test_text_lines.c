/* text_lines: lines of any length, with any end, of plain and compressed files and of a pipe, which is read but
 * once. */
#include "tests/data/strings.h"
#include <stdlib.h>

enum { LINES = 300, LONG = 200000 };

static int write_texts(void **state)
{
    (void)state;
    static char text[64 * LINES], line[LONG + 2];
    size_t size = 0;
    for (int i = 0; i < LINES; i++) size += (size_t)sprintf(text + size, "line %d%s", i, i % 3 ? "\n" : "\r\n");
    write_file("a.txt", text, size);
    write_gzip("b.txt.gz", text, size);
    memset(line, 'x', LONG);
    line[LONG] = '\n';
    line[LONG + 1] = 'y';
    write_file("long.txt", line, LONG + 2);
    return 0;
}

HR_SAMPLE(text_lines) { return hr_batch(hr_shuffle(hr_text_lines("*.txt*"), 30), 7); }
HR_SAMPLE(text_lines_of_names)
{
    return hr_batch(hr_interleave(hr_list_files("?.txt*"), hr_text_lines_fn, NULL, .cycle_length = 2), 5);
}

static void lines_lose_their_ends_and_nothing_else(void **state)
{
    (void)state;
    static const char text[] = "a\n\nb\r\n\r\nc\rd\r\r\n e \nlast\r";
    write_file("ends", text, sizeof text - 1);
    for (int64_t rows = 1; rows < 5; rows++)
        assert_strings(hr_text_lines("ends"), (way){.unit_rows = rows}, "[a][][b][][c\rd\r][ e ][last\r]");
    write_file("none", "", 0);
    assert_strings(hr_text_lines("none\nends\nnone"), (way){0}, "[a][][b][][c\rd\r][ e ][last\r]");
}

static void every_cr_goes_in_tf_compat(void **state)
{
    (void)state;
    write_file("crs", "a\rb\r\n\r\nc\r", 9);
    assert_strings(hr_options(hr_text_lines("crs"), .tf_compat = true), (way){0}, "[ab][][c]");
    write_file("only-crs", "a\n\r\r", 4);
    for (int64_t rows = 1; rows < 3; rows++) {
        const way by = {.unit_rows = rows};
        assert_strings(hr_options(hr_text_lines("only-crs\ncrs"), .tf_compat = true), by, "[a][ab][][c]");
    }
    assert_strings(hr_text_lines("only-crs"), (way){0}, "[a][\r\r]");
}

static void a_line_longer_than_a_piece_comes_whole(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_text_lines("long.txt"), (way){.unit_rows = 1});
    assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(((const hr_view *)hr_get(e, "value")->data)->size, LONG);
    assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(((const hr_view *)hr_get(e, "value")->data)->size, 1);
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void damage_comes_after_the_lines_before_it(void **state)
{
    (void)state;
    size_t size;
    static run got;
    char *bytes = read_whole_file("b.txt.gz", &size);
    write_file("cut.gz", bytes, size - 8);
    free(bytes);
    run_all(&got, hr_text_lines("cut.gz"), (way){.workers = 2});
    assert_status(got.end, HR_DATA_LOSS);
    assert_int_equal(got.count, LINES);
    assert_fails(hr_text_lines("not-there"), HR_NOT_FOUND, "file.open");
    assert_fails(hr_text_lines(NULL), HR_INVALID_ARGUMENT, "source.pattern");
}

static void a_pipe_is_read_but_once(void **state)
{
    (void)state;
    int saved = give_input("a\nb\n", 4);
    assert_strings(hr_text_lines("-"), (way){0}, "[a][b]");
    take_input_back(saved);
    saved = give_input("a\nb\n", 4);
    assert_strings(hr_repeat(hr_text_lines("-"), .count = HR_I64(2)), (way){0}, "[a][b]source.once");
    take_input_back(saved);
}

static void a_pipe_is_not_gone_on_with(void **state)
{
    (void)state;
    const hr_element *e;
    hr_error err;
    void *bytes;
    size_t size;
    int saved = give_input("a\nb\nc\n", 6);
    hr_iterator *it = iterate(hr_text_lines("-"), (way){.unit_rows = 1});
    assert_status(hr_next(it, &e), HR_OK);
    assert_ok(hr_iterator_save(it, &bytes, &size, &err), &err);
    hr_iterator_free(it);
    take_input_back(saved);
    saved = give_input("a\nb\nc\n", 6);
    assert_strings(hr_text_lines("-"), (way){.state = bytes, .state_size = size}, "source.once");
    take_input_back(saved);
    hr_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(text_lines),
        HR_CONFORMANCE(text_lines_of_names),
        cmocka_unit_test(lines_lose_their_ends_and_nothing_else),
        cmocka_unit_test(every_cr_goes_in_tf_compat),
        cmocka_unit_test(a_line_longer_than_a_piece_comes_whole),
        cmocka_unit_test(damage_comes_after_the_lines_before_it),
        cmocka_unit_test(a_pipe_is_read_but_once),
        cmocka_unit_test(a_pipe_is_not_gone_on_with),
    };
    return cmocka_run_group_tests(tests, write_texts, NULL);
}
