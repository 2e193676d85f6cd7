/* Works that run a node on fed values, over and over. */
#ifndef FED_H
#define FED_H

#include "bench/bench.h"
#include <headrace/graph.h>

enum { FED_INPUTS = 64 };

typedef struct fed {
    hr_graph *g;
    hr_feed feed[FED_INPUTS];
    int feeds;
    hr_node out; /* fetched, or an operation */
    int runs;
    int64_t rows;        /* of a run; 0: one */
    double flops, bytes; /* of a run: what is computed; what is read and written */
} fed;

/* A placeholder that is fed with numbers from -1 to 1, or with whole ones below `below`. */
hr_node fed_input(fed *f, hr_dtype dtype, hr_shape shape, int64_t below);
hr_node fed_floats(fed *f, hr_shape shape);

/* Makes the graph, runs its initializers and three times the node, then f->runs times by the clock. `after` NULL:
 * nothing; else called before all is freed. */
typedef hr_status fed_after(const fed *f, pass *p);
hr_status run_fed(pass *p, void (*build)(fed *f), fed_after *after);

/* run_NAME, of a build function NAME. */
#define FED_RUN(NAME)                                                                                                  \
    static hr_status run_##NAME(pass *p, void *memory)                                                                 \
    {                                                                                                                  \
        (void)memory;                                                                                                  \
        return run_fed(p, NAME, NULL);                                                                                 \
    }

/* A work on one thread, and on two. */
#define FED_WORK(TEXT, NAME)                                                                                           \
    {                                                                                                                  \
        .name = TEXT, .run = run_##NAME, .threads = 1, .also_threads = 2                                               \
    }

#endif
