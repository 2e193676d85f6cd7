/* TensorBoard: event files with the logs of epochs and batches, histograms of the weights and the graph, under the tags and
 * in the form of Keras 2.15. */
#include "train/models/callbacks/rate.h"

#include <headrace/graphdef.h>
#include <headrace/summary.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BOARD_TAG = 512 };

typedef struct board {
    char *folder;
    int64_t histogram_freq, batches_apart; /* 0: no batches */
    bool no_graph, rates;
    /* Of the training that is under way. */
    hr_event_writer *train, *validation; /* NULL: nothing was written to it yet */
    int64_t steps, steps_before;         /* batches; before this epoch */
    double epoch_began, batch_began;
    bool drawn; /* the graph was written */
} board;

static double board_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- writing ---- */

static hr_status board_writer(board *b, bool validation, hr_event_writer **out, hr_error *err)
{
    hr_event_writer **kept = validation ? &b->validation : &b->train;
    const char *name = validation ? "/validation" : "/train";
    hr_status st = HR_OK;
    if (!*kept) {
        const hr_event_writer_opts o = {.struct_size = sizeof o, .filename_suffix = ".v2"};
        char *path = hr_malloc(strlen(b->folder) + strlen(name) + 1);
        if (!path) return hr_no_memory(err, "a folder");
        (void)sprintf(path, "%s%s", b->folder, name);
        st = hr_event_writer_open_with(path, &o, kept, err);
        hr_free(path);
    }
    *out = *kept;
    return st;
}

/* A scalar as TensorFlow 2 writes it: a tensor of the plugin "scalars". */
static hr_status board_scalar(board *b, bool validation, const char *tag, double value, int64_t step, hr_error *err)
{
    const float number = (float)value;
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SCALAR, &number);
    hr_event_writer *w = NULL;
    char *tensor = NULL, *metadata = NULL, *summary = NULL;
    size_t tensor_size = 0, metadata_size = 0, size = 0;
    HR_TRY(board_writer(b, validation, &w, err));
    hr_status st = hr_tensor_export(&t, &tensor, &tensor_size, err);
    if (st == HR_OK) st = hr_summary_metadata("scalars", NULL, NULL, 1, &metadata, &metadata_size, err);
    if (st == HR_OK)
        st = hr_summary_tensor((hr_view){tag, (int64_t)strlen(tag)}, (hr_view){tensor, (int64_t)tensor_size},
                               (hr_view){metadata, (int64_t)metadata_size}, &summary, &size, err);
    if (st == HR_OK) st = hr_event_summary_bytes(w, (hr_view){summary, (int64_t)size}, step, err);
    hr_free(tensor);
    hr_free(metadata);
    hr_free(summary);
    return st;
}

static hr_status board_flush(const board *b, hr_error *err)
{
    if (b->train) HR_TRY(hr_event_writer_flush(b->train, err));
    return b->validation ? hr_event_writer_flush(b->validation, err) : HR_OK;
}

static void board_close(board *b)
{
    hr_event_writer_free(b->train);
    hr_event_writer_free(b->validation);
    b->train = b->validation = NULL;
}

/* ---- weights and the graph ---- */

static hr_status board_histogram(board *b, const char *name, const hr_tensor *weight, int64_t step, hr_error *err)
{
    char tag[BOARD_TAG], *bytes = NULL;
    size_t size = 0;
    hr_event_writer *w = NULL;
    if (weight->dtype != HR_FLOAT) return HR_OK;
    double *values = hr_calloc((size_t)weight->count + 1, sizeof *values);
    bool finite = true;
    if (!values) return hr_no_memory(err, "a histogram");
    for (int64_t i = 0; i < weight->count; i++) {
        values[i] = (double)((const float *)weight->data)[i];
        finite &= isfinite(values[i]) != 0;
    }
    (void)snprintf(tag, sizeof tag, "%.480s_0/histogram", name);
    hr_status st = board_writer(b, false, &w, err);
    if (!finite)
        hr_log_message(HR_WARNING, "tensor_board: '%s' has values that are no finite numbers: no histogram", name);
    else if (st == HR_OK)
        st =
            hr_summary_histogram_v2((hr_view){tag, (int64_t)strlen(tag)}, values, weight->count, 0, &bytes, &size, err);
    if (st == HR_OK && bytes) st = hr_event_summary_bytes(w, (hr_view){bytes, (int64_t)size}, step, err);
    hr_free(bytes);
    hr_free(values);
    return st;
}

static hr_status board_weights(board *b, hr_model *m, int64_t step, hr_error *err)
{
    for (int i = 0; i < hr_model_weights(m); i++) {
        hr_tensor weight;
        HR_TRY(hr_get_weight(m, i, &weight, err));
        const hr_status st = board_histogram(b, hr_model_weight(m, i).name, &weight, step, err);
        hr_tensor_clear(&weight);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_status board_graph(board *b, hr_model *m, hr_error *err)
{
    char *bytes;
    size_t size = 0;
    hr_event_writer *w = NULL;
    b->drawn = true;
    HR_TRY(board_writer(b, false, &w, err));
    HR_TRY(hr_graph_export(hr_model_graph(m), &bytes, &size, err));
    const hr_status st = hr_event_graph(w, (hr_view){bytes, (int64_t)size}, err);
    hr_free(bytes);
    return st;
}

/* ---- calls ---- */

static hr_status board_train_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    board *b = state;
    (void)call, (void)err;
    board_close(b);
    b->steps = b->steps_before = 0;
    b->drawn = b->no_graph;
    return HR_OK;
}

static hr_status board_epoch_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    board *b = state;
    (void)call, (void)err;
    b->steps_before = b->steps;
    b->epoch_began = board_now();
    return HR_OK;
}

