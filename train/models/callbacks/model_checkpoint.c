/* ModelCheckpoint: files with the weights, of each epoch or some batches, or of the best ones. */
#include <ctype.h>
#include <headrace/io.h>
#include <headrace/models.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKPOINT_PATH = 4096, CHECKPOINT_KEY = 256 };

typedef struct model_checkpoint {
    char *path, *monitor;
    bool best_only, greater, warned;
    int64_t save_freq; /* batches; 0: epochs */
    double best;
    int64_t batches; /* since the file before */
} model_checkpoint;

static void checkpoint_release(void *state)
{
    model_checkpoint *c = state;
    hr_free(c->path);
    hr_free(c->monitor);
}

/* ---- paths: Python's format, as far as numbers of epochs and logs need it ---- */

/* {KEY:SPEC}: SPEC is [0][WIDTH][.PRECISION][d, f, F, e, E, g or G]. */
typedef struct path_field {
    char key[CHECKPOINT_KEY];
    bool zeros;
    int width, precision; /* -1: not given */
    char type;            /* 0: not given */
} path_field;

static int path_number(const char **p)
{
    int number = 0;
    if (!isdigit((unsigned char)**p)) return -1;
    for (; isdigit((unsigned char)**p); (*p)++)
        if (number < 100) number = 10 * number + (**p - '0');
    return number < 100 ? number : 99;
}

/* Reads what follows "{"; gives what follows "}", or NULL. */
static const char *path_field_read(const char *p, path_field *f)
{
    const size_t n = strcspn(p, ":{}");
    if (n == 0 || n >= sizeof f->key) return NULL;
    memcpy(f->key, p, n);
    f->key[n] = '\0';
    p += n;
    f->zeros = false;
    f->width = f->precision = -1;
    f->type = 0;
    if (*p == ':') {
        p++;
        f->zeros = *p == '0';
        f->width = path_number(&p);
        if (*p == '.') {
            p++;
            if ((f->precision = path_number(&p)) < 0) return NULL;
        }
        if (*p && strchr("dfFeEgG", *p)) f->type = *p++;
    }
    return *p == '}' ? p + 1 : NULL;
}

/* Without a type the shortest digits that give the same number. */
static void path_shortest(double value, char *out, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, size, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
    if (isfinite(value) && !strpbrk(out, ".,e")) (void)snprintf(out + strlen(out), size - strlen(out), ".0");
}

static void path_field_write(const path_field *f, double value, bool whole, char *out, size_t size)
{
    char text[512], format[16];
    const char type = f->type ? f->type : f->precision >= 0 ? 'g' : 0;
    if (type == 'd' || (!type && whole)) {
        (void)snprintf(text, sizeof text, "%lld", (long long)value);
    } else if (!type) {
        path_shortest(value, text, sizeof text);
    } else {
        (void)snprintf(format, sizeof format, "%%.*%c", type);
        (void)snprintf(text, sizeof text, format, f->precision < 0 ? 6 : f->precision, value);
    }
    for (char *p = text; *p; p++)
        if (*p == ',') *p = '.'; /* the locale's point */
    const size_t n = strlen(text), width = f->width > (int)n ? (size_t)f->width : n, sign = f->zeros && *text == '-';
    if (width >= size) return;
    memcpy(out, text, sign);
    memset(out + sign, f->zeros ? '0' : ' ', width - n);
    memcpy(out + sign + width - n, text + sign, n - sign + 1);
}

/* The value of a field; false: there is none. */
static bool path_value(const char *key, const hr_callback_call *call, bool of_batch, double *value, bool *whole)
{
    *whole = true;
    if (strcmp(key, "epoch") == 0) return *value = (double)call->epoch + 1, true;
    if (strcmp(key, "batch") == 0 && of_batch) return *value = (double)call->number + 1, true;
    *whole = false;
    *value = hr_logs_get(call->logs, key);
    return hr_logs_has(call->logs, key);
}

static hr_status path_fail(const model_checkpoint *c, const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.path",
                   "model_checkpoint: path '%.200s': expected fields such as {epoch:02d} or {val_loss:.2f}, got %s",
                   c->path, what);
}

/* `call` NULL: only looks whether the path is sound. */
static hr_status checkpoint_path(const model_checkpoint *c, const hr_callback_call *call, bool of_batch,
                                 char out[CHECKPOINT_PATH], hr_error *err)
{
    size_t n = 0;
    char text[640];
    for (const char *p = c->path; *p;) {
        path_field f;
        double value;
        bool whole;
        text[0] = *p;
        text[1] = '\0';
        const bool twice = (*p == '{' || *p == '}') && p[1] == *p; /* as one */
        if (*p == '}' && !twice) return path_fail(c, "a } too many", err);
        if (*p == '{' && !twice) {
            p = path_field_read(p + 1, &f);
            if (!p) return path_fail(c, "one that is not", err);
            if (!call) continue;
            if (!path_value(f.key, call, of_batch, &value, &whole)) {
                (void)snprintf(text, sizeof text, "{%.200s}, which the logs do not have", f.key);
                return path_fail(c, text, err);
            }
            path_field_write(&f, value, whole, text, sizeof text);
        } else {
            p += twice ? 2 : 1;
        }
        const size_t size = strlen(text);
        if (n + size >= CHECKPOINT_PATH) return path_fail(c, "a path that is too long", err);
        memcpy(out + n, text, size);
        n += size;
    }
    out[n] = '\0';
    return HR_OK;
}

