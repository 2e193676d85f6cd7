/* Open addressing with linear steps, at most 5/8 full. A slot is a piece of the hash and the number of an entry;
 * entries lie in the order of adding; long keys in chunks that never move. */
#include "base/hash_map.h"
#include "base/pages.h"

enum { FIRST_CHUNK = 1 << 10, MOST_CHUNK = 1 << 16, MIN_SLOTS = 16, LINE = 64 };

struct hr__map_chunk {
    struct hr__map_chunk *next;
    char *end; /* of what is filled */
    size_t space;
    char bytes[];
};

/* Twice as large as the one before, within bounds: most maps are small. A key that is large has one of its own. */
static struct hr__map_chunk *new_chunk(hr__map *map, size_t size)
{
    size_t space = map->chunks ? map->chunks->space : FIRST_CHUNK / 2;
    if (size > SIZE_MAX / 2) return NULL;
    do space *= 2;
    while (space < 4 * size && space < MOST_CHUNK);
    if (space > MOST_CHUNK) space = MOST_CHUNK;
    if (size > space / 4) space = size;
    struct hr__map_chunk *chunk = hr_malloc(sizeof *chunk + space);
    if (!chunk) return NULL;
    *chunk = (struct hr__map_chunk){map->chunks, chunk->bytes, space};
    map->chunks = chunk;
    map->chunk_left = space;
    return chunk;
}

static char *keep_bytes(hr__map *map, const char *key, size_t size)
{
    if (size > map->chunk_left) {
        struct hr__map_chunk *chunk = new_chunk(map, size);
        if (!chunk) return NULL;
    }
    char *copy = memcpy(map->chunks->end, key, size);
    map->chunks->end += size;
    map->chunk_left -= size;
    return copy;
}

static void hash_map_place(hr__map *map, uint64_t hash, uint32_t entry)
{
    uint64_t i = hash & map->mask;
    while (map->slots[i].entry) i = (i + 1) & map->mask;
    map->slots[i] = (hr__map_slot){(uint32_t)(hash >> 32), entry + 1};
}

static bool hash_map_grow_slots(hr__map *map, uint64_t slots)
{
    hr__map_slot *fresh = hr_calloc(slots, sizeof *fresh);
    if (!fresh) return false;
    hr__ask_for_huge_pages(fresh, slots * sizeof *fresh);
    hr_free(map->slots);
    map->slots = fresh;
    map->mask = slots - 1;
    for (uint32_t i = 0; i < map->count; i++) {
        hr_view key = hr__map_key(map, i);
        hash_map_place(map, hr__map_hash(key.data, (size_t)key.size), i);
    }
    return true;
}

static bool grow_entries(hr__map *map, uint32_t count)
{
    const size_t size = (size_t)count * sizeof *map->entries + LINE;
    char *memory = hr_malloc(size);
    if (!memory) return false;
    hr__ask_for_huge_pages(memory, size);
    char *aligned = memory + (LINE - (uintptr_t)memory % LINE) % LINE;
    if (map->count > 0) memcpy(aligned, map->entries, (size_t)map->count * sizeof *map->entries);
    hr_free(map->entry_memory);
    map->entry_memory = memory;
    map->entries = (hr__map_entry *)(void *)aligned;
    map->capacity = count;
    return true;
}

hr_status hr__map_reserve(hr__map *map, uint32_t count, hr_error *err)
{
    if (count == UINT32_MAX) return hr_no_memory(err, "a map of 2^32 keys");
    if (count > map->capacity && !grow_entries(map, count)) return hr_no_memory(err, "the keys of a map");
    uint64_t slots = map->mask ? map->mask + 1 : MIN_SLOTS;
    while (slots / 8 * 5 < count) slots *= 2;
    if (slots != map->mask + 1 && !hash_map_grow_slots(map, slots)) return hr_no_memory(err, "the slots of a map");
    return HR_OK;
}

static hr_status hash_map_reserve(hr__map *map, hr_error *err)
{
    if (map->count < map->capacity && map->count < (map->mask + 1) / 8 * 5) return HR_OK;
    uint64_t want = map->count < map->capacity ? (uint64_t)map->count + 1 : (uint64_t)map->capacity * 2 + 8;
    return hr__map_reserve(map, want < UINT32_MAX ? (uint32_t)want : UINT32_MAX, err);
}

static hr_status hash_map_append(hr__map *map, uint64_t hash, const char *key, size_t size, int64_t value,
                                 hr_error *err)
{
    HR_TRY(hash_map_reserve(map, err));
    hr__map_entry *e = &map->entries[map->count];
    *e = (hr__map_entry){.value = value, .size = size};
    if (size > HR__MAP_INLINE) {
        e->key.far = keep_bytes(map, key, size);
        if (!e->key.far) return hr_no_memory(err, "a key of a map");
    } else if (size > 0) {
        memcpy(e->key.bytes, key, size);
    }
    hash_map_place(map, hash, map->count++);
    return HR_OK;
}

hr_status hr__map_add(hr__map *map, const char *key, size_t size, int64_t value, hr_error *err)
{
    return hr__map_add_hashed(map, hr__map_hash(key, size), key, size, value, err);
}

hr_status hr__map_add_hashed(hr__map *map, uint64_t hash, const char *key, size_t size, int64_t value, hr_error *err)
{
    if (hr__map_find_hashed(map, hash, key, size)) return HR_ALREADY_EXISTS;
    return hash_map_append(map, hash, key, size, value, err);
}

hr_status hr__map_set(hr__map *map, const char *key, size_t size, int64_t value, hr_error *err)
{
    uint64_t hash = hr__map_hash(key, size);
    int64_t *there = hr__map_find_hashed(map, hash, key, size);
    if (!there) return hash_map_append(map, hash, key, size, value, err);
    *there = value;
    return HR_OK;
}

hr_status hr__map_fields(hr__map *map, const hr_schema *schema, hr_error *err)
{
    for (int i = 0; i < schema->fields; i++) {
        const hr_status st = hr__map_add(map, schema->field[i].name, strlen(schema->field[i].name), i, err);
        if (st != HR_ALREADY_EXISTS) HR_TRY(st);
    }
    return HR_OK;
}

void hr__map_free(hr__map *map)
{
    while (map->chunks) {
        struct hr__map_chunk *next = map->chunks->next;
        hr_free(map->chunks);
        map->chunks = next;
    }
    hr_free(map->slots);
    hr_free(map->entry_memory);
    *map = (hr__map){0};
}
