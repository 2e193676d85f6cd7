/* parse_example beyond what every operator must keep: what becomes of each kind of feature, widening, the label, and
 * the errors with their places. The records are made by the writer. */
#include "tests/testing.h"
#include <headrace/data.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 5 };

/* Row r: an id; r values "v" at places "at", the last first; pairs by "ends"; an unknown feature. */
static void write_rows(const char *path, int64_t ids_of_row_3)
{
    hr_error err;
    hr_record_writer *writer;
    const hr_output_opts opts = {.struct_size = sizeof opts};
    hr_example *ex = hr_example_new();
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int64_t r = 0; r < ROWS; r++) {
        int64_t ids[] = {1000 + r, 0}, at[ROWS], ends[] = {1, r};
        float v[ROWS];
        hr_view bytes;
        for (int64_t i = 0; i < r; i++) {
            at[i] = 2 * (r - 1 - i);
            v[i] = (float)(10 * r + i);
        }
        hr_example_clear(ex);
        hr_example_add_int64(ex, "id", ids, r == 3 ? ids_of_row_3 : 1);
        hr_example_add_int64(ex, "at", at, r);
        hr_example_add_float(ex, "v", v, r);
        hr_example_add_int64(ex, "ends", ends, r > 0 ? 2 : 0);
        hr_example_add_bytes(ex, "unknown", &(hr_view){"text", 4}, 1);
        assert_ok(hr_example_bytes(ex, &bytes, &err), &err);
        assert_ok(hr_record_write(writer, bytes.data, (size_t)bytes.size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    hr_example_free(ex);
}

static hr_dataset *batches(void)
{
    write_rows("rows.tfrecord", 1);
    return hr_batch(hr_tfrecord("rows.tfrecord"), ROWS);
}

static const hr_element *first(hr_iterator *it)
{
    const hr_element *e = NULL;
    hr_status status = hr_next(it, &e);
    if (status != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    return e;
}

static void sequence_is_padded_to_the_longest_row_of_its_batch(void **state)
{
    (void)state;
    const float pad = -1;
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SCALAR, &pad);
    hr_iterator *it = hr_iterate(hr_parse_example(
        batches(),
        HR_PARSE_SPEC({.key = "v", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_FLOAT, .default_value = &value})));
    const hr_tensor *t = hr_get(first(it), "v");
    assert_int_equal(t->layout, HR_DENSE);
    assert_shape(t->shape, HR_SHAPE(ROWS, ROWS - 1));
    const float *v = t->data;
    assert_exactly(v[0], -1);
    assert_exactly(v[4], 10);
    assert_exactly(v[5], -1);
    assert_exactly(v[19], 43);
    hr_iterator_free(it);
}

static void sparse_feature_sorts_its_values_by_place(void **state)
{
    (void)state;
    static const char *const at[] = {"at"};
    hr_iterator *it =
        hr_iterate(hr_parse_example(batches(), HR_PARSE_SPEC({.key = "v",
                                                              .kind = HR_SPARSE_FEATURE,
                                                              .dtype = HR_FLOAT,
                                                              .shape = {1, {9}},
                                                              .name = "s",
                                                              .index_keys = at},
                                                             {.key = "v", .kind = HR_VAR_LEN, .dtype = HR_FLOAT})));
    const hr_element *e = first(it);
    const hr_tensor *s = hr_get(e, "s"), *v = hr_get(e, "v");
    assert_shape(s->shape, HR_SHAPE(ROWS, 9));
    assert_shape(v->shape, HR_SHAPE(ROWS, ROWS - 1));
    assert_int_equal(s->count, 10);
    /* Row 2 is number 1 and 2: 20 and 21 at 2 and 0. */
    assert_exactly(((float *)s->data)[1], 21);
    assert_exactly(((float *)s->data)[2], 20);
    assert_int_equal(s->indices[2 * 2 + 1], 2);
    assert_exactly(((float *)v->data)[1], 20);
    assert_exactly(((float *)v->data)[2], 21);
    hr_iterator_free(it);
}

static void sparse_place_outside_the_shape_is_an_error_of_its_record(void **state)
{
    (void)state;
    static const char *const at[] = {"at"};
    const hr_element *e;
    hr_iterator *it = hr_iterate(hr_parse_example(batches(), HR_PARSE_SPEC({.key = "v",
                                                                            .kind = HR_SPARSE_FEATURE,
                                                                            .dtype = HR_FLOAT,
                                                                            .shape = {1, {4}},
                                                                            .name = "s",
                                                                            .index_keys = at})));
    assert_int_equal(hr_get(first(it), "s")->shape.dims[0], 3); /* the rows before it */
    assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT);
    const hr_error *err = hr_iterator_error(it);
    assert_string_equal(err->kind, "example.index");
    assert_string_equal(err->feature, "s");
    assert_text_contains(err->file, "rows.tfrecord");
    assert_more(err->offset, 0);
    hr_iterator_free(it);
}

static hr_iterator *placed_twice(hr_shape shape)
{
    static const char *const at[] = {"at", "at"};
    return hr_iterate(hr_parse_example(
        hr_skip(hr_tfrecord("rows.tfrecord"), 2),
        HR_PARSE_SPEC(
            {.key = "v", .kind = HR_SPARSE_FEATURE, .dtype = HR_FLOAT, .shape = shape, .name = "s", .index_keys = at}),
        .tf_compat = true));
}

/* TensorFlow checks none of the indices. Row 2 has values at (2, 2) and (0, 0). */
static void no_place_becomes_another_one_in_tf_compat(void **state)
{
    (void)state;
    static const int64_t beyond[] = {0, 0, 2, 2};
    const hr_element *e;
    write_rows("rows.tfrecord", 1);
    hr_iterator *it = placed_twice(HR_SHAPE(2, 9));
    assert_memory_equal(hr_get(first(it), "s")->indices, beyond, sizeof beyond);
    hr_iterator_free(it);

    it = placed_twice(HR_SHAPE(9, 2));
    assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "example.index");
    hr_iterator_free(it);
}

