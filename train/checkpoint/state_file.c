/* Fields of the text format, a line each: name, colon, value; strings with C's escapes. Comments go from # to the end
 * of the line. */
#include "train/checkpoint/state_file.h"
#include "base/number.h"
#include "base/text.h"
#include <headrace/io.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNLISTED "# unlisted: "

/* ---- reading ---- */

static const char *skip_blank(const char *at)
{
    while (isspace((unsigned char)*at) || *at == ',' || *at == ';' || *at == '#')
        at += *at == '#' ? strcspn(at, "\n") : 1;
    return at;
}

static int escape(const char **at)
{
    static const char letters[] = "n\nr\rt\ta\ab\bf\fv\v\\\\'\'\"\"??";
    char c = *(*at)++;
    if (c >= '0' && c <= '7') {
        int v = c - '0';
        for (int i = 0; i < 2 && **at >= '0' && **at <= '7'; i++) v = v * 8 + *(*at)++ - '0';
        return v & 0xff;
    }
    if (c == 'x') return (int)strtol(*at, (char **)at, 16) & 0xff;
    for (const char *l = letters; *l; l += 2)
        if (*l == c) return (unsigned char)l[1];
    return -1;
}

/* One quoted piece, appended at *to. False: it is none. */
static bool state_file_read_piece(const char **at, char **to)
{
    const char quote = **at, *from = *at + 1;
    if (quote != '"' && quote != '\'') return false;
    while (*from && *from != quote && *from != '\n') {
        int c = *from == '\\' ? (from++, escape(&from)) : (unsigned char)*from++;
        if (c < 0) return false;
        *(*to)++ = (char)c;
    }
    *at = from + 1;
    return *from == quote;
}

/* A string: pieces that follow each other are joined. NULL: it is none. Gives. */
static char *state_file_read_string(hr__state *s, const char **at)
{
    char *text = hr_malloc(strlen(*at) + 1), *to = text;
    bool good = text != NULL;
    s->no_memory |= !good;
    do {
        good = good && state_file_read_piece(at, &to);
        if (good) *at = skip_blank(*at);
    } while (good && (**at == '"' || **at == '\''));
    if (good) {
        *to = '\0';
        return text;
    }
    hr_free(text);
    return NULL;
}

static bool state_file_add_path(hr__state *s, char *path)
{
    char **grown = hr_realloc(s->all, ((size_t)s->count + 1) * sizeof *grown);
    if (!grown) {
        s->no_memory = true;
        hr_free(path);
        return false;
    }
    s->all = grown;
    s->all[s->count++] = path;
    return true;
}

static bool add_time(hr__state *s, double time)
{
    double *grown = hr_realloc(s->time, ((size_t)s->times + 1) * sizeof *grown);
    s->no_memory |= !grown;
    if (!grown) return false;
    s->time = grown;
    s->time[s->times++] = time;
    return true;
}

static bool state_file_read_field(hr__state *s, const char **at)
{
    size_t size = strcspn(*at, ": \t\r\n");
    const char *name = *at, *value = skip_blank(name + size);
    if (*value != ':') return false;
    value = skip_blank(value + 1);
#define IS(text) (size == sizeof(text) - 1 && memcmp(name, text, size) == 0)
    bool latest = IS("model_checkpoint_path"), path = IS("all_model_checkpoint_paths");
    bool time = IS("all_model_checkpoint_timestamps"), preserved = IS("last_preserved_timestamp");
#undef IS
    const char *end = NULL;
    char *text = latest || path ? state_file_read_string(s, &value) : NULL;
    double number = 0;
    const size_t digits = strcspn(value, " \t\r\n,;#");
    if ((time || preserved) && hr__parse_double(value, digits, HR__NUMBER_DEFAULT, &number) == HR__PARSED)
        end = value + digits;
    if (latest && text) {
        hr_free(s->latest);
        s->latest = text;
    }
    *at = end ? end : value;
    if (path) return text && state_file_add_path(s, text);
    if (time) return end && add_time(s, number);
    if (preserved) {
        s->preserved = number;
        s->has_preserved = true;
    }
    return latest ? text != NULL : preserved && end;
}

