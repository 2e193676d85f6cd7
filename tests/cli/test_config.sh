# Every mistake in a training file has its line, its column, and a suggestion where there is one.
source "$SOURCE/tests/cli/kit.sh"

# `wrong 's/old/new/' MESSAGE`: the example with one change; the place is where the change was made.
wrong() {
    sed "$1" "$flights_yaml" >f.yaml
    cmp -s f.yaml "$flights_yaml" && fail "the example has changed: $1"
    headrace train f.yaml --data none --model-dir model
    refused 1 "f.yaml:"
    says "$2"
    local line
    line=$(diff "$flights_yaml" f.yaml | sed -n 's/^\([0-9]*\).*/\1/p' | head -n 1)
    [ -z "${3-}" ] || line=$3
    case $err in *"f.yaml:$line:"[0-9]*) ;; *) fail "expected the place f.yaml:$line:COLUMN" ;; esac
    absent model
}

it_refuses_mistakes_at_the_top() {
    wrong 's/^model:/modle:/' "unknown key 'modle'; did you mean 'model'?"
    wrong 's/^  label: late/  label: }/' "expected YAML"
    printf 'schema:\n  int64: [a]\n  label: a\n' >f.yaml
    headrace train f.yaml
    refused 1 "expected the key 'columns'"
    : >f.yaml
    headrace train f.yaml
    refused 1 "f.yaml"
    mkdir folder
    headrace train folder
    refused 1 "folder: "
    headrace train none.yaml
    refused 1 "none.yaml: cannot be opened: No such file or directory"
}

it_refuses_mistakes_in_the_schema() {
    wrong 's/^  float: \[/  flaot: [/' "schema: unknown key 'flaot'; did you mean 'float'?"
    wrong 's/label: late/label: lat/' "'lat'; did you mean 'late'?"
    wrong 's/{temp: 57.0073, dewp/{temp: warm, dewp/' "temp"
    wrong 's/{temp: 57.0073, dewp/{tmep: 57.0073, dewp/' "'tmep'; did you mean 'temp'?"
    wrong 's/weekday, hour\]/weekday, hour, hour]/' "hour"
}

it_refuses_mistakes_in_the_columns() {
    wrong 's/temp: {numeric: temp,/temp: {numeric: tmep,/' "'tmep'; did you mean 'temp'?"
    wrong 's/dest: {hash_bucket: 256}/dest: {hash_buckt: 256}/' "did you mean 'hash_bucket'?"
    wrong 's/dest: {hash_bucket: 256}/dest: {hash_bucket: many}/' "\"many\""
    wrong 's/month: {identity: 13}/month: {identity: 0}/' "month"
    wrong 's/\[20, 30, 40, 50,/[20, 30, 30, 50,/' "temp_b"
    wrong 's/origin_x_hour: {crossed: \[origin, column hour\]/origin_x_hour: {crossed: [origin, column huor]/' "huor"
}

it_refuses_mistakes_in_the_model() {
    wrong 's/estimator: dnn_linear_combined_classifier/estimator: dnn_linear_combined/' "did you mean"
    wrong 's/dnn_hidden_units: \[128, 64\]/dnn_hiden_units: [128, 64]/' "unknown key 'dnn_hiden_units'; did you mean 'dnn_hidden_units'?"
    wrong 's/dnn_hidden_units: \[128, 64\]/dnn_hidden_units: [128, -64]/' "-64"
    wrong 's/dnn_hidden_units: \[128, 64\]/dnn_hidden_units: 128/' "dnn_hidden_units: expected"
    wrong 's/{ftrl: {learning_rate: 0.2}}/{ftlr: {learning_rate: 0.2}}/' "ftlr"
    wrong 's/{ftrl: {learning_rate: 0.2}}/{ftrl: {learning_rat: 0.2}}/' "did you mean 'learning_rate'?"
    wrong 's/{ftrl: {learning_rate: 0.2}}/{ftrl: {learning_rate: fast}}/' "\"fast\""
    wrong 's/indicator origin,/indicator orign,/' "did you mean 'origin'?"
    wrong 's/estimator: dnn_linear_combined_classifier/&\n  warm_start_from: {ckpt_to_initialize: old}/' \
        "did you mean 'ckpt_to_initialize_from'?" 54
    wrong 's/estimator: dnn_linear_combined_classifier/estimator: rnn_clasifier/' "did you mean 'rnn_classifier'?"
    wrong 's/linear_feature_columns: \[origin, carrier,/linear_feature_columns: [origin, carier,/' "did you mean 'carrier'?"
}

it_refuses_mistakes_in_train() {
    wrong 's/batch_size: 256/bach_size: 256/' "train: unknown key 'bach_size'; did you mean 'batch_size'?"
    wrong 's/batch_size: 256/batch_size: 0/' "train.batch_size: expected a whole number from 1"
    wrong 's/batch_size: 256/batch_size: big/' "\"big\""
    wrong 's/epochs: 5/epochs: [5]/' "train.epochs: expected"
    wrong 's/^  files: .*$/  seed: 2/' "expected each key once, found 'seed' twice" "$(grep -n '^  seed' "$flights_yaml" | cut -d : -f 1)"
    wrong 's/^  files: .*$//' "expected a key 'files'" "$(($(grep -n '^train:' "$flights_yaml" | cut -d : -f 1) + 2))"
}

it_says_what_a_file_without_eval_files_lacks() {
    sed '/eval_files/d' "$flights_yaml" >f.yaml
    for command in evaluate predict; do
        headrace $command f.yaml --data none --model-dir model
        refused 1 "train: expected a key 'eval_files': the rows to $command"
    done
}

it_refuses_data_that_is_not_there_before_it_makes_a_folder() {
    for command in train evaluate bench predict; do
        headrace $command "$flights_yaml" --data none --model-dir model
        ends_with 1
        absent model
    done
    headrace train "$flights_yaml" --data none --model-dir model
    refused 1 'expected files that match "none/train-*.tfrecord", got none'
    mkdir model
    flights 100 data
    headrace evaluate "$flights_yaml" --data data --model-dir model
    refused 1 "model: expected a trained model, found no checkpoint"
}

run_tests
