/* What hr_fit makes of its data: the order of each epoch, and data of which nobody knows how many there are. */
#include "tests/train/models/line_model.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 11, MOST_EPOCHS = 6, MOST_BATCHES = 64 };

/* ---- data: row n has the label n + 1 ---- */

static hr_dataset *rows(void)
{
    static float x[ROWS], y[ROWS];
    for (int i = 0; i < ROWS; i++) {
        x[i] = (float)(i * 7 % ROWS) / ROWS;
        y[i] = (float)(i + 1);
    }
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), x),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), y)};
    return hr_from_tensor_slices(both, NULL, 2);
}

static bool any_row(const hr_element *row, void *user)
{
    (void)row, (void)user;
    return true;
}

/* The same, of an unknown number. */
static hr_dataset *uncounted(void) { return hr_filter(rows(), any_row, NULL); }

/* ---- models ---- */

/* Learns nothing and predicts 0, so that the absolute error of a row is its label. */
static hr_model *still_model(int64_t seed)
{
    static const float zero;
    const hr_tensor weights[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), &zero),
                                 hr_tensor_of(HR_FLOAT, HR_SHAPE(1), &zero)};
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(1), .seed = seed);
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(0.1f), .loss = "mae"), HR_OK);
    assert_int_equal(hr_model_set_learning_rate(m, 0), HR_OK);
    assert_int_equal(hr_set_weights(m, weights, 2, NULL), HR_OK);
    return m;
}

static hr_model *moving_model(void)
{
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(3, .activation = "tanh"), hr_dense_layer(1)),
                                .input_shape = HR_SHAPE(1), .seed = 4);
    assert_int_equal(hr_compile(m, .optimizer = hr_adam(0.01f), .loss = "mse", .metrics = HR_STRINGS("mae")), HR_OK);
    return m;
}

static hr_model *classifier(void)
{
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(ROWS + 1)), .input_shape = HR_SHAPE(1), .seed = 4);
    assert_int_equal(hr_compile(m, .optimizer = hr_adam(0.01f), .loss = "sparse_categorical_crossentropy",
                                .from_logits = true, .metrics = HR_STRINGS("accuracy")),
                     HR_OK);
    return m;
}

/* ---- what a training sees ---- */

/* The sum of the labels of each batch; of batches of one row, which row it was. */
typedef struct seen {
    int label[MOST_EPOCHS][MOST_BATCHES], batches[MOST_EPOCHS];
    int tested[MOST_EPOCHS][MOST_BATCHES], tests[MOST_EPOCHS];
    double before;
} seen;

static int next_label(seen *s, const hr_callback_call *call)
{
    const double now = hr_logs_get(call->logs, "loss") * (double)(call->number + 1);
    const int label = (int)lround(now - (call->number ? s->before : 0));
    s->before = now;
    return label;
}

static hr_status see_batch(void *state, const hr_callback_call *call, hr_error *err)
{
    (void)err;
    seen *s = state;
    assert_true(call->epoch < MOST_EPOCHS && s->batches[call->epoch] < MOST_BATCHES);
    s->label[call->epoch][s->batches[call->epoch]++] = next_label(s, call);
    return HR_OK;
}

static hr_status see_test(void *state, const hr_callback_call *call, hr_error *err)
{
    (void)err;
    seen *s = state;
    assert_true(call->epoch < MOST_EPOCHS && s->tests[call->epoch] < MOST_BATCHES);
    s->tested[call->epoch][s->tests[call->epoch]++] = next_label(s, call);
    return HR_OK;
}

static hr_callback *seeing(seen *s)
{
    return hr_lambda_callback(.batch_end = see_batch, .test_batch_end = see_test, .user = s);
}

/* A training in batches of one row. */
static void see(seen *s, hr_dataset *ds, int64_t seed, hr_fit_opts o)
{
    hr_model *m = still_model(seed);
    hr_callback *callback = seeing(s);
    o.struct_size = sizeof o;
    o.batch_size = 1;
    o.callbacks = (hr_callback_list){&callback, 1};
    if (!hr_fit_with(m, ds, &o)) fail_msg("%s", hr_model_error(m)->text);
    hr_model_free(m);
}

