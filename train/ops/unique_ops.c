/* Which values a tensor has: Unique and its kin, ListDiff, Where. Values are told apart by a hash table; -0 is 0, and a
 * NaN is like no other value. */
#include <headrace/kernels.h>
#include <string.h>

/* Rows along one axis: row i is [before, i, after]. */
typedef struct rows {
    const hr_tensor *t;
    int64_t before, count, after;
} rows;

static rows rows_along(const hr_tensor *t, int axis)
{
    rows r = {t, 1, t->shape.dims[axis], 1};
    for (int d = 0; d < t->shape.rank; d++) *(d < axis ? &r.before : &r.after) *= d == axis ? 1 : t->shape.dims[d];
    return r;
}

/* What is equal to a number has its bits; `nan`: nothing is. */
static uint64_t number_bits(const hr_tensor *t, int64_t at, bool *nan)
{
    uint64_t bits = 0;
    double value;
    switch (t->dtype) {
#define FLOATING(T, V, U, DTYPE, SUFFIX, A, B)                                                                         \
    case DTYPE:                                                                                                        \
        value = (double)HR_GET(SUFFIX, ((const T *)t->data)[at]) + 0.0;                                                \
        break;
        HR_EACH_TYPE(FLOATING, ~, ~, floats, halves)
    default:
        memcpy(&bits, (const char *)t->data + at * (int64_t)hr_dtype_size(t->dtype), hr_dtype_size(t->dtype));
        return bits;
    }
    *nan = value != value;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t row_hash(const rows *r, int64_t i, bool *nan)
{
    uint64_t hash = 0;
    bool one = false;
    for (int64_t b = 0; b < r->before; b++)
        for (int64_t a = 0; a < r->after; a++) {
            const int64_t at = (b * r->count + i) * r->after + a;
            const hr_view *text = (const hr_view *)r->t->data + at;
            const uint64_t bits = r->t->dtype == HR_STRING ? hr_fingerprint64(text->data, (size_t)text->size)
                                                           : number_bits(r->t, at, &one);
            hash = hr_fingerprint_cat64(hash, bits);
            *nan |= one;
        }
    return hash;
}

/* Neither holds a NaN. */
static bool rows_equal(const rows *x, int64_t i, const rows *y, int64_t j)
{
    bool nan;
    for (int64_t b = 0; b < x->before; b++)
        for (int64_t a = 0; a < x->after; a++) {
            const int64_t at = (b * x->count + i) * x->after + a, to = (b * y->count + j) * y->after + a;
            if (x->t->dtype == HR_STRING) {
                const hr_view p = ((const hr_view *)x->t->data)[at], q = ((const hr_view *)y->t->data)[to];
                if (p.size != q.size || (p.size && memcmp(p.data, q.data, (size_t)p.size) != 0)) return false;
            } else if (number_bits(x->t, at, &nan) != number_bits(y->t, to, &nan)) {
                return false;
            }
        }
    return true;
}

/* Rows are single whole numbers of 64 bits, as ids are. */
static bool rows_are_ids(const rows *r) { return r->t->dtype == HR_INT64 && r->before == 1 && r->after == 1; }

/* A table of rows: slots hold a row's number + 1, so that 0 is a free one. */
typedef struct row_table {
    rows of;
    int64_t *slot;
    uint64_t mask;
    bool ids;
} row_table;

static hr_status row_table_new(hr_kernel *k, rows of, row_table *out, hr_error *err)
{
    uint64_t size = 16;
    while (size < 2 * (uint64_t)of.count) size *= 2;
    *out = (row_table){of, hr_kernel_temp(k, (size_t)size * sizeof *out->slot), size - 1, rows_are_ids(&of)};
    if (!out->slot) return hr_no_memory(err, "a table of values");
    memset(out->slot, 0, (size_t)size * sizeof *out->slot);
    return HR_OK;
}

static int64_t *id_slot(const row_table *t, const int64_t *ids, int64_t id)
{
    uint64_t at = hr_fingerprint_cat64(0, (uint64_t)id) & t->mask;
    while (t->slot[at] && ids[t->slot[at] - 1] != id) at = (at + 1) & t->mask;
    return &t->slot[at];
}

/* The slot of the row of the table that is equal to row i of `r`, of the same type, or a free one. */
static int64_t *row_slot(const row_table *t, const rows *r, int64_t i)
{
    if (t->ids) return id_slot(t, t->of.t->data, ((const int64_t *)r->t->data)[i]);
    bool nan = false;
    uint64_t at = row_hash(r, i, &nan) & t->mask;
    while (t->slot[at] && (nan || !rows_equal(&t->of, t->slot[at] - 1, r, i))) at = (at + 1) & t->mask;
    return &t->slot[at];
}

/* ---- Unique ---- */

static hr_status unique_axis(const hr_kernel *k, int *axis, hr_error *err)
{
    const hr_shape in = k->input[0]->shape;
    *axis = 0;
    if (k->inputs > 1) HR_TRY(hr_expect_rank("axis", k->input[1]->shape, 1, err));
    if (k->inputs > 1 && k->input[1]->count > 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis",
                       "axis does not support input tensors larger than 1 element, got %lld",
                       (long long)k->input[1]->count);
    if (k->inputs > 1 && k->input[1]->count == 1) return hr_axis(hr_int_at(k->input[1], 0), in.rank, axis, err);
    if (in.rank == 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "unique expects a 1D vector, got rank %d", in.rank);
}

/* Rows `first` of input 0 along the axis, as output 0. */
static hr_status give_rows(hr_kernel *k, int axis, const rows *r, const int64_t *first, int64_t count, hr_error *err)
{
    const size_t size = hr_dtype_size(r->t->dtype) * (size_t)r->after;
    hr_shape shape = r->t->shape;
    hr_tensor scratch, *out;
    shape.dims[axis] = count;
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    for (int64_t b = 0; b < r->before && size; b++)
        for (int64_t n = 0; n < count; n++)
            memcpy((char *)out->data + (size_t)(b * count + n) * size,
                   (const char *)r->t->data + (size_t)(b * r->count + first[n]) * size, size);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status unique_compute(hr_kernel *k, hr_error *err)
{
    row_table table;
    hr_tensor *index, *counts;
    int axis;
    int64_t found = 0;
    HR_TRY(unique_axis(k, &axis, err));
    const rows r = rows_along(k->input[0], axis);
    HR_TRY(row_table_new(k, r, &table, err));
    int64_t *first = hr_kernel_temp(k, (size_t)r.count * 2 * sizeof *first + 1),
            *times = first ? first + r.count : NULL;
    int64_t *number =
        hr_kernel_temp(k, (size_t)r.count * sizeof *number + 1); /* of a row that is the first of its kind */
    if (!first || !number) return hr_no_memory(err, "rows");
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(r.count), &index, err));
    for (int64_t i = 0; i < r.count; i++) {
        int64_t *slot = row_slot(&table, &r, i);
        if (!*slot) {
            *slot = i + 1;
            number[i] = found;
            times[found] = 0;
            first[found++] = i;
        }
        times[number[*slot - 1]]++;
        HR_TRY(hr_put_int(index, i, number[*slot - 1], err));
    }
    HR_TRY(give_rows(k, axis, &r, first, found, err));
    if (k->outputs < 3) return HR_OK;
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(found), &counts, err));
    for (int64_t i = 0; i < found; i++) HR_TRY(hr_put_int(counts, i, times[i], err));
    return HR_OK;
}

