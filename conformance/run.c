/* Runs of a pipeline, and how two of them are compared. */
#include "conformance/conformance_internal.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE_S = 120 };

hr_status hr__conformance_fail(const subject *s, hr_status code, const char *kind, const char *format, ...)
{
    char text[384];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hr_fail(s->err, code, kind, "%s: %s", s->name, text);
}

/* ---- elements ---- */

static uint64_t digest_bytes(uint64_t sum, const void *data, size_t size)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < size; i++) sum = (sum ^ byte[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static uint64_t digest_number(uint64_t sum, int64_t value) { return digest_bytes(sum, &value, sizeof value); }

static uint64_t digest_tensor(uint64_t sum, const hr_tensor *t)
{
    sum = digest_number(digest_number(sum, t->dtype), t->layout);
    for (int i = 0; i < t->shape.rank; i++) sum = digest_number(sum, t->shape.dims[i]);
    int64_t outer = t->shape.rank > 0 ? t->shape.dims[0] : 0;
    for (int l = 0; l < t->ragged_rank; l++) {
        sum = digest_bytes(sum, t->splits[l], (size_t)(outer + 1) * sizeof(int32_t));
        outer = t->splits[l][outer];
    }
    if (t->layout == HR_SPARSE)
        sum = digest_bytes(sum, t->indices, (size_t)(t->count * t->shape.rank) * sizeof(int64_t));
    sum = digest_number(sum, t->count);
    if (t->dtype != HR_STRING) return digest_bytes(sum, t->data, (size_t)t->count * hr_dtype_size(t->dtype));
    const hr_view *text = t->data;
    for (int64_t i = 0; i < t->count; i++)
        sum = digest_bytes(digest_number(sum, text[i].size), text[i].data, (size_t)text[i].size);
    return sum;
}

bool hr_conformance_digest(const hr_element *e, uint64_t *digest)
{
    *digest = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < hr_element_schema(e)->fields; i++) {
        const hr_tensor *t = hr_get_at(e, i);
        if (!t) return false;
        *digest = digest_tensor(*digest, t);
    }
    return true;
}

/* What a message shows of it. */
static void note_first_values(came *to, const hr_element *e)
{
    const hr_tensor *t = hr_element_schema(e)->fields > 0 ? hr_get_at(e, 0) : NULL;
    to->values = t ? t->count : 0;
    if (to->values == 0) return;
    const hr_view *text = t->data;
    const bool is_text = t->dtype == HR_STRING;
    const size_t size = is_text ? (size_t)text[0].size : (size_t)t->count * hr_dtype_size(t->dtype);
    to->dtype = t->dtype;
    to->size = (unsigned char)(size < sizeof to->bytes ? size : sizeof to->bytes);
    if (to->size) memcpy(to->bytes, is_text ? (const void *)text[0].data : t->data, to->size);
}

/* "[3, 4, 5, ...]", "\"text\"", "8 values of bool". */
static const char *came_text(const came *c, char *text, size_t size)
{
    size_t used = 0;
    const int64_t width = c->dtype == HR_INT64 || c->dtype == HR_DOUBLE  ? 8
                          : c->dtype == HR_INT32 || c->dtype == HR_FLOAT ? 4
                                                                         : 0;
    if (c->dtype == HR_STRING && c->values > 0) {
        snprintf(text, size, "\"%.*s\"%s", c->size, (const char *)c->bytes, c->values > 1 ? ", ..." : "");
    } else if (width == 0 || c->values == 0) {
        snprintf(text, size, "%" PRId64 " values of %s", c->values, hr_dtype_name(c->dtype));
    } else {
        for (int64_t i = 0; i < c->values && (i + 1) * width <= c->size && used < size; i++) {
            int64_t whole = 0;
            int32_t half = 0;
            double real = 0;
            float single = 0;
            const unsigned char *at = c->bytes + i * width;
            memcpy(c->dtype == HR_INT64    ? (void *)&whole
                   : c->dtype == HR_INT32  ? (void *)&half
                   : c->dtype == HR_DOUBLE ? (void *)&real
                                           : (void *)&single,
                   at, (size_t)width);
            const bool is_whole = c->dtype == HR_INT64 || c->dtype == HR_INT32;
            const int n = is_whole ? snprintf(text + used, size - used, "%s%" PRId64, i ? ", " : "[", whole + half)
                                   : snprintf(text + used, size - used, "%s%g", i ? ", " : "[", real + (double)single);
            used += (size_t)n;
        }
        if (used < size) snprintf(text + used, size - used, "%s]", c->values * width > c->size ? ", ..." : "");
    }
    return text;
}

/* ---- runs ---- */

way hr__conformance_way(int n)
{
    static const int workers[] = {0, 1, 2, 8}, windows[] = {1, 64};
    static const int64_t units[] = {1, 13, 1000};
    return (way){.workers = workers[n % 4], .window = windows[n / 4 % 2], .unit_rows = units[n % 3]};
}

const char *hr__conformance_how(char *text, size_t size, way w)
{
    int used = snprintf(text, size, "%d worker%s", w.workers, w.workers == 1 ? "" : "s");
    if (w.window) used += snprintf(text + used, size - (size_t)used, ", window %d", w.window);
    if (w.unit_rows) used += snprintf(text + used, size - (size_t)used, ", units of %" PRId64, w.unit_rows);
    if (w.budget) snprintf(text + used, size - (size_t)used, ", budget %zu", w.budget);
    return text;
}

hr_iterator *hr__conformance_iterate(const subject *s, way w)
{
    if (hr_threads() < POOL) hr_set_threads(POOL);
    const hr_iterate_opts opts = {.struct_size = sizeof opts,
                                  .workers = &w.workers,
                                  .window = w.window,
                                  .unit_rows = w.unit_rows,
                                  .budget = w.budget,
                                  .seed = 7,
                                  .state = w.state,
                                  .state_size = w.state_size,
                                  .epoch = w.epoch};
    return hr_iterate_changed(s->build(s->user), w.change, w.change_user, &opts);
}

void hr__conformance_clear(subject *s)
{
    free(s->want.element);
    free(s->got.element);
}

void hr__conformance_begin(run *r)
{
    r->count = 0;
    r->end = HR_OK;
    memset(&r->error, 0, sizeof r->error);
}

static hr_status run_reserve(const subject *s, run *r)
{
    if (r->count < r->capacity) return HR_OK;
    if (r->count == MAX_ELEMENTS)
        return hr__conformance_fail(s, HR_INVALID_ARGUMENT, "conformance.sample",
                                    "expected a pipeline of at most %d elements, found more; give a smaller one",
                                    MAX_ELEMENTS);
    const int capacity = r->capacity ? 2 * r->capacity : 512;
    came *grown = realloc(r->element, (size_t)capacity * sizeof *grown);
    if (!grown) return hr_no_memory(s->err, "a run of the conformance suite");
    r->element = grown;
    r->capacity = capacity;
    return HR_OK;
}

hr_status hr__conformance_run_on(const subject *s, run *r, hr_iterator *it, int at_most)
{
    r->end = HR_OK;
    for (; at_most > 0; at_most--) {
        const hr_element *e;
        r->end = hr_next_within(it, PATIENCE_S * UINT64_C(1000000000), &e);
        if (r->end == HR_WAIT)
            return hr__conformance_fail(s, HR_INTERNAL, "conformance.standstill",
                                        "expected an element or the end, found that nothing came for %d s; an operator "
                                        "that returns HR_WAIT has to have been given it",
                                        PATIENCE_S);
        if (r->end != HR_OK) break;
        HR_TRY(run_reserve(s, r));
        came *c = &r->element[r->count++];
        *c = (came){0};
        if (!hr_conformance_digest(e, &c->digest)) {
            r->end = HR_RESOURCE_EXHAUSTED;
            return HR_OK;
        }
        note_first_values(c, e);
    }
    const hr_error *error = hr_iterator_error(it);
    if (error) r->error = *error;
    return HR_OK;
}

hr_status hr__conformance_run(const subject *s, run *r, way w)
{
    hr__conformance_begin(r);
    hr_iterator *it = hr__conformance_iterate(s, w);
    const hr_status st = hr__conformance_run_on(s, r, it, INT32_MAX);
    hr_iterator_free(it);
    return st;
}

hr_status hr__conformance_same(const subject *s, int from, hr_status code, const char *kind, const char *how)
{
    const run *want = &s->want, *got = &s->got;
    if (got->end != want->end || strcmp(got->error.text, want->error.text) != 0)
        return hr__conformance_fail(s, code, kind,
                                    "%s: expected that it ends with %s \"%.100s\" as without workers, found %s "
                                    "\"%.100s\"",
                                    how, hr_status_name(want->end), want->error.text, hr_status_name(got->end),
                                    got->error.text);
    if (got->count != want->count - from)
        return hr__conformance_fail(s, code, kind, "%s: expected %d elements as without workers, found %d", how,
                                    want->count - from, got->count);
    for (int i = 0; i < got->count; i++) {
        const came *a = &want->element[from + i], *b = &got->element[i];
        char expected[96], found[96];
        if (a->digest == b->digest) continue;
        came_text(a, expected, sizeof expected);
        came_text(b, found, sizeof found);
        if (strcmp(expected, found) != 0)
            return hr__conformance_fail(s, code, kind,
                                        "%s: expected that element %d is %s as without workers, found %s", how,
                                        from + i, expected, found);
        return hr__conformance_fail(s, code, kind,
                                    "%s: expected that element %d, which begins with %s, is as without workers, found "
                                    "that it differs further on",
                                    how, from + i, expected);
    }
    return HR_OK;
}
