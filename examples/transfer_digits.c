/* Transfer: a network that knows the digits 0 to 4 learns 5 to 9 faster than one that knows nothing.
 *
 *     cc transfer_digits.c $(pkg-config --cflags --libs headrace_train) -o transfer_digits
 *     ./transfer_digits examples/data/digits.csv.gz models
 *
 * The hidden layers of the second training begin with those of the first; its layer of logits begins anew. */
#include <headrace/train.h>
#include <stdio.h>

enum { PIXELS = 64, STEPS = 40 };

/* Rows of the file with the digits `low` to `high`; so many epochs. */
typedef struct digits {
    const char *file;
    int64_t low, high, epochs;
} digits;

static bool is_asked_for(const hr_element *row, void *user)
{
    const digits *d = user;
    const hr_tensor *label = hr_get(row, "label");
    const int64_t digit = label ? *(const int64_t *)label->data : -1;
    return digit >= d->low && digit <= d->high;
}

static hr_dataset *read_digits(void *user)
{
    const digits *d = user;
    static char names[PIXELS][4];
    hr_csv_column column[PIXELS + 1];
    for (int i = 0; i < PIXELS; i++) {
        snprintf(names[i], sizeof names[i], "p%d", i);
        column[i] = (hr_csv_column){.name = names[i], .dtype = HR_FLOAT};
    }
    column[PIXELS] = (hr_csv_column){.name = "label", .dtype = HR_INT64};
    hr_dataset *ds = hr_csv(d->file, .columns = column, .column_count = PIXELS + 1, .label = "label");
    ds = hr_filter(ds, is_asked_for, user);
    ds = hr_shuffle_and_repeat(ds, 1000, .count = d->epochs, .seed = 7);
    return hr_batch(ds, 32);
}

/* Trains a model, which begins with the values of `warm` unless it is NULL; prints what the model then gets right. */
static hr_status learn(digits d, const char *model_dir, const hr_warm_start_settings *warm, double *accuracy)
{
    hr_feature_column *pixel[PIXELS];
    char name[4];
    for (int i = 0; i < PIXELS; i++) {
        snprintf(name, sizeof name, "p%d", i);
        pixel[i] = hr_numeric_column(name, .mean = 8, .std = 8);
    }
    hr_estimator *e =
        hr_dnn_classifier(.model_dir = model_dir, .dnn_feature_columns = {pixel, PIXELS},
                          .dnn_hidden_units = HR_UNITS(16, 16), .n_classes = 10, .dnn_optimizer = hr_sgd(0.05f),
                          .config = {.tf_random_seed = 1}, .warm_start_from = warm);
    for (int i = 0; i < PIXELS; i++) hr_feature_column_unref(pixel[i]);
    d.epochs = 20;
    hr_status st = hr_estimator_train(e, read_digits, &d, .steps = warm || d.low > 0 ? STEPS : 800);
    d.epochs = 1;
    if (st == HR_OK) st = hr_estimator_evaluate(e, read_digits, &d);
    if (st == HR_OK) *accuracy = hr_estimator_result(e, "accuracy");
    if (st != HR_OK) fprintf(stderr, "%s\n", hr_estimator_error(e)->text);
    hr_estimator_free(e);
    return st;
}

int main(int argc, char **argv)
{
    char first[1024], cold[1024], transferred[1024];
    double known = 0, from_scratch = 0, warm = 0;
    if (argc != 3) return fprintf(stderr, "usage: transfer_digits CSV MODELS\n"), 2;
    snprintf(first, sizeof first, "%s/0-4", argv[2]);
    snprintf(cold, sizeof cold, "%s/5-9-from-scratch", argv[2]);
    snprintf(transferred, sizeof transferred, "%s/5-9-warm", argv[2]);
    const digits low = {argv[1], 0, 4, 1}, high = {argv[1], 5, 9, 1};
    const hr_warm_start_settings *hidden = HR_WARM_START(first, .vars_to_warm_start = ".*hiddenlayer.*");
    if (learn(low, first, NULL, &known) != HR_OK || learn(high, cold, NULL, &from_scratch) != HR_OK ||
        learn(high, transferred, hidden, &warm) != HR_OK)
        return 1;
    printf("0 to 4: %.3f right\n", known);
    printf("5 to 9 after %d steps: %.3f right from scratch, %.3f with the hidden layers of 0 to 4\n", STEPS,
           from_scratch, warm);
    return warm > from_scratch ? 0 : 1;
}
