/* The walk over a SequenceExample by TensorFlow's rules (ParseSequenceExampleV2), for .tf_compat. A value is read
 * from where the stream stands, and what follows it in its message is not skipped: the next row begins there,
 * and mostly fails.
 *
 * Map entries are key, then value, and nothing else; of a key the last entry counts. */
#include "io/example/example_stream.h"
#include "io/example/sequence_decode.h"

/* ---- one Feature, from where the stream stands ---- */

static bool sequence_tf_read_strings(hr__sink *sink, hr__scan *list)
{
    hr__scan bytes;
    while (list->p < list->end) {
        if (!hr__stream_tag(list, HR__TAG_1) || !hr__stream_bytes(list, &bytes)) return false;
        hr__sink_bytes(sink, bytes.p, bytes.end - bytes.p);
    }
    return true;
}

static bool read_loose(hr__sink *sink, hr__scan *list)
{
    const bool floats = sink->slot->kind == HR__KIND_FLOAT;
    uint64_t v;
    while (list->p < list->end) {
        if (!hr__stream_tag(list, floats ? HR__TAG_FLOAT : HR__TAG_INT64)) return false;
        if (floats) {
            if (!hr__stream_skip(list, 4)) return false;
            hr__sink_floats(sink, list->p - 4, 1);
        } else {
            if (!hr__scan_varint(list, 10, &v)) return false;
            hr__sink_int64(sink, v);
        }
    }
    return true;
}

/* One packed chunk, or values one by one; not both. */
static bool sequence_tf_read_numbers(hr__sink *sink, hr__scan *list)
{
    uint32_t length;
    if (list->p == list->end) return false;
    if (*list->p != HR__TAG_1) return read_loose(sink, list);
    list->p++;
    if (!hr__stream_length(list, &length)) return false;
    const hr__scan packed = hr__stream_narrowed(list, length);
    list->p = packed.end;
    if (sink->slot->kind == HR__KIND_INT64) return hr__sink_varints(sink, packed);
    const int64_t size = packed.end - packed.p;
    if (size % 4 == 0) hr__sink_floats(sink, packed.p, size / 4);
    return size % 4 == 0;
}

/* False: it is of another kind, or malformed. */
static bool read_feature(hr__sink *sink, hr__scan *s)
{
    uint32_t length;
    if (!hr__stream_tag(s, (uint8_t)(sink->slot->kind << 3 | HR__WIRE_BYTES)) || !hr__stream_length(s, &length))
        return false;
    if (length == 0) return true;
    hr__scan list = hr__stream_narrowed(s, length);
    const bool whole = sink->slot->kind == HR__KIND_BYTES ? sequence_tf_read_strings(sink, &list)
                                                          : sequence_tf_read_numbers(sink, &list);
    s->p = list.p;
    return whole;
}

/* ---- the context ---- */

/* A feature that is there without values is one of no values, whatever its default. */
static hr_status decode_context(const hr__walk *w, int slot)
{
    hr__sink sink = hr__sink_of(w->parser, w->rows, slot, w->row, w->err);
    hr__scan feature = w->order->entry[slot].bytes;
    const uint8_t *start = feature.p;
    if (feature.p < feature.end && !read_feature(&sink, &feature)) return hr__fail_wire(w, start, slot);
    if (sink.status != HR_OK) return sink.status;
    return hr__sink_fits(&sink) ? HR_OK : hr__fail_values(w, &sink);
}

/* ---- lists ---- */

/* A list of the right kind and of no values, in two bytes. */
static bool read_empty(const hr__sink *sink, hr__scan *s)
{
    uint32_t length;
    return hr__stream_tag(s, (uint8_t)(sink->slot->kind << 3 | HR__WIRE_BYTES)) && hr__stream_length(s, &length) &&
           length == 0;
}

static bool sequence_tf_read_step(hr__sink *sink, hr__scan *list)
{
    uint32_t length;
    if (!hr__stream_tag(list, HR__TAG_1) || !hr__stream_length(list, &length)) return false;
    if (length <= 2) return length == 0 || (length == 2 && read_empty(sink, list));
    hr__scan feature = hr__stream_narrowed(list, length);
    const bool whole = read_feature(sink, &feature);
    list->p = feature.p;
    return whole;
}

static hr_status sequence_tf_decode_list(const hr__sequence_walk *w, int slot)
{
    hr__scan list = w->lists.order->entry[slot].bytes;
    while (list.p < list.end) {
        const uint8_t *start = list.p;
        hr__sink sink;
        HR_TRY(hr__step_open(w, slot, &sink));
        if (!sequence_tf_read_step(&sink, &list)) return hr__fail_wire(&w->lists, start, slot);
        HR_TRY(hr__step_close(w, &sink));
    }
    return HR_OK;
}

/* ---- the record ---- */

static bool sequence_tf_read_entry(hr__scan *map, hr__scan *key, hr__scan *value)
{
    uint32_t length;
    if (!hr__stream_tag(map, HR__TAG_1) || !hr__stream_length(map, &length)) return false;
    hr__scan entry = hr__stream_narrowed(map, length);
    if (!hr__stream_tag(&entry, HR__TAG_1) || !hr__stream_bytes(&entry, key)) return false;
    if (!hr__stream_tag(&entry, HR__TAG_2) || !hr__stream_bytes(&entry, value)) return false;
    map->p = entry.p;
    return entry.p == entry.end;
}

/* The map after the tag that opened it: the entries that are asked for. */
static hr_status note_entries(const hr__walk *w, hr__scan *s)
{
    uint32_t length;
    hr__scan key, value;
    if (!hr__stream_length(s, &length)) return hr__fail_wire(w, s->p, -1);
    hr__scan map = hr__stream_narrowed(s, length);
    while (map.p < map.end) {
        if (!sequence_tf_read_entry(&map, &key, &value)) return hr__fail_wire(w, map.p, -1);
        const int slot = hr__find_slot(w->parser, key.p, (size_t)(key.end - key.p));
        if (slot < 0) continue;
        hr__set_seen(w->order, slot);
        w->order->entry[slot].bytes = value;
    }
    s->p = map.end;
    return HR_OK;
}

static hr_status note_record(const hr__sequence_walk *w)
{
    const uint8_t *start = (const uint8_t *)w->lists.record.data;
    hr__scan record = {start, start + w->lists.record.size};
    while (record.p < record.end) {
        if (hr__stream_tag(&record, HR__TAG_1))
            HR_TRY(note_entries(&w->context, &record));
        else if (hr__stream_tag(&record, HR__TAG_2))
            HR_TRY(note_entries(&w->lists, &record));
        else if (!hr__stream_unknown(&record))
            return hr__fail_wire(&w->lists, record.p, -1);
    }
    return HR_OK;
}

hr_status hr__sequence_tf(const hr__sequence_walk *w)
{
    hr__example_begin(&w->context);
    hr__lists_begin(w);
    HR_TRY(note_record(w));
    for (int slot = 0; slot < w->context.parser->slots; slot++)
        if (hr__is_seen(w->context.order, slot)) HR_TRY(decode_context(&w->context, slot));
    HR_TRY(hr__example_finish(&w->context));
    for (int slot = 0; slot < w->lists.parser->slots; slot++)
        if (hr__is_seen(w->lists.order, slot)) HR_TRY(sequence_tf_decode_list(w, slot));
    return hr__lists_finish(w);
}
