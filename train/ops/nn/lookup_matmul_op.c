/* The first layer over looked-up rows, in one node each way: the product of a matrix, which is never written, whose
 * columns are lookups of tables and dense values side by side, with weights. Passes make it.
 *
 * In a batch the same ids come again and again. The rows of a table that a batch takes are multiplied once for each
 * distinct id, and each row of the batch adds up such products; if few ids of a column come twice, its rows are
 * multiplied one by one, which is known from the ids alone, as are few rows. A row's sum has the dense values first,
 * then the columns that are multiplied row by row, then the others; of few rows all are in the order of the weights.
 *
 * The gradient of such a column adds up the rows of gradients that belong to one id before it multiplies them, by
 * leaves of 128 rows of the batch; of all columns leaves are added up by a binary tree. So nothing depends on threads. */
#include "train/ops/nn/lookups.h"
#include "train/ops/tiles.h"
#include <stdatomic.h>
#include <string.h>

enum {
    SIX = HR__TILE_ROWS,
    MAX_WIDTH = HR__TILE_MAX_WIDTH,
    TOGETHER = 32, /* columns that are multiplied by row at once */
    LEAF = 128,    /* rows */
    CHUNK = 640,   /* products of so many ids stay in the second-level cache */
    FEW_ROWS = 25, /* for fewer, weights are not packed */
};

/* A lookup. */
typedef struct column {
    lookup l;
    int64_t at;  /* its first row of the weights */
    bool single; /* no row has two ids */
    bool once;   /* it is multiplied once for each distinct id, not row by row */
    hr_distinct_rows found;
    int32_t *place;     /* of the id of each row among the distinct ones, -1: none; of all ids if it is not `single` */
    float *factors;     /* what is multiplied: of each distinct id the row of the table; not single: of each row */
    int64_t product_at; /* once: its first product, of all columns' */
} column;

typedef struct layer {
    int columns, parts;
    int64_t rows, inner, units;
    column *column;
    const float *weights;
    const float *dense; /* all dense values side by side */
    int64_t dense_width;
    int64_t *dense_at; /* the row of the weights of each of them */
    const float *zeros;
    atomic_bool failed;
} layer;

static int64_t column_width(const column *c) { return c->l.table.dimension; }

/* The row of a batch as it is multiplied. */
static const float *column_row(const layer *y, const column *c, int64_t r)
{
    const int64_t width = column_width(c);
    if (!c->single) return c->factors + r * width;
    return c->place[r] < 0 ? y->zeros : c->factors + c->place[r] * width;
}

/* ---- what is multiplied ---- */

static hr_status layer_refuse(const char *expected, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %s", expected);
}

static hr_combiner layer_combiner(hr_node node)
{
    const char *by = hr_attr_string(node, "combiner").data; /* one of the words of the signature */
    return *by == 'm' ? HR_MEAN : strcmp(by, "sum") == 0 ? HR_SUM : HR_SQRTN;
}

static hr_status layer_take_column(hr_kernel *k, layer *y, int i, hr_error *err)
{
    const hr_tensor *table, *ids = k->input[y->columns + i], *splits = k->input[2 * y->columns + i];
    column *c = &y->column[i];
    HR_TRY(hr_kernel_borrow(k, i, &table, err));
    if (table->shape.rank != 2 || table->dtype != HR_FLOAT)
        return layer_refuse("tables of float32 [buckets, dim]", err);
    HR_TRY(hr_check_splits(ids, splits, NULL, err));
    *c = (column){.l = {.table = {table->data, table->shape.dims[0], table->shape.dims[1], layer_combiner(k->node),
                                  .max_norm = 0},
                        .ids = ids->data,
                        .splits = splits->data}};
    if (i > 0 && splits->count - 1 != y->rows) return layer_refuse("as many rows in each column", err);
    y->rows = splits->count - 1;
    int32_t most = 0;
    for (int64_t r = 0; r < y->rows; r++) {
        const int32_t n = c->l.splits[r + 1] - c->l.splits[r];
        most = n > most ? n : most;
    }
    c->single = most <= 1;
    return HR_OK;
}

static int64_t part_width(const hr_kernel *k, const layer *y, int part)
{
    if (part < y->columns) return column_width(&y->column[part]);
    return k->input[2 * y->columns + part]->shape.dims[1];
}

