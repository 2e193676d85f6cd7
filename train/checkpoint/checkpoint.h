/* Headrace, checkpoints: writes and reads named tensors in TensorFlow's V2 format (TensorBundle). A checkpoint "P" is
 * P.index (a sorted table of entries) and P.data-00000-of-00001 (the bytes). The state file `checkpoint` in the folder
 * names the latest checkpoint.
 *
 * A checkpoint appears whole or not at all: files are written under temporary names, and the index is renamed last. */
#ifndef HR_CHECKPOINT_H
#define HR_CHECKPOINT_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ---- */

typedef struct hr_bundle_writer hr_bundle_writer;
/* Begins the files PREFIX.index and PREFIX.data-00000-of-00001 under temporary names. Gives *out, which
 * hr_bundle_writer_commit or hr_bundle_writer_discard takes. */
HR_API hr_status hr_bundle_writer_open(const char *prefix, hr_bundle_writer **out, hr_error *err);
/* Appends a dense tensor. Names may come in any order; the commit refuses a name that was added twice,
 * "checkpoint.twice". */
HR_API hr_status hr_bundle_add(hr_bundle_writer *writer, const char *name, const hr_tensor *tensor, hr_error *err);
/* Appends a part of a variable of shape `full`: length[i] values from start[i] on in dimension i; a length of -1: all
 * of the dimension. */
HR_API hr_status hr_bundle_add_slice(hr_bundle_writer *writer, const char *name, hr_shape full, const int64_t *start,
                                     const int64_t *length, const hr_tensor *tensor, hr_error *err);
/* The same with TensorFlow's text for the place, as hr_bundle_read_slice has it; "": a whole tensor. The tensor must have
 * the shape of the part, "checkpoint.slice". */
HR_API hr_status hr_bundle_add_part(hr_bundle_writer *writer, const char *name, const char *slice,
                                    const hr_tensor *tensor, hr_error *err);
/* Writes the index, syncs both files and renames them. Takes `writer`. After a failure no file is left. */
HR_API hr_status hr_bundle_writer_commit(hr_bundle_writer *writer, hr_error *err);
HR_API void hr_bundle_writer_discard(hr_bundle_writer *writer); /* takes `writer`. NULL: nothing */

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
    int slices;           /* number of entries, one a part, that hold the bytes instead; 0: this entry has them */
} hr_bundle_entry;

/* Gives *out (hr_bundle_free). HR_NOT_FOUND: there is no such checkpoint. HR_DATA_LOSS, HR_OUT_OF_RANGE: the index is
 * damaged. HR_INVALID_ARGUMENT: the file requires a newer reader. Damage of data files is found when a tensor is
 * read. */
HR_API hr_status hr_bundle_open(const char *prefix, hr_bundle **out, hr_error *err);
HR_API void hr_bundle_free(hr_bundle *bundle); /* NULL: nothing */
HR_API int hr_bundle_shards(const hr_bundle *bundle);
/* All entries sorted by name, without the header and the entries of slices. Lends *entries until hr_bundle_free. */
HR_API hr_status hr_bundle_list(hr_bundle *bundle, const hr_bundle_entry **entries, int *count, hr_error *err);
HR_API hr_status hr_bundle_has(hr_bundle *bundle, const char *name, bool *has, hr_error *err);
/* Checks all that can be seen without reading tensors: that the bytes of each lie within its data file, that nothing
 * follows them there, and every byte of the index. HR_NOT_FOUND: a data file is missing; HR_OUT_OF_RANGE: a data file is
 * too short; HR_DATA_LOSS: the index is damaged, "table.damaged", or a data file is too long, "checkpoint.trailing", so
 * something is wrong, although all tensors may still be read. */
HR_API hr_status hr_bundle_check(hr_bundle *bundle, hr_error *err);
/* Gives the tensor. HR_NOT_FOUND: no such name, or no data file; HR_OUT_OF_RANGE: the data file is too short;
 * HR_DATA_LOSS: the bytes do not match their checksum. */
HR_API hr_status hr_bundle_read(hr_bundle *bundle, const char *name, hr_tensor *out, hr_error *err);
/* Gives a part of the tensor. `slice` is TensorFlow's text for it: "10 4 0,5:0,4", the full shape, then start,length of
 * each dimension; "-" is all of a dimension. */
HR_API hr_status hr_bundle_read_slice(hr_bundle *bundle, const char *name, const char *slice, hr_tensor *out,
                                      hr_error *err);

/* ---- several as one ---- */

typedef struct hr_bundle_merge_opts {
    size_t struct_size;
    bool keep_folders;  /* default: the folders of what was merged are removed if they are empty then */
    bool allow_missing; /* a checkpoint that is not there is left out, if one is there */
} hr_bundle_merge_opts;
/* Makes `count` checkpoints one, called `to`, and none of them is left: their data files are renamed. Parts of a
 * variable may come from several; a name that is otherwise in two of them is refused, "checkpoint.twice". */
HR_API hr_status hr_bundle_merge_with(const char *const *prefixes, int count, const char *to,
                                      const hr_bundle_merge_opts *opts, hr_error *err);
