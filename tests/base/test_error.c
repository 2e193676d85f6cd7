/* Errors: what they say of themselves, and what outer layers add. */
#include "tests/testing.h"
#include <string.h>

static void an_error_says_what_and_leaves_places_unknown(void **state)
{
    (void)state;
    hr_error err;
    memset(&err, 0x55, sizeof err);
    assert_status(hr_fail(&err, HR_DATA_LOSS, "tfrecord.data_crc", "expected %d, got %d", 1, 2), HR_DATA_LOSS);
    assert_status(err.code, HR_DATA_LOSS);
    assert_string_equal(err.kind, "tfrecord.data_crc");
    assert_string_equal(err.text, "expected 1, got 2");
    assert_int_equal(err.record, -1);
    assert_int_equal(err.line, -1);
    assert_int_equal(err.offset, -1);
    assert_int_equal(err.length, -1);
    assert_int_equal(err.compressed_offset, -1);
    assert_int_equal(err.column, -1);
    assert_string_equal(err.file, "");
    assert_string_equal(err.feature, "");
}

static void nobody_needs_to_ask_for_the_error(void **state)
{
    (void)state;
    assert_status(hr_fail(NULL, HR_NOT_FOUND, "file", "gone"), HR_NOT_FOUND);
    assert_status(hr_no_memory(NULL, "a thing"), HR_RESOURCE_EXHAUSTED);
    hr_error_prefix(NULL, "here: ");
    hr_error_file(NULL, "file");
}

static void outer_layers_put_their_place_in_front(void **state)
{
    (void)state;
    hr_error err;
    hr_fail(&err, HR_DATA_LOSS, "k", "bad");
    hr_error_prefix(&err, "record %d: ", 7);
    hr_error_prefix(&err, "a.tfrecord: ");
    assert_string_equal(err.text, "a.tfrecord: record 7: bad");
    hr_error_file(&err, "first");
    hr_error_file(&err, "second");
    assert_string_equal(err.file, "first");
}

static void long_texts_are_cut_and_stay_terminated(void **state)
{
    (void)state;
    hr_error err;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hr_fail(&err, HR_UNKNOWN, "k", "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    hr_error_prefix(&err, "here: ");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_memory_equal(err.text, "here: xxx", 9);
    hr_error_prefix(&err, "%s", text);
    assert_memory_equal(err.text, "here: xxx", 9);
    hr_error_file(&err, text);
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
}

static void classes_have_tensorflows_names(void **state)
{
    (void)state;
    assert_string_equal(hr_status_name(HR_OK), "OK");
    assert_string_equal(hr_status_name(HR_END), "End");
    assert_string_equal(hr_status_name(HR_INVALID_ARGUMENT), "InvalidArgument");
    assert_string_equal(hr_status_name(HR_DATA_LOSS), "DataLoss");
    assert_string_equal(hr_status_name((hr_status)-99), "Unknown");
    assert_string_equal(hr_status_name((hr_status)99), "Unknown");
}

static void keep(hr_level level, const char *text, void *user)
{
    char *kept = user;
    kept[0] = (char)('0' + level);
    strcpy(kept + 1, text);
}

static void messages_go_to_the_callback_and_nowhere_else(void **state)
{
    (void)state;
    char kept[100] = "";
    hr_log_message(HR_WARNING, "nobody hears");
    hr_set_log(keep, kept);
    hr_log_message(HR_WARNING, "%d rows skipped", 3);
    hr_set_log(NULL, NULL);
    hr_log_message(HR_INFO, "nobody hears");
    assert_string_equal(kept, "23 rows skipped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_says_what_and_leaves_places_unknown),
        cmocka_unit_test(nobody_needs_to_ask_for_the_error),
        cmocka_unit_test(outer_layers_put_their_place_in_front),
        cmocka_unit_test(long_texts_are_cut_and_stay_terminated),
        cmocka_unit_test(classes_have_tensorflows_names),
        cmocka_unit_test(messages_go_to_the_callback_and_nowhere_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
