/* Callbacks of a training: when they act, and what they refuse. */
#include "tests/io/faults.h"
#include "tests/train/models/line_model.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define SCRIPT(...)                                                                                                    \
    {                                                                                                                  \
        .key = "val_loss", .values = (const double[]){__VA_ARGS__},                                                    \
        .count = (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double))                                         \
    }

/* ---- EarlyStopping ---- */

static void early_stopping_waits_and_gives_the_best_weights_back(void **state)
{
    (void)state;
    script s = SCRIPT(5, 4, 3, 3.5, 3.25, 1);
    int64_t best = -1, stopped = -1;
    hr_model *m = line_model(false);
    const hr_history *h = hr_fit(
        m, line(), .epochs = 9,
        .callbacks = HR_CALLBACKS(scripted(&s), hr_early_stopping(NULL, .patience = 2, .restore_best_weights = true,
                                                                  .best_epoch = &best, .stopped_epoch = &stopped)));
    assert_non_null(h);
    assert_int_equal(h->epochs, 5);
    assert_true(h->interrupted);
    assert_int_equal(best, 2);
    assert_int_equal(stopped, 4);
    assert_exactly(line_weight(m), s.weight[2]);
    hr_model_free(m);
}

static float weight_after(bool tf_compat, bool only_if_stopped, script *s)
{
    hr_model *m = line_model(tf_compat);
    assert_non_null(hr_fit(m, line(), .epochs = 4,
                           .callbacks = HR_CALLBACKS(
                               scripted(s), hr_early_stopping("val_loss", .patience = 50, .restore_best_weights = true,
                                                              .only_if_stopped = only_if_stopped))));
    const float weight = line_weight(m);
    hr_model_free(m);
    return weight;
}

static void best_weights_come_back_also_where_epochs_run_out_but_in_keras_2(void **state)
{
    (void)state;
    script s = SCRIPT(5, 1, 3, 4);
    const float keras_3 = weight_after(false, false, &s), only_if_stopped = weight_after(false, true, &s);
    const float keras_2 = weight_after(true, false, &s);
    assert_exactly(keras_3, s.weight[1]);
    assert_exactly(only_if_stopped, s.weight[3]);
    assert_exactly(keras_2, s.weight[3]);
}

static int epochs_of(script *s, hr_callback *stopping)
{
    hr_model *m = line_model(false);
    const hr_history *h = hr_fit(m, line(), .epochs = 9, .callbacks = HR_CALLBACKS(scripted(s), stopping));
    assert_non_null(h);
    const int epochs = h->epochs;
    hr_model_free(m);
    return epochs;
}

static void early_stopping_has_a_delta_a_baseline_a_start_and_a_direction(void **state)
{
    (void)state;
    script falling = SCRIPT(9, 8.5, 8, 7.5, 7, 6.5, 6, 5.5, 5), rising = SCRIPT(1, 2, 3, 2, 5, 6, 7, 8, 9);
    assert_int_equal(epochs_of(&falling, hr_early_stopping(NULL)), 9);
    assert_int_equal(epochs_of(&falling, hr_early_stopping(NULL, .min_delta = 0.75, .patience = 1)), 2);
    assert_int_equal(epochs_of(&falling, hr_early_stopping(NULL, .min_delta = -0.75, .patience = 1)), 2);
    assert_int_equal(epochs_of(&falling, hr_early_stopping(NULL, .min_delta = 9, .start_from_epoch = 3)), 5);
    /* Patience is looked at in an epoch that is not better, so a baseline alone ends nothing. */
    assert_int_equal(epochs_of(&falling, hr_early_stopping(NULL, .baseline = HR_F64(0), .patience = 2)), 9);
    assert_int_equal(epochs_of(&rising, hr_early_stopping(NULL)), 2);
    assert_int_equal(epochs_of(&rising, hr_early_stopping(NULL, .mode = HR_MAX_MODE)), 4);
    rising.key = "val_accuracy";
    assert_int_equal(epochs_of(&rising, hr_early_stopping("val_accuracy")), 4);
    assert_int_equal(epochs_of(&rising, hr_early_stopping("val_accuracy", .mode = HR_MIN_MODE)), 2);
    script nan = SCRIPT(3, NAN, NAN, 2);
    assert_int_equal(epochs_of(&nan, hr_early_stopping(NULL, .patience = 2)), 3);
}