static void partition_divides_the_values_of_each_row(void **state)
{
    (void)state;
    static const hr_partition ends[] = {{HR_ROW_LIMITS, "ends", 0}};
    hr_iterator *it = hr_iterate(hr_parse_example(
        batches(),
        HR_PARSE_SPEC(
            {.key = "v", .kind = HR_RAGGED_FEATURE, .dtype = HR_FLOAT, .partitions = ends, .partition_count = 1})));
    static const int32_t outer[] = {0, 0, 2, 4, 6, 8}, inner[] = {0, 1, 1, 2, 3, 4, 6, 7, 10};
    const hr_tensor *t = hr_get(first(it), "v");
    assert_int_equal(t->ragged_rank, 2);
    assert_memory_equal(t->splits[0], outer, sizeof outer);
    assert_memory_equal(t->splits[1], inner, sizeof inner);
    hr_iterator_free(it);
}

static void partitions_that_are_not_there_are_refused(void **state)
{
    (void)state;
    for (int count = -1; count < 2; count += 2) {
        const hr_feature feature = {.key = "v", .kind = HR_RAGGED_FEATURE, .dtype = HR_FLOAT, .partition_count = count};
        hr_dataset *ds = hr_parse_example(hr_tfrecord("x"), (&(hr_parse_spec){&feature, 1}));
        assert_status(hr_dataset_error(ds)->code, HR_INVALID_ARGUMENT);
        hr_dataset_unref(ds);
    }
}

/* One partition of "v", as TensorFlow reads it. Takes `ds`. */
static hr_dataset *divided_in_tf_compat(hr_dataset *ds, hr_dtype dtype, const hr_partition *by, bool validate)
{
    return hr_parse_example(ds,
                            HR_PARSE_SPEC({.key = "v",
                                           .kind = HR_RAGGED_FEATURE,
                                           .dtype = dtype,
                                           .partitions = by,
                                           .partition_count = 1,
                                           .validate = validate}),
                            .tf_compat = true);
}

static void assert_refuses_partition(hr_iterator *it)
{
    const hr_element *e;
    assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "example.partition");
}

