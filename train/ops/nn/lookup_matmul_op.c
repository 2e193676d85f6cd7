/* The first layer over looked-up rows, in one node: the product of a matrix, which is never written, whose
 * columns are lookups of tables and dense values side by side, with weights. Passes make it.
 *
 * In a batch the same ids come again and again. The rows of a table that a batch takes are multiplied once for each
 * distinct id, and each row of the batch adds up such products; if few ids of a column come twice, its rows are
 * multiplied one by one, which is known from the ids alone, as are few rows. A row's sum has the dense values first,
 * then the columns that are multiplied row by row, then the others; of few rows all are in the order of the weights.
 * Nothing of this depends on threads. */
#include "train/ops/nn/lookup_layer.h"
#include <string.h>

enum {
    SIX = HR__TILE_ROWS,
    MAX_WIDTH = HR__TILE_MAX_WIDTH,
    TOGETHER = 32,   /* columns that are multiplied by row at once */
    FEW_ROWS = 25,   /* for fewer, weights are not packed */
    MANY_ROWS = 256, /* whose sums are worth as few chunks as the second-level cache allows */
    CHUNK = 1 << 15, /* values of products; twice so many of many rows */
};

/* The widest tile of which there are four side by side, which threads share. Of many rows, one of 64 columns only if
 * there are eight: then products of more ids stay in the cache, and threads end more evenly. What is narrower than 32
 * columns has too few sums at once to gain by that. */
static const hr__tile *layer_tile(int64_t units, int64_t rows)
{
    const hr__tile *all = hr__tiles();
    int i = rows >= MANY_ROWS && all[0].width == MAX_WIDTH && units < 8 * MAX_WIDTH;
    while (i < HR__TILE_WIDTHS - 1 && units < 4 * all[i].width) i++;
    return &all[i];
}

/* Columns, one after the other, whose products are added up before those of the next ones are made. */
typedef struct chunk {
    int first, end;       /* columns */
    int64_t products;     /* of all distinct ids; one of zeros follows */
    const int32_t *at;    /* of each row, the products that it adds up */
    const int32_t *begin; /* where a row begins in `at` */
} chunk;

typedef struct forward {
    lookup_layer y;
    const hr__tile *tile;
    const hr__pairs_tile *pairs; /* of the same width, for bfloat16; NULL: floats are multiplied */
    int chunks;
    chunk *chunk;
    float *panels;       /* of each part of the units: its weights, then the products of a chunk */
    int64_t panel_row;   /* floats of a panel */
    float *beside;       /* the last part, if it is narrower than a tile; NULL: it is not */
    const float *turned; /* few rows, in columns */
    int by_row;          /* columns that are multiplied row by row */
    const void **row;    /* of each six rows, by such a column: where they are, as floats or as pairs */
    float *out;
} forward;

/* How many rows of a panel a part takes up. */
static int64_t forward_depth(const forward *f, int64_t width) { return f->pairs ? hr__pairs_of(width) : width; }

/* Six rows of products, of floats or of pairs: `a` and `b` point to either. */
static void forward_six(const forward *f, const void *const *a, const void *const *b, int64_t count, int64_t width,
                        float *out, int64_t out_row, int64_t there, bool add)
{
    if (f->pairs)
        hr__pairs_six_rows(f->pairs, (const uint32_t *const *)a, 1, (const uint32_t *const *)b, count,
                           hr__pairs_of(width), out, out_row, there, add);
    else
        hr__tile_six_rows(f->tile, (const float *const *)a, (const float *const *)b, count, width, out, out_row, there,
                          add);
}

/* The same as forward_pack. */
static void forward_pack_pairs(const forward *f, int64_t unit, int64_t there, uint32_t *to)
{
    const lookup_layer *y = &f->y;
    const int64_t width = f->tile->width;
    const float *from = y->weights + unit;
    if (there < width) memset(to, 0, (size_t)(y->inner * width) * sizeof *to);
    for (int64_t i = 0; i < y->dense_width; i += 2, to += width) {
        const int64_t next = i + 1 < y->dense_width ? y->dense_at[i + 1] - y->dense_at[i] : 0;
        hr__pairs_across(from + y->dense_at[i] * y->units, next * y->units, next ? 2 : 1, there, to, width);
    }
    for (int i = 0; i < y->columns; i++) {
        const int64_t depth = lookup_column_width(&y->column[i]);
        hr__pairs_across(from + y->column[i].at * y->units, y->units, depth, there, to, width);
        to += hr__pairs_of(depth) * width;
    }
}

