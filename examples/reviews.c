/* Reviews: would she recommend the dress? The title of a review as a sequence of words, embedded, through a GRU.
 *
 *     cc reviews.c $(pkg-config --cflags --libs headrace_train) -o reviews
 *     ./reviews data/reviews_train.csv.gz data/reviews_test.csv.gz
 */
#include <headrace/headrace.h>
#include <stdio.h>

/* A field of words between blanks is a list, whose length differs from row to row. */
static hr_dataset *read_rows(const char *file, int64_t epochs, bool shuffled)
{
    const hr_csv_column columns[] = {{.name = "words", .dtype = HR_STRING, .separator = " "},
                                     {.name = "recommended", .dtype = HR_INT64}};
    const hr_csv_opts csv = {.struct_size = sizeof csv, .columns = columns, .column_count = 2};
    return hr_make_csv_dataset(file, 64, &csv, .label = "recommended", .num_epochs = epochs, .no_shuffle = !shuffled);
}

static hr_dataset *train_rows(void *file) { return read_rows(file, 4, true); }
static hr_dataset *test_rows(void *file) { return read_rows(file, 1, false); }

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: reviews TRAIN.csv TEST.csv\n"), 2;
    hr_feature_column *words = hr_embedding_column(hr_sequence_categorical_column_with_hash_bucket("words", 2000), 16);
    hr_estimator *model =
        hr_rnn_classifier(.model_dir = "reviews_model", .sequence_feature_columns = {&words, 1}, .units = HR_UNITS(16),
                          .cell_type = hr_gru_with, .optimizer = hr_adam(0.005f), .config = {.tf_random_seed = 1});
    hr_status st = hr_estimator_train(model, train_rows, argv[1]);
    if (st == HR_OK) st = hr_estimator_evaluate(model, test_rows, argv[2]);
    if (st == HR_OK)
        printf("AUC %.3f, accuracy %.3f\n", hr_estimator_result(model, "auc"), hr_estimator_result(model, "accuracy"));
    else
        fprintf(stderr, "%s\n", hr_estimator_error(model)->text);
    hr_estimator_free(model);
    hr_feature_column_unref(words);
    return st != HR_OK;
}
