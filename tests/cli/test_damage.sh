# verify and repair: all damage is found and told, all that is good is saved, and nothing is replaced by half a file.
source "$SOURCE/tests/cli/kit.sh"

# 20 rows as records of one size, of which `record N` begins at N x $frame.
records() {
    printf 'schema:\n  int64: [row]\n  string: [name]\n' >people.yaml
    echo row,name >people.csv
    for i in $(seq 10 29); do echo "$i,name-$i" >>people.csv; done
    headrace convert people.csv -s people.yaml -o out
    mv out/data* whole.tfrecord
    frame=$(($(stat -c %s whole.tfrecord) / 20))
}
flip() { printf '\x55' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }

it_finds_all_damage_and_names_its_place() {
    records
    headrace verify whole.tfrecord
    ends_with 0
    prints "20 good records in 1 file; nothing is damaged"
    cp whole.tfrecord bad.tfrecord
    flip bad.tfrecord $((3 * frame + 20))
    flip bad.tfrecord $((7 * frame + 1))
    truncate -s $((20 * frame - 5)) bad.tfrecord
    headrace verify whole.tfrecord bad.tfrecord
    ends_with 1
    prints "bad.tfrecord:$((3 * frame)): record 3: expected data checksum"
    prints "bad.tfrecord:$((7 * frame)): record 7: expected length checksum"
    prints "corrupt from here on: $frame bytes lost"
    prints "bad.tfrecord:$((19 * frame)): record 19: "
    prints "the file is truncated: $((frame - 5)) bytes lost"
    prints "37 good records in 2 files; 3 damaged places, $((3 * frame - 5)) bytes"
    headrace verify --json bad.tfrecord
    ends_with 1
    prints "{\"file\":\"bad.tfrecord\",\"record\":7,\"offset\":$((7 * frame)),\"length\":$frame,\"kind\":\"tfrecord.length_crc\""
    prints "{\"files\":1,\"records\":17,\"errors\":3,\"damaged_bytes\":$((3 * frame - 5)),\"undecoded_bytes\":0,\"misread\":0}"
}

it_finds_what_follows_a_damaged_gzip_member() {
    records
    gzip -nc whole.tfrecord >one.gz
    cat one.gz one.gz >two.gz
    flip two.gz $(($(stat -c %s one.gz) / 2))
    headrace verify two.gz
    ends_with 1
    headrace repair two.gz -o saved.tfrecord
    ends_with 0
    headrace verify saved.tfrecord
    ends_with 0
    tail -c $((20 * frame)) saved.tfrecord >tail
    same tail whole.tfrecord
}

it_asks_for_the_compression_of_a_file_whose_first_bytes_are_damaged() {
    records
    gzip -nc whole.tfrecord >one
    flip one 1
    headrace repair one -o saved.tfrecord
    says "one: no record was found; if the file is compressed, its first bytes are damaged, too: --input-compression says how"
    headrace verify one
    ends_with 1
    says "--compression says how"
    headrace repair one --input-compression gzip -o saved.tfrecord
    ends_with 0
    same saved.tfrecord whole.tfrecord
    mv one one.gz
    headrace repair one.gz -o by_name.tfrecord
    ends_with 0
    says "one.gz: its first bytes are of no known compression; it is read as gzip, as its name says"
    same by_name.tfrecord whole.tfrecord
    headrace verify one.gz
    ends_with 1
    prints "20 good records in 1 file; 1 damaged place, 0 bytes"
    cp whole.tfrecord plain.gz
    headrace repair plain.gz -o new
    refused 1 "give --input-compression if the file's name says the wrong thing"
}

it_finds_wrong_rows_of_csv() {
    records
    headrace verify --schema people.yaml people.csv
    ends_with 0
    prints "20 good rows in 1 file; nothing is damaged"
    echo 'x,y' >>people.csv
    echo '1,2,3' >>people.csv
    echo ',' >>people.csv # a missing value is none
    headrace verify --schema people.yaml people.csv
    ends_with 1
    prints "people.csv:22: column 'row' (field 0): expected int64, got \"x\""
    prints "people.csv:23: "
    prints "21 good rows in 1 file; 2 damaged places, 10 bytes"
    headrace verify --schema people.yaml people.csv --json
    ends_with 1
    prints '"column":0,"feature":"row","kind":"csv.value","reason":"'
}

