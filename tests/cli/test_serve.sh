#!/bin/bash
# headrace serve: curl against it, a plug-in's models, reload, signals.
. "$(dirname "$0")/kit.sh"
plugin=${SERVABLE:-}
[ -n "$plugin" ] && command -v curl >/dev/null || { echo "built without the server, or no curl: nothing to test"; exit 0; }

# `words VERSION WORD NUMBER...`: a version of the table.
words() {
    local version=$1
    shift
    mkdir -p "words/.$version"
    printf '%s\t%s\n' "$@" >"words/.$version/table.tsv"
    mv "words/.$version" "words/$version" # complete at once
}
# `serve FLAGS...`: begins; $url is where it listens.
serve() {
    start serve --servable="$plugin" --model_platform=lookup_table --model_name=words --model_base_path=words \
        --rest_api_port=0 --no_grpc --port_file=ports --file_system_poll_wait_seconds=0.1 "$@"
    wait_until test -e ports
    url=http://127.0.0.1:$(sed 's/.*"rest": \([0-9]*\).*/\1/' ports)
}
ask() { # `ask TARGET [curl flags...]`: $out is the answer, $code the status
    local target=$1
    shift
    code=$(curl -s -o answer -w '%{http_code}' "$@" "$url$target")
    out=$(tr -d '\n ' <answer)
    rm -f answer
}
stop() {
    rm -f ports
    kill -TERM "$pid"
    code=0
    wait "$pid" || code=$?
    err=$(cat "$scratch/err")
    ends_with 0
}

it_predicts_rows_and_columns() {
    words 1 cat 7 dog 11
    serve
    ask /v1/models/words:predict -d '{"instances": ["dog", "gnu", "cat"]}'
    ends_with 200
    prints '{"predictions":[11,-1,7]}'
    ask /v1/models/words:predict -d '{"inputs": {"word": ["cat"]}}'
    prints '{"outputs":[7]}'
    ask /v1/models/words:predict -d '{"instances": [1]}'
    ends_with 400
    prints 'notofexpectedtype:string'
    ask /v1/models/words/metadata
    prints '"serving_default":{"inputs":{"word":{"dtype":"DT_STRING"'
    ask /v1/models/nobody:predict -d '{"instances": [1]}'
    ends_with 404
    stop
}

it_says_nothing_where_it_is_to_be_quiet() {
    words 1 cat 7
    serve --quiet
    wait_until sh -c "curl -sf $url/readyz"
    stop
    [ -z "$err" ] || fail "expected nothing on standard error"
}

it_takes_new_versions_and_drops_deleted_ones() {
    words 1 cat 7
    serve
    words 2 cat 8
    wait_until sh -c "curl -s $url/v1/models/words/versions/2 | grep -q AVAILABLE"
    wait_until sh -c "curl -s $url/v1/models/words/versions/1 | grep -q END"
    ask /v1/models/words:predict -d '{"instances": ["cat"]}'
    prints '{"predictions":[8]}'
    rm -rf words/2
    wait_until sh -c "curl -s $url/v1/models/words/versions/1 | grep -q AVAILABLE"
    ask /v1/models/words:predict -d '{"instances": ["cat"]}'
    prints '{"predictions":[7]}'
    printf 'no number\n' >bad.tsv
    mkdir words/.3
    mv bad.tsv words/.3/table.tsv
    mv words/.3 words/3
    wait_until sh -c "curl -s $url/v1/models/words/versions/3 | grep -q 'expected a word'"
    ask /v1/models/words:predict -d '{"instances": ["cat"]}'
    prints '{"predictions":[7]}'
    stop
    rm -rf words
}

it_shows_health_metrics_and_a_page() {
    words 1 cat 7
    serve --access_log=access.jsonl
    ask /healthz
    ends_with 200
    ask /readyz
    ends_with 200
    ask /v1/models/words:predict -d '{"instances": ["cat"]}'
    ask /monitoring/prometheus/metrics
    prints ':tensorflow:serving:request_count{model_name="words",status="OK"}1'
    ask /
    ends_with 200
    prints '<title>'
    ask /v1/models
    prints '"name":"words"'
    stop
    grep -q '"target": "/v1/models/words:predict", "status": 200' access.jsonl || fail "expected a line of the access log"
}

it_speaks_tls_and_asks_for_a_key() {
    command -v openssl >/dev/null || return 0
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
    words 1 cat 7
    echo secret >key.txt
    serve --tls_key=key.pem --tls_cert=cert.pem --api_key_file=key.txt
    url=${url/http:/https:}
    ask /v1/models/words:predict -k -d '{"instances": ["cat"]}'
    ends_with 401
    ask /v1/models/words:predict -k -H 'Authorization: Bearer secret' -d '{"instances": ["cat"]}'
    ends_with 200
    prints '{"predictions":[7]}'
    stop
}

