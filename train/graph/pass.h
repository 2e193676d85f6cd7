/* The pass kit: what rewrites a graph before it runs. A pass is one descriptor with one function, which works on a copy
 * of what the fetches need; the user's graph is never touched. The library's own passes (train/passes) are made of this
 * header and those of graph_op.h.
 *
 * A pass looks at the copy's nodes with the functions of graph.h and graph_op.h, makes new ones with hr_new_node, and
 * says what takes the place of what. Nodes that nobody needs any more go by themselves. */
#ifndef HR_PASS_H
#define HR_PASS_H

#include <headrace/control_flow.h>
#include <headrace/graph_op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The copy of a graph that passes rewrite. */
typedef struct hr_rewrite hr_rewrite;

/* The graph of the copy: when a pass begins, its nodes 0 ... size - 1 are those that are needed, and an input has a
 * lower number than what takes it. A node that the pass makes comes after them. Names may repeat in it. Functions that
 * the pass makes in it (hr_function_begin) are the copy's; those of the user's graph are found, too. */
HR_API hr_graph *hr_rewrite_graph(const hr_rewrite *r);
/* How the session computes products (hr_session_opts); of hr_rewrite_new HR_PRODUCTS_FLOAT. */
HR_API hr_products hr_rewrite_products(const hr_rewrite *r);
/* How many inputs, control inputs and fetches took any output of the node when the pass began. */
HR_API int hr_rewrite_uses(const hr_rewrite *r, hr_node node);
/* It is fetched, as a value or an operation. */
HR_API bool hr_rewrite_is_fetched(const hr_rewrite *r, hr_node node);
/* Its value is fed: nothing is known of it but type and shape. */
HR_API bool hr_rewrite_is_fed(const hr_rewrite *r, hr_node node);
/* What input i of a node is by now: what took the place of the one that the node was made with. */
HR_API hr_node hr_rewrite_input(const hr_rewrite *r, hr_node node, int i);
/* Whoever took `old` takes `by` from now on, which is of its type; fetches, too. A node that the pass made comes where
 * `old` was in the order, or earlier. Operations (hr_target): whoever waits
 * for `old` waits for `by`, which may be no node: for nothing. A cycle that it closes is an error of the pass. */
HR_API hr_status hr_rewrite_replace(hr_rewrite *r, hr_node old, hr_node by, hr_error *err);
/* The node waits for these instead of what it waited for. */
HR_API hr_status hr_rewrite_set_controls(hr_rewrite *r, hr_node node, const hr_node *controls, int count,
                                         hr_error *err);

/* The node computes a function of its inputs alone: whether it runs, once or twice, is seen by nothing else. Not what
 * takes a variable itself, calls functions, switches or merges. */
HR_API bool hr_node_is_pure(hr_node node);
/* A node like `node` in `to`, which is the copy or a function's graph of it: with these inputs, as many as it has, and
 * these attributes in place of its own of the same names. No control inputs. */
HR_API hr_node hr_node_copy(hr_graph *to, hr_node node, const hr_node *inputs, const hr_attr *changed, int count);

/* Begins every descriptor. Filled in by HR_GRAPH_PASS_HEAD. */
#define HR_GRAPH_PASS_HEAD                                                                                             \
    {                                                                                                                  \
        HR_GRAPH_OP_ABI, sizeof(hr_graph_pass)                                                                         \
    }

/* What a session must know of a pass. */
typedef enum hr_graph_pass_traits {
    HR_PASS_EXACT = 1,    /* gives the same bits: on unless it is turned off */
    HR_PASS_FOR_RUNS = 2, /* makes nodes that files should not have: hr_rewrite_new runs it only by name */
} hr_graph_pass_traits;

/* A pass: its name and what it does. */
typedef struct hr_graph_pass {
    hr_graph_op_head head; /* HR_GRAPH_PASS_HEAD */
    const char *name;      /* as options say it: "fold" */
    const char *text;      /* what it does, one line for help */
    unsigned traits;
    hr_status (*run)(hr_rewrite *r, hr_error *err);
} hr_graph_pass;

/* All passes in the order in which they run: the library's own, then those of libraries of ops. */
HR_API const hr_graph_pass *hr_graph_pass_at(int i); /* i = 0, 1, ...; NULL after the last one */

/* Which passes run: names with commas between them, in any order; "exact": those that give the same bits; "all";
 * "none"; "-NAME": without that one. NULL: "exact". An unknown name is refused, "graph.pass". */
HR_API hr_status hr_rewrite_check(const char *passes, hr_error *err);

/* A copy of what the fetches need, short of the feeds, rewritten by passes. Gives; it borrows `g`, which must outlive it.
 * For tools that write graphs; a session makes its own. */
HR_API hr_status hr_rewrite_new(hr_graph *g, const hr_node *feeds, int feed_count, const hr_node *fetches,
                                int fetch_count, const char *passes, hr_rewrite **out, hr_error *err);
HR_API void hr_rewrite_free(hr_rewrite *r); /* NULL: nothing */
/* What feed i and fetch i of hr_rewrite_new are in the copy. */
HR_API hr_node hr_rewrite_feed(const hr_rewrite *r, int i);
HR_API hr_node hr_rewrite_fetch(const hr_rewrite *r, int i);

#ifdef __cplusplus
}
#endif
#endif
