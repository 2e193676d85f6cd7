/* The conformance suite finds what is wrong with a graph op: one descriptor for each mistake, each otherwise like the
 * sound one, which doubles numbers. Errors name the check, the trial, what was expected and what was found. */
#include "tests/testing.h"

#include "examples/ops/example_ops.h"

#include <headrace/graph_op_conformance.h>
#include <headrace/kernels.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Before main, after that of testing.c. */
__attribute__((constructor)) static void count_allocations(void)
{
    hr_conformance_count_allocations(&testing_allocator);
}

/* ---- a sound op, through memory of its own ---- */

static hr_status double_to(hr_kernel *k, hr_dtype dtype, hr_shape shape, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    hr_tensor *out;
    double *twice = hr_kernel_temp(k, (size_t)in->count * sizeof *twice);
    if (!twice) return hr_no_memory(err, "doubled numbers");
    for (int64_t i = 0; i < in->count; i++)
        twice[i] = 2 * (in->dtype == HR_FLOAT ? (double)((const float *)in->data)[i] : ((const double *)in->data)[i]);
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    for (int64_t i = 0; i < out->count && i < in->count; i++) {
        if (dtype == HR_FLOAT) ((float *)out->data)[i] = (float)twice[i];
        if (dtype == HR_DOUBLE) ((double *)out->data)[i] = twice[i];
    }
    return HR_OK;
}

static hr_status sound_compute(hr_kernel *k, hr_error *err)
{
    return double_to(k, k->input[0]->dtype, k->input[0]->shape, err);
}
HR_UNARY_GRADIENT(sound, hr_add(g, g))

#define SOUND(...)                                                                                                     \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = "Test>Twice", .inputs = "x:T", .outputs = "y:T", .attrs = "T:floats",        \
        .shapes = "=0", __VA_ARGS__                                                                                    \
    }

static const hr_graph_op sound = SOUND(.compute = sound_compute, .gradient = sound_gradient);

/* ---- the mistakes ---- */

/* Another shape than it infers. */
static hr_status flat_compute(hr_kernel *k, hr_error *err)
{
    return double_to(k, k->input[0]->dtype, HR_SHAPE(k->input[0]->count), err);
}
static const hr_graph_op of_wrong_shape = SOUND(.compute = flat_compute, .gradient = sound_gradient);

/* Another type than it says. */
static hr_status of_type_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor ids = {0};
    HR_TRY(hr_tensor_new(&ids, HR_INT8, k->input[0]->shape, err));
    if (ids.count) memset(ids.data, 0, (size_t)ids.count);
    hr_kernel_give(k, 0, ids);
    return HR_OK;
}
static const hr_graph_op of_wrong_type = SOUND(.compute = of_type_compute);

/* A value too many, within the rounded size of the buffer, where no sanitizer looks. */
static hr_status beyond_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    if (out->count > 0) memset(out->data, 0, (size_t)(out->count + 1) * hr_dtype_size(out->dtype));
    return HR_OK;
}
static const hr_graph_op writes_too_far = SOUND(.compute = beyond_compute);

/* Over its input, without asking. */
static hr_status over_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    HR_TRY(sound_compute(k, err));
    if (in->count > 0) memset(in->data, 0, (size_t)in->count * hr_dtype_size(in->dtype));
    return HR_OK;
}
static const hr_graph_op writes_over_its_input = SOUND(.compute = over_compute);

/* Counts what it has seen, and is not stateful. */
static hr_status counting_compute(hr_kernel *k, hr_error *err)
{
    static _Atomic int runs;
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    const int run = atomic_fetch_add(&runs, 1) % 100;
    for (size_t i = 0; i < (size_t)out->count * hr_dtype_size(out->dtype); i++)
        ((unsigned char *)out->data)[i] = (unsigned char)run;
    return HR_OK;
}
static const hr_graph_op keeps_a_state = SOUND(.compute = counting_compute);

