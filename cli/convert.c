/* headrace convert: CSV to shards of TFRecords of tf.Example. The work is io/convert.c's; here are flags, the bar, the summary. */
#include "cli/command.h"
#include "io/convert.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool show_progress(const hr__convert_progress *now, void *user)
{
    progress *p = user;
    char detail[64];
    if (progress_due(p)) {
        snprintf(detail, sizeof detail, "%s rows", with_commas(now->rows));
        progress_show(p, now->total > 0 ? (double)now->bytes / (double)now->total : -1, detail);
    }
    return !interrupted();
}

/* ---- what came out ---- */

static void print_summary(const hr__convert_opts *o, const hr__convert_result *r)
{
    double seconds = r->seconds > 0 ? r->seconds : 1e-9;
    printf("%s rows read, %s written", with_commas(r->rows), with_commas(r->written));
    if (o->split_column)
        printf(" (%s to train, %s to test)", with_commas(r->written - r->written_test), with_commas(r->written_test));
    if (r->resumed) printf(" (%s of them before)", with_commas(r->resumed));
    if (r->dropped) printf(", %s dropped for lack of a required field", with_commas(r->dropped));
    if (r->blank) printf(", %s blank lines passed over", with_commas(r->blank));
    printf("\n%s of text to %s in %d file%s in %s\n", human_bytes((double)r->bytes_in),
           human_bytes((double)r->bytes_out), (int)r->files, r->files == 1 ? "" : "s", o->out);
    printf("%.2f s, %s rows/s\n\n", r->seconds, with_commas((int64_t)((double)r->rows / seconds)));
    printf("  %-24s %-8s %14s\n", "field", "type", "missing");
    for (int i = 0; i < o->schema->fields; i++)
        printf("  %-24s %-8s %14s\n", o->schema->field[i].name, hr_dtype_name(o->schema->field[i].stored),
               with_commas(r->missing[i]));
}

static void print_as_json(const hr__convert_opts *o, const hr__convert_result *r)
{
    cJSON *top = cJSON_CreateObject();
    cJSON_AddNumberToObject(top, "rows", (double)r->rows);
    cJSON_AddNumberToObject(top, "written", (double)r->written);
    cJSON_AddNumberToObject(top, "written_test", (double)r->written_test);
    cJSON_AddNumberToObject(top, "resumed", (double)r->resumed);
    cJSON_AddNumberToObject(top, "dropped", (double)r->dropped);
    cJSON_AddNumberToObject(top, "blank_lines", (double)r->blank);
    cJSON_AddNumberToObject(top, "bytes_in", (double)r->bytes_in);
    cJSON_AddNumberToObject(top, "bytes_out", (double)r->bytes_out);
    cJSON_AddNumberToObject(top, "files", (double)r->files);
    cJSON_AddNumberToObject(top, "seconds", r->seconds);
    cJSON *missing = cJSON_AddObjectToObject(top, "missing");
    for (int i = 0; i < o->schema->fields; i++)
        cJSON_AddNumberToObject(missing, o->schema->field[i].name, (double)r->missing[i]);
    print_json(top);
}

/* ---- flags ---- */

/* 0, or the exit code of a wrong command line. */
static int read_flags(const command_call *call, hr__convert_opts *o, char **split, const char **require)
{
    hr_error err = {0};
    int64_t shards = flag_number(call, "shards", 0);
    const char *by = flag_text(call, "split"), *delimiter = flag_text(call, "delimiter");
    if (!flag_text(call, "schema"))
        return usage_error(call, "--schema is missing: a file with a schema: section, which gives the fields' types");
    if (!flag_text(call, "out")) return usage_error(call, "--out is missing: the folder for the shards");
    if (shards > 99999) return usage_error(call, "--shards: expected at most 99999, found %" PRId64, shards);
    if (shards && flag_given(call, "max-shard-bytes"))
        return usage_error(call, "--shards and --max-shard-bytes: expected one of them, found both");
    if (!flag_compression(call, &o->compression)) return WRONG_USE;
    if (delimiter && strlen(delimiter) != 1)
        return usage_error(call, "--delimiter: expected one byte, found \"%s\"", delimiter);
    if (by && hr__convert_parse_split(by, split, &o->split_folds, &err) != HR_OK)
        return usage_error(call, "--%s", err.text); /* which begins with "split: " */
    o->input = call_argument(call, 0);
    o->out = flag_text(call, "out");
    o->shards = (int)shards;
    o->max_shard_bytes = flag_number(call, "max-shard-bytes", 0);
    o->resume = flag_given(call, "resume");
    o->prefix = flag_text(call, "prefix");
    o->split_column = *split;
    o->delimiter = delimiter;
    o->na_value = flag_text(call, "na-value");
    o->require_count = flag_count(call, "require");
    for (int i = 0; i < o->require_count; i++) require[i] = flag_nth(call, "require", i);
    o->require = require;
    return 0;
}

