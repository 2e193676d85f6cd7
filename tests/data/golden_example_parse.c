/* Golden topic example_parse: every case through hr_parse_example, in the default mode and in tf_compat. The batch form
 * is a batch of all records, the single form one record without a batch. */
#include "tests/golden/golden.h"
#include <headrace/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FEATURES = 64, MOST_PARTS = 8 };

/* A case's spec; what it points to lives as long. */
typedef struct spec {
    hr_feature feature[MOST_FEATURES];
    hr_tensor default_value[MOST_FEATURES];
    hr_partition partition[MOST_FEATURES][MOST_PARTS];
    const char *index_key[MOST_FEATURES][MOST_PARTS];
    int features;
} spec;

static hr_shape shape_of(const cJSON *json)
{
    hr_shape shape = {0};
    const cJSON *n;
    if (cJSON_IsNumber(json)) return HR_SHAPE(golden_number_int64(json));
    cJSON_ArrayForEach(n, json) shape.dims[shape.rank++] = cJSON_IsNull(n) ? -1 : golden_number_int64(n);
    return shape;
}

static void read_partitions(spec *s, int i, const cJSON *json)
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

static void read_index_keys(spec *s, int i, const cJSON *json)
{
    const cJSON *key;
    int n = 0;
    if (cJSON_IsString(json)) s->index_key[i][0] = json->valuestring;
    cJSON_ArrayForEach(key, json) s->index_key[i][n++] = key->valuestring;
    s->feature[i].index_keys = s->index_key[i];
}

static void read_feature(spec *s, const cJSON *json)
{
    static const char *const kinds[] = {"FixedLen", "FixedLenSequence", "VarLen", "Ragged", "Sparse"};
    const int i = s->features++;
    hr_feature *f = &s->feature[i];
    f->name = json->string;
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

/* ---- the pipeline ---- */

/* One value of any kind, behind 64 readable bytes, as records are. */
static hr_dataset *dataset_of(const hr_tensor *serialized, const hr_tensor *names, const spec *s, bool single,
                              bool tf_compat)
{
    static const char *const component[] = {"serialized", "names"};
    hr_tensor rows[2] = {*serialized, *names};
    if (single) rows[0].shape = rows[1].shape = HR_SHAPE(1);
    hr_dataset *ds = hr_from_tensor_slices(rows, component, names->data ? 2 : 1);
    if (!single) ds = hr_batch(ds, serialized->count ? serialized->count : 1);
    return hr_parse_example(ds, (&(hr_parse_spec){s->feature, s->features}), .source = "serialized",
                            .tf_compat = tf_compat);
}

static golden_result compare(golden_case *c, const cJSON *expected, const hr_element *e)
{
    const cJSON *component;
    cJSON_ArrayForEach(component, expected)
    {
        const hr_tensor *got = hr_get(e, component->string);
        if (!got) return golden_differs(c, "no component '%s'", component->string);
        if (!golden_equal_json(c, component->string, component, got)) return GOLDEN_DIFFERS;
    }
    return GOLDEN_AGREES;
}

static golden_result judge(golden_case *c, const cJSON *expectation, hr_iterator *it, int64_t records)
{
    const hr_element *e = NULL;
    const char *class = golden_error_class(expectation);
    hr_status status = hr_next(it, &e);
    if (class) {
        while (status == HR_OK) status = hr_next(it, &e); /* the good rows before it come first */
        if (status < 0 && strcmp(hr_status_name(status), class) == 0) return GOLDEN_AGREES;
        return golden_differs(c, "%s, expected the error %s", hr_status_name(status), class);
    }
    if (records == 0 && status == HR_END) return GOLDEN_AGREES; /* no batch comes of no records */
    if (status != HR_OK)
        return golden_differs(c, "%s: %s", hr_status_name(status),
                              hr_iterator_error(it) ? hr_iterator_error(it)->text : "");
    const cJSON *expected = golden_get(expectation, "expect");
    return compare(c, expected ? expected : golden_get(c->json, "expect"), e);
}

static golden_result run_mode(golden_case *c, const spec *s, bool tf_compat)
{
    hr_tensor serialized, names;
    const bool single = strcmp(golden_text(c->json, "op", ""), "parse_single_example") == 0;
    if (!golden_tensor(golden_get(c->json, "serialized"), &serialized)) return golden_differs(c, "no records");
    golden_tensor(golden_get(c->json, "names"), &names);
    static const int no_workers = 0;
    hr_dataset *ds = dataset_of(&serialized, &names, s, single, tf_compat);
    hr_iterator *it = hr_iterate(ds, .workers = &no_workers);
    golden_result result = judge(c, golden_expectation(c->json, tf_compat), it, serialized.count);
    hr_iterator_free(it);
    golden_tensor_clear(&serialized);
    golden_tensor_clear(&names);
    return result;
}

static golden_result run_case(golden_case *c)
{
    static spec s;
    const cJSON *feature;
    memset(&s, 0, sizeof s);
    cJSON_ArrayForEach(feature, golden_get(c->json, "spec"))
    {
        if (s.features == MOST_FEATURES) return golden_differs(c, "more features than this test holds");
        read_feature(&s, feature);
    }
    golden_result result = run_mode(c, &s, false);
    if (result == GOLDEN_AGREES) result = run_mode(c, &s, true);
    for (int i = 0; i < s.features; i++) golden_tensor_clear(&s.default_value[i]);
    return result;
}

int main(void) { return golden_main("example_parse", GOLDEN_ROOT, run_case); }
