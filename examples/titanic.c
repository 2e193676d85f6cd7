/* Titanic: who survived? A wide and deep model: buckets, words and two crosses for the wide half, numbers and
 * indicators for the deep one. The CSV has holes, which get the mean of their column.
 *
 *     cc titanic.c $(pkg-config --cflags --libs headrace_train) -o titanic
 *     ./titanic data/titanic_train.csv.gz data/titanic_test.csv.gz
 */
#include <headrace/headrace.h>
#include <stdio.h>

#define FLOATS(...) HR_F32(__VA_ARGS__), (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float))

static hr_dataset *read_rows(const char *file, int64_t epochs, bool shuffled)
{
    const hr_tensor mean_age = hr_tensor_of(HR_FLOAT, HR_SCALAR, HR_F32(29.58f));
    const hr_tensor mean_fare = hr_tensor_of(HR_FLOAT, HR_SCALAR, HR_F32(33.45f));
    const hr_view port = {"S", 1};
    const hr_tensor most_ports = hr_tensor_of(HR_STRING, HR_SCALAR, &port);
    const hr_csv_column columns[] = {{.name = "survived", .dtype = HR_INT64},
                                     {.name = "pclass", .dtype = HR_INT64},
                                     {.name = "sex", .dtype = HR_STRING},
                                     {.name = "age", .dtype = HR_FLOAT, .default_value = &mean_age},
                                     {.name = "sibsp", .dtype = HR_FLOAT},
                                     {.name = "parch", .dtype = HR_FLOAT},
                                     {.name = "fare", .dtype = HR_FLOAT, .default_value = &mean_fare},
                                     {.name = "embarked", .dtype = HR_STRING, .default_value = &most_ports}};
    const hr_csv_opts csv = {.struct_size = sizeof csv, .columns = columns, .column_count = 8};
    return hr_make_csv_dataset(file, 32, &csv, .label = "survived", .num_epochs = epochs, .no_shuffle = !shuffled);
}

static hr_dataset *train_rows(void *file) { return read_rows(file, 30, true); }
static hr_dataset *test_rows(void *file) { return read_rows(file, 1, false); }

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: titanic TRAIN.csv TEST.csv\n"), 2;
    hr_feature_column *sex = hr_categorical_column_with_vocabulary_list("sex", HR_VOCABULARY("female", "male"));
    hr_feature_column *class = hr_categorical_column_with_identity("pclass", 4);
    hr_feature_column *port = hr_categorical_column_with_vocabulary_list("embarked", HR_VOCABULARY("C", "Q", "S"));
    hr_feature_column *age = hr_numeric_column("age", .mean = 29.58f, .std = 14.55f);
    hr_feature_column *ages = hr_bucketized_column(hr_numeric_column("age"), FLOATS(5, 12, 18, 25, 35, 45, 55, 65));
    const hr_column_list wide =
        HR_COLUMNS(sex, class, port, ages,
                   hr_bucketized_column(hr_numeric_column("fare"), FLOATS(7.5f, 8.5f, 13, 20, 30, 60, 100)),
                   hr_crossed_column(HR_CROSS({.key = "sex"}, {.column = hr_feature_column_ref(class)}), 64),
                   hr_crossed_column(HR_CROSS({.key = "sex"}, {.column = hr_feature_column_ref(ages)}), 128));
    const hr_column_list deep =
        HR_COLUMNS(age, hr_numeric_column("fare", .mean = 33.45f, .std = 53.78f), hr_numeric_column("sibsp"),
                   hr_numeric_column("parch"), hr_indicator_column(hr_feature_column_ref(sex)),
                   hr_indicator_column(hr_feature_column_ref(class)), hr_indicator_column(hr_feature_column_ref(port)));

    hr_estimator *model =
        hr_dnn_linear_combined_classifier(.model_dir = "titanic_model", .linear_feature_columns = wide,
                                          .linear_optimizer = hr_ftrl(0.2f), .dnn_feature_columns = deep,
                                          .dnn_hidden_units = HR_UNITS(32, 16), .dnn_optimizer = hr_adagrad(0.05f),
                                          .config = {.tf_random_seed = 1});
    hr_status st = hr_estimator_train(model, train_rows, argv[1]);
    if (st == HR_OK) st = hr_estimator_evaluate(model, test_rows, argv[2]);
    if (st == HR_OK)
        printf("AUC %.3f, accuracy %.3f\n", hr_estimator_result(model, "auc"), hr_estimator_result(model, "accuracy"));
    else
        fprintf(stderr, "%s\n", hr_estimator_error(model)->text);
    hr_estimator_free(model);
    for (int i = 0; i < wide.count; i++) hr_feature_column_unref(wide.column[i]);
    for (int i = 0; i < deep.count; i++) hr_feature_column_unref(deep.column[i]);
    return st != HR_OK;
}
