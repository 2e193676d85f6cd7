/* A callback: its kind, and a state of its own. */
#include "base/constructor.h"
#include "base/descriptor.h"
#include "train/models/models_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct hr_callback {
    atomic_int refs;
    const hr_callback_kind *kind;
    hr_callback_kind own_kind;
    void *state;
    hr_error refused; /* code HR_OK: it is sound */
};

static const hr__descriptor_kind callback_kinds = {
    .what = "callback",
    .status = HR_FAILED_PRECONDITION,
    .error = "models.callback_abi",
    .version = HR_CALLBACK_ABI,
    .size = sizeof(hr_callback_kind),
    .min_size = offsetof(hr_callback_kind, train_begin),
};

/* What stands in for a callback that there is no memory for. */
static hr_callback lost = {.refused = HR__NO_MEMORY_FOR("a callback")};

/* What the state owns is freed with it, also where the callback cannot be made. */
static hr_callback *callback_lost(const hr_callback_kind *kind, const void *state)
{
    if (kind->release && state) kind->release((void *)state);
    return &lost;
}

hr_callback *hr_callback_new(const hr_callback_kind *kind, const void *state, const hr_error *refused)
{
    hr_callback_kind own = {0};
    hr_error misfit = {0};
    const void *fits = NULL;
    const bool fit = hr__descriptor_fit(&callback_kinds, kind, &own, &fits, &misfit) == HR_OK;
    hr_callback *c = hr_calloc(1, sizeof *c);
    if (!c) return fit ? callback_lost(fits, state) : &lost;
    atomic_init(&c->refs, 1);
    c->refused = !fit ? misfit : refused ? *refused : (hr_error){0};
    if (!fit) return c;
    c->own_kind = own;
    c->kind = fits == &own ? &c->own_kind : fits;
    if (c->kind->state_size == 0) return c;
    if (!state && c->refused.code == HR_OK)
        (void)hr_fail(&c->refused, HR_INVALID_ARGUMENT, "models.argument",
                      "callback '%.60s': expected a state of %zu bytes, got NULL", c->kind->name ? c->kind->name : "",
                      c->kind->state_size);
    if (!state) return c;
    c->state = hr_memdup(state, c->kind->state_size);
    if (c->state) return c;
    hr_free(c);
    return callback_lost(fits, state);
}

hr_callback *hr_callback_ref(hr_callback *callback)
{
    if (callback && callback != &lost) atomic_fetch_add(&callback->refs, 1);
    return callback;
}

void hr_callback_free(hr_callback *callback)
{
    if (!callback || callback == &lost || atomic_fetch_sub(&callback->refs, 1) > 1) return;
    if (callback->state && callback->kind->release) callback->kind->release(callback->state);
    hr_free(callback->state);
    hr_free(callback);
}

static hr_callback_fn *callback_function(const hr_callback_kind *k, hr__moment moment)
{
    hr_callback_fn *const fns[] = {
        [HR__TRAIN_BEGIN] = k->train_begin,
        [HR__TRAIN_END] = k->train_end,
        [HR__EPOCH_BEGIN] = k->epoch_begin,
        [HR__EPOCH_END] = k->epoch_end,
        [HR__TRAIN_BATCH_BEGIN] = k->train_batch_begin,
        [HR__TRAIN_BATCH_END] = k->train_batch_end,
        [HR__TEST_BEGIN] = k->test_begin,
        [HR__TEST_END] = k->test_end,
        [HR__TEST_BATCH_BEGIN] = k->test_batch_begin,
        [HR__TEST_BATCH_END] = k->test_batch_end,
        [HR__PREDICT_BEGIN] = k->predict_begin,
        [HR__PREDICT_END] = k->predict_end,
        [HR__PREDICT_BATCH_BEGIN] = k->predict_batch_begin,
        [HR__PREDICT_BATCH_END] = k->predict_batch_end,
    };
    return fns[moment];
}