/* The labels of `times` epochs of hr_repeat, over all that see takes. */
static void labels_of_repeat(hr_dataset *ds, int64_t times, uint64_t seed, int *label, int count)
{
    const hr_element *e;
    int n = 0;
    hr_iterator *it = hr_iterate(hr_repeat(ds, .count = &times), .seed = seed);
    while (n < count && hr_next(it, &e) == HR_OK) label[n++] = (int)*(const float *)hr_get(e, "1")->data;
    assert_int_equal(n, count);
    hr_iterator_free(it);
}

static void assert_all_rows(const int *label, int count)
{
    bool met[ROWS + 1] = {false};
    assert_int_equal(count, ROWS);
    for (int i = 0; i < count; i++) {
        assert_in_range(label[i], 1, ROWS);
        assert_false(met[label[i]]);
        met[label[i]] = true;
    }
}

static bool same_labels(const int *a, const int *b, int count) { return memcmp(a, b, (size_t)count * sizeof *a) == 0; }

/* ---- the order of epochs ---- */

static hr_dataset *shuffled(void) { return hr_shuffle(uncounted(), ROWS, .seed = 7); }

static void epochs_of_data_of_an_unknown_number_are_those_of_repeat(void **state)
{
    (void)state;
    static int want[3 * ROWS];
    seen s = {.before = 0}, again = {.before = 0};
    see(&s, shuffled(), 1, (hr_fit_opts){.epochs = 3});
    see(&again, shuffled(), 2, (hr_fit_opts){.epochs = 3}); /* the shuffle has a seed of its own */
    labels_of_repeat(shuffled(), 3, 99, want, 3 * ROWS);
    for (int e = 0; e < 3; e++) {
        assert_all_rows(s.label[e], s.batches[e]);
        assert_true(same_labels(s.label[e], again.label[e], ROWS));
        assert_true(same_labels(s.label[e], want + e * ROWS, ROWS));
        for (int before = 0; before < e; before++) assert_false(same_labels(s.label[e], s.label[before], ROWS));
    }
}

static hr_dataset *sampled(void)
{
    hr_dataset *both[] = {uncounted(), uncounted()};
    return hr_take(hr_sample_from_datasets(both, 2, .seed = 3), ROWS);
}

static hr_dataset *joined(void) { return hr_concatenate(uncounted(), hr_shuffle(uncounted(), 4)); }

static void all_that_draws_does_so_anew_in_each_epoch(void **state)
{
    (void)state;
    hr_dataset *(*const make[])(void) = {sampled, joined};
    for (int k = 0; k < 2; k++) {
        static int want[6 * ROWS];
        seen s = {.before = 0};
        see(&s, make[k](), 5, (hr_fit_opts){.epochs = 3});
        const int count = s.batches[0];
        labels_of_repeat(make[k](), 3, 5, want, 3 * count);
        for (int e = 0; e < 3; e++) assert_true(same_labels(s.label[e], want + e * count, count));
        assert_false(same_labels(s.label[0], s.label[1], count));
        assert_false(same_labels(s.label[1], s.label[2], count));
    }
}

/* By the pipeline's seed, also if it was drawn. */
static void an_order_that_is_to_stay_stays(void **state)
{
    (void)state;
    for (int64_t seed = 0; seed < 2; seed++) {
        seen s = {.before = 0};
        hr_dataset *held = hr_shuffle(uncounted(), ROWS, .same_each_epoch = true);
        see(&s, hr_skip(hr_dataset_ref(held), 5), seed,
            (hr_fit_opts){.epochs = 3, .validation_data = hr_take(held, 5)});
        for (int e = 0; e < 3; e++) {
            int all[ROWS];
            assert_int_equal(s.batches[e], ROWS - 5);
            assert_int_equal(s.tests[e], 5);
            memcpy(all, s.tested[e], 5 * sizeof *all);
            memcpy(all + 5, s.label[e], (ROWS - 5) * sizeof *all);
            assert_all_rows(all, ROWS); /* no row is in both parts */
            assert_true(same_labels(s.label[e], s.label[0], ROWS - 5));
            assert_true(same_labels(s.tested[e], s.tested[0], 5));
        }
    }
}

