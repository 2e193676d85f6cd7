/* Any bytes as a tf.SequenceExample, between two sound ones: by protobuf's rules and by TensorFlow's a row is parsed or
 * empty, and the rows around it are what they are without it. */
#include "io/example/sequence_reader.h"
#include <headrace/io.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 3, LISTS = 4, ROWS = 3 };

static const hr__example_feature context[CONTEXT] = {
    {.key = {"c", 1}, .dtype = HR_INT64, .count = 1},
    {.key = {"s", 1}, .dtype = HR_STRING, .count = -1},
    {.key = {"", 0}, .dtype = HR_FLOAT, .count = 2},
};
static const hr__example_feature lists[LISTS] = {
    {.key = {"q", 1}, .dtype = HR_INT64, .count = -1, .group = 2},
    {.key = {"f", 1}, .dtype = HR_FLOAT, .count = -1},
    {.key = {"w", 1}, .dtype = HR_STRING, .count = -1},
    {.key = {"", 0}, .dtype = HR_INT32, .widen = true, .count = -1},
};

typedef struct table {
    hr__sequence_rows rows;
    hr__example_column context[CONTEXT], lists[LISTS];
    hr__sequence_steps steps[LISTS];
} table;

static hr_status grow_column(hr__example_column *column, hr_dtype dtype, int64_t capacity)
{
    column->values = realloc(column->values, (size_t)capacity * hr_dtype_size(dtype));
    column->capacity = capacity;
    if (!column->values) abort();
    return HR_OK;
}

static hr_status grow_context(hr__example_rows *rows, int slot, int64_t capacity, hr_error *err)
{
    (void)err;
    return grow_column(&rows->column[slot], context[slot].dtype, capacity);
}

static hr_status grow_list(hr__example_rows *rows, int slot, int64_t capacity, hr_error *err)
{
    (void)err;
    return grow_column(&rows->column[slot], lists[slot].dtype, capacity);
}

static hr_status grow_steps(hr__sequence_rows *rows, int slot, int64_t capacity, hr_error *err)
{
    (void)err;
    hr__example_column *c = &rows->lists.column[slot];
    const bool first = c->splits == NULL;
    c->splits = realloc(c->splits, ((size_t)capacity + 1) * sizeof *c->splits);
    if (!c->splits) abort();
    if (first) c->splits[0] = 0;
    rows->steps[slot].capacity = capacity;
    return HR_OK;
}

static void open_table(table *t, bool tf_compat)
{
    memset(t, 0, sizeof *t);
    t->rows.context = (hr__example_rows){.column = t->context, .grow = grow_context};
    t->rows.lists = (hr__example_rows){.column = t->lists, .grow = grow_list};
    t->rows.steps = t->steps;
    t->rows.grow = grow_steps;
    t->rows.tf_compat = tf_compat;
    for (int i = 0; i < CONTEXT; i++) {
        if (context[i].count >= 0)
            t->context[i].values = calloc((size_t)context[i].count * ROWS, hr_dtype_size(context[i].dtype));
        t->context[i].splits = calloc(ROWS + 1, sizeof(int32_t));
    }
    for (int i = 0; i < LISTS; i++) {
        t->steps[i].splits = calloc(ROWS + 1, sizeof(int32_t));
        grow_steps(&t->rows, i, 1, NULL);
    }
}

static void close_table(table *t)
{
    for (int i = 0; i < CONTEXT; i++) {
        free(t->context[i].values);
        free(t->context[i].splits);
    }
    for (int i = 0; i < LISTS; i++) {
        free(t->lists[i].values);
        free(t->lists[i].splits);
        free(t->steps[i].splits);
    }
}

static void check(bool sound)
{
    if (!sound) abort();
}

/* Splits ascend up to the values there are; what could not be parsed is empty; the sound rows are alike. */
static void check_table(const table *t, bool parsed)
{
    for (int i = 0; i < LISTS; i++) {
        const int32_t *row = t->steps[i].splits, *step = t->lists[i].splits;
        check(row[3] == t->steps[i].count && step[row[3]] == t->lists[i].count);
        check(parsed || row[1] == row[2]);
        check(row[3] - row[2] == row[1] - row[0] && step[row[1]] - step[row[0]] == step[row[3]] - step[row[2]]);
        for (int32_t s = 0; s < row[3]; s++) {
            check(step[s] <= step[s + 1]);
            check(lists[i].group == 0 || step[s + 1] - step[s] == lists[i].group);
        }
    }
    check(parsed || t->context[1].splits[1] == t->context[1].splits[2]);
    check(((const int64_t *)t->context[0].values)[2] == 7);
}

/* Every string is read to its end. */
static void touch_strings(const table *t)
{
    const hr_view *word = t->lists[2].values;
    volatile char sum = 0;
    for (int64_t i = 0; i < t->lists[2].count; i++)
        for (int64_t k = 0; k < word[i].size; k++) sum = (char)(sum ^ word[i].data[k]);
}

/* A sound record, with 64 readable bytes after it: gives it (free). */
static hr_view sound_record(void)
{
    static const int64_t seven = 7, pair[] = {1, -2};
    static const float floats[] = {0.5f, 2};
    const hr_tensor steps[] = {hr_tensor_of(HR_INT64, HR_SHAPE(2), pair), hr_tensor_of(HR_INT64, HR_SHAPE(2), pair)};
    hr_example *ex = hr_sequence_example_new();
    hr_view bytes;
    if (!ex) abort();
    hr_example_add_int64(ex, "c", &seven, 1);
    hr_example_add_float(ex, "", floats, 2);
    hr_example_add_list(ex, (hr_view){"q", 1}, steps, 2);
    if (hr_example_bytes(ex, &bytes, NULL) != HR_OK) abort();
    char *copy = calloc(1, (size_t)bytes.size + 64);
    if (!copy) abort();
    memcpy(copy, bytes.data, (size_t)bytes.size);
    hr_example_free(ex);
    return (hr_view){copy, bytes.size};
}

static void parse_between(const hr__sequence_reader *reader, hr_view sound, hr_view record, bool tf_compat)
{
    table t;
    hr_error err;
    open_table(&t, tf_compat);
    check(hr__sequence_parse(reader, &t.rows, 0, sound, &err) == HR_OK);
    const bool parsed = hr__sequence_parse(reader, &t.rows, 1, record, &err) == HR_OK;
    check(hr__sequence_parse(reader, &t.rows, 2, sound, &err) == HR_OK);
    check_table(&t, parsed);
    touch_strings(&t);
    close_table(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr__example_parser *of_context, *of_lists;
    char *record = calloc(1, size + 64); /* so much is readable after a record */
    const hr_view sound = sound_record();
    if (!record || hr__example_parser_new(context, CONTEXT, &of_context, NULL) != HR_OK ||
        hr__example_parser_new(lists, LISTS, &of_lists, NULL) != HR_OK)
        abort();
    if (size) memcpy(record, data, size);
    const hr__sequence_reader reader = {of_context, of_lists, hr__example_order_new(of_context),
                                        hr__example_order_new(of_lists)};
    for (int mode = 0; mode < 2; mode++) parse_between(&reader, sound, (hr_view){record, (int64_t)size}, mode);
    hr__example_order_free(reader.context_order);
    hr__example_order_free(reader.lists_order);
    hr__example_parser_free(of_context);
    hr__example_parser_free(of_lists);
    free((char *)sound.data);
    free(record);
    return 0;
}
