/* Convolutions of floats, in tiles of registers, give what plain loops over doubles give: whole numbers, whose sums are
 * exact in any order, with any windows, groups and processor. */
#include "base/cpu.h"
#include "tests/testing.h"

#include <headrace/kernels.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 250 };

typedef struct conv {
    int64_t images, height, width, depth, groups, out, filter[2], stride, dilation, pad[4];
    const char *padding;
} conv;

static int64_t draw(uint64_t *key, uint64_t below) { return (int64_t)hr_random_below(7, (*key)++, below); }

static conv draw_conv(uint64_t *key)
{
    static const char *const paddings[] = {"SAME", "VALID", "EXPLICIT"};
    conv c = {.images = 1 + draw(key, 3), .height = 1 + draw(key, 12), .width = 1 + draw(key, 12)};
    c.groups = draw(key, 4) ? 1 : 1 + draw(key, 3);
    c.depth = c.groups * (1 + draw(key, 9));
    c.out = c.groups * (1 + draw(key, draw(key, 5) ? 20 : 150));
    c.stride = 1 + draw(key, 3);
    c.dilation = 1 + (c.stride == 1 ? draw(key, 3) : 0);
    c.padding = paddings[draw(key, 3)];
    for (int d = 0; d < 2; d++) {
        c.filter[d] = 1 + draw(key, draw(key, 10) ? 4 : 8);
        const int64_t size = d ? c.width : c.height;
        while ((c.filter[d] - 1) * c.dilation >= size) c.filter[d]--;
    }
    for (int i = 0; i < 4; i++) c.pad[i] = draw(key, 3);
    return c;
}

/* Whole numbers from -4 to 4. */
static hr_node values_of(hr_graph *g, hr_dtype dtype, hr_shape shape, uint64_t key)
{
    const int64_t count = hr_shape_count(shape);
    double *numbers = calloc((size_t)count + 1, sizeof *numbers);
    float *floats = calloc((size_t)count + 1, sizeof *floats);
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = (double)hr_random_below(key, (uint64_t)i, 9) - 4;
        floats[i] = (float)numbers[i];
    }
    const hr_tensor t = hr_tensor_of(dtype, shape, dtype == HR_FLOAT ? (void *)floats : numbers);
    const hr_node x = hr_const(g, &t);
    free(numbers);
    free(floats);
    return x;
}

/* The output and both derivatives. */
static void run(const conv *c, hr_dtype dtype, unsigned features, hr_tensor out[3])
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    const hr_shape in = HR_SHAPE(c->images, c->height, c->width, c->depth);
    const hr_shape filter = HR_SHAPE(c->filter[0], c->filter[1], c->depth / c->groups, c->out);
    const hr_node x = values_of(g, dtype, in, 1), w = values_of(g, dtype, filter, 2);
    const int64_t pads[8] = {0, 0, c->pad[0], c->pad[1], c->pad[2], c->pad[3]};
    const hr_attr attrs[] = {HR_INTS_ATTR("strides", HR_I64(1, c->stride, c->stride, 1), 4),
                             HR_INTS_ATTR("dilations", HR_I64(1, c->dilation, c->dilation, 1), 4),
                             HR_STRING_ATTR("padding", c->padding), HR_INTS_ATTR("explicit_paddings", pads, 8)};
    const int count = strcmp(c->padding, "EXPLICIT") == 0 ? 4 : 3;
    const hr_node y = hr_new_node(g, "Conv2D", HR_INPUTS(x, w), .attrs = attrs, .attr_count = count);
    const hr_node dy = values_of(g, dtype, hr_node_shape(y), 3);
    const hr_node dx = hr_new_node(g, "Conv2DBackpropInput", HR_INPUTS(hr_shape_const(g, in), w, dy), .attrs = attrs,
                                   .attr_count = count);
    const hr_node dw = hr_new_node(g, "Conv2DBackpropFilter", HR_INPUTS(x, hr_shape_const(g, filter), dy),
                                   .attrs = attrs, .attr_count = count);
    hr_session *s = hr_session_new(g, .passes = "none");
    hr__cpu_limit(features);
    assert_ok(hr_session_run(s, NULL, 0, (hr_node[]){y, dx, dw}, 3, out, &err), &err);
    hr__cpu_limit(~0U);
    hr_session_free(s);
    hr_graph_free(g);
}

