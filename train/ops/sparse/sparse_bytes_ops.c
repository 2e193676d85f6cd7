/* Sparse tensors as three strings, each a serialized tensor: indices, values, shape. One as a whole, or row by row;
 * several as one, with dimensions in front for where each came from. */
#include <headrace/graphdef.h>
#include <headrace/kernels.h>

static hr_status put_tensor(hr_strings *out, const hr_tensor *t, hr_error *err)
{
    char *bytes;
    size_t size;
    HR_TRY(hr_tensor_export_packed(t, &bytes, &size, err));
    hr_strings_add(out, (hr_view){bytes, (int64_t)size});
    hr_strings_end(out);
    hr_free(bytes);
    return HR_OK;
}

static hr_status expect_parts(const hr_kernel *k, hr_error *err)
{
    if (k->input[0]->shape.rank == 2 && k->input[1]->shape.rank == 1 && k->input[2]->shape.rank == 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "expected indices in rows, values and a shape, got ranks %d, %d and %d", k->input[0]->shape.rank,
                   k->input[1]->shape.rank, k->input[2]->shape.rank);
}

static hr_status serialize_compute(hr_kernel *k, hr_error *err)
{
    hr_strings out = {0};
    hr_status st = expect_parts(k, err);
    for (int i = 0; i < 3 && st == HR_OK; i++) st = put_tensor(&out, k->input[i], err);
    if (st == HR_OK) return hr_strings_give(&out, k, 0, HR_SHAPE(3), err);
    hr_strings_free(&out);
    return st;
}

/* ---- by row ---- */

/* All indices lie within the shape, and each comes after the one before. */
static hr_status check_order(const hr_kernel *k, int64_t rank, hr_error *err)
{
    const int64_t *at = k->input[0]->data, *shape = k->input[2]->data;
    for (int64_t i = 0; i < k->input[1]->count; i++, at += rank) {
        int order = i ? 0 : 1;
        for (int64_t d = 0; d < rank; d++) {
            if (at[d] < 0 || at[d] >= shape[d])
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index",
                               "indices[%lld] is out of bounds: need 0 <= index < %lld, got %lld", (long long)i,
                               (long long)shape[d], (long long)at[d]);
            if (order == 0) order = (at[d] > at[d - rank]) - (at[d] < at[d - rank]);
        }
        if (order <= 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "indices[%lld] is %s", (long long)i,
                           order ? "out of order" : "repeated");
    }
    return HR_OK;
}

/* The `count` entries from `first` on without their first index, which is the row. */
static hr_status put_row(const hr_kernel *k, hr_strings *out, int64_t first, int64_t count, int64_t *indices,
                         hr_error *err)
{
    const int64_t rank = k->input[2]->count;
    const int64_t *at = (const int64_t *)k->input[0]->data + first * rank;
    const hr_tensor *values = k->input[1];
    for (int64_t i = 0; i < count; i++)
        memcpy(indices + i * (rank - 1), at + i * rank + 1, sizeof *indices * (size_t)(rank - 1));
    const char *from = values->count ? (const char *)values->data + (size_t)first * hr_dtype_size(values->dtype) : "";
    const hr_tensor parts[] = {hr_tensor_of(HR_INT64, HR_SHAPE(count, rank - 1), indices),
                               hr_tensor_of(values->dtype, HR_SHAPE(count), from),
                               hr_tensor_of(HR_INT64, HR_SHAPE(rank - 1), (const int64_t *)k->input[2]->data + 1)};
    for (int i = 0; i < 3; i++) HR_TRY(put_tensor(out, &parts[i], err));
    return HR_OK;
}

