/* Whole input pipelines in one call, as TensorFlow's make_csv_dataset and make_batched_features_dataset put them
 * together: files, rows, shuffle, repeat, batch, prefetch. */
#include "base/number.h"
#include "data/sources/byte_source.h"
#include "data/sources/csv_source.h"
#include "data/dataset.h"
#include "io/match.h"
#include <headrace/data.h>
#include <string.h>

/* ---- what both share ---- */

static hr_dataset *files_of(const char *pattern, const hr_make_opts *o)
{
    return hr_list_files(pattern, .shuffle = !o->no_shuffle, .seed = o->seed);
}

static hr_dataset *shuffled_batches(hr_dataset *ds, int64_t batch_size, const hr_make_opts *o)
{
    const int64_t buffer = o->shuffle_buffer_size ? o->shuffle_buffer_size : 10000;
    if (!o->no_shuffle) ds = hr_shuffle(ds, buffer, .seed = o->seed);
    if (o->num_epochs != 1) ds = hr_repeat(ds, .count = HR_I64(o->num_epochs ? o->num_epochs : -1));
    return hr_batch(ds, batch_size, .drop_remainder = o->drop_final_batch || o->num_epochs == 0);
}

static int64_t readers(const hr_make_opts *o) { return o->num_parallel_reads ? o->num_parallel_reads : 1; }

/* ---- tf.Example ---- */

hr_dataset *hr_make_batched_features_dataset_with(const char *pattern, int64_t batch_size, const hr_parse_spec *spec,
                                                  const hr_make_opts *opts)
{
    const hr_make_opts o = HR_OPTIONS(hr_make_opts, opts);
    hr_dataset *ds =
        hr_interleave(files_of(pattern, &o), hr_tfrecord_fn, NULL, .cycle_length = readers(&o), .unordered = o.sloppy);
    ds = hr_parse_example(shuffled_batches(ds, batch_size, &o), spec, .label = o.label);
    return hr_prefetch(ds, HR_AUTOTUNE);
}

/* ---- CSV: the types of columns, by their first rows ---- */

enum { ROWS_FOR_INFERENCE = 100 };

/* In the order in which a column may widen. */
static const hr_dtype widening[] = {HR_INT32, HR_INT64, HR_FLOAT, HR_DOUBLE, HR_STRING};

/* TensorFlow's float test is value < inf, by NumPy: "inf" and "nan" are strings, "-inf" is a number; so are hexadecimal
 * ones strings, and a float is a double that is rounded once more. */
static int narrowest(hr_view text)
{
    int32_t small;
    int64_t whole;
    double real;
    const size_t size = (size_t)text.size;
    if (hr__parse_int32(text.data, size, HR__NUMBER_DEFAULT, &small) == HR__PARSED) return 0;
    if (hr__parse_int64(text.data, size, HR__NUMBER_DEFAULT, &whole) == HR__PARSED) return 1;
    if (memchr(text.data, 'x', size) || memchr(text.data, 'X', size)) return 4;
    if (hr__parse_double(text.data, size, HR__NUMBER_DEFAULT, &real) != HR__PARSED) return 4;
    if ((float)real < __builtin_huge_valf()) return 2;
    return real < __builtin_huge_val() ? 3 : 4;
}

static bool is_null(const hr_csv_opts *o, hr_view text)
{
    if (text.size == 0) return true;
    return o->na_value && (size_t)text.size == strlen(o->na_value) &&
           memcmp(text.data, o->na_value, (size_t)text.size) == 0;
}

/* Columns that nobody described: those of the header, by what the first rows hold. */
typedef struct inference {
    hr_dataset *probe; /* all columns as strings; it has their names */
    int columns;
    hr__map place; /* of a column in the header, by its name */
    int *kind;     /* an index of `widening`; -1 as long as nothing was seen but nulls */
    hr_csv_column *column;
    hr_tensor *fill;  /* their defaults */
    hr_error refused; /* why TensorFlow would not take these files; code 0: it would */
} inference;

static hr_status begin_inference(inference *in, const char *pattern, const hr_csv_opts *o, hr_error *err)
{
    in->probe = hr_csv_with(pattern, o);
    const hr_error *wrong = hr_dataset_error(in->probe);
    if (wrong && err) *err = *wrong;
    if (wrong) return wrong->code;
    in->columns = hr_dataset_schema(in->probe)->fields;
    HR_TRY(hr__map_fields(&in->place, hr_dataset_schema(in->probe), err));
    in->kind = hr_calloc((size_t)in->columns, sizeof *in->kind);
    in->column = hr_calloc((size_t)in->columns, sizeof *in->column);
    in->fill = hr_calloc((size_t)in->columns, sizeof *in->fill);
    return in->kind && in->column && in->fill ? HR_OK : hr_no_memory(err, "make_csv_dataset");
}

static void end_inference(inference *in)
{
    hr_dataset_unref(in->probe);
    hr__map_free(&in->place);
    hr_free(in->kind);
    hr_free(in->column);
    hr_free(in->fill);
}

