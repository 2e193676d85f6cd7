/* The combinations of the inputs of a cross, hashed: one value of each input, and the last input varies fastest. */
#include "base/fingerprint.h"
#include <headrace/column_kernels.h>

typedef struct cross {
    const hr_cross_input *input;
    int inputs;
    uint64_t hash_key;
    hr_divisor divisor;
} cross;

static int64_t features_in_row(const hr_cross_input *input, int64_t row)
{
    return input->splits ? input->splits[row + 1] - input->splits[row] : input->width;
}

static int64_t cross_first_of_row(const hr_cross_input *input, int64_t row)
{
    return input->splits ? input->splits[row] : row * input->width;
}

/* How many combinations there are, and the splits of the rows into them. */
static int64_t cross_count(const cross *c, hr_column_work *w, int64_t rows, int32_t *splits)
{
    int64_t total = 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t crosses = 1;
        for (int i = 0; i < c->inputs && crosses > 0 && crosses <= INT32_MAX; i++)
            crosses *= features_in_row(&c->input[i], r);
        if (crosses > INT32_MAX - total) {
            hr_error err;
            hr_fail(&err, HR_INVALID_ARGUMENT, "column.cross_count",
                    "crossed_column: expected at most %d combinations in a batch, got more", INT32_MAX);
            hr_column_fail_row(w, r, &err);
            crosses = 0;
        }
        total += crosses;
        splits[r + 1] = (int32_t)total;
    }
    return total;
}

/* One row whose inputs have several features: the last one varies fastest. */
static void cross_row(const cross *c, int64_t row, int64_t count, int64_t *ids)
{
    int64_t at[HR_MAX_CROSS] = {0};
    for (int64_t n = 0; n < count; n++) {
        uint64_t hash = c->hash_key;
        for (int i = 0; i < c->inputs; i++)
            hash =
                hr__fingerprint_cat64_inline(hash, c->input[i].hashes[cross_first_of_row(&c->input[i], row) + at[i]]);
        ids[n] = (int64_t)hr_remainder(c->divisor, hash);
        for (int i = c->inputs - 1; i >= 0; i--) {
            if (++at[i] < features_in_row(&c->input[i], row)) break;
            at[i] = 0;
        }
    }
}

/* Every input has exactly one feature a row: no places to work out. */
static void cross_single(const cross *c, int64_t rows, int64_t *ids)
{
    if (c->inputs == 2) {
        const uint64_t *a = c->input[0].hashes, *b = c->input[1].hashes;
        for (int64_t r = 0; r < rows; r++) {
            uint64_t hash = hr__fingerprint_cat64_inline(hr__fingerprint_cat64_inline(c->hash_key, a[r]), b[r]);
            ids[r] = (int64_t)hr_remainder(c->divisor, hash);
        }
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        uint64_t hash = c->hash_key;
        for (int i = 0; i < c->inputs; i++) hash = hr__fingerprint_cat64_inline(hash, c->input[i].hashes[r]);
        ids[r] = (int64_t)hr_remainder(c->divisor, hash);
    }
}

static bool all_single(const cross *c, int64_t rows)
{
    for (int i = 0; i < c->inputs; i++) {
        if (!c->input[i].splits) {
            if (c->input[i].width != 1) return false;
            continue;
        }
        int32_t other = 0;
        for (int64_t r = 0; r <= rows; r++) other |= c->input[i].splits[r] ^ (int32_t)r;
        if (other != 0) return false;
    }
    return true;
}

hr_status hr_column_cross(hr_column_work *w, const hr_cross_input *input, int inputs, uint64_t hash_key,
                          hr_divisor buckets, int64_t rows, hr_column_values *out, hr_error *err)
{
    const cross c = {.input = input, .inputs = inputs, .hash_key = hash_key, .divisor = buckets};
    int32_t *splits = hr_column_splits(w);
    if (!splits) return hr_no_memory(err, "crossed_column");
    const int64_t total = cross_count(&c, w, rows, splits);
    int64_t *ids = hr_column_ids(w, total);
    if (!ids) return hr_no_memory(err, "crossed_column");
    if (all_single(&c, rows))
        cross_single(&c, rows, ids);
    else
        for (int64_t r = 0; r < rows; r++) cross_row(&c, r, splits[r + 1] - splits[r], ids + splits[r]);
    *out = (hr_column_values){.dtype = HR_INT64, .rows = rows, .values = ids, .count = total, .splits = splits};
    return HR_OK;
}
