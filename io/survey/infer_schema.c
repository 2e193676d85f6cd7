/* Types of fields from the data: every record is looked at. A type is decided by the first record that no narrower one
 * can hold, and that record is named. Empty fields say nothing. */
#include "base/digits.h"
#include "base/number.h"
#include "base/text.h"
#include "io/convert/format.h"
#include "io/number_text.h"
#include "io/survey/feature_table.h"
#include "io/survey/survey.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What has been seen of a field, from narrow to wide; a field may be all of them. Of a CSV, besides: whole numbers
 * that are written with a point, 7.0; such of any form as float32 does not hold all of; and numbers of more digits than
 * float32 keeps. */
enum { WHOLE, REAL, TEXT, KINDS, POINT = KINDS, BEYOND, ROUNDED, SEEN };
enum { FLOAT_WHOLE = 1 << 24 /* up to here float32 holds every whole number */ };

typedef struct seen {
    int file[SEEN]; /* where each was seen first; -1: nowhere */
    int64_t record[SEEN];
    char sample[SEEN][32];
    int64_t records, values, shortest, longest;
    int64_t rounded; /* values that float32 would round */
    bool list;       /* of a SequenceExample */
} seen;

typedef struct slot {
    hr__feature_table table;
    bool csv;  /* values are texts that may be numbers */
    bool json; /* a whole number may be a float's */
    int64_t records;
} slot;

/* ---- one value ---- */

static int kind_of_dtype(hr_dtype dtype) { return dtype == HR_INT64 ? WHOLE : dtype == HR_FLOAT ? REAL : TEXT; }

static bool has_zeros_in_front(const char *p, const char *end)
{
    hr__trim(&p, &end);
    if (p < end && (*p == '-' || *p == '+')) p++;
    return end - p > 1 && p[0] == '0' && hr__is_digit(p[1]);
}

/* A number with zeros in front is a code, one that int64 cannot hold an id, and one beyond what float32 holds would
 * become infinite: all stay text, with all their digits. */
static int kind_of_text(hr_view v, int64_t *whole)
{
    float real;
    const size_t size = (size_t)v.size, whole_size = hr__whole_size(v.data, size);
    *whole = 0;
    if (has_zeros_in_front(v.data, v.data + size)) return TEXT;
    hr__parsed parsed = hr__parse_int64(v.data, whole_size, HR__NUMBER_DEFAULT, whole);
    if (parsed != HR__NO_NUMBER) return parsed != HR__PARSED ? TEXT : whole_size == size ? WHOLE : POINT;
    if (hr__parse_float(v.data, size, HR__NUMBER_DEFAULT, &real) != HR__PARSED) return TEXT;
    return isinf(real) && hr__is_numeral(v.data, size) ? TEXT : REAL;
}

static void put_sample(char sample[32], const hr__values *t, int64_t i)
{
    if (t->dtype == HR_INT64) {
        snprintf(sample, 32, "%" PRId64, ((const int64_t *)t->data)[i]);
    } else if (t->dtype == HR_FLOAT) {
        hr__format_float(((const float *)t->data)[i], sample);
    } else {
        hr_view v = ((const hr_view *)t->data)[i];
        const int size = v.size < 24 ? (int)v.size : 24;
        snprintf(sample, 32, "%.*s", hr__is_utf8(v.data, (size_t)size) ? size : 0, v.data ? v.data : "");
        for (char *c = sample; *c; c++)
            if ((unsigned char)*c < 0x20) *c = '.';
    }
}

static void note_kind(seen *s, int kind, const hr__survey_place *at, const hr__values *t, int64_t i)
{
    if (s->file[kind] >= 0) return;
    s->file[kind] = at->file;
    s->record[kind] = at->record;
    put_sample(s->sample[kind], t, i);
}

/* A value of a CSV. */
static void note_text(seen *s, const hr__survey_place *at, const hr__values *t, int64_t i)
{
    int64_t whole;
    const hr_view text = ((const hr_view *)t->data)[i];
    const int kind = kind_of_text(text, &whole);
    note_kind(s, kind, at, t, i);
    if (whole > FLOAT_WHOLE || whole < -FLOAT_WHOLE) note_kind(s, BEYOND, at, t, i);
    if (kind == TEXT || !hr__float_rounds(text.data, (size_t)text.size)) return;
    note_kind(s, ROUNDED, at, t, i);
    s->rounded++;
}

