/* Numbers by name: what a batch or an epoch has given. */
#include "train/models/models_internal.h"

#include <math.h>
#include <string.h>

typedef struct log_entry {
    char *key;
    double value;
} log_entry;

struct hr_logs {
    HR__LIST(log_entry) entries;
};

hr_logs *hr__logs_new(void) { return hr_calloc(1, sizeof(hr_logs)); }

void hr__logs_clear(hr_logs *logs)
{
    for (int i = 0; i < logs->entries.count; i++) hr_free(logs->entries.at[i].key);
    logs->entries.count = 0;
}

void hr__logs_free(hr_logs *logs)
{
    if (!logs) return;
    hr__logs_clear(logs);
    hr_free(logs->entries.at);
    hr_free(logs);
}

int hr_logs_count(const hr_logs *logs) { return logs ? logs->entries.count : 0; }

const char *hr_logs_key(const hr_logs *logs, int i)
{
    return logs && i >= 0 && i < logs->entries.count ? logs->entries.at[i].key : NULL;
}

double hr_logs_value(const hr_logs *logs, int i)
{
    return logs && i >= 0 && i < logs->entries.count ? logs->entries.at[i].value : NAN;
}

static log_entry *logs_find(const hr_logs *logs, const char *key)
{
    for (int i = 0; logs && key && i < logs->entries.count; i++)
        if (strcmp(logs->entries.at[i].key, key) == 0) return &logs->entries.at[i];
    return NULL;
}

bool hr_logs_has(const hr_logs *logs, const char *key) { return logs_find(logs, key) != NULL; }

double hr_logs_get(const hr_logs *logs, const char *key)
{
    const log_entry *e = logs_find(logs, key);
    return e ? e->value : NAN;
}

hr_status hr_logs_set(hr_logs *logs, const char *key, double value, hr_error *err)
{
    if (!logs || !key)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "logs_set: expected logs and a key, got NULL");
    log_entry *e = logs_find(logs, key);
    if (!e) {
        e = HR__LIST_ADD(&logs->entries);
        if (e && !(e->key = hr_strdup(key))) logs->entries.count--;
        if (!e || !e->key) return hr_no_memory(err, "a log");
    }
    e->value = value;
    return HR_OK;
}
