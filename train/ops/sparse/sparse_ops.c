/* Sparse tensors as three tensors: indices [n, rank], values [n], a dense shape [rank]. Put in order, reshaped, cut,
 * put together, filled in and made dense; SparseCross. */
#include "train/ops/sparse/sparse.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- order ---- */

/* Outputs 0 and 1: entries in order. */
static hr_status sparse_give_sorted(hr_kernel *k, sparse_entry *entry, int64_t count, int rank, const hr_tensor *values,
                                    hr_error *err)
{
    hr_tensor *indices, scratch, *out;
    if (count) qsort(entry, (size_t)count, sizeof *entry, sparse_compare);
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(count, rank), &indices, err));
    HR_TRY(hr_kernel_begin_output(k, 1, HR_SHAPE(count), &scratch, &out, err));
    for (int64_t i = 0; i < count; i++) {
        if (rank) memcpy((int64_t *)indices->data + i * rank, entry[i].at, sizeof(int64_t) * (size_t)rank);
        sparse_copy(out, i, values, entry[i].from);
    }
    return hr_kernel_end_output(k, 1, &scratch, out, err);
}

static hr_status reorder_compute(hr_kernel *k, hr_error *err)
{
    sparse s = {0};
    HR_TRY(sparse_read(k->input[0], k->input[1], k->input[2], &s, err));
    sparse_entry *entry;
    HR_TRY(hr_kernel_array(k, s.count + 1, sizeof *entry, "a sparse tensor", &entry, err));
    for (int64_t i = 0; i < s.count; i++) entry[i] = (sparse_entry){s.at + i * s.rank, s.rank, i};
    return sparse_give_sorted(k, entry, s.count, s.rank, s.values, err);
}

/* The places where the values came from are the values of a sparse tensor that is put in order, too. */
static void reorder_gradient(hr_backward *b)
{
    const hr_node count =
        hr_reshape(hr_slice(hr_shape_of(b->input[1]), hr_ints(b->graph, HR_I64(0), 1), hr_ints(b->graph, HR_I64(1), 1)),
                   hr_ints(b->graph, NULL, 0));
    const hr_node places = hr_new_node(
        b->graph, "Range", HR_INPUTS(hr_scalar(b->graph, HR_INT32, 0), count, hr_scalar(b->graph, HR_INT32, 1)));
    const hr_node sorted =
        hr_node_output(hr_new_node(b->graph, "SparseReorder", HR_INPUTS(b->input[0], places, b->input[2])), 1);
    hr_backward_give(b, 1, hr_new_node(b->graph, "UnsortedSegmentSum", HR_INPUTS(b->grad[1], sorted, count)));
}

static hr_status concat_shape(hr_infer *s, hr_error *err)
{
    const int n = s->inputs / 3;
    int64_t count = 0, rank = -1;
    for (int i = 0; i < n; i++) {
        const hr_shape indices = s->input[i];
        if (indices.rank == 2 && indices.dims[1] >= 0) rank = indices.dims[1];
        HR_TRY(hr_dim_add(count, indices.rank == 2 && count >= 0 ? indices.dims[0] : -1, &count, err));
    }
    s->output[0] = HR_SHAPE(count, rank);
    s->output[1] = HR_SHAPE(count);
    s->output[2] = HR_SHAPE(rank);
    return HR_OK;
}

static hr_status concat_compute(hr_kernel *k, hr_error *err)
{
    const int n = k->inputs / 3;
    int64_t all = 0, numbers = 0;
    int axis;
    sparse first, s;
    for (int i = 0; i < n; i++) all += k->input[n + i]->count, numbers += k->input[i]->count;
    sparse_entry *entry = hr_kernel_temp(k, sizeof *entry * (size_t)(all + 1));
    int64_t *at = hr_kernel_temp(k, sizeof *at * (size_t)(numbers + 1)), *own = at;
    hr_tensor values = *k->input[n], *out;
    values.data = hr_kernel_temp(k, (size_t)(all + 1) * hr_dtype_size(values.dtype));
    if (!entry || !at || !values.data) return hr_no_memory(err, "a sparse tensor");
    HR_TRY(sparse_read(k->input[0], k->input[n], k->input[2 * n], &first, err));
    HR_TRY(hr_axis(hr_attr_int(k->node, "concat_dim"), first.rank, &axis, err));
    hr_shape shape = {first.rank, {0}};
    for (int i = 0, to = 0; i < n; i++) {
        HR_TRY(sparse_read(k->input[i], k->input[n + i], k->input[2 * n + i], &s, err));
        for (int d = 0; d < first.rank; d++)
            if (s.rank != first.rank || (d != axis && s.shape[d] != first.shape[d]))
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                               "expected shapes that differ in dimension %d alone", axis);
        for (int64_t j = 0; j < s.count; j++, own += s.rank, to++) {
            memcpy(own, s.at + j * s.rank, sizeof *own * (size_t)s.rank);
            own[axis] += shape.dims[axis];
            sparse_copy(&values, to, s.values, j);
            entry[to] = (sparse_entry){own, s.rank, to};
        }
        if (__builtin_add_overflow(shape.dims[axis], s.shape[axis], &shape.dims[axis]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected lengths whose sum fits into int64");
    }
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(first.rank), &out, err));
    for (int d = 0; d < first.rank; d++) ((int64_t *)out->data)[d] = d == axis ? shape.dims[d] : first.shape[d];
    return sparse_give_sorted(k, entry, all, first.rank, &values, err);
}

