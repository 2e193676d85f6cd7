/* Serialized Examples straight into the outputs of the node that parses them. Not a public header. */
#ifndef HR_PARSE_RECORDS_H
#define HR_PARSE_RECORDS_H

#include <headrace/data.h>
#include <headrace/kernels.h>

/* What parses `sparse` features of any length, then `dense` ones of a fixed length; any number of threads at once.
 * Gives; NULL: a feature is of another kind, a key comes twice, or there is no memory. Borrows the features. */
typedef struct hr__record_parser hr__record_parser;
hr__record_parser *hr__record_parser_new(const hr_feature *features, int sparse, int dense);
void hr__record_parser_free(hr__record_parser *parser); /* NULL: nothing */

/* A vector of records. Outputs are, of the features of any length, all indices, all values, all shapes, then the dense
 * ones. True: the outputs are there. False: a record is damaged; the parser of pipelines says what is wrong. */
bool hr__parse_records(hr_kernel *k, hr__record_parser *parser);

#endif
