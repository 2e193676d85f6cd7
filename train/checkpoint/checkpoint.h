/* Headrace, checkpoints: named tensors in files, TensorFlow's V2 format (TensorBundle), both ways. A checkpoint "P" is
 * P.index (a sorted table of entries) and P.data-00000-of-00001 (the bytes); a `checkpoint` file in the folder names
 * the latest.
 *
 * Written files appear whole or not at all: the index is renamed to its name last. */
#ifndef HR_CHECKPOINT_H
#define HR_CHECKPOINT_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ---- */

typedef struct hr_bundle_writer hr_bundle_writer;
/* Begins a checkpoint PREFIX.index and PREFIX.data-00000-of-00001, under temporary names. Gives *out. */
HR_API hr_status hr_bundle_writer_open(const char *prefix, hr_bundle_writer **out, hr_error *err);
/* Appends a dense tensor. Names are free of order, each once. */
HR_API hr_status hr_bundle_add(hr_bundle_writer *writer, const char *name, const hr_tensor *tensor, hr_error *err);
/* A part of a variable of shape `full`: length[i] values from start[i] in dimension i; -1: all of it. */
HR_API hr_status hr_bundle_add_slice(hr_bundle_writer *writer, const char *name, hr_shape full, const int64_t *start,
                                     const int64_t *length, const hr_tensor *tensor, hr_error *err);
/* Writes the index, syncs both files, renames them. Takes `writer`; on failure nothing is left. */
HR_API hr_status hr_bundle_writer_commit(hr_bundle_writer *writer, hr_error *err);
HR_API void hr_bundle_writer_discard(hr_bundle_writer *writer); /* takes it. NULL: nothing */

/* ---- reading ---- */

typedef struct hr_bundle hr_bundle;

/* One entry of the index. */
typedef struct hr_bundle_entry {
    const char *name;
    hr_dtype dtype;
    hr_shape shape;
    int32_t shard;
    int64_t offset, size; /* in the shard's file */
    uint32_t crc32c;      /* masked, as stored */
    int slices;           /* parts that hold the bytes instead; 0: they are here */
} hr_bundle_entry;

/* HR_NOT_FOUND: no such checkpoint. HR_DATA_LOSS, HR_OUT_OF_RANGE: the index is damaged. HR_INVALID_ARGUMENT: written
 * for a newer reader. Damage elsewhere shows when a tensor is read. */
HR_API hr_status hr_bundle_open(const char *prefix, hr_bundle **out, hr_error *err);
HR_API void hr_bundle_free(hr_bundle *bundle); /* NULL: nothing */
HR_API int hr_bundle_shards(const hr_bundle *bundle);
/* All entries in the order of their names, without header and slices: borrows until hr_bundle_free. */
HR_API hr_status hr_bundle_list(hr_bundle *bundle, const hr_bundle_entry **entries, int *count, hr_error *err);
HR_API hr_status hr_bundle_has(hr_bundle *bundle, const char *name, bool *has, hr_error *err);
/* Whether every tensor's bytes lie within its data file, without reading them: HR_NOT_FOUND, HR_OUT_OF_RANGE. */
HR_API hr_status hr_bundle_check(hr_bundle *bundle, hr_error *err);
/* Gives the tensor. HR_NOT_FOUND: no such name, or the data file is gone; HR_OUT_OF_RANGE: the data file is too short;
 * HR_DATA_LOSS: the bytes do not match their checksum. */
HR_API hr_status hr_bundle_read(hr_bundle *bundle, const char *name, hr_tensor *out, hr_error *err);
/* A part of it, by TensorFlow's text: "10 4 0,5:0,4" (full shape, then start,length of each dimension; - is all of
 * it). */
HR_API hr_status hr_bundle_read_slice(hr_bundle *bundle, const char *name, const char *slice, hr_tensor *out,
                                      hr_error *err);

/* ---- which checkpoints there are ---- */