static hr_status serialize_many_compute(hr_kernel *k, hr_error *err)
{
    hr_strings out = {0};
    HR_TRY(expect_parts(k, err));
    const int64_t rank = k->input[2]->count, count = k->input[1]->count;
    if (rank < 2 || k->input[0]->shape.dims[1] != rank || k->input[0]->shape.dims[0] != count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "Rank of input SparseTensor should be > 1, and indices one for each value, but saw rank: %lld",
                       (long long)rank);
    const int64_t rows = *(const int64_t *)k->input[2]->data, *at = k->input[0]->data;
    int64_t strings;
    if (rows < 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected rows, got %lld", (long long)rows);
    HR_TRY(hr_dim_mul(rows, 3, &strings, err));
    HR_TRY(check_order(k, rank, err));
    int64_t *indices = hr_kernel_temp(k, sizeof *indices * (size_t)(count * (rank - 1) + 1));
    hr_status st = indices ? HR_OK : hr_no_memory(err, "indices");
    for (int64_t row = 0, first = 0, next = 0; row < rows && st == HR_OK && !out.failed; row++, first = next) {
        while (next < count && at[next * rank] == row) next++;
        st = put_row(k, &out, first, next - first, indices, err);
        if (hr_kernel_cancelled(k)) st = hr_fail(err, HR_CANCELLED, "session.cancelled", "the run was cancelled");
    }
    if (st == HR_OK) return hr_strings_give(&out, k, 0, HR_SHAPE(rows, 3), err);
    hr_strings_free(&out);
    return st;
}

/* ---- back ---- */

/* One of the sparse tensors: indices, values, shape. */
typedef struct sparse_parts {
    hr_tensor part[3];
} sparse_parts;

static hr_status parts_read(const hr_view *strings, hr_dtype dtype, int64_t number, sparse_parts *out, hr_error *err)
{
    static const char *const names[] = {"indices", "values", "shape"};
    static const int ranks[] = {2, 1, 1};
    for (int i = 0; i < 3; i++) {
        hr_tensor *t = &out->part[i];
        const hr_dtype wanted = i == 1 ? dtype : HR_INT64;
        if (hr_tensor_import(strings[i], t, err) != HR_OK)
            return hr_fail(err, HR_INVALID_ARGUMENT, "sparse.bytes",
                           "sparse tensor %lld: the %s are no serialized tensor", (long long)number, names[i]);
        if (t->dtype != wanted || t->shape.rank != ranks[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, "sparse.bytes",
                           "sparse tensor %lld: expected %s of type %s and rank %d, got %s and %d", (long long)number,
                           names[i], hr_dtype_name(wanted), ranks[i], hr_dtype_name(t->dtype), t->shape.rank);
    }
    const hr_tensor *indices = &out->part[0];
    if (indices->shape.dims[0] == out->part[1].count && indices->shape.dims[1] == out->part[2].count) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "sparse.bytes",
                   "sparse tensor %lld: expected an index for each value, with a number for each dimension",
                   (long long)number);
}

/* All of them; they must have one rank. */
static hr_status parts_read_all(hr_kernel *k, sparse_parts *all, int64_t count, int64_t *values, hr_error *err)
{
    const hr_view *strings = k->input[0]->data;
    for (int64_t i = 0; i < count; i++) {
        HR_TRY(parts_read(strings + 3 * i, hr_attr_type(k->node, "dtype"), i, &all[i], err));
        HR_TRY(hr_dim_add(*values, all[i].part[1].count, values, err));
        if (all[i].part[2].count != all[0].part[2].count)
            return hr_fail(err, HR_INVALID_ARGUMENT, "sparse.bytes",
                           "sparse tensor %lld: expected rank %lld as the first one, got %lld", (long long)i,
                           (long long)all[0].part[2].count, (long long)all[i].part[2].count);
    }
    return HR_OK;
}

/* The shape: the dimensions in front, then the greatest of each. */
static hr_status parts_shape(hr_kernel *k, const sparse_parts *all, int64_t count, int front, hr_error *err)
{
    const int64_t rank = all[0].part[2].count;
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(front + rank), &out, err));
    int64_t *to = out->data;
    for (int d = 0; d < front; d++) to[d] = k->input[0]->shape.dims[d];
    for (int64_t d = 0; d < rank; d++) to[front + d] = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t d = 0; d < rank; d++) {
            const int64_t length = ((const int64_t *)all[i].part[2].data)[d];
            if (length > to[front + d]) to[front + d] = length;
        }
    return HR_OK;
}

static hr_status parts_give(hr_kernel *k, const sparse_parts *all, int64_t count, int64_t values, int front,
                            hr_error *err)
{
    const int64_t rank = all[0].part[2].count;
    hr_tensor *indices, scratch, *out;
    HR_TRY(parts_shape(k, all, count, front, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(values, front + rank), &indices, err));
    HR_TRY(hr_kernel_begin_output(k, 1, HR_SHAPE(values), &scratch, &out, err));
    const size_t size = hr_dtype_size(out->dtype);
    int64_t *to = indices->data, at = 0;
    for (int64_t i = 0; i < count; at += all[i++].part[1].count) {
        const hr_tensor *own = &all[i].part[1];
        const int64_t *from = all[i].part[0].data;
        for (int64_t j = 0; j < own->count; j++, to += front + rank, from += rank) {
            int64_t place = i;
            for (int d = front - 1; d >= 0; place /= k->input[0]->shape.dims[d--])
                to[d] = place % k->input[0]->shape.dims[d];
            if (rank) memcpy(to + front, from, sizeof *to * (size_t)rank);
        }
        if (own->count) memcpy((char *)out->data + (size_t)at * size, own->data, (size_t)own->count * size);
    }
    return hr_kernel_end_output(k, 1, &scratch, out, err);
}

static hr_status deserialize_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const int front = in->shape.rank - 1;
    const bool many = hr_node_is(k->node, "DeserializeManySparse");
    if (front < 0 || (many && front != 1) || in->shape.dims[front] != 3)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %s of 3 strings, got rank %d",
                       many ? "rows" : "one or more", in->shape.rank);
    if (in->count == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension");
    const int64_t count = in->count / 3;
    int64_t values = 0;
    sparse_parts *all;
    HR_TRY(hr_kernel_array(k, count, sizeof *all, "sparse tensors", &all, err));
    memset(all, 0, sizeof *all * (size_t)count);
    hr_status st = parts_read_all(k, all, count, &values, err);
    if (st == HR_OK) st = parts_give(k, all, count, values, front, err);
    for (int64_t i = 0; i < count; i++)
        for (int p = 0; p < 3; p++) hr_tensor_clear(&all[i].part[p]);
    return st;
}

#define SPARSE_BYTES_OP(NAME, SHAPES, TYPES, COMPUTE)                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shapes = (SHAPES), .types = (TYPES),      \
        .compute = (COMPUTE),                                                                                          \
    }

const hr_graph_op hr_graph_ops_sparse_bytes_ops[] = {
    SPARSE_BYTES_OP("SerializeSparse", "[n,r], [n], [r] -> [3]", "T:any; out_type:{string}", serialize_compute),
    SPARSE_BYTES_OP("SerializeManySparse", "[n,r], [n], [r] -> [?,3]", "T:any; out_type:{string}",
                    serialize_many_compute),
    SPARSE_BYTES_OP("DeserializeSparse", "[...,3] -> [?,?], [?], [?]", "dtype:any; Tserialized:{string}",
                    deserialize_compute),
    SPARSE_BYTES_OP("DeserializeManySparse", "[?,3] -> [?,?], [?], [?]", "dtype:any", deserialize_compute),
    HR_GRAPH_OPS_END,
};
