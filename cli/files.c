/* Names on the command line: which files they mean, and in which compression. */
#include "cli/command.h"
#include <string.h>
#include <strings.h>
#include <unistd.h>

static hr_status one_file(const char *path, hr_file_list *out, hr_error *err)
{
    char **list = hr_malloc(sizeof *list), *copy = hr_strdup(path);
    if (!list || !copy) {
        hr_free(list);
        hr_free(copy);
        return hr_no_memory(err, "a file's name");
    }
    list[0] = copy;
    *out = (hr_file_list){list, 1};
    return HR_OK;
}

hr_status match_argument(const char *argument, hr_file_list *out, hr_error *err)
{
    bool itself = strcmp(argument, "-") == 0 || access(argument, F_OK) == 0;
    return itself ? one_file(argument, out, err) : hr_match_files(argument, out, err);
}

bool flag_compression(const command_call *call, hr_compression *out)
{
    static const hr_compression all[] = {HR_NONE, HR_GZIP, HR_ZLIB};
    const char *name = flag_text(call, "compression");
    *out = HR_COMPRESSION_AUTO;
    if (!name) return true;
    for (int i = 0; i < 3; i++) {
        if (strcasecmp(name, all[i] == HR_NONE ? "none" : hr_compression_name(all[i])) != 0) continue;
        *out = all[i];
        return true;
    }
    usage_error(call, "--compression: expected GZIP, ZLIB or none, found \"%s\"", name);
    return false;
}
