/* From a CSV to a trained model: what `headrace convert` and `headrace train` do, as a program.
 *
 *     cc convert_and_train.c $(pkg-config --cflags --libs headrace_train) -o convert_and_train
 *     ./convert_and_train flights.csv flights.yaml data
 *
 * The YAML file has the sections schema:, columns:, model: and train:, as examples/flights.yaml. The records go to
 * DATA/train-*.tfrecord, where its `files: train-*` finds them, and the model to DATA/model. */
#include <headrace/convert.h>
#include <headrace/training_file.h>
#include <stdio.h>

static bool show_rows(const hr_progress *now, void *user)
{
    (void)user;
    if (now->total > 0) fprintf(stderr, "\r%3.0f %% converted", 100.0 * (double)now->bytes / (double)now->total);
    return true; /* false would stop it */
}

static bool show_steps(const hr_training_progress *now, void *user)
{
    (void)user;
    if (now->step > now->first_step && now->step % 10 == 0)
        fprintf(stderr, "\rstep %lld, loss %.4f", (long long)now->step, (double)now->loss);
    return true;
}

/* The types of the fields come from the schema of the YAML file. A row without the label teaches nothing: it is left
 * out. */
static hr_status convert(const char *csv, const char *yaml, const char *data, hr_error *err)
{
    hr_file_list inputs = {0};
    hr_schema_file *schema = NULL;
    hr_convert_result result = {0};
    hr_status st = hr_match_files(csv, &inputs, err);
    if (st == HR_OK) st = hr_schema_file_open(yaml, &schema, err);
    const int label = hr_schema_file_label(schema);
    const char *const required[] = {label >= 0 ? hr_schema_file_at(schema, label).name : NULL};
    if (st == HR_OK)
        st = hr_convert(&inputs, data, &result, err, .schema = schema, .require = required, .require_count = label >= 0,
                        .prefix = "train-", .shards = 2, .progress = show_rows);
    if (st == HR_OK) printf("%lld rows in %lld files\n", (long long)result.written, (long long)result.files);
    hr_convert_result_clear(&result);
    hr_schema_file_free(schema);
    hr_file_list_clear(&inputs);
    return st;
}

static hr_status train(const char *yaml, const char *data, hr_error *err)
{
    hr_training *training;
    hr_train_result result;
    hr_status st = hr_training_open(yaml, &training, err, .data = data);
    if (st != HR_OK) return st;
    st = hr_training_train(training, &result, err, .progress = show_steps);
    if (st == HR_OK)
        printf("trained to step %lld, loss %.4f, in %s\n", (long long)result.last_step, (double)result.loss,
               hr_training_model_dir(training));
    hr_training_free(training);
    return st;
}

int main(int argc, char **argv)
{
    hr_error err = {0};
    if (argc != 4) return fprintf(stderr, "usage: convert_and_train CSV YAML DATA\n"), 2;
    hr_status st = convert(argv[1], argv[2], argv[3], &err);
    if (st == HR_OK) st = train(argv[2], argv[3], &err);
    fputc('\n', stderr);
    if (st != HR_OK) return fprintf(stderr, "%s\n", err.text), 1;
    return 0;
}
