/* Census: who earns more than 50,000 dollars? The wide and deep model of TensorFlow's guide on an extract of the adult
 * data: labels that are words, hashed words, embeddings, and evaluations while it trains.
 *
 *     cc census.c $(pkg-config --cflags --libs headrace_train) -o census
 *     ./census data/census_train.csv.gz data/census_test.csv.gz
 */
#include <headrace/headrace.h>
#include <stdio.h>

enum { MAX_COLUMNS = 16 };

static const char *const numbers[] = {"age", "education_num", "capital_gain", "capital_loss", "hours_per_week"};
static const char *const words[] = {"workclass",  "education",      "marital_status", "relationship",
                                    "occupation", "native_country", "gender"};

static hr_dataset *read_rows(const char *file, int64_t epochs, bool shuffled)
{
    hr_csv_column column[MAX_COLUMNS] = {{.name = "income_bracket", .dtype = HR_STRING}};
    hr_csv_opts csv = {.struct_size = sizeof csv, .columns = column, .column_count = 1};
    for (int i = 0; i < 5; i++) column[csv.column_count++] = (hr_csv_column){.name = numbers[i], .dtype = HR_FLOAT};
    for (int i = 0; i < 7; i++) column[csv.column_count++] = (hr_csv_column){.name = words[i], .dtype = HR_STRING};
    return hr_make_csv_dataset(file, 128, &csv, .label = "income_bracket", .num_epochs = epochs,
                               .no_shuffle = !shuffled);
}

static hr_dataset *train_rows(void *file) { return read_rows(file, 7, true); }
static hr_dataset *test_rows(void *file) { return read_rows(file, 1, false); }

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: census TRAIN.csv TEST.csv\n"), 2;
    hr_feature_column *wide[MAX_COLUMNS], *deep[MAX_COLUMNS];
    hr_column_list wides = {wide, 0}, deeps = {deep, 0};
    for (int i = 0; i < 7; i++) wide[wides.count++] = hr_categorical_column_with_hash_bucket(words[i], 100);
    wide[wides.count++] =
        hr_bucketized_column(hr_numeric_column("age"), HR_F32(18, 25, 30, 35, 40, 45, 50, 55, 60, 65), 10);
    wide[wides.count++] = hr_crossed_column(HR_CROSS({.key = "education"}, {.key = "occupation"}), 1000);
    wide[wides.count++] = hr_crossed_column(HR_CROSS({.key = "native_country"}, {.key = "occupation"}), 1000);
    for (int i = 0; i < 5; i++) deep[deeps.count++] = hr_numeric_column(numbers[i], .log1p = true);
    for (int i = 0; i < 7; i++) deep[deeps.count++] = hr_embedding_column(hr_feature_column_ref(wide[i]), 8);

    hr_estimator *model =
        hr_dnn_linear_combined_classifier(.model_dir = "census_model",
                                          .label_vocabulary = HR_VOCABULARY("<=50K", ">50K"),
                                          .linear_feature_columns = wides, .linear_optimizer = hr_ftrl(0.2f),
                                          .dnn_feature_columns = deeps, .dnn_hidden_units = HR_UNITS(64, 32),
                                          .dnn_optimizer = hr_adagrad(0.05f),
                                          .config = {.tf_random_seed = 1, .save_checkpoints_steps = 200});
    const hr_status st =
        hr_train_and_evaluate(model, HR_TRAIN_SPEC(.input_fn = train_rows, .user = argv[1]),
                              HR_EVAL_SPEC(.input_fn = test_rows, .user = argv[2], .throttle_secs = HR_I64(1)));
    if (st == HR_OK)
        printf("AUC %.3f, accuracy %.3f\n", hr_estimator_result(model, "auc"), hr_estimator_result(model, "accuracy"));
    else
        fprintf(stderr, "%s\n", hr_estimator_error(model)->text);
    hr_estimator_free(model);
    for (int i = 0; i < wides.count; i++) hr_feature_column_unref(wide[i]);
    for (int i = 0; i < deeps.count; i++) hr_feature_column_unref(deep[i]);
    return st != HR_OK;
}
