/* Headrace, SavedModels: a folder with a graph, the values of its variables, its files and its signatures, as TensorFlow
 * and TensorFlow Serving have it. Loaded and run, and written.
 *
 *     hr_saved_model *m;
 *     float row[] = {5.1f, 3.5f, 1.4f};
 *     hr_named_tensor in = {"x", hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 3), row)}, out = {.name = "y"};
 *     if (hr_saved_model_load("export/1700000000", &m, &err) == HR_OK) {
 *         if (hr_saved_model_run(m, "serving_default", &in, 1, &out, 1, &err) == HR_OK)
 *             printf("%g\n", ((const float *)out.value.data)[0]);
 *         hr_tensor_clear(&out.value);
 *     }
 *     hr_saved_model_unref(m);
 *
 * Several threads may run a model at the same time, and a model is in memory until the last one that has a reference
 * has dropped it, so that it may be replaced while it is used. A SavedModel is data: unless an option allows it, nothing
 * outside its folder is read, and nothing is written. */
#ifndef HR_SAVED_MODEL_H
#define HR_SAVED_MODEL_H

#include <headrace/meta_graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- loading ---- */

typedef struct hr_saved_model hr_saved_model;

typedef struct hr_saved_model_opts {
    size_t struct_size;
    const char
        *tags; /* all of the graph's, "serve" or "serve,gpu", in any order; default: the one graph that there is */
    /* Nodes may read and write any file, and links may lead out of the folder: for models of your own alone. Default: they
     * read below the folder, and write nothing ("file.outside"). */
    bool any_file;
    const hr_session_opts *session;       /* of the model's session; its .folder is the model's. Borrowed */
    void (*use)(hr_graph *g, void *user); /* may call hr_graph_use, for ops of its own, before the file is read */
    void (*warn)(const char *text, void *use_user); /* as in hr_graph_import_opts */
    void *user;                                     /* of both */
} hr_saved_model_opts;
/* Reads a graph, restores its variables and runs its initializer, which fills tables from the files in `assets`. Gives
 * *out (hr_saved_model_unref). HR_NOT_FOUND: there is no SavedModel, no variables beside a graph that has some,
 * or no graph of these tags ("savedmodel.tags"), or an op that nobody knows. HR_DATA_LOSS: damaged files.
 * HR_INVALID_ARGUMENT, "savedmodel.asset": the name of a file leads out of `assets`; "savedmodel.node": the graph lacks
 * what restores or initializes it. */
HR_API hr_status hr_saved_model_load_with(const char *folder, const hr_saved_model_opts *opts, hr_saved_model **out,
                                          hr_error *err);
#define hr_saved_model_load(folder, out, ...)                                                                          \
    HR_SAVED_MODEL_LOAD_(folder, out, __VA_ARGS__, .struct_size = sizeof(hr_saved_model_opts))
#define HR_SAVED_MODEL_LOAD_(folder, out, err, ...)                                                                    \
    hr_saved_model_load_with((folder), &(hr_saved_model_opts){__VA_ARGS__}, (out), (err))
/* Another reference; the last one frees the model with its session and graph. From any thread. */
HR_API hr_saved_model *hr_saved_model_ref(hr_saved_model *m);
HR_API void hr_saved_model_unref(hr_saved_model *m); /* NULL: nothing */

/* What was loaded, to be looked at, trained on, transformed, frozen. Borrow from the model. */
HR_API hr_graph *hr_saved_model_graph(const hr_saved_model *m);
HR_API hr_session *hr_saved_model_session(const hr_saved_model *m);
HR_API const hr_meta_graph *hr_saved_model_meta(const hr_saved_model *m);
HR_API const char *hr_saved_model_folder(const hr_saved_model *m);
/* A signature by its key, NULL: "serving_default". NULL: there is none. Borrows. All of them: hr_meta_graph_signature,
 * where the ones that begin with "__saved_model" are none to be run. */
HR_API const hr_meta_signature *hr_saved_model_signature(const hr_saved_model *m, const char *key);

/* ---- running ---- */

/* A tensor of a signature, by its key. A sparse one is HR_SPARSE. */
typedef struct hr_named_tensor {
    const char *name;
    hr_tensor value;
} hr_named_tensor;

/* Runs a signature, NULL: "serving_default", with exactly its inputs, in any order. `outputs` say which are wanted, and
 * get their values (hr_tensor_clear). HR_NOT_FOUND, "savedmodel.signature": there is none; HR_INVALID_ARGUMENT,
 * "savedmodel.input", "savedmodel.output": inputs that are not the signature's, or of another type, outputs that it
 * lacks; else it fails as hr_session_run. */
HR_API hr_status hr_saved_model_run(hr_saved_model *m, const char *signature, const hr_named_tensor *inputs,
                                    int input_count, hr_named_tensor *outputs, int output_count, hr_error *err);

