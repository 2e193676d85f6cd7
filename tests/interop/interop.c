/* The side of Headrace in the tests against a real TensorFlow: writes files for it, reads and prints what it wrote. One
 * subcommand a direction; lines of text that interop.py takes apart. Bytes are printed in hex. */
#include "tests/train/estimator/trainings.h"
#include <headrace/checkpoint.h>
#include <headrace/control_flow.h>
#include <headrace/graphdef.h>
#include <headrace/headrace.h>
#include <headrace/meta_graph.h>
#include <headrace/ops.h>
#include <headrace/summary.h>
#include <headrace/tables.h>
#include <headrace/transforms.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const hr_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

static void print_hex(const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++) printf("%02x", ((const unsigned char *)data)[i]);
}

/* ---- TFRecords of tf.Examples ---- */

static hr_status write_example(hr_record_writer *w, hr_example *example, int64_t i, hr_error *err)
{
    float numbers[] = {(float)i / 3, -0.0f, INFINITY};
    int64_t integers[] = {i, -i, INT64_MIN, INT64_MAX};
    char text[64];
    hr_view words[] = {{text, (int64_t)snprintf(text, sizeof text, "word %d", (int)i)}, {"\0\xff", 2}, {"", 0}}, bytes;
    hr_example_clear(example);
    hr_example_add_float(example, "numbers", numbers, 3);
    hr_example_add_int64(example, "integers", integers, i % 5);
    hr_example_add_bytes(example, "words", words, 3);
    HR_TRY(hr_example_bytes(example, &bytes, err));
    return hr_record_write(w, bytes.data, (size_t)bytes.size, err);
}

static hr_status write_records(const char *path, hr_compression compression, hr_error *err)
{
    hr_record_writer *w;
    hr_example *example = hr_example_new();
    hr_status st = hr_record_writer_open(path, &(hr_output_opts){.compression = compression}, &w, err);
    if (st == HR_OK) {
        for (int64_t i = 0; i < 1000 && st == HR_OK; i++) st = write_example(w, example, i, err);
        if (st == HR_OK) st = hr_record_write(w, "", 0, err);
        if (st == HR_OK)
            st = hr_record_writer_commit(w, err);
        else
            hr_record_writer_discard(w);
    }
    hr_example_free(example);
    return st;
}

static hr_compression compression_of(const char *name)
{
    return strcmp(name, "GZIP") == 0 ? HR_GZIP : strcmp(name, "ZLIB") == 0 ? HR_ZLIB : HR_NONE;
}

static int run_write_records(char **argument)
{
    hr_error err = {0};
    return write_records(argument[0], compression_of(argument[1]), &err) == HR_OK ? 0 : fail(&err);
}

static int run_read_records(char **argument)
{
    hr_record_reader *reader;
    hr_view record;
    hr_error err = {0};
    hr_status st =
        hr_record_reader_open(argument[0], &(hr_input_opts){.compression = compression_of(argument[1])}, &reader, &err);
    if (st != HR_OK) return fail(&err);
    while ((st = hr_record_read(reader, &record, &err)) == HR_OK) {
        print_hex(record.data, (size_t)record.size);
        printf("\n");
    }
    hr_record_reader_free(reader);
    return st == HR_END ? 0 : fail(&err);
}

/* ---- checkpoints ---- */

static hr_status write_tensors(hr_bundle_writer *w, hr_error *err)
{
    static const float floats[] = {1.5f, -2, 3e38f, 1e-45f, 0, -0.0f};
    static const double doubles[] = {0.1, -1e300};
    static const int64_t longs[] = {INT64_MIN, -1, INT64_MAX};
    static const int32_t ints[] = {-7, 7};
    static const uint8_t bytes[] = {0, 255};
    static const bool flags[] = {true, false, true};
    static const uint16_t halves[] = {0x3c00, 0xc000}; /* 1, -2 */
    const hr_view words[] = {{"a", 1}, {"", 0}, {"\0b\xff", 3}};
    const int64_t step = 42;
    const struct {
        const char *name;
        hr_tensor tensor;
    } all[] = {
        {"global_step", hr_tensor_of(HR_INT64, HR_SCALAR, &step)},
        {"floats", hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), floats)},
        {"empty", hr_tensor_of(HR_FLOAT, HR_SHAPE(0, 4), floats)},
        {"deep/doubles", hr_tensor_of(HR_DOUBLE, HR_SHAPE(2), doubles)},
        {"longs", hr_tensor_of(HR_INT64, HR_SHAPE(3), longs)},
        {"ints", hr_tensor_of(HR_INT32, HR_SHAPE(2, 1), ints)},
        {"bytes", hr_tensor_of(HR_UINT8, HR_SHAPE(2), bytes)},
        {"flags", hr_tensor_of(HR_BOOL, HR_SHAPE(3), flags)},
        {"halves", hr_tensor_of(HR_HALF, HR_SHAPE(2), halves)},
        {"words", hr_tensor_of(HR_STRING, HR_SHAPE(3), words)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) HR_TRY(hr_bundle_add(w, all[i].name, &all[i].tensor, err));
    return HR_OK;
}

