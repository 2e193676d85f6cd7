/* One graph and session a test, constants of any type written as doubles, and what nodes give compared with them. */
#ifndef HR_TESTS_NODE_VALUES_H
#define HR_TESTS_NODE_VALUES_H

#include "tests/testing.h"

#include <headrace/graph.h>
#include <headrace/graph_op.h>
#include <headrace/kernels.h>
#include <headrace/ops.h>
#include <math.h>
#include <string.h>

static hr_graph *g;

static inline int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    return g ? 0 : -1;
}

static inline int free_graph(void **state)
{
    (void)state;
    hr_graph_free(g);
    return 0;
}

#define GRAPH_TEST(test) cmocka_unit_test_setup_teardown(test, make_graph, free_graph)

/* A constant of that type, which may be float, double or an integer. */
static inline hr_node constant_of(hr_dtype dtype, hr_shape shape, const double *values)
{
    const hr_tensor t = hr_tensor_of(HR_DOUBLE, shape, values);
    const hr_node node = hr_const(g, &t);
    return hr_cast_to(node, dtype);
}
#define CONSTANT(dtype, shape, ...) constant_of(dtype, shape, (const double[]){__VA_ARGS__})

/* The same value, of which nothing is known before a run. */
static inline hr_node unknown(hr_node x)
{
    return hr_new_node(g, "PlaceholderWithDefault", HR_INPUTS(x), HR_ATTRS(HR_SHAPE_ATTR("shape", HR_UNKNOWN_SHAPE)));
}

/* Runs a node; gives its value (hr_tensor_clear). */
static inline hr_status run_node(hr_node node, hr_tensor *out, hr_error *err)
{
    *out = (hr_tensor){0};
    if (hr_graph_error(g)) {
        *err = *hr_graph_error(g);
        return err->code;
    }
    hr_session *session = hr_session_new(g);
    const hr_status status = hr_session_run(session, NULL, 0, &node, 1, out, err);
    hr_session_free(session);
    return status;
}

static inline double number_at(const hr_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case HR_FLOAT:
        return (double)((const float *)t->data)[i];
    case HR_DOUBLE:
    case HR_COMPLEX128: /* the real part of each, then the other */
        return ((const double *)t->data)[i];
    case HR_HALF:
        return (double)hr_half_get(((const hr_half *)t->data)[i]);
    case HR_UINT8:
        return ((const uint8_t *)t->data)[i];
    case HR_UINT16:
        return ((const uint16_t *)t->data)[i];
    case HR_BOOL:
        return ((const bool *)t->data)[i];
    default:
        return (double)hr_int_at(t, i);
    }
}

/* The values that a node must have, up to `within`. */
static inline void expect_values(hr_node node, const double *expected, int64_t count, double within, const char *what)
{
    hr_error err;
    hr_tensor out;
    if (run_node(node, &out, &err) != HR_OK) fail_msg("%s: %s", what, err.text);
    const int64_t numbers = out.dtype == HR_COMPLEX128 ? 2 * out.count : out.count;
    if (numbers != count) fail_msg("%s: %lld values, not %lld", what, (long long)numbers, (long long)count);
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(number_at(&out, i) - expected[i]) <= within) && !(isnan(expected[i]) && isnan(number_at(&out, i))))
            fail_msg("%s: value %d is %.17g, not %.17g", what, (int)i, number_at(&out, i), expected[i]);
    hr_tensor_clear(&out);
}
#define EXPECT(node, within, ...)                                                                                      \
    expect_values(node, (const double[]){__VA_ARGS__},                                                                 \
                  (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), within, #node)

static inline void expect_shape(hr_node node, hr_shape shape)
{
    hr_error err;
    hr_tensor out;
    char text[128], expected[128];
    assert_ok(run_node(node, &out, &err), &err);
    assert_string_equal(hr_shape_text(out.shape, text, sizeof text), hr_shape_text(shape, expected, sizeof expected));
    hr_tensor_clear(&out);
}

/* When it is made or when it runs. */
static inline void expect_failure(hr_node node, const char *kind)
{
    hr_error err = {0};
    hr_tensor out;
    assert_int_not_equal(run_node(node, &out, &err), HR_OK);
    assert_string_equal(err.kind, kind);
}

/* The gradient of the sum of `loss` by x. */
static inline hr_node derivative(hr_node loss, hr_node x)
{
    hr_gradient out;
    hr_gradients(&loss, 1, &x, 1, &out);
    return out.values;
}

#endif
