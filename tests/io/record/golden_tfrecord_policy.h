/* The damaged files of the golden topic tfrecord under the policies skip and resync. */
#ifndef GOLDEN_TFRECORD_POLICY_H
#define GOLDEN_TFRECORD_POLICY_H

#include "tests/golden/golden.h"
#include <headrace/io.h>

/* The record that was delivered as number `i` is the one of the list with that number, or any of it. */
bool golden_as_written(const cJSON *records, int64_t i, bool any, hr_view record);
/* Reads `pattern` (file names, one a line) by each policy that `expect` names: what is delivered, what is told to be
 * lost. */
golden_result golden_compare_policies(golden_case *c, const char *pattern, hr_compression compression,
                                      const cJSON *expect);

#endif
