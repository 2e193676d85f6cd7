/* What is wanted of CSV files: the options, checked and copied once, or the columns that a header has. */
#include "base/hash_map.h"
#include "io/csv/csv.h"
#include "io/framing.h"
#include <stdlib.h>
#include <string.h>

static const char *dtypes = "int32, int64, uint64, float32, float64, bool or string";

bool hr__csv_has_type(hr_dtype d)
{
    return d == HR_INT32 || d == HR_INT64 || d == HR_UINT64 || d == HR_FLOAT || d == HR_DOUBLE || d == HR_BOOL ||
           d == HR_STRING;
}

static hr_status csv_format_copy_default(const hr_csv_column *from, hr__csv_column *to, hr_error *err)
{
    const hr_tensor *t = from->default_value;
    const char *name = from->name ? from->name : "";
    if (!t) return HR_OK;
    if (t->dtype != from->dtype || t->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.default",
                       "csv: column '%.60s': expected a default of one %s value, got %lld of %s", name,
                       hr_dtype_name(from->dtype), (long long)t->count, hr_dtype_name(t->dtype));
    to->has_default = true;
    memcpy(to->fill, t->data, to->width);
    if (from->dtype != HR_STRING) return HR_OK;
    hr_view view = *(const hr_view *)t->data;
    to->text = hr_calloc((size_t)view.size + 64, 1); /* readable bytes after it, as every string of a column has */
    if (!to->text) return hr_no_memory(err, "csv");
    if (view.size > 0) memcpy(to->text, view.data, (size_t)view.size);
    view.data = to->text;
    memcpy(to->fill, &view, sizeof view);
    return HR_OK;
}

static hr_status check_meaning(const hr_csv_column *from, hr__csv_column *to, hr_error *err)
{
    const char *name = from->name ? from->name : "";
    to->time = from->time;
    if (from->time != HR_CSV_NUMBER && (from->dtype != HR_INT64 || from->time > HR_CSV_NANOSECONDS))
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.dtype",
                       "csv: column '%.60s': expected .time of hr_csv_time and int64, got %d and %s", name,
                       (int)from->time, hr_dtype_name(from->dtype));
    if (from->separator && from->default_value)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.default",
                       "csv: column '%.60s': expected a default or a .separator, got both; an empty field is an empty "
                       "list",
                       name);
    return hr__csv_one_byte("separator", from->separator, 0, &to->separator, err);
}

static hr_status copy_column(const hr_csv_column *from, hr__csv_column *to, hr_error *err)
{
    if (!hr__csv_has_type(from->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.dtype", "csv: column '%.60s': expected %s, got %s",
                       from->name ? from->name : "", dtypes, hr_dtype_name(from->dtype));
    to->dtype = from->dtype;
    to->width = hr_dtype_size(from->dtype);
    if (from->dtype == HR_STRING) memcpy(to->fill, &(hr_view){"", 0}, sizeof(hr_view));
    HR_TRY(check_meaning(from, to, err));
    if (from->name && !(to->name = hr_strdup(from->name))) return hr_no_memory(err, "csv");
    return csv_format_copy_default(from, to, err);
}

static int *copy_places(const int *from, int count)
{
    int *to = hr_malloc((size_t)count * sizeof *to + 1);
    if (to && count > 0) memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

static hr_status refuse_places(hr_error *err, const char *what, const char *expected, long long got)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "csv.select", "csv: .%s: expected %s, got %lld", what, expected, got);
}

/* Places are given once each; TensorFlow also wants them to rise. */
static hr_status check_places(const int *place, int count, const char *what, bool rising, hr_error *err)
{
    for (int i = 0; i < count; i++) {
        if (place[i] < 0) return refuse_places(err, what, "places from 0 on", place[i]);
        if (rising && i > 0 && place[i] <= place[i - 1]) return refuse_places(err, what, "rising places", place[i]);
    }
    int *sorted = copy_places(place, count), twice = -1;
    if (!sorted) return hr_no_memory(err, "csv");
    qsort(sorted, (size_t)count, sizeof *sorted, hr__csv_compare_places);
    for (int i = 1; i < count && twice < 0; i++)
        if (sorted[i] == sorted[i - 1]) twice = sorted[i];
    hr_free(sorted);
    return twice < 0 ? HR_OK : refuse_places(err, what, "every place once", twice);
}

