/* headrace schema check: do all records fit a schema? */
#include "cli/cli_survey.h"
#include <inttypes.h>

typedef struct printer {
    int64_t left;
} printer;

static bool print_deviation(const hr_error *deviation, void *user)
{
    printer *p = user;
    if (p->left-- <= 0) return false;
    printf("%s\n", deviation->text);
    return true;
}

static int schema_check_run(command_call *call)
{
    survey_run survey;
    hr_schema_file *schema = NULL;
    hr_error err = {0};
    int64_t count = 0;
    printer p = {flag_number(call, "lines", 20)};
    if (!flag_text(call, "schema")) return usage_error(call, "--schema is missing: a file with a schema: section");
    int code = read_survey_flags(call, &survey);
    if (code != 0) return code;
    hr_status st = hr_schema_file_open(flag_text(call, "schema"), &schema, &err);
    if (st == HR_OK) st = begin_survey(call, 0, &survey, &err);
    if (st == HR_OK) st = hr_check_schema_with(&survey.files, schema, &survey.opts, print_deviation, &p, &count, &err);
    end_survey(&survey);
    hr_schema_file_free(schema);
    if (st != HR_OK) return failed(call, &err);
    if (count == 0) printf("all records fit the schema\n");
    if (count > 0) printf("%s deviation%s\n", with_commas(count), count == 1 ? "" : "s");
    return count ? FAILED : WORKED;
}

static const flag flags[] = {
    {FLAG_TEXT, "schema", 's', "FILE", "YAML with a schema: section"},
    {FLAG_NUMBER, "lines", 'n', "N", "print at most N deviations; default 20. All are counted"},
    SURVEY_FLAGS,
    {0},
};

const command command_schema_check = {
    .name = "schema check",
    .arguments = "FILE...",
    .summary = "checks every record against a schema",
    .text = "Reports each deviation from the schema with record and field: a value of another type, a feature that "
            "the schema does not name (each once), a field that no record has. A missing value is no deviation. The "
            "exit code is 1 if there is a deviation." SURVEY_TEXT,
    .examples = "  headrace schema check --schema flights.yaml 'data/train-*.tfrecord'\n"
                "  headrace schema check -s flights.yaml flights.csv.gz\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = schema_check_run,
};
