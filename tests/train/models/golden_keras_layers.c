/* Layers of a case: a class, and the arguments that its config has. */
#include "golden_keras.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments of weights ---- */

static hr_initializer initializer_of(golden_case *c, const char *name, const cJSON *config)
{
    if (strcmp(name, "Constant") == 0) return hr_constant_value(golden_number_double(golden_get(config, "value")));
    (void)c;
    return hr_initializer_named(name);
}

hr_initializer keras_initializer(golden_case *c, const cJSON *config, const char *key)
{
    const cJSON *json = golden_get(config, key);
    if (!json || cJSON_IsNull(json)) return (hr_initializer){0};
    return cJSON_IsString(json) ? initializer_of(c, json->valuestring, NULL)
                                : initializer_of(c, golden_text(json, "class", ""), json);
}

hr_regularizer keras_regularizer(const cJSON *config, const char *key)
{
    const cJSON *json = golden_get(config, key);
    if (!json || cJSON_IsNull(json)) return (hr_regularizer){0};
    if (cJSON_IsString(json)) return strcmp(json->valuestring, "l1") == 0 ? hr_l1(0.01f) : hr_l2(0.01f);
    const char *class = golden_text(json, "class", "");
    const bool l1 = strcmp(class, "L1") == 0, both = strcmp(class, "L1L2") == 0;
    const cJSON *a = golden_get(json, "l1"), *b = golden_get(json, "l2");
    return hr_l1_l2(a    ? (float)golden_number_double(a)
                    : l1 ? 0.01f
                         : 0,
                    b              ? (float)golden_number_double(b)
                    : !l1 && !both ? 0.01f
                                   : 0);
}

static double number(const cJSON *config, const char *key, double otherwise)
{
    const cJSON *json = golden_get(config, key);
    return json && !cJSON_IsNull(json) ? golden_number_double(json) : otherwise;
}

hr_constraint keras_constraint(const cJSON *config, const char *key)
{
    const cJSON *json = golden_get(config, key);
    if (!json || cJSON_IsNull(json)) return (hr_constraint){0};
    const char *class = cJSON_IsString(json) ? json->valuestring : golden_text(json, "class", "");
    const cJSON *o = cJSON_IsString(json) ? NULL : json;
    const int axis = (int)number(o, "axis", 0);
    if (strcmp(class, "MaxNorm") == 0 || strcmp(class, "max_norm") == 0)
        return hr_max_norm(number(o, "max_value", 2), axis);
    if (strcmp(class, "NonNeg") == 0 || strcmp(class, "non_neg") == 0) return hr_non_neg();
    if (strcmp(class, "UnitNorm") == 0 || strcmp(class, "unit_norm") == 0) return hr_unit_norm(axis);
    return hr_min_max_norm(number(o, "min_value", 0), number(o, "max_value", 1), number(o, "rate", 1), axis);
}

/* ---- the classes ---- */

typedef hr_layer *layer_fn(golden_case *c, const char *name, const cJSON *o);

static hr_layer *dense(golden_case *c, const char *name, const cJSON *o)
{
    return hr_dense_layer(golden_int(o, "units", 0), .name = name, .activation = golden_text(o, "activation", NULL),
                          .no_bias = !golden_bool(o, "use_bias", true),
                          .kernel_initializer = keras_initializer(c, o, "kernel_initializer"),
                          .bias_initializer = keras_initializer(c, o, "bias_initializer"),
                          .kernel_regularizer = keras_regularizer(o, "kernel_regularizer"),
                          .bias_regularizer = keras_regularizer(o, "bias_regularizer"),
                          .kernel_constraint = keras_constraint(o, "kernel_constraint"),
                          .bias_constraint = keras_constraint(o, "bias_constraint"),
                          .activity_regularizer = keras_regularizer(o, "activity_regularizer"));
}

static hr_layer *dropout(golden_case *c, const char *name, const cJSON *o)
{
    (void)c;
    return hr_dropout_layer((float)number(o, "rate", 0), .name = name);
}

static const struct {
    const char *class;
    layer_fn *make;
} classes[] = {
    {"Dense", dense},
    {"Dropout", dropout},
};

hr_layer *keras_layer(golden_case *c, const cJSON *json)
{
    const char *class = golden_text(json, "class", "");
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].class, class) == 0)
            return classes[i].make(c, golden_text(json, "name", NULL), golden_get(json, "config"));
    hr_layer *layer = keras_image_layer(c, class, golden_text(json, "name", NULL), golden_get(json, "config"));
    if (!layer) layer = keras_sequence_layer(c, class, golden_text(json, "name", NULL), golden_get(json, "config"));
    if (!layer) golden_not_built(c, "layer %s", class);
    return layer;
}
