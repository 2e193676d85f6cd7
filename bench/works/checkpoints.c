/* What a step waits for where a thread writes the checkpoint: a copy of the variables, in memory that is kept. */
#include "bench/bench.h"
#include <headrace/graph.h>
#include <headrace/hooks.h>
#include <headrace/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES = 26, TABLE_ROWS = 25000, WIDTH = 16, TABLE_BYTES = TABLE_ROWS * WIDTH * 4, COPIES = 20 };

/* One memcpy of as many bytes, from as many places; the best of as many times. */
static double memcpy_seconds(void)
{
    char *from[TABLES], *to = malloc((size_t)TABLES * TABLE_BYTES);
    double best = 1e9;
    for (int t = 0; t < TABLES; t++) {
        from[t] = malloc(TABLE_BYTES);
        if (from[t]) memset(from[t], t, TABLE_BYTES);
    }
    for (int i = 0; to && i < COPIES; i++) {
        const double start = bench_seconds();
        for (int t = 0; t < TABLES; t++)
            if (from[t]) memcpy(to + (size_t)t * TABLE_BYTES, from[t], TABLE_BYTES);
        const double took = bench_seconds() - start;
        if (i && took < best) best = took; /* the first gets memory */
    }
    for (int t = 0; t < TABLES; t++) free(from[t]);
    free(to);
    return best;
}

static hr_status copy_often(hr_monitored_session *m, pass *p, double *best)
{
    hr_checkpoint_copy *copy = NULL;
    hr_status st = HR_OK;
    *best = 1e9;
    for (int i = 0; i < COPIES && st == HR_OK; i++) {
        const double start = bench_seconds();
        st = hr_monitored_copy(m, &copy, &p->error);
        const double took = bench_seconds() - start;
        if (i && took < *best) *best = took;
    }
    hr_checkpoint_copy_free(copy);
    return st;
}

static hr_status copy_variables(pass *p, void *memory)
{
    hr_graph *g = hr_graph_new();
    double best;
    (void)memory;
    for (int t = 0; t < TABLES; t++) {
        char name[16];
        snprintf(name, sizeof name, "table_%d", t);
        hr_get_variable(g, name, HR_FLOAT, HR_SHAPE(TABLE_ROWS, WIDTH));
    }
    hr_global_step(g);
    hr_monitored_session *m = hr_monitored_session_new(g, NULL, 0, .workers = &(int){p->threads - 1});
    hr_status st = copy_often(m, p, &best);
    const hr_status closed = hr_monitored_session_close(m, st != HR_OK, st == HR_OK ? &p->error : NULL);
    hr_graph_free(g);
    p->seconds = best;
    p->rows = 1;
    p->bytes = (double)TABLES * TABLE_BYTES;
    add_extra(p, "share_of_memcpy", memcpy_seconds() / best);
    return st == HR_OK ? closed : st;
}

const work work_checkpoints[] = {{.name = "checkpoint_copy", .run = copy_variables, .threads = 1}, {0}};
