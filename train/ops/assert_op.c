/* Assert: fails the run if its condition is false, and says what it was given. */
#include <headrace/kernels.h>
#include <inttypes.h>
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
    if (condition->shape.rank != 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "condition should be a scalar, got rank %d",
                       condition->shape.rank);
    if (*(const bool *)condition->data) return HR_OK;
    for (int i = 1; i < k->inputs; i++) append_tensor(&t, k->input[i], hr_attr_int(k->node, "summarize"));
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.assert", "assertion failed:%s", t.text);
}

const hr_graph_op hr_graph_ops_assert_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Assert",
        .types = "T:any",
        .traits = HR_STATEFUL | HR_CHEAP | HR_NO_GRADIENT,
        .compute = assert_compute,
    },
    HR_GRAPH_OPS_END,
};
