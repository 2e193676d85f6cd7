/* What the graph's executor costs: a node, a step of a loop, runs at once, a file of nodes. */
#include "bench/bench.h"
#include <headrace/control_flow.h>
#include <headrace/graphdef.h>
#include <headrace/ops.h>
#include <sched.h>
#include <stdlib.h>
#include <uv.h>

/* ---- a chain of scalar adds on a fed scalar ---- */

enum { NODES = 1000, RUNS = 1000, STEPS = 1000000, FILE_NODES = 10000 };

static hr_status check_value(hr_tensor *got, float expected, pass *p)
{
    const float value = *(const float *)got->data;
    hr_tensor_clear(got);
    if (value == expected) return HR_OK;
    return hr_fail(&p->error, HR_INTERNAL, "bench.sum", "the result is %g, not %g", (double)value, (double)expected);
}

static hr_status chain_of_nodes(hr_session *s, hr_node x, hr_node sum, pass *p)
{
    const float zero = 0;
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &zero)};
    hr_tensor out;
    HR_TRY(hr_session_run(s, &feed, 1, &sum, 1, &out, &p->error)); /* plans */
    hr_tensor_clear(&out);
    const double start = bench_seconds();
    for (int i = 0; i < RUNS; i++) {
        HR_TRY(hr_session_run(s, &feed, 1, &sum, 1, &out, &p->error));
        HR_TRY(check_value(&out, NODES, p));
    }
    p->seconds = bench_seconds() - start;
    p->rows = (int64_t)NODES * RUNS;
    return HR_OK;
}

static hr_status run_nodes(pass *p, void *memory)
{
    (void)memory;
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR), one = hr_scalar(g, HR_FLOAT, 1);
    hr_node sum = x;
    for (int i = 0; i < NODES; i++) sum = hr_add(sum, one);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    const hr_status st = chain_of_nodes(s, x, sum, p);
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

/* ---- a loop of trivial steps ---- */

static void is_below(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(g, HR_FLOAT, STEPS));
}

static void next(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(vars[0], hr_scalar(g, HR_FLOAT, 1));
}

static hr_status run_while(pass *p, void *memory)
{
    (void)memory;
    hr_graph *g = hr_graph_new();
    hr_tensor out;
    hr_node last, zero = hr_scalar(g, HR_FLOAT, 0);
    hr_while_loop(is_below, next, NULL, &zero, 1, &last);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    const double start = bench_seconds();
    hr_status st = hr_session_run(s, NULL, 0, &last, 1, &out, &p->error);
    p->seconds = bench_seconds() - start;
    p->rows = STEPS;
    if (st == HR_OK) st = check_value(&out, STEPS, p);
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

/* ---- five element-wise ops on much data ---- */

enum { VALUES = 1 << 24, FUSED_RUNS = 5 };

/* max(0.5 x + 1, 0)² - 2 */
static hr_status run_chain(pass *p, const char *passes)
{
    hr_graph *g = hr_graph_new();
    float *values = malloc(sizeof *values * VALUES);
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(VALUES));
    const hr_node linear = hr_add(hr_mul(x, hr_scalar(g, HR_FLOAT, 0.5)), hr_scalar(g, HR_FLOAT, 1));
    const hr_node y = hr_sub(hr_square(hr_relu(linear)), hr_scalar(g, HR_FLOAT, 2));
    hr_session *s = hr_session_new(g, .passes = passes);
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(VALUES), values)};
    hr_tensor out;
    hr_status st = values ? HR_OK : hr_no_memory(&p->error, "values");
    for (int i = 0; st == HR_OK && i < VALUES; i++) values[i] = (float)(i % 7);
    double start = 0;
    for (int i = 0; st == HR_OK && i < FUSED_RUNS + 2; i++) { /* the first two plan and get memory */
        if (i == 2) start = bench_seconds();
        st = hr_session_run(s, &feed, 1, &y, 1, &out, &p->error);
        if (st == HR_OK) st = check_value(&out, -1, p);
    }
    p->seconds = bench_seconds() - start;
    p->rows = (int64_t)VALUES * FUSED_RUNS;
    hr_session_free(s);
    hr_graph_free(g);
    free(values);
    return st;
}

static hr_status run_fused(pass *p, void *memory)
{
    (void)memory;
    return run_chain(p, NULL);
}

static hr_status run_unfused(pass *p, void *memory)
{
    (void)memory;
    return run_chain(p, "exact,-fuse");
}

/* ---- four runs of one session at once ---- */

