/* Floats as whole numbers in a range, and back: the values of TensorFlow 2.15.1, to the bit. */
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/ops.h>
#include <string.h>

enum { COUNT = 10 };
static const float given[COUNT] = {-3.7f, -1.5f, -0.25f, 0, 0.1f, 0.3f, 1.45f, 2.2f, 9, -0.05f};

static const struct quantised {
    hr_dtype dtype;
    const char *mode, *round;
    bool narrow;
    int values[COUNT];
    float min, max, back[COUNT];
} cases[] = {
    {HR_QINT8,
     "MIN_COMBINED",
     "HALF_AWAY_FROM_ZERO",
     false,
     {-128, -95, -25, -12, -6, 5, 69, 110, 127, -14},
     -0x1.0ccccc0000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.0ccccc0000000p+1f, -0x1.8134660000000p+0f, -0x1.ef89200000000p-3f, -0x1.e84c000000000p-8f,
      0x1.9cd0000000000p-4f, 0x1.3265a00000000p-2f, 0x1.74275c0000000p+0f, 0x1.18bf240000000p+1f, 0x1.4000000000000p+1f,
      -0x1.6497800000000p-5f}},
    {HR_QINT8,
     "MIN_FIRST",
     "HALF_AWAY_FROM_ZERO",
     false,
     {-128, -95, -26, -12, -6, 5, 68, 110, 127, -15},
     -0x1.0ccccc0000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.0bd8a60000000p+1f, -0x1.7f4c1a0000000p+0f, -0x1.029c3c0000000p-2f, -0x1.c000000000000p-24f,
      0x1.bb54d20000000p-4f, 0x1.3a06cc0000000p-2f, 0x1.7171700000000p+0f, 0x1.19b34c0000000p+1f, 0x1.40f4260000000p+1f,
      -0x1.bb55200000000p-5f}},
    {HR_QINT8,
     "SCALED",
     "HALF_AWAY_FROM_ZERO",
     false,
     {-128, -76, -13, 0, 5, 15, 74, 112, 127, -3},
     -0x1.42850a0000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.42850a0000000p+1f, -0x1.7efdfc0000000p+0f, -0x1.060c180000000p-2f, 0x0.0p+0f, 0x1.93264c0000000p-4f,
      0x1.2e5cba0000000p-2f, 0x1.74e9d40000000p+0f, 0x1.1a34680000000p+1f, 0x1.4000000000000p+1f,
      -0x1.e3c7900000000p-5f}},
    {HR_QINT8,
     "SCALED",
     "HALF_AWAY_FROM_ZERO",
     true,
     {-127, -76, -13, 0, 5, 15, 74, 112, 127, -3},
     -0x1.4000000000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.4000000000000p+1f, -0x1.7efdfc0000000p+0f, -0x1.060c180000000p-2f, 0x0.0p+0f, 0x1.93264c0000000p-4f,
      0x1.2e5cba0000000p-2f, 0x1.74e9d40000000p+0f, 0x1.1a34680000000p+1f, 0x1.4000000000000p+1f,
      -0x1.e3c7900000000p-5f}},
    {HR_QINT8,
     "SCALED",
     "HALF_TO_EVEN",
     true,
     {-127, -76, -13, 0, 5, 15, 74, 112, 127, -3},
     -0x1.4000000000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.4000000000000p+1f, -0x1.7efdfc0000000p+0f, -0x1.060c180000000p-2f, 0x0.0p+0f, 0x1.93264c0000000p-4f,
      0x1.2e5cba0000000p-2f, 0x1.74e9d40000000p+0f, 0x1.1a34680000000p+1f, 0x1.4000000000000p+1f,
      -0x1.e3c7900000000p-5f}},
    {HR_QUINT8,
     "MIN_COMBINED",
     "HALF_AWAY_FROM_ZERO",
     false,
     {0, 33, 103, 116, 122, 133, 197, 238, 255, 114},
     -0x1.0ccccc0000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.0ccccc0000000p+1f, -0x1.8134660000000p+0f, -0x1.ef89200000000p-3f, -0x1.e84c000000000p-8f,
      0x1.9cd0000000000p-4f, 0x1.3265a00000000p-2f, 0x1.74275c0000000p+0f, 0x1.18bf240000000p+1f, 0x1.4000000000000p+1f,
      -0x1.6497800000000p-5f}},
    {HR_QUINT8,
     "MIN_FIRST",
     "HALF_AWAY_FROM_ZERO",
     false,
     {0, 33, 103, 116, 122, 133, 197, 238, 255, 114},
     -0x1.0ccccc0000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.0bd8a60000000p+1f, -0x1.7f4c1a0000000p+0f, -0x1.e046c00000000p-3f, 0x0.0p+0f, 0x1.bb54c00000000p-4f,
      0x1.3a06d00000000p-2f, 0x1.760fa80000000p+0f, 0x1.19b34a0000000p+1f, 0x1.40f4260000000p+1f,
      -0x1.278e000000000p-5f}},
    {HR_QUINT8,
     "SCALED",
     "HALF_AWAY_FROM_ZERO",
     false,
     {0, 0, 0, 0, 10, 31, 148, 224, 255, 0},
     0x0.0p+0f,
     0x1.4000000000000p+1f,
     {0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x1.9191920000000p-4f, 0x1.3737380000000p-2f, 0x1.7373740000000p+0f,
      0x1.19191a0000000p+1f, 0x1.4000000000000p+1f, 0x0.0p+0f}},
    {HR_QUINT8,
     "SCALED",
     "HALF_AWAY_FROM_ZERO",
     true,
     {1, 1, 1, 1, 10, 31, 148, 224, 255, 1},
     0x1.4141420000000p-7f,
     0x1.4000000000000p+1f,
     {0x1.4141420000000p-7f, 0x1.4141420000000p-7f, 0x1.4141420000000p-7f, 0x1.4141420000000p-7f, 0x1.9191920000000p-4f,
      0x1.3737380000000p-2f, 0x1.7373740000000p+0f, 0x1.19191a0000000p+1f, 0x1.4000000000000p+1f,
      0x1.4141420000000p-7f}},
    {HR_QUINT8,
     "SCALED",
     "HALF_TO_EVEN",
     false,
     {0, 0, 0, 0, 10, 31, 148, 224, 255, 0},
     0x0.0p+0f,
     0x1.4000000000000p+1f,
     {0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x1.9191920000000p-4f, 0x1.3737380000000p-2f, 0x1.7373740000000p+0f,
      0x1.19191a0000000p+1f, 0x1.4000000000000p+1f, 0x0.0p+0f}},
    {HR_QUINT8,
     "SCALED",
     "HALF_TO_EVEN",
     true,
     {1, 1, 1, 1, 10, 31, 148, 224, 255, 1},
     0x1.4141420000000p-7f,
     0x1.4000000000000p+1f,
     {0x1.4141420000000p-7f, 0x1.4141420000000p-7f, 0x1.4141420000000p-7f, 0x1.4141420000000p-7f, 0x1.9191920000000p-4f,
      0x1.3737380000000p-2f, 0x1.7373740000000p+0f, 0x1.19191a0000000p+1f, 0x1.4000000000000p+1f,
      0x1.4141420000000p-7f}},
    {HR_QINT16,
     "MIN_COMBINED",
     "HALF_AWAY_FROM_ZERO",
     false,
     {-32768, -24220, -6412, -2850, -1425, 1424, 17808, 28493, 32767, -3562},
     -0x1.0ccccc0000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.0ccccc0000000p+1f, -0x1.8000320000000p+0f, -0x1.0008980000000p-2f, -0x1.6800000000000p-17f,
      0x1.99a6800000000p-4f, 0x1.3330000000000p-2f, 0x1.73338c0000000p+0f, 0x1.1999a40000000p+1f, 0x1.4000000000000p+1f,
      -0x1.997e800000000p-5f}},
    {HR_QINT16,
     "MIN_FIRST",
     "HALF_AWAY_FROM_ZERO",
     false,
     {-32768, -24220, -6412, -2850, -1425, 1424, 17808, 28493, 32767, -3562},
     -0x1.0ccccc0000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.0ccc720000000p+1f, -0x1.7fff7e0000000p+0f, -0x1.0005c80000000p-2f, 0x1.0000000000000p-24f,
      0x1.99b1a80000000p-4f, 0x1.3332d00000000p-2f, 0x1.7334400000000p+0f, 0x1.199a000000000p+1f, 0x1.40005a0000000p+1f,
      -0x1.9967e00000000p-5f}},
    {HR_QINT16,
     "SCALED",
     "HALF_AWAY_FROM_ZERO",
     false,
     {-32768, -19660, -3277, 0, 1311, 3932, 19005, 28835, 32767, -655},
     -0x1.4002800000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.4002800000000p+1f, -0x1.7fff000000000p+0f, -0x1.0006000000000p-2f, 0x0.0p+0f, 0x1.99b3340000000p-4f,
      0x1.3332660000000p-2f, 0x1.7333e60000000p+0f, 0x1.1999b40000000p+1f, 0x1.4000000000000p+1f,
      -0x1.9963320000000p-5f}},
    {HR_QINT16,
     "SCALED",
     "HALF_AWAY_FROM_ZERO",
     true,
     {-32767, -19660, -3277, 0, 1311, 3932, 19005, 28835, 32767, -655},
     -0x1.4000000000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.4000000000000p+1f, -0x1.7fff000000000p+0f, -0x1.0006000000000p-2f, 0x0.0p+0f, 0x1.99b3340000000p-4f,
      0x1.3332660000000p-2f, 0x1.7333e60000000p+0f, 0x1.1999b40000000p+1f, 0x1.4000000000000p+1f,
      -0x1.9963320000000p-5f}},
    {HR_QINT16,
     "SCALED",
     "HALF_TO_EVEN",
     false,
     {-32768, -19660, -3277, 0, 1311, 3932, 19005, 28835, 32767, -655},
     -0x1.4002800000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.4002800000000p+1f, -0x1.7fff000000000p+0f, -0x1.0006000000000p-2f, 0x0.0p+0f, 0x1.99b3340000000p-4f,
      0x1.3332660000000p-2f, 0x1.7333e60000000p+0f, 0x1.1999b40000000p+1f, 0x1.4000000000000p+1f,
      -0x1.9963320000000p-5f}},
    {HR_QINT16,
     "SCALED",
     "HALF_TO_EVEN",
     true,
     {-32767, -19660, -3277, 0, 1311, 3932, 19005, 28835, 32767, -655},
     -0x1.4000000000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.4000000000000p+1f, -0x1.7fff000000000p+0f, -0x1.0006000000000p-2f, 0x0.0p+0f, 0x1.99b3340000000p-4f,
      0x1.3332660000000p-2f, 0x1.7333e60000000p+0f, 0x1.1999b40000000p+1f, 0x1.4000000000000p+1f,
      -0x1.9963320000000p-5f}},
    {HR_QUINT16,
     "MIN_COMBINED",
     "HALF_AWAY_FROM_ZERO",
     false,
     {0, 8548, 26356, 29918, 31343, 34192, 50576, 61261, 65535, 29206},
     -0x1.0ccccc0000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.0ccccc0000000p+1f, -0x1.8000320000000p+0f, -0x1.0008980000000p-2f, -0x1.6800000000000p-17f,
      0x1.99a6800000000p-4f, 0x1.3330000000000p-2f, 0x1.73338c0000000p+0f, 0x1.1999a40000000p+1f, 0x1.4000000000000p+1f,
      -0x1.997e800000000p-5f}},
    {HR_QUINT16,
     "MIN_FIRST",
     "HALF_AWAY_FROM_ZERO",
     false,
     {0, 8548, 26356, 29918, 31343, 34192, 50576, 61261, 65535, 29206},
     -0x1.0ccccc0000000p+1f,
     0x1.4000000000000p+1f,
     {-0x1.0ccc720000000p+1f, -0x1.7fff7e0000000p+0f, -0x1.0005c80000000p-2f, 0x0.0p+0f, 0x1.99b1c00000000p-4f,
      0x1.3332d00000000p-2f, 0x1.7334400000000p+0f, 0x1.1999fe0000000p+1f, 0x1.40005a0000000p+1f,
      -0x1.9968000000000p-5f}},
    {HR_QUINT16,
     "SCALED",
     "HALF_AWAY_FROM_ZERO",
     false,
     {0, 0, 0, 0, 2621, 7864, 38010, 57671, 65535, 0},
     0x0.0p+0f,
     0x1.4000000000000p+1f,
     {0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x1.99899a0000000p-4f, 0x1.3331340000000p-2f, 0x1.7332740000000p+0f,
      0x1.1999da0000000p+1f, 0x1.4000000000000p+1f, 0x0.0p+0f}},
    {HR_QUINT16,
     "SCALED",
     "HALF_AWAY_FROM_ZERO",
     true,
     {1, 1, 1, 1, 2621, 7864, 38010, 57671, 65535, 1},
     0x1.4001400000000p-15f,
     0x1.4000000000000p+1f,
     {0x1.4001400000000p-15f, 0x1.4001400000000p-15f, 0x1.4001400000000p-15f, 0x1.4001400000000p-15f,
      0x1.99899a0000000p-4f, 0x1.3331340000000p-2f, 0x1.7332740000000p+0f, 0x1.1999da0000000p+1f, 0x1.4000000000000p+1f,
      0x1.4001400000000p-15f}},
    {HR_QUINT16,
     "SCALED",
     "HALF_TO_EVEN",
     false,
     {0, 0, 0, 0, 2621, 7864, 38010, 57671, 65535, 0},
     0x0.0p+0f,
     0x1.4000000000000p+1f,
     {0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x1.99899a0000000p-4f, 0x1.3331340000000p-2f, 0x1.7332740000000p+0f,
      0x1.1999da0000000p+1f, 0x1.4000000000000p+1f, 0x0.0p+0f}},
    {HR_QUINT16,
     "SCALED",
     "HALF_TO_EVEN",
     true,
     {1, 1, 1, 1, 2621, 7864, 38010, 57671, 65535, 1},
     0x1.4001400000000p-15f,
     0x1.4000000000000p+1f,
     {0x1.4001400000000p-15f, 0x1.4001400000000p-15f, 0x1.4001400000000p-15f, 0x1.4001400000000p-15f,
      0x1.99899a0000000p-4f, 0x1.3331340000000p-2f, 0x1.7332740000000p+0f, 0x1.1999da0000000p+1f, 0x1.4000000000000p+1f,
      0x1.4001400000000p-15f}},
};