/* The thread that computes a piece is written into it: 0 for the first that it saw. */
static void say_thread(int64_t first, int64_t last, void *user)
{
    static _Atomic int threads;
    static _Thread_local int thread;
    if (!thread) thread = 1 + atomic_fetch_add(&threads, 1);
    for (volatile int i = 0; i < 200000; i++) continue; /* so that others get to work */
    for (int64_t i = first; i < last; i++) ((float *)user)[i] = (float)thread;
}
static hr_status threads_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    hr_kernel_parallel(k, out->count, 1e7, say_thread, out->data);
    return HR_OK;
}
static const hr_graph_op depends_on_threads = SOUND(.compute = threads_compute, .types = "T:{float32}");

/* Three times what flows in. */
HR_UNARY_GRADIENT(wrong, hr_add(g, hr_add(g, g)))
static const hr_graph_op of_wrong_derivative = SOUND(.compute = sound_compute, .gradient = wrong_gradient);

/* A gradient without dimensions. */
HR_UNARY_GRADIENT(scalar, hr_reduce_sum(g))
static const hr_graph_op of_scalar_gradient = SOUND(.compute = sound_compute, .gradient = scalar_gradient);

/* Gives the rank that was inferred, instead of the one that its input has. */
static hr_status inferred_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session, (void)err;
    *(int *)state = hr_node_shape(hr_node_input(node, 0)).rank;
    return HR_OK;
}
static hr_status inferred_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    return hr_put_int(out, 0, *(int *)k->state, err);
}
static const hr_graph_op needs_inference = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Twice",
    .inputs = "x:T",
    .outputs = "y:int32",
    .attrs = "T:floats",
    .shapes = "[]",
    .state_size = sizeof(int),
    .prepare = inferred_prepare,
    .compute = inferred_compute,
};

/* Gives nothing back to the library. The test does in the end, for leak checkers. */
enum { MOST_KEPT = 4096 };
static void *kept[MOST_KEPT];
static int kept_count;
static hr_status leaking_compute(hr_kernel *k, hr_error *err)
{
    if (kept_count < MOST_KEPT && !(kept[kept_count++] = hr_malloc(10))) return hr_no_memory(err, "ten bytes");
    return sound_compute(k, err);
}
static const hr_graph_op leaks = SOUND(.compute = leaking_compute);

/* Without memory it gives zeros, and says nothing. */
static hr_status silent_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    if (sound_compute(k, err) == HR_OK) return HR_OK;
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    if (out->count > 0) memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    return HR_OK;
}
static const hr_graph_op hides_lack_of_memory = SOUND(.compute = silent_compute);

/* Fails without an error. */
static hr_status mute_compute(hr_kernel *k, hr_error *err) { return (void)k, (void)err, HR_INVALID_ARGUMENT; }
static const hr_graph_op fails_without_words = SOUND(.compute = mute_compute);

/* Refuses whatever it is given. */
static hr_status refusing_shape(hr_infer *s, hr_error *err) { return hr_infer_refuse(s, err, "something else"); }
static const hr_graph_op refuses_all = SOUND(.compute = sound_compute, .shape = refusing_shape);

static const hr_graph_op malformed = SOUND(.compute = sound_compute, .types = "S:floats");

/* ---- what is found ---- */

static void assert_found(const hr_graph_op *op, const char *kind, const char *text)
{
    hr_error err = {0};
    assert_status(hr_conformance_graph_op(op, NULL, &err), HR_INTERNAL);
    if (strcmp(err.kind, kind) != 0) fail_msg("expected %s, got %s: %s", kind, err.kind, err.text);
    assert_text_begins(err.text, "Test>Twice: ");
    assert_text_contains(err.text, text);
}

static void sound_ops_pass(void **state)
{
    hr_error err = {0};
    (void)state;
    hr_graph_op_report report;
    const hr_graph_op_conformance_opts opts = {.struct_size = sizeof opts, .report = &report};
    assert_ok(hr_conformance_graph_op(&sound, &opts, &err), &err);
    assert_at_least(report.trials, 100);
    assert_more(report.results, 20);
    assert_more(report.gradients, 10);
    assert_int_equal(report.comparisons, 4);
    assert_more(report.eager, 10);
}

