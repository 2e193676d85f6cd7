# merge, shuffle, split: sets of records, whole or not at all.
source "$SOURCE/tests/cli/kit.sh"

# `records N FILE [COMPRESSION]`: N records of a row each.
records() {
    { echo row,late,temp,name; seq 1 "$1" | sed 's/.*/&,0,1,x/'; } >"$scratch/rows.csv"
    printf 'schema:\n  int64: [row, late]\n  float: [temp]\n  string: [name]\n' >"$scratch/rows.yaml"
    headrace convert "$scratch/rows.csv" -s "$scratch/rows.yaml" -o "$scratch/rows" --compression "${3-none}"
    ends_with 0
    mv "$scratch/rows/data-00000-of-00001.tfrecord" "$2"
}
rows_of() { "$HEADRACE" head -n 1000000 "$@" | sed 's/.*"row": \([0-9]*\).*/\1/'; }

it_merges_files_of_any_compression_in_their_order() {
    records 100 a.tfrecord
    records 50 b.tfrecord.gz gzip
    headrace merge a.tfrecord b.tfrecord.gz -o all.tfrecord
    ends_with 0
    says_nothing
    prints "150 records of 2 files"
    prints "  all.tfrecord"
    [ "$(rows_of all.tfrecord)" = "$(seq 1 100; seq 1 50)" ] || fail "the order of the records"
    headrace merge '*.tfrecord*' --output out/all --shards 2 --compression zlib --json
    ends_with 0
    prints '"files":3,"records":300,'
    holds out "all-00000-of-00002.tfrecord all-00001-of-00002.tfrecord "
    [ "$(rows_of out/all-00001-of-00002.tfrecord | head -n 3 | tr '\n' ' ')" = "2 4 6 " ] || fail "the second shard"
}

it_merges_into_shards_of_a_size_and_through_pipes() {
    records 1000 a.tfrecord
    headrace merge a.tfrecord -o out/a.tfrecord.gz --max-shard-bytes 16K
    ends_with 0
    [ "$(names_in out | wc -w)" -ge 3 ] || fail "expected several shards"
    gzip -t <out/a-00000-of-*.tfrecord.gz || fail "not gzip"
    local shards
    shards=$(names_in out)
    headrace merge a.tfrecord -o out/a.tfrecord.gz --max-shard-bytes 16K # once more
    ends_with 0
    holds out "$shards"
    headrace merge a.tfrecord -o out/a.tfrecord.gz --max-shard-bytes 17K
    refused 1 "expected the shards that this run makes, found others"
    holds out "$shards"
    headrace info 'out/*'
    prints "1,000 records"
    "$HEADRACE" merge - -o - <a.tfrecord >b.tfrecord 2>"$scratch/err" || fail "through a pipe"
    same a.tfrecord b.tfrecord
}

it_shuffles_all_records_by_the_seed_alone() {
    records 3000 a.tfrecord
    headrace shuffle a.tfrecord --output b.tfrecord --seed 7
    ends_with 0
    says_nothing
    prints "3,000 records of 1 file"
    rows_of b.tfrecord >order
    [ "$(sort -n order)" = "$(seq 1 3000)" ] || fail "not every record once"
    [ "$(cat order)" != "$(seq 1 3000)" ] || fail "nothing was shuffled"
    headrace shuffle a.tfrecord -o c.tfrecord --seed 7 --memory 1M
    same b.tfrecord c.tfrecord
    headrace shuffle a.tfrecord -o d.tfrecord --seed 8
    cmp -s b.tfrecord d.tfrecord && fail "another seed, the same order"
    headrace shuffle a.tfrecord -o mixed/e --seed 7 --shards 3
    holds mixed "e-00000-of-00003.tfrecord e-00001-of-00003.tfrecord e-00002-of-00003.tfrecord "
}

has_a_nameless_file() { find "/proc/$pid/fd" -lname '*.spill.*(deleted)' 2>/dev/null | grep -q .; }
writes_the_output() { has_a_nameless_file && compgen -G '.killed.tfrecord.*.tmp' >/dev/null; }
has_written_the_output() { [ -e killed.tfrecord ]; }

it_shuffles_more_than_memory_holds_through_a_file_that_has_no_name() {
    records 60000 a.tfrecord
    mkdir temp
    headrace shuffle a.tfrecord -o b.tfrecord --seed 3 --memory 1M --temp temp
    ends_with 0
    prints "went through a temporary file"
    holds temp ""
    headrace shuffle a.tfrecord -o none.tfrecord --memory 1M --temp nowhere
    refused 1 "nowhere/spill: cannot be written"
    headrace shuffle a.tfrecord -o c.tfrecord --seed 3
    same b.tfrecord c.tfrecord
    for place in has_a_nameless_file writes_the_output has_written_the_output; do
        start shuffle a.tfrecord -o killed.tfrecord --seed 3 --memory 1M --temp temp
        wait_until $place
        kill -KILL $pid 2>/dev/null
        finish
        holds temp ""
        [ ! -e killed.tfrecord ] || same killed.tfrecord c.tfrecord
        rm -f killed.tfrecord
    done
}

