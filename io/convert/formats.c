/* The table of all formats, the format of a name, and what their pieces share. */
#include "base/config.h"
#include "base/digits.h"
#include "io/compression.h"
#include "io/convert/format.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define HR_FORMAT(name) extern const hr__format hr__format_##name;
#include "io/convert/formats.def"
#undef HR_FORMAT

static const hr__format *const formats[] = {
#define HR_FORMAT(name) &hr__format_##name,
#include "io/convert/formats.def"
#undef HR_FORMAT
};
enum { FORMATS = sizeof formats / sizeof *formats };

const hr__format *hr__format_named(const char *name)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0) return formats[i];
    return NULL;
}

const hr__format *hr__format_with(hr_file_format id)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->id == id) return formats[i];
    return hr__format_named("tfrecord");
}

const char *hr_file_format_names(char *text, size_t size)
{
    size_t used = 0;
    if (size > 0) text[0] = '\0';
    for (int i = 0; i < FORMATS && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0            ? ""
                                 : i < FORMATS - 1 ? ", "
                                                   : " or ",
                                 formats[i]->name);
    return text;
}

static bool same(const char *a, const char *b, size_t size) { return strncasecmp(a, b, size) == 0; }

/* The name without the extension of a compression. */
static size_t plain_size(const char *path)
{
    const size_t size = strlen(path);
    for (int i = 0; i < hr__codec_count(); i++) {
        const char *extension = hr__codec_at(i)->extension;
        const size_t n = extension ? strlen(extension) : 0;
        if (n > 0 && size > n && same(path + size - n, extension, n)) return size - n;
    }
    return size;
}

static bool ends_in_one_of(const char *path, size_t size, const char *extensions)
{
    for (const char *at = extensions; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (size > n && same(path + size - n, at, n)) return true;
        at += n;
    }
    return false;
}

const hr__format *hr__format_of(const char *path)
{
    const size_t size = plain_size(path);
    for (int i = 0; i < FORMATS; i++)
        if (ends_in_one_of(path, size, formats[i]->extensions)) return formats[i];
    return NULL;
}

/* All extensions, of formats and compressions: how many. */
static int list_extensions(char memory[][16], const char *list[], int max)
{
    int count = 0;
    for (int i = 0; i < FORMATS; i++)
        for (const char *at = formats[i]->extensions; *at && count < max; at += strspn(at, " ")) {
            const size_t n = strcspn(at, " ");
            snprintf(memory[count], 16, "%.*s", (int)n, at);
            list[count] = memory[count];
            count++;
            at += n;
        }
    for (int i = 0; i < hr__codec_count() && count < max; i++)
        if (hr__codec_at(i)->extension) list[count++] = hr__codec_at(i)->extension;
    return count;
}

hr_status hr__format_check_name(const char *out, hr_error *err)
{
    enum { MAX = 32 };
    char memory[MAX][16], given[16];
    const char *list[MAX], *slash = strrchr(out, '/'), *base = slash ? slash + 1 : out;
    const size_t end = plain_size(base);
    size_t dot = end > 0 ? end - 1 : 0;
    while (dot > 0 && base[dot] != '.') dot--;
    if (dot == 0 || end - dot < 2 || end - dot >= sizeof given || hr__is_digit(base[dot + 1])) return HR_OK;
    snprintf(given, sizeof given, "%.*s", (int)(end - dot), base + dot);
    const char *near = hr_suggest(given, list, list_extensions(memory, list, MAX));
    hr_fail(err, HR_INVALID_ARGUMENT, "convert.out",
            "convert: expected a folder, or a file of a format that its name says, as people.csv, got '%.80s', where "
            "'%s' says none%s%s%s; for a folder of this name write '%.80s/'",
            out, given, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", out);
    hr_error_file(err, out);
    return HR_INVALID_ARGUMENT;
}

bool hr__convert_is_file(const char *out)
{
    struct stat about;
    if (strcmp(out, "-") == 0) return true;
    const bool exists = stat(out, &about) == 0;
    if (exists && !S_ISREG(about.st_mode)) return !S_ISDIR(about.st_mode);
    return hr__format_of(out) != NULL;
}

hr_file_format hr_file_format_of(const char *path)
{
    const hr__format *format = path ? hr__format_of(path) : NULL;
    return format ? format->id : HR_FORMAT_BY_NAME;
}

const char *hr_file_format_name(hr_file_format format)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->id == format) return formats[i]->name;
    return "";
}

hr_file_format hr_file_format_named(const char *name)
{
    char path[32];
    if (!name) return HR_FORMAT_BY_NAME;
    for (int i = 0; i < FORMATS; i++)
        if (strcasecmp(formats[i]->name, name) == 0) return formats[i]->id;
    snprintf(path, sizeof path, "x.%s", name);
    return hr_file_format_of(path);
}

hr_file_format hr__file_format(const char *path, hr_file_format asked)
{
    if (asked != HR_FORMAT_BY_NAME) return asked;
    const hr__format *format = hr__format_of(path);
    return format ? format->id : HR_FORMAT_TFRECORD;
}
