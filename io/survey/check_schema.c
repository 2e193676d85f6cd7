/* Files against a schema. Each slot keeps what it found; the first findings of all slots are reported in the order of
 * the files. */
#include "base/number.h"
#include "io/number_text.h"
#include "io/survey/feature_table.h"
#include "io/survey/survey.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEPT = 256 }; /* deviations of a slot that are told one by one; all are counted */

typedef struct deviation {
    int file;
    int64_t record;
    int field; /* of the schema; -1: a feature that it does not name */
    const char *found;
    char name[64];
    char value[48];
} deviation;

typedef struct slot {
    const hr__schema_file *schema;
    hr__feature_table unknown; /* an int each */
    int64_t *present;          /* a field */
    deviation *kept;
    int64_t count;
} slot;

static hr_status check_schema_add(slot *w, const hr__survey_place *at, hr_view key, int field, const char *found,
                                  hr_error *err)
{
    if (!w->kept && !(w->kept = hr_calloc(KEPT, sizeof *w->kept))) return hr_no_memory(err, "deviations");
    if (w->count++ >= KEPT) return HR_OK;
    deviation *d = &w->kept[w->count - 1];
    *d = (deviation){.file = at->file, .record = at->record, .field = field, .found = found};
    snprintf(d->name, sizeof d->name, "%.*s", (int)(key.size < 63 ? key.size : 63), key.data);
    return HR_OK;
}

/* ---- one value ---- */

static bool fits_integer(hr_dtype dtype, int64_t v)
{
    if (dtype == HR_INT32) return v == (int32_t)v;
    return dtype != HR_BOOL || v == 0 || v == 1;
}

static bool text_fits(hr_dtype dtype, hr_view v)
{
    int64_t whole;
    float real;
    const size_t size = (size_t)v.size;
    if (dtype == HR_STRING) return true;
    if (dtype == HR_FLOAT || dtype == HR_DOUBLE)
        return hr__parse_float(v.data, size, HR__NUMBER_DEFAULT, &real) == HR__PARSED &&
               !(isinf(real) && hr__is_numeral(v.data, size));
    if (dtype == HR_BOOL &&
        ((size == 4 && strncasecmp(v.data, "true", 4) == 0) || (size == 5 && strncasecmp(v.data, "false", 5) == 0)))
        return true;
    return hr__parse_int64(v.data, hr__whole_size(v.data, size), HR__NUMBER_DEFAULT, &whole) == HR__PARSED &&
           fits_integer(dtype, whole);
}

/* NULL: the values are what the field says; else what they are instead, and *block has the first such value. JSON writes a whole float without a point. */
static const char *misfit(const hr__schema_field *f, const hr__survey_place *at, hr__blocks *blocks,
                          const hr__values **block, int64_t *which)
{
    const hr_dtype dtype = blocks->values->dtype;
    const bool whole_float = at->line >= 0 && f->stored == HR_FLOAT && dtype == HR_INT64;
    *block = NULL;
    *which = 0;
    if (dtype == HR_INVALID_DTYPE) return NULL;
    if (!at->csv && dtype != f->stored && !whole_float) {
        *block = hr__blocks_next(blocks);
        return hr_dtype_name(dtype);
    }
    const bool any_fits = !at->csv && (dtype != HR_INT64 || f->stored != HR_INT64 || f->dtype == HR_INT64);
    for (const hr__values *t; !any_fits && (t = hr__blocks_next(blocks));) {
        *block = t;
        for (int64_t i = 0; i < t->count; i++) {
            *which = i;
            if (at->csv && !text_fits(f->dtype, ((const hr_view *)t->data)[i])) return "text";
            if (dtype == HR_INT64 && !fits_integer(f->dtype, ((const int64_t *)t->data)[i]))
                return "a number out of range";
        }
    }
    return NULL;
}

/* Value `i` of a block; NULL: there are no values. */
static void keep_value(slot *w, const hr__values *t, int64_t i)
{
    if (w->count > KEPT || !t || t->count == 0) return;
    deviation *d = &w->kept[w->count - 1];
    if (t->dtype == HR_INT64) snprintf(d->value, sizeof d->value, " %" PRId64, ((const int64_t *)t->data)[i]);
    if (t->dtype == HR_FLOAT) {
        d->value[0] = ' ';
        hr__format_float(((const float *)t->data)[i], d->value + 1);
    }
    if (t->dtype != HR_STRING) return;
    const hr_view v = ((const hr_view *)t->data)[i];
    snprintf(d->value, sizeof d->value, " \"%.*s\"%s", (int)(v.size < 40 ? v.size : 40), v.data,
             v.size > 40 ? "..." : "");
}

static hr_status note_feature(slot *w, const hr__survey_place *at, hr_view key, const hr__values *values, hr_error *err)
{
    const int field = hr__schema_find_view(w->schema, key);
    if (field < 0) {
        void *entry;
        bool is_new;
        HR_TRY(hr__feature_find(&w->unknown, key, INT64_MAX, &entry, &is_new, err));
        return is_new ? check_schema_add(w, at, key, -1, "", err) : HR_OK;
    }
    int64_t which;
    hr__blocks blocks;
    const hr__values *block;
    hr__blocks_begin(&blocks, values);
    const char *found = misfit(&w->schema->field[field], at, &blocks, &block, &which);
    w->present[field]++;
    if (!found) return HR_OK;
    HR_TRY(check_schema_add(w, at, key, field, found, err));
    keep_value(w, block, which);
    return HR_OK;
}

