/* Columns in a graph give what they give in a pipeline: the same ids, the same sums and dense layers, for random
 * records of every kind of column. */
#include "examples/hour_of_day.h"
#include "feature_columns/columns_internal.h"
#include "tests/testing.h"
#include "train/layers/layers.h"

#include <headrace/graph_op.h>
#include <headrace/graphdef.h>
#include <headrace/io.h>
#include <headrace/tables.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, MAX = 64 };

/* ---- random records ---- */

static uint64_t at;
static int64_t any(int64_t from, int64_t end) { return from + hr_random_below(11, at++, end - from); }

static void add_words(hr_example *ex, const char *key, int64_t count)
{
    static const char *const words[] = {"EWR", "JFK", "LGA", "", "new", "\xff\0x", "a longer word than sixteen bytes"};
    hr_view value[8];
    for (int64_t i = 0; i < count; i++) {
        const int64_t w = any(0, 7);
        value[i] = (hr_view){words[w], w == 5 ? 3 : (int64_t)strlen(words[w])};
    }
    if (count || any(0, 2)) hr_example_add_bytes(ex, key, value, count);
}

static void add_ints(hr_example *ex, const char *key, int64_t count, int64_t from, int64_t end)
{
    int64_t value[8];
    for (int64_t i = 0; i < count; i++) value[i] = any(from, end);
    if (count || any(0, 2)) hr_example_add_int64(ex, key, value, count);
}

static void add_floats(hr_example *ex, const char *key, int64_t count)
{
    float value[8];
    static const float odd[] = {0.5f, 1, 3, -0.0f, 1e-45f, -1e-45f, 1e6f, -1e6f}; /* on boundaries, and close to 0 */
    for (int64_t i = 0; i < count; i++) value[i] = any(0, 4) ? (float)any(-300, 300) / 64 : odd[any(0, 8)];
    if (count || any(0, 2)) hr_example_add_float(ex, key, value, count);
}

static void add_row(hr_example *ex)
{
    const int64_t words = any(0, 5), steps = any(0, 4);
    if (any(0, 3)) add_floats(ex, "temp", 1);
    add_floats(ex, "pair", 2);
    add_ints(ex, "count", 1, 0, 100);
    add_ints(ex, "id", any(0, 4), 0, 5);
    add_ints(ex, "far", any(0, 4), -3, 9);
    add_words(ex, "word", words);
    add_floats(ex, "weight", words);
    add_ints(ex, "number", any(0, 4), -2, 8);
    add_words(ex, "a", any(0, 3));
    add_words(ex, "b", any(0, 3));
    add_ints(ex, "time", any(0, 2), 0, 400000);
    add_ints(ex, "steps", steps, 0, 6);
    add_words(ex, "said", steps);
    add_floats(ex, "speed", steps);
    add_floats(ex, "way", steps == 0 ? 0 : 2 * steps - any(0, 2));
    add_ints(ex, "ticks", steps, -9, 9);
    add_ints(ex, "late", 1, 0, 2);
    add_floats(ex, "importance", 1);
}

static hr_dataset *random_records(uint64_t seed)
{
    hr_example *ex = hr_example_new();
    hr_view record[ROWS];
    hr_error err;
    at = seed << 32;
    for (int r = 0; r < ROWS; r++) {
        hr_view made;
        hr_example_clear(ex);
        add_row(ex);
        assert_ok(hr_example_bytes(ex, &made, &err), &err);
        record[r] = (hr_view){hr_memdup(made.data, (size_t)made.size + 1), made.size};
    }
    hr_example_free(ex);
    const hr_tensor all = hr_tensor_of(HR_STRING, HR_SHAPE(ROWS), record);
    hr_dataset *ds = hr_batch(hr_from_tensor_slices(&all, NULL, 1), ROWS);
    for (int r = 0; r < ROWS; r++) hr_free((void *)(uintptr_t)record[r].data);
    return ds;
}

/* ---- columns of every kind ---- */

static hr_feature_column *word(void)
{
    return hr_categorical_column_with_vocabulary_list("word", HR_VOCABULARY("JFK", "LGA", "EWR"));
}

static hr_feature_column *id(void) { return hr_categorical_column_with_identity("id", 5); }
static hr_feature_column *temp(void) { return hr_numeric_column("temp", .default_value = HR_F32(0.5f)); }

