/* fixed_length_records: between header and footer, of plain and compressed files; what is left over is an error. */
#include "tests/data/strings.h"

enum { RECORDS = 500 };

static int write_records(void **state)
{
    (void)state;
    static char text[8 * RECORDS + 8];
    size_t size = (size_t)sprintf(text, "HEAD");
    for (int i = 0; i < RECORDS; i++) size += (size_t)sprintf(text + size, "%05d", i);
    size += (size_t)sprintf(text + size, "FT");
    write_file("a.bin", text, size);
    write_gzip("b.bin.gz", text, size);
    return 0;
}

HR_SAMPLE(fixed_length_records)
{
    return hr_batch(hr_shuffle(hr_fixed_length_records("?.bin*", 5, .header_bytes = 4, .footer_bytes = 2), 30), 7);
}

static void records_lie_between_header_and_footer(void **state)
{
    (void)state;
    write_file("f", "HHabcdefgF", 10);
    write_gzip("f.gz", "HHabcdefgF", 10);
    for (int64_t rows = 0; rows < 4; rows++) {
        const way w = {.unit_rows = rows};
        assert_strings(hr_fixed_length_records("f", 7, .header_bytes = 2, .footer_bytes = 1), w, "[abcdefg]");
        assert_strings(hr_fixed_length_records("f.gz", 2, .header_bytes = 2, .footer_bytes = 2), w, "[ab][cd][ef]");
        assert_strings(hr_fixed_length_records("f", 2), w, "[HH][ab][cd][ef][gF]");
        assert_strings(hr_fixed_length_records("f\nf.gz", 9, .header_bytes = 1), w, "[HabcdefgF][HabcdefgF]");
    }
    write_file("empty", "HF", 2);
    assert_strings(hr_fixed_length_records("empty", 3, .header_bytes = 1, .footer_bytes = 1), (way){0}, "");
}

static void bytes_left_over_are_an_error(void **state)
{
    (void)state;
    write_file("odd", "abcdefgh", 8);
    write_gzip("odd.gz", "abcdefgh", 8);
    assert_strings(hr_fixed_length_records("odd", 3), (way){0}, "fixed.size");
    assert_strings(hr_fixed_length_records("odd.gz", 3), (way){0}, "[abc][def]fixed.size");
    assert_strings(hr_fixed_length_records("odd", 3, .header_bytes = 9), (way){0}, "fixed.size");
    assert_strings(hr_fixed_length_records("odd.gz", 3, .header_bytes = 9), (way){0}, "fixed.size");
    assert_strings(hr_fixed_length_records("odd.gz", 3, .footer_bytes = 9), (way){0}, "fixed.size");
    assert_fails(hr_fixed_length_records("odd", 0), HR_INVALID_ARGUMENT, "fixed.record_bytes");
    assert_fails(hr_fixed_length_records("odd", 1, .footer_bytes = -1), HR_INVALID_ARGUMENT, "fixed.record_bytes");
}

static void a_pipe_has_records_too(void **state)
{
    (void)state;
    const int saved = give_input("HabcdF", 6);
    assert_strings(hr_fixed_length_records("-", 2, .header_bytes = 1, .footer_bytes = 1), (way){0}, "[ab][cd]");
    take_input_back(saved);
}

HR_ARGUMENTS(fixed_length_records, hr_fixed_length_records("?.bin*", 5, .header_bytes = 4, .footer_bytes = 2),
             hr_fixed_length_records("?.bin*", 1, .header_bytes = 4, .footer_bytes = 2),
             hr_fixed_length_records("?.bin*", 5, .header_bytes = 1, .footer_bytes = 2),
             hr_fixed_length_records("?.bin*", 5, .header_bytes = 4, .footer_bytes = 7));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(fixed_length_records),
        HR_CONFORMANCE_OF_ARGUMENTS(fixed_length_records),
        cmocka_unit_test(records_lie_between_header_and_footer),
        cmocka_unit_test(bytes_left_over_are_an_error),
        cmocka_unit_test(a_pipe_has_records_too),
    };
    return cmocka_run_group_tests(tests, write_records, NULL);
}
