/* The conformance suite for graph ops: the rules that every op must follow, the built-in ones and yours. It is a library
 * of its own: link headrace::train_conformance, or use `pkg-config headrace_train_conformance`. A test of
 * an op:
 *
 *     static hr_status check_zero_out(hr_error *err)
 *     {
 *         hr_conformance_count_allocations(NULL);
 *         return hr_conformance_graph_op(&zero_out_ops[0], NULL, err);
 *     }
 *
 * The suite knows the op by its descriptor alone. It makes random nodes of it: of all its types, now and then of others;
 * of shapes that mostly fit each other, known, known in part, or unknown; with any attributes; with inputs that are
 * constants, variables or fed, hostile numbers among them. A node is refused with an error, or it runs and keeps the
 * rules. What the results should be the suite cannot know: that is for the op's own tests. It prints nothing. An error
 * names the op, the trial with its attributes and inputs, what was expected and what was found; its kind shows which
 * check failed. Trial number n of an op is the same on every machine, so `.first = n, .trials = 1` makes it again. Run
 * it with AddressSanitizer, and once with ThreadSanitizer.
 *
 * Call it from one thread, while nothing else uses Headrace: it starts threads and makes allocations fail. */
#ifndef HR_GRAPH_OP_CONFORMANCE_H
#define HR_GRAPH_OP_CONFORMANCE_H

#include <headrace/conformance.h>
#include <headrace/graph_op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The checks, and the kinds of what they find. */
typedef enum hr_graph_op_check {
    /* A result has the type and the shape that were inferred, as far as they are known ("conformance.type", ".shape");
     * bools are 0 or 1 (".value"); a failure has an error with a kind and a text (".error"). Always done. */
    HR_CONFORM_RESULTS = 1,
    /* A gradient has the type and the shape of its input (".gradient"). */
    HR_CONFORM_GRADIENTS = 2,
    /* The same results in a second run, and in a session with threads, unless the op is HR_STATEFUL; one with an
     * attribute "seed" that is not 0 gives the same in a new session (".run"). Inputs are not written to (".input"), nor
     * is what lies after an output (".bounds"; needs hr_conformance_count_allocations). */
    HR_CONFORM_REPEATS = 4,
    /* The same results after the graph was written as a GraphDef and read again (".export"). */
    HR_CONFORM_ROUND_TRIP = 8,
    /* An allocation that fails is reported as HR_RESOURCE_EXHAUSTED, or makes no difference (".memory"), and nothing
     * leaks then or else (".leak"). Needs hr_conformance_count_allocations. */
    HR_CONFORM_STARVATION = 16,
    /* Of doubles the derivative is the one that central differences have, where the function is smooth
     * (".derivative"). Leave it out where the derivative is not that of the function on purpose. */
    HR_CONFORM_DIFFERENCES = 32,
    /* The same results in an eager graph (".eager"). Not of reference variables, nor of ops that call functions or may
     * leave outputs without a value. */
    HR_CONFORM_EAGER = 64,
} hr_graph_op_check;

/* What a check saw of the op. */
typedef struct hr_graph_op_report {
    int64_t trials, results, gradients; /* random nodes; those that ran; those that had a gradient */
    int64_t comparisons;                /* derivatives that were those of differences; 0: none could be compared */
    int64_t eager;                      /* trials that gave the same in an eager graph */
} hr_graph_op_report;

/* Options of hr_conformance_graph_op. */
typedef struct hr_graph_op_conformance_opts {
    size_t struct_size;
    unsigned checks; /* HR_CONFORM_RESULTS | HR_CONFORM_GRADIENTS ...; default: all that can be done */
    int64_t first;   /* the number of the first trial */
    int64_t trials;  /* default 100, and then up to 40,000 until one gives a result, 2,000 more until a gradient does */
    bool quick;      /* fewer of the checks that run a trial many times */
    bool may_be_idle;           /* no result is no error, "conformance.result", and 2,000 trials are tried for one */
    const char *text_file;      /* the name of a file, for ops that read one: inputs of strings mostly have it */
    hr_graph_op_report *report; /* is filled in. Default: nothing is reported */
    /* Is told the op of each node that took part in a gradient. Default: nobody is. */
    void (*reached)(const char *op, void *user);
    void *user;
} hr_graph_op_conformance_opts;

/* Checks an op. HR_OK, or the error that it found: HR_INTERNAL with the kinds above, "conformance.descriptor" where the
 * descriptor is malformed, "conformance.result" where no trial has a result. HR_FAILED_PRECONDITION,
 * "conformance.allocator": a check needs hr_conformance_count_allocations, and .checks asks for it. */
HR_API hr_status hr_conformance_graph_op(const hr_graph_op *op, const hr_graph_op_conformance_opts *opts,
                                         hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
