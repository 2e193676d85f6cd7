/* Where rows go: the places that may be written to at the same time, each a shard, or the one that is being filled,
 * or the one file that there is. Not a public header. */
#ifndef HR_CONVERT_LANES_H
#define HR_CONVERT_LANES_H

#include "io/convert/format.h"

typedef struct hr__lane {
    hr_shard_writer *shards;
    int number;      /* of the lane in `shards` */
    hr_output *file; /* instead: a device */
    hr_status status;
    hr_error err;
} hr__lane;

typedef struct hr__lanes {
    hr_shard_writer *shards[2]; /* of a split each */
    int writers;
    hr_output *file;
    hr__lane *lane;
    int count[2], all; /* of a split */
} hr__lanes;

/* hr__lanes_close also after a failure. */
hr_status hr__lanes_open(const hr__convert_plan *plan, hr__lanes *lanes, hr_error *err);
/* A run before has written row `n` of a split. */
bool hr__lanes_have(const hr__lanes *lanes, int split, int64_t n);
/* Notes now and then, while no thread writes, from where a later run could resume. */
hr_status hr__lanes_note(hr__lanes *lanes, hr_error *err);
/* Writes what the format has for a record; the status stays in the lane. */
void hr__lane_write(hr__lane *lane, const char *bytes, size_t size);
hr_status hr__lanes_commit(hr__lanes *lanes, hr_convert_result *result, hr_error *err);
void hr__lanes_close(hr__lanes *lanes);

#endif
