/* The inside of the tf.Example reader: wire primitives, a parser's slots, and the sink that values go into. Shared by
 * the generic walk, TensorFlow's walk and the fast path. Every read is bounded by the scan's end. */
#ifndef HR_EXAMPLE_DECODE_H
#define HR_EXAMPLE_DECODE_H

#include "base/bytes.h"
#include "io/example/example_reader.h"
#include <string.h>

/* ---- the wire ---- */

enum { HR__WIRE_VARINT = 0, HR__WIRE_64 = 1, HR__WIRE_BYTES = 2, HR__WIRE_GROUP = 3, HR__WIRE_32 = 5 };

typedef struct hr__scan {
    const uint8_t *p, *end;
} hr__scan;

/* At most `most` bytes (10 for a number, 5 for a tag); bits beyond the 64th are dropped. False: cut or too long. */
static inline bool hr__scan_varint(hr__scan *s, int max, uint64_t *value)
{
    uint64_t v = 0;
    const uint8_t *p = s->p;
    for (int i = 0; i < max && p < s->end; i++) {
        uint8_t b = *p++;
        v |= (uint64_t)(b & 0x7f) << (7 * i);
        if (b < 0x80) {
            s->p = p;
            *value = v;
            return true;
        }
    }
    return false;
}

/* A field: number, wire type and what it holds, by protobuf's rules. */
typedef struct hr__field {
    uint32_t number, type;
    uint64_t varint;
    hr__scan bytes; /* the payload of what is neither a varint nor a group */
} hr__field;

/* The next field; groups are skipped over whole. False: malformed, and s->p is where. */
bool hr__scan_field(hr__scan *s, hr__field *field);

/* ---- slots ---- */

/* The members of Feature's oneof are numbered so. */
enum { HR__KIND_NONE = 0, HR__KIND_BYTES = 1, HR__KIND_FLOAT = 2, HR__KIND_INT64 = 3 };

/* What to do with the payload after a template. */
typedef enum hr__way { HR__WAY_ANY, HR__WAY_INT64, HR__WAY_FLOAT, HR__WAY_STRING, HR__WAY_STRINGS } hr__way;

enum { HR__BLOCK = 32 };

/* A slot begins with what the fast path compares: the first bytes of its map entry as nearly every writer makes it,
 *     0a ? 0a k key... 12 ? kind ? 0a ?
 * where the ?, lengths of one byte, are masked out but for their top bit. */
typedef struct hr__slot {
    uint8_t text[HR__BLOCK], mask[HR__BLOCK];
    uint8_t text2[HR__BLOCK], mask2[HR__BLOCK]; /* of a key too long for one block */
    uint8_t payload_at;                         /* 0: the key is too long for a template */
    uint8_t way;                                /* hr__way */
    uint8_t kind, kinds;                        /* the kind it is written in; a bit for each that may be read */
    uint8_t size;                               /* of a value in the column */
    hr__example_feature f;
} hr__slot;

struct hr__example_parser {
    int slots;
    int words;           /* of a bit set of slots */
    int lists;           /* how many slots are lists: */
    int32_t *list;       /* they are these */
    uint32_t buckets;    /* a power of two, more than twice the slots */
    uint32_t shift;      /* of a key's hash, to a bucket */
    uint64_t multiplier; /* chosen so that few keys share a bucket, mostly none */
    int32_t *bucket;     /* slot + 1 by hash of the key, linear probing; 0: none */
    uint64_t *all;       /* bits of all slots */
    hr__slot *slot;
    char *keys;
};

/* A map entry that waits for its turn. */
typedef struct hr__entry {
    hr__scan bytes;
    int slot;
} hr__entry;

/* next[i]: the slot that mostly follows slot i (next[slots]: comes first). A new successor must be seen twice. */
struct hr__example_order {
    uint16_t *next, *candidate; /* guesses: of slots beyond 65,535 the rest, which is never right */
    uint32_t lookups, misses;   /* of the records since the last verdict */
    uint32_t records;
    bool by_hash;     /* the order is random: do not predict */
    uint64_t *seen;   /* bits of slots found in this record */
    hr__entry *entry; /* the generic walk: one a slot. TensorFlow's: a growing list */
    int entries, entry_capacity;
};