/* As many as that are known, or not. */
static void each_validation_is_an_epoch_of_its_data(void **state)
{
    (void)state;
    static int want[3 * ROWS];
    for (int known = 0; known < 2; known++) {
        hr_dataset *ds = hr_shuffle(known ? rows() : uncounted(), ROWS, .seed = 3);
        seen s = {.before = 0};
        see(&s, uncounted(), 1,
            (hr_fit_opts){.epochs = 3, .validation_data = hr_dataset_ref(ds), .validation_steps = ROWS});
        labels_of_repeat(ds, 3, 1, want, 3 * ROWS);
        for (int e = 0; e < 3; e++) assert_true(same_labels(s.tested[e], want + e * ROWS, ROWS));
        assert_false(same_labels(s.tested[0], s.tested[1], ROWS));
    }
}

static void a_training_that_begins_later_has_later_epochs(void **state)
{
    (void)state;
    seen whole = {.before = 0}, first = {.before = 0}, rest = {.before = 0};
    see(&whole, shuffled(), 1, (hr_fit_opts){.epochs = 4});
    see(&rest, shuffled(), 1, (hr_fit_opts){.epochs = 4, .initial_epoch = 2});
    for (int e = 2; e < 4; e++) assert_true(same_labels(whole.label[e], rest.label[e], ROWS));
    rest = first;
    see(&first, rows(), 1, (hr_fit_opts){.epochs = 1});
    see(&rest, rows(), 1, (hr_fit_opts){.epochs = 2, .initial_epoch = 1});
    assert_all_rows(rest.label[1], rest.batches[1]);
    assert_false(same_labels(first.label[0], rest.label[1], ROWS));
}

/* ---- numbers of batches ---- */

static void assert_same_training(hr_model *a, const hr_history *x, hr_model *b, const hr_history *y)
{
    if (!x || !y) fail_msg("%s", hr_model_error(x ? b : a)->text);
    assert_int_equal(x->epochs, y->epochs);
    assert_int_equal(x->keys, y->keys);
    for (int i = 0; i < x->keys; i++)
        assert_memory_equal(x->values[i], y->values[i], (size_t)x->epochs * sizeof(double));
    for (int i = 0; i < hr_model_weights(a); i++) {
        hr_tensor v, w;
        assert_int_equal(hr_get_weight(a, i, &v, NULL), HR_OK);
        assert_int_equal(hr_get_weight(b, i, &w, NULL), HR_OK);
        assert_memory_equal(v.data, w.data, (size_t)v.count * sizeof(float));
        hr_tensor_clear(&v);
        hr_tensor_clear(&w);
    }
    hr_model_free(a);
    hr_model_free(b);
}

/* Last batches that are short, one batch of all, weights of classes, steps over the end of an epoch. */
static void data_train_alike_whether_their_number_is_known_or_not(void **state)
{
    (void)state;
    static const hr_class_weight weights[] = {{0, 1}, {1, 3}, {2, 0.5f}, {3, 1}, {4, 2},  {5, 1},
                                              {6, 1}, {7, 2}, {8, 0},    {9, 1}, {10, 4}, {11, 1}};
    for (int64_t batch = 0; batch <= ROWS + 1; batch++)
        for (int k = 0; k < 4; k++) {
            hr_fit_opts o = {.struct_size = sizeof o, .batch_size = batch, .epochs = 3, .no_shuffle = true};
            if (k & 1) o.steps_per_epoch = 2;
            if (k & 2) o.class_weight = (hr_class_weight_list){weights, ROWS + 1};
            hr_model *a = k & 2 ? classifier() : moving_model(), *b = k & 2 ? classifier() : moving_model();
            o.validation_data = rows();
            const hr_history *x = hr_fit_with(a, rows(), &o);
            o.validation_data = uncounted();
            const hr_history *y = hr_fit_with(b, uncounted(), &o);
            assert_same_training(a, x, b, y);
        }
}

/* As in Keras: then each epoch has all of them. Fewer steps go on where the epoch before was. */
static void batches_of_which_all_are_an_epoch_begin_again(void **state)
{
    (void)state;
    seen s = {.before = 0};
    see(&s, hr_batch(rows(), 1), 1, (hr_fit_opts){.epochs = 3, .steps_per_epoch = ROWS});
    for (int e = 0; e < 3; e++) assert_all_rows(s.label[e], s.batches[e]);
    s = (seen){.before = 0};
    see(&s, hr_batch(uncounted(), 1), 1, (hr_fit_opts){.epochs = 3, .steps_per_epoch = 4});
    assert_int_equal(s.batches[0] + s.batches[1] + s.batches[2], ROWS);
    assert_int_equal(s.label[1][0], 5);
    assert_int_equal(s.batches[2], 3);
}

