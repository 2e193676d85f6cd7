# Runs an example as its first lines say, with `examples/data` as its folder of data, and compares what it says at the end
# with a regular expression: run_example.sh EXPRESSION PROGRAM [ARGUMENT...].
set -eu
expected=$1
shift
"$@" > told
cat told
grep -Eqx "$expected" told
