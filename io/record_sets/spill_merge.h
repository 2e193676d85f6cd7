/* The second half of io/record_sets/spill.c: sorted runs of one file become one order. */
#ifndef HR_SPILL_MERGE_H
#define HR_SPILL_MERGE_H

#include "io/record_sets/spill.h"

/* What stands before each record in the file, in this machine's order of bytes. */
typedef struct hr__spill_head {
    uint64_t key, size;
    uint32_t crc, unused; /* CRC-32C of the record: what the disk gives back is looked at */
} hr__spill_head;

typedef struct hr__spill_run {
    int64_t begin, end; /* in the file */
} hr__spill_run;

/* Reads the runs with about `memory` bytes in all. */
hr_status hr__spill_merge_runs(int fd, const char *path, const hr__spill_run *run, int runs, size_t memory,
                               hr__spill_fn *fn, void *user, hr_error *err);

#endif
