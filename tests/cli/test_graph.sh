# graph show, run, convert, optimize: graphs in files.
source "$SOURCE/tests/cli/kit.sh"

T='attr { key: "T" value { type: DT_FLOAT } }'
F='attr { key: "dtype" value { type: DT_FLOAT } }'
# y = (x w) scaled, of three, through an Identity.
layer() {
    cat >layer.pbtxt <<END
node { name: "x" op: "Placeholder" $F attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } } }
node { name: "in/w" op: "Const" $F attr { key: "value" value { tensor { dtype: DT_FLOAT
  tensor_shape { dim { size: 2 } dim { size: 3 } } float_val: [1, 2, 3, 4, 5, 6] } } } }
node { name: "in/read" op: "Identity" input: "in/w" $T }
node { name: "product" op: "MatMul" input: "x" input: "in/read" $T }
node { name: "s" op: "Const" $F attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } }
  float_val: [1, 10, 100] } } } }
node { name: "y" op: "Mul" input: "product" input: "s" $T }
node { name: "done" op: "NoOp" input: "^y" }
node { name: "words" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
node { name: "same" op: "Identity" input: "words" attr { key: "T" value { type: DT_STRING } } }
versions { producer: 1645 }
END
}
# `node NAME OP INPUT...` of floats.
node() {
    printf 'node { name: "%s" op: "%s" ' "$1" "$2"
    shift 2
    printf 'input: "%s" ' "$@"
    printf '%s }\n' "$T"
}

it_shows_nodes_and_a_summary() {
    layer
    headrace graph show layer.pbtxt
    ends_with 0
    says_nothing
    prints "GraphDef: 9 nodes, 36 B of constants"
    prints "ops: Const 2, Identity 2, Placeholder 2, MatMul 1, Mul 1, NoOp 1"
    prints "placeholder: x float32[?,2]"
    prints "  product  MatMul       x in/read  float32[?,3]"
    prints "  done     NoOp         ^y"
    headrace graph show layer.pbtxt --summary
    case $out in *"  product"*) fail "the table" ;; esac
    headrace graph show layer.pbtxt -a
    prints "transpose_a=false transpose_b=false T=float32"
    headrace graph show layer.pbtxt --json --attributes
    prints '"ops":{"Const":2,'
    prints '{"name":"done","op":"NoOp","inputs":"^y","outputs":"","attributes":""}'
    if command -v python3 >/dev/null; then
        python3 -c 'import json, sys; json.load(sys.stdin)' <"$scratch/out" || fail "not JSON"
    fi
}

# `saved FILE TAGS...`: a SavedModel as text, with the graph of layer.pbtxt for each of the TAGS.
saved() {
    local file=$1 tags
    shift
    mkdir -p "$(dirname "$file")"
    echo 'saved_model_schema_version: 1' >"$file"
    for tags in "$@"; do
        echo 'meta_graphs { meta_info_def {'
        for tag in ${tags//,/ }; do echo "tags: \"$tag\""; done
        echo '} graph_def {'
        cat layer.pbtxt
        echo '} }'
    done >>"$file"
}

it_reads_saved_models() {
    layer
    saved one/saved_model.pbtxt serve
    headrace graph show one --summary
    ends_with 0
    prints "MetaGraphDef: 9 nodes"
    prints "tag: serve"
    headrace graph run one/saved_model.pbtxt --feed 'x=[[1, 2]]' --fetch y
    prints "[[9, 120, 1500]]"
    headrace graph convert one --graph -o plain.pb
    headrace graph show plain.pb --summary
    prints "GraphDef: 9 nodes"
    saved two/saved_model.pbtxt serve serve,gpu
    headrace graph show two --summary
    refused 1 "expected a graph that tags choose, got those of the tags 'serve', 'serve,gpu'"
    headrace graph show two --summary --tag-set gpu,serve
    prints "tag: gpu"
    headrace graph show two --tag-set tpu
    refused 1 "expected a graph of the tags 'tpu'"
    headrace graph show layer.pbtxt --tag-set serve
    refused 1 "expected the folder of a SavedModel"
    mkdir empty
    headrace graph show empty
    refused 1 "empty/saved_model.pb"
}

it_shows_the_nodes_of_a_loop_as_the_file_has_them() {
    tar -xzOf "$SOURCE/tests/golden/graphdef.tar.gz" --wildcards '*while_enter_exit.pbtxt' >loop.pbtxt
    [ -s loop.pbtxt ] || fail "there is no such graph"
    nodes=$(grep -c '^node {' loop.pbtxt)
    headrace graph show loop.pbtxt
    ends_with 0
    prints "GraphDef: $nodes nodes"
    prints "NextIteration"
    case $out in *"  While "*) fail "the While that runs in its place" ;; esac
    headrace graph show loop.pbtxt --json
    case $out in *'"While"'*) fail "the While that runs in its place" ;; esac
    headrace graph show loop.pbtxt --dot -
    case $out in *'"..'*) fail "the While that runs in its place" ;; esac
}

