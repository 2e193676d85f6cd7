/* For the fuzz targets of the server: a model of every type, without files, loaded once. */
#ifndef FUZZ_SERVED_H
#define FUZZ_SERVED_H

#include "serve/json.h"
#include <string.h>

static const hr_meta_tensor served_inputs[] = {
    {.key = "b", .name = "b:0", .dtype = HR_BOOL, .shape = {1, {-1}}},
    {.key = "f", .name = "f:0", .dtype = HR_FLOAT, .shape = {1, {-1}}},
    {.key = "h", .name = "h:0", .dtype = HR_HALF, .shape = {1, {-1}}},
    {.key = "i", .name = "i:0", .dtype = HR_INT64, .shape = {1, {-1}}},
    {.key = "s", .name = "s:0", .dtype = HR_STRING, .shape = {2, {-1, 2}}},
    {.key = "u", .name = "u:0", .dtype = HR_UINT8, .shape = {-1, {0}}},
};
static const hr_meta_tensor served_float = {.key = "x", .name = "x:0", .dtype = HR_FLOAT, .shape = {1, {-1}}};
static const hr_meta_tensor served_string = {.key = "inputs", .name = "e:0", .dtype = HR_STRING, .shape = {1, {-1}}};
static const hr_meta_tensor served_scores = {.key = "scores", .name = "y:0", .dtype = HR_FLOAT, .shape = {2, {-1, 1}}};
static const hr_meta_tensor served_value = {.key = "outputs", .name = "y:0", .dtype = HR_FLOAT, .shape = {2, {-1, 1}}};

static const hr_meta_signature served_signatures[] = {
    {"all", "tensorflow/serving/predict", served_inputs, served_inputs, 6, 6},
    {"classify", "tensorflow/serving/classify", &served_string, &served_scores, 1, 1},
    {"regress", "tensorflow/serving/regress", &served_string, &served_value, 1, 1},
    {"serving_default", "tensorflow/serving/predict", &served_float, &served_float, 1, 1},
};

static hr_status served_load(const hr_servable_load *load, void **model, hr_error *err)
{
    static int loaded;
    (void)load;
    (void)err;
    *model = &loaded;
    return HR_OK;
}

static void served_unload(void *model) { (void)model; }

static const hr_meta_signature *served_signature(const void *model, int i)
{
    (void)model;
    return i < 4 ? &served_signatures[i] : NULL;
}

/* What comes in goes out; of Examples a score each. */
static hr_status served_run(void *model, const hr_servable_run *run, hr_tensor *out, hr_error *err)
{
    (void)model;
    const hr_meta_signature *said = &served_signatures[run->signature];
    for (int i = 0; i < run->output_count; i++) {
        const hr_tensor *in = &run->inputs[said->input_count == 6 ? run->outputs[i] : 0];
        if (in->dtype != said->inputs[said->input_count == 6 ? run->outputs[i] : 0].dtype)
            return hr_fail(err, HR_INVALID_ARGUMENT, "fuzz.type", "another type");
        if (said->inputs == &served_string) {
            if (in->shape.rank != 1) return hr_fail(err, HR_INVALID_ARGUMENT, "fuzz.shape", "another shape");
            HR_TRY(hr_tensor_new(&out[i], HR_FLOAT, HR_SHAPE(in->count, 1), err));
            memset(out[i].data, 0, (size_t)in->count * sizeof(float));
            continue;
        }
        const hr_status st = in->dtype == HR_STRING ? hr_tensor_strings(&out[i], in->shape, in->data, err)
                                                    : hr_tensor_new(&out[i], in->dtype, in->shape, err);
        for (int k = 0; st != HR_OK && k < i; k++) hr_tensor_clear(&out[k]);
        HR_TRY(st);
        if (in->dtype != HR_STRING && in->count)
            memcpy(out[i].data, in->data, (size_t)in->count * hr_dtype_size(in->dtype));
    }
    return HR_OK;
}

static hr_dtype served_feature(const void *model, int signature, const char *name)
{
    (void)model;
    (void)signature;
    return name[0] == 'f' ? HR_FLOAT : HR_INVALID_DTYPE;
}

static const hr_servable_kind served_kind = {
    .head = HR_SERVABLE_HEAD,
    .name = "served",
    .load = served_load,
    .unload = served_unload,
    .signature = served_signature,
    .run = served_run,
    .feature = served_feature,
};

/* The one version, which is nobody's to release. */
static inline hr__version *served_version(void)
{
    static hr__model model;
    static hr__version version;
    static char name[] = "served", path[] = "/";
    static const hr_server_opts opts = {.struct_size = sizeof opts, .no_warmup = true};
    if (!version.loaded) {
        model.name = name;
        version.model = &model;
        version.number = 1;
        version.path = path;
        version.kind = &served_kind;
        if (hr__version_calls_of_models.load(&version, &opts, NULL) != HR_OK) __builtin_trap();
    }
    return &version;
}

#endif
