# schema infer, check, diff: what is found is what convert takes, and every deviation has its record and field.
source "$SOURCE/tests/cli/kit.sh"

it_infers_a_schema_that_convert_takes() {
    people
    headrace schema infer people.csv -o found.yaml
    ends_with 0
    prints_nothing
    headrace convert people.csv -s found.yaml -o out
    ends_with 0
    headrace schema infer 'out/data-*'
    prints 'temp  # float first in record 0: "2.5"; missing in 1 of 3'
    headrace schema diff found.yaml 'out/data-*'
    ends_with 0
    prints_nothing
    headrace schema check -s found.yaml 'out/data-*'
    ends_with 0
    prints "all records fit the schema"
    headrace show 'out/data-*'
    cp "$scratch/out" people.jsonl
    headrace schema diff found.yaml people.jsonl
    ends_with 0
}

it_says_what_does_not_fit() {
    people
    printf 'row,late,temp,name\n1,0,2.5,anna\nx,0,warm,\n' >other.csv
    headrace schema check -s people.yaml other.csv
    ends_with 1
    prints "other.csv: record 1: feature 'row': expected int64, found text \"x\""
    prints "other.csv: record 1: feature 'temp': expected float32, found text \"warm\""
    prints "2 deviations"
    headrace schema check -n 0 -s people.yaml other.csv
    [ "$out" = "2 deviations" ] || fail "expected the count alone"
    headrace schema diff people.yaml other.csv
    ends_with 1
    [ "$out" = "~ row: int64, string
~ temp: float, string" ] || fail "expected two differences"
}

it_refuses_a_wrong_command_line() {
    headrace schema infer
    refused 2 "expected FILE..., found nothing"
    headrace schema check people.csv
    refused 2 "--schema is missing"
    headrace schema diff a.yaml
    refused 2 "expected A B"
    headrace schema infer --format xml people.csv
    refused 2 'expected csv, jsonl'
    says ', found "xml"'
    headrace schema infer none.csv
    refused 1 'none.csv: cannot be opened'
    printf '{"a": 1}\n{"a": }\n' >bad.jsonl
    headrace schema infer bad.jsonl
    refused 1 "bad.jsonl:2:7: expected a value, found '}'"
}

it_refuses_files_without_fields() {
    : >empty.tfrecord
    headrace schema infer empty.tfrecord -o s.yaml
    refused 1 "empty.tfrecord: expected fields for a schema, found none in 0 records"
    absent s.yaml
    : >empty.jsonl
    headrace schema infer empty.jsonl empty.tfrecord
    refused 1 "empty.jsonl and others: expected fields for a schema, found none"
}

it_fails_when_records_contradict_one_another() {
    printf '{"a": 1}\n{"a": "x"}\n' >a.jsonl
    headrace schema infer a.jsonl
    ends_with 1
    prints "- a  # CONFLICT: "
    says "feature 'a' has several types"
}

it_looks_at_csv_of_standard_input() {
    people
    piped() { # `piped COMMAND...`: with the compressed CSV as its standard input
        code=0
        gzip -c people.csv | "$HEADRACE" "$@" >"$scratch/out" 2>"$scratch/err" || code=$?
        read_results
    }
    sed -i "s/\$/,/; 1s/\$/none/" people.csv # and a column without any value
    headrace schema infer people.csv
    local schema=$out
    piped schema infer - --format csv
    ends_with 0
    [ "$out" = "$schema" ] || fail "the schema of the file"
    prints "none  # no value anywhere"
    printf '%s\n' "$schema" >found.yaml
    piped schema check -s found.yaml - --format csv
    ends_with 0
    piped schema diff found.yaml - --format csv
    ends_with 0
    piped vocab -f name - --format csv
    [ "$out" = 'anna
b, "bob"' ] || fail "the words"
    piped stats -s found.yaml - --format csv
    prints "3 records in 1 file"
    for command in stats verify show "grep row"; do
        piped $command - --format csv
        refused 1 "expected a file, which can be read twice, found standard input, which is read once; give --schema"
    done
}

run_tests
