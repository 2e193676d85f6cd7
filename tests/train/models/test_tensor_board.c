/* Event files of trainings: tags, steps and values as Keras's TensorBoard callback writes them. */
#include "tests/io/faults.h"
#include "tests/train/models/line_model.h"

#include <errno.h>
#include <headrace/summary.h>
#include <math.h>

static void check_points(const char *folder, const char *tag, const int64_t *steps, int expected)
{
    hr_error err = {0};
    hr_scalar_point *points;
    int64_t count;
    assert_ok(hr_event_scalars(folder, tag, &points, &count, &err), &err);
    assert_int_equal(count, expected);
    for (int i = 0; i < expected; i++) {
        assert_int_equal(points[i].step, steps[i]);
        assert_true(isfinite(points[i].value));
    }
    hr_free(points);
}

/* How many events of a kind there are; of histograms and scalars with that tag. */
static int events_of(const char *folder, hr_event_kind kind, const char *tag)
{
    hr_error err = {0};
    hr_event_reader *reader;
    const hr_event *e;
    hr_status st;
    int count = 0;
    assert_ok(hr_event_reader_open(folder, NULL, &reader, &err), &err);
    while ((st = hr_event_read(reader, &e, &err)) == HR_OK) count += e->kind == kind && (!tag || !strcmp(e->tag, tag));
    assert_int_equal(st, HR_END);
    hr_event_reader_free(reader);
    return count;
}

static void epochs_batches_weights_and_the_graph_are_written(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_model *m = line_model(false);
    const hr_history *h = hr_fit(m, line(), .batch_size = 2, .epochs = 3, .validation_data = line(),
                                 .callbacks = HR_CALLBACKS(hr_tensor_board(
                                     "logs", .histogram_freq = 2, .update_freq = 4, .write_steps_per_second = true)));
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    check_points("logs/train", "epoch_loss", HR_I64(0, 1, 2), 3);
    check_points("logs/train", "epoch_steps_per_second", HR_I64(0, 1, 2), 3);
    check_points("logs/train", "batch_loss", HR_I64(4, 8), 2);
    check_points("logs/train", "batch_steps_per_second", HR_I64(4, 8), 2);
    check_points("logs/validation", "epoch_loss", HR_I64(0, 1, 2), 3);
    check_points("logs/validation", "evaluation_loss_vs_iterations", HR_I64(3, 6, 9), 3);
    assert_int_equal(events_of("logs/train", HR_EVENT_GRAPH, NULL), 1);
    assert_int_equal(events_of("logs/train", HR_EVENT_HISTOGRAM, "dense/kernel_0/histogram"), 2);
    assert_int_equal(events_of("logs/train", HR_EVENT_HISTOGRAM, "dense/bias_0/histogram"), 2);
    hr_scalar_point *points;
    int64_t count;
    assert_ok(hr_event_scalars("logs/validation", "epoch_loss", &points, &count, &err), &err);
    for (int i = 0; i < 3; i++) assert_near(points[i].value, hr_history_of(h, "val_loss", NULL)[i], 1e-6);
    hr_free(points);
    hr_model_free(m);
}

static hr_node constant_rate(hr_node step, void *user)
{
    (void)user;
    return hr_scalar(step.graph, HR_FLOAT, 0.5);
}

static void a_schedule_has_its_rate_and_what_is_left_out_is_not_there(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(1), .seed = 1);
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(0.01f), .loss = "mse", .schedule = constant_rate), HR_OK);
    assert_non_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_tensor_board("few", .no_graph = true))));
    check_points("few/train", "epoch_learning_rate", HR_I64(0), 1);
    assert_int_equal(events_of("few/train", HR_EVENT_GRAPH, NULL), 0);
    assert_int_equal(events_of("few/train", HR_EVENT_SCALAR, NULL), 2);
    assert_int_equal(files_in("few/validation", true), -1);
    assert_null(hr_model_error(m));
    hr_model_free(m);
}

static void weights_that_are_no_numbers_are_warned_of(void **state)
{
    (void)state;
    noted n = {0};
    hr_model *m = line_model(false);
    const float nan[] = {NAN}, zero[] = {0};
    const hr_tensor weights[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), nan),
                                 hr_tensor_of(HR_FLOAT, HR_SHAPE(1), zero)};
    assert_int_equal(hr_set_weights(m, weights, 2, NULL), HR_OK);
    hr_set_log(note_warning, &n);
    assert_non_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_tensor_board("nan", .histogram_freq = 1))));
    hr_set_log(NULL, NULL);
    assert_int_equal(n.warnings, 2);
    assert_text_contains(n.last, "dense/bias");
    hr_model_free(m);
}

static void a_full_disk_and_wrong_arguments_end_the_training(void **state)
{
    (void)state;
    int failed = 0;
    hr_model *m = line_model(false);
    for (int call = 0; call < 12; call++) {
        faults f = {.call = call, .number = ENOSPC};
        remove_folder("full");
        use_faults(&f);
        const hr_history *h = hr_fit(m, line(), .epochs = 3, .validation_data = line(),
                                     .callbacks = HR_CALLBACKS(hr_tensor_board("full")));
        use_faults(NULL);
        if (h) continue;
        failed++;
        assert_text_contains(hr_model_error(m)->text, "full/");
    }
    assert_more(failed, 4);
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_tensor_board(""))));
    assert_string_equal(hr_model_error(m)->kind, "models.argument");
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_tensor_board(NULL, .update_freq = -1))));
    assert_string_equal(hr_model_error(m)->kind, "models.argument");
    hr_model_free(m);
}

static void no_memory_is_reported(void **state)
{
    (void)state;
    hr_model_free(line_model(false));
    const int64_t alive = allocations_alive();
    hr_model *m = line_model(false);
    assert_non_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_tensor_board("memory", .histogram_freq = 1))));
    for (int i = 0;; i++) {
        fail_allocation(i);
        const hr_history *h =
            hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_tensor_board("memory", .histogram_freq = 1)));
        const bool failed = allocations_since() > i;
        fail_allocation(-1);
        if (!failed) break;
        if (!h) assert_string_equal(hr_model_error(m)->kind, "memory");
    }
    hr_model_free(m);
    assert_int_equal(allocations_alive(), alive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_batches_weights_and_the_graph_are_written),
        cmocka_unit_test(a_schedule_has_its_rate_and_what_is_left_out_is_not_there),
        cmocka_unit_test(weights_that_are_no_numbers_are_warned_of),
        cmocka_unit_test(a_full_disk_and_wrong_arguments_end_the_training),
        cmocka_unit_test(no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
