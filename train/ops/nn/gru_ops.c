/* GRUBlockCell, one step of a GRU that resets its state before the product, with its derivative. */
#include <headrace/float_math.h>
#include <headrace/kernels.h>
#include <headrace/ops.h>
#include <string.h>

enum { GRU_ROWS = 64 /* that are computed together */ };

typedef struct gru {
    int64_t n, width, units;
    const float *x, *before, *w_ru, *w_c, *b_ru, *b_c, *dh; /* before: h_prev */
    float *r, *u, *c, *h;
    float *both, *reset, *dx, *dbefore, *dc,
        *dru; /* both: r and u before the sigmoid; reset: h_prev r, by which dh flows */
} gru;

#define GRU_AT(I) ((float *)(void *)at[I])
#define GRU_P(POINTER) ((char *)(uintptr_t)(POINTER))
#define GRU_LOOP(NAME, L, ...) NAME##_f32((char *const[]){__VA_ARGS__}, NULL, (L)->units, NULL)

/* Gates, and the state as far as it is not reset. */
HR_LOOP(gru_gates, f32)
{
    (void)step, (void)user;
    float *r = GRU_AT(0), *u = GRU_AT(1), *reset = GRU_AT(2);
    const float *r_bar = GRU_AT(3), *u_bar = GRU_AT(4), *before = GRU_AT(5);
    HR_EACH_VALUE
    {
        r[i] = hr_float_sigmoid(r_bar[i]);
        u[i] = hr_float_sigmoid(u_bar[i]);
        reset[i] = before[i] * r[i];
    }
}

HR_LOOP(gru_state, f32)
{
    (void)step, (void)user;
    float *c = GRU_AT(0), *h = GRU_AT(1);
    const float *u = GRU_AT(2), *before = GRU_AT(3);
    HR_EACH_VALUE
    {
        c[i] = hr_float_tanh(c[i]);
        h[i] = u[i] * before[i] + (1 - u[i]) * c[i];
    }
}

HR_LOOP(gru_state_grad, f32)
{
    (void)step, (void)user;
    float *dc = GRU_AT(0), *du = GRU_AT(1);
    const float *dh = GRU_AT(2), *u = GRU_AT(3), *c = GRU_AT(4), *before = GRU_AT(5);
    HR_EACH_VALUE
    {
        dc[i] = dh[i] * (1 - u[i]) * (1 - c[i] * c[i]);
        du[i] = dh[i] * (before[i] - c[i]) * u[i] * (1 - u[i]);
    }
}

/* `reset`: by the state that was reset; `dbefore` gets what flows around the products. */
HR_LOOP(gru_reset_grad, f32)
{
    (void)step, (void)user;
    float *dr = GRU_AT(0), *dbefore = GRU_AT(1);
    const float *reset = GRU_AT(2), *r = GRU_AT(3), *before = GRU_AT(4), *dh = GRU_AT(5), *u = GRU_AT(6);
    HR_EACH_VALUE
    {
        dr[i] = reset[i] * before[i] * r[i] * (1 - r[i]);
        dbefore[i] = reset[i] * r[i] + dh[i] * u[i];
    }
}

/* out += a w, or a w^T: `w` are `rows` rows of the weights, of `columns` values. */
static void gru_multiply(const float *a, const float *w, float *out, int64_t n, int64_t rows, int64_t columns,
                         bool turned)
{
    const int64_t inner = turned ? columns : rows, out_row = turned ? rows : columns;
    hr_product_run(&(hr_product){a, w, out, n, out_row, inner, inner, columns, out_row, false, turned, true});
}

