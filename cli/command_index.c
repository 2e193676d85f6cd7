/* headrace index: writes, checks and exports the indexes of TFRecord files. */
#include "cli/command.h"
#include "cli/json_line.h"
#include <inttypes.h>
#include <string.h>

typedef struct indexes {
    hr_file_list files;
    hr_record_index **index;
} indexes;

static hr_status open_all(const command_call *call, hr_compression compression, indexes *x, hr_error *err)
{
    const hr_record_index_opts opts = {.struct_size = sizeof opts,
                                       .compression = compression,
                                       .max_record_bytes = flag_max_record(call),
                                       .anew = flag_given(call, "anew"),
                                       .keep = !flag_given(call, "text")};
    HR_TRY(match_arguments(call, call_arguments(call), &x->files, err));
    HR_TRY(need_tfrecords(&x->files, err));
    x->index = hr_calloc((size_t)x->files.count + 1, sizeof(hr_record_index *));
    if (!x->index) return hr_no_memory(err, "indexes");
    return hr_record_index_open_all(&x->files, &opts, x->index, err);
}

static void clear(indexes *x)
{
    for (int64_t i = 0; x->index && i < x->files.count; i++) hr_record_index_free(x->index[i]);
    hr_free(x->index);
    hr_file_list_clear(&x->files);
}

static hr_status write_texts(const indexes *x, hr_error *err)
{
    hr_status st = HR_OK;
    for (int64_t i = 0; st == HR_OK && i < x->files.count; i++) {
        const size_t size = strlen(x->files.path[i]) + 5;
        char *name = hr_malloc(size);
        if (!name) return hr_no_memory(err, "a file's name");
        snprintf(name, size, "%s.idx", x->files.path[i]);
        st = hr_record_index_write_text(x->index[i], name, err);
        hr_free(name);
    }
    return st;
}

static void print_files(const indexes *x, const char *extension)
{
    for (int64_t i = 0; i < x->files.count; i++)
        printf("%s%s: %s records%s\n", x->files.path[i], extension, with_commas(hr_record_index_count(x->index[i])),
               hr_record_index_was_made(x->index[i]) ? "" : ", was valid");
}

static void index_print_as_json(const indexes *x)
{
    json_line top;
    json_begin(&top);
    json_open(&top, "files", '[');
    for (int64_t i = 0; i < x->files.count; i++) {
        json_open(&top, NULL, '{');
        json_text(&top, "file", x->files.path[i]);
        json_count(&top, "records", hr_record_index_count(x->index[i]));
        json_bool(&top, "made", hr_record_index_was_made(x->index[i]));
        json_close(&top, '}');
    }
    json_close(&top, ']');
    json_end(&top);
}

static int index_make(const command_call *call, hr_compression compression)
{
    hr_error err = {0};
    indexes x = {{0}, NULL};
    const bool text = flag_given(call, "text");
    hr_status st = open_all(call, compression, &x, &err);
    if (st == HR_OK && text) st = write_texts(&x, &err);
    if (st == HR_OK && flag_given(call, "json"))
        index_print_as_json(&x);
    else if (st == HR_OK)
        print_files(&x, text ? ".idx" : ".hridx");
    clear(&x);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static int index_check_file(const command_call *call, const char *path)
{
    hr_error err = {0};
    hr_record_index *index;
    if (hr_record_index_read(path, &index, &err) != HR_OK) return failed(call, &err);
    printf("%s.hridx: valid, %s records\n", path, with_commas(hr_record_index_count(index)));
    hr_record_index_free(index);
    return WORKED;
}

static int check_file_as_json(json_line *top, const char *path)
{
    hr_error err = {0};
    hr_record_index *index;
    const bool valid = hr_record_index_read(path, &index, &err) == HR_OK;
    json_open(top, NULL, '{');
    json_text(top, "file", path);
    json_bool(top, "valid", valid);
    if (valid) json_count(top, "records", hr_record_index_count(index));
    if (!valid) json_text(top, "kind", err.kind);
    if (!valid) json_text(top, "reason", err.text);
    json_close(top, '}');
    if (valid) hr_record_index_free(index);
    return valid ? WORKED : FAILED;
}

/* Says of each file what is wrong with its index. */
static int index_check(const command_call *call)
{
    hr_error err = {0};
    hr_file_list files = {0};
    json_line top;
    const bool json = flag_given(call, "json");
    int code = match_arguments(call, call_arguments(call), &files, &err) == HR_OK ? WORKED : failed(call, &err);
    if (json && code == WORKED) {
        json_begin(&top);
        json_open(&top, "files", '[');
        for (int64_t i = 0; i < files.count; i++) code |= check_file_as_json(&top, files.path[i]);
        json_close(&top, ']');
        json_end(&top);
    }
    for (int64_t i = 0; !json && i < files.count; i++) code |= index_check_file(call, files.path[i]);
    hr_file_list_clear(&files);
    return code;
}

static int index_run(command_call *call)
{
    hr_compression compression;
    if (!flag_compression(call, &compression)) return WRONG_USE;
    if (flag_given(call, "check") && (flag_given(call, "text") || flag_given(call, "anew")))
        return usage_error(call, "--check: expected it without --text and --anew, since it writes no index");
    return flag_given(call, "check") ? index_check(call) : index_make(call, compression);
}

static const flag flags[] = {
    {FLAG_SWITCH, "check", 0, NULL, "only report which indexes are valid; exit with 1 if one is not"},
    {FLAG_SWITCH, "anew", 0, NULL, "write valid indexes again, too"},
    {FLAG_SWITCH, "text", 0, NULL,
     "write FILE.idx instead: a line OFFSET SIZE for each record, as other tools read it"},
    {FLAG_TEXT, "compression", 0, "TYPE", "default: by the files' first bytes"},
    {FLAG_SWITCH, "json", 0, NULL, "a line of JSON"},
    MAX_RECORD_FLAG,
    {0},
};

const command command_index = {
    .name = "index",
    .arguments = "FILE...",
    .summary = "writes an index beside each TFRecord file",
    .text = "Writes FILE.hridx, an index: the number of records of the file, and where they begin. With it, counting "
            "takes no time, and any record can be read directly. The index is made by one pass over the records' "
            "lengths, several files at a time. If a file has changed since, its size, its time of change, or the "
            "bytes at sampled headers show it. A FILE may be a pattern in quotes; patterns do not match the indexes.",
    .examples = "  headrace index 'data/train-*.tfrecord'\n"
                "  headrace index data/*.tfrecord --check\n"
                "  headrace index data/*.tfrecord --text\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = index_run,
};
