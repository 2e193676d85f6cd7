/* What files of this room share. Not a public header. */
#ifndef HR_LAYERS_INTERNAL_H
#define HR_LAYERS_INTERNAL_H

#include "train/graph/graph_op.h"
#include "train/layers/layers.h"

enum { HR__NAME = 512 };

/* `base`, or "base_1", ...: below which no variable of the current scope lies yet. Fills and gives back `out`. */
const char *hr__unique_scope(hr_graph *g, const char *base, char out[HR__NAME]);

/* The dense form of a column, float [n, width]; makes an embedding's table in the current variable scope. */
hr_node hr__dense_column(const hr_features *features, const hr_column_info *info, bool not_trainable);

/* The same labels and predictions, both float32, if their shapes agree. */
bool hr__same_shape(hr_node a, hr_node b, const char *what);

#endif
