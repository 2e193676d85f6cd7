/* Any bytes as a tf.Example: the fast path, its portable twin and the walk that judges must agree, by protobuf's rules
 * and by TensorFlow's. */
#include "base/cpu.h"
#include "tests/io/example/example_table.h"

enum { FEATURES = 7 };

static const hr__example_feature features[FEATURES] = {
    {.key = {"a", 1}, .dtype = HR_INT64, .count = 1},
    {.key = {"b", 1}, .dtype = HR_STRING, .count = 1},
    {.key = {"c", 1}, .dtype = HR_FLOAT, .count = 2},
    {.key = {"d", 1}, .dtype = HR_INT64, .count = -1, .group = 2},
    {.key = {"e", 1}, .dtype = HR_STRING, .count = -1},
    {.key = {"", 0}, .dtype = HR_FLOAT, .widen = true, .count = -1},
    {.key = {"a_key_that_needs_more_than_a_block", 34}, .dtype = HR_INT32, .widen = true, .count = 1},
};

static hr_status parse(table *t, const hr__example_parser *parser, hr_view record, bool tf_compat, bool generic,
                       hr_error *err)
{
    hr_status status = HR_OK;
    hr__example_order *order = hr__example_order_new(parser);
    table_open(t, features, FEATURES);
    t->rows.tf_compat = tf_compat;
    t->rows.generic_only = generic;
    /* Twice, so that the second time something has been learned. */
    for (int64_t row = 0; row < 2; row++) status = hr__example_parse(parser, order, &t->rows, row, record, err);
    hr__example_order_free(order);
    return status;
}

static void compare(const hr__example_parser *parser, hr_view record, bool tf_compat, unsigned cpu)
{
    table fast, judge;
    hr_error a, b;
    hr__cpu_limit(cpu);
    hr_status x = parse(&fast, parser, record, tf_compat, false, &a);
    hr_status y = parse(&judge, parser, record, tf_compat, true, &b);
    if (x != y || !same_row(&fast, &judge, 0) || !same_row(&fast, &judge, 1)) abort();
    if (x != HR_OK && strcmp(a.text, b.text) != 0) abort();
    table_close(&fast);
    table_close(&judge);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr__example_parser *parser;
    char *record = calloc(1, size + 64); /* so much is readable after a record */
    if (!record || hr__example_parser_new(features, FEATURES, &parser, NULL) != HR_OK) abort();
    if (size) memcpy(record, data, size);
    for (int mode = 0; mode < 4; mode++)
        compare(parser, (hr_view){record, (int64_t)size}, mode & 1, mode & 2 ? ~0u : 0);
    hr__example_parser_free(parser);
    free(record);
    return 0;
}