static int run_write_checkpoint(char **argument)
{
    hr_bundle_writer *w;
    hr_error err = {0};
    if (hr_bundle_writer_open(argument[0], &w, &err) != HR_OK) return fail(&err);
    hr_status st = write_tensors(w, &err);
    if (st == HR_OK)
        st = hr_bundle_writer_commit(w, &err);
    else
        hr_bundle_writer_discard(w);
    return st == HR_OK ? 0 : fail(&err);
}

static void print_tensor(const char *name, const hr_tensor *t)
{
    printf("%s %s ", name, hr_dtype_name(t->dtype));
    for (int i = 0; i < t->shape.rank; i++) printf("%s%d", i ? "," : "", (int)t->shape.dims[i]);
    printf(" ");
    if (t->dtype != HR_STRING) print_hex(t->data, (size_t)t->count * hr_dtype_size(t->dtype));
    for (int64_t i = 0; t->dtype == HR_STRING && i < t->count; i++) {
        const hr_view *v = (const hr_view *)t->data + i;
        if (i) printf(",");
        print_hex(v->data, (size_t)v->size);
    }
    printf("\n");
}

static int run_read_checkpoint(char **argument)
{
    hr_bundle *b;
    const hr_bundle_entry *entry;
    hr_error err = {0};
    int count;
    if (hr_bundle_open(argument[0], &b, &err) != HR_OK) return fail(&err);
    hr_status st = hr_bundle_list(b, &entry, &count, &err);
    for (int i = 0; st == HR_OK && i < count; i++) {
        hr_tensor t;
        st = hr_bundle_read(b, entry[i].name, &t, &err);
        if (st != HR_OK) break;
        print_tensor(entry[i].name, &t);
        hr_tensor_clear(&t);
    }
    hr_bundle_free(b);
    return st == HR_OK ? 0 : fail(&err);
}

/* ---- event files ---- */

static hr_status write_some(hr_event_writer *w, hr_error *err)
{
    float values[100];
    for (int i = 0; i < 100; i++) values[i] = (float)(i * i % 17) - 5.5f;
    hr_summary_value pair[] = {{.tag = "loss", .values = &values[3], .count = 1},
                               {.tag = "accuracy", .values = &values[4], .count = 1}};
    HR_TRY(hr_event_session(w, HR_SESSION_START, NULL, 1, err));
    HR_TRY(hr_event_summary(w, pair, 2, 1, err));
    HR_TRY(hr_event_histogram(w, "weights", values, 100, 2, err));
    HR_TRY(hr_event_text(w, "note", "all is well", 3, err));
    return hr_event_scalar(w, "loss", 0.25f, 1LL << 40, err);
}

/* A picture, a histogram of TensorFlow 2, run metadata, and so many scalars that they take several files. */
static hr_status write_more(hr_event_writer *w, hr_error *err)
{
    char *bytes;
    size_t size;
    const double values[] = {-1, 2, 2};
    HR_TRY(hr_summary_image((hr_view){"picture", 7}, 1, 2, 3, (const uint8_t *)"abcdef", &bytes, &size, err));
    hr_status st = hr_event_summary_bytes(w, (hr_view){bytes, (int64_t)size}, 1, err);
    hr_free(bytes);
    HR_TRY(st);
    HR_TRY(hr_summary_histogram_v2((hr_view){"v2", 2}, values, 3, 3, &bytes, &size, err));
    st = hr_event_summary_bytes(w, (hr_view){bytes, (int64_t)size}, 1, err);
    hr_free(bytes);
    HR_TRY(st);
    HR_TRY(hr_event_run_metadata(w, "step_1", (hr_view){"", 0}, 1, err));
    for (int64_t i = 0; i < 100; i++) HR_TRY(hr_event_scalar(w, "many", (float)i, i, err));
    return HR_OK;
}

