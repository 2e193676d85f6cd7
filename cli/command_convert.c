/* headrace convert: rows of one format into another. The work is hr_convert's; here are flags, the bar, the summary. */
#include "cli/csv_flags.h"
#include "cli/json_line.h"
#include "cli/cli_table.h"
#include <headrace/convert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { REQUIRED = 64 };

/* The options, and what they borrow. */
typedef struct conversion {
    hr_file_list inputs;
    const char *out;
    hr_convert_opts opts;
    csv_flags csv;
    hr_schema_file *schema;
    const char *set[MOST_SETS];
    int sets;
    char *split;
    const char *require[REQUIRED];
    progress bar;
} conversion;

static bool show_progress(const hr_progress *now, void *user)
{
    progress *p = user;
    progress_count(p, now->total > 0 ? (double)now->bytes / (double)now->total : -1, now->records, "rows");
    return !interrupted();
}

/* ---- what came out ---- */

static hr_view name_of(const hr_schema_file *schema, int field)
{
    const char *name = hr_schema_file_at(schema, field).name;
    return (hr_view){name, (int64_t)strlen(name)};
}

static void convert_print_summary(const conversion *c, const hr_convert_result *r)
{
    const hr_convert_opts *o = &c->opts;
    double seconds = r->seconds > 0 ? r->seconds : 1e-9;
    printf("%s rows read, %s written", with_commas(r->rows), with_commas(r->written));
    if (o->split_column)
        printf(" (%s to train, %s to test)", with_commas(r->written - r->written_test), with_commas(r->written_test));
    if (r->resumed && r->resumed == r->written)
        printf(" (all of them in earlier runs)");
    else if (r->resumed)
        printf(" (%s of them in earlier runs)", with_commas(r->resumed));
    if (r->rejected) printf(", %s rejected", with_commas(r->rejected));
    if (r->dropped) printf(", %s dropped for lack of a required field", with_commas(r->dropped));
    if (r->blank) printf(", %s blank lines skipped", with_commas(r->blank));
    printf("\n%s read, %s as tf.Examples, in %d file%s in %s\n", human_bytes((double)r->bytes_in),
           human_bytes((double)r->bytes_out), (int)r->files, r->files == 1 ? "" : "s", c->out);
    printf("%.2f s, %s rows/s\n", r->seconds, with_commas((int64_t)((double)r->rows / seconds)));
    static const table_column column[] = {{"field", 23, true}, {"type", 7, true}, {"missing", 14, false}};
    table fields = {.column = column, .columns = 3};
    for (int i = 0; i < hr_schema_file_count(c->schema); i++) {
        table_word(&fields, name_of(c->schema, i));
        table_cell(&fields, "%s", hr_dtype_name(hr_schema_file_at(c->schema, i).dtype));
        table_cell(&fields, "%s", with_commas(r->missing[i]));
    }
    table_print(&fields);
}

static void print_rounded(const hr_schema_file *schema, const hr_convert_rounded *rounded)
{
    static const table_column column[] = {
        {"rounded by float32", 0, true}, {"values", 9, false}, {"first in record", 9, false}, {"value", 0, true}};
    table t = {.column = column, .columns = 4};
    for (int i = 0; i < hr_schema_file_count(schema); i++) {
        if (rounded[i].count == 0) continue;
        table_word(&t, name_of(schema, i));
        table_cell(&t, "%s", with_commas(rounded[i].count));
        table_cell(&t, "%s", with_commas(rounded[i].record));
        table_cell(&t, "%s", rounded[i].first);
    }
    table_print(&t);
}

static void convert_print_as_json(const hr_schema_file *schema, const hr_convert_result *r)
{
    json_line top;
    json_begin(&top);
    json_count(&top, "rows", r->rows);
    json_count(&top, "written", r->written);
    json_count(&top, "written_test", r->written_test);
    json_count(&top, "resumed", r->resumed);
    json_count(&top, "dropped", r->dropped);
    json_count(&top, "rejected", r->rejected);
    json_count(&top, "blank_lines", r->blank);
    json_count(&top, "bytes_in", r->bytes_in);
    json_count(&top, "bytes_out", r->bytes_out);
    json_count(&top, "files", r->files);
    json_number(&top, "seconds", r->seconds);
    json_open(&top, "missing", '{');
    for (int i = 0; i < hr_schema_file_count(schema); i++)
        json_count(&top, hr_schema_file_at(schema, i).name, r->missing[i]);
    json_close(&top, '}');
    json_open(&top, "rounded", '{');
    for (int i = 0; i < hr_schema_file_count(schema); i++)
        if (r->rounded[i].count) json_count(&top, hr_schema_file_at(schema, i).name, r->rounded[i].count);
    json_close(&top, '}');
    json_end(&top);
}

