/* Datasets from the inside: the chain that an iterator cuts into stages. Immutable once made, so threads share them. */
#ifndef HR_DATASET_H
#define HR_DATASET_H

#include "base/hash_map.h"
#include <headrace/op.h>
#include <stdatomic.h>

struct hr_schema_builder {
    hr_schema schema;
    hr_field *field;
    int capacity;
    hr__map names; /* of the fields */
};

struct hr_dataset {
    atomic_int refs;
    const hr_op *given; /* as the caller made it, who keeps it */
    const hr_op *op;    /* `given`, or a copy in this library's size of one that is shorter */
    void *spec;
    bool spec_copied;
    hr_dataset **in;
    int inputs;
    int64_t place; /* names the operator in random keys: how many at or below it choose elements or draw */
    bool shares;   /* it, or an operator below, is HR_SAME_EACH_OPENING */
    atomic_uint_least64_t identity; /* hr__dataset_identity, once it was asked for; 0: not yet */
    hr_schema_builder out;
    size_t *width;  /* of each field: bytes of one row; 0: it varies */
    bool strings;   /* some field holds strings */
    hr_error error; /* code 0: sound */
};

/* `ds`; for NULL a dataset that says so. */
hr_dataset *hr__dataset_given(hr_dataset *ds);

/* Of the operators from `ds` down, their arguments and components: pipelines that differ have another one. */
uint64_t hr__dataset_identity(hr_dataset *ds);
/* A checksum of the arguments and components of its operator alone. */
uint32_t hr__dataset_arguments(const hr_dataset *ds);

/* What a function of an operator has returned, with the error that it has left in *err, which was without code and kind
 * before: a failure without an error gets one, and what is no failure but HR_OK becomes one. Kind op.failed. */
hr_status hr__op_answer(const hr_op *op, hr_status returned, hr_error *err);

/* The operator with its arguments: "batch(512, drop_remainder)"; what does not fit is cut off. */
void hr__dataset_describe(const hr_dataset *ds, char *text, size_t size);

#endif
