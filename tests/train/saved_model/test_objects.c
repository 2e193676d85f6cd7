/* Variables by TensorFlow 2's objects: of which functions read one, and the graph's own nodes restore another one. */
#include "tests/testing.h"
#include <headrace/checkpoint.h>
#include <headrace/saved_model.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "kernel/.ATTRIBUTES/VARIABLE_VALUE"

/* ---- a model as Keras 3 saves it: y = x * kernel ---- */

static const char nodes[] =
    "node { name: 'dense/kernel' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } }\n"
    "attr { key: 'shape' value { shape { } } } attr { key: 'shared_name' value { s: 'dense/kernel' } } }\n"
    "node { name: 'Variable' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } }\n"
    "attr { key: 'shape' value { shape { } } } attr { key: 'shared_name' value { s: 'Variable' } } }\n"
    "node { name: 'predict_input' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' "
    "value { shape { dim { size: -1 } } } } }\n"
    "node { name: 'predict' op: 'StatefulPartitionedCall' input: 'predict_input' input: 'dense/kernel'\n"
    "attr { key: 'Tin' value { list { type: DT_FLOAT type: DT_RESOURCE } } } attr { key: 'Tout' value { list { type: "
    "DT_FLOAT } } }\n"
    "attr { key: 'f' value { func { name: 'predicting' } } } }\n";

static const char saver_nodes[] =
    "node { name: 'restore_input' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } attr { key: "
    "'shape' value { shape { } } } }\n"
    "node { name: 'restore' op: 'StatefulPartitionedCall' input: 'restore_input' input: 'Variable'\n"
    "attr { key: 'Tin' value { list { type: DT_STRING type: DT_RESOURCE } } } attr { key: 'Tout' value { list { type: "
    "DT_STRING } } }\n"
    "attr { key: 'f' value { func { name: 'restoring' } } } }\n"
    "node { name: 'save' op: 'StatefulPartitionedCall' input: 'restore_input' input: 'Variable'\n"
    "attr { key: 'Tin' value { list { type: DT_STRING type: DT_RESOURCE } } } attr { key: 'Tout' value { list { type: "
    "DT_STRING } } }\n"
    "attr { key: 'f' value { func { name: 'saving' } } } }\n";

static const char library[] =
    "library {\n"
    "function { signature { name: 'predicting' is_stateful: true input_arg { name: 'x' type: DT_FLOAT }\n"
    "input_arg { name: 'handle' type: DT_RESOURCE } output_arg { name: 'y' type: DT_FLOAT } }\n"
    "node_def { name: 'read' op: 'ReadVariableOp' input: 'handle' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
    "node_def { name: 'mul' op: 'Mul' input: 'x' input: 'read:value:0' attr { key: 'T' value { type: DT_FLOAT } } }\n"
    "ret { key: 'y' value: 'mul:z:0' } }\n"
    "function { signature { name: 'restoring' is_stateful: true input_arg { name: 'prefix' type: DT_STRING }\n"
    "input_arg { name: 'handle' type: DT_RESOURCE } output_arg { name: 'done' type: DT_STRING } }\n"
    "node_def { name: 'names' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }\n"
    "attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: '" KEY
    "' } } } }\n"
    "node_def { name: 'places' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }\n"
    "attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: '' } } } }\n"
    "node_def { name: 'restore' op: 'RestoreV2' input: 'prefix' input: 'names:output:0' input: 'places:output:0'\n"
    "attr { key: 'dtypes' value { list { type: DT_FLOAT } } } }\n"
    "node_def { name: 'value' op: 'Identity' input: 'restore:tensors:0' attr { key: 'T' value { type: DT_FLOAT } } }\n"
    "node_def { name: 'assign' op: 'AssignVariableOp' input: 'handle' input: 'value:output:0'\n"
    "attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
    "node_def { name: 'done' op: 'Identity' input: 'prefix' input: '^assign' attr { key: 'T' value { type: DT_STRING } "
    "} }\n"
    "ret { key: 'done' value: 'done:output:0' } }\n"
    "function { signature { name: 'saving' is_stateful: true input_arg { name: 'prefix' type: DT_STRING }\n"
    "input_arg { name: 'handle' type: DT_RESOURCE } output_arg { name: 'done' type: DT_STRING } }\n"
    "node_def { name: 'names' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }\n"
    "attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: '" KEY
    "' } } } }\n"
    "node_def { name: 'places' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }\n"
    "attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: '' } } } }\n"
    "node_def { name: 'read' op: 'ReadVariableOp' input: 'handle' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
    "node_def { name: 'save' op: 'SaveV2' input: 'prefix' input: 'names:output:0' input: 'places:output:0'\n"
    "input: 'read:value:0' attr { key: 'dtypes' value { list { type: DT_FLOAT } } } }\n"
    "node_def { name: 'done' op: 'Identity' input: 'prefix' input: '^save' attr { key: 'T' value { type: DT_STRING } } "
    "}\n"
    "ret { key: 'done' value: 'done:output:0' } }\n"
    "}\n";