# `one_node MODEL OP`: version 1 of a model, y = OP(x), with its file alone.
one_node() {
    local tensor='dtype: DT_FLOAT tensor_shape { dim { size: -1 } }'
    mkdir -p "$1/1"
    cat >"$1/1/saved_model.pbtxt" <<TEXT
saved_model_schema_version: 1
meta_graphs {
  meta_info_def { tags: "serve" }
  graph_def {
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: -1 } } } } }
    node { name: "y" op: "$2" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  }
  signature_def { key: "serving_default" value {
    inputs { key: "x" value { name: "x:0" $tensor } } outputs { key: "y" value { name: "y:0" $tensor } }
    method_name: "tensorflow/serving/predict" } }
}
TEXT
}
# `serve_model NAME FLAGS...`: a SavedModel in the folder NAME.
serve_model() {
    start serve --model_name="$1" --model_base_path="$1" --rest_api_port=0 --no_grpc --port_file=ports "${@:2}"
    wait_until test -e ports
    url=http://127.0.0.1:$(sed 's/.*"rest": \([0-9]*\).*/\1/' ports)
}

it_serves_a_model_with_an_op_of_ones_own() {
    [ -n "${OPS:-}" ] || return 0
    one_node zeroing ZeroOut
    serve_model zeroing --op_library="$OPS" --enable_batching=false
    ask /v1/models/zeroing:predict -d '{"instances": [3, 4, 5]}'
    ends_with 200
    prints '{"predictions":[3.0,0.0,0.0]}'
    stop
    headrace serve --model_name=zeroing --model_base_path=zeroing --rest_api_port=0 --no_grpc
    ends_with 1
    says ZeroOut
}

it_serves_a_frozen_model_whose_folder_of_variables_is_empty() {
    one_node frozen Neg
    mkdir frozen/1/variables # as TensorFlow 1's builder makes it
    serve_model frozen
    ask /v1/models/frozen:predict -d '{"instances": [3, -4]}'
    ends_with 200
    prints '{"predictions":[-3.0,4.0]}'
    stop
}

it_takes_whole_numbers_for_float_features_of_parsers_in_functions() {
    local strings='attr { key: "dtype" value { type: DT_STRING } }'
    mkdir -p parser/1
    cat >parser/1/saved_model.pbtxt <<TEXT
saved_model_schema_version: 1
meta_graphs {
  meta_info_def { tags: "serve" }
  graph_def {
    node { name: "x" op: "Placeholder" $strings attr { key: "shape" value { shape { dim { size: -1 } } } } }
    node { name: "y" op: "PartitionedCall" input: "x"
           attr { key: "Tin" value { list { type: DT_STRING } } } attr { key: "Tout" value { list { type: DT_FLOAT } } }
           attr { key: "f" value { func { name: "parse" } } } }
    library { function {
      signature { name: "parse" input_arg { name: "x" type: DT_STRING } output_arg { name: "a" type: DT_FLOAT } }
      node_def { name: "none" op: "Const" $strings
                 attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 0 } } } } } }
      node_def { name: "keys" op: "Const" $strings attr { key: "value" value {
                 tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: "a" } } } }
      node_def { name: "default" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value {
                 tensor { dtype: DT_FLOAT tensor_shape { dim { size: 0 } } } } } }
      node_def { name: "parser" op: "ParseExampleV2" input: "x" input: "none:output:0" input: "none:output:0"
                 input: "keys:output:0" input: "none:output:0" input: "default:output:0"
                 attr { key: "Tdense" value { list { type: DT_FLOAT } } } attr { key: "num_sparse" value { i: 0 } }
                 attr { key: "sparse_types" value { list { } } } attr { key: "ragged_value_types" value { list { } } }
                 attr { key: "ragged_split_types" value { list { } } }
                 attr { key: "dense_shapes" value { list { shape { } } } } }
      ret { key: "a" value: "parser:dense_values:0" } } }
  }
  signature_def { key: "serving_default" value {
    inputs { key: "inputs" value { name: "x:0" dtype: DT_STRING tensor_shape { dim { size: -1 } } } }
    outputs { key: "outputs" value { name: "y:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } }
    method_name: "tensorflow/serving/regress" } }
}
TEXT
    serve_model parser
    ask /v1/models/parser:regress -d '{"examples": [{"a": 2.5}, {"a": 3}]}'
    ends_with 200
    prints '{"results":[2.5,3.0]}'
    stop
}

it_shows_its_page_in_a_browser() {
    command -v chromium >/dev/null || return 0
    words 1 cat 7
    serve
    timeout 60 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=4000 --user-data-dir=browser \
        --dump-dom "$url/" >page.html 2>/dev/null || fail "chromium"
    rm -rf browser
    grep -q '<td>words</td>' page.html || fail "expected the model in the page"
    grep -q '<td>in: word</td>' page.html || fail "expected its signature in the page"
    stop
}

it_says_what_is_wrong() {
    headrace serve
    refused 2 'expected either --model_base_path or --model_config_file'
    headrace serve --model_base_path=nothing --no_grpc --rest_api_port=0
    ends_with 1
    says 'Could not find base path'
    printf 'model_config_list { config { name: "a" base_path: "relative" model_platform: "tensorflow" } }\n' >models
    headrace serve --model_config_file=models --no_grpc --rest_api_port=0
    ends_with 1
    says 'Expected model a to have an absolute path'
}

run_tests
