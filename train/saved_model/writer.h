/* What the files that write SavedModels share. */
#ifndef HR_SAVED_MODEL_WRITER_H
#define HR_SAVED_MODEL_WRITER_H

#include "base/text.h"
#include "train/graph/graph_internal.h"
#include "train/saved_model/saved_model_internal.h"

/* A file that is in `assets` already. */
typedef struct hr__copied {
    char *path, *filename; /* where it came from; its name there */
} hr__copied;

struct hr_saved_model_writer {
    char *folder, *temporary; /* what it becomes; where it is written */
    bool text;
    hr__text graphs; /* of the file, so far */
    int graph_count;
    bool has_variables;
    hr__copied *copied;
    int copied_count, copied_capacity;
    struct hr_record_writer *warmup; /* NULL: no request yet */
    hr_error failed;                 /* the first failure; code HR_OK: none */
};

/* A path in the folder that is being written. Gives; NULL: no memory. */
char *hr__writer_path(const hr_saved_model_writer *w, const char *name);
/* Copies a file there. `name` may have folders in it. */
hr_status hr__writer_copy(const hr_saved_model_writer *w, const char *from, const char *name, hr_error *err);
/* Copies a file into `assets`, under its own name, or that and a number if another file has it. Lends *filename. */
hr_status hr__writer_asset(hr_saved_model_writer *w, const char *path, const char **filename, hr_error *err);

/* Keeps the first failure, which the commit then gives. Returns `st`. */
hr_status hr__writer_tell(hr_saved_model_writer *w, hr_status st, const hr_error *err);

/* ---- write_graph.c ---- */

/* What makes a model one of TensorFlow 2. */
typedef struct hr__written_form {
    hr_view objects;    /* a SavedObjectGraph */
    hr_view checkpoint; /* a TrackableObjectGraph, which the checkpoint has besides the variables */
    /* Under which key a variable is in the checkpoint. */
    const char *(*key)(const char *variable, const void *user);
    const void *user;
} hr__written_form;

/* A graph on its way into a file: a copy, to which nodes are added. */
typedef struct hr__written_graph {
    hr_graph *g;
    hr_meta_graph *meta;
    const hr_saved_graph_opts *opts;
    const hr__written_form *form; /* NULL: TensorFlow 1's */
} hr__written_graph;

/* As hr_saved_model_writer_add. With a form, its objects are written beside the graph. */
hr_status hr__saved_model_writer_add(hr_saved_model_writer *w, hr_session *s, const hr_saved_graph_opts *opts,
                                     const hr__written_form *form, hr_error *err);

/* ---- write_saver.c ---- */

/* Adds the nodes that save and restore all variables, as TensorFlow's saver, unless the graph has some. */
hr_status hr__write_saver(hr__written_graph *to, hr_error *err);

/* ---- write_signature.c ---- */

hr_status hr__write_signature(hr__written_graph *to, const hr_saved_signature *s, hr_error *err);

#endif