/* Along an axis that is known, there is an index for each row. */
static hr_status unique_v2_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *axis = hr_infer_value(s, 1);
    const hr_shape in = s->input[0];
    int at = 0;
    s->output[0] = hr_shape_of_rank(in.rank);
    s->output[1] = hr_shape_of_rank(1);
    if (s->outputs > 2) s->output[2] = hr_shape_of_rank(1);
    if (in.rank < 0 || !axis || axis->count > 1) return HR_OK;
    if (axis->count == 1) HR_TRY(hr_axis(hr_int_at(axis, 0), in.rank, &at, err));
    if (axis->count == 0 && in.rank != 1) return hr_infer_refuse(s, err, "a vector where there is no axis");
    s->output[1] = HR_SHAPE(in.dims[at]);
    return HR_OK;
}

/* ---- ListDiff: what is in x and not in y ---- */

static hr_status list_diff_compute(hr_kernel *k, hr_error *err)
{
    row_table table;
    hr_tensor *index;
    int64_t left = 0;
    HR_TRY(hr_expect_rank("x", k->input[0]->shape, 1, err));
    HR_TRY(hr_expect_rank("y", k->input[1]->shape, 1, err));
    const rows x = rows_along(k->input[0], 0), y = rows_along(k->input[1], 0);
    HR_TRY(row_table_new(k, y, &table, err));
    int64_t *kept;
    HR_TRY(hr_kernel_array(k, x.count, sizeof *kept, "rows", &kept, err));
    for (int64_t i = 0; i < y.count; i++) *row_slot(&table, &y, i) = i + 1;
    for (int64_t i = 0; i < x.count; i++)
        if (!*row_slot(&table, &x, i)) kept[left++] = i;
    HR_TRY(give_rows(k, 0, &x, kept, left, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(left), &index, err));
    for (int64_t i = 0; i < left; i++) HR_TRY(hr_put_int(index, i, kept[i], err));
    return HR_OK;
}

