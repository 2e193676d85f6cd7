/* Features that a graph makes of serialized Examples: what is refused, and that a bad record fails a run as it fails a
 * pipeline. */
#include "tests/testing.h"
#include "train/layers/layers.h"

#include <headrace/column.h>
#include <headrace/io.h>
#include <string.h>

static hr_feature_column *identity_of(const char *key) { return hr_categorical_column_with_identity(key, 5); }
static hr_feature_column *weighted(void) { return hr_weighted_categorical_column(identity_of("id"), "weight"); }
static hr_feature_column *required(void) { return hr_numeric_column("x"); }
static hr_feature_column *far_id(void) { return identity_of("far"); }

/* What is wrong with the fourth of five records. */
typedef enum fault { NONE, VALUES, TYPE, CUT } fault;

static void row_of(hr_example *ex, fault wrong)
{
    static const int64_t ids[] = {1, 4, 5};
    static const float weights[] = {1, 2, 3};
    hr_example_add_int64(ex, "far", ids, wrong == VALUES ? 3 : 2);
    hr_example_add_int64(ex, "id", ids, 2);
    hr_example_add_float(ex, "weight", weights, wrong == VALUES ? 3 : 2);
    if (wrong == TYPE) hr_example_add_int64(ex, "x", ids, 1);
    if (wrong == NONE || wrong == CUT) hr_example_add_float(ex, "x", weights, 1);
}

static void five_records(hr_view *record, fault wrong)
{
    hr_error err;
    hr_example *ex = hr_example_new();
    for (int r = 0; r < 5; r++) {
        hr_view made;
        hr_example_clear(ex);
        row_of(ex, r == 3 ? wrong : NONE);
        assert_ok(hr_example_bytes(ex, &made, &err), &err);
        record[r] = (hr_view){hr_memdup(made.data, (size_t)made.size), made.size - (wrong == CUT && r == 3)};
    }
    hr_example_free(ex);
}

static hr_status graph_of(hr_feature_column *column, const hr_tensor *records, hr_error *err)
{
    hr_graph *g = hr_graph_new();
    const hr_node serialized = hr_placeholder(g, HR_STRING, HR_SHAPE(-1));
    hr_features *features = hr_features_from_examples(serialized, HR_COLUMNS(column));
    const hr_node out = hr_linear_model(features, HR_COLUMNS(column));
    const hr_node begin = hr_target(hr_global_variables_initializer(g));
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    hr_tensor result = {0};
    assert_ok(hr_session_run(s, NULL, 0, &begin, 1, NULL, err), err);
    const hr_status st = hr_session_run(s, &(hr_feed){serialized, *records}, 1, &out, 1, &result, err);
    hr_tensor_clear(&result);
    hr_session_free(s);
    hr_features_free(features);
    hr_graph_free(g);
    return st;
}

static hr_status pipeline_of(hr_feature_column *column, const hr_tensor *records, hr_error *err)
{
    hr_parse_spec *spec;
    const hr_element *e;
    assert_ok(hr_make_parse_example_spec(HR_COLUMNS(column), &spec, err), err);
    hr_dataset *ds = hr_parse_example(hr_batch(hr_from_tensor_slices(records, NULL, 1), 5), spec);
    hr_iterator *it = hr_iterate(hr_transform_features(ds, HR_COLUMNS(column)));
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) continue;
    if (st != HR_END) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    hr_parse_spec_free(spec);
    return st == HR_END ? HR_OK : st;
}

static void a_bad_record_fails_the_run_as_it_fails_a_pipeline(void **state)
{
    (void)state;
    static const struct {
        hr_feature_column *(*column)(void);
        fault wrong;
        const char *kind, *graphs_kind, *graphs_text;
    } cases[] = {
        {far_id, VALUES, "column.id_range", "graph.assert", "feature 'far': expected ids in [0, 5)"},
        {weighted, VALUES, "column.weights", "graph.assert", "feature 'weight': expected a weight for each id"},
        {required, VALUES, "example.missing", "example.missing", "'x'"},
        {required, TYPE, "example.kind", "example.kind", "'x'"},
        {required, CUT, "example.wire", "example.wire", ""},
        {required, NONE, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_view record[5];
        hr_error graphs = {0}, pipelines = {0};
        five_records(record, cases[i].wrong);
        const hr_tensor records = hr_tensor_of(HR_STRING, HR_SHAPE(5), record);
        hr_feature_column *column = cases[i].column();
        assert_int_equal(graph_of(column, &records, &graphs), pipeline_of(column, &records, &pipelines));
        if (cases[i].wrong != NONE) {
            assert_string_equal(pipelines.kind, cases[i].kind);
            assert_string_equal(graphs.kind, cases[i].graphs_kind);
            assert_non_null(strstr(graphs.text, cases[i].graphs_text));
        }
        hr_feature_column_unref(column);
        for (int r = 0; r < 5; r++) hr_free((void *)(uintptr_t)record[r].data);
    }
}

static void halve(const void *in, hr_dtype dtype, float *out, int64_t count, void *user)
{
    (void)dtype;
    (void)user;
    for (int64_t i = 0; i < count; i++) out[i] = ((const float *)in)[i] / 2;
}

static hr_status no_name(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                         hr_error *err)
{
    (void)spec;
    (void)source;
    HR_TRY(hr_column_name(out, err, "plain"));
    HR_TRY(hr_column_read_var_len(out, "plain", HR_INT64, err));
    hr_column_describe(out)->categorical = true;
    hr_column_describe(out)->num_buckets = 3;
    return HR_OK;
}

static hr_status no_work(const void *spec, hr_column_work *w, const hr_column_values *in, hr_column_values *out,
                         hr_error *err)
{
    (void)spec;
    return hr_column_present(w, in, out, err);
}

static void assert_graph_refuses(hr_feature_column *column, hr_status code, const char *kind, const char *text)
{
    hr_graph *g = hr_graph_new();
    hr_features_free(hr_features_from_examples(hr_placeholder(g, HR_STRING, HR_SHAPE(-1)), HR_COLUMNS(column)));
    const hr_error *err = hr_graph_error(g);
    assert_non_null(err);
    if (err->code != code || strcmp(err->kind, kind) != 0 || !strstr(err->text, text))
        fail_msg("expected %s, \"%s\", got %s: %s", kind, text, err->kind, err->text);
    hr_graph_free(g);
    hr_feature_column_unref(column);
}

static void what_ops_cannot_say_is_refused_by_name(void **state)
{
    (void)state;
    static const hr_column_kind plain = {
        .head = HR_COLUMN_HEAD, .name = "plain_column", .describe = no_name, .transform = no_work};
    assert_graph_refuses(hr_numeric_column("x", .normalizer_fn = halve), HR_UNIMPLEMENTED, "column.to_graph",
                         "numeric_column 'x'");
    assert_graph_refuses(hr_feature_column_new(&plain, "", NULL, 0), HR_UNIMPLEMENTED, "column.to_graph",
                         "plain_column 'plain'");
    assert_graph_refuses(hr_numeric_column(""), HR_INVALID_ARGUMENT, "column.key", "");
    assert_null(hr_features_from_examples((hr_node){0}, HR_COLUMNS(NULL)));

    hr_graph *g = hr_graph_new();
    hr_feature_column *x = required();
    hr_features_free(hr_features_from_examples(hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1)), HR_COLUMNS(x)));
    assert_string_equal(hr_graph_error(g)->kind, "layers.shape");
    hr_feature_column_unref(x);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_record_fails_the_run_as_it_fails_a_pipeline),
        cmocka_unit_test(what_ops_cannot_say_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
