/* MetaGraphDefs: what belongs to a graph is written and read again; what is hostile is refused; every allocation may
 * fail. */
#include "tests/testing.h"
#include "train/ops/ops.h"
#include <headrace/checkpoint.h>
#include <headrace/graph_op.h>
#include <headrace/meta_graph.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* y = x w + b, with a step counter, a local variable and a collection. */
static hr_graph *meta_model(void)
{
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2), .name = "x");
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2, 1), .initializer = hr_ones());
    hr_node b = hr_get_variable(g, "b", HR_FLOAT, HR_SHAPE(1), .initializer = hr_zeros(), .not_trainable = true);
    hr_get_variable(g, "scratch", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros(), .sets = HR_LOCAL_VARIABLES);
    hr_global_step(g);
    hr_node y = hr_identity(hr_add(hr_matmul(x, w), b), .name = "y");
    hr_add_to_collection(g, "my_outputs", y);
    hr_add_to_collection(g, "init_op", hr_target(hr_global_variables_initializer(g)));
    return g;
}

static hr_meta_graph *meta_of_model(hr_error *err)
{
    hr_meta_graph *m = hr_meta_graph_new();
    const hr_meta_saver saver = {"save/Const:0", "save/control_dependency:0", "save/restore_all", 7, false, 2.5f, 2};
    const hr_meta_tensor in = {"examples", "x:0", NULL, NULL, HR_FLOAT, HR_SHAPE(-1, 2)};
    const hr_meta_tensor out[] = {{"scores", "y:0", NULL, NULL, HR_FLOAT, HR_SHAPE(-1, 1)},
                                  {"rows", "v:0", "i:0", "s:0", HR_INT64, HR_UNKNOWN_SHAPE}};
    const hr_meta_signature signature = {"serving_default", "tensorflow/serving/predict", &in, out, 1, 2};
    const char *const types[] = {"type.googleapis.com/a.B"};
    const hr_view bytes[] = {{"\0\x80z", 3}};
    if (m && hr_meta_graph_add_tag(m, "serve", err) == HR_OK && hr_meta_graph_set_saver(m, &saver, err) == HR_OK &&
        hr_meta_graph_add_signature(m, &signature, err) == HR_OK &&
        hr_meta_graph_add_asset(m, &(hr_meta_asset){"file:0", "words.txt"}, err) == HR_OK &&
        hr_meta_graph_add_collection(m, &(hr_meta_collection){"ints", HR_META_INTS, 2, .ints = HR_I64(-1, 1LL << 62)},
                                     err) == HR_OK &&
        hr_meta_graph_add_collection(m, &(hr_meta_collection){"reals", HR_META_FLOATS, 1, .floats = HR_F32(0.1f)},
                                     err) == HR_OK &&
        hr_meta_graph_add_collection(m, &(hr_meta_collection){"any", HR_META_ANY, 1, .nodes = types, .bytes = bytes},
                                     err) == HR_OK &&
        hr_meta_graph_add_collection(m, &(hr_meta_collection){"savers", HR_META_BYTES, 1, .bytes = bytes}, err) ==
            HR_OK)
        return m;
    hr_meta_graph_free(m);
    return NULL;
}

static const hr_meta_collection *collection(const hr_meta_graph *m, const char *key)
{
    for (int i = 0; hr_meta_graph_collection(m, i); i++)
        if (strcmp(hr_meta_graph_collection(m, i)->key, key) == 0) return hr_meta_graph_collection(m, i);
    fail_msg("no collection %s", key);
    return NULL;
}

static void meta_holds_what_was_added(const hr_meta_graph *m)
{
    hr_meta_saver saver;
    hr_meta_asset asset;
    assert_string_equal(hr_meta_graph_tag(m, 0), "serve");
    assert_null(hr_meta_graph_tag(m, 1));
    assert_true(hr_meta_graph_saver(m, &saver));
    assert_string_equal(saver.restore, "save/restore_all");
    assert_int_equal(saver.max_to_keep, 7);
    assert_exactly(saver.keep_every_n_hours, 2.5f);
    const hr_meta_signature *s = hr_meta_graph_signature(m, 0);
    assert_string_equal(s->method, "tensorflow/serving/predict");
    assert_string_equal(s->inputs[0].key, "examples");
    assert_shape(s->inputs[0].shape, HR_SHAPE(-1, 2));
    assert_int_equal(s->output_count, 2);
    assert_string_equal(s->outputs[1].dense_shape, "s:0");
    assert_int_equal(s->outputs[1].dtype, HR_INT64);
    assert_true(hr_meta_graph_asset(m, 0, &asset));
    assert_string_equal(asset.filename, "words.txt");
    assert_false(hr_meta_graph_asset(m, 1, &asset));
    assert_int_equal(collection(m, "ints")->ints[1], 1LL << 62);
    assert_exactly(collection(m, "reals")->floats[0], 0.1f);
    assert_string_equal(collection(m, "any")->nodes[0], "type.googleapis.com/a.B");
    assert_memory_equal(collection(m, "savers")->bytes[0].data, "\0\x80z", 3);
}

