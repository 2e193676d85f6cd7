/* Functions of statistics, value by value: the logarithm of the gamma function and what derives from it, zeta, the error
 * function's kin, incomplete gamma and beta functions. All are computed in double. */
#include <float.h>
#include <headrace/kernels.h>
#include <math.h>

enum { MOST_TERMS = 2000 };

/* ---- the gamma function's logarithm and its derivatives ---- */

/* As lgamma, which would write the sign to a variable of the process. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* B_2k / 2k, the terms of the asymptotic series of digamma. */
static const double DIGAMMA_TERMS[] = {1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12};

static double digamma(double x)
{
    double sum = 0, power = 1;
    if (x <= 0) {
        if (x == floor(x)) return NAN;
        const double rest = x - floor(x); /* reflected */
        return digamma(1 - x) - (rest == .5 ? 0 : M_PI / tan(M_PI * rest));
    }
    if (isinf(x)) return x;
    for (; x < 10; x++) sum += 1 / x;
    for (size_t i = 0; i < sizeof DIGAMMA_TERMS / sizeof *DIGAMMA_TERMS; i++) {
        power /= x * x;
        sum += DIGAMMA_TERMS[i] * power;
    }
    return log(x) - .5 / x - sum;
}

/* (2k)! / B_2k, of the series by Euler and Maclaurin. */
static const double ZETA_TERMS[] = {12.,
                                    -720.,
                                    30240.,
                                    -1209600.,
                                    47900160.,
                                    -1.8924375803183791606e9,
                                    7.47242496e10,
                                    -2.950130727918164224e12,
                                    1.1646782814350067249e14,
                                    -4.5979787224074726105e15,
                                    1.8152105401943546773e17,
                                    -7.1661652561756670113e18};

/* The sum of (q + k)^-x over k from 0 on. */
static double zeta(double x, double q)
{
    if (x == 1) return INFINITY;
    if (!(x > 1) || isnan(q)) return NAN;
    if (q <= 0 && q == floor(q)) return fmod(x, 2) == 0 ? INFINITY : NAN;
    if (q <= 0 && x != floor(x)) return NAN;
    if (q < 0) { /* the terms below 0 are those of 1 - rest on, up to -q */
        const double rest = q - floor(q), below = zeta(x, 1 - rest) - zeta(x, 1 - q);
        return zeta(x, rest) + (fmod(x, 2) == 0 ? below : -below);
    }
    if (isinf(x)) return q > 1 ? 0 : q == 1 ? 1 : INFINITY;
    double sum = pow(q, -x), a = q, b = 0, factor = 1, k = 0;
    for (int i = 0; i < 9 || a <= 9; i++) {
        a = floor(-9 - a) > 0 ? a + floor(9 - a) : a; /* far below: these terms are nothing */
        b = pow(++a, -x);
        sum += b;
        if (fabs(b) <= DBL_EPSILON / 2 * fabs(sum)) return sum;
    }
    sum += b * a / (x - 1) - .5 * b;
    for (size_t i = 0; i < sizeof ZETA_TERMS / sizeof *ZETA_TERMS; i++) {
        factor *= x + k++;
        b /= a;
        const double term = factor * b / ZETA_TERMS[i];
        sum += term;
        if (fabs(term) <= DBL_EPSILON / 2 * fabs(sum)) break;
        factor *= x + k++;
        b /= a;
    }
    return sum;
}

/* The derivative number n of digamma. */
static double polygamma(double n, double x)
{
    if (!(n >= 0) || n != floor(n)) return NAN;
    if (n == 0) return digamma(x);
    return (fmod(n, 2) == 0 ? -1 : 1) * exp(log_gamma(n + 1)) * zeta(n + 1, x);
}

/* ---- inverses of the error function ---- */

/* y where erf(y) = x and erfc(y) = q = 1 - x, of which the lesser one is exact; x at least 0. From a guess that is right
 * to 0.0005, steps by Halley's rule. */
