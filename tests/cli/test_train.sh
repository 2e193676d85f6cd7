# train, evaluate, predict, bench: a training that is stopped at any time goes on as if nothing had happened; one that
# would not be the same any more is refused.
. "$SOURCE/tests/cli/kit.sh"

trains() { headrace train "$flights_yaml" --data data --model-dir "$@"; }
# What a model says of the test rows, with all digits.
judgement() { "$HEADRACE" evaluate "$flights_yaml" --data data --json --model-dir "$@"; }
# Starts a training and interrupts it `$1` seconds after its first step. (Before the command is ready for it, a signal is lost:
# the shell has background processes ignore it.)
interrupts() {
    local wait=$1 model=$2
    shift 2
    start train "$flights_yaml" --data data --model-dir "$model" "$@"
    while kill -0 $pid 2>/dev/null && ! grep -q 'step = ' "$scratch/err"; do sleep 0.02; done
    sleep "$wait"
    kill -INT $pid 2>/dev/null
    finish
}
# All files that a checkpoint state names are there, and are read.
is_whole() {
    local prefix
    for prefix in $(sed -n 's/^all_model_checkpoint_paths: "\(.*\)"$/\1/p' "$1/checkpoint"); do
        [ -e "$1/$prefix.index" ] && [ -e "$1/$prefix.data-00000-of-00001" ] || fail "$prefix is not whole"
    done
}

it_trains_evaluates_and_says_when_there_is_nothing_left_to_do() {
    flights 2000 data
    trains model --epochs 1 --batch-size 64
    ends_with 0
    prints "ended at step 25, model/model.ckpt-25"
    is_whole model
    trains model --epochs 1 --batch-size 64
    ends_with 0
    prints "The training in model has already ended, at step 25; there is nothing to do."
    trains model --epochs 1 --batch-size 64 --json
    prints '{"first_step":25,"last_step":25,"finished":true,"resumed":true,"loss":null,'
    headrace evaluate "$flights_yaml" -d data -m model
    ends_with 0
    prints "auc "
    prints "global_step                    25"
    headrace evaluate "$flights_yaml" -d data -m model --json --at-least auc=0.1 --at-most auc=1
    ends_with 0
    prints '"global_step":25}'
    headrace evaluate "$flights_yaml" -d data -m model --at-least auc=1.01
    ends_with 1
    prints "auc "
    says "expected at least 1.01"
    headrace predict "$flights_yaml" -d data -m model
    ends_with 0
    [ "$(printf '%s\n' "$out" | wc -l)" = "$("$HEADRACE" info --json 'data/test-*' | sed 's/.*"records":\([0-9]*\),"record_b.*/\1/')" ] ||
        fail "a line for each record"
}

it_goes_on_with_more_epochs_or_steps() {
    flights 2000 data
    trains whole --epochs 3 --batch-size 64 # 75 steps, or 74 and a short batch at the end of each epoch
    ends_with 0
    trains many --epochs 9223372036854775807 --steps 1 --batch-size 64
    ends_with 0
    trains parts --epochs 1 --batch-size 64
    prints "ended at step 25"
    trains parts --epochs 1 --batch-size 64
    prints "Larger --epochs or --steps continue it."
    trains parts --epochs 2 --batch-size 64
    ends_with 0
    prints "resumed; 25 steps"
    trains parts --epochs 1 --batch-size 64 # what was trained stays
    ends_with 0
    prints "has already ended, at step 50"
    trains parts --steps 60 --batch-size 64
    ends_with 0
    prints "ended at step 60"
    trains parts --steps 60 --batch-size 64
    prints "has already ended, at step 60"
    trains parts --steps 1000 --epochs 3 --batch-size 64
    ends_with 0
    prints "ended at step 75"
    is_whole parts
}

it_is_not_held_up_by_a_training_that_failed_before_its_first_step() {
    flights 1000 data
    cp data/train-00001-of-00004.tfrecord kept
    local file
    for file in data/train-*; do printf '\x55\xaa' | dd of="$file" bs=1 seek=4 conv=notrunc 2>/dev/null; done
    trains model
    refused 1 "data/train-0000"
    rm data/train-*
    cp kept data/train-one.tfrecord
    sed 's/dnn_hidden_units: \[128, 64\]/dnn_hidden_units: [16]/' "$flights_yaml" >other.yaml
    headrace train other.yaml -d data -m model --epochs 1 --batch-size 32
    ends_with 0
    prints "ended at step"
}

it_predicts_records_without_labels() {
    flights 500 data
    trains model --epochs 1
    local late=$(sed -n 1p "$scratch/flights.csv" | tr , '\n' | grep -nx late | cut -d: -f1)
    cut -d, --complement -f$late "$scratch/flights.csv" >unlabelled.csv
    headrace convert "$scratch/flights.csv" --schema "$flights_yaml" --require late -o labelled.tfrecord
    headrace convert unlabelled.csv --schema "$flights_yaml" -o plain.tfrecord
    ends_with 0
    says "unlabelled.csv: there is no column 'late', the schema's label; its rows are without one"
    "$HEADRACE" predict "$flights_yaml" -d data -m model labelled.tfrecord >labelled.txt 2>"$scratch/err"
    headrace predict "$flights_yaml" -d data -m model plain.tfrecord
    ends_with 0
    [ "$(printf '%s\n' "$out" | wc -l)" = 500 ] || fail "a line for each record"
    [ "$(printf '%s\n' "$out" | head -n 20)" = "$(head -n 20 labelled.txt)" ] || fail "the same rows, the same numbers"
    headrace predict "$flights_yaml" -d data -m model 'data/test-*'
    ends_with 0
    printf '%s\n' "$out" >given
    "$HEADRACE" predict "$flights_yaml" -d data -m model 2>"$scratch/err" >by_file
    same given by_file
    headrace predict "$flights_yaml" -d data -m model nowhere.tfrecord
    refused 1 "nowhere.tfrecord"
    headrace evaluate "$flights_yaml" -d data -m model plain.tfrecord
    ends_with 2
}

# Some rows with labels of several kinds, their records and their JSON, and a config of a linear model.
rows_of_kinds() {
    awk 'BEGIN { srand(1); print "id,x,kind,two,n,w,day"
        for (i = 0; i < 240; i++) { x = i * 7 % 30 / 10
            printf "%d,%.1f,%s,%s,%d,%.2f,2013-01-%02d\n", i, x, (x < 1 ? "low" : x < 2 ? "mid" : "high"),
                (x > 1.45 ? "yes" : "no"), x * 2, 1 + i % 3, i % 28 + 1 } }' >rows.csv
    cat >kinds.yaml <<END
schema:
  int64: [id, n]
  float: [x, w]
  string: [kind, two, day]
  label: kind
columns:
  steps: {bucketized: x, boundaries: [0.5, 1, 1.5, 2, 2.5]}
model:
  estimator: linear_classifier
  linear_feature_columns: [steps]
  label_vocabulary: [low, mid, high]
train:
  files: rows.csv
  eval_files: rows.csv
  batch_size: 16
  epochs: 4
  seed: 1
END
}

