/* Walks over tensors along strides, and what element-wise ops make of them; see kernels.h. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- making one ---- */

void hr_walk_begin(hr_walk *w, hr_shape space)
{
    w->rank = space.rank;
    w->operands = 0;
    for (int d = 0; d < space.rank; d++) w->dims[d] = space.dims[d];
}

void hr_walk_steps(const hr_tensor *t, int64_t *step)
{
    int64_t size = (int64_t)hr_dtype_size(t->dtype);
    for (int d = t->shape.rank - 1; d >= 0; d--) {
        step[d] = size;
        size *= t->shape.dims[d];
    }
}

void hr_walk_add_strided(hr_walk *w, const void *first, const int64_t *step)
{
    const int i = w->operands++;
    w->at[i] = (char *)first; /* only operand 0 is written to */
    for (int d = 0; d < w->rank; d++) w->step[d][i] = step[d];
}

void hr_walk_add(hr_walk *w, const hr_tensor *t)
{
    int64_t own[HR_MAX_RANK] = {0}, step[HR_WALK_RANK] = {0};
    const int before = w->rank - t->shape.rank;
    hr_walk_steps(t, own);
    for (int d = 0; d < t->shape.rank; d++)
        if (t->shape.dims[d] != 1) step[before + d] = own[d];
    hr_walk_add_strided(w, t->data, step);
}

/* Whether all operands go from dimension `d` into the next one as if the two were one. */
static bool walk_even(const hr_walk *w, int d, int64_t length, const int64_t *next)
{
    for (int i = 0; i < w->operands; i++)
        if (w->step[d][i] != next[i] * length) return false;
    return true;
}

/* Drops dimensions of 1 and joins others. False: there is nothing to do. */
static bool walk_join(hr_walk *w)
{
    int kept = 0;
    for (int d = 0; d < w->rank; d++) {
        if (w->dims[d] == 0) return false;
        if (w->dims[d] == 1) continue;
        const bool joins = kept > 0 && walk_even(w, kept - 1, w->dims[d], w->step[d]);
        const int to = joins ? kept - 1 : kept++;
        w->dims[to] = joins ? w->dims[to] * w->dims[d] : w->dims[d];
        if (to != d) memcpy(w->step[to], w->step[d], sizeof *w->step[d] * (size_t)w->operands);
    }
    w->rank = kept;
    if (kept > 0) return true;
    w->rank = 1;
    w->dims[0] = 1;
    memset(w->step[0], 0, sizeof *w->step[0] * (size_t)w->operands);
    return true;
}

/* ---- running one ---- */

typedef struct walker {
    const hr_walk *w;
    hr_loop *loop;
    const void *user;
    int64_t inner; /* runs for each item that is shared out */
    int64_t block; /* values of a run for each item; 0: items are groups of runs */
} walker;

/* Runs number `first` to `last` - 1, of each the `n` values from `from` on. */
static void walk_runs(const walker *p, int64_t first, int64_t last, int64_t from, int64_t n)
{
    const hr_walk *w = p->w;
    const int run = w->rank - 1, operands = w->operands;
    int64_t index[HR_WALK_RANK];
    char *at[HR_WALK_OPERANDS];
    for (int i = 0; i < operands; i++) at[i] = w->at[i] + from * w->step[run][i];
    int64_t rest = first;
    for (int d = run - 1; d >= 0; d--) {
        index[d] = rest % w->dims[d];
        rest /= w->dims[d];
        for (int i = 0; i < operands; i++) at[i] += index[d] * w->step[d][i];
    }
    const int64_t rows = run > 0 ? w->dims[run - 1] : 1;
    const int64_t *go = w->step[run > 0 ? run - 1 : 0];
    for (int64_t r = first; r < last;) {
        int64_t row = run > 0 ? index[run - 1] : 0;
        for (; row < rows && r < last; row++, r++) {
            p->loop(at, w->step[run], n, p->user);
            for (int i = 0; i < operands; i++) at[i] += go[i];
        }
        for (int d = run - 1; d >= 0; d--) {
            index[d] = d == run - 1 ? row : index[d] + 1;
            if (d < run - 1)
                for (int i = 0; i < operands; i++) at[i] += w->step[d][i];
            if (index[d] < w->dims[d]) break;
            for (int i = 0; i < operands; i++) at[i] -= w->dims[d] * w->step[d][i];
            index[d] = 0;
        }
    }
}

static void walk_piece(int64_t first, int64_t last, void *user)
{
    const walker *p = user;
    const int64_t run = p->w->dims[p->w->rank - 1];
    if (p->block == 0) {
        walk_runs(p, first * p->inner, last * p->inner, 0, run);
        return;
    }
    const int64_t from = first * p->block, to = last * p->block < run ? last * p->block : run;
    walk_runs(p, 0, p->inner, from, to - from);
}