/* ---- flags ---- */

/* 0, or the exit code of a wrong command line. */
static int read_split(const command_call *call, conversion *c)
{
    hr_error err = {0};
    const char *by = flag_text(call, "split");
    if (by && hr_convert_parse_split(by, &c->split, &c->opts.split_folds, &err) != HR_OK)
        return usage_error(call, "--%s", err.text); /* which begins with "split: " */
    c->opts.split_column = c->split;
    c->opts.require_count = flag_count(call, "require");
    if (c->opts.require_count > REQUIRED) return usage_error(call, "--require: at most %d of them", REQUIRED);
    for (int i = 0; i < c->opts.require_count; i++) c->require[i] = flag_nth(call, "require", i);
    c->opts.require = c->require;
    return 0;
}

static int read_output(const command_call *call, conversion *c)
{
    hr_convert_opts *o = &c->opts;
    const int64_t shards = flag_number(call, "shards", 0);
    c->out = flag_text(call, "output");
    if (!c->out || !*c->out) return usage_error(call, "--output is missing: the folder for the shards, or one file");
    if (shards > 99999) return usage_error(call, "--shards: expected at most 99999, found %" PRId64, shards);
    if (shards && flag_given(call, "max-shard-bytes"))
        return usage_error(call, "--shards and --max-shard-bytes: expected one of them, found both");
    o->shards = (int)shards;
    o->max_shard_bytes = flag_number(call, "max-shard-bytes", 0);
    o->resume = flag_given(call, "resume");
    o->cut_bytes = flag_number(call, "cut-bytes", 0);
    o->index = flag_given(call, "index");
    o->prefix = flag_text(call, "prefix");
    const bool known = flag_compression(call, &o->compression) &&
                       flag_compression_of(call, "input-compression", &o->input_compression);
    return known ? 0 : WRONG_USE;
}

static int read_policy(const command_call *call, hr_policy *policy)
{
    const char *word = flag_text(call, "on-error");
    if (word && strcmp(word, "fail") != 0 && strcmp(word, "skip") != 0)
        return usage_error(call, "--on-error: expected fail or skip, found \"%s\"", word);
    policy->quarantine_file = flag_text(call, "rejects");
    policy->on_error = policy->quarantine_file ? HR_QUARANTINE : word && strcmp(word, "skip") == 0 ? HR_SKIP : HR_FAIL;
    policy->max_errors = flag_number(call, "max-errors", 0);
    if (word && policy->quarantine_file) return usage_error(call, "--on-error and --rejects: expected one, found both");
    if (policy->max_errors && policy->on_error == HR_FAIL)
        return usage_error(call, "--max-errors: expected --rejects or --on-error skip with it");
    return 0;
}

/* A format's flag must name one, for which the library says what there is. */
static int read_flags(const command_call *call, conversion *c)
{
    hr_convert_opts *o = &c->opts;
    o->from = flag_text(call, "from");
    o->to = flag_text(call, "to");
    o->csv = &c->csv.opts;
    o->max_record_bytes = flag_max_record(call);
    int code = read_csv_flags(call, &c->csv);
    if (code == 0) code = read_sets(call, c->set, &c->sets);
    if (code == 0 && c->sets > 0 && !flag_given(call, "schema"))
        code = usage_error(call, "--set: expected --schema beside it, whose values it changes");
    o->separator = c->csv.opts.separator;
    if (code == 0) code = read_policy(call, &o->policy);
    if (code == 0) code = read_output(call, c);
    return code ? code : read_split(call, c);
}

