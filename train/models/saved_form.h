/* A model as a SavedModel of TensorFlow 2: functions of its forward pass, its graph of objects, and what Keras makes
 * its layers of. Not a public header. */
#ifndef HR_SAVED_FORM_H
#define HR_SAVED_FORM_H

#include "train/models/objects.h"

#include <headrace/control_flow.h>

/* A function that an object of the model calls: that of a signature, or one for each phase and form of the inputs. */
typedef struct hr__saved_function {
    hr__saved_use use;
    bool training;
    bool tuple; /* several inputs are a tuple, else a list */
    const hr_function *f;
} hr__saved_function;
enum { HR__SAVED_FUNCTIONS = 8 /* most */ };

/* The graph of a SavedModel. */
typedef struct hr__saved_graph {
    hr_model *m;
    hr_graph *g;
    hr_session *session;           /* has the model's variables, and those of the optimizer and the metrics */
    int *input, *output;           /* the numbers of the model's, by their names */
    hr_node *placeholder, *served; /* in this order */
    /* Of predictions, of training: outputs, then what regularizers of outputs cost, if they cost anything. */
    const hr_function *forward[2];
    bool costs[2];
    hr_node *weight_cost; /* of each weight that has a regularizer, in the first one */
    int weight_costs;
    hr__saved_function function[HR__SAVED_FUNCTIONS];
    int functions;
} hr__saved_graph;

/* Makes the graph with its functions; without variables that are no weights or states yet. */
hr_status hr__saved_graph_make(hr_model *m, hr__saved_graph *out, hr_error *err);
void hr__saved_graph_clear(hr__saved_graph *s);

/* ---- saved_objects.c ---- */

/* The objects of a file of weights, Keras's lists of weights, states and metrics, and the functions. */
hr_status hr__saved_objects_of(const hr__saved_graph *s, hr__objects *out, hr_error *err);

/* ---- saved_object_graph.c ---- */

/* Gives them as a SavedObjectGraph (hr_free of its data). `variable`: the object of each variable of the graph. */
hr_status hr__saved_objects_write(const hr__objects *o, const hr__saved_graph *s, const hr__map *variable,
                                  hr_view *bytes, hr_error *err);

/* ---- keras_metadata.c ---- */

/* Gives what Keras's loader reads, the file keras_metadata.pb (hr_free of its data). */
hr_status hr__keras_metadata(const hr__objects *o, const hr_model *m, hr_view *bytes, hr_error *err);

#endif
