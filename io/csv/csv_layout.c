/* Where a file has the columns: by the names in its header, or by place. */
#include "base/config.h"
#include "io/csv/csv.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- the header ---- */

static hr_status quote_fault(const char *file, hr_error *err)
{
    hr_status st = hr_fail(err, HR_INVALID_ARGUMENT, "csv.quote",
                           "%s:1: header: expected sound quotes; double a quote within a quoted field", file);
    hr_error_file(err, file);
    if (err) err->line = 1;
    return st;
}

/* Gives the number of fields (`count` NULL: nobody asks), or what is wrong with their quotes. */
static hr_status check_header(const hr__csv_dialect *d, const char *file, const char *header, size_t size, int *count,
                              hr_error *err)
{
    hr__csv_field field = {0};
    int n = 0;
    for (size_t at = 0; !field.last; at = field.next, n++) {
        hr__csv_scan_field(d, header, size, at, &field);
        if (field.fault != HR__CSV_SOUND) return quote_fault(file, err);
    }
    if (count) *count = n;
    return HR_OK;
}

/* Gives the size. */
static size_t copy_content(const hr__csv_dialect *d, const char *header, const hr__csv_field *field, char *to)
{
    const size_t size = field->end - field->begin;
    if (field->doubled) return hr__csv_unquote(d, header + field->begin, size, to);
    if (size > 0) memcpy(to, header + field->begin, size);
    return size;
}

hr_status hr__csv_read_names(const hr__csv_dialect *d, const char *file, const char *header, size_t size,
                             hr__csv_names *out, hr_error *err)
{
    HR_TRY(check_header(d, file, header, size, &out->count, err));
    out->name = hr_calloc(1, (size_t)out->count * (sizeof(char *) + 1) + size);
    if (!out->name) return hr_no_memory(err, "csv");
    char *text = (char *)(out->name + out->count);
    hr__csv_field field = {0};
    for (int i = 0; i < out->count; i++) {
        hr__csv_scan_field(d, header, size, field.next, &field);
        out->name[i] = text;
        text += copy_content(d, header, &field, text) + 1;
    }
    return HR_OK;
}

static hr_status no_such_column(const char *file, const char *name, const hr__csv_names *n, hr_error *err)
{
    const char *near = hr__suggest(name, (const char *const *)n->name, n->count);
    hr_fail(err, HR_INVALID_ARGUMENT, "csv.column",
            "%s:1: expected a column '%.60s' in the header of %d columns, found none%s%.60s%s", file, name, n->count,
            near ? "; did you mean '" : "; look at its first line", near ? near : "", near ? "'?" : "");
    hr_error_file(err, file);
    if (err) {
        err->line = 1;
        snprintf(err->feature, sizeof err->feature, "%s", name);
    }
    return HR_INVALID_ARGUMENT;
}

static hr_status find_column(const char *file, const char *name, const hr__csv_names *n, int *place, hr_error *err)
{
    *place = -1;
    for (int k = 0; k < n->count; k++) {
        if (strcmp(n->name[k], name) != 0) continue;
        if (*place >= 0) {
            hr_fail(err, HR_INVALID_ARGUMENT, "csv.column",
                    "%s:1: column '%.60s' is in the header twice, as fields %d and %d; select it by place", file, name,
                    *place, k);
            hr_error_file(err, file);
            return HR_INVALID_ARGUMENT;
        }
        *place = k;
    }
    return *place < 0 ? no_such_column(file, name, n, err) : HR_OK;
}

/* ---- where a file has the columns ---- */

static hr_status allocate_layout(const hr__csv_format *f, int fields, hr__csv_layout *out, hr_error *err)
{
    out->fields = fields;
    out->place = hr_malloc(((size_t)f->columns + (size_t)fields + 1) * sizeof *out->place);
    if (!out->place) return hr_no_memory(err, "csv");
    out->column_at = out->place + f->columns;
    for (int i = 0; i < fields; i++) out->column_at[i] = -1;
    return HR_OK;
}

/* Columns by place: as selected, or those that are not excluded, or all in order. */
static hr_status layout_by_place(const hr__csv_format *f, hr__csv_layout *out, hr_error *err)
{
    int fields = 0;
    for (int i = 0; i < f->selects; i++)
        if (f->select[i] >= fields) fields = f->select[i] + 1;
    if (!f->select) fields = f->columns + f->excludes;
    HR_TRY(allocate_layout(f, fields, out, err));
    int next = 0;
    for (int i = 0; i < f->columns; i++) {
        while (hr__csv_excludes(f, next)) next++;
        out->place[i] = f->select ? f->select[i] : next++;
        out->column_at[out->place[i]] = i;
    }
    out->fields = f->select ? fields : next;
    while (hr__csv_excludes(f, next)) next++;
    out->most = f->select ? INT_MAX : next;
    return HR_OK;
}

static hr_status layout_by_name(const hr__csv_format *f, const char *file, const hr__csv_names *n, hr__csv_layout *out,
                                hr_error *err)
{
    HR_TRY(allocate_layout(f, n->count, out, err));
    out->most = f->tf_compat && f->columns < n->count ? INT_MAX : n->count;
    for (int i = 0; i < f->columns; i++) {
        hr_status st = find_column(file, f->column[i].name, n, &out->place[i], err);
        if (st != HR_OK) {
            hr__csv_layout_clear(out);
            return st;
        }
        out->column_at[out->place[i]] = i;
    }
    for (int i = n->count - 1; out->most == INT_MAX && i >= 0 && out->column_at[i] < 0; i--) out->fields = i;
    return HR_OK;
}

hr_status hr__csv_layout_make(const hr__csv_format *f, const char *file, const char *header, size_t size,
                              hr__csv_layout *out, hr_error *err)
{
    *out = (hr__csv_layout){0};
    if (f->by_name && header) {
        hr__csv_names n = {0};
        HR_TRY(hr__csv_read_names(&f->dialect, file, header, size, &n, err));
        hr_status st = layout_by_name(f, file, &n, out, err);
        hr_free(n.name);
        HR_TRY(st);
    } else {
        if (header) HR_TRY(check_header(&f->dialect, file, header, size, NULL, err));
        HR_TRY(layout_by_place(f, out, err));
    }
    out->skip_blank = !f->tf_compat && !f->keep_blank && (out->most > 1 || f->exclude);
    return HR_OK;
}

void hr__csv_layout_clear(hr__csv_layout *layout)
{
    hr_free(layout->place);
    *layout = (hr__csv_layout){0};
}
