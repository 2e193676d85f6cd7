/* headrace columns: the columns of a config file, checked, and printed as the text that makes them again. */
#include "cli/command.h"
#include <headrace/feature_columns.h>

static int columns_run(command_call *call)
{
    hr_error err = {0};
    hr_column_set *set;
    const char *values[MOST_SETS];
    int count;
    char *yaml = NULL;
    const int wrong = read_sets(call, values, &count);
    if (wrong != 0) return wrong;
    hr_status st = hr_column_set_open(call_argument(call, 0), &set, &err, .set = values, .set_count = count);
    if (st == HR_OK) st = hr_column_set_to_yaml(set, &yaml, &err);
    if (st == HR_OK) fputs(yaml, stdout);
    hr_free(yaml);
    hr_column_set_free(set);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {SET_FLAG("columns.dest.hash_bucket=512"), {0}};

const command command_columns = {
    .name = "columns",
    .arguments = "FILE",
    .summary = "checks the columns of a config file and prints them",
    .text = "Reads the sections schema: and columns: of FILE, makes each column (which reads vocabulary files), and "
            "prints both sections again: without comments, one column on each line, with the options that are not "
            "default. The output reads back as equal columns. An error names its line and column.",
    .examples = "  headrace columns flights.yaml\n"
                "  headrace columns flights.yaml --set columns.dest.hash_bucket=512\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = columns_run,
};
