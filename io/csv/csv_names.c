/* What the columns of a file are called: as its header or .names say, column_N where that is nothing, and then as
 * .rename and .drop say. */
#include "base/config.h"
#include "base/hash_map.h"
#include "base/number.h"
#include "io/csv/csv.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_NAME = 24 }; /* bytes of "column_N" */

int hr__csv_compare_places(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

bool hr__csv_excludes(const hr__csv_format *f, int place)
{
    return f->exclude && bsearch(&place, f->exclude, (size_t)f->excludes, sizeof *f->exclude, hr__csv_compare_places);
}

/* ---- the options ---- */

/* "OLD=NEW"; the last = divides. */
static hr_status naming_add_rename(hr__csv_naming *n, const char *text, hr_error *err)
{
    const char *equals = text ? strrchr(text, '=') : NULL;
    if (!equals || equals == text || !equals[1])
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.rename",
                       "csv: .rename: expected OLD=NEW, got \"%.60s\"; \"#3=NEW\" names the column at place 3, from 0",
                       text ? text : "");
    char *from = hr_strdup(text);
    if (!from) return hr_no_memory(err, "csv");
    from[equals - text] = '\0';
    n->rename[n->renames++] = (hr__csv_rename){from, from + (equals - text) + 1};
    return HR_OK;
}

static bool are_there(const char *const *texts, int count)
{
    bool there = count >= 0 && (count == 0 || texts);
    for (int i = 0; i < count && there; i++) there = texts[i] != NULL;
    return there;
}

hr_status hr__csv_naming_make(const hr_csv_opts *o, hr__csv_naming *n, hr_error *err)
{
    if ((o->names && !are_there(o->names, o->name_count)) || !are_there(o->drop, o->drop_count) ||
        !are_there(o->rename, o->rename_count))
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.column", "csv: .names, .rename, .drop: expected names, got NULL");
    n->name = o->names ? hr_calloc((size_t)o->name_count + 1, sizeof *n->name) : NULL;
    n->rename = hr_calloc((size_t)o->rename_count + (size_t)o->drop_count + 1, sizeof *n->rename);
    if ((o->names && !n->name) || !n->rename) return hr_no_memory(err, "csv");
    for (; o->names && n->names < o->name_count; n->names++)
        if (!(n->name[n->names] = hr_strdup(o->names[n->names]))) return hr_no_memory(err, "csv");
    for (int i = 0; i < o->rename_count; i++) HR_TRY(naming_add_rename(n, o->rename[i], err));
    for (int i = 0; i < o->drop_count; i++) {
        char *from = hr_strdup(o->drop[i]);
        if (!from) return hr_no_memory(err, "csv");
        n->rename[n->renames++] = (hr__csv_rename){from, NULL};
    }
    return HR_OK;
}

void hr__csv_naming_clear(hr__csv_naming *n)
{
    for (int i = 0; i < n->names; i++) hr_free(n->name[i]);
    for (int i = 0; i < n->renames; i++) hr_free(n->rename[i].from);
    hr_free(n->name);
    hr_free(n->rename);
}

/* ---- a row of names ---- */

static hr_status refuse_quotes(const char *file, hr_error *err)
{
    hr_status st = hr_fail(err, HR_INVALID_ARGUMENT, "csv.quote",
                           "%s:1: header: expected correct quotes; double a quote within a quoted field", file);
    hr_error_file(err, file);
    if (err) err->line = 1;
    return st;
}

hr_status hr__csv_count_names(const hr__csv_dialect *d, const char *file, const char *row, size_t size, int *count,
                              hr_error *err)
{
    hr__csv_field field = {0};
    *count = 0;
    for (size_t at = 0; !field.last; at = field.next, ++*count) {
        hr__csv_scan_field(d, row, size, at, &field);
        if (field.fault != HR__CSV_SOUND) return refuse_quotes(file, err);
    }
    return HR_OK;
}

/* Gives the size. */
static size_t copy_content(const hr__csv_dialect *d, const char *row, const hr__csv_field *field, char *to)
{
    const size_t size = field->end - field->begin;
    if (field->doubled) return hr__csv_unquote(d, row + field->begin, size, to);
    if (size > 0) memcpy(to, row + field->begin, size);
    return size;
}

