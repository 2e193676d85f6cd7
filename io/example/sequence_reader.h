/* tf.SequenceExample on the wire, reading: the context goes into columns as the features of an Example do, a
 * feature list into a column of steps (its rows), each of them any number of values.
 *
 * Both halves are asked for by an Example parser: what the lists' parser calls a row is a step. The rules are those
 * of io/example/example_reader.h: protobuf's, or with tf_compat TensorFlow's own. Nothing is read past a record but 64
 * bytes that must be readable after it. */
#ifndef HR_SEQUENCE_READER_H
#define HR_SEQUENCE_READER_H

#include "io/example/example_reader.h"

/* Parsers, and what the thread has learned. The lists' features are lists (count -1); with a group above 0 each
 * step has exactly so many values. `required`: the list must be there, if only without steps. */
typedef struct hr__sequence_reader {
    const hr__example_parser *context, *lists;
    hr__example_order *context_order, *lists_order;
} hr__sequence_reader;

/* The steps of one list in all rows. */
typedef struct hr__sequence_steps {
    int32_t *splits; /* splits[row] is set before a row is parsed, splits[row + 1] after it */
    int64_t count, capacity;
} hr__sequence_steps;

typedef struct hr__sequence_rows {
    hr__example_rows context;
    hr__example_rows lists;    /* column[slot].splits has an entry a step, and one more: the first is 0 */
    hr__sequence_steps *steps; /* one a slot of the lists' parser */
    /* Makes space for `capacity` steps of a list: sets steps[slot].capacity and lists.column[slot].splits, which has
     * capacity + 1 entries. */
    hr_status (*grow)(struct hr__sequence_rows *rows, int slot, int64_t capacity, hr_error *err);
    void *user;
    bool tf_compat;
} hr__sequence_rows;

/* Parses a record into row `row`; rows come in order. Strings are views into the record. On failure the row is
 * empty, and err names the feature: the kinds are those of hr__example_parse. */
hr_status hr__sequence_parse(const hr__sequence_reader *reader, hr__sequence_rows *rows, int64_t row, hr_view record,
                             hr_error *err);
/* Makes the row that was parsed last one of nothing, as after a failure. */
void hr__sequence_empty(const hr__sequence_reader *reader, hr__sequence_rows *rows, int64_t row);

#endif
