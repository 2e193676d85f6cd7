/* The map of features: see example_wire.h. Sizes are computed before anything is written, so that every length is in
 * its shortest form. */
#include "io/example/example_wire.h"
#include "io/example/example_walk.h"

/* ---- one Feature ---- */

static size_t packed_int64_size(const int64_t *v, int64_t count)
{
    size_t size = 0;
    for (int64_t i = 0; i < count; i++) size += hr__varint_size((uint64_t)v[i]);
    return size;
}

static size_t strings_size(const hr_view *v, int64_t count)
{
    size_t size = 0;
    for (int64_t i = 0; i < count; i++) size += hr__headed((size_t)v[i].size);
    return size;
}

/* The bytes of the list message: Int64List, FloatList, BytesList. */
static size_t list_size(const hr_tensor *f)
{
    if (f->count == 0) return 0;
    if (f->dtype == HR_INT64) return hr__headed(packed_int64_size(f->data, f->count));
    if (f->dtype == HR_FLOAT) return hr__headed(4 * (size_t)f->count);
    return strings_size(f->data, f->count);
}

size_t hr__feature_size(const hr_tensor *f) { return f->dtype == HR_INVALID_DTYPE ? 0 : hr__headed(list_size(f)); }

static int kind_tag(hr_dtype dtype)
{
    return dtype == HR_INT64 ? HR__TAG_3 : dtype == HR_FLOAT ? HR__TAG_2 : HR__TAG_1;
}

static char *put_varints(char *p, const int64_t *v, int64_t count)
{
    for (int64_t i = 0; i < count; i++) p = hr__put_varint(p, (uint64_t)v[i]);
    return p;
}

static char *example_wire_put_floats(char *p, const float *v, int64_t count)
{
    p = hr__put_head(p, HR__TAG_1, 4 * (uint64_t)count);
    memcpy(p, v, 4 * (size_t)count);
    return p + 4 * count;
}

static char *example_wire_put_strings(char *p, const hr_view *v, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        p = hr__put_head(p, HR__TAG_1, (uint64_t)v[i].size);
        if (v[i].size > 0) memcpy(p, v[i].data, (size_t)v[i].size);
        p += v[i].size;
    }
    return p;
}

char *hr__put_feature(char *p, const hr_tensor *f)
{
    if (f->dtype == HR_INVALID_DTYPE) return p;
    p = hr__put_head(p, kind_tag(f->dtype), list_size(f));
    if (f->count == 0) return p;
    if (f->dtype == HR_INT64)
        return put_varints(hr__put_head(p, HR__TAG_1, packed_int64_size(f->data, f->count)), f->data, f->count);
    if (f->dtype == HR_FLOAT) return example_wire_put_floats(p, f->data, f->count);
    return example_wire_put_strings(p, f->data, f->count);
}

/* Packed numbers have a head of their own, strings one each. */
static size_t wire_list_size(const hr__wire_values *v)
{
    return v->count == 0 ? 0 : v->dtype == HR_STRING ? v->size : hr__headed(v->size);
}

size_t hr__wire_feature_size(const hr__wire_values *v)
{
    return v->dtype == HR_INVALID_DTYPE ? 0 : hr__headed(wire_list_size(v));
}

/* All of a Feature that stands before its values. */
static char *put_wire_heads(char *p, const hr__wire_values *v)
{
    if (v->dtype == HR_INVALID_DTYPE) return p;
    p = hr__put_head(p, kind_tag(v->dtype), wire_list_size(v));
    return v->count > 0 && v->dtype != HR_STRING ? hr__put_head(p, HR__TAG_1, v->size) : p;
}

char *hr__put_wire_feature(char *p, const hr__wire_values *v)
{
    p = put_wire_heads(p, v);
    if (v->count > 0) memcpy(p, v->bytes, v->size);
    return p + (v->count > 0 ? v->size : 0);
}

/* What hr__wire_values.size says of them. */
static size_t values_size(const hr__values *values)
{
    size_t size = 0;
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    if (values->dtype == HR_FLOAT) return 4 * (size_t)values->count;
    for (const hr__values *b; (b = hr__blocks_next(&blocks));)
        size += b->dtype == HR_INT64 ? packed_int64_size(b->data, b->count) : strings_size(b->data, b->count);
    return size;
}

static char *put_values(char *p, const hr__values *values)
{
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    for (const hr__values *b; (b = hr__blocks_next(&blocks));) {
        if (b->dtype == HR_INT64) p = put_varints(p, b->data, b->count);
        if (b->dtype == HR_STRING) p = example_wire_put_strings(p, b->data, b->count);
        if (b->dtype != HR_FLOAT || b->count == 0) continue;
        memcpy(p, b->data, 4 * (size_t)b->count);
        p += 4 * b->count;
    }
    return p;
}

void hr__wire_map_add_values(hr__wire_map *map, hr_view key, const hr__values *values)
{
    const hr__wire_values head = {.dtype = values->dtype, .count = values->count, .size = values_size(values)};
    char *p = hr__wire_map_add(map, key, hr__wire_feature_size(&head));
    if (p) put_values(put_wire_heads(p, &head), values);
}

/* ---- the map ---- */