it_saves_what_is_good() {
    records
    cp whole.tfrecord bad.tfrecord
    flip bad.tfrecord $((3 * frame + 1))
    head -c $((3 * frame)) whole.tfrecord >want
    tail -c $((16 * frame)) whole.tfrecord >>want
    headrace repair bad.tfrecord -o good.tfrecord --quarantine lost.jsonl
    ends_with 0
    prints "bad.tfrecord:$((3 * frame)): record 3: expected length checksum"
    prints "19 records saved, 1 damaged place with $frame bytes lost, written to good.tfrecord"
    same good.tfrecord want
    [ "$(wc -l <lost.jsonl)" = 1 ] || fail "expected a line of quarantine"
    headrace repair --json bad.tfrecord --output good.tfrecord.gz
    ends_with 0
    prints "{\"records\":19,\"errors\":1,\"lost_bytes\":$frame,\"undecoded_bytes\":0}"
    gzip -dc good.tfrecord.gz | cmp -s - want || fail "expected the same records, compressed"
}

it_repairs_in_place_only_when_told_so() {
    records
    cp whole.tfrecord bad.tfrecord
    flip bad.tfrecord $((3 * frame + 1))
    headrace repair bad.tfrecord
    refused 2 "--output is missing"
    headrace repair bad.tfrecord good.tfrecord
    refused 2 "unexpected argument 'good.tfrecord'"
    headrace repair bad.tfrecord -o bad.tfrecord
    refused 1 "expected another file to write to, got the one that is damaged"
    headrace repair --in-place bad.tfrecord -o other
    refused 2 "--in-place and --output: expected one of them"
    headrace repair --in-place bad.tfrecord
    ends_with 0
    headrace verify bad.tfrecord
    ends_with 0
    prints "19 good records"
    gzip -nc whole.tfrecord >odd.name # stays gzip, whatever it is called
    flip odd.name $(($(stat -c %s odd.name) - 6))
    headrace repair --in-place odd.name
    ends_with 0
    gzip -dc odd.name | cmp -s - whole.tfrecord || fail "expected all records, as gzip"
    before=$(stat -c %i odd.name)
    headrace repair --in-place odd.name # nothing to do
    ends_with 0
    prints "20 records; nothing is damaged"
    [ "$(stat -c %i odd.name)" = "$before" ] || fail "expected the file to be left alone"
}

it_finds_what_is_wrong_with_text_of_any_dialect() {
    printf '1;2\n# a remark\n3;4\n5\n6;7;8\n' >no.csv
    printf 'a;b\n' | cat - no.csv >rows.csv
    headrace verify rows.csv --delimiter ';' --comment '#'
    ends_with 1
    prints "rows.csv:5: expected 2 fields, found 1"
    prints "rows.csv:6: expected 2 fields, found 3"
    prints "; 2 damaged places"
    headrace verify rows.csv --delimiter ';' --comment '#' --fill-short-rows --cut-long-rows
    ends_with 0
    printf '{"a": 1}\n{"a": 2\n' >rows.jsonl
    headrace verify rows.jsonl
    ends_with 1
    prints "rows.jsonl:3:1: expected '}', found the end of the text"
    printf '{"a": 1}\n' | gzip >rows.jsonl.gz
    headrace verify rows.jsonl.gz --json
    ends_with 0
    headrace verify --schema rows.yaml rows.csv
    refused 1 "rows.yaml"
    headrace verify --schema rows.yaml --format tfrecord rows.csv
    refused 2 "--schema: expected CSV or JSON"
}

it_says_what_it_cannot_read() {
    headrace verify none.tfrecord
    refused 1 'none.tfrecord: cannot be opened'
    headrace repair none.tfrecord -o out
    refused 1 'none.tfrecord'
    absent out
}

it_says_what_could_not_be_decompressed() {
    people
    for n in $(seq 3000); do echo "$n,0,1,text $((n * 7919 % 10007))"; done >>people.csv
    headrace convert people.csv -s people.yaml -o sound.tfrecord.gz
    local size=$(stat -c %s sound.tfrecord.gz)
    { head -c 10 sound.tfrecord.gz; head -c 40 /dev/zero | tr '\0' '\377'; tail -c +51 sound.tfrecord.gz; } >bad.tfrecord.gz
    headrace repair bad.tfrecord.gz -o good.tfrecord --json
    ends_with 0
    local undecoded=${out##*undecoded_bytes\":}
    undecoded=${undecoded%\}}
    [ "$undecoded" -gt $((size - 60)) ] && [ "$undecoded" -le "$size" ] || fail "nearly all of $size bytes"
    headrace verify bad.tfrecord.gz
    prints ": 0 bytes lost, and what could not be decompressed"
    prints "1 damaged place, 0 bytes, and the content of "
    prints " compressed bytes that could not be decompressed"
    headrace verify sound.tfrecord.gz --json
    prints '"undecoded_bytes":0'
}

run_tests
