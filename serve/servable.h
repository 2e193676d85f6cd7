/* Headrace, the kit of servables: what a server needs of a model. A kind of servable is one descriptor; SavedModels are
 * the library's own one. A program registers its kinds before it starts a server, and names them in the models:
 *
 *     hr_servable_register(&table_kind, &err);
 *     hr_server_start(&server, &err, .model_name = "words", .model_base_path = "/srv/words",
 *                     .model_platform = "lookup_table");
 *
 * where table_kind is an hr_servable_kind whose name is "lookup_table".
 */
#ifndef HR_SERVABLE_H
#define HR_SERVABLE_H

#include <headrace/meta_graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this kit. */
enum { HR_SERVABLE_ABI = 1 };

/* What a version is loaded with. */
typedef struct hr_servable_load {
    size_t struct_size;
    const char *path; /* the folder of the version: BASE/NUMBER */
    const char *tags; /* of a SavedModel: "serve" */
    bool optimize;    /* the graph may be rewritten in ways that change last digits */
} hr_servable_load;

/* One run of a signature. */
typedef struct hr_servable_run {
    size_t struct_size;
    int signature; /* its number */
    const hr_tensor
        *inputs;        /* dense, one for each input of the signature, in its order; borrowed for the call. One that
                              * was not sent and has a default in the model is zeroed */
    const int *outputs; /* which outputs are wanted, by their numbers in the signature */
    int output_count;
    double timeout; /* seconds that the run may take; 0: any */
    bool alone;     /* runs of others keep the processors busy: more threads than the caller's would gain nothing */
} hr_servable_run;

/* A kind of servable. Its functions may be called by any threads at the same time, `run` also for one model. */
typedef struct hr_servable_kind {
    struct {
        uint32_t abi_version, struct_size;
    } head;           /* HR_SERVABLE_HEAD */
    const char *name; /* the model_platform of a model's config: "tensorflow" */
    /* Loads a version: gives *model, for all later calls. Nothing outside of the folder may be needed. */
    hr_status (*load)(const hr_servable_load *load, void **model, hr_error *err);
    /* Frees it; no call of it is under way. */
    void (*unload)(void *model);
    /* Signature number i; NULL after the last one. Borrowed from the model. Inputs and outputs have types and shapes;
     * where the first dimension of all of them is -1, rows of several requests may go into one run. */
    const hr_meta_signature *(*signature)(const void *model, int i);
    /* Gives `out` a tensor for each wanted output, in the order of run->outputs; nothing on a failure. The status is
     * the one that the client gets. */
    hr_status (*run)(void *model, const hr_servable_run *run, hr_tensor *out, hr_error *err);
    /* Optional: the type that the serialized Examples of an input want a feature in. JSON's whole numbers become floats
     * where it says HR_FLOAT. HR_INVALID_DTYPE: not known. */
    hr_dtype (*feature)(const void *model, int signature, const char *name);
    /* Optional: whether an input may be left out, since the model has a default for it. */
    bool (*has_default)(const void *model, int signature, int input);
    /* Optional: nobody has asked the model for a second or two, so it may give back memory that the next run takes anew.
     * Runs may begin meanwhile. */
    void (*rest)(void *model);
} hr_servable_kind;

#define HR_SERVABLE_HEAD                                                                                               \
    {                                                                                                                  \
        HR_SERVABLE_ABI, sizeof(hr_servable_kind)                                                                      \
    }

/* Makes a kind known to all servers of the process under its name. Borrows `kind` for ever. HR_ALREADY_EXISTS,
 * "serve.platform": there is one of that name; HR_INVALID_ARGUMENT, "serve.abi": the descriptor is of another version,
 * or lacks a function. Up to 64 kinds. */
HR_API hr_status hr_servable_register(const hr_servable_kind *kind, hr_error *err);

/* A plug-in is a shared library that exports this function, which gives its kind. `headrace serve --servable=FILE`
 * loads it. */
typedef const hr_servable_kind *hr_servable_plugin_fn(void);
#define HR_SERVABLE_PLUGIN "hr_servable_plugin"

#ifdef __cplusplus
}
#endif
#endif