static hr_status look_at_rows(inference *in, const hr_csv_opts *o, int64_t rows, hr_error *err)
{
    const hr_element *e;
    hr_status st;
    for (int c = 0; c < in->columns; c++) in->kind[c] = -1;
    hr_iterator *it = hr_iterate(hr_take(hr_dataset_ref(in->probe), rows), .workers = &(int){0});
    while ((st = hr_next(it, &e)) == HR_OK)
        for (int c = 0; c < in->columns; c++) {
            const hr_view text = *(const hr_view *)hr_get_at(e, c)->data;
            const int wanted = is_null(o, text) ? -1 : narrowest(text);
            if (wanted > in->kind[c]) in->kind[c] = wanted;
        }
    if (st != HR_END && err) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

/* A column of nulls is a string; an empty field is 0 or "". */
static void describe_columns(inference *in)
{
    static const int64_t zero = 0;
    static const hr_view empty = {"", 0};
    for (int c = 0; c < in->columns; c++) {
        const hr_dtype dtype = widening[in->kind[c] < 0 ? 4 : in->kind[c]];
        const void *none = dtype == HR_STRING ? (const void *)&empty : (const void *)&zero;
        in->fill[c] = hr_tensor_of(dtype, HR_SCALAR, none);
        in->column[c] = (hr_csv_column){.dtype = dtype, .default_value = &in->fill[c]};
        in->column[c].name = hr_dataset_schema(in->probe)->field[c].name;
    }
}

/* The first column of the first file that this file does not have; NULL: it has all. */
static hr_status find_lacking(const inference *in, const hr__csv_format *format, const char **lacks, hr_error *err)
{
    bool *has = hr_calloc((size_t)in->columns + 1, sizeof *has);
    if (!has) return hr_no_memory(err, "make_csv_dataset");
    for (int c = 0; c < format->columns; c++) {
        const int place = hr__map_index(&in->place, format->column[c].name);
        if (place >= 0) has[place] = true;
    }
    int c = 0;
    while (c < in->columns && has[c]) c++;
    *lacks = c < in->columns ? hr_dataset_schema(in->probe)->field[c].name : NULL;
    hr_free(has);
    return HR_OK;
}

/* What another file has more would be lost without a word. */
static hr_status compare_header(const inference *in, const hr__csv_format *format, const char *path, const char *first,
                                hr_error *err)
{
    const char *lacks = NULL;
    HR_TRY(find_lacking(in, format, &lacks, err));
    if (!lacks && format->columns == in->columns) return HR_OK;
    hr_fail(err, HR_INVALID_ARGUMENT, "csv.other_columns",
            "make_csv_dataset: %s: expected the %d columns of %s, found %d%s%.60s%s", path, in->columns, first,
            format->columns, lacks ? ", and no '" : "", lacks ? lacks : "", lacks ? "'" : "");
    hr_error_file(err, path);
    return HR_INVALID_ARGUMENT;
}

/* TensorFlow finds columns by place, and wants equal headers. */
static void note_order(inference *in, const hr__csv_format *format, const char *path, const char *first)
{
    const hr_schema *schema = hr_dataset_schema(in->probe);
    int c = 0;
    while (c < in->columns && strcmp(format->column[c].name, schema->field[c].name) == 0) c++;
    if (c == in->columns || in->refused.code) return;
    hr_fail(&in->refused, HR_INVALID_ARGUMENT, "csv.other_columns",
            "make_csv_dataset: %s: expected the columns of %s in the same order, since tf_compat is set, found '%.60s' "
            "as column %d instead of '%.60s'",
            path, first, format->column[c].name, c, schema->field[c].name);
    hr_error_file(&in->refused, path);
}

/* An empty file has no rows to lose, but no header either, which TensorFlow wants. */
static void note_empty(inference *in, const char *path)
{
    if (in->refused.code) return;
    hr_fail(&in->refused, HR_INVALID_ARGUMENT, "csv.header",
            "make_csv_dataset: %s: expected a header, since tf_compat is set, found an empty file", path);
    hr_error_file(&in->refused, path);
}

static hr_status check_header(inference *in, const hr_csv_opts *o, const char *path, const char *first, hr_error *err)
{
    char *header;
    size_t size;
    hr__csv_format *format;
    HR_TRY(hr__csv_format_new(o, &format, err));
    hr_status st = hr__csv_copy_header(format, path, &header, &size, err);
    if (st == HR_OK) hr_free(header);
    if (st == HR_OK && size == 0) note_empty(in, path);
    if (st == HR_OK && size > 0) {
        st = hr__csv_format_from_header(format, path, err);
        if (st == HR_OK) st = compare_header(in, format, path, first, err);
        if (st == HR_OK) note_order(in, format, path, first);
    }
    hr__csv_format_free(format);
    return st;
}

static hr_status check_headers(inference *in, const char *pattern, const hr_csv_opts *o, hr_error *err)
{
    hr_file_list files;
    HR_TRY(hr__source_files(pattern, &files, err));
    hr_status st = HR_OK;
    for (int64_t i = 1; st == HR_OK && i < files.count; i++)
        st = check_header(in, o, files.path[i], files.path[0], err);
    hr_file_list_clear(&files);
    return st;
}

static hr_status select_columns(inference *in, const hr_make_opts *m, hr_error *err)
{
    int kept = 0;
    if (m->select_count == 0) return HR_OK;
    bool *selected = hr_calloc((size_t)in->columns + 1, sizeof *selected);
    hr_status st = selected ? HR_OK : hr_no_memory(err, "make_csv_dataset");
    for (int i = 0; st == HR_OK && i < m->select_count; i++) {
        const int place = hr__map_index(&in->place, m->select_columns[i]);
        if (place >= 0)
            selected[place] = true;
        else
            st = hr_fail(err, HR_INVALID_ARGUMENT, "csv.column",
                         "make_csv_dataset: expected columns of the header in .select_columns, got '%.60s'",
                         m->select_columns[i]);
    }
    for (int c = 0; st == HR_OK && c < in->columns; c++)
        if (selected[c]) in->column[kept++] = in->column[c];
    in->columns = kept;
    hr_free(selected);
    return st;
}

/* Whether tf_compat stands above is not known before the pipeline runs. */
static hr_status keep_refusal(const inference *in, hr__csv_format *format, hr_error *err)
{
    if (!in->refused.code) return HR_OK;
    format->refused = hr_memdup(&in->refused, sizeof in->refused);
    return format->refused ? HR_OK : hr_no_memory(err, "make_csv_dataset");
}

static hr_status infer_format(const char *pattern, const hr_csv_opts *o, const hr_make_opts *m, hr__csv_format **out,
                              hr_error *err)
{
    inference in = {0};
    hr_csv_opts found = *o, probed = *o;
    const int64_t rows = m->num_rows_for_inference ? m->num_rows_for_inference : ROWS_FOR_INFERENCE;
    probed.label = NULL; /* it may be none that is selected */
    hr_status st = begin_inference(&in, pattern, &probed, err);
    if (st == HR_OK) st = check_headers(&in, pattern, &probed, err);
    if (st == HR_OK) st = look_at_rows(&in, o, rows, err);
    if (st == HR_OK) describe_columns(&in);
    if (st == HR_OK) st = select_columns(&in, m, err);
    if (st == HR_OK) {
        found.columns = in.column;
        found.column_count = in.columns;
        st = hr__csv_format_new(&found, out, err);
        if (st == HR_OK) st = keep_refusal(&in, *out, err);
    }
    end_inference(&in);
    return st;
}

/* ---- CSV ---- */

/* What all files are read by. */
typedef struct reader {
    hr__csv_format *format;
    hr_csv_opts opts; /* their policy alone */
    char *quarantine_file;
} reader;

static void free_reader(void *user)
{
    reader *r = user;
    hr__csv_format_free(r->format);
    hr_free(r->quarantine_file);
    hr_free(r);
}

static hr_dataset *datasets_rows_of(const hr_element *element, void *user)
{
    char path[4096];
    const reader *r = user;
    return hr__csv_of_format(hr__byte_source_name(element, path, sizeof path), r->format, &r->opts);
}

static hr_status fill_reader(reader *r, const char *pattern, const hr_csv_opts *o, const hr_make_opts *m, hr_error *err)
{
    const char *file = o->policy.quarantine_file;
    if (file && !(r->quarantine_file = hr_strdup(file))) return hr_no_memory(err, "make_csv_dataset");
    r->opts = (hr_csv_opts){.struct_size = sizeof r->opts, .policy = o->policy};
    r->opts.policy.quarantine_file = r->quarantine_file;
    return o->column_count > 0 ? hr__csv_format_new(o, &r->format, err) : infer_format(pattern, o, m, &r->format, err);
}

hr_dataset *hr_make_csv_dataset_with(const char *pattern, int64_t batch_size, const hr_csv_opts *csv,
                                     const hr_make_opts *opts)
{
    const hr_make_opts make = HR_OPTIONS(hr_make_opts, opts);
    hr_csv_opts o = HR_OPTIONS(hr_csv_opts, csv);
    hr_error err;
    if (make.label) o.label = make.label;
    reader *r = hr_calloc(1, sizeof *r);
    hr_status st = r ? fill_reader(r, pattern, &o, &make, &err) : hr_no_memory(&err, "make_csv_dataset");
    if (st != HR_OK) {
        if (r) free_reader(r);
        return hr_dataset_failed(&err);
    }
    hr_dataset *ds = hr_interleave(files_of(pattern, &make), datasets_rows_of, r, .cycle_length = readers(&make),
                                   .unordered = make.sloppy, .user_free = free_reader);
    return hr_prefetch(shuffled_batches(ds, batch_size, &make), HR_AUTOTUNE);
}
