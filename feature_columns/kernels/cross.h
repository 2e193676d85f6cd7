/* The combinations of the inputs of a cross, hashed: one value of each input, the last one varies fastest. Not a public
 * header. */
#ifndef HR__CROSS_H
#define HR__CROSS_H

#include "base/fingerprint.h"
#include "feature_columns/columns_internal.h"

enum { HR__MAX_CROSS = 32 };

/* An input of the cross: for each value what enters the chain of hashes. */
typedef struct hr__cross_input {
    const uint64_t *hashes;
    const int32_t *splits; /* NULL: `width` a row */
    int64_t width;
} hr__cross_input;

typedef struct hr__cross {
    int inputs;
    hr__cross_input input[HR__MAX_CROSS];
    uint64_t hash_key;
    hr__divisor divisor;
} hr__cross;

/* How many combinations there are; splits of the rows into them. More than splits can count fail their row. */
int64_t hr__cross_count(const hr__cross *c, hr_column_work *w, int64_t rows, int32_t *splits);
/* Their ids: `ids` has room for all of them. */
void hr__cross_ids(const hr__cross *c, int64_t rows, const int32_t *splits, int64_t *ids);

#endif
