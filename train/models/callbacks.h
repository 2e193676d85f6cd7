/* Headrace, callbacks: what happens around the epochs and batches of a model's training. Keras's callbacks, and the kit
 * for new ones: a callback is one file that ends with its descriptor and its constructor. Part of models.h.
 *
 * The order of calls is Keras's:
 *
 *     train_begin
 *       epoch_begin(e)
 *         train_batch_begin(b), train_batch_end(b, logs)      for each batch
 *         test_begin, test_batch_begin(b), test_batch_end(b, logs), test_end(logs)   where there is validation
 *       epoch_end(e, logs)                                      val_ keys are in it
 *     train_end(logs)
 */
#ifndef HR_CALLBACKS_H
#define HR_CALLBACKS_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_model hr_model;
typedef struct hr_callback hr_callback;

/* ---- logs: numbers by name ---- */

typedef struct hr_logs hr_logs;
HR_API int hr_logs_count(const hr_logs *logs);                   /* NULL: 0 */
HR_API const char *hr_logs_key(const hr_logs *logs, int i);      /* from 0 on; NULL: there is none. Borrows */
HR_API double hr_logs_value(const hr_logs *logs, int i);         /* NaN: there is none */
HR_API double hr_logs_get(const hr_logs *logs, const char *key); /* NaN: there is none */
HR_API bool hr_logs_has(const hr_logs *logs, const char *key);   /* whether there is a number of that name */
/* Sets a number, at the end if it is new: what one callback sets, those after it and the history see. */
HR_API hr_status hr_logs_set(hr_logs *logs, const char *key, double value, hr_error *err);

/* ---- the kit ---- */

/* The version of this kit. */
enum { HR_CALLBACK_ABI = 1 };

/* One call: where the training is. */
typedef struct hr_callback_call {
    hr_model *model;
    int64_t number;        /* of the epoch or the batch, from 0 */
    hr_logs *logs;         /* NULL where there are none */
    int64_t epochs, steps; /* of the training: the epoch to end before; batches of an epoch, -1: not known yet */
    int64_t epoch;         /* the one that is under way */
} hr_callback_call;
typedef hr_status hr_callback_fn(void *state, const hr_callback_call *call, hr_error *err);

/* A kind of callback. Any function may be NULL. A failure ends the call of the model with this error. */
typedef struct hr_callback_kind {
    struct {
        uint32_t abi_version, struct_size;
    } head; /* HR_CALLBACK_HEAD */
    const char *name;
    size_t state_size;
    void (*release)(void *state); /* frees what the state owns, not the state itself */
    hr_callback_fn *train_begin, *train_end, *epoch_begin, *epoch_end, *train_batch_begin, *train_batch_end;
    hr_callback_fn *test_begin, *test_end, *test_batch_begin, *test_batch_end;
    hr_callback_fn *predict_begin, *predict_end, *predict_batch_begin, *predict_batch_end;
} hr_callback_kind;

#define HR_CALLBACK_HEAD                                                                                               \
    {                                                                                                                  \
        HR_CALLBACK_ABI, sizeof(hr_callback_kind)                                                                      \
    }

/* Gives a callback with a copy of `state`; the kind's release later frees what the state owns. Borrows `kind` for ever.
 * Never NULL: one that could not be made fails at its first call. `refused`: an error of its arguments, NULL if there
 * is none, which then is the first call's. */
HR_API hr_callback *hr_callback_new(const hr_callback_kind *kind, const void *state, const hr_error *refused);
HR_API hr_callback *hr_callback_ref(hr_callback *callback); /* gives a second reference: for another training */
HR_API void hr_callback_free(hr_callback *callback);        /* drops one. NULL: nothing */

/* ---- stock callbacks: Keras's, with its defaults ---- */

/* Whether a greater or a smaller number is better. HR_AUTO_MODE: by the name of what is monitored. */
typedef enum hr_monitor_mode { HR_AUTO_MODE, HR_MIN_MODE, HR_MAX_MODE } hr_monitor_mode;

/* TerminateOnNaN: the training ends after a batch whose loss is no finite number. */
HR_API hr_callback *hr_terminate_on_nan(void);

#ifdef __cplusplus
}
#endif
#endif