/* ---- saving ---- */

/* Whether these weights are to be saved. */
static bool checkpoint_is_due(model_checkpoint *c, const hr_logs *logs)
{
    const double value = hr_logs_get(logs, c->monitor);
    if (!c->best_only) return true;
    if (!hr_logs_has(logs, c->monitor)) {
        if (!c->warned)
            hr_log_message(HR_WARNING, "model_checkpoint: it waits for '%.100s', which is not there; nothing is saved",
                           c->monitor);
        c->warned = true;
        return false;
    }
    if (!(c->greater ? value > c->best : value < c->best)) return false;
    c->best = value;
    return true;
}

static hr_status checkpoint_save(model_checkpoint *c, const hr_callback_call *call, bool of_batch, hr_error *err)
{
    char path[CHECKPOINT_PATH];
    HR_TRY(checkpoint_path(c, call, of_batch, path, err));
    if (!checkpoint_is_due(c, call->logs)) return HR_OK;
    HR_TRY(hr_make_folders_above(path, err));
    HR_TRY(hr_save_weights(call->model, path, err));
    hr_log_message(HR_INFO, "model_checkpoint: epoch %lld: the weights are in %s", (long long)call->epoch + 1, path);
    return HR_OK;
}

static hr_status checkpoint_train_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    model_checkpoint *c = state;
    (void)call, (void)err;
    c->batches = 0;
    c->warned = false;
    return HR_OK;
}

static hr_status checkpoint_batch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    model_checkpoint *c = state;
    if (c->save_freq == 0 || ++c->batches < c->save_freq) return HR_OK;
    c->batches = 0;
    return checkpoint_save(c, call, true, err);
}

static hr_status checkpoint_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    model_checkpoint *c = state;
    return c->save_freq == 0 ? checkpoint_save(c, call, false, err) : HR_OK;
}

/* ---- a training that goes on later ---- */

static hr_status checkpoint_keep(void *state, hr_bundle_writer *to, const char *prefix, hr_error *err)
{
    const model_checkpoint *c = state;
    const double numbers[] = {c->best, (double)c->batches};
    return hr_callback_save_numbers(to, prefix, numbers, 2, err);
}

static hr_status checkpoint_restore(void *state, hr_bundle *from, const char *prefix, hr_error *err)
{
    model_checkpoint *c = state;
    double numbers[2];
    HR_TRY(hr_callback_restore_numbers(from, prefix, numbers, 2, err));
    c->best = numbers[0];
    c->batches = (int64_t)numbers[1];
    return HR_OK;
}

static const hr_callback_kind model_checkpoint_kind = {
    .head = HR_CALLBACK_HEAD,
    .name = "model_checkpoint",
    .state_size = sizeof(model_checkpoint),
    .release = checkpoint_release,
    .train_begin = checkpoint_train_begin,
    .train_batch_end = checkpoint_batch_end,
    .epoch_end = checkpoint_epoch_end,
    .save = checkpoint_keep,
    .restore = checkpoint_restore,
};

hr_callback *hr_model_checkpoint_with(const char *path, const hr_model_checkpoint_opts *opts)
{
    const hr_model_checkpoint_opts o = HR_OPTIONS(hr_model_checkpoint_opts, opts);
    const char *monitor = o.monitor ? o.monitor : "val_loss";
    char unused[CHECKPOINT_PATH];
    hr_error refused = {0};
    model_checkpoint c = {.path = hr_strdup(path),
                          .monitor = hr_strdup(monitor),
                          .best_only = o.save_best_only,
                          .save_freq = o.save_freq,
                          .greater = o.mode == HR_MAX_MODE ||
                                     (o.mode == HR_AUTO_MODE &&
                                      (strstr(monitor, "acc") != NULL || strncmp(monitor, "fmeasure", 8) == 0))};
    c.best = o.initial_value_threshold ? *o.initial_value_threshold : c.greater ? -INFINITY : INFINITY;
    if ((path && !c.path) || !c.monitor) (void)hr_no_memory(&refused, "a callback");
    if (!path || !*path || o.save_freq < 0 || o.mode < HR_AUTO_MODE || o.mode > HR_MAX_MODE)
        (void)hr_fail(
            &refused, HR_INVALID_ARGUMENT, "models.argument",
            "model_checkpoint: expected a path, a save_freq of 0 or more and a mode, got '%.100s', %lld and %d",
            path ? path : "NULL", (long long)o.save_freq, (int)o.mode);
    if (refused.code == HR_OK) (void)checkpoint_path(&c, NULL, false, unused, &refused);
    return hr_callback_new(&model_checkpoint_kind, &c, &refused);
}
