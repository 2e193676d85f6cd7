/* See lookup_layer.h. */
#include "train/ops/nn/lookup_layer.h"
#include <string.h>

/* ---- what is multiplied ---- */

hr_status hr__layer_refuse(const char *expected, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %s", expected);
}

static hr_combiner layer_combiner(hr_node node)
{
    const char *by = hr_attr_string(node, "combiner").data; /* one of the words of the signature */
    return *by == 'm' ? HR_MEAN : strcmp(by, "sum") == 0 ? HR_SUM : HR_SQRTN;
}

static hr_status layer_take_column(hr_kernel *k, lookup_layer *y, int i, hr_error *err)
{
    const hr_tensor *table, *ids = k->input[y->columns + i], *splits = k->input[2 * y->columns + i];
    lookup_column *c = &y->column[i];
    HR_TRY(hr_kernel_borrow(k, i, &table, err));
    if (table->shape.rank != 2 || table->dtype != HR_FLOAT)
        return hr__layer_refuse("tables of float32 [buckets, dim]", err);
    HR_TRY(hr_check_splits(ids, splits, NULL, err));
    *c = (lookup_column){.l = {.table = {table->data, table->shape.dims[0], table->shape.dims[1],
                                         layer_combiner(k->node), .max_norm = 0},
                               .ids = ids->data,
                               .splits = splits->data}};
    if (i > 0 && splits->count - 1 != y->rows) return hr__layer_refuse("as many rows in each column", err);
    y->rows = splits->count - 1;
    int32_t most = 0;
    for (int64_t r = 0; r < y->rows; r++) {
        const int32_t n = c->l.splits[r + 1] - c->l.splits[r];
        most = n > most ? n : most;
    }
    c->single = most <= 1;
    return HR_OK;
}

static int64_t part_width(const hr_kernel *k, const lookup_layer *y, int part)
{
    if (part < y->columns) return lookup_column_width(&y->column[part]);
    return k->input[2 * y->columns + part]->shape.dims[1];
}

/* Where each part begins in the weights: "order" lists them, lookups before dense values; [] is that order. */
static hr_status layer_place_parts(hr_kernel *k, lookup_layer *y, hr_error *err)
{
    const hr_attr *order = hr_node_attr(k->node, "order");
    int64_t *at;
    HR_TRY(hr_kernel_array(k, y->parts, sizeof *at, "the parts of a layer", &at, err));
    for (int i = 0; i < y->parts; i++) at[i] = -1;
    if (order->count != 0 && order->count != y->parts) return hr__layer_refuse("each part once in the order", err);
    y->inner = y->dense_width = 0;
    for (int i = 0; i < y->parts; i++) {
        const int64_t part = order->count ? order->ints[i] : i;
        if (part < 0 || part >= y->parts || at[part] >= 0) return hr__layer_refuse("each part once in the order", err);
        at[part] = y->inner;
        HR_TRY(hr_dim_add(y->inner, part_width(k, y, (int)part), &y->inner, err));
        if (part >= y->columns) y->dense_width += part_width(k, y, (int)part);
    }
    for (int i = 0; i < y->columns; i++) y->column[i].at = at[i];
    HR_TRY(hr_kernel_array(k, y->dense_width, sizeof *y->dense_at, "the parts of a layer", &y->dense_at, err));
    for (int64_t i = y->columns, to = 0; i < y->parts; i++)
        for (int64_t j = 0; j < part_width(k, y, (int)i); j++) y->dense_at[to++] = at[i] + j;
    return HR_OK;
}

/* The dense values side by side: as they are if there is one part. */
static hr_status layer_join_dense(hr_kernel *k, lookup_layer *y, hr_error *err)
{
    const int first = 3 * y->columns, parts = y->parts - y->columns;
    if (parts == 1) y->dense = k->input[first]->data;
    if (parts < 2) return HR_OK;
    float *to;
    int64_t count;
    HR_TRY(hr_dim_mul(y->rows, y->dense_width, &count, err));
    HR_TRY(hr_kernel_array(k, count, sizeof *to, "dense values", &to, err));
    y->dense = to;
    for (int i = 0; i < parts; i++) {
        const int64_t width = k->input[first + i]->shape.dims[1];
        const float *from = k->input[first + i]->data;
        for (int64_t r = 0; r < y->rows; r++)
            for (int64_t j = 0; j < width; j++) to[r * y->dense_width + j] = from[r * width + j];
        to += width;
    }
    return HR_OK;
}