/* Shared out are the outermost loops along which the output moves, or blocks of the runs where those are few. */
void hr_walk_run(hr_kernel *k, hr_walk *w, double nanoseconds, hr_loop *loop, const void *user)
{
    enum { BLOCK = 256, FEW = 64, ALONE_NS = 10000 };
    if (!walk_join(w)) return;
    const int run = w->rank - 1;
    if (run == 0 && (double)w->dims[0] * nanoseconds < ALONE_NS) {
        loop(w->at, w->step[0], w->dims[0], user);
        return;
    }
    int64_t groups = 1, all = 1;
    for (int d = 0; d < run; d++) {
        if (all == groups && w->step[d][0] != 0) groups *= w->dims[d];
        all *= w->dims[d];
    }
    const int64_t length = w->dims[run];
    walker p = {w, loop, user, all / groups, 0};
    if (!k) {
        walk_runs(&p, 0, all, 0, length);
        return;
    }
    if (groups >= FEW || w->step[run][0] == 0 || length < 4 * BLOCK) {
        hr_kernel_parallel(k, groups, ((double)length * nanoseconds + 5) * (double)p.inner, walk_piece, &p);
        return;
    }
    p.inner = all;
    p.block = BLOCK;
    hr_kernel_parallel(k, (length + BLOCK - 1) / BLOCK, (BLOCK * nanoseconds + 5) * (double)all, walk_piece, &p);
}

/* ---- copies ---- */

#define COPY(T, V, U, DTYPE, SUFFIX, NAME, B)                                                                          \
    HR_LOOP(NAME, SUFFIX)                                                                                              \
    {                                                                                                                  \
        T *to = (T *)(void *)at[0];                                                                                    \
        const T *from = (const T *)(const void *)at[1];                                                                \
        const int64_t size = (int64_t)sizeof(T), go_to = step[0] / size, go_from = step[1] / size;                     \
        (void)user;                                                                                                    \
        if (go_to == 1 && go_from == 1) {                                                                              \
            memcpy(to, from, (size_t)n * sizeof(T));                                                                   \
        } else if (go_to == 1 && go_from == 0) {                                                                       \
            const T value = *from;                                                                                     \
            for (int64_t i = 0; i < n; i++) to[i] = value;                                                             \
        } else if (go_to == 1) {                                                                                       \
            for (int64_t i = 0; i < n; i++) to[i] = from[i * go_from];                                                 \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) to[i * go_to] = from[i * go_from];                                         \
        }                                                                                                              \
    }
HR_EACH_TYPE(COPY, copy, ~, widths)

static hr_loop *copy_of_width(size_t size)
{
    return size == 1 ? copy_w1 : size == 2 ? copy_w2 : size == 4 ? copy_w4 : size == 8 ? copy_w8 : copy_w16;
}

/* Dimension `d` becomes the last but one. */
static void walk_move_in(hr_walk *w, int d)
{
    const int64_t length = w->dims[d];
    int64_t step[HR_WALK_OPERANDS];
    memcpy(step, w->step[d], sizeof step);
    for (; d < w->rank - 2; d++) {
        w->dims[d] = w->dims[d + 1];
        memcpy(w->step[d], w->step[d + 1], sizeof step);
    }
    w->dims[d] = length;
    memcpy(w->step[d], step, sizeof step);
}

/* The first `count` blocks of `block` values of the runs; these become a loop around the others. */
static void walk_block(hr_walk *w, int64_t count, int64_t block)
{
    const int run = w->rank - 1;
    memmove(w->dims + 1, w->dims, sizeof *w->dims * (size_t)w->rank);
    memmove(w->step + 1, w->step, sizeof *w->step * (size_t)w->rank);
    w->rank++;
    w->dims[0] = count;
    w->dims[run + 1] = block;
    for (int i = 0; i < w->operands; i++) w->step[0][i] = w->step[run + 1][i] * block;
}

void hr_walk_copy(hr_kernel *k, hr_walk *w, size_t size)
{
    enum { BLOCK = 32 };
    hr_loop *loop = copy_of_width(size);
    if (!walk_join(w)) return;
    const int run = w->rank - 1;
    int across = -1; /* along which the input is contiguous, where the runs are not */
    for (int d = 0; d < run && w->step[run][1] != (int64_t)size && w->step[run][1] != 0; d++)
        if (w->step[d][1] == (int64_t)size) across = d;
    if (across < 0 || w->dims[run] <= BLOCK || w->rank == HR_WALK_RANK) {
        hr_walk_run(k, w, .3, loop, NULL);
        return;
    }
    walk_move_in(w, across);
    const int64_t blocks = w->dims[run] / BLOCK, rest = w->dims[run] % BLOCK;
    if (rest > 0) {
        hr_walk last = *w;
        last.dims[run] = rest;
        for (int i = 0; i < w->operands; i++) last.at[i] += blocks * BLOCK * w->step[run][i];
        hr_walk_run(k, &last, .5, loop, NULL);
    }
    walk_block(w, blocks, BLOCK);
    hr_walk_run(k, w, .5, loop, NULL);
}

