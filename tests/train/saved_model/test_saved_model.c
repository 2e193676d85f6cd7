/* SavedModels that are written and loaded here: signatures, variables, tables, files; what may not be read; threads. */
#include "io/sys.h"
#include "tests/testing.h"
#include <headrace/kernels.h>
#include <headrace/ops.h>
#include <headrace/saved_model.h>
#include <headrace/tables.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

/* ---- a model to write ---- */

enum { ROWS = 3 };
static const float rows[ROWS * 2] = {1, 2, 3, 4, -1, 0.5f};
static const float weights[] = {2, -1};

typedef struct written {
    hr_graph *g;
    hr_session *s;
    hr_node x, y, words, ids;
} written;

/* y = x w + b; ids of words by a file. `w` is in two pieces. */
static void begin_written(written *m)
{
    hr_error err;
    write_file("words.txt", "cat\ndog\n", 8);
    hr_graph *g = m->g = hr_graph_new();
    m->x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2), .name = "x");
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2, 1), .initializer = hr_ones(),
                                      .partitioner = hr_fixed_size_partitioner(2, 0));
    const hr_node b = hr_get_variable(g, "b", HR_FLOAT, HR_SHAPE(1), .initializer = hr_constant_value(0.5));
    m->y = hr_identity(hr_add(hr_matmul(m->x, w), b), .name = "y");
    m->words = hr_placeholder(g, HR_STRING, HR_SHAPE(-1), .name = "words");
    m->ids = hr_identity(hr_table_lookup(hr_index_table_from_file(g, "words.txt"), m->words), .name = "ids");
    m->s = hr_session_new(g, .workers = &(int){0});
    const hr_node init = hr_global_variables_initializer(g);
    assert_ok(hr_session_run(m->s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int i = 0; i < 2; i++) {
        const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), &weights[i]);
        const hr_variable_info *part = hr_variable_named(g, i ? "w/part_1" : "w/part_0");
        assert_ok(hr_session_set(m->s, part->handle, &value, &err), &err);
    }
}

static void end_written(written *m)
{
    hr_session_free(m->s);
    hr_graph_free(m->g);
}

static hr_status write_model(const written *m, const char *folder, bool text, hr_error *err)
{
    hr_saved_model_writer *w;
    HR_TRY(hr_saved_model_writer_open(folder, &w, err, .text = text));
    hr_status st = hr_saved_model_writer_add(
        w, m->s, err,
        HR_SAVED_SIGNATURES(
            {HR_SAVED_INPUTS(HR_SAVED("x", m->x)), HR_SAVED_OUTPUTS(HR_SAVED("y", m->y))},
            {.key = "ids", HR_SAVED_INPUTS(HR_SAVED("words", m->words)), HR_SAVED_OUTPUTS(HR_SAVED("ids", m->ids))}),
        .strip_default_attrs = true);
    if (st == HR_OK) return hr_saved_model_writer_commit(w, err);
    hr_saved_model_writer_discard(w);
    return st;
}

static hr_status run_rows(hr_saved_model *m, float *y, hr_error *err)
{
    const hr_named_tensor in = {"x", hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 2), rows)};
    hr_named_tensor out = {.name = "y"};
    const hr_status st = hr_saved_model_run(m, NULL, &in, 1, &out, 1, err);
    for (int i = 0; st == HR_OK && i < ROWS; i++) y[i] = ((const float *)out.value.data)[i];
    hr_tensor_clear(&out.value);
    return st;
}

static void check_rows(hr_saved_model *m)
{
    hr_error err;
    float y[ROWS];
    assert_ok(run_rows(m, y, &err), &err);
    for (int i = 0; i < ROWS; i++) assert_near(y[i], 2 * rows[2 * i] - rows[2 * i + 1] + 0.5f, 1e-6);
}

static void check_words(hr_saved_model *m)
{
    hr_error err;
    const hr_view words[] = {{"dog", 3}, {"owl", 3}};
    const hr_named_tensor in = {"words", hr_tensor_of(HR_STRING, HR_SHAPE(2), words)};
    hr_named_tensor out = {.name = "ids"};
    assert_ok(hr_saved_model_run(m, "ids", &in, 1, &out, 1, &err), &err);
    assert_int_equal(((const int64_t *)out.value.data)[0], 1);
    assert_int_equal(((const int64_t *)out.value.data)[1], -1);
    hr_tensor_clear(&out.value);
}

/* ---- written and loaded ---- */

