/* What files of this room share. Not a public header. */
#ifndef HR_OPTIMIZERS_INTERNAL_H
#define HR_OPTIMIZERS_INTERNAL_H

#include <headrace/optimizer.h>
#include <stdatomic.h>

struct hr_optimizer {
    _Atomic int references;
    const hr_optimizer_kind *kind; /* NULL: it failed */
    hr_optimizer_kind own_kind;    /* `kind` is this one, where the descriptor that was given is shorter than ours */
    hr_optimizer_common common;    /* `name` is `own_name`, or NULL */
    char own_name[64];
    char slot_name[HR_MAX_SLOTS][64]; /* that replace the names of slots with .v1; "": none */
    char *excluded;                   /* texts, one after the other; ends with an empty one. NULL: none */
    double value[HR_MAX_PARAMETERS];
    hr_error error;
    char text[512];
};

/* "Adagrad": the name that was given, the kind's title, or its name. */
const char *hr__optimizer_title(const hr_optimizer *o);

/* Makes the kind's ops known, finds the scope, makes hyper-parameters and the learning rate. */
void hr__minimizer_begin(hr_minimizer *t, const hr_minimize_opts *opts);
/* Clips the gradients, as the optimizer's options say. */
void hr__minimizer_clip(hr_minimizer *t, hr_variable_gradient *gradients, int count);
/* Describes a variable to train, without slots yet. False: the graph has the error. */
bool hr__minimizer_target(hr_minimizer *t, const hr_variable_gradient *v, hr_minimize_target *out);
/* The kind's slots, checked; -1: the graph has the error. */
int hr__minimizer_slot_list(hr_minimizer *t, const hr_slot **slot);
/* Makes slot `number`, "m", of one variable. */
void hr__minimizer_make_slot(hr_minimizer *t, hr_minimize_target *target, const hr_slot *slot, int number);
/* Notes a variable among those that the optimizer has made: at most an average and HR_MAX_SLOTS slots a weight. */
void hr__minimizer_note(hr_minimizer *t, hr_node made, hr_node weight, const char *name);
bool hr__optimizer_excludes(const hr_optimizer *o, const char *name); /* from weight decay */

/* keras.c: makes the averages and slots of all variables in Keras's order. */
void hr__keras_make_slots(hr_minimizer *t, hr_minimize_target *targets, int count);
/* What the variable is before its update, if averages need it; then moves its average. */
hr_node hr__keras_value_before(hr_minimizer *t, const hr_minimize_target *target);
hr_node hr__keras_average(hr_minimizer *t, const hr_minimize_target *target, hr_node before, hr_node update);

/* The variable of that name in the current variable scope; NULL: there is none. */
const hr_variable_info *hr__variable_in_scope(hr_graph *g, const char *name);

/* sum_duplicates.c: whether the op that gives these indices gives each row once. */
bool hr__rows_are_distinct(hr_node indices);

/* What hr_apply_gradients does; `gradients` are changed. The second sums them first, as opts->accumulate says. */
hr_node hr__apply_gradients(const hr_optimizer *o, hr_graph *g, hr_variable_gradient *gradients, int count,
                            const hr_minimize_opts *opts);
hr_node hr__accumulate(const hr_optimizer *o, hr_graph *g, hr_variable_gradient *gradients, int count,
                       const hr_minimize_opts *opts);

#endif
