/* Trainings that end in their middle, by an interruption or as if by kill -9, and go on: bit for bit as if they had not. */
#include "tests/io/faults.h"
#include "tests/train/models/line_model.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EPOCHS = 4, ROWS = 22, BATCH = 5, BATCHES = 5 };

/* ---- a training with all that has a state ---- */

static hr_model *restless_model(int units)
{
    hr_model *m = hr_sequential(
        HR_LAYERS(hr_dense_layer(units, .activation = "tanh"), hr_dropout_layer(0.25f), hr_dense_layer(1)),
        .input_shape = HR_SHAPE(2), .seed = 5);
    assert_int_equal(
        hr_compile(m, .optimizer = hr_adam(0.01f, .keras = true), .loss = "mse", .metrics = HR_STRINGS("mae")), HR_OK);
    return m;
}

static hr_dataset *rows(void)
{
    static float x[2 * ROWS], y[ROWS];
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = (float)i / ROWS;
        x[2 * i + 1] = (float)(i * 7 % 11) / 11;
        y[i] = 2 * x[2 * i] - x[2 * i + 1];
    }
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 2), x),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), y)};
    return hr_from_tensor_slices(both, NULL, 2);
}

static bool all_rows(const hr_element *row, void *user)
{
    (void)row, (void)user;
    return true;
}

/* Interrupts after so many batches. */
typedef struct breaker {
    int after, batches;
} breaker;

static hr_status count_batch(void *state, const hr_callback_call *call, hr_error *err)
{
    breaker *b = state;
    (void)err;
    if (++b->batches == b->after) hr_model_interrupt(call->model);
    return HR_OK;
}

static double falling(int64_t epoch, double rate, void *user)
{
    (void)epoch, (void)user;
    return rate * 0.9;
}

typedef enum kind { IN_MEMORY, OF_UNKNOWN_LENGTH, OF_ITS_OWN_SEED, BY_STEPS, KINDS } kind;

typedef struct outcome {
    hr_model *m;
    const hr_history *h;
    char *csv;
    size_t size;
} outcome;

/* Trains in a folder of its own; `after` 0: to the end. */
static const hr_history *train(hr_model *m, kind k, int after, int64_t save_freq)
{
    breaker b = {.after = after};
    hr_fit_opts o = {.struct_size = sizeof o, .epochs = EPOCHS, .batch_size = BATCH};
    hr_dataset *ds = rows();
    hr_callback *all[] = {
        hr_lambda_callback(.batch_end = count_batch, .user = &b),
        hr_reduce_lr_on_plateau("loss", .patience = HR_I64(2), .min_delta = HR_F64(9), .factor = HR_F64(0.5)),
        hr_learning_rate_scheduler(falling, NULL),
        hr_early_stopping("loss", .patience = 50, .min_delta = 0.001, .restore_best_weights = true),
        hr_csv_logger("run/log.csv"),
        hr_backup_and_restore("run/backup", .save_freq = save_freq),
    };
    o.callbacks = (hr_callback_list){all, sizeof all / sizeof *all};
    if (k == BY_STEPS) o.steps_per_epoch = 3;
    if (k == OF_UNKNOWN_LENGTH) ds = hr_batch(hr_shuffle(hr_filter(ds, all_rows, NULL), ROWS), BATCH);
    if (k == OF_ITS_OWN_SEED) {
        ds = hr_batch(hr_shuffle(hr_filter(ds, all_rows, NULL), ROWS, .seed = 7), BATCH);
        o.validation_data = hr_take(hr_shuffle(hr_filter(rows(), all_rows, NULL), ROWS, .seed = 3), BATCH);
    }
    /* Nobody pulls the plug: without waiting for disks. */
    static faults none;
    none = (faults){.call = -1};
    if (hr__sys_get()->fsync == fsync) use_faults(&none);
    return hr_fit_with(m, ds, &o);
}

static outcome outcome_of(hr_model *m, const hr_history *h)
{
    outcome o = {.m = m, .h = h};
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    o.csv = read_whole_file("run/log.csv", &o.size);
    return o;
}

static void outcome_free(outcome *o)
{
    free(o->csv);
    hr_model_free(o->m);
}

static outcome uninterrupted(kind k)
{
    hr_model *m = restless_model(4);
    remove_folder("run");
    outcome o = outcome_of(m, train(m, k, 0, 0));
    assert_int_equal(o.h->epochs, EPOCHS);
    return o;
}