static const char *block_begin(const hr_tensor *t, const int64_t *at, int64_t *step)
{
    const char *first = t->data;
    hr_walk_steps(t, step);
    for (int d = 0; d < t->shape.rank; d++) first += at[d] * step[d];
    return first;
}

void hr_copy_block(hr_kernel *k, const hr_tensor *from, const int64_t *from_at, hr_tensor *to, const int64_t *to_at,
                   hr_shape block)
{
    hr_walk w;
    int64_t step[HR_MAX_RANK];
    if (hr_shape_count(block) == 0) return;
    hr_walk_begin(&w, block);
    const char *first = block_begin(to, to_at, step);
    hr_walk_add_strided(&w, first, step);
    first = block_begin(from, from_at, step);
    hr_walk_add_strided(&w, first, step);
    hr_walk_copy(k, &w, hr_dtype_size(from->dtype));
}

/* ---- element-wise ops ---- */

hr_status hr_broadcast_inputs(const hr_kernel *k, hr_shape *out, hr_error *err)
{
    char x[128], y[128];
    *out = k->input[0]->shape;
    for (int i = 1; i < k->inputs; i++) {
        const hr_shape before = *out, in = k->input[i]->shape;
        if (hr_shape_equal(before, in)) continue;
        if (!hr_shape_broadcast(before, in, out) || hr_shape_count(*out) < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Incompatible shapes: %s vs. %s",
                           hr_shape_text(before, x, sizeof x), hr_shape_text(in, y, sizeof y));
    }
    return HR_OK;
}

/* Over the first input that is free and as large. Strings are only viewed until the end. */
static hr_status element_wise_output(hr_kernel *k, hr_shape shape, hr_tensor *scratch, hr_tensor **out, hr_error *err)
{
    const hr_dtype dtype = hr_node_dtype(hr_node_output(k->node, 0));
    if (dtype == HR_STRING) return hr_kernel_begin_output(k, 0, shape, scratch, out, err);
    for (int i = 0; i < k->inputs; i++)
        if (hr_dtype_size(k->input[i]->dtype) == hr_dtype_size(dtype) && k->input[i]->count == hr_shape_count(shape) &&
            hr_kernel_may_write(k, i))
            return hr_kernel_output_over(k, 0, i, shape, out, err);
    return hr_kernel_output(k, 0, shape, out, err);
}

hr_status hr_compute_walk(hr_kernel *k, const hr_tensor *const *inputs, hr_shape shape, hr_error *err)
{
    hr_walk w;
    hr_tensor scratch, *out;
    bool same = true;
    if (!hr_kernel_chosen(k))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.kernel", "expected a descriptor with kernels");
    if (k->inputs >= HR_WALK_OPERANDS)
        return hr_fail(err, HR_INTERNAL, "graph.failed", "expected at most %d inputs", HR_WALK_OPERANDS - 1);
    for (int i = 0; i < k->inputs; i++) same &= hr_shape_equal(inputs[i]->shape, shape);
    HR_TRY(element_wise_output(k, shape, &scratch, &out, err));
    hr_walk_begin(&w, same ? HR_SHAPE(out->count) : shape);
    for (int i = -1; i < k->inputs; i++) {
        const hr_tensor *t = i < 0 ? out : inputs[i];
        const int64_t size = (int64_t)hr_dtype_size(t->dtype);
        if (same)
            hr_walk_add_strided(&w, t->data, &size);
        else
            hr_walk_add(&w, t);
    }
    hr_walk_run(k, &w, hr_kernel_op(k)->nanoseconds, (hr_loop *)hr_kernel_chosen(k)->run, k->state);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

hr_status hr_compute_broadcast(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    HR_TRY(hr_broadcast_inputs(k, &shape, err));
    return hr_compute_walk(k, k->input, shape, err);
}

hr_status hr_compute_same_shape(hr_kernel *k, hr_error *err)
{
    char x[128], y[128];
    const hr_shape shape = k->input[0]->shape;
    for (int i = 1; i < k->inputs; i++)
        if (!hr_shape_equal(k->input[i]->shape, shape))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of one shape, got %s and %s",
                           hr_shape_text(shape, x, sizeof x), hr_shape_text(k->input[i]->shape, y, sizeof y));
    return hr_compute_walk(k, k->input, shape, err);
}
