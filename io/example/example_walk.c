/* Three passes: the maps are cut into entries, of equal keys the last; each Feature's values are counted; then they
 * are stored, those of a long record as far as its caller allows. */
#include "io/example/example_walk.h"
#include "base/fingerprint.h"
#include <string.h>

typedef struct entry {
    hr_view key;
    hr__scan value; /* of the entry's bytes, what begins with its first value: a further one is joined to it */
} entry;

/* The entries of a map, found by key. */
typedef struct entries {
    entry *entry;
    uint32_t *bucket; /* 1 + the entry, by hash; 0: free */
    size_t count, capacity, buckets;
} entries;

struct hr_example_walk {
    entries features, lists;
    hr__values *found; /* the features', then every step's, list by list */
    size_t founds, found_capacity;
    hr__walk_feature *feature;
    hr__walk_list *list;
    char *value; /* values of all of them */
    size_t feature_capacity, list_capacity, value_capacity;
    /* The same as the public types: made only for those who ask for them. */
    hr_tensor *tensor;
    hr_example_feature *public_feature;
    hr_example_list *public_list;
    size_t tensor_capacity, public_feature_capacity, public_list_capacity;
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
    hr_free(walk->feature);
    hr_free(walk->list);
    hr_free(walk->value);
    hr_free(walk->tensor);
    hr_free(walk->public_feature);
    hr_free(walk->public_list);
    hr_free(walk);
}

static hr_status malformed(const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "example.wire", "the record is no tf.Example: %s cannot be read", what);
}

/* The memory of an array with room for `count` things of `size` bytes; NULL: there is none, and the array stays as it
 * is. */
