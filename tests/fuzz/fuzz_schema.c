/* Any bytes as a schema: what is read is written as a text that reads back as the same schema. */
#include "io/schema/schema.h"
#include <headrace/examples.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_schema(const char *text, size_t size, hr__schema_file *out)
{
    hr__config *config;
    hr_error err = {0};
    *out = (hr__schema_file){.label = -1};
    if (hr__config_parse("fuzz.yaml", text, size, &config, &err) != HR_OK) return false;
    const hr__node *root = hr__config_root(config), *section = hr__node_get(root, "schema");
    hr_status st = hr__schema_read(section ? section : root, out, &err);
    hr__config_free(config);
    if (st != HR_OK && !err.text[0]) abort();
    return st == HR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr__schema_file first, again;
    if (read_schema((const char *)data, size, &first)) {
        char *text;
        if (hr_schema_file_text(&first, &text, NULL) != HR_OK) abort();
        if (!read_schema(text, strlen(text), &again)) abort();
        if (hr_schema_file_diff(&first, &again, NULL, NULL) != 0) abort();
        hr__schema_clear(&again);
        hr_free(text);
    }
    hr__schema_clear(&first);
    return 0;
}