static void gru_forward(int64_t first, int64_t last, void *user)
{
    const gru *g = user;
    const int64_t u = g->units, row = first * GRU_ROWS, end = last * GRU_ROWS < g->n ? last * GRU_ROWS : g->n,
                  n = end - row;
    float *both = g->both + row * 2 * u;
    for (int64_t i = row; i < end; i++) {
        memcpy(g->both + i * 2 * u, g->b_ru, (size_t)(2 * u) * sizeof *g->b_ru);
        memcpy(g->c + i * u, g->b_c, (size_t)u * sizeof *g->b_c);
    }
    gru_multiply(g->x + row * g->width, g->w_ru, both, n, g->width, 2 * u, false);
    gru_multiply(g->before + row * u, g->w_ru + g->width * 2 * u, both, n, u, 2 * u, false);
    for (int64_t i = row; i < end; i++)
        GRU_LOOP(gru_gates, g, GRU_P(g->r + i * u), GRU_P(g->u + i * u), GRU_P(g->reset + i * u),
                 GRU_P(g->both + i * 2 * u), GRU_P(g->both + i * 2 * u + u), GRU_P(g->before + i * u));
    gru_multiply(g->x + row * g->width, g->w_c, g->c + row * u, n, g->width, u, false);
    gru_multiply(g->reset + row * u, g->w_c + g->width * u, g->c + row * u, n, u, u, false);
    for (int64_t i = row; i < end; i++)
        GRU_LOOP(gru_state, g, GRU_P(g->c + i * u), GRU_P(g->h + i * u), GRU_P(g->u + i * u), GRU_P(g->before + i * u));
}

static void gru_backward(int64_t first, int64_t last, void *user)
{
    const gru *g = user;
    const int64_t u = g->units, row = first * GRU_ROWS, end = last * GRU_ROWS < g->n ? last * GRU_ROWS : g->n,
                  n = end - row;
    for (int64_t i = row; i < end; i++)
        GRU_LOOP(gru_state_grad, g, GRU_P(g->dc + i * u), GRU_P(g->dru + i * 2 * u + u), GRU_P(g->dh + i * u),
                 GRU_P(g->u + i * u), GRU_P(g->c + i * u), GRU_P(g->before + i * u));
    memset(g->dx + row * g->width, 0, (size_t)(n * g->width) * sizeof *g->dx);
    memset(g->reset + row * u, 0, (size_t)(n * u) * sizeof *g->reset);
    gru_multiply(g->dc + row * u, g->w_c, g->dx + row * g->width, n, g->width, u, true);
    gru_multiply(g->dc + row * u, g->w_c + g->width * u, g->reset + row * u, n, u, u, true);
    for (int64_t i = row; i < end; i++)
        GRU_LOOP(gru_reset_grad, g, GRU_P(g->dru + i * 2 * u), GRU_P(g->dbefore + i * u), GRU_P(g->reset + i * u),
                 GRU_P(g->r + i * u), GRU_P(g->before + i * u), GRU_P(g->dh + i * u), GRU_P(g->u + i * u));
    gru_multiply(g->dru + row * 2 * u, g->w_ru, g->dx + row * g->width, n, g->width, 2 * u, true);
    gru_multiply(g->dru + row * 2 * u, g->w_ru + g->width * 2 * u, g->dbefore + row * u, n, u, 2 * u, true);
}

/* ---- kernels ---- */

static hr_status gru_read(hr_kernel *k, int i, hr_shape shape, const float **out, hr_error *err)
{
    char expected[128], found[128];
    *out = k->input[i]->data;
    if (hr_shape_equal(k->input[i]->shape, shape)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "input %d: expected shape %s, got %s", i,
                   hr_shape_text(shape, expected, sizeof expected),
                   hr_shape_text(k->input[i]->shape, found, sizeof found));
}