hr_status hr__layer_take_inputs(hr_kernel *k, lookup_layer *y, hr_error *err)
{
    *y = (lookup_layer){.columns = (int)hr_attr_int(k->node, "N")};
    y->parts = y->columns + (int)hr_attr_int(k->node, "D");
    HR_TRY(hr_kernel_array(k, y->columns, sizeof *y->column, "the columns of a layer", &y->column, err));
    for (int i = 0; i < y->columns; i++) HR_TRY(layer_take_column(k, y, i, err));
    for (int i = y->columns; i < y->parts; i++) {
        const hr_shape shape = k->input[2 * y->columns + i]->shape;
        if (shape.rank != 2 || shape.dims[0] != y->rows) return hr__layer_refuse("as many rows in each part", err);
    }
    const hr_tensor *weights = k->input[2 * y->columns + y->parts];
    HR_TRY(layer_place_parts(k, y, err));
    if (weights->shape.rank != 2 || weights->shape.dims[0] != y->inner)
        return hr__layer_refuse("weights with a row for each value of a row", err);
    y->weights = weights->data;
    y->units = weights->shape.dims[1];
    y->bfloat16 = hr_kernel_products(k) == HR_PRODUCTS_BFLOAT16;
    return layer_join_dense(k, y, err);
}

/* ---- which ids there are ---- */

static hr_status column_find(const lookup_layer *y, lookup_column *c, hr_error *err)
{
    const int64_t rows = y->rows;
    const lookup *l = &c->l;
    if (!c->single) {
        HR_TRY(lookup_find_places(l, rows, &c->found, c->place, err));
        return hr_combine_rows(&l->table, l->ids, NULL, l->splits, rows, c->factors, err);
    }
    const int64_t width = lookup_column_width(c);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t id = l->splits[r] < l->splits[r + 1] ? l->ids[l->splits[r]] : -1;
        if (id >= l->table.buckets) return lookup_refuse(l, id, err);
        if (id >= 0) __builtin_prefetch(l->table.table + id * width);
        /* As lookup_find_places: a row without an id finds row 0. */
        if (id >= 0) {
            c->place[r] = (int32_t)hr_distinct_rows_find(&c->found, id);
        } else {
            c->place[r] = -1;
            if (l->table.buckets > 0) hr_distinct_rows_find(&c->found, 0);
        }
    }
    for (int64_t u = 0; u < c->found.count; u++)
        for (int64_t j = 0; j < width; j++) c->factors[u * width + j] = l->table.table[c->found.rows[u] * width + j];
    return HR_OK;
}

static void find_columns(int64_t first, int64_t last, void *user)
{
    lookup_layer *y = user;
    for (int64_t i = first; i < last; i++)
        if (column_find(y, &y->column[i], NULL) != HR_OK) atomic_store_explicit(&y->failed, true, memory_order_relaxed);
}

/* Memory for what is found of each column, and zeros. */
static hr_status layer_take_memory(hr_kernel *k, lookup_layer *y, hr_error *err)
{
    int64_t widest = 0, places = 0, factors = 0, more;
    int32_t *place;
    float *values, *zeros;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < y->columns; i++) {
            lookup_column *c = &y->column[i];
            const int64_t ids = k->input[y->columns + i]->count, width = lookup_column_width(c);
            if (turn == 1) {
                HR_TRY(hr_distinct_rows_begin(k, ids + 1, c->l.table.buckets, &c->found, err));
                c->place = place;
                c->factors = values;
                place += ids > y->rows ? ids : y->rows;
                values += (c->single ? ids + 1 : y->rows) * width;
                continue;
            }
            HR_TRY(hr_dim_add(places, ids > y->rows ? ids : y->rows, &places, err));
            HR_TRY(hr_dim_mul(c->single ? ids + 1 : y->rows, width, &more, err));
            HR_TRY(hr_dim_add(factors, more, &factors, err));
            widest = width > widest ? width : widest;
        }
        if (turn == 1) break;
        HR_TRY(hr_kernel_array(k, places, sizeof *place, "the places of ids", &place, err));
        HR_TRY(hr_kernel_array(k, factors, sizeof *values, "rows of tables", &values, err));
    }
    HR_TRY(hr_kernel_array(k, widest, sizeof *zeros, "zeros", &zeros, err));
    memset(zeros, 0, (size_t)widest * sizeof *zeros);
    y->zeros = zeros;
    return HR_OK;
}