it_trains_on_csv_and_json_as_on_their_records() {
    rows_of_kinds
    headrace convert rows.csv --schema kinds.yaml -o rows.tfrecord
    headrace convert rows.csv --schema kinds.yaml -o rows.jsonl
    ends_with 0
    tr , ';' <rows.csv >rows.txt
    headrace train kinds.yaml -m of_csv
    ends_with 0
    prints "ended at step 60"
    headrace predict kinds.yaml -m of_csv --columns id,probabilities -o csv.csv
    ends_with 0
    for name in rows.tfrecord rows.jsonl; do
        headrace train kinds.yaml -m "of_$name" --set "train.files=$name"
        ends_with 0
        headrace predict kinds.yaml -m "of_$name" --columns id,probabilities --set "train.eval_files=$name" -o other.csv
        ends_with 0
        same csv.csv other.csv
    done
    headrace train kinds.yaml -m of_txt --set train.files=rows.txt --set train.format=csv --set 'train.csv={delimiter: ;}'
    ends_with 0
    headrace predict kinds.yaml -m of_txt --columns id,probabilities -o other.csv
    same csv.csv other.csv
    printf '300,x,low,no,0,1,\n' >>rows.csv
    headrace train kinds.yaml -m wrong
    refused 1 "rows.csv:242: "
    says "column 'x'"
}

it_leaves_out_rows_only_where_it_is_told() {
    rows_of_kinds
    printf '300,1.5,,no,0,1,\n' >>rows.csv
    headrace train kinds.yaml -m model
    refused 1 "'kind'"
    headrace train kinds.yaml -m model2 --set train.require=kind
    ends_with 0
    headrace evaluate kinds.yaml -m model2 --set train.require=[kind] --json
    prints '"rows":240,'
}