static hr_status parse_state(const char *path, const char *text, hr__state *out, hr_error *err)
{
    if (strncmp(text, UNLISTED, sizeof UNLISTED - 1) == 0) {
        const char *name = text + sizeof UNLISTED - 1;
        out->unlisted = state_file_read_string(out, &name); /* any other comment has no string here */
        if (out->no_memory) return hr_no_memory(err, "a state file");
    }
    for (const char *at = skip_blank(text); *at; at = skip_blank(at)) {
        if (state_file_read_field(out, &at)) continue;
        if (out->no_memory) return hr_no_memory(err, "a state file");
        return hr_fail(err, HR_DATA_LOSS, "checkpoint.state",
                       "%s: expected fields such as model_checkpoint_path: \"model.ckpt-100\", found \"%.40s\"", path,
                       at);
    }
    return HR_OK;
}

static hr_status read_state(const char *path, hr__state *out, hr_error *err)
{
    hr_input *in;
    const char *data;
    size_t size, want = 4096;
    HR_TRY(hr_input_open_with(path, &(hr_input_opts){.compression = HR_NONE}, &in, err));
    hr_status st;
    while ((st = hr_input_peek(in, want, &data, &size, err)) == HR_OK && size >= want) want *= 2;
    char *text = st == HR_OK ? hr_malloc(size + 1) : NULL;
    if (st == HR_OK && !text) st = hr_no_memory(err, "a state file");
    if (st == HR_OK) {
        if (size) memcpy(text, data, size);
        text[size] = '\0';
        st = parse_state(path, text, out, err);
    }
    hr_free(text);
    hr_input_free(in);
    return st;
}

hr_status hr__state_read(const char *path, hr__state *out, bool *there, hr_error *err)
{
    hr_error why;
    *out = (hr__state){0};
    const hr_status st = read_state(path, out, &why);
    *there = st == HR_OK;
    if (st == HR_OK) return HR_OK;
    hr__state_clear(out);
    if (st == HR_NOT_FOUND) return HR_OK;
    if (st == HR_DATA_LOSS) {
        hr_log_message(HR_WARNING, "%s; it counts as absent", why.text);
        return HR_OK;
    }
    if (err) *err = why;
    return st;
}

void hr__state_clear(hr__state *s)
{
    for (int i = 0; i < s->count; i++) hr_free(s->all[i]);
    hr_free(s->all);
    hr_free(s->time);
    hr_free(s->latest);
    hr_free(s->unlisted);
    *s = (hr__state){0};
}

/* ---- writing ---- */

static void state_file_put_quoted(hr__text *to, const char *before, const char *text)
{
    hr__text_printf(to, "%s\"", before);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\' || c == '\'')
            hr__text_printf(to, "\\%c", c);
        else if (c == '\n')
            hr__text_printf(to, "\\n");
        else if (c < 0x20 || c >= 0x7f)
            hr__text_printf(to, "\\%03o", c);
        else
            hr__text_byte(to, *text);
    }
    hr__text_printf(to, "\"\n");
}

/* As Python prints it: in the fewest digits that read back as the same, with a point. */
static void state_file_put_time(hr__text *to, const char *before, double time)
{
    char number[HR__NUMBER_TEXT];
    hr__format_double(time, number);
    hr__text_printf(to, "%s%s%s\n", before, number, strpbrk(number, ".en") ? "" : ".0");
}

hr_status hr__state_write(const char *path, const hr__state *s, hr_error *err)
{
    hr__text text = {0};
    if (s->unlisted) state_file_put_quoted(&text, UNLISTED, s->unlisted);
    state_file_put_quoted(&text, "model_checkpoint_path: ", s->latest);
    for (int i = 0; i < s->count; i++) state_file_put_quoted(&text, "all_model_checkpoint_paths: ", s->all[i]);
    for (int i = 0; i < s->times; i++) state_file_put_time(&text, "all_model_checkpoint_timestamps: ", s->time[i]);
    if (s->has_preserved) state_file_put_time(&text, "last_preserved_timestamp: ", s->preserved);
    hr_output *out = NULL;
    hr_status st = text.failed ? hr_no_memory(err, "a state file")
                               : hr_output_open_with(path, &(hr_output_opts){.compression = HR_NONE}, &out, err);
    if (st == HR_OK) st = hr_output_write(out, text.data, text.size, err);
    if (st == HR_OK)
        st = hr_output_commit(out, err);
    else
        hr_output_discard(out);
    hr__text_free(&text);
    return st;
}
