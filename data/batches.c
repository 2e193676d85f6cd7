/* Whether the parts of a batch stack to a tensor: batches of batches must be equally large, and dense rows whose first
 * dimension varies equally long, unless there is a value that pads them. */
#include <headrace/op.h>
#include <inttypes.h>

static int32_t length(const int32_t *splits, int64_t i) { return splits[i + 1] - splits[i]; }

/* ---- batches in a batch ---- */

static bool same_lengths(const int32_t *splits, int64_t first, int64_t end)
{
    for (int64_t i = first; i + 1 < end; i++)
        if (length(splits, i) != length(splits, i + 1)) return false;
    return true;
}

static bool is_rectangular(const hr_columns *c, int64_t element)
{
    int32_t first = c->splits[0][element], end = c->splits[0][element + 1];
    for (int l = 1; l < c->levels; l++) {
        if (!same_lengths(c->splits[l], first, end)) return false;
        first = c->splits[l][first];
        end = c->splits[l][end];
    }
    return true;
}

static void check_sizes(const char *name, hr_work *w, hr_columns *rows)
{
    const int64_t whole = rows->elements - hr_work_partial(w);
    for (int64_t e = 0; rows->levels > 1 && e < whole; e++) {
        if (is_rectangular(rows, e)) continue;
        hr_error uneven;
        hr_fail(&uneven, HR_INVALID_ARGUMENT, "batch.uneven",
                "%s: expected batches of one size in a batch of them, got a shorter one; set .drop_remainder on the "
                "batch below",
                name);
        hr_fail_at(w, rows, hr_first_row(rows, e), &uneven);
    }
}

/* ---- rows in a batch ---- */

static bool needs_equal_rows(const hr_field *f) { return f->layout == HR_DENSE && !hr_field_fixed(f) && !f->pad; }

static void check_rows(const char *name, hr_work *w, hr_columns *rows, int field)
{
    const int32_t *splits = rows->column[field].splits[0];
    for (int64_t e = 0; e < rows->elements; e++) {
        const int64_t first = hr_first_row(rows, e), end = hr_first_row(rows, e + 1);
        if (same_lengths(splits, first, end)) continue;
        int64_t other = first + 1;
        while (length(splits, other) == length(splits, first)) other++;
        hr_error uneven;
        hr_fail(&uneven, HR_INVALID_ARGUMENT, "batch.rows",
                "%s: component '%.60s': expected %" PRId32 " values in each row of a batch as in its first one, got "
                "%" PRId32 "; use padded_batch or ragged_batch",
                name, rows->schema->field[field].name, length(splits, first), length(splits, other));
        hr_fail_at(w, rows, first, &uneven);
    }
}

void hr_batches_check(const char *name, hr_work *w, hr_columns *rows)
{
    check_sizes(name, w, rows);
    for (int i = 0; i < rows->schema->fields; i++)
        if (needs_equal_rows(&rows->schema->field[i])) check_rows(name, w, rows, i);
}
