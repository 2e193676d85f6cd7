/* HyperLogLog; Karnin, Lang and Liberty's quantiles; Misra and Gries' summary. */
#include "io/survey/sketch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- distinct values ---- */

void hr__distinct_merge(hr__distinct *to, const hr__distinct *from)
{
    for (int i = 0; i < HR__DISTINCT_CELLS; i++)
        if (from->cell[i] > to->cell[i]) to->cell[i] = from->cell[i];
}

double hr__distinct_count(const hr__distinct *d)
{
    const double m = HR__DISTINCT_CELLS;
    double sum = 0, empty = 0;
    for (int i = 0; i < HR__DISTINCT_CELLS; i++) {
        sum += ldexp(1, -d->cell[i]);
        empty += d->cell[i] == 0;
    }
    const double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    return estimate <= 2.5 * m && empty > 0 ? m * log(m / empty) : estimate;
}

/* ---- quantiles ---- */

/* Levels of values, each of which stands for 2^level of those that came. A full level is halved: every other one of
 * its values, in their order, goes up, the first or the second of each pair as a coin says that is drawn by number, so
 * that the same values in the same order give the same summary. The highest level has room for MOST values, each below
 * for two thirds of the one above it (Karnin, Lang and Liberty: Optimal quantile approximation in streams). All but
 * the lowest are sorted. */
enum { MAX = 512, MIN = 32, INSERTED = 64 /* values that are sorted by insertion */ };

struct hr__quantile_level {
    double *value;
    int count, capacity;
};

static int capacity_of(const hr__quantiles *q, int level)
{
    int capacity = MAX;
    for (int l = q->levels - 1; l > level && capacity > MIN; l--) capacity = 2 * capacity / 3;
    return capacity > MIN ? capacity : MIN;
}

static hr_status add_level(hr__quantiles *q, hr_error *err)
{
    hr__quantile_level *level = hr_realloc(q->level, (size_t)(q->levels + 1) * sizeof *level);
    if (!level) return hr_no_memory(err, "quantiles");
    q->level = level;
    q->level[q->levels++] = (hr__quantile_level){.value = NULL};
    q->max = 0;
    for (int l = 0; l < q->levels; l++) q->max += capacity_of(q, l);
    return HR_OK;
}

static hr_status reserve_values(hr__quantile_level *l, int count, hr_error *err)
{
    enum { FIRST = 8 };
    if (l->count + count <= l->capacity) return HR_OK;
    int capacity = l->capacity ? 2 * l->capacity : FIRST;
    if (capacity < l->count + count) capacity = l->count + count;
    double *value = hr_realloc(l->value, (size_t)capacity * sizeof *value);
    if (!value) return hr_no_memory(err, "quantiles");
    l->value = value;
    l->capacity = capacity;
    return HR_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_values(double *value, int count)
{
    if (count > INSERTED) {
        qsort(value, (size_t)count, sizeof *value, by_value);
        return;
    }
    for (int i = 1; i < count; i++) {
        const double v = value[i];
        int at = i;
        for (; at > 0 && value[at - 1] > v; at--) value[at] = value[at - 1];
        value[at] = v;
    }
}

/* Adds sorted values, each `step` places after the one before, to a sorted level, from the largest one down. */
static hr_status merge_values(hr__quantile_level *l, const double *from, int count, int step, hr_error *err)
{
    HR_TRY(reserve_values(l, count, err));
    int old = l->count;
    l->count += count;
    for (int at = l->count; count > 0;) {
        const double next = from[(count - 1) * step];
        if (old > 0 && l->value[old - 1] > next) {
            l->value[--at] = l->value[--old];
        } else {
            l->value[--at] = next;
            count--;
        }
    }
    return HR_OK;
}

/* Halves the lowest level that is full. The first of an odd number of values stays. */
static hr_status compact(hr__quantiles *q, hr_error *err)
{
    int l = 0;
    while (q->level[l].count < capacity_of(q, l)) l++;
    if (l + 1 == q->levels) HR_TRY(add_level(q, err));
    hr__quantile_level *from = &q->level[l];
    if (l == 0) sort_values(from->value, from->count);
    const int odd = from->count % 2, half = from->count / 2;
    const int coin = (int)(hr_random((uint64_t)l, q->draws++) >> 63);
    HR_TRY(merge_values(&q->level[l + 1], from->value + odd + coin, half, 2, err));
    from->count = odd;
    q->held -= half;
    return HR_OK;
}

hr_status hr__quantiles_add(hr__quantiles *q, double value, hr_error *err)
{
    if (q->levels == 0) HR_TRY(add_level(q, err));
    HR_TRY(reserve_values(&q->level[0], 1, err));
    q->level[0].value[q->level[0].count++] = value;
    q->count++;
    return ++q->held >= q->max ? compact(q, err) : HR_OK;
}

hr_status hr__quantiles_merge(hr__quantiles *to, const hr__quantiles *from, hr_error *err)
{
    while (to->levels < from->levels) HR_TRY(add_level(to, err));
    for (int l = 0; l < from->levels; l++) {
        const hr__quantile_level *more = &from->level[l];
        if (l > 0) {
            HR_TRY(merge_values(&to->level[l], more->value, more->count, 1, err));
        } else if (more->count > 0) {
            HR_TRY(reserve_values(&to->level[0], more->count, err));
            memcpy(to->level[0].value + to->level[0].count, more->value, (size_t)more->count * sizeof *more->value);
            to->level[0].count += more->count;
        }
        to->held += more->count;
    }
    to->count += from->count;
    to->draws += from->draws;
    while (to->held >= to->max && to->held > 0) HR_TRY(compact(to, err));
    return HR_OK;
}

void hr__weighed_quantiles(hr__weighed *all, int count, const double *share, int shares, double *out)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) sum += all[i].weight;
    qsort(all, (size_t)count, sizeof *all, by_value); /* which they begin with */
    for (int s = 0; s < shares; s++) {
        int64_t left = (int64_t)ceil(share[s] * (double)sum);
        int i = 0;
        while (i + 1 < count && (left -= all[i].weight) > 0) i++;
        out[s] = count > 0 ? all[i].value : NAN;
    }
}

