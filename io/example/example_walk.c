/* Three passes: the maps are cut into entries, of equal keys the last; each Feature's values are counted; then they
 * are stored, in memory that grows to what the largest record needs and stays. */
#include "base/fingerprint.h"
#include "io/example/example_decode.h"
#include "io/example/example_wire.h"
#include <headrace/examples.h>
#include <string.h>

typedef struct entry {
    hr_view key;
    hr__scan value; /* of the entry's bytes, what begins with its first value: a further one is joined to it */
} entry;

/* The entries of a map, found by key. */
typedef struct entries {
    entry *entry;
    uint32_t *bucket; /* 1 + the entry, by hash; 0: free */
    size_t count, room, buckets;
} entries;

/* A Feature: where the values of the kind that counts begin, and how many there are. Of an entry they may go on in its
 * further values. */
typedef struct found {
    hr__scan from, rest;
    uint32_t kind;
    int64_t count;
} found;

struct hr_example_walk {
    entries features, lists;
    found *found; /* the features', then every step's, list by list */
    size_t founds, found_room;
    hr_tensor *tensor; /* one each */
    hr_example_feature *feature;
    hr_example_list *list;
    size_t tensor_room, feature_room, list_room, value_room;
    char *value; /* values of all of them */
};

hr_example_walk *hr_example_walk_new(void) { return hr_calloc(1, sizeof(hr_example_walk)); }

static void free_entries(entries *e)
{
    hr_free(e->entry);
    hr_free(e->bucket);
}

void hr_example_walk_free(hr_example_walk *walk)
{
    if (!walk) return;
    free_entries(&walk->features);
    free_entries(&walk->lists);
    hr_free(walk->found);
    hr_free(walk->tensor);
    hr_free(walk->feature);
    hr_free(walk->list);
    hr_free(walk->value);
    hr_free(walk);
}

void hr__example_walk_drop(hr_example_walk *walk)
{
    enum { KEPT = 4 << 20 };
    if (walk->value_room <= KEPT) return;
    hr_free(walk->value);
    walk->value = NULL;
    walk->value_room = 0;
}

static hr_status malformed(const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "example.wire", "the record is no tf.Example: %s cannot be read", what);
}

/* The memory of an array with room for `count` things of `size` bytes; NULL: there is none, and the array stays as it
 * is. */
static void *with_room(void *array, size_t *room, size_t count, size_t size)
{
    if (array && count <= *room) return array;
    size_t more = *room * 2 > count ? *room * 2 : count + 16;
    void *grown = hr_realloc(array, more * size);
    if (grown) *room = more;
    return grown;
}

/* ---- the maps ---- */

/* The bucket of a key: its own, or the free one where it belongs. */
static uint32_t *example_walk_bucket_of(const entries *e, hr_view key)
{
    uint64_t hash = hr__fingerprint64_inline(key.data, (size_t)key.size);
    for (size_t i = hash & (e->buckets - 1);; i = (i + 1) & (e->buckets - 1)) {
        if (!e->bucket[i]) return &e->bucket[i];
        hr_view k = e->entry[e->bucket[i] - 1].key;
        if (k.size == key.size && (k.size == 0 || memcmp(k.data, key.data, (size_t)k.size) == 0)) return &e->bucket[i];
    }
}

static bool rehash(entries *e)
{
    size_t buckets = e->buckets ? 2 * e->buckets : 64;
    uint32_t *bucket = hr_calloc(buckets, sizeof *bucket);
    if (!bucket) return false;
    hr_free(e->bucket);
    e->bucket = bucket;
    e->buckets = buckets;
    for (size_t i = 0; i < e->count; i++) *example_walk_bucket_of(e, e->entry[i].key) = (uint32_t)i + 1;
    return true;
}

/* What it replaces comes in *replaced, which is empty otherwise. */
static hr_status example_walk_keep(entries *e, entry new, hr__scan *replaced, hr_error *err)
{
    entry *grown = with_room(e->entry, &e->room, e->count + 1, sizeof *grown);
    if (grown) e->entry = grown;
    if (!grown || (2 * e->count >= e->buckets && !rehash(e))) return hr_no_memory(err, "the features of a record");
    uint32_t *bucket = example_walk_bucket_of(e, new.key);
    *replaced = *bucket ? e->entry[*bucket - 1].value : (hr__scan){NULL, NULL};
    if (!*bucket) *bucket = (uint32_t)++e->count;
    e->entry[*bucket - 1] = new;
    return HR_OK;
}

static void example_walk_forget(entries *e)
{
    e->count = 0;
    if (e->buckets) memset(e->bucket, 0, e->buckets * sizeof *e->bucket);
}

static hr_status example_walk_read_entry(hr__scan bytes, entry *out, hr_error *err)
{
    hr__field f;
    *out = (entry){{"", 0}, {bytes.end, bytes.end}};
    while (bytes.p < bytes.end) {
        const uint8_t *here = bytes.p;
        if (!hr__scan_field(&bytes, &f)) return malformed("a feature", err);
        if (f.type != HR__WIRE_BYTES) continue;
        if (f.number == 1) out->key = (hr_view){(const char *)f.bytes.p, f.bytes.end - f.bytes.p};
        if (f.number == 2 && out->value.p == out->value.end) out->value.p = here;
    }
    return HR_OK;
}

