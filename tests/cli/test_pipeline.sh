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
    prints "transform_features(columns "
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

# `gives BATCHES ROWS STEP...`: the pipeline of these steps gives so many.
gives() {
    { fields; echo "pipeline:"; printf '  - %s\n' "${@:3}"; } >f.yaml
    headrace bench --pipeline f.yaml --json
    ends_with 0
    prints "\"rows\":$2,\"batches\":$1,"
}

it_has_a_step_for_each_operator_that_needs_no_function() {
    printf 'one\ntwo\ntwo\nthree\n' >a.txt
    gives 4 4 "text_lines: a.txt"
    gives 3 3 "text_lines: {pattern: a.txt, compression: NONE}" unique
    gives 4 4 "list_files: {pattern: '*.txt', extended: true}" "interleave: {of: text_lines, unordered: true}"
    gives 7 7 "fixed_length_records: {pattern: a.txt, record_bytes: 2, header_bytes: 1, footer_bytes: 3}"
    gives 5 5 "range: {stop: 10, start: 1, step: 2}" "enumerate: 3"
    gives 2 4 "range: 9" "shard: {num_shards: 2, index: 1}" "batch: {batch_size: 2, unordered: true}" "options: {seed: 3, unordered: true}"
    gives 3 9 "range: 9" "batch: 2" "rebatch: 3"
    gives 9 9 "range: 9" "batch: 2" unbatch "assert_cardinality: 9" "ignore_errors: {log_warning: true}"
    gives 4 8 "range: 9" "padded_batch: {batch_size: 2, drop_remainder: true}"
    gives 5 9 "range: 9" "ragged_batch: 2"
    gives 3 9 "range: 9" "window: {size: 3, shift: 2, drop_remainder: true}" "take: 3"
    gives 9 18 "range: 9" "shuffle_and_repeat: {buffer_size: 4, count: 2, seed: 1}" "batch: 2"
    gives 12 12 "range: 9" "pad_to_cardinality: 12"
    gives 6 6 "range: 4" "sample_by_weight: value"
    gives 9 9 "range: 9" "snapshot: kept"
    gives 9 9 "range: 9" "cache: {file: one.rows, max_bytes: 100000}"
    gives 9 9 "load: one.rows"
}

it_reads_csv_by_the_schema_and_passes_on_what_meets_a_condition() {
    printf 'late,name,far\n1,a,0.5\n0,b,1.5\nx,c,2.5\n1,b,3.5\n' >rows.csv
    printf 'schema: {int64: [late], string: [name], float: [far], label: late}\n' >schema.yaml
    while read -r rows condition; do
        { cat schema.yaml; echo "pipeline:"; echo "  - csv: {pattern: '*.csv', on_error: skip}"; echo "  - filter: $condition"; } >f.yaml
        headrace bench f.yaml --json
        ends_with 0
        prints "\"rows\":$rows,"
    done <<'CASES'
2 {feature: late, equals: 1}
2 {feature: name, equals: b}
1 {feature: far, equals: 0.5}
2 {feature: far, at_least: 1.5}
1 {feature: far, at_least: 1.5, below: 3.5}
3 {feature: late, below: 2}
CASES
    headrace explain f.yaml
    ends_with 0
    prints "csv(*.csv, columns 3) > filter"
    prints "late: int64 (label)"
    sed 's/feature: late/feature: lat/' f.yaml >g.yaml
    headrace explain g.yaml
    refused 1 "g.yaml:4:23: pipeline[1].filter.feature: expected a feature with one number or text an element, found 'lat'"
    printf 'pipeline: [{csv: {pattern: rows.csv, delimiter: ";"}}]\n' >f.yaml
    headrace explain f.yaml
    ends_with 0
    headrace bench f.yaml --json
    ends_with 0
    prints '"rows":4,'
}