static hr_status board_batch_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    board *b = state;
    (void)call, (void)err;
    if (b->rates) b->batch_began = board_now();
    return HR_OK;
}

static hr_status board_batch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    board *b = state;
    char tag[BOARD_TAG];
    b->steps++;
    if (!b->drawn) HR_TRY(board_graph(b, call->model, err));
    if (b->batches_apart == 0 || b->steps % b->batches_apart != 0) return HR_OK;
    if (b->rates)
        HR_TRY(board_scalar(b, false, "batch_steps_per_second", 1 / (board_now() - b->batch_began), b->steps, err));
    for (int i = 0; i < hr_logs_count(call->logs); i++) {
        (void)snprintf(tag, sizeof tag, "batch_%.480s", hr_logs_key(call->logs, i));
        HR_TRY(board_scalar(b, false, tag, hr_logs_value(call->logs, i), b->steps, err));
    }
    return HR_OK;
}

static hr_status board_logs(board *b, const hr_callback_call *call, hr_error *err)
{
    char tag[BOARD_TAG];
    for (int i = 0; i < hr_logs_count(call->logs); i++) {
        const char *key = hr_logs_key(call->logs, i);
        const bool validation = strncmp(key, "val_", 4) == 0;
        (void)snprintf(tag, sizeof tag, "epoch_%.480s", validation ? key + 4 : key);
        HR_TRY(board_scalar(b, validation, tag, hr_logs_value(call->logs, i), call->number, err));
    }
    return HR_OK;
}

static hr_status board_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    board *b = state;
    double rate;
    HR_TRY(board_logs(b, call, err));
    if (rate_is_scheduled(call->model)) {
        HR_TRY(rate_get(call->model, &rate, err));
        HR_TRY(board_scalar(b, false, "epoch_learning_rate", rate, call->number, err));
    }
    if (b->rates) {
        const double steps = (double)(b->steps - b->steps_before);
        HR_TRY(board_scalar(b, false, "epoch_steps_per_second", steps / (board_now() - b->epoch_began), call->number,
                            err));
    }
    if (b->histogram_freq > 0 && call->number % b->histogram_freq == 0)
        HR_TRY(board_weights(b, call->model, call->number, err));
    return board_flush(b, err);
}

/* Within a training and without one. */
static hr_status board_test_end(void *state, const hr_callback_call *call, hr_error *err)
{
    board *b = state;
    char tag[BOARD_TAG];
    int64_t iterations;
    const hr_status st = hr_model_iterations(call->model, &iterations);
    if (st != HR_OK) return rate_failed(call->model, st, err);
    for (int i = 0; i < hr_logs_count(call->logs); i++) {
        (void)snprintf(tag, sizeof tag, "evaluation_%.480s_vs_iterations", hr_logs_key(call->logs, i));
        HR_TRY(board_scalar(b, true, tag, hr_logs_value(call->logs, i), iterations, err));
    }
    return board_flush(b, err);
}

static hr_status board_train_end(void *state, const hr_callback_call *call, hr_error *err)
{
    board *b = state;
    (void)call;
    const hr_status st = board_flush(b, err);
    board_close(b);
    return st;
}

static void board_release(void *state)
{
    board *b = state;
    board_close(b);
    hr_free(b->folder);
}

/* ---- a training that goes on later ---- */

static hr_status board_save(void *state, hr_bundle_writer *to, const char *prefix, hr_error *err)
{
    const board *b = state;
    char name[256];
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(1), &b->steps);
    (void)snprintf(name, sizeof name, "%s/steps", prefix);
    return hr_bundle_add(to, name, &t, err);
}

static hr_status board_restore(void *state, hr_bundle *from, const char *prefix, hr_error *err)
{
    board *b = state;
    char name[256];
    hr_tensor t;
    (void)snprintf(name, sizeof name, "%s/steps", prefix);
    HR_TRY(hr_bundle_read(from, name, &t, err));
    if (t.dtype == HR_INT64 && t.count == 1) b->steps = *(const int64_t *)t.data;
    hr_tensor_clear(&t);
    return HR_OK;
}

static const hr_callback_kind tensor_board_kind = {
    .head = HR_CALLBACK_HEAD,
    .name = "tensor_board",
    .state_size = sizeof(board),
    .release = board_release,
    .train_begin = board_train_begin,
    .epoch_begin = board_epoch_begin,
    .train_batch_begin = board_batch_begin,
    .train_batch_end = board_batch_end,
    .epoch_end = board_epoch_end,
    .train_end = board_train_end,
    .test_end = board_test_end,
    .save = board_save,
    .restore = board_restore,
};

hr_callback *hr_tensor_board_with(const char *folder, const hr_tensor_board_opts *opts)
{
    const hr_tensor_board_opts o = HR_OPTIONS(hr_tensor_board_opts, opts);
    const board b = {.folder = hr_strdup(folder ? folder : "logs"),
                     .histogram_freq = o.histogram_freq,
                     .batches_apart = o.update_freq,
                     .no_graph = o.no_graph,
                     .rates = o.write_steps_per_second};
    hr_error refused = {0};
    if (!b.folder) (void)hr_no_memory(&refused, "a folder");
    if ((folder && !*folder) || o.histogram_freq < 0 || o.update_freq < 0)
        (void)hr_fail(&refused, HR_INVALID_ARGUMENT, "models.argument",
                      "tensor_board: expected a folder, and a histogram_freq and an update_freq of 0 or more, got "
                      "'%.100s', %lld and %lld",
                      folder ? folder : "", (long long)o.histogram_freq, (long long)o.update_freq);
    return hr_callback_new(&tensor_board_kind, &b, &refused);
}
