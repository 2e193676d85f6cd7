/* A report for programs: one JSON object on a line of standard output. */
#ifndef JSON_LINE_H
#define JSON_LINE_H

#include "cli/text.h"

typedef struct json_line {
    text_buffer text;
    bool spaced;  /* set it after json_begin: blanks after commas and colons, for a line that people read, too */
    bool follows; /* the next value or key stands after another one */
} json_line;

void json_begin(json_line *line);
/* Prints the line and frees its memory. A lack of memory is an error of standard output: see output_error. */
void json_end(json_line *line);
hr_status json_print(json_line *line, hr_error *err); /* the same for one line of many: says at once what failed */

/* `key` is NULL in an array. */
void json_count(json_line *line, const char *key, int64_t value);
void json_number(json_line *line, const char *key, double value); /* null if it is not finite */
void json_bool(json_line *line, const char *key, bool value);
void json_null(json_line *line, const char *key);
void json_text(json_line *line, const char *key, const char *text);
void json_view(json_line *line, const char *key, hr_view text); /* bytes that are not UTF-8 become U+FFFD */
void json_base64(json_line *line, const char *key, hr_view bytes);

/* An object '{' or array '[' within; `key` is NULL for one in an array. */
void json_open(json_line *line, const char *key, char bracket);
void json_close(json_line *line, char bracket);

#endif