/* A signature prepared for many runs, with all of its outputs or some. */
typedef struct hr_predictor hr_predictor;
/* Gives *out (hr_predictor_free), which has a reference to the model. `outputs` NULL: all, in the order of the
 * signature. Fails as hr_saved_model_run. */
HR_API hr_status hr_predictor_new(hr_saved_model *m, const char *signature, const char *const *outputs,
                                  int output_count, hr_predictor **out, hr_error *err);
HR_API void hr_predictor_free(hr_predictor *p); /* NULL: nothing */
/* Its signature; which of its outputs are given, in their order. Borrow. */
HR_API const hr_meta_signature *hr_predictor_signature(const hr_predictor *p);
HR_API int hr_predictor_outputs(const hr_predictor *p);
HR_API const hr_meta_tensor *hr_predictor_output(const hr_predictor *p, int i); /* NULL after the last one */
/* Runs it: `inputs` has a tensor for each input of the signature, in its order; `outputs` gets one for each output that
 * is wanted. Both as in hr_session_run. Several threads may run one predictor at the same time. */
HR_API hr_status hr_predictor_run_with(const hr_predictor *p, const hr_tensor *inputs, hr_tensor *outputs,
                                       const hr_run_opts *opts, hr_error *err);
HR_API hr_status hr_predictor_run(const hr_predictor *p, const hr_tensor *inputs, hr_tensor *outputs, hr_error *err);

/* ---- writing ---- */

#define HR_PREDICT_METHOD "tensorflow/serving/predict"
#define HR_CLASSIFY_METHOD "tensorflow/serving/classify"
#define HR_REGRESS_METHOD "tensorflow/serving/regress"

/* A tensor of a signature. */
typedef struct hr_saved_tensor {
    const char *key;
    hr_node node;                 /* of a sparse one its values */
    hr_node indices, dense_shape; /* of a sparse one; else none */
} hr_saved_tensor;
#define HR_SAVED(key_of, node_of) ((hr_saved_tensor){.key = (key_of), .node = (node_of)})
#define HR_SAVED_SPARSE(key_of, values_of, indices_of, dense_shape_of)                                                 \
    ((hr_saved_tensor){.key = (key_of), .node = (values_of), .indices = (indices_of), .dense_shape = (dense_shape_of)})
typedef struct hr_saved_signature {
    const char *key;    /* default "serving_default" */
    const char *method; /* default HR_PREDICT_METHOD */
    const hr_saved_tensor *inputs, *outputs;
    int input_count, output_count;
} hr_saved_signature;
/* HR_SAVED_SIGNATURES({.key = "sum", HR_SAVED_INPUTS(HR_SAVED("x", x)), HR_SAVED_OUTPUTS(HR_SAVED("y", y))}) */
#define HR_SAVED_INPUTS(...)                                                                                           \
    .inputs = (const hr_saved_tensor[]){__VA_ARGS__},                                                                  \
    .input_count = (int)(sizeof((const hr_saved_tensor[]){__VA_ARGS__}) / sizeof(hr_saved_tensor))
#define HR_SAVED_OUTPUTS(...)                                                                                          \
    .outputs = (const hr_saved_tensor[]){__VA_ARGS__},                                                                 \
    .output_count = (int)(sizeof((const hr_saved_tensor[]){__VA_ARGS__}) / sizeof(hr_saved_tensor))
#define HR_SAVED_SIGNATURES(...)                                                                                       \
    .signatures = (const hr_saved_signature[]){__VA_ARGS__},                                                           \
    .signature_count = (int)(sizeof((const hr_saved_signature[]){__VA_ARGS__}) / sizeof(hr_saved_signature))

typedef struct hr_saved_model_writer hr_saved_model_writer;
typedef struct hr_saved_model_writer_opts {
    size_t struct_size;
    bool text; /* saved_model.pbtxt; default: saved_model.pb */
} hr_saved_model_writer_opts;
/* Begins a SavedModel in a folder beside `folder`, which is renamed when it is complete. Gives *out, which
 * hr_saved_model_writer_commit or hr_saved_model_writer_discard takes. HR_ALREADY_EXISTS, "savedmodel.exists": there is
 * something, and it is no empty folder. */
HR_API hr_status hr_saved_model_writer_open_with(const char *folder, const hr_saved_model_writer_opts *opts,
                                                 hr_saved_model_writer **out, hr_error *err);
#define hr_saved_model_writer_open(folder, out, ...)                                                                   \
    HR_SAVED_MODEL_WRITER_OPEN_(folder, out, __VA_ARGS__, .struct_size = sizeof(hr_saved_model_writer_opts))
#define HR_SAVED_MODEL_WRITER_OPEN_(folder, out, err, ...)                                                             \
    hr_saved_model_writer_open_with((folder), &(hr_saved_model_writer_opts){__VA_ARGS__}, (out), (err))