/* Where each part begins in the weights: "order" lists them, lookups before dense values; [] is that order. */
static hr_status layer_place_parts(hr_kernel *k, layer *y, hr_error *err)
{
    const hr_attr *order = hr_node_attr(k->node, "order");
    int64_t *at;
    HR_TRY(hr_kernel_array(k, y->parts, sizeof *at, "the parts of a layer", &at, err));
    for (int i = 0; i < y->parts; i++) at[i] = -1;
    if (order->count != 0 && order->count != y->parts) return layer_refuse("each part once in the order", err);
    y->inner = y->dense_width = 0;
    for (int i = 0; i < y->parts; i++) {
        const int64_t part = order->count ? order->ints[i] : i;
        if (part < 0 || part >= y->parts || at[part] >= 0) return layer_refuse("each part once in the order", err);
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
static hr_status layer_join_dense(hr_kernel *k, layer *y, hr_error *err)
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

static hr_status layer_take_inputs(hr_kernel *k, layer *y, hr_error *err)
{
    *y = (layer){.columns = (int)hr_attr_int(k->node, "N")};
    y->parts = y->columns + (int)hr_attr_int(k->node, "D");
    HR_TRY(hr_kernel_array(k, y->columns, sizeof *y->column, "the columns of a layer", &y->column, err));
    for (int i = 0; i < y->columns; i++) HR_TRY(layer_take_column(k, y, i, err));
    for (int i = y->columns; i < y->parts; i++) {
        const hr_shape shape = k->input[2 * y->columns + i]->shape;
        if (shape.rank != 2 || shape.dims[0] != y->rows) return layer_refuse("as many rows in each part", err);
    }
    const hr_tensor *weights = k->input[2 * y->columns + y->parts];
    HR_TRY(layer_place_parts(k, y, err));
    if (weights->shape.rank != 2 || weights->shape.dims[0] != y->inner)
        return layer_refuse("weights with a row for each value of a row", err);
    y->weights = weights->data;
    y->units = weights->shape.dims[1];
    return layer_join_dense(k, y, err);
}

/* ---- which ids there are ---- */

static hr_status column_find(const layer *y, column *c, hr_error *err)
{
    const int64_t rows = y->rows;
    const lookup *l = &c->l;
    if (!c->single) {
        HR_TRY(lookup_find_places(l, rows, &c->found, c->place, err));
        return hr_combine_rows(&l->table, l->ids, NULL, l->splits, rows, c->factors, err);
    }
    const int64_t width = column_width(c);
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
    layer *y = user;
    for (int64_t i = first; i < last; i++)
        if (column_find(y, &y->column[i], NULL) != HR_OK) atomic_store_explicit(&y->failed, true, memory_order_relaxed);
}

/* Memory for what is found of each column, and zeros. */
static hr_status layer_take_memory(hr_kernel *k, layer *y, hr_error *err)
{
    int64_t widest = 0, places = 0, factors = 0, more;
    int32_t *place;
    float *values, *zeros;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < y->columns; i++) {
            column *c = &y->column[i];
            const int64_t ids = k->input[y->columns + i]->count, width = column_width(c);
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

static hr_status layer_find_ids(hr_kernel *k, layer *y, hr_error *err)
{
    int64_t ids = 0;
    HR_TRY(layer_take_memory(k, y, err));
    for (int i = 0; i < y->columns; i++) ids += k->input[y->columns + i]->count;
    hr_kernel_parallel(k, y->columns, 8 * (double)ids / y->columns, find_columns, y);
    for (int i = 0; i < y->columns; i++) { /* where at least a quarter of the rows is saved */
        column *c = &y->column[i];
        c->once = c->single && c->found.count <= y->rows - y->rows / 4;
    }
    if (!y->failed) return HR_OK;
    for (int i = 0; i < y->columns; i++) { /* for the first error, in order */
        column *c = &y->column[i];
        HR_TRY(hr_distinct_rows_begin(k, k->input[y->columns + i]->count + 1, c->l.table.buckets, &c->found, err));
        HR_TRY(column_find(y, c, err));
    }
    return HR_OK;
}

/* ---- tiles ---- */

/* The widest tile of which there are four side by side, which threads share. */
static const hr__tile *layer_tile(int64_t units)
{
    const hr__tile *all = hr__tiles();
    int i = 0;
    while (i < HR__TILE_WIDTHS - 1 && units < 4 * all[i].width) i++;
    return &all[i];
}

/* Six rows of products, or what is left of them. */
static void tile_rows(const hr__tile *tile, const float *const *a, const float *const *b, int64_t count, int64_t depth,
                      float *out, int64_t out_row, int64_t there, bool add)
{
    float beside[SIX * MAX_WIDTH], *to[SIX];
    const size_t bytes = (size_t)tile->width * sizeof *out;
    for (int r = 0; r < SIX; r++) to[r] = there < SIX ? beside + r * tile->width : out + r * out_row;
    for (int r = 0; there < SIX && add && r < SIX; r++) memcpy(to[r], out + (r < there ? r : 0) * out_row, bytes);
    tile->rows(a, b, count, depth, to, add);
    for (int r = 0; there < SIX && r < there; r++) memcpy(out + r * out_row, to[r], bytes);
}

/* ---- forward ---- */

/* Columns, one after the other, whose products are added up before those of the next ones are made. */
typedef struct chunk {
    int first, end;       /* columns */
    int64_t products;     /* of all distinct ids; one of zeros follows */
    const int32_t *at;    /* of each row, the products that it adds up */
    const int32_t *begin; /* where a row begins in `at` */
} chunk;

typedef struct forward {
    layer y;
    const hr__tile *tile;
    int chunks;
    chunk *chunk;
    float *panels;       /* of each part of the units: its weights, then the products of a chunk */
    int64_t panel_row;   /* floats of a panel */
    float *beside;       /* the last part, if it is narrower than a tile; NULL: it is not */
    const float *turned; /* few rows, in columns */
    int by_row;          /* columns that are multiplied row by row */
    const float **row;   /* of each six rows, by such a column: where they are */
    float *out;
} forward;

/* The weights of the units from `unit` on: those of dense values, then those of columns. */
static void forward_pack(const forward *f, int64_t unit, int64_t there, float *to)
{
    const layer *y = &f->y;
    const int64_t width = f->tile->width;
    if (there < width) memset(to, 0, (size_t)(y->inner * width) * sizeof *to);
    for (int64_t i = 0; i < y->dense_width; i++, to += width)
        memcpy(to, y->weights + y->dense_at[i] * y->units + unit, (size_t)there * sizeof *to);
    for (int i = 0; i < y->columns; i++)
        for (int64_t j = 0; j < column_width(&y->column[i]); j++, to += width)
            memcpy(to, y->weights + (y->column[i].at + j) * y->units + unit, (size_t)there * sizeof *to);
}

static void forward_dense(const forward *f, const float *panel, float *out, int64_t out_row)
{
    const layer *y = &f->y;
    for (int64_t m = 0; m < y->rows; m += SIX) {
        const int64_t there = y->rows - m < SIX ? y->rows - m : SIX;
        const float *a[SIX];
        for (int r = 0; r < SIX; r++) a[r] = y->dense + (m + (r < there ? r : 0)) * y->dense_width;
        tile_rows(f->tile, a, &panel, 1, y->dense_width, out + m * out_row, out_row, there, false);
    }
}

/* `count` columns of one width from the `first` on that are multiplied row by row. */
static void forward_some(const forward *f, int first, int count, int64_t depth, const float *const *panel, float *out,
                         int64_t out_row, bool add)
{
    const layer *y = &f->y;
    const float *const *a = f->row + first * SIX;
    for (int64_t m = 0; m < y->rows; m += SIX, a += f->by_row * SIX)
        tile_rows(f->tile, a, panel, count, depth, out + m * out_row, out_row, y->rows - m < SIX ? y->rows - m : SIX,
                  add);
}

/* `panel`: the weights of the columns. Whether `out` has sums by now. */
static bool forward_by_row(const forward *f, const float *panel, float *out, int64_t out_row, bool add)
{
    const layer *y = &f->y;
    const float *weights[TOGETHER];
    int first = 0, count = 0;
    int64_t depth = 0;
    for (int i = 0; i < y->columns; i++) {
        const column *c = &y->column[i];
        if (!c->once && count > 0 && (count == TOGETHER || depth != column_width(c))) {
            forward_some(f, first, count, depth, weights, out, out_row, add);
            add = true;
            first += count;
            count = 0;
        }
        if (!c->once) {
            depth = column_width(c);
            weights[count++] = panel;
        }
        panel += column_width(c) * f->tile->width;
    }
    if (count > 0) forward_some(f, first, count, depth, weights, out, out_row, add);
    return add || count > 0;
}

/* The products of each distinct id of a chunk's columns, and zeros. */
static const float *forward_products(const forward *f, const chunk *some, const float *panel, float *products)
{
    const layer *y = &f->y;
    const int64_t width = f->tile->width;
    for (int i = some->first; i < some->end; i++) {
        const column *c = &y->column[i];
        const int64_t depth = column_width(c), count = c->found.count;
        for (int64_t u = 0; c->once && u < count; u += SIX) {
            const int64_t there = count - u < SIX ? count - u : SIX;
            const float *a[SIX];
            for (int r = 0; r < SIX; r++) a[r] = c->factors + (u + (r < there ? r : 0)) * depth;
            tile_rows(f->tile, a, &panel, 1, depth, products + (c->product_at + u) * width, width, there, false);
        }
        panel += depth * width;
    }
    memset(products + some->products * width, 0, (size_t)width * sizeof *products);
    return panel;
}

/* Item: as many units as a tile is wide. */
static void forward_panels(int64_t first, int64_t last, void *user)
{
    const forward *f = user;
    const layer *y = &f->y;
    const int64_t width = f->tile->width;
    for (int64_t p = first; p < last; p++) {
        const int64_t unit = p * width, there = y->units - unit < width ? y->units - unit : width;
        float *panel = f->panels + p * f->panel_row;
        const float *columns = panel + y->dense_width * width;
        float *out = there < width ? f->beside : f->out + unit;
        const int64_t out_row = there < width ? width : y->units;
        forward_pack(f, unit, there, panel);
        if (y->dense_width > 0) forward_dense(f, panel, out, out_row);
        bool add = forward_by_row(f, columns, out, out_row, y->dense_width > 0);
        float *products = panel + y->inner * width;
        const float *weights = columns;
        for (int i = 0; i < f->chunks; i++, add = true) {
            weights = forward_products(f, &f->chunk[i], weights, products);
            f->tile->sums(products, width, f->chunk[i].at, f->chunk[i].begin, y->rows, out, out_row, add);
        }
        for (int64_t r = 0; there < width && r < y->rows; r++)
            memcpy(f->out + r * y->units + unit, out + r * width, (size_t)there * sizeof *out);
    }
}

/* Few rows, six together: of each value of a row, those of all six, in the order of the weights. */
static hr_status forward_turn(hr_kernel *k, forward *f, hr_error *err)
{
    const layer *y = &f->y;
    float *to;
    HR_TRY(hr_kernel_array(k, y->rows * y->inner, sizeof *to, "the rows of a layer", &to, err));
    f->turned = to;
    for (int64_t m = 0; m < y->rows; m += SIX) {
        const int64_t six = y->rows - m < SIX ? y->rows - m : SIX;
        for (int64_t r = 0; r < six; r++) {
            float *value = to + m * y->inner + r;
            for (int64_t i = 0; i < y->dense_width; i++)
                value[y->dense_at[i] * six] = y->dense[(m + r) * y->dense_width + i];
            for (int i = 0; i < y->columns; i++) {
                const column *c = &y->column[i];
                const float *row = column_row(y, c, m + r);
                for (int64_t j = 0; j < column_width(c); j++) value[(c->at + j) * six] = row[j];
            }
        }
    }
    return HR_OK;
}

/* Item: as many units as a tile is wide, whose weights are taken where they are. */
static void forward_few(int64_t first, int64_t last, void *user)
{
    const forward *f = user;
    const layer *y = &f->y;
    float sums[SIX * MAX_WIDTH];
    const int64_t width = f->tile->width, units = y->units;
    for (int64_t unit = first * width; unit < last * width && unit < units; unit += width) {
        const float *weights = y->weights + unit;
        const int64_t there = units - unit < width ? units - unit : width;
        for (int64_t m = 0; m < y->rows; m += SIX) {
            const int64_t six = y->rows - m < SIX ? y->rows - m : SIX;
            const float *rows = f->turned + m * y->inner;
            if (there == width) f->tile->turned[six - 1](rows, six, weights, units, y->inner, sums);
            for (int64_t r = 0; r < six && there < width; r++)
                for (int64_t c = 0; c < there; c++) {
                    float sum = 0;
                    for (int64_t i = 0; i < y->inner; i++) sum += rows[i * six + r] * weights[i * units + c];
                    sums[r * width + c] = sum;
                }
            for (int64_t r = 0; r < six; r++)
                memcpy(f->out + (m + r) * units + unit, sums + r * width, (size_t)there * sizeof *sums);
        }
    }
}

/* Which products each row adds up. */
static hr_status forward_fill_chunk(hr_kernel *k, const layer *y, chunk *some, hr_error *err)
{
    int32_t *at, *begin;
    int64_t columns = 0, count;
    for (int i = some->first; i < some->end; i++) columns += y->column[i].once;
    HR_TRY(hr_dim_mul(y->rows, columns, &count, err));
    if (count > INT32_MAX || some->products >= INT32_MAX) return layer_refuse("fewer ids in a batch", err);
    HR_TRY(hr_kernel_array(k, count, sizeof *at, "places of products", &at, err));
    HR_TRY(hr_kernel_array(k, y->rows + 1, sizeof *begin, "places of products", &begin, err));
    for (int64_t r = 0; r <= y->rows; r++) begin[r] = (int32_t)(r * columns);
    for (int i = some->first, to = 0; i < some->end; i++) {
        const column *c = &y->column[i];
        if (!c->once) continue;
        for (int64_t r = 0; r < y->rows; r++)
            at[r * columns + to] = (int32_t)(c->place[r] < 0 ? some->products : c->product_at + c->place[r]);
        to++;
    }
    some->at = at;
    some->begin = begin;
    return HR_OK;
}

/* What is missing of the last six rows is the last row again. */
static hr_status forward_find_rows(hr_kernel *k, forward *f, hr_error *err)
{
    const layer *y = &f->y;
    const int64_t sixes = (y->rows + SIX - 1) / SIX;
    int64_t count;
    for (int i = 0; i < y->columns; i++) f->by_row += !y->column[i].once;
    HR_TRY(hr_dim_mul(sixes * SIX, f->by_row, &count, err));
    HR_TRY(hr_kernel_array(k, count, sizeof *f->row, "the rows of a layer", &f->row, err));
    for (int i = 0, to = 0; i < y->columns; i++) {
        if (y->column[i].once) continue;
        for (int64_t r = 0; r < sixes * SIX; r++)
            f->row[(r / SIX * f->by_row + to) * SIX + r % SIX] =
                column_row(y, &y->column[i], r < y->rows ? r : y->rows - 1);
        to++;
    }
    return HR_OK;
}

/* Chunks of the columns that are multiplied by distinct id. *most: products of one. */
static hr_status forward_plan(hr_kernel *k, forward *f, int64_t *most, hr_error *err)
{
    layer *y = &f->y;
    *most = 0;
    HR_TRY(hr_kernel_array(k, y->columns, sizeof *f->chunk, "places of products", &f->chunk, err));
    for (int i = 0; i < y->columns; i++) {
        column *c = &y->column[i];
        const int64_t count = c->once ? c->found.count : 0;
        if (f->chunks == 0 ||
            (f->chunk[f->chunks - 1].products > 0 && f->chunk[f->chunks - 1].products + count > CHUNK))
            f->chunk[f->chunks++] = (chunk){.first = i};
        chunk *some = &f->chunk[f->chunks - 1];
        some->end = i + 1;
        c->product_at = some->products;
        some->products += count;
        *most = some->products > *most ? some->products : *most;
    }
    if (*most == 0) f->chunks = 0;
    for (int i = 0; i < f->chunks; i++) HR_TRY(forward_fill_chunk(k, y, &f->chunk[i], err));
    return forward_find_rows(k, f, err);
}

static hr_status forward_compute(hr_kernel *k, hr_error *err)
{
    forward f = {0};
    layer *y = &f.y;
    int64_t products, floats;
    hr_tensor *out;
    HR_TRY(layer_take_inputs(k, y, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(y->rows, y->units), &out, err));
    if (out->count == 0) return HR_OK;
    if (y->inner == 0) {
        memset(out->data, 0, (size_t)out->count * sizeof(float));
        return HR_OK;
    }
    HR_TRY(layer_find_ids(k, y, err));
    f.out = out->data;
    f.tile = layer_tile(y->units);
    const int64_t width = f.tile->width, panels = (y->units + width - 1) / width;
    if (y->rows < FEW_ROWS) {
        HR_TRY(forward_turn(k, &f, err));
        hr_kernel_parallel(k, panels, (double)(y->inner * width) / 50 * (double)y->rows, forward_few, &f);
        return HR_OK;
    }
    HR_TRY(forward_plan(k, &f, &products, err));
    HR_TRY(hr_dim_add(y->inner, products + 1, &f.panel_row, err));
    HR_TRY(hr_dim_mul(f.panel_row, width, &f.panel_row, err));
    HR_TRY(hr_dim_mul(f.panel_row, panels, &floats, err));
    HR_TRY(hr_kernel_array(k, floats, sizeof *f.panels, "the products of a layer", &f.panels, err));
    if (y->units % width != 0)
        HR_TRY(hr_kernel_array(k, y->rows * width, sizeof *f.beside, "the products of a layer", &f.beside, err));
    hr_kernel_parallel(k, panels, (double)(y->inner * width) / 100 * (double)y->rows, forward_panels, &f);
    return HR_OK;
}

static hr_status layer_shape(hr_infer *s, hr_error *err)
{
    const int columns = (int)hr_attr_int(s->node, "N"), parts = columns + (int)hr_attr_int(s->node, "D");
    const hr_shape weights = s->input[2 * columns + parts], splits = s->input[2 * columns];
    if (!hr_shape_merge(weights, HR_SHAPE(-1, -1), &(hr_shape){0}))
        return hr_infer_refuse(s, err, "a matrix of weights");
    const int64_t rows = splits.rank == 1 && splits.dims[0] > 0 ? splits.dims[0] - 1 : -1;
    s->output[0] = HR_SHAPE(rows, weights.rank == 2 ? weights.dims[1] : -1);
    return HR_OK;
}

/* ---- backward: what belongs to one id within a leaf is a group, whose rows of gradients are added up first ---- */

typedef struct groups {
    int64_t *leaf;         /* the first group of each leaf, and the end */
    int32_t *order;        /* rows of the batch, group by group */
    int32_t *begin, *fill; /* where a group begins in `order`, and how far it is filled */
    int32_t *place;        /* of a group: of its id among the distinct ones */
    int32_t *slot;         /* of an id: its newest group */
    float *factors;        /* of a group: the row of the table */
    float *by_row;         /* of a group, or a row of the batch: the gradient of the row of the table, whole tiles */
    float *tiles;          /* gradients of weights, of as many units as a tile has: the trees of leaves so far */
    float *weights;        /* those of some units, packed */
    float **part;          /* while an id's groups are added up: their gradients, and of which leaves they are */
    int64_t *part_leaf;
} groups;

typedef struct backward {
    layer y;
    const hr__tile *tile;
    groups *groups;    /* by column; the last ones are the dense values' */
    const float *grad; /* [rows, units] */
    float *parts;      /* the same, in parts of as many units as a tile has, the last one filled up with zeros */
    int64_t leaves;
    float *weights_grad;
    float **values; /* by column */
} backward;

/* Each row is a group, with or without an id. */
static void groups_are_rows(const groups *g, const column *c, int64_t rows)
{
    int64_t leaf = 0;
    for (int64_t r = 0; r < rows; r++) g->place[r] = c->place[r];
    for (int64_t from = 0; from < rows; from += LEAF) g->leaf[leaf++] = from;
    g->leaf[leaf] = rows;
}

/* Groups of each leaf, in the order of their first rows; their rows lie in order, too. */
static void groups_find(const groups *g, const column *c, int64_t rows)
{
    int32_t count = 0, next = 0, leaf = 0;
    for (int64_t u = 0; u < c->found.count; u++) g->slot[u] = -1;
    for (int64_t from = 0; from < rows; from += LEAF) {
        const int64_t end = rows - from < LEAF ? rows : from + LEAF;
        const int32_t first = count;
        g->leaf[leaf++] = first;
        for (int64_t r = from; r < end; r++) {
            const int32_t u = c->place[r];
            if (u < 0) continue;
            if (g->slot[u] < first) {
                g->slot[u] = count;
                g->place[count] = u;
                g->fill[count++] = 0;
            }
            g->fill[g->slot[u]]++;
        }
        for (int32_t i = first; i < count; i++) {
            g->begin[i] = next;
            next += g->fill[i];
            g->fill[i] = g->begin[i];
        }
        for (int64_t r = from; r < end; r++)
            if (c->place[r] >= 0) g->order[g->fill[g->slot[c->place[r]]]++] = (int32_t)r;
    }
    g->leaf[leaf] = count;
    g->begin[count] = next;
}

static void groups_take_factors(const groups *g, const column *c, int64_t leaves)
{
    const int64_t depth = column_width(c);
    for (int64_t i = 0; i < g->leaf[leaves]; i++)
        for (int64_t j = 0; j < depth; j++)
            g->factors[i * depth + j] = g->place[i] < 0 ? 0 : c->factors[g->place[i] * depth + j];
}

static void add_to(float *to, const float *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

/* Gradients of one leaf: of weights, to the next tile; the tiles of two trees of the same size become one. */
static int leaf_add(const backward *b, const groups *g, int64_t leaf, const float *factors, int64_t depth,
                    const float *sums, int64_t count, int tiles)
{
    const int64_t width = b->tile->width, size = depth * width, pieces = (depth + SIX - 1) / SIX;
    for (int64_t q = 0; q < pieces; q++) {
        const int64_t r = depth * q / pieces, end = depth * (q + 1) / pieces;
        b->tile->turned[end - r - 1](factors + r, depth, sums, width, count, g->tiles + tiles * size + r * width);
    }
    tiles++;
    for (int64_t n = leaf + 1; n % 2 == 0; n /= 2, tiles--)
        add_to(g->tiles + (tiles - 2) * size, g->tiles + (tiles - 1) * size, size);
    return tiles;
}

/* Of some units: their share of the gradients of the rows of the table. */
static void leaf_by_row(const groups *g, int64_t depth, int64_t padded, int64_t first, const float *sums,
                        int64_t sums_row, int64_t count, int64_t units, bool add)
{
    const float *packed = g->weights;
    for (int64_t d = 0; d < depth;) {
        const hr__tile *tile = hr__tile_for(depth - d);
        for (int64_t i = 0; i < count; i += SIX) {
            const int64_t there = count - i < SIX ? count - i : SIX;
            const float *a[SIX];
            for (int r = 0; r < SIX; r++) a[r] = sums + (i + (r < there ? r : 0)) * sums_row;
            tile_rows(tile, a, &packed, 1, units, g->by_row + (first + i) * padded + d, padded, there, add);
        }
        packed += units * tile->width;
        d += tile->width;
    }
}

static void backward_pack(const layer *y, const groups *g, const column *c, int64_t unit, int64_t there)
{
    const int64_t depth = column_width(c);
    float *to = g->weights;
    for (int64_t d = 0, width; d < depth; d += width, to += width * there)
        width = hr__panel_pack(y->weights + c->at * y->units + unit, 1, y->units, there, depth, d, to);
}

/* Of as many units as a tile has. `c` NULL: of the dense values. */
static void backward_units(const backward *b, const groups *g, const column *c, int64_t unit)
{
    const layer *y = &b->y;
    float sums[LEAF * MAX_WIDTH];
    const int64_t width = b->tile->width, there = y->units - unit < width ? y->units - unit : width;
    const int64_t depth = c ? column_width(c) : y->dense_width, padded = hr__panels_width(depth);
    const float *grad = b->parts + y->rows * unit;
    int tiles = 0;
    if (c) backward_pack(y, g, c, unit, there);
    for (int64_t leaf = 0; leaf < b->leaves; leaf++) {
        int64_t first = leaf * LEAF, count = y->rows - first < LEAF ? y->rows - first : LEAF;
        const float *of = grad + first * width, *factors = c ? c->factors : y->dense;
        if (c && c->single) {
            first = g->leaf[leaf];
            count = g->leaf[leaf + 1] - first;
            if (c->once) {
                b->tile->sums(grad, width, g->order, g->begin + first, count, sums, width, false);
                of = sums;
            }
            factors = g->factors;
        }
        tiles = leaf_add(b, g, leaf, factors + first * depth, depth, of, count, tiles);
        if (c) leaf_by_row(g, depth, padded, first, of, width, count, there, unit > 0);
    }
    for (; tiles > 1; tiles--)
        add_to(g->tiles + (tiles - 2) * depth * width, g->tiles + (tiles - 1) * depth * width, depth * width);
    for (int64_t d = 0; d < depth; d++)
        memcpy(b->weights_grad + (c ? c->at + d : y->dense_at[d]) * y->units + unit, g->tiles + d * width,
               (size_t)there * sizeof(float));
}

/* The gradient of a row of the table from those of its groups, by the tree of all leaves, some of which it lacks. */
static void add_groups(const groups *g, int64_t count, int64_t depth, float *to)
{
    while (count > 1) {
        int64_t left = 0;
        for (int64_t i = 0; i < count; i++) {
            const bool two = i + 1 < count && g->part_leaf[i] / 2 == g->part_leaf[i + 1] / 2;
            g->part[left] = g->part[i];
            g->part_leaf[left] = g->part_leaf[i] / 2;
            if (two) add_to(g->part[left], g->part[++i], depth);
            left++;
        }
        count = left;
    }
    memcpy(to, g->part[0], (size_t)depth * sizeof *to);
}

static void backward_add_up(const backward *b, const groups *g, const column *c, float *values)
{
    const int64_t depth = column_width(c), padded = hr__panels_width(depth), ids = c->found.count;
    int32_t *leaf_of = g->begin, *next = g->fill, *first = g->slot;
    for (int64_t leaf = 0; leaf < b->leaves; leaf++)
        for (int64_t i = g->leaf[leaf]; i < g->leaf[leaf + 1]; i++) leaf_of[i] = (int32_t)leaf;
    for (int64_t u = 0; u < ids; u++) first[u] = -1;
    for (int64_t i = g->leaf[b->leaves] - 1; i >= 0; i--) {
        if (g->place[i] < 0) continue;
        next[i] = first[g->place[i]];
        first[g->place[i]] = (int32_t)i;
    }
    memset(values, 0, (size_t)(ids * depth) * sizeof *values);
    for (int64_t u = 0; u < ids; u++) {
        int64_t count = 0;
        for (int32_t i = first[u]; i >= 0; i = next[i]) {
            float *part = g->by_row + i * padded;
            if (count > 0 && g->part_leaf[count - 1] == leaf_of[i]) { /* of rows that are groups */
                add_to(g->part[count - 1], part, depth);
                continue;
            }
            g->part[count] = part;
            g->part_leaf[count++] = leaf_of[i];
        }
        if (count > 0) add_groups(g, count, depth, values + u * depth);
    }
}

/* By rows that have several ids. */
static void backward_spread(const backward *b, const groups *g, const column *c, float *values)
{
    const int64_t depth = column_width(c), padded = hr__panels_width(depth);
    memset(values, 0, (size_t)(c->found.count * depth) * sizeof *values);
    for (int64_t r = 0; r < b->y.rows; r++) /* rows move together first: r * depth <= r * padded */
        memmove(g->by_row + r * depth, g->by_row + r * padded, (size_t)depth * sizeof *values);
    for (int64_t r = 0; r < b->y.rows; r++) lookup_spread_row(&c->l, r, g->by_row, c->place, values);
}

/* Item: a column; the last one: the dense values. */
static void backward_items(int64_t first, int64_t last, void *user)
{
    const backward *b = user;
    const layer *y = &b->y;
    for (int64_t i = first; i < last; i++) {
        const column *c = i < y->columns ? &y->column[i] : NULL;
        const groups *g = &b->groups[i];
        if (c && c->single) {
            (c->once ? groups_find : groups_are_rows)(g, c, y->rows);
            groups_take_factors(g, c, b->leaves);
        }
        for (int64_t unit = 0; unit < y->units; unit += b->tile->width) backward_units(b, g, c, unit);
        if (c && c->single)
            backward_add_up(b, g, c, b->values[i]);
        else if (c)
            backward_spread(b, g, c, b->values[i]);
    }
}

/* Memory of `size` for each of the columns, one after the other; *out: that of the first. */
static hr_status backward_array(hr_kernel *k, const backward *b, int64_t count, size_t size, void *out, hr_error *err)
{
    HR_TRY(hr_dim_mul(count, b->y.columns, &count, err));
    return hr_kernel_array(k, count, size, "the gradients of a layer", out, err);
}

/* Of numbers of rows, which all columns have alike. */
static hr_status backward_share_numbers(hr_kernel *k, backward *b, hr_error *err)
{
    const int64_t rows = b->y.rows + 1, leaves = b->leaves + 1;
    int32_t *order, *begin, *fill, *place, *slot;
    int64_t *leaf, *part_leaf;
    float **part;
    HR_TRY(backward_array(k, b, rows, sizeof *order, &order, err));
    HR_TRY(backward_array(k, b, rows, sizeof *begin, &begin, err));
    HR_TRY(backward_array(k, b, rows, sizeof *fill, &fill, err));
    HR_TRY(backward_array(k, b, rows, sizeof *place, &place, err));
    HR_TRY(backward_array(k, b, rows, sizeof *slot, &slot, err));
    HR_TRY(backward_array(k, b, leaves, sizeof *leaf, &leaf, err));
    HR_TRY(backward_array(k, b, leaves, sizeof *part_leaf, &part_leaf, err));
    HR_TRY(backward_array(k, b, leaves, sizeof *part, &part, err));
    for (int i = 0; i < b->y.columns; i++) {
        groups *g = &b->groups[i];
        g->order = order + i * rows;
        g->begin = begin + i * rows;
        g->fill = fill + i * rows;
        g->place = place + i * rows;
        g->slot = slot + i * rows;
        g->leaf = leaf + i * leaves;
        g->part_leaf = part_leaf + i * leaves;
        g->part = part + i * leaves;
    }
    return HR_OK;
}

/* Of values, which depend on how wide a column is. `c` NULL: the dense values. */
static hr_status groups_take_memory(hr_kernel *k, const backward *b, groups *g, const column *c, hr_error *err)
{
    const int64_t depth = c ? column_width(c) : b->y.dense_width, padded = hr__panels_width(depth);
    int64_t levels = 2, tiles, by_row = 0, factors = 0, all;
    float *values;
    for (int64_t n = b->leaves; n > 0; n /= 2) levels++;
    HR_TRY(hr_dim_mul(depth, b->tile->width * levels, &tiles, err));
    if (c) HR_TRY(hr_dim_mul(b->y.rows, padded, &by_row, err));
    if (c && c->single) HR_TRY(hr_dim_mul(b->y.rows, depth, &factors, err));
    HR_TRY(hr_dim_add(tiles, by_row, &all, err));
    HR_TRY(hr_dim_add(all, factors, &all, err));
    HR_TRY(hr_dim_add(all, padded * b->tile->width, &all, err));
    HR_TRY(hr_kernel_array(k, all, sizeof *values, "the gradients of a layer", &values, err));
    g->tiles = values;
    g->by_row = g->tiles + tiles;
    g->factors = g->by_row + by_row;
    g->weights = g->factors + factors;
    return HR_OK;
}

/* Item: a part of the units. */
static void backward_fill_parts(int64_t first, int64_t last, void *user)
{
    const backward *b = user;
    const layer *y = &b->y;
    const int64_t width = b->tile->width;
    for (int64_t p = first; p < last; p++) {
        const int64_t unit = p * width, there = y->units - unit < width ? y->units - unit : width;
        float *to = b->parts + y->rows * unit;
        if (there < width) memset(to, 0, (size_t)(y->rows * width) * sizeof *to);
        for (int64_t r = 0; r < y->rows; r++)
            memcpy(to + r * width, b->grad + r * y->units + unit, (size_t)there * sizeof *to);
    }
}

static hr_status backward_take_parts(hr_kernel *k, backward *b, hr_error *err)
{
    const int64_t width = b->tile->width, parts = (b->y.units + width - 1) / width;
    int64_t floats;
    HR_TRY(hr_dim_mul(b->y.rows, parts * width, &floats, err));
    HR_TRY(hr_kernel_array(k, floats, sizeof *b->parts, "the gradients of a layer", &b->parts, err));
    hr_kernel_parallel(k, parts, 0.1 * (double)(b->y.rows * width), backward_fill_parts, b);
    return HR_OK;
}

static hr_status backward_make_outputs(hr_kernel *k, backward *b, hr_error *err)
{
    const layer *y = &b->y;
    hr_tensor *weights_grad, *values, *indices;
    HR_TRY(hr_kernel_array(k, y->columns, sizeof *b->values, "the gradients of a layer", &b->values, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(y->inner, y->units), &weights_grad, err));
    b->weights_grad = weights_grad->data;
    if (y->rows == 0 && weights_grad->count > 0)
        memset(b->weights_grad, 0, (size_t)weights_grad->count * sizeof(float));
    for (int i = 0; i < y->columns; i++) {
        const column *c = &y->column[i];
        HR_TRY(hr_kernel_output(k, 1 + i, HR_SHAPE(c->found.count, column_width(c)), &values, err));
        HR_TRY(hr_kernel_output(k, 1 + y->columns + i, HR_SHAPE(c->found.count), &indices, err));
        if (indices->count) memcpy(indices->data, c->found.rows, (size_t)indices->count * sizeof *c->found.rows);
        b->values[i] = values->data;
        if (y->units == 0 && values->count > 0) memset(values->data, 0, (size_t)values->count * sizeof(float));
    }
    return HR_OK;
}

static hr_status backward_compute(hr_kernel *k, hr_error *err)
{
    backward b = {0};
    layer *y = &b.y;
    HR_TRY(layer_take_inputs(k, y, err));
    const hr_tensor *grad = k->input[k->inputs - 1];
    if (!hr_shape_equal(grad->shape, HR_SHAPE(y->rows, y->units)))
        return layer_refuse("a gradient for each row and unit", err);
    HR_TRY(layer_find_ids(k, y, err));
    HR_TRY(backward_make_outputs(k, &b, err));
    if (y->rows == 0 || y->units == 0) return HR_OK;
    b.grad = grad->data;
    b.tile = hr__tile_for(y->units);
    b.leaves = (y->rows + LEAF - 1) / LEAF;
    const int items = y->columns + (y->dense_width > 0);
    HR_TRY(hr_kernel_array(k, items, sizeof *b.groups, "the gradients of a layer", &b.groups, err));
    HR_TRY(backward_share_numbers(k, &b, err));
    for (int i = 0; i < items; i++)
        HR_TRY(groups_take_memory(k, &b, &b.groups[i], i < y->columns ? &y->column[i] : NULL, err));
    HR_TRY(backward_take_parts(k, &b, err));
    hr_kernel_parallel(k, items, (double)(y->inner * y->units) / 50 * (double)y->rows / items, backward_items, &b);
    return HR_OK;
}

static hr_status layer_grad_shape(hr_infer *s, hr_error *err)
{
    const int columns = (int)hr_attr_int(s->node, "N"), parts = columns + (int)hr_attr_int(s->node, "D");
    if (!hr_shape_merge(s->input[2 * columns + parts], HR_SHAPE(-1, -1), &s->output[0]))
        return hr_infer_refuse(s, err, "a matrix of weights");
    for (int i = 0; i < columns; i++) {
        hr_handle_info table;
        const bool known = hr_handle_of(hr_node_input(s->node, i), &table) && table.shape.rank == 2;
        s->output[1 + i] = HR_SHAPE(-1, known ? table.shape.dims[1] : -1);
        s->output[1 + columns + i] = HR_SHAPE(-1);
    }
    return HR_OK;
}

#define LAYER_INPUTS "tables:N*resource, ids:N*int64, row_splits:N*int32, dense:D*float, weights:float"
#define LAYER_ATTRS "N:int>=1; D:int>=0; combiner:string in {mean,sum,sqrtn}=mean; order:list(int)=[]"

const hr_graph_op hr_graph_ops_lookup_matmul_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>LookupMatMul",
        .inputs = LAYER_INPUTS,
        .outputs = "product:float",
        .attrs = LAYER_ATTRS,
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .shape = layer_shape,
        .compute = forward_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>LookupMatMulGrad",
        .inputs = LAYER_INPUTS ", grad:float",
        .outputs = "weights_grad:float, values:N*float, indices:N*int64",
        .attrs = LAYER_ATTRS,
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .shape = layer_grad_shape,
        .compute = backward_compute,
    },
    HR_GRAPH_OPS_END,
};