static const char saver[] = "saver_def { filename_tensor_name: 'restore_input:0' save_tensor_name: 'save:0' "
                            "restore_op_name: 'restore' version: V2 }\n";

static const char rest[] =
    "signature_def { key: 'serving_default' value { method_name: 'tensorflow/serving/predict'\n"
    "inputs { key: 'x' value { name: 'predict_input:0' dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } }\n"
    "outputs { key: 'y' value { name: 'predict:0' dtype: DT_FLOAT tensor_shape { unknown_rank: true } } } } }\n"
    "object_graph_def { nodes { children { node_id: 1 local_name: 'kernel' } user_object { } }\n"
    "nodes { variable { dtype: DT_FLOAT shape { } name: 'dense/kernel' } }\n"
    "concrete_functions { key: 'predicting' value { bound_inputs: 1 } } }\n";

/* A TrackableObjectGraph. The variable is number 2 in it: objects are found by their names, not by numbers. */
static const char file_objects[] = "\x0a\x0c\x0a\x0a\x08\x02\x12\x06kernel"
                                   "\x0a\x00"
                                   "\x0a\x35\x12\x33\x0a\x0e"
                                   "VARIABLE_VALUE\x1a\x21" KEY;

static void write_kernel(float kernel, hr_view objects)
{
    hr_error err;
    hr_bundle_writer *w;
    mkdir("model/variables", 0777);
    assert_ok(hr_bundle_writer_open("model/variables/variables", &w, &err), &err);
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SCALAR, &kernel);
    const hr_tensor bytes = hr_tensor_of(HR_STRING, HR_SCALAR, &objects);
    assert_ok(hr_bundle_add(w, "_CHECKPOINTABLE_OBJECT_GRAPH", &bytes, &err), &err);
    assert_ok(hr_bundle_add(w, KEY, &value, &err), &err);
    assert_ok(hr_bundle_writer_commit(w, &err), &err);
}

static void write_graph(bool with_saver)
{
    char text[16384];
    const int size = snprintf(text, sizeof text,
                              "saved_model_schema_version: 1\nmeta_graphs {\nmeta_info_def { tags: \"serve\" }\n"
                              "graph_def {\n%s%s%s}\n%s%s}\n",
                              nodes, with_saver ? saver_nodes : "", library, with_saver ? saver : "", rest);
    assert_true(size > 0 && (size_t)size < sizeof text);
    mkdir("model", 0777);
    write_file("model/saved_model.pbtxt", text, (size_t)size);
}

static void write_kernel_model(bool with_saver, float kernel)
{
    write_graph(with_saver);
    write_kernel(kernel, (hr_view){file_objects, sizeof file_objects - 1});
}

static hr_status predict(hr_saved_model *m, float *y, hr_error *err)
{
    const float x = 3;
    const hr_named_tensor in = {"x", hr_tensor_of(HR_FLOAT, HR_SHAPE(1), &x)};
    hr_named_tensor out = {.name = "y"};
    const hr_status st = hr_saved_model_run(m, NULL, &in, 1, &out, 1, err);
    if (st == HR_OK) *y = *(const float *)out.value.data;
    hr_tensor_clear(&out.value);
    return st;
}

/* ---- tests ---- */