/* ---- shape ---- */

static hr_status sparse_size(const int64_t *dims, int64_t rank, int64_t *size, hr_error *err)
{
    *size = 1;
    for (int64_t d = 0; d < rank; d++)
        if (dims[d] < 0 || __builtin_mul_overflow(*size, dims[d], size))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                           "expected lengths >= 0 whose product fits into int64, got %lld", (long long)dims[d]);
    return HR_OK;
}

/* The length that -1 stands for where there are no places: as if lengths of 0 were not there, on either side. */
static int64_t empty_length(const int64_t *from, int64_t from_rank, const int64_t *dims, int64_t rank)
{
    int64_t before = 1, own = 1;
    for (int64_t d = 0; d < from_rank; d++)
        if (from[d] && __builtin_mul_overflow(before, from[d], &before)) return 0;
    for (int64_t d = 0; d < rank; d++)
        if (dims[d] && __builtin_mul_overflow(own, dims[d], &own)) return 0;
    return before / own;
}

/* Fills in a length of -1. */
static hr_status reshape_fill(const int64_t *from, int64_t from_rank, int64_t *dims, int64_t rank, int64_t size,
                              hr_error *err)
{
    int64_t open = -1, own;
    for (int64_t d = 0; d < rank; d++) {
        if (dims[d] != -1) continue;
        if (open >= 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most one length of -1 in new_shape");
        open = d;
        dims[d] = 1;
    }
    HR_TRY(sparse_size(dims, rank, &own, err));
    if (open >= 0 && own > 0 && size % own == 0) dims[open] = size / own, own = size;
    if (open >= 0 && own == 0 && size == 0) dims[open] = empty_length(from, from_rank, dims, rank);
    if (own != size)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a new_shape of as many places as before, %lld, got %lld", (long long)size,
                       (long long)own);
    return HR_OK;
}

static hr_status sparse_reshape_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0], *from = k->input[1], *wanted = k->input[2];
    hr_tensor *out, *dims;
    int64_t size;
    if (in->shape.rank != 2 || from->shape.rank != 1 || wanted->shape.rank != 1 || in->shape.dims[1] != from->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected indices [n, rank] and two shapes");
    HR_TRY(sparse_size(from->data, from->count, &size, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(wanted->count), &dims, err));
    int64_t *to = dims->data;
    const int64_t *dim = from->data, *at = in->data;
    if (wanted->count) memcpy(to, wanted->data, sizeof *to * (size_t)wanted->count);
    HR_TRY(reshape_fill(dim, from->count, to, wanted->count, size, err));
    if (size == 0 && in->shape.dims[0] > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected no values in a shape without places");
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(in->shape.dims[0], wanted->count), &out, err));
    int64_t *next = out->data;
    for (int64_t i = 0; i < in->shape.dims[0]; i++, next += wanted->count) {
        uint64_t place = 0; /* indices beyond the shape wrap */
        for (int64_t d = 0; d < from->count; d++) place = place * (uint64_t)dim[d] + (uint64_t)*at++;
        for (int64_t d = wanted->count - 1; d >= 0; place /= (uint64_t)to[d], d--)
            next[d] = (int64_t)(place % (uint64_t)to[d]);
    }
    return HR_OK;
}

