# The training file of examples/ loads as it stands, and its pipeline, all columns included, runs over the flights.
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

run_tests
