/* Headrace, MetaGraphDef: a graph as a file together with what belongs to it: collections, variables, the saver,
 * signatures, assets. TensorFlow writes one beside each checkpoint (PREFIX.meta), and several into a SavedModel.
 *
 *     hr_meta_graph *meta;
 *     if (hr_meta_graph_read(g, "model.ckpt-12.meta", &meta, &err) == HR_OK)
 *         printf("%d variables\n", hr_graph_variables(g));
 *
 * Variables and collections of nodes become the graph's (hr_graph_variable, hr_get_collection); all else is in the
 * hr_meta_graph, and is written again. */
#ifndef HR_META_GRAPH_H
#define HR_META_GRAPH_H

#include <headrace/checkpoint.h>
#include <headrace/graphdef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a MetaGraphDef says besides its graph. It borrows nothing. */
typedef struct hr_meta_graph hr_meta_graph;
HR_API hr_meta_graph *hr_meta_graph_new(void);    /* gives; NULL: no memory */
HR_API void hr_meta_graph_free(hr_meta_graph *m); /* NULL: nothing */

/* Adds the nodes of a MetaGraphDef to the graph, as hr_graph_import does, with its variables and its collections of
 * nodes, all of whose names get the .prefix. Gives *meta (NULL: it is not wanted), whose names are those of the file.
 * Fails as hr_graph_import, and with "metagraph.variable" if a VariableDef names nodes that the graph lacks. */
HR_API hr_status hr_meta_graph_import_with(hr_graph *g, hr_view bytes, hr_meta_graph **meta,
                                           const hr_graph_import_opts *opts, hr_error *err);
#define hr_meta_graph_import(g, bytes, meta, ...)                                                                      \
    HR_META_GRAPH_IMPORT_(g, bytes, meta, __VA_ARGS__, .struct_size = sizeof(hr_graph_import_opts))
#define HR_META_GRAPH_IMPORT_(g, bytes, meta, err, ...)                                                                \
    hr_meta_graph_import_with((g), (bytes), (meta), &(hr_graph_import_opts){__VA_ARGS__}, (err))

/* Gives a graph with its variables and collections, and with what `meta` has (NULL: nothing), as a MetaGraphDef:
 * `*bytes` (hr_free it), with a 0 after its `*size` bytes. A collection of the graph is written in the place of one of
 * the same name in `meta`. HR_UNIMPLEMENTED, "proto.unknown": `meta` came with fields that no text can say. */
HR_API hr_status hr_meta_graph_export_with(const hr_graph *g, const hr_meta_graph *meta, char **bytes, size_t *size,
                                           const hr_graph_export_opts *opts, hr_error *err);
#define hr_meta_graph_export(g, meta, bytes, size, ...)                                                                \
    HR_META_GRAPH_EXPORT_(g, meta, bytes, size, __VA_ARGS__, .struct_size = sizeof(hr_graph_export_opts))
#define HR_META_GRAPH_EXPORT_(g, meta, bytes, size, err, ...)                                                          \
    hr_meta_graph_export_with((g), (meta), (bytes), (size), &(hr_graph_export_opts){__VA_ARGS__}, (err))

/* From and to a file: text if the name ends in .pbtxt, else bytes. */
HR_API hr_status hr_meta_graph_read(hr_graph *g, const char *path, hr_meta_graph **meta, hr_error *err);
HR_API hr_status hr_meta_graph_write(const hr_graph *g, const hr_meta_graph *meta, const char *path, hr_error *err);

/* Reads one MetaGraphDef of a SavedModel, which is a folder with saved_model.pb or saved_model.pbtxt in it, or that file.
 * `tags`: all of its tags, "serve" or "serve,gpu", in any order; NULL: the one that there is. The values of variables
 * are beside it: hr_session_restore of FOLDER/variables/variables. HR_NOT_FOUND, "savedmodel.tags": there is none of
 * these tags, or there are several and `tags` does not choose; else it fails as hr_meta_graph_read. */
