/* <headrace/float_math.h> against the C library's functions of doubles, over floats of all sizes and signs. */
#include "tests/testing.h"

#include <headrace/float_math.h>
#include <headrace/kernels.h>
#include <math.h>

enum { STEP = 20011 }; /* of the 2^32 floats */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(double x) { return x > 30 ? x : log1p(exp(x)); }

/* Within 0.51 units of the last place; zeros with their sign, infinities and NaN as they are. */
static void compare(const char *name, float (*fn)(float), double (*exact)(double))
{
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STEP) {
        const float x = hr_from_bits((uint32_t)bits), got = fn(x), want = (float)exact((double)x);
        if (got == want ? !signbit(got) == !signbit(want) : got != got && want != want) continue;
        const double unit = fabs((double)nextafterf(want, INFINITY) - (double)want);
        if (!(fabs((double)got - exact((double)x)) <= 0.51 * unit))
            fail_msg("%s(%a): %a, not %a", name, (double)x, (double)got, (double)want);
    }
}

static void functions_of_floats_are_right_to_the_last_place(void **state)
{
    (void)state;
    compare("exp", hr_float_exp, exp);
    compare("expm1", hr_float_expm1, expm1);
    compare("log", hr_float_log, log);
    compare("log1p", hr_float_log1p, log1p);
    compare("tanh", hr_float_tanh, tanh);
    compare("sigmoid", hr_float_sigmoid, sigmoid);
    compare("softplus", hr_float_softplus, softplus);
}

static void edges_are_exact(void **state)
{
    (void)state;
    assert_true(hr_float_exp(0) == 1 && hr_float_exp(-INFINITY) == 0 && hr_float_exp(INFINITY) == INFINITY);
    assert_true(hr_float_log(0) == -INFINITY && hr_float_log(1) == 0 && hr_float_log(INFINITY) == INFINITY);
    assert_true(isnan(hr_float_log(-1)) && isnan(hr_float_log1p(-2)) && hr_float_log1p(-1) == -INFINITY);
    assert_true(hr_float_tanh(INFINITY) == 1 && hr_float_tanh(-INFINITY) == -1 && hr_float_sigmoid(0) == 0.5f);
    assert_true(signbit(hr_float_tanh(-0.0f)) && signbit(hr_float_expm1(-0.0f)) && signbit(hr_float_log1p(-0.0f)));
    assert_true(isnan(hr_float_exp(NAN)) && isnan(hr_float_tanh(NAN)) && isnan(hr_float_sigmoid(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_floats_are_right_to_the_last_place),
        cmocka_unit_test(edges_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
