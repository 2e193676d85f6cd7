/* Ragged features: partitions turned into levels of splits, from the innermost to the outermost. A row's partition must
 * fit what it divides in that row, as tf.data has it of a function that parses one record. In tf_compat the partitions
 * of a batch are put together as TensorFlow does, which lets values slide from row to row; splits are then whatever
 * comes out, but never such that a reader leaves the values. */
#include "data/parse/parse_spec.h"
#include <string.h>

enum { SLACK = 1 << 20 /* rows of a record beyond its values: a bound for what a few damaged bytes can ask for */ };

/* A level being made. What it divides are units: values, or the rows of the level below. */
typedef struct level {
    hr__parse_unit *u;
    int output;
    const hr__parse_partition *p;
    const int32_t *units; /* rows + 1: the units of each row */
    const int32_t *loose; /* of units that are rows of several values: where those of each row begin; else NULL */
    int32_t *outer;       /* rows + 1: the rows of this level in each row; what is made */
    int32_t *splits;      /* outer's last + 1: the units of each of them; what is made */
    int64_t capacity, made;
    int64_t stop; /* the row after the current batch */
    hr_status status;
    hr_error *err;
} level;

typedef struct list {
    const int64_t *value;
    int64_t count;
} list;

static list parse_ragged_list_of(const level *v, int64_t row)
{
    if (v->p->slot < 0) return (list){0};
    const hr__example_column *c = &v->u->slots.column[v->p->slot];
    if (c->splits[row] == c->splits[row + 1]) return (list){0};
    return (list){(const int64_t *)c->values + c->splits[row], c->splits[row + 1] - c->splits[row]};
}

/* Space for `count` more splits, the last one included. */
static bool parse_ragged_reserve(level *v, int64_t count)
{
    if (v->made + count + 1 <= v->capacity) return true;
    int64_t capacity = 2 * v->capacity + count + 64;
    int32_t *more =
        v->made + count < INT32_MAX / 2 ? hr_row_bytes(v->u->work, v->u->rows, (size_t)capacity * sizeof *more) : NULL;
    if (!more) {
        v->status = hr_no_memory(v->err, "row splits");
        return false;
    }
    if (v->made) memcpy(more, v->splits, (size_t)v->made * sizeof *more);
    v->splits = more;
    v->capacity = capacity;
    return true;
}

/* ---- one row's partition: the ends of its rows, in units, or what is wrong ---- */

static bool ascends(list l, int64_t from, int64_t last)
{
    for (int64_t i = 0; i < l.count; from = l.value[i++])
        if (l.value[i] < from || l.value[i] > last) return false;
    return true;
}

/* No splits of no units are no rows; TensorFlow wants the 0 that they begin with. */
static bool needs_zero(const level *v) { return v->u->call->tf_compat && !v->u->steps; }

/* How many rows the list makes over `n` units; -1: it does not fit them. */
static int64_t parse_ragged_rows_of(const level *v, list l, int64_t n)
{
    int64_t sum = 0;
    switch (v->p->kind) {
    case HR_ROW_SPLITS:
        if (l.count == 0) return n == 0 && !needs_zero(v) ? 0 : -1;
        return l.value[0] == 0 && ascends(l, 0, n) && l.value[l.count - 1] == n ? l.count - 1 : -1;
    case HR_ROW_STARTS:
        if (l.count == 0) return n == 0 ? 0 : -1;
        return l.value[0] == 0 && ascends(l, 0, n) ? l.count : -1;
    case HR_ROW_LIMITS:
        return ascends(l, 0, n) && (l.count ? l.value[l.count - 1] : 0) == n ? l.count : -1;
    case HR_ROW_LENGTHS:
        for (int64_t i = 0; i < l.count; sum += l.value[i++])
            if (l.value[i] < 0 || l.value[i] > n - sum) return -1;
        return sum == n ? l.count : -1;
    case HR_VALUE_ROWIDS:
        if (l.count != n || !ascends(l, 0, n + SLACK)) return -1;
        return n ? l.value[n - 1] + 1 : 0;
    default:
        return n % v->p->length == 0 ? n / v->p->length : -1;
    }
}

/* Where row `i` of the partition ends, in units; asked for in ascending order, *at remembers the units passed. */
static int64_t end_of(const level *v, list l, int64_t i, int64_t n, int64_t *at)
{
    switch (v->p->kind) {
    case HR_ROW_SPLITS:
        return l.value[i + 1];
    case HR_ROW_STARTS:
        return i + 1 < l.count ? l.value[i + 1] : n;
    case HR_ROW_LIMITS:
        return l.value[i];
    case HR_ROW_LENGTHS:
        return *at += l.value[i];
    case HR_VALUE_ROWIDS:
        while (*at < n && l.value[*at] <= i) ++*at;
        return *at;
    default:
        return *at += v->p->length;
    }
}

