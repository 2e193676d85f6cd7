/* Compressed CSV as TensorFlow 2.15 reads it, for .tf_compat: a stream that is cut ends cleanly, a second zlib stream
 * is not read, damage loses the 4 MiB around it. The default mode reads by hr_input, which says all that. Not a
 * public header. */
#ifndef HR_CSV_TF_INPUT_H
#define HR_CSV_TF_INPUT_H

#include "io/io.h"

typedef struct hr__tf_input hr__tf_input;

hr_status hr__tf_input_open(const char *path, hr_compression compression, hr__tf_input **out, hr_error *err);
/* As hr_input_peek, hr_input_consume, hr_input_seek. */
hr_status hr__tf_input_peek(hr__tf_input *in, size_t at_least, const char **data, size_t *size, hr_error *err);
void hr__tf_input_consume(hr__tf_input *in, size_t size);
hr_status hr__tf_input_seek(hr__tf_input *in, int64_t offset, hr_error *err);
void hr__tf_input_free(hr__tf_input *in); /* NULL: nothing */

#endif
