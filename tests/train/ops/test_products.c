/* Products of floats, in tiles, by OpenBLAS or of bfloat16, give what products of doubles give: whole numbers, whose sums
 * are exact in any order, of any shape and on any processor. Those of bfloat16 have the same bits on all processors. */
#include "base/cpu.h"
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/ops.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 300 };

static int64_t draw(uint64_t *key, uint64_t below) { return (int64_t)hr_random_below(5, (*key)++, below); }

static hr_node matrix(hr_graph *g, hr_dtype dtype, int64_t rows, int64_t columns, uint64_t key)
{
    const int64_t count = rows * columns;
    double *numbers = calloc((size_t)count + 1, sizeof *numbers);
    float *floats = calloc((size_t)count + 1, sizeof *floats);
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = (double)hr_random_below(key, (uint64_t)i, 9) - 4;
        floats[i] = (float)numbers[i];
    }
    const hr_tensor t = hr_tensor_of(dtype, HR_SHAPE(rows, columns), dtype == HR_FLOAT ? (void *)floats : numbers);
    const hr_node x = hr_const(g, &t);
    free(numbers);
    free(floats);
    return x;
}

static void run(const int64_t *size, bool ta, bool tb, hr_dtype dtype, hr_products products, unsigned features,
                hr_tensor *out)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    const hr_node a = ta ? matrix(g, dtype, size[1], size[0], 1) : matrix(g, dtype, size[0], size[1], 1);
    const hr_node b = tb ? matrix(g, dtype, size[2], size[1], 2) : matrix(g, dtype, size[1], size[2], 2);
    const hr_node product = hr_matmul(a, b, .transpose_a = ta, .transpose_b = tb);
    hr_session *s = hr_session_new(g, .passes = "none", .products = products);
    hr__cpu_limit(features);
    assert_ok(hr_session_run(s, NULL, 0, &product, 1, out, &err), &err);
    hr__cpu_limit(~0U);
    hr_session_free(s);
    hr_graph_free(g);
}

static void compare_with_double(const int64_t *size, bool ta, bool tb, hr_products products, unsigned features)
{
    hr_tensor floats, doubles;
    run(size, ta, tb, HR_FLOAT, products, features, &floats);
    run(size, ta, tb, HR_DOUBLE, products, ~0U, &doubles);
    for (int64_t i = 0; i < doubles.count; i++)
        if ((double)((float *)floats.data)[i] != ((double *)doubles.data)[i])
            fail_msg("[%lld, %lld, %lld], turned %d %d, value %lld: %g, not %g", (long long)size[0], (long long)size[1],
                     (long long)size[2], ta, tb, (long long)i, (double)((float *)floats.data)[i],
                     ((double *)doubles.data)[i]);
    hr_tensor_clear(&floats);
    hr_tensor_clear(&doubles);
}

static void compare_with_doubles(hr_products products, const unsigned *processors)
{
    uint64_t key = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        const int64_t most = draw(&key, 8) ? 90 : 400;
        int64_t size[3] = {1 + draw(&key, (uint64_t)most), draw(&key, (uint64_t)most), 1 + draw(&key, 150)};
        const bool of_weights = trial % 8 == 0; /* as gradients of them */
        const bool ta = of_weights || draw(&key, 4) == 0, tb = !of_weights && draw(&key, 2) == 0;
        if (of_weights) size[1] = 128 + draw(&key, 100);
        compare_with_double(size, ta, tb, products, processors[trial % 3]);
    }
}

static void floats_give_what_doubles_give(void **state)
{
    (void)state;
    static const unsigned processors[] = {~0U, HR__SSE42 | HR__AVX2, 0};
    compare_with_doubles(HR_PRODUCTS_FLOAT, processors);
}

