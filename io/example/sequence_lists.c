/* The feature lists of a SequenceExample, as both walks fill them: steps, and the row's splits. */
#include "io/example/sequence_decode.h"

/* ---- steps ---- */

hr_status hr__step_open(const hr__sequence_walk *w, int slot, hr__sink *sink)
{
    hr__sequence_steps *s = &w->rows->steps[slot];
    if (s->count >= INT32_MAX - 1)
        return hr_fail(w->lists.err, HR_RESOURCE_EXHAUSTED, "example.count",
                       "expected at most %d rows of a feature list in the records that are parsed at once, found more; "
                       "make batches smaller",
                       INT32_MAX - 1);
    if (s->count == s->capacity) {
        int64_t capacity = 2 * s->capacity + 64;
        HR_TRY(w->rows->grow(w->rows, slot, capacity < INT32_MAX ? capacity : INT32_MAX - 1, w->lists.err));
    }
    *sink = hr__sink_of(w->lists.parser, &w->rows->lists, slot, s->count, w->lists.err);
    return HR_OK;
}

static hr_status fail_step(const hr__sequence_walk *w, const hr__sink *sink)
{
    const hr__example_feature *f = &sink->slot->f;
    const int64_t step = w->rows->steps[sink->number].count - w->rows->steps[sink->number].splits[w->lists.row];
    if (sink->out_of_range) return hr__fail_values(&w->lists, sink);
    return hr__name_feature(
        &w->lists, sink->number,
        hr_fail(w->lists.err, HR_INVALID_ARGUMENT, "example.count",
                "feature list '%.*s', row %lld: expected %lld values of %s, found %lld; change its shape, or ask for "
                "rows of any length",
                (int)(f->key.size < 60 ? f->key.size : 60), f->key.data, (long long)step, (long long)f->group,
                hr_dtype_name(f->dtype), (long long)sink->count));
}

hr_status hr__step_close(const hr__sequence_walk *w, const hr__sink *sink)
{
    hr__sequence_steps *s = &w->rows->steps[sink->number];
    const int64_t group = sink->slot->f.group;
    if (sink->status != HR_OK) return sink->status;
    if (sink->out_of_range || (group > 0 && sink->count != group)) return fail_step(w, sink);
    sink->column->splits[++s->count] = (int32_t)sink->column->count;
    return HR_OK;
}

/* ---- lists ---- */

void hr__lists_begin(const hr__sequence_walk *w)
{
    memset(w->lists.order->seen, 0, (size_t)w->lists.parser->words * sizeof *w->lists.order->seen);
}

hr_status hr__lists_finish(const hr__sequence_walk *w)
{
    const hr__example_parser *p = w->lists.parser;
    for (int slot = 0; slot < p->slots; slot++) {
        hr__sequence_steps *s = &w->rows->steps[slot];
        if (p->slot[slot].f.required && !hr__is_seen(w->lists.order, slot)) return hr__fail_missing(&w->lists, slot);
        s->splits[w->lists.row + 1] = (int32_t)s->count;
    }
    return HR_OK;
}

void hr__lists_empty(const hr__sequence_walk *w)
{
    for (int slot = 0; slot < w->lists.parser->slots; slot++) {
        hr__sequence_steps *s = &w->rows->steps[slot];
        hr__example_column *c = &w->rows->lists.column[slot];
        s->count = s->splits[w->lists.row];
        s->splits[w->lists.row + 1] = (int32_t)s->count;
        c->count = c->splits[s->count];
    }
}
