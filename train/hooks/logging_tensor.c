/* LoggingTensorHook: "tag = value, ..." of some nodes, at runs 0, n, 2n, ... of this session or every so many
 * seconds. */
#include "base/text.h"
#include "train/hooks/hooks_internal.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct logging_tensor {
    hr_timer timer;
    hr_logged *tensor; /* copies */
    int count;
    int64_t runs;
    bool at_end, periodic, asked; /* asked: this run fetches them */
} logging_tensor;

/* The fewest digits that read back as the same number, as NumPy prints one: 0.1, 26.0, 1e-08. In arrays NumPy drops the
 * zero after the point. */
static void logging_put_float(hr__text *to, double v, bool single, bool in_array)
{
    char digits[40];
    int precision = 0, most = single ? 8 : 16;
    if (!isfinite(v)) {
        hr__text_add(to, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    for (; precision <= most; precision++) {
        snprintf(digits, sizeof digits, "%.*e", precision, v);
        if (single ? strtof(digits, NULL) == (float)v : strtod(digits, NULL) == v) break;
    }
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        hr__text_add(to, digits);
        return;
    }
    int behind = precision - exponent;
    double rounded = strtod(digits, NULL);
    if (behind > 0)
        hr__text_printf(to, "%.*f", behind, rounded);
    else
        hr__text_printf(to, in_array ? "%.0f." : "%.0f.0", rounded);
}

static void logging_put_number(hr__text *to, const hr_tensor *t, int64_t i, bool in_array)
{
    switch (t->dtype) {
    case HR_FLOAT:
        logging_put_float(to, (double)((const float *)t->data)[i], true, in_array);
        break;
    case HR_DOUBLE:
        logging_put_float(to, ((const double *)t->data)[i], false, in_array);
        break;
    case HR_INT64:
        hr__text_printf(to, "%" PRId64, ((const int64_t *)t->data)[i]);
        break;
    case HR_INT32:
        hr__text_printf(to, "%" PRId32, ((const int32_t *)t->data)[i]);
        break;
    case HR_BOOL:
        hr__text_add(to, ((const bool *)t->data)[i] ? "True" : "False");
        break;
    default:
        hr__text_printf(to, "<%s>", hr_dtype_name(t->dtype));
        break;
    }
}

enum { MAX_SHOWN = 100 };

static void put_tensor(hr__text *to, const hr_tensor *t)
{
    if (t->shape.rank == 0) {
        logging_put_number(to, t, 0, false);
        return;
    }
    hr__text_byte(to, '[');
    for (int64_t i = 0; i < t->count && i < MAX_SHOWN; i++) {
        if (i) hr__text_byte(to, ' ');
        logging_put_number(to, t, i, true);
    }
    hr__text_add(to, t->count > MAX_SHOWN ? " ...]" : "]");
}

static hr_status log_values(logging_tensor *s, hr_monitored_session *m, const hr_tensor *value, hr_error *err)
{
    hr__text text = {0};
    double seconds;
    int64_t steps;
    bool again = hr_timer_update(&s->timer, s->runs, hr_monitored_now(m), &seconds, &steps);
    for (int i = 0; i < s->count; i++) {
        hr__text_printf(&text, "%s%s = ", i ? ", " : "", s->tensor[i].tag);
        put_tensor(&text, &value[i]);
    }
    if (again) hr__text_printf(&text, " (%.3f sec)", seconds);
    hr_status st = hr__text_status(&text, "a line of the log", err);
    if (st == HR_OK) hr_log_message(HR_INFO, "%s", text.data ? text.data : "");
    hr__text_free(&text);
    return st;
}

static hr_status logging_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    logging_tensor *s = state;
    s->asked = s->periodic && hr_timer_due(&s->timer, s->runs, hr_monitored_now(m));
    for (int i = 0; i < s->count && s->asked; i++) HR_TRY(hr_request_fetch(request, s->tensor[i].node, err));
    return HR_OK;
}

static hr_status logging_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    logging_tensor *s = state;
    if (s->asked) HR_TRY(log_values(s, m, results, err));
    s->runs++;
    return HR_OK;
}

/* The tensors are computed once more, as TensorFlow does. */
static hr_status logging_end(void *state, hr_monitored_session *m, hr_error *err)
{
    logging_tensor *s = state;
    if (!s->at_end) return HR_OK;
    hr_node *node = hr_calloc((size_t)s->count + 1, sizeof *node);
    hr_tensor *value = hr_calloc((size_t)s->count + 1, sizeof *value);
    hr_status st = node && value ? HR_OK : hr_no_memory(err, "values to log");
    for (int i = 0; i < s->count && st == HR_OK; i++) node[i] = s->tensor[i].node;
    if (st == HR_OK) st = hr_session_run(hr_monitored_raw(m), NULL, 0, node, s->count, value, err);
    if (st == HR_OK) st = log_values(s, m, value, err);
    for (int i = 0; i < s->count && value; i++) hr_tensor_clear(&value[i]);
    hr_free(node);
    hr_free(value);
    return st;
}

static hr_status logging_begin(void *state, hr_graph *g, hr_error *err)
{
    const logging_tensor *s = state;
    (void)g;
    for (int i = 0; i < s->count; i++)
        if (!s->tensor || !s->tensor[i].tag) return hr_no_memory(err, "what to log");
    return s->periodic || !s->at_end ? hr__timer_check(&s->timer, "logging_tensor", err) : HR_OK;
}

static void logging_release(void *state)
{
    logging_tensor *s = state;
    for (int i = 0; i < s->count && s->tensor; i++) hr_free((char *)s->tensor[i].tag);
    hr_free(s->tensor);
}

static const hr_hook_kind logging_tensor_kind = {
    .head = HR_HOOK_HEAD,
    .name = "logging_tensor",
    .state_size = sizeof(logging_tensor),
    .begin = logging_begin,
    .before_run = logging_before_run,
    .after_run = logging_after_run,
    .end = logging_end,
    .release = logging_release,
};

hr_hook *hr_logging_tensor_hook_with(const hr_logged *tensors, int count, const hr_logging_tensor_hook_opts *opts)
{
    opts = &HR_OPTIONS(hr_logging_tensor_hook_opts, opts);
    if (count < 0 || (count > 0 && !tensors)) return hr__hook_refused();
    logging_tensor s = {
        .tensor = hr_memdup(tensors, (size_t)count * sizeof *tensors), .count = count, .at_end = opts->at_end};
    s.timer.every_secs = opts->every_n_secs;
    s.timer.every_steps = opts->every_n_iter;
    s.periodic = opts->every_n_secs != 0 || opts->every_n_iter != 0;
    for (int i = 0; i < count && s.tensor; i++) s.tensor[i].tag = hr_strdup(tensors[i].tag);
    return hr_hook_new(&logging_tensor_kind, &s);
}
