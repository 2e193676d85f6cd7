/* Headrace, callbacks: what happens around the epochs and batches of a model's training. Keras's callbacks, and the kit
 * for new ones: a callback is one file that ends with its descriptor and its constructor. Part of models.h.
 *
 * The order of calls is Keras's: train_begin; in each epoch epoch_begin, for each batch train_batch_begin and
 * train_batch_end, then, where there is validation, test_begin, for each batch test_batch_begin and test_batch_end, and
 * test_end; epoch_end, whose logs have the val_ keys; at last train_end. */
#ifndef HR_CALLBACKS_H
#define HR_CALLBACKS_H

#include <headrace/checkpoint.h>

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
    bool tf_compat;        /* the model was compiled so: the callback does as Keras 2 does */
    bool interrupted;      /* by hr_model_interrupt: train_end comes in the middle of an epoch */
    bool resumed;          /* by hr_training_restore: epoch_begin comes in the middle of an epoch */
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
    /* What it knows of the training that is under way, for one that goes on later: `save` adds tensors whose names begin
     * with `prefix` and a slash, `restore` reads them after train_begin, and is not called where there are none. */
    hr_status (*save)(void *state, hr_bundle_writer *to, const char *prefix, hr_error *err);
    hr_status (*restore)(void *state, hr_bundle *from, const char *prefix, hr_error *err);
} hr_callback_kind;

#define HR_CALLBACK_HEAD                                                                                               \
    {                                                                                                                  \
        HR_CALLBACK_ABI, sizeof(hr_callback_kind)                                                                      \
    }

/* Gives a callback with a copy of `state`; the kind's release later frees what the state owns. Borrows `kind` for ever.
 * Never NULL: one that could not be made fails at its first call. `refused`: an error of its arguments, NULL if there
 * is none, which then is the first call's. */
HR_API hr_callback *hr_callback_new(const hr_callback_kind *kind, const void *state, const hr_error *refused);
/* For save and restore: numbers of the state under `prefix`. Reading refuses another count of them,
 * "models.training". */
HR_API hr_status hr_callback_save_numbers(hr_bundle_writer *to, const char *prefix, const double *numbers, int count,
                                          hr_error *err);
HR_API hr_status hr_callback_restore_numbers(hr_bundle *from, const char *prefix, double *numbers, int count,
                                             hr_error *err);
HR_API hr_callback *hr_callback_ref(hr_callback *callback); /* gives a second reference: for another training */
HR_API void hr_callback_free(hr_callback *callback);        /* drops one. NULL: nothing */

/* Writes a checkpoint of all that the training needs to go on: weights and other variables, the optimizer's among them;
 * metrics and logs of the epoch that is under way, and the history; the place in the data; random numbers of nodes, but
 * not of those within functions; what callbacks know. From train_batch_end, epoch_end and train_end. Data whose place
 * cannot be saved are refused as hr_iterator_save says. */
HR_API hr_status hr_training_save(const hr_callback_call *call, const char *prefix, hr_error *err);
/* From train_begin: the training goes on from there, bit for bit as if it had not ended, if model, data, arguments and
 * callbacks are the same. A checkpoint that has other variables is refused before anything is changed,
 * "models.training". */
HR_API hr_status hr_training_restore(const hr_callback_call *call, const char *prefix, hr_error *err);

/* ---- stock callbacks: Keras's, with its defaults ----
 *
 * Texts are copied. `monitor` is a key of logs; NULL: "val_loss". If the logs lack it, the callback does nothing, and the
 * log says so once a training. Arguments out of their range are refused when the training begins, "models.argument". */

/* Whether a greater or a smaller number is better. HR_AUTO_MODE: by the name of what is monitored. */
typedef enum hr_monitor_mode { HR_AUTO_MODE, HR_MIN_MODE, HR_MAX_MODE } hr_monitor_mode;

/* BackupAndRestore: a training that was interrupted or killed goes on where it was when it is started again, as
 * hr_training_restore says. The folder, which is made, has a backup of the end of each epoch, and of where
 * hr_model_interrupt ended the training. When the training has ended otherwise they are removed. It goes last in the
 * list: what callbacks after it do with an epoch is not in its backup. */
