/* Run-length coding, as a codec from outside the library. */
#ifndef RUN_LENGTH_CODEC_H
#define RUN_LENGTH_CODEC_H

#include <headrace/codec.h>

enum { RUN_LENGTH = HR_COMPRESSION_OUTSIDE + 1 };

/* From now on files called *.rle, and those that begin as one, are read and written. Once a process. */
hr_status run_length_register(hr_error *err);

#endif