HR_API hr_status hr_saved_model_read(hr_graph *g, const char *path, const char *tags, hr_meta_graph **meta,
                                     hr_error *err);

/* Gives all MetaGraphDefs of a SavedModel without their graphs, whatever ops these have: *metas, `*count` of them
 * (hr_saved_model_metas_free). */
HR_API hr_status hr_saved_model_metas(const char *path, hr_meta_graph ***metas, int *count, hr_error *err);
HR_API void hr_saved_model_metas_free(hr_meta_graph **metas, int count); /* NULL: nothing */
/* How many nodes the graph of such a one has, with those of its functions; 0: it has none, or was not given so. */
HR_API int64_t hr_meta_graph_nodes(const hr_meta_graph *m);
/* Whether it has an object graph, as TensorFlow 2 writes them. */
HR_API bool hr_meta_graph_has_objects(const hr_meta_graph *m);
/* Writes a SavedModel's file again, as text if the name `to` ends in .pbtxt, else as bytes. All that it says is kept,
 * ops that nobody knows, too; its graphs are not checked. `from`: a folder or a file. HR_UNIMPLEMENTED,
 * "proto.unknown": it has fields that no text can say. */
HR_API hr_status hr_saved_model_convert(const char *from, const char *to, hr_error *err);

/* ---- what is in one: texts and arrays are borrowed from it ---- */

HR_API const char *hr_meta_graph_version(const hr_meta_graph *m);    /* TensorFlow's that wrote it; "": not said */
HR_API const char *hr_meta_graph_tag(const hr_meta_graph *m, int i); /* "serve"; NULL after the last one */
HR_API hr_status hr_meta_graph_add_tag(hr_meta_graph *m, const char *tag, hr_error *err); /* copies */

/* Which nodes save and restore: SaverDef. */
typedef struct hr_meta_saver {
    const char *filename; /* the tensor that is fed the prefix: "save/Const:0" */
    const char *save;     /* the tensor that saves: "save/control_dependency:0" */
    const char *restore;  /* the operation that restores: "save/restore_all" */
    int max_to_keep;
    bool sharded;
    float keep_every_n_hours;
    int version; /* 2: V2 checkpoints */
} hr_meta_saver;
HR_API bool hr_meta_graph_saver(const hr_meta_graph *m, hr_meta_saver *saver); /* false: it has none */
HR_API hr_status hr_meta_graph_set_saver(hr_meta_graph *m, const hr_meta_saver *saver, hr_error *err); /* copies */

/* An input or output of a signature, or a tensor that names an asset file. */
typedef struct hr_meta_tensor {
    const char *key;  /* within the signature */
    const char *name; /* of the tensor, "x:0"; of a sparse one that of its values. NULL: of another kind */
    const char *indices, *dense_shape; /* of a sparse one; else NULL */
    hr_dtype dtype;
    hr_shape shape;
} hr_meta_tensor;
typedef struct hr_meta_signature {
    const char *key, *method; /* "serving_default", "tensorflow/serving/predict" */
    const hr_meta_tensor *inputs, *outputs;
    int input_count, output_count;
} hr_meta_signature;
HR_API const hr_meta_signature *hr_meta_graph_signature(const hr_meta_graph *m, int i); /* NULL after the last one */
HR_API hr_status hr_meta_graph_add_signature(hr_meta_graph *m, const hr_meta_signature *signature, hr_error *err);

/* A file that a tensor gets the path of. */
typedef struct hr_meta_asset {
    const char *tensor, *filename; /* "Const:0" gets the path of "vocabulary.txt" */
} hr_meta_asset;
HR_API bool hr_meta_graph_asset(const hr_meta_graph *m, int i, hr_meta_asset *asset); /* false after the last one */
/* Copies. HR_INVALID_ARGUMENT: a NULL in it. */
HR_API hr_status hr_meta_graph_add_asset(hr_meta_graph *m, const hr_meta_asset *asset, hr_error *err);

