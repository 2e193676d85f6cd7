/* Golden cases of columns: columns from their JSON, features as the transformation takes them, its results. */
#ifndef CASE_COLUMNS_H
#define CASE_COLUMNS_H

#include "feature_columns/columns_internal.h"
#include "tests/golden/golden.h"

enum { MAX_COLUMNS = 64, MAX_FEATURES = 64 };

/* (x - subtract) / divide in float32, or x * multiply in the type of x. */
typedef struct case_normalizer {
    float subtract, divide;
    double multiply;
} case_normalizer;

typedef struct case_columns {
    golden_case *c;
    bool tf_compat, in_graph;
    hr_feature_column *column[MAX_COLUMNS];
    int columns;
    hr_feature_column *context[MAX_COLUMNS]; /* beside sequences */
    int contexts;
    hr_feature_column *categorical[MAX_COLUMNS * 4]; /* the categorical ones, also those inside of others */
    int categoricals;
    case_normalizer normalizer[MAX_COLUMNS];
    int normalizers;
    const char *not_built; /* a kind that does not exist yet */
    char file[1024];       /* of a vocabulary */

    const char *name[MAX_FEATURES];
    hr_tensor feature[MAX_FEATURES];
    hr_column_values values[MAX_FEATURES]; /* the same, as columns see them */
    int64_t lists[MAX_FEATURES];           /* of a feature of rank 3: how many lists a row has */
    int features;
    hr_iterator *iterator; /* lends the features that were parsed; NULL: they are the case's own */

    hr__transformer *transformer;
    hr_column_values *result; /* of the transformer's outputs */
    hr_error err;             /* the first failing row */
    void *memory[8192];
    int pieces;
} case_columns;

/* Columns of the case; a failed one is there, too. */
void case_columns_build(case_columns *cc, golden_case *c, bool tf_compat);
/* The same with normalizers that can be in a graph: (x - subtract) / divide. */
void case_columns_build_in_graph(case_columns *cc, golden_case *c);
void case_columns_free(case_columns *cc);
hr_column_list case_columns_list(const case_columns *cc);

/* The features of a JSON object of tensors. */
hr_status case_columns_features(case_columns *cc, const cJSON *features, hr_error *err);
/* Brings feature number i into the form that columns see. */
hr_status case_columns_values(case_columns *cc, int i, hr_error *err);
/* All columns on all features, with the categorical columns inside of others as well. */
hr_status case_columns_transform(case_columns *cc, hr_error *err);
const hr_column_values *case_columns_result(const case_columns *cc, const char *component);

void *case_memory(case_columns *cc, size_t bytes); /* zeroed, freed with the case */

/* A table by name out of an object of tensors: lends floats. */
const float *case_table(case_columns *cc, const cJSON *tables, const char *name);
/* The dense form of a column: rows x width. */
hr_status case_dense(case_columns *cc, const hr_feature_column *column, const cJSON *tables, float **out, int64_t *rows,
                     hr_error *err);
/* The dense form of a column of sequences: rows x steps x width, in the column's type. */
hr_status case_sequence(case_columns *cc, const hr_feature_column *column, const cJSON *tables, hr_tensor *out,
                        hr_error *err);

#endif