static void assert_same(const hr_tensor *floats, const hr_tensor *doubles, int trial, int which)
{
    assert_int_equal(floats->count, doubles->count);
    for (int64_t i = 0; i < floats->count; i++)
        if ((double)((const float *)floats->data)[i] != ((const double *)doubles->data)[i])
            fail_msg("trial %d, result %d, value %lld: %g, not %g", trial, which, (long long)i,
                     (double)((const float *)floats->data)[i], ((const double *)doubles->data)[i]);
}

static void tiles_give_what_plain_loops_give(void **state)
{
    (void)state;
    static const unsigned processors[] = {~0U, HR__SSE42 | HR__AVX2, 0};
    uint64_t key = 0;
    static const conv large[] = {
        /* so many pixels that they are summed in two pieces; more places than are looked at at once */
        {.images = 2,
         .height = 70,
         .width = 66,
         .depth = 2,
         .groups = 1,
         .out = 5,
         .filter = {3, 2},
         .stride = 1,
         .dilation = 1,
         .padding = "SAME"},
        {.images = 1,
         .height = 19,
         .width = 12,
         .depth = 6,
         .groups = 2,
         .out = 40,
         .filter = {9, 8},
         .stride = 2,
         .dilation = 1,
         .padding = "SAME"},
    };
    enum { LARGE = sizeof large / sizeof *large };
    for (int trial = 0; trial < TRIALS; trial++) {
        const conv c = trial < 3 * LARGE ? large[trial / 3] : draw_conv(&key);
        hr_tensor plain[3], tiles[3];
        run(&c, HR_DOUBLE, ~0U, plain);
        run(&c, HR_FLOAT, processors[trial % 3], tiles);
        for (int i = 0; i < 3; i++) {
            assert_same(&tiles[i], &plain[i], trial, i);
            hr_tensor_clear(&tiles[i]);
            hr_tensor_clear(&plain[i]);
        }
    }
}

/* An infinite weight, or gradient, meets no padding: TensorFlow has no NaN there. */
static void infinities_do_not_meet_padding(void **state)
{
    (void)state;
    hr_error err;
    hr_graph *g = hr_graph_new();
    float weights[9] = {INFINITY, 1, 1, 1, 1, 1, 1, 1, 1}, images[25], gradients[25] = {INFINITY};
    for (int i = 0; i < 25; i++) images[i] = 1, gradients[i] = i ? 1 : INFINITY;
    const hr_tensor filter = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 3, 1, 1), weights);
    const hr_tensor image = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 5, 5, 1), images);
    const hr_tensor gradient = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 5, 5, 1), gradients);
    const hr_node x = hr_const(g, &image), w = hr_const(g, &filter), dy = hr_const(g, &gradient);
#define SAME HR_ATTRS(HR_INTS_ATTR("strides", HR_I64(1, 1, 1, 1), 4), HR_STRING_ATTR("padding", "SAME"))
    const hr_node fetches[] = {
        hr_new_node(g, "Conv2D", HR_INPUTS(x, w), SAME),
        hr_new_node(g, "Conv2DBackpropInput", HR_INPUTS(hr_shape_of(x), w, x), SAME),
        hr_new_node(g, "Conv2DBackpropFilter", HR_INPUTS(x, hr_shape_of(w), dy), SAME),
    };
    hr_session *s = hr_session_new(g, .passes = "none");
    hr_tensor out[3];
    assert_ok(hr_session_run(s, NULL, 0, fetches, 3, out, &err), &err);
    assert_true(((float *)out[0].data)[0] == 4 && ((float *)out[0].data)[1] == 6 && isinf(((float *)out[0].data)[6]));
    assert_true(isinf(((float *)out[1].data)[0]) && ((float *)out[1].data)[24] == 4);
    assert_true(((float *)out[2].data)[0] == 16 && isinf(((float *)out[2].data)[4]));
    for (int i = 0; i < 3; i++) hr_tensor_clear(&out[i]);
    hr_session_free(s);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_give_what_plain_loops_give),
        cmocka_unit_test(infinities_do_not_meet_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