typedef struct hr_latest_checkpoint_opts {
    size_t struct_size;
    const char *filename; /* of the state file; default "checkpoint" */
    bool tf_compat;       /* take the path for a pattern, so that one with [1] in it is never found */
} hr_latest_checkpoint_opts;
/* The checkpoint that a folder's state file names as its latest, if its index is there, as
 * tf.train.latest_checkpoint: gives the prefix, NULL if there is none. It looks for no older one. A state file that
 * does not parse counts as none, with a warning; one without a path is HR_INVALID_ARGUMENT. */
HR_API hr_status hr_latest_checkpoint_with(const char *folder, const hr_latest_checkpoint_opts *opts, char **prefix,
                                           hr_error *err);
#define hr_latest_checkpoint(folder, prefix, ...)                                                                      \
    HR_LATEST_CHECKPOINT_(folder, prefix, __VA_ARGS__, .struct_size = sizeof(hr_latest_checkpoint_opts))
#define HR_LATEST_CHECKPOINT_(folder, prefix, err, ...)                                                                \
    hr_latest_checkpoint_with((folder), &(hr_latest_checkpoint_opts){__VA_ARGS__}, (prefix), (err))

/* The newest checkpoint of a folder that is whole (hr_bundle_check), which is where a training goes on: the latest of
 * the state file; or else, with a warning, the newest of those that it lists or whose index lies in the folder under
 * such a name (NAME-STEP, with the NAME of one that is listed; where none is listed, model.ckpt). Gives the prefix;
 * NULL: there is no checkpoint, or all that the state file names are gone, with a warning. HR_DATA_LOSS: of some there
 * are files, but none is whole. */
HR_API hr_status hr_whole_checkpoint(const char *folder, char **prefix, hr_error *err);

/* Keeps the newest checkpoints of a folder, as tf.train.Saver does. It removes only files that lie in the folder and
 * whose names it makes itself: P.index, P.meta, P.data-DDDDD-of-DDDDD. */
typedef struct hr_saver hr_saver;
typedef struct hr_saver_opts {
    size_t struct_size;
    const int64_t *max_to_keep; /* default 5; 0: all */
    double keep_every_n_hours;  /* one in so many hours is kept for ever; default 10000 */
    bool relative_paths;        /* in the `checkpoint` file */
    double (*now)(void *user);  /* seconds since 1970; default: the clock */
    void *user;
    bool make_folder; /* if it is absent; default: it is made by whoever writes the first checkpoint */
} hr_saver_opts;
HR_API hr_status hr_saver_open_with(const char *folder, const hr_saver_opts *opts, hr_saver **out, hr_error *err);
#define hr_saver_open(folder, out, ...) HR_SAVER_OPEN_(folder, out, __VA_ARGS__, .struct_size = sizeof(hr_saver_opts))
#define HR_SAVER_OPEN_(folder, out, err, ...) hr_saver_open_with((folder), &(hr_saver_opts){__VA_ARGS__}, (out), (err))
/* "folder/basename-step", a training's name of a checkpoint; without the step if it is below 0. Gives (hr_free);
 * NULL: no memory. */
HR_API char *hr_checkpoint_prefix(const char *folder, const char *basename, int64_t step);
/* Goes on where the folder's state file stands. `restored`: the checkpoint that the training continues from, NULL: the
 * latest. The files of those that are newer are renamed to FILE.aside, so that nothing is written over them. */
HR_API hr_status hr_saver_recover(hr_saver *saver, const char *restored, hr_error *err);
/* `prefix` is about to be written: a comment in the state file, if there is one, says so until hr_saver_saved, which in
 * its turn names there what it removes. By the comment that a killed process left, this call knows what was the
 * saver's own: it removes files without an index, and lists a checkpoint that has one, so that it goes when its time
 * comes. */
HR_API hr_status hr_saver_saving(hr_saver *saver, const char *prefix, hr_error *err);
/* `prefix` has been written: the state file is replaced, then what is over the limit is removed. */
HR_API hr_status hr_saver_saved(hr_saver *saver, const char *prefix, hr_error *err);
HR_API void hr_saver_free(hr_saver *saver); /* NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