/* Uniform rows innermost that the row's values do not fill: it has failed, but its values lie there. */
static bool has_rest(const level *v, int64_t row)
{
    return v->loose && (v->loose[row + 1] - v->loose[row]) % v->u->plan->output[v->output].inner != 0;
}

/* Rows one by one; one that does not fit fails, and what it has lies in one row. */
static void divide_rows(level *v)
{
    const int64_t rows = hr__parse_count(v->u);
    for (int64_t row = 0; row < rows && v->status == HR_OK; row++) {
        const int64_t first = v->units[row], n = v->units[row + 1] - first;
        const list l = parse_ragged_list_of(v, row);
        int64_t count = has_rest(v, row) ? -1 : parse_ragged_rows_of(v, l, n), at = 0;
        if (count < 0) {
            hr__parse_fail(
                v->u, v->output, row, "example.partition",
                "expected a partition that fits its %lld values or rows, found one of %lld numbers that does "
                "not",
                (long long)n, (long long)l.count);
            count = n > 0 || has_rest(v, row);
            if (!parse_ragged_reserve(v, 1)) return;
            if (count) v->splits[v->made++] = (int32_t)first;
        } else if (parse_ragged_reserve(v, count)) {
            for (int64_t i = 0; i < count; i++) {
                v->splits[v->made++] = (int32_t)first + (int32_t)(i ? at : 0);
                at = end_of(v, l, i, n, &at);
            }
        }
        v->outer[row + 1] = (int32_t)v->made;
    }
    if (v->status == HR_OK) v->splits[v->made] = v->units[rows];
}

/* ---- TensorFlow's way: the partitions of a batch as one ---- */

/* Appends one number to the splits of a batch that are made so far. */
static void add_split(level *v, int64_t value)
{
    if (v->status != HR_OK || !parse_ragged_reserve(v, 1)) return;
    v->splits[v->made++] = (int32_t)value;
}

/* `from` + `value`; what is too far for a split becomes one that no row may have. */
static int64_t parse_ragged_moved(int64_t from, int64_t value)
{
    const bool near =
        value >= INT32_MIN && value <= INT32_MAX && from + value >= INT32_MIN && from + value <= INT32_MAX;
    return near ? from + value : INT32_MIN;
}

/* row_limits and row_splits without their first: what ends a row begins the next one. */
static void join_limits(level *v, int64_t row, int64_t *end)
{
    list l = parse_ragged_list_of(v, row);
    for (int64_t i = v->p->kind == HR_ROW_SPLITS; i < l.count; i++) {
        add_split(v, *end);
        *end = parse_ragged_moved(v->units[row], l.value[i]);
    }
}

static void join_starts(level *v, int64_t row, int64_t *end)
{
    list l = parse_ragged_list_of(v, row);
    for (int64_t i = 0; i < l.count; i++) add_split(v, parse_ragged_moved(v->units[row], l.value[i]));
    *end = v->units[v->stop];
}

static void join_lengths(level *v, int64_t row, int64_t *end)
{
    list l = parse_ragged_list_of(v, row);
    for (int64_t i = 0; i < l.count; i++) {
        add_split(v, *end);
        *end = parse_ragged_moved(*end, l.value[i]);
    }
}

/* Row ids are counted, in whatever order they come. */
static void join_rowids(level *v, int64_t row, int64_t *end)
{
    list l = parse_ragged_list_of(v, row);
    int64_t rows = 0;
    for (int64_t i = 0; i < l.count; i++) {
        if (l.value[i] < 0 || l.value[i] > v->units[hr__parse_count(v->u)] + SLACK) return;
        if (l.value[i] >= rows) rows = l.value[i] + 1;
    }
    int64_t *length = hr_row_bytes(v->u->work, v->u->rows, (size_t)(rows + 1) * sizeof *length);
    if (!length) {
        v->status = hr_no_memory(v->err, "row splits");
        return;
    }
    memset(length, 0, (size_t)(rows + 1) * sizeof *length);
    for (int64_t i = 0; i < l.count; i++) length[l.value[i]]++;
    for (int64_t i = 0; i < rows; i++) {
        add_split(v, *end);
        *end += length[i];
    }
}

