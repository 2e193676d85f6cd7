/* Integers bit by bit, as numpy broadcasts them: and, or, exclusive or, shifts; of one input: the complement, and how many
 * bits are set. */
#include <headrace/kernels.h>

/* As TensorFlow, by at least no bit and at most all but one. */
#define SHIFT (y > (T)(8 * sizeof(T) - 1) ? (T)(8 * sizeof(T) - 1) : y > 0 ? y : 0)
HR_BINARY(bitwise_and, x &y, ints)
HR_BINARY(bitwise_or, x | y, ints)
HR_BINARY(bitwise_xor, x ^ y, ints)
HR_BINARY(left_shift, (U)x << SHIFT, ints)
HR_BINARY(right_shift, x >> SHIFT, ints)
HR_UNARY(invert, ~x, ints)

/* The bits of a value of its own size: a negative one is not extended. */
#define COUNT(T, V, U, DTYPE, SUFFIX, NAME, EXPR) HR_UNARY_LOOP_(T, V, U, SUFFIX, uint8_t, u8, NAME, EXPR)
HR_EACH_TYPE(COUNT, population_count, __builtin_popcountll((uint64_t)x &UINT64_MAX >> (64 - 8 * sizeof(T))), ints)

#define BITWISE(NAME, TRAITS, LOOP)                                                                                    \
    HR_BROADCAST_OP(NAME, HR_NO_GRADIENT | (TRAITS), .3, .kernels = HR_KERNELS(LOOP, ints))
#define OF_ONE(NAME, LOOP) HR_SAME_SHAPE_OP(NAME, HR_NO_GRADIENT, .4, .kernels = HR_KERNELS(LOOP, ints))
const hr_graph_op hr_graph_ops_bitwise_ops[] = {
    BITWISE("BitwiseAnd", HR_COMMUTATIVE, bitwise_and),
    BITWISE("BitwiseOr", HR_COMMUTATIVE, bitwise_or),
    BITWISE("BitwiseXor", HR_COMMUTATIVE, bitwise_xor),
    BITWISE("LeftShift", 0, left_shift),
    BITWISE("RightShift", 0, right_shift),
    OF_ONE("Invert", invert),
    OF_ONE("PopulationCount", population_count),
    HR_GRAPH_OPS_END,
};

HR_BINARY_CONSTRUCTOR(hr_bitwise_and, "BitwiseAnd")
HR_BINARY_CONSTRUCTOR(hr_bitwise_or, "BitwiseOr")
HR_BINARY_CONSTRUCTOR(hr_bitwise_xor, "BitwiseXor")
HR_BINARY_CONSTRUCTOR(hr_left_shift, "LeftShift")
HR_BINARY_CONSTRUCTOR(hr_right_shift, "RightShift")
HR_UNARY_CONSTRUCTOR(hr_invert, "Invert")
HR_UNARY_CONSTRUCTOR(hr_population_count, "PopulationCount")
