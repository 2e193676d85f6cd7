/* Functions of angles, and the hyperbolic ones, value by value. */
#include <headrace/kernels.h>
#include <math.h>
#include <tgmath.h>

HR_UNARY(sin, sin(x), floats, halves, complexes)
HR_UNARY(cos, cos(x), floats, halves, complexes)
HR_UNARY(tan, tan(x), floats, halves, complexes)
HR_UNARY(asin, asin(x), floats, halves, complexes)
HR_UNARY(acos, acos(x), floats, halves, complexes)
HR_UNARY(atan, atan(x), floats, halves, complexes)
HR_UNARY(sinh, sinh(x), floats, halves, complexes)
HR_UNARY(cosh, cosh(x), floats, halves, complexes)
HR_UNARY(asinh, asinh(x), floats, halves, complexes)
HR_UNARY(acosh, acosh(x), floats, halves, complexes)
HR_UNARY(atanh, atanh(x), floats, halves, complexes)
HR_BINARY(atan2, atan2(x, y), floats, halves)

static hr_node one(hr_node x) { return hr_scalar_like(x, 1); }

HR_UNARY_GRADIENT(sin, hr_mul(g, hr_cos(x)))
HR_UNARY_GRADIENT(cos, hr_mul(hr_neg(g), hr_sin(x)))
HR_UNARY_GRADIENT(tan, hr_mul(g, hr_square(hr_reciprocal(hr_cos(x)))))
HR_UNARY_GRADIENT(asin, hr_mul(g, hr_reciprocal(hr_sqrt(hr_sub(one(x), hr_square(x))))))
HR_UNARY_GRADIENT(acos, hr_mul(hr_neg(g), hr_reciprocal(hr_sqrt(hr_sub(one(x), hr_square(x))))))
HR_UNARY_GRADIENT(atan, hr_mul(g, hr_reciprocal(hr_add(one(x), hr_square(x)))))
HR_UNARY_GRADIENT(sinh, hr_mul(g, hr_cosh(x)))
HR_UNARY_GRADIENT(cosh, hr_mul(g, hr_sinh(x)))
HR_UNARY_GRADIENT(asinh, hr_div(g, hr_cosh(y)))
HR_UNARY_GRADIENT(acosh, hr_div(g, hr_sinh(y)))
HR_UNARY_GRADIENT(atanh, hr_mul(g, hr_reciprocal(hr_sub(one(x), hr_square(x)))))
HR_BINARY_GRADIENT(atan2, hr_mul(y, hr_div(g, hr_add(hr_square(y), hr_square(x)))),
                   hr_mul(hr_neg(x), hr_div(g, hr_add(hr_square(y), hr_square(x)))))

#define ANGLE(NAME, F)                                                                                                 \
    HR_SAME_SHAPE_OP(NAME, 0, 12, .gradient = F##_gradient, .kernels = HR_KERNELS(F, floats, halves, complexes))
const hr_graph_op hr_graph_ops_trigonometry_ops[] = {
    ANGLE("Sin", sin),
    ANGLE("Cos", cos),
    ANGLE("Tan", tan),
    ANGLE("Asin", asin),
    ANGLE("Acos", acos),
    ANGLE("Atan", atan),
    ANGLE("Sinh", sinh),
    ANGLE("Cosh", cosh),
    ANGLE("Asinh", asinh),
    ANGLE("Acosh", acosh),
    ANGLE("Atanh", atanh),
    HR_BROADCAST_OP("Atan2", 0, 20, .gradient = atan2_gradient, .kernels = HR_KERNELS(atan2, floats, halves)),
    HR_GRAPH_OPS_END,
};

HR_UNARY_CONSTRUCTOR(hr_sin, "Sin")
HR_UNARY_CONSTRUCTOR(hr_cos, "Cos")
HR_UNARY_CONSTRUCTOR(hr_tan, "Tan")
HR_UNARY_CONSTRUCTOR(hr_asin, "Asin")
HR_UNARY_CONSTRUCTOR(hr_acos, "Acos")
HR_UNARY_CONSTRUCTOR(hr_atan, "Atan")
HR_UNARY_CONSTRUCTOR(hr_sinh, "Sinh")
HR_UNARY_CONSTRUCTOR(hr_cosh, "Cosh")
HR_UNARY_CONSTRUCTOR(hr_asinh, "Asinh")
HR_UNARY_CONSTRUCTOR(hr_acosh, "Acosh")
HR_UNARY_CONSTRUCTOR(hr_atanh, "Atanh")
HR_BINARY_CONSTRUCTOR(hr_atan2, "Atan2")
