/* Lookups of many tables that are added up, in one node, and the gradients of such tables in another: a linear model
 * over categories. Passes make them. Values are those of the nodes that they stand for, bit by bit: rows are combined
 * alike, and added in the same order. Threads share the rows of a batch, and the columns of a gradient, so nothing
 * depends on them. */
#include "train/ops/nn/lookups.h"
#include <stdatomic.h>
#include <string.h>

static hr_status sum_refuse(const char *expected, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %s", expected);
}

/* The columns of a node: their tables come first among its inputs, then their ids, then their splits. */
typedef struct lookup_sum {
    int columns;
    int64_t rows;
    lookup *column;
} lookup_sum;

static hr_status sum_take_columns(hr_kernel *k, lookup_sum *s, hr_error *err)
{
    const char *by = hr_attr_string(k->node, "combiner").data; /* one of the words of the signature */
    const hr_combiner combiner = *by == 'm' ? HR_MEAN : strcmp(by, "sum") == 0 ? HR_SUM : HR_SQRTN;
    const int n = s->columns = (int)hr_attr_int(k->node, "N");
    HR_TRY(hr_kernel_array(k, n, sizeof *s->column, "the columns of a sum", &s->column, err));
    for (int i = 0; i < n; i++) {
        const hr_tensor *table, *ids = k->input[n + i], *splits = k->input[2 * n + i];
        HR_TRY(hr_kernel_borrow(k, i, &table, err));
        if (table->shape.rank != 2 || table->dtype != HR_FLOAT)
            return sum_refuse("tables of float32 [buckets, dim]", err);
        HR_TRY(hr_check_splits(ids, splits, NULL, err));
        if (i > 0 && splits->count - 1 != s->rows) return sum_refuse("as many rows in each column", err);
        s->rows = splits->count - 1;
        s->column[i] =
            (lookup){.table = {table->data, table->shape.dims[0], table->shape.dims[1], combiner, .max_norm = 0},
                     .ids = ids->data,
                     .splits = splits->data};
    }
    return HR_OK;
}

static bool sum_same_width(const lookup_sum *s)
{
    for (int i = 1; i < s->columns; i++)
        if (s->column[i].table.dimension != s->column[0].table.dimension) return false;
    return true;
}

/* ---- forward ---- */

typedef struct summing {
    lookup_sum of;
    int parts;
    const int64_t *order; /* which part comes when: lookups before dense values; NULL: in this order */
    const hr_tensor *const *dense;
    int64_t width;
    float *row, *out; /* row: as long as out, for a lookup before it is added */
    atomic_bool failed;
} summing;