#define hr_bundle_merge(prefixes, count, to, ...)                                                                      \
    HR_BUNDLE_MERGE_(prefixes, count, to, __VA_ARGS__, .struct_size = sizeof(hr_bundle_merge_opts))
#define HR_BUNDLE_MERGE_(prefixes, count, to, err, ...)                                                                \
    hr_bundle_merge_with((prefixes), (count), (to), &(hr_bundle_merge_opts){__VA_ARGS__}, (err))

/* ---- which checkpoints there are ---- */

typedef struct hr_latest_checkpoint_opts {
    size_t struct_size;
    const char *filename; /* of the state file; default "checkpoint" */
    bool tf_compat;       /* takes the path as a pattern, so that a path with [1] in it is never found */
} hr_latest_checkpoint_opts;
/* Gives the prefix of the latest checkpoint that a folder's state file names, or NULL if its index does not exist, as
 * tf.train.latest_checkpoint does. Does not look for an older one. A state file that cannot be parsed counts as absent,
 * with a warning; one without a path is an error, HR_INVALID_ARGUMENT. */
HR_API hr_status hr_latest_checkpoint_with(const char *folder, const hr_latest_checkpoint_opts *opts, char **prefix,
                                           hr_error *err);
#define hr_latest_checkpoint(folder, prefix, ...)                                                                      \
    HR_LATEST_CHECKPOINT_(folder, prefix, __VA_ARGS__, .struct_size = sizeof(hr_latest_checkpoint_opts))
#define HR_LATEST_CHECKPOINT_(folder, prefix, err, ...)                                                                \
    hr_latest_checkpoint_with((folder), &(hr_latest_checkpoint_opts){__VA_ARGS__}, (prefix), (err))

/* Gives the prefix of the newest complete checkpoint of a folder, all of whose tensors have their bytes, from which a training resumes. This
 * is the latest one of the state file if it is complete. Otherwise, with a warning, it is the newest complete one of
 * those that the state file lists and of those in the folder that are named NAME-STEP, where NAME is that of a listed
 * one, or model.ckpt if none is listed. NULL: there is no checkpoint, or, with a warning, all that the state file names
 * are gone. HR_DATA_LOSS: there are files of checkpoints, but no complete one. */
HR_API hr_status hr_whole_checkpoint(const char *folder, char **prefix, hr_error *err);

/* Keeps the newest checkpoints of a folder and removes older ones, as tf.train.Saver does. It removes only files in the
 * folder itself that belong to a checkpoint P: P.index, P.meta, P.data-DDDDD-of-DDDDD. */
typedef struct hr_saver hr_saver;
typedef struct hr_saver_opts {
    size_t struct_size;
    const int64_t *max_to_keep; /* default 5; 0: all are kept */
    double keep_every_n_hours;  /* one checkpoint in this time is kept for ever; default 10000 */
    bool relative_paths;        /* writes paths relative to the folder into the state file */
    double (*now)(void *user);  /* seconds since 1970; default: the clock */
    void *user;
    bool make_folder; /* creates the folder; default: it must exist when a checkpoint is written */
    /* Keeps as tf.train.CheckpointManager does: the state file has the times of saving, one is kept for ever if it was
     * saved keep_every_n_hours or more after the one kept before (default: none is), as many are removed as are too
     * many, and with max_to_keep 0 all are listed. hr_saver_recover goes on with the times of the state file. */
    bool manager;
} hr_saver_opts;
HR_API hr_status hr_saver_open_with(const char *folder, const hr_saver_opts *opts, hr_saver **out, hr_error *err);
#define hr_saver_open(folder, out, ...) HR_SAVER_OPEN_(folder, out, __VA_ARGS__, .struct_size = sizeof(hr_saver_opts))
#define HR_SAVER_OPEN_(folder, out, err, ...) hr_saver_open_with((folder), &(hr_saver_opts){__VA_ARGS__}, (out), (err))
/* Gives the prefix of a training's checkpoint, "folder/basename-step", or "folder/basename" if `step` is below 0
 * (hr_free); NULL: no memory. */
HR_API char *hr_checkpoint_prefix(const char *folder, const char *basename, int64_t step);
/* Continues with the checkpoints that the folder's state file lists. `restored` is the checkpoint from which the
 * training resumes; NULL: the latest. The files of newer checkpoints are renamed to FILE.aside, so that they are not
 * overwritten. */
HR_API hr_status hr_saver_recover(hr_saver *saver, const char *restored, hr_error *err);
/* Announces that `prefix` will be written: if the state file exists, a comment in it names `prefix` until
 * hr_saver_saved, which names there, in the same way, the checkpoint that it removes. If a killed process has left such
 * a comment, this call clears up after it: the files of the checkpoint are removed if they have no index; if they have
 * one, the checkpoint is listed again and removed later like any other. */
HR_API hr_status hr_saver_saving(hr_saver *saver, const char *prefix, hr_error *err);
/* Adds `prefix`, which has been written, to the state file as the latest, then removes what exceeds max_to_keep. */
HR_API hr_status hr_saver_saved(hr_saver *saver, const char *prefix, hr_error *err);
HR_API void hr_saver_free(hr_saver *saver); /* NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
