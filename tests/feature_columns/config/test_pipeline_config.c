/* A pipeline in a file: what tests/cli/test_pipeline.sh cannot ask for, a lack of memory anywhere while it is read. */
#include "tests/testing.h"
#include <headrace/pipeline_file.h>
#include <string.h>

static const char text[] = "schema: {int64: [late], string: [origin], label: late}\n"
                           "columns: {origin: {hash_bucket: 10}}\n"
                           "pipeline:\n"
                           "  - list_files: {pattern: x-*, shuffle: true}\n"
                           "  - interleave\n"
                           "  - shuffle: {buffer_size: 10, seed: 1}\n"
                           "  - batch: 4\n"
                           "  - parse_example\n"
                           "  - transform_features\n"
                           "  - cache: kept\n"
                           "  - repeat\n"
                           "  - prefetch\n";

/* Opens the file with every allocation failing once: an error each time, nothing lost, and in the end a dataset. */
static void assert_survives_lack_of_memory(const char *yaml)
{
    write_file("f.yaml", yaml, strlen(yaml));
    hr_status st = HR_RESOURCE_EXHAUSTED;
    const int64_t alive = allocations_alive();
    for (int64_t n = 0; st != HR_OK; n++) {
        hr_error err = {0};
        hr_dataset *ds = NULL;
        fail_allocation(n);
        st = hr_pipeline_from_file("f.yaml", &ds, &err, .data = "data");
        if (allocations_since() <= n) assert_ok(st, &err);
        if (st != HR_OK && err.code != HR_RESOURCE_EXHAUSTED) fail_msg("%s: %s", err.kind, err.text);
        hr_dataset_unref(ds);
        assert_int_equal(allocations_alive(), alive);
    }
}

static void columns_are_read_or_refused_without_memory(void **state)
{
    (void)state;
    assert_survives_lack_of_memory(text);
}

static void fields_are_read_or_refused_without_memory(void **state)
{
    (void)state;
    assert_survives_lack_of_memory("schema: {float: [a, b], default: {b: 2.5}}\n"
                                   "pipeline: [{tfrecord: x}, {skip: 1}, {take: 9}, {batch: 2}, parse_example]\n");
}

static void every_kind_of_step_is_read_or_refused_without_memory(void **state)
{
    (void)state;
    write_file("rows.csv", "a,b\n1,2\n", 8);
    assert_survives_lack_of_memory("schema: {float: [a, b], string: [c], default: {b: 2.5}}\n"
                                   "pipeline: [{csv: {pattern: rows.csv, na_value: NA}},\n"
                                   "           {filter: {feature: c, equals: yes}}, {shuffle_and_repeat: 3}]\n");
    assert_survives_lack_of_memory(
        "pipeline: [{range: 9}, unique, {window: {size: 3}}, unbatch, {shard: {num_shards: 2,"
        " index: 0}}]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_read_or_refused_without_memory),
        cmocka_unit_test(fields_are_read_or_refused_without_memory),
        cmocka_unit_test(every_kind_of_step_is_read_or_refused_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
