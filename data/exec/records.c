/* Rows that wait in an operator which holds single ones, such as a shuffle, are drawn from all over memory. By column
 * that is a miss of the cache for each value; so each row is also written down as a record, its values side by side, and
 * gathered from there.
 *
 * A record: how many values each varying column has (a byte each, up to a multiple of 8), the origin if there are any,
 * then the values in the order of the columns. */
#include "data/exec/engine.h"
#include <string.h>

/* Below so many columns the columns themselves are as near. */
enum { FEWEST_COLUMNS = 4, MOST_VALUES = 255, FEW_VALUES = 4 };

static bool varies(const hr_dataset *shape, int i) { return shape->width[i] == 0; }

static size_t counts_size(const hr_dataset *shape)
{
    size_t varying = 0;
    for (int i = 0; i < shape->out.schema.fields; i++) varying += varies(shape, i);
    return (varying + 7) & ~(size_t)7;
}

/* ---- writing ---- */

static bool is_plain(const rows *r, int i)
{
    const hr_column *c = &r->c.column[i];
    return !c->present && !c->inner && !c->splits[1];
}

static bool worth_it(const rows *r)
{
    const int fields = r->c.schema->fields;
    bool plain = fields >= FEWEST_COLUMNS && r->c.levels == 0 && r->c.rows > 0 && !r->c.number;
    for (int i = 0; i < fields && plain; i++) plain = is_plain(r, i);
    return plain;
}

/* Sizes of the records into at[1 ..]; false: some row has too many values for one. */
static bool measure(rows *r, size_t head, uint32_t *at)
{
    size_t fixed = head;
    for (int i = 0; i < r->c.schema->fields; i++) fixed += r->shape->width[i];
    for (int64_t row = 0; row < r->c.rows; row++) at[row + 1] = (uint32_t)fixed;
    int32_t most = 1;
    for (int i = 0; i < r->c.schema->fields; i++) {
        if (!varies(r->shape, i)) continue;
        const int32_t *splits = r->c.column[i].splits[0];
        const uint32_t width = (uint32_t)hr_dtype_size(r->c.schema->field[i].dtype);
        for (int64_t row = 0; row < r->c.rows; row++) {
            const int32_t count = splits[row + 1] - splits[row];
            if (count > most) most = count;
            at[row + 1] += (uint32_t)count * width;
        }
    }
    r->most_values = most;
    at[0] = 0;
    uint64_t size = 0;
    for (int64_t row = 0; row < r->c.rows; row++) at[row + 1] = (uint32_t)(size += at[row + 1]);
    return most <= MOST_VALUES && size < UINT32_MAX;
}

static void write_fixed(const rows *r, int i, char **to)
{
    const size_t width = r->shape->width[i];
    const char *from = r->c.column[i].values;
    for (int64_t row = 0; row < r->c.rows; row++, from += width) {
        if (width == sizeof(int64_t))
            memcpy(to[row], from, sizeof(int64_t));
        else
            memcpy(to[row], from, width);
        to[row] += width;
    }
}

static void write_varying(rows *r, int i, int number, char **to)
{
    const size_t width = hr_dtype_size(r->c.schema->field[i].dtype);
    const int32_t *splits = r->c.column[i].splits[0];
    const char *values = r->c.column[i].values;
    for (int64_t row = 0; row < r->c.rows; row++) {
        const int32_t first = splits[row], count = splits[row + 1] - first;
        r->record[r->record_at[row] + (uint32_t)number] = (char)(uint8_t)count;
        if (count == 1 && width == sizeof(int64_t))
            memcpy(to[row], values + (size_t)first * sizeof(int64_t), sizeof(int64_t));
        else if (count > 0)
            memcpy(to[row], values + (size_t)first * width, (size_t)count * width);
        to[row] += (size_t)count * width;
    }
}

static void write_records(rows *r, size_t counts, char **to)
{
    for (int64_t row = 0; row < r->c.rows; row++) {
        to[row] = r->record + r->record_at[row];
        if (r->c.origin) memcpy(to[row] + counts, &r->c.origin[row], sizeof *r->c.origin);
        to[row] += counts + (r->c.origin ? sizeof *r->c.origin : 0);
    }
    for (int i = 0, number = 0; i < r->c.schema->fields; i++) {
        if (varies(r->shape, i))
            write_varying(r, i, number++, to);
        else
            write_fixed(r, i, to);
    }
}

