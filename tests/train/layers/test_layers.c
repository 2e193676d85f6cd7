/* Layers over feature columns: TensorFlow's variable names, sums by hand, and a pipeline's batches fed without a
 * copy. */
#include "tests/testing.h"
#include "train/layers/layers.h"
#include "train/optimizers/optimizers.h"

#include <headrace/checkpoint.h>
#include <math.h>
#include <string.h>

enum { ROWS = 4 };

typedef struct toy {
    hr_graph *g;
    hr_features *features;
    hr_feature_column *word, *size, *size_b, *word_e, *word_i;
    hr_iterator *it;
    const hr_element *batch;
    hr_feed *feeds;
    int count;
} toy;

/* Rows: word a b a (unknown), size 1 5 20 -3, label 1 0 1 0. */
static void toy_begin(toy *t)
{
    static const float size[ROWS] = {1, 5, 20, -3};
    static const int64_t label[ROWS] = {1, 0, 1, 0};
    const hr_view words[ROWS] = {{"a", 1}, {"b", 1}, {"a", 1}, {"zz", 2}};
    hr_error err;
    hr_tensor word;
    assert_ok(hr_tensor_strings(&word, HR_SHAPE(ROWS, 1), words, &err), &err);
    const hr_tensor all[] = {word, hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), size),
                             hr_tensor_of(HR_INT64, HR_SHAPE(ROWS), label)};
    static const char *const names[] = {"word", "size", "late"};
    t->word = hr_categorical_column_with_vocabulary_list("word", HR_VOCABULARY("a", "b"));
    t->size = hr_numeric_column("size");
    t->size_b = hr_bucketized_column(hr_feature_column_ref(t->size), (const float[]){0, 10}, 2);
    t->word_e = hr_embedding_column(hr_feature_column_ref(t->word), 3);
    t->word_i = hr_indicator_column(hr_feature_column_ref(t->word));
    hr_dataset *ds = hr_batch(hr_from_tensor_slices(all, names, 3), ROWS);
    ds = hr_transform_features(ds, HR_COLUMNS(t->word, t->size, t->size_b, t->word_e, t->word_i), .keep = "late");
    hr_tensor_clear(&word);
    t->g = hr_graph_new();
    t->features = hr_placeholders_for(t->g, hr_dataset_schema(ds));
    t->it = hr_iterate(ds);
    const hr_status st = hr_next(t->it, &t->batch);
    if (st != HR_OK) fail_msg("%s", hr_iterator_error(t->it)->text);
    t->feeds = hr_calloc((size_t)hr_features_feeds(t->features), sizeof *t->feeds);
    assert_ok(hr_feed_element(t->features, t->batch, t->feeds, &t->count, &err), &err);
}

static void toy_end(toy *t)
{
    hr_feature_column *columns[] = {t->word, t->size, t->size_b, t->word_e, t->word_i};
    for (int i = 0; i < 5; i++) hr_feature_column_unref(columns[i]);
    hr_iterator_free(t->it);
    hr_features_free(t->features);
    hr_graph_free(t->g);
    hr_free(t->feeds);
}

static hr_session *started(toy *t)
{
    hr_error err;
    if (hr_graph_error(t->g)) fail_msg("%s", hr_graph_error(t->g)->text);
    hr_session *s = hr_session_new(t->g);
    hr_node init = hr_target(hr_global_variables_initializer(t->g));
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    return s;
}

static void set(toy *t, hr_session *s, const char *name, hr_shape shape, const float *values)
{
    hr_error err;
    const hr_variable_info *info = hr_variable_named(t->g, name);
    if (!info) fail_msg("no variable %s", name);
    const hr_tensor value = hr_tensor_of(HR_FLOAT, shape, values);
    assert_ok(hr_session_set(s, info->handle, &value, &err), &err);
}

static void expect(toy *t, hr_session *s, hr_node node, const float *expected, int count)
{
    hr_error err;
    hr_tensor out;
    assert_ok(hr_session_run(s, t->feeds, t->count, &node, 1, &out, &err), &err);
    assert_int_equal(out.count, count);
    for (int i = 0; i < count; i++) {
        const float got = ((const float *)out.data)[i];
        if (fabsf(got - expected[i]) > 1e-5f)
            fail_msg("value %d: expected %g, got %g", i, (double)expected[i], (double)got);
    }
    hr_tensor_clear(&out);
}

