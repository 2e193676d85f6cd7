/* tf.Example on the wire, reading: serialized records into columns, in one pass and without an object in between.
 *
 * A parser is compiled from the features asked for and then shared by all threads. Each thread has an order: what it
 * has learned about the order of features in these records. It changes speed, never a result.
 *
 * The rules are protobuf's: fields in any order, unknown ones skipped, packed, unpacked and split lists joined, of
 * two entries with one key the last counts, of two kinds in a feature the last counts. With tf_compat they are those
 * of TensorFlow's own parser. Either way nothing is read past a record but 64 bytes that must be readable after it,
 * and the inside of a feature that nobody asked for is not looked at. */
#ifndef HR_EXAMPLE_READER_H
#define HR_EXAMPLE_READER_H

#include <headrace/base.h>

typedef struct hr__example_parser hr__example_parser;
typedef struct hr__example_order hr__example_order;

/* One feature that is asked for; its number in the parser's list is its slot. Keys differ from each other. */
typedef struct hr__example_feature {
    hr_view key;
    hr_dtype dtype; /* of the column: int64, float, string; to widen: any type of number, or bool */
    /* int64 in the record goes into a column of any integers (if it fits), float or double (rounded); float into
     * double. */
    bool widen;
    int64_t count;             /* values a row; -1: a list, any number of them */
    int64_t group;             /* of a list: 0, or its values come in whole groups of so many (FixedLenSequence) */
    bool required;             /* a row without it fails; else it gets default_value, a list nothing */
    const void *default_value; /* `count` values, borrowed for as long as the parser lives; NULL: zeros, "" */
} hr__example_feature;

/* Gives *out. HR_INVALID_ARGUMENT for a type that no Example holds. Copies the features and their keys. */
HR_API hr_status hr__example_parser_new(const hr__example_feature *features, int count, hr__example_parser **out,
                                        hr_error *err);
HR_API void hr__example_parser_free(hr__example_parser *parser);                   /* NULL: nothing */
HR_API hr__example_order *hr__example_order_new(const hr__example_parser *parser); /* gives; NULL: no memory */
HR_API void hr__example_order_free(hr__example_order *order);                      /* NULL: nothing */

/* Where the values of a slot go: rows x count of them, or for a list `count` so far, with space for `capacity`. */
typedef struct hr__example_column {
    void *values;
    int32_t *splits; /* of a list: splits[row] is set before a row is parsed, splits[row + 1] after it */
    int64_t count, capacity;
} hr__example_column;

typedef struct hr__example_rows {
    hr__example_column *column; /* one a slot */
    /* Makes space for `capacity` values of a list, keeping those that are there: sets .values and .capacity. */
    hr_status (*grow)(struct hr__example_rows *rows, int slot, int64_t capacity, hr_error *err);
    void *user;
    bool tf_compat;
    bool single;       /* tf_compat: as parse_single_example does */
    bool generic_only; /* no fast path: what tests hold it against */
} hr__example_rows;

/* Parses a record into row `row`; rows come in order. Strings are views into the record. On failure the row has zeros,
 * empty strings and empty lists, and err names the feature: kinds example.wire, example.missing, example.kind,
 * example.count, example.range, all HR_INVALID_ARGUMENT. */
HR_API hr_status hr__example_parse(const hr__example_parser *parser, hr__example_order *order, hr__example_rows *rows,
                                   int64_t row, hr_view record, hr_error *err);

#endif