enum { RUNNERS = 4, RUNS_EACH = 100, ROWS = 64, UNITS = 256, LAYERS = 3 };

typedef struct runner {
    hr_session *s;
    hr_node y;
    int processor;
    uv_thread_t thread;
    hr_status status;
    hr_error error;
} runner;

static void run_often(void *user)
{
    runner *r = user;
    hr_tensor out;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(r->processor, &set);
    sched_setaffinity(0, sizeof set, &set); /* of this thread */
    for (int i = 0; r->status == HR_OK && i < RUNS_EACH; i++) {
        r->status = hr_session_run(r->s, NULL, 0, &r->y, 1, &out, &r->error);
        if (r->status == HR_OK) hr_tensor_clear(&out);
    }
}

/* The runners share p->threads processors. */
static hr_status run_at_once(hr_session *s, hr_node y, pass *p)
{
    runner all[RUNNERS] = {0};
    hr_tensor out;
    HR_TRY(hr_session_run(s, NULL, 0, &y, 1, &out, &p->error)); /* plans */
    hr_tensor_clear(&out);
    const double start = bench_seconds();
    int started = 0;
    for (; started < RUNNERS; started++) {
        all[started] = (runner){.s = s, .y = y, .processor = started % p->threads};
        if (uv_thread_create(&all[started].thread, run_often, &all[started])) break;
    }
    for (int i = 0; i < started; i++) uv_thread_join(&all[i].thread);
    p->seconds = bench_seconds() - start;
    p->rows = RUNNERS * RUNS_EACH;
    if (started < RUNNERS) return hr_fail(&p->error, HR_INTERNAL, "bench.thread", "no thread");
    for (int i = 0; i < RUNNERS; i++)
        if (all[i].status != HR_OK) {
            p->error = all[i].error;
            return all[i].status;
        }
    return HR_OK;
}

/* A constant of 1/64s. */
static hr_node layer_of(hr_graph *g, hr_shape shape)
{
    float values[UNITS * UNITS];
    for (int i = 0; i < UNITS * UNITS; i++) values[i] = (float)(i % 3) / 64;
    const hr_tensor t = hr_tensor_of(HR_FLOAT, shape, values);
    return hr_const(g, &t);
}

static hr_status run_runs(pass *p, void *memory)
{
    (void)memory;
    hr_graph *g = hr_graph_new();
    hr_node y = layer_of(g, HR_SHAPE(ROWS, UNITS));
    for (int i = 0; i < LAYERS; i++) y = hr_relu(hr_matmul(y, layer_of(g, HR_SHAPE(UNITS, UNITS))));
    hr_session *s = hr_session_new(g, .workers = &(int){0}, .passes = "none");
    const hr_status st = run_at_once(s, hr_reduce_sum(y), p);
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

/* ---- a file of nodes ---- */

typedef struct file_of_nodes {
    char *bytes;
    size_t size;
} file_of_nodes;

static void *write_nodes(const char *folder, hr_error *err)
{
    (void)folder;
    file_of_nodes *f = calloc(1, sizeof *f);
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 16)), one = hr_scalar(g, HR_FLOAT, 1);
    hr_node sum = x;
    for (int i = 2; i < FILE_NODES; i++) sum = hr_add(sum, one, .name = "a_layer_of_a_model/with_a_long_name/Add");
    const hr_status st = f ? hr_graph_export(g, &f->bytes, &f->size, err) : hr_no_memory(err, "a graph");
    hr_graph_free(g);
    if (st == HR_OK) return f;
    free(f);
    return NULL;
}

static void free_nodes(void *memory)
{
    hr_free(((file_of_nodes *)memory)->bytes);
    free(memory);
}

static hr_status run_import(pass *p, void *memory)
{
    const file_of_nodes *f = memory;
    hr_graph *g = hr_graph_new();
    const double start = bench_seconds();
    const hr_status st = hr_graph_import(g, ((hr_view){f->bytes, (int64_t)f->size}), &p->error);
    p->seconds = bench_seconds() - start;
    p->rows = FILE_NODES;
    p->bytes = (double)f->size;
    hr_graph_free(g);
    return st;
}

const work work_graph[] = {
    {.name = "graph_nodes", .run = run_nodes},
    {.name = "graph_while", .run = run_while},
    {.name = "graph_fused", .run = run_fused, .also_threads = 2},
    {.name = "graph_unfused", .run = run_unfused, .also_threads = 2},
    {.name = "graph_runs", .run = run_runs, .also_threads = 2},
    {.name = "graph_import", .run = run_import, .prepare = write_nodes, .release = free_nodes},
    {0},
};
