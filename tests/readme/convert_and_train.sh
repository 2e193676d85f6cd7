# Runs the program $1, examples/convert_and_train.c: from a CSV to a model, in an empty folder.
set -eu
awk 'BEGIN { print "age,city,late"; for (i = 0; i < 600; i++) printf "%d,%s,%d\n", i % 60, i % 3 ? "Bonn" : "Rome", (i % 60 > 30); print "7,Bonn," }' > people.csv
cat > people.yaml <<'YAML'
schema: {int64: [late], float: [age], string: [city], label: late}
columns:
  age: {numeric: age, mean: 30, std: 17}
  city: {vocabulary_list: [Bonn, Rome]}
model: {estimator: linear_classifier, linear_feature_columns: [age, city], linear_optimizer: {ftrl: {learning_rate: 0.1}}}
train: {files: train-*, batch_size: 32, seed: 1}
YAML
"$1" people.csv people.yaml data 2> told
ls data/train-00001-of-00002.tfrecord data/model/model.ckpt-19.index
grep -q '100 % converted' told
grep -q 'step 10, loss 0\.[0-9]' told
! "$1" people.csv none.yaml other 2> told
grep -q 'none.yaml' told
