# completion and man: made from the descriptors, so that every command and flag of the help must be found there.
source "$SOURCE/tests/cli/kit.sh"

compopt() { :; } # outside of a completion it only complains

# `completed headrace convert --sch`: what bash would offer for the last word. bash splits words at "=".
completed() {
    local words=() part
    for part in "$@"; do
        case $part in
        --*=*) words+=("${part%%=*}" "=") && [ -n "${part#*=}" ] && words+=("${part#*=}") ;;
        *) words+=("$part") ;;
        esac
    done
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMPREPLY=()
    _headrace
    out="${COMPREPLY[*]}"
}
offers() { [ "$out" = "$1" ] || fail "expected to be offered: $1"; }
completion() {
    headrace completion bash
    ends_with 0
    says_nothing
    source "$scratch/out"
}
all_commands() { "$HEADRACE" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\( [a-z]*\)\{0,1\}\)  .*/\1/p' | sed 's/ *$//'; }

it_completes_commands() {
    completion
    completed headrace conv
    offers "convert"
    completed headrace ev
    offers "evaluate"
    completed headrace ''
    local names=$out
    [ "$(all_commands | wc -l)" -ge 9 ] || fail "the commands of the help"
    for name in $(all_commands | cut -d' ' -f1); do
        case " $names " in *" $name "*) ;; *) fail "$name is not offered" ;; esac
    done
    completed headrace completion ''
    offers "bash zsh fish"
}

it_completes_every_flag_of_every_command() {
    completion
    all_commands >"$scratch/commands"
    while read -r name; do
        for flag in $("$HEADRACE" $name --help | sed -n '/^Flags:/,/^$/s/^  [-a-z0-9, ]\{4\}\(--[a-z0-9_-]*\).*/\1/p'); do
            completed headrace $name "$flag"
            case " $out " in *" $flag "*) ;; *) fail "$flag of $name is not offered" ;; esac
        done
    done <"$scratch/commands"
    completed headrace convert a.csv --sch
    offers "--schema"
    completed headrace convert --xyzzy
    offers ""
}

it_completes_names_of_files_and_folders_where_they_belong() {
    completion
    touch 'the flights.csv' that.csv
    mkdir there
    completed headrace info th
    [ "${#COMPREPLY[@]}" = 3 ] || fail "expected three names"
    completed headrace info 'the '
    offers "the flights.csv"
    completed headrace shuffle that.csv --temp th
    offers "there"
    completed headrace shuffle that.csv --temp=th
    offers "there"
    completed headrace shuffle that.csv --temp=
    offers "there"
    completed headrace convert that.csv --schema that
    offers "that.csv"
    completed headrace convert that.csv --prefix th
    offers ""
}

it_completes_the_names_of_compressions() {
    completion
    completed headrace convert a.csv --compression G
    offers "GZIP"
    completed headrace convert a.csv --compression=n
    offers "none"
}

it_completes_values_that_are_one_of_a_few_words() {
    completion
    completed headrace convert a.csv --to ''
    offers "csv jsonl tfrecord"
    completed headrace count --format=t
    offers "tfrecord"
    completed headrace convert a.csv --on-error ''
    offers "fail skip"
    completed headrace stats a.csv --normalize m
    offers "mean_std min_max"
    completed headrace train a.yaml --estimator linear_c
    offers "linear_classifier"
    completed headrace split --by ''
    offers ""
}

it_is_taken_by_bash_as_a_completion() {
    completion
    [ "$(complete -p headrace)" = "complete -F _headrace headrace" ] || fail "complete -p headrace"
    bash -n "$scratch/out" || fail "a mistake in the script"
    headrace completion sh
    refused 2 'expected bash, zsh or fish, found "sh"'
}

flags_of() { "$HEADRACE" $1 --help | sed -n '/^Flags:/,/^$/s/^  [-a-z0-9, ]\{4\}\(--[a-z0-9_-]*\).*/\1/p'; }

