/* See json_line.h. */
#include "cli/json_line.h"
#include "cli/command.h"
#include <errno.h>
#include <math.h>
#include <string.h>

void json_begin(json_line *line)
{
    *line = (json_line){.writer = {.compact = true}};
    line->writer.to = &line->text;
    hr__json_begin(&line->writer, '{');
}

void json_end(json_line *line)
{
    hr__json_end(&line->writer, '}');
    if (line->text.failed)
        fail_output(ENOMEM);
    else
        puts(line->text.data);
    hr__text_free(&line->text);
}

void json_count(json_line *line, const char *key, int64_t value)
{
    hr__json_key(&line->writer, key);
    hr__json_int64(&line->writer, value);
}

void json_number(json_line *line, const char *key, double value)
{
    hr__json_key(&line->writer, key);
    isfinite(value) ? hr__json_double(&line->writer, value) : hr__json_literal(&line->writer, "null");
}

void json_bool(json_line *line, const char *key, bool value)
{
    hr__json_key(&line->writer, key);
    hr__json_literal(&line->writer, value ? "true" : "false");
}

void json_text(json_line *line, const char *key, const char *text)
{
    json_view(line, key, (hr_view){text, (int64_t)strlen(text)});
}

void json_view(json_line *line, const char *key, hr_view text)
{
    hr__json_key(&line->writer, key);
    hr__json_string(&line->writer, text);
}

void json_open(json_line *line, const char *key, char bracket)
{
    if (key) hr__json_key(&line->writer, key);
    hr__json_begin(&line->writer, bracket);
}

void json_close(json_line *line, char bracket) { hr__json_end(&line->writer, bracket); }