static hr_status sparse_slice_compute(hr_kernel *k, hr_error *err)
{
    const int64_t *start = k->input[3]->data, *size = k->input[4]->data;
    sparse s = {0};
    hr_tensor *indices, *shape, scratch, *values;
    HR_TRY(sparse_read(k->input[0], k->input[1], k->input[2], &s, err));
    bool fits = k->input[3]->count == s.rank && k->input[4]->count == s.rank;
    for (int d = 0; fits && d < s.rank; d++) fits = start[d] >= 0 && size[d] >= 0;
    if (!fits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a start and a size >= 0 for each dimension");
    bool *kept = hr_kernel_temp(k, (size_t)s.count + 1);
    if (!kept) return hr_no_memory(err, "a sparse tensor");
    int64_t count = 0;
    for (int64_t i = 0; i < s.count; count += kept[i++]) {
        kept[i] = true;
        for (int d = 0; d < s.rank; d++)
            kept[i] &= s.at[i * s.rank + d] >= start[d] && s.at[i * s.rank + d] - start[d] < size[d];
    }
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(count, s.rank), &indices, err));
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(s.rank), &shape, err));
    HR_TRY(hr_kernel_begin_output(k, 1, HR_SHAPE(count), &scratch, &values, err));
    for (int d = 0; d < s.rank; d++) {
        const int64_t left = s.shape[d] > start[d] ? s.shape[d] - start[d] : 0;
        ((int64_t *)shape->data)[d] = left < size[d] ? left : size[d];
    }
    for (int64_t i = 0, to = 0; i < s.count; i++) {
        if (!kept[i]) continue;
        for (int d = 0; d < s.rank; d++) ((int64_t *)indices->data)[to * s.rank + d] = s.at[i * s.rank + d] - start[d];
        sparse_copy(values, to++, s.values, i);
    }
    return hr_kernel_end_output(k, 1, &scratch, values, err);
}

/* ---- dense ---- */

static hr_status to_dense_check(const hr_tensor *indices, hr_shape shape, int64_t count, bool validate, hr_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        int order = i ? 0 : 1; /* of this place after the one before */
        for (int d = 0; d < shape.rank; d++) {
            const int64_t at = hr_int_at(indices, i * shape.rank + d);
            const int64_t before = i ? hr_int_at(indices, (i - 1) * shape.rank + d) : 0;
            if (at < 0 || at >= shape.dims[d])
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index",
                               "indices[%lld] = %lld is out of bounds [0, %lld)", (long long)i, (long long)at,
                               (long long)shape.dims[d]);
            if (order == 0) order = at > before ? 1 : at < before ? -1 : 0;
        }
        if (validate && order <= 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "indices[%lld] is %s", (long long)i,
                           order ? "out of order" : "repeated");
    }
    return HR_OK;
}

static hr_status to_dense_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *indices = k->input[0], *values = k->input[2], *fill = k->input[3];
    const int rank = indices->shape.rank;
    const int64_t count = rank ? indices->shape.dims[0] : 1;
    hr_shape shape;
    hr_tensor scratch, *out;
    HR_TRY(hr_shape_input(k->input[1], &shape, err));
    if (rank > 2 || (rank == 2 ? indices->shape.dims[1] : 1) != shape.rank || fill->count != 1 ||
        values->shape.rank > 1 || (values->shape.rank == 1 && values->count != count))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a place of output_shape for each value, or for the one, and one default");
    HR_TRY(to_dense_check(indices, shape, count, hr_attr_bool(k->node, "validate_indices"), err));
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    for (int64_t i = 0; i < out->count; i++) sparse_copy(out, i, fill, 0);
    for (int64_t i = 0; i < count; i++) {
        int64_t place = 0;
        for (int d = 0; d < shape.rank; d++) place = place * shape.dims[d] + hr_int_at(indices, i * shape.rank + d);
        sparse_copy(out, place, values, values->shape.rank ? i : 0);
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static void to_dense_gradient(hr_backward *b)
{
    const hr_node by_row[] = {hr_ints(b->graph, HR_I64(-1), 1), hr_shape_of(b->input[1])};
    const hr_node g = b->grad[0], places = hr_reshape(b->input[0], hr_concat(by_row, 2, 0));
    const hr_node at = hr_new_node(b->graph, "GatherNd", HR_INPUTS(g, places));
    hr_backward_give(b, 2, hr_gradient_unbroadcast(at, b->input[2], at)); /* one value may be in all places */
    hr_backward_give(b, 3, hr_sub(hr_reduce_sum(g), hr_reduce_sum(at)));
}

/* ---- empty rows ---- */

#define ADD_ONE(T, V, U, D, S, A, B)                                                                                   \
    static void add_##S(void *to, const void *from)                                                                    \
    {                                                                                                                  \
        T *sum = to;                                                                                                   \
        *sum = HR_PUT(S, T, (U)HR_GET(S, *sum) + (U)HR_GET(S, *(const T *)from));                                      \
    }
HR_EACH_TYPE(ADD_ONE, ~, ~, floats, halves, complexes, ints)
typedef void add_fn(void *to, const void *from);

static hr_status fill_rows_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    hr_shape shape;
    s->output[2] = HR_SHAPE(hr_infer_numbers(s, 2, &shape) && shape.rank > 0 ? shape.dims[0] : -1);
    return HR_OK;
}