static void what_is_written_is_loaded_and_gives_the_same(void **state)
{
    (void)state;
    hr_error err;
    written m;
    begin_written(&m);
    const int32_t nodes = hr_graph_size(m.g);
    for (int text = 0; text < 2; text++) {
        const char *folder = text ? "below/as_text" : "model/";
        hr_saved_model *loaded;
        assert_ok(write_model(&m, folder, text, &err), &err);
        remove("words.txt"); /* it is in the model */
        assert_ok(hr_saved_model_load(folder, &loaded, &err), &err);
        check_rows(loaded);
        check_words(loaded);
        hr_saved_model_unref(loaded);
        write_file("words.txt", "cat\ndog\n", 8);
    }
    assert_int_equal(hr_graph_size(m.g), nodes);
    assert_int_equal(files_in("model", true), 3);
    assert_int_equal(files_in("model/assets", true), 1);
    assert_int_equal(files_in("model/variables", true), 2);
    assert_int_equal(files_in("below", true), 1);
    end_written(&m);
}

static void a_folder_that_is_there_is_kept(void **state)
{
    (void)state;
    hr_error err;
    written m;
    begin_written(&m);
    mkdir("empty", 0777);
    mkdir("full", 0777);
    write_file("full/file", "x", 1);
    assert_ok(write_model(&m, "empty", false, &err), &err);
    assert_status(write_model(&m, "full", false, &err), HR_ALREADY_EXISTS);
    assert_string_equal(err.kind, "savedmodel.exists");
    assert_status(write_model(&m, "empty", false, &err), HR_ALREADY_EXISTS);
    assert_status(write_model(&m, "words.txt", false, &err), HR_ALREADY_EXISTS);
    end_written(&m);
}

