/* Files of SavedModels: listed and converted whatever is in them, with TensorFlow 2's objects and with ops that nobody
 * knows. */
#include "tests/testing.h"
#include <headrace/meta_graph.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECTS                                                                                                        \
    "object_graph_def { nodes { children { node_id: 1 local_name: 'w' } user_object { identifier: '_generic' version " \
    "{ producer: 1 } } } nodes { variable { dtype: DT_FLOAT shape { dim { size: 2 } } trainable: true name: 'w' } } "  \
    "nodes { function { function_spec { fullargspec { named_tuple_value { name: 'FullArgSpec' values { key: 'args' "   \
    "value { list_value { values { int64_value: -7 } values { none_value { } } values { bool_value: false } } } } } "  \
    "} } } } concrete_functions { key: 'f' value { bound_inputs: 1 output_signature { dict_value { fields { key: 'y' " \
    "value { tensor_spec_value { shape { unknown_rank: true } dtype: DT_INT64 } } } } } } } }"
#define MODEL                                                                                                          \
    "saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' tensorflow_version: '2.15.1' } "        \
    "graph_def { node { name: 'a' op: 'NobodyKnowsThis' experimental_type { type_id: TFT_PRODUCT args { type_id: "     \
    "TFT_TENSOR } } experimental_debug_info { original_node_names: 'b' } } library { function { signature { name: "    \
    "'f' } node_def { name: 'c' op: 'NoOp' } } } } signature_def { key: 's' value { method_name: 'm' } } " OBJECTS     \
    " } meta_graphs { meta_info_def { tags: 'train' } }"

static void write_text(const char *path, const char *text) { write_file(path, text, strlen(text)); }

static void files_are_listed_whatever_their_ops(void **state)
{
    (void)state;
    hr_error err;
    hr_meta_graph **metas;
    int count;
    write_text("saved_model.pbtxt", MODEL);
    assert_ok(hr_saved_model_metas(".", &metas, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(hr_meta_graph_tag(metas[0], 0), "serve");
    assert_string_equal(hr_meta_graph_version(metas[0]), "2.15.1");
    assert_string_equal(hr_meta_graph_signature(metas[0], 0)->method, "m");
    assert_int_equal(hr_meta_graph_nodes(metas[0]), 2);
    assert_true(hr_meta_graph_has_objects(metas[0]));
    assert_string_equal(hr_meta_graph_tag(metas[1], 0), "train");
    assert_int_equal(hr_meta_graph_nodes(metas[1]), 0);
    assert_false(hr_meta_graph_has_objects(metas[1]));
    hr_saved_model_metas_free(metas, count);
    assert_status(hr_saved_model_metas("none", &metas, &count, &err), HR_NOT_FOUND);
    assert_null(metas);
    assert_status(hr_saved_model_metas(NULL, &metas, &count, &err), HR_INVALID_ARGUMENT);
    write_text("damaged.pb", "\x08\x01\x12\x7f");
    assert_status(hr_saved_model_metas("damaged.pb", &metas, &count, &err), HR_DATA_LOSS);
}

static void bytes_and_text_say_the_same(void **state)
{
    (void)state;
    hr_error err;
    size_t size, again;
    write_text("in.pbtxt", MODEL);
    assert_ok(hr_saved_model_convert("in.pbtxt", "one.pb", &err), &err);
    assert_ok(hr_saved_model_convert("one.pb", "two.pbtxt", &err), &err);
    assert_ok(hr_saved_model_convert("two.pbtxt", "three.pb", &err), &err);
    char *one = read_whole_file("one.pb", &size), *three = read_whole_file("three.pb", &again);
    assert_int_equal(size, again);
    assert_memory_equal(one, three, size);
    char *text = read_whole_file("two.pbtxt", &again);
    assert_text_contains(text, "int64_value: -7");
    assert_text_contains(text, "NobodyKnowsThis");
    assert_text_contains(text, "type_id: TFT_PRODUCT");
    free(one);
    free(three);
    free(text);
    assert_status(hr_saved_model_convert("none.pb", "x.pb", &err), HR_NOT_FOUND);
    assert_status(hr_saved_model_convert(NULL, "x.pb", &err), HR_INVALID_ARGUMENT);
}

static void files_that_are_written_out_are_read(void **state)
{
    (void)state;
    hr_error err;
    hr_meta_graph **metas;
    int count;
    write_text(
        "any.pbtxt",
        "meta_graphs { collection_def { key: 'saved_model_assets' value { any_list { value { "
        "[type.googleapis.com/tensorflow.AssetFileDef] { tensor_info { name: 'x:0' } filename: 'words' } } } } } }");
    assert_ok(hr_saved_model_metas("any.pbtxt", &metas, &count, &err), &err);
    const hr_meta_collection *c = hr_meta_graph_collection(metas[0], 0);
    assert_int_equal(c->kind, HR_META_ANY);
    assert_string_equal(c->nodes[0], "type.googleapis.com/tensorflow.AssetFileDef");
    assert_int_equal(c->bytes[0].size, 14);
    assert_memory_equal(c->bytes[0].data, "\x0a\x05\x0a\x03x:0\x12\x05words", 14);
    hr_saved_model_metas_free(metas, count);
    static const char *const wrong[] = {
        "[type.googleapis.com/a.B] { }",
        "[type.googleapis.com/tensorflow.AssetFileDef",
        "[type.googleapis.com/tensorflow.AssetFileDef] 3",
        ("[type.googleapis.com/tensorflow.AssetFileDef] { } [type.googleapis.com/tensorflow.AssetFileDef] { filename: "
         "'a' }"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[400];
        snprintf(text, sizeof text, "meta_graphs { collection_def { key: 'a' value { any_list { value { %s } } } } }",
                 wrong[i]);
        write_text("wrong.pbtxt", text);
        if (i == 3) {
            snprintf(text, sizeof text,
                     "meta_graphs { collection_def { key: 'a' value { any_list { value { "
                     "[type.googleapis.com/tensorflow.AssetFileDef] { filename: 'b' } %s } } } } }",
                     wrong[3]);
            write_text("wrong.pbtxt", text);
        }
        assert_status(hr_saved_model_metas("wrong.pbtxt", &metas, &count, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "proto.text");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_listed_whatever_their_ops),
        cmocka_unit_test(bytes_and_text_say_the_same),
        cmocka_unit_test(files_that_are_written_out_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