/* Names in the order of the file, those of its header or of .names; without either, all are empty. */
static hr_status take_names(const hr__csv_format *f, const char *file, const char *row, size_t size, hr__csv_names *out,
                            hr_error *err)
{
    const hr__csv_naming *naming = &f->naming;
    hr__csv_field field = {0};
    out->count = naming->names;
    if (naming->names == 0) HR_TRY(hr__csv_count_names(&f->dialect, file, row, size, &out->count, err));
    const size_t count = (size_t)out->count;
    out->name = hr_calloc(1, count * (sizeof(char *) + 1) + size);
    if (!out->name) return hr_no_memory(err, "csv");
    char *text = (char *)(out->name + count);
    for (size_t i = 0; i < count; i++) {
        if (naming->names > 0 || !f->header) {
            out->name[i] = naming->names > 0 ? naming->name[i] : "";
            continue;
        }
        hr__csv_scan_field(&f->dialect, row, size, field.next, &field);
        out->name[i] = text;
        text += copy_content(&f->dialect, row, &field, text) + 1;
    }
    return HR_OK;
}

static hr_status number_nameless(hr__csv_names *n, hr_error *err)
{
    size_t nameless = 0;
    for (int i = 0; i < n->count; i++) nameless += n->name[i][0] == '\0';
    if (nameless == 0) return HR_OK;
    char *text = n->made = hr_malloc(nameless * MADE_NAME);
    if (!text) return hr_no_memory(err, "csv");
    n->made_size = nameless * MADE_NAME;
    for (int i = 0; i < n->count; i++) {
        if (n->name[i][0] != '\0') continue;
        snprintf(text, MADE_NAME, "column_%d", i);
        n->name[i] = text;
        text += MADE_NAME;
    }
    return HR_OK;
}

bool hr__csv_name_is_made(const hr__csv_names *n, int place)
{
    const char *name = n->name[place];
    return n->made && name >= n->made && name < n->made + n->made_size;
}

/* ---- .rename and .drop ---- */

static hr_status refuse_at_header(hr_error *err, const char *file, const char *name)
{
    hr_error_file(err, file);
    if (!err) return HR_INVALID_ARGUMENT;
    err->line = 1;
    snprintf(err->feature, sizeof err->feature, "%s", name);
    return HR_INVALID_ARGUMENT;
}

/* "#3": 3; -1 for anything else. */
static int64_t csv_names_place_of(const char *text)
{
    int64_t place;
    if (text[0] != '#' || hr__parse_int64(text + 1, strlen(text + 1), HR__NUMBER_DEFAULT, &place) != HR__PARSED)
        return -1;
    return place;
}

/* What may be done about a name that no column has. */
static void advise(const hr__csv_format *f, const char *name, const hr__csv_names *n, char *text, size_t size)
{
    const char *near = hr_suggest(name, n->name, n->count);
    text[0] = '\0';
    if (csv_names_place_of(name) >= 0)
        snprintf(text, size, "; places count from 0, the last one is #%d", n->count - 1);
    else if (near)
        snprintf(text, size, "; did you mean '%.60s'?", near);
    else if (f->header)
        snprintf(text, size, "; is its first line a header? .no_header makes it a row");
}

static hr_status csv_names_refuse_name(const hr__csv_format *f, const char *file, const char *name,
                                       const hr__csv_names *n, const char *advice, hr_error *err)
{
    const char *place = f->header ? "in the header" : "by .names or after their places";
    hr_fail(err, HR_INVALID_ARGUMENT, "csv.column", "%s:1: expected a column '%.60s' %s, found %d others%s", file, name,
            place, n->count, advice);
    return refuse_at_header(err, file, name);
}

hr_status hr__csv_no_such_column(const hr__csv_format *f, const char *file, const char *name, const hr__csv_names *n,
                                 hr_error *err)
{
    const hr__csv_rename *r = f->naming.rename, *end = r + f->naming.renames;
    char advice[128];
    while (r < end && strcmp(r->from, name) != 0) r++;
    if (r == end)
        advise(f, name, n, advice, sizeof advice);
    else
        snprintf(advice, sizeof advice, r->to ? "; .rename calls it '%.60s'" : "; .drop leaves it out", r->to);
    return csv_names_refuse_name(f, file, name, n, advice, err);
}

