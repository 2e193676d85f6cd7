# What the tests of the command share. A test is a function whose name begins with `it_`; `run_tests` runs each in an empty
# folder of its own, in which nothing temporary may be left, and ends with 1 if one failed.
#   HEADRACE: the command; SOURCE: the project's folder
set -u
unset OPENBLAS_CORETYPE TERM
flights_csv=$SOURCE/examples/data/flights.csv.gz
flights_yaml=$SOURCE/examples/flights.yaml

# Runs the command: $code, $out, $err are what came of it.
headrace() {
    code=0
    timeout -k 1 600 "$HEADRACE" "$@" >"$scratch/out" 2>"$scratch/err" || code=$?
    read_results
}
read_results() {
    out=$(tr -d '\0' <"$scratch/out") err=$(tr -d '\0' <"$scratch/err")
}

fail() {
    echo "  FAILED: $*"
    printf '    exit code %s\n' "${code-}"
    printf '%s\n' "${out-}" | sed -n '1,12s/^/    out: /p'
    printf '%s\n' "${err-}" | sed -n '1,12s/^/    err: /p'
    exit 1
}
ends_with() { [ "$code" = "$1" ] || fail "expected exit code $1"; }
says() { case $err in *"$1"*) ;; *) fail "expected on standard error: $1" ;; esac; }
says_nothing() { [ -z "$err" ] || fail "expected nothing on standard error"; }
prints() { case $out in *"$1"*) ;; *) fail "expected on standard output: $1" ;; esac; }
prints_nothing() { [ -z "$out" ] || fail "expected nothing on standard output"; }
# `refused 1 'file.csv:3: ...'`: the exit code, nothing on standard output, the message.
refused() {
    ends_with "$1"
    prints_nothing
    says "$2"
}
same() { cmp -s "$1" "$2" || fail "expected $1 and $2 to be equal"; }
absent() { [ ! -e "$1" ] || fail "expected no $1, found: $(ls -A "$1")"; }
names_in() { (cd "$1" && find . -mindepth 1 | sed 's|^\./||' | sort | tr '\n' ' '); }
holds() { [ "$(names_in "$1")" = "$2" ] || fail "expected in $1: $2; found: $(names_in "$1")"; }

people() { # a small CSV and its schema
    printf 'schema:\n  int64: [row, late]\n  float: [temp]\n  string: [name]\n' >people.yaml
    printf 'row,late,temp,name\n1,0,2.5,anna\n2,1,,"b, ""bob"""\n3,,-1e3,\n' >people.csv
}
# `flights ROWS FOLDER`: the first rows of the flights as shards.
flights() {
    gzip -dc "$flights_csv" 2>/dev/null | head -n "$(($1 + 1))" >"$scratch/flights.csv"
    "$HEADRACE" convert "$scratch/flights.csv" --schema "$flights_yaml" --output "$2" --shards 4 --split row:5 \
        --require late >"$scratch/out" 2>"$scratch/err" || { code=$?; read_results; fail "the flights' shards"; }
}
# The same in the background, as $pid, until `finish` waits for its end.
start() {
    : >"$scratch/err" # now, not when the process gets there: a test may look for its first line
    "$HEADRACE" "$@" >"$scratch/out" 2>"$scratch/err" &
    pid=$!
}
# Waits until a command says yes, or what `start` began has ended by itself: however busy the machine is, a test that kills
# does so where it means to.
wait_until() { until "$@" || ! kill -0 "$pid" 2>/dev/null; do sleep 0.01; done; }
finish() {
    code=0
    wait "$pid" 2>/dev/null || code=$?
    read_results
}

run_tests() {
    local top failures=0 count=0 name folder
    top=$(mktemp -d "${TMPDIR:-/tmp}/headrace-cli.XXXXXX")
    for name in $(declare -F | sed -n 's/^declare -f \(it_.*\)$/\1/p'); do
        folder=$top/$name
        scratch=$top/$name.scratch
        mkdir "$folder" "$scratch"
        count=$((count + 1))
        echo "$name" | tr _ ' '
        if (cd "$folder" && "$name"); then
            left=$(find "$folder" -name '*.tmp')
            [ -z "$left" ] || { echo "  FAILED: temporary files are left: $left"; failures=$((failures + 1)); }
        else
            failures=$((failures + 1))
        fi
        chmod -R u+w "$folder"
    done
    rm -rf "$top"
    echo "$count tests, $failures failed"
    [ "$failures" = 0 ]
}