it_trains_evaluates_and_predicts_labels_that_are_words() {
    rows_of_kinds
    headrace train kinds.yaml -m model
    ends_with 0
    headrace evaluate kinds.yaml -m model --at-least accuracy=0.99 --json
    ends_with 0
    prints '"accuracy":1.0,"average_loss":0.'
    prints '"rows":240,"global_step":60}'
    headrace evaluate kinds.yaml -m model --at-least auc=0.5
    ends_with 2
    says "there is no figure 'auc'"
    headrace predict kinds.yaml -m model
    ends_with 0
    [ "$(printf '%s\n' "$out" | head -n 3 | tr '\n' ' ')" = "low low mid " ] || fail "the classes"
    head -n 6 rows.csv >few.csv
    headrace evaluate kinds.yaml -m model --files few.csv --json
    prints '"rows":5,'
    headrace predict kinds.yaml -m model few.csv --columns id,day,classes,class_ids --to jsonl
    ends_with 0
    prints '{"class_ids": 0, "classes": "low", "day": "2013-01-01", "id": 0}'
    headrace predict kinds.yaml -m model few.csv --columns id,classes,probabilities --to tfrecord -o out.tfrecord
    ends_with 0
    headrace show out.tfrecord -n 1
    prints '"probabilities": ['
    headrace predict kinds.yaml -m model few.csv --columns id,class
    refused 1 "--columns: expected fields of the schema and predictions, found 'class'"
    headrace predict kinds.yaml -m model few.csv --columns id --to xml
    refused 1 "--to: expected csv, jsonl or tfrecord"
    headrace predict kinds.yaml -m model --set train.format=csv - --columns classes <few.csv
    ends_with 0
    headrace predict kinds.yaml -m model --set train.format=csv - --columns id,classes <few.csv
    refused 1 "-:"
    says "leave fields out of --columns"
    sed 's/,kind,/,/; s/,low,/,/; s/,mid,/,/; s/,high,/,/' few.csv >unlabelled.csv
    headrace predict kinds.yaml -m model unlabelled.csv
    ends_with 0
}

it_weighs_rows_by_class_and_column() {
    rows_of_kinds
    sed 's/label: kind/label: two/; s/label_vocabulary: .*/label_vocabulary: [no, yes]/' kinds.yaml >two.yaml
    headrace train two.yaml -m plain
    headrace evaluate two.yaml -m plain --json
    prints '"label/mean":0.5,'
    set -- --set 'model.class_weights={yes: 3}'
    headrace train two.yaml -m weighted "$@"
    ends_with 0
    headrace evaluate two.yaml -m weighted --json "$@"
    prints '"label/mean":0.75,' # 3 / (3 + 1)
    set -- "$@" --set model.weight_column=w
    headrace train two.yaml -m both "$@"
    headrace evaluate two.yaml -m both --json "$@"
    prints '"label/mean":0.75'
    headrace train two.yaml -m none --set 'model.class_weights={maybe: 3}'
    refused 1 'expected a word of label_vocabulary, found "maybe"'
}

it_trains_regressors_and_models_with_a_head() {
    rows_of_kinds
    sed 's/label: kind/label: n/; /label_vocabulary/d' kinds.yaml >n.yaml
    headrace train n.yaml -m regressor --estimator linear_regressor --set train.learning_rate=0.5
    ends_with 0
    headrace evaluate n.yaml -m regressor --estimator linear_regressor --set train.learning_rate=0.5 \
        --at-most average_loss=0.3
    ends_with 0
    headrace train n.yaml -m counts --estimator linear_estimator --set model.head=poisson_regression
    ends_with 0
    headrace predict n.yaml -m counts --estimator linear_estimator --set model.head=poisson_regression --columns n,predictions
    ends_with 0
    prints "n,predictions"
    headrace train n.yaml -m baseline --estimator baseline_regressor
    ends_with 0
    headrace train n.yaml -m counts --estimator linear_estimator
    refused 1 "expected the key 'head'"
}

it_reads_derived_features() {
    rows_of_kinds
    cat >derived.yaml <<END
schema:
  int64: [id]
  float: [x, w]
  string: [two, day]
  label: two
derived:
  share: {ratio: [x, w]}
  heavy: {at_least: [w, 2]}
  weekday: {weekday: day}
columns:
  share: {numeric: share}
  heavy: {identity: 2}
  weekday: {identity: 7}
  steps: {bucketized: x, boundaries: [0.5, 1, 1.5, 2, 2.5]}
model:
  estimator: linear_classifier
  linear_feature_columns: [share, heavy, weekday, steps]
  label_vocabulary: [no, yes]
train: {files: rows.csv, eval_files: rows.csv, batch_size: 16, epochs: 2, seed: 1}
END
    headrace train derived.yaml -m model
    ends_with 0
    headrace evaluate derived.yaml -m model --at-least auc=0.9
    ends_with 0
    headrace predict derived.yaml -m model --columns day,weekday,heavy,classes
    ends_with 0
    prints "2013-01-01,1,0,no" # a Tuesday
    headrace train derived.yaml -m other --set 'derived.share={ratio: [x, v]}'
    ends_with 1
    says '--set "derived.share'
}

