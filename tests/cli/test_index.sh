# index and count: what they say, where a count comes from, and when an index is refused.
source "$SOURCE/tests/cli/kit.sh"

shards() { # two files, of 2 records and of 1
    people
    headrace convert people.csv -s people.yaml -o out --shards 2 "$@"
    ends_with 0
}

it_counts_records_of_files_and_of_standard_input() {
    shards
    headrace count 'out/*.tfrecord'
    ends_with 0
    says_nothing
    [ "$out" = "2 out/data-00000-of-00002.tfrecord
1 out/data-00001-of-00002.tfrecord
3 total" ] || fail "the counts"
    headrace count out/data-00000-of-00002.tfrecord
    [ "$out" = "2 out/data-00000-of-00002.tfrecord" ] || fail "one file"
    code=0
    "$HEADRACE" count - <out/data-00001-of-00002.tfrecord >"$scratch/out" 2>"$scratch/err" || code=$?
    read_results
    ends_with 0
    [ "$out" = "1 -" ] || fail "standard input"
}

it_counts_by_the_index_where_there_is_one() {
    shards
    headrace index out/data-00000-of-00002.tfrecord
    ends_with 0
    prints "out/data-00000-of-00002.tfrecord.hridx: 2 records"
    headrace count out/*.tfrecord --json
    prints '"file":"out/data-00000-of-00002.tfrecord","records":2,"bytes":'
    prints '"by_index":true}'
    prints '"by_index":false}],"records":3}'
}

it_says_why_an_index_is_not_valid() {
    shards --index
    headrace index out/*.tfrecord --check
    ends_with 0
    prints "out/data-00001-of-00002.tfrecord.hridx: valid, 1 records"
    headrace index out/*.tfrecord
    prints "2 records, was valid"
    touch -d '2001-02-03' out/data-00000-of-00002.tfrecord
    headrace index out/*.tfrecord --check
    ends_with 1
    says "out/data-00000-of-00002.tfrecord.hridx: expected a file whose time of change is"
    prints "out/data-00001-of-00002.tfrecord.hridx: valid"
    headrace count out/data-00000-of-00002.tfrecord
    ends_with 0
    prints "2 out/data-00000-of-00002.tfrecord"
    headrace index out/*.tfrecord
    ends_with 0
    headrace index out/*.tfrecord --check
    ends_with 0
    rm out/*.hridx
    headrace index out/*.tfrecord --check
    refused 1 "out/data-00000-of-00002.tfrecord.hridx: cannot be opened"
}

it_is_no_file_of_a_pattern() {
    shards --index
    headrace index out/*.tfrecord --text
    ends_with 0
    headrace count 'out/*'
    ends_with 0
    prints "3 total"
    headrace grep row 'out/data-*' --count
    [ "$out" = 3 ] || fail "the records of two files"
    headrace merge 'out/data-*' -o all.tfrecord
    ends_with 0
    headrace count out/data-00000-of-00002.tfrecord.hridx
    refused 1 "is not a TFRecord file"
    rm out/data-00000-of-00002.tfrecord
    headrace count 'out/*' # an index that lost its file is told
    ends_with 1
}

it_writes_the_text_form() {
    shards
    headrace index out/*.tfrecord --text
    ends_with 0
    prints "out/data-00001-of-00002.tfrecord.idx: 1 records"
    [ "$(cut -d ' ' -f 1 out/data-00000-of-00002.tfrecord.idx | head -n 1)" = 0 ] || fail "the first offset"
    [ "$(wc -l <out/data-00000-of-00002.tfrecord.idx)" = 2 ] || fail "a line a record"
    [ ! -e out/data-00000-of-00002.tfrecord.hridx ] || fail "an index that was not asked for"
    shards --compression lz4
    headrace index out/data-00000-of-00002.tfrecord --text
    refused 1 "expected a file that is not compressed"
}

it_notices_damage_of_the_file_and_wrong_flags() {
    shards
    head -c 30 out/data-00000-of-00002.tfrecord >cut
    headrace index cut
    refused 1 "cut:0: record 0: expected"
    [ ! -e cut.hridx ] || fail "an index of a damaged file"
    headrace count cut
    refused 1 "cut:0: record 0: expected"
    headrace count none
    refused 1 "none"
    headrace index cut --check --json
    ends_with 1
    prints '{"files":[{"file":"cut","valid":false,"kind":"'
    headrace index cut --check --text
    refused 2 "--check: expected it without --text and --anew"
}

run_tests
