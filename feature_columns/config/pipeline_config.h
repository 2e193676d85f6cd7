/* The `pipeline:` section of a file that people write: operators in order, from the files up, by TensorFlow's names.
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
 * Not a public header. */
#ifndef HR__PIPELINE_CONFIG_H
#define HR__PIPELINE_CONFIG_H

#include "base/config.h"
#include <headrace/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gives the dataset of a file's section; relative names of files count from `data` (NULL: the current folder). What is
 * wrong is named with its line and column. Kinds: those of column_config.h, schema.h, the columns and the operators. */
hr_status hr__pipeline_open(const char *path, const char *data, hr_dataset **out, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
