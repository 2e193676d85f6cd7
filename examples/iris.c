/* Iris: which of three flowers, from four lengths? A network of two hidden layers, straight from CSV files.
 *
 *     cc iris.c $(pkg-config --cflags --libs headrace_train) -o iris
 *     ./iris data/iris_train.csv data/iris_test.csv
 *
 * The model goes to iris_model. Started again, the program finds it there and only evaluates. */
#include <headrace/headrace.h>
#include <stdio.h>

/* Types are found by looking at the file: four floats, the species as a word, and as a number. */
static hr_dataset *train_rows(void *file)
{
    return hr_make_csv_dataset(file, 16, NULL, .label = "SpeciesId", .num_epochs = 60);
}

static hr_dataset *test_rows(void *file)
{
    return hr_make_csv_dataset(file, 16, NULL, .label = "SpeciesId", .num_epochs = 1, .no_shuffle = true);
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: iris TRAIN.csv TEST.csv\n"), 2;
    const hr_column_list columns = HR_COLUMNS(hr_numeric_column("SepalLength"), hr_numeric_column("SepalWidth"),
                                              hr_numeric_column("PetalLength"), hr_numeric_column("PetalWidth"));
    hr_estimator *model = hr_dnn_classifier(.model_dir = "iris_model", .dnn_feature_columns = columns,
                                            .dnn_hidden_units = HR_UNITS(10, 10), .n_classes = 3,
                                            .dnn_optimizer = hr_adagrad(0.1f), .config = {.tf_random_seed = 1});
    hr_status st = hr_estimator_train(model, train_rows, argv[1]);
    if (st == HR_OK) st = hr_estimator_evaluate(model, test_rows, argv[2]);
    if (st == HR_OK)
        printf("accuracy %.3f\n", hr_estimator_result(model, "accuracy"));
    else
        fprintf(stderr, "%s\n", hr_estimator_error(model)->text);
    hr_estimator_free(model);
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(columns.column[i]);
    return st != HR_OK;
}
