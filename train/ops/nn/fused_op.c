/* Several element-wise nodes as one, which passes make: calls their function on one block of the values after the other,
 * so that what they hand on stays in the cache. A block is some rows of the result and what goes with them of the
 * inputs; or some of the values where all inputs are of one shape or of one value. Small results are computed whole. */
#include <headrace/kernels.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    BLOCK_BYTES = 1 << 15, /* of its widest value: a few of them stay in the cache */
    MIN_BYTES = 1 << 24,   /* of a result: less is computed whole */
    MAX_INPUTS = 64,
    ALIGNED = 64 /* blocks begin at a multiple of so many values, if rows allow */
};

typedef struct fused_state {
    hr_callee *function;
} fused_state;

typedef struct fused_blocks {
    hr_kernel *k;
    hr_callee *function;
    hr_tensor *out;
    int64_t rows, row;          /* how many, and values of one */
    int64_t rows_of_block;      /* but the last one */
    int64_t step[MAX_INPUTS];   /* values of an input that a row takes; 0: all of it, for every row */
    hr_shape shape[MAX_INPUTS]; /* of what a block takes of it, but for the first dimension where it is cut */
    bool over;                  /* the result is put over an input */
    bool failed;
    hr_error error;
} fused_blocks;

static hr_status fused_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = hr_attr_shape(s->node, "shape");
    return HR_OK;
}

static hr_status fused_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    return hr_session_function(session, node, hr_attr_func(node, "f"), &((fused_state *)state)->function, err);
}

/* ---- whole ---- */

static hr_status fused_whole(hr_kernel *k, hr_callee *function, hr_error *err)
{
    hr_tensor args[MAX_INPUTS], result;
    hr_open_call *call;
    HR_TRY(hr_call_begin(k, function, &call, err));
    for (int i = 0; i < k->inputs; i++) args[i] = hr_kernel_take(k, i);
    const hr_status st = hr_call_run(call, args, k->inputs, &result, 1, err);
    if (st == HR_OK) hr_kernel_give(k, 0, result);
    for (int i = 0; i < k->inputs; i++) hr_buffer_unref(args[i].buffer); /* of a call that failed early */
    hr_call_end(call);
    return st;
}

/* ---- in blocks ---- */

/* Values are rows of one. False: an input has some other shape. */
static bool cut_values(const hr_kernel *k, fused_blocks *b, hr_shape shape)
{
    for (int i = 0; i < k->inputs; i++) {
        const bool whole = k->input[i]->count == 1;
        if (!whole && !hr_shape_equal(k->input[i]->shape, shape)) return false;
        b->step[i] = !whole;
        b->shape[i] = whole ? HR_SCALAR : HR_SHAPE(1);
    }
    b->rows = hr_shape_count(shape);
    b->row = 1;
    return true;
}

/* Rows along the first dimension; what has no such one, or one of 1, goes with each of them. */
static bool cut_rows(const hr_kernel *k, fused_blocks *b, hr_shape shape, int64_t values_of_block)
{
    if (shape.rank == 0 || shape.dims[0] < 2) return false;
    b->rows = shape.dims[0];
    b->row = hr_shape_count(shape) / b->rows;
    for (int i = 0; i < k->inputs; i++) {
        const hr_tensor *in = k->input[i];
        const bool cut = in->shape.rank == shape.rank && in->shape.dims[0] == b->rows;
        b->step[i] = cut ? in->count / b->rows : 0;
        b->shape[i] = in->shape;
    }
    return b->row <= values_of_block;
}

static void measure_blocks(fused_blocks *b, int64_t values_of_block)
{
    int64_t aligned = ALIGNED;
    for (int64_t row = b->row; aligned > 1 && row % 2 == 0; row /= 2) aligned /= 2;
    b->rows_of_block = values_of_block / b->row;
    if (b->rows_of_block > aligned) b->rows_of_block -= b->rows_of_block % aligned;
}

/* False: whole is better, or it has to tell what is wrong. */
static bool cut(const hr_kernel *k, fused_blocks *b, hr_shape *shape)
{
    size_t widest = hr_dtype_size(hr_node_dtype(k->node));
    *shape = HR_SCALAR;
    for (int i = 0; i < k->inputs; i++) {
        if (!hr_shape_broadcast(*shape, k->input[i]->shape, shape)) return false;
        if (hr_dtype_size(k->input[i]->dtype) > widest) widest = hr_dtype_size(k->input[i]->dtype);
    }
    const int64_t count = hr_shape_count(*shape), values = BLOCK_BYTES / (int64_t)widest;
    if (count * (int64_t)widest < MIN_BYTES) return false;
    if (!cut_values(k, b, *shape) && !cut_rows(k, b, *shape, values)) return false;
    measure_blocks(b, values);
    return true;
}

