/* A model as TensorFlow's files of weights see it: objects that know each other by names, of which some are variables.
 * Not a public header. */
#ifndef HR_OBJECTS_H
#define HR_OBJECTS_H

#include "base/text.h"
#include "train/models/models_internal.h"

/* An object. The first one is the model. */
typedef struct hr__object {
    int parent;
    char *name;  /* by which the parent knows it: Keras's attribute, "kernel" */
    char *title; /* of a variable: its name; NULL: no variable */
    hr_session *session;
    hr_node variable;
    hr_dtype dtype;
    hr_shape shape;
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
/* The object that `parent` knows by this name, which is made if it is not there; -1: no memory. */
int hr__object_child(hr__objects *o, int parent, const char *name);
/* The model, its layers and their weights. */
hr_status hr__objects_of(hr_model *m, hr__objects *out, hr_error *err);
/* Appends the key of a variable's value: the names on the way from the model. */
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

#endif