it_takes_values_for_those_of_the_file() {
    rows_of_kinds
    headrace train kinds.yaml -m model --set train.batch_size=60 --set train.epochs=1 --json
    ends_with 0
    prints '"last_step":4,'
    prints '"batch_size":60,'
    for command in train evaluate predict bench explain; do
        headrace $command kinds.yaml --set train.batchsize=1
        refused 1 "--set \"train.batchsize=1\": unknown key 'batchsize'; did you mean 'batch_size'?"
    done
    headrace train kinds.yaml --set train.batch_size
    refused 1 'expected KEY.PATH=VALUE'
    headrace train kinds.yaml -m model --set train.batch_size=60 --set train.epochs=2 --set 'model.linear_optimizer=sgd'
    refused 1 'this one has'
    printf 'pipeline:\n  - range: 10\n  - batch: 2\n' >pipe.yaml
    headrace bench pipe.yaml --set 'pipeline[1].batch=5' --json
    ends_with 0
    prints '{"rows":10,"batches":2,'
}

it_trains_each_kind_of_classifier() {
    flights 1000 data
    for kind in linear_classifier dnn_classifier; do
        trains $kind --estimator $kind --epochs 1
        ends_with 0
        prints "ended at step 3"
        headrace evaluate "$flights_yaml" -d data -m $kind --estimator $kind
        ends_with 0
        prints "log_loss"
    done
}

it_goes_on_after_ctrl_c_as_if_nothing_had_happened() {
    flights 20000 data
    trains whole --epochs 1 --batch-size 64
    ends_with 0
    local wait stopped=0
    for wait in 0 0.13 0.29 0.07 0.41 0.19; do
        interrupts $wait parts --epochs 1 --batch-size 64
        is_whole parts
        if [ "$code" = 0 ]; then
            [ $stopped = 0 ] || break
            rm -r parts # it was faster: once more from the beginning
            continue
        fi
        ends_with 130
        prints "stopped at step"
        prints "The same command continues from there."
        stopped=$((stopped + 1))
    done
    [ $stopped -gt 0 ] || fail "the training was never stopped"
    trains parts --epochs 1 --batch-size 64
    ends_with 0
    judgement whole --batch-size 64 >whole.json
    judgement parts --batch-size 64 >parts.json
    same whole.json parts.json
    "$HEADRACE" predict "$flights_yaml" -d data -m whole >whole.txt 2>"$scratch/err"
    "$HEADRACE" predict "$flights_yaml" -d data -m parts >parts.txt 2>"$scratch/err"
    same whole.txt parts.txt
}

has_saved_step() {
    local last
    last=$(sed -n 's/^model_checkpoint_path: ".*-\([0-9]*\)"$/\1/p' killed/checkpoint 2>/dev/null)
    [ "${last:--1}" -ge "$1" ]
}

it_goes_on_from_the_last_checkpoint_after_a_kill() {
    flights 5000 data
    sed 's/^  seed: 1$/  seed: 1\n  save_checkpoints_steps: 7/' "$flights_yaml" >often.yaml
    headrace train often.yaml --data data --model-dir whole --epochs 2
    ends_with 0
    for step in 0 7 14 28; do
        start train often.yaml --data data --model-dir killed --epochs 2
        wait_until has_saved_step $step
        kill -KILL $pid 2>/dev/null
        finish
        [ ! -e killed/checkpoint ] || is_whole killed
    done
    headrace train often.yaml --data data --model-dir killed --epochs 2
    ends_with 0
    is_whole killed
    judgement whole >whole.json
    judgement killed >killed.json
    same whole.json killed.json
    "$HEADRACE" predict "$flights_yaml" -d data -m whole >whole.txt 2>"$scratch/err"
    "$HEADRACE" predict "$flights_yaml" -d data -m killed >killed.txt 2>"$scratch/err"
    same whole.txt killed.txt
}