/* TensorFlow lets partitions of other kinds slide. Here are 8 numbers for 10 values. */
static void row_ids_are_as_many_as_values_even_in_tf_compat(void **state)
{
    (void)state;
    static const hr_partition ids[] = {{HR_VALUE_ROWIDS, "ends", 0}};
    hr_iterator *it = hr_iterate(divided_in_tf_compat(batches(), HR_FLOAT, ids, false));
    assert_refuses_partition(it);
    hr_iterator_free(it);
}

/* Row 1 has 2 row ids for 1 value. */
static void batches_after_a_bad_partition_are_not_waited_for(void **state)
{
    (void)state;
    static const hr_partition ids[] = {{HR_VALUE_ROWIDS, "ends", 0}};
    write_rows("rows.tfrecord", 1);
    hr_dataset *ds = hr_batch(hr_tfrecord("rows.tfrecord"), 1);
    hr_iterator *it = hr_iterate(divided_in_tf_compat(ds, HR_FLOAT, ids, false), .unit_rows = ROWS);
    assert_int_equal(hr_get(first(it), "v")->shape.dims[0], 1);
    assert_refuses_partition(it);
    assert_int_equal(hr_iterator_error(it)->record, 1);
    hr_iterator_free(it);
}

typedef struct divided {
    hr_partition_kind kind;
    int64_t values, part[5];
    int parts;
    int rows; /* what TensorFlow 2.15.1 makes of it in Dataset.map with parse_single_example; -1: it refuses */
    int32_t splits[5];
} divided;

static void write_divided(const divided *d)
{
    hr_record_writer *w;
    hr_error err;
    hr_view record;
    const int64_t values[] = {1, 2, 3};
    hr_example *e = hr_example_new();
    hr_example_add_int64(e, "v", values, d->values);
    if (d->parts >= 0) hr_example_add_int64(e, "p", d->part, d->parts);
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    assert_ok(hr_record_writer_open("part.tfrecord", NULL, &w, &err), &err);
    assert_ok(hr_record_write(w, record.data, (size_t)record.size, &err), &err);
    assert_ok(hr_record_writer_commit(w, &err), &err);
    hr_example_free(e);
}

static void is_divided(const divided *d, bool validate)
{
    const hr_element *e;
    const hr_partition p[] = {{d->kind, "p", 0}};
    write_divided(d);
    hr_iterator *it = hr_iterate(divided_in_tf_compat(hr_tfrecord("part.tfrecord"), HR_INT64, p, validate));
    const hr_status st = hr_next(it, &e);
    assert_int_equal(st, d->rows < 0 ? HR_INVALID_ARGUMENT : HR_OK);
    if (d->rows < 0) assert_string_equal(hr_iterator_error(it)->kind, "example.partition");
    const hr_tensor *t = d->rows < 0 ? NULL : hr_get(e, "v");
    if (t) assert_int_equal(t->ragged_rank, 1);
    if (t) assert_memory_equal(t->splits[0], d->splits, ((size_t)d->rows + 1) * sizeof *d->splits);
    hr_iterator_free(it);
}

