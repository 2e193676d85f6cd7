/* Loops over neighbours give the same bits on processors with vectors of any width: each element-wise op, of each type
 * of its kernels, on numbers of all kinds. */
#include "base/cpu.h"
#include "tests/testing.h"

#include <headrace/kernels.h>
#include <headrace/signature.h>
#include <math.h>
#include <string.h>

enum { VALUES = 203, INPUTS = 3, MOST_BYTES = VALUES * 16 };

typedef struct element_wise {
    hr_graph *g;
    hr_session *s;
    hr_node x[INPUTS], y;
    int inputs;
} element_wise;

/* A node of the op whose inputs are fed; input `single` is a scalar. False: the op does not go with the type. */
static bool make_node(element_wise *e, const hr_graph_op *op, hr_dtype dtype, int single)
{
    hr_error err;
    const hr_signature *sig;
    e->g = hr_graph_new();
    assert_ok(hr_graph_signature(e->g, op->name, &sig, &err), &err);
    e->inputs = hr_signature_inputs(sig);
    for (int i = 0; i < e->inputs && i < INPUTS; i++) {
        const hr_arg_def *in = hr_signature_input(sig, i);
        const hr_shape shape = i == single ? HR_SCALAR : HR_SHAPE(VALUES);
        e->x[i] = hr_placeholder(e->g, in->type_attr >= 0 ? dtype : in->type, shape);
    }
    if (e->inputs <= INPUTS) e->y = hr_new_node(e->g, op->name, .inputs = e->x, .input_count = e->inputs);
    if (e->inputs > INPUTS || hr_graph_error(e->g)) {
        hr_graph_free(e->g);
        return false;
    }
    e->s = hr_session_new(e->g, .passes = "none");
    return true;
}

/* Every second float is any bits: NaN, infinities and subnormals among them. Integers of 0 would end divisions. */
static void draw(hr_dtype dtype, char *to, uint64_t key)
{
    const size_t size = hr_dtype_size(dtype);
    for (size_t b = 0; b < VALUES * size; b++)
        to[b] = (char)(dtype == HR_BOOL ? hr_random_below(key, b, 2) : hr_random_below(key, b, 256) | 1);
    for (int i = 0; i < VALUES; i += 2) {
        const float value = (float)hr_random_below(key + 1, (uint64_t)i, 2001) / 100 - 10;
        if (dtype == HR_FLOAT) ((float *)(void *)to)[i] = value;
        if (dtype == HR_DOUBLE) ((double *)(void *)to)[i] = (double)value;
    }
}

static hr_status run_with(const element_wise *e, unsigned features, hr_tensor *out)
{
    _Alignas(16) char values[INPUTS][MOST_BYTES];
    hr_feed feeds[INPUTS];
    hr_error err;
    for (int i = 0; i < e->inputs; i++) {
        draw(hr_node_dtype(e->x[i]), values[i], (uint64_t)i * 2);
        feeds[i] = (hr_feed){e->x[i], hr_tensor_of(hr_node_dtype(e->x[i]), hr_node_shape(e->x[i]), values[i])};
    }
    hr__cpu_limit(features);
    const hr_status st = hr_session_run(e->s, feeds, e->inputs, &e->y, 1, out, &err);
    hr__cpu_limit(~0u);
    return st;
}

/* Which NaN it is may differ. */
static bool same_value(const hr_tensor *a, const hr_tensor *b, int64_t i)
{
    const size_t size = hr_dtype_size(a->dtype), at = (size_t)i * size;
    if (a->dtype == HR_FLOAT && ((float *)a->data)[i] != ((float *)a->data)[i])
        return ((float *)b->data)[i] != ((float *)b->data)[i];
    if (a->dtype == HR_DOUBLE && ((double *)a->data)[i] != ((double *)a->data)[i])
        return ((double *)b->data)[i] != ((double *)b->data)[i];
    return memcmp((const char *)a->data + at, (const char *)b->data + at, size) == 0;
}

