/* ProgbarLogger: how far training, evaluation or predictions are, as text for a terminal, character by character as Keras
 * 2.15 prints it. */
#include <headrace/models.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BAR_WIDTH = 30 };

typedef struct progress_bar {
    hr_text_fn *write;
    void *user;
    bool lines, terminal; /* a line for each epoch; a bar goes back on its line */
    double (*now)(void *clock);
    void *clock;

    bool in_fit;    /* where evaluations are silent */
    bool open;      /* the line is not ended */
    int64_t target; /* batches of an epoch; -1: not known yet */
    int64_t seen;
    size_t width;               /* of the line */
    double start, shown, first; /* of the epoch, of the text before, of the end of the first batch (NaN: not yet) */
    char *text;
    size_t size, capacity;
} progress_bar;

static double bar_clock(void *clock)
{
    struct timespec t;
    (void)clock;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- text ---- */

static hr_status bar_repeat(progress_bar *b, char c, int64_t count, hr_error *err)
{
    const size_t more = count > 0 ? (size_t)count : 0;
    if (more >= b->capacity - b->size) {
        const size_t capacity = 2 * (b->size + more) + 512;
        char *grown = hr_realloc(b->text, capacity);
        if (!grown) return hr_no_memory(err, "a progress bar");
        b->text = grown;
        b->capacity = capacity;
    }
    memset(b->text + b->size, c, more);
    b->size += more;
    b->text[b->size] = '\0';
    return HR_OK;
}

static hr_status HR_PRINTF(3, 4) bar_print(progress_bar *b, hr_error *err, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    const size_t at = b->size, size = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    HR_TRY(bar_repeat(b, ' ', (int64_t)size, err));
    memcpy(b->text + at, text, size);
    return HR_OK;
}

/* A number with its point, whatever the locale's is. */
static hr_status bar_number(progress_bar *b, const char *key, double value, hr_error *err)
{
    char text[400];
    const bool plain = b->lines ? value > 1e-3 : fabs(value) > 1e-3;
    if (isnan(value))
        (void)snprintf(text, sizeof text, "nan");
    else
        (void)snprintf(text, sizeof text, plain ? "%.4f" : "%.4e", value);
    for (char *p = text; *p; p++)
        if (*p == ',') *p = '.';
    HR_TRY(bar_print(b, err, " - %.100s: ", key));
    return bar_print(b, err, "%s", text);
}

static hr_status bar_duration(progress_bar *b, double seconds, const char *unit, hr_error *err)
{
    if (seconds >= 1 || seconds == 0) return bar_print(b, err, " %.0fs/%s", seconds, unit);
    if (seconds >= 1e-3) return bar_print(b, err, " %.0fms/%s", seconds * 1e3, unit);
    return bar_print(b, err, " %.0fus/%s", seconds * 1e6, unit);
}

static int bar_digits(int64_t number)
{
    int digits = 1;
    for (; number >= 10; number /= 10) digits++;
    return digits;
}

static hr_status bar_gauge(progress_bar *b, int64_t current, hr_error *err)
{
    if (b->target < 0) return bar_print(b, err, "%7lld/Unknown", (long long)current);
    const int64_t filled = b->target > 0 ? (int64_t)(BAR_WIDTH * ((double)current / (double)b->target)) : BAR_WIDTH;
    HR_TRY(bar_print(b, err, "%*lld/%lld [", bar_digits(b->target), (long long)current, (long long)b->target));
    HR_TRY(bar_repeat(b, '=', filled - 1, err));
    if (filled > 0) HR_TRY(bar_repeat(b, current < b->target ? '>' : '=', 1, err));
    HR_TRY(bar_repeat(b, '.', BAR_WIDTH - filled, err));
    return bar_repeat(b, ']', 1, err);
}

/* What is left of the epoch, by the time of a batch so far. */
static hr_status bar_left(progress_bar *b, double seconds, hr_error *err)
{
    const long long left = seconds > 0 && seconds < 1e15 ? (long long)seconds : 0;
    HR_TRY(bar_print(b, err, " - ETA: "));
    if (seconds > 3600) return bar_print(b, err, "%lld:%02lld:%02lld", left / 3600, left % 3600 / 60, left % 60);
    if (seconds > 60) return bar_print(b, err, "%lld:%02lld", left / 60, left % 60);
    return bar_print(b, err, "%llds", left);
}

/* The first batch takes longer than others, so it does not count if there are more. */
static double bar_step_seconds(progress_bar *b, int64_t current, double now)
{
    if (current == 0) return 0;
    const double seconds =
        !isnan(b->first) && current > 1 ? (now - b->first) / (double)(current - 1) : (now - b->start) / (double)current;
    if (current == 1) b->first = now;
    return seconds;
}

static hr_status bar_values(progress_bar *b, const hr_logs *logs, hr_error *err)
{
    for (int i = 0; i < hr_logs_count(logs); i++)
        HR_TRY(bar_number(b, hr_logs_key(logs, i), hr_logs_value(logs, i), err));
    return HR_OK;
}

static hr_status bar_show(progress_bar *b, int64_t current, const hr_logs *logs, bool last, double now, hr_error *err)
{
    const size_t before = b->width;
    if (b->terminal) HR_TRY(bar_repeat(b, '\b', (int64_t)before, err));
    HR_TRY(bar_repeat(b, b->terminal ? '\r' : '\n', 1, err));
    const size_t from = b->size;
    HR_TRY(bar_gauge(b, current, err));
    const double seconds = bar_step_seconds(b, current, now);
    if (b->target < 0 || last) {
        HR_TRY(bar_print(b, err, " - %.0fs", now - b->start));
        HR_TRY(bar_duration(b, seconds, "step", err));
    } else {
        HR_TRY(bar_left(b, seconds * (double)(b->target - current), err));
    }
    HR_TRY(bar_values(b, logs, err));
    b->width = b->size - from;
    if (before > b->width) HR_TRY(bar_repeat(b, ' ', (int64_t)(before - b->width), err));
    b->open = !last;
    return last ? bar_repeat(b, '\n', 1, err) : HR_OK;
}

static hr_status bar_show_line(progress_bar *b, int64_t current, const hr_logs *logs, double now, hr_error *err)
{
    const double seconds = now - b->start;
    HR_TRY(bar_print(b, err, "%lld/%lld - %.0fs", (long long)current, (long long)b->target, seconds));
    HR_TRY(bar_values(b, logs, err));
    HR_TRY(bar_print(b, err, " -"));
    HR_TRY(bar_duration(b, seconds, "epoch", err));
    HR_TRY(bar_print(b, err, " -"));
    HR_TRY(bar_duration(b, b->target > 0 ? seconds / (double)b->target : 0, "step", err));
    return bar_repeat(b, '\n', 1, err);
}

static hr_status bar_update(progress_bar *b, int64_t current, const hr_logs *logs, bool last, hr_error *err)
{
    enum { OFTEN_MS = 50 };
    if (b->lines && !last) return HR_OK;
    const double now = b->now(b->clock);
    if (!last && now - b->shown < OFTEN_MS * 1e-3) return HR_OK;
    b->size = 0;
    HR_TRY(b->lines ? bar_show_line(b, current, logs, now, err) : bar_show(b, current, logs, last, now, err));
    b->write(b->text, b->user);
    b->shown = now;
    return HR_OK;
}

/* ---- calls ---- */

static void bar_begin(progress_bar *b, const hr_callback_call *call)
{
    if (call->steps >= 0) b->target = call->steps;
    b->seen = 0;
    b->width = 0;
    b->start = b->now(b->clock);
    b->shown = 0;
    b->first = NAN;
}

static hr_status bar_end(progress_bar *b, const hr_logs *logs, hr_error *err)
{
    if (b->target < 0) b->target = b->seen;
    return bar_update(b, b->target, logs, true, err);
}

static hr_status bar_train_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    progress_bar *b = state;
    (void)err;
    b->in_fit = true;
    b->target = call->steps;
    return HR_OK;
}

