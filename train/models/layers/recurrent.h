/* What layers over steps and their cells share: their options, and their states. Not a public header. */
#ifndef HR_LAYERS_RECURRENT_H
#define HR_LAYERS_RECURRENT_H

#include <headrace/model_layers.h>

/* So many states of both directions fit into the outputs of a Bidirectional. */
enum { HR__MOST_STATES = (HR_MAX_LAYER_OUTPUTS - 2) / 2, HR__MOST_OF_CELL = 2 };

/* A layer, or a cell. */
typedef struct hr__recurrent_config {
    hr_rnn_fn *fn;
    const char *cell; /* the scope of its weights; NULL: it is a cell */
    int states;
    int64_t units;
    hr_recurrent_layer_opts o;
} hr__recurrent_config;

/* The states of a layer, as its further outputs. */
typedef struct hr__recurrent_states {
    int count;
    int64_t units[HR__MOST_STATES];
    char name[HR__MOST_STATES][24]; /* of the variables that keep them */
} hr__recurrent_states;

bool hr__is_cell(const hr_layer *layer);

/* Adds those of a layer, or of cell number `cell` of several. */
void hr__states_add(hr__recurrent_states *s, const hr__recurrent_config *r, int cell);
/* The states that a layer begins with: those given as inputs, or those after the batch before. False: the graph failed,
 * or they are zeros. */
bool hr__states_begin(hr_layer_call *c, const hr__recurrent_states *s, bool stateful, hr_node *kept, hr_node *first);
/* Keeps the states after the last step, and gives them as outputs, as it was asked to. */
void hr__states_end(hr_layer_call *c, int count, bool stateful, bool give, const hr_node *kept, const hr_node *last);

#endif