static void what_belongs_to_a_graph_is_written_and_read_again(void **state)
{
    static const char *const paths[] = {"g.meta", "g.meta.pbtxt"};
    (void)state;
    hr_error err = {0};
    hr_graph *g = meta_model();
    hr_meta_graph *m = meta_of_model(&err);
    assert_non_null(m);
    meta_holds_what_was_added(m);
    for (int i = 0; i < 2; i++) {
        int count;
        hr_graph *read = hr_graph_new();
        hr_meta_graph *said;
        assert_ok(hr_meta_graph_write(g, m, paths[i], &err), &err);
        assert_ok(hr_meta_graph_read(read, paths[i], &said, &err), &err);
        meta_holds_what_was_added(said);
        assert_int_equal(hr_graph_variables(read), 4);
        const hr_variable_info *w = hr_variable_named(read, "w");
        assert_int_equal(w->sets, HR_GLOBAL_VARIABLES | HR_TRAINABLE_VARIABLES);
        assert_int_equal(hr_variable_named(read, "b")->sets, HR_GLOBAL_VARIABLES);
        assert_int_equal(hr_variable_named(read, "scratch")->sets, HR_LOCAL_VARIABLES);
        assert_string_equal(hr_node_name(w->read), "w/Read/ReadVariableOp");
        assert_string_equal(hr_node_op(w->initializer), "AssignVariableOp");
        assert_shape(w->shape, HR_SHAPE(2, 1));
        assert_string_equal(hr_node_name(hr_get_collection(read, "my_outputs", &count)[0]), "y");
        assert_int_equal(count, 1);
        assert_int_equal(hr_get_collection(read, "init_op", &count)[0].output, -1);
        assert_string_equal(hr_node_name(hr_global_step(read)), "global_step");
        hr_meta_graph_free(said);
        hr_graph_free(read);
    }
    hr_meta_graph_free(m);
    hr_graph_free(g);
}

/* Fields 8 and 99. */
static void fields_that_are_not_known_stay_in_the_bytes(void **state)
{
    static const char more[] = {0x42, 3, 'a', 'b', 'c', (char)0x9a, 6, 2, 'x', 'y'};
    (void)state;
    hr_error err;
    char *bytes, *again, *text;
    size_t size, size_again;
    hr_graph *g = meta_model(), *read = hr_graph_new();
    hr_meta_graph *m;
    assert_ok(hr_meta_graph_export(g, NULL, &bytes, &size, &err), &err);
    char *with = malloc(size + sizeof more);
    memcpy(with, bytes, size);
    memcpy(with + size, more, sizeof more);
    assert_ok(hr_meta_graph_import(read, ((hr_view){with, (int64_t)(size + sizeof more)}), &m, &err), &err);
    assert_ok(hr_meta_graph_export(read, m, &again, &size_again, &err), &err);
    assert_int_equal(size_again, size + sizeof more);
    assert_memory_equal(again + size, more, sizeof more);
    assert_status(hr_meta_graph_export(read, m, &text, &size, &err, .text = true), HR_UNIMPLEMENTED);
    assert_string_equal(err.kind, "proto.unknown");
    hr_meta_graph_free(m);
    hr_graph_free(read);
    hr_graph_free(g);
    hr_free(bytes);
    hr_free(again);
    free(with);
}

