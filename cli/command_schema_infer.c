/* headrace schema infer: the types of all fields, as the section that the other commands take. */
#include "cli/cli_survey.h"
#include <inttypes.h>
#include <string.h>

static hr_status write_text(const char *path, const char *text, hr_error *err)
{
    hr_output *out;
    if (!path) return fputs(text, stdout) == EOF ? output_error(err) : HR_OK;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    HR_TRY(hr_output_open_with(path, &opts, &out, err));
    hr_status st = hr_output_write(out, text, strlen(text), err);
    if (st == HR_OK) return hr_output_commit(out, err);
    hr_output_discard(out);
    return st;
}

/* Gives how many there are. */
static int say_conflicts(const hr_schema_file *schema)
{
    int conflicts = 0;
    for (int i = 0; i < hr_schema_file_count(schema); i++) {
        const hr_schema_file_field f = hr_schema_file_at(schema, i);
        if (!f.conflict) continue;
        fprintf(stderr, "headrace schema infer: feature '%s' has several types: %s\n", f.name, f.note);
        conflicts++;
    }
    return conflicts;
}

static int schema_infer_run(command_call *call)
{
    survey_run survey;
    hr_schema_file *schema = NULL;
    hr_error err = {0};
    char *text = NULL;
    int code = read_survey_flags(call, &survey);
    if (code != 0) return code;
    hr_status st = begin_survey(call, 0, &survey, &err);
    if (st == HR_OK) st = hr_infer_schema_with(&survey.files, &survey.opts, &schema, &err);
    if (st == HR_OK && (st = hr_schema_file_text(schema, &text, &err)) != HR_OK)
        hr_error_prefix(&err, "%s%s: ", survey.files.path[0], survey.files.count > 1 ? " and others" : "");
    end_survey(&survey);
    if (st == HR_OK) st = write_text(flag_text(call, "output"), text, &err);
    const int conflicts = st == HR_OK ? say_conflicts(schema) : 0;
    hr_free(text);
    hr_schema_file_free(schema);
    if (st != HR_OK) return failed(call, &err);
    return conflicts ? FAILED : WORKED;
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "FILE", "write the schema there; default: standard output"},
    SURVEY_FLAGS,
    {0},
};

const command command_schema_infer = {
    .name = "schema infer",
    .arguments = "FILE...",
    .summary = "infers the types of all fields from every record",
    .text = "Looks at every record, not only at the first ones, and writes a schema: section for convert, parse and "
            "train. A comment after each field names the record that decided its type. Integers are int64, other "
            "numbers float, all else string. Numbers with leading zeros, and numbers that neither int64 nor float32 "
            "can hold, are strings. An empty field does not count. If a feature has several types, it is reported, "
            "and the exit code is 1." SURVEY_TEXT,
    .examples = "  headrace schema infer flights.csv.gz -o flights.yaml\n"
                "  headrace schema infer 'data/train-*.tfrecord'\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = schema_infer_run,
};
