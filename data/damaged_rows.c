/* Rows left out by a policy. Which ones is a function of the data; rows are looked at on any thread, so a budget is
 * held against what all threads have seen together. */
#include "data/damaged_rows.h"
#include <string.h>

/* ---- a row ---- */

hr_status hr__damaged_rows_mark(hr__damaged_rows *d, int64_t row, hr_error *err)
{
    const size_t words = (size_t)(d->rows->rows + 63) / 64;
    if (!d->keep) {
        d->keep = hr_malloc(words * sizeof *d->keep);
        if (!d->keep) return hr_no_memory(err, d->who);
        memset(d->keep, 0xff, words * sizeof *d->keep);
    }
    d->keep[row / 64] &= ~(UINT64_C(1) << row % 64);
    return HR_OK;
}

static bool is_marked(const hr__damaged_rows *d, int64_t row)
{
    return d->keep && !(d->keep[row / 64] >> row % 64 & 1);
}

static hr_status damaged_rows_pass_over(hr__damaged_rows *d, int64_t row, hr_error *damage, hr_view bytes,
                                        hr_error *err)
{
    hr_row_place(d->work, d->rows, row, damage);
    if (damage->length < 0) damage->length = bytes.size;
    HR_TRY(hr__policy_take(d->policy, damage, bytes, err));
    HR_TRY(hr__damaged_rows_mark(d, row, err));
    const int64_t errors = hr_work_count(d->work, d->passed, 1);
    return hr__policy_budget(d->policy, d->who, errors, hr_work_count(d->work, d->seen, 0), damage, err);
}

void hr__damaged_row(hr__damaged_rows *d, int64_t row, const hr_error *damage, hr_view bytes)
{
    hr_error place = *damage, failed = *damage;
    if (row >= d->rows->rows || is_marked(d, row)) return;
    if (hr__policy_covers(d->policy, damage) && damaged_rows_pass_over(d, row, &place, bytes, &failed) == HR_OK) return;
    hr_fail_at(d->work, d->rows, row, &failed);
}

/* ---- leaving them out ---- */

hr_status hr__damaged_rows_check(const hr__policy *policy, const char *who, int levels, hr_error *err)
{
    if (!policy || levels <= 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "policy.batches",
                   "%s: expected records or batches of them, got batches of batches, which have to stay even; "
                   "parse below the second batch",
                   who);
}

/* Where each batch ends among the rows that are kept; one without rows goes. Gives how many there are. */
static int64_t close_batches(const hr__damaged_rows *d, int32_t *splits)
{
    const hr_columns *rows = d->rows;
    int64_t batches = 0, row = 0;
    int32_t kept = 0;
    splits[0] = 0;
    for (int64_t e = 0; e < rows->elements; e++) {
        for (; row < rows->splits[0][e + 1]; row++) kept += !is_marked(d, row);
        if (kept > splits[batches]) splits[++batches] = kept;
    }
    return batches;
}

/* hr_keep_rows knows rows only, so for its call every row is an element. What it does may be to make all arrays
 * again. */
static hr_status drop_from_batches(hr__damaged_rows *d, hr_error *err)
{
    const size_t size = ((size_t)d->rows->elements + 1) * sizeof(int32_t);
    int32_t *closed = hr_malloc(size);
    if (!closed) return hr_no_memory(err, d->who);
    const int64_t batches = close_batches(d, closed);
    d->rows->levels = 0;
    d->rows->elements = d->rows->rows;
    hr_status status = hr_keep_rows(d->work, d->rows, d->keep, err);
    int32_t *splits = status == HR_OK ? hr_row_bytes(d->work, d->rows, size) : NULL;
    if (status == HR_OK && !splits) status = hr_no_memory(err, d->who);
    if (status == HR_OK) {
        d->rows->splits[0] = memcpy(splits, closed, size);
        d->rows->levels = 1;
        d->rows->elements = batches;
    }
    hr_free(closed);
    return status;
}

hr_status hr__damaged_rows_drop(hr__damaged_rows *d, hr_error *err)
{
    if (!d->keep) return HR_OK;
    const hr_status status = d->rows->levels ? drop_from_batches(d, err) : hr_keep_rows(d->work, d->rows, d->keep, err);
    hr_free(d->keep);
    return status;
}
