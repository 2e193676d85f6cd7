/* Embedding lookup of rows of ids in one node: gather, combine, nothing in between; what TensorFlow composes as
 * safe_embedding_lookup_sparse, with its order of additions. Its gradient is the slices of the rows that were looked
 * up, one for each distinct id; there is never a dense gradient of a table. */
#include "train/ops/nn/lookups.h"
#include <headrace/nn.h>
#include <stdatomic.h>
#include <string.h>

typedef struct lookup_state {
    hr_combiner combiner;
    float max_norm; /* 0: none */
} lookup_state;

static hr_status lookup_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    static const char *const names[] = {[HR_MEAN] = "mean", [HR_SUM] = "sum", [HR_SQRTN] = "sqrtn"};
    (void)session;
    lookup_state *st = state;
    const hr_view name = hr_attr_string(node, "combiner");
    st->max_norm = hr_attr_float(node, "max_norm");
    for (int i = 0; i < 3; i++) {
        if (strlen(names[i]) != (size_t)name.size || memcmp(names[i], name.data, (size_t)name.size) != 0) continue;
        st->combiner = (hr_combiner)i;
        return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected combiner mean, sum or sqrtn, got \"%.20s\"",
                   name.data);
}

/* ---- forward ---- */

typedef struct looking {
    lookup of;
    float *out;
    atomic_bool *failed;
} looking;

static void look_up_rows(int64_t first, int64_t last, void *user)
{
    const looking *l = user;
    const lookup *of = &l->of;
    if (hr_combine_rows(&of->table, of->ids, of->weights, of->splits + first, last - first,
                        l->out + first * of->table.dimension, NULL) != HR_OK)
        atomic_store_explicit(l->failed, true, memory_order_relaxed);
}

static hr_status embedding_describe(hr_kernel *k, int offset, lookup *l, hr_error *err)
{
    const lookup_state *st = k->state;
    const hr_tensor *table, *ids = k->input[1 + offset], *splits = k->input[2 + offset];
    const hr_tensor *weights = k->inputs > 3 + offset ? k->input[3 + offset] : NULL;
    HR_TRY(hr_kernel_borrow(k, 0, &table, err));
    if (table->shape.rank != 2 || table->dtype != HR_FLOAT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a table of float32 [buckets, dim]");
    HR_TRY(hr_check_splits(ids, splits, weights, err));
    *l = (lookup){
        .table = {table->data, table->shape.dims[0], table->shape.dims[1], st->combiner, .max_norm = st->max_norm},
        .ids = ids->data,
        .splits = splits->data,
        .weights = weights ? weights->data : NULL};
    return HR_OK;
}

static hr_status lookup_compute(hr_kernel *k, hr_error *err)
{
    looking l = {0};
    hr_tensor *out;
    atomic_bool failed = false;
    HR_TRY(embedding_describe(k, 0, &l.of, err));
    const lookup *of = &l.of;
    const int64_t rows = k->input[2]->count - 1, dim = of->table.dimension;
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(rows, dim), &out, err));
    l.out = out->data;
    l.failed = &failed;
    const double each = rows ? (double)k->input[1]->count / (double)rows : 0;
    if (dim > 0) hr_kernel_parallel(k, rows, each * ((double)dim * .06 + 3) + 3, look_up_rows, &l);
    if (!failed) return HR_OK;
    /* For the first error, in order; or for the rows, if it was memory that is there by now. */
    return hr_combine_rows(&of->table, of->ids, of->weights, of->splits, rows, l.out, err);
}

static hr_status lookup_shape(hr_infer *s, hr_error *err)
{
    hr_handle_info table;
    const bool known = hr_handle_of(hr_node_input(s->node, 0), &table) && table.shape.rank >= 0;
    const int64_t splits = s->input[2].rank == 1 ? s->input[2].dims[0] : -1;
    if (known && (table.shape.rank != 2 || table.dtype != HR_FLOAT))
        return hr_infer_refuse(s, err, "a table of float32 [buckets, dim]");
    s->output[0] = HR_SHAPE(splits > 0 ? splits - 1 : -1, known ? table.shape.dims[1] : -1);
    return HR_OK;
}

/* ---- the gradient: inputs table, grad, ids, row_splits, weights ---- */

/* g's way back through the clipping of one table row x to norm m: m / |x| (g - x (x.g) / |x|^2) where it was
 * clipped. */
static void through_clip(const lookup *l, int64_t id, float *g)
{
    const int64_t dim = l->table.dimension;
    const float *x = l->table.table + id * dim;
    float dot = 0, square = 0;
    for (int64_t j = 0; j < dim; j++) {
        dot += x[j] * g[j];
        square += x[j] * x[j];
    }
    const float norm = sqrtf(square);
    if (norm <= l->table.max_norm) return;
    for (int64_t j = 0; j < dim; j++) g[j] = l->table.max_norm / norm * (g[j] - x[j] * dot / square);
}

