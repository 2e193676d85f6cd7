/* A model of two inputs and two outputs: of a taxi trip, how far and how long it was, and how it was paid at which hour;
 * what it cost, and whether a tip was given.
 *
 *     cc fit_trips.c $(pkg-config --cflags --libs headrace_train) -o fit_trips
 *     ./fit_trips data/taxi.csv.gz
 */
#include <headrace/headrace.h>
#include <stdio.h>

/* Columns of the file as inputs and labels, by the names that the model has for them. */
static hr_status arrange(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    float *length = hr_set(out, "length");
    length[0] = *(const float *)hr_get(in, "miles")->data / 10;
    length[1] = *(const float *)hr_get(in, "seconds")->data / 1000;
    const hr_view payment = *(const hr_view *)hr_get(in, "payment")->data;
    const int64_t hour = *(const int64_t *)hr_get(in, "hour")->data;
    int64_t *ids = hr_set(out, "circumstances");
    ids[0] = hour >= 0 && hour < 24 ? hour : 0;
    ids[1] = 24 + (int64_t)(hr_fingerprint64(payment.data, (size_t)payment.size) % 8);
    *(float *)hr_set(out, "fare") = *(const float *)hr_get(in, "fare")->data;
    *(float *)hr_set(out, "tip") = (float)*(const int64_t *)hr_get(in, "tipped")->data;
    return HR_OK;
}

static hr_dataset *trips(const char *file)
{
    static const hr_field fields[] = {{.name = "length", .dtype = HR_FLOAT, .shape = {1, {2}}},
                                      {.name = "circumstances", .dtype = HR_INT64, .shape = {1, {2}}},
                                      {.name = "fare", .dtype = HR_FLOAT, .label = true},
                                      {.name = "tip", .dtype = HR_FLOAT, .label = true}};
    static const hr_schema schema = {.fields = 4, .field = fields};
    const hr_csv_column column[] = {{.name = "miles", .dtype = HR_FLOAT}, {.name = "seconds", .dtype = HR_FLOAT},
                                    {.name = "hour", .dtype = HR_INT64},  {.name = "payment", .dtype = HR_STRING},
                                    {.name = "fare", .dtype = HR_FLOAT},  {.name = "tipped", .dtype = HR_INT64}};
    hr_dataset *ds = hr_csv(file, .columns = column, .column_count = 6);
    return hr_batch(hr_shuffle(hr_cache(hr_map(ds, arrange, NULL, .output = &schema)), 5000, .seed = 7), 64);
}

int main(int argc, char **argv)
{
    if (argc != 2) return fprintf(stderr, "usage: fit_trips CSV\n"), 2;
    hr_model *m = hr_model_new(.name = "trips", .seed = 1);
    hr_symbol length = hr_model_input(m, HR_SHAPE(2), .name = "length");
    hr_symbol ids = hr_model_input(m, HR_SHAPE(2), .name = "circumstances", .dtype = HR_INT64);
    hr_symbol known = hr_connect(hr_flatten_layer(), hr_connect(hr_embedding_layer(32, 4), ids));
    hr_symbol net = hr_connect(hr_concatenate_layer(), length, known);
    net = hr_connect(hr_dense_layer(32, .activation = "relu"), net);
    net = hr_connect(hr_dense_layer(16, .activation = "relu"), net);
    hr_model_outputs(m, hr_connect(hr_dense_layer(1, .name = "fare"), net),
                     hr_connect(hr_dense_layer(1, .activation = "sigmoid", .name = "tip"), net));
    hr_compile(m, .optimizer = hr_adam(0.005f),
               .losses = HR_LOSSES({.output = "fare", .loss = "mse", .weight = HR_F32(0.01f)},
                                   {.output = "tip", .loss = "binary_crossentropy"}),
               .metric_list = HR_METRICS({.output = "tip", .metric = "AUC"}));
    const hr_history *h = hr_fit(m, trips(argv[1]), .epochs = 5);
    if (h)
        printf("fares: mean squared error %.1f, tips: AUC %.3f\n", hr_history_last(h, "fare_loss"),
               hr_history_last(h, "tip_auc"));
    else
        fprintf(stderr, "%s\n", hr_model_error(m)->text);
    hr_model_free(m);
    return !h;
}
