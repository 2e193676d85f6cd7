/* See lookup_layer.h. */
#include "train/ops/nn/lookup_layer.h"
#include <stdatomic.h>
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
    int32_t all = 0; /* of the numbers of ids, which are not negative: 0 and 1 if no row has more */
    for (int64_t r = 0; r < y->rows; r++) all |= c->l.splits[r + 1] - c->l.splits[r];
    c->single = all <= 1;
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

/* `place`: of the column, to be filled. */
static hr_status column_find(const lookup_layer *y, lookup_column *c, int32_t *place, hr_error *err)
{
    const int64_t rows = y->rows;
    const lookup *l = &c->l;
    c->place = place;
    if (!c->single) {
        HR_TRY(lookup_find_places(l, rows, &c->found, place, err));
        return hr_combine_rows(&l->table, l->ids, NULL, l->splits, rows, c->factors, err);
    }
    const int64_t width = lookup_column_width(c);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t id = l->splits[r] < l->splits[r + 1] ? l->ids[l->splits[r]] : -1;
        if (id >= l->table.buckets) return lookup_refuse(l, id, err);
        if (id >= 0) __builtin_prefetch(l->table.table + id * width);
        /* As lookup_find_places: a row without an id finds row 0. */
        if (id >= 0) {
            place[r] = (int32_t)hr_distinct_rows_find(&c->found, id);
        } else {
            place[r] = -1;
            if (l->table.buckets > 0) hr_distinct_rows_find(&c->found, 0);
        }
    }
    for (int64_t u = 0; u < c->found.count; u++)
        for (int64_t j = 0; j < width; j++) c->factors[u * width + j] = l->table.table[c->found.rows[u] * width + j];
    return HR_OK;
}

/* How many places a column has. */
static int64_t column_places(const hr_kernel *k, const lookup_layer *y, int i)
{
    return y->column[i].single ? y->rows : k->input[y->columns + i]->count;
}

/* Where those of each column begin, and how many there are. */
static hr_status layer_count_places(hr_kernel *k, const lookup_layer *y, int64_t **begin, hr_error *err)
{
    HR_TRY(hr_kernel_array(k, y->columns + 1, sizeof **begin, "the places of ids", begin, err));
    (*begin)[0] = 0;
    for (int i = 0; i < y->columns; i++) HR_TRY(hr_dim_add((*begin)[i], column_places(k, y, i), &(*begin)[i + 1], err));
    return HR_OK;
}

typedef struct finding {
    lookup_layer *y;
    int32_t *place;       /* of all columns */
    const int64_t *begin; /* of each of them */
    atomic_bool failed;
} finding;

static void find_columns(int64_t first, int64_t last, void *user)
{
    finding *f = user;
    for (int64_t i = first; i < last; i++)
        if (column_find(f->y, &f->y->column[i], f->place + f->begin[i], NULL) != HR_OK)
            atomic_store_explicit(&f->failed, true, memory_order_relaxed);
}

static hr_status column_begin(hr_kernel *k, const lookup_layer *y, int i, hr_error *err)
{
    lookup_column *c = &y->column[i];
    return hr_distinct_rows_begin(k, k->input[y->columns + i]->count + 1, c->l.table.buckets, &c->found, err);
}

/* Memory for what is multiplied of each column; `distinct`: also of those whose distinct ids are. And zeros. */
static hr_status layer_take_factors(hr_kernel *k, lookup_layer *y, bool distinct, hr_error *err)
{
    int64_t widest = 0, all = 0, more;
    float *values, *zeros;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < y->columns; i++) {
            lookup_column *c = &y->column[i];
            const int64_t width = lookup_column_width(c);
            const int64_t most = !c->single ? y->rows : distinct ? k->input[y->columns + i]->count + 1 : 0;
            if (turn == 1) {
                c->factors = values;
                values += most * width;
                continue;
            }
            HR_TRY(hr_dim_mul(most, width, &more, err));
            HR_TRY(hr_dim_add(all, more, &all, err));
            widest = width > widest ? width : widest;
        }
        if (turn == 0) HR_TRY(hr_kernel_array(k, all, sizeof *values, "rows of tables", &values, err));
    }
    HR_TRY(hr_kernel_array(k, widest, sizeof *zeros, "zeros", &zeros, err));
    memset(zeros, 0, (size_t)widest * sizeof *zeros);
    y->zeros = zeros;
    return HR_OK;
}

/* Where at least a quarter of the rows is saved. */
static void layer_choose(lookup_layer *y)
{
    for (int i = 0; i < y->columns; i++) {
        lookup_column *c = &y->column[i];
        c->once = c->single && c->found.count <= y->rows - y->rows / 4;
    }
}

