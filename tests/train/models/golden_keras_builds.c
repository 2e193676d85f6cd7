/* Layers alone: the shape of what they make, their weights and what these begin with. */
#include "golden_keras.h"

#include <stdio.h>
#include <string.h>

static hr_shape row_shape(const cJSON *json)
{
    hr_shape shape = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, json) shape.dims[shape.rank++] = golden_number_int64(item);
    return shape;
}

static golden_result compare_weight(golden_case *c, hr_model *m, int i, const cJSON *json)
{
    char name[256];
    hr_tensor value;
    hr_error err = {0};
    const hr_weight_info w = hr_model_weight(m, i);
    (void)snprintf(name, sizeof name, "%s:0", w.name);
    if (strcmp(name, golden_text(json, "name", "")) != 0) return golden_differs(c, "weight %d is %s", i, name);
    if (!hr_shape_equal(w.shape, row_shape(golden_get(json, "shape")))) return golden_differs(c, "shape of %s", name);
    if (w.trainable != golden_bool(json, "trainable", true)) return golden_differs(c, "%s: trainable", name);
    const cJSON *constant = golden_get(json, "constant");
    const bool random = golden_bool(json, "random", false);
    if (hr_get_weight(m, i, &value, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    bool equal = true, varied = value.count < 2;
    const float *values = value.data;
    for (int64_t k = 0; k < value.count; k++) {
        if (constant) equal &= values[k] == (float)golden_number_double(constant);
        varied |= values[k] != values[0];
    }
    const cJSON *listed = golden_get(json, "initial");
    if (listed) equal = golden_equal_json(c, name, golden_whole(listed), &value);
    hr_tensor_clear(&value);
    return equal && (!random || varied) ? GOLDEN_AGREES : golden_differs(c, "initial values of %s", name);
}

static golden_result compare_shape(golden_case *c, hr_symbol made, const cJSON *want)
{
    const hr_shape shape = hr_symbol_shape(made);
    char text[128];
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, want)
    {
        const int64_t dim = cJSON_IsNull(item) ? -1 : golden_number_int64(item);
        if (i >= shape.rank || shape.dims[i] != dim)
            return golden_differs(c, "output is %s", hr_shape_text(shape, text, sizeof text));
        i++;
    }
    return i == shape.rank ? GOLDEN_AGREES : golden_differs(c, "output is %s", hr_shape_text(shape, text, sizeof text));
}

/* One shape, or those of several outputs. */
static golden_result compare_shapes(golden_case *c, hr_symbol made, const cJSON *want)
{
    const cJSON *item;
    int i = 0;
    if (!cJSON_IsArray(cJSON_GetArrayItem(want, 0))) return compare_shape(c, made, want);
    cJSON_ArrayForEach(item, want)
    {
        if (compare_shape(c, hr_symbol_output(made, i++), item) != GOLDEN_AGREES) return GOLDEN_DIFFERS;
    }
    return GOLDEN_AGREES;
}

static golden_result compare(golden_case *c, hr_model *m, hr_symbol made, const cJSON *expect)
{
    const cJSON *item;
    int64_t params = 0;
    int i = 0;
    if (hr_model_error(m)) return golden_differs(c, "%s", hr_model_error(m)->text);
    if (compare_shapes(c, made, golden_get(expect, "output_shape")) != GOLDEN_AGREES) return GOLDEN_DIFFERS;
    (void)hr_model_outputs(m, made);
    cJSON_ArrayForEach(item, golden_get(expect, "weights"))
    {
        if (compare_weight(c, m, i, item) != GOLDEN_AGREES) return GOLDEN_DIFFERS;
        params += hr_shape_count(hr_model_weight(m, i++).shape);
    }
    if (i != hr_model_weights(m)) return golden_differs(c, "%d weights", hr_model_weights(m));
    return params == golden_int(expect, "params", -1) ? GOLDEN_AGREES
                                                      : golden_differs(c, "%lld params", (long long)params);
}

static golden_result one(golden_case *c, const cJSON *json, const cJSON *expect)
{
    hr_symbol in[8];
    int count = 0;
    const cJSON *shapes = golden_get(json, "input_shapes"), *item;
    hr_model *m = hr_model_new();
    hr_layer *layer = keras_layer(c, golden_get(json, "layer"));
    if (!layer) {
        hr_model_free(m);
        return GOLDEN_NOT_BUILT;
    }
    if (shapes) {
        cJSON_ArrayForEach(item, shapes) in[count++] = hr_model_input(m, row_shape(item));
    } else {
        const char *dtype = golden_text(json, "input_dtype", "float32");
        in[count++] = hr_model_input(m, row_shape(golden_get(json, "input_shape")), .dtype = hr_dtype_named(dtype));
    }
    const golden_result result = compare(c, m, hr_connect_all(layer, in, count), expect);
    hr_model_free(m);
    return result;
}

golden_result keras_builds(golden_case *c)
{
    const cJSON *layers = golden_get(c->json, "layers"),
                *expected = golden_get(golden_get(c->json, "expect"), "layers"), *item;
    int i = 0;
    cJSON_ArrayForEach(item, layers)
    {
        char where[600];
        const golden_result result = one(c, item, cJSON_GetArrayItem(expected, i++));
        if (result == GOLDEN_AGREES) continue;
        (void)snprintf(where, sizeof where, "layer %d: %.500s", i - 1, c->why);
        (void)snprintf(c->why, sizeof c->why, "%s", where);
        return result;
    }
    return GOLDEN_AGREES;
}
