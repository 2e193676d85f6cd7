/* The file below a record reader. Not a public header. */
#ifndef HR_RECORD_INPUT_H
#define HR_RECORD_INPUT_H

#include <headrace/io.h>

HR_API hr_input *hr__record_input(const hr_record_reader *reader); /* lends: not to be read from */

#endif