static hr_status check_schema_note(void *user, const hr__survey_place *at, const hr__walk_contents *c, hr_error *err)
{
    slot *w = user;
    for (int64_t i = 0; i < c->features; i++) {
        HR_TRY(hr__survey_go_on(at->survey, i, err));
        HR_TRY(note_feature(w, at, c->feature[i].key, &c->feature[i].values, err));
    }
    for (int64_t i = 0; i < c->lists; i++)
        for (int64_t s = 0; s < c->list[i].steps; s++)
            HR_TRY(note_feature(w, at, c->list[i].key, &c->list[i].step[s], err));
    return HR_OK;
}

/* ---- telling ---- */

static int by_place(const void *a, const void *b)
{
    const deviation *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->record != y->record) return x->record < y->record ? -1 : 1;
    if (x->field != y->field) return x->field < y->field ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void check_schema_describe(const hr__schema_file *schema, const hr_file_list *files, const deviation *d,
                                  hr_error *out)
{
    const char *path = files->path[d->file];
    if (d->field < 0)
        hr_fail(out, HR_INVALID_ARGUMENT, "schema.unknown", "%s: record %" PRId64 ": feature '%s' is not in the schema",
                path, d->record, d->name);
    else
        hr_fail(out, HR_INVALID_ARGUMENT, "schema.type",
                "%s: record %" PRId64 ": feature '%s': expected %s, found %s%s", path, d->record, d->name,
                hr_dtype_name(schema->field[d->field].dtype), d->found, d->value);
    hr_error_file(out, path);
    out->record = d->record;
    snprintf(out->feature, sizeof out->feature, "%s", d->name);
}

/* A feature that is unknown in several slots is reported once. */
static int64_t drop_repeated(deviation *d, int64_t count)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        bool again = false;
        for (int64_t k = 0; d[i].field < 0 && k < kept && !again; k++)
            again = d[k].field < 0 && strcmp(d[k].name, d[i].name) == 0;
        if (!again) d[kept++] = d[i];
    }
    return kept;
}

/* A column of a CSV is there even if all its fields are empty. */
static hr_status count_header(void *user, const hr__survey_place *at, const hr__csv_format *format, hr_error *err)
{
    (void)at, (void)err;
    slot *w = user;
    for (int i = 0; i < format->columns; i++) {
        const int field = hr__schema_find(w->schema, format->column[i].name);
        if (field >= 0) w->present[field]++;
    }
    return HR_OK;
}

static hr_status tell_all(const hr__schema_file *schema, const hr_file_list *files, slot *slots, hr_deviation_fn *tell,
                          void *user, int64_t *count, hr_error *err)
{
    deviation *all = hr_calloc(KEPT * HR__SURVEY_SLOTS, sizeof *all);
    int64_t kept = 0, told = 0;
    bool go_on = tell != NULL;
    if (!all) return hr_no_memory(err, "deviations");
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) {
        *count += slots[i].count;
        for (int64_t k = 0; k < slots[i].count && k < KEPT; k++) all[kept++] = slots[i].kept[k];
    }
    qsort(all, (size_t)kept, sizeof *all, by_place);
    const int64_t once = drop_repeated(all, kept);
    *count -= kept - once;
    for (; told < once && go_on; told++) {
        hr_error deviation;
        check_schema_describe(schema, files, &all[told], &deviation);
        go_on = tell(&deviation, user);
    }
    hr_free(all);
    for (int f = 0; f < schema->fields; f++) {
        int64_t present = 0;
        for (int i = 0; i < HR__SURVEY_SLOTS; i++) present += slots[i].present[f];
        if (present > 0) continue;
        ++*count;
        hr_error absent;
        hr_fail(&absent, HR_INVALID_ARGUMENT, "schema.absent",
                "feature '%.60s': expected in some record, found in none", schema->field[f].name);
        snprintf(absent.feature, sizeof absent.feature, "%s", schema->field[f].name);
        if (go_on) go_on = tell(&absent, user);
    }
    return HR_OK;
}

hr_status hr_check_schema_with(const hr_file_list *files, const hr_schema_file *schema, const hr_survey_opts *opts,
                               hr_deviation_fn *tell, void *user, int64_t *count, hr_error *err)
{
    slot slots[HR__SURVEY_SLOTS] = {0};
    hr__survey survey = {
        .files = files, .opts = opts, .note = check_schema_note, .header = count_header, .as_read = true};
    hr_status st = HR_OK;
    HR_TRY(hr__survey_check(files, opts, err));
    HR_TRY(hr__survey_need(schema, "a schema", err));
    HR_TRY(hr__survey_need(count, "where to put the count", err));
    *count = 0;
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) {
        slots[i] = (slot){.schema = schema, .unknown = {.size = sizeof(int)}};
        slots[i].present = hr_calloc((size_t)schema->fields + 1, sizeof(int64_t));
        if (!slots[i].present && st == HR_OK) st = hr_no_memory(err, "a check");
        survey.slot[i] = &slots[i];
    }
    if (st == HR_OK) st = hr__survey_run(&survey, err);
    if (st == HR_OK) st = tell_all(schema, files, slots, tell, user, count, err);
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) {
        hr__feature_table_free(&slots[i].unknown);
        hr_free(slots[i].present);
        hr_free(slots[i].kept);
    }
    return st;
}