it_takes_the_newest_whole_checkpoint_and_says_so() {
    flights 2000 'data[1]'
    sed 's/^  seed: 1$/  seed: 1\n  save_checkpoints_steps: 10/' "$flights_yaml" >often.yaml
    again() { headrace train often.yaml --data 'data[1]' --model-dir 'm[12]' --epochs 1 --batch-size 64; }
    mkdir m1
    touch m1/model.ckpt-0.index
    again
    ends_with 0
    "$HEADRACE" predict often.yaml -d 'data[1]' -m 'm[12]' >whole.txt 2>"$scratch/err"
    rm 'm[12]/model.ckpt-25.data-00000-of-00001'
    headrace evaluate often.yaml -d 'data[1]' -m 'm[12]'
    ends_with 0
    prints "global_step                    20"
    says "m[12]/model.ckpt-25 is incomplete"
    says "m[12]/model.ckpt-20 is the newest complete checkpoint"
    again
    ends_with 0
    prints "resumed; 5 steps"
    says "m[12]/model.ckpt-20 is the newest complete checkpoint"
    says "renamed to m[12]/model.ckpt-25.index.aside"
    "$HEADRACE" predict often.yaml -d 'data[1]' -m 'm[12]' >again.txt 2>"$scratch/err"
    same whole.txt again.txt
    truncate -s 10 'm[12]/'model.ckpt-*.index
    again
    refused 1 "m[12]: expected a complete checkpoint, found only parts"
    [ -e m1/model.ckpt-0.index ] || fail "a file of another model is gone"
}

it_learns_from_features_whose_names_have_blanks() {
    {
        echo 'mean radius,"mean texture (se)",worst/area,_kind of,diag nosis'
        for i in $(seq 1 96); do echo "$((10 + i % 9)).5,$((i % 5)).25,$((i * 3)),k$((i % 3)),$((i % 9 > 4))"; done
    } >cells.csv
    cat >cells.yaml <<END
schema:
  float: [mean radius, mean texture (se), worst/area]
  string: [_kind of]
  int64: [diag nosis]
  label: diag nosis
columns:
  mean radius: {numeric: mean radius, mean: 14, std: 2}
  mean texture (se): {numeric: mean texture (se)}
  worst/area: {numeric: worst/area, mean: 150, std: 90}
  _kind of: {vocabulary_list: [k0, k1, k2]}
  radius by two: {bucketized: mean radius, boundaries: [12, 14, 16]}
  cross of both: {crossed: [_kind of, column radius by two], hash_bucket_size: 16}
model:
  estimator: dnn_linear_combined_classifier
  linear_feature_columns: [_kind of, radius by two, cross of both]
  linear_optimizer: {ftrl: {learning_rate: 0.5}}
  dnn_optimizer: {adagrad: {learning_rate: 0.2}}
  dnn_feature_columns: [mean radius, mean texture (se), worst/area, indicator _kind of, {embedding: _kind of, dimension: 2}]
  dnn_hidden_units: [8]
train:
  files: cells.tfrecord
  eval_files: cells.tfrecord
  batch_size: 8
  epochs: 30
  seed: 1
END
    headrace convert cells.csv --schema cells.yaml -o cells.tfrecord
    ends_with 0
    headrace train cells.yaml -m model
    ends_with 0
    headrace evaluate cells.yaml -m model --at-least auc=0.9
    ends_with 0
}

it_refuses_labels_of_other_classes() {
    printf 'schema:\n  float: [x]\n  int64: [y]\n  label: y\ncolumns:\n  x: {numeric: x}\nmodel:\n' >two.yaml
    printf '  estimator: linear_classifier\n  linear_feature_columns: [x]\n' >>two.yaml
    printf 'train:\n  files: rows.tfrecord\n  eval_files: rows.tfrecord\n' >>two.yaml
    printf 'x,y\n1.5,0\n2.5,1\n' >rows.csv
    headrace convert rows.csv --schema two.yaml -o rows.tfrecord
    headrace train two.yaml -m model
    ends_with 0
    printf 'x,y\n1.5,0\n2.5,1\n3.5,-3\n' >rows.csv
    headrace convert rows.csv --schema two.yaml -o rows.tfrecord
    headrace train two.yaml -m other
    refused 1 "record 2: label 'y': expected 0 or 1"
    says "rows.tfrecord:"
    says "found -3"
    headrace evaluate two.yaml -m model
    refused 1 "record 2: label 'y': expected 0 or 1"
    sed 's/float: .x./string: [y]/; s/int64: .y./float: [x]/' two.yaml >text.yaml
    headrace train text.yaml -m text
    refused 1 "text.yaml:4:10: schema.label: expected a field of numbers, but 'y' is a string; name its classes in model.label_vocabulary"
    absent text
}

it_refuses_to_go_on_with_another_config() {
    flights 2000 data
    interrupts 0 model --epochs 100000
    ends_with 130
    trains model --epochs 100000 --batch-size 64
    refused 1 'it had "batch_size=256", this one has "batch_size=64"'
    trains model --epochs 100000 --seed 5
    refused 1 'it had "seed=1", this one has "seed=5"'
    trains model --epochs 100000 --estimator linear_classifier
    refused 1 'this one has "estimator=linear_classifier"'
    sed 's/dnn_hidden_units: \[128, 64\]/dnn_hidden_units: [128, 32]/' "$flights_yaml" >other.yaml
    headrace train other.yaml --data data --model-dir model --epochs 100000
    refused 1 'model.dnn_hidden_units[1]=64'
    says 'model.dnn_hidden_units[1]=32'
}