static void join_uniform(level *v, int64_t row, int64_t *end)
{
    const int64_t first = v->units[row] / v->p->length, next = v->units[row + 1] / v->p->length;
    for (int64_t i = first; i < next; i++) {
        add_split(v, *end);
        *end += v->p->length;
    }
}

/* The batch begins at row `first`, and its splits at number `made`. Row ids are as many as values in any case. */
static bool batch_is_sound(const level *v, int64_t first, int64_t made, int64_t end)
{
    const bool validate = v->u->plan->output[v->output].validate;
    bool sound = !validate || made == v->made || v->splits[made] == v->units[first];
    for (int64_t i = made; validate && i < v->made; i++)
        sound &= v->splits[i] <= (i + 1 < v->made ? v->splits[i + 1] : end);
    for (int64_t row = first; validate && v->p->kind == HR_VALUE_ROWIDS && row < v->stop; row++)
        sound &= ascends(parse_ragged_list_of(v, row), 0, INT64_MAX);
    return sound && (end == v->units[v->stop] || (!validate && v->p->kind != HR_VALUE_ROWIDS));
}

static void divide_batches(level *v)
{
    static void (*const join[])(level *, int64_t, int64_t *) = {
        [HR_ROW_SPLITS] = join_limits, [HR_ROW_LENGTHS] = join_lengths, [HR_ROW_STARTS] = join_starts,
        [HR_ROW_LIMITS] = join_limits, [HR_VALUE_ROWIDS] = join_rowids, [HR_UNIFORM_ROW_LENGTH] = join_uniform,
    };
    int64_t element = 0, end = 0;
    for (int64_t row = 0; row < hr__parse_count(v->u) && v->status == HR_OK;) {
        const int64_t stop = hr__parse_group(v->u, row, &element), made = v->made, first = row;
        end = v->units[row];
        v->stop = stop;
        for (; row < stop && v->status == HR_OK; row++) {
            join[v->p->kind](v, row, &end);
            v->outer[row + 1] = (int32_t)v->made;
        }
        const bool sound = v->status != HR_OK || batch_is_sound(v, first, made, end);
        for (int64_t r = first; !sound && r < stop; r++)
            hr__parse_fail(v->u, v->output, r, "example.partition",
                           "expected partitions that fit the values of the batch, found others");
    }
    if (v->status == HR_OK && parse_ragged_reserve(v, 0)) v->splits[v->made] = (int32_t)end;
}

/* Splits as TensorFlow makes them may point anywhere: rows that would lead a reader out of the level below fail, and so
 * do those whose ends cross. */
static void refuse_wild(level *v, int64_t units)
{
    const int64_t max = v->u->plan->output[v->output].inner == 1 ? units + SLACK : units;
    for (int64_t row = 0; row < hr__parse_count(v->u); row++) {
        const int32_t *s = v->splits + v->outer[row];
        const int64_t count = v->outer[row + 1] - v->outer[row];
        bool tame = s[0] <= s[count];
        for (int64_t i = 0; i <= count; i++) tame &= s[i] >= 0 && s[i] <= max;
        if (!tame)
            hr__parse_fail(v->u, v->output, row, "example.partition",
                           "expected a partition that stays within the values, found one that does not");
    }
}

/* ---- the feature ---- */

static hr_status make_level(level *v)
{
    const int64_t rows = hr__parse_count(v->u);
    v->outer = hr_row_bytes(v->u->work, v->u->rows, ((size_t)rows + 1) * sizeof *v->outer);
    if (!v->outer) return hr_no_memory(v->err, "row splits");
    v->outer[0] = 0;
    if (!parse_ragged_reserve(v, 0)) return v->status;
    if (hr__parse_whole_batches(v->u)) {
        divide_batches(v);
        if (v->status == HR_OK) refuse_wild(v, v->units[rows]);
    } else { /* in tf_compat, too: TensorFlow's tf.data takes no other ragged tensor out of a function */
        divide_rows(v);
    }
    return v->status;
}

/* Uniform rows innermost: values, by row or by batch, must fill them. */
static void check_inner(hr__parse_unit *u, int output, const int32_t *splits)
{
    const int64_t inner = u->plan->output[output].inner;
    int64_t element = 0;
    for (int64_t row = 0; inner > 1 && row < hr__parse_count(u);) {
        const int64_t stop = hr__parse_group(u, row, &element), count = splits[stop] - splits[row];
        for (; row < stop; row++)
            if (count % inner != 0)
                hr__parse_fail(u, output, row, "example.partition",
                               "expected values that fill rows of %lld, found %lld", (long long)inner,
                               (long long)count);
    }
}

