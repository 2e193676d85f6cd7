/* Select and SelectV2: values of one input or another by a condition. */
#include <headrace/kernels.h>
#include <string.h>

/* Three inputs walk together in two steps: the condition is first spread out to the shape of all. */
static hr_status all_shapes(hr_shape c, hr_shape t, hr_shape e, hr_shape *out)
{
    hr_shape values;
    return hr_shape_broadcast(t, e, &values) && hr_shape_broadcast(c, values, out) ? HR_OK : HR_INVALID_ARGUMENT;
}

static hr_status select_v2_shape(hr_infer *s, hr_error *err)
{
    if (all_shapes(s->input[0], s->input[1], s->input[2], &s->output[0]) == HR_OK) return HR_OK;
    return hr_infer_refuse(s, err, "shapes that broadcast");
}

/* Where value number `i` of the output stands in an input of shape `s`. */
static int64_t select_place(hr_shape s, hr_shape out, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = 1; d <= out.rank; d++) {
        const int64_t index = i % out.dims[out.rank - d];
        i /= out.dims[out.rank - d];
        if (d > s.rank) continue;
        if (s.dims[s.rank - d] != 1) at += index * step;
        step *= s.dims[s.rank - d];
    }
    return at;
}

typedef struct choice {
    const hr_tensor *c, *t, *e;
    hr_tensor *out;
    size_t size;
} choice;

static void select_choose(int64_t first, int64_t last, void *user)
{
    const choice *w = user;
    const bool *c = w->c->data;
    const hr_shape shape = w->out->shape;
    const bool same =
        hr_shape_equal(w->c->shape, shape) && hr_shape_equal(w->t->shape, shape) && hr_shape_equal(w->e->shape, shape);
    for (int64_t i = first; i < last; i++) {
        const bool yes = c[same ? i : select_place(w->c->shape, shape, i)];
        const hr_tensor *from = yes ? w->t : w->e;
        const int64_t at = same ? i : select_place(from->shape, shape, i);
        memcpy((char *)w->out->data + (size_t)i * w->size, (const char *)from->data + (size_t)at * w->size, w->size);
    }
}

static void choose_f32(int64_t first, int64_t last, void *user)
{
    const choice *w = user;
    const bool *c = w->c->data;
    const float *t = w->t->data, *e = w->e->data;
    float *out = w->out->data;
    for (int64_t i = first; i < last; i++) out[i] = c[i] ? t[i] : e[i];
}

static hr_status select_run(hr_kernel *k, hr_shape shape, choice *w, hr_error *err)
{
    hr_tensor scratch;
    w->size = hr_dtype_size(w->t->dtype);
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &w->out, err));
    const bool plain = w->t->dtype == HR_FLOAT && hr_shape_equal(w->c->shape, shape) &&
                       hr_shape_equal(w->t->shape, shape) && hr_shape_equal(w->e->shape, shape);
    hr_kernel_parallel(k, w->out->count, plain ? .5 : 8, plain ? choose_f32 : select_choose, w);
    return hr_kernel_end_output(k, 0, &scratch, w->out, err);
}

static hr_status select_refuse(const hr_kernel *k, hr_error *err)
{
    char c[128], t[128], e[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected shapes that go together, got %s, %s and %s",
                   hr_shape_text(k->input[0]->shape, c, sizeof c), hr_shape_text(k->input[1]->shape, t, sizeof t),
                   hr_shape_text(k->input[2]->shape, e, sizeof e));
}

static hr_status select_v2_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    choice w = {.c = k->input[0], .t = k->input[1], .e = k->input[2]};
    if (all_shapes(w.c->shape, w.t->shape, w.e->shape, &shape) != HR_OK) return select_refuse(k, err);
    return select_run(k, shape, &w, err);
}

/* The first version: t and e alike; the condition like them, a scalar, or a vector that chooses rows. */
static hr_status select_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor condition = *k->input[0];
    choice w = {.c = &condition, .t = k->input[1], .e = k->input[2]};
    const hr_shape shape = w.t->shape;
    const bool rows = condition.shape.rank == 1 && shape.rank > 1 && condition.shape.dims[0] == shape.dims[0];
    const bool fits = rows || condition.shape.rank == 0 || hr_shape_equal(condition.shape, shape);
    if (!fits || !hr_shape_equal(shape, w.e->shape)) return select_refuse(k, err);
    if (rows) {
        condition.shape.rank = shape.rank;
        for (int i = 1; i < shape.rank; i++) condition.shape.dims[i] = 1;
    }
    return select_run(k, shape, &w, err);
}

static hr_status select_shape(hr_infer *s, hr_error *err)
{
    if (hr_shape_merge(s->input[1], s->input[2], &s->output[0])) return HR_OK;
    return hr_infer_refuse(s, err, "two values of one shape");
}

static void select_gradient(hr_backward *b)
{
    const hr_node zeros = hr_zeros_like(b->grad[0]);
    b->out[1] = hr_dense_gradient(hr_new_node(b->graph, "Select", HR_INPUTS(b->input[0], b->grad[0], zeros)));
    b->out[2] = hr_dense_gradient(hr_new_node(b->graph, "Select", HR_INPUTS(b->input[0], zeros, b->grad[0])));
}

static void select_v2_gradient(hr_backward *b)
{
    const hr_node zeros = hr_zeros_like(b->grad[0]);
    const hr_node to_t = hr_where(b->input[0], b->grad[0], zeros), to_e = hr_where(b->input[0], zeros, b->grad[0]);
    b->out[1] = hr_dense_gradient(hr_gradient_unbroadcast(to_t, b->input[1], b->output[0]));
    b->out[2] = hr_dense_gradient(hr_gradient_unbroadcast(to_e, b->input[2], b->output[0]));
}

const hr_graph_op hr_graph_ops_select_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SelectV2",
        .types = "T:any",
        .shape = select_v2_shape,
        .compute = select_v2_compute,
        .gradient = select_v2_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Select",
        .types = "T:any",
        .shape = select_shape,
        .compute = select_compute,
        .gradient = select_gradient,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_where(hr_node condition, hr_node x, hr_node y)
{
    return hr_new_node(condition.graph, "SelectV2", HR_INPUTS(condition, x, y));
}