it_refuses_to_go_on_with_other_data() {
    flights 2000 data
    interrupts 0 model --epochs 100000
    ends_with 130
    cp -a data kept
    cp data/train-00001-of-00004.tfrecord data/train-00002-of-00004.tfrecord
    trains model --epochs 100000
    refused 1 "file 'data/train-00002-of-00004.tfrecord' has changed"
    rm data/train-00002-of-00004.tfrecord
    trains model --epochs 100000
    refused 1 "data/train-00002-of-00004.tfrecord"
    rm -r data
    mv kept data
    interrupts 0 model --epochs 100000
    ends_with 130
    prints "resumed"
}

it_names_file_record_and_offset_of_damaged_data() {
    flights 2000 data
    trains model --epochs 1
    local file=data/train-00002-of-00004.tfrecord
    cp -a $file kept
    printf '\x55\xaa' | dd of=$file bs=1 seek=20000 conv=notrunc 2>/dev/null
    headrace train "$flights_yaml" --data data --model-dir other
    refused 1 "$file:"
    says "expected data checksum"
    says "record "
    headrace bench "$flights_yaml" --data data
    refused 1 "$file:"
    head -c 20000 kept >$file
    headrace train "$flights_yaml" --data data --model-dir another
    refused 1 "$file:"
    says "the file is truncated"
    cp data/test-00001-of-00004.tfrecord whole
    head -c 3000 whole >data/test-00001-of-00004.tfrecord
    headrace evaluate "$flights_yaml" --data data --model-dir model
    refused 1 "data/test-00001-of-00004.tfrecord:"
    absent model/eval
}

it_leaves_no_part_of_a_checkpoint_on_a_full_disk() {
    flights 1000 data
    code=0
    (ulimit -f 1536; # KiB: more than the graph takes, less than the variables
        trap '' XFSZ; exec "$HEADRACE" train "$flights_yaml" --data data --model-dir model --epochs 1) \
        2>&1 >"$scratch/out" | cat >"$scratch/err"
    code=${PIPESTATUS[0]}
    read_results
    refused 1 "model/model.ckpt-0"
    says "cannot be written: File too large"
    absent model/checkpoint
    [ -z "$(find model -name '*.ckpt*')" ] || fail "left: $(find model -name '*.ckpt*')"
    trains model --epochs 1
    ends_with 0
}

it_refuses_a_model_folder_that_cannot_be_one() {
    flights 500 data
    : >file
    trains file --epochs 1
    refused 1 "file"
    trains /proc/none --epochs 1
    refused 1 "/proc/none"
}

reads_records() { find "/proc/$pid/fd" -lname '*.tfrecord' 2>/dev/null | grep -q .; }

it_leaves_nothing_of_an_evaluation_that_is_interrupted() {
    flights 20000 data
    trains model --epochs 1 --batch-size 1024
    for wait in 0 0.02 0.06 0.12; do
        start evaluate "$flights_yaml" --data data --model-dir model --batch-size 1
        wait_until reads_records
        sleep $wait
        kill -INT $pid 2>/dev/null
        finish
        if [ "$code" = 0 ]; then # it was faster
            rm -r model/eval
            continue
        fi
        ends_with 130
        says "headrace evaluate: interrupted"
        prints_nothing
        absent model/eval
    done
    judgement model >now.json
    [ -s now.json ] || fail "no evaluation afterwards"
}

it_explains_the_input_without_running_it() {
    headrace explain "$flights_yaml" --data nowhere
    ends_with 0
    prints "repeat(5) > batch(256) > parse_example(features 24)"
    prints "shuffled_records(nowhere/train-*.tfrecord, seed 1)"
    prints "  gives carrier: string"
}

it_holds_rows_in_a_buffer_where_they_cannot_be_read_by_number() {
    headrace explain "$flights_yaml" --data nowhere --set train.shuffle=300
    ends_with 0
    prints "list_files(nowhere/train-*.tfrecord, shuffle, seed 1) > interleave(cycle_length 4, block_length 1) > shuffle("
    prints ") > repeat(5) > batch(256) > parse_example(features 24)"
    headrace explain "$flights_yaml" --data nowhere --set train.shuffle=all --set train.format=csv
    ends_with 0
    prints ") > shuffle("
    headrace explain "$flights_yaml" --data nowhere --set train.shuffle=0
    ends_with 0
    prints "list_files(nowhere/train-*.tfrecord, seed 1) > interleave(cycle_length 4, block_length 1) > repeat(5) > batch(256)"
}