static hr_status bar_epoch_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    progress_bar *b = state;
    bar_begin(b, call);
    if (call->epochs <= 1) return HR_OK;
    b->size = 0;
    HR_TRY(bar_print(b, err, "Epoch %lld/%lld\n", (long long)call->number + 1, (long long)call->epochs));
    b->write(b->text, b->user);
    return HR_OK;
}

static hr_status bar_batch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    progress_bar *b = state;
    b->seen = call->number + 1;
    return bar_update(b, b->seen, call->logs, false, err);
}

static hr_status bar_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    return bar_end(state, call->logs, err);
}

/* A training that was interrupted leaves its line. */
static hr_status bar_train_end(void *state, const hr_callback_call *call, hr_error *err)
{
    progress_bar *b = state;
    (void)call, (void)err;
    if (b->open) b->write("\n", b->user);
    b->open = b->in_fit = false;
    return HR_OK;
}

static hr_status bar_test_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    progress_bar *b = state;
    (void)err;
    if (b->in_fit) return HR_OK;
    b->target = call->steps;
    bar_begin(b, call);
    return HR_OK;
}

static hr_status bar_test_batch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    return ((progress_bar *)state)->in_fit ? HR_OK : bar_batch_end(state, call, err);
}

static hr_status bar_test_end(void *state, const hr_callback_call *call, hr_error *err)
{
    return ((progress_bar *)state)->in_fit ? HR_OK : bar_end(state, call->logs, err);
}

static void bar_release(void *state) { hr_free(((progress_bar *)state)->text); }

static const hr_callback_kind progress_bar_kind = {
    .head = HR_CALLBACK_HEAD,
    .name = "progress_bar",
    .state_size = sizeof(progress_bar),
    .release = bar_release,
    .train_begin = bar_train_begin,
    .epoch_begin = bar_epoch_begin,
    .train_batch_end = bar_batch_end,
    .epoch_end = bar_epoch_end,
    .train_end = bar_train_end,
    .test_begin = bar_test_begin,
    .test_batch_end = bar_test_batch_end,
    .test_end = bar_test_end,
    .predict_begin = bar_test_begin,
    .predict_batch_end = bar_test_batch_end,
    .predict_end = bar_test_end,
};

hr_callback *hr_progress_bar_with(hr_text_fn *write, void *user, const hr_progress_bar_opts *opts)
{
    const hr_progress_bar_opts o = HR_OPTIONS(hr_progress_bar_opts, opts);
    const progress_bar b = {.write = write,
                            .user = user,
                            .lines = o.verbose == 2,
                            .terminal = !o.no_terminal,
                            .now = o.now ? o.now : bar_clock,
                            .clock = o.clock,
                            .target = -1};
    hr_error refused = {0};
    if (!write || o.verbose < 0 || o.verbose > 2)
        (void)hr_fail(&refused, HR_INVALID_ARGUMENT, "models.argument",
                      "progress_bar: expected a function for the text, and 1 or 2 as verbose, got %s and %d",
                      write ? "one" : "NULL", o.verbose);
    return hr_callback_new(&progress_bar_kind, &b, &refused);
}
