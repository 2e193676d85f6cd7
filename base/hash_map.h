/* A map from strings to int64, for vocabularies up to some 10^7 entries: 8 bytes a slot, so that a lookup that finds
 * nothing touches one cache line, and one that finds a short key two. An entry takes 32 bytes and 13 to 26 of slots,
 * and the bytes of a key that does not lie in it. Keys keep the order in which they came. Reading is safe from any
 * thread while nobody writes. Not a public header. */
#ifndef HR_MAP_H
#define HR_MAP_H

#include "base/fingerprint.h"
#include <headrace/columns.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HR__MAP_INLINE = 16 }; /* keys up to this size lie in the entry itself */

typedef struct hr__map_slot {
    uint32_t tag;   /* the upper half of the key's hash */
    uint32_t entry; /* 1 + its number; 0: free */
} hr__map_slot;

typedef struct hr__map_entry {
    int64_t value;
    size_t size;
    union {
        char bytes[HR__MAP_INLINE];
        char *far;
    } key;
} hr__map_entry;

/* Begin with {0}. */
typedef struct hr__map {
    hr__map_slot *slots;
    uint64_t mask;          /* slots - 1; 0: none yet */
    hr__map_entry *entries; /* two a cache line: aligned within entry_memory */
    void *entry_memory;
    uint32_t count, capacity;
    struct hr__map_chunk *chunks; /* the bytes of long keys */
    size_t chunk_left;
} hr__map;

/* Adds a key (copied) with its value. HR_ALREADY_EXISTS, with nothing in `err`: it is there; it keeps its value. */
HR_API hr_status hr__map_add(hr__map *map, const char *key, size_t size, int64_t value, hr_error *err);
/* The same with the key's hash, where it is at hand. */
hr_status hr__map_add_hashed(hr__map *map, uint64_t hash, const char *key, size_t size, int64_t value, hr_error *err);
/* Adds or changes. */
HR_API hr_status hr__map_set(hr__map *map, const char *key, size_t size, int64_t value, hr_error *err);
/* Space for `count` entries in all, so that adding them moves nothing. */
hr_status hr__map_reserve(hr__map *map, uint32_t count, hr_error *err);
HR_API void hr__map_free(hr__map *map);
/* Adds the names of a schema's fields, each with its index. Of fields of one name the first counts. */
hr_status hr__map_fields(hr__map *map, const hr_schema *schema, hr_error *err);

/* Entry number i in the order of adding, 0 <= i < map->count; valid until the next addition. */
static inline hr_view hr__map_key(const hr__map *map, uint32_t i)
{
    const hr__map_entry *e = &map->entries[i];
    return (hr_view){e->size > HR__MAP_INLINE ? e->key.far : e->key.bytes, (int64_t)e->size};
}

/* For lookups of many keys at once, and for callers that need the hash: the hashes of some keys first, with a prefetch
 * each; then the entry that each most likely is, with a prefetch; then the lookups. */
static inline uint64_t hr__map_hash(const char *key, size_t size) { return hr__fingerprint64_inline(key, size); }

static inline void hr__map_prefetch(const hr__map *map, uint64_t hash)
{
    if (map->mask) __builtin_prefetch(&map->slots[hash & map->mask]);
}

/* The first entry with the hash's upper half, which is nearly always that of the key, if it is there; NULL: it is
 * not. */
static inline hr__map_entry *hr__map_candidate(const hr__map *map, uint64_t hash)
{
    if (!map->mask) return NULL;
    const uint32_t tag = (uint32_t)(hash >> 32);
    for (uint64_t i = hash & map->mask;; i = (i + 1) & map->mask) {
        const hr__map_slot slot = map->slots[i];
        if (!slot.entry) return NULL;
        if (slot.tag != tag) continue;
        __builtin_prefetch(&map->entries[slot.entry - 1]);
        return &map->entries[slot.entry - 1];
    }
}

/* Bytes of keys that lie in entries are compared by words that overlap: no call, and nothing after them is read. */
static inline bool hr__map_entry_is(const hr__map_entry *e, const char *key, size_t size)
{
    if (e->size != size) return false;
    if (size > HR__MAP_INLINE) return memcmp(e->key.far, key, size) == 0;
    uint64_t a = 0, b = 0, c = 0, d = 0;
    if (size >= 8) {
        memcpy(&a, key, 8);
        memcpy(&b, e->key.bytes, 8);
        memcpy(&c, key + size - 8, 8);
        memcpy(&d, e->key.bytes + size - 8, 8);
    } else if (size >= 4) {
        memcpy(&a, key, 4);
        memcpy(&b, e->key.bytes, 4);
        memcpy(&c, key + size - 4, 4);
        memcpy(&d, e->key.bytes + size - 4, 4);
    } else {
        return size == 0 || memcmp(e->key.bytes, key, size) == 0;
    }
    return ((a ^ b) | (c ^ d)) == 0;
}

/* The value, or NULL; valid until the next addition. `hash` is hr__map_hash of the key. */
static inline int64_t *hr__map_find_hashed(const hr__map *map, uint64_t hash, const char *key, size_t size)
{
    if (!map->mask) return NULL;
    const uint32_t tag = (uint32_t)(hash >> 32);
    for (uint64_t i = hash & map->mask;; i = (i + 1) & map->mask) {
        const hr__map_slot slot = map->slots[i];
        if (!slot.entry) return NULL;
        if (slot.tag != tag) continue;
        hr__map_entry *e = &map->entries[slot.entry - 1];
        if (hr__map_entry_is(e, key, size)) return &e->value;
    }
}

static inline int64_t *hr__map_find(const hr__map *map, const char *key, size_t size)
{
    return hr__map_find_hashed(map, hr__map_hash(key, size), key, size);
}

/* The index that was added with a text; -1: the text is not there. */
static inline int hr__map_index(const hr__map *map, const char *text)
{
    const int64_t *found = hr__map_find(map, text, strlen(text));
    return found ? (int)*found : -1;
}

#ifdef __cplusplus
}
#endif
#endif