static int run_write_files_of_events(char **argument)
{
    hr_event_writer *w;
    hr_error err = {0};
    const hr_event_writer_opts opts = {.struct_size = sizeof opts, .max_file_bytes = 2000};
    if (hr_event_writer_open_with(argument[0], &opts, &w, &err) != HR_OK) return fail(&err);
    hr_status st = write_more(w, &err);
    if (st == HR_OK) st = hr_event_writer_flush(w, &err);
    hr_event_writer_free(w);
    return st == HR_OK ? 0 : fail(&err);
}

static int run_write_events(char **argument)
{
    hr_event_writer *w;
    hr_error err = {0};
    if (hr_event_writer_open(argument[0], &w, &err) != HR_OK) return fail(&err);
    hr_status st = write_some(w, &err);
    hr_event_writer_free(w);
    return st == HR_OK ? 0 : fail(&err);
}

static void print_event(const hr_event *e)
{
    static const char *const kinds[] = {[HR_EVENT_SCALAR] = "scalar", [HR_EVENT_HISTOGRAM] = "histogram",
                                        [HR_EVENT_IMAGE] = "image",   [HR_EVENT_IMAGES] = "images",
                                        [HR_EVENT_TEXT] = "text",     [HR_EVENT_TENSOR] = "tensor",
                                        [HR_EVENT_GRAPH] = "graph",   [HR_EVENT_LOG] = ""};
    const char *kind = (size_t)e->kind < sizeof kinds / sizeof *kinds ? kinds[e->kind] : NULL;
    if (!kind) return;
    printf("%lld %s %s", (long long)e->step, e->tag, kind);
    if (e->kind == HR_EVENT_SCALAR) printf(" %.9g", e->scalar);
    if (e->kind == HR_EVENT_HISTOGRAM) printf(" %.17g %.17g %.17g %d", e->min, e->max, e->num, (int)e->bucket_count);
    for (int64_t i = 0; i < e->text_count && e->kind == HR_EVENT_TEXT; i++)
        printf(" %.*s", (int)e->texts[i].size, e->texts[i].data);
    printf("\n");
}

static int run_read_events(char **argument)
{
    hr_event_reader *r;
    const hr_event *e;
    hr_error err = {0};
    if (hr_event_reader_open(argument[0], NULL, &r, &err) != HR_OK) return fail(&err);
    hr_status st;
    while ((st = hr_event_read(r, &e, &err)) == HR_OK) print_event(e);
    hr_event_reader_free(r);
    return st == HR_END ? 0 : fail(&err);
}

/* ---- estimators ---- */

static classifier_spec spec_of(const char *kind, const char *model_dir)
{
    return (classifier_spec){.kind = strcmp(kind, "linear") == 0 ? LINEAR
                                     : strcmp(kind, "dnn") == 0  ? DNN
                                                                 : COMBINED,
                             .model_dir = model_dir};
}

static int run_write_rows(char **argument)
{
    write_rows(argument[0], ROWS);
    return 0;
}

/* kind, records, model, steps: trains so many more. */
static int run_train(char **argument)
{
    classifier_spec spec = spec_of(argument[0], argument[2]);
    test_input in = {.folder = argument[1], .epochs = -1, .batch = 20};
    hr_estimator *e = new_test_classifier(&spec);
    hr_train_result result;
    hr_status st = hr_estimator_train(e, test_input_fn, &in, .steps = atoi(argument[3]), .result = &result);
    if (st == HR_OK)
        printf("%d %d %d\n", (int)result.first_step, (int)result.last_step, result.resumed);
    else
        fail(hr_estimator_error(e));
    hr_estimator_free(e);
    return st != HR_OK;
}

/* kind, records, model: the results of the latest checkpoint. */
static int run_evaluate(char **argument)
{
    classifier_spec spec = spec_of(argument[0], argument[2]);
    test_input in = {.folder = argument[1], .batch = 50};
    hr_estimator *e = new_test_classifier(&spec);
    hr_status st = hr_estimator_evaluate(e, test_eval_fn, &in, .name = "headrace");
    for (int i = 0; i < hr_estimator_results(e) && st == HR_OK; i++) {
        const char *name = hr_estimator_result_name(e, i);
        printf("%s %.9g\n", name, hr_estimator_result(e, name));
    }
    if (st != HR_OK) fail(hr_estimator_error(e));
    hr_estimator_free(e);
    return st != HR_OK;
}

/* ---- graphs ---- */

static void below_100(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(g, HR_FLOAT, 100));
}

