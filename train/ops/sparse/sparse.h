/* What the ops of sparse tensors share: the three inputs of one, and its entries in order. */
#ifndef HR_SPARSE_H
#define HR_SPARSE_H

#include <headrace/kernels.h>

typedef struct sparse {
    const hr_tensor *values;
    const int64_t *at, *shape; /* `rank` indices a value; lengths of the dimensions */
    int64_t count;
    int rank;
} sparse;

/* Of inputs indices, values, shape. All indices must lie within the shape. */
static inline hr_status sparse_read(const hr_tensor *indices, const hr_tensor *values, const hr_tensor *shape,
                                    sparse *s, hr_error *err)
{
    *s = (sparse){0};
    if (indices->shape.rank != 2 || values->shape.rank != 1 || shape->shape.rank != 1 ||
        indices->shape.dims[0] != values->count || indices->shape.dims[1] != shape->count || shape->count > HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected indices [n, rank], values [n] and a shape [rank] of at most %d", HR_MAX_RANK);
    *s = (sparse){values, indices->data, shape->data, values->count, (int)shape->count};
    for (int d = 0; d < s->rank; d++)
        if (s->shape[d] < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a shape without negative lengths");
    for (int64_t i = 0; i < indices->count; i++)
        if (s->at[i] < 0 || s->at[i] >= s->shape[i % s->rank])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected indices in [0, %lld), got %lld",
                           (long long)s->shape[i % s->rank], (long long)s->at[i]);
    return HR_OK;
}

/* Copies value `from` of a tensor of any type; strings as views. */
static inline void sparse_copy(hr_tensor *to, int64_t at, const hr_tensor *t, int64_t from)
{
    const size_t size = hr_dtype_size(t->dtype);
    memcpy((char *)to->data + (size_t)at * size, (const char *)t->data + (size_t)from * size, size);
}

/* Compares the indices of two values, dimension by dimension. */
static inline int sparse_order(const int64_t *a, const int64_t *b, int64_t rank)
{
    for (int64_t d = 0; d < rank; d++)
        if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
    return 0;
}

typedef struct sparse_entry {
    const int64_t *at;
    int64_t rank, from; /* where its value is */
} sparse_entry;

/* For qsort: by indices, equal ones by where they stood. */
static inline int sparse_compare(const void *x, const void *y)
{
    const sparse_entry *a = x, *b = y;
    const int order = sparse_order(a->at, b->at, a->rank);
    if (order != 0) return order;
    return a->from < b->from ? -1 : a->from > b->from;
}

#endif