static void *example_walk_reserve(void *array, size_t *capacity, size_t count, size_t size)
{
    if (array && count <= *capacity) return array;
    size_t more = *capacity * 2 > count ? *capacity * 2 : count + 16;
    void *grown = hr_realloc(array, more * size);
    if (grown) *capacity = more;
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
    entry *grown = example_walk_reserve(e->entry, &e->capacity, e->count + 1, sizeof *grown);
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

/* ---- counting values ---- */

static bool count_packed(hr__scan packed, uint32_t kind, int64_t *count)
{
    uint64_t number;
    if (kind == HR__KIND_FLOAT) {
        *count += (packed.end - packed.p) / 4;
        return (packed.end - packed.p) % 4 == 0;
    }
    for (; packed.p < packed.end; ++*count)
        if (!hr__scan_varint(&packed, HR__MAX_VARINT, &number)) return false;
    return true;
}

static bool count_list(hr__scan list, uint32_t kind, int64_t *count)
{
    hr__field f;
    while (list.p < list.end) {
        if (!hr__scan_field(&list, &f)) return false;
        if (f.number != 1) continue;
        if (kind == HR__KIND_BYTES)
            *count += f.type == HR__WIRE_BYTES;
        else if (f.type == HR__WIRE_BYTES && !count_packed(f.bytes, kind, count))
            return false;
        else
            *count += f.type == (kind == HR__KIND_FLOAT ? HR__WIRE_32 : HR__WIRE_VARINT);
    }
    return true;
}

static hr_dtype dtype_of(uint32_t kind)
{
    static const hr_dtype dtype[] = {HR_INVALID_DTYPE, HR_STRING, HR_FLOAT, HR_INT64};
    return dtype[kind];
}

/* Adds a Feature to what was found before it: the member of the oneof that stands last counts, and what has the same
 * kind is joined. */
static bool example_walk_count_values(hr__scan feature, hr__scan rest, hr__values *out)
{
    hr__field f;
    while (feature.p < feature.end) {
        hr__scan here = feature;
        if (!hr__scan_field(&feature, &f)) return false;
        if (f.type != HR__WIRE_BYTES || f.number < 1 || f.number > 3) continue;
        const hr_dtype dtype = dtype_of(f.number);
        if (dtype != out->dtype) *out = (hr__values){.dtype = dtype, .from = here, .rest = rest};
        if (!count_list(f.bytes, f.number, &out->count)) return false;
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

static hr__values *new_found(hr_example_walk *w)
{
    hr__values *grown = example_walk_reserve(w->found, &w->found_capacity, w->founds + 1, sizeof *grown);
    if (!grown) return NULL;
    w->found = grown;
    w->found[w->founds] = (hr__values){.dtype = HR_INVALID_DTYPE};
    return &w->found[w->founds++];
}

/* The Feature of an entry. */
static hr_status example_walk_add_feature(hr_example_walk *w, hr__scan entry, hr_error *err)
{
    hr__scan feature;
    hr__values *found = new_found(w);
    if (!found) return hr_no_memory(err, "the features of a record");
    while (next_value(&entry, &feature))
        if (!example_walk_count_values(feature, entry, found)) return malformed("a list of values", err);
    return HR_OK;
}

static hr_status add_step(hr_example_walk *w, hr__scan step, hr_error *err)
{
    hr__values *found = new_found(w);
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

/* ---- reading values, which were counted: nothing is malformed ---- */

static uint32_t kind_of(hr_dtype dtype)
{
    return dtype == HR_STRING ? HR__KIND_BYTES : dtype == HR_FLOAT ? HR__KIND_FLOAT : HR__KIND_INT64;
}

/* At most so many numbers of a packed list; gives how many. */
static int64_t read_packed(hr__scan *packed, hr_dtype dtype, void *to, int64_t max)
{
    int64_t n = 0;
    if (dtype == HR_FLOAT) {
        n = (packed->end - packed->p) / 4 < max ? (packed->end - packed->p) / 4 : max;
        memcpy(to, packed->p, 4 * (size_t)n);
        packed->p += 4 * n;
        return n;
    }
    for (uint64_t number = 0; n < max && packed->p < packed->end; n++) {
        hr__scan_varint(packed, HR__MAX_VARINT, &number);
        ((int64_t *)to)[n] = (int64_t)number;
    }
    return n;
}

/* The next field of a list: one value, or a packed list, which becomes b->packed. Gives how many were stored. */
static int64_t read_field(hr__blocks *b, hr_dtype dtype, void *to)
{
    hr__field f;
    if (!hr__scan_field(&b->list, &f) || f.number != 1) return 0;
    if (dtype == HR_STRING) {
        if (f.type != HR__WIRE_BYTES) return 0;
        *(hr_view *)to = (hr_view){(const char *)f.bytes.p, f.bytes.end - f.bytes.p};
        return 1;
    }
    if (f.type == HR__WIRE_BYTES) b->packed = f.bytes;
    if (dtype == HR_FLOAT && f.type == HR__WIRE_32)
        memcpy(to, f.bytes.p, sizeof(float));
    else if (dtype == HR_INT64 && f.type == HR__WIRE_VARINT)
        *(int64_t *)to = (int64_t)f.varint;
    else
        return 0;
    return 1;
}

/* Reads on, `most` values or what is left; gives how many. */
static int64_t example_walk_read(hr__blocks *b, hr_dtype dtype, char *to, int64_t max)
{
    hr__field f;
    int64_t n = 0;
    const size_t width = hr_dtype_size(dtype);
    while (n < max) {
        if (b->packed.p < b->packed.end)
            n += read_packed(&b->packed, dtype, to + (size_t)n * width, max - n);
        else if (b->list.p < b->list.end)
            n += read_field(b, dtype, to + (size_t)n * width);
        else if (b->feature.p < b->feature.end)
            b->list = hr__scan_field(&b->feature, &f) && f.type == HR__WIRE_BYTES && f.number == kind_of(dtype)
                          ? f.bytes
                          : (hr__scan){NULL, NULL};
        else if (!next_value(&b->rest, &b->feature))
            break;
    }
    return n;
}

const hr__values *hr__blocks_read(hr__blocks *b)
{
    const hr_dtype dtype = b->values->dtype;
    const int64_t count = example_walk_read(b, dtype, (char *)b->buffer, HR__VALUES_BLOCK);
    b->block = (hr__values){.dtype = dtype, .count = count, .data = b->buffer};
    return count > 0 ? &b->block : NULL;
}

/* ---- storing values ---- */

/* Whole words, so that every vector is aligned. */
static size_t example_walk_bytes_of(const hr__values *v)
{
    return ((size_t)v->count * hr_dtype_size(v->dtype) + 7) / 8 * 8;
}

/* Stores vectors in turn, but none that `most` bytes have no room for. */
static hr_status store_values(hr_example_walk *w, size_t max, hr_error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < w->founds; i++) size += example_walk_bytes_of(&w->found[i]);
    char *value = example_walk_reserve(w->value, &w->value_capacity, size < max ? size : max, 1);
    if (!value) return hr_no_memory(err, "the values of a record");
    w->value = value;
    size = 0;
    for (size_t i = 0; i < w->founds; i++) {
        hr__values *v = &w->found[i];
        const size_t bytes = example_walk_bytes_of(v);
        if (bytes > max - size) continue;
        hr__blocks from;
        hr__blocks_begin(&from, v);
        if (v->count > 0) example_walk_read(&from, v->dtype, value + size, v->count);
        v->data = value + size;
        size += bytes;
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

static hr_status read_maps(hr_example_walk *w, hr_view record, hr__walk_contents *out, hr_error *err)
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
    hr__walk_feature *feature =
        example_walk_reserve(w->feature, &w->feature_capacity, w->features.count, sizeof *feature);
    if (feature) w->feature = feature;
    hr__walk_list *list = example_walk_reserve(w->list, &w->list_capacity, w->lists.count, sizeof *list);
    if (list) w->list = list;
    if (!feature || !list) return hr_no_memory(err, "the features of a record");
    for (size_t i = 0; i < w->features.count; i++) HR_TRY(example_walk_add_feature(w, w->features.entry[i].value, err));
    for (size_t i = 0; i < w->lists.count; i++) {
        const size_t before = w->founds;
        HR_TRY(add_steps(w, w->lists.entry[i].value, err));
        w->list[i] = (hr__walk_list){.key = w->lists.entry[i].key, .steps = (int64_t)(w->founds - before)};
    }
    return HR_OK;
}

/* Of the values `most` bytes are stored. */
static hr_status example_walk_read_record(hr_example_walk *w, hr_view record, size_t max, hr__walk_contents *out,
                                          hr_error *err)
{
    *out = (hr__walk_contents){0};
    example_walk_forget(&w->features);
    example_walk_forget(&w->lists);
    HR_TRY(read_maps(w, record, out, err));
    HR_TRY(example_walk_count_all(w, err));
    HR_TRY(store_values(w, max, err));
    const hr__values *values = w->found;
    for (size_t i = 0; i < w->features.count; i++)
        w->feature[i] = (hr__walk_feature){w->features.entry[i].key, *values++};
    for (size_t i = 0; i < w->lists.count; values += w->list[i++].steps) w->list[i].step = values;
    out->feature = w->feature;
    out->features = (int64_t)w->features.count;
    out->list = w->list;
    out->lists = (int64_t)w->lists.count;
    return HR_OK;
}

hr_status hr__example_walk_record(hr_example_walk *w, hr_view record, hr__walk_contents *out, hr_error *err)
{
    return example_walk_read_record(w, record, HR__VALUES_STORED, out, err);
}

/* ---- for users ---- */

static hr_status make_public(hr_example_walk *w, const hr__walk_contents *c, hr_example_contents *out, hr_error *err)
{
    hr_tensor *tensor = example_walk_reserve(w->tensor, &w->tensor_capacity, w->founds, sizeof *tensor);
    if (tensor) w->tensor = tensor;
    hr_example_feature *feature =
        example_walk_reserve(w->public_feature, &w->public_feature_capacity, (size_t)c->features, sizeof *feature);
    if (feature) w->public_feature = feature;
    hr_example_list *list =
        example_walk_reserve(w->public_list, &w->public_list_capacity, (size_t)c->lists, sizeof *list);
    if (list) w->public_list = list;
    if (!tensor || !feature || !list) return hr_no_memory(err, "the features of a record");
    for (size_t i = 0; i < w->founds; i++) {
        const hr__values *v = &w->found[i];
        tensor[i] = hr_tensor_of(v->dtype, HR_SHAPE(v->count), v->data);
    }
    for (int64_t i = 0; i < c->features; i++) feature[i] = (hr_example_feature){c->feature[i].key, *tensor++};
    for (int64_t i = 0; i < c->lists; tensor += c->list[i++].steps)
        list[i] = (hr_example_list){.key = c->list[i].key, .step = tensor, .steps = c->list[i].steps};
    *out = (hr_example_contents){.feature = feature,
                                 .features = c->features,
                                 .list = list,
                                 .lists = c->lists,
                                 .has_features = c->has_features,
                                 .has_lists = c->has_lists};
    return HR_OK;
}

hr_status hr_example_walk_record(hr_example_walk *w, hr_view record, hr_example_contents *out, hr_error *err)
{
    hr__walk_contents c;
    *out = (hr_example_contents){0};
    HR_TRY(example_walk_read_record(w, record, SIZE_MAX, &c, err));
    return make_public(w, &c, out, err);
}

hr_status hr_example_walk_outline(hr_example_walk *w, hr_view record, hr_example_contents *out, hr_error *err)
{
    hr__walk_contents c;
    *out = (hr_example_contents){0};
    HR_TRY(example_walk_read_record(w, record, 0, &c, err));
    return make_public(w, &c, out, err);
}
