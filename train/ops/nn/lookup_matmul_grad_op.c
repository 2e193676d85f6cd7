/* The gradient of LookupMatMul: of its weights, and of each table as slices of the distinct rows that were looked up.
 *
 * The rows of gradients that belong to one id are added up before they are multiplied, but of columns where few ids
 * come twice: in leaves of 512 rows of the batch, or most ids of a batch would come several times. What a leaf has is
 * multiplied in pieces, which stay in the cache, and their products are added up by a binary tree. So nothing depends on
 * threads. */
#include "train/ops/nn/lookup_layer.h"
#include <string.h>

enum {
    SIX = HR__TILE_ROWS,
    MAX_WIDTH = HR__TILE_MAX_WIDTH,
    LEAF = 512,  /* rows of the batch */
    PIECE = 128, /* groups of a leaf */
};

/* What belongs to one id within a leaf is a group. */
typedef struct groups {
    int64_t *leaf;         /* the first group of each leaf, and the end */
    int32_t *order;        /* rows of the batch, group by group */
    int32_t *begin, *fill; /* where a group begins in `order`, and how far it is filled */
    int32_t *place;        /* of a group: of its id among the distinct ones */
    int32_t *slot;         /* of an id: its newest group */
    float *factors;        /* of a group: the row of the table */
    uint32_t *pairs;       /* bfloat16: of each piece, pairs of its groups' factors */
    float *by_row;         /* of a group, or a row of the batch: the gradient of the row of the table, whole tiles */
    float *tiles;          /* gradients of weights, of as many units as a tile has: the trees of pieces so far */
    float *weights;        /* those of some units, packed */
    float **part;          /* while an id's groups are added up: their gradients, and of which leaves they are */
    int64_t *part_leaf;
} groups;

typedef struct backward {
    lookup_layer y;
    const hr__tile *tile;
    const hr__pairs_tile *pairs; /* of the same width, for bfloat16; NULL: floats are multiplied */
    groups *groups;              /* by column; the last ones are the dense values' */
    const float *grad;           /* [rows, units] */
    float *parts; /* the same, in parts of as many units as a tile has, the last one filled up with zeros */
    int64_t leaves;
    float *weights_grad;
    float **values; /* by column */
} backward;

/* Each row is a group, with or without an id. */
static void groups_are_rows(const groups *g, const lookup_column *c, int64_t rows)
{
    int64_t leaf = 0;
    for (int64_t r = 0; r < rows; r++) g->place[r] = c->place[r];
    for (int64_t from = 0; from < rows; from += LEAF) g->leaf[leaf++] = from;
    g->leaf[leaf] = rows;
}

/* Groups of each leaf, in the order of their first rows; their rows lie in order, too. */
static void groups_find(const groups *g, const lookup_column *c, int64_t rows)
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
            /* Whether the leaf has the id is as good as random, so there is no branch on it. */
            const int32_t slot = g->slot[u], group = slot < first ? count : slot;
            g->place[count] = u;
            g->fill[count] = 0;
            count += slot < first;
            g->slot[u] = group;
            g->fill[group]++;
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

static void groups_take_factors(const backward *b, const groups *g, const lookup_column *c)
{
    const int64_t depth = lookup_column_width(c);
    for (int64_t i = 0; i < g->leaf[b->leaves]; i++) {
        const float *row = g->place[i] < 0 ? b->y.zeros : c->l.table.table + c->found.rows[g->place[i]] * depth;
        for (int64_t j = 0; j < depth; j++) g->factors[i * depth + j] = row[j];
    }
}

/* A run of a column's factors, or of the dense values, all of one leaf. */
typedef struct piece {
    int64_t leaf, first, count;
} piece;

/* The next one; {0} comes before the first. False: there is none. */
static bool next_piece(const backward *b, const groups *g, const lookup_column *c, piece *p)
{
    const int64_t rows = b->y.rows;
    p->first += p->count;
    for (; p->leaf < b->leaves; p->leaf++) {
        const int64_t all = rows - p->leaf * LEAF < LEAF ? rows : (p->leaf + 1) * LEAF;
        const int64_t end = c && c->single ? g->leaf[p->leaf + 1] : all;
        p->count = end - p->first < PIECE ? end - p->first : PIECE;
        if (p->count > 0) return true;
    }
    return false;
}

