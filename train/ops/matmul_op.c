/* MatMul, BatchMatMul, BatchMatMulV2: products of matrices (products.h). _FusedMatMul adds a bias, and applies an
 * element-wise op. */
#include "train/ops/products.h"

typedef struct matmul_state {
    bool ta, tb;
    bool fused;
    hr_epilogue epilogue;
} matmul_state;

/* Rows and columns of an input, as multiplied: the last two dimensions. Before them, matrices are numbered. */
static int64_t matmul_rows_of(hr_shape s, bool transposed) { return s.dims[s.rank - (transposed ? 1 : 2)]; }
static int64_t matmul_columns_of(hr_shape s, bool transposed) { return s.dims[s.rank - (transposed ? 2 : 1)]; }

static bool matmul_is_one(hr_node node) { return hr_node_is(node, "MatMul") || hr_node_is(node, "_FusedMatMul"); }
static bool matmul_turns(hr_node node, int input)
{
    static const char *const names[2][2] = {{"adj_x", "adj_y"}, {"transpose_a", "transpose_b"}};
    return hr_attr_bool(node, names[matmul_is_one(node)][input]);
}

/* False: they cannot be multiplied. The numbers of matrices broadcast in BatchMatMulV2. */
static bool matmul_product(hr_node node, hr_shape a, hr_shape b, hr_shape *out)
{
    const bool ta = matmul_turns(node, 0), tb = matmul_turns(node, 1), one = matmul_is_one(node);
    if (one && (!hr_shape_merge(a, HR_SHAPE(-1, -1), &a) || !hr_shape_merge(b, HR_SHAPE(-1, -1), &b))) return false;
    if (a.rank == 0 || a.rank == 1 || b.rank == 0 || b.rank == 1) return false;
    *out = HR_UNKNOWN_SHAPE;
    if (a.rank < 0 || b.rank < 0) return true;
    const int64_t inner_a = matmul_columns_of(a, ta), inner_b = matmul_rows_of(b, tb);
    if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b) return false;
    const int64_t rows = matmul_rows_of(a, ta), columns = matmul_columns_of(b, tb);
    a.rank -= 2;
    b.rank -= 2;
    if (!(hr_node_is(node, "BatchMatMulV2") ? hr_shape_broadcast : hr_shape_merge)(a, b, out)) return false;
    out->dims[out->rank++] = rows;
    out->dims[out->rank++] = columns;
    return true;
}

static hr_status matmul_shape(hr_infer *s, hr_error *err)
{
    return matmul_product(s->node, s->input[0], s->input[1], &s->output[0])
               ? HR_OK
               : hr_infer_refuse(s, err, "matrices whose inner dimensions agree");
}

static hr_status matmul_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session, (void)err;
    matmul_state *st = state;
    *st = (matmul_state){.ta = matmul_turns(node, 0), .tb = matmul_turns(node, 1)};
    return HR_OK;
}

static hr_status matmul_prepare_fused(hr_node node, hr_session *session, void *state, hr_error *err)
{
    matmul_state *st = state;
    HR_TRY(matmul_prepare(node, session, state, err));
    st->fused = true;
    return hr_epilogue_read(node, &st->epilogue, err);
}