static double inverse_of_positive(double x, double q)
{
    if (!(q >= 0)) return NAN;
    if (q == 0) return INFINITY;
    const double t = sqrt(-2 * log(q / 2));
    double y =
        (t - (2.515517 + t * (.802853 + t * .010328)) / (1 + t * (1.432788 + t * (.189269 + t * .001308)))) * M_SQRT1_2;
    for (int i = 0; i < 3; i++) {
        const double off = (x < .5 ? erf(y) - x : q - erfc(y)) / (M_2_SQRTPI * exp(-y * y));
        y -= off / (1 + y * off);
    }
    return y;
}

static double erfinv(double x) { return x < 0 ? -inverse_of_positive(-x, 1 + x) : inverse_of_positive(x, 1 - x); }

/* The quantile of the standard normal distribution. */
static double ndtri(double p)
{
    return M_SQRT2 * (p < .5 ? -inverse_of_positive(1 - 2 * p, 2 * p) : inverse_of_positive(2 * p - 1, 2 * (1 - p)));
}

/* ---- the incomplete gamma function, with its derivative by a ---- */

typedef struct incomplete {
    double value, slope;
} incomplete;

/* The lower one by its series, for small x. */
static incomplete lower_series(double a, double x)
{
    double term = 1, slope = 0, sum = 1, slopes = 0;
    for (int i = 1; i < MOST_TERMS; i++) {
        slope = (slope - term / (a + i)) * x / (a + i);
        term *= x / (a + i);
        sum += term;
        slopes += slope;
        if (term <= DBL_EPSILON * sum && fabs(slope) <= DBL_EPSILON * fabs(slopes)) break;
    }
    const double scale = exp(a * log(x) - x - log_gamma(a + 1));
    const incomplete out = {scale * sum, scale * (sum * (log(x) - digamma(a + 1)) + slopes)};
    return out;
}

/* The upper one by its continued fraction p / q, for large x: the last two of each and of their derivatives. */
static incomplete upper_fraction(double a, double x)
{
    double p[2] = {1, x + 1}, q[2] = {x, (x + 2 - a) * x}, dp[2] = {0, 0}, dq[2] = {0, -x};
    double value = p[1] / q[1], slope = (dp[1] - value * dq[1]) / q[1];
    for (int i = 1; i < MOST_TERMS; i++) {
        const double c = (1 - a + i) * i, z = x + 2 - a + 2. * i;
        const double next[4] = {p[1] * z - p[0] * c, q[1] * z - q[0] * c, dp[1] * z - p[1] - dp[0] * c + p[0] * i,
                                dq[1] * z - q[1] - dq[0] * c + q[0] * i};
        const double scale = fabs(next[0]) > 1e100 ? 1e-100 : 1, before = value, slope_before = slope;
        p[0] = p[1] * scale, q[0] = q[1] * scale, dp[0] = dp[1] * scale, dq[0] = dq[1] * scale;
        p[1] = next[0] * scale, q[1] = next[1] * scale, dp[1] = next[2] * scale, dq[1] = next[3] * scale;
        if (q[1] == 0) continue;
        value = p[1] / q[1];
        slope = (dp[1] - value * dq[1]) / q[1];
        if (fabs(value - before) <= DBL_EPSILON * fabs(value) &&
            fabs(slope - slope_before) <= DBL_EPSILON * fabs(slope))
            break;
    }
    const double scale = exp(a * log(x) - x - log_gamma(a));
    const incomplete out = {scale * value, scale * (value * (log(x) - digamma(a)) + slope)};
    return out;
}

static double igamma(double a, double x)
{
    if (x == 0) return isnan(a) ? NAN : 0;
    if (!(x > 0) || !(a > 0)) return NAN;
    if (isinf(x)) return isinf(a) ? NAN : 1;
    return x > 1 && x > a ? 1 - upper_fraction(a, x).value : lower_series(a, x).value;
}