static void one_record_is_divided_as_tensorflow_does(void **state)
{
    (void)state;
    static const divided cases[] = {
        {HR_ROW_SPLITS, 3, {0, 1, 3}, 3, 2, {0, 1, 3}},
        {HR_ROW_SPLITS, 3, {0, 1}, 2, -1, {0}},
        {HR_ROW_SPLITS, 3, {0, 5}, 2, -1, {0}},
        {HR_ROW_SPLITS, 3, {1, 3}, 2, -1, {0}},
        {HR_ROW_SPLITS, 3, {0, 2, 1, 3}, 4, -1, {0}},
        {HR_ROW_SPLITS, 3, {0}, 0, -1, {0}},
        {HR_ROW_SPLITS, 0, {0}, 0, -1, {0}},
        {HR_ROW_SPLITS, 0, {0}, -1, -1, {0}},
        {HR_ROW_SPLITS, 0, {0}, 1, 0, {0}},
        {HR_ROW_SPLITS, 3, {0, -1, 3}, 3, -1, {0}},
        {HR_ROW_SPLITS, 3, {0, 4, 3}, 3, -1, {0}},
        {HR_ROW_LENGTHS, 3, {1, 2}, 2, 2, {0, 1, 3}},
        {HR_ROW_LENGTHS, 3, {1, 1}, 2, -1, {0}},
        {HR_ROW_LENGTHS, 3, {2, 2}, 2, -1, {0}},
        {HR_ROW_LENGTHS, 3, {-1, 4}, 2, -1, {0}},
        {HR_ROW_LENGTHS, 3, {0}, 0, -1, {0}},
        {HR_ROW_LENGTHS, 0, {0}, 1, 1, {0, 0}},
        {HR_ROW_LENGTHS, 0, {0}, -1, 0, {0}},
        {HR_ROW_STARTS, 3, {0, 1}, 2, 2, {0, 1, 3}},
        {HR_ROW_STARTS, 3, {1}, 1, -1, {0}},
        {HR_ROW_STARTS, 3, {0, 5}, 2, -1, {0}},
        {HR_ROW_STARTS, 3, {0, 2, 1}, 3, -1, {0}},
        {HR_ROW_STARTS, 3, {0}, 0, -1, {0}},
        {HR_ROW_STARTS, 3, {-1}, 1, -1, {0}},
        {HR_ROW_STARTS, 0, {0}, -1, 0, {0}},
        {HR_ROW_LIMITS, 3, {1, 3}, 2, 2, {0, 1, 3}},
        {HR_ROW_LIMITS, 3, {1}, 1, -1, {0}},
        {HR_ROW_LIMITS, 3, {1, 5}, 2, -1, {0}},
        {HR_ROW_LIMITS, 3, {2, 1, 3}, 3, -1, {0}},
        {HR_ROW_LIMITS, 3, {-1, 3}, 2, -1, {0}},
        {HR_ROW_LIMITS, 0, {0}, -1, 0, {0}},
        {HR_VALUE_ROWIDS, 3, {0, 0, 1}, 3, 2, {0, 2, 3}},
        {HR_VALUE_ROWIDS, 3, {0, 0}, 2, -1, {0}},
        {HR_VALUE_ROWIDS, 3, {0, 0, 1, 1}, 4, -1, {0}},
        {HR_VALUE_ROWIDS, 3, {1, 0, 0}, 3, -1, {0}},
        {HR_VALUE_ROWIDS, 3, {-1, 0, 0}, 3, -1, {0}},
        {HR_VALUE_ROWIDS, 3, {0, 3, 3}, 3, 4, {0, 1, 1, 1, 3}},
        {HR_VALUE_ROWIDS, 0, {0}, -1, 0, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int validate = 0; validate < 2; validate++) is_divided(&cases[i], validate);
}

static void numbers_too_large_for_splits_are_refused(void **state)
{
    (void)state;
    static const divided far[] = {{HR_ROW_LENGTHS, 3, {1, INT64_MAX, 2}, 3, 0, {0}},
                                  {HR_ROW_LIMITS, 3, {(INT64_C(1) << 32) + 1, 3}, 2, 0, {0}},
                                  {HR_ROW_STARTS, 3, {0, INT64_MIN}, 2, 0, {0}}};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        const hr_partition p[] = {{far[i].kind, "p", 0}};
        write_divided(&far[i]);
        hr_dataset *ds = hr_batch(hr_tfrecord("part.tfrecord"), 1);
        hr_iterator *it = hr_iterate(divided_in_tf_compat(ds, HR_INT64, p, false));
        assert_refuses_partition(it);
        hr_iterator_free(it);
    }
}

/* Of a batch TensorFlow lets pass what it is not asked to validate: a value in front of the first row, row ids that go
 * down. */
static void a_batch_is_validated_where_that_is_asked_for(void **state)
{
    (void)state;
    static const divided odd[] = {{HR_ROW_STARTS, 3, {1, 2}, 2, 0, {0}}, {HR_VALUE_ROWIDS, 3, {0, 1, 0}, 3, 0, {0}}};
    const hr_element *e;
    for (int i = 0; i < 4; i++) {
        const divided *d = &odd[i / 2];
        const bool validate = i % 2;
        const hr_partition p[] = {{d->kind, "p", 0}};
        write_divided(d);
        hr_dataset *ds = hr_batch(hr_tfrecord("part.tfrecord"), 1);
        hr_iterator *it = hr_iterate(divided_in_tf_compat(ds, HR_INT64, p, validate));
        assert_int_equal(hr_next(it, &e), validate ? HR_INVALID_ARGUMENT : HR_OK);
        hr_iterator_free(it);
    }
}