/* The weights of the units from `unit` on: those of dense values, then those of columns. */
static void forward_pack(const forward *f, int64_t unit, int64_t there, float *to)
{
    const lookup_layer *y = &f->y;
    const int64_t width = f->tile->width;
    if (there < width) memset(to, 0, (size_t)(y->inner * width) * sizeof *to);
    for (int64_t i = 0; i < y->dense_width; i++, to += width)
        memcpy(to, y->weights + y->dense_at[i] * y->units + unit, (size_t)there * sizeof *to);
    for (int i = 0; i < y->columns; i++)
        for (int64_t j = 0; j < lookup_column_width(&y->column[i]); j++, to += width)
            memcpy(to, y->weights + (y->column[i].at + j) * y->units + unit, (size_t)there * sizeof *to);
}

static void forward_dense(const forward *f, const float *panel, float *out, int64_t out_row)
{
    const lookup_layer *y = &f->y;
    const int64_t pairs = hr__pairs_of(y->dense_width);
    for (int64_t m = 0; m < y->rows; m += SIX) {
        const int64_t there = y->rows - m < SIX ? y->rows - m : SIX;
        const void *a[SIX], *b = panel;
        for (int r = 0; r < SIX; r++) {
            const int64_t row = m + (r < there ? r : 0);
            a[r] = f->pairs ? (const void *)(y->dense_pairs + row * pairs) : y->dense + row * y->dense_width;
        }
        forward_six(f, a, &b, 1, y->dense_width, out + m * out_row, out_row, there, false);
    }
}

/* `count` columns of one width from the `first` on that are multiplied row by row. */
static void forward_some(const forward *f, int first, int count, int64_t depth, const void *const *panel, float *out,
                         int64_t out_row, bool add)
{
    const lookup_layer *y = &f->y;
    const void *const *a = f->row + first * SIX;
    for (int64_t m = 0; m < y->rows; m += SIX, a += f->by_row * SIX)
        forward_six(f, a, panel, count, depth, out + m * out_row, out_row, y->rows - m < SIX ? y->rows - m : SIX, add);
}

/* `panel`: the weights of the columns. Whether `out` has sums by now. */
static bool forward_by_row(const forward *f, const float *panel, float *out, int64_t out_row, bool add)
{
    const lookup_layer *y = &f->y;
    const void *weights[TOGETHER];
    int first = 0, count = 0;
    int64_t depth = 0;
    for (int i = 0; i < y->columns; i++) {
        const lookup_column *c = &y->column[i];
        if (!c->once && count > 0 && (count == TOGETHER || depth != lookup_column_width(c))) {
            forward_some(f, first, count, depth, weights, out, out_row, add);
            add = true;
            first += count;
            count = 0;
        }
        if (!c->once) {
            depth = lookup_column_width(c);
            weights[count++] = panel;
        }
        panel += forward_depth(f, lookup_column_width(c)) * f->tile->width;
    }
    if (count > 0) forward_some(f, first, count, depth, weights, out, out_row, add);
    return add || count > 0;
}

/* The products of each distinct id of a chunk's columns, and zeros. */
static const float *forward_products(const forward *f, const chunk *some, const float *panel, float *products)
{
    const lookup_layer *y = &f->y;
    const int64_t width = f->tile->width;
    for (int i = some->first; i < some->end; i++) {
        const lookup_column *c = &y->column[i];
        const int64_t depth = lookup_column_width(c), count = c->found.count;
        for (int64_t u = 0; c->once && u < count; u += SIX) {
            const int64_t there = count - u < SIX ? count - u : SIX;
            const void *a[SIX], *b = panel;
            for (int r = 0; r < SIX; r++) {
                const int64_t row = u + (r < there ? r : 0);
                a[r] = f->pairs ? (const void *)(c->pairs + row * hr__pairs_of(depth)) : c->factors + row * depth;
            }
            forward_six(f, a, &b, 1, depth, products + (c->product_at + u) * width, width, there, false);
        }
        panel += forward_depth(f, depth) * width;
    }
    memset(products + some->products * width, 0, (size_t)width * sizeof *products);
    return panel;
}

/* Item: as many units as a tile is wide. */
static void forward_panels(int64_t first, int64_t last, void *user)
{
    const forward *f = user;
    const lookup_layer *y = &f->y;
    const int64_t width = f->tile->width;
    for (int64_t p = first; p < last; p++) {
        const int64_t unit = p * width, there = y->units - unit < width ? y->units - unit : width;
        float *panel = f->panels + p * f->panel_row;
        const float *columns = panel + forward_depth(f, y->dense_width) * width;
        float *out = there < width ? f->beside : f->out + unit;
        const int64_t out_row = there < width ? width : y->units;
        if (f->pairs)
            forward_pack_pairs(f, unit, there, (uint32_t *)panel);
        else
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
    const lookup_layer *y = &f->y;
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
                const lookup_column *c = &y->column[i];
                const float *row = lookup_column_row(y, c, m + r);
                for (int64_t j = 0; j < lookup_column_width(c); j++) value[(c->at + j) * six] = row[j];
            }
        }
    }
    return HR_OK;
}

