/* Two tasks, one network: whether a taxi trip is tipped, and what it costs.
 *
 *     cc two_tasks.c $(pkg-config --cflags --libs headrace_train) -o two_tasks
 *     ./two_tasks examples/data/taxi.csv.gz model
 *
 * Each head has its own labels, the components that its .label_key names, and a share of the loss. */
#include <headrace/train.h>
#include <stdio.h>

/* The file, and how often it is read. */
typedef struct trips {
    const char *file;
    int64_t epochs;
} trips;

static hr_dataset *read_trips(void *user)
{
    const trips *t = user;
    const hr_csv_column column[] = {{.name = "miles", .dtype = HR_FLOAT}, {.name = "seconds", .dtype = HR_FLOAT},
                                    {.name = "hour", .dtype = HR_INT64},  {.name = "payment", .dtype = HR_STRING},
                                    {.name = "fare", .dtype = HR_FLOAT},  {.name = "tipped", .dtype = HR_INT64}};
    hr_dataset *ds = hr_csv(t->file, .columns = column, .column_count = 6);
    ds = hr_shuffle_and_repeat(ds, 5000, .count = t->epochs, .seed = 7);
    return hr_batch(ds, 64);
}

static hr_estimator *new_model(const char *model_dir)
{
    hr_feature_column *column[] = {hr_numeric_column("miles", .mean = 3, .std = 6),
                                   hr_numeric_column("seconds", .mean = 700, .std = 800),
                                   hr_indicator_column(hr_categorical_column_with_identity("hour", 24)),
                                   hr_indicator_column(hr_categorical_column_with_hash_bucket("payment", 8))};
    hr_head *both = hr_multi_head(HR_HEADS(hr_binary_class_head(.name = "tip", .label_key = "tipped"),
                                           hr_regression_head(.name = "price", .label_key = "fare")),
                                  .head_weights = HR_F32(1, 0.01f));
    hr_estimator *e = hr_dnn_estimator(.model_dir = model_dir, .dnn_feature_columns = {column, 4},
                                       .dnn_hidden_units = HR_UNITS(32, 16), .head = both,
                                       .dnn_optimizer = hr_adam(0.005f), .config = {.tf_random_seed = 1});
    for (int i = 0; i < 4; i++) hr_feature_column_unref(column[i]);
    return e;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: two_tasks CSV MODEL\n"), 2;
    hr_estimator *e = new_model(argv[2]);
    trips t = {argv[1], 5};
    hr_status st = hr_estimator_train(e, read_trips, &t);
    t.epochs = 1;
    if (st == HR_OK) st = hr_estimator_evaluate(e, read_trips, &t);
    if (st == HR_OK)
        printf("tips: AUC %.3f; fares: mean squared error %.1f; loss %.3f\n", hr_estimator_result(e, "auc/tip"),
               hr_estimator_result(e, "average_loss/price"), hr_estimator_result(e, "loss"));
    else
        fprintf(stderr, "%s\n", hr_estimator_error(e)->text);
    hr_estimator_free(e);
    return st == HR_OK ? 0 : 1;
}