static void variables_get_the_values_of_a_checkpoint(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle_writer *w;
    char *bytes;
    size_t size;
    int restored;
    hr_tensor value;
    hr_graph *g = meta_model(), *plain = hr_graph_new();
    const hr_tensor is = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1), ((float[]){3, 4}));
    assert_ok(hr_bundle_writer_open("c", &w, &err), &err);
    assert_ok(hr_bundle_add(w, "w", &is, &err), &err);
    assert_ok(hr_bundle_add(w, "of/another/graph", &is, &err), &err);
    assert_ok(hr_bundle_writer_commit(w, &err), &err);
    assert_ok(hr_graph_export(g, &bytes, &size, &err), &err); /* nothing is said of variables in it */
    assert_ok(hr_graph_import(plain, ((hr_view){bytes, (int64_t)size}), &err), &err);
    hr_graph *const graphs[] = {g, plain};
    for (int i = 0; i < 2; i++) {
        hr_session *s = hr_session_new(graphs[i]);
        assert_ok(hr_session_restore(s, "c", &restored, &err), &err);
        assert_int_equal(restored, 1);
        assert_ok(hr_session_get(s, hr_graph_node(graphs[i], "w"), &value, &err), &err);
        assert_exactly(((const float *)value.data)[1], 4);
        hr_tensor_clear(&value);
        assert_status(hr_session_get(s, hr_graph_node(graphs[i], "b"), &value, &err), HR_FAILED_PRECONDITION);
        assert_status(hr_session_set(s, hr_graph_node(graphs[i], "b"), &is, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "variable.shape");
        assert_status(hr_session_restore(s, "none", NULL, &err), HR_NOT_FOUND);
        hr_session_free(s);
    }
    hr_free(bytes);
    hr_graph_free(plain);
    hr_graph_free(g);
}

/* ---- a list of variables with names ---- */

typedef struct named {
    hr_graph *g;
    hr_node w, b, step, whole, piece[2];
    hr_session *s;
} named;

static hr_node scalar_variable(hr_graph *g, const char *name, float value)
{
    const hr_tensor is = hr_tensor_of(HR_FLOAT, HR_SCALAR, &value);
    return hr_get_variable(g, name, HR_FLOAT, HR_SCALAR, .initializer = hr_initial_value(&is));
}

static named new_named(void)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    named n = {.g = g, .w = scalar_variable(g, "w", 1), .b = scalar_variable(g, "b", 2)};
    n.step = hr_global_step(g);
    n.whole = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(4, 1), .initializer = hr_ones(),
                              .partitioner = hr_fixed_size_partitioner(2, 0));
    assert_int_equal(hr_variable_pieces(g, "table", n.piece, 2), 2);
    const hr_node init = hr_global_variables_initializer(g);
    n.s = hr_session_new(g);
    assert_ok(hr_session_run(n.s, NULL, 0, &init, 1, NULL, &err), &err);
    return n;
}

static void free_named(named *n)
{
    hr_session_free(n->s);
    hr_graph_free(n->g);
}

static float named_value(const named *n, hr_node variable)
{
    hr_error err;
    hr_tensor value;
    assert_ok(hr_session_get(n->s, variable, &value, &err), &err);
    const float is = *(const float *)value.data;
    hr_tensor_clear(&value);
    return is;
}

static void named_set(const named *n, hr_node variable, float value)
{
    hr_error err;
    const hr_tensor is = hr_tensor_of(HR_FLOAT, HR_SCALAR, &value);
    assert_ok(hr_session_set(n->s, variable, &is, &err), &err);
}

/* The names of a checkpoint, with the number of their parts. */
static void assert_holds(const char *prefix, const char *expected)
{
    hr_error err;
    hr_bundle *b;
    const hr_bundle_entry *entry;
    int count;
    char text[256] = "";
    assert_ok(hr_bundle_open(prefix, &b, &err), &err);
    assert_ok(hr_bundle_list(b, &entry, &count, &err), &err);
    for (int i = 0; i < count; i++) {
        const size_t size = strlen(text);
        snprintf(text + size, sizeof text - size, "%s%s:%d", i ? " " : "", entry[i].name, entry[i].slices);
    }
    hr_bundle_free(b);
    assert_string_equal(text, expected);
}