/* ---- values: `to` NULL counts only ---- */

static void store(void *to, uint32_t kind, int64_t i, const hr__field *f, uint64_t number)
{
    if (!to) return;
    if (kind == HR__KIND_BYTES)
        ((hr_view *)to)[i] = (hr_view){(const char *)f->bytes.p, f->bytes.end - f->bytes.p};
    else if (kind == HR__KIND_FLOAT)
        memcpy((float *)to + i, &number, sizeof(float));
    else
        ((int64_t *)to)[i] = (int64_t)number;
}

static bool read_packed(hr__scan packed, uint32_t kind, void *to, int64_t *count)
{
    while (packed.p < packed.end) {
        uint64_t number = 0;
        if (kind == HR__KIND_FLOAT) {
            if (packed.end - packed.p < 4) return false;
            memcpy(&number, packed.p, 4);
            packed.p += 4;
        } else if (!hr__scan_varint(&packed, 10, &number)) {
            return false;
        }
        store(to, kind, (*count)++, NULL, number);
    }
    return true;
}

static bool example_walk_read_list(hr__scan list, uint32_t kind, void *to, int64_t *count)
{
    hr__field f;
    while (list.p < list.end) {
        if (!hr__scan_field(&list, &f)) return false;
        if (f.number != 1) continue;
        if (kind == HR__KIND_BYTES) {
            if (f.type == HR__WIRE_BYTES) store(to, kind, (*count)++, &f, 0);
        } else if (f.type == HR__WIRE_BYTES) {
            if (!read_packed(f.bytes, kind, to, count)) return false;
        } else if (f.type == (kind == HR__KIND_FLOAT ? HR__WIRE_32 : HR__WIRE_VARINT)) {
            uint64_t number = f.varint;
            if (kind == HR__KIND_FLOAT) {
                number = 0;
                memcpy(&number, f.bytes.p, 4);
            }
            store(to, kind, (*count)++, &f, number);
        }
    }
    return true;
}

/* Adds a Feature to what was found before it: the member of the oneof that stands last counts, and what has the same
 * kind is joined. */
static bool example_walk_count_values(hr__scan feature, hr__scan rest, found *out)
{
    hr__field f;
    while (feature.p < feature.end) {
        hr__scan here = feature;
        if (!hr__scan_field(&feature, &f)) return false;
        if (f.type != HR__WIRE_BYTES || f.number < 1 || f.number > 3) continue;
        if (f.number != out->kind) *out = (found){.from = here, .rest = rest, .kind = f.number};
        if (!example_walk_read_list(f.bytes, out->kind, NULL, &out->count)) return false;
    }
    return true;
}

/* The next value of an entry; false: there is no further one. */
static bool next_value(hr__scan *entry, hr__scan *value)
{
    hr__field f;
    while (entry->p < entry->end && hr__scan_field(entry, &f)) {
        if (f.number != 2 || f.type != HR__WIRE_BYTES) continue;
        *value = f.bytes;
        return true;
    }
    return false;
}

static void store_values(const found *v, void *to)
{
    hr__field f;
    int64_t count = 0;
    hr__scan feature = v->from, rest = v->rest;
    do {
        while (feature.p < feature.end && hr__scan_field(&feature, &f))
            if (f.type == HR__WIRE_BYTES && f.number == v->kind) example_walk_read_list(f.bytes, v->kind, to, &count);
    } while (next_value(&rest, &feature));
}

static found *new_found(hr_example_walk *w)
{
    found *grown = with_room(w->found, &w->found_room, w->founds + 1, sizeof *grown);
    if (!grown) return NULL;
    w->found = grown;
    w->found[w->founds] = (found){.kind = HR__KIND_NONE};
    return &w->found[w->founds++];
}

/* The Feature of an entry. */
static hr_status example_walk_add_feature(hr_example_walk *w, hr__scan entry, hr_error *err)
{
    hr__scan feature;
    found *found = new_found(w);
    if (!found) return hr_no_memory(err, "the features of a record");
    while (next_value(&entry, &feature))
        if (!example_walk_count_values(feature, entry, found)) return malformed("a list of values", err);
    return HR_OK;
}

static hr_status add_step(hr_example_walk *w, hr__scan step, hr_error *err)
{
    found *found = new_found(w);
    if (!found) return hr_no_memory(err, "the features of a record");
    return example_walk_count_values(step, (hr__scan){NULL, NULL}, found) ? HR_OK : malformed("a list of values", err);
}