static hr_status copy_selection(const hr_csv_opts *o, hr__csv_format *f, hr_error *err)
{
    if (o->select_cols && o->exclude_cols)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.select",
                       "csv: expected .select_cols or .exclude_cols, got both; give one of them");
    f->selects = o->select_cols ? o->select_count : 0;
    f->excludes = o->exclude_cols ? o->exclude_count : 0;
    if (o->select_cols && o->select_count != o->column_count)
        return refuse_places(err, "select_cols", "one place a column", o->select_count);
    HR_TRY(check_places(o->select_cols, f->selects, "select_cols", o->tf_compat, err));
    HR_TRY(check_places(o->exclude_cols, f->excludes, "exclude_cols", o->tf_compat, err));
    if (o->select_cols && !(f->select = copy_places(o->select_cols, f->selects))) return hr_no_memory(err, "csv");
    if (o->exclude_cols && !(f->exclude = copy_places(o->exclude_cols, f->excludes))) return hr_no_memory(err, "csv");
    if (f->exclude) qsort(f->exclude, (size_t)f->excludes, sizeof *f->exclude, hr__csv_compare_places);
    return HR_OK;
}

static hr_status csv_format_check_names(const hr__csv_format *f, hr_error *err)
{
    hr__map seen = {0};
    hr_status st = HR_OK;
    for (int i = 0; i < f->columns && st == HR_OK; i++) {
        const char *name = f->column[i].name;
        if (f->by_name && (!name || !*name))
            st = hr_fail(err, HR_INVALID_ARGUMENT, "csv.columns", "csv: column %d has no name; give all or none", i);
        if (st == HR_OK && name) st = hr__map_add(&seen, name, strlen(name), i, err);
        if (st == HR_ALREADY_EXISTS)
            st = hr_fail(err, HR_INVALID_ARGUMENT, "csv.columns", "csv: column '%.60s' is there twice", name);
    }
    hr__map_free(&seen);
    return st;
}

static hr_status copy_columns(const hr_csv_opts *o, hr__csv_format *f, hr_error *err)
{
    HR_TRY(hr__csv_one_byte("separator", o->separator, 0, &f->separator, err));
    f->column = hr_calloc((size_t)o->column_count + 1, sizeof *f->column);
    if (!f->column) return hr_no_memory(err, "csv");
    for (; f->columns < o->column_count; f->columns++) {
        hr__csv_column *column = &f->column[f->columns];
        hr_status st = copy_column(&o->columns[f->columns], column, err);
        if (!column->separator && !column->has_default) column->separator = f->separator;
        f->lists |= column->separator != 0;
        if (st == HR_OK) continue;
        f->columns++; /* half made: free it, too */
        return st;
    }
    return HR_OK;
}

static hr_status copy_words(const hr_csv_opts *o, hr__csv_format *f, hr_error *err)
{
    HR_TRY(hr__csv_words_add(&f->na, &o->na_value, o->na_value && *o->na_value, err));
    HR_TRY(hr__csv_words_add(&f->na, o->na_values, o->na_value_count, err));
    HR_TRY(hr__csv_words_add(&f->yes, o->true_values, o->true_value_count, err));
    HR_TRY(hr__csv_words_add(&f->no, o->false_values, o->false_value_count, err));
    for (int i = 0; i < f->yes.count; i++)
        if (hr__csv_words_have(&f->no, f->yes.word[i].data, (size_t)f->yes.word[i].size))
            return hr_fail(err, HR_INVALID_ARGUMENT, "csv.words",
                           "csv: expected other .true_values than .false_values, got \"%.60s\" in both",
                           f->yes.word[i].data);
    return HR_OK;
}

static hr_status copy_dialect(const hr_csv_opts *o, hr__csv_format *f, hr_error *err)
{
    HR_TRY(hr__csv_dialect_make(o, &f->dialect, err));
    bool same = f->separator && f->separator == f->dialect.delimiter;
    for (int i = 0; i < f->columns; i++)
        same |= f->column[i].separator && f->column[i].separator == f->dialect.delimiter;
    if (same)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter",
                       "csv: expected a .separator other than the delimiter, got '%c' for both", f->dialect.delimiter);
    if (!o->comment) return HR_OK;
    f->dialect.comment = f->comment = hr_strdup(o->comment);
    return f->comment ? HR_OK : hr_no_memory(err, "csv");
}

