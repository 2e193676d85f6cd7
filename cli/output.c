/* Standard output: JSON that any reader takes, and an error when it cannot be written. */
#include "base/text.h"
#include "cli/command.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

void add_text(cJSON *object, const char *name, const char *text, size_t size)
{
    hr__text json = {0};
    hr__text_json(&json, text, size);
    if (!json.failed) cJSON_AddRawToObject(object, name, json.data);
    hr__text_free(&json);
}

void print_json(cJSON *object)
{
    char *text = cJSON_PrintUnformatted(object);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(object);
}

static int first_failure; /* errno of the call that failed first, of which this file is told at once */

hr_status output_error(hr_error *err)
{
    if (!ferror(stdout) && fflush(stdout) == 0) return HR_OK;
    if (!first_failure) first_failure = errno ? errno : EIO;
    return hr_fail(err, HR_RESOURCE_EXHAUSTED, "cli.output", "standard output cannot be written: %s",
                   strerror(first_failure));
}

bool output_is_unwanted(void) { return first_failure == EPIPE; }