/* Pairs of the factors of each piece. */
static void groups_round(const backward *b, const groups *g, const lookup_column *c)
{
    const int64_t depth = c ? lookup_column_width(c) : b->y.dense_width;
    const float *factors = !c ? b->y.dense : c->single ? g->factors : c->factors;
    uint32_t *to = g->pairs;
    for (piece p = {0}; next_piece(b, g, c, &p); to += hr__pairs_of(p.count) * depth)
        hr__pairs_across(factors + p.first * depth, depth, p.count, depth, to, depth);
}

static void add_to(float *to, const float *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

/* The product of `count` factors, turned, and gradients: out [depth, a tile's width]. */
static void piece_multiply(const backward *b, const float *factors, int64_t depth, const float *sums, int64_t count,
                           float *out)
{
    const int64_t width = b->tile->width, pieces = (depth + SIX - 1) / SIX;
    for (int64_t q = 0; q < pieces; q++) {
        const int64_t r = depth * q / pieces, end = depth * (q + 1) / pieces;
        b->tile->direct[end - r - 1](factors + r, depth, 1, sums, width, count, out + r * width, width);
    }
}

/* The same of pairs. */
static void piece_multiply_pairs(const backward *b, const uint32_t *factors, int64_t depth, const float *sums,
                                 int64_t count, float *out)
{
    uint32_t rounded[PIECE / 2 * MAX_WIDTH];
    const uint32_t *second = rounded;
    const int64_t width = b->tile->width;
    hr__pairs_across(sums, width, count, width, rounded, width);
    for (int64_t r = 0; r < depth; r += SIX) {
        const int64_t there = depth - r < SIX ? depth - r : SIX;
        const uint32_t *first[SIX];
        for (int i = 0; i < SIX; i++) first[i] = factors + r + (i < there ? i : 0);
        hr__pairs_six_rows(b->pairs, first, depth, &second, 1, hr__pairs_of(count), out + r * width, width, there,
                           false);
    }
}

/* The tiles of two trees of as many pieces become one. `count`: pieces so far. */
static int tree_add(const groups *g, int64_t count, int64_t size, int tiles)
{
    for (int64_t n = count; n % 2 == 0; n /= 2, tiles--)
        add_to(g->tiles + (tiles - 2) * size, g->tiles + (tiles - 1) * size, size);
    return tiles;
}

/* The same as piece_by_row. */
static void piece_by_row_pairs(const groups *g, int64_t depth, int64_t padded, int64_t first, const float *sums,
                               int64_t sums_row, int64_t count, int64_t units, bool add)
{
    uint32_t rounded[PIECE * MAX_WIDTH / 2];
    const uint32_t *packed = (const uint32_t *)(const void *)g->weights;
    const int64_t pairs = hr__pairs_of(units);
    for (int64_t i = 0; i < count; i++) hr__pairs_along(sums + i * sums_row, units, rounded + i * pairs);
    for (int64_t d = 0; d < depth;) {
        const hr__pairs_tile *tile = hr__pairs_tile_of(hr__tile_for(depth - d)->width);
        for (int64_t i = 0; i < count; i += SIX) {
            const int64_t there = count - i < SIX ? count - i : SIX;
            const uint32_t *a[SIX];
            for (int r = 0; r < SIX; r++) a[r] = rounded + (i + (r < there ? r : 0)) * pairs;
            hr__pairs_six_rows(tile, a, 1, &packed, 1, pairs, g->by_row + (first + i) * padded + d, padded, there, add);
        }
        packed += pairs * tile->width;
        d += tile->width;
    }
}

/* Of some units: their share of the gradients of the rows of the table. */
static void piece_by_row(const groups *g, int64_t depth, int64_t padded, int64_t first, const float *sums,
                         int64_t sums_row, int64_t count, int64_t units, bool add)
{
    const float *packed = g->weights;
    for (int64_t d = 0; d < depth;) {
        const hr__tile *tile = hr__tile_for(depth - d);
        for (int64_t i = 0; i < count; i += SIX) {
            const int64_t there = count - i < SIX ? count - i : SIX;
            const float *a[SIX];
            for (int r = 0; r < SIX; r++) a[r] = sums + (i + (r < there ? r : 0)) * sums_row;
            hr__tile_six_rows(tile, a, &packed, 1, units, g->by_row + (first + i) * padded + d, padded, there, add);
        }
        packed += units * tile->width;
        d += tile->width;
    }
}

static void backward_pack(const backward *b, const groups *g, const lookup_column *c, int64_t unit, int64_t there)
{
    const lookup_layer *y = &b->y;
    const int64_t depth = lookup_column_width(c);
    const float *from = y->weights + c->at * y->units + unit;
    float *to = g->weights;
    for (int64_t d = 0, width; d < depth; d += width) {
        width = hr__tile_for(depth - d)->width;
        if (b->pairs)
            hr__pairs_panel_pack(from + d * y->units, 1, y->units, there, depth - d < width ? depth - d : width, width,
                                 (uint32_t *)(void *)to);
        else
            hr__panel_pack(from, 1, y->units, there, depth, d, to);
        to += (b->pairs ? hr__pairs_of(there) : there) * width;
    }
}

/* Of as many units as a tile has. `c` NULL: of the dense values. */
static void backward_units(const backward *b, const groups *g, const lookup_column *c, int64_t unit)
{
    const lookup_layer *y = &b->y;
    float sums[PIECE * MAX_WIDTH];
    const int64_t width = b->tile->width, there = y->units - unit < width ? y->units - unit : width;
    const int64_t depth = c ? lookup_column_width(c) : y->dense_width, padded = hr__panels_width(depth);
    const float *grad = b->parts + y->rows * unit;
    const uint32_t *pairs = g->pairs;
    int tiles = 0;
    int64_t pieces = 0;
    if (c) backward_pack(b, g, c, unit, there);
    for (piece p = {0}; next_piece(b, g, c, &p);) {
        const float *of = grad + p.first * width, *factors = !c ? y->dense : c->single ? g->factors : c->factors;
        if (c && c->once) {
            b->tile->sums(grad, width, g->order, g->begin + p.first, p.count, sums, width, false);
            of = sums;
        }
        if (b->pairs)
            piece_multiply_pairs(b, pairs, depth, of, p.count, g->tiles + tiles * depth * width);
        else
            piece_multiply(b, factors + p.first * depth, depth, of, p.count, g->tiles + tiles * depth * width);
        pairs += hr__pairs_of(p.count) * depth;
        tiles = tree_add(g, ++pieces, depth * width, tiles + 1);
        if (!c) continue;
        (b->pairs ? piece_by_row_pairs : piece_by_row)(g, depth, padded, p.first, of, width, p.count, there, unit > 0);
    }
    if (tiles == 0) memset(g->tiles, 0, (size_t)(depth * width) * sizeof *g->tiles); /* no row has an id */
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

/* The gradients of the rows of the table from those of groups: of one leaf, */
static void backward_add_leaf(const groups *g, const lookup_column *c, float *values)
{
    const int64_t depth = lookup_column_width(c), padded = hr__panels_width(depth);
    memset(values, 0, (size_t)(c->found.count * depth) * sizeof *values);
    for (int64_t i = 0; i < g->leaf[1]; i++)
        if (g->place[i] >= 0) add_to(values + g->place[i] * depth, g->by_row + i * padded, depth);
}

/* of several. */
static void backward_add_leaves(const backward *b, const groups *g, const lookup_column *c, float *values)
{
    const int64_t depth = lookup_column_width(c), padded = hr__panels_width(depth), ids = c->found.count;
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
static void backward_spread(const backward *b, const groups *g, const lookup_column *c, float *values)
{
    const int64_t depth = lookup_column_width(c), padded = hr__panels_width(depth);
    memset(values, 0, (size_t)(c->found.count * depth) * sizeof *values);
    for (int64_t r = 0; r < b->y.rows; r++) /* rows move together first: r * depth <= r * padded */
        memmove(g->by_row + r * depth, g->by_row + r * padded, (size_t)depth * sizeof *values);
    for (int64_t r = 0; r < b->y.rows; r++) lookup_spread_row(&c->l, r, g->by_row, c->place, values);
}

/* Item: a column; the last one: the dense values. */
static void backward_items(int64_t first, int64_t last, void *user)
{
    const backward *b = user;
    const lookup_layer *y = &b->y;
    for (int64_t i = first; i < last; i++) {
        const lookup_column *c = i < y->columns ? &y->column[i] : NULL;
        const groups *g = &b->groups[i];
        if (c && c->single) {
            (c->once ? groups_find : groups_are_rows)(g, c, y->rows);
            groups_take_factors(b, g, c);
        }
        if (b->pairs) groups_round(b, g, c);
        for (int64_t unit = 0; unit < y->units; unit += b->tile->width) backward_units(b, g, c, unit);
        if (c && c->single && b->leaves == 1)
            backward_add_leaf(g, c, b->values[i]);
        else if (c && c->single)
            backward_add_leaves(b, g, c, b->values[i]);
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
static hr_status groups_take_memory(hr_kernel *k, const backward *b, groups *g, const lookup_column *c, hr_error *err)
{
    const int64_t depth = c ? lookup_column_width(c) : b->y.dense_width, padded = hr__panels_width(depth);
    const int64_t pieces = b->y.rows / PIECE + b->leaves;
    int64_t levels = 2, tiles, by_row = 0, factors = 0, pairs = 0, all;
    float *values;
    for (int64_t n = pieces; n > 0; n /= 2) levels++;
    HR_TRY(hr_dim_mul(depth, b->tile->width * levels, &tiles, err));
    if (c) HR_TRY(hr_dim_mul(b->y.rows, padded, &by_row, err));
    if (c && c->single) HR_TRY(hr_dim_mul(b->y.rows, depth, &factors, err));
    if (b->pairs) HR_TRY(hr_dim_mul(b->y.rows / 2 + pieces, depth, &pairs, err));
    HR_TRY(hr_dim_add(tiles, by_row, &all, err));
    HR_TRY(hr_dim_add(all, factors, &all, err));
    HR_TRY(hr_dim_add(all, padded * b->tile->width, &all, err));
    HR_TRY(hr_kernel_array(k, all, sizeof *values, "the gradients of a layer", &values, err));
    HR_TRY(hr_kernel_array(k, pairs, sizeof *g->pairs, "the gradients of a layer", &g->pairs, err));
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
    const lookup_layer *y = &b->y;
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
    hr_kernel_parallel(k, parts, 0.4 * (double)(b->y.rows * width), backward_fill_parts, b);
    return HR_OK;
}

static hr_status backward_make_outputs(hr_kernel *k, backward *b, hr_error *err)
{
    const lookup_layer *y = &b->y;
    hr_tensor *weights_grad, *values, *indices;
    HR_TRY(hr_kernel_array(k, y->columns, sizeof *b->values, "the gradients of a layer", &b->values, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(y->inner, y->units), &weights_grad, err));
    b->weights_grad = weights_grad->data;
    if (y->rows == 0 && weights_grad->count > 0)
        memset(b->weights_grad, 0, (size_t)weights_grad->count * sizeof(float));
    for (int i = 0; i < y->columns; i++) {
        const lookup_column *c = &y->column[i];
        HR_TRY(hr_kernel_output(k, 1 + i, HR_SHAPE(c->found.count, lookup_column_width(c)), &values, err));
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
    lookup_layer *y = &b.y;
    HR_TRY(hr__layer_take_inputs(k, y, err));
    const int last = 2 * y->columns + y->parts + 1;
    const hr_tensor *grad = k->input[last];
    if (!hr_shape_equal(grad->shape, HR_SHAPE(y->rows, y->units)))
        return hr__layer_refuse("a gradient for each row and unit", err);
    HR_TRY(hr__layer_take_ids(k, y, last + 1, err));
    HR_TRY(backward_make_outputs(k, &b, err));
    if (y->rows == 0 || y->units == 0) return HR_OK;
    b.grad = grad->data;
    b.tile = hr__tile_for(y->units);
    if (y->bfloat16) b.pairs = hr__pairs_tile_of(b.tile->width);
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

const hr_graph_op hr_graph_ops_lookup_matmul_grad_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>LookupMatMulGrad",
        .inputs = LAYER_INPUTS ", grad:float, " LAYER_FOUND,
        .outputs = "weights_grad:float, values:N*float, indices:N*int64",
        .attrs = LAYER_ATTRS,
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .shape = layer_grad_shape,
        .compute = backward_compute,
    },
    HR_GRAPH_OPS_END,
};