static hr_status fill_rows_compute(hr_kernel *k, hr_error *err)
{
    sparse s = {0};
    hr_tensor *indices, scratch, *values, *empty, *map;
    HR_TRY(sparse_read(k->input[0], k->input[1], k->input[2], &s, err));
    if (s.rank < 1 || k->input[3]->shape.rank != 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected rows, and a default_value that is a scalar");
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(s.shape[0]), &empty, err));
    HR_TRY(hr_kernel_output(k, 3, HR_SHAPE(s.count), &map, err));
    int64_t *next = hr_kernel_temp(k, sizeof *next * (size_t)(s.shape[0] + 1)), all = 0;
    if (!next) return hr_no_memory(err, "rows");
    memset(next, 0, sizeof *next * (size_t)s.shape[0]);
    for (int64_t i = 0; i < s.count; i++) next[s.at[i * s.rank]]++;
    for (int64_t row = 0; row < s.shape[0]; row++) { /* how many become where the first one goes */
        const int64_t count = next[row];
        ((bool *)empty->data)[row] = count == 0;
        next[row] = all;
        all += count ? count : 1;
    }
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(all, s.rank), &indices, err));
    HR_TRY(hr_kernel_begin_output(k, 1, HR_SHAPE(all), &scratch, &values, err));
    int64_t *at = indices->data;
    for (int64_t row = 0; row < s.shape[0]; row++) {
        if (!((bool *)empty->data)[row]) continue;
        for (int d = 0; d < s.rank; d++) at[next[row] * s.rank + d] = d ? 0 : row;
        sparse_copy(values, next[row], k->input[3], 0);
    }
    for (int64_t i = 0; i < s.count; i++) {
        const int64_t to = next[s.at[i * s.rank]]++;
        memcpy(at + to * s.rank, s.at + i * s.rank, sizeof *at * (size_t)s.rank);
        sparse_copy(values, to, s.values, i);
        ((int64_t *)map->data)[i] = to;
    }
    return hr_kernel_end_output(k, 1, &scratch, values, err);
}

static hr_status fill_rows_grad_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *map = k->input[0], *g = k->input[1];
    const size_t size = hr_dtype_size(g->dtype);
    hr_tensor *values, *rest;
    if (map->shape.rank != 1 || g->shape.rank != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected two vectors");
    bool *used = hr_kernel_temp(k, (size_t)g->count + 1);
    if (!used) return hr_no_memory(err, "rows");
    memset(used, 0, (size_t)g->count);
    HR_TRY(hr_kernel_output(k, 0, map->shape, &values, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SCALAR, &rest, err));
    memset(rest->data, 0, size);
    for (int64_t i = 0; i < map->count; i++) {
        const int64_t from = hr_int_at(map, i);
        if (from < 0 || from >= g->count)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected reverse_index_map in [0, %lld), got %lld",
                           (long long)g->count, (long long)from);
        used[from] = true;
        sparse_copy(values, i, g, from);
    }
    for (int64_t i = 0; i < g->count; i++)
        if (!used[i]) ((add_fn *)hr_kernel_chosen(k)->run)(rest->data, (const char *)g->data + (size_t)i * size);
    return HR_OK;
}

static void fill_rows_gradient(hr_backward *b)
{
    const hr_node by = hr_new_node(b->graph, "SparseFillEmptyRowsGrad", HR_INPUTS(b->output[3], b->grad[1]));
    hr_backward_give(b, 1, by);
    hr_backward_give(b, 3, hr_node_output(by, 1));
}

/* ---- crosses ---- */

/* One column: values of row r are first[r] ... first[r + 1] - 1. */
typedef struct cross_column {
    const hr_tensor *values;
    int64_t *first;
} cross_column;

