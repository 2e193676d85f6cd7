/* Warm starts: which variables get values of a checkpoint, which keep their own, and what is refused. */
#include "tests/testing.h"
#include "tests/train/estimator/trainings.h"
#include <headrace/checkpoint.h>
#include <headrace/heads.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a checkpoint, and a graph of one's own ---- */

static void write_text(const char *path, const char *text) { write_file(path, text, strlen(text)); }

/* Rows of "table" belong to the words a, b, c; columns of "logits" too; "bias" and "step" are what they are. */
static void write_old(void)
{
    hr_bundle_writer *w;
    hr_error err = {0};
    const float table[] = {1, 2, 3, 4, 5, 6}, logits[] = {1, 2, 3, 4, 5, 6}, bias[] = {7, 8};
    const int64_t step = 9;
    const hr_tensor all[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), table),
                             hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), logits), hr_tensor_of(HR_FLOAT, HR_SHAPE(2), bias),
                             hr_tensor_of(HR_INT64, HR_SCALAR, &step)};
    const char *const names[] = {"table", "logits", "bias", "step"};
    write_text("old.txt", "a\nb\nc\n");
    write_text("new.txt", "c\nx\na\n");
    assert_ok(hr_bundle_writer_open("old.ckpt", &w, &err), &err);
    for (int i = 0; i < 4; i++) assert_ok(hr_bundle_add(w, names[i], &all[i], &err), &err);
    assert_ok(hr_bundle_writer_commit(w, &err), &err);
}

typedef struct own_graph {
    hr_graph *g;
    hr_session *s;
    hr_error err;
} own_graph;

/* All variables begin with -1, but the step with 0. */
static own_graph begin_own(int64_t rows, int64_t columns, bool pieces)
{
    own_graph o = {.g = hr_graph_new()};
    const hr_initializer minus = hr_constant_value(-1);
    const hr_partitioner two = hr_fixed_size_partitioner(2, 0);
    hr_get_variable(o.g, "table", HR_FLOAT, HR_SHAPE(rows, 2), .initializer = minus,
                    .partitioner = pieces ? two : (hr_partitioner){0});
    hr_get_variable(o.g, "logits", HR_FLOAT, HR_SHAPE(2, columns), .initializer = minus);
    hr_get_variable(o.g, "bias", HR_FLOAT, HR_SHAPE(2), .initializer = minus);
    hr_get_variable(o.g, "step", HR_INT64, HR_SCALAR, .initializer = hr_zeros(), .not_trainable = true);
    const hr_node init = hr_target(hr_global_variables_initializer(o.g));
    o.s = hr_session_new(o.g);
    assert_ok(hr_session_run(o.s, NULL, 0, &init, 1, NULL, &o.err), &o.err);
    return o;
}

static void end_own(own_graph *o)
{
    hr_session_free(o->s);
    hr_graph_free(o->g);
}

static void assert_values(own_graph *o, const char *name, const float *expected, int count)
{
    hr_tensor value;
    assert_ok(hr_session_get(o->s, hr_variable_named(o->g, name)->handle, &value, &o->err), &o->err);
    assert_int_equal(value.count, count);
    for (int i = 0; i < count; i++) assert_float_equal(((const float *)value.data)[i], expected[i], 0);
    hr_tensor_clear(&value);
}

static int64_t step_of(own_graph *o)
{
    hr_tensor value;
    assert_ok(hr_session_get(o->s, hr_variable_named(o->g, "step")->handle, &value, &o->err), &o->err);
    const int64_t step = *(const int64_t *)value.data;
    hr_tensor_clear(&value);
    return step;
}

static void trainable_variables_get_their_values_by_default(void **state)
{
    (void)state;
    write_old();
    own_graph o = begin_own(3, 3, false);
    assert_ok(hr_warm_start(o.g, o.s, HR_WARM_START("old.ckpt"), &o.err), &o.err);
    assert_values(&o, "table", HR_F32(1, 2, 3, 4, 5, 6), 6);
    assert_values(&o, "bias", HR_F32(7, 8), 2);
    assert_int_equal(step_of(&o), 0);
    end_own(&o);
}

static void an_expression_chooses_among_trained_variables_and_a_list_among_all(void **state)
{
    (void)state;
    write_old();
    own_graph o = begin_own(3, 3, false);
    assert_ok(hr_warm_start(o.g, o.s, HR_WARM_START("old.ckpt", .vars_to_warm_start = "b|step"), &o.err), &o.err);
    assert_values(&o, "bias", HR_F32(7, 8), 2);
    assert_values(&o, "logits", HR_F32(-1, -1, -1, -1, -1, -1), 6);
    assert_int_equal(step_of(&o), 0);
    assert_ok(
        hr_warm_start(o.g, o.s, HR_WARM_START("old.ckpt", .var_list = HR_VOCABULARY("step", "log.ts:0$")), &o.err),
        &o.err);
    assert_int_equal(step_of(&o), 9);
    assert_values(&o, "logits", HR_F32(1, 2, 3, 4, 5, 6), 6);
    assert_values(&o, "table", HR_F32(-1, -1, -1, -1, -1, -1), 6);
    end_own(&o);
}

