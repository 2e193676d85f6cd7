/* Names on the command line: which files they mean, and in which compression. */
#include "cli/command.h"
#include <string.h>
#include <strings.h>
#include <unistd.h>

hr_status match_argument(const char *argument, hr_file_list *out, hr_error *err)
{
    const bool is_pattern = strpbrk(argument, "*?[{\\\n") || argument[0] == '@';
    const bool itself = !is_pattern || access(argument, F_OK) == 0;
    *out = (hr_file_list){0};
    if (itself) return hr_file_list_add(out, argument, err);
    return hr_match_files(argument, out, err);
}

static hr_status files_append(hr_file_list *to, hr_file_list *from, hr_error *err)
{
    char **path = hr_realloc(to->path, (size_t)(to->count + from->count + 1) * sizeof *path);
    if (!path) return hr_no_memory(err, "names of files");
    to->path = path;
    for (int64_t i = 0; i < from->count; i++) path[to->count++] = from->path[i];
    from->count = 0; /* its names have moved */
    return HR_OK;
}

hr_status match_arguments_from(const command_call *call, int first, int end, hr_file_list *out, hr_error *err)
{
    hr_status st = HR_OK;
    *out = (hr_file_list){0};
    for (int i = first; i < end && st == HR_OK; i++) {
        hr_file_list found = {0};
        st = match_argument(call_argument(call, i), &found, err);
        if (st == HR_OK) st = files_append(out, &found, err);
        hr_file_list_clear(&found);
    }
    return st;
}

hr_status match_arguments(const command_call *call, int count, hr_file_list *out, hr_error *err)
{
    return match_arguments_from(call, 0, count, out, err);
}

hr_file_format format_of_file(const char *path, hr_file_format asked)
{
    if (asked == HR_FORMAT_BY_NAME) asked = hr_file_format_of(path);
    return asked == HR_FORMAT_BY_NAME ? HR_FORMAT_TFRECORD : asked;
}

hr_status need_tfrecords(const hr_file_list *files, hr_error *err)
{
    for (int64_t i = 0; i < files->count; i++) {
        const char *path = files->path[i];
        const hr_file_format format = format_of_file(path, HR_FORMAT_BY_NAME);
        if (format == HR_FORMAT_TFRECORD || access(path, F_OK) != 0) continue;
        return hr_fail(err, HR_INVALID_ARGUMENT, "cli.format",
                       "%s: expected TFRecords, found %s by its name; 'headrace convert' makes them of it", path,
                       format == HR_FORMAT_CSV ? "CSV" : "JSON");
    }
    return HR_OK;
}

int check_output_name(const command_call *call, const char *out)
{
    const hr_file_format format = format_of_file(out, HR_FORMAT_BY_NAME);
    if (format == HR_FORMAT_TFRECORD) return 0;
    return usage_error(call, "%s: expected a name for TFRecords, found one of %s; 'headrace convert' writes such files",
                       out, format == HR_FORMAT_CSV ? "CSV" : "JSON");
}

const char *compression_words(const char *between)
{
    static char words[128];
    size_t used = 0;
    for (int i = 0; hr_compression_at(i) && used < sizeof words; i++)
        if (hr_compression_at(i) != HR_NONE)
            used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used ? between : "",
                                     hr_compression_name(hr_compression_at(i)));
    return words;
}

bool flag_compression_of(const command_call *call, const char *flag, hr_compression *out)
{
    const char *name = flag_text(call, flag);
    *out = HR_COMPRESSION_AUTO;
    if (!name) return true;
    for (int i = 0; hr_compression_at(i); i++) {
        const hr_compression known = hr_compression_at(i);
        if (strcasecmp(name, known == HR_NONE ? "none" : hr_compression_name(known)) != 0) continue;
        *out = known;
        return true;
    }
    usage_error(call, "--%s: expected %s or none, found \"%s\"", flag, compression_words(", "), name);
    return false;
}

bool flag_compression(const command_call *call, hr_compression *out)
{
    return flag_compression_of(call, "compression", out);
}
