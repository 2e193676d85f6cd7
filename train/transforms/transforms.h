/* Headrace, transforms: graphs rewritten for use, on a copy, by the names of TensorFlow's Graph Transform Tool.
 *
 *     hr_graph *frozen, *small;
 *     hr_node y = hr_graph_node(g, "y:0");
 *     hr_freeze_graph(s, &y, 1, &frozen, &err);
 *     y = hr_graph_node(frozen, "y:0");
 *     hr_graph_transform(frozen, "remove_device fold_constants merge_duplicate_nodes", &y, 1, &small, &err);
 *     hr_graph_write(small, "small.pb", &err);
 *
 * What is given is a graph of its own: nodes that stay keep their names, and the outputs keep theirs always. */
#ifndef HR_TRANSFORMS_H
#define HR_TRANSFORMS_H

#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_transform_opts {
    size_t struct_size;
    const hr_node *inputs; /* what will be fed: nothing is known of their values; default: placeholders alone */
    int input_count;
} hr_transform_opts;

/* Gives *out, the graph after the transforms: "name(argument=value, argument=\"value\") name ...", one after the
 * other, each of the names of hr_transform_at. Ops that `g` has by hr_graph_use are borrowed by *out, too.
 * HR_INVALID_ARGUMENT, "transform.name", "transform.argument": there is no such one; "transform.output": a transform
 * needs to know the outputs, or would lose one. The errors of hr_graph_import say what a transform made wrong of the
 * graph: another type, say. */
HR_API hr_status hr_graph_transform_with(hr_graph *g, const char *transforms, const hr_node *outputs, int output_count,
                                         const hr_transform_opts *opts, hr_graph **out, hr_error *err);
#define hr_graph_transform(g, transforms, outputs, output_count, out, ...)                                             \
    HR_GRAPH_TRANSFORM_(g, transforms, outputs, output_count, out, __VA_ARGS__,                                        \
                        .struct_size = sizeof(hr_transform_opts))
#define HR_GRAPH_TRANSFORM_(g, transforms, outputs, output_count, out, err, ...)                                       \
    hr_graph_transform_with((g), (transforms), (outputs), (output_count), &(hr_transform_opts){__VA_ARGS__}, (out),    \
                            (err))

/* Checks the text alone, as hr_graph_transform does before it begins. */
HR_API hr_status hr_transforms_check(const char *transforms, hr_error *err);

/* What a transform is called and does. */
typedef struct hr_transform_info {
    const char *name;
    const char *arguments; /* "op, max_inputs"; "": none */
    const char *text;      /* one line for help */
} hr_transform_info;
HR_API const hr_transform_info *hr_transform_at(int i); /* i = 0, 1, ..., by name; NULL after the last one */

/* Gives *out, what the outputs need, with each variable as the constant that it is in the session: freeze_graph,
 * convert_variables_to_constants. HR_FAILED_PRECONDITION: a variable has no value; HR_UNIMPLEMENTED,
 * "transform.variable": something other than a read takes one. */
HR_API hr_status hr_freeze_graph(hr_session *s, const hr_node *outputs, int output_count, hr_graph **out,
                                 hr_error *err);
typedef struct hr_freeze_opts {
    size_t struct_size;
    bool keep_assigned; /* variables that the outputs need to be assigned stay variables; default: they are refused */
} hr_freeze_opts;
HR_API hr_status hr_freeze_graph_with(hr_session *s, const hr_node *outputs, int output_count,
                                      const hr_freeze_opts *opts, hr_graph **out, hr_error *err);

/* Gives *out, what the outputs need, rewritten by the passes of that name (pass.h), which else rewrite what a session
 * runs. Outputs keep their names. */
HR_API hr_status hr_graph_apply_passes_with(hr_graph *g, const char *passes, const hr_node *outputs, int output_count,
                                            const hr_transform_opts *opts, hr_graph **out, hr_error *err);
#define hr_graph_apply_passes(g, passes, outputs, output_count, out, ...)                                              \
    HR_GRAPH_APPLY_PASSES_(g, passes, outputs, output_count, out, __VA_ARGS__, .struct_size = sizeof(hr_transform_opts))
#define HR_GRAPH_APPLY_PASSES_(g, passes, outputs, output_count, out, err, ...)                                        \
    hr_graph_apply_passes_with((g), (passes), (outputs), (output_count), &(hr_transform_opts){__VA_ARGS__}, (out),     \
                               (err))

/* The transforms of TensorFlow's optimize_for_inference: for hr_graph_transform on a frozen graph. */
#define HR_OPTIMIZE_FOR_INFERENCE                                                                                      \
    "strip_unused_nodes remove_nodes(op=Identity, op=CheckNumerics) fold_constants fold_batch_norms "                  \
    "fold_old_batch_norms"

#ifdef __cplusplus
}
#endif
#endif