static void graphs_are_chosen_by_tags_and_share_variables(void **state)
{
    (void)state;
    hr_error err;
    written m;
    hr_saved_model_writer *w;
    hr_saved_model *loaded;
    begin_written(&m);
    assert_ok(hr_saved_model_writer_open("two", &w, &err), &err);
    assert_ok(hr_saved_model_writer_add(
                  w, m.s, &err,
                  HR_SAVED_SIGNATURES({HR_SAVED_INPUTS(HR_SAVED("x", m.x)), HR_SAVED_OUTPUTS(HR_SAVED("y", m.y))})),
              &err);
    assert_ok(hr_saved_model_writer_add(
                  w, m.s, &err,
                  HR_SAVED_SIGNATURES({HR_SAVED_INPUTS(HR_SAVED("x", m.x)), HR_SAVED_OUTPUTS(HR_SAVED("z", m.y))}),
                  .tags = "serve,small"),
              &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    assert_status(hr_saved_model_load("two", &loaded, &err), HR_NOT_FOUND);
    assert_string_equal(err.kind, "savedmodel.tags");
    assert_ok(hr_saved_model_load("two", &loaded, &err, .tags = "small,serve"), &err);
    assert_string_equal(hr_saved_model_signature(loaded, NULL)->outputs[0].key, "z");
    hr_saved_model_unref(loaded);
    assert_ok(hr_saved_model_load("two", &loaded, &err, .tags = "serve"), &err);
    check_rows(loaded);
    hr_saved_model_unref(loaded);
    end_written(&m);
}

static void a_loaded_model_is_trained_and_written_again(void **state)
{
    (void)state;
    hr_error err;
    written m;
    hr_saved_model *loaded, *again;
    hr_saved_model_writer *w;
    begin_written(&m);
    assert_ok(write_model(&m, "first", false, &err), &err);
    end_written(&m);
    remove("words.txt");
    assert_ok(hr_saved_model_load("first", &loaded, &err), &err);
    const hr_variable_info *b = hr_variable_named(hr_saved_model_graph(loaded), "b");
    assert_non_null(b);
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(1), (float[]){10.5f});
    assert_ok(hr_session_set(hr_saved_model_session(loaded), b->handle, &value, &err), &err);
    assert_ok(hr_saved_model_writer_open("second", &w, &err), &err);
    assert_ok(hr_saved_model_writer_add(w, hr_saved_model_session(loaded), &err, .model = loaded), &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    hr_saved_model_unref(loaded);
    float y[ROWS];
    assert_ok(hr_saved_model_load("second", &again, &err), &err);
    assert_ok(run_rows(again, y, &err), &err);
    assert_near(y[0], 10.5, 1e-6);
    check_words(again);
    hr_saved_model_unref(again);
}

static void files_of_one_name_are_told_apart(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model_writer *w;
    hr_saved_model *loaded;
    mkdir("a", 0777);
    mkdir("b", 0777);
    write_file("a/words.txt", "cat\n", 4);
    write_file("b/words.txt", "dog\n", 4);
    hr_graph *g = hr_graph_new();
    const hr_node words = hr_placeholder(g, HR_STRING, HR_SHAPE(-1), .name = "words");
    const hr_node a = hr_table_lookup(hr_index_table_from_file(g, "a/words.txt"), words);
    const hr_node b = hr_table_lookup(hr_index_table_from_file(g, "b/words.txt"), words);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    assert_ok(hr_saved_model_writer_open("model", &w, &err), &err);
    assert_ok(hr_saved_model_writer_add(w, s, &err,
                                        HR_SAVED_SIGNATURES({HR_SAVED_INPUTS(HR_SAVED("words", words)),
                                                             HR_SAVED_OUTPUTS(HR_SAVED("a", a), HR_SAVED("b", b))})),
              &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    hr_session_free(s);
    hr_graph_free(g);
    remove("a/words.txt");
    assert_int_equal(files_in("model/assets", true), 2);
    assert_ok(hr_saved_model_load("model", &loaded, &err), &err);
    const hr_named_tensor in = {"words", hr_tensor_of(HR_STRING, HR_SHAPE(1), &(hr_view){"dog", 3})};
    hr_named_tensor out[] = {{.name = "b"}, {.name = "a"}};
    assert_ok(hr_saved_model_run(loaded, NULL, &in, 1, out, 2, &err), &err);
    assert_int_equal(*(const int64_t *)out[0].value.data, 0);
    assert_int_equal(*(const int64_t *)out[1].value.data, -1);
    for (int i = 0; i < 2; i++) hr_tensor_clear(&out[i].value);
    hr_saved_model_unref(loaded);
}

static void a_model_is_rewritten(void **state)
{
    (void)state;
    hr_error err;
    written m;
    hr_saved_model *loaded, *small;
    hr_graph *graph;
    begin_written(&m);
    assert_ok(write_model(&m, "first", false, &err), &err);
    end_written(&m);
    remove("words.txt");
    assert_ok(hr_saved_model_load("first", &loaded, &err), &err);
    assert_ok(hr_saved_model_rewrite(loaded, "frozen", &err, .freeze = true, .passes = "exact", .text = true), &err);
    assert_ok(hr_saved_model_rewrite(loaded, "kept", &err, .transforms = "merge_duplicate_nodes"), &err);
    assert_status(hr_saved_model_rewrite(loaded, "same", &err), HR_INVALID_ARGUMENT);
    assert_status(hr_saved_model_rewrite(loaded, "wrong", &err, .transforms = "no_such"), HR_INVALID_ARGUMENT);
    const hr_saved_model_rewrite_opts opts = {.struct_size = sizeof opts, .freeze = true};
    assert_ok(hr_saved_model_rewritten_graph(loaded, &opts, &graph, &err), &err);
    assert_int_equal(hr_graph_variables(graph), 0);
    assert_true(hr_node_exists(hr_graph_node(graph, "y:0")));
    hr_graph_free(graph);
    hr_saved_model_unref(loaded);
    assert_int_equal(files_in("frozen", true), 2); /* the graph and the words */
    assert_int_equal(files_in("kept", true), 3);
    assert_int_equal(files_in(".", true), 3);
    for (int i = 0; i < 2; i++) {
        assert_ok(hr_saved_model_load(i ? "kept" : "frozen", &small, &err), &err);
        assert_int_equal(hr_graph_variables(hr_saved_model_graph(small)), i ? 3 : 0);
        check_rows(small);
        check_words(small);
        hr_saved_model_unref(small);
    }
}

/* ---- signatures ---- */

static void inputs_are_those_of_the_signature(void **state)
{
    (void)state;
    hr_error err;
    written m;
    hr_saved_model *loaded;
    begin_written(&m);
    assert_ok(write_model(&m, "model", false, &err), &err);
    end_written(&m);
    assert_ok(hr_saved_model_load("model", &loaded, &err), &err);
    const hr_tensor x = hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 2), rows);
    const hr_named_tensor right = {"x", x}, wrong = {"z", x}, both[] = {{"x", x}, {"z", x}};
    const hr_named_tensor doubles = {"x", hr_tensor_of(HR_DOUBLE, HR_SHAPE(1, 2), (double[]){1, 2})};
    hr_named_tensor y = {.name = "y"}, z = {.name = "z"};
    assert_status(hr_saved_model_run(loaded, "none", &right, 1, &y, 1, &err), HR_NOT_FOUND);
    assert_string_equal(err.kind, "savedmodel.signature");
    assert_status(hr_saved_model_run(loaded, NULL, &wrong, 1, &y, 1, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "savedmodel.input");
    assert_status(hr_saved_model_run(loaded, NULL, both, 2, &y, 1, &err), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "'z'");
    assert_status(hr_saved_model_run(loaded, NULL, NULL, 0, &y, 1, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_saved_model_run(loaded, NULL, &right, 1, &z, 1, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "savedmodel.output");
    assert_status(hr_saved_model_run(loaded, NULL, &doubles, 1, &y, 1, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_saved_model_run(NULL, NULL, &right, 1, &y, 1, &err), HR_INVALID_ARGUMENT);
    hr_saved_model_unref(loaded);
}

static void signatures_keep_to_their_methods(void **state)
{
    (void)state;
    hr_error err;
    written m;
    hr_saved_model_writer *w;
    begin_written(&m);
    const hr_saved_tensor x = HR_SAVED("x", m.x), in = HR_SAVED("inputs", m.words), y = HR_SAVED("outputs", m.y);
    const hr_saved_tensor ids = HR_SAVED("classes", m.ids), none = HR_SAVED("x", (hr_node){0});
    const hr_saved_signature wrong[] = {
        {.key = "a", .inputs = &x, .input_count = 1},
        {.key = "b", .method = HR_CLASSIFY_METHOD, .inputs = &x, .input_count = 1, .outputs = &y, .output_count = 1},
        {.key = "c", .method = HR_CLASSIFY_METHOD, .inputs = &in, .input_count = 1, .outputs = &ids, .output_count = 1},
        {.key = "d", .method = HR_REGRESS_METHOD, .inputs = &in, .input_count = 1, .outputs = &ids, .output_count = 1},
        {.key = "__saved_model_x", .inputs = &x, .input_count = 1, .outputs = &y, .output_count = 1},
        {.inputs = &none, .input_count = 1, .outputs = &y, .output_count = 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_ok(hr_saved_model_writer_open("model", &w, &err), &err);
        assert_status(hr_saved_model_writer_add(w, m.s, &err, .signatures = &wrong[i], .signature_count = 1),
                      HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "savedmodel.signature");
        assert_status(hr_saved_model_writer_commit(w, &err), HR_INVALID_ARGUMENT); /* the failure sticks */
        assert_string_equal(err.kind, "savedmodel.signature");
    }
    assert_ok(hr_saved_model_writer_open("model", &w, &err), &err);
    assert_status(hr_saved_model_writer_commit(w, &err), HR_FAILED_PRECONDITION);
    assert_int_equal(files_in(".", true), 1);
    end_written(&m);
}

static void sparse_tensors_go_in_and_come_out(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model_writer *w;
    hr_saved_model *loaded;
    hr_graph *g = hr_graph_new();
    const hr_node v = hr_placeholder(g, HR_STRING, HR_SHAPE(-1), .name = "v");
    const hr_node i = hr_placeholder(g, HR_INT64, HR_SHAPE(-1, 2), .name = "i");
    const hr_node d = hr_placeholder(g, HR_INT64, HR_SHAPE(2), .name = "d");
    const hr_saved_tensor in = HR_SAVED_SPARSE("words", v, i, d),
                          out = HR_SAVED_SPARSE("same", hr_identity(v), hr_identity(i), hr_identity(d));
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    assert_ok(hr_saved_model_writer_open("model", &w, &err), &err);
    assert_ok(
        hr_saved_model_writer_add(
            w, s, &err, HR_SAVED_SIGNATURES({.inputs = &in, .input_count = 1, .outputs = &out, .output_count = 1})),
        &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    hr_session_free(s);
    hr_graph_free(g);
    assert_ok(hr_saved_model_load("model", &loaded, &err), &err);
    const hr_view words[] = {{"a", 1}, {"", 0}, {"owl", 3}};
    const int64_t places[] = {0, 1, 2, 0, 2, 3};
    hr_named_tensor given = {"words", hr_tensor_of(HR_STRING, HR_SHAPE(3, 4), words)};
    given.value.layout = HR_SPARSE;
    given.value.count = 3;
    given.value.indices = places;
    hr_named_tensor same = {.name = "same"};
    assert_ok(hr_saved_model_run(loaded, NULL, &given, 1, &same, 1, &err), &err);
    assert_int_equal(same.value.layout, HR_SPARSE);
    assert_int_equal(same.value.count, 3);
    assert_shape(same.value.shape, HR_SHAPE(3, 4));
    assert_memory_equal(same.value.indices, places, sizeof places);
    assert_memory_equal(((const hr_view *)same.value.data)[2].data, "owl", 3);
    hr_tensor_clear(&same.value);
    given.value.layout = HR_DENSE;
    assert_status(hr_saved_model_run(loaded, NULL, &given, 1, &same, 1, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "savedmodel.input");
    hr_saved_model_unref(loaded);
}

/* ---- ops of one's own ---- */

HR_UNARY(twice, x + x, floats)
static const hr_graph_op twice_op = HR_SAME_SHAPE_OP("Example>Twice", 0, .3, .inputs = "x:T", .outputs = "y:T",
                                                     .attrs = "T:type", .kernels = HR_KERNELS(twice, floats));

static void use_twice(hr_graph *g, void *user)
{
    ++*(int *)user;
    hr_graph_use(g, &twice_op);
}

static void ops_of_ones_own_are_known_before_the_file_is_read(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model_writer *w;
    hr_saved_model *loaded;
    int used = 0;
    hr_graph *g = hr_graph_new();
    hr_graph_use(g, &twice_op);
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1), .name = "x");
    const hr_node y = hr_new_node(g, "Example>Twice", HR_INPUTS(x));
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    assert_ok(hr_saved_model_writer_open("model", &w, &err), &err);
    assert_ok(
        hr_saved_model_writer_add(
            w, s, &err, HR_SAVED_SIGNATURES({HR_SAVED_INPUTS(HR_SAVED("x", x)), HR_SAVED_OUTPUTS(HR_SAVED("y", y))})),
        &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    hr_session_free(s);
    hr_graph_free(g);
    assert_status(hr_saved_model_load("model", &loaded, &err), HR_NOT_FOUND);
    assert_string_equal(err.kind, "graph.op");
    assert_ok(hr_saved_model_load("model", &loaded, &err, .use = use_twice, .user = &used), &err);
    assert_int_equal(used, 1);
    const hr_named_tensor in = {"x", hr_tensor_of(HR_FLOAT, HR_SHAPE(1), (float[]){3})};
    hr_named_tensor out = {.name = "y"};
    assert_ok(hr_saved_model_run(loaded, NULL, &in, 1, &out, 1, &err), &err);
    assert_near(*(const float *)out.value.data, 6, 1e-6);
    hr_tensor_clear(&out.value);
    hr_saved_model_unref(loaded);
}

/* What a loader runs after the variables have their values: by a signature, or by either collection. */
static void each_kind_of_initializer_is_run(void **state)
{
    (void)state;
    static const char *const says[] = {
        "signature_def { key: '__saved_model_init_op' value { outputs { key: '__saved_model_init_op' value { name: "
        "'set' "
        "} } } }",
        "collection_def { key: 'saved_model_main_op' value { node_list { value: 'set' } } }",
        "collection_def { key: 'legacy_init_op' value { node_list { value: 'set' } } }",
        "collection_def { key: 'saved_model_main_op' value { node_list { value: 'none' } } }",
    };
    static const char *const graph =
        "saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' } graph_def { node { name: 'v' op: "
        "'VarHandleOp' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { } } } } node "
        "{ "
        "name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { "
        "dtype: "
        "DT_INT32 tensor_shape { } int_val: 7 } } } } node { name: 'set' op: 'AssignVariableOp' input: 'v' input: 'c' "
        "attr { key: 'dtype' value { type: DT_INT32 } } } node { name: 'y' op: 'ReadVariableOp' input: 'v' attr { key: "
        "'dtype' value { type: DT_INT32 } } } } signature_def { key: 'serving_default' value { outputs { key: 'y' "
        "value { "
        "name: 'y:0' dtype: DT_INT32 } } } } ";
    mkdir("model", 0777);
    for (int i = 0; i < 4; i++) {
        hr_error err;
        hr_saved_model *loaded;
        char text[2000];
        snprintf(text, sizeof text, "%s %s }", graph, says[i]);
        write_file("model/saved_model.pbtxt", text, strlen(text));
        if (i == 3) {
            assert_status(hr_saved_model_load("model", &loaded, &err), HR_INVALID_ARGUMENT);
            assert_string_equal(err.kind, "savedmodel.node");
            break;
        }
        assert_ok(hr_saved_model_load("model", &loaded, &err), &err);
        hr_named_tensor out = {.name = "y"};
        assert_ok(hr_saved_model_run(loaded, NULL, NULL, 0, &out, 1, &err), &err);
        assert_int_equal(*(const int32_t *)out.value.data, 7);
        hr_tensor_clear(&out.value);
        hr_saved_model_unref(loaded);
    }
}

/* ---- what a model may not do ---- */

/* Writes a model with one output and no input but `x`. */
static void write_output(const char *folder, hr_graph *g, hr_node x, hr_node y)
{
    hr_error err;
    hr_saved_model_writer *w;
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    assert_ok(hr_saved_model_writer_open(folder, &w, &err), &err);
    assert_ok(
        hr_saved_model_writer_add(
            w, s, &err, HR_SAVED_SIGNATURES({HR_SAVED_INPUTS(HR_SAVED("x", x)), HR_SAVED_OUTPUTS(HR_SAVED("y", y))})),
        &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    hr_session_free(s);
    hr_graph_free(g);
}

static hr_status run_path(hr_saved_model *m, const char *path, hr_error *err)
{
    const hr_view view = hr_text_view(path);
    const hr_named_tensor in = {"x", hr_tensor_of(HR_STRING, HR_SCALAR, &view)};
    hr_named_tensor out = {.name = "y"};
    const hr_status st = hr_saved_model_run(m, NULL, &in, 1, &out, 1, err);
    hr_tensor_clear(&out.value);
    return st;
}

static void nodes_read_below_the_folder_alone(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model *loaded;
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_STRING, HR_SCALAR, .name = "x");
    write_output("model", g, x, hr_new_node(g, "ReadFile", HR_INPUTS(x)));
    write_file("secret", "s", 1);
    mkdir("model/assets", 0777);
    write_file("model/assets/own", "o", 1);
    assert_int_equal(symlink("../../secret", "model/assets/link"), 0);
    assert_int_equal(symlink("own", "model/assets/inner"), 0);
    assert_int_equal(mkfifo("model/assets/pipe", 0666), 0);
    assert_ok(hr_saved_model_load("model", &loaded, &err), &err);
    assert_ok(run_path(loaded, "model/assets/own", &err), &err);
    assert_ok(run_path(loaded, "model/assets/inner", &err), &err);
    const char *const refused[] = {"secret",      "model/../secret",   "model/assets/link",
                                   "/etc/passwd", "model/assets/pipe", "/dev/null",
                                   "-",           "nowhere/at/all"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_status(run_path(loaded, refused[i], &err), HR_PERMISSION_DENIED);
        assert_string_equal(err.kind, "file.outside");
    }
    assert_status(run_path(loaded, "model/assets/none", &err), HR_NOT_FOUND);
    hr_saved_model_unref(loaded);
    assert_ok(hr_saved_model_load("model", &loaded, &err, .any_file = true), &err);
    assert_ok(run_path(loaded, "secret", &err), &err);
    hr_saved_model_unref(loaded);
}

static void nodes_write_nothing(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model *loaded;
    for (int save = 0; save < 2; save++) {
        hr_graph *g = hr_graph_new();
        const hr_node x = hr_placeholder(g, HR_STRING, HR_SCALAR, .name = "x");
        const hr_tensor one = hr_tensor_of(HR_STRING, HR_SHAPE(1), &(hr_view){"t", 1});
        const hr_tensor whole = hr_tensor_of(HR_STRING, HR_SHAPE(1), &(hr_view){"", 0});
        const hr_node effect =
            hr_target(save ? hr_new_node(g, "SaveV2", HR_INPUTS(x, hr_const(g, &one), hr_const(g, &whole), x))
                           : hr_new_node(g, "WriteFile", HR_INPUTS(x, x)));
        hr_control_dependencies(g, &effect, 1);
        const hr_node y = hr_identity(x);
        hr_control_end(g);
        write_output(save ? "save" : "write", g, x, y);
        assert_ok(hr_saved_model_load(save ? "save" : "write", &loaded, &err), &err);
        assert_status(run_path(loaded, "written", &err), HR_PERMISSION_DENIED);
        assert_string_equal(err.kind, "file.outside");
        assert_status(run_path(loaded, "write/written", &err), HR_PERMISSION_DENIED);
        hr_saved_model_unref(loaded);
        assert_ok(hr_saved_model_load(save ? "save" : "write", &loaded, &err, .any_file = true), &err);
        assert_ok(run_path(loaded, save ? "saved" : "written", &err), &err);
        hr_saved_model_unref(loaded);
    }
    assert_int_equal(access("written", F_OK), 0);
    assert_int_equal(access("saved.index", F_OK), 0);
}

static void links_out_of_the_folder_are_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"saved_model.pb", "variables/variables.index",
                                        "variables/variables.data-00000-of-00001", "assets/words.txt"};
    hr_error err;
    written m;
    hr_saved_model *loaded;
    begin_written(&m);
    for (int i = 0; i < 4; i++) {
        char folder[40], path[120], moved[40];
        snprintf(folder, sizeof folder, "model_%d", i);
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        snprintf(moved, sizeof moved, "moved_%d", i);
        assert_ok(write_model(&m, folder, false, &err), &err);
        assert_int_equal(rename(path, moved), 0);
        char *here = realpath(moved, NULL);
        assert_int_equal(symlink(here, path), 0);
        free(here);
        assert_status(hr_saved_model_load(folder, &loaded, &err), HR_PERMISSION_DENIED);
        assert_string_equal(err.kind, "file.outside");
        assert_null(loaded);
        assert_ok(hr_saved_model_load(folder, &loaded, &err, .any_file = true), &err);
        check_rows(loaded);
        hr_saved_model_unref(loaded);
    }
    end_written(&m);
}

static void files_that_lead_out_of_assets_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"../saved_model.pb", "/etc/passwd", "", ".", "a/../../b", "a//b"};
    hr_error err;
    hr_saved_model *loaded;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hr_graph *g = hr_graph_new();
        const hr_tensor path = hr_tensor_of(HR_STRING, HR_SCALAR, &(hr_view){"x", 1});
        hr_meta_graph *meta = hr_meta_graph_new();
        hr_identity(hr_const(g, &path, .name = "path"));
        assert_ok(hr_meta_graph_add_tag(meta, "serve", &err), &err);
        assert_ok(hr_meta_graph_add_asset(meta, &(hr_meta_asset){"path:0", names[i]}, &err), &err);
        char *bytes;
        size_t size;
        assert_ok(hr_meta_graph_export(g, meta, &bytes, &size, &err, .text = true), &err);
        mkdir("model", 0777);
        FILE *file = fopen("model/saved_model.pbtxt", "w");
        fprintf(file, "saved_model_schema_version: 1 meta_graphs { %s }", bytes);
        fclose(file);
        hr_free(bytes);
        hr_meta_graph_free(meta);
        hr_graph_free(g);
        assert_status(hr_saved_model_load("model", &loaded, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "savedmodel.asset");
    }
}

/* ---- other things to be written ---- */

static void requests_to_warm_up_are_records(void **state)
{
    (void)state;
    hr_error err;
    written m;
    hr_saved_model_writer *w;
    begin_written(&m);
    const hr_named_tensor x = {"x", hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 2), rows)};
    const hr_named_tensor examples = {"inputs", hr_tensor_of(HR_STRING, HR_SHAPE(1), &(hr_view){"\x0a\0", 2})};
    assert_ok(hr_saved_model_writer_open("model", &w, &err), &err);
    assert_status(hr_saved_model_writer_add_warmup(w, HR_CLASSIFY_METHOD, NULL, &x, 1, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_saved_model_writer_add_extra(w, "../out", "words.txt", &err), HR_INVALID_ARGUMENT);
    hr_saved_model_writer_discard(w);
    assert_ok(hr_saved_model_writer_open("model", &w, &err), &err);
    assert_ok(hr_saved_model_writer_add(
                  w, m.s, &err,
                  HR_SAVED_SIGNATURES({HR_SAVED_INPUTS(HR_SAVED("x", m.x)), HR_SAVED_OUTPUTS(HR_SAVED("y", m.y))})),
              &err);
    assert_ok(hr_saved_model_writer_add_warmup(w, NULL, NULL, &x, 1, &err), &err);
    assert_ok(hr_saved_model_writer_add_warmup(w, HR_REGRESS_METHOD, "price", &examples, 1, &err), &err);
    assert_ok(hr_saved_model_writer_add_extra(w, "notes/about.txt", "words.txt", &err), &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    end_written(&m);
    size_t size;
    char *bytes = read_whole_file("model/assets.extra/tf_serving_warmup_requests", &size);
    /* PredictionLog: 6 predict_log, 1 request, 1 model_spec, 3 signature_name; then 2 inputs. Then 3 regress_log. */
    assert_memory_equal(bytes + 12, "\x32", 1);
    assert_memory_equal(bytes + 12 + 4, "\x0a\x11\x1a\x0fserving_default\x12", 20);
    const size_t first = (size_t)(unsigned char)bytes[0] + 16;
    assert_memory_equal(bytes + first + 12, "\x1a\x13\x0a\x11\x0a\x07\x1a\x05price\x12\x06\x0a\x04\x0a\x02\x0a\0", 21);
    assert_int_equal(size, first + 16 + 21);
    free(bytes);
    bytes = read_whole_file("model/assets.extra/notes/about.txt", &size);
    assert_int_equal(size, 8);
    free(bytes);
}

/* ---- faults ---- */

static void any_allocation_may_fail(void **state)
{
    (void)state;
    hr_error err;
    written m;
    begin_written(&m);
    assert_ok(write_model(&m, "model", false, &err), &err);
    for (int64_t n = 0;; n += 1 + n / 40) {
        hr_saved_model *loaded = NULL;
        float y[ROWS];
        fail_allocation(n);
        hr_status st = hr_saved_model_load("model", &loaded, &err);
        if (st == HR_OK) st = run_rows(loaded, y, &err);
        const int64_t made = allocations_since();
        fail_allocation(INT64_MAX);
        hr_saved_model_unref(loaded);
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
        if (made <= n) break;
    }
    for (int64_t n = 0;; n += 1 + n / 40) {
        fail_allocation(n);
        const hr_status st = write_model(&m, "again", false, &err);
        const int64_t made = allocations_since();
        fail_allocation(INT64_MAX);
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
        assert_int_equal(files_in(".", true), st == HR_OK ? 3 : 2);
        remove_folder("again");
        if (made <= n) break;
    }
    end_written(&m);
}

/* A folder for each test. */
static int enter_folder(void **state)
{
    static int count;
    static char name[20];
    snprintf(name, sizeof name, "test_%d", count++);
    *state = name;
    return mkdir(name, 0777) == 0 && chdir(name) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    if (chdir("..") != 0) return -1;
    remove_folder(*state);
    return 0;
}

/* A disk that is full after so many bytes. */
static size_t left;
static ssize_t write_some(int fd, const void *from, size_t size)
{
    if (left == 0) {
        errno = ENOSPC;
        return -1;
    }
    const size_t now = size < left ? size : left;
    left -= now;
    return write(fd, from, now);
}

static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    hr_error err;
    written m;
    begin_written(&m);
    hr__sys full = *hr__sys_get();
    full.write = write_some;
    for (size_t size = 0; size < 100000; size = size * 3 / 2 + 7) {
        left = size;
        hr__sys_set(&full);
        const hr_status st = write_model(&m, "model", false, &err);
        hr__sys_set(NULL);
        assert_int_equal(files_in(".", true), st == HR_OK ? 2 : 1);
        if (st == HR_OK) break;
        assert_status(st, HR_RESOURCE_EXHAUSTED);
    }
    hr_saved_model *loaded;
    assert_ok(hr_saved_model_load("model", &loaded, &err), &err);
    check_rows(loaded);
    hr_saved_model_unref(loaded);
    end_written(&m);
}

/* ---- threads ---- */

enum { THREADS = 4, RUNS = 50 };

static void run_often(void *user)
{
    hr_predictor *p = user;
    hr_error err;
    for (int i = 0; i < RUNS; i++) {
        const hr_tensor x = hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 2), rows);
        hr_tensor y;
        assert_ok(hr_predictor_run(p, &x, &y, &err), &err);
        for (int r = 0; r < ROWS; r++)
            assert_near(((const float *)y.data)[r], 2 * rows[2 * r] - rows[2 * r + 1] + 0.5f, 1e-6);
        hr_tensor_clear(&y);
    }
    hr_predictor_free(p);
}

