/* Headrace, graphs as files: TensorFlow's GraphDef, as bytes and as text (pbtxt), both ways.
 *
 *     hr_graph *g = hr_graph_new();
 *     if (hr_graph_read(g, "model.pb", &err) == HR_OK) {
 *         hr_node x = hr_graph_node(g, "x:0"), y = hr_graph_node(g, "y:0");
 *     }
 *
 * A file may name any op of TensorFlow 2.15; one without a kernel here is refused when it is to run. Nodes keep their
 * names, attributes, devices and control inputs, and are written again in the order of the file. */
#ifndef HR_GRAPHDEF_H
#define HR_GRAPHDEF_H

#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The graph version that this library writes and reads up to: TensorFlow 2.15.1's. */
enum { HR_GRAPH_VERSION = 1645 };

typedef struct hr_graph_import_opts {
    size_t struct_size;
    bool text;          /* default: bytes */
    const char *prefix; /* of all names: "import" makes "import/x"; default: none. Borrowed for the call */
    /* Is told what TensorFlow would log: an attribute that the op does not know. Default: nobody is. */
    void (*warn)(const char *text, void *user);
    void *user;
} hr_graph_import_opts;

/* Adds the nodes of a GraphDef to the graph. HR_DATA_LOSS, "proto.bytes": the bytes are no GraphDef; HR_NOT_FOUND,
 * "graph.op": an op that nobody knows; HR_INVALID_ARGUMENT: a name, input, attribute, type, shape or device that is
 * wrong, or a cycle. The error is the graph's, too: a graph that an import failed on is good for nothing but
 * hr_graph_free. A loop of TensorFlow 1 gets a node besides, a While of a name that begins with "..", which runs in its
 * place and is not written; nodes in the loop are neither fed nor fetched. */
HR_API hr_status hr_graph_import_with(hr_graph *g, hr_view bytes, const hr_graph_import_opts *opts, hr_error *err);
#define hr_graph_import(g, bytes, ...)                                                                                 \
    HR_GRAPH_IMPORT_(g, bytes, __VA_ARGS__, .struct_size = sizeof(hr_graph_import_opts))
#define HR_GRAPH_IMPORT_(g, bytes, err, ...)                                                                           \
    hr_graph_import_with((g), (bytes), &(hr_graph_import_opts){__VA_ARGS__}, (err))

typedef struct hr_graph_export_opts {
    size_t struct_size;
    bool text; /* default: bytes */
    bool
        strip_default_attrs; /* attributes that have the op's default are left out, so that older readers take the file */
    /* Of hr_meta_graph_export as bytes: what hr_graph_export has given for the same graph and options, which is then not
     * made again. Borrowed for the call; default: it is made. */
    hr_view graph_def;
} hr_graph_export_opts;

/* Gives the graph as a GraphDef: `*bytes` (hr_free it), with a 0 after its `*size` bytes. */
HR_API hr_status hr_graph_export_with(const hr_graph *g, char **bytes, size_t *size, const hr_graph_export_opts *opts,
                                      hr_error *err);
#define hr_graph_export(g, bytes, size, ...)                                                                           \
    HR_GRAPH_EXPORT_(g, bytes, size, __VA_ARGS__, .struct_size = sizeof(hr_graph_export_opts))
#define HR_GRAPH_EXPORT_(g, bytes, size, err, ...)                                                                     \
    hr_graph_export_with((g), (bytes), (size), &(hr_graph_export_opts){__VA_ARGS__}, (err))

/* From and to a file: text if the name ends in .pbtxt, else bytes. */
HR_API hr_status hr_graph_read(hr_graph *g, const char *path, hr_error *err);
HR_API hr_status hr_graph_write(const hr_graph *g, const char *path, hr_error *err);

/* A tensor as a serialized TensorProto, as SerializeTensor gives it: `*bytes` (hr_free it). HR_INVALID_ARGUMENT,
 * "graphdef.tensor": it is not dense, or of a type without values. */
HR_API hr_status hr_tensor_export(const hr_tensor *tensor, char **bytes, size_t *size, hr_error *err);
/* The same with strings in one field, all lengths before all bytes, as SerializeSparse writes them. */
HR_API hr_status hr_tensor_export_packed(const hr_tensor *tensor, char **bytes, size_t *size, hr_error *err);
/* Gives the tensor of such bytes (hr_tensor_clear). HR_DATA_LOSS, "proto.bytes": they are none. HR_INVALID_ARGUMENT,
 * "graphdef.tensor": type, shape and values do not fit. */
HR_API hr_status hr_tensor_import(hr_view bytes, hr_tensor *out, hr_error *err);

/* Gives what a run did as TensorFlow's RunMetadata (step_stats): `*bytes` (hr_free it), with a 0 after its `*size`
 * bytes. */
HR_API hr_status hr_run_stats_export(const hr_run_stats *stats, char **bytes, size_t *size, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