hr_status hr__callbacks_call(hr_callback_list callbacks, hr__moment moment, const hr_callback_call *call, hr_error *err)
{
    for (int i = 0; i < callbacks.count; i++) {
        hr_callback *c = callbacks.callback[i];
        if (!c) return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "callbacks: expected a callback, got NULL");
        if (c->refused.code != HR_OK) {
            *err = c->refused;
            return err->code;
        }
        hr_callback_fn *fn = callback_function(c->kind, moment);
        if (!fn) continue;
        HR_TRY(hr__descriptor_answer(c->kind->name, "models.callback", fn(c->state, call, err), err));
    }
    return HR_OK;
}

/* "callbacks/2/early_stopping" */
static void saved_prefix(const hr_callback *c, int i, char out[128])
{
    (void)snprintf(out, 128, "callbacks/%d/%.80s", i, c->kind->name ? c->kind->name : "");
}

hr_status hr__callbacks_save(hr_callback_list callbacks, hr_bundle_writer *to, hr_error *err)
{
    char prefix[128];
    for (int i = 0; i < callbacks.count; i++) {
        const hr_callback *c = callbacks.callback[i];
        if (!c->kind->save) continue;
        saved_prefix(c, i, prefix);
        HR_TRY(hr__descriptor_answer(c->kind->name, "models.callback", c->kind->save(c->state, to, prefix, err), err));
    }
    return HR_OK;
}

static bool has_saved(const hr_bundle_entry *entries, int count, const char *prefix)
{
    const size_t n = strlen(prefix);
    for (int i = 0; i < count; i++)
        if (strncmp(entries[i].name, prefix, n) == 0 && entries[i].name[n] == '/') return true;
    return false;
}

hr_status hr__callbacks_restore(hr_callback_list callbacks, hr_bundle *from, hr_error *err)
{
    char prefix[128];
    const hr_bundle_entry *entries;
    int count;
    HR_TRY(hr_bundle_list(from, &entries, &count, err));
    for (int i = 0; i < callbacks.count; i++) {
        const hr_callback *c = callbacks.callback[i];
        if (!c || c->refused.code != HR_OK || !c->kind->restore) continue;
        saved_prefix(c, i, prefix);
        if (!has_saved(entries, count, prefix)) continue;
        HR_TRY(hr__descriptor_answer(c->kind->name, "models.callback", c->kind->restore(c->state, from, prefix, err),
                                     err));
    }
    return HR_OK;
}

void hr__callbacks_free(hr_callback_list callbacks)
{
    for (int i = 0; i < callbacks.count && callbacks.callback; i++) hr_callback_free(callbacks.callback[i]);
}

/* ---- numbers of a state ---- */

hr_status hr_callback_save_numbers(hr_bundle_writer *to, const char *prefix, const double *numbers, int count,
                                   hr_error *err)
{
    char name[256];
    if (!to || !prefix || !numbers || count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "callback: expected numbers to save, got none");
    const hr_tensor t = hr_tensor_of(HR_DOUBLE, HR_SHAPE(count), numbers);
    (void)snprintf(name, sizeof name, "%s/numbers", prefix);
    return hr_bundle_add(to, name, &t, err);
}

hr_status hr_callback_restore_numbers(hr_bundle *from, const char *prefix, double *numbers, int count, hr_error *err)
{
    char name[256];
    hr_tensor t;
    if (!from || !prefix || !numbers || count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "callback: expected a place of numbers, got none");
    (void)snprintf(name, sizeof name, "%s/numbers", prefix);
    HR_TRY(hr_bundle_read(from, name, &t, err));
    hr_status st = HR_OK;
    if (t.dtype == HR_DOUBLE && t.count == count)
        memcpy(numbers, t.data, (size_t)count * sizeof *numbers);
    else
        st = hr_fail(err, HR_FAILED_PRECONDITION, "models.training",
                     "'%.100s': expected %d float64 numbers in the checkpoint, got %lld of %s", name, count,
                     (long long)t.count, hr_dtype_name(t.dtype));
    hr_tensor_clear(&t);
    return st;
}
