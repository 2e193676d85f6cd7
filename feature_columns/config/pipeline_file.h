/* Headrace, pipelines from a file: the `pipeline:` section of a YAML file is a list of operators in order, from the
 * files up, by TensorFlow's names. docs/config.md has all of them.
 *
 *     pipeline:
 *       - list_files: {pattern: train-*.tfrecord, shuffle: true}
 *       - interleave: {cycle_length: 4}
 *       - shuffle: 10000
 *       - batch: 512
 *       - parse_example            # the fields of schema:, or what columns: need of them
 *       - transform_features       # the columns of columns:
 *       - prefetch
 *
 *     hr_dataset *ds;
 *     hr_status st = hr_pipeline_from_file("flights.yaml", &ds, &err, .data = "/data/flights");
 *     if (st == HR_OK) it = hr_iterate(ds);
 *
 * The columns of such a file by themselves: hr_column_set_open of feature_columns.h. A whole training: training_file.h. */
#ifndef HR_PIPELINE_FILE_H
#define HR_PIPELINE_FILE_H

#include <headrace/data.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_pipeline_from_file_opts {
    size_t struct_size;
    const char *data; /* the folder that relative names of files count from; default: the current one */
} hr_pipeline_from_file_opts;

/* Gives the dataset of the file's section; NULL after a failure. What is wrong is named with its line and column.
 * Kinds: config.*, schema.*, those of the columns and of the operators. */
HR_API hr_status hr_pipeline_from_file_with(const char *path, const hr_pipeline_from_file_opts *opts, hr_dataset **out,
                                            hr_error *err);
#define hr_pipeline_from_file(path, out, ...)                                                                          \
    HR_PIPELINE_FROM_FILE_(path, out, __VA_ARGS__, .struct_size = sizeof(hr_pipeline_from_file_opts))
#define HR_PIPELINE_FROM_FILE_(path, out, err, ...)                                                                    \
    hr_pipeline_from_file_with((path), &(hr_pipeline_from_file_opts){__VA_ARGS__}, (out), (err))

/* Whether a file describes a pipeline and no training: it has a section `pipeline:` and none `train:`. False also for
 * a file that cannot be read: what opens it then says why. A pipe is empty afterwards. */
HR_API bool hr_is_pipeline_file(const char *path);

#ifdef __cplusplus
}
#endif
#endif
