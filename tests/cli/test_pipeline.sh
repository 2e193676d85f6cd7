# bench and explain of a file's section pipeline: operators in order, every mistake at its line and column.
source "$SOURCE/tests/cli/kit.sh"

# Columns have their own values for missing words; fields have none.
fields() { sed '/^columns:/,$d; s/dest_lon: -89[.0-9]*/&, tailnum: "", plane_model: "", plane_manufacturer: "", plane_engine: ""/' "$flights_yaml"; }
# A whole pipeline over the flights, its steps on lines of their own.
pipeline() {
    cat <<'YAML'
pipeline:
  - list_files: {pattern: train-*.tfrecord, shuffle: true, seed: 3}
  - interleave: {cycle_length: 2, block_length: 4}
  - shuffle: 100
  - batch: {batch_size: 64, drop_remainder: true}
  - parse_example
  - cache
  - repeat: 2
  - prefetch
YAML
}
# `wrong 's/old/new/' MESSAGE`: the pipeline with one change, refused at that line.
wrong() {
    { echo "schema: {int64: [late], label: late}"; pipeline; } >right.yaml
    sed "$1" right.yaml >f.yaml
    cmp -s f.yaml right.yaml && fail "nothing was changed: $1"
    headrace explain f.yaml
    refused 1 "f.yaml:$(diff right.yaml f.yaml | sed -n 's/^\([0-9]*\).*/\1/p' | head -n 1):"
    says "$2"
}

it_measures_a_pipeline_that_parses_the_fields_of_a_schema() {
    flights 2000 data
    { fields; pipeline; } >f.yaml
    headrace bench --pipeline f.yaml --data data --json
    ends_with 0
    prints '"rows":3072,"batches":48,'
    headrace bench f.yaml --data data --seed 1 --explain -n 3
    ends_with 0
    prints "192 rows in 3 batches"
    prints "parse_example"
    says_nothing
}

it_turns_features_into_columns_beside_a_training() {
    flights 2000 data
    { cat "$flights_yaml"; pipeline | sed 's/^  - cache/  - transform_features/'; } >f.yaml
    headrace bench --pipeline f.yaml --data data --json
    ends_with 0
    prints '"rows":3072,"batches":48,'
    headrace explain --pipeline f.yaml
    ends_with 0
    prints "transform_features"
    headrace explain f.yaml
    ends_with 0
    headrace train f.yaml --data data --model-dir model --epochs 1
    ends_with 0
}

it_takes_records_from_one_source_and_counts() {
    flights 2000 data
    printf 'pipeline: [{tfrecord: "train-*"}, {skip: 100}, {take: 1000}, {batch: 10}]\n' >f.yaml
    headrace bench f.yaml --data data --json
    ends_with 0
    prints '"rows":1000,"batches":100,'
}

it_refuses_mistakes_at_their_place() {
    wrong 's/- shuffle: 100/- shufle: 100/' "unknown operator 'shufle'; did you mean 'shuffle'?"
    wrong 's/block_length/blok_length/' "unknown key 'blok_length'; did you mean 'block_length'?"
    wrong 's/- shuffle: 100/- shuffle: many/' "expected a whole number"
    wrong 's/- shuffle: 100/- shuffle/' "expected its 'buffer_size'"
    wrong 's/- shuffle: 100/- shuffle: 0/' "expected buffer_size > 0, got 0"
    wrong 's/- repeat: 2/- tfrecord: x/' "expected it as the first step alone"
    wrong 's/- parse_example/- parse_example: 3/' "it has no options"
    wrong 's/- parse_example/- parse_example/;s/- cache/- [cache]/' "expected one operator"
    wrong 's/- cache/- transform_features/' "expected a section 'columns'"
    wrong '/- list_files/d;/- interleave/d' "expected list_files or tfrecord before it"
    pipeline >f.yaml
    headrace explain f.yaml
    refused 1 "expected a section 'schema' that says what the records hold"
    printf 'pipeline: []\n' >f.yaml
    headrace bench f.yaml
    refused 1 "f.yaml:1:11: pipeline: expected at least one operator"
    headrace bench --pipeline "$flights_yaml"
    refused 1 "expected the key 'pipeline'"
    headrace bench --pipeline f.yaml --epochs 3
    refused 2 "--epochs: expected it of a training"
}

run_tests