static hr_status gru_begin(hr_kernel *k, gru *g, hr_error *err)
{
    const hr_shape x = k->input[0]->shape, h = k->input[1]->shape;
    if (x.rank != 2 || h.rank != 2 || x.dims[1] + 2 * h.dims[1] >= INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected matrices x and h_prev, got rank %d and rank %d", x.rank, h.rank);
    g->n = x.dims[0], g->width = x.dims[1], g->units = h.dims[1];
    const int64_t rows = g->width + g->units, u = g->units;
    HR_TRY(gru_read(k, 0, x, &g->x, err));
    HR_TRY(gru_read(k, 1, HR_SHAPE(g->n, u), &g->before, err));
    HR_TRY(gru_read(k, 2, HR_SHAPE(rows, 2 * u), &g->w_ru, err));
    HR_TRY(gru_read(k, 3, HR_SHAPE(rows, u), &g->w_c, err));
    HR_TRY(gru_read(k, 4, HR_SHAPE(2 * u), &g->b_ru, err));
    HR_TRY(gru_read(k, 5, HR_SHAPE(u), &g->b_c, err));
    return hr_kernel_array(k, g->n * u, sizeof *g->reset, "a GRU", &g->reset, err);
}

static hr_status gru_make(hr_kernel *k, int i, hr_shape shape, float **out, hr_error *err)
{
    hr_tensor *t;
    HR_TRY(hr_kernel_output(k, i, shape, &t, err));
    *out = t->data;
    return HR_OK;
}

static void gru_run(hr_kernel *k, gru *g, void (*run)(int64_t first, int64_t last, void *user))
{
    if (g->n * g->units == 0 && g->n * g->width == 0) return; /* there may be very many rows of nothing */
    hr_kernel_parallel(k, (g->n + GRU_ROWS - 1) / GRU_ROWS,
                       (double)(GRU_ROWS * 6 * g->units) * (double)(g->width + g->units) / 50, run, g);
}

static hr_status gru_compute(hr_kernel *k, hr_error *err)
{
    gru g = {0};
    HR_TRY(gru_begin(k, &g, err));
    const hr_shape shape = HR_SHAPE(g.n, g.units);
    float **out[] = {&g.r, &g.u, &g.c, &g.h};
    for (int i = 0; i < 4; i++) HR_TRY(gru_make(k, i, shape, out[i], err));
    HR_TRY(hr_kernel_array(k, 2 * g.n * g.units, sizeof *g.both, "a GRU", &g.both, err));
    gru_run(k, &g, gru_forward);
    return HR_OK;
}

static hr_status gru_grad_compute(hr_kernel *k, hr_error *err)
{
    gru g = {0};
    const float *in[4] = {NULL};
    HR_TRY(gru_begin(k, &g, err));
    const hr_shape shape = HR_SHAPE(g.n, g.units);
    for (int i = 0; i < 4; i++) HR_TRY(gru_read(k, 6 + i, shape, &in[i], err));
    g.r = (float *)(uintptr_t)in[0], g.u = (float *)(uintptr_t)in[1], g.c = (float *)(uintptr_t)in[2], g.dh = in[3];
    HR_TRY(gru_make(k, 0, HR_SHAPE(g.n, g.width), &g.dx, err));
    HR_TRY(gru_make(k, 1, shape, &g.dbefore, err));
    HR_TRY(gru_make(k, 2, shape, &g.dc, err));
    HR_TRY(gru_make(k, 3, HR_SHAPE(g.n, 2 * g.units), &g.dru, err));
    gru_run(k, &g, gru_backward);
    return HR_OK;
}

static hr_status gru_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)node, (void)session, (void)state;
    return hr_product_prepare(err);
}

/* ---- the gradient: that of the weights is of the products of one step ---- */

static void gru_give_weights(hr_backward *b, int w, hr_node state, hr_node grad)
{
    const hr_node both[] = {b->input[0], state};
    hr_backward_give(b, w, hr_matmul(hr_concat(both, 2, 1), grad, .transpose_a = true));
    hr_backward_give(b, w + 2, hr_reduce_sum(grad, .axes = HR_I64(0), .axis_count = 1));
}

static void gru_gradient(hr_backward *b)
{
    enum { R, U, C, H };
    hr_node in[10];
    for (int i = 0; i < 6; i++) in[i] = b->input[i];
    for (int i = R; i <= C; i++) in[6 + i] = b->output[i];
    in[9] = hr_backward_grad(b, H);
    const hr_node by = hr_new_node(b->graph, "GRUBlockCellGrad", .inputs = in, .input_count = 10);
    hr_backward_give(b, 0, by);
    hr_backward_give(b, 1, hr_node_output(by, 1));
    gru_give_weights(b, 2, b->input[1], hr_node_output(by, 3));
    gru_give_weights(b, 3, hr_mul(b->input[1], b->output[R]), hr_node_output(by, 2));
}

#define GRU_INPUTS "[n,i], [n,u], [w,g], [w,u], [g], [u]"
#define GRU_OP(NAME, COMPUTE, ...)                                                                                     \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .prepare = gru_prepare, .compute = COMPUTE, __VA_ARGS__              \
    }

const hr_graph_op hr_graph_ops_gru_ops[] = {
    GRU_OP("GRUBlockCell", gru_compute, .shapes = GRU_INPUTS " -> [n,u]", .gradient = gru_gradient),
    GRU_OP("GRUBlockCellGrad", gru_grad_compute,
           .shapes = GRU_INPUTS ", [n,u], [n,u], [n,u], [n,u] -> [n,i], [n,u], [n,u], [n,g]"),
    HR_GRAPH_OPS_END,
};
