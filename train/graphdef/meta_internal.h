/* What the files about MetaGraphDef share. */
#ifndef HR_META_INTERNAL_H
#define HR_META_INTERNAL_H

#include "proto/meta_graph.pb-c.h"
#include "train/graphdef/graphdef_internal.h"
#include <headrace/meta_graph.h>

typedef Headrace__Proto__MetaGraphDef proto_meta;
typedef Headrace__Proto__MetaInfoDef proto_info;
typedef Headrace__Proto__CollectionEntry proto_collection;
typedef Headrace__Proto__SignatureEntry proto_signature_entry;
typedef Headrace__Proto__TensorInfo proto_tensor_info;
typedef Headrace__Proto__AssetFileDef proto_asset;
typedef Headrace__Proto__SaverDef proto_saver;
typedef Headrace__Proto__VariableDef proto_variable;
typedef Headrace__Proto__SaveSliceInfoDef proto_slice;

/* A growing list of pointers, in the arena of its owner. */
typedef struct meta_list {
    void **item;
    int count, capacity;
} meta_list;

struct hr_meta_graph {
    proto_meta *source; /* what it was read from, without the graph; NULL: nothing */
    hr__arena arena;
    meta_list tags;         /* char */
    meta_list signatures;   /* proto_signature_entry */
    meta_list said;         /* the same as hr_meta_signature */
    meta_list assets;       /* proto_asset */
    meta_list collections;  /* proto_collection */
    meta_list held;         /* the same as hr_meta_collection */
    meta_list messages;     /* proto_variable, to be freed */
    hr__map variable_names; /* to the message */
    proto_saver *saver;
    int64_t nodes; /* of hr_saved_model_metas */
};

/* ---- import_meta.c ---- */

/* hr_meta_graph_import of a message that has been read from so many bytes. Takes it. A failure sticks to the graph. */
hr_status hr__meta_import_message(hr_graph *g, proto_meta *message, size_t bytes, const hr_graph_import_opts *opts,
                                  hr_meta_graph **meta, hr_error *err);

/* ---- meta_graph.c ---- */

hr_status hr__meta_append(hr_meta_graph *m, meta_list *list, void *item, hr_error *err);
void hr__meta_drop_collection(hr_meta_graph *m, const char *key); /* if there is one */
/* The object graph of one that was read from a message: a SavedObjectGraph. */
hr_status hr__meta_set_objects(hr_meta_graph *m, hr_view bytes, hr_error *err);
/* Lists all that the message says that it was read from. */
hr_status hr__meta_take(hr_meta_graph *m, hr_error *err);

/* ---- meta_variables.c ---- */

/* Keys of the collections of variables, by hr_variable_set: the lowest bit first. */
extern const char *const hr__variable_collections[4];
/* Whether a collection holds VariableDefs, be it one of these sets or another one. */
bool hr__holds_variables(const char *key);
/* A VariableDef of a collection, known from then on to `m`, which lends it. HR_DATA_LOSS: the bytes are none. */
hr_status hr__meta_take_variable(hr_meta_graph *m, ProtobufCBinaryData bytes, const proto_variable **out,
                                 hr_error *err);
/* Its bytes in `out`, in the arena. */
hr_status hr__variable_bytes(hr__arena *arena, const hr_meta_graph *m, const hr_variable_info *v,
                             ProtobufCBinaryData *out, hr_error *err);

/* ---- op_list.c ---- */

/* The signatures of all ops that the graph has, by name. NULL: no memory. */
Headrace__Proto__OpList *hr__op_list_message(hr__arena *arena, const hr_graph *g);

#endif