typedef struct hr_backup_and_restore_opts {
    size_t struct_size;
    int64_t save_freq; /* after every so many batches; default: after each epoch */
    bool keep;         /* the last backup stays, also when the training has ended */
} hr_backup_and_restore_opts;
HR_API hr_callback *hr_backup_and_restore_with(const char *folder, const hr_backup_and_restore_opts *opts);
#define hr_backup_and_restore(...)                                                                                     \
    HR_CALL1_(hr_backup_and_restore_with, hr_backup_and_restore_opts, __VA_ARGS__,                                     \
              .struct_size = sizeof(hr_backup_and_restore_opts))

/* CSVLogger: a row for each epoch, with the keys of the first one in alphabetical order; what an epoch lacks is NA. A row
 * is in the file when the epoch ends, whole or not at all. Folders above the file are made. */
typedef struct hr_csv_logger_opts {
    size_t struct_size;
    char separator; /* default ',' */
    bool append;    /* after what is in the file. Default: it is replaced */
} hr_csv_logger_opts;
HR_API hr_callback *hr_csv_logger_with(const char *path, const hr_csv_logger_opts *opts);
#define hr_csv_logger(...)                                                                                             \
    HR_CALL1_(hr_csv_logger_with, hr_csv_logger_opts, __VA_ARGS__, .struct_size = sizeof(hr_csv_logger_opts))

/* EarlyStopping: the training ends when what is monitored has not become better for `patience` epochs. */
typedef struct hr_early_stopping_opts {
    size_t struct_size;
    double min_delta; /* better by no more than this is not better */
    int64_t patience; /* default 0: the first epoch that is not better ends it */
    hr_monitor_mode mode;
    const double *baseline;    /* patience begins anew only with an epoch that is better than this, too */
    bool restore_best_weights; /* at the end the weights become those of the best epoch */
    /* Only if the training was ended so, and not where the epochs run out or something else ends it. That is what Keras 2
     * does, and what is done under .tf_compat. */
    bool only_if_stopped;
    int64_t start_from_epoch; /* the epochs before do not count */
    /* Get their numbers with each epoch; *stopped_epoch is 0 where it did not end the training. Borrowed until the
     * callback is freed. */
    int64_t *best_epoch, *stopped_epoch;
} hr_early_stopping_opts;
HR_API hr_callback *hr_early_stopping_with(const char *monitor, const hr_early_stopping_opts *opts);
#define hr_early_stopping(...)                                                                                         \
    HR_CALL1_(hr_early_stopping_with, hr_early_stopping_opts, __VA_ARGS__,                                             \
              .struct_size = sizeof(hr_early_stopping_opts))

/* LambdaCallback: some functions as a callback. Each gets `user` as its state; NULL: nothing happens then. */
typedef struct hr_lambda_callback_opts {
    size_t struct_size;
    hr_callback_fn *train_begin, *train_end, *epoch_begin, *epoch_end, *batch_begin, *batch_end; /* of the training */
    hr_callback_fn *test_begin, *test_end, *test_batch_begin, *test_batch_end;
    hr_callback_fn *predict_begin, *predict_end, *predict_batch_begin, *predict_batch_end;
    void *user;
    void (*user_free)(void *user); /* when the callback is freed */
} hr_lambda_callback_opts;
HR_API hr_callback *hr_lambda_callback_with(const hr_lambda_callback_opts *opts);
#define hr_lambda_callback(...)                                                                                        \
    HR_CALL0_(hr_lambda_callback_with, hr_lambda_callback_opts, .struct_size = sizeof(hr_lambda_callback_opts),        \
              __VA_ARGS__)

/* LearningRateScheduler: the learning rate of each epoch, by its number and the rate before it. The logs get `lr`. A model
 * whose optimizer has a schedule keeps it, and the log says so. */
typedef double hr_rate_fn(int64_t epoch, double rate, void *user);
HR_API hr_callback *hr_learning_rate_scheduler(hr_rate_fn *fn, void *user);

/* ModelCheckpoint: the weights (hr_save_weights) after each epoch, or the best so far. In `path` {epoch:02d} is the number
 * of the epoch, from 1 on, {batch} that of the batch, {val_loss:.2f} a number of the logs; other braces, and keys that
 * the logs lack, are refused, "models.path". Folders above are made. */
