/* CSVLogger: a row of a file for each epoch, as Python's csv module writes it. A row is in the file whole or not at all,
 * so after a full disk the file still ends with the row before. */
#include "base/number.h"
#include "io/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <headrace/io.h>
#include <headrace/models.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct csv_text {
    char *at;
    size_t size, capacity;
} csv_text;

typedef struct csv_logger {
    char *path;
    char separator;
    bool append;
    /* Of the training that is under way. */
    int file;    /* -1: not open */
    int64_t end; /* where its next row begins; -1: it is a pipe or a device */
    bool begun;  /* its keys are known */
    char **keys;
    int count;
    csv_text row;
} csv_logger;

/* ---- texts ---- */

static hr_status csv_add(csv_text *t, const char *text, size_t size, hr_error *err)
{
    if (size > t->capacity - t->size) {
        const size_t capacity = 2 * (t->size + size) + 256;
        char *grown = hr_realloc(t->at, capacity);
        if (!grown) return hr_no_memory(err, "a row");
        t->at = grown;
        t->capacity = capacity;
    }
    memcpy(t->at + t->size, text, size);
    t->size += size;
    return HR_OK;
}

/* In quotes where a reader needs them. */
static hr_status csv_add_field(csv_logger *c, const char *text, hr_error *err)
{
    csv_text *t = &c->row;
    const char special[] = {c->separator, '"', '\r', '\n', '\0'};
    if (t->size) HR_TRY(csv_add(t, &c->separator, 1, err));
    if (text[strcspn(text, special)] == '\0') return csv_add(t, text, strlen(text), err);
    HR_TRY(csv_add(t, "\"", 1, err));
    for (const char *p = text; *p; p++) HR_TRY(csv_add(t, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1, err));
    return csv_add(t, "\"", 1, err);
}

/* As Python shows it: 3.0 and not 3. The rate of learning is a float32 in Keras. */
static hr_status csv_add_number(csv_logger *c, const char *key, double value, hr_error *err)
{
    char text[HR__NUMBER_TEXT + 2];
    const int n = strcmp(key, "lr") == 0 ? hr__format_float((float)value, text) : hr__format_double(value, text);
    if (isfinite(value) && !strpbrk(text, ".e")) memcpy(text + n, ".0", 3);
    return csv_add_field(c, text, err);
}

/* ---- keys ---- */

static void csv_forget_keys(csv_logger *c)
{
    for (int i = 0; i < c->count; i++) hr_free(c->keys[i]);
    hr_free(c->keys);
    c->keys = NULL;
    c->count = 0;
}

static int csv_by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static hr_status csv_add_key(csv_logger *c, const char *prefix, const char *key, hr_error *err)
{
    const size_t n = strlen(prefix), size = strlen(key) + 1;
    char *text = hr_malloc(n + size);
    if (!text) return hr_no_memory(err, "a key");
    memcpy(text, prefix, n);
    memcpy(text + n, key, size);
    c->keys[c->count++] = text;
    return HR_OK;
}

/* Those of the first epoch; without a validation in it, those of one to come. */
static hr_status csv_take_keys(csv_logger *c, const hr_logs *logs, hr_error *err)
{
    const int count = hr_logs_count(logs);
    bool validated = false;
    c->keys = hr_calloc(2 * (size_t)count + 1, sizeof *c->keys);
    if (!c->keys) return hr_no_memory(err, "keys");
    for (int i = 0; i < count; i++) {
        validated |= strncmp(hr_logs_key(logs, i), "val_", 4) == 0;
        HR_TRY(csv_add_key(c, "", hr_logs_key(logs, i), err));
    }
    qsort(c->keys, (size_t)count, sizeof *c->keys, csv_by_text);
    for (int i = 0; i < count && !validated; i++) HR_TRY(csv_add_key(c, "val_", c->keys[i], err));
    return HR_OK;
}

/* ---- the file ---- */

/* Writes the row. After a failure the file is as it was. */
static hr_status csv_write(csv_logger *c, hr_error *err)
{
    HR_TRY(csv_add(&c->row, "\r\n", 2, err));
    if (hr__write_all(c->file, c->row.at, c->row.size)) {
        if (c->end >= 0) c->end += (int64_t)c->row.size;
        return HR_OK;
    }
    const int number = errno;
    if (c->end >= 0) (void)hr__sys_get()->ftruncate(c->file, (off_t)c->end);
    return hr__sys_fail(err, number, "file.write", c->path, "written");
}

static void csv_close(csv_logger *c)
{
    if (c->file >= 0) (void)hr__sys_get()->close(c->file);
    c->file = -1;
    csv_forget_keys(c);
}

static hr_status csv_train_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    csv_logger *c = state;
    (void)call;
    csv_close(c);
    c->begun = false;
    HR_TRY(hr_make_folders_above(c->path, err));
    c->file = hr__open(c->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (c->file < 0) return hr__sys_fail(err, errno, "file.open", c->path, "opened");
    c->end = lseek(c->file, 0, SEEK_END);
    return HR_OK;
}

/* The row of names, unless it is there. */
static hr_status csv_begin(csv_logger *c, const hr_logs *logs, hr_error *err)
{
    HR_TRY(csv_take_keys(c, logs, err));
    c->begun = true;
    if (c->append && c->end > 0) return HR_OK;
    if (c->end > 0 && hr__sys_get()->ftruncate(c->file, 0) != 0)
        return hr__sys_fail(err, errno, "file.write", c->path, "written");
    if (c->end > 0) c->end = 0;
    c->row.size = 0;
    HR_TRY(csv_add_field(c, "epoch", err));
    for (int i = 0; i < c->count; i++) HR_TRY(csv_add_field(c, c->keys[i], err));
    return csv_write(c, err);
}

