/* Two passes over each feature: the values are counted, then stored, so that the memory of a walk grows to the largest
 * record and stays. */
#include "io/example_walk.h"
#include "io/example_decode.h"
#include <string.h>

struct hr__example_walk {
    hr__walked_feature *feature;
    hr__scan *value; /* the bytes of each feature's message */
    int count, room;
    char *memory; /* values of all features */
    size_t used, size;
};

hr__example_walk *hr__example_walk_new(void) { return hr_calloc(1, sizeof(hr__example_walk)); }

void hr__example_walk_free(hr__example_walk *walk)
{
    if (!walk) return;
    hr_free(walk->feature);
    hr_free(walk->value);
    hr_free(walk->memory);
    hr_free(walk);
}

static hr_status malformed(const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "example.wire", "the record is no tf.Example: %s cannot be read", what);
}

static hr_status keep(hr__example_walk *w, hr_view key, hr__scan value, hr_error *err)
{
    for (int i = 0; i < w->count; i++) {
        hr_view k = w->feature[i].key;
        if (k.size != key.size || (key.size && memcmp(k.data, key.data, (size_t)key.size) != 0)) continue;
        w->value[i] = value;
        return HR_OK;
    }
    if (w->count == w->room) {
        int room = w->room ? 2 * w->room : 64;
        void *features = hr_realloc(w->feature, (size_t)room * sizeof *w->feature);
        if (features) w->feature = features;
        void *values = features ? hr_realloc(w->value, (size_t)room * sizeof *w->value) : NULL;
        if (!values) return hr_no_memory(err, "the features of a record");
        w->value = values;
        w->room = room;
    }
    w->feature[w->count] = (hr__walked_feature){.key = key};
    w->value[w->count++] = value;
    return HR_OK;
}

static hr_status read_entry(hr__example_walk *w, hr__scan entry, hr_error *err)
{
    hr__field f;
    hr_view key = {"", 0};
    hr__scan value = {entry.p, entry.p};
    while (entry.p < entry.end) {
        if (!hr__scan_field(&entry, &f)) return malformed("a feature", err);
        if (f.type != HR__WIRE_BYTES) continue;
        if (f.number == 1) key = (hr_view){(const char *)f.bytes.p, f.bytes.end - f.bytes.p};
        if (f.number == 2) value = f.bytes;
    }
    return keep(w, key, value, err);
}

static hr_status read_features(hr__example_walk *w, hr__scan features, hr_error *err)
{
    hr__field f;
    while (features.p < features.end) {
        if (!hr__scan_field(&features, &f)) return malformed("the map of features", err);
        if (f.number == 1 && f.type == HR__WIRE_BYTES) HR_TRY(read_entry(w, f.bytes, err));
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

static bool read_list(hr__scan list, uint32_t kind, void *to, int64_t *count)
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

/* The member of the oneof that stands last; what has the same kind is joined. */
static bool read_values(hr__scan feature, uint32_t *kind, void *to, int64_t *count)
{
    hr__field f;
    *kind = HR__KIND_NONE;
    *count = 0;
    while (feature.p < feature.end) {
        if (!hr__scan_field(&feature, &f)) return false;
        if (f.type != HR__WIRE_BYTES || f.number < 1 || f.number > 3) continue;
        if (f.number != *kind) *count = 0;
        *kind = f.number;
        if (!read_list(f.bytes, *kind, to, count)) return false;
    }
    return true;
}

static hr_dtype dtype_of(uint32_t kind)
{
    static const hr_dtype dtype[] = {HR_INVALID_DTYPE, HR_STRING, HR_FLOAT, HR_INT64};
    return dtype[kind];
}

/* Most values that a feature may meanwhile hold, so that lists of a kind that loses fit, too. */
static size_t bytes_needed(hr__scan feature) { return ((size_t)(feature.end - feature.p) + 1) * sizeof(hr_view); }

static hr_status reserve(hr__example_walk *w, hr_error *err)
{
    size_t size = 0;
    for (int i = 0; i < w->count; i++) size += bytes_needed(w->value[i]);
    if (size <= w->size) return HR_OK;
    char *grown = hr_realloc(w->memory, size);
    if (!grown) return hr_no_memory(err, "the values of a record");
    w->memory = grown;
    w->size = size;
    return HR_OK;
}

hr_status hr__example_walk_record(hr__example_walk *w, hr_view record, const hr__walked_feature **features, int *count,
                                  hr_error *err)
{
    const uint8_t *bytes = (const uint8_t *)record.data;
    hr__scan example = {bytes, bytes + record.size};
    hr__field f;
    w->count = 0;
    w->used = 0;
    while (example.p < example.end) {
        if (!hr__scan_field(&example, &f)) return malformed("a field", err);
        if (f.number == 1 && f.type == HR__WIRE_BYTES) HR_TRY(read_features(w, f.bytes, err));
    }
    HR_TRY(reserve(w, err));
    for (int i = 0; i < w->count; i++) {
        uint32_t kind;
        int64_t values;
        void *to = w->memory + w->used;
        if (!read_values(w->value[i], &kind, to, &values)) return malformed("a list of values", err);
        w->feature[i].values = hr_tensor_of(dtype_of(kind), HR_SHAPE(values), to);
        w->used += bytes_needed(w->value[i]);
    }
    *features = w->feature;
    *count = w->count;
    return HR_OK;
}