static hr_status cross_rows(const hr_tensor *indices, int64_t rows, int64_t *first, hr_error *err)
{
    int64_t at = 0;
    for (int64_t row = 0; row < rows; row++) {
        first[row] = at;
        while (at < indices->shape.dims[0] && ((const int64_t *)indices->data)[2 * at] == row) at++;
    }
    first[rows] = at;
    return at == indices->shape.dims[0] ? HR_OK
                                        : hr_fail(err, HR_INVALID_ARGUMENT, "graph.index",
                                                  "expected indices in order, of rows below %lld", (long long)rows);
}

static hr_status cross_columns(hr_kernel *k, cross_column *column, int n, int dense, int64_t *rows, hr_error *err)
{
    const hr_tensor *const *in = k->input;
    *rows = n ? (in[2 * n]->count == 2 ? ((const int64_t *)in[2 * n]->data)[0] : -1)
              : (dense && in[0]->shape.rank == 2 ? in[0]->shape.dims[0] : -1);
    if (*rows < 0 || *rows > HR_MAX_VALUES)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected columns of rows, in two dimensions");
    int64_t count, *first; /* rows and columns may be very many */
    HR_TRY(hr_dim_mul(*rows + 1, n + dense + 1, &count, err));
    HR_TRY(hr_kernel_array(k, count, sizeof *first, "crossed columns", &first, err));
    for (int c = 0; c < n + dense; c++, first += *rows + 1) {
        sparse s;
        column[c] = (cross_column){in[c < n ? n + c : 2 * n + c], first};
        if (c < n) {
            HR_TRY(sparse_read(in[c], in[n + c], in[2 * n + c], &s, err));
            if (s.rank != 2 || s.shape[0] != *rows)
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected columns of %lld rows",
                               (long long)*rows);
            HR_TRY(cross_rows(in[c], *rows, first, err));
            continue;
        }
        const hr_shape shape = column[c].values->shape;
        if (shape.rank != 2 || shape.dims[0] != *rows)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected columns of %lld rows", (long long)*rows);
        for (int64_t row = 0; row <= *rows; row++) first[row] = row * shape.dims[1];
    }
    return HR_OK;
}

/* Value `i` of the columns' product in a row: the last column goes fastest. Its hash, or a string. */
static uint64_t cross_value(const cross_column *column, int columns, int64_t row, int64_t i, uint64_t key, hr_view sep,
                            hr_strings *words)
{
    int64_t place[64];
    for (int c = columns - 1; c >= 0; c--) {
        const int64_t own = column[c].first[row + 1] - column[c].first[row];
        place[c] = column[c].first[row] + i % own;
        i /= own;
    }
    for (int c = 0; c < columns; c++) {
        const hr_tensor *t = column[c].values;
        char text[24];
        const bool word = t->dtype == HR_STRING;
        const int64_t number = word ? 0 : ((const int64_t *)t->data)[place[c]];
        hr_view v = word ? ((const hr_view *)t->data)[place[c]] : (hr_view){text, 0};
        if (words) {
            if (!word) v.size = snprintf(text, sizeof text, "%lld", (long long)number);
            if (c) hr_strings_add(words, sep);
            hr_strings_add(words, v);
        } else {
            key = hr_fingerprint_cat64(key, word ? hr_fingerprint64(v.data, (size_t)v.size) : (uint64_t)number);
        }
    }
    if (words) hr_strings_end(words);
    return key;
}

static hr_status cross_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = HR_SHAPE(-1, 2);
    s->output[1] = HR_SHAPE(-1);
    s->output[2] = HR_SHAPE(2);
    return HR_OK;
}

/* Columns of numbers are crossed as numbers only: internal_type says so. */
static hr_status cross_check_types(const hr_kernel *k, int n, hr_error *err)
{
    if (hr_attr_type(k->node, "internal_type") != HR_STRING) return HR_OK;
    for (int i = n; i < k->inputs; i++)
        if ((i < 2 * n || i >= 3 * n) && k->input[i]->dtype != HR_STRING)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                           "expected columns of the internal_type string, got %s", hr_dtype_name(k->input[i]->dtype));
    return HR_OK;
}