hr_status hr__csv_called_alike(const hr__csv_format *f, const char *file, const char *name, int a, int b, hr_error *err)
{
    hr_fail(err, HR_INVALID_ARGUMENT, "csv.column",
            "%s:1: columns %d and %d, counted from 0, are both called '%.60s'; give one of them another name, .rename "
            "\"#%d=NEW\", or .drop \"#%d\"%s",
            file, a, b, name, b, b, f->header ? "; if the first line is not a header, .no_header" : "");
    return refuse_at_header(err, file, name);
}

/* The names before, by which columns are found. */
typedef struct names_before {
    hr__csv_names names;
    hr__map place; /* 1 + the first of a name */
    int *next;     /* by place: 1 + the next one of this name; 0: none */
} names_before;

static hr_status keep_names(const hr__csv_names *n, names_before *was, hr_error *err)
{
    was->names = *n;
    was->names.name = hr_memdup(n->name, (size_t)n->count * sizeof *n->name);
    was->next = hr_calloc((size_t)n->count + 1, sizeof *was->next);
    if (!was->names.name || !was->next) return hr_no_memory(err, "csv");
    for (int i = n->count; i-- > 0;) {
        was->next[i] = hr__map_index(&was->place, n->name[i]);
        if (was->next[i] < 0) was->next[i] = 0;
        HR_TRY(hr__map_set(&was->place, n->name[i], strlen(n->name[i]), i + 1, err));
    }
    return HR_OK;
}

static void forget_names(names_before *was)
{
    hr_free(was->names.name);
    hr_free(was->next);
    hr__map_free(&was->place);
}

/* Names one column, or drops all of this name. */
static hr_status rename_column(const hr__csv_format *f, const char *file, const hr__csv_rename *r,
                               const names_before *before, hr__csv_names *out, hr_error *err)
{
    const hr__csv_names *was = &before->names;
    const int first = hr__map_index(&before->place, r->from);
    for (int i = first; i > 0; i = before->next[i - 1]) {
        if (r->to && i != first) return hr__csv_called_alike(f, file, r->from, first - 1, i - 1, err);
        out->name[i - 1] = r->to ? r->to : "";
    }
    if (first > 0) return HR_OK;
    const int64_t place = csv_names_place_of(r->from);
    if (place < 0 || place >= was->count) {
        char advice[128];
        advise(f, r->from, was, advice, sizeof advice);
        return csv_names_refuse_name(f, file, r->from, was, advice, err);
    }
    out->name[place] = r->to ? r->to : "";
    return HR_OK;
}

static hr_status rename_columns(const hr__csv_format *f, const char *file, hr__csv_names *n, hr_error *err)
{
    if (f->naming.renames == 0) return HR_OK;
    names_before was = {0};
    hr_status st = keep_names(n, &was, err);
    for (int i = 0; st == HR_OK && i < f->naming.renames; i++)
        st = rename_column(f, file, &f->naming.rename[i], &was, n, err);
    forget_names(&was);
    return st;
}

/* ---- all of it ---- */

hr_status hr__csv_names_make(const hr__csv_format *f, const char *file, const char *row, size_t size,
                             hr__csv_names *out, hr_error *err)
{
    *out = (hr__csv_names){0};
    hr_status st = take_names(f, file, row, size, out, err);
    if (st == HR_OK) st = number_nameless(out, err);
    if (st == HR_OK) st = rename_columns(f, file, out, err);
    if (st != HR_OK) hr__csv_names_clear(out);
    return st;
}

void hr__csv_names_clear(hr__csv_names *n)
{
    hr_free(n->name);
    hr_free(n->made);
    *n = (hr__csv_names){0};
}

hr_status hr__csv_names_differ(const hr__csv_format *f, const char *file, const hr__csv_names *n, hr_error *err)
{
    hr__map places = {0};
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < n->count; i++) {
        if (!*n->name[i] || hr__csv_excludes(f, i)) continue;
        st = hr__map_add(&places, n->name[i], strlen(n->name[i]), i, err);
        if (st != HR_ALREADY_EXISTS) continue;
        const int64_t *first = hr__map_find(&places, n->name[i], strlen(n->name[i]));
        st = hr__csv_called_alike(f, file, n->name[i], (int)*first, i, err);
    }
    hr__map_free(&places);
    return st;
}