/* The values of a CSV are texts, each of which says something; else all of them are of one kind. */
static void infer_schema_note_values(const slot *w, seen *s, const hr__survey_place *at, const hr__values *values)
{
    if (values->dtype == HR_INVALID_DTYPE) return;
    if (s->records == 0 || values->count < s->shortest) s->shortest = values->count;
    if (values->count > s->longest) s->longest = values->count;
    s->records++;
    s->values += values->count;
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    if (values->count > 0 && !w->csv) note_kind(s, kind_of_dtype(values->dtype), at, hr__blocks_next(&blocks), 0);
    for (const hr__values *t; w->csv && (t = hr__blocks_next(&blocks));)
        for (int64_t i = 0; i < t->count && s->file[TEXT] < 0; i++) note_text(s, at, t, i);
}

/* ---- records ---- */

static hr_status infer_schema_find(slot *w, hr_view key, int64_t guess, seen **out, hr_error *err)
{
    bool is_new;
    void *entry;
    HR_TRY(hr__feature_find(&w->table, key, guess, &entry, &is_new, err));
    *out = entry;
    if (is_new)
        for (int k = 0; k < SEEN; k++) (*out)->file[k] = -1;
    return HR_OK;
}

static hr_status infer_schema_note(void *user, const hr__survey_place *at, const hr__walk_contents *c, hr_error *err)
{
    slot *w = user;
    seen *s;
    w->records++;
    w->csv = at->csv;
    w->json = at->line >= 0;
    for (int64_t i = 0; i < c->features; i++) {
        HR_TRY(hr__survey_go_on(at->survey, i, err));
        HR_TRY(infer_schema_find(w, c->feature[i].key, i, &s, err));
        infer_schema_note_values(w, s, at, &c->feature[i].values);
    }
    for (int64_t i = 0; i < c->lists; i++) {
        HR_TRY(infer_schema_find(w, c->list[i].key, c->features + i, &s, err));
        s->list = true;
        for (int64_t k = 0; k < c->list[i].steps; k++) infer_schema_note_values(w, s, at, &c->list[i].step[k]);
    }
    return HR_OK;
}

/* ---- all slots together ---- */

static bool is_before(const seen *a, const seen *b, int kind)
{
    if (a->file[kind] < 0 || b->file[kind] < 0) return b->file[kind] < 0 && a->file[kind] >= 0;
    return a->file[kind] != b->file[kind] ? a->file[kind] < b->file[kind] : a->record[kind] < b->record[kind];
}

static hr_status infer_schema_merge(slot *to, const slot *from, const hr__survey *survey, hr_error *err)
{
    to->records += from->records;
    to->csv |= from->csv;
    to->json |= from->json;
    for (int64_t i = 0; i < hr__features(&from->table); i++) {
        const seen *b = (const seen *)from->table.entry[i];
        seen *a;
        HR_TRY(hr__survey_go_on(survey, i, err));
        HR_TRY(infer_schema_find(to, hr__feature_key(&from->table, i), i, &a, err));
        for (int k = 0; k < SEEN; k++) {
            if (!is_before(b, a, k)) continue;
            a->file[k] = b->file[k];
            a->record[k] = b->record[k];
            memcpy(a->sample[k], b->sample[k], sizeof a->sample[k]);
        }
        if (b->records > 0 && (a->records == 0 || b->shortest < a->shortest)) a->shortest = b->shortest;
        if (b->longest > a->longest) a->longest = b->longest;
        a->records += b->records;
        a->values += b->values;
        a->rounded += b->rounded;
        a->list |= b->list;
    }
    return HR_OK;
}

static bool infer_schema_is_number(const char *name)
{
    double value;
    return hr__parse_double(name, strlen(name), HR__NUMBER_DEFAULT, &value) == HR__PARSED && isfinite(value);
}

