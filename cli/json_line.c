/* See json_line.h. */
#include "cli/json_line.h"
#include "cli/command.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void json_line_separate(json_line *line)
{
    if (line->follows) text_add(&line->text, line->spaced ? ", " : ",");
    line->follows = true;
}

static void json_line_key(json_line *line, const char *key)
{
    json_line_separate(line);
    if (!key) return;
    text_quoted(&line->text, (hr_view){key, (int64_t)strlen(key)});
    text_add(&line->text, line->spaced ? ": " : ":");
}

void json_begin(json_line *line)
{
    *line = (json_line){.follows = false};
    text_byte(&line->text, '{');
}

void json_end(json_line *line)
{
    text_byte(&line->text, '}');
    if (line->text.failed)
        fail_output(ENOMEM);
    else
        puts(line->text.data);
    text_free(&line->text);
}

hr_status json_print(json_line *line, hr_error *err)
{
    text_byte(&line->text, '}');
    const hr_view whole = {line->text.data, (int64_t)line->text.size};
    const hr_status st = line->text.failed ? hr_no_memory(err, "a line of JSON") : print_line(whole, err);
    text_free(&line->text);
    return st;
}

void json_count(json_line *line, const char *key, int64_t value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    json_line_key(line, key);
    text_add(&line->text, digits);
}

/* The fewest digits that give the same float64 again, with a point or an exponent. */
void json_number(json_line *line, const char *key, double value)
{
    char digits[32];
    int precision = 15;
    if (!isfinite(value)) {
        json_null(line, key);
        return;
    }
    do snprintf(digits, sizeof digits, "%.*g", precision, value);
    while (strtod(digits, NULL) != value && ++precision <= 17);
    json_line_key(line, key);
    text_add(&line->text, digits);
    if (!strpbrk(digits, ".e")) text_add(&line->text, ".0");
}

void json_bool(json_line *line, const char *key, bool value)
{
    json_line_key(line, key);
    text_add(&line->text, value ? "true" : "false");
}

void json_null(json_line *line, const char *key)
{
    json_line_key(line, key);
    text_add(&line->text, "null");
}

void json_text(json_line *line, const char *key, const char *text)
{
    json_view(line, key, (hr_view){text, (int64_t)strlen(text)});
}

void json_view(json_line *line, const char *key, hr_view text)
{
    json_line_key(line, key);
    text_quoted(&line->text, text);
}

void json_base64(json_line *line, const char *key, hr_view bytes)
{
    json_line_key(line, key);
    text_byte(&line->text, '"');
    text_base64(&line->text, bytes);
    text_byte(&line->text, '"');
}

void json_open(json_line *line, const char *key, char bracket)
{
    key ? json_line_key(line, key) : json_line_separate(line);
    text_byte(&line->text, bracket);
    line->follows = false;
}

void json_close(json_line *line, char bracket)
{
    text_byte(&line->text, bracket);
    line->follows = true;
}
