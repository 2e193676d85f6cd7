/* Data of a case: one tensor, several by name, or a list. */
#include "golden_keras.h"

#include <stdio.h>
#include <string.h>

static bool add(golden_case *c, const cJSON *json, const char *name, keras_data *out)
{
    if (out->count == KERAS_TENSORS || !golden_tensor(golden_whole(json), &out->tensor[out->count])) {
        golden_differs(c, "data %s: no tensor", name);
        return false;
    }
    (void)snprintf(out->name[out->count], sizeof *out->name, "%s", name);
    out->names[out->count] = out->name[out->count];
    out->count++;
    return true;
}

static bool add_part(golden_case *c, const cJSON *json, int part, keras_data *out)
{
    char name[64];
    int number = 0;
    const cJSON *item;
    (void)snprintf(name, sizeof name, "%d", part);
    if (cJSON_GetObjectItem(json, "dtype")) return add(c, json, name, out);
    cJSON_ArrayForEach(item, golden_fields(json))
    {
        if (item->string)
            (void)snprintf(name, sizeof name, "%d/%s", part, item->string);
        else
            (void)snprintf(name, sizeof name, "%d/%d", part, number++);
        if (!add(c, item, name, out)) return false;
    }
    return true;
}

bool keras_read_data(golden_case *c, const cJSON *json, const char *prefix, keras_data *out)
{
    static const char *const parts[] = {"x", "y", "sample_weight"};
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s%s", prefix, parts[i]);
        const cJSON *part = golden_get(json, key);
        if (part && !cJSON_IsNull(part) && !add_part(c, part, i, out)) return false;
    }
    return true;
}

void keras_data_clear(keras_data *d)
{
    for (int i = 0; i < d->count; i++) golden_tensor_clear(&d->tensor[i]);
    d->count = 0;
}

hr_dataset *keras_dataset(const keras_data *d) { return hr_from_tensor_slices(d->tensor, d->names, d->count); }

void keras_rows(const keras_data *d, int64_t first, int64_t last, hr_tensor *out)
{
    for (int i = 0; i < d->count; i++) {
        const hr_tensor *t = &d->tensor[i];
        hr_shape shape = t->shape;
        const int64_t row = shape.dims[0] ? t->count / shape.dims[0] : 0;
        shape.dims[0] = last - first;
        out[i] = hr_tensor_of(t->dtype, shape, (const char *)t->data + (size_t)(first * row) * hr_dtype_size(t->dtype));
    }
}
