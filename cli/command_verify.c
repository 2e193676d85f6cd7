/* headrace verify: reads files whole, and says all that is damaged in them. */
#include "cli/cli_damage.h"
#include "cli/json_line.h"
#include "cli/cli_survey.h"
#include <headrace/data.h>

typedef struct verified {
    survey_run how;
    hr_schema_file *schema; /* NULL: none is given */
    damage found;
    int64_t files, records;
    int64_t misread, undecoded; /* as hr_damage_count */
    progress bar;
} verified;

enum { LOOK_EVERY = 4096 /* records between two looks at the clock */ };

static hr_status look_around(verified *v, hr_error *err)
{
    if (v->records % LOOK_EVERY == 0) progress_count(&v->bar, -1, v->records, "records");
    return check_interrupt(err);
}

static hr_status verify_records(const char *path, verified *v, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    const hr_record_opts opts = {.struct_size = sizeof opts,
                                 .compression = v->how.opts.compression,
                                 .max_record_bytes = v->how.opts.max_record_bytes,
                                 .policy = {.on_error = HR_RESYNC, .on_damage = damage_tell, .user = &v->found}};
    HR_TRY(hr_record_reader_open_with(path, &opts, &reader, err));
    const int64_t before = v->records;
    hr_status st;
    while ((st = hr_record_read(reader, &record, err)) == HR_OK) {
        v->records++;
        if ((st = look_around(v, err)) != HR_OK) break;
    }
    const hr_damage_count damage = hr_record_damage(reader);
    v->misread += damage.misread;
    v->undecoded += damage.undecoded;
    if (v->records == before && damage.errors > 0 && !opts.compression) damage_of_all(path, "compression");
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

/* ---- CSV ---- */

/* A field without a value is no damage: the reader of the file decides what becomes of it. */
static hr_status verify_rows(const char *path, const hr_csv_column *column, int columns, verified *v, hr_error *err)
{
    const hr_element *row;
    const int inline_work = 0; /* so that damage is reported in order */
    static const char *const after_places[] = {NULL};
    hr_csv_opts opts = *v->how.opts.csv;
    if (!opts.delimiter) opts.delimiter = hr_csv_delimiter_of(path);
    if (opts.no_header && !opts.names) opts.names = after_places; /* columns are found by name */
    opts.columns = column;
    opts.column_count = columns;
    opts.keep_missing = true;
    opts.compression = v->how.opts.compression;
    opts.policy = (hr_policy){.on_error = HR_SKIP, .on_damage = damage_tell, .user = &v->found};
    hr_iterator *it = hr_iterate(hr_csv_with(path, &opts), .workers = &inline_work, .seed = 1);
    hr_status st;
    while ((st = hr_next(it, &row)) == HR_OK) {
        v->records++;
        if ((st = look_around(v, err)) != HR_OK) break;
    }
    if (hr_iterator_error(it)) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

/* Without a schema all fields of the header, as text. */
static hr_status verify_csv(const char *path, verified *v, hr_error *err)
{
    const int count = hr_schema_file_count(v->schema);
    if (!v->schema) HR_TRY(hr_need_files_again(&(hr_file_list){(char *[]){(char *)path}, 1}, "give .schema", err));
    hr_csv_column *column = hr_calloc((size_t)count + 1, sizeof *column);
    if (!column) return hr_no_memory(err, "columns");
    for (int i = 0; i < count; i++) {
        const hr_schema_file_field field = hr_schema_file_at(v->schema, i);
        column[i] = (hr_csv_column){.name = field.name, .dtype = field.written};
    }
    const hr_status st = verify_rows(path, column, count, v, err);
    hr_free(column);
    return st;
}

/* ---- JSON ---- */

/* After bytes that are no JSON it is unknown where the next object begins: only the first damage is reported. */
static hr_status verify_json(const char *path, verified *v, hr_error *err)
{
    hr_json_reader *reader;
    hr_view record;
    const hr_json_reader_opts opts = {.struct_size = sizeof opts,
                                      .schema = v->schema,
                                      .compression = v->how.opts.compression,
                                      .max_row_bytes = v->how.opts.max_record_bytes};
    HR_TRY(hr_json_reader_open_with(path, &opts, &reader, err));
    hr_status st;
    while ((st = hr_json_read(reader, &record, err)) == HR_OK) {
        v->records++;
        if ((st = look_around(v, err)) != HR_OK) break;
    }
    hr_json_reader_free(reader);
    if (st != HR_INVALID_ARGUMENT) return st == HR_END ? HR_OK : st;
    damage_tell(err, (hr_view){"", 0}, &v->found);
    return HR_OK;
}

/* ---- all files ---- */

/* With a schema, what no name says to be something else is CSV. */
static hr_status verify_file(const char *path, verified *v, hr_error *err)
{
    hr_file_format format = format_of_file(path, v->how.opts.format);
    if (v->schema && format == HR_FORMAT_TFRECORD && hr_file_format_of(path))
        return hr_fail(err, HR_INVALID_ARGUMENT, "cli.format",
                       "%s: --schema: expected CSV or JSON; headrace schema check checks TFRecords", path);
    if (v->schema && format == HR_FORMAT_TFRECORD) format = HR_FORMAT_CSV;
    if (format == HR_FORMAT_CSV) return verify_csv(path, v, err);
    return format == HR_FORMAT_JSON ? verify_json(path, v, err) : verify_records(path, v, err);
}

static hr_status verify_files(const command_call *call, verified *v, hr_error *err)
{
    hr_file_list files = {0};
    hr_status st = match_arguments(call, call_arguments(call), &files, err);
    take_csv_by_flags(&v->how, &files);
    for (; v->files < files.count && st == HR_OK; v->files++) {
        st = verify_file(files.path[v->files], v, err);
        damage_end(&v->found);
    }
    hr_file_list_clear(&files);
    return st;
}

static void verify_print_summary(const verified *v, const char *what)
{
    if (v->found.json) {
        json_line line;
        json_begin(&line);
        json_count(&line, "files", v->files);
        json_count(&line, what, v->records);
        json_count(&line, "errors", v->found.errors);
        json_count(&line, "damaged_bytes", v->found.bytes);
        json_count(&line, "undecoded_bytes", v->undecoded);
        json_count(&line, "misread", v->misread);
        json_end(&line);
        return;
    }
    printf("%s good %s in %s file%s", with_commas(v->records), what, with_commas(v->files), v->files == 1 ? "" : "s");
    if (v->found.errors)
        printf("; %s damaged place%s, %s bytes", with_commas(v->found.errors), v->found.errors == 1 ? "" : "s",
               with_commas(v->found.bytes));
    else
        printf("; nothing is damaged");
    print_undecoded(stdout, v->undecoded);
    putchar('\n');
    if (v->misread)
        printf("%s record%s right only when re-read: the storage or the memory may be faulty\n",
               with_commas(v->misread), v->misread == 1 ? " was" : "s were");
}

static int verify_run(command_call *call)
{
    hr_error err = {0};
    verified v = {.found.json = flag_given(call, "json")};
    const char *schema = flag_text(call, "schema");
    const int code = read_survey_flags(call, &v.how);
    if (code != 0) return code;
    if (schema && v.how.opts.format == HR_FORMAT_TFRECORD)
        return usage_error(call, "--schema: expected CSV or JSON; headrace schema check checks TFRecords");
    hr_status st = schema ? hr_schema_file_open(schema, &v.schema, &err) : HR_OK;
    catch_interrupt();
    progress_start(&v.bar, "verifying");
    if (st == HR_OK) st = verify_files(call, &v, &err);
    progress_end(&v.bar);
    const bool text = v.schema || v.how.opts.format > HR_FORMAT_TFRECORD;
    hr_schema_file_free(v.schema);
    if (st != HR_OK) return failed(call, &err);
    verify_print_summary(&v, text ? "rows" : "records");
    return v.found.errors ? FAILED : WORKED;
}

static const flag flags[] = {
    {FLAG_TEXT, "schema", 's', "FILE", "the types of CSV and JSON fields: YAML with a schema: section"},
    {FLAG_SWITCH, "json", 0, NULL, "print a line of JSON for each damage, and one for the total"},
    SURVEY_FLAGS,
    {0},
};

const command command_verify = {
    .name = "verify",
    .arguments = "FILE...",
    .summary = "finds all damage in files",
    .text = "Reads every byte of the files and verifies every checksum. After damage it continues with the next "
            "intact record, so that all damage is found, and reports file, record, offset and reason of each. A "
            "record that seems damaged is re-read; if it is right then, it only counts as misread. Rows of CSV must "
            "have the fields of the header, and their types if a schema is given. Of a JSON file the first error is "
            "reported. The exit code is 1 if there is damage; `headrace repair` saves the intact records of "
            "TFRecords. With --schema, a file whose name tells no format is CSV." SURVEY_TEXT,
    .examples = "  headrace verify 'data/train-*.tfrecord'\n"
                "  headrace verify --json clicks.tfrecord.gz | jq .offset\n"
                "  headrace verify --schema flights.yaml flights.csv.gz\n"
                "  headrace verify people.csv --delimiter ';' --check-utf8\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = verify_run,
};
