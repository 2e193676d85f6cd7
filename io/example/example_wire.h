/* tf.Example on the wire, writing: varints, and the map of features that an Example and a SequenceExample consist of.
 * The bytes are deterministic, as protobuf's: entries sorted by the key's bytes, numbers packed, key and value always
 * written. */
#ifndef HR_EXAMPLE_WIRE_H
#define HR_EXAMPLE_WIRE_H

#include <headrace/examples.h>
#include <string.h>

/* Tags of tensorflow/core/example: all of them are one byte. */
enum {
    HR__TAG_1 = 0x0a, /* field 1, length delimited: features, entry, key, bytes_list, a list's packed values, ... */
    HR__TAG_2 = 0x12, /* field 2: value, float_list, feature_lists */
    HR__TAG_3 = 0x1a, /* field 3: int64_list */
    HR__MAX_VARINT = 10,
};

static inline size_t hr__varint_size(uint64_t v) { return ((size_t)(63 - __builtin_clzll(v | 1)) * 9 + 73) / 64; }

static inline char *hr__put_varint(char *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (char)(v | 0x80);
        v >>= 7;
    }
    *p++ = (char)v;
    return p;
}

/* A tag and a length: what stands before everything that is no number. */
static inline char *hr__put_head(char *p, int tag, uint64_t length)
{
    *p++ = (char)tag;
    return hr__put_varint(p, length);
}

static inline size_t hr__headed(size_t length) { return 1 + hr__varint_size(length) + length; }

/* One Feature: int64, float or string values; HR_INVALID_DTYPE is a Feature without a kind. */
size_t hr__feature_size(const hr_tensor *feature);
char *hr__put_feature(char *p, const hr_tensor *feature); /* gives the end */

/* The values of a Feature as they stand on the wire: packed numbers; strings, each with its tag and length. */
typedef struct hr__wire_values {
    hr_dtype dtype; /* HR_INVALID_DTYPE: a Feature without a kind */
    int64_t count;
    const char *bytes;
    size_t size;
} hr__wire_values;

size_t hr__wire_feature_size(const hr__wire_values *values);
char *hr__put_wire_feature(char *p, const hr__wire_values *values); /* gives the end */

/* map<string, message>, its entries encoded as they come, each with its tag, sorted when they are asked for. */
typedef struct hr__wire_entry {
    size_t at, size, key, key_size; /* within bytes */
} hr__wire_entry;

typedef struct hr__wire_map {
    char *bytes;
    size_t size, capacity;
    hr__wire_entry *entry;
    size_t entries, entry_capacity;
    size_t *order;                   /* the entries to write, sorted: `kept` of them, filled in by hr__wire_map_sort */
    size_t retained, sorted_entries; /* the entries that there were when it was made */
    bool present;                    /* the message that holds the map is written even when it is empty */
    bool sorted;                     /* entries came in order, each key once: bytes are the answer as they lie */
    bool no_memory;
} hr__wire_map;

void hr__wire_map_clear(hr__wire_map *map); /* keeps the memory */
void hr__wire_map_free(hr__wire_map *map);
/* Begins an entry whose value takes `size` bytes and gives where to put them; NULL: no memory, which sticks. */
char *hr__wire_map_add(hr__wire_map *map, hr_view key, size_t size);
/* Sorts, keeps the last of equal keys; gives the size of all entries. */
size_t hr__wire_map_sort(hr__wire_map *map);
char *hr__put_wire_map(char *p, const hr__wire_map *map); /* after a sort */

/* As hr_example_add of one step, or as hr_example_add_list. */
void hr__example_add_wire(hr_example *example, hr_view key, const hr__wire_values *step, int64_t steps, bool list);
size_t hr__example_size(const hr_example *example); /* bytes of all that was added */

/* After hr_example_bytes: a key was added several times. */
bool hr__example_repeats(const hr_example *example);

/* hr_example_bytes in two steps: the size, and the bytes where the caller wants them. */
hr_status hr__example_measure(hr_example *example, size_t *size, hr_error *err);
void hr__example_put(const hr_example *example, char *to);

/* After hr_example_bytes, whose result stays: what it was made of is not needed any more. */
void hr__example_drop_values(hr_example *example);

#endif
