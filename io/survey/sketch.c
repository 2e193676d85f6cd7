/* HyperLogLog, a histogram over float bits, Misra and Gries' summary. */
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

static hr_status page_of(hr__quantiles *q, int page, int64_t **out, hr_error *err)
{
    if (!q->page[page]) q->page[page] = hr_calloc(HR__QUANTILE_BINS, sizeof(int64_t));
    *out = q->page[page];
    return *out ? HR_OK : hr_no_memory(err, "quantiles");
}

hr_status hr__quantiles_add(hr__quantiles *q, float value, hr_error *err)
{
    uint32_t bits;
    int64_t *page;
    memcpy(&bits, &value, sizeof bits);
    HR_TRY(page_of(q, (int)(bits >> 23), &page, err));
    page[bits >> 16 & (HR__QUANTILE_BINS - 1)]++;
    q->count++;
    return HR_OK;
}

hr_status hr__quantiles_merge(hr__quantiles *to, const hr__quantiles *from, hr_error *err)
{
    for (int p = 0; p < HR__QUANTILE_PAGES; p++) {
        int64_t *page;
        if (!from->page[p]) continue;
        HR_TRY(page_of(to, p, &page, err));
        for (int b = 0; b < HR__QUANTILE_BINS; b++) page[b] += from->page[p][b];
    }
    to->count += from->count;
    return HR_OK;
}

/* Bin number i from the smallest value on: negative ones first, from the largest magnitude down. */
static uint32_t bin_in_order(uint32_t i) { return i < 0x8000 ? 0xffff - i : i - 0x8000; }

/* A bin's value: its middle, and of whole numbers the whole one that is nearest. */
static double value_of_bin(uint32_t bin, bool whole)
{
    const uint32_t low = bin << 16, middle = low | 0x8000;
    float edge, value;
    memcpy(&edge, &low, sizeof edge);
    memcpy(&value, &middle, sizeof value);
    if (whole) return fabsf(edge) < 256 ? (double)edge : rint((double)value);
    return isfinite(edge) && edge != 0 ? (double)value : (double)edge;
}

double hr__quantiles_at(const hr__quantiles *q, double share, bool whole)
{
    int64_t left = (int64_t)ceil(share * (double)q->count);
    if (left < 1) left = 1;
    for (uint32_t i = 0; i < 0x10000; i++) {
        const uint32_t bin = bin_in_order(i);
        const int64_t *page = q->page[bin >> 7];
        if (!page) {
            i |= HR__QUANTILE_BINS - 1; /* a page's bins follow one another in either direction */
            continue;
        }
        left -= page[bin & (HR__QUANTILE_BINS - 1)];
        if (left <= 0) return value_of_bin(bin, whole);
    }
    return NAN;
}

void hr__quantiles_free(hr__quantiles *q)
{
    for (int p = 0; p < HR__QUANTILE_PAGES; p++) hr_free(q->page[p]);
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

static int by_count(const void *a, const void *b)
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
    qsort(all, (size_t)count, sizeof *all, by_count);
    const int64_t less = all[HR__FREQUENT_KEPT].count;
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
    if (text.data) {
        v->size = text.size < HR__FREQUENT_TEXT ? (int)text.size : HR__FREQUENT_TEXT;
        v->text = hr_memdup(text.data, (size_t)v->size);
        if (!v->text) return hr_no_memory(err, "frequent values");
    }
    v->count = count;
    if (++f->values > HR__FREQUENT_MOST) shrink(f);
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
