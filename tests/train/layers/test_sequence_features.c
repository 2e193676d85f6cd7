/* SequenceFeatures: TensorFlow's names and order, sums by hand, the gradient of what is padded, a pipeline's
 * batches. */
#include "tests/testing.h"
#include "train/layers/layers.h"

#include <headrace/io.h>
#include <headrace/optimizers.h>
#include <math.h>
#include <string.h>

enum { ROWS = 3 };

typedef struct toy {
    hr_graph *g;
    hr_features *features;
    hr_feature_column *column[3];
    hr_iterator *it;
    hr_feed *feeds;
    int count;
    hr_session *s;
} toy;

/* Rows: ids 1 | 2 0 | none; x 10 | 20 30 | none (`more`: a number for the last row, too). */
static hr_dataset *batch(bool more)
{
    hr_example *ex = hr_sequence_example_new();
    static const int64_t id[] = {1, 2, 0};
    static const float x[] = {10, 20, 30};
    const int first[] = {0, 1, 3, 3};
    hr_view record[ROWS];
    char bytes[ROWS][256];
    hr_error err;
    for (int r = 0; r < ROWS; r++) {
        hr_tensor ids[2], xs[2];
        const int n = first[r + 1] - first[r];
        for (int s = 0; s < n; s++) {
            ids[s] = hr_tensor_of(HR_INT64, HR_SHAPE(1), id + first[r] + s);
            xs[s] = hr_tensor_of(HR_FLOAT, HR_SHAPE(1), x + first[r] + s);
        }
        if (more && r == ROWS - 1) xs[0] = hr_tensor_of(HR_FLOAT, HR_SHAPE(1), x);
        hr_example_clear(ex);
        hr_example_add_list(ex, (hr_view){"id", 2}, ids, n);
        hr_example_add_list(ex, (hr_view){"x", 1}, xs, n + (more && r == ROWS - 1));
        hr_view made;
        assert_ok(hr_example_bytes(ex, &made, &err), &err);
        record[r] = (hr_view){memcpy(bytes[r], made.data, (size_t)made.size), made.size};
    }
    hr_example_free(ex);
    const hr_tensor all = hr_tensor_of(HR_STRING, HR_SHAPE(ROWS), record);
    return hr_batch(hr_from_tensor_slices(&all, NULL, 1), ROWS);
}

static void toy_columns(toy *t)
{
    hr_feature_column *ids = hr_sequence_categorical_column_with_identity("id", 3);
    t->column[0] = hr_sequence_numeric_column("x", .default_value = -1);
    t->column[1] = hr_indicator_column(hr_feature_column_ref(ids));
    t->column[2] = hr_embedding_column(ids, 2);
}

/* A graph with features for the columns, and a batch of them. */
static void toy_begin_with(toy *t, hr_column_list columns, bool more)
{
    hr_parse_spec *spec;
    hr_error err;
    const hr_element *e;
    assert_ok(hr_make_parse_example_spec(columns, &spec, &err), &err);
    hr_dataset *ds = hr_transform_features(hr_parse_sequence_example(batch(more), NULL, spec), columns);
    hr_parse_spec_free(spec);
    t->g = hr_graph_new();
    t->features = hr_placeholders_for(t->g, hr_dataset_schema(ds));
    t->it = hr_iterate(ds);
    if (hr_next(t->it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(t->it)->text);
    t->feeds = hr_calloc((size_t)hr_features_feeds(t->features), sizeof *t->feeds);
    assert_ok(hr_feed_element(t->features, e, t->feeds, &t->count, &err), &err);
}

static void toy_begin(toy *t, bool more)
{
    toy_columns(t);
    toy_begin_with(t, (hr_column_list){t->column, 3}, more);
}

/* A session in which the variable has these values. */
static void start_with(toy *t, const char *variable, const hr_tensor *value)
{
    hr_error err;
    if (hr_graph_error(t->g)) fail_msg("%s", hr_graph_error(t->g)->text);
    t->s = hr_session_new(t->g);
    hr_node init = hr_target(hr_global_variables_initializer(t->g));
    assert_ok(hr_session_run(t->s, NULL, 0, &init, 1, NULL, &err), &err);
    const hr_variable_info *info = hr_variable_named(t->g, variable);
    assert_non_null(info);
    assert_ok(hr_session_set(t->s, info->handle, value, &err), &err);
}

static void start(toy *t)
{
    static const float table[] = {.1f, .2f, .3f, .4f, .5f, .6f};
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), table);
    start_with(t, "sequence_features/id_embedding/embedding_weights", &value);
}

static void toy_end(toy *t)
{
    for (int i = 0; i < 3; i++) hr_feature_column_unref(t->column[i]);
    hr_session_free(t->s);
    hr_iterator_free(t->it);
    hr_features_free(t->features);
    hr_graph_free(t->g);
    hr_free(t->feeds);
}

static void expect(toy *t, hr_node node, hr_shape shape, const float *expected)
{
    hr_error err;
    hr_tensor out;
    assert_ok(hr_session_run(t->s, t->feeds, t->count, &node, 1, &out, &err), &err);
    assert_shape(out.shape, shape);
    for (int64_t i = 0; i < out.count; i++) assert_near(((const float *)out.data)[i], expected[i], 1e-6f);
    hr_tensor_clear(&out);
}