static void values_follow_their_words_along_either_axis(void **state)
{
    (void)state;
    write_old();
    own_graph o = begin_own(4, 4, false);
    const hr_vocab_info words = {.new_vocab = "new.txt",
                                 .old_vocab = "old.txt",
                                 .num_oov_buckets = 1,
                                 .backup_initializer = hr_constant_value(0.5)};
    hr_vocab_info info[] = {words, words};
    info[0].var_name = "table";
    info[1].var_name = "logits";
    info[1].axis = 1;
    assert_ok(hr_warm_start(o.g, o.s, HR_WARM_START("old.ckpt", .var_name_to_vocab_info = {info, 2}), &o.err), &o.err);
    assert_values(&o, "table", HR_F32(5, 6, 0.5f, 0.5f, 1, 2, 0.5f, 0.5f), 8);
    assert_values(&o, "logits", HR_F32(3, 0.5f, 1, 0.5f, 6, 0.5f, 4, 0.5f), 8);
    assert_values(&o, "bias", HR_F32(7, 8), 2);
    end_own(&o);
}

static void only_the_first_old_words_count_if_it_is_said_so(void **state)
{
    (void)state;
    write_old();
    own_graph o = begin_own(2, 3, false);
    const hr_warm_start_settings *w =
        HR_WARM_START("old.ckpt", .vocab_info_only = true,
                      .var_name_to_vocab_info = HR_VOCAB_INFO({"table", .new_vocab = "new.txt", .old_vocab = "old.txt",
                                                               .new_vocab_size = 2, .old_vocab_size = 2}));
    assert_ok(hr_warm_start(o.g, o.s, w, &o.err), &o.err);
    assert_values(&o, "table", HR_F32(0, 0, 0, 0), 4);
    assert_values(&o, "bias", HR_F32(-1, -1), 2);
    end_own(&o);
}

static void a_variable_in_pieces_is_warmed_as_a_whole(void **state)
{
    (void)state;
    write_old();
    own_graph o = begin_own(3, 3, true);
    assert_ok(hr_warm_start(o.g, o.s, HR_WARM_START("old.ckpt"), &o.err), &o.err);
    assert_values(&o, "table/part_0", HR_F32(1, 2, 3, 4), 4);
    assert_values(&o, "table/part_1", HR_F32(5, 6), 2);
    end_own(&o);
}

static void another_name_in_the_checkpoint_is_found(void **state)
{
    (void)state;
    write_old();
    own_graph o = begin_own(3, 3, false);
    assert_ok(hr_warm_start(o.g, o.s,
                            HR_WARM_START("old.ckpt", .vars_to_warm_start = "table",
                                          .var_name_to_prev_var_name = HR_PREV_VAR_NAMES({"table", "table"})),
                            &o.err),
              &o.err);
    assert_status(hr_warm_start(o.g, o.s,
                                HR_WARM_START("old.ckpt", .vars_to_warm_start = "bias",
                                              .var_name_to_prev_var_name = HR_PREV_VAR_NAMES({"bias", "logits"})),
                                &o.err),
                  HR_INVALID_ARGUMENT);
    assert_text_contains(o.err.text, "'bias' has the shape [2], but 'logits' has [2,3]");
    end_own(&o);
}

/* Nothing is changed by a warm start that fails. */
static void assert_not_warm(int64_t rows, const hr_warm_start_settings *w, hr_status status, const char *kind,
                            const char *part)
{
    own_graph o = begin_own(rows, 3, false);
    assert_status(hr_warm_start(o.g, o.s, w, &o.err), status);
    assert_string_equal(o.err.kind, kind);
    assert_text_contains(o.err.text, part);
    assert_values(&o, "bias", HR_F32(-1, -1), 2);
    end_own(&o);
}