it_reads_json_lines_by_the_schema() {
    printf '{"late": 1, "name": "a"}\n\n{"late": "x", "name": "b"}\n{"name": "c", "far": 2.5}\n' >rows.jsonl
    {
        printf 'schema: {int64: [late], string: [name], float: [far], label: name, default: {far: 1, late: 0}}\n'
        printf 'pipeline:\n  - jsonl: {pattern: rows.jsonl, on_error: skip}\n'
    } >f.yaml
    headrace bench f.yaml --json
    ends_with 0
    prints '"rows":2,'
    headrace explain f.yaml
    ends_with 0
    prints "text_lines(rows.jsonl) > jsonl(columns 3)"
    prints "name: string (label)"
    printf 'pipeline: [{jsonl: rows.jsonl}]\n' >g.yaml
    headrace explain g.yaml
    refused 1 "g.yaml:1:12: pipeline[0]: expected a \`schema:\` section, whose fields are the columns of jsonl"
}

it_reads_a_query_by_the_schema() {
    python3 -c 'import sqlite3; d = sqlite3.connect("a.db"); d.execute("CREATE TABLE t (n, s)"); \
d.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, None)]); d.commit()' || return 0
    {
        printf 'schema: {int64: [number], string: [text], default: {text: none}}\n'
        printf 'pipeline:\n  - sql: {data_source_name: a.db, query: "SELECT n, s FROM t ORDER BY n"}\n'
    } >f.yaml
    headrace explain f.yaml
    case $err in *'built without libsqlite3'*) return 0 ;; esac
    ends_with 0
    prints "sql("
    headrace bench f.yaml --json
    ends_with 0
    prints '"rows":2,'
}

it_refuses_mistakes_at_their_place() {
    wrong 's/- shuffle: 100/- shufle: 100/' "unknown operator 'shufle'; did you mean 'shuffle'?"
    wrong 's/block_length/blok_length/' "unknown key 'blok_length'; did you mean 'block_length'?"
    wrong 's/- shuffle: 100/- shuffle: many/' "expected a whole number"
    wrong 's/- shuffle: 100/- shuffle/' "expected its 'buffer_size'"
    wrong 's/- shuffle: 100/- shuffle: 0/' "expected buffer_size > 0, got 0"
    wrong 's/- repeat: 2/- tfrecord: x/' "expected it as the first step alone"
    wrong 's/- parse_example/- parse_example: true/' "expected its options, by their names"
    wrong 's/- parse_example/- parse_example: {tf_compat: 3}/' "expected true or false"
    wrong 's/- parse_example/- parse_example/;s/- cache/- [cache]/' "expected one operator"
    wrong 's/- cache/- transform_features/' "expected a section 'columns'"
    wrong '/- list_files/d;/- interleave/d' "expected a source before it, such as list_files or tfrecord"
    wrong 's/- repeat: 2/- filter: {feature: late, equals: 1}/' "in batches; filter before batch"
    wrong 's/- repeat: 2/- filter: late/' "expected 'equals', 'at_least' or 'below'"
    wrong 's/- repeat: 2/- window: {size: 0}/' "expected a size from 1 to"
    wrong 's/- repeat: 2/- shard: {num_shards: 2}/' "expected its 'index'"
    wrong 's/- repeat: 2/- unique: 3/' "it has no options"
    wrong 's/cycle_length: 2, block_length: 4/of: csw/' "unknown of 'csw'"
    wrong 's/- parse_example/- parse_example: {on_error: skipp}/' "did you mean 'skip'?"
    pipeline >f.yaml
    headrace explain f.yaml
    refused 1 "expected a section 'schema' with the fields of the records"
    printf 'pipeline: []\n' >f.yaml
    headrace bench f.yaml
    refused 1 "f.yaml:1:11: pipeline: expected at least one operator"
    headrace bench --pipeline "$flights_yaml"
    refused 1 "expected the key 'pipeline'"
    headrace bench --pipeline f.yaml --epochs 3
    refused 2 "--epochs: expected it of a training"
}

it_names_options_as_keys_of_the_file() {
    people
    printf 'pipeline:\n  - csv: {pattern: /dev/stdin}\n' >pipe.yaml
    headrace bench pipe.yaml < <(cat people.csv)
    refused 1 "csv: expected columns:, which a pipe needs"
}

run_tests