static hr_status csv_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    csv_logger *c = state;
    char epoch[HR__NUMBER_TEXT];
    if (!c->begun) HR_TRY(csv_begin(c, call->logs, err));
    c->row.size = 0;
    (void)snprintf(epoch, sizeof epoch, "%lld", (long long)call->number);
    HR_TRY(csv_add_field(c, epoch, err));
    for (int i = 0; i < c->count; i++) {
        const char *key = c->keys[i];
        HR_TRY(hr_logs_has(call->logs, key) ? csv_add_number(c, key, hr_logs_get(call->logs, key), err)
                                            : csv_add_field(c, "NA", err));
    }
    return csv_write(c, err);
}

/* ---- a training that goes on later ---- */

static hr_status csv_save(void *state, hr_bundle_writer *to, const char *prefix, hr_error *err)
{
    const csv_logger *c = state;
    char name[256];
    if (!c->begun) return HR_OK;
    const hr_tensor end = hr_tensor_of(HR_INT64, HR_SHAPE(1), &c->end);
    (void)snprintf(name, sizeof name, "%s/end", prefix);
    HR_TRY(hr_bundle_add(to, name, &end, err));
    hr_view *views = hr_calloc((size_t)c->count + 1, sizeof *views);
    if (!views) return hr_no_memory(err, "keys");
    for (int i = 0; i < c->count; i++) views[i] = (hr_view){c->keys[i], (int64_t)strlen(c->keys[i])};
    const hr_tensor keys = hr_tensor_of(HR_STRING, HR_SHAPE(c->count), views);
    (void)snprintf(name, sizeof name, "%s/keys", prefix);
    const hr_status st = hr_bundle_add(to, name, &keys, err);
    hr_free(views);
    return st;
}

static hr_status csv_read_keys(csv_logger *c, const hr_tensor *keys, hr_error *err)
{
    if (keys->dtype != HR_STRING || keys->count > INT32_MAX)
        return hr_fail(err, HR_FAILED_PRECONDITION, "models.training", "csv_logger: expected keys in the checkpoint");
    c->keys = hr_calloc((size_t)keys->count + 1, sizeof *c->keys);
    if (!c->keys) return hr_no_memory(err, "keys");
    for (; c->count < keys->count; c->count++) {
        const hr_view key = ((const hr_view *)keys->data)[c->count];
        char *text = hr_calloc(1, (size_t)key.size + 1);
        if (!text) return hr_no_memory(err, "a key");
        if (key.size) memcpy(text, key.data, (size_t)key.size);
        c->keys[c->count] = text;
    }
    return HR_OK;
}

/* Rows that were written after the checkpoint go: they will be written again. */
static hr_status csv_restore(void *state, hr_bundle *from, const char *prefix, hr_error *err)
{
    csv_logger *c = state;
    char name[256];
    hr_tensor keys, end;
    csv_forget_keys(c);
    (void)snprintf(name, sizeof name, "%s/keys", prefix);
    HR_TRY(hr_bundle_read(from, name, &keys, err));
    const hr_status st = csv_read_keys(c, &keys, err);
    hr_tensor_clear(&keys);
    HR_TRY(st);
    (void)snprintf(name, sizeof name, "%s/end", prefix);
    HR_TRY(hr_bundle_read(from, name, &end, err));
    const int64_t size = end.dtype == HR_INT64 && end.count == 1 ? *(const int64_t *)end.data : -1;
    hr_tensor_clear(&end);
    c->begun = true;
    if (size < 0 || c->end <= size) return HR_OK;
    if (hr__sys_get()->ftruncate(c->file, (off_t)size) != 0)
        return hr__sys_fail(err, errno, "file.write", c->path, "written");
    c->end = size;
    return HR_OK;
}

static hr_status csv_train_end(void *state, const hr_callback_call *call, hr_error *err)
{
    (void)err;
    if (!call->interrupted) csv_close(state); /* a callback after this one may save the training */
    return HR_OK;
}

static void csv_release(void *state)
{
    csv_logger *c = state;
    csv_close(c);
    hr_free(c->row.at);
    hr_free(c->path);
}

static const hr_callback_kind csv_logger_kind = {
    .head = HR_CALLBACK_HEAD,
    .name = "csv_logger",
    .state_size = sizeof(csv_logger),
    .release = csv_release,
    .train_begin = csv_train_begin,
    .epoch_end = csv_epoch_end,
    .train_end = csv_train_end,
    .save = csv_save,
    .restore = csv_restore,
};

hr_callback *hr_csv_logger_with(const char *path, const hr_csv_logger_opts *opts)
{
    const hr_csv_logger_opts o = HR_OPTIONS(hr_csv_logger_opts, opts);
    const csv_logger c = {
        .path = hr_strdup(path), .separator = o.separator ? o.separator : ',', .append = o.append, .file = -1};
    hr_error refused = {0};
    if (path && !c.path) (void)hr_no_memory(&refused, "a path");
    if (!path || !*path)
        (void)hr_fail(&refused, HR_INVALID_ARGUMENT, "models.argument", "csv_logger: expected a path, got %s",
                      path ? "\"\"" : "NULL");
    else if (strchr("\"\r\n", c.separator))
        (void)hr_fail(&refused, HR_INVALID_ARGUMENT, "models.argument",
                      "csv_logger: separator: expected no quote and no end of a line, got %s",
                      c.separator == '"'    ? "'\"'"
                      : c.separator == '\r' ? "'\\r'"
                                            : "'\\n'");
    return hr_callback_new(&csv_logger_kind, &c, &refused);
}