static int convert(const command_call *call, hr__convert_opts *o)
{
    hr_error err = {0};
    hr__convert_result result = {0};
    hr__schema_file schema = {0};
    progress bar;
    hr_status st = hr__schema_open(flag_text(call, "schema"), &schema, &err);
    o->schema = &schema;
    o->progress = show_progress;
    o->user = &bar;
    catch_interrupt();
    progress_start(&bar, "converting");
    if (st == HR_OK) st = hr__convert(o, &result, &err);
    progress_end(&bar);
    if (st == HR_OK && flag_given(call, "json"))
        print_as_json(o, &result);
    else if (st == HR_OK)
        print_summary(o, &result);
    hr__convert_clear(&result);
    hr__schema_clear(&schema);
    return st == HR_OK ? 0 : failed(call, &err);
}

static int run(command_call *call)
{
    hr__convert_opts o = {0};
    char *split = NULL;
    const char *require[64];
    if (flag_count(call, "require") > 64) return usage_error(call, "--require: at most 64 of them");
    int code = read_flags(call, &o, &split, require);
    if (code == 0) code = convert(call, &o);
    hr_free(split);
    return code;
}

static const flag flags[] = {
    {FLAG_TEXT, "schema", 's', "FILE", "YAML with a schema: section: the fields and their types"},
    {FLAG_TEXT, "out", 'o', "DIR", "folder for the shards, made if there is none"},
    {FLAG_COUNT, "shards", 0, "N", "files of each split; default 1"},
    {FLAG_COUNT, "max-shard-bytes", 0, "N", "instead: as many files as it takes, filled one after the other"},
    {FLAG_SWITCH, "resume", 0, NULL, "goes on behind the files that a stopped conversion has filled"},
    {FLAG_TEXT, "split", 0, "FIELD:N", "rows with splitmix64(FIELD) mod N = 0 go to test-*, others to train-*"},
    {FLAG_REPEATED, "require", 0, "FIELD", "drop and count rows without this field; may be repeated"},
    {FLAG_TEXT, "prefix", 0, "TEXT", "beginning of the files' names without a split; default data-"},
    {FLAG_TEXT, "compression", 0, "TYPE", "GZIP, ZLIB, LZ4, ZSTD or none; default none"},
    {FLAG_TEXT, "delimiter", 0, "C", "between the fields of a row; default ,"},
    {FLAG_TEXT, "na-value", 0, "TEXT", "counts as missing, besides an empty field"},
    {FLAG_SWITCH, "json", 0, NULL, "the summary as a line of JSON"},
    {0},
};

const command command_convert = {
    .name = "convert",
    .arguments = "FILE.csv",
    .summary = "turns a CSV into shards of TFRecords of tf.Example",
    .text =
        "Reads a CSV with a header line, plain or gzip, and writes the fields that the schema names as tf.Examples.\n"
        "FILE - is standard input. A field without a value is left out of its Example. Rows are dealt over the\n"
        "shards in their order. All shards appear at the end, or none: not after an error, not after Ctrl-C. What was\n"
        "stopped with --max-shard-bytes and --resume goes on when the same command is given again.",
    .examples =
        "  headrace convert flights.csv.gz --schema flights.yaml --out data --shards 8 --split row:5 --require late\n"
        "  headrace convert people.csv -s people.yaml -o data --compression GZIP --na-value NA\n"
        "  zstdcat logs.csv.zst | headrace convert - -s logs.yaml -o data\n",
    .flags = flags,
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
