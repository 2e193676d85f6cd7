/* What a training has seen: numbers by epoch. */
#include "train/models/models_internal.h"

#include <math.h>
#include <string.h>

struct hr__history {
    hr_history shown; /* first: what users see */
    HR__LIST(int64_t) epoch;
    HR__LIST(char *) keys;
    HR__LIST(double *) values;
    HR__LIST(int) counts;
    int capacity; /* of each key's values */
};

hr__history *hr__history_new(void)
{
    hr__history *h = hr_calloc(1, sizeof *h);
    if (h) h->capacity = 16;
    return h;
}

void hr__history_free(hr__history *h)
{
    if (!h) return;
    for (int i = 0; i < h->keys.count; i++) hr_free(h->keys.at[i]);
    for (int i = 0; i < h->values.count; i++) hr_free(h->values.at[i]);
    hr_free(h->epoch.at);
    hr_free(h->keys.at);
    hr_free(h->values.at);
    hr_free(h->counts.at);
    hr_free(h);
}

static int history_key(hr__history *h, const char *key)
{
    for (int i = 0; i < h->keys.count; i++)
        if (strcmp(h->keys.at[i], key) == 0) return i;
    char **name = HR__LIST_ADD(&h->keys);
    double **values = HR__LIST_ADD(&h->values);
    int *count = HR__LIST_ADD(&h->counts);
    if (!name || !values || !count) return -1;
    *name = hr_strdup(key);
    *values = hr_calloc((size_t)h->capacity, sizeof **values);
    return *name && *values ? h->keys.count - 1 : -1;
}

static bool history_grow(hr__history *h)
{
    const int capacity = 2 * h->capacity;
    for (int i = 0; i < h->values.count; i++) {
        double *grown = hr_realloc(h->values.at[i], (size_t)capacity * sizeof *grown);
        if (!grown) return false;
        h->values.at[i] = grown;
    }
    h->capacity = capacity;
    return true;
}

hr_status hr__history_add(hr__history *h, int64_t epoch, const hr_logs *logs, hr_error *err)
{
    if (h->epoch.count == h->capacity && !history_grow(h)) return hr_no_memory(err, "a history");
    int64_t *number = HR__LIST_ADD(&h->epoch);
    if (!number) return hr_no_memory(err, "a history");
    *number = epoch;
    for (int i = 0; i < hr_logs_count(logs); i++) {
        const int key = history_key(h, hr_logs_key(logs, i));
        if (key < 0) return hr_no_memory(err, "a history");
        h->values.at[key][h->counts.at[key]++] = hr_logs_value(logs, i);
    }
    return HR_OK;
}

hr_status hr__history_put(hr__history *h, const char *key, const double *values, int count, hr_error *err)
{
    while (h->capacity < count)
        if (!history_grow(h)) return hr_no_memory(err, "a history");
    const int k = history_key(h, key);
    if (k < 0) return hr_no_memory(err, "a history");
    if (count > 0) memcpy(h->values.at[k], values, (size_t)count * sizeof *values);
    h->counts.at[k] = count;
    return HR_OK;
}

hr_status hr__history_epochs(hr__history *h, const int64_t *epochs, int count, hr_error *err)
{
    while (h->capacity < count)
        if (!history_grow(h)) return hr_no_memory(err, "a history");
    for (int i = 0; i < count; i++) {
        int64_t *number = HR__LIST_ADD(&h->epoch);
        if (!number) return hr_no_memory(err, "a history");
        *number = epochs[i];
    }
    return HR_OK;
}

const hr_history *hr__history_show(hr__history *h, bool interrupted)
{
    h->shown.interrupted = interrupted;
    h->shown.epochs = h->epoch.count;
    h->shown.epoch = h->epoch.at;
    h->shown.keys = h->keys.count;
    h->shown.key = (const char *const *)h->keys.at;
    h->shown.values = (const double *const *)h->values.at;
    h->shown.counts = h->counts.at;
    return &h->shown;
}

const double *hr_history_of(const hr_history *h, const char *key, int *count)
{
    for (int i = 0; h && key && i < h->keys; i++)
        if (strcmp(h->key[i], key) == 0) {
            if (count) *count = h->counts[i];
            return h->values[i];
        }
    if (count) *count = 0;
    return NULL;
}

double hr_history_last(const hr_history *h, const char *key)
{
    int count;
    const double *values = hr_history_of(h, key, &count);
    return values && count > 0 ? values[count - 1] : NAN;
}
