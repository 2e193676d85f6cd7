# CSV files as people have them: what their columns are called, with a header and without one.
source "$SOURCE/tests/cli/kit.sh"

# A row index without a name, as pandas and R write it.
pandas() { printf ',age,name\n0,3,ann\n1,4,bob\n' >pandas.csv; }

it_calls_a_column_without_a_name_after_its_place() {
    pandas
    local note="pandas.csv: a column has no name in the header; it is called column_0, after its place"
    headrace convert pandas.csv -o pandas.jsonl
    ends_with 0
    [ "$err" = "$note" ] || fail "the note, once"
    grep -q '{"age": 3, "column_0": 0, "name": "ann"}' pandas.jsonl || fail "the row"
    headrace schema infer pandas.csv -o pandas.yaml
    [ "$err" = "$note" ] || fail "the note of schema infer"
    headrace convert pandas.csv -s pandas.yaml -o again.jsonl
    ends_with 0
    says_nothing
    same pandas.jsonl again.jsonl
    for words in "stats pandas.csv" "show pandas.csv" "head pandas.csv" "grep age=3 pandas.csv" "vocab pandas.csv -f column_0" \
        "schema check -s pandas.yaml pandas.csv" "verify -s pandas.yaml pandas.csv" "count pandas.csv"; do
        headrace $words
        ends_with 0
    done
    printf ',a,""\n1,2,3\n' >several.csv
    headrace show several.csv
    [ "$out" = '{"a": 2, "column_0": 1, "column_2": 3}' ] || fail "two columns"
    says "several.csv: 2 columns have no name in the header; they are called column_0 and so on"
}

