/* Components whose rows differ in length, as tensors: sequences padded to the longest row of the batch, ragged and
 * sparse ones. Splits begin at 0 in every element, and count what has the inner shape: of a field of shape [?, 2]
 * pairs. Without a batch the one row loses its level: a list is then a plain vector. */
#include "data/dataset.h"
#include "data/element.h"
#include <string.h>

typedef struct varying {
    const hr_element *e;
    const hr_field *f;
    const hr_column *from;
    hr__component *c;
    int64_t dims[HR_MAX_RANK]; /* the batch's */
    int rank;                  /* 0: no batch, one row */
    int depth;                 /* levels of splits */
    int64_t inner;             /* values in what the innermost splits count */
} varying;

static void *component_memory(hr__component *c, size_t size)
{
    if (c->memory && c->capacity >= size) return c->memory;
    void *grown = hr_realloc(c->memory, size + size / 2 + 64);
    if (!grown) return NULL;
    c->capacity = size + size / 2 + 64;
    return c->memory = grown;
}

static int32_t *component_splits(hr__component *c, size_t count)
{
    if (c->splits && c->split_capacity >= count) return c->splits;
    int32_t *grown = hr_realloc(c->splits, (count + count / 2 + 16) * sizeof *grown);
    if (!grown) return NULL;
    c->split_capacity = count + count / 2 + 16;
    return c->splits = grown;
}

static void add_dims(hr_shape *shape, const int64_t *dims, int count)
{
    for (int i = 0; i < count && shape->rank < HR_MAX_RANK; i++) shape->dims[shape->rank++] = dims[i];
}

static void *value_at(const varying *v, int64_t i)
{
    return v->from->values ? (char *)v->from->values + (size_t)i * hr_dtype_size(v->f->dtype) : NULL;
}

/* ---- ragged ---- */

static size_t splits_needed(const varying *v, int level, int64_t first, int64_t end)
{
    size_t needed = 1;
    for (int l = level; l < v->depth; l++) {
        needed += (size_t)(end - first) + 1;
        first = v->from->splits[l][first];
        end = v->from->splits[l][end];
    }
    return needed;
}

/* One level of splits as the element has it: the column's own where they begin at 0 and count what they should. */
static const int32_t *level_splits(const int32_t *of, int64_t count, int32_t unit, int32_t **memory)
{
    if (of[0] == 0 && unit == 1) return of;
    int32_t *to = *memory;
    const int32_t first = of[0];
    if (unit == 1) /* nothing to divide: many at a time */
        for (int64_t i = 0; i <= count; i++) to[i] = of[i] - first;
    else
        for (int64_t i = 0; i <= count; i++) to[i] = (of[i] - first) / unit;
    *memory += count + 1;
    return to;
}

/* Splits from `level` on, for its entries first..end; gives the run of values below them. */
static bool make_splits(const varying *v, int level, int64_t *first, int64_t *end)
{
    hr_tensor *t = &v->c->tensor;
    int32_t *to = component_splits(v->c, splits_needed(v, level, *first, *end));
    if (!to) return false;
    for (int l = level; l < v->depth; l++) {
        const int32_t *of = v->from->splits[l];
        const int32_t unit = l == v->depth - 1 ? (int32_t)v->inner : 1;
        t->splits[t->ragged_rank++] = level_splits(of + *first, *end - *first, unit, &to);
        *first = of[*first];
        *end = of[*end];
    }
    return true;
}

static bool make_ragged(const varying *v)
{
    hr_tensor *t = &v->c->tensor;
    const int drop = v->rank == 0;
    int64_t first = v->e->first, end = v->e->end;
    if (drop) {
        end = v->from->splits[0][first + 1];
        first = v->from->splits[0][first];
        int64_t rows = v->depth > 1 ? end - first : (end - first) / v->inner;
        add_dims(&t->shape, &rows, 1);
    }
    add_dims(&t->shape, v->dims, v->rank);
    add_dims(&t->shape, v->f->shape.dims + drop, v->f->shape.rank - drop);
    if (drop && v->f->shape.rank > 1 && v->depth == 1) {
        t->shape.rank = 1;
        add_dims(&t->shape, v->f->shape.dims + 1, v->f->shape.rank - 1);
    }
    if (!make_splits(v, drop, &first, &end)) return false;
    if (t->ragged_rank == 0) t->layout = HR_DENSE;
    t->count = (end < v->from->count ? end : v->from->count) - first;
    t->data = value_at(v, first);
    return true;
}

/* ---- dense, of varying length ---- */

static int64_t longest_row(const varying *v)
{
    const int32_t *splits = v->from->splits[0];
    int64_t longest = 0;
    for (int64_t r = v->e->first; r < v->e->end; r++)
        if (splits[r + 1] - splits[r] > longest) longest = splits[r + 1] - splits[r];
    return longest;
}

static bool make_padded(const varying *v)
{
    hr_tensor *t = &v->c->tensor;
    const int32_t *splits = v->from->splits[0];
    const size_t size = hr_dtype_size(v->f->dtype);
    const void *pad = v->f->pad ? v->f->pad : hr_zero_value(v->f->dtype);
    const int64_t width = longest_row(v), steps = width / v->inner;
    add_dims(&t->shape, v->dims, v->rank);
    add_dims(&t->shape, &steps, 1);
    add_dims(&t->shape, v->f->shape.dims + 1, v->f->shape.rank - 1);
    t->count = (v->e->end - v->e->first) * width;
    t->data = value_at(v, splits[v->e->first]);
    if (v->rank == 0) return true;
    char *to = component_memory(v->c, (size_t)t->count * size + 1);
    if (!to) return false;
    t->data = to;
    for (int64_t r = v->e->first; r < v->e->end; r++, to += (size_t)width * size) {
        const int64_t count = splits[r + 1] - splits[r];
        if (count) memcpy(to, value_at(v, splits[r]), (size_t)count * size);
        for (int64_t i = count; i < width; i++) memcpy(to + (size_t)i * size, pad, size);
    }
    return true;
}

