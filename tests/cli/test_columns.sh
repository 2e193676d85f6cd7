# The columns of a config file, printed so that they read back.
source "$SOURCE/tests/cli/kit.sh"

it_prints_what_reads_back_the_same() {
    headrace columns "$flights_yaml"
    ends_with 0
    says_nothing
    prints '  origin_x_hour: {crossed: [origin, column hour], hash_bucket_size: 256}'
    prints '  temp: {numeric: temp, default: 57.0073, mean: 57.0073, std: 17.9025}'
    printf '%s\n' "$out" >one.yaml
    headrace columns one.yaml
    ends_with 0
    printf '%s\n' "$out" >two.yaml
    same one.yaml two.yaml
}

it_names_the_place_of_a_mistake() {
    printf 'schema:\n  float: [a]\ncolumns:\n  a: {numeric: a, std: -1}\n' >f.yaml
    headrace columns f.yaml
    refused 1 "f.yaml:4:24: columns.a.std: expected a std > 0"
    headrace columns none.yaml
    refused 1 "none.yaml"
}

it_changes_a_value_before_it_reads_the_file() {
    headrace columns "$flights_yaml" --set columns.dest.hash_bucket=7
    ends_with 0
    prints '  dest: {hash_bucket: 7}'
    headrace columns "$flights_yaml" --set columns.dest.hash_bucket=none
    refused 1 '--set "columns.dest.hash_bucket=none": expected'
}

run_tests
