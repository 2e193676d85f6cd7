# The training files of examples/ as they stand: the flights' pipeline runs, all columns included; the others train on
# CSV as it is, and reach the quality that they should.
. "$SOURCE/tests/cli/kit.sh"

it_opens_and_reads_the_flights() {
    flights 1000 data
    headrace bench "$flights_yaml" --data data --batches 12 --explain
    ends_with 0
    says_nothing
    prints " rows in 12 batches"
    prints "parse_example"
}

it_trains_a_step_of_its_model() {
    flights 1000 data
    headrace train "$flights_yaml" --data data --epochs 1 --batch-size 1000
    ends_with 0
    prints "ended at step 1, data/model/model.ckpt-1"
}

# $1: the example; further ones: bounds of its evaluation.
trains_and_reaches() {
    headrace train "$SOURCE/examples/$1.yaml" --data "$SOURCE/examples/data" --model-dir model
    ends_with 0
    headrace evaluate "$SOURCE/examples/$1.yaml" --data "$SOURCE/examples/data" --model-dir model "${@:2}"
    ends_with 0
}

it_tells_three_kinds_of_iris_apart() {
    trains_and_reaches iris --at-least accuracy=0.88
    headrace predict "$SOURCE/examples/iris.yaml" --data "$SOURCE/examples/data" --model-dir model \
        --columns Species,classes,probabilities --to csv
    ends_with 0
    prints "Species,classes,probabilities_0,probabilities_1,probabilities_2"
}

it_knows_who_survived_the_titanic() { trains_and_reaches titanic --at-least auc=0.83 --at-most log_loss=0.49; }

it_learns_from_the_words_of_reviews() {
    trains_and_reaches reviews --at-least auc=0.85
    headrace predict "$SOURCE/examples/reviews.yaml" --data "$SOURCE/examples/data" --model-dir model \
        --columns words,recommended,probabilities --to jsonl
    ends_with 0
    prints '"words": ['
}

it_learns_two_tasks_of_a_trip() {
    trains_and_reaches two_tasks --at-least auc/tip=0.98 --at-most average_loss/price=60
    headrace predict "$SOURCE/examples/two_tasks.yaml" --data "$SOURCE/examples/data" --model-dir model \
        --columns tipped,tip/logistic,fare,price/predictions --to csv
    ends_with 0
    prints "tipped,tip/logistic,fare,price/predictions"
}

it_knows_who_earns_more() { trains_and_reaches census --at-least auc=0.895 --at-most log_loss=0.325; }

run_tests
