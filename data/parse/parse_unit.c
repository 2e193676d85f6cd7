/* Rows of Examples on their way into columns: where the values of slots go, and how components are made of them. */
#include "data/parse/parse_spec.h"
#include <string.h>

/* A list grows where its values will lie in the end, or beside the rows if they are only a part of something.
 * (There is one piece of scratch: it holds the slots.) */
hr_status hr__parse_grow(hr__example_rows *slots, int slot, int64_t capacity, hr_error *err)
{
    hr__parse_unit *u = slots->user;
    hr__example_column *c = &slots->column[slot];
    const int home = u->plan->home[slot];
    if (capacity < hr__parse_count(u)) capacity = hr__parse_count(u); /* most lists have a value or more a row */
    if (home >= 0) {
        u->rows->column[u->first + home].count = c->count;
        HR_TRY(hr_grow_column(u->work, u->rows, u->first + home, capacity, err));
        c->values = u->rows->column[u->first + home].values;
    } else {
        void *more = hr_row_bytes(u->work, u->rows, (size_t)capacity * sizeof(hr_view));
        if (!more) return hr_no_memory(err, "a list of values");
        if (c->count) memcpy(more, c->values, (size_t)c->count * sizeof(hr_view));
        c->values = more;
    }
    c->capacity = capacity;
    return HR_OK;
}

/* The column of a slot: its component's own, or beside the rows. The splits of a partitioned feature are made again
 * later. */
static hr_status open_slot(hr__parse_unit *u, int slot, hr_error *err)
{
    const int home = u->plan->home[slot];
    hr__example_column *c = &u->slots.column[slot];
    const size_t splits = ((size_t)hr__parse_count(u) + 1) * sizeof *c->splits;
    *c = (hr__example_column){0};
    if (home >= 0 && u->plan->output[home].kind == HR_FIXED_LEN) {
        c->values = u->rows->column[u->first + home].values;
        return HR_OK;
    }
    if (home >= 0 && u->plan->output[home].partitions == 0)
        c->splits = u->rows->column[u->first + home].splits[0];
    else
        c->splits = hr_row_bytes(u->work, u->rows, splits);
    if (!c->splits) return hr_no_memory(err, "a list of values");
    memset(c->splits, 0, splits);
    return HR_OK;
}

hr_status hr__parse_open(hr__parse_unit *u, hr_error *err)
{
    u->slots.column = hr_scratch(u->work, (size_t)u->plan->slots * sizeof *u->slots.column);
    if (!u->slots.column) return hr_no_memory(err, "parse_example");
    for (int slot = 0; slot < u->plan->slots; slot++) HR_TRY(open_slot(u, slot, err));
    u->slots.grow = hr__parse_grow;
    u->slots.user = u;
    return HR_OK;
}

/* Another component has the slot's values, this one gets a copy. */
hr_status hr__parse_copy_values(hr__parse_unit *u, int output, hr_error *err)
{
    const hr__example_column *from = &u->slots.column[u->plan->output[output].slot];
    const int32_t count = from->splits[hr__parse_count(u)];
    HR_TRY(hr_grow_column(u->work, u->rows, u->first + output, count, err));
    const hr_column *to = &u->rows->column[u->first + output];
    if (count) memcpy(to->values, from->values, (size_t)count * hr_dtype_size(u->plan->field[output].dtype));
    return HR_OK;
}

static hr_status copy_slot(hr__parse_unit *u, int output, hr_error *err)
{
    const hr__parse_output *o = &u->plan->output[output];
    HR_TRY(hr__parse_copy_values(u, output, err));
    if (o->partitions == 0)
        memcpy(u->rows->column[u->first + output].splits[0], u->slots.column[o->slot].splits,
               ((size_t)hr__parse_count(u) + 1) * sizeof(int32_t));
    return HR_OK;
}

/* ---- inner splits ---- */

/* Rows that a level's splits ask for of the level below. */
static int64_t parse_unit_reach(const int32_t *splits, int64_t count)
{
    int64_t max = 0;
    for (int64_t i = 0; i <= count; i++)
        if (splits[i] > max) max = splits[i];
    return max;
}

hr_status hr__parse_keep_splits(hr__parse_unit *u, int column, hr_error *err)
{
    hr_column *c = &u->rows->column[column];
    const size_t size = hr_dtype_size(u->rows->schema->field[column].dtype);
    int64_t length[HR_MAX_RAGGED] = {u->rows->rows}, entries = 0;
    bool strings = false;
    if (!c->splits[1]) return HR_OK;
    for (int i = 0; i < u->rows->schema->fields; i++) strings |= u->rows->schema->field[i].dtype == HR_STRING;
    if (!strings) return HR_OK;
    for (int level = 1; level < HR_MAX_RAGGED && c->splits[level]; level++) {
        length[level] = parse_unit_reach(c->splits[level - 1], length[level - 1]);
        entries += length[level] + 1;
    }
    const size_t unit = sizeof(int32_t), first = ((size_t)c->count * size + unit - 1) / unit * unit;
    const size_t end = first + (size_t)entries * unit;
    HR_TRY(hr_grow_column(u->work, u->rows, column, (int64_t)((end + size - 1) / size), err));
    char *at = (char *)c->values + first;
    for (int level = 1; level < HR_MAX_RAGGED && c->splits[level]; level++) {
        const size_t bytes = ((size_t)length[level] + 1) * sizeof(int32_t);
        c->splits[level] = memcpy(at, c->splits[level], bytes);
        at += bytes;
    }
    return HR_OK;
}

static hr_status close_output(hr__parse_unit *u, int output, hr_error *err)
{
    const hr__parse_output *o = &u->plan->output[output];
    if (o->kind == HR_FIXED_LEN) return HR_OK;
    if (o->kind == HR_SPARSE_FEATURE) return hr__parse_sparse(u, output, err);
    if (!o->own_slot) HR_TRY(copy_slot(u, output, err));
    u->rows->column[u->first + output].count = u->slots.column[o->slot].splits[hr__parse_count(u)];
    if (o->kind != HR_RAGGED_FEATURE) return HR_OK;
    HR_TRY(hr__parse_ragged(u, output, err));
    return hr__parse_keep_splits(u, u->first + output, err);
}

hr_status hr__parse_close(hr__parse_unit *u, hr_error *err)
{
    for (int i = 0; i < u->plan->outputs; i++) HR_TRY(close_output(u, i, err));
    return HR_OK;
}
