/* See matrices.h. */
#include "train/ops/linalg/matrices.h"

hr_status hr__matrices_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    hr__matrices_state *st = state;
    (void)session;
    HR_TRY(hr__blas_load(&st->blas, err));
    return hr__lapack_load(hr_node_dtype(hr_node_input(node, 0)), &st->lapack, err);
}

hr_status hr__matrices_begin(hr_kernel *k, bool square, hr__matrices *m, hr_error *err)
{
    const hr__matrices_state *st = k->state;
    const hr_shape in = k->input[0]->shape;
    char text[128];
    *m = (hr__matrices){.lapack = st->lapack, .blas = st->blas, .node = k->node, .batch = in};
    if (in.rank >= 2) m->rows = in.dims[in.rank - 2], m->columns = in.dims[in.rank - 1];
    if (in.rank < 2 || (square && m->rows != m->columns) || m->rows > INT16_MAX || m->columns > INT16_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected %smatrices of at most %d rows and columns, got %s", square ? "square " : "", INT16_MAX,
                       hr_shape_text(in, text, sizeof text));
    m->batch.rank -= 2;
    m->in_batch[0] = m->in_batch[1] = m->batch;
    m->in[0] = k->input[0]->data;
    m->right = m->columns;
    return HR_OK;
}

int64_t hr__matrix_in(const hr__matrices *m, int input, int64_t i)
{
    const hr_shape all = m->batch, own = m->in_batch[input];
    int64_t at = 0, size = 1;
    for (int d = all.rank - 1, o = own.rank - 1; o >= 0; d--, o--) {
        if (own.dims[o] > 1) at += i % all.dims[d] * size;
        size *= own.dims[o];
        i /= all.dims[d];
    }
    return at;
}

typedef struct piece {
    hr__matrices *m;
    hr__matrix_fn *fn;
} piece;

static void some_matrices(int64_t first, int64_t last, void *user)
{
    const piece *p = user;
    void *work = hr_malloc(p->m->work ? p->m->work : 1);
    for (int64_t i = first; i < last; i++) {
        const bool alone = hr__blas_begin(p->m->blas);
        p->m->failed[i] = !work ? 2 : !p->fn(p->m, i, work);
        hr__blas_end(alone);
    }
    hr_free(work);
}

hr_status hr__matrices_run(hr_kernel *k, hr__matrices *m, double nanoseconds, hr_error *err)
{
    const int64_t count = hr_shape_count(m->batch);
    piece p = {m, (hr__matrix_fn *)hr_kernel_chosen(k)->run};
    m->failed = hr_kernel_temp(k, (size_t)count + 1);
    if (!m->failed) return hr_no_memory(err, "a list of matrices");
    hr_kernel_parallel(k, count, nanoseconds, some_matrices, &p);
    for (int64_t i = 0; i < count; i++) {
        if (m->failed[i] == 2) return hr_no_memory(err, "a matrix");
        if (m->failed[i] && m->refusal)
            return hr_fail(err, HR_INVALID_ARGUMENT, "linalg.matrix", "%s (matrix %lld)", m->refusal, (long long)i);
    }
    return HR_OK;
}
