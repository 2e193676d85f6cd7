/* Headrace, pipelines from a file. The `pipeline:` section of a YAML file is a list of operators by TensorFlow's
 * names, in the order in which elements pass them. docs/config.md describes all of them.
 *
 *     pipeline:
 *       - list_files: {pattern: train-*.tfrecord, shuffle: true}
 *       - interleave: {cycle_length: 4}
 *       - shuffle: 10000
 *       - batch: 512
 *       - parse_example            # the fields of schema:, or those that columns: needs
 *       - transform_features       # the columns of columns:
 *       - prefetch
 *
 *     hr_dataset *ds;
 *     hr_status st = hr_pipeline_from_file("flights.yaml", &ds, &err, .data = "/data/flights");
 *     if (st == HR_OK) it = hr_iterate(ds);
 *
 * For the columns of such a file alone: hr_column_set_open of feature_columns.h. For a whole training: training_file.h.
 */
#ifndef HR_PIPELINE_FILE_H
#define HR_PIPELINE_FILE_H

#include <headrace/data.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_pipeline_from_file_opts {
    size_t struct_size;
    const char *data; /* the folder to which relative file names refer; default: the current one */
    /* Values of the file by their paths, as in hr_training_opts: "pipeline[3].batch=512". */
    const char *const *set;
    int set_count;
} hr_pipeline_from_file_opts;

/* Gives the dataset of the file's `pipeline:` section in *out; NULL after a failure. Messages have the line and column
 * of the mistake. Kinds: config.*, schema.*, those of the columns and of the operators. */
HR_API hr_status hr_pipeline_from_file_with(const char *path, const hr_pipeline_from_file_opts *opts, hr_dataset **out,
                                            hr_error *err);
#define hr_pipeline_from_file(path, out, ...)                                                                          \
    HR_PIPELINE_FROM_FILE_(path, out, __VA_ARGS__, .struct_size = sizeof(hr_pipeline_from_file_opts))
#define HR_PIPELINE_FROM_FILE_(path, out, err, ...)                                                                    \
    hr_pipeline_from_file_with((path), &(hr_pipeline_from_file_opts){__VA_ARGS__}, (out), (err))

/* True if a file describes a pipeline and no training: it has a section `pipeline:` and no section `train:`. False also
 * if the file cannot be read; the call that opens it next gives the error. A pipe is read to its end. */
HR_API bool hr_is_pipeline_file(const char *path);

#ifdef __cplusplus
}
#endif
#endif