bool hr__rows_to_records(rows *r, hr_work *w)
{
    if (!worth_it(r)) return true;
    const size_t counts = counts_size(r->shape), head = counts + (r->c.origin ? sizeof *r->c.origin : 0);
    uint32_t *at = hr__rows_array(r, ((size_t)r->c.rows + 1) * sizeof *at);
    char **to = hr__work_scratch(w, &w->runs, (size_t)r->c.rows * sizeof *to);
    if (!at || !to) return false;
    if (!measure(r, head, at)) return true;
    char *record = hr__rows_array(r, (size_t)at[r->c.rows] + STRING_SLACK);
    if (!record) return false;
    r->record = record;
    r->record_at = at;
    write_records(r, counts, to);
    return true;
}

/* ---- gathering ---- */

/* All runs are of one stage's rows; a long run is copied faster by column. */
bool hr__records_serve(const rows *r, const hr_span *span, int64_t spans)
{
    bool serve = r->c.rows < 2 * spans;
    for (int64_t i = 0; i < spans && serve; i++) {
        const rows *from = (const rows *)span[i].in;
        serve = from->record && (from->c.origin != NULL) == (((const rows *)span[0].in)->c.origin != NULL);
    }
    return serve;
}

static void find_records(const hr_span *span, int64_t spans, const char **record)
{
    for (int64_t i = 0; i < spans; i++) {
        const rows *from = (const rows *)span[i].in;
        for (int32_t k = 0; k < span[i].count; k++) {
            const char *at = from->record + from->record_at[span[i].first + k];
            for (uint32_t line = 0; line < from->record_at[1]; line += 64) __builtin_prefetch(at + line);
            *record++ = at;
        }
    }
}

static void read_fixed(hr_column *to, size_t width, int64_t rows, const char **at)
{
    char *values = to->values;
    for (int64_t row = 0; row < rows; row++, values += width) {
        if (width == sizeof(int64_t))
            memcpy(values, at[row], sizeof(int64_t));
        else
            memcpy(values, at[row], width);
        at[row] += width;
    }
}

static int64_t count_values(const char **record, int number, int64_t rows)
{
    int64_t count = 0;
    for (int64_t row = 0; row < rows; row++) count += (uint8_t)record[row][number];
    return count;
}

/* Of eight bytes each, mostly none or one: copied without asking which. There is room for one more. */
static void read_varying(hr_column *to, size_t width, int number, int64_t rows, const char **record, const char **at)
{
    int32_t *splits = to->splits[0];
    char *values = to->values;
    for (int64_t row = 0; row < rows; row++) {
        const size_t count = (uint8_t)record[row][number], size = count * width;
        if (width == sizeof(int64_t) && count <= 1)
            memcpy(values, at[row], sizeof(int64_t));
        else
            memcpy(values, at[row], size);
        values += size;
        at[row] += size;
        splits[row + 1] = splits[row] + (int32_t)count;
    }
    to->count = splits[rows];
}

static int32_t most_values(const hr_span *span, int64_t spans)
{
    int32_t most = 1;
    for (int64_t i = 0; i < spans; i++) {
        const int32_t here = ((const rows *)span[i].in)->most_values;
        if (here > most) most = here;
    }
    return most;
}

static bool read_records(rows *r, const char **record, const char **at, int32_t most)
{
    const int64_t rows = r->c.rows;
    for (int i = 0, number = 0; i < r->c.schema->fields; i++) {
        hr_column *to = &r->c.column[i];
        const size_t width = hr_dtype_size(r->c.schema->field[i].dtype);
        if (!varies(r->shape, i)) {
            read_fixed(to, r->shape->width[i], rows, at);
            continue;
        }
        const int64_t room = most <= FEW_VALUES ? rows * most : count_values(record, number, rows);
        to->values = hr__rows_array(r, ((size_t)room + 1) * width);
        if (!to->values) return false;
        to->splits[0][0] = 0;
        read_varying(to, width, number++, rows, record, at);
    }
    return true;
}

bool hr__gather_records(rows *r, const hr_span *span, int64_t spans, hr_work *w)
{
    const int64_t rows = r->c.rows;
    const bool origins = span[0].in->origin != NULL;
    const size_t counts = counts_size(r->shape);
    const char **record = hr__work_scratch(w, &w->runs, 2 * (size_t)rows * sizeof *record), **at = record + rows;
    if (!record || !hr__rows_columns(r, r->shape, rows)) return false;
    if (origins && !(r->c.origin = hr__rows_array(r, (size_t)rows * sizeof *r->c.origin))) return false;
    find_records(span, spans, record);
    for (int64_t row = 0; row < rows; row++) {
        if (origins) memcpy(&r->c.origin[row], record[row] + counts, sizeof *r->c.origin);
        at[row] = record[row] + counts + (origins ? sizeof *r->c.origin : 0);
    }
    return read_records(r, record, at, most_values(span, spans));
}
