/* Statistics of all features in one pass. Each slot sums up what it sees; the sums are merged in the order of the
 * slots, so that rounding is the same for any number of threads. */
#include "base/fingerprint.h"
#include "base/number.h"
#include "base/text.h"
#include "io/convert/format.h"
#include "io/file_system.h"
#include "io/survey/feature_table.h"
#include "io/schema/schema.h"
#include "io/survey/sketch.h"
#include "io/survey/survey.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const double hr_stats_share[HR_STATS_QUANTILES] = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};

/* Mean and variance of numbers that come near one another: sums of the distances from the first. */
typedef struct moments {
    int64_t count;
    double origin, sum, squares;
} moments;

typedef struct tally {
    int64_t records, values, least_values, most_values, zeros, nans, infinite, below; /* below: -1 or less */
    int64_t kind[3];                                                                  /* records by HR_INT64, ... */
    double min, max;
    moments plain, log1p;
    int64_t strings, bytes, least_bytes, most_bytes, empty;
    hr__quantiles quantiles;
    hr__frequent frequent;
    hr__distinct *distinct; /* NULL: all values are in `frequent` */
    int64_t last_record;    /* a list counts once a record */
    int last_file;
} tally;

enum { INTEGERS, FLOATS, STRINGS, KINDS };

typedef struct slot {
    hr__feature_table table;
    int64_t records;
} slot;

struct hr_stats {
    hr_feature_stats *feature;
    hr__feature_table table;
    char (*number)[HR_STATS_TOP][HR__NUMBER_TEXT]; /* texts of frequent numbers */
    int64_t records;
};

/* ---- moments ---- */

static void moments_add(moments *m, double v)
{
    if (m->count++ == 0) m->origin = v;
    const double d = v - m->origin;
    m->sum += d;
    m->squares += d * d;
}

static double mean_of(const moments *m) { return m->count ? m->origin + m->sum / (double)m->count : NAN; }

/* Sum of the squared distances from the mean. */
static double spread_of(const moments *m) { return m->count ? m->squares - m->sum * m->sum / (double)m->count : 0; }

static double std_of(const moments *m)
{
    const double spread = spread_of(m);
    return m->count ? sqrt((spread > 0 ? spread : 0) / (double)m->count) : NAN;
}

/* Both as distances from the origin of `to`. */
static void moments_merge(moments *to, const moments *from)
{
    if (from->count == 0) return;
    if (to->count == 0) to->origin = from->origin;
    const double n = (double)from->count, shift = from->origin - to->origin;
    to->squares += from->squares + 2 * shift * from->sum + n * shift * shift;
    to->sum += from->sum + n * shift;
    to->count += from->count;
}

/* ---- values ---- */

static hr_status note_number(tally *t, double v, hr_error *err)
{
    t->zeros += v == 0;
    if (isnan(v) || isinf(v)) {
        *(isnan(v) ? &t->nans : &t->infinite) += 1;
        return HR_OK;
    }
    if (t->plain.count == 0 || v < t->min) t->min = v;
    if (t->plain.count == 0 || v > t->max) t->max = v;
    moments_add(&t->plain, v);
    if (v > -1)
        moments_add(&t->log1p, log1p(v));
    else
        t->below++;
    return hr__quantiles_add(&t->quantiles, v, err);
}

/* Before `frequent` forgets the first of its values. */
static hr_status count_distinct(tally *t, hr_error *err)
{
    if (t->distinct) return HR_OK;
    t->distinct = hr_calloc(1, sizeof *t->distinct);
    if (!t->distinct) return hr_no_memory(err, "distinct values");
    hr__distinct_add_frequent(t->distinct, &t->frequent);
    return HR_OK;
}

static hr_status note_hash(tally *t, uint64_t hash, uint64_t bits, hr_view text, hr_error *err)
{
    if (t->frequent.values == HR__FREQUENT_MAX) HR_TRY(count_distinct(t, err));
    if (t->distinct) hr__distinct_add(t->distinct, hash);
    return hr__frequent_add(&t->frequent, hash, bits, text, 1, err);
}

static hr_status note_bits(tally *t, uint64_t bits, hr_dtype dtype, hr_error *err)
{
    const uint64_t hash = hr__fingerprint64_inline((const char *)&bits, sizeof bits);
    return note_hash(t, hash, bits, (hr_view){NULL, dtype}, err);
}

