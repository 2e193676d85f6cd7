# stats and vocab: their figures, the columns that a training takes, the words that a vocabulary file holds.
source "$SOURCE/tests/cli/kit.sh"

it_says_what_the_features_hold() {
    people
    headrace stats people.csv
    ends_with 0
    prints "3 records in 1 file"
    prints "temp     float32        2        1       1      0  -1000  -1000   -1000  2.5  2.5"
    headrace convert people.csv -s people.yaml -o out
    headrace stats --json out/data-*
    ends_with 0
    prints '"feature": "late", "type": "int64", "mixed": false, "records": 2, "missing": 1'
    if command -v python3 >/dev/null; then
        python3 -c 'import json, sys; json.load(sys.stdin)' <"$scratch/out" || fail "not JSON"
    fi
}

# As many columns side by side as there is room for; the others below, each part with the names.
it_fits_tables_into_a_terminal() {
    flights 2000 data
    headrace stats 'data/train-*'
    [ "$(grep -c '^  feature' "$scratch/out")" = 2 ] || fail "two tables of any width"
    [ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' "$scratch/out")" -gt 100 ] || fail "too narrow"
    local columns parts=2
    for columns in 100 60 45; do
        COLUMNS=$columns headrace stats 'data/train-*'
        [ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' "$scratch/out")" -le $columns ] || fail "too wide"
        [ "$(grep -c '^  feature' "$scratch/out")" -gt $parts ] || fail "expected more parts"
        parts=$(grep -c '^  feature' "$scratch/out")
        for head in min 25% median 75% max mean std distinct; do prints " $head"; done
    done
    printf 'a_name_that_is_very_long_indeed_for_a_column,x\n1,a\n' >long.csv
    COLUMNS=40 headrace stats long.csv
    prints "  a_name_that_is.."
    printf 'x,a_name_that_is_very_long_indeed\n1,a_value_of_many_letters\n' >longer.csv
    COLUMNS=21 headrace stats longer.csv # a terminal with no room for more than the names
    ! grep -q a_value "$scratch/out" || fail "too wide"
    COLUMNS=40 headrace convert long.csv -o long.tfrecord
    prints "  a_name_that_is.."
}

it_says_which_figures_are_near_ones() {
    { echo few,many; seq 1 3000 | awk '{ printf "%d,%.4f\n", $1 % 12, -87.6 - $1 / 1e4 }'; } >figures.csv
    headrace stats figures.csv
    ends_with 0
    grep -q '^  few .* 0  *2  *5  *8  *11 .* 12$' "$scratch/out" || fail "exact figures of few values"
    grep -q '^  many .* -87.9  *~-87.[78][0-9]*  *~-87.7[45][0-9]*  *~-87.6[678][0-9]*  *-87.6001 .*~[23],' "$scratch/out" || fail "near ones of many"
    headrace stats figures.csv --json
    prints '"0.5": 5.0, "0.75": 8.0, "0.95": 11.0, "0.99": 11.0}, "quantiles_exact": true'
    prints '"quantiles_exact": false'
}

it_prints_whole_numbers_with_all_their_digits() {
    printf '{"id": 16777217}\n{"id": 16777219}\n{"id": 16777221}\n' >ids.jsonl
    headrace stats ids.jsonl
    prints " 16777217 "
    prints " 16777221 "
}

it_prints_columns_that_a_training_takes() {
    flights 2000 data
    headrace stats --normalize log1p 'data/train-*' -s "$flights_yaml"
    ends_with 0
    prints "  distance: {numeric: distance, log1p: true, mean: "
    headrace stats --columns mean_std 'data/train-*'
    local given=$out
    headrace stats --normalize mean_std 'data/train-*'
    [ "$out" = "$given" ] || fail "one of these words is no column"
    local line
    line=$(printf '%s\n' "$out" | grep '^  dewp:')
    sed "s/^  dewp: .*/$line/" "$flights_yaml" >f.yaml
    grep -q "$line" f.yaml || fail "expected a column of dewp"
    headrace train f.yaml --data none --model-dir model
    refused 1 'expected files that match "none/train-*.tfrecord", got none'
}

it_leaves_the_label_out_and_fills_gaps() {
    printf 'late,age,gap\n0,1,5\n1,3,\n0,2,8\n' >gaps.csv
    headrace stats gaps.csv --normalize mean_std --label late
    [ "$out" = 'columns:
  age: {numeric: age, mean: 2, std: 0.8164966}
  gap: {numeric: gap, default: 6, mean: 6.5, std: 1.5}' ] || fail "the columns"
    printf 'schema:\n  int64: [late, age, gap]\n  label: late\n' >gaps.yaml
    local given=$out
    headrace stats gaps.csv --normalize mean_std -s gaps.yaml
    [ "$out" = "$given" ] || fail "the label of the schema"
    headrace stats gaps.csv --normalize mean_std --label laet
    refused 1 "--label: expected a feature 'laet', found it in no record"
    headrace convert gaps.csv -s gaps.yaml -o train.tfrecord # they are read as they stand
    { cat gaps.yaml; echo "$given"; printf 'model:\n  estimator: linear_classifier\n  linear_feature_columns: [age, gap]\n'
        printf 'train:\n  files: train.tfrecord\n  batch_size: 2\n  drop_remainder: true\n  epochs: 3\n  shuffle: 0\n'; } >all.yaml
    headrace train all.yaml --model-dir model --json
    ends_with 0
    prints '"last_step":4,' # of 9 rows in batches of 2, one is left over
}

it_calls_a_first_pass_so() {
    command -v script >/dev/null || return 0
    people
    local command title
    for command in "convert people.csv -o people.tfrecord" "stats people.csv" "show people.csv" "split people.tfrecord --shares 0.5,0.5 -o a,b --exact"; do
        TERM=xterm script -qec "$HEADRACE $command" "$scratch/screen" >/dev/null </dev/null
        case $command in split*) title="counting, first of two passes" ;; show*) title="finding types, a first pass" ;; *) title="finding types, first of two passes" ;; esac
        grep -q "$title" "$scratch/screen" || fail "$command: $title"
    done
}

it_writes_a_vocabulary_that_a_column_reads() {
    flights 2000 data
    headrace vocab 'data/train-*' --feature origin --counts
    ends_with 0
    [ "$(wc -l <"$scratch/out")" = 3 ] || fail "expected three airports"
    headrace vocab 'data/train-*' -f origin -k 2 -o origin.txt
    prints "2 words of 3 written to origin.txt"
    headrace vocab 'data/train-*' -f origin -k 2
    same origin.txt "$scratch/out"
    sed "s|^  origin: .*|  origin: {vocabulary_file: $PWD/origin.txt, num_oov_buckets: 1}|" "$flights_yaml" >f.yaml
    headrace train f.yaml --data none --model-dir model
    refused 1 'expected files that match "none/train-*.tfrecord", got none'
    headrace vocab 'data/train-*' -f temp
    refused 1 "expected strings or int64, found float32"
    headrace vocab 'data/train-*' -f orign
    refused 1 "expected a feature 'orign' in some record, found it in none of"
    headrace vocab 'data/train-*'
    refused 2 "--feature is missing"
    printf '{"w": "a\\nb"}\n' >w.jsonl
    headrace vocab w.jsonl -f w -o w.txt
    refused 1 "expected words that a line can hold"
    absent w.txt
    headrace vocab w.jsonl -f w --json
    [ "$out" = '{"word": "a\nb", "count": 1}' ] || fail "expected the word"
}

run_tests