typedef struct hr_model_checkpoint_opts {
    size_t struct_size;
    const char *monitor; /* default "val_loss" */
    bool save_best_only; /* only what is better than all before */
    hr_monitor_mode mode;
    int64_t save_freq;                     /* after every so many batches; default: after each epoch */
    const double *initial_value_threshold; /* as if that were the best before the first */
} hr_model_checkpoint_opts;
HR_API hr_callback *hr_model_checkpoint_with(const char *path, const hr_model_checkpoint_opts *opts);
#define hr_model_checkpoint(...)                                                                                       \
    HR_CALL1_(hr_model_checkpoint_with, hr_model_checkpoint_opts, __VA_ARGS__,                                         \
              .struct_size = sizeof(hr_model_checkpoint_opts))

/* ProgbarLogger: shows on a terminal how far training, evaluation or predictions are. `write` gets each piece of text:
 *
 *     static void show(const char *text, void *user) { fputs(text, user), fflush(user); }
 *     hr_fit(m, data, .epochs = 5, .callbacks = HR_CALLBACKS(hr_progress_bar(show, stdout)));
 *
 *     Epoch 1/5
 *     1875/1875 [==============================] - 3s 2ms/step - loss: 0.2961 - accuracy: 0.9146 */
typedef void hr_text_fn(const char *text, void *user);
typedef struct hr_progress_bar_opts {
    size_t struct_size;
    int verbose;                /* 1, the default: a bar that moves; 2: a line for each epoch; others are refused */
    bool no_terminal;           /* a new line in place of \b and \r, which go back on a terminal */
    double (*now)(void *clock); /* seconds since any time; default: the clock */
    void *clock;
} hr_progress_bar_opts;
HR_API hr_callback *hr_progress_bar_with(hr_text_fn *write, void *user, const hr_progress_bar_opts *opts);
#define hr_progress_bar(...)                                                                                           \
    HR_CALL2_(hr_progress_bar_with, hr_progress_bar_opts, __VA_ARGS__, .struct_size = sizeof(hr_progress_bar_opts))

/* ReduceLROnPlateau: the learning rate is multiplied by `factor` when what is monitored has not become better for
 * `patience` epochs. The logs get `lr`. A model whose optimizer has a schedule keeps it, and the log says so. */
typedef struct hr_reduce_lr_on_plateau_opts {
    size_t struct_size;
    const double *factor;    /* from 0 to less than 1; default 0.1 */
    const int64_t *patience; /* default 10 */
    const double *min_delta; /* better by no more than this is not better; default 0.0001 */
    hr_monitor_mode mode;
    int64_t cooldown; /* so many epochs after it was reduced do not count */
    double min_lr;    /* it becomes no less */
} hr_reduce_lr_on_plateau_opts;
HR_API hr_callback *hr_reduce_lr_on_plateau_with(const char *monitor, const hr_reduce_lr_on_plateau_opts *opts);
#define hr_reduce_lr_on_plateau(...)                                                                                   \
    HR_CALL1_(hr_reduce_lr_on_plateau_with, hr_reduce_lr_on_plateau_opts, __VA_ARGS__,                                 \
              .struct_size = sizeof(hr_reduce_lr_on_plateau_opts))

/* TensorBoard: event files in FOLDER/train and FOLDER/validation (default "logs"), with Keras's tags: epoch_loss, ... by
 * epoch; evaluation_loss_vs_iterations, ... by steps of the optimizer; the graph of predictions. */
typedef struct hr_tensor_board_opts {
    size_t struct_size;
    int64_t histogram_freq;      /* every so many epochs the weights, as dense/kernel_0/histogram; default: never */
    int64_t update_freq;         /* every so many batches batch_loss, ... by batch; default: never */
    bool no_graph;               /* default: the graph is written */
    bool write_steps_per_second; /* epoch_steps_per_second, and of batches */
} hr_tensor_board_opts;
HR_API hr_callback *hr_tensor_board_with(const char *folder, const hr_tensor_board_opts *opts);
#define hr_tensor_board(...)                                                                                           \
    HR_CALL1_(hr_tensor_board_with, hr_tensor_board_opts, __VA_ARGS__, .struct_size = sizeof(hr_tensor_board_opts))

/* TerminateOnNaN: the training ends after a batch whose loss is no finite number. */
HR_API hr_callback *hr_terminate_on_nan(void);

#ifdef __cplusplus
}
#endif
#endif
