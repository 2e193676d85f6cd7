/* Sequences: steps of rows, [steps, width], and the dense form [rows, most steps, width] before layers that want
 * it. The gradient leaves out what was filled in. */
#include <headrace/kernels.h>
#include <headrace/feature_columns.h>
#include <string.h>

/* Splits that begin at 0, rise, and end at the number of steps; -1: at whatever that is. */
static hr_status sequence_check_rows(const hr_tensor *splits, int64_t steps, hr_error *err)
{
    const int32_t *s = splits->data;
    bool fits =
        splits->shape.rank == 1 && splits->count > 0 && s[0] == 0 && (steps < 0 || s[splits->count - 1] == steps);
    for (int64_t r = 1; fits && r < splits->count; r++) fits = s[r - 1] <= s[r];
    if (fits) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.splits",
                   "expected row_splits that rise from 0 to the number of steps, got others, or %lld steps",
                   (long long)steps);
}

static int64_t longest(const hr_tensor *splits)
{
    const int32_t *s = splits->data;
    int64_t max = 0;
    for (int64_t r = 1; r < splits->count; r++)
        if (s[r] - s[r - 1] > max) max = s[r] - s[r - 1];
    return max;
}

/* ---- SequenceLength: on which all columns of a layer agree ---- */

static hr_status length_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    const int64_t splits = s->input[0].rank == 1 ? s->input[0].dims[0] : -1;
    s->output[0] = HR_SHAPE(splits > 0 ? splits - 1 : -1);
    return HR_OK;
}

static hr_status length_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    const int32_t **steps = hr_kernel_temp(k, (size_t)k->inputs * sizeof *steps);
    const char **name = hr_kernel_temp(k, (size_t)k->inputs * sizeof *name);
    if (!steps || !name) return hr_no_memory(err, "the lengths of sequences");
    for (int c = 0; c < k->inputs; c++) {
        if (k->input[c]->count != k->input[0]->count)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.splits", "expected row_splits of one length");
        HR_TRY(sequence_check_rows(k->input[c], -1, err));
        steps[c] = k->input[c]->data;
        name[c] = hr_node_name(hr_node_input(k->node, c));
    }
    const int64_t rows = k->input[0]->count - 1;
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(rows), &out, err));
    return hr_sequence_lengths(steps, name, k->inputs, rows, out->data, err);
}

/* ---- PadSequence ---- */

static hr_status sequence_pad_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    const int64_t splits = s->input[2].rank == 1 ? s->input[2].dims[0] : -1;
    s->output[0] = HR_SHAPE(splits > 0 ? splits - 1 : -1, -1, s->input[0].rank == 2 ? s->input[0].dims[1] : -1);
    return HR_OK;
}

static hr_status sequence_pad_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *values = k->input[0], *splits = k->input[2];
    if (values->shape.rank != 2 || k->input[1]->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected values [steps, width] and one padding");
    HR_TRY(sequence_check_rows(splits, values->shape.dims[0], err));
    const int64_t rows = splits->count - 1, width = values->shape.dims[1], max = longest(splits);
    const size_t size = hr_dtype_size(values->dtype);
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(rows, max, width), &out, err));
    char *step = hr_kernel_temp(k, (size_t)width * size + 1);
    if (!step) return hr_no_memory(err, "a step of a sequence");
    for (int64_t i = 0; i < width; i++) memcpy(step + (size_t)i * size, k->input[1]->data, size);
    if (out->count > 0) hr_pad_sequence(values->data, (size_t)width * size, splits->data, rows, max, step, out->data);
    return HR_OK;
}

static void sequence_pad_gradient(hr_backward *b)
{
    const hr_node all[] = {b->grad[0], b->input[2]};
    if (!b->grad[0].graph) return;
    b->out[0] = hr_dense_gradient(hr_new_node(b->graph, "Headrace>UnpadSequence", .inputs = all, .input_count = 2));
}

/* ---- UnpadSequence: the steps that rows have ---- */

static hr_status unpad_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = HR_SHAPE(-1, s->input[0].rank == 3 ? s->input[0].dims[2] : -1);
    return HR_OK;
}

static hr_status unpad_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *dense = k->input[0], *splits = k->input[1];
    const int32_t *s = splits->data;
    const int64_t rows = splits->count - 1;
    hr_tensor *out;
    HR_TRY(sequence_check_rows(splits, -1, err));
    if (dense->shape.rank != 3 || dense->shape.dims[0] != rows || dense->shape.dims[1] < longest(splits))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected [rows, steps, width] for these row_splits");
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(s[rows], dense->shape.dims[2]), &out, err));
    const size_t size = (size_t)dense->shape.dims[2] * hr_dtype_size(dense->dtype);
    for (int64_t r = 0; r < rows && size > 0; r++)
        if (s[r + 1] > s[r])
            memcpy((char *)out->data + (size_t)s[r] * size,
                   (const char *)dense->data + (size_t)(r * dense->shape.dims[1]) * size,
                   (size_t)(s[r + 1] - s[r]) * size);
    return HR_OK;
}

const hr_graph_op hr_graph_ops_sequence_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>PadSequence",
        .inputs = "values:T, padding:T, row_splits:int32",
        .outputs = "output:T",
        .attrs = "T:numbers",
        .shape = sequence_pad_shape,
        .compute = sequence_pad_compute,
        .gradient = sequence_pad_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>SequenceLength",
        .inputs = "row_splits:N*int32",
        .outputs = "sequence_length:int64",
        .attrs = "N:int>=1",
        .traits = HR_NO_GRADIENT,
        .shape = length_shape,
        .compute = length_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>UnpadSequence",
        .inputs = "input:T, row_splits:int32",
        .outputs = "output:T",
        .attrs = "T:numbers",
        .traits = HR_NO_GRADIENT,
        .shape = unpad_shape,
        .compute = unpad_compute,
    },
    HR_GRAPH_OPS_END,
};