/* Much memory is given back: one long example does not hold it for all that follow. */
void hr__wire_map_clear(hr__wire_map *map)
{
    enum { RETAINED = 4 << 20 };
    if (map->capacity > RETAINED) {
        hr_free(map->bytes);
        map->bytes = NULL;
        map->capacity = 0;
    }
    map->size = map->entries = 0;
    map->present = map->no_memory = false;
    map->sorted = true;
}

void hr__wire_map_free(hr__wire_map *map)
{
    hr_free(map->bytes);
    hr_free(map->entry);
    hr_free(map->order);
}

static bool example_wire_reserve(hr__wire_map *map, size_t more)
{
    if (more <= map->capacity - map->size) return true;
    size_t capacity = (map->size + more) * 2;
    char *bytes = hr_realloc(map->bytes, capacity);
    if (!bytes) return false;
    map->bytes = bytes;
    map->capacity = capacity;
    return true;
}

static bool example_wire_reserve_entry(hr__wire_map *map)
{
    if (map->entries < map->entry_capacity) return true;
    size_t capacity = map->entry_capacity * 2 + 16;
    hr__wire_entry *entry = hr_realloc(map->entry, capacity * sizeof *entry);
    if (!entry) return false;
    map->entry = entry;
    size_t *order = hr_realloc(map->order, 2 * capacity * sizeof *order); /* the second half is for sorting */
    if (!order) return false;
    map->order = order;
    map->entry_capacity = capacity;
    return true;
}

static int compare_keys(const hr__wire_map *map, const hr__wire_entry *a, const hr__wire_entry *b)
{
    size_t n = a->key_size < b->key_size ? a->key_size : b->key_size;
    int order = memcmp(map->bytes + a->key, map->bytes + b->key, n);
    return order ? order : (a->key_size > b->key_size) - (a->key_size < b->key_size);
}

char *hr__wire_map_add(hr__wire_map *map, hr_view key, size_t size)
{
    size_t key_size = (size_t)key.size, body = hr__headed(key_size) + hr__headed(size);
    if (!example_wire_reserve_entry(map) || !example_wire_reserve(map, hr__headed(body))) {
        map->no_memory = true;
        return NULL;
    }
    char *p = hr__put_head(map->bytes + map->size, HR__TAG_1, body);
    p = hr__put_head(p, HR__TAG_1, key_size);
    hr__wire_entry *e = &map->entry[map->entries];
    *e = (hr__wire_entry){map->size, hr__headed(body), (size_t)(p - map->bytes), key_size};
    if (key_size > 0) memcpy(p, key.data, key_size);
    p = hr__put_head(p + key_size, HR__TAG_2, size);
    map->sorted = map->sorted && (map->entries == 0 || compare_keys(map, e - 1, e) < 0);
    map->entries++;
    map->size += e->size;
    map->present = true;
    return p;
}

/* Mostly one example has the keys of the one before in the same order. */
static bool still_sorted(const hr__wire_map *map)
{
    if (map->sorted_entries != map->entries || map->retained != map->entries) return false;
    for (size_t i = 1; i < map->retained; i++)
        if (compare_keys(map, &map->entry[map->order[i - 1]], &map->entry[map->order[i]]) >= 0) return false;
    return true;
}

static int compare_entries(const hr__wire_map *map, size_t a, size_t b)
{
    return compare_keys(map, &map->entry[a], &map->entry[b]);
}

/* Merges runs of `width` entries in pairs; of equal keys the one that was added first comes first. */
static void merge_runs(const hr__wire_map *map, const size_t *from, size_t *to, size_t width)
{
    const size_t n = map->entries;
    for (size_t low = 0; low < n; low += 2 * width) {
        const size_t middle = low + width < n ? low + width : n, high = middle + width < n ? middle + width : n;
        for (size_t a = low, b = middle, at = low; at < high; at++) {
            const bool first = b == high || (a < middle && compare_entries(map, from[a], from[b]) <= 0);
            to[at] = first ? from[a++] : from[b++];
        }
    }
}

static void sort_entries(hr__wire_map *map)
{
    size_t *from = map->order, *to = map->order + map->entry_capacity;
    for (size_t i = 0; i < map->entries; i++) from[i] = i;
    for (size_t width = 1; width < map->entries; width *= 2) {
        merge_runs(map, from, to, width);
        size_t *other = from;
        from = to;
        to = other;
    }
    if (from != map->order) memcpy(map->order, from, map->entries * sizeof *from);
}

size_t hr__wire_map_sort(hr__wire_map *map)
{
    if (map->sorted || still_sorted(map)) return map->size;
    size_t count = 0, size = 0;
    sort_entries(map);
    for (size_t i = 0; i < map->entries; i++) { /* of equal keys the last one stays */
        const bool again = i + 1 < map->entries && compare_entries(map, map->order[i], map->order[i + 1]) == 0;
        if (!again) map->order[count++] = map->order[i];
    }
    for (size_t i = 0; i < count; i++) size += map->entry[map->order[i]].size;
    map->retained = count;
    map->sorted_entries = map->entries;
    return size;
}

char *hr__put_wire_map(char *p, const hr__wire_map *map)
{
    if (map->sorted) {
        if (map->size > 0) memcpy(p, map->bytes, map->size);
        return p + map->size;
    }
    for (size_t i = 0; i < map->retained; i++) {
        const hr__wire_entry *e = &map->entry[map->order[i]];
        memcpy(p, map->bytes + e->at, e->size);
        p += e->size;
    }
    return p;
}