/* ---- sparse ---- */

/* The batch's own dimensions of a row; the outermost takes what is left. */
static void write_row(const varying *v, int64_t *to, int64_t row)
{
    for (int d = v->rank - 1; d > 0; d--) {
        to[d] = row % v->dims[d];
        row /= v->dims[d];
    }
    if (v->rank > 0) to[0] = row;
}

/* The row, then the place in it. */
static void write_index(const varying *v, int64_t *to, int64_t row, int64_t place)
{
    const int own = v->f->shape.rank;
    for (int d = own - 1; d > 0; d--) {
        to[v->rank + d] = place % v->f->shape.dims[d];
        place /= v->f->shape.dims[d];
    }
    to[v->rank] = place;
    write_row(v, to, row);
}

/* Values of a row one by one, or where a second level of splits divides them, as (step, position). */
static void write_row_indices(const varying *v, int64_t *index, int64_t row)
{
    const int32_t *splits = v->from->splits[0], *steps = v->from->splits[1];
    const int64_t first = splits[v->e->first + row], end = splits[v->e->first + row + 1];
    const int rank = v->c->tensor.shape.rank;
    for (int64_t i = first; i < end && !steps; i++, index += rank)
        write_index(v, index, row, v->from->inner ? v->from->inner[i] : i - first);
    for (int64_t s = first; s < end && steps; s++) {
        for (int32_t i = steps[s]; i < steps[s + 1]; i++, index += rank) {
            write_row(v, index, row);
            index[v->rank] = s - first;
            index[v->rank + 1] = i - steps[s];
        }
    }
}

static int64_t longest_step(const varying *v)
{
    const int32_t *steps = v->from->splits[1];
    int64_t longest = 0;
    for (int64_t s = v->from->splits[0][v->e->first]; steps && s < v->from->splits[0][v->e->end]; s++)
        if (steps[s + 1] - steps[s] > longest) longest = steps[s + 1] - steps[s];
    return longest;
}

/* Where the values of each row begin, whatever divides them further; gives the run of all values. */
static bool make_starts(const varying *v, int64_t *first, int64_t *end)
{
    hr_tensor *t = &v->c->tensor;
    const int32_t *splits = v->from->splits[0] + v->e->first, *steps = v->from->splits[1];
    const int64_t rows = v->e->end - v->e->first;
    int32_t *to = component_splits(v->c, (size_t)rows + 1);
    if (!to) return false;
    *first = steps ? steps[splits[0]] : splits[0];
    *end = steps ? steps[splits[rows]] : splits[rows];
    for (int64_t r = 0; r <= rows; r++) to[r] = (steps ? steps[splits[r]] : splits[r]) - (int32_t)*first;
    t->splits[0] = to;
    return true;
}

static bool make_sparse(const varying *v)
{
    hr_tensor *t = &v->c->tensor;
    int64_t first, end;
    if (v->rank + v->f->shape.rank > HR_MAX_RANK || !make_starts(v, &first, &end)) return false;
    add_dims(&t->shape, v->dims, v->rank);
    add_dims(&t->shape, v->f->shape.dims, v->f->shape.rank);
    if (v->f->shape.dims[0] < 0) t->shape.dims[v->rank] = v->from->dense_width ? v->from->dense_width : longest_row(v);
    if (v->f->shape.rank > 1 && v->f->shape.dims[1] < 0) t->shape.dims[v->rank + 1] = longest_step(v);
    t->count = end - first;
    t->data = value_at(v, first);
    const int rank = t->shape.rank;
    int64_t *index = component_memory(v->c, (size_t)t->count * (size_t)rank * sizeof *index + 1);
    if (!index) return false;
    t->indices = index;
    for (int64_t r = 0; r < v->e->end - v->e->first; r++)
        write_row_indices(v, index + (size_t)t->splits[0][r] * (size_t)rank, r);
    return true;
}

/* Those of its first parts: batches of unequal ones are refused when they are made. */
int hr__element_dims(const hr_element *e, int64_t *dims)
{
    const hr_columns *c = e->columns;
    int64_t first = e->index;
    int rank = 0;
    if (e->run) dims[rank++] = e->end - e->first;
    for (int l = e->level; l < c->levels && rank < HR_MAX_RANK; l++) {
        dims[rank++] = c->splits[l][first + 1] - c->splits[l][first];
        first = c->splits[l][first];
    }
    return rank;
}

bool hr__element_varying(const hr_element *e, int i)
{
    varying v = {.e = e, .f = &e->schema->field[i], .from = &e->columns->column[i], .c = &e->component[i], .inner = 1};
    const hr_shape *shape = &v.f->shape;
    v.rank = hr__element_dims(e, v.dims);
    while (v.depth < HR_MAX_RAGGED && v.from->splits[v.depth]) v.depth++;
    for (int d = v.depth; v.f->layout != HR_SPARSE && d < shape->rank; d++)
        if (shape->dims[d] > 0) v.inner *= shape->dims[d];
    if (v.f->layout == HR_SPARSE) return make_sparse(&v);
    return v.f->layout == HR_RAGGED ? make_ragged(&v) : make_padded(&v);
}