/* Item: as many units as a tile is wide, whose weights are taken where they are. */
static void forward_few(int64_t first, int64_t last, void *user)
{
    const forward *f = user;
    const lookup_layer *y = &f->y;
    float sums[SIX * MAX_WIDTH];
    const int64_t width = f->tile->width, units = y->units;
    for (int64_t unit = first * width; unit < last * width && unit < units; unit += width) {
        const float *weights = y->weights + unit;
        const int64_t there = units - unit < width ? units - unit : width;
        for (int64_t m = 0; m < y->rows; m += SIX) {
            const int64_t six = y->rows - m < SIX ? y->rows - m : SIX;
            const float *rows = f->turned + m * y->inner;
            if (there == width) f->tile->direct[six - 1](rows, six, 1, weights, units, y->inner, sums, width);
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
static hr_status forward_fill_chunk(hr_kernel *k, const lookup_layer *y, chunk *some, hr_error *err)
{
    int32_t *at, *begin;
    int64_t columns = 0, count;
    for (int i = some->first; i < some->end; i++) columns += y->column[i].once;
    HR_TRY(hr_dim_mul(y->rows, columns, &count, err));
    if (count > INT32_MAX || some->products >= INT32_MAX) return hr__layer_refuse("fewer ids in a batch", err);
    HR_TRY(hr_kernel_array(k, count, sizeof *at, "places of products", &at, err));
    HR_TRY(hr_kernel_array(k, y->rows + 1, sizeof *begin, "places of products", &begin, err));
    for (int64_t r = 0; r <= y->rows; r++) begin[r] = (int32_t)(r * columns);
    for (int i = some->first, to = 0; i < some->end; i++) {
        const lookup_column *c = &y->column[i];
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
    const lookup_layer *y = &f->y;
    const int64_t sixes = (y->rows + SIX - 1) / SIX;
    int64_t count;
    for (int i = 0; i < y->columns; i++) f->by_row += !y->column[i].once;
    HR_TRY(hr_dim_mul(sixes * SIX, f->by_row, &count, err));
    HR_TRY(hr_kernel_array(k, count, sizeof *f->row, "the rows of a layer", &f->row, err));
    for (int i = 0, to = 0; i < y->columns; i++) {
        if (y->column[i].once) continue;
        for (int64_t r = 0; r < sixes * SIX; r++)
            f->row[(r / SIX * f->by_row + to) * SIX + r % SIX] =
                f->pairs ? (const void *)lookup_column_pairs(y, &y->column[i], r < y->rows ? r : y->rows - 1)
                         : lookup_column_row(y, &y->column[i], r < y->rows ? r : y->rows - 1);
        to++;
    }
    return HR_OK;
}

/* Chunks of the columns that are multiplied by distinct id. *most: products of one. */
static hr_status forward_plan(hr_kernel *k, forward *f, int64_t *most, hr_error *err)
{
    lookup_layer *y = &f->y;
    const int64_t most_products = (y->rows >= MANY_ROWS ? 2 : 1) * CHUNK / f->tile->width;
    *most = 0;
    HR_TRY(hr_kernel_array(k, y->columns, sizeof *f->chunk, "places of products", &f->chunk, err));
    for (int i = 0; i < y->columns; i++) {
        lookup_column *c = &y->column[i];
        const int64_t count = c->once ? c->found.count : 0;
        if (f->chunks == 0 ||
            (f->chunk[f->chunks - 1].products > 0 && f->chunk[f->chunks - 1].products + count > most_products))
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
    lookup_layer *y = &f.y;
    int64_t products, floats;
    hr_tensor *out;
    HR_TRY(hr__layer_take_inputs(k, y, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(y->rows, y->units), &out, err));
    HR_TRY(hr__layer_find_ids(k, y, err));
    if (out->count == 0) return HR_OK;
    if (y->inner == 0) {
        memset(out->data, 0, (size_t)out->count * sizeof(float));
        return HR_OK;
    }
    f.out = out->data;
    f.tile = layer_tile(y->units, y->rows);
    const int64_t width = f.tile->width, panels = (y->units + width - 1) / width;
    if (y->bfloat16) {
        HR_TRY(hr__layer_round(k, y, err));
        f.pairs = hr__pairs_tile_of(width);
    }
    if (y->rows < FEW_ROWS && !f.pairs) {
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
    s->output[1] = s->output[2] = HR_SHAPE(-1);
    s->output[3] = HR_SHAPE(columns);
    return HR_OK;
}

const hr_graph_op hr_graph_ops_lookup_matmul_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>LookupMatMul",
        .inputs = LAYER_INPUTS,
        .outputs = "product:float, " LAYER_FOUND,
        .attrs = LAYER_ATTRS,
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .shape = layer_shape,
        .compute = forward_compute,
    },
    HR_GRAPH_OPS_END,
};