/* Beside strings, splits lie after the values: aligned, whatever size a value has. */
static void partition_divides_values_of_one_byte(void **state)
{
    (void)state;
    static const hr_partition p[] = {{HR_ROW_LENGTHS, "p", 0}};
    static const divided three = {HR_ROW_LENGTHS, 3, {1, 2}, 2, 2, {0, 1, 3}};
    write_divided(&three);
    hr_iterator *it =
        hr_iterate(hr_parse_example(hr_batch(hr_tfrecord("part.tfrecord"), 1),
                                    HR_PARSE_SPEC({.key = "v",
                                                   .kind = HR_RAGGED_FEATURE,
                                                   .dtype = HR_UINT8,
                                                   .widen = true,
                                                   .partitions = p,
                                                   .partition_count = 1},
                                                  {.key = "text", .kind = HR_VAR_LEN, .dtype = HR_STRING})));
    const hr_tensor *t = hr_get(first(it), "v");
    assert_int_equal((uintptr_t)t->splits[1] % sizeof(int32_t), 0);
    assert_memory_equal(t->splits[1], three.splits, 3 * sizeof *three.splits);
    assert_memory_equal(t->data, "\1\2\3", 3);
    hr_iterator_free(it);
}

/* TensorFlow holds the parts of a feature against each other over a batch: of one whose parts do not fit no row is
 * good. */
static void a_policy_leaves_out_whole_batches_in_tf_compat(void **state)
{
    (void)state;
    static const char *const at[] = {"ends"};
    static const hr_partition ids[] = {{HR_VALUE_ROWIDS, "ends", 0}}, pairs[] = {{HR_UNIFORM_ROW_LENGTH, NULL, 4}};
    const hr_feature odd[] = {{.kind = HR_SPARSE_FEATURE, .shape = {1, {9}}, .index_keys = at},
                              {.kind = HR_RAGGED_FEATURE, .partitions = ids, .partition_count = 1},
                              {.kind = HR_RAGGED_FEATURE, .partitions = pairs, .partition_count = 1}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const hr_element *e;
        hr_feature f = odd[i];
        f.key = "v";
        f.name = "odd";
        f.dtype = HR_FLOAT;
        hr_iterator *it = hr_iterate(
            hr_parse_example(batches(), (&(hr_parse_spec){&f, 1}), .tf_compat = true, .policy = {.on_error = HR_SKIP}));
        assert_status(hr_next(it, &e), HR_END);
        hr_iterator_free(it);
    }
}

