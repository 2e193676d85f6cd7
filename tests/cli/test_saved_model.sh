# saved-model show, run, optimize, freeze, convert.
source "$SOURCE/tests/cli/kit.sh"

# `golden NAME`: a SavedModel that TensorFlow wrote.
golden() {
    tar -xzf "$SOURCE/tests/golden/saved_model.tar.gz" "./$1"
    chmod -R u+w "$1"
}

it_shows_signatures_variables_and_files() {
    golden tf2_module
    headrace saved-model show tf2_module
    ends_with 0
    says_nothing
    prints "graph serve: 72 nodes, by TensorFlow 2.15.1, with objects of TensorFlow 2"
    prints "signature serving_default: tensorflow/serving/predict
  input x: float32[?,2] (serving_default_x:0)
  output y: float32[?,2] (StatefulPartitionedCall:0)"
    prints "file animals.txt: asset_path_initializer:0"
    prints "variable w/.ATTRIBUTES/VARIABLE_VALUE: float32[2,2]"
    headrace saved-model show tf2_module --signature_def words --json
    prints '"inputs":{"w":{"dtype":"string","shape":[-1],"name":"words_w:0","sparse":false}}'
    case $out in *serving_default*) fail "another signature" ;; esac
    headrace saved-model show tf2_module --signature-def none
    refused 1 "expected a signature 'none'"
    headrace saved-model show tf2_module --tag_set serve,gpu
    refused 1 "expected a graph of the tags 'serve,gpu'"
    headrace saved-model show nowhere
    refused 1 "nowhere"
}

it_runs_signatures() {
    golden tf2_module
    headrace saved-model run tf2_module --inputs 'x=[[1, 2]]'
    ends_with 0
    prints "y float32[1,2] [[4.28299999, 0]]"
    headrace saved-model run tf2_module --signature_def words --inputs 'w=["dog", "no"]' --json --outdir out
    prints '{"ids": [1, -1]}'
    [ -s out/ids.npy ] || fail "no ids.npy"
    headrace saved-model run tf2_module --inputs 'z=1'
    refused 1 "expected NAME=VALUE with an input of signature 'serving_default', such as 'x'"
    headrace saved-model run tf2_module
    refused 1 "expected --inputs 'x=VALUE' for an input of float32[?,2]"
    headrace saved-model run tf2_module --inputs 'x=[[1, 2]]' --inputs 'x=[[1, 2]]'
    refused 1 "expected a value for 'x' once"
    headrace saved-model run tf2_module --inputs 'x=[["a", "b"]]'
    refused 1 "--inputs x: column"
    headrace saved-model run tf2_module --inputs 'x=[[1, 2]]' --outputs y,z
    refused 1 "got 'z'"
}

it_runs_examples() {
    golden dnn_regressor_v1_parsing
    local row='{"cylinders": [6], "displacement": [160.0], "horsepower": [88.0], "origin": ["europe"], "weight": [2800.0]}'
    headrace saved-model run dnn_regressor_v1_parsing --input_examples "inputs=[$row, $row]"
    ends_with 0
    prints "outputs float32[2,1] [[-0."
    headrace saved-model run dnn_regressor_v1_parsing --input-examples "inputs=$row"
    refused 1 "expected a list of objects"
    headrace saved-model run dnn_regressor_v1_parsing --input-examples "inputs=[{]"
    refused 1 "expected a list of objects"
    headrace saved-model run dnn_regressor_v1_parsing --input-examples 'inputs=[{"cylinders": }]'
    refused 1 "--input-examples"
}

it_writes_smaller_models() {
    golden tf2_module
    headrace saved-model optimize tf2_module --for-inference -o small
    ends_with 0
    holds small "assets assets/animals.txt saved_model.pb "
    rm -r tf2_module
    headrace saved-model run small --inputs 'x=[[1, 2]]'
    prints "y float32[1,2] [[4.28299999, 0]]"
    headrace saved-model run small --signature-def words --inputs 'w=["dog", "no"]'
    prints "ids int64[2] [1, -1]"
    headrace saved-model optimize small -o small -t fold_constants
    refused 1 "expected no file of that name"
    headrace saved-model optimize small
    refused 2 "expected --output"
    headrace saved-model optimize small -o other -t no_such
    refused 2 "--transforms"
    absent other
    headrace saved-model freeze small -o frozen.pb
    ends_with 0
    headrace graph run frozen.pb --feed 'serving_default_x=[[1, 2]]' --fetch StatefulPartitionedCall
    prints "[[4.28299999, 0]]"
}

