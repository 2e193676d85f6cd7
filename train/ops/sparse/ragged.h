/* Row splits of ragged tensors as inputs of ops: what the files of this folder share. */
#ifndef HR_RAGGED_H
#define HR_RAGGED_H

#include <headrace/kernels.h>

/* Refuses splits that do not rise from 0 to at most `most` (-1: to anything), "graph.splits". */
static inline hr_status ragged_check(const hr_tensor *splits, int64_t most, hr_error *err)
{
    int64_t last = 0;
    bool rises = splits->shape.rank == 1 && splits->count > 0 && hr_int_at(splits, 0) == 0;
    for (int64_t i = 0; rises && i < splits->count; i++) {
        rises = hr_int_at(splits, i) >= last;
        last = hr_int_at(splits, i);
    }
    if (rises && (most < 0 || last <= most)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.splits",
                   "expected row splits that rise from 0 to at most %lld, got %lld of them up to %lld", (long long)most,
                   (long long)splits->count, (long long)last);
}

/* The same of nested splits, each of rows of the next, the last of rows of `values`; `whole`: the last one of each is
 * the number of these rows. */
static inline hr_status ragged_check_nested(const hr_tensor *const *splits, int64_t levels, const hr_tensor *values,
                                            bool whole, hr_error *err)
{
    if (values->shape.rank < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected values of rank 1 or more, got a scalar");
    for (int64_t i = 0; i < levels; i++) {
        const int64_t rows = i + 1 < levels ? splits[i + 1]->count - 1 : values->shape.dims[0];
        HR_TRY(ragged_check(splits[i], rows, err));
        if (whole && hr_int_at(splits[i], splits[i]->count - 1) != rows)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.splits",
                           "Final value of ragged splits must match the length the corresponding ragged values: "
                           "expected %lld, got %lld",
                           (long long)rows, (long long)hr_int_at(splits[i], splits[i]->count - 1));
    }
    return HR_OK;
}

#endif