static void compare(const element_wise *e, const char *op, unsigned features)
{
    hr_tensor one = {0}, other = {0};
    const hr_status st = run_with(e, 0, &one);
    assert_int_equal(run_with(e, features, &other), st);
    for (int64_t i = 0; st == HR_OK && i < one.count; i++)
        if (!same_value(&one, &other, i))
            fail_msg("%s of %s: value %d differs with features %x", op, hr_dtype_name(one.dtype), (int)i, features);
    if (st != HR_OK) return;
    hr_tensor_clear(&one);
    hr_tensor_clear(&other);
}

static void vectors_of_any_width_give_the_same_bits(void **state)
{
    static const hr_dtype types[] = {HR_FLOAT, HR_DOUBLE, HR_INT32, HR_INT64};
    int compared = 0;
    (void)state;
    for (int n = 0; hr_graph_op_at(n); n++) {
        const hr_graph_op *op = hr_graph_op_at(n);
        for (int t = 0; t < 4 && (op->traits & HR_ELEMENT_WISE) && op->kernels; t++)
            for (int single = -1; single < 2; single++) {
                element_wise e;
                if (!hr_kernel_of_type(op->kernels, types[t]) || !make_node(&e, op, types[t], single)) continue;
                compare(&e, op->name, HR__SSE42 | HR__AVX2);
                compare(&e, op->name, ~0u);
                compared++;
                hr_session_free(e.s);
                hr_graph_free(e.g);
            }
    }
    assert_true(compared > 200);
}

/* Sums, too: their order is that of the shape. */
static void reductions_give_the_same_bits(void **state)
{
    static const char *const ops[] = {"Sum", "Mean", "Max", "Min", "Prod"};
    (void)state;
    for (size_t n = 0; n < 2 * sizeof ops / sizeof *ops; n++) {
        element_wise e = {.g = hr_graph_new(), .inputs = 1};
        e.x[0] = hr_placeholder(e.g, HR_FLOAT, HR_SHAPE(VALUES));
        const hr_node x = hr_reshape(e.x[0], hr_ints(e.g, HR_I64(VALUES / 7, 7), 2)), axis = hr_ints(e.g, HR_I64(0), 1);
        e.y = hr_new_node(e.g, ops[n / 2], HR_INPUTS(n % 2 ? x : e.x[0], axis));
        e.s = hr_session_new(e.g, .passes = "none");
        compare(&e, ops[n / 2], HR__SSE42 | HR__AVX2);
        compare(&e, ops[n / 2], ~0u);
        hr_session_free(e.s);
        hr_graph_free(e.g);
    }
}

/* Of long runs: a NaN, a last value and the zero that comes first or last are found. */
static void extremes_of_long_runs_are_those_of_one_value_after_the_other(void **state)
{
    (void)state;
    for (int at = 0; at < VALUES; at++)
        for (int c = 0; c < 4; c++) {
            static const float most[] = {7, NAN, INFINITY, 0};
            float values[VALUES], want = c == 3 ? -0.0f : most[c];
            for (int i = 0; i < VALUES; i++) values[i] = c == 3 ? -1.0f - (float)i : (float)(i % 5);
            values[at] = want;
            if (c == 3 && at > 0) values[at - 1] = want = 0;
            hr_graph *g = hr_graph_new();
            const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(VALUES), values);
            const hr_node y = hr_reduce_max(hr_const(g, &t)), z = hr_reduce_min(hr_neg(hr_const(g, &t)));
            hr_session *s = hr_session_new(g, .passes = "none");
            hr_tensor out[2];
            hr_error err;
            assert_ok(hr_session_run(s, NULL, 0, (const hr_node[]){y, z}, 2, out, &err), &err);
            const float high = *(float *)out[0].data, low = *(float *)out[1].data;
            if (c == 1) assert_true(high != high && low != low);
            if (c != 1) assert_true(high == want && low == -want && !signbit(high) == !signbit(want));
            hr_tensor_clear(&out[0]);
            hr_tensor_clear(&out[1]);
            hr_session_free(s);
            hr_graph_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_any_width_give_the_same_bits),
        cmocka_unit_test(reductions_give_the_same_bits),
        cmocka_unit_test(extremes_of_long_runs_are_those_of_one_value_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
