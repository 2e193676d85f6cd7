/* What every operator that makes batches asks of them: parts that stack to a tensor. */
#ifndef HR_BATCHES_H
#define HR_BATCHES_H

#include "data/dataset.h"
#include <headrace/data.h>

/* Fails elements whose parts do not: batches of unequal sizes in a batch of them, rows of unequal lengths that nothing
 * pads. `name` begins the message. For work, once the rows are in their batches. */
void hr__batches_check(const char *name, hr_work *w, hr_columns *rows);

/* How many parts every element of `ds` has, where a batch below it drops the remainder; 0: not known. */
int64_t hr__full_batch_size(const hr_dataset *ds);

/* Rows as padded_batch makes them, without the batch: see hr_padded_batch_opts. Takes `in`. */
hr_dataset *hr__padded_rows(hr_dataset *in, const hr_shape *padded_shapes, const hr_tensor *padding_values);

#endif