/* A collection as the file has it. */
typedef enum hr_meta_kind {
    HR_META_NONE,
    HR_META_NODES,
    HR_META_BYTES,
    HR_META_INTS,
    HR_META_FLOATS,
    HR_META_ANY
} hr_meta_kind;
typedef struct hr_meta_collection {
    const char *key;
    hr_meta_kind kind;
    int count;
    const char *const *nodes; /* names of tensors and operations; of HR_META_ANY the types' names */
    const hr_view *bytes;     /* of HR_META_BYTES and HR_META_ANY */
    const int64_t *ints;
    const float *floats;
} hr_meta_collection;
HR_API const hr_meta_collection *hr_meta_graph_collection(const hr_meta_graph *m, int i); /* NULL after the last one */
HR_API hr_status hr_meta_graph_add_collection(hr_meta_graph *m, const hr_meta_collection *collection, hr_error *err);

/* ---- the values of variables ---- */

/* Which variables a checkpoint has, and under which names: var_list of tf.train.Saver.
 *
 *     hr_session_save(s, "model/w.ckpt", &err, .var_list = HR_VAR_LIST({"layer/bias", b}, {.variable = w}));
 */
typedef struct hr_saved_variable {
    /* Its name in the checkpoint; default: its own. A piece of a larger variable stays one: the name is that of the
     * whole, so all of its pieces have the same. */
    const char *name;
    hr_node variable; /* its handle, or what reads it; or the whole of a variable in pieces: all of them */
} hr_saved_variable;
typedef struct hr_var_list {
    const hr_saved_variable *saved;
    int count; /* 0: all global variables under their own names */
} hr_var_list;
#define HR_VAR_LIST(...)                                                                                               \
    ((hr_var_list){(const hr_saved_variable[]){__VA_ARGS__},                                                           \
                   (int)(sizeof((const hr_saved_variable[]){__VA_ARGS__}) / sizeof(hr_saved_variable))})

typedef struct hr_session_save_opts {
    size_t struct_size;
    hr_var_list var_list;
    hr_saver
        *saver; /* keeps so many checkpoints of its folder as it was opened for; default: none is removed. Borrows */
} hr_session_save_opts;
/* Writes values of a session's variables as the checkpoint `prefix`, whole or not at all. HR_INVALID_ARGUMENT,
 * "graphdef.var_list": there is no variable to save, a node is none, one is listed twice, or two have one name without
 * being pieces of one variable. */
HR_API hr_status hr_session_save_with(hr_session *s, const char *prefix, const hr_session_save_opts *opts,
                                      hr_error *err);
#define hr_session_save(s, prefix, ...)                                                                                \
    HR_SESSION_SAVE_(s, prefix, __VA_ARGS__, .struct_size = sizeof(hr_session_save_opts))
#define HR_SESSION_SAVE_(s, prefix, err, ...)                                                                          \
    hr_session_save_with((s), (prefix), &(hr_session_save_opts){__VA_ARGS__}, (err))

typedef struct hr_session_restore_opts {
    size_t struct_size;
    /* Each of these must be in the checkpoint, HR_NOT_FOUND. Default: the variables of the graph that are in it; those
     * that it lacks stay as they are. */
    hr_var_list var_list;
} hr_session_restore_opts;
/* Gives the variables of a session's graph the values that a checkpoint has under their names; those that are pieces
 * of larger ones, their parts. *restored (NULL: not wanted): how many have values now. Fails as hr_session_save,
 * hr_bundle_read and hr_session_set. */
HR_API hr_status hr_session_restore_with(hr_session *s, const char *prefix, const hr_session_restore_opts *opts,
                                         int *restored, hr_error *err);
#define hr_session_restore(s, prefix, restored, ...)                                                                   \
    HR_SESSION_RESTORE_(s, prefix, restored, __VA_ARGS__, .struct_size = sizeof(hr_session_restore_opts))
#define HR_SESSION_RESTORE_(s, prefix, restored, err, ...)                                                             \
    hr_session_restore_with((s), (prefix), &(hr_session_restore_opts){__VA_ARGS__}, (restored), (err))

#ifdef __cplusplus
}
#endif
#endif
