/* Training files: every mistake has its line and column, and a way out. */
#include "tests/testing.h"
#include <headrace/checkpoint.h>
#include <headrace/training_file.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] = "schema:\n"
                             "  int64: [late, hour]\n"
                             "  float: [temp]\n"
                             "  string: [origin]\n"
                             "  label: late\n";
static const char columns[] = "columns:\n"
                              "  temp: {numeric: temp}\n"
                              "  origin: {vocabulary_list: [A, B]}\n"
                              "  hour: {identity: 24}\n";
static const char model[] = "model:\n"
                            "  estimator: dnn_linear_combined_classifier\n"
                            "  linear_feature_columns: [origin, hour]\n"
                            "  linear_optimizer: {ftrl: {learning_rate: 0.1}}\n"
                            "  dnn_feature_columns: [temp, indicator origin]\n"
                            "  dnn_optimizer: adagrad\n"
                            "  dnn_hidden_units: [8, 4]\n";
static const char train[] = "train:\n"
                            "  files: train-*\n"
                            "  eval_files: test-*\n"
                            "  batch_size: 16\n"
                            "  max_steps: 100\n";

static const hr_training_opts no_opts;

static hr_status open_text(const char *text, const hr_training_opts *o, hr_training **t, hr_error *err)
{
    write_file("training.yaml", text, strlen(text));
    return hr_training_open_with("training.yaml", o, t, err);
}

/* The whole file with one part replaced. */
static void with_part(char *to, size_t size, const char *part, const char *by)
{
    const char *all[] = {schema, columns, model, train};
    size_t at = 0;
    for (int i = 0; i < 4; i++) at += (size_t)snprintf(to + at, size - at, "%s", all[i] == part ? by : all[i]);
}

/* Replaces the first `from` of a part by `to`. */
static void edited(char *out, size_t size, const char *part, const char *from, const char *to)
{
    char text[4096];
    const char *at = strstr(part, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - part), part, to, at + strlen(from));
    with_part(out, size, part, text);
}

static void a_whole_file_is_read(void **state)
{
    (void)state;
    char text[8192];
    hr_training *t;
    hr_error err = {0};
    with_part(text, sizeof text, NULL, NULL);
    assert_ok(open_text(text, &(hr_training_opts){.data = "some/where"}, &t, &err), &err);
    assert_string_equal(hr_training_files(t), "some/where/train-*");
    assert_string_equal(hr_training_eval_files(t), "some/where/test-*");
    assert_string_equal(hr_training_model_dir(t), "some/where/model");
    assert_int_equal(hr_training_batch_size(t), 16);
    assert_int_equal(hr_training_max_steps(t), 100);
    assert_int_equal(hr_training_epochs(t), 1);
    hr_estimator *e = hr_training_estimator(t);
    assert_non_null(e);
    hr_estimator_free(e);
    hr_training_free(t);
}

static void the_command_line_has_the_last_word(void **state)
{
    (void)state;
    char text[8192];
    hr_training *t;
    hr_error err = {0};
    const int64_t seed = 7;
    with_part(text, sizeof text, NULL, NULL);
    hr_training_opts o = {.data = "d",
                          .model_dir = "elsewhere",
                          .estimator = "linear_classifier",
                          .seed = &seed,
                          .epochs = 3,
                          .batch_size = 5};
    assert_ok(open_text(text, &o, &t, &err), &err);
    assert_string_equal(hr_training_model_dir(t), "elsewhere");
    assert_int_equal(hr_training_batch_size(t), 5);
    assert_int_equal(hr_training_epochs(t), 3);
    assert_int_equal(hr_training_seed(t), 7);
    hr_training_free(t);
    o.estimator = "linear_clasifier";
    assert_status(open_text(text, &o, &t, &err), HR_INVALID_ARGUMENT);
    assert_null(t);
    assert_text_contains(err.text, "linear_classifier");
}

/* Every mistake: in which part, what is written in place of what, where it is found, what the error says. */
typedef struct mistake {
    const char *part, *from, *to;
    int line, column;
    const char *says;
} mistake;

