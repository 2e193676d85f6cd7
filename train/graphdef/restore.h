/* A variable's value in a checkpoint. */
#ifndef HR_RESTORE_H
#define HR_RESTORE_H

#include <headrace/checkpoint.h>
#include <headrace/graph.h>

/* Its key in checkpoints: that of the whole if it is a piece. */
const char *hr__checkpoint_key(const hr_variable_info *v);
/* Gives the value of the whole variable, or of the piece that it is. */
hr_status hr__checkpoint_read(hr_bundle *b, const hr_variable_info *v, hr_tensor *value, hr_error *err);

#endif
