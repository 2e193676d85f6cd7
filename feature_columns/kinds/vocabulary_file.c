/* categorical_column_with_vocabulary_file: a word's id is the number of its line. Lines end at '\n'; one '\r' before it
 * is dropped; blanks belong to the word; an empty line is refused. The file is read when the column is made. */
#include <headrace/column_config.h>
#include <headrace/column_graph.h>
#include "feature_columns/kinds/vocabulary.h"

static hr_status read_file(hr__vocabulary_spec *s, hr_error *err)
{
    if (s->vocabulary_size && *s->vocabulary_size < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary_size",
                       "vocabulary of '%s': expected vocabulary_size > 0, got %lld", s->key,
                       (long long)*s->vocabulary_size);
    const int64_t wanted = s->vocabulary_size ? *s->vocabulary_size : -1;
    return hr_words_of_file(s->key, s->file, s->records, s->dtype != HR_STRING, wanted, &s->words, err);
}

static hr_status vocabulary_file_copy(void *spec, hr_error *err) { return hr__vocabulary_copy(spec, read_file, err); }

static const hr_column_config vocabulary_file_config; /* below */

const hr_column_kind hr_column_kind_vocabulary_file = {
    .head = HR_COLUMN_HEAD,
    .name = "categorical_column_with_vocabulary_file",
    .spec_size = sizeof(hr__vocabulary_spec),
    .spec_copy = vocabulary_file_copy,
    .spec_free = hr__vocabulary_free,
    .describe = hr__vocabulary_describe,
    .accept = hr__vocabulary_accept,
    .transform = hr__vocabulary_transform,
    .config = &vocabulary_file_config,
    .to_graph = hr__vocabulary_to_graph,
};

hr_feature_column *hr_categorical_column_with_vocabulary_file_with(const char *key, const char *file,
                                                                   const hr_vocabulary_column_opts *opts)
{
    hr_vocabulary_column_opts o = HR_OPTIONS(hr_vocabulary_column_opts, opts);
    hr__vocabulary_spec spec = hr__vocabulary_new(key, &o);
    spec.file = file ? file : "";
    return hr_feature_column_new(&hr_column_kind_vocabulary_file, &spec, NULL, 0);
}

/* ---- {vocabulary_file: words.txt} ---- */

static hr_status vocabulary_file_read_format(const hr_config_reader *r, bool *records, hr_error *err)
{
    static const char *const formats[] = {"text", "tfrecord_gzip"};
    int64_t format = 0;
    HR_TRY(hr_config_choice(r, "file_format", "file format", formats, 2, &format, err));
    *records = format == 1;
    return HR_OK;
}

static hr_status read_vocabulary_file(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    const char *field, *file;
    hr_dtype dtype;
    int64_t missing = -1, size = 0;
    hr_vocabulary_column_opts o = {0};
    HR_TRY(hr_config_own_field(r, &field, &dtype, err));
    HR_TRY(hr__vocabulary_read_options(r, dtype, &missing, &o, err));
    HR_TRY(hr_config_value_text(hr_config_get(r, "vocabulary_file"), &file, err));
    HR_TRY(vocabulary_file_read_format(r, &o.tfrecord_gzip, err));
    HR_TRY(hr_config_int(r, "vocabulary_size", 1, INT64_MAX, &size, err));
    if (size > 0) o.vocabulary_size = &size;
    *out = hr_categorical_column_with_vocabulary_file_with(field, file, &o);
    return HR_OK;
}

static void write_vocabulary_file(hr_config_writer *w, const hr_feature_column *column)
{
    const hr__vocabulary_spec *s = hr_feature_column_spec(column);
    hr_config_write_text(w, "vocabulary_file", s->file);
    if (s->records) hr_config_write_text(w, "file_format", "tfrecord_gzip");
    if (s->given_size > 0) hr_config_write_int(w, "vocabulary_size", s->given_size);
    hr__vocabulary_write_options(w, s);
}

static const hr_column_config vocabulary_file_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "vocabulary_file",
    .keys = (const char *const[]){"vocabulary_file", "field", "default", "num_oov_buckets", "vocabulary_size",
                                  "file_format", "dtype", NULL},
    .read = read_vocabulary_file,
    .write = write_vocabulary_file,
};
