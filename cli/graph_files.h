/* What the commands of `headrace graph` share: a graph of any kind of file, names of its nodes on the command line. */
#ifndef GRAPH_FILES_H
#define GRAPH_FILES_H

#include "cli/command.h"
#include <headrace/graph_op.h>
#include <headrace/meta_graph.h>

/* A graph and, if the file is a MetaGraphDef, what belongs to it. */
typedef struct graph_file {
    hr_graph *graph;
    hr_meta_graph *meta; /* NULL: the file is a GraphDef */
} graph_file;

/* The command's argument: a GraphDef or a MetaGraphDef, by what is in it, as text if the name ends in .pbtxt, or of a
 * SavedModel the graph of the tags of --tag-set. clear_graph_file also after a failure. */
hr_status read_graph_file(const command_call *call, graph_file *out, hr_error *err);
#define TAG_SET_FLAG                                                                                                   \
    {                                                                                                                  \
        FLAG_TEXT, "tag-set", 0, "TAGS", "of a SavedModel with several graphs, that of these tags, such as serve,gpu"  \
    }
void clear_graph_file(graph_file *file);
/* As a MetaGraphDef or a GraphDef; as text if the name ends in .pbtxt. "-": bytes on standard output. */
hr_status write_graph_file(const char *path, hr_graph *g, const hr_meta_graph *meta, bool as_meta, bool strip_defaults,
                           hr_error *err);
bool is_meta_name(const char *path); /* .meta, .meta.pbtxt */

/* "y", "y:0": an output. HR_NOT_FOUND, "graph.node": the graph has none of that name; similar ones are named. */
hr_status node_by_name(hr_graph *g, const char *name, hr_node *out, hr_error *err);
/* Those of a FLAG_LIST. Gives *out (hr_free it), NULL if the flag is not given. */
hr_status nodes_of_flag(const command_call *call, const char *flag, hr_graph *g, hr_node **out, int *count,
                        hr_error *err);
/* Runs the nodes of --init, each in a run of its own. */
hr_status run_initializers(const command_call *call, hr_session *s, hr_graph *g, hr_error *err);

#endif
