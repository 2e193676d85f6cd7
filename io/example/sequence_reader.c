/* One SequenceExample by protobuf's rules: the context through the Example reader, the lists by a walk of their own. As
 * there, map entries are split first, the last one of each asked-for key is kept, then those are decoded. */
#include "io/example/sequence_reader.h"
#include "io/example/sequence_decode.h"

enum { CONTEXT = 1, FEATURE_LISTS = 2 };

/* Stands for an empty record: 64 bytes after it must be readable. */
static const char nothing[65];

/* ---- lists ---- */

/* A Feature without a kind is a step without values. */
static hr_status decode_step(const hr__sequence_walk *w, int slot, hr__scan feature, bool replaced)
{
    hr__sink sink = hr__sink_of(w->lists.parser, &w->rows->lists, slot, 0, w->lists.err);
    const uint8_t *fault = feature.p;
    uint32_t kind = HR__KIND_NONE;
    if (!replaced) HR_TRY(hr__step_open(w, slot, &sink));
    sink.discard = replaced;
    if (!hr__decode_feature(&sink, feature, &kind, &fault)) return hr__fail_wire(&w->lists, fault, slot);
    if (replaced) return HR_OK;
    if (kind != HR__KIND_NONE && !(sink.slot->kinds >> kind & 1)) return hr__fail_kind(&w->lists, slot, kind);
    return hr__step_close(w, &sink);
}

/* Appends the values of a packed list or a string; gives how many, -1: not plain, or no room, and nothing counts. */
static int64_t take_values(const hr__slot *slot, hr__example_column *c, const uint8_t *payload, int64_t size)
{
    const int64_t capacity = c->capacity - c->count;
    if (slot->f.dtype == HR_STRING && capacity > 0) {
        ((hr_view *)c->values)[c->count] = (hr_view){(const char *)payload, size};
        return 1;
    }
    if (slot->f.dtype == HR_FLOAT && size % 4 == 0 && size / 4 <= capacity) {
        if (size) memcpy((float *)c->values + c->count, payload, (size_t)size);
        return size / 4;
    }
    if (slot->f.dtype != HR_INT64 || size > capacity) return -1;
    hr__scan numbers = {payload, payload + size};
    int64_t *to = (int64_t *)c->values + c->count, count = 0;
    for (uint64_t value; numbers.p < numbers.end; to[count++] = (int64_t)value)
        if (!hr__scan_varint(&numbers, 10, &value)) return -1;
    return count;
}

/* A step as nearly every writer makes it, with all lengths in one byte: 0a ? kind ? 0a ? values. False: the rules
 * decide about it, from its beginning. */
static bool take_plain_step(const hr__sequence_walk *w, int slot, hr__scan *list)
{
    enum { HEAD = 6, LONGEST = 0x7f - 4 };
    const hr__slot *s = &w->lists.parser->slot[slot];
    hr__example_column *c = &w->rows->lists.column[slot];
    hr__sequence_steps *steps = &w->rows->steps[slot];
    const uint8_t *p = list->p;
    if (list->end - p < HEAD || steps->count == steps->capacity || p[5] > LONGEST || list->end - p < HEAD + p[5])
        return false;
    const int size = p[5];
    if (p[0] != 0x0a || p[1] != size + 4 || p[2] != (s->kind << 3 | 2) || p[3] != size + 2 || p[4] != 0x0a)
        return false;
    const int64_t count = take_values(s, c, p + HEAD, size);
    if (count < 0 || (s->f.group > 0 && count != s->f.group)) return false;
    c->count += count;
    c->splits[++steps->count] = (int32_t)c->count;
    list->p = p + HEAD + size;
    return true;
}

static hr_status decode_steps(const hr__sequence_walk *w, int slot, hr__scan list, bool replaced)
{
    hr__field f;
    while (list.p < list.end) {
        if (!replaced && take_plain_step(w, slot, &list)) continue;
        if (!hr__scan_field(&list, &f)) return hr__fail_wire(&w->lists, list.p, slot);
        if (f.number == 1 && f.type == HR__WIRE_BYTES) HR_TRY(decode_step(w, slot, f.bytes, replaced));
    }
    return HR_OK;
}