static const mistake mistakes[] = {
    {model, "model:", "modell:", 10, 1, "model"},
    {model, "  dnn_optimizer:", "  dnn_optimiser:", 15, 3, "dnn_optimizer"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_clasifier", 11, 14,
     "dnn_linear_combined_classifier"},
    {model, "estimator: dnn_linear_combined_classifier", "dnn_dropout: 0.5", 11, 3, "estimator"},
    {model, "[origin, hour]", "[origin, houre]", 12, 36, "hour"},
    {model, "[origin, hour]", "[]", 12, 27, ""},
    {model, "[origin, hour]", "origin", 12, 27, ""},
    {model, "  linear_feature_columns: [origin, hour]\n", "", 11, 3, "linear_feature_columns"},
    {model, "ftrl:", "ftrll:", 13, 21, "ftrl"},
    {model, "learning_rate", "learning_rat", 13, 29, "learning_rate"},
    {model, "0.1", "fast", 13, 44, "fast"},
    {model, "0.1", "-0.1", 13, 44, "-0.1"},
    {model, "{ftrl: {learning_rate: 0.1}}", "[ftrl]", 13, 21, "optimizer"},
    {model, "adagrad", "adagard", 15, 18, "adagrad"},
    {model, "[temp, indicator origin]", "[temp, origin]", 14, 31, "origin"},
    {model, "[temp, indicator origin]", "[temp, indicater origin]", 14, 31, "indicater origin"},
    {model, "[8, 4]", "[8, 0]", 16, 25, "0"},
    {model, "[8, 4]", "[8, four]", 16, 25, "four"},
    {model, "[8, 4]", "8", 16, 21, ""},
    {model, "  dnn_hidden_units: [8, 4]\n", "", 11, 3, "dnn_hidden_units"},
    {model, "[8, 4]\n", "[8, 4]\n  dnn_dropout: often\n", 17, 16, "often"},
    {model, "[8, 4]\n", "[8, 4]\n  dnn_dropout: 1.5\n", 17, 16, "1.5"},
    {model, "[8, 4]\n", "[8, 4]\n  dnn_activation_fn: rellu\n", 17, 22, "relu"},
    {train, "train:", "trian:", 17, 1, "train"},
    {train, "  batch_size", "  batchsize", 20, 3, "batch_size"},
    {train, "16", "0", 20, 15, "0"},
    {train, "16", "many", 20, 15, "many"},
    {train, "  files: train-*\n", "", 18, 3, "files"},
    {train, "100", "-3", 21, 14, "-3"},
    {train, "max_steps: 100", "epochs: 0", 21, 11, "0"},
    {train, "max_steps: 100", "shuffle: -1", 21, 12, "-1"},
    {train, "max_steps: 100", "shuffle: most", 21, 12, "or all"},
    {train, "max_steps: 100", "shuffle: [all]", 21, 12, "or all"},
    {train, "max_steps: 100", "seed: x", 21, 9, "x"},
    {train, "max_steps: 100", "cycle_length: 0", 21, 17, "0"},
    {train, "max_steps: 100", "save_checkpoints_secs: soon", 21, 26, "soon"},
    {train, "max_steps: 100", "products: half", 21, 13, "float or bfloat16"},
    {train, "max_steps: 100", "max_steps: 100\n  max_steps: 7", 22, 3, "max_steps"},
    {model, "[origin, hour]", "[origin, origin]", 12, 27, "origin"},
    {schema, "  label: late\n", "", 2, 3, "label"},
    {model, "[8, 4]\n", "[8, 4]\n  n_classes: 1\n", 17, 14, "from 2"},
    {model, "[8, 4]\n", "[8, 4]\n  n_classes: two\n", 17, 14, "two"},
    {model, "[8, 4]\n", "[8, 4]\n  n_clases: 3\n", 17, 3, "n_classes"},
    {model, "[8, 4]\n", "[8, 4]\n  n_classes: 3\n  thresholds: [0.5]\n", 11, 3, "thresholds"},
    {model, "[8, 4]\n", "[8, 4]\n  label_vocabulary: [a]\n", 17, 21, "two classes"},
    {model, "[8, 4]\n", "[8, 4]\n  label_vocabulary: {a: b}\n", 17, 21, "list"},
    {model, "[8, 4]\n", "[8, 4]\n  label_vocabulary: [a, b]\n", 17, 21, "a label of strings"},
    {model, "[8, 4]\n", "[8, 4]\n  label_vocabulary: [a, b, c]\n  n_classes: 4\n", 18, 14, "3"},
    {model, "[8, 4]\n", "[8, 4]\n  weight_column: wait\n", 17, 18, "field"},
    {model, "[8, 4]\n", "[8, 4]\n  weight_column: origin\n", 17, 18, "numbers"},
    {model, "[8, 4]\n", "[8, 4]\n  weight_column: [temp]\n", 17, 18, "a text"},
    {model, "[8, 4]\n", "[8, 4]\n  weight_column: temp\n", 17, 18, "weight_column"},
    {model, "[8, 4]\n", "[8, 4]\n  loss_reduction: summ\n", 17, 19, "sum"},
    {model, "[8, 4]\n", "[8, 4]\n  loss_reduction: mean\n", 17, 19, "sum"},
    {model, "[8, 4]\n", "[8, 4]\n  thresholds: 0.5\n", 17, 15, "list"},
    {model, "[8, 4]\n", "[8, 4]\n  thresholds: [1]\n", 17, 16, "between 0 and 1"},
    {model, "[8, 4]\n", "[8, 4]\n  batch_norm: often\n", 17, 15, "often"},
    {model, "[8, 4]\n", "[8, 4]\n  v1: 1\n", 17, 7, "true or false"},
    {model, "[8, 4]\n", "[8, 4]\n  sparse_combiner: summ\n", 17, 20, "sum"},
    {model, "[8, 4]\n", "[8, 4]\n  label_dimension: 2\n", 17, 3, "unknown key"},
    {model, "[8, 4]\n", "[8, 4]\n  head: regression\n", 17, 3, "unknown key"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator", 11, 3, "head"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: regresion", 12, 9, "regression"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: [regression]", 12, 10, "label"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: {}", 12, 9, "one head"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: multi_class", 12, 9, "n_classes"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: {multi_class: {n_classes: 2}}",
     12, 23, "3 or more"},
    {model, "dnn_linear_combined_classifier",
     "dnn_linear_combined_estimator\n  head: {multi_label: {metric_classes: [7]}}", 12, 41, "from 0 to 1"},
    {model, "dnn_linear_combined_classifier",
     "dnn_linear_combined_estimator\n  head: {regression: {label_dimension: 0}}", 12, 40, "0"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: {regression: {n_classes: 3}}", 12,
     23, "unknown key"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_regressor\n  label_dimension: 0", 12, 20, "0"},
    {train, "16", "16\n  learning_rate: fast", 21, 18, "fast"},
    {train, "16", "16\n  learning_rate: 0", 21, 18, "above 0"},
    {train, "16", "16\n  format: xml", 21, 11, "csv"},
    {train, "16", "16\n  require: lat", 21, 12, "late"},
    {train, "16", "16\n  require: [late, tmp]", 21, 19, "temp"},
    {train, "16", "16\n  csv: {delimitter: a}", 21, 9, "delimiter"},
    {train, "16", "16\n  csv: {delimiter: ab}", 21, 20, "one byte"},
    {train, "16", "16\n  csv: {no_header: 3}", 21, 20, "true or false"},
    {train, "16", "16\n  csv: {skip_lines: -1}", 21, 21, "-1"},
    {train, "16", "16\n  csv: {na_value: {a: b}}", 21, 19, "list"},
    {train, "16", "16\n  csv: [x]", 21, 8, "mapping"},
    {model, "[8, 4]\n", "[8, 4]\n  label: lat\n", 17, 10, "late"},
    {model, "[8, 4]\n", "[8, 4]\n  label: origin\n", 17, 10, "'origin' is a string"},
    {model, "[8, 4]\n", "[8, 4]\n  class_weights: {2: 3}\n", 17, 19, "from 0 to 1"},
    {model, "[8, 4]\n", "[8, 4]\n  class_weights: {a: 3}\n", 17, 19, "from 0 to 1"},
    {model, "[8, 4]\n", "[8, 4]\n  class_weights: {1: -1}\n", 17, 22, "0 or more"},
    {model, "[8, 4]\n", "[8, 4]\n  class_weights: [1, 2]\n", 17, 18, "mapping"},
    {columns, "columns:\n", "derived:\n  ratio: {ratio: [temp, tmp]}\ncolumns:\n", 7, 25, "temp"},
    {columns, "columns:\n", "derived:\n  ratio: {rato: [temp, hour]}\ncolumns:\n", 7, 11, "ratio"},
    {schema, "label: late", "label: origin", 5, 10, "'origin' is a string"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: []", 12, 9, "a head or more"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: [{regression: {label: tmp}}]", 12,
     31, "temp"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: [{regresion: {label: temp}}]", 12,
     11, "regression"},
    {model, "dnn_linear_combined_classifier",
     "dnn_linear_combined_estimator\n  head: [{regression: {label: temp, n_classes: 3}}]", 12, 37, "unknown key"},
    {model, "dnn_linear_combined_classifier",
     "dnn_linear_combined_estimator\n  head: [{regression: {label: temp, head_weight: 0}}]", 12, 50, "above 0"},
    {model, "dnn_linear_combined_classifier",
     "dnn_linear_combined_estimator\n  head: [{regression: {label: temp, name: a b}}]", 12, 43, "letters"},
    {model, "dnn_linear_combined_classifier",
     "dnn_linear_combined_estimator\n  head: [{regression: {label: hour}}, {poisson_regression: {label: hour}}]", 12,
     68, "no head before"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: [{regression: {label: origin}}]",
     12, 31, "the head's label_vocabulary"},
    {model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator\n  head: [{regression: [hour]}]", 12, 23,
     "mapping"},
    {model, "dnn_linear_combined_classifier",
     "dnn_linear_combined_estimator\n  head: [{regression: {label: late}}]\n  label: late", 13, 10, "each has its own"},
    {model, "dnn_linear_combined_classifier",
     "dnn_linear_combined_estimator\n  head: [{regression: {label: late}}, {regression: {name: two, label: temp}}]", 12,
     71, "no column reads"},
    {model, "[8, 4]\n", "[8, 4]\n  warm_start_from: {ckpt_to_initialize_form: old}\n", 17, 21,
     "ckpt_to_initialize_from"},
    {model, "[8, 4]\n", "[8, 4]\n  warm_start_from: {vars_to_warm_start: dnn}\n", 17, 20, "ckpt_to_initialize_from"},
    {model, "[8, 4]\n", "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, vars_to_warm_start: (}\n", 17, 71,
     "parenthesis"},
    {model, "[8, 4]\n", "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, vars_to_warm_start: []}\n", 17, 71,
     "an expression or more"},
    {model, "[8, 4]\n", "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, vars_to_warm_start: [dnn, (]}\n", 17,
     77, "parenthesis"},
    {model, "[8, 4]\n", "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, var_name_to_prev_var_name: [a]}\n",
     17, 78, "mapping"},
    {model, "[8, 4]\n",
     "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, var_name_to_prev_var_name: {a: [b]}}\n", 17, 82,
     "text"},
    {model, "[8, 4]\n",
     "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, var_name_to_vocab_info: {v: {new_vocab: a}}}\n", 17, 79,
     "old_vocab"},
    {model, "[8, 4]\n",
     "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, var_name_to_vocab_info: {v: {new_vocb: a}}}\n", 17, 80,
     "new_vocab"},
    {model, "[8, 4]\n",
     "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, var_name_to_vocab_info: {v: {new_vocab: a, old_vocab: "
     "b, axis: 2}}}\n",
     17, 114, "from 0 to 1"},
    {model, "[8, 4]\n",
     "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, var_name_to_vocab_info: {v: {new_vocab: a, old_vocab: "
     "b, backup_initializer: zero}}}\n",
     17, 128, "zeros"},
    {model, "[8, 4]\n", "[8, 4]\n  warm_start_from: {ckpt_to_initialize_from: old, vocab_info_only: true}\n", 17, 68,
     "var_name_to_vocab_info"},
    {model, "dnn_linear_combined_classifier", "rnn_classifier", 11, 3, "sequence_feature_columns"},
    {model, "dnn_linear_combined_classifier", "rnn_classifier\n  sequence_feature_columns: [temp]", 12, 30, "temp"},
    {model, "dnn_linear_combined_classifier", "rnn_classifier\n  sequence_feature_columns: [{sequence_numeric: temp}]",
     11, 3, "units"},
    {model, "dnn_linear_combined_classifier",
     "rnn_classifier\n  sequence_feature_columns: [{sequence_numeric: temp}]\n  units: []", 13, 10, "a layer or more"},
    {model, "dnn_linear_combined_classifier",
     "rnn_classifier\n  sequence_feature_columns: [{sequence_numeric: temp}]\n  units: [4]\n  cell_type: lstn", 14, 14,
     "lstm"},
    {model, "dnn_linear_combined_classifier",
     "rnn_classifier\n  sequence_feature_columns: [{sequence_numeric: temp}]\n  units: [4]\n  optimizer: adm", 14, 14,
     "adam"},
    {model, "dnn_linear_combined_classifier",
     "rnn_classifier\n  sequence_feature_columns: [{sequence_numeric: temp}]\n  units: [4]\n  context_feature_columns: "
     "[origin]",
     14, 29, "origin"},
    {model, "dnn_linear_combined_classifier",
     "rnn_classifier\n  sequence_feature_columns: [{sequence_numeric: temp}]\n  units: [4]\n  v1: true", 14, 7,
     "no form of v1"},
    {model, "dnn_linear_combined_classifier", "rnn_classifier\n  warm_start_from: old", 12, 20, "no warm start"},
};

static void every_mistake_is_told_with_its_place_and_a_way_out(void **state)
{
    (void)state;
    char text[8192], place[64];
    int wrong = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const mistake *m = &mistakes[i];
        hr_training *t = NULL;
        hr_error err = {0};
        edited(text, sizeof text, m->part, m->from, m->to);
        hr_status st = open_text(text, &no_opts, &t, &err);
        snprintf(place, sizeof place, "training.yaml:%d:%d:", m->line, m->column);
        if (st != HR_INVALID_ARGUMENT || strncmp(err.text, place, strlen(place)) != 0 || !strstr(err.text, m->says)) {
            print_message("\"%s\": expected %s ...%s..., got %s %s\n", m->to, place, m->says, hr_status_name(st),
                          err.text);
            wrong++;
        }
        hr_training_free(t);
    }
    assert_int_equal(wrong, 0);
}

