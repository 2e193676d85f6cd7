/* Products of floats, in tiles or by OpenBLAS, give what products of doubles give: whole numbers, whose sums are exact in
 * any order, of any shape and on any processor. */
#include "base/cpu.h"
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/ops.h>
#include <stdlib.h>

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

static void run(const int64_t *size, bool ta, bool tb, hr_dtype dtype, unsigned features, hr_tensor *out)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    const hr_node a = ta ? matrix(g, dtype, size[1], size[0], 1) : matrix(g, dtype, size[0], size[1], 1);
    const hr_node b = tb ? matrix(g, dtype, size[2], size[1], 2) : matrix(g, dtype, size[1], size[2], 2);
    const hr_node product = hr_matmul(a, b, .transpose_a = ta, .transpose_b = tb);
    hr_session *s = hr_session_new(g, .passes = "none");
    hr__cpu_limit(features);
    assert_ok(hr_session_run(s, NULL, 0, &product, 1, out, &err), &err);
    hr__cpu_limit(~0U);
    hr_session_free(s);
    hr_graph_free(g);
}

static void floats_give_what_doubles_give(void **state)
{
    (void)state;
    static const unsigned processors[] = {~0U, HR__SSE42 | HR__AVX2, 0};
    uint64_t key = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        const int64_t most = draw(&key, 8) ? 90 : 400;
        const int64_t size[3] = {1 + draw(&key, (uint64_t)most), draw(&key, (uint64_t)most), 1 + draw(&key, 150)};
        const bool ta = draw(&key, 4) == 0, tb = draw(&key, 2) == 0;
        hr_tensor floats, doubles;
        run(size, ta, tb, HR_FLOAT, processors[trial % 3], &floats);
        run(size, ta, tb, HR_DOUBLE, ~0U, &doubles);
        for (int64_t i = 0; i < doubles.count; i++)
            if ((double)((float *)floats.data)[i] != ((double *)doubles.data)[i])
                fail_msg("trial %d, [%lld, %lld, %lld], value %lld: %g, not %g", trial, (long long)size[0],
                         (long long)size[1], (long long)size[2], (long long)i, (double)((float *)floats.data)[i],
                         ((double *)doubles.data)[i]);
        hr_tensor_clear(&floats);
        hr_tensor_clear(&doubles);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(floats_give_what_doubles_give)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
