/* Complex numbers of their parts, and parts of complex numbers. */
#include <complex.h>
#include <headrace/kernels.h>
#include <math.h>
#include <tgmath.h>

/* ---- loops: of one type to the other of the same precision ---- */

/* A product by the imaginary unit would make NaN of what is infinite. */
static double _Complex complex_of(double re, double im)
{
    const double parts[2] = {re, im};
    double _Complex out;
    memcpy(&out, parts, sizeof out);
    return out;
}

HR_BINARY_LOOP_(float, float, float, f32, float _Complex, c64, join, complex_of(x, y))
HR_BINARY_LOOP_(double, double, double, f64, double _Complex, c128, join, complex_of(x, y))

#define PART(NAME, EXPR)                                                                                               \
    HR_UNARY_LOOP_(float _Complex, float _Complex, float _Complex, c64, float, f32, NAME, EXPR)                        \
    HR_UNARY_LOOP_(double _Complex, double _Complex, double _Complex, c128, double, f64, NAME, EXPR)
PART(real, creal(x))
PART(imag, cimag(x))
PART(angle, carg(x))
PART(complex_abs, fabs(x))
HR_UNARY(conj, conj(x), complexes)

static hr_status same_precision(hr_node node, hr_session *session, void *state, hr_error *err)
{
    const hr_dtype from = hr_attr_type(node, "T"), to = hr_attr_type(node, "Tout");
    const size_t a = hr_dtype_size(from), b = hr_dtype_size(to);
    (void)session, (void)state;
    if (a == 2 * b || b == 2 * a) return HR_OK;
    return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel", "expected T and Tout of one precision, got %s and %s",
                   hr_dtype_name(from), hr_dtype_name(to));
}

/* ---- gradients: none of these ops but Complex has a complex derivative ---- */

static hr_node zero_of(hr_node x) { return hr_zeros_like(x); }

/* The gradient of |x| by x is x / |x|, and 0 where x is. */
static hr_node direction(hr_node x, hr_node size) { return hr_div_no_nan(x, hr_complex(size, zero_of(size))); }

/* The angle grows across the direction of x, by i / conj(x). */
static hr_node across(hr_node x) { return hr_neg(hr_reciprocal(hr_complex(hr_imag(x), hr_real(x)))); }

HR_BINARY_GRADIENT(join, hr_real(g), hr_imag(g))
HR_UNARY_GRADIENT(real, hr_complex(g, zero_of(g)))
HR_UNARY_GRADIENT(imag, hr_complex(zero_of(g), g))
HR_UNARY_GRADIENT(angle, hr_mul(hr_complex(g, zero_of(g)), across(x)))
HR_UNARY_GRADIENT(complex_abs, hr_mul(hr_complex(g, zero_of(g)), direction(x, y)))
HR_UNARY_GRADIENT(conj, hr_conj(g))

#define PART_OP(NAME, LOOP)                                                                                            \
    HR_SAME_SHAPE_OP(NAME, HR_COMPLEX_GRADIENT, 4, .prepare = same_precision, .gradient = LOOP##_gradient,             \
                     .kernels = HR_KERNELS(LOOP, complexes))
const hr_graph_op hr_graph_ops_complex_ops[] = {
    HR_BROADCAST_OP("Complex", HR_COMPLEX_GRADIENT, .5, .prepare = same_precision, .gradient = join_gradient,
                    .kernels = HR_KERNELS(join, floats)),
    PART_OP("Real", real),
    PART_OP("Imag", imag),
    PART_OP("Angle", angle),
    PART_OP("ComplexAbs", complex_abs),
    HR_SAME_SHAPE_OP("Conj", HR_COMPLEX_GRADIENT, .5, .gradient = conj_gradient,
                     .kernels = HR_KERNELS(conj, complexes)),
    HR_GRAPH_OPS_END,
};

/* ---- constructors ---- */

static hr_node of_type(const char *op, hr_node x, hr_dtype dtype, const hr_name_opts *opts)
{
    return hr_new_node(x.graph, op, .name = HR_OPTIONS(hr_name_opts, opts).name, HR_INPUTS(x),
                       HR_ATTRS(HR_TYPE_ATTR("Tout", dtype)));
}

static bool is_complex(hr_node x)
{
    const hr_dtype dtype = hr_node_dtype(hr_node_value(x));
    return dtype == HR_COMPLEX64 || dtype == HR_COMPLEX128;
}

/* The type of the parts of x. */
static hr_dtype part_type(hr_node x) { return hr_node_dtype(hr_node_value(x)) == HR_COMPLEX128 ? HR_DOUBLE : HR_FLOAT; }

hr_node hr_complex_with(hr_node re, hr_node im, const hr_name_opts *opts)
{
    const hr_dtype dtype = hr_node_dtype(hr_node_value(re)) == HR_DOUBLE ? HR_COMPLEX128 : HR_COMPLEX64;
    return hr_new_node(re.graph, "Complex", .name = HR_OPTIONS(hr_name_opts, opts).name, HR_INPUTS(re, im),
                       HR_ATTRS(HR_TYPE_ATTR("Tout", dtype)));
}

hr_node hr_real_with(hr_node x, const hr_name_opts *opts)
{
    return is_complex(x) ? of_type("Real", x, part_type(x), opts) : x;
}

hr_node hr_imag_with(hr_node x, const hr_name_opts *opts)
{
    return is_complex(x) ? of_type("Imag", x, part_type(x), opts) : hr_unary_node("ZerosLike", x, opts);
}

hr_node hr_conj_with(hr_node x, const hr_name_opts *opts) { return is_complex(x) ? hr_unary_node("Conj", x, opts) : x; }
hr_node hr_angle_with(hr_node x, const hr_name_opts *opts) { return of_type("Angle", x, part_type(x), opts); }

/* Abs; of complex numbers ComplexAbs. */
hr_node hr_abs_with(hr_node x, const hr_name_opts *opts)
{
    return is_complex(x) ? of_type("ComplexAbs", x, part_type(x), opts) : hr_unary_node("Abs", x, opts);
}
