/* A graph as a picture: nodes in layers, what they need below them; scopes may be one box. */
#ifndef GRAPH_PICTURE_H
#define GRAPH_PICTURE_H

#include "cli/text.h"
#include <headrace/graph.h>

/* `depth`: nodes of one scope, up to that many parts of a name, are one box; 0: each node is a box. Both append to
 * `out`. HR_RESOURCE_EXHAUSTED, "graph.picture": more boxes than a picture can show. */
hr_status graph_as_dot(hr_graph *g, int depth, text_buffer *out, hr_error *err);
hr_status graph_as_svg(hr_graph *g, int depth, text_buffer *out, hr_error *err);

#endif
