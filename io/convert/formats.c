/* The table of all formats, the format of a name, and what their pieces share. */
#include "base/config.h"
#include "base/digits.h"
#include "io/compression.h"
#include "io/convert/format.h"
#include "io/framing.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
static int list_extensions(char memory[][16], const char *list[], int most)
{
    int count = 0;
    for (int i = 0; i < FORMATS; i++)
        for (const char *at = formats[i]->extensions; *at && count < most; at += strspn(at, " ")) {
            const size_t n = strcspn(at, " ");
            snprintf(memory[count], 16, "%.*s", (int)n, at);
            list[count] = memory[count];
            count++;
            at += n;
        }
    for (int i = 0; i < hr__codec_count() && count < most; i++)
        if (hr__codec_at(i)->extension) list[count++] = hr__codec_at(i)->extension;
    return count;
}

hr_status hr__format_check_name(const char *out, hr_error *err)
{
    enum { MOST = 32 };
    char memory[MOST][16], given[16];
    const char *list[MOST], *slash = strrchr(out, '/'), *base = slash ? slash + 1 : out;
    const size_t end = plain_size(base);
    size_t dot = end > 0 ? end - 1 : 0;
    while (dot > 0 && base[dot] != '.') dot--;
    if (dot == 0 || end - dot < 2 || end - dot >= sizeof given || hr__is_digit(base[dot + 1])) return HR_OK;
    snprintf(given, sizeof given, "%.*s", (int)(end - dot), base + dot);
    const char *near = hr_suggest(given, list, list_extensions(memory, list, MOST));
    hr_fail(err, HR_INVALID_ARGUMENT, "convert.out",
            "convert: expected a folder, or a file of a format that its name says, as people.csv, got '%.80s', where "
            "'%s' says none%s%s%s; for a folder of this name write '%.80s/'",
            out, given, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", out);
    hr_error_file(err, out);
    return HR_INVALID_ARGUMENT;
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

/* ---- pieces ---- */

static bool formats_grow(void *pointer, size_t *room, size_t count, size_t each)
{
    void *p;
    memcpy(&p, pointer, sizeof p);
    if (count <= *room) return true;
    p = hr_realloc(p, (count + count / 4) * each);
    if (!p) return false;
    *room = count + count / 4;
    memcpy(pointer, &p, sizeof p);
    return true;
}

hr_status hr__piece_reserve(hr__convert_piece *piece, size_t bytes, size_t records, hr_error *err)
{
    const bool good =
        formats_grow(&piece->out, &piece->out_room, piece->out_used + bytes, 1) &&
        formats_grow(&piece->record, &piece->record_room, (size_t)piece->records + records + 1, sizeof *piece->record);
    return good ? HR_OK : hr_no_memory(err, "convert: records");
}

void hr__piece_drop_long(hr__convert_piece *piece)
{
    enum { KEPT = 4 << 20 };
    if (piece->out_room <= KEPT) return;
    hr_free(piece->out);
    piece->out = NULL;
    piece->out_room = 0;
}

char *hr__piece_data(const hr__convert_piece *piece) { return piece->out + piece->out_used + HR__RECORD_HEADER; }

void hr__piece_add(hr__convert_piece *piece, int64_t row, size_t size, bool test)
{
    char *to = piece->out + piece->out_used, *data = hr__piece_data(piece);
    hr__record_header(to, size);
    hr__record_footer(data + size, data, size);
    piece->record[piece->records++] =
        (hr__convert_record){.at = piece->out_used, .size = size + HR__RECORD_FRAME, .row = row, .test = test};
    piece->out_used += size + HR__RECORD_FRAME;
}

const hr_tensor *hr__convert_values(const hr_example_contents *c, const char *name)
{
    const size_t size = strlen(name);
    for (int64_t i = 0; i < c->features; i++) {
        const hr_example_feature *f = &c->feature[i];
        if ((size_t)f->key.size == size && memcmp(f->key.data, name, size) == 0) return &f->values;
    }
    return NULL;
}

void hr__convert_fields(const hr__schema_file *schema, const hr_example_contents *c, const hr_tensor **values)
{
    for (int i = 0; i < schema->fields; i++) values[i] = NULL;
    for (int64_t i = 0; i < c->features; i++) {
        const int field = hr__schema_find_view(schema, c->feature[i].key);
        if (field >= 0) values[field] = &c->feature[i].values;
    }
}

bool hr__convert_is_test(const hr_convert_opts *opts, int64_t number)
{
    uint64_t x = (uint64_t)number + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % (uint64_t)opts->split_folds == 0;
}

hr_status hr__convert_no_split(const hr_convert_opts *opts, const char *path, hr__convert_piece *piece, int64_t row)
{
    hr_fail(&piece->err, HR_INVALID_ARGUMENT, "convert.split",
            "%s: record %lld: expected a whole number in '%.60s', by which rows are split, got none", path,
            (long long)(piece->first + row), opts->split_column);
    hr_error_file(&piece->err, path);
    piece->err.record = piece->first + row;
    return HR_INVALID_ARGUMENT;
}
