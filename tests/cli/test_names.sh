# Names that stand for nothing are errors with advice: features that no record has, outputs of no format.
source "$SOURCE/tests/cli/kit.sh"

records() {
    printf '{"age": 71, "name": "ann"}\n{"age": 3, "note": "x"}\n' >people.jsonl
    "$HEADRACE" convert people.jsonl -o people.tfrecord >"$scratch/out"
}

it_finds_conditions_on_features_that_no_record_has() {
    records
    headrace grep 'agee>70' people.tfrecord
    refused 1 "expected a feature 'agee' in some record, found it in none of 2; did you mean 'age'?"
    headrace grep 'age>70' -e 'nmae=ann' people.tfrecord -o found.tfrecord
    refused 1 "expected a feature 'nmae' in some record, found it in none of 2; did you mean 'name'?"
    absent found.tfrecord
    headrace grep 'age>700' people.tfrecord
    ends_with 0
    prints_nothing
    headrace grep 'note=x' people.tfrecord # which only one has
    ends_with 0
    headrace grep '!agee' people.tfrecord -c
    ends_with 0
    [ "$out" = 2 ] || fail "both lack it"
    says "warning: no record has a feature 'agee'; did you mean 'age'?"
    headrace grep '!quite_another' people.tfrecord -c
    says_nothing
    printf 'age,empty\n3,\n' >people.csv
    headrace grep 'empty=1' people.csv # it is a column, if an empty one
    ends_with 0
    headrace grep 'agee=1' people.csv
    refused 1 "did you mean 'age'?"
    : >none.jsonl
    headrace grep 'age=1' none.jsonl
    ends_with 0
}

it_finds_features_to_be_shown_that_no_record_has() {
    records
    for words in "head -f nme people.tfrecord" "show -f age,nme people.jsonl" "grep age -f nme people.tfrecord"; do
        headrace $words
        ends_with 1
        says "expected a feature 'nme' in some record, found it in none of 2; did you mean 'name'?"
    done
    headrace show -f note,age people.tfrecord
    ends_with 0
    headrace vocab -f nme people.tfrecord
    refused 1 "expected a feature 'nme' in some record, found it in none of 2; did you mean 'name'?"
    headrace vocab -f quite_another people.tfrecord
    refused 1 "expected a feature 'quite_another' in some record, found it in none of"
}

it_refuses_outputs_of_no_format() {
    records
    for name in people.tfrecrod:tfrecord people.jsonll.gz:jsonl people.cvs:csv out/people.tfrecords.gzz:gz; do
        headrace convert people.jsonl -o "${name%:*}"
        refused 1 "expected a folder, or a file of a format that its name says, as people.csv, got '${name%:*}'"
        says "did you mean '.${name#*:}'?"
        absent "${name%:*}"
    done
    headrace convert people.jsonl -o people.parquet
    refused 1 "where '.parquet' says none; for a folder of this name write 'people.parquet/'"
    headrace convert people.jsonl -o people.parquet/
    ends_with 0
    headrace convert people.jsonl -o people.parquet # a folder that is there
    ends_with 0
    for name in v1.0 2024.01.d/ .hidden out; do
        headrace convert people.jsonl -o $name
        ends_with 0
        [ -e $name/data-00000-of-00001.tfrecord ] || fail "expected a folder $name"
    done
}

run_tests