/* Rows of pairs: the record in front has one value too many. */
static void a_row_that_is_left_out_takes_its_values_with_it(void **state)
{
    (void)state;
    static const hr_partition pairs[] = {{HR_ROW_LIMITS, "ends", 0}, {HR_UNIFORM_ROW_LENGTH, NULL, 2}};
    static const int64_t counts[] = {3, 4, 1, 2}, limits[][2] = {{1, 1}, {1, 2}, {0, 0}, {0, 1}};
    static const int64_t values[][4] = {{7, 7, 7}, {1, 2, 3, 4}, {7}, {5, 6}};
    static const int32_t outer[] = {0, 2, 4}, inner[] = {0, 1, 2, 2, 3};
    static const int64_t good[] = {1, 2, 3, 4, 5, 6};
    hr_record_writer *w;
    hr_error err;
    hr_view record;
    hr_example *e = hr_example_new();
    assert_ok(hr_record_writer_open("pairs.tfrecord", NULL, &w, &err), &err);
    for (int r = 0; r < 4; r++) {
        hr_example_clear(e);
        hr_example_add_int64(e, "v", values[r], counts[r]);
        hr_example_add_int64(e, "ends", limits[r], 2);
        assert_ok(hr_example_bytes(e, &record, &err), &err);
        assert_ok(hr_record_write(w, record.data, (size_t)record.size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(w, &err), &err);
    hr_example_free(e);
    hr_iterator *it = hr_iterate(hr_parse_example(
        hr_batch(hr_tfrecord("pairs.tfrecord"), 4),
        HR_PARSE_SPEC(
            {.key = "v", .kind = HR_RAGGED_FEATURE, .dtype = HR_INT64, .partitions = pairs, .partition_count = 2}),
        .policy = {.on_error = HR_SKIP}));
    const hr_tensor *t = hr_get(first(it), "v");
    assert_int_equal(t->shape.dims[0], 2);
    assert_memory_equal(t->splits[0], outer, sizeof outer);
    assert_memory_equal(t->splits[1], inner, sizeof inner);
    assert_int_equal(t->count, 6);
    assert_memory_equal(t->data, good, sizeof good);
    hr_iterator_free(it);
}

static void ragged_row_alone_is_a_vector(void **state)
{
    (void)state;
    const hr_element *e;
    write_rows("rows.tfrecord", 1);
    hr_iterator *it =
        hr_iterate(hr_parse_example(hr_skip(hr_tfrecord("rows.tfrecord"), 4),
                                    HR_PARSE_SPEC({.key = "v", .kind = HR_RAGGED_FEATURE, .dtype = HR_FLOAT})));
    const hr_tensor *t = hr_get(first(it), "v");
    assert_int_equal(t->layout, HR_DENSE);
    assert_shape(t->shape, HR_SHAPE(4));
    assert_exactly(((float *)t->data)[0], 40);
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void int64_becomes_float_where_the_feature_widens(void **state)
{
    (void)state;
    const hr_feature wide = {.key = "id", .dtype = HR_FLOAT, .widen = true};
    const hr_parse_spec spec = {&wide, 1};
    hr_iterator *it = hr_iterate(hr_parse_example(batches(), &spec));
    assert_exactly(((float *)hr_get(first(it), "id")->data)[4], 1004);
    hr_iterator_free(it);

    const hr_element *e;
    it = hr_iterate(hr_parse_example(batches(), &spec, .tf_compat = true));
    assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT);
    hr_iterator_free(it);
}

/* Ids are 1000 to 1004: what they become as `dtype`, or the error. */
static void assert_narrowed(hr_dtype dtype, bool fits)
{
    const hr_element *e;
    hr_iterator *it =
        hr_iterate(hr_parse_example(batches(), HR_PARSE_SPEC({.key = "id", .dtype = dtype, .widen = true})));
    const hr_status status = hr_next(it, &e);
    if (fits) {
        const char *last = (const char *)hr_get(e, "id")->data + 4 * hr_dtype_size(dtype);
        int64_t value = 0;
        memcpy(&value, last, hr_dtype_size(dtype));
        assert_int_equal(value, 1004);
    } else {
        const hr_error *err = hr_iterator_error(it);
        assert_status(status, HR_INVALID_ARGUMENT);
        assert_string_equal(err->kind, "example.range");
        assert_string_equal(err->feature, "id");
        assert_int_equal(err->record, 0);
        assert_text_contains(err->text, hr_dtype_name(dtype));
        assert_text_contains(err->text, "found 1000");
    }
    hr_iterator_free(it);
}

static void int64_becomes_a_smaller_integer_where_it_fits(void **state)
{
    (void)state;
    static const hr_dtype wide[] = {HR_INT32, HR_INT16, HR_UINT64, HR_UINT32, HR_UINT16},
                          narrow[] = {HR_INT8, HR_UINT8, HR_BOOL};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) assert_narrowed(wide[i], true);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) assert_narrowed(narrow[i], false);
}

static void only_numbers_are_widened_and_only_on_request(void **state)
{
    (void)state;
    static const hr_feature wrong[] = {{.key = "id", .dtype = HR_UINT8},
                                       {.key = "id", .dtype = HR_HALF, .widen = true}};
    for (int i = 0; i < 2; i++) {
        const hr_parse_spec spec = {&wrong[i], 1};
        hr_dataset *ds = hr_parse_example(batches(), &spec);
        assert_string_equal(hr_dataset_error(ds)->kind, "example.type");
        if (i == 0)
            assert_text_contains(hr_dataset_error(ds)->text, ".widen");
        else
            assert_text_lacks(hr_dataset_error(ds)->text, ".widen");
        hr_dataset_unref(ds);
    }
}