static hr_status note_string(tally *t, hr_view v, hr_error *err)
{
    if (t->strings++ == 0 || v.size < t->least_bytes) t->least_bytes = v.size;
    if (v.size > t->most_bytes) t->most_bytes = v.size;
    t->bytes += v.size;
    t->empty += v.size == 0;
    const uint64_t hash = hr__fingerprint64_inline(v.data, (size_t)v.size);
    return note_hash(t, hash, 0, (hr_view){v.size ? v.data : "", v.size}, err);
}

static hr_status note_value(tally *t, const hr__values *v, int64_t i, hr_error *err)
{
    if (v->dtype == HR_STRING) return note_string(t, ((const hr_view *)v->data)[i], err);
    const double number = v->dtype == HR_INT64 ? (double)((const int64_t *)v->data)[i] : ((const float *)v->data)[i];
    uint64_t bits = 0;
    if (v->dtype == HR_INT64)
        memcpy(&bits, (const int64_t *)v->data + i, sizeof(int64_t));
    else
        memcpy(&bits, &number, sizeof number); /* as a double, so that no float is taken for an integer */
    HR_TRY(note_number(t, number, err));
    return note_bits(t, bits, v->dtype, err);
}

/* A feature without a kind is missing. */
static hr_status column_stats_note_values(tally *t, const hr__survey_place *at, const hr__values *v, hr_error *err)
{
    if (v->dtype == HR_INVALID_DTYPE) return HR_OK;
    const bool again = t->records > 0 && t->last_record == at->record && t->last_file == at->file;
    t->records += !again;
    t->last_record = at->record;
    t->last_file = at->file;
    const int kind = v->dtype == HR_INT64 ? INTEGERS : v->dtype == HR_FLOAT ? FLOATS : STRINGS;
    const bool first = t->kind[0] + t->kind[1] + t->kind[2] == 0;
    t->kind[kind]++;
    if (first || v->count < t->least_values) t->least_values = v->count;
    if (v->count > t->most_values) t->most_values = v->count;
    t->values += v->count;
    hr__blocks blocks;
    hr__blocks_begin(&blocks, v);
    for (const hr__values *b; (b = hr__blocks_next(&blocks));)
        for (int64_t i = 0; i < b->count; i++) HR_TRY(note_value(t, b, i, err));
    return HR_OK;
}

static hr_status column_stats_note(void *user, const hr__survey_place *at, const hr__walk_contents *c, hr_error *err)
{
    slot *w = user;
    void *entry;
    bool is_new;
    w->records++;
    for (int64_t i = 0; i < c->features; i++) {
        HR_TRY(hr__survey_go_on(at->survey, i, err));
        HR_TRY(hr__feature_find(&w->table, c->feature[i].key, i, &entry, &is_new, err));
        HR_TRY(column_stats_note_values(entry, at, &c->feature[i].values, err));
    }
    for (int64_t i = 0; i < c->lists; i++) {
        HR_TRY(hr__feature_find(&w->table, c->list[i].key, c->features + i, &entry, &is_new, err));
        for (int64_t s = 0; s < c->list[i].steps; s++)
            HR_TRY(column_stats_note_values(entry, at, &c->list[i].step[s], err));
    }
    return HR_OK;
}

/* ---- all slots together ---- */

static hr_status merge_values(tally *to, const tally *from, hr_error *err)
{
    const bool all = to->frequent.values + from->frequent.values <= HR__FREQUENT_MAX;
    if (from->distinct || !all) HR_TRY(count_distinct(to, err));
    if (from->distinct) hr__distinct_merge(to->distinct, from->distinct);
    if (to->distinct) hr__distinct_add_frequent(to->distinct, &from->frequent);
    return hr__frequent_merge(&to->frequent, &from->frequent, err);
}