/* Of more values than the cache has, deeper than a panel's part, and rows a page apart. */
static void floats_of_large_matrices_do_so_too(void **state)
{
    (void)state;
    static const unsigned processors[] = {~0U, HR__SSE42 | HR__AVX2, 0};
    static const int64_t sizes[][3] = {{31, 2100, 150}, {24, 1024, 300}, {61, 300, 1024},
                                       {1024, 40, 70},  {7, 2000, 200},  {200, 1100, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int turned = 0; turned < 4; turned++)
            compare_with_double(sizes[i], turned & 1, turned & 2, HR_PRODUCTS_FLOAT,
                                processors[(i + (size_t)turned) % 3]);
    for (int turned = 0; turned < 4; turned++)
        compare_with_double(sizes[0], turned & 1, turned & 2, HR_PRODUCTS_FLOAT, processors[0]);
}

static void whole_numbers_are_exact_as_bfloat16(void **state)
{
    (void)state;
    static const unsigned processors[] = {~0U, ~0U, 0};
    compare_with_doubles(HR_PRODUCTS_BFLOAT16, processors);
}

/* ---- numbers of all kinds ---- */

/* Of any size, near each other, around the smallest numbers or the largest; some are no numbers, infinite or zero. */
static float any_float(uint64_t *key, int kind)
{
    uint32_t bits = (uint32_t)hr_random_below(11, (*key)++, 1ULL << 32), exponent = bits >> 23 & 0xff;
    const int64_t special = draw(key, 4000);
    float x;
    if (special < 4) return (float[]){NAN, INFINITY, -INFINITY, -0.0F}[special];
    if (kind == 1) exponent = 120 + exponent % 14;
    if (kind == 2) exponent = exponent % 4 ? 56 + exponent % 16 : exponent % 3;
    if (kind == 3) exponent = 60 + exponent % 135;
    if (kind == 4) bits &= 0xffffc000U; /* halfway between two of bfloat16, often */
    if (kind != 0 && kind != 4) bits = (bits & 0x807fffffU) | exponent << 23;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static hr_tensor any_matrix(hr_shape shape, uint64_t *key, int kind)
{
    hr_tensor t = hr_tensor_of(HR_FLOAT, shape, NULL);
    t.data = malloc((size_t)t.count * sizeof(float) + 1);
    for (int64_t i = 0; i < t.count; i++) ((float *)t.data)[i] = any_float(key, kind);
    return t;
}

typedef struct bfloat16_case {
    hr_tensor in[2];
    bool turned[2];
} bfloat16_case;

static hr_tensor bfloat16_product(const bfloat16_case *c, unsigned features, int workers, const char *passes)
{
    hr_error err;
    hr_tensor out;
    hr_graph *g = hr_graph_new();
    const hr_node a = hr_const(g, &c->in[0]), b = hr_const(g, &c->in[1]);
    const hr_node product = hr_matmul(a, b, .adjoint_a = c->turned[0], .adjoint_b = c->turned[1]);
    hr_session *s = hr_session_new(g, .passes = passes, .products = HR_PRODUCTS_BFLOAT16, .workers = &workers);
    hr__cpu_limit(features);
    assert_ok(hr_session_run(s, NULL, 0, &product, 1, &out, &err), &err);
    hr__cpu_limit(~0U);
    hr_session_free(s);
    hr_graph_free(g);
    return out;
}

static void assert_same_bits(const hr_tensor *a, const hr_tensor *b, const char *what)
{
    const float *x = a->data, *y = b->data;
    assert_int_equal(a->count, b->count);
    for (int64_t i = 0; i < a->count; i++)
        if (memcmp(&x[i], &y[i], sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i])))
            fail_msg("%s: value %lld: %a, not %a", what, (long long)i, (double)y[i], (double)x[i]);
}

