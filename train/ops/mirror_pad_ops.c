/* MirrorPad: a tensor in a frame of its own values, mirrored at the edges; MirrorPadGrad adds them up again. */
#include <headrace/kernels.h>
#include <string.h>

/* How the padded tensor lies around the other one. */
typedef struct mirror {
    int rank;
    int64_t front[HR_MAX_RANK], inner[HR_MAX_RANK], outer[HR_MAX_RANK];
    int64_t edge; /* 1: the values at the edges are not repeated, REFLECT */
} mirror;

/* Of the inner shape, or, `padded`, of the outer one. */
static hr_status mirror_of(hr_node node, hr_shape shape, const hr_tensor *paddings, bool padded, mirror *m,
                           hr_error *err)
{
    *m = (mirror){.rank = shape.rank, .edge = hr_attr_string(node, "mode").data[0] == 'R'};
    if (paddings->shape.rank != 2 || paddings->shape.dims[0] != shape.rank || paddings->shape.dims[1] != 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected paddings of shape [%d,2]", shape.rank);
    for (int d = 0; d < shape.rank; d++) {
        const int64_t front = hr_int_at(paddings, 2 * d), back = hr_int_at(paddings, 2 * d + 1);
        int64_t both;
        if (front < 0 || back < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.pad", "paddings must be non-negative, got %lld and %lld",
                           (long long)front, (long long)back);
        HR_TRY(hr_dim_add(front, back, &both, err));
        m->front[d] = front;
        m->inner[d] = m->outer[d] = shape.dims[d];
        if (shape.dims[d] < 0) continue;
        if (padded && shape.dims[d] < both)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.pad",
                           "expected paddings within dimension %d of %lld, got "
                           "%lld and %lld",
                           d, (long long)shape.dims[d], (long long)front, (long long)back);
        if (padded)
            m->inner[d] -= both;
        else
            HR_TRY(hr_dim_add(shape.dims[d], both, &m->outer[d], err));
    }
    return HR_OK;
}

/* What is mirrored must be there. */
static hr_status mirror_fits(const mirror *m, hr_error *err)
{
    for (int d = 0; d < m->rank; d++) {
        const int64_t back = m->outer[d] - m->inner[d] - m->front[d], most = m->inner[d] - m->edge;
        if (m->front[d] > most || back > most)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.pad",
                           "paddings must be %s the dimension size: %lld, %lld not within %lld",
                           m->edge ? "less than" : "no greater than", (long long)m->front[d], (long long)back,
                           (long long)m->inner[d]);
    }
    return HR_OK;
}

/* Where value `at` of the padded tensor comes from. */
static int64_t mirror_from(const mirror *m, int64_t at)
{
    int64_t from = 0, step = 1;
    for (int d = m->rank - 1; d >= 0; at /= m->outer[d], d--) {
        int64_t i = at % m->outer[d] - m->front[d];
        if (i < 0) i = m->edge - 1 - i;
        if (i >= m->inner[d]) i = 2 * m->inner[d] - 1 - m->edge - i;
        from += i * step;
        step *= m->inner[d];
    }
    return from;
}

static hr_shape mirror_shape_of(int rank, const int64_t *dims)
{
    hr_shape shape = {rank, {0}};
    memcpy(shape.dims, dims, sizeof *dims * (size_t)rank);
    return shape;
}

static hr_status mirror_infer(hr_infer *s, bool padded, hr_error *err)
{
    const hr_tensor *paddings = hr_infer_value(s, 1);
    mirror m;
    s->output[0] = hr_shape_of_rank(s->input[0].rank);
    if (s->input[0].rank < 0 || !paddings) return HR_OK;
    HR_TRY(mirror_of(s->node, s->input[0], paddings, padded, &m, err));
    s->output[0] = mirror_shape_of(m.rank, padded ? m.inner : m.outer);
    return HR_OK;
}

static hr_status mirror_shape(hr_infer *s, hr_error *err) { return mirror_infer(s, false, err); }
static hr_status mirror_grad_shape(hr_infer *s, hr_error *err) { return mirror_infer(s, true, err); }

static hr_status mirror_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const size_t size = hr_dtype_size(in->dtype);
    mirror m;
    hr_tensor scratch, *out;
    HR_TRY(mirror_of(k->node, in->shape, k->input[1], false, &m, err));
    HR_TRY(mirror_fits(&m, err));
    HR_TRY(hr_kernel_begin_output(k, 0, mirror_shape_of(m.rank, m.outer), &scratch, &out, err));
    for (int64_t i = 0; i < out->count; i++)
        memcpy((char *)out->data + (size_t)i * size, (const char *)in->data + (size_t)mirror_from(&m, i) * size, size);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

#define MIRROR_ADD(T, V, U, DTYPE, SUFFIX, A, B)                                                                       \
    static void mirror_add_##SUFFIX(const mirror *m, const void *in, int64_t count, void *out)                         \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            T *to = (T *)out + mirror_from(m, i);                                                                      \
            *to = HR_PUT(SUFFIX, T, (U)HR_GET(SUFFIX, *to) + (U)HR_GET(SUFFIX, ((const T *)in)[i]));                   \
        }                                                                                                              \
    }
HR_EACH_TYPE(MIRROR_ADD, ~, ~, floats, halves, ints, complexes)

static hr_status mirror_grad_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    mirror m;
    hr_tensor *out;
    HR_TRY(mirror_of(k->node, in->shape, k->input[1], true, &m, err));
    HR_TRY(mirror_fits(&m, err));
    HR_TRY(hr_kernel_output(k, 0, mirror_shape_of(m.rank, m.inner), &out, err));
    if (out->count) memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    ((void (*)(const mirror *, const void *, int64_t, void *))hr_kernel_chosen(k)->run)(&m, in->data, in->count,
                                                                                        out->data);
    return HR_OK;
}

static void mirror_back(hr_backward *b, const char *op)
{
    const hr_attr mode = *hr_node_attr(b->node, "mode");
    hr_backward_give(b, 0, hr_new_node(b->graph, op, HR_INPUTS(b->grad[0], b->input[1]), HR_ATTRS(mode)));
}

static void mirror_gradient(hr_backward *b) { mirror_back(b, "MirrorPadGrad"); }
static void mirror_grad_gradient(hr_backward *b) { mirror_back(b, "MirrorPad"); }

const hr_graph_op hr_graph_ops_mirror_pad_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MirrorPad",
        .types = "T:any; Tpaddings:indices",
        .shape = mirror_shape,
        .compute = mirror_compute,
        .gradient = mirror_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MirrorPadGrad",
        .types = "Tpaddings:indices",
        .kernels = HR_KERNELS(mirror_add, floats, halves, ints, complexes),
        .shape = mirror_grad_shape,
        .compute = mirror_grad_compute,
        .gradient = mirror_grad_gradient,
    },
    HR_GRAPH_OPS_END,
};
