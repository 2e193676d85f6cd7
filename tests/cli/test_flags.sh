# The command line: help, suggestions, exit codes, where output goes.
source "$SOURCE/tests/cli/kit.sh"

it_shows_all_commands_and_ends_with_2_where_none_is_named() {
    headrace
    refused 2 "Commands:"
    for name in convert info head train evaluate predict bench explain completion man; do says "  $name "; done
}

it_shows_help_on_standard_output() {
    headrace --help
    ends_with 0
    says_nothing
    prints "headrace COMMAND --help"
    for name in $(printf '%s\n' "$out" | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'); do
        headrace $name --help
        ends_with 0
        says_nothing
        prints "Usage: headrace $name"
        prints "Examples:"
        prints "Exit code: 0"
        local help=$out
        headrace help $name
        [ "$out" = "$help" ] || fail "help $name differs from $name --help"
        [ "$(printf %s "$help" | sed '/^Examples:/,$d' | wc -L)" -le 100 ] || fail "the help of $name has a line of more than 100 characters"
        [ "$(printf %s "$help" | wc -L)" -le 120 ] || fail "$name has an example of more than 120 characters"
    done
}

it_says_its_version() {
    headrace --version
    ends_with 0
    prints "headrace $(sed -n 's/^#define HR_VERSION "\(.*\)"/\1/p' "$SOURCE/base/base.h")"
}

it_suggests_the_command_that_was_meant() {
    headrace trian
    refused 2 "unknown command 'trian'; did you mean 'train'?"
    headrace xyzzy
    refused 2 "unknown command 'xyzzy'"
}

it_suggests_the_flag_that_was_meant() {
    headrace convert a.csv --shcema s.yaml
    refused 2 "unknown flag '--shcema'; did you mean --schema?"
    says "Try 'headrace convert --help'."
    headrace train a.yaml --model_dir m
    refused 2 "did you mean --model-dir?"
    headrace info -z a
    refused 2 "unknown flag '-z'"
    headrace grep '-178>11' people.csv
    refused 2 "unknown flag '-178>11'; put a word that begins with - after --: headrace grep -- '-178>11'"
    headrace grep -- '-178>11' nowhere.csv
    refused 1 "nowhere.csv"
}

it_asks_for_what_is_missing() {
    headrace convert
    refused 2 "expected FILE..., found nothing"
    headrace convert - --output d
    refused 1 "give --schema or copy it to a file"
    headrace convert a.csv --schema s.yaml
    refused 2 "--output is missing"
    headrace convert a.csv --schema
    refused 2 "--schema needs a value: --schema FILE"
    headrace convert a.csv --schema --output d
    refused 2 "--schema needs a value"
    headrace train
    refused 2 "expected FILE.yaml, found nothing"
    headrace train a.yaml b.yaml
    refused 2 "unexpected argument 'b.yaml'"
}

it_refuses_values_that_do_not_fit() {
    headrace head -n abc f
    refused 2 '--lines: expected a whole number from 0 on, found "abc"'
    headrace head -n -1 f
    refused 2 'found "-1"'
    headrace head -n 99999999999999999999 f
    refused 2 'found "99999999999999999999"'
    headrace convert a -s s -o d --shards 0
    refused 2 '--shards: expected a whole number from 1 on, found "0"'
    headrace convert a -s s -o d --shards 100000
    refused 2 '--shards: expected at most 99999'
    headrace convert a -s s -o d --compression LZMA
    refused 2 '--compression: expected GZIP, ZLIB, LZ4, ZSTD'
    says ' or none, found "LZMA"'
    headrace count --help
    prints " or none; default: by the files' first bytes"
    prints "csv, jsonl"
    prints " or tfrecord; default: by the files' names"
    headrace convert a -s s -o d --delimiter ab
    refused 2 '--delimiter: expected one byte, found "ab"'
    headrace convert a -s s -o d --split row
    refused 2 '--split: expected FIELD:FOLDS'
    headrace convert a -s s -o d --json=1
    refused 2 '--json takes no value but true or false'
    headrace train a --epochs 0
    refused 2 '--epochs: expected a whole number from 1 on, found "0"'
    headrace train a --batch-size 99999999
    refused 2 '--batch-size: expected at most'
    headrace train "$flights_yaml" --estimator tree
    refused 2 '--estimator: expected linear_classifier'
    headrace evaluate "$flights_yaml" --at-least auc
    refused 2 '--at-least: expected NAME=NUMBER, found "auc"'
    headrace evaluate "$flights_yaml" --at-most log_los=1
    refused 2 "there is no figure 'log_los'; did you mean 'log_loss'?"
}

it_refuses_outputs_that_say_something_else() {
    people
    headrace convert people.csv -s people.yaml -o people.tfrecord
    for words in "merge people.tfrecord -o x.csv" "shuffle people.tfrecord -o x.jsonl" "split people.tfrecord --shares 0.5,0.5 -o x.tsv,y.tsv" \
        "grep row people.tfrecord -o x.csv.gz" "repair people.tfrecord -o x.ndjson"; do
        headrace $words
        refused 2 ": expected a name for TFRecords, found one of"
    done
    headrace grep row people.tfrecord --count -o x.tfrecord
    refused 2 "--count and --output: expected one of them, found both"
    headrace vocab people.tfrecord -f name -o x.txt --counts
    refused 2 "--output: expected words alone, found --json or --counts"
    headrace convert people.tfrecord --output=
    refused 2 "--output is missing"
    headrace repair people.tfrecord -o - --json
    refused 2 "--json: expected another --output than -"
    holds . "people.csv people.tfrecord people.yaml "
}

# Nothing that is said may stand among the records.
it_writes_records_alone_to_standard_output() {
    people
    headrace convert people.csv -s people.yaml -o people.tfrecord
    cp people.tfrecord flip.tfrecord
    printf '\xff' | dd of=flip.tfrecord bs=1 seek=100 conv=notrunc 2>/dev/null
    for words in "grep row people.tfrecord -o -" "merge people.tfrecord -o - --json" "repair people.tfrecord -o -"; do
        "$HEADRACE" $words >out.tfrecord 2>"$scratch/err" || fail "$words"
        same people.tfrecord out.tfrecord
    done
    "$HEADRACE" repair flip.tfrecord -o - >out.tfrecord 2>"$scratch/err"
    : >"$scratch/out"
    read_results
    says "flip.tfrecord:83: record 1: expected data checksum"
    says "2 records saved, 1 damaged place with 69 bytes lost"
    headrace count out.tfrecord
    [ "$out" = "2 out.tfrecord" ] || fail "two records"
    headrace vocab people.tfrecord -f name -o -
    [ "$out" = 'anna
b, "bob"' ] || fail "the words alone"
}

it_takes_values_in_every_form() {
    people
    headrace convert people.csv --schema=people.yaml -oout
    ends_with 0
    for form in "-n2" "-n 2" "--lines 2" "--lines=2"; do
        headrace head $form out/data-00000-of-00001.tfrecord
        ends_with 0
        [ "$(printf '%s\n' "$out" | wc -l)" = 2 ] || fail "head $form"
    done
    cp out/data-00000-of-00001.tfrecord ./-n
    headrace head -n 1 -- -n
    ends_with 0
    prints '"name": "anna"'
}

it_fails_where_standard_output_cannot_be_written() {
    people
    headrace convert people.csv -s people.yaml -o out
    for words in "head out/data*" "info out/data*" "info --json out/data*" "--help" "convert --help"; do
        code=0
        "$HEADRACE" $words 2>"$scratch/err" >/dev/full || code=$?
        : >"$scratch/out"
        read_results
        refused 1 "standard output cannot be written: No space left on device"
    done
    code=0
    "$HEADRACE" head out/data* 2>"$scratch/err" >&- || code=$?
    read_results
    refused 1 "standard output cannot be written"
}

# A closed stream must not become the number of a shard that is written.
it_keeps_files_whole_where_standard_streams_are_closed() {
    people
    "$HEADRACE" convert people.csv -s people.yaml -o closed <&- >&- 2>&-
    headrace convert people.csv -s people.yaml -o open
    same closed/data-00000-of-00001.tfrecord open/data-00000-of-00001.tfrecord
}

it_ends_quietly_when_its_reader_leaves() {
    people
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat people.csv >>many.csv; tail -n +2 many.csv >more.csv; cat more.csv >>many.csv; done
    sed -i '2,${/^row/d}' many.csv
    headrace convert many.csv -s people.yaml -o out
    ends_with 0
    "$HEADRACE" head -n 100000 out/data* 2>"$scratch/err" | head -n 1 >"$scratch/out"
    read_results
    says_nothing
    prints '"row": 1'
    for words in "convert many.csv -s people.yaml -o -" "convert many.csv -s people.yaml -o - --to csv" "merge $(echo out/data*) -o -" \
        "shuffle $(echo out/data*) -o -" "grep row $(echo out/data*) -o -" "repair $(echo out/data*) -o -"; do
        { "$HEADRACE" $words; echo $? >"$scratch/code"; } 2>"$scratch/err" | :
        read_results
        says_nothing
        [ "$(cat "$scratch/code")" = 0 ] || fail "records that nobody reads are no failure: $words"
    done
    { "$HEADRACE" convert many.csv -s people.yaml -o out; echo $? >"$scratch/code"; } 2>"$scratch/err" | :
    [ "$(cat "$scratch/code")" = 0 ] || fail "a summary that nobody reads is no failure"
}

it_loads_no_large_library_before_it_is_needed() {
    libraries=$(LD_TRACE_LOADED_OBJECTS=1 "$HEADRACE")
    case $libraries in *libc.so*) ;; *) return ;; esac # another loader
    case $libraries in *blas* | *gfortran* | *grpc*) fail "one for products or gRPC among: $libraries" ;; esac
}

run_tests
