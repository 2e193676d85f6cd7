# info and head: they read every byte, and name the record and the place of what is wrong.
source "$SOURCE/tests/cli/kit.sh"

it_says_what_is_in_a_file() {
    people
    headrace convert people.csv -s people.yaml -o out --shards 2
    headrace info 'out/data-*'
    ends_with 0
    prints "3 records in 2 files"
    prints "compression: none of 2 files"
    prints "all checksums are right"
    prints "row                      int64                 3              1"
    prints "temp                     float32               2              1"
    headrace info --json 'out/data-*'
    prints '{"files":2,"records":3,'
    prints '"compressions":{"none":2}'
    prints '{"name":"temp","type":"float32","records":2,"values":2}'
    headrace convert people.csv -s people.yaml -o zipped --compression LZ4
    headrace info out/data-* zipped/data-*
    prints "compression: none of 2 files, LZ4 of 1 file"
}

it_names_the_feature_lists_of_sequence_examples() {
    printf '%s\n' '{"context": {"id": 7}, "feature_lists": {"words": [["a", "b"], "c"], "none": []}}' >said.jsonl
    headrace convert said.jsonl -o said.tfrecord
    headrace info --json said.tfrecord
    ends_with 0
    prints '{"name":"id","type":"int64","records":1,"values":1}'
    prints '{"name":"words","type":"string","records":1,"values":3}'
    prints '{"name":"none","type":"'
    headrace info said.tfrecord
    prints "words                    string                1              3"
}

it_gives_json_whatever_bytes_the_values_are() {
    people
    printf '4,0,1,\xff\xfe\n5,0,1,"a\tb\xc3\xa9"\n' >>people.csv
    headrace convert people.csv -s people.yaml -o out
    headrace head out/data*
    ends_with 0
    prints '{"late": 0, "name": {"$b64": "//4="}, "row": 4, "temp": 1.0}'
    prints '"name": "a\tbé"'
    if command -v python3 >/dev/null; then
        python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$scratch/out" || fail "not JSON"
    fi
}

it_shows_all_records_or_some_features_or_their_bytes() {
    people
    headrace convert people.csv -s people.yaml -o out
    headrace show out/data*
    ends_with 0
    [ "$(wc -l <"$scratch/out")" = 3 ] || fail "expected three lines"
    prints '{"late": 0, "name": "anna", "row": 1, "temp": 2.5}'
    headrace show -n 1 --features row,temp out/data*
    [ "$out" = '{"row": 1, "temp": 2.5}' ] || fail "expected the two features"
    headrace show -n 1 --features "$(seq -s, 300),row" out/data*
    [ "$out" = '{"row": 1}' ] || fail "expected the last of 301 features"
    headrace show -n 1 --protobuf -f row out/data*
    [ "$out" = '{"features": {"feature": {"row": {"int64List": {"value": ["1"]}}}}}' ] || fail "expected protobuf's form"
    cp people.csv people.odd
    headrace head --raw -n 1 people.odd
    refused 1 "is not a TFRecord file"
    headrace head --raw -n 1 people.csv
    prints '{"record": 0, "size": '
    headrace head --raw -n 1 out/data*
    prints '{"record": 0, "offset": 0, "size": '
}