static hr_status check_skips(const hr_csv_opts *o, hr_error *err)
{
    if (o->skip_lines < 0 || o->skip_rows < 0)
        return refuse_places(err, "skip_lines, .skip_rows", "a number from 0 on",
                             o->skip_lines < 0 ? o->skip_lines : o->skip_rows);
    if (o->skip_rows > 0 && (o->no_header || o->names))
        return refuse_places(err, "skip_rows", "a header to count from; .skip_lines counts from the top", o->skip_rows);
    return HR_OK;
}

static hr_status copy_options(const hr_csv_opts *o, hr__csv_format *f, hr_error *err)
{
    f->header = !o->no_header && !o->names;
    f->keep_missing = o->keep_missing;
    f->fill_short = o->fill_short_rows;
    f->cut_long = o->cut_long_rows;
    f->keep_blank = o->keep_blank_lines;
    f->quoted_never_missing = o->quoted_never_missing;
    f->strings_never_missing = o->strings_never_missing;
    f->check_utf8 = o->check_utf8;
    f->skip_lines = o->skip_lines;
    f->skip_rows = o->skip_rows;
    f->tf_compat = o->tf_compat;
    f->compression = o->compression;
    f->number_rules = true;
    f->max_row = (size_t)hr__record_limit(o->max_row_bytes);
    if (o->label && !(f->label = hr_strdup(o->label))) return hr_no_memory(err, "csv");
    HR_TRY(check_skips(o, err));
    HR_TRY(hr__csv_naming_make(o, &f->naming, err));
    HR_TRY(copy_columns(o, f, err));
    HR_TRY(copy_dialect(o, f, err));
    HR_TRY(copy_words(o, f, err));
    HR_TRY(copy_selection(o, f, err));
    f->by_name = (f->header || o->names) && !o->select_cols && !o->exclude_cols && f->columns > 0 && f->column[0].name;
    return csv_format_check_names(f, err);
}

hr_status hr__csv_format_new(const hr_csv_opts *opts, hr__csv_format **out, hr_error *err)
{
    hr__csv_format *f = hr_calloc(1, sizeof *f);
    *out = NULL;
    if (!f) return hr_no_memory(err, "csv");
    hr_status st = copy_options(opts, f, err);
    if (st != HR_OK) {
        hr__csv_format_free(f);
        return st;
    }
    *out = f;
    return HR_OK;
}

void hr__csv_format_free(hr__csv_format *f)
{
    if (!f) return;
    for (int i = 0; i < f->columns; i++) {
        hr_free(f->column[i].name);
        hr_free(f->column[i].text);
    }
    hr_free(f->column);
    hr__csv_naming_clear(&f->naming);
    hr__csv_words_clear(&f->na);
    hr__csv_words_clear(&f->yes);
    hr__csv_words_clear(&f->no);
    hr_free(f->comment);
    hr_free(f->label);
    hr_free(f->select);
    hr_free(f->exclude);
    hr_free(f->refused);
    hr_free(f);
}

/* ---- columns that nobody described ---- */

/* An empty field of a column that nobody described is the empty string, or the empty list. */
static hr_status columns_from_names(const hr__csv_names *n, hr__csv_format *f, hr_error *err)
{
    f->column = hr_calloc((size_t)n->count, sizeof *f->column);
    if (!f->column) return hr_no_memory(err, "csv");
    for (int i = 0; i < n->count; i++) {
        if (!*n->name[i] || hr__csv_excludes(f, i)) continue;
        hr__csv_column *column = &f->column[f->columns++];
        HR_TRY(copy_column(&(hr_csv_column){.name = n->name[i], .dtype = HR_STRING}, column, err));
        column->nameless = hr__csv_name_is_made(n, i);
        column->separator = f->separator;
        column->has_default = !f->separator;
    }
    f->lists = f->separator != 0;
    f->by_name = true;
    return HR_OK;
}

hr_status hr__csv_format_name(hr__csv_format *f, const char *path, const char *row, size_t size, hr_error *err)
{
    hr__csv_names n;
    if (size == 0 && f->naming.names == 0) {
        hr_fail(err, HR_INVALID_ARGUMENT, "csv.header", "%s: expected a %s, found an empty file", path,
                f->header ? "header" : "row, by which columns are counted");
        hr_error_file(err, path);
        return HR_INVALID_ARGUMENT;
    }
    HR_TRY(hr__csv_names_make(f, path, row, size, &n, err));
    hr_status st = hr__csv_names_differ(f, path, &n, err);
    if (st == HR_OK) {
        hr_free(f->column);
        f->column = NULL;
        f->columns = 0;
        st = columns_from_names(&n, f, err);
    }
    hr__csv_names_clear(&n);
    return st;
}