static void bfloat16_has_the_same_bits_everywhere(void **state)
{
    (void)state;
    uint64_t key = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        const int64_t m = 1 + draw(&key, 60), k = 1 + draw(&key, 90), n = 1 + draw(&key, 140);
        const int64_t products = draw(&key, 4) ? 1 : 1 + draw(&key, 3);
        const int kind = trial % 5;
        bfloat16_case c = {.turned = {draw(&key, 2), draw(&key, 2)}};
        c.in[0] = any_matrix(HR_SHAPE(products, c.turned[0] ? k : m, c.turned[0] ? m : k), &key, kind);
        c.in[1] =
            any_matrix(HR_SHAPE(draw(&key, 2) ? products : 1, c.turned[1] ? n : k, c.turned[1] ? k : n), &key, kind);
        hr_tensor fast = bfloat16_product(&c, ~0U, 0, "none"), plain = bfloat16_product(&c, 0, 0, "none");
        hr_tensor threads = bfloat16_product(&c, ~0U, 3, "none"), folded = bfloat16_product(&c, ~0U, 0, "exact");
        assert_same_bits(&fast, &plain, "plain C");
        assert_same_bits(&fast, &threads, "three workers");
        assert_same_bits(&fast, &folded, "a constant");
        hr_tensor_clear(&fast);
        hr_tensor_clear(&plain);
        hr_tensor_clear(&threads);
        hr_tensor_clear(&folded);
        for (int i = 0; i < 2; i++) free(c.in[i].data);
    }
}

/* A sum that rounds up to the smallest number may count as smaller, and as zero. */
static void bfloat16_ends_at_the_smallest_number(void **state)
{
    (void)state;
    static const float less[] = {0.25F, 0.5F, 0.625F, 0.75F, 1, 1.25F};
    enum { COUNT = sizeof less / sizeof *less };
    float a[COUNT][2], b[2] = {-0x1p-75F, 0x1p-63F};
    for (int i = 0; i < COUNT; i++) a[i][0] = less[i] * 0x1p-75F, a[i][1] = 0x1p-63F;
    bfloat16_case c = {
        .in = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, COUNT, 2), a), hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2, 1), b)}};
    for (int i = 0; i < 2; i++) {
        hr_tensor out = bfloat16_product(&c, i == 0 ? ~0U : 0, 0, "none");
        const float *got = out.data;
        for (int j = 0; j < COUNT; j++) assert_true(got[j] == (less[j] <= 0.5F ? 0x1p-126F : 0));
        hr_tensor_clear(&out);
    }
}

/* Of two that are as near, the one whose last bit is 0. */
static void bfloat16_rounds_to_the_nearest(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    uint64_t key = 0;
    bfloat16_case c = {.in = {any_matrix(HR_SHAPE(1, COUNT, 1), &key, 1), any_matrix(HR_SHAPE(1, 1, 1), &key, 1)}};
    float *x = c.in[0].data;
    for (int i = 0; i < COUNT; i += 2) { /* each other one lies halfway */
        int exponent;
        (void)frexpf(x[i], &exponent);
        x[i] = ldexpf((float)(128 + draw(&key, 128)) + 0.5F, exponent);
    }
    *(float *)c.in[1].data = 1;
    for (int i = 0; i < 2; i++) {
        hr_tensor out = bfloat16_product(&c, i == 0 ? ~0U : 0, 0, "none");
        for (int j = 0; j < COUNT; j++) {
            int exponent;
            const double part = frexp((double)x[j], &exponent);
            assert_true((double)((float *)out.data)[j] == ldexp(nearbyint(ldexp(part, 8)), exponent - 8));
        }
        hr_tensor_clear(&out);
    }
    for (int i = 0; i < 2; i++) free(c.in[i].data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_give_what_doubles_give),        cmocka_unit_test(floats_of_large_matrices_do_so_too),
        cmocka_unit_test(whole_numbers_are_exact_as_bfloat16),  cmocka_unit_test(bfloat16_has_the_same_bits_everywhere),
        cmocka_unit_test(bfloat16_ends_at_the_smallest_number), cmocka_unit_test(bfloat16_rounds_to_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