static void plus_one(hr_graph *g, hr_node *results, void *user)
{
    const hr_node *nodes = user; /* x, w */
    hr_assign_add(nodes[1], hr_scalar(g, HR_FLOAT, 1));
    results[0] = hr_add(nodes[0], hr_scalar(g, HR_FLOAT, 1));
}

static void twice(hr_graph *g, hr_node *results, void *user)
{
    results[0] = hr_mul(*(const hr_node *)user, hr_scalar(g, HR_FLOAT, 2));
}

/* Odd numbers get one more, and the variable counts them; even ones double. */
static void odd_or_even(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    hr_node nodes[] = {vars[0], *(const hr_node *)user};
    const hr_node odd = hr_greater(hr_floor_mod(vars[0], hr_scalar(g, HR_FLOAT, 2)), hr_scalar(g, HR_FLOAT, 0));
    hr_cond(odd, plus_one, twice, nodes, results, 1);
}

/* A graph of x: a loop with a branch and a variable in it, gives y and its derivative dy. */
static int run_write_graph(char **argument)
{
    hr_error err;
    hr_gradient dy;
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x"), last;
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_while_loop(below_100, odd_or_even, &w, &x, 1, &last);
    hr_identity(last, .name = "y");
    hr_gradients(&last, 1, &x, 1, &dy);
    hr_identity(dy.values, .name = "dy");
    hr_global_variables_initializer(g);
    const hr_status st = hr_graph_write(g, argument[0], &err);
    hr_graph_free(g);
    return st == HR_OK ? 0 : fail(&err);
}

/* The layers over columns of every kind, of serialized Examples: interop.py has the same columns of TensorFlow. */
enum { WIDE = 4, DEEP = 7, STEPS = 2 };
static void columns_of_each_kind(hr_feature_column **wide, hr_feature_column **deep, hr_feature_column **steps)
{
    const float boundaries[] = {-1, 0, 0.5f};
    hr_feature_column *x = hr_numeric_column("x", .default_value = HR_F32(0.5f));
    hr_feature_column *word =
        hr_categorical_column_with_vocabulary_list("word", HR_VOCABULARY("a", "b", "c"), .num_oov_buckets = 3);
    hr_feature_column *file =
        hr_categorical_column_with_vocabulary_file("more", "words.txt", .default_value = HR_I64(2));
    hr_feature_column *id = hr_categorical_column_with_identity("id", 5, .default_value = HR_I64(1));
    hr_feature_column *bucket = hr_bucketized_column(hr_feature_column_ref(x), boundaries, 3);
    const hr_cross_keys keys =
        HR_CROSS({.column = hr_feature_column_ref(bucket)}, {.key = "more"}, {.column = hr_feature_column_ref(id)});
    wide[0] = hr_weighted_categorical_column(hr_feature_column_ref(word), "weight");
    wide[1] = hr_categorical_column_with_hash_bucket("number", 7, .dtype = HR_INT64);
    wide[2] = hr_crossed_column(keys, 23, .hash_key = 99);
    wide[3] = hr_numeric_column("pair", .shape = HR_SHAPE(2), .mean = 1, .std = 2);
    deep[0] = x;
    deep[1] = bucket;
    deep[2] = hr_indicator_column(id);
    deep[3] = hr_embedding_column(word, 3, .combiner = HR_SQRTN, .max_norm = 0.5f);
    deep[4] = hr_embedding_column(hr_feature_column_ref(wide[0]), 2);
    deep[5] = hr_indicator_column(hr_feature_column_ref(wide[0]));
    deep[6] = hr_embedding_column(file, 2, .combiner = HR_SUM);
    steps[0] =
        hr_indicator_column(hr_sequence_categorical_column_with_vocabulary_list("said", HR_VOCABULARY("a", "b")));
    steps[1] = hr_sequence_numeric_column("way", .shape = HR_SHAPE(2), .default_value = 9);
}

