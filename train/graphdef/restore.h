/* Variables and their values in a checkpoint. */
#ifndef HR_RESTORE_H
#define HR_RESTORE_H

#include <headrace/checkpoint.h>
#include <headrace/meta_graph.h>

/* A variable and its name in a checkpoint: of a piece that of the whole. */
typedef struct hr__saved {
    const char *key; /* borrowed from the variable, or from the list that names it */
    const hr_variable_info *of;
    int place; /* among the variables of the list: pieces of one keep their order */
} hr__saved;
typedef struct hr__saved_list {
    hr__saved *saved;
    int count;
} hr__saved_list;

/* The variables of a list, sorted by their names in the checkpoint, as TensorFlow's saver writes them. Gives
 * out->saved (hr_free). An empty list: all global variables. */
hr_status hr__saved_list_of(const hr_graph *g, hr_var_list list, hr__saved_list *out, hr_error *err);
hr_status hr__saved_write(hr_bundle_writer *w, const hr__saved *v, const hr_tensor *value, hr_error *err);
/* Gives the value of the whole variable, or of the piece that it is. */
hr_status hr__saved_read(hr_bundle *b, const hr__saved *v, hr_tensor *value, hr_error *err);

/* Its key in checkpoints: that of the whole if it is a piece. */
const char *hr__checkpoint_key(const hr_variable_info *v);

#endif
