/* Builders of Example and SequenceExample. Both are made of maps of features; the bytes are what protobuf's
 * deterministic serialisation writes, so that equal content is equal bytes. */
#include "io/io.h"
#include "io/example/example_walk.h"

struct hr_example {
    hr__wire_map features, lists; /* an Example has no lists */
    bool sequence;
    hr_status code;                   /* of a feature that was refused */
    size_t features_size, lists_size; /* as they were measured last */
    char *out;
    size_t out_capacity;
};

static hr_example *example_make(bool sequence)
{
    hr_example *example = hr_calloc(1, sizeof *example);
    if (!example) return NULL;
    example->sequence = sequence;
    hr_example_clear(example);
    return example;
}

hr_example *hr_example_new(void) { return example_make(false); }

hr_example *hr_sequence_example_new(void) { return example_make(true); }

void hr_example_free(hr_example *example)
{
    if (!example) return;
    hr__wire_map_free(&example->features);
    hr__wire_map_free(&example->lists);
    hr_free(example->out);
    hr_free(example);
}

void hr__example_drop_values(hr_example *example)
{
    hr__wire_map_clear(&example->features);
    hr__wire_map_clear(&example->lists);
}

void hr_example_clear(hr_example *example)
{
    enum { RETAINED = 4 << 20 };
    if (example->out_capacity > RETAINED) {
        hr_free(example->out);
        example->out = NULL;
        example->out_capacity = 0;
    }
    hr__wire_map_clear(&example->features);
    hr__wire_map_clear(&example->lists);
    example->code = HR_OK;
}

void hr_example_set_present(hr_example *example, bool features, bool feature_lists)
{
    example->features.present |= features;
    example->lists.present |= feature_lists;
}

static bool can_be_feature(hr_example *example, const hr_tensor *feature)
{
    hr_dtype d = feature->dtype;
    if (d == HR_INT64 || d == HR_FLOAT || d == HR_STRING || d == HR_INVALID_DTYPE) return true;
    example->code = HR_INVALID_ARGUMENT;
    return false;
}

void hr_example_add(hr_example *example, hr_view key, const hr_tensor *feature)
{
    if (!can_be_feature(example, feature)) return;
    char *p = hr__wire_map_add(&example->features, key, hr__feature_size(feature));
    if (p) hr__put_feature(p, feature);
}

void hr__example_add_values(hr_example *example, hr_view key, const hr__values *values)
{
    hr__wire_map_add_values(&example->features, key, values);
}

static void add_values(hr_example *example, const char *key, hr_dtype dtype, const void *values, int64_t count)
{
    hr_tensor feature = {.dtype = dtype, .count = count, .data = (void *)(uintptr_t)values};
    hr_example_add(example, (hr_view){key, (int64_t)strlen(key)}, &feature);
}

void hr_example_add_int64(hr_example *example, const char *key, const int64_t *values, int64_t count)
{
    add_values(example, key, HR_INT64, values, count);
}

void hr_example_add_float(hr_example *example, const char *key, const float *values, int64_t count)
{
    add_values(example, key, HR_FLOAT, values, count);
}

void hr_example_add_bytes(hr_example *example, const char *key, const hr_view *values, int64_t count)
{
    add_values(example, key, HR_STRING, values, count);
}

void hr_example_add_list(hr_example *example, hr_view key, const hr_tensor *rows, int64_t count)
{
    if (!example->sequence) example->code = HR_INVALID_ARGUMENT;
    size_t size = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!can_be_feature(example, &rows[i])) return;
        size += hr__headed(hr__feature_size(&rows[i]));
    }
    char *p = hr__wire_map_add(&example->lists, key, size);
    for (int64_t i = 0; p && i < count; i++) {
        p = hr__put_head(p, HR__TAG_1, hr__feature_size(&rows[i]));
        p = hr__put_feature(p, &rows[i]);
    }
}

void hr__example_add_wire(hr_example *example, hr_view key, const hr__wire_values *step, int64_t steps, bool list)
{
    size_t size = 0;
    for (int64_t i = 0; i < steps; i++) {
        const size_t feature = hr__wire_feature_size(&step[i]);
        size += list ? hr__headed(feature) : feature;
    }
    char *p = hr__wire_map_add(list ? &example->lists : &example->features, key, size);
    for (int64_t i = 0; p && i < steps; i++) {
        if (list) p = hr__put_head(p, HR__TAG_1, hr__wire_feature_size(&step[i]));
        p = hr__put_wire_feature(p, &step[i]);
    }
}

size_t hr__example_size(const hr_example *example) { return example->features.size + example->lists.size; }

static bool repeats(const hr__wire_map *map) { return !map->sorted && map->retained < map->entries; }

bool hr__example_repeats(const hr_example *example) { return repeats(&example->features) || repeats(&example->lists); }

static hr_status example_refused(const hr_example *example, hr_error *err)
{
    if (example->features.no_memory || example->lists.no_memory) return hr_no_memory(err, "example");
    if (example->code == HR_OK) return HR_OK;
    return hr_fail(err, example->code, "example.feature",
                   "example: expected features of int64, float32 or string, and lists only in a SequenceExample");
}

hr_status hr__example_measure(hr_example *example, size_t *size, hr_error *err)
{
    *size = 0;
    HR_TRY(example_refused(example, err));
    example->features_size = hr__wire_map_sort(&example->features);
    example->lists_size = hr__wire_map_sort(&example->lists);
    if (example->features.present) *size += hr__headed(example->features_size);
    if (example->lists.present) *size += hr__headed(example->lists_size);
    return HR_OK;
}

void hr__example_put(const hr_example *example, char *to)
{
    const hr__wire_map *features = &example->features, *lists = &example->lists;
    if (features->present) to = hr__put_wire_map(hr__put_head(to, HR__TAG_1, example->features_size), features);
    if (lists->present) hr__put_wire_map(hr__put_head(to, HR__TAG_2, example->lists_size), lists);
}

hr_status hr_example_bytes(hr_example *example, hr_view *out, hr_error *err)
{
    size_t size;
    HR_TRY(hr__example_measure(example, &size, err));
    if (size > example->out_capacity) {
        char *bytes = hr_realloc(example->out, size * 2);
        if (!bytes) return hr_no_memory(err, "example");
        example->out = bytes;
        example->out_capacity = size * 2;
    }
    hr__example_put(example, example->out);
    *out = (hr_view){example->out, (int64_t)size};
    return HR_OK;
}