/* Those of a linear model. */
static int wide_columns(hr_feature_column **list)
{
    int n = 0;
    const int64_t two = 2, three = 3;
    const float boundaries[] = {-1, 0, 0.5f, 1, 3};
    write_file("words.txt", "LGA\nJFK\r\nEWR\nnew", 16);
    write_file("numbers.txt", "4\n-1\n7\n", 7);
    list[n++] = temp();
    list[n++] = hr_numeric_column("pair", .shape = HR_SHAPE(2), .mean = 0.5f, .std = 1.5f);
    list[n++] = hr_numeric_column("count", .dtype = HR_INT32, .log1p = true, .min = 1, .max = 3);
    list[n++] = hr_bucketized_column(temp(), boundaries, 5);
    list[n++] =
        hr_bucketized_column(hr_numeric_column("pair", .shape = HR_SHAPE(2), .mean = 0.5f, .std = 1.5f), boundaries, 5);
    list[n++] = id();
    list[n++] = hr_categorical_column_with_identity("far", 5, .default_value = &two);
    list[n++] = word();
    list[n++] = hr_categorical_column_with_vocabulary_list("number", HR_VOCABULARY_INTS(5, -1, 2), .num_oov_buckets = 3,
                                                           .dtype = HR_INT32);
    list[n++] = hr_categorical_column_with_vocabulary_file("a", "words.txt", .default_value = &three);
    list[n++] =
        hr_categorical_column_with_vocabulary_file("b", "words.txt", .vocabulary_size = &two, .num_oov_buckets = 5);
    list[n++] = hr_categorical_column_with_hash_bucket("said", 7);
    list[n++] = hr_categorical_column_with_hash_bucket("ticks", 11, .dtype = HR_INT64);
    list[n++] = hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "b"}), 50);
    list[n++] = hr_crossed_column(
        HR_CROSS({.column = hr_bucketized_column(temp(), boundaries, 5)}, {.key = "a"}, {.column = id()}), 97,
        .hash_key = UINT64_MAX);
    list[n++] = hr_weighted_categorical_column(word(), "weight");
    list[n++] = hour_of_day_column("time", 3600);
    return n;
}

/* Those of an input layer. */
static int deep_columns(hr_feature_column **list)
{
    int n = 0;
    const int64_t three = 3;
    const float boundaries[] = {-1, 0, 0.5f};
    list[n++] = temp();
    list[n++] = hr_numeric_column("pair", .shape = HR_SHAPE(2), .mean = 0.5f, .std = 1.5f);
    list[n++] = hr_bucketized_column(temp(), boundaries, 3);
    list[n++] = hr_indicator_column(id());
    list[n++] = hr_indicator_column(hr_weighted_categorical_column(word(), "weight"));
    list[n++] = hr_indicator_column(hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "b"}), 9));
    list[n++] = hr_embedding_column(word(), 4);
    list[n++] = hr_embedding_column(hr_weighted_categorical_column(word(), "weight"), 3, .combiner = HR_SQRTN);
    list[n++] =
        hr_embedding_column(hr_categorical_column_with_hash_bucket("said", 7), 8, .combiner = HR_SUM, .max_norm = 0.4f);
    hr_feature_column *both[] = {
        hr_categorical_column_with_vocabulary_list("a", HR_VOCABULARY("JFK", "LGA", "EWR", "new"),
                                                   .default_value = &three),
        hr_categorical_column_with_vocabulary_list("b", HR_VOCABULARY("JFK", "LGA", "EWR", "new"))};
    hr_shared_embeddings(both, 2, 3, both, .combiner = HR_SQRTN);
    list[n++] = both[0];
    list[n++] = both[1];
    return n;
}

static int sequence_columns(hr_feature_column **list)
{
    int n = 0;
    list[n++] = hr_indicator_column(hr_sequence_categorical_column_with_identity("steps", 6));
    list[n++] = hr_embedding_column(
        hr_sequence_categorical_column_with_vocabulary_list("said", HR_VOCABULARY("JFK", "LGA")), 3);
    list[n++] = hr_sequence_numeric_column("speed", .default_value = -7);
    list[n++] = hr_sequence_numeric_column("way", .shape = HR_SHAPE(2), .default_value = -1, .mean = 1, .std = 2);
    return n;
}

/* ---- both ways in one graph ---- */

typedef struct both {
    hr_graph *g;
    hr_session *s;
    hr_feature_column *column[MAX];
    int columns;
    hr_iterator *records, *it;
    hr_features *fed, *made;
    hr_feed feed[4 * MAX + 1];
    int feeds;
} both;

/* What columns declare as int32 is int64 in the records. */
static const hr_field in_file[] = {{.name = "count", .dtype = HR_INT64, .shape = {1, {1}}},
                                   {.name = "number", .dtype = HR_INT64, .layout = HR_RAGGED, .shape = {1, {-1}}}};
