/* Records whose label can be learnt, and models for them. */
#include "tests/train/estimator/trainings.h"
#include "tests/testing.h"
#include <headrace/io.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const towns[] = {"Ulm", "Bonn", "Kiel", "Trier", "Worms"};

/* What is not as in other rows. */
typedef struct oddity {
    int nan_row;   /* -1: none */
    int label_row; /* -1: labels are int64; otherwise floats, and that of this row is `label` */
    float label;
} oddity;

static void write_row(hr_record_writer *w, hr_example *example, int row, const oddity *odd)
{
    hr_error err = {0};
    hr_view bytes;
    float age = (float)hr_random_below(5, (uint64_t)row, 80);
    int64_t woman = hr_random_below(6, (uint64_t)row, 2), label = woman * 30 + (int64_t)age > 50;
    const char *name = towns[hr_random_below(7, (uint64_t)row, 5)];
    hr_view sex = {woman ? "f" : "m", 1}, town = {name, (int64_t)strlen(name)};
    float float_label = row == odd->label_row ? odd->label : (float)label;
    if (row == odd->nan_row) age = NAN;
    hr_example_clear(example);
    hr_example_add_float(example, "age", &age, 1);
    hr_example_add_bytes(example, "sex", &sex, 1);
    hr_example_add_bytes(example, "town", &town, 1);
    if (odd->label_row >= 0)
        hr_example_add_float(example, "label", &float_label, 1);
    else
        hr_example_add_int64(example, "label", &label, 1);
    assert_ok(hr_example_bytes(example, &bytes, &err), &err);
    assert_ok(hr_record_write(w, bytes.data, (size_t)bytes.size, &err), &err);
}

static void write_files(const char *folder, int rows, const oddity *odd)
{
    hr_example *example = hr_example_new();
    remove_folder(folder);
    mkdir(folder, 0777);
    for (int f = 0; f < FILES; f++) {
        char path[512];
        hr_record_writer *w;
        hr_error err = {0};
        snprintf(path, sizeof path, "%s/data-%d.tfrecord", folder, f);
        assert_ok(hr_record_writer_open(path, NULL, &w, &err), &err);
        for (int row = f; row < rows; row += FILES) write_row(w, example, row, odd);
        assert_ok(hr_record_writer_commit(w, &err), &err);
    }
    hr_example_free(example);
}

void write_rows(const char *folder, int rows) { write_files(folder, rows, &(oddity){-1, -1, 0}); }
void write_rows_with_nan(const char *folder, int rows) { write_files(folder, rows, &(oddity){rows / 2, -1, 0}); }
void write_rows_with_label(const char *folder, int rows, int row, double label)
{
    write_files(folder, rows, &(oddity){-1, row, (float)label});
}

/* ---- models ---- */

static const float boundaries[] = {20, 40, 60};
static const int64_t units[] = {8, 4}, large_units[] = {192, 96};

static hr_feature_column *sex_column(void)
{
    return hr_categorical_column_with_vocabulary_list("sex", HR_VOCABULARY("f", "m"));
}

static hr_feature_column *town_column(void) { return hr_categorical_column_with_hash_bucket("town", 7); }

hr_estimator *new_test_classifier(const classifier_spec *s)
{
    hr_feature_column *wide[] = {sex_column(), town_column(),
                                 hr_bucketized_column(hr_numeric_column("age"), boundaries, 3)};
    hr_feature_column *deep[] = {hr_numeric_column("age"), hr_indicator_column(sex_column()),
                                 hr_embedding_column(town_column(), s->large ? 32 : 3)};
    hr_classifier_opts o = {.struct_size = sizeof o,
                            .model_dir = s->model_dir,
                            .config = {.tf_random_seed = 11,
                                       .workers = s->workers,
                                       .products = s->products,
                                       .identity = s->identity,
                                       .save_checkpoints_steps = s->save_steps,
                                       .async_checkpoints = s->async}};
    if (s->kind != DNN) o.linear_feature_columns = (hr_column_list){wide, 3};
    if (s->kind != LINEAR) {
        o.dnn_feature_columns = (hr_column_list){deep, 3};
        o.dnn_hidden_units = (hr_units){s->large ? large_units : units, 2};
        o.dnn_optimizer = hr_adagrad(0.05f);
    }
    hr_estimator *e = s->kind == LINEAR ? hr_linear_classifier_with(&o)
                      : s->kind == DNN  ? hr_dnn_classifier_with(&o)
                                        : hr_dnn_linear_combined_classifier_with(&o);
    for (int i = 0; i < 3; i++) {
        hr_feature_column_unref(wide[i]);
        hr_feature_column_unref(deep[i]);
    }
    return e;
}

/* ---- input ---- */

static hr_dataset *parsed(hr_dataset *ds, const test_input *in)
{
    const hr_feature features[] = {
        {.key = "age", .dtype = HR_FLOAT, .shape = {.rank = 1, .dims = {1}}},
        {.key = "sex", .kind = HR_VAR_LEN, .dtype = HR_STRING},
        {.key = "town", .kind = HR_VAR_LEN, .dtype = HR_STRING},
        {.key = "label", .dtype = in->float_label ? HR_FLOAT : HR_INT64, .shape = {.rank = 1, .dims = {1}}},
    };
    const hr_parse_spec spec = {features, 4};
    return hr_parse_example(hr_batch(ds, in->batch), &spec, .label = "label");
}

static hr_dataset *records(const test_input *in, bool shuffle)
{
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s/*.tfrecord", in->folder);
    return hr_interleave(hr_list_files(pattern, .shuffle = shuffle, .seed = 3), hr_tfrecord_fn, NULL);
}

hr_dataset *test_input_fn(void *user)
{
    const test_input *in = user;
    hr_dataset *ds = hr_shuffle_and_repeat(records(in, true), 50, .count = in->epochs, .seed = 3);
    return hr_prefetch(parsed(ds, in), 2);
}

hr_dataset *test_eval_fn(void *user) { return parsed(records(user, false), user); }
