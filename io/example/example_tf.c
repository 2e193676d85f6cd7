/* The walk over a tf.Example by TensorFlow's rules (ParseExampleV2's fast parser), for .tf_compat: what it accepts
 * and refuses, and what it skips silently, whatever protobuf's rules say. Nothing is written past a row. A cut
 * record may parse as a shorter one. */
#include "io/example/example_stream.h"

/* ---- lists ---- */

static bool example_tf_read_strings(hr__sink *sink, hr__scan list)
{
    while (list.p < list.end) {
        hr__scan bytes;
        if (!hr__stream_tag(&list, HR__TAG_1) || !hr__stream_bytes(&list, &bytes)) return false;
        hr__sink_bytes(sink, bytes.p, bytes.end - bytes.p);
    }
    return true;
}

static bool read_loose_floats(hr__sink *sink, hr__scan list)
{
    while (list.p < list.end) {
        const uint8_t *value = list.p + 1;
        if (!hr__stream_tag(&list, HR__TAG_FLOAT) || !hr__stream_skip(&list, 4)) return false;
        hr__sink_floats(sink, value, 1);
    }
    return true;
}

/* Odd bytes after the last float count for nothing, nor does what follows the first packed chunk. */
static bool read_floats(hr__sink *sink, hr__scan list)
{
    uint32_t length;
    if (list.p == list.end) return true;
    if (*list.p != HR__TAG_1) return read_loose_floats(sink, list);
    list.p++;
    if (!hr__stream_length(&list, &length)) return false;
    const hr__scan packed = hr__stream_narrowed(&list, length);
    if (length / 4 > (uint64_t)(packed.end - packed.p) / 4) return false;
    hr__sink_floats(sink, packed.p, length / 4);
    return true;
}

static bool read_loose_int64s(hr__sink *sink, hr__scan list)
{
    while (list.p < list.end) {
        uint64_t v;
        if (!hr__stream_tag(&list, HR__TAG_INT64) || !hr__scan_varint(&list, 10, &v)) return false;
        hr__sink_int64(sink, v);
    }
    return true;
}

static bool read_int64s(hr__sink *sink, hr__scan list)
{
    uint32_t length;
    if (list.p == list.end) return true;
    if (*list.p != HR__TAG_1) return read_loose_int64s(sink, list);
    list.p++;
    return hr__stream_length(&list, &length) && hr__sink_varints(sink, hr__stream_narrowed(&list, length));
}

/* Called after the byte that names the kind. What follows the first list is not looked at. */
static bool example_tf_read_list(hr__sink *sink, hr__scan feature, uint32_t kind)
{
    uint32_t length;
    if (!hr__stream_length(&feature, &length)) return false;
    const hr__scan list = hr__stream_narrowed(&feature, length);
    if (kind == HR__KIND_BYTES) return example_tf_read_strings(sink, list);
    return kind == HR__KIND_FLOAT ? read_floats(sink, list) : read_int64s(sink, list);
}

/* ---- entries ---- */

static hr_status keep_entry(const hr__walk *w, int slot, hr__scan feature)
{
    hr__example_order *o = w->order;
    if (o->entries == o->entry_capacity) {
        int capacity = 2 * o->entry_capacity;
        hr__entry *more = hr_realloc(o->entry, (size_t)capacity * sizeof *more);
        if (!more) return hr_no_memory(w->err, "the entries of an Example");
        o->entry = more;
        o->entry_capacity = capacity;
    }
    o->entry[o->entries++] = (hr__entry){feature, slot};
    return HR_OK;
}

/* Exactly two fields, each of them the key or the value. */
static bool example_tf_read_entry(hr__scan *entry, hr__scan *key, hr__scan *feature)
{
    *key = *feature = (hr__scan){entry->p, entry->p};
    for (int i = 0; i < 2; i++) {
        uint64_t tag;
        if (!hr__scan_varint(entry, 10, &tag)) return false;
        tag = (uint32_t)tag;
        if (tag != HR__TAG_1 && tag != HR__TAG_2) return false;
        if (!hr__stream_bytes(entry, tag == HR__TAG_1 ? key : feature)) return false;
    }
    return entry->p == entry->end;
}

static hr_status read_features(const hr__walk *w, hr__scan *s)
{
    uint32_t length;
    if (!hr__stream_length(s, &length)) return hr__fail_wire(w, s->p, -1);
    hr__scan features = hr__stream_narrowed(s, length);
    while (features.p < features.end) {
        hr__scan key, feature;
        if (!hr__stream_tag(&features, HR__TAG_1) || !hr__stream_length(&features, &length))
            return hr__fail_wire(w, features.p, -1);
        hr__scan entry = hr__stream_narrowed(&features, length);
        if (!example_tf_read_entry(&entry, &key, &feature)) return hr__fail_wire(w, entry.p, -1);
        features.p = entry.end;
        int slot = hr__find_slot(w->parser, key.p, (size_t)(key.end - key.p));
        if (slot >= 0) HR_TRY(keep_entry(w, slot, feature));
    }
    s->p = features.end;
    return HR_OK;
}

/* ---- features ---- */

static hr_status example_tf_decode_list(const hr__walk *w, int slot, hr__scan feature, uint32_t kind)
{
    hr__sink sink = hr__sink_of(w->parser, w->rows, slot, w->row, w->err);
    if (!(sink.slot->kinds >> kind & 1)) return hr__fail_kind(w, slot, kind);
    const uint8_t *start = feature.p++;
    if (!example_tf_read_list(&sink, feature, kind)) return hr__fail_wire(w, start, slot);
    if (sink.status != HR_OK) return sink.status;
    return hr__sink_fits(&sink) ? HR_OK : hr__fail_values(w, &sink);
}

/* Entries are taken from the last to the first. One without a kind leaves its feature to an earlier one, but for a
 * list in a batch: there it counts. */
static hr_status decode_entry(const hr__walk *w, const hr__entry *e)
{
    uint32_t kind = HR__KIND_NONE;
    if (e->bytes.p < e->bytes.end) {
        const uint8_t tag = *e->bytes.p;
        if (tag != HR__TAG_1 && tag != HR__TAG_2 && tag != HR__TAG_3) return hr__fail_wire(w, e->bytes.p, e->slot);
        kind = tag >> 3;
    }
    const hr__example_feature *f = &w->parser->slot[e->slot].f;
    const bool counts_unset = f->count < 0 && f->group == 0 && !w->rows->single;
    if (hr__is_seen(w->order, e->slot) || (kind == HR__KIND_NONE && !counts_unset)) return HR_OK;
    hr__set_seen(w->order, e->slot);
    return kind == HR__KIND_NONE ? HR_OK : example_tf_decode_list(w, e->slot, e->bytes, kind);
}

hr_status hr__example_tf(const hr__walk *w)
{
    hr__scan record = {(const uint8_t *)w->record.data, (const uint8_t *)w->record.data + w->record.size};
    hr__example_begin(w);
    w->order->entries = 0;
    while (record.p < record.end) {
        if (hr__stream_tag(&record, HR__TAG_1))
            HR_TRY(read_features(w, &record));
        else if (!hr__stream_unknown(&record))
            return hr__fail_wire(w, record.p, -1);
    }
    for (int i = w->order->entries; i-- > 0;) HR_TRY(decode_entry(w, &w->order->entry[i]));
    return hr__example_finish(w);
}