/* Models come and go while others run; each predictor keeps its own. */
static void models_are_loaded_and_dropped_while_others_run(void **state)
{
    (void)state;
    hr_error err;
    written m;
    uv_thread_t thread[THREADS];
    begin_written(&m);
    assert_ok(write_model(&m, "model", false, &err), &err);
    end_written(&m);
    for (int i = 0; i < THREADS; i++) {
        hr_saved_model *loaded;
        hr_predictor *p;
        assert_ok(hr_saved_model_load("model", &loaded, &err), &err);
        assert_ok(hr_predictor_new(loaded, NULL, NULL, 0, &p, &err), &err);
        hr_saved_model_unref(loaded);
        assert_int_equal(uv_thread_create(&thread[i], run_often, p), 0);
    }
    hr_saved_model *shared;
    assert_ok(hr_saved_model_load("model", &shared, &err), &err);
    for (int i = 0; i < THREADS; i++) assert_int_equal(uv_thread_join(&thread[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        hr_predictor *p;
        assert_ok(hr_predictor_new(shared, NULL, NULL, 0, &p, &err), &err);
        assert_int_equal(uv_thread_create(&thread[i], run_often, p), 0);
    }
    hr_saved_model_unref(shared);
    for (int i = 0; i < THREADS; i++) assert_int_equal(uv_thread_join(&thread[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_loaded_and_gives_the_same, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_folder_that_is_there_is_kept, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(graphs_are_chosen_by_tags_and_share_variables, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_loaded_model_is_trained_and_written_again, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_model_is_rewritten, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(files_of_one_name_are_told_apart, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(inputs_are_those_of_the_signature, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(signatures_keep_to_their_methods, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(sparse_tensors_go_in_and_come_out, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(ops_of_ones_own_are_known_before_the_file_is_read, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(each_kind_of_initializer_is_run, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(nodes_read_below_the_folder_alone, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(nodes_write_nothing, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(links_out_of_the_folder_are_refused, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(files_that_lead_out_of_assets_are_refused, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(requests_to_warm_up_are_records, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_nothing, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(models_are_loaded_and_dropped_while_others_run, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, enter_folder, leave_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