/* ---- Where: the indices of what is not zero ---- */

#define NOT_ZERO(T, V, U, DTYPE, SUFFIX, A, B)                                                                         \
    static bool not_zero_##SUFFIX(const void *data, int64_t i) { return HR_GET(SUFFIX, ((const T *)data)[i]) != 0; }
HR_EACH_TYPE(NOT_ZERO, ~, ~, floats, halves, ints, complexes, bools)

static hr_status where_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = HR_SHAPE(-1, s->input[0].rank);
    return HR_OK;
}

static hr_status where_compute(hr_kernel *k, hr_error *err)
{
    bool (*const not_zero)(const void *, int64_t) = (bool (*)(const void *, int64_t))hr_kernel_chosen(k)->run;
    const hr_tensor *in = k->input[0];
    const int rank = in->shape.rank;
    int64_t count = 0;
    hr_tensor *out;
    if (rank == 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "WhereOp : Unhandled input dimensions: 0");
    for (int64_t i = 0; i < in->count; i++) count += not_zero(in->data, i);
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(count, rank), &out, err));
    int64_t *to = out->data, at[HR_MAX_RANK] = {0};
    for (int64_t i = 0; i < in->count; i++) {
        if (not_zero(in->data, i)) {
            memcpy(to, at, (size_t)rank * sizeof *to);
            to += rank;
        }
        for (int d = rank - 1; d >= 0 && ++at[d] == in->shape.dims[d]; d--) at[d] = 0;
    }
    return HR_OK;
}

#define UNIQUE_TYPES "T:{numbers,bool,string,float16,bfloat16}"
#define UNIQUE_OP(NAME, COMPUTE, ...)                                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .compute = (COMPUTE), __VA_ARGS__                                    \
    }

const hr_graph_op hr_graph_ops_unique_ops[] = {
    UNIQUE_OP("ListDiff", list_diff_compute, .shapes = "[n], [m] -> [?], [?]", .types = UNIQUE_TYPES),
    UNIQUE_OP("Unique", unique_compute, .shapes = "[n] -> [?], [n]", .types = UNIQUE_TYPES),
    UNIQUE_OP("UniqueV2", unique_compute, .shape = unique_v2_shape, .types = UNIQUE_TYPES),
    UNIQUE_OP("UniqueWithCounts", unique_compute, .shapes = "[n] -> [?], [n], [?]", .types = UNIQUE_TYPES),
    UNIQUE_OP("UniqueWithCountsV2", unique_compute, .shape = unique_v2_shape, .types = UNIQUE_TYPES),
    UNIQUE_OP("Where", where_compute, .shape = where_shape,
              .kernels = HR_KERNELS(not_zero, floats, halves, ints, complexes, bools)),
    HR_GRAPH_OPS_END,
};

HR_UNARY_CONSTRUCTOR(hr_unique_values, "Unique")
HR_UNARY_CONSTRUCTOR(hr_unique_with_counts, "UniqueWithCounts")
HR_BINARY_CONSTRUCTOR(hr_list_diff, "ListDiff")
HR_UNARY_CONSTRUCTOR(hr_where_true, "Where")
