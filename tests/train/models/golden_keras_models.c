/* Models of a case, sequential and functional. */
#include "golden_keras.h"

#include <string.h>

enum { MOST = 64 };

static hr_shape shape_of(const cJSON *json)
{
    hr_shape shape = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, json) if (shape.rank < HR_MAX_RANK) shape.dims[shape.rank++] =
        cJSON_IsNull(item) ? -1 : golden_number_int64(item);
    return shape;
}

static hr_dtype dtype_of(const cJSON *json, const char *key)
{
    const char *name = golden_text(json, key, NULL);
    return name ? hr_dtype_named(name) : HR_FLOAT;
}

static hr_layer *layer_or_model(golden_case *c, const cJSON *json)
{
    const cJSON *inner = golden_get(json, "model");
    if (!inner) return keras_layer(c, json);
    hr_model *m = keras_model(c, inner);
    return m ? hr_model_layer(m, golden_text(json, "name", NULL)) : NULL;
}

static hr_model *sequential(golden_case *c, const cJSON *json)
{
    hr_layer *layers[MOST];
    int count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_get(json, "layers"))
    {
        layers[count] = layer_or_model(c, item);
        if (!layers[count] || ++count == MOST) {
            hr_model_free(hr_sequential_with((hr_layer_list){layers, count}, NULL)); /* frees them */
            return NULL;
        }
    }
    const cJSON *shape = golden_get(json, "input_shape");
    hr_sequential_opts o = {.struct_size = sizeof o,
                            .name = golden_text(json, "name", NULL),
                            .input_shape = shape_of(shape),
                            .input_dtype =
                                golden_get(json, "input_dtype") ? dtype_of(json, "input_dtype") : HR_INVALID_DTYPE,
                            .batch_size = golden_int(json, "batch_size", 0)};
    return hr_sequential_with((hr_layer_list){layers, count}, &o);
}

typedef struct named {
    const char *name;
    hr_symbol value;
} named;

typedef struct functional {
    golden_case *c;
    hr_model *m;
    named values[MOST];
    int count;
    struct {
        const char *name;
        hr_layer *layer;
    } layers[MOST];
    int layer_count;
} functional;

static bool name_value(functional *f, const char *name, hr_symbol value)
{
    if (f->count == MOST) return false;
    f->values[f->count++] = (named){name, value};
    return true;
}

static bool find_value(const functional *f, const char *name, hr_symbol *out)
{
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->values[i].name, name) == 0) *out = f->values[i].value;
    return out->model != NULL;
}

static hr_layer *find_layer(const functional *f, const char *name)
{
    for (int i = 0; i < f->layer_count; i++)
        if (strcmp(f->layers[i].name, name) == 0) return f->layers[i].layer;
    return NULL;
}

/* The value of a call under its name; a layer of several lists theirs. */
static bool name_outputs(functional *f, const cJSON *json, hr_symbol made)
{
    const cJSON *outputs = golden_get(json, "outputs"), *item;
    int i = 0;
    if (!outputs) return name_value(f, golden_text(json, "as", golden_text(json, "name", "")), made);
    cJSON_ArrayForEach(item, outputs) if (!name_value(f, item->valuestring, hr_symbol_output(made, i++))) return false;
    return true;
}

static bool add_layer(functional *f, const cJSON *json)
{
    hr_symbol inputs[MOST];
    int count = 0;
    const cJSON *item;
    const char *again = golden_text(json, "call", NULL);
    hr_layer *layer = again ? find_layer(f, again) : layer_or_model(f->c, json);
    if (!layer) return false;
    cJSON_ArrayForEach(item, golden_get(json, "inputs"))
    {
        inputs[count] = (hr_symbol){0};
        if (count == MOST || !find_value(f, item->valuestring, &inputs[count++])) {
            golden_differs(f->c, "no value %s", item->valuestring);
            return false;
        }
    }
    const hr_symbol made = hr_connect_all(layer, inputs, count);
    if (!again) {
        f->layers[f->layer_count].name = golden_text(json, "name", "");
        f->layers[f->layer_count++].layer = layer;
    }
    return name_outputs(f, json, made);
}

static bool add_inputs(functional *f, const cJSON *json, hr_symbol *listed, int *count, bool *all)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_get(json, "inputs"))
    {
        const hr_symbol value =
            hr_model_input(f->m, shape_of(golden_get(item, "shape")), .name = golden_text(item, "name", NULL),
                           .dtype = dtype_of(item, "dtype"), .batch_size = golden_int(item, "batch_size", 0));
        if (golden_bool(item, "listed", true))
            listed[(*count)++] = value;
        else
            *all = false;
        if (!name_value(f, golden_text(item, "name", ""), value)) return false;
    }
    return true;
}

static hr_model *functional_model(golden_case *c, const cJSON *json)
{
    functional f = {.c = c, .m = hr_model_new(.name = golden_text(json, "name", NULL))};
    hr_symbol inputs[MOST], outputs[MOST];
    int input_count = 0, output_count = 0;
    bool all = true, sound = add_inputs(&f, json, inputs, &input_count, &all);
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_get(json, "layers")) sound = sound && add_layer(&f, item);
    cJSON_ArrayForEach(item, golden_get(json, "outputs"))
    {
        outputs[output_count] = (hr_symbol){0};
        sound = sound && find_value(&f, item->valuestring, &outputs[output_count]);
        output_count++;
    }
    if (!sound) {
        hr_model_free(f.m);
        return NULL;
    }
    if (all) {
        (void)hr_model_outputs_of(f.m, outputs, output_count);
        return f.m;
    }
    hr_model *part = hr_submodel(f.m, inputs, input_count, outputs, output_count);
    hr_model_free(f.m);
    return part;
}

hr_model *keras_model(golden_case *c, const cJSON *json)
{
    const char *kind = golden_text(json, "kind", "");
    return strcmp(kind, "functional") == 0 ? functional_model(c, json) : sequential(c, json);
}
