/* The rules themselves, once for float and once for double: rules.c includes this file with T, R(name) and SQRT, POW,
 * ABS of that type. Operations come in the order in which TensorFlow's kernels write them. */

static INLINE void R(descent)(T *restrict w, T *restrict a, T *restrict b, const T *restrict g, int64_t n, const T *p)
{
    (void)a, (void)b;
    const T rate = p[0];
    for (int64_t i = 0; i < n; i++) w[i] -= g[i] * rate;
}

static INLINE void R(momentum)(T *restrict w, T *restrict a, T *restrict b, const T *restrict g, int64_t n, const T *p)
{
    (void)b;
    const T rate = p[0], momentum = p[1];
    if (p[2] != 0) {
        for (int64_t i = 0; i < n; i++) {
            a[i] = a[i] * momentum + g[i];
            w[i] -= g[i] * rate + a[i] * momentum * rate;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        a[i] = a[i] * momentum + g[i];
        w[i] -= a[i] * rate;
    }
}

static INLINE void R(keras_momentum)(T *restrict w, T *restrict a, T *restrict b, const T *restrict g, int64_t n,
                                     const T *p)
{
    (void)b;
    const T rate = p[0], momentum = p[1];
    if (p[2] != 0) {
        for (int64_t i = 0; i < n; i++) {
            a[i] = a[i] * momentum - g[i] * rate;
            w[i] += a[i] * momentum - g[i] * rate;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        a[i] = a[i] * momentum - g[i] * rate;
        w[i] += a[i];
    }
}

/* Without the last number the accumulator is used as it is. */
#define ADAGRAD(DIVISOR, UPDATE)                                                                                       \
    if (UPDATE) {                                                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            a[i] += g[i] * g[i];                                                                                       \
            w[i] -= g[i] * rate / (DIVISOR);                                                                           \
        }                                                                                                              \
        return;                                                                                                        \
    }                                                                                                                  \
    for (int64_t i = 0; i < n; i++) w[i] -= g[i] * rate / (DIVISOR);

static INLINE void R(adagrad)(T *restrict w, T *restrict a, T *restrict b, const T *restrict g, int64_t n, const T *p)
{
    (void)b;
    const T rate = p[0];
    ADAGRAD(SQRT(a[i]), p[1] != 0)
}

static INLINE void R(adagrad_v2)(T *restrict w, T *restrict a, T *restrict b, const T *restrict g, int64_t n,
                                 const T *p)
{
    (void)b;
    const T rate = p[0], epsilon = p[1];
    ADAGRAD(SQRT(a[i]) + epsilon, p[2] != 0)
}
#undef ADAGRAD

static INLINE void R(adam)(T *restrict w, T *restrict a, T *restrict b, const T *restrict g, int64_t n, const T *p)
{
    const T rate = p[0], beta1 = p[1], rest1 = 1 - p[1], rest2 = 1 - p[2], epsilon = p[3];
    if (p[4] != 0) {
        for (int64_t i = 0; i < n; i++) {
            a[i] += (g[i] - a[i]) * rest1;
            b[i] += (g[i] * g[i] - b[i]) * rest2;
            w[i] -= (g[i] * rest1 + beta1 * a[i]) * rate / (SQRT(b[i]) + epsilon);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        a[i] += (g[i] - a[i]) * rest1;
        b[i] += (g[i] * g[i] - b[i]) * rest2;
        w[i] -= a[i] * rate / (SQRT(b[i]) + epsilon);
    }
}

static INLINE void R(adam_move)(T *restrict w, T *restrict a, T *restrict b, const T *restrict g, int64_t n, const T *p)
{
    (void)g;
    const T rate = p[0], epsilon = p[1];
    for (int64_t i = 0; i < n; i++) w[i] -= rate * a[i] / (SQRT(b[i]) + epsilon);
}

/* The accumulator takes the square of the plain gradient, z that of the one with shrinkage. SCALED: what z is kept in
 * multiples of; OVER: the other way round. */
#define FTRL(ROOT, SCALED, OVER)                                                                                       \
    const T rate = p[0], l1 = SCALED(p[1]), twice_l2 = SCALED(2 * p[2]), twice_shrinkage = 2 * p[3], power = p[4];     \
    (void)power, (void)rate;                                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        const T more = a[i] + g[i] * g[i], root = ROOT(more);                                                          \
        const T z = b[i] + SCALED((g[i] + twice_shrinkage * w[i])) - OVER((root - ROOT(a[i]))) * w[i];                 \
        const T pull = z < 0 ? -l1 - z : l1 - z;                                                                       \
        const T moved = pull / (OVER(root) + twice_l2);                                                                \
        w[i] = ABS(z) > l1 ? moved : 0;                                                                                \
        a[i] = more;                                                                                                   \
        b[i] = z;                                                                                                      \
    }
#define PLAIN(x) (x)
#define BY_RATE(x) ((x)*rate)
#define OVER_RATE(x) ((x) / rate)
#define POWER(x) POW(x, power)

static INLINE void R(ftrl)(T *restrict w, T *restrict a, T *restrict b, const T *restrict g, int64_t n, const T *p)
{
    if (p[5] != 0) {
        FTRL(SQRT, BY_RATE, PLAIN)
        return;
    }
    FTRL(SQRT, PLAIN, OVER_RATE)
}

static INLINE void R(ftrl_power)(T *restrict w, T *restrict a, T *restrict b, const T *restrict g, int64_t n,
                                 const T *p)
{
    if (p[5] != 0) {
        FTRL(POWER, BY_RATE, PLAIN)
        return;
    }
    FTRL(POWER, PLAIN, OVER_RATE)
}
#undef FTRL
#undef PLAIN
#undef BY_RATE
#undef OVER_RATE
#undef POWER