static void check_same(const outcome *a, const outcome *b)
{
    assert_int_equal(a->h->epochs, b->h->epochs);
    assert_int_equal(a->h->keys, b->h->keys);
    for (int i = 0; i < a->h->keys; i++) {
        assert_string_equal(a->h->key[i], b->h->key[i]);
        assert_int_equal(a->h->counts[i], b->h->counts[i]);
        assert_memory_equal(a->h->values[i], b->h->values[i], (size_t)a->h->counts[i] * sizeof(double));
    }
    assert_memory_equal(a->h->epoch, b->h->epoch, (size_t)a->h->epochs * sizeof(int64_t));
    for (int i = 0; i < hr_model_weights(a->m); i++) {
        hr_tensor x, y;
        assert_int_equal(hr_get_weight(a->m, i, &x, NULL), HR_OK);
        assert_int_equal(hr_get_weight(b->m, i, &y, NULL), HR_OK);
        assert_memory_equal(x.data, y.data, (size_t)x.count * sizeof(float));
        hr_tensor_clear(&x);
        hr_tensor_clear(&y);
    }
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->csv, b->csv, a->size);
    assert_at_most(files_in("run/backup", false), 0); /* it is gone, but for the temporary file of a killed writer */
}

/* Another model, as a process that was started again has it, goes on to the end. */
static void check_goes_on(const outcome *whole, kind k, int64_t save_freq)
{
    hr_model *m = restless_model(4);
    outcome o = outcome_of(m, train(m, k, 0, save_freq));
    check_same(whole, &o);
    outcome_free(&o);
}

static void an_interrupted_training_goes_on_bit_for_bit(void **state)
{
    (void)state;
    for (kind k = IN_MEMORY; k < KINDS; k++) {
        outcome whole = uninterrupted(k);
        const int batches = k == BY_STEPS ? 3 * EPOCHS : BATCHES * EPOCHS;
        for (int after = 1; after <= batches; after++) {
            remove_folder("run");
            hr_model *m = restless_model(4);
            const hr_history *h = train(m, k, after, 0);
            assert_non_null(h);
            assert_true(h->interrupted);
            hr_model_free(m);
            check_goes_on(&whole, k, 0);
        }
        outcome_free(&whole);
    }
}

static void it_may_be_interrupted_again_and_again(void **state)
{
    (void)state;
    outcome whole = uninterrupted(IN_MEMORY);
    remove_folder("run");
    for (int i = 0; i < 7; i++) {
        hr_model *m = restless_model(4);
        assert_non_null(train(m, IN_MEMORY, 2, 3));
        hr_model_free(m);
    }
    check_goes_on(&whole, IN_MEMORY, 0);
    outcome_free(&whole);
}

/* The process ends in any of its system calls on files, with backups of every second batch. */
static void a_killed_training_goes_on_bit_for_bit(void **state)
{
    (void)state;
    outcome whole = uninterrupted(IN_MEMORY);
    int killed = 0;
    for (int call = 0;; call += 7) {
        remove_folder("run");
        const pid_t child = fork();
        if (child == 0) {
            static faults f;
            f = (faults){.call = call, .exits = true};
            hr_model *m = restless_model(4);
            use_faults(&f);
            _exit(train(m, IN_MEMORY, 0, 2) ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 0) break;
        assert_int_equal(WEXITSTATUS(status), 9);
        killed++;
        check_goes_on(&whole, IN_MEMORY, 2);
    }
    assert_more(killed, 20);
    outcome_free(&whole);
}

static void copy_file(const char *from, const char *to)
{
    size_t size;
    char *bytes = read_whole_file(from, &size);
    write_file(to, bytes, size);
    free(bytes);
}

/* Kills, each between a save and the removal of the backup before, leave several that the folder lists. */
static void backups_that_kills_have_left_go_with_the_next_one(void **state)
{
    (void)state;
    static const char list[] = "model_checkpoint_path: \"backup-9\"\n"
                               "all_model_checkpoint_paths: \"backup-7\"\n"
                               "all_model_checkpoint_paths: \"backup-8\"\n"
                               "all_model_checkpoint_paths: \"backup-9\"\n"
                               "all_model_checkpoint_timestamps: 7.0\n"
                               "all_model_checkpoint_timestamps: 8.0\n"
                               "all_model_checkpoint_timestamps: 9.0\n"
                               "last_preserved_timestamp: 1.0\n";
    outcome whole = uninterrupted(IN_MEMORY);
    remove_folder("run");
    hr_model *m = restless_model(4);
    assert_non_null(train(m, IN_MEMORY, 8, 1));
    hr_model_free(m);
    for (int i = 7; i < 9; i++) {
        char index[64], data[64];
        (void)snprintf(index, sizeof index, "run/backup/backup-%d.index", i);
        (void)snprintf(data, sizeof data, "run/backup/backup-%d.data-00000-of-00001", i);
        copy_file("run/backup/backup-9.index", index);
        copy_file("run/backup/backup-9.data-00000-of-00001", data);
    }
    write_file("run/backup/checkpoint", list, sizeof list - 1);
    check_goes_on(&whole, IN_MEMORY, 5);
    outcome_free(&whole);
}

static void a_full_disk_ends_the_training_and_a_backup_is_left(void **state)
{
    (void)state;
    outcome whole = uninterrupted(IN_MEMORY);
    for (int call = 25; call < 100; call += 25) {
        remove_folder("run");
        faults f = {.call = call, .number = ENOSPC};
        hr_model *m = restless_model(4);
        use_faults(&f);
        const hr_history *h = train(m, IN_MEMORY, 0, 2);
        use_faults(NULL);
        if (!h) assert_text_contains(hr_model_error(m)->text, "run");
        hr_model_free(m);
        if (!h) check_goes_on(&whole, IN_MEMORY, 2);
    }
    outcome_free(&whole);
}

static void a_backup_of_another_model_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    remove_folder("run");
    hr_model *m = restless_model(4), *other = restless_model(3);
    assert_non_null(train(m, IN_MEMORY, 7, 0));
    hr_tensor before, after;
    assert_int_equal(hr_get_weight(other, 0, &before, NULL), HR_OK);
    assert_null(train(other, IN_MEMORY, 0, 0));
    assert_string_equal(hr_model_error(other)->kind, "models.training");
    assert_text_contains(hr_model_error(other)->text, "run/backup");
    assert_int_equal(hr_get_weight(other, 0, &after, NULL), HR_OK);
    assert_memory_equal(before.data, after.data, 6 * sizeof(float));
    hr_tensor_clear(&before);
    hr_tensor_clear(&after);
    hr_model_free(m);
    hr_model_free(other);
}

