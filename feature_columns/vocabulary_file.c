/* categorical_column_with_vocabulary_file: a word's id is the number of its line. Lines end at '\n', with one '\r' in
 * front of it dropped; blanks belong to the word; an empty line is refused. Read when the column is made. */
#include "base/number.h"
#include "base/text.h"
#include "feature_columns/vocabulary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A missing file is an invalid argument when its lines are to be counted, as TensorFlow has it. */
static hr_status cannot_read(const hr__vocabulary_spec *s, int number, hr_error *err)
{
    hr_status code = s->vocabulary_size && number == ENOENT ? HR_NOT_FOUND : HR_INVALID_ARGUMENT;
    hr_status st = hr_fail(err, code, "column.vocabulary_file", "vocabulary of '%s': expected to read %s, got: %s",
                           s->key, s->file, strerror(number));
    hr_error_file(err, s->file);
    return st;
}

static hr_status read_whole(const hr__vocabulary_spec *s, hr__text *text, hr_error *err)
{
    FILE *f = fopen(s->file, "rb");
    if (!f) return cannot_read(s, errno, err);
    char block[16384];
    size_t got;
    while ((got = fread(block, 1, sizeof block, f)) > 0) hr__text_bytes(text, block, got);
    int number = ferror(f) ? errno : 0;
    fclose(f);
    return number != 0 ? cannot_read(s, number, err) : hr__text_status(text, "a vocabulary file", err);
}

static hr_status wrong_line(const hr__vocabulary_spec *s, const char *expected, const char *line, size_t size,
                            hr_error *err)
{
    int shown = size < 60 ? (int)size : 60;
    hr_status st =
        hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary", "%s:%lld: vocabulary of '%s': expected %s, got \"%.*s\"",
                s->file, (long long)s->size + 1, s->key, expected, shown, line);
    if (err) err->line = s->size + 1;
    hr_error_file(err, s->file);
    return st;
}

static hr_status add_line(hr__vocabulary_spec *s, const char *line, size_t size, hr_error *err)
{
    if (size > 0 && line[size - 1] == '\r') size--;
    if (size == 0) return wrong_line(s, "a word", line, size, err);
    if (s->dtype == HR_STRING) return hr__vocabulary_add(s, line, size, err);
    int64_t value;
    if (hr__parse_int64(line, size, HR__NUMBER_TF_COMPAT, &value) != HR__PARSED)
        return wrong_line(s, "a decimal integer", line, size, err);
    return hr__vocabulary_add_int(s, value, err);
}

static hr_status add_lines(hr__vocabulary_spec *s, const char *data, size_t size, int64_t wanted, hr_error *err)
{
    const char *end = data + size;
    while (data < end && (wanted < 0 || s->size < wanted)) {
        const char *stop = memchr(data, '\n', (size_t)(end - data));
        if (!stop) stop = end;
        HR_TRY(add_line(s, data, (size_t)(stop - data), err));
        data = stop < end ? stop + 1 : end;
    }
    if (wanted < 0 || s->size == wanted) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary_size",
                   "vocabulary of '%s': expected %lld lines in %s, got %lld", s->key, (long long)wanted, s->file,
                   (long long)s->size);
}

static hr_status read_file(hr__vocabulary_spec *s, hr_error *err)
{
    if (s->vocabulary_size && *s->vocabulary_size < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary_size",
                       "vocabulary of '%s': expected vocabulary_size > 0, got %lld", s->key,
                       (long long)*s->vocabulary_size);
    hr__text text = {0};
    hr_status st = read_whole(s, &text, err);
    if (st == HR_OK && text.size > 0)
        st = add_lines(s, text.data, text.size, s->vocabulary_size ? *s->vocabulary_size : -1, err);
    else if (st == HR_OK && s->vocabulary_size)
        st = add_lines(s, "", 0, *s->vocabulary_size, err);
    hr__text_free(&text);
    return st;
}

static hr_status vocabulary_file_copy(void *spec, hr_error *err) { return hr__vocabulary_copy(spec, read_file, err); }

const hr_column_kind hr_column_kind_vocabulary_file = {
    .head = HR_COLUMN_HEAD,
    .name = "categorical_column_with_vocabulary_file",
    .spec_size = sizeof(hr__vocabulary_spec),
    .spec_copy = vocabulary_file_copy,
    .spec_free = hr__vocabulary_free,
    .describe = hr__vocabulary_describe,
    .accept = hr__vocabulary_accept,
    .transform = hr__vocabulary_transform,
};

hr_feature_column *hr_categorical_column_with_vocabulary_file_with(const char *key, const char *file,
                                                                   const hr_vocabulary_column_opts *opts)
{
    hr_vocabulary_column_opts o = HR__OPTIONS(hr_vocabulary_column_opts, opts);
    hr__vocabulary_spec spec = hr__vocabulary_new(key, &o);
    spec.file = file ? file : "";
    return hr_feature_column_new(&hr_column_kind_vocabulary_file, &spec, NULL, 0);
}

/* ---- {vocabulary_file: words.txt} ---- */

static hr_status read_vocabulary_file(hr__config_columns *c, const hr__node *map, const char *name,
                                      hr_feature_column **out, hr_error *err)
{
    const char *field, *file;
    hr_dtype dtype;
    int64_t missing = -1, size = 0;
    hr_vocabulary_column_opts o = {0};
    HR_TRY(hr__config_own_field(c, map, name, &field, &dtype, err));
    HR_TRY(hr__vocabulary_read_options(map, dtype, &missing, &o, err));
    HR_TRY(hr__node_text(hr__node_get(map, "vocabulary_file"), &file, err));
    HR_TRY(hr__config_int64(map, "vocabulary_size", 1, INT64_MAX, &size, err));
    if (size > 0) o.vocabulary_size = &size;
    *out = hr_categorical_column_with_vocabulary_file_with(field, file, &o);
    return HR_OK;
}

const hr__column_config hr__column_config_vocabulary_file = {
    .word = "vocabulary_file",
    .keys = (const char *const[]){"vocabulary_file", "field", "default", "num_oov_buckets", "vocabulary_size", NULL},
    .read = read_vocabulary_file,
};