static void a_session_is_saved_under_the_names_of_a_list(void **state)
{
    (void)state;
    hr_error err;
    named n = new_named();
    int restored;
    assert_ok(hr_session_save(n.s, "all", &err), &err);
    assert_holds("all", "b:0 global_step:0 table:2 w:0");
    const hr_var_list swapped = HR_VAR_LIST({"b", n.w}, {"layer/w", n.b}, {"rows", n.whole});
    assert_ok(hr_session_save(n.s, "some", &err, .var_list = swapped), &err);
    assert_holds("some", "b:0 layer/w:0 rows:2");
    assert_ok(
        hr_session_save(n.s, "own", &err, .var_list = HR_VAR_LIST({.variable = n.piece[1]}, {.variable = n.piece[0]})),
        &err);
    assert_holds("own", "table:2");

    named_set(&n, n.w, 7);
    named_set(&n, n.b, 8);
    assert_ok(hr_session_restore(n.s, "some", &restored, &err, .var_list = swapped), &err);
    assert_int_equal(restored, 4);
    assert_exactly(named_value(&n, n.w), 1);
    assert_exactly(named_value(&n, n.b), 2);
    assert_ok(hr_session_restore(n.s, "some", &restored, &err, .var_list = HR_VAR_LIST({"b", n.b})), &err);
    assert_exactly(named_value(&n, n.b), 1); /* what w was */
    assert_ok(hr_session_restore(n.s, "some", &restored, &err), &err);
    assert_int_equal(restored, 1); /* only b has its own name there */
    free_named(&n);
}

/* One half of a table whose parts another graph has saved whole, under another name. */
static void pieces_are_restored_from_a_whole_of_another_name(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle_writer *w;
    hr_tensor value;
    const hr_tensor is = hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 1), ((float[]){3, 4, 5, 6}));
    assert_ok(hr_bundle_writer_open("whole", &w, &err), &err);
    assert_ok(hr_bundle_add(w, "rows", &is, &err), &err);
    assert_ok(hr_bundle_writer_commit(w, &err), &err);
    named n = new_named();
    assert_ok(hr_session_restore(n.s, "whole", NULL, &err, .var_list = HR_VAR_LIST({"rows", n.piece[1]})), &err);
    assert_ok(hr_session_get(n.s, n.piece[1], &value, &err), &err);
    assert_exactly(((const float *)value.data)[0], 5);
    hr_tensor_clear(&value);
    assert_exactly(named_value(&n, n.piece[0]), 1);
    free_named(&n);
}

static void a_saver_keeps_as_many_saves_of_a_session_as_it_was_opened_for(void **state)
{
    (void)state;
    hr_error err;
    hr_saver *saver;
    char *latest;
    named n = new_named();
    assert_ok(hr_saver_open("kept", &saver, &err, .max_to_keep = HR_I64(2), .make_folder = true), &err);
    for (int64_t step = 1; step <= 3; step++) {
        char *prefix = hr_checkpoint_prefix("kept", "w.ckpt", step);
        assert_ok(hr_session_save(n.s, prefix, &err, .var_list = HR_VAR_LIST({.variable = n.w}), .saver = saver), &err);
        hr_free(prefix);
    }
    hr_saver_free(saver);
    assert_int_equal(hr_path_size("kept/w.ckpt-1.index"), -1);
    assert_true(hr_path_size("kept/w.ckpt-2.index") > 0);
    assert_ok(hr_latest_checkpoint("kept", &latest, &err), &err);
    assert_string_equal(latest, "kept/w.ckpt-3");
    assert_holds(latest, "w:0");
    hr_free(latest);
    free_named(&n);
}

static void assert_list_refused(const named *n, hr_var_list list, const char *part)
{
    hr_error err;
    assert_status(hr_session_save(n->s, "refused", &err, .var_list = list), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graphdef.var_list");
    if (!strstr(err.text, part)) fail_msg("%s: expected \"%s\" in it", err.text, part);
    assert_int_equal(hr_path_size("refused.index"), -1);
}

static void lists_of_variables_that_make_no_checkpoint_are_refused(void **state)
{
    (void)state;
    hr_error err;
    named n = new_named(), other = new_named();
    assert_list_refused(&n, HR_VAR_LIST({.variable = n.w}, {"w", n.b}), "'w' and 'b' are both called 'w'");
    assert_list_refused(&n, HR_VAR_LIST({"x", n.w}, {"y", n.w}), "'w' is listed twice");
    assert_list_refused(&n, HR_VAR_LIST({.variable = n.whole}, {"x", n.piece[0]}), "'table/part_0' is listed twice");
    assert_list_refused(&n, HR_VAR_LIST({"w", n.piece[0]}, {.variable = n.w}), "both called 'w'");
    assert_list_refused(&n, HR_VAR_LIST({.variable = other.w}), "item 0 is 'w'");
    assert_list_refused(&n, HR_VAR_LIST({.variable = n.w}, {.name = "none"}), "item 1 is ''");
    assert_list_refused(&n, (hr_var_list){NULL, 1}, "an array of variables");
    assert_ok(hr_session_save(n.s, "one", &err, .var_list = HR_VAR_LIST({.variable = n.w})), &err);
    assert_status(hr_session_restore(n.s, "one", NULL, &err, .var_list = HR_VAR_LIST({.variable = n.b})), HR_NOT_FOUND);
    assert_non_null(strstr(err.text, "restoring one: "));
    assert_status(hr_session_restore(n.s, "one", NULL, &err, .var_list = HR_VAR_LIST({"w", n.step})),
                  HR_INVALID_ARGUMENT);
    assert_status(hr_session_save(n.s, NULL, &err), HR_INVALID_ARGUMENT);
    hr_graph *empty = hr_graph_new();
    hr_session *s = hr_session_new(empty);
    assert_status(hr_session_save(s, "empty", &err), HR_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "the graph has none"));
    hr_session_free(s);
    hr_graph_free(empty);
    free_named(&n);
    free_named(&other);
}