static const hr_schema file = {.levels = 0, .fields = 2, .field = in_file};

static hr_column_list list_of(const both *b) { return (hr_column_list){b->column, b->columns}; }

static void both_begin(both *b, uint64_t seed, int (*columns)(hr_feature_column **list))
{
    hr_parse_spec *spec;
    hr_error err;
    const hr_element *e;
    *b = (both){.g = hr_graph_new()};
    b->columns = columns(b->column);
    assert_ok(hr_make_parse_example_spec(list_of(b), &spec, &err, .label = "late", .file = &file,
                                         .weight_column = "importance"),
              &err);
    hr_dataset *ds = hr_transform_features(hr_parse_example(random_records(seed), spec, .label = "late"), list_of(b),
                                           .keep = "importance");
    hr_parse_spec_free(spec);
    b->fed = hr_placeholders_for(b->g, hr_dataset_schema(ds));
    b->it = hr_iterate(ds);
    if (hr_next(b->it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(b->it)->text);
    assert_ok(hr_feed_element(b->fed, e, b->feed, &b->feeds, &err), &err);

    b->records = hr_iterate(random_records(seed));
    if (hr_next(b->records, &e) != HR_OK) fail_msg("%s", hr_iterator_error(b->records)->text);
    const hr_node serialized = hr_placeholder(b->g, HR_STRING, HR_SHAPE(-1), .name = "examples");
    b->feed[b->feeds++] = (hr_feed){serialized, *hr_get_at(e, 0)};
    b->made = hr_features_from_examples(serialized, list_of(b), .label = "late", .file = &file,
                                        .weight_column = "importance");
    if (hr_graph_error(b->g)) fail_msg("%s", hr_graph_error(b->g)->text);
}

/* Tables are filled, and variables have random values. */
static void both_start(both *b)
{
    hr_error err;
    if (hr_graph_error(b->g)) fail_msg("%s", hr_graph_error(b->g)->text);
    b->s = hr_session_new(b->g);
    const hr_node init[] = {hr_target(hr_global_variables_initializer(b->g)), hr_target(hr_tables_initializer(b->g))};
    assert_ok(hr_session_run(b->s, NULL, 0, init, 2, NULL, &err), &err);
    for (int i = 0; i < hr_graph_variables(b->g); i++) {
        const hr_variable_info *v = hr_graph_variable(b->g, i);
        hr_tensor value;
        assert_ok(hr_tensor_new(&value, HR_FLOAT, v->shape, &err), &err);
        for (int64_t j = 0; j < value.count; j++) ((float *)value.data)[j] = (float)any(-100, 100) / 99;
        assert_ok(hr_session_set(b->s, v->handle, &value, &err), &err);
        hr_tensor_clear(&value);
    }
}

static void both_end(both *b)
{
    for (int i = 0; i < b->columns; i++) hr_feature_column_unref(b->column[i]);
    hr_session_free(b->s);
    hr_iterator_free(b->it);
    hr_iterator_free(b->records);
    hr_features_free(b->fed);
    hr_features_free(b->made);
    hr_graph_free(b->g);
}

/* Both nodes have the same value; floats up to a relative difference. */
static void assert_same(both *b, const char *what, hr_node fed, hr_node made, double tolerance)
{
    hr_error err;
    hr_tensor out[2];
    char one[96], other[96];
    assert_true(hr_node_exists(fed) == hr_node_exists(made));
    if (!hr_node_exists(fed)) return;
    assert_ok(hr_session_run(b->s, b->feed, b->feeds, (const hr_node[]){fed, made}, 2, out, &err), &err);
    assert_int_equal(out[0].dtype, out[1].dtype);
    if (!hr_shape_equal(out[0].shape, out[1].shape))
        fail_msg("%s: %s fed, %s made", what, hr_shape_text(out[0].shape, one, sizeof one),
                 hr_shape_text(out[1].shape, other, sizeof other));
    for (int64_t i = 0; i < out[0].count && tolerance > 0; i++)
        assert_near(((const float *)out[1].data)[i], ((const float *)out[0].data)[i],
                    tolerance * (1 + fabs((double)((const float *)out[0].data)[i])));
    if (!(tolerance > 0) && memcmp(out[0].data, out[1].data, (size_t)out[0].count * hr_dtype_size(out[0].dtype)) != 0)
        fail_msg("%s: other values", what);
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
}

static void assert_same_components(both *b)
{
    for (int i = 0; i < hr_features_count(b->fed); i++) {
        const char *name = hr_features_name(b->fed, i);
        assert_true(hr_features_has(b->made, name));
        const hr_node fed = hr_feature_values(b->fed, name), made = hr_feature_values(b->made, name);
        assert_same(b, name, fed, made, strcmp(name, "count") == 0 ? 1e-6 : 0); /* the logarithm is another one */
        assert_same(b, name, hr_feature_row_splits(b->fed, name), hr_feature_row_splits(b->made, name), 0);
        assert_same(b, name, hr_feature_step_splits(b->fed, name), hr_feature_step_splits(b->made, name), 0);
    }
    assert_int_equal(hr_features_count(b->made), hr_features_count(b->fed));
    assert_same(b, "label", hr_label(b->fed), hr_label(b->made), 0);
}

typedef hr_node layer(const hr_features *features, hr_column_list columns, const hr_combiner *combiner);

/* The layer twice, of the same variables. */
static void assert_same_layer(both *b, layer *make, const hr_combiner *combiner, double tolerance)
{
    hr_node out[2];
    for (int i = 0; i < 2; i++) {
        hr_variable_scope(b->g, "model", .reuse = HR_AUTO_REUSE);
        out[i] = make(i ? b->made : b->fed, list_of(b), combiner);
        hr_scope_end(b->g);
    }
    both_start(b);
    assert_same(b, "layer", out[0], out[1], tolerance);
}

static hr_node linear(const hr_features *features, hr_column_list columns, const hr_combiner *combiner)
{
    return hr_linear_model(features, columns, .units = 2, .sparse_combiner = combiner, .name = "linear");
}

static hr_node input(const hr_features *features, hr_column_list columns, const hr_combiner *combiner)
{
    (void)combiner;
    return hr_input_layer(features, columns, .name = "input");
}

static hr_node sequence(const hr_features *features, hr_column_list columns, const hr_combiner *combiner)
{
    (void)combiner;
    return hr_sequence_features(features, columns, NULL, .name = "sequence");
}

static void every_kind_gives_the_same_ids(void **state)
{
    (void)state;
    int (*const lists[])(hr_feature_column * *list) = {wide_columns, deep_columns, sequence_columns};
    for (int i = 0; i < 9; i++) {
        both b;
        both_begin(&b, (uint64_t)i, lists[i % 3]);
        both_start(&b);
        assert_same_components(&b);
        both_end(&b);
    }
}

static void no_kind_is_left_out(void **state)
{
    (void)state;
    hr_feature_column *list[MAX];
    const hr_column_kind *kind;
    int count = wide_columns(list);
    count += deep_columns(list + count);
    count += sequence_columns(list + count);
    for (int k = 0; (kind = hr__column_kind_at(k)); k++) {
        bool found = false;
        for (int i = 0; i < count; i++) {
            const hr_feature_column *inner = hr_feature_column_source(list[i], 0);
            found |= hr_feature_column_kind(list[i]) == kind || (inner && hr_feature_column_kind(inner) == kind);
        }
        if (!found) fail_msg("no %s among the columns that are compared", kind->name);
    }
    for (int i = 0; i < count; i++) hr_feature_column_unref(list[i]);
}

static void layers_give_the_same(void **state)
{
    (void)state;
    static const hr_combiner combiners[] = {HR_SUM, HR_MEAN, HR_SQRTN};
    for (int i = 0; i < 6; i++) {
        both b;
        both_begin(&b, 100 + (uint64_t)i, wide_columns);
        assert_same_layer(&b, linear, &combiners[i % 3], 1e-5);
        both_end(&b);
        both_begin(&b, 200 + (uint64_t)i, deep_columns);
        assert_same_layer(&b, input, NULL, 1e-5);
        both_end(&b);
        both_begin(&b, 300 + (uint64_t)i, sequence_columns);
        assert_same_layer(&b, sequence, NULL, 1e-5);
        both_end(&b);
    }
}

/* The derivatives of both layers by all variables. Their slices have the same norm, since both have one for each id. */
static void assert_same_gradients(both *b, layer *make)
{
    hr_node loss[2], handle[MAX];
    hr_gradient fed[MAX], made[MAX];
    int count = 0;
    for (int i = 0; i < 2; i++) {
        hr_variable_scope(b->g, "model", .reuse = HR_AUTO_REUSE);
        loss[i] = hr_reduce_sum(hr_square(make(i ? b->made : b->fed, list_of(b), NULL)));
        hr_scope_end(b->g);
    }
    for (; count < hr_graph_variables(b->g); count++) handle[count] = hr_graph_variable(b->g, count)->handle;
    hr_gradients(&loss[0], 1, handle, count, fed);
    hr_gradients(&loss[1], 1, handle, count, made);
    hr_node dense[2][MAX], squares[2][MAX];
    for (int i = 0; i < count; i++) {
        squares[0][i] = hr_reduce_sum(hr_square(fed[i].values));
        squares[1][i] = hr_reduce_sum(hr_square(made[i].values));
        dense[0][i] = hr_gradient_dense(fed[i]);
        dense[1][i] = hr_gradient_dense(made[i]);
    }
    both_start(b);
    for (int i = 0; i < count; i++) {
        assert_same(b, hr_graph_variable(b->g, i)->name, dense[0][i], dense[1][i], 1e-4);
        assert_same(b, hr_graph_variable(b->g, i)->name, squares[0][i], squares[1][i], 1e-4);
    }
}

static void layers_learn_the_same(void **state)
{
    (void)state;
    both b;
    both_begin(&b, 400, wide_columns);
    assert_same_gradients(&b, linear);
    both_end(&b);
    both_begin(&b, 401, deep_columns);
    assert_same_gradients(&b, input);
    both_end(&b);
    both_begin(&b, 402, sequence_columns);
    assert_same_gradients(&b, sequence);
    both_end(&b);
}

/* Written and read, in a session with the same variables. */
static void a_graph_of_columns_comes_back(void **state)
{
    (void)state;
    both b;
    hr_error err;
    char *bytes;
    size_t size;
    both_begin(&b, 500, wide_columns);
    const hr_node sums = hr_identity(linear(b.made, list_of(&b), NULL), .name = "sums");
    both_start(&b);
    assert_ok(hr_graph_export(b.g, &bytes, &size, &err), &err);
    hr_graph *g = hr_graph_new();
    assert_ok(hr_graph_import(g, ((hr_view){bytes, (int64_t)size}), &err), &err);
    hr_free(bytes);
    hr_session *s = hr_session_new(g, .share = b.s);
    const hr_tensor *records = &b.feed[b.feeds - 1].value;
    hr_tensor before, after;
    const hr_feed feed = {hr_graph_node(g, "examples"), *records};
    const hr_node again = hr_graph_node(g, "sums");
    assert_ok(hr_session_run(b.s, b.feed, b.feeds, &sums, 1, &before, &err), &err);
    assert_ok(hr_session_run(s, &feed, 1, &again, 1, &after, &err), &err);
    assert_int_equal(before.count, 2 * ROWS);
    assert_memory_equal(after.data, before.data, (size_t)before.count * sizeof(float));
    hr_tensor_clear(&before);
    hr_tensor_clear(&after);
    hr_session_free(s);
    hr_graph_free(g);
    both_end(&b);
}

static void equal_columns_are_computed_once(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_feature_column *list[] = {hr_embedding_column(word(), 2), hr_indicator_column(word()),
                                 hr_weighted_categorical_column(word(), "weight")};
    const hr_node serialized = hr_placeholder(g, HR_STRING, HR_SHAPE(-1));
    const hr_column_list columns = {list, 3};
    hr_features_free(hr_features_from_examples(serialized, columns));
    int tables = 0;
    for (int32_t i = 0; i < hr_graph_size(g); i++)
        tables += strcmp(hr_node_op((hr_node){g, i, 0}), "LookupTableFindV2") == 0;
    assert_int_equal(tables, 1);
    for (int i = 0; i < 3; i++) hr_feature_column_unref(list[i]);
    hr_graph_free(g);
}

static void no_failed_allocation_is_lost(void **state)
{
    (void)state;
    hr_feature_column *list[MAX];
    const hr_column_list columns = {list, deep_columns(list)};
    bool whole = false;
    for (int64_t n = 0; !whole; n += n < 200 ? 1 : 5) {
        hr_graph *g = hr_graph_new();
        const hr_node serialized = hr_placeholder(g, HR_STRING, HR_SHAPE(-1));
        fail_allocation(n);
        hr_features *features = hr_features_from_examples(serialized, columns);
        whole = allocations_since() <= n;
        if (!whole && features && !hr_graph_error(g)) fail_msg("allocation %lld is lost", (long long)n);
        hr_features_free(features);
        hr_graph_free(g);
    }
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(list[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_gives_the_same_ids), cmocka_unit_test(no_kind_is_left_out),
        cmocka_unit_test(layers_give_the_same),          cmocka_unit_test(layers_learn_the_same),
        cmocka_unit_test(a_graph_of_columns_comes_back), cmocka_unit_test(equal_columns_are_computed_once),
        cmocka_unit_test(no_failed_allocation_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
