/* Finds the columns of a file, by their names there or by place. */
#include "base/hash_map.h"
#include "io/csv/csv.h"
#include <limits.h>
#include <string.h>

static hr_status column_twice(const hr__csv_format *f, const char *file, const char *name, const hr__csv_names *n,
                              hr_error *err)
{
    int place[2], found = 0;
    for (int k = 0; k < n->count && found < 2; k++)
        if (!hr__csv_excludes(f, k) && strcmp(n->name[k], name) == 0) place[found++] = k;
    return hr__csv_called_alike(f, file, name, place[0], place[1], err);
}

/* The fields of the header by name, without those that are excluded; those of a name that is there twice are TWICE. */
enum { TWICE = -1 };

static hr_status index_names(const hr__csv_format *f, const hr__csv_names *n, hr__map *places, hr_error *err)
{
    HR_TRY(hr__map_reserve(places, (uint32_t)n->count, err));
    for (int k = 0; k < n->count; k++) {
        const size_t size = strlen(n->name[k]);
        if (hr__csv_excludes(f, k)) continue;
        hr_status st = hr__map_add(places, n->name[k], size, k, err);
        if (st == HR_ALREADY_EXISTS) st = hr__map_set(places, n->name[k], size, TWICE, err);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_status find_column(const hr__csv_format *f, const char *file, const char *name, const hr__csv_names *n,
                             const hr__map *places, int *place, hr_error *err)
{
    const int64_t *found = hr__map_find(places, name, strlen(name));
    if (!found) return hr__csv_no_such_column(f, file, name, n, err);
    if (*found == TWICE) return column_twice(f, file, name, n, err);
    *place = (int)*found;
    return HR_OK;
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
    out->max = f->select ? INT_MAX : next;
    return HR_OK;
}

static hr_status layout_by_name(const hr__csv_format *f, const char *file, const hr__csv_names *n, hr__csv_layout *out,
                                hr_error *err)
{
    HR_TRY(allocate_layout(f, n->count, out, err));
    out->max = f->tf_compat && f->columns < n->count ? INT_MAX : n->count;
    hr__map places = {0};
    hr_status st = index_names(f, n, &places, err);
    for (int i = 0; i < f->columns && st == HR_OK; i++) {
        if (f->optional == i + 1 && !hr__map_find(&places, f->column[i].name, strlen(f->column[i].name))) {
            out->place[i] = -1;
            out->absent = i + 1;
            continue;
        }
        st = find_column(f, file, f->column[i].name, n, &places, &out->place[i], err);
        if (st == HR_OK) out->column_at[out->place[i]] = i;
    }
    hr__map_free(&places);
    if (st != HR_OK) {
        hr__csv_layout_clear(out);
        return st;
    }
    for (int i = n->count - 1; out->max == INT_MAX && i >= 0 && out->column_at[i] < 0; i--) out->fields = i;
    return HR_OK;
}

hr_status hr__csv_layout_make(const hr__csv_format *f, const char *file, const char *row, size_t size,
                              hr__csv_layout *out, hr_error *err)
{
    *out = (hr__csv_layout){0};
    if (f->by_name && row) {
        hr__csv_names n;
        HR_TRY(hr__csv_names_make(f, file, row, size, &n, err));
        hr_status st = layout_by_name(f, file, &n, out, err);
        hr__csv_names_clear(&n);
        HR_TRY(st);
    } else {
        int count = 0;
        if (row) HR_TRY(hr__csv_count_names(&f->dialect, file, row, size, &count, err));
        HR_TRY(layout_by_place(f, out, err));
        /* A caller that only counts rows treats blank lines as all others do: in a file of one column they are rows,
         * unless a blank line is all there is to tell the number of columns. */
        if (f->columns == 0) out->max = f->naming.names ? f->naming.names : f->header || size > 0 ? count : INT_MAX;
    }
    out->skip_blank = !f->tf_compat && !f->keep_blank && (out->max > 1 || f->exclude);
    return HR_OK;
}

void hr__csv_layout_clear(hr__csv_layout *layout)
{
    hr_free(layout->place);
    *layout = (hr__csv_layout){0};
}