/* The steps of an entry's feature list. */
static hr_status add_steps(hr_example_walk *w, hr__scan entry, hr_error *err)
{
    hr__field f;
    hr__scan list;
    while (next_value(&entry, &list))
        while (list.p < list.end) {
            if (!hr__scan_field(&list, &f)) return malformed("a feature list", err);
            if (f.number == 1 && f.type == HR__WIRE_BYTES) HR_TRY(add_step(w, f.bytes, err));
        }
    return HR_OK;
}

static hr_dtype dtype_of(uint32_t kind)
{
    static const hr_dtype dtype[] = {HR_INVALID_DTYPE, HR_STRING, HR_FLOAT, HR_INT64};
    return dtype[kind];
}

/* Whole words, so that every vector is aligned. */
static size_t example_walk_bytes_of(const found *v)
{
    return ((size_t)v->count * hr_dtype_size(dtype_of(v->kind)) + 7) / 8 * 8;
}

static hr_status make_tensors(hr_example_walk *w, hr_error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < w->founds; i++) size += example_walk_bytes_of(&w->found[i]);
    hr_tensor *tensor = with_room(w->tensor, &w->tensor_room, w->founds, sizeof *tensor);
    if (tensor) w->tensor = tensor;
    char *value = with_room(w->value, &w->value_room, size, 1);
    if (value) w->value = value;
    if (!tensor || !value) return hr_no_memory(err, "the values of a record");
    size = 0;
    for (size_t i = 0; i < w->founds; i++) {
        const found *v = &w->found[i];
        if (v->count > 0) store_values(v, value + size);
        tensor[i] = hr_tensor_of(dtype_of(v->kind), HR_SHAPE(v->count), value + size);
        size += example_walk_bytes_of(v);
    }
    return HR_OK;
}

/* ---- the record ---- */

/* An entry that a later one with its key replaces counts for nothing, but it must be well-formed. */
static hr_status example_walk_read_map(hr_example_walk *w, bool lists, hr__scan map, hr_error *err)
{
    hr__field f;
    while (map.p < map.end) {
        if (!hr__scan_field(&map, &f)) return malformed("the map of features", err);
        if (f.number != 1 || f.type != HR__WIRE_BYTES) continue;
        entry entry;
        hr__scan replaced;
        HR_TRY(example_walk_read_entry(f.bytes, &entry, err));
        HR_TRY(example_walk_keep(lists ? &w->lists : &w->features, entry, &replaced, err));
        w->founds = 0;
        if (replaced.p < replaced.end) HR_TRY((lists ? add_steps : example_walk_add_feature)(w, replaced, err));
    }
    return HR_OK;
}

static hr_status read_maps(hr_example_walk *w, hr_view record, hr_example_contents *out, hr_error *err)
{
    const uint8_t *bytes = (const uint8_t *)record.data;
    hr__scan example = {bytes, bytes + record.size};
    hr__field f;
    while (example.p < example.end) {
        if (!hr__scan_field(&example, &f)) return malformed("a field", err);
        if (f.type != HR__WIRE_BYTES || f.number < 1 || f.number > 2) continue;
        const bool lists = f.number == 2;
        *(lists ? &out->has_lists : &out->has_features) = true;
        HR_TRY(example_walk_read_map(w, lists, f.bytes, err));
    }
    return HR_OK;
}

/* Counts what every entry holds; a list's `steps` say how many were found. */
static hr_status example_walk_count_all(hr_example_walk *w, hr_error *err)
{
    w->founds = 0;
    hr_example_feature *feature = with_room(w->feature, &w->feature_room, w->features.count, sizeof *feature);
    if (feature) w->feature = feature;
    hr_example_list *list = with_room(w->list, &w->list_room, w->lists.count, sizeof *list);
    if (list) w->list = list;
    if (!feature || !list) return hr_no_memory(err, "the features of a record");
    for (size_t i = 0; i < w->features.count; i++) HR_TRY(example_walk_add_feature(w, w->features.entry[i].value, err));
    for (size_t i = 0; i < w->lists.count; i++) {
        const size_t before = w->founds;
        HR_TRY(add_steps(w, w->lists.entry[i].value, err));
        w->list[i] = (hr_example_list){.key = w->lists.entry[i].key, .steps = (int64_t)(w->founds - before)};
    }
    return HR_OK;
}

hr_status hr_example_walk_record(hr_example_walk *w, hr_view record, hr_example_contents *out, hr_error *err)
{
    *out = (hr_example_contents){0};
    example_walk_forget(&w->features);
    example_walk_forget(&w->lists);
    HR_TRY(read_maps(w, record, out, err));
    HR_TRY(example_walk_count_all(w, err));
    HR_TRY(make_tensors(w, err));
    const hr_tensor *tensor = w->tensor;
    for (size_t i = 0; i < w->features.count; i++)
        w->feature[i] = (hr_example_feature){w->features.entry[i].key, *tensor++};
    for (size_t i = 0; i < w->lists.count; tensor += w->list[i++].steps) w->list[i].step = tensor;
    out->feature = w->feature;
    out->features = (int64_t)w->features.count;
    out->list = w->list;
    out->lists = (int64_t)w->lists.count;
    return HR_OK;
}