static void what_is_monitored_and_missing_is_warned_of_once(void **state)
{
    (void)state;
    noted n = {0};
    hr_set_log(note_warning, &n);
    hr_model *m = line_model(false);
    assert_non_null(hr_fit(m, line(), .epochs = 3, .callbacks = HR_CALLBACKS(hr_early_stopping("val_auc"))));
    assert_int_equal(n.warnings, 1);
    assert_text_contains(n.last, "'val_auc'");
    assert_text_contains(n.last, "loss");
    assert_non_null(hr_fit(m, line(), .epochs = 3, .callbacks = HR_CALLBACKS(hr_reduce_lr_on_plateau("val_auc"))));
    assert_int_equal(n.warnings, 2);
    hr_set_log(NULL, NULL);
    hr_model_free(m);
}

static void a_callback_serves_several_trainings(void **state)
{
    (void)state;
    script s = SCRIPT(5, 6, 1, 1);
    hr_callback *stopping = hr_early_stopping(NULL);
    for (int i = 0; i < 2; i++) assert_int_equal(epochs_of(&s, hr_callback_ref(stopping)), 2);
    hr_callback_free(stopping);
}

/* ---- learning rates ---- */

static double half(int64_t epoch, double rate, void *user)
{
    *(int64_t *)user += epoch;
    return rate / 2;
}

static hr_node constant_rate(hr_node step, void *user)
{
    (void)user;
    return hr_scalar(step.graph, HR_FLOAT, 0.5);
}

static void a_rate_follows_the_epochs_and_is_logged(void **state)
{
    (void)state;
    int64_t sum = 0;
    hr_model *m = line_model(false);
    const hr_history *h =
        hr_fit(m, line(), .epochs = 3, .callbacks = HR_CALLBACKS(hr_learning_rate_scheduler(half, &sum)));
    assert_non_null(h);
    assert_int_equal(sum, 3);
    assert_string_equal(h->key[h->keys - 1], "lr");
    assert_near(hr_history_of(h, "lr", NULL)[0], 0.005, 1e-9);
    assert_near(hr_history_last(h, "lr"), 0.00125, 1e-9);
    hr_model_free(m);
}

static void a_plateau_lowers_the_rate_down_to_the_least_one(void **state)
{
    (void)state;
    script s = SCRIPT(5, 5, 5, 5, 5, 4, 4, 4);
    const double expected[] = {0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025, 0.0025, 0.002};
    hr_model *m = line_model(false);
    const hr_history *h =
        hr_fit(m, line(), .epochs = 8,
               .callbacks = HR_CALLBACKS(scripted(&s),
                                         hr_reduce_lr_on_plateau(NULL, .factor = HR_F64(0.5), .patience = HR_I64(1),
                                                                 .cooldown = 2, .min_lr = 0.002)));
    assert_non_null(h);
    for (int i = 0; i < 8; i++) assert_near(hr_history_of(h, "lr", NULL)[i], expected[i], 1e-8);
    hr_model_free(m);
}

static void an_optimizer_with_a_schedule_keeps_it_and_the_log_says_so(void **state)
{
    (void)state;
    int64_t sum = 0;
    noted n = {0};
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(1), .seed = 1);
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(0.01f), .loss = "mse", .schedule = constant_rate), HR_OK);
    hr_set_log(note_warning, &n);
    assert_non_null(hr_fit(m, line(), .epochs = 3, .callbacks = HR_CALLBACKS(hr_learning_rate_scheduler(half, &sum))));
    assert_int_equal(n.warnings, 1);
    assert_text_contains(n.last, "schedule");
    assert_null(hr_model_error(m));
    hr_set_log(NULL, NULL);
    hr_model_free(m);
}

static double negative(int64_t epoch, double rate, void *user)
{
    (void)epoch, (void)user;
    return -rate;
}

/* ---- CSVLogger ---- */

static hr_status whole_logs(void *state, const hr_callback_call *call, hr_error *err)
{
    const double e = (double)call->number;
    (void)state;
    HR_TRY(hr_logs_set(call->logs, "loss", e + 1, err));
    HR_TRY(hr_logs_set(call->logs, "acc;racy", 0.1 + e, err));
    HR_TRY(hr_logs_set(call->logs, "Z", e ? NAN : 1e-5, err));
    HR_TRY(hr_logs_set(call->logs, "big", e ? -INFINITY : 1e22, err));
    return hr_logs_set(call->logs, "lr", 0.1 + e * 1e-9, err);
}

static hr_callback *whole(void) { return hr_lambda_callback(.epoch_end = whole_logs); }

static void check_file(const char *path, const char *expected)
{
    size_t size;
    char *text = read_whole_file(path, &size);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(text, expected, size);
    free(text);
}