/* An entry that another one with its key replaces counts for nothing, but it must be well-formed. */
static hr_status sequence_reader_decode_list(const hr__sequence_walk *w, int slot, bool replaced)
{
    hr__scan entry = w->lists.order->entry[slot].bytes;
    hr__field f;
    while (entry.p < entry.end) {
        if (!hr__scan_field(&entry, &f)) return hr__fail_wire(&w->lists, entry.p, slot);
        if (f.number == 2 && f.type == HR__WIRE_BYTES) HR_TRY(decode_steps(w, slot, f.bytes, replaced));
    }
    return HR_OK;
}

static hr_status note_list(const hr__sequence_walk *w, hr__scan entry)
{
    hr__scan rest = entry, key;
    if (!hr__entry_key(&rest, &key)) return hr__fail_wire(&w->lists, rest.p, -1);
    const int slot = hr__find_slot(w->lists.parser, key.p, (size_t)(key.end - key.p));
    if (slot < 0) return HR_OK;
    if (hr__is_seen(w->lists.order, slot)) HR_TRY(sequence_reader_decode_list(w, slot, true));
    hr__set_seen(w->lists.order, slot);
    w->lists.order->entry[slot].bytes = entry;
    return HR_OK;
}

static hr_status note_lists(const hr__sequence_walk *w, hr__scan lists)
{
    hr__field f;
    while (lists.p < lists.end) {
        if (!hr__scan_field(&lists, &f)) return hr__fail_wire(&w->lists, lists.p, -1);
        if (f.number == 1 && f.type == HR__WIRE_BYTES) HR_TRY(note_list(w, f.bytes));
    }
    return HR_OK;
}

/* ---- the record ---- */

/* Splits the record. *example is what the Example reader gets to see: the contexts that stand in front, where
 * nearly every writer puts them, or all of it, whose feature lists it skips. */
static hr_status split_record(const hr__sequence_walk *w, hr_view *example)
{
    const uint8_t *start = (const uint8_t *)w->lists.record.data;
    hr__scan record = {start, start + w->lists.record.size};
    bool in_front = true;
    hr__field f;
    example->size = 0;
    while (record.p < record.end) {
        if (!hr__scan_field(&record, &f)) return hr__fail_wire(&w->lists, record.p, -1);
        if (f.number == CONTEXT) example->size = in_front ? record.p - start : w->lists.record.size;
        if (f.number != CONTEXT) in_front = false;
        if (f.number == FEATURE_LISTS && f.type == HR__WIRE_BYTES) HR_TRY(note_lists(w, f.bytes));
    }
    return HR_OK;
}

static hr_status parse_generic(const hr__sequence_walk *w)
{
    hr_view example = w->lists.record;
    hr__lists_begin(w);
    HR_TRY(split_record(w, &example));
    for (int slot = 0; slot < w->lists.parser->slots; slot++)
        if (hr__is_seen(w->lists.order, slot)) HR_TRY(sequence_reader_decode_list(w, slot, false));
    HR_TRY(hr__lists_finish(w));
    return hr__example_parse(w->context.parser, w->context.order, &w->rows->context, w->context.row, example,
                             w->context.err);
}

static hr__sequence_walk walk_of(const hr__sequence_reader *reader, hr__sequence_rows *rows, int64_t row,
                                 hr_view record, hr_error *err)
{
    if (record.size <= 0) record = (hr_view){nothing, 0};
    return (hr__sequence_walk){
        .context = {reader->context, reader->context_order, &rows->context, row, record, err},
        .lists = {reader->lists, reader->lists_order, &rows->lists, row, record, err},
        .rows = rows,
    };
}

void hr__sequence_empty(const hr__sequence_reader *reader, hr__sequence_rows *rows, int64_t row)
{
    const hr__sequence_walk walk = walk_of(reader, rows, row, (hr_view){nothing, 0}, NULL);
    hr__example_empty(&walk.context);
    hr__lists_empty(&walk);
}

hr_status hr__sequence_parse(const hr__sequence_reader *reader, hr__sequence_rows *rows, int64_t row, hr_view record,
                             hr_error *err)
{
    const hr__sequence_walk walk = walk_of(reader, rows, row, record, err);
    const hr_status status = rows->tf_compat ? hr__sequence_tf(&walk) : parse_generic(&walk);
    if (status != HR_OK) hr__sequence_empty(reader, rows, row);
    return status;
}