static void linear_model_adds_weights_by_name_order(void **state)
{
    (void)state;
    toy t;
    toy_begin(&t);
    hr_variable_scope(t.g, "linear");
    hr_node logits = hr_linear_model(t.features, HR_COLUMNS(t.word, t.size_b, t.size));
    hr_scope_end(t.g);
    hr_session *s = started(&t);
    set(&t, s, "linear/linear_model/word/weights", HR_SHAPE(2, 1), (const float[]){1, 2});
    set(&t, s, "linear/linear_model/size_bucketized/weights", HR_SHAPE(3, 1), (const float[]){10, 20, 30});
    set(&t, s, "linear/linear_model/size/weights", HR_SHAPE(1, 1), (const float[]){100});
    set(&t, s, "linear/linear_model/bias_weights", HR_SHAPE(1), (const float[]){0.5f});
    expect(&t, s, logits, (const float[]){121.5f, 522.5f, 2031.5f, -289.5f}, ROWS);
    hr_session_free(s);
    toy_end(&t);
}

static void input_layer_puts_columns_side_by_side_by_name(void **state)
{
    (void)state;
    toy t;
    toy_begin(&t);
    hr_variable_scope(t.g, "dnn");
    hr_variable_scope(t.g, "input_from_feature_columns");
    hr_node net = hr_input_layer(t.features, HR_COLUMNS(t.word_i, t.word_e, t.size_b, t.size));
    hr_scope_end(t.g);
    hr_scope_end(t.g);
    assert_int_equal(hr_node_shape(net).dims[1], 1 + 3 + 3 + 2);
    hr_session *s = started(&t);
    set(&t, s, "dnn/input_from_feature_columns/input_layer/word_embedding/embedding_weights", HR_SHAPE(2, 3),
        (const float[]){.1f, .2f, .3f, .4f, .5f, .6f});
    static const float expected[ROWS][9] = {{1, 0, 1, 0, .1f, .2f, .3f, 1, 0},
                                            {5, 0, 1, 0, .4f, .5f, .6f, 0, 1},
                                            {20, 0, 0, 1, .1f, .2f, .3f, 1, 0},
                                            {-3, 1, 0, 0, 0, 0, 0, 0, 0}};
    expect(&t, s, net, expected[0], ROWS * 9);
    hr_session_free(s);
    toy_end(&t);
}

static void shared_tables_have_the_names_of_their_generation(void **state)
{
    (void)state;
    for (int v1 = 0; v1 < 2; v1++) {
        toy t;
        toy_begin(&t);
        hr_feature_column *shared[] = {hr_feature_column_ref(t.word), hr_feature_column_ref(t.word)};
        hr_shared_embeddings(shared, 1, 3, shared, .shared_embedding_name = "s", .v1 = v1,
                             .initializer = HR_TABLE_CONSTANT, .mean = 2);
        hr_node net = hr_input_layer(t.features, HR_COLUMNS(shared[0]));
        hr_linear_model(t.features, HR_COLUMNS(shared[0]));
        const char *const names[][2] = {{"input_layer/s", "linear_model/word_shared_embedding/weights"},
                                        {"input_layer/s/embedding_weights", "linear_model/s/weights"}};
        for (int i = 0; i < 2; i++)
            if (!hr_variable_named(t.g, names[v1][i])) fail_msg("no variable %s", names[v1][i]);
        hr_session *s = started(&t);
        expect(&t, s, net, (const float[]){2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0}, ROWS * 3);
        hr_session_free(s);
        hr_feature_column_unref(shared[0]);
        hr_feature_column_unref(shared[1]);
        toy_end(&t);
    }
}

/* ---- a table's arguments ---- */

static void write_table(const char *prefix, const float *values)
{
    hr_bundle_writer *writer;
    hr_error err;
    const hr_tensor table = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values);
    assert_ok(hr_bundle_writer_open(prefix, &writer, &err), &err);
    assert_ok(hr_bundle_add(writer, "old/table", &table, &err), &err);
    assert_ok(hr_bundle_writer_commit(writer, &err), &err);
}

static hr_node embedded(toy *t, const hr_embedding_column_opts *opts)
{
    hr_feature_column *column = hr_embedding_column_with(hr_feature_column_ref(t->word), 3, opts);
    hr_node net = hr_input_layer(t->features, HR_COLUMNS(column));
    hr_feature_column_unref(column);
    return net;
}

