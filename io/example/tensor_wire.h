/* A tensor as TensorFlow serializes it: tensorflow.TensorProto on the wire, read without memory of its own, and written.
 * (The trainer reads whole graphs by protobuf's library; rows of pipelines hold tensors as strings.) */
#ifndef HR_TENSOR_WIRE_H
#define HR_TENSOR_WIRE_H

#include "io/example/example_decode.h"
#include <headrace/base.h>

/* What a message holds; borrows it. */
typedef struct hr__tensor_wire {
    hr_dtype dtype;
    hr_shape shape;
    int64_t count; /* of the shape */
    hr__scan whole;
    hr__scan content; /* tensor_content: the values as they lie in memory; empty: they are in fields */
} hr__tensor_wire;

/* Finds type and shape. False: malformed, of an unknown or too long shape, or of no type that has values. */
bool hr__tensor_wire_read(hr_view message, hr__tensor_wire *out);
/* Puts `count` values there; of the last one that is there, those that are missing (zeros, if none is), as TensorFlow
 * does. Strings point into the message. False: malformed. */
bool hr__tensor_wire_values(const hr__tensor_wire *t, void *values);

/* The bytes that tf.io.serialize_tensor makes of dense values; as many as hr__tensor_wire_size says. */
size_t hr__tensor_wire_size(hr_dtype dtype, hr_shape shape, const void *values);
void hr__tensor_wire_put(hr_dtype dtype, hr_shape shape, const void *values, char *to);

#endif
