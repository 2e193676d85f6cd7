/* A model as TensorFlow's files of weights see it: objects that know each other by names, of which some are variables.
 * Not a public header. */
#ifndef HR_OBJECTS_H
#define HR_OBJECTS_H

#include "base/text.h"
#include "train/models/models_internal.h"

#define HR__OBJECT_GRAPH "_CHECKPOINTABLE_OBJECT_GRAPH" /* the key of the graph of objects in a file */

/* What an object of a SavedModel is called for, if it is a function. */
typedef enum hr__saved_use {
    HR__SAVED_NOTHING,
    HR__SAVED_SIGNATURE,
    HR__SAVED_CALL,
    HR__SAVED_CALL_AND_LOSSES, /* outputs, and what regularizers of outputs cost */
    HR__SAVED_COST,            /* what regularizers of weights cost, without any input */
} hr__saved_use;

/* An object. The first one is the model. */
typedef struct hr__object {
    int parent;
    int slot_of; /* of a legacy optimizer's variable for a weight: the weight. The parent is the optimizer; 0: none */
    char *name;  /* by which the parent knows it: Keras's attribute, "kernel" */
    char *title; /* of a variable: its name; NULL: no variable */
    hr_session *session;
    hr_node variable;
    hr_dtype dtype;
    hr_shape shape;
    const hr_tensor *value; /* of a variable that is in no session yet */
    const hr_layer *layer;  /* that it is; NULL: none */
    /* In SavedModels: whether a variable is trained; what objects of its kind are called; what a function is for. */
    bool trainable;
    const char *identifier;
    hr__saved_use use;
} hr__object;

/* A further name of an object. */
typedef struct hr__object_name {
    int from, to;
    char *name;
} hr__object_name;

typedef struct hr__objects {
    HR__LIST(hr__object) at;
    HR__LIST(hr__object_name) names;
} hr__objects;

void hr__objects_clear(hr__objects *o);
int hr__object_new(hr__objects *o, int parent, const char *name);              /* -1: no memory */
bool hr__object_call_also(hr__objects *o, int from, int to, const char *name); /* a further name; false: no memory */
/* The object that `parent` knows by this name, which is made if it is not there; -1: no memory, or `parent` is -1. */
int hr__object_child(hr__objects *o, int parent, const char *name);
/* The model, its layers and their weights. */
hr_status hr__objects_of(hr_model *m, hr__objects *out, hr_error *err);
/* HR_INVALID_ARGUMENT: NULL, or a folder. */
hr_status hr__weights_path(const char *path, hr_error *err);
/* What the optimizer of a model that is compiled has in the graph of its training; before there is one (NULL), what was
 * kept of a file. */
hr_status hr__objects_add_optimizer(hr_model *m, const hr__function *f, hr__objects *o, hr_error *err);
/* The object of a key without its end: "optimizer/_variables/1", "layer_with_weights-0/kernel/.OPTIMIZER_SLOT/optimizer/m".
 * Those on the way are made; -1: no memory. */
int hr__object_of_key(hr__objects *o, const char *key);
/* Appends the names on the way from the model to an object; and the key of a variable's value, which they begin. */
void hr__object_path(const hr__objects *o, int object, hr__text *path);
void hr__object_key(const hr__objects *o, int object, hr__text *key);
/* Gives them as a TrackableObjectGraph (hr_free of its data). */
hr_status hr__objects_write(const hr__objects *o, hr_view *bytes, hr_error *err);

/* The objects of a file. */
typedef struct hr__object_file hr__object_file;
/* Gives *out. Refuses bytes that are no TrackableObjectGraph, or name objects that it lacks: HR_DATA_LOSS. */
hr_status hr__object_file_read(hr_view bytes, hr__object_file **out, hr_error *err);
void hr__object_file_free(hr__object_file *f); /* NULL: nothing */
/* The object that `parent` knows by this name; -1: none, or `parent` is -1. */
int hr__object_file_child(const hr__object_file *f, int parent, const char *name);
/* The key of the object's value; NULL: it has none. Borrows. */
const char *hr__object_file_key(const hr__object_file *f, int object);
const char *hr__object_file_title(const hr__object_file *f, int object); /* of the variable; "": it has none */
/* All that an object knows, by number: the object and its name. -1: no more. */
int hr__object_file_child_at(const hr__object_file *f, int parent, int i, const char **name);
/* All slots of an optimizer: the object, the weight and the slot's name. -1: no more. */
int hr__object_file_slot_at(const hr__object_file *f, int optimizer, int i, int *weight, const char **name);

#endif
