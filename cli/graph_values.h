/* Tensors on the command line of `headrace graph run` and `headrace saved-model run`: as JSON, or in files of numpy. */
#ifndef GRAPH_VALUES_H
#define GRAPH_VALUES_H

#include "cli/text.h"

/* "3", "[[1, 2], [3, 4]]", "\"word\"", "true", or the name of a file that ends in .npy. `dtype`: of the node that is fed.
 * Gives *out (hr_tensor_clear). HR_INVALID_ARGUMENT, "graph.value": it is none of these, or of another type. */
hr_status read_graph_value(const char *text, hr_dtype dtype, hr_tensor *out, hr_error *err);
/* As JSON; numbers that are not finite are null. */
void text_graph_value(text_buffer *out, const hr_tensor *value);
/* A line "name float32[2] [1, 2]", or `"name": [1, 2]` within an object; the first member has no comma before it. */
void text_named_value(text_buffer *out, const char *name, const hr_tensor *value, bool json, bool first);
/* Prints the text and frees it. */
hr_status print_values(text_buffer *text, hr_error *err);
/* A file of numpy: version 1.0, little-endian, in C order. */
hr_status write_npy(const char *path, const hr_tensor *value, hr_error *err);

#endif