/* ---- what is refused ---- */

static void meta_refuses(const char *text, hr_status status, const char *kind, const char *part)
{
    hr_error err = {0};
    hr_meta_graph *m = (hr_meta_graph *)1;
    hr_graph *g = hr_graph_new();
    assert_status(hr_meta_graph_import(g, hr_text_view(text), &m, &err, .text = true), status);
    assert_null(m);
    assert_string_equal(err.kind, kind);
    assert_text_contains(err.text, part);
    assert_non_null(hr_graph_error(g));
    hr_graph_free(g);
}

#define A_NODE "graph_def { node { name: 'a' op: 'NoOp' } } "
static void wrong_files_are_refused_by_name(void **state)
{
    (void)state;
    meta_refuses("", HR_INVALID_ARGUMENT, "metagraph.graph", "got none");
    meta_refuses("graph_def { node { name: 'a' op: 'NoOp' input: '^a' } }", HR_INVALID_ARGUMENT, "graphdef.cycle",
                 "'a'");
    meta_refuses(A_NODE "collection_def { key: 'variables' value { node_list { value: 'a' } } }", HR_INVALID_ARGUMENT,
                 "metagraph.variable", "collection 'variables'");
    meta_refuses(A_NODE "collection_def { key: 'variables' value { bytes_list { value: '\\001' } } }", HR_DATA_LOSS,
                 "proto.bytes", "collection 'variables'");
    meta_refuses(A_NODE "collection_def { key: 'variables' value { bytes_list { value: '\\n\\001a' } } }",
                 HR_INVALID_ARGUMENT, "metagraph.variable", "expected a VarHandleOp or VariableV2");
    meta_refuses(A_NODE "collection_def { key: 'global_step' value { bytes_list { value: '\\n\\001b' } } }",
                 HR_INVALID_ARGUMENT, "metagraph.variable", "a node that the graph has, got 'b'");
    meta_refuses(A_NODE "signature_def { key: 's' value { inputs { value { tensor_shape { dim { size: -2 } } } } } }",
                 HR_INVALID_ARGUMENT, "graph.shape", "from -1 on");
    meta_refuses(A_NODE "no_such_field { }", HR_INVALID_ARGUMENT, "proto.text", "a field of");
}

/* A collection that names what is not there is kept as it is. */
static void collections_of_what_is_not_there_are_kept(void **state)
{
    (void)state;
    hr_error err;
    int count;
    char *bytes;
    size_t size;
    hr_graph *g = hr_graph_new();
    hr_meta_graph *m;
    const char *text = A_NODE "collection_def { key: 'k' value { node_list { value: 'a' value: 'gone:3' } } } "
                              "collection_def { key: 'empty' value { } }";
    assert_ok(hr_meta_graph_import(g, hr_text_view(text), &m, &err, .text = true), &err);
    assert_null(hr_get_collection(g, "k", &count));
    assert_ok(hr_meta_graph_export(g, m, &bytes, &size, &err, .text = true), &err);
    assert_text_contains(bytes, "value: \"gone:3\"");
    assert_text_contains(bytes, "key: \"empty\"");
    hr_free(bytes);
    hr_meta_graph_free(m);
    hr_graph_free(g);
}

/* ---- versions ---- */