/* Lack of memory is told as such, or not at all: never as a mistake without its place. */
static void a_mistake_is_told_whole_or_not_at_all(void **state)
{
    (void)state;
    char text[8192], whole[sizeof((hr_error *)0)->text];
    hr_training *t;
    hr_error err = {0};
    edited(text, sizeof text, model, "[8, 4]", "[8, four]");
    fail_allocation(-1);
    assert_status(open_text(text, &no_opts, &t, &err), HR_INVALID_ARGUMENT);
    const int64_t count = allocations_since();
    snprintf(whole, sizeof whole, "%s", err.text);
    for (int64_t i = 0; i < count; i++) {
        fail_allocation(i);
        const hr_status st = open_text(text, &no_opts, &t, &err);
        allocations_since();
        if (st == HR_RESOURCE_EXHAUSTED) continue;
        assert_status(st, HR_INVALID_ARGUMENT);
        assert_string_equal(err.text, whole);
    }
}

static void files_that_are_none_are_told(void **state)
{
    (void)state;
    hr_training *t;
    hr_error err = {0};
    assert_status(hr_training_open_with("nowhere.yaml", &no_opts, &t, &err), HR_NOT_FOUND);
    assert_text_contains(err.text, "nowhere.yaml");
    assert_not_ok(open_text("", &no_opts, &t, &err));
    assert_not_ok(open_text("model: [1, 2\n", &no_opts, &t, &err));
    assert_text_contains(err.text, "training.yaml:");
}