static hr_status cross_compute(hr_kernel *k, hr_error *err)
{
    const bool v2 = hr_node_is(k->node, "SparseCrossV2");
    const bool hashed = !v2 && hr_attr_bool(k->node, "hashed_output");
    const int n = (int)hr_attr_int(k->node, "N"), columns = k->inputs - v2 - 2 * n, dense = columns - n;
    const uint64_t key = v2 ? 0 : (uint64_t)hr_attr_int(k->node, "hash_key");
    const uint64_t buckets = v2 ? 0 : (uint64_t)hr_attr_int(k->node, "num_buckets");
    const hr_view sep =
        v2 && k->input[k->inputs - 1]->count == 1 ? *(hr_view *)k->input[k->inputs - 1]->data : hr_text_view("_X_");
    cross_column column[64];
    int64_t rows, all = 0, longest = 0, at = 0;
    hr_tensor *indices, *shape, *ids = NULL;
    if (columns < 1 || columns > 64)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected 1 to 64 columns, got %d", columns);
    if (hashed != (hr_node_dtype(hr_node_output(k->node, 1)) == HR_INT64))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "expected an out_type of int64 if hashed, else of string");
    if (!v2) HR_TRY(cross_check_types(k, n, err));
    HR_TRY(cross_columns(k, column, n, dense, &rows, err));
    for (int pass = 0; pass < 2; pass++) {
        hr_strings words = {0};
        if (pass) {
            HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(all, 2), &indices, err));
            HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(2), &shape, err));
            if (hashed) HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(all), &ids, err));
            ((int64_t *)shape->data)[0] = rows;
            ((int64_t *)shape->data)[1] = longest;
        }
        for (int64_t row = 0; row < rows; row++) {
            int64_t count = 1;
            for (int c = 0; c < columns; c++)
                HR_TRY(hr_dim_mul(count, column[c].first[row + 1] - column[c].first[row], &count, err));
            if (!pass) HR_TRY(hr_dim_add(all, count, &all, err));
            if (count > longest) longest = count;
            for (int64_t i = 0; pass && i < count; i++, at++) {
                ((int64_t *)indices->data)[2 * at] = row;
                ((int64_t *)indices->data)[2 * at + 1] = i;
                const uint64_t hash = cross_value(column, columns, row, i, key, sep, hashed ? NULL : &words);
                if (hashed) ((int64_t *)ids->data)[at] = (int64_t)(hash % (buckets ? buckets : INT64_MAX));
            }
        }
        if (pass && !hashed) return hr_strings_give(&words, k, 1, HR_SHAPE(all), err);
    }
    return HR_OK;
}

static void sparse_slice_gradient(hr_backward *b)
{
    if (!hr_node_exists(b->grad[1])) return;
    hr_backward_give(
        b, 1, hr_new_node(b->graph, "SparseSliceGrad", HR_INPUTS(b->grad[1], b->input[0], b->input[3], b->output[0])));
}

#define SPARSE_OP(NAME, SHAPES, COMPUTE, ...)                                                                          \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = SHAPES, .compute = (COMPUTE), __VA_ARGS__                  \
    }

const hr_graph_op hr_graph_ops_sparse_ops[] = {
    SPARSE_OP("SparseReorder", "[n,r], [n], [r] -> [n,r], [n]", reorder_compute, .types = "T:any",
              .gradient = reorder_gradient),
    SPARSE_OP("SparseConcat", NULL, concat_compute, .types = "T:any", .shape = concat_shape),
    SPARSE_OP("SparseReshape", "[n,r], [r], [s] -> [n,s], [s]", sparse_reshape_compute, .traits = HR_NO_GRADIENT),
    SPARSE_OP("SparseSlice", "[n,r], [n], [r], [r], [r] -> [?,r], [?], [r]", sparse_slice_compute, .types = "T:any",
              .gradient = sparse_slice_gradient),
    SPARSE_OP("SparseToDense", "?, ?, ?, [] -> shape(1)", to_dense_compute, .types = "T:any; Tindices:indices",
              .gradient = to_dense_gradient),
    SPARSE_OP("SparseFillEmptyRows", "[n,r], [n], [r], [] -> [?,r], [?], [?], [n]", fill_rows_compute, .types = "T:any",
              .shape = fill_rows_shape, .gradient = fill_rows_gradient),
    SPARSE_OP("SparseFillEmptyRowsGrad", "[n], [m] -> [n], []", fill_rows_grad_compute,
              .kernels = HR_KERNELS(add, floats, halves, complexes, ints)),
    SPARSE_OP("SparseCross", NULL, cross_compute, .shape = cross_shape, .traits = HR_NO_GRADIENT),
    SPARSE_OP("SparseCrossV2", NULL, cross_compute, .shape = cross_shape, .traits = HR_NO_GRADIENT),
    HR_GRAPH_OPS_END,
};
