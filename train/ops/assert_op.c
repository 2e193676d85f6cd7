/* Assert and CheckNumerics, which fail the run and say why, and Print, which tells the log what it is given. */
#include <headrace/kernels.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct assert_text {
    char text[400];
    size_t size;
} assert_text;

static void append(assert_text *t, const char *text, int64_t size)
{
    const size_t left = sizeof t->text - 1 - t->size, count = (uint64_t)size < left ? (size_t)size : left;
    if (count > 0) memcpy(t->text + t->size, text, count);
    t->size += count;
    t->text[t->size] = 0;
}

static void append_value(assert_text *t, const hr_tensor *data, int64_t i)
{
    char number[40] = "?";
    switch (data->dtype) {
    case HR_STRING:
        append(t, ((const hr_view *)data->data)[i].data, ((const hr_view *)data->data)[i].size);
        return;
    case HR_BOOL:
        snprintf(number, sizeof number, "%d", ((const bool *)data->data)[i]);
        break;
#define FLOATING(T, U, D, S)                                                                                           \
    case D:                                                                                                            \
        snprintf(number, sizeof number, "%g", (double)((const T *)data->data)[i]);                                     \
        break;
#define SIGNED(T, U, D, S)                                                                                             \
    case D:                                                                                                            \
        snprintf(number, sizeof number, "%" PRId64, (int64_t)((const T *)data->data)[i]);                              \
        break;
#define UNSIGNED(T, U, D, S)                                                                                           \
    case D:                                                                                                            \
        snprintf(number, sizeof number, "%" PRIu64, (uint64_t)((const T *)data->data)[i]);                             \
        break;
        HR_FLOAT_TYPES(FLOATING)
        HR_SIGNED_TYPES(SIGNED)
        HR_UNSIGNED_TYPES(UNSIGNED)
    default:
        break;
    }
    append(t, number, (int64_t)strlen(number));
}

/* The first values of a tensor, as many as the node's `summarize` says; below 0: all. */
static void append_tensor(assert_text *t, const hr_tensor *data, int64_t summarize)
{
    append(t, " [", 2);
    for (int64_t i = 0; i < data->count && t->size < sizeof t->text - 1; i++) {
        if (i > 0 && summarize >= 0 && i >= summarize) {
            append(t, "...", 3);
            break;
        }
        if (i > 0) append(t, " ", 1);
        append_value(t, data, i);
    }
    append(t, "]", 1);
}

static hr_status assert_compute(hr_kernel *k, hr_error *err)
{
    assert_text t = {.size = 0};
    const hr_tensor *condition = k->input[0];
    HR_TRY(hr_expect_rank("condition", condition->shape, 0, err));
    if (*(const bool *)condition->data) return HR_OK;
    for (int i = 1; i < k->inputs; i++) append_tensor(&t, k->input[i], hr_attr_int(k->node, "summarize"));
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.assert", "assertion failed:%s", t.text);
}

/* ---- Print: one line for the log ---- */

typedef struct print_state {
    int64_t done;
} print_state;

static hr_status print_compute(hr_kernel *k, hr_error *err)
{
    assert_text t = {.size = 0};
    print_state *state = k->state;
    const hr_view message = hr_attr_string(k->node, "message");
    const int64_t first = hr_attr_int(k->node, "first_n");
    if (first < 0 || state->done < first) {
        state->done++;
        append(&t, message.data, message.size);
        for (int i = 1; i < k->inputs; i++) append_tensor(&t, k->input[i], hr_attr_int(k->node, "summarize"));
        hr_log_message(HR_INFO, "%s", t.text);
    }
    return hr_kernel_pass(k, 0, 0, k->input[0]->shape, err);
}

static hr_status print_v2_compute(hr_kernel *k, hr_error *err)
{
    HR_TRY(hr_expect_rank("input", k->input[0]->shape, 0, err));
    const hr_view text = *(const hr_view *)k->input[0]->data;
    hr_log_message(HR_INFO, "%.*s", (int)(text.size < 4096 ? text.size : 4096), text.size ? text.data : "");
    return HR_OK;
}

static void print_gradient(hr_backward *b) { hr_backward_give(b, 0, b->grad[0]); }

/* ---- CheckNumerics ---- */

enum { HAS_NAN = 1, HAS_MINUS = 2, HAS_PLUS = 4 };