static int run_write_columns(char **argument)
{
    hr_error err;
    hr_feature_column *all[WIDE + DEEP + STEPS];
    const hr_column_list every = {all, WIDE + DEEP + STEPS}, wide = {all, WIDE}, deep = {all + WIDE, DEEP};
    const hr_column_list steps = {all + WIDE + DEEP, STEPS};
    columns_of_each_kind(all, all + WIDE, all + WIDE + DEEP);
    hr_graph *g = hr_graph_new();
    hr_features *features =
        hr_features_from_examples(hr_placeholder(g, HR_STRING, HR_SHAPE(-1), .name = "examples"), every);
    hr_node lengths;
    hr_identity(hr_linear_model(features, wide, .units = 2), .name = "wide");
    hr_identity(hr_input_layer(features, deep), .name = "deep");
    hr_identity(hr_sequence_features(features, steps, &lengths), .name = "steps");
    hr_identity(lengths, .name = "lengths");
    hr_tables_initializer(g);
    const hr_status st = hr_graph_write(g, argument[0], &err);
    hr_features_free(features);
    hr_graph_free(g);
    for (int i = 0; i < every.count; i++) hr_feature_column_unref(all[i]);
    return st == HR_OK ? 0 : fail(&err);
}

static void squared(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    (void)g, (void)user;
    results[0] = hr_square(vars[0]);
}

static void ten_times_and(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(hr_mul(vars[0], hr_scalar(g, HR_FLOAT, 10)), vars[1]);
}

/* The same for loops over rows: a map, then a scan from the last to the first. */
static int run_write_row_loops(char **argument)
{
    hr_error err;
    hr_gradient dy;
    hr_graph *g = hr_graph_new();
    const hr_tensor numbers = hr_tensor_of(HR_FLOAT, HR_SHAPE(3), HR_F32(1, 2, 3));
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x"), rows = hr_mul(x, hr_const(g, &numbers));
    hr_node mapped, scanned;
    hr_map_loop(squared, NULL, &rows, 1, &mapped, 1);
    hr_scan_loop(ten_times_and, NULL, &mapped, 1, NULL, &scanned, 1, .reverse = true);
    const hr_node y = hr_reduce_sum(scanned);
    hr_identity(y, .name = "y");
    hr_gradients(&y, 1, &x, 1, &dy);
    hr_identity(dy.values, .name = "dy");
    hr_global_variables_initializer(g);
    const hr_status st = hr_graph_write(g, argument[0], &err);
    hr_graph_free(g);
    return st == HR_OK ? 0 : fail(&err);
}

static hr_status print_values(hr_session *s, float in, const hr_node *fetches, int count, hr_error *err)
{
    hr_tensor out[2];
    hr_graph *g = fetches[0].graph;
    const hr_node init = hr_target(hr_graph_node(g, "init"));
    const hr_feed feed = {hr_graph_node(g, "x:0"), hr_tensor_of(HR_FLOAT, HR_SCALAR, &in)};
    hr_status st = hr_session_run(s, NULL, 0, &init, 1, NULL, err);
    if (st == HR_OK) st = hr_session_run(s, &feed, 1, fetches, count, out, err);
    for (int i = 0; st == HR_OK && i < count; i++) {
        printf("%.9g\n", (double)*(const float *)out[i].data);
        hr_tensor_clear(&out[i]);
    }
    return st;
}

static hr_status run_graph(hr_graph *g, float in, hr_error *err)
{
    hr_gradient own;
    const hr_node x = hr_graph_node(g, "x:0"), y = hr_graph_node(g, "y:0"), fetches[] = {y, hr_graph_node(g, "dy:0")};
    hr_session *s = hr_session_new(g);
    hr_status st = print_values(s, in, fetches, 2, err);
    hr_gradients(&y, 1, &x, 1, &own);
    const bool refused = hr_graph_error(g) && hr_graph_error(g)->code == HR_UNIMPLEMENTED;
    if (st == HR_OK && !refused) st = print_values(s, in, &own.values, 1, err);
    hr_session_free(s);
    return st;
}

/* The y and dy of an x, in a graph of that form from a file, and dy by a gradient of our own, unless that is refused. */
static int run_run_graph(char **argument)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    hr_status st = hr_graph_read(g, argument[0], &err);
    if (st == HR_OK) st = run_graph(g, strtof(argument[1], NULL), &err);
    hr_graph_free(g);
    return st == HR_OK ? 0 : fail(&err);
}

/* The values of each float64 node of these names, in a graph from a file: a line a node; what fails, in words. */
static int run_node_values(char **argument)
{
    hr_error err;
    char names[1 << 16];
    hr_graph *g = hr_graph_new();
    if (hr_graph_read(g, argument[0], &err) != HR_OK) return fail(&err);
    snprintf(names, sizeof names, "%s", argument[1]);
    hr_session *s = hr_session_new(g);
    for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
        const hr_node node = hr_graph_node(g, name);
        hr_tensor out;
        if (hr_session_run(s, NULL, 0, &node, 1, &out, &err) != HR_OK) {
            printf("%s: %s\n", name, err.text);
            continue;
        }
        for (int64_t i = 0; i < out.count; i++) printf("%.17g ", ((const double *)out.data)[i]);
        printf("\n");
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
    hr_graph_free(g);
    return 0;
}

