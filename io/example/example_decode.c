/* The generic walk over a tf.Example: protobuf's rules to the letter, every read bounded. It is the reference: the
 * fast path leaves it whatever is not plain, and tests compare the two.
 *
 * First the map entries are split and the last one of each asked-for key is kept, then those are decoded. */
#include "io/example/example_decode.h"

enum { MAX_GROUP_DEPTH = 100 }; /* protobuf's limit */

/* ---- the wire ---- */

static bool scan_tag(hr__scan *s, uint32_t *number, uint32_t *type)
{
    const uint8_t *start = s->p;
    uint64_t tag;
    if (!hr__scan_varint(s, 5, &tag)) return false;
    if (tag > UINT32_MAX) tag = 0;
    *number = (uint32_t)tag >> 3;
    *type = (uint32_t)tag & 7;
    if (*number == 0) s->p = start;
    return *number != 0;
}

static bool scan_bytes(hr__scan *s, uint64_t size, hr__scan *bytes)
{
    if (size > (uint64_t)(s->end - s->p)) return false;
    *bytes = (hr__scan){s->p, s->p + size};
    s->p += size;
    return true;
}

static bool scan_payload(hr__scan *s, hr__field *f)
{
    const uint8_t *start = s->p;
    uint64_t size;
    bool whole = false;
    switch (f->type) {
    case HR__WIRE_VARINT:
        whole = hr__scan_varint(s, 10, &f->varint);
        break;
    case HR__WIRE_64:
        whole = scan_bytes(s, 8, &f->bytes);
        break;
    case HR__WIRE_BYTES:
        whole = hr__scan_varint(s, 10, &size) && scan_bytes(s, size, &f->bytes);
        break;
    case HR__WIRE_32:
        whole = scan_bytes(s, 4, &f->bytes);
        break;
    }
    if (!whole) s->p = start;
    return whole;
}

/* After the tag that opens a group: skips past the one that closes it. */
static bool skip_group(hr__scan *s, uint32_t number)
{
    enum { START = 3, STOP = 4 };
    uint32_t open[MAX_GROUP_DEPTH] = {number};
    for (int depth = 1; depth > 0;) {
        hr__field f;
        if (!scan_tag(s, &f.number, &f.type)) return false;
        if (f.type == START) {
            if (depth == MAX_GROUP_DEPTH) return false;
            open[depth++] = f.number;
        } else if (f.type == STOP) {
            if (open[--depth] != f.number) return false;
        } else if (!scan_payload(s, &f)) {
            return false;
        }
    }
    return true;
}

bool hr__scan_field(hr__scan *s, hr__field *field)
{
    if (!scan_tag(s, &field->number, &field->type)) return false;
    if (field->type == HR__WIRE_GROUP) return skip_group(s, field->number);
    return scan_payload(s, field);
}

/* ---- lists and features ---- */

static bool decode_floats(hr__sink *sink, hr__scan list, const uint8_t **fault)
{
    while (list.p < list.end) {
        hr__field f;
        *fault = list.p;
        if (!hr__scan_field(&list, &f)) return false;
        if (f.number != 1) continue;
        int64_t size = f.bytes.end - f.bytes.p;
        if (f.type == HR__WIRE_BYTES && size % 4 != 0) return false;
        if (f.type == HR__WIRE_BYTES || f.type == HR__WIRE_32) hr__sink_floats(sink, f.bytes.p, size / 4);
    }
    return true;
}

static bool decode_int64s(hr__sink *sink, hr__scan list, const uint8_t **fault)
{
    while (list.p < list.end) {
        hr__field f;
        *fault = list.p;
        if (!hr__scan_field(&list, &f)) return false;
        if (f.number != 1) continue;
        if (f.type == HR__WIRE_BYTES && !hr__sink_varints(sink, f.bytes)) return false;
        if (f.type == HR__WIRE_VARINT) hr__sink_int64(sink, f.varint);
    }
    return true;
}

/* Field 1, of a length in one byte: as nearly every string lies there. */
static bool plain_string(hr__scan *list, hr__scan *bytes)
{
    const uint8_t *p = list->p;
    if (list->end - p < 2 || p[0] != (1 << 3 | HR__WIRE_BYTES) || p[1] >= 0x80 || p[1] > list->end - p - 2)
        return false;
    *bytes = (hr__scan){p + 2, p + 2 + p[1]};
    list->p = bytes->end;
    return true;
}

static bool decode_strings(hr__sink *sink, hr__scan list, const uint8_t **fault)
{
    while (list.p < list.end) {
        hr__field f;
        if (plain_string(&list, &f.bytes)) {
            hr__sink_bytes(sink, f.bytes.p, f.bytes.end - f.bytes.p);
            continue;
        }
        *fault = list.p;
        if (!hr__scan_field(&list, &f)) return false;
        if (f.number == 1 && f.type == HR__WIRE_BYTES) hr__sink_bytes(sink, f.bytes.p, f.bytes.end - f.bytes.p);
    }
    return true;
}

