/* headrace schema diff: what differs between two schemas, or the schemas of two files. */
#include "cli/cli_survey.h"

static void print_difference(const char *difference, void *user)
{
    (void)user;
    printf("%s\n", difference);
}

static int schema_diff_run(command_call *call)
{
    survey_run survey;
    hr_schema_file *a = NULL, *b = NULL;
    hr_error err = {0};
    int code = read_survey_flags(call, &survey);
    if (code != 0) return code;
    hr_status st = schema_of(call_argument(call, 0), &survey, &a, &err);
    if (st == HR_OK) st = schema_of(call_argument(call, 1), &survey, &b, &err);
    const int count = st == HR_OK ? hr_schema_file_diff(a, b, print_difference, NULL) : 0;
    hr_schema_file_free(a);
    hr_schema_file_free(b);
    if (st != HR_OK) return failed(call, &err);
    return count ? FAILED : WORKED;
}

static const flag flags[] = {SURVEY_FLAGS, {0}};

const command command_schema_diff = {
    .name = "schema diff",
    .arguments = "A B",
    .summary = "compares two schemas or files",
    .text =
        "A and B are schemas (.yaml, .yml) or data, whose schema is inferred. Each difference is a line: \"- float "
        "age\" is only in A, \"+ int64 age\" is only in B, \"~ age: float, int64\" is in both with different types. "
        "The exit code is 1 if there is a difference." SURVEY_TEXT,
    .examples = "  headrace schema diff flights.yaml flights-2024.csv\n"
                "  headrace schema diff 'monday/*.tfrecord' 'tuesday/*.tfrecord'\n",
    .flags = flags,
    .min_arguments = 2,
    .max_arguments = 2,
    .run = schema_diff_run,
};