hr_status hr__layer_find_ids(hr_kernel *k, lookup_layer *y, hr_error *err)
{
    int64_t ids = 0;
    HR_TRY(layer_take_memory(k, y, err));
    for (int i = 0; i < y->columns; i++) ids += k->input[y->columns + i]->count;
    hr_kernel_parallel(k, y->columns, 8 * (double)ids / y->columns, find_columns, y);
    for (int i = 0; i < y->columns; i++) { /* where at least a quarter of the rows is saved */
        lookup_column *c = &y->column[i];
        c->once = c->single && c->found.count <= y->rows - y->rows / 4;
    }
    if (!y->failed) return HR_OK;
    for (int i = 0; i < y->columns; i++) { /* for the first error, in order */
        lookup_column *c = &y->column[i];
        HR_TRY(hr_distinct_rows_begin(k, k->input[y->columns + i]->count + 1, c->l.table.buckets, &c->found, err));
        HR_TRY(column_find(y, c, err));
    }
    return HR_OK;
}

/* ---- what is multiplied, rounded ---- */

static void round_rows(const float *from, int64_t rows, int64_t width, uint32_t *to)
{
    for (int64_t r = 0; r < rows; r++) hr__pairs_along(from + r * width, width, to + r * hr__pairs_of(width));
}

/* Item: a column; the last one: the dense values. */
static void round_columns(int64_t first, int64_t last, void *user)
{
    const lookup_layer *y = user;
    for (int64_t i = first; i < last; i++) {
        const lookup_column *c = &y->column[i];
        if (i == y->columns)
            round_rows(y->dense, y->rows, y->dense_width, y->dense_pairs);
        else
            round_rows(c->factors, c->single ? c->found.count : y->rows, lookup_column_width(c), c->pairs);
    }
}

hr_status hr__layer_round(hr_kernel *k, lookup_layer *y, hr_error *err)
{
    int64_t widest = 0, all = 0, more;
    uint32_t *pairs, *zeros;
    for (int i = 0; i <= y->columns; i++) {
        const lookup_column *c = &y->column[i];
        const int64_t width = i < y->columns ? lookup_column_width(c) : y->dense_width;
        HR_TRY(hr_dim_mul(i < y->columns && c->single ? c->found.count : y->rows, hr__pairs_of(width), &more, err));
        HR_TRY(hr_dim_add(all, more, &all, err));
        widest = width > widest ? width : widest;
    }
    HR_TRY(hr_kernel_array(k, all, sizeof *pairs, "rounded rows", &pairs, err));
    HR_TRY(hr_kernel_array(k, hr__pairs_of(widest), sizeof *zeros, "zeros", &zeros, err));
    memset(zeros, 0, (size_t)hr__pairs_of(widest) * sizeof *zeros);
    y->zero_pairs = zeros;
    for (int i = 0; i < y->columns; i++) {
        lookup_column *c = &y->column[i];
        c->pairs = pairs;
        pairs += (c->single ? c->found.count : y->rows) * hr__pairs_of(lookup_column_width(c));
    }
    y->dense_pairs = pairs;
    hr_kernel_parallel(k, y->columns + 1, 0.2 * (double)all / (y->columns + 1), round_columns, y);
    return HR_OK;
}

/* ---- tiles ---- */

void hr__tile_six_rows(const hr__tile *tile, const float *const *a, const float *const *b, int64_t count, int64_t depth,
                       float *out, int64_t out_row, int64_t there, bool add)
{
    float beside[HR__TILE_ROWS * HR__TILE_MAX_WIDTH], *to[HR__TILE_ROWS];
    const size_t bytes = (size_t)tile->width * sizeof *out;
    for (int r = 0; r < HR__TILE_ROWS; r++)
        to[r] = there < HR__TILE_ROWS ? beside + r * tile->width : out + r * out_row;
    for (int r = 0; there < HR__TILE_ROWS && add && r < HR__TILE_ROWS; r++)
        memcpy(to[r], out + (r < there ? r : 0) * out_row, bytes);
    tile->rows(a, b, count, depth, to, add);
    for (int r = 0; there < HR__TILE_ROWS && r < there; r++) memcpy(out + r * out_row, to[r], bytes);
}