static hr_status lookup_grad_compute(hr_kernel *k, hr_error *err)
{
    lookup l = {0};
    hr_tensor *values, *indices;
    hr_distinct_rows found;
    HR_TRY(embedding_describe(k, 1, &l, err));
    const int64_t nnz = k->input[2]->count, rows = k->input[3]->count - 1, dim = l.table.dimension;
    int64_t expected;
    HR_TRY(hr_dim_mul(rows, dim, &expected, err));
    if (k->input[1]->count != expected)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a gradient for each row");
    HR_TRY(hr_distinct_rows_begin(k, nnz + 1, l.table.buckets, &found, err));
    int32_t *place = hr_kernel_temp(k, (size_t)nnz * sizeof *place + 1);
    if (!place) return hr_no_memory(err, "the places of ids");
    HR_TRY(lookup_find_places(&l, rows, &found, place, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(found.count), &indices, err));
    if (found.count) memcpy(indices->data, found.rows, (size_t)found.count * sizeof *found.rows);
    const bool one = lookup_is_one_a_row(&l, nnz, rows);
    if (one && found.count == rows && !(l.table.max_norm > 0)) return hr_kernel_pass(k, 0, 1, HR_SHAPE(rows, dim), err);
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(found.count, dim), &values, err));
    float *sums = values->data;
    if (found.count && dim) memset(sums, 0, (size_t)(found.count * dim) * sizeof *sums);
    if (one)
        lookup_sum_rows(rows, dim, k->input[1]->data, place, sums);
    else
        for (int64_t r = 0; r < rows; r++) lookup_spread_row(&l, r, k->input[1]->data, place, sums);
    for (int64_t i = 0; i < found.count && l.table.max_norm > 0; i++) through_clip(&l, found.rows[i], sums + i * dim);
    return HR_OK;
}

static hr_status lookup_grad_shape(hr_infer *s, hr_error *err)
{
    hr_handle_info table;
    const bool known = hr_handle_of(hr_node_input(s->node, 0), &table) && table.shape.rank >= 0;
    if (known && (table.shape.rank != 2 || table.dtype != HR_FLOAT))
        return hr_infer_refuse(s, err, "a table of float32 [buckets, dim]");
    s->output[0] = HR_SHAPE(-1, known ? table.shape.dims[1] : -1);
    s->output[1] = HR_SHAPE(-1);
    return HR_OK;
}

static void lookup_gradient(hr_backward *b)
{
    const hr_node all[] = {b->input[0], b->grad[0], b->input[1], b->input[2],
                           b->inputs > 3 ? b->input[3] : (hr_node){0}};
    const hr_node g =
        hr_new_node(b->graph, "Headrace>EmbeddingLookupSparseGrad", .inputs = all, .input_count = b->inputs + 1,
                    HR_ATTRS(*hr_node_attr(b->node, "combiner"), *hr_node_attr(b->node, "max_norm")));
    b->out[0] = (hr_gradient){g, hr_node_output(g, 1), hr_variable_shape(b->input[0], HR_INT64)};
}

const hr_graph_op hr_graph_ops_embedding_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>EmbeddingLookupSparse",
        .inputs = "resource:resource, ids:int64, row_splits:int32, weights:W*float",
        .outputs = "output:float",
        .attrs = "W:int>=0; combiner:string=mean; max_norm:float=0",
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .state_size = sizeof(lookup_state),
        .shape = lookup_shape,
        .prepare = lookup_prepare,
        .compute = lookup_compute,
        .gradient = lookup_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>EmbeddingLookupSparseGrad",
        .inputs = "resource:resource, grad:float, ids:int64, row_splits:int32, weights:W*float",
        .outputs = "values:float, indices:int64",
        .attrs = "W:int>=0; combiner:string=mean; max_norm:float=0",
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .state_size = sizeof(lookup_state),
        .shape = lookup_grad_shape,
        .prepare = lookup_prepare,
        .compute = lookup_grad_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_embedding_lookup_sparse_with(hr_node table, hr_node ids, hr_node splits, const hr_lookup_opts *opts)
{
    static const char *const names[] = {[HR_MEAN] = "mean", [HR_SUM] = "sum", [HR_SQRTN] = "sqrtn"};
    const hr_lookup_opts o = HR_OPTIONS(hr_lookup_opts, opts);
    const hr_node all[] = {table, ids, splits, o.weights};
    if ((unsigned)o.combiner > HR_SQRTN)
        return hr_node_fail(table.graph, HR_INVALID_ARGUMENT, "graph.attr", "expected a combiner, got %d",
                            (int)o.combiner);
    return hr_new_node(table.graph, "Headrace>EmbeddingLookupSparse", .name = o.name, .inputs = all,
                       .input_count = o.weights.graph ? 4 : 3,
                       HR_ATTRS(HR_STRING_ATTR("combiner", names[o.combiner]), HR_FLOAT_ATTR("max_norm", o.max_norm)));
}