/* The most that a level's splits ask for of the level below: TensorFlow's may ask for more than there is. */
static int64_t parse_ragged_reach(const level *v)
{
    int64_t max = 0;
    for (int64_t i = 0; i <= v->made; i++)
        if (v->splits[i] > max) max = v->splits[i];
    return max;
}

/* Splits beyond the last are empty rows, values beyond the last are zeros: nobody reads what is not there. */
static hr_status extend_splits(level *above, level *below)
{
    const int64_t need = parse_ragged_reach(above), last = below->splits[below->made];
    if (need <= below->made) return HR_OK;
    int64_t made = below->made;
    below->made++;
    if (!parse_ragged_reserve(below, need - made)) return below->status;
    below->made = made;
    for (int64_t i = made + 1; i <= need; i++) below->splits[i] = (int32_t)last;
    return HR_OK;
}

static hr_status extend_values(hr__parse_unit *u, int output, const level *innermost, hr_error *err)
{
    hr_column *c = &u->rows->column[u->first + output];
    const int64_t need = parse_ragged_reach(innermost);
    const size_t size = hr_dtype_size(u->plan->field[output].dtype);
    if (need <= c->count) return HR_OK;
    HR_TRY(hr_grow_column(u->work, u->rows, u->first + output, need, err));
    memset((char *)c->values + (size_t)c->count * size, 0, (size_t)(need - c->count) * size);
    for (int64_t i = c->count; u->plan->field[output].dtype == HR_STRING && i < need; i++)
        ((hr_view *)c->values)[i].data = "";
    return HR_OK;
}

/* What partitions divide: values, or the uniform rows innermost that they lie in, which begin again where values do
 * that are compared with each other. */
static const int32_t *innermost_units(hr__parse_unit *u, const hr__parse_output *o, hr_error *err)
{
    const int32_t *values = u->slots.column[o->slot].splits;
    const int64_t rows = hr__parse_count(u);
    if (o->inner == 1) return values;
    int32_t *units = hr_row_bytes(u->work, u->rows, ((size_t)rows + 1) * sizeof *units);
    if (!units) {
        hr_no_memory(err, "row splits");
        return NULL;
    }
    units[0] = 0;
    for (int64_t row = 0, element = 0; row < rows;) {
        const int64_t first = row, stop = hr__parse_group(u, row, &element);
        for (; row < stop; row++)
            units[row + 1] = units[first] + (int32_t)((values[row + 1] - values[first]) / o->inner);
    }
    return units;
}

/* The innermost splits count values. (Rows after one that failed may be cut off by now.) */
static void parse_ragged_count_values(level *v, int64_t inner)
{
    const int64_t rows = hr__parse_count(v->u);
    if (inner == 1) return;
    for (int64_t row = 0, element = 0; row < rows;) {
        const int64_t first = row, stop = hr__parse_group(v->u, row, &element);
        for (int64_t i = v->outer[first]; i < v->outer[stop]; i++)
            v->splits[i] = v->loose[first] + (v->splits[i] - v->units[first]) * (int32_t)inner;
        row = stop;
    }
    int32_t *end = &v->splits[v->outer[rows]];
    *end = v->loose[rows] + (*end - v->units[rows]) * (int32_t)inner;
}

hr_status hr__parse_ragged(hr__parse_unit *u, int output, hr_error *err)
{
    const hr__parse_output *o = &u->plan->output[output];
    hr_column *c = &u->rows->column[u->first + output];
    level levels[HR_MAX_RAGGED];
    check_inner(u, output, u->slots.column[o->slot].splits);
    const int32_t *units = innermost_units(u, o, err);
    if (!units) return HR_RESOURCE_EXHAUSTED;
    for (int i = o->partitions; i-- > 0;) {
        levels[i] = (level){.u = u, .output = output, .p = &o->partition[i], .units = units, .err = err};
        if (i + 1 == o->partitions && o->inner > 1) levels[i].loose = u->slots.column[o->slot].splits;
        HR_TRY(make_level(&levels[i]));
        units = levels[i].outer;
    }
    if (o->partitions == 0) return HR_OK;
    parse_ragged_count_values(&levels[o->partitions - 1], o->inner);
    for (int i = 0; i + 1 < o->partitions; i++) HR_TRY(extend_splits(&levels[i], &levels[i + 1]));
    HR_TRY(extend_values(u, output, &levels[o->partitions - 1], err));
    c->splits[0] = levels[0].outer;
    for (int i = 0; i < o->partitions; i++) c->splits[i + 1] = levels[i].splits;
    return HR_OK;
}
