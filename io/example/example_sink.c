/* Where the values of a feature go: into a row of a dense column, or appended to the values of a list. A dense row is
 * written up to its end and counted beyond it, so that a list that is too long is reported, never written. */
#include "base/cast.h"
#include "io/example/example_decode.h"

hr__sink hr__sink_of(const hr__example_parser *parser, hr__example_rows *rows, int slot, int64_t row, hr_error *err)
{
    return (hr__sink){.slot = &parser->slot[slot],
                      .rows = rows,
                      .column = &rows->column[slot],
                      .row = row,
                      .number = slot,
                      .err = err};
}

void hr__sink_clear(hr__sink *sink)
{
    if (sink->slot->f.count < 0 && !sink->discard) sink->column->count = sink->column->splits[sink->row];
    sink->count = 0;
    sink->out_of_range = false;
}

static bool example_sink_grow(hr__sink *sink, int64_t need)
{
    int64_t capacity = 2 * sink->column->capacity;
    if (capacity < 64) capacity = 64;
    if (capacity < need) capacity = need;
    if (need > INT32_MAX) {
        sink->status = hr_fail(sink->err, HR_RESOURCE_EXHAUSTED, "example.count",
                               "feature '%.*s': expected at most %d values in the rows that are parsed at once, found "
                               "more; make batches smaller",
                               (int)sink->slot->f.key.size, sink->slot->f.key.data, INT32_MAX);
        return false;
    }
    sink->status = sink->rows->grow(sink->rows, sink->number, capacity, sink->err);
    return sink->status == HR_OK;
}

/* Where the next `*n` values go; *n becomes how many of them there is room for. NULL: nowhere. */
static void *next_values(hr__sink *sink, int64_t *n)
{
    hr__example_column *c = sink->column;
    const hr__slot *s = sink->slot;
    int64_t wanted = *n, before = sink->count;
    sink->count += wanted;
    if (sink->discard || sink->status != HR_OK) return NULL;
    if (s->f.count >= 0) {
        if (before >= s->f.count) return NULL;
        if (*n > s->f.count - before) *n = s->f.count - before;
        return (char *)c->values + (size_t)(sink->row * s->f.count + before) * s->size;
    }
    if (c->capacity - c->count < wanted && !example_sink_grow(sink, c->count + wanted)) return NULL;
    c->count += wanted;
    return (char *)c->values + (size_t)(c->count - wanted) * s->size;
}

static void put_int64(hr__sink *sink, void *at, int64_t value)
{
    if (sink->slot->f.dtype == HR_INT64) {
        memcpy(at, &value, sizeof value);
    } else if (!hr__store_integer(value, sink->slot->f.dtype, at) && !sink->out_of_range) {
        sink->out_of_range = true;
        sink->refused = value;
    }
}

void hr__sink_int64(hr__sink *sink, uint64_t value)
{
    int64_t n = 1;
    void *at = next_values(sink, &n);
    if (at) put_int64(sink, at, (int64_t)value);
}

void hr__sink_floats(hr__sink *sink, const uint8_t *values, int64_t count)
{
    int64_t n = count;
    char *at = count > 0 ? next_values(sink, &n) : NULL;
    if (!at) return;
    if (sink->slot->f.dtype == HR_FLOAT) {
        memcpy(at, values, (size_t)n * 4);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, values + 4 * i, 4);
        double d = (double)f;
        memcpy(at + 8 * i, &d, 8);
    }
}

void hr__sink_bytes(hr__sink *sink, const uint8_t *data, int64_t size)
{
    int64_t n = 1;
    hr_view *at = next_values(sink, &n);
    if (at) *at = (hr_view){(const char *)data, size};
}

/* A byte below 0x80 ends a number, so that so many numbers are there if all of it is well-formed. */
static int64_t count_varints(hr__scan packed)
{
    int64_t count = 0;
    for (const uint8_t *p = packed.p; p < packed.end; p++) count += *p < 0x80;
    return count;
}

/* Into a list of int64, where room for all of them is made at once. */
static bool sink_list(hr__sink *sink, hr__scan packed)
{
    int64_t n = count_varints(packed);
    int64_t *at = n > 0 ? next_values(sink, &n) : NULL;
    while (packed.p < packed.end) {
        uint64_t v = *packed.p;
        if (v < 0x80)
            packed.p++;
        else if (!hr__scan_varint(&packed, 10, &v))
            return false;
        if (at) *at++ = (int64_t)v;
    }
    return true;
}

bool hr__sink_varints(hr__sink *sink, hr__scan packed)
{
    if (sink->slot->f.count < 0 && sink->slot->f.dtype == HR_INT64) return sink_list(sink, packed);
    while (packed.p < packed.end) {
        uint64_t v;
        if (!hr__scan_varint(&packed, 10, &v)) return false;
        hr__sink_int64(sink, v);
    }
    return true;
}

bool hr__sink_fits(const hr__sink *sink)
{
    const hr__example_feature *f = &sink->slot->f;
    if (sink->out_of_range) return false;
    if (f->count >= 0) return sink->count == f->count;
    return f->group <= 1 || sink->count % f->group == 0;
}