it_draws_pictures() {
    layer
    headrace graph show layer.pbtxt --dot -
    ends_with 0
    prints '"product" -> "y";'
    prints '"y" -> "done" [style = dashed];'
    headrace graph show layer.pbtxt --dot - --depth 1
    prints '"in" [tooltip = "2 nodes", style = rounded];'
    prints '"in" -> "product";'
    headrace graph show layer.pbtxt --svg layer.svg
    ends_with 0
    prints_nothing
    [ "$(grep -c '<rect class="node"' layer.svg)" = 9 ] || fail "nine boxes"
    if command -v python3 >/dev/null; then
        python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' layer.svg || fail "not XML"
    fi
    headrace graph show layer.pbtxt --svg no/such/folder.svg
    refused 1 "no/such/folder.svg"
}

it_runs_with_feeds_as_json() {
    layer
    headrace graph run layer.pbtxt --feed 'x=[[1, 2], [0.5, -1e0]]' --fetch y
    ends_with 0
    [ "$out" = "y float32[2,3] [[9, 120, 1500], [-3.5, -40, -450]]" ] || fail "the values"
    headrace graph run layer.pbtxt --feed 'x=[[1, 2]]' --fetch y:0 --fetch x --target done --json
    [ "$out" = '{"y:0": [[9, 120, 1500]], "x": [[1, 2]]}' ] || fail "as JSON"
    headrace graph run layer.pbtxt --feed 'words=["a", "b\n\u00e9\""]' --fetch same --json
    [ "$out" = '{"same": ["a", "b\né\""]}' ] || fail "strings"
    headrace graph run layer.pbtxt --feed 'product=[[1, 2, 3]]' --fetch y --repeat 3
    prints "[[1, 20, 300]]"
    says "of 3 runs: best"
    headrace graph run layer.pbtxt --feed 'words=[[], []]' --fetch same
    ends_with 0
    prints "same string[2,0] [[], []]"
}

it_saves_and_checks_results() {
    layer
    headrace graph run layer.pbtxt --feed 'x=[[1, 2], [3, 4]]' --fetch y --fetch x --save y=y.npy --save x=x.npy -q
    ends_with 0
    prints_nothing
    for passes in none exact all; do
        headrace graph run layer.pbtxt --feed x=x.npy --fetch y --check y=y.npy --passes $passes -q
        ends_with 0
    done
    headrace graph run layer.pbtxt --feed x=x.npy --fetch y --check 'y=[[9, 120, 1500], [19, 260, 3301]]' -q
    refused 1 "y: value 5 of 6 is another one than expected"
    headrace graph run layer.pbtxt --feed x=x.npy --fetch y --check 'y=[[9, 120, 1500], [19, 260, 3301]]' --tolerance 1 -q
    ends_with 0
    headrace graph run layer.pbtxt --feed x=x.npy --fetch y --check 'y=[1]' -q
    refused 1 "y: expected shape [1], got [2,3]"
    headrace graph run layer.pbtxt --feed x=x.npy --fetch y --check z=1 -q
    refused 1 "--check: expected NAME=VALUE with a name as --fetch has it"
}