/* Of fields whose records hold several types only --types can say which one is meant. */
static hr_status refuse_conflicts(const hr_schema_file *schema, hr_error *err)
{
    for (int i = 0; schema && i < hr_schema_file_count(schema); i++) {
        const hr_schema_file_field f = hr_schema_file_at(schema, i);
        if (f.conflict)
            return hr_fail(err, HR_INVALID_ARGUMENT, "convert.type",
                           "feature '%.60s' has several types: %.120s; give --types or --schema", f.name, f.note);
    }
    return HR_OK;
}

/* A CSV says no types, and which columns it shall have: without a schema, that is what all rows are found to be. */
static hr_status infer_schema(conversion *c, const char *from, hr_error *err)
{
    hr_survey_opts o = {.struct_size = sizeof o, .progress = show_progress, .user = &c->bar};
    o.format = hr_file_format_named(from);
    o.csv = c->opts.csv;
    o.compression = c->opts.input_compression;
    o.max_record_bytes = c->opts.max_record_bytes;
    HR_TRY(hr_need_files_again(&c->inputs, "give .schema", err));
    progress_start(&c->bar, "finding types, first of two passes");
    const hr_status st = hr_infer_schema_with(&c->inputs, &o, &c->schema, err);
    progress_start(&c->bar, "converting");
    if (st < 0 && st != HR_CANCELLED && c->opts.policy.on_error != HR_FAIL) {
        const size_t size = strlen(err->text);
        snprintf(err->text + size, sizeof err->text - size, "; give --schema, since finding the types skips no rows");
    }
    return st;
}

static hr_status find_schema(const command_call *call, conversion *c, hr_error *err)
{
    const char *path = flag_text(call, "schema"), *types = flag_text(call, "types"), *from, *to;
    HR_TRY(hr_convert_formats(&c->inputs, c->out, &c->opts, &from, &to, err));
    if (path) {
        interrupt_at_once("convert");
        const hr_status st = hr_schema_file_open(path, &c->schema, err, .set = c->set, .set_count = c->sets);
        interrupt_at_once(NULL);
        HR_TRY(st);
    } else if (types || strcmp(from, "csv") == 0 || strcmp(to, "csv") == 0)
        HR_TRY(infer_schema(c, from, err));
    if (types) HR_TRY(hr_schema_file_set_types(c->schema, types, err));
    c->opts.schema = c->schema;
    return refuse_conflicts(c->schema, err);
}

static int convert(const command_call *call, conversion *c)
{
    hr_error err = {0};
    hr_convert_result result = {0};
    c->opts.progress = show_progress;
    c->opts.user = &c->bar;
    catch_interrupt();
    progress_start(&c->bar, "converting");
    hr_status st = match_arguments(call, call_arguments(call), &c->inputs, &err);
    if (st == HR_OK) st = find_schema(call, c, &err);
    if (st == HR_OK) st = hr_convert_with(&c->inputs, c->out, &c->opts, &result, &err);
    progress_end(&c->bar);
    const bool to_output = is_standard_output(c->out); /* the rows are there: no word between them */
    if (st == HR_OK && !to_output && flag_given(call, "json"))
        convert_print_as_json(c->schema, &result);
    else if (st == HR_OK && !to_output) {
        convert_print_summary(c, &result);
        print_rounded(c->schema, result.rounded);
    }
    hr_convert_result_clear(&result);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static int convert_run(command_call *call)
{
    conversion c = {.opts.struct_size = sizeof c.opts};
    int code = read_flags(call, &c);
    if (code == 0) code = convert(call, &c);
    hr_free(c.split);
    hr_file_list_clear(&c.inputs);
    hr_schema_file_free(c.schema);
    return code;
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "OUT", "a folder for shards, which is made, or one file, or -"},
    {FLAG_TEXT, "from", 0, "FORMAT", "default: by the first FILE's name, else csv"},
    {FLAG_TEXT, "to", 0, "FORMAT", "default: by the name of the one file, else tfrecord"},
    {FLAG_TEXT, "schema", 's', "FILE", "YAML with a schema: section: the fields and their types"},
    SET_FLAG("schema.string=[name, carrier]"),
    {FLAG_TEXT, "types", 0, "F=T,...", "the types of some fields, as row=int64,temp=float; they override the schema"},
    {FLAG_COUNT, "shards", 0, "N", "the number of files of each split; default 1"},
    {FLAG_BYTES, "max-shard-bytes", 0, "SIZE", "instead of --shards: fill files of this size, one after the other"},
    {FLAG_SWITCH, "index", 0, NULL, "write an index, FILE.hridx, beside each shard"},
    {FLAG_SWITCH, "resume", 0, NULL, "continue a stopped run of the same conversion"},
    {FLAG_BYTES, "cut-bytes", 0, "SIZE",
     "make a point to resume from after so many bytes of each file; default: with --shards 64M in all files together, "
     "but at least 4M in each"},
    {FLAG_TEXT, "split", 0, "FIELD:N", "rows with splitmix64(FIELD) mod N = 0 go to test-*, the others to train-*"},
    {FLAG_REPEATED, "require", 0, "FIELD", "drop and count rows without this field; may be repeated"},
    {FLAG_TEXT, "prefix", 0, "TEXT", "the beginning of the files' names if there is no split; default data-"},
    {FLAG_TEXT, "compression", 0, "TYPE", "default: none; of one file: by its name"},
    {FLAG_TEXT, "input-compression", 0, "TYPE", "the compression of the FILEs; default: by their first bytes"},
    CSV_FLAGS,
    {FLAG_TEXT, "on-error", 0, "WORD", "what to do about a row that cannot be read: fail (the default) or skip"},
    {FLAG_TEXT, "rejects", 0, "FILE",
     "skip rows that cannot be read, and write each as a line of JSON with its place and the reason"},
    {FLAG_COUNT, "max-errors", 0, "N", "fail if more than N rows are skipped"},
    {FLAG_SWITCH, "json", 0, NULL, "the summary as a line of JSON"},
    {0},
};