/* A list of a kind that the slot cannot hold is read all the same, into nothing: it may be malformed. */
static bool decode_list(hr__sink *sink, uint32_t kind, hr__scan list, const uint8_t **fault)
{
    const bool discard = sink->discard;
    if (!(sink->slot->kinds >> kind & 1)) sink->discard = true;
    bool whole = kind == HR__KIND_BYTES   ? decode_strings(sink, list, fault)
                 : kind == HR__KIND_FLOAT ? decode_floats(sink, list, fault)
                                          : decode_int64s(sink, list, fault);
    sink->discard = discard;
    return whole;
}

/* Feature is a oneof: another member clears what was there, the same one again adds to it. */
bool hr__decode_feature(hr__sink *sink, hr__scan feature, uint32_t *kind, const uint8_t **fault)
{
    while (feature.p < feature.end) {
        hr__field f;
        *fault = feature.p;
        if (!hr__scan_field(&feature, &f)) return false;
        if (f.number > HR__KIND_INT64 || f.type != HR__WIRE_BYTES) continue;
        if (*kind != f.number) hr__sink_clear(sink);
        *kind = f.number;
        if (!decode_list(sink, f.number, f.bytes, fault)) return false;
    }
    return true;
}

bool hr__decode_entry(hr__sink *sink, hr__scan entry, uint32_t *kind, const uint8_t **fault)
{
    *kind = HR__KIND_NONE;
    while (entry.p < entry.end) {
        hr__field f;
        *fault = entry.p;
        if (!hr__scan_field(&entry, &f)) return false;
        if (f.number != 2 || f.type != HR__WIRE_BYTES) continue;
        if (!hr__decode_feature(sink, f.bytes, kind, fault)) return false;
    }
    return true;
}

bool hr__entry_key(hr__scan *entry, hr__scan *key)
{
    *key = (hr__scan){entry->p, entry->p};
    while (entry->p < entry->end) {
        hr__field f;
        if (!hr__scan_field(entry, &f)) return false;
        if (f.number == 1 && f.type == HR__WIRE_BYTES) *key = f.bytes;
    }
    return true;
}

/* ---- the record ---- */

/* An entry that another one with its key replaces counts for nothing, but it must be well-formed. */
static hr_status check_replaced(const hr__walk *w, int slot)
{
    hr__sink sink = hr__sink_of(w->parser, w->rows, slot, w->row, w->err);
    const uint8_t *fault = NULL;
    uint32_t kind;
    sink.discard = true;
    if (!hr__decode_entry(&sink, w->order->entry[slot].bytes, &kind, &fault)) return hr__fail_wire(w, fault, slot);
    return HR_OK;
}

static hr_status note_entry(const hr__walk *w, hr__scan entry)
{
    hr__scan rest = entry, key;
    if (!hr__entry_key(&rest, &key)) return hr__fail_wire(w, rest.p, -1);
    int slot = hr__find_slot(w->parser, key.p, (size_t)(key.end - key.p));
    if (slot < 0) return HR_OK;
    if (hr__is_seen(w->order, slot)) HR_TRY(check_replaced(w, slot));
    hr__set_seen(w->order, slot);
    w->order->entry[slot].bytes = entry;
    return HR_OK;
}

static hr_status note_features(const hr__walk *w, hr__scan features)
{
    while (features.p < features.end) {
        hr__field f;
        if (!hr__scan_field(&features, &f)) return hr__fail_wire(w, features.p, -1);
        if (f.number == 1 && f.type == HR__WIRE_BYTES) HR_TRY(note_entry(w, f.bytes));
    }
    return HR_OK;
}

/* A feature without a kind is a missing one. */
static hr_status decode_slot(const hr__walk *w, int slot)
{
    hr__sink sink = hr__sink_of(w->parser, w->rows, slot, w->row, w->err);
    const uint8_t *fault = NULL;
    uint32_t kind;
    if (!hr__decode_entry(&sink, w->order->entry[slot].bytes, &kind, &fault)) return hr__fail_wire(w, fault, slot);
    if (sink.status != HR_OK) return sink.status;
    if (kind == HR__KIND_NONE) {
        w->order->seen[slot >> 6] &= ~(1ull << (slot & 63));
        return HR_OK;
    }
    if (!(sink.slot->kinds >> kind & 1)) return hr__fail_kind(w, slot, kind);
    return hr__sink_fits(&sink) ? HR_OK : hr__fail_values(w, &sink);
}

hr_status hr__example_generic(const hr__walk *w)
{
    hr__scan record = {(const uint8_t *)w->record.data, (const uint8_t *)w->record.data + w->record.size};
    hr__example_begin(w);
    while (record.p < record.end) {
        hr__field f;
        if (!hr__scan_field(&record, &f)) return hr__fail_wire(w, record.p, -1);
        if (f.number == 1 && f.type == HR__WIRE_BYTES) HR_TRY(note_features(w, f.bytes));
    }
    for (int slot = 0; slot < w->parser->slots; slot++)
        if (hr__is_seen(w->order, slot)) HR_TRY(decode_slot(w, slot));
    return hr__example_finish(w);
}