static void the_example_is_read(void **state)
{
    (void)state;
    hr_training *t;
    hr_error err = {0};
    assert_ok(hr_training_open_with(EXAMPLES "/flights.yaml", &no_opts, &t, &err), &err);
    assert_int_equal(hr_training_batch_size(t), 256);
    hr_estimator *e = hr_training_estimator(t);
    assert_non_null(e);
    hr_estimator_free(e);
    hr_training_free(t);
}

/* ---- values from outside ---- */

static void values_are_set_before_the_file_is_read(void **state)
{
    (void)state;
    char text[8192];
    hr_training *t;
    hr_error err = {0};
    static const char *const set[] = {"train.batch_size=4", "model.dnn_hidden_units=[3]",
                                      "model.dnn_optimizer=", "train.learning_rate=0.25"};
    with_part(text, sizeof text, NULL, NULL);
    write_file("training.yaml", text, strlen(text));
    assert_ok(hr_training_open("training.yaml", &t, &err, .set = set, .set_count = 4), &err);
    assert_int_equal(hr_training_batch_size(t), 4);
    assert_text_contains(hr_training_identity(t), "\nmodel.dnn_hidden_units[0]=3\n");
    assert_text_contains(hr_training_identity(t), "\ntrain.learning_rate=0.25\n");
    assert_text_lacks(hr_training_identity(t), "dnn_hidden_units[1]");
    hr_training_free(t);
}

static void wrong_values_from_outside_name_the_option(void **state)
{
    (void)state;
    static const struct {
        const char *set, *says;
    } wrong[] = {
        {"train.batch_size=0", ".set \"train.batch_size=0\": expected a whole number"},
        {"train.batchsize=1", "did you mean 'batch_size'?"},
        {"mode.x=1", "did you mean 'model'?"},
        {"model.dnn_optimizer={adagrad: {rate: 1}}", "rate"},
        {"train", "expected KEY.PATH=VALUE"},
        {"train.learning_rate=0.5", "expected an optimizer without a learning_rate of its own"},
    };
    char text[8192];
    edited(text, sizeof text, model, "adagrad", "{adagrad: {learning_rate: 0.1}}");
    write_file("training.yaml", text, strlen(text));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hr_training *t;
        hr_error err = {0};
        assert_status(hr_training_open("training.yaml", &t, &err, .set = &wrong[i].set, .set_count = 1),
                      HR_INVALID_ARGUMENT);
        assert_null(t);
        assert_text_contains(err.text, wrong[i].says);
        assert_text_contains(err.text, ".set \"");
    }
}

/* ---- every estimator by its name ---- */