static void sum_add(float *restrict to, const float *restrict from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

static hr_status sum_rows(summing *s, int64_t first, int64_t last, hr_error *err)
{
    const int64_t at = first * s->width, count = (last - first) * s->width;
    for (int i = 0; i < s->parts; i++) {
        const int part = (int)(s->order ? s->order[i] : i), dense = part - s->of.columns;
        const float *values = dense < 0 ? s->row + at : (const float *)s->dense[dense]->data + at;
        if (dense < 0) {
            const lookup *l = &s->of.column[part];
            float *to = i == 0 ? s->out + at : s->row + at;
            HR_TRY(hr_combine_rows(&l->table, l->ids, NULL, l->splits + first, last - first, to, err));
        }
        if (i > 0)
            sum_add(s->out + at, values, count);
        else if (dense >= 0)
            memcpy(s->out + at, values, (size_t)count * sizeof *values);
    }
    return HR_OK;
}

static void sum_piece(int64_t first, int64_t last, void *user)
{
    summing *s = user;
    if (sum_rows(s, first, last, NULL) != HR_OK) atomic_store_explicit(&s->failed, true, memory_order_relaxed);
}

/* "order" lists the parts in the order of their additions. */
static hr_status sum_take_order(hr_kernel *k, summing *s, hr_error *err)
{
    const hr_attr *order = hr_node_attr(k->node, "order");
    if (order->count == 0) return HR_OK;
    bool *seen;
    HR_TRY(hr_kernel_array(k, s->parts, sizeof *seen, "the parts of a sum", &seen, err));
    memset(seen, 0, (size_t)s->parts * sizeof *seen);
    for (int i = 0; i < order->count; i++) {
        const int64_t part = order->ints[i];
        if (order->count != s->parts || part < 0 || part >= s->parts || seen[part])
            return sum_refuse("each part once in the order", err);
        seen[part] = true;
    }
    s->order = order->ints;
    return HR_OK;
}

static hr_status lookup_sum_compute(hr_kernel *k, hr_error *err)
{
    summing s = {.failed = false};
    hr_tensor *out;
    int64_t ids = 0, values;
    HR_TRY(sum_take_columns(k, &s.of, err));
    const int columns = s.of.columns;
    const int64_t rows = s.of.rows;
    s.parts = columns + (int)hr_attr_int(k->node, "D");
    s.dense = k->input + 3 * columns;
    s.width = s.of.column[0].table.dimension;
    HR_TRY(sum_take_order(k, &s, err));
    if (!sum_same_width(&s.of)) return sum_refuse("tables whose rows are as long", err);
    for (int i = 0; i < s.parts - columns; i++)
        if (!hr_shape_equal(s.dense[i]->shape, HR_SHAPE(rows, s.width)))
            return sum_refuse("dense values of the shape of the sum", err);
    HR_TRY(hr_dim_mul(rows, s.width, &values, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(rows, s.width), &out, err));
    HR_TRY(hr_kernel_array(k, values, sizeof *s.row, "the rows of a sum", &s.row, err));
    s.out = out->data;
    if (values == 0) return HR_OK;
    for (int i = 0; i < columns; i++) ids += k->input[columns + i]->count;
    hr_kernel_parallel(k, rows, (double)ids / (double)rows * ((double)s.width * .06 + 1.5), sum_piece, &s);
    return s.failed ? sum_rows(&s, 0, rows, err) : HR_OK; /* for the first error, in order */
}

static hr_status lookup_sum_shape(hr_infer *s, hr_error *err)
{
    const int columns = (int)hr_attr_int(s->node, "N");
    int64_t rows = -1, width = -1;
    for (int i = 0; i < columns; i++) {
        hr_handle_info table;
        const hr_shape splits = s->input[2 * columns + i];
        if (splits.rank == 1 && splits.dims[0] > 0) rows = splits.dims[0] - 1;
        if (!hr_handle_of(hr_node_input(s->node, i), &table) || table.shape.rank < 0) continue;
        if (table.shape.rank != 2 || table.dtype != HR_FLOAT)
            return hr_infer_refuse(s, err, "tables of float32 [buckets, dim]");
        if (table.shape.dims[1] >= 0) width = table.shape.dims[1];
    }
    s->output[0] = HR_SHAPE(rows, width);
    return HR_OK;
}

/* ---- the gradients ---- */

/* Columns share memory in which rows are found, a group of them one part of it. Rows of a table of up to DIRECT times
 * as many rows as a hash table has slots are found by themselves. */
enum { GROUP = 8, MAX_GROUPS = 32, DIRECT = 8, FEWEST_SLOTS = 16 };

typedef struct sum_slices {
    hr_distinct_rows found; /* `rows`: the indices of the slices */
    int64_t ids;
    size_t slots;
    float *sums; /* the values */
    int32_t *place;
} sum_slices;

typedef struct sum_gradients {
    lookup_sum of;
    const float *grad;
    sum_slices *slices; /* by column */
    int groups;
    int32_t *slot; /* zeros; `slots` of each group */
    size_t slots;
    atomic_bool failed;
} sum_gradients;

/* As lookup_find_places and lookup_sum_rows: each row has one id, and a width of 1. */
static hr_status slices_of_single(const lookup *l, int64_t rows, const float *grad, sum_slices *s, hr_error *err)
{
    hr_distinct_rows found = s->found; /* in registers: nothing that is written lies in it */
    float *sums = s->sums;
    int64_t r = 0;
    memset(sums, 0, (size_t)rows * sizeof *sums);
    for (; r < rows && l->ids[r] < l->table.buckets; r++) sums[hr_distinct_rows_find(&found, l->ids[r])] += grad[r];
    s->found.count = found.count; /* also of a column that is refused: their slots are to be cleared */
    return r < rows ? lookup_refuse(l, l->ids[r], err) : HR_OK;
}

static hr_status slices_of_column(const lookup *l, int64_t rows, const float *grad, sum_slices *s, hr_error *err)
{
    const int64_t width = l->table.dimension;
    const bool one = lookup_is_one_a_row(l, s->ids, rows);
    if (one && width == 1) {
        HR_TRY(slices_of_single(l, rows, grad, s, err));
    } else {
        HR_TRY(lookup_find_places(l, rows, &s->found, s->place, err));
        memset(s->sums, 0, (size_t)(s->found.count * width) * sizeof *s->sums);
        for (int64_t r = 0; r < rows && !one; r++) lookup_spread_row(l, r, grad, s->place, s->sums);
        if (one) lookup_sum_rows(rows, width, grad, s->place, s->sums);
    }
    /* Each gradient is then a slice, as it is: the sum of 0 and -0 would be another. */
    if (one && s->found.count == rows) memcpy(s->sums, grad, (size_t)(rows * width) * sizeof *grad);
    return HR_OK;
}

/* `slot` is zeros before and after. */
static hr_status slices_find(sum_gradients *g, int column, int32_t *slot, hr_error *err)
{
    sum_slices *s = &g->slices[column];
    s->found.slot = slot;
    s->found.count = 0;
    const hr_status st = slices_of_column(&g->of.column[column], g->of.rows, g->grad, s, err);
    if (s->found.mask)
        memset(slot, 0, s->slots * sizeof *slot);
    else
        for (int64_t i = 0; i < s->found.count; i++) slot[s->found.rows[i]] = 0;
    return st;
}

/* Item: a group of columns. */
static void slices_of_groups(int64_t first, int64_t last, void *user)
{
    sum_gradients *g = user;
    for (int64_t group = first; group < last; group++)
        for (int i = (int)group; i < g->of.columns; i += g->groups)
            if (slices_find(g, i, g->slot + (size_t)group * g->slots, NULL) != HR_OK)
                atomic_store_explicit(&g->failed, true, memory_order_relaxed);
}

/* Where rows of a column are found. */
static hr_status slices_choose(const lookup *l, sum_slices *s, hr_error *err)
{
    size_t slots = FEWEST_SLOTS;
    if (s->ids >= INT32_MAX / 8)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.rows", "expected fewer than %d rows in a gradient, got %lld",
                       INT32_MAX / 8, (long long)s->ids);
    while (slots < 2 * (uint64_t)(s->ids + 1)) slots *= 2;
    const bool direct = (uint64_t)l->table.buckets <= DIRECT * slots;
    s->found.mask = direct ? 0 : (uint32_t)(slots - 1);
    s->slots = direct ? (size_t)l->table.buckets : slots;
    return HR_OK;
}