#define CSV_HEAD "epoch;Z;\"acc;racy\";big;loss;lr;val_Z;\"val_acc;racy\";val_big;val_loss;val_lr\r\n"
#define CSV_0 "0;1e-05;0.1;1e+22;1.0;0.1;NA;NA;NA;NA;NA\r\n"
#define CSV_1 "1;nan;1.1;-inf;2.0;0.1;NA;NA;NA;NA;NA\r\n"

static void csv_rows_are_as_python_writes_them(void **state)
{
    (void)state;
    hr_model *m = line_model(false);
    write_file("old.csv", "old", 3);
    assert_non_null(
        hr_fit(m, line(), .epochs = 2, .callbacks = HR_CALLBACKS(whole(), hr_csv_logger("old.csv", .separator = ';'))));
    check_file("old.csv", CSV_HEAD CSV_0 CSV_1);
    assert_non_null(
        hr_fit(m, line(), .epochs = 1,
               .callbacks = HR_CALLBACKS(whole(), hr_csv_logger("old.csv", .separator = ';', .append = true))));
    check_file("old.csv", CSV_HEAD CSV_0 CSV_1 CSV_0);
    assert_non_null(
        hr_fit(m, line(), .epochs = 1,
               .callbacks = HR_CALLBACKS(whole(), hr_csv_logger("a/b/new.csv", .separator = ';', .append = true))));
    check_file("a/b/new.csv", CSV_HEAD CSV_0);
    hr_model_free(m);
}

/* Whichever call fails, the training ends with the path, and the file ends with a whole row. */
static void a_full_disk_leaves_whole_rows(void **state)
{
    (void)state;
    const char all[] = CSV_HEAD CSV_0 CSV_1;
    hr_model *m = line_model(false);
    int failed = 0;
    for (int call = 0; call < 40; call++) {
        faults f = {.max = 20, .call = call, .number = ENOSPC};
        remove_folder("full");
        use_faults(&f);
        const hr_history *h = hr_fit(m, line(), .epochs = 2,
                                     .callbacks = HR_CALLBACKS(whole(), hr_csv_logger("full/x", .separator = ';')));
        use_faults(NULL);
        if (h) continue;
        failed++;
        assert_text_contains(hr_model_error(m)->text, "full/x");
        size_t size = 0;
        if (strcmp(hr_model_error(m)->kind, "file.open") == 0) continue;
        char *text = read_whole_file("full/x", &size);
        assert_true(size == 0 || (text[size - 1] == '\n' && memcmp(text, all, size) == 0));
        free(text);
    }
    assert_more(failed, 5);
    hr_model_free(m);
}

static void a_log_that_is_a_folder_is_reported_before_the_first_batch(void **state)
{
    (void)state;
    script s = {0};
    hr_model *m = line_model(false);
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(scripted(&s), hr_csv_logger("."))));
    assert_string_equal(hr_model_error(m)->kind, "file.open");
    assert_int_equal(s.epochs, 0);
    hr_model_free(m);
}

/* ---- LambdaCallback, and the order of calls ---- */

typedef struct calls {
    char text[2048];
    int freed;
} calls;

static hr_status note(calls *c, const char *what, const hr_callback_call *call)
{
    const size_t n = strlen(c->text);
    (void)snprintf(c->text + n, sizeof c->text - n, "%s%lld:%d ", what, (long long)call->number,
                   hr_logs_count(call->logs));
    return HR_OK;
}
#define NOTE(moment, what)                                                                                             \
    static hr_status note_##moment(void *state, const hr_callback_call *call, hr_error *err)                           \
    {                                                                                                                  \
        (void)err;                                                                                                     \
        return note(state, what, call);                                                                                \
    }
NOTE(train_begin, "T")
NOTE(train_end, "t")
NOTE(epoch_begin, "E")
NOTE(epoch_end, "e")
NOTE(batch_begin, "B")
NOTE(batch_end, "b")
NOTE(test_begin, "V")
NOTE(test_end, "v")
NOTE(predict_begin, "P")
NOTE(predict_batch_end, "p")

static void free_calls(void *user) { ((calls *)user)->freed++; }

static hr_callback *noting(calls *c)
{
    return hr_lambda_callback(.train_begin = note_train_begin, .train_end = note_train_end,
                              .epoch_begin = note_epoch_begin, .epoch_end = note_epoch_end,
                              .batch_begin = note_batch_begin, .batch_end = note_batch_end,
                              .test_begin = note_test_begin, .test_end = note_test_end,
                              .predict_begin = note_predict_begin, .predict_batch_end = note_predict_batch_end,
                              .user = c, .user_free = free_calls);
}

