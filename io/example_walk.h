/* Reads any tf.Example without a spec: for tools that show what is in a file. By protobuf's rules, as the parser does. */
#ifndef HR_EXAMPLE_WALK_H
#define HR_EXAMPLE_WALK_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that a walk uses again and again. Begin with {0}. */
typedef struct hr__example_walk hr__example_walk;
HR_API hr__example_walk *hr__example_walk_new(void); /* gives; NULL: no memory */
HR_API void hr__example_walk_free(hr__example_walk *walk);

/* One feature of an Example: its values are a vector of int64, float or string, or of HR_INVALID_DTYPE if no kind is set. Borrowed
 * until the next walk. */
typedef struct hr__walked_feature {
    hr_view key;
    hr_tensor values;
} hr__walked_feature;

/* Reads a serialized Example: gives its features, of equal keys the last one, in the order of the record. */
HR_API hr_status hr__example_walk_record(hr__example_walk *walk, hr_view record, const hr__walked_feature **features,
                                         int *count, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
