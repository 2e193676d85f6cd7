#include "tests/data/parse/golden_parse_spec.h"
#include <stdio.h>
#include <string.h>

static hr_shape shape_of(const cJSON *json)
{
    hr_shape shape = {0};
    const cJSON *n;
    if (cJSON_IsNumber(json)) return HR_SHAPE(golden_number_int64(json));
    cJSON_ArrayForEach(n, json) shape.dims[shape.rank++] = cJSON_IsNull(n) ? -1 : golden_number_int64(n);
    return shape;
}

static void read_partitions(golden_spec *s, int i, const cJSON *json)
{
    static const char *const kinds[] = {"row_splits", "row_lengths",  "row_starts",
                                        "row_limits", "value_rowids", "uniform_row_length"};
    const cJSON *p;
    cJSON_ArrayForEach(p, json)
    {
        hr_partition *to = &s->partition[i][s->feature[i].partition_count++];
        for (int k = 0; k < 6; k++)
            if (strcmp(golden_text(p, "kind", ""), kinds[k]) == 0) to->kind = (hr_partition_kind)k;
        to->key = golden_text(p, "key", NULL);
        to->length = golden_int(p, "length", 0);
    }
    s->feature[i].partitions = s->partition[i];
}

static void read_index_keys(golden_spec *s, int i, const cJSON *json)
{
    const cJSON *key;
    int n = 0;
    if (cJSON_IsString(json)) s->index_key[i][0] = json->valuestring;
    cJSON_ArrayForEach(key, json) s->index_key[i][n++] = key->valuestring;
    s->feature[i].index_keys = s->index_key[i];
}

static void read_feature(golden_spec *s, const cJSON *json, const char *prefix)
{
    static const char *const kinds[] = {"FixedLen", "FixedLenSequence", "VarLen", "Ragged", "Sparse"};
    const int i = s->features++;
    hr_feature *f = &s->feature[i];
    snprintf(s->name[i], sizeof s->name[i], "%s%s", prefix, json->string);
    f->name = s->name[i];
    f->key = golden_text(json, "value_key", json->string);
    f->dtype = hr_dtype_named(golden_text(json, "dtype", ""));
    for (int k = 0; k < 5; k++)
        if (strcmp(golden_text(json, "kind", ""), kinds[k]) == 0) f->kind = (hr_feature_kind)k;
    f->shape = shape_of(golden_get(json, f->kind == HR_SPARSE_FEATURE ? "size" : "shape"));
    f->required = f->kind == HR_FIXED_LEN_SEQUENCE && !golden_bool(json, "allow_missing", true);
    f->already_sorted = golden_bool(json, "already_sorted", false);
    f->validate = golden_bool(json, "validate", false);
    read_index_keys(s, i, golden_get(json, "index_key"));
    read_partitions(s, i, golden_get(json, "partitions"));
    if (golden_tensor(golden_get(json, "default"), &s->default_value[i])) f->default_value = &s->default_value[i];
}

bool golden_spec_read(golden_spec *spec, const cJSON *json, const char *prefix)
{
    const cJSON *feature;
    memset(spec, 0, sizeof *spec);
    cJSON_ArrayForEach(feature, json)
    {
        if (spec->features == MAX_FEATURES) return false;
        read_feature(spec, feature, prefix);
    }
    return true;
}

void golden_spec_clear(golden_spec *spec)
{
    for (int i = 0; i < spec->features; i++) golden_tensor_clear(&spec->default_value[i]);
}