static int whole_at(const hr_tensor *t, int i)
{
    switch (t->dtype) {
    case HR_QINT8:
        return ((const int8_t *)t->data)[i];
    case HR_QUINT8:
        return ((const uint8_t *)t->data)[i];
    case HR_QINT16:
        return ((const int16_t *)t->data)[i];
    default:
        return ((const uint16_t *)t->data)[i];
    }
}

static void check(const struct quantised *c)
{
    hr_graph *g = hr_graph_new();
    hr_error err;
    hr_tensor out[4];
    const hr_tensor in = hr_tensor_of(HR_FLOAT, HR_SHAPE(COUNT), given);
    const hr_node by = hr_new_node(
        g, "QuantizeV2",
        HR_INPUTS(hr_const(g, &in), hr_const_number(g, HR_FLOAT, -2.1, NULL), hr_const_number(g, HR_FLOAT, 2.5, NULL)),
        HR_ATTRS(HR_TYPE_ATTR("T", c->dtype), HR_STRING_ATTR("mode", c->mode), HR_STRING_ATTR("round_mode", c->round),
                 HR_BOOL_ATTR("narrow_range", c->narrow)));
    const hr_node back =
        hr_new_node(g, "Dequantize", HR_INPUTS(by, hr_node_output(by, 1), hr_node_output(by, 2)),
                    HR_ATTRS(HR_STRING_ATTR("mode", c->mode), HR_BOOL_ATTR("narrow_range", c->narrow)));
    const hr_node fetches[] = {by, hr_node_output(by, 1), hr_node_output(by, 2), back};
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, fetches, 4, out, &err), &err);
    const float min = *(float *)out[1].data, max = *(float *)out[2].data;
    if (min != c->min || max != c->max)
        fail_msg("%s %s: expected the range %a, %a, got %a, %a", c->mode, c->round, (double)c->min, (double)c->max,
                 (double)min, (double)max);
    for (int i = 0; i < COUNT; i++) {
        if (whole_at(&out[0], i) != c->values[i] || ((float *)out[3].data)[i] != c->back[i])
            fail_msg("%s %s: value %d: expected %d and %a, got %d and %a", c->mode, c->round, i, c->values[i],
                     (double)c->back[i], whole_at(&out[0], i), (double)((float *)out[3].data)[i]);
    }
    for (int i = 0; i < 4; i++) hr_tensor_clear(&out[i]);
    hr_session_free(s);
    hr_graph_free(g);
}

static void floats_become_tensorflows_whole_numbers_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(floats_become_tensorflows_whole_numbers_and_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