static void every_estimator_is_made_by_its_name(void **state)
{
    (void)state;
    char text[8192];
    edited(
        text, sizeof text, model, "[8, 4]\n",
        "[8, 4]\n  batch_norm: true\n  sparse_combiner: mean\n  sequence_feature_columns: [{sequence_numeric: temp}]\n"
        "  context_feature_columns: [indicator origin]\n  units: [4, 3]\n  cell_type: lstm\n");
    for (int i = 0; hr_estimator_name_at(i); i++) {
        const char *name = hr_estimator_name_at(i);
        const bool any = strstr(name, "_estimator");
        const char *head = any ? "model.head=regression" : "model.v1=true";
        hr_training *t;
        hr_error err = {0};
        write_file("training.yaml", text, strlen(text));
        assert_ok(hr_training_open("training.yaml", &t, &err, .estimator = name, .set = &head,
                                   .set_count = any || strncmp(name, "rnn", 3) != 0),
                  &err);
        hr_estimator *e = hr_training_estimator(t);
        assert_non_null(e);
        hr_estimator_free(e);
        hr_training_free(t);
    }
}

static void a_label_vocabulary_may_be_a_file(void **state)
{
    (void)state;
    char text[8192];
    hr_training *t;
    hr_error err = {0};
    edited(text, sizeof text, schema, "label: late", "label: origin");
    const char *set[] = {"model.label_vocabulary=words.txt", "model.dnn_feature_columns=[temp]",
                         "model.linear_feature_columns=[hour]"};
    assert_status(open_text(text,
                            &(hr_training_opts){.struct_size = sizeof(hr_training_opts), .set = set, .set_count = 3},
                            &t, &err),
                  HR_NOT_FOUND);
    assert_text_contains(err.text, ".set \"model.label_vocabulary=words.txt\": words.txt: cannot be opened");
    write_file("words.txt", "EWR\r\nJFK\nLGA", 12);
    assert_ok(hr_training_open("training.yaml", &t, &err, .set = set, .set_count = 3), &err);
    hr_estimator_free(hr_training_estimator(t));
    hr_training_free(t);
    write_file("words.txt", "EWR\n", 4);
    assert_status(hr_training_open("training.yaml", &t, &err, .set = set, .set_count = 3), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "a file of two classes or more");
    write_file("words.txt", "EWR\nEWR\n", 8);
    assert_status(hr_training_open("training.yaml", &t, &err, .set = set, .set_count = 3), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "'EWR' twice");
}

static void heads_have_their_options(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "binary_class",
        "{binary_class: {thresholds: [0.25, 0.5], loss_reduction: sum}}",
        "{multi_class: {n_classes: 24}}",
        "{multi_label: {n_classes: 3, thresholds: [0.5], metric_classes: [0, 2]}}",
        "{regression: {label_dimension: 2, loss_reduction: sum_over_batch_size}}",
        "poisson_regression",
        "logistic_regression",
        "{logistic_regression: }",
        "[{binary_class: {label: late}}]",
        ("[{binary_class: {name: a, label: late, class_weights: {0: 2}}}, {regression: {label: hour, head_weight: "
         "0.5}}]"),
    };
    char text[8192], head[256];
    edited(text, sizeof text, model, "dnn_linear_combined_classifier", "dnn_linear_combined_estimator");
    memcpy(strstr(text, "[origin, hour]"), "[origin      ]", 14); /* the hour is a label */
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const char *set = head;
        hr_training *t;
        hr_error err = {0};
        snprintf(head, sizeof head, "model.head=%s", heads[i]);
        write_file("training.yaml", text, strlen(text));
        assert_ok(hr_training_open("training.yaml", &t, &err, .set = &set, .set_count = 1), &err);
        hr_estimator_free(hr_training_estimator(t));
        hr_training_free(t);
    }
}

/* ---- from the first step to predictions ---- */

typedef struct watched {
    int64_t calls, stop_at, last;
    bool in_order, has_loss, tells;
} watched;

static bool watch(const hr_training_progress *now, void *user)
{
    watched *w = user;
    w->in_order &= now->step == now->first_step + w->calls;
    w->has_loss |= !isnan(now->loss);
    w->tells |= now->last_step == 12 && now->seconds_left >= 0 && now->examples_per_second > 0;
    w->calls++;
    w->last = now->step;
    return now->step != w->stop_at;
}

static void write_trained_records(void)
{
    hr_error err;
    hr_record_writer *out;
    hr_example *example = hr_example_new();
    assert_ok(hr_record_writer_open("train-0", NULL, &out, &err), &err);
    for (int64_t i = 0; i < 64; i++) {
        hr_view bytes;
        const float temp = (float)i;
        hr_example_clear(example);
        hr_example_add_int64(example, "late", HR_I64(i % 2), 1);
        hr_example_add_int64(example, "hour", HR_I64(i % 24), 1);
        hr_example_add_float(example, "temp", &temp, 1);
        hr_example_add_bytes(example, "origin", &(hr_view){"EWR", 3}, 1);
        assert_ok(hr_example_bytes(example, &bytes, &err), &err);
        assert_ok(hr_record_write(out, bytes.data, (size_t)bytes.size, &err), &err);
    }
    hr_example_free(example);
    assert_ok(hr_record_writer_commit(out, &err), &err);
}

/* Stopped by its progress after 7 steps, it goes on from there, and says so at every step. */
static void a_program_trains_by_the_file_and_is_told_of_each_step(void **state)
{
    (void)state;
    char text[8192];
    hr_training *t;
    hr_train_result result;
    hr_error err = {0};
    watched w = {.stop_at = 7, .in_order = true};
    write_trained_records();
    with_part(text, sizeof text, NULL, NULL);
    write_file("training.yaml", text, strlen(text));
    assert_ok(hr_training_open("training.yaml", &t, &err, .max_steps = 12), &err);
    assert_ok(hr_training_train(t, &result, &err, .progress = watch, .user = &w), &err);
    assert_int_equal(result.last_step, 7);
    assert_false(result.finished);
    assert_int_equal(w.calls, 8);
    w = (watched){.stop_at = -1, .in_order = true};
    assert_ok(hr_training_train(t, &result, &err, .progress = watch, .user = &w), &err);
    assert_int_equal(result.first_step, 7);
    assert_int_equal(result.last_step, 12);
    assert_true(result.finished);
    assert_int_equal(w.calls, 6);
    assert_int_equal(w.last, 12);
    assert_true(w.in_order);
    assert_true(w.has_loss);
    assert_true(w.tells);
    assert_ok(hr_training_train_with(t, NULL, NULL, &err), &err); /* there is nothing left to do */
    hr_training_free(t);
    remove_folder("model");
}