it_refuses_wrong_feeds_and_names() {
    layer
    headrace graph run layer.pbtxt --feed x=1
    refused 2 "expected --fetch or --target"
    headrace graph run layer.pbtxt --feed 'x=[[1, 2], [3]]' --fetch y
    refused 1 "--feed x: column 13: expected lists of one length before this"
    headrace graph run layer.pbtxt --feed 'x=[[1, 2], 3]' --fetch y
    refused 1 "--feed x: column 10: expected lists of one depth"
    headrace graph run layer.pbtxt --feed 'x=[[1, 2' --fetch y
    refused 1 "--feed x: column 7: expected ',' or ']'"
    headrace graph run layer.pbtxt --feed 'x="a"' --fetch y
    refused 1 "--feed x: column 1: expected float32"
    headrace graph run layer.pbtxt --feed 'x=1 2' --fetch y
    refused 1 "--feed x: column 3: expected the end of the value"
    headrace graph run layer.pbtxt --feed 'x=[[[[[[[[[[1]]]]]]]]]]' --fetch y
    refused 1 "fewer dimensions"
    headrace graph run layer.pbtxt --feed 'words=["a' --fetch same
    refused 1 "the end of a string"
    headrace graph run layer.pbtxt --feed 'words=["\u12"]' --fetch same
    refused 1 "an escape"
    headrace graph run layer.pbtxt --feed x --fetch y
    refused 1 "--feed: expected NAME=VALUE, got 'x'"
    headrace graph run layer.pbtxt --feed 'x=[[1, 2, 3]]' --fetch y
    refused 1 "x"
    headrace graph run layer.pbtxt --feed 'x=[[1, 2]]' --fetch prod
    refused 1 "expected a node of the graph, got 'prod'; similar: 'product'"
    headrace graph run layer.pbtxt --fetch done
    refused 1 "which has none; use --target"
    headrace graph run layer.pbtxt --fetch y
    refused 1 "x"
    headrace graph run layer.pbtxt --fetch y --passes nothing
    refused 2 "--passes: expected passes by name"
    printf 'not numpy at all' >x.npy
    headrace graph run layer.pbtxt --feed x=x.npy --fetch y
    refused 1 "x.npy: expected a file of numpy"
    printf '\x93NUMPY\x01\x00\x5e\x00%-93s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 2), }" >x.npy
    headrace graph run layer.pbtxt --feed x=x.npy --fetch y
    refused 1 "x.npy: expected"
    printf '\x93NUMPY\x01\x00\x5e\x00%-93s\n' "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }" >x.npy
    headrace graph run layer.pbtxt --feed x=x.npy --fetch y
    refused 1 "x.npy: expected values of float32, little-endian"
    headrace graph run layer.pbtxt --feed x=none.npy --fetch y
    refused 1 "none.npy"
}

it_ends_an_endless_loop() {
    cat >loop.pbtxt <<'END'
node { name: "start" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
node { name: "loop" op: "StatelessWhile" input: "start" attr { key: "T" value { list { type: DT_FLOAT } } }
       attr { key: "cond" value { func { name: "always" } } } attr { key: "body" value { func { name: "again" } } } }
node { name: "dims" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1000000 } } } }
node { name: "large" op: "Fill" input: "dims" input: "start" attr { key: "T" value { type: DT_FLOAT } } }
library {
  function { signature { name: "always" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_BOOL } }
    node_def { name: "true" op: "Const" attr { key: "dtype" value { type: DT_BOOL } }
               attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape { } bool_val: true } } } }
    ret { key: "y" value: "true:output:0" } }
  function { signature { name: "again" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "same" op: "Identity" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "y" value: "same:output:0" } }
}
END
    headrace graph run loop.pbtxt --fetch loop --timeout 0.05
    refused 1 "took longer than its 0.05 seconds"
    headrace graph run loop.pbtxt --fetch loop --timeout soon
    refused 2 "--timeout: expected a number from 0 on, found \"soon\""
    headrace graph run loop.pbtxt --fetch large --memory-limit 1M --passes none -q
    refused 1 "large"
    headrace graph run loop.pbtxt --fetch large --memory-limit 16M --passes none -q
    ends_with 0
}

it_converts_both_ways() {
    layer
    headrace graph convert layer.pbtxt -o layer.pb
    ends_with 0
    prints_nothing
    headrace graph convert layer.pb -o again.pbtxt
    headrace graph convert again.pbtxt -o again.pb
    same layer.pb again.pb
    headrace graph convert layer.pb -o layer.meta
    headrace graph show layer.meta
    prints "MetaGraphDef: 9 nodes"
    headrace graph convert layer.meta --graph -o graph.pb
    same graph.pb layer.pb
    headrace graph convert layer.meta -o other.pb # a MetaGraphDef under another name
    headrace graph show other.pb --summary
    prints "MetaGraphDef: 9 nodes"
    headrace graph convert layer.pb --strip-default-attrs -o small.pbtxt
    grep -q transpose_a again.pbtxt || fail "all attributes"
    ! grep -q transpose_a small.pbtxt || fail "no defaults"
    headrace graph convert layer.pb -o - >/dev/null
    cmp -s "$scratch/out" layer.pb || fail "the same on standard output"
    headrace graph convert layer.pb
    refused 2 "expected --output"
    headrace graph convert layer.pb --graph --meta -o x
    refused 2 "one of --graph and --meta"
}