static void a_backup_that_is_kept_is_of_the_end(void **state)
{
    (void)state;
    remove_folder("kept");
    for (int i = 0; i < 2; i++) {
        breaker b = {0};
        hr_model *m = line_model(false);
        const hr_history *h = hr_fit(m, line(), .epochs = 2,
                                     .callbacks = HR_CALLBACKS(hr_lambda_callback(.batch_end = count_batch, .user = &b),
                                                               hr_backup_and_restore("kept", .keep = true)));
        assert_non_null(h);
        assert_int_equal(h->epochs, 2);
        assert_int_equal(b.batches, i == 0 ? 2 : 0);
        hr_model_free(m);
    }
    assert_int_equal(files_in("kept", true), 3);
}

static void arguments_and_places_are_checked(void **state)
{
    (void)state;
    hr_error err = {0};
    const hr_callback_call call = {0};
    hr_model *m = line_model(false);
    assert_status(hr_training_save(&call, "x", &err), HR_INVALID_ARGUMENT);
    assert_status(hr_training_restore(NULL, "x", &err), HR_INVALID_ARGUMENT);
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_backup_and_restore(NULL))));
    assert_string_equal(hr_model_error(m)->kind, "models.argument");
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_backup_and_restore("x", .save_freq = -1))));
    assert_string_equal(hr_model_error(m)->kind, "models.argument");
    write_file("file", "", 0);
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_backup_and_restore("file"))));
    assert_text_contains(hr_model_error(m)->text, "file");
    hr_model_free(m);
}

static void no_memory_ends_the_training_and_nothing_leaks(void **state)
{
    (void)state;
    remove_folder("run");
    hr_model_free(restless_model(4));
    const int64_t alive = allocations_alive();
    hr_model *m = restless_model(4);
    assert_non_null(train(m, IN_MEMORY, 6, 0));
    int failed = 0;
    for (int i = 0; i < 4000; i += 29) {
        fail_allocation(i);
        const hr_history *h = train(m, IN_MEMORY, 3, 0);
        fail_allocation(-1);
        if (h) continue;
        failed++;
        assert_string_equal(hr_model_error(m)->kind, "memory");
    }
    assert_more(failed, 10);
    hr_model_free(m);
    assert_int_equal(allocations_alive(), alive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_training_goes_on_bit_for_bit), /* first: before there are threads */
        cmocka_unit_test(backups_that_kills_have_left_go_with_the_next_one),
        cmocka_unit_test(an_interrupted_training_goes_on_bit_for_bit),
        cmocka_unit_test(it_may_be_interrupted_again_and_again),
        cmocka_unit_test(a_full_disk_ends_the_training_and_a_backup_is_left),
        cmocka_unit_test(a_backup_of_another_model_is_refused_and_changes_nothing),
        cmocka_unit_test(a_backup_that_is_kept_is_of_the_end),
        cmocka_unit_test(arguments_and_places_are_checked),
        cmocka_unit_test(no_memory_ends_the_training_and_nothing_leaks),
    };
    hr_set_threads(0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
