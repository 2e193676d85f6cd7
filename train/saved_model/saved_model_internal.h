/* What the files of this room share: a model that was loaded, and the files that belong to one. */
#ifndef HR_SAVED_MODEL_INTERNAL_H
#define HR_SAVED_MODEL_INTERNAL_H

#include "base/text.h"
#include <headrace/saved_model.h>
#include <stdatomic.h>

struct hr_saved_model {
    atomic_int references;
    char *folder;
    hr_graph *graph;
    hr_meta_graph *meta;
    hr_session *session;
};

/* ---- assets.c ---- */

/* A file in `assets`, and the tensor that gets its path. */
typedef struct hr__asset {
    hr_node tensor;
    char *filename; /* within `assets` */
} hr__asset;
typedef struct hr__assets {
    hr__asset *list;
    int count, capacity;
} hr__assets;

/* All that a meta graph names, each tensor once. HR_INVALID_ARGUMENT, "savedmodel.asset": the graph lacks a tensor, or a
 * name leads out of `assets`. */
hr_status hr__assets_of(hr_graph *g, const hr_meta_graph *meta, hr__assets *out, hr_error *err);
void hr__assets_clear(hr__assets *assets);
/* Whether a name stays in its folder: it is not absolute, and has no "..", "." or empty part. */
bool hr__stays_within(const char *name);

/* ---- missing.c ---- */

/* Appends the names of the ops without a kernel, or without one for their types, that a run of a signature needs:
 * "UnicodeScript, Bessel"; nothing: it has all. */
HR_API hr_status hr__missing_ops(const hr_saved_model *model, const hr_meta_signature *signature, hr__text *out,
                                 hr_error *err);

/* ---- objects.c ---- */

/* Gives variables that functions take, and that the graph's own nodes do not restore, the values of their objects. To be
 * called before the first run. `folder`: files outside of it are not read; NULL: all may be. */
hr_status hr__objects_restore(const hr_saved_model *m, const char *folder, hr_error *err);

/* ---- meta.c ---- */

/* A collection of a meta graph; NULL: it has none of that key. */
const hr_meta_collection *hr__meta_collection_named(const hr_meta_graph *meta, const char *key);
/* The node that is run after the variables have their values: the first that there is. "": none. */
const char *hr__initializer_of(const hr_meta_graph *meta);

#endif
