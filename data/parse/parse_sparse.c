/* Sparse features: the values of one key at the places that other keys give. A row's places must be as many as its
 * values and lie within the shape; in tf_compat only the counts of a whole batch must agree, and places are taken as
 * they come, as far as one number can hold them. */
#include "data/parse/parse_spec.h"
#include <stdlib.h>
#include <string.h>

/* A value's place in its row, flat and row-major, and where the value lies. */
typedef struct place {
    int64_t flat, value;
} place;

typedef struct sparse {
    hr__parse_unit *u;
    int output;
    const hr__parse_output *o;
    const hr__example_column *values;
    const hr_shape *shape;
    int64_t width; /* places below one index of the first dimension */
    place *place;  /* of the current row */
    size_t size;   /* of a value */
} sparse;

static const hr__example_column *indices_of(const sparse *s, int dimension)
{
    return &s->u->slots.column[s->o->index_slot[dimension]];
}

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->flat != y->flat) return x->flat < y->flat ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* As many indices in every dimension as there are values, or all of the rows fail. */
static bool counts_agree(sparse *s, int64_t from, int64_t to)
{
    const long long values = s->values->splits[to] - s->values->splits[from];
    for (int d = 0; d < s->o->indices; d++) {
        const int32_t *splits = indices_of(s, d)->splits;
        const long long indices = splits[to] - splits[from];
        if (indices == values) continue;
        for (int64_t row = from; row < to; row++)
            hr__parse_fail(s->u, s->output, row, "example.index",
                           "expected as many indices as values, found %lld and %lld", indices, values);
        return false;
    }
    return true;
}

/* Of a place in several dimensions one number is kept: it can tell that the first index lies beyond the shape, where
 * any other index would be taken for another place. */
static bool is_held(const sparse *s, int dimension, int64_t index)
{
    if (index >= 0 && index < s->shape->dims[dimension]) return true;
    if (!s->u->slots.tf_compat || dimension > 0) return false;
    return s->o->indices == 1 || (index >= 0 && index < INT64_MAX / s->width);
}

/* The places of `count` values, their indices beginning at number `first` of each list (from `row` on). */
static bool place_row(sparse *s, int64_t row, int64_t first, int64_t value, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t flat = 0;
        for (int d = 0; d < s->o->indices; d++) {
            const int64_t index =
                ((const int64_t *)indices_of(s, d)
                     ->values)[indices_of(s, d)->splits[first] + value - s->values->splits[first] + i];
            const int64_t size = s->shape->dims[d];
            if (!is_held(s, d, index)) {
                hr__parse_fail(s->u, s->output, row, "example.index",
                               "expected indices from 0 to %lld, found %lld; change its shape", (long long)size - 1,
                               (long long)index);
                return false;
            }
            flat = flat * (uint64_t)size + (uint64_t)index;
        }
        s->place[i] = (place){(int64_t)flat, value + i};
    }
    if (s->o->already_sorted) return true;
    int64_t sorted = 1;
    while (sorted < count && s->place[sorted - 1].flat <= s->place[sorted].flat) sorted++;
    if (sorted < count) qsort(s->place, (size_t)count, sizeof *s->place, compare_places);
    return true;
}

/* Rows from..to belong together; values are dealt out as the first dimension has indices. Gives the column's new
 * count. */
static int64_t fill_rows(sparse *s, int64_t from, int64_t to, int64_t at)
{
    hr_column *c = &s->u->rows->column[s->output];
    const int32_t *splits = indices_of(s, 0)->splits;
    const bool agree = counts_agree(s, from, to);
    for (int64_t row = from; row < to; row++) {
        const int64_t count = splits[row + 1] - splits[row];
        const int64_t value = s->values->splits[from] + splits[row] - splits[from];
        if (agree && place_row(s, row, from, value, count))
            for (int64_t i = 0; i < count; i++, at++) {
                memcpy((char *)c->values + (size_t)at * s->size,
                       (const char *)s->values->values + (size_t)s->place[i].value * s->size, s->size);
                c->inner[at] = s->place[i].flat;
            }
        c->splits[0][row + 1] = (int32_t)at;
    }
    return at;
}

static hr_status open_sparse(sparse *s, hr_error *err)
{
    hr_columns *rows = s->u->rows;
    hr_column *c = &rows->column[s->output];
    const int64_t max = s->values->splits[rows->rows];
    c->count = 0;
    HR_TRY(hr_grow_column(s->u->work, rows, s->output, max, err));
    c->inner = hr_row_bytes(s->u->work, rows, ((size_t)max + 1) * sizeof *c->inner);
    s->place = hr_row_bytes(s->u->work, rows, ((size_t)max + 1) * sizeof *s->place);
    if (!c->inner || !s->place) return hr_no_memory(err, "sparse indices");
    c->dense_width = hr_shape_count(*s->shape);
    c->splits[0][0] = 0;
    return HR_OK;
}

hr_status hr__parse_sparse(hr__parse_unit *u, int output, hr_error *err)
{
    const hr__parse_output *o = &u->plan->output[output];
    sparse s = {.u = u,
                .output = output,
                .o = o,
                .values = &u->slots.column[o->slot],
                .shape = &u->plan->field[output].shape,
                .size = hr_dtype_size(u->plan->field[output].dtype)};
    int64_t at = 0, element = 0;
    s.width = 1;
    for (int d = 1; d < s.shape->rank; d++) s.width *= s.shape->dims[d] > 0 ? s.shape->dims[d] : 1;
    HR_TRY(open_sparse(&s, err));
    for (int64_t row = 0; row < u->rows->rows;) {
        const int64_t end = hr__parse_group(u, row, &element);
        at = fill_rows(&s, row, end, at);
        row = end;
    }
    u->rows->column[output].count = u->rows->column[output].splits[0][u->rows->rows];
    return HR_OK;
}
