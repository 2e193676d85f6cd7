/* The inside of the reader of Examples from JSON, shared by its two forms. Not a public header. */
#ifndef HR_JSON_EXAMPLES_H
#define HR_JSON_EXAMPLES_H

#include "base/number.h"
#include "io/example/example_wire.h"
#include "io/json/json_reader.h"
#include "io/schema/schema.h"
#include <headrace/examples.h>

/* The values of one feature, or of all steps of a feature list, while they come: as they stand on the wire, so that
 * they take no more memory than the record will. */
typedef struct hr__json_cell {
    hr__wire_values *step; /* their `bytes` are set when all are there */
    size_t steps, capacity;
    hr__text values; /* of all steps */
} hr__json_cell;

struct hr_json_reader {
    hr__json_reader json;
    hr_input *in;
    char *name;
    const hr__schema_file *schema; /* NULL: none */
    hr_example *example;
    hr__text key; /* of the member that is being read */
    hr__json_cell cell;
    size_t max; /* bytes of a record */
    int64_t record, line, offset;
    hr__rounded rounded; /* numbers that became float32 and are others now */
    hr_status status;    /* sticks when it is no longer HR_OK */
    hr_error error;
};

/* Reads a line of a file from now on, which is borrowed: number `line` of it, from 1, at `offset`. What was wrong
 * with the one before is forgotten. */
void hr__json_reader_line(hr_json_reader *r, hr_view text, int64_t line, int64_t offset);

/* What a value must be: HR_INVALID_DTYPE is what its literal says, or what the values before it are. */
typedef struct hr__json_want {
    hr_dtype dtype, stored;
} hr__json_want;

void hr__json_cell_begin(hr__json_cell *cell); /* empties it */
/* Begins a step, without values. */
hr_status hr__json_cell_open(hr__json_cell *cell, hr_dtype dtype, hr_error *err);
/* Adds the value of the last token to the last step: a scalar, or an object of one $ word. */
hr_status hr__json_add_value(hr_json_reader *r, hr__json_want want, hr_error *err);
hr_status hr__json_add_int64(hr_json_reader *r, hr_view digits, hr_dtype dtype, hr_error *err);
hr_status hr__json_add_float(hr_json_reader *r, hr_view text, hr_error *err); /* also "NaN" and its kin */
hr_status hr__json_add_bytes(hr_json_reader *r, hr_view bytes, hr_error *err);
hr_status hr__json_add_base64(hr_json_reader *r, hr_view text, hr_error *err);
/* Reads the next token, which must be of that kind; `what` says what it is in the error. */
hr_status hr__json_need(hr_json_reader *r, hr__json_kind kind, const char *what, hr_error *err);
/* The kind that $int64, $float, $bytes or $b64 stands for; HR_INVALID_DTYPE: it is none of these words. */
hr_dtype hr__json_kind_of_word(hr_view word);
/* "expected EXPECTED, found ...", at the last token; names the feature. */
hr_status hr__json_mismatch(const hr_json_reader *r, const char *expected, hr_error *err);
/* The type that the schema gives to r->key. False: the schema does not name it. */
bool hr__json_wanted(const hr_json_reader *r, hr__json_want *want);
/* Puts what the cell holds into the Example, as the feature (the feature list) r->key. */
hr_status hr__json_store(hr_json_reader *r, bool list, hr_error *err);

/* hr_example_to_json, appended to a text; after a failure part of it may be there. */
hr_status hr__example_to_json_text(hr_json_writer *writer, hr_view record, hr__text *to, hr_error *err);

/* protobuf's form (json_protobuf.c): a map {"age": {"int64List": ...}, ...}, of which the last token is the first key
 * or the end. */
hr_status hr__json_protobuf_features(hr_json_reader *r, hr_error *err);
hr_status hr__json_protobuf_lists(hr_json_reader *r, hr_error *err);

#endif