it_optimizes_and_the_results_stay() {
    layer
    headrace graph run layer.pbtxt --feed 'x=[[1, 2], [3, 4]]' --fetch y --save y=y.npy -q
    headrace graph optimize layer.pbtxt --outputs y --inputs x --for-inference -o small.pb
    ends_with 0
    prints "9 nodes became 3"
    headrace graph optimize layer.pbtxt --outputs y --passes exact -o passed.pb
    headrace graph optimize layer.pbtxt -t "remove_device merge_duplicate_nodes" -t "rename_node(old_node_name=s, new_node_name=scale)" \
        --outputs y -o renamed.pb
    for file in small passed renamed; do
        headrace graph run $file.pb --feed 'x=[[1, 2], [3, 4]]' --fetch y --check y=y.npy -q
        ends_with 0
    done
    headrace graph show renamed.pb
    prints "scale"
    headrace graph optimize --list
    ends_with 0
    prints "strip_unused_nodes(type, shape, name"
    prints "pass fold: "
    headrace graph optimize layer.pbtxt -t "fold_all" -o x.pb
    refused 2 "--transforms: expected the name of a transform"
    headrace graph optimize layer.pbtxt --for-inference -o x.pb
    refused 2 "expected --outputs"
    headrace graph optimize layer.pbtxt --outputs z --for-inference -o x.pb
    refused 1 "got 'z'"
    headrace graph optimize layer.pbtxt --outputs y --freeze none -o x.pb
    refused 1 "none"
    absent x.pb
}

it_refuses_what_is_no_graph() {
    local command
    mkdir folder
    printf 'no graph' >bad.pb
    head -c 100000 /dev/urandom >random.pb
    printf 'node { name: "a" op: "NoOp" input: "^b" }\nnode { name: "b" op: "NoOp" input: "^a" }\n' >circle.pbtxt
    printf 'node { name: "a" op: "Nothing" }\n' >unknown.pbtxt
    printf 'node { name: "a" op: "Placeholder" %s attr { key: "shape" value { shape { dim { size: 4611686018427387904 } dim { size: 16 } } } } }' "$F" >huge.pbtxt
    { printf 'node { attr { value { '; for i in $(seq 300); do printf 'func { attr { value { '; done; } >deep.pbtxt
    for command in "show" "convert -o out.pb" "run --fetch a" "optimize --outputs a -t remove_device -o out.pb"; do
        set -- $command
        for file in none.pb folder bad.pb random.pb circle.pbtxt unknown.pbtxt deep.pbtxt huge.pbtxt; do
            headrace graph "$1" $file "${@:2}"
            [ "$1 $file" != "show huge.pbtxt" ] || continue
            [ "$code" = 1 ] || fail "expected exit code 1 of $1 $file"
            [ -n "$err" ] || fail "expected a message of $1 $file"
        done
        absent out.pb
    done
    headrace graph show none.pb
    says "none.pb: cannot be opened"
    headrace graph show circle.pbtxt
    says "circle.pbtxt: expected a graph without cycles"
    headrace graph show deep.pbtxt
    says "messages within each other"
    headrace graph
    ends_with 2
}

# A function that calls itself without end, and a long chain of nodes.
it_stays_within_bounds() {
    local i
    cat >self.pbtxt <<END
node { name: "a" op: "Const" $F attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
node { name: "y" op: "PartitionedCall" input: "a" attr { key: "Tin" value { list { type: DT_FLOAT } } }
  attr { key: "Tout" value { list { type: DT_FLOAT } } } attr { key: "f" value { func { name: "f" } } } }
library { function { signature { name: "f" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "z" type: DT_FLOAT } }
  node_def { name: "again" op: "PartitionedCall" input: "x" attr { key: "Tin" value { list { type: DT_FLOAT } } }
    attr { key: "Tout" value { list { type: DT_FLOAT } } } attr { key: "f" value { func { name: "f" } } } }
  ret { key: "z" value: "again:output:0" } } }
END
    headrace graph run self.pbtxt --fetch y
    refused 1 "node 'y' (PartitionedCall): function 'f': expected at most 200 calls"
    headrace graph show self.pbtxt --function f
    ends_with 0
    prints "again"
    headrace graph show self.pbtxt --function g
    refused 1 "--function: expected a function of the graph, got 'g'"
    headrace graph optimize self.pbtxt --outputs y --for-inference -o out.pb
    ends_with 0
    {
        printf 'node { name: "n0" op: "Const" %s attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }\n' "$F"
        for i in $(seq 20000); do echo "node { name: \"n$i\" op: \"Neg\" input: \"n$((i - 1))\" $T }"; done
    } >chain.pbtxt
    headrace graph run chain.pbtxt --fetch n20000 --passes none
    ends_with 0
    prints "n20000 float32[] 1"
    headrace graph optimize chain.pbtxt --outputs n20000 --for-inference -o chain.pb
    ends_with 0
    prints "20,001 nodes became 1"
    headrace graph show chain.pbtxt --svg chain.svg
    refused 1 "expected at most 4000 boxes"
}

run_tests