/* Past the cache, which would first read what was there: the result is larger than it. */
static void put_values(char *to, const char *from, size_t bytes)
{
#if defined(__SSE2__)
    const size_t before = -(uintptr_t)to % sizeof(__m128i);
    const size_t head = before < bytes ? before : bytes, vectors = (bytes - head) / sizeof(__m128i);
    memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    for (size_t i = 0; i < vectors; i++)
        _mm_stream_si128((__m128i *)(void *)to + i, _mm_loadu_si128((const __m128i *)(const void *)from + i));
    _mm_sfence();
    to += vectors * sizeof(__m128i), from += vectors * sizeof(__m128i), bytes -= vectors * sizeof(__m128i);
#endif
    memcpy(to, from, bytes);
}

static hr_status fused_block(const fused_blocks *b, hr_open_call *call, int64_t first, int64_t rows, hr_error *err)
{
    hr_tensor args[MAX_INPUTS], result;
    for (int i = 0; i < b->k->inputs; i++) {
        args[i] = *b->k->input[i];
        args[i].buffer = NULL;
        args[i].shape = b->shape[i];
        if (b->step[i] == 0) continue;
        args[i].shape.dims[0] = rows;
        args[i].count = rows * b->step[i];
        args[i].data = (char *)args[i].data + (size_t)(first * b->step[i]) * hr_dtype_size(args[i].dtype);
    }
    const size_t size = hr_dtype_size(b->out->dtype), bytes = (size_t)(rows * b->row) * size;
    char *to = (char *)b->out->data + (size_t)(first * b->row) * size;
    HR_TRY(hr_call_run(call, args, b->k->inputs, &result, 1, err));
    const bool fits = result.count == rows * b->row;
    if (fits && b->over) memmove(to, result.data, bytes);
    if (fits && !b->over) put_values(to, result.data, bytes);
    hr_buffer_unref(result.buffer);
    if (fits) return HR_OK;
    return hr_fail(err, HR_INTERNAL, "graph.failed", "expected %lld values of an element-wise op, got %lld",
                   (long long)(rows * b->row), (long long)result.count);
}

/* The first failure is kept; it ends the run. */
static void fused_fail(fused_blocks *b, const hr_error *err)
{
    if (!__atomic_exchange_n(&b->failed, true, __ATOMIC_ACQ_REL)) b->error = *err;
}

static void some_blocks(int64_t first, int64_t last, void *user)
{
    fused_blocks *b = user;
    hr_open_call *call = NULL;
    hr_error err = {0};
    hr_status st = hr_call_begin(b->k, b->function, &call, &err);
    if (st == HR_OK) hr_call_alone(call);
    for (int64_t i = first; st == HR_OK && i < last; i++) {
        const int64_t at = i * b->rows_of_block, left = b->rows - at;
        st = fused_block(b, call, at, left < b->rows_of_block ? left : b->rows_of_block, &err);
    }
    if (st != HR_OK) fused_fail(b, &err);
    hr_call_end(call);
}

/* Over an input that the blocks are cut from, if that is free. */
static hr_status fused_output(hr_kernel *k, fused_blocks *b, hr_shape shape, hr_error *err)
{
    const size_t size = hr_dtype_size(hr_node_dtype(k->node));
    for (int i = 0; i < k->inputs && !b->over; i++) {
        b->over = b->step[i] == b->row && hr_dtype_size(k->input[i]->dtype) == size && hr_kernel_may_write(k, i);
        if (b->over) return hr_kernel_output_over(k, 0, i, shape, &b->out, err);
    }
    return hr_kernel_output(k, 0, shape, &b->out, err);
}

static hr_status fused_compute(hr_kernel *k, hr_error *err)
{
    hr_callee *function = ((const fused_state *)k->state)->function;
    fused_blocks b;
    hr_shape shape;
    if (k->inputs > MAX_INPUTS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.inputs", "expected at most %d inputs, got %d", MAX_INPUTS,
                       k->inputs);
    if (!cut(k, &b, &shape)) return fused_whole(k, function, err);
    b.k = k;
    b.function = function;
    b.over = b.failed = false;
    HR_TRY(fused_output(k, &b, shape, err));
    const int64_t blocks = (b.rows + b.rows_of_block - 1) / b.rows_of_block;
    hr_kernel_parallel(k, blocks, (double)(b.rows_of_block * b.row), some_blocks, &b);
    if (!b.failed) return HR_OK;
    if (err) *err = b.error;
    return b.error.code;
}

const hr_graph_op hr_graph_ops_fused_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>FusedElementWise",
        .inputs = "values:list:Tin",
        .outputs = "output:T",
        .attrs = "Tin: list(type) >= 1; T: type; shape: shape; f: func",
        .traits = HR_CALLS | HR_NO_GRADIENT,
        .state_size = sizeof(fused_state),
        .shape = fused_shape,
        .prepare = fused_prepare,
        .compute = fused_compute,
    },
    HR_GRAPH_OPS_END,
};
