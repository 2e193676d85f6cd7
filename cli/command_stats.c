/* headrace stats: what the features of files hold. */
#include "cli/json_line.h"
#include "cli/cli_survey.h"
#include "cli/cli_table.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- JSON ---- */

static void put_numbers(json_line *line, const hr_feature_stats *f)
{
    json_count(line, "zeros", f->zeros);
    json_count(line, "nans", f->nans);
    json_count(line, "infinite", f->infinite);
    json_number(line, "min", f->min);
    json_number(line, "max", f->max);
    json_number(line, "mean", f->mean);
    json_number(line, "std", f->std);
    json_number(line, "log1p_mean", f->log1p_mean);
    json_number(line, "log1p_std", f->log1p_std);
    json_open(line, "quantiles", '{');
    for (int q = 0; q < HR_STATS_QUANTILES; q++) {
        char share[32];
        snprintf(share, sizeof share, "%g", hr_stats_share[q]);
        json_number(line, share, f->quantile[q]);
    }
    json_close(line, '}');
    json_bool(line, "quantiles_exact", f->quantiles_exact);
}

/* What has no values has no type. */
static void put_type(json_line *line, hr_dtype dtype)
{
    if (dtype != HR_INVALID_DTYPE) {
        json_text(line, "type", hr_dtype_name(dtype));
        return;
    }
    json_null(line, "type");
}

static void put_feature(json_line *line, const hr_feature_stats *f)
{
    json_open(line, NULL, '{');
    json_view(line, "feature", f->key);
    put_type(line, f->dtype);
    json_bool(line, "mixed", f->mixed);
    json_count(line, "records", f->records);
    json_count(line, "missing", f->missing);
    json_count(line, "values", f->values);
    json_count(line, "least_values", f->least_values);
    json_count(line, "most_values", f->most_values);
    if (f->dtype == HR_STRING) {
        json_count(line, "empty", f->zeros);
        json_count(line, "least_bytes", f->least_bytes);
        json_count(line, "most_bytes", f->most_bytes);
        json_number(line, "mean_bytes", f->mean_bytes);
    } else {
        put_numbers(line, f);
    }
    json_count(line, "distinct", (int64_t)llround(f->distinct));
    json_bool(line, "distinct_exact", f->distinct_exact);
    json_open(line, "top", '[');
    for (int i = 0; i < f->tops; i++) {
        json_open(line, NULL, '{');
        json_view(line, "value", f->top[i].text);
        json_count(line, "count", f->top[i].count);
        json_close(line, '}');
    }
    json_close(line, ']');
    json_count(line, "top_error", f->top_error);
    json_count(line, "rounded", f->rounded);
    json_close(line, '}');
}

static void stats_print_as_json(const hr_stats *stats)
{
    json_line line;
    json_begin(&line);
    line.spaced = true; /* a line of this length is read by people, too */
    json_count(&line, "records", hr_stats_records(stats));
    json_open(&line, "features", '[');
    for (int64_t i = 0; i < hr_stats_features(stats); i++) put_feature(&line, hr_stats_feature(stats, i));
    json_close(&line, ']');
    json_end(&line);
}

/* ---- text ---- */

static const table_column common[] = {
    {"feature", 0, true}, {"type", 0, true}, {"records", 0, false}, {"missing", 0, false}, {"values", 0, false},
};
enum { COMMON = sizeof common / sizeof *common, NUMBERS = 9, STRINGS = 4 };
static const table_column numbers[NUMBERS] = {
    {"zeros", 0, false}, {"min", 0, false},  {"25%", 0, false}, {"median", 0, false},   {"75%", 0, false},
    {"max", 0, false},   {"mean", 0, false}, {"std", 0, false}, {"distinct", 0, false},
};
static const table_column strings[STRINGS] = {
    {"empty", 0, false},
    {"bytes", 0, false},
    {"distinct", 0, false},
    {"most frequent", 0, true},
};

static void put_common(table *t, const hr_feature_stats *f)
{
    table_word(t, f->key);
    table_cell(t, "%s", f->mixed ? "mixed" : f->dtype ? hr_dtype_name(f->dtype) : "none");
    table_cell(t, "%s", with_commas(f->records));
    table_cell(t, "%s", with_commas(f->missing));
    table_cell(t, "%" PRId64, f->least_values);
    if (f->least_values != f->most_values) table_more(t, "-%" PRId64, f->most_values);
    table_cell(t, "%s", with_commas(f->zeros));
}