typedef struct hr_saved_graph_opts {
    size_t struct_size;
    const char *tags;                     /* default: the model's, or else "serve" */
    const hr_saved_signature *signatures; /* HR_SAVED_SIGNATURES(...); default: the model's */
    int signature_count;
    /* Is run after the variables have their values. Default: the model's, or else what fills tables (the collection
     * "table_initializer") and initializes local variables. */
    hr_node main_op;
    hr_node train_op; /* in the collection "saved_model_train_op"; default: none */
    /* What the session's graph was loaded from, or made of: tensors are found by their names. Its files in `assets`, and
     * what else belongs to it, are written again. */
    const hr_saved_model *model;
    bool strip_default_attrs; /* attributes that have the op's default are left out */
    bool clear_devices;       /* of all nodes; default: they are kept */
} hr_saved_graph_opts;
/* Adds the graph of a session with its signatures. The first graph that has variables writes their values in the
 * session; later ones share them. Files whose paths are in the collection "asset_filepaths", as those of tables, are
 * copied into `assets`. The session and its graph stay as they are. HR_INVALID_ARGUMENT, "savedmodel.signature": a
 * signature that does not keep to its method; "savedmodel.asset": the path of a file is not a constant. */
HR_API hr_status hr_saved_model_writer_add_with(hr_saved_model_writer *w, hr_session *s,
                                                const hr_saved_graph_opts *opts, hr_error *err);
#define hr_saved_model_writer_add(w, session, ...)                                                                     \
    HR_SAVED_MODEL_WRITER_ADD_(w, session, __VA_ARGS__, .struct_size = sizeof(hr_saved_graph_opts))
#define HR_SAVED_MODEL_WRITER_ADD_(w, session, err, ...)                                                               \
    hr_saved_model_writer_add_with((w), (session), &(hr_saved_graph_opts){__VA_ARGS__}, (err))
/* Writes a model again, with what its signatures and its initializer need, rewritten. */
typedef struct hr_saved_model_rewrite_opts {
    size_t struct_size;
    bool freeze;            /* variables become constants of their values (hr_freeze_graph); default: they stay */
    const char *transforms; /* then run, as by hr_graph_transform; default: none */
    const char *passes;     /* then run, as by hr_graph_apply_passes; default: none */
    bool text;              /* saved_model.pbtxt */
} hr_saved_model_rewrite_opts;
/* HR_UNIMPLEMENTED, "savedmodel.objects": variables of TensorFlow 2's objects stay only where the whole graph does;
 * freeze it. HR_UNIMPLEMENTED, "savedmodel.table": what fills a table is in the checkpoint, so it cannot be frozen. Else
 * it fails as what it does by turns. */
HR_API hr_status hr_saved_model_rewrite_with(hr_saved_model *m, const char *folder,
                                             const hr_saved_model_rewrite_opts *opts, hr_error *err);
#define hr_saved_model_rewrite(m, folder, ...)                                                                         \
    HR_SAVED_MODEL_REWRITE_(m, folder, __VA_ARGS__, .struct_size = sizeof(hr_saved_model_rewrite_opts))
#define HR_SAVED_MODEL_REWRITE_(m, folder, err, ...)                                                                   \
    hr_saved_model_rewrite_with((m), (folder), &(hr_saved_model_rewrite_opts){__VA_ARGS__}, (err))
/* Gives the rewritten graph alone: *out (hr_graph_free). */
HR_API hr_status hr_saved_model_rewritten_graph(hr_saved_model *m, const hr_saved_model_rewrite_opts *opts,
                                                hr_graph **out, hr_error *err);
/* Copies a file to `assets.extra/name`, which may have folders in it, for who serves the model. */
HR_API hr_status hr_saved_model_writer_add_extra(hr_saved_model_writer *w, const char *name, const char *path,
                                                 hr_error *err);
/* Adds a request that TensorFlow Serving, or who else serves the model, sends before the first real one:
 * `assets.extra/tf_serving_warmup_requests`. With the method of classification or regression `inputs` is one vector of
 * serialized Examples. `method` NULL: HR_PREDICT_METHOD; `signature` NULL: "serving_default". */
HR_API hr_status hr_saved_model_writer_add_warmup(hr_saved_model_writer *w, const char *method, const char *signature,
                                                  const hr_named_tensor *inputs, int input_count, hr_error *err);
/* Writes the file with the graphs, syncs all, and renames the folder. Takes `w`. After a failure, or if an earlier call
 * failed, nothing is left. */
HR_API hr_status hr_saved_model_writer_commit(hr_saved_model_writer *w, hr_error *err);
HR_API void hr_saved_model_writer_discard(hr_saved_model_writer *w); /* takes `w`. NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
