/* One batch through columns, in memory of its own; rows that come out of a pipeline. */
#include "tests/feature_columns/columns_testing.h"

#include <stdlib.h>
#include <string.h>

static void *piece(void *user, size_t bytes)
{
    outcome *o = user;
    assert_less(o->pieces, 256);
    return o->memory[o->pieces++] = calloc(1, bytes);
}

static int64_t *ids(void *user, int output, int64_t n)
{
    (void)output;
    return piece(user, (size_t)n * sizeof(int64_t));
}

static int32_t *splits(void *user, int output)
{
    (void)output;
    return piece(user, 4096 * sizeof(int32_t));
}

static float *floats(void *user, int output, int64_t n)
{
    (void)output;
    return piece(user, (size_t)n * sizeof(float));
}

static void fail_row(void *user, int64_t row, const hr_error *err)
{
    outcome *o = user;
    if (o->failed_rows++ == 0) {
        o->failed_row = row;
        o->err = *err;
    }
}

static hr_status run(outcome *o, const feature *features, int count)
{
    hr_column_values raw[16] = {{0}};
    for (int i = 0; i < hr__transformer_raws(o->transformer); i++) {
        for (int f = 0; f < count; f++)
            if (strcmp(features[f].name, hr__transformer_raw(o->transformer, i)) == 0) raw[i] = features[f].values;
        assert_non_null(raw[i].values);
    }
    HR_TRY(hr__transformer_accept(o->transformer, raw, &o->err));
    hr__column_memory memory = {piece, ids, splits, floats, fail_row, o, o->tf_compat};
    return hr__transform(o->transformer, &memory, raw[0].rows, raw, o->result, &o->err);
}

void run_columns(outcome *o, hr_column_list columns, const feature *features, int count)
{
    bool tf_compat = o->tf_compat;
    *o = (outcome){.failed_row = -1, .tf_compat = tf_compat};
    o->status = hr__transformer_new(columns, &o->transformer, &o->err);
    if (o->status == HR_OK) o->status = run(o, features, count);
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(columns.column[i]);
}

void outcome_free(outcome *o)
{
    for (int i = 0; i < o->pieces; i++) free(o->memory[i]);
    hr__transformer_free(o->transformer);
}

hr_view view(const char *text) { return (hr_view){text, (int64_t)strlen(text)}; }

void assert_ids(const hr_column_values *v, int64_t count, const int64_t *expected, const int32_t *places)
{
    assert_int_equal(v->dtype, HR_INT64);
    assert_int_equal(v->count, count);
    for (int64_t i = 0; i < count; i++) assert_int_equal(((const int64_t *)v->values)[i], expected[i]);
    for (int64_t r = 0; r <= v->rows; r++) assert_int_equal(v->splits[r], places[r]);
}

void assert_refused(hr_feature_column *column, const char *kind)
{
    const hr_error *err = hr_feature_column_error(column);
    assert_non_null(err);
    assert_string_equal(err->kind, kind);
    assert_more(strlen(err->text), 0);
    hr_feature_column_unref(column);
}

void assert_error_is(const hr_error *err, size_t i, const char *kind, const char *part)
{
    if (!err) fail_msg("number %zu: expected %s, got no error", i, kind);
    if (strcmp(err->kind, kind) != 0 || !strstr(err->text, part))
        fail_msg("number %zu: expected %s with \"%s\", got %s: %s", i, kind, part, err->kind, err->text);
}

/* ---- in a pipeline ---- */

static hr_view copy_of_record(hr_example *ex)
{
    hr_view made;
    hr_error err;
    assert_ok(hr_example_bytes(ex, &made, &err), &err);
    return (hr_view){memcpy(malloc((size_t)made.size + 1), made.data, (size_t)made.size), made.size};
}

hr_dataset *example_records(hr_example *ex, int rows, add_row *add)
{
    hr_view *record = calloc((size_t)rows, sizeof *record);
    for (int r = 0; r < rows; r++) {
        hr_example_clear(ex);
        add(ex, r);
        record[r] = copy_of_record(ex);
    }
    hr_example_free(ex);
    const hr_tensor all = hr_tensor_of(HR_STRING, HR_SHAPE(rows), record);
    hr_dataset *ds = hr_from_tensor_slices(&all, NULL, 1);
    for (int r = 0; r < rows; r++) free((void *)(uintptr_t)record[r].data);
    free(record);
    return ds;
}

void check_rows(hr_dataset *ds, int workers, int64_t unit_rows, int rows, check_row *check)
{
    hr_iterator *it = hr_iterate(ds, .workers = &workers, .unit_rows = unit_rows);
    const hr_element *e;
    hr_status st;
    int r = 0;
    while ((st = hr_next(it, &e)) == HR_OK) {
        const int64_t size = hr_get_at(e, 0)->shape.dims[0];
        for (int64_t i = 0; i < size; i++) check(e, i, r++);
    }
    if (st != HR_END) fail_msg("%s", hr_iterator_error(it)->text);
    assert_int_equal(r, rows);
    hr_iterator_free(it);
}
