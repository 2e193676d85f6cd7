/* Serialized Examples straight into the outputs of the node that parses them. Not a public header. */
#ifndef HR_PARSE_RECORDS_H
#define HR_PARSE_RECORDS_H

#include <headrace/data.h>
#include <headrace/kernels.h>

/* A vector of records: `sparse` features of any length, whose outputs are all indices, all values, all shapes, then
 * `dense` ones of a fixed length. True: the outputs are there. False: a record is damaged, or a feature is of another
 * kind; the parser of pipelines says what is wrong, or does it. */
bool hr__parse_records(hr_kernel *k, const hr_feature *features, int sparse, int dense);

#endif