/* y = x w + b, with variables, collections and a signature. */
static int run_write_meta_graph(char **argument)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    hr_meta_graph *m = hr_meta_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2), .name = "x");
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2, 1), .initializer = hr_ones());
    hr_node b = hr_get_variable(g, "b", HR_FLOAT, HR_SHAPE(1), .initializer = hr_constant_value(0.5));
    hr_get_variable(g, "scratch", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros(), .sets = HR_LOCAL_VARIABLES);
    hr_global_step(g);
    hr_add_to_collection(g, "my_outputs", hr_identity(hr_add(hr_matmul(x, w), b), .name = "y"));
    const hr_meta_tensor in = {"in", "x:0", NULL, NULL, HR_FLOAT, HR_SHAPE(-1, 2)},
                         out = {"out", "y:0", NULL, NULL, HR_FLOAT, HR_SHAPE(-1, 1)};
    const hr_meta_signature signature = {"serving_default", "tensorflow/serving/predict", &in, &out, 1, 1};
    hr_status st = hr_meta_graph_add_tag(m, "serve", &err);
    if (st == HR_OK) st = hr_meta_graph_add_signature(m, &signature, &err);
    if (st == HR_OK) st = hr_meta_graph_write(g, m, argument[0], &err);
    hr_meta_graph_free(m);
    hr_graph_free(g);
    return st == HR_OK ? 0 : fail(&err);
}

static hr_status run_restored(hr_graph *g, const char *prefix, hr_error *err)
{
    hr_tensor out;
    const hr_node y = hr_graph_node(g, "y:0");
    const hr_feed feed = {hr_graph_node(g, "x:0"), hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), ((float[]){3, 4}))};
    hr_session *s = hr_session_new(g);
    hr_status st = hr_session_restore(s, prefix, NULL, err);
    if (st == HR_OK) st = hr_session_run(s, &feed, 1, &y, 1, &out, err);
    if (st == HR_OK) {
        printf("%.9g\n", (double)*(const float *)out.data);
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
    return st;
}

/* Names of variables, those that are trained first; then the y of (3, 4) with the values of a checkpoint. */
static int run_read_meta_graph(char **argument)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    hr_meta_graph *m = NULL;
    hr_status st = hr_meta_graph_read(g, argument[0], &m, &err);
    for (int trained = 1; st == HR_OK && trained >= 0; trained--)
        for (int i = 0; i < hr_graph_variables(g); i++) {
            const hr_variable_info *v = hr_graph_variable(g, i);
            if (trained == ((v->sets & HR_TRAINABLE_VARIABLES) != 0)) printf("%s\n", v->name);
        }
    if (st == HR_OK) st = run_restored(g, argument[1], &err);
    hr_meta_graph_free(m);
    hr_graph_free(g);
    return st == HR_OK ? 0 : fail(&err);
}

/* A MetaGraphDef and its checkpoint as a frozen GraphDef that gives y. */
static int run_freeze_graph(char **argument)
{
    hr_error err;
    hr_graph *g = hr_graph_new(), *frozen = NULL;
    hr_session *s = NULL;
    hr_status st = hr_meta_graph_read(g, argument[0], NULL, &err);
    if (st == HR_OK) s = hr_session_new(g);
    if (st == HR_OK) st = hr_session_restore(s, argument[1], NULL, &err);
    const hr_node y = hr_graph_node(g, "y:0");
    if (st == HR_OK) st = hr_freeze_graph(s, &y, 1, &frozen, &err);
    if (st == HR_OK) st = hr_graph_write(frozen, argument[2], &err);
    hr_graph_free(frozen);
    hr_session_free(s);
    hr_graph_free(g);
    return st == HR_OK ? 0 : fail(&err);
}

/* A GraphDef that gives y after transforms. */
static int run_transform_graph(char **argument)
{
    hr_error err;
    hr_graph *g = hr_graph_new(), *out = NULL;
    hr_status st = hr_graph_read(g, argument[0], &err);
    const hr_node y = hr_graph_node(g, "y:0");
    if (st == HR_OK) st = hr_graph_transform(g, argument[1], &y, 1, &out, &err);
    if (st == HR_OK) st = hr_graph_write(out, argument[2], &err);
    hr_graph_free(out);
    hr_graph_free(g);
    return st == HR_OK ? 0 : fail(&err);
}

