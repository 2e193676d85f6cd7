/* See wanted_features.h. */
#include "io/example/wanted_features.h"
#include "base/config.h"
#include "io/schema/schema.h"
#include <stdio.h>
#include <string.h>

enum { RECORDS = 1000, NAMES = 4096, LONGEST = 64 /* of names that are kept for the advice */ };

hr_status hr__wanted_make(hr__wanted *w, int count, hr_error *err)
{
    *w = (hr__wanted){.name = hr_calloc((size_t)count + 1, sizeof *w->name),
                      .seen = hr_calloc((size_t)count + 1, sizeof *w->seen),
                      .next = hr_calloc((size_t)count + 1, sizeof *w->next)};
    return w->name && w->seen && w->next ? HR_OK : hr_no_memory(err, "names of features");
}

hr_status hr__wanted_add(hr__wanted *w, hr_view name, hr_error *err)
{
    const int64_t *known = hr__map_find(&w->place, name.data, (size_t)name.size);
    w->next[w->count] = known ? (int)*known : 0;
    HR_TRY(hr__map_set(&w->place, name.data, (size_t)name.size, w->count + 1, err));
    w->name[w->count++] = name;
    w->unseen++;
    return HR_OK;
}

void hr__wanted_clear(hr__wanted *w)
{
    hr_free(w->name);
    hr_free(w->seen);
    hr_free(w->next);
    hr__map_free(&w->place);
    hr__map_free(&w->others);
    *w = (hr__wanted){0};
}

static void wanted_mark(hr__wanted *w, hr_view key)
{
    const int64_t *found = hr__map_find(&w->place, key.data, (size_t)key.size);
    for (int i = found ? (int)*found : 0; i > 0; i = w->next[i - 1]) {
        w->unseen -= !w->seen[i - 1];
        w->seen[i - 1] = true;
    }
}

static hr_status wanted_look(hr__wanted *w, hr_view key, hr_error *err)
{
    if (key.size == 0) return HR_OK;
    wanted_mark(w, key);
    if (w->records > RECORDS || w->others.count == NAMES || key.size > LONGEST) return HR_OK;
    const hr_status st = hr__map_add(&w->others, key.data, (size_t)key.size, 0, err);
    return st == HR_ALREADY_EXISTS ? HR_OK : st;
}

hr_status hr__wanted_note(hr__wanted *w, const hr__walk_contents *c, hr_error *err)
{
    w->records++;
    if (w->unseen == 0) return HR_OK;
    for (int64_t i = 0; i < c->features; i++) HR_TRY(wanted_look(w, c->feature[i].key, err));
    for (int64_t i = 0; i < c->lists; i++) HR_TRY(wanted_look(w, c->list[i].key, err));
    return HR_OK;
}

hr_status hr__wanted_merge(hr__wanted *to, const hr__wanted *from, hr_error *err)
{
    to->records += from->records;
    for (int i = 0; i < to->count; i++) {
        to->unseen -= from->seen[i] && !to->seen[i];
        to->seen[i] |= from->seen[i];
    }
    for (uint32_t i = 0; i < from->others.count; i++) {
        const hr_view key = hr__map_key(&from->others, i);
        const hr_status st = hr__map_add(&to->others, key.data, (size_t)key.size, 0, err);
        if (st != HR_ALREADY_EXISTS) HR_TRY(st);
    }
    return HR_OK;
}

bool hr__wanted_is_absent(const hr__wanted *w, int i, const hr_schema_file *known)
{
    if (w->seen[i] || w->records == 0) return false;
    return !known || hr__schema_find_view(known, w->name[i]) < 0;
}

bool hr__wanted_advice(const hr__wanted *w, int i, const hr_schema_file *known, char *text, size_t size)
{
    const int fields = known ? hr_schema_file_count(known) : 0;
    const size_t others = w->others.count;
    char name[LONGEST + 1];
    const char **candidate = hr_malloc((others + (size_t)fields + 1) * sizeof *candidate + others * (LONGEST + 1));
    text[0] = '\0';
    if (!candidate) return false; /* the message does without */
    char *copy = (char *)(candidate + others + (size_t)fields + 1);
    for (size_t k = 0; k < others; k++, copy += LONGEST + 1) {
        const hr_view key = hr__map_key(&w->others, (uint32_t)k);
        snprintf(copy, LONGEST + 1, "%.*s", (int)key.size, key.data);
        candidate[k] = copy;
    }
    for (int k = 0; k < fields; k++) candidate[others + (size_t)k] = hr_schema_file_at(known, k).name;
    snprintf(name, sizeof name, "%.*s", (int)(w->name[i].size < LONGEST ? w->name[i].size : LONGEST), w->name[i].data);
    const char *near = hr_suggest(name, candidate, (int64_t)others + fields);
    if (near) snprintf(text, size, "; did you mean '%.60s'?", near);
    hr_free(candidate);
    return near != NULL;
}

hr_status hr__wanted_refuse(const hr__wanted *w, int i, const hr_schema_file *known, const char *kind, hr_error *err)
{
    char advice[80];
    const hr_view name = w->name[i];
    hr__wanted_advice(w, i, known, advice, sizeof advice);
    return hr_fail(err, HR_NOT_FOUND, kind, "expected a feature '%.*s' in some record, found it in none of %lld%s",
                   name.size < 60 ? (int)name.size : 60, name.data, (long long)w->records, advice);
}
