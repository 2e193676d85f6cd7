#include "tests/serve/adder.h"
#include "tests/testing.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

_Atomic int adder_runs, adder_most_rows, adder_loaded, adder_load_ms, adder_rests;

static hr_status adder_load(const hr_servable_load *load, void **model, hr_error *err)
{
    char path[4096];
    float *plus = hr_malloc(sizeof *plus);
    snprintf(path, sizeof path, "%s/plus", load->path);
    FILE *f = fopen(path, "r");
    const bool read = plus && f && fscanf(f, "%f", plus) == 1;
    if (f) fclose(f);
    if (!read) {
        hr_free(plus);
        return hr_fail(err, HR_NOT_FOUND, "adder.file", "%s: there is no number", path);
    }
    uv_sleep((unsigned)adder_load_ms);
    adder_loaded++;
    *model = plus;
    return HR_OK;
}

static void adder_unload(void *model)
{
    adder_loaded--;
    hr_free(model);
}

static const hr_meta_signature *adder_signature(const void *model, int i)
{
    static const hr_meta_tensor x = {.key = "x", .name = "x:0", .dtype = HR_FLOAT, .shape = {1, {-1}}};
    static const hr_meta_tensor y = {.key = "y", .name = "y:0", .dtype = HR_FLOAT, .shape = {1, {-1}}};
    static const hr_meta_tensor half = {.key = "x", .name = "half:0", .dtype = HR_HALF, .shape = {1, {-1}}};
    static const hr_meta_signature signatures[] = {{"serving_default", "tensorflow/serving/predict", &x, &y, 1, 1},
                                                   {"half", "tensorflow/serving/predict", &half, &half, 1, 1}};
    (void)model;
    return i < 2 ? &signatures[i] : NULL;
}

static hr_status adder_run(void *model, const hr_servable_run *run, hr_tensor *out, hr_error *err)
{
    const hr_tensor *x = &run->inputs[0];
    const float *value = x->data;
    if (run->signature == 1) {
        HR_TRY(hr_tensor_new(&out[0], HR_HALF, x->shape, err));
        memcpy(out[0].data, x->data, (size_t)x->count * sizeof(uint16_t));
        return HR_OK;
    }
    adder_runs++;
    int most = adder_most_rows;
    while ((int)x->count > most && !atomic_compare_exchange_weak(&adder_most_rows, &most, (int)x->count)) continue;
    for (int64_t i = 0; i < x->count; i++) {
        if (value[i] < 0) return hr_fail(err, HR_INVALID_ARGUMENT, "adder.negative", "a negative number");
        if (value[i] == (float)ADDER_SLOW) uv_sleep(300);
    }
    HR_TRY(hr_tensor_new(&out[0], HR_FLOAT, x->shape, err));
    for (int64_t i = 0; i < x->count; i++) ((float *)out[0].data)[i] = value[i] + *(const float *)model;
    return HR_OK;
}

static void adder_rest(void *model)
{
    (void)model;
    adder_rests++;
}

static const hr_servable_kind adder_kind = {
    .head = HR_SERVABLE_HEAD,
    .name = "adder",
    .load = adder_load,
    .unload = adder_unload,
    .signature = adder_signature,
    .run = adder_run,
    .rest = adder_rest,
};

void adder_register(void)
{
    hr_error err;
    assert_ok(hr_servable_register(&adder_kind, &err), &err);
}

void adder_version(const char *base, int number, float plus)
{
    char made[512], named[512], path[600], text[32];
    mkdir(base, 0777);
    snprintf(made, sizeof made, "%s/.%d", base, number);
    snprintf(named, sizeof named, "%s/%d", base, number);
    assert_int_equal(mkdir(made, 0777), 0);
    snprintf(path, sizeof path, "%s/plus", made);
    snprintf(text, sizeof text, "%g\n", (double)plus);
    write_file(path, text, strlen(text));
    assert_int_equal(rename(made, named), 0);
}

hr_server *adder_server(const hr_server_opts *more)
{
    static const int any = 0, none = -1;
    static const double often = 0.05;
    char folder[4096], path[4200];
    hr_error err;
    hr_server *server = NULL;
    hr_server_opts opts = *more;
    adder_register();
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/adder", folder);
    if (!opts.model_config_file) {
        opts.model_name = "adder";
        opts.model_base_path = path;
        opts.model_platform = "adder";
    }
    if (!opts.rest_api_port) opts.rest_api_port = &any;
    if (!opts.port) opts.port = &none;
    if (!opts.file_system_poll_wait_seconds) opts.file_system_poll_wait_seconds = &often;
    assert_ok(hr_server_start_with(&server, &err, &opts), &err);
    return server;
}