/* Of a prefix, and of a folder whose `checkpoint` file names it. */
static void a_table_begins_with_what_a_checkpoint_holds(void **state)
{
    (void)state;
    static const char newest[] = "model_checkpoint_path: \"m-7\"\n";
    static const float values[] = {1, 2, 3, 4, 5, 6};
    write_table("m-7", values);
    write_file("checkpoint", newest, sizeof newest - 1);
    static const char *const places[] = {"m-7", "."};
    for (int i = 0; i < 2; i++) {
        toy t;
        toy_begin(&t);
        hr_node net = embedded(&t, &(hr_embedding_column_opts){.struct_size = sizeof(hr_embedding_column_opts),
                                                               .ckpt_to_load_from = places[i],
                                                               .tensor_name_in_ckpt = "old/table"});
        hr_session *s = started(&t);
        expect(&t, s, net, (const float[]){1, 2, 3, 4, 5, 6, 1, 2, 3, 0, 0, 0}, ROWS * 3);
        hr_session_free(s);
        toy_end(&t);
    }
}

static void a_table_that_cannot_be_had_names_its_column(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"m-8", "old/table"}, {"m-7", "new/table"}};
    write_table("m-7", (const float[]){1, 2, 3, 4, 5, 6});
    for (int i = 0; i < 2; i++) {
        toy t;
        toy_begin(&t);
        embedded(&t, &(hr_embedding_column_opts){.struct_size = sizeof(hr_embedding_column_opts),
                                                 .ckpt_to_load_from = wrong[i][0],
                                                 .tensor_name_in_ckpt = wrong[i][1]});
        assert_status(hr_graph_error(t.g)->code, HR_NOT_FOUND);
        assert_text_contains(hr_graph_error(t.g)->text, "word_embedding");
        toy_end(&t);
    }
}

static void a_table_may_stay_as_it_is_and_its_rows_short(void **state)
{
    (void)state;
    toy t;
    toy_begin(&t);
    hr_node net =
        embedded(&t, &(hr_embedding_column_opts){
                         .struct_size = sizeof(hr_embedding_column_opts), .not_trainable = true, .max_norm = 5});
    const hr_variable_info *info = hr_variable_named(t.g, "input_layer/word_embedding/embedding_weights");
    assert_non_null(info);
    assert_int_equal(info->sets & HR_TRAINABLE_VARIABLES, 0);
    hr_session *s = started(&t);
    set(&t, s, info->name, HR_SHAPE(2, 3), (const float[]){3, 4, 0, 0, 6, 8});
    expect(&t, s, net, (const float[]){3, 4, 0, 0, 3, 4, 3, 4, 0, 0, 0, 0}, ROWS * 3);
    hr_session_free(s);
    toy_end(&t);
}

static void features_are_counted_and_named(void **state)
{
    (void)state;
    toy t;
    toy_begin(&t);
    const int count = hr_features_count(t.features);
    assert_int_equal(count, 4); /* the ids of word, which three columns share, size and its buckets, the label */
    for (int i = 0; i < count; i++) assert_true(hr_features_has(t.features, hr_features_name(t.features, i)));
    assert_string_equal(hr_features_name(t.features, count - 1), "late");
    assert_null(hr_features_name(t.features, count));
    assert_null(hr_features_name(t.features, -1));
    assert_false(hr_features_has(t.features, "weight"));
    toy_end(&t);
}

static void the_total_loss_is_all_of_them_and_an_error_without_any(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    hr_graph *g = hr_graph_new();
    hr_add_to_collection(g, "losses", hr_scalar(g, HR_FLOAT, 1.5));
    hr_add_to_collection(g, "losses", hr_scalar(g, HR_FLOAT, 2));
    hr_add_to_collection(g, "regularization_losses", hr_scalar(g, HR_FLOAT, 0.25));
    const hr_node total = hr_get_total_loss(g);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &total, 1, &out, &err), &err);
    assert_exactly(*(const float *)out.data, 3.75f);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
    g = hr_graph_new();
    assert_false(hr_node_exists(hr_get_total_loss(g)));
    assert_non_null(hr_graph_error(g));
    hr_graph_free(g);
}

static void feeds_borrow_the_batch(void **state)
{
    (void)state;
    toy t;
    toy_begin(&t);
    int found = 0;
    for (int i = 0; i < t.count; i++) found += t.feeds[i].value.data == hr_get(t.batch, "late")->data;
    assert_int_equal(found, 1);
    toy_end(&t);
}