static void put_distinct(table *t, const hr_feature_stats *f)
{
    table_cell(t, "%s%s", f->distinct_exact ? "" : "~", with_commas((int64_t)llround(f->distinct)));
}

/* A value that occurs: a whole number with all its digits, as long as a double holds them. */
static void stats_put_value(table *t, const hr_feature_stats *f, bool exact, double value)
{
    const bool whole = f->dtype == HR_INT64 && fabs(value) <= 0x1p53;
    table_cell(t, whole ? "%s%.0f" : "%s%.6g", exact ? "" : "~", value);
}

static void put_number_row(table *t, const hr_feature_stats *f)
{
    put_common(t, f);
    stats_put_value(t, f, true, f->min);
    for (int q = 2; q < 5; q++) stats_put_value(t, f, f->quantiles_exact, f->quantile[q]);
    stats_put_value(t, f, true, f->max);
    table_cell(t, "%.6g", f->mean);
    table_cell(t, "%.6g", f->std);
    put_distinct(t, f);
}

static void put_string_row(table *t, const hr_feature_stats *f)
{
    put_common(t, f);
    table_cell(t, "%" PRId64 "-%" PRId64, f->least_bytes, f->most_bytes);
    put_distinct(t, f);
    table_cell(t, "%s", "");
    for (int i = 0; i < f->tops && i < 4; i++) {
        if (i) table_more(t, ", ");
        table_more_word(t, f->top[i].text);
        table_more(t, " %s", with_commas(f->top[i].count));
    }
}

static void print_rows(const hr_stats *stats, bool of_strings)
{
    table_column column[COMMON + NUMBERS];
    const int more = of_strings ? STRINGS : NUMBERS;
    memcpy(column, common, sizeof common);
    memcpy(column + COMMON, of_strings ? strings : numbers, (size_t)more * sizeof *column);
    table t = {.column = column, .columns = COMMON + more};
    for (int64_t i = 0; i < hr_stats_features(stats); i++) {
        const hr_feature_stats *f = hr_stats_feature(stats, i);
        if ((f->dtype == HR_STRING) == of_strings) (of_strings ? put_string_row : put_number_row)(&t, f);
    }
    table_print(&t);
}

/* `headrace schema infer` names one of each. */
static void print_rounded(const hr_stats *stats)
{
    static const table_column column[] = {{"feature", 0, true}, {"rounded by float32", 0, false}};
    table t = {.column = column, .columns = 2};
    for (int64_t i = 0; i < hr_stats_features(stats); i++) {
        const hr_feature_stats *f = hr_stats_feature(stats, i);
        if (f->rounded == 0) continue;
        table_word(&t, f->key);
        table_cell(&t, "%s", with_commas(f->rounded));
    }
    table_print(&t);
}

static void stats_print_text(const hr_stats *stats, int64_t files, double seconds)
{
    printf("%s records in %" PRId64 " file%s, read in %.2f s\n", with_commas(hr_stats_records(stats)), files,
           files == 1 ? "" : "s", seconds);
    print_rows(stats, false);
    print_rows(stats, true);
    print_rounded(stats);
}

/* A --label that is no feature would leave the label itself among the columns. */
static hr_status check_label(const command_call *call, const hr_stats *stats, hr_error *err)
{
    const char *label = flag_text(call, "label");
    for (int64_t i = 0; label && i < hr_stats_features(stats); i++) {
        const hr_view key = hr_stats_feature(stats, i)->key;
        if ((size_t)key.size == strlen(label) && memcmp(key.data, label, strlen(label)) == 0) return HR_OK;
    }
    return label ? hr_fail(err, HR_NOT_FOUND, "example.absent",
                           "--label: expected a feature '%s', found it in no record", label)
                 : HR_OK;
}

static hr_status print_columns(const hr_stats *stats, hr_normalization how, const char *label, hr_error *err)
{
    char *text;
    HR_TRY(hr_stats_columns_text(stats, how, label, &text, err));
    fputs(text, stdout);
    hr_free(text);
    return HR_OK;
}

/* ---- the command ---- */

static const char *const normalizations[] = {"mean_std", "min_max", "log1p"};

