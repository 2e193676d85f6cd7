# Runs an example in the current folder, and compares the line that it says with a regular expression:
# run_example.sh EXPRESSION PROGRAM [ARGUMENT...]
set -eu
expected=$1
shift
"$@" > told
cat told
grep -Eqx "$expected" told
