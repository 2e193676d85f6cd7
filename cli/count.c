/* headrace count: how many records files hold: by their index where it is valid, else by a pass over their lengths. */
#include "cli/command.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Standard input has no index, and is passed over once. */
static hr_status count_input(hr_compression compression, int64_t *records, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = compression};
    hr_record_reader *reader;
    hr_status st;
    HR_TRY(hr_record_reader_open("-", &opts, &reader, err));
    for (*records = 0; (st = hr_record_skip(reader, 1, err)) == HR_OK;) ++*records;
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

static void print_counts(const hr_file_list *files, hr_record_index *const *index)
{
    int64_t total = 0;
    for (int64_t i = 0; i < files->count; i++) {
        total += hr_record_index_count(index[i]);
        printf("%" PRId64 " %s\n", hr_record_index_count(index[i]), files->path[i]);
    }
    if (files->count > 1) printf("%" PRId64 " total\n", total);
}

static void print_as_json(const hr_file_list *files, hr_record_index *const *index)
{
    int64_t total = 0;
    cJSON *top = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(top, "files");
    for (int64_t i = 0; i < files->count; i++) {
        cJSON *file = cJSON_CreateObject();
        add_text(file, "file", files->path[i], strlen(files->path[i]));
        cJSON_AddNumberToObject(file, "records", (double)hr_record_index_count(index[i]));
        cJSON_AddNumberToObject(file, "bytes", (double)hr_record_index_bytes(index[i]));
        cJSON_AddBoolToObject(file, "by_index", !hr_record_index_was_made(index[i]));
        cJSON_AddItemToArray(list, file);
        total += hr_record_index_count(index[i]);
    }
    cJSON_AddNumberToObject(top, "records", (double)total);
    print_json(top);
}

static hr_status count_files(const command_call *call, hr_compression compression, hr_error *err)
{
    hr_file_list files = {0};
    const hr_record_index_opts opts = {.struct_size = sizeof opts, .compression = compression};
    hr_status st = match_arguments(call, call_arguments(call), &files, err);
    hr_record_index **index = calloc((size_t)files.count + 1, sizeof(hr_record_index *));
    if (st == HR_OK && !index) st = hr_no_memory(err, "count");
    if (st == HR_OK) st = hr_record_index_open_all(&files, &opts, index, err);
    if (st == HR_OK && flag_given(call, "json"))
        print_as_json(&files, index);
    else if (st == HR_OK)
        print_counts(&files, index);
    for (int64_t i = 0; index && i < files.count; i++) hr_record_index_free(index[i]);
    free(index);
    hr_file_list_clear(&files);
    return st;
}

static hr_status count_standard_input(const command_call *call, hr_compression compression, hr_error *err)
{
    int64_t records;
    HR_TRY(count_input(compression, &records, err));
    if (flag_given(call, "json")) {
        cJSON *top = cJSON_CreateObject();
        cJSON_AddNumberToObject(top, "records", (double)records);
        print_json(top);
    } else {
        printf("%" PRId64 " -\n", records);
    }
    return HR_OK;
}

static int run(command_call *call)
{
    hr_error err = {0};
    hr_compression compression;
    if (!flag_compression(call, &compression)) return WRONG_USE;
    const bool input = call_arguments(call) == 1 && strcmp(call_argument(call, 0), "-") == 0;
    const hr_status st = input ? count_standard_input(call, compression, &err) : count_files(call, compression, &err);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "compression", 0, "TYPE", "GZIP, ZLIB, LZ4, ZSTD or none; default: by the files' first bytes"},
    {FLAG_SWITCH, "json", 0, NULL, "a line of JSON, with bytes, and whether an index said so"},
    {0},
};

const command command_count = {
    .name = "count",
    .arguments = "FILE...",
    .summary = "counts the records of TFRecord files",
    .text = "Prints how many records each file holds, and their sum: by FILE.hridx where `headrace index` has written "
            "one that\n"
            "is still valid, else by a pass over the records' lengths, several files at a time. The data is not looked "
            "at:\n"
            "`headrace verify` does that. A FILE may be a pattern in quotes; - alone is standard input.",
    .examples = "  headrace count 'data/train-*'\n"
                "  headrace count data/*.tfrecord.gz --json\n",
    .flags = flags,
    .least_arguments = 1,
    .most_arguments = -1,
    .run = run,
};
