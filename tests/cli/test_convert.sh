# convert: what goes in, what comes out, and everything that can be wrong. After a failure nothing is left, not even the folder.
source "$SOURCE/tests/cli/kit.sh"

it_converts_and_sums_up() {
    people
    headrace convert people.csv --schema people.yaml --output out --require late
    ends_with 0
    says_nothing
    prints "3 rows read, 2 written, 1 dropped for lack of a required field"
    prints "in 1 file in out"
    holds out "data-00000-of-00001.tfrecord "
    headrace head out/data*
    [ "$out" = '{"late": 0, "name": "anna", "row": 1, "temp": 2.5}
{"late": 1, "name": "b, \"bob\"", "row": 2}' ] || fail "the records"
}

it_gives_its_summary_as_json() {
    people
    headrace convert people.csv -s people.yaml -o out --json
    ends_with 0
    prints '{"rows":3,"written":3,'
    prints '"missing":{"row":0,"late":1,"temp":1,"name":1},"rounded":{}}'
    if command -v python3 >/dev/null; then printf %s "$out" | python3 -m json.tool >/dev/null || fail "not JSON"; fi
}

it_says_how_many_bytes_its_files_have() {
    people
    headrace convert people.csv -s people.yaml -o people.tfrecord
    headrace convert people.csv -s people.yaml -o people.jsonl
    for file in people.csv people.jsonl people.tfrecord; do
        gzip -k $file
        for name in $file $file.gz; do
            headrace convert $name -s people.yaml -o x.tfrecord --json
            prints "\"bytes_in\":$(stat -c %s $file),"
        done
        headrace convert $file $file.gz -s people.yaml -o x.tfrecord --json
        prints "\"bytes_in\":$((2 * $(stat -c %s $file))),"
    done
}

it_converts_in_any_direction() {
    people
    headrace convert people.csv -s people.yaml -o people.tfrecord
    ends_with 0
    prints "in 1 file in people.tfrecord"
    headrace convert people.tfrecord --output people.jsonl.gz
    ends_with 0
    gzip -t people.jsonl.gz || fail "not gzip"
    headrace convert people.jsonl.gz -s people.yaml --output back.csv
    ends_with 0
    sed 's/-1e3/-1000/' people.csv >same.csv
    headrace convert same.csv -s people.yaml --output - --to csv
    ends_with 0
    says_nothing
    cp "$scratch/out" through.csv
    same back.csv through.csv
    headrace convert people.tfrecord people.tfrecord --output - --to jsonl
    ends_with 0
    [ "$(printf '%s\n' "$out" | wc -l)" = 6 ] || fail "six lines"
    headrace convert people.jsonl.gz --to jsonl --output shards --max-shard-bytes 60
    ends_with 0
    holds shards "data-00000-of-00003.jsonl data-00001-of-00003.jsonl data-00002-of-00003.jsonl "
    headrace convert people.jsonl.gz --to jsonl --output zipped --compression gzip --shards 1
    holds zipped "data-00000-of-00001.jsonl.gz "
}

it_takes_other_types_and_names_formats() {
    people
    headrace convert people.csv -s people.yaml --types row=string,late=float -o people.jsonl
    ends_with 0
    prints "row                      string"
    headrace convert people.csv -s people.yaml --types rwo=string -o people.jsonl
    refused 1 'types: expected a field of the schema and a type, as row=int64, got "rwo=string"'
    headrace convert people.csv -s people.yaml --to xml -o out
    refused 1 '--to: expected csv, jsonl'
    says ', got "xml"'
    headrace convert people.csv -s people.yaml --shards 2 -o people.csv
    refused 1 "got one file, 'people.csv'"
    printf '{"row": 1, "temp": [1.5, 2.5]}\n' >lists.jsonl
    headrace convert lists.jsonl -s people.yaml -o lists.csv
    refused 1 "column 'temp': expected one value, found 2; give a --separator to write lists"
    absent lists.csv
    headrace convert lists.jsonl -s people.yaml -o lists.csv --separator ';'
    grep -q '1.5;2.5' lists.csv || fail "a list in a cell"
}

it_keeps_lists_and_empty_strings_through_csv() {
    printf 'schema:\n  int64: [i]\n  float: [f]\n  string: [s]\n' >lists.yaml
    printf '%s\n' '{"f": [-0.0, 1.5, {"$float": "-Infinity"}], "i": [-1, 9223372036854775807], "s": ["a", "", "b,\n\"c"]}' \
        '{"f": 2.0, "i": -9223372036854775808, "s": ""}' '{"i": 3}' '{"s": ["", ""]}' >lists.jsonl
    headrace convert lists.jsonl -s lists.yaml -o given.tfrecord
    headrace convert given.tfrecord -o lists.csv --separator ';'
    ends_with 0
    headrace convert lists.csv -s lists.yaml -o back.tfrecord --separator ';' --quoted-never-missing
    ends_with 0
    prints "i                        int64                 1"
    same given.tfrecord back.tfrecord
    headrace convert lists.csv -o found.tfrecord --separator ';' --quoted-never-missing # types of the values, not of the texts
    same given.tfrecord found.tfrecord
    headrace show lists.csv --separator ';' --quoted-never-missing
    [ "$out" = "$("$HEADRACE" show given.tfrecord)" ] || fail "other rows"
    headrace schema infer lists.csv --separator ';'
    prints "- f  # float first in record 0: \"1.5\"; missing in 2 of 4; 1 to 3 values"
    headrace grep 's=a' lists.csv --separator ';' --count
    [ "$out" = 1 ] || fail "a value of a list"
    headrace convert lists.csv -s lists.yaml -o split --separator ';' --split i:2
    refused 1 "lists.csv: record 0: expected a whole number in 'i', by which rows are split"
    headrace show lists.csv --separator ,
    refused 1 "expected a --separator other than the delimiter"
}

it_takes_lists_of_any_type() {
    printf 'flag,small,large\ntrue;false,-1;2,0.1;1e30\n,3,\n' >kinds.csv
    printf 'schema:\n  bool: [flag]\n  int32: [small]\n  float64: [large]\n' >kinds.yaml
    headrace convert kinds.csv -s kinds.yaml -o - --to jsonl --separator ';'
    ends_with 0
    [ "$out" = '{"flag": [1, 0], "large": [0.1, 1e+30], "small": [-1, 2]}
{"small": 3}' ] || fail "the lists"
    local lines=$out
    headrace show kinds.csv -s kinds.yaml --separator ';'
    [ "$out" = "$lines" ] || fail "the lists, shown"
    headrace stats kinds.csv -s kinds.yaml --separator ';' --json
    prints '"feature": "flag", "type": "int64", "mixed": false, "records": 1, "missing": 1, "values": 2'
}

it_finds_types_and_columns_where_there_is_no_schema() {
    people
    headrace convert people.csv -s people.yaml -o given.tfrecord
    headrace convert people.csv -o found.tfrecord
    ends_with 0
    prints "temp                     float32"
    [ "$("$HEADRACE" show found.tfrecord)" = "$("$HEADRACE" show given.tfrecord)" ] || fail "other rows"
    headrace convert people.csv -o texts.tfrecord --types row=string
    "$HEADRACE" show texts.tfrecord | grep -q '"row": \?"1"' || fail "row is no text"
    headrace convert found.tfrecord -o back.csv
    ends_with 0
    [ "$(head -n 1 back.csv | tr , '\n' | sort | tr '\n' ' ')" = "late name row temp " ] || fail "the columns"
    tr , '\t' <people.csv | sed 's/"b.*"/b/' >people.tsv
    headrace convert people.tsv -o tabs.jsonl
    ends_with 0
    grep -q anna tabs.jsonl || fail "a field after a tab"
    printf '{"a": 1}\n{"a": "x"}\n' >mixed.jsonl
    headrace convert mixed.jsonl -o mixed.csv
    refused 1 "feature 'a' has several types"
    headrace convert mixed.jsonl -o mixed.tfrecord
    ends_with 0
}

it_passes_over_bad_rows_and_keeps_them() {
    people
    printf '4,0,warm,x\n5,0,1\n6,1,0.5,last\n' >>people.csv
    headrace convert people.csv -s people.yaml -o out.jsonl --rejects bad.jsonl
    ends_with 0
    prints "6 rows read, 4 written, 2 rejected"
    [ "$(wc -l <bad.jsonl)" = 2 ] || fail "two rejected rows"
    grep -q '"file": \?"people.csv".*"line": \?5.*warm' bad.jsonl || fail "the place of the first"
    grep -q '"row": \?6' out.jsonl || fail "the row after them"
    headrace convert people.csv -s people.yaml -o out.jsonl --on-error skip --json
    ends_with 0
    prints '"rejected":2'
    headrace convert people.csv -s people.yaml -o none.jsonl --on-error skip --max-errors 1
    refused 1 "expected at most 1 errors, got 2"
    absent none.jsonl
    headrace convert people.csv -s people.yaml -o none.jsonl --on-error ignore
    refused 2 '--on-error: expected fail or skip, found "ignore"'
    headrace convert people.csv -o none.jsonl --rejects none.rejects
    refused 1 "expected 4 fields, found 3"
    says "give --schema, since finding the types skips no rows"
    absent none.rejects
    printf '{"row": 1}\n{"row": "x"}\n{"row": 2}\n' >mixed.jsonl
    headrace convert mixed.jsonl -o mixed.tfrecord
    headrace convert mixed.tfrecord -s people.yaml -o kept.tfrecord --rejects types.jsonl
    ends_with 0
    prints "3 rows read, 2 written, 1 rejected"
    grep -q "expected int64" types.jsonl || fail "the reason"
    printf '{"row": 1}\n{"row": 2\n\n{"row": "x"} {"row": 3}\n\xff\n{"row": 4} {"row": 5}\n{"row":' >broken.jsonl
    headrace convert broken.jsonl -s people.yaml -o whole.jsonl --rejects lines.jsonl
    ends_with 0
    prints "3 rows read, 3 written, 4 rejected"
    [ "$(cat whole.jsonl)" = '{"row": 1}
{"row": 4}
{"row": 5}' ] || fail "expected three rows"
    grep -q '"line": \?2,"offset": \?11,"length": \?10,.*"text": \?"{\\"row\\": 2\\n"' lines.jsonl || fail "the place of the first"
    grep -q '"line": \?4,"offset": \?22,.*broken.jsonl:4:9: ' lines.jsonl || fail "the place of the second"
    headrace convert broken.jsonl -s people.yaml -o none.jsonl --on-error skip --max-errors 3
    refused 1 "expected at most 3 errors, got 4"
    absent none.jsonl
    headrace convert broken.jsonl -s people.yaml -o none.jsonl
    refused 1 "broken.jsonl:"
    absent none.jsonl
    dd if=/dev/urandom of=mixed.tfrecord bs=1 seek=20 count=2 conv=notrunc 2>/dev/null
    headrace convert mixed.tfrecord -o sound.tfrecord --on-error skip
    ends_with 0
    prints "2 written, 1 rejected"
}

it_passes_over_records_of_which_the_other_format_can_say_nothing() {
    printf '{"a": [1, 2]}\n{"a": 3}\n' >lists.jsonl
    headrace convert lists.jsonl -o lists.tfrecord
    headrace convert lists.tfrecord -o none.csv
    refused 1 "lists.tfrecord: record 0: "
    absent none.csv
    headrace convert lists.tfrecord -o kept.csv --rejects lists.rejects
    ends_with 0
    prints "2 rows read, 1 written, 1 rejected"
    [ "$(cat kept.csv)" = "a
3" ] || fail "the row that a CSV can hold"
    grep -q '"file":"lists.tfrecord","record":0' lists.rejects || fail "the place of the other"
    headrace convert lists.tfrecord -o kept.jsonl --rejects lists.rejects
    prints "2 rows read, 2 written"
}

# `has_shards N`: so many of the folder out are written, whatever they are named; `has_bytes N`: so much of all of them.
has_shards() { [ "$(find out -name '*.part' -o -name '*-of-*' ! -name '*.tmp' 2>/dev/null | wc -l)" -ge "$1" ]; }
has_bytes() { [ "$(find out -type f -printf '%s\n' 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')" -ge "$1" ]; }

it_goes_on_with_text_where_it_was_killed() {
    seq 1 60000 | sed 's/.*/{"row": &, "temp": 0.5, "name": "somebody &"}/' >rows.jsonl
    people
    headrace convert rows.jsonl -s people.yaml --to csv -o whole --max-shard-bytes 300K
    ends_with 0
    for shards in 0 1 2 4; do
        start convert rows.jsonl -s people.yaml --to csv -o out --max-shard-bytes 300K --resume
        wait_until has_shards $shards
        kill -KILL $pid 2>/dev/null
        finish
    done
    headrace convert rows.jsonl -s people.yaml --to csv -o out --max-shard-bytes 300K --resume
    ends_with 0
    for file in $(cd whole && ls); do same "whole/$file" "out/$file"; done
    [ "$(names_in out)" = "$(names_in whole)" ] || fail "other shards: $(names_in out)"
}

it_goes_on_with_one_file_or_a_fixed_number_of_them() {
    seq 1 40000 | sed 's/.*/{"row": &, "temp": 0.5, "name": "somebody &"}/' >rows.jsonl
    people
    for out in "one.tfrecord" "out --shards 3" "out --shards 2 --compression gzip --to csv"; do
        local flags="-s people.yaml --output $out --cut-bytes 50K"
        mkdir whole
        (cd whole && "$HEADRACE" convert ../rows.jsonl -s ../people.yaml --output $out --cut-bytes 50K >/dev/null)
        for kilobytes in 0 100 300 900; do
            start convert rows.jsonl $flags --resume
            wait_until has_bytes_here $kilobytes
            kill -KILL $pid 2>/dev/null
            finish
            [ "$code" != 0 ] || break
        done
        headrace convert rows.jsonl $flags --resume
        ends_with 0
        for file in $(cd whole && find . -type f); do same "whole/$file" "$file"; done
        [ -z "$(find . -name '*.part' -o -name '*.shards')" ] || fail "parts are left"
        rm -rf whole out one.tfrecord
    done
}
has_bytes_here() { [ "$(du -ks . | cut -f1)" -ge "$((1500 + $1))" ]; }

it_refuses_an_index_of_text_and_to_resume_a_pipe() {
    people
    headrace convert people.csv -s people.yaml -o out --to csv --index
    refused 1 "--index: expected TFRecords to be written, which alone have one, got csv"
    headrace convert people.csv -s people.yaml -o people.jsonl --index
    refused 1 "got jsonl"
    headrace convert - -s people.yaml -o out --resume <people.csv
    refused 1 "found standard input, which is read once; leave --resume out"
    headrace convert people.csv -s people.yaml -o - --to jsonl --resume
    refused 1 "expected a file or a folder for --resume and --index, got '-'"
    absent out
    headrace convert people.csv -s people.yaml -o people.tfrecord --index
    ends_with 0
    headrace count --json people.tfrecord
    prints '"by_index":true'
}

it_reads_standard_input_and_writes_compressed_shards() {
    people
    code=0
    "$HEADRACE" convert - -s people.yaml -o out --compression gzip --shards 2 --prefix p- \
        <people.csv >"$scratch/out" 2>"$scratch/err" || code=$?
    read_results
    ends_with 0
    holds out "p-00000-of-00002.tfrecord p-00001-of-00002.tfrecord "
    gzip -t <out/p-00000-of-00002.tfrecord || fail "not gzip"
    headrace info out/p-*
    prints "3 records in 2 files"
    gzip -dc out/p-00000-of-00002.tfrecord | "$HEADRACE" info - >"$scratch/out" 2>"$scratch/err"
    read_results
    prints "2 records in 1 file"
}

it_writes_and_reads_what_the_tools_of_lz4_and_zstd_do() {
    people
    headrace convert people.csv -s people.yaml -o plain
    for tool in lz4 zstd; do
        command -v $tool >/dev/null || continue
        headrace convert people.csv -s people.yaml -o $tool --compression $tool
        ends_with 0
        $tool -dcq <$tool/data-00000-of-00001.tfrecord >$tool.tfrecord || fail "$tool cannot read it"
        same $tool.tfrecord plain/data-00000-of-00001.tfrecord
        $tool -cq -9 <plain/data-00000-of-00001.tfrecord >$tool/again
        headrace head $tool/again -n 1
        prints '"name": "anna"'
        headrace info $tool/again --compression gzip
        refused 1 "$tool/again: expected compression gzip, got a $tool file"
    done
}

it_takes_names_of_any_bytes() {
    people
    local name=$'n\xff\xfe.csv' folder=$'o\xff[1]*'
    mv people.csv "$name"
    headrace convert "$name" -s people.yaml -o "$folder"
    ends_with 0
    headrace info "$folder/data-00000-of-00001.tfrecord"
    ends_with 0
    prints "3 records in 1 file"
}

it_refuses_a_file_that_is_missing_empty_or_a_folder() {
    people
    mkdir folder
    : >empty.csv
    headrace convert none.csv -s people.yaml -o out
    refused 1 "none.csv: cannot be opened: No such file or directory"
    headrace convert empty.csv -s people.yaml -o out
    refused 1 "empty.csv: expected a header, found an empty file"
    headrace convert folder -s people.yaml -o out
    refused 1 "folder: expected a file, got a folder"
    headrace convert people.csv -s none.yaml -o out
    refused 1 "none.yaml: cannot be opened: No such file or directory"
    headrace convert people.csv -s folder -o out
    refused 1 "folder: "
    headrace convert people.csv -s empty.csv -o out
    refused 1 "empty.csv"
    absent out
}

it_names_a_column_that_the_file_lacks() {
    people
    sed -i 's/temp/temperature/' people.csv
    headrace convert people.csv -s people.yaml -o out
    refused 1 "people.csv:1: expected a column 'temp' in the header, found"
    absent out
    headrace convert people.csv -s people.yaml -o out --require lat
    refused 1 "require: expected a field of the schema, got 'lat'; did you mean 'late'?"
    headrace convert people.csv -s people.yaml -o out --split rwo:5
    refused 1 "split: expected a field of the schema, got 'rwo'; did you mean 'row'?"
    absent out
}

it_names_line_column_and_text_of_a_wrong_value() {
    people
    printf '4,0,warm,x\n' >>people.csv
    headrace convert people.csv -s people.yaml -o out
    refused 1 "people.csv:5: column 'temp' (field 2): expected float32, got \"warm\""
    says "--na-value"
    absent out
    headrace convert people.csv -s people.yaml -o out --na-value warm
    ends_with 0
}

it_reads_csv_of_any_dialect() {
    people
    headrace convert people.csv -s people.yaml -o people.jsonl
    cat >other.csv <<'CSV'
a line of a report
another
row;late;temp;name
# a remark
1;0;2.5;'anna'
2;1;NA;b, "bo\b"
3;?;-1e3;;;
CSV
    local dialect="--delimiter ; --quote ' --escape \\ --comment # --skip-lines 2 --na-value NA --na-value ? --cut-long-rows"
    headrace convert other.csv -s people.yaml -o other.jsonl $dialect
    ends_with 0
    same other.jsonl people.jsonl
    headrace schema infer other.csv $dialect -o other.yaml
    ends_with 0
    headrace convert other.csv -s other.yaml -o inferred.jsonl $dialect
    same inferred.jsonl people.jsonl
    headrace stats other.csv $dialect
    ends_with 0
    prints "temp     float32        2        1"
    headrace schema check -s people.yaml other.csv $dialect
    ends_with 0
    headrace convert other.csv -s people.yaml -o out --quote ab
    refused 2 '--quote: expected one byte, found "ab"'
    absent out
    printf 'row,name\n1,\xff\n2\n' >short.csv
    headrace convert short.csv -o short.jsonl --fill-short-rows
    ends_with 0
    headrace convert short.csv -o checked.jsonl --fill-short-rows --check-utf8
    refused 1 "short.csv:2: column 'name'"
    headrace convert people.csv -s people.yaml -o ends.csv --no-quotes
    refused 1 "people.csv:3: expected 4 fields, found 5"
}

it_names_the_line_of_a_row_of_another_length_and_of_an_open_quote() {
    people
    printf '4,0,1\n' >>people.csv
    headrace convert people.csv -s people.yaml -o out
    refused 1 "people.csv:5: expected 4 fields, found 3"
    people
    printf '4,0,1,"x\n' >>people.csv
    headrace convert people.csv -s people.yaml -o out
    refused 1 "people.csv:5: column 'name' (field 3): expected a closing quote"
    absent out
}

it_notices_a_gzip_that_is_cut_or_damaged() {
    gzip -dc "$flights_csv" 2>/dev/null | head -n 2001 | gzip >whole.csv.gz
    local size
    size=$(stat -c %s whole.csv.gz)
    head -c $((size / 2)) whole.csv.gz >cut.csv.gz
    headrace convert cut.csv.gz -s "$flights_yaml" -o out
    refused 1 "cut.csv.gz: byte $((size / 2)) ("
    says "the file is cut"
    head -c $((size - 4)) whole.csv.gz >tail.csv.gz
    headrace convert tail.csv.gz -s "$flights_yaml" -o out
    refused 1 "tail.csv.gz: "
    cp whole.csv.gz flip.csv.gz
    printf '\x55\xaa\x55\xaa' | dd of=flip.csv.gz bs=1 seek=$((size - 8)) conv=notrunc 2>/dev/null
    headrace convert flip.csv.gz -s "$flights_yaml" -o out
    refused 1 "flip.csv.gz: "
    absent out
}

it_leaves_nothing_where_the_disk_is_full() {
    gzip -dc "$flights_csv" 2>/dev/null | head -n 5001 >flights.csv
    code=0
    (ulimit -f 64; trap '' XFSZ; exec "$HEADRACE" convert flights.csv -s "$flights_yaml" -o out --shards 2) \
        2>&1 >"$scratch/out" | cat >"$scratch/err"
    code=${PIPESTATUS[0]}
    read_results
    refused 1 "out/data-0000"
    says "cannot be written: File too large"
    absent out
    mkdir disk
    if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=512k none disk 2>/dev/null; then
        headrace convert flights.csv -s "$flights_yaml" -o disk/out
        local left
        left=$(names_in disk)
        umount disk
        refused 1 "cannot be written: No space left on device"
        [ -z "$left" ] || fail "left on the full disk: $left"
    fi
}

it_refuses_a_folder_that_cannot_be_written() {
    people
    headrace convert people.csv -s people.yaml -o people.yaml
    refused 1 "people.yaml: expected a folder or space for one"
    headrace convert people.csv -s people.yaml -o /proc/none
    refused 1 "/proc/none: expected a folder or space for one"
    mkdir closed
    chmod a-w closed
    if ! touch closed/x 2>/dev/null; then # root may write everywhere
        headrace convert people.csv -s people.yaml -o closed
        refused 1 "closed"
        says "Permission denied"
    fi
}

it_mixes_no_two_conversions_in_a_folder() {
    people
    headrace convert people.csv -s people.yaml -o out --shards 2
    ends_with 0
    headrace convert people.csv -s people.yaml -o out --shards 3
    refused 1 "out: expected no shards of another run, found 'data-0000"
    holds out "data-00000-of-00002.tfrecord data-00001-of-00002.tfrecord "
    headrace convert people.csv -s people.yaml -o out --shards 2
    ends_with 0
}

it_fills_shards_up_to_a_size() {
    people
    headrace convert people.csv -s people.yaml -o out --max-shard-bytes 1 --shards 2
    refused 2 "expected one of them, found both"
    headrace convert people.csv -s people.yaml -o out --max-shard-bytes 1
    ends_with 0
    prints "in 3 files in out"
    holds out "data-00000-of-00003.tfrecord data-00001-of-00003.tfrecord data-00002-of-00003.tfrecord "
    headrace convert people.csv -s people.yaml -o out --max-shard-bytes 1
    ends_with 0
    headrace convert people.csv -s people.yaml -o out --max-shard-bytes 1000
    refused 1 "out/data-: expected the shards that this run makes, found others"
    holds out "data-00000-of-00003.tfrecord data-00001-of-00003.tfrecord data-00002-of-00003.tfrecord "
}

it_goes_on_where_it_was_killed() {
    gzip -dc "$flights_csv" 2>/dev/null | head -n 60001 >flights.csv
    local flags="-s $flights_yaml --split row:5 --require late --max-shard-bytes 300000"
    headrace convert flights.csv $flags -o whole
    ends_with 0
    for shards in 0 1 2 4 8; do
        start convert flights.csv $flags -o out --resume
        wait_until has_shards $shards
        kill -KILL $pid 2>/dev/null
        finish
        for file in out/*; do [ ! -e "$file" ] || same "$file" "whole/${file#out/}"; done
        [ "$code" != 0 ] || break
    done
    if [ -e out/.train-.headrace.shards ]; then # it did not end before it could be killed
        headrace convert flights.csv $flags -o out --resume --na-value x
        refused 1 "expected notes of the same records and options, got those of others"
    fi
    headrace convert flights.csv $flags -o out --resume
    ends_with 0
    headrace convert flights.csv $flags -o out --resume
    ends_with 0
    prints "(all of them in earlier runs)"
    headrace convert flights.csv $flags -o out
    ends_with 0
    headrace convert flights.csv ${flags/300000/400000} -o out --resume
    refused 1 "expected the shards that this run makes, found others"
    [ "$(names_in out)" = "$(names_in whole)" ] || fail "other files"
    for file in whole/*; do same "$file" "out/${file#whole/}"; done
}

it_leaves_nothing_after_ctrl_c_at_any_time() {
    headrace convert "$flights_csv" -s "$flights_yaml" -o whole --shards 3
    for bytes in -1 0 1 100000 1000000; do
        start convert "$flights_csv" -s "$flights_yaml" -o out --shards 3
        [ $bytes = -1 ] || wait_until has_bytes $bytes
        kill -INT $pid 2>/dev/null
        finish
        if [ "$code" != 0 ]; then # else it was faster
            [ "$code" = 130 ] || fail "expected exit code 130 with $bytes bytes written"
            # A signal before the command is ready for one, or when all is done, ends it at once.
            [ -z "$err" ] || says "headrace convert: interrupted"
            [ -z "$err" ] || absent out
        fi
        [ ! -e out ] || holds out "$(names_in whole)"
        rm -rf out
    done
    mkdir out
    : >out/notes
    start convert "$flights_csv" -s "$flights_yaml" -o out
    wait_until has_bytes 100000
    kill -TERM $pid 2>/dev/null
    finish
    [ "$code" = 0 ] || ends_with 130 # whatever threads libraries have begun before main
    [ -z "$err" ] || holds out "notes "
}

it_leaves_only_whole_files_when_it_is_killed() {
    gzip -dc "$flights_csv" 2>/dev/null | head -n 60001 >flights.csv
    for bytes in 0 1 100000 1000000; do
        start convert flights.csv -s "$flights_yaml" -o out --shards 2
        wait_until has_bytes $bytes
        kill -KILL $pid 2>/dev/null
        finish
        for file in out/*; do
            [ -e "$file" ] || continue
            headrace info "$file"
            ends_with 0
        done
    done
    headrace convert flights.csv -s "$flights_yaml" -o out --shards 2
    ends_with 0
    headrace info 'out/data-*'
    prints "60,000 records in 2 files"
}

it_takes_no_rest_of_a_killed_run_for_data_and_removes_it() {
    people
    headrace convert people.csv -s people.yaml -o out --shards 2 --index
    cp out/data-00000-of-00002.tfrecord out/.data-00005.tfrecord.headrace.part
    cp out/data-00000-of-00002.tfrecord out/..data-00006.tfrecord.headrace.part.4711-0.headrace.tmp
    for what in "count out/*" "verify out/*" "info out/*"; do
        set -f; headrace $what; set +f
        ends_with 0
        says_nothing
        prints "3 "
    done
    headrace convert people.csv -s people.yaml -o out/other.tfrecord
    holds out ".data-00005.tfrecord.headrace.part data-00000-of-00002.tfrecord data-00000-of-00002.tfrecord.hridx \
data-00001-of-00002.tfrecord data-00001-of-00002.tfrecord.hridx other.tfrecord "
}

it_says_which_numbers_of_json_lines_float32_rounds() {
    printf '{"id": 16777217.0, "x": 0.1}\n{"id": 16777219.0, "x": 3.14}\n' >ids.jsonl
    headrace convert ids.jsonl -o ids.tfrecord
    ends_with 0
    says 'ids.jsonl: float32 rounds 2 values, first in record 0: "16777217.0"; a schema that says int64'
    printf 'int64: [id]\nfloat: [x]\n' >s.yaml
    headrace convert ids.jsonl -s s.yaml -o ids.tfrecord
    ends_with 0
    says_nothing
    headrace show ids.tfrecord
    prints '"id": 16777217'
    printf '{"id": 1, "x": 0.5}\n{"id": 2, "x": 41.878114}\n' >ids.jsonl
    headrace convert ids.jsonl -s s.yaml -o ids.tfrecord
    says 'ids.jsonl: float32 rounds 1 value, first in record 1: "41.878114"'
}

it_takes_rows_without_the_label() {
    people
    printf '  label: late\n' >>people.yaml
    cut -d, -f1,3,4 people.csv | sed 's/,"b, ""bob"""/,bob/; s/^2,.*/2,,bob/' >new.csv
    headrace convert new.csv -s people.yaml -o new.tfrecord --json
    ends_with 0
    says "new.csv: there is no column 'late', the schema's label; its rows are without one"
    prints '"missing":{"row":0,"late":3,"temp":1,"name":1}'
    headrace show new.tfrecord
    prints '{"name": "anna", "row": 1, "temp": 2.5}
{"name": "bob", "row": 2}
{"row": 3, "temp": -1000.0}'
    local kept=$out
    headrace show new.csv -s people.yaml
    [ "$out" = "$kept" ] || fail "show of the CSV as of its records"
    headrace stats new.csv -s people.yaml
    ends_with 0
    headrace verify new.csv -s people.yaml # asks whether all is there
    refused 1 "new.csv:1: expected a column 'late' in the header"
    headrace convert new.csv people.csv -s people.yaml -o both.tfrecord --json --separator ';'
    prints '"missing":{"row":0,"late":4,' # every row exactly, and the label in one file alone
    headrace convert new.csv -s people.yaml -o split.tfrecord --require late --json
    prints '"dropped":3'
    cut -d, -f2,3 people.csv >short.csv
    sed -i 's/label: late/label: row/' people.yaml
    headrace convert short.csv -s people.yaml -o short.tfrecord
    refused 1 "short.csv:1: expected a column 'name' in the header"
}

it_changes_a_value_of_the_schema() {
    headrace convert "$SOURCE/examples/data/iris_test.csv" -s "$SOURCE/examples/iris.yaml" -o - --to jsonl \
        --set 'schema.float=[PetalLength]'
    ends_with 0
    prints '"PetalLength":'
    case $out in *SepalLength*) fail "expected one number a row" ;; esac
    headrace convert "$SOURCE/examples/data/iris_test.csv" -o out.jsonl --set 'schema.float=[PetalLength]'
    refused 2 "--set: expected --schema beside it"
}

run_tests