/* Slot of a key; -1: it was not asked for. 8 bytes from the key's start are readable. */
int hr__find_slot(const hr__example_parser *parser, const uint8_t *key, size_t size);

/* The bucket where a key's search begins. */
static inline uint32_t hr__key_bucket(const hr__example_parser *parser, const uint8_t *key, size_t size)
{
    uint64_t a = hr__get64(key);
    if (size >= 8) {
        uint64_t b = hr__get64(key + size - 8);
        a ^= b << 29 | b >> 35;
    } else {
        a &= (1ull << 8 * size) - 1;
    }
    return (uint32_t)(((a ^ size << 56) * parser->multiplier) >> parser->shift);
}

/* ---- where values go ---- */

/* One feature of one row while it is decoded. It counts all values, and writes those there is room for. */
typedef struct hr__sink {
    const hr__slot *slot;
    hr__example_rows *rows;
    hr__example_column *column;
    int64_t row, count;
    int number; /* of the slot */
    bool discard;
    bool out_of_range; /* `refused` does not fit the column */
    int64_t refused;
    hr_status status; /* of growing a list; err says more */
    hr_error *err;
} hr__sink;

hr__sink hr__sink_of(const hr__example_parser *parser, hr__example_rows *rows, int slot, int64_t row, hr_error *err);
void hr__sink_clear(hr__sink *sink); /* forgets the values */
void hr__sink_int64(hr__sink *sink, uint64_t value);
void hr__sink_floats(hr__sink *sink, const uint8_t *values, int64_t count); /* as they lie on the wire */
void hr__sink_bytes(hr__sink *sink, const uint8_t *data, int64_t size);
bool hr__sink_varints(hr__sink *sink, hr__scan packed); /* false: malformed */
/* The values are as many as they must be, and all fit. */
bool hr__sink_fits(const hr__sink *sink);

/* ---- the walks ---- */

/* One record on its way. The first fault is kept. */
typedef struct hr__walk {
    const hr__example_parser *parser;
    hr__example_order *order;
    hr__example_rows *rows;
    int64_t row;
    hr_view record;
    hr_error *err;
} hr__walk;

/* The value of a map entry into its slot, by protobuf's rules. *kind: the one that counts, HR__KIND_NONE if it has
 * none. False: malformed at *fault. */
bool hr__decode_entry(hr__sink *sink, hr__scan entry, uint32_t *kind, const uint8_t **fault);
/* The same of a Feature; *kind continues from what it is. */
bool hr__decode_feature(hr__sink *sink, hr__scan feature, uint32_t *kind, const uint8_t **fault);
/* Finds the key of a well-formed entry, the last one if there are several. False: malformed at entry.p. */
bool hr__entry_key(hr__scan *entry, hr__scan *key);

bool hr__example_fast(const hr__walk *walk); /* false: not all of it is plain; nothing is decided */
hr_status hr__example_generic(const hr__walk *walk);
hr_status hr__example_tf(const hr__walk *walk);

/* Rows begin: lists as long as splits[row] says, no slot seen. Rows end: splits, and what is missing. */
void hr__example_begin(const hr__walk *walk);
hr_status hr__example_finish(const hr__walk *walk);
void hr__example_empty(const hr__walk *walk); /* a row of nothing, after a failure */

/* Errors of a feature, and of the record's bytes. All return HR_INVALID_ARGUMENT. */
hr_status hr__fail_wire(const hr__walk *walk, const uint8_t *at, int slot);
hr_status hr__fail_kind(const hr__walk *walk, int slot, uint32_t kind);
hr_status hr__fail_values(const hr__walk *walk, const hr__sink *sink);
hr_status hr__fail_missing(const hr__walk *walk, int slot);
/* Says in the error which feature it is about; returns `status`. */
hr_status hr__name_feature(const hr__walk *walk, int slot, hr_status status);

static inline void hr__set_seen(hr__example_order *order, int slot) { order->seen[slot >> 6] |= 1ull << (slot & 63); }
static inline bool hr__is_seen(const hr__example_order *order, int slot)
{
    return order->seen[slot >> 6] >> (slot & 63) & 1;
}

#endif
