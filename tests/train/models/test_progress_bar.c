/* The progress bar, character by character, by a clock of the test. */
#include "tests/train/models/line_model.h"

#include <stdio.h>

typedef struct screen {
    char text[8192];
    size_t size;
    double now;
    double step; /* of the clock, each time it is looked at */
} screen;

static void show(const char *text, void *user)
{
    screen *s = user;
    s->size += (size_t)snprintf(s->text + s->size, sizeof s->text - s->size, "%s", text);
}

static double clock_of(void *user)
{
    screen *s = user;
    const double now = s->now;
    s->now += s->step;
    return now;
}

static hr_status set_logs(void *state, const hr_callback_call *call, hr_error *err)
{
    (void)state;
    HR_TRY(hr_logs_set(call->logs, "loss", 0.29614, err));
    return hr_logs_set(call->logs, "mae", 0.0009, err);
}

static void shown(screen *s, hr_fit_opts o, hr_callback *bar)
{
    hr_callback *all[] = {hr_lambda_callback(.batch_end = set_logs, .epoch_end = set_logs), bar};
    hr_model *m = line_model(false);
    o.struct_size = sizeof o;
    o.batch_size = 2;
    o.callbacks = (hr_callback_list){all, 2};
    assert_non_null(hr_fit_with(m, line(), &o));
    hr_model_free(m);
    s->text[s->size] = '\0';
}

#define VALUES "loss: 0.2961 - mae: 9.0000e-04"

static void a_bar_moves_as_keras_shows_it(void **state)
{
    (void)state;
    screen s = {.now = 100, .step = 1};
    shown(&s, (hr_fit_opts){.epochs = 1}, hr_progress_bar(show, &s, .now = clock_of, .clock = &s));
    char expected[2048], back[128];
    memset(back, '\b', sizeof back);
    const char first[] = "1/3 [=========>....................] - ETA: 2s - " VALUES;
    const char second[] = "2/3 [===================>..........] - ETA: 1s - " VALUES;
    const char third[] = "3/3 [==============================] - ETA: 0s - " VALUES;
    const int n = (int)strlen(first);
    snprintf(expected, sizeof expected,
             "\r%s%.*s\r%s%.*s\r%s%.*s\r"
             "3/3 [==============================] - 4s 2s/step - " VALUES "\n",
             first, n, back, second, n, back, third, n, back);
    assert_string_equal(s.text, expected);
}

static void lines_of_epochs_and_their_numbers(void **state)
{
    (void)state;
    screen s = {.now = 5, .step = 0.002};
    shown(&s, (hr_fit_opts){.epochs = 2}, hr_progress_bar(show, &s, .verbose = 2, .now = clock_of, .clock = &s));
    assert_string_equal(s.text, "Epoch 1/2\n3/3 - 0s - " VALUES " - 2ms/epoch - 667us/step\n"
                                "Epoch 2/2\n3/3 - 0s - " VALUES " - 2ms/epoch - 667us/step\n");
}

/* Texts come at most every 50 ms. */
static void quick_batches_are_not_shown_and_long_ones_in_hours(void **state)
{
    (void)state;
    screen s = {.now = 5, .step = 0.00001};
    shown(&s, (hr_fit_opts){.epochs = 1}, hr_progress_bar(show, &s, .no_terminal = true, .now = clock_of, .clock = &s));
    assert_string_equal(s.text, "\n1/3 [=========>....................] - ETA: 0s - " VALUES
                                "\n3/3 [==============================] - 0s 15us/step - " VALUES "\n");
    screen t = {.now = 5, .step = 4000};
    shown(&t, (hr_fit_opts){.epochs = 1}, hr_progress_bar(show, &t, .no_terminal = true, .now = clock_of, .clock = &t));
    assert_text_contains(t.text, "ETA: 2:13:20");
    assert_text_contains(t.text, "ETA: 1:06:40");
}

static void evaluations_alone_are_shown_and_those_of_a_training_are_not(void **state)
{
    (void)state;
    screen s = {.now = 5, .step = 1};
    hr_tensor out;
    hr_model *m = line_model(false);
    hr_callback *bar = hr_progress_bar(show, &s, .verbose = 2, .now = clock_of, .clock = &s);
    assert_non_null(hr_fit(m, line(), .validation_data = line(), .callbacks = HR_CALLBACKS(hr_callback_ref(bar))));
    assert_text_begins(s.text, "1/1 - 1s - loss: ");
    assert_text_contains(s.text, " - val_loss: ");
    s.size = 0;
    assert_non_null(hr_model_evaluate(m, line(), .batch_size = 3, .callbacks = HR_CALLBACKS(hr_callback_ref(bar))));
    assert_text_begins(s.text, "2/2 - ");
    s.size = 0;
    assert_int_equal(hr_model_predict(m, line(), &out, .callbacks = HR_CALLBACKS(bar)), HR_OK);
    assert_string_equal(s.text, "1/1 - 1s - 1s/epoch - 1s/step\n");
    hr_tensor_clear(&out);
    hr_model_free(m);
}

static bool all_rows(const hr_element *row, void *user)
{
    (void)row, (void)user;
    return true;
}

/* Of the first epoch nobody knows how long it is; of the second one it is known. */
static void data_of_an_unknown_length_have_no_bar_at_first(void **state)
{
    (void)state;
    screen s = {.now = 5, .step = 1};
    hr_model *m = line_model(false);
    assert_non_null(hr_fit(
        m, hr_batch(hr_filter(line(), all_rows, NULL), 2), .epochs = 2,
        .callbacks = HR_CALLBACKS(hr_lambda_callback(.batch_end = set_logs, .epoch_end = set_logs),
                                  hr_progress_bar(show, &s, .no_terminal = true, .now = clock_of, .clock = &s))));
    assert_text_begins(s.text,
                       "Epoch 1/2\n\n      1/Unknown - 1s 1s/step - " VALUES "\n      2/Unknown - 2s 1s/step - " VALUES
                       "\n      3/Unknown - 3s 1s/step - " VALUES
                       "\n3/3 [==============================] - 4s 2s/step - " VALUES "\nEpoch 2/2\n\n1/3 [=====");
    hr_model_free(m);
}

static hr_status interrupt(void *state, const hr_callback_call *call, hr_error *err)
{
    (void)state, (void)err;
    hr_model_interrupt(call->model);
    return HR_OK;
}

static void an_interrupted_line_is_ended(void **state)
{
    (void)state;
    screen s = {.now = 5, .step = 1};
    hr_model *m = line_model(false);
    assert_non_null(hr_fit(m, line(), .batch_size = 2,
                           .callbacks = HR_CALLBACKS(hr_lambda_callback(.batch_end = interrupt),
                                                     hr_progress_bar(show, &s, .now = clock_of, .clock = &s))));
    s.text[s.size] = '\0';
    assert_text_begins(s.text, "\r1/3 [");
    assert_int_equal(s.text[s.size - 1], '\n');
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_moves_as_keras_shows_it),
        cmocka_unit_test(lines_of_epochs_and_their_numbers),
        cmocka_unit_test(quick_batches_are_not_shown_and_long_ones_in_hours),
        cmocka_unit_test(evaluations_alone_are_shown_and_those_of_a_training_are_not),
        cmocka_unit_test(data_of_an_unknown_length_have_no_bar_at_first),
        cmocka_unit_test(an_interrupted_line_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