static void label_is_marked_in_the_schema(void **state)
{
    (void)state;
    hr_dataset *ds =
        hr_parse_example(batches(), HR_PARSE_SPEC({.key = "id", .dtype = HR_INT64, .name = "late"}), .label = "late");
    assert_null(hr_dataset_error(ds));
    assert_string_equal(hr_dataset_schema(ds)->field[0].name, "late");
    assert_true(hr_dataset_schema(ds)->field[0].label);
    hr_dataset_unref(ds);

    ds = hr_parse_example(batches(), HR_PARSE_SPEC({.key = "id", .dtype = HR_INT64}), .label = "lat");
    assert_string_equal(hr_dataset_error(ds)->kind, "parse_example.spec");
    hr_dataset_unref(ds);
}

static void too_many_values_name_file_offset_and_feature(void **state)
{
    (void)state;
    const hr_element *e;
    write_rows("rows.tfrecord", 2);
    hr_iterator *it = hr_iterate(
        hr_parse_example(hr_batch(hr_tfrecord("rows.tfrecord"), 2), HR_PARSE_SPEC({.key = "id", .dtype = HR_INT64})));
    assert_int_equal(hr_get(first(it), "id")->count, 2);
    assert_int_equal(hr_get(first(it), "id")->count, 1);
    assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT);
    const hr_error *err = hr_iterator_error(it);
    assert_string_equal(err->kind, "example.count");
    assert_string_equal(err->feature, "id");
    assert_int_equal(err->record, 3);
    assert_text_contains(err->text, "found 2");
    assert_text_contains(err->text, "rows.tfrecord");
    assert_text_contains(err->text, ": record 3: feature 'id': expected");
    hr_iterator_free(it);
}

static void records_must_be_named_where_there_are_several_strings(void **state)
{
    (void)state;
    const hr_view one = {"", 0};
    const hr_tensor t[] = {hr_tensor_of(HR_STRING, HR_SHAPE(1), &one), hr_tensor_of(HR_STRING, HR_SHAPE(1), &one)};
    hr_dataset *ds = hr_parse_example(hr_from_tensor_slices(t, NULL, 2),
                                      HR_PARSE_SPEC({.key = "id", .kind = HR_VAR_LEN, .dtype = HR_INT64}));
    assert_string_equal(hr_dataset_error(ds)->kind, "parse_example.source");
    hr_dataset_unref(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_is_padded_to_the_longest_row_of_its_batch),
        cmocka_unit_test(sparse_feature_sorts_its_values_by_place),
        cmocka_unit_test(sparse_place_outside_the_shape_is_an_error_of_its_record),
        cmocka_unit_test(no_place_becomes_another_one_in_tf_compat),
        cmocka_unit_test(partition_divides_the_values_of_each_row),
        cmocka_unit_test(row_ids_are_as_many_as_values_even_in_tf_compat),
        cmocka_unit_test(batches_after_a_bad_partition_are_not_waited_for),
        cmocka_unit_test(one_record_is_divided_as_tensorflow_does),
        cmocka_unit_test(a_batch_is_validated_where_that_is_asked_for),
        cmocka_unit_test(numbers_too_large_for_splits_are_refused),
        cmocka_unit_test(a_policy_leaves_out_whole_batches_in_tf_compat),
        cmocka_unit_test(a_row_that_is_left_out_takes_its_values_with_it),
        cmocka_unit_test(partition_divides_values_of_one_byte),
        cmocka_unit_test(ragged_row_alone_is_a_vector),
        cmocka_unit_test(int64_becomes_float_where_the_feature_widens),
        cmocka_unit_test(int64_becomes_a_smaller_integer_where_it_fits),
        cmocka_unit_test(only_numbers_are_widened_and_only_on_request),
        cmocka_unit_test(label_is_marked_in_the_schema),
        cmocka_unit_test(partitions_that_are_not_there_are_refused),
        cmocka_unit_test(too_many_values_name_file_offset_and_feature),
        cmocka_unit_test(records_must_be_named_where_there_are_several_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
