/* See fed.h. */
#include "bench/fed.h"
#include <headrace/ops.h>
#include <stdlib.h>
#include <string.h>

hr_node fed_input(fed *f, hr_dtype dtype, hr_shape shape, int64_t below)
{
    const int64_t count = hr_shape_count(shape);
    const hr_node x = hr_placeholder(f->g, dtype, shape);
    void *values = malloc((size_t)count * hr_dtype_size(dtype));
    for (int64_t i = 0; values && i < count; i++) {
        const double number = (double)hr_random_below((uint64_t)f->feeds, (uint64_t)i, 1 << 24) / (1 << 24);
        if (dtype == HR_FLOAT)
            ((float *)values)[i] = (float)(2 * number - 1);
        else
            ((int64_t *)values)[i] = (int64_t)(number * (double)below);
    }
    f->feed[f->feeds++] = (hr_feed){x, hr_tensor_of(dtype, shape, values)};
    return x;
}

hr_node fed_floats(fed *f, hr_shape shape) { return fed_input(f, HR_FLOAT, shape, 0); }

static hr_status fed_once(hr_session *s, const fed *f, pass *p)
{
    hr_tensor out = {0};
    HR_TRY(hr_session_run(s, f->feed, f->feeds, &f->out, 1, &out, &p->error));
    hr_tensor_clear(&out);
    return HR_OK;
}

static hr_status fed_often(hr_session *s, const fed *f, pass *p)
{
    const hr_node init = hr_global_variables_initializer(f->g);
    HR_TRY(hr_session_run(s, NULL, 0, &init, 1, NULL, &p->error));
    for (int i = 0; i < 3; i++) HR_TRY(fed_once(s, f, p)); /* plans, and gets memory */
    const double start = bench_seconds();
    for (int i = 0; i < f->runs; i++) HR_TRY(fed_once(s, f, p));
    p->seconds = bench_seconds() - start;
    p->rows = f->runs * (f->rows ? f->rows : 1);
    return HR_OK;
}

/* As many bytes as are read and written, half read and half written. */
static double copy_seconds(double bytes)
{
    const size_t half = (size_t)(bytes / 2);
    char *from = malloc(half), *to = malloc(half);
    double best = 1e9;
    if (from && to) memset(from, 1, half);
    for (int i = 0; from && to && i < 5; i++) {
        const double start = bench_seconds();
        memcpy(to, from, half);
        const double took = bench_seconds() - start;
        if (i && took < best) best = took; /* the first gets memory */
    }
    free(from);
    free(to);
    return best;
}

hr_status run_fed(pass *p, void (*build)(fed *f), fed_after *after)
{
    fed f = {.g = hr_graph_new()};
    hr_set_random_seed(f.g, 1);
    build(&f);
    hr_session *s = hr_session_new(f.g, .workers = &(int){p->threads - 1});
    hr_status st = fed_often(s, &f, p);
    if (st == HR_OK && after) st = after(&f, p);
    const double seconds = p->seconds / f.runs;
    if (st == HR_OK && f.flops > 0) add_extra(p, "gflops", f.flops / seconds / 1e9);
    if (st == HR_OK && f.bytes > 0) add_extra(p, "share_of_memcpy", copy_seconds(f.bytes) / seconds);
    p->bytes = f.bytes * f.runs;
    hr_session_free(s);
    hr_graph_free(f.g);
    for (int i = 0; i < f.feeds; i++) free(f.feed[i].value.data);
    return st;
}