static void mistakes_are_refused_before_anything_is_changed(void **state)
{
    (void)state;
    write_old();
    const hr_vocab_info table = {"table", .new_vocab = "new.txt", .old_vocab = "old.txt"};
    hr_vocab_info missing = table, unknown = table, odd = table, short_file = table;
    missing.new_vocab = "none.txt";
    unknown.var_name = "tabel";
    odd.axis = 2;
    short_file.new_vocab_size = 4;
    assert_not_warm(3, HR_WARM_START("none.ckpt"), HR_NOT_FOUND, "file.open", "none.ckpt");
    assert_not_warm(4, HR_WARM_START("old.ckpt"), HR_INVALID_ARGUMENT, "warm_start.variable", "[4,2]");
    assert_not_warm(4, HR_WARM_START("old.ckpt", .var_name_to_vocab_info = {&table, 1}), HR_INVALID_ARGUMENT,
                    "warm_start.vocabulary", "expected words and buckets of the new vocabulary");
    assert_not_warm(3, HR_WARM_START("old.ckpt", .var_name_to_vocab_info = {&unknown, 1}), HR_INVALID_ARGUMENT,
                    "warm_start.unused", "'tabel'");
    assert_not_warm(3, HR_WARM_START("old.ckpt", .var_name_to_vocab_info = {&odd, 1}), HR_INVALID_ARGUMENT,
                    "warm_start.argument", "axis 0 or 1");
    assert_not_warm(3, HR_WARM_START("old.ckpt", .var_name_to_vocab_info = {&missing, 1}), HR_INVALID_ARGUMENT,
                    "column.vocabulary_file", "none.txt");
    assert_not_warm(4, HR_WARM_START("old.ckpt", .var_name_to_vocab_info = {&short_file, 1}), HR_INVALID_ARGUMENT,
                    "column.vocabulary_size", "new.txt");
    assert_not_warm(3, HR_WARM_START("old.ckpt", .var_name_to_prev_var_name = HR_PREV_VAR_NAMES({"bias", "b"})),
                    HR_INVALID_ARGUMENT, "warm_start.variable", "expected 'b' in the checkpoint");
    assert_not_warm(3, HR_WARM_START("old.ckpt", .vars_to_warm_start = "("), HR_INVALID_ARGUMENT, "graph.pattern", "(");
    assert_not_warm(3, HR_WARM_START(NULL), HR_INVALID_ARGUMENT, "warm_start.argument", "ckpt_to_initialize_from");
}

/* ---- estimators ---- */

static double trained_loss(const hr_warm_start_settings *w, const char *dir, int64_t steps)
{
    test_input in = {.folder = "data", .epochs = 50, .batch = 48};
    hr_feature_column *age = hr_numeric_column("age");
    hr_train_result result;
    hr_estimator *e =
        hr_dnn_classifier(.model_dir = dir, .dnn_feature_columns = HR_COLUMNS(age), .dnn_hidden_units = HR_UNITS(4),
                          .dnn_optimizer = hr_sgd(0.001f), .config = {.tf_random_seed = 5}, .warm_start_from = w);
    hr_status st = hr_estimator_train(e, test_input_fn, &in, .steps = steps, .result = &result);
    if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
    st = hr_estimator_evaluate(e, test_eval_fn, &in);
    if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
    const double loss = hr_estimator_result(e, "loss");
    hr_estimator_free(e);
    hr_feature_column_unref(age);
    return loss;
}

static void an_estimator_starts_warm_only_without_a_checkpoint_of_its_own(void **state)
{
    (void)state;
    write_rows("data", ROWS);
    remove_folder("first");
    remove_folder("second");
    const double first = trained_loss(NULL, "first", 60);
    const double second = trained_loss(HR_WARM_START("first"), "second", 1);
    assert_true(fabs(first - second) < 0.02);
    assert_float_equal(trained_loss(HR_WARM_START("nowhere"), "second", 1), second, 0.02); /* goes on where it was */
}

static void evaluation_without_a_checkpoint_sees_the_warm_values(void **state)
{
    (void)state;
    write_rows("data", ROWS);
    remove_folder("first");
    remove_folder("cold");
    const double first = trained_loss(NULL, "first", 60);
    test_input in = {.folder = "data", .epochs = 1, .batch = 48};
    hr_feature_column *age = hr_numeric_column("age");
    hr_estimator *e = hr_dnn_classifier(.model_dir = "cold", .dnn_feature_columns = HR_COLUMNS(age),
                                        .dnn_hidden_units = HR_UNITS(4), .warm_start_from = HR_WARM_START("first"));
    assert_status(hr_estimator_evaluate(e, test_eval_fn, &in), HR_OK);
    assert_float_equal(hr_estimator_result(e, "loss"), first, 1e-6);
    hr_estimator_free(e);
    hr_feature_column_unref(age);
}

static void settings_that_are_none_stick_to_the_estimator(void **state)
{
    (void)state;
    test_input in = {.folder = "data", .epochs = 1, .batch = 48};
    hr_estimator *e = hr_baseline_estimator(.model_dir = "none", .head = hr_binary_class_head(),
                                            .warm_start_from = HR_WARM_START(""));
    assert_status(hr_estimator_train(e, test_input_fn, &in), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_estimator_error(e)->kind, "warm_start.argument");
    hr_estimator_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trainable_variables_get_their_values_by_default),
        cmocka_unit_test(an_expression_chooses_among_trained_variables_and_a_list_among_all),
        cmocka_unit_test(values_follow_their_words_along_either_axis),
        cmocka_unit_test(only_the_first_old_words_count_if_it_is_said_so),
        cmocka_unit_test(a_variable_in_pieces_is_warmed_as_a_whole),
        cmocka_unit_test(another_name_in_the_checkpoint_is_found),
        cmocka_unit_test(mistakes_are_refused_before_anything_is_changed),
        cmocka_unit_test(an_estimator_starts_warm_only_without_a_checkpoint_of_its_own),
        cmocka_unit_test(evaluation_without_a_checkpoint_sees_the_warm_values),
        cmocka_unit_test(settings_that_are_none_stick_to_the_estimator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