/* ---- data without an end, and without a second time ---- */

static void data_without_an_end_need_a_number_of_steps(void **state)
{
    (void)state;
    hr_tensor out = {0};
    hr_model *m = still_model(1);
    assert_null(hr_fit(m, hr_repeat(rows())));
    assert_string_equal(hr_model_error(m)->kind, "models.endless");
    assert_null(hr_fit(m, rows(), .validation_data = hr_batch(hr_repeat(rows()), 2)));
    assert_string_equal(hr_model_error(m)->kind, "models.endless");
    assert_text_contains(hr_model_error(m)->text, "validation_steps");
    assert_null(hr_model_evaluate(m, hr_repeat(rows())));
    assert_string_equal(hr_model_error(m)->kind, "models.endless");
    assert_int_equal(hr_model_predict(m, hr_repeat(rows()), &out), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_model_error(m)->kind, "models.endless");

    const hr_history *h = hr_fit(m, hr_repeat(rows()), .epochs = 2, .steps_per_epoch = 3,
                                 .validation_data = hr_repeat(rows()), .validation_steps = 2);
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    assert_int_equal(h->epochs, 2);
    assert_non_null(hr_model_evaluate(m, hr_repeat(rows()), .steps = 1));
    assert_int_equal(hr_model_predict(m, hr_repeat(rows()), &out, .steps = 1, .batch_size = 3), HR_OK);
    assert_int_equal(out.shape.dims[0], 3);
    hr_tensor_clear(&out);
    hr_model_free(m);
}

static hr_status give_until_empty(int64_t number, hr_builder *out, hr_call *call, void *user)
{
    (void)number, (void)call;
    int *left = user;
    if (*left == 0) return HR_END;
    *(float *)hr_set(out, "0") = 1;
    *(float *)hr_set(out, "1") = (float)(*left)--;
    return HR_OK;
}

static const hr_field pair_field[] = {{.name = "0", .dtype = HR_FLOAT}, {.name = "1", .dtype = HR_FLOAT}};
static const hr_schema pair_schema = {.fields = 2, .field = pair_field};

static void data_that_come_only_once_end_the_training(void **state)
{
    (void)state;
    int left = 6;
    noted n = {0};
    hr_model *m = still_model(1);
    hr_set_log(note_warning, &n);
    const hr_history *h = hr_fit(m, hr_from_generator(give_until_empty, &left, .output = &pair_schema), .epochs = 3);
    hr_set_log(NULL, NULL);
    if (!h) fail_msg("%s", hr_model_error(m)->text);
    assert_int_equal(h->epochs, 1);
    assert_int_equal(n.warnings, 1);
    assert_text_contains(n.last, "gave nothing in epoch 1");
    hr_model_free(m);
}

static void no_data_at_all_are_an_error(void **state)
{
    (void)state;
    hr_model *m = still_model(1);
    for (int64_t steps = 0; steps < 3; steps++)
        for (int batched = 0; batched < 2; batched++) {
            hr_dataset *none = hr_skip(uncounted(), ROWS);
            assert_null(hr_fit(m, batched ? hr_batch(none, 2) : none, .epochs = 2, .steps_per_epoch = steps));
            assert_string_equal(hr_model_error(m)->kind, "models.empty");
        }
    assert_null(hr_fit(m, rows(), .initial_epoch = INT64_MAX, .epochs = INT64_MAX));
    assert_string_equal(hr_model_error(m)->kind, "models.argument");
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_of_data_of_an_unknown_number_are_those_of_repeat),
        cmocka_unit_test(all_that_draws_does_so_anew_in_each_epoch),
        cmocka_unit_test(an_order_that_is_to_stay_stays),
        cmocka_unit_test(each_validation_is_an_epoch_of_its_data),
        cmocka_unit_test(a_training_that_begins_later_has_later_epochs),
        cmocka_unit_test(data_train_alike_whether_their_number_is_known_or_not),
        cmocka_unit_test(batches_of_which_all_are_an_epoch_begin_again),
        cmocka_unit_test(data_without_an_end_need_a_number_of_steps),
        cmocka_unit_test(data_that_come_only_once_end_the_training),
        cmocka_unit_test(no_data_at_all_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