static void a_wide_and_deep_model_learns_the_toy(void **state)
{
    (void)state;
    toy t;
    hr_error err;
    toy_begin(&t);
    hr_set_random_seed(t.g, 4);
    hr_variable_scope(t.g, "linear");
    hr_node logits = hr_linear_model(t.features, HR_COLUMNS(t.word, t.size_b));
    hr_scope_end(t.g);
    hr_variable_scope(t.g, "dnn");
    hr_node net = hr_dense(hr_input_layer(t.features, HR_COLUMNS(t.word_e, t.size)), 8, .activation = hr_relu_fn);
    logits = hr_add(logits, hr_dense(net, 1, .name = "logits"));
    hr_scope_end(t.g);
    assert_non_null(hr_variable_named(t.g, "dnn/dense/kernel"));
    hr_node labels =
        hr_expand_dims(hr_cast_to(hr_feature_values(t.features, "late"), HR_FLOAT), hr_scalar(t.g, HR_INT32, 1));
    hr_node loss = hr_sigmoid_cross_entropy_loss(labels, logits);
    hr_node both[] = {hr_minimize(hr_ftrl(0.5f), loss, .var_scope = "linear"),
                      hr_minimize(hr_adagrad(0.1f), loss, .var_scope = "dnn")};
    hr_node train = hr_target(hr_group(t.g, both, 2, "train"));
    hr_session *s = started(&t);
    for (int i = 0; i < 200; i++) assert_ok(hr_session_run(s, t.feeds, t.count, &train, 1, NULL, &err), &err);
    hr_tensor out;
    assert_ok(hr_session_run(s, t.feeds, t.count, &loss, 1, &out, &err), &err);
    assert_less(*(float *)out.data, 0.1f);
    hr_tensor_clear(&out);
    hr_session_free(s);
    toy_end(&t);
}

/* ---- what is refused ---- */

static void a_reduction_that_there_is_not_is_refused(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 3));
    hr_keras_loss("mse", x, x, .reduction = (hr_reduction)(HR_REDUCTION_NONE + 1));
    assert_non_null(hr_graph_error(g));
    assert_string_equal(hr_graph_error(g)->kind, "layers.loss");
    hr_graph_free(g);
}

static void a_column_that_is_null_is_refused(void **state)
{
    (void)state;
    hr_feature_column *const null = NULL;
    for (int i = 0; i < 2; i++) {
        hr_graph *g = hr_graph_new();
        hr_features *none = hr_features_new(g);
        const hr_column_list columns = {i ? &null : NULL, 1};
        hr_input_layer(none, columns);
        assert_string_equal(hr_graph_error(g)->kind, "column.empty_list");
        hr_features_free(none);
        hr_graph_free(g);
    }
}

static void a_column_without_its_component_is_named(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_features *none = hr_features_new(g);
    hr_feature_column *age = hr_numeric_column("age");
    hr_input_layer(none, HR_COLUMNS(age));
    assert_string_equal(hr_graph_error(g)->kind, "layers.feature");
    assert_text_contains(hr_graph_error(g)->text, "age");
    hr_feature_column_unref(age);
    hr_features_free(none);
    hr_graph_free(g);
}

static void losses_refuse_shapes_that_differ(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1)), x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 1));
    assert_false(hr_node_exists(hr_mean_squared_error(y, x)));
    assert_string_equal(hr_graph_error(g)->kind, "layers.shape");
    hr_graph_free(g);
}

static void dropout_keeps_the_mean(void **state)
{
    (void)state;
    hr_error err;
    hr_graph *g = hr_graph_new();
    hr_node ones = hr_fill(hr_shape_const(g, HR_SHAPE(10000)), hr_scalar(g, HR_FLOAT, 1));
    hr_node mean = hr_reduce_mean(hr_dropout(ones, 0.25f, .seed = 3));
    hr_session *s = hr_session_new(g);
    hr_tensor out;
    assert_ok(hr_session_run(s, NULL, 0, &mean, 1, &out, &err), &err);
    assert_near(*(float *)out.data, 1, 0.03f);
    assert_differs(*(float *)out.data, 1);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}

/* Batches of any size: the width stays known, so that a dense layer may follow. */
static void dropout_keeps_what_is_known_of_the_shape(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node x = hr_dropout(hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4)), 0.5f);
    assert_int_equal(hr_node_shape(x).rank, 2);
    assert_int_equal(hr_node_shape(x).dims[0], -1);
    assert_int_equal(hr_node_shape(x).dims[1], 4);
    assert_true(hr_node_exists(hr_dense(x, 3)));
    hr_graph_free(g);
}

