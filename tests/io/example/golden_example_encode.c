/* example_encode: the bytes that a writer of Example and SequenceExample must produce. */
#include "tests/golden/golden.h"
#include <headrace/io.h>
#include <stdlib.h>
#include <string.h>

static bool read_feature(const cJSON *json, hr_tensor *out)
{
    *out = (hr_tensor){0};
    if (strcmp(golden_text(json, "kind", "unset"), "unset") == 0) return true;
    return golden_tensor(golden_get(json, "values"), out);
}

static void add_features(hr_example *example, const cJSON *features)
{
    const cJSON *f;
    cJSON_ArrayForEach(f, features)
    {
        hr_tensor feature;
        hr_view key = golden_hex(golden_get(f, "key_hex"));
        if (read_feature(f, &feature)) hr_example_add(example, key, &feature);
        golden_tensor_clear(&feature);
        free((char *)key.data);
    }
}

static void add_lists(hr_example *example, const cJSON *lists)
{
    const cJSON *list, *row;
    cJSON_ArrayForEach(list, lists)
    {
        const cJSON *rows = golden_get(list, "rows");
        int count = cJSON_GetArraySize(rows), n = 0;
        hr_tensor *step = calloc((size_t)count + 1, sizeof *step);
        cJSON_ArrayForEach(row, rows) read_feature(row, &step[n++]);
        hr_view key = golden_hex(golden_get(list, "key_hex"));
        hr_example_add_list(example, key, step, count);
        for (int i = 0; i < count; i++) golden_tensor_clear(&step[i]);
        free((char *)key.data);
        free(step);
    }
}

static golden_result compare(golden_case *c, hr_example *example)
{
    hr_view got, hex = golden_hex(golden_get(golden_get(c->json, "expect"), "hex"));
    hr_error err;
    golden_result result = GOLDEN_AGREES;
    int64_t length = golden_int(golden_get(c->json, "expect"), "length", -1);
    uint32_t crc = (uint32_t)golden_number_int64(golden_get(golden_get(c->json, "expect"), "crc32c"));
    if (hr_example_bytes(example, &got, &err) != HR_OK)
        result = golden_differs(c, "%s", err.text);
    else if (got.size != length || hr_crc32c(0, got.data, (size_t)got.size) != crc)
        result = golden_differs(c, "expected %lld bytes, got %lld", (long long)length, (long long)got.size);
    else if (hex.size > 0 && (hex.size != got.size || memcmp(hex.data, got.data, (size_t)got.size) != 0))
        result = golden_differs(c, "the bytes differ");
    free((char *)hex.data);
    return result;
}

static golden_result run_case(golden_case *c)
{
    golden_whole(c->json); /* some of its fields say in other words what others say */
    bool sequence = strcmp(golden_text(c->json, "message", ""), "SequenceExample") == 0;
    const cJSON *features = golden_get(c->json, sequence ? "context" : "features");
    const cJSON *lists = golden_get(c->json, "feature_lists");
    hr_example *example = sequence ? hr_sequence_example_new() : hr_example_new();
    hr_example_set_present(example, cJSON_IsArray(features), cJSON_IsArray(lists));
    add_features(example, features);
    add_lists(example, lists);
    golden_result result = compare(c, example);
    hr_example_free(example);
    return result;
}

int main(void) { return golden_main("example_encode", GOLDEN_ROOT, run_case); }