static void the_ops_of_the_example_pass(void **state)
{
    hr_error err = {0};
    (void)state;
    assert_ok(hr_conformance_graph_op(&zero_out_ops[0], NULL, &err), &err);
    hr_graph_op_report report;
    const hr_graph_op_conformance_opts opts = {.struct_size = sizeof opts, .report = &report};
    assert_ok(hr_conformance_graph_op(&shuffle_rows_ops[0], &opts, &err), &err);
    assert_more(report.gradients, 0);
}

static void wrong_results_are_found(void **state)
{
    (void)state;
    assert_found(&of_wrong_shape, "conformance.shape", "got [");
    assert_found(&of_wrong_type, "conformance.error", "expected output 0 of float");
    assert_found(&writes_too_far, "conformance.bounds", "expected nothing after the ");
    assert_found(&writes_over_its_input, "conformance.input",
                 "expected inputs as they were before the run, got others");
    assert_found(&fails_without_words, "conformance.error", "failed without an error (InvalidArgument)");
    assert_found(&refuses_all, "conformance.result", "expected a result in one of 40100 trials, got none");
    assert_found(&malformed, "conformance.descriptor", "expected a type attribute of the op and ':'");
}

static void results_that_are_not_those_of_the_inputs_are_found(void **state)
{
    (void)state;
    assert_found(&keeps_a_state, "conformance.run", "expected the same result 0 in a second run of the session");
    assert_found(&needs_inference, "conformance.eager", "expected in an eager graph the same result 0, got another");
    assert_found(&depends_on_threads, "conformance.run", "expected the same result 0 in a session with 4 threads");
}

static void wrong_gradients_are_found(void **state)
{
    (void)state;
    assert_found(&of_wrong_derivative, "conformance.derivative", "that which differences have is");
    assert_found(&of_scalar_gradient, "conformance.gradient", "expected a gradient of its input's shape, [");
}

static void what_is_wrong_with_memory_is_found(void **state)
{
    (void)state;
    assert_found(&leaks, "conformance.leak", "expected all memory to be freed, got 1 allocations that are left");
    assert_found(&hides_lack_of_memory, "conformance.memory",
                 "expected an error or the same result 0 where allocation ");
    for (int i = 0; i < kept_count; i++) hr_free(kept[i]);
}

/* The trial that an error names is made again by its number. */
static void a_trial_can_be_repeated(void **state)
{
    hr_error first = {0}, again = {0};
    long long number;
    (void)state;
    assert_status(hr_conformance_graph_op(&of_wrong_shape, NULL, &first), HR_INTERNAL);
    assert_int_equal(sscanf(first.text, "Test>Twice: trial %lld:", &number), 1);
    const hr_graph_op_conformance_opts opts = {.struct_size = sizeof opts, .first = number, .trials = 1};
    assert_status(hr_conformance_graph_op(&of_wrong_shape, &opts, &again), HR_INTERNAL);
    assert_string_equal(first.text, again.text);
}

static void checks_that_are_left_out_find_nothing(void **state)
{
    hr_error err = {0};
    (void)state;
    const hr_graph_op_conformance_opts opts = {.struct_size = sizeof opts,
                                               .checks = ~0u & ~(unsigned)HR_CONFORM_DIFFERENCES};
    assert_ok(hr_conformance_graph_op(&of_wrong_derivative, &opts, &err), &err);
    assert_status(hr_conformance_graph_op(NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "conformance.argument");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_ops_pass),
        cmocka_unit_test(the_ops_of_the_example_pass),
        cmocka_unit_test(wrong_results_are_found),
        cmocka_unit_test(results_that_are_not_those_of_the_inputs_are_found),
        cmocka_unit_test(wrong_gradients_are_found),
        cmocka_unit_test(what_is_wrong_with_memory_is_found),
        cmocka_unit_test(a_trial_can_be_repeated),
        cmocka_unit_test(checks_that_are_left_out_find_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