/* A multiple of a cache line of floats. */
static int64_t in_lines(int64_t count) { return (count + 15) / 16 * 16; }

static hr_status gradients_take_scratch(hr_kernel *k, sum_gradients *g, hr_error *err)
{
    int32_t *place;
    int64_t places = 0, slots;
    for (int i = 0; i < g->of.columns; i++) {
        HR_TRY(slices_choose(&g->of.column[i], &g->slices[i], err));
        if (g->slices[i].slots > g->slots) g->slots = g->slices[i].slots;
        HR_TRY(hr_dim_add(places, g->slices[i].ids, &places, err));
    }
    g->groups = (g->of.columns + GROUP - 1) / GROUP;
    if (g->groups > MAX_GROUPS) g->groups = MAX_GROUPS;
    g->slots = (size_t)in_lines((int64_t)g->slots);
    HR_TRY(hr_dim_mul((int64_t)g->slots, g->groups, &slots, err));
    HR_TRY(hr_kernel_array(k, slots, sizeof *g->slot, "the rows of a gradient", &g->slot, err));
    HR_TRY(hr_kernel_array(k, places, sizeof *place, "the places of ids", &place, err));
    memset(g->slot, 0, (size_t)slots * sizeof *g->slot);
    for (int i = 0; i < g->of.columns; place += g->slices[i++].ids) g->slices[i].place = place;
    return HR_OK;
}

/* All values lie in one buffer, and all indices in another. */
static hr_status gradients_take_buffers(hr_kernel *k, sum_gradients *g, hr_buffer **values, hr_buffer **indices,
                                        hr_error *err)
{
    int64_t floats = 0, rows = 0, more;
    for (int i = 0; i < g->of.columns; i++) {
        HR_TRY(hr_dim_mul(g->slices[i].ids + 1, g->of.column[i].table.dimension, &more, err));
        HR_TRY(hr_dim_add(floats, in_lines(more), &floats, err));
        HR_TRY(hr_dim_add(rows, in_lines(g->slices[i].ids + 1), &rows, err));
    }
    HR_TRY(hr_dim_mul(floats, sizeof(float), &more, err));
    *values = hr_kernel_buffer(k, (size_t)more);
    HR_TRY(hr_dim_mul(rows, sizeof(int64_t), &more, err));
    *indices = *values ? hr_kernel_buffer(k, (size_t)more) : NULL;
    if (!*indices) return hr_no_memory(err, "a gradient");
    float *value = hr_buffer_data(*values);
    int64_t *index = hr_buffer_data(*indices);
    for (int i = 0; i < g->of.columns; i++) {
        g->slices[i].sums = value;
        g->slices[i].found.rows = index;
        value += in_lines((g->slices[i].ids + 1) * g->of.column[i].table.dimension);
        index += in_lines(g->slices[i].ids + 1);
    }
    return HR_OK;
}