it_measures_the_input_by_itself() {
    flights 1000 data
    headrace bench "$flights_yaml" --data data --batches 2 --json
    ends_with 0
    prints '{"rows":512,"batches":2,'
    headrace bench "$flights_yaml" --data data --batches 2 --trace trace.json
    ends_with 0
    grep -q '"name":"work"' trace.json || fail "no work in the trace"
}

it_tells_where_the_time_of_a_training_goes() {
    flights 1000 data
    headrace train "$flights_yaml" --data data --model-dir model --epochs 1 --profile --trace trace.json
    ends_with 0
    prints "MatMul"
    prints "dnn/hiddenlayer_0"
    prints "stage of the input"
    prints "ms a step"
    prints "binds: a step would take"
    grep -q '"cat":"Op"' trace.json || fail "no node in the trace"
    grep -q '"name":"work"' trace.json || fail "no unit of the input in the trace"
    headrace train "$flights_yaml" --data data --model-dir other --epochs 1 --profile --json
    ends_with 0
    prints '"step_seconds_without_input":'
    prints '"binds":"'
    headrace train "$flights_yaml" --data data --model-dir more --epochs 1 --trace no/such/trace.json
    ends_with 1
    says "no/such"
    [ -e more/checkpoint ] || fail "no checkpoint"
}

# A label that is made of the fields tips and fare: one row lacks tips.
tips_yaml() {
    cat >tips.yaml <<'YAML'
schema: {float: [miles, tips, fare]}
derived:
  rate: {ratio: [tips, fare]}
  good: {greater: [rate, 0.2]}
columns: {miles: {numeric: miles}}
model: {estimator: linear_classifier, linear_feature_columns: [miles], label: good}
train: {files: trips.csv, eval_files: trips.csv, seed: 1, batch_size: 2}
YAML
    printf 'miles,tips,fare\n1,3,10\n2,2,10\n3,,10\n4,5,20\n5,1,0\n' >trips.csv
}

it_refuses_rows_that_a_derived_label_cannot_be_made_of() {
    tips_yaml
    headrace train tips.yaml
    refused 1 "trips.csv"
    says "label 'good': expected a row with the values that it is made of"
    headrace train tips.yaml --set train.require=good
    ends_with 0
    headrace predict tips.yaml --set train.require=good --columns miles,good
    ends_with 0
    [ "$out" = $'miles,good\n1.0,1\n2.0,0\n3.0,0\n4.0,1\n5.0,0' ] || fail "expected other labels"
}

it_predicts_rows_without_what_the_label_is_made_of() {
    tips_yaml
    headrace train tips.yaml --set train.require=good
    ends_with 0
    printf 'miles\n1\n2\n' >new.csv
    headrace predict tips.yaml new.csv --columns miles,class_ids
    ends_with 0
    [ "$(wc -l <<<"$out")" = 3 ] || fail "expected two rows below a header"
}

it_says_that_there_are_no_rows() {
    tips_yaml
    printf 'miles,tips,fare\n' >trips.csv
    headrace train tips.yaml
    refused 1 "expected at least one row in trips.csv, found none"
    headrace evaluate tips.yaml
    refused 1 "expected at least one row, found none"
}

it_shows_columns_of_derived_fields() {
    tips_yaml
    sed -i 's/columns: {miles/columns: {rate: {numeric: rate}, miles/' tips.yaml
    headrace columns tips.yaml
    ends_with 0
    prints "rate: {numeric: rate}"
    cat >>tips.yaml <<'YAML'
pipeline:
  - example_rows: {pattern: trips.csv, format: csv}
  - batch: 2
  - parse_example
  - derive_features
  - transform_features
YAML
    headrace bench tips.yaml --pipeline
    ends_with 0
    prints "5 rows in 3 batches"
}

it_writes_renamed_fields_and_says_what_fails_of_derived_ones() {
    cat >sums.yaml <<'YAML'
schema: {int64: [y, i, j], string: [s], label: y}
derived: {sum: {sum: [i, j]}, word: {rename: s}}
columns: {s: {hash_bucket: 8}}
model: {estimator: linear_classifier, linear_feature_columns: [s]}
train: {files: sums.csv, eval_files: sums.csv, seed: 1}
YAML
    printf 's,y,i,j\na,1,1,2\n,0,3,4\nb,1,5,9223372036854775807\n' >sums.csv
    headrace train sums.yaml
    ends_with 0
    headrace predict sums.yaml --columns s,word
    ends_with 0
    [ "$out" = $'s,word\na,a\n,\nb,b' ] || fail "expected the words twice"
    headrace predict sums.yaml --columns sum
    refused 1 "sum: expected a result that int64 holds"
    headrace train sums.yaml --model-dir other --set train.save_summary_steps=9223372036854775807
    ends_with 0
    headrace train sums.yaml --set train.save_checkpoints_secs=nan
    refused 1 "expected seconds above 0"
}