/* ---- evaluating and predicting ---- */

static hr_training *trained(const char *text)
{
    hr_training *t;
    hr_error err = {0};
    write_trained_records();
    write_file("training.yaml", text, strlen(text));
    assert_ok(hr_training_open("training.yaml", &t, &err), &err);
    assert_ok(hr_training_train(t, NULL, &err), &err);
    return t;
}

static bool count_rows(int64_t rows, void *user)
{
    *(int64_t *)user = rows;
    return rows < 48;
}

static void read_whole(const char *path, char *to, size_t size)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    const size_t got = fread(to, 1, size - 1, in);
    to[got] = '\0';
    fclose(in);
}

static void a_program_evaluates_by_the_file(void **state)
{
    (void)state;
    char text[8192];
    hr_error err = {0};
    hr_file_list files = {0};
    int64_t rows = 0;
    edited(text, sizeof text, train, "test-*", "train-0");
    hr_training *t = trained(text);
    assert_int_equal(hr_training_results(t), 8); /* the names are known before */
    assert_true(isnan(hr_training_result(t, "auc")));
    assert_ok(hr_training_evaluate(t, &err), &err);
    assert_int_equal((int64_t)hr_training_result(t, "rows"), 64);
    assert_true(hr_training_result(t, "label/mean") == 0.5);
    assert_string_equal(hr_training_result_name(t, 0), "accuracy");
    assert_null(hr_training_result_name(t, 8));
    assert_true(isnan(hr_training_result(t, "nothing")));
    assert_ok(hr_file_list_add(&files, "train-0", &err), &err);
    assert_ok(hr_file_list_add(&files, "train-0", &err), &err);
    assert_ok(hr_training_evaluate(t, &err, .files = &files), &err);
    assert_int_equal((int64_t)hr_training_result(t, "rows"), 128);
    assert_status(hr_training_evaluate(t, &err, .progress = count_rows, .user = &rows), HR_CANCELLED);
    assert_int_equal(rows, 48);
    hr_file_list_clear(&files);
    hr_training_free(t);
    remove_folder("model");
}

static void a_program_predicts_fields_and_predictions_in_the_order_of_the_rows(void **state)
{
    (void)state;
    char text[8192], csv[16384], line[64];
    hr_error err = {0};
    edited(text, sizeof text, train, "test-*", "train-0");
    hr_training *t = trained(text);
    assert_ok(hr_training_predict(t, "out.csv", &err, .columns = "temp,origin,class_ids,probabilities"), &err);
    read_whole("out.csv", csv, sizeof csv);
    const char *at = csv, *const header = "temp,origin,class_ids,probabilities_0,probabilities_1\n";
    assert_true(strncmp(at, header, strlen(header)) == 0);
    for (int i = 0; i < 64; i++) {
        at = strchr(at, '\n') + 1;
        snprintf(line, sizeof line, "%d.0,EWR,", i);
        assert_true(strncmp(at, line, strlen(line)) == 0);
    }
    assert_string_equal(strchr(at, '\n'), "\n");
    assert_ok(hr_training_predict(t, "out.jsonl", &err, .columns = "temp,class_ids,probabilities"), &err);
    read_whole("out.jsonl", csv, sizeof csv);
    assert_true(strncmp(csv, "{\"class_ids\": ", 14) == 0);
    assert_text_contains(csv, "\"probabilities\": [0.");
    assert_text_contains(csv, "\"temp\": 63.0}\n");
    assert_ok(hr_training_predict(t, "out.tfrecord", &err, .columns = "temp,classes"), &err);
    assert_ok(hr_training_predict(t, "plain", &err), &err);
    read_whole("plain", csv, sizeof csv);
    assert_true(csv[0] == '0' && csv[1] == '.');
    hr_training_free(t);
    remove_folder("model");
}

