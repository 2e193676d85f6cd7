/* What tests of callbacks share: a small model of y = 2x - 1, and a callback that says what logs are to be. */
#ifndef LINE_MODEL_H
#define LINE_MODEL_H

#include "tests/testing.h"

#include <headrace/models.h>
#include <stdio.h>

enum { LINE_ROWS = 6 };

static inline hr_dataset *line(void)
{
    static const float x[] = {-1, 0, 1, 2, 3, 4}, y[] = {-3, -1, 1, 3, 5, 7};
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(LINE_ROWS, 1), x),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(LINE_ROWS, 1), y)};
    return hr_from_tensor_slices(both, NULL, 2);
}

static inline hr_model *line_model(bool tf_compat)
{
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(1), .seed = 1);
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(0.01f), .loss = "mse", .tf_compat = tf_compat), HR_OK);
    return m;
}

static inline float line_weight(hr_model *m)
{
    hr_tensor w;
    assert_int_equal(hr_get_weight(m, 0, &w, NULL), HR_OK);
    const float value = *(const float *)w.data;
    hr_tensor_clear(&w);
    return value;
}

/* A key of the logs of each epoch, and the weight at its end. */
typedef struct script {
    const char *key;
    const double *values;
    int count;
    float weight[32];
    int epochs;
} script;

static inline hr_status script_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    script *s = state;
    if (call->number < 32) s->weight[call->number] = line_weight(call->model);
    s->epochs++;
    return call->number < s->count ? hr_logs_set(call->logs, s->key, s->values[call->number], err) : HR_OK;
}

static inline hr_callback *scripted(script *s) { return hr_lambda_callback(.epoch_end = script_epoch_end, .user = s); }

/* The warnings since it was set. */
typedef struct noted {
    int warnings;
    char last[1024];
} noted;

static inline void note_warning(hr_level level, const char *text, void *user)
{
    noted *n = user;
    if (level != HR_WARNING) return;
    n->warnings++;
    (void)snprintf(n->last, sizeof n->last, "%s", text);
}

#endif