it_drops_and_renames_columns() {
    pandas
    headrace show pandas.csv --drop column_0 --rename age=years
    ends_with 0
    says_nothing
    [ "$out" = '{"name": "ann", "years": 3}
{"name": "bob", "years": 4}' ] || fail "the rows"
    headrace stats pandas.csv --drop '#0' --json
    case $out in *column_0*) fail "a column that was dropped" ;; esac
    headrace vocab pandas.csv --rename '#2=who' -f who
    [ "$out" = 'ann
bob' ] || fail "the words"
    headrace grep years=4 pandas.csv --rename age=years -c
    [ "$out" = 1 ] || fail "one row"
    headrace schema infer pandas.csv --rename column_0=id -o renamed.yaml
    headrace convert pandas.csv --rename column_0=id -s renamed.yaml -o renamed.jsonl
    ends_with 0
    headrace verify pandas.csv --rename column_0=id -s renamed.yaml
    ends_with 0
    headrace convert pandas.csv --rename agee=x -o x.jsonl
    refused 1 "pandas.csv:1: expected a column 'agee' in the header, found 3 others; did you mean 'age'?"
    headrace convert pandas.csv --rename age -o x.jsonl
    refused 1 '--rename: expected OLD=NEW, got "age"'
    headrace convert pandas.csv --drop agee -o x.jsonl
    refused 1 "expected a column 'agee'"
    headrace convert pandas.csv -s renamed.yaml --drop age --rename column_0=id -o x.jsonl
    refused 1 "expected a column 'age' in the header, found 3 others; --drop leaves it out"
}

it_names_columns_that_are_called_alike() {
    printf 'a,b,a\n1,2,3\n' >twice.csv
    for words in "convert twice.csv -o x.jsonl" "schema infer twice.csv" "show twice.csv" "stats twice.csv" "vocab twice.csv -f a" \
        "verify twice.csv" "grep a=1 twice.csv"; do
        headrace $words
        refused 1 'twice.csv:1: columns 0 and 2, counted from 0, are both called '"'a'"'; give one of them another name, --rename "#2=NEW", or --drop "#2"; if the first line is not a header, --no-header'
    done
    headrace show twice.csv --rename '#2=c'
    [ "$out" = '{"a": 1, "b": 2, "c": 3}' ] || fail "renamed"
    headrace show twice.csv --drop '#2'
    [ "$out" = '{"a": 1, "b": 2}' ] || fail "dropped"
}

it_says_that_a_header_of_numbers_may_be_a_row() {
    printf '5.1,3.5,setosa\n4.9,3.0,setosa\n' >iris.csv
    headrace schema infer iris.csv
    ends_with 0
    says "iris.csv: the header calls a column '5.1'; if that line is a row: --no-header"
    printf 'nan,inf,1st\n4.9,3.0,setosa\n' >words.csv
    headrace convert words.csv -o words.jsonl
    says_nothing
    headrace convert iris.csv --no-header -o iris.jsonl
    says_nothing
}

it_reads_files_without_a_header() {
    printf '1,1,ann\n3,4,bob\n' >bare.csv
    headrace convert bare.csv -o x.jsonl
    refused 1 "if the first line is not a header, --no-header"
    headrace convert bare.csv --columns id,age,name -o named.jsonl
    ends_with 0
    says_nothing
    [ "$(cat named.jsonl)" = '{"age": 1, "id": 1, "name": "ann"}
{"age": 4, "id": 3, "name": "bob"}' ] || fail "the rows"
    headrace schema infer bare.csv --columns id,age,name -o bare.yaml
    headrace convert bare.csv --columns id,age,name -s bare.yaml -o again.jsonl
    same named.jsonl again.jsonl
    headrace show bare.csv --no-header
    says_nothing
    [ "$out" = '{"column_0": 1, "column_1": 1, "column_2": "ann"}
{"column_0": 3, "column_1": 4, "column_2": "bob"}' ] || fail "numbered"
    headrace head -n 1 bare.csv --columns id,age,name --drop id -f age
    [ "$out" = '{"age": 1}' ] || fail "the first"
    headrace grep age=4 bare.csv --columns id,age,name --no-header -c
    [ "$out" = 1 ] || fail "one row"
    headrace count bare.csv --no-header
    [ "$out" = "2 bare.csv" ] || fail "two rows"
    headrace verify bare.csv --columns id,age,name -s bare.yaml
    ends_with 0
    prints "2 good rows in 1 file"
    headrace schema check bare.csv --columns id,age,name -s bare.yaml
    ends_with 0
    headrace vocab bare.csv --columns id,age,name -f name
    [ "$out" = 'ann
bob' ] || fail "the words"
    headrace stats bare.csv --columns id,age,name --json
    prints '"feature": "name"'
    headrace stats bare.csv --columns id,age,name --normalize min_max
    prints "  age: {numeric: age, min: 1, max: 4}"
    headrace convert bare.csv --columns id,age -o x.jsonl
    refused 1 "bare.csv:1: expected 2 fields, as --columns says, found 3"
    headrace convert bare.csv --no-header -s bare.yaml -o x.jsonl
    refused 1 "expected a column 'id' by"
    headrace convert - -s bare.yaml --columns id,age,name -o piped.jsonl <bare.csv
    headrace convert bare.csv --columns id,age,name -s bare.yaml -o again.jsonl
    ends_with 0
}

it_takes_files_of_other_names_for_csv_by_its_flags() {
    printf '3,ann\n4,bob\n' >people.data
    for words in "stats people.data --columns age,name" "show people.data --no-header" "head people.data --columns age,name" \
        "grep age=3 people.data --columns age,name" "vocab people.data --columns age,name -f name" "verify people.data --no-header" \
        "schema infer people.data --columns age,name" "schema diff people.data people.data --no-header"; do
        headrace $words
        ends_with 0
    done
    headrace count people.data --no-header
    [ "$out" = "2 people.data" ] || fail "two rows"
    headrace count people.data
    refused 1 "is not a TFRecord file"
    headrace convert people.data --columns age,name -o people.tfrecord
    headrace count people.tfrecord --no-header
    [ "$out" = "2 people.tfrecord" ] || fail "two records, by the name"
    printf 'schema:\n  int64: [age]\n' >age.yaml
    headrace verify people.tfrecord -s age.yaml
    refused 1 "people.tfrecord: --schema: expected CSV or JSON"
}

it_says_what_to_do_with_files_of_other_programs() {
    printf 'name;price\nann;1,50\n' >excel.csv
    headrace convert excel.csv -o x.jsonl
    refused 1 "excel.csv:2: expected 1 fields, found 2; --delimiter, --columns, --comment and --skip-lines say how the file is written"
    printf 'name;price\nann;1\n' >semicolons.csv
    headrace show semicolons.csv
    ends_with 0
    says "semicolons.csv: the header is one column, 'name;price'; is ';' the delimiter? Then say so"
    headrace show semicolons.csv --delimiter ';'
    says_nothing
    printf '[{"a": 1}]' >array.json
    headrace convert array.json -o x.jsonl
    refused 1 "array.json:1:1: expected an object, found an array; write its objects one after the other, as jq -c '.[]' does"
    : >none.tfrecord
    headrace convert none.tfrecord -o x.csv
    refused 1 "expected fields to be columns of a CSV, found none in the files; give a --schema"
    printf '{"a": [1, 2.5]}\n' >mixed.jsonl
    headrace convert mixed.jsonl -o x.tfrecord
    refused 1 "feature 'a': expected a whole number, as before, or a --schema that says float, found 2.5"
    printf '\375\067\172\130\132\000rest' >people.csv.xz
    printf 'BZh91AY&SYrest' >people.csv.bz2
    printf 'PK\003\004rest' >people.xlsx
    for words in "xz people.csv.xz" "bzip2 people.csv.bz2" "zip people.xlsx"; do
        headrace convert ${words#* } -o x.jsonl
        refused 1 "${words#* }: expected a file that is not compressed, or with gzip, zlib, LZ4 or Zstandard, found ${words% *}; unpack it"
        headrace count ${words#* }
        refused 1 "found ${words% *}; unpack it"
    done
}

it_goes_on_only_with_the_same_names() {
    printf '1,2\n3,4\n' >bare.csv
    headrace convert bare.csv --columns a,b -o out --to jsonl --max-shard-bytes 1 --resume
    ends_with 0
    headrace convert bare.csv --columns b,a -o out --to jsonl --max-shard-bytes 1 --resume
    [ "$code" != 0 ] || fail "other columns"
}

it_passes_over_blank_lines_in_every_command() {
    printf 'a,b\n1,2\n\n3,4\n\n' >blank.csv
    headrace count --json blank.csv
    prints '"records":2'
    headrace verify --json blank.csv
    prints '"records":2'
    headrace convert --json blank.csv -o blank.tfrecord
    prints '"rows":2'
    prints '"blank_lines":2'
    printf '1,2\n\n3,4\n' >bare.csv
    headrace count --json bare.csv --no-header
    prints '"records":2'
    printf '\n\n\n' >blank.csv
    headrace count --json blank.csv --no-header
    prints '"records":0'
    headrace show blank.csv --no-header
    refused 1 "blank.csv: expected a row, by which columns are counted, found an empty file"
    headrace show blank.csv --columns a
    prints '{"features": {}}'
    headrace count blank.csv --columns a
    prints '3 blank.csv'
    headrace count blank.csv --columns a,b
    prints '0 blank.csv'
    printf 'a\n1\n\n' >one.csv # of one column a blank line is a row without a value
    headrace count --json one.csv
    prints '"records":2'
    headrace verify --json one.csv
    prints '"records":2'
}

it_says_how_many_values_float32_rounds() {
    printf 'id,x\n16777217.0,0.5\n,1.23456789\n16777219.0,16777217.5\n' >ids.csv
    headrace convert ids.csv -o ids.tfrecord
    prints 'x                           2                1  1.23456789'
    says 'ids.csv: float32 rounds 2 values, first in record 1: "1.23456789" of '"'x'; a schema that says int64"
    headrace convert --json ids.csv -o ids.tfrecord
    prints '"rounded":{"x":2}'
    headrace show ids.tfrecord
    prints '"id": 16777217'
    prints '"id": 16777219'
    headrace stats ids.csv
    prints 'rounded by float32'
    headrace schema infer ids.csv
    prints '    - id  # int64 first in record 0: "16777217.0", beyond the whole numbers of float32; missing in 1 of 3'
}

# Short and long texts, in quotes and not, in the last column, too small ones, lists, missing values; a row that is
# rejected counts nothing.
it_says_how_many_values_float32_rounds_by_a_given_schema() {
    printf 'schema: {float: [lat, tiny], int64: [i], float64: [last]}\n' >s.yaml
    printf 'lat,tiny,i,last\r\n41.878114,1e-46,1,2.5\r\n"41.878114",0.25,2,0.123456789\r\n' >f.csv
    printf '99.999999,0,x,1\r\n-9.123456789,1,3,41.5\r\n41.878113,,,4.000000000\r\n' >>f.csv
    headrace convert f.csv -s s.yaml -o f.tfrecord --json --rejects bad.jsonl --na-value -9.123456789
    ends_with 0
    prints '"rounded":{"lat":2,"tiny":1,"last":1}'
    says 'f.csv: float32 rounds 4 values, first in record 0: "41.878114" of '"'lat'"
    headrace schema infer f.csv
    prints 'float32 rounds 4 values, first in record 0: "41.878114"' # of lat: rows that a schema refuses, too
    printf 'x\n"0.5"\n1;41.878114;2\n' >list.csv
    printf 'float: [x]\n' >x.yaml
    headrace convert list.csv -s x.yaml -o x.tfrecord --json --separator ';'
    prints '"rounded":{"x":1}'
    says 'list.csv: float32 rounds 1 value, first in record 1: "41.878114"'
    printf 'x\n0.123456\n123456.7890000\n7\n' >short.csv
    headrace convert short.csv -s x.yaml -o x.tfrecord --json
    prints '"rounded":{"x":1}'
    printf 'x\n0.123456\n1234560000\n7\n' >short.csv
    headrace convert short.csv -s x.yaml -o - --to jsonl
    says_nothing
}

it_says_what_is_wrong_with_a_decimal_comma() {
    printf 'a;b\n1;-1,5\n2;2,5\n' >comma.csv
    headrace schema infer comma.csv --delimiter ';'
    prints '    - b  # string first in record 0: "-1,5", a number only with a decimal point'
    printf 'int64: [a]\nfloat: [b]\n' >ab.yaml
    headrace convert comma.csv -s ab.yaml --delimiter ';' -o ab.tfrecord
    refused 1 'expected float32, got "-1,5"; write numbers with a decimal point'
    printf 'a, b\n1, 2.5\n' >blank.csv
    headrace convert blank.csv -s ab.yaml -o ab.tfrecord
    refused 1 "expected a column 'b' in the header, found 2 others; did you mean ' b'?"
    headrace convert blank.csv -s ab.yaml -o ab.tfrecord --rename ' b=b'
    ends_with 0
}

run_tests