static void functions_are_called_in_keras_order(void **state)
{
    (void)state;
    calls c = {0};
    hr_tensor out;
    hr_model *m = line_model(false);
    assert_non_null(hr_fit(m, line(), .batch_size = 3, .epochs = 3, .initial_epoch = 1, .validation_data = line(),
                           .validation_freq = 2, .callbacks = HR_CALLBACKS(noting(&c))));
    assert_string_equal(c.text, "T0:0 E1:0 B0:0 b0:1 B1:0 b1:1 V1:0 v1:1 e1:2 E2:0 B0:0 b0:1 B1:0 b1:1 e2:1 t2:1 ");
    c.text[0] = '\0';
    assert_int_equal(hr_model_predict(m, line(), &out, .callbacks = HR_CALLBACKS(noting(&c))), HR_OK);
    assert_string_equal(c.text, "P0:0 p0:0 ");
    assert_int_equal(c.freed, 2);
    hr_tensor_clear(&out);
    hr_model_free(m);
}

/* ---- ends ---- */

static hr_model *signalled;
static void stop_on(int number)
{
    if (number == SIGINT)
        hr_model_stop(signalled);
    else
        hr_model_interrupt(signalled);
}

static hr_status raise_in_epoch_1(void *state, const hr_callback_call *call, hr_error *err)
{
    (void)err;
    if (call->epoch == 1 && call->number == 1) raise(*(int *)state);
    return HR_OK;
}

/* Ctrl-C ends the training after the batch that is under way, and what was learned stays. */
static void a_signal_ends_the_training_between_batches(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        int number = i == 0 ? SIGINT : SIGUSR1;
        calls c = {0};
        signalled = line_model(false);
        signal(number, stop_on);
        const hr_history *h =
            hr_fit(signalled, line(), .batch_size = 2, .epochs = 9, .no_shuffle = true,
                   .callbacks =
                       HR_CALLBACKS(hr_lambda_callback(.batch_begin = raise_in_epoch_1, .user = &number), noting(&c)));
        signal(number, SIG_DFL);
        assert_non_null(h);
        assert_true(h->interrupted);
        assert_int_equal(h->epochs, i == 0 ? 2 : 1);
        assert_string_equal(c.text, i == 0 ? "T0:0 E0:0 B0:0 b0:1 B1:0 b1:1 B2:0 b2:1 e0:1 E1:0 B0:0 b0:1 B1:0 b1:1 "
                                             "e1:1 t1:1 "
                                           : "T0:0 E0:0 B0:0 b0:1 B1:0 b1:1 B2:0 b2:1 e0:1 E1:0 B0:0 b0:1 B1:0 b1:1 "
                                             "t1:1 ");
        int64_t steps;
        assert_int_equal(hr_model_iterations(signalled, &steps), HR_OK);
        assert_int_equal(steps, 5);
        hr_model_free(signalled);
    }
}

static void a_loss_that_is_no_number_ends_the_training(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4}, y[] = {1, NAN, 1, 1};
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 1), x), hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 1), y)};
    calls c = {0};
    hr_model *m = line_model(false);
    const hr_history *h = hr_fit(m, hr_from_tensor_slices(both, NULL, 2), .batch_size = 1, .epochs = 3,
                                 .no_shuffle = true, .callbacks = HR_CALLBACKS(hr_terminate_on_nan(), noting(&c)));
    assert_non_null(h);
    assert_int_equal(h->epochs, 1);
    assert_nan(hr_history_last(h, "loss"));
    assert_string_equal(c.text, "T0:0 E0:0 B0:0 b0:1 B1:0 b1:1 e0:1 t0:1 ");
    hr_model_free(m);
}

/* ---- arguments, memory ---- */

static void check_refused_saying(hr_callback *c, const char *text)
{
    hr_model *m = line_model(false);
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(c)));
    assert_string_equal(hr_model_error(m)->kind, "models.argument");
    if (!strstr(hr_model_error(m)->text, text)) fail_msg("%s", hr_model_error(m)->text);
    hr_model_free(m);
}

static void check_refused(hr_callback *c) { check_refused_saying(c, ""); }

