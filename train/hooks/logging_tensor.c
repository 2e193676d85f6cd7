/* LoggingTensorHook: "tag = value, ..." of some nodes, at runs 0, n, 2n, ... of this session or every so many
 * seconds. */
#include <headrace/hooks.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct logging_tensor {
    hr_timer timer;
    hr_logged *tensor; /* copies */
    int count;
    int64_t runs;
    bool at_end, periodic, asked; /* asked: this run fetches them */
    char *(*formatter)(const hr_logged_value *values, int count, void *user);
    void *user;
} logging_tensor;

/* A line of the log, whose memory is large enough for all that is put into it. */
typedef struct log_line {
    char *text;
    size_t size, at;
} log_line;

enum { MAX_SHOWN = 100, MAX_NUMBER = 64 };

/* What the tags, and all numbers at their longest, take. */
static hr_status line_begin(log_line *line, const logging_tensor *s, hr_error *err)
{
    line->at = 0;
    line->size = MAX_NUMBER;
    for (int i = 0; i < s->count; i++) line->size += strlen(s->tensor[i].tag) + (MAX_SHOWN + 1) * MAX_NUMBER;
    line->text = hr_malloc(line->size);
    if (!line->text) return hr_no_memory(err, "a line of the log");
    line->text[0] = 0;
    return HR_OK;
}

static void HR_PRINTF(2, 3) line_add(log_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(line->text + line->at, line->size - line->at, format, arguments);
    va_end(arguments);
    if (n > 0) line->at += (size_t)n < line->size - line->at ? (size_t)n : line->size - line->at - 1;
}

/* The fewest digits that read back as the same number, as NumPy prints one: 0.1, 26.0, 1e-08. In arrays NumPy drops the
 * zero after the point. */
static void logging_put_float(log_line *to, double v, bool single, bool in_array)
{
    char digits[40], *const from = to->text + to->at;
    int precision = 0, max = single ? 8 : 16;
    if (!isfinite(v)) {
        line_add(to, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    for (; precision <= max; precision++) {
        snprintf(digits, sizeof digits, "%.*e", precision, v);
        if (single ? strtof(digits, NULL) == (float)v : strtod(digits, NULL) == v) break;
    }
    const int exponent = atoi(strchr(digits, 'e') + 1), decimals = precision - exponent;
    const double rounded = strtod(digits, NULL);
    if (exponent < -4 || exponent >= 16)
        line_add(to, "%s", digits);
    else if (decimals > 0)
        line_add(to, "%.*f", decimals, rounded);
    else
        line_add(to, in_array ? "%.0f." : "%.0f.0", rounded);
    for (char *c = from; *c; c++) /* the same under any locale */
        if (*c == ',') *c = '.';
}

static void logging_put_number(log_line *to, const hr_tensor *t, int64_t i, bool in_array)
{
    switch (t->dtype) {
    case HR_FLOAT:
        logging_put_float(to, (double)((const float *)t->data)[i], true, in_array);
        break;
    case HR_DOUBLE:
        logging_put_float(to, ((const double *)t->data)[i], false, in_array);
        break;
    case HR_INT64:
        line_add(to, "%" PRId64, ((const int64_t *)t->data)[i]);
        break;
    case HR_INT32:
        line_add(to, "%" PRId32, ((const int32_t *)t->data)[i]);
        break;
    case HR_BOOL:
        line_add(to, "%s", ((const bool *)t->data)[i] ? "True" : "False");
        break;
    default:
        line_add(to, "<%s>", hr_dtype_name(t->dtype));
        break;
    }
}

static void put_tensor(log_line *to, const hr_tensor *t)
{
    if (t->shape.rank == 0) {
        logging_put_number(to, t, 0, false);
        return;
    }
    line_add(to, "[");
    for (int64_t i = 0; i < t->count && i < MAX_SHOWN; i++) {
        if (i) line_add(to, " ");
        logging_put_number(to, t, i, true);
    }
    line_add(to, "%s", t->count > MAX_SHOWN ? " ...]" : "]");
}

/* The text of each value, with a 0 after it, then what the formatter makes of them. */
static hr_status log_formatted(const logging_tensor *s, log_line *line, const hr_tensor *value, hr_error *err)
{
    hr_logged_value *logged = hr_calloc((size_t)s->count + 1, sizeof *logged);
    if (!logged) return hr_no_memory(err, "values to log");
    for (int i = 0; i < s->count; i++) {
        logged[i] = (hr_logged_value){s->tensor[i].tag, line->text + line->at, &value[i]};
        put_tensor(line, &value[i]);
        line->at++;
    }
    char *text = s->formatter(logged, s->count, s->user);
    hr_free(logged);
    if (!text) return hr_no_memory(err, "a line of the log");
    hr_log_message(HR_INFO, "%s", text);
    hr_free(text);
    return HR_OK;
}

static void log_plainly(const logging_tensor *s, log_line *line, const hr_tensor *value, bool again, double seconds)
{
    for (int i = 0; i < s->count; i++) {
        line_add(line, "%s%s = ", i ? ", " : "", s->tensor[i].tag);
        put_tensor(line, &value[i]);
    }
    if (again) line_add(line, " (%.3f sec)", seconds);
    hr_log_message(HR_INFO, "%s", line->text);
}

static hr_status log_values(logging_tensor *s, hr_monitored_session *m, const hr_tensor *value, hr_error *err)
{
    log_line line;
    double seconds = 0;
    int64_t steps;
    HR_TRY(line_begin(&line, s, err));
    const bool again = hr_timer_update(&s->timer, s->runs, hr_monitored_now(m), &seconds, &steps);
    hr_status st = HR_OK;
    if (s->formatter)
        st = log_formatted(s, &line, value, err);
    else
        log_plainly(s, &line, value, again, seconds);
    hr_free(line.text);
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
    return s->periodic || !s->at_end ? hr_timer_check(&s->timer, "logging_tensor", err) : HR_OK;
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
    if (count < 0 || (count > 0 && !tensors)) return hr_hook_refused();
    logging_tensor s = {.tensor = hr_memdup(tensors, (size_t)count * sizeof *tensors),
                        .count = count,
                        .at_end = opts->at_end,
                        .formatter = opts->formatter,
                        .user = opts->user};
    s.timer.every_secs = opts->every_n_secs;
    s.timer.every_steps = opts->every_n_iter;
    s.periodic = opts->every_n_secs != 0 || opts->every_n_iter != 0;
    for (int i = 0; i < count && s.tensor; i++) s.tensor[i].tag = hr_strdup(tensors[i].tag);
    return hr_hook_new(&logging_tensor_kind, &s);
}