/* Columns that are empty throughout are fields, too. A header with a number in it may be a row. */
static hr_status note_header(void *user, const hr__survey_place *at, const hr__csv_format *format, hr_error *err)
{
    slot *w = user;
    seen *s;
    int nameless = 0;
    const char *first = "", *number = NULL;
    for (int i = 0; i < format->columns; i++) {
        const hr__csv_column *column = &format->column[i];
        HR_TRY(infer_schema_find(w, (hr_view){column->name, (int64_t)strlen(column->name)}, i, &s, err));
        if (column->nameless && nameless++ == 0) first = column->name;
        if (!number && infer_schema_is_number(column->name)) number = column->name;
    }
    if (number && format->header)
        hr_log_message(HR_INFO, "%s: the header calls a column '%.40s'; if that line is a row: .no_header", at->path,
                       number);
    if (format->columns == 1 && format->header && strpbrk(format->column[0].name, ";\t|"))
        hr_log_message(HR_INFO, "%s: the header is one column, '%.60s'; is '%c' the delimiter? Then say so", at->path,
                       format->column[0].name, *strpbrk(format->column[0].name, ";\t|"));
    if (nameless == 1 && format->header)
        hr_log_message(HR_INFO, "%s: a column has no name in the header; it is called %s, after its place", at->path,
                       first);
    if (nameless > 1 && format->header)
        hr_log_message(HR_INFO,
                       "%s: %d columns have no name in the header; they are called %s and so on, after their "
                       "places",
                       at->path, nameless, first);
    return HR_OK;
}

/* ---- the schema ---- */

/* Whole numbers with a point are float32 as long as it holds them all. */
static int widest(const seen *s)
{
    int kind = KINDS - 1;
    if (s->file[POINT] >= 0 && s->file[TEXT] < 0 && s->file[REAL] < 0) return s->file[BEYOND] >= 0 ? WHOLE : REAL;
    while (kind > 0 && s->file[kind] < 0) kind--;
    return s->file[kind] < 0 ? TEXT : kind;
}

/* In a CSV a narrow value may stand in a wide field; records of several kinds contradict one another, but for the whole
 * numbers among a float's in JSON. */
static bool contradicts(const slot *w, const seen *s)
{
    if (w->json && s->file[TEXT] < 0) return false;
    return !w->csv && (s->file[WHOLE] >= 0) + (s->file[REAL] >= 0) + (s->file[TEXT] >= 0) > 1;
}

/* What decided for the kind: of whole numbers with a point, that float32 does not hold one of them, or the point. */
static int decided_by(const seen *s, int kind)
{
    if (kind == WHOLE && s->file[POINT] >= 0) return BEYOND;
    if (kind != REAL || s->file[POINT] < 0 || s->file[REAL] < 0)
        return kind == REAL && s->file[REAL] < 0 ? POINT : kind;
    const bool point =
        s->file[POINT] != s->file[REAL] ? s->file[POINT] < s->file[REAL] : s->record[POINT] < s->record[REAL];
    return point ? POINT : REAL;
}

static void add_place(hr__text *note, const seen *s, int k, const hr_file_list *files)
{
    hr__text_printf(note, "%s%srecord %" PRId64 ": ", files->count > 1 ? files->path[s->file[k]] : "",
                    files->count > 1 ? " " : "", s->record[k]);
    hr__text_json(note, s->sample[k], strlen(s->sample[k]));
}

static void add_note(hr__text *note, const slot *w, const seen *s, const hr_file_list *files)
{
    static const char *const name[] = {"int64", "float", "string"};
    const int kind = widest(s);
    if (s->file[decided_by(s, kind)] < 0) hr__text_add(note, "no value anywhere");
    for (int k = kind; k >= 0; k--) {
        const int by = k == kind ? decided_by(s, k) : k;
        if (s->file[by] < 0 || (w->csv && k < kind)) continue;
        hr__text_printf(note, "%s%s first in ", note->size ? "; " : "", name[k]);
        add_place(note, s, by, files);
        if (by == BEYOND) hr__text_add(note, ", beyond the whole numbers of float32");
        if (by == TEXT && hr__has_decimal_comma(s->sample[by], strlen(s->sample[by])))
            hr__text_add(note, ", a number only with a decimal point");
    }
    if (kind == REAL && s->rounded > 0) {
        hr__text_printf(note, "; float32 rounds %" PRId64 " value%s, first in ", s->rounded,
                        s->rounded == 1 ? "" : "s");
        add_place(note, s, ROUNDED, files);
    }
    if (s->records > 0 && !s->list && s->records < w->records)
        hr__text_printf(note, "; missing in %" PRId64 " of %" PRId64, w->records - s->records, w->records);
    if (s->list) hr__text_add(note, "; a feature list");
    if (s->records > 0 && (s->shortest != 1 || s->longest != 1))
        hr__text_printf(note, "; %" PRId64 " to %" PRId64 " values", s->shortest, s->longest);
}

