/* Callbacks of a case, and what they leave: epochs, calls, a log, files of weights. */
#include "golden_keras.h"
#include "tests/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a recorder of calls ---- */

static void record(keras_callbacks *k, const char *what, bool numbered, const hr_callback_call *call)
{
    if (k->calls == KERAS_CALLS) return;
    char *text = k->call[k->calls++];
    size_t n = (size_t)snprintf(text, sizeof k->call[0], "on_%s", what);
    if (numbered) n += (size_t)snprintf(text + n, sizeof k->call[0] - n, " %lld", (long long)call->number);
    for (int i = 0; i < hr_logs_count(call->logs); i++)
        n += (size_t)snprintf(text + n, sizeof k->call[0] - n, "%c%s", i ? ',' : ' ', hr_logs_key(call->logs, i));
}

#define RECORD(moment, numbered)                                                                                       \
    static hr_status record_##moment(void *state, const hr_callback_call *call, hr_error *err)                         \
    {                                                                                                                  \
        (void)err;                                                                                                     \
        record(state, #moment, numbered, call);                                                                        \
        return HR_OK;                                                                                                  \
    }
RECORD(train_begin, false)
RECORD(train_end, false)
RECORD(epoch_begin, true)
RECORD(epoch_end, true)
RECORD(train_batch_begin, true)
RECORD(train_batch_end, true)
RECORD(test_begin, false)
RECORD(test_end, false)
RECORD(test_batch_begin, true)
RECORD(test_batch_end, true)

static hr_callback *recorder(keras_callbacks *k)
{
    return hr_lambda_callback(.train_begin = record_train_begin, .train_end = record_train_end,
                              .epoch_begin = record_epoch_begin, .epoch_end = record_epoch_end,
                              .batch_begin = record_train_batch_begin, .batch_end = record_train_batch_end,
                              .test_begin = record_test_begin, .test_end = record_test_end,
                              .test_batch_begin = record_test_batch_begin, .test_batch_end = record_test_batch_end,
                              .user = k);
}

/* ---- the callbacks ---- */

static hr_monitor_mode mode_of(const cJSON *json)
{
    const char *mode = golden_text(json, "mode", "auto");
    return strcmp(mode, "min") == 0 ? HR_MIN_MODE : strcmp(mode, "max") == 0 ? HR_MAX_MODE : HR_AUTO_MODE;
}

static double number(const cJSON *json, const char *key, double fallback)
{
    const cJSON *item = golden_get(json, key);
    return item ? golden_number_double(item) : fallback;
}

/* restore_best_weights means in Keras 2, whose cases these are, that it is done if the training is stopped. */
static hr_callback *early_stopping(keras_callbacks *k, const cJSON *json)
{
    const cJSON *baseline = golden_get(json, "baseline");
    const double base = baseline ? golden_number_double(baseline) : 0;
    return hr_early_stopping(golden_text(json, "monitor", NULL), .min_delta = number(json, "min_delta", 0),
                             .patience = golden_int(json, "patience", 0), .mode = mode_of(json),
                             .baseline = baseline ? &base : NULL,
                             .restore_best_weights = golden_bool(json, "restore_best_weights", false),
                             .only_if_stopped = true, .start_from_epoch = golden_int(json, "start_from_epoch", 0),
                             .best_epoch = &k->best_epoch, .stopped_epoch = &k->stopped_epoch);
}

static hr_callback *plateau(const cJSON *json)
{
    const double factor = number(json, "factor", 0.1), min_delta = number(json, "min_delta", 1e-4);
    const int64_t patience = golden_int(json, "patience", 10);
    return hr_reduce_lr_on_plateau(golden_text(json, "monitor", NULL), .factor = &factor, .patience = &patience,
                                   .min_delta = &min_delta, .mode = mode_of(json),
                                   .cooldown = golden_int(json, "cooldown", 0), .min_lr = number(json, "min_lr", 0));
}

static double scheduled(int64_t epoch, double rate, void *user)
{
    const keras_callbacks *k = user;
    return k->by_epoch ? golden_number_double(cJSON_GetArrayItem(k->by_epoch, (int)epoch)) : rate * k->factor;
}

static hr_callback *csv_logger(keras_callbacks *k, const cJSON *json)
{
    k->separator = *golden_text(json, "separator", ",");
    (void)snprintf(k->csv, sizeof k->csv, "run/%s", golden_text(json, "filename", ""));
    return hr_csv_logger(k->csv, .separator = k->separator, .append = golden_bool(json, "append", false));
}

static hr_callback *checkpoint(const cJSON *json)
{
    char path[256];
    const cJSON *first = golden_get(json, "initial_value_threshold");
    const double threshold = first ? golden_number_double(first) : 0;
    (void)golden_bool(json, "save_weights_only", false); /* there is nothing else */
    (void)snprintf(path, sizeof path, "run/%s", golden_text(json, "filepath", ""));
    return hr_model_checkpoint(path, .monitor = golden_text(json, "monitor", NULL),
                               .save_best_only = golden_bool(json, "save_best_only", false), .mode = mode_of(json),
                               .save_freq = cJSON_IsNumber(golden_get(json, "save_freq"))
                                                ? golden_number_int64(golden_get(json, "save_freq"))
                                                : 0,
                               .initial_value_threshold = first ? &threshold : NULL);
}

static hr_callback *callback_of(golden_case *c, keras_callbacks *k, const cJSON *json)
{
    const char *class = golden_text(json, "class", "");
    if (strcmp(class, "Recorder") == 0) return recorder(k);
    if (strcmp(class, "EarlyStopping") == 0) return early_stopping(k, json);
    if (strcmp(class, "ReduceLROnPlateau") == 0) return plateau(json);
    if (strcmp(class, "CSVLogger") == 0) return csv_logger(k, json);
    if (strcmp(class, "ModelCheckpoint") == 0) return checkpoint(json);
    if (strcmp(class, "TerminateOnNaN") == 0) return hr_terminate_on_nan();
    if (strcmp(class, "LearningRateScheduler") == 0) {
        k->by_epoch = golden_get(json, "by_epoch");
        k->factor = number(json, "factor", 1);
        return hr_learning_rate_scheduler(scheduled, k);
    }
    (void)golden_not_built(c, "callback %s", class);
    return NULL;
}

bool keras_read_callbacks(golden_case *c, const cJSON *fit, keras_callbacks *k)
{
    const cJSON *item;
    memset(k, 0, sizeof *k);
    remove_folder("run");
    cJSON_ArrayForEach(item, golden_get(fit, "callbacks"))
    {
        hr_callback *one = k->count < KERAS_CALLBACKS ? callback_of(c, k, item) : NULL;
        if (!one) {
            while (k->count > 0) hr_callback_free(k->callback[--k->count]);
            return false;
        }
        k->callback[k->count++] = one;
    }
    return true;
}

/* ---- what they leave ---- */

static golden_result compare_calls(golden_case *c, const keras_callbacks *k, const cJSON *json)
{
    int i = 0;
    const cJSON *item;
    if (!json) return GOLDEN_AGREES;
    cJSON_ArrayForEach(item, json)
    {
        if (i == k->calls) return golden_differs(c, "%d calls, the next is %s", i, item->valuestring);
        if (strcmp(item->valuestring, k->call[i++]) != 0)
            return golden_differs(c, "call %d is '%s', not '%s'", i - 1, k->call[i - 1], item->valuestring);
    }
    return i == k->calls ? GOLDEN_AGREES : golden_differs(c, "%d calls, not %d", k->calls, i);
}

/* One field of both texts, up to the separator or the end of a line. Numbers have the case's tolerance. */
static bool same_field(golden_case *c, const char *expected, size_t n, const char *found, size_t m)
{
    char *end_a, *end_b;
    const float a = strtof(expected, &end_a), b = strtof(found, &end_b);
    if (end_a != expected + n || end_b != found + m) return n == m && memcmp(expected, found, n) == 0;
    const hr_tensor x = hr_tensor_of(HR_FLOAT, HR_SCALAR, &a), y = hr_tensor_of(HR_FLOAT, HR_SCALAR, &b);
    const cJSON *tolerance = golden_get(c->json, "tolerance");
    return golden_equal(c, "csv", &x, &y, number(tolerance, "rtol", 0), number(tolerance, "atol", 0));
}

static golden_result compare_csv(golden_case *c, const keras_callbacks *k, const cJSON *json)
{
    size_t size;
    const char ends[] = {k->separator, '\r', '\0'};
    if (!json) return GOLDEN_AGREES;
    char *text = read_whole_file(k->csv, &size);
    const char *p = json->valuestring, *q = text, *stop = text + size;
    bool same = true;
    while (same && *p && q < stop) {
        const size_t n = strcspn(p, ends);
        size_t m = 0;
        while (q + m < stop && q[m] != k->separator && q[m] != '\r') m++;
        same = same_field(c, p, n, q, m) && q + m < stop && p[n] == q[m];
        p += n + 1;
        q += m + 1;
        if (same && p[-1] == '\r') same = q < stop && *p++ == '\n' && *q++ == '\n';
    }
    same = same && *p == '\0' && q == stop;
    const golden_result result = same ? GOLDEN_AGREES : golden_differs(c, "csv: %.*s", (int)size, text);
    free(text);
    return result;
}

static golden_result compare_saved(golden_case *c, const cJSON *json)
{
    const cJSON *item;
    if (!json) return GOLDEN_AGREES;
    cJSON_ArrayForEach(item, json)
    {
        char path[256];
        (void)snprintf(path, sizeof path, "run/%s.index", item->valuestring);
        if (access(path, F_OK) != 0) return golden_differs(c, "there is no %s", path);
    }
    /* Of each two files, and the one that names the newest. */
    const int expected = 2 * cJSON_GetArraySize(json) + 1, found = files_in("run", true);
    return found == expected ? GOLDEN_AGREES : golden_differs(c, "%d files, not %d", found, expected);
}

golden_result keras_compare_callbacks(golden_case *c, const keras_callbacks *k, const cJSON *expect)
{
    const cJSON *best = golden_get(expect, "best_epoch"), *stopped = golden_get(expect, "stopped_epoch");
    if (best && golden_number_int64(best) != k->best_epoch)
        return golden_differs(c, "the best epoch is %lld", (long long)k->best_epoch);
    if (stopped && golden_number_int64(stopped) != k->stopped_epoch)
        return golden_differs(c, "stopped in epoch %lld", (long long)k->stopped_epoch);
    golden_result result = compare_calls(c, k, golden_get(expect, "calls"));
    if (result == GOLDEN_AGREES) result = compare_csv(c, k, golden_get(expect, "csv"));
    if (result == GOLDEN_AGREES) result = compare_saved(c, golden_get(expect, "saved"));
    return result;
}
