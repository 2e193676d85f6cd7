/* headrace verify: reads files whole, and says all that is damaged in them. */
#include "cli/damage.h"
#include "io/schema.h"
#include <cjson/cJSON.h>
#include <headrace/data.h>

typedef struct verified {
    damage found;
    int64_t files, records;
    int64_t misread; /* records that were right only the second time */
    progress bar;
} verified;

static hr_status look_around(verified *v, hr_error *err)
{
    char detail[64];
    if (v->records % 4096 != 0) return HR_OK;
    if (interrupted()) return hr_fail(err, HR_CANCELLED, "cli.interrupted", "verifying was called off");
    if (!progress_due(&v->bar)) return HR_OK;
    snprintf(detail, sizeof detail, "%s records", with_commas(v->records));
    progress_show(&v->bar, -1, detail);
    return HR_OK;
}

static hr_status verify_records(const char *path, hr_compression compression, verified *v, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    const hr_record_opts opts = {.struct_size = sizeof opts,
                                 .compression = compression,
                                 .policy = {.on_error = HR_RESYNC, .on_damage = damage_tell, .user = &v->found}};
    HR_TRY(hr_record_reader_open_with(path, &opts, &reader, err));
    hr_status st;
    while ((st = hr_record_read(reader, &record, err)) == HR_OK) {
        v->records++;
        if ((st = look_around(v, err)) != HR_OK) break;
    }
    v->misread += hr_record_damage(reader).misread;
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

/* ---- CSV ---- */

/* A field without a value is no damage: what becomes of it is said by who reads the file. */
static hr_status verify_rows(const char *path, hr_compression compression, const hr_csv_column *column, int columns,
                             verified *v, hr_error *err)
{
    const hr_element *row;
    const int inline_work = 0; /* so that damage is told in order */
    hr_dataset *ds =
        hr_csv(path, .columns = column, .column_count = columns, .keep_missing = true, .compression = compression,
               .policy = {.on_error = HR_SKIP, .on_damage = damage_tell, .user = &v->found});
    hr_iterator *it = hr_iterate(ds, .workers = &inline_work, .seed = 1);
    hr_status st;
    while ((st = hr_next(it, &row)) == HR_OK) {
        v->records++;
        if ((st = look_around(v, err)) != HR_OK) break;
    }
    if (hr_iterator_error(it)) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static hr_status verify_csv(const char *path, hr_compression compression, const hr__schema_file *schema, verified *v,
                            hr_error *err)
{
    hr_csv_column *column = hr_calloc((size_t)schema->fields + 1, sizeof *column);
    if (!column) return hr_no_memory(err, "columns");
    for (int i = 0; i < schema->fields; i++)
        column[i] = (hr_csv_column){.name = schema->field[i].name, .dtype = schema->field[i].dtype};
    const hr_status st = verify_rows(path, compression, column, schema->fields, v, err);
    hr_free(column);
    return st;
}

/* ---- all files ---- */

static hr_status verify_files(const command_call *call, const hr__schema_file *schema, hr_compression compression,
                              verified *v, hr_error *err)
{
    hr_file_list files = {0};
    hr_status st = match_arguments(call, call_arguments(call), &files, err);
    for (; v->files < files.count && st == HR_OK; v->files++) {
        const char *path = files.path[v->files];
        st = schema ? verify_csv(path, compression, schema, v, err) : verify_records(path, compression, v, err);
        damage_end(&v->found);
    }
    hr_file_list_clear(&files);
    return st;
}

static void print_summary(const verified *v, const char *what)
{
    if (v->found.json) {
        cJSON *line = cJSON_CreateObject();
        cJSON_AddNumberToObject(line, "files", (double)v->files);
        cJSON_AddNumberToObject(line, what, (double)v->records);
        cJSON_AddNumberToObject(line, "errors", (double)v->found.errors);
        cJSON_AddNumberToObject(line, "damaged_bytes", (double)v->found.bytes);
        cJSON_AddNumberToObject(line, "misread", (double)v->misread);
        print_json(line);
        return;
    }
    printf("%s good %s in %s file%s", with_commas(v->records), what, with_commas(v->files), v->files == 1 ? "" : "s");
    if (v->found.errors)
        printf("; %s damaged place%s, %s bytes\n", with_commas(v->found.errors), v->found.errors == 1 ? "" : "s",
               with_commas(v->found.bytes));
    else
        printf("; nothing is damaged\n");
    if (v->misread)
        printf("%s record%s right only when read again: the storage or the memory is not to be trusted\n",
               with_commas(v->misread), v->misread == 1 ? " was" : "s were");
}

static int run(command_call *call)
{
    hr_error err = {0};
    hr__schema_file schema = {0};
    verified v = {.found.json = flag_given(call, "json")};
    hr_compression compression;
    if (!flag_compression(call, &compression)) return WRONG_USE;
    const char *csv = flag_text(call, "schema");
    hr_status st = csv ? hr__schema_open(csv, &schema, &err) : HR_OK;
    catch_interrupt();
    progress_start(&v.bar, "verifying");
    if (st == HR_OK) st = verify_files(call, csv ? &schema : NULL, compression, &v, &err);
    progress_end(&v.bar);
    hr__schema_clear(&schema);
    if (st != HR_OK) return failed(call, &err);
    print_summary(&v, csv ? "rows" : "records");
    return v.found.errors ? FAILED : WORKED;
}

static const flag flags[] = {
    {FLAG_TEXT, "schema", 's', "FILE", "the files are CSV with these fields: YAML with a schema: section"},
    {FLAG_TEXT, "compression", 0, "TYPE", "GZIP, ZLIB, LZ4, ZSTD or none; default: by the files' first bytes"},
    {FLAG_SWITCH, "json", 0, NULL, "a line of JSON for each damage, and one for all"},
    {0},
};

const command command_verify = {
    .name = "verify",
    .arguments = "FILE...",
    .summary = "finds all that is damaged in TFRecord or CSV files",
    .text = "Reads every byte of the files and verifies every checksum. Behind damage it goes on with the next sound "
            "record,\n"
            "so that all of it is found: each with file, record, offset and what is wrong. What seems to be damaged is "
            "read once\n"
            "more, and only counted if it is right then. With --schema the files are "
            "CSV,\n"
            "and every field must be what the schema says. Exit code 1 if anything is damaged. headrace repair saves "
            "the rest.",
    .examples = "  headrace verify 'data/train-*.tfrecord'\n"
                "  headrace verify --json clicks.tfrecord.gz | jq .offset\n"
                "  headrace verify --schema flights.yaml flights.csv.gz\n",
    .flags = flags,
    .least_arguments = 1,
    .most_arguments = -1,
    .run = run,
};