static double igammac(double a, double x)
{
    if (!(x >= 0) || !(a > 0)) return NAN;
    if (x == 0 || isinf(x)) return x == 0 ? 1 : isinf(a) ? NAN : 0;
    return x > 1 && x > a ? upper_fraction(a, x).value : 1 - lower_series(a, x).value;
}

static double igamma_grad_a(double a, double x)
{
    if (x == 0) return isnan(a) ? NAN : 0;
    if (!(x > 0) || !(a > 0)) return NAN;
    if (isinf(x)) return isinf(a) ? NAN : 0;
    return x > 1 && x > a ? -upper_fraction(a, x).slope : lower_series(a, x).slope;
}

/* ---- the incomplete beta function ---- */

/* Its continued fraction, by the way of Lentz. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), product;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    product = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double before = product;
        for (int half = 0; half < 2; half++) {
            const double term = half ? odd : even;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            product *= c * d;
        }
        if (fabs(product - before) <= DBL_EPSILON * fabs(product)) break;
    }
    return product;
}

static double betainc(double a, double b, double x)
{
    if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return NAN;
    if (x == 0 || x == 1) return x;
    const double front = exp(a * log(x) + b * log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

#define OF_THREE(T, V, U, DTYPE, SUFFIX, NAME, B)                                                                      \
    HR_LOOP(NAME##_of_three, SUFFIX)                                                                                   \
    {                                                                                                                  \
        (void)user;                                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                                                \
            ((T *)(void *)at[0])[i] = (T)NAME(*(const T *)(const void *)(at[1] + i * step[1]),                         \
                                              *(const T *)(const void *)(at[2] + i * step[2]),                         \
                                              *(const T *)(const void *)(at[3] + i * step[3]));                        \
    }
HR_EACH_TYPE(OF_THREE, betainc, ~, floats)

HR_UNARY(lgamma, log_gamma(x), floats, halves)
HR_UNARY(digamma, digamma(x), floats, halves)
HR_UNARY(erfc, erfc(x), floats, halves)
HR_UNARY(erfinv, erfinv(x), floats)
HR_UNARY(ndtri, ndtri(x), floats)
HR_BINARY(zeta, zeta(x, y), floats)
HR_BINARY(polygamma, polygamma(x, y), floats)
HR_BINARY(igamma, igamma(x, y), floats)
HR_BINARY(igammac, igammac(x, y), floats)
HR_BINARY(igamma_grad_a, igamma_grad_a(x, y), floats)

/* ---- gradients ---- */

static hr_node times(hr_node g, double factor, hr_node y) { return hr_mul(g, hr_mul(hr_scalar_like(y, factor), y)); }
static hr_node polygamma_node(hr_node n, hr_node x) { return hr_polygamma(n, x); }
static hr_node more(hr_node x, double by) { return hr_add(x, hr_scalar_like(x, by)); }

HR_UNARY_GRADIENT(lgamma, hr_mul(g, hr_digamma(x)))
HR_UNARY_GRADIENT(digamma, hr_mul(g, polygamma_node(hr_scalar_like(x, 1), x)))
HR_UNARY_GRADIENT(erfc, times(g, -M_2_SQRTPI, hr_exp(hr_neg(hr_square(x)))))
HR_UNARY_GRADIENT(erfinv, times(g, 1 / M_2_SQRTPI, hr_exp(hr_square(y))))
HR_UNARY_GRADIENT(ndtri, times(g, 2.5066282746310002, hr_exp(hr_mul(hr_scalar_like(y, .5), hr_square(y)))))

/* By the second input alone, as TensorFlow; nothing flows to the first one. */
static void zeta_gradient(hr_backward *b)
{
    const hr_node x = b->input[0], q = b->input[1];
    hr_backward_give_unbroadcast(b, 1, hr_mul(b->grad[0], hr_mul(hr_neg(x), hr_zeta(more(x, 1), q))));
}

static void polygamma_gradient(hr_backward *b)
{
    hr_backward_give_unbroadcast(b, 1, hr_mul(b->grad[0], hr_polygamma(more(b->input[0], 1), b->input[1])));
}