/* ---- SavedModels ---- */

/* "FOLDER/PREFIX_KEY", with '_' for each slash of the key. */
static void tensor_path(const char *folder, const char *prefix, const char *key, char *path, size_t size)
{
    const size_t at = (size_t)snprintf(path, size, "%s/%s_", folder, prefix);
    snprintf(path + at, size - at, "%s", key);
    for (char *p = path + at; *p; p++)
        if (*p == '/' || *p == ':') *p = '_';
}

static hr_status read_tensor(const char *path, hr_tensor *out, hr_error *err)
{
    hr_input *in;
    const char *data;
    size_t size = 0, before;
    HR_TRY(hr_input_open_with(path, &(hr_input_opts){sizeof(hr_input_opts), .compression = HR_NONE}, &in, err));
    hr_status st;
    do {
        before = size;
        st = hr_input_peek(in, size + 1, &data, &size, err);
    } while (st == HR_OK && size > before);
    if (st == HR_OK) st = hr_tensor_import((hr_view){data, (int64_t)size}, out, err);
    hr_input_free(in);
    return st;
}

static hr_status write_tensor(const char *path, const hr_tensor *t, hr_error *err)
{
    char *bytes;
    size_t size;
    hr_output *out;
    HR_TRY(hr_tensor_export(t, &bytes, &size, err));
    hr_status st =
        hr_output_open_with(path, &(hr_output_opts){sizeof(hr_output_opts), .compression = HR_NONE}, &out, err);
    if (st == HR_OK) {
        hr_output_write(out, bytes, size, NULL);
        st = hr_output_commit(out, err);
    }
    hr_free(bytes);
    return st;
}

static hr_status call_predictor(const hr_predictor *p, const char *folder, hr_error *err)
{
    enum { MOST = 16 };
    hr_tensor in[MOST] = {{0}}, out[MOST] = {{0}};
    char path[2000];
    const hr_meta_signature *s = hr_predictor_signature(p);
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < s->input_count && i < MOST; i++) {
        tensor_path(folder, "in", s->inputs[i].key, path, sizeof path);
        st = read_tensor(path, &in[i], err);
    }
    if (st == HR_OK) st = hr_predictor_run(p, in, out, err);
    for (int i = 0; st == HR_OK && i < hr_predictor_outputs(p) && i < MOST; i++) {
        tensor_path(folder, "out", hr_predictor_output(p, i)->key, path, sizeof path);
        st = write_tensor(path, &out[i], err);
    }
    for (int i = 0; i < MOST; i++) {
        hr_tensor_clear(&in[i]);
        hr_tensor_clear(&out[i]);
    }
    return st;
}

/* A signature of a model, on tensors of files in_KEY in a folder, to out_KEY. */
static int run_saved_model(char **argument)
{
    hr_error err;
    hr_saved_model *m;
    hr_predictor *p = NULL;
    hr_status st = hr_saved_model_load(argument[0], &m, &err);
    if (st == HR_OK) st = hr_predictor_new(m, argument[1], NULL, 0, &p, &err);
    if (st == HR_OK) st = call_predictor(p, argument[2], &err);
    hr_predictor_free(p);
    hr_saved_model_unref(m);
    return st == HR_OK ? 0 : fail(&err);
}

/* A model written again: "again" as it is, "frozen", or "inference", frozen and transformed. */
static int rewrite_saved_model(char **argument)
{
    hr_error err;
    hr_saved_model *m;
    hr_saved_model_writer *w;
    const bool again = strcmp(argument[1], "again") == 0, inference = strcmp(argument[1], "inference") == 0;
    hr_status st = hr_saved_model_load(argument[0], &m, &err);
    if (st == HR_OK && !again)
        st = hr_saved_model_rewrite(m, argument[2], &err, .freeze = true,
                                    .transforms = inference ? "inline_functions " HR_OPTIMIZE_FOR_INFERENCE : NULL);
    if (st == HR_OK && again) {
        st = hr_saved_model_writer_open(argument[2], &w, &err);
        if (st == HR_OK) st = hr_saved_model_writer_add(w, hr_saved_model_session(m), &err, .model = m);
        if (st == HR_OK) st = hr_saved_model_writer_commit(w, &err);
    }
    hr_saved_model_unref(m);
    return st == HR_OK ? 0 : fail(&err);
}