static hr_status infer_schema_refuse_name(hr_view key, const slot *w, const seen *s, const hr_file_list *files,
                                          hr_error *err)
{
    hr__text name = {0};
    const int kind = widest(s), file = s->file[kind] >= 0 ? s->file[kind] : 0;
    hr__text_json(&name, key.data, (size_t)(key.size < 40 ? key.size : 40));
    hr_fail(err, HR_INVALID_ARGUMENT, "schema.name",
            "%s: expected features with names of UTF-8 without NUL bytes, found the name %s%s", files->path[file],
            name.failed ? "\"\"" : name.data, w->csv ? "; give the column another one by .rename" : "");
    hr_error_file(err, files->path[file]);
    hr__text_free(&name);
    return HR_INVALID_ARGUMENT;
}

static hr_status infer_schema_add_field(hr__schema_file *out, const slot *w, int64_t i, const hr_file_list *files,
                                        hr_error *err)
{
    static const hr_dtype dtype[] = {HR_INT64, HR_FLOAT, HR_STRING};
    const hr_view key = hr__feature_key(&w->table, i);
    const seen *s = (const seen *)w->table.entry[i];
    if (key.size == 0 || memchr(key.data, '\0', (size_t)key.size) || !hr__is_utf8(key.data, (size_t)key.size))
        return infer_schema_refuse_name(key, w, s, files, err);
    hr__schema_field *f = &out->field[out->fields];
    hr__text note = {0};
    *f = (hr__schema_field){.dtype = dtype[widest(s)], .stored = dtype[widest(s)]};
    f->conflict = contradicts(w, s);
    f->rounded = f->dtype == HR_FLOAT ? s->rounded : 0;
    add_note(&note, w, s, files);
    f->note = hr__text_take(&note);
    f->name = hr_calloc((size_t)key.size + 1, 1);
    if (f->name) memcpy(f->name, key.data, (size_t)key.size);
    hr_status st = f->name && f->note ? hr__schema_add(out, err) : hr_no_memory(err, "a schema");
    if (st == HR_OK) return HR_OK;
    hr_free(f->name);
    hr_free(f->note);
    return st;
}

static hr_status make_schema(const slot *w, const hr__survey *survey, hr_schema_file **out, hr_error *err)
{
    hr__schema_file *schema = *out = hr_calloc(1, sizeof *schema);
    if (!schema || !(schema->field = hr_calloc((size_t)hr__features(&w->table) + 1, sizeof *schema->field)))
        return hr_no_memory(err, "a schema");
    schema->label = -1;
    schema->records = w->records;
    for (int64_t i = 0; i < hr__features(&w->table); i++) {
        HR_TRY(hr__survey_go_on(survey, i, err));
        HR_TRY(infer_schema_add_field(schema, w, i, survey->files, err));
    }
    if (!w->csv) hr__schema_sort(schema);
    return HR_OK;
}

hr_status hr_infer_schema_with(const hr_file_list *files, const hr_survey_opts *opts, hr_schema_file **out,
                               hr_error *err)
{
    slot slots[HR__SURVEY_SLOTS] = {0}, all = {.table = {.size = sizeof(seen)}};
    const hr_survey_opts o = HR_OPTIONS(hr_survey_opts, opts);
    hr__survey survey = {.files = files, .opts = &o, .note = infer_schema_note, .header = note_header, .as_read = true};
    HR_TRY(hr__survey_need(out, "where to put the schema", err));
    *out = NULL;
    HR_TRY(hr__survey_check(files, opts, err));
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) {
        slots[i].table.size = sizeof(seen);
        survey.slot[i] = &slots[i];
    }
    hr_status st = hr__survey_run(&survey, err);
    const bool csv = files->count > 0 && hr__file_format(files->path[0], o.format) == HR_FORMAT_CSV;
    all.csv = csv;
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) {
        if (st == HR_OK) st = infer_schema_merge(&all, &slots[i], &survey, err);
        hr__feature_table_free(&slots[i].table);
    }
    if (st == HR_OK) st = make_schema(&all, &survey, out, err);
    hr__feature_table_free(&all.table);
    if (st == HR_OK) return HR_OK;
    hr_schema_file_free(*out);
    *out = NULL;
    return st;
}