/* The derivative of igamma(a, x) by x: x^(a - 1) e^-x / gamma(a). */
static hr_node gamma_density(hr_node a, hr_node x)
{
    return hr_exp(hr_sub(hr_sub(hr_mul(more(a, -1), hr_log(x)), x), hr_lgamma(a)));
}
static hr_node slope_by_a(hr_node a, hr_node x) { return hr_binary_node("IgammaGradA", a, x, NULL); }
HR_BINARY_GRADIENT(igamma, hr_mul(g, slope_by_a(x, y)), hr_mul(g, gamma_density(x, y)))
HR_BINARY_GRADIENT(igammac, hr_neg(hr_mul(g, slope_by_a(x, y))), hr_neg(hr_mul(g, gamma_density(x, y))))

/* By x alone, as TensorFlow: x^(a - 1) (1 - x)^(b - 1) / beta(a, b). */
static void betainc_gradient(hr_backward *b)
{
    const hr_node p = b->input[0], q = b->input[1], x = b->input[2];
    const hr_node log_beta = hr_sub(hr_add(hr_lgamma(p), hr_lgamma(q)), hr_lgamma(hr_add(p, q)));
    const hr_node powers = hr_add(hr_xlog1py(more(q, -1), hr_neg(x)), hr_xlogy(more(p, -1), x));
    hr_backward_give_unbroadcast(b, 2, hr_mul(b->grad[0], hr_exp(hr_sub(powers, log_beta))));
}

/* ---- descriptors ---- */

#define UNARY(NAME, NANOSECONDS, LOOP, ...)                                                                            \
    HR_SAME_SHAPE_OP(NAME, 0, NANOSECONDS, .gradient = LOOP##_gradient, .kernels = HR_KERNELS(LOOP, __VA_ARGS__))
#define BINARY(NAME, NANOSECONDS, GRADIENT, LOOP)                                                                      \
    HR_BROADCAST_OP(NAME, 0, NANOSECONDS, .gradient = GRADIENT, .kernels = HR_KERNELS(LOOP, floats))
const hr_graph_op hr_graph_ops_special_ops[] = {
    UNARY("Lgamma", 20, lgamma, floats, halves),
    UNARY("Digamma", 30, digamma, floats, halves),
    UNARY("Erfc", 10, erfc, floats, halves),
    UNARY("Erfinv", 100, erfinv, floats),
    UNARY("Ndtri", 100, ndtri, floats),
    BINARY("Zeta", 200, zeta_gradient, zeta),
    BINARY("Polygamma", 250, polygamma_gradient, polygamma),
    BINARY("Igamma", 200, igamma_gradient, igamma),
    BINARY("Igammac", 200, igammac_gradient, igammac),
    BINARY("IgammaGradA", 200, NULL, igamma_grad_a),
    HR_BROADCAST_OP("Betainc", 0, 200, .gradient = betainc_gradient, .kernels = HR_KERNELS(betainc_of_three, floats)),
    HR_GRAPH_OPS_END,
};

HR_UNARY_CONSTRUCTOR(hr_lgamma, "Lgamma")
HR_UNARY_CONSTRUCTOR(hr_digamma, "Digamma")
HR_UNARY_CONSTRUCTOR(hr_erfc, "Erfc")
HR_UNARY_CONSTRUCTOR(hr_erfinv, "Erfinv")
HR_UNARY_CONSTRUCTOR(hr_ndtri, "Ndtri")
HR_BINARY_CONSTRUCTOR(hr_zeta, "Zeta")
HR_BINARY_CONSTRUCTOR(hr_polygamma, "Polygamma")
HR_BINARY_CONSTRUCTOR(hr_igamma, "Igamma")
HR_BINARY_CONSTRUCTOR(hr_igammac, "Igammac")
HR_TERNARY_CONSTRUCTOR(hr_betainc, "Betainc")