static void columns_stand_side_by_side_at_every_step(void **state)
{
    (void)state;
    toy t = {0};
    toy_begin(&t, false);
    hr_node lengths;
    const hr_column_list columns = {t.column, 3};
    hr_node out = hr_sequence_features(t.features, columns, &lengths);
    start(&t);
    static const float expected[ROWS][2][6] = {
        {{.3f, .4f, 0, 1, 0, 10}, {0, 0, 0, 0, 0, -1}},
        {{.5f, .6f, 0, 0, 1, 20}, {.1f, .2f, 1, 0, 0, 30}},
        {{0, 0, 0, 0, 0, -1}, {0, 0, 0, 0, 0, -1}},
    };
    expect(&t, out, HR_SHAPE(ROWS, 2, 6), expected[0][0]);
    hr_error err;
    hr_tensor got;
    assert_ok(hr_session_run(t.s, t.feeds, t.count, &lengths, 1, &got, &err), &err);
    static const int64_t steps[] = {1, 2, 0};
    assert_int_equal(got.dtype, HR_INT64);
    assert_int_equal(got.count, ROWS);
    assert_memory_equal(got.data, steps, sizeof steps);
    hr_tensor_clear(&got);
    toy_end(&t);
}

static void a_context_follows_every_step(void **state)
{
    (void)state;
    toy t = {0};
    toy_begin(&t, false);
    static const float context[] = {7, 8, 9};
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), context);
    hr_node sequence = hr_sequence_features(t.features, HR_COLUMNS(t.column[2]), NULL);
    hr_node out = hr_concatenate_context_input(hr_const(t.g, &value), sequence);
    start(&t);
    static const float expected[] = {.3f, .4f, 7, 0, 0, 7, .5f, .6f, 8, .1f, .2f, 8, 0, 0, 9, 0, 0, 9};
    expect(&t, out, HR_SHAPE(ROWS, 2, 3), expected);
    toy_end(&t);
}

static void only_steps_that_exist_have_a_gradient(void **state)
{
    (void)state;
    toy t = {0};
    toy_begin(&t, false);
    hr_node out = hr_sequence_features(t.features, HR_COLUMNS(t.column[2]), NULL);
    hr_node train = hr_minimize(hr_sgd(1), hr_reduce_sum(out));
    start(&t);
    hr_error err;
    assert_ok(hr_session_run(t.s, t.feeds, t.count, &train, 1, NULL, &err), &err);
    /* Each id occurs once, so each row of the table lost 1. */
    static const float expected[] = {-.7f, -.6f, 0, 0, -.5f, -.4f, -.9f, -.8f, 0, 0, 0, 0};
    expect(&t, out, HR_SHAPE(ROWS, 2, 2), expected);
    toy_end(&t);
}

static void lengths_that_differ_name_the_columns(void **state)
{
    (void)state;
    toy t = {0};
    toy_begin(&t, true);
    const hr_column_list columns = {t.column, 3};
    hr_node out = hr_sequence_features(t.features, columns, NULL);
    start(&t);
    hr_error err;
    hr_tensor got;
    assert_status(hr_session_run(t.s, t.feeds, t.count, &out, 1, &got, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "column.sequence_length");
    assert_text_contains(err.text, "'x/row_splits'");
    toy_end(&t);
}

/* As TensorFlow's linear_model: over all steps of a row at once. */
static void a_linear_model_combines_the_weights_of_all_steps(void **state)
{
    (void)state;
    static const float weights[] = {1, 10, 100};
    static const float sums[] = {10, 101, 0}, means[] = {10, 50.5f, 0};
    const hr_combiner mean = HR_MEAN;
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 1), weights);
    for (int i = 0; i < 2; i++) {
        toy t = {.column = {hr_sequence_categorical_column_with_identity("id", 3)}};
        const hr_column_list columns = {t.column, 1};
        toy_begin_with(&t, columns, false);
        hr_node out = hr_linear_model(t.features, columns, .sparse_combiner = i ? &mean : NULL);
        start_with(&t, "linear_model/id/weights", &value);
        expect(&t, out, HR_SHAPE(ROWS, 1), i ? means : sums);
        toy_end(&t);
    }
}

static void other_columns_are_refused(void **state)
{
    (void)state;
    toy t = {0};
    toy_begin(&t, false);
    hr_feature_column *plain = hr_numeric_column("y");
    hr_node out = hr_sequence_features(t.features, HR_COLUMNS(plain), NULL);
    assert_false(hr_node_exists(out));
    assert_string_equal(hr_graph_error(t.g)->kind, "column.sequence");
    hr_feature_column_unref(plain);
    toy_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stand_side_by_side_at_every_step),
        cmocka_unit_test(a_context_follows_every_step),
        cmocka_unit_test(only_steps_that_exist_have_a_gradient),
        cmocka_unit_test(a_linear_model_combines_the_weights_of_all_steps),
        cmocka_unit_test(lengths_that_differ_name_the_columns),
        cmocka_unit_test(other_columns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