static hr_status version_status(const char *text, hr_error *err)
{
    hr_graph *g = hr_graph_new();
    const hr_status st = hr_graph_import(g, hr_text_view(text), err, .text = true);
    hr_graph_free(g);
    return st;
}

static void versions_say_who_may_read_and_which_ops_there_are(void **state)
{
    (void)state;
    hr_error err;
    assert_ok(version_status("versions { producer: 9999 min_consumer: 1645 bad_consumers: 1644 }", &err), &err);
    assert_status(version_status("versions { producer: 1 min_consumer: 1646 }", &err), HR_INVALID_ARGUMENT);
    assert_status(version_status("versions { bad_consumers: [3, 1645] }", &err), HR_INVALID_ARGUMENT);
    assert_status(version_status("versions { producer: -1 }", &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graphdef.version");
#define OLD                                                                                                            \
    "node { name: 'p' op: 'PlaceholderV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { " \
    "shape { } } } } "
    assert_status(version_status(OLD "versions { producer: 23 }", &err), HR_UNIMPLEMENTED);
    assert_string_equal(err.kind, "graphdef.deprecated");
    assert_ok(version_status(OLD "versions { producer: 22 }", &err), &err);
    assert_ok(version_status(OLD, &err), &err);
}

/* What is written is as old as the oldest part, so that it can be read again. */
static void a_graph_is_as_old_as_its_oldest_part(void **state)
{
    static const char *const texts[] = {"versions { producer: 77 min_consumer: 12 }", "versions { producer: 1000 }",
                                        OLD};
    static const char *const says[] = {"producer: 77", "producer: 77", "producer: 22"};
    (void)state;
    hr_error err;
    hr_graph *g = hr_graph_new();
    for (int i = 0; i < 3; i++) {
        char *text;
        size_t size;
        assert_ok(hr_graph_import(g, hr_text_view(texts[i]), &err, .text = true), &err);
        assert_ok(hr_graph_export(g, &text, &size, &err, .text = true), &err);
        assert_text_contains(text, says[i]);
        assert_text_contains(text, "min_consumer: 12");
        hr_free(text);
    }
    hr_graph_free(g);
}

/* ---- allocations ---- */

static hr_status life_of_a_file(bool text, hr_error *told)
{
    char *bytes = NULL;
    size_t size = 0;
    hr_error err = {0};
    hr_meta_graph *read = NULL, *m = meta_of_model(&err);
    hr_graph *g = meta_model(), *other = hr_graph_new();
    hr_status st =
        m && g && other ? hr_meta_graph_export(g, m, &bytes, &size, &err, .text = text) : HR_RESOURCE_EXHAUSTED;
    if (st == HR_OK) st = hr_meta_graph_import(other, ((hr_view){bytes, (int64_t)size}), &read, &err, .text = text);
    hr_free(bytes);
    hr_meta_graph_free(m);
    hr_meta_graph_free(read);
    hr_graph_free(g);
    hr_graph_free(other);
    *told = err;
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int text = 0; text < 2; text++) {
        hr_error err;
        fail_allocation(-1);
        assert_ok(life_of_a_file(text, &err), &err);
        const int64_t all = allocations_since(), before = allocations_alive();
        for (int64_t n = 0; n < all; n += n < 200 ? 1 : 7) {
            fail_allocation(n);
            const hr_status st = life_of_a_file(text, &err);
            allocations_since();
            if (st != HR_RESOURCE_EXHAUSTED) fail_msg("allocation %d: %s: %s", (int)n, hr_status_name(st), err.text);
            assert_int_equal(allocations_alive(), before);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_belongs_to_a_graph_is_written_and_read_again),
        cmocka_unit_test(fields_that_are_not_known_stay_in_the_bytes),
        cmocka_unit_test(variables_get_the_values_of_a_checkpoint),
        cmocka_unit_test(a_session_is_saved_under_the_names_of_a_list),
        cmocka_unit_test(pieces_are_restored_from_a_whole_of_another_name),
        cmocka_unit_test(a_saver_keeps_as_many_saves_of_a_session_as_it_was_opened_for),
        cmocka_unit_test(lists_of_variables_that_make_no_checkpoint_are_refused),
        cmocka_unit_test(wrong_files_are_refused_by_name),
        cmocka_unit_test(collections_of_what_is_not_there_are_kept),
        cmocka_unit_test(versions_say_who_may_read_and_which_ops_there_are),
        cmocka_unit_test(a_graph_is_as_old_as_its_oldest_part),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