/* Nodes and variables have '_' for what a graph does not allow; components keep their names. */
static void names_with_blanks_are_made_names_of_the_graph(void **state)
{
    (void)state;
    static const float size[] = {1, 5};
    static const int64_t kind[] = {0, 1};
    const hr_tensor all[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1), size),
                             hr_tensor_of(HR_INT64, HR_SHAPE(2, 1), kind)};
    static const char *const names[] = {"mean size (mm)", "_kind \xc3\xa9"};
    static const char *const variables[] = {"input_layer/_kind___embedding/embedding_weights",
                                            "linear_model/_kind__/weights"};
    static const char *const nodes[] = {"mean_size__mm_", "feature_kind__"};
    hr_feature_column *numeric = hr_numeric_column(names[0]), *ids = hr_categorical_column_with_identity(names[1], 2),
                      *e = hr_embedding_column(hr_feature_column_ref(ids), 2);
    hr_dataset *ds = hr_batch(hr_from_tensor_slices(all, names, 2), 2);
    ds = hr_transform_features(ds, HR_COLUMNS(numeric, ids, e));
    for (int compat = 0; compat < 2; compat++) {
        hr_graph *g = hr_graph_new();
        hr_features *f = hr_placeholders_for(g, hr_dataset_schema(ds));
        assert_true(hr_features_has(f, names[0]));
        assert_true(hr_features_has(f, names[1]));
        for (int i = 0; i < 2; i++) assert_true(hr_node_exists(hr_graph_node(g, nodes[i])));
        hr_input_layer(f, HR_COLUMNS(numeric, e), .tf_compat = compat);
        if (!compat) hr_linear_model(f, HR_COLUMNS(ids));
        if (compat) assert_string_equal(hr_graph_error(g)->kind, "column.scope");
        if (!compat && hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
        for (int i = 0; i < 2 && !compat; i++)
            if (!hr_variable_named(g, variables[i])) fail_msg("no variable %s", variables[i]);
        hr_features_free(f);
        hr_graph_free(g);
    }
    hr_dataset_unref(ds);
    hr_feature_column_unref(numeric);
    hr_feature_column_unref(ids);
    hr_feature_column_unref(e);
}

static void a_loss_of_keras_has_a_known_name_and_reduction(void **state)
{
    (void)state;
    static const float values[] = {1, 0};
    const hr_tensor row = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), values);
    for (int i = 0; i < 3; i++) {
        hr_graph *g = hr_graph_new();
        hr_node x = hr_const(g, &row);
        if (i == 0) hr_keras_loss("MeanSquaredErrors", x, x);
        if (i == 1) hr_keras_loss("mse", x, x, .reduction = HR_REDUCTION_MEAN);
        if (i == 2) hr_softmax_cross_entropy_with_logits(x, x, 2);
        assert_non_null(hr_graph_error(g));
        assert_int_equal(hr_graph_error(g)->code, HR_INVALID_ARGUMENT);
        assert_string_equal(hr_graph_error(g)->kind, i == 2 ? "layers.shape" : "layers.loss");
        hr_graph_free(g);
    }
}

/* Computed from the logits, an error of 200 is not clipped. */
static void predictions_of_a_sigmoid_are_computed_from_its_logits(void **state)
{
    (void)state;
    static const float far[] = {-200}, one[] = {1};
    const hr_tensor x = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), far), y = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), one);
    hr_error err;
    hr_tensor got;
    hr_graph *g = hr_graph_new();
    hr_node loss = hr_keras_loss("bce", hr_const(g, &y), hr_sigmoid(hr_const(g, &x)));
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &loss, 1, &got, &err), &err);
    assert_float_equal(*(const float *)got.data, 200, 1e-4);
    hr_tensor_clear(&got);
    hr_session_free(s);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_model_adds_weights_by_name_order),
        cmocka_unit_test(input_layer_puts_columns_side_by_side_by_name),
        cmocka_unit_test(shared_tables_have_the_names_of_their_generation),
        cmocka_unit_test(a_table_begins_with_what_a_checkpoint_holds),
        cmocka_unit_test(a_table_that_cannot_be_had_names_its_column),
        cmocka_unit_test(a_table_may_stay_as_it_is_and_its_rows_short),
        cmocka_unit_test(features_are_counted_and_named),
        cmocka_unit_test(the_total_loss_is_all_of_them_and_an_error_without_any),
        cmocka_unit_test(feeds_borrow_the_batch),
        cmocka_unit_test(a_wide_and_deep_model_learns_the_toy),
        cmocka_unit_test(a_reduction_that_there_is_not_is_refused),
        cmocka_unit_test(a_column_that_is_null_is_refused),
        cmocka_unit_test(a_column_without_its_component_is_named),
        cmocka_unit_test(names_with_blanks_are_made_names_of_the_graph),
        cmocka_unit_test(losses_refuse_shapes_that_differ),
        cmocka_unit_test(a_loss_of_keras_has_a_known_name_and_reduction),
        cmocka_unit_test(predictions_of_a_sigmoid_are_computed_from_its_logits),
        cmocka_unit_test(dropout_keeps_the_mean),
        cmocka_unit_test(dropout_keeps_what_is_known_of_the_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