/* An estimator's export; prints its folder. */
static int export_estimator(char **argument)
{
    classifier_spec spec = spec_of(argument[0], argument[1]);
    char *path;
    hr_estimator *e = new_test_classifier(&spec);
    const bool raw = strcmp(argument[3], "raw") == 0;
    const hr_status st = hr_estimator_export(e, argument[2], &path, .serving_fn = raw ? hr_raw_serving_input : NULL);
    if (st == HR_OK) printf("%s\n", path);
    const int code = st == HR_OK ? 0 : fail(hr_estimator_error(e));
    if (st == HR_OK) hr_free(path);
    hr_estimator_free(e);
    return code;
}

/* ---- a model that is trained with callbacks ---- */

static void write_bar(const char *text, void *user) { fputs(text, user); }

/* y = 2x - 1 from w = 0.5 and b = 0; in a folder the files of the callbacks, and the text of the bar. */
static int fit_model(char **argument)
{
    static const float x[] = {-1, 0, 1, 2, 3, 4}, y[] = {-3, -1, 1, 3, 5, 7}, w[] = {0.5f}, b[] = {0};
    const hr_tensor data[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), y)};
    const hr_tensor weights[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), w), hr_tensor_of(HR_FLOAT, HR_SHAPE(1), b)};
    char path[5][512];
    const char *const name[] = {"bar", "logs", "log.csv", "w-{epoch:02d}-{val_loss:.3f}", "best"};
    hr_error err = {0};
    for (int i = 0; i < 5; i++) (void)snprintf(path[i], sizeof path[i], "%s/%s", argument[0], name[i]);
    FILE *bar = fopen(path[0], "w");
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1, .name = "d")), .input_shape = HR_SHAPE(1));
    hr_status st =
        hr_compile(m, .optimizer = hr_sgd(0.02f, .keras = true), .loss = "mse", .metrics = HR_STRINGS("mae"));
    if (st == HR_OK) st = hr_set_weights(m, weights, 2, &err);
    if (st == HR_OK && bar &&
        !hr_fit(m, hr_from_tensor_slices(data, NULL, 2), .epochs = 3, .batch_size = 2, .no_shuffle = true,
                .validation_data = hr_from_tensor_slices(data, NULL, 2),
                .callbacks =
                    HR_CALLBACKS(hr_tensor_board(path[1], .histogram_freq = 1, .update_freq = 2),
                                 hr_reduce_lr_on_plateau("val_loss", .min_delta = HR_F64(9), .patience = HR_I64(1)),
                                 hr_csv_logger(path[2]), hr_model_checkpoint(path[3]),
                                 hr_model_checkpoint(path[4], .save_best_only = true),
                                 hr_progress_bar(write_bar, bar, .verbose = 2))))
        st = HR_UNKNOWN;
    if (bar) fclose(bar);
    const int code = st == HR_OK ? 0 : fail(hr_model_error(m) ? hr_model_error(m) : &err);
    hr_model_free(m);
    return code;
}

static const struct {
    const char *name;
    int arguments;
    int (*run)(char **argument);
} commands[] = {
    {"write_records", 2, run_write_records},
    {"read_records", 2, run_read_records},
    {"write_checkpoint", 1, run_write_checkpoint},
    {"read_checkpoint", 1, run_read_checkpoint},
    {"write_events", 1, run_write_events},
    {"write_files_of_events", 1, run_write_files_of_events},
    {"read_events", 1, run_read_events},
    {"write_rows", 1, run_write_rows},
    {"train", 4, run_train},
    {"evaluate", 3, run_evaluate},
    {"write_graph", 1, run_write_graph},
    {"write_columns", 1, run_write_columns},
    {"write_row_loops", 1, run_write_row_loops},
    {"run_graph", 2, run_run_graph},
    {"node_values", 2, run_node_values},
    {"write_meta_graph", 1, run_write_meta_graph},
    {"read_meta_graph", 2, run_read_meta_graph},
    {"freeze_graph", 3, run_freeze_graph},
    {"transform_graph", 3, run_transform_graph},
    {"run_saved_model", 3, run_saved_model},
    {"rewrite_saved_model", 3, rewrite_saved_model},
    {"export_estimator", 4, export_estimator},
    {"fit_model", 1, fit_model},
};

int main(int count, char **argument)
{
    for (size_t i = 0; count > 1 && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, argument[1]) == 0 && count - 2 == commands[i].arguments)
            return commands[i].run(argument + 2);
    fprintf(stderr, "interop: no such subcommand, or not its number of arguments\n");
    return 2;
}