hr_status hr__quantiles_read(const hr__quantiles *q, const double *share, int shares, double *out, hr_error *err)
{
    hr__weighed *all = hr_malloc(((size_t)q->held + 1) * sizeof *all);
    int count = 0;
    if (!all) return hr_no_memory(err, "quantiles");
    for (int l = 0; l < q->levels; l++)
        for (int i = 0; i < q->level[l].count; i++) all[count++] = (hr__weighed){q->level[l].value[i], INT64_C(1) << l};
    hr__weighed_quantiles(all, count, share, shares, out);
    hr_free(all);
    return HR_OK;
}

bool hr__quantiles_exact(const hr__quantiles *q) { return q->draws == 0; }

void hr__quantiles_free(hr__quantiles *q)
{
    for (int l = 0; l < q->levels; l++) hr_free(q->level[l].value);
    hr_free(q->level);
    *q = (hr__quantiles){0};
}

/* ---- frequent values ---- */

static hr__frequent_value *slot_of(hr__frequent *f, uint64_t hash)
{
    const size_t last = (size_t)f->slots - 1;
    for (size_t i = hash & last;; i = (i + 1) & last)
        if (f->slot[i].count == 0 || f->slot[i].hash == hash) return &f->slot[i];
}

/* Most features of wide records have few values: slots come as they are needed, until there are all of them. */
static hr_status make_slots(hr__frequent *f, hr_error *err)
{
    enum { FIRST = 4 };
    if (f->slots == HR__FREQUENT_SLOTS || (f->slots && 4 * f->values < 3 * f->slots)) return HR_OK;
    hr__frequent grown = *f;
    grown.slots = f->slots ? 2 * f->slots : FIRST;
    grown.slot = hr_calloc((size_t)grown.slots, sizeof *grown.slot);
    if (!grown.slot) return hr_no_memory(err, "frequent values");
    for (int i = 0; i < f->slots; i++)
        if (f->slot[i].count > 0) *slot_of(&grown, f->slot[i].hash) = f->slot[i];
    hr_free(f->slot);
    *f = grown;
    return HR_OK;
}

static int sketch_by_count(const void *a, const void *b)
{
    const hr__frequent_value *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Takes the count of the last value that is not kept from all: those that are left have counts that are too low by at
 * most that. */
static void shrink(hr__frequent *f)
{
    hr__frequent_value all[HR__FREQUENT_SLOTS];
    int count = 0;
    for (int i = 0; i < f->slots; i++)
        if (f->slot[i].count > 0) all[count++] = f->slot[i];
    qsort(all, (size_t)count, sizeof *all, sketch_by_count);
    const int64_t less = all[HR__FREQUENT_RETAINED].count;
    memset(f->slot, 0, (size_t)f->slots * sizeof *f->slot);
    f->values = 0;
    f->error += less;
    for (int i = 0; i < count; i++) {
        all[i].count -= less;
        if (all[i].count > 0) {
            *slot_of(f, all[i].hash) = all[i];
            f->values++;
        } else {
            hr_free(all[i].text);
        }
    }
}

hr_status hr__frequent_add(hr__frequent *f, uint64_t hash, uint64_t bits, hr_view text, int64_t count, hr_error *err)
{
    HR_TRY(make_slots(f, err));
    hr__frequent_value *v = slot_of(f, hash);
    if (v->count > 0) {
        v->count += count;
        return HR_OK;
    }
    *v = (hr__frequent_value){.hash = hash, .bits = bits};
    v->size = text.size < HR__FREQUENT_TEXT ? (int)text.size : HR__FREQUENT_TEXT;
    if (text.data) {
        v->text = hr_memdup(text.data, (size_t)v->size);
        if (!v->text) return hr_no_memory(err, "frequent values");
    }
    v->count = count;
    if (++f->values > HR__FREQUENT_MAX) shrink(f);
    return HR_OK;
}

hr_status hr__frequent_merge(hr__frequent *to, const hr__frequent *from, hr_error *err)
{
    for (int i = 0; i < from->slots; i++) {
        const hr__frequent_value *v = &from->slot[i];
        if (v->count > 0) HR_TRY(hr__frequent_add(to, v->hash, v->bits, (hr_view){v->text, v->size}, v->count, err));
    }
    to->error += from->error;
    return HR_OK;
}

void hr__distinct_add_frequent(hr__distinct *d, const hr__frequent *f)
{
    for (int i = 0; i < f->slots; i++)
        if (f->slot[i].count > 0) hr__distinct_add(d, f->slot[i].hash);
}

void hr__frequent_free(hr__frequent *f)
{
    for (int i = 0; i < f->slots; i++)
        if (f->slot[i].count > 0) hr_free(f->slot[i].text);
    hr_free(f->slot);
}
