/* See error_json.h. The order of the members is part of the form: a quarantine file is searched for a line's place by
 * its bytes. */
#include "io/policy/error_json.h"
#include <string.h>

static void error_json_put_text(hr__json_writer *w, const char *key, const char *text)
{
    hr__json_key(w, key);
    hr__json_string(w, (hr_view){text, (int64_t)strlen(text)});
}

static void put_known(hr__json_writer *w, const char *key, int64_t value)
{
    if (value < 0) return;
    hr__json_key(w, key);
    hr__json_int64(w, value);
}

void hr__error_json_place(hr__json_writer *w, const hr_error *error)
{
    error_json_put_text(w, "file", error->file);
    put_known(w, "record", error->record);
    put_known(w, "line", error->line);
    put_known(w, "offset", error->offset);
    put_known(w, "length", error->length);
    put_known(w, "compressed_offset", error->compressed_offset);
    put_known(w, "column", error->column);
    if (error->feature[0]) error_json_put_text(w, "feature", error->feature);
    error_json_put_text(w, "kind", error->kind);
}

void hr__error_json_reason(hr__json_writer *w, const hr_error *error) { error_json_put_text(w, "reason", error->text); }

hr_status hr_error_json(const hr_error *error, char **json, hr_error *err)
{
    hr__text text = {0};
    hr__json_writer w = {.to = &text, .compact = true};
    if (!error || !json)
        return hr_fail(err, HR_INVALID_ARGUMENT, "json.argument",
                       "hr_error_json: expected an error and where to put the text, got NULL");
    hr__json_begin(&w, '{');
    hr__error_json_place(&w, error);
    hr__error_json_reason(&w, error);
    hr__json_end(&w, '}');
    *json = hr__text_take(&text);
    return *json ? HR_OK : hr_no_memory(err, "an error as JSON");
}
