/* What lies in a folder of checkpoints. Paths are compared byte by byte here: none is ever a pattern. */
#ifndef HR_CHECKPOINT_FOLDER_H
#define HR_CHECKPOINT_FOLDER_H

#include <headrace/checkpoint.h>

/* HR_INVALID_ARGUMENT: NULL was given for `what`. */
hr_status hr__checkpoint_lacks(const char *what, hr_error *err);

typedef struct hr__checkpoint_list {
    char **prefix;
    int count;
    int listed;     /* so many from the front are named in the state file */
    char *unlisted; /* what it says is being written or removed; NULL: nothing */
} hr__checkpoint_list;

void hr__checkpoint_list_clear(hr__checkpoint_list *list);

/* All checkpoints that a folder names or holds, the newest first: the latest of its state file, the others that the
 * file lists, last one first, then those whose index lies in the folder under such a name, by step. One that lies in
 * the folder begins with `folder` as it is given here, whatever way the state file writes it. A state file that is
 * damaged counts as absent, with a warning. */
hr_status hr__checkpoint_list_folder(const char *folder, hr__checkpoint_list *out, hr_error *err);

/* As hr_bundle_writer_open, but a checkpoint of this name is there until the index of the new one replaces its index: the
 * data file gets a name that the old one does not have, PREFIX.data-00001-of-00002, and the old one goes last. */
hr_status hr__bundle_writer_replace(const char *prefix, hr_bundle_writer **out, hr_error *err);

/* Opens a checkpoint by its prefix, or the latest one of a folder, or that of a SavedModel's folder. Gives *out. */
hr_status hr__checkpoint_open(const char *path, hr_bundle **out, hr_error *err);

/* The bytes of every tensor lie within its data file. HR_NOT_FOUND, HR_OUT_OF_RANGE: as hr_bundle_check. */
hr_status hr__bundle_is_complete(hr_bundle *b, hr_error *err);

/* Whether the prefix names a checkpoint right in the folder, by the text of both. */
bool hr__checkpoint_lies_in(const char *folder, const char *prefix);

/* The prefix as a path that begins with `folder`, if it lies right in it by whatever path it is given; itself
 * otherwise: each checkpoint of a folder has one text. Gives; NULL: no memory. */
char *hr__checkpoint_seen_from(const char *folder, const char *prefix);

/* A name of the state file as a prefix: relative ones count from the folder. Gives; NULL: no memory. */
char *hr__checkpoint_prefix_of(const char *folder, const char *name);

/* Calls `visit` with the path of each file of the checkpoint that is there: P.index, P.meta, P.data-DDDDD-of-DDDDD.
 * A folder that cannot be read holds none. */
hr_status hr__checkpoint_each_file(const char *prefix, hr_status (*visit)(const char *path, void *user, hr_error *err),
                                   void *user, hr_error *err);

#endif