it_finds_records_by_their_features() {
    people
    headrace convert people.csv -s people.yaml -o out
    headrace grep 'name~^b, "b' 'out/data-*' -f row
    ends_with 0
    [ "$out" = '{"row": 2}' ] || fail "expected the second row"
    headrace grep 'row=1..2' out/data-* -e late=0 -f row
    [ "$out" = '{"row": 1}' ] || fail "expected the first row"
    headrace grep '!temp' out/data-* --count
    [ "$out" = 1 ] || fail "expected one"
    headrace grep temp out/data-* -v -c
    [ "$out" = 1 ] || fail "expected one"
    headrace grep 'row>=2' out/data-* -o found.tfrecord
    prints "2 of 3 records written"
    headrace show found.tfrecord -f row
    [ "$out" = '{"row": 2}
{"row": 3}' ] || fail "expected two rows"
    cp "$scratch/out" found.jsonl
    headrace grep 'row=3' found.jsonl
    [ "$out" = '{"row": 3}' ] || fail "expected the third row"
    headrace grep -n 1 row out/data-* -f row
    [ "$out" = '{"row": 1}' ] || fail "expected one row"
    headrace grep 'name~(' out/data-*
    refused 1 'condition "name~(": expected FEATURE'
    headrace grep row
    refused 2 "expected CONDITION FILE..., found too few"
    headrace grep row none.tfrecord -o none
    refused 1 "none.tfrecord"
    absent none
}

it_takes_an_empty_file_for_no_records() {
    : >empty.tfrecord
    headrace info empty.tfrecord
    ends_with 0
    prints "0 records in 1 file, 0 B on disk"
    headrace head empty.tfrecord
    ends_with 0
    prints_nothing
}

it_refuses_missing_files_folders_and_other_formats() {
    people
    mkdir folder
    for command in info head; do
        headrace $command none.tfrecord
        refused 1 "none.tfrecord: cannot be opened: No such file or directory"
        headrace $command 'none-*'
        refused 1 'expected files that match "none-*", got none'
        headrace $command folder
        refused 1 "folder: expected a file, got a folder"
        cp people.csv people.odd
        headrace $command people.odd
        refused 1 "people.odd:0: record 0: expected a record's length and checksum, found the text"
        says "is not a TFRecord file"
    done
    for command in info index "repair --in-place" "shuffle -o x" "merge -o x.tfrecord" "split --shares 0.5,0.5 -o a,b"; do
        headrace $command people.csv
        refused 1 "people.csv: expected TFRecords, found CSV by its name; 'headrace convert' makes them of it"
    done
}

it_shows_finds_and_counts_rows_of_any_format() {
    people
    tr ',' ';' <people.csv | sed 's/"b.*"/b/' >other.csv
    gzip -k people.csv
    "$HEADRACE" convert people.csv -o people.jsonl >/dev/null
    "$HEADRACE" convert people.csv -o people.tfrecord >/dev/null
    headrace show people.tfrecord
    cp "$scratch/out" shown
    for file in people.csv people.csv.gz people.jsonl; do
        headrace show $file
        ends_with 0
        cmp -s shown "$scratch/out" || fail "other rows of $file"
    done
    headrace head -n 1 other.csv --delimiter ';' -f row,name
    [ "$out" = '{"name": "anna", "row": 1}' ] || fail "a row of another dialect"
    headrace show other.csv --delimiter ';' -s people.yaml -n 1
    prints '"temp": 2.5'
    headrace grep 'row>=2' people.csv people.jsonl people.tfrecord -f row --count
    [ "$out" = 6 ] || fail "two of each"
    headrace grep 'temp<0' people.csv.gz -o found.tfrecord
    prints "1 of 3 records written"
    headrace count people.csv people.csv.gz people.jsonl people.tfrecord
    prints "12 total"
    printf '# a remark\n' >>people.csv
    headrace count people.csv --comment '#' --json
    prints '{"files":[{"file":"people.csv","records":3}],"records":3}'
    code=0
    "$HEADRACE" count - --format csv <other.csv >"$scratch/out" 2>"$scratch/err" || code=$?
    read_results
    [ "$out" = "3 -" ] || fail "standard input"
    code=0
    "$HEADRACE" show - --format csv <other.csv >"$scratch/out" 2>"$scratch/err" || code=$?
    read_results
    refused 1 "expected a file, which can be read twice, found standard input, which is read once; give --schema"
    code=0
    "$HEADRACE" show - --format csv --delimiter ';' -s people.yaml <other.csv >"$scratch/out" 2>"$scratch/err" || code=$?
    read_results
    prints '"name": "anna"'
    printf '4;0\n' >>other.csv
    headrace show other.csv --delimiter ';' -s people.yaml
    ends_with 1
    says "other.csv:5: expected 4 fields, found 2"
    printf 'row,late,temp,name\n1,0,warm,x\n' >warm.csv
    headrace grep row warm.csv -s people.yaml
    refused 1 "warm.csv:2: column 'temp' (field 2): expected float32, got \"warm\""
    headrace head warm.csv --format yaml
    refused 2 '--format: expected csv, jsonl'
    says ', found "yaml"'
}

it_finds_types_in_the_rows_that_it_shows() {
    { echo 'id,x' && seq -f '%g,1' 12 && echo '13,late' && echo '14'; } >far.csv
    headrace head far.csv
    ends_with 0
    prints '{"id": 10, "x": 1}'
    [ "$(tail -n 1 "$scratch/out")" = '{"id": 10, "x": 1}' ] || fail "ten rows, and their types"
    headrace show far.csv --lines 13
    ends_with 0
    prints '{"id": 1, "x": "1"}'
    [ "$(tail -n 1 "$scratch/out")" = '{"id": 13, "x": "late"}' ] || fail "a type of all rows shown"
    head -n 3 far.csv >near.csv
    headrace show near.csv far.csv -n 14
    [ "$(wc -l <"$scratch/out")" = 14 ] || fail "a number of rows of all files together"
    [ "$(tail -n 1 "$scratch/out")" = '{"id": 12, "x": 1}' ] || fail "types of the rows of both"
    headrace head near.csv far.csv -n 15
    [ "$(tail -n 1 "$scratch/out")" = '{"id": 13, "x": "late"}' ] || fail "types of the rows of both"
    headrace head -n 0 far.csv
    ends_with 0
    prints_nothing
    headrace show far.csv
    refused 1 'far.csv:15: expected 2 fields, found 1'
    headrace grep 'id=1' far.csv -n 1
    refused 1 'far.csv:15: expected 2 fields, found 1'
}

it_names_record_and_offset_of_a_cut_or_flipped_record() {
    people
    headrace convert people.csv -s people.yaml -o out
    local file=out/data-00000-of-00001.tfrecord size first
    size=$(stat -c %s $file)
    first=$(od -An -tu8 -N8 $file | tr -d ' ')
    local second=$((first + 16))
    head -c $((second + 20)) $file >cut.tfrecord
    head -c $((second + 5)) $file >header.tfrecord
    cp $file flip.tfrecord
    printf '\xff' | dd of=flip.tfrecord bs=1 seek=$((second + 14)) conv=notrunc 2>/dev/null
    cp $file length.tfrecord
    printf '\xff' | dd of=length.tfrecord bs=1 seek=$((second + 1)) conv=notrunc 2>/dev/null
    headrace info cut.tfrecord
    refused 1 "cut.tfrecord:$second: record 1: "
    says "the file is truncated"
    headrace info header.tfrecord
    refused 1 "header.tfrecord:$second: record 1: "
    headrace info flip.tfrecord
    refused 1 "flip.tfrecord:$second: record 1: expected data checksum"
    headrace info length.tfrecord
    refused 1 "length.tfrecord:$second: record 1: expected length checksum"
    headrace head flip.tfrecord # what is good is shown before the error
    ends_with 1
    prints '"name": "anna"'
    says "flip.tfrecord:$second: record 1: "
    gzip -c $file | head -c 60 >cut.tfrecord.gz
    headrace info cut.tfrecord.gz
    refused 1 "cut.tfrecord.gz"
    gzip -c $file >whole.tfrecord.gz
    headrace info whole.tfrecord.gz
    ends_with 0
}

it_says_what_compression_and_indexes_there_are() {
    people
    headrace convert people.csv -s people.yaml -o out
    headrace index out/data*.tfrecord
    headrace info out/data*.tfrecord
    prints "1 of 1 files have an index"
    headrace info --json out/data*.tfrecord
    prints '"indexed_files":1,"stale_indexes":0'
    sed 1d people.csv | tr '123' '234' >>people.csv
    mv out/data-00000-of-00001.tfrecord.hridx kept
    headrace convert people.csv -s people.yaml -o out
    mv kept out/data-00000-of-00001.tfrecord.hridx
    headrace info out/data*.tfrecord
    prints "1 indexes are stale; 'headrace index' makes new ones"
    for i in 1 2 3 4 5 6; do sed 1d people.csv >more && cat more >>people.csv; done
    headrace convert people.csv -s people.yaml -o out.tfrecord.gz
    headrace info out.tfrecord.gz
    prints "times the size on disk"
}

# TFX writes missing values so.
it_takes_features_without_a_kind_for_missing_ones() {
    printf '{"a": null, "b": 1}\n{"a": [], "b": 2}\n{"a": 3, "b": 1}\n' >kinds.jsonl
    headrace convert kinds.jsonl -o kinds.tfrecord
    headrace info --json kinds.tfrecord
    prints '{"name":"a","type":"int64","records":1,"values":1}'
    headrace stats --json kinds.tfrecord
    prints '"feature": "a", "type": "int64", "mixed": false, "records": 1, "missing": 2'
    headrace schema infer kinds.tfrecord
    prints '    - a  # int64 first in record 2: "3"; missing in 2 of 3'
}

run_tests
