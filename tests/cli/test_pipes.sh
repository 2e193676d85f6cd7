# Pipes, which are read once: what goes over its files twice refuses them by what they are, not by a name.
source "$SOURCE/tests/cli/kit.sh"

it_reads_pipes_as_files_where_one_pass_is_enough() {
    people
    headrace convert people.csv -s people.yaml -o people.tfrecord
    headrace convert people.tfrecord -o people.jsonl
    for file in people.csv people.jsonl people.tfrecord; do
        for what in count verify show stats; do
            local schema="-s people.yaml"
            [ $file != people.tfrecord ] && [ $what != count ] || schema=
            headrace $what $file $schema
            ends_with 0
            local all=$out
            exec 5< <(cat $file) # another name, which says nothing of the format
            headrace $what /dev/fd/5 --format ${file#people.} $schema
            exec 5<&-
            ends_with 0
            [ "$(printf '%s' "$out" | sed 's|/dev/fd/5||; s/read in.*//')" = "$(printf '%s' "$all" | sed "s|$file||; s/read in.*//")" ] ||
                fail "$what of a pipe and of $file, which has: $all"
        done
    done
    headrace convert <(cat people.tfrecord) --from tfrecord -s people.yaml -o back.csv
    ends_with 0
    headrace convert people.tfrecord -s people.yaml -o same.csv
    same same.csv back.csv
    headrace merge <(cat people.tfrecord) <(cat people.tfrecord) -o twice.tfrecord
    prints "6 records of 2 files"
}

it_refuses_a_pipe_that_would_be_read_twice() {
    people
    headrace convert people.csv -s people.yaml -o people.tfrecord
    code=0
    printf '{"i":1}\n' | "$HEADRACE" convert /dev/stdin --from jsonl -o z.csv >"$scratch/out" 2>"$scratch/err" || code=$?
    read_results
    refused 1 "/dev/stdin: expected a file, which can be read twice, found a pipe or a device, which is read once; give --schema"
    absent z.csv
    mkfifo pipe
    for what in stats verify show head "grep row>1"; do
        timeout -k 1 60 cat people.csv >pipe 2>/dev/null &
        headrace $what pipe --format csv
        refused 1 "pipe: expected a file, which can be read twice"
        kill $! 2>/dev/null
    done
    headrace convert <(cat people.tfrecord) --from tfrecord -o z.csv
    refused 1 "expected a file, which can be read twice"
    headrace split <(cat people.tfrecord) --exact --shares 0.5,0.5 -o a.tfrecord,b.tfrecord
    refused 1 "leave --exact out or copy it to a file"
    headrace convert <(cat people.csv) -s people.yaml -o out --resume
    refused 1 "leave --resume out or copy it to a file"
    holds . "people.csv people.tfrecord people.yaml pipe "
}

it_writes_records_alone_to_standard_output_by_whatever_name() {
    people
    headrace convert people.csv -s people.yaml -o whole.tfrecord
    local name
    for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1; do
        "$HEADRACE" convert people.csv -s people.yaml --to tfrecord -o "$name" 2>/dev/null | cat >piped.tfrecord
        same whole.tfrecord piped.tfrecord
        "$HEADRACE" merge whole.tfrecord -o "$name" 2>/dev/null | cat >piped.tfrecord
        same whole.tfrecord piped.tfrecord
        "$HEADRACE" repair whole.tfrecord -o "$name" 2>/dev/null | cat >piped.tfrecord
        same whole.tfrecord piped.tfrecord
        "$HEADRACE" grep 'row>0' whole.tfrecord -o "$name" 2>/dev/null | cat >piped.tfrecord
        same whole.tfrecord piped.tfrecord
    done
}

it_names_the_file_that_may_not_grow() {
    people
    yes 4,1,1.5,dora | head -n 20000 >>people.csv
    code=0
    (ulimit -f 8 && "$HEADRACE" convert people.csv -s people.yaml -o out) >"$scratch/out" 2>"$scratch/err" || code=$?
    read_results
    ends_with 1
    says "cannot be written: File too large"
    absent out
}

it_keeps_rejected_rows_in_a_pipe() {
    people
    printf '4,x,1,y\n' >>people.csv
    mkfifo pipe
    cat pipe >kept &
    headrace convert people.csv -s people.yaml -o people.tfrecord --rejects pipe
    ends_with 0
    wait $!
    grep -q '"line":5' kept || fail "the rejected row"
    rm pipe
}

# Nobody writes into the pipe, or reads from it: a signal ends the wait.
it_ends_a_wait_for_a_pipe() {
    people
    mkfifo pipe
    for way in "pipe -s people.yaml -o out" "people.csv -s pipe -o out" "people.csv -s people.yaml --to csv -o pipe"; do
        for signal in TERM INT; do
            start convert $way
            wait_until catches_signals
            kill -$signal $pid
            timeout 60 tail --pid=$pid -f /dev/null || kill -9 $pid
            finish
            refused 130 "headrace convert: interrupted"
        done
    done
    absent out
}
# Whoever reads takes nothing: one signal ends the wait in a full pipe.
it_ends_a_wait_for_a_sleeping_reader() {
    people
    for n in $(seq 20000); do echo "$n,0,1,some text that fills the pipe"; done >>people.csv
    mkfifo pipe
    sleep 600 <pipe &
    reader=$!
    start convert people.csv -s people.yaml --to csv -o pipe
    wait_until catches_signals
    sleep 0.5
    kill -TERM $pid
    timeout 60 tail --pid=$pid -f /dev/null || kill -9 $pid
    finish
    kill $reader
    refused 130 "headrace convert: interrupted"
    headrace convert people.csv -s people.yaml -o people.tfrecord
    for what in "show people.csv -s people.yaml" "head -n 99999 people.tfrecord" "grep row>=0 people.tfrecord" \
        "vocab people.tfrecord -f row"; do
        sleep 600 <pipe &
        reader=$!
        : >"$scratch/out"
        "$HEADRACE" $what >pipe 2>"$scratch/err" &
        pid=$!
        wait_until catches_signals
        sleep 0.5
        kill -TERM $pid
        timeout 60 tail --pid=$pid -f /dev/null || kill -9 $pid
        finish
        kill $reader
        refused 130 ": interrupted"
    done
}
# As in "headrace show FILE | head": the exit code is the command's own, not that of SIGPIPE.
it_ends_well_when_a_reader_leaves() {
    people
    for n in $(seq 20000); do echo "$n,0,1,some text that fills the pipe"; done >>people.csv
    headrace convert people.csv -s people.yaml -o people.tfrecord
    for what in "show people.csv" "show people.tfrecord" "grep row>=0 people.tfrecord" \
        "head -n 99999 people.tfrecord" "convert people.csv --to jsonl -o -" "vocab people.tfrecord -f row"; do
        code=0
        { "$HEADRACE" $what 2>"$scratch/err" || echo $? >"$scratch/code"; } | head -n 1 >/dev/null
        [ ! -e "$scratch/code" ] || fail "$what: ended with $(cat "$scratch/code")"
    done
}
catches_signals() { [ $((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$pid/status) >> 14 & 1)) = 1 ]; } # SIGTERM is 15

run_tests