static void wrong_predictions_are_refused_and_leave_no_file(void **state)
{
    (void)state;
    static const struct {
        const char *columns, *to, *says;
    } wrong[] = {
        {"temp,probability", NULL, "did you mean 'probabilities'?"},
        {"temp,temp", NULL, "each name once"},
        {"temp,,x", NULL, "names with commas"},
        {"", NULL, "names with commas"},
        {"temp", "xml", ".to: expected csv, jsonl or tfrecord, found \"xml\""},
    };
    char text[8192];
    hr_error err = {0};
    int64_t rows = 0;
    edited(text, sizeof text, train, "test-*", "train-0");
    hr_training *t = trained(text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_status(hr_training_predict(t, "none.csv", &err, .columns = wrong[i].columns, .to = wrong[i].to),
                      HR_INVALID_ARGUMENT);
        assert_text_contains(err.text, wrong[i].says);
    }
    assert_status(hr_training_predict(t, "none.csv", &err, .progress = count_rows, .user = &rows), HR_CANCELLED);
    assert_null(fopen("none.csv", "r"));
    assert_status(hr_training_predict(t, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_training_predict(NULL, "x", &err), HR_INVALID_ARGUMENT);
    assert_status(hr_training_evaluate(NULL, &err), HR_INVALID_ARGUMENT);
    hr_training_free(t);
    edited(text, sizeof text, train, "  eval_files: test-*\n", "");
    t = trained(text);
    assert_status(hr_training_predict(t, "none.csv", &err), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "training.yaml:18:3: train: expected a key 'eval_files': the rows to predict");
    assert_status(hr_training_evaluate(t, &err), HR_INVALID_ARGUMENT);
    hr_training_free(t);
    remove_folder("model");
}

/* Two heads with weights of their own; rows that are predicted have the labels of neither. */
static void several_heads_learn_labels_of_their_own(void **state)
{
    (void)state;
    static const char text[] = "schema: {int64: [late, hour], float: [temp], string: [origin]}\n"
                               "columns: {temp: {numeric: temp}, origin: {hash_bucket: 4}}\n"
                               "model:\n"
                               "  estimator: dnn_estimator\n"
                               "  head:\n"
                               "    - binary_class: {name: delay, label: late, class_weights: {0: 0.5}}\n"
                               "    - regression: {label: hour, head_weight: 0.01}\n"
                               "  dnn_feature_columns: [temp, indicator origin]\n"
                               "  dnn_hidden_units: [4]\n"
                               "train: {files: train-0, eval_files: no.csv, batch_size: 16, seed: 1}\n";
    char csv[16384];
    hr_error err = {0};
    hr_training *t = trained(text);
    hr_file_list files = {0};
    assert_ok(hr_file_list_add(&files, "train-0", &err), &err);
    assert_ok(hr_training_evaluate(t, &err, .files = &files), &err);
    hr_file_list_clear(&files);
    assert_int_equal((int64_t)hr_training_result(t, "rows"), 64);
    assert_true(fabs(hr_training_result(t, "label/mean/delay") - 2.0 / 3) < 1e-6);
    assert_true(fabs(hr_training_result(t, "label/mean/hour") - (2 * 276 + 120) / 64.0) < 1e-4);
    assert_true(fabs(hr_training_result(t, "loss") -
                     (hr_training_result(t, "loss/delay") + 0.01 * hr_training_result(t, "loss/hour"))) < 1e-4);
    write_file("no.csv", "temp,origin\n1.5,A\n2.5,EWR\n", 26);
    assert_ok(hr_training_predict(t, "out.csv", &err, .columns = "hour/predictions,delay/class_ids"), &err);
    read_whole("out.csv", csv, sizeof csv);
    assert_true(strncmp(csv, "hour/predictions,delay/class_ids\n", 33) == 0);
    assert_ok(hr_training_predict(t, "plain", &err), &err); /* the answers of both */
    read_whole("plain", csv, sizeof csv);
    assert_true(csv[0] == '0' && csv[1] == '.' && strchr(csv, ','));
    hr_training_free(t);
    remove_folder("model");
}

/* ---- warm starts ---- */

static void read_variable(const char *prefix, const char *name, float *values, int64_t count)
{
    hr_error err = {0};
    hr_bundle *b;
    hr_tensor value;
    assert_ok(hr_bundle_open(prefix, &b, &err), &err);
    assert_ok(hr_bundle_read(b, name, &value, &err), &err);
    assert_int_equal(value.count, count);
    memcpy(values, value.data, sizeof *values * (size_t)count);
    hr_tensor_clear(&value);
    hr_bundle_free(b);
}

#define TABLE "dnn/input_from_feature_columns/input_layer/origin_embedding/embedding_weights"
#define HIDDEN "dnn/hiddenlayer_0/kernel"

static void train_warm(const char *text, const char *model_dir, const char *set)
{
    hr_training *t;
    hr_error err = {0};
    write_file("training.yaml", text, strlen(text));
    assert_ok(hr_training_open("training.yaml", &t, &err, .model_dir = model_dir, .max_steps = 1, .set = &set,
                               .set_count = 1),
              &err);
    assert_ok(hr_training_train(t, NULL, &err), &err);
    hr_training_free(t);
}

/* Settings and expectations in the order: a folder; an expression; words that have moved, one of them new. */
static void a_model_starts_with_values_of_another(void **state)
{
    (void)state;
    static const char text[] = "schema: {int64: [late], float: [temp], string: [origin], label: late}\n"
                               "columns: {temp: {numeric: temp}, origin: {vocabulary_file: old.txt}}\n"
                               "model:\n"
                               "  estimator: dnn_classifier\n"
                               "  dnn_feature_columns: [temp, {embedding: origin, dimension: 3}]\n"
                               "  dnn_hidden_units: [4]\n"
                               "train: {files: train-0, batch_size: 16}\n";
    float old[2 * 3], new[3 * 3], was[4 * 4], is[4 * 4];
    write_trained_records();
    write_file("old.txt", "EWR\nJFK\n", 8);
    write_file("new.txt", "LGA\nJFK\nEWR\n", 12);
    train_warm(text, "old", "train.seed=1");
    read_variable("old/model.ckpt-1", HIDDEN, was, 16);

    train_warm(text, "all", "model.warm_start_from=old");
    read_variable("all/model.ckpt-0", HIDDEN, is, 16);
    assert_memory_equal(was, is, sizeof was);
    train_warm(text, "none", "model.warm_start_from={ckpt_to_initialize_from: old, vars_to_warm_start: \".*table\"}");
    read_variable("none/model.ckpt-0", HIDDEN, is, 16);
    assert_memory_not_equal(was, is, sizeof was);
    train_warm(text, "listed",
               "model.warm_start_from={ckpt_to_initialize_from: old/model.ckpt-1, vars_to_warm_start: [" HIDDEN "], "
               "var_name_to_prev_var_name: {" HIDDEN ": " HIDDEN "}}");
    read_variable("listed/model.ckpt-0", HIDDEN, is, 16);
    assert_memory_equal(was, is, sizeof was);

    char renewed[sizeof text];
    snprintf(renewed, sizeof renewed, "%s", text);
    memcpy(strstr(renewed, "old.txt"), "new.txt", 7);
    train_warm(renewed, "words",
               "model.warm_start_from={ckpt_to_initialize_from: old, vars_to_warm_start: \".*embedding.*\", "
               "var_name_to_vocab_info: {" TABLE
               ": {new_vocab: new.txt, old_vocab: old.txt, backup_initializer: ones}}}");
    read_variable("old/model.ckpt-1", TABLE, old, 6);
    read_variable("words/model.ckpt-0", TABLE, new, 9);
    for (int i = 0; i < 3; i++) assert_true(new[i] == 1);
    assert_memory_equal(new + 3, old + 3, sizeof *old * 3); /* JFK */
    assert_memory_equal(new + 6, old, sizeof *old * 3);     /* EWR */
    static const char *const folders[] = {"old", "all", "none", "listed", "words"};
    for (int i = 0; i < 5; i++) remove_folder(folders[i]);
}

/* ---- sequences ---- */

static void recurrent_layers_learn_the_words_of_a_csv(void **state)
{
    (void)state;
    static const char text[] = "schema: {string: [words, who], int64: [good], label: good}\n"
                               "columns:\n"
                               "  words: {hash_bucket: 16}\n"
                               "  steps: {sequence_categorical: words}\n"
                               "  who: {hash_bucket: 4}\n"
                               "model:\n"
                               "  estimator: rnn_classifier\n"
                               "  sequence_feature_columns: [{embedding: steps, dimension: 2}]\n"
                               "  context_feature_columns: [indicator who]\n"
                               "  units: [3, 2]\n"
                               "  cell_type: lstm\n"
                               "train: {files: rows.csv, eval_files: rows.csv, csv: {separator: \" \"}, epochs: 3, "
                               "batch_size: 2, seed: 1, learning_rate: 0.1}\n";
    static const char rows[] = "words,who,good\na fine book,x,1\nbad,y,0\nwell done,x,1\n";
    char csv[4096];
    hr_training *t;
    hr_train_result result;
    hr_error err = {0};
    write_file("rows.csv", rows, strlen(rows));
    assert_ok(open_text(text, &no_opts, &t, &err), &err);
    assert_ok(hr_training_train(t, &result, &err), &err);
    assert_int_equal(result.last_step, 5);
    assert_ok(hr_training_evaluate(t, &err), &err);
    assert_int_equal((int64_t)hr_training_result(t, "rows"), 3);
    assert_ok(hr_training_predict(t, "out.csv", &err, .columns = "words,class_ids"), &err);
    read_whole("out.csv", csv, sizeof csv);
    assert_true(strncmp(csv, "words,class_ids\na fine book,", 28) == 0);
    hr_training_free(t);
    remove_folder("model");
}

static const char *const with_everything =
    "[8, 4]\n  class_weights: {1: 2}\n  thresholds: [0.5]\n"
    "  warm_start_from: {ckpt_to_initialize_from: old, vars_to_warm_start: [dnn], var_name_to_prev_var_name: {a: b}, "
    "var_name_to_vocab_info: {v: {new_vocab: n, old_vocab: o}}}\n";

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char text[8192];
    hr_training *t;
    hr_error err = {0};
    edited(text, sizeof text, model, "[8, 4]\n", with_everything);
    write_file("training.yaml", text, strlen(text));
    int64_t before = allocations_alive();
    fail_allocation(-1);
    assert_ok(hr_training_open_with("training.yaml", &no_opts, &t, &err), &err);
    hr_estimator_free(hr_training_estimator(t));
    char identity[4096];
    snprintf(identity, sizeof identity, "%s", hr_training_identity(t));
    hr_training_free(t);
    int64_t count = allocations_since();
    assert_text_contains(identity, "\nmodel.dnn_hidden_units[1]=4\n");
    assert_text_lacks(identity, "train.max_steps");
    for (int64_t i = 0; i < count; i++) {
        fail_allocation(i);
        hr_status st = hr_training_open_with("training.yaml", &no_opts, &t, &err);
        if (st == HR_OK) assert_string_equal(hr_training_identity(t), identity); /* never a shorter one */
        if (st == HR_OK) hr_estimator_free(hr_training_estimator(t));
        hr_training_free(st == HR_OK ? t : NULL);
        allocations_since();
        if (st != HR_OK && st != HR_RESOURCE_EXHAUSTED) fail_msg("allocation %d: %s", (int)i, err.text);
        if (allocations_alive() != before) fail_msg("allocation %d leaves memory behind", (int)i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_is_read),
        cmocka_unit_test(the_command_line_has_the_last_word),
        cmocka_unit_test(every_mistake_is_told_with_its_place_and_a_way_out),
        cmocka_unit_test(a_mistake_is_told_whole_or_not_at_all),
        cmocka_unit_test(files_that_are_none_are_told),
        cmocka_unit_test(the_example_is_read),
        cmocka_unit_test(a_program_trains_by_the_file_and_is_told_of_each_step),
        cmocka_unit_test(values_are_set_before_the_file_is_read),
        cmocka_unit_test(wrong_values_from_outside_name_the_option),
        cmocka_unit_test(every_estimator_is_made_by_its_name),
        cmocka_unit_test(a_label_vocabulary_may_be_a_file),
        cmocka_unit_test(heads_have_their_options),
        cmocka_unit_test(a_program_evaluates_by_the_file),
        cmocka_unit_test(a_program_predicts_fields_and_predictions_in_the_order_of_the_rows),
        cmocka_unit_test(wrong_predictions_are_refused_and_leave_no_file),
        cmocka_unit_test(several_heads_learn_labels_of_their_own),
        cmocka_unit_test(a_model_starts_with_values_of_another),
        cmocka_unit_test(recurrent_layers_learn_the_words_of_a_csv),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