it_splits_by_hash_by_a_feature_and_exactly() {
    records 1000 a.tfrecord
    headrace split a.tfrecord --shares 0.8,0.2 --output train,test
    ends_with 0
    says_nothing
    prints "train-*.tfrecord: "
    holds . "a.tfrecord test-00000-of-00001.tfrecord train-00000-of-00001.tfrecord "
    [ "$(rows_of train-* test-* | sort -n)" = "$(seq 1 1000)" ] || fail "not every record once"
    headrace split a.tfrecord --shares 0.8,0.2 --output x.tfrecord,y.tfrecord --exact --seed 3 --json
    ends_with 0
    prints '"parts":[{"output":"x.tfrecord","records":800},{"output":"y.tfrecord","records":200}]'
    headrace split a.tfrecord --shares 0.8,0.2 -o new/x/train.tfrecord,new/y/test.tfrecord # whose folders it makes
    ends_with 0
    [ "$(rows_of new/x/train.tfrecord new/y/test.tfrecord | sort -n)" = "$(seq 1 1000)" ] || fail "not every record once"
    headrace split a.tfrecord --shares 0.8,0.2 -o new/p/train,new/q/test
    ends_with 0
    holds new/q "test-00000-of-00001.tfrecord "
    headrace split a.tfrecord --shares 0.8,0.2 -o a.tfrecord/train.tfrecord,a.tfrecord/test.tfrecord
    refused 1 "a.tfrecord"
    headrace split a.tfrecord --shares 0.5,0.5 -o u.tfrecord,v.tfrecord --by name
    ends_with 0
    case $out in *": 1,000 records"*) ;; *) fail "all records have the same name" ;; esac
    headrace split a.tfrecord --shares 0.5,0.5 -o u.tfrecord,v.tfrecord --by nme
    refused 1 "a.tfrecord: record 0: expected a feature 'nme'"
}

it_refuses_what_does_not_fit() {
    records 10 a.tfrecord
    headrace merge a.tfrecord b.tfrecord # the last is no output: it would be lost
    refused 2 "--output is missing"
    headrace merge a.tfrecord -o b.tfrecord --shards 2 --max-shard-bytes 1M
    refused 2 "--shards and --max-shard-bytes: expected one of them"
    headrace merge a.tfrecord -o b.tfrecord --max-shard-bytes 12X
    refused 2 '--max-shard-bytes: expected a number of bytes, as 1000000 or 64M, found "12X"'
    headrace merge a.tfrecord -o out/
    refused 2 'expected a name for the output, found "out/"'
    headrace merge none.tfrecord -o b.tfrecord
    refused 1 "none.tfrecord"
    headrace shuffle a.tfrecord
    refused 2 "--output is missing"
    headrace shuffle a.tfrecord -o b.tfrecord --memory 10K
    refused 2 "--memory: expected 1M or more"
    headrace split a.tfrecord -o a,b
    refused 2 "--shares is missing"
    headrace split a.tfrecord --shares 0.8,0.3 -o a,b
    refused 2 "--shares: expected numbers that sum to 1"
    headrace split a.tfrecord --shares 0.8,x -o a,b
    refused 2 '--shares: expected numbers above 0, as in 0.8,0.2, found "x"'
    headrace split a.tfrecord --shares 0.8,0.2 -o a
    refused 2 "--output: expected 2 names, one for each share, found 1"
    headrace split a.tfrecord --shares 0.8,0.2 -o a.tfrecord,b
    refused 2 "expected outputs with one extension"
    headrace split - --exact --shares 0.8,0.2 -o b,c
    refused 1 "standard input"
    holds . "a.tfrecord "
}

it_leaves_nothing_where_the_input_is_damaged() {
    records 1000 a.tfrecord
    head -c $(($(stat -c %s a.tfrecord) - 3)) a.tfrecord >cut.tfrecord
    for words in "merge cut.tfrecord -o out.tfrecord" "shuffle cut.tfrecord -o out.tfrecord" \
        "split cut.tfrecord --shares 0.5,0.5 -o out.tfrecord,out2.tfrecord"; do
        headrace $words
        refused 1 "cut.tfrecord"
        says "record 999"
        holds . "a.tfrecord cut.tfrecord "
    done
}

run_tests