static bool is_normalization(const char *name, hr_normalization *out)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, normalizations[i]) != 0) continue;
        *out = (hr_normalization)i;
        return true;
    }
    return false;
}

/* 0, or the exit code of a wrong command line. `--columns mean_std` means --normalize, too: no CSV without a header has
 * one column alone that is called so. */
static int read_normalization(const command_call *call, survey_run *survey, bool *wanted, hr_normalization *how)
{
    hr_csv_opts *csv = &survey->csv.opts;
    const char *name = flag_text(call, "normalize");
    if (!name && csv->name_count == 1 && is_normalization(csv->names[0], how)) {
        name = csv->names[0];
        csv->names = NULL;
        csv->name_count = 0;
        csv->no_header = flag_given(call, "no-header");
    }
    *wanted = name != NULL;
    if (!name || is_normalization(name, how)) return 0;
    return usage_error(call, "--normalize: expected mean_std, min_max or log1p, found \"%s\"", name);
}

/* The label of the schema, or of --label; NULL: there is none. */
static const char *stats_label_of(const command_call *call, const hr_schema_file *schema)
{
    const char *given = flag_text(call, "label");
    const int label = hr_schema_file_label(schema);
    return given ? given : label >= 0 ? hr_schema_file_at(schema, label).name : NULL;
}

static int stats_run(command_call *call)
{
    survey_run survey;
    hr_stats *stats = NULL;
    hr_schema_file *schema = NULL;
    hr_normalization how = HR_NORMALIZE_MEAN_STD;
    bool columns = false;
    hr_error err = {0};
    const double start = now_seconds();
    int code = read_survey_flags(call, &survey);
    if (code == 0) code = read_normalization(call, &survey, &columns, &how);
    if (code != 0) return code;
    hr_status st = HR_OK;
    if (flag_given(call, "schema")) st = hr_schema_file_open(flag_text(call, "schema"), &schema, &err);
    survey.opts.schema = schema;
    if (st == HR_OK) st = begin_survey(call, 0, &survey, &err);
    if (st == HR_OK && !schema && format_of_file(survey.files.path[0], survey.opts.format) == HR_FORMAT_CSV)
        progress_first_pass(&survey.bar, "finding types, first of two passes");
    if (st == HR_OK) st = hr_compute_stats_with(&survey.files, &survey.opts, &stats, &err);
    const int64_t files = survey.files.count;
    end_survey(&survey);
    if (st == HR_OK && columns) st = check_label(call, stats, &err);
    if (st == HR_OK && columns)
        st = print_columns(stats, how, stats_label_of(call, schema), &err);
    else if (st == HR_OK && flag_given(call, "json"))
        stats_print_as_json(stats);
    else if (st == HR_OK)
        stats_print_text(stats, files, now_seconds() - start);
    hr_stats_free(stats);
    hr_schema_file_free(schema);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "schema", 's', "FILE", "types of CSV and JSON fields; default: inferred in a first pass"},
    {FLAG_TEXT, "normalize", 0, "HOW", "print numeric columns for a config file: mean_std, min_max or log1p"},
    {FLAG_TEXT, "label", 0, "NAME", "with --normalize: leave this feature out; default: the label of --schema"},
    {FLAG_SWITCH, "json", 0, NULL, "all figures as one line of JSON"},
    SURVEY_FLAGS,
    {0},
};

const command command_stats = {
    .name = "stats",
    .arguments = "FILE...",
    .summary = "shows statistics of features: ranges, means, quantiles, distinct values",
    .text = "Looks at every record once. Counts and ranges are exact; means and standard deviations are exact to the "
            "last digits of a double. ~ before a quantile means that its rank is within 1 % of the right one; ~ "
            "before a number of distinct values means that it is within some percent. Figures without ~ are exact. If "
            "the terminal is too narrow for a table, its further columns follow below. The figures are the same for "
            "any number of threads. --normalize prints a columns: section with the constants that normalize each "
            "feature except the label; features that some records lack get their mean as the default." SURVEY_TEXT,
    .examples = "  headrace stats 'data/train-*.tfrecord'\n"
                "  headrace stats flights.csv.gz --normalize mean_std --label late >> flights.yaml\n"
                "  headrace stats --json clicks.jsonl | jq '.features[] | {feature, distinct}'\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = stats_run,
};