static hr_status column_stats_merge(tally *to, const tally *from, hr_error *err)
{
    const bool first = to->kind[0] + to->kind[1] + to->kind[2] == 0;
    if (first || from->least_values < to->least_values) to->least_values = from->least_values;
    if (from->most_values > to->most_values) to->most_values = from->most_values;
    if (from->plain.count && (to->plain.count == 0 || from->min < to->min)) to->min = from->min;
    if (from->plain.count && (to->plain.count == 0 || from->max > to->max)) to->max = from->max;
    if (from->strings && (to->strings == 0 || from->least_bytes < to->least_bytes)) to->least_bytes = from->least_bytes;
    if (from->most_bytes > to->most_bytes) to->most_bytes = from->most_bytes;
    for (int k = 0; k < KINDS; k++) to->kind[k] += from->kind[k];
    to->records += from->records;
    to->values += from->values;
    to->zeros += from->zeros;
    to->nans += from->nans;
    to->infinite += from->infinite;
    to->below += from->below;
    to->strings += from->strings;
    to->bytes += from->bytes;
    to->empty += from->empty;
    moments_merge(&to->plain, &from->plain);
    moments_merge(&to->log1p, &from->log1p);
    HR_TRY(hr__quantiles_merge(&to->quantiles, &from->quantiles, err));
    return merge_values(to, from, err);
}

/* What only one slot has seen of a feature is taken as it is. */
static hr_status merge_slot(hr_stats *stats, slot *from, const hr__survey *survey, hr_error *err)
{
    stats->records += from->records;
    for (int64_t i = 0; i < hr__features(&from->table); i++) {
        void *entry;
        bool is_new;
        HR_TRY(hr__survey_go_on(survey, i, err));
        HR_TRY(hr__feature_find(&stats->table, hr__feature_key(&from->table, i), i, &entry, &is_new, err));
        tally *more = (tally *)from->table.entry[i];
        if (!is_new) HR_TRY(column_stats_merge(entry, more, err));
        if (!is_new) continue;
        *(tally *)entry = *more;
        *more = (tally){0};
    }
    return HR_OK;
}

static void free_table(hr__feature_table *table)
{
    for (int64_t i = 0; i < hr__features(table); i++) {
        hr__quantiles_free(&((tally *)table->entry[i])->quantiles);
        hr__frequent_free(&((tally *)table->entry[i])->frequent);
        hr_free(((tally *)table->entry[i])->distinct);
    }
    hr__feature_table_free(table);
}

/* ---- what comes out ---- */