static void two_variables_of_one_object_become_one(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model *m, *again;
    hr_saved_model_writer *w;
    float y;
    write_kernel_model(true, 5);
    assert_ok(hr_saved_model_load("model", &m, &err), &err);
    assert_ok(predict(m, &y, &err), &err);
    assert_near(y, 15, 1e-6);
    /* A value that the functions' variable gets is saved by the graph's nodes. */
    const hr_tensor seven = hr_tensor_of(HR_FLOAT, HR_SCALAR, (float[]){7});
    const hr_node handle = hr_graph_node(hr_saved_model_graph(m), "dense/kernel");
    assert_ok(hr_session_set(hr_saved_model_session(m), handle, &seven, &err), &err);
    assert_ok(hr_saved_model_writer_open("again", &w, &err), &err);
    assert_ok(hr_saved_model_writer_add(w, hr_saved_model_session(m), &err, .model = m), &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    hr_saved_model_unref(m);
    assert_ok(hr_saved_model_load("again", &again, &err), &err);
    assert_ok(predict(again, &y, &err), &err);
    assert_near(y, 21, 1e-6);
    hr_saved_model_unref(again);
}

static void what_no_node_restores_has_the_value_of_its_object(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model *m;
    float y;
    write_kernel_model(false, 5);
    assert_ok(hr_saved_model_load("model", &m, &err), &err);
    assert_ok(predict(m, &y, &err), &err);
    assert_near(y, 15, 1e-6);
    hr_saved_model_unref(m);
}

static void a_variable_that_the_checkpoint_lacks_has_no_value(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model *m;
    float y;
    write_graph(false);
    write_kernel(5, (hr_view){"\x0a\x00", 2});
    assert_ok(hr_saved_model_load("model", &m, &err), &err);
    assert_status(predict(m, &y, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "variable.uninitialized");
    assert_non_null(strstr(err.text, "dense/kernel"));
    hr_saved_model_unref(m);
}

static void damaged_objects_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model *m;
    write_graph(true);
    write_kernel(5, (hr_view){file_objects, 9});
    assert_status(hr_saved_model_load("model", &m, &err), HR_DATA_LOSS);
    assert_null(m);
    /* Numbers of objects that are not there lead nowhere. */
    char other[sizeof file_objects];
    memcpy(other, file_objects, sizeof other);
    other[5] = 77;
    write_kernel(5, (hr_view){other, sizeof other - 1});
    assert_ok(hr_saved_model_load("model", &m, &err), &err);
    hr_saved_model_unref(m);
}

static void objects_outside_the_folder_are_not_read(void **state)
{
    (void)state;
    hr_error err;
    hr_saved_model *m;
    write_kernel_model(false, 5);
    assert_int_equal(rename("model/variables/variables.index", "outside"), 0);
    assert_int_equal(symlink("../../outside", "model/variables/variables.index"), 0);
    assert_status(hr_saved_model_load("model", &m, &err), HR_PERMISSION_DENIED);
    assert_string_equal(err.kind, "file.outside");
    assert_ok(hr_saved_model_load("model", &m, &err, .any_file = true), &err);
    hr_saved_model_unref(m);
    assert_int_equal(unlink("model/variables/variables.index"), 0);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    hr_error err;
    for (int with_saver = 0; with_saver < 2; with_saver++) {
        write_kernel_model(with_saver, 5);
        for (int64_t n = 0;; n += 1 + n / 40) {
            hr_saved_model *m = NULL;
            float y = 0;
            fail_allocation(n);
            hr_status st = hr_saved_model_load("model", &m, &err);
            if (st == HR_OK) st = predict(m, &y, &err);
            const int64_t made = allocations_since();
            fail_allocation(INT64_MAX);
            hr_saved_model_unref(m);
            if (st == HR_OK)
                assert_near(y, 15, 1e-6);
            else
                assert_status(st, HR_RESOURCE_EXHAUSTED);
            if (made <= n) break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_variables_of_one_object_become_one),
        cmocka_unit_test(what_no_node_restores_has_the_value_of_its_object),
        cmocka_unit_test(a_variable_that_the_checkpoint_lacks_has_no_value),
        cmocka_unit_test(damaged_objects_are_refused),
        cmocka_unit_test(objects_outside_the_folder_are_not_read),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