it_is_taken_by_zsh() {
    headrace completion zsh
    ends_with 0
    says_nothing
    cp "$scratch/out" _headrace
    [ "$(head -n 1 _headrace)" = "#compdef headrace" ] || fail "the first line"
    all_commands >"$scratch/commands"
    local name flag part
    while read -r name; do
        part=$(sed -n "/^    '$name\( '\*\|'\))\$/,/ ;;\$/p" _headrace)
        [ -n "$part" ] || fail "$name has no flags"
        for flag in $(flags_of "$name"); do
            [[ $part == *"$flag"[=[}]* ]] || fail "$flag of $name is not there"
        done
    done <"$scratch/commands"
    grep -q "'infer:infers the types of all fields" _headrace || fail "the commands of a group"
    grep -q "'(-o --output)'{-o,--output=}'\[write the schema there; .*\]:FILE:_files'" _headrace || fail "a flag with a letter"
    grep -q "'--from=\[.*\]:FORMAT:(csv jsonl tfrecord)'" _headrace || fail "values that are words"
    grep -q "'1:word:(bash zsh fish)'" _headrace || fail "an argument that is a word"
    command -v zsh >/dev/null || return 0
    zsh -n _headrace || fail "a mistake in the script"
    zsh -fc 'fpath=($PWD $fpath); autoload -U compinit; compinit -u -d dump 2>warnings; [[ $_comps[headrace] = _headrace ]]' ||
        fail "zsh does not take it"
}

it_is_taken_by_fish() {
    headrace completion fish
    ends_with 0
    says_nothing
    cp "$scratch/out" headrace.fish
    all_commands >"$scratch/commands"
    local name flag script
    script=$(<headrace.fish)
    while read -r name; do
        for flag in $(flags_of "$name"); do
            [[ $script == *"complete -c headrace -n '__headrace_is $name' -l ${flag#--} "* ]] || fail "$flag of $name is not there"
        done
    done <"$scratch/commands"
    grep -q "^complete -c headrace -n '__headrace_at 2; and __headrace_is schema' -a infer " headrace.fish || fail "a group"
    grep -q " -l output -s o -r -F -d " headrace.fish || fail "a flag with a file"
    command -v fish >/dev/null || return 0
    fish -n headrace.fish || fail "a mistake in the script"
    mkdir home
    offered() { HOME=$PWD/home fish -N -c "source headrace.fish; complete -C '$1'" | cut -f 1 | tr '\n' ' '; }
    [ "$(offered 'headrace conv')" = "convert " ] || fail "a command"
    [ "$(offered 'headrace schema ')" = "check diff infer " ] || fail "the commands of a group: $(offered 'headrace schema ')"
    [ "$(offered 'headrace convert --outp')" = "--output " ] || fail "a flag"
    [ "$(offered 'headrace convert --to j')" = "jsonl " ] || fail "a word"
}

it_prints_a_manual_page_of_all_commands_and_flags() {
    headrace man
    ends_with 0
    says_nothing
    cp "$scratch/out" headrace.1
    all_commands >"$scratch/commands"
    while read -r name; do
        grep -qx "\.SS headrace $name" headrace.1 || fail "$name is not in the manual page"
        for flag in $("$HEADRACE" $name --help | sed -n '/^Flags:/,/^$/s/^  [-a-z0-9, ]\{4\}--\([a-z0-9_-]*\).*/\1/p' | grep -v help); do
            sed -n "/^\.SS headrace $name\$/,/^\.SS/p" headrace.1 | sed 's/\\-/-/g' | grep -q -- "--.*$flag" ||
                fail "--$flag of $name is not in the manual page"
        done
    done <"$scratch/commands"
    grep -q HEADRACE_THREADS headrace.1 || fail "the manual page does not name HEADRACE_THREADS"
    grep -q '^[.][^A-Z\\a-z]' headrace.1 && fail "a line that troff takes for a request"
    command -v groff >/dev/null || return 0
    groff -man -ww -Tutf8 headrace.1 >page 2>warnings || fail "groff"
    [ ! -s warnings ] || fail "groff: $(cat warnings)"
    sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' page | grep -q "headrace convert flights.csv.gz --schema flights.yaml" ||
        fail "an example in the page"
}

it_has_every_key_of_the_config_file_in_the_manual_page() {
    local keys key
    headrace man
    ends_with 0
    keys=$(sed -n 's/^| `\([a-z0-9_]*\)`.*/\1/p' "$SOURCE/docs/config.md")
    [ "$(printf '%s\n' "$keys" | wc -l)" -gt 40 ] || fail "docs/config.md has few keys: $keys"
    for key in $keys; do
        case $out in *"\\fB$key\\fR"*) ;; *) fail "the manual page lacks the key $key" ;; esac
    done
}

run_tests