static int column_stats_by_count(const void *a, const void *b)
{
    const hr__frequent_value *x = *(hr__frequent_value *const *)a, *y = *(hr__frequent_value *const *)b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    if (!x->text || !y->text) return (x->bits > y->bits) - (x->bits < y->bits);
    const int order = memcmp(x->text, y->text, (size_t)(x->size < y->size ? x->size : y->size));
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static hr_view column_stats_text_of(const hr__frequent_value *v, char text[HR__NUMBER_TEXT])
{
    double number;
    int64_t whole;
    if (v->text) return (hr_view){v->text, v->size};
    memcpy(&number, &v->bits, sizeof number);
    memcpy(&whole, &v->bits, sizeof whole);
    return (hr_view){text, v->size == HR_INT64 ? hr__format_int64(whole, text) : hr__format_float((float)number, text)};
}

static void find_top(hr_stats *stats, int64_t i, tally *t, hr_feature_stats *f)
{
    hr__frequent_value *value[HR__FREQUENT_SLOTS];
    int count = 0;
    for (int k = 0; k < t->frequent.slots; k++)
        if (t->frequent.slot[k].count > 0) value[count++] = &t->frequent.slot[k];
    qsort(value, (size_t)count, sizeof *value, column_stats_by_count);
    f->top_error = t->frequent.error;
    for (int k = 0; k < count && f->tops < HR_STATS_TOP; k++) {
        if (value[k]->count <= t->frequent.error) break;
        const hr_view text = column_stats_text_of(value[k], stats->number[i][f->tops]);
        f->top[f->tops++] = (hr_top_value){text, value[k]->count};
    }
    f->distinct_exact = t->frequent.error == 0;
    f->distinct = f->distinct_exact ? t->frequent.values : hr__distinct_count(t->distinct);
}

/* Where all different numbers are counted, their quantiles are those of all values; else the summary's. */
static hr_status find_quantiles(const tally *t, hr_feature_stats *f, hr_error *err)
{
    const bool integers = t->kind[INTEGERS] > 0, floats = t->kind[FLOATS] > 0;
    f->quantiles_exact = true;
    if (hr__quantiles_exact(&t->quantiles) || t->frequent.error > 0 || t->strings > 0 || integers == floats) {
        f->quantiles_exact = hr__quantiles_exact(&t->quantiles);
        return hr__quantiles_read(&t->quantiles, hr_stats_share, HR_STATS_QUANTILES, f->quantile, err);
    }
    hr__weighed all[HR__FREQUENT_SLOTS];
    int count = 0;
    for (int i = 0; i < t->frequent.slots; i++) {
        const hr__frequent_value *v = &t->frequent.slot[i];
        double real;
        int64_t whole;
        memcpy(&real, &v->bits, sizeof real);
        memcpy(&whole, &v->bits, sizeof whole);
        if (v->count > 0 && (integers || isfinite(real)))
            all[count++] = (hr__weighed){integers ? (double)whole : real, v->count};
    }
    hr__weighed_quantiles(all, count, hr_stats_share, HR_STATS_QUANTILES, f->quantile);
    return HR_OK;
}

static hr_status column_stats_describe(hr_stats *stats, int64_t i, hr_feature_stats *out, hr_error *err)
{
    tally *t = (tally *)stats->table.entry[i];
    const bool numbers = t->kind[INTEGERS] + t->kind[FLOATS] > 0, strings = t->kind[STRINGS] > 0;
    hr_feature_stats f = {.key = hr__feature_key(&stats->table, i), .mixed = numbers && strings};
    f.dtype = numbers ? (t->kind[FLOATS] ? HR_FLOAT : HR_INT64) : strings ? HR_STRING : HR_INVALID_DTYPE;
    f.records = t->records;
    f.missing = stats->records - t->records;
    f.values = t->values;
    f.least_values = t->least_values;
    f.most_values = t->most_values;
    f.zeros = numbers ? t->zeros : t->empty;
    f.nans = t->nans;
    f.infinite = t->infinite;
    f.min = t->plain.count ? t->min : NAN;
    f.max = t->plain.count ? t->max : NAN;
    f.mean = mean_of(&t->plain);
    f.std = std_of(&t->plain);
    f.log1p_mean = t->below ? NAN : mean_of(&t->log1p);
    f.log1p_std = t->below ? NAN : std_of(&t->log1p);
    HR_TRY(find_quantiles(t, &f, err));
    f.least_bytes = t->least_bytes;
    f.most_bytes = t->most_bytes;
    f.mean_bytes = t->strings ? (double)t->bytes / (double)t->strings : NAN;
    find_top(stats, i, t, &f);
    *out = f;
    return HR_OK;
}

static int column_stats_by_key(const void *a, const void *b)
{
    const hr_view x = ((const hr_feature_stats *)a)->key, y = ((const hr_feature_stats *)b)->key;
    const int order = memcmp(x.data, y.data, (size_t)(x.size < y.size ? x.size : y.size));
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

static hr_status column_stats_finish(hr_stats *stats, const hr__survey *survey, hr_error *err)
{
    const size_t count = (size_t)hr__features(&stats->table);
    stats->feature = hr_calloc(count + 1, sizeof *stats->feature);
    stats->number = hr_calloc(count + 1, sizeof *stats->number);
    if (!stats->feature || !stats->number) return hr_no_memory(err, "statistics");
    for (size_t i = 0; i < count; i++) {
        HR_TRY(hr__survey_go_on(survey, (int64_t)i, err));
        HR_TRY(column_stats_describe(stats, (int64_t)i, &stats->feature[i], err));
    }
    qsort(stats->feature, count, sizeof *stats->feature, column_stats_by_key);
    return HR_OK;
}

/* ---- the survey ---- */

static bool needs_types(const hr_file_list *files, const hr_survey_opts *o)
{
    return !o->schema && files->count > 0 && hr__file_format(files->path[0], o->format) == HR_FORMAT_CSV;
}

/* The types take a pass of their own. */
static hr_status infer_types(const hr_file_list *files, const hr_survey_opts *o, hr_schema_file **out, hr_error *err)
{
    HR_TRY(hr_need_files_again(files, "give .schema", err));
    return hr_infer_schema_with(files, o, out, err);
}

static hr_status go_over(const hr_file_list *files, const hr_survey_opts *opts, hr_stats *stats, hr_error *err)
{
    slot slots[HR__SURVEY_SLOTS] = {0};
    hr__survey survey = {.files = files, .opts = opts, .note = column_stats_note};
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) {
        slots[i].table.size = sizeof(tally);
        survey.slot[i] = &slots[i];
    }
    hr_status st = hr__survey_run(&survey, err);
    for (int i = 0; i < HR__SURVEY_SLOTS; i++) {
        if (st == HR_OK) st = merge_slot(stats, &slots[i], &survey, err);
        free_table(&slots[i].table);
    }
    return st == HR_OK ? column_stats_finish(stats, &survey, err) : st;
}

hr_status hr_compute_stats_with(const hr_file_list *files, const hr_survey_opts *opts, hr_stats **out, hr_error *err)
{
    hr_survey_opts o = hr__survey_defaults(opts);
    hr_schema_file *inferred = NULL;
    HR_TRY(hr__survey_need(out, "where to put the statistics", err));
    *out = NULL;
    HR_TRY(hr__survey_check(files, opts, err));
    hr_stats *stats = *out = hr_calloc(1, sizeof *stats);
    hr_status st = stats ? HR_OK : hr_no_memory(err, "statistics");
    if (stats) stats->table.size = sizeof(tally);
    if (st == HR_OK && needs_types(files, &o)) {
        st = infer_types(files, &o, &inferred, err);
        o.schema = inferred;
    }
    if (st == HR_OK) st = go_over(files, &o, stats, err);
    for (int64_t i = 0; st == HR_OK && inferred && i < hr__features(&stats->table); i++) {
        const int field = hr__schema_find_view(inferred, stats->feature[i].key);
        if (field >= 0) stats->feature[i].rounded = inferred->field[field].rounded;
    }
    hr_schema_file_free(inferred);
    if (st == HR_OK) return HR_OK;
    hr_stats_free(stats);
    *out = NULL;
    return st;
}

int64_t hr_stats_records(const hr_stats *stats) { return stats->records; }

int64_t hr_stats_features(const hr_stats *stats) { return hr__features(&stats->table); }

const hr_feature_stats *hr_stats_feature(const hr_stats *stats, int64_t i) { return &stats->feature[i]; }

void hr_stats_free(hr_stats *stats)
{
    if (!stats) return;
    free_table(&stats->table);
    hr_free(stats->feature);
    hr_free(stats->number);
    hr_free(stats);
}

/* ---- columns ---- */

static void column_stats_put_number(hr__text *to, const char *key, double number)
{
    char text[HR__NUMBER_TEXT];
    hr__text_printf(to, ", %s: ", key);
    hr__text_bytes(to, text, (size_t)hr__format_float((float)number, text));
}

static void put_column(hr__text *to, const hr_feature_stats *f, hr_normalization how)
{
    const bool log1p = how == HR_NORMALIZE_LOG1P;
    hr__text_add(to, "  ");
    hr__schema_put_name(to, f->key);
    hr__text_add(to, ": {numeric: ");
    hr__schema_put_name(to, f->key);
    const double mean = log1p ? expm1(f->log1p_mean) : f->mean;
    if (f->missing > 0) column_stats_put_number(to, "default", f->dtype == HR_INT64 ? rint(mean) : mean);
    if (log1p) hr__text_add(to, ", log1p: true");
    if (how == HR_NORMALIZE_MIN_MAX) {
        column_stats_put_number(to, "min", f->min);
        column_stats_put_number(to, "max", f->max);
    } else {
        column_stats_put_number(to, "mean", log1p ? f->log1p_mean : f->mean);
        column_stats_put_number(to, "std", log1p ? f->log1p_std : f->std);
    }
    hr__text_add(to, "}\n");
}

static bool has_column(const hr_feature_stats *f, hr_normalization how, const char *label)
{
    const double std = how == HR_NORMALIZE_LOG1P ? f->log1p_std : f->std;
    if (label && strlen(label) == (size_t)f->key.size && memcmp(label, f->key.data, strlen(label)) == 0) return false;
    return (f->dtype == HR_INT64 || f->dtype == HR_FLOAT) && !f->mixed && f->most_values == 1 && std > 0;
}

hr_status hr_stats_columns_text(const hr_stats *stats, hr_normalization how, const char *label, char **text,
                                hr_error *err)
{
    hr__text out = {0};
    HR_TRY(hr__survey_need(text, "where to put the text", err));
    *text = NULL;
    HR_TRY(hr__survey_need(stats, "statistics", err));
    hr__text_add(&out, "columns:\n");
    for (int64_t i = 0; i < hr_stats_features(stats); i++)
        if (has_column(&stats->feature[i], how, label)) put_column(&out, &stats->feature[i], how);
    *text = hr__text_take(&out);
    return *text ? HR_OK : hr_no_memory(err, "columns");
}