static hr_status gradients_find(hr_kernel *k, sum_gradients *g, hr_error *err)
{
    int64_t ids = 0;
    for (int i = 0; i < g->of.columns; i++) ids += g->slices[i].ids;
    hr_kernel_parallel(k, g->groups, (double)ids / g->groups * 3, slices_of_groups, g);
    for (int i = 0; g->failed && i < g->of.columns; i++) { /* for the first error, in order */
        memset(g->slot, 0, g->slots * sizeof *g->slot);
        HR_TRY(slices_find(g, i, g->slot, err));
    }
    return HR_OK;
}

static void give_slice(hr_kernel *k, int output, hr_dtype dtype, hr_shape shape, void *data, hr_buffer *buffer)
{
    hr_tensor slice = hr_tensor_of(dtype, shape, data);
    slice.buffer = hr_buffer_ref(buffer);
    hr_kernel_give(k, output, slice);
}

static hr_status lookup_sum_grad_compute(hr_kernel *k, hr_error *err)
{
    sum_gradients g = {.failed = false};
    hr_buffer *values = NULL, *indices = NULL;
    HR_TRY(sum_take_columns(k, &g.of, err));
    const int columns = g.of.columns;
    const hr_tensor *grad = k->input[3 * columns];
    g.grad = grad->data;
    HR_TRY(hr_kernel_array(k, columns, sizeof *g.slices, "the columns of a gradient", &g.slices, err));
    memset(g.slices, 0, (size_t)columns * sizeof *g.slices);
    for (int i = 0; i < columns; i++) {
        int64_t expected;
        HR_TRY(hr_dim_mul(g.of.rows, g.of.column[i].table.dimension, &expected, err));
        if (grad->count != expected) return sum_refuse("a gradient for each row", err);
        g.slices[i].ids = k->input[columns + i]->count;
    }
    HR_TRY(gradients_take_scratch(k, &g, err));
    hr_status st = gradients_take_buffers(k, &g, &values, &indices, err);
    if (st == HR_OK) st = gradients_find(k, &g, err);
    for (int i = 0; st == HR_OK && i < columns; i++) {
        const sum_slices *s = &g.slices[i];
        const int64_t count = s->found.count;
        give_slice(k, i, HR_FLOAT, HR_SHAPE(count, g.of.column[i].table.dimension), s->sums, values);
        give_slice(k, columns + i, HR_INT64, HR_SHAPE(count), s->found.rows, indices);
    }
    hr_buffer_unref(values);
    hr_buffer_unref(indices);
    return st;
}

static hr_status lookup_sum_grad_shape(hr_infer *s, hr_error *err)
{
    const int columns = (int)hr_attr_int(s->node, "N");
    for (int i = 0; i < columns; i++) {
        hr_handle_info table;
        const bool known = hr_handle_of(hr_node_input(s->node, i), &table) && table.shape.rank >= 0;
        if (known && (table.shape.rank != 2 || table.dtype != HR_FLOAT))
            return hr_infer_refuse(s, err, "tables of float32 [buckets, dim]");
        s->output[i] = HR_SHAPE(-1, known ? table.shape.dims[1] : -1);
        s->output[columns + i] = HR_SHAPE(-1);
    }
    return HR_OK;
}

#define SUM_COMBINER "combiner:string in {mean,sum,sqrtn}=mean"

const hr_graph_op hr_graph_ops_lookup_sum_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>LookupSum",
        .inputs = "tables:N*resource, ids:N*int64, row_splits:N*int32, dense:D*float",
        .outputs = "sum:float",
        .attrs = "N:int>=1; D:int>=0; " SUM_COMBINER "; order:list(int)=[]",
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .shape = lookup_sum_shape,
        .compute = lookup_sum_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>LookupSumGrad",
        .inputs = "tables:N*resource, ids:N*int64, row_splits:N*int32, grad:float",
        .outputs = "values:N*float, indices:N*int64",
        .attrs = "N:int>=1; " SUM_COMBINER,
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .shape = lookup_sum_grad_shape,
        .compute = lookup_sum_grad_compute,
    },
    HR_GRAPH_OPS_END,
};