#define CHECK(T, V, U, DTYPE, SUFFIX, A, B)                                                                            \
    static int check_##SUFFIX(const void *data, int64_t count)                                                         \
    {                                                                                                                  \
        int found = 0;                                                                                                 \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const V x = HR_GET(SUFFIX, ((const T *)data)[i]);                                                          \
            if (!isfinite(x)) found |= isnan(x) ? HAS_NAN : x < 0 ? HAS_MINUS : HAS_PLUS;                              \
        }                                                                                                              \
        return found;                                                                                                  \
    }
HR_EACH_TYPE(CHECK, ~, ~, floats, halves)

static hr_status check_numerics(hr_kernel *k, bool signs, hr_error *err)
{
    static const char *const names[] = {"",     "NaN",          "-Inf",          "-Inf and NaN",
                                        "+Inf", "+Inf and NaN", "-Inf and +Inf", "-Inf, +Inf, and NaN"};
    const hr_tensor *in = k->input[0];
    const hr_view message = hr_attr_string(k->node, "message");
    const int found = ((int (*)(const void *, int64_t))hr_kernel_chosen(k)->run)(in->data, in->count);
    const char *what = signs ? names[found] : found == HAS_NAN ? "NaN" : found & HAS_NAN ? "Inf and NaN" : "Inf";
    if (found == 0) return hr_kernel_pass(k, 0, 0, in->shape, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.assert", "%.*s : Tensor had %s values",
                   (int)(message.size < 200 ? message.size : 200), message.data, what);
}

static hr_status check_v1_compute(hr_kernel *k, hr_error *err) { return check_numerics(k, false, err); }
static hr_status check_v2_compute(hr_kernel *k, hr_error *err) { return check_numerics(k, true, err); }

/* What flows back is checked as well. */
static void check_gradient(hr_backward *b)
{
    hr_backward_give(b, 0,
                     hr_new_node(b->graph, "CheckNumerics", HR_INPUTS(b->grad[0]),
                                 HR_ATTRS(HR_STRING_ATTR("message", "Not a number (NaN) or infinity (Inf) values "
                                                                    "detected in gradient."))));
}

/* ---- Abort: ends the run; TensorFlow ends the process ---- */

static hr_status abort_compute(hr_kernel *k, hr_error *err)
{
    const hr_view message = hr_attr_string(k->node, "error_msg");
    return hr_fail(err, HR_ABORTED, "graph.abort", "Abort: %.*s", (int)(message.size < 200 ? message.size : 200),
                   message.size ? message.data : "");
}

#define CHECK_OP(NAME, COMPUTE)                                                                                        \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_STATEFUL, .shapes = "=0",                               \
        .kernels = HR_KERNELS(check, floats, halves), .compute = (COMPUTE), .gradient = check_gradient,                \
    }

const hr_graph_op hr_graph_ops_assert_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Abort",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = abort_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Assert",
        .types = "T:any",
        .traits = HR_STATEFUL | HR_CHEAP | HR_NO_GRADIENT,
        .compute = assert_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Print",
        .types = "T:any",
        .traits = HR_STATEFUL,
        .state_size = sizeof(print_state),
        .shapes = "=0",
        .compute = print_compute,
        .gradient = print_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "PrintV2",
        .traits = HR_STATEFUL,
        .compute = print_v2_compute,
    },
    CHECK_OP("CheckNumerics", check_v1_compute),
    CHECK_OP("CheckNumericsV2", check_v2_compute),
    HR_GRAPH_OPS_END,
};

hr_node hr_assert_with(hr_node condition, const hr_node *values, int count, const hr_print_opts *opts)
{
    const hr_print_opts o = HR_OPTIONS(hr_print_opts, opts);
    return hr_node_of_lists(
        "Assert", &condition, 1, values, count,
        &(hr_node_opts){.name = o.name, HR_ATTRS(HR_INT_ATTR("summarize", o.summarize ? o.summarize : 3))});
}

hr_node hr_print_with(hr_node x, const hr_node *values, int count, const hr_print_opts *opts)
{
    const hr_print_opts o = HR_OPTIONS(hr_print_opts, opts);
    return hr_node_of_lists("Print", &x, 1, values, count,
                            &(hr_node_opts){.name = o.name,
                                            HR_ATTRS(HR_STRING_ATTR("message", o.message),
                                                     HR_INT_ATTR("first_n", o.first_n ? o.first_n : -1),
                                                     HR_INT_ATTR("summarize", o.summarize ? o.summarize : 3))});
}

hr_node hr_check_numerics(hr_node x, const char *message)
{
    return hr_new_node(x.graph, "CheckNumerics", HR_INPUTS(x), HR_ATTRS(HR_STRING_ATTR("message", message)));
}