it_exports_what_it_has_trained() {
    local iris="$SOURCE/examples/iris.yaml"
    cp "$SOURCE"/examples/data/iris_*.csv .
    headrace export "$iris" served -m model
    refused 1 "model"
    headrace train "$iris" -d . -m model --steps 20
    ends_with 0
    headrace export "$iris" served --raw -m model
    ends_with 0
    local version=$out
    [ "${version%/*}" = served ] && [ -e "$version/saved_model.pb" ] || fail "expected a version in served, got $version"
    headrace saved-model run "$version" --signature-def predict --json --inputs 'SepalLength=[[6.4]]' \
        --inputs 'SepalWidth=[[2.8]]' --inputs 'PetalLength=[[5.6]]' --inputs 'PetalWidth=[[2.2]]'
    ends_with 0
    prints "class_ids"
    headrace export "$iris" text --as-text --checkpoint "model/model.ckpt-20" -m model
    ends_with 0
    [ -e "$out/saved_model.pbtxt" ] || fail "expected a text in $out"
    headrace export "$iris" served --checkpoint model/model.ckpt-7 -m model
    refused 1 "model.ckpt-7"
    # Whole numbers of the schema are what Examples of it have.
    printf 'n,word,y\n3,a,1\n4,b,0\n' >words.csv
    cat >words.yaml <<'YAML'
schema: {int64: [n, y], string: [word], label: y}
derived: {half: {ratio: [n, n]}}
columns: {n: {numeric: n}, word: {hash_bucket: 8}}
model: {estimator: dnn_classifier, dnn_feature_columns: [n, indicator word], dnn_hidden_units: [2]}
train: {files: words.csv, epochs: 1, seed: 1}
YAML
    headrace train words.yaml -m words
    ends_with 0
    headrace export words.yaml served -m words
    ends_with 0
    headrace saved-model run "$out" --signature-def predict --json --input-examples 'examples=[{"n":[5],"word":["a"]}]'
    ends_with 0
    headrace export words.yaml served -m other --set 'columns.n={numeric: half}'
    refused 1 "the model reads 'half', which is derived"
}

it_names_the_line_of_a_label_in_a_csv() {
    sed '20s/,[a-z]*,/,rose,/' "$SOURCE/examples/data/iris_train.csv" >bad.csv
    headrace train "$SOURCE/examples/iris.yaml" --set train.files="$PWD/bad.csv" -m model
    refused 1 "bad.csv:20: label 'Species': expected one of the 3 strings of the label vocabulary, found 'rose'"
    gzip bad.csv
    headrace train "$SOURCE/examples/iris.yaml" --set train.files="$PWD/bad.csv.gz" -m model
    refused 1 "bad.csv.gz:20: label 'Species'"
    sed '7s/^[0-9.]*//' "$SOURCE/examples/data/iris_test.csv" >hole.csv
    headrace evaluate "$SOURCE/examples/iris.yaml" --files hole.csv -m model
    refused 1 "hole.csv:7: feature 'SepalLength': expected float32 values, found none"
}

it_warns_of_products_of_another_processor() {
    OPENBLAS_CORETYPE=Haswell headrace train "$SOURCE/examples/iris.yaml" --data "$SOURCE/examples/data" --steps 1 -m "$PWD/model"
    ends_with 0
    says "OPENBLAS_CORETYPE is set: OpenBLAS computes as on a processor of type 'Haswell'"
    headrace train "$SOURCE/examples/iris.yaml" --data "$SOURCE/examples/data" --steps 2 -m "$PWD/model"
    ends_with 0
    case $err in *OPENBLAS*) fail "a warning without a reason" ;; esac
}

it_says_what_a_file_without_a_format_looks_like() {
    cp "$SOURCE/examples/data/iris_train.csv" iris
    headrace train "$SOURCE/examples/iris.yaml" --set train.files="$PWD/iris" -m model
    refused 1 'found the text "SepalLength,"; the file is not a TFRecord file: name its format, as csv or jsonl'
    headrace train "$SOURCE/examples/iris.yaml" --set train.files="$PWD/iris" --set train.format=csv -m model --steps 1
    ends_with 0
}

run_tests
