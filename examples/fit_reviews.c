/* Text with an LSTM: would she recommend the dress? The words of a review's title as numbers, 0 where there are no more,
 * which the mask of the embedding leaves out.
 *
 *     cc fit_reviews.c $(pkg-config --cflags --libs headrace_train) -o fit_reviews
 *     ./fit_reviews data/reviews_train.csv.gz data/reviews_test.csv.gz
 */
#include <headrace/headrace.h>
#include <stdio.h>

enum { WORDS = 12, BUCKETS = 2000 };

static hr_status number_words(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const hr_view text = *(const hr_view *)hr_get(in, "words")->data;
    int64_t *ids = hr_set(out, "0");
    const char *word = text.data, *end = word + text.size;
    for (int i = 0; i < WORDS; i++) {
        while (word < end && *word == ' ') word++;
        const char *begin = word;
        while (word < end && *word != ' ') word++;
        ids[i] = word > begin ? 1 + (int64_t)(hr_fingerprint64(begin, (size_t)(word - begin)) % BUCKETS) : 0;
    }
    *(int64_t *)hr_set(out, "1") = *(const int64_t *)hr_get(in, "recommended")->data;
    return HR_OK;
}

static hr_dataset *reviews(const char *file)
{
    static const hr_field fields[] = {{.name = "0", .dtype = HR_INT64, .shape = {1, {WORDS}}},
                                      {.name = "1", .dtype = HR_INT64}};
    static const hr_schema schema = {.fields = 2, .field = fields};
    const hr_csv_column columns[] = {{.name = "words", .dtype = HR_STRING}, {.name = "recommended", .dtype = HR_INT64}};
    return hr_map(hr_csv(file, .columns = columns, .column_count = 2), number_words, NULL, .output = &schema);
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: fit_reviews TRAIN.csv TEST.csv\n"), 2;
    hr_model *m = hr_sequential(HR_LAYERS(hr_embedding_layer(BUCKETS + 1, 16, .mask_zero = true), hr_lstm_layer(16),
                                          hr_dense_layer(1, .activation = "sigmoid")),
                                .input_shape = HR_SHAPE(WORDS), .input_dtype = HR_INT64, .seed = 1);
    hr_compile(m, .optimizer = hr_adam(0.003f), .loss = "binary_crossentropy",
               .metrics = HR_STRINGS("AUC", "accuracy"));
    const hr_history *h = hr_fit(m, hr_batch(hr_shuffle(reviews(argv[1]), 5000), 64), .epochs = 5);
    const hr_logs *logs = h ? hr_model_evaluate(m, reviews(argv[2])) : NULL;
    if (logs)
        printf("AUC %.3f, accuracy %.3f\n", hr_logs_get(logs, "auc"), hr_logs_get(logs, "accuracy"));
    else
        fprintf(stderr, "%s\n", hr_model_error(m)->text);
    hr_model_free(m);
    return !logs;
}
