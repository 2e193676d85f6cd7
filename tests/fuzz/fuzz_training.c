/* Any bytes as a training file give a training that makes an estimator and its datasets, or one error with a text. No
 * file is read but this one: patterns and vocabularies are looked at when a pipeline runs. */
#include <headrace/training_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a file without a name on any disk. */
static int file_of(const uint8_t *data, size_t size, char path[64])
{
    const int fd = memfd_create("training", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* Errors stick to what they are of. */
static void use(hr_training *t)
{
    hr_estimator *e = hr_training_estimator(t);
    hr_training_predicted predicted = {.training = t};
    if (!e || !hr_training_identity(t)) abort();
    hr_dataset_unref(hr_training_input(t));
    if (hr_training_eval_files(t)) {
        hr_dataset_unref(hr_training_eval_input(t));
        hr_dataset_unref(hr_training_predict_input(&predicted));
    }
    hr_estimator_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    hr_training *t = NULL;
    hr_error err = {0};
    const int fd = file_of(data, size, path);
    const hr_status st = hr_training_open_with(path, &(hr_training_opts){.data = "nowhere"}, &t, &err);
    close(fd);
    if ((st == HR_OK) != (t != NULL) || (st != HR_OK && !err.text[0])) abort();
    if (t) use(t);
    hr_training_free(t);
    return 0;
}