static void arguments_out_of_range_are_refused(void **state)
{
    (void)state;
    int64_t sum = 0;
    check_refused(hr_early_stopping(NULL, .patience = -1));
    check_refused(hr_early_stopping(NULL, .start_from_epoch = -1));
    check_refused(hr_early_stopping(NULL, .min_delta = NAN));
    check_refused(hr_early_stopping(NULL, .mode = (hr_monitor_mode)7));
    check_refused_saying(hr_csv_logger(NULL), "csv_logger: expected a path, got NULL");
    check_refused_saying(hr_csv_logger(""), "csv_logger: expected a path, got \"\"");
    check_refused_saying(hr_csv_logger("x", .separator = '"'),
                         "csv_logger: separator: expected no quote and no end of a line, got '\"'");
    check_refused_saying(hr_csv_logger("x", .separator = '\n'), "got '\\n'");
    check_refused(hr_learning_rate_scheduler(NULL, NULL));
    check_refused(hr_learning_rate_scheduler(negative, &sum));
    check_refused(hr_progress_bar(NULL, NULL));
    check_refused(hr_reduce_lr_on_plateau(NULL, .factor = HR_F64(1)));
    check_refused(hr_reduce_lr_on_plateau(NULL, .factor = HR_F64(NAN)));
    check_refused(hr_reduce_lr_on_plateau(NULL, .patience = HR_I64(-1)));
    check_refused(hr_reduce_lr_on_plateau(NULL, .cooldown = -1));
    check_refused(hr_reduce_lr_on_plateau(NULL, .min_lr = -1));
    check_refused(NULL);
}

static void no_memory_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    int64_t sum = 0;
    calls c = {0};
    script s = SCRIPT(5, 6, 7, 8);
    hr_model_free(line_model(false)); /* what is made once stays */
    const int64_t alive = allocations_alive();
    hr_model *m = line_model(false);
    assert_non_null(hr_fit(m, line()));
    for (int i = 0;; i++) {
        fail_allocation(i);
        const hr_history *h =
            hr_fit(m, line(), .epochs = 2,
                   .callbacks = HR_CALLBACKS(hr_early_stopping(NULL, .restore_best_weights = true),
                                             hr_csv_logger("x.csv"), noting(&c), scripted(&s),
                                             hr_learning_rate_scheduler(half, &sum), hr_reduce_lr_on_plateau("loss")));
        const bool failed = allocations_since() > i;
        fail_allocation(-1);
        if (!failed) {
            assert_non_null(h);
            break;
        }
        if (!h) assert_string_equal(hr_model_error(m)->kind, "memory");
    }
    assert_more(c.freed, 10);
    hr_model_free(m);
    assert_int_equal(allocations_alive(), alive);
}

static void numbers_of_a_state_are_as_many_as_were_saved(void **state)
{
    (void)state;
    double numbers[3] = {1.5, -2, 0};
    hr_bundle_writer *w;
    hr_bundle *b;
    hr_error err;
    assert_int_equal(hr_bundle_writer_open("numbers", &w, &err), HR_OK);
    assert_int_equal(hr_callback_save_numbers(w, "0/mine", numbers, 2, &err), HR_OK);
    assert_int_equal(hr_bundle_writer_commit(w, &err), HR_OK);
    assert_int_equal(hr_bundle_open("numbers", &b, &err), HR_OK);
    numbers[0] = numbers[1] = 0;
    assert_int_equal(hr_callback_restore_numbers(b, "0/mine", numbers, 2, &err), HR_OK);
    assert_true(numbers[0] == 1.5 && numbers[1] == -2);
    assert_int_equal(hr_callback_restore_numbers(b, "0/mine", numbers, 3, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "models.training");
    hr_bundle_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_stopping_waits_and_gives_the_best_weights_back),
        cmocka_unit_test(best_weights_come_back_also_where_epochs_run_out_but_in_keras_2),
        cmocka_unit_test(early_stopping_has_a_delta_a_baseline_a_start_and_a_direction),
        cmocka_unit_test(what_is_monitored_and_missing_is_warned_of_once),
        cmocka_unit_test(a_callback_serves_several_trainings),
        cmocka_unit_test(a_rate_follows_the_epochs_and_is_logged),
        cmocka_unit_test(a_plateau_lowers_the_rate_down_to_the_least_one),
        cmocka_unit_test(an_optimizer_with_a_schedule_keeps_it_and_the_log_says_so),
        cmocka_unit_test(csv_rows_are_as_python_writes_them),
        cmocka_unit_test(a_full_disk_leaves_whole_rows),
        cmocka_unit_test(a_log_that_is_a_folder_is_reported_before_the_first_batch),
        cmocka_unit_test(functions_are_called_in_keras_order),
        cmocka_unit_test(a_signal_ends_the_training_between_batches),
        cmocka_unit_test(a_loss_that_is_no_number_ends_the_training),
        cmocka_unit_test(arguments_out_of_range_are_refused),
        cmocka_unit_test(no_memory_is_reported_and_nothing_leaks),
        cmocka_unit_test(numbers_of_a_state_are_as_many_as_were_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
