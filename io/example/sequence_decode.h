/* The inside of the SequenceExample reader, shared by the walk of protobuf's rules and TensorFlow's. */
#ifndef HR_SEQUENCE_DECODE_H
#define HR_SEQUENCE_DECODE_H

#include "io/example/example_decode.h"
#include "io/example/sequence_reader.h"

/* One record on its way. Both walks have its bytes and its row. */
typedef struct hr__sequence_walk {
    hr__walk context, lists;
    hr__sequence_rows *rows;
} hr__sequence_walk;

/* A new step of a list, and where its values go; the step's end, once they are there. */
hr_status hr__step_open(const hr__sequence_walk *walk, int slot, hr__sink *sink);
hr_status hr__step_close(const hr__sequence_walk *walk, const hr__sink *sink);

/* Lists begin: none of them seen. They end: the row's splits, and what is missing. */
void hr__lists_begin(const hr__sequence_walk *walk);
hr_status hr__lists_finish(const hr__sequence_walk *walk);
void hr__lists_empty(const hr__sequence_walk *walk); /* a row without steps, after a failure */

hr_status hr__sequence_tf(const hr__sequence_walk *walk);

#endif