static hr_status layer_give_ids(hr_kernel *k, const lookup_layer *y, hr_error *err)
{
    int64_t all = 0;
    hr_tensor *distinct, *counts;
    for (int i = 0; i < y->columns; i++) HR_TRY(hr_dim_add(all, y->column[i].found.count, &all, err));
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(all), &distinct, err));
    HR_TRY(hr_kernel_output(k, 3, HR_SHAPE(y->columns), &counts, err));
    int64_t *to = distinct->data;
    for (int i = 0; i < y->columns; i++) {
        const hr_distinct_rows *found = &y->column[i].found;
        ((int64_t *)counts->data)[i] = found->count;
        if (found->count) memcpy(to, found->rows, (size_t)found->count * sizeof *to);
        to += found->count;
    }
    return HR_OK;
}

hr_status hr__layer_find_ids(hr_kernel *k, lookup_layer *y, hr_error *err)
{
    finding f = {.y = y};
    int64_t ids = 0, *begin;
    hr_tensor *places;
    HR_TRY(layer_count_places(k, y, &begin, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(begin[y->columns]), &places, err));
    HR_TRY(layer_take_factors(k, y, true, err));
    for (int i = 0; i < y->columns; i++) HR_TRY(column_begin(k, y, i, err));
    for (int i = 0; i < y->columns; i++) ids += k->input[y->columns + i]->count;
    f.place = places->data;
    f.begin = begin;
    hr_kernel_parallel(k, y->columns, 8 * (double)ids / y->columns, find_columns, &f);
    for (int i = 0; i < y->columns && f.failed; i++) { /* for the first error, in order */
        HR_TRY(column_begin(k, y, i, err));
        HR_TRY(column_find(y, &y->column[i], f.place + begin[i], err));
    }
    layer_choose(y);
    return layer_give_ids(k, y, err);
}

/* ---- the same, told to the gradient ---- */

/* Whether all are from 0 on and below `end`: else a difference is negative. */
static bool ids_lie_in(const int64_t *id, int64_t count, int64_t end)
{
    uint64_t all = 0;
    for (int64_t i = 0; i < count; i++) all |= (uint64_t)id[i] | ((uint64_t)end - 1 - (uint64_t)id[i]);
    return all >> 63 == 0;
}

/* From -1 on. */
static bool places_lie_in(const int32_t *place, int64_t count, int32_t end)
{
    int32_t all = 0;
    for (int64_t i = 0; i < count; i++) all |= (place[i] < -1) | (place[i] >= end);
    return all == 0;
}

/* Item: a column. */
static void combine_columns(int64_t first, int64_t last, void *user)
{
    finding *f = user;
    for (int64_t i = first; i < last; i++) {
        const lookup_column *c = &f->y->column[i];
        if (!c->single && hr_combine_rows(&c->l.table, c->l.ids, NULL, c->l.splits, f->y->rows, c->factors, NULL))
            atomic_store_explicit(&f->failed, true, memory_order_relaxed);
    }
}

hr_status hr__layer_take_ids(hr_kernel *k, lookup_layer *y, int first, hr_error *err)
{
    const hr_tensor *places = k->input[first], *distinct = k->input[first + 1], *counts = k->input[first + 2];
    finding f = {.y = y};
    int64_t *begin, at = 0, several = 0; /* ids of columns that are not single */
    HR_TRY(layer_count_places(k, y, &begin, err));
    if (places->count != begin[y->columns] || counts->count != y->columns)
        return hr__layer_refuse("a place for each id", err);
    for (int i = 0; i < y->columns; i++) {
        lookup_column *c = &y->column[i];
        const int64_t count = ((const int64_t *)counts->data)[i], own = k->input[y->columns + i]->count;
        if (count < 0 || count > own + 1 || count > distinct->count - at || count > INT32_MAX)
            return hr__layer_refuse("the distinct ids of each column", err);
        c->place = (const int32_t *)places->data + begin[i];
        c->found.rows = (int64_t *)distinct->data + at;
        c->found.count = count;
        if (!ids_lie_in(c->found.rows, count, c->l.table.buckets) ||
            !places_lie_in(c->place, begin[i + 1] - begin[i], (int32_t)count))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected ids below %lld, and places of them",
                           (long long)c->l.table.buckets);
        at += count;
        several += c->single ? 0 : own;
    }
    HR_TRY(layer_take_factors(k, y, false, err));
    if (several > 0) hr_kernel_parallel(k, y->columns, 8 * (double)several / y->columns, combine_columns, &f);
    for (int i = 0; i < y->columns && f.failed; i++) { /* for the first error, in order */
        const lookup_column *c = &y->column[i];
        if (!c->single) HR_TRY(hr_combine_rows(&c->l.table, c->l.ids, NULL, c->l.splits, y->rows, c->factors, err));
    }
    layer_choose(y);
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