it_freezes_no_table_that_the_checkpoint_fills() {
    local types='attr { key: "Tin" value { type: DT_INT64 } } attr { key: "Tout" value { type: DT_INT64 } }'
    local number='dtype: DT_INT64 tensor_shape { }'
    mkdir mutable
    cat >mutable/saved_model.pbtxt <<TEXT
saved_model_schema_version: 1
meta_graphs {
  meta_info_def { tags: "serve" }
  graph_def {
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT64 } } }
    node { name: "none" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
           attr { key: "value" value { tensor { $number int64_val: -1 } } } }
    node { name: "path" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
           attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "" } } } }
    node { name: "table" op: "MutableHashTableV2" attr { key: "key_dtype" value { type: DT_INT64 } }
           attr { key: "value_dtype" value { type: DT_INT64 } } }
    node { name: "y" op: "LookupTableFindV2" input: "table" input: "x" input: "none" $types }
    node { name: "keys" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
           attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 1 } } int64_val: 3 } } } }
    node { name: "restore" op: "LookupTableImportV2" input: "table" input: "keys" input: "keys" $types }
  }
  saver_def { filename_tensor_name: "path:0" save_tensor_name: "path:0" restore_op_name: "restore" version: V2 }
  signature_def { key: "serving_default" value {
    inputs { key: "x" value { name: "x:0" $number } } outputs { key: "y" value { name: "y:0" $number } }
    method_name: "tensorflow/serving/predict" } }
}
TEXT
    headrace saved-model run mutable --inputs x=3
    prints "y int64[] 3"
    headrace saved-model optimize mutable -o small
    refused 1 "table 'table' is filled from the checkpoint, and cannot be frozen"
    headrace saved-model freeze mutable -o frozen.pb
    refused 1 "table 'table' is filled from the checkpoint, and cannot be frozen"
    absent small
    absent frozen.pb
}

it_shows_the_type_of_what_a_reference_refers_to() {
    mkdir counter
    cat >counter/saved_model.pbtxt <<TEXT
meta_graphs {
  meta_info_def { tags: "serve" }
  graph_def { node { name: "c" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
                     attr { key: "shape" value { shape { } } } } }
  signature_def { key: "count" value {
    outputs { key: "c" value { name: "c:0" dtype: DT_FLOAT_REF tensor_shape { } } } } }
}
TEXT
    headrace saved-model show counter
    ends_with 0
    prints "output c: float32[]"
}

it_converts_bytes_and_text() {
    golden tf2_module
    headrace saved-model convert tf2_module -o tf2_module/saved_model.pbtxt
    ends_with 0
    says_nothing
    headrace saved-model convert tf2_module/saved_model.pbtxt -o again.pb
    headrace saved-model convert tf2_module/saved_model.pb -o once.pb
    same again.pb once.pb
    rm tf2_module/saved_model.pb
    headrace saved-model run tf2_module --inputs 'x=[[1, 2]]'
    prints "y float32[1,2] [[4.28299999, 0]]"
    headrace saved-model convert tf2_module --logdir logs
    ends_with 0
    [ -n "$(ls logs | grep tfevents)" ] || fail "no event file"
    headrace saved-model convert tf2_module
    refused 2 "expected one of --output and --logdir"
}

it_keeps_models_to_their_folders() {
    golden plain_table_asset
    rm plain_table_asset/assets/animals.txt
    ln -s /etc/hostname plain_table_asset/assets/animals.txt
    headrace saved-model run plain_table_asset --inputs 'w=["owl"]'
    refused 1 "expected a file in"
    headrace saved-model run plain_table_asset --inputs 'w=["owl"]' --any-file
    ends_with 0
}

run_tests