const command command_convert = {
    .name = "convert",
    .arguments = "FILE...",
    .summary = "converts between CSV, JSON lines and TFRecords of tf.Example",
    .text = "Reads files of one format, compressed or not, and writes their rows, in order, in the same or another "
            "format: CSV, JSON lines (one object for each row, as `headrace show` prints them), TFRecords of "
            "tf.Example. Without --schema, the types of a CSV are inferred in a first pass over all its rows; a pipe "
            "cannot be read twice, so it needs --schema. A schema also selects the features of other formats; without "
            "one, all features are converted. A field without a value is left out of an Example. FILE - is standard "
            "input.\n\n"
            "A CSV can hold everything that Examples hold if lists have a --separator, and a reader tells an empty "
            "string from a missing value by --quoted-never-missing. There are two exceptions: a feature without "
            "values becomes a missing one, and a NaN loses its bits. A value that a format cannot hold is an error, "
            "for example a list without --separator.\n\n"
            "OUT is a folder, one file, or - for standard output. It is one file if it ends in a format's extension, "
            ".csv, .jsonl or .tfrecord, or in one of these and .gz. A folder gets shards, "
            "OUT/data-00000-of-00001.tfrecord, and rows go to them in turn. A new name with another extension is an "
            "error; end it in a slash to make a folder. The output appears when it is complete: an error, Ctrl-C or a "
            "kill leaves no output. With --resume, the same command continues a stopped run and writes the same "
            "files; only ZLIB with a fixed number of files starts again from the beginning. If the run was complete, "
            "repeating the command changes nothing." CSV_TEXT,
    .examples =
        "  headrace convert people.csv -o people.tfrecord\n"
        "  headrace convert flights.csv.gz --schema flights.yaml -o data --shards 8 --split row:5 --require late\n"
        "  headrace convert people.csv -s people.yaml -o data --compression GZIP --na-value NA\n"
        "  headrace convert 'data/train-*' -o - --to jsonl | jq .age\n"
        "  headrace convert 'logs/*.jsonl.gz' -o logs --max-shard-bytes 256M --resume\n"
        "  headrace convert clicks.csv -o clicks.tfrecord --index --resume\n"
        "  headrace convert people.tfrecord -o people.csv --separator ';'\n"
        "  headrace convert people.csv -o people.tfrecord --separator ';' --quoted-never-missing\n"
        "  zstdcat logs.csv.zst | headrace convert - -s logs.yaml -o data\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = convert_run,
};