static hr_status matmul_compute(hr_kernel *k, hr_error *err)
{
    const matmul_state *st = k->state;
    const hr_tensor *a = k->input[0], *b = k->input[1];
    hr_shape shape;
    hr_tensor *out;
    char x[128], y[128];
    bool fits = matmul_product(k->node, a->shape, b->shape, &shape);
    for (int i = 1; fits && i <= 2; i++)
        fits = a->shape.dims[a->shape.rank - i] < INT32_MAX && b->shape.dims[b->shape.rank - i] < INT32_MAX;
    if (!fits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inner dimensions to agree, got %s%s x %s%s",
                       hr_shape_text(a->shape, x, sizeof x), st->ta ? " transposed" : "",
                       hr_shape_text(b->shape, y, sizeof y), st->tb ? " transposed" : "");
    if (st->fused) HR_TRY(hr_epilogue_check(k->input[2], shape.dims[shape.rank - 1], err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    const hr__products products = {.a = a,
                                   .b = b,
                                   .out = out,
                                   .ta = st->ta,
                                   .tb = st->tb,
                                   .conjugate = !matmul_is_one(k->node),
                                   .epilogue = st->fused ? &st->epilogue : NULL,
                                   .bias = st->fused ? k->input[2] : NULL};
    return hr__products_run(k, &products, err);
}

/* By `input`, summed over the matrices that it was broadcast to. */
static void give_product(hr_backward *b, int input, hr_node x, hr_node y, bool tx, bool ty)
{
    const bool one = hr_node_is(b->node, "MatMul");
    const hr_node by = hr_new_node(
        b->graph, hr_node_op(b->node), HR_INPUTS(x, y),
        HR_ATTRS(HR_BOOL_ATTR(one ? "transpose_a" : "adj_x", tx), HR_BOOL_ATTR(one ? "transpose_b" : "adj_y", ty)));
    const bool broadcasts = hr_node_is(b->node, "BatchMatMulV2");
    hr_backward_give(b, input, broadcasts ? hr_gradient_unbroadcast(by, b->input[input], by) : by);
}

static void matmul_gradient(hr_backward *b)
{
    const bool tx = matmul_turns(b->node, 0), ty = matmul_turns(b->node, 1);
    const hr_node g = b->grad[0], x = b->input[0], y = b->input[1];
    give_product(b, 0, tx ? y : g, tx ? g : y, tx && ty, tx || !ty);
    give_product(b, 1, ty ? g : x, ty ? x : g, ty || !tx, tx && ty);
}

/* Those that conjugate what they turn give the gradient of complex numbers by that. */
#define PRODUCT(NAME, TRAITS)                                                                                          \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = (TRAITS), .state_size = sizeof(matmul_state),              \
        .shape = matmul_shape, .load = hr__blas_load_early, .prepare = matmul_prepare, .compute = matmul_compute,      \
        .gradient = matmul_gradient,                                                                                   \
    }

const hr_graph_op hr_graph_ops_matmul_op[] = {
    PRODUCT("MatMul", 0),
    PRODUCT("BatchMatMul", HR_COMPLEX_GRADIENT),
    PRODUCT("BatchMatMulV2", HR_COMPLEX_GRADIENT),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "_FusedMatMul",
        .types = "T:{float}",
        .shapes = "[?,?], [?,?], [?] -> [?,?]",
        .state_size = sizeof(matmul_state),
        .shape = matmul_shape,
        .prepare = matmul_prepare_fused,
        .compute = matmul_compute,
    },
    HR_GRAPH_OPS_END,
};

/* A variable counts as its value. */
static int rank_of_value(hr_node x)
{
    hr_handle_info variable;
    return hr_handle_of(x, &variable) ? variable.shape.rank : hr_node_shape(x).rank;
}

/* BatchMatMulV2 conjugates what it turns: what is only turned is conjugated before. */
static hr_node turned_alone(hr_node x, bool turned) { return turned ? hr_conj(x) : x; }

hr_node hr_matmul_with(hr_node a, hr_node b, const hr_matmul_opts *opts)
{
    const hr_matmul_opts o = HR_OPTIONS(hr_matmul_opts, opts);
    if ((o.transpose_a && o.adjoint_a) || (o.transpose_b && o.adjoint_b))
        return hr_node_fail(a.graph, HR_INVALID_ARGUMENT, "graph.argument",
                            "hr_matmul: expected an input that is transposed or adjoint, got one that is both");
    if (!o.adjoint_a && !o.adjoint_b && rank_of_value(a) == 2 && rank_of_value(b) == 2)
        return hr_new_node(
            a.graph, "MatMul", .name = o.name, HR_INPUTS(a, b),
            HR_ATTRS(HR_BOOL_ATTR("transpose_a", o.transpose_a), HR_BOOL_ATTR("transpose_b", o.transpose_b)));
    return hr_new_node(a.graph, "BatchMatMulV2", .name = o.name,
                       HR_INPUTS(turned_alone(a, o.transpose_a), turned_alone(b, o.transpose_b)),
                       HR_ATTRS(HR_BOOL_ATTR("adj_x", o.transpose_a || o.adjoint_a),
                                HR_BOOL_ATTR("adj_y", o.transpose_b || o.adjoint_b)));
}
